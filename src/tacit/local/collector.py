"""Collectors: reports of strangers, checked, counted once and added up."""

from __future__ import annotations

import hashlib
import json
import math
import os
import tempfile
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number, as_fraction, as_integer
from tacit.arithmetic.mixing import mixed
from tacit.calls import public
from tacit.errors import DataSourceError, MismatchError, UsageError
from tacit.local.batch_file import CHUNK_BYTES, Chunk, Header, read_header, read_records
from tacit.local.oracle import FrequencyOracle, Oracle, State, oracle_from
from tacit.local.poisoning import Bounds, Influence, honest_bounds, influence
from tacit.local.wire import ID_BYTES, REASONS, Decoded, Reason, Wire
from tacit.outside import read_json

# Replays: remember which reports were counted, exactly or in a fixed amount of memory.


Remembering: TypeAlias = Literal["exact", "bitmap"]
Ids = NDArray[np.uint8]
_ID_AT, _ID_BYTES = 22, 16  # where the id of a report stands: see :mod:`tacit.local.wire`

_PROBES = 4
_BITMAP_BITS = 30


@dataclass(frozen=True)
class Shards:
    """The shares of all ids that a collector looks after: ids whose number is theirs.

    >>> shards = Shards.one(1, 4)
    >>> shards.hold(np.arange(64, dtype=np.uint8).reshape(4, 16)).tolist()
    [False, False, False, True]
    """

    # The number of an id is four of its bytes, mixed, modulo ``of``.

    indices: frozenset[int]
    of: int
    at: int = 0

    @classmethod
    def one(cls, number: int, of: int, at: int = 0) -> Shards:
        """Return one share of ``of``."""
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
        return mixed(words.astype(np.uint64)) % np.uint64(self.of)

    def hold(self, ids: Ids) -> NDArray[np.bool_]:
        """Return which ids are looked after."""
        return np.isin(self.numbers(ids), np.array(sorted(self.indices), np.uint64))

    @staticmethod
    def apart(one: Shards | None, two: Shards | None) -> bool:
        """True if no id belongs to both."""
        both = one is not None and two is not None and one.of == two.of
        return both and not one.indices & two.indices  # type: ignore[union-attr]

    @staticmethod
    def of_both(one: Shards | None, two: Shards | None) -> Shards | None:
        """Return what two collectors look after together: all, where they were not cut alike."""
        if one is None or two is None or one.of != two.of:
            return None
        numbers = one.indices | two.indices
        return None if len(numbers) == one.of else Shards(numbers, one.of)

    def describe(self) -> list[int]:
        """Return the number of shares, and those that are held."""
        return [self.of, *sorted(self.indices)]

    @classmethod
    def from_description(cls, described: list[int]) -> Shards:
        """Build from :meth:`describe`."""
        of, *numbers = described
        if not numbers:
            raise UsageError("a collector needs at least one shard")
        return cls(frozenset(number for one in numbers for number in cls.one(one, of).indices), of)


