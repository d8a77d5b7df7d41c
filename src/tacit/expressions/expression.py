"""Expressions as a user writes them."""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NoReturn, Self

from tacit.arithmetic.exact import Number, as_fraction, show
from tacit.calls import instead, public
from tacit.errors import UsageError, said
from tacit.expressions import operations
from tacit.expressions.dialect import Dialect, bin_names, is_date
from tacit.expressions.functions import FAR, FUNCTIONS, Node, from_plain, offsets_of
from tacit.expressions.operations import as_asked
from tacit.expressions.schema import Schema

__all__ = [
    "Expression",
    "RowMethods",
    "col",
    "from_json",
    "literal",
    "when",
]

# The functions of a row as methods of an expression: how they are written in Python.


@public
@instead(round="Two decimals are (tc.col('age') * 100).round() / 100")
class RowMethods(Node):
    """Text, dates and times, whole numbers.

    The examples are of columns that a table declares; a column of a CSV file that nobody declared
    is read as each function needs it.
    """

    def _apply(self, name: str, *parameters: Any, beside: tuple[Node, ...] = ()) -> Self:
        FUNCTIONS[name].check(name, parameters)
        return type(self)(name, (self, *beside), parameters)

    # ---- text

    def lower(self) -> Self:
        """Text with A to Z in lower case, other letters as they are: its first 2^20 characters."""
        return self._apply("lower")

    def upper(self) -> Self:
        """Text with a to z made capital, other letters as they are: its first 2^20 characters.

        >>> from tacit.expressions.expression import col
        >>> col("city").upper().evaluate({"city": "Zürich"})
        'ZüRICH'
        """
        return self._apply("upper")

    def strip(self) -> Self:
        """Text without the spaces before and behind it: of its first 2^20 characters.

        Only the space itself (U+0020) is left out.

        >>> from tacit.expressions.expression import col
        >>> col("city").strip().evaluate({"city": "  New York "})
        'New York'
        """
        return self._apply("strip")

    def substring(self, start: int, length: int) -> Self:
        """Return ``length`` characters of a text from the place ``start``, counted from 1.

        A text that ends before that gives what is there.

        >>> from tacit.expressions.expression import col
        >>> col("code").substring(2, 3).evaluate({"code": "AB"})
        'B'
        """
        return self._apply("substring", start, length)

    def length(self) -> Self:
        """How many characters (code points) a text has."""
        return self._apply("length")

    def ends_with(self, end: str) -> Self:
        """True where the text ends with ``end``, of at most 100 characters."""
        return self._apply("ends_with", end)

    def contains(self, part: str) -> Self:
        """True where ``part``, of at most 100 characters, stands in the text.

        >>> from tacit.expressions.expression import col
        >>> col("note").contains("50%").evaluate({"note": "a discount of 50%"})
        True
        """
        return self._apply("contains", part)

    def like(self, pattern: str) -> Self:
        """True where the whole text fits a pattern, as ``LIKE`` of SQL has it.

        ``%`` stands for any characters, also none, and ``_`` for any one; everything else for
        itself, a backslash too.  The pattern has at most 100 characters, and the first 2^20 of a
        text are looked at.

        >>> from tacit.expressions.expression import col
        >>> col("type").like("%BRASS").evaluate({"type": "LARGE PLATED BRASS"})
        True
        """
        return self._apply("like", pattern)

    # ---- dates and times

    def year(self) -> Self:
        """The year of a date."""
        return self._apply("year")

    def month(self) -> Self:
        """The month of a date, 1 to 12."""
        return self._apply("month")

    def day(self) -> Self:
        """The day of the month of a date, 1 to 31."""
        return self._apply("day")

    def weekday(self) -> Self:
        """The day of the week of a date, from 1 for Monday to 7 for Sunday (ISO 8601).

        >>> import datetime
        >>> from tacit.expressions.expression import col
        >>> col("day").weekday().evaluate({"day": datetime.date(2024, 12, 31)})
        2
        """
        return self._apply("weekday")

    def quarter(self) -> Self:
        """The quarter of the year of a date, 1 to 4."""
        return self._apply("quarter")

    def day_of_year(self) -> Self:
        """The day of the year of a date, 1 to 366."""
        return self._apply("day_of_year")

    def hour(self) -> Self:
        """The hour of a column of times, 0 to 23: in UTC where they have a zone.

        >>> import datetime
        >>> from tacit.expressions.expression import col
        >>> col("at").hour().evaluate({"at": datetime.datetime(2024, 12, 31, 18, 30)})
        18
        """
        return self._apply("hour")

    def minute(self) -> Self:
        """The minute of a column of times, 0 to 59."""
        return self._apply("minute")

    def second(self) -> Self:
        """The second of a column of times, 0 to 59; parts of a second are left out."""
        return self._apply("second")

    def date(self) -> Self:
        """The date of a column of times, or of a local time that :meth:`in_zone` gives."""
        return self._apply("date")

    def in_zone(self, zone: str) -> Self:
        """The local time of a column of times, which are those of UTC: for ``hour``, ``date``, ...

        A column that holds local times already, without a zone, needs this not.  From the year 2050
        on it is missing.  By itself it is whole seconds.

        Args:
            zone: its name, such as ``"Europe/Berlin"``.

        Raises:
            UsageError: no such zone.

        >>> import datetime
        >>> from tacit.expressions.expression import col
        >>> row = {"at": datetime.datetime(2024, 7, 7, 23, 30)}  # a Sunday
        >>> local = col("at").in_zone("Europe/Berlin")
        >>> local.hour().evaluate(row), local.date().weekday().evaluate(row)
        (1, 1)
        """
        return self._apply("in_zone", zone, offsets_of(zone))

    def days_until(self, end: object) -> Self:
        """How many days a date lies before another one; below zero where it lies behind it.

        Args:
            end: a date, or an expression that is one.

        >>> import datetime
        >>> from tacit.expressions.expression import col
        >>> row = {"came": datetime.date(2024, 2, 28), "left": datetime.date(2024, 3, 1)}
        >>> col("came").days_until(col("left")).evaluate(row)
        2
        >>> col("came").days_until("2024-01-01").evaluate(row)
        -58
        """
        return self._apply("days_until", beside=(self._day(end),))

    def seconds_until(self, end: Node) -> Self:
        """How many seconds a column of times lies before another one.

        >>> import datetime
        >>> from tacit.expressions.expression import col
        >>> row = {"a": datetime.datetime(2024, 1, 1, 23), "b": datetime.datetime(2024, 1, 2, 0, 5)}
        >>> col("a").seconds_until(col("b")).evaluate(row)
        3900
        """
        if not isinstance(end, Node):
            raise UsageError('seconds_until takes a column of times: tc.col("end")')
        return self._apply("seconds_until", beside=(end,))

    def _day(self, value: object) -> Node:
        if isinstance(value, str) and is_date(value):
            value = datetime.date.fromisoformat(value)
        if isinstance(value, Node):
            return value
        if not isinstance(value, datetime.date) or isinstance(value, datetime.datetime):
            raise UsageError(
                f"{said(value)} is neither a date such as '2024-12-31' nor a column of dates"
            )
        return type(self)("literal", (), (value,))

    # ---- numbers

    def floor(self) -> Self:
        """The greatest whole number that is not above a number, as a double."""
        return self._apply("floor")

    def ceil(self) -> Self:
        """The least whole number that is not below a number, as a double."""
        return self._apply("ceil")

    def round(self) -> Self:
        """The whole number nearest to a number, as a double; of a half the one farther from zero.

        >>> from tacit.expressions.expression import col
        >>> [col("x").round().evaluate({"x": x}) for x in (2.5, -2.5, 0.49999999999999994)]
        [3.0, -3.0, 0.0]
        """
        return self._apply("round")

    def to_integer(self) -> Self:
        """A number without what stands behind its point; missing from 2^53 on, in size.

        It can be a group: ``with_column("decade", (tc.col("age") / 10).to_integer())``.

        >>> from tacit.expressions.expression import col
        >>> (col("age") / 10).to_integer().evaluate({"age": 39})
        3
        """
        return self._apply("to_integer")

    def modulo(self, by: int) -> Self:
        """The rest of a whole number when divided by a public one, 0 to ``by`` - 1.

        >>> from tacit.expressions.expression import col
        >>> [col("n").modulo(7).evaluate({"n": n}) for n in (9, -1)]
        [2, 6]
        """
        return self._apply("modulo", by)

    def to_text(self) -> Self:
        """The digits of a whole number; ``true`` or ``false``; a text as it is.

        A number with a fraction has no text that is the same everywhere: round it first.

        >>> from tacit.expressions.expression import col
        >>> col("site").to_text().evaluate({"site": 12})
        '12'
        """
        return self._apply("to_text")

    # ---- what text says

    def read_number(self) -> Self:
        """The number that a text is, such as ``12`` or ``-0.5e3``; missing where it is none.

        At most 30 digits before the point and 30 behind it, and an exponent from -249 to 249;
        a column that nobody declared is read so by itself where a number is needed.

        >>> from tacit.expressions.expression import col
        >>> col("age").read_number().evaluate({"age": " 31.5 "})
        31.5
        """
        return type(self)("read_number", (self,))

    def read_date(self) -> Self:
        """The date that a text begins with, such as ``2024-12-31``; missing where it is none.

        >>> from tacit.expressions.expression import col
        >>> print(col("day").read_date().evaluate({"day": "2024-02-29 18:30"}))
        2024-02-29
        """
        return type(self)("read_date", (self,))

    def read_time(self) -> Self:
        """The time that a text is, such as ``2024-12-31 18:30``; missing where it is none.

        By itself it is the whole seconds since 1970; ``hour`` and its like take it as a time.

        >>> from tacit.expressions.expression import col
        >>> col("at").read_time().hour().evaluate({"at": "2024-02-29 18:30"})
        18
        """
        return type(self)("read_seconds", (self,))

    def read_boolean(self) -> Self:
        """Whether a text is true, t, yes, y or 1; or false, f, no, n or 0; else missing.

        >>> from tacit.expressions.expression import col
        >>> col("smokes").read_boolean().evaluate({"smokes": "No"})
        False
        """
        return type(self)("read_boolean", (self,))


