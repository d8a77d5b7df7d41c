"""Columns of whole numbers are copied out of a Parquet file as they are stored."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.errors import DataSourceError
from tacit.tables.engines.duckdb.parquet_columns import extract_columns

TIMES = [0, None, (1 << 63) - 1, -(1 << 63) + 1]


@pytest.mark.parametrize("dictionary", [True, False])
@pytest.mark.parametrize("rows", [1, 3, 1000])
def test_the_copy_has_the_numbers_and_nothing_else(tmp_path, dictionary, rows):
    table = pa.table({"n": ["a"] * 4, "t": pa.array(TIMES, pa.timestamp("ms", "UTC")), "s": TIMES})
    source, target = tmp_path / "t.parquet", tmp_path / "copy.parquet"
    pq.write_table(table, source, use_dictionary=dictionary, row_group_size=rows)
    extract_columns(str(source), ["t", "s"], str(target))
    assert pq.read_table(target).to_pydict() == {"c0": TIMES, "c1": TIMES}
    assert pq.read_metadata(target).row_group(0).column(0).statistics is None


def test_a_file_that_changed_is_refused_without_quoting_it(tmp_path):
    pq.write_table(pa.table({"n": ["Zaphod"]}), tmp_path / "t.parquet")
    for number, name in enumerate(("n", "gone")):
        with pytest.raises(DataSourceError, match="damaged") as caught:
            extract_columns(str(tmp_path / "t.parquet"), [name], str(tmp_path / f"{number}"))
        assert "Zaphod" not in str(caught.value)
        assert caught.value.__context__ is None
