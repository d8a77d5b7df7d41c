"""Domains: how they compare and show themselves."""

from __future__ import annotations

import pytest

import tacit.statistics as ts
from tacit.errors import UsageError

TABLE = {"year": [1, 2, 2, 2, 5, 5, 7, 8, 9, 9], "days": [1, 2, 3, 4, 5, 6, 7, 8, 15, 20]}


def test_domains_compare_and_show_themselves() -> None:
    assert ts.Records([2, 1.0], size=1) == ts.Records([1, "2"], size=1)
    assert ts.Records([1, 2]) != ts.Values([1, 2])
    assert hash(ts.Interval(0, 1)) == hash(ts.Interval(0.0, "1"))
    assert repr(ts.Records(TABLE, size=6)) == "Records(columns year, days, size=6)"
    assert "100 values, 0 to 99" in repr(ts.Records(range(100)))
    with pytest.raises(UsageError, match="ask for each of them"):
        _ = ts.Records(TABLE).sample
