"""The hash chain: what it catches when somebody edits the ledger."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from shutil import copyfile

import pytest

import tacit as tc
from accounting.ledger.ledger_edit import edit
from tacit.accounting import create_ledger, epsilon, epsilon_delta, open_ledger, rho
from tacit.accounting import ledger_chain as chain
from tacit.accounting.ledger_chain import (
    Account,
    Accounts,
    CheckedChain,
    Entry,
    Event,
    Head,
    account_name,
    affordable,
    canonical,
    is_account,
    key_of,
    read_head,
    stored_head,
    verify,
)
from tacit.accounting.ledger_sqlite import SqliteStore
from tacit.accounting.odometer import Spending
from tacit.errors import BudgetError, LedgerError, UsageError, VerificationError
from tacit.report.verify import Verification


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
        with pytest.raises(UsageError, match="lone surrogate"):
            ledger.charge("a", epsilon("1/4"), {"tag": "\ud83d"})
        assert ledger.remaining == epsilon(1)
        assert ledger.charge("a", epsilon("1/4"), {"tag": "\U0001f600"}).question["tag"] == "😀"


# What a store keeps of a head is the head.


@pytest.mark.parametrize("total", [epsilon(1), rho("1/2"), epsilon_delta(1, "1e-6")])
def test_a_head_is_read_as_it_was_stored(total):
    spending = Spending.begun(total)
    for _ in range(2):
        head = Head(3, "a" * 64, spending)
        assert read_head(stored_head(head)) == head
        spending = spending.charged(epsilon("1/4").cost_in(total.kind))
    assert read_head(None) is None


@pytest.mark.parametrize("spent", ["", "[]", "{}", '{"kind":"pure"}', '{"filter":{}}'])
def test_store_totals_that_cannot_be_read_are_refused(spent):
    sequence, digest, total, _ = stored_head(Head(1, "a" * 64, Spending.begun(epsilon(1))))
    with pytest.raises(LedgerError, match="damaged"):
        read_head((sequence, digest, total, spent))


# Each transaction of a ledger looks first that the chain did not go back in time.


def test_what_was_seen_must_still_stand(tmp_path: Path) -> None:
    path, copy = tmp_path / "a.ledger", tmp_path / "old.ledger"
    open_ledger(path, dataset="clinic", budget=epsilon(1)).close()
    copyfile(path, copy)
    with open_ledger(path) as ledger:
        ledger.charge("k", epsilon("1/4"), {"count": "rows"})
        first = ledger.events()[0].hash
    copyfile(copy, path)
    store = SqliteStore(path, create=False)
    chain = CheckedChain(store, first)
    with pytest.raises(LedgerError, match="shows less than was already spent"):
        chain.head()
    with pytest.raises(LedgerError, match="shows less than was already spent"), chain.write():
        raise AssertionError("nothing may be written behind what was seen")
    chain.forget()
    assert chain.head().remaining == epsilon(1)
    store.close()


def test_what_is_affordable_is_what_remains_in_the_kind_of_the_budget() -> None:
    with open_ledger(None, dataset="clinic", budget=epsilon(1)) as ledger:
        ledger.charge("k", epsilon("3/4"), {"count": "rows"})
        head = ledger.chain.head()
    assert affordable(epsilon("1/4"), head) == epsilon("1/4")
    with pytest.raises(BudgetError):
        affordable(epsilon("1/2"), head)
    with pytest.raises(UsageError, match="above zero"):
        affordable(epsilon("1/4") - epsilon("1/4"), head)


# Accounts of a ledger: the sum over the chain, and what a forged chain cannot say.


TEAM = "team:oncology"


def accounts_forged(*steps):
    """Chain events whatever they say, as a forger who knows the hashes would."""
    budget = epsilon(1)
    begin = {"ledger": "0", "dataset": "d", "terms": {}, "home": None, "budget": budget.to_json()}
    head, events, spent = None, [], epsilon(1) - epsilon(1)
    for name, body in (("create", begin), *steps):
        key = "k" if name == "charge" else None
        event = Event.after(head, name, key, body)
        Event.parse(event.text, event.hash)
        events.append(event)
        if name == "charge":
            spent += epsilon(body["cost"]["epsilon"])
        head = Head(event.sequence, event.hash, Spending(budget, spent))
    return events, head


def accounts_charge(amount, *accounts, **more):
    body = {"question": {}, "cost": epsilon(amount).to_json(), **more}
    return "charge", {**body, "accounts": list(accounts)} if accounts else body


def cap(name, amount):
    budget = None if amount is None else epsilon(amount).to_json()
    return "cap", {"account": name, "cap": budget, "reason": "r"}


SHARE = ("share", {"dataset": "visits", "terms": {}})


@pytest.mark.parametrize(
    "steps",
    [
        [accounts_charge("1/2", TEAM)],
        [cap(TEAM, "1/2"), accounts_charge("1/2", TEAM)],
        [cap(TEAM, "1/2"), accounts_charge("1/2"), accounts_charge("1/2", TEAM)],
        [cap(TEAM, "1/4"), cap(TEAM, None), accounts_charge("1/2", TEAM)],
        [cap("team:*", "1/4"), cap(TEAM, "1/2"), accounts_charge("1/2", TEAM)],
        [accounts_charge("1/2", TEAM), cap(TEAM, "1/4")],
        [SHARE, accounts_charge("1/2", dataset="visits")],
    ],
)
def test_a_chain_within_its_caps_holds(steps):
    assert verify(*accounts_forged(*steps)) == len(steps) + 1


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        (
            [cap(TEAM, "1/2"), accounts_charge("51/100", TEAM)],
            "event 3: a charge goes beyond a cap",
        ),
        (
            [cap(TEAM, "1/2"), accounts_charge("1/2", TEAM), accounts_charge("1/99", TEAM)],
            "event 4: .*beyond a cap",
        ),
        (
            [accounts_charge("1/2", TEAM), cap(TEAM, "1/4"), accounts_charge("1/99", TEAM)],
            "beyond a cap",
        ),
        ([cap("team:*", "1/4"), accounts_charge("1/2", TEAM)], "beyond a cap"),
        (
            [cap("team:*", "1/4"), cap(TEAM, 1), cap(TEAM, None), accounts_charge("1/2", TEAM)],
            "beyond",
        ),
        ([accounts_charge("1/2", TEAM, TEAM)], "an account twice"),
        ([accounts_charge("1/2", "oncology")], "not an account"),
        ([accounts_charge("1/2", 3)], "not an account"),
        ([accounts_charge("1/2", accounts=TEAM)], "not an account"),
        ([cap("oncology", "1/2")], "not an account"),
        ([("cap", {"account": TEAM, "cap": rho(1).to_json(), "reason": ""})], "another kind"),
        ([("cap", {"account": TEAM, "cap": {"epsilon": 1}, "reason": ""})], "event 2"),
        ([accounts_charge("1/2", dataset="visits")], "does not share"),
        (
            [accounts_charge("1/2", balance={"budget": {}, "remaining": {}})],
            "event 2 states a balance that is not",
        ),
        ([accounts_charge("1/2", dataset=["visits"])], "does not share"),
        ([SHARE, SHARE], "shares the ledger twice"),
        ([("share", {"dataset": ["visits"], "terms": {}})], "no name or no terms"),
        ([("share", {"dataset": "visits", "terms": []})], "no name or no terms"),
    ],
)
def test_a_chain_against_its_caps_is_found(steps, reason):
    with pytest.raises(VerificationError, match=reason):
        verify(*accounts_forged(*steps))


def test_an_event_with_other_parts_is_no_event():
    with pytest.raises(LedgerError, match="damaged"):
        accounts_forged(accounts_charge("1/2", payer="ada"))


def test_what_an_account_has_left():
    half, whole = epsilon("1/2"), epsilon(1)
    assert Account(TEAM, None, half).remaining is None
    assert Account(TEAM, whole, half).remaining == half
    assert Account(TEAM, half, whole).remaining == epsilon(1) - epsilon(1)


def test_the_delta_of_a_cap_holds_too():
    accounts = Accounts("approximate", {TEAM: epsilon_delta(1, "1e-6")})
    accounts.require([TEAM], epsilon_delta("1/2", "1e-6"))
    with pytest.raises(BudgetError, match="the cap of team:oncology"):
        accounts.require([TEAM], epsilon_delta("1/2", "2e-6"))


@pytest.mark.parametrize(
    "name", ["", ":", "team", "team:", ":ada", "team: ", "team:a\nb", "t:" * 101]
)
def test_what_is_no_name_of_an_account(name):
    assert not is_account(name)
    with pytest.raises(UsageError, match="is a kind and a name"):
        account_name(name)


def test_a_charge_names_no_default():
    assert is_account("team:*")
    with pytest.raises(UsageError, match="is a kind and a name"):
        account_name("team:*")


# What a charge shows of itself.


def test_an_entry_is_one_line_for_people() -> None:
    entry = Entry(2, "k", {"query": "x" * 3000}, tc.epsilon(1), "2026-01-02T03:04:05Z", "h")
    assert repr(entry) == "<Entry 2 of 2026-01-02T03:04:05Z: epsilon(1), open>"
    of_may = replace(entry, question={"tag": "2024-05"})
    assert repr(of_may).endswith("epsilon(1), open, tagged '2024-05'>")


def test_a_verification_is_one_line_that_names_what_failed() -> None:
    found = Verification(["a", "b"], ["c"])
    assert repr(found) == "<Verification: 2 checked, 1 unchecked>"
    found.check("the sum is right", lambda: "it is 3")
    assert repr(found).endswith("1 unchecked; FAILED the sum is right: it is 3>")
