"""Sample-and-aggregate: any function on parts of the data, combined privately."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import math
import sys
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import noise
from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import Number, as_integer, positive, show
from tacit.calls import public
from tacit.core import (
    ChangeOneDistance,
    Domain,
    Measure,
    Measurement,
    Space,
    SymmetricDistance,
    Vector,
)
from tacit.errors import UsageError, did_you_mean, need
from tacit.mechanisms.aggregators import (
    BinFunction,
    Centre,
    MeanOfBins,
    MedianOfBins,
    WinsorizedMeanOfBins,
    coordinates,
)
from tacit.mechanisms.output_distribution import Mixture
from tacit.mechanisms.smooth import SmoothRelease, smooth_noise
from tacit.mechanisms.worker_process import Worker, packed
from tacit.noise.bits import words64
from tacit.statistics.question import unknown_relation
from tacit.statistics.statistic import Statistic

# Records into bins, each record by a draw of its own.
#
# **Distribution.**  Every record draws one of ``k`` bins uniformly, independently of everything
# else, and the records of a bin are in a uniformly random order.
#
# **Coupling.**  Let ``v`` be ``u`` with one record more.  Draw bins and orders for ``v``, then
# strike that record out: what remains has exactly the distribution of ``u``.  So the two can be
# drawn together such that the contents of *at most one* bin differ, as ordered lists.  Let ``v`` be
# ``u`` with one record exchanged, wherever the records stand: pair the records up, the exchanged
# one with its successor, and give both of a pair the same bin and the same place.  Again one bin
# differs.  By induction ``d`` records move at most ``min(d, k)`` bins, under the symmetric and
# under the change-one distance, whatever the order of the rows.
#
# Cutting the rows into stretches of ``ceil(n / k)``, as textbooks do, has no such property: one
# deletion moves every boundary behind it, so that all ``k`` bins change.
#
# **Exactness.**  A record's key is its bin and below it random bits, drawn alike for all records;
# records are sorted by key.  Keys that tie are put in a uniformly random order: records that are
# drawn alike are exchangeable, so every order within a bin is as likely as every other.


@dataclass(frozen=True)
class AnyRecord(Domain):
    """A record of any kind: a number, a label, a row.

    >>> AnyRecord().contains("anything")
    True
    """

    def contains(self, value: Any) -> bool:
        return True

    def read(self, value: Any) -> Any:
        return value

    def sample(self, source: Any) -> Any:
        return source.randint(0, 5)

    def describe(self) -> dict[str, Any]:
        return {"domain": "record"}

    def __str__(self) -> str:
        return "records of any kind"


@dataclass(frozen=True)
class RecordSets(Vector):
    """Data sets of records of any kind: a list, an array (a row is a record), a table.

    >>> RecordSets().read([3, "a"]), record_count({"x": [1, 2], "y": [3, 4]})
    ([3, 'a'], 2)
    """

    # A table is a pandas, polars or Arrow one, or a dict of columns of one length.  The index of a
    # pandas frame is not a part of its records: bins are numbered from 0 on.

    element: Any = field(default_factory=AnyRecord)

    def contains(self, value: Any) -> bool:
        try:
            record_count(value)
        except UsageError:
            return False
        return True

    def read(self, value: Any) -> Any:
        record_count(value)
        return value

    def describe(self) -> dict[str, Any]:
        return {"domain": "rows"}

    def __str__(self) -> str:
        return "rows of any kind"


def record_count(records: Any) -> int:
    """Return how many records there are."""
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
    """Draw bins: the records in the order of their bins, and where each bin starts.

    >>> order, edges = assignment(10, 4)
    >>> sorted(order.tolist()) == list(range(10)), len(edges), int(edges[-1])
    (True, 5, 10)
    """
    # A word of 64 bits below the largest multiple of ``bins`` gives the bin, its remainder,
    # uniform; and the quotient, which is independent of it and alike for all records.  Sorted keys
    # carry bin, leading bits of the quotient and the record, from high to low.
    high, low = (bins - 1).bit_length(), max(n - 1, 0).bit_length()
    words = _words_below((1 << 64) // bins * bins, n)
    quotient = words // np.uint64(bins)
    remainder = words - quotient * np.uint64(bins)
    spare = 64 - high - low
    quotient >>= np.uint64(max(0, ((1 << 64) // bins).bit_length() - spare))
    keys = (remainder << np.uint64(64 - high)) if high else np.zeros(n, np.uint64)
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
    return [_segment(mixed, a, b) if b > a else None for a, b in ends]


def _taken(records: Any, order: NDArray[np.int64]) -> Any:
    """Return the records in another order, in a container of the same kind."""
    # The index of a pandas frame counts rows, or did before a filter: a record that joins would
    # move the labels of all behind it.  So no label goes into a bin; a column is where data belong.
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


def _segment(mixed: Any, start: int, end: int) -> Any:
    if isinstance(mixed, Mapping):
        return {name: _segment(column, start, end) for name, column in mixed.items()}
    if hasattr(mixed, "num_rows"):
        return mixed.slice(start, end - start)
    if hasattr(mixed, "iloc"):
        return mixed.iloc[start:end].reset_index(drop=True)
    return mixed[start:end]


# What a statistic says of all bins of many draws: for errors on public data, in bulk.
#
# Every draw is one of :func:`~tacit.mechanisms.sample_and_aggregate.assignment`, and every
# bin is answered with the same floats as alone: bins of one size are the rows of one array, and a
# statistic treats each row on its own.  Only the calls are fewer.


Units = NDArray[np.int64]
_CELLS = 1 << 21


def in_bulk(ask: BinFunction, records: Any) -> bool:
    """Return whether bins can be answered as rows: a statistic, of a column of numbers."""
    column = isinstance(records, np.ndarray) and records.ndim == 1 and records.dtype.kind in "iuf"
    return column and isinstance(ask.function, Statistic) and len(ask.reads) == 1


def simulated_units(
    ask: BinFunction, records: NDArray[Any], bins: int, times: int
) -> Iterator[Units]:
    """Yield the units of all bins for each of ``times`` draws.

    >>> from tacit.mechanisms.aggregators import coordinates
    >>> from tacit.statistics import lookup
    >>> ask = BinFunction(lookup("max"), coordinates((0, 8), 0, 1, 0))
    >>> [units.tolist() for units in simulated_units(ask, np.array([3, 7]), 1, 2)]
    [[7], [7]]
    """
    at_once = max(1, _CELLS // max(len(records), bins))
    for start in range(0, times, at_once):
        yield from _several(ask, records, bins, min(at_once, times - start))


def _several(ask: BinFunction, records: NDArray[Any], bins: int, times: int) -> Units:
    n = len(records)
    orders, starts, sizes = [], [], []
    for draw in range(times):
        order, edges = assignment(n, bins)
        orders.append(order)
        starts.append(edges[:-1] + draw * n)
        sizes.append(np.diff(edges))
    mixed = records[np.concatenate(orders)]
    start, size = np.concatenate(starts), np.concatenate(sizes)
    units = np.full(len(size), ask.defaults[0], dtype=np.int64)
    for width in np.unique(size[size > 0]).tolist():
        chosen = np.flatnonzero(size == width)
        units[chosen] = _answered(ask, mixed[start[chosen][:, None] + np.arange(width)])
    return units.reshape(times, bins)


def _answered(ask: BinFunction, rows: NDArray[Any]) -> Units:
    """Return the units of bins of one size, which are the rows."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            values = np.asarray(ask.function.batch(rows), dtype=np.float64)  # type: ignore[attr-defined]
    except Exception:  # some bin makes it fail: ask them one by one
        return np.array([ask(row)[0] for row in rows], dtype=np.int64)
    return ask.reads[0].units_of(values)


