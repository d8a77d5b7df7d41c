"""What charges come to under a filter, and where they only add up."""

from fractions import Fraction

import pytest

from tacit.accounting import Budget, epsilon, epsilon_delta, rho
from tacit.accounting.odometer import Filter, Spending
from tacit.core.losses.composition import Sum
from tacit.core.losses.distribution import dominating_pair
from tacit.errors import BudgetError, UsageError

BUDGET = epsilon_delta(1, "1e-6")


def charged(spending, *costs):
    for cost in costs:
        cost = cost.cost_in(spending.total.kind)
        spending.require(cost)
        spending = spending.charged(cost)
        assert spending.within
    return spending


@pytest.mark.parametrize("total", [epsilon(1), rho(1), epsilon_delta(1, 0)])
def test_other_budgets_add_up_exactly(total):
    spending = charged(Spending.begun(total), *[epsilon("1/100").cost_in(total.kind)] * 3)
    assert spending.filter is None
    assert spending.spent + spending.remaining == total
    assert spending.to_json() == spending.spent.to_json()


def test_a_budget_without_a_filter_adds_up_as_before():
    spending = Spending.begun(BUDGET, filtered=False)
    spending = charged(spending, *[epsilon("1/50")] * 50)
    assert spending.remaining == epsilon_delta(1, "1e-6") - epsilon_delta(1, 0)
    with pytest.raises(BudgetError):
        spending.require(epsilon_delta("1/1000", 0))


def test_what_adds_up_is_granted_though_the_filter_refuses_it():
    spending = charged(Spending.begun(BUDGET), epsilon("9/10"))
    assert spending.filter == Filter(halved=True, left=None, together=Fraction(0))
    assert spending.remaining == epsilon_delta("1/10", "5e-7")
    spending = charged(spending, epsilon("1/10"))
    assert spending.spent == epsilon_delta(1, 0)
    with pytest.raises(BudgetError):
        spending.require(epsilon_delta("1/1000", 0))


def test_many_small_charges_cost_no_less_than_their_losses_together():
    spending = charged(Spending.begun(BUDGET), *[epsilon("1/50")] * 60)
    held = spending.spent
    losses = Sum.of([(dominating_pair(Fraction(1, 50)), 60)])
    least = losses.epsilon(held.delta)
    assert least.lower <= held.amount <= least.upper * Fraction(105, 100)


def test_deltas_of_charges_share_their_half():
    small = epsilon_delta("1/100", "1e-8")
    spending = charged(Spending.begun(BUDGET), *[small] * 50)
    assert spending.remaining.delta == 0
    assert spending.spent.amount < Fraction(3, 10)
    assert spending.spent.delta == BUDGET.delta
    with pytest.raises(BudgetError):
        spending.require(small)
    charged(spending, *[epsilon("1/100")] * 100)


def test_what_remains_is_the_largest_charge_that_fits():
    spending = charged(Spending.begun(BUDGET), *[epsilon("1/40")] * 60)
    left = spending.remaining
    assert left.amount > Fraction(1, 40)
    charged(spending, Budget("approximate", left.amount, left.delta))
    more = Budget("approximate", left.amount * Fraction(1001, 1000), left.delta)
    with pytest.raises(BudgetError):
        spending.require(more)
    assert not spending.charged(more).within


def test_a_budget_is_raised():
    spending = charged(Spending.begun(BUDGET), *[epsilon("1/40")] * 82)
    assert spending.remaining.amount < Fraction(1, 40)
    raised = spending.raised(epsilon_delta(2, "1e-6"))
    assert raised.within
    fresh = charged(Spending.begun(epsilon_delta(2, "1e-6")), *[epsilon("1/40")] * 82)
    assert raised.filter.left <= fresh.filter.left
    assert raised.filter.left >= fresh.filter.left * Fraction(99, 100)
    unused = Spending.begun(BUDGET).raised(epsilon_delta(2, "1e-6"))
    assert unused == Spending.begun(epsilon_delta(2, "1e-6"))


@pytest.mark.parametrize("costs", [[], [epsilon("1/50")], [epsilon_delta("1/2", "1e-6")]])
def test_it_is_read_back(costs):
    spending = charged(Spending.begun(BUDGET), *costs)
    assert Spending.from_json(BUDGET, spending.to_json()) == spending


@pytest.mark.parametrize(
    "said",
    [None, {}, {**BUDGET.to_json(), "filter": 1}, {**BUDGET.to_json(), "filter": {"left": None}}],
)
def test_what_is_none_is_refused(said):
    with pytest.raises(UsageError):
        Spending.from_json(BUDGET, said)
