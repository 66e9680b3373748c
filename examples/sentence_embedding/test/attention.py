# SPDX-License-Identifier: MIT
"""What --inspect reports, against the attention matrices of the float64 encoder and statistics in numpy."""

import json
import pathlib
import subprocess
import sys
import tempfile

import common

SENTENCE = "The keys to the old wooden cabinet are on the table, but nobody remembers who put them there."


def entropy(np, rows):
    return -np.sum(np.where(rows > 0, rows * np.log(np.where(rows > 0, rows, 1)), 0), axis=-1)


def main():
    arguments = common.parse_arguments()
    np = common.need_module("numpy", "the reference")
    model = common.need_model(arguments.weights)
    import reference

    with tempfile.TemporaryDirectory() as scratch:
        folder, embeddings = pathlib.Path(scratch) / "look", pathlib.Path(scratch) / "embeddings.json"
        subprocess.run([arguments.program, "--weights", model, "--inspect", folder, "--json", embeddings, SENTENCE],
                       check=True, stdout=subprocess.DEVNULL)
        report = json.loads((folder / "report.json").read_text())
        ids = json.loads(embeddings.read_text())[0]["tokens"]

    encoder = reference.Encoder(model)
    encoder.embed(ids)
    weights = np.concatenate(encoder.weights)  # (layers * heads, tokens, tokens)
    scores = np.concatenate(encoder.scores)
    entropies = entropy(np, weights)
    middle = 0.5 * (weights[:, None] + weights[None, :])
    divergence = entropy(np, middle) - 0.5 * (entropies[:, None] + entropies[None, :])
    similarity = 1 - divergence.mean(axis=-1) / np.log(2)

    heads = report["heads"]
    positions = np.arange(len(ids))
    expected = {
        "row entropies": (entropies, [head["row_entropy"][0] for head in heads]),
        "first token": (weights[:, :, 0].mean(axis=1), [head["first_token"] for head in heads]),
        "diagonal": (weights[:, positions, positions].mean(axis=1), [head["diagonal"] for head in heads]),
        "previous token": (weights[:, positions[1:], positions[:-1]].mean(axis=1),
                           [head["previous_token"] for head in heads]),
        "strongest key": (weights.mean(axis=1).max(axis=1), [head["strongest_share"] for head in heads]),
        "highest score": (scores.max(axis=(1, 2)), [head["scores"]["highest"] for head in heads]),
        "similarity": (similarity, report["similarity"]),
    }
    failures = 0
    for name, (reference_values, reported) in expected.items():
        error = np.abs(np.array(reported) - reference_values).max()
        print(f"{name}: largest difference {error:.1e}")
        failures += not error < 1e-4
    alike = {(a, b) for a in range(len(heads)) for b in range(a + 1, len(heads)) if similarity[a, b] >= 0.9}
    failures += {tuple(pair["heads"]) for pair in report["alike"]} != alike
    print(f"{len(alike)} pairs of heads do the same")
    if failures:
        sys.exit(f"{failures} comparisons failed")


if __name__ == "__main__":
    main()
