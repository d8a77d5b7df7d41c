"""Parts of the people, one after another: the same bits, and memory that suffices."""

from __future__ import annotations

import tempfile

import duckdb
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import tacit as tc
from support.examples import examples
from support.tables import tables_reference as reference
from support.tables.engine_tables import in_duckdb
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables.engines.base import EngineMemoryError
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.query import integer_query as parted
from tacit.tables.query.integer_query import PartedQuery, Query
from tacit.tables.query.requests import Bins, Cells, Distinct, Moments, People, Rows, Total

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
        whole = Query(source, UNIT, **asked).run(REQUESTS)
        query = PartedQuery(source, UNIT, **asked)
        query._parts = lambda *sizes: parts
        found = query.run(REQUESTS)
        for request in REQUESTS:
            answer = reference.plain(found.of(request))
            assert answer == reference.plain(whole.of(request)), request
        by = {"by": {"place": col("place")}}
        query = PartedQuery(source, UNIT, **by)
        query._parts = lambda *sizes: parts
        assert query.people_by_key() == Query(source, UNIT, **by).people_by_key()


@pytest.mark.full
def test_an_engine_that_runs_out_is_asked_again_in_more_parts(load, monkeypatch):
    rows = [{"person": str(i % 7), "place": "here", "x": float(i)} for i in range(50)]
    asked = []
    run = Query.run

    def runs_out(query, requests):
        asked.append(query._part)
        if query._part is None or query._part[1] < 64:
            raise EngineMemoryError("too little")
        return run(query, requests)

    with load(rows, TYPES) as source:
        expected = Query(source, UNIT).run([Rows()]).of(Rows())
        monkeypatch.setattr(Query, "run", runs_out)
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

    monkeypatch.setattr(Query, "run", runs_out)
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


@pytest.mark.full
def test_a_full_disk_leaves_the_release_open_and_no_file(tmp_path, monkeypatch):
    path = tmp_path / "rows.parquet"
    duckdb.sql(
        f"""copy (select hash(i) as person, 'g' || (i % 20) as place from range(2000000) t(i))
        to '{path}'"""
    )
    (tmp_path / "spill").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "spill"))
    monkeypatch.setattr(parted, "_MOST", 1)
    session = tc.Session(
        path, unit=tc.unit("person", rows=1), budget=tc.epsilon(1), memory_limit="64MB", threads=1
    )
    session.source.engine.rows("set max_temp_directory_size = '1MB'")
    asked = session.group_by("place", keys=[f"g{i}" for i in range(20)]).agg(n=tc.count_people())
    with pytest.raises(EngineMemoryError, match=r"free space for spilling.*charged.*stays open"):
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
