"""Propose-test-release held to its definition, and the textbook's variant shown to fail it."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tacit.audit import verify
from tacit.core import ApproximateDP, ChangeOneDistance, Number, Space, Vector
from tacit.errors import UsageError
from tacit.mechanisms import measurement
from tacit.mechanisms.local_statistic import column_space
from tacit.mechanisms.output_distribution import FiniteDistribution
from tacit.mechanisms.propose_test_release import (
    BoundedAnswer,
    LocalMode,
    TestedRelease,
    passing_threshold,
    propose_bound,
    propose_test_release,
)
from tacit.noise import DiscreteLaplace, Enclosure
from tacit.statistics.smooth import distance_to_instability

STATISTICS = ["median", "percentile(30)", "mean", "var", "std", "interquartile_range", "max"]


WHOLE = pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
"""On data sets of a few records, and in the full run on those of one or two more."""


def largest(relation: str, whole: bool) -> int:
    """How many records there are at most: of few records, three that are exchanged or two."""
    return 4 if whole else 3 if relation == "bounded" else 2


def data_sets(values: list[Any], relation: str, most: int) -> list[list[Any]]:
    """Every multiset of the values: of each size up to ``most``, or of that size alone."""
    sizes = range(most + 1) if relation == "unbounded" else [most]
    return [
        list(m) for size in sizes for m in itertools.combinations_with_replacement(values, size)
    ]


@pytest.mark.few(8)
@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
@pytest.mark.parametrize("statistic", STATISTICS)
@WHOLE
def test_the_claim_holds_on_all_neighbours(statistic: str, relation: str, whole: bool) -> None:
    m = propose_test_release(statistic, (0, 9), "3/2", 2, "1/10", relation, grid="3/2", split="2/3")
    verdict = verify(m, data_sets([0, 4, 9], relation, largest(relation, whole)))
    assert verdict, str(verdict)
    assert verdict.kind == "exact"


@pytest.mark.few(4)
@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
@pytest.mark.parametrize("statistic", ["percentile(30)", "var", "max"])
def test_a_threshold_that_is_too_low_is_caught_on_few_records(
    statistic: str, relation: str
) -> None:
    """The check has teeth on the small domain, too."""
    m: Any = propose_test_release(
        statistic, (0, 9), "3/2", 2, "1/10", relation, grid="3/2", split="2/3"
    )
    m.threshold -= 2
    assert verify(m, data_sets([0, 4, 9], relation, largest(relation, whole=False))).broken


@pytest.mark.few(2)
@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
@WHOLE
def test_a_grid_that_does_not_divide_the_bound_is_charged(relation: str, whole: bool) -> None:
    m = propose_test_release("mean", (0, 9), 2, 2, "1/10", relation, grid="3/4")
    verdict = verify(m, data_sets([0, 4, 9], relation, largest(relation, whole)))
    assert verdict, str(verdict)


@pytest.mark.few(2)
@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
@WHOLE
def test_functions_of_a_few_values(relation: str, whole: bool) -> None:
    def gap(records: Any) -> float:
        return float(np.diff(np.sort(records)).max())  # raises on a single record

    m = propose_test_release(gap, (0, 9), 4, 2, "1/10", relation, values=[0, 4, 9], grid=1)
    verdict = verify(m, data_sets([0, 4, 9], relation, largest(relation, whole)))
    assert verdict, str(verdict)


@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
def test_the_mode(relation: str) -> None:
    labels = ["x", "y", "z"]
    m = propose_test_release("mode", None, None, 1, "1/10", relation, values=labels)
    verdict = verify(m, data_sets(labels, relation, 5))
    assert verdict, str(verdict)
    space = column_space(None, relation, labels)
    mode = LocalMode(space)
    all_sets = data_sets(labels, relation, 6)
    for data in all_sets[::5]:
        other = [
            int(space.metric.distance(data, other))
            for other in all_sets
            if mode.value(mode.read(other)) != mode.value(mode.read(data))
        ]
        reached = mode.distance(mode.read(data))
        if relation == "bounded" or len(data) <= 3:  # nearer than the edge of the list
            assert reached is not None
            assert reached + 1 == min(other)


@WHOLE
def test_the_bound_alone_keeps_its_claim_in_pure_dp(whole: bool) -> None:
    m = propose_bound("median", (0, 8), 2, reach=1, ratio=2, rungs=3)
    assert m.map(2) == 4
    verdict = verify(m, data_sets([0, 3, 8], "unbounded", largest("unbounded", whole)))
    assert verdict, str(verdict)


def textbook(epsilon: Fraction, delta: Fraction, bound: int, rate: int) -> Any:
    """Lap(1/epsilon) on the distance, threshold ln(2/delta)/(2 epsilon), noise Lap(b/epsilon).

    In discrete noise, on whole-numbered medians of records 0 to 8, bounded neighbours; its claim is
    (rate epsilon, delta).
    """
    space = Space(Vector(Number("float", 0, 8)), ChangeOneDistance())
    threshold = math.log(2 / delta) / (2 * epsilon)
    test, noise = DiscreteLaplace(1 / epsilon), DiscreteLaplace(bound / epsilon)

    def law(records: Any) -> FiniteDistribution:
        distance = distance_to_instability("median", records, (0, 8), bound, "bounded")
        passes = Enclosure.of(1)
        if math.isfinite(distance):
            passes = 1 - test.cdf(math.ceil(threshold) - int(distance) - 1, 128)
        low, high = noise.support(1 - Fraction(1, 1 << 60))
        centre = round(float(np.median(records)))
        table: dict[Any, Enclosure] = {None: 1 - passes}
        for k in range(low, high + 1):
            table[centre + k] = passes * noise.probability(k)
        return FiniteDistribution(table, Fraction(1, 1 << 60))

    return measurement(
        space,
        lambda records: None,
        lambda d: (rate * epsilon * d, delta * d),
        measure=ApproximateDP(),
        distribution=law,
    )


@pytest.mark.full
def test_the_textbooks_variant_fails_on_an_explicit_pair() -> None:
    """At {0, 0, 8} against {0, 8, 8} the median jumps by 8, eight times the bound."""
    epsilon, delta = Fraction(1), Fraction(1, 10**6)
    pair = ([0.0, 0.0, 8.0], [0.0, 8.0, 8.0])
    for rate in (1, 2):
        wrong = verify(textbook(epsilon, delta, 1, rate), pairs=[pair])
        assert wrong.broken
        assert isinstance(wrong.found, tuple)
        assert float(wrong.found[1]) > 100 * delta
    ours = propose_test_release("median", (0, 8), 1, epsilon, delta, "bounded", grid=1)
    assert verify(ours, pairs=[pair])
    near = ([0.0] * 60, [0.0] * 59 + [8.0])
    assert verify(ours, pairs=[near])


def test_how_far_the_textbook_is_off() -> None:
    """It passes by chance sqrt(delta / 2) / 2: 11,512 times delta at n = 32,561."""
    n = 32_561
    delta = 1 / n**2
    threshold = math.log(2 / delta) / 2
    assert threshold == pytest.approx(10.7374, abs=2e-4)
    passes = math.exp(-threshold) / 2
    assert passes == pytest.approx(math.sqrt(delta / 2) / 2)
    assert passes / delta == pytest.approx(11_512, abs=1)


def test_the_threshold_is_the_least() -> None:
    for epsilon in (
        Fraction(1, 10**9),
        Fraction(1, 100),
        Fraction(1, 3),
        Fraction(2),
        Fraction(40),
    ):
        for delta in (Fraction(49, 100), Fraction(1, 1000), Fraction(1, 10**18)):
            found = passing_threshold(epsilon, delta)
            law = DiscreteLaplace(1 / epsilon)
            assert 1 - law.cdf(found - 1, 256).lower <= delta
            assert found == 1 or 1 - law.cdf(found - 2, 256).upper > delta
    small = passing_threshold(Fraction(1, 1000), Fraction(1, 10**6))
    assert small == pytest.approx(math.log(1 / 2e-6) * 1000, abs=2)


@pytest.mark.few(9)
@pytest.mark.parametrize("epsilon", ["1e-9", "1e-6", "1e-3", "1e4", "1e6", "1e9"])
@pytest.mark.parametrize("delta", ["1e-300", "1e-6", "0.49"])
def test_budgets_at_both_ends_work(epsilon: str, delta: str) -> None:
    data = np.linspace(40, 60, 41)
    for bound in (1, "search"):
        m = propose_test_release("mean", (0, 100), bound, epsilon, delta)
        assert m.map(1) == (Fraction(epsilon), Fraction(delta))
        assert m.expected_error(data) >= 0
        answer = m(data)
        if isinstance(answer, BoundedAnswer):
            answer = answer.value
        assert answer is None or isinstance(answer, float)
    if Fraction(epsilon) < 1:
        with pytest.raises(UsageError, match="too wide to list"):
            m.distribution(data)


def test_the_answer_says_which_and_no_more() -> None:
    m = propose_test_release("mean", (0, 100), "1/10", 1, "1/1000000")
    assert isinstance(m, TestedRelease)
    assert m([50] * 20) is None
    assert m.answer_probability([50] * 20) < 1e-6
    assert m.expected_error([50] * 20) < math.inf
    many = [40, 60] * 5000
    assert m.answer_probability(many) > 0.999
    answer = m(many)
    assert isinstance(answer, float)
    assert abs(answer - 50) < 10
    assert m.map(1) == (1, Fraction(1, 10**6))
    assert m.map(0) == (0, 0)


def test_the_split() -> None:
    m = propose_test_release("mean", (0, 100), 1, 1, "1e-6", split="1/4")
    assert isinstance(m, TestedRelease)
    assert (m.epsilon_test, m.epsilon_release) == (Fraction(1, 4), Fraction(3, 4))
    even = propose_test_release("mean", (0, 100), 1, 1, "1e-6")
    like = [50] * 1000
    best = propose_test_release("mean", (0, 100), 1, 1, "1e-6", like=like)
    assert isinstance(best, TestedRelease)
    assert isinstance(even, TestedRelease)
    assert best.expected_error(like) < even.expected_error(like)
    assert best.answer_probability(like) >= 0.99


@pytest.mark.few(3)
@pytest.mark.parametrize("data", [[], [math.nan], [math.inf], [5], ["text", None, 7], [1e308] * 3])
def test_no_data_can_raise(data: Any) -> None:
    for statistic in ("median", "mean", "var", "std", "interquartile_range", "sum"):
        for relation in ("unbounded", "bounded"):
            m = propose_test_release(statistic, (0, 10), 2, 1, "1e-6", relation)
            assert m(data) is None or isinstance(m(data), float | None)
            found = propose_test_release(statistic, (0, 10), "search", 1, "1e-6", relation)(data)
            assert isinstance(found, BoundedAnswer)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"bounds": None}, "give bounds"),
        ({"bounds": (1, 0)}, "reversed"),
        ({"bound": None}, "give bound"),
        ({"bound": 0}, "above zero"),
        ({"bound": -1}, "above zero"),
        ({"bound": 200}, "no data set exceeds"),
        ({"bound": 50}, "no data set exceeds"),
        ({"bound": "serch"}, "number"),
        ({"delta": 0}, "above 0 and below"),
        ({"delta": 1}, "below 1/2"),
        ({"delta": -1}, "above 0"),
        ({"epsilon": 0}, "above zero"),
        ({"split": 1}, "share of epsilon"),
        ({"split": 0}, "share of epsilon"),
        ({"grid": -1}, "above zero"),
        ({"relation": "remove"}, "one direction"),
        ({"statistic": "modus"}, "unknown"),
        ({"statistic": "mode"}, "only epsilon and delta"),
        ({"statistic": "mode", "bound": None}, "known labels"),
        ({"statistic": np.ptp}, "needs values"),
        ({"bound": "search", "delta": 2}, "below 1/2"),
        ({"bound": "search", "split": 2}, "share of epsilon"),
    ],
)
def test_bad_questions_say_what_to_do(asked: dict[str, Any], message: str) -> None:
    good = {"statistic": "mean", "bounds": (0, 100), "bound": 1}
    with pytest.raises(UsageError, match=message):
        propose_test_release(**{**good, **asked})


def test_it_is_a_step_that_can_be_built_again() -> None:
    from tacit.core import step_from
    from tacit.mechanisms.propose_test_release import BoundSearch, ProposeBound, ProposeTestRelease

    for step in (
        ProposeTestRelease("median", "1/2", 1, "1e-6"),
        BoundSearch("median", 1, "1e-6"),
        ProposeBound("median", 10, 1),
    ):
        assert step_from(step.describe()) == step
