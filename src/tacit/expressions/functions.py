"""Trees of expressions, and functions of a row: of text, numbers, dates and time zones."""

from __future__ import annotations

import datetime
import math
import re
from bisect import bisect_right
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any, Literal, TypeAlias, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tacit.arithmetic.roots_and_bisection import min_between
from tacit.calls import public
from tacit.errors import UsageError, shown_value
from tacit.expressions.dialect import FIRST_SECOND, LAST_SECOND, Dialect, is_unicode
from tacit.expressions.schema import uuid_text
from tacit.outside import Json

# A node of an expression: an operation, its operands, its parameters.
#
# What an expression means (:mod:`tacit.expressions.operations`) asks a node for these alone; how
# one is written in Python is :class:`~tacit.expressions.expression.Expression`.


NUMBERS = ("integer", "float", "decimal", "boolean", "missing")
FAR = 2.0**500  # arithmetic clips its operands to this on either side
# The most characters of a text that a computed text has, so that no engine runs out of room.
LONGEST = 1 << 20
UPPER, LOWER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
_DEEPEST, _MOST = 50, 1000

# What an operation has beside its operands.
Constant: TypeAlias = "bool | int | float | str | datetime.date | tuple[Constant, ...] | None"

# How an operation is written in Python; its own name is in descriptions, which do not change.
METHODS: Mapping[str, str] = {
    "ceil": "ceil",
    "clamp": "clip",
    "contains": "str.contains",
    "cut": "cut",
    "date": "dt.date",
    "day": "dt.day",
    "day_of_year": "dt.ordinal_day",
    "days_until": "dt.days_until",
    "ends_with": "str.ends_with",
    "fill": "fill_null",
    "floor": "floor",
    "hour": "dt.hour",
    "in_zone": "dt.convert_time_zone",
    "length": "str.len_chars",
    "like": "str.like",
    "lower": "str.to_lowercase",
    "minute": "dt.minute",
    "month": "dt.month",
    "quarter": "dt.quarter",
    "read_date": "str.to_date",
    "read_seconds": "str.to_datetime",
    "round": "round",
    "second": "dt.second",
    "seconds_until": "dt.seconds_until",
    "starts_with": "str.starts_with",
    "strip": "str.strip_chars",
    "substring": "str.slice",
    "upper": "str.to_uppercase",
    "weekday": "dt.weekday",
    "year": "dt.year",
}
CASTS: Mapping[str, str] = {
    "read_boolean": "bool",
    "read_number": "float",
    "to_integer": "int",
    "to_text": "str",
}

_N = TypeVar("_N", bound="Node")

_COMPARED = ("==", "!=", "<", "<=", ">", ">=", "is_in")


def _uuid(value: Constant) -> Constant:
    return uuid_text(value) if isinstance(value, str) else value


