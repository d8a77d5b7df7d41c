"""Public keys of groups, as a table in SQL: checked against the kinds of their columns."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from typing import Any

from tacit.errors import UsageError
from tacit.tables.dialect import Dialect

__all__ = ["check_keys", "keys_sql"]

_TYPES = {"text": str, "integer": int, "boolean": bool, "date": datetime.date}


def check_keys(
    keys: Iterable[Any], names: Sequence[str], kinds: Sequence[str]
) -> list[tuple[Any, ...]]:
    """Return the keys as tuples of plain values.

    Raises:
        UsageError: no keys, a key twice, too many or too few parts, a part of another kind.

    >>> check_keys(["f", "m", None], ["sex"], ["text"])
    [('f',), ('m',), (None,)]
    """
    if not names:
        raise UsageError("keys belong to group_by; this question has no groups")
    if isinstance(keys, (str, bytes)):
        raise UsageError(f"keys are a list, not the text {keys!r}")
    found: dict[tuple[Any, ...], None] = {}
    for key in keys:
        parts = tuple(key) if isinstance(key, (tuple, list)) else (key,)
        if len(parts) != len(names):
            raise UsageError(f"the key {key!r} has {len(parts)} parts for {len(names)} columns")
        plain = tuple(map(_part, parts, names, kinds))
        if plain in found:
            raise UsageError(f"the key {plain!r} is given twice")
        found[plain] = None
    if not found:
        raise UsageError("the list of keys is empty")
    return list(found)


def _part(value: Any, name: str, kind: str) -> Any:
    if hasattr(value, "item"):  # numpy scalars
        value = value.item()
    if value is None or value != value:
        return None
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        value = int(value)
    if kind == "date" and isinstance(value, str):
        value = _date(value, name)
    if isinstance(value, datetime.datetime):
        value = value.date()
    if kind != "missing" and type(value) is not _TYPES[kind]:
        raise UsageError(f"the key {value!r} of {name!r} is not of kind {kind}")
    return value


def _date(text: str, name: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"the key {text!r} of {name!r} is not a date") from None


def keys_sql(
    keys: Sequence[tuple[Any, ...]], kinds: Sequence[str], dialect: Dialect
) -> tuple[str, list[str]]:
    """Return a relation of the keys with their number as ``tacit_code``, and its column names."""
    names = [f"tacit_key{i}" for i in range(len(kinds))]
    lines = []
    for code, key in enumerate(keys):
        parts = [_typed(v, k, dialect) for v, k in zip(key, kinds, strict=True)]
        lines.append(f"({', '.join([*parts, dialect.literal(code)])})")
    columns = ", ".join([*names, "tacit_code"])
    return f"(values {', '.join(lines)}) as tacit_keys({columns})", names


def _typed(value: Any, kind: str, dialect: Dialect) -> str:
    """Return a literal; a NULL with the type of its column."""
    if value is not None:
        return dialect.literal(value)
    return dialect.cast("null", "text" if kind == "missing" else kind)
