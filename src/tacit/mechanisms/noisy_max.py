"""The exponential mechanism, permute-and-flip and report-noisy-max."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit import noise
from tacit.arithmetic.enclosure import Enclosure, exp
from tacit.arithmetic.exact import Number, positive
from tacit.core import (
    LInfinityDistance,
    Measure,
    Measurement,
    PureDP,
    Space,
    Step,
    ZeroConcentratedDP,
    register,
)
from tacit.core.conversions import of_crossing, of_range
from tacit.core.losses.base import OfPair
from tacit.core.losses.two_outcomes import TwoOutcomes
from tacit.errors import UsageError
from tacit.mechanisms.grid_noise import AggregateGrid
from tacit.mechanisms.output_distribution import FiniteDistribution, normalised

# What the private choices share: scores in whole units, as costs below the best.


FARTHEST = 1 << 62


def score_lattice(space: Space, step: Step) -> AggregateGrid:
    """Return the lattice of a vector of scores of public number, under the L-infinity distance."""
    if not isinstance(space.metric, LInfinityDistance):
        raise step.mismatch(
            space, f"needs scores under the L-infinity distance, not under {space.metric}"
        )
    lattice = AggregateGrid.of(space, step, None)
    if not space.domain.size:  # type: ignore[attr-defined]
        raise step.mismatch(
            space, "chooses among a public number of scores, at least one; use Vector(..., size=n)"
        )
    return lattice


def costs_below_best(units: Any) -> NDArray[np.int64]:
    """Return how far each score is below the best one, at most 2^62.

    >>> costs_below_best([3, 5, 4]).tolist()
    [2, 0, 1]
    """
    # Holding a cost there keeps the maps: it raises the score to ``best - 2^62``, and the greater
    # of two numbers that move by at most d moves by at most d, the same way if both do.
    if isinstance(units, np.ndarray) and units.dtype == np.int64:
        low, high = int(units.min()), int(units.max())
        if high - low <= FARTHEST:
            return np.asarray(high - units, dtype=np.int64)
    best = max(int(u) for u in units)
    return np.array([min(best - int(u), FARTHEST) for u in units], dtype=np.int64)


# Losses of two candidates that cross: pairs that lose nearly the most.


_BITS = 224
_FAR = 300  # in scales: what is so far below the best is taken with probability below 2^-432
_BEYOND = 8  # in scales: leads of more than this, beyond what scores move by, are not looked at


def crossings(
    lattice: AggregateGrid, rate: Fraction, units: int, step: Exponential | PermuteAndFlip
) -> tuple[OfPair, ...]:
    """Return the losses of pairs of scores of which the best two cross, or come near to it.

    >>> from tacit.core import LInfinityDistance, Space, Vector
    >>> from tacit.mechanisms.noisy_max import PermuteAndFlip
    >>> space = Space(Vector(int, size=5), LInfinityDistance())
    >>> step = PermuteAndFlip(1)
    >>> found = crossings(AggregateGrid.of(space, step, None), Fraction(1, 10), 2, step)
    >>> [round(float(one.epsilon(0)), 4) for one in found][:3]
    [0.1909, 0.2, 0.2]
    """
    # units: how far the difference of two scores may move between neighbours, in grid units.
    # A pair is named by its scores: the first candidate leads by so many units, and by ``units``
    # less in the other input, where both moved or, if monotone, the first; all others are as low
    # as scores can be.
    domain = lattice.space.domain
    count: int = domain.size  # type: ignore[attr-defined]
    low, high = domain.element.lower, domain.element.upper  # type: ignore[attr-defined]
    room = FARTHEST
    if low is not None and high is not None:
        room = min(room, math.floor(high / lattice.grid) - math.ceil(low / lattice.grid))
    return _crossings(room, count, rate, units, step)


@lru_cache(maxsize=1 << 8)
def _crossings(
    room: int, count: int, rate: Fraction, units: int, step: Exponential | PermuteAndFlip
) -> tuple[OfPair, ...]:
    # some that several scales have in common, a factor of at most 5/4 from each other
    first, last = math.floor(1 / rate / 8), math.floor(_BEYOND / rate)
    powers = [1 << j for j in range(first.bit_length(), last.bit_length() + 1)]
    few = {j * quarters // 4 for j in powers for quarters in (4, 5, 6, 7)}
    leads = {units * eighths // 8 for eighths in range(4, 9)} | {(units + 1) // 2}
    leads |= {lead for lead in few if lead < units}
    leads |= {units + more for more in few}  # the leader may lead in both inputs
    found = []
    for lead in sorted(leads):
        far = (room - max(lead, units)) * rate
        if units == 0 or count < 2 or far < 0 or (count > 2 and far < _FAR + count.bit_length()):
            continue
        ends = rate * lead, rate * (lead - units)
        pair = _pair(step.winning(ends[0]), step.winning(ends[1]), count > 2)
        found.append(OfPair(pair, frozenset({(lead, units, step.monotone)})))
    return tuple(found)


@lru_cache(maxsize=1 << 8)
def _pair(before: Enclosure, after: Enclosure, others: bool) -> TwoOutcomes:
    """Return the losses of a candidate that wins with a probability, and with another one."""
    unsure = Fraction(1, 1 << 400) if others else Fraction(0)
    p, q = (
        Enclosure(share.lower - unsure, share.upper + unsure).rounded(_BITS)
        for share in (before, after)
    )
    return TwoOutcomes(((p, q, 1),))


@register
@dataclass(frozen=True)
class Exponential(Step):
    """The exponential mechanism: index i has a probability in proportion to ``exp(s_i / scale)``.

    **Map.** ``d -> 2 d / scale`` in pure DP, on a vector of scores under the L-infinity distance.
    For score vectors s, t with every ``|s_i - t_i| <= d``, the weight of index i moves by a factor
    of at most ``e^(d / scale)``, and so does the normalising sum, in the other direction at worst.
    Where all scores move the same way between neighbours (``monotone=True``, which the caller
    vouches for), weight and sum move together: ``d -> d / scale``.

    In zCDP ``d -> d^2 / (2 scale^2)``, a quarter of that where monotone: the log ratios of all
    indices lie in an interval of length ``e = 2 d / scale`` (``d / scale`` where monotone), since
    they are ``(s_i - t_i) / scale`` plus a constant; and a mechanism of bounded range e is
    ``e^2 / 8``-zCDP by Hoeffding's lemma (Cesar and Rogers, ALT 2021).  Its privacy losses are
    dominated by those of all mechanisms of that range
    (:class:`~tacit.core.losses.distribution.BoundedRange`), which lie far below those of e-DP.
    Several that are fixed beforehand lose less together than those would
    (:mod:`tacit.core.losses.ranges`).  The lower ends are those of two candidates of which the
    first leads by more or less, and all others are far below.

    Source: McSherry and Talwar, "Mechanism design via differential privacy", FOCS 2007.

    Args:
        scale: of the scores; above zero.
        monotone: whether all scores move the same way between neighbours.
        measure: ``"PureDP"`` or ``"ZeroConcentratedDP"``.

    Raises:
        UsageError: a scale that is not above zero, an unknown flag or measure.

    Example:
        >>> from tacit.core import LInfinityDistance, Vector
        >>> scores = Space(Vector(int, size=3), LInfinityDistance())
        >>> (scores >> Exponential(scale=4)).map(1)
        Fraction(1, 2)
    """

    scale: Number
    monotone: bool = False
    measure: str = "PureDP"

    name: ClassVar[str] = "exponential"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(self.scale, "scale"))
        if not isinstance(self.monotone, bool):
            raise UsageError("monotone is True or False")
        if self.measure not in ("PureDP", "ZeroConcentratedDP"):
            raise UsageError(
                f"the measure is 'PureDP' or 'ZeroConcentratedDP', not {self.measure!r}"
            )

    @staticmethod
    def winning(lead: Fraction) -> Enclosure:
        """Enclose the probability of the first of two candidates that leads by so many scales."""
        return 1 / (1 + exp(-lead, _BITS))

    def build(self, space: Space) -> Measurement:
        """Return the mechanism on a public number of scores under the L-infinity distance."""
        lattice = score_lattice(space, self)
        scale = Fraction(self.scale)
        rate = lattice.grid / scale
        moved = 1 if self.monotone else 2
        exponent_bound = moved / scale
        pure = self.measure == PureDP.__name__
        measure: Measure = PureDP() if pure else ZeroConcentratedDP()

        def loss(d: Fraction) -> Fraction:
            return exponent_bound * d if pure else (exponent_bound * d) ** 2 / 8

        def distribution(scores: Any) -> FiniteDistribution:
            costs = costs_below_best(lattice.units(scores)).tolist()
            return normalised({i: exp(-rate * cost, 128) for i, cost in enumerate(costs)})

        return Measurement(
            space,
            measure,
            lambda scores: int(
                noise.exponential_choice(costs_below_best(lattice.units(scores)), rate)
            ),
            loss,
            distribution=distribution,
            losses=lambda d: of_range(
                exponent_bound * d,
                crossings(lattice, rate, moved * math.floor(d / lattice.grid), self),
            ),
            step=self,
        )


# Permute-and-flip, and report-noisy-max in the two forms that have an exact distribution.


@register
@dataclass(frozen=True)
class PermuteAndFlip(Step):
    """Visit indices in random order; take each with probability ``exp((score - best) / scale)``.

    The first one taken is the answer; the best is taken whenever it is reached.  The expected
    error is never above that of the exponential mechanism at the same guarantee, and half of it at
    best.

    **Map.** ``d -> 2 d / scale`` in pure DP under the L-infinity distance, ``d -> d / scale`` where
    all scores move the same way (``monotone=True``).  Write ``p_i = exp((s_i - best) / scale)``,
    which moves by a factor of at most ``e^(2 d / scale)``.  Equivalently the index with the largest
    ``s_i + scale E_i`` is reported, for independent standard exponentials E_i (Ding, Kifer,
    Steinke, et al. 2021).  Given the others' noise let r be the largest ``s_j + scale E_j``, j not
    i.  Index i wins when ``E_i > (r - s_i) / scale``; between neighbours ``r - s_i`` grows by at
    most 2 d (by d where monotone, since r and s_i move the same way), and
    ``P(E > x + c) >= e^-c P(E > x)`` for all x and c >= 0.

    **Losses.**  Write ``c`` for that bound.  The smallest delta at e, for e from -c to c, is at
    most

        ``1 - e^((e - c) / 2)``,

    that of Laplace noise of scale 1 on a number that moves by c; so Laplace noise dominates, in
    compositions too.  Proof.  In units of the scale, let A be the largest ``s_i + E_i`` with i in a
    set S of answers, and B that of all others.  S wins when ``A > B``; between neighbours A rises
    against B by at most c, so the probability goes from ``g(0)`` at most to ``g(c)``, with ``g(t) =
    P(A - B > -t)``.  A has a density of at most its tail: at a it is the sum, over i in S, of the
    density of ``s_i + E_i`` times the probability that the others of S are below: at most that with
    which i alone is above a.  So has B.  A and B are independent, so the density of ``A - B`` at t
    is at most ``P(A - B > t)`` and at most ``P(A - B < t)``: ``g' <= min(g, 1 - g)``, with equality
    for a Laplace variable.  So from equal ``g(0)`` none rises higher than that.

    Two candidates attain it: ``A - B`` is a Laplace variable then, and at e they are the two whose
    scores are ``(e + c) / 2`` scales apart before and cross to ``(c - e) / 2`` the other way.  No
    pair attains it at all e at once.  But every pair of scores, of any number of candidates, loses
    at most what one of these pairs loses at all e, so several releases that are fixed beforehand
    lose no more than such pairs together (:mod:`tacit.core.losses.ranges` has the proof).

    The lower ends are those of such pairs, and of such as lead by more than c before: the leader
    wins with probability ``1 - e^-x / 2`` where it leads by x, and with ``e^-x / 2`` where it is x
    behind.  Any other candidates are far below: the most that they can change a probability by, the
    sum of ``e^-y`` for those y below the best, is charged.

    The distribution is ``P(i) = p_i * integral over [0, 1] of prod over j != i of (1 - x p_j) dx``:
    let indices arrive at independent uniform times; i arrives at x, and every other one comes later
    or has failed by then, with probability ``1 - x p_j``.

    Source: McKenna and Sheldon, "Permute-and-flip: a new mechanism for differentially private
    selection", NeurIPS 2020.

    Args:
        scale: of the scores; above zero.
        monotone: whether all scores move the same way between neighbours.

    Example:
        >>> from tacit.core import LInfinityDistance, Vector
        >>> scores = Space(Vector(int, size=3), LInfinityDistance())
        >>> (scores >> PermuteAndFlip(scale=4)).map(1)
        Fraction(1, 2)
    """

    scale: Number
    monotone: bool = False

    name: ClassVar[str] = "permute_and_flip"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(self.scale, "scale"))
        if not isinstance(self.monotone, bool):
            raise UsageError("monotone is True or False")

    @staticmethod
    def winning(lead: Fraction) -> Enclosure:
        """Enclose the probability of the first of two candidates that leads by so many scales."""
        behind = exp(-abs(lead), _BITS) / 2
        return behind if lead < 0 else 1 - behind

    def build(self, space: Space) -> Measurement:
        """Return the mechanism on a public number of scores under the L-infinity distance."""
        lattice = score_lattice(space, self)
        scale = Fraction(self.scale)
        rate = lattice.grid / scale
        moved = 1 if self.monotone else 2
        exponent_bound = moved / scale
        return Measurement(
            space,
            PureDP(),
            lambda scores: _flip(costs_below_best(lattice.units(scores)).tolist(), rate),
            lambda d: exponent_bound * d,
            distribution=lambda scores: _law(
                costs_below_best(lattice.units(scores)).tolist(), rate
            ),
            losses=lambda d: of_crossing(
                exponent_bound * d,
                crossings(lattice, rate, moved * math.floor(d / lattice.grid), self),
            ),
            step=self,
        )


def _flip(costs: Sequence[int], rate: Fraction) -> int:
    """Shuffle by secure draws and flip a coin for *every* index, so that time reveals nothing."""
    order = list(range(len(costs)))
    for i in range(len(order) - 1, 0, -1):
        j = int(noise.uniform(i + 1))
        order[i], order[j] = order[j], order[i]
    taken = [noise.bernoulli_exp(rate * costs[i]) for i in order]
    return next(i for i, yes in zip(order, taken, strict=True) if yes)


def _law(costs: Sequence[int], rate: Fraction) -> FiniteDistribution:
    """Integrate the product, a polynomial in x; one division of polynomials an index is avoided."""
    # All coefficients of ``prod (1 - x p_j)`` alternate in sign, so each is stored as the enclosure
    # of its size, an elementary symmetric function of numbers in (0, 1].
    shares = [exp(-rate * cost, 192) for cost in costs]
    bits = 192 + 2 * len(shares)
    table: dict[Any, Enclosure] = {}
    for i, share in enumerate(shares):
        sizes = [Enclosure.of(1)]
        for j, other in enumerate(shares):
            if j != i:
                shifted = [Enclosure.of(0), *(size * other for size in sizes)]
                sizes.append(Enclosure.of(0))
                sizes = [(a + b).rounded(bits) for a, b in zip(sizes, shifted, strict=True)]
        area = Enclosure.of(0)
        for power, size in enumerate(sizes):
            area += (-1) ** power * size / (power + 1)
        table[i] = (share * area).rounded(128)
    return FiniteDistribution(table)


@register
@dataclass(frozen=True)
class NoisyMax(Step):
    """Report noisy max: add noise to every score, and report only the index of the largest.

    Both forms are drawn from their exact distribution, without a float and without ties:

    - ``noise="exponential"``: the index of the largest ``score + scale E_i``.  Its distribution is
      that of :class:`PermuteAndFlip` (Ding, Kifer, Steinke, et al., "The permute-and-flip mechanism
      is identical to report-noisy-max with exponential noise", 2021), and it is drawn as such.
    - ``noise="gumbel"``: with standard Gumbel noise.  ``P(i wins) = exp(s_i / scale) / sum``, which
      is the exponential mechanism, and it is drawn as such: with weights w_i the times
      ``-ln U_i / w_i`` are exponential of rate w_i, the first of them is i with probability
      ``w_i / sum w``, and ``-ln`` of a time is ``ln w_i`` plus a Gumbel variable.

    **Map.** That of the mechanism it is identical to: ``d -> 2 d / scale`` in pure DP,
    ``d -> d / scale`` where all scores move the same way (``monotone=True``).  The noisy *value* of
    the winner is not part of the answer: releasing it as well breaks this map.

    Args:
        scale: of the noise, in the units of the scores; above zero.
        noise: ``"exponential"`` or ``"gumbel"``.
        monotone: whether all scores move the same way between neighbours.

    Example:
        >>> from tacit.core import LInfinityDistance, Vector
        >>> scores = Space(Vector(int, size=3), LInfinityDistance())
        >>> m = scores >> NoisyMax(scale=2, noise="gumbel")
        >>> m.map(1), m([0, 100, 0])
        (Fraction(1, 1), 1)
    """

    scale: Number
    noise: str = "exponential"
    monotone: bool = False

    name: ClassVar[str] = "noisy_max"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(self.scale, "scale"))
        if self.noise not in ("exponential", "gumbel"):
            raise UsageError(f"the noise is 'exponential' or 'gumbel', not {self.noise!r}")
        if not isinstance(self.monotone, bool):
            raise UsageError("monotone is True or False")

    def build(self, space: Space) -> Measurement:
        """Return the mechanism on a public number of scores under the L-infinity distance."""
        score_lattice(space, self)
        same = PermuteAndFlip if self.noise == "exponential" else Exponential
        m = same(self.scale, self.monotone).build(space)
        return Measurement(
            space, m.measure, m.function, m.privacy, distribution=m.law, losses=m.losses, step=self
        )
