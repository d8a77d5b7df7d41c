"""Views of a ledger: accounts that stay within their caps, data sets that share people."""

import contextlib
import threading
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from accounting.ledger.test_ledger_processes import workers
from support.examples import examples
from tacit.accounting import create_ledger, epsilon, open_ledger, rho
from tacit.accounting.ledger import (
    accounts_of,
    charge_once,
    named_accounts,
    on_account_of,
    set_cap,
    shared_by,
    shares_of,
)
from tacit.errors import BudgetError, LedgerError, UsageError

COST = epsilon("1/100")
TERMS = {"unit": {"column": "person", "rows": 5, "groups": 5}, "neighbours": "unbounded"}


def account_of(ledger, name):
    (found,) = named_accounts(ledger, [name])[1]
    return found


@pytest.fixture
def ledger():
    with open_ledger(None, dataset="d", budget=epsilon(1)) as found:
        yield found


def test_a_charge_names_its_accounts_and_counts_in_each(ledger):
    view = on_account_of(ledger, "team:a", "analyst:ada")
    entry = view.charge("k", epsilon("1/4"), {})
    assert entry.accounts == ("team:a", "analyst:ada")
    assert ledger.find("k") == entry == view.find("k")
    assert ledger.spent == view.spent == epsilon("1/4")
    assert [(a.name, a.spent) for a in accounts_of(ledger)] == [
        ("analyst:ada", epsilon("1/4")),
        ("team:a", epsilon("1/4")),
    ]
    ledger.charge("l", epsilon("1/4"), {})  # on no account
    assert account_of(ledger, "team:a").spent == epsilon("1/4")
    assert ledger.verify_chain() == 3


@pytest.mark.parametrize("digits", [1, 30, 350])
def test_what_remained_before_a_charge_is_what_the_chain_replayed_comes_to(ledger, digits):
    """A charge on an account states its balance; with long denominators the chain is asked."""
    view, before = on_account_of(ledger, "analyst:ada"), []
    for k in range(1, 5):
        cost = epsilon(Fraction(1, 10**digits + k))
        before.append((ledger.remaining, view.charge(str(k), cost, {})))
    ledger.extend(epsilon(2), "more")
    for remaining, entry in before:
        assert ledger.remaining_before(entry) == remaining
        assert ledger.remaining_before(replace(entry, balance=None)) == remaining
    assert (before[-1][1].remained is None) == (digits == 350)


def test_what_remained_is_found_without_reading_the_chain(ledger, monkeypatch):
    view = on_account_of(ledger, "analyst:ada")
    entry = view.charge("k", COST, {})
    monkeypatch.setattr(ledger.chain, "store", None)
    assert view.remaining_before(entry) == epsilon(1)


def test_one_look_finds_what_stands_and_what_is_left(ledger):
    view = on_account_of(ledger, "analyst:ada")
    assert view.look("k") == (None, epsilon(1))
    entry = view.charge("k", COST, {})
    assert view.look("k") == (entry, ledger.remaining) == ledger.look("k")
    assert view.kind == ledger.kind == "pure"


def test_a_replay_and_an_open_release_cost_no_account(ledger):
    ada, eve = (on_account_of(ledger, f"analyst:{name}") for name in ("ada", "eve"))
    set_cap(ledger, "analyst:*", epsilon("1/4"), "a quarter each")
    ada.record(ada.charge("k", epsilon("1/4"), {}), {"n": 1})
    assert eve.charge("k", epsilon("1/4"), {}).answer == {"n": 1}
    assert ada.charge("k", epsilon("1/4"), {}).answer == {"n": 1}
    assert account_of(ledger, "analyst:eve").spent.is_nothing
    eve.charge("open", epsilon("1/4"), {})
    assert ada.charge("open", epsilon("1/4"), {}).state == "open"
    assert account_of(ledger, "analyst:ada").spent == epsilon("1/4")


def test_a_cap_refuses_and_nothing_is_spent(ledger):
    set_cap(ledger, "team:a", epsilon("1/4"), "a quarter")
    view = on_account_of(ledger, "team:a", "analyst:ada")
    with pytest.raises(BudgetError, match=r"the cap of team:a: nothing was spent"):
        view.charge("k", epsilon("1/3"), {})
    with pytest.raises(BudgetError, match="the cap of team:a"):
        charge_once(view, "k", epsilon("1/3"), {})
    assert ledger.spent.is_nothing
    assert ledger.find("k") is None
    assert charge_once(view, "k", epsilon("1/4"), {}).accounts == ("team:a", "analyst:ada")


