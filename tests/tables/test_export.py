"""Every table and file of one answer says the same."""

import csv
import datetime
import io

import openpyxl
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl.utils.escape import unescape

import tacit as tc
from tacit.errors import MissingExtraError, UsageError
from tacit.tables.export import (
    ExportColumn,
    ExportStatistic,
    arrow_table,
    columns_of,
    csv_text,
    excel_bytes,
    parquet_bytes,
    write_file,
)

EVIL = '=HYPERLINK("http://example.org","n")'


@pytest.fixture(scope="module")
def answer():
    frame = pd.DataFrame({"g": [EVIL, "b"] * 50, "x": range(100), "p": range(100)})
    with tc.Session(
        frame, unit=tc.unit("p", rows=1), budget=tc.epsilon_delta(50, "1e-3"), ledger=tc.in_memory
    ) as session:
        question = session.group_by("g", keys=["b", EVIL]).agg(
            n=tc.count(), x=tc.mean("x", 0, 100), h=tc.histogram("x", [0, "12.5", 100])
        )
        yield question.release(epsilon=10)


def same(one, other, digits):
    if isinstance(one, float) and isinstance(other, (int, float)):
        return one == pytest.approx(other, rel=10.0**-digits, abs=0)
    return one == other


@pytest.mark.parametrize("form", ["wide", "long"])
def test_every_table_and_file_holds_the_same_cells(answer, form, tmp_path):
    columns = answer.to_dict(form)
    rows = len(next(iter(columns.values())))
    assert rows == (2 if form == "wide" else 8)
    answer.to_parquet(tmp_path / "a.parquet", form=form)
    answer.to_csv(tmp_path / "a.csv", form=form, escape_formulas=False)
    answer.to_excel(tmp_path / "a.xlsx", form=form)
    assert (tmp_path / "a.csv").read_text() == answer.to_csv(form=form, escape_formulas=False)
    sheet = openpyxl.load_workbook(tmp_path / "a.xlsx")["answer"]
    assert sheet.max_row == rows + 1
    cells = list(sheet.iter_cols(values_only=True))
    tables = {
        "pandas": answer.to_pandas(form),
        "polars": answer.to_polars(form).to_pandas(),
        "arrow": answer.to_arrow(form).to_pandas(),
        "parquet": pq.read_table(tmp_path / "a.parquet").to_pandas(),
        "csv": pd.read_csv(tmp_path / "a.csv"),
        "excel": pd.DataFrame({one[0]: one[1:] for one in cells}),
    }
    for name, table in tables.items():
        assert list(table) == list(columns), name
        for column, cells in columns.items():
            found = [None if pd.isna(value) else value for value in table[column]]
            digits = 14 if name in ("csv", "excel") else 17  # of a reader, and of a sheet
            assert all(map(same, found, cells, [digits] * len(cells))), (name, column)


def test_the_long_form_holds_the_edges_of_a_histogram(answer):
    long = answer.to_pandas("long")
    bars = long[long.statistic == "h"]
    assert bars[["bin_lower", "bin_upper"]].to_numpy().tolist() == [[0, 12.5], [12.5, 100]] * 2
    assert bars["bin"].tolist() == ["[0, 12.5)", "[12.5, 100]"] * 2
    assert long[long.statistic != "h"][["bin", "bin_lower"]].isna().all().all()
    assert set(long.dtypes[["value", "lower", "upper", "standard_error"]].astype(str)) == {
        "float64"
    }


def test_a_released_key_is_no_formula_in_a_spreadsheet(answer, tmp_path):
    assert f'"\'{EVIL.replace(chr(34), chr(34) * 2)}"' in answer.to_csv()
    answer.to_excel(tmp_path / "a.xlsx")
    book = openpyxl.load_workbook(tmp_path / "a.xlsx")
    assert {c.data_type for row in book["answer"].iter_rows() for c in row} <= {"s", "n"}
    about = {row[0].value: row[1].value for row in book["about"].iter_rows()}
    assert about["protects"].startswith("each person")
    assert about["certificate"] == answer.certificate.body["digest"]


