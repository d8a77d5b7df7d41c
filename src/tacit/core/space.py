"""A space: a domain with a metric, the two ends of every map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tacit.core.domain import Domain
from tacit.core.metric import Metric
from tacit.errors import MismatchError

if TYPE_CHECKING:
    from tacit.core.measurement import Measurement
    from tacit.core.step import Step
    from tacit.core.transformation import Transformation

__all__ = ["Space"]


@dataclass(frozen=True)
class Space:
    """A domain and the metric by which its members are compared.

    Chains start here: ``space >> step >> step`` builds each step on the space before it.

    Raises:
        MismatchError: the metric cannot compare members of this domain.

    Example:
        >>> from tacit.core import SymmetricDistance, Vector
        >>> print(Space(Vector(float), SymmetricDistance()))
        vector of float or missing, symmetric distance (records added or removed)
    """

    domain: Domain
    metric: Metric

    def __post_init__(self) -> None:
        if not self.metric.supports(self.domain):
            carries = ", ".join(kind.__name__ for kind in self.metric.carries)
            raise MismatchError(
                f"{type(self.metric).__name__} cannot compare members of {self.domain}; it works "
                f"on: {carries}",
                self.domain,
                self.metric,
            )

    def __rshift__(self, step: Step) -> Transformation | Measurement:
        return step.build(self)

    def describe(self) -> dict[str, Any]:
        """Return the space as plain JSON values."""
        return {"domain": self.domain.describe(), "metric": self.metric.describe()}

    def __str__(self) -> str:
        return f"{self.domain}, {self.metric}"
