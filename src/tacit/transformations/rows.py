"""Transformations of each row by itself: clamp, cast, bin, impute, select, filter."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_fraction, float_down, float_up, show
from tacit.arithmetic.roots_and_bisection import sqrt_up
from tacit.calls import public
from tacit.core import (
    Category,
    ChangeOneDistance,
    Frame,
    HammingDistance,
    InsertDeleteDistance,
    Metric,
    Number,
    Space,
    Step,
    SymmetricDistance,
    Transformation,
    Vector,
    register,
)
from tacit.core.domains import Domain, element
from tacit.core.metrics import EVERY
from tacit.errors import MismatchError, UsageError, did_you_mean, shown_value

# How distances in records become records that come, go or change.


StabilityMap = Callable[[Fraction], Fraction]


def records_of(space: Space, step: Step) -> Vector | Frame:
    """Return the domain of a space of records."""
    domain = space.domain
    if not isinstance(domain, (Vector, Frame)) or not isinstance(
        space.metric, (SymmetricDistance, InsertDeleteDistance, ChangeOneDistance, HammingDistance)
    ):
        raise step.mismatch(space, f"works on records, not on ({space})")
    return domain


def only_changes(space: Space) -> bool:
    """Return whether records can only change: under such a metric, or where the size is public."""
    changing = isinstance(space.metric, (ChangeOneDistance, HammingDistance))
    return changing or getattr(space.domain, "size", None) is not None


def substitutions(space: Space, distance: Fraction) -> Fraction:
    """Return how many records change at most, where they can only change."""
    # Under the symmetric and the insert-delete distance two data sets of one size differ by as many
    # records gone as come, so ``d`` represents ``floor(d / 2)`` changes.
    if isinstance(space.metric, (ChangeOneDistance, HammingDistance)):
        return distance
    return Fraction(distance // 2)


def linear_map(space: Space, coming: Fraction | int, changing: Fraction | int) -> StabilityMap:
    """Return the map of an aggregate to which every record contributes on its own."""
    # A path of d single steps leads from u to v; by the triangle inequality d steps of one kind
    # move the aggregate by at most d times what one does.
    if only_changes(space):
        return lambda d: substitutions(space, d) * changing
    return lambda d: d * coming


def root_map(space: Space, coming: Fraction | int, changing: Fraction | int) -> StabilityMap:
    """Return the same for an L2 norm whose *square* one record moves by so much; rounded up."""
    if only_changes(space):
        return lambda d: sqrt_up(substitutions(space, d) ** 2 * changing)
    return lambda d: sqrt_up(d * d * coming)


def row_by_row(
    step: Step,
    space: Space,
    output: Space,
    function: Callable[[Any], Any],
    *,
    onto: bool = False,
) -> Transformation:
    """Build a transformation that maps each record without looking at the others."""
    # **Map.** ``d -> d`` under every metric that counts records.  Equal records have equal images,
    # so a chain of d insertions, deletions or changes that leads from u to v leads, applied to the
    # images, from f(u) to f(v).
    if not space.metric.counts_records:
        raise step.mismatch(
            space, f"works on data sets compared record by record, not by {space.metric}"
        )
    witness = EVERY if onto else None
    return Transformation(
        space, output, function, lambda d: d, step=step, onto=onto, witness=witness
    )


def records(domain: Vector | Frame, data: Any) -> list[Any]:
    """List the records as people read them: a value, or a dict of one row."""
    if isinstance(domain, Frame):
        columns = {name: records(domain.column(name), data[name]) for name in domain.names}
        names = tuple(columns)
        return [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    shown: Any = domain.present(data)
    return shown.tolist() if isinstance(shown, np.ndarray) else list(shown)


def keep_records(data: Any, mask: list[bool]) -> Any:
    """Return the records that are marked, in their order."""
    if isinstance(data, dict):
        return {name: keep_records(column, mask) for name, column in data.items()}
    if isinstance(data, np.ndarray):
        return data[np.array(mask, dtype=bool)]
    return [record for record, keep in zip(data, mask, strict=True) if keep]


def total(function: Callable[[Any], Any], default: Any) -> Callable[[Any], Any]:
    """Make a function total: where it raises, the default stands for its answer."""

    def answer(record: Any) -> Any:
        try:
            return function(record)
        except Exception:  # a record must not be able to stop a release, whatever it makes it do
            return default

    return answer


@register
@dataclass(frozen=True)
class Bin(Step):
    """Replace each number by the index of its bin; bin i is ``[edges[i], edges[i + 1])``.

    The last bin includes its upper edge.  A number outside all bins, or a missing one, has no bin
    (None).

    **Map.** ``d -> d`` under every metric on records: each record is placed alone.

    Args:
        edges: public and rising, at least two, in the unit of the column.

    Raises:
        UsageError: fewer than two edges, edges that do not rise, infinite ones.

    Example:
        >>> from tacit.core import SymmetricDistance
        >>> bins = Space(Vector(float), SymmetricDistance()) >> Bin([0, 10, 20])
        >>> bins([3.0, 10.0, 20.0, 99.0])
        [0, 1, 1, None]
    """

    edges: Sequence[NumberLike]

    name: ClassVar[str] = "bin"

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", rising_edges(self.edges))

    def build(self, space: Space) -> Transformation:
        """Return the binning of a column of numbers."""
        edges = cast("Sequence[Fraction]", self.edges)
        element = column_of_numbers(space, self)
        bins = Category(tuple(range(len(self.edges) - 1)))
        output = Space(Vector(bins, size=space.domain.size), space.metric)  # type: ignore[attr-defined]

        def to_bins(column: Any) -> list[int | None]:
            positions = bin_index(column, edges, element.grid).tolist()
            return [None if index < 0 else index for index in positions]

        return row_by_row(self, space, output, to_bins)


def rising_edges(edges: Any) -> tuple[Fraction, ...]:
    """Read at least two numbers that rise."""
    if isinstance(edges, (str, bytes)) or not hasattr(edges, "__iter__"):
        raise UsageError("edges are at least two increasing numbers, such as [0, 20, 40]")
    exact = tuple(as_fraction(edge, "an edge") for edge in edges)
    if len(exact) < 2 or any(b <= a for a, b in itertools.pairwise(exact)):
        raise UsageError("edges are at least two increasing numbers, such as [0, 20, 40]")
    return exact


def column_of_numbers(space: Space, step: Step) -> Number:
    """Return the element domain of a column of numbers."""
    domain = space.domain
    if not isinstance(domain, Vector) or not isinstance(domain.element, Number):
        raise step.mismatch(space, f"works on a column of numbers, not on {domain}")
    return domain.element


def bin_index(
    column: NDArray[Any], edges: Sequence[Fraction], grid: Fraction | None = None
) -> NDArray[np.int64]:
    """Return the bin of every number, -1 for those outside and for missing ones."""
    # Exact: a float is below a rational edge exactly when it is below the smallest float that is
    # not below the edge.
    unit = grid or Fraction(1)
    if column.dtype.kind == "i":
        lower_units = np.array(
            [held_in_int64(math.ceil(edge / unit)) for edge in edges], dtype=np.int64
        )
        last = bool((edges[-1] / unit).denominator == 1)
        inside = _index_of_integers(column, lower_units)
        on_top = (column == lower_units[-1]) & last
    else:
        lower_units = np.array([float_up(edge) for edge in edges])
        inside = np.searchsorted(lower_units, column, side="right") - 1
        on_top = (column == lower_units[-1]) & (Fraction(float(lower_units[-1])) == edges[-1])
    positions = np.where(inside >= len(edges) - 1, np.where(on_top, len(edges) - 2, -1), inside)
    if column.dtype.kind == "f":
        positions = np.where(np.isnan(column), -1, positions)
    return positions.astype(np.int64)


def _index_of_integers(column: NDArray[Any], lower_units: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many edges are at or below each whole number, less one: by a table if short."""
    low, high = int(lower_units[0]) - 1, int(lower_units[-1]) + 1
    if high - low >= 1 << 16 or max(abs(low), abs(high)) >= 1 << 62:
        return np.searchsorted(lower_units, column, side="right") - 1
    table = np.searchsorted(lower_units, np.arange(low, high + 1), side="right") - 1
    return np.asarray(table[column.clip(low, high) - low])


