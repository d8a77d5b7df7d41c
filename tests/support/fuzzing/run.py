"""Fuzz a parser: ``python -m support.fuzzing.run sql 100000``, from the folder of the tests."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from support.fuzzing.mutate import fuzz
from support.fuzzing.parsers import parser


def main() -> None:
    """Print every kind of error once, with a text that leads to it."""
    name, runs = sys.argv[1], int(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder, parser(name, Path(folder)) as parse:
        found = fuzz(name, parse, runs)
    print(name, runs, "texts", len(found), "kinds of errors")


if __name__ == "__main__":
    main()
