"""Collections: what their fields may be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tacit import local
from tacit.errors import DataSourceError, UsageError
from tacit.service.growing.collection import Collection, collections_of

COLOUR: dict[str, Any] = {"mechanism": "UnaryEncoding", "items": ["red", "blue"], "epsilon": "1"}


def test_the_mechanism_is_the_one_of_the_devices() -> None:
    made = Collection.from_fields("colour", {**COLOUR, "other": "none of them"}, Path())
    items = local.Items(["red", "blue"], other="none of them")
    assert made.oracle == local.UnaryEncoding(items, epsilon="1")
    assert json.loads(json.dumps(made.describe()))["fingerprint"] == made.oracle.fingerprint


def test_a_file_beside_the_settings_states_the_whole_question(tmp_path: Path) -> None:
    oracle = local.Duchi(0, 100, epsilon=2)
    (tmp_path / "age.json").write_text(json.dumps(oracle.describe()))
    said = {"age": {"question": "age.json", "per_token": 1}}
    assert collections_of(said, tmp_path)["age"].oracle == oracle


def test_a_number_is_asked_between_bounds() -> None:
    said = {"mechanism": "Piecewise", "bounds": [0, 100], "epsilon": 1}
    assert Collection.from_fields("age", said, Path()).oracle == local.Piecewise(0, 100, epsilon=1)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({}, "mechanism = '...' names it"),
        ({**COLOUR, "mechanism": "UnaryEncodin"}, "did you mean 'UnaryEncoding'"),
        ({**COLOUR, "mechanism": "os"}, "mechanism = "),
        ({**COLOUR, "mechanism": ["a"]}, "mechanism = "),
        ({**COLOUR, "epsilom": 1}, "cannot be made from these fields"),
        ({**COLOUR, "items": ["red"]}, "."),
        ({**COLOUR, "replay": 1}, "replay is true or false"),
        ({**COLOUR, "per_token": 0}, "per_token"),
        ({**COLOUR, "purpose": 3}, "purpose is text"),
        ({"question": "../x.json"}, "name of a file beside"),
        ({"question": ".hidden"}, "name of a file beside"),
        ({"question": "a.json", "items": ["a"]}, "states everything"),
        ({"mechanism": "Duchi", "bounds": [1]}, "a lower and an upper bound"),
    ],
)
def test_other_fields_are_refused(said: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        Collection.from_fields("colour", said, tmp_path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataSourceError, match=r"a\.json cannot be read"):
        Collection.from_fields("colour", {"question": "a.json"}, tmp_path)


def test_a_collection_is_a_table() -> None:
    with pytest.raises(UsageError, match=r"collections\.x"):
        collections_of({"x": 3}, Path())
