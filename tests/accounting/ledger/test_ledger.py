"""The rules of the ledger, held by all of its stores."""

import copy
import math
import os
import pickle
import shutil
import sqlite3
import threading
import time
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)

from support.examples import examples
from support.threads import at_once
from tacit.accounting import (
    Budget,
    adopt_ledger,
    create_ledger,
    epsilon,
    epsilon_delta,
    open_ledger,
    restore_ledger,
    rho,
)
from tacit.accounting.budget import fit
from tacit.accounting.ledger import Ledger, accounts_of, charge_each, on_account_of, set_cap
from tacit.accounting.ledger_chain import (
    FORMAT,
    Entry,
    Event,
    Head,
    MemoryStore,
    Payer,
    Payment,
    appended,
    entry_from,
)
from tacit.accounting.open_ledger import begin_again, existing_ledger
from tacit.errors import BudgetError, LedgerError, UsageError

QUARTER = epsilon("1/4")


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def ledger(request, tmp_path):
    place = None if request.param == "memory" else tmp_path / "clinic.ledger"
    if request.param == "postgres":
        place = request.getfixturevalue("address")
    with open_ledger(place, dataset="clinic", budget=epsilon(1)) as ledger:
        yield ledger


def test_a_charge_then_an_answer_then_a_free_replay(ledger):
    assert (ledger.total, ledger.spent) == (epsilon(1), Budget.nothing("pure"))
    assert ledger.find("k") is None
    entry = ledger.charge("k", QUARTER, {"count": "rows"})
    assert (entry.state, entry.answer, entry.cost, entry.key) == ("open", None, QUARTER, "k")
    assert ledger.find("k") == entry
    answered = ledger.record(entry, {"count": 12, "interval": (1.5, 2.5)})
    assert answered.answer == {"count": 12, "interval": [1.5, 2.5]}
    assert (answered.sequence, answered.hash) == (entry.sequence, entry.hash)
    for replay in (ledger.charge("k", QUARTER, {"count": "rows"}), ledger.find("k")):
        assert replay == answered
    assert ledger.history() == [answered]
    assert ledger.spent == QUARTER
    assert ledger.remaining == epsilon("3/4")
    assert ledger.verify_chain() == 3


def test_charges_together_are_those_one_after_another(ledger):
    set_cap(ledger, "team:a", epsilon("1/4"), "a quarter")
    ledger.record(ledger.charge("old", epsilon("1/8"), {}), {"n": 1})
    team, other = (on_account_of(ledger, name).payer for name in ("team:a", "team:b"))
    before = ledger.chain.head().sequence
    made = charge_each(
        ledger,
        [
            Payment(team, "one", epsilon("1/8"), {"count": 1}),
            Payment(other, "one", epsilon("1/8"), {"count": 1}),  # the same release: paid once
            Payment(other, "one", epsilon("1/8"), {"count": 2}),
            Payment(team, "two", epsilon("1/4"), {}),  # beyond the cap, after the one before it
            Payment(team, "old", epsilon("1/8"), {}),
            Payment(other, "", epsilon("1/8"), {}),
            Payment(other, "\ud800", epsilon("1/8"), {}),
            Payment(other, "three", epsilon("1/2"), {}),
            Payment(other, "four", epsilon("3/8"), {}),  # beyond the budget
            Payment(team, "five", epsilon("1/8"), {}),
        ],
    )
    kinds = [one.state if isinstance(one, Entry) else type(one) for one in made]
    open_or_not = ["open", "open", UsageError, BudgetError, "answered"]
    assert kinds == [*open_or_not, UsageError, UsageError, "open", BudgetError, "open"]
    assert made[0] == made[1] == ledger.find("one")
    assert made[0].accounts == ("team:a",)
    assert [one.key for one in ledger.history()] == ["old", "one", "three", "five"]
    assert ledger.verify_chain() == before + 3
    assert ledger.spent == epsilon("7/8")
    assert ledger.remaining == epsilon("1/8")
    spent = {one.name: one.spent for one in accounts_of(ledger)}
    assert spent == {"team:a": epsilon("1/4"), "team:b": epsilon("1/2")}


def test_charges_that_are_all_refused_write_nothing(ledger):
    before = ledger.chain.head()
    made = charge_each(ledger, [Payment(Payer(), key, epsilon(2), {}) for key in "ab"])
    assert [type(one) for one in made] == [BudgetError, BudgetError]
    assert charge_each(ledger, []) == []
    assert ledger.chain.head() == before


