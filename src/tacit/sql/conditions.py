"""Conditions of WHERE, and functions of a row."""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from typing import Any

from tacit.expressions.expression import Expression, called, literal, when
from tacit.sql.parse import only, refuse
from tacit.sql.values import (
    CONDITIONS,
    VALUES,
    Names,
    Truth,
    class_of,
    constant,
    form,
    number,
    timed,
    truth,
    value,
)

# Functions of dates, text and integers, by their names in SQL.


# Parts of dates and times by DuckDB's names, with the operations of an expression.
PARTS = {
    "YEAR": "year",
    "QUARTER": "quarter",
    "MONTH": "month",
    "DAY": "day",
    "DOY": "day_of_year",
    "DAYOFYEAR": "day_of_year",
    "ISODOW": "weekday",
    "HOUR": "hour",
    "MINUTE": "minute",
    "SECOND": "second",
}
_SUNDAY_FIRST = ("DOW", "DAYOFWEEK", "WEEKDAY")
_MAX_DECIMALS = 15
_CLASSES = {"DAYOFWEEKISO": "ISODOW"}


@form(
    "functions",
    VALUES,
    *("Year", "Quarter", "Month", "Day", "DayOfYear", "DayOfWeekIso", "DayOfWeek", "weekday"),
    *("Hour", "Minute", "Second", "Extract", "date_part", "datepart"),
    examples={
        "year(day), quarter(day), month(day), day(day), dayofyear(day)": "a part of a date",
        "isodow(day), dayofweek(day)": "the day of the week: 1 for Monday to 7; 0 for Sunday to 6",
        "hour(at), minute(at), second(at)": "a part of a column of times",
        "extract(month from day), date_part('month', day)": "the same parts; a group by one of few "
        "values, as by month(day), needs no keys",
    },
)
def _part(node: Any, names: Names) -> Expression:
    name = type(node).__name__
    inner = node.this
    if name == "Anonymous":
        wanted = str(node.this).upper()
        if len(node.expressions) != 1 + (wanted != "WEEKDAY"):
            refuse(node, "a part of a date is date_part('month', day)")
        inner = node.expressions[-1]
        if wanted != "WEEKDAY":
            wanted = str(node.expressions[0].this).upper()
    elif name == "Extract":
        only(node, "this", "expression")
        wanted, inner = str(node.this.this).upper(), node.expression
    else:
        only(node, "this")
        wanted = _CLASSES.get(name.upper(), name.upper())
    inner_value = timed(inner, names)
    if wanted in _SUNDAY_FIRST:
        return inner_value.dt.weekday() % 7
    if wanted not in PARTS:
        parts = ", ".join(part.lower() for part in (*PARTS, "dow"))
        refuse(node, f"this part of a date has no translation; there are: {parts}")
    return called(PARTS[wanted], inner_value)


@form(
    "functions",
    VALUES,
    "DateDiff",
    examples={"date_diff('day', first, last)": "how many days the second is later"},
)
def _days_between(node: Any, names: Names) -> Expression:
    only(node, "this", "expression", "unit", "date_part_boundary")
    if str(node.args["unit"].this).upper() != "DAY":
        refuse(node, "differences are in days: date_diff('day', first, last)")
    return timed(node.expression, names).dt.days_until(timed(node.this, names))


@form(
    "functions",
    VALUES,
    *("Lower", "Upper", "Trim", "Length"),
    examples={
        "lower(name), upper(name)": "text with A to Z in lower case, or a to z in upper case",
        "trim(name)": "text without the spaces (only U+0020) before and after",
        "length(name)": "how many characters a text has",
    },
)
def _text(node: Any, names: Names) -> Expression:
    only(node, "this")
    text = value(node.this, names)
    match type(node).__name__:
        case "Lower":
            return text.str.to_lowercase()
        case "Upper":
            return text.str.to_uppercase()
        case "Trim":
            return text.str.strip_chars()
        case _:
            return text.str.len_chars()


