"""Losses of additive noise."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit import noise
from tacit.arithmetic.enclosure import Enclosure, exp, log
from tacit.arithmetic.exact import Number, as_fraction, as_integer, positive, read_probability, show
from tacit.core.divergences import interval_mass
from tacit.core.losses.base import Atom, BothWays, Loss, LossGrid, PrivacyLoss
from tacit.core.losses.composition import Summand
from tacit.core.losses.distribution import PrivacyLossDistribution
from tacit.core.losses.lattice import ListedLosses, SpreadLosses, gaussian_losses, laplace_losses
from tacit.core.losses.summands import GaussianSum, Generating
from tacit.errors import InfeasibleError, UsageError

# Renyi divergences of discrete Laplace and Gaussian noise from itself, shifted: enclosed.


_BITS = 256
_BELOW_PI = Fraction(333, 106)
_WIDE = 3


def renyi_of_laplace(scale: Fraction, shift: int, alpha: Fraction) -> Enclosure:
    """Enclose the Renyi divergence of order alpha above one, for scale b and a whole shift s >= 0.

    >>> float(renyi_of_laplace(Fraction(2), 1, Fraction(2)))
    0.2273...
    """
    # With ``t = e^(-1/b)`` and ``r = t^(2 alpha - 1)``, the sums of
    # ``p(x)^alpha p(x + s)^(1 - alpha)`` over ``x >= 0``, over ``x <= -s`` and over what lies
    # between are geometric series, together
    #
    #     (t^((1 - alpha) s) (1 + (1 - t) r (1 - r^(s - 1)) / (1 - r)) + t^(alpha s)) / (1 + t).
    _above_one(alpha)
    if shift == 0:
        return Enclosure.of(0)
    rate = 1 / scale
    t, r = exp(-rate, _BITS), exp(-(2 * alpha - 1) * rate, _BITS)
    power = exp(-(2 * alpha - 1) * (shift - 1) * rate, _BITS)
    between = (1 - t) * r * (1 - power) / (1 - r)
    near, far = exp((alpha - 1) * shift * rate, _BITS), exp(-alpha * shift * rate, _BITS)
    total = (near * (1 + between) + far) / (1 + t)
    return log(total.rounded(2 * _BITS), _BITS) / (alpha - 1)


def renyi_of_gaussian(sigma: Fraction, shift: int, alpha: Fraction) -> Enclosure:
    """Enclose the Renyi divergence of order alpha above one, for a whole shift s >= 0.

    >>> renyi_of_gaussian(Fraction(10), 1, Fraction(2)) == Enclosure.of(Fraction(1, 100))
    True
    """
    # Completing the square, ``sum of p(x)^alpha q(x)^(1 - alpha)`` is
    # ``e^(alpha (alpha - 1) s^2 / (2 sigma^2)) theta(alpha s) / theta(0)``, where
    # ``theta(c) = sum over whole x of e^(-(x - c)^2 / (2 sigma^2))``.  By Poisson's summation
    # ``theta(c)`` is largest at whole c, so the divergence is at most ``alpha s^2 / (2 sigma^2)``
    # (Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020),
    # and is just that where ``alpha s`` is whole.  Elsewhere the ratio is summed for a sigma below
    # three; above, by the same summation, it is at least ``(1 - e) / (1 + e)`` with
    # ``e = 2 w / (1 - w)`` and ``w = e^(-2 pi^2 sigma^2)``, which is below 2^-256.
    _above_one(alpha)
    upper = alpha * shift * shift / (2 * sigma * sigma)
    centre = alpha * shift % 1
    if centre == 0:
        return Enclosure.of(upper)
    if sigma >= _WIDE:
        w = exp(-2 * (_BELOW_PI * sigma) ** 2, _BITS).upper
        e = 2 * w / (1 - w)
        ratio = Enclosure((1 - e) / (1 + e), Fraction(1))
    else:
        ratio = _theta(sigma, centre) / _theta(sigma, Fraction(0))
    fallen = log(Enclosure(ratio.lower, min(ratio.upper, Fraction(1))), _BITS) / (alpha - 1)
    return Enclosure(max(upper + fallen.lower, Fraction(0)), min(upper, upper + fallen.upper))


def _theta(sigma: Fraction, centre: Fraction) -> Enclosure:
    """Enclose theta by its terms; beyond x = n the terms fall by more than half each."""
    # With ``n`` above ``8 sigma^2 + 24 sigma + 2`` the ratio of neighbours is below one half, so
    # what is left out on a side is at most the first term that is.
    radius = int(8 * sigma * sigma + 24 * sigma) + 2
    terms = (_term(x - centre, sigma) for x in range(-radius, radius + 2))
    total = sum(terms, Enclosure.of(0))
    left_out = 2 * _term(Fraction(radius + 1), sigma).upper
    return Enclosure(total.lower, total.upper + 2 * left_out)


def _term(distance: Fraction, sigma: Fraction) -> Enclosure:
    return exp(-(distance**2) / (2 * sigma * sigma), _BITS)


def _above_one(alpha: Fraction) -> None:
    if alpha <= 1:
        raise UsageError(f"the order alpha must be above one, not {show(alpha)}")


# Privacy losses of additive noise: a distribution on the integers against itself, shifted.
#
# Let X follow a symmetric distribution on the integers with ``P(X = x) proportional to e^-f(x)``, f
# convex, and let P be the distribution of X, Q that of ``X - s`` for a whole shift s > 0.  The loss
# of outcome x, ``f(x + s) - f(x)``, grows with x, so the events that distinguish the two best are
# the half lines ``{x >= t}``:
#
#     delta(epsilon) = P(X >= t) - e^epsilon P(X >= t + s),
#
# with t the first x whose loss is above epsilon.
#
# For a fixed t this grows with s, and so does the maximum over t: of all shifts up to s in size, s
# is the worst.  By symmetry P against Q is as Q against P.


ATOMS = 1 << 13  # more losses than this are not listed
ABSOLUTE_BITS = 400  # probabilities that need more bits than this are enclosed to a relative width
_LOSS_BITS = 224


@dataclass(frozen=True)
class ShiftedLoss(Summand):
    """A distribution against itself, shifted: see the two kinds of it."""

    scale: Fraction  # of the distribution, in whole units
    shift: int  # the distance of the two centres, in whole units, not negative

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(self.scale, "scale"))
        object.__setattr__(self, "shift", as_integer(self.shift, "shift", minimum=0))

    def directions(self) -> tuple[PrivacyLoss, PrivacyLoss]:
        """Return itself twice: the distribution is symmetric, so one direction is as the other."""
        return self, self

    @property
    @abstractmethod
    def law(self) -> Any:
        """The distribution of the noise."""

    @abstractmethod
    def loss(self, x: int) -> Fraction:
        """Return the privacy loss of outcome x."""

    @abstractmethod
    def first(self, loss: Fraction) -> int | None:
        """Return the first outcome whose loss is above this, or None where there is none."""

    @abstractmethod
    def max_divergence(self) -> Fraction | float:
        """Return the least epsilon at delta zero."""

    @abstractmethod
    def concentrated(self) -> Fraction | Enclosure:
        """Return the supremum over all orders above one of the Renyi divergence over the order."""

    @abstractmethod
    def renyi(self, alpha: Fraction) -> Enclosure:
        """Enclose the Renyi divergence of an order above one."""

    def tail(self, x: int, bits: int = _LOSS_BITS) -> Enclosure:
        """Enclose P(X >= x) within ``2^-bits``, or to a relative width where that is tiny."""
        if bits > ABSOLUTE_BITS:
            return interval_mass(self.law, x, None, 128)
        probability = self.law.cdf(-x, bits)
        return Enclosure(max(probability.lower, Fraction(0)), min(probability.upper, Fraction(1)))

    def delta(self, epsilon: Number) -> Enclosure:
        """Enclose the least delta at ``epsilon``, to a relative width of about 2^-40."""
        level = as_fraction(epsilon, "epsilon")
        enclosed = self._delta(level, 96)
        if enclosed.upper and enclosed.width > enclosed.lower / (1 << 40):
            return self._delta(level, ABSOLUTE_BITS + 1)
        return enclosed

    def _delta(self, epsilon: Fraction, bits: int) -> Enclosure:
        if epsilon < -self.max_divergence():
            return 1 - exp(epsilon, bits)  # every outcome has a larger loss: P is all, so is Q
        start = self.first(epsilon)
        if start is None or self.shift == 0:
            return Enclosure.of(0)
        difference = self.tail(start, bits) - exp(epsilon, bits) * self.tail(
            start + self.shift, bits
        )
        return Enclosure(max(difference.lower, Fraction(0)), max(difference.upper, Fraction(0)))

    def epsilon(self, delta: Number) -> Enclosure | float:
        """Enclose the least epsilon at ``delta``, to within 2^-40."""
        target = read_probability(delta, "delta")
        largest = self.max_divergence()
        if target == 0:
            return math.inf if largest == math.inf else Enclosure.of(Fraction(largest))
        bits = 96 + target.denominator.bit_length()
        zero = Fraction(0)
        if self._delta(zero, bits).upper <= target:
            return Enclosure(zero, zero)
        high = Fraction(largest) if largest != math.inf else Fraction(1)
        while largest == math.inf and self._delta(high, bits).upper > target:
            high *= 2
        return self._bisected(target, high, bits)

    def _bisected(self, target: Fraction, high: Fraction, bits: int) -> Enclosure:
        low = Fraction(0)
        while high - low > Fraction(1, 1 << 40):
            middle = (low + high) / 2
            enclosed = self._delta(middle, bits)
            if enclosed.upper <= target:
                high = middle
            elif enclosed.lower > target:
                low = middle
            else:
                break
        return Enclosure(low, high)

    def lattice(self) -> LossGrid | None:
        """Return where the losses stand: those of whole numbers are a step apart."""
        return None if self.shift == 0 else self._lattice()

    @abstractmethod
    def _lattice(self) -> LossGrid:
        """Return that lattice where there is a shift."""


@dataclass(frozen=True)
class LaplaceShift(ShiftedLoss):
    """Discrete Laplace noise on two inputs a whole shift apart.

    >>> float(LaplaceShift(25, 12).epsilon(0)), float(LaplaceShift(25, 12).delta("0.3"))
    (0.4800..., 0.0862...)
    """

    @property
    def law(self) -> noise.DiscreteLaplace:
        return noise.DiscreteLaplace(self.scale)

    def loss(self, x: int) -> Fraction:
        """Return ``(|x + s| - |x|) / scale``."""
        return (abs(x + self.shift) - abs(x)) / self.scale

    def first(self, loss: Fraction) -> int | None:
        if loss >= self.max_divergence():
            return None
        # the loss is (2 x + s) / scale for x between -s and 0
        return max(math.floor((loss * self.scale - self.shift) / 2) + 1, -self.shift)

    def max_divergence(self) -> Fraction:
        """Return ``s / scale``."""
        return self.shift / self.scale

    def concentrated(self) -> Enclosure:
        """Enclose the supremum by the losses' atoms."""
        from tacit.core.divergences import concentrated

        if self.shift > ATOMS:
            raise InfeasibleError(f"{self.shift} losses are too many to enclose zCDP's supremum")
        atoms = self._atoms()
        p = {i: atom.p for i, atom in enumerate(atoms)}
        q = {i: atom.q for i, atom in enumerate(atoms)}
        rho = concentrated(p, q)
        assert isinstance(rho, Enclosure)
        return rho

    def renyi(self, alpha: Fraction) -> Enclosure:
        return renyi_of_laplace(self.scale, self.shift, alpha)

    def _atoms(self) -> list[Atom]:
        s = self.shift
        if s == 0:
            return [Atom(Loss(), Enclosure.of(1), Enclosure.of(1))]
        inside = [self.law.probability(x, _LOSS_BITS) for x in range(1 - s, 0)]
        outside = self.tail(0), self.tail(s)
        rows = [(-s, outside[1], outside[0]), (0, outside[0], outside[1])]
        rows += [(x, inside[x - 1 + s], inside[-x - 1]) for x in range(1 - s, 0)]
        return [Atom(Loss.of(self.loss(x)), p, q) for x, p, q in rows]

    def _lattice(self) -> LossGrid:
        return LossGrid(Loss.of(2 / self.scale), Loss.of(self.shift / self.scale))

    def spread(self) -> tuple[float, float]:
        largest = float(self.shift / self.scale)
        return min(largest, 2.0), largest

    def generating(self) -> Generating | None:
        """Return its rate and its shift."""
        parameters = float(1 / self.scale), self.shift
        return Generating(laplace=parameters) if self.shift else None

    def in_floats(self, dust: float) -> ListedLosses | SpreadLosses:
        """Return the losses in floats, x steps below the largest; none is left out."""
        return laplace_losses(self.scale, self.shift)


