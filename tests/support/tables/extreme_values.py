"""The extremes of every type of every engine, as text that a cast reads and as Python values.

A table of them, :func:`rows_of`, has a column for each type; its loader, :func:`open_rows`, writes
values as casts of text, so that an engine makes them itself.
"""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow
import pytest

from tacit.tables.engines.duckdb.engine import DUCKDB
from tacit.tables.engines.postgres import POSTGRES
from tacit.tables.engines.spark import SPARK
from tacit.tables.open_source import Source, open_source

Pair = tuple[str | None, Any]
DIALECTS = {"duckdb": DUCKDB, "postgresql": POSTGRES, "spark": SPARK}


def whole(bits: int, *, signed: bool = True) -> list[Pair]:
    top = 1 << bits - signed
    values = [0, 1, 7, top - 1, top - 2, *([-top, 1 - top, -1] if signed else [])]
    return [(str(v), v) for v in [*values, (1 << 53) + 1] if v < top]


def decimals(digits: int, places: int) -> list[Pair]:
    """Values of a decimal type, as the doubles nearest to them."""
    last = 10**digits - 1
    units = [0, 1, -1, last, -last, 3 * 10**digits // 7, (1 << 53) + 1, -(1 << 54) - 1]
    exact = [Decimal(f"{u}e-{places}") for u in units if abs(u) <= last]
    return [(f"{v:f}", float(v)) for v in exact]


def doubles(*, narrow: bool = False) -> list[Pair]:
    values = [0.0, -0.0, 5e-324, -5e-324, 2.0**-501, 0.1, 0.5, 2.5, -7.25, 2.0**53, 1e160, 2.0**501]
    values += [-1e300, 1.7976931348623157e308, math.inf, -math.inf, math.nan]
    if narrow:
        near = [v for v in values if not 3e38 < abs(v) < math.inf and not 0 < abs(v) < 1e-38]
        values = [*(struct.unpack("f", struct.pack("f", v))[0] for v in near), 3.4e38, 1e-44]
        values = [struct.unpack("f", struct.pack("f", v))[0] for v in values]
    names = {math.inf: "Infinity", -math.inf: "-Infinity"}
    return [("NaN" if v != v else names.get(v, repr(v)), v) for v in values]


TEXT = ["", "a", "A'b", 'c"d', "ÉÀ", "日本", "\\n${user.home}", "ABC" * 1000]
DATES = [date.min, date.max, date(1969, 12, 31), date(1970, 1, 1), date(2000, 2, 29)]
TIMES = [
    *(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999), datetime(1970, 1, 1)),
    *(datetime(1969, 12, 31, 23, 59, 59, 500000), datetime(2000, 2, 29, 12, 34, 56, 789012)),
]


