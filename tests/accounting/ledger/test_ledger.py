"""The rules of the ledger, held by all of its stores."""

import copy
import math
import pickle
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
from tacit.accounting import (
    Budget,
    create_ledger,
    epsilon,
    epsilon_delta,
    fit,
    open_ledger,
    rho,
)
from tacit.accounting.ledger import Ledger
from tacit.accounting.ledger_chain import Event, Head, MemoryStore, appended, entry_from
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

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
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

    threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
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
        transaction.append(event, Head.following(None, event))
    ledger = Ledger(store)
    for number in range(10):
        ledger.charge(f"k{number}", epsilon("1/10"), {"count": number})
    assert ledger.spent == epsilon_delta(1, 0)
    assert ledger.remaining == Budget("approximate", Fraction(0), Fraction(1, 10**6))
    with pytest.raises(BudgetError, match="nothing was spent"):
        ledger.charge("more", epsilon("1/100"), {"count": "more"})
    assert ledger.verify_chain() == 11
