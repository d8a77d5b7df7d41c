"""Histograms against enumeration: L1 over every relation, with and without a size."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit as tc
import tacit.statistics as ts
from support.by_hand import statistics_oracle as oracle
from support.by_hand.at_distance import by_substitution
from support.examples import examples
from tacit import framework as fw
from tacit.errors import InfeasibleError, UsageError
from tacit.mechanisms.local_statistic import LocalStatistic, column_space
from tacit.mechanisms.smooth import smooth_noise
from tacit.statistics import Interval, Records, Sample, Values, sensitivity
from tacit.statistics.counts_and_sums import Count, Histogram, Sum
from tacit.statistics.global_sensitivity import lookup
from tacit.statistics.means import Mean, TrimmedMean, WinsorizedMean
from tacit.statistics.quantiles import InterquartileRange, Maximum, Median, Minimum, Quantile
from tacit.statistics.rank_pairs import UNREACHABLE, RankStaircase, between, weights, whole
from tacit.statistics.result import differing_pair
from tacit.statistics.smooth import at_distance, smooth_sensitivity
from tacit.statistics.spread import Gini, MedianAbsoluteDeviation, Mode, Range
from tacit.statistics.statistic import PublicRange, Statistic, distance_between
from tacit.statistics.variances import StandardDeviation, Variance


class Counts(tuple[int, ...]):
    """A vector of counts whose absolute value is its L1 norm."""

    def __sub__(self, other: tuple[int, ...]) -> Counts:
        return Counts(a - b for a, b in zip(self, other, strict=True))

    def __abs__(self) -> Fraction:
        return Fraction(sum(map(abs, self)))


def counts_of(edges: list[int]) -> Any:
    def count(x: tuple[Fraction, ...]) -> Counts:
        found = [0] * (len(edges) - 1)
        for v in x:
            found[sum(v >= e for e in edges[1:-1])] += 1
        return Counts(found)

    return count


edges_of = st.sets(st.integers(-1, 11), min_size=2, max_size=5).map(sorted)
RELATIONS = st.sampled_from(["unbounded", "add", "remove", "bounded"])


@examples(5)
@given(
    edges_of,
    st.lists(st.integers(0, 10), min_size=1, max_size=6).map(sorted),
    RELATIONS,
    st.booleans(),
    st.data(),
)
def test_population(
    edges: list[int], population: list[int], relation: Any, within: bool, data: Any
) -> None:
    n = len(population)
    size = data.draw(st.one_of(st.none(), st.integers(1, n)))
    k = data.draw(st.integers(1, n))
    at = None
    if data.draw(st.booleans()):
        at = frozenset(data.draw(st.permutations(range(n)))[: size or 1])
    release = None if at is None else [population[i] for i in at]
    try:
        found = ts.sensitivity(
            ts.Histogram(edges), ts.Records(population, size=size), release, k, relation, within
        )
    except InfeasibleError:
        return
    count = counts_of(edges)
    exact = [Fraction(v) for v in population]
    truth = oracle.over_records(count, exact, size, k, relation, within, at, fewest=0)
    assert found.value == truth
    if found.witness is None:
        assert truth == 0
        assert differing_pair(found.question, 0) is None
        return
    x, y = (tuple(map(Fraction, side)) for side in found.witness)
    assert abs(count(x) - count(y)) == truth


@examples(2.5)
@given(edges_of, st.sets(st.integers(0, 10), min_size=1, max_size=3), RELATIONS, st.data())
def test_values(edges: list[int], values: set[int], relation: Any, data: Any) -> None:
    size = data.draw(st.one_of(st.none(), st.integers(1, 3)))
    k = data.draw(st.integers(1, 3))
    sizes = [size] if size else range(k + 2)
    try:
        found = ts.sensitivity(ts.Histogram(edges), ts.Values(values, size=size), None, k, relation)
    except InfeasibleError:
        return
    exact = [Fraction(v) for v in sorted(values)]
    count = counts_of(edges)
    truth = oracle.over_values(count, exact, sizes, k, relation, True, fewest=0)
    assert found.value == truth
    if len(values) == 2:  # an interval reaches more bins than its ends do
        over = ts.Interval(min(values), max(values), size=size)
        grid = [Fraction(v) for v in range(min(values), max(values) + 1)][:6]
        if len(grid) < 5:
            wider = ts.sensitivity(ts.Histogram(edges), over, None, k, relation)
            truth = oracle.over_values(count, grid, sizes, k, relation, True, fewest=0)
            assert wider.value == truth


def test_every_record_is_counted() -> None:
    h = ts.Histogram([0, 10, 20])
    assert h.exact([Fraction(v) for v in (-5, 0, 9, 10, 20, 99)]) == (3, 3)
    assert h(np.array([1.0, 12.0, 13.0])).tolist() == [1, 2]
    with pytest.raises(UsageError, match="ascending"):
        ts.Histogram([1, 1])
    with pytest.raises(UsageError, match="single value"):
        h.batch(np.zeros((1, 1)))


@pytest.mark.parametrize("relation", ["unbounded", "add", "remove", "bounded"])
def test_histogram_within_bounds_agrees_with_a_search_over_values(relation: Any) -> None:
    for edges in ([0, 4, 8], [0, 2, 4, 6, 8], [0, 8], [-9, -5, 20]):
        histogram = tc.histogram(edges=edges)
        for distance in (0, 1):
            truth = tc.local_sensitivity_at(
                histogram, [1, 5], distance=distance, relation=relation, values=[0, 1, 3, 5, 8]
            )
            found = tc.local_sensitivity_at(histogram, [1, 5], (0, 8), distance, relation)
            assert found == truth


# What a statistic claims belongs to its type: held by brute force, under any name.
#
# Smooth noise and propose-test-release rest on the public range and on A(t).  A name once chose
# them: a sum that was called "percentile..." got the bounds of a percentile.


KNOWN = [
    Count(),
    Sum(),
    Mean(),
    Median(),
    Quantile(Fraction(1, 7)),
    Minimum(),
    Maximum(),
    TrimmedMean(Fraction(1, 3)),
    WinsorizedMean(Fraction(1, 3)),
    Range(),
    MedianAbsoluteDeviation(),
    Gini(),
    Mode(),
    InterquartileRange(),
    Variance(),
    StandardDeviation(),
]
NOT_AT_A_DISTANCE = WinsorizedMean, MedianAbsoluteDeviation, Gini, Mode
NAMES = st.sampled_from(
    ["percentile(10)", "percent", "trimmed", "trimmed_mean(0.1)", "count", "sum", "mean", "mine"]
)
BOUNDS = st.tuples(st.integers(-9, 8), st.integers(1, 9)).map(lambda b: (b[0], b[0] + b[1]))
PUBLIC_RANGES_RELATIONS = ["unbounded", "bounded"]


def renamed(statistic, name):
    """The same statistic, of a type of the user's own, under another name."""

    class Mine(type(statistic)):
        @property
        def name(self):
            return name

    return Mine(**vars(statistic))


