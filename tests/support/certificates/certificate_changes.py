"""Every small change of a certificate that keeps it JSON, and what must be said of those that pass.

A change is made at one place: a number moved up, down, across zero, to a huge one; a text changed;
a part dropped, added, doubled, renamed, put in another order, or swapped with that beside it.  Then
the certificate is sealed again, as whoever forges one would.
"""

from __future__ import annotations

import copy
import functools
import itertools
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import tacit as tc
from tacit.accounting.ledger_chain import canonical
from tacit.report.issued import difference, digest

Path = tuple[Any, ...]


def sealed(body: dict[str, Any]) -> tc.Certificate:
    """Return the certificate with a seal of its own."""
    return tc.Certificate({**body, "digest": digest(body)})


def changed(body: dict[str, Any], path: Path, value: Any) -> tc.Certificate:
    """Return a copy with another value at a place, sealed again."""
    other = copy.deepcopy(body)
    part: Any = other
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    return sealed(other)


def is_default(path: Path, value: Any, body: dict[str, Any]) -> bool:
    """Tell whether a change only leaves out an option of a method, as whoever asks may.

    Where its default is what the question said, the certificate is that of the same release.
    """
    if re.fullmatch(r"question\.query\.aggregates\.\d+\.1\.method", ".".join(map(str, path))):
        said = functools.reduce(lambda part, step: part[step], path, body)
        return isinstance(value, dict) and "name" in value and value.items() < said.items()
    return False


def changes(body: dict[str, Any]) -> Iterator[tuple[Path, Any]]:
    """Yield every change as its place and the new value."""
    for path, value in _places(body):
        if path == ("digest",):
            continue
        for other in _others(value):
            if canonical({"": other}) == canonical({"": value}):
                continue
            # Numbers of the answer that differ by a rounding alone are the same to who verifies.
            moved = path[0] == "answer" and isinstance(other, list | dict)
            if not moved or difference(other, value, close=True) is not None:
                yield path, other


def _places(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if path:
        yield path, value
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _places(inner, (*path, name))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _places(inner, (*path, place))


def _others(value: Any) -> Iterator[Any]:
    if isinstance(value, bool):
        yield from (not value, int(value), None)
    elif isinstance(value, int):
        yield from (value + 1, value - 1, -value, 0, 10**30, str(value), None, [value])
    elif isinstance(value, float):
        yield from (value * 1.5, value * (1 + 1e-6), -value - 1, 0.0, 1e300, str(value), None)
    elif isinstance(value, str):
        yield from _texts(value)
    elif value is None:
        yield from (0, "", "x", [])
    elif isinstance(value, list):
        yield from _lists(value)
    elif isinstance(value, dict):
        yield from _dicts(value)


def _texts(value: str) -> Iterator[Any]:
    yield from (value + "x", "", None, [value])
    try:
        number = Fraction(value)
    except (ValueError, ZeroDivisionError):
        return
    yield from (str(number + 1), str(number / 2), str(-number - 1), "0", "1e30", f"{value}.0")
    yield from ("1e-999999999", "1e5000000")


def _lists(value: list[Any]) -> Iterator[Any]:
    yield from ([], [*value, None], value[::-1])
    if value:
        yield from (value[1:], value[:-1], [*value, value[-1]], [value[0], *value])
    if len(value) > 1:
        yield [value[1], value[0], *value[2:]]


def _dicts(value: dict[str, Any]) -> Iterator[Any]:
    names = list(value)
    yield from ({}, {**value, "more": 1})
    for name in names:
        yield {k: v for k, v in value.items() if k != name}
        yield {k + "s" if k == name else k: v for k, v in value.items()}
    for one, other in itertools.pairwise(names):
        yield {**value, one: value[other], other: value[one]}


OPEN = {
    r"question\.tag|versions\..*|versions|spent|spent\.(budget|remaining).*": "give the ledger",
    r"ledger\..*|ledger": "give the ledger",
    r"table\.\d+(\.1)?|table": "columns of the table are of the kinds",
    r"answer\.columns\.\d+\.method(\.(errors|left_out).*)?": "expected errors that a method",
    r"answer\.keys.*|answer": "that these groups, and no others",
    r"answer\.released.*": "the released numbers themselves",
    r"chains\.\d+\.steps\.\d+\.sums.*": "the sums of counts that its step states",
    r"spent\.cost.*": "why more was paid",
    r"question\.request\.delta": "nothing used it",
}
"""Fields that may change without the ledger, with their names among the unchecked ones."""

FIRST = {
    **OPEN,
    r"answer\.columns.*\.(value|low|high|standard_error|refused).*": "the first format",
    r"answer\.columns\.\d+": "the first format",
    r"chains\.\d+\.steps\.\d+\.kind": "the first format",
}
"""The same for certificates of the first format."""


def named(path: Path, unchecked: list[str], patterns: dict[str, str]) -> bool:
    """Tell whether what stands at a place is named among what could not be checked."""
    place = ".".join(map(str, path))
    told = " ".join(unchecked)
    return any(
        re.fullmatch(pattern, place) is not None and said in told
        for pattern, said in patterns.items()
    )