def test_the_replay_is_free_when_nothing_remains(ledger):
    ledger.record(ledger.charge("k", epsilon(1), {}), {"n": 1})
    assert ledger.remaining.is_nothing
    assert ledger.charge("k", epsilon(1), {}).answer == {"n": 1}
    with pytest.raises(BudgetError, match=r"epsilon 1 and epsilon 0 of epsilon 1 remains"):
        ledger.charge("other", epsilon(1), {})


def test_the_recorded_answer_cannot_be_changed_from_outside(ledger):
    entry = ledger.record(ledger.charge("k", QUARTER, {"a": [1]}), {"n": [1, {"b": 2}]})
    entry.answer["n"][1]["b"] = 99
    entry.question["a"].append(2)
    ledger.find("k").answer["n"].clear()
    assert ledger.find("k").answer == {"n": [1, {"b": 2}]}
    assert ledger.find("k").question == {"a": [1]}
    assert ledger.verify_chain() == 3


def test_an_answer_keeps_its_order_and_its_bits(ledger):
    answer = {"z": 0.1 + 0.2, "a": math.inf, "m": -0.0, "big": 2**70, "none": None, "nan": math.nan}
    ledger.record(ledger.charge("k", QUARTER, {}), answer)
    replay = ledger.find("k").answer
    assert list(replay) == list(answer)
    assert math.isnan(replay.pop("nan"))
    answer.pop("nan")
    assert replay == answer
    assert math.copysign(1, replay["m"]) == -1


def test_a_charge_without_an_answer_stays_spent_and_is_never_charged_again(ledger):
    first = ledger.charge("k", QUARTER, {"count": "rows"})
    for _ in range(3):
        assert ledger.charge("k", QUARTER, {"count": "rows"}) == first
    assert ledger.spent == QUARTER
    assert ledger.history() == [first]
    assert ledger.verify_chain() == 2


def test_an_open_release_goes_on_when_nothing_remains(ledger):
    first = ledger.charge("k", epsilon(1), {})
    assert ledger.remaining.is_nothing
    assert ledger.charge("k", epsilon(1), {}) == first
    assert ledger.record(first, {"n": 1}).state == "answered"


def test_an_open_release_goes_on_at_its_own_price_or_less(ledger):
    first = ledger.charge("k", QUARTER, {})
    assert ledger.charge("k", epsilon("1/5"), {}) == first
    with pytest.raises(
        UsageError, match=r"was charged epsilon 0\.25 and is not answered yet, and it costs"
    ):
        ledger.charge("k", epsilon("26/100"), {})
    with pytest.raises(UsageError, match="cannot pay"):
        ledger.charge("k", rho(1), {})
    with pytest.raises(UsageError, match="another question"):
        ledger.charge("k", QUARTER, {"other": 1})
    assert ledger.spent == QUARTER


def test_what_remained_before_a_charge_is_known_for_ever(ledger):
    before = []
    for k in range(4):
        before.append((ledger.remaining, ledger.charge(str(k), epsilon("1/8"), {})))
    ledger.extend(epsilon(2), "more")
    assert [ledger.remaining_before(entry) for _, entry in before] == [r for r, _ in before]


def test_the_first_answer_of_a_key_stands_for_all_attempts(ledger):
    first, second = (ledger.charge("k", QUARTER, {}) for _ in range(2))
    assert ledger.record(second, {"n": 2}).answer == {"n": 2}
    assert ledger.record(first, {"n": 1}).answer == {"n": 2}
    assert [entry.answer for entry in ledger.history()] == [{"n": 2}]
    assert ledger.verify_chain() == 3


def charged_twice(ledger, key="k"):
    """Charge a key again, as earlier versions did."""
    with ledger.chain.write() as (transaction, head):
        body = {"question": {}, "cost": QUARTER.to_json()}
        return entry_from(appended(transaction, head, "charge", key, body))


