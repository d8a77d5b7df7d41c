"""Parts of the people, one after another: the same bits, and memory that suffices."""

from __future__ import annotations

import pickle
import re
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import tacit as tc
from support.examples import examples
from support.tables import tables_reference as reference
from support.tables.engine_tables import in_duckdb
from tacit.errors import UsageError
from tacit.expressions.expression import col, from_json
from tacit.expressions.grid import Grid
from tacit.tables.engines.base import EngineMemoryError
from tacit.tables.engines.duckdb.engine import DUCKDB
from tacit.tables.open_source import open_source
from tacit.tables.open_source import open_source as cell_counts_open_source
from tacit.tables.privacy_unit import OneRowEach, PersonUnit, few_groups, people_of_few
from tacit.tables.query import integer_query as parted
from tacit.tables.query.contribution_bounding import BoundedRows, MomentSums, column_names
from tacit.tables.query.integer_query import (
    IntegerQuery,
    PartedQuery,
    bins,
    cells,
    check_cell_indices,
)
from tacit.tables.query.requests import (
    Bins,
    Cells,
    Distinct,
    Moments,
    People,
    Products,
    Rows,
    Total,
)

TYPES = {"person": "varchar", "place": "varchar", "x": "double"}
GRID = Grid.for_bounds(0, 10, bits=6)
REQUESTS = [
    Rows(),
    People(),
    Moments(col("x"), GRID),
    Total(col("x"), GRID),
    Bins(col("x"), GRID, (0, 5, GRID.cells)),
    Cells(col("x"), GRID),
    Distinct(col("x")),
]
UNIT = PersonUnit("person", rows=2, most_groups=1)
rows_strategy = st.lists(
    st.fixed_dictionaries(
        {
            "person": st.sampled_from([None, "", "a", "b", "ü", "d", "e"]),
            "place": st.sampled_from([None, "here", "there", "nowhere"]),
            "x": st.one_of(st.none(), st.floats()),
        }
    ),
    max_size=20,
)


@pytest.fixture
def load(request, monkeypatch):
    monkeypatch.setattr("tacit.tables.privacy_unit.new_salt", lambda: "0a1b")
    return in_duckdb(request)


