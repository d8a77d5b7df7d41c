"""Tables as files: read again by other programs, and no text of them a formula."""

import csv
import io

import openpyxl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl.utils.escape import unescape

from tacit.errors import UsageError
from tacit.tables.export import (
    Column,
    arrow_table,
    csv_text,
    excel_bytes,
    parquet_bytes,
    write_file,
)

FORMULAS = [
    "=1+1", "+1+1", "-1+1", "@SUM(A1)", "=cmd|' /C calc'!A0", "\t=1", " =1", "\r=1", "\n=1",
    "-", "-a", "＝1", '"=1',
]  # fmt: skip
HARMLESS = ["a", "-5", "+3.5", "1e5", "[-10, 0)", "a=b", "", "Zürich", "don't"]


def read(text):
    return list(csv.reader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("text", FORMULAS)
def test_no_text_of_a_csv_file_begins_as_a_formula(text):
    columns = [Column(text, [text], False), Column("n", [-5], True)]
    name, cell = (row[0] for row in read(csv_text(columns)))
    assert name == cell == f"'{text}"
    assert read(csv_text(columns))[1][1] == "-5"
    assert read(csv_text(columns, escape_formulas=False))[1][0] == text


@pytest.mark.parametrize("text", HARMLESS)
def test_text_that_no_spreadsheet_runs_stays_as_it_is(text):
    assert read(csv_text([Column("a", [text], False), Column("b", [1], True)]))[1] == [text, "1"]


def test_a_workbook_holds_numbers_as_numbers_and_formulas_as_text():
    texts = [*FORMULAS, *HARMLESS, "https://example.org", "{=1}", None]
    numbers = [0.5] * len(texts)
    numbers[1], numbers[2], numbers[3] = None, 10**18, -7
    columns = [Column("=site", texts, False), Column("n", numbers, True)]
    book = openpyxl.load_workbook(io.BytesIO(excel_bytes(columns, [("=a", "=1+1")])))
    rows = list(book["answer"].iter_rows())
    assert [cell.value for cell in rows[0]] == ["=site", "n"]
    for row, text, number in zip(rows[1:], texts, numbers, strict=True):
        assert row[0].data_type != "f"
        assert row[0].hyperlink is None
        assert unescape(row[0].value or "") == (text or "")
        assert row[1].value == (str(number) if number == 10**18 else number)
    assert [cell.data_type for cell in next(book["about"].iter_rows())] == ["s", "s"]


@pytest.mark.full
def test_what_a_sheet_cannot_hold_is_refused_with_the_other_files():
    with pytest.raises(UsageError, match="to_parquet"):
        excel_bytes([Column("a", ["x" * 40_000], False)])
    with pytest.raises(UsageError, match="to_parquet"):
        excel_bytes([Column(f"c{i}", [1], True) for i in range(17_000)])


CELL = st.none() | st.integers(-(10**25), 10**25) | st.floats(allow_nan=False)


@given(st.lists(CELL, max_size=4), st.lists(st.none() | st.text(max_size=2) | st.integers()))
def test_parquet_holds_what_arrow_does_and_every_column_has_a_type(numbers, keys):
    size = min(len(numbers), len(keys))
    columns = [Column("k", keys[:size], False), Column("n", numbers[:size], True)]
    table = arrow_table(columns)
    assert "null" not in {str(field.type) for field in table.schema}
    assert pq.read_table(io.BytesIO(parquet_bytes(columns))).equals(table)
    for cell, number in zip(table["n"].to_pylist(), numbers, strict=False):
        assert cell == (number if number is None or isinstance(cell, int) else float(number))


@given(st.lists(st.tuples(st.none() | st.text(), st.integers() | st.floats()), max_size=4))
def test_every_text_is_one_cell_of_a_csv_file(rows):
    columns = [Column("k", [k for k, _ in rows], False), Column("n", [n for _, n in rows], True)]
    text = csv_text(columns, escape_formulas=False)
    assert read(text) == [["k", "n"], *([k or "", str(n)] for k, n in rows)]


def test_a_missing_text_is_not_an_empty_one():
    assert (
        csv_text([Column("k", [None, ""], False), Column("n", [1, 2], True)]) == 'k,n\n,1\n"",2\n'
    )


def test_a_file_that_cannot_be_written_is_said_in_a_sentence(tmp_path):
    with pytest.raises(UsageError, match="cannot be written: No such file"):
        write_file(tmp_path / "nowhere" / "a.csv", b"")
