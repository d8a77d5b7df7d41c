"""List the members of a small domain; shorten one that is infinite, and say so nowhere silently."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from tacit.core import Category, Domain, Frame, Number, Vector
from tacit.errors import UsageError

__all__ = ["members"]

_MOST = 2000
_SIZE = 3
"""The length up to which vectors of no public size are listed."""


def members(domain: Domain) -> list[Any]:
    """List the members of a domain, in units that a caller would write.

    Whole numbers between bounds are all listed, and -2..2 where there are no bounds (near a lone
    bound: five from there); floats by their bounds, the middle, and a missing value; vectors of
    unknown length up to three members.

    Raises:
        UsageError: more than 2,000 members, or a kind that cannot be listed.

    >>> members(Vector(Number("int", 0, 1), size=2))
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    found = list(itertools.islice(_members(domain), _MOST + 1))
    if len(found) > _MOST:
        raise UsageError(
            f"this domain has more than {_MOST} members ({domain}); give a list of data sets, a "
            "smaller domain, or pairs="
        )
    return found


def _members(domain: Domain) -> Iterator[Any]:
    if isinstance(domain, Number):
        yield from _numbers(domain)
    elif isinstance(domain, Category):
        yield from domain.categories or ("a", "b", "c")
    elif isinstance(domain, Vector):
        sizes = range(_SIZE + 1) if domain.size is None else (domain.size,)
        elements = list(itertools.islice(_members(domain.element), _MOST))
        for size in sizes:
            yield from map(list, itertools.product(elements, repeat=size))
    elif isinstance(domain, Frame):
        columns = [list(_members(kind)) for _, kind in domain.columns]
        rows = list(itertools.product(*columns))
        for size in range(3) if domain.size is None else (domain.size,):
            for chosen in itertools.combinations_with_replacement(rows, size):
                yield {n: [row[i] for row in chosen] for i, n in enumerate(domain.names)}
    else:
        raise UsageError(f"{domain} cannot be listed: give a list of data sets, or pairs=")


def _numbers(domain: Number) -> Iterator[Any]:
    step = domain.grid or (Fraction(1) if domain.kind == "int" else None)
    low, high = domain.lower, domain.upper
    if step is None:
        ends = [e for e in (low, high) if e is not None] or [Fraction(-1), Fraction(1)]
        yield from dict.fromkeys([float(ends[0]), float(sum(ends) / len(ends)), float(ends[-1])])
        if domain.nullable:
            yield math.nan
        return
    if low is None:
        low = -2 * step if high is None else high - 4 * step
    last = low + 4 * step if high is None else high
    first = math.ceil(low / step)
    for unit in range(first, math.floor(last / step) + 1):
        value = unit * step
        yield int(value) if value.denominator == 1 else value
