"""Random tables of every primitive type at its extremes, and who writes them as Parquet, and how.

What a writer puts into a file besides the values differs: minima and maxima that leave NaN out, or
are missing; one row group or many; dictionaries; page indexes; bloom filters.
"""

from __future__ import annotations

import datetime
import math
import random
import struct
import warnings
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

Table = pa.Table
DAY = datetime.date
FAR_MILLIS = [(1 << 63) - 1, -(1 << 63) + 1, 10**17, -(10**17), 1_700_000_000_000_000_000]
"""Times that are no milliseconds: 64 bits of microseconds do not hold them."""


def _narrow(number: float) -> float:
    return float(struct.unpack("f", struct.pack("f", number))[0])


def _whole(bits: int, signed: bool) -> list[int]:
    top = 1 << bits - signed
    return [0, 1, 5, top - 1, *([-top, -1] if signed else [top >> 1])]


_FLOATS = [0.0, -0.0, 1.0, -2.5, 7.0, math.nan, math.nan, math.nan, math.inf, -math.inf]
_MICROS = [0, -1, 1_700_000_000_000_000, -62135596800 * 10**6, 253402300799 * 10**6, 10**15]
_TEXTS = ["", "a", "b", "é", "日本", "z" * 70, "z" * 70 + "y", "\x00", "\u00ff" * 40]
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    **{f"int{b}": (getattr(pa, f"int{b}")(), _whole(b, True)) for b in (8, 16, 32, 64)},
    **{f"uint{b}": (getattr(pa, f"uint{b}")(), _whole(b, False)) for b in (8, 16, 32, 64)},
    "double": (pa.float64(), [*_FLOATS, 5e-324, 1.7976931348623157e308]),
    "float": (pa.float32(), [*_FLOATS, _narrow(1e-44), _narrow(-3.4e38)]),
    "text": (pa.string(), _TEXTS),
    "boolean": (pa.bool_(), [True, False]),
    "date": (pa.date32(), [DAY.min, DAY.max, DAY(1970, 1, 1), DAY(1582, 10, 10)]),
    "us": (pa.timestamp("us"), _MICROS),
    "zoned": (pa.timestamp("us", "UTC"), _MICROS),
    "ms": (pa.timestamp("ms"), [n // 1000 for n in _MICROS]),
    "ns": (pa.timestamp("ns"), [0, -1, 1_700_000_000_000_000_000, -(1 << 62), 1 << 62]),
    **{
        f"decimal{p}": (pa.decimal128(p, s), [Decimal(f"{n}e-{s}") for n in (0, 1, -1, t, -t)])
        for p, s in ((5, 2), (18, 3), (38, 10))
        for t in [10**p - 1]
    },
}


def random_table(draw: random.Random, types: dict[str, Any], rows: int) -> Table:
    """Return rows of every type, a gap now and then, with people ``p``.

    Some columns hold few values, all of them equal or in order, so that statistics say much.
    """
    columns: dict[str, Any] = {"p": pa.array([draw.randrange(rows // 2) for _ in range(rows)])}
    for name, (kind, values) in types.items():
        some = draw.sample(values, draw.randrange(1, len(values) + 1))
        cells = [draw.choice([*some, None] if draw.random() < 0.7 else some) for _ in range(rows)]
        columns[name] = pa.array(cells, pa.int64() if pa.types.is_timestamp(kind) else kind)
        columns[name] = columns[name].cast(kind)
    return pa.table(columns)


def by_pyarrow(table: Table, path: Path, draw: random.Random) -> None:
    options: dict[str, Any] = {
        "write_statistics": draw.choice([True, False]),
        "use_dictionary": draw.choice([True, False]),
        "row_group_size": draw.choice([1, 4, 1000]),
        "write_page_index": draw.choice([True, False]),
        "data_page_size": draw.choice([1, 1 << 20]),
        "data_page_version": draw.choice(["1.0", "2.0"]),
        "compression": draw.choice(["none", "snappy", "zstd"]),
    }
    pq.write_table(table, path, **options)


def by_polars(table: Table, path: Path, draw: random.Random) -> None:
    polars = pytest.importorskip("polars")
    size = draw.choice([1, 4, 1000])
    statistics = draw.choice([True, False, "full"])
    polars.from_arrow(table).write_parquet(path, statistics=statistics, row_group_size=size)


def by_duckdb(table: Table, path: Path, draw: random.Random) -> None:
    connection = duckdb.connect()
    connection.register("given", table)
    version = draw.choice(["v1", "v2"])
    connection.execute(
        f"copy (select * from given) to '{path}' (format parquet, row_group_size 2048, "
        f"parquet_version {version}, dictionary_size_limit {draw.choice([1, 1000])})"
    )


def by_fastparquet(table: Table, path: Path, draw: random.Random) -> None:
    """By fastparquet (``pip install fastparquet``): the columns that it writes as they are."""
    fastparquet = pytest.importorskip("fastparquet", reason="pip install fastparquet")
    names = ["p", *(n for n in table.column_names if n in ("double", "float", "text", "us"))]
    with warnings.catch_warnings():  # pandas warns of what fastparquet asks of it
        warnings.simplefilter("ignore")
        fastparquet.write(
            str(path),
            table.select(names).to_pandas(),
            stats=draw.choice([True, False, "auto"]),
            row_group_offsets=draw.choice([2, 1000]),
            object_encoding="utf8",
        )


WRITERS: dict[str, Callable[[Table, Path, random.Random], None]] = {
    "pyarrow": by_pyarrow,
    "polars": by_polars,
    "duckdb": by_duckdb,
    "fastparquet": by_fastparquet,
}