# Filters and derived columns: a small language in which nothing can fail on a value.
#
# Every expression is *total*: on every row it has a value or is missing, on every engine alike.
#
# - Two-valued logic: a comparison with a missing value is false, so ``~(a < 3)`` keeps the rows
#   where ``a`` is missing.  NaN counts as missing.
# - Arithmetic is done in doubles on operands clipped to +-2^500, so that nothing overflows.  In a
#   product or a quotient a number below 2^-500 in size counts as zero, so that nothing vanishes; a
#   quotient by zero is missing.  Whole numbers above 2^53 are exact in comparisons with whole
#   numbers and in sums, not in arithmetic.
# - A decimal is the double nearest to it, whatever its digits; but two columns of one type of
#   decimals are compared exactly.
# - Text is compared for equality only (an order would depend on the engine's collation), and
#   ``lower`` changes A to Z alone, in the first 2^20 characters, which are all that it gives.
# - A column of dates with times is read as its dates, but by ``hour`` and its like; a date outside
#   the years 1 to 9999 has no year and no month.
# - Functions of one row (text, dates, whole numbers) stand in :mod:`tacit.expressions.functions`.
#
# What does not fit (text against a number, an unknown column) is refused on names and kinds alone,
# when the expression meets a table.  An expression renders itself as SQL, evaluates itself in
# Python (the reference for every engine), and describes itself as JSON.


