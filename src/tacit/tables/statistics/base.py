"""Base of the statistics of a table: their classes, methods, parts of a plan and registry."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import (
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Self,
    TypeAlias,
    TypedDict,
    TypeVar,
    cast,
    get_args,
)

import numpy as np

from tacit.arithmetic.exact import Number, as_fraction, as_integer, positive, show
from tacit.arithmetic.roots_and_bisection import sqrt_up
from tacit.core import Space, Step, Transformation
from tacit.errors import MismatchError, UsageError, did_you_mean, shown_value
from tacit.expressions.expression import Expression, col
from tacit.expressions.grid import Grid
from tacit.expressions.schema import Schema
from tacit.mechanisms import Gaussian, Laplace
from tacit.mechanisms.smooth import DISTRIBUTIONS
from tacit.report.text import column_words, say_answer
from tacit.tables.noise import Array, Estimate, GridNoise
from tacit.tables.query.requests import Request

# What a part of a release is, and the noise that it may use.
#
# Each part is one or more chains from the table to noise, and answers one kind of question: its
# steps, its noise and its estimate are in one file of this folder.  Parts share what they can:
# every question about the moments of one column within one pair of bounds, and the count next to
# it, comes out of one vector.


LEVEL = 0.95  # the level of every interval


@dataclass(frozen=True)
class Noise:
    """What one part may spend: epsilon of pure DP, or rho of zCDP, for one person."""

    kind: Literal["laplace", "gaussian"]
    loss: Fraction  # the epsilon or rho
    rows: int  # the largest total weight of the rows of one person
    # The weight of a row in the integers of the engine: weights are multiples of ``1 / one``, so a
    # count of those integers is a number of rows after division by ``one``.
    one: int = 1
    delta: Fraction = Fraction(0)  # what a part that needs one may spend in addition to epsilon

    @property
    def norm(self) -> str:
        """The norm that the sensitivity is measured in."""
        return "L1" if self.kind == "laplace" else "L2"

    def scale(self, sensitivity: Fraction) -> Fraction:
        """Return the least scale: ``sensitivity / epsilon``, or ``sensitivity / sqrt(2 rho)``."""
        # The square root is rounded up, to no more loss than was granted.
        if self.kind == "laplace":
            return sensitivity / self.loss
        return sensitivity * sqrt_up(1 / (2 * self.loss))

    def mechanism(self, sensitivity: Fraction) -> Step:
        """Return the additive mechanism for a sensitivity in the norm."""
        scale = self.scale(sensitivity)
        return Laplace(scale) if self.kind == "laplace" else Gaussian(scale)

    def distribution(self, sensitivity: Fraction, grid: Fraction) -> GridNoise:
        """Return the distribution of one coordinate, for errors and intervals."""
        return GridNoise(self.kind, float(self.scale(sensitivity)), float(grid))

    def split(self, share: Fraction) -> Noise:
        """Return a part of the loss."""
        return replace(self, loss=self.loss * share)

    def choice_scale(self, sensitivity: int) -> Fraction:
        """Return the least scale of a choice whose costs one row moves by ``sensitivity``."""
        # Pure: loss ``2 rows stretch / scale``; zCDP: ``(rows stretch / scale)^2 / 2``.
        moved = Fraction(self.rows * sensitivity)
        if self.kind == "laplace":
            return 2 * moved / self.loss
        return moved * sqrt_up(1 / (2 * self.loss))


@dataclass(frozen=True)
class Columns:
    """The columns of a question."""

    # those that are computed from each row, in terms of the table's own
    derived: Mapping[str, Expression]
    alone: bool  # whether each row is a person of its own
    undeclared: frozenset[str] = frozenset()  # those whose kind is not declared

    def value(self, name: str) -> Expression:
        """Return what a column holds, in terms of the table's own."""
        return self.derived.get(name, col(name))