@pytest.mark.full
@examples(0.15, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(rows_strategy, st.sampled_from([2, 4, 8]), st.booleans())
def test_the_parts_add_up_to_the_same_bits(load, rows, parts, grouped):
    asked = {"by": {"place": col("place")}, "keys": ["here", "there", None]} if grouped else {}
    with load(rows, TYPES) as source:
        whole = IntegerQuery(source, UNIT, **asked).run(REQUESTS)
        query = PartedQuery(source, UNIT, **asked)
        query._parts = lambda *sizes: parts
        found = query.run(REQUESTS)
        for request in REQUESTS:
            answer = reference.plain(found.of(request))
            assert answer == reference.plain(whole.of(request)), request
        by = {"by": {"place": col("place")}}
        query = PartedQuery(source, UNIT, **by)
        query._parts = lambda *sizes: parts
        assert query.people_by_key() == IntegerQuery(source, UNIT, **by).people_by_key()


@pytest.mark.full
def test_an_engine_that_runs_out_is_asked_again_in_more_parts(load, monkeypatch):
    rows = [{"person": str(i % 7), "place": "here", "x": float(i)} for i in range(50)]
    asked = []
    run = IntegerQuery.run

    def runs_out(query, requests):
        asked.append(query._part)
        if query._part is None or query._part[1] < 64:
            raise EngineMemoryError("too little")
        return run(query, requests)

    with load(rows, TYPES) as source:
        expected = IntegerQuery(source, UNIT).run([Rows()]).of(Rows())
        monkeypatch.setattr(IntegerQuery, "run", runs_out)
        query = PartedQuery(source, UNIT)
        assert (query.run([Rows()]).of(Rows()) == expected).all()
        assert asked == [None, (0, 8)] + [(i, 64) for i in range(64)]
        asked.clear()
        query.run([Rows()])  # what sufficed is remembered
        assert asked[0] == (0, 64)


@pytest.mark.parametrize("unit", [UNIT, OneRowEach()], ids=str)
def test_an_engine_with_too_little_for_the_smallest_parts_says_so(load, monkeypatch, unit):
    def runs_out(query, requests):
        raise EngineMemoryError("too little")

    monkeypatch.setattr(IntegerQuery, "run", runs_out)
    with load([], TYPES) as source, pytest.raises(EngineMemoryError):
        PartedQuery(source, unit).run([Rows()])


def test_the_number_of_parts_follows_rows_and_memory(load, monkeypatch):
    rows = [{"person": "a", "place": "here", "x": 1.0}] * 100
    with load(rows, TYPES) as source:
        assert PartedQuery(source, UNIT)._parts(24) == 1
        monkeypatch.setattr(parted, "_FIXED", 0)
        monkeypatch.setattr(type(source.engine), "memory", 1000)
        assert PartedQuery(source, UNIT)._parts(24) == 4  # 2,400 bytes in 1,000: 3 or more
        assert PartedQuery(source, UNIT)._parts(24, 5) == 4  # so few cells take less than half
        assert PartedQuery(source, UNIT)._parts(24, 6) == 32  # 9,600 bytes in 500: 20 or more
        assert PartedQuery(source, OneRowEach())._parts(24) == 1


def test_nothing_is_kept_in_the_engine_between_the_parts(load):
    rows = [{"person": str(i), "place": "here", "x": 1.0} for i in range(30)]
    with load(rows, TYPES) as source:
        query = PartedQuery(source, UNIT)
        query._parts = lambda *sizes: 4
        query.run(REQUESTS)
        kept = source.engine.rows("select count(*) from duckdb_tables() where temporary")
        assert kept == [(0,)]
        assert query.tables == []


# DuckDB before 1.5 has no cipher of its own: there each part reads the table
ENCIPHERS = tuple(map(int, duckdb.__version__.split(".")[:2])) >= (1, 5)


def divided_table(kind: str) -> pa.Table:
    """A table with people of a kind, and all that doubles are."""
    people = {
        "text": ["Zaphod", "", "a" * 70_000, "ü", None, "e", "f"],
        "double": [0.0, -0.0, float("nan"), float("inf"), None, 1e300, 5e-324],
        "integer": [(1 << 63) - 1, -1, 0, 7, None, -(1 << 63), 1 - (1 << 63)],
        "byte": [-128, -1, 0, 7, None, 127, -127],
        "decimal": [Decimal(n) for n in ("1" * 30, "-1", "0", "7")]
        + [None, Decimal(8), Decimal(9)],
    }[kind]
    odd = [None, float("nan"), float("inf"), -float("inf"), 1e300, -0.0, 0.25, 3.5, 10.0, 11.0, 5.0]
    types = {"decimal": pa.decimal128(38, 0), "byte": pa.int8()}
    rows = range(700)
    column = [people[i % len(people)] for i in rows]
    return pa.table(
        {
            "person": pa.array(column, types.get(kind)),
            "place": [("here", "there", "nowhere", None)[i * i % 4 + i % 3 - 1] for i in rows],
            "x": pa.array([odd[i * i % len(odd)] for i in rows], pa.float64()),
        }
    )


def recorded(run: Callable[..., Any], ran: list[str]) -> Callable[..., Any]:
    def records(sql: str, *how: Any, **more: Any) -> Any:
        ran.append(sql)
        return run(sql, *how, **more)

    return records


@pytest.mark.few(8)
@pytest.mark.parametrize("kind", ["text", "double", "integer", "byte", "decimal"])
@pytest.mark.parametrize("files", [2, 64])  # eight parts share two files, or have one each
def test_rows_are_divided_once_and_read_once(tmp_path, monkeypatch, kind, files):
    monkeypatch.setattr("tacit.tables.privacy_unit.new_salt", lambda: "0a1b")
    monkeypatch.setattr(parted, "_FILES", {n: m for n, m in parted._FILES.items() if n <= files})
    pq.write_table(divided_table(kind), tmp_path / "t.parquet")
    asked = {"by": {"place": col("place")}, "keys": ["here", "there", None]}
    with open_source(tmp_path / "t.parquet", memory_limit="500MB") as source:
        engine, unit = source.engine, PersonUnit("person", rows=40, most_groups=1)
        before = set(engine.folder.iterdir())
        for grouping in ({}, asked):
            whole = IntegerQuery(source, unit, **grouping).run(REQUESTS)
            ran: list[str] = []
            query = PartedQuery(source, unit, **grouping)
            query._parts = lambda *sizes: 8
            weighted = [r for r in REQUESTS if not isinstance(r, Distinct)]
            with monkeypatch.context() as patched:
                patched.setattr(engine, "_run", recorded(engine._run, ran))
                found = query.run(weighted)
            for request in weighted:
                answer = reference.plain(found.of(request))
                assert answer == reference.plain(whole.of(request)), request
            reads = [sql for sql in ran if source.relation in sql and "describe" not in sql]
            # such people no file would hold as they are
            assert (len(reads) == 1) == (kind != "decimal" and ENCIPHERS)
        assert set(engine.folder.iterdir()) == before


@pytest.mark.skipif(not ENCIPHERS, reason="DuckDB before 1.5 has no cipher of its own")
@examples(0.3, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.integers(-40, 40), st.integers(-(1 << 63), (1 << 63) - 1)),
            st.sampled_from([None, "here", "there", "nowhere"]),
            st.one_of(st.none(), st.floats()),
        ),
        max_size=40,
    ),
    st.sampled_from([4, 8, 128]),
    st.booleans(),
)
@pytest.mark.full
def test_people_who_are_numbers_are_divided_with_the_same_bits(
    tmp_path, monkeypatch, rows, parts, grouped
):
    monkeypatch.setattr("tacit.tables.privacy_unit.new_salt", lambda: "0a1b")
    people, places, values = zip(*rows, strict=True) if rows else ([], [], [])
    types = {"person": pa.int64(), "place": pa.string(), "x": pa.float64()}
    table = pa.table([people, places, values], pa.schema(list(types.items())))
    pq.write_table(table, tmp_path / "t.parquet")
    asked = {"by": {"place": col("place")}, "keys": ["here", "there", None]} if grouped else {}
    with open_source(tmp_path / "t.parquet", memory_limit="500MB", threads=1) as source:
        whole = IntegerQuery(source, UNIT, **asked).run(REQUESTS)
        for requests in (REQUESTS, [r for r in REQUESTS if not isinstance(r, People)]):
            query = PartedQuery(source, UNIT, **asked)
            query._parts = lambda *sizes: parts
            found = query.run(requests)
            for request in requests:
                answer = reference.plain(found.of(request))
                assert answer == reference.plain(whole.of(request)), request


