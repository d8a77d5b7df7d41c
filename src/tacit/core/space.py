"""Spaces, and the steps that are chained to them."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from fractions import Fraction
from functools import cache, cached_property, partial
from typing import Any, ClassVar, Generic, Never, NoReturn, Protocol, TypeVar, overload

from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import Number, show
from tacit.calls import public
from tacit.core.domains import Domain
from tacit.core.metrics import Metric
from tacit.display.card import Card, CardTable, Plain, Shown
from tacit.errors import CallError, MismatchError, TacitError, UsageError, did_you_mean

# What spaces, steps, transformations and measurements show each other.
#
# They chain with each other, so each would have to import the others.  Each imports this file
# instead and is typed by what it asks of the rest.


MadeCovariant = TypeVar("MadeCovariant", covariant=True)


class Builds(Protocol[MadeCovariant]):
    """A step, as a type checker sees it: what its ``build`` returns is what ``>>`` makes."""

    def build(self, space: Never, /) -> MadeCovariant:
        """Return the transformation or measurement on a space."""


class EndsChain(Protocol[MadeCovariant]):
    """A measurement, as a type checker sees it behind a transformation."""

    def after(self, first: Never, /) -> MadeCovariant:
        """Return the measurement behind a transformation."""


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


# What would join two parts of a chain that do not fit: looked up, so that an error can name it.
#
# Rooms above make their steps known with :func:`register_join`; when a step is refused on a space,
# each of them is tried between the two.  Only public things are touched: spaces and recipes.


_JOINS: dict[str, Step] = {}
_MAX_STEPS = 4


def register_join(text: str, step: Step) -> None:
    """Make a step known as one that may join two parts of a chain.

    Args:
        text: how a person would write it, with names for what they choose: ``clamp(lower, upper)``.
        step: the step with some admissible parameters, to try it with.
    """
    _JOINS[text] = step


def steps_between(space: Space, fits: Callable[[Space], bool]) -> tuple[str, ...]:
    """Name the steps after which ``fits`` holds: single ones, else pairs written ``a >> b``."""
    first = list(_one_further(space))
    steps = [text for text, reached in first if fits(reached)]
    if not steps:
        steps = [
            f"{text} >> {more}"
            for text, reached in first
            for more, further in _one_further(reached)
            if fits(further)
        ]
    return tuple(itertools.islice(steps, _MAX_STEPS))


def build_or_advise(step: Step, space: Space) -> Any:
    """Build a step on a space; if it does not fit, say which step before it would make it fit."""
    try:
        return step.build(space)  # type: ignore[arg-type]
    except MismatchError as error:
        if error.joins:
            raise
        joins = steps_between(space, lambda reached: _built(step, reached) is not None)
        if not joins:
            raise
        raise advised(str(error), error.left, error.right, joins) from None


def advised(message: str, left: object, right: object, joins: tuple[str, ...]) -> MismatchError:
    """Write a mismatch together with the steps that would join its sides."""
    if joins:
        message = f"{message}. What would join them: {', or '.join(joins)}"
    return MismatchError(message, left, right, joins)


def _one_further(space: Space) -> Iterator[tuple[str, Space]]:
    for text, step in _JOINS.items():
        built = _built(step, space)
        if built is not None and built.output != space:
            yield text, built.output


def _built(step: Step, space: Space) -> Any:
    try:
        return step.build(space)  # type: ignore[arg-type]
    except TacitError:
        return None


@dataclass(frozen=True)
class ChainLink:
    """One step of a chain: its title, its recipe, where it leads, and its own map."""

    name: str
    step: Step | None
    output: Any
    map: Callable[[Fraction], Any]

    @cached_property
    def recipe(self) -> dict[str, Any]:
        """The step as plain JSON, made once for all chains that share it: not to be changed."""
        return {"step": self.name} if self.step is None else self.step.describe()

    @property
    def title(self) -> str:
        """The step with its parameters, as one would write it."""
        if self.step is None:
            return self.name
        given = [(k, v) for k, v in self.step.parameters().items() if v is not None]
        return f"{self.name}({', '.join(f'{k}={v}' for k, v in given)})"


def distances(links: Sequence[ChainLink], d_in: Fraction) -> list[Any]:
    """Return the distance after each step, starting from ``d_in``."""
    metrics: list[Any] = []
    distance: Any = d_in
    for link in links:
        distance = link.map(distance)
        metrics.append(distance)
    return metrics


def chain_text(start: Space, links: Sequence[ChainLink], d_in: Fraction) -> str:
    """Write the chain as aligned text."""
    rows = _rows(start, links, d_in)
    widths = [max(len(row[i]) for row in rows) for i in range(2)]
    return "\n".join(f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c}".rstrip() for a, b, c in rows)


def chain_card(title: str, start: Space, links: Sequence[ChainLink], d_in: Fraction) -> Card:
    """Return what a notebook shows of a chain: each step with the distance after it."""
    head = ("step", "distance after it", "measured in")
    return Card(title, "", [CardTable(head, _rows(start, links, d_in))])


def _rows(start: Space, links: Sequence[ChainLink], d_in: Fraction) -> list[tuple[str, str, str]]:
    rows = [("data", show_distance(d_in), str(start))]
    for link, distance in zip(links, distances(links, d_in), strict=True):
        rows.append((link.title, show_distance(distance), str(link.output)))
    return rows


def show_distance(distance: Any) -> str:
    """Write a distance: a number, the pair (epsilon, delta), or the ends of a Renyi curve."""
    if isinstance(distance, tuple) and len(distance) > 3:
        return f"({show(distance[0])}, ..., {show(distance[-1])})"
    if isinstance(distance, tuple):
        return f"({', '.join(show(d) for d in distance)})"
    return show(distance)


# Steps: what stands alone after ``>>`` and learns its space when it is chained.


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
        """Return the transformation or measurement on ``space``, a :class:`~tacit.framework.Space`.

        Args:
            space: a space, or the end of a chain.

        Raises:
            MismatchError: the step does not fit this space; the message names what would join them.
        """

    def __rshift__(self, other: Builds[Made]) -> Pipeline[Made]:
        return Pipeline((self, as_step(other)))

    def mismatch(self, space: object, message: str) -> MismatchError:
        """Return the error of a space that the step does not fit; its name opens the message."""
        return MismatchError(f"{self.name} {message}", space, self)

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
    >>> from tacit import framework as fw
    >>> print(fw.clamp(0, 12) >> tc.sum())
    clamp(lower=0, upper=12) >> sum()
    """

    steps: tuple[Step, ...]

    name: ClassVar[str] = "pipeline"

    def build(self, space: object) -> Made:  # type: ignore[override]
        """Chain the steps, one after the other, on ``space``."""
        chain: Any = space
        for step in self.steps:
            chain = chain >> step
        return chain  # type: ignore[no-any-return]

    def __rshift__(self, other: Builds[Other]) -> Pipeline[Other]:
        return Pipeline((*self.steps, as_step(other)))

    def __str__(self) -> str:
        return " >> ".join(map(_described, self.steps))

    def __repr__(self) -> str:
        return f"<Pipeline {self}>"

    def card(self) -> Card:
        """Return what a notebook displays: the steps in order."""
        todo = "the steps wait for a space: tc.framework.Space(...) >> them"
        return Card(
            "Steps of a chain", "", [Plain([_described(step) for step in self.steps])], [todo]
        )

    def describe(self) -> dict[str, object]:
        return {"step": self.name, "steps": [step.describe() for step in self.steps]}


