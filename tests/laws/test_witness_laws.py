"""Every witness is a pair of neighbours: of the relation, near enough, in order, and attained."""

import itertools
from collections import Counter
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

import tacit.statistics as ts
from support.examples import examples
from tacit.errors import InfeasibleError
from tacit.statistics.counts_and_sums import Histogram
from tacit.statistics.global_sensitivity import lookup
from tacit.statistics.statistic import distance_between

NAMES = ["count", "sum", "mean", "median", "percentile(30)", "min", "max", "var", "std"]
STATISTICS = [*NAMES, "var(ddof=1)", Histogram([-9, 0, 2, 9]), max]
RELATIONS = ["unbounded", "add", "remove", "bounded"]


@st.composite
def domains(draw):
    values = draw(st.lists(st.integers(-3, 4), min_size=1, max_size=5))
    if draw(st.booleans()):
        values = [values[0]] * len(values)  # where nothing changes, most values are 0
    size = draw(st.none() | st.integers(1, len(values)))
    kind = draw(st.sampled_from([ts.Records, ts.Values]))
    return kind(values, size=size), draw(st.permutations(values))[: size or 3]


def moved(x, y):
    """How many records went, and how many came."""
    u, v = Counter(x), Counter(y)
    return (u - v).total(), (v - u).total()


def counts(relation, gone, come, distance):
    if relation == "bounded":
        return 1 <= gone == come <= distance
    one_way = {"add": gone == 0, "remove": come == 0}.get(relation, True)
    return one_way and 1 <= gone + come <= distance


def neighbours_of(x, over, relation, distance, least):
    """Every multiset that is a neighbour of x, by trying them all."""
    most = len(x) + distance
    if isinstance(over, ts.Records):
        have = Counter(over.sample.values())
    else:
        have = dict.fromkeys(over.sample.values(), most)
    choices = [range(min(n, most) + 1) for n in have.values()]
    for held in itertools.product(*choices):
        y = tuple(sorted(v for v, n in zip(have, held, strict=True) for _ in range(n)))
        if len(y) >= least and counts(relation, *moved(x, y), distance):
            yield y


def a_release_can_be_changed(over, at, relation, distance, least):
    values = over.sample.values()
    if at is not None:
        starts = [tuple(sorted(at))]
    else:
        sizes = [over.size] if over.size else range(least, min(len(values), 3) + least + 1)
        listed = isinstance(over, ts.Records)
        pick = itertools.combinations if listed else itertools.combinations_with_replacement
        starts = [x for size in sizes for x in pick(sorted(values), size)]
    return any(
        next(neighbours_of(x, over, relation, distance, least), None) is not None for x in starts
    )


@examples(3)
@given(
    case=domains(),
    statistic=st.sampled_from(STATISTICS),
    relation=st.sampled_from(RELATIONS),
    distance=st.integers(1, 3),
    local=st.booleans(),
)
def test_a_witness_is_a_pair_of_neighbours_that_attains_the_value(
    case, statistic, relation, distance, local
):
    over, at = case
    if not local:
        at = None
    asked = lookup(statistic)
    try:
        found = ts.sensitivity(statistic, over, at, distance, relation)
    except InfeasibleError:
        return  # no finite answer, or none that has a value on both sides
    least = asked.min_size
    if found.witness is None:
        assert found.method == "upper bound" or not a_release_can_be_changed(
            over, at, relation, distance, least
        )
        return
    x, y = found.witness
    assert counts(relation, *moved(x, y), distance)
    if at is not None:
        assert list(x) == sorted(at)
    elif over.size is not None:
        assert len(x) == over.size
    assert y in set(neighbours_of(x, over, relation, distance, least))
    here, there = (asked.of(side) for side in found.pair)
    gap = distance_between(here, there)
    assert gap == found.value or (isinstance(found.value, float) and gap <= found.value)


def test_what_cannot_move_has_a_witness_too():
    """A count under substitution and a median of equal records gave one release twice."""
    over = ts.Records([1, 2, 2, 5], size=2)
    same = [
        ts.sensitivity("count", over, relation="bounded"),
        ts.sensitivity("count", over, [2, 2], relation="bounded"),
        ts.sensitivity("median", ts.Values([7], size=2)),
        ts.sensitivity("sum", ts.Values([0], size=2)),
        ts.sensitivity(lambda x: 3.0, ts.Values([1, 2], size=2), relation="bounded"),
        ts.sensitivity("min", ts.Interval(0, 1), [0, 0, 0], relation="remove"),
    ]
    for found in same:
        x, y = found.witness
        assert found.value == Fraction(0)
        assert x != y


def test_there_is_no_witness_where_nobody_can_change():
    for found in (
        ts.sensitivity("mean", ts.Values([3], size=2), relation="bounded"),
        ts.sensitivity("mean", ts.Records([3, 4], size=2), relation="bounded"),
        ts.sensitivity("mean", ts.Records([3, 3, 3], size=2), relation="bounded"),
    ):
        assert found.value == 0
        assert found.witness is None


def test_a_lower_bound_has_a_pair_that_attains_it():
    found = ts.lower_bound(len, over=ts.Interval(0, 1, size=3), relation="bounded")
    x, y = found.witness
    assert counts("bounded", *moved(x, y), 1)
    assert found.value == 0
