"""Expressions as a user writes them."""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NoReturn

from tacit.arithmetic.exact import Number, as_fraction, show
from tacit.calls import instead, public
from tacit.errors import UsageError, shown_value
from tacit.expressions import operations
from tacit.expressions.dialect import Dialect, bin_names, is_date
from tacit.expressions.functions import FAR, FUNCTIONS, LONGEST, Node, from_plain, offsets_of
from tacit.expressions.operations import with_readings
from tacit.expressions.schema import Schema

# The functions of a row, in two namespaces as Polars has them.
#
# What each is called in descriptions (JSON, keys of the ledger, conditions of the command line) is
# the name of its operation; the names of methods are those of Polars.


class _Namespace:
    """Functions of the values of one expression."""

    def __init__(self, value: Expression) -> None:
        self._value = value

    def _apply(self, name: str, *parameters: Any, beside: tuple[Node, ...] = ()) -> Expression:
        return _applied(name, self._value, *parameters, beside=beside)


_FORMAT = "a text is read as ISO 8601 writes it, such as '2024-12-31 18:30': leave format out"


@public
@instead(
    **dict.fromkeys(("lower", "casefold"), "it is called str.to_lowercase()"),
    upper="it is called str.to_uppercase()",
    **dict.fromkeys(("strip", "trim"), "it is called str.strip_chars()"),
    **dict.fromkeys(("len", "length", "len_bytes"), "it is called str.len_chars()"),
    startswith="it is called str.starts_with('a')",
    endswith="it is called str.ends_with('a')",
    **dict.fromkeys(("substring", "substr", "head"), "it is called str.slice(0, 3)"),
    **dict.fromkeys(("match", "fullmatch", "find"), "patterns are those of SQL: str.like('a%')"),
    **dict.fromkeys(("to_integer", "to_decimal"), "numbers are read by cast(float)"),
    **dict.fromkeys(("strptime", "to_time"), "it is called str.to_date() or str.to_datetime()"),
)
class TextMethods(_Namespace):
    """Functions of text, by its characters (code points): ``tc.col("city").str``.

    Example:
        >>> import tacit as tc
        >>> tc.col("city").str.to_uppercase().evaluate({"city": "Zürich"})
        'ZüRICH'
    """

    def to_lowercase(self) -> Expression:
        """Text with A to Z in lower case, other letters as they are: its first 2^20 characters."""
        return self._apply("lower")

    def to_uppercase(self) -> Expression:
        """Text with a to z in upper case, other letters as they are: its first 2^20 characters."""
        return self._apply("upper")

    def strip_chars(self) -> Expression:
        """Text without spaces at both ends: of its first 2^20 characters.

        Only the space itself (U+0020) is removed.

        >>> from tacit.expressions.expression import col
        >>> col("city").str.strip_chars().evaluate({"city": "  New York "})
        'New York'
        """
        return self._apply("strip")

    def slice(self, offset: int, length: int = LONGEST) -> Expression:
        """Return a part of a text; one that ends before that gives what is there.

        Args:
            offset: how many characters come before it: 0 for the beginning.
            length: how many characters it has at most; by default 2^20.

        Raises:
            UsageError: an offset below zero (ends of texts are not counted from), or one of them
                beyond 2^20.

        >>> from tacit.expressions.expression import col
        >>> col("code").str.slice(1, 3).evaluate({"code": "AB"})
        'B'
        """
        if type(offset) is not int or not 0 <= offset < LONGEST:
            raise UsageError(
                f"slice counts from the beginning of a text, from 0, not from {shown_value(offset)}"
            )
        return self._apply("substring", offset + 1, length)

    def len_chars(self) -> Expression:
        """How many characters (code points) a text has."""
        return self._apply("length")

    def starts_with(self, prefix: str) -> Expression:
        """True where the text begins with ``prefix``."""
        return Expression("starts_with", (self._value, literal(prefix)))

    def ends_with(self, suffix: str) -> Expression:
        """True where the text ends with ``suffix``, of at most 100 characters."""
        return self._apply("ends_with", suffix)

    def contains(self, pattern: str, *, literal: bool = True) -> Expression:
        """True where ``pattern``, of at most 100 characters, is in the text, as it is written.

        Args:
            pattern: the characters; those of regular expressions have no meaning of their own.
            literal: True, as it always is here.

        Raises:
            UsageError: ``literal=False``; patterns are those of :meth:`like`.

        >>> from tacit.expressions.expression import col
        >>> col("note").str.contains("50%").evaluate({"note": "a discount of 50%"})
        True
        """
        if literal is not True:
            raise UsageError("there are no regular expressions: patterns are str.like('%a_c%')")
        return self._apply("contains", pattern)

    def like(self, pattern: str) -> Expression:
        """True where the whole text matches a pattern, as ``LIKE`` of SQL has it.

        ``%`` matches any characters, also none, and ``_`` any one; everything else itself, a
        backslash too.  The pattern has at most 100 characters, and the first 2^20 of a text are
        matched.

        >>> from tacit.expressions.expression import col
        >>> col("type").str.like("%BRASS").evaluate({"type": "LARGE PLATED BRASS"})
        True
        """
        return self._apply("like", pattern)

    def to_date(self, format: None = None) -> Expression:
        """The date that a text begins with, such as ``2024-12-31``; missing where it is none.

        >>> from tacit.expressions.expression import col
        >>> print(col("day").str.to_date().evaluate({"day": "2024-02-29 18:30"}))
        2024-02-29
        """
        if format is not None:
            raise UsageError(_FORMAT)
        return Expression("read_date", (self._value,))

    def to_datetime(self, format: None = None) -> Expression:
        """The time that a text is, such as ``2024-12-31 18:30``; missing where it is none.

        By itself it is the whole seconds since 1970; ``dt.hour`` and its like take it as a time.

        >>> from tacit.expressions.expression import col
        >>> col("at").str.to_datetime().dt.hour().evaluate({"at": "2024-02-29 18:30"})
        18
        """
        if format is not None:
            raise UsageError(_FORMAT)
        return Expression("read_seconds", (self._value,))


