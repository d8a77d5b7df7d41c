"""A table is opened from whatever holds it; wrong places say what to do."""

from __future__ import annotations

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit as tc
from tacit.errors import BudgetError, DataSourceError, LedgerError, UsageError
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables.open_source import Source, open_source
from tacit.tables.privacy_unit import OneRowEach
from tacit.tables.query.integer_query import Query
from tacit.tables.query.requests import Moments

GRID = Grid.for_bounds(0, 100)
AGE = Moments(col("age"), GRID)
FRAME = {"age": [31, 45, None], "sex": ["f", "m", None]}


def mean_parts(source: Source) -> list[int]:
    with source:
        return list(Query(source, OneRowEach()).run([AGE]).of(AGE)[0][:3])


EXPECTED = [2, 1, GRID.offset(31) + GRID.offset(45)]


def test_every_kind_of_source_gives_the_same_integers(tmp_path):
    table = pa.table(FRAME)
    pq.write_table(table, tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text("age,sex\n31,f\n45,m\n,\n")
    (tmp_path / "a.tsv").write_text("age\tsex\n31\tf\n45\tm\n\t\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "1.csv").write_text("age,sex\n31,f\n")
    (tmp_path / "folder" / "2.csv").write_text("age,sex\n45,m\n,x\n")
    connection = duckdb.connect()
    connection.register("arrow", table)
    connection.execute("create schema s; create table s.t as select * from arrow")
    connection.execute(f"attach '{tmp_path}/d.duckdb' as d; create table d.t as from arrow")
    connection.execute("detach d")
    sources = [
        *(tmp_path / "a.parquet", str(tmp_path / "a.csv"), tmp_path / "a.tsv"),
        *(tmp_path / "folder", str(tmp_path / "folder" / "*.csv")),
        *(table, pd.DataFrame(FRAME), pd.DataFrame(FRAME).astype(object)),
        *(pl.DataFrame(FRAME), pl.DataFrame(FRAME).lazy(), connection.table("s.t")),
        *(table.to_reader(), connection.sql("select * from s.t")),
    ]
    for source in sources:
        assert mean_parts(open_source(source)) == EXPECTED, type(source)
    assert mean_parts(open_source(connection, "s.t")) == EXPECTED
    assert mean_parts(open_source(tmp_path / "d.duckdb", "t")) == EXPECTED


def test_wrong_places_say_what_to_do(tmp_path):
    (tmp_path / "people.csv").write_text("age\n1\n")
    with pytest.raises(DataSourceError, match="did you mean 'people"):
        open_source(tmp_path / "peple.csv")
    (tmp_path / "hollow").mkdir()
    with pytest.raises(DataSourceError, match=r"no \.csv or \.parquet"):
        open_source(tmp_path / "hollow")
    with pytest.raises(DataSourceError, match="is not a table"):
        open_source(3)
    with pytest.raises(UsageError, match="name the table"):
        open_source(duckdb.connect())
    with pytest.raises(DataSourceError, match="no table 'visit'"):
        open_source(duckdb.connect(), "visit")
    with pytest.raises(UsageError, match="memory_limit"):
        open_source(tmp_path / "people.csv", memory_limit="much")


def test_this_folder_has_the_name_of_the_folder_and_an_empty_path_none(tmp_path, monkeypatch):
    (tmp_path / "people.csv").write_text("age\n31\n")
    monkeypatch.chdir(tmp_path)
    assert open_source(".").name == tmp_path.name
    with pytest.raises(DataSourceError, match="the path is empty"):
        open_source("")


@pytest.mark.parametrize("table", [5, "", b"visits"])
def test_the_name_of_a_table_is_text(table):
    with pytest.raises(UsageError, match="the name of a table, as text"):
        open_source(duckdb.connect(), table)


def test_identity_is_the_name_and_the_columns_not_the_rows(tmp_path):
    one, two = tmp_path / "1", tmp_path / "2"
    for folder, text in ((one, "age\n1\n"), (two, "age\nx\n")):
        folder.mkdir()
        (folder / "a.csv").write_text(text)
    same = {open_source(f / "a.csv").identity for f in (one, two)}
    assert len(same) == 1
    assert open_source(one / "a.csv", name="b").identity not in same


def test_a_quoted_header_of_another_delimiter_is_told_as_that(tmp_path):
    """It was said to have a quote that is not closed."""
    for sign in ";\t|":
        path = tmp_path / "quoted.csv"
        path.write_text(f'"id"{sign}"age, years"{sign}"site"\n"1"{sign}"31"{sign}"a"\n')
        with pytest.raises(DataSourceError, match="separated by another character") as caught:
            open_source(path)
        assert f"delimiter={sign!r}" in str(caught.value)
        assert list(open_source(path, delimiter=sign).columns) == ["id", "age, years", "site"]
    path.write_text('"id","age"\n1,2\n')
    with pytest.raises(DataSourceError, match="delimiter=','"):
        open_source(path, delimiter=";")
    path.write_text('"id"x,"age"\n1,2\n')
    with pytest.raises(DataSourceError, match="text behind a closed one"):
        open_source(path)


def test_a_data_set_named_as_before_goes_on_with_its_budget(tmp_path):
    """It was refused with a remedy that gave the same people a second budget."""
    (tmp_path / "visits.csv").write_text('"id";"age"\n"1";"31"\n"2";"45"\n')
    pq.write_table(pa.table({"id": [1, 2], "age": [31, 45]}), tmp_path / "visits.parquet")
    wrong = {"header": ["all"]}
    with tc.Session(tmp_path / "visits.csv", tc.one_row_each, tc.epsilon(1), **wrong) as first:
        answer = first.agg(n=tc.count()).release(epsilon="1/4")
        whole = first.ledger.id
    for path, more in (("visits.csv", {"delimiter": ";"}), ("visits.parquet", {})):
        place = tmp_path / path
        with pytest.raises(LedgerError, match=r"same people.*goes on: name='visits\.csv'"):
            tc.Session(place, tc.one_row_each, **more)
        with pytest.raises(LedgerError, match="counts what is lost about rows"):
            tc.Session(place, tc.unit("id", rows=1), name="visits.csv", **more)
        with pytest.raises(LedgerError, match="belongs to the data set"):
            tc.Session(place, tc.one_row_each, name="others.csv", **more)
    with tc.Session(
        tmp_path / "visits.csv", tc.one_row_each, name="visits.csv", delimiter=";"
    ) as mended:
        assert (mended.ledger.id, mended.remaining) == (whole, tc.epsilon("3/4"))
        found = mended.agg(n=tc.count()).release(epsilon="1/4")
        assert not found.replayed  # of a table with other columns it is another question
        assert mended.remaining == tc.epsilon("1/2")
        assert mended.ledger.verify_chain()
    with tc.Session(tmp_path / "visits.parquet", tc.one_row_each, name="visits.csv") as moved:
        assert moved.remaining == tc.epsilon("1/2")
        # another file is another way to read the table: the question is charged again
        assert not moved.agg(n=tc.count()).release(epsilon="1/4").replayed
        assert moved.remaining == tc.epsilon("1/4")
        with pytest.raises(BudgetError):
            moved.agg(n=tc.mean("age", 0, 100)).release(epsilon="1/2")
    with tc.Session(tmp_path / "visits.csv", tc.one_row_each, **wrong) as again:
        assert again.agg(n=tc.count()).release(epsilon="1/4").value("n") == answer.value("n")
        assert again.remaining == tc.epsilon("1/4")


def test_a_refresh_names_the_columns_that_changed(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("id,age\n1,31\n")
    with tc.Session(path, tc.one_row_each, tc.epsilon(1), ledger=tc.in_memory) as session:
        for names, told in {
            "id,years": r"\(gone: 'age'; new: 'years'\).*name='visits\.csv'",
            "id,age,site": r"\(new: 'site'\)",
            "id": r"\(gone: 'age'\)",
            "age,id": r"\(their order\)",
        }.items():
            path.write_text(names + "\n")
            with pytest.raises(DataSourceError, match="has other columns than before " + told):
                session.refresh()
