"""Sample-and-aggregate: its map by exact enumeration, its bins, and functions that misbehave."""

from __future__ import annotations

import io
import itertools
import math
import os
import sys
import threading
import time
from collections import Counter
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pytest

from support.by_hand.noise_by_hand import too_far
from support.by_hand.sampled_by_hand import CENTRES, Coordinate, excess, law_of, ratio
from support.by_hand.small_domains import steps, ways
from support.by_hand.smooth_by_hand import SLACK
from tacit import noise
from tacit.audit import verify
from tacit.core import InsertDeleteDistance, PureDP, Space, Vector
from tacit.errors import UsageError, VerificationError
from tacit.mechanisms import sample_and_aggregate as bin_simulation
from tacit.mechanisms import sample_and_aggregate as room
from tacit.mechanisms import user_measurement
from tacit.mechanisms.aggregators import BinFunction, coordinates
from tacit.mechanisms.grid_noise import LatticeDistribution
from tacit.mechanisms.local_statistic import read_statistic
from tacit.mechanisms.sample_and_aggregate import AGGREGATES, assignment, sample_and_aggregate
from tacit.mechanisms.worker_process import Worker, _Deadline, packed
from tacit.statistics import Median

HIGH, SURE = 500, 10**9
"""Epsilons at which the noise is far below what is compared."""


LISTS = [
    list(data)
    for size in range(4)
    for data in itertools.combinations_with_replacement((0, 1, 3), size)
]


def first_record(content):
    """A function that depends on the order within a bin."""
    return content[0]


@pytest.mark.few(8)
@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
@pytest.mark.parametrize("aggregate", ["mean", "median"])
@pytest.mark.parametrize("function", [max, first_record])
@pytest.mark.parametrize("bins", [1, 2])
def test_no_pair_of_neighbours_exceeds_the_claim(aggregate, relation, function, bins):
    m = sample_and_aggregate(
        function, bins, (0, 3), 1, aggregate=aggregate, relation=relation, grid=1
    )
    assert verify(m, LISTS, d_in=2).or_raise().kind == "exact"


@pytest.mark.full
@pytest.mark.few(2)
@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
def test_no_pair_exceeds_the_claim_of_the_winsorized_mean(relation):
    m = sample_and_aggregate(
        max, 2, (0, 1), 2, aggregate="winsorized_mean", relation=relation, grid=1
    )
    assert verify(m, [[], [0], [1], [0, 1], [1, 1]]).or_raise()


@pytest.mark.full
@pytest.mark.few(6)
@pytest.mark.parametrize("delta", [None, "1/100"])
@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
def test_no_pair_exceeds_the_claim_of_the_smooth_centre(relation, delta):
    m = sample_and_aggregate(
        max, 3, (0, 4), 1, aggregate="smooth", delta=delta, relation=relation, grid=1
    )
    assert verify(m, [[], [0], [4], [0, 4], [4, 4]]).or_raise().kind == "exact"


def test_measure_of_the_smooth_centre():
    m = sample_and_aggregate(np.mean, 50, [(0, 1)] * 2, 1, aggregate="smooth", delta="1e-6")
    assert m.map(1) == (1, Fraction(1, 10**6))
    pure = sample_and_aggregate(np.mean, 50, (0, 1), 1, aggregate="smooth")
    assert (pure.measure, pure.map(3)) == (PureDP(), 3)


def test_exchanging_a_record_attains_the_claim():
    m = sample_and_aggregate(max, 2, (0, 3), 1, relation="bounded", grid=1)
    assert verify(m, [[0], [3]]).tight


def test_a_loss_below_the_map_is_caught():
    """The enumeration must see a mechanism with half the noise."""
    m = sample_and_aggregate(max, 2, (0, 3), 1, relation="bounded", grid=1)
    dear = sample_and_aggregate(max, 2, (0, 3), 2, relation="bounded", grid=1)
    wrong = user_measurement(m.input, m, m.map, distribution=dear.distribution)
    assert verify(wrong, [[0], [3]]).broken