def test_a_ledger_of_an_earlier_version_with_two_charges_of_a_key(ledger):
    first, second = charged_twice(ledger), charged_twice(ledger)
    assert ledger.spent == epsilon("1/2")
    assert ledger.verify_chain() == 3
    assert ledger.charge("k", QUARTER, {}) == second  # it goes on; a third is never paid
    assert ledger.record(first, {"n": 1}).answer == {"n": 1}
    assert ledger.record(second, {"n": 2}).answer == {"n": 1}
    assert ledger.charge("k", QUARTER, {}).answer == {"n": 1}
    assert [entry.answer for entry in ledger.history()] == [{"n": 1}, None]
    assert ledger.spent == epsilon("1/2")
    assert ledger.verify_chain() == 4


def test_no_answer_without_a_charge_of_this_ledger(ledger):
    entry = ledger.charge("k", QUARTER, {})
    other = open_ledger(None, dataset="other", budget=epsilon(1))
    for wrong in (other.charge("k", QUARTER, {}), replace(entry, sequence=99)):
        with pytest.raises(LedgerError, match="no such charge"):
            ledger.record(wrong, {"n": 1})
    assert ledger.find("k").answer is None


def test_an_answer_event_is_no_charge(ledger):
    entry = ledger.record(ledger.charge("k", QUARTER, {}), {"n": 1})
    answer = ledger.events()[-1]
    with pytest.raises(LedgerError, match="no such charge"):
        ledger.record(replace(entry, sequence=answer.sequence, hash=answer.hash), {"n": 2})


def test_a_charge_answers_its_own_key_only(ledger):
    entry = ledger.charge("k", QUARTER, {})
    with pytest.raises(LedgerError, match="no such charge"):
        ledger.record(replace(entry, key="k2"), {"n": 2})
    assert ledger.find("k2") is None


def test_a_key_stands_for_one_question(ledger):
    ledger.record(ledger.charge("k", QUARTER, {"mean": "age"}), {"n": 1})
    with pytest.raises(UsageError, match="another question"):
        ledger.charge("k", QUARTER, {"mean": "pay"})
    assert ledger.spent == QUARTER


def test_what_does_not_fit_is_refused_and_costs_nothing(ledger):
    ledger.charge("a", epsilon("3/4"), {})
    with pytest.raises(BudgetError, match=r"epsilon 0.5 and epsilon 0.25 of epsilon 1 remains"):
        ledger.charge("b", epsilon("1/2"), {})
    assert ledger.find("b") is None
    assert ledger.remaining == QUARTER
    ledger.charge("b", QUARTER, {})
    assert ledger.remaining.is_nothing


@pytest.mark.parametrize("cost", [rho(1), epsilon_delta("1/2", "1e-6")])
def test_a_cost_that_the_budget_cannot_count_is_refused(ledger, cost):
    with pytest.raises(UsageError, match="cannot pay"):
        ledger.charge("k", cost, {})
    assert ledger.spent.is_nothing


@pytest.mark.parametrize("key", ["", None, 7, "\ud800", "two\nlines"])
def test_a_key_is_text(ledger, key):
    with pytest.raises(UsageError, match="printable text"):
        ledger.charge(key, QUARTER, {})
    assert ledger.spent.is_nothing


def test_delta_is_held_even_where_the_sum_would_be_no_delta():
    ledger = open_ledger(None, dataset="d", budget=epsilon_delta(9, "0.9"))
    ledger.charge("a", epsilon_delta(1, "0.5"), {})
    with pytest.raises(BudgetError, match=r"delta 0.6 and epsilon 8, delta 0.4"):
        ledger.charge("b", epsilon_delta(1, "0.6"), {})


def test_a_cost_of_nothing_is_refused(ledger):
    with pytest.raises(UsageError, match="must cost something"):
        ledger.charge("k", Budget.nothing("pure"), {})


@pytest.mark.parametrize("question", [{"f": object()}, {"f": {1, 2}}, {("a",): 1}])
def test_a_question_that_is_no_json_costs_nothing(ledger, question):
    with pytest.raises(UsageError, match="question must be plain JSON"):
        ledger.charge("k", QUARTER, question)
    assert ledger.spent.is_nothing


def test_an_answer_that_is_no_json_is_spent_and_can_be_recorded_rightly(ledger):
    entry = ledger.charge("k", QUARTER, {})
    with pytest.raises(UsageError, match="answer must be plain JSON"):
        ledger.record(entry, {"n": object()})
    assert ledger.spent == QUARTER
    assert ledger.record(entry, {"n": 1}).answer == {"n": 1}


