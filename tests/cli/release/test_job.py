"""A job opens one session on one ledger, which knows its unit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.accounting import open_ledger
from tacit.tables.plan.plan import Plan

RELEASE = "release people.csv --one-row-each --count --mean age:0:100 --epsilon 0.5"


def test_without_a_budget_the_first_release_is_the_whole_budget(tacit, folder: Path) -> None:
    done = tacit(RELEASE)
    assert done.code == 0
    assert "the price of this release as its whole budget" in done.err
    with open_ledger(folder / "people.ledger") as ledger:
        assert (str(ledger.total), str(ledger.remaining)) == ("epsilon 0.5", "epsilon 0")
    assert tacit("release people.csv --one-row-each --count --epsilon 0.1").code == 1


def test_the_ledger_is_the_same_from_every_folder(tacit, folder: Path, monkeypatch) -> None:
    assert tacit(RELEASE).code == 0
    (folder / "deep").mkdir()
    monkeypatch.chdir(folder / "deep")
    done = tacit("release ../people.csv --one-row-each --count --epsilon 0.1")
    assert done.code == 1
    assert sorted(p.name for p in folder.glob("**/*.ledger")) == ["people.ledger"]


def test_a_ledger_knows_its_unit(tacit) -> None:
    first = "release people.csv --person person --rows 2 --count --epsilon 0.5 --budget-epsilon 1"
    assert tacit(first).code == 0
    assert tacit("release people.csv --mean age:0:100 --epsilon 0.5").code == 0
    other = tacit("release people.csv --one-row-each --mean age:0:100 --epsilon 0.5")
    assert other.code == 2
    assert "has other terms" in other.err
    assert "not (column none, rows 1, groups 1)" in other.err


def test_the_unit_must_be_said(tacit, folder: Path) -> None:
    for command in ("release", "preview"):
        done = tacit(f"{command} people.csv --count --epsilon 0.5")
        assert done.code == 2
        assert "--person COL --rows 5" in done.err
        assert "--one-row-each" in done.err
    both = tacit("release people.csv --one-row-each --person person --rows 2 --count --epsilon 1")
    assert both.code == 2
    assert "every row is another person" in both.err
    assert tacit("ledger create people.csv --budget-epsilon 1").code == 2
    assert list(folder.glob("*.ledger")) == []


@pytest.mark.full
@pytest.mark.parametrize(
    "command",
    [
        RELEASE,
        "count-over-time people.csv --one-row-each --time age --start 18 --every 20 "
        "--periods 3 --now 80 "
        "--epsilon 1",
    ],
)
def test_the_first_release_opens_one_session(tacit, folder: Path, monkeypatch, command) -> None:
    from tacit.tables import Session

    opened = []
    begin = Session.__init__
    monkeypatch.setattr(
        Session, "__init__", lambda session, *a, **k: (opened.append(a), begin(session, *a, **k))[1]
    )
    assert tacit(command).code == 0
    assert len(opened) == 1
    assert (folder / "people.ledger").is_file()


def test_a_release_is_planned_once(tacit, monkeypatch) -> None:
    made, check = [], Plan.__post_init__

    def counted(plan: Plan) -> None:
        made.append(plan)
        check(plan)

    monkeypatch.setattr(Plan, "__post_init__", counted)
    assert tacit(f"{RELEASE} --budget-epsilon 1").code == 0  # tried on paper, then released
    assert len(made) == 1
    assert tacit(f"{RELEASE} --budget-epsilon 1".replace("release", "preview", 1)).code == 0
    assert len(made) == 2