@public
def shard_of(report: bytes, of: int) -> int:
    """Return which of ``of`` collectors a report that travels alone belongs to, by its id.

    What is not a report belongs to some collector as well, which refuses and counts it.

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
        """Return which of the candidates have an id not seen before, and remember those."""
        # candidates: which of the n are reports at all; the others leave no trace.

    @abstractmethod
    def __add__(self, other: Seen) -> Seen:
        """Return a memory of both, which must have counted no report twice."""

    @abstractmethod
    def joined(self, other: Any) -> Seen:
        """Return a memory of both, known to look after different ids or to share a past."""

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
        data = np.ascontiguousarray(ids).tobytes()
        result = candidates.copy()
        for i in np.flatnonzero(candidates).tolist():
            one = data[16 * i : 16 * i + 16]
            result[i] = one not in self._ids
            self._ids.add(one)
        return result

    def __add__(self, other: Seen) -> ExactSet:
        """Return both together."""
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
        if not isinstance(other, ExactSet):
            raise MismatchError("collectors that remember ids differently cannot be added")
        return ExactSet(self._ids | other._ids)

    def to_bytes(self) -> bytes:
        return b"".join(sorted(self._ids))


class Bitmap(Seen):
    """A Bloom filter (B. Bloom, 1970): a fixed number of bits, four of them a report.

    >>> round(Bitmap(24).false_refusals(100_000), 8)
    3.1e-07
    """

    # No replay gets through.  An honest report is taken for one with probability
    # ``(1 - e**(-4 n / bits))**4`` after n reports, whatever its content: it is then refused and
    # counted, which costs a little precision and no bias.  With the default 2**30 bits (128 MiB)
    # that is 2e-6 at n = 10**7.

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

    def _slots(self, ids: Ids) -> NDArray[np.uint64]:
        """Return four places an id, stepped through by its two halves (Kirsch, Mitzenmacher)."""
        halves = np.ascontiguousarray(ids).view("<u8").astype(np.uint64)
        first, step = mixed(halves[:, 0]), mixed(halves[:, 1]) | np.uint64(1)
        probes = np.arange(_PROBES, dtype=np.uint64)
        return (first[:, None] + probes * step[:, None]) >> np.uint64(64 - self.log2_bits)

    def fresh(self, ids: Ids, candidates: NDArray[np.bool_]) -> NDArray[np.bool_]:
        result = candidates.copy()
        positions = np.flatnonzero(candidates)
        first = _first_of_each(ids[positions])
        result[positions] = first
        positions = positions[first]
        indices = self._slots(ids[positions])
        byte, bit = (indices >> np.uint64(3)).astype(np.int64), (indices & np.uint64(7))
        masks = np.uint8(1) << bit.astype(np.uint8)
        known = (self._bits[byte] & masks != 0).all(axis=1)
        np.bitwise_or.at(self._bits, byte[~known].ravel(), masks[~known].ravel())
        result[positions] = ~known
        return result

    def __add__(self, other: Seen) -> Bitmap:
        """Raise always: reports that both counted cannot be identified from bitmaps."""
        raise MismatchError(
            "a bitmap cannot know whether both collectors counted a report: give each ids of its "
            "own, shard=(0, 2) and shard=(1, 2), or take replay='exact'"
        )

    def joined(self, other: Any) -> Bitmap:
        if not isinstance(other, Bitmap) or other.log2_bits != self.log2_bits:
            raise MismatchError("collectors that remember ids differently cannot be added")
        return Bitmap(self.log2_bits, self._bits | other._bits)

    def to_bytes(self) -> bytes:
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
    """Build a memory from :meth:`Seen.to_bytes`."""
    if kind == "exact" and len(data) % 16 == 0:
        return ExactSet({data[i : i + 16] for i in range(0, len(data), 16)})
    size = 8 * len(data)
    if kind == "bitmap" and size >= 1 << 10 and size & (size - 1) == 0:
        return Bitmap(size.bit_length() - 1, np.frombuffer(data, np.uint8).copy())
    raise UsageError("the collector's memory of ids cannot be read")


# The file of a collector: written whole or not at all, and never read if it was damaged.
#
# The file: ``"TACITLC1"``, the length of a JSON header (8 bytes), the header, the sums as
# little-endian int64, the memory of ids, and the SHA-256 of all before.


_MAGIC = b"TACITLC1"
_DIGEST = 32


@dataclass(frozen=True)
class CollectorState:
    """All that a collector knows."""

    oracle: Oracle
    n: int
    sums: NDArray[np.int64]
    refused: Mapping[Reason, int]
    seen: Seen | None
    shards: Shards | None
    outliers: str | None


def write_state(path: Path, state: CollectorState) -> None:
    """Save to a file, which after a crash is either complete or the former one."""
    memory = b"" if state.seen is None else state.seen.to_bytes()
    header = {
        "oracle": state.oracle.describe(),
        "fingerprint": state.oracle.fingerprint,
        "n": state.n,
        "sums": len(state.sums),
        "refused": dict(state.refused),
        "replay": None if state.seen is None else state.seen.kind,
        "shards": None if state.shards is None else state.shards.describe(),
        "outliers": state.outliers,
    }
    text = json.dumps(header, sort_keys=True).encode()
    sums = state.sums.astype("<i8").tobytes()
    body = b"".join([_MAGIC, len(text).to_bytes(8, "little"), text, sums, memory])
    write_atomically(path, body + hashlib.sha256(body).digest())


def read_state(path: Path) -> CollectorState:
    """Read what :func:`write_state` wrote."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataSourceError(f"{path.name} cannot be read: {error.strerror}") from None
    body, digest = data[:-_DIGEST], data[-_DIGEST:]
    if not body.startswith(_MAGIC):
        raise DataSourceError(f"{path.name} is not the state of a collector")
    if hashlib.sha256(body).digest() != digest:
        raise DataSourceError(f"{path.name} is damaged: its checksum does not hold; use a copy")
    try:
        return _resumed(body[len(_MAGIC) :])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DataSourceError(f"{path.name} is not a state that can be resumed: {error}") from None


