"""Propose-test-release: noise for a proposed bound on the local sensitivity."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit import noise
from tacit.arithmetic.enclosure import Enclosure, exp, log
from tacit.arithmetic.exact import Number, as_fraction, as_integer, positive, show
from tacit.arithmetic.roots_and_bisection import smallest_integer
from tacit.calls import public
from tacit.core import (
    ApproximateDP,
    Category,
    ChangeOneDistance,
    LInfinityDistance,
    Measurement,
    PureDP,
    Space,
    Step,
    SymmetricDistance,
    Vector,
    register,
)
from tacit.core.measurement import TwoParts
from tacit.errors import MismatchError, UsageError
from tacit.mechanisms.local_statistic import (
    LocalStatistic,
    column_space,
    distance_on_grid,
    nearest_unit,
)
from tacit.mechanisms.output_distribution import (
    FiniteDistribution,
    approximate_loss,
    listed,
    resized,
)
from tacit.mechanisms.partition_selection import tail
from tacit.mechanisms.sparse_vector import AboveThreshold


def read_delta(delta: Number) -> Fraction:
    """Read a delta within (0, 1/2): beyond that the test would pass by guessing."""
    exact = as_fraction(delta, "delta")
    if not 0 < exact < Fraction(1, 2):
        raise UsageError(f"delta must be above 0 and below 1/2, not {show(exact)}")
    return exact


def read_split(split: Number | None, what: str) -> Fraction | None:
    """Read the share of epsilon for a test or a search, strictly between 0 and 1."""
    if split is None:
        return None
    exact = as_fraction(split, "split")
    if not 0 < exact < 1:
        raise UsageError(f"split is the share of epsilon for the {what}, in (0, 1): {show(exact)}")
    return exact


class LocalMode:
    """The mode of a column of known labels; ties go to the label that is listed first.

    >>> from tacit.mechanisms.local_statistic import column_space
    >>> mode = LocalMode(column_space(None, "unbounded", ("a", "b")))
    >>> counts = mode.read(["a", "a", "a", "b"])
    >>> mode.value(counts), mode.distance(counts)
    ('a', 2)
    """

    # A record with another label counts for none.  Without records the first label is the mode.
    #
    # **Distance.**  Label j takes over from the mode m once its count is above that of m, or equal
    # if j is listed first: after ``c_m - c_j + [m before j]`` steps, for a record that joins or
    # leaves changes the difference by one, and less than that is not enough.  A substitution
    # changes it by two, by turning an m into a j; the steps are half as many, rounded up.  The mode
    # of a neighbour differs after the last of these steps, so the distance to a data set where that
    # is so is one less.

    def __init__(self, space: Space) -> None:
        domain = space.domain
        element = domain.element if isinstance(domain, Vector) else None
        fits = isinstance(space.metric, (SymmetricDistance, ChangeOneDistance))
        if not fits or not isinstance(element, Category) or element.categories is None:
            raise MismatchError(
                "the mode works on a column of known labels under the symmetric or the change-one "
                f"distance, not on ({space}); give values=[...]",
                space,
            )
        self.labels = element.categories
        self._each = 2 if isinstance(space.metric, ChangeOneDistance) else 1

    def read(self, records: Any) -> list[int]:
        """Count the labels."""
        counts = Counter(records)
        return [counts[label] for label in self.labels]

    def value(self, counts: list[int]) -> Any:
        """Return the mode."""
        return self.labels[counts.index(max(counts))]

    def distance(self, counts: list[int]) -> int | None:
        """Return the steps to a data set with a neighbour of another mode; None if none has."""
        maximum = max(counts)
        m = counts.index(maximum)
        behind = [maximum - c + (j > m) for j, c in enumerate(counts) if j != m]
        return -(-min(behind) // self._each) - 1 if behind else None


# A ladder of bounds on the local sensitivity, and the private test along it.


_FAR = 1 << 40
_ENOUGH = Fraction(512)
_LISTED = 200
_WIDEST = 10_000


class Ladder:
    """A geometric ladder of bounds below the largest sensitivity, and the test along it."""

    # The distances to instability of all rungs are queries of sensitivity one; they are asked of
    # the above-threshold mechanism from the smallest bound on.  With scales ``25 / (9 epsilon)`` on
    # the threshold and ``25 / (8 epsilon)`` on the queries its cost is ``epsilon``, or 512 if that
    # is less.

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
        distances = self.local.distances(sample, self.bounds)
        return [_FAR if d is None else min(d, _FAR) for d in distances]

    def law(self, sample: Any, test: Any) -> Any:
        """List which rung is used, by its place, and None for none of them."""
        if self.scales[0] * len(self.bounds) > _WIDEST:
            raise UsageError(
                "at this epsilon the noise of the search is too wide to list its distribution: "
                "list that of a larger epsilon; the proof is the same"
            )
        return test.distribution(self.distances(sample))

    def chances(self, sample: Any, threshold: int) -> NDArray[np.float64]:
        """Return how likely each rung is to be used, and at the end none, in floats (no proof)."""
        levels, weights = _noises(float(self.scales[0]))
        width = float(self.scales[1])
        left, chances = weights, []
        for distance in self.distances(sample):
            passes = _at_least(threshold + levels - distance, width)
            chances.append(float((left * passes).sum()))
            left = left * (1 - passes)
        return np.array([*chances, float(left.sum())])

    def reach(self, chance: Fraction) -> int:
        """Return the least T with ``P(query noise - threshold noise >= T) <= chance``."""
        return smallest_integer(lambda minimum: self._tail(minimum) <= chance, 0, 1)

    def _tail(self, minimum: int) -> Fraction:
        """Bound ``P(X - Y >= T)`` from above, Y and X discrete Laplace with ratios p and q."""
        # Summed over ``Y = r``: ``P(X >= T + r) = q^(T+r) / (1 + q)`` where ``T + r >= 0``, and at
        # most one below.  The terms ``r >= 0`` give ``q^T / (1 - p q)``, those ``-T <= r < 0`` give
        # ``p (q^T - p^T) / (q - p)``, all times ``(1 - p) / ((1 + p) (1 + q))``; the rest is
        # ``p^(T+1) / (1 + p)``.
        p, q = (exp(-1 / scale, 128) for scale in self.scales)
        pt, qt = (exp(-minimum / scale, 128) for scale in self.scales)
        near = qt / (1 - p * q) + p * ((qt - pt).maximum(0) / (q - p))
        probability = near * (1 - p) / ((1 + p) * (1 + q)) + pt * p / (1 + p)
        return probability.upper


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


def _at_least(minimum: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """Return P(X >= minimum), X discrete Laplace: ``q^minimum / (1 + q)`` from 1 on."""
    q = math.exp(-1 / scale)
    tail = np.exp(-np.where(minimum >= 1, minimum, 1 - minimum) / scale) / (1 + q)
    return np.where(minimum >= 1, tail, 1 - tail)


# Find in private the smallest bound on the local sensitivity that the data is far from breaking.


_UNITS = 1024
_REST = Fraction(1, 1 << 90)
_SURE = Fraction(1, 100)
_MAX_CELLS = 5_000_000


class BoundedAnswer(NamedTuple):
    """A released value and the bound on the local sensitivity that its noise is scaled to."""

    value: float
    bound: Fraction


@register
@dataclass(frozen=True)
class BoundSearch(Step):
    """Release with noise for the smallest bound of a ladder that passes a private test.

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
    most one each (:class:`~tacit.mechanisms.sparse_vector.SparseVector`), and the value
    in grid units of the rung by at most 1024
    (:class:`~tacit.mechanisms.propose_test_release.ProposeTestRelease`). So
    ``P(M(x) in S) <= delta + e^(epsilon_1 + epsilon_2) P(M(x') in S)``.

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
        object.__setattr__(self, "delta", read_delta(self.delta))
        object.__setattr__(
            self, "split", read_split("1/2" if self.split is None else self.split, "search")
        )
        _read_ladder(self)

    def build(self, space: Space) -> Measurement:
        """Return the mechanism on a column of bounded numbers or known values."""
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
        self._ladder = Ladder(local, share * epsilon, Fraction(step.ratio), step.rungs)
        self.local = local
        self.threshold = self._ladder.reach(delta / step.rungs)
        self.ladder = [*self._ladder.bounds, local.full]
        self._test = self._ladder.test(self.threshold)
        self._noise = noise.DiscreteLaplace(_UNITS / ((1 - share) * epsilon))
        super().__init__(
            space,
            ApproximateDP(),
            TwoParts(self._prepared),
            lambda d: approximate_loss(epsilon, delta, d),
            distribution=self._distribution_on,
            step=step,
            name=step.name,
        )

    def _prepared(self, records: Any) -> Callable[[], BoundedAnswer]:
        sample = self.local.read(records)
        return partial(self._drawn, self._ladder.distances(sample), self.local.value(sample))

    def _drawn(self, distances: list[int], value: Any) -> BoundedAnswer:
        rung = self._test(distances)
        bound = self.ladder[-1 if rung is None else rung]
        unit = nearest_unit(value, bound / _UNITS) + self._noise.draw()
        return BoundedAnswer(float(unit * bound / _UNITS), bound)

    def _distribution_on(self, records: Any) -> FiniteDistribution:
        sample = self.local.read(records)
        rungs = self._ladder.law(sample, self._test)
        low, high = self._noise.support(1 - _REST)
        if (high - low) * len(self.ladder) > _MAX_CELLS:
            raise UsageError(
                f"{(high - low) * len(self.ladder)} outputs are too many to list: list those of a "
                "larger epsilon or of fewer rungs; the proof is the same"
            )
        table: dict[Any, Enclosure] = {}
        weights = [self._noise.probability(k, 96) for k in range(low, high + 1)]
        for rung, chance in rungs.table.items():
            bound = self.ladder[-1 if rung is None else rung]
            unit = nearest_unit(self.local.value(sample), bound / _UNITS) + low
            for k, weight in enumerate(weights):
                table[((unit + k) * bound / _UNITS, bound)] = (chance * weight).rounded(96)
        return FiniteDistribution(table, rest=_REST + rungs.rest)

    def expected_error(
        self, like: Iterable[object], n: int | None = None, ends: tuple[float, float] | None = None
    ) -> float:
        """Predict the mean absolute error on data such as ``like``, public or synthetic.

        That of the noise of each rung, over the probabilities of the rungs.

        Args:
            like: records.
            n: how many records to imagine, of the same spread; as many as ``like`` has by default.
            ends: a pair, if answers are clipped to it afterwards.
        """
        sample = self.local.read(self.input.domain.read(resized(like, n)))
        value, scale = self.local.value(sample), self._noise.scale
        chances: list[float] = self._ladder.chances(sample, self.threshold).tolist()
        errors = (distance_on_grid(value, bound / _UNITS, scale, ends) for bound in self.ladder)
        return sum(p * e for p, e in zip(chances, errors, strict=True))


@register
@dataclass(frozen=True)
class ProposeBound(Step):
    """Find a bound on the local sensitivity for propose-test-release to test, in pure DP.

    The smallest bound of the ladder of :class:`BoundSearch` whose distance to instability is, by
    the above-threshold mechanism, likely at least ``reach`` (a smaller distance gets through with
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
        """Return the mechanism on a column of bounded numbers or known values."""
        local = LocalStatistic(self.statistic, space, self.bounds)
        epsilon = Fraction(self.epsilon)
        ladder = Ladder(local, epsilon, Fraction(self.ratio), self.rungs)
        test = ladder.test(self.reach + ladder.reach(_SURE))

        def bound(rung: Any) -> Fraction:
            return ladder.bounds[-1 if rung is None else rung]

        def prepared(records: Any) -> Callable[[], Fraction]:
            distances = ladder.distances(local.read(records))
            return lambda: bound(test(distances))

        def distribution_of(records: Any) -> FiniteDistribution:
            rungs = ladder.law(local.read(records), test)
            table: dict[Any, Enclosure] = {}
            for rung, chance in rungs.table.items():
                table[bound(rung)] = table.get(bound(rung), Enclosure.of(0)) + chance
            return FiniteDistribution(table, rungs.rest)

        return Measurement(
            space,
            PureDP(),
            TwoParts(prepared),
            lambda d: d * epsilon,
            distribution=distribution_of,
            step=self,
        )


@public
def propose_bound(
    statistic: object,
    bounds: tuple[Number, Number] | None = None,
    epsilon: Number = 1,
    reach: int = 30,
    relation: str = "unbounded",
    *,
    values: Sequence[object] | None = None,
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


# Propose a bound on the local sensitivity, test it in private, release with noise of its size.

_MAX_LISTED_CELLS = 200_000
_LIKELY = Fraction(99, 100)


def passing_threshold(epsilon: Fraction, delta: Fraction) -> int:
    """Return the smallest integer T with ``P(Z >= T) <= delta``, Z discrete Laplace.

    >>> passing_threshold(Fraction(1), Fraction(1, 10**6))
    14
    """
    # ``P(Z >= T) = q^T / (1 + q)`` with ``q = e^-epsilon``, for T >= 1.  The continuous ``ln(1 / (2
    # delta)) / epsilon`` is its limit for small epsilon.
    above = log(1 / delta, 128) - log(1 + exp(-epsilon, 128), 128)
    threshold = max(1, math.floor(above.middle / epsilon))
    while tail(1 / epsilon, threshold) > delta:
        threshold += 1
    while threshold > 1 and tail(1 / epsilon, threshold - 1) <= delta:
        threshold -= 1
    return threshold


@register
@dataclass(frozen=True)
class ProposeTestRelease(Step):
    """Release with noise for a proposed bound, if a private test finds that it is safe.

    **What is released.**  Let ``D(x)`` be the number of records to change until the local
    sensitivity exceeds ``bound``; 0 where it does so already.  The test adds discrete Laplace noise
    of scale ``1 / epsilon_1`` to D and passes at T or more, T the smallest integer that noise
    alone reaches with probability at most delta.  Then the statistic, on a public grid, gets
    discrete Laplace noise of scale ``bound / epsilon_2``.  Otherwise the answer is None.

    **Map.**  ``1 -> (epsilon_1 + epsilon_2, delta)``; refusals cost as much as answers.

    Proof.  Let x and x' be neighbours.  If ``|f(x) - f(x')| > bound``, the local sensitivity of
    both exceeds the bound, so ``D(x) = D(x') = 0``: both refuse with the same probability, at least
    ``1 - delta``, and the outputs are within delta in total variation.  Otherwise ``|D(x) - D(x')|
    <= 1``, since A of a data set at t is at most that of its neighbour at t + 1, so that passing
    and refusing are each ``epsilon_1``-close; and the statistic moves by at most ``bound``, so its
    nearest multiple of the grid by at most ``ceil(bound / grid)`` units (rounding commutes with
    whole shifts and never falls), to which the noise in units has scale ``ceil(bound / grid) /
    epsilon_2``: the answers are ``epsilon_2``-close.  A grid that divides the bound costs nothing.
    At distance k the group loss of :mod:`tacit.mechanisms.output_distribution`.

    Source: Dwork and Lei, STOC 2009.  The test with threshold ``ln(2 / delta) / (2 epsilon)`` and
    both noises of rate epsilon, found in textbooks, is (2 epsilon, sqrt(delta / 2) / 2)-DP.

    **Mode.**  On a column of known values ``"mode"`` needs no bound and no noise on the answer:
    where no neighbour changes it, the answers are equal; epsilon_2 is 0.

    Args:
        statistic: as for :class:`~tacit.mechanisms.smooth.SmoothNoise`, or ``"mode"``.
        bound: the proposed bound on the local sensitivity.
        epsilon, delta: the loss at distance one.
        split: the share of epsilon that the test gets; one half by default, which makes threshold
            times noise least.
        grid: of the release; ``bound / 1024`` by default.
        bounds: of a function's results; for functions only.

    Raises:
        UsageError: parameters missing or out of range.
    """

    statistic: Any
    bound: Number | None = None
    epsilon: Number = 1
    delta: Number = "1e-6"
    split: Number | None = None
    grid: Number | None = None
    bounds: Any = None

    name: ClassVar[str] = "propose_test_release"

    def __post_init__(self) -> None:
        if self.statistic == "mode":
            if any(v is not None for v in (self.bound, self.split, self.grid, self.bounds)):
                raise UsageError(
                    "the mode takes only epsilon and delta, since no noise is added to it: "
                    "leave bounds, bound, split and grid out"
                )
        else:
            if self.bound is None:
                raise UsageError("give bound, above zero: the local sensitivity to propose")
            object.__setattr__(self, "bound", positive(self.bound, "bound"))
        if self.grid is not None:
            object.__setattr__(self, "grid", positive(self.grid, "grid"))
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))
        object.__setattr__(self, "delta", read_delta(self.delta))
        object.__setattr__(self, "split", read_split(self.split, "test"))

    def build(self, space: Space) -> Measurement:
        """Return the mechanism on a column of bounded numbers or known values.

        Raises:
            UsageError: a bound that no data set can break.
        """
        if self.statistic == "mode":
            return TestedRelease(space, self, LocalMode(space))
        local = LocalStatistic(self.statistic, space, self.bounds)
        refuse_wide(Fraction(self.bound or 0), local)
        return TestedRelease(space, self, local)

    def loss(self, distance: Fraction) -> tuple[Fraction, Fraction]:
        """Return the privacy loss at a distance."""
        return approximate_loss(Fraction(self.epsilon), Fraction(self.delta), distance)


def refuse_wide(bound: Fraction, local: LocalStatistic) -> None:
    """Raise if a bound holds on every data set: the test would waste budget."""
    if bound >= local.full:
        raise UsageError(
            f"bound {show(bound)} is not below {show(local.full)}, which no data set exceeds: "
            "propose a smaller one, or add noise for the global sensitivity without a test"
        )


class TestedRelease(Measurement):
    """The measurement that :class:`ProposeTestRelease` builds, with what can be said beforehand.

    Attributes:
        threshold: T, in records.
        epsilon_test, epsilon_release: the two parts of epsilon.
        bound, grid: of the release; None for a mode.
    """

    __test__ = False

    def __init__(
        self, space: Space, step: ProposeTestRelease, local: LocalStatistic | LocalMode
    ) -> None:
        self.local: Any = local
        epsilon, delta = Fraction(step.epsilon), Fraction(step.delta)
        mode = isinstance(local, LocalMode)
        share = Fraction(1) if mode else Fraction(step.split or Fraction(1, 2))
        self.epsilon_test = share * epsilon
        self.epsilon_release = epsilon - self.epsilon_test
        self.threshold = passing_threshold(self.epsilon_test, delta)
        self.bound: Fraction | None = None if mode else Fraction(step.bound or 0)
        self.grid: Fraction | None = None
        self._test = noise.DiscreteLaplace(1 / self.epsilon_test)
        if self.bound is not None:
            self.grid = self.bound / 1024 if step.grid is None else Fraction(step.grid)
            self._noise = noise.DiscreteLaplace(
                math.ceil(self.bound / self.grid) / self.epsilon_release
            )
        super().__init__(
            space,
            ApproximateDP(),
            TwoParts(self._prepared),
            step.loss,
            distribution=self._distribution_on,
            step=step,
            name=step.name,
        )

    def _prepared(self, records: Any) -> Callable[[], Any]:
        placed = self._placed(records)
        return lambda: self._answers(*placed, 1)[0]

    def _placed(self, records: Any) -> tuple[int | None, Any]:
        """Return the distance to instability, and the answer without noise: in units of a grid."""
        sample = self.local.read(records)
        value = self.local.value(sample)
        return self._distance(sample), value if self.grid is None else nearest_unit(
            value, self.grid
        )

    def _answers(self, distance: int | None, centre: Any, times: int) -> list[Any]:
        """Draw both noises whether or not both are used, so that the time reveals nothing."""
        answers = self._noisy(centre, times)
        tested = [self._test.draw()] if times == 1 else self._test.draw_many(times).tolist()
        passed = [distance is None or distance + test >= self.threshold for test in tested]
        return [a if safe else None for a, safe in zip(answers, passed, strict=True)]

    def _noisy(self, centre: Any, times: int) -> list[Any]:
        if self.grid is None:
            return [centre] * times
        drawn = [self._noise.draw()] if times == 1 else self._noise.draw_many(times).tolist()
        return [float((centre + one) * self.grid) for one in drawn]

    def simulate(self, like: Iterable[object], times: int) -> list[object]:
        """Return what this many releases say of records that are public or synthetic.

        Draws of this very mechanism, with the records read but once; None where it refuses.

        Args:
            like: records; each of the releases depends on them.
            times: how many.
        """
        count = as_integer(times, "times", minimum=0)
        return self._answers(*self._placed(self.input.domain.read(listed(like))), count)

    def _distance(self, sample: Any) -> int | None:
        distance: int | None
        if isinstance(self.local, LocalMode):
            distance = self.local.distance(sample)
        else:
            distance = self.local.distance(sample, self.bound)
        return distance

    def _passes(self, distance: int | None) -> Enclosure:
        """Enclose the probability that the test passes."""
        if distance is None:
            return Enclosure.of(1)
        return (1 - self._test.cdf(self.threshold - distance - 1, 192)).rounded(128)

    def _distribution_on(self, records: Any) -> FiniteDistribution:
        distance, centre = self._placed(records)
        passes = self._passes(distance)
        table: dict[Any, Enclosure] = {None: (1 - passes).maximum(0)}
        if self.grid is None:
            table[centre] = passes
            return FiniteDistribution(table)
        for k, chance in self._chances:
            table[(centre + k) * self.grid] = passes * chance
        return FiniteDistribution(table, rest=_REST)

    @cached_property
    def _chances(self) -> list[tuple[int, Enclosure]]:
        """The noise of the answer, listed: the same on all data."""
        low, high = self._noise.support(1 - _REST)
        if high - low > _MAX_LISTED_CELLS:
            raise UsageError(
                f"{high - low + 1} outputs are too many to list: give a coarser grid to list them: "
                "the proof is the same"
            )
        return [(k, self._noise.probability(k, 96)) for k in range(low, high + 1)]

    def answer_probability(self, like: Iterable[object], n: int | None = None) -> float:
        """Return the probability of an answer on data such as ``like``, public or synthetic.

        Args:
            like: records.
            n: how many records to imagine, of the same spread; as many as ``like`` has by default.
        """
        return float(self._passes(self._distance(self._like(like, n))))

    def expected_error(
        self, like: Iterable[object], n: int | None = None, ends: tuple[float, float] | None = None
    ) -> float:
        """Return the mean absolute error of an answer, given that there is one.

        That of discrete Laplace noise around the multiple of the grid that is nearest to the value.
        Infinite where an answer is impossible; see :meth:`answer_probability`.

        Args:
            like: records.
            n: how many records to imagine, of the same spread; as many as ``like`` has by default.
            ends: a pair, if answers are clipped to it afterwards.
        """
        sample = self._like(like, n)
        if not self._passes(self._distance(sample)).upper:
            return math.inf
        if self.grid is None:
            return 0.0
        return distance_on_grid(self.local.value(sample), self.grid, self._noise.scale, ends)

    def _like(self, like: Iterable[Any], n: int | None) -> Any:
        return self.local.read(self.input.domain.read(resized(like, n)))


@public
def propose_test_release(
    statistic: object,
    bounds: tuple[Number, Number] | None = None,
    bound: Number | str | None = None,
    epsilon: Number = 1,
    delta: Number = "1e-6",
    relation: str = "unbounded",
    split: Number | None = None,
    *,
    values: Sequence[object] | None = None,
    grid: Number | None = None,
    like: Iterable[object] | None = None,
) -> TestedRelease | SearchRelease:
    """Return a propose-test-release: the answer is None where the private test of the bound fails.

    See :class:`ProposeTestRelease` for the proof of its ``(epsilon, delta)``.

    Args:
        statistic: ``"mean"``, ``"sum"``, ``"var"``, ``"std"``, ``"median"``, ``"percentile(90)"``,
            ``"interquartile_range"``, a statistic, any function of one release over ``values``, or
            ``"mode"`` over ``values`` (any labels).
        bounds: the public bounds of a record; of a function's results where ``values`` are given.
        bound: the proposed bound on the local sensitivity; or ``"search"``, and the least of a
            geometric ladder of bounds that passes is used: the answer is then a pair
            ``(value, bound)`` and never None
            (:class:`~tacit.mechanisms.propose_test_release.BoundSearch`).
        epsilon: the loss at distance one, test and answer together.
        delta: the probability that the test passes by noise alone, below 1/2.
        relation: ``"unbounded"`` or ``"bounded"``.
        split: the share of epsilon for the test; by default one half, or the best for ``like``.
        values: instead of bounds, the few public values that a record may have.
        grid: of the release.
        like: public or synthetic records of the size that is expected; the test then gets the least
            share with which it passes on them with probability 0.99, if any share does.

    Raises:
        UsageError: what is missing or out of range, with what to do.

    Example:
        >>> m = propose_test_release("mean", (0, 100), bound="0.5", epsilon=1, delta="1e-6")
        >>> m.map(1), m.threshold
        ((Fraction(1, 1), Fraction(1, 1000000)), 27)
        >>> m([40, 50, 60]) is None, 30 < m([40] * 1000) < 50
        (True, True)
        >>> favourite = propose_test_release("mode", values=["a", "b"], epsilon=1, delta="1e-6")
        >>> favourite(["a"] * 100 + ["b"] * 9), favourite(["a", "b"])
        ('a', None)
    """
    function = values is not None and callable(statistic)
    space = column_space(None if values is not None else bounds, relation, values)
    of_result = bounds if function else None
    if bound == "search":
        step: Any = BoundSearch(statistic, epsilon, delta, split, bounds=of_result)
        searched: Any = space >> step
        return searched  # type: ignore[no-any-return]
    proposed: Any = None if bound is None else bound

    def built(share: Number | None) -> Any:
        return space >> ProposeTestRelease(
            statistic, proposed, epsilon, delta, share, grid, of_result
        )

    release = built(split)
    if like is None or split is not None or statistic == "mode":
        return release  # type: ignore[no-any-return]
    sample = release._like(like, None)
    distance = release._distance(sample)
    shares = [Fraction(k, 40) for k in range(1, 40)]
    enough = next((s for s in shares if built(s)._passes(distance).middle >= _LIKELY), None)
    return release if enough is None else built(enough)  # type: ignore[no-any-return]
