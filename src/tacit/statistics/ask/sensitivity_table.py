"""Every release of a small domain, its neighbours and its local sensitivity, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, overload

import numpy as np

from tacit.arithmetic.exact import show
from tacit.calls import public
from tacit.display.card import Card, Shown, Table
from tacit.errors import InfeasibleError, UsageError, need
from tacit.statistics.ask.plot_table import draw_table
from tacit.statistics.ask.registry import lookup
from tacit.statistics.ask.sensitivity import Asked, by_column, domain_of
from tacit.statistics.base.domain import Domain, Interval, Records
from tacit.statistics.base.question import Question, Relation
from tacit.statistics.base.statistic import Exact, Statistic, distance_between
from tacit.statistics.samples.sample import Plain, Sample
from tacit.statistics.search.count_lattice import Indices, evaluations
from tacit.statistics.search.neighbours import neighbours_of, parts

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

__all__ = ["Neighbour", "Release", "SensitivityTable", "sensitivity_table"]

MOST_PAIRS = 200_000
"""The most pairs of neighbours that a table lists."""


@dataclass(frozen=True)
class Neighbour:
    """A neighbour, the statistic on it, and how far that is from the release's own."""

    records: tuple[Plain, ...]
    value: Exact
    gap: Fraction | float


@dataclass(frozen=True)
class Release:
    """A release with all its neighbours."""

    records: tuple[Plain, ...]
    value: Exact
    neighbours: tuple[Neighbour, ...]

    @property
    def local(self) -> Fraction | float:
        """The local sensitivity: the largest gap."""
        return max((n.gap for n in self.neighbours), default=Fraction(0))

    def is_largest(self, neighbour: Neighbour) -> bool:
        """Whether this neighbour attains the local sensitivity."""
        return neighbour.gap == self.local


