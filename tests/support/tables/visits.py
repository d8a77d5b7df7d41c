"""A small table of visits with every type that SQL compares."""

from __future__ import annotations

import pyarrow

ROWS = pyarrow.table(
    {
        "person": [1, 1, 2, 3, 4, 5] * 4,
        "site": [1, 2, 3, 1, 2, 3] * 4,
        "cost": [1.0, 20.0, None, 4.5, 90.0, 3.0] * 4,
        "age": [4, 18, 33, 61, None, 80] * 4,
        "sex": ["f", "m", None, "f", "m", "x"] * 4,
        "Big": [1, 2, 3, 4, 5, 6] * 4,
        "day": pyarrow.array([0, 400, 800, 1200, None, 19000] * 4, pyarrow.date32()),
        "at": pyarrow.array([0, 10**15, None, 3, 4, 5] * 4, pyarrow.timestamp("us")),
    }
)
