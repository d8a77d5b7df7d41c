"""Names and values written as SQL text: nothing in them is read as SQL."""

from __future__ import annotations

import bisect
import datetime
import itertools
import math
import random
import struct
from fractions import Fraction

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from support.tables.engine_tables import ENGINES
from tacit.errors import UsageError
from tacit.expressions.dialect import (
    GIVES,
    bins_sql,
    is_date,
    is_unicode,
    read_cell,
    reading_sql,
    spelled,
)
from tacit.expressions.expression import Expression, col, when
from tacit.expressions.operations import with_readings
from tacit.expressions.schema import Column, Schema
from tacit.tables.engines.duckdb.engine import DUCKDB
from tacit.tables.engines.postgres import POSTGRES

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect() as made:
        yield made


@given(TEXTS)
def test_a_text_is_itself_as_a_literal_and_as_a_name(connection, text):
    written = f"select {DUCKDB.literal(text)} as {DUCKDB.identifier(text)}"
    assert connection.execute(written).fetchall() == [(text,)]


def test_a_name_that_an_engine_cuts_off_is_refused():
    for name in ("é" * 31, "x" * 63):
        assert POSTGRES.identifier(name) == f'"{name}"'
    for name in ("é" * 32, "x" * 64):
        assert DUCKDB.identifier(name) == f'"{name}"'
        with pytest.raises(UsageError, match="63 bytes that PostgreSQL allows for a name"):
            POSTGRES.identifier(name)


@pytest.mark.parametrize("value", [True, False, None, 0, -(2**63), 2**63 - 1, 0.1, -1e300, 5e-324])
def test_a_value_is_itself_as_a_literal(connection, value):
    ((found,),) = connection.execute(f"select {DUCKDB.literal(value)}").fetchall()
    assert found == value


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb"])
def test_half_of_a_character_is_no_text(text):
    assert not is_unicode(text)
    assert is_unicode("\U0001f600")
    with pytest.raises(UsageError):
        DUCKDB.literal(text)


# What a cell of text says: the same on every engine and in Python, whatever stands in it.


PLAIN = [
    *("1980", "1980-05"),
    *("", " ", "0", "-0", "+7", "12", "012", "12.", ".5", ".", "-", "+", "1.5", "-1.2e-3", "1E+5"),
    *("1e249", "1e250", "9" * 30, "9" * 31, "1." + "0" * 30, "1." + "0" * 31, "9" * 30 + "e249"),
    *("." + "0" * 29 + "1e-249", "1e-250", "0e-249", "1e", "e1", "1e1.5", "1_000", "1,000", "0x10"),
    *("nan", "NaN", "inf", "-Infinity", "1d", "1f", "1e5L", "١٢", "1²", "12\n", "\t12", "\u00a012"),
    *("12 ", " " * 8 + "12" + " " * 8, " " * 9 + "12", "12" + " " * 200, "1 2", "--1", "+-1"),
    *("999999999999999999", "1000000000000000000", "12.0", "12.000", "12.01", "12.", "-5.0"),
    *("0.1", "1e23", "8.5e22", "9007199254740993", "2.2250738585072011e-20", "123456789012345678"),
    *("2024-02-29", "2023-02-29", "1900-02-29", "2000-02-29", "0000-01-01", "0001-01-01"),
    *("9999-12-31", "10000-01-01", "2024-13-01", "2024-00-10", "2024-01-00", "2024-04-31"),
    *("2024-1-1", "20240101", "2024/01/01", "01.02.2024", "03/13/2020", "2024-01-01T", "2024-1"),
    *("2024-01-01 18:30", "2024-01-01T18:30:05", "2024-01-01 18:30:05.25Z", "2024-01-01 24:00"),
    *("2024-01-01 18:60", "2024-01-01 18:30:60", "2024-01-01 18", "2024-01-01T18:30+01:00"),
    *("2024-01-01 00:30+01:00", "2024-01-01T00:30:05.25+0100", "2024-01-01 18:30:05+00"),
    *("2024-01-01 23:30-05", "2024-01-01 23:30:00 -0530", "2024-01-01 00:00:00+00:53:28"),
    *("2024-01-01 18:30 UTC", "2024-01-01 18:30:00 UTC", "2024-01-01 18:30+1", "2024-01-01+01:00"),
    *("2024-01-01 18:30:05.250 Z", "2024-01-01 18:30  Z", "2024-01-01 18:30 Z+01"),
    *("0001-01-01 00:00+00:01", "9999-12-31 23:59:59-0001", "2024-01-01 18:30+24:00"),
    *("2024-01-01 18:30+01:0", "2024-01-01 18:30+01:00Z", "2024-01-01 18:30++01", "1.0", "0.00"),
    *("1969-12-31 23:59:59", "0001-01-01 00:00:01", " 2024-01-01 ", "2024-01-01  18:30", "now"),
    *("true", "TRUE", "True", "t", "T", "yes", "Y", "1", "false", "FALSE", "f", "no", "N", "0"),
    *("tru", "truee", "on", "off", "ja", "null", "NA", "a'b", 'a"b', "\\", "é", "日本", "İ", "ſ"),
    *("x" * 5000, "1" * 5000, "today", "infinity", "epoch", "${user.home}"),
]