def by_row_order(data, bins):
    """Stretches of ceil(n / bins) rows, as textbooks cut them."""
    size = math.ceil(len(data) / bins)
    return [data[i : i + size] for i in range(0, len(data), size)] if data else []


def test_stretches_by_row_order_break_and_independent_bins_hold():
    """One deletion moves every boundary: both answers change, and the claim counts one."""
    bins, epsilon = 2, Fraction(1)

    def law(data):
        answers = [int(part[0]) for part in by_row_order(list(data), bins)]
        scale = Fraction(1) / epsilon
        return LatticeDistribution(
            noise.DiscreteLaplace(scale), sum(answers), Fraction(1, max(1, len(answers)))
        )

    u, v = [0, 1, 0, 1], [1, 0, 1]
    assert [part[0] for part in by_row_order(u, bins)] == [0, 0]
    assert [part[0] for part in by_row_order(v, bins)] == [1, 1]
    space = Space(Vector(int, bounds=(0, 1)), InsertDeleteDistance())
    textbook = user_measurement(
        space, lambda data: 0, lambda d: epsilon * d, measure=PureDP(), distribution=law
    )
    verdict = verify(textbook, pairs=[(u, v)])
    assert verdict.broken
    assert verdict.found == pytest.approx(2, abs=1e-6)
    with pytest.raises(VerificationError):
        verdict.or_raise()
    ours = sample_and_aggregate(first_record, bins, (0, 1), epsilon, grid=1)
    assert verify(ours, pairs=[(u, v), (v, u)]).or_raise()


def test_more_bins_than_records_and_an_empty_data_set_are_answered():
    m = sample_and_aggregate(np.mean, 1000, (0, 10), SURE, default=5)
    assert m([9, 9]) == pytest.approx(5 + 2 * 4 / 1000, abs=0.01)
    assert m([]) == pytest.approx(5, abs=1e-3)


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_vectors_share_the_loss(aggregate):
    def fit(rows):
        return rows.mean(axis=0)

    bounds = [(0, 1), (10, 20), (-1, 1)]
    m = sample_and_aggregate(fit, 5, bounds, HIGH, aggregate=aggregate)
    rows = np.tile([0.5, 12.0, 0.25], (2000, 1))
    assert m(rows) == pytest.approx([0.5, 12, 0.25], abs=0.2)
    assert m.map(1) == HIGH
    assert m.map(9) == 5 * HIGH  # no more bins than there are can change


def test_maps_and_measures():
    m = sample_and_aggregate(np.mean, 10, (0, 1), "1/3")
    assert [m.map(d) for d in (0, 1, 2, 50)] == [0, Fraction(1, 3), Fraction(2, 3), Fraction(10, 3)]
    assert m.measure == PureDP()
    assert "bins=10" in m.explain()


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"function": 3}, "must be a function"),
        ({"bins": 0}, "at least 1"),
        ({"bins": 2.5}, "whole number"),
        ({"bins": 1 << 30}, "at most"),
        ({"bounds": None}, "give bounds"),
        ({"bounds": (5, 5)}, "must be below"),
        ({"bounds": (5, 1)}, "must be below"),
        ({"bounds": 7}, "bounds are"),
        ({"bounds": [(0, 1), 3]}, "bounds are"),
        ({"bounds": (0, math.inf)}, "finite"),
        ({"epsilon": None}, "give epsilon"),
        ({"epsilon": 0}, "above zero"),
        ({"epsilon": -1}, "above zero"),
        ({"aggregate": "means"}, "did you mean 'mean'"),
        ({"relation": "sideways"}, "relation"),
        ({"delta": "1e-6"}, "takes no delta"),
        ({"delta": 1, "aggregate": "smooth"}, "below 1"),
        ({"delta": 0, "aggregate": "smooth"}, "above zero"),
        ({"default": 11}, "outside the bounds"),
        ({"default": [1, 2]}, "default has 2"),
        ({"grid": 0}, "above zero"),
        ({"grid": 100}, "above the range"),
        ({"grid": "1e-20"}, "coarser grid"),
        ({"timeout": 0}, "above zero"),
        ({"parallel": 0}, "at least 1"),
        ({"parallel": "nonesuch"}, "joblib has no backend"),
        ({"parallel": "thredding"}, "did you mean 'threading'"),
        ({"parallel": "dask", "timeout": 3}, "cannot stop a single bin"),
    ],
)
def test_bad_input_is_refused_with_what_to_do(change, message):
    asked = {"function": np.mean, "bins": 5, "bounds": (0, 10), "epsilon": 1} | change
    with pytest.raises(UsageError, match=message):
        sample_and_aggregate(**asked)


