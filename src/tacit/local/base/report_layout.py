"""Layouts: the shape of one report, and the strict check of reports that come from outside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacit.calls import public
from tacit.errors import UsageError
from tacit.local.base.raw_answers import plain, values_of, whole_number

__all__ = ["Layout", "smallest_dtype"]


def smallest_dtype(limit: int) -> np.dtype[np.generic]:
    """Return the smallest unsigned type that holds every integer below ``limit``.

    >>> smallest_dtype(257).name
    'uint16'
    """
    for kind in (np.uint8, np.uint16, np.uint32):
        if limit <= 1 << 8 * np.dtype(kind).itemsize:
            return np.dtype(kind)
    return np.dtype(np.uint64)


def _array(reports: object) -> NDArray[Any]:
    """Return reports of any library as an array, without a missing one taken for a number."""
    if isinstance(reports, np.ma.MaskedArray):
        if reports.mask.any():
            raise UsageError("a report is missing: leave out those that were never sent")
        reports = np.ma.getdata(reports)
    try:
        array = np.asarray(reports, order="C")
    except ValueError:
        raise UsageError("reports of one batch have one length each") from None
    if array.dtype == bool:
        return array.astype(np.uint8)
    if array.dtype != object:
        return array
    listed = [plain(report) for report in values_of(reports, sets=True)]
    rows = [list(map(plain, values_of(r))) if np.iterable(r) else whole_number(r) for r in listed]
    try:
        whole = np.array(rows)
    except ValueError:  # rows of different lengths
        return array
    return whole if whole.dtype.kind in "biu" else array


@public
@dataclass(frozen=True)
class Layout:
    """How a report is written: all reports of one mechanism have the same size.

    ========== ================================== ===============================================
    kind       a batch of n reports               valid reports
    ========== ================================== ===============================================
    integer    (n,) of the smallest unsigned type integers below ``limit``
    bits       (n, ceil(width / 8)) uint8         ``width`` bits, least significant first; the bits
                                                  that fill the last byte are zero
    integers   (n, width) of the smallest type    rows of ``width`` integers below ``limit``
    ========== ================================== ===============================================

    Example:
        >>> Layout("integer", 1, 1000).bits, Layout("bits", 14, 2).bits
        (10, 14)
    """

    kind: Literal["integer", "bits", "integers"]
    width: int
    limit: int

    @property
    def bits(self) -> int:
        """The size of one report, packed."""
        return self.width * self.value_bits

    @property
    def value_bits(self) -> int:
        """The size of one value of a report."""
        return max(1, (self.limit - 1).bit_length())

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The type of a batch."""
        return np.dtype(np.uint8) if self.kind == "bits" else smallest_dtype(self.limit)

    @property
    def columns(self) -> int:
        """The columns of a batch, 0 where it is one-dimensional."""
        return {"integer": 0, "bits": (self.width + 7) // 8, "integers": self.width}[self.kind]

    def empty(self, n: int) -> NDArray[np.generic]:
        """Return an uninitialised batch of ``n`` reports.

        Args:
            n: how many reports it holds.
        """
        return np.empty((n, self.columns) if self.columns else n, self.dtype)

    def check(self, reports: object) -> NDArray[np.generic]:
        """Return the reports as a batch, refusing what has not its shape or is not whole numbers.

        Whether each report can have come from the mechanism is for :meth:`valid`.

        Args:
            reports: a batch of reports, as it comes.

        Raises:
            UsageError: another shape, or numbers that are not whole.
        """
        array = _array(reports)
        if not array.size:
            return self.empty(0)
        one_batch = array.ndim == (2 if self.columns else 1)
        if not one_batch or (self.columns and array.shape[1] != self.columns):
            wanted = f"(n, {self.columns})" if self.columns else "(n,)"
            raise UsageError(f"a batch of these reports has the shape {wanted}, not {array.shape}")
        if array.dtype.kind not in "ui":
            raise UsageError(f"reports are whole numbers, not {array.dtype}")
        return array

    def valid(self, reports: NDArray[np.generic]) -> NDArray[np.bool_]:
        """Return for each report of a checked batch whether all its values are in range.

        Args:
            reports: a batch of reports.
        """
        array: Any = reports
        within: NDArray[np.bool_] = np.ones(len(array), bool)
        top = 255 if self.kind == "bits" else self.limit - 1
        any_byte = self.kind == "bits" and array.dtype == np.uint8
        if array.size and not any_byte and (int(array.min()) < 0 or int(array.max()) > top):
            inside = array <= top
            if array.dtype.kind == "i":
                inside &= array >= 0
            within &= inside.reshape(len(array), -1).all(axis=1)
        if self.kind == "bits" and self.width % 8:
            within &= array[:, -1] < 1 << self.width % 8
        return within
