"""Odd lines of a CSV file: what stands in them, and that they change no other row."""

from __future__ import annotations

import datetime
import io
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import tacit as tc
from support.examples import examples
from support.tables.engine_tables import POSTGRES_TYPES
from support.tables.hostile_lines import hostile
from tacit.errors import UsageError
from tacit.tables.engines import csv as csv_lines
from tacit.tables.engines.csv import (
    LINE_LIMIT,
    CsvFormat,
    cleaned,
    csv_format,
    declared_sql,
    file_lines,
    parse,
    records,
)
from tacit.tables.engines.duckdb.engine import DUCKDB
from tacit.tables.open_source import open_source
from tacit.tables.plan.plan import Plan
from tacit.tables.release.release import PlanRunner, without_rows

forms = st.sampled_from(
    [
        CsvFormat(delimiter=","),
        CsvFormat(delimiter=",", null=("NA", "a")),
        CsvFormat(delimiter=",", quote=""),
        CsvFormat(delimiter=";", quote="'"),
        CsvFormat(delimiter=",", encoding="cp1252"),
        CsvFormat(delimiter=",", encoding="iso8859-1"),
        CsvFormat(delimiter=",", multiline=3),
        CsvFormat(delimiter=",", comment="#"),
        CsvFormat(delimiter=",", comment="a"),
        CsvFormat(delimiter=",", comment="a", multiline=3),
    ]
)
PLAIN = CsvFormat(delimiter=",")


def read_back(text: bytes, form: CsvFormat, width: int) -> list[list[str | None]]:
    """Read what was written anew by the plainest reader there is: each row is in order."""
    fixed = CsvFormat(delimiter=form.delimiter, quote=form.quote, multiline=form.multiline)
    lines = text.decode().encode().split(b"\n")
    assert lines.pop() == b""
    found = list(records(lines, fixed, width))
    assert all(wrong == "" for _, wrong, _ in found)
    return [[None if c in form.null else c for c in cells] for _, _, cells in found]


@examples(4)
@given(hostile, forms, st.integers(1, 4), st.integers(1, 9))
@example(b"", PLAIN, 2, 1)
@example(b'"a\n"b,c\n', PLAIN, 2, 4)
@example(b"\xef\xbb\xbf1,2\r", PLAIN, 2, 4)
@example(b'1,"2""",\n', PLAIN, 3, 9)
def test_the_fast_reader_agrees_with_the_definition(data, form, width, block):
    blocks = file_lines(io.BytesIO(data), form.encoding, block)
    text = b"".join(cleaned(blocks, form, width))
    assert read_back(text, form, width) == parse(data, form, width)


@examples(2)
@given(hostile, hostile, hostile, st.integers(1, 3))
def test_a_line_changes_no_other_row(before, line, after, width):
    """No row steers another: the rows of a file are those of its parts, one after the other."""
    line = line.replace(b"\n", b"").replace(b"\r", b"")
    before, after = (part.removeprefix(b"\xef\xbb\xbf") for part in (before, after))
    before = before + b"\n" if before else before
    rows = parse(b"\n" + before + line + b"\n" + after, PLAIN, width)
    alone = [parse(b"\n" + part, PLAIN, width) for part in (before, line + b"\n", after)]
    first = parse(b"\n", PLAIN, width)
    apart = [*alone[0], *alone[1][len(first) :], *alone[2][len(first) :]]
    assert rows == apart


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (b"# x,1\n", [["# x", "1"]]),
        (b"\n \n\n1,2\n\n", [[" ", None], ["1", "2"]]),
        (b"1\n1,2,3\n1,2", [["1", None], [None, None], ["1", "2"]]),
        (b'a"b,"c\n1,2\n', [[None, None], ["1", "2"]]),
        (b'a"b,c\n', [['a"b', "c"]]),
        (b'"a"b,c\n', [[None, None]]),
        (b' "a",b\n', [[' "a"', "b"]]),
        (b'"a,""b""",\r\n', [['a,"b"', None]]),
        (b"1,2\r3,4\r\n5,6\n", [["1", "2"], ["3", "4"], ["5", "6"]]),
        (b"\xff,1\n\0,2\n3,4\n", [[None, None], [None, None], ["3", "4"]]),
        (b"03/13/2020,\\N\n", [["03/13/2020", "\\N"]]),
        (b"x" * (LINE_LIMIT + 1) + b",1\n1,2\n", [[None, None], ["1", "2"]]),
        (b"", []),
    ],
)
def test_what_stands_in_odd_lines(data, rows):
    assert parse(data, PLAIN, 2) == rows
    text = b"".join(cleaned(file_lines(io.BytesIO(data)), PLAIN, 2))
    assert read_back(text, PLAIN, 2) == rows