@pytest.mark.skipif(not ENCIPHERS, reason="DuckDB before 1.5 has no cipher of its own")
@pytest.mark.parametrize("kind", ["text", "integer"])
@pytest.mark.parametrize("parts", [4, 16, 64])  # of which eight files are written at once
def test_no_row_is_read_more_than_three_times(tmp_path, monkeypatch, kind, parts):
    monkeypatch.setattr("tacit.tables.privacy_unit.new_salt", lambda: "0a1b")
    monkeypatch.setattr(parted, "_FILES", {1: 1, 2: 3, 4: 5, 8: 7})
    pq.write_table(divided_table(kind), tmp_path / "t.parquet")
    asked = {"by": {"place": col("place")}, "keys": ["here", "there", None]}
    with open_source(tmp_path / "t.parquet", memory_limit="500MB", threads=1) as source:
        engine, unit = source.engine, PersonUnit("person", rows=40, most_groups=1)
        whole = IntegerQuery(source, unit, **asked).run([People(), Rows()])
        query = PartedQuery(source, unit, **asked)
        query._parts = lambda *sizes: parts
        ran: list[str] = []
        arrays: list[str] = []
        register = engine.register

        def registered(table: object, name: str) -> str:
            arrays.append(register(table, name))
            return arrays[-1]

        with monkeypatch.context() as patched:
            patched.setattr(engine, "_run", recorded(engine._run, ran))
            patched.setattr(engine, "register", registered)
            found = query.run([People()])
        assert found.of(People()).tolist() == whole.of(People()).tolist()
        ran = [sql for sql in ran if not sql.startswith("describe")]
        assert sum(source.relation in sql and "count(*) from" not in sql for sql in ran) == 1
        times = Counter(file for sql in ran for file in re.findall(r"[^'\[]+\.parquet", sql))
        times.update(name for sql in ran for name in arrays if name in sql)
        assert bool(arrays) == (kind == "integer")
        divisions = sum("as tacit_part from" in sql for sql in ran)
        assert (divisions > 1) == (parts == 64)
        assert max(times.values()) == (2 if parts == 16 else 1)
        assert not list(engine.folder.rglob("*.parquet"))


