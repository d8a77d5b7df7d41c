"""Each type of cell of a frame has its own text."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd

from tacit.tables.engines.duckdb.frames import cell_text


def test_each_type_of_cell_has_its_own_text():
    at = datetime.datetime(2024, 1, 31, 18, 30)
    zone = datetime.timezone(datetime.timedelta(hours=9))
    assert [cell_text(c) for c in (at, at.replace(tzinfo=zone), at.date(), pd.NaT)] == [
        "2024-01-31 18:30:00",
        "2024-01-31 09:30:00",
        "2024-01-31",
        None,
    ]
    assert cell_text(datetime.datetime(1, 1, 1, tzinfo=zone)) is None
    assert [cell_text(c) for c in (np.int8(3), np.float64("nan"), np.bool_(True), 1e23)] == [
        "3",
        None,
        "true",
        "1e+23",
    ]
