"""Ledgers that earlier versions wrote are read as before: kept here as the SQL of their files.

``1`` is of format 1, from before accounts and filters; ``2`` of format 2, from before parts.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

import tacit as tc
from tacit.accounting import restore_ledger
from tacit.errors import DataSourceWarning, LedgerError

KEPT = sorted((Path(__file__).parent / "written_before").glob("*.sql"))
BUDGETS = {
    "pure": (tc.epsilon(2), {"epsilon": "1/2"}),
    "rho": (tc.rho(1), {"rho": "1/10"}),
    "delta": (tc.epsilon_delta(2, "1e-6"), {"epsilon": "1/4"}),
}
TYPES = {"person": "integer", "age": "integer", "site": "integer"}


@pytest.fixture(params=KEPT, ids=lambda path: path.stem)
def kept(request, tmp_path):
    """The folder of a table and its ledger, moved here from where they were written."""
    rows = "".join(f"{i // 2},{20 + i % 50},{1 + i % 3}\n" for i in range(60))
    (tmp_path / "visits.csv").write_text(f"person,age,site\n{rows}", encoding="utf-8")
    file = sqlite3.connect(tmp_path / "visits.ledger")
    file.executescript(request.param.read_text(encoding="utf-8"))
    file.close()
    return tmp_path, request.param.stem.partition("-")[2]


def opened(kept):
    folder, name = kept
    unit = tc.unit("person", rows=2, groups=1)
    place = {"ledger": folder / "visits.ledger", "name": "visits"}
    return tc.Session(
        folder / "visits.csv", unit=unit, budget=BUDGETS[name][0], types=TYPES, **place
    )


def asked(session):
    """The two questions that were released, in their order."""
    by_site = session.group_by("site", keys=[1, 2, 3])
    yield by_site.agg(n=tc.count(), age=tc.mean("age", 0, 100))
    yield session.agg(m=tc.median("age", 0, 100))


def answers(folder):
    """What the file says was answered, read without Tacit."""
    file = sqlite3.connect(folder / "visits.ledger")
    events = [json.loads(text) for (text,) in file.execute("select body from event order by 1")]
    file.close()
    found = [event["body"]["answer"] for event in events if event["event"] == "answer"]
    assert len(found) == 2
    return found


def test_it_is_known_to_stand_elsewhere(kept):
    with pytest.raises(LedgerError, match="restore_ledger"):
        opened(kept)


def test_its_chain_holds_and_its_answers_are_replayed_for_nothing(kept):
    folder, name = kept
    recorded = answers(folder)
    restore_ledger(folder / "visits.ledger")
    with opened(kept) as session:
        session.ledger.verify_chain()
        remaining = session.remaining
        for question, told in zip(asked(session), recorded, strict=True):
            # It was written before the kinds of columns were part of the identity.
            with pytest.warns(DataSourceWarning, match="did not record how the table is read"):
                answer = question.release(**BUDGETS[name][1])
            assert answer.replayed
            for column in told["columns"]:
                assert answer.to_dict()[column["label"]] == column["value"]
            assert answer.certificate.verify()
        assert session.remaining == remaining


def test_it_goes_on(kept):
    folder, name = kept
    restore_ledger(folder / "visits.ledger")
    with opened(kept) as session:
        before = session.remaining
        answer = session.agg(n=tc.count()).release(**BUDGETS[name][1])
        assert not answer.replayed
        assert not session.remaining.covers(before)
        session.ledger.verify_chain()


def test_what_it_is_charged_from_now_on_knows_how_the_table_is_read(kept):
    folder, name = kept
    restore_ledger(folder / "visits.ledger")
    with opened(kept) as session:
        session.agg(n=tc.count()).release(**BUDGETS[name][1])
    unit = tc.unit("person", rows=2, groups=1)
    place = {"ledger": folder / "visits.ledger", "name": "visits"}
    with tc.Session(folder / "visits.csv", unit, **place, types=TYPES, null="20") as session:
        question = session.agg(n=tc.count())
        assert not question.is_charged(**BUDGETS[name][1])