def test_a_pure_release_pays_from_a_concentrated_budget(tmp_path):
    with create_ledger(tmp_path / "x", dataset="d", budget=rho("1/2")) as ledger:
        entry = ledger.charge("k", epsilon(1), {})
        assert entry.cost == epsilon(1).cost_in("concentrated")
        assert ledger.remaining == rho("1/2") - entry.cost


def test_ten_float_tenths_spend_all(ledger):
    for k in range(10):
        ledger.charge(str(k), fit(epsilon(0.1), ledger.remaining), {})
    assert ledger.spent == ledger.total


def test_release_charges_then_answers_then_replays(ledger):
    calls = []

    def answer():
        calls.append(ledger.spent)
        return {"n": len(calls)}

    for _ in range(3):
        assert ledger.release("k", QUARTER, {}, answer).answer == {"n": 1}
    assert calls == [QUARTER]  # once, and spent before it was called


def test_release_that_dies_is_spent_and_stays_open(ledger):
    def answer():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        ledger.release("k", QUARTER, {}, answer)
    assert caught.value.__notes__ == [
        "epsilon 0.25 was charged for this release, and it stays open: ask the same again, and it "
        "is answered at no further cost"
    ]
    assert ledger.spent == QUARTER
    assert ledger.find("k").state == "open"
    assert ledger.release("k", QUARTER, {}, lambda: {"n": 5}).answer == {"n": 5}
    assert ledger.spent == QUARTER


def test_release_never_calls_for_what_it_cannot_pay(ledger):
    with pytest.raises(BudgetError):
        ledger.release("k", epsilon(2), {}, lambda: pytest.fail("noise was drawn"))


def test_threads_that_ask_the_same_pay_once(ledger):
    calls, answers, start = [], [], threading.Barrier(16)

    def answer():
        calls.append(1)
        time.sleep(0.05)  # time for the others to come and find no answer
        return {"n": len(calls)}

    def work():
        start.wait()
        answers.append(ledger.release("k", QUARTER, {}, answer).answer)

    at_once(work, times=16)
    assert answers == [{"n": 1}] * 16
    assert len(calls) == 1
    assert ledger.spent == QUARTER


def test_threads_that_ask_different_things_never_pass_the_budget(ledger):
    granted, start = [], threading.Barrier(8)

    def work(name):
        start.wait()
        for k in range(20):
            try:
                granted.append(ledger.charge(f"{name}/{k}", epsilon("1/50"), {}))
            except BudgetError:
                return

    at_once(work, range(8))
    assert len(granted) == 50
    assert ledger.spent == ledger.total
    assert ledger.verify_chain() == 51


def test_a_budget_is_raised_only_in_the_open(ledger):
    ledger.charge("a", epsilon(1), {})
    with pytest.raises(UsageError, match="say why"):
        ledger.extend(epsilon(2), "  ")
    for total in (epsilon(1), epsilon("1/2")):
        with pytest.raises(UsageError, match="only be raised"):
            ledger.extend(total, "because")
    with pytest.raises(UsageError, match="counted differently"):
        ledger.extend(rho(2), "because")
    ledger.extend(epsilon(2), "the board agreed")
    assert ledger.remaining == epsilon(1)
    assert ledger.events()[-1].body["reason"] == "the board agreed"
    assert ledger.verify_chain() == 3


def test_a_ledger_is_not_copied_and_shows_no_answer(ledger):
    ledger.record(ledger.charge("k", QUARTER, {}), {"n": 41977})
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(LedgerError, match="cannot be copied"):
            attempt(ledger)
    assert "41977" not in repr(ledger)
    assert "clinic" in repr(ledger)


