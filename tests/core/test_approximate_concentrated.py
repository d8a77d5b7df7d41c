"""Approximate zCDP: what it implies, held against the true profile of small releases together."""

import itertools
import math
from fractions import Fraction

import pytest

import tacit as tc
from tacit.core import (
    ApproximateDP,
    ApproximateZeroConcentratedDP,
    PureDP,
    RenyiDP,
    Space,
    SymmetricDistance,
    Vector,
    ZeroConcentratedDP,
    measure_from,
)
from tacit.core.conversions import delta_bound, epsilon_bound
from tacit.errors import MismatchError, UsageError
from tacit.mechanisms import measurement

BOTH = ApproximateZeroConcentratedDP()
COLUMN = Space(Vector(int), SymmetricDistance())


def leaking(epsilon, delta):
    """Return the two distributions of randomized response that says all with probability delta."""
    high = (1 - delta) * math.exp(epsilon) / (1 + math.exp(epsilon))
    p = [delta, high, 1 - delta - high, 0.0]
    return p, p[::-1]


def gaussian(sigma):
    places = range(-30, 32)
    weights = [[math.exp(-((x - s) ** 2) / (2 * sigma**2)) for x in places] for s in (0, 1)]
    p, q = ([w / sum(row) for w in row] for row in weights)
    return p, q


def together(pairs):
    whole = ([1.0], [1.0])
    for pair in pairs:
        whole = tuple(
            [a * b for a, b in itertools.product(so_far, one)]
            for so_far, one in zip(whole, pair, strict=True)
        )
    return whole


def profile(p, q, epsilon):
    return sum(max(0.0, a - math.exp(epsilon) * b) for a, b in zip(p, q, strict=True))


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("delta", [1e-4, 0.05])
@pytest.mark.parametrize("sigma", [1.0, 3.0])
def test_the_true_profile_is_within_what_is_implied(epsilon, delta, sigma):
    pair, noise = leaking(epsilon, delta), gaussian(sigma)
    rho = 1 / (2 * sigma**2)
    parts = [
        (ApproximateDP(), (Fraction(epsilon), Fraction(delta))),
        (ZeroConcentratedDP(), Fraction(rho)),
        (ApproximateDP(), (Fraction(epsilon), Fraction(delta))),
    ]
    loss = BOTH.compose([BOTH.from_other(*part) for part in parts])
    p, q = together([pair, noise, pair])
    for level in (0, 0.5, 1, 2, 4, 8):
        true = max(profile(p, q, level), profile(q, p, level))
        bound = float(delta_bound(BOTH, loss, Fraction(level)).upper)
        assert true <= bound + 1e-12
        if bound < 1:
            found = epsilon_bound(BOTH, loss, Fraction(bound) + Fraction(1, 10**12))
            assert (
                float(found.upper) == pytest.approx(level, abs=1e-4) or float(found.upper) < level
            )
    assert 1 - (1 - delta) ** 2 <= loss[1] <= 2 * delta + 1e-15


def stated(measure, loss):
    return measurement(COLUMN, lambda data: 0, lambda d: loss, measure=measure)


def test_measurements_in_different_measures_compose():
    pure, pair = stated(PureDP(), Fraction(1, 10)), stated(ApproximateDP(), (Fraction(1, 2), TINY))
    rho, order = stated(ZeroConcentratedDP(), Fraction(1, 50)), stated(RenyiDP(8), Fraction(1, 3))
    whole = tc.compose([pure, pair, rho])
    assert whole.measure == BOTH
    least = sum(e * math.tanh(e / 2) for e in (0.1, 0.5)) + 0.02
    assert float(whole.map(1)[0]) == pytest.approx(least)
    assert whole.map(1)[1] == TINY
    assert tc.compose([whole, rho, pair]).map(1)[1] == 2 * TINY
    assert whole.check(1, (Fraction(least) + TINY, TINY))
    assert not whole.check(1, (Fraction(least), 0))
    assert tc.compose([order, rho, pure]).measure == RenyiDP(8)
    assert tc.compose([order, rho]).map(1) == Fraction(1, 3) + Fraction(8, 50)
    assert tc.convert(rho, RenyiDP(3)).map(1) == Fraction(3, 50)
    assert tc.convert(pair, BOTH).map(1)[1] == TINY
    for other in (pair, tc.convert(rho, BOTH)):
        with pytest.raises(MismatchError, match="no conversion joins"):
            tc.compose([order, other])
    with pytest.raises(MismatchError, match="without further choices"):
        tc.convert(whole, ApproximateDP())


TINY = Fraction(1, 10**6)


def test_known_losses_are_used_where_all_are_known():
    count = COLUMN >> tc.count()
    noisy = count >> tc.gaussian(20)
    pair = tc.calibrate(count >> tc.gaussian, 1, (1, TINY))
    whole = tc.compose([noisy, pair])
    assert whole.measure == BOTH
    known = whole.epsilon(2 * TINY)
    blind = epsilon_bound(BOTH, whole.map(1), 2 * TINY)
    assert 0 < known.lower < known.upper < blind.upper


def test_what_cannot_be_said_is_refused():
    loss = (Fraction(1, 8), TINY)
    for delta in (TINY / 2, TINY):
        with pytest.raises(UsageError, match="no epsilon reaches"):
            epsilon_bound(BOTH, loss, delta)
    assert epsilon_bound(BOTH, (Fraction(0), TINY), TINY).upper == 0
    assert epsilon_bound(BOTH, (Fraction(1), Fraction(1)), Fraction(1)).upper < 1
    with pytest.raises(UsageError, match="privacy profile"):
        BOTH.divergence([0.5, 0.5], [0.4, 0.6])
    for wrong in (1, (1,), (-1, 0), (1, 2)):
        with pytest.raises(UsageError):
            BOTH.read(wrong)
    assert BOTH.show((Fraction(1, 8), TINY)) == "rho = 0.125 at delta = 1e-06"
    assert measure_from(BOTH.describe()) == BOTH
