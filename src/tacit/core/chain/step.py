"""Steps: what stands alone after ``>>`` and learns its space when it is chained."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar, Generic, Never, TypeVar

from tacit.calls import public
from tacit.core.chain.protocols import Builds, Built
from tacit.display.card import Card, Plain, Shown
from tacit.errors import CallError, UsageError, did_you_mean

__all__ = ["Pipeline", "Step", "as_step", "register", "step_from"]

Kind = TypeVar("Kind", bound="Step")
Made = TypeVar("Made")
Other = TypeVar("Other")

_REGISTERED: dict[str, Callable[..., Step]] = {}


@public
class Step(ABC):
    """A recipe for a transformation or measurement, waiting for its input space.

    A subclass is a frozen dataclass whose fields are its public parameters, registered under its
    ``name``; so a chain can be written down in a certificate and built again from the page alone.
    """

    name: ClassVar[str] = ""

    @abstractmethod
    def build(self, space: Never) -> Built:
        """Return the transformation or measurement on ``space``, a :class:`~tacit.Space`.

        Raises:
            MismatchError: the step does not fit this space; the message names what would join them.
        """

    def __rshift__(self, other: Builds[Made]) -> Pipeline[Made]:
        return Pipeline((self, as_step(other)))

    def parameters(self) -> dict[str, object]:
        """Return the public parameters as plain JSON values."""
        return {name: plain(getattr(self, name)) for name in _parameters(type(self))}

    def describe(self) -> dict[str, object]:
        """Return the step as plain JSON values, from which :func:`step_from` builds it again."""
        needed = _parameters(type(self))
        given = {k: v for k, v in self.parameters().items() if v is not None or needed[k]}
        return {"step": self.name, **given}


@public
@dataclass(frozen=True)
class Pipeline(Shown, Step, Generic[Made]):
    """Consecutive steps that have not met their space yet.

    >>> import tacit as tc
    >>> print(tc.clamp(0, 12) >> tc.sum())
    clamp(lower=0, upper=12) >> sum()
    """

    steps: tuple[Step, ...]

    name: ClassVar[str] = "pipeline"

    def build(self, space: object) -> Made:  # type: ignore[override]
        """Chain the steps, one after the other, on ``space``."""
        chain: Any = space
        for step in self.steps:
            chain = chain >> step
        made: Made = chain
        return made

    def __rshift__(self, other: Builds[Other]) -> Pipeline[Other]:
        return Pipeline((*self.steps, as_step(other)))

    def __str__(self) -> str:
        return " >> ".join(map(_said, self.steps))

    def __repr__(self) -> str:
        return f"<Pipeline {self}>"

    def card(self) -> Card:
        """Return what a notebook displays: the steps in order."""
        todo = "the steps wait for a space: tc.Space(...) >> them"
        return Card("Steps of a chain", "", [Plain([_said(step) for step in self.steps])], [todo])

    def describe(self) -> dict[str, object]:
        """Return the steps as plain JSON values."""
        return {"step": self.name, "steps": [step.describe() for step in self.steps]}


def _said(step: Step) -> str:
    """Return a step as it is written, with the parameters that were given."""
    if type(step).__str__ is not object.__str__:
        return str(step)
    given = {name: value for name, value in step.parameters().items() if value is not None}
    return f"{step.name}({', '.join(f'{name}={value}' for name, value in given.items())})"


def register(kind: type[Kind]) -> type[Kind]:
    """Class decorator: make a step known by its name, so that a certificate can be re-derived."""
    known = _REGISTERED.get(kind.name)
    if not kind.name or known not in (None, kind):
        raise UsageError(f"a step needs a name of its own, not {kind.name!r}")
    _REGISTERED[kind.name] = public(kind)
    return kind


def as_step(thing: object) -> Step:
    """Return a step, or say what stands behind ``>>``.

    Raises:
        CallError: anything but a step.
    """
    if isinstance(thing, Step):
        return thing
    name = getattr(thing, "__name__", "")
    shown = f"call {name}: >> tc.{name}(...)" if name else f"not a {type(thing).__name__}"
    raise CallError(
        f"after >> there must be a step, such as tc.clamp(0, 12) or tc.laplace(scale=2); {shown}"
    )


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


@cache
def _parameters(kind: type[Step]) -> dict[str, bool]:
    """Return the names of a step's parameters, and whether each must be given."""
    if not is_dataclass(kind):
        return {}
    return {f.name: f.default is MISSING for f in fields(kind) if f.init}


def plain(value: Any) -> Any:
    """Write a parameter as JSON: fractions as text, tuples as lists, a function by its name."""
    if value is None or type(value) in (str, int, float, bool):
        return value
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if hasattr(value, "describe"):
        return value.describe()
    if isinstance(value, (str, int, float)):
        return value
    return str(getattr(value, "__qualname__", type(value).__qualname__))