def test_a_line_of_a_hundred_megabytes_takes_no_more_memory_than_a_block(monkeypatch):
    class Endless(io.RawIOBase):
        given = 0

        def read(self, size=-1):
            if self.given >= 100 << 20:
                return b"" if self.given > 100 << 20 else self._last()
            self.given += 1 << 20
            return b"x" * (1 << 20)

        def _last(self):
            self.given += 1
            return b"\n1,2\n"

    blocks = list(file_lines(Endless(), "utf-8", 1 << 20))
    assert max(map(len, blocks)) <= 3 << 20
    assert b"".join(cleaned(blocks, PLAIN, 2)) == b",\n1,2\n"
    assert csv_lines.LINE_LIMIT == LINE_LIMIT


# Joins in every engine, against rows that were joined in Python: the same whole numbers.


Row = tuple[Any, ...]
Tables = Mapping[str, tuple[Mapping[str, str], Sequence[Row]]]
SALT = "5a17" * 8
INFINITY = float("inf")
MOST = 5
"""How many rows of a person in the second table are joined here; one person has more."""


def tables(people: Sequence[Any], kind: str) -> Tables:
    """Visits and patients of these people: some in one table, some in both, all of them often."""
    source = random.Random(7)
    costs = [0.5, -3.25, 1e300, INFINITY, float("nan"), None, 7.0]
    visits = [
        (source.choice(people), source.choice([1, 2, 3, 4, None]), source.choice(costs))
        for _ in range(100)
    ]
    patients = [(who, source.randint(0, 99)) for who in people[1:] for _ in (1, 2, 3)]
    patients += [(people[1], age) for age in range(MOST + 1)]
    return {
        "visits": ({"person": kind, "site": "integer", "cost": "double"}, visits),
        "patients": ({"id": kind, "age": "bigint"}, patients[4:]),
        "sites": ({"site": "bigint", "region": "varchar"}, [(1, "a"), (2, "b"), (3, None)]),
    }


PEOPLE: dict[str, Tables] = {
    "text": tables(["Ada", "ada", "ada ", "É", "é", "日本", "", None, "zoe"], "varchar"),
    "integer": tables([-5, 0, 1, 2, 3, 2**62, None, 9], "bigint"),
    "float": tables([0.0, -0.0, 1.5, INFINITY, float("nan"), None, 8.25], "double"),
}
DECLARED = """
name = "visits"
unit = {{ person = "person", rows = 7, groups = 2 }}
budget = {{ epsilon = 1000 }}
[tables.visits]
{visits}
[tables.patients]
{patients}
person = "id"
[tables.sites]
path = "sites.parquet"
public = true
key = "site"
"""


def literal(value: Any, kind: str) -> str:
    return "null" if value is None else f"cast('{value}' as {kind})"


def fill(run: Callable[[str], Any], given: Tables, types: Mapping[str, str]) -> None:
    for name, (columns, rows) in given.items():
        kinds = [types.get(k, k) for k in columns.values()]
        listed = ", ".join(f"{n} {k}" for n, k in zip(columns, kinds, strict=True))
        run(f"create table {name} ({listed})")
        lines = (f"({', '.join(map(literal, row, kinds))})" for row in rows)
        run(f"insert into {name} values {', '.join(lines)}")


def in_duckdb(request: pytest.FixtureRequest, given: Tables, folder: Path) -> str:
    connection = duckdb.connect()
    fill(connection.execute, given, {})
    for name in given:
        connection.execute(f"copy {name} to '{folder}/{name}.parquet'")
    path = 'path = "{}.parquet"'
    return DECLARED.format(visits=path.format("visits"), patients=path.format("patients"))


