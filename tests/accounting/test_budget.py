"""Budgets: exact arithmetic, honest refusals, and rounding that never forgives."""

import pickle
from fractions import Fraction
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.accounting.budget import Budget, Kind, epsilon, epsilon_delta, fit, nearly_equal, rho
from tacit.errors import UsageError

GRID = 2**1200
amounts = st.fractions(min_value=0, max_value=100, max_denominator=10**9)
deltas = st.fractions(min_value=0, max_value=Fraction(1, 3), max_denominator=10**12)


@st.composite
def budgets(draw: st.DrawFn, kind: Kind | None = None) -> Budget:
    kind = kind or draw(st.sampled_from(get_args(Kind)))
    return Budget(kind, draw(amounts), draw(deltas) if kind == "approximate" else Fraction(0))


@pytest.mark.parametrize("make", [epsilon, rho, lambda value: epsilon_delta(value, 0)])
@pytest.mark.parametrize(
    "value",
    [0, -1, 0.0, -0.5, float("nan"), float("inf"), "-inf", "one", "", "1/0", True, None, [1]],
)
def test_a_budget_must_be_a_finite_number_above_zero(make, value):
    with pytest.raises(UsageError):
        make(value)


@pytest.mark.parametrize("delta", [1, 1.5, -1e-9, float("nan"), "x", False])
def test_delta_is_at_least_zero_and_below_one(delta):
    with pytest.raises(UsageError, match="delta"):
        epsilon_delta(1, delta)


def test_numbers_without_end_are_refused():
    with pytest.raises(UsageError, match="too long"):
        epsilon("1e-400")
    with pytest.raises(UsageError, match="too long"):
        epsilon("1e400")
    assert epsilon(5e-324).amount == Fraction(5e-324)  # every float is short enough
    assert rho(1.7976931348623157e308).amount > 1


def test_the_kinds_do_not_mix():
    with pytest.raises(UsageError, match="counted differently"):
        epsilon(1) + rho(1)
    with pytest.raises(UsageError, match="counted differently"):
        epsilon(1).covers(epsilon_delta(1, 0))
    with pytest.raises(UsageError, match="no delta"):
        Budget("pure", Fraction(1), Fraction(1, 10))
    with pytest.raises(UsageError, match="kind"):
        Budget("renyi", Fraction(1))
    assert epsilon(1).__add__(1) is NotImplemented
    assert epsilon(1).__sub__(1) is NotImplemented


def test_a_number_is_read_exactly():
    assert epsilon("0.1").amount == Fraction(1, 10)
    assert epsilon(0.1).amount == Fraction(0.1) != Fraction(1, 10)
    assert epsilon_delta(1, "1e-6").delta == Fraction(1, 10**6)
    assert epsilon("1/3").epsilon == Fraction(1, 3)
    assert rho("1/3").rho == Fraction(1, 3)


def test_epsilon_and_rho_are_asked_of_the_right_kind():
    with pytest.raises(UsageError, match="at a delta"):
        _ = rho(1).epsilon
    with pytest.raises(UsageError, match="not rho"):
        _ = epsilon(1).rho


@pytest.mark.full
@given(budgets())
def test_description_round_trip(budget):
    assert Budget.from_json(budget.to_json()) == budget
    assert pickle.loads(pickle.dumps(budget)) == budget


@pytest.mark.parametrize(
    "described",
    [
        None,
        "pure",
        [],
        {},
        {"kind": "pure"},
        {"kind": "pure", "epsilon": 1},
        {"kind": "pure", "epsilon": "-1"},
        {"kind": "pure", "epsilon": "1", "delta": "0"},
        {"kind": "approximate", "epsilon": "1"},
        {"kind": "approximate", "epsilon": "1", "delta": "1"},
        {"kind": "concentrated", "epsilon": "1"},
        {"kind": "renyi", "epsilon": "1"},
        {"kind": ["pure"], "epsilon": "1"},
        {"kind": "pure", "epsilon": "nan"},
    ],
)
def test_what_is_no_description_is_refused(described):
    with pytest.raises(UsageError):
        Budget.from_json(described)


def test_a_repr_reads_as_one_would_type_it():
    assert repr(epsilon("1/3")) == "epsilon('1/3')"
    assert repr(epsilon(0.1)) == "epsilon(0.1)"
    assert repr(epsilon_delta(1, "1e-6")) == "epsilon_delta(1, 1e-06)"
    assert str(rho("1/10")) == "rho 0.1"
    assert str(epsilon_delta("1/2", "1/4")) == "epsilon 0.5, delta 0.25"


@given(st.data())
def test_the_sum_is_exact_and_the_difference_undoes_it(data):
    first = data.draw(budgets())
    second = data.draw(budgets(first.kind))
    both = first + second
    assert both.amount == first.amount + second.amount
    assert both.delta == first.delta + second.delta
    assert both.covers(first)
    assert both - second == first
    assert both == second + first


@given(st.data())
def test_cover_is_the_order_of_both_numbers(data):
    total = data.draw(budgets())
    cost = data.draw(budgets(total.kind))
    covered = cost.amount <= total.amount and cost.delta <= total.delta
    assert total.covers(cost) == covered
    if covered:
        assert (total - cost) + cost == total
    else:
        with pytest.raises(UsageError, match="does not cover"):
            total - cost