def held_in_int64(value: int) -> int:
    """Return the nearest whole number of 64 bits."""
    return min(max(value, -(1 << 63)), (1 << 63) - 1)


# Cast: read a column as another type, totally.


_TYPES = {"float": float, "int": int, "str": str, "bool": bool}
_TRUE = frozenset({"true", "yes", "t", "y", "1", "1.0"})


@register
@dataclass(frozen=True)
class Cast(Step):
    """Read every value as ``float``, ``int``, ``str`` or ``bool``; none can fail.

    Text is parsed as a number (``" 3.5 "``, ``"1e3"``).  What is not a number becomes missing (NaN)
    as a float and zero as an int; floats are rounded to the nearest integer (halves up) and
    clipped to 64 bits.  A bool is true for numbers other than zero and for true, yes, t, y in any
    case.

    **Map.** ``d -> d`` under every metric on records: each record is read alone.

    Args:
        to: one of these types, or its name.

    Raises:
        UsageError: another type.

    Example:
        >>> from tacit.core import SymmetricDistance
        >>> column = Space(Vector(str), SymmetricDistance()) >> Cast(float)
        >>> column(["3.5", "x"]).tolist()
        [3.5, nan]
    """

    to: type | str

    name: ClassVar[str] = "cast"

    def __post_init__(self) -> None:
        name = self.to if isinstance(self.to, str) else getattr(self.to, "__name__", None)
        if name not in _TYPES:
            raise UsageError(
                f"cast leads to float, int, str or bool, not to {shown_value(self.to)}"
            )
        object.__setattr__(self, "to", name)

    def build(self, space: Space) -> Transformation:
        """Return the cast of a column."""
        domain = space.domain
        if not isinstance(domain, Vector) or not isinstance(domain.element, (Number, Category)):
            raise self.mismatch(space, f"works on a column, not on {domain}")
        target = element(_TYPES[str(self.to)])
        present = domain.element.present
        readers = {"float": _to_float, "int": _to_float, "str": _to_text, "bool": _to_bool}
        reader = readers[str(self.to)]
        output = Vector(target, size=domain.size)

        def cast(column: Any) -> Any:
            listed = column.tolist() if hasattr(column, "tolist") else column
            if self.to == "int":
                integers = [v if type(v) is int else reader(v) for v in map(present, listed)]
                return output.read(integers)
            return output.read([reader(v) for v in map(present, listed)])

        return row_by_row(self, space, Space(output, space.metric), cast)


