"""Public keys: what a caller may list, read into one tuple per group."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from tacit.errors import UsageError
from tacit.expressions.dialect import is_unicode

__all__ = ["Keys", "public_keys"]

Keys: TypeAlias = Iterable[object] | Mapping[str, Iterable[object]] | None
"""Public keys as they may be given: a list, a mapping of column to values, or a table."""


def public_keys(by: Sequence[str], keys: Any) -> tuple[tuple[Any, ...], ...]:
    """Return the keys as tuples, in the order given.

    Args:
        by: the grouping columns.
        keys: a list of values, or of tuples for several columns; a mapping of column to values, of
            which all combinations are meant; or a *public* table with these columns.

    Raises:
        UsageError: no keys, a key twice, a key of the wrong length, or a value that is no key.

    >>> public_keys(["site", "plan"], {"site": ["a", "b"], "plan": [1, 2]})
    (('a', 1), ('a', 2), ('b', 1), ('b', 2))
    """
    found = [tuple(_plain(value) for value in key) for key in _rows(by, keys)]
    if not found:
        raise UsageError("the list of keys is empty; list at least one")
    for key in found:
        if len(key) != len(by):
            raise UsageError(
                f"a key has a value for each of {', '.join(by)}; one of them has {len(key)}"
            )
    if len(set(found)) < len(found):
        raise UsageError("a key is given twice; list each once")
    return tuple(found)


def _rows(by: Sequence[str], keys: Any) -> list[Sequence[Any]]:
    if isinstance(keys, (str, bytes)):
        raise UsageError(f"keys are a list, not the text {keys!r}")
    if isinstance(keys, Mapping):
        _check_columns(by, list(keys))
        return list(itertools.product(*(list(keys[name]) for name in by)))
    if hasattr(keys, "columns") or hasattr(keys, "column_names"):
        names = list(getattr(keys, "column_names", None) or keys.columns)
        _check_columns(by, names)
        columns = [_column(keys, name) for name in by]
        return list(dict.fromkeys(zip(*columns, strict=True)))
    if not hasattr(keys, "__iter__"):
        raise UsageError("keys are a list of values, a mapping of column to values, or a table")
    listed = list(keys)
    if len(by) == 1:
        return [key if isinstance(key, tuple) else (key,) for key in listed]
    if not all(isinstance(key, (tuple, list)) for key in listed):
        raise UsageError(f"a key of several columns is a tuple ({', '.join(by)})")
    return listed


def _check_columns(by: Sequence[str], names: Sequence[str]) -> None:
    missing = [name for name in by if name not in names]
    if missing:
        raise UsageError(f"the keys have no values for {', '.join(missing)}")


def _column(table: Any, name: str) -> list[Any]:
    column = table[name]
    return list(column.to_pylist() if hasattr(column, "to_pylist") else column.to_list())


def _plain(value: Any) -> Any:
    plain = value.item() if isinstance(value, np.generic) else value
    if plain is None or (isinstance(plain, (float, datetime.date)) and plain != plain):
        return None  # NaN, and NaT, which calls itself a date
    if isinstance(plain, str) and type(plain) is not str:
        plain = str.__str__(plain) + ""
    if isinstance(plain, int) and not isinstance(plain, bool):
        return int.__add__(plain, 0)
    if isinstance(plain, float) and plain.is_integer():
        plain = int(plain)
    if not isinstance(plain, (str, int, bool, datetime.date)):
        raise UsageError(
            f"a key is text, a whole number, a truth value or a date, not a {type(plain).__name__}"
        )
    if isinstance(plain, str) and not is_unicode(plain):
        raise UsageError(
            f"the key {plain!r} is not valid text: it holds half of a character (a lone surrogate)"
        )
    return plain
