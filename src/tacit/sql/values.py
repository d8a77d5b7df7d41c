"""Accepted forms of SQL, and their values."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any, Protocol

from tacit.expressions.expression import Expression, literal, when
from tacit.expressions.functions import FAR
from tacit.sql.parse import only, placed, refuse

# Accepted forms: one for each kind of node, registered by the file that translates it.
#
# Everything that reads a value or a condition of the text goes through :func:`value` and
# :func:`truth`, which look the node's class up in these tables.  A class that is in neither is
# refused, and the page of the grammar is written from the same tables.


class Names(Protocol):
    """Meaning of the names in a part of a query."""

    def column(self, node: Any, times: bool = False) -> Expression:
        """Return the value of a name; with times of day only if ``times``."""
        ...

    def meaning_of(self, node: Any) -> Expression | None:
        """Return the meaning of a whole node, such as an aggregate in HAVING, or None."""
        ...

    def kind(self, value: Expression) -> str:
        """Return the kind of a value."""
        ...

    def has_times(self, value: Expression) -> bool:
        """Return True if a value is a column of dates with times of day."""
        ...


@dataclass(frozen=True)
class Truth:
    """A condition of SQL with three values: where it is true, and where it is false."""

    # Where one of the two is missing, as a column of truth values may be, it counts as false, in a
    # filter and in every connective.  NOT exchanges them, so that the conditions that Tacit
    # evaluates (two-valued: a comparison with a missing value is false) keep the rows that SQL
    # keeps.

    true: Expression
    false: Expression

    def __invert__(self) -> Truth:
        return Truth(self.false, self.true)

    @property
    def as_value(self) -> Expression:
        """The condition as a value: missing where it is unknown."""
        return when(self.true).then(True).otherwise(when(self.false).then(False).otherwise(None))


@dataclass(frozen=True)
class SqlForm:
    """A form of SQL that is accepted."""

    part: str  # the part of a query
    example: str
    means: str


FORMS: list[SqlForm] = []
VALUES: dict[str, Callable[[Any, Names], Expression]] = {}
CONDITIONS: dict[str, Callable[[Any, Names], Truth]] = {}

# Messages for nodes without a form, by their class.
_NEAREST: Mapping[str, str] = {
    "Window": "windows have no translation: group by columns instead",
    "Subquery": "a subquery is allowed only in FROM, row by row",
    "Exists": "EXISTS has no translation: join the table by its key",
    "Any": "ANY has no translation: list the values, x in (1, 2)",
    "Rand": "random() has no translation: a question has one answer, and the noise is Tacit's own",
    "Uuid": "uuid() has no translation: a question has one answer",
    "CurrentDate": "the present day is not allowed in a question: write it, date '2024-12-31'",
    "CurrentTimestamp": "the present time is not allowed in a question: write the day, "
    "date '2024-12-31'",
    "CurrentTime": "the present time is not allowed in a question: write the day, "
    "date '2024-12-31'",
    "RegexpLike": "patterns of regular expressions have no translation: x like 'abc%'",
    "ILike": "ILIKE has no translation: lower(x) like 'abc%'",
    "Glob": "GLOB has no translation: x like 'abc%'",
    "SimilarTo": "SIMILAR TO has no translation: x like 'abc%'",
    "IntDiv": "// has no translation: / divides as numbers with fractions",
    "DPipe": "text cannot be joined: group by both columns",
    "Interval": "intervals have no translation: compare with a date, day >= date '2024-01-31'",
    "TimestampTrunc": "date_trunc has no translation: group by year(day), month(day)",
    "Star": "* is allowed only in count(*): name the columns",
    "Tuple": "a list of values is allowed only after IN",
    "Placeholder": "a query has no placeholders: write the value",
    "Parameter": "a query has no parameters: write the value",
    "ApproxDistinct": "write count(distinct x)",
    "Mode": "the most frequent value has no translation: group by the column, order by count(*)",
    "GroupConcat": "values of rows are never shown: ask for aggregates of numbers",
    **dict.fromkeys(
        ("AnyValue", "ArrayAgg", "First", "FirstValue", "IgnoreNulls", "Last", "LastValue"),
        "values of rows are never shown: ask for aggregates of numbers",
    ),
    **dict.fromkeys(("StrToTime", "UnixToTime"), "write a day as it is: day >= date '2024-12-31'"),
    "Rollup": "ROLLUP has no translation: ask one query for each grouping",
    "Cube": "CUBE has no translation: ask one query for each grouping",
    "GroupingSets": "GROUPING SETS have no translation: ask one query for each grouping",
    "CovarPop": "write covar_samp(x, y)",
    "Array": "a list is allowed only for the shares of percentiles: "
    "quantile_cont(cost, [0.25, 0.5, 0.75])",
    "Anonymous": "there is no such function here",
}
_AGGREGATES = {
    *("Count", "CountIf", "Sum", "Avg", "Min", "Max", "Median", "Variance", "VariancePop"),
    *("Stddev", "StddevSamp", "StddevPop", "PercentileCont", "Quantile", "WithinGroup", "Filter"),
}


def form(
    part: str, table: dict[str, Any], *names: str, examples: Mapping[str, str]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as the translation of nodes of these classes."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            table[name] = function
        forms(part, examples)
        return function

    return register


def forms(part: str, examples: Mapping[str, str]) -> None:
    """Register forms of a part of a query that no table looks up."""
    FORMS.extend(SqlForm(part, example, means) for example, means in examples.items())


def class_of(node: Any) -> str:
    """Return the name by which a node is looked up."""
    name = type(node).__name__
    return str(node.this).lower() if name == "Anonymous" else name


def value(node: Any, names: Names) -> Expression:
    """Return the expression of a value."""
    known = names.meaning_of(node)
    if known is not None:
        return known
    if type(node).__name__ == "Paren":
        return value(node.this, names)
    name = class_of(node)
    if name in VALUES:
        with placed(node):
            return VALUES[name](node, names)
    if name in CONDITIONS:
        return truth(node, names).as_value
    return refuse(node, _unknown(node))


def timed(node: Any, names: Names) -> Expression:
    """Return the expression of a value that may have times of day."""
    while type(node).__name__ == "Paren":
        node = node.this
    if type(node).__name__ == "Column":
        return names.column(node, times=True)
    return value(node, names)


def truth(node: Any, names: Names) -> Truth:
    """Return where a condition is true and where it is false."""
    name = class_of(node)
    if name == "Paren":
        return truth(node.this, names)
    if name in CONDITIONS:
        with placed(node):
            return CONDITIONS[name](node, names)
    expression = value(node, names)
    with placed(node):
        kind = names.kind(expression)
    if kind not in ("boolean", "undeclared", "missing"):
        refuse(node, "a condition is true or false on each row, and this is neither: compare it")
    return Truth(expression, expression == literal(False))


def refuse_unknown(node: Any) -> None:
    """Raise for a node that no table has and that is not a name."""
    if type(node).__name__ not in ("Column", "Star") and class_of(node) not in {
        *VALUES,
        *CONDITIONS,
    }:
        refuse(node, _unknown(node))


def _unknown(node: Any) -> str:
    name = type(node).__name__
    if name in _AGGREGATES:
        return "an aggregate is allowed only in the select list, in HAVING and in ORDER BY"
    message = _NEAREST.get(name, f"{name.upper()} has no translation")
    if name == "Anonymous":
        message = f"there is no function {str(node.this)[:60]!r} here"
    return f"{message}; docs/sql.md lists what is accepted"


# Values on one row: constants, columns, arithmetic, choices and functions.
#
# Each is the value that DuckDB gives, except for what the page of the grammar states: arithmetic is
# done in doubles and a quotient by zero is missing, since in Tacit nothing may fail on a value.


_NUMBER = re.compile(r"\d+\.?\d*(?:[eE][-+]?\d{1,3})?|\.\d+(?:[eE][-+]?\d{1,3})?")
_MAX_DIGITS = 300
_MAX_BUCKETS = 200


def number(node: Any) -> Fraction | None:
    """Return the exact number of a node, or None if it is not a number."""
    while type(node).__name__ == "Paren":
        node = node.this
    if type(node).__name__ == "Neg":
        inner = number(node.this)
        return None if inner is None else -inner
    if type(node).__name__ != "Literal" or node.args.get("is_string"):
        return None
    text = str(node.this)
    if len(text) > _MAX_DIGITS or not _NUMBER.fullmatch(text):
        refuse(node, f"a number has digits, a point and an exponent, at most {_MAX_DIGITS} signs")
    return Fraction(text)


def constant(expression: Expression) -> Any:
    """Return the value of a constant; None if it is not one, or is missing."""
    return expression.parameters[0] if expression.operation == "literal" else None


@form("values", VALUES, "Literal", examples={"12, 0.5, 'text'": "a constant"})
def _literal(node: Any, names: Names) -> Expression:
    only(node, "this", "is_string")
    exact = number(node)
    if exact is None:
        return literal(str(node.this))
    written = str(node.this)
    if not written.isdigit() and not math.isfinite(float(written)):
        refuse(node, "this number is too large")
    return literal(int(written) if written.isdigit() else float(written))


@form("values", VALUES, "Boolean", examples={"true, false": "a constant"})
def _boolean(node: Any, names: Names) -> Expression:
    only(node, "this")
    return literal(bool(node.this))


@form("values", VALUES, "Null", examples={"null": "a missing value"})
def _null(node: Any, names: Names) -> Expression:
    only(node)
    return literal(None)


@form(
    "values",
    VALUES,
    "Column",
    examples={
        "cost, visits.cost": "a column; without quotes, whatever the size of its letters A to Z",
        '"Cost"': "a column whose name is written exactly so",
    },
)
def _column(node: Any, names: Names) -> Expression:
    return names.column(node)


@form("values", VALUES, "Neg", examples={"-cost": "0 - cost"})
def _negative(node: Any, names: Names) -> Expression:
    only(node, "this")
    inner = value(node.this, names)
    known = constant(inner)
    if isinstance(known, (int, float)) and not isinstance(known, bool):
        return literal(-known)
    return -inner


@form(
    "values",
    VALUES,
    *("Add", "Sub", "Mul", "Div"),
    examples={
        "cost + 1, cost - 1, cost * 2": "arithmetic in doubles",
        "cost / 2": "a quotient with fractions; by zero it is missing",
        "last - first": "the number of days between two dates",
    },
)
def _arithmetic(node: Any, names: Names) -> Expression:
    only(node, "this", "expression", "safe")
    left, right = value(node.this, names), value(node.expression, names)
    if type(node).__name__ == "Sub" and {names.kind(left), names.kind(right)} == {"date"}:
        return right.dt.days_until(left)
    match type(node).__name__:
        case "Add":
            return left + right
        case "Sub":
            return left - right
        case "Mul":
            return left * right
        case _:
            return left / right


@form("values", VALUES, "Abs", examples={"abs(cost)": "the size of a number"})
def _abs(node: Any, names: Names) -> Expression:
    only(node, "this")
    return abs(value(node.this, names))


@form(
    "values",
    VALUES,
    "clamp",
    examples={
        "clamp(cost, 0, 100)": "the number, no less than 0 and no more than 100; a missing one "
        "stays missing. It gives an aggregate its bounds"
    },
)
def _clamp(node: Any, names: Names) -> Expression:
    if len(node.expressions) != 3:
        refuse(node, "clamp takes a value and two bounds: clamp(cost, 0, 100)")
    lower, upper = number(node.expressions[1]), number(node.expressions[2])
    if lower is None or upper is None:
        refuse(node, "the bounds of clamp are numbers: clamp(cost, 0, 100)")
    return value(node.expressions[0], names).clip(lower, upper)


@form(
    "values",
    VALUES,
    *("Greatest", "Least"),
    examples={
        "least(greatest(cost, 0), 100)": "the number, no less than 0 and no more than 100; a "
        "missing one is 0, as in SQL, where greatest and least pass over NULL. It gives an "
        "aggregate its bounds"
    },
)
def _extreme(node: Any, names: Names) -> Expression:
    only(node, "this", "expressions", "ignore_nulls")
    greatest = type(node).__name__ == "Greatest"
    operands = [value(each, names) for each in (node.this, *node.expressions)]
    return reduce(lambda left, right: _further(left, right, greatest), operands)


def _further(left: Expression, right: Expression, greatest: bool) -> Expression:
    """Return the maximum or the minimum of two numbers; a missing one is ignored."""
    choose = max if greatest else min
    known = constant(right)
    if isinstance(known, (int, float)) and not isinstance(known, bool):
        inner, low, high, filled = _clamped(left)
        filled = known if filled is None else choose(filled, known)
        low, high = choose(low, float(known)), choose(high, float(known))
        if low <= high:
            return inner.clip(Fraction(low), Fraction(high)).fill_null(filled)
    further = (left >= right) if greatest else (left <= right)
    return when(further | right.is_null()).then(left).otherwise(right)


def _clamped(expression: Expression) -> tuple[Expression, float, float, Any]:
    """Return the operand of a clamp, its bounds, and the value that replaces a missing one."""
    if expression.operation == "fill" and expression.operands[0].operation == "clamp":
        inner, filled = expression.operands
        if constant(filled) is not None:  # type: ignore[arg-type]
            low, high = inner.parameters
            return inner.operands[0], low, high, constant(filled)  # type: ignore
    return expression, -FAR, FAR, None


@form(
    "values",
    VALUES,
    "Coalesce",
    examples={"coalesce(cost, 0)": "the first that is not missing"},
)
def _coalesce(node: Any, names: Names) -> Expression:
    only(node, "this", "expressions")
    result = value(node.this, names)
    for each in node.expressions:
        result = result.fill_null(value(each, names))
    return result


@form("values", VALUES, "Nullif", examples={"nullif(cost, 999)": "missing where they are equal"})
def _nullif(node: Any, names: Names) -> Expression:
    only(node, "this", "expression")
    left = value(node.this, names)
    return when(left == value(node.expression, names)).then(None).otherwise(left)


@form(
    "values",
    VALUES,
    "Case",
    examples={
        "case when age < 18 then 'minor' else 'adult' end": "the first whose condition is true; "
        "a group by it needs no keys",
        "case site when 1 then 'a' else 'b' end": "the first that is equal",
    },
)
def _case(node: Any, names: Names) -> Expression:
    only(node, "this", "ifs", "default")
    subject = None if node.this is None else value(node.this, names)
    default = node.args.get("default")
    result = literal(None) if default is None else value(default, names)
    for each in reversed(node.args["ifs"]):
        only(each, "this", "true")
        if subject is None:
            condition = truth(each.this, names).true
        else:
            condition = subject == value(each.this, names)
        result = when(condition).then(value(each.args["true"], names)).otherwise(result)
    return result


@form("values", VALUES, "If", examples={"if(age < 18, 1, 2)": "as CASE"})
def _if(node: Any, names: Names) -> Expression:
    only(node, "this", "true", "false")
    last = node.args.get("false")
    return (
        when(truth(node.this, names).true)
        .then(value(node.args["true"], names))
        .otherwise(literal(None) if last is None else value(last, names))
    )


@form(
    "values",
    VALUES,
    "WidthBucket",
    examples={
        "width_bucket(age, 0, 100, 10)": "the number of the bin, from 1; 0 below the first and 11 "
        "from 100 on; a group by it needs no keys"
    },
)
def _width_bucket(node: Any, names: Names) -> Expression:
    only(node, "this", "min_value", "max_value", "num_buckets")
    given = (node.args.get(name) for name in ("min_value", "max_value", "num_buckets"))
    low, high, bins = (None if each is None else number(each) for each in given)
    if low is None or high is None or bins is None or bins.denominator != 1:
        refuse(node, "width_bucket takes a value and three numbers: width_bucket(age, 0, 100, 10)")
    if not -FAR <= low < high <= FAR or not 1 <= bins <= _MAX_BUCKETS:
        refuse(
            node, f"width_bucket needs a lower bound below the upper and 1 to {_MAX_BUCKETS} bins"
        )
    binned = value(node.this, names)
    edges = [literal(low + (high - low) * index / bins) for index in range(int(bins) + 1)]

    def between(first: int, last: int) -> Expression:
        """Return the number of the bin, known to be one of these."""
        if first == last:
            return literal(first)
        middle = (first + last) // 2
        under = when(binned < edges[middle]).then(between(first, middle))
        return under.otherwise(between(middle + 1, last))

    return when(binned.is_null()).then(None).otherwise(between(0, int(bins) + 1))


@form(
    "values",
    VALUES,
    *("Cast", "TryCast"),
    examples={
        "cast(age as double)": "a number; of text the number that it writes, and missing where it "
        "writes none",
        "cast(smokes as integer)": "1, 0 or missing, of a truth value",
        "cast(floor(cost) as integer)": "a whole number; round and ceil may be used there too",
        "cast(day as date), date '2024-12-31'": "a date",
        "cast(smokes as boolean)": "a truth value, of text too",
        "cast(site as text)": "the digits of a whole number, true or false",
    },
)
def _cast(node: Any, names: Names) -> Expression:
    only(node, "this", "to", "safe")
    wanted = node.args["to"].this.name
    if node.args["to"].args.get("expressions"):
        refuse(node, f"{wanted} of a length has no translation: cast to double or text, or round")
    only(node.args["to"], "this", "nested")
    if wanted.startswith(("TIME", "DATETIME")):
        refuse(node, "times of day have no translation: compare with days, t >= date '2024-01-31'")
    operand = (timed if wanted == "DATE" else value)(node.this, names)
    kind = names.kind(operand)
    if wanted == "DATE" and isinstance(constant(operand), str):
        return literal(_day(node, constant(operand)))
    if kind == "missing":
        return operand
    numeric = kind in ("integer", "float", "decimal")
    if wanted == "DOUBLE" and numeric:
        return operand
    if wanted == "DOUBLE" and kind in ("text", "undeclared"):
        return operand.cast(float)
    if wanted in ("INT", "BIGINT", "DOUBLE") and kind == "boolean":
        unset = when(operand == literal(False)).then(0).otherwise(None)
        return when(operand).then(1).otherwise(unset)
    if wanted in ("INT", "BIGINT") and numeric and _is_rounded(node.this):
        return operand.cast(int)
    if wanted in ("TEXT", "VARCHAR") and kind in ("integer", "boolean"):
        return operand.cast(str)
    if wanted == "DATE" and kind in ("text", "undeclared"):
        return operand.str.to_date()
    if wanted == "BOOLEAN" and kind in ("text", "undeclared"):
        return operand.cast(bool)
    same = {"INT": "integer", "BIGINT": "integer", "DATE": "date", "BOOLEAN": "boolean"}
    if same.get(wanted, "text" if wanted in ("TEXT", "VARCHAR") else "") == kind:
        return operand
    return refuse(
        node,
        f"a value of kind {kind} cannot be cast to {wanted}: casts are to double, date, boolean "
        "and text, and to integer once it is rounded, cast(round(x) as integer)",
    )


def _is_rounded(node: Any) -> bool:
    """Return True if a number is rounded to an integer."""
    while type(node).__name__ == "Paren":
        node = node.this
    return type(node).__name__ in ("Floor", "Ceil", "Round")


def _day(node: Any, text: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text if re.fullmatch(r"\d{4}-\d\d-\d\d", text) else "")
    except ValueError:
        return refuse(node, "a date is written date '2024-12-31'")
