"""What a pair of distributions attains, against closed forms."""

import math
from fractions import Fraction

import pytest

from tacit.audit import verify
from tacit.core import (
    AbsoluteDistance,
    ApproximateDP,
    Number,
    RenyiDP,
    Space,
    ZeroConcentratedDP,
)
from tacit.mechanisms import Gaussian, measurement

NUMBER = Space(Number("int", 0, 3), AbsoluteDistance())
BIT = Space(Number("int", 0, 1), AbsoluteDistance())


def test_renyi_divergence_of_randomized_response_is_its_closed_form():
    p = Fraction(3, 4)
    order = 3
    closed = math.log(p**order * (1 - p) ** (1 - order) + (1 - p) ** order * p ** (1 - order)) / 2

    def coin(bit):
        return {bit: p, 1 - bit: 1 - p}

    tight = measurement(
        BIT, int, lambda d: closed * 1.000001 * d, measure=RenyiDP(order), distribution=coin
    )
    assert verify(tight, draws=0).tight
    wrong = measurement(
        BIT, int, lambda d: closed * 0.999 * d, measure=RenyiDP(order), distribution=coin
    )
    assert verify(wrong).broken


def test_the_concentrated_bound_of_a_pure_pair_is_found():
    """Randomized response at epsilon is ``epsilon tanh(epsilon / 2)``-zCDP, and no less."""
    epsilon = 1.0
    share = 1 / (1 + math.exp(-epsilon))
    rho = epsilon * math.tanh(epsilon / 2)

    def claimed(factor):
        return measurement(
            BIT,
            int,
            lambda d: rho * factor * d,
            measure=ZeroConcentratedDP(),
            distribution=lambda bit: {bit: Fraction(share), 1 - bit: 1 - Fraction(share)},
        )

    assert verify(claimed(1.0001), draws=0).holds
    assert verify(claimed(0.999)).broken


def test_delta_of_an_approximate_claim_is_exact():
    def leaky(bit):
        return {bit: "1/2", "secret" if bit else "nothing": "1/100", 1 - bit: "49/100"}

    def claimed(delta):
        return measurement(
            BIT,
            int,
            lambda d: ("1/25", delta) if d else (0, 0),
            measure=ApproximateDP(),
            distribution=leaky,
        )

    assert verify(claimed("1/100"), draws=0).tight
    verdict = verify(claimed("1/101"))
    assert verdict.broken
    assert verdict.event in (("secret",), ("nothing",))


@pytest.mark.parametrize("gap", [0, 1, 3])
def test_gaussian_profile_of_the_verification_is_the_closed_form(gap):
    m = NUMBER >> Gaussian(2)
    epsilon = Fraction(1, 3)
    delta = m.losses(Fraction(gap)).delta(epsilon) if gap else None

    def claimed(factor):
        return measurement(
            NUMBER,
            int,
            lambda d: (epsilon, delta.upper * factor) if d else (0, 0),
            measure=ApproximateDP(),
            distribution=m.law,
        )

    if not gap:
        assert verify(m, pairs=[(1, 1)], d_in=1)
        return
    assert verify(claimed(Fraction(1001, 1000)), pairs=[(0, gap)], d_in=gap, draws=0).holds
    assert verify(claimed(Fraction(999, 1000)), pairs=[(0, gap)], d_in=gap).broken
