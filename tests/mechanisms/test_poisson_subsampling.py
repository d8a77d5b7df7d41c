"""Releases on a random share of the records."""

from fractions import Fraction

import pytest

import tacit as tc
from tacit.core import (
    Frame,
    HammingDistance,
    Number,
    Space,
    SymmetricDistance,
    Vector,
)
from tacit.errors import MismatchError, UsageError
from tacit.transformations import Count, Select

TINY = Fraction(1, 1000)
"""Noise of this scale is zero but with probability e^-1000."""


PEOPLE = Space(Vector(int, bounds=(0, 9)), SymmetricDistance())
COUNT = PEOPLE >> Count()


class TestSampling:
    def test_rate_one_changes_nothing(self):
        m = tc.poisson_sample(COUNT >> tc.laplace(TINY), 1)
        assert m([1, 2, 3]) == 3
        assert m.map(2) == 2000

    def test_about_the_share_is_sampled(self):
        m = tc.poisson_sample(COUNT >> tc.laplace(TINY), "1/4")
        assert 400 < m([1] * 2000) < 600
        table = Space(Frame({"x": Number("int", 0, 9), "y": Number("int")}), SymmetricDistance())
        framed = tc.poisson_sample(table >> Select("x") >> Count() >> tc.laplace(TINY), "1/2")
        assert 100 < framed({"x": [1] * 400, "y": [2] * 400}) < 300
        labels = Space(Vector(str), SymmetricDistance())
        assert tc.poisson_sample(labels >> Count() >> tc.laplace(TINY), "1/2")(["a"] * 400) < 300

    @pytest.mark.parametrize("rate", [0, -1, "3/2", float("nan")])
    def test_bad_rates(self, rate):
        with pytest.raises(UsageError):
            tc.poisson_sample(COUNT >> tc.laplace(1), rate)

    def test_only_where_it_is_proven(self):
        sized = Space(Vector(int, size=3), SymmetricDistance()) >> tc.clamp(0, 1)
        ordered = Space(Vector(int, bounds=(0, 1)), HammingDistance()) >> Count() >> tc.laplace(1)
        for m in (ordered, COUNT >> tc.gaussian(1), sized >> Count() >> tc.laplace(1)):
            with pytest.raises(MismatchError):
                tc.poisson_sample(m, "1/2")
        with pytest.raises(UsageError, match="too many"):
            tc.poisson_sample(COUNT >> tc.laplace(1), "1/2").distribution([1] * 20)
