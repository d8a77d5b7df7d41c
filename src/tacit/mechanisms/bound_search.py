"""Find in private the least bound on the local sensitivity that the data is far from breaking."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit import noise
from tacit.core import (
    ApproximateDP,
    LInfinityDistance,
    Measurement,
    PureDP,
    Space,
    Step,
    Vector,
    register,
)
from tacit.errors import UsageError
from tacit.exact import Number, as_fraction, as_integer, positive, show
from tacit.mechanisms.distribution import FiniteDistribution
from tacit.mechanisms.group_privacy import approximate_loss
from tacit.mechanisms.laplace_error import distance_on_grid
from tacit.mechanisms.like import resized
from tacit.mechanisms.local_statistic import LocalStatistic, column_space, nearest_unit
from tacit.mechanisms.sparse_vector import AboveThreshold
from tacit.noise.enclosure import Enclosure, exp

__all__ = ["BoundSearch", "BoundedAnswer", "ProposeBound", "SearchRelease", "propose_bound"]

_FAR = 1 << 40
_UNITS = 1024
_REST = Fraction(1, 1 << 90)
_SURE = Fraction(1, 100)
_ENOUGH = Fraction(512)
_LISTED = 200
_WIDEST = 10_000
_MOST_CELLS = 5_000_000


class BoundedAnswer(NamedTuple):
    """A released value and the bound on the local sensitivity that its noise is scaled to."""

    value: float
    bound: Fraction


class _Ladder:
    """A geometric ladder of bounds below the largest sensitivity, and the test along it.

    The distances to instability of all rungs are queries of sensitivity one; they are asked of the
    above-threshold mechanism from the smallest bound on.  With scales ``25 / (9 epsilon)`` on the
    threshold and ``25 / (8 epsilon)`` on the queries its cost is ``epsilon``, or 512 if that is
    less.
    """

    def __init__(
        self, local: LocalStatistic, epsilon: Fraction, ratio: Fraction, rungs: int
    ) -> None:
        self.local = local
        self.bounds = [local.full / ratio**k for k in range(rungs, 0, -1)]
        enough = min(epsilon, _ENOUGH)  # beyond, less noise would change nothing
        self.scales = Fraction(25, 9) / enough, Fraction(25, 8) / enough

    def test(self, threshold: int) -> Any:
        """Return the above-threshold mechanism over the rungs."""
        queries = Space(Vector(int, size=len(self.bounds)), LInfinityDistance())
        return queries >> AboveThreshold(threshold, *self.scales)

    def distances(self, sample: Any) -> list[int]:
        """Return the distance to instability for every bound, cut at a public number."""
        found = self.local.distances(sample, self.bounds)
        return [_FAR if d is None else min(d, _FAR) for d in found]

    def law(self, sample: Any, test: Any) -> Any:
        """List which rung is used, by its place, and None for none of them.

        Raises:
            UsageError: noise so wide that this is too long a list.
        """
        if self.scales[0] * len(self.bounds) > _WIDEST:
            raise UsageError(
                "at this epsilon the noise of the search is too wide to list its law: list that of "
                "a larger epsilon; the proof is the same"
            )
        return test.distribution(self.distances(sample))

    def chances(self, sample: Any, threshold: int) -> NDArray[np.float64]:
        """Return how likely each rung is to be used, and at the end none, in floats (no proof)."""
        levels, weights = _noises(float(self.scales[0]))
        width = float(self.scales[1])
        left, found = weights, []
        for distance in self.distances(sample):
            passes = _at_least(threshold + levels - distance, width)
            found.append(float((left * passes).sum()))
            left = left * (1 - passes)
        return np.array([*found, float(left.sum())])

    def reach(self, chance: Fraction) -> int:
        """Return the least T with ``P(query noise - threshold noise >= T) <= chance``."""
        high = 1
        while self._tail(high) > chance:
            high *= 2
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._tail(middle) <= chance else (middle, high)
        return high

    def _tail(self, least: int) -> Fraction:
        """Bound ``P(X - Y >= T)`` from above, Y and X discrete Laplace with ratios p and q.

        Summed over ``Y = r``: ``P(X >= T + r) = q^(T+r) / (1 + q)`` where ``T + r >= 0``, and at
        most one below.  The terms ``r >= 0`` give ``q^T / (1 - p q)``, those ``-T <= r < 0`` give
        ``p (q^T - p^T) / (q - p)``, all times ``(1 - p) / ((1 + p) (1 + q))``; the rest is
        ``p^(T+1) / (1 + p)``.
        """
        p, q = (exp(-1 / scale, 128) for scale in self.scales)
        pt, qt = (exp(-least / scale, 128) for scale in self.scales)
        near = qt / (1 - p * q) + p * ((qt - pt).maximum(0) / (q - p))
        found = near * (1 - p) / ((1 + p) * (1 + q)) + pt * p / (1 + p)
        return found.upper


def _noises(scale: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return values of discrete Laplace noise and their weights; quantiles where it is wide.

    >>> values, weights = _noises(1e9)
    >>> round(float(np.abs(values) @ weights) / 1e9, 2)
    1.0
    """
    if scale < _LISTED:
        values = np.arange(-math.ceil(45 * scale), math.ceil(45 * scale) + 1, dtype=np.float64)
        weights = np.exp(-np.abs(values) / scale)
        return values, weights / weights.sum()
    share = (np.arange(1 << 14) + 0.5) / (1 << 14)
    size = np.log(2 * np.minimum(share, 1 - share))
    return np.rint(np.sign(share - 0.5) * -scale * size), np.full(1 << 14, 1.0 / (1 << 14))


