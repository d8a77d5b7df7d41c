"""Propose a bound on the local sensitivity, test it in private, release with noise of its size."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from tacit import noise
from tacit.arithmetic.enclosure import Enclosure, exp, log
from tacit.arithmetic.exact import Number, as_integer, positive, show
from tacit.calls import public
from tacit.core import ApproximateDP, Measurement, Space, Step, register
from tacit.core.chain.measurement import TwoParts
from tacit.errors import UsageError
from tacit.mechanisms.propose_test_release.bound_search import (
    BoundedAnswer,
    BoundSearch,
    SearchRelease,
)
from tacit.mechanisms.propose_test_release.local_mode import LocalMode
from tacit.mechanisms.propose_test_release.parameters import read_delta, read_split
from tacit.mechanisms.selection.partition_selection import tail
from tacit.mechanisms.shared.group_privacy import approximate_loss
from tacit.mechanisms.shared.laplace_error import distance_on_grid
from tacit.mechanisms.shared.local_statistic import LocalStatistic, column_space, nearest_unit
from tacit.mechanisms.shared.output_distribution import FiniteDistribution
from tacit.mechanisms.shared.public_sample import listed, resized

__all__ = [
    "BoundedAnswer",
    "ProposeTestRelease",
    "TestedRelease",
    "passing_threshold",
    "propose_test_release",
]

_REST = Fraction(1, 1 << 90)
_MOST_CELLS = 200_000
_LIKELY = Fraction(99, 100)


def passing_threshold(epsilon: Fraction, delta: Fraction) -> int:
    """Return the least whole T with ``P(Z >= T) <= delta``, Z discrete Laplace of scale 1/epsilon.

    ``P(Z >= T) = q^T / (1 + q)`` with ``q = e^-epsilon``, for T >= 1.  The continuous ``ln(1 / (2
    delta)) / epsilon`` is its limit for small epsilon.

    >>> passing_threshold(Fraction(1), Fraction(1, 10**6))
    14
    """
    above = log(1 / delta, 128) - log(1 + exp(-epsilon, 128), 128)
    found = max(1, math.floor(above.middle / epsilon))
    while tail(1 / epsilon, found) > delta:
        found += 1
    while found > 1 and tail(1 / epsilon, found - 1) <= delta:
        found -= 1
    return found


@register
@dataclass(frozen=True)
class ProposeTestRelease(Step):
    """Release with noise for a proposed bound, if a private test finds that it is safe.

    **What is released.**  Let ``D(x)`` be the number of records to change until the local
    sensitivity exceeds ``bound``; 0 where it does so already.  The test adds discrete Laplace noise
    of scale ``1 / epsilon_1`` to D and passes at T or more, T the least whole number that noise
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
    At distance k the group loss of :mod:`tacit.mechanisms.shared.group_privacy`.

    Source: Dwork and Lei, STOC 2009.  The test with threshold ``ln(2 / delta) / (2 epsilon)`` and
    both noises of rate epsilon, found in textbooks, is (2 epsilon, sqrt(delta / 2) / 2)-DP.

    **Mode.**  On a column of known values ``"mode"`` needs no bound and no noise on the answer:
    where no neighbour changes it, the answers are equal; epsilon_2 is 0.

    Args:
        statistic: as for :class:`~tacit.mechanisms.smooth.smooth_noise.SmoothNoise`, or ``"mode"``.
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
        """Return the mechanism on a column.

        Raises:
            MismatchError: no column of bounded numbers or known values, or another metric.
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
    """Refuse a bound that holds on every data set: then the test is a waste."""
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
            distribution=self._law_on,
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
        """Return what so many releases say of records that are public or synthetic.

        Draws of this very mechanism, with the records read but once; None where it refuses.

        Args:
            like: records; each of the releases depends on them.
            times: how many.
        """
        count = as_integer(times, "times", minimum=0)
        return self._answers(*self._placed(self.input.domain.read(listed(like))), count)

    def _distance(self, sample: Any) -> int | None:
        found: int | None
        if isinstance(self.local, LocalMode):
            found = self.local.distance(sample)
        else:
            found = self.local.distance(sample, self.bound)
        return found

    def _passes(self, distance: int | None) -> Enclosure:
        """Enclose the probability that the test passes."""
        if distance is None:
            return Enclosure.of(1)
        return (1 - self._test.cdf(self.threshold - distance - 1, 192)).rounded(128)

    def _law_on(self, records: Any) -> FiniteDistribution:
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
        if high - low > _MOST_CELLS:
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
            (:class:`~tacit.mechanisms.propose_test_release.bound_search.BoundSearch`).
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
    asked: Any = None if bound is None else bound

    def built(share: Number | None) -> Any:
        return space >> ProposeTestRelease(statistic, asked, epsilon, delta, share, grid, of_result)

    found = built(split)
    if like is None or split is not None or statistic == "mode":
        return found  # type: ignore[no-any-return]
    sample = found._like(like, None)
    distance = found._distance(sample)
    shares = [Fraction(k, 40) for k in range(1, 40)]
    enough = next((s for s in shares if built(s)._passes(distance).middle >= _LIKELY), None)
    return found if enough is None else built(enough)  # type: ignore[no-any-return]
