"""Pairs of neighbours on which a mechanism may lose the most, proposed without running it.

What breaks mechanisms is at the ends: the bounds, numbers that are no numbers, nothing at all,
ties, one record beside many equal ones.  So data sets are made of the extremes of a domain, and
neighbours by the largest moves that the metric allows.  Every pair that is proposed lies in the
domain, at a distance of at most ``d_in``, as the metric computes it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise, zip_longest
from typing import Any

from tacit.core import (
    AbsoluteDistance,
    Category,
    ChangeOneDistance,
    Domain,
    Frame,
    Number,
    Space,
    Vector,
)
from tacit.errors import TacitError
from tacit.statistics import Interval, sensitivity

__all__ = ["Pair", "changed", "proposed"]

Pair = tuple[Any, Any]

_HOSTILE = (0, 1, -1, 0.5, -0.0, 2**53 + 1, 2**63 - 1, 1e308, -1e308, 5e-324)
_ODD = (math.nan, math.inf, -math.inf, None)
_TEXTS = ("", "a", "A", "a ", "\0", "\u00e9", "e\u0301", "0", "null", "'")
_SIZES = (0, 1, 2, 5)


def extremes(domain: Domain) -> list[Any]:
    """Return the members of a domain of single values that are most likely to do harm.

    >>> extremes(Number("int", 0, 12))
    [0, 12, 1]
    """
    if isinstance(domain, Category):
        return list(domain.categories or _TEXTS)
    if not isinstance(domain, Number):
        return []
    ends = [e for e in (domain.lower, domain.upper) if e is not None]
    whole = domain.kind == "int"
    found: list[Any] = [int(e) if whole or e.denominator == 1 else float(e) for e in ends]
    hostile = _HOSTILE if whole else map(float, _HOSTILE)
    found = [*found, *hostile, *_ODD]
    return [x for i, x in enumerate(found) if domain.contains(x) and x not in found[:i]]


def data_sets(space: Space, draw: random.Random) -> Iterator[Any]:
    """Yield members of a space: all equal, halves, of several sizes, and some at random."""
    domain = space.domain
    if isinstance(domain, Vector):
        ends = extremes(domain.element)
        for size in _SIZES if domain.size is None else (domain.size,):
            for end in ends[:6]:
                yield [end] * size
            for first, second in pairwise(ends[:3]):
                for part in {size // 2, 1 if size > 1 else 0, max(0, size - 1)}:
                    yield [first] * part + [second] * (size - part)
    elif isinstance(domain, Frame):
        for size in _SIZES if domain.size is None else (domain.size,):
            columns = [(name, extremes(kind) or [None]) for name, kind in domain.columns]
            yield {name: [ends[0]] * size for name, ends in columns}
            yield {name: [draw.choice(ends) for _ in range(size)] for name, ends in columns}
    else:
        yield from extremes(domain)
    for _ in range(4):
        yield domain.sample(draw)


def moves(space: Space, data: Any, d_in: Fraction, draw: random.Random) -> Iterator[Any]:
    """Yield data sets near one: records added, left out or changed, numbers moved."""
    domain = space.domain
    if isinstance(domain, Frame):
        row = {name: draw.choice(extremes(kind) or [None]) for name, kind in domain.columns}
        yield {name: [*data[name], row[name]] for name in domain.names}
        yield {name: list(data[name])[:-1] for name in domain.names}
    elif not isinstance(domain, Vector):
        yield from extremes(domain)
        if isinstance(space.metric, AbsoluteDistance):
            yield from (_as_kind(domain, data, step) for step in (d_in, -d_in))
    else:
        yield from _vector_moves(domain, list(data), d_in, draw)


def _vector_moves(
    domain: Vector, data: list[Any], d_in: Fraction, draw: random.Random
) -> Iterator[Any]:
    ends = extremes(domain.element)
    if domain.size is None:
        yield from ([*data, end] for end in ends)
        yield from (data[:place] + data[place + 1 :] for place in {0, len(data) - 1} if data)
    if not data:
        return
    place = draw.randrange(len(data))
    yield from ([*data[:place], end, *data[place + 1 :]] for end in ends)
    for signs in ([1] * len(data), [-1] * len(data), [draw.choice((-1, 1)) for _ in data]):
        yield [_as_kind(domain.element, x, s * d_in) for x, s in zip(data, signs, strict=True)]
    for part in {len(data) // 2, 1, len(data) - 1}:
        for sign in (1, -1):  # the first ones up and the others down, or the other way
            signs = [sign] * part + [-sign] * (len(data) - part)
            yield [_as_kind(domain.element, x, s * d_in) for x, s in zip(data, signs, strict=True)]
    for step in (d_in, -d_in):
        yield [*data[:place], _as_kind(domain.element, data[place], step), *data[place + 1 :]]


def _as_kind(domain: Domain, value: Any, step: Fraction) -> Any:
    """Return a number moved by a step; where that leaves the domain, the number as it was."""
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        return value
    moved: Any = Fraction(value) + step
    whole = isinstance(domain, Number) and domain.kind == "int"
    moved = int(moved) if whole else float(moved)
    return moved if domain.contains(moved) else value


def proposed(
    space: Space,
    d_in: Fraction,
    draw: random.Random,
    statistic: str | Callable[[Any], Any] | None = None,
) -> list[Pair]:
    """Return pairs of neighbours, each once: first those that a sensitivity is attained at.

    >>> from tacit.arithmetic.mixing import Repeatable
    >>> from tacit.core import SymmetricDistance
    >>> space = Space(Vector(Number("int", 0, 9)), SymmetricDistance())
    >>> proposed(space, Fraction(1), Repeatable(0), "sum")[0]
    ([0, 0], [0, 0, 9])
    """
    found = _witnesses(space, statistic)
    each = [
        [(data, other) for other in moves(space, data, d_in, draw)]
        for data in data_sets(space, draw)
    ]
    # one pair of each data set in turn, each beginning with another move: all ends come early
    turned = [
        pairs[i % len(pairs) :] + pairs[: i % len(pairs)] for i, pairs in enumerate(each) if pairs
    ]
    for turn in zip_longest(*turned):
        found += [pair for pair in turn if pair is not None]
    near = [pair for pair in found if _is_near(space, pair, d_in)]
    return list({repr(pair): pair for pair in near}.values())


def changed(space: Space, pair: Pair, d_in: Fraction, draw: random.Random) -> list[Pair]:
    """Return neighbours that are near a pair: one step of hill climbing."""
    found: list[Pair] = []
    for data in (pair[0], pair[1], *moves(space, pair[0], d_in, draw)):
        found += [(data, other) for other in moves(space, data, d_in, draw)]
    draw.shuffle(found)
    return [other for other in found if _is_near(space, other, d_in)]


def _is_near(space: Space, pair: Pair, d_in: Fraction) -> bool:
    try:
        if not all(space.domain.contains(data) for data in pair):
            return False
        return 0 < Fraction(space.metric.distance(*pair)) <= d_in
    except (TacitError, TypeError, ValueError, OverflowError):
        return False


def _witnesses(space: Space, statistic: Any) -> list[Pair]:
    domain = space.domain
    if (
        statistic is None
        or not isinstance(domain, Vector)
        or not isinstance(domain.element, Number)
    ):
        return []
    low, high = domain.element.lower, domain.element.upper
    relation: Any = "bounded" if isinstance(space.metric, ChangeOneDistance) else "unbounded"
    if low is None or high is None:
        return []
    found: list[Pair] = []
    for size in (2, 5) if domain.size is None else (domain.size,):
        try:
            pair = sensitivity(
                statistic, over=Interval(low, high, size=size), relation=relation
            ).witness
        except TacitError:
            continue
        if pair is not None:
            kind = int if domain.element.kind == "int" else float
            found.append(([kind(x) for x in pair[0]], [kind(x) for x in pair[1]]))
    return found
