"""The picture of a profile: a panel for every column, scope and relation."""

from __future__ import annotations

import io
import itertools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import tacit.statistics as ts
from support.by_hand import statistics_oracle as oracle
from support.examples import examples
from support.figures import CLASSIC, TABLE, save
from support.tables.shared_data import shared_file
from tacit.errors import InfeasibleError, UsageError


@pytest.mark.full
def test_a_profile_has_a_panel_for_every_column_scope_and_relation(tmp_path: Path) -> None:
    head = {name: column[:6] for name, column in TABLE.items()}
    profile = ts.sensitivity_profile(
        ["mean", "median", "count"], ts.Records(TABLE, size=6), range(1, 6), at=head
    )
    figure = profile.plot()
    assert len(figure.axes) == 2 * 2 * 2
    for panel in figure.axes:
        assert [float(t).is_integer() for t in panel.get_xticks()]
        assert len(panel.get_lines()) == 3
    save(figure, tmp_path)
    assert repr(profile) == "Profile(mean, median, count: 120 points)"
    frame = profile.to_pandas()
    assert len(frame) == 2 * 2 * 2 * 3 * 5
    row = frame.query(
        "column == 'days' and scope == 'global' and relation == 'unbounded' "
        "and statistic == 'mean' and distance == 1"
    )
    assert row["value"].item() == pytest.approx(17 / 6)
    save(profile.plot(log=True), tmp_path)


SEED = [1, 2, 2, 2, 5, 5, 7, 8, 9, 9]
TEN = [
    *("mean", "median", "count", "sum", "std", "var"),
    *(f"percentile_{share}" for share in (25, 50, 75, 90)),
]


@pytest.mark.full
@pytest.mark.parametrize("relation", [["bounded"], ["unbounded", "bounded"]])
def test_the_legend_of_ten_statistics_is_within_the_figure(relation: list[str]) -> None:
    asked = [ts.percentile(int(n[11:])) if n.startswith("percentile") else n for n in TEN]
    profile = ts.sensitivity_profile(asked, ts.Records(SEED, size=6), [1, 2], relation)
    figure = profile.plot()
    figure.savefig(io.BytesIO(), format="png")
    (legend,) = figure.legends
    box, whole = legend.get_window_extent(), figure.bbox
    assert whole.x0 <= box.x0 <= box.x1 <= whole.x1
    assert whole.y0 <= box.y0 <= box.y1 <= whole.y1
    texts = [text for text in legend.get_texts() if text.get_visible()]
    assert len(texts) == len({text.get_text() for text in texts}) == 10
    for text in texts:
        said = text.get_window_extent()
        assert whole.x0 <= said.x0 <= said.x1 <= whole.x1
    lowest = min(panel.get_tightbbox().y0 for panel in figure.axes)
    assert box.y1 <= lowest + 1
    assert len(figure.axes[0].get_lines()) == 10


# Every value of the shared reference table, both columns, every relation and distance.


READINGS = {
    "unbounded_exact_k": ("unbounded", False),
    "unbounded_symdist_at_most_k": ("unbounded", True),
    "unbounded_remove_exact_k": ("remove", False),
    "unbounded_add_exact_k": ("add", False),
    "bounded_exact_k": ("bounded", False),
    "bounded_at_most_k": ("bounded", True),
}


def load() -> dict[str, Any]:
    path = shared_file("sensitivity_reference.json")
    if path is None:
        pytest.skip("the shared data folder is absent")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def name_of(query: str) -> str:
    return query.replace("percentile_", "percentile:")


def agree(found: ts.Sensitivity, stated: Any) -> bool:
    if isinstance(stated, float):
        return abs(float(found) - stated) <= 1e-9 * max(1.0, stated)
    return found.value == Fraction(stated)


def compare(block: dict[str, Any], population: list[int], at: list[int] | None) -> int:
    checked = 0
    for reading, (relation, within) in READINGS.items():
        for distance, queries in block.get(reading, {}).items():
            for query, stated in queries.items():
                over = ts.Records(population, size=6)
                asked = {"at": at, "distance": int(distance), "relation": relation}
                if stated is None:
                    with pytest.raises(InfeasibleError):
                        ts.sensitivity(name_of(query), over=over, within=within, **asked)
                else:
                    found = ts.sensitivity(name_of(query), over=over, within=within, **asked)
                    assert agree(found, stated), (reading, distance, query, found, stated)
                checked += 1
    return checked


def one_direction(block: dict[str, Any], population: list[int], at: list[int] | None) -> int:
    """ "1..k fewer or 1..k more" is the larger of the two relations in one direction."""
    checked = 0
    for distance, queries in block["unbounded_at_most_k_one_direction"].items():
        for query, stated in queries.items():
            over = ts.Records(population, size=6)
            best = 0.0
            for relation, room in (("add", 4), ("remove", 5)):
                k = min(int(distance), room)
                best = max(best, ts.sensitivity(name_of(query), over, at, k, relation).value)
            assert abs(best - Fraction(stated)) <= 1e-9 * max(1.0, float(Fraction(stated)))
            checked += 1
    return checked


@pytest.mark.few(2)
@pytest.mark.parametrize("column", ["school_year", "absence_days"])
def test_the_whole_reference_table(column: str) -> None:
    table = load()[column]
    population = table["universe"]
    checked = compare(table["global"], population, None)
    checked += one_direction(table["global"], population, None)
    for release, block in table["local"].items():
        checked += compare(block, population, json.loads(release))
        checked += one_direction(block, population, json.loads(release))
    assert checked > 500