@public
@dataclass(frozen=True, eq=False)
class Node:
    """An operation, its operands and its public parameters."""

    operation: str
    operands: tuple[Node, ...] = ()
    parameters: tuple[Constant, ...] = ()
    _size: tuple[int, int] = field(default=(0, 0), init=False, repr=False)

    def __post_init__(self) -> None:
        inner = [o._size for o in self.operands if o.operands]
        deep, many = 1 + max((d for d, _ in inner), default=0), 1 + sum(n for _, n in inner)
        if deep > _DEEPEST or many > _MOST:
            raise UsageError(
                f"the expression is too large, its computed columns written out: at most {_MOST} "
                f"operations, nested at most {_DEEPEST} deep; a list of values belongs in is_in"
            )
        object.__setattr__(self, "_size", (deep, many))

    def columns(self) -> set[str]:
        """Return the names of the columns that are read."""
        if self.operation == "col":
            return {constants_of(self)[0]}
        return set().union(*(o.columns() for o in self.operands)) if self.operands else set()

    def substitute(self: _N, derived: Mapping[str, _N]) -> _N:
        """Return the expression with columns of these names replaced by what they stand for."""
        if self.operation == "col":
            return derived.get(constants_of(self)[0], self)
        operands = tuple(o.substitute(derived) for o in self.operands)
        return type(self)(self.operation, operands, self.parameters)

    def with_uuids(self: _N, names: Container[str]) -> _N:
        """Return the expression with texts that are compared with these columns as UUIDs."""
        operands = tuple(o.with_uuids(names) for o in self.operands)
        read = any(o.operation == "col" and constants_of(o)[0] in names for o in operands)
        if read and self.operation in _COMPARED:
            operands = tuple(
                type(o)(o.operation, (), tuple(map(_uuid, o.parameters)))
                if o.operation == "literal"
                else o
                for o in operands
            )
        return type(self)(self.operation, operands, self.parameters)

    def to_json(self) -> list[Json]:
        """Return a description that JSON can carry, and ``from_json`` can read."""
        return [
            self.operation,
            [o.to_json() for o in self.operands],
            [to_plain(p) for p in self.parameters],
        ]

    def __str__(self) -> str:
        parts = [str(o) for o in self.operands]
        name, known = self.operation, constants_of(self)
        if name == "col":
            return str(known[0]) if known[0].isidentifier() else f"col({known[0]!r})"
        if name == "literal":
            return str(known[0]) if isinstance(known[0], datetime.date) else repr(known[0])
        if name == "is_null":
            return f"({parts[0]} is missing)"
        if name == "~":
            return f"~{parts[0]}"
        if name == "modulo":
            return f"({parts[0]} % {known[0]})"
        if len(parts) == 2 and not name.isidentifier():
            return f"({parts[0]} {name} {parts[1]})"
        if name in CASTS:
            return f"{parts[0]}.cast({CASTS[name]})"
        if name == "in_zone":
            known = known[:1]  # the name says it for people
        if name == "substring":
            known = (known[0] - 1, known[1])  # Python counts from 0
        shown = [repr(list(p) if isinstance(p, tuple) else p) for p in known]
        if name == "is_in":
            return f"{parts[0]}.is_in([{', '.join(parts[1:])}])"
        if name == "when":
            return f"when({parts[0]}).then({parts[1]}).otherwise({parts[2]})"
        if name in METHODS:
            return f"{parts[0]}.{METHODS[name]}({', '.join(parts[1:] + shown)})"
        return f"{name}({', '.join(parts + shown)})"

    __repr__ = __str__


def written(operation: str) -> str:
    """Return what an operation is called in Python."""
    cast = CASTS.get(operation)
    return METHODS.get(operation, operation) if cast is None else f"cast({cast})"


def constants_of(node: Node) -> tuple[Any, ...]:
    """Return the parameters of a node, for who knows from its operation of which kinds they are."""
    return node.parameters


def literal_kind(value: object) -> str:
    """Return the kind of a public value.

    >>> literal_kind(True), literal_kind(None)
    ('boolean', 'missing')
    """
    if value is None:
        return "missing"
    names = {bool: "boolean", int: "integer", float: "float", str: "text"}
    return names.get(type(value), "date")


def farthest(node: Node) -> float:
    """Return how far from zero a value is at most; infinite where literals alone do not decide it.

    >>> five, two = Node("literal", (), (5,)), Node("literal", (), (-2.0,))
    >>> chosen = Node("when", (Node("col", (), ("is_old",)), five, two))
    >>> farthest(Node("+", (chosen, two))), farthest(Node("col", (), ("age",)))
    (7.0, inf)
    """
    if node.operation == "literal":
        value = node.parameters[0]
        known = value is None or isinstance(value, (bool, int, float))
        return abs(float(value or 0)) if known else math.inf  # type: ignore[arg-type]
    if node.operation in ("when", "fill"):
        return max(map(farthest, node.operands[node.operation == "when" :]))
    return sum(map(farthest, node.operands)) if node.operation in ("+", "-") else math.inf


# ---- parameters as JSON carries them


def to_plain(value: Any) -> Any:
    """Return a parameter as JSON can carry it."""
    if isinstance(value, tuple):
        return [to_plain(v) for v in value]
    if isinstance(value, datetime.date):
        return {"date": value.isoformat()}
    if isinstance(value, float):
        return {"float": value.hex()}
    return value


def from_plain(value: Any) -> Any:
    """Return the parameter that :func:`to_plain` wrote."""
    if isinstance(value, list):
        return tuple(from_plain(v) for v in value)
    if isinstance(value, dict):
        return (
            datetime.date.fromisoformat(value["date"])
            if "date" in value
            else float.fromhex(value["float"])
        )
    return value


# What a function of a row is: what it takes, its SQL, its value in Python, its range.
#
# Every function is *total*: it has a value for each operand that is there, the same on every
# engine, or it is missing; none can raise.  Each of its file's rows says so beside the SQL.


