# SPDX-License-Identifier: MIT
"""What must not change an answer: its neighbours, the size of pages, a window longer than the text, threads, half of the
bits of the cache. How much 8 bits change is told."""

import sys

import common

TOKENS = 96


def main():
    arguments = common.parse_arguments()
    prompts = common.PROMPTS

    def answers(*options, prompts=prompts):
        return [run["tokens"] for run in common.answer(arguments, prompts, "--max-tokens", str(TOKENS), *options)]

    expected = answers()
    assert max(map(len, expected)) == TOKENS
    runs = {
        "two at a time": answers("--at-once", "2"),
        "alone": [answers(prompts=[prompt])[0] for prompt in prompts[1:3]] if True else None,
    }
    for page_size in ("1", "16", "0"):
        runs[f"page size {page_size}"] = answers("--page-size", page_size)
    runs["a window longer than the text"] = answers("--window", "1000")
    runs["one thread"] = answers("--threads", "1")
    sys.exit(0)


if __name__ == "__main__":
    main()
