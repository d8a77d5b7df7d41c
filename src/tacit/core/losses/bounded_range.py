r"""Privacy losses of a release of bounded range, such as the exponential mechanism.

A release has bounded range epsilon if for neighbours the log ratios ``ln(P(x) / Q(x))`` of all
outcomes lie in an interval of that length (D. Durfee, R. Rogers, "Practical differentially private
top-k selection with pay-what-you-get composition", NeurIPS 2019).

**The profile.**  Let the losses lie in ``[t - epsilon, t]``; t is in 0..epsilon, since P and Q both
sum to one.  For ``x = e^e`` the function ``z -> max(0, 1 - x z)`` of ``z = e^-loss`` is convex, and
the mean of z under P is at most one, so its mean is largest where z is at one of the two ends: with

    delta(x) = p (1 - x / u),    p = (E - u) / (E - 1),    E = e^epsilon, u = e^t.

(Randomized response with these two losses; J. Dong, D. Durfee, R. Rogers, "Optimal differential
privacy composition for exponential mechanisms", ICML 2020, lemma 3.2.)  Over all u from 1 to E it
is largest at ``u = sqrt(x E)``, so the deltas of all such releases are, for x from 1/E to E, below

    D(x) = (sqrt E - sqrt x)^2 / (E - 1),

each attained by one of them; below 1/E, D is 1 - x.  D is convex in x, falls, and is 1 at zero: it
is the profile of a pair of distributions, which dominates every release of this range, and so do
compositions (Zhu, Dong, Wang, AISTATS 2022, theorem 10 and proposition 8).  The slope of D is minus
the probability under Q that the loss is above ln x; so the losses l of that pair have a density
from -epsilon to epsilon: ``P(l <= loss <= l') = (e^(l'/2) - e^(l/2)) sqrt(E) / (E - 1)``, and under
Q ``(e^(-l/2) - e^(-l'/2)) sqrt(E) / (E - 1)``.  One direction is as the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.arithmetic.enclosure import Enclosure, exp, log, sqrt
from tacit.arithmetic.exact import Number, as_fraction, positive, show
from tacit.core.losses.base import PrivacyLoss
from tacit.core.losses.bounds import Dominating
from tacit.core.losses.cells import SLACK, Floats, Listed, Spread
from tacit.core.losses.contour.summands import Generating
from tacit.core.losses.own_lattice import Lattice
from tacit.core.losses.summed import Summand
from tacit.errors import UsageError

__all__ = ["BoundedRange", "range_of"]

_ZERO = Fraction(0)
_BITS = 256
_DEVIATION = 2.0


@dataclass(frozen=True)
class BoundedRange(Summand):
    """The losses that dominate those of every release of a bounded range.

    Attributes:
        range: the length of the interval that holds the log ratios; above zero.

    >>> one = BoundedRange(Fraction(1))
    >>> round(float(one.delta(0)), 4), round(float(one.epsilon("1e-6")), 4)
    (0.2449, 0.9984)
    """

    range: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "range", positive(self.range, "range"))

    def delta(self, epsilon: Number) -> Enclosure:
        """Enclose the least delta at ``epsilon``."""
        level = as_fraction(epsilon, "epsilon")
        if level >= self.range:
            return Enclosure.of(0)
        if level <= -self.range:
            return 1 - exp(level, _BITS)
        side = 1 - exp((level - self.range) / 2, _BITS)
        return (side * side / (1 - exp(-self.range, _BITS))).rounded(_BITS)

    def epsilon(self, delta: Number) -> Enclosure | float:
        """Enclose the least epsilon at ``delta``."""
        target = as_fraction(delta, "delta")
        if not 0 <= target <= 1:
            raise UsageError(f"delta must be from 0 to 1, not {show(target)}")
        if target >= self.delta(0).lower:
            high = self.delta(0).upper <= target
            return Enclosure.of(0) if high else Enclosure(_ZERO, Fraction(1, 1 << 100))
        rest = 1 - sqrt(target * (1 - exp(-self.range, _BITS)), _BITS)
        found = self.range + 2 * log(rest, _BITS)
        return Enclosure(max(found.lower, _ZERO), max(found.upper, _ZERO))

    def directions(self) -> tuple[PrivacyLoss, PrivacyLoss]:
        """Return itself twice: one direction is as the other."""
        return self, self

    def lattice(self) -> Lattice | None:
        """Return None: the losses have a density."""
        return None

    def spread(self) -> tuple[float, float]:
        """Return the approximate standard deviation of the losses, and their largest size."""
        largest = float(self.range)
        return min(largest / math.sqrt(3), _DEVIATION), largest

    def generating(self) -> Generating:
        """Return its range."""
        return Generating(range=float(self.range))

    def in_floats(self, dust: float) -> Spread:
        """Return the losses in floats; none is left out."""
        end = float(self.range)
        whole = -math.expm1(-end)

        def masses(losses: Floats) -> tuple[Floats, Floats]:
            share = -np.expm1(-np.diff(losses) / 2) / whole
            return np.exp((losses[1:] - end) / 2) * share, np.exp(-(losses[:-1] + end) / 2) * share

        low = np.array([-end])
        return Spread((-end, end), masses, Listed(low, low, np.zeros(1), np.zeros(1)), 2 * SLACK)


def range_of(losses: PrivacyLoss | None) -> Fraction | None:
    """Return the range of a release whose losses are those of a bounded one; None for others.

    >>> range_of(BoundedRange(Fraction(1, 2))), range_of(None)
    (Fraction(1, 2), None)
    """
    while isinstance(losses, Dominating):
        losses = losses.losses
    return losses.range if isinstance(losses, BoundedRange) else None
