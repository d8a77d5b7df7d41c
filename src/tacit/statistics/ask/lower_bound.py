"""A lower bound on the sensitivity of any function, by local search: no guarantee, and labelled so.

Where exhaustive search is too large, hill climbing still finds neighbours that are far apart.  It
starts from extreme releases and from random ones, exchanges one record at a time, and keeps what
widens the gap.  What it finds is real (the witness attains it); that nothing wider exists is not
shown, so such an answer is refused as a stability map.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from tacit.arithmetic.exact import as_integer
from tacit.arithmetic.mixing import Repeatable
from tacit.calls import public
from tacit.errors import InfeasibleError
from tacit.statistics.ask.registry import lookup
from tacit.statistics.ask.sensitivity import Asked
from tacit.statistics.base.domain import Domain, Interval, Records
from tacit.statistics.base.extreme_pair import differing_pair
from tacit.statistics.base.question import Question, Relation
from tacit.statistics.base.result import Sensitivity
from tacit.statistics.base.statistic import Statistic, distance_between
from tacit.statistics.samples.sample import Sample, merge

__all__ = ["lower_bound"]

_GRID = 33  # values that stand for an interval
_TRIES = 64  # exchanges tried at a time
_PATIENCE = 12  # rounds without a gain before starting anew

Order = npt.NDArray[np.int64]


@public
def lower_bound(
    statistic: Asked,
    over: Domain,
    at: npt.ArrayLike | None = None,
    distance: int = 1,
    relation: Relation = "unbounded",
    within: bool = True,
    evaluations: int = 20_000,
) -> Sensitivity:
    """Find a lower bound on a sensitivity, by local search; the truth may be larger.

    Args:
        statistic: as for :func:`~tacit.statistics.ask.sensitivity.sensitivity`.
        over: the domain, with a size (or give ``at``).
        at: a release, for the local sensitivity.
        distance: how many records may differ.
        relation: the neighbour relation.
        within: as for :func:`~tacit.statistics.ask.sensitivity.sensitivity`.
        evaluations: about how often the statistic is evaluated.

    Raises:
        InfeasibleError: no size, or a distance that cannot be made.

    >>> from tacit.statistics import Interval
    >>> s = lower_bound(np.ptp, over=Interval(0, 1, size=50))
    >>> s.value, s.method, s.is_guarantee
    (Fraction(1, 1), 'lower bound', False)
    """
    asked = lookup(statistic)
    budget = as_integer(evaluations, "evaluations", minimum=1)
    release = None if at is None else Sample(np.asarray(at), "at")
    question = Question(over, release, distance, relation, within, min(1, asked.least))
    if question.size is None:
        raise InfeasibleError("a local search needs the size of the release: give size=... or at=")
    moves = list(question.moves(question.size))
    climbs = [_Climb(asked, question, move, budget // len(moves)) for move in moves]
    best = max((climb.run() for climb in climbs), key=lambda c: c.gap, default=None)
    pair = best.pair() if best is not None else (_any_release(question),) * 2
    if pair[0] == pair[1]:
        pair = differing_pair(question, asked.least) or pair
    return Sensitivity(
        distance_between(asked.of(pair[0]), asked.of(pair[1])),
        "lower bound",
        statistic=asked,
        question=question,
        witness=lambda: pair,
        evaluations=sum(climb.spent for climb in climbs),
        notes=("found by local search: no guarantee, the truth may be larger",),
    )


class _Scatter:
    """Numbers that look random, the same on every run: a search hides nothing and repeats.

    The words of :mod:`tacit.arithmetic.mixing`.
    """

    def __init__(self) -> None:
        self._words = Repeatable(0).words

    def integers(self, low: int, high: int, count: int) -> Order:
        """Whole numbers from ``low`` up to but not including ``high``."""
        return (self._words(count) % np.uint64(high - low)).astype(np.int64) + low

    def permutation(self, values: Order) -> Order:
        """The values in another order."""
        return np.asarray(values[np.argsort(self._words(len(values)), kind="stable")])


class _Climb:
    """A search among pairs that differ by one move.

    An order of the record pool says it all: shared records first, then those only in ``x``, then
    those only in ``y``, then the unused.  A step exchanges two records of different groups.
    """

    def __init__(
        self, statistic: Statistic, question: Question, move: tuple[int, int], budget: int
    ) -> None:
        self.statistic, self.question, self.budget = statistic, question, budget
        self.removed, self.added = move
        assert question.size is not None
        self.size = question.size
        self.pool = _record_pool(question, self.added)
        self.values = self.pool.floats
        self.random = _Scatter()
        self.spent = 0
        self.gap = -1.0
        self.best: Order = np.zeros(0, dtype=np.int64)

    def run(self) -> _Climb:
        """Climb from every start until the budget is used."""
        for start in self._starts():
            self._climb(start)
            if self.spent >= self.budget:
                break
        return self

    def pair(self) -> tuple[Sample, Sample]:
        """The best neighbours found."""
        x, y = self._sides(self.best[None, :])
        return self._picked(x[0]), self._picked(y[0])

    def _picked(self, places: Order) -> Sample:
        """The records at these places of the pool, ascending (the pool itself need not be)."""
        return self.pool.take(places[np.argsort(self.pool.raw[places], kind="stable")])

    def _sides(self, orders: Order) -> tuple[Order, Order]:
        shared = self.size - self.removed
        x = orders[:, : self.size]
        y = np.concatenate(
            [orders[:, :shared], orders[:, self.size : self.size + self.added]], axis=1
        )
        return x, y

    def _gaps(self, orders: Order) -> npt.NDArray[np.float64]:
        self.spent += 2 * len(orders)
        x, y = (np.sort(self.values[side], axis=1) for side in self._sides(orders))
        return np.abs(self.statistic.batch(x) - self.statistic.batch(y))

    def _starts(self) -> Iterator[Order]:
        everyone = np.arange(len(self.pool))
        if self.question.at is None:
            used = self.size + self.added
            yield everyone  # x at the bottom, what comes just above it
            yield np.concatenate(
                [everyone[: self.size], everyone[::-1][: len(everyone) - self.size]]
            )
            yield everyone[::-1]
            middle = np.roll(everyone, used // 2)
            yield middle
            while True:
                yield self.random.permutation(everyone)
        held = everyone[: self.size]  # the pool lists the release first
        free = everyone[self.size :]
        yield everyone
        yield np.concatenate([held[::-1], free[::-1]])
        while True:
            yield np.concatenate([self.random.permutation(held), self.random.permutation(free)])

    def _climb(self, order: Order) -> None:
        gap, idle = float(self._gaps(order[None, :])[0]), 0
        while idle < _PATIENCE and self.spent < self.budget:
            tries = np.repeat(order[None, :], _TRIES, axis=0)
            rows = np.arange(_TRIES)
            i, j = self._exchanges()
            tries[rows, i], tries[rows, j] = order[j], order[i]
            gaps = self._gaps(tries)
            k = int(np.argmax(gaps))
            if gaps[k] > gap:
                order, gap, idle = tries[k], float(gaps[k]), 0
            else:
                idle += 1
        if gap > self.gap:
            self.gap, self.best = gap, order

    def _exchanges(self) -> tuple[Order, Order]:
        n, total = self.size, len(self.pool)
        if self.question.at is None:
            i = self.random.integers(0, min(n + self.added, total), _TRIES)
            return i, self.random.integers(0, total, _TRIES)
        if self.added and total > n and (not self.removed or self.random.integers(0, 2, 1)[0]):
            i = self.random.integers(n, n + self.added, _TRIES)
            return i, self.random.integers(n, total, _TRIES)
        i = self.random.integers(n - self.removed, n, _TRIES)
        return i, self.random.integers(0, n, _TRIES)


def _record_pool(question: Question, added: int) -> Sample:
    """Records to choose from, ascending; a release that is given stands first."""
    domain, size = question.domain, question.size
    assert size is not None
    if isinstance(domain, Records):
        if question.at is None:
            return domain.sample
        return _in_this_order(question.at, question.rest)
    free = _grid(domain) if isinstance(domain, Interval) else domain.sample
    copies = (size if question.at is None else 0) + added
    repeated = free.take(np.repeat(np.arange(len(free)), max(copies, 1)))
    return repeated if question.at is None else _in_this_order(question.at, repeated)


def _in_this_order(first: Sample, then: Sample) -> Sample:
    """Both samples behind each other; the pool need not ascend, only its picks are sorted."""
    both = merge(first, then)
    order = np.argsort(np.concatenate([first.floats, then.floats]), kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return Sample.of_sorted(both.raw[place], both.unit)


def _grid(domain: Interval) -> Sample:
    step = (domain.upper - domain.lower) / (_GRID - 1)
    return Sample([domain.lower + i * step for i in range(_GRID)]).distinct()[0]


def _any_release(question: Question) -> Sample:
    if question.at is not None:
        return question.at
    assert question.size is not None
    return _record_pool(question, 0).slice(0, question.size)
