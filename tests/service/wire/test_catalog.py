"""The catalog of a data set: its answers, and what a query of it may not do."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.clinic import make_clinic
from tacit.service.folder import declarations
from tacit.service.problem import Problem
from tacit.service.settings import Settings
from tacit.service.wire import catalog
from tacit.service.wire.statements import Result, literal, spaced, split, unwrapped
from tacit.tables.dataset.draft import shapes_of

VALUES = {"current_user": "ada", "current_database": "visits"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[catalog.Catalog]:
    folder: Path = tmp_path_factory.mktemp("clinic")
    make_clinic(folder)
    dataset = declarations(Settings(folder))["visits"]
    one = catalog.Catalog("visits", shapes_of(dataset), "of the clinic")
    yield one
    one.close()


def asked(made: catalog.Catalog, query: str) -> Result:
    (statement,) = split(query)
    return made.answer(statement, VALUES)


def test_a_query_of_a_table_that_is_always_empty_has_its_columns(made: catalog.Catalog) -> None:
    result = asked(made, "select polname, no_such(x) as y from pg_catalog.pg_policy where z = 1")
    assert [field.name for field in result.fields or ()] == ["polname", "y"]
    assert asked(made, "select count(*) as n from pg_policy").rows == [(0,)]  # a row, and not none


def test_types_agree_with_the_declaration(made: catalog.Catalog) -> None:
    query = (
        "select attname, format_type(atttypid, atttypmod), col_description(attrelid, attnum) "
        "from pg_attribute where attrelid = 'visits'::regclass order by attnum"
    )
    rows: Any = asked(made, query).rows
    assert [row[1] for row in rows] == ["bigint", "bigint", "double precision", "date"]
    assert rows[1][2] == "where the visit was"


@pytest.mark.parametrize(
    "query",
    [
        "select " + " || ".join(["relname"] * 20) + " from pg_class",
        "select '" + "x" * 301 + "'",
        "select 1 " + " " * 20_001 + "as one",
        "with recursive a as (select 1 as i) select * from a",
        "select replace(relname, 'a', relname) from pg_class",
        "select * from visits.public.pg_secret",
        "select * from generate_series(1, 1000000000)",
        "select @@version",
        # a name of WITH out of its scope is no table of the engine
        "with x as (select * from sqlite_master), sqlite_master as (select 1) select * from x",
        "select * from (with duckdb_settings as (select 1) select 1) z, duckdb_settings",
        "with catalog as (select 1 as a), b as (select * from with_catalog) select * from b",
        # a long text of many rows
        "select string_agg(a.typname, 'x') from pg_type a, pg_type b, pg_type c",
        "select array_agg(a.typname) from pg_type a, pg_type b, pg_type c",
        "select array(select a.typname from pg_type a, pg_type b, pg_type c)",
        "select array_agg(b.typname) from pg_policy right join pg_type b on true",
        f"select {', '.join([repr('x' * 290)] * 30)} from pg_type a, pg_type b, pg_type c",
    ],
)
def test_no_query_makes_much_of_little(made: catalog.Catalog, query: str) -> None:
    with pytest.raises(Problem):
        asked(made, query)


def test_a_list_of_no_rows_is_made(made: catalog.Catalog) -> None:
    for query in (
        "select array(select b.rolname from pg_auth_members m join pg_roles b on true) as v",
        "select v from pg_am left join (select polrelid, array_agg(polname) as v from pg_policy "
        "group by polrelid) p on polrelid = oid",
    ):
        assert len(asked(made, query).rows) == 1


def test_names_of_with_are_tables(made: catalog.Catalog) -> None:
    query = (
        "with A as (select oid, relname from pg_class where relkind = any(array['r', 'v'])), "
        'b as (select * from a) select a.oid, b."relname" from a join b using (oid)'
    )
    assert len(asked(made, query).rows) == 3
    assert len(asked(made, "with pg_am as (select 1 as one) select pg_am.one from pg_am").rows) == 1


def test_a_long_query_is_interrupted(
    made: catalog.Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "_SECONDS", 0.05)
    many = ", ".join(f"pg_type t{n}" for n in range(9))
    with pytest.raises(Problem, match="not understood"):
        asked(made, f"select count(*) from {many}")
    assert asked(made, "select 1 as one").rows == [(1,)]


def test_a_wrapped_query_is_the_query() -> None:
    wrapped = {
        "select * from (select 1 limit 7) q limit 5": "select 1 limit 5",
        "select * from (select 1 limit 3) as q limit 5": "select 1 limit 3",
        "select * from (select 1 offset 3) as q limit 5": None,
        "select * from (select 1) as q order by 1": None,
        "select a from (select 1) as q": None,
    }
    for text, inner in wrapped.items():
        assert unwrapped(split(text)[0]).text == (inner or text)


def test_values_are_written_as_literals() -> None:
    assert literal(b"\0\0\0\x14", 23, True) == "20"
    assert literal(b"\0\0\x22\x3e", 1082, True) == "DATE '2024-01-01'"
    assert literal(b'{r,"v"}', 1009, False) == "ARRAY['r', 'v']"
    for data, type_ in ((b"x", 23), (b"1;2", 1700), (b"inf", 701), (b"\xff", 25), (b"1", 600)):
        with pytest.raises(Problem):
            literal(data, type_, False)


def test_a_value_is_no_comment_and_no_part_of_a_word() -> None:
    for data, binary in ((b"-1", False), (struct.pack("!q", -1), True)):
        (negative,) = split("select a from b where c > 2 -$1 and c < 0")
        made = negative.with_values([literal(data, 20, binary)])
        assert [one.text for one in made.tokens[-10:-3]] == ["2", "-", "(", "-", "1", ")", "and"]
    (one,) = split("select 'a'$1")
    assert one.with_values(["'b'"]).tokens[1].text == "a"


def test_values_are_not_written_many_times() -> None:
    (one,) = split("select " + ", ".join(["$1"] * 2000))
    with pytest.raises(Problem, match="at most 65536"):
        one.with_values(["'" + "x" * 40_000 + "'"])


def test_parameters_are_found_in_one_pass() -> None:
    """Sixteen times the text takes some sixteen times the time, and not its square."""

    def cpu(text: str) -> float:
        times = []
        for _ in range(3):
            begun = time.thread_time()
            spaced(text)
            times.append(time.thread_time() - begun)
        return min(times)

    names = [f"$a{n}$ " for n in range(8000)]
    for short, long in (
        ("/* " * 1000, "/* " * 16_000),
        ("".join(names[:500]), "".join(names)),
        ("e'\\' " * 500, "e'\\' " * 8000),
    ):
        assert cpu(long) < 100 * cpu(short)
    assert spaced("e'\\'$1' $1,$2 /* $1 */ $$ $1 $$") == "e'\\'$1' $1 ,$2  /* $1 */ $$ $1 $$"