def _resumed(body: bytes) -> CollectorState:
    length = int.from_bytes(body[:8], "little")
    header, rest = read_json(body[8 : 8 + length], "its head"), body[8 + length :]
    oracle = oracle_from(header["oracle"])
    if oracle.fingerprint != header["fingerprint"]:
        raise UsageError("its mechanism is built differently by this version of Tacit")
    cut = 8 * as_integer(header["sums"], "the number of sums", minimum=0)
    seen = None if header["replay"] is None else seen_from(header["replay"], rest[cut:])
    if seen is None and len(rest) > cut:
        raise UsageError("there are bytes left over")
    sums = np.frombuffer(rest[:cut], "<i8").astype(np.int64)
    if sums.shape != oracle.empty().sums.shape:
        raise UsageError("its sums are not those of its mechanism")
    shards = header.get("shards")
    return CollectorState(
        oracle,
        as_integer(header["n"], "the number of reports", minimum=0),
        sums,
        _refused(header["refused"]),
        seen,
        None if shards is None else Shards.from_description(shards),
        header["outliers"],
    )


def _refused(fields: Mapping[str, Any]) -> dict[Reason, int]:
    if set(fields) - set(REASONS):
        raise UsageError(
            "reports were refused for reasons that this version of Tacit does not know"
        )
    counts = {reason: as_integer(fields.get(reason, 0), reason, minimum=0) for reason in REASONS}
    return {reason: count for reason, count in counts.items() if count}


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file by another at once: written beside it, forced to the disk, then renamed."""
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise DataSourceError(f"{path.name} cannot be written: {error.strerror}") from None


# The collector: reports in, exact sums out, whatever arrives and however often it stops.


_Job: TypeAlias = tuple[
    Any, Fraction | None, Seen | None, Shards | None, list[str], tuple[int, int] | None
]
_MEMORIES: Mapping[str, type[Seen]] = {"exact": ExactSet, "bitmap": Bitmap}


@public
class Collector:
    """Adds up the reports of one question, in memory that does not grow with their number.

    What is not a report of this question is refused, counted by reason, and has no other effect.
    Collectors of the same question add up (``a + b``), so that machines and processes can share the
    work; one is saved to a file and resumed from it.  All sums are exact integers.

    Args:
        oracle: the mechanism, as on the devices.
        replay: remember the ids of reports, ``"exact"`` or in a ``"bitmap"`` of bounded memory (see
            :mod:`tacit.local.collector`), and refuse a report that comes again; a
            report without an id is then refused too.  By default ids are not examined.
        shard: with ``replay``: ``(i, of)`` for a collector that takes only the ids of share i of
            0 .. of - 1 and refuses the others, so that several collectors together count no
            report twice; :func:`tacit.local.shard_of` returns where a report belongs.
        outliers: refuse reports that support this many or so few items that an honest device sends
            one with at most this probability (see
            :func:`tacit.local.poisoning.honest_bounds`).

    Attributes:
        oracle: the mechanism.
        refused: how many reports were refused, by reason
            (:data:`~tacit.local.wire.REASONS`).

    Raises:
        UsageError: no such memory or shard; a bound on outliers for a mechanism that has none.

    Example:
        >>> from tacit.local import DirectEncoding
        >>> question = DirectEncoding(["yes", "no"], p="3/4")
        >>> collector = Collector(question)
        >>> collector.add(question.perturb_many(["yes"] * 100))
        100
        >>> collector.add_report(b"not a report")
        False
        >>> collector.n, collector.refused
        (100, {'not a report': 1})
    """

    def __init__(
        self,
        oracle: Oracle,
        *,
        replay: Remembering | Seen | None = None,
        shard: tuple[int, int] | None = None,
        outliers: Number | None = None,
    ) -> None:
        self._wire = Wire(oracle)
        self.oracle = oracle
        self._n = 0
        self._sums = oracle.empty().sums
        self._refused: Counter[Reason] = Counter()
        self._seen = _memory(replay)
        self._shards = None if shard is None else Shards.one(*shard)
        if self._shards is not None and self._seen is None:
            raise UsageError("shard is for collectors that look for replays: give replay as well")
        self._part: tuple[int, int] | None = None
        self._outliers = None if outliers is None else as_fraction(outliers, "outliers")
        self._bounds: Bounds | None = (
            None if self._outliers is None else honest_bounds(oracle, self._outliers)
        )

    @property
    def n(self) -> int:
        """Number of reports added."""
        return self._n

    @property
    def refused(self) -> dict[Reason, int]:
        """Number of reports refused, by reason."""
        return {reason: self._refused[reason] for reason in REASONS if self._refused[reason]}

    @property
    def state(self) -> State:
        """The exact sums, for :meth:`~tacit.local.FrequencyOracle.estimate`."""
        return State(self.oracle.fingerprint, self._n, self._sums.copy())

    def estimate(self) -> object:
        """Return the mechanism's estimate from all that was added up."""
        if not isinstance(self.oracle, FrequencyOracle) and not hasattr(self.oracle, "estimate"):
            raise UsageError(f"{type(self.oracle).__name__} has no estimate of its own")
        return self.oracle.estimate(self.state)

    def influence(self, poisoned: int) -> Influence | dict[str, Influence]:
        """Return how far ``poisoned`` reports among those added up can move the estimate.

        See :func:`tacit.local.influence`.
        """
        return influence(self.oracle, poisoned, n=max(1, self._n))

    def add(
        self, reports: Sequence[object] | NDArray[np.generic], ids: NDArray[np.uint8] | None = None
    ) -> int:
        """Add a batch as ``oracle.layout`` states; returns how many were accepted.

        Args:
            reports: a batch; one that has another shape is refused whole.
            ids: their ids, (n, 16) of uint8, where replays are looked for.

        Raises:
            UsageError: ids of another shape.
        """
        try:
            batch = np.asarray(reports)
        except ValueError:  # rows of different lengths
            batch = np.asarray([None] * len(reports))[:, None, None]
        columns = self.oracle.layout.columns
        if batch.ndim != (2 if columns else 1) or (columns and batch.shape[1] != columns):
            self._refused["length"] += len(batch) if batch.ndim else 1
            return 0
        if batch.dtype.kind not in "ui":
            self._refused["range"] += len(batch)
            return 0
        if ids is not None:
            ids = np.asarray(ids)
            if ids.shape != (len(batch), ID_BYTES) or ids.dtype != np.uint8:
                raise UsageError(f"ids are (n, {ID_BYTES}) of uint8, one row a report")
        good = self.oracle.valid(batch)
        return self._accept(batch.astype(self.oracle.layout.dtype, copy=False), good, ids)

    def _accept(
        self, batch: NDArray[Any], good: NDArray[np.bool_], ids: NDArray[np.uint8] | None
    ) -> int:
        """Add the good reports of a batch, and count why the others are not."""
        self._refused["range"] += len(good) - int(np.count_nonzero(good))
        if self._shards is not None and ids is not None:
            here = good & self._shards.hold(ids)
            self._refused["shard"] += int(np.count_nonzero(good & ~here))
            good = here
        if self._bounds is not None:
            inside = good & self._bounds.hold(batch)
            self._refused["outlier"] += int(np.count_nonzero(good & ~inside))
            good = inside
        if self._seen is not None:
            new = np.zeros(len(good), bool) if ids is None else self._seen.fresh(ids, good)
            self._refused["replay"] += int(np.count_nonzero(good & ~new))
            good = new
        accepted = int(np.count_nonzero(good))
        if accepted:
            fresh = batch if accepted == len(batch) else batch[good]
            self._sums = self._sums + self.oracle.sums_of_valid(fresh)
            self._n += accepted
        return accepted

    def add_report(self, data: bytes) -> bool:
        """Add one report that travelled alone; returns whether it was accepted; never raises."""
        return self._add_decoded(self._wire.read(data))

    def add_json(self, text: str | bytes) -> bool:
        """Add one report written as JSON; returns whether it was accepted; never raises."""
        return self._add_decoded(self._wire.read_json(text))

    def _add_decoded(self, decoded: Decoded | Reason) -> bool:
        if isinstance(decoded, str):
            self._refused[decoded] += 1
            return False
        ids = np.frombuffer(decoded.id, np.uint8)[None]
        return bool(self._accept(np.asarray(decoded.report)[None], np.ones(1, bool), ids))

    def add_file(self, path: str | os.PathLike[str]) -> int:
        """Add a batch file in bounded memory; returns how many reports were accepted.

        A file of another question is refused record by record; what is not a batch file counts as
        one refused report.

        Raises:
            DataSourceError: the file cannot be opened or read.
        """
        try:
            with open(path, "rb", buffering=0) as file:
                return self._add_open(file)
        except OSError as error:
            raise DataSourceError(f"{Path(path).name} cannot be read: {error.strerror}") from None

    def _add_open(self, file: BinaryIO) -> int:
        header = read_header(file)
        if isinstance(header, str):
            self._refuse_beside(header, 1)
            return 0
        refusal = header.refusal(self.oracle)
        if refusal is not None:
            body = os.fstat(file.fileno()).st_size - header.size
            self._refuse_beside(refusal, -(-body // header.record_bytes))
            return 0
        return self._add_records(file, header)

    def _add_records(self, file: BinaryIO, header: Header) -> int:
        accepted = 0
        for part in read_records(file, header, CHUNK_BYTES):
            if isinstance(part, int):
                self._refuse_beside("length", 1)
            elif (mine := self._own_part(part)) is not None:
                batch, good = self._wire.unpack(mine.payloads)
                accepted += self._accept(batch, good, mine.ids)
        return accepted

    def _own_part(self, part: Chunk) -> Chunk | None:
        """Return the records that this one of several processes looks after: all but for those."""
        if self._part is None:
            return part
        number, of = self._part
        if part.ids is None:
            return part if number == 0 else None
        mine = Shards.one(number, of, at=8).hold(part.ids)
        return Chunk(part.ids[mine], part.payloads[mine])

    def _refuse_beside(self, reason: Reason, count: int) -> None:
        """Count what has no id, once among all processes."""
        if self._part is None or self._part[0] == 0:
            self._refused[reason] += count

    def add_files(self, paths: Iterable[str | os.PathLike[str]], *, processes: int = 1) -> int:
        """Add many batch files, in several processes if asked; returns how many were accepted.

        Where replays are looked for, each process reads all files and looks after the ids of its
        share, so that a replay is found wherever it lies.

        Args:
            paths: of the batch files.
            processes: how many processes read them.

        Raises:
            DataSourceError: a file cannot be opened or read; without ``processes`` those before it
                are added, else none.
        """
        listed = [os.fspath(path) for path in paths]
        processes_used = as_integer(processes, "processes", minimum=1)
        workers = processes_used if self._seen is not None else min(processes_used, len(listed))
        if workers <= 1 or not listed:
            return sum(self.add_file(path) for path in listed)
        job = (self.oracle.describe(), self._outliers, self._seen, self._shards)
        jobs: list[_Job]
        if self._seen is None:
            jobs = [(*job, [str(path)], None) for path in listed]
        else:
            jobs = [(*job, [str(path) for path in listed], (i, workers)) for i in range(workers)]
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            done = list(pool.map(_collect_some, jobs))
        for n, sums, refused, seen in done:
            self._n += n
            self._sums = self._sums + sums
            self._refused.update(refused)
            self._seen = seen if self._seen is None else self._seen.joined(seen)
        return sum(n for n, _, _, _ in done)

    def __add__(self, other: Collector) -> Collector:
        """Return a collector of the reports of both; neither changes.

        Where replays are looked for, no report may have been counted by both.  Exact memories know;
        bitmaps cannot, and are added only where the two look after different shards.

        Raises:
            MismatchError: the other is of another question, or the same reports were (or may have
                been) counted by both.
        """
        if not isinstance(other, Collector):
            return NotImplemented
        state = self.state + other.state
        if (self._seen is None) != (other._seen is None):
            raise MismatchError(
                "only one of the collectors looks for replays; they cannot be added"
            )
        if self._outliers != other._outliers:
            raise MismatchError("the collectors bound outliers differently; they cannot be added")
        both = Collector(self.oracle, outliers=self._outliers)
        both._n, both._sums = state.n, state.sums
        both._refused = self._refused + other._refused
        if self._seen is not None and other._seen is not None:
            apart = Shards.apart(self._shards, other._shards)
            both._seen = self._seen.joined(other._seen) if apart else self._seen + other._seen
            both._shards = Shards.of_both(self._shards, other._shards)
        return both

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save to a file, which after a crash is either complete or the former one.

        Raises:
            DataSourceError: the file cannot be written.
        """
        outliers = None if self._outliers is None else str(self._outliers)
        state = CollectorState(
            self.oracle, self._n, self._sums, self.refused, self._seen, self._shards, outliers
        )
        write_state(Path(os.path.expanduser(path)), state)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Collector:
        """Resume from a file that :meth:`save` wrote.

        Raises:
            DataSourceError: the file cannot be read, is not that of a collector, or was damaged.
        """
        state = read_state(Path(os.path.expanduser(path)))
        try:
            made = cls(state.oracle, replay=state.seen, outliers=state.outliers)
        except UsageError as error:
            name = Path(path).name
            raise DataSourceError(f"{name} is not a state that can be resumed: {error}") from None
        made._n, made._sums, made._shards = state.n, state.sums, state.shards
        made._refused = Counter(state.refused)
        return made

    def __repr__(self) -> str:
        refused = f", {sum(self._refused.values()):,} refused" if self.refused else ""
        return f"<Collector of {type(self.oracle).__name__}: {self._n:,} reports{refused}>"


def _memory(replay: Remembering | Seen | None) -> Seen | None:
    if replay is None or isinstance(replay, Seen):
        return replay
    if replay not in _MEMORIES:
        raise UsageError(f"replay is 'exact', 'bitmap' or None, not {replay!r}")
    return _MEMORIES[replay]()


def _collect_some(job: _Job) -> tuple[int, NDArray[np.int64], dict[Reason, int], Seen | None]:
    """Add up files in another process: all of them, or the part of their ids that is named."""
    description, outliers, seen, shards, paths, part = job
    collector = Collector(oracle_from(description), replay=seen, outliers=outliers)
    collector._shards, collector._part = shards, part
    collector.add_files(paths)
    return collector.n, collector._sums, collector.refused, collector._seen
