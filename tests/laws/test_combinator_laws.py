"""What joins measurements keeps its map too: parallel, compose, select_best, over drawn parts.

Registered steps have their own laws; a combinator is no step, so it is held here, on measurements
that hypothesis puts together, by the same exact verification on every small data set.
"""

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from tacit import noise
from tacit.audit import verify
from tacit.core import (
    AbsoluteDistance,
    ChangeOneDistance,
    HammingDistance,
    Number,
    Space,
    SymmetricDistance,
    Vector,
    compose,
    parallel,
)
from tacit.errors import MismatchError
from tacit.mechanisms import Laplace, select_best, user_measurement
from tacit.transformations import Clamp, Count, Mean, Resize, Sum

QUARTERS = Number("float", 0, 1, grid=Fraction(1, 4))
ELEMENTS = [Number("int", 0, 3), QUARTERS]
SCALES = st.sampled_from([1, 2, "5/2"])
BIT = Space(Number("int", 0, 1), AbsoluteDistance())


def chains(space, source):
    """A drawn measurement on records: with a public size only where a step of its own sets it."""
    kind = source.draw(st.sampled_from(["count", "sum", "clamp", "resize", "mean"]))
    whole = isinstance(space.domain.element.grid, Fraction)
    scale = source.draw(SCALES)
    if kind == "clamp" and not whole:
        return space >> Clamp(1, 2) >> Sum() >> Laplace(scale)
    if kind == "resize" and not whole:
        return space >> Resize(2, 1) >> Sum() >> Laplace(scale)
    if kind == "mean" and not whole:
        return space >> Resize(2, 0) >> Mean() >> Laplace(scale)
    return space >> (Count() if kind == "count" else Sum()) >> Laplace(scale)


def data_sets(element, most):
    values = {1: [0, 1, 3], Fraction(1, 4): [0, 0.5, 1]}[element.grid or 1]
    return [
        list(chosen)
        for size in range(most + 1)
        for chosen in itertools.combinations_with_replacement(values, size)
    ]


@examples(0.12)
@given(source=st.data())
def test_parallel_keeps_its_map_whatever_its_parts_are(source):
    element = source.draw(st.sampled_from(ELEMENTS))
    space = Space(Vector(element), SymmetricDistance())
    keys = source.draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True))
    parts = {key: chains(space, source) for key in keys}
    place = {v: source.draw(st.sampled_from("abcd")) for v in (0, 0.5, 1, 3)}
    m = parallel(parts, by=lambda value: place[value])
    verify(m, data_sets(element, 2), d_in=2).or_raise()


@pytest.mark.parametrize("metric", [SymmetricDistance(), ChangeOneDistance(), HammingDistance()])
@pytest.mark.parametrize("step", [Count(), Sum(), Mean()])
def test_a_map_that_rests_on_a_public_size_is_not_split(metric, step):
    """A part of two records has a neighbour of three: of that the map of a size says nothing."""
    sized = Space(Vector(int, bounds=(0, 3), size=4), metric)
    m = sized >> step >> Laplace(1)
    with pytest.raises(MismatchError, match="symmetric distance"):
        parallel({0: m, 1: m}, by=lambda value: value % 2)


def test_nor_is_one_after_resize():
    column = Space(Vector(int, bounds=(0, 3)), SymmetricDistance())
    resized = (column >> Resize(4, 0)).output
    with pytest.raises(MismatchError, match=r"resize within the chain of each part"):
        parallel({0: resized >> Count() >> Laplace(1)}, by=lambda value: value % 2)


@pytest.mark.few(4)
@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("step", [Sum(), Mean()])
def test_parts_that_come_apart_may_have_public_sizes(size, step):
    sized = Space(Vector(int, bounds=(0, 2), size=size), SymmetricDistance())
    m = parallel(dict.fromkeys("ab", sized >> step >> Laplace(1)))
    columns = list(itertools.combinations_with_replacement((0, 2), size))
    data = [{"a": list(a), "b": list(b)} for a, b in itertools.product(columns, repeat=2)]
    assert verify(m, data, d_in=2).or_raise().tight


