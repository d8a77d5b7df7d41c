"""What a statistic claims belongs to its type: held by brute force, under any name.

Smooth noise and propose-test-release rest on the public range and on A(t).  A name once chose them:
a sum that was called "percentile..." got the bounds of a percentile.
"""

import itertools
from dataclasses import dataclass
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from tacit.errors import UsageError
from tacit.mechanisms.local_statistic import LocalStatistic, column_space
from tacit.mechanisms.smooth import smooth_noise
from tacit.statistics import Values, sensitivity
from tacit.statistics.counts_and_sums import Count, Histogram, Sum
from tacit.statistics.means import Mean, TrimmedMean
from tacit.statistics.quantiles import InterquartileRange, Maximum, Median, Minimum, Quantile
from tacit.statistics.statistic import PublicRange, Statistic, distance_between
from tacit.statistics.variances import StandardDeviation, Variance

KNOWN = [
    Count(),
    Sum(),
    Mean(),
    Median(),
    Quantile(Fraction(1, 7)),
    Minimum(),
    Maximum(),
    TrimmedMean(Fraction(1, 3)),
    InterquartileRange(),
    Variance(),
    StandardDeviation(),
]
NAMES = st.sampled_from(
    ["percentile(10)", "percent", "trimmed", "trimmed_mean(0.1)", "count", "sum", "mean", "mine"]
)
BOUNDS = st.tuples(st.integers(-9, 8), st.integers(1, 9)).map(lambda b: (b[0], b[0] + b[1]))
RELATIONS = ["unbounded", "bounded"]


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


@pytest.mark.parametrize("relation", RELATIONS)
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
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("statistic", KNOWN, ids=str)
@examples(0.06)
@given(bounds=BOUNDS, name=NAMES)
def test_a_name_chooses_no_bound(statistic, relation, bounds, name):
    """What a mechanism reads of a statistic is the same under every name."""
    space = column_space(bounds, relation, None)
    if isinstance(statistic, TrimmedMean) and relation == "unbounded":
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

    abstract = {"Monotone", "Dispersion", "Function"}
    held = {type(s).__name__ for s in KNOWN} | abstract | {Histogram.__name__}
    ranged = {k for k in kinds(Statistic) if k.public_range is not Statistic.public_range}
    assert {kind.__name__ for kind in ranged} <= held <= {k.__name__ for k in kinds(Statistic)}
    assert Histogram([0, 1]).public_range(Fraction(0), Fraction(1), "bounded") is None