class Rules(RuleBasedStateMachine):
    """Any order of charges, answers, losses and extensions, against a plain model."""

    entries = Bundle("entries")
    keys = st.sampled_from("abcdef")
    amounts = st.fractions(min_value="1/60", max_value="1/2", max_denominator=60)

    @initialize()
    def begin(self):
        self.ledger = open_ledger(None, dataset="d", budget=epsilon(1))
        self.total, self.charges, self.answers, self.events = epsilon(1), {}, {}, 1

    @rule(target=entries, key=keys, amount=amounts)
    def charge(self, key, amount):
        standing = self.charges.get(key)
        fits = sum(self.charges.values()) + amount <= self.total.amount
        if standing is None and not fits:
            with pytest.raises(BudgetError):
                self.ledger.charge(key, epsilon(amount), {"key": key})
            return multiple()
        if standing is not None and key not in self.answers and amount > standing:
            with pytest.raises(UsageError):
                self.ledger.charge(key, epsilon(amount), {"key": key})
            return multiple()
        entry = self.ledger.charge(key, epsilon(amount), {"key": key})
        if key in self.answers:
            assert entry.answer == self.answers[key]
            return multiple()
        assert entry.answer is None
        self.events += standing is None
        self.charges.setdefault(key, amount)
        assert entry.cost.amount == self.charges[key]
        return entry

    @rule(entry=consumes(entries), number=st.integers())
    def record(self, entry, number):
        self.events += entry.key not in self.answers
        self.answers.setdefault(entry.key, {"n": number})
        assert self.ledger.record(entry, {"n": number}).answer == self.answers[entry.key]

    @rule(entry=consumes(entries))
    def die(self, entry):
        found = self.ledger.find(entry.key)
        assert found.answer == self.answers.get(entry.key)

    @rule(more=amounts)
    def extend(self, more):
        self.total += epsilon(more)
        self.ledger.extend(self.total, "more")
        self.events += 1

    @invariant()
    def the_ledger_is_the_model(self):
        assert self.ledger.spent.amount == sum(self.charges.values())
        assert self.ledger.total == self.total
        assert self.total.covers(self.ledger.spent)
        history = self.ledger.history()
        assert [entry.cost.amount for entry in history] == list(self.charges.values())
        answered = [(entry.key, entry.answer) for entry in history if entry.answer]
        assert len(answered) == len(self.answers)
        assert dict(answered) == self.answers
        assert self.ledger.verify_chain() == self.events


Rules.TestCase.settings = examples(0.6, stateful_step_count=30)
TestRules = Rules.TestCase


@pytest.mark.full
def test_a_budget_with_a_delta_pays_for_many_small_charges(tmp_path):
    place = tmp_path / "filtered.ledger"
    total = epsilon_delta(1, "1e-6")
    with open_ledger(place, dataset="d", budget=total) as ledger:
        for number in range(44):
            entry = ledger.charge(f"k{number}", epsilon("1/32"), {"count": number})
        ledger.record(entry, {"n": 1})
    with open_ledger(place, dataset="d", budget=total) as again:
        assert again.added_up == epsilon_delta("11/8", 0)
        assert again.spent.amount < Fraction(95, 100)
        assert again.remaining.amount > Fraction(1, 32)
        assert again.verify_chain() == 46
        with pytest.raises(BudgetError, match="nothing was spent"):
            again.charge("big", epsilon("1/2"), {"count": "big"})
        again.extend(epsilon_delta(2, "1e-6"), "more questions")
        again.charge("big", epsilon("1/8"), {"count": "big"})
        assert again.verify_chain() == 48


def test_a_ledger_that_began_without_a_filter_adds_up(tmp_path):
    store = MemoryStore()
    body = {"ledger": "0" * 32, "dataset": "d", "terms": {}, "home": None}
    body["budget"] = epsilon_delta(1, "1e-6").to_json()
    event = Event.after(None, "create", None, body)
    with store.write() as transaction:
        transaction.append(event, head=Head.following(None, event))
    ledger = Ledger(store)
    for number in range(10):
        ledger.charge(f"k{number}", epsilon("1/10"), {"count": number})
    assert ledger.spent == epsilon_delta(1, 0)
    assert ledger.remaining == Budget("approximate", Fraction(0), Fraction(1, 10**6))
    with pytest.raises(BudgetError, match="nothing was spent"):
        ledger.charge("more", epsilon("1/100"), {"count": "more"})
    assert ledger.verify_chain() == 11


# Ledger files that are missing, broken, moved, copied, put back, or another's.


TERMS = {"unit": "one row each", "relation": "add or remove one unit"}
COST = epsilon("1/8")


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "clinic.ledger"
    with create_ledger(path, dataset="clinic", budget=epsilon(1), terms=TERMS) as ledger:
        ledger.charge("first", COST, {})
    return path


def test_a_closed_ledger_is_one_whole_file(path):
    assert [file.name for file in path.parent.iterdir()] == ["clinic.ledger"]


