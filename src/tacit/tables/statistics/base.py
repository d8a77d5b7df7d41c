"""Base of the statistics of a table: their classes and registry."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, Self, TypeVar, cast

from tacit.arithmetic.exact import Number, as_fraction, show
from tacit.core import Space, Step, Transformation
from tacit.errors import MismatchError, UsageError, did_you_mean, shown_value
from tacit.expressions.grid import Grid
from tacit.expressions.schema import Schema
from tacit.report.text import column_words, say_answer
from tacit.tables.noise import Array, Estimate
from tacit.tables.statistics.method import METHODS, Method, read_method
from tacit.tables.statistics.part import LEVEL, Noise, Part

# What can be asked of a table: each statistic is a class.
#
# ``tc.sum()`` alone is a step of a chain and the name of a statistic; ``tc.sum("pay", 0, 1000)`` is
# a question to a table.  Both are an :class:`Aggregate`, of the class registered as ``sum``.  That
# class has the fields of the question, its words, its flag, and the :class:`Part` that answers it:
# its request to the engine, its map and its noise.  (A part is an object of its own because one
# noisy vector answers several statistics: the count, the sum and the mean of a column.)
#
# Plans, releases, certificates, their checks, plan files and the command line ask these classes;
# none of them knows a statistic by its name.


QUANTILE_BITS = 16  # of the grid of the candidates for a quantile
SQUARE_BITS = 20  # of a grid on which squares are added up
SUM_BITS = 31  # of a grid on which values are


class Clamped(NamedTuple):
    """A column, and the public bounds that it is clamped to, where they are known."""

    column: str
    lower: Fraction | None = None
    upper: Fraction | None = None


@dataclass(frozen=True)
class Setting:
    """What parts are made from besides the statistic; all of it public."""

    grid: Callable[[TableStatistic, int], Grid]  # the grid of a statistic, of at most so many bits
    groups: int  # in how many groups a person counts at most
    counted: bool  # whether the rows are counted as well
    # a noise by which the mechanism of a quantile is chosen; None where it is not chosen, as by the
    # first rules
    choosing: Noise | None = None


@dataclass(frozen=True)
class Aggregate(Step):
    """A statistic, of a column where one is named.

    Attributes:
        column: the column, or None.
        lower, upper: the public bounds that the column is clamped to.
        method: the mechanism that answers, where it is not the global one.
    """

    column: str | None = None
    lower: Fraction | None = None
    upper: Fraction | None = None
    method: Method | None = None

    name: ClassVar[str] = "aggregate"
    kind: ClassVar[str]  # its name in Python, plan files and certificates; its flag has dashes
    # the arguments that a question to a table needs, in the order of the public function
    fields: ClassVar[tuple[str, ...]] = ("column", "lower", "upper")
    optional: ClassVar[tuple[str, ...]] = ()  # those that may be left out, by their names
    # what may stand for a column, without bounds; and does where its field is left out
    bare: ClassVar[Mapping[str, str]] = {}

    @property
    def edges(self) -> tuple[Fraction, ...] | None:
        """The edges of its bins, where it has some."""
        return None

    @property
    def q(self) -> Fraction | None:
        """The percentile that it is, where it is one."""
        return None

    @property
    def clamped(self) -> tuple[Clamped, ...]:
        """The columns with their bounds."""
        return () if self.column is None else (Clamped(self.column, self.lower, self.upper),)

    @property
    def lacks_bounds(self) -> bool:
        """Whether it is asked of a column, needs bounds, and names none."""
        needs = {"lower", "bounds"} & {*self.fields}
        return bool(needs) and any(each.lower is None for each in self.clamped)

    @property
    @abstractmethod
    def statistic(self) -> object:
        """The statistic whose sensitivities can be asked for."""

    @abstractmethod
    def build(self, space: Space) -> Transformation:
        """Build the step of a chain that this statistic is."""

    def __str__(self) -> str:
        column = [self.column] if self.column else []
        bounds = [show(end) for end in (self.lower, self.upper) if end is not None]
        method = [str(self.method)] if self.method is not None else []
        before, after = self._shown()
        return f"{self.kind}({', '.join([*column, *before, *bounds, *after, *method])})"

    def _shown(self) -> tuple[list[str], list[str]]:
        """Return the fields of the class as text: those before the bounds and those after."""
        return [], []

    def to_json(self) -> dict[str, object]:
        """Return the statistic as plain JSON values."""
        bounds = {"lower": self.lower, "upper": self.upper}
        return {
            "kind": self.kind,
            **({} if self.column is None else {"column": self.column}),
            **{name: str(end) for name, end in bounds.items() if end is not None},
            **self._fields_to_json(),
            **({} if self.method is None else {"method": self.method.to_json()}),
        }

    def _fields_to_json(self) -> dict[str, object]:
        """Return the fields that the class adds, as plain JSON values."""
        return {}


@dataclass(frozen=True)
class TableStatistic(Aggregate):
    """A statistic with all that answers it; users see an :class:`Aggregate`."""

    # ---- what a class says of its statistic

    # its position in ``--help``, and among the answers that flags ask for; no two have the same
    order: ClassVar[int]
    make: ClassVar[Callable[..., Any]]  # the public function that returns one
    help: ClassVar[str]  # the help of its flag
    noun: ClassVar[str]  # what it is in words, with ``{column}`` and the like to fill in
    elsewhere: ClassVar[tuple[str, ...]] = ()  # its names in other programs, for suggestions
    chained: ClassVar[type[Step] | None] = None  # the step of a chain that it is without a column
    methods: ClassVar[bool] = False  # whether other methods than the global one answer it too
    # whether it is an amount, with noise added to it as it is: its standard error is the same for
    # any data, and a picture draws it as a bar from zero
    amount: ClassVar[bool] = False
    whole: ClassVar[bool] = False  # whether it is published in integers
    # over a table of its numbers, where it is several: of their names, and of them
    each: ClassVar[tuple[str, str]] = "bin", "rows"
    alone: ClassVar[bool] = True  # whether it can be asked alone; else only in plans
    lowest: ClassVar[str] = "0"  # the lower bound of its examples
    counts: ClassVar[bool] = False  # whether it counts rows, in all or between its edges
    bin_reading: ClassVar[str] = "cells"  # how it reads the bins between its edges
    bits: ClassVar[int] = SUM_BITS  # the most bits of the grid of the global method
    local_bits: ClassVar[int] = SQUARE_BITS  # and of that on which the other methods count records
    # parts of other statistics that answer this one too, and make one of its own superfluous
    joins: ClassVar[type[Part] | None] = None
    # Where it is not a statistic of :func:`tacit.sensitivity`: the end of the message there, which
    # names what to ask instead.
    in_lab: ClassVar[str] = ""

    # ---- what is asked

    def with_bounds(self, bounded: Sequence[Clamped]) -> Self:
        """Return the statistic with other bounds of its columns."""
        ((_, lower, upper),) = bounded
        return replace(self, lower=lower, upper=upper)

    def with_keys(self, keys: Mapping[str, Sequence[object]]) -> Self:
        """Return the statistic with the declared categories of its column, if it needs some."""
        return self

    def with_uuids(self, names: Container[str]) -> Self:
        """Return the statistic with categories of columns of UUIDs as these have them."""
        return self

    def require_column(self) -> str:
        """Return the column, or raise with the way to name one."""
        if self.column is None:
            bounds = " and its public bounds" if "lower" in self.fields else ""
            shown = ", ".join('"column"' if each == "column" else each for each in self.fields)
            raise UsageError(
                f"{self.kind} of a table needs a column{bounds}: tc.{self.kind}({shown})"
            )
        return self.column

    def check(self, columns: Schema) -> None:
        """Raise if it does not fit the columns of a table, apart from their names and bounds."""

    @classmethod
    def read(cls, described: Mapping[str, Any]) -> TableStatistic:
        """Return the statistic that :meth:`to_json` described."""
        taken: dict[str, Callable[[Any], Any]] = {"column": str, "q": as_fraction}
        given = [taken.get(field, lambda same: same)(described[field]) for field in cls.fields]
        method = dict(described.get("method", {}))
        options = {"method": method.pop("name"), **method} if method else {}
        return cast("TableStatistic", cls.make(*given, **options))

    @classmethod
    def note(cls, column: Mapping[str, Any]) -> str:
        """Describe what a reader should know of a released answer; empty for most."""
        return ""

    @classmethod
    def words(cls, described: Mapping[str, Any]) -> str:
        """Describe in a certificate what :meth:`to_json` described."""
        q = show(as_fraction(described["q"])) if "q" in described else ""
        return column_words(cls.noun.format(column=described.get("column"), q=q), described)

    # ---- as a statistic of the sensitivity lab, or a step of a chain

    @property
    def statistic(self) -> Any:
        from tacit.statistics import lookup

        if self.in_lab:
            raise UsageError(f"{self.kind} is a question to a table; {self.in_lab}")
        return lookup(self.kind)

    def step(self) -> Step | None:
        """Return the step of a chain that it is without a column, or None."""
        return None if self.chained is None or self.column is not None else self.chained()

    def build(self, space: Space) -> Transformation:
        """Build the step of a chain that this statistic is.

        Raises:
            MismatchError: the statistic is no step, or names a column of a table.
        """
        step = self.step()
        if step is None:
            steps = ", ".join(f"{known.kind}()" for known in statistics() if known.chained)
            raise MismatchError(
                f"{self} is a question to a table, not a step of a chain; steps: {steps}",
                space,
                self,
            )
        built: Any = step
        return cast(Transformation, built.build(space))

    # ---- its answer

    def label(self) -> str:
        """Return the label of the answer where none is given."""
        return "_".join([self.kind, *([self.column] if self.column else [])])

    def answer_names(self) -> list[str] | None:
        """Return the names of its numbers, where it is several; None where it is one."""
        return None

    def key(self) -> str:
        """Return the key of its answer among those of its part."""
        return self.kind

    def shared(self) -> Any:
        """Return what the statistics that one part answers have in common."""
        return type(self), self.clamped

    @abstractmethod
    def part(self, setting: Setting, before: Part | None) -> Part:
        """Return the part of the global method."""
        # before: the part that answers what was asked before and shares it.

    @classmethod
    def answered_by(cls, part: Part) -> bool:
        """Return whether a part that was made for other statistics answers this one too."""
        return cls.joins is not None and isinstance(part, cls.joins)

    def estimate(
        self,
        parts: Sequence[Part],
        estimates: Sequence[Mapping[str, Estimate]],
        noises: Sequence[Noise],
        level: float = LEVEL,
    ) -> Estimate:
        """Return the answer from the estimates of the parts that answer it, at the level."""
        return estimates[0][self.key()]

    def half_width(
        self, parts: Sequence[Part], noises: Sequence[Noise], rows: float, level: float
    ) -> float | None:
        """Return how far an interval is expected to reach: see :meth:`Part.half_width`."""
        return parts[0].half_width(self.key(), noises[0], rows, level)

    # ---- what the other methods need to know

    def local_statistic(self) -> str:
        """Return the name of the statistic of the records."""
        return self.kind

    @classmethod
    def range(cls, lower: float, upper: float) -> tuple[float, float]:
        """Return the public ends of the answer on a column between two bounds."""
        return lower, upper

    def error_on(self, grid: Grid, counted: bool, noise: Noise, made: Array) -> float:
        """Return the mean absolute error of the global method on made-up rows."""
        raise NotImplementedError(f"{self.kind} has no other method to be compared with")


_REGISTERED: dict[str, type[TableStatistic]] = {}
_A = TypeVar("_A", bound=type[TableStatistic])


def register_statistic(made: _A) -> _A:
    """Register a class of statistics by its name (a decorator)."""
    taken = [known.kind for known in _REGISTERED.values() if known.order == made.order]
    if made.kind in _REGISTERED or taken:
        raise UsageError(f"a statistic needs a name and an order of its own, not {made.kind}'s")
    _REGISTERED[made.kind] = made
    say_answer(made.kind, made)
    return made


def statistics(*, of_plans: bool = False) -> list[type[TableStatistic]]:
    """Return every statistic that can be asked alone, in order; with sums of bins for plans."""
    chosen = (c for c in _REGISTERED.values() if c.alone or (of_plans and c.counts))
    return sorted(chosen, key=lambda known: known.order)


def statistic_named(name: str) -> type[TableStatistic]:
    """Return the class of a name."""
    if name not in _REGISTERED:
        raise UsageError(
            f"no kind of answer is called {name!r}; {did_you_mean(str(name), list(_REGISTERED))}"
        )
    return _REGISTERED[name]


def only_global(kind: str, method: str) -> None:
    """Raise if the method is another than the global one."""
    if method == "global":
        return
    if method not in METHODS:
        raise UsageError(
            f"method {shown_value(method)} is unknown; {did_you_mean(str(method), METHODS)}"
        )
    *others, last = (known.kind for known in statistics() if known.methods)
    raise UsageError(
        f"{kind} has one method, the global one: leave method={method!r} out. Methods are for "
        f"{', '.join(others)} and {last}"
    )


# A question to one column within public bounds, by a method: what the functions that ask share.


_Made = TypeVar("_Made", bound=TableStatistic)


def with_method(
    made: _Made,
    method: str,
    bound: Number | None,
    bins: int | None,
    distribution: str | None,
    rows: int | None,
) -> _Made:
    """Return a statistic with the method that is asked for."""
    chosen = read_method(made.kind, made.column, method, bound, bins, distribution, rows)
    return replace(made, method=chosen)


def bounded(
    of: type[_Made],
    column: str | None,
    lower: Number | None,
    upper: Number | None,
    **fields: Any,
) -> _Made:
    """Return a statistic of a column clamped to public bounds, or of none."""
    kind = of.kind
    if column is None:
        if lower is not None or upper is not None:
            raise UsageError(f'name the column: tc.{kind}("column", lower, upper)')
        return of(**fields)
    if not isinstance(column, str):
        raise UsageError(f"a column is named by text, not by {shown_value(column)}")
    if lower is None and upper is None:
        return of(column, **fields)  # a data set may declare them: see Declared.bounded
    if isinstance(lower, (tuple, list)) and len(lower) == 2:
        shown = ", ".join(map(repr, lower))
        raise UsageError(f"the bounds are two arguments, not one: tc.{kind}({column!r}, {shown})")
    if lower is None or upper is None:
        raise UsageError(
            f"{kind} of {column!r} needs both bounds, such as tc.{kind}({column!r}, 0, 100), or "
            "none where a data set declares them"
        )
    low, high = as_fraction(lower, "lower bound"), as_fraction(upper, "upper bound")
    if low >= high:
        if low == high:
            raise UsageError(
                f"the bounds of {column!r} are equal, both {show(low)}: every value would count as "
                f"{show(low)}. Give the least and the greatest value that counts, such as "
                f"tc.{kind}({column!r}, 0, 100)"
            )
        raise UsageError(
            f"the bounds of {column!r} must be in order: lower {show(low)} is not below upper "
            f"{show(high)}"
        )
    return of(column, low, high, **fields)