# The median of the answers of bins, with noise scaled to its smooth sensitivity over the bins.
#
# The ``k`` answers are a data set of public size, of which ``d`` are exchanged: the smooth
# sensitivity is the one under exchange, and
# :class:`~tacit.mechanisms.smooth.SmoothNoise` proves the loss, counting the rate of
# the smoothness and the slack of its computation.  Source: Nissim, Raskhodnikova and Smith 2007,
# who take another centre where there are no bounds; within bounds the median is one.


@dataclass(frozen=True)
class SmoothMedianOfBins(Centre):
    """The median with Laplace noise for ``(epsilon, delta)``, or Student noise for epsilon."""

    delta: Fraction | None = None  # None for pure DP

    @cached_property
    def _inner(self) -> SmoothRelease:
        ends = (self.where.minimum * self.where.grid, self.where.maximum * self.where.grid)
        return smooth_noise(
            "median",
            ends,
            self.epsilon,
            self.delta,
            distribution="student_t" if self.delta is None else "laplace",
            relation="bounded",
            grid=self.where.grid,
        )

    @property
    def measure(self) -> Measure:
        return self._inner.measure

    def loss(self, changed: Fraction) -> Any:
        return self._inner.map(changed)

    def release(self, units: Sequence[int]) -> float:
        released: Any = self._inner(self._values(units))
        return float(released)

    def law(self, units: Sequence[int]) -> Any:
        """Return the distribution on the grid between the ends."""
        return self._inner.distribution(self._values(units))

    def mean_error(self, units: Sequence[int], truth: float) -> float:
        """Return the mean over the noise."""
        local = self._inner.local
        records = self._inner.input.domain.read(self._values(units))
        return self._inner.error_on(local.read(records), truth)

    def _values(self, units: Sequence[int]) -> list[float]:
        return [float(unit * self.where.grid) for unit in units]


