"""Tables and functions over small value sets at a distance, against the definition."""

from __future__ import annotations

import contextlib
import itertools
import math
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.by_hand.at_distance import Release, by_definition, by_substitution, cases
from support.examples import examples
from tacit.errors import InfeasibleError, UsageError
from tacit.mechanisms.local_statistic import read_statistic
from tacit.statistics import Interval, Records, Sample, Values, rank_pairs
from tacit.statistics.global_sensitivity import lookup
from tacit.statistics.quantiles import InterquartileRange, percentile
from tacit.statistics.question import RELATIONS, Question
from tacit.statistics.search import Function
from tacit.statistics.smooth import (
    at_distance,
    distance_to_instability,
    local_sensitivity_at,
    smooth_sensitivity,
)
from tacit.statistics.variances import Variance

FEW = st.sampled_from([0, rank_pairs._FEW])
"""Pairs of ranks up to which all are looked at: none, so that squares of them are cut in four."""


@contextlib.contextmanager
def searched(few: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(rank_pairs, "_FEW", few)
        yield


@pytest.mark.few(4)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", ["mean", "median", "percentile(30)", "var", "std", "count"])
@examples(0.12)
@given(draw=st.data())
def test_tables_over_small_value_sets_equal_the_definition(
    name: str, relation: Any, draw: st.DataObject
) -> None:
    values = sorted(draw.draw(st.sets(st.integers(-5, 9), min_size=2, max_size=3)))
    data = draw.draw(st.lists(st.sampled_from(values), min_size=2, max_size=4))
    statistic = lookup(name)
    if name == "std":
        variance = Variance()
        truth = by_definition(lambda r: math.sqrt(variance.exact(r)), data, values, relation, 2)
        found = [
            local_sensitivity_at(name, data, None, t, relation, values=values) for t in (0, 1, 2)
        ]
        assert [float(a) for a in found] == pytest.approx([float(a) for a in truth])
        return
    truth = by_definition(statistic.exact, data, values, relation, 2)
    for t, expected in enumerate(truth):
        assert local_sensitivity_at(name, data, None, t, relation, values=values) == expected


def test_any_function_over_a_small_value_set() -> None:
    def most_common(records: Any) -> float:
        found, counts = np.unique(records, return_counts=True)
        return float(found[np.argmax(counts)])

    data, values = [1, 1, 1, 2, 7], [1, 2, 7]

    def exact(release: Release) -> Fraction:
        return Fraction(most_common(np.array([float(v) for v in release])))

    for relation in RELATIONS:
        truth = by_definition(exact, data, values, relation, 3)
        found = at_distance(most_common, data, None, relation, values=values, farthest=3)
        assert [found.at(t) for t in range(4)] == truth
    assert distance_to_instability(
        most_common, data, None, "1/2", "bounded", values=values
    ) == next(t for t, a in enumerate(by_definition(exact, data, values, "bounded", 3)) if a)


def test_tables_refuse_what_they_do_not_know() -> None:
    found = at_distance("median", [1, 2], None, "unbounded", values=[1, 2], farthest=1)
    with pytest.raises(InfeasibleError, match="larger farthest"):
        found.at(2)
    bounded = at_distance("median", [1, 2], None, "unbounded", values=[1, 2], largest=1)
    assert bounded.at(50) == 1
    with pytest.raises(InfeasibleError, match="fewer values"):
        at_distance("median", range(40), None, "bounded", values=range(40))
    with pytest.raises(UsageError, match="not one of the values"):
        at_distance("median", [1, 3], None, "bounded", values=[1, 2])


@pytest.mark.parametrize("distance", [0, 1, 2])
def test_the_last_record_may_leave_where_there_is_a_value_on_none(distance: int) -> None:
    declared = Function(np.ptp, empty=7)
    for statistic, worst in ((declared, 7), ("count", 1), ("sum", 3)):
        told = {"values": [1, 3], "relation": "remove", "distance": distance}
        local = local_sensitivity_at(statistic, [1, 3], **told)
        assert local == (worst if statistic != declared or distance else 2)
        assert local_sensitivity_at(statistic, [3], **told) == worst
    with pytest.raises(InfeasibleError, match="nothing would remain"):
        local_sensitivity_at("mean", [1], values=[1, 3], relation="remove")


# Smooth sensitivity and distance to instability against the plain definition.


NAMES = ["count", "sum", "mean", "median", "percentile(30)", "percentile(75)", "min", "max"]
NAMES += ["var", "std"]


def maximum(found: Any, beta: Fraction) -> mpmath.mpf:
    """``max_t exp(-beta t) A(t)`` over every t, to 50 digits."""
    with mpmath.workdps(50):
        rate = mpmath.mpf(beta.numerator) / beta.denominator
        best = mpmath.mpf(0)
        for t in range(found.last + 1):
            value = Fraction(found.at(t))
            best = max(best, mpmath.exp(-rate * t) * value.numerator / value.denominator)
        return best


def assert_safe(found: float, truth: mpmath.mpf) -> None:
    assert found >= truth
    assert found <= truth * (1 + mpmath.mpf("1e-6"))


@pytest.mark.few(4)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", NAMES)
@examples(0.15)
@given(
    data=st.lists(st.integers(0, 60), min_size=2, max_size=30),
    beta=st.fractions(Fraction(1, 500), 3, max_denominator=500).filter(bool),
)
def test_the_maximum_over_every_distance(
    name: str, relation: Any, data: list[int], beta: Fraction
) -> None:
    found = at_distance(name, data, (0, 60), relation)
    assert_safe(smooth_sensitivity(name, data, (0, 60), beta, relation), maximum(found, beta))


@pytest.mark.few(30)
@pytest.mark.parametrize("relation", ["bounded", "unbounded"])
@pytest.mark.parametrize("kind", ["lognormal", "ties", "two values", "far away", "tiny"])
@pytest.mark.parametrize("q", [50, 90, pytest.param(37, marks=pytest.mark.slow)])
def test_quantiles_of_many_records(q: int, kind: str, relation: Any) -> None:
    rng = np.random.default_rng(7)
    data, bounds = {
        "lognormal": (rng.lognormal(size=81), (0.0, 100.0)),
        "ties": (rng.integers(0, 8, size=80), (0, 20)),
        "two values": (rng.integers(0, 2, size=80), (0, 1)),
        "far away": (1e9 + rng.random(80), (1e9, 1e9 + 2)),
        "tiny": (rng.random(80) * 1e-200, (0.0, 1e-199)),
    }[kind]
    found = at_distance(f"percentile({q})", data, bounds, relation)
    for beta in (Fraction(1, 2), Fraction(1, 20), Fraction(1, 1000)):
        assert_safe(found.smooth(beta), maximum(found, beta))


@pytest.mark.few(2)
@pytest.mark.parametrize("relation", ["unbounded", "add", "remove"])
def test_means_are_safe(relation: Any) -> None:
    rng = np.random.default_rng(0)
    for round_ in range(20):
        size = int(rng.integers(2, 40))
        data = rng.integers(0, 20, size=size) if round_ % 2 else 20 * rng.random(size)
        found = at_distance("mean", data, (0, int(rng.choice([20, 25, 100]))), relation)
        for beta in (Fraction(1, 2), Fraction(1, 50)):
            assert_safe(found.smooth(beta), maximum(found, beta))


@pytest.mark.full
def test_a_maximum_cut_at_200_is_too_small() -> None:
    data = np.linspace(0, 1, 10_001)
    beta = Fraction(1, 1000)
    found = at_distance("median", data, (0, 1), "bounded")
    cut = max(math.exp(-float(beta) * t) * float(found.at(t)) for t in range(201))
    smooth = found.smooth(beta)
    assert cut < smooth / 2
    truth = max(math.exp(-float(beta) * t) * float(found.at(t)) for t in range(0, 3000, 10))
    assert smooth >= truth


MOVED = np.random.default_rng(3).integers(0, 40, size=60)


@pytest.mark.few(4)
@pytest.mark.parametrize("name", ["mean", "median", "percentile(25)", "max", "var", "std"])
def test_it_moves_by_no_more_than_beta_between_neighbours(name: str) -> None:
    beta = Fraction(1, 10)
    grows = math.exp(float(beta) + 1e-6)

    def exchanged(move: int) -> Any:
        other = MOVED.copy()
        other[move] = 50 - 5 * move
        return other

    neighbours: dict[Any, Any] = {
        "unbounded": [np.append(MOVED, 5 * move) for move in range(0, 10, 2)],
        "bounded": [exchanged(move) for move in range(0, 10, 2)],
    }
    for relation, others in neighbours.items():
        here = smooth_sensitivity(name, MOVED, (0, 50), beta, relation)
        for other in others:
            there = smooth_sensitivity(name, other, (0, 50), beta, relation)
            assert max(here, there) <= min(here, there) * grows


@pytest.mark.parametrize("relation", RELATIONS)
def test_it_is_above_zero_under_every_relation(relation: Any) -> None:
    assert smooth_sensitivity("median", MOVED, (0, 50), Fraction(1, 10), relation) > 0


def test_it_is_never_zero_where_the_truth_is_not() -> None:
    """All records equal: the median moves only after half of them did, at exp(-100,000)."""
    found = smooth_sensitivity("median", np.full(20_001, 3), (0, 10), 10, "bounded")
    assert found == math.nextafter(0.0, 1.0)
    assert smooth_sensitivity("count", [1, 2], (0, 9), 1, "bounded") == 0


def test_the_scale_of_the_data_is_the_scale_of_the_answer() -> None:
    rng = np.random.default_rng(11)
    data = rng.lognormal(size=1000)
    for relation in ("bounded", "unbounded"):
        one = smooth_sensitivity("median", data, (0, 64), "0.01", relation)  # type: ignore[arg-type]
        big = smooth_sensitivity("median", data * 2**40, (0, 64 * 2**40), "0.01", relation)  # type: ignore[arg-type]
        assert big == pytest.approx(one * 2**40, rel=1e-12)


@pytest.mark.few(4)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", NAMES)
@examples(0.15)
@given(
    data=st.lists(st.integers(0, 30), min_size=2, max_size=25),
    bound=st.fractions(Fraction(1, 10), 30, max_denominator=10),
    few=FEW,
)
def test_distance_to_instability_is_the_first_step_above(
    name: str, relation: Any, data: list[int], bound: Fraction, few: int
) -> None:
    found = at_distance(name, data, (0, 30), relation)
    first = next((t for t in range(found.last + 1) if found.exceeds(t, bound)), math.inf)
    with searched(few):
        assert distance_to_instability(name, data, (0, 30), bound, relation) == first
    if found.exact:
        assert first == next((t for t in range(found.last + 1) if found.at(t) > bound), math.inf)


def test_distance_to_instability_at_the_very_bound() -> None:
    """A(t) equal to the bound is within it."""
    assert local_sensitivity_at("median", [0, 2, 5], (0, 5), 0, "bounded") == 3
    assert distance_to_instability("median", [0, 2, 5], (0, 5), 3, "bounded") == 1
    assert (
        distance_to_instability("median", [0, 2, 5], (0, 5), "2.999999999999999999", "bounded") == 0
    )


def test_functions_over_small_value_sets() -> None:
    def second(records: Any) -> float:
        return float(np.sort(records)[min(1, len(records) - 1)])

    data, values = [1, 1, 4, 4, 9], [1, 4, 9]
    found = at_distance(second, data, None, "bounded", values=values)
    beta = Fraction(1, 3)
    smooth = smooth_sensitivity(second, data, None, beta, "bounded", values=values)
    assert_safe(smooth, maximum(found, beta))
    with pytest.raises(InfeasibleError, match="largest"):
        smooth_sensitivity(second, data, None, beta, values=values)
    known = smooth_sensitivity(second, data, None, beta, values=values, farthest=3, largest=8)
    assert_safe(
        known, maximum(at_distance(second, data, None, values=values, farthest=3, largest=8), beta)
    )


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: smooth_sensitivity("median", [1], (0, 1)), "give beta"),
        (lambda: smooth_sensitivity("median", [1], (0, 1), 0), "beta must be above zero"),
        (lambda: smooth_sensitivity("median", [1], (0, 1), -1), "beta must be above zero"),
        (lambda: smooth_sensitivity("median", [1], (0, 1), math.nan), "finite"),
        (lambda: smooth_sensitivity("median", [1], None, 1), "give bounds"),
        (lambda: distance_to_instability("median", [1], (0, 1)), "give bound"),
        (lambda: distance_to_instability("median", [1], (0, 1), 0), "bound must be above zero"),
        (lambda: distance_to_instability("median", [], (0, 1), 1), "empty"),
        (lambda: distance_to_instability("median", [1], (1, 0), 1), "lower below upper"),
    ],
)
def test_bad_questions_say_what_to_do(ask: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ask()


# Distances to instability of many bounds at once are those found one distance after another.


STATISTICS = ["median", "percentile(30)", "max", "mean", "sum", "var", "std", "interquartile_range"]


@pytest.mark.few(24)
@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
@pytest.mark.parametrize("statistic", [*STATISTICS, "trimmed_mean(1/4)"])
def test_bounds_together_are_bounds_one_by_one(statistic: str, relation: str) -> None:
    if statistic.startswith("trimmed") and relation == "unbounded":
        pytest.skip("no algorithm where records join and leave")
    random_source = random.Random(5)
    for size in (1, 2, 3, 6, 9):
        data = [random_source.choice([0, 1, 2.5, 3.25, 7, 9, 10]) for _ in range(size)]
        a = at_distance(read_statistic(statistic), data, (0, 10), relation)
        bounds = sorted({Fraction(random_source.randint(1, 400), 40) for _ in range(9)})
        slow = [
            next((t for t in range(a.last + 1) if a.exceeds(t, bound)), None) for bound in bounds
        ]
        assert a.instabilities(bounds) == slow
        assert [a.instability(bound) for bound in bounds] == slow


def test_floats_decide_only_where_they_are_sure() -> None:
    """Bounds that equal ``A(t)``, or miss it by less than a float can tell, of 5,000 records."""
    data = np.random.default_rng(3).normal(50, 10, 5000).clip(0, 100)
    a = at_distance("mean", data, (0, 100), "unbounded")
    for t in (0, 1, 300, 4999):
        exact = a.at(t)
        assert not a.exceeds(t, Fraction(exact))
        assert a.exceeds(t, Fraction(exact) - Fraction(1, 10**40))
        assert not a.exceeds(t, Fraction(exact) + Fraction(1, 10**40))


# Variances at a distance: the definition by substitution, never below it elsewhere.


@pytest.mark.few(3)
@pytest.mark.parametrize(("size", "top", "step"), [(2, 6, 1), (3, 8, 2), (4, 6, 3)])
@examples(0.6)
@given(draw=st.data(), ddof=st.integers(0, 1), farthest=st.integers(0, 3))
def test_variance_by_substitution_equals_the_definition(
    size: int, top: int, step: int, draw: st.DataObject, ddof: int, farthest: int
) -> None:
    """The grid holds every mean of ``size - 1`` records, where the best new record may stand."""
    records = st.sampled_from(range(0, top + 1, step))
    data = draw.draw(st.lists(records, min_size=size, max_size=size))
    statistic = Variance(ddof=ddof)
    truth = by_definition(statistic.exact, data, list(range(top + 1)), "bounded", farthest)
    found = at_distance(statistic, data, (0, top), "bounded")
    assert found.exact
    assert [found.at(t) for t in range(farthest + 1)] == truth


def test_variance_with_records_joining_is_tight_where_data_are_concentrated() -> None:
    data, values = [1, 1, 2, 2], [0, 1, 2, 12]
    statistic = lookup("var")
    for relation in ("unbounded", "add"):
        truth = by_definition(statistic.exact, data, values, relation, 1)
        found = at_distance(statistic, data, (0, 12), relation)
        assert [found.at(t) for t in (0, 1)] == pytest.approx([float(a) for a in truth], rel=1e-6)


# Percentiles at a distance equal the definition, and are never below it.


@examples(1.5)
@given(case=cases(3), q=st.fractions(0, 1, max_denominator=12), few=FEW)
def test_any_percentile_equals_the_definition(
    case: tuple[list[int], list[int], str, int], q: Fraction, few: int
) -> None:
    data, values, relation, farthest = case
    statistic = percentile(100 * q)
    truth = by_definition(statistic.exact, data, values, relation, farthest)
    found = at_distance(statistic, data, (values[0], values[-1]), relation)
    with searched(few):
        assert [found.at(t) for t in range(farthest + 1)] == truth


@examples(0.6)
@given(case=cases(3))
def test_awkward_percentiles_are_never_below_the_definition(
    case: tuple[list[int], list[int], str, int],
) -> None:
    """A q with a huge denominator: exact, but for records that only join."""
    data, values, relation, farthest = case
    statistic = percentile(100 * Fraction(0.3))
    truth = by_definition(statistic.exact, data, values, relation, farthest)
    found = at_distance(statistic, data, (values[0], values[-1]), relation)
    profile = [found.at(t) for t in range(farthest + 1)]
    assert found.exact == (relation != "add")
    if found.exact:
        assert profile == truth
    assert all(a >= b for a, b in zip(profile, truth, strict=True))


# Interquartile ranges at a distance, against the definition.


@examples(0.6)
@given(
    data=st.lists(st.sampled_from([0, 1, 5, 12]), min_size=2, max_size=5),
    steps=st.integers(0, 2),
)
def test_interquartile_range_is_never_below_the_definition(data: list[int], steps: int) -> None:
    statistic = InterquartileRange()
    found = at_distance(statistic, data, (0, 12), "bounded")
    assert not found.exact
    assert found.at(steps) >= by_substitution(statistic, data, [0, 1, 5, 12], steps)
    assert statistic(data) == pytest.approx(float(statistic.exact(sorted(map(Fraction, data)))))


@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
def test_the_bound_is_within_the_range_of_the_statistic(relation: str) -> None:
    """24 was said within bounds of 0 and 12."""
    found = at_distance("interquartile_range", [0, 1, 11, 12], (0, 12), relation)
    assert max(found.at(t) for t in range(found.last + 2)) == 12
    assert found.smooth(Fraction(1, 100)) <= 12.0001
    assert found.instability(Fraction(12)) is None
    assert found.instability(Fraction(11)) is not None


# The question: which moves count, how far any two releases are, and what cannot be asked.


POPULATION = [1, 2, 2, 5, 9]


def moves_by_listing(n: int, relation: str, k: int, within: bool) -> set[tuple[int, int]]:
    """Every pair of releases of people, by who is in one and not in the other."""
    people = range(len(POPULATION))
    found = set()
    for x in itertools.combinations(people, n):
        for size in range(1, len(POPULATION) + 1):
            for y in itertools.combinations(people, size):
                r, a = len({*x} - {*y}), len({*y} - {*x})
                steps = r if relation == "bounded" else r + a
                fits = {
                    "unbounded": within or 0 in (r, a),
                    "add": r == 0,
                    "remove": a == 0,
                    "bounded": r == a,
                }[relation]
                if fits and (1 <= steps <= k if within else steps == k):
                    found.add((r, a))
    return found


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("within", [True, False])
@pytest.mark.parametrize("n", [1, 3, 5])
def test_moves_are_those_of_pairs_of_releases(n: int, within: bool, relation: Any) -> None:
    for k in range(1, 5):
        expected = moves_by_listing(n, relation, k, within)
        try:
            question = Question(Records(POPULATION, size=n), None, k, relation, within)
        except InfeasibleError:
            assert not within or relation in ("add", "remove")
            assert not expected
            continue
        assert set(question.moves(n)) == expected
        assert set(question.frontier(n)) <= expected
        if relation != "unbounded" or not within:
            assert set(question.frontier(n)) == expected


@pytest.mark.parametrize("relation", RELATIONS)
def test_within_more_than_there_is_stands_as_the_farthest(relation: Any) -> None:
    question = Question(Records(POPULATION, size=2), None, 99, relation)
    assert question.distance == question.farthest()
    (told,) = question.left_out()
    assert "99" in told
    with pytest.raises(InfeasibleError, match="greatest distance"):
        Question(Records(POPULATION, size=2), None, 99, relation, within=False)


def test_values_repeat_without_limit_and_any_distance_is_there() -> None:
    for domain in (Values([0, 1], size=3), Interval(0, 1, size=3)):
        question = Question(domain, None, 50, "add")
        assert (question.population, question.farthest()) == (None, math.inf)
        assert question.max_added(3) == math.inf
        assert question.left_out() == ()


def test_a_release_leaves_the_others_of_its_population() -> None:
    question = Question(Records(POPULATION), Sample([2, 5]))
    assert [int(v) for v in question.rest.fractions()] == [1, 2, 9]
    assert (question.size, question.population, question.smallest()) == (2, 5, 1)
    with pytest.raises(UsageError, match="known population"):
        _ = Question(Values([2, 5]), Sample([2, 5])).rest


@pytest.mark.parametrize(
    ("domain", "at", "more", "said"),
    [
        (Records(POPULATION), [2, 2, 2], {}, "2 3 times, but it exists 2"),
        (Records(POPULATION), [7], {}, "not a part of the population: 7"),
        (Records(POPULATION, size=3), [2], {}, "has size=3"),
        (Values([0, 1]), [2], {}, "not in the value set: 2"),
        (Interval(0, 1), [0, 2], {}, "outside"),
        (Records(POPULATION), None, {"relation": "bound"}, "did you mean 'bounded'"),
        (Records(POPULATION), None, {"distance": 0}, "at least 1"),
        (Records(POPULATION), None, {"distance": 1.5}, "distance"),
    ],
)
def test_what_cannot_be_asked_is_refused(domain: Any, at: Any, more: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Question(domain, None if at is None else Sample(at), **more)


def test_what_the_domain_cannot_make_is_told() -> None:
    bounded = Question(Records(POPULATION, size=4), None, 3, "bounded")
    assert bounded.left_out() == ("only 1 records are left to substitute",)
    exactly = Question(Records(POPULATION, size=2), None, 3, "unbounded", within=False)
    assert exactly.left_out() == ("3 records cannot be removed from 2: only additions count",)
    other = Question(Records(POPULATION, size=4), None, 3, "unbounded", within=False)
    assert other.left_out() == ("3 records cannot be added, as 1 are left: only removals count",)
