"""What flags and plans say of a CSV file: only what was said, in the words of Python."""

import pytest

from tacit.cli.shared.flag_values import csv_of, csv_of_plan
from tacit.cli.shared.options import TableOptions


@pytest.mark.parametrize(
    ("flags", "meant"),
    [
        ({}, {"types": {}}),
        (
            {"header": "no", "types": ["age=integer"]},
            {"header": False, "types": {"age": "integer"}},
        ),
        ({"header": "yes"}, {"header": True, "types": {}}),
        ({"header": "id, age"}, {"header": ["id", "age"], "types": {}}),
        ({"delimiter": "tab"}, {"delimiter": "\t", "types": {}}),
        ({"quote": ""}, {"quote": "", "types": {}}),
        ({"null": []}, {"types": {}}),
        ({"multiline": 3}, {"multiline": 3, "types": {}}),
    ],
    ids=str,
)
def test_flags(flags, meant):
    found = dict(csv_of(TableOptions(**flags)))
    assert {k: v for k, v in found.items() if k != "types" or v} == {
        k: v for k, v in meant.items() if k != "types" or v
    }


def test_a_plan_says_the_same_in_its_own_fields():
    assert csv_of_plan({"path": "a.csv", "delimiter": ";", "header": False}) == {
        "delimiter": ";",
        "header": False,
    }
