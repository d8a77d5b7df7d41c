"""Codes for missing values, declared per column: their forms, and the SQL that reads them."""

# A survey writes "no answer" as -9, 99 or "refused".  What is declared as such a code is NULL in
# the relation of the table itself, so that every statistic, condition, group, derived column and
# join key, and the person, treat it as any missing cell.
#
# *Total:* whether a cell is a code depends on that cell and on the declaration alone, through the
# readings of :mod:`tacit.expressions.dialect`, which are total; no cast can raise.  So no row
# steers how another is read, and neighbouring tables stay neighbours: the map from a row to the row
# with its codes missing is applied row by row, and changes no distance.

from __future__ import annotations

import datetime
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from tacit.errors import UsageError, did_you_mean, shown_value
from tacit.expressions.dialect import Dialect, is_date, is_unicode, reading_sql
from tacit.expressions.expression import col
from tacit.expressions.operations import column_sql
from tacit.expressions.schema import Column, Schema
from tacit.report.text import code_words
from tacit.tables.engines.csv import CsvOptions
from tacit.tables.reading import Code

# What a user may write for a code: a number, a text, a day, or a pair of numbers.
_GivenCode = (
    int | float | Decimal | Fraction | str | datetime.date | Sequence[int | float | Decimal]
)
Missing: TypeAlias = Mapping[str, _GivenCode | Sequence[_GivenCode]]
Codes: TypeAlias = "dict[str, list[Code]]"

_LIKE = "missing={'age': [98, 99], 'income': [(-9, -1)], 'answer': ['refused']}"
_LARGEST = 1 << 126  # whole numbers below it are exact in every engine
_EXACT = 1 << 53  # up to which all whole numbers are doubles
# A number with a decimal comma; three digits behind a comma may be thousands.
_COMMA = "[ ]{0,8}[+-]?[0-9]{1,15},([0-9]{1,2}|[0-9]{4,15})[ ]{0,8}"


class ReadOptions(CsvOptions, total=False):
    """Options of the reading of a table: those of a text file, and of every table."""

    missing: Missing | None
    codebook: str | os.PathLike[str] | None


