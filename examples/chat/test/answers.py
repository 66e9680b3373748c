# SPDX-License-Identifier: MIT
"""Greedy answers and logits against a float64 forward pass of the same weights, which sees each text as a whole."""

import sys

import common

TOLERANCE = 2e-3


def check(np, model, arguments, name, prompts, tokens, window, *options):
    answers = common.answer(arguments, prompts, "--max-tokens", str(tokens), *options)
    texts = [one["prompt_tokens"] + one["tokens"][:-1] for one in answers]
    expected = model.logits(texts, [len(one["prompt_tokens"]) - 1 for one in answers], window)
    got = common.logits(arguments, answers, "f32", 16, window)
    failed = False
    for number, (one, theirs, ours) in enumerate(zip(answers, expected, got, strict=True), 1):
        differing = np.count_nonzero(theirs.argmax(axis=-1) != np.array(one["tokens"]))
        deviation = np.abs(ours - theirs).max()
        best_two = np.partition(theirs, -2, axis=-1)[:, -2:]
        print(f"{name}, prompt {number}: {len(theirs)} tokens, {differing} differ; logits deviate by up to "
              f"{deviation:.1e}; the closest choice was by {np.diff(best_two).min():.1e}")
        failed |= differing > 0 or not deviation <= TOLERANCE
    return failed


def main():
    arguments = common.parse_arguments()
    np = common.need_module("numpy", "the float64 reference")
    common.need_module("gguf", "the float64 reference")
    import reference

    model = reference.Model(arguments.gguf)
    failed = check(np, model, arguments, "no window", common.PROMPTS, 128, 8192)
    failed |= check(np, model, arguments, "window of 16", common.PROMPTS[:2], 48, 16, "--window", "16", "--page-size", "8")
    sys.exit(failed)


if __name__ == "__main__":
    main()