@form(
    "functions",
    VALUES,
    *("Substring", "Left"),
    examples={
        "substring(name, 2, 3), left(name, 3)": "that many characters, from a fixed position"
    },
)
def _substring(node: Any, names: Names) -> Expression:
    left = type(node).__name__ == "Left"
    only(node, *(("this", "expression") if left else ("this", "start", "length")))
    first, length = (node.args.get(name) for name in ("start", "expression" if left else "length"))
    start = Fraction(1) if left else None if first is None else number(first)
    count = None if length is None else number(length)
    if start is None or count is None or start < 1 or count < 1:
        refuse(node, "a start and a length are whole numbers from 1: substring(name, 2, 3)")
    if start != int(start) or count != int(count):
        refuse(node, "a start and a length are whole numbers: substring(name, 2, 3)")
    return value(node.this, names).str.slice(int(start) - 1, int(count))


@form(
    "functions",
    VALUES,
    *("Floor", "Ceil", "Round"),
    examples={
        "floor(cost), ceil(cost), round(cost)": "a number without its decimals",
        "round(cost, 2), round(cost, -3)": "with that many decimals: round(cost * 100) / 100",
    },
)
def _rounded(node: Any, names: Names) -> Expression:
    only(node, "this", "decimals")
    digits = node.args.get("decimals")
    decimals = Fraction(0) if digits is None else number(digits)
    kind = type(node).__name__
    limit = _MAX_DECIMALS if kind == "Round" else 0
    if decimals is None or decimals.denominator != 1 or abs(decimals) > limit:
        refuse(
            node,
            f"round takes a fixed number of decimals from -{limit} to {limit}: round(cost, 2)"
            if limit
            else f"{kind.lower()} gives whole numbers: {kind.lower()}(cost * 100) / 100",
        )
    unrounded = value(node.this, names)
    if decimals:
        size = literal(10 ** abs(int(decimals)))
        return (
            (unrounded * size).round() / size if decimals > 0 else (unrounded / size).round() * size
        )
    match type(node).__name__:
        case "Floor":
            return unrounded.floor()
        case "Ceil":
            return unrounded.ceil()
        case _:
            return unrounded.round()


@form(
    "functions",
    VALUES,
    "Mod",
    examples={"site % 7, mod(site, 7)": "the rest of a whole number, with the sign of that number"},
)
def _rest(node: Any, names: Names) -> Expression:
    only(node, "this", "expression")
    dividend, by = value(node.this, names), constant(value(node.expression, names))
    if not isinstance(by, int) or isinstance(by, bool) or by < 1:
        refuse(node, "% takes a fixed whole number from 1 on its right: site % 7")
    rest = dividend % by
    below = (rest - by).cast(int)
    return when((dividend < 0) & (rest > 0)).then(below).otherwise(rest)


# Conditions, with the three truth values of SQL.
#
# In SQL a comparison with NULL is unknown, NOT of unknown is unknown, and WHERE keeps the rows on
# which a condition is true.  In Tacit such a comparison is false.  A condition c is therefore read
# as two expressions (missing counts as false): T(c), where it is true, and F(c), where it is
# false::
#
#     T(a < b) = a < b            F(a < b) = a >= b       (both false where a or b is missing)
#     T(not c) = F(c)             F(not c) = T(c)
#     T(c and d) = T(c) & T(d)    F(c and d) = F(c) | F(d)
#     T(c or d) = T(c) | T(d)     F(c or d) = F(c) & F(d)
#     T(a is null) = a missing    F(a is null) = ~(a missing)
#
# By induction T is true exactly where SQL says true, and F where it says false: the connectives are
# those of Kleene, and each comparison is unknown exactly where one of its sides is missing.