Range: TypeAlias = tuple[Fraction, Fraction]
Ends: TypeAlias = Callable[[Sequence[Range | None], Sequence[Any]], Range | None]

_KINDS: dict[str, tuple[tuple[str, ...], str]] = {
    "text": (("text",), "read_text"),
    "date": (("date",), "read_date"),
    "seconds": (("date",), "read_seconds"),
    "double": (NUMBERS[:3], "read_numeric"),
    "integer": (("integer",), "read_whole"),
    "exact": (("integer", "boolean", "text"), "read_text"),
}


@dataclass(frozen=True)
class RowFunction:
    """One function."""

    # how it has its operands: as ``text``; as a ``date``; as whole ``seconds`` since 1970 of a
    # column of times; as a ``double``; as an ``integer``; or ``exact``: as a whole number, a truth
    # value or text
    form: Literal["text", "date", "seconds", "double", "integer", "exact"]
    gives: str  # the kind of its value
    # the dialect, the SQL of each operand in that form, and the parameters, to SQL
    sql: Callable[[Dialect, Sequence[str], Sequence[Any]], str]
    value: Callable[..., Any]  # the same in Python, of operands that are there and the parameters
    operands: int = 1
    checks: tuple[Callable[[Any], bool], ...] = ()  # whether each parameter is one
    # the least and the greatest value, or what gives them from the operands' ranges (None for an
    # operand that nothing bounds) and the parameters; None where nothing bounds it
    range: tuple[int, int] | Ends | None = None

    @property
    def takes(self) -> tuple[str, ...]:
        """The kinds of its operands."""
        return _KINDS[self.form][0]

    @property
    def reading(self) -> str:
        """How an operand is read that nobody declared."""
        return _KINDS[self.form][1]

    def check(self, name: str, parameters: Sequence[Any]) -> None:
        """Refuse parameters that the function does not have."""
        fits = len(parameters) == len(self.checks) and all(
            check(given) for check, given in zip(self.checks, parameters, strict=True)
        )
        if not fits:
            raise UsageError(
                f"{name} cannot take {', '.join(map(shown_value, parameters)) or 'nothing'}"
            )


# Functions of numbers: whole ones near them, remainders, and their text.
#
# *Total.*  A double of 2^52 or more in size is whole, so that it stays as it is; a smaller one is
# rounded as a whole number of 64 bits, exactly.  ``floor``, ``ceil`` and ``round`` give doubles.
# The difference of a double and its floor is a double again, so a half is seen as one.


_WHOLE = 2.0**52
_EXACT = 1 << 53


def _floor_sql(x: str, d: Dialect) -> str:
    """Return the whole number of 64 bits below a double, of one of at most 2^53 in size."""
    clamped = f"greatest(least({x}, {d.literal(float(_EXACT))}), {d.literal(-float(_EXACT))})"
    return d.cast(f"floor({clamped})", "integer")


def _floor(x: str, d: Dialect) -> str:
    return d.cast(_floor_sql(x, d), "double")


def _ceil(x: str, d: Dialect) -> str:
    return f"(- {_floor(f'(- {x})', d)})"


def _round(x: str, d: Dialect) -> str:
    size, half = f"abs({x})", d.literal(0.5)
    below = _floor(size, d)
    up = f"(case when {size} - {below} >= {half} then {d.literal(1.0)} else {d.literal(0.0)} end)"
    return f"(case when {x} < {d.literal(0.0)} then - ({below} + {up}) else {below} + {up} end)"


def _near(body: Callable[[str, Dialect], str]) -> Callable[..., str]:
    def sql(d: Dialect, operands: Sequence[str], parameters: Sequence[Any]) -> str:
        limit = d.literal(_WHOLE)
        return d.share(
            operands[0], lambda x: f"(case when abs({x}) < {limit} then {body(x, d)} else {x} end)"
        )

    return sql


def _rounded(value: float) -> float:
    below = math.floor(abs(value))
    return math.copysign(below + (abs(value) - below >= 0.5), value)


