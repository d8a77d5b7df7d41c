"""The counts that a certificate publishes, as cells of which other counts are sums."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tacit.report.check.format import FORMAT
from tacit.report.check.issued import canonical_text
from tacit.report.check.planner import planner
from tacit.tables.answers.histogram import HistogramPart
from tacit.tables.answers.rows import RowsPart
from tacit.tables.chain.part import Noise, law_of_rows
from tacit.tables.earlier.counted import AloneCells, CountedCells, FamilyCells, MarginalCells
from tacit.tables.earlier.region import Condition, column_name, conditions_of, rows_of
from tacit.tables.plan.plan import Plan
from tacit.tables.plan.query import Query, plain_key
from tacit.tables.spec.cell_axis import Axis
from tacit.tables.together.cell_counts import CellsPart

__all__ = ["Release", "release_of"]


@dataclass(frozen=True, eq=False)
class Release:
    """An earlier release, as far as it counted rows.

    Attributes:
        body: its certificate.
        query: what was asked.
        tables: the counts of cells.
    """

    body: Mapping[str, Any]
    query: Query
    tables: tuple[CountedCells, ...]

    @cached_property
    def rows(self) -> str:
        """Which rows it is about before its filters."""
        return rows_of(self.query)

    @cached_property
    def conditions(self) -> dict[str, Condition]:
        """What its filters ask for."""
        return conditions_of(self.query)

    @cached_property
    def text(self) -> bytes:
        """Its certificate as text, as the digest of one that holds it takes it."""
        return canonical_text(self.body)

    @cached_property
    def named(self) -> list[tuple[CountedCells, list[list[str]], list[dict[str, Condition]]]]:
        """The tables, each with the columns of its axes, and what holds in those that are filters.

        What holds is of the first cell of an axis that is a filter; nothing for others.
        """
        return [
            (
                table,
                [[column_name(self.query, name) for name in axis.columns] for axis in table.axes],
                [self._filter_of(axis) for axis in table.axes],
            )
            for table in self.tables
        ]

    def _filter_of(self, axis: Axis) -> dict[str, Condition]:
        (name, *more), derived = axis.columns, self.query.resolved
        if more or name not in derived or axis.keys != ((True,),):
            return {}
        return conditions_of(replace(self.query, where=(derived[name],)))


def release_of(body: Mapping[str, Any]) -> Release | None:
    """Return what a certificate publishes of counts, or None where it publishes none.

    Unknown groups are no cells: which of them are shown was found in the data.

    Raises:
        UsageError: the certificate does not fit its own question.
    """
    question = body["question"]
    if body["format"] != FORMAT or "noise" in question:  # of a growing table
        return None
    again: Any = planner().replan(body)
    plan: Plan = again.plan
    if plan.query.unknown_keys or again.confused:
        return None
    numbers = iter(body["answer"]["released"])
    found: list[CountedCells] = []
    for part, noise, ends in zip(plan.parts, plan.noises, plan.chains(plan.size), strict=True):
        released = [next(numbers) for _ in ends]
        if isinstance(part, CellsPart):
            found += _of_plan(part, released, noise)
        elif isinstance(part, (RowsPart, HistogramPart)):
            found.append(_alone(plan.query, part, released[0], noise))
    return Release(body, plan.query, tuple(found)) if found else None


def _alone(
    query: Query, part: RowsPart | HistogramPart, released: Sequence[Any], noise: Noise
) -> AloneCells:
    axes: list[Axis] = []
    if query.by:
        keys = tuple(tuple(plain_key(p) for p in key) for key in query.keys or ())
        axes.append(Axis(query.by, keys))
    if isinstance(part, HistogramPart):
        axes.append(Axis((part.column,), edges=part.edges))
    values = np.asarray(released, dtype=np.float64).reshape([axis.listed for axis in axes])
    return AloneCells(tuple(axes), (False,) * len(axes), values, law_of_rows(noise))


def _of_plan(part: CellsPart, released: Sequence[Any], noise: Noise) -> Iterator[CountedCells]:
    for subset, values in part.whole(released, noise).items():
        axes = tuple(part.axes[i] for i in subset)
        yield MarginalCells(axes, (True,) * len(axes), values, subset, part, noise)
    for family, share, values in part.of_families(released, noise):
        complete = [True] * len(family.axes)
        complete[family.along] = family.axes[family.along].whole
        yield FamilyCells(family.axes, tuple(complete), values, family, share)
