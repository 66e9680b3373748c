# SPDX-License-Identifier: MIT
"""What the tests of the examples with a model share."""

import importlib
import pathlib
import sys

SKIPPED = 77  # SKIP_RETURN_CODE of the CTest entries


def skip(reason):
    print(f"[SKIP] {reason}")
    sys.exit(SKIPPED)


def need_module(name, use):
    try:
        return importlib.import_module(name)
    except ImportError:
        skip(f"{use} needs the Python package '{name}', which {sys.executable} does not have")


class Checks:
    """Counts what does not hold. `program` is under test, `scratch` a folder for its files."""

    def __init__(self, program, scratch):
        self.program, self.scratch, self.failures = program, pathlib.Path(scratch), 0

    def check(self, condition, description, detail=""):
        if not condition:
            self.failures += 1
            print(f"FAILED: {description}\n{detail}")
