"""The picture of a profile: a panel for every column, scope and relation."""

from __future__ import annotations

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
