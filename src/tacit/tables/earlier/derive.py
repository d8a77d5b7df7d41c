"""Counts that follow from earlier releases: which cells they are the sums of, and their error.

*Why they are free.*  A count that is answered so is a function of numbers that were released, and
of public facts (the questions, the noise).  What is computed from a release loses no more than the
release did (post-processing), so nothing is charged, and no row is read.

*When they are the same rows.*  Every cell of a release is a set of rows, said by conditions on
columns; the cells of a release are disjoint.  A count is a sum of cells where the conditions of
the question are those of the release together with, for each axis, either cells that hold exactly
what the question asks of that column, or all cells of an axis that has one for every other value.
Where people are down-weighted to a limit, the weight of a row depends on which rows a question is
about; there filters and groups must be the same.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.tables.answers.aggregate import Aggregate, kind_of
from tacit.tables.chain.estimate import Estimate
from tacit.tables.earlier.counted import CountedCells
from tacit.tables.earlier.region import (
    Condition,
    Listed,
    column_name,
    conditions_of,
    rows_of,
    same_kinds,
    typed,
)
from tacit.tables.earlier.released import Release, release_of
from tacit.tables.earlier.sums import between, weights_of
from tacit.tables.plan.parse_question import query_from, schema_from
from tacit.tables.plan.query import Query, plain_key
from tacit.tables.spec.privacy_unit import OneRowEach
from tacit.tables.together.reading import size_of, taken

__all__ = ["Followed", "followed", "follows", "may_follow"]

Array = NDArray[np.float64]

_MOST_NUMBERS = 200_000
_MOST_WEIGHTS = 20_000_000
"""So many numbers a matrix of weights may have."""


@dataclass(frozen=True, eq=False)
class Followed:
    """An answer that follows from earlier releases.

    Attributes:
        answer: keys and columns, as plain JSON values.
        sources: of each label, the place of the release that it follows from.
    """

    answer: dict[str, Any]
    sources: dict[str, int]


def follows(query: Query, releases: Sequence[Release]) -> Followed | None:
    """Return the answer to a question from earlier releases, each label from the most precise one.

    Returns:
        None where a label does not follow from any.
    """
    if not may_follow(query):
        return None
    columns, sources = [], {}
    for label, asked in query.aggregates:
        wanted = _Wanted(query, asked)
        if wanted.size > _MOST_NUMBERS:
            return None
        best, place = None, -1
        for at, release in enumerate(releases):
            for table, names, filters in release.named if wanted.same_rows(release) else ():
                found = wanted.from_table(table, names, filters, wanted.beyond(release))
                if found is not None and (best is None or _total(found) < _total(best)):
                    best, place = found, at
        if best is None:
            return None
        sources[label] = place
        columns.append({"label": label, **_column(asked, wanted, best)})
    keys = [[plain_key(part) for part in key] for key in query.keys or [()]]
    return Followed({"keys": keys, "columns": columns}, sources)


def may_follow(query: Query) -> bool:
    """Return whether a question is about counts of listed groups alone: no other follows."""
    each = [asked for _, asked in query.aggregates]
    kinds = [kind_of(asked.kind) for asked in each]
    counted = all(kind.counts and kind.amount for kind in kinds)
    return bool(each) and not query.unknown_keys and counted and not any(a.method for a in each)


def followed(
    described: Mapping[str, Any], table: Any, bodies: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, Any], dict[str, int]] | None:
    """Return an answer again, from the certificates that it is said to follow from.

    Args:
        described: the question.
        table: the columns of the table and their kinds.
        bodies: of the certificates.

    Raises:
        UsageError: no such question can be asked of such a table.
    """
    query = query_from(described, schema_from(table))
    releases = [release_of(body) for body in bodies]
    if any(release is None for release in releases):
        return None
    found = follows(query, [release for release in releases if release is not None])
    return None if found is None else (found.answer, found.sources)


def _total(found: Estimate) -> float:
    return math.fsum(np.square(found.standard_error).ravel().tolist())


def _column(asked: Aggregate, wanted: _Wanted, found: Estimate) -> dict[str, Any]:
    kind, told = kind_of(asked.kind), found.coherent()
    names = kind.names(asked)
    column: dict[str, Any] = {"kind": kind.name}
    parts = (told.value, told.standard_error, told.lower, told.upper)
    for name, part in zip(("value", "standard_error", "low", "high"), parts, strict=True):
        each = part.reshape(len(wanted.groups), -1)
        column[name] = (each[:, 0] if names is None else each).tolist()
    return column if names is None else {**column, "bins": names}


class _Wanted:
    """A count of a question: groups, and along them the bins of a column."""

    def __init__(self, query: Query, asked: Aggregate) -> None:
        self.query, self.asked = query, asked
        self.reading = kind_of(asked.kind).reading if asked.edges else "cells"
        self.edges = asked.edges or ()
        self.groups = [tuple(typed(part) for part in key) for key in query.keys or [()]]

    @property
    def bins(self) -> int:
        """How many numbers a group has."""
        return size_of(self.reading, len(self.edges) - 1) if self.edges else 1

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return len(self.groups) * self.bins

    @cached_property
    def conditions(self) -> dict[str, Condition]:
        """What its filters ask for."""
        return conditions_of(self.query)

    @cached_property
    def by(self) -> list[str]:
        """The columns of its groups."""
        return [column_name(self.query, name) for name in self.query.by]

    @cached_property
    def binned(self) -> str | None:
        """The column of its bins."""
        return column_name(self.query, self.asked.require_column()) if self.edges else None

    @cached_property
    def rows(self) -> str:
        """Which rows it is about before its filters."""
        return rows_of(self.query)

    def beyond(self, release: Release) -> dict[str, Condition]:
        """Return what its filters ask for that those of a release do not."""
        base = release.conditions
        return {text: one for text, one in self.conditions.items() if text not in base}

    def same_rows(self, release: Release) -> bool:
        """Return whether a release is about rows that this count may be among."""
        if self.rows != release.rows or not set(release.conditions) <= set(self.conditions):
            return False
        if not same_kinds(self.query, release.query):
            return False
        if isinstance(self.query.unit, OneRowEach):
            return True
        # the weight of a row depends on the other rows of its person that are asked about
        same, other = set(release.conditions) == set(self.conditions), release.query
        keys = [[tuple(map(typed, key)) for key in q.keys or ()] for q in (self.query, other)]
        own = [column_name(other, name) for name in other.by]
        return same and own == self.by and set(keys[0]) == set(keys[1])

    def from_table(
        self,
        table: CountedCells,
        names: Sequence[list[str]],
        filters: Sequence[Mapping[str, Condition]],
        rest: Mapping[str, Condition],
    ) -> Estimate | None:
        """Return the numbers as sums of the cells of a table; None where they are none.

        Args:
            table: the cells.
            names: of each axis the columns.
            filters: of each axis the conditions that hold in its first cell, where it is a filter.
            rest: what is asked beside the groups.
        """
        bins = self._along(table, names)
        if self.binned is not None and (bins is None or self.binned in self.by):
            return None
        found = []
        for group in self.groups:
            own = zip(self.by, group, strict=True)
            asked = {f"group by {name}": Listed(name, frozenset([part])) for name, part in own}
            weights = weights_of(table, names, filters, {**rest, **asked}, bins)
            if weights is None:
                return None
            found.append(table.sums(weights))
        value, error, half = (np.concatenate(each) for each in zip(*found, strict=True))
        low, high = np.maximum(value - half, 0.0), np.maximum(value + half, 0.0)
        return Estimate(value, error, low, high)

    def _along(self, table: CountedCells, names: Sequence[list[str]]) -> tuple[int, Array] | None:
        """Return the axis of the bins, and the cells of it that each number adds up."""
        for place, (axis, own) in enumerate(zip(table.axes, names, strict=True)):
            if self.binned is None or not axis.edges or own != [self.binned]:
                continue
            ends = itertools.pairwise(self.edges)
            each = [between(axis, low, high, closed=high == self.edges[-1]) for low, high in ends]
            size = table.values.shape[place]
            if None in each or size * self.bins > _MOST_WEIGHTS:
                continue
            cells = np.zeros((len(each), size))
            for number, one in enumerate(each):
                cells[number, one] = 1.0
            return place, taken(self.reading, cells.T).T
        return None