def _described(step: Step) -> str:
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
    """Return a step, or say what stands behind ``>>``."""
    if isinstance(thing, Step):
        return thing
    name = getattr(thing, "__name__", "")
    shown = f"call it: {name}(...)" if name else f"not a {type(thing).__name__}"
    raise CallError(
        "after >> there must be a step, such as tc.framework.clamp(0, 12) or "
        f"tc.framework.laplace(scale=2); {shown}"
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


@public
class Unfinished(Shown):
    """A chain that ends in a kind of step, without the parameter that says how much noise.

    ``tc.framework.calibrate(chain, d_in=..., d_out=...)`` finds that parameter; until then nothing
    can be asked of the chain.

    Args:
        chain: a space, or a transformation from it.
        kind: the step's class.
        given: the parameters that are known already (from a ``functools.partial`` of the class).
        after: functions of the released value that follow.

    Example:
        >>> from tacit.core import AbsoluteDistance, Number, Space
        >>> from tacit.mechanisms import Laplace
        >>> chain = Space(Number("int"), AbsoluteDistance()) >> Laplace
        >>> chain.finish(scale=2).map(1)
        Fraction(1, 2)
    """

    def __init__(
        self,
        chain: Any,
        kind: Callable[..., Step],
        given: Mapping[str, Any],
        name: str,
        fields: tuple[str, ...],
        after: tuple[Callable[[Any], Any], ...] = (),
    ) -> None:
        self.chain = chain
        self.kind = kind
        self.given = dict(given)
        self.name = name
        self.fields = fields
        self.after = after

    def finish(self, **parameters: Any) -> Any:
        """Return the measurement with the parameters that were open."""
        built: Any = self.chain >> self.kind(**self.given, **parameters)
        for function in self.after:
            built = built >> function
        return built

    def __rshift__(self, function: Callable[[Any], Any]) -> Unfinished:
        if not callable(function):
            return NotImplemented
        after = (*self.after, function)
        return Unfinished(self.chain, self.kind, self.given, self.name, self.fields, after)

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        """Raise: the chain has no noise yet."""
        raise UsageError(
            f"{self.name} has no noise parameter yet: write {self.name}({self.fields[0]}=...), or "
            "let tc.framework.calibrate(chain, d_in=..., d_out=...) find it"
        )

    __call__ = map = check = distribution = explain = _refuse

    def __repr__(self) -> str:
        return f"<Unfinished chain that ends in {self.name}: calibrate it>"


def unfinished(chain: Any, step: Any) -> Unfinished | None:
    """Return the unfinished chain if ``step`` is a class of steps (or a partial of one)."""
    kind = step.func if isinstance(step, partial) else step
    if not (isinstance(kind, type) and issubclass(kind, Step)):
        return None
    names = tuple(getattr(kind, "__dataclass_fields__", {}))
    given: dict[str, Any] = {}
    if isinstance(step, partial):
        given = {**dict(zip(names, step.args, strict=False)), **step.keywords}
    opened = tuple(n for n in names if n in ("scale", "epsilon") and n not in given)
    if not opened:
        raise UsageError(f"{kind.name} has no noise to find; write it with its parameters")
    return Unfinished(chain, kind, given, kind.name, opened)


# A space: a domain with a metric, the two ends of every map.


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
