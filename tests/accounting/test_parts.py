"""The parts of a charge: read as written, and charged as what they are."""

from fractions import Fraction

import pytest

from tacit.accounting import Budget, Odometer, epsilon, epsilon_delta, open_ledger
from tacit.accounting.budget import Part, added_up, merged, parts_from
from tacit.accounting.odometer import Spending
from tacit.errors import BudgetError, UsageError

BUDGET = epsilon_delta(1, "1e-6")
HUNDREDTH = Fraction(1, 100)
TEN = Budget("approximate", HUNDREDTH * 10, parts=(Part(HUNDREDTH, 10),))
TWENTY = Budget("approximate", HUNDREDTH * 20, parts=(Part(HUNDREDTH, 20),))


def test_parts_are_in_one_order_and_read_back():
    losses = [(Fraction(1, 8), False), (Fraction(1, 4), True), (Fraction(1, 8), False)]
    parts = merged([*losses, (Fraction(0), False)])
    assert parts == merged(reversed(losses))
    assert added_up(parts) == Fraction(1, 2)
    paid = Budget("approximate", Fraction(1, 2), Fraction(1, 1000), parts)
    assert paid.charged_json()["parts"] == [["1/4", 1, "range"], ["1/8", 2]]
    assert Budget.from_json(paid.charged_json()).parts == parts
    assert Budget.from_json(paid.to_json()).parts == ()
    assert Budget.from_json(paid.to_json()) == paid


@pytest.mark.parametrize(
    "said",
    [
        None,
        [],
        [["1/8", 2], ["1/4", 1]],
        [["1/4", 1], ["1/4", 1]],
        [["1/4", 0]],
        [["1/4", True]],
        [["0", 1]],
        [["2/8", 1]],
        [["1/4", 1, "law"]],
        [["1/4"]],
        ["1/4"],
    ],
)
def test_parts_that_are_none_are_refused(said):
    with pytest.raises(UsageError):
        parts_from(said)


def test_parts_add_up_to_the_cost():
    with pytest.raises(UsageError, match="add up"):
        Budget("approximate", Fraction(1), parts=(Part(HUNDREDTH, 99),))
    said = {**epsilon_delta(1, 0).to_json(), "parts": [["1/100", 99]]}
    with pytest.raises(UsageError, match="add up"):
        Budget.from_json(said)
    with pytest.raises(UsageError):
        Budget.from_json({**epsilon(1).to_json(), "parts": [["1", 1]]})


def test_a_release_of_ten_parts_costs_what_ten_releases_do():
    together = Spending.begun(BUDGET).charged(TEN)
    one_by_one = Spending.begun(BUDGET)
    for _ in range(10):
        one_by_one = one_by_one.charged(epsilon_delta(HUNDREDTH, 0))
    whole = Spending.begun(BUDGET).charged(epsilon_delta("1/10", 0))
    left = together.filter.left
    assert one_by_one.filter.left * Fraction(999, 1000) <= left <= one_by_one.filter.left
    assert left > whole.filter.left * Fraction(115, 100)
    assert together.added == one_by_one.added == whole.added


@pytest.mark.full
def test_many_small_parts_are_granted_beyond_their_sum():
    spending = Spending.begun(BUDGET)
    for _ in range(26):
        assert spending.affords(TWENTY)
        spending = spending.charged(TWENTY)
    assert spending.added.amount > 5
    assert spending.within
    assert not spending.affords(TWENTY)
    with pytest.raises(BudgetError):
        spending.require(TWENTY)


def test_ranges_cost_a_third():
    ranged = Budget("approximate", HUNDREDTH * 10, parts=(Part(HUNDREDTH, 10, True),))
    whole = Spending.begun(BUDGET).charged(epsilon_delta("1/1000000", 0)).filter.left
    taken = [whole - Spending.begun(BUDGET).charged(cost).filter.left for cost in (ranged, TEN)]
    assert abs(float(taken[0] / taken[1]) - 1 / 3) < 0.01


@pytest.mark.full
def test_a_ledger_keeps_the_parts_and_replays_them():
    ledger = open_ledger(None, dataset="clinic", budget=BUDGET)
    for number in range(12):
        entry = ledger.charge(f"k{number}", TEN, {"count": number})
        assert entry.cost.parts == TEN.parts
    assert ledger.added_up == epsilon_delta("6/5", 0)
    assert ledger.verify_chain() == 13
    assert ledger.spent.amount < Fraction(1, 2)
    large = Budget("approximate", HUNDREDTH * 200, parts=(Part(HUNDREDTH, 200),))
    assert not ledger.remaining.covers(large)
    assert ledger.chain.affords(large)
    assert not ledger.chain.affords(large, large, large)


def test_where_epsilons_add_up_parts_do_too():
    pure = Budget("pure", HUNDREDTH * 10, parts=TEN.parts)
    odometer = Odometer(epsilon("1/10"))
    odometer.spend(pure)
    assert odometer.spent == epsilon("1/10")
    with pytest.raises(BudgetError):
        odometer.spend(pure)
    assert "parts" not in pure.charged_json()


def test_a_rho_is_paid_part_by_part():
    pure = Budget("pure", HUNDREDTH * 10, parts=(Part(HUNDREDTH, 10),))
    paid = pure.cost_in("concentrated")
    assert paid == Budget("concentrated", 10 * epsilon(HUNDREDTH).cost_in("concentrated").amount)
    ranged = Budget("pure", HUNDREDTH, parts=(Part(HUNDREDTH, 1, True),))
    assert ranged.cost_in("concentrated").amount == HUNDREDTH**2 / 8
