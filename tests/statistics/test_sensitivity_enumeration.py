"""Every closed form and polynomial algorithm against plain enumeration in exact rationals."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import tacit.statistics as ts
from support.by_hand import statistics_oracle as oracle
from support.examples import examples
from tacit.errors import InfeasibleError
from tacit.statistics.result import differing_pair
from tacit.statistics.statistic import Statistic

RELATIONS = ["unbounded", "add", "remove", "bounded"]
NAMES = [name for name in oracle.VALUES if name != "var"]
SEARCHED = {name for name in NAMES if type(ts.lookup(name)).answer is Statistic.answer}
"""Without a closed form: a search has no end over releases of every size."""
MOST = examples(9)
SOME = examples(4)

numbers = st.one_of(
    st.integers(-3, 3).map(Fraction),  # many ties
    st.integers(-100, 100).map(Fraction),
    st.fractions(-9, 9, max_denominator=4),
    st.sampled_from([Fraction(10**9), Fraction(-(10**6)), Fraction(0)]),
)
populations = st.lists(numbers, min_size=1, max_size=6)


@st.composite
def over_records(draw: Any) -> tuple[list[Fraction], int | None, frozenset[int] | None, int]:
    population = sorted(draw(populations))
    size = draw(st.one_of(st.none(), st.integers(1, len(population))))
    at = None
    if draw(st.booleans()):
        everyone = st.permutations(range(len(population)))
        held = size or draw(st.integers(1, len(population)))
        at = frozenset(draw(everyone)[:held])
    return population, size, at, draw(st.integers(1, len(population) + 1))


@st.composite
def over_values(draw: Any) -> tuple[list[Fraction], int | None, tuple[Fraction, ...] | None, int]:
    values = sorted(draw(st.sets(numbers, min_size=1, max_size=3)))
    size = draw(st.one_of(st.none(), st.integers(1, 3)))
    at = None
    if draw(st.booleans()):
        held = size or draw(st.integers(1, 3))
        at = tuple(draw(st.lists(st.sampled_from(values), min_size=held, max_size=held)))
    return values, size, at, draw(st.integers(1, 3))


def fewest_of(name: str) -> int:
    """The fewest records of a release: none where the statistic has a value on none."""
    return 0 if name in oracle.ON_EMPTY else 1


def check_witness(
    answer: ts.Sensitivity, value: oracle.Value, truth: Fraction, fewest: int = 1
) -> None:
    if answer.witness is None:  # no release can be changed: held by tests/laws/test_witness_laws.py
        assert truth == 0
        assert differing_pair(answer.question, answer.statistic.least) is None
        return
    x, y = (tuple(map(Fraction, side)) for side in answer.witness)
    assert min(len(x), len(y)) >= fewest
    assert x != y
    assert abs(value(x) - value(y)) == truth
    lost, gained = (Counter(x) - Counter(y)).total(), (Counter(y) - Counter(x)).total()
    question = answer.question
    k, relation = question.distance, question.relation
    # Records with equal values may have changed places too, so exactly k is an upper limit here.
    if relation == "bounded":
        assert len(x) == len(y)
        assert lost <= k
    else:
        assert lost + gained <= k
    if not question.within and relation != "bounded":
        assert abs(len(x) - len(y)) == k
    if question.size is not None:
        assert len(x) == question.size
        assert relation != "add" or len(y) > len(x)
        assert relation != "remove" or len(y) < len(x)
    if question.at is not None:
        assert x == tuple(question.at.fractions())
    if question.population is not None:
        have = Counter(question.domain.sample.fractions())
        assert not Counter(x) - have
        assert not Counter(y) - have


@MOST
@given(over_records(), st.sampled_from(NAMES), st.sampled_from(RELATIONS), st.booleans())
@example(([Fraction(v) for v in (-9, 1, 2, 5)], 2, None, 2), "sum", "unbounded", True)
@example(([Fraction(3)], 1, frozenset([0]), 1), "mean", "bounded", True)
@example(([Fraction(v) for v in (0, 1, 2, 5, 9, 99)], None, None, 6), "sum", "bounded", True)
def test_known_population(
    case: tuple[list[Fraction], int | None, frozenset[int] | None, int],
    name: str,
    relation: Any,
    within: bool,
) -> None:
    population, size, at, k = case
    over = ts.Records(population, size=size)
    release = None if at is None else [population[i] for i in at]
    try:
        found = ts.sensitivity(name, over, release, k, relation, within)
    except InfeasibleError:
        assert no_neighbour_at(len(population), size, at, k, relation, within, fewest_of(name))
        return
    value, fewest = oracle.VALUES[name], fewest_of(name)
    truth = oracle.over_records(value, population, size, k, relation, within, at, fewest=fewest)
    assert found.value == truth
    assert found.exact
    check_witness(found, value, truth, fewest)
    check_what_is_left_out(found, len(population), size if at is None else len(at), name)


def check_what_is_left_out(answer: ts.Sensitivity, n: int, size: int | None, name: str) -> None:
    """An answer says that the empty release is left out, if and only if it would be in question."""
    question = answer.question
    k = question.distance if question._asked is None else question._asked
    starts = range(n + 1) if size is None else [size]
    everything = list(oracle.subsets(n, range(n + 1)))
    concerned = any(
        oracle.is_asked(len(x - y), len(y - x), k, question.relation, question.within)
        for x in everything
        if len(x) in starts
        for y in everything
        if not x or not y
    )
    said = any("empty release" in note for note in answer.notes)
    assert said is (concerned and name not in oracle.ON_EMPTY)


def no_neighbour_at(
    n: int,
    size: int | None,
    at: frozenset[int] | None,
    k: int,
    relation: str,
    within: bool,
    fewest: int = 1,
) -> bool:
    """Whether no two releases have exactly that distance."""
    everything = list(oracle.subsets(n, range(fewest, n + 1)))
    starts = [at] if at is not None else [s for s in everything if size in (None, len(s))]
    return not any(
        oracle.is_asked(len(x - y), len(y - x), k, relation, within)
        and (max(len(x - y), len(y - x)) == k if relation == "bounded" else len(x ^ y) == k)
        for x in starts
        for y in everything
    )


@SOME
@given(over_values(), st.sampled_from(NAMES), st.sampled_from(RELATIONS), st.booleans())
def test_values_without_limit(
    case: tuple[list[Fraction], int | None, tuple[Fraction, ...] | None, int],
    name: str,
    relation: Any,
    within: bool,
) -> None:
    values, size, at, k = case
    fewest = fewest_of(name)
    sizes = [len(at)] if at else [size] if size else range(fewest, k + 3)
    try:
        found = ts.sensitivity(name, ts.Values(values, size=size), at, k, relation, within)
    except InfeasibleError:
        n = len(at) if at else size
        if n is None:
            assert name in SEARCHED
            return
        assert k > n - fewest if relation == "remove" else k > n
        return
    value = oracle.VALUES[name]
    truth = oracle.over_values(value, values, sizes, k, relation, within, at, fewest=fewest)
    assert found.value == truth
    check_witness(found, value, truth, fewest)


@pytest.mark.full
@examples(0.8)
@given(
    st.fractions(-5, 5, max_denominator=3),
    st.fractions(0, 9, max_denominator=3),
    st.integers(1, 4),
    st.integers(1, 3),
    st.sampled_from(NAMES),
    st.sampled_from(RELATIONS),
)
def test_an_interval_is_its_two_ends(
    lower: Fraction, width: Fraction, size: int, k: int, name: str, relation: Any
) -> None:
    """No release of a finer grid is worse than those of the two ends, which attain the value."""
    grid = {lower + i * width / 3 for i in range(4)}
    try:
        found = ts.sensitivity(name, ts.Interval(lower, lower + width, size), None, k, relation)
    except InfeasibleError:
        return
    truth = oracle.over_values(
        oracle.VALUES[name], sorted(grid), [size], k, relation, True, fewest=fewest_of(name)
    )
    assert found.value == truth


@SOME
@given(over_records(), st.sampled_from(list(oracle.ROOTS)), st.sampled_from(RELATIONS))
def test_square_roots(
    case: tuple[list[Fraction], int | None, frozenset[int] | None, int], name: str, relation: Any
) -> None:
    """To 40 digits here; exactly in ``variances/test_dispersion.py``."""
    population, size, at, k = case
    release = None if at is None else [population[i] for i in at]
    try:
        found = ts.sensitivity(name, ts.Records(population, size=size), release, k, relation)
    except InfeasibleError:
        assert no_neighbour_at(len(population), size, at, k, relation, True)
        return

    def root(x: tuple[Fraction, ...]) -> Fraction:
        scale = 10**40
        square = oracle.ROOTS[name](x)
        return Fraction(math.isqrt(square.numerator * scale**2 // square.denominator), scale)

    truth = oracle.over_records(root, population, size, k, relation, True, at)
    assert float(found.value) == pytest.approx(float(truth), rel=1e-12, abs=1e-30)


@examples(3)
@given(over_records(), st.sampled_from(RELATIONS), st.booleans(), st.sampled_from([None, 0, -9]))
def test_exhaustive_search_agrees_with_enumeration(
    case: tuple[list[Fraction], int | None, frozenset[int] | None, int],
    relation: Any,
    within: bool,
    empty: int | None,
) -> None:
    population, size, at, k = case
    release = None if at is None else ts.Sample([population[i] for i in at])
    fewest = 1 if empty is None else 0

    def odd(x: Any) -> Any:
        """Exact in floats on these populations, and of no special shape."""
        return 4 * x[0] - 3 * x[-1] + len(x) * x[len(x) // 3]

    try:
        over = ts.Records(population, size=size)
        found = ts.sensitivity(ts.Function(odd, empty=empty), over, release, k, relation, within)
    except InfeasibleError:
        assert no_neighbour_at(len(population), size, at, k, relation, within, fewest)
        return
    exact_population = [Fraction(float(v)) for v in population]
    truth = oracle.over_records(
        lambda x: Fraction(odd(sorted(x)) if x else empty or 0),
        exact_population,
        size,
        k,
        relation,
        within,
        at,
        fewest=fewest,
    )
    assert abs(found.value - truth) <= abs(truth) / 2**40  # a third is not a float
    if all(v.denominator in (1, 2, 4) for v in population):
        assert found.value == truth


def test_the_classic_population() -> None:
    over = ts.Records([1, 2, 3, 10, 11], size=3)
    assert ts.sensitivity("median", over, relation="bounded").value == 8
    assert ts.sensitivity("median", over).value == Fraction(9, 2)
    assert ts.sensitivity("median", over, at=[1, 2, 3]).value == Fraction(1, 2)
