"""Raw values into numeric arrays, totally: what a value is can never raise, nor drop a row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["numeric", "whole"]

_INT64 = np.iinfo(np.int64)
_FLOAT_LIMIT = 2.0**63


def numeric(values: Any) -> NDArray[Any]:
    """Return a numeric array of the same length; what is no number becomes NaN."""
    array: NDArray[Any] = (
        np.asarray(values) if not hasattr(values, "to_numpy") else values.to_numpy()
    )
    if array.ndim == 1 and array.dtype.kind in "iuf":
        return array
    if array.dtype.kind == "b":
        return array.astype(np.int64)
    flat: Sequence[Any] = list(values)
    if flat and all(type(v) is int for v in flat):
        return np.array([min(max(v, _INT64.min), _INT64.max) for v in flat], dtype=np.int64)
    return np.array([_as_float(v) for v in flat], dtype=np.float64)


def _as_float(value: Any) -> float:
    if isinstance(value, (str, bytes)):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        return math.nan


def whole(array: NDArray[Any]) -> NDArray[Any]:
    """Round to whole numbers inside int64; a missing value reads as zero."""
    if array.dtype.kind == "i":
        return array.astype(np.int64)
    if array.dtype.kind == "u":
        return np.asarray(np.minimum(array, np.uint64(_INT64.max)).astype(np.int64))
    rounded = np.floor(np.nan_to_num(array.astype(np.float64), nan=0.0) + 0.5)
    safe = rounded.clip(-_FLOAT_LIMIT, np.nextafter(_FLOAT_LIMIT, 0)).astype(np.int64)
    safe[rounded >= _FLOAT_LIMIT] = _INT64.max
    return np.asarray(safe)
