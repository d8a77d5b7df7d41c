"""Joins on the command line and in plans are those of Python: the same question, paid for once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tacit as tc
from tacit.cli import run
from tacit.errors import UsageError
from tacit.tables.written import JoinText, join_text

DECLARED = """
name = "visits"
unit = { person = "person", rows = 5, groups = 1 }
budget = { epsilon = 1 }
[tables.visits]
path = "visits.csv"
columns.person = { kind = "integer" }
columns.home = { kind = "integer" }
[tables.patients]
path = "patients.csv"
person = "id"
columns.age = { kind = "integer", bounds = [0, 120] }
[tables.sites]
path = "sites.csv"
public = true
key = "site"
columns.region = { keys = ["north", "south"] }
"""
PLAN = """
source.path = "visits.toml"
[[question]]
join = ["left patients", "sites on home"]
by = ["region"]
epsilon = 0.5
answers.count = { statistic = "count" }
answers.mean_age = { statistic = "mean", column = "age" }
"""


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    (tmp_path / "visits.csv").write_text("person,home\n1,1\n2,2\n2,3\n")
    (tmp_path / "patients.csv").write_text("id,age\n1,20\n2,35\n")
    (tmp_path / "sites.csv").write_text("site,region\n1,north\n2,south\n")
    (tmp_path / "visits.toml").write_text(DECLARED)
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


def printed(capsys: Any, *words: object) -> Any:
    assert run(list(map(str, words))) == 0
    return json.loads(capsys.readouterr().out)


def test_a_join_is_one_question_wherever_it_is_asked(clinic: Path, capsys: Any) -> None:
    joins = ("--join", "left patients", "--join", "sites on home")
    asked = ("--count", "--mean", "age", "--by", "region", "--epsilon", "0.5", "--json")
    first = printed(capsys, "release", clinic / "visits.toml", *joins, *asked)
    again = printed(capsys, "release", "--plan", clinic / "plan.toml", "--json")
    assert again["remaining"] == first["remaining"]
    with tc.open(clinic / "visits.toml") as session:
        rows = session.join("patients", how="left").join("sites", on="home")
        question = rows.group_by("region").agg(count=tc.count(), mean_age=tc.mean("age"))
        assert question.release(epsilon="1/2").replayed
        assert session.remaining == tc.epsilon("1/2")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("patients", JoinText("patients")),
        ("  left patients ", JoinText("patients", None, "left")),
        ("inner my sites on home,year", JoinText("my sites", ("home", "year"), "inner")),
        ("left", JoinText("left")),
    ],
)
def test_a_join_is_read_as_sql_writes_it(text: str, said: JoinText) -> None:
    assert join_text(text) == said


@pytest.mark.parametrize("text", ["", "  ", "sites on a,,b"])
def test_what_is_no_join_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="a join is the name of a table"):
        join_text(text)