def _at_least(least: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """Return P(X >= least), X discrete Laplace: ``q^least / (1 + q)`` from 1 on, and its mirror."""
    q = math.exp(-1 / scale)
    tail = np.exp(-np.where(least >= 1, least, 1 - least) / scale) / (1 + q)
    return np.where(least >= 1, tail, 1 - tail)


@register
@dataclass(frozen=True)
class BoundSearch(Step):
    """Release with noise for the least bound of a ladder that passes a private test.

    **What is released.**  A pair: the value with discrete Laplace noise of scale ``bound /
    epsilon_2``, on a grid of ``bound / 1024``, and the bound.  The bounds are ``full / ratio^k``, k
    falling from ``rungs`` to 1, with ``full`` a public bound on the sensitivity; the first whose
    distance to instability passes the above-threshold mechanism with ``epsilon_1`` is used, and
    ``full`` itself if none does.  There is always an answer.

    **Map.**  ``1 -> (epsilon_1 + epsilon_2, delta)``.

    Proof.  Let x and x' be neighbours, and call a rung unsafe if its bound is below ``|f(x) -
    f(x')|``.  The local sensitivity of both exceeds an unsafe bound, so its distance is 0 at x, and
    it passes with probability at most ``P(X - Y >= T)``, X and Y the noises of query and threshold;
    T makes that at most ``delta / rungs``, so that with probability ``1 - delta`` no unsafe rung is
    used.  Outputs with another rung are ``epsilon_1 + epsilon_2``-close: the distances move by at
    most one each (:class:`~tacit.mechanisms.sparse_vector.SparseVector`), and the value in grid
    units of the rung by at most 1024 (:class:`~tacit.mechanisms.propose_test_release.
    ProposeTestRelease`).  So ``P(M(x) in S) <= delta + e^(epsilon_1 + epsilon_2) P(M(x') in S)``.

    Args:
        statistic: as for :class:`~tacit.mechanisms.smooth.SmoothNoise`.
        epsilon, delta: the loss at distance one.
        split: the share of epsilon for the search; one half by default.
        ratio: between neighbouring bounds, above one.
        rungs: how many bounds below ``full``.
        bounds: of a function's results; for functions only.

    Raises:
        UsageError: parameters out of range.
    """

    statistic: Any
    epsilon: Number = 1
    delta: Number = "1e-6"
    split: Number | None = None
    ratio: Number = "3/2"
    rungs: int = 32
    bounds: Any = None

    name: ClassVar[str] = "bound_search"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))
        delta = as_fraction(self.delta, "delta")
        if not 0 < delta < Fraction(1, 2):
            raise UsageError(f"delta must be above 0 and below 1/2, not {show(delta)}")
        object.__setattr__(self, "delta", delta)
        split = as_fraction("1/2" if self.split is None else self.split, "split")
        if not 0 < split < 1:
            raise UsageError(f"split is the share of epsilon for the search, in (0, 1): {split}")
        object.__setattr__(self, "split", split)
        _read_ladder(self)

    def build(self, space: Space) -> Measurement:
        """Return the mechanism on a column.

        Raises:
            MismatchError: no column of bounded numbers or known values, or another metric.
        """
        return SearchRelease(space, self, LocalStatistic(self.statistic, space, self.bounds))


