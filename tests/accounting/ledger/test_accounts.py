"""Accounts of a ledger: the sum over the chain, and what a forged chain cannot say."""

import pytest

from tacit.accounting import epsilon, epsilon_delta, rho
from tacit.accounting.ledger_chain import (
    Account,
    Accounts,
    Event,
    Head,
    account_name,
    is_account,
    verify,
)
from tacit.accounting.odometer import Spending
from tacit.errors import BudgetError, LedgerError, UsageError, VerificationError

TEAM = "team:oncology"


def forged(*steps):
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


def charge(amount, *accounts, **more):
    body = {"question": {}, "cost": epsilon(amount).to_json(), **more}
    return "charge", {**body, "accounts": list(accounts)} if accounts else body


def cap(name, amount):
    budget = None if amount is None else epsilon(amount).to_json()
    return "cap", {"account": name, "cap": budget, "reason": "r"}


SHARE = ("share", {"dataset": "visits", "terms": {}})


@pytest.mark.parametrize(
    "steps",
    [
        [charge("1/2", TEAM)],
        [cap(TEAM, "1/2"), charge("1/2", TEAM)],
        [cap(TEAM, "1/2"), charge("1/2"), charge("1/2", TEAM)],
        [cap(TEAM, "1/4"), cap(TEAM, None), charge("1/2", TEAM)],
        [cap("team:*", "1/4"), cap(TEAM, "1/2"), charge("1/2", TEAM)],
        [charge("1/2", TEAM), cap(TEAM, "1/4")],
        [SHARE, charge("1/2", dataset="visits")],
    ],
)
def test_a_chain_within_its_caps_holds(steps):
    assert verify(*forged(*steps)) == len(steps) + 1


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([cap(TEAM, "1/2"), charge("51/100", TEAM)], "event 3: a charge goes beyond a cap"),
        ([cap(TEAM, "1/2"), charge("1/2", TEAM), charge("1/99", TEAM)], "event 4: .*beyond a cap"),
        ([charge("1/2", TEAM), cap(TEAM, "1/4"), charge("1/99", TEAM)], "beyond a cap"),
        ([cap("team:*", "1/4"), charge("1/2", TEAM)], "beyond a cap"),
        ([cap("team:*", "1/4"), cap(TEAM, 1), cap(TEAM, None), charge("1/2", TEAM)], "beyond"),
        ([charge("1/2", TEAM, TEAM)], "an account twice"),
        ([charge("1/2", "oncology")], "not an account"),
        ([charge("1/2", 3)], "not an account"),
        ([charge("1/2", accounts=TEAM)], "not an account"),
        ([cap("oncology", "1/2")], "not an account"),
        ([("cap", {"account": TEAM, "cap": rho(1).to_json(), "reason": ""})], "another kind"),
        ([("cap", {"account": TEAM, "cap": {"epsilon": 1}, "reason": ""})], "event 2"),
        ([charge("1/2", dataset="visits")], "does not share"),
        (
            [charge("1/2", balance={"budget": {}, "remaining": {}})],
            "event 2 states a balance that is not",
        ),
        ([charge("1/2", dataset=["visits"])], "does not share"),
        ([SHARE, SHARE], "shares the ledger twice"),
        ([("share", {"dataset": ["visits"], "terms": {}})], "no name or no terms"),
        ([("share", {"dataset": "visits", "terms": []})], "no name or no terms"),
    ],
)
def test_a_chain_against_its_caps_is_found(steps, reason):
    with pytest.raises(VerificationError, match=reason):
        verify(*forged(*steps))


def test_an_event_with_other_parts_is_no_event():
    with pytest.raises(LedgerError, match="damaged"):
        forged(charge("1/2", payer="ada"))


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
