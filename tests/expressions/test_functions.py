"""Local times are those of the zone's own rules, around every change, on every engine."""

from __future__ import annotations

import datetime
import inspect
import itertools
import json
import math
import operator
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit as tc
from house.project import ROOT
from support.examples import examples
from support.tables.engine_tables import ENGINES
from tacit.errors import UsageError
from tacit.expressions.expression import (
    Expression,
    TextMethods,
    TimeMethods,
    called,
    col,
    from_json,
    literal,
    when,
)
from tacit.expressions.functions import (
    CASTS,
    FAR,
    FUNCTIONS,
    METHODS,
    farthest,
    fits,
    from_plain,
    offsets_of,
    to_plain,
)
from tacit.expressions.value_range import public_values, range_of
from tacit.tables.question_formats import condition

NAMES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "UTC"]
FIRST = offsets_of("UTC")[0][0]
EPOCH = datetime.datetime(1970, 1, 1)


def moments(zone: str) -> list[datetime.datetime]:
    """In UTC, a second before and after each change of the offset, and at odd times."""
    near = [s + shift for s, _ in offsets_of(zone)[1:] for shift in (-1, 0, 1)] + list(
        range(0, 4 * 10**9, 10**8)
    )
    found = [EPOCH + datetime.timedelta(seconds=s) for s in near]
    return [t for t in found if 1900 <= t.year < 2050]


@pytest.mark.parametrize("zone", NAMES)
def test_a_local_time_is_that_of_the_zone(zone):
    local, day = col("t").dt.convert_time_zone(zone), col("t").dt.convert_time_zone(zone).dt.date()
    for moment in moments(zone):
        there = moment.replace(tzinfo=datetime.UTC).astimezone(ZoneInfo(zone))
        row = {"t": moment}
        expected = int((there.replace(tzinfo=None) - EPOCH).total_seconds())
        assert local.evaluate(row) == expected, moment
        assert local.dt.hour().evaluate(row) == there.hour
        assert day.evaluate(row) == there.date()


@pytest.mark.slow
def test_spark_computes_many_offsets(request):
    moment = {"t": datetime.datetime(2024, 7, 7, 23, 30)}
    local = col("t").dt.convert_time_zone("Europe/Berlin")
    with ENGINES["spark"](request)([moment], {"t": "timestamp"}) as source:
        sql = local.sql(source.schema, source.engine.dialect)
        (found,) = source.engine.rows(f"select {sql} from {source.relation} as tacit_rows")
    assert found == (local.evaluate(moment),)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_computes_what_python_does(engine, request):
    times = [*moments("Europe/Berlin")[::7], datetime.datetime(2049, 12, 31, 23, 59, 59)]
    times += [datetime.datetime(2050, 1, 1), datetime.datetime(1, 1, 1), datetime.datetime.max]
    local, near = (
        col("t").dt.convert_time_zone("Europe/Berlin"),
        col("t").dt.convert_time_zone("Asia/Kolkata"),
    )
    asked = [near.dt.minute(), near.dt.date().dt.weekday()]
    if engine == "spark":
        times = times[::9]  # and few offsets: it plans many of them for seconds
    else:
        asked.append(local)
    rows = [{"t": t} for t in times]
    with ENGINES[engine](request)(rows, {"t": "timestamp"}) as source:
        sql = ", ".join(e.sql(source.schema, source.engine.dialect) for e in asked)
        found = source.engine.rows(f"select {sql} from {source.relation} as tacit_rows")
    for row, values in zip(rows, found, strict=True):
        assert list(values) == [e.evaluate(row) for e in asked], row