def test_what_is_missing_keeps_its_type():
    frame = pd.DataFrame({"x": range(20), "day": [datetime.date(2024, 1, 1)] * 20})
    with tc.Session(frame, unit=tc.one_row_each, budget=tc.epsilon(9)) as session:
        found = session.agg(q=tc.median("x", 0, 20)).release(epsilon=1)
    assert found.to_pandas()["q_error"].dtype == "float64"
    assert found.to_polars()["q_error"].dtype == pl.Float64
    assert str(found.to_arrow().schema.field("q_error").type) == "double"


def test_wrong_calls_say_what_to_do(answer, tmp_path, monkeypatch):
    with pytest.raises(UsageError, match=r"ends in \.xlsx"):
        answer.to_excel(tmp_path / "a.xls")
    with pytest.raises(UsageError, match="cannot be written"):
        answer.to_csv(tmp_path)
    with pytest.raises(UsageError, match="no form"):
        answer.to_pandas("tidy")
    monkeypatch.setitem(__import__("sys").modules, "xlsxwriter", None)
    with pytest.raises(MissingExtraError, match=r"tacit-dp\[excel\]"):
        answer.to_excel(tmp_path / "a.xlsx")


# Tables as files: read again by other programs, and no text of them a formula.


FORMULAS = [
    "=1+1", "+1+1", "-1+1", "@SUM(A1)", "=cmd|' /C calc'!A0", "\t=1", " =1", "\r=1", "\n=1",
    "-", "-a", "＝1", '"=1',
]  # fmt: skip
HARMLESS = ["a", "-5", "+3.5", "1e5", "[-10, 0)", "a=b", "", "Zürich", "don't"]


def read(text):
    return list(csv.reader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("text", FORMULAS)
def test_no_text_of_a_csv_file_begins_as_a_formula(text):
    columns = [ExportColumn(text, [text], False), ExportColumn("n", [-5], True)]
    name, cell = (row[0] for row in read(csv_text(columns)))
    assert name == cell == f"'{text}"
    assert read(csv_text(columns))[1][1] == "-5"
    assert read(csv_text(columns, escape_formulas=False))[1][0] == text


@pytest.mark.parametrize("text", HARMLESS)
def test_text_that_no_spreadsheet_runs_stays_as_it_is(text):
    assert read(csv_text([ExportColumn("a", [text], False), ExportColumn("b", [1], True)]))[1] == [
        text,
        "1",
    ]


def test_a_workbook_holds_numbers_as_numbers_and_formulas_as_text():
    texts = [*FORMULAS, *HARMLESS, "https://example.org", "{=1}", None]
    numbers = [0.5] * len(texts)
    numbers[1], numbers[2], numbers[3] = None, 10**18, -7
    columns = [ExportColumn("=site", texts, False), ExportColumn("n", numbers, True)]
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
        excel_bytes([ExportColumn("a", ["x" * 40_000], False)])
    with pytest.raises(UsageError, match="to_parquet"):
        excel_bytes([ExportColumn(f"c{i}", [1], True) for i in range(17_000)])


CELL = st.none() | st.integers(-(10**25), 10**25) | st.floats(allow_nan=False)


@given(st.lists(CELL, max_size=4), st.lists(st.none() | st.text(max_size=2) | st.integers()))
def test_parquet_holds_what_arrow_does_and_every_column_has_a_type(numbers, keys):
    size = min(len(numbers), len(keys))
    columns = [ExportColumn("k", keys[:size], False), ExportColumn("n", numbers[:size], True)]
    table = arrow_table(columns)
    assert "null" not in {str(field.type) for field in table.schema}
    assert pq.read_table(io.BytesIO(parquet_bytes(columns))).equals(table)
    for cell, number in zip(table["n"].to_pylist(), numbers, strict=False):
        assert cell == (number if number is None or isinstance(cell, int) else float(number))


@given(st.lists(st.tuples(st.none() | st.text(), st.integers() | st.floats()), max_size=4))
def test_every_text_is_one_cell_of_a_csv_file(rows):
    columns = [
        ExportColumn("k", [k for k, _ in rows], False),
        ExportColumn("n", [n for _, n in rows], True),
    ]
    text = csv_text(columns, escape_formulas=False)
    assert read(text) == [["k", "n"], *([k or "", str(n)] for k, n in rows)]


def test_a_missing_text_is_not_an_empty_one():
    assert (
        csv_text([ExportColumn("k", [None, ""], False), ExportColumn("n", [1, 2], True)])
        == 'k,n\n,1\n"",2\n'
    )


def test_a_file_that_cannot_be_written_is_said_in_a_sentence(tmp_path):
    with pytest.raises(UsageError, match="cannot be written: No such file"):
        write_file(tmp_path / "nowhere" / "a.csv", b"")


# The columns of an answer: wide and long say the same, under names that do not collide.


NUMBER = st.none() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False)
PARTS = ("value", "standard_error", "low", "high")
NAMES = ["site", "value", "statistic", "bin", "bin_lower", "lower", "group_value", "upper"]