def releases(low, high, most):
    values = [Fraction(low), Fraction(2 * low + high, 3), Fraction(high)]
    for size in range(most + 1):
        yield from itertools.combinations_with_replacement(values, size)


def value(statistic, release, empty):
    return statistic.exact(list(release)) if release else empty


def neighbours(release, low, high, relation):
    values = [Fraction(low), Fraction(2 * low + high, 3), Fraction(high)]
    if relation == "unbounded":
        return [tuple(sorted((*release, v))) for v in values]
    changed = itertools.product(range(len(release)), values)
    return [tuple(sorted((*release[:i], v, *release[i + 1 :]))) for i, v in changed]


@pytest.mark.parametrize("relation", PUBLIC_RANGES_RELATIONS)
@pytest.mark.parametrize("statistic", KNOWN, ids=str)
@examples(0.06)
@given(bounds=BOUNDS, name=NAMES)
def test_public_ranges_hold_on_every_small_data_set(statistic, relation, bounds, name):
    mine = renamed(statistic, name)
    found = mine.public_range(*map(Fraction, bounds), relation)
    assert found == statistic.public_range(*map(Fraction, bounds), relation)
    for release in releases(*bounds, 2):
        here = value(mine, release, found.empty)
        if found.ends is not None:
            assert distance_between(here, found.ends[0]) <= found.ends[1] - found.ends[0]
            assert float(found.ends[0]) <= float(here) <= float(found.ends[1])
        for other in neighbours(release, *bounds, relation):
            assert distance_between(here, value(mine, other, found.empty)) <= found.most