def times(*, micros: int = 1, first: int = 1, last: int = 9999) -> list[Pair]:
    """Times with a clock part, in steps of so many microseconds."""
    found = [t.replace(microsecond=t.microsecond // micros * micros) for t in TIMES]
    return [(t.isoformat(" "), t) for t in found if first <= t.year <= last]


ENDS = [(1 << 63) - 1, (1 << 63) - 2, 1 << 62, -(1 << 63) + 1, 2 - (1 << 63), 10**14]
"""Times as numbers of their unit, at the ends of 64 bits."""
FAR: dict[str, dict[str, list[str]]] = {
    "duckdb": {
        "date": ["infinity", "-infinity", "5877642-06-24", "290309-01-01 (BC)"],
        "timestamp": ["infinity", "-infinity", "294247-01-10 04:00:54.775806"],
        **{f"timestamp_{u}": [f"@{u}:{n}" for n in ENDS] for u in ("s", "ms", "ns")},
    },
    "postgresql": {
        "date": ["infinity", "-infinity", "4713-01-01 BC", "5874897-12-31"],
        "timestamp": ["infinity", "-infinity", "4713-01-01 BC", "294276-12-31 23:59:59.999999"],
    },
    "spark": {
        "date": ["+5881580-07-11", "-5877641-06-23"],
        "timestamp": ["+294247-01-10T04:00:54.775807", "-290308-12-21T19:59:05.224192"],
    },
}
"""Times beyond the calendar that Python has, which are missing as keys."""
COMMON: dict[str, list[Pair]] = {
    "smallint": whole(16),
    "integer": whole(32),
    "bigint": whole(64),
    "float": doubles(narrow=True),
    "double": doubles(),
    "boolean": [("true", True), ("false", False)],
    "text": [(t, t) for t in TEXT],
    "date": [(d.isoformat(), d) for d in DATES],
    "timestamp": times(),
}
FIXED = [(38, 38), (38, 2), (38, 30), (25, 24), (18, 3), (17, 0), (16, 16), (15, 2), (1, 1), (1, 0)]
UNBOUNDED = ["NaN", "Infinity", "-Infinity", "1e131071", "-1e131071", "1e-16383", "7.5", "9" * 200]


def unbounded(text: str) -> float | None:
    """A numeric without precision as it is read: within 10^38, to 38 digits after the point."""
    if text == "NaN":
        return None
    if text.lstrip("-") == "Infinity":
        return math.copysign(1e38, float(text))
    held = max(min(Decimal(text), Decimal("1e38")), Decimal("-1e38"))
    return 0.0 if abs(held) < Decimal("1e-38") else float(held)


def extremes(engine: str) -> dict[str, list[Pair]]:
    """The types of an engine, each with its extremes and NULL."""
    numeric = "numeric" if engine == "postgresql" else "decimal"
    found = dict(COMMON)
    for digits, places in FIXED:
        pairs = decimals(digits, places)
        if places == 0 and engine != "duckdb":  # a whole number there
            pairs = [(text, int(text or 0)) for text, _ in pairs]
        found[f"{numeric}({digits},{places})"] = pairs
    if engine == "duckdb":
        found |= {"tinyint": whole(8), "hugeint": whole(128)}
        found |= {"timestamp_s": times(micros=10**6), "timestamp_ms": times(micros=1000)}
        found["timestamp_ns"] = times(first=1678, last=2261)
        sizes = {"utinyint": 8, "usmallint": 16, "uinteger": 32, "ubigint": 64}
        found |= {name: whole(bits, signed=False) for name, bits in sizes.items()}
    else:
        most = 10**38 - 1
        found[f"{numeric}(38,0)"] = [(str(v), v) for v in (0, most, -most, 10**37, (1 << 53) + 1)]
    if engine == "postgresql":
        found["numeric"] = [(text, unbounded(text)) for text in UNBOUNDED]
        found["numeric(1000,500)"] = [("9" * 500, 1e38), ("-" + "9" * 500, -1e38), ("0.5", 0.5)]
    return {name: [(None, None), *pairs] for name, pairs in found.items()}


def with_far_times(engine: str) -> dict[str, list[Pair]]:
    """The types of an engine, each with its extremes, times that Python does not have too."""
    far = FAR[engine]
    return {
        t: [*pairs, *((x, None) for x in far.get(t, []))] for t, pairs in extremes(engine).items()
    }


def rows_of(types: Mapping[str, Sequence[Pair]], count: int, seed: int) -> list[list[Pair]]:
    """Rows in which every value of every type stands, beside others by chance."""
    draw = random.Random(seed)
    columns = []
    for pairs in types.values():
        listed = [pairs[i % len(pairs)] for i in range(count)]
        draw.shuffle(listed)
        columns.append(listed)
    return [list(row) for row in zip(*columns, strict=True)]


NAMES = {
    "postgresql": {"double": "double precision", "float": "real"},
    "spark": {"text": "string", "integer": "int", "timestamp": "timestamp_ntz"},
    "duckdb": {"text": "varchar"},
}


def open_rows(
    engine: str,
    request: pytest.FixtureRequest,
    types: Sequence[str],
    rows: Sequence[Sequence[Pair]],
) -> Source:
    """Open a table with the columns c0, c1, ... of these types."""
    d = DIALECTS[engine]
    kinds = [NAMES[engine].get(t, t) for t in types]

    def cell(pair: Pair, kind: str) -> str:
        if (pair[0] or "").startswith("@"):
            unit, number = str(pair[0])[1:].split(":")
            return f"(select t from far_{unit} where n = {number})"
        return f"cast({'null' if pair[0] is None else d.literal(pair[0])} as {kind})"

    def line(row: Sequence[Pair]) -> str:
        cells = [cell(v, k) for v, k in zip(row, kinds, strict=True)]
        return "select " + ", ".join(f"{sql} as c{i}" for i, sql in enumerate(cells))

    lines = [line(row) for row in rows]
    first = line([(None, None)] * len(kinds))
    made = f"{first} where false" if not rows else " union all ".join(lines)
    if engine == "spark":
        return open_source(request.getfixturevalue("spark").sql(made))
    if engine == "postgresql":
        database = request.getfixturevalue("postgres")
        columns = ", ".join(f"c{i} {k}" for i, k in enumerate(kinds))
        database.run(f"drop table if exists data; create table data ({columns})")
        for line in lines:
            database.run(f"insert into data {line}")
        return open_source(database.dsn(), "data")
    connection = duckdb.connect()
    for unit in ("s", "ms", "ns"):
        far = {"n": ENDS, "t": pyarrow.array(ENDS, pyarrow.timestamp(unit))}
        connection.register(f"far_{unit}", pyarrow.table(far))
    connection.execute(f"create table data as {made}")
    return open_source(connection, "data")