@st.composite
def answers(draw):
    """Grouping columns, keys and statistics, some with bins and some of these with edges."""
    by = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=3))
    groups = draw(st.integers(0, 3))
    part = st.none() | st.integers(-5, 5) | st.text(max_size=3)
    keys = [tuple(draw(part) for _ in by) for _ in range(groups)]
    statistics = []
    for label in draw(st.lists(st.sampled_from("abc"), unique=True, min_size=1, max_size=3)):
        bins = draw(st.none() | st.integers(1, 3))
        cells = NUMBER if bins is None else st.lists(NUMBER, min_size=bins, max_size=bins)
        column = {p: [draw(cells) for _ in range(groups)] for p in PARTS}
        edges = None
        if bins is not None:
            column["bins"] = [f"bin {i}" for i in range(bins)]
            edges = draw(st.none() | st.just(list(range(bins + 1))))
        statistics.append(ExportStatistic(label, column, edges))
    return by, keys, statistics


@pytest.mark.full
@given(answers())
def test_the_long_form_holds_each_number_of_the_wide_one_once(drawn):
    by, keys, statistics = drawn
    wide = {c.name: c.values for c in columns_of(by, keys, statistics)}
    long = columns_of(by, keys, statistics, "long")
    table = {c.name: c.values for c in long}
    assert len(table) == len(long)
    assert [c.values for c in long[: len(by)]] == [
        [key[i] for key in keys for one in statistics for _ in one.column.get("bins", [0])]
        for i in range(len(by))
    ]
    assert list(table)[-4:] == ["value", "lower", "upper", "standard_error"]
    binned = any("bins" in one.column for one in statistics)  # else "bin" may be a grouping column
    found = iter(zip(*table.values(), strict=True))
    for place in range(len(keys)):
        for one in statistics:
            for i, name in enumerate(one.column.get("bins", [None])):
                row = dict(zip(table, next(found), strict=True))
                stem = one.label if name is None else f"{one.label} {name}"
                assert row["statistic"] == one.label
                if binned:
                    assert row["bin"] == name
                for ours, theirs in zip(
                    ("value", "standard_error", "lower", "upper"),
                    ("", "_error", "_low", "_high"),
                    strict=True,
                ):
                    assert row[ours] == wide[stem + theirs][place]
                if one.edges is not None:
                    assert (row["bin_lower"], row["bin_upper"]) == tuple(one.edges[i : i + 2])
    assert next(found, None) is None


def test_a_grouping_column_keeps_its_cells_where_the_long_form_has_its_name():
    n = ExportStatistic("n", {part: [1] for part in PARTS})
    found = columns_of(["value", "group_value"], [["a", "b"]], [n], "long")
    assert [(c.name, c.values) for c in found[:2]] == [
        ("group_group_value", ["a"]),
        ("group_value", ["b"]),
    ]
    assert len({c.name for c in found}) == len(found)


def test_another_form_is_refused_with_the_two_there_are():
    with pytest.raises(UsageError, match="did you mean 'long'"):
        columns_of([], [()], [], "lonng")


@pytest.mark.full
@given(st.lists(NUMBER | st.text(max_size=2) | st.booleans(), max_size=5), st.booleans())
def test_typed_columns_have_one_type_and_lose_nothing_that_is_missing(values, number):
    if number:
        values = [value for value in values if not isinstance(value, (str, bool))]
    plain = ExportColumn("c", values, number).plain
    assert [value is None for value in plain] == [value is None for value in values]
    known = {type(value) for value in plain if value is not None}
    assert len(known) <= 1
    assert not number or known <= {int, float}
