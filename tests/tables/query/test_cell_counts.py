"""Rows are counted by bin or cell: those without a value nowhere."""

from collections import Counter

import numpy as np
import pyarrow
import pytest

from tacit.errors import UsageError
from tacit.tables import open_source
from tacit.tables.engines.duckdb.engine import DUCKDB
from tacit.tables.query.contribution_bounding import BoundedRows
from tacit.tables.query.integer_query import bins, cells, check_places

VALUES = [3, None, 0, 9, 3, None, 9, 9, 299]
CODES = [0, 0, 1, 1, 1, 0, 0, 1, 1]


def _rows(source, one=1, weight=""):
    base = f"select z as z0, code{', w' if weight else ''} from {source.relation} as tacit_rows"
    return BoundedRows(base, DUCKDB, one, weight)


@pytest.fixture(scope="module")
def source():
    weights = [2, 1, 1, 3, 0, 2, 1, 1, 1]
    with open_source(pyarrow.table({"z": VALUES, "code": CODES, "w": weights})) as opened:
        yield opened


@pytest.mark.parametrize("size", [300, 255, 1 << 20])  # 255 and 1: as many as a byte holds
@pytest.mark.parametrize("one", [1, 60])
def test_cells_that_occur_are_counted_once_and_rows_without_a_value_nowhere(source, size, one):
    expected = Counter(z for z in VALUES if z is not None and z <= size)
    rows = _rows(source, one)
    if size == 255:
        rows = BoundedRows(
            f"select * from ({rows.base}) as r where z0 <= 255 or z0 is null", DUCKDB, one
        )
    ((at, weights),) = cells(rows, "z0", size, 0, 1, source.engine)
    found = dict(zip(at.tolist(), weights.tolist(), strict=True))
    assert found == {z: n * one for z, n in expected.items()}
    assert at.tolist() == sorted(at.tolist())


def test_each_list_has_cells_of_its_own(source):
    (first, second) = cells(_rows(source), "z0", 300, 0, 2, source.engine)
    assert [part.tolist() for part in first] == [[3, 9], [1, 1]]
    assert [part.tolist() for part in second] == [[0, 3, 9, 299], [1, 1, 2, 1]]


def test_weights_are_added_up_where_rows_have_them(source):
    (first, second) = cells(_rows(source, 4, "w"), "z0", 300, 0, 2, source.engine)
    assert [part.tolist() for part in first] == [[3, 9], [2, 1]]
    assert [part.tolist() for part in second] == [[0, 3, 9, 299], [1, 0, 4, 1]]


@pytest.mark.parametrize("edges", [(0, 4, 8, 12), (0, 4, 300), tuple(range(301))], ids=len)
def test_bins_hold_the_rows_between_their_edges(source, edges):
    small = [(z, c) for z, c in zip(VALUES, CODES, strict=True) if z is not None and z <= edges[-1]]
    base = f"select case when z <= {edges[-1]} then z end as z0, code from {source.relation}"
    found = bins(BoundedRows(f"{base} as tacit_rows", DUCKDB), "z0", edges, 2, source.engine)
    expected = [
        np.histogram([z for z, c in small if c == code], bins=edges)[0].tolist() for code in (0, 1)
    ]
    assert found.tolist() == expected


def test_a_table_without_a_value_has_no_cells():
    with open_source(pyarrow.table({"z": pyarrow.array([None, None], pyarrow.int64())})) as empty:
        rows = BoundedRows(f"select z as z0, 0 as code from {empty.relation} as r", DUCKDB)
        ((at, weights),) = cells(rows, "z0", 9, 0, 1, empty.engine)
        assert (at.tolist(), weights.tolist()) == ([], [])
        assert bins(rows, "z0", [0, 5, 9], 1, empty.engine).tolist() == [[0, 0]]


def test_more_places_than_can_be_distinguished_are_refused():
    check_places(1 << 31, 1 << 32)
    with pytest.raises(UsageError, match="more than can be distinguished"):
        check_places((1 << 31) + 1, 1 << 32)