def test_it_is_synced_at_every_commit(path):
    with open_ledger(path) as ledger:
        run = ledger._store._connection.execute
        assert run("PRAGMA synchronous").fetchone() == (3,)  # extra: full, and the folder too
        assert run("PRAGMA journal_mode").fetchone() == ("wal",)


def open_new(path):
    return open_ledger(path, dataset="d", budget=epsilon(1))


def test_a_folder_is_no_ledger(tmp_path):
    with pytest.raises(LedgerError, match="is a folder"):
        open_new(tmp_path)


def test_a_missing_folder_is_told(tmp_path):
    with pytest.raises(LedgerError, match=r"there is no folder.*absent"):
        open_new(tmp_path / "absent" / "x.ledger")


@pytest.mark.parametrize(
    "content", [b"age,pay\n31,2000\n" * 200, b"x", b"SQLite format 3\0" * 99, bytes(4096)]
)
def test_another_file_is_no_ledger_and_is_left_alone(tmp_path, content):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(LedgerError, match=r"not a ledger|damaged"):
        open_new(path)
    assert path.read_bytes() == content


def test_another_database_is_no_ledger_and_is_left_alone(tmp_path):
    path = tmp_path / "app.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE customer (name TEXT)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="not a ledger of Tacit"):
        open_new(path)
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_ledger_only_when_asked(tmp_path):
    path = tmp_path / "x.ledger"
    path.touch()
    with pytest.raises(LedgerError, match="is empty"):
        open_ledger(path)
    open_new(path).close()
    assert open_ledger(path).dataset == "d"


def test_a_newer_format_is_refused(path):
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {FORMAT + 1}")
    connection.close()
    with pytest.raises(LedgerError, match=rf"newer Tacit \(format {FORMAT + 1}.*upgrade"):
        open_ledger(path)


def test_a_full_disk_spends_nothing(path):
    with open_ledger(path) as ledger:
        run = ledger._store._connection.execute
        (pages,) = run("PRAGMA page_count").fetchone()
        run(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(LedgerError, match=r"disk is full; nothing more was spent"):
            ledger.charge("k", COST, {"text": "x" * 100_000})
        run(f"PRAGMA max_page_count = {pages + 1000}")
        assert ledger.spent == COST
        assert ledger.find("k") is None
        ledger.charge("k", COST, {"text": "x" * 100_000})
        assert ledger.verify_chain() == 3


def test_a_full_disk_at_the_answer_leaves_the_release_open(path):
    with open_ledger(path) as ledger:
        run = ledger._store._connection.execute
        long = {"text": "x" * 100_000}

        def fill_the_disk():
            (pages,) = run("PRAGMA page_count").fetchone()
            run(f"PRAGMA max_page_count = {pages}")
            return long

        with pytest.raises(LedgerError, match=r"disk is full.*was charged.*open.*no further cost"):
            ledger.release("k", COST, {}, fill_the_disk)
        assert [entry.state for entry in ledger.history()][-1] == "open"
        spent = ledger.spent
        run("PRAGMA max_page_count = 100000")
        assert ledger.release("k", COST, {}, lambda: long).answer == long
        assert ledger.spent == spent
        assert ledger.verify_chain() == 4


def test_an_emptied_ledger_with_a_log_is_not_begun_anew(tmp_path):
    place = tmp_path / "clinic.ledger"
    place.touch()
    (tmp_path / "clinic.ledger-wal").write_bytes(b"charges")
    with pytest.raises(LedgerError, match="was emptied, and its log"):
        open_ledger(place, dataset="d", budget=epsilon(1))
    assert (tmp_path / "clinic.ledger-wal").read_bytes() == b"charges"


def test_a_lock_held_at_the_answer_leaves_the_release_open(path, monkeypatch):
    monkeypatch.setattr("tacit.accounting.ledger_sqlite.BUSY_TIMEOUT", 0.05)
    with open_ledger(path) as ledger:
        other = sqlite3.connect(path, isolation_level=None)

        def hold():
            other.execute("BEGIN IMMEDIATE")
            return {"n": 1}

        with pytest.raises(LedgerError, match=r"held by another.*was charged.*no further cost"):
            ledger.release("k", COST, {}, hold)
        other.close()
        spent = ledger.spent
        assert ledger.release("k", COST, {}, lambda: {"n": 2}).answer == {"n": 2}
        assert ledger.spent == spent


def test_a_ledger_held_too_long_by_another_is_told(path, monkeypatch):
    monkeypatch.setattr("tacit.accounting.ledger_sqlite.BUSY_TIMEOUT", 0.05)
    with open_ledger(path) as ledger:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="held by another process"):
            ledger.charge("k", COST, {})
        other.close()
        ledger.charge("k", COST, {})


