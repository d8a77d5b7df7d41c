"""Filters and derived columns: a small language in which nothing can fail on a value.

Every expression is *total*: on every row it has a value or is missing, on every engine alike.

- Two-valued logic: a comparison with a missing value is false, so ``~(a < 3)`` keeps the rows
  where ``a`` is missing.  NaN counts as missing.
- Arithmetic is done in doubles on operands clipped to +-2^500, so that nothing overflows.  In a
  product or a quotient a number below 2^-500 in size counts as zero, so that nothing vanishes; a
  quotient by zero is missing.  Whole numbers above 2^53 are exact in comparisons with whole
  numbers and in sums, not in arithmetic.
- A decimal is the double nearest to it, whatever its digits; but two columns of one type of
  decimals are compared exactly.
- Text is compared for equality only (an order would depend on the engine's collation), and
  ``lower`` changes A to Z alone, in the first 2^20 characters, which are all that it gives.
- A column of dates with times is read as its dates, but by ``hour`` and its like; a date outside
  the years 1 to 9999 has no year and no month.
- Functions of one row (text, dates, whole numbers) stand in :mod:`tacit.expressions.functions`.

What does not fit (text against a number, an unknown column) is refused on names and kinds alone,
when the expression meets a table.  An expression renders itself as SQL, evaluates itself in
Python (the reference for every engine), and describes itself as JSON.

>>> adult = (col("age") >= 18) & ~col("sex").is_null()
>>> print(adult)
((age >= 18) & ~(sex is missing))
>>> adult.evaluate({"age": 20, "sex": "f"}), adult.evaluate({"age": None, "sex": "f"})
(True, False)
"""

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
from tacit.errors import UsageError, said
from tacit.expressions import operations
from tacit.expressions.bin_labels import bin_names
from tacit.expressions.dialect import Dialect
from tacit.expressions.functions.methods import RowMethods
from tacit.expressions.node import FAR, from_plain
from tacit.expressions.schema import Schema
from tacit.expressions.undeclared_columns import as_asked

__all__ = ["Expression", "col", "from_json", "literal", "when"]


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
