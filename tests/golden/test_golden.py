"""Today's code gives what the golden files hold; what to do where it does not: CONTRIBUTING.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from golden import FILES

from .store import differences, now, read

STORED = {file: read(file) for file in FILES}
CASES = {file: dict(cases()) for file, cases in FILES.items()}
EVERY = [(file, name) for file, cases in CASES.items() for name in cases]


@pytest.mark.parametrize(("file", "name"), EVERY, ids=lambda text: str(text)[:90])
def test_it_is_as_it_was(file: str, name: str) -> None:
    found = differences(STORED[file].get(name, "nothing"), now(CASES[file][name]))
    assert not found, "\n".join([f"{file}.jsonl: {name}", *found[:20]])


@pytest.mark.parametrize("file", FILES)
def test_every_entry_has_its_case(file: str) -> None:
    """None is lost: a question that no case asks any more would be guarded by nothing."""
    assert STORED[file].keys() == CASES[file].keys()


def test_every_condition_of_the_docs_is_stored() -> None:
    root = Path(__file__).parents[2]
    pages = [root / "README.md", *(root / "docs").rglob("*.md")]
    shown = {
        text
        for page in pages
        for text in re.findall(r'--where(?:-person)? "([^"]+)"', page.read_text(encoding="utf-8"))
    }
    assert shown
    assert {f"condition: {text}" for text in shown} <= STORED["keys"].keys()


@pytest.mark.parametrize(
    ("stored", "found"),
    [
        (1, 1.5),
        (1, True),
        ("1", 1),
        (1.0, 1.00000001),
        ([1], [1, 2]),
        ({"a": 1}, {"a": 1, "b": None}),
        ({"a": {"b": [0.5, "x"]}}, {"a": {"b": [0.5, "y"]}}),
        (None, "nothing"),
    ],
)
def test_what_differs_is_seen(stored: Any, found: Any) -> None:
    assert differences(stored, found)
    assert differences(found, stored)


def test_the_last_digits_of_a_float_do_not_count() -> None:
    assert not differences([0.1 + 0.2, 1], [0.3, 1.0])