@pytest.mark.parametrize(("code", "tries"), [("SQLITE_BUSY", 3), ("SQLITE_IOERR", 1)])
def test_the_log_is_turned_on_again_where_another_did_so_in_that_moment(path, code, tries):
    class Connection:
        """Fails as SQLite does when two connections change the journal at once, twice."""

        calls = 0

        def execute(self, statement):
            self.calls += 1
            if self.calls <= 2:
                error = sqlite3.OperationalError("database is locked")
                error.sqlite_errorname = code
                raise error

    with open_ledger(path) as ledger:
        kept, stub = ledger._store._connection, Connection()
        ledger._store._connection = stub
        if tries == 1:
            with pytest.raises(sqlite3.OperationalError):
                ledger._store._turn_on_the_log()
        else:
            ledger._store._turn_on_the_log()
        ledger._store._connection = kept
    assert stub.calls == tries


def test_opening_waits_for_a_reader_that_is_in_the_way_of_the_journal(path):
    reader = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    reader.execute("PRAGMA journal_mode = DELETE")
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM event").fetchone()
    leaves = threading.Timer(0.3, reader.execute, ["COMMIT"])
    leaves.start()
    with open_ledger(path) as ledger:
        assert ledger._store._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        ledger.charge("second", COST, {})
    leaves.join()
    reader.close()


def test_a_copy_is_refused_until_it_is_restored(path):
    copy = path.with_name("copy.ledger")
    shutil.copy(path, copy)
    with pytest.raises(LedgerError, match=r"copied or moved: it was made at.*clinic\.ledger"):
        open_ledger(copy, dataset="clinic")
    with restore_ledger(copy) as ledger:
        assert ledger.spent == COST
        assert ledger.events()[-1].event == "adopt"
        assert ledger.events()[-1].body["before"]["path"] == str(path.resolve())
    with open_ledger(copy) as ledger:
        ledger.charge("second", COST, {})
        assert ledger.verify_chain() == 4


def test_a_moved_ledger_is_refused_until_it_is_restored(path):
    moved = path.rename(path.with_name("moved.ledger"))
    with pytest.raises(LedgerError, match="copied or moved"):
        open_ledger(moved)
    adopt_ledger(moved).close()  # the name of earlier versions
    restore_ledger(moved).close()  # at home: nothing more to note
    with open_ledger(moved) as ledger:
        assert len(ledger.events()) == 3


def test_a_link_is_the_ledger_itself(path):
    link = path.with_name("link.ledger")
    link.symlink_to(path)
    with open_ledger(link) as ledger, open_ledger(path) as same:
        ledger.charge("second", COST, {})
        assert same.spent == epsilon("1/4")


def test_a_backup_put_in_the_place_of_the_file_is_refused(path, new_process):
    backup = path.with_name("backup")
    shutil.copy(path, backup)
    with open_ledger(path) as ledger:
        ledger.charge("second", COST, {})
    os.replace(backup, path)
    new_process()
    with pytest.raises(LedgerError, match="copied or moved"):
        open_ledger(path)


def test_a_backup_written_into_the_file_is_refused_while_the_process_lives(path, new_process):
    old = path.read_bytes()
    with open_ledger(path) as ledger:
        entry = ledger.charge("second", COST, {})
    path.write_bytes(old)
    ledger = open_ledger(path)
    for use in (lambda: ledger.charge("third", COST, {}), lambda: ledger.spent):
        with pytest.raises(LedgerError, match="shows less than was already spent"):
            use()
    ledger.close()
    # What the documentation says is not detected: the next process has only this file to go by.
    # A hash from outside tells the two histories apart.
    new_process()
    with open_ledger(path) as ledger:
        ledger.charge("third", COST, {})
        assert not ledger.contains(entry.sequence, entry.hash)