@public
@dataclass(frozen=True, repr=False)
class SensitivityTable(Shown):
    """All releases of a domain, made by :func:`sensitivity_table`."""

    statistic: Statistic
    question: Question
    releases: tuple[Release, ...]

    @property
    def value(self) -> Fraction | float:
        """The global sensitivity: the largest local one."""
        return max((r.local for r in self.releases), default=Fraction(0))

    def to_pandas(self) -> DataFrame:
        """One row a pair; ``local`` marks the largest of a release, ``global`` the largest of all.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        pairs = [(r, n) for r in self.releases for n in r.neighbours]
        frame: DataFrame = need("pandas", "pandas").DataFrame(
            {
                "release": [r.records for r, _ in pairs],
                "value": [_float(r.value) for r, _ in pairs],
                "neighbour": [n.records for _, n in pairs],
                "neighbour value": [_float(n.value) for _, n in pairs],
                "difference": [float(n.gap) for _, n in pairs],
                "local": [r.is_largest(n) for r, n in pairs],
                "global": [n.gap == self.value for _, n in pairs],
            }
        )
        return frame

    def plot(self) -> Figure:
        """Draw the table; the largest of each release is shaded, the largest of all framed.

        Raises:
            UsageError: more releases or neighbours than can be read in a figure.
        """
        figure: Figure = draw_table(self)
        return figure

    def card(self) -> Card:
        """Return what a notebook displays: each release with its local sensitivity."""
        rows = [
            [
                ", ".join(show(v) for v in r.records),
                show(_float(r.value)),
                str(len(r.neighbours)),
                show(r.local),
            ]
            for r in self.releases
        ]
        head = ["release", "value", "neighbours", "local sensitivity"]
        lead = f"global sensitivity {show(self.value)}, {self.question.relation}"
        return Card(f"Sensitivities of {self.statistic.name}", lead, [Table(head, rows)])

    def __repr__(self) -> str:
        pairs = sum(len(r.neighbours) for r in self.releases)
        return (
            f"SensitivityTable({self.statistic.name}: {len(self.releases)} releases, {pairs} "
            f"pairs, global {show(self.value)})"
        )

    def __str__(self) -> str:
        lines = [f"{self.statistic.name}, {self.question.relation}: global {show(self.value)}"]
        lines += [f"{r.records}: local {show(r.local)}" for r in self.releases]
        return "\n".join(lines)


@overload
def sensitivity_table(
    statistic: Asked,
    over: Domain,
    distance: int = 1,
    relation: Relation = "unbounded",
    within: bool = True,
) -> SensitivityTable: ...
@overload
def sensitivity_table(
    statistic: Asked,
    over: Mapping[str, Domain],
    distance: int = 1,
    relation: Relation = "unbounded",
    within: bool = True,
) -> dict[str, SensitivityTable]: ...
@public
def sensitivity_table(
    statistic: Asked,
    over: Domain | Mapping[str, Domain],
    distance: int = 1,
    relation: Relation = "unbounded",
    within: bool = True,
) -> SensitivityTable | dict[str, SensitivityTable]:
    """List every distinct release, its neighbours, the values and the local sensitivities.

    Takes the arguments of :func:`tacit.sensitivity`, without ``at``.

    Args:
        statistic: as in :func:`tacit.sensitivity`.
        over: a domain of finitely many values, or one for each column.
        distance: how many records neighbours differ in, at most.
        relation: ``"unbounded"``, ``"add"``, ``"remove"`` or ``"bounded"``.
        within: whether neighbours differ in fewer records too.

    Returns:
        A :class:`SensitivityTable`, or a dict of them by column where ``over`` has columns.

    Raises:
        InfeasibleError: an interval, a domain without a size, more pairs than can be listed, a
            distance that cannot be made.

    >>> from tacit.statistics import Records
    >>> table = sensitivity_table("median", over=Records([1, 2, 3, 10, 11], size=3))
    >>> len(table.releases), table.value
    (10, Fraction(9, 2))
    """
    asked = lookup(statistic)
    columns = by_column(over, None)
    if columns is None:
        return _table(asked, domain_of(over), distance, relation, within)
    return {
        name: _table(asked, domain, distance, relation, within)
        for name, (domain, _) in columns.items()
    }


def _table(
    asked: Statistic, over: Domain, distance: int, relation: Relation, within: bool
) -> SensitivityTable:
    question = Question(over, None, distance, relation, within)
    if isinstance(over, Interval) or question.size is None:
        raise InfeasibleError("a table needs finitely many releases: give Records or Values, sized")
    values, limits = _limits(question)
    size = question.size
    moves = list(question.moves(size))
    pairs = evaluations(limits.tolist(), size) * sum(
        evaluations(np.minimum(limits, r + a).tolist(), r + a) for r, a in moves
    )
    if pairs > MOST_PAIRS:
        raise InfeasibleError(
            f"up to {pairs:,} pairs of neighbours are too many to list (at most {MOST_PAIRS:,}); "
            "sensitivity(...) answers without listing them"
        )
    known: dict[tuple[int, ...], tuple[tuple[Plain, ...], Exact]] = {}

    def seen(counts: Indices) -> tuple[tuple[Plain, ...], Exact]:
        key = tuple(counts.tolist())
        if key not in known:
            sample = values.take(np.repeat(np.arange(len(counts)), counts))
            known[key] = sample.values(), asked.of(sample)
        return known[key]

    releases = []
    for x in parts(np.minimum(limits, size), size)[::-1]:
        records, value = seen(x)
        near = [seen(y) for y in neighbours_of(x, limits - x, moves)[::-1]]
        neighbours = (Neighbour(r, v, distance_between(value, v)) for r, v in near)
        releases.append(Release(records, value, tuple(sorted(neighbours, key=_order))))
    return SensitivityTable(asked, question, tuple(releases))


def _order(neighbour: Neighbour) -> tuple[int, tuple[Plain, ...]]:
    return len(neighbour.records), neighbour.records


def _limits(question: Question) -> tuple[Sample, Indices]:
    domain = question.domain
    if isinstance(domain, Records):
        return domain.sample.distinct()
    assert question.size is not None
    copies = question.size + question.distance
    return domain.sample, np.full(len(domain.sample), copies, dtype=np.int64)


def _float(value: Exact) -> float:
    if isinstance(value, tuple):
        raise UsageError("a histogram has no single value to tabulate")
    return float(value)