@pytest.mark.parametrize(
    ("bounds", "epsilon", "words"),
    [
        ((0, 10**400), 1, "within 1e120"),
        ((0, "1e-330"), 1, "1e-120 apart"),
        ((10**30, 10**30 + 1), 1, "2.62 units"),
        ((0, 1), "1e-130", "at least 1e-120"),
    ],
)
@pytest.mark.parametrize("aggregate", ["mean", "median", "winsorized_mean"])
def test_what_floats_cannot_carry_is_refused_before_any_record_is_read(
    aggregate, bounds, epsilon, words
):
    with pytest.raises(UsageError, match=words):
        sample_and_aggregate(max, 2, bounds, epsilon, aggregate=aggregate)


# Sample-and-aggregate enumerated by the library and by hand: every aggregate, relation, vectors.
#
# By hand: every order of the records and every way to bin them, and each private centre by formula.


EPSILON, DELTA = Fraction(1), Fraction(1, 20)
RELATIONS = ["unbounded", "bounded"]
NEVER_FAR = 1e-9
MOST, DEFAULT = 3, 2
PLANES = ((0, 0), (2, 0), (0, 1), (2, 1))


def every_claim_first_record(content: Any) -> float:
    """A function that depends on the order within a bin."""
    return float(content[0])


def corner(content: Any) -> Any:
    """Two numbers: the largest of one column, and the other of the first record."""
    rows = np.asarray(content)
    return rows[:, 0].max(), rows[0, 1]


FUNCTIONS: dict[str, Any] = {"max": max, "first": every_claim_first_record}


class Case:
    """A release of one number, or of two, and the same by hand.

    Args:
        centre: one of ``CENTRES``.
        relation: of neighbours.
        bins: how many.
        function: a name of ``FUNCTIONS``, or ``"corner"`` for two numbers.
        sharp: what epsilon is multiplied by in the law by hand.
    """

    def __init__(
        self, centre: str, relation: str, bins: int, function: str, sharp: float = 1.0
    ) -> None:
        self.centre, self.relation, self.bins, self.sharp = centre, relation, bins, sharp
        self.two = function == "corner"
        self.function = corner if self.two else FUNCTIONS[function]
        self.mosts = (2, 1) if self.two else (MOST,)
        # the middle of each pair of bounds, rounded up to the grid
        self.default = (1, 1) if self.two else (DEFAULT,)

    @cached_property
    def mechanism(self) -> Any:
        bounds = [(0, most) for most in self.mosts]
        return sample_and_aggregate(
            self.function,
            self.bins,
            bounds if self.two else bounds[0],
            EPSILON,
            aggregate=self.centre.split()[0],
            delta=DELTA if "delta" in self.centre else None,
            relation=self.relation,
            grid=1,
        )

    @cached_property
    def coordinates(self) -> tuple[Coordinate, ...]:
        epsilon = float(EPSILON) / len(self.mosts)
        rates: list[tuple[float, float]] = [(0.0, 0.0)] * len(self.mosts)
        if "smooth" in self.centre:
            inner = [one._inner for one in self.mechanism._centres]
            rates = [(float(m.shift), float(m.beta)) for m in inner]
        return tuple(
            Coordinate(self.centre, self.bins, most, epsilon, *rate, sharp=self.sharp)
            for most, rate in zip(self.mosts, rates, strict=True)
        )

    @cached_property
    def listed(self) -> list[tuple[Any, ...]]:
        first = 0 if self.relation == "unbounded" else 1
        points: tuple[Any, ...] = PLANES if self.two else (0, 1, 3)
        return [
            records
            for size in range(first, 3 if self.two else 4)
            for records in itertools.combinations_with_replacement(points, size)
        ]

    def asked(self, part: Any) -> tuple[int, ...]:
        found = self.function(part)
        return tuple(map(int, found)) if self.two else (int(found),)

    @cached_property
    def laws(self) -> dict[tuple[Any, ...], Any]:
        made = (self.asked, self.coordinates, self.default)
        return {records: law_of(records, *made) for records in self.listed}

    def worst(self, apart: int = 1) -> float:
        """The largest loss of a pair that far apart, over the claimed one."""
        claim = self.mechanism.map(apart)
        found = [
            excess(self.laws[one], self.laws[other], float(claim[0])) / float(claim[1])
            if isinstance(claim, tuple)
            else ratio(self.laws[one], self.laws[other]) / float(claim)
            for one, other in itertools.permutations(self.listed, 2)
            if steps(one, other, self.relation) == apart
        ]
        return max(found)