def _to_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        return math.nan


def _to_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None or value != value else str(value)


def _to_bool(value: Any) -> bool:
    if isinstance(value, str) and value.strip().lower() in _TRUE:
        return True
    number = _to_float(value)
    return not math.isnan(number) and number != 0


@register
@dataclass(frozen=True)
class Clamp(Step):
    """Clamp numbers to [lower, upper].

    **Map.** ``d -> d`` under every metric on records: a record is clamped without looking at the
    others, so records that were equal stay equal, and no change of one touches another.
    The bounds must be public: bounds read off the data would move with one person.

    Missing values (NaN) stay missing; infinities are clamped.

    Args:
        lower, upper: the public bounds, in the unit of the column.

    Raises:
        UsageError: bounds that are not numbers, infinite, or reversed.

    Example:
        >>> from tacit.core import SymmetricDistance
        >>> chain = Space(Vector(float), SymmetricDistance()) >> Clamp(0, 12)
        >>> chain([3.5, 99]).tolist(), chain.map(1)
        ([3.5, 12.0], Fraction(1, 1))
    """

    lower: NumberLike
    upper: NumberLike

    name: ClassVar[str] = "clamp"

    def __post_init__(self) -> None:
        object.__setattr__(self, "lower", as_fraction(self.lower, "lower bound"))
        object.__setattr__(self, "upper", as_fraction(self.upper, "upper bound"))
        Number("float", self.lower, self.upper)  # type: ignore[arg-type]

    def build(self, space: Space) -> Transformation:
        """Return the clamp on a column of numbers."""
        domain = space.domain
        if not isinstance(domain, Vector) or not isinstance(domain.element, Number):
            raise self.mismatch(
                space,
                f"works on a column of numbers, not on {domain}; start from "
                "Vector(float) or Vector(int), or select a column first",
            )
        inside = replace(
            domain.element, lower=as_fraction(self.lower), upper=as_fraction(self.upper)
        )
        output = Space(Vector(inside, size=domain.size), space.metric)
        ends = (inside.lower, inside.upper)
        # members of the new domain that are members of the old one are left as they are
        ends_fit = all(domain.element.contains(end) for end in ends)
        return row_by_row(self, space, output, inside.read_many, onto=ends_fit)


