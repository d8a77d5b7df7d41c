"""Functions of dates, text and whole numbers, by their names in SQL."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from tacit.expressions.expression import Expression, literal, when
from tacit.sql.forms import VALUES, Names, form, timed, value
from tacit.sql.refusal import only, refuse
from tacit.sql.values import constant, number

__all__ = ["PARTS"]

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
"""Parts of dates and times, by DuckDB's words for them, with the methods of an expression."""
_SUNDAY_FIRST = ("DOW", "DAYOFWEEK", "WEEKDAY")
_MOST_DECIMALS = 15
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
    found = timed(inner, names)
    if wanted in _SUNDAY_FIRST:
        return found.weekday().modulo(7)
    if wanted not in PARTS:
        parts = ", ".join(part.lower() for part in (*PARTS, "dow"))
        refuse(node, f"this part of a date has no translation; there are: {parts}")
    part: Expression = getattr(found, PARTS[wanted])()
    return part


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
    return timed(node.expression, names).days_until(timed(node.this, names))


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
    found = value(node.this, names)
    match type(node).__name__:
        case "Lower":
            return found.lower()
        case "Upper":
            return found.upper()
        case "Trim":
            return found.strip()
        case _:
            return found.length()


@form(
    "functions",
    VALUES,
    *("Substring", "Left"),
    examples={"substring(name, 2, 3), left(name, 3)": "so many characters, from a fixed place"},
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
    return value(node.this, names).substring(int(start), int(count))


@form(
    "functions",
    VALUES,
    *("Floor", "Ceil", "Round"),
    examples={
        "floor(cost), ceil(cost), round(cost)": "a number without its decimals",
        "round(cost, 2), round(cost, -3)": "with so many decimals: round(cost * 100) / 100",
    },
)
def _rounded(node: Any, names: Names) -> Expression:
    only(node, "this", "decimals")
    said = node.args.get("decimals")
    decimals = Fraction(0) if said is None else number(said)
    kind = type(node).__name__
    most = _MOST_DECIMALS if kind == "Round" else 0
    if decimals is None or decimals.denominator != 1 or abs(decimals) > most:
        refuse(
            node,
            f"round takes a fixed number of decimals from -{most} to {most}: round(cost, 2)"
            if most
            else f"{kind.lower()} gives whole numbers: {kind.lower()}(cost * 100) / 100",
        )
    found = value(node.this, names)
    if decimals:
        size = literal(10 ** abs(int(decimals)))
        return (found * size).round() / size if decimals > 0 else (found / size).round() * size
    match type(node).__name__:
        case "Floor":
            return found.floor()
        case "Ceil":
            return found.ceil()
        case _:
            return found.round()


@form(
    "functions",
    VALUES,
    "Mod",
    examples={"site % 7, mod(site, 7)": "the rest of a whole number, with the sign of that number"},
)
def _rest(node: Any, names: Names) -> Expression:
    only(node, "this", "expression")
    found, by = value(node.this, names), constant(value(node.expression, names))
    if not isinstance(by, int) or isinstance(by, bool) or by < 1:
        refuse(node, "% takes a fixed whole number from 1 on its right: site % 7")
    rest = found.modulo(by)
    below = (rest - by).to_integer()
    return when((found < 0) & (rest > 0)).then(below).otherwise(rest)
