"""A table is opened from whatever holds it; wrong places say what to do."""

from __future__ import annotations

import datetime
from decimal import Decimal

import duckdb
import pandas as pd
import polars as pl
import pyarrow
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit as tc
from support.tables.engine_tables import ENGINES, in_postgres
from tacit.errors import BudgetError, DataSourceError, LedgerError, UsageError
from tacit.expressions.expression import Expression, col, when
from tacit.expressions.grid import Grid
from tacit.tables.open_source import Source, open_source
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.query.contribution_bounding import RowCells
from tacit.tables.query.integer_query import IntegerQuery
from tacit.tables.query.requests import Bins, Moments, Rows, Total

GRID = Grid.for_bounds(0, 100)
AGE = Moments(col("age"), GRID)
FRAME = {"age": [31, 45, None], "sex": ["f", "m", None]}


def mean_parts(source: Source) -> list[int]:
    with source:
        return list(IntegerQuery(source, OneRowEach()).run([AGE]).of(AGE)[0][:3])


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


# Cases in which an engine's error, or a NULL, once told a value before anything was charged.
#
# Each table stands beside one that differs in a single value: both are answered, or both are
# refused when the question is made, in the same words.


THIRD = -(-(1 << 127) // 3)


@pytest.fixture(params=list(ENGINES))
def load(request):
    return ENGINES[request.param](request)


def exactly(source, request, *, where=None, unit=None, **by):
    answer = IntegerQuery(source, unit or OneRowEach(), where=where, **by).run([request])
    return answer.of(request).tolist()


@pytest.mark.few(4)
@pytest.mark.parametrize("unit", [None, PersonUnit("p", rows=1), PersonUnit("p", rows=1 << 40)])
@pytest.mark.parametrize("grouped", [False, True])
def test_the_largest_sum_that_can_be_held_is_exact(load, unit, grouped):
    """Beyond 38 digits DuckDB raised, and Spark answered 0 or raised, by the number of rows."""
    top = (1 << 63) - 1
    rows = [{"x": top, "p": i} for i in range(3)] + [{"x": top - 1, "p": 1}]
    by = {"by": {"p": col("p")}, "keys": [0, 1, 2]} if grouped else {}
    with load(rows, {"x": "bigint", "p": "bigint"}) as source:
        grid = Grid.for_bounds(top - 1, top, whole=True)
        assert grid.most == top
        found = exactly(source, Total(col("x"), grid), unit=unit, **by)
    if unit is not None and unit.rows == 1:
        half = (unit.one // 2) * (2 * top - 1) if grouped else unit.one * top
        assert found == ([unit.one * top, half, unit.one * top] if grouped else [3 * half])
    else:
        one = 1 if unit is None else unit.one
        whole = [one * top, one * (2 * top - 1), one * top]
        assert found == (whole if grouped else [sum(whole)])


@pytest.mark.parametrize("unit", [tc.one_row_each, tc.unit("p", rows=1)])
def test_bounds_whose_sums_cannot_be_held_are_refused_with_the_largest_that_can(tmp_path, unit):
    path = tmp_path / "t.csv"
    path.write_text("one,p\n" + "1,1\n" * 3, encoding="utf-8")
    with tc.Session(path, unit=unit, budget=tc.epsilon(1), types={"one": "integer"}) as session:
        with pytest.raises(UsageError, match=r"2\^124 \(2.12676e\+37\)"):
            session.agg(x=tc.sum("one", THIRD, THIRD + 1)).preview(epsilon=1)
        with pytest.raises(UsageError, match=r"2\^63 - 1 steps \(9.22337e\+18\)"):
            session.agg(x=tc.sum("one", 10**30, 10**30 + 1)).preview(epsilon=1)
        assert session.spent.is_nothing


@pytest.mark.parametrize("value", ["0.00", "0.75", "12345.67", "-99999999999999999999999.99"])
def test_bounds_as_narrow_as_can_be_hold_every_decimal(load, value):
    """The fraction times 2^63 and more was cast to 64 bits before it was clipped."""
    grid = Grid.for_bounds(0, "1e-10")
    assert grid.exponent >= 63
    with load([{"d": Decimal(value)}], {"d": "decimal(25,2)"}) as source:
        ((present, _, z, _),) = exactly(source, Moments(col("d"), grid))
    assert (present, z) == (1, grid.cells if Decimal(value) > 0 else 0)


def test_decimals_of_different_scale_stand_side_by_side(load):
    a, b = col("a"), col("b")
    asked = [
        a == b,
        a < b,
        a.is_in([1, 0.5]),
        b - a,
        a.fill_null(b),
        when(a > b).then(a).otherwise(b),
    ]
    rows = [
        {"a": Decimal("9" * 36 + ".99"), "b": Decimal("0." + "1" * 38)},
        {"a": Decimal("-" + "9" * 36 + ".99"), "b": Decimal("-0." + "9" * 38)},
        {"a": None, "b": Decimal("0.5")},
        {"a": Decimal("0.50"), "b": Decimal("0.5")},
    ]
    with load([], {"a": "decimal(38,2)", "b": "decimal(38,38)"}) as source:
        assert all(source.schema[n].kind == "decimal" for n in "ab")
    with load(rows, {"a": "decimal(38,2)", "b": "decimal(38,38)"}) as source:
        sql = ", ".join(e.sql(source.schema, source.engine.dialect) for e in asked)
        found = source.engine.rows(f"select {sql} from {source.relation} as tacit_rows")
        grid = Grid.for_bounds(0, 1)
        ((present, _, z, _),) = exactly(source, Moments(a, grid))
    assert [list(values) for values in found] == [[e.evaluate(r) for e in asked] for r in rows]
    assert (present, z) == (3, grid.cells + grid.offset("0.5"))


@pytest.mark.few(4)
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_at_their_ends_are_dates_and_periods(unit):
    """Seconds and milliseconds beyond the range of microseconds could not be cast."""
    ends = [(1 << 63) - 1, (1 << 63) - 2, 1 << 62, -(1 << 63), 1 - (1 << 63), 10**14, None, 0]
    t = pyarrow.array(ends, pyarrow.timestamp(unit))
    with open_source(pyarrow.table({"t": t})) as source:
        day = col("t")
        (early,) = exactly(source, Rows(), where=day < "1980-01-01")
        (dated,) = exactly(source, Rows(), where=day.dt.year() == 1970)
        (late,) = exactly(source, Rows(), where=(day > "1980-01-01") | (day.dt.month() > 99))
        assert early + late == 7
        assert dated >= 1
    with tc.Session(pyarrow.table({"t": t}), unit=tc.one_row_each, budget=tc.epsilon(9)) as session:
        counter = session.count_over_time("t", start="1970-01-01", every="1d", periods=9, epsilon=5)
        counter.update(now="1970-02-01")


def test_seconds_at_the_ends_of_time_are_rounded_down():
    """The engine's own cut to seconds passed the end of 64 bits on the first day of all."""
    first, last = -(1 << 63), (1 << 63) - 1
    moments = [first, first + 2, first + 193_000, first + 10**6, -1, 0, 999_999, last - 1, last]
    t = pyarrow.array(moments, pyarrow.timestamp("us"))
    with open_source(pyarrow.table({"t": t})) as source:
        seconds = source.engine.dialect.seconds.format(x="t")
        found = [s for (s,) in source.engine.rows(f"select {seconds} from {source.relation}")]
    assert found[:-1] == [moment // 10**6 for moment in moments[:-1]]
    assert found[-1] is None  # infinity


def test_the_last_moment_of_a_far_second_is_within_it(load):
    """A double of seconds has no room for microseconds in the year 9999."""
    moment = datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)
    with load([{"t": moment}], {"t": "timestamp"}) as source:
        d = source.engine.dialect
        sql = d.cast(d.seconds.format(x=d.column("t")), "integer")
        (found,) = source.engine.rows(f"select {sql} from {source.relation} as tacit_rows")
    assert found == (
        (
            datetime.datetime(9999, 12, 31, 23, 59, 59) - datetime.datetime(1970, 1, 1)
        ).total_seconds(),
    )


@pytest.mark.full
def test_a_text_of_hundreds_of_megabytes_is_lowered(request):
    """PostgreSQL takes four times the room of a text, and raises beyond 1 GB."""
    with in_postgres(request)([{"t": "A"}, {"t": "B"}], {"t": "text"}) as source:
        request.getfixturevalue("postgres").run(
            "update data set t = repeat('A', 270000000) where t = 'B'"
        )
        (small,) = exactly(source, Rows(), where=col("t").str.to_lowercase() == "a")
        (long,) = exactly(
            source, Rows(), where=col("t").str.to_lowercase().str.len_chars() == 1 << 20
        )
        (whole,) = exactly(source, Rows(), where=col("t").str.len_chars() == 270_000_000)
        (begun,) = exactly(source, Rows(), where=col("t").str.starts_with("AAA"))
        cut = col("t").str.strip_chars().str.like("%A") & (
            col("t").str.to_uppercase().str.len_chars() == 1 << 20
        )
        (held,) = exactly(source, Rows(), where=cut & col("t").str.ends_with("AA"))
        last = col("t").str.slice((1 << 20) - 1, 9) == "A" * 9
        (found,) = exactly(source, Rows(), where=last & ~col("t").str.contains("B"))
    assert (small, long, whole, begun, held, found) == (1, 1, 1, 1, 1, 1)


LONGEST = "é" * (1 << 15)
"""A name of 65,536 bytes."""


def test_a_text_names_people_and_groups_up_to_a_public_length(load):
    names = ["a", LONGEST, LONGEST + "x", "y" * (1 << 20), None]
    rows = [{"u": name, "g": name} for name in names for _ in range(2)]
    with load(rows, {"u": "varchar", "g": "varchar"}) as source:
        people = PersonUnit("u", rows=3, most_groups=1)
        assert exactly(source, Rows(), unit=people) == [4 * people.one]
        found = IntegerQuery(source, OneRowEach(), by={"g": col("g")}).people_by_key()
        assert found == {("a",): 2, (LONGEST,): 2, (None,): 6}
        assert IntegerQuery(source, people, by={"g": col("g")}).people_by_key() == {
            ("a",): 1,
            (LONGEST,): 1,
        }
        keyed = {"by": {"g": col("g").fill_null("none")}, "keys": [LONGEST, "none", None]}
        assert exactly(source, Rows(), **keyed) == [2, 2, 4]
        with pytest.raises(UsageError, match="65536 bytes"):
            IntegerQuery(source, OneRowEach(), by={"g": col("g")}, keys=["a", LONGEST + "x"])


@pytest.mark.full
def test_a_name_of_hundreds_of_megabytes_is_missing(request):
    """PostgreSQL could not send it as a key, nor put a salt before it."""
    with in_postgres(request)([{"u": c, "g": c} for c in "AB"], {"u": "text", "g": "text"}) as s:
        request.getfixturevalue("postgres").run(
            "update data set u = repeat('A', 270000000), g = u where u = 'B'",
            "update data set g = u where g = 'B'",
        )
        unit = PersonUnit("u", rows=3, most_groups=1)
        assert IntegerQuery(s, OneRowEach(), by={"g": col("g")}).people_by_key() == {
            ("A",): 1,
            (None,): 1,
        }
        assert IntegerQuery(s, unit, by={"g": col("g")}).people_by_key() == {("A",): 1}
        assert exactly(s, Rows(), unit=unit) == [unit.one]


def test_more_places_than_numbers_are_refused_when_the_question_is_made(load):
    with load([{"x": 0.5, "p": 1}], {"x": "double", "p": "bigint"}) as source:
        grid, unit = Grid.for_bounds(0, 1), PersonUnit("p", rows=1)
        for keys, bins in (([1, 2], 1 << 31), (None, 1 << 13), (range(300), 1 << 24)):
            query = IntegerQuery(source, unit, by={"p": col("p")}, keys=keys)
            with pytest.raises(UsageError, match="more than can be distinguished"):
                query.check(RowCells(col("x"), grid, parts=bins, groups=1))
            query.check(RowCells(col("x"), grid, parts=1 << 11, groups=1))


def test_a_histogram_of_a_boolean_column(load):
    rows = [{"b": b, "k": "a"} for b in (True, True, False, None)]
    with load(rows, {"b": "boolean", "k": "varchar"}) as source:
        grid = Grid.for_bounds(0, 1, whole=True)
        assert exactly(source, Bins(col("b"), grid, (0, 1))) == [[3]]
        wide = Grid.for_bounds(-1, 2, whole=True)
        assert exactly(source, Bins(col("b"), wide, (0, 2, 3))) == [[1, 2]]
        with tc.Session(
            source, unit=tc.one_row_each, budget=tc.epsilon_delta(99, "1e-3")
        ) as session:
            asked = session.agg(h=tc.histogram("b", [0, "0.5", 1]))
            shown = asked.release(epsilon=50).to_dict()
            assert "h" in str(shown)
            keyed = session.group_by("k").agg(h=tc.histogram("b", [0, 1]))
            keyed.release(epsilon=20, delta="1e-4")


NAMES = ["tacit_code", "TACIT_KEY0", "tacit_rows", "Tacit_Keys", "tacit_v", "tacit_l", "u", "code"]
NAMES += [
    "z0",
    "w",
    "c",
    "place",
    "lost",
    "v",
    "heavy",
    "base",
    "r",
    "own",
    "scale",
    "s0",
    "x",
    "g0",
]


@pytest.mark.full
@pytest.mark.parametrize("unit", [OneRowEach(), PersonUnit("u", rows=2)])
def test_no_name_of_a_column_meets_one_of_the_plan(load, unit):
    rows = [{name: i + j for j, name in enumerate(NAMES)} for i in range(4)]
    deep: Expression = col("tacit_v")
    for name in NAMES[:2]:
        deep = deep + col(name).fill_null(0) * 1  # long enough to be named once
    kept = deep > -1
    for name in NAMES:
        kept = kept & ~(col(name) == 999)
    grid = Grid.for_bounds(0, 8, whole=True)
    with load(rows, dict.fromkeys(NAMES, "bigint")) as source:
        # Spark takes many seconds to plan each of these queries: one key for each unit there.
        chosen = ["TACIT_KEY0", "tacit_code", "u", "code"]
        if source.engine.dialect.name == "spark":
            chosen = ["u"] if unit.column is None else ["tacit_code"]
        for key in chosen:
            place = NAMES.index(key)
            many = [place, place + 1, None, *range(100, 320)]
            for keys in ([place, place + 1], [place, None], many):
                asked = [Rows(), Moments(col("z0"), grid), Total(deep, Grid.for_bounds(0, 999))]
                query = IntegerQuery(source, unit, where=kept, by={key: col(key)}, keys=keys)
                found = query.run(asked)
                assert found.of(asked[0]).tolist()[:2] == [
                    unit.one,
                    unit.one * (None not in keys[:2]),
                ]
            found = IntegerQuery(source, unit, where=kept, by={key: col(key)}).people_by_key()
            assert found == {(place + i,): 1 for i in range(4)}


def test_a_type_without_a_total_reading_is_refused_by_its_name():
    connection = duckdb.connect()
    connection.execute("create table data as select [1] as a, interval 1 day as b")
    with tc.Session(
        connection, unit=tc.one_row_each, table="data", budget=tc.epsilon(1)
    ) as session:
        for name, kind in (("a", r"INTEGER\[\]"), ("b", "INTERVAL")):
            with pytest.raises(UsageError, match=f"{kind}.*cast it in the source"):
                session.agg(x=tc.mean(name, 0, 1)).preview(epsilon=1)
