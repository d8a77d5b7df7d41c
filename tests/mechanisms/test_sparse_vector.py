"""The sparse vector technique finds what is far above its threshold."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from tacit import framework as fw
from tacit import noise
from tacit.core import (
    AbsoluteDistance,
    LInfinityDistance,
    Number,
    Space,
    SymmetricDistance,
    Vector,
)
from tacit.errors import MismatchError, UsageError
from tacit.mechanisms import (
    AboveThreshold,
    Exponential,
    FiniteDistribution,
    NoisyMax,
    PermuteAndFlip,
    PrivateQuantile,
    RandomizedResponse,
    SparseVector,
    Staircase,
    TruncatedGeometric,
    private_quantile,
)
from tacit.mechanisms.private_quantile import (
    BinCounts,
    choose_cell,
    choose_cells,
    choose_together,
    quantile_costs,
)
from tacit.mechanisms.staircase import DiscreteStaircase, best_step
from tacit.noise.bits import injected


def test_sparse_vector_finds_what_is_far_above():
    queries = Space(Vector(int, size=5), LInfinityDistance())
    m = queries >> SparseVector(50, threshold_scale=1, query_scale=4, answers=2)
    assert m.map(1) == 2
    assert m([0, 10**6, 0, 10**6, 10**6]) == [False, True, False, True]
    assert m([0] * 5)[:1] == [False]
    one = queries >> AboveThreshold(50, 1, 2)
    assert one([0, 0, 0, 0, 10**6]) == 4
    assert one([-(10**6)] * 5) is None
    empty = Space(Vector(int), LInfinityDistance()) >> SparseVector(0, 1, 1)
    assert empty([]) == []


# Mechanisms of bad parameters, or on spaces that do not fit, are refused at construction.


NUMBER = Space(Number("int", 0, 5, grid=Fraction(1)), AbsoluteDistance())


BAD = [
    lambda: TruncatedGeometric(5, 0, 1),
    lambda: TruncatedGeometric(0, 5, 0),
    lambda: TruncatedGeometric(0, math.inf, 1),
    lambda: Staircase(0),
    lambda: Staircase(1, -1),
    lambda: Staircase(1, 3, 0),
    lambda: Exponential(math.nan),
    lambda: Exponential(1, monotone=1),
    lambda: Exponential(1, measure="RenyiDP"),
    lambda: PermuteAndFlip(-1),
    lambda: PermuteAndFlip(1, monotone=0),
    lambda: NoisyMax(1, "laplace"),
    lambda: NoisyMax(1, monotone="no"),
    lambda: SparseVector(0, 0, 1),
    lambda: SparseVector(0, 1, 1, answers=0),
    lambda: SparseVector(math.inf, 1, 1),
    lambda: SparseVector(0, 1, 1, monotone=3),
    lambda: AboveThreshold(0, 1, 1, answers=2),
    lambda: RandomizedResponse(("a",), p="1/2"),
    lambda: RandomizedResponse(("a", "a"), p="1/2"),
    lambda: RandomizedResponse(("a", ["b"]), p="1/2"),
    lambda: RandomizedResponse("ab", p="1/2"),
    lambda: RandomizedResponse(("a", "b")),
    lambda: RandomizedResponse(("a", "b"), p="1/2", epsilon=1),
    lambda: RandomizedResponse(("a", "b"), p=1),
    lambda: RandomizedResponse(("a", "b"), epsilon=math.inf),
    lambda: PrivateQuantile(2, 1),
    lambda: PrivateQuantile("1/2", 0),
    lambda: PrivateQuantile("1/2", 1, grid=-1),
    lambda: PrivateQuantile("1/2", 1, measure="x"),
    lambda: FiniteDistribution.of({0: "1/2"}),
    lambda: FiniteDistribution.of({0: "3/2", 1: "-1/2"}),
    lambda: FiniteDistribution.of({"a": 1}).cdf(3),
    lambda: Space(Vector(int, bounds=(0, 0)), SymmetricDistance()) >> PrivateQuantile("1/2", 1),
]


@pytest.mark.parametrize("build", BAD)
def test_bad_parameters_are_refused_at_construction(build):
    with pytest.raises(UsageError):
        build()


COLUMN = Space(Vector(int), SymmetricDistance())
MISFITS = [
    (COLUMN, TruncatedGeometric(0, 1, 1)),
    (NUMBER, TruncatedGeometric("1/2", 1, 1)),
    (COLUMN, Staircase(1)),
    (NUMBER, Staircase(1, "1/2")),
    (NUMBER, Staircase(1, 2, 3)),
    (COLUMN, Exponential(1)),
    (Space(Vector(int), LInfinityDistance()), PermuteAndFlip(1)),
    (Space(Vector(int, size=0), LInfinityDistance()), NoisyMax(1)),
    (NUMBER, SparseVector(0, 1, 1)),
    (NUMBER, RandomizedResponse(("a", "b"), p="1/2")),
    (COLUMN, PrivateQuantile("1/2", 1)),
    (NUMBER, PrivateQuantile("1/2", 1)),
    (NUMBER, fw.select_partitions(scale=1, threshold=5)),
    (NUMBER, fw.continual_count(1)),
]


@pytest.mark.parametrize(("space", "step"), MISFITS, ids=str)
def test_spaces_that_do_not_fit_are_refused(space, step):
    with pytest.raises(MismatchError):
        space >> step


# The staircase law against its weights, and the stair of least error.


@pytest.mark.parametrize(
    ("epsilon", "width", "step"), [(1, 1, 1), (1, 5, 2), (3, 4, 4), ("1/2", 3, 1)]
)
def test_staircase_law(epsilon, width, step):
    law = DiscreteStaircase(Fraction(epsilon), width, step)
    reach = 60 * width
    weights = {
        x: math.exp(-float(Fraction(epsilon)) * ((abs(x) + width - step) // width))
        for x in range(-reach, reach + 1)
    }
    total = math.fsum(weights.values())
    for x in (-7, -1, 0, 1, 2, 9):
        assert float(law.probability(x)) == pytest.approx(weights[x] / total)
        below = math.fsum(w for z, w in weights.items() if z <= x) / total
        assert float(law.cdf(x)) == pytest.approx(below)
    second = math.fsum(x * x * w for x, w in weights.items()) / total
    assert float(law.variance()) == pytest.approx(second)


@pytest.mark.few(3)
@pytest.mark.parametrize(("epsilon", "width"), [(1, 7), (3, 12), ("1/2", 5)])
def test_the_default_stair_has_the_least_error(epsilon, width):
    def size(step):
        law = DiscreteStaircase(Fraction(epsilon), width, step)
        return sum(2 * x * float(law.probability(x).middle) for x in range(1, 40 * width))

    found = best_step(Fraction(epsilon), width)
    assert size(found) <= min(size(s) for s in range(1, width + 1)) * (1 + 1e-6)
    geometric = noise.DiscreteLaplace(Fraction(width) / Fraction(epsilon))
    ours = float(DiscreteStaircase(Fraction(epsilon), width, found).variance())
    assert epsilon != 3 or ours < float(geometric.variance())


# Private quantiles are near the quantile, on numbers of any kind; many at once are right.


def test_private_quantiles_are_near_the_quantile():
    ages = Space(Vector(int, bounds=(0, 100)), SymmetricDistance())
    m = ages >> PrivateQuantile("1/2", scale=1)
    data = list(range(20, 60)) * 50
    assert 38 <= m(data) <= 41
    assert m.map(1) == 1
    assert 0 <= m([]) <= 100
    floats = Space(Vector(float, bounds=(0, 1)), SymmetricDistance())
    shown = (floats >> PrivateQuantile(1, scale=1, grid="1/8"))([0.5, float("nan"), 2.0] * 900)
    assert shown * 8 == int(shown * 8)


def histograms(draw, cells, most):
    """Return some histograms of few rows, or none."""
    found = []
    for _ in range(draw.randint(1, 5)):
        at = sorted(draw.sample(range(cells + 1), draw.randint(0, min(cells + 1, 8))))
        count = [draw.randint(1, most) for _ in at]
        found.append((np.array(at, dtype=np.int64), np.array(count, dtype=np.int64)))
    return found


@pytest.mark.parametrize("target", [0, 7, -7, 1 << 62, -(1 << 62)])
@pytest.mark.parametrize("most", [9, 1 << 58], ids=["64 bits", "wider"])
def test_choices_made_at_once_are_those_made_alone(target, most):
    for seed in range(40):
        draw = random.Random(seed)
        cells = draw.choice([1, 4, 60, 1 << 20])
        asked = cells, Fraction(draw.randint(0, 4), 4), target, Fraction(draw.randint(1, 9), 20)
        groups = histograms(draw, cells, most)
        with injected(random.Random(seed).randbytes):
            alone = [choose_cell(each, *asked) for each in groups]
        with injected(random.Random(seed).randbytes):
            assert choose_cells(groups, *asked) == alone
    assert choose_cells([], 9, Fraction(1, 2), target, Fraction(1)) == []


@pytest.mark.parametrize("most", [9, 1 << 58], ids=["64 bits", "wider"])
def test_choices_that_share_their_runs_are_those_that_do_not(most):
    """Whatever was chosen of them before: another target, another quantile, other candidates."""
    for seed in range(20):
        draw = random.Random(seed)
        groups = histograms(draw, 60, most)
        shared = BinCounts(groups)
        for target in (0, 7, -7, 1 << 62, -(1 << 62), 0):
            cells, q = draw.choice([60, 90]), Fraction(draw.randint(0, 4), 4)
            asked = cells, q, target, Fraction(draw.randint(1, 9), 20)
            with injected(random.Random(seed).randbytes):
                alone = choose_cells(list(groups), *asked)
            with injected(random.Random(seed).randbytes):
                assert choose_cells(shared, *asked) == alone


def test_of_many_cells_some_are_chosen_from_at_once(monkeypatch):
    """With the same draws, and never from more than what one histogram has."""
    ends = [(Fraction(1, 4), -3), (Fraction(1, 2), 2)]
    made, sizes = private_quantile._runs, []

    def runs(some, *asked):
        sizes.append(sum(len(at) for at, _ in some))
        return made(some, *asked)

    monkeypatch.setattr(private_quantile, "_runs", runs)
    for seed in range(20):
        groups = histograms(random.Random(seed), 60, 9)
        found = []
        for at_once in (1 << 16, 20, 1):
            monkeypatch.setattr(private_quantile, "_AT_ONCE", at_once)
            sizes.clear()
            with injected(random.Random(seed).randbytes):
                cells = choose_cells(groups, 60, Fraction(1, 2), 3, Fraction(1, 5))
                found.append((cells, choose_together(groups, 60, ends, Fraction(1, 5))))
            assert max(sizes) <= max(at_once, *(len(at) for at, _ in groups))
        assert found[1:] == found[:-1]


@pytest.mark.parametrize("target", [0, 5, -5])
def test_costs_are_those_of_the_definition(target):
    """The distance of the target to [low(c), high(c)], without end for the end on its side."""
    for seed in range(60):
        draw = random.Random(seed)
        cells, q = draw.randint(1, 9), Fraction(draw.randint(0, 4), 4)
        a, b = q.numerator, q.denominator
        for at, count in histograms(draw, cells, 4):
            rows = dict(zip(at.tolist(), count.tolist(), strict=True))
            truth = []
            for c in range(cells + 1):
                below = sum(n for cell, n in rows.items() if cell < c)
                above = sum(n for cell, n in rows.items() if cell > c)
                equal = rows.get(c, 0)
                low = (b - a) * below - a * (above + equal)
                high = (b - a) * (below + equal) - a * above
                low = min(low, target) if c == 0 and target < 0 else low
                high = max(high, target) if c == cells and target > 0 else high
                truth.append(max(low - target, target - high, 0))
            starts, lengths, cost = quantile_costs((at, count), cells, q, target)
            assert np.repeat(cost, lengths).tolist() == truth
            assert starts.tolist() == (np.cumsum(lengths) - lengths).tolist()