_MISSING = "missing values are those where tc.col('age').is_null() is true"
_PRESENT = "values that are there: ~tc.col('age').is_null()"
_CAST = "cast with read_number(), read_date(), to_integer() or to_text()"
_STRINGS = "text has contains, starts_with, ends_with, like, lower, upper, strip, substring, length"
_CHOOSE = "write tc.when(tc.col('site') == 1).then('a').otherwise('b')"
_NOT_COMPUTED = "it is not computed: + - * /, abs, floor, ceil, round, modulo, clamp and cut are"
_STATISTIC = "a statistic is asked for by name: session.agg(age=tc.mean('age', 0, 100))"


@public
@instead(
    isin="it is called is_in(['a', 'b'])",
    startswith="it is called starts_with('a')",
    endswith="it is called ends_with('a')",
    clip="it is called clamp(0, 100)",
    len="it is called length()",
    dt="parts of dates are methods: year(), month(), day(), weekday(), hour()",
    name="a column that is computed gets its name in with_column('name', ...)",
    alias="a column that is computed gets its name in with_column('name', ...)",
    **dict.fromkeys(("isna", "isnull", "is_na", "is_nan", "isnan", "is_missing"), _MISSING),
    **dict.fromkeys(("notna", "notnull", "is_not_null", "is_not_na", "dropna"), _PRESENT),
    **dict.fromkeys(("fillna", "fill_null", "fill_nan", "coalesce"), "it is called fill(0)"),
    **dict.fromkeys(("astype", "cast", "to_numeric", "as_type"), _CAST),
    **dict.fromkeys(("str", "split", "replace", "title", "match", "extract"), _STRINGS),
    **dict.fromkeys(("map", "apply", "where", "mask", "case_when", "recode"), _CHOOSE),
    **dict.fromkeys(("log", "exp", "sqrt", "pow", "log10", "log1p"), _NOT_COMPUTED),
    **dict.fromkeys(("mean", "sum", "min", "max", "median", "std", "var"), _STATISTIC),
    **dict.fromkeys(("count", "unique", "nunique", "value_counts", "quantile"), _STATISTIC),
)
@dataclass(frozen=True, eq=False, repr=False)
class Expression(RowMethods):
    """A node, as it is written in Python.

    Made by :func:`col`, :func:`literal`, :func:`when` and the methods and operators below; compare
    two of them by :meth:`to_json`, since ``==`` builds an expression.

    >>> adult = (col("age") >= 18) & ~col("sex").is_null()
    >>> print(adult)
    ((age >= 18) & ~(sex is missing))
    >>> adult.evaluate({"age": 20, "sex": "f"}), adult.evaluate({"age": None, "sex": "f"})
    (True, False)
    """

    # ---- comparisons and logic

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]
        return self._compared("==", other)

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]
        return self._compared("!=", other)

    def __lt__(self, other: object) -> Expression:
        return self._compared("<", other)

    def __le__(self, other: object) -> Expression:
        return self._compared("<=", other)

    def __gt__(self, other: object) -> Expression:
        return self._compared(">", other)

    def __ge__(self, other: object) -> Expression:
        return self._compared(">=", other)

    def _compared(self, operation: str, other: object) -> Expression:
        if other is None:
            raise UsageError(
                "no value can be compared with None: tc.col('age').is_null() is true where a "
                "value is missing, and ~tc.col('age').is_null() where it is present"
            )
        return Expression(operation, (self, literal(other)))

    __hash__ = object.__hash__

    def __and__(self, other: object) -> Expression:
        return Expression("&", (self, literal(other)))

    def __or__(self, other: object) -> Expression:
        return Expression("|", (self, literal(other)))

    def __rand__(self, other: object) -> NoReturn:
        raise UsageError(
            f"& and | bind closer than a comparison, and here meet a {type(other).__name__}: put "
            'each condition in brackets, as in (tc.col("age") >= 18) & (tc.col("age") < 65)'
        )

    __ror__ = __rand__

    def __invert__(self) -> Expression:
        return Expression("~", (self,))

    def __pow__(self, other: object) -> NoReturn:
        raise UsageError(f"powers are not computed: write {self} * {self}")

    def __floordiv__(self, other: object) -> NoReturn:
        raise UsageError(f"// is written ({self} / {other}).floor()")

    def __mod__(self, other: object) -> NoReturn:
        raise UsageError(f"% is written ({self}).modulo({other}), of whole numbers")

    def __round__(self, digits: int | None = None) -> NoReturn:
        raise UsageError(
            f"round is a method: ({self}).round() gives whole numbers, and "
            f"({self} * 100).round() / 100 two decimals"
        )

    def __bool__(self) -> bool:
        raise UsageError("an expression has no truth value; join conditions with &, | and ~")

    def is_null(self) -> Expression:
        """True where the value is missing."""
        return Expression("is_null", (self,))

    def is_in(self, values: Iterable[object]) -> Expression:
        """True where the value is one of the given; none of them may be None."""
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise UsageError(f"is_in takes a list of values: is_in([{said(values)}])")
        return Expression("is_in", (self, *(literal(v) for v in values)))

    def between(self, lower: object, upper: object) -> Expression:
        """True where lower <= value <= upper."""
        return (self >= lower) & (self <= upper)

    # ---- numbers

    def __add__(self, other: object) -> Expression:
        return Expression("+", (self, literal(other)))

    def __radd__(self, other: object) -> Expression:
        return Expression("+", (literal(other), self))

    def __sub__(self, other: object) -> Expression:
        return Expression("-", (self, literal(other)))

    def __rsub__(self, other: object) -> Expression:
        return Expression("-", (literal(other), self))

    def __mul__(self, other: object) -> Expression:
        return Expression("*", (self, literal(other)))

    def __rmul__(self, other: object) -> Expression:
        return Expression("*", (literal(other), self))

    def __truediv__(self, other: object) -> Expression:
        return Expression("/", (self, literal(other)))

    def __rtruediv__(self, other: object) -> Expression:
        return Expression("/", (literal(other), self))

    def __neg__(self) -> Expression:
        return Expression("-", (literal(0), self))

    def __pos__(self) -> Expression:
        return Expression("+", (literal(0), self))

    def __abs__(self) -> Expression:
        return Expression("abs", (self,))

    def clamp(self, lower: Number, upper: Number) -> Expression:
        """The value held within public bounds, as a double; missing stays missing."""
        low, high = as_fraction(lower, "lower bound"), as_fraction(upper, "upper bound")
        if low > high or max(abs(low), abs(high)) > Fraction(FAR):
            raise UsageError(
                f"cannot clamp to {show(low)} and {show(high)}: reversed or too far from zero"
            )
        return Expression("clamp", (self,), (float(low), float(high)))

    def cut(self, edges: Sequence[Number], labels: Sequence[str] | None = None) -> Expression:
        """Label numbers by bins [e0, e1), [e1, e2), ...; the last bin holds its upper edge.

        Numbers outside the edges are missing.  Labels default to the bins' own names.

        >>> col("age").cut([0, 18, 65], ["minor", "adult"]).evaluate({"age": 18})
        'adult'
        """
        if isinstance(edges, str) or not hasattr(edges, "__iter__"):
            raise UsageError("cut takes the edges of the bins, which are public: cut([0, 18, 65])")
        marks = [as_fraction(e, "edge") for e in edges]
        if len(marks) < 2 or any(a >= b for a, b in itertools.pairwise(marks)):
            raise UsageError("cut needs at least two edges, each above the one before")
        if max(abs(m) for m in marks) > Fraction(FAR):
            raise UsageError("an edge is too far from zero: at most 2^500")
        names = bin_names(marks) if labels is None else list(labels)
        if len(names) != len(marks) - 1 or not all(isinstance(n, str) for n in names):
            raise UsageError(f"{len(marks)} edges need {len(marks) - 1} labels, each of them text")
        return Expression("cut", (self,), (tuple(float(m) for m in marks), tuple(names)))

    # ---- text (and see RowMethods)

    def starts_with(self, prefix: str) -> Expression:
        """True where the text begins with ``prefix``."""
        return Expression("starts_with", (self, literal(prefix)))

    # ---- choice

    def fill(self, value: object) -> Expression:
        """The value, or a public default where it is missing."""
        return Expression("fill", (self, literal(value)))

    # ---- what it is

    def kind(self, schema: Schema) -> str:
        """Return the kind of the value, checking every operand (:mod:`tacit.expressions.schema`).

        Raises:
            UsageError: an unknown column, or kinds that do not fit together.
        """
        return operations.kind(as_asked(self, schema), schema)

    def sql(self, schema: Schema, dialect: Dialect) -> str:
        """Return the SQL of the value on one row, every operand checked."""
        asked = as_asked(self, schema)
        operations.kind(asked, schema)
        return operations.render(asked, schema, dialect)

    def evaluate(self, row: Mapping[str, object]) -> object:
        """Return the value on one row, in Python: the reference for every engine.

        A column that is undeclared has its readings written down first (see ``read_number``).
        """
        return operations.evaluate(self, row)