class Part(ABC):
    """One piece of a release."""

    # Whether the chain starts from people rather than from bounded rows.
    on_people: ClassVar[bool] = False

    error_unit: ClassVar[str] = "standard error"  # what :meth:`expected_error` is
    needs_delta: ClassVar[bool] = False  # whether a share of a delta is for it
    # The largest group for which errors are computed, where there is a limit.
    most_rows: ClassVar[int | None] = None

    @property
    @abstractmethod
    def title(self) -> str:
        """A short description of the part, for messages."""

    def settled(self) -> Part:
        """Return the part to use once all statistics that it answers are known."""
        return self

    @abstractmethod
    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the ends of the part's chains: what is computed, and the noise on it."""

    @abstractmethod
    def request(self, step: Step, columns: Columns) -> Request:
        """Return what the first step of a chain asks of the engine, in whole numbers."""

    def vector(self, step: Step, exact: Any) -> Any:
        """Return the exact vector of a step from the engine's answer, in units of its grid."""
        return [int(value) for value in np.asarray(exact, dtype=object).ravel()]

    @abstractmethod
    def estimates(self, released: Sequence[Any], noise: Noise) -> dict[str, Estimate]:
        """Return the answers, by the kind of aggregate that each is for."""

    def at_level(self, released: Sequence[Any], noise: Noise, level: float) -> dict[str, Estimate]:
        """Return the answers with intervals of another level; unknown ones where there are none."""
        # A part whose intervals follow from the distribution of its noise has them at any level;
        # one whose release decided what they are has them at :data:`LEVEL` alone.
        answers = self.estimates(released, noise)
        return {kind: each.without_interval() for kind, each in answers.items()}

    @abstractmethod
    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the expected standard error in a group of ``rows`` rows, without any data."""

    def half_width(self, kind: str, noise: Noise, rows: float, level: float) -> float | None:
        """Return how far an interval is expected to reach, in the unit of :attr:`error_unit`."""
        # It is that of a group of ``rows`` rows, without any data, and never larger where the noise
        # has more to lose.  None where no interval is known beforehand.
        return None

    def refusal(self, noise: Noise, rows: float) -> float | None:
        """Return how likely a group of so many rows gets no answer; None where none can."""
        return None

    def record(self, noise: Noise) -> dict[str, Any]:
        """Return the description of the method in a certificate, as plain JSON values."""
        return {"used": "global"}


def precisions(noises: Sequence[Noise]) -> list[float]:
    """Return one over the variance of each noise, the most precise counting as 1.

    >>> one, two = (Noise("laplace", Fraction(loss), 1) for loss in (1, 2))
    >>> precisions([one, one]), precisions([one, two])
    ([1.0, 1.0], [0.25, 1.0])
    """
    # A mean of numbers with independent noise has the least variance where each counts so.  The
    # variance goes with the square of the scale: with ``1 / epsilon^2``, or with ``1 / rho``.
    each = [noise.loss ** (2 if noise.kind == "laplace" else 1) for noise in noises]
    return [float(precision / max(each)) for precision in each]


def distribution_of_rows(noise: Noise) -> GridNoise:
    """Return the noise on a count of weighted rows."""
    return noise.distribution(Fraction(noise.rows), Fraction(1, noise.one))


def plain_estimate(
    released: Any, distribution: GridNoise, floor: float = 0.0, level: float = LEVEL
) -> Estimate:
    """Return noisy counts with their error and interval; weights are undone by its grid."""
    value = np.asarray(released, dtype=np.float64)
    half = distribution.half_width((1.0,), level)
    error = np.full_like(value, distribution.variance**0.5)
    return Estimate(value, error, np.maximum(value - half, floor), np.maximum(value + half, floor))


# Which mechanism answers a statistic of a column, and what that mechanism needs.


MethodName: TypeAlias = Literal["global", "smooth", "ptr", "sample_and_aggregate", "auto"]
METHODS: tuple[MethodName, ...] = get_args(MethodName)  # the methods by name

ROWS = 10_000  # the rows of a group for which ``auto`` compares errors, where no ``rows`` are said

# The most rows that errors are worked out for: the made-up rows are laid out in memory.
MOST_ROWS = 10_000_000

MOST_BINS = 1 << 24
_SEARCH = "search"
_BELONGS = {"bound": "ptr", "bins": "sample_and_aggregate", "distribution": "smooth"}


class Options(TypedDict, total=False):
    """What may be said of a method beside the column: see :class:`Method`."""

    method: MethodName
    bound: Number | None
    bins: int | None
    distribution: str | None
    rows: int | None


@dataclass(frozen=True)
class Method:
    """A method other than the global one, with its options; all of it public."""

    name: str  # ``smooth``, ``ptr``, ``sample_and_aggregate`` or ``auto``
    # for ``ptr``: the local sensitivity to propose, or ``"search"``
    bound: Fraction | str | None = None
    bins: int | None = None  # for ``sample_and_aggregate``: how many
    distribution: str | None = None  # for ``smooth``: its noise
    rows: int | None = None  # the size of a group for which errors are compared and bins chosen

    @property
    def planned(self) -> int:
        """The rows to plan for."""
        return self.rows or ROWS

    @property
    def searches(self) -> bool:
        """Whether the bound is searched for in private."""
        return self.bound == _SEARCH

    def to_json(self) -> dict[str, object]:
        """Return the method as plain JSON values."""
        fields: dict[str, Any] = {"name": self.name}
        for field in ("bound", "bins", "distribution", "rows"):
            value = getattr(self, field)
            if value is not None:
                fields[field] = str(value) if isinstance(value, Fraction) else value
        return fields

    def __str__(self) -> str:
        options = [f"{k}={v}" for k, v in self.to_json().items() if k != "name"]
        return ", ".join([f"method={self.name}", *options])


def read_method(
    kind: str,
    column: str | None,
    method: str = "global",
    bound: Number | None = None,
    bins: int | None = None,
    distribution: str | None = None,
    rows: int | None = None,
) -> Method | None:
    """Read the method of an aggregate; None is the global one.

    >>> print(read_method("median", "age", "smooth", distribution="student_t"))
    method=smooth, distribution=student_t
    >>> read_method("median", "age", "global") is None
    True
    """
    if method not in METHODS:
        raise UsageError(
            f"method {shown_value(method)} is unknown; {did_you_mean(str(method), METHODS)}"
        )
    given = {"bound": bound, "bins": bins, "distribution": distribution}
    for option, value in given.items():
        if value is not None and method not in (_BELONGS[option], "auto"):
            raise UsageError(
                f"{option}= is for method={_BELONGS[option]!r}, and the method of this {kind} is "
                f"{method!r}: leave it out, or ask for that method"
            )
    if method == "global":
        if rows is not None:
            raise UsageError('rows= is what method="auto" plans for: leave it out')
        return None
    if column is None:
        raise UsageError(
            f"a method answers a question to a table: name the column and its bounds, as in "
            f'tc.{kind}("age", 0, 100, method={method!r})'
        )
    if method == "ptr" and bound is None:
        raise UsageError(
            "propose-test-release needs bound=, the local sensitivity to propose, such as "
            'bound="1/2"; or bound="search", which finds one in private'
        )
    if distribution is not None and distribution not in DISTRIBUTIONS:
        raise UsageError(
            f"distribution {distribution!r} is unknown; "
            f"{did_you_mean(str(distribution), DISTRIBUTIONS)}"
        )
    made = Method(method, _bound(bound), _bins(bins), distribution, _rows(rows))
    if made.bins is not None and rows is not None and made.bins > int(rows):
        raise UsageError(
            f"bins must be at most the rows that are expected, {rows}, not {made.bins}: "
            "a bin without a row says nothing"
        )
    return made


def _bound(bound: Any) -> Fraction | str | None:
    return bound if bound is None or bound == _SEARCH else positive(bound, "bound")


def _bins(bins: Any) -> int | None:
    if bins is None:
        return None
    number = as_integer(bins, "bins", minimum=2)
    if number > MOST_BINS:
        raise UsageError(f"bins must be at most {MOST_BINS}, not {number}")
    return number


def _rows(rows: Any) -> int | None:
    if rows is None:
        return None
    number = as_integer(rows, "rows", minimum=1)
    if number > MOST_ROWS:
        raise UsageError(f"rows to plan for are at most {show(Fraction(MOST_ROWS))}, not {number}")
    return number


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
    def words(cls, described: Mapping[str, Any]) -> str:
        """Describe in a certificate what :meth:`to_json` described."""
        q = show(as_fraction(described["q"])) if "q" in described else ""
        return column_words(cls.noun.format(column=described.get("column"), q=q), described)

    # ---- as a statistic of the sensitivity lab, or a step of a chain

    @property
    def statistic(self) -> Any:
        """The statistic whose sensitivities can be asked for."""
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
