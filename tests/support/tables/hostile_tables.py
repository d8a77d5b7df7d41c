"""Hostile tables, what is asked of them on every engine, and how the answers are compared.

Where an engine answers at once it is asked about many small tables, drawn by Hypothesis; where each
query takes a while it is asked about one large table, :func:`many_rows`, in which every hostile
value meets many others.
"""

from __future__ import annotations

import datetime
import math
import operator
import random
from collections.abc import Sequence
from decimal import Decimal
from functools import reduce
from typing import Any

from support.tables import tables_reference as reference
from tacit.expressions.expression import col, when
from tacit.expressions.grid import Grid
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.query.integer_query import IntegerQuery
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
from tacit.tables.statistics.top_k import category_index

SALT = "5a17"
COLUMNS = {
    "person id": "bigint",
    'na"me': "varchar",
    "group": "varchar",
    "year": "smallint",
    "select": "double",
    "huge": "hugeint",
    "long": "bigint",
    "cents": "decimal(18,3)",
    "flag": "boolean",
    "day": "date",
}
UNITS = [
    OneRowEach(),
    PersonUnit("person id", rows=1),
    PersonUnit("person id", rows=3, most_groups=2),
]
WHERE = (col("select") < 1e200) | ~(col("group") == "other") & (col("long") != 3)
BY = {"group": col("group"), "y": col("year")}
KEYS = [("Ünï", 1), (None, None), ("", 0), ("x'y", -1), ("nobody", 9)]


def many_rows(size: int, seed: int = 1) -> list[dict[str, Any]]:
    """Rows in which each column takes hostile values; the same for the same seed."""
    draw = random.Random(seed)
    edges = [0.0, -0.0, 1e300, -1e300, 5e-324, 0.5, 2.5, 99.99999999, 100.0, math.inf, -math.inf]

    def double() -> float | None:
        return draw.choice([None, math.nan, *edges, *[draw.uniform(-10, 110) for _ in range(20)]])

    def day() -> datetime.date | None:
        ordinal = draw.choice([1, 577_736, 3_652_059, draw.randrange(1, 3_652_059)])
        return draw.choice([None, *[datetime.date.fromordinal(ordinal)] * 5])

    def whole(bits: int) -> int | None:
        top = 1 << bits
        return draw.choice([None, 0, 3, -top, top - 1, 1 << 62, draw.randrange(-top, top)])

    def cents() -> Decimal | None:
        big = Decimal(draw.randrange(-(10**14), 10**14)).scaleb(-3)
        return draw.choice([None, big, Decimal("0.001"), Decimal("-0.001"), Decimal("-2.500")])

    return [
        {
            "person id": draw.choice([None, 0, 0, 0, 0, *range(1, 60)]),
            'na"me': draw.choice([None, "", "a'b", 'c"d', "é€", "日本", "\\n${user.home}"]),
            "group": draw.choice([None, "", "Ünï", "x'y", "other"]),
            "year": draw.choice([None, *range(-3, 4)]),
            "select": double(),
            "huge": whole(125),
            "long": whole(63),
            "cents": cents(),
            "flag": draw.choice([None, True, False]),
            "day": day(),
        }
        for _ in range(size)
    ]


def requests() -> list[Any]:
    derived = when(col("flag")).then(col("select") * col("cents")).otherwise(col("year") / 3)
    grid, inner = Grid.for_bounds(0, 100), Grid.for_bounds(20, 50)
    return [
        Rows(),
        People(),
        Moments(col("select"), grid),
        Moments(col("select"), grid, squares=False),
        Moments(col("flag"), Grid.for_bounds(0, 2), squares=False),
        Moments(col("select"), Grid.for_bounds("-0.1", "0.3", bits=9)),
        Moments(col("huge"), Grid.for_bounds(-(1 << 120), 1 << 121, whole=True)),
        Moments(col("long"), Grid.for_bounds(-(1 << 62), (1 << 62) + 7, whole=True)),
        Moments(col("long"), Grid.for_bounds((1 << 62) - 5, (1 << 62) + 5, whole=True)),
        Moments(col("year"), Grid.for_bounds("-1.25", "2.5", whole=True)),
        Moments(col("cents"), Grid.for_bounds(-1000, "1e6")),
        Moments(col("cents"), Grid.for_bounds(-(10**13), 10**13, bits=12)),
        Moments(col("flag"), Grid.for_bounds(0, 1, whole=True)),
        Moments(derived, Grid.for_bounds(-5, 5)),
        Total(col("select"), Grid.for_bounds(-50, 100)),
        Total(col("long"), Grid.for_bounds(0, 1 << 62, whole=True)),
        Bins(col("select"), grid, tuple(grid.offset(e) for e in (0, "0.5", 10, 50, 100))),
        Bins(col("select"), inner, tuple(inner.offset(e) for e in (20, 30, 40, 50))),
        Bins(derived, inner, (0, inner.cells // 3, inner.cells)),
        Bins(col("year"), Grid.for_bounds(-2, 2, whole=True), (0, 1, 2, 4)),
        Cells(col("select"), Grid.for_bounds(0, 100, bits=16), shift=3),
        *[Distinct(col(name)) for name in ("group", "select", "huge", "cents", "flag", "day")],
        Distinct(col('na"me').str.to_lowercase()),
        Distinct(derived),
        Bins(
            category_index(col("group"), ["", "Ünï", None, "x'y"]),
            Grid.for_bounds(0, 5, bits=20, whole=True),
            tuple(range(6)),
        ),
        Products(
            (
                (col("select"), Grid.for_bounds(0, 100, bits=20)),
                (col("long"), Grid.for_bounds(-(1 << 62), 1 << 62, bits=20, whole=True)),
                (derived, Grid.for_bounds(-5, 5, bits=20)),
            ),
            ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2), (0, 0), (2, 2)),
        ),
        Products(
            (
                (col("year"), Grid.for_bounds(-2, 2, whole=True)),
                (col("flag"), Grid.for_bounds(0, 1, whole=True)),
            ),
            ((0,), (1,), (0, 1), (0, 0), (1, 1)),
        ),
    ]


