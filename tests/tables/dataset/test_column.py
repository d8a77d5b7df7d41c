"""What is public of a column: what a file may say of it, and what contradicts itself."""

from __future__ import annotations

import datetime
from fractions import Fraction
from typing import Any

import pytest

from tacit.errors import UsageError
from tacit.tables.dataset.table import ColumnDeclaration


def read(**said: Any) -> ColumnDeclaration:
    return ColumnDeclaration.from_fields(said, "age of visits")


def test_what_a_file_says_comes_back_as_it_was_said() -> None:
    said = {"kind": "integer", "meaning": "years", "unit": "a", "keys": [1, 2], "public": True}
    found = read(**said, bounds=[0, 9])
    assert found.bounds == (0, 9)
    told = found.to_fields()
    assert {**told, "keys": list(told["keys"])} == {**said, "bounds": (0, 9)}
    assert ColumnDeclaration().to_fields() == {}
    assert found.told == {"meaning": "years", "unit": "a"}


def test_bounds_are_exact_and_days_as_keys_are_text() -> None:
    assert read(bounds=[0.5, 2]).bounds == (Fraction(1, 2), 2)
    assert read(kind="date", keys=[datetime.date(2024, 1, 2)]).keys == ("2024-01-02",)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"kind": "number"}, "kind of age of visits is one of"),
        ({"kinds": "integer"}, "kind"),
        ({"zone": "UTC"}, "in_zone"),
        ({"bounds": 5}, "two numbers"),
        ({"bounds": [0, 1, 2]}, "two numbers"),
        ({"bounds": [2, 0]}, "age of visits"),
        ({"kind": "text", "bounds": [0, 1]}, "age of visits"),
        ({"keys": []}, "keys of age of visits"),
        ({"keys": [1, 1]}, "each once"),
        ({"keys": [1.5]}, "keys of age of visits"),
        ({"kind": "integer", "keys": ["a"]}, "age of visits"),
        ({"kind": "boolean", "keys": ["yes"]}, "age of visits"),
        ({"kind": "float", "keys": ["a"]}, "is not a whole number up to"),
        ({"keys": [5, 99], "bounds": [0, 9]}, "has the key 99"),
        ({"public": "yes"}, "public"),
        ({"meaning": 5}, "meaning"),
    ],
)
def test_what_contradicts_itself_is_refused(said: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read(**said)


def test_keys_are_held_against_the_kind_that_a_table_turns_out_to_have() -> None:
    declared = read(keys=["a", "b"])
    for kind in ("text", "undeclared", "missing"):
        declared.refuse_keys(kind, "site")
    for kind in ("integer", "float", "decimal", "boolean"):
        with pytest.raises(UsageError, match="site"):
            declared.refuse_keys(kind, "site")
    read(keys=[True, False]).refuse_keys("boolean", "smokes")
    read().refuse_keys("float", "pay")  # without keys nothing is held