@register
@dataclass(frozen=True)
class Impute(Step):
    """Replace missing numbers (NaN) by a public constant.

    **Map.** ``d -> d`` under every metric on records: each record is treated alone.

    Args:
        value: the constant, in the unit of the column.

    Example:
        >>> from tacit.core import SymmetricDistance
        >>> chain = Space(Vector(float), SymmetricDistance()) >> Impute(5)
        >>> chain([1.0, float("nan")]).tolist()
        [1.0, 5.0]
    """

    value: NumberLike

    name: ClassVar[str] = "impute"

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", as_fraction(self.value, "the imputed value"))

    def build(self, space: Space) -> Transformation:
        """Return the imputation on a column of floats.

        Raises:
            UsageError: the constant is outside the column's bounds.
        """
        filled = replace(column_of_numbers(space, self), nullable=False)
        constant = as_fraction(self.value)
        if not filled.contains(constant):
            raise UsageError(f"the imputed value {show(constant)} is not in the domain: {filled}")

        def fill(column: Any) -> Any:
            return np.where(np.isnan(column), float(constant), column)

        output = Vector(filled, size=space.domain.size)  # type: ignore[attr-defined]
        return row_by_row(self, space, Space(output, space.metric), fill)


@register
@dataclass(frozen=True)
class Select(Step):
    """Take one column out of a table in memory.

    **Map.** ``d -> d`` under every metric on records: each row becomes one value, without a look at
    the others.

    Args:
        column: the name of the column.

    Raises:
        UsageError: a name that is not text.

    Example:
        >>> from tacit.core import SymmetricDistance
        >>> table = Space(Frame({"age": int, "site": str}), SymmetricDistance())
        >>> (table >> Select("age"))({"age": [31, 45], "site": ["a", "b"]}).tolist()
        [31, 45]
    """

    column: str

    name: ClassVar[str] = "select"

    def __post_init__(self) -> None:
        if not isinstance(self.column, str):
            raise UsageError(f"a column is named by text, not by {shown_value(self.column)}")

    def build(self, space: Space) -> Transformation:
        """Return the selection from a table in memory that has the column."""
        domain = space.domain
        if not isinstance(domain, Frame):
            raise self.mismatch(space, f"works on a Frame, not on {domain}")
        if self.column not in domain.names:
            raise MismatchError(
                f"no column {self.column!r} in {domain}; {did_you_mean(self.column, domain.names)}",
                space,
                self,
            )
        output = Space(domain.column(self.column), space.metric)
        return row_by_row(self, space, output, lambda data: data[self.column])


