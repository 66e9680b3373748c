# SPDX-License-Identifier: MIT
"""Wrong input of every kind: exit status not 0, a message that names it, no output file."""

import json
import pathlib
import subprocess
import sys
import tempfile

import common


class CommandLine(common.Checks):
    def run(self, *options, text=b""):
        return subprocess.run([self.program, *options], input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def refused(self, expected, *options, text=b""):
        """The program must refuse this in the expected words, print nothing else and not write the file of --json."""
        output = self.scratch / "out.json"
        done = self.run("--json", output, *options, text=text)
        message = done.stderr.decode()
        self.check(done.returncode > 0 and expected in message, f"{options}: expected '{expected}'",
                   f"status {done.returncode}: {message}")
        self.check(not done.stdout and not output.exists(), f"{options}: something was written", done.stdout.decode())
        output.unlink(missing_ok=True)


def main():
    arguments = common.parse_arguments()
    model = common.model_folder(arguments.weights)
    with tempfile.TemporaryDirectory() as scratch:
        checks = CommandLine(arguments.program, scratch)
        wrong_options(checks)
        if model:
            broken_models(checks, model)
            sentences(checks, model)
    if checks.failures:
        sys.exit(f"{checks.failures} checks failed")
    common.need_model(arguments.weights)  # skips, with the reason, where only a part could be checked


def wrong_options(checks):
    checks.refused("no weights: there is no model.safetensors in", "--weights", checks.scratch / "missing")
    checks.refused("Fix: --weights FOLDER", "--weights", checks.scratch)
    checks.refused("no weights: none were found when this program was built", "--weights", "")
    checks.refused("--batch", "--batch", "0")
    checks.refused("--batch", "--batch", "many")
    checks.refused("--threads", "--threads", "-1")
    checks.refused("--speed", "--speed")
    checks.refused("excludes", "one", "--file", "two")


def broken_models(checks, model):
    """The model with one file changed."""

    def broken(expected, name, change):
        folder = pathlib.Path(tempfile.mkdtemp(dir=checks.scratch))
        for file in model.rglob("*"):
            if file.is_file():
                copy = folder / file.relative_to(model)
                copy.parent.mkdir(exist_ok=True)
                copy.symlink_to(file)
        (folder / name).unlink()
        content = change((model / name).read_bytes())
        if content is not None:
            (folder / name).write_bytes(content)
        checks.refused(expected, "--weights", folder, "A sentence.")
        (folder / name).unlink(missing_ok=True)

    def setting(**values):
        return lambda content: json.dumps({**json.loads(content), **values}).encode()

    broken("config.json: cannot be opened: No such file", "config.json", lambda content: None)
    broken("config.json: not a JSON file", "config.json", lambda content: content[:100])
    broken("12 heads of 32", "config.json", setting(num_attention_heads=6))
    broken("12 heads of 32", "config.json", setting(hidden_size=768))
    broken("field '/model_type' is \"roberta\"", "config.json", setting(model_type="roberta"))
    broken("field '/hidden_act' is \"relu\"", "config.json", setting(hidden_act="relu"))
    broken("field '/intermediate_size'", "config.json", setting(intermediate_size="big"))
    broken("field '/intermediate_size' is -1", "config.json", setting(intermediate_size=-1))
    broken("has shape [1536, 384], [1024, 384] is needed", "config.json", setting(intermediate_size=1024))
    broken("no tensor 'encoder.layer.6.", "config.json", setting(num_hidden_layers=7))
    broken("max_seq_length is 1000, 2 to 512 are possible", "sentence_bert_config.json", setting(max_seq_length=1000))
    broken("tokenizer.json: cannot be opened", "tokenizer.json", lambda content: None)
    broken("tokenizer.json: not a JSON file", "tokenizer.json", lambda content: content[:-10])
    broken("field '/pre_tokenizer/type' is \"\"", "tokenizer.json", setting(pre_tokenizer=None))
    broken("field '/pooling_mode_mean_tokens' is false", "1_Pooling/config.json", setting(pooling_mode_mean_tokens=False))
    broken("bytes are too few", "model.safetensors", lambda content: b"")
    broken("cut off", "model.safetensors", lambda content: content[:1000])
    broken("cut off", "model.safetensors", lambda content: content[:-1000])
    broken("broken safetensors header", "model.safetensors", lambda content: content[:8] + b"?" + content[9:])
    broken("bytes do not hold F16 elements of shape [384]", "model.safetensors", lambda content: content.replace(b'"F32"', b'"F16"', 1))


def sentences(checks, model):
    weights = ("--weights", model)
    checks.refused("standard input: no sentences in it", *weights, "--file", "-")
    checks.refused("sentence 2: not valid UTF-8 at byte 3", *weights, "--file", "-", text=b"good\nbad\xff\n")
    checks.refused("missing.txt: cannot be opened", *weights, "--file", checks.scratch / "missing.txt")
    checks.refused("cannot be read", *weights, "--file", checks.scratch)
    done = checks.run(*weights, "--json", checks.scratch / "missing" / "out.json", "A sentence.")
    checks.check(done.returncode > 0 and b"out.json: cannot be written" in done.stderr, "unwritable output", done.stderr)

    done = checks.run(*weights, "--time", "A cat.", "A dog.")
    table = done.stdout.decode()
    checks.check(done.returncode == 0 and not done.stderr, "a plain run", done.stderr)
    for expected in ("1.00", "A cat.", "A dog.", "tokenise", "matrix products", "attention"):
        checks.check(expected in table, f"'{expected}' in the output", table)
    attention(checks, weights)
    done = checks.run(*weights, "--file", "-", text=b"cat\r\n\ndog")
    checks.check(len(done.stdout.decode().splitlines()) == 4, "three lines are three sentences", done.stdout.decode())
    done = checks.run(*weights, "--file", "-", text=b"again and again\n" * 40)
    checks.check(done.returncode == 0, "many sentences", done.stderr)


def attention(checks, weights):
    """--inspect: pictures, and a report that agrees with itself."""
    folder = checks.scratch / "attention"
    done = checks.run(*weights, "--inspect", folder, "Embeddings of cafés.")
    checks.check(done.returncode == 0 and not done.stderr, "--inspect", done.stderr)
    for expected in ("72 heads, 9 queries x 9 keys", "attention takes", "heads that do the same", "collapsed"):
        checks.check(expected in done.stdout.decode(), f"'{expected}' in the summary", done.stdout.decode())
    pictures = {f"layer_{layer}.png" for layer in range(6)} | {"similarity.png"} | {
        f"layer_{layer}_head_{head:02}.png" for layer in range(6) for head in range(12)}
    missing = {name for name in pictures if not (folder / name).read_bytes().startswith(b"\x89PNG")}
    checks.check(not missing, "pictures", missing)

    report = json.loads((folder / "report.json").read_text())
    tokens = ["[CLS]", "em", "##bed", "##ding", "##s", "of", "cafes", ".", "[SEP]"]
    checks.check(report["key_labels"] == tokens == report["query_labels"], "labels", report["key_labels"])
    for head in report["heads"]:
        checks.check(abs(head["row_sum"] - 1) < 1e-5 and 0 <= head["entropy"] <= head["entropy_limit"] + 1e-6
                     and head["rows"] == len(report["query_labels"]), head["name"], head)
    checks.check(0 < report["run"]["attention_share_of_time"] < 1, "share of time", report["run"])
    checks.check(0 < report["run"]["attention_share_of_memory"] < 1, "share of memory", report["run"])

    checks.run(*weights, "--inspect", folder, "One.", "Two.")
    checks.check((folder / "sentence_2" / "report.txt").exists(), "a folder for each sentence")
    done = checks.run(*weights, "--inspect", "/dev/null/folder", "A sentence.")
    checks.check(done.returncode > 0 and b"'/dev/null/folder'" in done.stderr, "a folder that cannot be made", done.stderr)


if __name__ == "__main__":
    main()
