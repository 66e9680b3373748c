# SPDX-License-Identifier: MIT
"""The program's tokens against those of the package 'tokenizers', which the model was published with.

That package knows the properties of characters as of Unicode 8, the program those of the present. Characters that are newer
are in no vocabulary and not compared."""

import json
import random
import subprocess
import sys
import unicodedata

import common

MAX_TOKENS = 256


# Characters that became an accent, or ceased to be one or to be punctuation, in later versions of Unicode.
RECLASSIFIED = {0x166D, 0x1734, 0x1885, 0x1886}


def code_point_texts():
    """Every character that was assigned in Unicode 3.2 (the one old version that Python has): in a word, alone, doubled."""
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        if unicodedata.ucd_3_2_0.category(character) not in ("Cn", "Cs") and code not in RECLASSIFIED:
            yield f"a{character}b {character} x{character}{character}"


def random_texts(seed, count):
    """Mixed scripts, spaces and punctuation in random order."""
    generator = random.Random(seed)
    alphabet = "".join(common.SENTENCES[:11]) + "abcdefghijklmnopqrstuvwxyzABC      .,;:!?'\"-_#$%&()*+/<=>@[]^`{|}~"
    for _ in range(count):
        yield "".join(generator.choices(alphabet, k=generator.randrange(80)))


def main():
    arguments = common.parse_arguments()
    tokenizers = common.need_module("tokenizers", "the comparison of tokens")
    model = common.need_model(arguments.weights)

    reference = tokenizers.Tokenizer.from_file(str(model / "tokenizer.json"))
    reference.no_padding()
    reference.enable_truncation(MAX_TOKENS)
    texts = [*common.SENTENCES, *random_texts(seed=1, count=5000), *code_point_texts()]
    done = subprocess.run(
        [arguments.program, model / "tokenizer.json", str(MAX_TOKENS)],
        input=json.dumps(texts).encode(), stdout=subprocess.PIPE, check=True,
    )
    differing = [
        (text, theirs.ids, ours)
        for text, theirs, ours in zip(texts, reference.encode_batch(texts), json.loads(done.stdout), strict=True)
        if theirs.ids != ours
    ]
    print(f"{len(differing)} of {len(texts)} texts get other tokens")
    for text, theirs, ours in differing[:20]:
        print(f"  {text!a}\n    expected {theirs}\n    got      {ours}")
    if differing:
        sys.exit(1)


if __name__ == "__main__":
    main()