def test_nothing_that_is_offered_is_left_out() -> None:
    assert {centre.split()[0] for centre in CENTRES} == set(AGGREGATES)


@pytest.mark.few(18)
@pytest.mark.parametrize("function", [*FUNCTIONS, "corner"])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("centre", CENTRES)
def test_no_pair_exceeds_the_claim_by_hand(centre: str, relation: str, function: str) -> None:
    worst = 0.0
    for bins in (1, 2, 3):
        case = Case(centre, relation, bins, function)
        for apart in (1, 2):
            loss = case.worst(apart)
            assert loss <= 1 + 1e-9, (bins, apart)
            worst = max(worst, loss)
    if centre == "mean":
        assert worst > 1 - 1e-9 or relation == "unbounded"  # from one bound to the other


@pytest.mark.few(8)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("centre", CENTRES)
def test_the_law_is_the_one_by_hand(centre: str, relation: str) -> None:
    for bins, function in ((1, "max"), (2, "first"), (3, "max")):
        case = Case(centre, relation, bins, function)
        for records in case.listed[2::9]:
            ours = case.mechanism.distribution(list(records))
            by_hand = zip(case.coordinates[0].outcomes, case.laws[records], strict=True)
            for outcome, chance in by_hand:
                assert float(ours.probability(outcome).middle) == pytest.approx(
                    chance, abs=2 * SLACK if "smooth" in centre else 1e-12
                )


@pytest.mark.few(10)
@pytest.mark.parametrize("function", ["first", "corner"])
@pytest.mark.parametrize("centre", CENTRES)
def test_releases_have_the_law_by_hand(centre: str, function: str) -> None:
    """Vectors too, whose law the library does not list."""
    case = Case(centre, "unbounded", 2, function)
    records: tuple[Any, ...] = PLANES[1:3] if case.two else (0, 1, 3)
    data = np.array(records)
    drawn = Counter(
        tuple(Fraction(x).limit_denominator(1000) for x in np.atleast_1d(case.mechanism(data)))
        for _ in range(150 if "smooth" in centre else 600)
    )
    outcomes = itertools.product(*(one.outcomes for one in case.coordinates))
    chances = law_of(records, case.asked, case.coordinates, case.default)
    law = dict(zip(outcomes, np.ravel(chances).tolist(), strict=True))
    assert too_far(drawn, law) > NEVER_FAR


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("centre", "sharp", "function"),
    [
        ("mean", 1 / 0.9, "max"),
        ("mean", 1 / 0.9, "corner"),
        ("median", 2.0, "max"),
        ("winsorized_mean", 3.0, "max"),
        ("smooth", 2.0, "max"),
        ("smooth with delta", 2.0, "max"),
    ],
)
def test_less_noise_than_claimed_is_seen(centre: str, sharp: float, function: str) -> None:
    found = [
        Case(centre, relation, bins, function, sharp).worst()
        for relation in RELATIONS
        for bins in (1, 2)
    ]
    assert max(found) > 1.02
    right, wrong = (Case(centre, "bounded", 2, function, part) for part in (1.0, 1 / 0.9))
    records = right.listed[-1]
    assert np.abs(right.laws[records] - wrong.laws[records]).max() > 1e-3