def _of_small(rule: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: float(rule(x)) if abs(x) < _WHOLE else x


def _ends(rule: Callable[[Fraction], int]) -> Ends:
    """Return the range of a rule that rises with its operand, and keeps whole numbers."""

    def ends(ranges: Sequence[Range | None], parameters: Sequence[Any]) -> Range | None:
        (operand,) = ranges
        return operand and (Fraction(rule(operand[0])), Fraction(rule(operand[1])))

    return ends


def _half_up(x: Fraction) -> int:
    size = math.floor(abs(x) + Fraction(1, 2))
    return size if x >= 0 else -size


def _to_integer(d: Dialect, operands: Sequence[str], parameters: Sequence[Any]) -> str:
    limit, zero = d.literal(float(_EXACT)), d.literal(0.0)

    def whole(x: str) -> str:
        below, above = _floor_sql(x, d), f"(- {_floor_sql(f'(- {x})', d)})"
        near = f"(case when {x} < {zero} then {above} else {below} end)"
        return f"(case when abs({x}) < {limit} then {near} end)"

    return d.share(operands[0], whole)


def _truncated(x: Fraction) -> int:
    return min(max(math.trunc(x), 1 - _EXACT), _EXACT - 1)


def _modulo(d: Dialect, operands: Sequence[str], parameters: Sequence[Any]) -> str:
    by = d.literal(parameters[0])
    rest = d.cast(f"({operands[0]} % {by})", "integer")
    return d.share(rest, lambda r: f"(case when {r} < {d.literal(0)} then {r} + {by} else {r} end)")


def _to_text(d: Dialect, operands: Sequence[str], parameters: Sequence[Any]) -> str:
    return d.cast(operands[0], "text")


def _text_of(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _is_divisor(value: Any) -> bool:
    return type(value) is int and 1 <= value <= _EXACT


NUMBERS_OF = {
    "floor": RowFunction(
        "double", "float", _near(_floor), _of_small(math.floor), range=_ends(math.floor)
    ),
    "ceil": RowFunction(
        "double", "float", _near(_ceil), _of_small(math.ceil), range=_ends(math.ceil)
    ),
    "round": RowFunction(
        "double", "float", _near(_round), _of_small(_rounded), range=_ends(_half_up)
    ),
    "to_integer": RowFunction(
        *("double", "integer", _to_integer),
        lambda x: math.trunc(x) if abs(x) < _EXACT else None,
        range=_ends(_truncated),
    ),
    "modulo": RowFunction(
        *("integer", "integer", _modulo, lambda x, by: x % by),
        checks=(_is_divisor,),
        range=lambda ranges, parameters: (Fraction(0), Fraction(parameters[0] - 1)),
    ),
    "to_text": RowFunction("exact", "text", _to_text, _text_of),
}


# Functions of text, by its characters (code points), whatever a collation says.
#
# What is computed from a text is of its first 2^20 characters, so that no engine runs out of room:
# PostgreSQL takes eight times the room of a text that it trims, and Spark twice that of one that it
# matches.
#
# *Patterns.*  ``like`` knows ``%`` (any characters, also none) and ``_`` (any one), and nothing
# else.  Whether a text fits is decided in time proportional to its length and the pattern's:
# between two ``%`` the first place that fits is as good as any later one, for what follows it has
# the most room then; so nothing is tried twice.  PostgreSQL's LIKE gives up where the text ends,
# and so never tries a place again; DuckDB matches by automaton; for Spark each part is an atomic
# group of the regular expression, which is never entered again.


_LONGEST_PATTERN = 100


def _first(text: str) -> str:
    return f"substr({text}, 1, {LONGEST})"


def _letters(letters: str, replacements: str) -> RowFunction:
    table = str.maketrans(letters, replacements)

    def sql(d: Dialect, operands: Sequence[str], parameters: Sequence[Any]) -> str:
        return f"translate({_first(operands[0])}, '{letters}', '{replacements}')"

    return RowFunction("text", "text", sql, lambda x: x[:LONGEST].translate(table))


def _strip(d: Dialect, operands: Sequence[str], parameters: Sequence[Any]) -> str:
    return f"trim(both ' ' from {_first(operands[0])})"


def _substring(d: Dialect, operands: Sequence[str], parameters: Sequence[Any]) -> str:
    start, length = parameters
    return f"substr({operands[0]}, {start}, {length})"


def _length(d: Dialect, operands: Sequence[str], parameters: Sequence[Any]) -> str:
    return d.cast(f"length({operands[0]})", "integer")


def _contains(d: Dialect, operands: Sequence[str], parameters: Sequence[Any]) -> str:
    return d.contains.format(x=operands[0], y=d.literal(parameters[0]))


def _ends_with(d: Dialect, operands: Sequence[str], parameters: Sequence[Any]) -> str:
    (end,) = parameters
    return d.ends_with.format(x=operands[0], y=d.literal(end), n=len(end))


def _like(d: Dialect, operands: Sequence[str], parameters: Sequence[Any]) -> str:
    (pattern,) = parameters
    text = _first(operands[0])
    if not d.like_any:
        return f"({text} like {d.literal(pattern)} escape '')"
    return d.matches.format(x=text, p=d.literal(d.whole.format(p=_regular(pattern, d.like_any))))


def _regular(pattern: str, anything: str) -> str:
    """Return a regular expression for a pattern; ``anything`` is any text, then ``{s}``."""
    first, *rest = ("".join(map(_one, part)) for part in re.split("%+", pattern))
    inner = "".join(anything.replace("{s}", part) for part in rest[:-1])
    return f"(?s:{first}{inner}{f'.*{rest[-1]}' if rest else ''})"


def _one(character: str) -> str:
    if character == "_":
        return "."
    plain = character.isalnum() or not character.isascii()
    return (
        character if plain else f"[{character}]" if character not in r"\^[]" else f"\\{character}"
    )


def fits(text: str, pattern: str) -> bool:
    """Whether the first 2^20 characters of a text fit a pattern of ``%`` and ``_``.

    >>> fits("green apple", "gr__n%p%e"), fits("a", "a_"), fits("100%", "1%")
    (True, False, True)
    """
    text = text[:LONGEST]
    first, *rest = re.split("%+", pattern)
    if not _matches_at(text, first, 0) or (not rest and len(text) != len(first)):
        return False
    if not rest:
        return True
    position = len(first)
    for part in rest[:-1]:
        starts = (
            i for i in range(position, len(text) - len(part) + 1) if _matches_at(text, part, i)
        )
        start = next(starts, None)
        if start is None:
            return False
        position = start + len(part)
    last = len(text) - len(rest[-1])
    return last >= position and _matches_at(text, rest[-1], last)


def _matches_at(text: str, part: str, position: int) -> bool:
    seen = text[position : position + len(part)]
    return len(seen) == len(part) and all(p in ("_", c) for c, p in zip(seen, part, strict=True))


def _is_text(value: Any) -> bool:
    short = isinstance(value, str) and len(value) <= _LONGEST_PATTERN
    return short and "\0" not in value and is_unicode(value)


def _is_index(value: Any) -> bool:
    return type(value) is int and 1 <= value <= LONGEST


TEXT = {
    "lower": _letters(UPPER, LOWER),
    "upper": _letters(LOWER, UPPER),
    "strip": RowFunction("text", "text", _strip, lambda x: x[:LONGEST].strip(" ")),
    "substring": RowFunction(
        *("text", "text", _substring, lambda x, start, length: x[start - 1 : start - 1 + length]),
        checks=(_is_index, _is_index),
    ),
    "length": RowFunction("text", "integer", _length, len),
    "ends_with": RowFunction(
        "text", "boolean", _ends_with, lambda x, end: x.endswith(end), checks=(_is_text,)
    ),
    "contains": RowFunction(
        "text", "boolean", _contains, lambda x, part: part in x, checks=(_is_text,)
    ),
    "like": RowFunction("text", "boolean", _like, fits, checks=(_is_text,)),
}


# Functions of dates and times.
#
# The calendar is that of ISO 8601, the years 1 to 9999; what lies beyond is missing.  The time of a
# column of times is that of UTC where it has a zone, else as it is written, down to the second.
#
# *Total.*  A date is looked at only between the first and the last day; a number of days is below
# 2^22 in size and one of seconds below 2^39, after it is held within the years 1 to 9999, so
# nothing overflows.  ``weekday``: 1 January of the year 1 is a Monday.


_EPOCH = datetime.date(1970, 1, 1).toordinal()
_DAY = 86400
_FIRST, _LAST = FIRST_SECOND, LAST_SECOND


def _on_days(body: Callable[[Dialect, str], str]) -> Callable[..., str]:
    """Return the SQL of what is looked at within the calendar alone."""

    def sql(d: Dialect, operands: Sequence[str], parameters: Sequence[Any]) -> str:
        low, high = d.literal(datetime.date.min), d.literal(datetime.date.max)
        inside = "(case when {x} between {low} and {high} then {found} end)"
        return d.share(
            operands[0],
            lambda x: inside.format(x=x, low=low, high=high, found=body(d, x)),
        )

    return sql


def _part(name: str, low: int, high: int, value: Callable[[Any], int]) -> RowFunction:
    sql = _on_days(lambda d, x: d.cast(f"extract({name} from {x})", "integer"))
    return RowFunction("date", "integer", sql, value, range=(low, high))


def _weekday(d: Dialect, x: str) -> str:
    return f"(({_days(d, x)} + {d.literal(_EPOCH - 1)}) % {d.literal(7)} + {d.literal(1)})"


def _days(d: Dialect, x: str) -> str:
    return d.cast(d.days.format(x=x), "integer")


def _days_until(d: Dialect, operands: Sequence[str], parameters: Sequence[Any]) -> str:
    start, end = (_on_days(_days)(d, (x,), ()) for x in operands)
    return f"({end} - {start})"


def _within_calendar(d: Dialect, seconds: str) -> str:
    """Return seconds within the calendar, missing beyond."""
    low, high = d.literal(_FIRST), d.literal(_LAST)
    return d.share(seconds, lambda x: f"(case when {x} between {low} and {high} then {x} end)")


def _clock(unit: int, most: int) -> RowFunction:
    def sql(d: Dialect, operands: Sequence[str], parameters: Sequence[Any]) -> str:
        inside = _within_calendar(d, operands[0])
        since = f"(({inside} - {d.literal(_FIRST)}) % {d.literal(unit * most)})"
        return d.divide(since, d.literal(unit), wide=False)

    def value(seconds: int) -> int | None:
        return seconds % (unit * most) // unit if _FIRST <= seconds <= _LAST else None

    return RowFunction("seconds", "integer", sql, value, range=(0, most - 1))


def _seconds_until(d: Dialect, operands: Sequence[str], parameters: Sequence[Any]) -> str:
    start, end = (_within_calendar(d, x) for x in operands)
    return f"({end} - {start})"


def _apart(start: int, end: int) -> int | None:
    inside = all(_FIRST <= seconds <= _LAST for seconds in (start, end))
    return end - start if inside else None


def _date(d: Dialect, operands: Sequence[str], parameters: Sequence[Any]) -> str:
    since = f"{_within_calendar(d, operands[0])} - {d.literal(_FIRST)}"
    days = f"({d.divide(f'({since})', d.literal(_DAY), wide=False)} + {d.literal(1 - _EPOCH)})"
    return d.date_of.format(x=days)


def _date_of(seconds: int) -> datetime.date | None:
    inside = _FIRST <= seconds <= _LAST
    return datetime.date.fromordinal(seconds // _DAY + _EPOCH) if inside else None


_SPAN: tuple[int, int] = (1 - datetime.date.max.toordinal(), datetime.date.max.toordinal() - 1)

DATES = {
    "year": _part("year", 1, 9999, lambda day: day.year),
    "month": _part("month", 1, 12, lambda day: day.month),
    "day": _part("day", 1, 31, lambda day: day.day),
    "quarter": _part("quarter", 1, 4, lambda day: (day.month + 2) // 3),
    "day_of_year": _part("doy", 1, 366, lambda day: day.timetuple().tm_yday),
    "weekday": RowFunction(
        "date", "integer", _on_days(_weekday), lambda day: day.isoweekday(), range=(1, 7)
    ),
    "date": RowFunction("seconds", "date", _date, _date_of),
    "hour": _clock(3600, 24),
    "minute": _clock(60, 60),
    "second": _clock(1, 60),
    "days_until": RowFunction(
        *("date", "integer", _days_until, lambda start, end: (end - start).days),
        operands=2,
        range=_SPAN,
    ),
    "seconds_until": RowFunction(
        *("seconds", "integer", _seconds_until, _apart),
        operands=2,
        range=(_FIRST - _LAST, _LAST - _FIRST),
    ),
}


# Times of a zone: the local time of an instant, the same on every engine.
#
# Each engine has a database of time zones of its own, of its own age, so their own functions would
# give one question several answers.  Therefore the offsets of a zone are looked up once, when the
# question is made, and become part of it: the engine compares whole seconds with public ones.  The
# question's identity and its certificate hold them, and a check of the certificate needs no
# database.
#
# *Total.*  Every instant has one local time (the other way round an hour of autumn has two, and one
# of spring none; nothing here goes that way).  An offset is below a day, and seconds are held
# within the calendar before it is added, so nothing overflows.  Rules for what is far ahead are
# guesses: from the year 2050 on the local time is missing.

_ZONES_FIRST = int(datetime.datetime(1, 1, 1, tzinfo=datetime.UTC).timestamp()) + _DAY
_KNOWN = int(datetime.datetime(1890, 1, 1, tzinfo=datetime.UTC).timestamp())
_UNKNOWN = int(datetime.datetime(2050, 1, 1, tzinfo=datetime.UTC).timestamp())
_ZONES_MOST = 1000


@lru_cache(maxsize=16)
def offsets_of(zone: str) -> tuple[tuple[int, int], ...]:
    """Return the offsets of a zone, each with when it begins.

    >>> dict(offsets_of("Europe/Berlin"))[1711846800]  # from 31 March 2024, 01:00 UTC
    7200
    """
    # Returns: pairs of whole seconds: when an offset begins, since 1970 (UTC), rising, from the
    # second day of the calendar to 2050; and how far local time is ahead of UTC from then on.
    try:
        time_zone = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(
            f"no time zone is called {zone!r} on this machine: name one such as 'Europe/Berlin'; "
            "if none is found, install the time zone database: pip install tzdata"
        ) from None

    def offset(seconds: int) -> int:
        local = datetime.datetime.fromtimestamp(seconds, time_zone)
        ahead = local.utcoffset()
        return 0 if ahead is None else round(ahead.total_seconds())

    def differs(last: int, seconds: int) -> bool:
        return offset(seconds) != last

    pairs = [(_ZONES_FIRST, offset(_KNOWN))]
    for day in range(_KNOWN, _UNKNOWN, _DAY):
        last = pairs[-1][1]
        if offset(day + _DAY) != last:
            changed = min_between(partial(differs, last), day, day + _DAY)
            pairs.append((changed, offset(changed)))
    return tuple(pairs)


def _local(d: Dialect, operands: Sequence[str], parameters: Sequence[Any]) -> str:
    low, high = d.literal(_ZONES_FIRST), d.literal(_UNKNOWN - 1)

    def within(x: str) -> str:
        return f"(case when {x} between {low} and {high} then {x} end)"

    # always named, however short: it stands in the formula as often as the offset changes
    body = f"(tacit_v + {_ahead('tacit_v', parameters[1])})"
    return d.let.format(x=d.share(operands[0], within), body=body)


def _ahead(x: str, pairs: Sequence[tuple[int, int]]) -> str:
    """Return the offset at ``x``: some ten comparisons, wherever it stands."""
    if len(pairs) == 1:
        return str(pairs[0][1])
    middle = len(pairs) // 2
    before, after = _ahead(x, pairs[:middle]), _ahead(x, pairs[middle:])
    # a bare number: engines take seconds to plan a cast of each
    return f"(case when {x} < {pairs[middle][0]} then {before} else {after} end)"


def _value(seconds: int, zone: str, pairs: Sequence[tuple[int, int]]) -> int | None:
    if not _ZONES_FIRST <= seconds < _UNKNOWN:
        return None
    return seconds + pairs[bisect_right([start for start, _ in pairs], seconds) - 1][1]


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= 100 and value.isascii()


def _are_pairs(value: Any) -> bool:
    if not isinstance(value, tuple) or not 0 < len(value) <= _ZONES_MOST:
        return False
    if not all(isinstance(v, tuple) and list(map(type, v)) == [int, int] for v in value):
        return False
    starts = [start for start, _ in value]
    rising = starts[0] == _ZONES_FIRST and all(a < b for a, b in pairwise([*starts, _UNKNOWN]))
    return rising and all(abs(offset) < _DAY for _, offset in value)


ZONES = {
    "in_zone": RowFunction(*("seconds", "integer", _local, _value), checks=(_is_name, _are_pairs))
}


# Every function of a row, by the name that expressions have for it.


# One row says of each what it takes and gives, its SQL, its value in Python and its range.
FUNCTIONS: Mapping[str, RowFunction] = {**TEXT, **DATES, **NUMBERS_OF, **ZONES}