@register
@dataclass(frozen=True)
class Filter(Step):
    """Keep the records for which a Python function is true.

    Args:
        predicate: a function of one value of a column, or of one row of a table (a dict); it must
            depend on nothing else.  Where it raises, the record is left out.

    **Map.** Each record is kept or not on its own, so equal records share their fate: ``d -> d``
    under the symmetric and insert-delete distance.  How many are kept is private from here on, so
    the metrics of a public size do not apply any more: from change-one to symmetric distance, and
    from Hamming to insert-delete, ``d -> 2 d`` (a record that changes may go and another come).

    Raises:
        UsageError: a predicate that cannot be called.

    Example:
        >>> from tacit.core import Vector
        >>> adults = Space(Vector(int), SymmetricDistance()) >> Filter(lambda age: age >= 18)
        >>> adults([15, 20, 40]).tolist(), adults.map(2)
        ([20, 40], Fraction(2, 1))
    """

    predicate: Callable[..., object]

    name: ClassVar[str] = "keep_where"

    def __post_init__(self) -> None:
        if not callable(self.predicate):
            raise UsageError(
                "filter takes a function of one record, such as lambda age: age >= 18; a chain "
                "with a function of yours cannot be rebuilt from a certificate"
            )

    def build(self, space: Space) -> Transformation:
        """Return the filter on a column or a table."""
        domain = records_of(space, self)
        metric, factor = _unsized(space.metric)
        holds = total(lambda record: bool(self.predicate(record)), default=False)
        sizes: Any = {"size": None, "bounds": None} if hasattr(domain, "bounds") else {"size": None}
        return Transformation(
            space,
            Space(replace(domain, **sizes), metric),
            lambda data: keep_records(data, [holds(r) for r in records(domain, data)]),
            lambda d: d * factor,
            step=self,
        )


def _unsized(metric: Metric) -> tuple[Metric, Fraction]:
    if isinstance(metric, ChangeOneDistance):
        return SymmetricDistance(), Fraction(2)
    if isinstance(metric, HammingDistance):
        return InsertDeleteDistance(), Fraction(2)
    return metric, Fraction(1)


@register
@dataclass(frozen=True)
class MapRows(Step):
    """Apply a Python function to each record; the answers are one column.

    Args:
        function: a function of one value of a column, or of one row of a table (a dict).  It must
            depend on nothing else: no memory of other records, no randomness.
        output: the domain of its answers: ``float``, ``int``, ``str``, ``bool``, a
            :class:`~tacit.core.Number` or a :class:`~tacit.core.Category`.
        default: the member that is used where the function raises, or where its answer is not a
            member.

    **Map.** ``d -> d`` under every metric on records: equal records have equal answers.

    Raises:
        UsageError: a function that cannot be called, a default outside the output domain.

    Example:
        >>> from tacit.core import SymmetricDistance
        >>> column = Space(Vector(int), SymmetricDistance())
        >>> decades = column >> MapRows(lambda age: age // 10, Number("int", 0, 9), default=0)
        >>> decades([34, 120]).tolist(), decades.map(1)
        ([3, 0], Fraction(1, 1))
    """

    function: Callable[..., object]
    output: Domain
    default: object

    if TYPE_CHECKING:

        def __init__(
            self, function: Callable[..., object], output: Domain | type, default: object
        ) -> None: ...

    name: ClassVar[str] = "map_rows"

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise UsageError(
                "map_rows takes a function of one record; a chain with a function of yours cannot "
                "be rebuilt from a certificate"
            )
        object.__setattr__(self, "output", element(self.output))
        if not isinstance(self.output, (Number, Category)):
            raise UsageError(f"map_rows leads to numbers or labels, not to {self.output}")
        if not self.output.contains(self.default):
            raise UsageError(f"the default of map_rows is not in its output domain: {self.output}")

    def build(self, space: Space) -> Transformation:
        """Return the map on a column or a table."""
        domain = records_of(space, self)
        answers = Vector(self.output, size=domain.size)
        member = total(self._member, default=self.default)

        def apply(data: Any) -> Any:
            return answers.read([member(record) for record in records(domain, data)])

        return row_by_row(self, space, Space(answers, space.metric), apply)

    def _member(self, record: Any) -> Any:
        answer = self.function(record)
        return answer if self.output.contains(answer) else self.default


