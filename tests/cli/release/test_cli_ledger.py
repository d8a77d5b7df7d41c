"""``tacit ledger`` and ``tacit verify``."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

CREATE = "ledger create people.csv --budget-epsilon 1"
RELEASE = "release people.csv --one-row-each --count --epsilon 0.5 --certificate c.json"


def test_create_begins_a_ledger_once(tacit, folder: Path) -> None:
    done = tacit(f"{CREATE} --person person --rows 2 --groups 1")
    assert done.code == 0
    shown = tacit("ledger show people.ledger --json").json
    assert shown["budget"] == {"kind": "pure", "epsilon": "1"}
    assert shown["terms"]["unit"] == {"column": "person", "rows": 2, "groups": 1}
    assert shown["releases"] == []
    assert "Nothing was released yet" in tacit("ledger show people.ledger").out
    again = tacit(f"{CREATE} --person person --rows 2")
    assert again.code == 2
    assert "exists already" in again.err


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("flags", "shown"),
    [
        (
            "--budget-epsilon 1 --budget-delta 1e-6",
            {"kind": "approximate", "epsilon": "1", "delta": "1/1000000"},
        ),
        ("--budget-rho 1/3", {"kind": "concentrated", "rho": "1/3"}),
    ],
)
def test_create_knows_every_kind_of_budget(tacit, flags: str, shown: dict[str, str]) -> None:
    assert tacit(f"ledger create people.csv --one-row-each {flags} --ledger x.ledger").code == 0
    assert tacit("ledger show x.ledger --json").json["budget"] == shown


def test_show_tells_every_release(tacit) -> None:
    tacit(f"{RELEASE} --budget-epsilon 2")
    done = tacit("ledger show people.ledger")
    assert done.code == 0
    for text in (
        "Budget     epsilon 2",
        "Left       epsilon 1.5",
        "25% spent",
        "The number of rows",
    ):
        assert text in done.out
    (release,) = tacit("ledger show people.ledger --json").json["releases"]
    assert (release["state"], release["cost"]["epsilon"]) == ("answered", "1/2")


def test_verify_replays_the_chain(tacit) -> None:
    tacit(RELEASE)
    done = tacit("ledger verify people.ledger")
    assert (done.code, done.out[:2]) == (0, "ok")


def test_extend_raises_in_the_open(tacit) -> None:
    tacit(RELEASE)
    assert (
        tacit("ledger", "extend", "people.ledger", "--budget-epsilon", "2", "--reason", " ").code
        == 2
    )
    assert tacit("ledger extend people.ledger --budget-epsilon 0.4 --reason less").code == 2
    done = tacit("ledger extend people.ledger --budget-epsilon 2 --reason yearly")
    assert done.code == 0
    assert "epsilon 1.5" in done.out
    assert tacit("release people.csv --one-row-each --mean age:0:100 --epsilon 1.5").code == 0


@pytest.mark.full
def test_restore_after_a_move(tacit, folder: Path) -> None:
    tacit(f"{RELEASE} --budget-epsilon 1")
    (folder / "new").mkdir()
    shutil.move("people.ledger", "new/people.ledger")
    ask = (
        "release people.csv --one-row-each --mean age:0:100 --epsilon 0.5 --ledger "
        "new/people.ledger"
    )
    refused = tacit(ask)
    assert refused.code == 2
    assert "moved" in refused.err
    assert tacit("ledger restore new/people.ledger").code == 0
    assert tacit(ask).code == 0
    assert tacit("ledger adopt nowhere.ledger").code == 2


def test_a_certificate_is_verified(tacit, folder: Path) -> None:
    tacit(RELEASE)
    done = tacit("verify c.json --ledger people.ledger --html page.html")
    assert done.code == 0
    assert "unchecked" in done.out
    assert (folder / "page.html").exists()
    assert tacit("verify c.json --json").json["holds"] is True
    assert tacit("verify c.json --html page.txt").code == 2


def test_a_certificate_that_was_changed_is_refused(tacit, folder: Path) -> None:
    tacit(RELEASE)
    body = json.loads((folder / "c.json").read_text())
    body["spent"]["cost"]["epsilon"] = "1/4"
    (folder / "bad.json").write_text(json.dumps(body))
    done = tacit("verify bad.json")
    assert done.code == 1
    assert "FAILED" in done.out
    assert "does not hold" in done.err
    assert tacit("verify bad.json --json").json["failures"]


def test_a_certificate_of_another_ledger_is_refused(tacit) -> None:
    tacit(RELEASE)
    tacit("ledger create people.csv --one-row-each --budget-epsilon 1 --ledger other.ledger")
    assert tacit("verify c.json --ledger other.ledger").code == 1
    assert tacit("verify c.json --ledger nowhere.ledger").code == 2


@pytest.mark.parametrize("ledger", ["", " --ledger people.ledger"])
def test_a_page_tells_what_was_verified_and_verifies_no_more(tacit, folder, monkeypatch, ledger):
    from tacit import Certificate

    tacit("release people.csv --one-row-each --count --epsilon 0.5 --certificate c.json")
    verify, asked = Certificate.verify, []
    monkeypatch.setattr(
        Certificate, "verify", lambda page, kept=None: (asked.append(kept), verify(page, kept))[1]
    )
    assert tacit(f"verify c.json --html page.html{ledger}").code == 0
    assert len(asked) == 1
    looked_up = "the ledger holds all of it" in (folder / "page.html").read_text()
    assert looked_up == bool(ledger)