# The function asked of every bin: here, in worker processes, or on a cluster through joblib.


_CLUSTERS = {
    "dask": ("distributed", "'dask[distributed]'"),
    "spark": ("joblibspark", "joblibspark"),
}


@dataclass(frozen=True)
class BinEngine:
    """Where bins are answered."""

    processes: int = 0  # worker processes of this machine; 0 for this very process
    backend: str | None = None  # the name of a joblib backend, or None
    jobs: int = -1  # how many jobs the backend is asked to run at once; -1 for as many as it has
    timeout: float | None = None  # seconds for one bin in a worker process, or None

    @classmethod
    def of(cls, parallel: Any, timeout: Any) -> BinEngine:
        """Read ``parallel`` and ``timeout`` as a caller gives them.

        >>> BinEngine.of(2, 1.5)
        BinEngine(processes=2, backend=None, jobs=-1, timeout=1.5)
        """
        limit = None if timeout is None else float(positive(timeout, "timeout"))
        if parallel is None:
            return cls(processes=0 if limit is None else 1, timeout=limit)
        if isinstance(parallel, tuple) and len(parallel) == 2:
            name, jobs = parallel[0], as_integer(parallel[1], "the jobs of parallel")
        else:
            name, jobs = parallel, -1
        if isinstance(name, str):
            if limit is not None:
                raise UsageError(
                    f"the backend {name!r} cannot stop a single bin: with a timeout, give a "
                    "number of processes, such as parallel=4"
                )
            _refuse_unknown(name)
            return cls(backend=name, jobs=jobs)
        count = as_integer(name, "parallel", minimum=1)
        return cls(processes=count, timeout=limit)

    def answers(self, ask: BinFunction, contents: Sequence[Any]) -> list[tuple[int, ...]]:
        """Return the units of every bin, in the order of the bins."""
        # The wall clock is read for a timeout, from when a bin is handed to its process.
        with _progress(len(contents)) as tick:
            if self.backend is not None:
                return list(_ticked(self._by_joblib(ask, contents), tick))
            if self.processes:
                return self._by_workers(ask, contents, tick)
            return list(_ticked(map(ask, contents), tick))

    def _by_joblib(self, ask: BinFunction, contents: Sequence[Any]) -> Iterable[tuple[int, ...]]:
        joblib = need("joblib", "parallel")
        job = joblib.delayed(ask)
        try:
            config = joblib.parallel_config(backend=self.backend, n_jobs=self.jobs)
        except ValueError as error:  # no record has been passed yet
            raise UsageError(
                f"the backend {self.backend!r} is not ready: for dask, make a client first, such "
                "as client = dask.distributed.Client()"
            ) from error
        with config:
            # joblib pickles what is handed in, so arrays are sent, never left in a mapped file.
            run = joblib.Parallel(max_nbytes=None)
            return run(job(content) for content in contents)  # type: ignore[no-any-return]

    def _by_workers(
        self, ask: BinFunction, contents: Sequence[Any], tick: Callable[[], None]
    ) -> list[tuple[int, ...]]:
        function = packed(ask)
        workers = [
            Worker(function, self.timeout) for _ in range(min(self.processes, len(contents)))
        ]
        answers = [ask.defaults] * len(contents)
        lock = threading.Lock()
        waiting: Iterator[tuple[int, Any]] = iter(enumerate(contents))

        def serve(worker: Worker) -> None:
            while True:
                with lock:
                    index, content = next(waiting, (-1, None))
                if index < 0:
                    return
                if content is not None:
                    answers[index] = worker.answer(content) or ask.defaults
                tick()

        try:
            with ThreadPoolExecutor(len(workers)) as threads:
                try:
                    list(threads.map(serve, workers))
                except BaseException:  # Ctrl-C: start no more bins
                    waiting = iter(())
                    raise
        finally:
            for worker in workers:
                worker.close()
        return answers


