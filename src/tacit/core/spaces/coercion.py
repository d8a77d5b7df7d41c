"""Raw values into numeric arrays, totally: what a value is can never raise, nor drop a row.

Each value is read alone: what stands beside it never changes what it becomes.  (An array built from
``[2**63, -1, 2**53 + 1]`` at once would be one of floats, and the third number another one.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["floats", "whole"]

_INT64 = np.iinfo(np.int64)
_FLOAT_LIMIT = 2.0**63


def floats(values: Any) -> NDArray[np.float64]:
    """Return a new float64 array of the same length; what is no number becomes NaN."""
    array = _array(values)
    if array is not None:
        return array.astype(np.float64)
    return _each(values, float, _as_float, np.float64)


def whole(values: Any) -> NDArray[np.int64]:
    """Return a new int64 array of the same length: rounded, clipped; zero for what is no number."""
    array = _array(values)
    if array is None:
        return _each(values, int, _as_whole, np.int64)
    if array.dtype.kind in "ib":
        return array.astype(np.int64)
    if array.dtype.kind == "u":
        return np.asarray(np.minimum(array, np.uint64(_INT64.max)).astype(np.int64))
    rounded = np.floor(np.nan_to_num(array.astype(np.float64), nan=0.0) + 0.5)
    safe = rounded.clip(-_FLOAT_LIMIT, np.nextafter(_FLOAT_LIMIT, 0)).astype(np.int64)
    safe[rounded >= _FLOAT_LIMIT] = _INT64.max
    return np.asarray(safe)


def _array(values: Any) -> NDArray[Any] | None:
    """Return a column that is numeric already, of one type for all its values."""
    if not isinstance(values, np.ndarray) and hasattr(values, "to_numpy"):
        values = values.to_numpy()
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "iufb":
        return values
    return None


def _each(values: Any, kind: type, read: Callable[[Any], Any], dtype: Any) -> NDArray[Any]:
    flat: Sequence[Any] = list(values)
    if set(map(type, flat)) == {kind}:
        try:
            return np.array(flat, dtype=dtype)
        except OverflowError:  # a Python integer beyond int64: clip each
            pass
    return np.array([read(value) for value in flat], dtype=dtype)


def _as_float(value: Any) -> float:
    if isinstance(value, (str, bytes)):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except Exception:  # whatever a value does when it is asked for a number: it is none
        return math.nan


def _as_whole(value: Any) -> int:
    if isinstance(value, (int, np.integer)):
        return min(max(int(value), int(_INT64.min)), int(_INT64.max))
    number = _as_float(value)
    if math.isnan(number):
        return 0
    if math.isinf(number):
        return int(_INT64.max if number > 0 else _INT64.min)
    return min(max(math.floor(number + 0.5), int(_INT64.min)), int(_INT64.max))
