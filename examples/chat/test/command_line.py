# SPDX-License-Identifier: MIT
"""What the program prints, and wrong input of every kind: exit status not 0 and a message that names it."""

import json
import pathlib
import subprocess
import sys
import tempfile

import common


class CommandLine(common.Checks):
    def run(self, *options):
        done = subprocess.run([self.program, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def refused(self, expected, *options):
        status, text, message = self.run(*options)
        self.check(status > 0 and expected in message and not text, f"{options}: expected '{expected}'",
                   f"status {status}: {message}{text}")


def wrong_options(checks, model):
    checks.refused("prompt is required")
    checks.refused("no model: there is no model.safetensors in", "--model", checks.scratch, "A prompt.")
    checks.refused("no model: none was found when this program was built", "--model", "", "A prompt.")
    checks.refused("--cache", "--cache", "f8", "A prompt.")
    checks.refused("--window", "--window", "0", "A prompt.")
    checks.refused("--page-size", "--page-size", "-1", "A prompt.")
    checks.refused("--max-tokens", "--max-tokens", "many", "A prompt.")
    checks.refused("--temperature", "--temperature", "-1", "A prompt.")
    checks.refused("prompt 2: not valid UTF-8 at byte", "--model", model, "A prompt.", b"bad \xff")
    checks.refused("with up to 8192 more the model's 8192 do not suffice", "--model", model, "--max-tokens", "8192", "Too long.")


def broken_models(checks, model):
    """The model with one file changed."""

    def broken(expected, name, change):
        with tempfile.TemporaryDirectory(dir=checks.scratch) as folder:
            folder = pathlib.Path(folder)
            for file in model.iterdir():
                (folder / file.name).symlink_to(file)
            (folder / name).unlink()
            content = change((model / name).read_bytes())
            if content is not None:
                (folder / name).write_bytes(content)
            checks.refused(expected, "--model", folder, "A prompt.")

    def setting(**values):
        return lambda content: json.dumps({**json.loads(content), **values}).encode()

    broken("config.json: cannot be opened: No such file", "config.json", lambda content: None)
    broken("compiled for 9 heads of 64 in 3 groups", "config.json", setting(num_attention_heads=8))
    broken("compiled for 9 heads of 64 in 3 groups", "config.json", setting(num_key_value_heads=9))
    broken("field '/rope_theta' is 10000", "config.json", setting(rope_theta=10000.0))
    broken("field '/model_type' is \"qwen2\"", "config.json", setting(model_type="qwen2"))
    broken("field '/hidden_size' is -1", "config.json", setting(hidden_size=-1))
    broken("[1536, 576], [1024, 576] is needed", "config.json", setting(intermediate_size=1024))
    broken("no tensor 'model.layers.30.", "config.json", setting(num_hidden_layers=31))
    broken("field '/pre_tokenizer/type' is \"\"", "tokenizer.json", setting(pre_tokenizer=None))
    broken("field '/model/type' is \"\"", "tokenizer.json", setting(model=None))


def answers(checks, model):
    status, text, figures = checks.run("--model", model, "What is the capital of France?")
    checks.check(status == 0 and text == "The capital of France is Paris.\n", "one answer", text + figures)
    for expected in ("prompt      37 tokens in", "answer       7 tokens in", "attention", "keys and values"):
        checks.check(expected in figures, f"'{expected}' in the figures", figures)

    file = checks.scratch / "answers.json"
    options = ("--model", model, "--max-tokens", "8", "--json", file, "--system", "Answer in one word.")
    status, text, figures = checks.run(*options, "What is the capital of France?", "<|im_end|>")
    checks.check(status == 0 and "[1] What is the capital of France?\n" in text and "[2] <|im_end|>\n" in text,
                 "two answers", text + figures)
    written = json.loads(file.read_text())
    checks.check([one["prompt"] for one in written["answers"]] == ["What is the capital of France?", "<|im_end|>"],
                 "prompts in the file", written)
    turns = [one["prompt_tokens"].count(2) for one in written["answers"]]
    checks.check(turns == [2, 2], "a prompt cannot end its turn", turns)
    for run in (written["prompt_run"], written["answer_run"]):
        checks.check(0 < run["attention_seconds"] < run["seconds"] and run["tokens"] > 0, "figures in the file", run)

    status, text, message = checks.run(*options[:4], "--json", checks.scratch / "missing" / "out.json", "A prompt.")
    checks.check(status > 0 and "out.json: cannot be written" in message, "unwritable output", message)

    # With a window a short prompt needs few pages, however long the answer is.
    sizes = []
    for window in ("8192", "64"):
        checks.run("--model", model, "--max-tokens", "2048", "--window", window, "--page-size", "16", "--json", file,
                   "What is the capital of France?")
        sizes.append(json.loads(file.read_text())["cache_bytes"])
    checks.check(10 * sizes[1] < sizes[0], "a window saves memory", sizes)


def main():
    arguments = common.parse_arguments()
    with tempfile.TemporaryDirectory() as scratch:
        checks = CommandLine(arguments.program, scratch)
        wrong_options(checks, arguments.model)
        broken_models(checks, arguments.model)
        answers(checks, arguments.model)
    if checks.failures:
        sys.exit(f"{checks.failures} checks failed")


if __name__ == "__main__":
    main()
