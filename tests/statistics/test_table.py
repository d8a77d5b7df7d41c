"""The table of every release and its neighbours."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import tacit as tc
import tacit.statistics as ts
from support.by_hand.variance_enumeration import (
    RELATIONS,
    over_records,
    over_values,
)
from support.by_hand.variance_questions import (
    ask,
    best_of,
    check_witness,
    counted,
    populations,
    questions,
    ratio,
    statistic,
    variance,
    whole,
)
from support.examples import examples
from support.figures import CLASSIC, save, texts
from tacit.errors import InfeasibleError, UsageError
from tacit.statistics import Records, Sample, Values, sensitivity
from tacit.statistics.dispersion_candidates import (
    Contest,
    SpreadMeasure,
    blocks,
    crossed,
    widen,
    windows,
)
from tacit.statistics.prefix_moments import PrefixMoments
from tacit.statistics.table import draw_table


@pytest.mark.full
def test_the_classic_table(tmp_path: Path) -> None:
    table = ts.sensitivity_table("median", CLASSIC)
    assert table.value == Fraction(9, 2)
    assert len(table.releases) == 10
    assert all(len(r.neighbours) == 5 for r in table.releases)
    first = table.releases[0]
    assert first.records == (1, 2, 3)
    assert first.local == Fraction(1, 2)
    for release in table.releases:
        assert release.local == ts.sensitivity("median", CLASSIC, at=release.records).value
    frame = table.to_pandas()
    assert len(frame) == 50
    assert frame["global"].sum() == 2
    figure = table.plot()
    shown = texts(figure)
    assert "{1, 2, 11}" in shown
    assert any("global sensitivity" in t for t in shown)
    save(figure, tmp_path)
    assert "global 4.5" in str(table)
    assert repr(table) == "SensitivityTable(median: 10 releases, 50 pairs, global 4.5)"


@pytest.mark.few(4)
@pytest.mark.parametrize("relation", ["unbounded", "add", "remove", "bounded"])
@pytest.mark.parametrize("name", ["mean", "median", "sum", "count", "var", "std"])
def test_a_table_agrees_with_the_sensitivity(relation: Any, name: str) -> None:
    domains = [ts.Records([1, 1, 2, 5, 9], size=3), ts.Values([0, 1, 5], size=2)]
    for over in (*domains, ts.Records([1, 5], size=1), ts.Values([1, 5], size=1)):
        table = ts.sensitivity_table(name, over, relation=relation)
        assert table.value == ts.sensitivity(name, over, relation=relation).value


EMPTY = {"count": (1, 2), "sum": (5, 6), "mean": (0, 2)}


@pytest.mark.parametrize("name", EMPTY)
def test_the_empty_release_is_a_neighbour_or_is_said_to_be_left_out(name: str) -> None:
    """Of one record and of two, where records are removed: by hand."""
    one, both = EMPTY[name]
    note = [f"the empty release is left out: {name} has no value there"]
    for over, distance, truth in (
        (ts.Values([1, 5], size=1), 1, one),
        (ts.Records([1, 5], size=2), 2, both),
    ):
        table = ts.sensitivity_table(name, over, distance, relation="remove")
        assert table.value == truth
        empty = [() in [n.records for n in release.neighbours] for release in table.releases]
        assert empty == [name != "mean"] * len(table.releases)
        profile = ts.sensitivity_profile(name, over, [distance], relation="remove")
        assert [row.value for row in profile.rows] == [truth]
        for shown in (table, profile):
            assert shown.card().notes == (note if name == "mean" else [])
    assert ts.sensitivity_table(ts.Function(len, empty=0), over, 2, relation="remove").value == 2
    profile = ts.sensitivity_profile(name, ts.Values([1, 5], size=2), [1], relation="unbounded")
    assert profile.card().notes == []


def test_a_table_that_cannot_be_listed_or_drawn_says_so() -> None:
    with pytest.raises(InfeasibleError, match="too many to list"):
        ts.sensitivity_table("mean", ts.Records(range(40), size=20))
    with pytest.raises(InfeasibleError, match="finitely many"):
        ts.sensitivity_table("mean", ts.Interval(0, 1, size=3))
    with pytest.raises(UsageError, match="to_pandas"):
        ts.sensitivity_table("mean", ts.Records(range(9), size=4)).plot()


def test_a_table_of_several_columns_is_a_dict() -> None:
    over = tc.Records({"a": [1, 2], "b": [3, 7]}, size=1)
    tables = tc.sensitivity_table("mean", over=over, relation="bounded")
    assert {name: table.value for name, table in tables.items()} == {
        "a": Fraction(1),
        "b": Fraction(4),
    }
    with pytest.raises(UsageError, match="over must be Records"):
        tc.sensitivity_table("mean", over=[1, 2])


# Domains: how they compare and show themselves.


TABLE = {"year": [1, 2, 2, 2, 5, 5, 7, 8, 9, 9], "days": [1, 2, 3, 4, 5, 6, 7, 8, 15, 20]}


def test_domains_compare_and_show_themselves() -> None:
    assert ts.Records([2, 1.0], size=1) == ts.Records([1, "2"], size=1)
    assert ts.Records([1, 2]) != ts.Values([1, 2])
    assert hash(ts.Interval(0, 1)) == hash(ts.Interval(0.0, "1"))
    assert repr(ts.Records(TABLE, size=6)) == "Records(columns year, days, size=6)"
    assert "100 values, 0 to 99" in repr(ts.Records(range(100)))
    with pytest.raises(UsageError, match="ask for each of them"):
        _ = ts.Records(TABLE).sample


# Releases of any size: the worst of all sizes.


@examples(1.2)
@given(st.lists(whole, min_size=2, max_size=6), questions, st.integers(1, 6))
def test_of_any_size_is_the_worst_of_all_sizes(population, question, k):
    population = sorted(population)
    ddof, root = question["ddof"], question["root"]
    relation, within = question["relation"], question["within"]
    truths = [
        over_records(population, n, relation, k, within, ddof, root)
        for n in range(1 + ddof, len(population) + 1)
    ]
    truths = [t for t in truths if t is not None]
    assume(truths)
    answer = ask(statistic(ddof, root), Records(population), None, k, relation, within)
    check_witness(answer, max(truths), ddof, root)


@pytest.mark.few(4)
@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("root", [False, True])
def test_values_of_any_size_are_the_worst_of_many_sizes(ddof, root):
    for relation in RELATIONS:
        for k in (1, 2, 3):
            for within in (True, False):
                question = (relation, k, within, ddof, root)
                answer = sensitivity(
                    statistic(ddof, root), Values([0, 1]), None, k, relation, within
                )
                truths = [over_values([0, 1], n, *question) for n in range(1 + ddof, 10)]
                assert answer.value == max(t for t in truths if t is not None), question


# Local sensitivities of variances against exhaustive enumeration in exact rationals.


@pytest.mark.full
@examples(7)
@given(populations, questions, st.data())
def test_local_over_records(population, question, data):
    population = sorted(Fraction(v) for v in population)
    ddof, root = question["ddof"], question["root"]
    assume(len(population) > ddof)
    mask = data.draw(st.integers(1, (1 << len(population)) - 1), "at")
    at = [v for i, v in enumerate(population) if mask >> i & 1]
    assume(len(at) > ddof)
    k = data.draw(st.integers(1, len(population)), "distance")
    relation, within = question["relation"], question["within"]
    truth = over_records(population, len(at), relation, k, within, ddof, root, at=mask)
    assume(truth is not None)
    answer = ask(statistic(ddof, root), Records(population), at, k, relation, within)
    pair = check_witness(answer, truth, ddof, root)
    if pair is None:
        return
    x, y = pair
    assert x == at
    counted(population, y)


value_sets = st.lists(st.one_of(whole, ratio), min_size=1, max_size=3, unique=True)


@examples(2.5)
@given(value_sets, questions, st.data())
def test_local_over_values(values, question, data):
    values = sorted(Fraction(v) for v in values)
    ddof, root = question["ddof"], question["root"]
    at = sorted(data.draw(st.lists(st.sampled_from(values), min_size=1 + ddof, max_size=5), "at"))
    k = data.draw(st.integers(1, 4), "distance")
    relation, within = question["relation"], question["within"]
    truth = over_values(values, len(at), relation, k, within, ddof, root, at=at)
    assume(truth is not None)
    answer = ask(statistic(ddof, root), Values(values), at, k, relation, within)
    pair = check_witness(answer, truth, ddof, root)
    if pair is None:
        return
    x, y = pair
    assert x == at
    assert set(y) <= set(values)


# The picture of an answer: its neighbours, as dots, as a rug, as counts.


@pytest.mark.full
@pytest.mark.parametrize("name", ["median", "mean", "count", "sum", "max", "var", "std"])
def test_an_answer_draws_its_neighbours(name: str, tmp_path: Path) -> None:
    figure = ts.sensitivity(name, CLASSIC).plot()
    shown = " ".join(texts(figure))
    assert f"Global sensitivity of the {name}" in shown
    assert f"{name}(x) = " in shown
    assert f"{name}(y) = " in shown
    assert "gap = " in shown
    save(figure, tmp_path)


@pytest.mark.full
def test_many_records_are_drawn_as_a_rug(tmp_path: Path) -> None:
    over = ts.Records(np.arange(5000.0) ** 2, size=2500)
    save(ts.sensitivity("mean", over, distance=40, relation="bounded").plot(), tmp_path)


@pytest.mark.full
def test_a_histogram_shows_its_edges_and_both_counts(tmp_path: Path) -> None:
    answer = ts.sensitivity(ts.Histogram([0, 5, 20]), CLASSIC, relation="bounded")
    figure = answer.plot()
    strip = figure.axes[1]
    shown = [bar.get_height() for bar in strip.patches]
    x, y = (answer.statistic.of(sample) for sample in answer.pair)
    assert shown == [*x, *y]
    assert [label.get_text() for label in strip.get_xticklabels()] == ["below 5", "5 or more"]
    save(figure, tmp_path)
    many = ts.Histogram(range(-20, 20))
    save(ts.sensitivity(many, ts.Interval(-5, 5, size=3)).plot(), tmp_path)
    save(ts.sensitivity(ts.Histogram([0, 1]), CLASSIC).plot(), tmp_path)


def test_no_gap_is_drawn_on_a_readable_scale() -> None:
    figure = ts.sensitivity("count", CLASSIC, relation="bounded").plot()
    low, high = figure.axes[1].get_xlim()
    assert high - low >= 1
    assert any("count(x) = count(y) = 3" in t.get_text() for t in figure.axes[1].texts)


def test_nothing_is_drawn_before_it_is_asked_for() -> None:
    code = (
        "import sys, tacit.statistics as ts;"
        "ts.sensitivity('mean', ts.Records([1, 2, 3], size=2));"
        "ts.sensitivity_profile('mean', ts.Records([1, 2, 3], size=2), [1]);"
        "assert not {'matplotlib', 'pandas', 'rich', 'joblib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.full
def test_pyplot_is_never_touched() -> None:
    code = (
        "import sys, tacit.statistics as ts;"
        "ts.sensitivity('mean', ts.Records([1, 2, 3], size=2)).plot();"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# Windows and crossed pairs find what all blocks find.


@examples(0.6)
@given(
    st.lists(st.integers(-40, 40), min_size=12, max_size=40),
    st.booleans(),
    st.sampled_from([0, 1]),
    st.data(),
)
def test_windows_find_what_all_blocks_find_within_a_distance(records, root, ddof, data):
    moments = PrefixMoments(Sample(records))
    size = len(records)
    most = data.draw(st.integers(1, 3), "distance")
    n = data.draw(st.integers(most + max(most, 2), size - most), "size")
    quick, full = (Contest(moments, SpreadMeasure(ddof, root)) for _ in range(2))
    for d in range(1, most + 1):
        windows(quick, n - d, d, d, anchored=not root)
        blocks(full, n - d, d, d)
    if moments.constant:
        return
    assert quick.winner().value == full.winner().value


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
    moments = PrefixMoments(Sample(records[: kept + gained + lost + spare]))
    if moments.constant:
        return
    quick, full = (Contest(moments, SpreadMeasure(0, root)) for _ in range(2))
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


# What no family covers is bounded, and labelled as a bound.


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
        moments = PrefixMoments(Sample(rng.integers(0, 50, 10)))
        if moments.constant:
            continue
        contest = Contest(moments, SpreadMeasure(0, root=True))
        bound = widen(contest, 3, 1, 2, within=True)
        every = Contest(moments, SpreadMeasure(0, root=True))
        blocks(every, 3, 1, 2)
        assert every.floor <= max(bound, contest.floor) * (1 + 1e-9)


# Pairs that are too many to list leave a bound.


def test_too_many_pairs_leave_a_bound_that_is_labelled(monkeypatch):
    monkeypatch.setattr("tacit.statistics.dispersion_candidates._MAX_PAIRS", 0)
    monkeypatch.setattr("tacit.statistics.dispersion.MAX_PAIRS", 0)
    population = [1, 1, 15, 16, 24, 27, 27, 205] * 4
    truth = best_of(population, 4, 3, blocks)
    found = sensitivity("var", Records(population, size=4), None, 3, "bounded")
    assert found.method == "upper bound"
    assert found.value >= truth
    assert found.witness is None


# Sums over ranges of a sample: exact, and in floats within their stated error.


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


@pytest.mark.full
@pytest.mark.parametrize("kind", range(6))
def test_sums_over_ranges_are_exact(kind):
    sample = Sample(kinds_of_records(3000)[kind])
    moments, rng = PrefixMoments(sample), np.random.default_rng(1)
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
    sample = Sample(kinds_of_records(1000)[kind])
    moments = PrefixMoments(sample)
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
    right = float(PrefixMoments(Sample(data)).variance([(0, 8)]))
    assert right == float(variance([Fraction(i, 1024) for i in range(8)]))
    assert abs(wrong - right) >= right


# The picture of a table: a line a release, and the largest gap framed.


PICTURED = ts.sensitivity_table("median", ts.Records([1, 2, 9], size=2))


def test_every_release_and_neighbour_stands_in_it_once_a_line() -> None:
    shown = texts(draw_table(PICTURED))
    assert len(PICTURED.releases) == 3
    for release in PICTURED.releases:
        assert "{" + ", ".join(str(r) for r in release.records) + "}" in shown
        for near in release.neighbours:
            assert "{" + ", ".join(str(r) for r in near.records) + "}" in shown
    assert "median(x)" in shown
    assert any("global sensitivity of the median" in text.lower() for text in shown)
    assert any("unbounded neighbours within distance 1" in text for text in shown)


def test_the_largest_gap_of_each_release_is_shaded_and_the_largest_of_all_framed() -> None:
    patches = draw_table(PICTURED).axes[0].patches
    largest = sum(n.gap == r.local for r in PICTURED.releases for n in r.neighbours)
    overall = sum(n.gap == PICTURED.value for r in PICTURED.releases for n in r.neighbours)
    framed = [p for p in patches if p.get_edgecolor()[3] > 0]
    assert (len(patches), len(framed)) == (largest, overall)


@pytest.mark.parametrize("size", [1, 16])
def test_what_cannot_be_read_is_refused(size: int) -> None:
    over = ts.Records(range(18), size=size)
    with pytest.raises(UsageError, match=r"to_pandas\(\)"):
        ts.sensitivity_table("mean", over, relation="bounded" if size == 1 else "add").plot()