def _read_ladder(step: Any) -> None:
    ratio = as_fraction(step.ratio, "ratio")
    if ratio <= 1:
        raise UsageError(f"ratio must be above one, not {show(ratio)}")
    object.__setattr__(step, "ratio", ratio)
    object.__setattr__(step, "rungs", as_integer(step.rungs, "rungs", minimum=1))


class SearchRelease(Measurement):
    """The measurement that :class:`BoundSearch` builds.

    Attributes:
        threshold: T, in records.
        ladder: the bounds that can be used, the smallest first.
    """

    def __init__(self, space: Space, step: BoundSearch, local: LocalStatistic) -> None:
        epsilon, delta = Fraction(step.epsilon), Fraction(step.delta)
        share = Fraction(step.split or 0)
        self._ladder = _Ladder(local, share * epsilon, Fraction(step.ratio), step.rungs)
        self._local = local
        self.threshold = self._ladder.reach(delta / step.rungs)
        self.ladder = [*self._ladder.bounds, local.full]
        self._test = self._ladder.test(self.threshold)
        self._noise = noise.DiscreteLaplace(_UNITS / ((1 - share) * epsilon))
        super().__init__(
            space,
            ApproximateDP(),
            self._release,
            lambda d: approximate_loss(epsilon, delta, d),
            distribution=self._law_on,
            step=step,
            name=step.name,
        )

    def _release(self, records: Any) -> BoundedAnswer:
        sample = self._local.read(records)
        found = self._test(self._ladder.distances(sample))
        bound = self.ladder[-1 if found is None else found]
        unit = nearest_unit(self._local.value(sample), bound / _UNITS) + self._noise.draw()
        return BoundedAnswer(float(unit * bound / _UNITS), bound)

    def _law_on(self, records: Any) -> FiniteDistribution:
        sample = self._local.read(records)
        rungs = self._ladder.law(sample, self._test)
        low, high = self._noise.support(1 - _REST)
        if (high - low) * len(self.ladder) > _MOST_CELLS:
            raise UsageError(
                f"{(high - low) * len(self.ladder)} outputs are too many to list: list those of a "
                "larger epsilon or of fewer rungs; the proof is the same"
            )
        table: dict[Any, Enclosure] = {}
        weights = [self._noise.probability(k, 96) for k in range(low, high + 1)]
        for found, chance in rungs.table.items():
            bound = self.ladder[-1 if found is None else found]
            unit = nearest_unit(self._local.value(sample), bound / _UNITS) + low
            for k, weight in enumerate(weights):
                table[((unit + k) * bound / _UNITS, bound)] = (chance * weight).rounded(96)
        return FiniteDistribution(table, rest=_REST + rungs.rest)

    def expected_error(self, like: Iterable[Any], n: int | None = None, ends: Any = None) -> float:
        """Predict the mean absolute error on data such as ``like``, public or synthetic.

        That of the noise of each rung, over the chances of the rungs.

        Args:
            like: records.
            n: how many records to imagine, of the same spread; as many as ``like`` has by default.
            ends: a pair, if answers are clipped to it afterwards.
        """
        sample = self._local.read(self.input.domain.read(resized(like, n)))
        value, scale = self._local.value(sample), self._noise.scale
        chances: list[float] = self._ladder.chances(sample, self.threshold).tolist()
        errors = (distance_on_grid(value, bound / _UNITS, scale, ends) for bound in self.ladder)
        return sum(p * e for p, e in zip(chances, errors, strict=True))


