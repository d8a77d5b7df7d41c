"""The picture of a table: a line a release, and the largest gap framed."""

from __future__ import annotations

import pytest

import tacit.statistics as ts
from support.figures import texts
from tacit.errors import UsageError
from tacit.statistics.table import draw_table

pytest.importorskip("matplotlib")
TABLE = ts.sensitivity_table("median", ts.Records([1, 2, 9], size=2))


def test_every_release_and_neighbour_stands_in_it_once_a_line() -> None:
    shown = texts(draw_table(TABLE))
    assert len(TABLE.releases) == 3
    for release in TABLE.releases:
        assert "{" + ", ".join(str(r) for r in release.records) + "}" in shown
        for near in release.neighbours:
            assert "{" + ", ".join(str(r) for r in near.records) + "}" in shown
    assert "median(x)" in shown
    assert any("global sensitivity of the median" in text.lower() for text in shown)
    assert any("unbounded neighbours within distance 1" in text for text in shown)


def test_the_largest_gap_of_each_release_is_shaded_and_the_largest_of_all_framed() -> None:
    patches = draw_table(TABLE).axes[0].patches
    largest = sum(n.gap == r.local for r in TABLE.releases for n in r.neighbours)
    overall = sum(n.gap == TABLE.value for r in TABLE.releases for n in r.neighbours)
    framed = [p for p in patches if p.get_edgecolor()[3] > 0]
    assert (len(patches), len(framed)) == (largest, overall)


@pytest.mark.parametrize("size", [1, 16])
def test_what_cannot_be_read_is_refused(size: int) -> None:
    over = ts.Records(range(18), size=size)
    with pytest.raises(UsageError, match=r"to_pandas\(\)"):
        ts.sensitivity_table("mean", over, relation="bounded" if size == 1 else "add").plot()
