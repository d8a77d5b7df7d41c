"""Statistics of a table: what is asked, its method, its part of a plan, its kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias, TypedDict, cast, get_args

import numpy as np

from tacit.arithmetic.exact import Number, as_fraction, as_integer, positive, show
from tacit.arithmetic.roots_and_bisection import sqrt_up
from tacit.core import Space, Step, Transformation
from tacit.errors import MismatchError, UsageError, did_you_mean, said
from tacit.expressions.dialect import bin_names
from tacit.expressions.expression import Expression, col
from tacit.expressions.grid import Grid
from tacit.expressions.schema import Schema
from tacit.mechanisms import Gaussian, Laplace
from tacit.mechanisms.smooth import DISTRIBUTIONS
from tacit.report.text import column_words, say_answer
from tacit.tables.cell_axis import Axis
from tacit.tables.noise import Array, Estimate, NoiseLaw
from tacit.tables.query.requests import Request

__all__ = [
    "LEVEL",
    "METHODS",
    "MOST_ROWS",
    "QUANTILE_BITS",
    "ROWS",
    "SQUARE_BITS",
    "SUM_BITS",
    "Aggregate",
    "Clamped",
    "Columns",
    "Kind",
    "Method",
    "MethodName",
    "Noise",
    "Options",
    "Part",
    "Setting",
    "bounded",
    "kind_of",
    "kinds",
    "law_of_rows",
    "only_global",
    "plain_estimate",
    "precisions",
    "read_method",
    "register_kind",
    "with_method",
]

# What a part of a release is, and the noise that it may use.
#
# Each part is one chain from the table to noise, and answers one kind of question: its step, its
# noise and its estimate stand in one file of ``answers``.  Parts share what they can: every
# question about the moments of one column within one pair of bounds, and the count beside it, comes
# out of one vector.


LEVEL = 0.95  # the level of every interval


@dataclass(frozen=True)
class Noise:
    """What one part may spend: epsilon of pure DP, or rho of zCDP, for one person."""

    kind: Literal["laplace", "gaussian"]
    loss: Fraction  # the epsilon or rho
    rows: int  # how many rows' weight a person has at most
    one: int = 1  # weights are multiples of ``1 / one``
    delta: Fraction = Fraction(0)  # what a part that needs one may spend beside epsilon

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

    def law(self, sensitivity: Fraction, grid: Fraction) -> NoiseLaw:
        """Return the distribution of one coordinate, for errors and intervals."""
        return NoiseLaw(self.kind, float(self.scale(sensitivity)), float(grid))

    def split(self, share: Fraction) -> Noise:
        """Return a part of the loss."""
        return replace(self, loss=self.loss * share)

    def choice_scale(self, stretch: int) -> Fraction:
        """Return the least scale of a choice whose costs one row moves by ``stretch``."""
        # Pure: loss ``2 rows stretch / scale``; zCDP: ``(rows stretch / scale)^2 / 2``.
        reach = Fraction(self.rows * stretch)
        if self.kind == "laplace":
            return 2 * reach / self.loss
        return reach * sqrt_up(1 / (2 * self.loss))


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
    # The largest group for which errors are worked out, where there is a limit.
    most_rows: ClassVar[int | None] = None

    @property
    @abstractmethod
    def title(self) -> str:
        """Say what the part is, in a few words."""

    def settled(self) -> Part:
        """Return the part that answers all of this, once nothing more is asked of it."""
        return self

    @abstractmethod
    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the ends of the part's chains: what is computed, and the noise on it."""

    @abstractmethod
    def request(self, step: Step, columns: Columns) -> Request:
        """Return what the first step of a chain asks of the engine, in whole numbers."""

    def vector(self, step: Step, found: Any) -> Any:
        """Return the exact vector of a step from the engine's answer, in units of its grid."""
        return [int(value) for value in np.asarray(found, dtype=object).ravel()]

    @abstractmethod
    def estimates(self, released: Sequence[Any], noise: Noise) -> dict[str, Estimate]:
        """Return the answers, by the kind of aggregate that each is for."""

    def at_level(self, released: Sequence[Any], noise: Noise, level: float) -> dict[str, Estimate]:
        """Return the answers with intervals of another level; unknown ones where there are none."""
        # A part whose intervals follow from the distribution of its noise has them at any level;
        # one whose release decided what they are has them at :data:`LEVEL` alone.
        found = self.estimates(released, noise)
        return {kind: each.without_interval() for kind, each in found.items()}

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
        """Return what a certificate says of the method, as plain JSON values."""
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


def law_of_rows(noise: Noise) -> NoiseLaw:
    """Return the noise on a count of weighted rows."""
    return noise.law(Fraction(noise.rows), Fraction(1, noise.one))