def in_postgres(request: pytest.FixtureRequest, given: Tables, folder: Path) -> str:
    in_duckdb(request, given, folder)
    database = request.getfixturevalue("postgres")
    role = database.server.role("reader")
    protected = {name: given[name] for name in ("visits", "patients")}
    with database.connect() as connection:
        fill(connection.execute, protected, POSTGRES_TYPES)
        connection.execute(f"grant select on visits, patients to {role}")
    place = f'url = "{database.dsn(role)}"\ntable = "{{}}"'
    return DECLARED.format(visits=place.format("visits"), patients=place.format("patients"))


def in_spark(request: pytest.FixtureRequest, given: Tables, folder: Path) -> str:
    in_duckdb(request, given, folder)
    session = request.getfixturevalue("spark")
    for name in ("visits", "patients"):
        session.read.parquet(f"{folder}/{name}.parquet").createOrReplaceTempView(name)
    return DECLARED.format(visits='spark = "visits"', patients='spark = "patients"')


ENGINES = {"duckdb": in_duckdb, "postgresql": in_postgres, "spark": in_spark}


def same(one: Any, other: Any) -> bool:
    return one is not None and other is not None and one == other


def by_definition(given: Tables, how: str) -> list[Row]:
    visits, patients, sites = (given[name][1] for name in ("visits", "patients", "sites"))
    found = []
    for person, site, cost in visits:
        region = next((name for key, name in sites if same(key, site)), None)
        ages = [age for who, age in patients if same(who, person)]
        ages = ages if 0 < len(ages) <= MOST else [None] * (how == "left")
        found += [(person, site, cost, region, age) for age in ages]
    return found


ASKED: dict[str, Any] = {
    "n": tc.count(),
    "who": tc.count_people(),
    "age": tc.mean("age", 0, 99),
    "cost": tc.sum("cost", -5, 100),
    "mid": tc.median("age", 0, 99),
}


@pytest.mark.few(6)
@pytest.mark.parametrize(
    ("people", "how"),
    [("text", "left"), ("text", "inner"), ("integer", "inner"), ("float", "left")],
)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_join_gives_the_whole_numbers_of_its_definition(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    people: str,
    how: str,
    engine: str,
) -> None:
    if engine == "spark" and (people, how) != ("text", "left"):
        return  # it takes half a minute, and what differs is the text that is asked
    monkeypatch.setattr("tacit.tables.privacy_unit.new_salt", lambda: SALT)
    for module in ("query.joins", "release.opened_table"):
        monkeypatch.setattr(f"tacit.tables.{module}.MOST_ROWS", MOST)
    given = PEOPLE[people]
    (tmp_path / "visits.toml").write_text(ENGINES[engine](request, given, tmp_path))
    connection = duckdb.connect()
    joined = {**given["visits"][0], "region": "varchar", "age": "bigint"}
    fill(connection.execute, {"joined": (joined, by_definition(given, how))}, {})
    expected = PlanRunner(open_source(connection, "joined"))
    with tc.open(tmp_path / "visits.toml", ledger=tc.in_memory) as session:
        question = session.join("sites").join("patients", how=how)
        question = question.filter((tc.col("age") > 10) | tc.col("age").is_null())
        grouped = question.group_by("region", keys=["a", "b", None])
        few = {label: ASKED[label] for label in ("n", "who", "cost")}
        both = [grouped.agg(**few)]
        if engine != "spark":
            both = [question.agg(**ASKED), grouped.agg(**ASKED)]
        for asked in both:
            plan = Plan(asked._query, tc.epsilon(1))
            keys = plan.query.keys or [()]
            chains = plan.chains(len(keys))
            found = asked._table.collector.collect(plan).vectors(chains, keys)
            for one, other in zip(found, expected.collect(plan).vectors(chains, keys), strict=True):
                for step, vector in other.items():
                    assert str(list(one[step])) == str(list(vector)), step
        if engine != "spark":
            report = asked.release(epsilon=1).certificate.verify(session.ledger)
            assert report, report.failures


@pytest.mark.parametrize("engine", ["duckdb", "postgresql"])
def test_a_join_is_tried_out_without_reading_a_row(
    request: pytest.FixtureRequest, tmp_path: Path, engine: str
) -> None:
    (tmp_path / "visits.toml").write_text(ENGINES[engine](request, PEOPLE["text"], tmp_path))
    with tc.open(tmp_path / "visits.toml", ledger=tc.in_memory) as session:
        source = session.join("sites").join("patients")._table.source
        nothing = without_rows(source).relation
        for relation, read in ((nothing, False), (source.relation, True)):
            planned = source.engine.rows(f"explain select count(*) from {relation} as r")
            assert ("scan" in str(planned).lower()) is read