@pytest.mark.skipif(not ENCIPHERS, reason="DuckDB before 1.5 divides nothing")
@pytest.mark.parametrize("share", [1, 1 << 62])  # bytes of memory for each place of an array
def test_places_of_a_part_are_added_up_while_its_rows_are_read(tmp_path, monkeypatch, share):
    monkeypatch.setattr(parted, "_PLACE_SHARE", share)
    rows = "select i // 9 as person, i % 7 as x from range(9000) t(i)"
    duckdb.sql(f"copy ({rows}) to '{tmp_path / 't.parquet'}'")
    requests = [Bins(col("x"), GRID, (0, 5, GRID.cells)), Cells(col("x"), GRID)]
    with open_source(tmp_path / "t.parquet", memory_limit="500MB", threads=1) as source:
        engine, unit = source.engine, PersonUnit("person", rows=5)
        whole = IntegerQuery(source, unit).run(requests)
        query, lines, run = PartedQuery(source, unit), [], engine._run
        query._parts = lambda *sizes: 4

        def measured(sql: str, *how: Any, **more: Any) -> Any:
            result = run(sql, *how, **more)
            columns = result.values() if isinstance(result, dict) else result or ()
            lines.append(max((np.size(column) for column in columns), default=0))
            return result

        monkeypatch.setattr(engine, "_run", measured)
        found = query.run(requests)
    for request in requests:
        assert reference.plain(found.of(request)) == reference.plain(whole.of(request))
    assert (max(lines) <= 20) == (share == 1)  # where they are few, not the rows come out


FINE = Grid.for_bounds(0, 125, bits=12)


@pytest.mark.skipif(not ENCIPHERS, reason="DuckDB before 1.5 hands out no rows while it reads")
@pytest.mark.parametrize(
    ("person", "share", "arrays"),
    [
        ("i * i % 997 - 5", 8, True),
        ("i * i % 997 * 1099511627776 - 5", 8, True),  # too far apart to be counted by index
        ("cast(i * i % 251 - 125 as tinyint)", 8, True),
        ("cast(9223372036854775808 + i * i % 997 as ubigint)", 8, True),
        ("i * i % 997", 1 << 40, False),  # more rows than the memory holds
    ],
)
def test_cells_of_arrays_are_those_of_the_engine(tmp_path, monkeypatch, person, share, arrays):
    monkeypatch.setattr("tacit.tables.engines.duckdb.engine._ARRAYS_SHARE", share)
    person = f"case when i % 501 > 0 then {person} end"
    value = "case when i % 11 > 0 then i % 1000 / 8.0 - 1 end"
    rows = f"select {person} as person, i % 9 as place, {value} as x from range(5000) t(i)"
    duckdb.sql(f"copy ({rows}) to '{tmp_path / 't.parquet'}'")
    asked = {"by": {"place": col("place")}, "keys": [7, 1, 30]}
    request = Cells(col("x"), FINE)
    with open_source(tmp_path / "t.parquet", threads=1) as source:
        kept = source.engine._read_into_arrays
        ways = []

        def noted(*how: Any) -> Any:
            ways.append(kept(*how))
            return ways[-1]

        monkeypatch.setattr(source.engine, "_read_into_arrays", noted)
        for unit in (OneRowEach(), PersonUnit("person", rows=3)):
            found = IntegerQuery(source, unit, **asked).run([request])
            with monkeypatch.context() as patched:
                patched.setattr(type(source.engine), "add_by_place", None)
                patched.setattr(source.engine, "in_arrays", lambda sql: nullcontext())
                inside = IntegerQuery(source, unit, **asked).run([request])
            assert reference.plain(found.of(request)) == reference.plain(inside.of(request))
        assert [way is not None for way in ways] == [arrays]


