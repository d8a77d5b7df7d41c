"""The odds of the page are true: held against Bayes' rule on mechanisms that attain the loss."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.accounting import Budget
from tacit.report.odds import Odds, percent_at_most, probability_words

BELIEFS = st.integers(1, 99)
EPSILONS = st.fractions(0, 55)


def exact_percent(epsilon: Fraction, before: int) -> mpmath.mpf:
    with mpmath.workdps(60):
        ratio = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        p = mpmath.mpf(before) / 100
        return 100 * ratio * p / (ratio * p + 1 - p)


@given(EPSILONS, BELIEFS)
def test_percent_is_rounded_up_to_a_tenth(epsilon: Fraction, before: int) -> None:
    truth = exact_percent(epsilon, before)
    shown = percent_at_most(epsilon, before)
    assert truth - mpmath.mpf(10) ** -9 <= shown <= truth + mpmath.mpf("0.1000001")


@given(st.fractions(Fraction(1, 100), 5), BELIEFS)
def test_randomized_response_attains_the_odds(epsilon: Fraction, before: int) -> None:
    """Keeping a bit with probability e^eps / (1 + e^eps) moves a belief by exactly the bound."""
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    p = before / 100
    after = 100 * keep * p / (keep * p + (1 - keep) * (1 - p))
    assert 0 <= Odds.of(Budget("pure", epsilon)).percent(before) - after <= 0.1 + 1e-9


@given(st.fractions(Fraction(1, 100), 5))
def test_which_values_is_two_steps(epsilon: Fraction) -> None:
    assert Odds.of(Budget("pure", epsilon), 2) == Odds.of(Budget("pure", 2 * epsilon))


@given(
    st.lists(st.integers(0, 1000), min_size=2, max_size=8),
    st.lists(st.integers(0, 1000), min_size=2, max_size=8),
    st.floats(0.01, 4),
)
def test_the_exception_bounds_the_answers_beyond_the_odds(
    left: list[int], right: list[int], epsilon: float
) -> None:
    """For any two distributions, with the least delta that they satisfy at epsilon."""
    size = min(len(left), len(right))
    if not sum(left[:size]) or not sum(right[:size]):
        return
    u = [Fraction(x, sum(left[:size])) for x in left[:size]]
    v = [Fraction(x, sum(right[:size])) for x in right[:size]]
    grown = Fraction(math.nextafter(math.exp(epsilon), math.inf))
    delta = sum(max(a - grown * b, Fraction(0)) for a, b in zip(u, v, strict=True))
    delta = max(delta, sum(max(b - grown * a, Fraction(0)) for a, b in zip(u, v, strict=True)))
    if not 0 < delta < 1:
        return
    odds = Odds.of(Budget("approximate", Fraction(math.nextafter(epsilon, 9)), delta))
    limit = Fraction(math.exp(odds.epsilon) * (1 - 1e-12))
    beyond = sum(a for a, b in zip(u, v, strict=True) if a > limit * b)
    assert beyond <= odds.exception


def test_a_rho_is_told_at_its_delta() -> None:
    budget = Budget("concentrated", Fraction(1, 10))
    odds = Odds.of(budget)
    assert odds.epsilon == budget.epsilon_at("1e-6") + Fraction(1, 10)
    assert Fraction(1, 10**6) < odds.exception < Fraction(11, 10**6)
    assert Odds.of(budget, 2).epsilon == Odds.of(Budget("concentrated", Fraction(2, 5))).epsilon


@pytest.mark.parametrize("epsilon", [Fraction(61), Fraction(10**6)])
def test_a_loss_beyond_all_odds(epsilon: Fraction) -> None:
    assert Odds.of(Budget("pure", epsilon)).percent(1) == 100
    assert Odds.of(Budget("approximate", epsilon, Fraction(1, 9)), 2).exception == 1


@given(st.fractions(Fraction(1, 10**12), Fraction(49, 100)))
def test_a_chance_is_never_told_below_what_it_is(probability: Fraction) -> None:
    told = probability_words(probability).removeprefix("1 in ").replace(",", "")
    assert Fraction(1, int(told)) >= probability >= Fraction(1, 2 * int(told))
