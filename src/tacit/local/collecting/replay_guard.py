"""Replays: remember which reports were counted, exactly or in a fixed amount of memory."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import as_integer
from tacit.arithmetic.mixing import mixed
from tacit.calls import public
from tacit.errors import MismatchError, UsageError

__all__ = ["Bitmap", "ExactSet", "Remembering", "Seen", "Shards", "seen_from", "shard_of"]

Remembering: TypeAlias = Literal["exact", "bitmap"]
Ids = NDArray[np.uint8]
_ID_AT, _ID_BYTES = 22, 16
"""Where the id of a report stands: see :mod:`tacit.local.collecting.wire`."""

_PROBES = 4
_BITMAP_BITS = 30


@dataclass(frozen=True)
class Shards:
    """The shares of all ids that a collector looks after: ids whose number is theirs.

    The number of an id is four of its bytes, mixed, modulo ``of``.

    >>> shards = Shards.one(1, 4)
    >>> shards.hold(np.arange(64, dtype=np.uint8).reshape(4, 16)).tolist()
    [False, False, False, True]
    """

    held: frozenset[int]
    of: int
    at: int = 0

    @classmethod
    def one(cls, number: int, of: int, at: int = 0) -> Shards:
        """Return one share of ``of``.

        Raises:
            UsageError: a share that is not one of 0 .. of - 1.
        """
        many = as_integer(of, "the number of shards", minimum=1)
        one = as_integer(number, "a shard", minimum=0)
        if one >= many:
            raise UsageError(
                f"there are {many} shards, numbered from 0 to {many - 1}, and none is {one}"
            )
        return cls(frozenset([one]), many, at)

    def numbers(self, ids: Ids) -> NDArray[np.uint64]:
        """Return the number of each id."""
        words = np.ascontiguousarray(ids[:, self.at : self.at + 4]).view("<u4")[:, 0]
        found: NDArray[np.uint64] = mixed(words.astype(np.uint64)) % np.uint64(self.of)
        return found

    def hold(self, ids: Ids) -> NDArray[np.bool_]:
        """Return which ids are looked after."""
        return np.isin(self.numbers(ids), np.array(sorted(self.held), np.uint64))

    @staticmethod
    def apart(one: Shards | None, two: Shards | None) -> bool:
        """Whether no id is looked after by both."""
        both = one is not None and two is not None and one.of == two.of
        return both and not one.held & two.held  # type: ignore[union-attr]

    @staticmethod
    def of_both(one: Shards | None, two: Shards | None) -> Shards | None:
        """Return what two collectors look after together: all, where they were not cut alike."""
        if one is None or two is None or one.of != two.of:
            return None
        held = one.held | two.held
        return None if len(held) == one.of else Shards(held, one.of)

    def describe(self) -> list[int]:
        """Return the number of shares, and those that are held."""
        return [self.of, *sorted(self.held)]

    @classmethod
    def from_description(cls, described: list[int]) -> Shards:
        """Build from :meth:`describe`."""
        of, *held = described
        if not held:
            raise UsageError("a collector must hold at least one shard")
        return cls(frozenset(number for one in held for number in cls.one(one, of).held), of)


@public
def shard_of(report: bytes, of: int) -> int:
    """Return which of ``of`` collectors a report that travels alone belongs to, by its id.

    What is not a report belongs to some collector as well, which refuses and counts it.

    Args:
        report: the bytes of one report.
        of: how many collectors there are.

    >>> from tacit.local import RandomizedResponse, Wire
    >>> 0 <= shard_of(Wire(RandomizedResponse(p="3/4")).encode(1), 4) < 4
    True
    """
    number = bytes(report[_ID_AT : _ID_AT + _ID_BYTES]).ljust(_ID_BYTES, b"\0")
    return int(Shards.one(0, of).numbers(np.frombuffer(number, np.uint8)[None])[0])


class Seen(ABC):
    """The ids of the reports that were counted."""

    kind: Remembering

    @abstractmethod
    def fresh(self, ids: Ids, candidates: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which of the candidates have an id not seen before, and remember those.

        Args:
            ids: (n, 16) of uint8.
            candidates: which of the n are reports at all; the others leave no trace.
        """

    @abstractmethod
    def __add__(self, other: Seen) -> Seen:
        """Return a memory of both, which must have counted no report twice.

        Raises:
            MismatchError: they did, or cannot know.
        """

    @abstractmethod
    def joined(self, other: Any) -> Seen:
        """Return a memory of both, known to look after different ids or to share a past.

        Raises:
            MismatchError: another size or kind of memory.
        """

    @abstractmethod
    def to_bytes(self) -> bytes:
        """Return the memory as bytes for :func:`seen_from`."""


