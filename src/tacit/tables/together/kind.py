"""Counts of cells as a kind of answer, which only a plan of several questions asks for."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from tacit.arithmetic.exact import as_integer
from tacit.errors import UsageError
from tacit.report.text.words import listed
from tacit.tables.answers.aggregate import Aggregate, Kind, Setting, register_kind
from tacit.tables.chain.part import Part
from tacit.tables.spec.cell_axis import Axis, axis_from
from tacit.tables.together.asked_cells import AskedCells, key_of
from tacit.tables.together.cell_counts import CellsPart
from tacit.tables.together.reading import READINGS, SHARES, names_of

__all__ = ["CELL_KINDS", "cells_asked"]

CELL_KINDS = ("cell_counts", "cell_shares")


def cells_asked(
    axes: Sequence[Axis],
    importance: int = 1,
    reading: str = "cells",
    *,
    nonnegative: bool = False,
) -> Aggregate:
    """Ask for the number of rows in each listed cell of some axes, or cumulative shares of them.

    >>> print(cells_asked([Axis(("sex",), (("f",), ("m",)))]))
    cell_counts(sex)
    """
    return Aggregate(
        CELL_KINDS[reading == SHARES],
        axes=tuple(axes),
        importance=importance,
        reading=reading,
        nonnegative=nonnegative,
    )


def _asked(aggregate: Aggregate) -> AskedCells:
    axes, importance = aggregate.axes or (), aggregate.importance
    return AskedCells(axes, importance, aggregate.reading, aggregate.nonnegative)


class _CellCounts(Kind):
    def key(self, asked: Aggregate) -> str:
        return key_of(_asked(asked))

    def label(self, asked: Aggregate) -> str:
        return "_by_".join(["count", *(axis.name for axis in asked.axes or ())])

    def names(self, asked: Aggregate) -> list[str] | None:
        """Return what its cells are called."""
        if not asked.axes:
            return None
        *groups, last = asked.axes
        own = last.names if asked.reading == "cells" else names_of(asked.reading, last.edges)
        each = [*(axis.names for axis in groups), own]
        return [", ".join(cell) for cell in itertools.product(*each)]

    def read(self, described: Mapping[str, Any]) -> Aggregate:
        importance = as_integer(described.get("importance", 1), "an importance", minimum=1)
        axes, reading = [axis_from(axis) for axis in described["axes"]], described.get("reading")
        known = (*READINGS, SHARES)
        if reading is not None and (reading not in known or not axes or not axes[-1].edges):
            raise UsageError(f"the bins of a column are read as {', '.join(known)}")
        if (reading == SHARES) is not (self.name == CELL_KINDS[1]):
            raise UsageError("cumulative shares are a kind of their own")
        lifted = described.get("nonnegative", False)
        if lifted is not ("nonnegative" in described):
            raise UsageError("nonnegative is true, or is left out")
        return cells_asked(axes, importance, reading or "cells", nonnegative=lifted)

    def words(self, described: Mapping[str, Any]) -> str:
        axes = [axis_from(axis) for axis in described["axes"]]
        each = [f"{axis.name} ({', '.join(axis.names)})" for axis in axes]
        if described.get("reading") == "ranges":
            each[-1] = f"every range of the bins of {each[-1]}"
        elif described.get("reading") == "prefix_sums":
            each[-1] = f"the bins of {each[-1]} added up from the first one"
        least = ", none below zero" if described.get("nonnegative") else ""
        if described.get("reading") == SHARES:
            *groups, last = each
            by = f" by {listed(groups)}" if groups else ""
            return f"the share of the values of {last} up to the end of each bin{by}"
        return "the number of rows" + (f" by {listed(each)}" if each else "") + least

    def shared(self, asked: Aggregate) -> Any:
        return CellsPart

    def part(self, asked: Aggregate, setting: Setting, before: Part | None) -> Part:
        known = before.asked if isinstance(before, CellsPart) else ()
        return CellsPart((*known, _asked(asked)))


for _name, _what, _each in zip(
    CELL_KINDS, ("number of rows in", "share of rows up to"), ("rows", "share"), strict=True
):
    register_kind(
        _CellCounts(
            name=_name,
            order=1000 + 10 * CELL_KINDS.index(_name),
            make=cells_asked,
            help=f"The {_what} each cell of some columns.",
            noun=f"the {_what} each cell",
            fields=("axes",),
            amount=_each == "rows",
            each=("cell", _each),
            alone=False,
        )
    )
