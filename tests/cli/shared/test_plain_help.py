"""The help of every command: no type of Python, and a word behind what takes a value."""

from __future__ import annotations

import re

import pytest
from tests.support.odd_values import COMMANDS

WORDS = ["", *COMMANDS, "ledger", "local", "token"]


@pytest.mark.few(4)
@pytest.mark.parametrize("words", WORDS)
def test_help_has_no_types_of_python(tacit, words: str) -> None:
    done = tacit(*words.split(), "--help")
    assert done.code == 0
    assert not re.findall(r"<[a-z]+[\[>]|list\[|\bbool\b|\bstr\b|\bNone\b", done.out)


def test_numbers_and_texts_are_named(tacit) -> None:
    told = tacit("local", "choose", "--help").out
    assert re.search(r"--plot +TEXT ", told)
    assert re.search(r"--json +Print", told)
    assert re.search(r"--size +NUMBER ", tacit("sensitivity", "--help").out)