@pytest.mark.few(4)
@pytest.mark.parametrize("relation", PUBLIC_RANGES_RELATIONS)
@pytest.mark.parametrize("statistic", KNOWN, ids=str)
@examples(0.06)
@given(bounds=BOUNDS, name=NAMES)
def test_a_name_chooses_no_bound(statistic, relation, bounds, name):
    """What a mechanism reads of a statistic is the same under every name."""
    space = column_space(bounds, relation, None)
    if isinstance(statistic, TrimmedMean) and relation == "unbounded":
        return
    if isinstance(statistic, NOT_AT_A_DISTANCE):
        with pytest.raises(UsageError, match="no algorithm is known"):
            LocalStatistic(renamed(statistic, name), space)
        return
    right, mine = LocalStatistic(statistic, space), LocalStatistic(renamed(statistic, name), space)
    assert (mine.full, mine.range, mine.default) == (right.full, right.range, right.default)
    sample = [bounds[0], bounds[1], bounds[1]]
    beta = Fraction(1, 3)
    readings = [s.read(sample) for s in (right, mine)]
    assert mine.smooth(readings[1], beta) == right.smooth(readings[0], beta)


def test_a_sum_that_is_called_a_percentile_is_a_sum():
    """It claimed epsilon 1 for bounds (90, 100), where a record moves the sum by 100 and not 10."""
    mine = renamed(Sum(), "percentile of my own")
    s = LocalStatistic(mine, column_space((90, 100), "unbounded", None))
    assert (s.full, s.range, s.default) == (100, None, 0)
    assert s.smooth(s.read([95.0]), Fraction(1, 1000)) == 100
    m = smooth_noise(mine, bounds=(90, 100), epsilon=1, distribution="cauchy")
    right = smooth_noise("sum", bounds=(90, 100), epsilon=1, distribution="cauchy")
    assert m.expected_error([95, 95]) == right.expected_error([95, 95])


@dataclass(frozen=True)
class TwiceTheMean(Mean):
    """Another function than the mean: nothing that is proven of the mean speaks of it."""

    def exact(self, values):
        return 2 * super().exact(values)

    def of(self, sample):
        return 2 * super().of(sample)


@dataclass(frozen=True)
class Shifted:
    """What a class may be mixed with, in front of a statistic."""

    def split(self, low, high, total):
        return 0


@dataclass(frozen=True)
class MixedMedian(Shifted, Median):
    """A median with a part of its proof replaced from the side."""


@dataclass(frozen=True)
class GrandChild(TwiceTheMean):
    """Inherits what its parent has, which is nothing proven."""


@pytest.mark.parametrize("kind", [TwiceTheMean, MixedMedian, GrandChild])
def test_another_function_inherits_no_proof(kind):
    statistic = kind()
    assert statistic.public_range(Fraction(0), Fraction(1), "unbounded") is None
    assert type(statistic).at_distance is Statistic.at_distance
    assert type(statistic).answer is Statistic.answer
    with pytest.raises(UsageError, match="no algorithm is known"):
        LocalStatistic(statistic, column_space((0, 1), "unbounded", None))


@pytest.mark.parametrize("statistic", [*KNOWN, Histogram([0, 2, 4])], ids=str)
def test_a_new_name_alone_keeps_every_proof(statistic):
    kind, mine = type(statistic), type(renamed(statistic, "mine"))
    for proof in ("answer", "at_distance", "public_range"):
        assert getattr(mine, proof) is getattr(kind, proof)
    assert kind.answer is not Statistic.answer or isinstance(
        statistic, (TrimmedMean, InterquartileRange)
    )


def test_its_sensitivity_is_searched_and_not_taken_over():
    over = Values([0, 1, 4], size=3)
    once, twice = (sensitivity(s, over=over, relation="bounded") for s in (Mean(), TwiceTheMean()))
    assert twice.method == "exhaustive"
    assert twice.value == 2 * once.value


def test_what_a_class_brings_of_its_own_is_kept():
    @dataclass(frozen=True)
    class Mine(TwiceTheMean):
        def public_range(self, lower, upper, relation):
            return PublicRange(2 * (upper - lower), (2 * lower, 2 * upper), lower + upper)

    s = LocalStatistic(Mine(), column_space(None, "bounded", [0, 1]))
    assert s.range == (0, 2)


