"""The collector: reports in, exact sums out, whatever arrives and however often it stops."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number, as_fraction, as_integer
from tacit.calls import public
from tacit.errors import DataSourceError, MismatchError, UsageError
from tacit.local.base.oracle import FrequencyOracle, Oracle, State, oracle_from
from tacit.local.collecting.batch_file import CHUNK_BYTES, Chunk, Header, read_header, read_records
from tacit.local.collecting.collector_state import Kept, read_kept, write_kept
from tacit.local.collecting.replay_guard import Bitmap, ExactSet, Remembering, Seen, Shards
from tacit.local.collecting.wire import ID_BYTES, REASONS, Decoded, Reason, Wire
from tacit.local.planning.poisoning import Bounds, Influence, honest_bounds, influence

__all__ = ["Collector"]

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
            :mod:`tacit.local.collecting.replay_guard`), and refuse a report that comes again; a
            report without an id is then refused too.  By default ids are not looked at.
        shard: with ``replay``: ``(i, of)`` for a collector that takes only the ids of share i of
            0 .. of - 1 and refuses the others, so that several collectors together count no
            report twice; :func:`tacit.local.shard_of` returns where a report belongs.
        outliers: refuse reports that support so many or so few items that an honest device sends
            one with at most this probability (see
            :func:`tacit.local.planning.poisoning.honest_bounds`).

    Attributes:
        oracle: the mechanism.
        refused: how many reports were refused, by reason
            (:data:`~tacit.local.collecting.wire.REASONS`).

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
        """How many reports were added up."""
        return self._n

    @property
    def refused(self) -> dict[Reason, int]:
        """How many reports were refused, by reason."""
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

        Args:
            poisoned: how many of the reports may be made up.
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
            kept = batch if accepted == len(batch) else batch[good]
            self._sums = self._sums + self.oracle.sums_of_valid(kept)
            self._n += accepted
        return accepted

    def add_report(self, data: bytes) -> bool:
        """Add one report that travelled alone; returns whether it was accepted; never raises.

        Args:
            data: the bytes of one report, as a device sent them.
        """
        return self._add_found(self._wire.read(data))

    def add_json(self, text: str | bytes) -> bool:
        """Add one report written as JSON; returns whether it was accepted; never raises.

        Args:
            text: one report as JSON.
        """
        return self._add_found(self._wire.read_json(text))

    def _add_found(self, found: Decoded | Reason) -> bool:
        if isinstance(found, str):
            self._refused[found] += 1
            return False
        ids = np.frombuffer(found.id, np.uint8)[None]
        return bool(self._accept(np.asarray(found.report)[None], np.ones(1, bool), ids))

    def add_file(self, path: str | os.PathLike[str]) -> int:
        """Add a batch file in bounded memory; returns how many reports were accepted.

        A file of another question is refused record by record; what is not a batch file counts as
        one refused report.

        Args:
            path: of the batch file.

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
        asked = as_integer(processes, "processes", minimum=1)
        workers = asked if self._seen is not None else min(asked, len(listed))
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

        Args:
            path: of the file.

        Raises:
            DataSourceError: the file cannot be written.
        """
        outliers = None if self._outliers is None else str(self._outliers)
        kept = Kept(
            self.oracle, self._n, self._sums, self.refused, self._seen, self._shards, outliers
        )
        write_kept(Path(os.path.expanduser(path)), kept)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Collector:
        """Resume from a file that :meth:`save` wrote.

        Args:
            path: of the file.

        Raises:
            DataSourceError: the file cannot be read, is not that of a collector, or was damaged.
        """
        kept = read_kept(Path(os.path.expanduser(path)))
        try:
            made = cls(kept.oracle, replay=kept.seen, outliers=kept.outliers)
        except UsageError as error:
            name = Path(path).name
            raise DataSourceError(f"{name} is not a state that can be resumed: {error}") from None
        made._n, made._sums, made._shards = kept.n, kept.sums, kept.shards
        made._refused = Counter(kept.refused)
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