# **Why clamping is safe.**  A record is clamped without a look at the others, so two data sets that
# differ in ``k`` records differ in at most ``k`` after clamping: no privacy is spent.  What it buys
# is a finite sensitivity.  The bounds have to be public; bounds read off the data reveal something
# of the extreme records.
#
# **What it costs.**  Bias: everything beyond a bound is pulled to it, so means, sums and variances
# of skewed columns shrink.  Narrow bounds need little noise and give much bias, wide ones the
# reverse.
#
# **Why the count is not for private data.**  How many values a policy changes is itself an exact
# statistic of the column, and can single a person out.  So it is shown for synthetic or public data
# only, and the caller has to say that the data are; to clamp private data, chain
# :class:`tacit.transformations.rows.Clamp`, which says nothing.


@dataclass(frozen=True)
class TopCoded:
    """A column in bounds, and what changed.

    Attributes:
        values: the clamped column, in its own order; missing values (NaN) stay missing.
        lower: the lower bound.
        upper: the upper bound.
        below: how many values were raised to ``lower``.
        above: how many values were lowered to ``upper``.
        missing: how many values are missing.
        shift: how far the mean of the values that are there moved (nan without any, or where an
            infinite value was clamped).
    """

    values: NDArray[np.float64 | np.int64] = field(repr=False)
    lower: Fraction
    upper: Fraction
    below: int
    above: int
    missing: int
    shift: float

    @property
    def changed(self) -> int:
        """The number of changed values."""
        return self.below + self.above

    def __str__(self) -> str:
        total = len(self.values)
        share = f" ({self.changed / total:.2%})" if total else ""
        return (
            f"{self.changed} of {total} values{share} would change: {self.below} below "
            f"{show(self.lower)}, {self.above} above {show(self.upper)}; "
            f"the mean moves by {self.shift:.6g}"
        )


@public
def top_code(
    values: Iterable[object], lower: NumberLike, upper: NumberLike, *, data_are_public: bool = False
) -> TopCoded:
    """Clamp a public or synthetic column, and count what the policy changes.

    Args:
        values: one column of numbers: an array, a series or a list.
        lower: the smallest value to keep.
        upper: the largest value to keep, above ``lower``.
        data_are_public: say ``True`` if the column is public or synthetic; the counts must not be
            shown for private data.

    Raises:
        UsageError: private data, a column that is not numbers or has more than one axis, bounds
            that are not numbers or out of order.

    >>> print(top_code([-3, 20, 31, 40, 250], 0, 99, data_are_public=True))
    2 of 5 values (40.00%) would change: 1 below 0, 1 above 99; the mean moves by -29.6
    """
    if data_are_public is not True:
        raise UsageError(
            "how many values a policy changes is an exact count, so it is shown for public or "
            "synthetic data only: pass data_are_public=True if they are; to clamp private data, "
            "chain clamp(lower, upper), which counts nothing"
        )
    low, high = as_fraction(lower, "lower bound"), as_fraction(upper, "upper bound")
    if low >= high:
        raise UsageError(f"lower must be below upper, but {show(low)} >= {show(high)}")
    column = _column(values)
    low_float, high_float = float_up(low), float_down(high)  # the outermost floats that are inside
    below, above = column < low_float, column > high_float
    coded = np.clip(column, low_float, high_float)
    there = ~np.isnan(column)
    with np.errstate(invalid="ignore"):
        moved = (coded - column)[there]
    shift = float(moved.mean()) if moved.size and np.isfinite(moved).all() else float("nan")
    return TopCoded(
        coded, low, high, int(below.sum()), int(above.sum()), int((~there).sum()), shift
    )


def _column(values: Iterable[Any]) -> NDArray[np.float64]:
    try:
        array = np.asarray(values if hasattr(values, "__array__") else list(values))
        if array.dtype.kind in "mMUSV":
            raise TypeError
        column = array.astype(np.float64)
    except (TypeError, ValueError):
        raise UsageError("values must be one column of numbers") from None
    if column.ndim != 1:
        raise UsageError(f"values must be one column, not an array of {column.ndim} axes")
    return column