@pytest.mark.skipif(not ENCIPHERS, reason="DuckDB before 1.5 hands out no rows while it reads")
def test_counts_of_more_rows_than_32_bits_hold_are_carried(tmp_path, monkeypatch):
    rows = "select i % 3000 / 8.0 as x from range(300000) t(i)"
    duckdb.sql(f"copy ({rows}) to '{tmp_path / 't.parquet'}'")
    request = Cells(col("x"), Grid.for_bounds(0, 375, bits=13))
    for most in (1 << 20, 200_000, 1):
        monkeypatch.setattr("tacit.tables.engines.duckdb.engine._MOST_ROWS", most)
        with open_source(tmp_path / "t.parquet", threads=1) as source:
            (found,) = IntegerQuery(source, OneRowEach()).run([request]).of(request)
        assert [cells.tolist() for cells in found] == [list(range(0, 6000, 2)), [100] * 3000]


def test_people_of_few_groups_are_those_of_the_pairs(monkeypatch):
    monkeypatch.setattr("tacit.tables.privacy_unit.new_salt", lambda: "0a1b")
    rows = (
        "select hash(i) % 50 as u, hash(i, 1) % hash(i // 50, 2) % 60 as code from range(900) t(i)"
    )
    for size, groups in ((62, 1), (62, 5), (62, 61), (62, 62)):
        pairs = few_groups(rows, ["code"], groups, DUCKDB, "u")
        expected = duckdb.sql(f"select code, 1, count(*) from ({pairs}) as p group by 1").fetchall()
        found = duckdb.sql(people_of_few(rows, size, groups, DUCKDB, "u")).fetchall()
        assert [line[0] for line in found] == list(range(size))
        assert sorted(line for line in found if line[2]) == sorted(expected)
        assert sum(line[2] for line in found) <= 50 * groups


@pytest.mark.parametrize("n", [2, 3, 31, 61])
def test_a_rest_and_a_quotient_say_who_a_number_is(n):
    numbers = [-(1 << 63), 1 - (1 << 63), -n - 1, -n, -1, 0, 1, n - 1, n, (1 << 63) - 1]
    rest, quotient = (sql.format(x="u", n=n) for sql in (DUCKDB.rest, DUCKDB.quotient))
    for kind in ("bigint", "tinyint", "utinyint", "uinteger"):
        people = f"select try_cast(w as {kind}) as u from (select unnest({numbers}) as w)"
        sql = f"select u, {rest}, {quotient} from ({people}) where u is not null"
        for number, part, index in duckdb.sql(sql).fetchall():
            assert (index, part) == divmod(number, n)


@pytest.mark.skipif(not ENCIPHERS, reason="DuckDB before 1.5 has no cipher of its own")
def test_what_is_divided_is_enciphered_and_removed(tmp_path):
    pq.write_table(divided_table("text"), tmp_path / "t.parquet")
    with open_source(tmp_path / "t.parquet", memory_limit="500MB") as source:
        engine = source.engine
        before = set(engine.folder.iterdir())
        sql = f"select person as u from {source.relation} where person = 'Zaphod'"
        with engine.divided(sql, "hash(u, 1) % 4", 4) as parts:
            files = list(engine.folder.rglob("*.parquet"))
            assert len(parts) == 4
            assert files
            assert not any(b"Zaphod" in path.read_bytes() for path in files)
            found = [engine.rows(f"select u from {rows.relation}") for rows in parts]
            assert sorted(map(len, found)) == [0, 0, 0, 100]
        assert set(engine.folder.iterdir()) == before
        with engine.divided("select no_such_column", "0", 4) as none:
            assert none is None
        engine.confine()
        with engine.divided(sql, "0", 4) as none:
            assert none is None