def test_a_function_of_records_sees_values_and_not_grid_units():
    gridded = Space(Vector(QUARTERS), SymmetricDistance())
    count = gridded >> Count() >> Laplace("1/1000")
    seen = []

    def large(value):
        seen.append(value)
        return value >= 1

    m = parallel({True: count, False: count}, by=large)
    assert m([0.25, 0.5, 1]) == {True: 1, False: 2}
    assert seen == [0.25, 0.5, 1.0]


class Hostile:
    """A key that looks like a known one, and fails when it is compared with it."""

    def __hash__(self):
        return hash("a")

    def __eq__(self, other):
        raise RuntimeError("no record may stop a release")


def test_a_key_that_fails_when_compared_is_in_no_part():
    column = Space(Vector(int), SymmetricDistance())
    count = column >> Count() >> Laplace("1/1000")
    assert parallel({"a": count}, by=lambda _: Hostile())([1, 2]) == {"a": 0}


@examples(0.08)
@given(source=st.data())
def test_composition_keeps_its_map_and_lists_its_distribution(source):
    element = source.draw(st.sampled_from(ELEMENTS))
    space = Space(Vector(element), SymmetricDistance())
    m = compose([chains(space, source) for _ in range(source.draw(st.integers(1, 2)))])
    verify(m, data_sets(element, 1), d_in=2).or_raise()


def weighted(weights):
    """A measurement on one bit: index i with a probability in proportion to its weight."""
    laws = [{i: Fraction(w, sum(side)) for i, w in enumerate(side)} for side in weights]
    ratios = [abs(math.log(laws[0][i] / laws[1][i])) for i in laws[0]]
    claim = Fraction(max(ratios)) + Fraction(1, 10**9)
    return user_measurement(
        BIT,
        lambda bit: int(noise.categorical(weights[bit])),
        lambda d: claim * d,
        distribution=lambda bit: laws[bit],
    )


SCORES = st.sampled_from([math.nan, -math.inf, 0.0, 1.0, 2.0, math.inf, None, "no number"])


@pytest.mark.full
@examples(0.2)
@given(
    scores=st.lists(SCORES, min_size=3, max_size=3),
    weights=st.lists(st.integers(1, 9), min_size=6, max_size=6),
    stop=st.sampled_from(["1/2", "1/10", "1/30"]),
)
def test_select_best_keeps_its_loss_whatever_is_scored(scores, weights, stop):
    """NaN among the scores too: it is the lowest, however often and whenever it comes."""
    m = weighted([weights[:3], weights[3:]])
    verify(select_best(m, scores.__getitem__, stop)).or_raise()


@pytest.mark.slow
@pytest.mark.parametrize("scores", [[math.nan, 1.0, 2.0], [0.0, 0.0, None]], ids=repr)
def test_select_best_keeps_its_loss_where_it_rarely_stops(scores):
    m = weighted([[1, 5, 9], [9, 2, 7]])
    verify(select_best(m, scores.__getitem__, "1/1000")).or_raise()


HIGHEST_FIRST = [10**400, 2.5, Fraction(1, 3), np.float32(0.25), Decimal("-1e400"), -math.inf]
LOWEST = [math.nan, np.float32("nan"), Decimal("sNaN"), None, "7", 1j]


@pytest.mark.parametrize("bad", LOWEST, ids=repr)
@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_a_score_that_is_no_number_is_the_lowest_in_whatever_order_it_comes(
    monkeypatch, order, bad
):
    """The run that is released is the earliest of the highest score, whatever stood before it."""
    for low, high in itertools.combinations([*HIGHEST_FIRST[::-1], math.inf], 2):
        scores = [bad, low, high]
        runs = iter(order)
        m = user_measurement(BIT, lambda _: next(runs), lambda d: d)  # noqa: B023
        stops = iter([False, False, True])
        monkeypatch.setattr(noise, "bernoulli", lambda _: next(stops))  # noqa: B023
        assert select_best(m, scores.__getitem__, "1/10")(0) == 2, (scores, order)


def test_a_score_that_fails_is_the_lowest(monkeypatch):
    runs, stops = iter(["x", "3", "y"]), iter([False, False, True])
    monkeypatch.setattr(noise, "bernoulli", lambda _: next(stops))
    assert (
        select_best(user_measurement(BIT, lambda _: next(runs), lambda d: d), float, "1/2")(0)
        == "3"
    )