@dataclass(frozen=True)
class GaussianShift(ShiftedLoss):
    """Discrete Gaussian noise on two inputs a whole shift apart; ``scale`` is sigma.

    >>> float(GaussianShift(100, 1).concentrated()), float(GaussianShift(10, 1).epsilon("1e-6"))
    (5e-05, 0.396...)
    """

    @property
    def law(self) -> noise.DiscreteGaussian:
        return noise.DiscreteGaussian(self.scale)

    def loss(self, x: int) -> Fraction:
        """Return ``((x + s)^2 - x^2) / (2 sigma^2)``."""
        return Fraction(self.shift * (2 * x + self.shift)) / (2 * self.scale**2)

    def first(self, loss: Fraction) -> int | None:
        """Return the first outcome whose loss is above this."""
        if self.shift == 0:
            return None
        return math.floor((2 * self.scale**2 * loss / self.shift - self.shift) / 2) + 1

    def max_divergence(self) -> Fraction | float:
        """Return infinity, and zero where there is no shift."""
        return math.inf if self.shift else Fraction(0)

    def concentrated(self) -> Fraction:
        """Return ``s^2 / (2 sigma^2)``: attained at order two, whose tilt lands on the grid."""
        return Fraction(self.shift**2) / (2 * self.scale**2)

    def renyi(self, alpha: Fraction) -> Enclosure:
        return renyi_of_gaussian(self.scale, self.shift, alpha)

    def _lattice(self) -> LossGrid:
        square = self.scale**2
        return LossGrid(Loss.of(self.shift / square), Loss.of(self.shift**2 / (2 * square)))

    def spread(self) -> tuple[float, float]:
        """Return about the standard deviation of the losses, and the largest size that matters."""
        ratio = float(self.shift / self.scale)
        return ratio, ratio * (ratio / 2 + 16)

    def generating(self) -> Generating | None:
        """Return its deviation and its shift."""
        parameters = float(self.scale), self.shift
        return Generating(gaussian=parameters) if self.shift and self.scale >= 1 else None

    def gaussian(self) -> tuple[Fraction, int] | None:
        """Return its deviation and its shift, exactly."""
        return (self.scale, self.shift) if self.shift else None

    def delta(self, epsilon: Number) -> Enclosure:
        """Enclose the least delta at ``epsilon``; far out by the closed form of the real line."""
        try:
            return super().delta(epsilon)
        except InfeasibleError:
            known = GaussianSum.of([(self.scale, self.shift, 1)])
            if known is None:
                raise
            return known.delta(as_fraction(epsilon, "epsilon"))

    def epsilon(self, delta: Number) -> Enclosure | float:
        """Enclose the least epsilon at ``delta``; far out by the closed form of the real line."""
        try:
            return super().epsilon(delta)
        except InfeasibleError:
            target = as_fraction(delta, "delta")
            known = GaussianSum.of([(self.scale, self.shift, 1)])
            log_target = math.log(target.numerator) - math.log(target.denominator)
            enclosed = None if known is None else known.epsilon(log_target)
            if enclosed is None:
                raise
            return Enclosure(Fraction(enclosed[0]), Fraction(enclosed[1]))

    def in_floats(self, dust: float) -> ListedLosses | SpreadLosses:
        """Return the losses in floats, up to a mass of ``dust`` on either side."""
        return gaussian_losses(self.scale, self.shift, dust)