# Bins of records: drawn with the law that is enumerated, whatever the records are.


BINNING_HIGH, BINNING_SURE = 500, 10**9
"""Epsilons at which the noise is far below what is compared."""


@pytest.mark.parametrize(("n", "bins"), [(1, 2), (2, 3), (3, 2), (4, 2), (3, 3)])
def test_striking_a_record_out_leaves_the_law_of_the_others(n, bins):
    """The coupling: draw for n, strike the last record; at most one bin differs, law of n - 1."""
    struck = Counter()
    for contents in ways(n, bins):
        rest = tuple(tuple(r for r in part if r != n - 1) for part in contents)
        assert sum(a != b for a, b in zip(contents, rest, strict=True)) == 1
        struck[rest] += 1
    plain = Counter(ways(n - 1, bins))
    times = Fraction(sum(struck.values()), sum(plain.values()))
    assert struck == {contents: times * count for contents, count in plain.items()}


def test_bins_are_drawn_with_the_law_that_is_enumerated():
    expected = Counter(ways(3, 2))
    runs = 6000
    seen = Counter()
    for _ in range(runs):
        order, edges = room.assignment(3, 2)
        seen[tuple(tuple(order[a:b].tolist()) for a, b in itertools.pairwise(edges.tolist()))] += 1
    assert set(seen) <= set(expected)
    total = sum(expected.values())
    square = sum(
        (seen[c] - runs * e / total) ** 2 / (runs * e / total) for c, e in expected.items()
    )
    assert square < 2 * len(expected) + 10 * math.sqrt(2 * len(expected))


def test_ties_are_put_in_any_order_alike():
    seen = Counter()
    for _ in range(3000):
        order = np.arange(5)
        room._break_ties(order, np.array([1, 4, 4, 4, 9], dtype=np.uint64))
        assert (order[0], order[4]) == (0, 4)
        seen[tuple(order[1:4].tolist())] += 1
    assert len(seen) == 6
    assert all(abs(count - 500) < 130 for count in seen.values())


def test_all_records_are_in_one_bin_each():
    for n, bins in [(0, 3), (1, 1), (5, 1), (7, 3), (100, 1 << 20)]:
        order, edges = room.assignment(n, bins)
        assert sorted(order.tolist()) == list(range(n))
        assert len(edges) == bins + 1
        assert (edges[0], edges[-1]) == (0, n)


def test_data_of_every_kind_are_binned():
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    arrow = pytest.importorskip("pyarrow")
    columns = {"x": list(range(10)), "y": [v / 2 for v in range(10)]}
    kinds = {
        "list": (list(range(10)), lambda part: sum(part)),
        "array": (np.arange(20).reshape(10, 2), lambda part: part[:, 0].sum() / 2),
        "columns": ({k: np.array(v) for k, v in columns.items()}, lambda part: part["x"].sum()),
        "pandas": (pandas.DataFrame(columns), lambda part: part["x"].sum()),
        "polars": (polars.DataFrame(columns), lambda part: part["x"].sum()),
        "arrow": (arrow.table(columns), lambda part: sum(part["x"].to_pylist())),
    }
    for name, (data, function) in kinds.items():
        m = sample_and_aggregate(function, 3, (0, 60), BINNING_SURE, default=0, grid=1)
        assert 3 * m(data) == pytest.approx(45, abs=0.01), name


@pytest.mark.parametrize("data", ["text", 5, {"x": [1], "y": [1, 2]}, {}])
def test_what_is_no_data_set_is_refused(data):
    with pytest.raises(UsageError, match=r"records|columns"):
        sample_and_aggregate(np.mean, 5, (0, 10), 1)(data)