# A profile has a panel for every column, scope and relation, with gaps where nothing is.


def test_a_profile_leaves_gaps_where_a_distance_cannot_be_made() -> None:
    profile = ts.sensitivity_profile("mean", CLASSIC, [2, 3], relations="add", within=False)
    assert [row.value is None for row in profile.rows] == [False, True]
    assert profile.to_pandas()["value"].isna().tolist() == [False, True]
    with pytest.raises(InfeasibleError, match="greatest distance is 2"):
        ts.sensitivity_profile("mean", CLASSIC, [3, 4], relations="add", within=False)
    with pytest.raises(UsageError, match="at least one"):
        ts.sensitivity_profile([], CLASSIC)


# Formulas that are in print or in libraries and are wrong, each beside the truth.


@examples(3)
@given(st.lists(st.integers(0, 30), min_size=2, max_size=30), st.integers(30, 60))
def test_local_mean_counts_removals_and_both_bounds(x: list[int], upper: int) -> None:
    n, mu = len(x), Fraction(sum(x), len(x))
    right = max(
        max(upper - mu, mu) / (n + 1),
        max(mu - min(x), max(x) - mu) / (n - 1),
    )
    assert ts.sensitivity("mean", ts.Interval(0, upper), at=x).value == right


def test_local_mean_is_not_the_bound_over_n_plus_one() -> None:
    x, upper = [0] * 9 + [100], 100
    found = ts.sensitivity("mean", ts.Interval(0, upper), at=x)
    wrong = Fraction(upper, len(x) + 1)
    assert wrong < found.value == 10  # removing the outlier moves the mean by 10
    assert found.witness == ((0,) * 9 + (100,), (0,) * 9)


def test_exactly_k_is_not_monotone() -> None:
    x = [0, 10, 10]
    over = ts.Records([0, 0, 0, 10, 10, 10], size=3)
    steps = [ts.sensitivity("min", over, x, k, "bounded", within=False).value for k in (1, 2, 3)]
    within = [ts.sensitivity("min", over, x, k, "bounded").value for k in (1, 2, 3)]
    assert steps == [10, 0, 0]
    assert within == [10, 10, 10]


def test_exactly_k_in_one_direction_misses_mixed_neighbours() -> None:
    over = ts.Records([0, 1, 2, 3, 4, 5, 100], size=4)
    x = [0, 1, 2, 3]
    exactly = ts.sensitivity("mean", over, x, 2, within=False)
    mixed = ts.sensitivity("mean", over, x, 2)
    assert exactly.value < mixed.value
    assert mixed.witness == ((0, 1, 2, 3), (1, 2, 3, 100))
    assert not exactly.is_guarantee
    assert ts.sensitivity("mean", over, distance=2).is_guarantee


@examples(1.5)
@given(st.lists(st.integers(-5, 5), min_size=3, max_size=6), st.integers(1, 5))
def test_bounded_local_compares_with_the_data_and_not_among_neighbours(
    population: list[int], n: int
) -> None:
    """Comparing neighbours with each other overstates, by up to a factor of two."""
    assume(n < len(population))
    x = frozenset(range(n))
    exact = [Fraction(v) for v in population]
    truth = ts.sensitivity("mean", ts.Records(population), population[:n], relation="bounded").value
    among = Fraction(0)
    for lost in x:
        core = x - {lost}
        near = [core | {i} for i in range(len(population)) if i not in core]
        values = [oracle.mean(tuple(exact[i] for i in y)) for y in near]
        among = max(among, *(abs(a - b) for a, b in itertools.combinations(values, 2)), 0)
    assert truth <= among <= 2 * truth


def test_comparing_neighbours_with_each_other_can_double() -> None:
    over = ts.Records([-10, 0, 0, 10])
    assert ts.sensitivity("mean", over, at=[0, 0], relation="bounded").value == 5
    # {0, 10} and {-10, 0} share {0}: their means are 10 apart.
    assert (
        oracle.mean((Fraction(0), Fraction(10))) - oracle.mean((Fraction(-10), Fraction(0))) == 10
    )


@pytest.mark.parametrize("k", [1, 2])
def test_n_copies_of_each_value_are_too_few(k: int) -> None:
    """A value set is often written as n copies of each value; additions then run out."""
    n, values = 2, [0, 10]
    copies = ts.Records(values * n, size=n)
    enough = ts.Records(values * (n + k), size=n)
    free = ts.Values(values, size=n)
    name = "percentile(90)"
    kept = ts.sensitivity(name, free, at=[0, 0], distance=k, relation="add").value
    assert ts.sensitivity(name, enough, [0, 0], k, "add").value == kept
    all_ten = {"at": [10, 10], "distance": k + n, "relation": "add", "within": False}
    assert ts.sensitivity("sum", free, **all_ten).value == 10 * (n + k)
    with pytest.raises(ValueError, match="greatest distance is 2"):
        ts.sensitivity("sum", copies, **{**all_ten, "distance": n + k})


def test_within_two_a_third_copy_matters() -> None:
    """Two copies cannot show a release of three tens."""
    free = ts.sensitivity(
        "sum", ts.Values([0, 10], size=2), at=[10, 10], distance=1, relation="add"
    )
    copies = ts.sensitivity("sum", ts.Records([0, 10] * 2, size=2), [10, 10], 1, "add")
    assert (copies.value, free.value) == (0, 10)