def test_every_statistic_with_a_public_range_is_held_here():
    def kinds(base):
        for kind in base.__subclasses__():
            if kind.__module__.startswith("tacit."):
                yield kind
                yield from kinds(kind)

    abstract = {"Monotone", "Dispersion", "Function", "_MeanOfRanks"}
    held = {type(s).__name__ for s in KNOWN} | abstract | {Histogram.__name__}
    ranged = {k for k in kinds(Statistic) if k.public_range is not Statistic.public_range}
    assert {kind.__name__ for kind in ranged} <= held <= {k.__name__ for k in kinds(Statistic)}
    assert Histogram([0, 1]).public_range(Fraction(0), Fraction(1), "bounded") is None


# The sum: its sensitivities against every pair of releases, and by formula.


POPULATION = [-9, -2, 1, 1, 5]


def by_enumeration(n: int, relation: str, k: int) -> Fraction:
    people, best = range(len(POPULATION)), Fraction(0)
    for x in itertools.combinations(people, n):
        for size in range(1, len(POPULATION) + 1):
            for y in itertools.combinations(people, size):
                r, a = len({*x} - {*y}), len({*y} - {*x})
                fits = {"unbounded": r + a <= k, "add": r == 0 and a <= k,
                        "remove": a == 0 and r <= k, "bounded": r == a <= k}  # fmt: skip
                if fits[relation]:
                    gap = abs(sum(POPULATION[i] for i in x) - sum(POPULATION[i] for i in y))
                    best = max(best, Fraction(gap))
    return best


@pytest.mark.parametrize("relation", ["unbounded", "add", "remove", "bounded"])
@pytest.mark.parametrize("n", [2, 3])
def test_the_sensitivity_is_that_of_the_worst_pair(n: int, relation: Any) -> None:
    for k in (1, 2, 3):
        if relation == "remove" and k >= n:
            continue
        found = sensitivity("sum", Records(POPULATION, size=n), None, k, relation)
        assert found.value == by_enumeration(n, relation, k)
        x, y = found.witness
        assert abs(sum(x) - sum(y)) == found.value


@pytest.mark.parametrize("k", [1, 4])
def test_values_in_any_number_move_by_the_bound_farther_from_zero(k: int) -> None:
    assert sensitivity("sum", Interval(-3, 2), None, k).value == 3 * k
    assert sensitivity("sum", Interval(-3, 2, size=9), None, k, "bounded").value == 5 * k
    assert sensitivity("sum", Interval(2, 7, size=9), None, k, "add").value == 7 * k


def test_a_fixed_release_loses_its_own_and_gains_what_is_left() -> None:
    at = [-2, 1]
    assert sensitivity("sum", Records(POPULATION), at).value == 9  # the -9 joins
    assert sensitivity("sum", Records(POPULATION), at, 1, "remove").value == 2
    assert sensitivity("sum", Records(POPULATION), at, 1, "bounded").value == 10  # 1 becomes -9


def test_values_are_exact_and_as_numpy_has_them() -> None:
    assert Sum().of(Sample([0.1] * 10)) == 10 * Fraction(0.1)
    assert Sum().batch(np.array([[1.0, 2.0], [3.0, -4.0]])).tolist() == [3, -1]
    assert Sum().exact([Fraction(1, 3)] * 3) == 1


def test_the_public_range_of_a_sum_has_no_ends() -> None:
    found = Sum().public_range(Fraction(-3), Fraction(2), "unbounded")
    assert found[:2] == (3, None)
    assert Sum().public_range(Fraction(-3), Fraction(2), "bounded")[0] == 5


# Trimmed means at a distance, against the definition.


@examples(0.8)
@given(
    data=st.lists(st.sampled_from([0, 1, 5, 12]), min_size=1, max_size=5),
    share=st.sampled_from([0, "0.2", "0.25", "0.4"]),
    steps=st.integers(0, 2),
)
def test_trimmed_mean_equals_the_definition(data: list[int], share: Any, steps: int) -> None:
    statistic = TrimmedMean(share)
    found = at_distance(statistic, data, (0, 12), "bounded")
    assert found.exact
    assert found.at(steps) == by_substitution(statistic, data, [0, 1, 5, 12], steps)
    assert statistic(np.array(data)) == pytest.approx(
        float(statistic.exact(sorted(map(Fraction, data))))
    )


