"""The collector: reports in, exact sums out, whatever arrives and however often it stops."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from tacit.errors import DataSourceError, MismatchError, UsageError
from tacit.exact import Number, as_fraction, as_integer
from tacit.local.batch_file import CHUNK_BYTES, Header, read_header, read_records
from tacit.local.oracle import FrequencyOracle, Oracle, State, oracle_from
from tacit.local.poisoning import Bounds, Influence, honest_bounds, influence
from tacit.local.replay import Bitmap, ExactSet, Remembering, Seen, seen_from
from tacit.local.report_format import REASONS, Decoded, Reason, Wire

__all__ = ["Collector", "write_whole"]

_MAGIC = b"TACITLC1"
_DIGEST = 32
_MEMORIES: Mapping[str, type[Seen]] = {"exact": ExactSet, "bitmap": Bitmap}


class Collector:
    """Adds up the reports of one question, in memory that does not grow with their number.

    What is no report of this question is refused, counted by reason, and disturbs nothing else.
    Collectors of the same question add up (``a + b``), so that machines and processes can share
    the work; one is saved to a file and resumed from it.  All sums are exact integers.

    Args:
        oracle: the mechanism, as on the devices.
        replay: remember the ids of reports, ``"exact"`` or in a ``"bitmap"`` of bounded memory (see
            :mod:`tacit.local.replay`), and refuse a report that comes again; a report without an id
            is then refused too.  By default ids are not looked at.
        outliers: refuse reports that support so many or so few items that an honest device sends
            one with at most this probability (see :func:`tacit.local.poisoning.honest_bounds`).

    Attributes:
        oracle: the mechanism.
        refused: how many reports were refused, by reason
            (:data:`~tacit.local.report_format.REASONS`).

    Raises:
        UsageError: no such memory; a bound on outliers of a mechanism that has none.

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
        outliers: Number | None = None,
    ) -> None:
        self.oracle = oracle
        self._wire = Wire(oracle)
        self._n = 0
        self._sums = oracle.empty().sums
        self._refused: Counter[Reason] = Counter()
        self._seen = _memory(replay)
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

    def estimate(self) -> Any:
        """Return the mechanism's estimate from all that was added up."""
        if not isinstance(self.oracle, FrequencyOracle) and not hasattr(self.oracle, "estimate"):
            raise UsageError(f"{type(self.oracle).__name__} has no estimate of its own")
        return self.oracle.estimate(self.state)

    def influence(self, crafted: int) -> Influence:
        """Return how far ``crafted`` reports among those added up can have moved the estimate.

        Raises:
            UsageError: a mechanism whose influence is not known.
        """
        return influence(self.oracle, crafted, n=max(1, self._n))

    def add(self, reports: Any, ids: NDArray[np.uint8] | None = None) -> int:
        """Add a batch as ``oracle.layout`` tells; returns how many were accepted.

        Args:
            reports: a batch; one that has another shape is refused whole.
            ids: their ids, (n, 16) of uint8, where replays are looked for.

        Raises:
            UsageError: what was handed over is no array of reports.
        """
        batch = np.asarray(reports)
        columns = self.oracle.layout.columns
        if batch.ndim != (2 if columns else 1) or (columns and batch.shape[1] != columns):
            self._refused["length"] += len(batch) if batch.ndim else 1
            return 0
        if batch.dtype.kind not in "ui":
            self._refused["range"] += len(batch)
            return 0
        good = self.oracle.valid(batch)
        return self._accept(batch.astype(self.oracle.layout.dtype, copy=False), good, ids)

    def _accept(
        self, batch: NDArray[Any], good: NDArray[np.bool_], ids: NDArray[np.uint8] | None
    ) -> int:
        """Add the good reports of a batch, and count why the others are not."""
        self._refused["range"] += len(good) - int(np.count_nonzero(good))
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
            self._sums = self._sums + self.oracle._sums(kept)
            self._n += accepted
        return accepted

    def add_report(self, data: bytes) -> bool:
        """Add one report that travelled alone; returns whether it was accepted; never raises."""
        return self._add_found(self._wire.read(data))

    def add_json(self, text: str | bytes) -> bool:
        """Add one report written as JSON; returns whether it was accepted; never raises."""
        return self._add_found(self._wire.read_json(text))

    def _add_found(self, found: Decoded | Reason) -> bool:
        if isinstance(found, str):
            self._refused[found] += 1
            return False
        ids = np.frombuffer(found.id, np.uint8)[None]
        return bool(self._accept(np.asarray(found.report)[None], np.ones(1, bool), ids))

    def add_file(self, path: str | os.PathLike[str]) -> int:
        """Add a batch file in bounded memory; returns how many reports were accepted.

        A file of another question is refused record by record; a file that is none counts as one.

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
            self._refused[header] += 1
            return 0
        refusal = header.refusal(self.oracle)
        if refusal is not None:
            body = os.fstat(file.fileno()).st_size - header.size
            self._refused[refusal] += -(-body // header.record_bytes)
            return 0
        return self._add_records(file, header)

    def _add_records(self, file: BinaryIO, header: Header) -> int:
        accepted = 0
        for part in read_records(file, header, CHUNK_BYTES):
            if isinstance(part, int):
                self._refused["length"] += 1
            else:
                batch, good = self._wire.unpack(part.payloads)
                accepted += self._accept(batch, good, part.ids)
        return accepted

    def add_files(self, paths: Iterable[str | os.PathLike[str]], *, processes: int = 1) -> int:
        """Add many batch files, in several processes if asked; returns how many were accepted.

        Raises:
            DataSourceError: a file cannot be opened or read; those before it are added.
            UsageError: several processes while replays are looked for (one memory must see all
            ids).
        """
        listed = [os.fspath(path) for path in paths]
        workers = min(as_integer(processes, "processes", minimum=1), max(1, len(listed)))
        if workers == 1:
            return sum(self.add_file(path) for path in listed)
        if self._seen is not None:
            raise UsageError("replays are found by one process only: processes=1, or replay=None")
        before = self._n
        jobs = [(self.oracle.describe(), str(path), self._outliers) for path in listed]
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            for n, sums, refused in pool.map(_collect_one, jobs):
                self._n += n
                self._sums = self._sums + sums
                self._refused.update(refused)
        return self._n - before

    def __add__(self, other: Collector) -> Collector:
        """Return a collector of both; neither changes.

        Raises:
            MismatchError: of another question, or the same reports were counted by both.
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
            both._seen = self._seen + other._seen
        return both

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all to a file that is complete or, if anything dies meanwhile, the former one.

        The file: ``"TACITLC1"``, the length of a JSON header (8 bytes), the header, the sums as
        little-endian int64, the memory of ids, and the SHA-256 of all before.

        Raises:
            DataSourceError: the file cannot be written.
        """
        memory = b"" if self._seen is None else self._seen.to_bytes()
        header = {
            "oracle": self.oracle.describe(),
            "fingerprint": self.oracle.fingerprint,
            "n": self._n,
            "sums": len(self._sums),
            "refused": self.refused,
            "replay": None if self._seen is None else self._seen.kind,
            "outliers": None if self._outliers is None else str(self._outliers),
        }
        text = json.dumps(header, sort_keys=True).encode()
        sums = self._sums.astype("<i8").tobytes()
        body = b"".join([_MAGIC, len(text).to_bytes(8, "little"), text, sums, memory])
        write_whole(Path(path), body + hashlib.sha256(body).digest())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Collector:
        """Resume from a file that :meth:`save` wrote.

        Raises:
            DataSourceError: the file cannot be read, is no collector's, or was damaged.
        """
        name = Path(path).name
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise DataSourceError(f"{name} cannot be read: {error.strerror}") from None
        body, digest = data[:-_DIGEST], data[-_DIGEST:]
        if not body.startswith(_MAGIC):
            raise DataSourceError(f"{name} is not the state of a collector")
        if hashlib.sha256(body).digest() != digest:
            raise DataSourceError(f"{name} is damaged: its checksum does not hold; use a copy")
        try:
            return cls._resumed(body[len(_MAGIC) :])
        except (ValueError, KeyError, TypeError) as error:
            raise DataSourceError(f"{name} is not a state that can be resumed: {error}") from None

    @classmethod
    def _resumed(cls, body: bytes) -> Collector:
        length = int.from_bytes(body[:8], "little")
        header, rest = json.loads(body[8 : 8 + length]), body[8 + length :]
        oracle = oracle_from(header["oracle"])
        if oracle.fingerprint != header["fingerprint"]:
            raise UsageError("its mechanism is built differently by this version of Tacit")
        cut = 8 * header["sums"]
        seen = None if header["replay"] is None else seen_from(header["replay"], rest[cut:])
        made = cls(oracle, replay=seen, outliers=header["outliers"])
        sums = np.frombuffer(rest[:cut], "<i8").astype(np.int64)
        if sums.shape != made._sums.shape:
            raise UsageError("its sums are not those of its mechanism")
        made._n, made._sums = header["n"], sums
        made._refused = Counter(header["refused"])
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


def _collect_one(
    job: tuple[dict[str, Any], str, Fraction | None],
) -> tuple[int, NDArray[np.int64], dict[Reason, int]]:
    """Add up one file in another process."""
    description, path, outliers = job
    collector = Collector(oracle_from(description), outliers=outliers)
    collector.add_file(path)
    return collector.n, collector._sums, collector.refused


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file by another at once: written beside it, forced to the disk, then renamed."""
    try:
        descriptor, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, path)
        except BaseException:
            os.unlink(beside)
            raise
    except OSError as error:
        raise DataSourceError(f"{path.name} cannot be written: {error.strerror}") from None
