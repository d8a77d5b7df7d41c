"""Exhaustive search: neighbours of every data set of a small domain."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.arithmetic.exact import Number, as_fraction
from tacit.calls import public
from tacit.errors import InfeasibleError, UsageError
from tacit.statistics.domains import Domain, Interval, Records
from tacit.statistics.question import Question, Relation
from tacit.statistics.result import Sensitivity
from tacit.statistics.samples import Array, Sample, on_common_unit, plain
from tacit.statistics.statistic import Exact, Statistic, distance_between

# The count lattice: every distinct release once, and how releases neighbour each other.
#
# With values ``v_1 < ... < v_M``, of which ``m_i`` records each exist, a release is a vector of
# counts ``0 <= c_i <= m_i``: a point of a box with ``prod(m_i + 1)`` points, far fewer than there
# are sets of records.  Adding a record is a unit step up along one axis, removing one a unit step
# down.  A function is evaluated once a point; the largest and smallest value among all neighbours
# then spread over the box by maxima and minima along the axes, ``k`` steps for distance ``k``.
#
# What spreads are not the values themselves but their ranks among all values seen, as 32-bit
# integers: maxima of ranks are exact, whatever kind of number the function returns.


Ranks = npt.NDArray[np.int32]
Indices = npt.NDArray[np.int64]


class CountBox:
    """The box of counts.

    >>> box = CountBox([1, 2])
    >>> box.states, box.at_level(2).tolist()
    (6, [2, 4])
    """

    def __init__(self, counts: Sequence[int]) -> None:
        self.shape = tuple(int(c) + 1 for c in counts)
        self.states = math.prod(self.shape)
        level = np.zeros(1, dtype=np.int32)
        for width in self.shape:
            level = np.add.outer(level, np.arange(width, dtype=np.int32)).ravel()
        self.level = level

    def at_level(self, size: int) -> Indices:
        """The flat indices of all releases of so many records."""
        return np.flatnonzero(self.level == size)

    def counts(self, indices: Indices) -> Indices:
        """The count vectors of flat indices, shape (releases, values)."""
        return np.stack(np.unravel_index(indices, self.shape), axis=1).astype(np.int64)

    def index(self, counts: Sequence[int]) -> int:
        """The flat index of a count vector."""
        return int(np.ravel_multi_index(tuple(counts), self.shape))


def evaluations(counts: Sequence[int], size: int) -> int:
    """Return the number of distinct releases of ``size`` records, without listing them.

    >>> evaluations([1] * 18, 9)
    48620
    """
    ways = np.zeros(size + 1, dtype=object)
    ways[0] = 1
    for count in counts:
        sums = np.cumsum(ways)
        shifted = np.zeros(size + 1, dtype=object)
        if count + 1 <= size:
            shifted[count + 1 :] = sums[: size - count]
        ways = sums - shifted
    return int(ways[size])


def spread(
    ranks: Ranks,
    steps: int,
    better: Callable[..., Ranks],
    *,
    up: bool = False,
    down: bool = False,
    stay: bool = True,
) -> Ranks:
    """For every point, the best rank among the points that ``steps`` unit steps can reach."""
    # ranks: the rank of every point's value; where there is none, a value that never wins.
    worst = ranks.dtype.type(-1 if better is np.maximum else np.iinfo(np.int32).max)
    for _ in range(steps):
        best = ranks.copy() if stay else np.full_like(ranks, worst)
        for lower, higher in _along_axes(ranks.ndim):
            if up:
                better(best[lower], ranks[higher], out=best[lower])
            if down:
                better(best[higher], ranks[lower], out=best[higher])
        ranks = best
    return ranks


def _along_axes(axes: int) -> Iterator[tuple[tuple[slice, ...], tuple[slice, ...]]]:
    everything = (slice(None),) * axes
    for axis in range(axes):
        before, after = everything[:axis], everything[axis + 1 :]
        yield (*before, slice(None, -1), *after), (*before, slice(1, None), *after)


@dataclass(frozen=True)
class Function(Statistic):
    """A function of a 1-D float array, taken as a function of the multiset of its values.

    It is called with the records in ascending order and must return one finite number for every
    non-empty release.  On no records it is not called.

    Args:
        function: the function.
        many: whether it takes a 2-D array, one release per row, and returns one number a row.
        empty: its value on no records, read as a float; None where it has none, and the empty
            release is not a neighbour.

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
    def min_size(self) -> int:
        return int(self.empty is None)

    @property
    def name(self) -> str:
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
            results = np.asarray(self.function(rows))
        except Exception as error:
            raise UsageError(
                f"{self.name} raised {type(error).__name__} ({error}) on an array of shape "
                f"{rows.shape}, one release a row"
            ) from error
        if results.shape != (len(rows),) or results.dtype.kind not in "biuf":
            raise UsageError(
                f"{self.name} must return one number a row: {len(rows)} rows in, an array of "
                f"shape {results.shape} and type {results.dtype} out"
            )
        values = results.astype(np.float64)
        for row in np.flatnonzero(~np.isfinite(values))[:1]:
            raise self._not_finite(rows[row], values[row])
        return values

    def exact(self, values: Sequence[Fraction]) -> Fraction:
        row = np.array([float(v) for v in values])
        return Fraction(float(self.batch(row[None, :])[0]))

    def _one(self, row: npt.NDArray[np.float64]) -> float:
        try:
            result: Any = self.function(row)
        except Exception as error:
            raise UsageError(
                f"{self.name} raised {type(error).__name__} ({error}) on the release {_show(row)}"
            ) from error
        if np.ndim(result) != 0:
            raise UsageError(
                f"{self.name} must return one number, but returned an array of shape "
                f"{np.shape(result)} on the release {_show(row)}"
            )
        try:
            value = float(result)
        except (TypeError, ValueError):
            raise UsageError(
                f"{self.name} must return one number, but returned {type(result).__name__} "
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


# Evaluate a statistic on many releases: in blocks, on all cores if slow, with progress shown.


_CELLS = 1 << 22  # numbers in a block of releases: 32 MiB
_SHOW_AFTER = 2.0  # seconds of expected work that are worth a progress bar
_SHOW_ABOVE = 500_000  # releases that are worth one, however quick the function
_SPREAD_AFTER = 10.0  # seconds of expected work that are worth starting other processes


def rows_of(
    values: npt.NDArray[np.float64], counts: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Write count vectors out as ascending releases, all of one size, one a row.

    >>> rows_of(np.array([1.0, 5.0]), np.array([[2, 0], [1, 1]]))
    array([[1., 1.],
           [1., 5.]])
    """
    if not len(counts):
        return np.zeros((0, 0))
    size = int(counts[0].sum())
    return np.repeat(np.tile(values, len(counts)), counts.ravel()).reshape(len(counts), size)


def evaluate(
    statistic: Statistic,
    values: npt.NDArray[np.float64],
    blocks: Sequence[Indices],
    counts_of: Callable[[Indices], Indices],
    context: str = "",
) -> list[npt.NDArray[np.float64]]:
    """The values of a statistic on blocks of releases, each block of one size."""
    # Releases are named by indices, and ``counts_of`` turns a few of them at a time into count
    # vectors over ``values``.  Slow functions of one release run on all cores where joblib is
    # installed.  ``context`` is shown next to the progress.
    pieces = [
        (i, block[start : start + step])
        for i, block in enumerate(blocks)
        for step in [_rows_at_a_time(block, counts_of)]
        for start in range(0, len(block), step)
    ]
    evaluated: list[list[npt.NDArray[np.float64]]] = [[] for _ in blocks]
    total = sum(len(piece) for _, piece in pieces)
    expected = _expected_seconds(statistic, values, blocks, counts_of)
    with _progress(f"evaluating {statistic.name}{context}", total, expected) as advance:
        if expected > _SPREAD_AFTER and (parallel := _joblib()) is not None:
            pieces = [(i, small) for i, piece in pieces for small in _cut(piece, expected, total)]
            results = parallel.Parallel(n_jobs=-1, return_as="generator")(
                parallel.delayed(_one)(statistic, values, counts_of(piece)) for _, piece in pieces
            )
        else:
            results = (_one(statistic, values, counts_of(piece)) for _, piece in pieces)
        for (i, piece), result in zip(pieces, results, strict=True):
            evaluated[i].append(result)
            advance(len(piece))
    return [np.concatenate(parts) if parts else np.zeros(0) for parts in evaluated]


def _rows_at_a_time(block: Indices, counts_of: Callable[[Indices], Indices]) -> int:
    size = int(counts_of(block[:1]).sum()) if len(block) else 1
    return max(1, _CELLS // max(size, 1))


def _one(
    statistic: Statistic, values: npt.NDArray[np.float64], counts: Indices
) -> npt.NDArray[np.float64]:
    return statistic.batch(rows_of(values, counts))


def _expected_seconds(
    statistic: Statistic,
    values: npt.NDArray[np.float64],
    blocks: Sequence[Indices],
    counts_of: Callable[[Indices], Indices],
) -> float:
    """Time a few releases of a function that takes one at a time; the others are quick."""
    total = sum(map(len, blocks))
    if total < 100 or not isinstance(statistic, Function) or statistic.many:
        return 0.0
    few = max(blocks, key=len)[:3]
    start = time.perf_counter()
    _one(statistic, values, counts_of(few))
    return (time.perf_counter() - start) / len(few) * total


def _cut(piece: Indices, expected: float, total: int) -> list[Indices]:
    """Cut into pieces of about a second's work."""
    size = max(1, int(total / expected))
    return [piece[start : start + size] for start in range(0, len(piece), size)]


def _joblib() -> Any | None:
    try:
        import joblib
    except ImportError:
        return None
    return joblib


@contextmanager
def _progress(what: str, total: int, expected: float) -> Iterator[Callable[[int], object]]:
    """A bar with the time left, on a terminal only; Ctrl-C stops the search."""
    if not sys.stderr.isatty() or (expected < _SHOW_AFTER and total < _SHOW_ABOVE):
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
    with bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.advance(task, done)


def parts(limits: Indices, size: int) -> Indices:
    """Every count vector below ``limits`` with ``size`` records in all, one a row.

    >>> parts(np.array([1, 2]), 2).tolist()
    [[0, 2], [1, 1]]
    """
    rows = np.zeros((1, 0), dtype=np.int64)
    left = np.array([size])
    room = np.append(np.cumsum(limits[::-1])[::-1], 0)
    for axis, limit in enumerate(limits.tolist()):
        # What the axes to come cannot hold must be taken here.
        minimum = np.maximum(left - room[axis + 1], 0)
        maximum = np.minimum(left, limit)
        choices = np.maximum(maximum - minimum + 1, 0)
        parent = np.repeat(np.arange(len(rows)), choices)
        first = np.repeat(np.cumsum(choices) - choices, choices)
        taken = np.arange(len(parent)) - first + minimum[parent]
        rows = np.concatenate([rows[parent], taken[:, None]], axis=1)
        left = left[parent] - taken
    return np.asarray(rows[left == 0])


def neighbours_of(
    present: Indices, free: Indices, moves: Iterable[tuple[int, int]], limit: int | None = None
) -> Indices:
    """The distinct releases that the moves lead to, as count vectors."""
    # moves: pairs ``(removed, added)``; a record that is removed does not come back, but one of the
    #   same value may.
    moves = list(moves)
    present, free = np.asarray(present), np.asarray(free)
    count = sum(
        evaluations(present.tolist(), r) * evaluations(np.minimum(free, a).tolist(), a)
        for r, a in moves
    )
    if limit is not None and count > limit:
        raise InfeasibleError(
            f"the release has {count:,} neighbours to evaluate, which is more than {limit:,}; "
            "ask at a smaller distance, or ask lower_bound(...) for a lower bound"
        )
    neighbours = [np.zeros((0, len(present)), dtype=np.int64)]
    for removed, added in moves:
        retained = present - parts(present, removed)
        gained = parts(np.minimum(free, added), added)
        neighbours.append((retained[:, None, :] + gained[None, :, :]).reshape(-1, len(present)))
    return np.unique(np.concatenate(neighbours), axis=0)


# What an exhaustive search takes, stated before it starts, and where it is refused.


MAX_STATES = 1 << 26  # the largest lattice searched: 64 million points, about 1 GiB
MAX_EVALUATIONS = 50_000_000  # the most releases evaluated
MAX_LISTED = 1 << 27  # the most counts listed, one a neighbour and distinct value: 1 GiB


def values_and_counts(name: str, question: Question) -> tuple[Sample, list[int]]:
    """The distinct values and how many records of each can be in play."""
    domain = question.domain
    if isinstance(domain, Interval):
        raise InfeasibleError(
            f"{name} has no formula over an interval, and its infinitely many releases "
            "cannot be searched; give Values(...), a finite set of values, or ask lower_bound(...)"
        )
    if isinstance(domain, Records):
        distinct, copies = domain.sample.distinct()
        return distinct, copies.tolist()
    if question.size is None:
        raise InfeasibleError(
            f"releases of every size over {domain!r} cannot be searched; give size=..."
        )
    # A release of n has at most n of a value, and its neighbour at most n + k.
    growth = 0 if question.relation in ("bounded", "remove") else question.distance
    return domain.sample, [question.size + growth] * len(domain.sample)


@dataclass(frozen=True)
class SearchCost:
    """Cost of a global search.

    Attributes:
        evaluations: how many distinct releases are evaluated.
        states: how many points the lattice has.
    """

    evaluations: int
    states: int

    @property
    def bytes(self) -> int:
        """About how much memory: a few integers a point, and a few numbers a release."""
        return 20 * self.states + 40 * self.evaluations + (1 << 26)

    @property
    def feasible(self) -> bool:
        """True if the search is small enough to run."""
        return self.states <= MAX_STATES and self.evaluations <= MAX_EVALUATIONS

    def __str__(self) -> str:
        return (
            f"{_large(self.evaluations)} evaluations on a lattice of {_large(self.states)} points, "
            f"{_memory(self.bytes)} of memory"
        )


def _large(number: int) -> str:
    """Write all digits where they can be read, else a power of ten.

    >>> _large(48620), _large(3 * 10**89)
    ('48,620', 'more than 10^89')
    """
    return f"{number:,}" if number < 10**15 else f"more than 10^{len(str(number)) - 1}"


def _memory(size: int) -> str:
    return f"about {size / 2**30:,.1f} GiB" if size < 2**60 else f"{_large(size >> 30)} GiB"


@public
def search_cost(
    over: Domain, distance: int = 1, relation: Relation = "unbounded", within: bool = True
) -> SearchCost:
    """Return the cost of the exhaustive search of a global sensitivity, without running it.

    Args:
        over: the domain, with a size.
        distance: how many records may differ.
        relation: the neighbour relation, as for :func:`tacit.sensitivity`.
        within: as for :func:`tacit.sensitivity`.

    Raises:
        InfeasibleError: an interval, or values without a size: there is no end to the search.

    >>> search_cost(Records(range(18), size=9), relation="bounded").evaluations
    48620
    """
    question = Question(over, None, distance, relation, within)
    return cost_of(question, values_and_counts("a function", question)[1])


def cost_of(question: Question, counts: list[int]) -> SearchCost:
    """The cost of a question whose distinct values have so many records each."""
    needed = sum(evaluations(counts, size) for size in levels_of(question, sum(counts)))
    return SearchCost(needed, math.prod(c + 1 for c in counts))


def sizes_of(question: Question, population: int) -> list[int]:
    """The sizes of the releases asked about."""
    return [question.size] if question.size else list(range(question.fewest, population + 1))


def levels_of(question: Question, population: int) -> list[int]:
    """The sizes of the releases asked about and of their neighbours."""
    sizes = sizes_of(question, population)
    levels = set(sizes)
    for n in sizes:
        levels.update(n - r + a for r, a in question.moves(n))
    return sorted(n for n in levels if n <= population)


def refuse_large(statistic: Statistic, cost: SearchCost) -> None:
    """Raise if a search is too large, with what to do instead."""
    if not cost.feasible:
        raise InfeasibleError(
            f"the search for {statistic.name} is too large: {cost}; at most "
            f"{MAX_EVALUATIONS:,} evaluations and {MAX_STATES:,} points. Ask with fewer distinct "
            "values or a smaller size, ask lower_bound(...) for a lower bound, or "
            "sampled_sensitivity(...)"
        )


# The sensitivity of any function, by exhaustive search over every distinct release.
#
# Each distinct multiset is evaluated once (:mod:`tacit.statistics.search`), and the
# largest and the smallest value among all neighbours spread over the count lattice:
#
# * ``add`` and ``remove``: unit steps in one direction;
# * ``unbounded``: unit steps in both (within ``k`` under the symmetric distance; two releases are
#   within ``k`` exactly when their count vectors differ by at most ``k`` in total);
# * ``bounded``: ``d = min(k, n, N - n)`` steps down to what two releases share, where the largest
#   and the smallest value above the same shared part meet.  They need not be the value of the
#   release at hand, so this serves the global question only, where both are releases.
#
# A local question, and exactly ``k`` substitutions (which must count how many equal records there
# are to swap), list the neighbours of each release instead
# (:mod:`tacit.statistics.search`).


_NEVER = np.iinfo(np.int32).max


def exhaustive(statistic: Statistic, question: Question) -> Sensitivity:
    """Evaluate the statistic on every release concerned and return the exact sensitivity."""
    values, counts = values_and_counts(statistic.name, question)
    widened = question
    if question.relation == "bounded" and not isinstance(question.domain, Records):
        # A record may be substituted by an equal one, so exactly k includes within k.
        widened = replace(question, within=True)
    if question.at is not None:
        answer = _local(statistic, widened, values, counts)
    else:
        answer = _Search(statistic, widened, values, counts).answer()
    answer.question = question
    return answer


class _ReleaseTable:
    """Values of releases, by rank: ranks compare exactly, whatever the numbers are."""

    def __init__(
        self,
        statistic: Statistic,
        values: Sample,
        blocks: Sequence[Indices],
        counts_of: Any,
        context: str = "",
    ) -> None:
        self.exact: Sequence[Exact] | None = None
        if isinstance(statistic, Function):
            results = evaluate(statistic, values.floats, blocks, counts_of, context)
            self.floats, inverse = np.unique(np.concatenate(results), return_inverse=True)
        else:
            exact, inverse = _exact_ranks(statistic, values, blocks, counts_of)
            self.exact = exact
            self.floats = np.array([float(v) for v in exact])  # type: ignore[arg-type]
        ends = np.cumsum([len(b) for b in blocks])[:-1]
        self.ranks = np.split(inverse.astype(np.int32), ends)

    def distance(self, high: int, low: int) -> Fraction | float:
        """The exact distance of two values, by rank."""
        if self.exact is None:
            return Fraction(float(self.floats[high])) - Fraction(float(self.floats[low]))
        return distance_between(self.exact[high], self.exact[low])

    def farthest(self, high: Ranks, low: Ranks) -> tuple[Fraction | float, int]:
        """The largest ``value[high] - value[low]`` and where it is; floats sort out candidates."""
        gaps = self.floats[high] - self.floats[low]
        best = float(gaps.max())
        error = 2.0**-48 * max(abs(float(self.floats[0])), abs(float(self.floats[-1])))
        close = np.flatnonzero(gaps >= best - error)
        keys = high[close].astype(np.int64) * len(self.floats) + low[close]
        _, first = np.unique(keys, return_index=True)
        candidates = [
            (self.distance(int(high[i]), int(low[i])), int(i)) for i in close[first].tolist()
        ]
        return max(candidates, key=lambda c: c[0])


def _exact_ranks(
    statistic: Statistic, values: Sample, blocks: Sequence[Indices], counts_of: Any
) -> tuple[Sequence[Exact], npt.NDArray[np.int64]]:
    numbers = values.fractions()
    exact: list[Exact] = []
    for block in blocks:
        for row in counts_of(block).tolist():
            exact.append(
                statistic.exact([v for v, c in zip(numbers, row, strict=True) for _ in range(c)])
            )
    distinct: list[Any] = sorted(set(exact))
    rank = {value: i for i, value in enumerate(distinct)}
    return distinct, np.array([rank[value] for value in exact], dtype=np.int64)


class _Search:
    """A global question on the count lattice."""

    def __init__(
        self, statistic: Statistic, question: Question, values: Sample, counts: list[int]
    ) -> None:
        self.statistic, self.question, self.values = statistic, question, values
        self.population = sum(counts)
        self.sizes = sizes_of(question, self.population)
        self.levels = levels_of(question, self.population)
        cost = cost_of(question, counts)
        refuse_large(statistic, cost)
        self.lattice = CountBox(counts)
        self.blocks = {size: self.lattice.at_level(size) for size in self.levels}
        self.table = _ReleaseTable(
            statistic,
            values,
            [self.blocks[s] for s in self.levels],
            self.lattice.counts,
            f", {cost.bytes / 2**20:,.0f} MiB",
        )
        self.ranks = dict(zip(self.levels, self.table.ranks, strict=True))
        self.evaluations = cost.evaluations

    def answer(self) -> Sensitivity:
        """The largest difference over all sizes."""
        best: tuple[Fraction | float, tuple[int, int]] | None = None
        for size in self.sizes:
            for candidate in self._of_size(size):
                if best is None or candidate[0] > best[0]:
                    best = candidate
        first = int(self.blocks[self.sizes[0]][0])
        value, pair = best if best is not None else (Fraction(0), (first, first))
        return Sensitivity(
            value,
            "exhaustive",
            statistic=self.statistic,
            question=self.question,
            witness=lambda: (self._sample(pair[0]), self._sample(pair[1])),
            evaluations=self.evaluations,
        )

    def _sample(self, index: int) -> Sample:
        counts = self.lattice.counts(np.array([index]))[0]
        return self.values.take(np.repeat(np.arange(len(counts)), counts))

    def _of_size(self, size: int) -> Iterator[tuple[Fraction | float, tuple[int, int]]]:
        question = self.question
        k, within = question.distance, question.within
        if question.relation == "bounded":
            depth = int(min(k, size, self.population - size))
            if within and depth:
                yield self._shared(size, depth)
            elif not within and depth == k:
                yield self._swapped(size)
        elif within:
            up, down = question.relation != "remove", question.relation != "add"
            yield self._spread(size, self.levels, up=up, down=down, stay=True)
        else:
            if question.relation != "remove" and size + k in self.ranks:
                yield self._spread(size, [size + k], up=True, down=False, stay=False)
            if question.relation != "add" and size - k in self.ranks:
                yield self._spread(size, [size - k], up=False, down=True, stay=False)

    def _filled(self, levels: Sequence[int], empty: int) -> Ranks:
        ranks = np.full(self.lattice.states, empty, dtype=np.int32)
        for level in levels:
            ranks[self.blocks[level]] = self.ranks[level]
        return ranks.reshape(self.lattice.shape)

    def _spread(
        self, size: int, levels: Sequence[int], *, up: bool, down: bool, stay: bool
    ) -> tuple[Fraction | float, tuple[int, int]]:
        """The release's own value against the best and worst among its neighbours."""
        k, here, own = self.question.distance, self.blocks[size], self.ranks[size]
        high = spread(self._filled(levels, -1), k, np.maximum, up=up, down=down, stay=stay)
        low = spread(self._filled(levels, _NEVER), k, np.minimum, up=up, down=down, stay=stay)
        tops, bottoms = high.ravel()[here], low.ravel()[here]
        rise, at_rise = self.table.farthest(tops, own)
        fall, at_fall = self.table.farthest(own, bottoms)
        index, wanted = (at_rise, tops) if rise >= fall else (at_fall, bottoms)
        x = int(here[index])
        reached = self._reached(x, k, up=up, down=down, stay=stay)
        return max(rise, fall), (x, self._find(reached, levels, int(wanted[index])))

    def _shared(self, size: int, depth: int) -> tuple[Fraction | float, tuple[int, int]]:
        """Two releases with the same ``size - depth`` records in common."""
        tops = spread(self._filled([size], -1), depth, np.maximum, up=True, stay=False).ravel()
        lows = spread(self._filled([size], _NEVER), depth, np.minimum, up=True, stay=False).ravel()
        cores = self.lattice.at_level(size - depth)
        value, index = self.table.farthest(tops[cores], lows[cores])
        core = int(cores[index])
        reached = self._reached(core, depth, up=True, down=False, stay=False)
        return value, (
            self._find(reached, [size], int(tops[core])),
            self._find(reached, [size], int(lows[core])),
        )

    def _swapped(self, size: int) -> tuple[Fraction | float, tuple[int, int]]:
        """Exactly ``k`` substitutions: list the neighbours of every release."""
        best: tuple[Fraction | float, tuple[int, int]] = (Fraction(-1), (0, 0))
        rank_of = np.full(self.lattice.states, -1, dtype=np.int32)
        rank_of[self.blocks[size]] = self.ranks[size]
        limits = np.array(self.lattice.shape) - 1
        for x in self.blocks[size].tolist():
            counts = self.lattice.counts(np.array([x]))[0]
            near = neighbours_of(counts, limits - counts, [(self.question.distance,) * 2])
            flat = np.ravel_multi_index(tuple(near.T), self.lattice.shape)
            own = np.full(len(flat), rank_of[x], dtype=np.int32)
            high, low = np.maximum(own, rank_of[flat]), np.minimum(own, rank_of[flat])
            value, index = self.table.farthest(high, low)
            if value > best[0]:
                best = value, (x, int(flat[index]))
        return best

    def _reached(self, start: int, steps: int, *, up: bool, down: bool, stay: bool) -> Ranks:
        """Which points ``steps`` unit steps lead to from ``start``."""
        marks = np.full(self.lattice.states, -1, dtype=np.int32)
        marks[start] = 0
        box = marks.reshape(self.lattice.shape)
        # Going up from the start means that the points above it look down to find it.
        return spread(box, steps, np.maximum, up=down, down=up, stay=stay).ravel()

    def _find(self, reached: Ranks, levels: Sequence[int], wanted: int) -> int:
        """A reached release with the wanted rank."""
        for level in levels:
            block = self.blocks[level]
            hits = (self.ranks[level] == wanted) & (reached[block] == 0)
            if hits.any():
                return int(block[int(np.argmax(hits))])
        raise AssertionError("a value that spread came from some release")


def _local(
    statistic: Statistic, question: Question, values: Sample, limits: list[int]
) -> Sensitivity:
    assert question.at is not None
    known, release = on_common_unit(values, question.at)
    indices = np.searchsorted(known.raw, release.raw)
    counts = np.bincount(indices, minlength=len(values)).astype(np.int64)
    moves = question.moves(len(question.at))
    maximum = min(MAX_EVALUATIONS, MAX_LISTED // len(values))
    near = neighbours_of(counts, np.array(limits) - counts, moves, limit=maximum)
    sizes = near.sum(axis=1)
    releases = np.concatenate([counts[None, :], near])
    by_size = [np.flatnonzero(sizes == s) + 1 for s in np.unique(sizes)]
    blocks: list[Indices] = [np.zeros(1, dtype=np.int64), *by_size]
    table = _ReleaseTable(statistic, values, blocks, releases.__getitem__)
    if not len(near):
        value: Fraction | float = Fraction(0)
        index = 0
    else:
        others = np.concatenate(table.ranks[1:])
        own = np.full(len(others), table.ranks[0][0], dtype=np.int32)
        value, at = table.farthest(np.maximum(own, others), np.minimum(own, others))
        index = int(np.concatenate(by_size)[at])
    x, y = (values.take(np.repeat(np.arange(len(values)), releases[i])) for i in (0, index))
    return Sensitivity(
        value,
        "exhaustive",
        statistic=statistic,
        question=question,
        witness=lambda: (x, y),
        evaluations=len(releases),
    )