def test_tables_of_two_engines_are_not_joined(tmp_path: Path) -> None:
    text = in_duckdb(None, PEOPLE["integer"], tmp_path)  # type: ignore[arg-type]
    there = 'path = "patients.parquet"'
    for place in ('url = "postgresql://nobody@localhost/x"\ntable = "patients"', 'spark = "p"'):
        (tmp_path / "visits.toml").write_text(text.replace(there, place))
        with tc.open(tmp_path / "visits.toml", ledger=tc.in_memory) as session:
            with pytest.raises(UsageError, match="protected tables are joined within one engine"):
                session.join("patients")
            assert "region" in session.join("sites")._query.columns


@pytest.mark.parametrize("engine", ["postgresql"])
def test_a_name_that_the_engine_would_cut_off_is_refused_before_the_charge(
    request: pytest.FixtureRequest, tmp_path: Path, engine: str
) -> None:
    """Two columns whose names are equal up to there would be one."""
    given = dict(PEOPLE["integer"])
    long = ["x" * 60 + end for end in ("1", "2")]
    for name, person in (("visits", "person"), ("patients", "id")):
        columns = {person: "bigint", **dict.fromkeys(long, "bigint")}
        given[name] = (columns, [(1, 2, 3)])
    (tmp_path / "visits.toml").write_text(ENGINES[engine](request, given, tmp_path))
    with tc.open(tmp_path / "visits.toml", ledger=tc.in_memory) as session:
        with pytest.raises(
            UsageError, match="longer than the 63 bytes that PostgreSQL allows for a name"
        ):
            session.join("patients")
        people = session.per_person(**{f"{long[0]}___{end}": tc.count() for end in ("a", "b")})
        with pytest.raises(UsageError, match="choose a shorter one"):
            people.agg(n=tc.mean(f"{long[0]}___a", 0, 9)).release(epsilon=1)
        assert session.remaining == tc.epsilon(1000)


# Declared columns of a CSV file, cell by cell: what does not fit is missing.


def read(cell, kind, **form):
    sql = declared_sql("c", kind, CsvFormat(**form), DUCKDB)
    return duckdb.execute(f"select {sql} from (select ?::varchar as c)", [cell]).fetchall()[0][0]


@pytest.mark.parametrize(
    ("kind", "cell", "value"),
    [
        ("integer", " 12 ", 12),
        ("integer", "1.5", None),
        ("float", "-0.5", -0.5),
        ("boolean", "Yes", True),
        ("boolean", "maybe", None),
        ("date", "2026-01-31", datetime.date(2026, 1, 31)),
        ("date", "31.01.2026", None),
        ("timestamp", "2026-01-31 18:30", datetime.datetime(2026, 1, 31, 18, 30)),
        ("text", " x ", " x "),
        (None, "12", "12"),
    ],
)
def test_a_cell_of_a_declared_kind(kind, cell, value):
    assert read(cell, kind) == value


def test_a_format_of_its_own():
    day = {"date_format": "%d.%m.%Y"}
    assert read("31.01.2026", "date", **day) == datetime.date(2026, 1, 31)
    assert read("2026-01-31", "date", **day) is None
    assert read("31.02.2026", "date", **day) is None
    time = {"time_format": "%d.%m.%Y %H:%M"}
    assert read(" 31.01.2026 08:05 ", "timestamp", **time) == datetime.datetime(2026, 1, 31, 8, 5)


