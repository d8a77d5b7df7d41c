"""A view of Parquet files has the values of their columns, whatever their statistics say."""

import pyarrow as pa
import pyarrow.parquet as pq

from tacit.tables.engines.duckdb.engine import DuckEngine
from tacit.tables.engines.duckdb.parquet import parquet_view


def test_no_comparison_is_decided_by_the_footer(tmp_path):
    path = str(tmp_path / "t.parquet")
    pq.write_table(pa.table({"x": [float("nan"), 1.0, 2.0], "n": [1, 2, 3]}), path)
    engine = DuckEngine()
    view = parquet_view(lambda more: f"read_parquet('{path}'{more})", [path], engine)
    for test, rows in (("x <= 'Infinity'::double", 2), ("n <= 3", 3), ("n is not null", 3)):
        assert engine.rows(f"select count(*) from {view} where {test}") == [(rows,)]
    engine.close()
