"""Plans: several questions, paid whole or not at all, and each mistake told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


def test_a_plan_must_say_the_unit(tacit, folder: Path) -> None:
    asked = """
[source]
path = "people.csv"
[[question]]
answers = { n = { statistic = "count" } }
epsilon = 1
"""
    for said, code in (("", 2), ('unit = "person"', 2), ('unit = "row"', 0)):
        (folder / "plan.toml").write_text(said + asked)
        done = tacit("release --plan plan.toml")
        assert done.code == code, done.err
        assert code == 0 or 'unit is "row"' in done.err or 'unit = "row"' in done.err


PLAN = """
[source]
path = "people.csv"
types = { site = "text" }
[unit]
person = "person"
rows = 2
[budget]
epsilon = 1
ledger = "plan.ledger"
[[question]]
name = "by site"
by = ["site"]
keys = ["a", "b"]
epsilon = 0.4
certificate = "site.json"
[question.answers]
people = { statistic = "count_people" }
[[question]]
where = "age >= 30"
epsilon = "3/5"
[question.answers]
p90 = { statistic = "percentile", column = "pay", q = 90, lower = 0, upper = 1000 }
ages = { statistic = "histogram", column = "age", edges = [18, 40, 100] }
"""


@pytest.mark.full
def test_a_plan_asks_several_questions(tacit, folder: Path) -> None:
    (folder / "plan.toml").write_text(PLAN)
    done = tacit("release --plan plan.toml --json").json
    assert done["remaining"]["exact"] == {"epsilon": "0"}  # 0.4 is four tenths, exactly
    first, second = done["releases"]
    assert first["name"] == "by site"
    assert set(second["answers"][0]) == {"key", "p90", "ages"}
    assert json.loads((folder / "site.json").read_text())["digest"] == first["digest"]
    again = tacit("release --plan plan.toml --json").json
    assert [r["replayed"] for r in again["releases"]] == [True, True]
    assert tacit("preview --plan plan.toml").code == 0


def test_a_plan_is_paid_whole_or_not_at_all(tacit, folder: Path) -> None:
    (folder / "plan.toml").write_text(PLAN.replace('"3/5"', '"61/100"'))
    done = tacit("release --plan plan.toml")
    assert done.code == 1
    assert not (folder / "plan.ledger").exists()


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[unit]", "[units]", "did you mean 'unit'"),
        ("rows = 2", "row = 2", "did you mean 'rows'"),
        ('"count_people"', '"count_peple"', "did you mean 'count_people'"),
        ("upper = 1000", "uper = 1000", "uper"),
        (", upper = 1000", "", "lacks upper"),
        ('path = "people.csv"', "path = 3", "text in quotes"),
        ("epsilon = 0.4", "epsilon = -1", "above zero"),
        ('"age >= 30"', '"age >> 30"', "the condition"),
        ("[[question]]", "[[question", "not TOML"),
        ("age >= 30", "agee >= 30", "did you mean 'age'"),
        ('where = "age >= 30"', 'cut = { old = { column = "age", edge = [1] } }', "edges = ["),
        ('where = "age >= 30"', 'cut = { old = { column = "age", edges = [1] } }', "two edges"),
        ('keys = ["a", "b"]\n', "", "not known to be public"),
        ('keys = ["a", "b"]', "keys = []", "list of keys is empty"),
    ],
)
def test_a_plan_with_a_mistake_spends_nothing(tacit, folder: Path, old, new, said) -> None:
    assert old in PLAN
    (folder / "plan.toml").write_text(PLAN.replace(old, new))
    done = tacit("release --plan plan.toml")
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert not (folder / "plan.ledger").exists()


def test_a_plan_stands_alone(tacit, folder: Path) -> None:
    (folder / "plan.toml").write_text(PLAN)
    done = tacit("release people.csv --plan plan.toml")
    assert done.code == 2
    assert "--plan says everything" in done.err
    assert tacit("release --plan nowhere.toml").code == 2
    assert tacit("release --plan plan.toml --csv").code == 2