@pytest.mark.full
def test_a_full_disk_leaves_the_release_open_and_no_file(tmp_path, monkeypatch):
    path = tmp_path / "rows.parquet"
    duckdb.sql(
        f"""copy (select hash(i) as person, 'g' || (i % 20) as place from range(2000000) t(i))
        to '{path}'"""
    )
    (tmp_path / "spill").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "spill"))
    monkeypatch.setattr(parted, "_MAX_PARTS", 1)
    session = tc.Session(
        path, unit=tc.unit("person", rows=1), budget=tc.epsilon(1), memory_limit="64MB", threads=1
    )
    session.source.engine.rows("set max_temp_directory_size = '1MB'")
    asked = session.group_by("place", keys=[f"g{i}" for i in range(20)]).agg(n=tc.count_people())
    with pytest.raises(EngineMemoryError, match=r"ran out of memory.*charged.*stays open"):
        asked.release(epsilon=1)
    assert [entry.state for entry in session.history()] == ["open"]
    session.close()
    assert not list((tmp_path / "spill").iterdir())
    monkeypatch.undo()
    with tc.Session(
        path, tc.unit("person", rows=1), tc.epsilon(1), tc.in_memory, name="again"
    ) as roomy:
        keys = [f"g{i}" for i in range(20)]
        answer = roomy.group_by("place", keys=keys).agg(n=tc.count_people()).release(epsilon=1)
        assert abs(answer.to_dict()["n"][0] - 100_000) < 1000


# Exact integers of a question: the same in any order, never shown, refused on public facts.


INTEGER_GRID = Grid.for_bounds(0, 100)
AGE = Moments(col("age"), INTEGER_GRID)


def test_csv_without_rows_or_values_fits_every_use(tmp_path):
    path = tmp_path / "none.csv"
    path.write_text("age,sex\n")
    with open_source(path) as source:
        assert source.columns == {"age": "undeclared", "sex": "undeclared"}
        query = IntegerQuery(
            source,
            PersonUnit("sex", rows=2),
            where=col("age") > 3,
            by={"s": col("sex")},
            keys=["f"],
        )
        exact = query.run([Rows(), AGE, People()])
        assert exact.of(Rows()).tolist() == [0]
        assert exact.of(AGE).tolist() == [[0, 0, 0, 0]]


def test_exact_answers_are_never_shown_or_pickled():
    with open_source(pd.DataFrame({"age": [77.0]})) as source:
        exact = IntegerQuery(source, OneRowEach()).run([AGE])
        assert (
            repr(exact) == str(exact) == "<exact aggregates of 1 requests in 1 groups, not shown>"
        )
        with pytest.raises(TypeError, match="not private"):
            pickle.dumps(exact)


def test_order_of_rows_and_threads_do_not_change_one_bit():
    random = np.random.default_rng(3)
    age = random.normal(40, 1e3, 20_000) * 10.0 ** random.integers(-300, 300, 20_000)
    frame = pd.DataFrame({"age": age, "p": random.integers(0, 500, 20_000)})
    answers = set()
    for threads, table in ((1, frame), (4, frame.sample(frac=1, random_state=1))):
        with open_source(table, threads=threads) as source:
            for unit in (OneRowEach(), PersonUnit("p", rows=7)):
                found = IntegerQuery(source, unit).run([AGE]).of(AGE)
                answers.add((type(unit).__name__, tuple(found[0])))
    assert len(answers) == 2


def test_names_with_quotes_unicode_and_keywords():
    name = 'select "a" from ; drop table -- é'
    frame = pd.DataFrame({name: [1.0, 2.0], "group": ["x'); --", "ß"]})
    with open_source(frame) as source:
        request = Moments(col(name), INTEGER_GRID)
        query = IntegerQuery(
            source, OneRowEach(), by={"g": col("group")}, keys=["x'); --", "ß", '"']
        )
        assert query.run([request]).of(request)[:, 0].tolist() == [1, 1, 0]


