"""The counts that a certificate publishes, as cells of which other counts are sums."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.report.check.format import FORMAT
from tacit.report.check.planner import planner
from tacit.tables.answers.histogram import HistogramPart
from tacit.tables.answers.rows import RowsPart
from tacit.tables.chain.part import Noise, law_of_rows
from tacit.tables.earlier.counted import AloneCells, CountedCells, FamilyCells, MarginalCells
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
    if plan.query.unknown_keys:
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