@register
@dataclass(frozen=True)
class ProposeBound(Step):
    """Find a bound on the local sensitivity for propose-test-release to test, in pure DP.

    The least bound of the ladder of :class:`BoundSearch` whose distance to instability is, by the
    above-threshold mechanism, likely at least ``reach`` (a smaller distance gets through with
    probability at most 1/100 for each rung); the largest rung if there is none.

    **Map.**  ``d -> d epsilon``: the distances are queries of sensitivity one.

    Args:
        statistic: as for :class:`~tacit.mechanisms.smooth.SmoothNoise`.
        reach: the distance that the release after it needs: its threshold and some more.
        epsilon: the loss at distance one.
        ratio, rungs, bounds: as for :class:`BoundSearch`.

    Raises:
        UsageError: parameters out of range.
    """

    statistic: Any
    reach: int
    epsilon: Number = 1
    ratio: Number = "3/2"
    rungs: int = 32
    bounds: Any = None

    name: ClassVar[str] = "propose_bound"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))
        object.__setattr__(self, "reach", as_integer(self.reach, "reach", minimum=1))
        _read_ladder(self)

    def build(self, space: Space) -> Measurement:
        """Return the mechanism on a column.

        Raises:
            MismatchError: no column of bounded numbers or known values, or another metric.
        """
        local = LocalStatistic(self.statistic, space, self.bounds)
        epsilon = Fraction(self.epsilon)
        ladder = _Ladder(local, epsilon, Fraction(self.ratio), self.rungs)
        test = ladder.test(self.reach + ladder.reach(_SURE))

        def bound(found: Any) -> Fraction:
            return ladder.bounds[-1 if found is None else found]

        def law(records: Any) -> FiniteDistribution:
            rungs = ladder.law(local.read(records), test)
            table: dict[Any, Enclosure] = {}
            for found, chance in rungs.table.items():
                table[bound(found)] = table.get(bound(found), Enclosure.of(0)) + chance
            return FiniteDistribution(table, rungs.rest)

        return Measurement(
            space,
            PureDP(),
            lambda records: bound(test(ladder.distances(local.read(records)))),
            lambda d: d * epsilon,
            distribution=law,
            step=self,
        )


def propose_bound(
    statistic: Any,
    bounds: tuple[Number, Number] | None = None,
    epsilon: Number = 1,
    reach: int = 30,
    relation: str = "unbounded",
    *,
    values: Sequence[Any] | None = None,
    ratio: Number = "3/2",
    rungs: int = 32,
) -> Measurement:
    """Return a private search for the bound that propose-test-release should propose.

    Args:
        statistic: as for
            :func:`~tacit.mechanisms.propose_test_release.propose_test_release`.
        bounds: the public bounds of a record, or of a function's results.
        epsilon: the budget of the search alone; the release afterwards has its own.
        reach: how many records the data should be away from breaking the bound: what the release
            afterwards needs to pass (its ``threshold``, and ``5 / epsilon_test`` more).
        relation: ``"unbounded"`` or ``"bounded"``.
        values: instead of bounds, the few public values that a record may have.
        ratio: between neighbouring bounds of the ladder, above one.
        rungs: how many bounds the ladder has.

    Raises:
        UsageError: what is missing or out of range, with what to do.

    Example:
        >>> search = propose_bound("mean", (0, 100), epsilon=1, reach=40)
        >>> search.map(1), 0 < search([50] * 2000) < 1
        (Fraction(1, 1), True)
    """
    function = values is not None and callable(statistic)
    space = column_space(None if values is not None else bounds, relation, values)
    step = ProposeBound(statistic, reach, epsilon, ratio, rungs, bounds if function else None)
    built: Any = space >> step
    return built  # type: ignore[no-any-return]
