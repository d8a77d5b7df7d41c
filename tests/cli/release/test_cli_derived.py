"""Columns that a command or a plan computes: one question with Python's, its bounds and groups."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tacit as tc

DECLARED = """
name = "people"
unit = "row"
budget = { epsilon = 10 }
[tables.people]
path = "people.csv"
columns.pay = { kind = "integer", bounds = [0, 1000] }
columns.age = { kind = "integer" }
columns.site = { kind = "text", keys = ["a", "b", "c"] }
columns.day = { kind = "date" }
"""
ASKED = [
    *("--with", "double = pay * 2"),
    *("--with", "young = age < 40"),
    *("--with", "weekday = weekday(day)"),
    *("--where", "length(sex) = 1 and double >= 0"),
    *("--by", "site,young", "--mean", "double", "--count", "--epsilon", "2"),
]


@pytest.fixture
def declared(folder: Path) -> Path:
    (folder / "people.toml").write_text(DECLARED)
    return folder / "people.toml"


def asked(session: tc.Session) -> tc.tables.Question:
    """The same in Python."""
    pay, age = tc.col("pay"), tc.col("age")
    question = session.with_column("double", pay * 2).with_column("young", age < 40)
    question = question.with_column("weekday", tc.col("day").weekday())
    question = question.filter((tc.col("sex").length() == 1) & (tc.col("double") >= 0))
    return question.group_by("site", "young").agg(count=tc.count(), mean_double=tc.mean("double"))


def test_a_command_asks_what_python_asks(tacit, declared: Path) -> None:
    done = tacit("release", "people.toml", *ASKED, "--json")
    (release,) = done.json["releases"]
    assert not release["replayed"]
    with tc.open(declared) as session:
        again = asked(session).release(epsilon=2)
    assert again.replayed
    assert again.keys == [(s, y) for s in "abc" for y in (False, True)]
    plan = """
[source]
path = "people.toml"
[[question]]
with = { double = "pay * 2", young = "age < 40", weekday = "weekday(day)" }
where = "length(sex) = 1 and double >= 0"
by = ["site", "young"]
epsilon = 2
[question.answers]
count = { statistic = "count" }
mean_double = { statistic = "mean", column = "double" }
"""
    Path("plan.toml").write_text(plan)
    (planned,) = tacit("release --plan plan.toml --json").json["releases"]
    assert planned["replayed"]
    assert planned["answers"] == release["answers"]


def test_the_preview_shows_the_bounds_that_follow(tacit, declared: Path) -> None:
    shown = tacit("preview", "people.toml", *ASKED)
    assert "mean_double: clamped to [0, 2000]" in shown.out
    found = tacit("preview", "people.toml", *ASKED, "--json").json
    assert found["previews"][0]["bounds"] == {"mean_double": ["0", "2000"]}


@pytest.mark.parametrize(
    ("column", "keys"),
    [
        ("g = weekday(read_date(day))", [1, 2, 3, 4, 5, 6, 7]),
        (
            "g = when(age < 30, 'young', when(age < 50, 'middle', 'old'))",
            ["young", "middle", "old"],
        ),
        ("g = to_integer(clamp(age, 0, 99) / 50)", [0, 1]),
        ("g = modulo(read_number(age), 3)", None),
        ("g = substring(site, 1, 1)", None),
        ("g = cut(age, 18, 40, 78)", ["[18, 40)", "[40, 78]"]),
    ],
)
def test_groups_that_follow_need_no_keys(tacit, column: str, keys: list[object] | None) -> None:
    command = ["release", "people.csv", "--one-row-each", "--count", "--by", "g", "--epsilon", "9"]
    done = tacit(*command, "--with", column, "--json")
    if keys is None:
        assert done.code == 2
        assert "keys" in done.err or "modulo" in done.err
        return
    answers = done.json["releases"][0]["answers"]
    assert [answer["key"]["g"] for answer in answers] == keys
    counts = [answer["count"]["value"] for answer in answers]
    assert abs(sum(counts) - 600) < 50


def test_keys_of_one_column_go_with_those_that_follow(tacit, folder: Path) -> None:
    command = "release people.csv --one-row-each --count --by site,old --keys site=a,b --epsilon 5"
    done = tacit(*command.split(), "--with", "old = age >= 50", "--json")
    found = [answer["key"] for answer in done.json["releases"][0]["answers"]]
    assert [(key["site"], key["old"]) for key in found] == [
        ("a", False),
        ("a", True),
        ("b", False),
        ("b", True),
    ]


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--with", "x = pay +"], "where a column, a number or a text is expected"),
        (["--with", "pay = age"], "there is a column 'pay' already"),
        (["--with", "x = age", "--with", "x = pay"], "'x' is given twice"),
        (["--with", "age_group = pay", "--cut", "age:0,50"], "a column 'age_group' already"),
        (["--with", "x = nothing * 2"], "there is no column 'nothing'"),
        (["--with", "x = system('true')"], "'system', which is not a function"),
        (["--with", "x = pay * 2", "--mean", "x"], "none follow for"),
    ],
)
def test_a_column_that_cannot_be_is_refused(tacit, folder: Path, words, says: str) -> None:
    command = ["release", "people.csv", "--one-row-each", "--count", "--epsilon", "1", *words]
    done = tacit(*command)
    assert done.code == 2
    assert says in " ".join(done.err.split())
    assert not (folder / "people.ledger").exists()


def test_a_plan_says_its_columns_itself(tacit) -> None:
    done = tacit("release", "--plan", "plan.toml", "--with", "x = 1")
    assert done.code == 2
    assert "leave with out" in done.err


@pytest.mark.parametrize("said", ['"x"', "{ x = 3 }", '{ x = "pay +" }', '{ pay = "age" }'])
def test_a_plan_with_a_column_that_cannot_be_is_refused(tacit, folder: Path, said: str) -> None:
    question = f"[[question]]\nepsilon = 1\nwith = {said}\nanswers.n = {{ statistic = 'count' }}\n"
    source = json.dumps(str(folder / "people.csv"))
    (folder / "plan.toml").write_text(f'unit = "row"\n[source]\npath = {source}\n{question}')
    assert tacit("release --plan plan.toml").code == 2
    assert not (folder / "people.ledger").exists()
