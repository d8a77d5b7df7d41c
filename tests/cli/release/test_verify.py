"""``tacit verify``: certificates that hold, that were changed, or are of another ledger."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

RELEASE = "release people.csv --one-row-each --count --epsilon 0.5 --certificate c.json"


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