@pytest.mark.full
def test_smooth_is_the_maximum() -> None:
    data = np.random.default_rng(2).integers(0, 90, size=70)
    for statistic in (TrimmedMean(), TrimmedMean("0.4"), InterquartileRange()):
        found = at_distance(statistic, data, (0, 100), "bounded")
        for beta in (0.5, 0.03):
            truth = max(np.exp(-beta * t) * float(found.at(t)) for t in range(found.last + 1))
            smooth = smooth_sensitivity(statistic, data, (0, 100), beta, "bounded")
            assert truth * (1 - 1e-14) <= smooth <= truth * (1 + 1e-6)


def test_a_trimmed_mean_of_one_record_left_is_the_median() -> None:
    data = [3, 1, 4, 1, 5, 9, 2]
    trimmed = at_distance(TrimmedMean("0.45"), data, (0, 10), "bounded")
    median = at_distance("median", data, (0, 10), "bounded")
    assert [trimmed.at(t) for t in range(8)] == [median.at(t) for t in range(8)]


def test_what_is_not_known_is_refused() -> None:
    with pytest.raises(UsageError, match="give values"):
        at_distance(TrimmedMean(), [1, 2, 3], (0, 5), "unbounded")
    with pytest.raises(UsageError, match="below 1/2"):
        TrimmedMean("1/2")
    known = at_distance(TrimmedMean(), [1, 2, 2], None, "unbounded", values=[1, 2, 5])
    assert known.at(1) > 0


# Statistics by name, with a number; a wrong name is told what is right.