def test_unknown_keys_and_people_are_bounded_by_the_groups_of_a_person():
    frame = pd.DataFrame({"p": [1] * 50 + [2], "g": [str(i) for i in range(50)] + ["0"]})
    with open_source(frame) as source:
        unit = PersonUnit("p", rows=5, most_groups=3)
        by = {"g": col("g")}
        assert sum(IntegerQuery(source, unit, by=by).people_by_key().values()) == 4
        keys = [str(i) for i in range(50)]
        assert IntegerQuery(source, unit, by=by, keys=keys).run([People()]).of(People()).sum() == 4
        assert IntegerQuery(source, unit).run([People()]).of(People()).tolist() == [2]


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda s: IntegerQuery(s, OneRowEach(), where=col("agee") > 1), "did you mean 'age'"),
        (lambda s: IntegerQuery(s, OneRowEach(), where=col("sex") > 1), "mixes values of kind"),
        (lambda s: IntegerQuery(s, OneRowEach(), where=col("sex") < "b"), "needs a value of kind"),
        (lambda s: IntegerQuery(s, OneRowEach(), where=col("age") + 1), "a filter is a condition"),
        (lambda s: IntegerQuery(s, OneRowEach(), by={"w": col("wage")}), "too many to be groups"),
        (lambda s: IntegerQuery(s, OneRowEach(), by={"s": col("sex")}, keys=[]), "empty"),
        (
            lambda s: IntegerQuery(s, OneRowEach(), by={"s": col("sex")}, keys=[1]),
            "holds text, and the key 1",
        ),
        (
            lambda s: IntegerQuery(s, OneRowEach(), by={"s": col("sex")}, keys=["f", "f"]),
            "given twice",
        ),
        (lambda s: IntegerQuery(s, OneRowEach(), by={"s": col("sex")}).run([Rows()]), "not known"),
        (lambda s: IntegerQuery(s, PersonUnit("who", rows=1)), "no column 'who'"),
        (
            lambda s: IntegerQuery(s, OneRowEach()).check(Moments(col("sex"), INTEGER_GRID)),
            "needs numbers",
        ),
        (lambda s: Grid.for_bounds(3, 3), "must be below"),
        (lambda s: Grid.for_bounds(0, "1e-400"), "rescale"),
        (lambda s: bool(col("age") > 1), "no truth value"),
        (lambda s: from_json(["system", [], []]), "not an operation"),
    ],
)
def test_questions_are_refused_on_public_facts(build, message):
    with (
        open_source(pd.DataFrame({"age": [1], "wage": [0.5], "sex": ["f"]})) as source,
        pytest.raises(UsageError, match=message),
    ):
        build(source)


def test_sums_beyond_64_bits_are_exact():
    huge = pa.table({"x": pa.array([1 << 62] * 4, pa.int64())})
    grid = Grid.for_bounds(0, 1 << 62, whole=True)
    request = Moments(col("x"), grid)
    with open_source(huge) as source:
        assert IntegerQuery(source, OneRowEach()).run([request]).of(request)[0][2] == 4 * grid.cells
        assert grid.value(grid.cells) == 1 << 62


# Numbers of rows, sums, squares and products: what is added up, and how answers are read.


CONTRIBUTION_BOUNDING_GRID = Grid.for_bounds(0, 7, whole=True)
PLAIN, SQUARED = (
    Moments(col("x"), CONTRIBUTION_BOUNDING_GRID, squares=False),
    Moments(col("y"), CONTRIBUTION_BOUNDING_GRID, squares=True),
)
BOTH = Products(
    ((col("x"), CONTRIBUTION_BOUNDING_GRID), (col("y"), CONTRIBUTION_BOUNDING_GRID)),
    ((0,), (1,), (0, 1), (1, 1)),
)
ROWS = [("a", 1, 2), ("a", None, 3), ("a", 9, 4), ("b", 5, None), ("b", None, None), ("c", 2, 7)]


