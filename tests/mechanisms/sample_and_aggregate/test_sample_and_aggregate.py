"""Sample-and-aggregate: its map by exact enumeration, its bins, and functions that misbehave."""

import itertools
import math
import sys
import warnings
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from tacit import noise
from tacit.audit import verify
from tacit.core import InsertDeleteDistance, PureDP, Space, SymmetricDistance, Vector
from tacit.errors import VerificationError
from tacit.mechanisms import measurement
from tacit.mechanisms.sample_and_aggregate import binning as room
from tacit.mechanisms.sample_and_aggregate.aggregators import WinsorizedMeanOfBins
from tacit.mechanisms.sample_and_aggregate.bounded_output import BinFunction, coordinates
from tacit.mechanisms.sample_and_aggregate.mechanism import AGGREGATES, sample_and_aggregate
from tacit.mechanisms.shared.grid_noise import LatticeDistribution
from tacit.mechanisms.shared.output_distribution import Mixture
from tacit.noise import Enclosure

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
    wrong = measurement(m.input, m, m.map, distribution=dear.distribution)
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
    textbook = measurement(
        space, lambda data: 0, lambda d: epsilon * d, measure=PureDP(), distribution=law
    )
    verdict = verify(textbook, pairs=[(u, v)])
    assert verdict.broken
    assert verdict.found == pytest.approx(2, abs=1e-6)
    with pytest.raises(VerificationError):
        verdict.or_raise()
    ours = sample_and_aggregate(first_record, bins, (0, 1), epsilon, grid=1)
    assert verify(ours, pairs=[(u, v), (v, u)]).or_raise()


def test_dividing_by_the_bins_that_were_used_breaks():
    """Were empty bins left out of the mean, one record would change the divisor of all."""
    bins = 8
    noise_law = noise.DiscreteLaplace(Fraction(3 * 6, bins))  # (u - l) / (k epsilon), in sixths

    def law(data):
        parts = []
        for contents in ways(len(data), bins):
            answers = [max(data[r] for r in part) for part in contents if part]
            centre = 6 * sum(answers) // max(len(answers), 1)
            parts.append(LatticeDistribution(noise_law, centre, Fraction(1, 6)))
        return Mixture([(Enclosure.of(Fraction(1, len(parts))), part) for part in parts])

    space = Space(Vector(int, bounds=(0, 3)), SymmetricDistance())
    used = measurement(space, lambda data: 0, lambda d: d, distribution=law)
    assert verify(used, pairs=[([3], [3, 0])]).broken
    ours = sample_and_aggregate(max, bins, (0, 3), 1, grid=1, default=0)
    assert verify(ours, pairs=[([3], [3, 0])])


def ways(n, bins):
    """Every order of n records and every way to bin them, as the ordered contents."""
    for order in itertools.permutations(range(n)):
        for places in itertools.product(range(bins), repeat=n):
            yield tuple(
                tuple(r for r, place in zip(order, places, strict=True) if place == b)
                for b in range(bins)
            )


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
        m = sample_and_aggregate(function, 3, (0, 60), SURE, default=0, grid=1)
        assert 3 * m(data) == pytest.approx(45, abs=0.01), name


def raises(content):
    raise RuntimeError(f"a secret: {content}")


def leaves(content):
    sys.exit(3)


def warns(content):
    warnings.warn(f"a secret: {content}", stacklevel=1)
    return 7.0


@pytest.mark.parametrize(
    "function",
    [
        raises,
        leaves,
        lambda content: math.nan,
        lambda content: None,
        lambda content: "no number",
        lambda content: [1.0, 2.0],
        lambda content: np.zeros((2, 2)),
        lambda content: {"a": 1},
        lambda content: 1j,
        lambda content: 1 / 0,
    ],
)
def test_a_function_that_fails_counts_as_the_default_and_nothing_is_seen(function, capsys, caplog):
    m = sample_and_aggregate(function, 4, (0, 8), SURE, default=2)
    assert m([5, 6, 7]) == pytest.approx(2, abs=1e-3)
    assert m([]) == pytest.approx(2, abs=1e-3)
    seen = capsys.readouterr()
    assert seen.out + seen.err + caplog.text == ""


def test_answers_are_clipped_and_warnings_are_not_shown(capsys):
    for value, shown in [(math.inf, 8), (-math.inf, 0), (1e300, 8), (np.float32(3), 3), ([5], 5)]:
        ask = BinFunction(lambda content, value=value: value, coordinates((0, 8), None, 1, 0))
        assert ask([1]) == (shown,)
    m = sample_and_aggregate(warns, 1, (0, 8), SURE)
    assert m([1]) == pytest.approx(7, abs=1e-3)
    assert capsys.readouterr().err == ""


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


def test_a_vector_of_the_wrong_length_counts_as_the_defaults():
    m = sample_and_aggregate(lambda rows: 3, 5, [(0, 4), (0, 6)], SURE, default=(1, 2))
    assert m([1, 2, 3]) == pytest.approx([1, 2], abs=1e-3)


def test_maps_and_measures():
    m = sample_and_aggregate(np.mean, 10, (0, 1), "1/3")
    assert [m.map(d) for d in (0, 1, 2, 50)] == [0, Fraction(1, 3), Fraction(2, 3), Fraction(10, 3)]
    assert m.measure == PureDP()
    assert "bins=10" in m.explain()


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_many_bins_come_near_the_truth(aggregate):
    data = np.random.default_rng(5).normal(30, 10, 20_000)
    m = sample_and_aggregate(np.median, 200, (0, 100), 2, aggregate=aggregate)
    assert m(data) == pytest.approx(30, abs=6)


@pytest.mark.full
def test_error_of_the_mean_is_the_predicted_one():
    """A function that is constant leaves the noise alone: Laplace of scale range / (k epsilon)."""
    m = sample_and_aggregate(lambda content: 4, 20, (0, 10), 1)
    found = np.array([m([0]) for _ in range(4000)])
    centre = 5 - 1 / 20  # one bin of twenty says 4, the empty ones the middle
    assert np.abs(found - centre).mean() == pytest.approx(10 / 20, rel=0.1)


def test_winsorizing_clips_to_what_the_quartiles_choose():
    (where,) = coordinates((0, 100), None, 1, 0)
    centre = WinsorizedMeanOfBins(8, where, Fraction(1))
    assert centre._interval(50, 52) == (43, 59)
    assert centre._interval(52, 50) == (43, 59)
    assert centre._interval(1, 2) == (0, 6)
    assert centre._interval(7, 7) == (7, 7)
    sure = WinsorizedMeanOfBins(8, where, Fraction(SURE))
    assert sure.release([7] * 8) == 7.0
    assert sure.release([10, 11, 12, 13, 14, 15, 16, 90]) == pytest.approx(
        sum([10, 11, 12, 13, 14, 15, 16, 29]) / 8, abs=1
    )
