"""The sensitivity of any function, by exhaustive search over every distinct release.

Each distinct multiset is evaluated once (:mod:`tacit.statistics.search.count_lattice`), and the
largest and the smallest value among all neighbours spread over the count lattice:

* ``add`` and ``remove``: unit steps in one direction;
* ``unbounded``: unit steps in both (within ``k`` under the symmetric distance; two releases are
  within ``k`` exactly when their count vectors differ by at most ``k`` in total);
* ``bounded``: ``d = min(k, n, N - n)`` steps down to what two releases share, where the largest
  and the smallest value above the same shared part meet.  They need not be the value of the
  release at hand, so this serves the global question only, where both are releases.

A local question, and exactly ``k`` substitutions (which must count how many equal records there
are to swap), list the neighbours of each release instead
(:mod:`tacit.statistics.search.neighbours`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.statistics.base.domain import Records
from tacit.statistics.base.question import Question
from tacit.statistics.base.result import Sensitivity
from tacit.statistics.base.statistic import Exact, Statistic, distance_between
from tacit.statistics.samples.sample import Sample, on_common_unit
from tacit.statistics.search.batch_evaluation import evaluate
from tacit.statistics.search.count_lattice import Indices, Lattice, Ranks, spread
from tacit.statistics.search.function import Function
from tacit.statistics.search.neighbours import neighbours_of
from tacit.statistics.search.search_cost import (
    MOST_EVALUATIONS,
    MOST_LISTED,
    cost_of,
    levels_of,
    refuse_large,
    sizes_of,
    values_and_counts,
)

__all__ = ["exhaustive"]

_NEVER = np.iinfo(np.int32).max


def exhaustive(statistic: Statistic, question: Question) -> Sensitivity:
    """Evaluate the statistic on every release concerned and return the exact sensitivity.

    Raises:
        InfeasibleError: the search is too large, or over an interval; says how large, and what to
            do instead.
        UsageError: the function raised, or returned something else than one finite number.
    """
    values, counts = values_and_counts(statistic.name, question)
    asked = question
    if question.relation == "bounded" and not isinstance(question.domain, Records):
        # A record may be substituted by an equal one, so exactly k includes within k.
        asked = replace(question, within=True)
    if question.at is not None:
        answer = _local(statistic, asked, values, counts)
    else:
        answer = _Search(statistic, asked, values, counts).answer()
    answer.question = question
    return answer


class _Table:
    """Values of releases, by rank: ranks compare exactly, whatever the numbers are."""

    def __init__(
        self,
        statistic: Statistic,
        values: Sample,
        blocks: Sequence[Indices],
        counts_of: Any,
        told: str = "",
    ) -> None:
        self.exact: Sequence[Exact] | None = None
        if isinstance(statistic, Function):
            found = evaluate(statistic, values.floats, blocks, counts_of, told)
            self.floats, inverse = np.unique(np.concatenate(found), return_inverse=True)
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
    found: list[Exact] = []
    for block in blocks:
        for row in counts_of(block).tolist():
            found.append(
                statistic.exact([v for v, c in zip(numbers, row, strict=True) for _ in range(c)])
            )
    distinct: list[Any] = sorted(set(found))
    rank = {value: i for i, value in enumerate(distinct)}
    return distinct, np.array([rank[value] for value in found], dtype=np.int64)


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
        self.lattice = Lattice(counts)
        self.blocks = {size: self.lattice.at_level(size) for size in self.levels}
        self.table = _Table(
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
            for found in self._of_size(size):
                if best is None or found[0] > best[0]:
                    best = found
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
        place, wanted = (at_rise, tops) if rise >= fall else (at_fall, bottoms)
        x = int(here[place])
        reached = self._reached(x, k, up=up, down=down, stay=stay)
        return max(rise, fall), (x, self._find(reached, levels, int(wanted[place])))

    def _shared(self, size: int, depth: int) -> tuple[Fraction | float, tuple[int, int]]:
        """Two releases with the same ``size - depth`` records in common."""
        tops = spread(self._filled([size], -1), depth, np.maximum, up=True, stay=False).ravel()
        lows = spread(self._filled([size], _NEVER), depth, np.minimum, up=True, stay=False).ravel()
        cores = self.lattice.at_level(size - depth)
        value, place = self.table.farthest(tops[cores], lows[cores])
        core = int(cores[place])
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
            value, place = self.table.farthest(high, low)
            if value > best[0]:
                best = value, (x, int(flat[place]))
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
    places = np.searchsorted(known.raw, release.raw)
    held = np.bincount(places, minlength=len(values)).astype(np.int64)
    moves = question.moves(len(question.at))
    most = min(MOST_EVALUATIONS, MOST_LISTED // len(values))
    near = neighbours_of(held, np.array(limits) - held, moves, limit=most)
    sizes = near.sum(axis=1)
    releases = np.concatenate([held[None, :], near])
    by_size = [np.flatnonzero(sizes == s) + 1 for s in np.unique(sizes)]
    blocks: list[Indices] = [np.zeros(1, dtype=np.int64), *by_size]
    table = _Table(statistic, values, blocks, releases.__getitem__)
    if not len(near):
        value: Fraction | float = Fraction(0)
        place = 0
    else:
        others = np.concatenate(table.ranks[1:])
        own = np.full(len(others), table.ranks[0][0], dtype=np.int32)
        value, at = table.farthest(np.maximum(own, others), np.minimum(own, others))
        place = int(np.concatenate(by_size)[at])
    x, y = (values.take(np.repeat(np.arange(len(values)), releases[i])) for i in (0, place))
    return Sensitivity(
        value,
        "exhaustive",
        statistic=statistic,
        question=question,
        witness=lambda: (x, y),
        evaluations=len(releases),
    )
