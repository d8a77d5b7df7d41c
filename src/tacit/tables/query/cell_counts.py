"""Counts of the rows of each group, by bin or by cell of a grid."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tacit.errors import UsageError
from tacit.expressions.bin_sql import bins_sql
from tacit.expressions.integer_sql import Whole, product
from tacit.tables.engines.base import Engine
from tacit.tables.query.weighted_rows import BoundedRows, Term

__all__ = ["bins", "cells", "check_places"]


def bins(rows: BoundedRows, z: str, edges: Sequence[int], groups: int, engine: Engine) -> Any:
    """Return the weights between the edges: integers of shape (groups, bins)."""
    size = len(edges) - 1
    codes, found, weights = _counted(
        bins_sql(z, edges, engine.dialect), size, groups, rows, z, engine
    )
    counts = np.zeros((groups, size), dtype=np.int64)
    counts[codes, found] = weights
    return counts


def cells(
    rows: BoundedRows, z: str, size: int, shift: int, lists: int, engine: Engine
) -> list[tuple[Any, Any]]:
    """Return the cells ``z >> shift`` that occur, rising, and their weights, for each list.

    Args:
        rows: the rows; the code of a row says which list it is counted in.
        z: the column of the offset.
        size: how many cells there are before the shift.
        shift: how many bits of the offset are left out.
        lists: how many lists there are.
        engine: where the rows are.
    """
    cell = engine.dialect.shift(z, shift)
    codes, found, weights = _counted(cell, (size >> shift) + 1, lists, rows, z, engine)
    ends = np.searchsorted(codes, np.arange(lists + 1))
    return [(found[a:b].copy(), weights[a:b].copy()) for a, b in itertools.pairwise(ends)]


def check_places(lists: int, cells: int) -> None:
    """Refuse more places than numbers of 64 bits distinguish.

    Raises:
        UsageError: there are ``lists`` times ``cells`` of them, or more.
    """
    if lists * cells > 1 << 63:
        raise UsageError(
            f"{lists} groups or bins of {cells} cells each are more than can be distinguished: "
            "list fewer keys, or ask for fewer bins"
        )


def _counted(
    cell: str, cells: int, lists: int, rows: BoundedRows, z: str, engine: Engine
) -> list[Any]:
    """Return the codes, cells and weights that occur, in order."""
    check_places(lists, cells)
    d = engine.dialect
    found = d.cast(cell, "integer")
    column = "u" if rows.heavy else rows.weight
    if type(rows) is BoundedRows and not column:
        if d.byte and cells <= 1 << 8:
            found = d.byte.format(x=found)
        by, also = ("code, ", f"{d.cast('code', 'integer')} as list, ") if lists > 1 else ("", "")
        # rows without a value are a place of their own, which is left out once all are counted
        own = f"select {also}{found} as cell, count({z}) as weight from ({rows.base}) as r"
        own += f" group by {by}{found} having count({z}) > 0"
        *several, occurring, numbers = engine.integers(own)
        codes = several[0] if several else np.zeros_like(occurring)
        order = (codes * cells + occurring).argsort()  # each comes once
        return [codes[order], occurring[order], rows.one * numbers[order]]
    # of rows that weigh differently, group and cell are one whole number, by which an engine groups
    # fastest that keeps this number of each row first: it knows then how far the numbers reach
    place = found
    if lists > 1:
        first = product([Whole("code", 0, lists - 1), Whole(d.literal(cells), cells, cells)], d)
        place = f"{first.sql} + {found}"
    if d.byte and lists * cells <= 1 << 8:
        place = d.byte.format(x=place)
    if not (d.keeps and column):
        return _read(rows.sums(place, [Term()], f"{z} is not null"), cells, engine)
    place = f"case when {z} is not null then {place} end"
    kept = engine.materialise(f"select {place} as place, {column} from ({rows.base}) as r")
    try:
        again = replace(rows, base=f"select place, {column} from {kept}", kept=True)
        return _read(again.sums("place", [Term()], "place is not null"), cells, engine)
    finally:
        engine.drop(kept)


def _read(lines: str, cells: int, engine: Engine) -> list[Any]:
    d = engine.dialect
    weight = d.cast(f"scale * {d.cast('s0', 'integer')}", "integer")
    sql = f"select place, {weight} as weight from ({lines}) as lines"
    places, weights = engine.integers(sql)
    return _in_order(places, weights, cells)


def _in_order(places: Any, weights: Any, cells: int) -> list[Any]:
    order = np.argsort(places, kind="stable")
    places, weights = places[order], weights[order]
    del order  # these are as long as there are places, beside the memory that the engine may use
    # a place with rows of heavy people comes twice: with all its rows, and with what they lose
    first = np.flatnonzero(np.diff(places, prepend=-1))
    places, weights = places[first], np.add.reduceat(weights, first) if len(first) else weights
    return [*np.divmod(places, cells), weights]
