"""A space: a domain with a metric, the two ends of every map."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, overload

from tacit.calls import public
from tacit.core.chain.join_hints import build_or_advise
from tacit.core.chain.partial_chain import Unfinished, unfinished
from tacit.core.chain.protocols import Builds
from tacit.core.chain.step import Step, as_step
from tacit.core.spaces.domain import Domain
from tacit.core.spaces.metric import Metric
from tacit.errors import MismatchError, UsageError, did_you_mean

__all__ = ["Space", "register_space", "space_from"]

Made = TypeVar("Made")

_BUILDERS: dict[str, Callable[[Mapping[str, Any]], Space]] = {}


@public
@dataclass(frozen=True)
class Space:
    """A domain and the metric by which its members are compared.

    Chains start here: ``space >> step >> step`` builds each step on the space before it.

    Args:
        domain: the possible data sets, such as ``Vector(float)``.
        metric: the distance between two of them.

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
        if isinstance(self.metric, type):
            raise MismatchError(
                f"a space needs a metric, not its class: write tc.{self.metric.__name__}()",
                self.domain,
                self.metric,
            )
        if not self.metric.supports(self.domain):
            carries = ", ".join(kind.__name__ for kind in self.metric.carries)
            raise MismatchError(
                f"{type(self.metric).__name__} cannot compare members of {self.domain}; it works "
                f"on: {carries}",
                self.domain,
                self.metric,
            )

    @overload
    def __rshift__(self, step: Builds[Made]) -> Made: ...
    @overload
    def __rshift__(self, step: type[Step] | partial[Step]) -> Unfinished: ...
    def __rshift__(self, step: object) -> object:
        still_open = unfinished(self, step)
        return build_or_advise(as_step(step), self) if still_open is None else still_open

    def describe(self) -> dict[str, object]:
        """Return the space as plain JSON values."""
        return {"domain": self.domain.describe(), "metric": self.metric.describe()}

    def __str__(self) -> str:
        return f"{self.domain}, {self.metric}"


def register_space(
    domain: str,
) -> Callable[[Callable[[Mapping[str, Any]], Space]], Callable[[Mapping[str, Any]], Space]]:
    """Decorate the function that builds spaces of a domain from their description."""

    def keep(build: Callable[[Mapping[str, Any]], Space]) -> Callable[[Mapping[str, Any]], Space]:
        _BUILDERS[domain] = build
        return build

    return keep


def space_from(description: Mapping[str, Any]) -> Space:
    """Build a space from its description.

    Raises:
        UsageError: no such space, or parameters that it refuses.
    """
    try:
        name = str(description["domain"]["domain"])
        build = _BUILDERS[name]
    except (KeyError, TypeError):
        raise UsageError(
            f"this space cannot be built from its description; {did_you_mean('', _BUILDERS)}"
        ) from None
    return build(description)
