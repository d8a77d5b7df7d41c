"""Conversions against their definitions, in high precision."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit as tc
from support.examples import examples
from tacit import framework as fw
from tacit.core.measures import (
    _best_order,
    concentrated_epsilon,
    pure_to_concentrated,
    pure_to_renyi,
)
from tacit.errors import UsageError


def precise(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def renyi_of_randomized_response(order: mpmath.mpf, epsilon: mpmath.mpf) -> mpmath.mpf:
    """Divergence of the given order between (p, 1-p) and (1-p, p), from its definition."""
    p = mpmath.exp(epsilon) / (1 + mpmath.exp(epsilon))
    q = 1 - p
    moments = p**order * q ** (1 - order) + q**order * p ** (1 - order)
    return mpmath.log(moments) / (order - 1)


@given(st.floats(min_value=1e-12, max_value=200))
@examples(0.6)
def test_pure_to_concentrated_is_tight_and_never_below(value):
    epsilon = Fraction(value)
    with mpmath.workdps(80):
        least = precise(epsilon) * mpmath.tanh(precise(epsilon) / 2)
        rho = precise(pure_to_concentrated(epsilon))
        assert least <= rho <= least * (1 + mpmath.mpf(2) ** -60)


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(3), Fraction(20)])
def test_randomized_response_stays_below_and_touches(epsilon):
    rho = pure_to_concentrated(epsilon)
    with mpmath.workdps(80):
        for exponent in range(-60, 30):
            order = 1 + mpmath.mpf(2) ** exponent
            assert renyi_of_randomized_response(order, precise(epsilon)) <= order * precise(rho)
        order = 1 + mpmath.mpf(2) ** -60
        less = order * precise(rho) * (1 - mpmath.mpf(10) ** -9)
        assert renyi_of_randomized_response(order, precise(epsilon)) > less


@given(st.floats(min_value=1e-12, max_value=200), st.floats(min_value=1.0001, max_value=300))
@examples(0.6)
def test_pure_to_renyi_is_that_of_randomized_response_and_never_below(value, order):
    """The divergence of one answer of odds e^epsilon : 1, worked out in 2000 bits."""
    epsilon, alpha = Fraction(value), Fraction(order)
    found = pure_to_renyi(epsilon, alpha)
    with mpmath.workprec(2000):
        e, a = (mpmath.mpf(x.numerator) / x.denominator for x in (epsilon, alpha))
        yes, no = 1 / (1 + mpmath.exp(-e)), 1 / (1 + mpmath.exp(e))
        sums = yes**a * no ** (1 - a) + no**a * yes ** (1 - a)
        truth = mpmath.log(sums) / (a - 1)
        stated = mpmath.mpf(found.numerator) / found.denominator
        assert stated >= truth
        exact = epsilon > Fraction(1, 2**32) and alpha * epsilon < 1 << 10
        assert not exact or stated <= truth * (1 + mpmath.mpf(2) ** -55)
    assert found <= min(epsilon, alpha * epsilon**2 / 2)


def test_an_order_at_the_ends_is_bounded_too():
    near, tiny = 1 + Fraction(1, 2**40), Fraction(1, 2**40)
    assert pure_to_renyi(Fraction(1), near) == near / 2
    assert pure_to_renyi(tiny, Fraction(2)) == tiny**2
    assert pure_to_renyi(Fraction(3), Fraction(10**6)) == 3
    assert pure_to_renyi(Fraction(0), Fraction(2)) == 0


def test_it_is_below_half_the_square_and_exact_arithmetic_is_kept_for_tiny_epsilons():
    for value in (Fraction(1, 1000), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(100)):
        assert pure_to_concentrated(value) < value**2 / 2
    tiny = Fraction(1, 2**40)
    assert pure_to_concentrated(tiny) == tiny**2 / 2
    assert pure_to_concentrated(Fraction(10**6)) == 10**6


def bound_at(above_one: mpmath.mpf, rho: Fraction, delta: Fraction) -> mpmath.mpf:
    """Evaluate the bound at one order."""
    order = 1 + above_one
    tail = (mpmath.log(order) + mpmath.log(precise(delta))) / above_one
    return order * precise(rho) + mpmath.log(above_one / order) - tail


def best_by_grid(rho: Fraction, delta: Fraction) -> mpmath.mpf:
    """Minimise the bound over a fine grid of orders, then around the best of it."""

    def bound(t: mpmath.mpf) -> mpmath.mpf:
        return bound_at(mpmath.exp(t), rho, delta)

    centre, width = mpmath.mpf(0), mpmath.mpf(60)
    for _ in range(12):
        grid = [centre + width * k / 40 for k in range(-40, 41)]
        centre = min(grid, key=bound)
        width /= 8
    return max(bound(centre), mpmath.mpf(0))


@pytest.mark.full
@given(
    st.floats(min_value=1e-9, max_value=1e4),
    st.integers(min_value=1, max_value=40),
)
@examples(0.4)
def test_the_order_found_is_the_best_and_the_bound_is_rounded_up(value, digits):
    rho, delta = Fraction(value), Fraction(1, 10**digits)
    with mpmath.workdps(50):
        best = best_by_grid(rho, delta)
        bound = precise(concentrated_epsilon(rho, delta))
        assert best <= bound * (1 + mpmath.mpf(10) ** -18) + mpmath.mpf(10) ** -40
        assert bound <= best * (1 + mpmath.mpf(10) ** -9) + mpmath.mpf(10) ** -12


@given(
    st.floats(min_value=1e-9, max_value=1e4),
    st.integers(min_value=1, max_value=300),
)
@settings(deadline=None)
def test_the_bound_is_that_of_an_order_rounded_up(value, digits):
    rho, delta = Fraction(value), Fraction(1, 10**digits)
    above_one = math.exp(_best_order(rho, delta))
    with mpmath.workdps(120):
        exact = bound_at(mpmath.mpf(above_one), rho, delta)
        assert exact <= precise(concentrated_epsilon(rho, delta))


@pytest.mark.parametrize("sigma", [0.5, 1, 3, 20])
@pytest.mark.parametrize("digits", [2, 6, 12])
def test_the_gaussian_mechanism_is_inside_the_bound(sigma, digits):
    """The exact delta of a Gaussian of rho = 1 / (2 sigma^2) is below the one allowed."""
    rho = 1 / (2 * Fraction(sigma) ** 2)
    delta = Fraction(1, 10**digits)
    epsilon = concentrated_epsilon(rho, delta)
    with mpmath.workdps(50):
        e, s = precise(epsilon), mpmath.mpf(sigma)
        upper, lower = mpmath.ncdf(1 / (2 * s) - e * s), mpmath.ncdf(-1 / (2 * s) - e * s)
        assert upper - mpmath.exp(e) * lower <= precise(delta)


def test_ten_thousand_releases_of_epsilon_one_hundredth():
    rho = 10_000 * pure_to_concentrated(Fraction(1, 100))
    assert float(concentrated_epsilon(rho, Fraction(1, 10**6))) == pytest.approx(5.2215, abs=1e-4)


def test_more_rho_or_less_delta_is_more_epsilon():
    rhos = [Fraction(k, 10) for k in range(30)]
    bounds = [concentrated_epsilon(rho, Fraction(1, 10**6)) for rho in rhos]
    assert bounds == sorted(bounds)
    assert bounds[0] == 0
    by_delta = [concentrated_epsilon(Fraction(1), Fraction(1, 10**k)) for k in range(1, 30)]
    assert by_delta == sorted(by_delta)


@pytest.mark.parametrize(
    ("rho", "delta"),
    [
        (Fraction(1, 2**1200), Fraction(1, 2**1200)),
        (Fraction(2**1199), Fraction(1, 2)),
        (Fraction(1, 2**1200), 1 - Fraction(1, 2**1200)),
        (Fraction(2**1199), 1 - Fraction(1, 2**1200)),
        (Fraction(1), Fraction(999, 1000)),
    ],
)
def test_at_the_ends_of_the_range_it_is_below_the_usual_looser_bound(rho, delta):
    with mpmath.workdps(900):
        loose = precise(rho) + 2 * mpmath.sqrt(-precise(rho) * mpmath.log(precise(delta)))
        assert 0 <= precise(concentrated_epsilon(rho, delta)) <= loose * (1 + mpmath.mpf(2) ** -50)


@pytest.mark.parametrize(("rho", "delta"), [(-1, "1/2"), (1, 0), (1, 1), (1, 2), (1, -1)])
def test_a_conversion_without_a_meaning_is_refused(rho, delta):
    with pytest.raises(UsageError):
        concentrated_epsilon(Fraction(rho), Fraction(delta))


# An explicit distribution, however it is written; what is none is refused.


MEASURES = [fw.PureDP(), fw.ApproximateDP(), fw.ZeroConcentratedDP(), fw.RenyiDP("5/2")]
HALF, QUARTER = {0: "1/2", 1: "1/2"}, {0: "1/4", 1: "3/4"}


def ends(measure, p, q):
    found = measure.divergence(p, q)
    found = found("1/10") if callable(found) else found
    return found.lower, found.upper


@pytest.mark.few(4)
@pytest.mark.parametrize("measure", MEASURES, ids=str)
@pytest.mark.parametrize(
    "write",
    [list, tuple, np.array, pd.Series, lambda p: dict(enumerate(p)), lambda p: [str(x) for x in p]],
    ids=["list", "tuple", "array", "series", "mapping", "text"],
)
def test_a_distribution_may_be_written_in_any_form(measure, write):
    assert ends(measure, write([0.5, 0.5]), write([0.25, 0.75])) == ends(measure, HALF, QUARTER)


def test_floats_that_do_not_quite_sum_to_one_are_divided_by_their_sum():
    p, q = {0: 0.9, 1: 0.1}, {0: 0.1, 1: 0.9}
    assert sum(map(Fraction, p.values())) != 1
    assert float(fw.PureDP().divergence(p, q)) == pytest.approx(math.log(9), rel=1e-15)
    uniform = fw.PureDP().divergence([0.1] * 10, ["1/10"] * 10)
    assert uniform.lower == 0
    assert uniform.upper < Fraction(1, 10**20)
    third = np.full(3, 1 / 3)
    assert float(fw.total_variation(third, ["1/3"] * 3)) == 0


@pytest.mark.parametrize(
    "bad",
    [
        [0.5, 0.4],
        ["9/10", "1/5"],
        [1.5, -0.5],
        [math.nan, 1],
        "half",
        3,
        None,
        np.ones((2, 2)) / 4,
        [],
        {},
        pd.Series([0.5, 0.5], index=["a", "a"]),
    ],
    ids=str,
)
@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_what_is_no_distribution_is_refused(measure, bad):
    with pytest.raises(tc.errors.UsageError):
        measure.divergence(bad, [0.5, 0.5])


@pytest.mark.few(4)
@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_output_distributions_can_be_handed_in(measure):
    m = fw.Space(fw.Vector(int), fw.SymmetricDistance()) >> tc.count() >> fw.laplace(scale=3)
    p, q = m.distribution([1, 2]), m.distribution([1, 2, 3])
    asked = fw.divergence(m, [1, 2], [1, 2, 3], measure=measure)
    asked = asked("1/10") if callable(asked) else asked
    assert ends(measure, p, q) == (asked.lower, asked.upper)
