"""The best of a random number of runs."""

from fractions import Fraction

import pytest

import tacit as tc
from tacit.core import (
    AbsoluteDistance,
    ApproximateDP,
    Number,
    Space,
    SymmetricDistance,
    Vector,
    convert,
)
from tacit.errors import MismatchError, UsageError
from tacit.transformations import Count

PEOPLE = Space(Vector(int, bounds=(0, 9)), SymmetricDistance())
COUNT = PEOPLE >> Count()


class TestSelection:
    def test_it_keeps_the_best(self):
        number = Space(Number("int"), AbsoluteDistance())
        best = tc.select_best(number >> tc.laplace(10), score=lambda y: y, stop="1/50")
        once = number >> tc.laplace(10)
        assert sum(best(0) for _ in range(40)) > sum(once(0) for _ in range(40)) + 200
        assert best.map(1) == Fraction(3, 10)
        assert tc.select_best(once, score=lambda y: y, stop=1).map(1) == Fraction(1, 10)

    def test_bad_input(self):
        m = COUNT >> tc.laplace(1)
        with pytest.raises(UsageError):
            tc.select_best(m, score=3, stop="1/2")
        with pytest.raises(UsageError):
            tc.select_best(m, score=abs, stop=0)
        with pytest.raises(MismatchError):
            tc.select_best(convert(m, ApproximateDP()), score=abs, stop="1/2")
        with pytest.raises(UsageError, match="finite"):
            tc.select_best(m, score=abs, stop="1/2").distribution([1])