@public
@instead(
    **dict.fromkeys(("day_of_year", "dayofyear"), "it is called dt.ordinal_day()"),
    **dict.fromkeys(("dayofweek", "day_of_week", "day_name"), "it is called dt.weekday()"),
    **dict.fromkeys(("in_zone", "tz_convert"), "it is called dt.convert_time_zone('UTC')"),
    **dict.fromkeys(("total_days", "days"), "write start.dt.days_until(end)"),
    **dict.fromkeys(("total_seconds", "seconds"), "write start.dt.seconds_until(end)"),
    **dict.fromkeys(("truncate", "round", "strftime"), "group by its parts: dt.year(), dt.month()"),
)
class TimeMethods(_Namespace):
    """Functions of dates and times: ``tc.col("day").dt``.

    Example:
        >>> import datetime
        >>> import tacit as tc
        >>> tc.col("day").dt.weekday().evaluate({"day": datetime.date(2024, 12, 31)})
        2
    """

    def year(self) -> Expression:
        """The year of a date."""
        return self._apply("year")

    def month(self) -> Expression:
        """The month of a date, 1 to 12."""
        return self._apply("month")

    def day(self) -> Expression:
        """The day of the month of a date, 1 to 31."""
        return self._apply("day")

    def weekday(self) -> Expression:
        """The day of the week of a date, from 1 for Monday to 7 for Sunday (ISO 8601)."""
        return self._apply("weekday")

    def quarter(self) -> Expression:
        """The quarter of the year of a date, 1 to 4."""
        return self._apply("quarter")

    def ordinal_day(self) -> Expression:
        """The day of the year of a date, 1 to 366."""
        return self._apply("day_of_year")

    def hour(self) -> Expression:
        """The hour of a column of times, 0 to 23: in UTC where they have a zone.

        >>> import datetime
        >>> from tacit.expressions.expression import col
        >>> col("at").dt.hour().evaluate({"at": datetime.datetime(2024, 12, 31, 18, 30)})
        18
        """
        return self._apply("hour")

    def minute(self) -> Expression:
        """The minute of a column of times, 0 to 59."""
        return self._apply("minute")

    def second(self) -> Expression:
        """The second of a column of times, 0 to 59; parts of a second are left out."""
        return self._apply("second")

    def date(self) -> Expression:
        """The date of a column of times, or of a local time (:meth:`convert_time_zone`)."""
        return self._apply("date")

    def convert_time_zone(self, time_zone: str) -> Expression:
        """The local time of a column of times, which are those of UTC: for ``hour``, ``date``, ...

        A column of local times, without a zone, does not need this.  From the year 2050 on it is
        missing.  By itself it is whole seconds.

        Args:
            time_zone: its name, such as ``"Europe/Berlin"``.

        Raises:
            UsageError: no such zone.

        >>> import datetime
        >>> from tacit.expressions.expression import col
        >>> row = {"at": datetime.datetime(2024, 7, 7, 23, 30)}  # a Sunday
        >>> local = col("at").dt.convert_time_zone("Europe/Berlin").dt
        >>> local.hour().evaluate(row), local.date().dt.weekday().evaluate(row)
        (1, 1)
        """
        return self._apply("in_zone", time_zone, offsets_of(time_zone))

    def days_until(self, end: object) -> Expression:
        """How many days a date is before another one; below zero where it is after it.

        Args:
            end: a date, or an expression that is one.

        >>> import datetime
        >>> from tacit.expressions.expression import col
        >>> row = {"came": datetime.date(2024, 2, 28), "left": datetime.date(2024, 3, 1)}
        >>> col("came").dt.days_until(col("left")).evaluate(row)
        2
        >>> col("came").dt.days_until("2024-01-01").evaluate(row)
        -58
        """
        if isinstance(end, str) and is_date(end):
            end = datetime.date.fromisoformat(end)
        day = isinstance(end, datetime.date) and not isinstance(end, datetime.datetime)
        if not day and not isinstance(end, Expression):
            raise UsageError(
                f"{shown_value(end)} is neither a date such as '2024-12-31' nor a column of dates"
            )
        return self._apply("days_until", beside=(literal(end),))

    def seconds_until(self, end: Node) -> Expression:
        """How many seconds a column of times is before another one.

        >>> import datetime
        >>> from tacit.expressions.expression import col
        >>> row = {"a": datetime.datetime(2024, 1, 1, 23), "b": datetime.datetime(2024, 1, 2, 0, 5)}
        >>> col("a").dt.seconds_until(col("b")).evaluate(row)
        3900
        """
        if not isinstance(end, Node):
            raise UsageError('seconds_until takes a column of times: tc.col("end")')
        return self._apply("seconds_until", beside=(end,))