def defined(group: str) -> dict[Any, list[int]]:
    """The answers of one group by their definition: values are clamped to 0..7."""
    rows = [(x, y) for g, x, y in ROWS if g == group]
    xs = [min(x, 7) for x, _ in rows if x is not None]
    ys = [y for _, y in rows if y is not None]
    whole = [(min(x, 7), y) for x, y in rows if x is not None and y is not None]
    return {
        Rows(): [len(rows)],
        PLAIN: [len(xs), len(rows) - len(xs), sum(xs), 0],
        SQUARED: [len(ys), len(rows) - len(ys), sum(ys), sum(y * y for y in ys)],
        BOTH: [
            len(whole),
            sum(x for x, _ in whole),
            sum(y for _, y in whole),
            sum(x * y for x, y in whole),
            sum(y * y for _, y in whole),
        ],
    }


@pytest.mark.parametrize("asked", [[Rows()], [PLAIN], [BOTH], [Rows(), PLAIN, SQUARED, BOTH]])
def test_sums_are_those_of_the_definition(asked: list[Any]) -> None:
    connection = duckdb.connect()
    connection.execute("create table t (g varchar, x bigint, y bigint)")
    connection.executemany("insert into t values (?, ?, ?)", ROWS)
    keys = ["a", "b", "c", "nobody"]
    with open_source(connection, "t") as source:
        exact = IntegerQuery(source, OneRowEach(), by={"g": col("g")}, keys=keys).run(asked)
        for request in asked:
            found = exact.of(request).reshape(4, -1).tolist()
            assert found == [defined(key)[request] for key in keys]


def test_what_two_requests_share_is_added_up_once() -> None:
    sums = MomentSums([PLAIN, SQUARED, Rows()], [["zx"], ["zx"], []])
    assert sums.offsets == ["zx"]
    assert sums.squared == {"zx"}
    assert len(sums.row_terms({"zx": "z0"})) == 4  # rows, present, sum, squares
    assert column_names(["b", "a", "b"]) == {"b": "z0", "a": "z1"}


def test_people_are_not_added_up_first_where_rows_may_lack_a_factor() -> None:
    assert MomentSums([PLAIN], [["zx"]]).by_people
    assert not MomentSums([BOTH], [["zx", "zy"]]).by_people


def test_lines_of_several_scales_are_added_exactly() -> None:
    """A person's weight makes a line a multiple: numbers of any size pass through no float."""
    sums = MomentSums([PLAIN], [["zx"]])
    big = 2**70 + 1
    found = sums.read([(0, 2, 3, 2, big), (0, 1, 1, 1, 5), (2, 3, 1, 0, 0)], groups=3)
    assert found[PLAIN].tolist() == [[5, 2, 2 * big + 5, 0], [0, 0, 0, 0], [0, 3, 0, 0]]


# Rows are counted by bin or cell: those without a value nowhere.


VALUES = [3, None, 0, 9, 3, None, 9, 9, 299]
CODES = [0, 0, 1, 1, 1, 0, 0, 1, 1]


def _rows(source, one=1, weight=""):
    base = f"select z as z0, code{', w' if weight else ''} from {source.relation} as tacit_rows"
    return BoundedRows(base, DUCKDB, one, weight)


@pytest.fixture(scope="module")
def source():
    weights = [2, 1, 1, 3, 0, 2, 1, 1, 1]
    with cell_counts_open_source(
        pyarrow.table({"z": VALUES, "code": CODES, "w": weights})
    ) as opened:
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
    with cell_counts_open_source(
        pyarrow.table({"z": pyarrow.array([None, None], pyarrow.int64())})
    ) as empty:
        rows = BoundedRows(f"select z as z0, 0 as code from {empty.relation} as r", DUCKDB)
        ((at, weights),) = cells(rows, "z0", 9, 0, 1, empty.engine)
        assert (at.tolist(), weights.tolist()) == ([], [])
        assert bins(rows, "z0", [0, 5, 9], 1, empty.engine).tolist() == [[0, 0]]


def test_more_places_than_can_be_distinguished_are_refused():
    check_cell_indices(1 << 31, 1 << 32)
    with pytest.raises(UsageError, match="more than can be distinguished"):
        check_cell_indices((1 << 31) + 1, 1 << 32)
