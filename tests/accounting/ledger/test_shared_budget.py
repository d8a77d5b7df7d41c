"""Views of a ledger: accounts that stay within their caps, data sets that share people."""

from __future__ import annotations

import contextlib
import errno
import gc
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from support.examples import examples
from support.threads import at_once
from tacit.accounting import Ledger, create_ledger, epsilon, open_ledger, rho
from tacit.accounting.ledger import (
    accounts_of,
    charge_once,
    look_at,
    named_accounts,
    on_account_of,
    set_cap,
    shared_by,
    shares_of,
)
from tacit.accounting.ledger_sqlite import OpenFiles, explained, open_files
from tacit.errors import BudgetError, LedgerError, UsageError

# The ledger among real processes, some of which are killed.


WORKER = Path(__file__).with_name("ledger_worker.py")
COST = epsilon("1/100")


class Worker:
    """Another process, held at its start until it is let go."""

    def __init__(self, action, *arguments):
        command = [sys.executable, str(WORKER), action, *map(str, arguments)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def wait_until_ready(self):
        assert self.process.stdout.readline() == "ready\n"

    def go(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def told(self):
        return json.loads(self.process.stdout.readline())

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        assert self.process.wait() == -signal.SIGKILL

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def workers(count, action, *arguments):
    return let_go([Worker(action, *arguments) for _ in range(count)])


@contextlib.contextmanager
def let_go(crew):
    """Let processes go together, once all are ready."""
    try:
        for worker in crew:
            worker.wait_until_ready()
        for worker in crew:
            worker.go()
        yield crew
    finally:
        for worker in crew:
            worker.end()


@pytest.fixture
def path(place):
    create_ledger(place, dataset="d", budget=epsilon(1)).close()
    return place


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "d.ledger"
    create_ledger(path, dataset="d", budget=epsilon(1)).close()
    return path


@pytest.mark.full
def test_eight_racing_processes_are_granted_exactly_the_budget(path):
    with workers(8, "race", path, 20) as crew:
        told = [worker.told() for worker in crew]
    assert sum(granted for granted, _ in told) == 100
    assert sum(refused for _, refused in told) == 60
    with open_ledger(path) as ledger:
        assert ledger.spent == ledger.total
        assert len(ledger.history()) == 100
        assert ledger.verify_chain() == 101


@pytest.mark.full
def test_processes_that_close_the_file_before_each_charge_are_granted_exactly_the_budget(file):
    with workers(4, "race", file, 40, "rests") as crew:
        told = [worker.told() for worker in crew]
    assert (sum(g for g, _ in told), sum(r for _, r in told)) == (100, 60)
    with open_ledger(file) as ledger:
        assert ledger.spent == ledger.total
        assert ledger.verify_chain() == 101


@pytest.mark.full
def test_the_naive_way_overspends(tmp_path):
    """Contrast: the same race on a number that is read, checked and written back."""
    path = tmp_path / "naive"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE budget (spent INTEGER)")
    connection.execute("INSERT INTO budget VALUES (0)")
    connection.close()
    with workers(4, "naive", path, 400) as crew:
        granted = sum(worker.told()[0] for worker in crew)
    assert granted > 100


@pytest.mark.full
def test_without_the_lock_the_sequence_numbers_still_hold_the_budget(file):
    """Two charges that read the same head make the same number, and only one can be kept."""
    with workers(4, "unlocked", file, 60) as crew:
        told = [worker.told() for worker in crew]
    assert sum(broken for _, broken in told) > 0  # so the lock is not idle
    with open_ledger(file) as ledger:
        assert len(ledger.history()) <= 100


@pytest.mark.full
def test_processes_that_begin_together_share_one_ledger(place):
    with workers(6, "begin", place) as crew:
        names = {worker.told() for worker in crew}
    assert len(names) == 1
    with open_ledger(place) as ledger:
        assert [event.event for event in ledger.events()] == ["create"]


@pytest.mark.full
def test_processes_that_ask_the_same_at_once_give_out_one_answer(path):
    with workers(6, "same", path) as crew:
        answers = {worker.told() for worker in crew}
    assert len(answers) == 1
    with open_ledger(path) as ledger:
        assert [entry.answer["n"] for entry in ledger.history()] == list(answers)
        assert ledger.spent == COST  # all of them together


def test_killed_inside_the_transaction_leaves_nothing_and_no_lock(path):
    with workers(1, "killed_inside", path) as (worker,):
        assert worker.told() == "inside"
        worker.kill()
    with open_ledger(path) as ledger:
        assert ledger.spent.is_nothing
        assert ledger.find("k") is None
        ledger.charge("k", COST, {})
        assert ledger.verify_chain() == 2


def test_killed_between_charge_and_answer_is_spent_and_not_lost(path):
    with workers(1, "killed_between", path) as (worker,):
        assert worker.told() == "charged"
        worker.kill()
    with open_ledger(path) as ledger:
        assert ledger.spent == COST
        assert ledger.find("k").state == "open"
        calls = []
        entry = ledger.release("k", COST, {}, lambda: calls.append(1) or {"n": 1})
        assert (entry.answer, calls) == ({"n": 1}, [1])  # no replay of what was never said
        assert ledger.spent == COST  # it went on under its own charge
        assert ledger.verify_chain() == 3


def test_killed_after_the_answer_replays_it_free(path):
    with workers(1, "killed_after", path) as (worker,):
        assert worker.told() == {"n": 7}
        worker.kill()
    with open_ledger(path) as ledger:
        assert ledger.release("k", COST, {}, lambda: pytest.fail("drawn anew")).answer == {"n": 7}
        assert ledger.spent == COST


@pytest.mark.full
def test_writers_killed_under_load_leave_a_sound_chain(place):
    create_ledger(place, dataset="d", budget=epsilon(10**6)).close()
    for _ in range(3):
        with workers(3, "storm", place) as crew:
            for worker in crew:
                assert worker.told() == "running"
            time.sleep(0.3)
            for worker in crew:
                worker.kill()
    with open_ledger(place) as ledger:
        history = ledger.history()
        assert len(history) > 9
        assert ledger.spent.amount == len(history) * COST.amount
        lost = [entry for entry in history if entry.state == "open"]
        assert len(lost) <= 9  # at most one unanswered charge for each that was killed
        ledger.verify_chain()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_fork_shares_the_place_and_not_the_memory(path):
    with workers(1, "forked", path) as (worker,):
        status, keys, events, in_memory = worker.told()
    assert status == 0
    assert keys == ["before", "child", "parent"]
    assert events == 4
    assert in_memory == 1


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="rights are other things on this system")
def test_a_read_only_folder_is_refused(file):
    folder = file.parent
    if os.getuid() == 0:  # the worker becomes nobody, who must be able to look inside
        for above in folder.parents:
            if above.name.startswith(("pytest-", "popen-", "test_")):
                above.chmod(0o755)
    file.chmod(0o444)
    folder.chmod(0o555)
    try:
        with workers(1, "powerless", file) as (worker,):
            opened, created = worker.told(), worker.told()
    finally:
        folder.chmod(0o755)
        file.chmod(0o644)
    assert "cannot be" in opened
    assert "look whether the folder exists and can be written" in created
    assert [found.name for found in folder.iterdir()] == [file.name]
    with open_ledger(file) as ledger:
        assert ledger.spent.is_nothing


SHARED_BUDGET_COST = epsilon("1/100")
TERMS = {"unit": {"column": "person", "rows": 5, "groups": 5}, "neighbours": "unbounded"}


def account_of(ledger, name):
    (found,) = named_accounts(ledger, [name])[1]
    return found


@pytest.fixture
def ledger():
    with open_ledger(None, dataset="d", budget=epsilon(1)) as found:
        yield found


def test_a_look_at_an_account_reads_the_events_since_the_last_one(ledger, monkeypatch):
    store, read = ledger.chain.store, []
    events = store.events
    monkeypatch.setattr(store, "events", lambda after=0: read.append(after) or events(after))
    payer = on_account_of(ledger, "analyst:ada")
    payer.charge("k1", SHARED_BUDGET_COST, {})
    assert account_of(ledger, "analyst:ada").spent == SHARED_BUDGET_COST
    read.clear()
    assert account_of(ledger, "analyst:ada").spent == SHARED_BUDGET_COST
    assert read == []
    payer.charge("k2", SHARED_BUDGET_COST, {})
    read.clear()
    assert account_of(ledger, "analyst:ada").spent == SHARED_BUDGET_COST + SHARED_BUDGET_COST
    assert read == [2]


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
    entry = view.charge("k", SHARED_BUDGET_COST, {})
    monkeypatch.setattr(ledger.chain, "store", None)
    assert view.remaining_before(entry) == epsilon(1)


def test_one_look_finds_what_stands_and_what_is_left(ledger):
    def left_at(looked):
        head, (found,), _ = look_at(looked, "k")
        return found, head.remaining

    view = on_account_of(ledger, "analyst:ada")
    assert left_at(view) == (None, epsilon(1))
    entry = view.charge("k", SHARED_BUDGET_COST, {})
    assert left_at(view) == (entry, ledger.remaining) == left_at(ledger)
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
        january.charge("l", SHARED_BUDGET_COST, {})
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
    entry = view.charge("k", SHARED_BUDGET_COST, {})
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
                granted.append(view.charge(f"{name}/{k}", SHARED_BUDGET_COST, {}))
            except BudgetError:
                continue

    at_once(work, "abcdef")
    assert len(granted) == 50
    assert account_of(ledger, "team:a").spent == epsilon("1/2")


def race(place, teams, processes, times):
    """Let processes of teams race; return what each team was granted."""
    with create_ledger(place, dataset="d", budget=epsilon(1)) as ledger:
        set_cap(ledger, "team:*", epsilon("3/10"), "under the budget")
        set_cap(ledger, "team:big", epsilon("6/10"), "more than others")
        set_cap(ledger, "analyst:eve", epsilon("1/10"), "little")
    granted = dict.fromkeys(teams, 0)
    places = [(team, f"{team}{k}"[:3]) for team in teams for k in range(processes)]
    with let_go([Worker("capped", place, *who, times) for who in places]) as crew:
        for (team, _), worker in zip(places, crew, strict=True):
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
def test_two_thousand_racing_requests_never_pass_a_cap_nor_the_budget(place):
    # The budget is granted by the first of them: what begins after that is refused whatever it is.
    granted = race(place, ["big", "small", "eve", "other"], 2, 250)
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


# Ledger files that are closed while nobody uses them, and what may happen to them meanwhile.


RESTING_COST = epsilon("1/8")


@pytest.fixture
def resting_path(tmp_path: Path) -> Path:
    path = tmp_path / "clinic.ledger"
    create_ledger(path, dataset="clinic", budget=epsilon(1)).close()
    return path


def rest(ledger: Ledger) -> None:
    assert ledger.chain.store.rest()  # type: ignore[attr-defined]


def ledgers(folder: Path, count: int) -> list[Ledger]:
    places = [folder / f"{k}.ledger" for k in range(count)]
    return [open_ledger(place, dataset="d", budget=epsilon(1)) for place in places]


def test_a_ledger_that_rested_goes_on(resting_path: Path) -> None:
    with open_ledger(resting_path) as ledger:
        for k in range(3):
            rest(ledger)
            rest(ledger)
            assert [file.name for file in resting_path.parent.iterdir()] == [resting_path.name]
            ledger.charge(str(k), RESTING_COST, {})
        rest(ledger)
        assert ledger.spent == epsilon("3/8")
        assert ledger.verify_chain() == 4


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system does not list files")
def test_more_ledgers_than_a_process_keeps_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_files, "most", 3)
    before = len(os.listdir("/proc/self/fd"))
    many = ledgers(tmp_path, 6)
    for turn in range(2):
        for ledger in many:
            ledger.charge(str(turn), RESTING_COST, {})
            assert len(os.listdir("/proc/self/fd")) <= before + 3 * 3
    assert [ledger.spent for ledger in many] == [epsilon("1/4")] * 6
    for ledger in many:
        ledger.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_ledger_does_not_rest_while_it_is_used(resting_path: Path) -> None:
    with open_ledger(resting_path) as ledger:
        with ledger.chain.write():
            assert not ledger.chain.store.rest()  # type: ignore[attr-defined]
        assert ledger.remaining == epsilon(1)