def plain_estimate(
    released: Any, law: NoiseLaw, floor: float = 0.0, level: float = LEVEL
) -> Estimate:
    """Return noisy counts with their error and interval; weights are undone by its grid."""
    value = np.asarray(released, dtype=np.float64)
    half = law.half_width((1.0,), level)
    error = np.full_like(value, law.variance**0.5)
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
        found: dict[str, Any] = {"name": self.name}
        for field in ("bound", "bins", "distribution", "rows"):
            value = getattr(self, field)
            if value is not None:
                found[field] = str(value) if isinstance(value, Fraction) else value
        return found

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
        raise UsageError(f"method {said(method)} is unknown; {did_you_mean(str(method), METHODS)}")
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
    found = as_integer(bins, "bins", minimum=2)
    if found > MOST_BINS:
        raise UsageError(f"bins must be at most {MOST_BINS}, not {found}")
    return found


def _rows(rows: Any) -> int | None:
    if rows is None:
        return None
    found = as_integer(rows, "rows", minimum=1)
    if found > MOST_ROWS:
        raise UsageError(f"rows to plan for are at most {show(Fraction(MOST_ROWS))}, not {found}")
    return found


# What can be asked of a column, and what a kind of answer is: everything that distinguishes kinds.
#
# ``tc.sum()`` alone is a step of a chain and the name of a statistic; ``tc.sum("pay", 0, 1000)`` is
# a question to a table.  Both are an :class:`Aggregate`, of the :class:`Kind` ``sum``.
#
# Each file of this folder registers the kinds that it answers, once.  Plans, releases,
# certificates, their checks, plan files and the command line ask a kind; none of them knows its
# name.


QUANTILE_BITS = 16  # of the grid of the candidates for a quantile
SQUARE_BITS = 20  # of a grid on which squares are added up
SUM_BITS = 31  # of a grid on which values are


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
    """What parts are made from, beside what is asked; all of it public."""

    grid: Callable[[Aggregate, int], Grid]  # the grid of what is asked, of at most so many bits
    groups: int  # in how many groups a person counts at most
    counted: bool  # whether the rows are counted beside it


@dataclass(frozen=True, kw_only=True)
class Kind(ABC):
    """One kind of answer."""

    name: str  # what Python, plan files and certificates call it; its flag is that with dashes
    # where it stands among the kinds: in ``--help``, and in what flags ask for
    order: int
    make: Callable[..., Any]  # the function that asks it
    help: str  # what its flag says of it
    noun: str  # what it is in words, with ``{column}`` and ``{q}`` in their places
    # the arguments that a table's question needs, in the order of ``make``
    fields: tuple[str, ...] = ("column", "lower", "upper")
    # the step of a chain that it is without a column, where it is one
    chained: type[Step] | None = None
    methods: bool = False  # whether the methods of :mod:`tacit.tables.statistics` answer it too
    # whether it is an amount, with noise added to it as it is: its standard error is the same for
    # any data, and a picture draws it as a bar from zero
    amount: bool = False
    whole: bool = False  # whether it is published in whole numbers
    # over a table of its numbers, where it is several: of their names, and of them
    each: tuple[str, str] = "bin", "rows"
    alone: bool = True  # whether people ask it by itself; else it stands in plans only
    counts: bool = False  # whether it is how many rows there are, in all or between its edges
    reading: str = "cells"  # how it reads the bins between its edges, which a plan answers in order

    # parts made for other kinds that answer this one too, and keep it from a part of its own
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
        """Refuse what does not fit the columns of a table, beside their names and bounds."""

    def read(self, described: Mapping[str, Any]) -> Aggregate:
        """Return what :meth:`Aggregate.to_json` described."""
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
        """Return the part of the global method."""
        # before: the part that answers what was asked before and shares it.

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
    """Return the kind of a name."""
    if name not in _KINDS:
        raise UsageError(
            f"no kind of answer is called {name!r}; {did_you_mean(str(name), list(_KINDS))}"
        )
    return _KINDS[name]


def only_global(kind: str, method: str) -> None:
    """Refuse a method for a statistic that has but one."""
    if method == "global":
        return
    if method not in METHODS:
        raise UsageError(f"method {said(method)} is unknown; {did_you_mean(str(method), METHODS)}")
    *others, last = (known.name for known in kinds() if known.methods)
    raise UsageError(
        f"{kind} has one method, the global one: leave method={method!r} out. Methods are for "
        f"{', '.join(others)} and {last}"
    )


# A question to one column within public bounds, by a method: what the functions that ask share.


def with_method(
    made: Aggregate,
    method: str,
    bound: Number | None,
    bins: int | None,
    distribution: str | None,
    rows: int | None,
) -> Aggregate:
    """Return an aggregate with the method that is asked for."""
    asked = read_method(made.kind, made.column, method, bound, bins, distribution, rows)
    return replace(made, method=asked)


def bounded(
    kind: str,
    column: str | None,
    lower: Number | None,
    upper: Number | None,
    q: Fraction | None = None,
) -> Aggregate:
    """Return an aggregate of a column clamped to public bounds, or of none."""
    if column is None:
        if lower is not None or upper is not None:
            raise UsageError(f'name the column: tc.{kind}("column", lower, upper)')
        return Aggregate(kind, q=q)
    if not isinstance(column, str):
        raise UsageError(f"a column is named by text, not by {said(column)}")
    if lower is None and upper is None:
        return Aggregate(kind, column, q=q)  # a data set may declare them: see plan/declared.py
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
    return Aggregate(kind, column, low, high, q=q)
