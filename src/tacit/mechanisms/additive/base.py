"""What the Laplace and the Gaussian mechanism share: one kind of noise on every coordinate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.arithmetic.exact import Number, positive
from tacit.core import AbsoluteDistance, Measure, Measurement, Metric, Space, Step
from tacit.errors import MismatchError
from tacit.mechanisms.shared.grid_noise import Lattice
from tacit.noise import Law

__all__ = ["Additive"]


@dataclass(frozen=True)
class Additive(Step):
    """Independent noise of a scale on whole grid units; each mechanism adds the map.

    Args:
        scale: in the units of the aggregate; above zero.
        grid: only for floats that are on no grid.

    Raises:
        UsageError: a scale or grid that is not above zero.
    """

    scale: Number
    grid: Number | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(self.scale, "scale"))
        if self.grid is not None:
            object.__setattr__(self, "grid", positive(self.grid, "grid"))

    def _lattice(self, space: Space, norm: type[Metric], named: str) -> Lattice:
        """Return the grid of a number, or of a vector under a norm.

        Raises:
            MismatchError: another metric, or no numbers.
        """
        if not isinstance(space.metric, (AbsoluteDistance, norm)):
            raise MismatchError(
                f"{self.name} needs an aggregate under the absolute or the {named} distance, not "
                f"under {space.metric}; chain a statistic such as sum() or count() before it",
                space,
                self,
            )
        return Lattice.of(space, self, self.grid)  # type: ignore[arg-type]

    def _release(
        self,
        lattice: Lattice,
        measure: Measure,
        law: Law,
        shift: Any,
        loss: Callable[[Fraction], Fraction],
    ) -> Measurement:
        """Return the release of an aggregate plus noise.

        Args:
            lattice: the grid of the aggregate.
            measure: in which the loss counts.
            law: of the noise, in grid units.
            shift: the privacy loss between two shifted distributions.
            loss: of a distance above zero between two points of the grid.
        """

        def draw(size: int | None) -> Any:
            return law.draw() if size is None else law.draw_many(size)

        return Measurement(
            lattice.space,
            measure,
            lambda value: lattice.add(draw, value),
            lambda d: loss(d + lattice.charge) if d else Fraction(0),
            distribution=lambda value: lattice.distribution(law, value),
            losses=lattice.losses(shift, Fraction(self.scale) / lattice.grid),
            step=self,
        )
