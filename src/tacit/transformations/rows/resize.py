"""Resize: a public number of records, whatever came in."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from tacit.arithmetic.exact import as_fraction, as_integer
from tacit.core import (
    ChangeOneDistance,
    HammingDistance,
    Number,
    Space,
    Step,
    SymmetricDistance,
    Transformation,
    Vector,
    register,
)
from tacit.errors import MismatchError, UsageError
from tacit.transformations.rows.record_distance import records_of

__all__ = ["Resize"]


@register
@dataclass(frozen=True)
class Resize(Step):
    """Keep ``size`` records; where there are fewer, add copies of a public ``value``.

    Under Hamming and insert-delete distance the first ``size`` records are kept, in order.  Under
    the symmetric and change-one distance, which forget the order, that would not be stable (two
    orders of one multiset would lose different records).  There a multiset is a set of pairs
    (value, how many equal ones came before), and those ``size`` pairs are kept whose public hash is
    least: a choice as good as random that depends on the multiset alone.

    **Map.** Let S(A) be the ``size`` least of a set A (with enough copies of ``value`` behind
    them).

    - Symmetric distance, ``d -> 2 d``: one record that comes puts one pair into A, so it enters
      S(A) at most once and then pushes out one (a record or a copy of ``value``); and vice versa.
    - Change-one, ``d -> d``: let C be what u and v have in common but one.  S(C + a) and S(C + b)
      both hold the ``size - 1`` least of C, so they differ in at most one record.
    - Hamming, ``d -> d``: position by position.  Insert-delete, ``d -> 2 d``: an insertion shifts
      one record out at the end, a deletion shifts one in.

    Args:
        size: how many records the output has; public, at least 1.
        value: what is added where records are missing; a member of the column.

    Raises:
        UsageError: a size below one, or a value that the column cannot hold.

    Example:
        >>> column = Space(Vector(int), SymmetricDistance()) >> Resize(4, value=0)
        >>> sorted(column([5, 6]).tolist()), column.map(1)
        ([0, 0, 5, 6], Fraction(2, 1))
    """

    size: int
    value: object

    name: ClassVar[str] = "resize"

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", as_integer(self.size, "size", minimum=1))

    def build(self, space: Space) -> Transformation:
        """Return the resizing of a column.

        Args:
            space: what the step works on: a space, or the end of a chain before it.

        Raises:
            MismatchError: the space is not a column of records.
            UsageError: the value is outside the column's domain.
        """
        domain = records_of(space, self)
        if not isinstance(domain, Vector):
            raise MismatchError(f"resize works on a column, not on {domain}", space, self)
        numbers = isinstance(domain.element, Number)
        value = as_fraction(self.value, "value") if numbers else self.value
        if not domain.element.contains(value):
            raise UsageError(f"the value of resize is not in the domain: {domain.element}")
        output = Vector(domain.element, size=self.size)
        filler = domain.element.read(value)
        unordered = isinstance(space.metric, (SymmetricDistance, ChangeOneDistance))

        def resize(column: Any) -> Any:
            listed = column.tolist() if hasattr(column, "tolist") else list(column)
            kept = _least(listed, self.size) if unordered else listed[: self.size]
            filled = kept + [filler] * (self.size - len(kept))
            return _like(filled, column)

        fixed = isinstance(space.metric, (ChangeOneDistance, HammingDistance))
        factor = 1 if fixed or (domain.size is not None and unordered) else 2
        return Transformation(
            space, Space(output, space.metric), resize, lambda d: d * factor, step=self
        )


def _least(records: list[Any], size: int) -> list[Any]:
    """Keep the records whose hash, with the number of equals before them, is least."""
    seen: Counter[Any] = Counter()
    marked = []
    for record in records:
        key = _key(record)
        digest = hashlib.blake2b(f"{seen[key]} {key}".encode(), digest_size=16).digest()
        marked.append((digest, record))
        seen[key] += 1
    marked.sort(key=lambda pair: pair[0])
    return [record for _, record in marked[:size]]


def _key(record: Any) -> str:
    """Write a record so that equal ones are written the same (1, 1.0 and True; 0.0 and -0.0)."""
    if isinstance(record, (bool, int, float)):
        return repr(Fraction(record)) if math.isfinite(record) else str(float(record))
    if isinstance(record, tuple):
        return repr([_key(part) for part in record])
    return repr(record)


def _like(listed: list[Any], column: Any) -> Any:
    return np.array(listed, dtype=column.dtype) if hasattr(column, "dtype") else listed