def test_threads_that_share_few_open_files_are_granted_exactly_the_budgets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_files, "most", 1)
    many, granted = ledgers(tmp_path, 4), Counter[int]()
    lock, failed = threading.Lock(), []

    def ask(who: int) -> None:
        try:
            for k in range(3):
                for place in range(4):
                    try:
                        many[(place + who) % 4].charge(f"{who}/{k}", RESTING_COST, {})
                    except BudgetError:
                        continue
                    with lock:
                        granted[(place + who) % 4] += 1
        except BaseException as error:
            failed.append(error)

    at_once(ask, range(4))
    assert failed == []
    assert granted == dict.fromkeys(range(4), 8)
    for ledger in many:
        assert ledger.verify_chain() == 9
        ledger.close()


@pytest.mark.parametrize("fate", ["replaced", "removed"])
@pytest.mark.parametrize("use", ["charge", "read"])
def test_a_file_that_goes_away_while_its_ledger_rests_is_noticed(
    resting_path: Path, fate: str, use: str
) -> None:
    backup = resting_path.with_name("backup")
    shutil.copy(resting_path, backup)
    with open_ledger(resting_path) as ledger:
        rest(ledger)
        if fate == "replaced":
            os.replace(backup, resting_path)
        else:
            resting_path.unlink()
        with pytest.raises(LedgerError, match="removed or replaced"):
            ledger.charge("k", RESTING_COST, {}) if use == "charge" else ledger.spent
    assert resting_path.exists() is (fate == "replaced")  # none was made in its place


