"""A profile has a panel for every column, scope and relation, with gaps where nothing is."""

from __future__ import annotations

import pytest

import tacit.statistics as ts
from support.figures import CLASSIC
from tacit.errors import InfeasibleError, UsageError


def test_a_profile_leaves_gaps_where_a_distance_cannot_be_made() -> None:
    profile = ts.sensitivity_profile("mean", CLASSIC, [2, 3], relations="add", within=False)
    assert [row.value is None for row in profile.rows] == [False, True]
    assert profile.to_pandas()["value"].isna().tolist() == [False, True]
    with pytest.raises(InfeasibleError, match="greatest distance is 2"):
        ts.sensitivity_profile("mean", CLASSIC, [3, 4], relations="add", within=False)
    with pytest.raises(UsageError, match="at least one"):
        ts.sensitivity_profile([], CLASSIC)