def test_the_budget_stands_above_the_caps(ledger):
    set_cap(ledger, "team:a", epsilon(5), "generous")
    with pytest.raises(BudgetError, match="remains"):
        on_account_of(ledger, "team:a").charge("k", epsilon(2), {})


def test_a_cap_below_what_is_spent_grants_nothing_more(ledger):
    view = on_account_of(ledger, "team:a")
    view.charge("k", epsilon("1/2"), {})
    set_cap(ledger, "team:a", epsilon("1/4"), "less")
    assert account_of(ledger, "team:a").remaining.is_nothing
    with pytest.raises(BudgetError, match="epsilon 0 is left of"):
        view.charge("l", epsilon("1/1000"), {})
    set_cap(ledger, "team:a", None, "as before")
    view.charge("l", epsilon("1/2"), {})
    assert ledger.verify_chain() == 5


@pytest.mark.parametrize(
    ("account", "cap", "reason", "told"),
    [
        ("oncology", epsilon(1), "why", "is a kind and a name"),
        ("team:a", rho(1), "why", "same kind as the budget"),
        ("team:a", epsilon(1), " ", "say why"),
    ],
)
def test_what_is_no_cap(ledger, account, cap, reason, told):
    with pytest.raises(UsageError, match=told):
        set_cap(ledger, account, cap, reason)
    assert ledger.verify_chain() == 1


def test_data_sets_that_share_people_share_the_budget_and_not_the_keys(ledger):
    january = shared_by(ledger, "january", TERMS)
    february = shared_by(ledger, "february", {"neighbours": "unbounded", "unit": None})
    assert (january.dataset, january.terms) == ("january", TERMS)
    first = january.record(january.charge("k", epsilon("1/2"), {"q": 1}), {"n": 1})
    assert february.find("k") is None
    second = february.charge("k", epsilon("1/2"), {"q": 1})
    assert (first.dataset, second.dataset) == ("january", "february")
    assert second.state == "open"
    with pytest.raises(BudgetError):
        january.charge("l", COST, {})
    assert ledger.about(first) == january.about(first) == ("january", TERMS)
    assert february.about(first) == ("january", TERMS)
    assert list(shares_of(ledger)) == ["january", "february"]
    assert shared_by(ledger, "january", TERMS).find("k") == first
    assert ledger.verify_chain() == 6


def test_a_data_set_shares_on_the_same_terms_or_not_at_all(ledger):
    shared_by(ledger, "january", TERMS)
    with pytest.raises(LedgerError, match="on other terms"):
        shared_by(ledger, "january", {})
    with pytest.raises(UsageError, match="give its identity"):
        shared_by(ledger, "", {})


def test_accounts_of_a_shared_ledger(ledger):
    view = on_account_of(shared_by(ledger, "january", TERMS), "team:a")
    entry = view.charge("k", COST, {})
    assert (entry.accounts, entry.dataset) == (("team:a",), "january")
    assert shared_by(on_account_of(ledger, "team:a"), "january", TERMS).find("k") == entry


def test_what_an_account_spent_outlives_the_process(place, new_process):
    with create_ledger(place, dataset="d", budget=epsilon(1)) as first:
        set_cap(first, "team:*", epsilon("1/2"), "half each")
        on_account_of(first, "team:a").charge("k", epsilon("2/5"), {})
    new_process()
    with open_ledger(place) as again:
        assert account_of(again, "team:a").remaining == epsilon("1/10")
        with pytest.raises(BudgetError, match="cap of team:a"):
            on_account_of(again, "team:a").charge("l", epsilon("1/9"), {})
        assert again.verify_chain() == 3


def test_another_open_ledger_sees_what_this_one_charged(place):
    create_ledger(place, dataset="d", budget=epsilon(1)).close()
    with open_ledger(place) as one, open_ledger(place) as other:
        set_cap(one, "team:a", epsilon("1/2"), "half")
        for turn, ledger in enumerate((one, other, one, other, one)):
            on_account_of(ledger, "team:a").charge(str(turn), epsilon("1/10"), {})
        for ledger in (one, other):
            with pytest.raises(BudgetError, match="cap of team:a"):
                on_account_of(ledger, "team:a").charge("more", epsilon("1/10"), {})
        assert other.verify_chain() == 7


