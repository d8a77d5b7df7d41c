"""Lower bounds on a sensitivity, by search and by samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tacit.arithmetic.exact import Number, as_fraction, as_integer
from tacit.arithmetic.mixing import Repeatable
from tacit.arithmetic.roots_and_bisection import narrowed
from tacit.calls import public
from tacit.errors import InfeasibleError, UsageError
from tacit.statistics.domains import Domain, Interval, Records
from tacit.statistics.global_sensitivity import StatisticLike, lookup
from tacit.statistics.question import Question, Relation
from tacit.statistics.result import Sensitivity, differing_pair
from tacit.statistics.samples import Sample, merge
from tacit.statistics.statistic import Statistic, distance_between

# Sensitivity sampling (Rubinstein and Alda 2017): random differential privacy for any function.
#
# Neighbouring releases are drawn from a public distribution of records, and an order statistic of
# their differences serves as the sensitivity.  What follows is *random* differential privacy with
# confidence ``gamma``: over the draw of the neighbours and of the sample, the promise of
# ``epsilon`` holds except with probability ``gamma``.  It is not differential privacy, and the
# answer says so.
#
# Let ``G_1 <= ... <= G_m`` be the sampled differences.  By the inequality of Dvoretzky, Kiefer and
# Wolfowitz in Massart's one-sided form, a new difference exceeds ``G_k`` with probability at most
# ``1 - k/m + sqrt(ln(1/rho) / (2m))``, except with probability ``rho <= 1/2``.  Both failures
# together stay below ``gamma`` when
#
#     k >= m (1 - gamma + rho + sqrt(ln(1/rho) / (2m))).
#
# Any ``rho`` serves.  Given ``m``, taking ``k = m`` gives the smallest ``gamma`` at
# ``8 m L exp(-2L) = 1``; given ``gamma``, the least ``m`` has ``gamma = rho (1 + 2L)``, with
# ``L = ln(1/rho)``.  Both roots are found by bisection; as any ``rho`` is valid, its rounding costs
# no confidence.


_SLACK = 1e-9  # far above the rounding of the few operations below


@dataclass(frozen=True)
class SampledSensitivity:
    """A sensitivity that holds for neighbours drawn from a distribution, except for ``gamma``.

    Attributes:
        value: the ``rank``-th smallest of the sampled differences.
        gamma: the probability with which the promise may fail (rounded up).
        samples: how many pairs of neighbours were drawn.
        rank: which order statistic ``value`` is.
    """

    value: float
    gamma: float
    samples: int
    rank: int
    method: str = "sampled"

    # random differential privacy is weaker than differential privacy
    is_guarantee: ClassVar[bool] = False
    why_no_guarantee: ClassVar[str] = (
        "it holds for neighbours drawn at random, but for a probability of gamma: random "
        "differential privacy only"
    )

    def __float__(self) -> float:
        return self.value


@public
def sampled_sensitivity(
    statistic: StatisticLike,
    draw: Callable[[int], npt.ArrayLike],
    size: int,
    *,
    gamma: Number | None = None,
    samples: int | None = None,
) -> SampledSensitivity:
    """Sample the sensitivity of a statistic under substitution of one record.

    Args:
        statistic: any statistic or function.
        draw: ``draw(count)`` returns ``count`` records, drawn independently from a *public*
            distribution (never the private data).
        size: the size of a release.
        gamma: the confidence asked for; the number of samples follows.
        samples: the number of samples; the confidence follows.

    Raises:
        UsageError: neither or both of ``gamma`` and ``samples``, a gamma outside (0, 1).

    >>> uniform = np.random.default_rng(1).random
    >>> s = sampled_sensitivity("mean", uniform, 100, gamma="1/10")
    >>> s.samples, s.rank, s.value < 1 / 100
    (285, 285, True)
    """
    n = as_integer(size, "size", minimum=1)
    if (gamma is None) == (samples is None):
        raise UsageError("give either gamma or samples, not both and not neither")
    if gamma is not None:
        confidence = float(as_fraction(gamma, "gamma"))
        count, rank = samples_needed(confidence)
    else:
        count = rank = as_integer(samples, "samples", minimum=1)
        confidence = _confidence_of(count)
    named = lookup(statistic)
    gaps = np.sort([_difference(named, draw, n) for _ in range(count)])
    return SampledSensitivity(float(gaps[rank - 1]), confidence, count, rank)


def samples_needed(gamma: float) -> tuple[int, int]:
    """The smallest number of samples for a confidence, and the rank to take.

    >>> samples_needed(0.05)
    (1305, 1305)
    """
    if not 0 < gamma < 1:
        raise UsageError(f"gamma must be between 0 and 1, not {gamma!r}")
    # rho (1 + 2L) rises with rho up to exp(-1/2), and is above gamma there.
    length, _ = narrowed(lambda at: math.exp(-at) * (1 + 2 * at) - gamma > 0, 0.5, 745.0, 200)
    rho = min(math.exp(-length), 0.5)
    length = -math.log(rho)
    if gamma <= rho:
        raise UsageError(f"gamma={gamma!r} is too large to be of use; give one below 1/2")
    count = math.ceil(length / (2 * (gamma - rho) ** 2) * (1 + _SLACK))
    slack = rho + math.sqrt(length / (2 * count))
    rank = math.ceil(count * (1 - gamma + slack) * (1 + _SLACK / count))
    return count, min(rank, count)


def _confidence_of(count: int) -> float:
    length, _ = narrowed(lambda at: 8 * count * at * math.exp(-2 * at) - 1 > 0, 0.5, 745.0, 200)
    rho = min(math.exp(-length), 0.5)
    return (rho + math.sqrt(-math.log(rho) / (2 * count))) * (1 + _SLACK)


def _difference(statistic: Any, draw: Callable[[int], npt.ArrayLike], size: int) -> float:
    records = np.asarray(draw(size + 1), dtype=np.float64)
    if records.shape != (size + 1,):
        raise UsageError(f"draw({size + 1}) must return that many records, not {records.shape}")
    first = np.sort(records[:size])
    second = np.sort(records[1:])
    return abs(float(statistic(first)) - float(statistic(second)))


# A lower bound on the sensitivity of any function, by local search: no guarantee, and labelled so.
#
# Where exhaustive search is too large, hill climbing still finds neighbours that are far apart.  It
# starts from extreme releases and from random ones, exchanges one record at a time, and keeps what
# widens the gap.  What it finds is real (the witness attains it); that nothing wider exists is not
# shown, so such an answer is refused as a stability map.


_GRID = 33  # values that represent an interval
_TRIES = 64  # exchanges tried at a time
_MAX_ROUNDS_WITHOUT_GAIN = 12  # rounds without a gain before starting again

Order = npt.NDArray[np.int64]


@public
def lower_bound(
    statistic: StatisticLike,
    over: Domain,
    at: npt.ArrayLike | None = None,
    distance: int = 1,
    relation: Relation = "unbounded",
    within: bool = True,
    evaluations: int = 20_000,
) -> Sensitivity:
    """Find a lower bound on a sensitivity, by local search; the truth may be larger.

    Args:
        statistic: as for :func:`~tacit.statistics.global_sensitivity.sensitivity`.
        over: the domain, with a size (or give ``at``).
        at: a release, for the local sensitivity.
        distance: how many records may differ.
        relation: the neighbour relation.
        within: as for :func:`~tacit.statistics.global_sensitivity.sensitivity`.
        evaluations: about how often the statistic is evaluated.

    Raises:
        InfeasibleError: no size, or a distance that cannot be made.

    >>> from tacit.statistics import Interval
    >>> s = lower_bound(np.ptp, over=Interval(0, 1, size=50))
    >>> s.value, s.method, s.is_guarantee
    (Fraction(1, 1), 'lower bound', False)
    """
    named = lookup(statistic)
    budget = as_integer(evaluations, "evaluations", minimum=1)
    release = None if at is None else Sample(np.asarray(at), "at")
    question = Question(over, release, distance, relation, within, min(1, named.min_size))
    if question.size is None:
        raise InfeasibleError("a local search needs the size of the release: give size=... or at=")
    moves = list(question.moves(question.size))
    climbs = [_Climb(named, question, move, budget // len(moves)) for move in moves]
    best = max((climb.run() for climb in climbs), key=lambda c: c.gap, default=None)
    pair = best.pair() if best is not None else (_any_release(question),) * 2
    if pair[0] == pair[1]:
        pair = differing_pair(question, named.min_size) or pair
    return Sensitivity(
        distance_between(named.of(pair[0]), named.of(pair[1])),
        "lower bound",
        statistic=named,
        question=question,
        witness=lambda: pair,
        evaluations=sum(climb.spent for climb in climbs),
        notes=("found by local search: no guarantee, the truth may be larger",),
    )


class _Scatter:
    """Numbers that look random, the same on every run: a search hides nothing and repeats."""

    # The words of :mod:`tacit.arithmetic.mixing`.

    def __init__(self) -> None:
        self._words = Repeatable(0).words

    def integers(self, low: int, high: int, count: int) -> Order:
        """Whole numbers from ``low`` up to but not including ``high``."""
        return (self._words(count) % np.uint64(high - low)).astype(np.int64) + low

    def permutation(self, values: Order) -> Order:
        """The values in another order."""
        return np.asarray(values[np.argsort(self._words(len(values)), kind="stable")])


class _Climb:
    """A search among pairs that differ by one move."""

    # An order of the record pool says it all: shared records first, then those only in ``x``, then
    # those only in ``y``, then the unused.  A step exchanges two records of different groups.

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

    def _picked(self, indices: Order) -> Sample:
        """The records at these places of the pool, ascending (the pool itself need not be)."""
        return self.pool.take(indices[np.argsort(self.pool.raw[indices], kind="stable")])

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
        present = everyone[: self.size]  # the pool lists the release first
        free = everyone[self.size :]
        yield everyone
        yield np.concatenate([present[::-1], free[::-1]])
        while True:
            yield np.concatenate([self.random.permutation(present), self.random.permutation(free)])

    def _climb(self, order: Order) -> None:
        gap, idle = float(self._gaps(order[None, :])[0]), 0
        while idle < _MAX_ROUNDS_WITHOUT_GAIN and self.spent < self.budget:
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
    positions = np.empty_like(order)
    positions[order] = np.arange(len(order))
    return Sample.of_sorted(both.raw[positions], both.unit)


def _grid(domain: Interval) -> Sample:
    step = (domain.upper - domain.lower) / (_GRID - 1)
    return Sample([domain.lower + i * step for i in range(_GRID)]).distinct()[0]


def _any_release(question: Question) -> Sample:
    if question.at is not None:
        return question.at
    assert question.size is not None
    return _record_pool(question, 0).slice(0, question.size)