def test_the_offsets_are_part_of_the_question(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("at\n2024-07-07 23:30\n2024-07-07 21:30\n", encoding="utf-8")
    with tc.Session(path, unit=tc.one_row_each, budget=tc.epsilon(100)) as session:
        asked = session.with_columns(
            hour=tc.col("at").dt.convert_time_zone("Europe/Berlin").dt.hour()
        )
        answer = asked.group_by("hour", keys=[1, 23]).agg(n=tc.count()).release(epsilon=90)
        assert answer.to_dict()["n"] == [1, 1]
        report = answer.certificate.verify(session.ledger)
        assert report, report.failures
    written = col("at").dt.convert_time_zone("Europe/Berlin").to_json()
    assert from_json(written).to_json() == written
    assert condition("hour(in_zone(at, 'Europe/Berlin')) = 1").columns() == {"at"}


@pytest.mark.parametrize("zone", ["", "Nowhere/At_All", "../../etc/passwd", "/etc/passwd", "a\0b"])
def test_a_zone_that_is_none_is_refused(zone):
    with pytest.raises(UsageError, match="no time zone is called"):
        col("at").dt.convert_time_zone(zone)


@pytest.mark.parametrize(
    "parameters",
    [
        ["Europe/Berlin", []],
        ["Europe/Berlin", [[0, 0]]],
        ["Europe/Berlin", [[FIRST, 0], [3, 60], [2, 0]]],
        ["Europe/Berlin", [[FIRST, 0], [3, 86400]]],
        ["Europe/Berlin", [[FIRST, 0], [3, True]]],
        ["Europe/Berlin", [[FIRST, 0, 0]]],
        [3, [[FIRST, 0]]],
        ["Europe/Berlin"],
    ],
)
def test_offsets_that_cannot_be_are_refused(parameters):
    assert from_json(["in_zone", [["col", [], ["at"]]], ["UTC", [[FIRST, 0]]]]) is not None
    with pytest.raises(UsageError):
        from_json(["in_zone", [["col", [], ["at"]]], parameters])


# Functions of a row as methods: what each refuses when it is written, and what they compute.


COLUMN = col("c")
DAY, AT = datetime.date(2024, 12, 31), datetime.datetime(2024, 12, 31, 18, 30, 5)
CALLS: list[tuple[Expression, Any, Any]] = [
    (COLUMN.str.to_lowercase(), "ÄB", "Äb"),
    (COLUMN.str.to_uppercase(), "äb", "äB"),
    (COLUMN.str.strip_chars(), " \ta ", "\ta"),
    (COLUMN.str.slice(1, 9), "abc", "bc"),
    (COLUMN.str.len_chars(), "\U0001f600é", 2),
    (COLUMN.str.ends_with("bc"), "abc", True),
    (COLUMN.str.contains("%"), "abc", False),
    (COLUMN.str.like("a_c"), "abc", True),
    (COLUMN.dt.year(), DAY, 2024),
    (COLUMN.dt.month(), DAY, 12),
    (COLUMN.dt.day(), DAY, 31),
    (COLUMN.dt.weekday(), DAY, 2),
    (COLUMN.dt.quarter(), DAY, 4),
    (COLUMN.dt.ordinal_day(), DAY, 366),
    (COLUMN.dt.hour(), AT, 18),
    (COLUMN.dt.minute(), AT, 30),
    (COLUMN.dt.second(), AT, 5),
    (COLUMN.dt.date(), AT, DAY),
    (COLUMN.dt.days_until("2025-01-01"), DAY, 1),
    (COLUMN.dt.seconds_until(col("c")), AT, 0),
    (COLUMN.floor(), -0.5, -1.0),
    (COLUMN.ceil(), -0.5, 0.0),
    (COLUMN.round(), -0.5, -1.0),
    (COLUMN.cast(int), -3.9, -3),
    (COLUMN % 7, -1, 6),
    (COLUMN.cast(str), True, "true"),
    (COLUMN.cast(float), " -0.5e1 ", -5.0),
    (COLUMN.str.to_date(), "2024-12-31x", None),
    (COLUMN.cast(bool), "YES", True),
    (COLUMN.str.to_datetime().dt.minute(), "2024-12-31 18:30", 30),
]


@pytest.mark.parametrize(("asked", "value", "answer"), CALLS, ids=lambda x: str(x)[:40])
def test_a_method_computes_what_it_says_and_of_what_is_missing_nothing(
    asked: Expression, value: Any, answer: Any
) -> None:
    assert asked.evaluate({"c": value}) == answer
    condition = asked.operation in ("ends_with", "contains", "like")
    assert asked.evaluate({"c": None}) is (False if condition else None)
    assert from_json(asked.to_json()).to_json() == asked.to_json()


@pytest.mark.parametrize(("asked", "value", "answer"), CALLS, ids=lambda x: str(x)[:40])
def test_an_expression_prints_as_the_python_that_makes_it(
    asked: Expression, value: Any, answer: Any
) -> None:
    text = re.sub(r"(\d{4}-\d\d-\d\d)", r"'\1'", str(asked))  # a date is shown without quotes
    made = eval(text, {"c": COLUMN})
    assert made.to_json() == asked.to_json()


def test_every_function_of_the_table_can_be_written() -> None:
    written = {expression.operation for expression, _, _ in CALLS}
    assert set(FUNCTIONS) - written <= {"in_zone"}  # held in tests of zones


@pytest.mark.parametrize(
    "write",
    [
        lambda: COLUMN.str.slice(-1, 3),
        lambda: COLUMN.str.slice(0, -1),
        lambda: COLUMN.str.slice("1", 1),
        lambda: COLUMN % 0,
        lambda: COLUMN % 2.5,
        lambda: COLUMN.str.contains("x" * 101),
        lambda: COLUMN.str.ends_with(5),
        lambda: COLUMN.str.like(None),
        lambda: COLUMN.dt.convert_time_zone("Mars/Olympus"),
        lambda: COLUMN.dt.days_until("tomorrow"),
        lambda: COLUMN.dt.days_until(datetime.datetime(2024, 1, 1)),
        lambda: COLUMN.dt.days_until(5),
        lambda: COLUMN.dt.seconds_until("2024-01-01"),
    ],
)
def test_what_cannot_be_is_refused_when_it_is_written(write: Any) -> None:
    with pytest.raises(UsageError):
        write()


# Patterns of text: the language is that of the definition, and time is linear.


def defined(text: str, pattern: str) -> bool:
    """By the definition: ``%`` is no character, or one more of them; ``_`` is one."""
    if not pattern:
        return not text
    if pattern[0] == "%":
        return defined(text, pattern[1:]) or (bool(text) and defined(text[1:], pattern))
    return bool(text) and pattern[0] in ("_", text[0]) and defined(text[1:], pattern[1:])


def words(letters: str, longest: int) -> list[str]:
    sizes = range(longest + 1)
    return ["".join(word) for n in sizes for word in itertools.product(letters, repeat=n)]


def test_a_text_fits_a_pattern_by_the_definition():
    texts = words("ab", 4)
    for pattern in words("ab%_", 4):
        assert [t for t in texts if fits(t, pattern)] == [t for t in texts if defined(t, pattern)]


HOSTILE = ["a", "a\nb", "a.b", "[a]", "a\\b", "(a", "a{2}", "^a$", "é\U0001f600", "\t|", "%", "_"]
PATTERNS = ["a_b", "%.b", "[%]", "%\\%", "(%", "a{2}", "^a%", "é_", "_\U0001f600", "%|", "%$", "_"]


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_matches_what_python_matches(engine, request):
    long = "a" * (1 << 20)
    rows = [{"t": t} for t in [*HOSTILE, None, "ab" * 3, long, long + "b", long + "a"]]
    # a matcher that goes back tries 2^100 ways and more before it says no
    slow = "%a_" * 15 + "%b"
    asked = [col("t").str.like(p) for p in [*PATTERNS, "%b", "a%", "%ab_%", slow]]
    with ENGINES[engine](request)(rows, {"t": "varchar"}) as source:
        sql = ", ".join(e.sql(source.schema, source.engine.dialect) for e in asked)
        found = source.engine.rows(f"select {sql} from {source.relation} as tacit_rows")
    short = [i for i, row in enumerate(rows) if row["t"] is None or len(row["t"]) < 99]
    for i in short:
        assert list(found[i]) == [e.evaluate(rows[i]) for e in asked], rows[i]
    # of a text only the first 2^20 characters are looked at, so a b behind them is none
    assert [list(found[i])[-4:] for i in range(len(rows) - 3, len(rows))] == [
        [False, True, False, False]
    ] * 3


@pytest.mark.parametrize("pattern", ["a" * 101, "a\0", "\ud800", 3, None])
def test_a_pattern_that_cannot_be_is_refused(pattern):
    for ask in (col("t").str.like, col("t").str.contains, col("t").str.ends_with):
        with pytest.raises(UsageError, match="cannot take"):
            ask(pattern)
    with pytest.raises(UsageError):
        from_json(["like", [["col", [], ["t"]]], [pattern]])


@pytest.mark.parametrize("place", [0, -1, 1.5, True, "1", (1 << 20) + 1])
def test_a_place_that_cannot_be_is_refused(place):
    with pytest.raises(UsageError, match="substring cannot take"):
        called("substring", col("t"), place, 1)
    with pytest.raises(UsageError, match="substring cannot take"):
        col("t").str.slice(0, place)


@pytest.mark.parametrize("offset", [-1, 1.5, True, "1", 1 << 20])
def test_an_offset_that_cannot_be_is_refused(offset):
    with pytest.raises(UsageError, match="slice counts from the beginning"):
        col("t").str.slice(offset, 1)


# Parameters of expressions come back from JSON as they were, to the bit.


VALUES = [
    None,
    True,
    -(1 << 125),
    "a 'text'",
    0.1,
    float("inf"),
    5e-324,
    -0.0,
    datetime.date(1, 1, 1),
    (1, ("a", datetime.date(2026, 1, 31)), 0.5),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_parameter_comes_back(value):
    again = from_plain(json.loads(json.dumps(to_plain(value))))
    assert (again, type(again), repr(again)) == (value, type(value), repr(value))


@pytest.mark.parametrize(
    ("value", "most"),
    [
        (literal(-3), 3),
        (literal(None), 0),
        (literal(float("-inf")), float("inf")),
        (literal("9"), float("inf")),
        (when(col("old")).then(4).otherwise(-7), 7),
        (when(col("old")).then(4).otherwise(col("age")), float("inf")),
        (when(col("old")).then(4).otherwise(None).fill_null(9), 9),
        (when(col("old")).then(4).otherwise(-7) + when(col("old")).then(1).otherwise(2), 9),
        (literal(1) - literal(1), 2),
        (literal(FAR) + literal(FAR), 2 * FAR),
        (literal(2) * literal(3), float("inf")),
    ],
    ids=str,
)
def test_no_value_is_farther_from_zero(value, most):
    assert farthest(value) == most
    for row in ({"old": True, "age": 1}, {"old": False, "age": 1}):
        found = value.evaluate(row)
        assert found is None or isinstance(found, str) or abs(found) <= most


# The table of functions, the methods and the page say the same.


def test_every_method_is_on_the_page_and_every_function_has_one():
    page = (ROOT / "docs" / "expressions.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"`\.([\w.]+)\(", page))
    methods = {operator.attrgetter(name)(col("x")).__qualname__ for name in listed}
    public = {
        function.__qualname__
        for kind in (Expression, TextMethods, TimeMethods)
        for name, function in vars(kind).items()
        if inspect.isfunction(function) and not name.startswith("_")
    }
    assert methods == public - {f"Expression.{name}" for name in ("kind", "sql", "evaluate")}
    made = {*METHODS, *CASTS, "modulo"}
    assert set(FUNCTIONS) <= made


# The range of an expression holds its value on every row within the bounds, and is attained.


ENDS = st.one_of(
    st.fractions(-1000, 1000, max_denominator=1000),
    st.integers(-(1 << 70), 1 << 70).map(Fraction),
    st.floats(-1e200, 1e200).map(Fraction),
    st.sampled_from([0, 1, -1, "1e-180", "0.1", "-0.1", "1e150", 1 << 53]).map(Fraction),
)
VALUE_RANGE_NAMES = ("a", "b", "c")


def column(ends: list[Fraction]) -> tuple[Fraction, Fraction]:
    return min(ends), max(ends)


BOUNDS = st.fixed_dictionaries(
    {name: st.lists(ENDS, min_size=2, max_size=2).map(column) for name in VALUE_RANGE_NAMES}
)
CONSTANTS = st.one_of(st.integers(-9, 9), st.floats(-1e6, 1e6), st.just(None), st.just(1e-170))


def grown(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    """Every operation whose value is a number, of smaller expressions."""
    one, two = st.tuples(inner), st.tuples(inner, inner)
    return st.one_of(
        two.map(lambda e: e[0] + e[1]),
        two.map(lambda e: e[0] - e[1]),
        two.map(lambda e: e[0] * e[1]),
        two.map(lambda e: e[0] / e[1]),
        two.map(lambda e: e[0].fill_null(e[1])),
        st.tuples(inner, inner, inner).map(lambda e: when(e[0] < 1).then(e[1]).otherwise(e[2])),
        one.map(lambda e: abs(e[0])),
        one.map(lambda e: -e[0]),
        st.tuples(inner, st.integers(-9, 0), st.integers(0, 9)).map(
            lambda e: e[0].clip(e[1], e[2])
        ),
        one.map(lambda e: when(e[0] >= 0).then(e[0]).otherwise(None)),
    )


EXPRESSIONS = st.recursive(
    st.one_of(st.sampled_from(VALUE_RANGE_NAMES).map(col), CONSTANTS.map(literal)),
    grown,
    max_leaves=7,
)


def cells(low: Fraction, high: Fraction, share: Fraction) -> list[object]:
    """Values of a column within its bounds, of each type, and none."""
    exact = low + share * (high - low)
    found: list[object] = [None]
    found += [int(v) for v in {exact.__floor__(), exact.__ceil__()} if low <= v <= high]
    found += [float(v) for v in (low, high, exact) if low <= Fraction(float(v)) <= high]
    found += [Decimal(v.numerator) for v in (low, high) if v.denominator == 1]
    tenth = Decimal(int(exact * 10)) / 10
    return found + ([tenth] if low <= Fraction(tenth) <= high else [])


@pytest.mark.full
@examples(8)
@given(EXPRESSIONS, BOUNDS, st.data())
def test_a_value_is_missing_or_within_the_range(expression, bounds, data):
    found = range_of(expression, bounds)
    if found is None:
        return
    low, high = found
    for _ in range(4):
        shares = st.sampled_from([Fraction(0), Fraction(1), Fraction(1, 3)])
        row = {
            n: data.draw(st.sampled_from(cells(*bounds[n], data.draw(shares))))
            for n in VALUE_RANGE_NAMES
        }
        value = expression.evaluate(row)
        assert value is None or low <= Fraction(value) <= high, (str(expression), row)


SHARP = [
    col("a") + col("b"),
    col("a") - col("b"),
    col("a") * col("b"),
    col("a") / col("b"),
    abs(col("a")),
    -col("b"),
    col("a").clip(-2, 2),
    col("a").fill_null(0.5),
]


@pytest.mark.parametrize("expression", SHARP, ids=str)
@pytest.mark.parametrize("ends", [(-3, 7), (0.1, 0.7), (-9.5, -0.25)])
def test_the_range_of_one_operation_is_attained(expression, ends):
    a, b = ends, (0.3, 1e10)
    bounds = {"a": column([*map(Fraction, a)]), "b": column([*map(Fraction, b)])}
    corners = [*itertools.product([*a, None, 0.0 if a[0] < 0 < a[1] else a[0]], b)]
    found = [expression.evaluate(dict(zip("ab", corner, strict=True))) for corner in corners]
    values = [Fraction(v) for v in found if v is not None]
    assert range_of(expression, bounds) == (min(values), max(values))


@pytest.mark.parametrize(
    "expression",
    [
        col("x"),
        col("x") + col("none"),
        col("x") / (col("a") - 1),
        col("a") / col("a"),
        literal(None),
        literal("text"),
        literal(float("inf")),
        col("none").str.len_chars(),
        col("none").fill_null(0),
        col("far") * 2,
    ],
    ids=str,
)
def test_nothing_bounds_it(expression):
    bounds = {"a": (Fraction(0), Fraction(2)), "far": (Fraction(0), Fraction(10) ** 400)}
    assert range_of(expression, bounds) is None


def test_what_bounds_by_itself():
    nobody: dict[str, tuple[Fraction, Fraction]] = {}
    assert range_of(col("x").clip(0, 10) * 2, nobody) == (0, 20)
    assert range_of(col("day").dt.month() + 0.5, nobody) == (Fraction(3, 2), Fraction(25, 2))
    assert range_of(col("day").dt.year(), nobody) == (1, 9999)
    assert range_of(when(col("x") > 5).then(1).otherwise(None), nobody) == (1, 1)
    assert range_of(col("x") > 5, nobody) == (0, 1)
    cost = {"cost": (Fraction(0), Fraction(1000))}
    assert range_of(col("cost").cast(float) * 2, cost) == (0, 2000)


AGES = [{"age": age, "site": site} for age in (None, 0, 17.5, 18, 64, 200) for site in (None, "a")]
CHOICES = [
    col("age").cut([0, 18, 65]),
    when(col("age") < 18).then("young").otherwise(when(col("age") < 65).then("a").otherwise(None)),
    col("age") > 3,
    col("site").fill_null("none"),
    (col("age").clip(0, 99) / 10).cast(int),
    ((col("age") * 10).cast(int) % 7),
    when(col("age") > 3).then(1).otherwise(2),
    col("site").str.contains("a").fill_null(True),
]


@pytest.mark.parametrize("expression", CHOICES, ids=str)
def test_public_values_are_all_that_can_be(expression):
    found = public_values(expression, {}, {"site": ["a", "b"]})
    values = {expression.evaluate(row) for row in AGES} - {None}
    assert found is not None
    assert values <= set(found)
    assert len(found) == len(set(found))


def test_values_that_are_not_public_or_too_many():
    keys = {"site": ["a", "b"]}
    for expression in (
        *(
            col("age"),
            col("x").fill_null(0),
            literal(0.5),
            literal(None),
            col("site").str.to_lowercase(),
        ),
        *(col("day").dt.year(), col("day").dt.days_until("2024-01-01"), col("age").clip(0, 1)),
        *((col("n") % 367), when(col("age") > 3).then(col("x")).otherwise("a")),
    ):
        assert not public_values(expression, {}, keys), str(expression)
    assert public_values((col("n") % 366), {}, keys) == list(range(366))


# Whole numbers near doubles, against exact arithmetic.


NEAR = st.one_of(
    st.floats(allow_nan=False),
    st.integers(-(1 << 54), 1 << 54).map(lambda n: n / 2),
    st.sampled_from([0.49999999999999994, 2.0**52 - 0.5, 2.0**52, -(2.0**53), math.inf]),
)


@examples(10)
@given(NEAR)
def test_rounding_is_that_of_the_exact_number(x):
    row, exact = {"x": x}, None if math.isinf(x) else Fraction(x)
    if exact is None:
        assert col("x").floor().evaluate(row) == col("x").round().evaluate(row) == x
        assert col("x").cast(int).evaluate(row) is None
        return
    assert col("x").floor().evaluate(row) == math.floor(exact)
    assert col("x").ceil().evaluate(row) == math.ceil(exact)
    away = math.floor(abs(exact) + Fraction(1, 2)) * (1 if exact >= 0 else -1)
    assert col("x").round().evaluate(row) == away
    whole = col("x").cast(int).evaluate(row)
    assert whole == (math.trunc(exact) if abs(exact) < 1 << 53 else None)


def test_ranges_of_whole_numbers():
    bounds = {"x": (Fraction(-5, 2), Fraction(7, 2)), "n": (Fraction(-9), Fraction(9))}
    assert range_of(col("x").floor(), bounds) == (-3, 3)
    assert range_of(col("x").ceil(), bounds) == (-2, 4)
    assert range_of(col("x").round(), bounds) == (-3, 4)
    assert range_of(col("x").cast(int), bounds) == (-2, 3)
    assert range_of((col("n") % 7) * 2, {}) == (0, 12)
    assert range_of(col("y").floor(), bounds) is None
    assert range_of(col("code").str.slice(1, 3).str.len_chars(), {}) == (0, 3)


@pytest.mark.parametrize("by", [0, -7, 2.0, True, (1 << 53) + 1, "7"])
def test_a_divisor_that_cannot_be_is_refused(by):
    with pytest.raises(UsageError, match="modulo cannot take"):
        (col("n") % by)
