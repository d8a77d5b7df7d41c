"""Data sets that a file declares, on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

FINISHED = """
name = "clinic"
unit = { person = "person", rows = 5, groups = 1 }
budget = { epsilon = 1 }
[tables.clinic]
path = "clinic.csv"
[tables.clinic.columns]
person = { kind = "integer" }
site = { kind = "integer", keys = [1, 2] }
cost = { kind = "float", bounds = [0, 50] }
day = { kind = "date" }
"""


@pytest.fixture
def clinic(folder: Path) -> Path:
    Path("clinic.csv").write_text("person,site,cost,day\n1,1,9,2026-01-01\n2,2,30,2026-01-02\n")
    Path("clinic.toml").write_text(FINISHED)
    return folder


def test_a_draft_is_written_once_and_refused_until_it_is_finished(tacit, folder: Path) -> None:
    Path("clinic.csv").write_text("person,site\n1,1\n")
    done = tacit("init clinic.csv")
    assert done.code == 0, done.err
    assert "tacit check clinic.toml" in done.err
    again = tacit("init clinic.csv")
    assert again.code == 2
    assert "exists" in again.err
    for command in ("check clinic.toml", "release clinic.toml --count --epsilon 1"):
        refused = tacit(command)
        assert refused.code == 2
        assert "decide unit.rows, unit.groups, budget.epsilon" in refused.err
    assert not Path("clinic.ledger").exists()


def test_a_release_needs_neither_bounds_nor_keys(tacit, clinic: Path) -> None:
    assert tacit("check clinic.toml").code == 0
    asked = "clinic.toml --mean cost --median cost --percentile cost:90 --by site --epsilon 0.5"
    expected = tacit(f"preview {asked} --json")
    assert expected.code == 0, expected.err
    assert not Path("clinic.ledger").exists()
    first = tacit(f"release {asked} --json")
    assert first.code == 0, first.err
    found = first.json["releases"][0]["answers"]
    assert [record["key"] for record in found] == [{"site": 1}, {"site": 2}]
    assert all(0 <= record["mean_cost"]["value"] <= 50 for record in found)
    again = tacit(
        "release clinic.toml --mean cost:0:50 --median cost:0:50 --percentile "
        "cost:90:0:50 --by site --keys 1,2 --epsilon 0.5 --json"
    )
    assert again.json["releases"][0]["replayed"]
    assert again.json["remaining"]["exact"]["epsilon"] == "1/2"


def test_a_plan_and_a_count_over_time_take_a_declaration(tacit, clinic: Path) -> None:
    Path("plan.toml").write_text(
        '[source]\npath = "clinic.toml"\n[[question]]\nepsilon = "1/4"\n'
        'answers = { cost = { statistic = "mean", column = "cost" } }\n'
    )
    done = tacit("release --plan plan.toml --json")
    assert done.code == 0, done.err
    counted = tacit(
        "count-over-time clinic.toml --time day --start 2026-01-01 --every 1d "
        "--periods 2 --epsilon 0.25 --now 2026-02-01 --json"
    )
    assert counted.code == 0, counted.err
    assert counted.json["remaining"]["exact"]["epsilon"] == "1/2"


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("--count --person person --rows 3 --epsilon 1", "declares the unit"),
        ("--count --budget-epsilon 3 --epsilon 1", "declares the budget"),
        ("--count --ledger other.ledger --epsilon 1", "declares the ledger"),
        ("--count --name other --epsilon 1", "declares its name"),
        ("--count --types cost=float --epsilon 1", "how its files are read"),
        ("--mean person --epsilon 1", "declare them for the column"),
        ("--mean cost:0 --epsilon 1", "is incomplete"),
        ("--count --table sites --epsilon 1", "no table 'sites'"),
        ("--count --by day --epsilon 1", "--keys"),
    ],
)
def test_what_is_said_twice_or_not_at_all_is_refused(
    tacit, clinic: Path, asked: str, says: str
) -> None:
    done = tacit(f"release clinic.toml {asked}")
    assert done.code == 2
    assert says in done.err
    assert not Path("clinic.ledger").exists()


def test_a_declaration_that_is_none(tacit, folder: Path) -> None:
    for content, says in (
        ("name = ", "not TOML"),
        ("nme = 1", "did you mean 'name'"),
        ("", "name"),
    ):
        Path("x.toml").write_text(content)
        done = tacit("release x.toml --count --epsilon 1")
        assert done.code == 2
        assert says in done.err
    assert tacit("release y.toml --count --epsilon 1").code == 2


@pytest.mark.full
@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("epsilon = 1", "epsilon = 2", "has the budget epsilon 1,"),
        ("rows = 5", "rows = 6", "rows 6"),
        ("[tables.clinic", "[tables.other", "belongs to the data set"),
        ("budget = { epsilon = 1 }", "", None),
        ("keys = [1, 2]", 'keys = ["a"]', "holds whole numbers, and the key"),
    ],
)
def test_a_check_holds_it_against_the_ledger(tacit, clinic: Path, old, new, says) -> None:
    assert tacit("release clinic.toml --count --epsilon 0.5").code == 0
    Path("clinic.toml").write_text(FINISHED.replace(old, new))
    done = tacit("check clinic.toml")
    assert done.code == (0 if says is None else 2)
    assert (says or "whole") in done.err + done.out
    Path("clinic.ledger").unlink()
    assert tacit("check clinic.toml").code == (0 if new.startswith(("eps", "rows", "[")) else 2)
    assert not Path("clinic.ledger").exists()


def test_a_delimiter_that_was_not_given_is_noticed_in_the_names(tacit, folder: Path) -> None:
    header = "Patient ID; Ward / Station;Cost, euro"
    (folder / "ward.csv").write_text(f"{header}\n1;West;2\n2;West;3\n", "utf-8")
    done = tacit("init ward.csv")
    assert done.code == 0, done.err
    assert "say so, as in --delimiter ';'" in done.err
    (folder / "ward.toml").unlink()
    done = tacit("init ward.csv --delimiter ;")
    assert (done.code, "--delimiter" in done.err) == (0, False)
    place = ["release", "ward.csv", "--delimiter", ";", "--person", "Patient ID", "--rows", "1"]
    ward = ["--by", " Ward / Station", "--types", " Ward / Station=text", "--count"]
    price = ["--epsilon", "1", "--budget-epsilon", "5"]
    done = tacit(*place, *ward, "--keys", "West", *price)
    assert done.code == 0, done.err
    assert "West" in done.out
    refused = tacit(*place, *ward, "--keys", "1..3", *price)
    assert "is a range of whole numbers" in refused.err
