"""Any Python function as a statistic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.arithmetic.exact import Number, as_fraction
from tacit.calls import public
from tacit.errors import UsageError
from tacit.statistics.base.statistic import Statistic
from tacit.statistics.samples.sample import Array, plain

__all__ = ["Function", "batched"]


@dataclass(frozen=True)
class Function(Statistic):
    """A function of a 1-D float array, taken as a function of the multiset of its values.

    It is called with the records in ascending order and must return one finite number for every
    non-empty release.  On no records it is not called.

    Args:
        function: the function.
        many: whether it takes a 2-D array, one release per row, and returns one number a row.
        empty: its value on no records, read as a float; None where it has none, and the empty
            release is no neighbour.

    Raises:
        UsageError: ``empty`` is not one finite number.

    >>> Function(np.ptp)([1, 5, 2])
    4.0
    """

    function: Callable[..., object]
    many: bool = False
    empty: Number | None = None

    def __post_init__(self) -> None:
        if self.empty is not None:
            object.__setattr__(self, "empty", float(as_fraction(self.empty, "empty")))

    @property
    def least(self) -> int:
        """The fewest records of which there is a value: one, or none where one is declared."""
        return int(self.empty is None)

    @property
    def name(self) -> str:
        """The function's own name."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def batch(self, rows: Array) -> npt.NDArray[np.float64]:
        """The values on many releases; each is checked to be one finite number.

        Raises:
            UsageError: the function raised, or returned a vector, text, NaN or an infinity.
        """
        rows = np.asarray(rows, dtype=np.float64)
        if not rows.shape[1] and self.empty is not None:
            return np.full(len(rows), float(as_fraction(self.empty)))
        if not self.many:
            return np.array([self._one(row) for row in rows], dtype=np.float64)
        try:
            found = np.asarray(self.function(rows))
        except Exception as error:
            raise UsageError(
                f"{self.name} raised {type(error).__name__} ({error}) on an array of shape "
                f"{rows.shape}, one release a row"
            ) from error
        if found.shape != (len(rows),) or found.dtype.kind not in "biuf":
            raise UsageError(
                f"{self.name} must return one number a row: {len(rows)} rows in, an array of "
                f"shape {found.shape} and type {found.dtype} out"
            )
        values = found.astype(np.float64)
        for row in np.flatnonzero(~np.isfinite(values))[:1]:
            raise self._not_finite(rows[row], values[row])
        return values

    def exact(self, values: Sequence[Fraction]) -> Fraction:
        """The value that the function computes, read exactly."""
        row = np.array([float(v) for v in values])
        return Fraction(float(self.batch(row[None, :])[0]))

    def _one(self, row: npt.NDArray[np.float64]) -> float:
        try:
            found: Any = self.function(row)
        except Exception as error:
            raise UsageError(
                f"{self.name} raised {type(error).__name__} ({error}) on the release {_show(row)}"
            ) from error
        if np.ndim(found) != 0:
            raise UsageError(
                f"{self.name} must return one number, but returned an array of shape "
                f"{np.shape(found)} on the release {_show(row)}"
            )
        try:
            value = float(found)
        except (TypeError, ValueError):
            raise UsageError(
                f"{self.name} must return one number, but returned {type(found).__name__} "
                f"on the release {_show(row)}"
            ) from None
        except OverflowError:
            raise UsageError(
                f"{self.name} returned a number too large for a float on the release {_show(row)}"
            ) from None
        if not np.isfinite(value):
            raise self._not_finite(row, value)
        return value

    def _not_finite(self, row: npt.NDArray[np.float64], value: float) -> UsageError:
        return UsageError(f"{self.name} returned {value} on the release {_show(row)}")


@public
def batched(function: Callable[..., object], empty: Number | None = None) -> Function:
    """Mark a function of a 2-D array, one release per row, as evaluating many releases at once.

    Args:
        function: takes an array of shape (releases, records), returns one number a release.
        empty: its value on no records; None where it has none.

    Raises:
        UsageError: ``empty`` is not one finite number.

    >>> batched(lambda rows: rows.max(axis=1)).batch(np.array([[1.0, 2.0], [3.0, 0.0]]))
    array([2., 3.])
    """
    return Function(function, many=True, empty=empty)


def _show(row: npt.NDArray[np.float64]) -> str:
    shown = ", ".join(str(plain(Fraction(v))) if v.is_integer() else repr(v) for v in row.tolist())
    return f"({shown})"