def hostile_cells(size: int = 400) -> list[str | None]:
    """Cells, and cells that differ from them in one character."""
    draw, found = random.Random(3), [None, *PLAIN]
    for _ in range(size):
        text = draw.choice([t for t in PLAIN if 0 < len(t) < 40])
        place = draw.randrange(len(text))
        put = draw.choice(["", *"0123456789+-.eE :TZ ntfy"])
        found.append(text[:place] + put + text[place + draw.randrange(2) :])
    return found


def same(x: object, y: object) -> bool:
    """Whether two values are of one type and equal, doubles bit by bit."""
    if isinstance(x, float) and isinstance(y, float):
        return struct.pack("d", x) == struct.pack("d", y)
    return type(x) is type(y) and x == y


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_reads_a_cell_as_python_does(engine, request):
    cells = hostile_cells()
    rows = [{"place": place, "cell": cell} for place, cell in enumerate(cells)]
    readings = [Expression(name, (col("cell"),)) for name in GIVES]
    with ENGINES[engine](request)(rows, {"place": "bigint", "cell": "varchar"}) as source:
        columns = [r.sql(source.schema, source.engine.dialect) for r in readings]
        sql = f"select place, {', '.join(columns)} from {source.relation} as tacit_rows"
        found = source.engine.rows(sql)
    assert len(found) == len(cells)
    for place, *values in found:
        for name, value in zip(GIVES, values, strict=True):
            expected = read_cell(name, cells[place])
            assert same(value, expected), (name, cells[place], value, expected)


ANY_TEXT = st.one_of(st.text(), st.text("0123456789+-.eE :TZ", max_size=30), st.floats().map(repr))


@pytest.mark.full
@examples(0.2)
@given(st.lists(ANY_TEXT, min_size=20, max_size=60))
def test_any_text_is_read_alike_and_raises_nowhere(connection, texts):
    columns = ", ".join(reading_sql(name, "cell", DUCKDB) for name in GIVES)
    sql = f"select {columns} from (select unnest(cast(? as varchar[])) as cell)"
    found = connection.execute(sql, [texts]).fetchall()
    for text, values in zip(texts, found, strict=True):
        for name, value in zip(GIVES, values, strict=True):
            assert same(value, read_cell(name, text)), (name, text)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_in_its_shortest_form_is_read_as_itself(value):
    within = value == 0 or 1e-249 <= abs(value) < 1e250
    assert read_cell("read_number", repr(value)) == (value if within else None)


def _fixed(seconds):
    return datetime.timezone(datetime.timedelta(seconds=seconds))


def _stays(at, offset):
    try:
        at.replace(tzinfo=None) - offset
    except OverflowError:
        return False
    return True


@given(st.integers(0, 3_652_058), st.integers(0, 86_399))
def test_the_grammar_of_dates_is_the_calendar(day, second):
    date = datetime.date.fromordinal(day + 1)
    assert is_date(date.isoformat())
    assert read_cell("read_date", date.isoformat()) == date
    at = datetime.datetime(date.year, date.month, date.day) + datetime.timedelta(seconds=second)
    whole = (at - datetime.datetime(1970, 1, 1)) // datetime.timedelta(seconds=1)
    assert read_cell("read_seconds", at.isoformat(" ")) == whole