class _Namespaces(Node):
    # Apart from Expression, whose annotations would take ``str`` for this property.

    @property
    def str(self) -> TextMethods:
        """Functions of text, such as ``str.to_lowercase()``."""
        return TextMethods(self)  # type: ignore[arg-type]

    @property
    def dt(self) -> TimeMethods:
        """Functions of dates and times, such as ``dt.month()``."""
        return TimeMethods(self)  # type: ignore[arg-type]


def _applied(name: str, value: Node, *parameters: Any, beside: tuple[Node, ...] = ()) -> Expression:
    FUNCTIONS[name].check(name, parameters)
    return Expression(name, (value, *beside), parameters)


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
_PRESENT = "values that are present: tc.col('age').is_not_null()"
_CAST = "write cast(int), cast(float), cast(str) or cast(bool); a date is str.to_date()"
_STRINGS = "text has str.contains, str.starts_with, str.like, str.to_lowercase, str.slice, ..."
_CHOOSE = "write tc.when(tc.col('site') == 1).then('a').otherwise('b')"
_NOT_COMPUTED = "it is not computed: + - * / %, abs, floor, ceil, round, clip and cut are"
_STATISTIC = "a statistic is asked for by name: session.agg(age=tc.mean('age', 0, 100))"


# What methods were called before they had the names of Polars, in docs/names-that-changed.md too.
_RENAMED = {
    "between": "is_between(18, 65)",
    "clamp": "clip(0, 100)",
    "contains": "str.contains('a')",
    "date": "dt.date()",
    "day": "dt.day()",
    "day_of_year": "dt.ordinal_day()",
    "days_until": "dt.days_until(end)",
    "ends_with": "str.ends_with('a')",
    "fill": "fill_null(0)",
    "hour": "dt.hour()",
    "in_zone": "dt.convert_time_zone('Europe/Berlin')",
    "length": "str.len_chars()",
    "like": "str.like('a%')",
    "lower": "str.to_lowercase()",
    "minute": "dt.minute()",
    "modulo": "% 7",
    "month": "dt.month()",
    "quarter": "dt.quarter()",
    "read_boolean": "cast(bool)",
    "read_date": "str.to_date()",
    "read_number": "cast(float)",
    "read_time": "str.to_datetime()",
    "second": "dt.second()",
    "seconds_until": "dt.seconds_until(end)",
    "starts_with": "str.starts_with('a')",
    "strip": "str.strip_chars()",
    "substring": "str.slice(0, 3)",
    "to_integer": "cast(int)",
    "to_text": "cast(str)",
    "upper": "str.to_uppercase()",
    "weekday": "dt.weekday()",
    "year": "dt.year()",
}
_CASTS: Mapping[object, str] = {
    **dict.fromkeys((int, "int", "integer"), "to_integer"),
    **dict.fromkeys((float, "float"), "read_number"),
    **dict.fromkeys((str, "str", "text"), "to_text"),
    **dict.fromkeys((bool, "bool", "boolean"), "read_boolean"),
}