def test_too_many_ways_are_refused():
    with pytest.raises(UsageError, match="ways"):
        sample_and_aggregate(np.mean, 5, (0, 10), 1).distribution(list(range(9)))
    with pytest.raises(UsageError, match="one number"):
        sample_and_aggregate(np.mean, 5, [(0, 10), (0, 1)], 1).distribution([1])


# Releases of statistics on bins, simulated in bulk: the same draws, floats and law.


SIMULATION_SURE = 10**9


@pytest.mark.parametrize(
    "statistic", ["median", "mean", "var", "std", "percentile(90)", "interquartile_range"]
)
def test_bins_answered_together_are_those_answered_one_by_one(statistic, monkeypatch):
    """The same draws of bins, the same units: bins as rows of one array change no float."""
    records = np.random.default_rng(8).normal(50, 20, 300)
    known = [assignment(300, 40) for _ in range(5)]
    ask = BinFunction(read_statistic(statistic), coordinates((0, 100), 7, Fraction(1, 2**33), 0))
    drawn = iter(known)
    monkeypatch.setattr(bin_simulation, "assignment", lambda n, bins: next(drawn))
    together = [units.tolist() for units in bin_simulation.simulated_units(ask, records, 40, 5)]
    alone = [
        [ask(records[order[a:b]] if b > a else None)[0] for a, b in itertools.pairwise(edges)]
        for order, edges in known
    ]
    assert together == alone


def test_a_statistic_that_fails_on_some_bins_counts_as_the_default():
    class Picky(Median):
        def batch(self, rows):
            if rows.shape[1] < 3 or (rows > 90).any():
                raise ValueError
            return super().batch(rows)

    m = sample_and_aggregate(Picky(), 2, (0, 100), SIMULATION_SURE, default=10, grid=1)
    assert m.simulate(np.full(40, 50.0), 3) == pytest.approx([50] * 3, abs=0.01)
    assert m.simulate(np.full(40, 95.0), 3) == pytest.approx([10] * 3, abs=0.01)
    assert m.simulate(np.array([]), 2) == pytest.approx([10] * 2, abs=0.01)


@pytest.mark.few(6)
@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize("kind", [np.array, list])
def test_simulated_releases_are_releases(aggregate, kind):
    """The law of one is known by its distribution function: 400 draws, Kolmogorov and Smirnov."""
    records = kind([0.0, 3.0, 3.0])
    m = sample_and_aggregate(Median(), 2, (0, 3), 3, aggregate=aggregate, grid=1)
    law, draws = m.distribution(records), m.simulate(records, 400)
    gap = max(
        abs(float(law.cdf(x)) - sum(d <= x + 1e-9 for d in draws) / 400)
        for x in (0, Fraction(1, 2), 1, Fraction(3, 2), 2, Fraction(5, 2), 3)
    )
    assert gap < 0.14  # a chance below 2 exp(-2 * 400 * 0.14^2) = 4e-7


@pytest.mark.full
@pytest.mark.parametrize(
    "aggregate",
    [pytest.param(a, marks=[pytest.mark.slow] * ("smooth" in str(a))) for a in AGGREGATES],
)
def test_expected_errors_are_those_of_releases(aggregate):
    records = np.random.default_rng(5).normal(30, 10, 400)
    m = sample_and_aggregate(Median(), 40, (0, 100), 4, aggregate=aggregate)
    truth = float(np.median(records))
    errors = np.abs(np.array(m.simulate(records, 1000)) - truth)
    spread = float(errors.std()) / math.sqrt(1000)
    allowed = 5 * spread + 5 * 0.01 * float(errors.mean())
    assert m.expected_error(records) == pytest.approx(errors.mean(), abs=allowed)
    slow = sample_and_aggregate(np.median, 40, (0, 100), 4, aggregate=aggregate)
    assert len(slow.simulate(list(records), 2)) == 2
    with pytest.raises(UsageError, match="one number"):
        sample_and_aggregate(np.median, 4, [(0, 1)] * 2, 1).expected_error(records)