@given(
    st.datetimes(timezones=st.timezones() | st.builds(_fixed, st.integers(-86_399, 86_399))),
    st.sampled_from(["isoformat", "%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%d %H:%M:%S.%f%z", "%F %T %z"]),
)
def test_a_time_with_an_offset_is_read_as_the_time_in_utc(at, form):
    text = at.isoformat(" ") if form == "isoformat" else at.strftime(form)
    if not text[:4].isdigit() or ("." in text[20:] and text.count(".") > 1) or at.year < 1000:
        return  # strftime writes a year before 1000 without its zeros
    offset = at.utcoffset()
    if form != "isoformat" and offset.seconds % 60:
        return  # digits of seconds without colons are nobody's writing
    if offset.microseconds:
        return
    utc = at.replace(tzinfo=None, microsecond=0) - offset if _stays(at, offset) else None
    since = utc and (utc - datetime.datetime(1970, 1, 1)) // datetime.timedelta(seconds=1)
    assert read_cell("read_seconds", text) == since
    assert read_cell("read_date", text) == (utc and utc.date())


def test_no_day_that_is_not_in_the_calendar_is_a_date():
    for year in (0, 1, 4, 100, 400, 1900, 2000, 2023, 2024, 9999):
        for month in range(14):
            for day in range(33):
                text = f"{year:04}-{month:02}-{day:02}"
                try:
                    datetime.date.fromisoformat(text)
                except ValueError:
                    assert not is_date(text)
                else:
                    assert is_date(text)


def test_a_partial_date_has_the_parts_that_it_says():
    """The year of "1980" and "1980-05", as FHIR writes dates, was missing."""
    cells = {"1980": (1980, None), "1980-05": (1980, 5), " 1980-05 ": (1980, 5)}
    cells |= {"1980-05-31": (1980, 5), "1980-05-31T10:00": (1980, 5), "0980": (980, None)}
    cells |= dict.fromkeys(("0000", "80", "19800", "1980-13", "1980-5", "1980.0", ""), (None, None))
    for cell, (year, month) in cells.items():
        row = {"a": cell}
        asked = (
            with_readings(col("a").dt.year(), SCHEMA),
            with_readings(col("a").dt.month(), SCHEMA),
        )
        assert tuple(part.evaluate(row) for part in asked) == (year, month), cell
        quarter = with_readings(col("a").dt.quarter(), SCHEMA).evaluate(row)
        assert quarter == (None if month is None else 2)
        day = read_cell("read_date", cell)
        assert day is None or len(cell.strip()) >= 10  # no day is made up


def test_the_largest_and_smallest_numbers_are_ordinary_doubles():
    """The premise of the proof that no cast raises."""
    largest = read_cell("read_number", "9" * 30 + "." + "9" * 30 + "e249")
    smallest = read_cell("read_number", "." + "0" * 29 + "1e-249")
    assert math.isfinite(largest)
    assert largest < 1e280
    assert smallest > 1e-280


KINDS = {"a": "undeclared", "b": "undeclared", "t": "text", "d": "date", "n": "integer"}
SCHEMA = Schema([Column(name, kind, kind) for name, kind in KINDS.items()])


