"""Every table and file of one answer says the same."""

import datetime

import openpyxl
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

import tacit as tc
from tacit.errors import MissingExtraError, UsageError

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
