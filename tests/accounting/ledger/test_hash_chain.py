"""The hash chain: what it catches when somebody edits the ledger."""

import hashlib
import json

import pytest

from accounting.ledger.ledger_edit import edit
from tacit.accounting import create_ledger, epsilon, key_of, open_ledger
from tacit.accounting import ledger_chain as chain
from tacit.accounting.ledger_chain import Event, Head, canonical, verify
from tacit.accounting.odometer import Spending
from tacit.errors import LedgerError, UsageError, VerificationError


@pytest.fixture
def path(place, new_process):
    """A ledger with five events: begun, charged, answered, charged, extended."""
    new_process()
    with create_ledger(place, dataset="clinic", budget=epsilon(1)) as ledger:
        ledger.record(ledger.charge("a", epsilon("1/4"), {"count": "rows"}), {"count": 7})
        ledger.charge("b", epsilon("1/2"), {"sum": "pay"})
        ledger.extend(epsilon(2), "a second wave of the survey")
    new_process()
    return place


def body(path, sequence):
    ((text,),) = edit(path, "SELECT body FROM {event} WHERE sequence = {}", sequence)
    return json.loads(text)


def write_anew(path, sequence, described):
    """Replace an event and give it a hash of its own, as a careful forger would."""
    text = canonical(described, sort=False)
    digest = hashlib.sha256(text.encode()).hexdigest()
    edit(
        path, "UPDATE {event} SET body = {}, hash = {} WHERE sequence = {}", text, digest, sequence
    )


def test_an_untouched_chain_holds(path):
    with open_ledger(path) as ledger:
        assert ledger.verify_chain() == 5
        assert [event.event for event in ledger.events()] == [
            "create",
            "charge",
            "answer",
            "charge",
            "extend",
        ]


def verdict(path):
    with open_ledger(path) as ledger:
        return ledger.verify_chain()


def test_a_cost_made_smaller_is_found(path):
    described = body(path, 4)
    described["body"]["cost"]["epsilon"] = "1/100"
    edit(path, "UPDATE {event} SET body = {} WHERE sequence = 4", canonical(described, sort=False))
    with pytest.raises(VerificationError, match="event 4 was changed"):
        verdict(path)


def test_a_cost_made_smaller_with_its_hash_is_found_at_the_next_link(path):
    described = body(path, 4)
    described["body"]["cost"]["epsilon"] = "1/100"
    write_anew(path, 4, described)
    with pytest.raises(VerificationError, match="event 5 does not follow"):
        verdict(path)


def test_a_missing_event_is_found(path):
    edit(path, "DELETE FROM {event} WHERE sequence = 4")
    with pytest.raises(VerificationError, match="event 4 does not follow"):
        verdict(path)


def test_a_cut_end_is_found(path):
    edit(path, "DELETE FROM {event} WHERE sequence = 5")
    with pytest.raises(VerificationError, match="totals"):
        verdict(path)


def test_totals_that_were_lowered_are_found(path):
    edit(path, "UPDATE {head} SET spent = {}", '{"kind": "pure", "epsilon": "0"}')
    with pytest.raises(VerificationError, match="totals"):
        verdict(path)


@pytest.mark.parametrize("spent", ["", "{}", "3", '{"kind": "pure", "epsilon": "-1"}', None])
def test_totals_that_cannot_be_read_are_refused(path, spent):
    if spent is None:
        edit(path, "DELETE FROM {head}")
    else:
        edit(path, "UPDATE {head} SET spent = {}", spent)
    with pytest.raises(LedgerError, match=r"damaged|shows less than was already spent"):
        open_ledger(path, dataset="clinic").charge("c", epsilon("1/8"), {})


@pytest.mark.parametrize("text", ["", "not json", "[]", "{}", '{"sequence":4}'])
def test_an_event_that_cannot_be_read_is_refused(path, text):
    edit(path, "UPDATE {event} SET body = {} WHERE sequence = 4", text)
    with open_ledger(path) as ledger, pytest.raises(LedgerError, match="damaged"):
        ledger.history()


def test_an_event_moved_to_another_key_is_refused(path):
    edit(path, "UPDATE {event} SET about = 'b' WHERE sequence = 2")
    with open_ledger(path) as ledger, pytest.raises(LedgerError, match="wrong place"):
        ledger.find("b")