def test_threads_never_pass_a_cap(ledger):
    set_cap(ledger, "team:a", epsilon("1/2"), "half")
    granted = []

    def work(name):
        view = on_account_of(ledger, "team:a", f"analyst:{name}")
        for k in range(20):
            try:
                granted.append(view.charge(f"{name}/{k}", COST, {}))
            except BudgetError:
                continue

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcdef"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == 50
    assert account_of(ledger, "team:a").spent == epsilon("1/2")


def race(place, teams, processes, times):
    """Let processes of teams race; return what each team was granted."""
    with create_ledger(place, dataset="d", budget=epsilon(1)) as ledger:
        set_cap(ledger, "team:*", epsilon("3/10"), "under the budget")
        set_cap(ledger, "team:big", epsilon("6/10"), "more than others")
        set_cap(ledger, "analyst:eve", epsilon("1/10"), "little")
    granted = dict.fromkeys(teams, 0)
    with contextlib.ExitStack() as stack:
        crews = {
            team: [
                stack.enter_context(workers(1, "capped", place, team, f"{team}{k}"[:3], times))[0]
                for k in range(processes)
            ]
            for team in teams
        }
        for team, crew in crews.items():
            for worker in crew:
                won, lost = worker.told()
                assert won + lost == times
                granted[team] += won
    with open_ledger(place) as ledger:
        for account in accounts_of(ledger):
            assert account.cap is None or account.cap.covers(account.spent)
        assert ledger.spent.amount == Fraction(sum(granted.values()), 100) <= 1
        ledger.verify_chain()
    return granted


@pytest.mark.full
def test_racing_processes_never_pass_a_cap_nor_the_budget(place):
    assert race(place, ["small", "eve"], 1, 35) == {"small": 30, "eve": 10}


@pytest.mark.full
def test_ten_thousand_racing_requests_never_pass_a_cap_nor_the_budget(place):
    granted = race(place, ["big", "small", "eve", "other"], 2, 1250)
    assert sum(granted.values()) == 100
    assert granted["eve"] <= 10


class Caps(RuleBasedStateMachine):
    """Any order of charges, caps and raises, against sums in a plain model."""

    names = st.lists(st.sampled_from(["team:a", "team:b", "analyst:x", "analyst:y"]), unique=True)
    amounts = st.fractions(min_value="1/60", max_value="1/2", max_denominator=60)

    @initialize()
    def begin(self):
        self.ledger = open_ledger(None, dataset="d", budget=epsilon(1))
        self.total, self.charges, self.caps = Fraction(1), [], {}

    def spent(self, name):
        return sum(amount for amount, names in self.charges if name in names)

    def capped(self, name):
        return self.caps.get(name, self.caps.get(f"{name.partition(':')[0]}:*"))

    @rule(names=names, amount=amounts)
    def charge(self, names, amount):
        limits = [(self.capped(name), self.spent(name)) for name in names]
        fits = all(cap is None or spent + amount <= cap for cap, spent in limits)
        fits = fits and sum(amount for amount, _ in self.charges) + amount <= self.total
        view, key = on_account_of(self.ledger, *names), str(len(self.charges))
        if fits:
            view.charge(key, epsilon(amount), {})
            self.charges.append((amount, names))
        else:
            with pytest.raises(BudgetError):
                view.charge(key, epsilon(amount), {})

    @rule(
        name=st.sampled_from(["team:a", "team:*", "analyst:x", "analyst:*"]),
        amount=st.none() | amounts,
    )
    def cap(self, name, amount):
        set_cap(self.ledger, name, None if amount is None else epsilon(amount), "why not")
        self.caps.pop(name, None)
        if amount is not None:
            self.caps[name] = amount

    @rule(more=amounts)
    def extend(self, more):
        self.total += more
        self.ledger.extend(epsilon(self.total), "more")

    @invariant()
    def the_accounts_are_the_sums(self):
        for account in accounts_of(self.ledger):
            cap = self.capped(account.name)
            assert account.cap == (None if cap is None else epsilon(cap))
            assert account.spent.amount == self.spent(account.name)

    def teardown(self):
        self.ledger.verify_chain()


Caps.TestCase.settings = examples(0.3, stateful_step_count=25)
TestCaps = Caps.TestCase