@pytest.mark.parametrize("q", ["0", "1/10", "1/3", "1/2", "3/4", "1"])
def test_quantiles_of_rows_are_those_of_numpy_bit_by_bit(q):
    source = np.random.default_rng(11)
    statistic = read_statistic(f"percentile({float(100 * Fraction(q))!r})")
    for size in (1, 2, 3, 8, 31):
        for rows in (
            source.normal(size=(40, size)),
            source.integers(-5, 9, (40, size)),
            np.where(source.random((40, size)) < 0.1, np.nan, 1e300 * source.random((40, size))),
        ):
            expected = np.quantile(rows, float(statistic.q), axis=1)
            assert np.array_equal(statistic.batch(rows), expected, equal_nan=True)


# Bins are answered here or in other processes: alike, and with progress for a person alone.


EXECUTOR_SURE = 10**9
"""An epsilon at which the noise is far below what is compared."""


@pytest.mark.full
@pytest.mark.parametrize("parallel", [2, "threading", ("loky", 2)])
def test_bins_answered_elsewhere_are_the_same(parallel):
    pytest.importorskip("joblib")
    offset = 3  # a closure: not importable by name
    m = sample_and_aggregate(
        lambda content: len(content) + offset,
        4,
        (0, 40),
        EXECUTOR_SURE,
        grid=1,
        default=offset,  # of a bin that chance leaves empty, one time in eighty
        parallel=parallel,
    )
    assert m(list(range(20))) == pytest.approx(5 + offset, abs=0.01)


def test_progress_is_shown_to_a_person_alone(monkeypatch, capsys):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    m = sample_and_aggregate(np.mean, 3, (0, 1), 1)
    m([1, 2])
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    m([1, 2])
    assert "bins" in screen.getvalue()


# Bins that are answered in another process: deadlines, deaths, records that cannot be sent.


WORKER_PROCESS_SURE = 10**9
"""An epsilon at which the noise is far below what is compared."""


def slow_or_dead(content):
    if 0 in content:
        time.sleep(60)
    if 1 in content:
        os._exit(1)
    print("not seen")
    return 8


@pytest.mark.full
def test_time_outs_and_deaths_cost_one_bin_each(capfd):
    pytest.importorskip("cloudpickle")
    m = sample_and_aggregate(
        slow_or_dead, 6, (0, 8), WORKER_PROCESS_SURE, default=0, grid=1, timeout=0.5, parallel=2
    )
    data = list(range(60))
    started = time.monotonic()
    found = m(data)
    assert time.monotonic() - started < 30
    assert found in (pytest.approx(8 * 4 / 6, abs=0.01), pytest.approx(8 * 5 / 6, abs=0.01))
    seen = capfd.readouterr()
    assert seen.out + seen.err == ""


@pytest.mark.full
def test_a_deadline_that_passes_with_the_answer_harms_no_other_bin(monkeypatch):
    """The process may be killed just after it answered: the next bin gets a new one."""
    pytest.importorskip("cloudpickle")
    worker = Worker(packed(lambda content: [len(content)]), 60)
    late = _Deadline.__exit__

    def passes(deadline, *error):
        late(deadline, *error)
        deadline._pass()

    try:
        assert worker.answer([1, 2, 3]) == (3,)
        monkeypatch.setattr(_Deadline, "__exit__", passes)
        assert worker.answer([1, 2, 3]) is None
        monkeypatch.undo()
        assert worker.answer([1, 2]) == (2,)
    finally:
        worker.close()


@pytest.mark.full
def test_records_that_cannot_be_sent_cost_their_bin():
    pytest.importorskip("cloudpickle")
    lock = threading.Lock()  # cannot be written as bytes
    m = sample_and_aggregate(len, 2, (0, 8), WORKER_PROCESS_SURE, default=0, grid=1, parallel=1)
    assert m([lock, lock, lock]) == pytest.approx(0, abs=0.01)