# Each comparison, and its negation.
_COMPARE: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "EQ": (operator.eq, operator.ne),
    "NEQ": (operator.ne, operator.eq),
    "LT": (operator.lt, operator.ge),
    "LTE": (operator.le, operator.gt),
    "GT": (operator.gt, operator.le),
    "GTE": (operator.ge, operator.lt),
}
_PLAIN, _LEFT, _RIGHT = (False, False), (True, False), (False, True)
# Which sides of a comparison may have times of day: t < d means the same of the day of t as of t,
# where d is a day and so its first moment; t > d does not.
_SAME_OF_DAYS = {
    **dict.fromkeys(("EQ", "NEQ"), (_PLAIN,)),
    **dict.fromkeys(("LT", "GTE"), (_PLAIN, _LEFT)),
    **dict.fromkeys(("GT", "LTE"), (_PLAIN, _RIGHT)),
}


def conjuncts(node: Any) -> list[Any]:
    """Return the conditions that AND joins at the top, in their order."""
    conditions, left = [], [node]
    while left:
        each = left.pop()
        name = type(each).__name__
        if name == "Paren":
            left.append(each.this)
        elif name == "And":
            left += [each.expression, each.this]
        else:
            conditions.append(each)
    return conditions


@form(
    "conditions",
    CONDITIONS,
    *_COMPARE,
    examples={
        "age = 18, age <> 18": "equal or not; text is equal if all of its characters are",
        "age < 18, age <= 18, age > 18, age >= 18": "numbers and dates in order; text has none",
    },
)
def _compare(node: Any, names: Names) -> Truth:
    only(node, "this", "expression")
    name = type(node).__name__
    left, right = timed(node.this, names), timed(node.expression, names)
    with_times = _is_time(node.this, left, names), _is_time(node.expression, right, names)
    if with_times not in _SAME_OF_DAYS[name]:
        refuse(
            node,
            "a column with times is read as its days, for which this comparison means something "
            "else: write t >= date '2024-01-01' and t < date '2024-02-01', or cast(t as date)",
        )
    true, false = _COMPARE[name]
    comparison = Truth(true(left, right), false(left, right))
    names.kind(comparison.true)
    return comparison


def _is_time(node: Any, expression: Expression, names: Names) -> bool:
    """Return True if a side is a column with times, not cast to days."""
    while type(node).__name__ == "Paren":
        node = node.this
    return type(node).__name__ == "Column" and names.has_times(expression)


@form(
    "conditions",
    CONDITIONS,
    "And",
    examples={"age >= 18 and cost < 10": "both; in WHERE each is a filter of its own"},
)
def _and(node: Any, names: Names) -> Truth:
    parts = [truth(each, names) for each in conjuncts(node)]
    return Truth(
        reduce(operator.and_, (each.true for each in parts)),
        reduce(operator.or_, (each.false for each in parts)),
    )


@form("conditions", CONDITIONS, "Or", examples={"age < 18 or age > 65": "one of them, or both"})
def _or(node: Any, names: Names) -> Truth:
    parts, left = [], [node]
    while left:
        each = left.pop()
        if type(each).__name__ == "Or":
            left += [each.expression, each.this]
        else:
            parts.append(truth(each, names))
    return Truth(
        reduce(operator.or_, (each.true for each in parts)),
        reduce(operator.and_, (each.false for each in parts)),
    )


@form(
    "conditions", CONDITIONS, "Not", examples={"not age < 18": "as in SQL: unknown stays unknown"}
)
def _not(node: Any, names: Names) -> Truth:
    only(node, "this")
    return ~truth(node.this, names)


@form(
    "conditions",
    CONDITIONS,
    "Is",
    examples={
        "cost is null, cost is not null": "missing or not",
        "smokes is true, smokes is not false": "never unknown",
    },
)
def _is(node: Any, names: Names) -> Truth:
    only(node, "this", "expression")
    kind = type(node.expression).__name__
    if kind not in ("Null", "Boolean"):
        refuse(node, "IS takes NULL, TRUE or FALSE; compare with = otherwise")
    if kind == "Null":
        condition = _missing(node.this, names)
    else:
        operand = truth(node.this, names)
        condition = operand.true if node.expression.this else operand.false
    return Truth(condition, ~condition)