@public
@instead(
    round="Two decimals are (tc.col('age') * 100).round() / 100",
    **{name: f"it is written {now}" for name, now in _RENAMED.items()},
    isin="it is called is_in(['a', 'b'])",
    startswith="it is called str.starts_with('a')",
    endswith="it is called str.ends_with('a')",
    len="it is called str.len_chars()",
    name="a column that is computed gets its name in with_columns(name=...)",
    alias="a column that is computed gets its name in with_columns(name=...)",
    **dict.fromkeys(("isna", "isnull", "is_na", "is_nan", "isnan", "is_missing"), _MISSING),
    **dict.fromkeys(("notna", "notnull", "is_not_na", "dropna", "drop_nulls"), _PRESENT),
    **dict.fromkeys(("fillna", "fill_nan", "coalesce"), "it is called fill_null(0)"),
    **dict.fromkeys(("astype", "to_numeric", "as_type"), _CAST),
    **dict.fromkeys(("split", "replace", "title", "match", "extract"), _STRINGS),
    **dict.fromkeys(("map", "apply", "where", "mask", "case_when", "recode"), _CHOOSE),
    **dict.fromkeys(("log", "exp", "sqrt", "pow", "log10", "log1p"), _NOT_COMPUTED),
    **dict.fromkeys(("mean", "sum", "min", "max", "median", "std", "var"), _STATISTIC),
    **dict.fromkeys(("count", "unique", "nunique", "value_counts", "quantile"), _STATISTIC),
)
@dataclass(frozen=True, eq=False, repr=False)
class Expression(_Namespaces):
    """A node, as it is written in Python.

    Made by :func:`col`, :func:`literal`, :func:`when` and the methods and operators below; compare
    two of them by :meth:`to_json`, since ``==`` builds an expression.

    >>> adult = (col("age") >= 18) & col("sex").is_not_null()
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
                "value is missing, and tc.col('age').is_not_null() where it is present"
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

    def __mod__(self, other: object) -> Expression:
        """The remainder of a whole number divided by a public one: 0 to that one - 1."""
        return _applied("modulo", self, other)

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

    def is_not_null(self) -> Expression:
        """True where the value is present."""
        return ~self.is_null()

    def is_in(self, values: Iterable[object]) -> Expression:
        """True where the value is one of the given; none of them may be None."""
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise UsageError(f"is_in takes a list of values: is_in([{shown_value(values)}])")
        return Expression("is_in", (self, *(literal(v) for v in values)))

    def is_between(self, lower: object, upper: object) -> Expression:
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

    def clip(self, lower_bound: Number, upper_bound: Number) -> Expression:
        """The value clamped to public bounds, as a double; missing stays missing."""
        low = as_fraction(lower_bound, "lower bound")
        high = as_fraction(upper_bound, "upper bound")
        if low > high or max(abs(low), abs(high)) > Fraction(FAR):
            raise UsageError(
                f"cannot clip to {show(low)} and {show(high)}: reversed or too far from zero"
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

    def floor(self) -> Expression:
        """The greatest whole number that is not above a number, as a double."""
        return _applied("floor", self)

    def ceil(self) -> Expression:
        """The least whole number that is not below a number, as a double."""
        return _applied("ceil", self)

    def round(self) -> Expression:
        """The whole number nearest to a number, as a double; of a half the one farther from zero.

        >>> [col("x").round().evaluate({"x": x}) for x in (2.5, -2.5, 0.49999999999999994)]
        [3.0, -3.0, 0.0]
        """
        return _applied("round", self)

    # ---- kinds and choice

    def cast(self, dtype: type | str) -> Expression:
        """The value as another kind; missing where there is none.

        - ``int``: a number without its fraction; missing from 2^53 on, in size.  It can be a group:
          ``with_columns(decade=(tc.col("age") / 10).cast(int))``.
        - ``float``: the number that a text is, such as ``12`` or ``-0.5e3``, of at most 30 digits
          on each side of the point, with an exponent from -249 to 249; a number as a double.  A
          column that nobody declared is read so by itself where a number is needed.
        - ``str``: the digits of a whole number; ``true`` or ``false``; a text as it is.  A number
          with a fraction has no text that is the same everywhere: round it first.
        - ``bool``: whether a text is true, t, yes, y or 1; or false, f, no, n or 0.

        Args:
            dtype: ``int``, ``float``, ``str`` or ``bool``, or ``"integer"``, ``"float"``,
                ``"text"`` or ``"boolean"``.

        Raises:
            UsageError: another kind; a text becomes a date by ``str.to_date()``.

        >>> (col("age") / 10).cast(int).evaluate({"age": 39})
        3
        >>> col("age").cast(float).evaluate({"age": " 31.5 "})
        31.5
        """
        try:
            operation = _CASTS[dtype]
        except (KeyError, TypeError):
            raise UsageError(
                "cast takes int, float, str or bool; a text becomes a date by str.to_date()"
            ) from None
        return Expression(operation, (self,))

    def fill_null(self, value: object) -> Expression:
        """The value, or a public default where it is missing."""
        return Expression("fill", (self, literal(value)))

    # ---- what it is

    def kind(self, schema: Schema) -> str:
        """Return the kind of the value, checking every operand (:mod:`tacit.expressions.schema`).

        Raises:
            UsageError: an unknown column, or kinds that do not fit together.
        """
        return operations.kind(with_readings(self, schema), schema)

    def sql(self, schema: Schema, dialect: Dialect) -> str:
        """Return the SQL of the value on one row, every operand checked."""
        readable = with_readings(self, schema)
        operations.kind(readable, schema)
        return operations.render(readable, schema, dialect)

    def evaluate(self, row: Mapping[str, object]) -> object:
        """Return the value on one row, in Python: the reference for every engine.

        A column that is undeclared has its readings written down first (see :meth:`cast`).
        """
        return operations.evaluate(self, row)


@public
def col(name: str) -> Expression:
    """Return the column of this name, as an expression.

    Args:
        name: of a column of the table, or of a derived one.

    >>> print(col("age").clip(0, 100) / 2)
    (age.clip(0.0, 100.0) / 2)
    """
    if not isinstance(name, str):
        raise UsageError(f"a column is named by text, not {shown_value(name)}")
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


# Operations whose operands or parameters are not as a text has them.
_CALLED: Mapping[str, Callable[..., Expression]] = {
    "clamp": lambda value, lower, upper: value.clip(lower, upper),
    "days_until": lambda value, end: value.dt.days_until(end),
    "fill": lambda value, other: value.fill_null(other),
    "in_zone": lambda value, zone: value.dt.convert_time_zone(zone),
    "read_boolean": lambda value: value.cast(bool),
    "read_date": lambda value: value.str.to_date(),
    "read_number": lambda value: value.cast(float),
    "read_time": lambda value: value.str.to_datetime(),
    "seconds_until": lambda value, end: value.dt.seconds_until(end),
    "starts_with": lambda value, prefix: value.str.starts_with(prefix),
}


def called(name: str, value: Expression, *given: Any) -> Expression:
    """Return a function of a value, by the name that texts have for it.

    >>> called("substring", col("code"), 1, 2)
    code.str.slice(0, 2)
    """
    return _CALLED[name](value, *given) if name in _CALLED else _applied(name, value, *given)


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
