# SPDX-License-Identifier: MIT
"""The program's embeddings against a float64 forward pass of the same weights, alone and in padded batches."""

import json
import pathlib
import subprocess
import sys
import tempfile

import common

TOLERANCE = 1e-5


def run(program, model, *options):
    """The records of `--json` for the common sentences, which go through standard input one per line."""
    with tempfile.TemporaryDirectory() as scratch:
        output = pathlib.Path(scratch) / "embeddings.json"
        command = [program, "--weights", model, "--file", "-", "--json", output, *options]
        lines = "".join(sentence + "\n" for sentence in common.SENTENCES)
        done = subprocess.run(command, input=lines.encode(), stdout=subprocess.DEVNULL)
        if done.returncode != 0:
            sys.exit(f"{program} failed with exit status {done.returncode}")
        return json.loads(output.read_text())


def main():
    arguments = common.parse_arguments()
    np = common.need_module("numpy", "the float64 reference")
    model = common.need_model(arguments.weights)
    import reference

    encoder = reference.Encoder(model)
    batches = {
        "all in one batch": ("--batch", "64"),
        "batches of 3, 2 threads": ("--batch", "3", "--threads", "2"),
        "one by one, 1 thread": ("--batch", "1", "--threads", "1"),
    }
    expected, failed = None, False
    for name, options in batches.items():
        records = run(arguments.program, model, *options)
        assert [record["text"] for record in records] == common.SENTENCES
        if expected is None:
            expected = [encoder.embed(record["tokens"]) for record in records]
            lengths = [len(record["tokens"]) for record in records]
            assert min(lengths) == 2 and max(lengths) == 256, lengths
        errors = [np.abs(np.array(record["embedding"]) - row).max() for record, row in zip(records, expected)]
        worst = int(np.argmax(errors))
        print(f"{name}: largest deviation {errors[worst]:.2e} (sentence {worst + 1}, {lengths[worst]} tokens)")
        failed |= not max(errors) <= TOLERANCE
    if failed:
        sys.exit(f"embeddings deviate by more than {TOLERANCE}")


if __name__ == "__main__":
    main()