@public
def col(name: str) -> Expression:
    """Return the column of this name, as an expression.

    Args:
        name: of a column of the table, or of a derived one.

    >>> print(col("age").clamp(0, 100) / 2)
    (clamp(age, 0.0, 100.0) / 2)
    """
    if not isinstance(name, str):
        raise UsageError(f"a column is named by text, not {said(name)}")
    return Expression("col", (), (name,))


def literal(value: object) -> Expression:
    """Return a public constant (number, text, bool, date, None); an expression stays as it is."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, (Fraction, Decimal)):
        value = float(value) if as_fraction(value).denominator != 1 else int(value)
    if isinstance(value, datetime.datetime) or (isinstance(value, float) and math.isnan(value)):
        raise UsageError(
            f"{value!r} cannot be used in an expression; give a date, or use is_null()"
        )
    if value is not None and not isinstance(value, (bool, int, float, str, datetime.date)):
        item: Callable[[], object] | None = getattr(value, "item", None)  # numpy scalars
        if item is None:
            raise UsageError(f"a {type(value).__name__} cannot be used in an expression")
        return literal(item())
    if isinstance(value, int) and abs(value) >= 1 << 126:
        raise UsageError(f"the whole number {value} is too large: at most 126 bits are exact")
    if isinstance(value, str) and "\0" in value:
        raise UsageError("text in an expression cannot hold the character NUL")
    return Expression("literal", (), (value,))


@public
@dataclass(frozen=True)
class When:
    """A condition and its value; finish it with :meth:`otherwise`."""

    condition: Expression
    value: Expression | None = None

    def then(self, value: object) -> When:
        """The value where the condition holds."""
        return When(self.condition, literal(value))

    def otherwise(self, value: object) -> Expression:
        """The value where it does not."""
        if self.value is None:
            raise UsageError("write when(condition).then(value).otherwise(value)")
        return Expression("when", (self.condition, self.value, literal(value)))


@public
def when(condition: Expression) -> When:
    """Start a conditional expression: one value where a condition holds, else another.

    Args:
        condition: a condition on a row.

    >>> pay = when(col("hours") > 0).then(col("pay") / col("hours")).otherwise(0.0)
    >>> pay.evaluate({"hours": 0, "pay": 5.0}), pay.evaluate({"hours": 2, "pay": 5.0})
    (0.0, 2.5)
    """
    return When(literal(condition))


def from_json(description: Sequence[Any]) -> Expression:
    """Return the expression that :meth:`Expression.to_json` described.

    >>> str(from_json((col("age") < 3).to_json()))
    '(age < 3)'
    """
    try:
        operation, operands, parameters = description
        built = Expression(
            str(operation),
            tuple(from_json(o) for o in operands),
            tuple(from_plain(p) for p in parameters),
        )
    except UsageError:  # which is a ValueError too
        raise
    except (TypeError, ValueError, KeyError, OverflowError):
        raise UsageError("this is not the description of an expression") from None
    operations.known(built)
    return built