def shifted(law: Any, shift: int) -> ShiftedLoss:
    """Return the losses of a distribution of :mod:`tacit.noise` against itself, shifted."""
    if isinstance(law, noise.DiscreteLaplace):
        return LaplaceShift(law.scale, abs(shift))
    if isinstance(law, noise.DiscreteGaussian):
        scale = _root(law.sigma_squared)
        if scale is not None:
            return GaussianShift(scale, abs(shift))
    raise UsageError(f"no closed form of the privacy losses of {type(law).__name__}")


def _root(square: Fraction) -> Fraction | None:
    top, bottom = math.isqrt(square.numerator), math.isqrt(square.denominator)
    exact = top * top == square.numerator and bottom * bottom == square.denominator
    return Fraction(top, bottom) if exact else None


def listed_pair(p: Any, q: Any) -> tuple[Mapping[Any, Any], Mapping[Any, Any]] | None:
    """Return both distributions as mappings of outcomes to probabilities, if both list theirs.

    >>> listed_pair({0: 1}, {0: 1})
    ({0: 1}, {0: 1})
    """
    return (_table(p), _table(q)) if _tabled(p) and _tabled(q) else None


def shifted_losses(p: Any, q: Any) -> list[ShiftedLoss]:
    """Return the losses of one distribution of noise in two places: one, or one per coordinate."""
    if hasattr(p, "parts") and hasattr(q, "parts") and len(p.parts) == len(q.parts):
        return [_shift_of(a, b) for a, b in zip(p.parts, q.parts, strict=True)]
    return [_shift_of(p, q)]


