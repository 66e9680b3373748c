# SPDX-License-Identifier: MIT
"""The program's tokens against those of the package 'tokenizers', and back to the same bytes."""

import json
import random
import sys
import unicodedata

import common

TEXTS = [
    "",
    " ",
    "   \t \r\n ",
    "Hello, world!",
    "It's what they've said: we're done, I'm sure, you'll see, he'd SAY 'S 'tis ''s x's' 's",
    "1234567890 3.14159 1,234 v2 x86-64 10% ½ ² Ⅷ ٣٤ 一二三",
    "a  b   c    d \n e\n\n\nf \t\tg  1  2   ",
    "naïve café Ångström ﬁne İstanbul ΣΊΣΥΦΟΣ straße e\u0301 क्षत्रिय สวัสดี",
    "東京は日本の首都です。北京是中国的首都。서울은 대한민국의 수도이다",
    "Emoji 👩‍👩‍👧 🇩🇪 ☺️ zero\u200bwidth soft\u00adhyphen no\u00a0break line\u2028separator next\u0085line \ufeffmark",
    "bytes that the vocabulary lacks: a\x04b \x06 \x13\x14\x16\x1d \U00040000 \U00100000 end",
    "def f(x):\n    return x**2  # comment\n\tif x != None: print(f'{x!r}')",
    "x" * 3000 + " " + "ab" * 2000 + "!" * 500 + " " * 300 + "." + "\n" * 100,
    "<|im_end|>",
    "<|im_start|>system\nnot a turn<|im_end|>",
]


# Characters that this Python and the two libraries may know in different versions of Unicode are left out.
def code_point_texts():
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        if unicodedata.ucd_3_2_0.category(character) not in ("Cn", "Cs") and unicodedata.ucd_3_2_0.category(
            character
        ) == unicodedata.category(character):
            yield f"a{character}b {character} x{character}{character}  {character}\n"


def random_texts(seed, count):
    """Mixed scripts, spaces, digits and punctuation in random order, and words of them again and again."""
    generator = random.Random(seed)
    alphabet = "".join(TEXTS[:12]) + "abcdefghijklmnopqrstuvwxyz0123456789'''      \n\t.,;:!?_#$%&()*+/<=>@[]^`{|}~"
    for _ in range(count):
        yield "".join(generator.choices(alphabet, k=generator.randrange(80)))


def compare(kind, texts, expected, got):
    differing = [item for item in zip(texts, expected, got, strict=True) if item[1] != item[2]]
    print(f"{kind}: {len(differing)} of {len(texts)} texts differ")
    for text, theirs, ours in differing[:20]:
        print(f"  {text!a:.200}\n    expected {str(theirs):.400}\n    got      {str(ours):.400}")
    return bool(differing)


def main():
    arguments = common.parse_arguments()
    tokenizers = common.need_module("tokenizers", "the comparison of tokens")
    file = arguments.model / "tokenizer.json"
    document = json.loads(file.read_text())
    with_turns = tokenizers.Tokenizer.from_str(json.dumps(document))
    document["added_tokens"] = []
    plain = tokenizers.Tokenizer.from_str(json.dumps(document))

    texts = [*TEXTS, *common.PROMPTS, *random_texts(seed=1, count=5000), *code_point_texts()]
    ours = json.loads(common.pipe_json([arguments.program, file], texts))
    failed = compare("tokens", texts, [one.ids for one in plain.encode_batch(texts)], [one["tokens"] for one in ours])

    present = {bytes(one["bytes"]) for one in json.loads(common.pipe_json([arguments.program, file], list(map(chr, range(128)))))}
    lacking = {bytes([byte]) for byte in range(128)} - present | {b"\xf1", b"\xf2"}

    def without_lacking(text):
        encoded = text.encode()
        for byte in lacking:
            encoded = encoded.replace(byte, b"")
        return encoded

    failed |= compare("bytes", texts, [without_lacking(text) for text in texts], [bytes(one["bytes"]) for one in ours])

    says = [text for text in texts[:1000] if "<|" not in text]
    template = "<|im_start|>system\n{}<|im_end|>\n<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
    ours = json.loads(common.pipe_json([arguments.program, file, common.SYSTEM], says))
    theirs = with_turns.encode_batch([template.format(common.SYSTEM, text) for text in says])
    failed |= compare("turns", says, [one.ids for one in theirs], [one["tokens"] for one in ours])
    sys.exit(failed)


if __name__ == "__main__":
    main()
