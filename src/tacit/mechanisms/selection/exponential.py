"""The exponential mechanism on a vector of scores."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from tacit import noise
from tacit.arithmetic.enclosure import exp
from tacit.arithmetic.exact import Number, positive
from tacit.core import Measure, Measurement, PureDP, Space, Step, ZeroConcentratedDP, register
from tacit.core.measures.concentrated_too import of_range
from tacit.errors import UsageError
from tacit.mechanisms.selection.scores import costs_below_best, score_lattice
from tacit.mechanisms.shared.output_distribution import FiniteDistribution, normalised

__all__ = ["Exponential"]


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
    (:class:`~tacit.core.losses.bounded_range.BoundedRange`), which lie far below those of e-DP.

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

    def build(self, space: Space) -> Measurement:
        """Return the mechanism on a vector of scores.

        Args:
            space: what the step works on: a space, or the end of a chain before it.

        Raises:
            MismatchError: the scores are not compared by the L-infinity distance, or their number
                is not public.
        """
        lattice = score_lattice(space, self)
        scale = Fraction(self.scale)
        rate = lattice.grid / scale
        reach = (1 if self.monotone else 2) / scale
        pure = self.measure == PureDP.__name__
        measure: Measure = PureDP() if pure else ZeroConcentratedDP()

        def loss(d: Fraction) -> Fraction:
            return reach * d if pure else (reach * d) ** 2 / 8

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
            losses=lambda d: of_range(reach * d),
            step=self,
        )