def _missing(node: Any, names: Names) -> Expression:
    while class_of(node) == "Paren":
        node = node.this
    if class_of(node) in CONDITIONS and class_of(node) not in VALUES:
        operand = truth(node, names)
        return ~(operand.true | operand.false)
    return timed(node, names).is_null()


@form(
    "conditions",
    CONDITIONS,
    *("NullSafeEQ", "NullSafeNEQ"),
    examples={
        "site is distinct from 3": "not equal, where a missing value is a value like others",
        "site is not distinct from 3": "equal, where a missing value is a value like others",
    },
)
def _distinct_from(node: Any, names: Names) -> Truth:
    only(node, "this", "expression")
    left, right = value(node.this, names), value(node.expression, names)
    same = (left == right) | (left.is_null() & right.is_null())
    names.kind(same)
    distinct = Truth(same, ~same)
    return distinct if type(node).__name__ == "NullSafeEQ" else ~distinct


@form(
    "conditions",
    CONDITIONS,
    "In",
    examples={"site in (1, 2), site not in (1, 2)": "one of these constants; none of them is NULL"},
)
def _in(node: Any, names: Names) -> Truth:
    only(node, "this", "expressions")
    if not node.expressions:
        refuse(node, "IN takes a list of values: site in (1, 2)")
    listed = [value(each, names) for each in node.expressions]
    for each, item in zip(node.expressions, listed, strict=True):
        if item.operation != "literal":
            refuse(each, "IN takes constants; compare with = and OR otherwise")
        if constant(item) is None:
            refuse(
                each,
                "NULL in a list makes NOT IN unknown everywhere: leave it out, and ask "
                "x is null where that is meant",
            )
    left = value(node.this, names)
    inside = left.is_in(listed)
    names.kind(inside)
    # The first comparison is unknown where the value is missing, as the list is then.
    return Truth(inside, (left != listed[0]) & ~inside)


@form(
    "conditions",
    CONDITIONS,
    "Between",
    examples={"age between 18 and 65": "both ends are within"},
)
def _between(node: Any, names: Names) -> Truth:
    only(node, "this", "low", "high")
    left, low, high = (value(node.args[name], names) for name in ("this", "low", "high"))
    between = Truth(left.is_between(low, high), (left < low) | (left > high))
    names.kind(between.true)
    return between


@form(
    "conditions",
    CONDITIONS,
    *("Like", "StartsWith", "EndsWith", "Contains"),
    examples={
        "name like 'A_C%', name not like 'A%'": "text that fits a fixed pattern: % is any "
        "characters, _ any one",
        "starts_with(name, 'A'), ends_with(name, 'c'), contains(name, 'b')": "text that starts or "
        "ends with it, or contains it",
    },
)
def _like(node: Any, names: Names) -> Truth:
    only(node, "this", "expression", "negate")
    left, right = value(node.this, names), value(node.expression, names)
    pattern = constant(right)
    if not isinstance(pattern, str):
        refuse(node, "a pattern is fixed text: name like 'A%'")
    match = _matched(node, left, pattern)
    names.kind(match.true)
    return ~match if node.args.get("negate") else match


def _matched(node: Any, left: Expression, text: str) -> Truth:
    match type(node).__name__:
        case "StartsWith":
            condition = left.str.starts_with(text)
        case "EndsWith":
            condition = left.str.ends_with(text)
        case "Contains":
            condition = left.str.contains(text)
        case _:
            if not {"%", "_"} & set(text):
                return Truth(left == literal(text), left != literal(text))
            plain = text.rstrip("%")
            wildcards = {"%", "_"} & set(plain)
            condition = left.str.like(text) if wildcards else left.str.starts_with(plain)
    return Truth(condition, ~condition & left.is_not_null())