def test_a_second_name_that_it_was_given_meanwhile_is_refused(resting_path: Path) -> None:
    with open_ledger(resting_path) as ledger:
        rest(ledger)
        os.link(resting_path, resting_path.with_name("second.ledger"))
        with pytest.raises(LedgerError, match="a hard link"):
            ledger.charge("k", RESTING_COST, {})


@pytest.mark.parametrize("other", ["older", "another"])
def test_an_inode_that_was_given_anew_is_told_by_the_last_event(
    resting_path: Path, other: str, new_process
) -> None:
    """A file system gives the inode of a removed file to the next one that is made."""
    content = resting_path.read_bytes()
    if other == "another":
        create_ledger(resting_path.with_name("x"), dataset="clinic", budget=epsilon(1)).close()
        content = resting_path.with_name("x").read_bytes()
    with open_ledger(resting_path) as ledger, open_ledger(resting_path) as second:
        second.charge("k", RESTING_COST, {})
        rest(second)
        rest(ledger)
        resting_path.write_bytes(content)
        new_process()  # which never looked at the chain, and cannot know it by that
        for use in (lambda: ledger.charge("l", RESTING_COST, {}), lambda: ledger.events()):
            with pytest.raises(LedgerError, match="shows less than was already spent"):
                use()


def test_what_others_charge_while_it_rests_counts(resting_path: Path) -> None:
    with open_ledger(resting_path) as ledger:
        rest(ledger)
        with open_ledger(resting_path) as other:
            other.charge("k", epsilon(1), {})
        with pytest.raises(BudgetError):
            ledger.charge("l", RESTING_COST, {})
        assert ledger.charge("k", epsilon(1), {}).state == "open"


