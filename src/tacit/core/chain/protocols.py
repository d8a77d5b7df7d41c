"""What spaces, steps, transformations and measurements show each other.

They chain with each other, so each would have to import the others.  Each imports this file instead
and is typed by what it asks of the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from tacit.core.spaces.domain import Domain
from tacit.core.spaces.metric import Metric

__all__ = ["Built", "Ended", "Recipe", "Start"]


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

    def map(self, d_in: Any) -> Any:
        """Return the largest distance behind it, or the privacy loss."""


class Ended(Built, Protocol):
    """A measurement, as a transformation sees it that it is chained behind."""

    @property
    def input(self) -> Start:
        """The space of its data."""

    def after(self, first: Any) -> Any:
        """Return the measurement behind a transformation."""


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