@pytest.mark.parametrize("fate", ["replaced", "removed"])
def test_a_file_that_goes_away_under_an_open_ledger_is_noticed(path, fate):
    backup = path.with_name("backup")
    shutil.copy(path, backup)
    with open_ledger(path) as ledger:
        if fate == "replaced":
            os.replace(backup, path)
        else:
            path.unlink()
        with pytest.raises(LedgerError, match="removed or replaced"):
            ledger.charge("second", COST, {})


def test_the_file_holds_no_more_than_it_was_given(path):
    """No host, user or environment is written down; only what the caller said, and where."""
    with open_ledger(path) as ledger:
        begun, charged = ledger.events()
    assert set(begun.body) == {"ledger", "dataset", "terms", "budget", "home"}
    assert set(begun.body["home"]) == {"path", "inode"}
    assert set(charged.body) == {"question", "cost", "format"}


def test_a_second_name_of_a_ledger_is_refused(tmp_path):
    """The log goes by the name: under another one the whole budget could be spent again."""
    place, other = tmp_path / "a.ledger", tmp_path / "b.ledger"
    with create_ledger(place, dataset="clinic", budget=epsilon(1)) as ledger:
        ledger.charge("first", epsilon("1/2"), {})
        os.link(place, other)
        for name in (place, other):
            with pytest.raises(LedgerError, match="has a second name, a hard link"):
                open_ledger(name, dataset="clinic", budget=epsilon(1))
        with pytest.raises(LedgerError, match="Nothing more was spent"):
            ledger.charge("second", epsilon("1/4"), {})
        other.unlink()
        ledger.charge("second", epsilon("1/4"), {})
        assert (ledger.spent, ledger.verify_chain()) == (epsilon("3/4"), 3)


def test_a_new_file_and_those_beside_it_are_their_owners_alone(tmp_path):
    before = os.umask(0)
    try:
        with open_ledger(tmp_path / "a.ledger", dataset="clinic", budget=epsilon(1)) as ledger:
            ledger.charge("k", epsilon("1/2"), {"count": "rows"})
            modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert "a.ledger-wal" in modes
    assert set(modes.values()) == {0o600}


def test_a_file_of_format_1_is_read_and_says_the_new_format_once_it_is_written(
    tmp_path,
):
    place = tmp_path / "a.ledger"

    def version(said=None):
        connection = sqlite3.connect(place)
        if said is not None:
            connection.execute(f"PRAGMA user_version = {said}")
        found = connection.execute("PRAGMA user_version").fetchone()[0]
        connection.close()
        return found

    open_ledger(place, dataset="clinic", budget=epsilon(1)).close()
    assert version() == FORMAT == 5
    version(1)  # as a file of the time before accounts
    with open_ledger(place) as ledger:
        assert ledger.remaining == epsilon(1)
    assert version() == 1
    with open_ledger(place) as ledger:
        on_account_of(ledger, "team:a").charge("k", epsilon("1/2"), {"count": "rows"})
    assert version() == 5  # a Tacit that reads format 1 says: upgrade


def test_an_unused_ledger_begins_again_and_a_used_one_does_not(place, new_process):
    anew = {"dataset": "survey", "budget": epsilon(2), "terms": {"unit": "person"}}

    def again(ledger):
        return begin_again(ledger, **anew, unused=lambda event: event.event != "extend")

    with create_ledger(place, dataset="clinic", budget=epsilon(1)) as old:
        with existing_ledger(place) as used:  # another one, that has not looked yet
            first = again(old)
            assert (first.id, first.dataset, first.total) == (old.id, "survey", epsilon(2))
            assert first.verify_chain() == 1
            for ledger in (old, used):  # of terms that are over
                with pytest.raises(LedgerError, match="shows less"):
                    ledger.charge("k", epsilon("1/4"), {"count": "rows"})
        first.charge("k", epsilon("1/4"), {"count": "rows"})
        assert again(first) is None
    new_process()
    with open_ledger(place) as later:
        assert (later.dataset, later.remaining) == ("survey", epsilon("7/4"))
        assert later.verify_chain() == 2


def test_a_decision_keeps_an_unused_ledger(place):
    with create_ledger(place, dataset="clinic", budget=epsilon(1)) as ledger:
        ledger.extend(epsilon(2), "a second wave")
        declared = {"dataset": "clinic", "budget": epsilon(1), "terms": {}}
        unused = begin_again(ledger, **declared, unused=lambda event: event.event == "create")
        assert unused is None
        assert ledger.total == epsilon(2)