def loss_of_pair(p: Any, q: Any, *, both: bool) -> PrivacyLoss:
    """The privacy losses of two distributions: of the first against the second, or of both."""
    # Symmetric noise has one direction: the other is as it.
    listed = listed_pair(p, q)
    if listed is not None:
        forward = PrivacyLossDistribution.of(*listed)
        return BothWays(forward, PrivacyLossDistribution.of(*reversed(listed))) if both else forward
    return composed(shifted_losses(p, q))


def composed(losses: list[ShiftedLoss]) -> PrivacyLoss:
    """Return the losses of all coordinates together."""
    first, *others = losses
    total: PrivacyLoss = first
    for other in others:
        total = total.compose(other)
    return total


def _tabled(distribution: Any) -> bool:
    return isinstance(_table(distribution), Mapping) and not getattr(distribution, "rest", 0)


def _table(distribution: Any) -> Any:
    return getattr(distribution, "table", distribution)


def _shift_of(p: Any, q: Any) -> ShiftedLoss:
    distributions = getattr(p, "law", None), getattr(q, "law", None)
    if distributions[0] is None or distributions[0] != distributions[1] or p.grid != q.grid:
        raise UsageError(
            "the two output distributions are neither listed nor one distribution shifted; ask for "
            "an event, or with .probability(value) of each"
        )
    return shifted(distributions[0], p.centre - q.centre)
