"""What an answer about a sensitivity says of itself: its value, its witness, what it is not."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import tacit as tc
import tacit.statistics as ts
from support.by_hand import statistics_oracle as oracle
from support.examples import examples
from tacit.errors import InfeasibleError, UsageError
from tacit.statistics import lower_bound
from tacit.statistics.lower_bounds import samples_needed
from tacit.statistics.result import differing_pair
from tacit.statistics.statistic import Statistic

POPULATION = tc.Records([1, 2, 2, 5, 9], size=3)


def cells(found):
    (table,) = found.card().parts
    return dict(table.rows)


@pytest.mark.parametrize("statistic", ["mean", "median", "sum", "max"])
@pytest.mark.parametrize("relation", ["unbounded", "bounded", "add", "remove"])
def test_the_witness_that_is_shown_attains_the_value_that_is_shown(statistic, relation):
    found = tc.sensitivity(statistic, over=POPULATION, relation=relation)
    shown = cells(found)
    pair = [[float(v) for v in shown[n].split(", ")] for n in ("a data set", "its neighbour")]
    gap = abs(getattr(np, statistic)(pair[0]) - getattr(np, statistic)(pair[1]))
    assert gap == pytest.approx(float(found))
    assert shown["neighbours"] == f"{relation}, within 1"
    assert found.method in shown["found by"]


def test_long_witnesses_are_cut_and_counted():
    found = tc.sensitivity("mean", over=tc.Values(range(5), size=100))
    assert ", and 76 more" in cells(found)["a data set"]


def test_what_is_no_guarantee_says_so():
    local = tc.sensitivity("mean", over=POPULATION, at=[1, 2, 2])
    assert local.card().title == "Local sensitivity of mean"
    assert any("no guarantee: it is local" in note for note in local.card().notes)
    assert tc.sensitivity("mean", over=POPULATION).card().notes == []
    assert lower_bound(np.mean, POPULATION).card().notes


# Every closed form and polynomial algorithm against plain enumeration in exact rationals.


RELATIONS = ["unbounded", "add", "remove", "bounded"]
NAMES = [name for name in oracle.VALUES if name != "var"]
OF_ONE_SIZE = {"trimmed_mean(0.25)", "winsorized_mean(0.25)", "mad", "gini", "mode"}
"""Those whose closed forms are of a size, or over an interval: the search answers the rest."""
SEARCHED = OF_ONE_SIZE | {
    name for name in NAMES if type(ts.lookup(name)).answer is Statistic.answer
}
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
        assert differing_pair(answer.question, answer.statistic.min_size) is None
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
    k = question.distance if question._requested_distance is None else question._requested_distance
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


BETWEEN_THE_ENDS = ("mad", "mode")
"""Those of which the worst releases have records in between: test_spread.py enumerates them."""


@pytest.mark.full
@examples(0.8)
@given(
    st.fractions(-5, 5, max_denominator=3),
    st.fractions(0, 9, max_denominator=3),
    st.integers(1, 4),
    st.integers(1, 3),
    st.sampled_from([name for name in NAMES if name not in BETWEEN_THE_ENDS]),
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


# Lower bounds by local search: attained, never above the truth, and no guarantee.


@examples(0.8)
@given(
    st.lists(st.integers(-9, 9), min_size=2, max_size=8),
    st.sampled_from(["unbounded", "add", "remove", "bounded"]),
    st.sampled_from(["mean", "median", "sum"]),
    st.data(),
)
def test_a_lower_bound_is_attained_and_not_above_the_truth(
    population: list[int], relation: Any, name: str, data: Any
) -> None:
    n = data.draw(st.integers(1, len(population)))
    k = data.draw(st.integers(1, 3))
    at = data.draw(st.one_of(st.none(), st.permutations(population).map(lambda p: p[:n])))
    for over in (
        ts.Records(population, size=n),
        ts.Values(population, size=n),
        ts.Interval(min(population), max(population), size=n),
    ):
        try:
            truth = ts.sensitivity(name, over, at, k, relation)
        except InfeasibleError:
            continue
        found = ts.lower_bound(name, over, at, k, relation, evaluations=1500)
        assert found.value <= truth.value
        assert found.method == "lower bound"
        assert not found.exact
        assert not found.is_guarantee
        assert "lower bound" in str(found.why_no_guarantee)
        if found.witness is None:
            assert found.value == truth.value == 0
            assert differing_pair(found.question) is None
            continue
        statistic = ts.lookup(name)
        x, y = (statistic.of(side) for side in found.pair or ())
        assert abs(x - y) == found.value  # type: ignore[operator]


def test_local_search_reaches_what_search_cannot() -> None:
    over = ts.Records(range(200), size=100)
    with pytest.raises(InfeasibleError, match="lower_bound"):
        ts.sensitivity(np.ptp, over)
    # {0..98, 199} and {0..98} are 101 apart; a search need not find them.
    assert 99 <= ts.lower_bound(np.ptp, over).value <= 101
    with pytest.raises(InfeasibleError, match="size"):
        ts.lower_bound(np.ptp, ts.Interval(0, 1))


def test_a_lower_bound_sorts_what_it_picks():
    """The pool lists the release first, so its picks do not ascend by themselves."""
    found = ts.lower_bound("median", over=ts.Records([0, 0, 1, 0], 3), at=[0, 0, 1], relation="add")
    assert found.value == 0
    assert found.witness == ((0, 0, 1), (0, 0, 0, 1))


# Sensitivity sampling: how many samples are needed, and that it is no guarantee.


@pytest.mark.parametrize("gamma", [0.4, 0.1, 0.05, 0.01])
def test_the_number_of_samples_is_enough_and_close_to_least(gamma: float) -> None:
    count, rank = samples_needed(gamma)
    assert rank <= count

    def failure(m: int, k: int, rho: float) -> float:
        return rho + 1 - k / m + math.sqrt(math.log(1 / rho) / (2 * m))

    rhos = np.geomspace(1e-9, 0.5, 4000)
    assert min(failure(count, rank, rho) for rho in rhos) <= gamma * (1 + 1e-6)
    fewer = int(count * 0.99)
    assert min(failure(fewer, fewer, rho) for rho in rhos) > gamma


def test_sampled_sensitivity() -> None:
    draw = np.random.default_rng(3).random
    found = ts.sampled_sensitivity("mean", draw, 20, samples=500)
    assert 0 < found.value <= 1 / 20
    assert found.rank == found.samples == 500
    assert 0.05 < found.gamma < 0.1
    assert not found.is_guarantee
    assert "random differential privacy" in found.why_no_guarantee
    for wrong in ({}, {"gamma": 0.1, "samples": 5}, {"gamma": 1}, {"gamma": 0}):
        with pytest.raises(UsageError):
            ts.sampled_sensitivity("mean", draw, 20, **wrong)
    with pytest.raises(UsageError, match="must return that many"):
        ts.sampled_sensitivity("mean", lambda count: [1.0], 20, samples=5)
