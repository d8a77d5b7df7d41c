"""Losses of mechanisms with few of them, against all pairs of small domains."""

import itertools
import math
from fractions import Fraction

import pytest

from tacit.arithmetic.enclosure import Enclosure
from tacit.core import (
    AbsoluteDistance,
    ApproximateDP,
    Category,
    DiscreteDistance,
    HammingDistance,
    L1Distance,
    L2Distance,
    Number,
    Space,
    SymmetricDistance,
    Vector,
    compose,
    parallel,
)
from tacit.core.losses.distribution import response_losses, three_losses
from tacit.mechanisms import Gaussian, Laplace, RandomizedResponse, Staircase, TruncatedGeometric
from tacit.transformations import Count

LABELS = ("a", "b", "c", "d")
LEVELS = (Fraction(0), Fraction(1, 3), Fraction(9, 10), Fraction(2))


@pytest.mark.parametrize("given", [{"p": "3/5"}, {"p": "1/10"}, {"p": "1/3"}, {"epsilon": 1}])
def test_randomized_response_is_its_worst_pair_of_labels(given):
    """Every pair, one of no label of the list among them; the worst has just these losses."""
    m = Space(Category(LABELS), DiscreteDistance()) >> RandomizedResponse(LABELS[:3], **given)
    laws = [m.distribution(label) for label in LABELS]
    for level in LEVELS:
        found = m.delta(level)
        worst = max(
            ApproximateDP().divergence(p, q)(level).upper
            for p, q in itertools.permutations(laws, 2)
        )
        assert math.isclose(worst, found.upper, rel_tol=1e-25, abs_tol=1e-25)
        assert found.width <= Fraction(1, 10**20)


def test_randomized_response_repeated_is_no_longer_charged_as_any_pure_release():
    """The table of the field: 10,000 reports among 100 labels at epsilon 1/100."""
    labels = tuple(range(100))
    m = Space(Category(labels), DiscreteDistance()) >> RandomizedResponse(labels, epsilon="1/100")
    many = m.losses(Fraction(1)).self_compose(10_000)
    found = many.epsilon("1e-6")
    assert found.width < Fraction(1, 10**4)
    assert found.upper < Fraction(7, 10)  # 4.8855 as any 1/100-DP release
    assert math.isclose(m.epsilon(0).upper, 0.01)


def test_many_reports_are_counted_by_the_people_that_change():
    space = Space(Vector(Category(LABELS), size=2), HammingDistance())
    m = space >> RandomizedResponse(LABELS, p="2/3")
    one, two = m.delta("1/2", d_in=1), m.delta("1/2", d_in=2)
    assert one.upper < two.lower
    assert m.delta("1/2", d_in=5) == two
    pairs = itertools.product(itertools.product(LABELS, repeat=2), [("a", "b")])
    worst = max(
        sum(
            max(0.0, _chance(u, out) - math.exp(0.5) * _chance(v, out))
            for out in itertools.product(LABELS, repeat=2)
        )
        for u, v in pairs
    )
    assert math.isclose(worst, two.upper, rel_tol=1e-9)


def _chance(labels, reports):
    return math.prod(2 / 3 if x == y else 1 / 9 for x, y in zip(labels, reports, strict=True))


def test_where_no_two_labels_are_in_the_data_the_losses_are_a_bound_alone():
    m = Space(Category(("a", "z")), DiscreteDistance()) >> RandomizedResponse(("a", "b"), p="3/4")
    assert m.delta(0).lower == 0 < m.delta(0).upper
    assert m.delta(0, d_in=0).upper == 0


@pytest.mark.parametrize("distance", [1, 2, 3, 9])
def test_clamped_geometric_noise_loses_as_much_as_that_which_is_not(distance):
    """All pairs of inputs within the distance, on all answers; the worst has these losses."""
    m = Space(Number("int"), AbsoluteDistance()) >> TruncatedGeometric(0, 5, scale=2)
    laws = [{z: m.distribution(v).of_unit(z) for z in range(6)} for v in range(6)]
    for level in LEVELS:
        worst = max(
            _delta(laws[u], laws[v], level)
            for u in range(6)
            for v in range(6)
            if abs(u - v) <= distance
        )
        found = m.delta(level, d_in=distance)
        assert math.isclose(worst, found.upper, rel_tol=1e-12, abs_tol=1e-15)
        assert found.lower > 0 or found.upper == 0


def _delta(p, q, level):
    return sum(max(0.0, float(p[x].middle) - math.exp(level) * float(q[x].middle)) for x in p)