class ExactSet(Seen):
    """All ids, in a set: about 100 bytes a report, and never wrong.

    >>> seen = ExactSet()
    >>> ids = np.zeros((2, 16), np.uint8)
    >>> seen.fresh(ids, np.array([True, True])).tolist()
    [True, False]
    """

    kind: Remembering = "exact"

    def __init__(self, ids: set[bytes] | None = None) -> None:
        self._ids = set() if ids is None else ids

    def fresh(self, ids: Ids, candidates: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """See :meth:`Seen.fresh`."""
        data = np.ascontiguousarray(ids).tobytes()
        result = candidates.copy()
        for i in np.flatnonzero(candidates).tolist():
            one = data[16 * i : 16 * i + 16]
            result[i] = one not in self._ids
            self._ids.add(one)
        return result

    def __add__(self, other: Seen) -> ExactSet:
        """Return both together.

        Raises:
            MismatchError: a report was counted on both sides, or the memories differ in kind.
        """
        if not isinstance(other, ExactSet):
            raise MismatchError("collectors that remember ids differently cannot be added")
        both = len(self._ids & other._ids)
        if both:
            raise MismatchError(
                f"{both} reports were counted by both collectors; give each a share of the ids, "
                "such as shard=(0, 2) and shard=(1, 2)"
            )
        return self.joined(other)

    def joined(self, other: Any) -> ExactSet:
        """See :meth:`Seen.joined`."""
        if not isinstance(other, ExactSet):
            raise MismatchError("collectors that remember ids differently cannot be added")
        return ExactSet(self._ids | other._ids)

    def to_bytes(self) -> bytes:
        """Return the ids, sorted, one after the other."""
        return b"".join(sorted(self._ids))


class Bitmap(Seen):
    """A Bloom filter (B. Bloom, 1970): a fixed number of bits, four of them a report.

    No replay gets through.  An honest report is taken for one with probability
    ``(1 - e**(-4 n / bits))**4`` after n reports, whatever its content: it is then refused and
    counted, which costs a little precision and no bias.  With the default 2**30 bits (128 MiB)
    that is 2e-6 at n = 10**7.

    >>> round(Bitmap(24).false_refusals(100_000), 8)
    3.1e-07
    """

    kind: Remembering = "bitmap"

    def __init__(
        self, log2_bits: int = _BITMAP_BITS, data: NDArray[np.uint8] | None = None
    ) -> None:
        size = as_integer(log2_bits, "the logarithm of the bitmap's size", minimum=10)
        if size > 38:
            raise UsageError(f"a bitmap has at most 2**38 bits (32 GiB), not 2**{size}")
        self.log2_bits = size
        self._bits = np.zeros(1 << (size - 3), np.uint8) if data is None else data

    def false_refusals(self, n: int) -> float:
        """Return the probability that an honest report is refused after ``n`` others."""
        return float((1 - math.exp(-_PROBES * n / 2**self.log2_bits)) ** _PROBES)

    def _places(self, ids: Ids) -> NDArray[np.uint64]:
        """Return four places an id, stepped through by its two halves (Kirsch, Mitzenmacher)."""
        halves = np.ascontiguousarray(ids).view("<u8").astype(np.uint64)
        first, step = mixed(halves[:, 0]), mixed(halves[:, 1]) | np.uint64(1)
        probes = np.arange(_PROBES, dtype=np.uint64)
        return (first[:, None] + probes * step[:, None]) >> np.uint64(64 - self.log2_bits)

    def fresh(self, ids: Ids, candidates: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """See :meth:`Seen.fresh`."""
        result = candidates.copy()
        asked = np.flatnonzero(candidates)
        first = _first_of_each(ids[asked])
        result[asked] = first
        asked = asked[first]
        places = self._places(ids[asked])
        byte, bit = (places >> np.uint64(3)).astype(np.int64), (places & np.uint64(7))
        masks = np.uint8(1) << bit.astype(np.uint8)
        known = (self._bits[byte] & masks != 0).all(axis=1)
        np.bitwise_or.at(self._bits, byte[~known].ravel(), masks[~known].ravel())
        result[asked] = ~known
        return result

    def __add__(self, other: Seen) -> Bitmap:
        """Refuse: what both counted cannot be distinguished from bitmaps.

        Raises:
            MismatchError: always; :meth:`joined` is for memories of different shards.
        """
        raise MismatchError(
            "a bitmap cannot know whether both collectors counted a report: give each ids of its "
            "own, shard=(0, 2) and shard=(1, 2), or take replay='exact'"
        )

    def joined(self, other: Any) -> Bitmap:
        """See :meth:`Seen.joined`."""
        if not isinstance(other, Bitmap) or other.log2_bits != self.log2_bits:
            raise MismatchError("collectors that remember ids differently cannot be added")
        return Bitmap(self.log2_bits, self._bits | other._bits)

    def to_bytes(self) -> bytes:
        """Return the bits."""
        return self._bits.tobytes()


def _first_of_each(ids: Ids) -> NDArray[np.bool_]:
    """Return which rows are the first with their content."""
    halves = np.ascontiguousarray(ids).view("<u8")
    order = np.lexsort((halves[:, 1], halves[:, 0]))  # stable: of equal ids the first stays first
    ordered = halves[order]
    again = np.zeros(len(ids), bool)
    again[1:] = (ordered[1:] == ordered[:-1]).all(axis=1)
    first = np.ones(len(ids), bool)
    first[order[again]] = False
    return first


def seen_from(kind: str, data: bytes) -> Seen:
    """Build a memory from :meth:`Seen.to_bytes`.

    Raises:
        UsageError: no such kind, or a size that cannot be.
    """
    if kind == "exact" and len(data) % 16 == 0:
        return ExactSet({data[i : i + 16] for i in range(0, len(data), 16)})
    size = 8 * len(data)
    if kind == "bitmap" and size >= 1 << 10 and size & (size - 1) == 0:
        return Bitmap(size.bit_length() - 1, np.frombuffer(data, np.uint8).copy())
    raise UsageError("the collector's memory of ids cannot be read")
