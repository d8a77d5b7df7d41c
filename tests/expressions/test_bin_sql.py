"""The bin of an offset in SQL against a count of the edges below it."""

import bisect

import duckdb
import pytest

from tacit.expressions.dialect import bins_sql
from tacit.tables.engines.duckdb.engine import DUCKDB


@pytest.mark.parametrize(
    "edges", [(0, 5, 10, 15), (0, 1), (3, 7, 11), (0, 1, 5, 6, 20), (0, 9, 10, 11, 12, 99)], ids=str
)
def test_every_offset_falls_into_its_bin(edges):
    sql = bins_sql("z", edges, DUCKDB)
    found = duckdb.sql(
        f"select z, {sql} from range({edges[0]}, {edges[-1] + 1}) as t(z) order by z"
    ).fetchall()
    last = len(edges) - 2
    wanted = [(z, min(bisect.bisect_right(edges, z) - 1, last)) for z, _ in found]
    assert found == wanted
    assert len(found) == edges[-1] - edges[0] + 1
