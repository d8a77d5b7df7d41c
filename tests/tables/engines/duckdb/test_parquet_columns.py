"""Columns of whole numbers and text are copied out of a Parquet file as they are stored."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.errors import DataSourceError
from tacit.tables.engines.duckdb.parquet import extract_columns

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
    table = pa.table({"n": pa.array([4217], pa.int32()), "s": ["Zaphod"]})
    pq.write_table(table, tmp_path / "t.parquet")
    for number, name in enumerate(("n", "gone")):
        with pytest.raises(DataSourceError, match="damaged") as caught:
            extract_columns(str(tmp_path / "t.parquet"), [name], str(tmp_path / f"{number}"))
        assert "Zaphod" not in str(caught.value)
        assert caught.value.__context__ is None


@pytest.mark.parametrize("dictionary", [True, False])
def test_text_is_copied_as_bytes_within_lists_and_structs_too(tmp_path, dictionary):
    raw = [b"a", None, b"\xff", b"caf\xc3\xa9"]
    text = pa.array(raw, pa.binary()).cast(pa.string(), safe=False)
    lists = pa.ListArray.from_arrays([0, 1, 1, 4, 4], text)
    both = pa.StructArray.from_arrays([text, pa.array([1, 2, 3, 4])], ["s", "n"])
    table = pa.table({"n": [1, 2, 3, 4], "l": lists, "b": both, "t": text})
    source, target = tmp_path / "t.parquet", tmp_path / "copy.parquet"
    pq.write_table(table, source, use_dictionary=dictionary, row_group_size=3)
    extract_columns(str(source), ["t", "b", "l"], str(target))
    assert pq.read_table(target).to_pydict() == {
        "c0": raw,
        "c1": [{"s": cell, "n": n} for n, cell in enumerate(raw, 1)],
        "c2": [[raw[0]], [], raw[1:], []],
    }
