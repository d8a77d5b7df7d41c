"""Answers as they arrive: columns of any library, scalars of any library, missing ones.

Which item an answer is must not depend on the container that it came in, so that a list, an Arrow
array and a column of a data frame are read alike.  No library is imported for it.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import UsageError, did_you_mean

__all__ = [
    "is_missing",
    "numbers_of",
    "people_of",
    "plain",
    "text_of",
    "texts_of",
    "values_of",
    "whole_number",
]

_PLAIN = (str, int, float, bool, type(None))
_MAX_DIGITS = 40
"""A decimal number of more digits keeps its exponent, so that no answer becomes a giant text."""


def is_missing(value: Any) -> bool:
    """Return whether a raw answer is missing: None, NaN, or a data frame's NA or NaT.

    >>> is_missing(None), is_missing(float("nan")), is_missing(Decimal("NaN")), is_missing(0)
    (True, True, True, False)
    """
    value = plain(value)
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, float) and math.isnan(value)


def plain(value: Any) -> Any:
    """Return a scalar of numpy, Arrow or another library as Python's own; others as they are.

    Bytes are the text that they encode in UTF-8.

    >>> plain(np.int64(3)), plain(np.datetime64("2024-01-31")), plain(b"yes"), plain(np.ma.masked)
    (3, datetime.date(2024, 1, 31), 'yes', None)
    """
    if type(value) in _PLAIN:
        return value
    try:
        return _plain(value)
    except Exception:  # a value never raises, whatever its class does
        return value


def _plain(value: Any) -> Any:
    if value is np.ma.masked:
        return None
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return plain(value[()])
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return _time(value)
    if isinstance(value, np.void):
        names = value.dtype.names
        return value if names is None else {name: value[name] for name in names}
    if isinstance(value, np.longdouble):
        return float(value)
    if isinstance(value, Enum) and not isinstance(value, (str, int)):
        return plain(value.value)
    if isinstance(value, (bytes, bytearray)):
        return value.decode()
    if hasattr(value, "as_py"):  # a scalar of Arrow
        try:
            found = value.as_py()
            return dict(found) if found and type(value).__name__ == "MapScalar" else plain(found)
        except ValueError:  # a time in nanoseconds, which Python's own cannot hold
            return str(value)
    if isinstance(value, np.generic) or getattr(value, "ndim", None) == 0:
        return plain(value.item())
    return value


def _time(value: np.datetime64 | np.timedelta64) -> Any:
    if np.isnat(value):
        return None
    if isinstance(value, np.timedelta64):
        return str(value)
    days = np.datetime_data(value.dtype)[0] in "YMWD"
    found = value.astype("datetime64[D]" if days else "datetime64[us]").item()
    exact = isinstance(found, datetime.date) and (days or value == np.datetime64(found))
    return found if exact else str(value)


def text_of(value: Any) -> str:
    """Return the text of an answer; equal numbers, and a date and its midnight, have the same.

    >>> text_of(3.0), text_of(Decimal("3")), text_of(datetime.datetime(2024, 1, 31)), text_of(True)
    ('3', '3', '2024-01-31', 'True')
    """
    return texts_of(value)[0]


def texts_of(value: Any) -> tuple[str, ...]:
    """Return the texts by which an answer may be listed, the first of them its own.

    >>> texts_of(datetime.date(2024, 1, 31))
    ('2024-01-31', '2024-01-31 00:00:00', '2024-01-31T00:00:00')
    """
    value = plain(value)
    if isinstance(value, bool):
        return str(value), str(value).lower(), str(value).upper()
    number = whole_number(value)
    if number is not None:
        return (str(number),)
    if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) < _MAX_DIGITS:
        return format(value.normalize(), "f"), format(value, "f")
    if isinstance(value, datetime.datetime):
        texts = value.isoformat(" "), value.isoformat("T")
        clock = value.timetz() == datetime.time() and not getattr(value, "nanosecond", 0)
        return (value.date().isoformat(), *texts) if clock else texts
    if isinstance(value, datetime.date):
        return texts_of(datetime.datetime.combine(value, datetime.time()))
    return (str(value),)


def whole_number(value: Any) -> int | None:
    """Return the whole number that a plain answer equals; None where it is another one, or text.

    >>> whole_number(3.0), whole_number(Decimal("3.00")), whole_number(2.5), whole_number("3")
    (3, 3, None, None)
    """
    if isinstance(value, int):
        return int(value)
    if isinstance(value, Decimal):
        small = value.is_finite() and abs(value.adjusted()) < _MAX_DIGITS
        return int(value) if small and value == value.to_integral_value() else None
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 10.0**_MAX_DIGITS else None
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else None
    return None


def values_of(values: Any, *, sets: bool = False) -> Iterable[Any]:
    """Return the answers of many people in a column of any library, one a person.

    Args:
        values: a list, a column of a data frame, an array, ...
        sets: whether an answer is a set, which a row of an array may be.

    Raises:
        UsageError: text, a mapping, a table or an array of several dimensions in place of a column.
    """
    if isinstance(values, (str, bytes, bytearray)) or not np.iterable(values):
        raise UsageError("give a list of answers, one a person; for one person: perturb(value)")
    if isinstance(values, Mapping) or _columns_of(values) is not None:
        raise UsageError(
            "give one column of answers, one a person, such as table['answer'], not a "
            f"{type(values).__name__}"
        )
    if isinstance(values, np.ndarray) and values.ndim > 1 and not sets:
        raise UsageError(
            f"give an array of one dimension, one answer a person, not of {values.ndim}"
        )
    if isinstance(values, np.ma.MaskedArray):
        return list(values)
    if hasattr(values, "to_pylist"):  # a column of Arrow
        return _from_arrow(values)
    found: Iterable[Any] = values
    return found


def people_of(values: Any, names: Sequence[str]) -> Iterable[Any]:
    """Return what each of many people answers to several named questions.

    The rows of a table are mappings by the names of its columns.

    Raises:
        UsageError: a table without one of the columns, or as :func:`values_of`.
    """
    columns = _columns_of(values)
    if columns is None:
        return values_of(values, sets=True)
    missing = [name for name in names if name not in columns]
    if missing:
        raise UsageError(
            f"the table has no column {missing[0]!r}: {did_you_mean(missing[0], columns)}"
        )
    cells = [values_of(values[name]) for name in names]
    return (dict(zip(names, row, strict=True)) for row in zip(*cells, strict=True))


def numbers_of(values: Any) -> NDArray[Any] | None:
    """Return numbers or booleans as one array, where they are one; a mask is no part of one."""
    known = isinstance(values, np.ndarray) and not isinstance(values, np.ma.MaskedArray)
    return values if known and values.dtype.kind in "biuf" else None


def _from_arrow(values: Any) -> list[Any]:
    try:
        found: list[Any] = values.to_pylist()
    except ValueError:  # times in nanoseconds, which Python's own cannot hold
        found = [plain(value) for value in values]
    if str(values.type).startswith("map<"):
        return [None if pairs is None else dict(pairs) for pairs in found]
    return found


def _columns_of(values: Any) -> list[str] | None:
    """Return the columns of a data frame or a table, over which it iterates; None of another."""
    if hasattr(values, "column_names") and hasattr(values, "to_pylist"):
        return list(values.column_names)
    if hasattr(values, "columns") and len(getattr(values, "shape", ())) == 2:
        return list(values.columns)
    return None