@given(st.integers(2**1199, GRID - 1), st.integers(2**1199, GRID - 1))
def test_a_sum_too_long_to_keep_is_rounded_up_and_a_remainder_down(first, second):
    small = Budget("pure", Fraction(1, first))
    large = Budget("pure", 1 + Fraction(1, second))
    exact = small.amount + large.amount
    assert exact <= (small + large).amount <= exact + Fraction(1, GRID)
    exact = large.amount - small.amount
    assert exact - Fraction(1, GRID) <= (large - small).amount <= exact


def test_a_long_history_of_coprime_costs_stays_short():
    spent, exact = Budget.nothing("pure"), Fraction(0)
    for denominator in range(10**6 + 1, 10**6 + 4001, 2):
        cost = epsilon(Fraction(1, denominator))
        spent, exact = spent + cost, exact + cost.amount
    assert exact.denominator > GRID
    assert spent.amount.denominator <= GRID
    assert exact <= spent.amount <= exact + Fraction(2000, GRID)
    assert Budget.from_json(spent.to_json()) == spent


def test_what_a_release_costs_in_a_budget_of_another_kind():
    assert epsilon(1).cost_in("approximate") == epsilon_delta(1, 0)
    assert epsilon_delta(1, 0).cost_in("pure") == epsilon(1)
    assert float(epsilon(1).cost_in("concentrated").amount) == pytest.approx(0.46211715726)
    assert epsilon_delta(2, 0).cost_in("concentrated") == epsilon(2).cost_in("concentrated")
    for budget in (epsilon(1), epsilon_delta(1, "1e-6"), rho(1)):
        assert budget.cost_in(budget.kind) is budget


@pytest.mark.parametrize(
    ("cost", "kind", "remedy"),
    [
        (rho(1), "pure", r"rho\(\.\.\.\)"),
        (rho(1), "approximate", r"rho\(\.\.\.\)"),
        (epsilon_delta(1, "1e-6"), "pure", "epsilon_delta"),
        (epsilon_delta(1, "1e-6"), "concentrated", "epsilon_delta"),
    ],
)
def test_a_budget_that_cannot_pay_says_which_one_could(cost, kind, remedy):
    with pytest.raises(UsageError, match=f"cannot pay for that mechanism.*Open it as {remedy}"):
        cost.cost_in(kind)


def test_the_smallest_epsilon_costs_a_rho_that_can_be_written_down():
    assert epsilon(5e-324).cost_in("concentrated").amount == Fraction(1, GRID)


def test_an_unknown_kind_of_budget_is_refused():
    with pytest.raises(UsageError, match="no budget of kind"):
        epsilon(1).cost_in("renyi")


def test_reporting_at_a_delta():
    assert epsilon("1/3").epsilon_at(0) == Fraction(1, 3)
    assert epsilon_delta(1, "1e-6").epsilon_at("1e-5") == 1
    with pytest.raises(UsageError, match="delta of 1e-06 or more"):
        epsilon_delta(1, "1e-6").epsilon_at("1e-7")
    with pytest.raises(UsageError, match="above 0"):
        rho(1).epsilon_at(0)
    with pytest.raises(UsageError, match="delta"):
        rho(1).epsilon_at(2)


@pytest.mark.few(5)
@pytest.mark.parametrize("parts", [1, 2, 3, 7, 10, 49, 100, 1000, 8191, 8192])
def test_equal_float_parts_spend_the_whole_and_never_more(parts):
    total, spent = epsilon(1), Budget.nothing("pure")
    for _ in range(parts):
        cost = fit(epsilon(1 / parts), total - spent)
        assert (total - spent).covers(cost)
        spent += cost
    assert total.covers(spent)
    assert 1 - spent.amount <= Fraction(parts, 2**53)


def test_without_fit_the_tenth_float_part_does_not_fit():
    nine = Budget("pure", 9 * Fraction(0.1))
    assert not (epsilon(1) - nine).covers(epsilon(0.1))


@given(st.data())
def test_fit_gives_the_request_or_the_remainder(data):
    remaining = data.draw(budgets())
    requested = data.draw(budgets(remaining.kind))
    fitted = fit(requested, remaining)
    assert requested.covers(fitted)
    if fitted != requested:
        slack = 1 + Fraction(1, 2**40)
        assert remaining.covers(fitted)
        assert requested.amount <= remaining.amount * slack
        assert requested.delta <= remaining.delta * slack


@given(st.data(), st.sampled_from(get_args(Kind)))
def test_fit_at_the_edge_of_its_tolerance(data, kind):
    remaining = data.draw(budgets(kind).filter(lambda budget: budget.amount > 0))
    edge = Budget(kind, remaining.amount * (1 + Fraction(1, 2**40)), remaining.delta)
    beyond = Budget(kind, remaining.amount * (1 + Fraction(1, 2**39)), remaining.delta)
    assert fit(edge, remaining) == remaining
    assert fit(beyond, remaining) == beyond


def test_fit_does_not_give_away_what_is_not_there():
    assert fit(epsilon(1), Budget.nothing("pure")) == epsilon(1)
    nothing_of_delta = epsilon_delta(1, 0)
    assert fit(epsilon_delta(1, "1e-9"), nothing_of_delta) == epsilon_delta(1, "1e-9")
    with pytest.raises(UsageError, match="counted differently"):
        fit(epsilon(1), rho(1))


def test_nearly_equal_allows_only_rounding():
    assert nearly_equal(rho(0.1), rho("0.1"))
    assert not nearly_equal(rho(0.1), rho("0.1000001"))
    assert not nearly_equal(epsilon_delta(1, "1e-6"), epsilon_delta(1, "1e-7"))
    assert not nearly_equal(epsilon(1), epsilon_delta(1, 0))
