"""What can be asked of a column, and what a kind of answer is: everything that distinguishes kinds.

``tc.sum()`` alone is a step of a chain and the name of a statistic; ``tc.sum("pay", 0, 1000)`` is a
question to a table.  Both are an :class:`Aggregate`, of the :class:`Kind` ``sum``.

Each file of this folder registers the kinds that it answers, once.  Plans, releases, certificates,
their checks, plan files and the command line ask a kind; none of them knows its name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, cast

from tacit.arithmetic.exact import as_fraction, show
from tacit.core import Space, Step, Transformation
from tacit.errors import MismatchError, UsageError, did_you_mean, said
from tacit.expressions.bin_labels import bin_names
from tacit.expressions.grid import Grid
from tacit.expressions.schema import Schema
from tacit.report.text.vocabulary import say_answer
from tacit.report.text.words import column_words
from tacit.tables.chain.estimate import Array, Estimate
from tacit.tables.chain.part import LEVEL, Noise, Part
from tacit.tables.spec.cell_axis import Axis
from tacit.tables.spec.method import METHODS, Method

__all__ = [
    "QUANTILE_BITS",
    "SQUARE_BITS",
    "SUM_BITS",
    "Aggregate",
    "Clamped",
    "Kind",
    "Setting",
    "kind_of",
    "kinds",
    "only_global",
    "register_kind",
]

QUANTILE_BITS = 16
"""Of the grid of the candidates for a quantile."""
SQUARE_BITS = 20
"""Of a grid on which squares are added up."""
SUM_BITS = 31
"""Of a grid on which values are."""


class Clamped(NamedTuple):
    """A column, and the public bounds that it is clamped to, where they are known."""

    column: str
    lower: Fraction | None = None
    upper: Fraction | None = None


@dataclass(frozen=True)
class Aggregate(Step):
    """A statistic, of a column where one is named.

    Attributes:
        kind: the name of its :class:`Kind`, such as ``"mean"``.
        column: the column it is asked of, or None.
        lower, upper: the public bounds that the column is clamped to.
        q, percentages, edges: of a quantile or of several, in 0..100; of histograms.
        ddof: for var and std as statistics: 0, or 1 to divide by ``n - 1``.
        method: the mechanism that answers, where it is not the global one.
        k, keys: how many of which public categories.
        others: the further columns, of a statistic of several.
        axes: the columns whose cells are counted, in a plan of several questions.
        importance, reading, nonnegative: how much its squared errors count there, how the bins of
            the last column are read, and whether no count may be below zero.
        of: what is asked in each of these cells, where it is no count.
    """

    kind: str
    column: str | None = None
    lower: Fraction | None = None
    upper: Fraction | None = None
    q: Fraction | None = None
    percentages: tuple[Fraction, ...] | None = None
    edges: tuple[Fraction, ...] | None = None
    ddof: int = 0
    method: Method | None = None
    k: int | None = None
    keys: tuple[object, ...] | None = None
    others: tuple[Clamped, ...] = ()
    axes: tuple[Axis, ...] | None = None
    importance: int = 1
    reading: str = "cells"
    nonnegative: bool = False
    of: Aggregate | None = None

    name: ClassVar[str] = "aggregate"

    @property
    def statistic(self) -> object:
        """The statistic whose sensitivities can be asked for."""
        return kind_of(self.kind).statistic(self)

    def build(self, space: Space) -> Transformation:
        """Build the step of a chain that this statistic is.

        Raises:
            MismatchError: the statistic is no step, or names a column of a table.
        """
        step = None if self.column is not None or self.ddof else kind_of(self.kind).step(self)
        if step is None:
            steps = ", ".join(f"{kind.name}()" for kind in kinds() if kind.chained is not None)
            raise MismatchError(
                f"{self} is a question to a table, not a step of a chain; steps: {steps}",
                space,
                self,
            )
        built: Any = step
        return cast(Transformation, built.build(space))

    @property
    def lacks_bounds(self) -> bool:
        """Whether it is asked of a column, needs bounds, and names none."""
        needs = {"lower", "bounds"} & {*kind_of(self.kind).fields}
        return bool(needs) and any(each.lower is None for each in self.clamped)

    @property
    def clamped(self) -> tuple[Clamped, ...]:
        """The columns with their bounds."""
        first = () if self.column is None else (Clamped(self.column, self.lower, self.upper),)
        return (*first, *self.others)

    def require_column(self) -> str:
        """Return the column, or say how to name one."""
        if self.column is None:
            needs = kind_of(self.kind).fields
            bounds = " and its public bounds" if "lower" in needs else ""
            shown = ", ".join('"column"' if each == "column" else each for each in needs)
            raise UsageError(
                f"{self.kind} of a table needs a column{bounds}: tc.{self.kind}({shown})"
            )
        return self.column

    def __str__(self) -> str:
        parts = [self.column] if self.column else []
        parts += [show(q) for q in self.percentages or ()]
        if self.q is not None and "q" in kind_of(self.kind).fields:
            parts.append(show(self.q))
        if self.lower is not None and self.upper is not None:
            parts += [show(self.lower), show(self.upper)]
        for name, low, high in self.others:
            parts += [name, *(show(end) for end in (low, high) if end is not None)]
        if self.edges is not None:
            parts.append(f"{len(self.edges) - 1} bins")
        parts += [str(self.of)] if self.of is not None else []
        parts += [axis.name for axis in self.axes or ()]
        if self.k is not None:
            parts += [str(self.k), *([f"{len(self.keys)} categories"] if self.keys else [])]
        parts += [f"ddof={self.ddof}"] if self.ddof else []
        parts += [str(self.method)] if self.method is not None else []
        return f"{self.kind}({', '.join(str(p) for p in parts)})"

    def to_json(self) -> dict[str, object]:
        """Return the aggregate as plain JSON values."""
        found: dict[str, Any] = {"kind": self.kind}
        for field in ("column", "lower", "upper", "q"):
            value = getattr(self, field)
            if value is not None:
                found[field] = value if field == "column" else str(value)
        lists = {"percentages": self.percentages, "edges": self.edges}
        found |= {field: [*map(str, v)] for field, v in lists.items() if v is not None}
        found |= {"method": self.method.to_json()} if self.method is not None else {}
        found |= {"k": self.k, "keys": list(self.keys or ())} if self.k is not None else {}
        found |= {"axes": [a.to_json() for a in self.axes]} if self.axes is not None else {}
        found |= {"of": self.of.to_json()} if self.of is not None else {}
        for field, usual in (("importance", 1), ("reading", "cells"), ("nonnegative", False)):
            found |= {field: getattr(self, field)} if getattr(self, field) != usual else {}
        if self.others:
            found["others"] = [[one.column, str(one.lower), str(one.upper)] for one in self.others]
        return found


@dataclass(frozen=True)
class Setting:
    """What parts are made from, beside what is asked; all of it public.

    Attributes:
        grid: the grid of what is asked, of at most so many bits.
        groups: in how many groups a person counts at most.
        counted: whether the rows are counted beside it.
    """

    grid: Callable[[Aggregate, int], Grid]
    groups: int
    counted: bool


@dataclass(frozen=True, kw_only=True)
class Kind(ABC):
    """One kind of answer.

    Attributes:
        name: what Python, plan files and certificates call it; its flag is that with dashes.
        order: where it stands among the kinds: in ``--help``, and in what flags ask for.
        make: the function that asks it.
        help: what its flag says of it.
        noun: what it is in words, with ``{column}`` and ``{q}`` in their places.
        fields: the arguments that a table's question needs, in the order of ``make``.
        chained: the step of a chain that it is without a column, where it is one.
        methods: whether the methods of :mod:`tacit.tables.data_dependent` answer it too.
        amount: whether it is an amount, with noise added to it as it is: its standard error is
            the same for any data, and a picture draws it as a bar from zero.
        whole: whether it is published in whole numbers.
        each: over a table of its numbers, where it is several: of their names, and of them.
        alone: whether people ask it by itself; else it stands in plans only.
        counts: whether it is how many rows there are, in all or between its edges.
        reading: how it reads the bins between its edges, which a plan answers in order.
        joins: parts made for other kinds that answer this one too, and keep it from a part of its
            own.
    """

    name: str
    order: int
    make: Callable[..., Any]
    help: str
    noun: str
    fields: tuple[str, ...] = ("column", "lower", "upper")
    chained: type[Step] | None = None
    methods: bool = False
    amount: bool = False
    whole: bool = False
    each: tuple[str, str] = "bin", "rows"
    alone: bool = True
    counts: bool = False
    reading: str = "cells"

    joins: ClassVar[type[Part] | None] = None

    # ---- what is asked

    def key(self, asked: Aggregate) -> str:
        """Return what the part that answers knows the answer by."""
        return self.name

    def label(self, asked: Aggregate) -> str:
        """Return the name of the answer that its flag asks for."""
        q = [show(asked.q)] if "q" in self.fields and asked.q is not None else []
        return "_".join([self.name, *q, *([asked.column] if asked.column else [])])

    def names(self, asked: Aggregate) -> list[str] | None:
        """Return what its numbers are called, where it is several; None where it is one."""
        return None if asked.edges is None else bin_names(asked.edges)

    def check(self, asked: Aggregate, columns: Schema) -> None:  # noqa: B027
        """Refuse what does not fit the columns of a table, beside their names and bounds.

        Raises:
            UsageError: something that no row can be asked.
        """

    def read(self, described: Mapping[str, Any]) -> Aggregate:
        """Return what :meth:`Aggregate.to_json` described.

        Raises:
            UsageError: something that cannot be asked.
            LookupError: a field that is missing.
        """
        taken: dict[str, Callable[[Any], Any]] = {"column": str, "q": as_fraction}
        given = [taken.get(field, lambda same: same)(described[field]) for field in self.fields]
        method = dict(described.get("method", {}))
        options = {"method": method.pop("name"), **method} if method else {}
        return cast(Aggregate, self.make(*given, **options))

    def statistic(self, asked: Aggregate) -> Any:
        """Return the statistic whose sensitivities can be asked for."""
        from tacit.statistics import lookup

        return lookup(f"{self.name}(ddof={asked.ddof})" if asked.ddof else self.name)

    def step(self, asked: Aggregate) -> Step | None:
        """Return the step of a chain that it is without a column, or None."""
        return None if self.chained is None else self.chained()

    def words(self, described: Mapping[str, Any]) -> str:
        """Say in a certificate what one answer is, as :meth:`Aggregate.to_json` described it."""
        q = show(as_fraction(described["q"])) if "q" in described else ""
        return column_words(self.noun.format(column=described.get("column"), q=q), described)

    # ---- how it is answered

    @property
    def bits(self) -> int:
        """The most bits of the grid of the global method."""
        return SUM_BITS

    def shared(self, asked: Aggregate) -> Any:
        """Return what the questions that one part answers have in common."""
        return (type(self), asked.clamped, asked.q, asked.percentages, asked.edges)

    @abstractmethod
    def part(self, asked: Aggregate, setting: Setting, before: Part | None) -> Part:
        """Return the part of the global method.

        Args:
            asked: what is asked.
            setting: what is known of the question.
            before: the part that answers what was asked before and shares it.
        """

    def answered_by(self, part: Part) -> bool:
        """Return whether a part that was made for other kinds answers this one too."""
        return self.joins is not None and isinstance(part, self.joins)

    def estimate(
        self,
        parts: Sequence[Part],
        found: Sequence[Mapping[str, Estimate]],
        noises: Sequence[Noise],
        level: float = LEVEL,
    ) -> Estimate:
        """Return the answer out of what the parts that answer it have estimated, at the level."""
        return found[0][self.name]

    def half_width(
        self, parts: Sequence[Part], noises: Sequence[Noise], rows: float, level: float
    ) -> float | None:
        """Return how far an interval is expected to reach: see :meth:`Part.half_width`."""
        return parts[0].half_width(self.name, noises[0], rows, level)

    # ---- what the other methods need to know of it

    @property
    def local_bits(self) -> int:
        """The most bits of the grid that records are counted on."""
        return SQUARE_BITS

    def local_statistic(self, asked: Aggregate) -> str:
        """Return the name of the statistic of the records that it is."""
        return self.name

    def range(self, lower: float, upper: float) -> tuple[float, float]:
        """Return the public ends of the answer on a column between two bounds."""
        return lower, upper

    def error_on(
        self, asked: Aggregate, grid: Grid, counted: bool, noise: Noise, made: Array
    ) -> float:
        """Return the mean absolute error of the global method on made-up rows."""
        raise NotImplementedError(f"{self.name} has no other method to be compared with")


_KINDS: dict[str, Kind] = {}


def register_kind(kind: Kind) -> Kind:
    """Make a kind known by its name."""
    taken = [known.name for known in _KINDS.values() if known.order == kind.order]
    if kind.name in _KINDS or taken:
        raise UsageError(f"a kind needs a name and an order of its own, not those of {kind.name}")
    _KINDS[kind.name] = kind
    say_answer(kind.name, kind)
    return kind


def kinds(*, of_plans: bool = False) -> list[Kind]:
    """Return every kind that people ask by itself, in order; with those of plans, sums of bins."""
    found = (k for k in _KINDS.values() if k.alone or (of_plans and k.counts))
    return sorted(found, key=lambda kind: kind.order)


def kind_of(name: str) -> Kind:
    """Return the kind of a name.

    Raises:
        UsageError: there is none.
    """
    if name not in _KINDS:
        raise UsageError(
            f"no kind of answer is called {name!r}; {did_you_mean(str(name), list(_KINDS))}"
        )
    return _KINDS[name]


def only_global(kind: str, method: str) -> None:
    """Refuse a method for a statistic that has but one.

    Raises:
        UsageError: any method but the global one.
    """
    if method == "global":
        return
    if method not in METHODS:
        raise UsageError(f"method {said(method)} is unknown; {did_you_mean(str(method), METHODS)}")
    *others, last = (known.name for known in kinds() if known.methods)
    raise UsageError(
        f"{kind} has one method, the global one: leave method={method!r} out. Methods are for "
        f"{', '.join(others)} and {last}"
    )
