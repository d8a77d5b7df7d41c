"""Renyi DP and approximate zCDP: measures by curves of Renyi divergences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import as_fraction, show
from tacit.calls import public
from tacit.core import divergences as exact
from tacit.core.divergences import renyi
from tacit.core.losses.additive_noise import LaplaceShift, ShiftedLoss
from tacit.core.losses.base import Dominating, PrivacyLoss
from tacit.core.measures import (
    ApproximateDP,
    ApproximateZeroConcentratedDP,
    Loss,
    Measure,
    PureDP,
    ZeroConcentratedDP,
    pure_to_renyi,
)
from tacit.errors import MismatchError, UsageError

# Renyi DP: of one order, and of several at once, which is what a Renyi accountant keeps.


_LARGEST_POWER = 1 << 10  # powers of e beyond this are too long to be worth it

# From 1.25 to 897, four to each doubling of the order above one.
_ORDERS = tuple(
    1 + Fraction(4 + part, 4) * Fraction(2) ** k for k in range(-2, 10) for part in range(4)
)


@public
@dataclass(frozen=True)
class RenyiDP(Measure):
    """Renyi DP: the Renyi divergence of one order alpha > 1 is at most epsilon.

    Source: Mironov, "Renyi differential privacy", CSF 2017.

    Args:
        alpha: the order, above 1.

    >>> float(RenyiDP(2).from_pure(Fraction(1, 2)))
    0.2273...
    """

    alpha: Fraction

    name = "epsilon"

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", as_fraction(self.alpha, "alpha"))
        if self.alpha <= 1:
            raise UsageError(f"the order alpha must be above one, not {show(self.alpha)}")

    def _of_listed(self, p: Any, q: Any) -> Enclosure | float:
        """Return the larger of the two Renyi divergences of this order."""
        return exact.largest(renyi(p, q, self.alpha), renyi(q, p, self.alpha))

    def _of_shifted(self, losses: list[ShiftedLoss]) -> Enclosure:
        """Return the sum of the Renyi divergences of this order."""
        return sum((loss.renyi(self.alpha) for loss in losses), Enclosure.of(0))

    def from_pure(self, epsilon: Fraction) -> Loss:
        """Return the largest divergence of all epsilon-DP mechanisms, of randomized response.

        See :func:`~tacit.core.measures.pure_to_renyi`.
        """
        return pure_to_renyi(epsilon, self.alpha)

    def from_other(self, other: Measure, loss: Loss) -> Loss:
        """Return the loss that one in zCDP (``alpha rho``, its definition) or pure DP implies.

        One at higher orders does too, for the divergence grows with the order
        (:class:`RenyiCurve`).
        """
        if isinstance(other, ZeroConcentratedDP):
            rho: Any = loss
            return Fraction(self.alpha * rho)
        if isinstance(other, (RenyiDP, RenyiCurve)) and self.alpha <= max(orders_of(other)):
            return _chord(other, loss, self.alpha)
        return super().from_other(other, loss)

    def from_losses(self, losses: PrivacyLoss, loss: Loss) -> Loss:
        """Return the smaller one of a loss and of what the known losses of Laplace noise have.

        Losses that dominate those of a pair in both directions have no smaller Renyi divergence:
        ``e^((alpha - 1) D_alpha)`` is one plus an integral, of positive weight, of the deltas at
        all epsilons in both directions (Liese and Vajda, "On divergences and informations in
        statistics and information theory", 2006).
        """
        known = losses.losses if isinstance(losses, Dominating) else losses
        if not isinstance(known, LaplaceShift):
            return loss
        if not self.alpha * known.max_divergence() < _LARGEST_POWER:
            return loss
        stated: Any = loss
        return Fraction(min(stated, known.renyi(self.alpha).rounded(64).upper))

    def describe(self) -> dict[str, object]:
        return {"measure": "RenyiDP", "alpha": str(self.alpha)}

    def __str__(self) -> str:
        return f"Renyi DP of order {show(self.alpha)}"


@public
@dataclass(frozen=True)
class RenyiCurve(Measure):
    """Renyi DP of several orders: the Renyi divergence of each is at most its own epsilon.

    A loss is a tuple with one epsilon for each order.  Losses add up order by order (Mironov,
    "Renyi differential privacy", CSF 2017, proposition 1), and ``m.epsilon(delta=)`` and
    ``m.delta(epsilon=)`` take the best order at the end, as each gives a true bound
    (:func:`~tacit.core.measures.renyi_epsilon`).

    - epsilon-DP has at each order the divergence of randomized response, which is the largest; of
      discrete Laplace noise whose scale is known it is that of the noise.
    - rho-zCDP has ``alpha rho``; Gaussian noise attains it.
    - Renyi DP at other orders is stated at each order that is at most the highest of those:
      ``(alpha - 1) D_alpha(P, Q)`` is ``ln of E_Q[(P / Q)^alpha]``, which is convex in alpha
      (Hoelder's inequality) and zero at alpha = 1.  So between two known orders, or one and a known
      order, it lies below the chord of their bounds.

    Source: van Erven and Harremoes, "Renyi divergence and Kullback-Leibler divergence", 2014.

    Args:
        orders: each above 1; by default four to each doubling of the order above one, from 1.25
            to 897.  What is lost to the best order between them is below 1% for Gaussian noise.

    >>> RenyiCurve([2, 4]).from_other(ZeroConcentratedDP(), Fraction(1, 8))
    (Fraction(1, 4), Fraction(1, 2))
    >>> RenyiCurve([2, 3]).from_other(RenyiCurve([2, 4]), (Fraction(1, 4), Fraction(1, 2)))
    (Fraction(1, 4), Fraction(7, 16))
    """

    orders: tuple[Fraction, ...] = _ORDERS

    name = "epsilon"

    def __post_init__(self) -> None:
        given: Any = self.orders
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise UsageError(
                "a Renyi curve takes a list of orders, such as tc.framework.RenyiCurve([2, 4])"
            )
        read = sorted({RenyiDP(order).alpha for order in given})
        if not read:
            raise UsageError("a Renyi curve needs at least one order above one")
        object.__setattr__(self, "orders", tuple(read))

    def _at_each(self) -> list[RenyiDP]:
        return [RenyiDP(order) for order in self.orders]

    def _of_listed(self, p: Any, q: Any) -> Enclosure | float:
        """Raise always: there is one divergence per order."""
        raise UsageError(f"{self} has many divergences: ask one at a time, {self._hint}")

    def _of_shifted(self, losses: list[ShiftedLoss]) -> Enclosure | float:
        """Raise always: there is one divergence per order."""
        raise UsageError(f"{self} has many divergences: ask one at a time, {self._hint}")

    @property
    def _hint(self) -> str:
        return f"tc.framework.RenyiDP({show(self.orders[0])}).divergence(p, q)"

    def read(self, loss: object) -> tuple[Fraction, ...]:
        if not isinstance(loss, (tuple, list)) or len(loss) != len(self.orders):
            raise UsageError(f"a loss of a Renyi curve of {len(self.orders)} orders is as many")
        pairs = zip(self._at_each(), loss, strict=True)
        return tuple(as_fraction(one.read(part), one.name) for one, part in pairs)

    def at_most(self, loss: Loss, limit: Loss) -> bool:
        here: Any = loss
        there: Any = limit
        return all(a <= b for a, b in zip(here, there, strict=True))

    def compose(self, losses: Iterable[Loss]) -> Loss:
        every: list[Any] = [(Fraction(0),) * len(self.orders), *losses]
        return tuple(sum(column, Fraction(0)) for column in zip(*every, strict=True))

    def from_pure(self, epsilon: Fraction) -> Loss:
        """Return the divergences of randomized response, the largest of epsilon-DP mechanisms."""
        return tuple(pure_to_renyi(epsilon, order) for order in self.orders)

    def from_other(self, other: Measure, loss: Loss) -> Loss:
        """Return the losses that one in zCDP, in pure DP or at other orders implies."""
        if other == self:
            return loss
        try:
            bounds: list[Any] = [one.from_other(other, loss) for one in self._at_each()]
        except MismatchError:
            return super().from_other(other, loss)  # refused, in the name of the curve
        return tuple(bounds)

    def from_losses(self, losses: PrivacyLoss, loss: Loss) -> Loss:
        """Return the smaller one at each order; see :meth:`RenyiDP.from_losses`."""
        stated: Any = loss
        pairs = zip(self._at_each(), stated, strict=True)
        bounds: list[Any] = [one.from_losses(losses, part) for one, part in pairs]
        return tuple(bounds)

    def show(self, loss: Loss) -> str:
        """Write a loss for people: its ends."""
        part: Any = loss
        ends = f"{show(part[0])} at order {show(self.orders[0])}"
        if len(self.orders) == 1:
            return f"{self.name} = {ends}"
        return f"{self.name} = {ends} to {show(part[-1])} at order {show(self.orders[-1])}"

    def describe(self) -> dict[str, object]:
        return {"measure": "RenyiCurve", "orders": [str(order) for order in self.orders]}

    def __str__(self) -> str:
        first, last = show(self.orders[0]), show(self.orders[-1])
        return f"Renyi DP of {len(self.orders)} orders from {first} to {last}"


def orders_of(measure: RenyiDP | RenyiCurve) -> tuple[Fraction, ...]:
    """Return the orders that a measure speaks of, upwards."""
    return (measure.alpha,) if isinstance(measure, RenyiDP) else measure.orders


def renyi_of_all(measures: Iterable[RenyiDP | RenyiCurve]) -> RenyiDP | RenyiCurve:
    """Return the measure in which several are stated together: up to the lowest of their highest.

    >>> str(renyi_of_all([RenyiDP(2), RenyiDP(4)])), renyi_of_all([RenyiCurve([2, 5]), RenyiDP(4)])
    ('Renyi DP of order 2', RenyiCurve(orders=(Fraction(2, 1), Fraction(4, 1))))
    """
    every = [orders_of(measure) for measure in measures]
    highest = min(max(orders) for orders in every)
    common = {order for orders in every for order in orders if order <= highest}
    return RenyiDP(highest) if len(common) == 1 else RenyiCurve(tuple(common))


def _chord(measure: RenyiDP | RenyiCurve, loss: Any, alpha: Fraction) -> Fraction:
    """Return a bound at an order that is not above all known ones; see :class:`RenyiCurve`."""
    losses = loss if isinstance(loss, tuple) else (loss,)
    low, height = Fraction(1), Fraction(0)
    for order, known in zip(orders_of(measure), losses, strict=True):
        top = (order - 1) * known
        if order >= alpha:
            return Fraction((height + (top - height) * (alpha - low) / (order - low)) / (alpha - 1))
        low, height = order, top
    raise AssertionError("an order above all known ones was requested")


def measure_from(description: Mapping[str, Any]) -> Measure:
    """Build a measure from its description.

    Raises:
        UsageError: no measure of that name.

    >>> print(measure_from({"measure": "RenyiDP", "alpha": "5/2"}))
    Renyi DP of order 2.5
    """
    every: tuple[type[Measure], ...] = (
        PureDP,
        ApproximateDP,
        ZeroConcentratedDP,
        ApproximateZeroConcentratedDP,
        RenyiDP,
        RenyiCurve,
    )
    kinds: dict[str, type[Measure]] = {kind.__name__: kind for kind in every}
    given = dict(description)
    name = str(given.pop("measure", ""))
    if name not in kinds:
        raise UsageError(f"no measure is called {name!r}; known: {', '.join(kinds)}")
    return kinds[name](**given)
