"""The picture of a profile: a panel for every column, scope and relation."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import tacit.statistics as ts
from support.figures import TABLE, save


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
