"""The best of a random number of runs: what it keeps, costs and refuses."""

import itertools
import math
from fractions import Fraction

import pytest

from tacit import framework as fw
from tacit.core import (
    AbsoluteDistance,
    ApproximateDP,
    Number,
    Space,
    SymmetricDistance,
    Vector,
    ZeroConcentratedDP,
    convert,
)
from tacit.errors import MismatchError, UsageError
from tacit.mechanisms.private_selection import select_best
from tacit.transformations import Count

PEOPLE = Space(Vector(int, bounds=(0, 9)), SymmetricDistance())
COUNT = PEOPLE >> Count()


class TestSelection:
    def test_it_keeps_the_best(self):
        number = Space(Number("int"), AbsoluteDistance())
        best = select_best(number >> fw.laplace(10), score=lambda y: y, stop="1/50")
        once = number >> fw.laplace(10)
        assert sum(best(0) for _ in range(40)) > sum(once(0) for _ in range(40)) + 200
        assert Fraction(29, 100) < best.map(1) < Fraction(3, 10)
        assert select_best(once, score=lambda y: y, stop=1).map(1) == Fraction(1, 10)

    def test_bad_input(self):
        m = COUNT >> fw.laplace(1)
        with pytest.raises(UsageError):
            select_best(m, score=3, stop="1/2")
        with pytest.raises(UsageError):
            select_best(m, score=abs, stop=0)
        with pytest.raises(MismatchError):
            select_best(convert(m, ZeroConcentratedDP()), score=abs, stop="1/2")
        with pytest.raises(UsageError, match="finite"):
            select_best(m, score=abs, stop="1/2").distribution([1])

    @pytest.mark.parametrize("stop", ["1", "1/2", "1/5"])
    def test_approximate_candidates_by_all_events_of_their_winner(self, stop):
        """A leak with probability beta, with scores in every order."""
        laws = (
            {"a": "11/20", "b": "7/20", "leak": "1/10"},
            {"a": "7/20", "b": "13/20"},
        )
        bit = Space(Number("int", 0, 1), AbsoluteDistance())
        # ln(7/4) is above the log of all ratios of these masses but for the leak
        claim = Fraction(56, 100), Fraction(1, 10)
        m = fw.user_measurement(
            bit,
            lambda x: "a",
            lambda d: claim if d else (0, 0),
            measure=ApproximateDP(),
            distribution=lambda x: laws[x],
        )
        for order in itertools.permutations(("a", "b", "leak")):
            best = select_best(m, score=order.index, stop=stop)
            epsilon, delta = best.map(1)
            p, q = (best.distribution(x).table for x in (0, 1))
            for one, other in ((p, q), (q, p)):
                level = math.exp(epsilon)
                found = sum(
                    max(float(mass) - level * float(other.get(y, 0)), 0) for y, mass in one.items()
                )
                assert found <= delta + 1e-12
        grown = Fraction(stop)
        assert delta == min(1, claim[1] / grown)
        assert claim[0] * (1 if grown == 1 else Fraction(3, 2)) <= epsilon <= claim[0] * 3

    def test_gaussian_candidates_are_stated_at_a_delta(self):
        m = COUNT >> fw.gaussian(20)
        best = select_best(m, score=abs, stop="1/10", delta="1e-9")
        epsilon, delta = best.map(1)
        assert delta == Fraction(1, 10**8)
        alone = m.epsilon("1e-9").upper
        assert alone < epsilon < Fraction(7, 5) * alone
        assert best.map(0) == (0, 0)

    @pytest.mark.full
    def test_the_curve_of_the_winner_holds_at_all_deltas_and_composes(self):
        m = COUNT >> fw.gaussian(20)
        best = select_best(m, score=abs, stop="1/10", delta="1e-9")
        ends = [best.epsilon(delta).upper for delta in ("1e-3", "1e-6", "1e-9", "1e-12")]
        assert ends == sorted(ends)
        assert ends[0] < best.map(1)[0] < ends[-1]
        assert best.delta(ends[1]).upper <= Fraction(1, 10**6) * (1 + Fraction(1, 10**12))
        several = fw.compose([best] * 20 + [m] * 20)
        assert several.epsilon("1e-6").upper < 20 * ends[1] * 3 / 4
        assert 0 < best.tradeoff().beta("1/10").lower < Fraction(9, 10)
