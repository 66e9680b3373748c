# SPDX-License-Identifier: MIT
"""Greedy answers and logits against a float64 forward pass of the same weights, which sees each text as a whole."""

import sys

import common

TOLERANCE = 2e-3


def check(np, model, forward, runs, name, window):
    texts = [(run["prompt_tokens"], run["tokens"][:-1]) for run in runs]
    expected = model.logits([prompt + tokens for prompt, tokens in texts], [len(prompt) - 1 for prompt, _ in texts],
                            window or 1 << 30)
    got = forward(texts, window)
    failed = False
    for number, (run, theirs, ours) in enumerate(zip(runs, expected, got, strict=True), 1):
        best_two = np.partition(theirs, -2, axis=-1)[:, -2:]
        deviation = np.abs(ours - theirs).max()
        differing = np.flatnonzero(theirs.argmax(axis=-1) != np.array(run["tokens"]))
        print(f"{name}, prompt {number}: {len(run['tokens'])} tokens, {len(differing)} differ; logits deviate by up to "
              f"{deviation:.1e}; the closest choice was by {np.diff(best_two).min():.1e}")
        failed |= len(differing) > 0 or not deviation <= TOLERANCE
    return failed


def main():
    arguments = common.parse_arguments()
    np = common.need_module("numpy", "the float64 reference")
    common.need_module("gguf", "the float64 reference")
    import reference

    model = reference.Model(arguments.gguf)

    def forward(texts, window):
        sequences = [{"prompt_tokens": prompt, "tokens": tokens} for prompt, tokens in texts]
        command = [arguments.forward, arguments.model, "f32", "16", str(window or 8192)]
        logits = np.frombuffer(common.pipe_json(command, sequences), np.float32)
        counts = [len(tokens) + 1 for _, tokens in texts]
        return np.split(logits.reshape(sum(counts), -1), np.cumsum(counts)[:-1])

    runs = common.answer(arguments, common.PROMPTS, "--max-tokens", "128")
    failed = check(np, model, forward, runs, "all before", None)
    runs = common.answer(arguments, common.PROMPTS, "--max-tokens", "64", "--window", "16")
    failed |= check(np, model, forward, runs, "the 16 before", 16)
    sys.exit(failed)


if __name__ == "__main__":
    main()