def missing_codes(given: Any) -> Codes:
    """Return declared codes in their plain form, equal for equal declarations.

    >>> missing_codes({"age": [99, 98.0, 99], "income": [(-9, -1)], "answer": "refused"})
    {'age': [98, 99], 'answer': ['refused'], 'income': [[-9, -1]]}
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise UsageError(f"missing= names codes by column, as in {_LIKE}")
    codes = {}
    for column, values in given.items():
        if not isinstance(column, str):
            raise UsageError(f"missing= names codes by column, as in {_LIKE}")
        if isinstance(values, tuple) and len(values) == 2:  # two codes, or a range?
            raise UsageError(
                f"missing= of {column!r} is a list: [(-9, -1)] is a range, and [-9, -1] two codes"
            )
        listed = list(values) if _is_list(values) else [values]
        if not listed:
            raise UsageError(f"missing= has no code for {column!r}: give one, or leave it out")
        plain = {repr(code): code for code in (_code(value, column) for value in listed)}
        codes[column] = sorted(plain.values(), key=_order)
    return dict(sorted(codes.items()))


_PLAIN_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?"
_LISTED = re.compile(
    rf' *(?:"(?P<text>(?:[^"]|"")*)"|(?P<low>{_PLAIN_NUMBER})\.\.(?P<high>{_PLAIN_NUMBER})'
    rf'|(?P<number>{_PLAIN_NUMBER})|(?P<word>[^",][^,]*?)) *(?:,|$)'
)


def codes_in(text: str) -> list[Any]:
    """Return the codes of a text, which commas part.

    >>> codes_in('98,-9..-1,refused,"99"')
    [98, [-9, -1], 'refused', '99']
    """
    codes: list[Any] = []
    place = 0
    while place < len(text):
        match = _LISTED.match(text, place)
        if match is None:
            raise UsageError("a quote is not closed, or text is behind it")
        if match["low"] is not None:
            codes.append([_plain(match["low"]), _plain(match["high"])])
        elif match["number"] is not None:
            codes.append(_plain(match["number"]))
        else:
            word = match["text"]
            codes.append(match["word"] if word is None else word.replace('""', '"'))
        place = match.end()
    return codes


def codes_text(codes: Iterable[Code]) -> str:
    """Return codes as :func:`codes_in` reads them.

    >>> codes_text([98, [-9, -1], "refused", "99"])
    '98, -9..-1, "refused", "99"'
    """
    return ", ".join(
        f"{code[0]}..{code[1]}"
        if isinstance(code, list)
        else '"' + code.replace('"', '""') + '"'
        if isinstance(code, str)
        else str(code)
        for code in codes
    )


def _plain(number: str) -> int | Decimal:
    value = Decimal(number)
    return int(value) if value == value.to_integral_value() else value


def joined_codes(own: Mapping[str, Sequence[Code]], given: Codes) -> Codes:
    """Return the codes that a file declares itself, and those that are given besides.

    >>> joined_codes({"age": [98, [-9, -1]]}, {"age": [5, 98], "sex": [9]})
    {'age': [5, 98, [-9, -1]], 'sex': [9]}
    """
    codes = {}
    for column in sorted({*own, *given}):
        listed = [*own.get(column, ()), *given.get(column, ())]
        plain = {repr(code): code for code in listed}
        codes[column] = sorted(plain.values(), key=_order)
    return codes


def is_code(value: Any, codes: Sequence[Code]) -> bool:
    """Return whether a value is one of the codes, or in one of the ranges.

    >>> [is_code(value, [98, [-9, -1]]) for value in (98, -3, 97, "98")]
    [True, True, False, False]
    """
    if value in codes:
        return True
    ranges = [code for code in codes if isinstance(code, list)]
    return isinstance(value, (int, float)) and any(low <= value <= high for low, high in ranges)


def refuse_as_keys(keys: Iterable[Any], codes: Sequence[Code], where: str) -> None:
    """Raise if a key is a code for a missing value: its group would be paid for, and empty."""
    for key in keys if codes else ():
        plain = key.isoformat() if isinstance(key, datetime.date) else key
        if is_code(plain, codes):
            raise UsageError(
                f"the key {shown_value(plain)} of {where} is a code for a missing value: its group "
                "would be empty. Leave it out; the key of missing values is None"
            )


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple, set, frozenset, np.ndarray))


def _order(code: Code) -> tuple[int, Any]:
    return (2, code) if isinstance(code, str) else (int(isinstance(code, list)), code)


def _code(value: Any, column: str) -> Code:
    if isinstance(value, str):
        word = value.strip(" ")
        if not word or "\0" in word or not is_unicode(word):
            raise UsageError(
                f"a code of {column!r} is a text of Unicode that is not empty, without the "
                "character NUL; an empty cell is missing already"
            )
        return word
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return value.isoformat()
    if not _is_list(value):
        return _number(value, column)
    ends = [_number(end, column) for end in value]
    if len(ends) != 2:
        raise UsageError(
            f"a range of codes of {column!r} has two ends, as in [[-9, -1]]; single codes are in "
            f"one list, as in [98, 99]: {shown_value(value)} is neither"
        )
    if ends[0] > ends[1]:
        low, high = map(code_words, ends)
        raise UsageError(
            f"the range {low} to {high} of codes of {column!r} is the wrong way round: write "
            f"[{high}, {low}]"
        )
    return ends if ends[0] < ends[1] else ends[0]


def _number(value: Any, column: str) -> int | float:
    plain = value.item() if isinstance(value, np.generic) else value
    known = isinstance(plain, (int, float, Decimal, Fraction)) and not isinstance(plain, bool)
    if not known or not math.isfinite(plain) or abs(plain) >= _LARGEST:
        raise UsageError(
            f"a code of {column!r} is a finite number, a text, or a range such as [-9, -1], not "
            f"{shown_value(value)}"
        )
    return int(plain) if plain == int(plain) else float(plain)


# ---- in a table


def with_missing(
    schema: Schema, relation: str, codes: Mapping[str, Sequence[Code]], d: Dialect
) -> str:
    """Return the relation with declared codes as NULL; raise where they do not fit a column."""
    # A column that cannot be read at all is left out, as in a join.
    conditions = {}
    for name, listed in codes.items():
        if name not in schema:
            raise UsageError(
                f"missing= has codes for {name!r}, and there is no such column; "
                f"{did_you_mean(name, schema)}"
            )
        conditions[name] = _is_code_sql(schema[name], listed, schema, d)
    if not any(conditions.values()):
        return relation
    shown = []
    for name, column in schema.items():
        if column.kind == "other" and not column.reads:
            continue
        cell, test = d.column(name), conditions.get(name)
        value = f"case when {test} then null else {cell} end" if test else cell
        shown.append(f"{value} as {d.identifier(name)}")
    return f"(select {', '.join(shown)} from {relation} as tacit_rows)"


def _is_code_sql(column: Column, codes: Sequence[Code], schema: Schema, d: Dialect) -> str:
    """Return the SQL of whether a cell is a code; empty where none can be."""
    numbers: list[Any] = [code for code in codes if not isinstance(code, str)]
    words = [code for code in codes if isinstance(code, str)]
    kind, name = column.kind, column.name
    if kind == "missing":
        return ""
    value = column_sql(col(name), schema, d) if kind != "other" else ""
    if kind == "date":
        bad = [code for code in codes if not isinstance(code, str) or not is_date(code)]
        _refuse(bad, name, "dates: write a code as a day, '1900-01-01'")
        days = ", ".join(d.literal(datetime.date.fromisoformat(word)) for word in words)
        return f"{value} in ({days})"
    if kind in ("text", "undeclared"):
        return _text_sql(column, value, numbers, words, d)
    if kind not in ("integer", "float", "decimal"):
        why = "true and false" if kind == "boolean" else f"the type {column.declared}"
        _refuse(codes, name, f"{why}, which has no codes: any other cell is missing already")
    _refuse(words, name, "numbers: write a number without quotes; a text is missing already")
    if kind == "integer":
        _refuse([n for n in numbers if isinstance(n, float)], name, "integers")
        return _within(column.itself(d.column(name)), _whole(numbers), d)
    single = column.declared.upper() in ("FLOAT", "REAL")
    return _within(value, _doubles(numbers, single=single), d)


def _refuse(codes: Iterable[Code], name: str, why: str) -> None:
    for code in codes:
        raise UsageError(
            f"missing= has the code {code_words(code)} for {name!r}, a column of {why}"
        )


def _text_sql(
    column: Column, cell: str, numbers: Sequence[Any], words: Sequence[str], d: Dialect
) -> str:
    """Return whether text is a code: equal as a number to a number, as text to a word."""
    tests = []
    if words:
        trimmed = d.as_is.format(x=f"trim(both {d.literal(' ')} from {cell})")
        tests.append(f"{trimmed} in ({', '.join(map(d.literal, words))})")
    if numbers:
        far = [
            n for n in numbers for end in (n if isinstance(n, list) else [n]) if abs(end) > _EXACT
        ]
        why = "text, whose numbers are exact up to 2^53: declare it as an integer"
        _refuse(far, column.name, why)
        doubles = _doubles(numbers)
        number = reading_sql("read_number", column.number_text(cell), d)
        tests.append(_within(number, doubles, d))
    if numbers and not column.numbers:
        pattern = d.literal(d.whole.format(p=_COMMA))
        point = reading_sql("read_number", f"replace({cell}, ',', '.')", d)
        comma = d.matches.format(x=cell, p=pattern)
        tests.append(f"({comma} and {_within(point, doubles, d)})")
    return " or ".join(tests)


def _within(value: str, codes: Sequence[Any], d: Dialect) -> str:
    """Return whether a number is one of the codes, or in one of the ranges."""
    single = [d.literal(code) for code in codes if not isinstance(code, list)]
    ranges = [code for code in codes if isinstance(code, list)]

    def tests(x: str) -> str:
        parts = [f"{x} in ({', '.join(single)})"] if single else []
        parts += [f"{x} between {d.literal(low)} and {d.literal(high)}" for low, high in ranges]
        return f"({' or '.join(parts) or 'false'})"

    return d.share(value, tests) if len(ranges) + bool(single) > 1 else tests(value)


def _whole(codes: Sequence[Any]) -> list[Any]:
    ranges = [c for c in codes if isinstance(c, list)]
    inside = [[math.ceil(low), math.floor(high)] for low, high in ranges]
    return [c for c in codes if not isinstance(c, list)] + [r for r in inside if r[0] <= r[1]]


def _doubles(codes: Sequence[Any], *, single: bool = False) -> list[Any]:
    """Return codes as doubles; of a column of single precision as it rounds them, too."""
    # 99.9 in such a column is the float nearest to it, which is another double.
    listed: list[Any] = []
    for code in codes:
        ends = [float(end) for end in (code if isinstance(code, list) else [code])]
        rounded = [float(np.float32(end)) for end in ends] if single else ends
        if isinstance(code, list):
            listed.append([min(ends[0], rounded[0]), max(ends[1], rounded[1])])
        else:
            listed += sorted({*ends, *rounded})
    return listed