def test_a_closed_ledger_stays_closed(resting_path: Path) -> None:
    ledger = open_ledger(resting_path)
    ledger.close()
    with pytest.raises(LedgerError, match="cannot be used"):
        ledger.charge("k", RESTING_COST, {})
    rest(ledger)
    with pytest.raises(LedgerError, match="cannot be used"):
        _ = ledger.spent


def test_a_file_that_cannot_be_read_stays_open(resting_path: Path) -> None:
    with open_ledger(resting_path) as ledger:
        store = ledger.chain.store
        store._connection.set_authorizer(lambda *_: sqlite3.SQLITE_DENY)  # type: ignore[attr-defined]
        assert not store.rest()  # type: ignore[attr-defined]
        store._connection.set_authorizer(None)  # type: ignore[attr-defined]
        ledger.charge("k", RESTING_COST, {})


def test_a_failed_opening_is_tried_again(
    resting_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_ledger(resting_path) as ledger:
        rest(ledger)
        with monkeypatch.context() as patch:
            patch.setattr(sqlite3, "connect", _no_file_left)
            with pytest.raises(LedgerError, match="cannot be opened"):
                ledger.charge("k", RESTING_COST, {})
        ledger.charge("k", RESTING_COST, {})


def _no_file_left(*_: object, **__: object) -> None:
    error = sqlite3.OperationalError("unable to open database file")
    error.sqlite_errorname = "SQLITE_CANTOPEN"
    raise error


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("rests", [False, True])
def test_both_sides_of_a_fork_charge_one_budget(resting_path: Path, rests: bool, forked) -> None:
    with open_ledger(resting_path) as ledger:
        if rests:
            rest(ledger)

        def child() -> None:
            ledger.charge("child", RESTING_COST, {})
            rest(ledger)
            ledger.charge("again", RESTING_COST, {})

        forked(child)
        ledger.charge("parent", RESTING_COST, {})
        assert [entry.key for entry in ledger.history()] == ["child", "again", "parent"]


@pytest.mark.parametrize("name", ["a b?c#d%41é.ledger", "x&mode=ro.ledger"])
def test_a_name_that_looks_like_an_address_is_that_of_a_file(tmp_path: Path, name: str) -> None:
    with open_ledger(tmp_path / name, dataset="d", budget=epsilon(1)) as ledger:
        rest(ledger)
        ledger.charge("k", RESTING_COST, {})
    assert [path.name for path in tmp_path.iterdir()] == [name]


# The files that a process keeps open: the latest, and none is closed while it is used.


class File:
    def __init__(self, used: float) -> None:
        self.used, self.busy, self.open = used, False, True

    def rest(self) -> bool:
        self.open = self.busy and self.open
        return not self.busy


def of(files: list[File]) -> list[bool]:
    return [file.open for file in files]


def test_the_files_used_longest_ago_are_closed() -> None:
    here, files = OpenFiles(2), [File(3), File(1), File(2), File(4)]
    for file in files[:3]:
        here.opened(file)
    assert of(files) == [True, False, True, True]
    here.opened(files[3])
    assert of(files) == [True, False, False, True]


def test_a_file_in_use_is_passed_over_and_counted() -> None:
    here, files = OpenFiles(2), [File(k) for k in range(4)]
    files[0].busy = True
    for file in files[:3]:
        here.opened(file)
    assert of(files) == [True, False, True, True]
    files[0].busy = False
    here.opened(files[3])
    assert of(files) == [False, False, True, True]


def test_all_may_be_in_use_and_the_one_that_was_opened_stays() -> None:
    here, files = OpenFiles(1), [File(2), File(1)]
    files[0].busy = True
    for file in files:
        here.opened(file)
    assert of(files) == [True, True]


def test_what_was_closed_or_dropped_counts_no_more() -> None:
    here, files = OpenFiles(2), [File(k) for k in range(4)]
    here.opened(files[0])
    here.opened(files[1])
    here.closed(files[1])
    here.opened(File(9))
    gc.collect()
    here.opened(files[2])
    assert files[0].open


# What an error of SQLite means for a ledger.


def failed(code, text="no"):
    error = sqlite3.OperationalError(text)
    error.sqlite_errorname = f"SQLITE_{code}"
    return error


@pytest.mark.parametrize(("number", "told"), [("ENOSPC", "disk is full"), ("EIO", "failing disk")])
def test_a_full_disk_is_not_called_a_failing_one(tmp_path, number, told, monkeypatch):
    """SQLite reports what it cannot write to the files beside a ledger as a failure."""

    def full(**_):
        raise OSError(getattr(errno, number), "no")

    monkeypatch.setattr("tacit.accounting.ledger_sqlite.tempfile.TemporaryFile", full)
    with pytest.raises(LedgerError, match=told), explained(tmp_path / "d.ledger"):
        raise failed("IOERR_SHMSIZE")


def test_an_error_of_another_kind_is_told_as_it_is():
    told = r"'d\.ledger' cannot be used: near"
    with pytest.raises(LedgerError, match=told), explained(Path("d.ledger")):
        raise failed("ERROR", "near")


def test_a_lock_that_is_held_spends_nothing():
    told = "held by another process for 60 s; nothing more was spent"
    with pytest.raises(LedgerError, match=told), explained(Path("d.ledger")):
        raise failed("BUSY_SNAPSHOT")