@pytest.mark.parametrize(
    ("expression", "reads"),
    [
        (col("a") > 3, "(read_numeric(a) > 3)"),
        (col("n") == col("a"), "(n == read_numeric(a))"),
        (col("a") == col("b"), "(read_text(a) == read_text(b))"),
        (col("a") == "x", "(read_text(a) == 'x')"),
        (col("a") == col("t"), "(read_text(a) == t)"),
        (col("a") >= "2024-01-31", "(a.str.to_date() >= '2024-01-31')"),
        (col("d") != col("a"), "(d != a.str.to_date())"),
        (col("a").is_in([1, 2.5]), "read_numeric(a).is_in([1, 2.5])"),
        (col("a").is_in(["x", "2024-01-31"]), "read_text(a).is_in(['x', '2024-01-31'])"),
        (col("a") & (col("b") == True), "(a.cast(bool) & (b.cast(bool) == True))"),  # noqa: E712
        (~col("a"), "~a.cast(bool)"),
        (col("a").dt.year(), "read_year(a).dt.year()"),
        (col("a").dt.quarter(), "read_month(a).dt.quarter()"),
        (col("a").dt.day(), "a.str.to_date().dt.day()"),
        (col("a").str.len_chars(), "read_text(a).str.len_chars()"),
        (-col("a") * 2, "((0 - read_numeric(a)) * 2)"),
        (
            when(col("a")).then(col("b")).otherwise(1),
            "when(a.cast(bool)).then(read_numeric(b)).otherwise(1)",
        ),
        (
            when(col("n") > 0).then(col("a")).otherwise(col("b")),
            "when((n > 0)).then(a).otherwise(b)",
        ),
        (col("a").fill_null(0) + 1, "(read_numeric(a).fill_null(0) + 1)"),
        (col("a").fill_null(None) + 1, "(read_numeric(a.fill_null(None)) + 1)"),
        (col("a").is_null(), "(a is missing)"),
        (col("t") == "x", "(t == 'x')"),
    ],
)
def test_the_question_says_how_a_cell_is_read(expression, reads):
    assert str(with_readings(expression, SCHEMA)) == reads
    expression.sql(SCHEMA, DUCKDB)


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        (col("t") > 3, "mixes values of kind"),
        (col("t").fill_null(0), "mixes values of kind"),
        (col("t") + 1, "needs a value of kind"),
        (col("a") < col("b"), r"cast\(float\)"),
        (col("a") < "b", "needs a value of kind"),
        (col("a") == 2**60, "declare it with types="),
        (col("a").is_in([1, "x"]), "mixes values of kind"),
        (col("d").cast(float), "needs a value of kind text"),
    ],
)
def test_what_the_question_leaves_open_is_refused(expression, says):
    with pytest.raises(UsageError, match=says):
        expression.kind(SCHEMA)


# The text of a double: alike if and only if the doubles are equal, and exact.


doubles = st.one_of(
    st.floats(allow_nan=False),
    st.sampled_from([0.0, -0.0, 5e-324, 2.0**-1022, 2.0**-1020, 2.0**60, float("inf"), 1e10]),
)


def texts(values):
    sql = f"select {spelled('x', DUCKDB)} from (select unnest($v::double[]) as x)"
    return [row[0] for row in duckdb.connect().execute(sql, {"v": values}).fetchall()]


def exact(text):
    """The number that a text stands for: ``2^(60 b) (h + f / 2^52)``."""
    sign = -1 if text.startswith("minus ") else 1
    block, whole, part = map(int, text.removeprefix("minus ").rsplit(".", 2))
    return sign * Fraction(2) ** (60 * block) * (whole + Fraction(part, 2**52))


@examples(0.3)
@given(st.lists(doubles, min_size=1, max_size=20))
def test_a_text_is_its_double(values):
    for value, text in zip(values, texts(values), strict=True):
        if abs(value) == float("inf"):
            assert text.removeprefix("minus ") == "infinite"
        else:
            assert exact(text) == Fraction(value)


def test_a_sign_is_not_taken_for_that_of_the_exponent():
    """-2^60 and 2^-60 had one text, and so one draw of their groups."""
    first, second = texts([-(2.0**60), 2.0**-60])
    assert first != second


def test_both_zeros_have_one_text():
    first, second = texts([0.0, -0.0])
    assert first == second


# The bin of an offset in SQL against a count of the edges below it.


@pytest.mark.parametrize(
    "edges", [(0, 5, 10, 15), (0, 1), (0, 4, 8), (0, 1, 5, 6, 20), (0, 9, 10, 11, 12, 99)], ids=str
)
def test_every_offset_falls_into_its_bin(edges):
    sql = bins_sql("z", edges, DUCKDB)
    found = duckdb.sql(
        f"select z, {sql} from range({edges[0]}, {edges[-1] + 1}) as t(z) order by z"
    ).fetchall()
    # the last edge is one behind the last bin where all are equally wide
    last = len(edges) - 2 + (len({b - a for a, b in itertools.pairwise(edges)}) == 1)
    wanted = [(z, min(bisect.bisect_right(edges, z) - 1, last)) for z, _ in found]
    assert found == wanted
    assert len(found) == edges[-1] - edges[0] + 1