@pytest.mark.parametrize(("width", "step"), [(1, 1), (3, 1), (4, 3), (4, 4)])
def test_staircase_noise_within_its_width_has_three_losses(width, step):
    """Against the definition, over all shifts up to the distance, on a window that holds all."""
    m = Space(Number("int"), AbsoluteDistance()) >> Staircase(1, width=width, step=step)
    law = {z: float(m.distribution(0).probability(z).middle) for z in range(-150, 151)}
    for distance in range(1, width + 1):
        for level in LEVELS:
            worst = max(
                sum(max(0.0, p - math.exp(level) * law.get(z + s, 0.0)) for z, p in law.items())
                for s in range(distance + 1)
            )
            found = m.delta(level, d_in=distance)
            assert math.isclose(worst, found.upper, rel_tol=1e-9, abs_tol=1e-12)
    # farther than its width it is charged as any release of that epsilon
    assert math.isclose(m.epsilon(0, d_in=width + 1).upper, 2)


def test_the_three_losses_sum_to_one_and_are_symmetric():
    pair = three_losses(Fraction(1), Enclosure.of(Fraction(1, 3)))
    assert sum((atom.p for atom in pair.atoms), Enclosure.of(0)).contains(1)
    assert sum((atom.q for atom in pair.atoms), Enclosure.of(0)).contains(1)
    assert response_losses(5, Fraction(1, 5), None).delta(0).upper == 0


class TestVectors:
    """One person moves one cell of a histogram, or two: all shifts of a small vector."""

    def test_laplace_noise_on_one_cell(self):
        space = Space(Vector(Number("int"), size=2), L1Distance())
        m = space >> Laplace(3)
        number = Space(Number("int"), AbsoluteDistance()) >> Laplace(3)
        for level in LEVELS:
            assert m.delta(level) == number.delta(level)
            for shift in ((0, 1), (-1, 0)):
                p, q = m.distribution([0, 0]), m.distribution(list(shift))
                assert ApproximateDP().divergence(p, q)(level).upper <= m.delta(level).upper
        # two units may be one cell or two: charged by the map
        assert m.map(2) == Fraction(2, 3)
        assert math.isclose(m.epsilon(0, d_in=2).upper, 2 / 3)
        assert m.epsilon("1e-6", d_in=2).lower == 0

    @pytest.mark.parametrize(("distance", "cells"), [(1, 1), ("1.42", 2), ("1.75", 3)])
    def test_gaussian_noise_on_few_cells(self, distance, cells):
        space = Space(Vector(Number("int"), size=3), L2Distance())
        m = space >> Gaussian(3)
        number = Space(Number("int"), AbsoluteDistance()) >> Gaussian(3)
        together = number.losses(Fraction(1)).self_compose(cells)
        found = m.delta("1/2", d_in=distance)
        assert found == together.delta("1/2")
        assert found.lower > 0
        for shift in itertools.product((-1, 0, 1), repeat=3):
            if sum(s * s for s in shift) <= cells:
                few = number.losses(Fraction(1)).self_compose(max(1, sum(s * s for s in shift)))
                assert few.delta("1/2").lower <= found.upper

    def test_farther_apart_zcdp_says_what_is_known(self):
        space = Space(Vector(Number("int"), size=3), L2Distance())
        assert (space >> Gaussian(3)).epsilon("1e-6", d_in=2).lower == 0

    def test_no_more_cells_move_than_there_are(self):
        space = Space(Vector(Number("int"), size=1), L2Distance())
        m = space >> Gaussian(3)
        assert m.delta("1/2", d_in="1.42") == m.delta("1/2", d_in=1)

    def test_where_bounds_leave_no_room_the_losses_are_a_bound_alone(self):
        space = Space(Vector(Number("int", 0, 0), size=2), L1Distance())
        assert (space >> Laplace(3)).delta(0).lower == 0

    def test_a_composition_of_histograms_is_no_longer_charged_as_pure(self):
        space = Space(Vector(Number("int"), size=4), L1Distance())
        m = space >> Laplace(10)
        found = compose([m] * 100).epsilon("1e-6")
        assert found.upper < 6  # 100 times epsilon 1/10, charged as pure: 6.0
        assert found.width < Fraction(1, 10**5)


class TestParallel:
    """A record is in one part: the losses of one."""

    def test_parts_of_one_kind_have_the_losses_of_each(self):
        people = Space(Vector(Number("int")), SymmetricDistance())
        m = people >> Count() >> Laplace(2)
        by_key = parallel({0: m, 1: m}, by=lambda n: n % 2)
        own = parallel({"north": m, "south": m})
        assert own.delta("1/4").upper == by_key.delta("1/4").upper == m.delta("1/4").upper
        assert by_key.delta("1/4").lower == 0
        assert own.delta("1/4", d_in=2).lower == 0  # by the map

    def test_parts_of_two_kinds_are_charged_by_the_map(self):
        people = Space(Vector(Number("int")), SymmetricDistance())
        m, n = (people >> Count() >> Laplace(scale) for scale in (2, 4))
        both = parallel({0: m, 1: n}, by=lambda x: x % 2)
        assert math.isclose(both.epsilon(0).upper, 1 / 2)
        assert math.isclose(both.delta("1/4").upper, m.delta("1/4").upper)
