"""A release in parts: paid once, each place written once, and a chain that shows it."""

import json
import sqlite3
import threading

import pytest

from tacit.accounting import epsilon, open_ledger
from tacit.accounting.ledger import charge_once, parts_of, record_new, record_part
from tacit.errors import BudgetError, LedgerError, UsageError, VerificationError

QUESTION = {"count": "visits", "every": 3600}


@pytest.fixture(name="ledger", params=["file", "memory", "postgres"])
def _ledger(request, tmp_path):
    path = tmp_path / "a.ledger" if request.param == "file" else None
    if request.param == "postgres":
        path = request.getfixturevalue("address")
    with open_ledger(path, dataset="clinic", budget=epsilon(1)) as ledger:
        yield ledger


def test_it_is_paid_once_and_never_again(ledger):
    first = charge_once(ledger, "visits", epsilon("1/2"), QUESTION)
    assert first.state == "open"
    assert charge_once(ledger, "visits", epsilon("1/2"), QUESTION) == first
    ledger.record(first, {"steps": []})
    again = charge_once(ledger, "visits", epsilon("1/2"), QUESTION)
    assert (again.sequence, again.answer) == (first.sequence, {"steps": []})
    assert ledger.spent == epsilon("1/2")
    with pytest.raises(BudgetError):
        charge_once(ledger, "other", epsilon("3/4"), QUESTION)
    with pytest.raises(UsageError):
        charge_once(ledger, "other", epsilon("1/4"), {"count": object()})
    assert ledger.spent == epsilon("1/2")


def test_each_place_is_written_once_and_in_order(ledger):
    entry = charge_once(ledger, "visits", epsilon("1/2"), QUESTION)
    assert not record_part(ledger, entry, 1, {"n": 5})  # the first is lacking
    assert record_part(ledger, entry, 0, {"n": 3})
    assert not record_part(ledger, entry, 0, {"n": 4})
    assert record_part(ledger, entry, 1, {"n": 5})
    assert parts_of(ledger, entry) == [{"n": 3}, {"n": 5}]
    assert ledger.verify_chain() == len(ledger.events())
    assert ledger.find("visits").answer is None  # parts are no answer
    assert [e.sequence for e in ledger.history()] == [entry.sequence]


def test_parts_that_stand_are_not_written_again_and_all_in_one_transaction(ledger, monkeypatch):
    entry = charge_once(ledger, "visits", epsilon("1/2"), QUESTION)
    record_new(ledger, entry, [{"n": 1}, {"n": 2}, {"n": 1}])
    opened, write = [], ledger.chain.write
    monkeypatch.setattr(ledger.chain, "write", lambda: opened.append(1) or write())
    record_new(ledger, entry, [{"n": n} for n in range(30)])
    assert len(opened) == 1
    assert parts_of(ledger, entry) == [{"n": n} for n in (1, 2, 0, *range(3, 30))]
    with pytest.raises(UsageError, match="at most"):
        record_new(ledger, entry, [{"n": 1}, {"n": 30}], most=30)
    record_new(ledger, entry, [{"n": 1}], most=30)
    assert len(parts_of(ledger, entry)) == 30
    assert ledger.verify_chain() == len(ledger.events())


def test_of_many_at_once_one_pays_and_one_writes_each_place(ledger):
    wrote, paid = [], set()

    def work(name):
        entry = charge_once(ledger, "visits", epsilon("1/2"), QUESTION)
        paid.add(entry.sequence)
        for place in range(20):
            if record_part(ledger, entry, place, {"by": name, "place": place}):
                wrote.append((place, name))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (entry,) = ledger.history()
    assert paid == {entry.sequence}
    found = [(part["place"], part["by"]) for part in parts_of(ledger, entry)]
    assert found == sorted(wrote)
    assert [place for place, _ in found] == list(range(len(found)))
    assert ledger.verify_chain() == len(ledger.events())


def test_a_part_needs_a_charge_of_its_own_ledger(ledger):
    entry = charge_once(ledger, "visits", epsilon("1/2"), QUESTION)
    with open_ledger(None, dataset="clinic", budget=epsilon(1)) as other:
        with pytest.raises(LedgerError, match="no such charge"):
            record_part(other, entry, 0, {"n": 1})
        with pytest.raises(LedgerError, match="no such charge"):
            record_new(other, entry, [{"n": 1}])
        charge_once(other, "another", epsilon("1/2"), QUESTION)
        with pytest.raises(LedgerError, match="no such charge"):
            record_part(other, entry, 0, {"n": 1})
    with pytest.raises(UsageError, match="plain JSON"):
        record_part(ledger, entry, 0, {"n": object()})


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda body: body["body"].update(charge=1), "not paid for"),
        (lambda body: body["body"].update(place=0), "wrong place"),
        (lambda body: body["body"].update(place=2), "wrong place"),
        (lambda body: body.update(key="other"), "not paid for"),
    ],
    ids=["another charge", "a place twice", "a gap", "another key"],
)
def test_a_chain_with_a_wrong_part_is_found(tmp_path, monkeypatch, change, told):
    """A forger who writes a new hash is caught by what parts must be."""
    from tacit.accounting.ledger_chain import Event, Head, verify

    with open_ledger(tmp_path / "a.ledger", dataset="clinic", budget=epsilon(1)) as ledger:
        entry = charge_once(ledger, "visits", epsilon("1/2"), QUESTION)
        for n in range(2):
            assert record_part(ledger, entry, n, {"n": n})
        events = ledger.events()
    described = json.loads(events[-1].text)
    change(described)
    head = None
    for event in events[:-1]:
        head = Head.following(head, event)
    forged = Event.after(head, "part", described["key"], described["body"])
    with pytest.raises(VerificationError, match=told):
        verify([*events[:-1], forged], Head.following(head, forged))


def test_a_part_that_was_edited_is_found(tmp_path, monkeypatch):
    path = tmp_path / "a.ledger"
    with open_ledger(path, dataset="clinic", budget=epsilon(1)) as ledger:
        entry = charge_once(ledger, "visits", epsilon("1/2"), QUESTION)
        record_part(ledger, entry, 0, {"n": 17})
        record_part(ledger, entry, 1, {"n": 18})
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE event SET body = replace(body, ':17}', ':71}')")
    connection.close()
    with open_ledger(path) as ledger, pytest.raises(VerificationError, match="changed after"):
        ledger.verify_chain()