def forged(*steps):
    """Chain events whatever they say, as a forger who knows the hashes would."""
    head, events = None, []
    for name, key, described in steps:
        event = Event.after(head, name, key, described)
        events.append(event)
        total = head.total if head else epsilon(1)
        head = Head(event.sequence, event.hash, Spending.begun(total))
    return events, head


BEGIN = ("create", None, {"ledger": "0", "dataset": "d", "terms": {}, "home": None})
BEGIN[2]["budget"] = epsilon(1).to_json()


def charge(key, amount):
    return "charge", key, {"question": {}, "cost": epsilon(amount).to_json()}


def answer(key, paid):
    return "answer", key, {"charge": paid, "answer": {}}


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([charge("a", 1)], "and no other, must be 'create'"),
        ([BEGIN, BEGIN], "and no other, must be 'create'"),
        ([BEGIN, charge("a", 1), charge("b", "1/100")], "beyond the budget"),
        ([BEGIN, answer("a", 1)], "not paid for"),
        ([BEGIN, answer("a", 3), charge("a", "1/2")], "not paid for"),
        ([BEGIN, charge("a", "1/2"), answer("b", 2)], "not paid for"),
        ([BEGIN, charge("a", "1/2"), answer("a", 2), answer("a", 2)], "not paid for"),
        ([BEGIN, charge("a", "1/2"), answer("a", [2])], "not paid for"),
        ([BEGIN, charge("a", "1/2"), answer(None, 2)], "not paid for"),
        ([BEGIN, ("charge", "a", {"question": {}, "cost": {}})], "wrong amount"),
        (
            [BEGIN, ("extend", None, {"budget": epsilon("1/2").to_json(), "reason": "less"})],
            "beyond the budget",
        ),
    ],
)
def test_a_well_hashed_chain_must_also_make_sense(steps, reason):
    with pytest.raises(VerificationError, match=reason):
        verify(*forged(*steps))


def test_an_empty_chain_is_nothing_to_trust():
    with pytest.raises(VerificationError, match="totals"):
        verify([], forged(BEGIN)[1])


def test_a_known_hash_shows_whether_the_history_still_stands(path):
    with open_ledger(path) as ledger:
        entry = ledger.history()[-1]
        assert ledger.contains(entry.sequence, entry.hash)
        assert not ledger.contains(entry.sequence, "0" * 64)
        assert not ledger.contains(99, entry.hash)


def test_a_clock_set_back_changes_nothing(place, monkeypatch):
    times = iter(["2031-01-01", "2020-01-01", "1970-01-01", "2031-01-01"])

    class Clock:
        @staticmethod
        def now(zone):
            return chain_datetime.fromisoformat(next(times)).replace(tzinfo=zone)

    chain_datetime = chain.datetime
    monkeypatch.setattr(chain, "datetime", Clock)
    with create_ledger(place, dataset="d", budget=epsilon(1)) as ledger:
        first = ledger.charge("a", epsilon("1/4"), {})
        second = ledger.charge("b", epsilon("1/4"), {})
        ledger.record(first, {"n": 1})
        assert [entry.key for entry in ledger.history()] == ["a", "b"]
        assert second.when < first.when
        assert ledger.verify_chain() == 4


def test_canonical_json_is_one_text_for_one_value():
    assert canonical({"b": (1, 2), "a": "é"}) == '{"a":"\\u00e9","b":[1,2]}'
    assert key_of({"a": 1, "b": 2}) == key_of({"b": 2, "a": 1}) != key_of({"a": 1, "b": 3})
    loop = []
    loop.append(loop)
    for value in (object(), {1: 2, "1": 3}, {(1, 2): 3}, {1, 2}, b"x", loop):
        with pytest.raises(UsageError, match="plain JSON"):
            canonical(value, "question")


def test_an_error_about_json_does_not_carry_the_value():
    with pytest.raises(UsageError) as caught:
        canonical({"pay": {41_977}}, "answer")
    assert "41" not in str(caught.value)


def test_half_a_character_is_refused_before_it_is_written():
    with open_ledger(None, dataset="clinic", budget=epsilon(1)) as ledger:
        with pytest.raises(UsageError, match="half of a character"):
            ledger.charge("a", epsilon("1/4"), {"tag": "\ud83d"})
        assert ledger.remaining == epsilon(1)
        assert ledger.charge("a", epsilon("1/4"), {"tag": "\U0001f600"}).question["tag"] == "😀"
