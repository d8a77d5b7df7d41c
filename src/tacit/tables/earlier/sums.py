"""Which cells of a table a count adds up: those that hold exactly what is asked of each column."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.tables.earlier.counted import CountedCells
from tacit.tables.earlier.region import Between, Condition, Listed
from tacit.tables.spec.cell_axis import Axis

__all__ = ["between", "weights_of"]

Array = NDArray[np.float64]


def between(axis: Axis, low: Fraction, high: Fraction, *, closed: bool) -> slice | None:
    """Return the bins that hold exactly the values between two bounds; None where none do.

    The last bin holds its upper edge, the others do not.

    >>> ages = Axis(("age",), edges=(Fraction(0), Fraction(18), Fraction(99)))
    >>> between(ages, Fraction(0), Fraction(99), closed=True)
    slice(0, 2, None)
    >>> between(ages, Fraction(0), Fraction(18), closed=True) is None
    True
    """
    if low not in axis.edges or high not in axis.edges or low >= high:
        return None
    if closed != (high == axis.edges[-1]):
        return None
    return slice(axis.edges.index(low), axis.edges.index(high))


def weights_of(
    table: CountedCells,
    names: Sequence[Sequence[str]],
    filters: Sequence[Mapping[str, Condition]],
    asked: Mapping[str, Condition],
    bins: tuple[int, Array] | None,
) -> list[Array] | None:
    """Return of each axis which cells are added up; None where no cells are just what is asked.

    Args:
        table: the cells.
        names: of each axis the columns.
        filters: of each axis the conditions that hold in its first cell, where it is a filter.
        asked: what is asked of columns, all at once.
        bins: the axis that is read in bins, and the cells of each number.
    """
    left, found = dict(asked), []
    for place, axis in enumerate(table.axes):
        if bins is not None and place == bins[0]:
            found.append(bins[1])
            continue
        cells = np.zeros((1, table.values.shape[place]))
        used = _cells(axis, names[place], filters[place], left, cells)
        if used is None:
            return None
        if not used:
            if not table.complete[place]:
                return None
            cells[:] = 1.0
        for text in used:
            del left[text]
        found.append(cells)
    return None if left else found


def _cells(
    axis: Axis,
    names: Sequence[str],
    filtered: Mapping[str, Condition],
    left: Mapping[str, Condition],
    cells: Array,
) -> list[str] | None:
    """Mark the cells of an axis that hold what is asked, and return what of it they hold.

    Returns:
        None where something is asked of the axis that its cells do not tell apart.
    """
    if filtered and set(filtered) <= set(left):
        cells[:, 0] = 1.0
        return list(filtered)
    if axis.edges:
        for text, one in left.items():
            if isinstance(one, Between) and one.column == names[0]:
                bins = between(axis, one.low, one.high, closed=one.closed)
                if bins is not None:
                    cells[:, bins] = 1.0
                    return [text]
        return []
    used = [text for text, one in left.items() if isinstance(one, Listed) and one.column in names]
    if not used:
        return []
    allowed = []
    for name in names:
        each = [one.values for text in used if (one := left[text]).column == name]  # type: ignore[union-attr]
        if not each:
            return None
        allowed.append(frozenset.intersection(*each))
    known, many = axis.exact_places, math.prod(map(len, allowed))
    if many > len(known):  # a value that has no cell of its own
        return None
    kept = [known.get(key, -1) for key in itertools.product(*allowed)]
    if -1 in kept:
        return None
    cells[:, kept] = 1.0
    return used
