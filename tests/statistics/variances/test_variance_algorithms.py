"""The parts that the variance's sensitivities are made of, and what people meet."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from tacit.arithmetic.square_root import Root, gap
from tacit.errors import InfeasibleError, UsageError
from tacit.statistics import Interval, Records, Sample, Values, sensitivity
from tacit.statistics.samples.prefix_moments import Moments
from tacit.statistics.variances.candidate_families import blocks, crossed, windows
from tacit.statistics.variances.candidate_search import Contest, Spread
from tacit.statistics.variances.move_bounds import widen
from tacit.statistics.variances.standard_deviation import StandardDeviation
from tacit.statistics.variances.variance import Variance

SCHOOL = [1, 2, 2, 2, 5, 5, 7, 8, 9, 9]
ABSENCE = [1, 2, 3, 4, 5, 6, 7, 8, 15, 20]


def variance(values, ddof=0):
    total, n = Fraction(sum(values)), len(values)
    return (sum(v * v for v in values) - total * total / n) / (n - ddof)


def kinds_of_records(size):
    rng = np.random.default_rng(size)
    return [
        rng.lognormal(size=size),
        1e9 + rng.normal(size=size),
        rng.integers(-50, 50, size),
        rng.integers(-(2**61), 2**61, size),
        rng.normal(size=size) * 10.0 ** rng.integers(-150, 150, size),
        np.full(size, 0.1),
    ]


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", range(6))
def test_sums_over_ranges_are_exact(kind):
    sample = Sample(kinds_of_records(3000)[kind])
    moments, rng = Moments(sample), np.random.default_rng(1)
    exact = sample.fractions()
    for _ in range(20):
        start, middle, stop = np.sort(rng.integers(0, 3001, 3)).tolist()
        ranges = [(0, start), (middle, stop)]
        count, total, square = moments.exact(ranges)
        chosen = exact[:start] + exact[middle:stop]
        assert count == len(chosen)
        assert total * moments.grain == sum(chosen)
        assert square * moments.grain**2 == sum(v * v for v in chosen)


@pytest.mark.few(4)
@pytest.mark.parametrize("kind", range(5))
def test_float_sums_are_within_their_stated_error(kind):
    sample = Sample(kinds_of_records(3000)[kind])
    moments = Moments(sample)
    centre, shift = moments.frame
    scale = Fraction(2) ** shift
    values = [(v - centre) / scale for v in sample.fractions()]
    assert max(map(abs, values)) <= 1
    total = square = Fraction(0)
    for i, v in enumerate(values, 1):
        total, square = total + v, square + v * v
        assert abs(Fraction(float(moments.sums[i])) - total) <= moments.sum_error / 16
        assert abs(Fraction(float(moments.squares[i])) - square) <= moments.square_error / 16


def test_uncentred_float_sums_would_lose_everything_at_a_large_offset():
    data = 2.0**30 + np.arange(8) / 1024
    wrong = float((data * data).sum() / 8 - (data.sum() / 8) ** 2)
    right = float(Moments(Sample(data)).variance([(0, 8)]))
    assert right == float(variance([Fraction(i, 1024) for i in range(8)]))
    assert abs(wrong - right) >= right


@examples(0.6)
@given(
    st.lists(st.integers(-40, 40), min_size=12, max_size=40),
    st.booleans(),
    st.sampled_from([0, 1]),
    st.data(),
)
def test_windows_find_what_all_blocks_find_within_a_distance(records, root, ddof, data):
    moments = Moments(Sample(records))
    size = len(records)
    most = data.draw(st.integers(1, 3), "distance")
    n = data.draw(st.integers(most + max(most, 2), size - most), "size")
    quick, full = (Contest(moments, Spread(ddof, root)) for _ in range(2))
    for d in range(1, most + 1):
        windows(quick, n - d, d, d, anchored=not root)
        blocks(full, n - d, d, d)
    if moments.constant:
        return
    assert quick.winner().value == full.winner().value


def best_of(population, n, k, shapes):
    """The largest bounded change of variance at distance ``k`` that a family finds."""
    contest = Contest(Moments(Sample(population)), Spread())
    shapes(contest, n - k, k, k)
    return contest.winner().value


@pytest.mark.parametrize(
    "population",
    [[1, 1, 15, 16, 24, 27, 27, 205], [4, 19, 20, 46, 50, 54, 163, 237, 249]],
)
def test_windows_alone_are_not_enough_beyond_half_of_the_release(population):
    """Substituting more than half of a release can leave a gap in the narrow one."""
    by_windows = max(best_of(population, 4, d, windows) for d in (1, 2, 3))
    by_blocks = max(best_of(population, 4, d, blocks) for d in (1, 2, 3))
    assert by_windows < by_blocks
    found = sensitivity("var", Records(population, size=4), None, 3, "bounded")
    assert found.value == by_blocks


def test_removing_a_record_that_hides_the_spread_can_be_worst():
    """The release with fewer records can be the one with the larger spread."""
    population = [0, 5, 5, 5, 5, 5, 5, 10]
    found = sensitivity("var", over=Records(population, size=8), distance=6, relation="remove")
    assert found.value == Fraction(25) - Fraction(50, 8)
    assert found.witness == (tuple(population), (0, 10))


@pytest.mark.parametrize("offset", [10**9, -(10**15)])
@pytest.mark.parametrize("statistic", ["var", "std"])
@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
def test_an_offset_changes_nothing(statistic, relation, offset):
    rng = np.random.default_rng(3)
    small = rng.integers(0, 1000, 300)
    plain = sensitivity(statistic, Records(small, size=150), None, 2, relation)
    moved = sensitivity(statistic, Records(small + offset, size=150), None, 2, relation)
    assert plain.exact
    assert moved.exact
    assert plain.value == moved.value


def test_a_million_times_smaller_differences_survive_an_offset_in_floats():
    data = 1e9 + np.arange(200) / 1024
    found = sensitivity("var", Records(data, size=100))
    whole = sensitivity("var", Records(np.arange(200), size=100))
    assert found.value == whole.value / 1024**2


@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
@pytest.mark.parametrize("statistic", [Variance(0), Variance(1), StandardDeviation(0)])
def test_large_floats_and_their_fractions_agree(statistic, relation):
    data = np.random.default_rng(9).lognormal(size=400)
    quick = sensitivity(statistic, Records(data, size=200), None, 1, relation)
    slow = sensitivity(
        statistic, Records([Fraction(v) for v in data.tolist()], size=200), None, 1, relation
    )
    assert quick.value == slow.value
    x, y = (variance([Fraction(v) for v in side], statistic.ddof) for side in quick.witness)
    reached = gap(Root(x), Root(y)) if statistic.spread.root else abs(x - y)
    assert reached == quick.value


def test_known_values():
    unbounded = sensitivity("var", Records(SCHOOL, size=6))
    assert unbounded.value == Fraction(1723, 300)
    assert sensitivity("var", Records(SCHOOL, size=6), None, 2, within=False).value == Fraction(
        1673, 144
    )
    deviation = sensitivity("std", Records(SCHOOL, size=6))
    assert float(deviation) >= math.sqrt(1) * 1.3973192770179974 - 1e-15
    assert float(deviation) == pytest.approx(1.3973192770179974, rel=1e-14)
    assert sensitivity("std", Records(ABSENCE, size=6)).witness is not None


def test_a_std_is_not_below_the_truth_where_floats_are():
    """A window without spread computes as 1e-17 in floats, a root of 4e-9."""
    data = [0.1] * 10 + [0.3]
    found = sensitivity("std", Records(data, size=10))
    x, y = (variance([Fraction(v) for v in side]) for side in found.witness)
    assert min(x, y) == 0
    assert Fraction(float(found)) ** 2 >= max(x, y)


def test_mixed_moves_that_only_a_bound_covers_are_labelled():
    rng = np.random.default_rng(0)
    population = np.sort(rng.integers(0, 1000, 40)).tolist()
    labels = set()
    for size in (2, 3, 4, 6, 20):
        found = sensitivity("std", Records(population, size=size), None, 4, "unbounded")
        labels.add(found.method)
        one_way = [
            sensitivity("std", Records(population, size=size), None, 1, relation)
            for relation in ("add", "remove", "bounded")
            if not (size == 1 and relation == "remove")
        ]
        assert all(float(found) >= float(other) for other in one_way)
        if found.method == "upper bound":
            assert not found.exact
            assert found.witness is None
            assert "only bounded" in " ".join(found.notes)
        else:
            assert found.witness is not None
    assert labels <= {"polynomial", "exhaustive", "upper bound"}


def test_bound_on_uncovered_moves_holds_against_all_blocks():
    """What `widen` cannot prove is never above the bound that it returns or what it offers."""
    rng = np.random.default_rng(5)
    for _ in range(30):
        moments = Moments(Sample(rng.integers(0, 50, 10)))
        if moments.constant:
            continue
        contest = Contest(moments, Spread(0, root=True))
        bound = widen(contest, 3, 1, 2, within=True)
        every = Contest(moments, Spread(0, root=True))
        blocks(every, 3, 1, 2)
        assert every.floor <= max(bound, contest.floor) * (1 + 1e-9)


def test_neighbours_without_a_value_are_left_out_and_said():
    found = sensitivity("var", Records([1, 2, 3], size=2), None, 2, "unbounded")
    assert any("fewer than 1 record" in note for note in found.notes)
    found = sensitivity(Variance(ddof=1), Records([1, 2, 3, 9], size=2))
    assert any("fewer than 2 record" in note for note in found.notes)
    assert min(map(len, found.witness)) == 2


def test_what_has_no_value_is_refused():
    with pytest.raises(UsageError, match="ddof must be 0 or 1"):
        Variance(ddof=2)
    with pytest.raises(InfeasibleError, match="needs at least 2"):
        sensitivity(Variance(ddof=1), Records([1, 2, 3], size=1))
    with pytest.raises(InfeasibleError, match="undefined"):
        sensitivity(StandardDeviation(ddof=1), Records([1, 2], size=2), None, 1, "remove")


def test_equal_records_have_no_sensitivity():
    for relation in ("unbounded", "bounded"):
        found = sensitivity("var", Records([4, 4, 4, 4], size=2), None, 1, relation)
        assert found.value == 0
        # nobody's value can change where the size is public
        assert found.witness == (None if relation == "bounded" else ((4, 4), (4, 4, 4)))
    assert sensitivity("std", Interval(2, 2, size=3)).value == 0
    assert sensitivity("var", Records([4, 5], size=2), None, 1, "bounded").value == 0


@pytest.mark.parametrize("n", [2, 3, 10, 1001])
def test_textbook_formulas_over_an_interval(n):
    substituted = sensitivity("var", Interval(0, 10, size=n), None, 1, "bounded").value
    assert substituted == Fraction(100 * (n - 1), n * n)
    added = sensitivity("var", Interval(0, 10, size=n), None, 1, "add").value
    assert added == Fraction(100 * n, (n + 1) ** 2)
    assert sensitivity(
        Variance(ddof=1), Interval(0, 10, size=n), None, 1, "bounded"
    ).value == Fraction(100, n)


def test_values_and_an_interval_agree_without_a_degree_of_freedom_lost():
    for k in (1, 2, 5):
        for relation in ("unbounded", "add", "remove", "bounded"):
            over = [Values([0, 3, 7, 10], size=6), Interval(0, 10, size=6)]
            listed, all_reals = (sensitivity("var", d, None, k, relation) for d in over)
            assert listed.value == all_reals.value


def test_numpy_agrees_on_the_values():
    rows = np.random.default_rng(2).normal(size=(5, 7))
    for ddof in (0, 1):
        assert np.allclose(Variance(ddof).batch(rows), rows.var(axis=1, ddof=ddof))
        assert np.allclose(StandardDeviation(ddof).batch(rows), rows.std(axis=1, ddof=ddof))
        exact = Variance(ddof).of(Sample(rows[0]))
        assert float(exact) == pytest.approx(rows[0].var(ddof=ddof), rel=1e-14)
    assert np.isnan(Variance(1).batch(rows[:, :1])).all()


@examples(1.5)
@given(
    st.integers(2, 6),
    st.integers(0, 3),
    st.lists(st.one_of(st.integers(0, 30), st.integers(0, 500)), min_size=14, max_size=14),
    st.booleans(),
    st.data(),
)
def test_crossed_pairs_complete_the_windows_at_an_exact_distance(kept, spare, records, root, data):
    lost = data.draw(st.integers(1, min(kept, 3)), "lost")
    gained = data.draw(st.integers(lost, 4), "gained")
    moments = Moments(Sample(records[: kept + gained + lost + spare]))
    if moments.constant:
        return
    quick, full = (Contest(moments, Spread(0, root)) for _ in range(2))
    blocks(full, kept, gained, lost)
    windows(quick, kept, gained, lost)
    crossed(quick, kept, gained, lost)
    assert float(quick.winner().value) == pytest.approx(float(full.winner().value), rel=1e-14)


def test_crossed_pairs_are_needed():
    """At exactly two substitutions a gained record can lie between the shared and the lost ones."""
    population = [0, 0, 0, 0, 10, 11, 11, 10_000]
    by_windows = best_of(population, 6, 2, windows)
    assert by_windows < best_of(population, 6, 2, blocks)
    assert best_of(population, 6, 2, crossed) == best_of(population, 6, 2, blocks)
    found = sensitivity("var", Records(population, size=6), None, 2, "bounded", within=False)
    assert found.value == best_of(population, 6, 2, blocks)


def test_too_many_pairs_leave_a_bound_that_is_labelled(monkeypatch):
    monkeypatch.setattr("tacit.statistics.variances.move_bounds._MOST_PAIRS", 0)
    monkeypatch.setattr("tacit.statistics.variances.listed_pairs.MOST_PAIRS", 0)
    population = [1, 1, 15, 16, 24, 27, 27, 205] * 4
    truth = best_of(population, 4, 3, blocks)
    found = sensitivity("var", Records(population, size=4), None, 3, "bounded")
    assert found.method == "upper bound"
    assert found.value >= truth
    assert found.witness is None