# How a CSV file is written: options that do not fit are refused.


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ({"delimiter": ",,"}, "one character"),
        ({"delimiter": "\n"}, "one character"),
        ({"delimiter": "é"}, "one character"),
        ({"delimiter": '"'}, "the same character"),
        ({"encoding": "utf-32"}, "iconv"),
        ({"decimal": ""}, "decimal= is one of"),
        ({"decimal": ";"}, "decimal= is one of"),
        ({"thousands": "x"}, "thousands= is one of"),
        ({"thousands": ".."}, "thousands= is one of"),
        ({"decimal": ",", "thousands": ","}, "the same character"),
        ({"skip": -1}, "skip"),
        ({"skip": 10**6}, "at most 1000 lines"),
        ({"comment": "//"}, "one character"),
        ({"comment": ",", "delimiter": ","}, "the same character"),
        ({"encoding": "shift-jis"}, "iconv"),
        ({"encoding": "utf-7"}, "iconv"),
        ({"encoding": "none such"}, "iconv"),
        ({"encoding": 8}, "iconv"),
        ({"types": {"a": "number"}}, "is not a kind"),
        ({"types": ["a"]}, "types="),
        ({"header": False}, "header=\\['id', 'age'\\]"),
        ({"header": []}, "a list of different names"),
        ({"header": ["a", "A"]}, "a list of different names"),
        ({"header": "ab"}, "a list of texts"),
        ({"null": 3}, "a list of texts"),
        ({"date_format": "dd.mm.yyyy"}, "is written like"),
        ({"date_format": "%d.%m.%Y %H"}, "is written like"),
        ({"time_format": 3}, "is written like"),
        ({"multiline": 0}, "multiline"),
        ({"multiline": 10**6}, "at most 1000 lines"),
        ({"multiline": 2, "quote": ""}, "no"),
        ({"delimeter": ";"}, "did you mean 'delimiter'"),
    ],
)
def test_an_option_that_does_not_fit_is_refused(option, says):
    with pytest.raises(UsageError, match=says):
        csv_format(**option)


# The lines of a CSV file: the fast reader against the definition, over hostile bytes.


LINES_PLAIN = CsvFormat(delimiter=",")


def test_in_a_table_of_one_column_an_empty_line_is_a_row():
    assert parse(b"a\n\nb\n", LINES_PLAIN, 1) == [["a"], [None], ["b"]]


def test_fields_run_over_lines_only_where_that_is_declared():
    text = b'1,"a\nb"\n2,"c\n3,d\n4,e\n'
    rows = parse(text, LINES_PLAIN, 2)
    assert rows == [[None, None], ['b"', None], [None, None], ["3", "d"], ["4", "e"]]
    several = CsvFormat(delimiter=",", multiline=2)
    assert parse(text, several, 2) == [["1", "a\nb"], [None, None], ["3", "d"], ["4", "e"]]


def test_every_line_that_is_wrong_is_told_with_its_number():
    found = []
    blocks = file_lines(io.BytesIO(b'1,2\n1\n\n1,2,3\n"\n4,5\n'), "utf-8", 3)
    b"".join(cleaned(blocks, LINES_PLAIN, 2, lambda line, wrong: found.append((line, wrong))))
    assert found == [(1, "short"), (3, "long"), (4, "spoiled")]


def test_folders_of_files_are_columns_as_those_of_parquet_files_are(tmp_path: Path) -> None:
    parts = {"2024": "a,1", "20%2F5": "b,2", "__HIVE_DEFAULT_PARTITION__": "c,3", "": "d,4"}
    for year, row in parts.items():
        folder = tmp_path / "v" / f"year={year}" / "site=north"
        folder.mkdir(parents=True)
        (folder / "a.csv").write_text(f"p,x\n{row}\n")
    years = {"a": "2024", "b": "20/5", "c": None, "d": None}
    for source in (tmp_path / "v", tmp_path / "v" / "*" / "*" / "*.csv"):
        with open_source(source) as opened:
            assert set(opened.columns) == {"p", "x", "year", "site"}
            rows = f"from {opened.relation} as t"
            assert dict(opened.engine.rows(f"select p, year {rows}")) == years
            assert opened.engine.rows(f"select distinct site {rows}") == [("north",)]
    with open_source(tmp_path / "v", types={"year": "integer"}) as opened:
        rows = f"select p, year from {opened.relation} as t"
        assert dict(opened.engine.rows(rows)) == {"a": 2024, "b": None, "c": None, "d": None}
    assert "year" in tc.check(tmp_path / "v").columns
    (tmp_path / "v" / "year=2024" / "site=north" / "a.csv").write_text("p,x,Year\na,1,7\n")
    with open_source(tmp_path / "v") as opened:  # what is in the file counts
        assert set(opened.columns) == {"p", "x", "Year", "site"}
