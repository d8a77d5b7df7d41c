"""Records into bins, each record by a draw of its own.

**Distribution.**  Every record draws one of ``k`` bins uniformly, independently of everything else,
and the records of a bin stand in a uniformly random order.

**Coupling.**  Let ``v`` be ``u`` with one record more.  Draw bins and orders for ``v``, then strike
that record out: what remains has exactly the distribution of ``u``.  So the two can be drawn
together such that the contents of *at most one* bin differ, as ordered lists.  Let ``v`` be ``u``
with one record exchanged, wherever the records stand: pair the records up, the exchanged one with
its successor, and give both of a pair the same bin and the same place.  Again one bin differs.  By
induction ``d`` records move at most ``min(d, k)`` bins, under the symmetric and under the
change-one distance, whatever the order of the rows.

Cutting the rows into stretches of ``ceil(n / k)``, as textbooks do, has no such property: one
deletion moves every boundary behind it, so that all ``k`` bins change.

**Exactness.**  A record's key is its bin and below it random bits, drawn alike for all records;
records are sorted by key.  Keys that tie are put in a uniformly random order: records that are
drawn alike are exchangeable, so every order within a bin is as likely as every other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import noise
from tacit.core import Domain, Vector
from tacit.errors import UsageError
from tacit.noise.bits import words64

__all__ = ["AnyRecord", "Rows", "assignment", "into_bins", "record_count"]


class AnyRecord(Domain):
    """A record of any kind: a number, a label, a row.

    >>> AnyRecord().contains("anything")
    True
    """

    def contains(self, value: Any) -> bool:
        """Whatever it is, it is a record."""
        return True

    def read(self, value: Any) -> Any:
        """Return the record as it is."""
        return value

    def sample(self, source: Any) -> Any:
        """Draw a small whole number."""
        return source.randint(0, 5)

    def describe(self) -> dict[str, Any]:
        """Return the domain as plain JSON values."""
        return {"domain": "record"}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnyRecord)

    def __hash__(self) -> int:
        return hash(AnyRecord)

    def __str__(self) -> str:
        return "records of any kind"


@dataclass(frozen=True)
class Rows(Vector):
    """Data sets of records of any kind: a list, an array (a row is a record), a table.

    A table is a pandas, polars or Arrow one, or a dict of columns of one length.  The index of a
    pandas frame is no part of its records: bins are numbered from 0 on.

    >>> Rows().read([3, "a"]), record_count({"x": [1, 2], "y": [3, 4]})
    ([3, 'a'], 2)
    """

    element: Any = field(default_factory=AnyRecord)

    def contains(self, value: Any) -> bool:
        """Return whether the value has records that can be counted."""
        try:
            record_count(value)
        except UsageError:
            return False
        return True

    def read(self, value: Any) -> Any:
        """Return the data as they are.

        Raises:
            UsageError: no collection of records, or columns of different lengths.
        """
        record_count(value)
        return value

    def describe(self) -> dict[str, Any]:
        """Return the domain as plain JSON values."""
        return {"domain": "rows"}

    def __str__(self) -> str:
        return "rows of any kind"


def record_count(records: Any) -> int:
    """Return how many records there are.

    Raises:
        UsageError: no collection of records, or columns of different lengths.
    """
    if isinstance(records, Mapping):
        lengths = {len(column) for column in records.values()}
        if len(lengths) != 1:
            raise UsageError("a dict of columns needs at least one, all of the same length")
        return lengths.pop()
    if hasattr(records, "num_rows"):
        return int(records.num_rows)
    if isinstance(records, (str, bytes)) or not hasattr(records, "__len__"):
        raise UsageError(
            "the data must be a collection of records: a list, an array, a table or a dict of "
            "columns"
        )
    return len(records)


def assignment(n: int, bins: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw bins: the records in the order of their bins, and where each bin begins.

    A word of 64 bits below the largest multiple of ``bins`` gives the bin, its remainder, uniform;
    and the quotient, which is independent of it and alike for all records.  Sorted keys carry
    bin, leading bits of the quotient and the record, from high to low.

    >>> order, edges = assignment(10, 4)
    >>> sorted(order.tolist()) == list(range(10)), len(edges), int(edges[-1])
    (True, 5, 10)
    """
    high, low = (bins - 1).bit_length(), max(n - 1, 0).bit_length()
    words = _words_below((1 << 64) // bins * bins, n)
    quotient = words // np.uint64(bins)
    place = words - quotient * np.uint64(bins)
    spare = 64 - high - low
    quotient >>= np.uint64(max(0, ((1 << 64) // bins).bit_length() - spare))
    keys = (place << np.uint64(64 - high)) if high else np.zeros(n, np.uint64)
    keys |= (quotient << np.uint64(low)) | np.arange(n, dtype=np.uint64)
    keys.sort()
    order = (keys & np.uint64((1 << low) - 1)).astype(np.int64)
    _break_ties(order, keys >> np.uint64(low))
    starts = np.arange(bins, dtype=np.uint64) << np.uint64(64 - high if high else 0)
    return order, np.append(np.searchsorted(keys, starts), n).astype(np.int64)


def _words_below(limit: int, n: int) -> NDArray[np.uint64]:
    """Draw n words of 64 bits, uniform below a limit of at least 2^63."""
    words = words64(n).copy()
    while len(over := np.flatnonzero(words > np.uint64(limit - 1))):
        words[over] = words64(len(over))
    return words


def _break_ties(order: NDArray[np.int64], keys: NDArray[np.uint64]) -> None:
    """Put records of equal keys in a uniformly random order, in place."""
    same = np.flatnonzero(keys[1:] == keys[:-1])
    while len(same):
        start = end = int(same[0])
        while end + 1 < len(keys) and keys[end + 1] == keys[start]:
            end += 1
        for last in range(end, start, -1):  # Fisher and Yates
            other = start + int(noise.uniform(last - start + 1))
            order[[last, other]] = order[[other, last]]
        same = same[np.searchsorted(same, end) :]


def into_bins(records: Any, bins: int) -> list[Any]:
    """Return the contents of the bins, each of the kind of the data; an empty one is None.

    >>> contents = into_bins(np.arange(6), 2)
    >>> sorted(x for part in contents if part is not None for x in part.tolist())
    [0, 1, 2, 3, 4, 5]
    """
    order, edges = assignment(record_count(records), bins)
    mixed = _taken(records, order)
    ends = zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    return [_stretch(mixed, a, b) if b > a else None for a, b in ends]


def _taken(records: Any, order: NDArray[np.int64]) -> Any:
    """Return the records in another order, in a container of the same kind.

    The index of a pandas frame counts rows, or did before a filter: a record that joins would move
    the labels of all behind it.  So no label goes into a bin; a column is where data belong.
    """
    if isinstance(records, Mapping):
        return {name: _taken(column, order) for name, column in records.items()}
    if isinstance(records, np.ndarray):
        return records.take(order, axis=0)
    if hasattr(records, "iloc"):
        return records.iloc[order].reset_index(drop=True)
    if hasattr(records, "num_rows"):
        return records.take(order)
    if hasattr(records, "iter_rows"):
        return records[order]
    return [records[i] for i in order.tolist()]


def _stretch(mixed: Any, start: int, end: int) -> Any:
    if isinstance(mixed, Mapping):
        return {name: _stretch(column, start, end) for name, column in mixed.items()}
    if hasattr(mixed, "num_rows"):
        return mixed.slice(start, end - start)
    if hasattr(mixed, "iloc"):
        return mixed.iloc[start:end].reset_index(drop=True)
    return mixed[start:end]
