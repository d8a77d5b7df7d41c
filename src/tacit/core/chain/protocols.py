"""What spaces, steps, transformations and measurements show each other.

They chain with each other, so each would have to import the others.  Each imports this file instead
and is typed by what it asks of the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Never, Protocol, TypeVar

from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import Number
from tacit.core.spaces.domain import Domain
from tacit.core.spaces.metric import Metric

__all__ = ["Builds", "Built", "Ends", "Recipe", "Start"]

Made = TypeVar("Made", covariant=True)


class Builds(Protocol[Made]):
    """A step, as a type checker sees it: what its ``build`` returns is what ``>>`` makes."""

    def build(self, space: Never, /) -> Made:
        """Return the transformation or measurement on a space."""


class Ends(Protocol[Made]):
    """A measurement, as a type checker sees it behind a transformation."""

    def after(self, first: Never, /) -> Made:
        """Return the measurement behind a transformation."""


class Start(Protocol):
    """A space, as a step sees it that is built on it."""

    @property
    def domain(self) -> Domain:
        """Which values there are."""

    @property
    def metric(self) -> Metric:
        """How far apart two of them are."""

    def describe(self) -> dict[str, Any]:
        """Return the space as plain JSON values."""


class Built(Protocol):
    """A transformation or a measurement, as its step returns it."""

    def map(self, d_in: Never) -> object:
        """Return the largest distance behind it, or the privacy loss."""


class Distribution(Protocol):
    """The exact distribution of an output."""

    def probability(self, value: Number) -> Enclosure:
        """Enclose the probability of an output."""

    def cdf(self, value: Number) -> Enclosure:
        """Enclose the probability of an output that is at most ``value``."""

    def support(self, mass: Number = ...) -> tuple[object, ...]:
        """Return the outputs, or the ends of those, that hold so much of the probability."""


class Recipe(Protocol):
    """A step, as a chain sees it that is joined or written down."""

    @property
    def name(self) -> str:
        """The name that it is registered by."""

    def build(self, space: Any) -> Any:
        """Return the transformation or measurement on ``space``."""

    def parameters(self) -> Mapping[str, Any]:
        """Return the public parameters as plain JSON values."""

    def describe(self) -> dict[str, Any]:
        """Return the step as plain JSON values."""