def _refuse_unknown(name: str) -> None:
    """Raise if joblib does not know a backend, or its package is missing."""
    # That of Spark is registered with joblib here; that of Dask registers itself.
    known = need("joblib.parallel", "parallel").BACKENDS
    for backend, (package, install) in _CLUSTERS.items():
        if name == backend and importlib.util.find_spec(package) is None:
            raise UsageError(f"the backend {name!r} needs {package}: pip install {install}")
    if name == "spark" and name not in known:
        importlib.import_module("joblibspark").register_spark()
    if name not in {*known, *_CLUSTERS}:
        raise UsageError(
            f"joblib has no backend {name!r}; "
            f"{did_you_mean(name, sorted({*known, *_CLUSTERS}))}. Register your own with "
            "joblib.register_parallel_backend"
        )


def _ticked(
    answers: Iterable[tuple[int, ...]], tick: Callable[[], None]
) -> Iterator[tuple[int, ...]]:
    for answer in answers:
        tick()
        yield answer


@contextmanager
def _progress(total: int) -> Iterator[Callable[[], None]]:
    """Show how many bins are done, on standard error, if a person looks at it."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("bins", total=total)
        yield lambda: bar.advance(task)


# Sample-and-aggregate: any function, released through its answers on random bins of the records.
#
# The records go to ``k`` bins, each by a draw of its own
# (:mod:`tacit.mechanisms.sample_and_aggregate`); the function is asked of every bin; a
# private centre of the ``k`` answers is released.
#
# **Map.**  Let ``u`` and ``v`` be at distance ``d``.  There is a way to draw the bins of both
# together so that the contents of at most ``c = min(d, k)`` bins differ, as ordered lists; with the
# function's own randomness drawn alike, at most ``c`` answers differ.  Whatever the draw, the
# divergence of the centre is then at most its loss at ``c``.  The output is a mixture over the
# draws, and pure and approximate DP are closed under mixing both sides alike (their divergences are
# jointly convex, or quasi-convex).  So ``map(d) = loss(min(d, k))``, with one loss a coordinate
# added up. No property of the function is used: its sensitivity may be unknown or infinite.
#
# Source: Nissim, Raskhodnikova, Smith, "Smooth sensitivity and sampling in private data analysis",
# STOC 2007; for independent bins as a coupling, see the module of the bins.
#
# **What the claim rests on.**  The answer for a bin must depend on that bin alone.  A function that
# remembers earlier calls, draws from a generator with a fixed seed that all bins share, or writes
# what it sees somewhere is outside of it.  So is time: how long a release takes is not hidden.
# With ``timeout`` the wall clock of a process decides; choose one so generous that only a function
# that hangs meets it, or a busy machine will make bins of one release depend on each other.


AGGREGATES: dict[str, type[Centre]] = {
    "mean": MeanOfBins,
    "median": MedianOfBins,
    "winsorized_mean": WinsorizedMeanOfBins,
    "smooth": SmoothMedianOfBins,
}
_RELATIONS = {"unbounded": SymmetricDistance, "bounded": ChangeOneDistance}
MAX_BINS = 1 << 24
_MAX_WAYS = 20_000
_FEWEST_DRAWS = 50
_MAX_DRAWS = 4_000
_MAX_RECORDS = 1 << 27
_PRECISE = 0.01


@public
def sample_and_aggregate(
    function: Callable[..., object],
    bins: int,
    bounds: object = None,
    epsilon: Number | None = None,
    *,
    aggregate: str = "mean",
    relation: str = "unbounded",
    delta: Number | None = None,
    default: object = None,
    grid: Number | None = None,
    timeout: Number | None = None,
    parallel: object = None,
) -> SampledRelease:
    """Release any function of records: run it on random bins, and aggregate the answers privately.

    Each record goes to a bin by a draw of its own, so that one person moves one answer, whether
    records are added, removed or exchanged, and in whatever order the rows stand.  A bin that is
    empty, or where the function returns NaN or something of another shape, raises or takes
    too long, counts as ``default``; nothing shows that it did.  The module says and proves the map.

    Args:
        function: what is asked of each bin.  It gets records of the kind that the measurement is
            called on (an array, a data frame, a list, a dict of columns) and returns a number, or
            as many numbers as ``bounds`` has pairs.  Try it on made-up data first: errors in it are
            not shown either.
        bins: how many; public.  More bins mean less noise and a function of fewer records each.
            How many records there are is private, so bins that outnumber them are not refused: bins
            without a record count as ``default``, and draw the answer to it.  Take so few that each
            has tens of records in the smallest data set that you expect, and ask
            ``expected_error(like)`` of public or made-up records of that size.
        bounds: ``(lower, upper)`` of the answer, public, or one pair for each number of a vector.
        epsilon: the loss when one record differs, all numbers of a vector together.
        aggregate: ``"mean"`` of all bins with Laplace noise; ``"median"`` by the exponential
            mechanism, which bins that fail hardly move; ``"winsorized_mean"``, a mean after private
            clipping, for wide bounds; ``"smooth"``, a median with noise scaled to its smooth
            sensitivity: Laplace with a ``delta``, Student's t without.
        relation: ``"unbounded"`` (records join or leave) or ``"bounded"`` (records are exchanged).
        delta: only for ``"smooth"``, and then the loss is approximate DP.
        default: what counts as the answer of a bin that gives none: a number inside the bounds, or
            one per coordinate; the middle of the bounds if left out.
        grid: the unit to which answers are rounded; by default a power of two, fine enough.
        timeout: seconds for one bin, after which its process is killed; uses worker processes.
        parallel: a number of worker processes; or the name of a joblib backend (``"loky"``,
            ``"dask"``, ``"spark"``, ...), or ``(name, jobs)``.  A worker of a number of processes
            may crash without harm to the other bins; one of a backend may not.  For ``"dask"`` make
            a ``dask.distributed.Client`` first.  For ``"spark"`` the workers' Python must have
            Tacit and the function's packages: set ``PYSPARK_PYTHON`` to it before the session
            starts, such as ``os.environ["PYSPARK_PYTHON"] = sys.executable`` on one machine.

    Returns:
        A measurement of pure DP (approximate DP where there is a delta).  It releases a float, or
        an array for a vector.

    Raises:
        UsageError: no function; bins, epsilon or a timeout that is not above zero; bounds missing
            or reversed; a default outside the bounds; an unknown aggregate or relation.

    Example:
        >>> import numpy as np
        >>> m = sample_and_aggregate(np.mean, bins=50, bounds=(0, 10), epsilon=2)
        >>> m.map(1), m.map(3), 3 < m(np.arange(1000) % 10) < 6
        (Fraction(2, 1), Fraction(6, 1), True)
    """
    if not callable(function):
        raise UsageError(f"the function must be a function of a bin's records, not {function!r}")
    count = as_integer(bins, "bins", minimum=1)
    if count > MAX_BINS:
        raise UsageError(f"bins must be at most {MAX_BINS}, not {count}")
    if epsilon is None:
        raise UsageError("give epsilon, above zero: the privacy loss when one record differs")
    kind = _known(aggregate, AGGREGATES, "aggregate")
    if relation not in _RELATIONS:
        raise unknown_relation(relation, _RELATIONS)
    engine = BinEngine.of(parallel, timeout)
    reads = coordinates(bounds, default, grid, kind.grid_bits)
    shares = {"epsilon": positive(epsilon, "epsilon") / len(reads)}
    if delta is not None:
        if kind is not SmoothMedianOfBins:
            raise UsageError(f"{aggregate!r} gives pure DP, and takes no delta: leave it out")
        shares["delta"] = _delta(delta) / len(reads)
    centres = tuple(kind(count, where, **shares) for where in reads)
    space = Space(RecordSets(), _RELATIONS[relation]())
    name = f"sample_and_aggregate({aggregate}, bins={count})"
    return SampledRelease(space, BinFunction(function, reads), centres, engine, name)


def _known(name: str, known: dict[str, type[Centre]], what: str) -> type[Centre]:
    if name not in known:
        raise UsageError(f"{what} {name!r} is unknown; {did_you_mean(str(name), known)}")
    return known[name]


def _delta(delta: Number) -> Fraction:
    exact = positive(delta, "delta")
    if exact >= 1:
        raise UsageError(f"delta must be above 0 and below 1, not {show(exact)}")
    return exact


class SampledRelease(Measurement):
    """The measurement of :func:`sample_and_aggregate`, with what can be said before a release.

    Attributes:
        bins: how many.
    """

    def __init__(
        self,
        space: Space,
        ask: BinFunction,
        centres: tuple[Centre, ...],
        engine: BinEngine,
        name: str,
    ) -> None:
        self._ask, self._centres, self._engine = ask, centres, engine
        self.bins = centres[0].bins
        measure = centres[0].measure

        def loss(d: Fraction) -> Any:
            changed = min(d, Fraction(self.bins))
            return measure.compose(centre.loss(changed) for centre in centres)

        super().__init__(space, measure, self._release, loss, distribution=self._law_on, name=name)

    def _release(self, records: Any) -> Any:
        return self._centred(self._engine.answers(self._ask, into_bins(records, self.bins)))

    def _centred(self, answers: Sequence[Sequence[int]]) -> Any:
        columns = zip(*answers, strict=True)
        centred = [
            centre.release(column) for centre, column in zip(self._centres, columns, strict=True)
        ]
        return centred[0] if len(centred) == 1 else np.array(centred)

    def simulate(self, like: object, times: int) -> list[object]:
        """Return what this many releases say of records that are public or synthetic.

        Draws of this very mechanism; a statistic of Tacit is asked of many bins at once.

        Args:
            like: records, as for a release; each of the releases depends on them.
            times: how many.

        >>> m = sample_and_aggregate(max, bins=5, bounds=(0, 10), epsilon=2)
        >>> len(m.simulate([1, 2, 3], times=4))
        4
        """
        count = as_integer(times, "times", minimum=0)
        records = self.input.domain.read(like)
        if not in_bulk(self._ask, records):
            return [self._release(records) for _ in range(count)]
        return [self._centres[0].release(units) for units in self._drawn(records, count)]

    def expected_error(self, like: object) -> float:
        """Predict the mean absolute error on records such as ``like``, to about a percent.

        What is predicted is the distance from the function of all records.  The noise is not drawn
        but integrated, so that draws differ in their bins alone.  Bins are drawn until the standard
        error of the mean is a percent of it, at least 50 times and at most 4,000 times, or as often
        as makes 2^27 records; a function that is not a statistic of Tacit is asked of 50 draws.
        ``like`` must be public or synthetic.

        Args:
            like: records, as for a release.

        Raises:
            UsageError: a function that returns several numbers.
        """
        if len(self._centres) > 1:
            raise UsageError("the expected error is known for functions that return one number")
        records = self.input.domain.read(like)
        truth = float(self._ask.function(records))
        errors: list[float] = []
        maximum = min(_MAX_DRAWS, _MAX_RECORDS // max(record_count(records), self.bins))
        if not in_bulk(self._ask, records):
            maximum = 0
        while len(errors) < max(_FEWEST_DRAWS, maximum):
            draws = self._drawn(records, _FEWEST_DRAWS)
            errors += [self._centres[0].mean_error(units, truth) for units in draws]
            spread = float(np.std(errors)) / math.sqrt(len(errors))
            if spread <= _PRECISE * float(np.mean(errors)):
                break
        return float(np.mean(errors))

    def _drawn(self, records: Any, times: int) -> Iterator[list[int]]:
        """Yield the units of all bins, draw by draw."""
        if in_bulk(self._ask, records):
            for units in simulated_units(self._ask, records, self.bins, times):
                yield units.tolist()
            return
        for _ in range(times):
            answers = self._engine.answers(self._ask, into_bins(records, self.bins))
            yield [unit for (unit,) in answers]

    def _law_on(self, records: Any) -> Mixture:
        """Mix the centre's distributions over every order and every binning of the records."""
        if len(self._centres) > 1:
            raise UsageError("the distribution is known for functions that return one number")
        n = record_count(records)
        ways = self.bins**n * math.factorial(n)
        if ways > _MAX_WAYS:
            raise UsageError(
                f"{n} records go into {self.bins} bins in more than {_MAX_WAYS} ways: ask for the "
                "distribution of a few records"
            )
        drawn = Counter(self._every_way(list(records), n))
        share = Enclosure.of(Fraction(1, ways))
        centre = self._centres[0]
        parts = [([u for (u,) in answers], times) for answers, times in drawn.items()]
        return Mixture([(share * times, centre.law(units)) for units, times in parts])

    def _every_way(self, records: list[Any], n: int) -> Iterator[tuple[tuple[int, ...], ...]]:
        known: dict[tuple[int, ...], tuple[int, ...]] = {}
        for order in itertools.permutations(range(n)):
            for indices in itertools.product(range(self.bins), repeat=n):
                contents: list[list[int]] = [[] for _ in range(self.bins)]
                for record, index in zip(order, indices, strict=True):
                    contents[index].append(record)
                yield tuple(self._request(tuple(part), records, known) for part in contents)

    def _request(
        self, part: tuple[int, ...], records: list[Any], known: dict[Any, tuple[int, ...]]
    ) -> tuple[int, ...]:
        if part not in known:
            known[part] = self._ask(np.array([records[i] for i in part]) if part else None)
        return known[part]
