"""Find in private the least bound on the local sensitivity that the data is far from breaking."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, NamedTuple

from tacit import noise
from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import Number, as_fraction, as_integer, positive, show
from tacit.calls import public
from tacit.core import ApproximateDP, Measurement, PureDP, Space, Step, register
from tacit.core.chain.measurement import TwoParts
from tacit.errors import UsageError
from tacit.mechanisms.propose_test_release.bound_ladder import Ladder
from tacit.mechanisms.propose_test_release.parameters import read_delta, read_split
from tacit.mechanisms.shared.group_privacy import approximate_loss
from tacit.mechanisms.shared.laplace_error import distance_on_grid
from tacit.mechanisms.shared.local_statistic import LocalStatistic, column_space, nearest_unit
from tacit.mechanisms.shared.output_distribution import FiniteDistribution
from tacit.mechanisms.shared.public_sample import resized

__all__ = ["BoundSearch", "BoundedAnswer", "ProposeBound", "SearchRelease", "propose_bound"]

_UNITS = 1024
_REST = Fraction(1, 1 << 90)
_SURE = Fraction(1, 100)
_MOST_CELLS = 5_000_000


class BoundedAnswer(NamedTuple):
    """A released value and the bound on the local sensitivity that its noise is scaled to."""

    value: float
    bound: Fraction


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
    most one each (:class:`~tacit.mechanisms.selection.sparse_vector.SparseVector`), and the value
    in grid units of the rung by at most 1024
    (:class:`~tacit.mechanisms.propose_test_release.mechanism.ProposeTestRelease`). So
    ``P(M(x) in S) <= delta + e^(epsilon_1 + epsilon_2) P(M(x') in S)``.

    Args:
        statistic: as for :class:`~tacit.mechanisms.smooth.smooth_noise.SmoothNoise`.
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
            distribution=self._law_on,
            step=step,
            name=step.name,
        )

    def _prepared(self, records: Any) -> Callable[[], BoundedAnswer]:
        sample = self.local.read(records)
        return partial(self._drawn, self._ladder.distances(sample), self.local.value(sample))

    def _drawn(self, distances: list[int], value: Any) -> BoundedAnswer:
        found = self._test(distances)
        bound = self.ladder[-1 if found is None else found]
        unit = nearest_unit(value, bound / _UNITS) + self._noise.draw()
        return BoundedAnswer(float(unit * bound / _UNITS), bound)

    def _law_on(self, records: Any) -> FiniteDistribution:
        sample = self.local.read(records)
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

    The least bound of the ladder of :class:`BoundSearch` whose distance to instability is, by the
    above-threshold mechanism, likely at least ``reach`` (a smaller distance gets through with
    probability at most 1/100 for each rung); the largest rung if there is none.

    **Map.**  ``d -> d epsilon``: the distances are queries of sensitivity one.

    Args:
        statistic: as for :class:`~tacit.mechanisms.smooth.smooth_noise.SmoothNoise`.
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
        ladder = Ladder(local, epsilon, Fraction(self.ratio), self.rungs)
        test = ladder.test(self.reach + ladder.reach(_SURE))

        def bound(found: Any) -> Fraction:
            return ladder.bounds[-1 if found is None else found]

        def prepared(records: Any) -> Callable[[], Fraction]:
            distances = ladder.distances(local.read(records))
            return lambda: bound(test(distances))

        def law(records: Any) -> FiniteDistribution:
            rungs = ladder.law(local.read(records), test)
            table: dict[Any, Enclosure] = {}
            for found, chance in rungs.table.items():
                table[bound(found)] = table.get(bound(found), Enclosure.of(0)) + chance
            return FiniteDistribution(table, rungs.rest)

        return Measurement(
            space,
            PureDP(),
            TwoParts(prepared),
            lambda d: d * epsilon,
            distribution=law,
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
            :func:`~tacit.mechanisms.propose_test_release.mechanism.propose_test_release`.
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
