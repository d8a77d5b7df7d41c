"""A preview spends nothing, begins no ledger and asks the table nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tacit.accounting import open_ledger
from tacit.tables.plan.preview import Preview
from tacit.tables.question import Question

RELEASE = "release people.csv --one-row-each --count --mean age:0:100 --epsilon 0.5"


def test_preview_spends_nothing_and_begins_no_ledger(tacit, folder: Path) -> None:
    done = tacit(
        "preview people.csv --one-row-each --count --mean age:0:100 --epsilon 0.5 --sizes 10,1000"
    )
    assert done.code == 0
    assert "1000 rows" in done.out
    assert not list(folder.glob("*.ledger"))
    tacit(f"{RELEASE} --budget-epsilon 1")
    before = (folder / "people.ledger").read_bytes()
    shown = tacit("preview people.csv --one-row-each --count --epsilon 0.75 --json").json[
        "previews"
    ][0]
    assert not shown["affordable"]
    assert tacit(
        "preview people.csv --one-row-each --count --mean age:0:100 --epsilon 0.5 --json"
    ).json["previews"][0]["answered"]
    with open_ledger(folder / "people.ledger") as ledger:
        assert str(ledger.spent) == "epsilon 0.5"
    assert (folder / "people.ledger").read_bytes() == before


def test_preview_draws_no_noise_and_asks_the_table_nothing(tacit, monkeypatch) -> None:
    from tacit.tables.release import opened_table

    def never(*_: object) -> None:
        raise AssertionError("a preview must not look at the data")

    monkeypatch.setattr(opened_table.Collector, "collect", never)
    assert (
        tacit("preview people.csv --one-row-each --count --median age:0:100 --epsilon 0.5").code
        == 0
    )


@pytest.mark.parametrize("end", ["", "."])
def test_a_note_ends_in_one_full_stop(tacit, monkeypatch, end: str) -> None:
    before = Question.preview

    def noted(*given: Any, **more: Any) -> Preview:
        return replace(before(*given, **more), notes=(f"All analysts spend one budget{end}",))

    monkeypatch.setattr(Question, "preview", noted)
    done = tacit("preview people.csv --one-row-each --count --epsilon 0.5")
    assert "All analysts spend one budget." in done.out.splitlines()