def compare(
    rows: list[dict[str, Any]],
    source: Any,
    query: dict[str, Any],
    asked: Sequence[list[Any]] | None = None,
) -> None:
    """Ask for some requests after others, and hold every answer against the definition."""
    keys = query["keys"] if query["by"] else None
    engine = IntegerQuery(source, query["unit"], where=query["where"], by=query["by"], keys=keys)
    query = {**query, "salt": SALT}
    expected = {r: reference.answer(rows, query, r) for r in requests()}
    # one at a time takes another way through the engine than all at once; then all are asked again
    for some in asked or [*([r] for r in requests()[:13]), requests(), requests()]:
        exact = engine.run(some)
        for request in some:
            assert reference.plain(exact.of(request)) == expected[request], request


DEEP = reduce(operator.mul, [col("select"), *[col("year")] * 8, -col("cents")]) + 1
for _ in range(2):
    DEEP = abs(DEEP - col("long")) / col("select") * 1e-9

EXPRESSIONS = [
    col("select") > 0.5,
    col("select") != col("year"),
    col("long") >= (1 << 62),
    col("long") == col("year"),
    col("huge") <= col("long"),
    col("cents") < col("select"),
    col("year").is_in([1, 2, -3]),
    col("select").is_in([0, 2.5]),
    col("group").is_in(["", "x'y"]),
    ~(col("group") == col('na"me')),
    col("flag") & ~col("flag").is_null() | (col("year") == 0),
    col("day") >= "2000-01-01",
    col("day").is_between(datetime.date(1, 1, 1), "1999-12-31"),
    col("day").dt.year() < 1500,
    (col("day").dt.month() + 1) * col("year"),
    col("select") * col("select") - col("long") / col("year"),
    -col("select") - -col("long"),
    +col("year") / abs(col("cents")),
    abs(col("select").clip(-7, "0.5")),
    DEEP,
    (DEEP / col("select")).cut([-5, 0, 1, 5]),
    1 / (col("select") - 0.5),
    (col("huge") + 1).clip(-3, 3),
    col("select").clip("-0.1", 1e10),
    col("select").cut([0, "0.5", 100], ["low'", "high"]),
    col("cents").cut([-5, 0, 5]),
    col('na"me').str.to_lowercase() == "a'b",
    col('na"me').str.len_chars() > 1,
    col('na"me').str.starts_with("a'"),
    when(col("flag")).then(col("year")).otherwise(col("select")),
    when(col("year") > 0).then("plus").otherwise(None),
    when(col("year") > 0).then(col("long")).otherwise(7),
    col("select").fill_null(3),
    col("year").fill_null(0) > -1,
    col("group").fill_null("none"),
    col("flag") == True,  # noqa: E712
]


def compare_expressions(rows: list[dict[str, Any]], source: Any) -> None:
    """Hold every expression in SQL against its value in Python, row by row."""
    sql = ", ".join(e.sql(source.schema, source.engine.dialect) for e in EXPRESSIONS)
    found = source.engine.rows(f"select {sql} from {source.relation} as tacit_rows")
    for row, values in zip(rows, found, strict=True):
        for expression, value in zip(EXPRESSIONS, values, strict=True):
            expected = expression.evaluate(row)
            assert (value is None) == (expected is None), (str(expression), row)
            assert value == expected, (str(expression), row, value, expected)
