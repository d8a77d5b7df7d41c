"""Steps: what stands alone after ``>>`` and learns its space when it is chained."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any, ClassVar

from tacit.core.chain.protocols import Built
from tacit.errors import UsageError, did_you_mean

__all__ = ["Pipeline", "Step", "register", "step_from"]

_REGISTERED: dict[str, Callable[..., Step]] = {}


class Step(ABC):
    """A recipe for a transformation or measurement, waiting for its input space.

    A subclass is a frozen dataclass whose fields are its public parameters, registered under its
    ``name``; so a chain can be written down in a certificate and built again from the page alone.
    """

    name: ClassVar[str] = ""

    @abstractmethod
    def build(self, space: Any) -> Built:
        """Return the transformation or measurement on ``space``, a :class:`~tacit.Space`.

        Raises:
            MismatchError: the step does not fit this space; the message names what would join them.
        """

    def __rshift__(self, other: Step) -> Pipeline:
        return Pipeline((self, other)) if isinstance(other, Step) else NotImplemented

    def parameters(self) -> dict[str, Any]:
        """Return the public parameters as plain JSON values."""
        if not is_dataclass(self):
            return {}
        return {f.name: plain(getattr(self, f.name)) for f in fields(self) if f.init}

    def describe(self) -> dict[str, Any]:
        """Return the step as plain JSON values, from which :func:`step_from` builds it again."""
        needed: set[str] = set()
        if is_dataclass(self):
            needed = {f.name for f in fields(self) if f.default is MISSING}
        given = {k: v for k, v in self.parameters().items() if v is not None or k in needed}
        return {"step": self.name, **given}


@dataclass(frozen=True)
class Pipeline(Step):
    """Consecutive steps that have not met their space yet."""

    steps: tuple[Step, ...]

    name: ClassVar[str] = "pipeline"

    def build(self, space: Any) -> Built:
        """Chain the steps, one after the other, on ``space``."""
        chain: Any = space
        for step in self.steps:
            chain = chain >> step
        return chain  # type: ignore[no-any-return]

    def __rshift__(self, other: Step) -> Pipeline:
        return Pipeline((*self.steps, other)) if isinstance(other, Step) else NotImplemented

    def describe(self) -> dict[str, Any]:
        """Return the steps as plain JSON values."""
        return {"step": self.name, "steps": [step.describe() for step in self.steps]}


def register(kind: type[Step]) -> type[Step]:
    """Class decorator: make a step known by its name, so that a certificate can be re-derived."""
    known = _REGISTERED.get(kind.name)
    if not kind.name or known not in (None, kind):
        raise UsageError(f"a step needs a name of its own, not {kind.name!r}")
    _REGISTERED[kind.name] = kind
    return kind


def step_from(description: dict[str, Any]) -> Step:
    """Build a step from its description.

    Raises:
        UsageError: no step of that name, or parameters that it refuses.
    """
    given = dict(description)
    name = str(given.pop("step", ""))
    if name == Pipeline.name:
        return Pipeline(tuple(step_from(d) for d in given["steps"]))
    if name not in _REGISTERED:
        raise UsageError(f"no step is called {name!r}; {did_you_mean(name, _REGISTERED)}")
    try:
        return _REGISTERED[name](**given)
    except TypeError as error:
        raise UsageError(f"the step {name!r} does not take these parameters: {error}") from None


def plain(value: Any) -> Any:
    """Write a parameter as JSON: fractions as text, tuples as lists, a function by its name."""
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if hasattr(value, "describe"):
        return value.describe()
    if isinstance(value, (str, int, float)) or value is None:
        return value
    return str(getattr(value, "__qualname__", type(value).__qualname__))
