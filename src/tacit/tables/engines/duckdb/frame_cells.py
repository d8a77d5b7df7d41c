"""What a Python object in a column of a data frame says as text: by the rule of its own type.

No cell decides how another one is read, and no method of an unknown class is called.
"""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import numpy as np

from tacit.expressions.dialect import is_unicode

__all__ = ["cell_text", "texts"]

_MOST_BITS = 256


def texts(cells: Iterable[Any]) -> Any:
    """Return cells as an array of text and None."""
    found = [cell_text(cell) for cell in cells]
    array = np.empty(len(found), dtype=object)
    array[:] = found
    return array


def cell_text(cell: Any) -> str | None:
    """Return what a cell says; None where it is missing, or of a type that says nothing.

    Text is itself; truth values are ``true`` and ``false``; numbers are written in their shortest
    form, NaN is missing; times with a zone are in UTC, dates and times in ISO 8601.

    >>> [cell_text(c) for c in ("a", True, 3, 2.5, Decimal("NaN"), b"x", [1], float("nan"))]
    ['a', 'true', '3', '2.5', None, None, None, None]
    """
    if isinstance(cell, str):
        text = str.__str__(cell) if type(cell) is str else "".join(str.__iter__(cell))
        return text if is_unicode(text) else None
    if isinstance(cell, (bool, np.bool_)):
        return "true" if cell else "false"
    if isinstance(cell, np.generic) and not isinstance(cell, (np.floating, np.integer)):
        return _moment_text(cell) if isinstance(cell, np.datetime64) else None
    if isinstance(cell, (int, np.integer)):
        whole = int.__int__(cell) if isinstance(cell, int) else int(cell)
        return str(whole) if whole.bit_length() <= _MOST_BITS else None
    if isinstance(cell, (float, np.floating)):
        number = float.__float__(cell) if isinstance(cell, float) else float(cell)
        return None if number != number else repr(number)
    if isinstance(cell, Decimal):
        return None if Decimal.is_nan(cell) else Decimal.__str__(cell)
    if isinstance(cell, datetime.date):
        return _date_text(cell)
    return str(uuid.UUID.__str__(cell)) if isinstance(cell, uuid.UUID) else None


def _moment_text(moment: Any) -> str | None:
    return None if np.isnat(moment) else str(moment)


def _date_text(cell: Any) -> str | None:
    if cell != cell:  # NaT, which calls itself a time
        return None
    if not isinstance(cell, datetime.datetime):
        return datetime.date.isoformat(cell)
    try:
        if cell.tzinfo is not None:
            cell = cell.astimezone(datetime.UTC).replace(tzinfo=None)
        return str(cell.isoformat(" "))
    except (OverflowError, ValueError):  # beyond the years 1 to 9999 in UTC
        return None
