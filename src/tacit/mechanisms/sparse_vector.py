"""Above-threshold and the sparse vector technique, in the form that is right."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from tacit import noise
from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_fraction, as_integer, positive
from tacit.core import LInfinityDistance, Measurement, PureDP, Space, Step, Vector, register
from tacit.errors import UsageError
from tacit.mechanisms.grid_noise import AggregateGrid
from tacit.mechanisms.output_distribution import FiniteDistribution


@register
@dataclass(frozen=True)
class SparseVector(Step):
    """The sparse vector technique: report which queries are above a threshold, up to ``answers``.

    The answer is a list of booleans that ends with the last ``True`` that was paid for, or with
    the last query.  The threshold is made noisy once; every query gets fresh noise, whose scale
    grows with ``answers``.  Questions that stay below cost nothing more, however many they are.

    **Map.** ``d -> d / threshold_scale + 2 answers d / query_scale`` in pure DP, on a vector of
    query answers under the L-infinity distance; ``d / threshold_scale + answers d / query_scale``
    where all queries move the same way between neighbours (``monotone=True``).

    Proof.  Fix an output with c <= answers above.  Given the threshold noise r and the noise of
    each query, shift: r to ``r + d``, and the noise of each query that was above by ``2 d``.  If
    ``q_i + n_i < T + r`` then ``q'_i + n_i < T + r + d``, and if ``q_i + n_i >= T + r`` then
    ``q'_i + n_i + 2 d >= T + r + d``, as ``|q_i - q'_i| <= d``.  So the shifted noise gives the
    same output on the neighbour, and the shift of discrete Laplace noise by whole units costs
    ``d / threshold_scale`` once and ``2 d / query_scale`` for each of at most ``answers`` queries.
    Monotone: if all q grow, shift the queries above by d only, for they have grown already; if all
    shrink, leave r where it is and shift the queries above by d.

    Source: Lyu, Su, Li, "Understanding the sparse vector technique for differential privacy", VLDB
    2017, algorithm 1 (after Dwork and Roth 2014); discrete noise.  Its variants that do not scale
    the noise with ``answers``, add none to the queries, or give no cut-off are not private.

    Args:
        threshold: in the units of the queries; rounded up to their grid.
        threshold_scale, query_scale: of the two noises, in the same units; above zero.
        answers: after how many ``True`` it stops; at least one.
        monotone: whether all queries move the same way between neighbours.

    Example:
        >>> queries = Space(Vector(int, size=5), LInfinityDistance())
        >>> m = queries >> SparseVector(threshold=100, threshold_scale=2, query_scale=8, answers=2)
        >>> m.map(1), m([0, 1000, 0, 1000, 0])
        (Fraction(1, 1), [False, True, False, True])
    """

    threshold: NumberLike
    threshold_scale: NumberLike
    query_scale: NumberLike
    answers: int = 1
    monotone: bool = False

    name: ClassVar[str] = "sparse_vector"

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", as_fraction(self.threshold, "threshold"))
        for scale in ("threshold_scale", "query_scale"):
            object.__setattr__(self, scale, positive(getattr(self, scale), scale))
        object.__setattr__(self, "answers", as_integer(self.answers, "answers", minimum=1))
        if not isinstance(self.monotone, bool):
            raise UsageError("monotone is True or False")

    def build(self, space: Space) -> Measurement:
        """Return the mechanism on a vector of query answers under the L-infinity distance."""
        if not isinstance(space.domain, Vector) or not isinstance(space.metric, LInfinityDistance):
            raise self.mismatch(
                space,
                f"works on a vector of query answers under the L-infinity distance, "
                f"not on ({space})",
            )
        lattice = AggregateGrid.of(space, self, None)
        test = _Test(
            math.ceil(Fraction(self.threshold) / lattice.grid),
            noise.DiscreteLaplace(Fraction(self.threshold_scale) / lattice.grid),
            noise.DiscreteLaplace(Fraction(self.query_scale) / lattice.grid),
            self.answers,
        )
        each = (1 if self.monotone else 2) * self.answers
        rate = 1 / Fraction(self.threshold_scale) + each / Fraction(self.query_scale)
        return Measurement(
            space,
            PureDP(),
            lambda queries: self._shown(test.release([int(u) for u in lattice.units(queries)])),
            lambda d: rate * d,
            distribution=lambda queries: self._distributions(
                test.law([int(u) for u in lattice.units(queries)])
            ),
            step=self,
        )

    def _shown(self, above: list[bool]) -> Any:
        return above

    def _distributions(self, distribution: FiniteDistribution) -> FiniteDistribution:
        return distribution


@register
@dataclass(frozen=True)
class AboveThreshold(SparseVector):
    """Return the index of the first query that is above a noisy threshold, or None.

    :class:`SparseVector` with one answer, given as an index.

    Example:
        >>> queries = Space(Vector(int, size=3), LInfinityDistance())
        >>> m = queries >> AboveThreshold(threshold=100, threshold_scale=2, query_scale=4)
        >>> m.map(1), m([0, 1000, 0]), m([0, 0, -1000])
        (Fraction(1, 1), 1, None)
    """

    name: ClassVar[str] = "above_threshold"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.answers != 1:
            raise UsageError("above_threshold gives one answer; for more use sparse_vector")

    def _shown(self, above: list[bool]) -> Any:
        return len(above) - 1 if above and above[-1] else None

    def _distributions(self, distribution: FiniteDistribution) -> FiniteDistribution:
        table = {self._shown(list(above)): p for above, p in distribution.table.items()}  # type: ignore[call-overload]
        return FiniteDistribution(table, distribution.rest)


@dataclass(frozen=True)
class _Test:
    """The comparison itself, in grid units."""

    threshold: int
    threshold_noise: noise.DiscreteLaplace
    query_noise: noise.DiscreteLaplace
    answers: int

    def release(self, queries: Sequence[int]) -> list[bool]:
        """Draw all noise first, so that the time does not reveal where it stopped."""
        level = self.threshold + self.threshold_noise.draw()
        errors = self.query_noise.draw_many(len(queries)).tolist()
        above = [q + error >= level for q, error in zip(queries, errors, strict=True)]
        left = self.answers
        for i, yes in enumerate(above):
            left -= yes
            if not left:
                return above[: i + 1]
        return above

    def law(self, queries: Sequence[int]) -> FiniteDistribution:
        """Sum over the noise of the threshold, in fixed point; all but 2^-120 of it is listed."""
        # Given the threshold the queries are independent.
        outputs = [tuple(o) for o in _outputs(len(queries), self.answers)]
        totals = [(0, 0)] * len(outputs)
        passes: dict[int, tuple[tuple[int, int], tuple[int, int]]] = {}
        for shift, weight in self._levels:
            gaps = [self.threshold + shift - q for q in queries]
            for gap in set(gaps) - passes.keys():
                passes[gap] = self._passes(gap)
            for k, output in enumerate(outputs):
                ends = weight
                for yes, gap in zip(output, gaps, strict=False):
                    factor = passes[gap][yes]
                    ends = ends[0] * factor[0] >> _BITS, (ends[1] * factor[1] >> _BITS) + 1
                totals[k] = totals[k][0] + ends[0], totals[k][1] + ends[1]
        table = {
            output: Enclosure.scaled(a, b, _BITS) + Enclosure(Fraction(0), _REST)
            for output, (a, b) in zip(outputs, totals, strict=True)
        }
        return FiniteDistribution(table)  # type: ignore[arg-type]

    @cached_property
    def _levels(self) -> list[tuple[int, tuple[int, int]]]:
        """The noise of the threshold, all but 2^-120 of it: the same on all data."""
        low, high = self.threshold_noise.support(1 - _REST)
        distribution = self.threshold_noise.probability
        return [(shift, _fixed(distribution(shift, 192))) for shift in range(low, high + 1)]

    def _passes(self, gap: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """The probabilities that noise stays below a gap, and that it reaches it: 1 in all."""
        # The distribution is symmetric, so that the lesser is ``P(X <= -k)`` and the greater is
        # what is left.
        lesser = self.query_noise.cdf(-gap if gap > 0 else gap - 1, 192)
        both = _fixed(1 - lesser), _fixed(lesser)
        return both if gap > 0 else both[::-1]


_BITS = 256
_REST = Fraction(1, 1 << 120)


def _fixed(p: Enclosure) -> tuple[int, int]:
    low, high = p.lower, p.upper
    return (
        (low.numerator << _BITS) // low.denominator,
        -(-(high.numerator << _BITS) // high.denominator),
    )


def _outputs(queries: int, answers: int) -> Iterator[list[bool]]:
    """List every output: booleans up to the last query or to the last answer."""
    if not queries or not answers:
        yield []
        return
    for yes in (False, True):
        for tail in _outputs(queries - 1, answers - yes):
            yield [yes, *tail]