RECORDS = tc.Records([1, 2, 2, 5, 9, 40], size=3)


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("var(ddof=1)", Variance(1)),
        ("var(0)", Variance(0)),
        ("std:1", StandardDeviation(1)),
        ("std (1)", StandardDeviation(1)),
        ("interquartile_range", InterquartileRange()),
        ("iqr", InterquartileRange()),
        ("trimmed_mean", TrimmedMean()),
        ("trimmed_mean(share=1/4)", TrimmedMean(Fraction(1, 4))),
        ("trimmed_mean:0.2", TrimmedMean(Fraction(1, 5))),
        (tc.var(ddof=1), Variance(1)),
        (tc.std(ddof=1), StandardDeviation(1)),
        (tc.var(), Variance(0)),
    ],
)
def test_a_name_with_a_number_is_a_statistic(asked: Any, meant: Any) -> None:
    assert lookup(asked) == meant


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("var(2)", "ddof must be 0 or 1"),
        ("var(0.5)", "whole number"),
        ("var(x)", "ddof must be a number"),
        ("std(share=1)", "std takes ddof"),
        ("mean(3)", "did you mean 'mean'"),
        ("trimmed_mean(0.5)", "below 1/2"),
        ("histogram", "unknown"),
    ],
)
def test_a_wrong_name_is_refused_with_what_is_right(asked: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        tc.sensitivity(asked, over=RECORDS)
    assert says in str(caught.value)


def test_ddof_is_for_sensitivities_only() -> None:
    with pytest.raises(UsageError, match="divided by n"):
        tc.var("age", 0, 100, ddof=1)
    with pytest.raises(UsageError, match="0 or 1"):
        tc.std(ddof=2)
    with pytest.raises(UsageError, match="question to a table"):
        _ = fw.Space(fw.Vector(float), fw.SymmetricDistance()) >> fw.clamp(0, 1) >> tc.var(ddof=1)


# The search for the best pair of ranks finds what listing all pairs finds.


class Width:
    """A pair costs as many steps as there are ranks between its two, and more of later kinds."""

    def exact(self, kind, low, high):
        steps = high - low - 2 + kind
        return np.where(steps > 20, UNREACHABLE, steps)

    def lower_bound(self, kind, i1, i2, r1, r2):
        return np.maximum(r1 - i2, 2) - 2 + kind


def search(ranks, c1, c3):
    ranks = np.asarray(ranks)
    last = len(ranks) - 1
    return RankStaircase(ranks, np.array(c1), np.array(c3), Width(), (0, last - 2), (2, last))


def pairs(found):
    """Every pair: its value and its steps, by the definition."""
    ranks, last = found.ranks.tolist(), len(found.ranks) - 1
    for kind, (c1, c3) in enumerate(zip(found.c1.tolist(), found.c3.tolist(), strict=True)):
        for low in range(last - 1):
            for high in range(low + 2, last + 1):
                steps = int(Width().exact(*map(np.array, (kind, low, high))))
                mid = ranks[high - 1] if c1 >= c3 else ranks[low + 1]
                value = c1 * (mid - ranks[low]) + c3 * (ranks[high] - mid)
                if steps < UNREACHABLE:
                    yield value, steps


CASES = [
    (sorted(np.random.default_rng(seed).integers(0, spread, size).tolist()), c1, c3)
    for seed, size, spread in ((1, 5, 9), (2, 30, 50), (3, 60, 10**6), (4, 60, 4), (5, 3, 2))
    for c1, c3 in (([1], [2]), ([2, 1, 0], [1, 3, 0]), ([0, 1], [1, 0]))
]


@pytest.mark.parametrize(("ranks", "c1", "c3"), CASES)
def test_the_best_pair_within_some_steps_is_found(ranks, c1, c3):
    found = search(ranks, c1, c3)
    listed = list(pairs(found))
    for distance in (0, 1, 3, 10, 25):
        best = max((value for value, steps in listed if steps <= distance), default=0)
        assert found.within(distance) == max(best, 0)


@pytest.mark.parametrize(("ranks", "c1", "c3"), CASES)
def test_the_nearest_pair_above_a_bound_is_found(ranks, c1, c3):
    found = search(ranks, c1, c3)
    listed = list(pairs(found))
    for bound in (0, ranks[-1] // 3, ranks[-1], 10**9):
        nearest = min((steps for value, steps in listed if value > bound), default=None)
        assert found.nearest(bound) == nearest


@pytest.mark.parametrize(("ranks", "c1", "c3"), CASES)
@pytest.mark.parametrize("beta", [Fraction(1, 10), Fraction(2)])
def test_the_decayed_maximum_is_never_below_and_hardly_above(ranks, c1, c3, beta):
    found = search(ranks, c1, c3)
    truth = max(
        (v * float(np.exp(-float(beta) * max(s - 1, 0))) for v, s in pairs(found)), default=0.0
    )
    asked = found.decayed(beta, 1)
    assert truth * (1 - 1e-12) <= asked <= max(truth, 0) * (1 + 2.5e-7)
    assert found.decayed(beta, 1, best=10.0**12) == 10.0**12


def test_a_pair_is_the_gap_below_and_above_its_middle():
    ranks, one = np.array([0, 2, 5, 11]), np.array([1])
    below, above = np.array([0]), np.array([3])
    assert between(ranks, 2 * one, one, below, above).tolist() == [2 * 5 + 6]
    assert between(ranks, one, 2 * one, below, above).tolist() == [2 + 2 * 9]


# The weights of ranks against the move of a quantile, computed record by record.


@pytest.mark.parametrize("q", [Fraction(0), Fraction(1, 2), Fraction(1, 4), Fraction(3, 7)])
def test_a_low_record_that_joins_moves_the_quantile_by_the_weighted_gaps(q):
    period = q.denominator
    below, above, unit = weights(q, period)
    for m in range(2, 3 * period + 2):
        values = [Fraction(3) ** i for i in range(m)]  # the lowest is the one that joins
        moved = Quantile(q).exact(values[1:]) - Quantile(q).exact(values)
        rank = int(q * (m - 1))
        gaps = [b - a for a, b in zip(values[rank:], values[rank + 1 :], strict=False)][:2]
        gaps += [Fraction(0)] * (2 - len(gaps))
        found = unit * int(below[m % period]) * gaps[0] + unit * int(above[m % period]) * gaps[1]
        assert found == moved, m


def test_whole_weights_have_no_common_factor():
    first, second, unit = whole([Fraction(1, 2), Fraction(0)], [Fraction(3, 2), Fraction(1)])
    assert ([*first], [*second], unit) == ([1, 0], [3, 2], Fraction(1, 2))
    assert whole([Fraction(1, 3**50)], [Fraction(2**70)])[0].dtype == object
