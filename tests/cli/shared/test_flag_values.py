"""What flags spell: answers, keys, ranges, kinds of columns; what is not whole is refused."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from tacit.cli.shared.flag_values import (
    aggregates,
    column_types,
    cuts,
    numbers,
    of_people,
    typed_keys,
    whole_range,
)
from tacit.errors import UsageError
from tacit.expressions.schema import Column, Schema

SCHEMA = Schema(
    [
        Column("site", "text", "VARCHAR"),
        Column("year", "integer", "BIGINT"),
        Column("day", "date", "DATE"),
        Column("smokes", "boolean", "BOOLEAN"),
        Column("said", "undeclared", "VARCHAR"),
    ]
)


def keys(by: list[str], *given: str) -> Any:
    return typed_keys(by, given, None, SCHEMA, "people.csv")


def test_answers_are_asked_by_flag_and_labelled() -> None:
    asked = aggregates({"count": True, "mean": ["age:0:99", "pay:0:1e3"], "median": ["age:0:99"]})
    assert set(asked) == {"count", "mean_age", "mean_pay", "median_age"}
    assert str(asked["mean_pay"]) == "mean(pay, 0, 1000)"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"mean": ["age"]}, "--mean age:0:100"),
        ({"mean": ["age:0"]}, "is incomplete"),
        ({"mean": ["age:9:0"]}, "must be in order"),
        ({"mean": ["age:0:x"]}, "^--mean age:0:x: upper bound must be a number"),
        ({"median": ["age:0:x"]}, "^--median age:0:x: "),
        ({"histogram": ["age:0,x"]}, "^--histogram age:0,x: an edge must be a number"),
        ({"covariance": ["age:0:x,pay:0:1"]}, "^--covariance age:0:x,pay:0:1: "),
        ({"mean": ["age:0:9", "age:0:99"]}, "mean_age"),
    ],
)
def test_answers_that_are_not_whole_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        aggregates(given)


@pytest.mark.parametrize(
    ("text", "found"),
    [("3", [3]), ("-1..2", [-1, 0, 1, 2]), (" 1 , 4..5", [1, 4, 5]), ("7..7", [7])],
)
def test_whole_numbers_are_listed_or_a_range(text: str, found: list[int]) -> None:
    assert whole_range(text, "distance") == found


@pytest.mark.parametrize("text", ["", "1,", "1.5", "a", "1..", "3..1", "0..100000", "1...3"])
def test_ranges_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="distance"):
        whole_range(text, "distance")


def test_numbers_are_checked_and_kept_as_written() -> None:
    assert numbers("1, 1/3,2.50", "an edge") == ["1", "1/3", "2.50"]
    with pytest.raises(UsageError, match="an edge"):
        numbers("1,,2", "an edge")


def test_kinds_of_columns_and_cuts_name_their_column() -> None:
    assert column_types(["a=b=integer"]) == {"a=b": "integer"}  # the kind stands behind the last
    assert column_types([]) is None
    assert list(cuts(["a:b:0,1"])) == ["a:b_group"]
    for wrong in (["age"], ["=text"]):
        with pytest.raises(UsageError, match="column=kind"):
            column_types(wrong)
    for wrong in (["age"], [":0,1"]):
        with pytest.raises(UsageError, match="is incomplete"):
            cuts(wrong)


def test_keys_have_the_kind_of_their_column() -> None:
    assert keys(["site"], 'a, "b, c",12') == {"site": ["a", "b, c", "12"]}
    assert keys(["year"], "2020..2022,2030") == {"year": [2020, 2021, 2022, 2030]}
    assert keys(["day"], "2024-12-31") == {"day": [datetime.date(2024, 12, 31)]}
    assert keys(["smokes"], "TRUE,false") == {"smokes": [True, False]}
    assert keys(["said"], "1,-2,0") == {"said": [1, -2, 0]}
    assert keys(["said"], "1,02") == {"said": ["1", "02"]}  # 02 is no number as written: all text
    assert keys(["said"], "3..5") == {"said": [3, 4, 5]}
    assert keys(["site", "year"], "site=a,b", "year=1..2") == {"site": ["a", "b"], "year": [1, 2]}
    assert keys(["site"]) is None


@pytest.mark.parametrize(
    ("by", "given", "said"),
    [
        (["year"], ["a"], "holds whole numbers"),
        (["day"], ["31.12.2024"], "dates such as"),
        (["smokes"], ["yes"], "true or false"),
        (["site", "year"], ["a,b"], "--keys once for each"),
        (["site"], ["1..3"], "list the keys"),
        (["site"], ["a,1..3"], "list the keys"),
        (["stie"], ["a"], "did you mean 'site'"),
    ],
)
def test_keys_that_are_none_are_refused(by: list[str], given: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        keys(by, *given)


def test_keys_of_a_file_are_its_rows_once(tmp_path: Path) -> None:
    path = tmp_path / "keys.csv"
    path.write_text("\ufeffyear,more,site\n2020,x,a\n\n2021,y,b\n2020,z,a\n")
    found = typed_keys(["site", "year"], (), str(path), SCHEMA, "people.csv")
    assert found == [("a", 2020), ("b", 2021)]
    with pytest.raises(UsageError, match="not both"):
        typed_keys(["site"], ("a",), str(path), SCHEMA, "people.csv")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("stie\na\n", "did you mean 'stie'|has no column 'site'"),
        ("site,year\na\n", "more or fewer fields"),
    ],
)
def test_a_file_of_keys_that_is_none_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "keys.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match=said):
        typed_keys(["site"], (), str(path), SCHEMA, "people.csv")


def test_the_private_table_is_no_file_of_keys(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("site\na\n")
    (tmp_path / "link.csv").symlink_to(path)
    for other in (path, tmp_path / "link.csv"):
        with pytest.raises(UsageError, match="the private table itself"):
            typed_keys(["site"], (), str(other), SCHEMA, str(path))
    with pytest.raises(UsageError, match="cannot be read"):
        typed_keys(["site"], (), str(tmp_path / "none.csv"), SCHEMA, str(path))


def test_an_error_names_the_flag_as_it_was_typed() -> None:
    with pytest.raises(UsageError, match=r"^--per-person total=sum:cost:0:x: upper bound"):
        of_people(["total=sum:cost:0:x"])
    with pytest.raises(UsageError, match=r"^--cut age:0,x: an edge"):
        cuts(["age:0,x"])
