"""The rows of a public table, brought out of their engine and into that of a protected one.

Everyone may know them, so they are read freely, and before anything is charged.  What is read is
kept: its digest is part of the question, and these very rows are joined, whatever becomes of the
table meanwhile.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tacit.errors import UsageError
from tacit.expressions.dialect import Dialect
from tacit.expressions.expression import col
from tacit.expressions.schema import Column, Schema
from tacit.tables.engines.base import Engine
from tacit.tables.open_source import Source
from tacit.tables.query.join_sql import Beside, key_sql
from tacit.tables.query.keys_sql import key_part_sql

__all__ = ["PublicRows", "read_public"]

_MOST = 1_000_000
"""Rows of a public table: all of them pass through this process, and into the engine as text."""
_TYPES = {"text": "text", "undeclared": "text", "boolean": "boolean", "date": "date"}
_FIRST, _LAST = "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"


@dataclass(frozen=True)
class PublicRows:
    """Rows of a public table as text, each with a key of its own.

    Attributes:
        keys: the kind of each part of the key.
        columns: the other columns, by name: how each is cast, and its kind.
        rows: of each row the parts of its key and its values; None for what is missing.
    """

    keys: tuple[str, ...]
    columns: tuple[tuple[str, str, str], ...]
    rows: tuple[tuple[str | None, ...], ...]

    @cached_property
    def digest(self) -> str:
        """A digest of all that the rows say, in whatever order and engine they are."""
        found = hashlib.sha256(b"tacit public table 1\0")
        for line in ([list(self.keys), *map(list, self.columns)], *sorted(self.rows, key=repr)):
            found.update(json.dumps(line, ensure_ascii=True).encode() + b"\n")
        return found.hexdigest()

    def beside(self, names: Sequence[str], here: Schema, engine: Engine) -> Beside:
        """Put the rows into an engine, to be joined there.

        Args:
            names: of the columns of the rows that are asked, which are equal to the key.
            here: the columns of the rows that are asked.
            engine: where those are.
        """
        d, parts = engine.dialect, len(self.keys)
        casts = [*(_key_type(k, i, self.rows) for i, k in enumerate(self.keys))]
        casts += [kind for _, kind, _ in self.columns]
        labels = [f"tacit_k{i}" for i in range(parts)]
        labels += [f"tacit_c{i}" for i in range(len(self.columns))]
        shown = [
            f"{d.cast(f'c{i}', kind)} as {label}"
            for i, (kind, label) in enumerate(zip(casts, labels, strict=True))
        ]
        texts = [[row[i] for row in self.rows] for i in range(len(casts))]
        _refuse_nul(texts, d)
        with engine.rehearsal():  # nothing of a protected table is brought in for it
            raw = engine.keep_text(texts)
            try:
                kept = engine.materialise(f"select {', '.join(shown)} from {raw}")
            finally:
                engine.drop(raw)
        known = [key_sql(n, k, here, d) for n, k in zip(names, self.keys, strict=True)]
        columns = [
            Column(name, kind, getattr(d, cast).upper()) for name, cast, kind in self.columns
        ]
        return Beside(f"select {', '.join(labels)} from {kept}", columns, known)


def read_public(source: Source, name: str, key: Sequence[str], kinds: Sequence[str]) -> PublicRows:
    """Read a public table.

    Args:
        source: the table.
        name: its name in the data set.
        key: the columns that name its rows.
        kinds: the kinds by which these are compared.

    Raises:
        UsageError: a key that two rows have, more rows than can be joined, a number too large.
        DataSourceError: the table cannot be read.
    """
    schema, d = source.schema, source.engine.dialect
    others = [c for n, c in schema.items() if n not in key and c.kind not in ("other", "missing")]
    chosen = [key_sql(n, k, schema, d) for n, k in zip(key, kinds, strict=True)]
    chosen += [_value_sql(c, schema, d) for c in others]
    shown = ", ".join(f"{sql} as c{i}" for i, sql in enumerate(chosen))
    found = source.engine.rows(
        f"select {shown} from {source.relation} as tacit_rows limit {_MOST + 1}"
    )
    if len(found) > _MOST:
        raise UsageError(f"the public table {name!r} has more than {_MOST:,} rows: join fewer")
    parts = len(key)
    named = [row for row in found if None not in row[:parts]]
    if len({row[:parts] for row in named}) < len(named):
        raise UsageError(
            f"two rows of the public table {name!r} have the same {', '.join(key)}, and a key "
            "identifies one row: remove the one that does not belong there, or declare the "
            "columns that are unique together, key = [...]"
        )
    columns = tuple(_held(c, [row[parts + i] for row in named]) for i, c in enumerate(others))
    return PublicRows(tuple(kinds), columns, tuple(tuple(map(_text, row)) for row in named))


def _value_sql(column: Column, schema: Schema, d: Dialect) -> str:
    """Return the SQL of a value as this process reads it."""
    if column.kind == "date" and not column.declared.upper().startswith("DATE"):
        time = d.cast(d.time(column.value(d.column(column.name)), column.declared), "timestamp")
        ends = " and ".join(f"cast('{end}' as {d.timestamp})" for end in (_FIRST, _LAST))
        return d.cast(f"(case when {time} between {ends} then {time} end)", "text")
    if column.kind == "undeclared":
        return d.name_of(d.unicode.format(x=col(column.name).sql(schema, d)))
    return key_part_sql(col(column.name), column.kind, schema, d)


def _held(column: Column, values: Iterable[Any]) -> tuple[str, str, str]:
    """Return the name of a column, how its text is cast, and its kind."""
    if column.kind == "date" and not column.declared.upper().startswith("DATE"):
        return column.name, "timestamp", "date"
    if column.kind in ("float", "decimal"):
        return column.name, "double", "float"
    if column.kind == "integer":
        return column.name, _integer(values), "integer"
    return column.name, _TYPES[column.kind], column.kind


def _integer(values: Iterable[Any]) -> str:
    return "wide" if any(v is not None and abs(v) >= 1 << 63 for v in values) else "integer"


def _key_type(kind: str, place: int, rows: Iterable[Sequence[Any]]) -> str:
    if kind == "integer":
        return _integer(None if row[place] is None else int(row[place]) for row in rows)
    return _TYPES[kind]


def _text(value: Any) -> str | None:
    """Return a value as text that a cast reads back, one text for one value."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return repr(value + 0.0) if math.isfinite(value) else "-Infinity"[value > 0 :]
    return str(value)


def _refuse_nul(texts: Iterable[Iterable[str | None]], d: Dialect) -> None:
    if not d.nul and any(text is not None and "\0" in text for column in texts for text in column):
        raise UsageError(
            f"text in {d.name} cannot hold the character NUL: remove it from the table"
        )
