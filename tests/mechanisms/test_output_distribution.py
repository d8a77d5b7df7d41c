"""Maps as pairs: pure and approximate DP as they are, other measures at a delta."""

from fractions import Fraction

import pytest

import tacit as tc
from tacit.core import AbsoluteDistance, ApproximateDP, Number, PureDP, Space, convert
from tacit.errors import MismatchError, UsageError
from tacit.mechanisms.output_distribution import stated_at

NUMBER = Space(Number("int"), AbsoluteDistance())


def test_pure_and_approximate_maps_stay():
    pure = NUMBER >> tc.laplace(2)
    measure, pair = stated_at(pure, None)
    assert (measure, pair(Fraction(3))) == (PureDP(), (Fraction(3, 2), 0))
    measure, pair = stated_at(convert(pure, ApproximateDP()), None)
    assert (measure, pair(Fraction(3))) == (ApproximateDP(), (Fraction(3, 2), 0))


def test_others_are_stated_at_a_delta():
    noisy = NUMBER >> tc.gaussian(9)
    measure, pair = stated_at(noisy, "1e-9")
    assert measure == ApproximateDP()
    assert pair(Fraction(0)) == (0, 0)
    assert pair(Fraction(2)) == (noisy.epsilon("1e-9", d_in=2).upper, Fraction(1, 10**9))
    with pytest.raises(MismatchError):
        stated_at(noisy, None)
    for delta in (0, 1):
        with pytest.raises(UsageError):
            stated_at(noisy, delta)
