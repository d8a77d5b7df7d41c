"""Epsilon at delta from a loss in a measure alone, beside the formulas."""

import math
from fractions import Fraction

import pytest

from tacit.core.conversions import composed_losses, delta_bound, epsilon_bound, implied_loss
from tacit.core.measures import ApproximateDP, PureDP, ZeroConcentratedDP
from tacit.core.renyi import RenyiDP
from tacit.errors import UsageError

HALF, SMALL = Fraction(1, 2), Fraction(1, 10**6)


def test_a_pure_loss_is_at_least_its_epsilon_at_delta():
    """Of randomized response at epsilon: delta = (e^epsilon - e^x) / (1 + e^epsilon) at x."""
    found = epsilon_bound(PureDP(), Fraction(1), Fraction(1, 10))
    wanted = math.log(math.e - (1 + math.e) / 10)
    assert found.lower == 0
    assert wanted <= float(found.upper) <= wanted + 1e-9
    assert float(epsilon_bound(PureDP(), Fraction(1), Fraction(0)).upper) == pytest.approx(1)


def test_a_delta_below_that_of_the_guarantee_is_refused():
    with pytest.raises(UsageError, match=r"delta 1e-06; no epsilon reaches a delta of"):
        epsilon_bound(ApproximateDP(), (HALF, SMALL), SMALL / 2)
    at = epsilon_bound(ApproximateDP(), (HALF, SMALL), SMALL)
    assert float(at.upper) == pytest.approx(0.5)


def test_a_rho_has_no_pure_epsilon_and_a_zero_loss_has_none_at_all():
    for measure in (ZeroConcentratedDP(), RenyiDP(2)):
        assert epsilon_bound(measure, HALF, Fraction(0)) == math.inf
        assert epsilon_bound(measure, Fraction(0), Fraction(0)).upper == 0
        assert implied_loss(measure, HALF) is None
    rho = epsilon_bound(ZeroConcentratedDP(), HALF, SMALL)
    assert 0 < float(rho.upper) <= 0.5 + 2 * math.sqrt(0.5 * math.log(1e6))


def test_equal_parts_compose_and_an_unknown_one_makes_all_unknown():
    pure = (None, PureDP(), lambda d: d * HALF)
    losses = composed_losses([pure, pure])(Fraction(1))
    assert losses is not None
    single = implied_loss(PureDP(), HALF)
    assert single is not None
    assert losses.delta(Fraction(0)).upper > single.delta(Fraction(0)).upper
    assert losses.delta(Fraction(1)).upper < Fraction(1, 10**9)
    assert composed_losses([pure, (None, RenyiDP(2), lambda d: d)])(Fraction(1)) is None


@pytest.mark.parametrize(
    ("measure", "loss"),
    [
        (PureDP(), HALF),
        (ApproximateDP(), (HALF, SMALL)),
        (ZeroConcentratedDP(), HALF),
        (RenyiDP(6), Fraction(3)),
    ],
)
def test_delta_at_epsilon_is_the_other_side_of_epsilon_at_delta(measure, loss):
    for level in (Fraction(0), Fraction(1, 4), Fraction(2), Fraction(6)):
        delta = delta_bound(measure, loss, level)
        assert delta.lower == 0
        if not 0 < delta.upper < 1:
            continue
        assert epsilon_bound(measure, loss, delta.upper).upper <= level + Fraction(1, 10**9)
        if not isinstance(measure, ApproximateDP):
            assert epsilon_bound(measure, loss, delta.upper * Fraction(9, 10)).upper > level


def test_no_loss_has_no_delta():
    assert delta_bound(RenyiDP(2), Fraction(0), Fraction(0)).upper == 0
    assert delta_bound(ZeroConcentratedDP(), HALF, Fraction(0)).upper <= 1


def test_equal_parts_are_composed_with_each_other_wherever_they_stand():
    asked = []

    def part(loss):
        def privacy(d):
            asked.append(loss)
            return loss * d

        return None, PureDP(), privacy

    first, second = part(HALF), part(Fraction(1, 8))
    one = Fraction(1)
    apart = composed_losses([first] * 50 + [second] * 50)(one)
    assert len(asked) == 2
    assert composed_losses([first, second] * 50)(one) == apart
    equal = [part(Fraction(1, 8)) if i % 2 else part(HALF) for i in range(100)]
    assert composed_losses(equal)(one) == apart
