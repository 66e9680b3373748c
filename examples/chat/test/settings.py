# SPDX-License-Identifier: MIT
"""What must not change a greedy answer: its neighbours, the size of pages, a window longer than the text, threads, a cache
of half the bits. How much a cache of 8 bits changes is told."""

import sys

import common

TOKENS = 128  # of the answers that others are compared with
SOME = 48     # of most others
LEAST_INT8_AGREEMENT = 0.9  # of single choices; 0.96 to 1 was measured


def main():
    arguments = common.parse_arguments()
    np = common.need_module("numpy", "the comparison of logits")
    failed = False

    def answers(tokens, *options, prompts=common.PROMPTS):
        return common.answer(arguments, prompts, "--max-tokens", str(tokens), *options)

    def compare(name, got, expected):
        nonlocal failed
        for number, (one, other) in enumerate(zip(got, expected, strict=True), 1):
            ours, theirs = one["tokens"], other["tokens"][: len(one["tokens"])]
            if ours != theirs or len(ours) < min(len(other["tokens"]), SOME):
                failed = True
                print(f"{name}, answer {number} differs:\n  {ours}\n  {theirs}")
        print(f"{name}: compared")

    together = answers(TOKENS)
    compare("alone", [answers(SOME, prompts=[prompt])[0] for prompt in common.PROMPTS], together)
    compare("two at once", answers(SOME, "--at-once", "2"), together)
    for page_size in ("1", "16", "0"):
        compare(f"page size {page_size}", answers(SOME, "--page-size", page_size), together)
    compare("window longer than the text", answers(SOME, "--window", "500"), together)
    compare("one thread", answers(SOME, "--threads", "1"), together)
    compare("f16 cache", answers(TOKENS, "--cache", "f16"), together)

    for one, logits in zip(together, common.logits(arguments, together, "int8", 64, 8192), strict=True):
        agreement = np.mean(logits.argmax(axis=-1) == np.array(one["tokens"]))
        print(f"int8 cache: {100 * agreement:.1f} % of the choices after the same tokens agree: {one['prompt']}")
        failed |= bool(agreement < LEAST_INT8_AGREEMENT)

    first, again, other = (answers(16, "--temperature", "1", "--seed", seed) for seed in ("1", "1", "2"))
    failed |= [one["tokens"] for one in first] != [one["tokens"] for one in again]
    failed |= [one["tokens"] for one in first] == [one["tokens"] for one in other]
    print("temperature: the same seed twice, and another")
    sys.exit(failed)


if __name__ == "__main__":
    main()
