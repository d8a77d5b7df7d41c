"""Every release, its neighbours and its local sensitivity, as a table and a drawing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from tacit import plotting
from tacit.arithmetic.exact import show
from tacit.calls import public
from tacit.display.card import Card, CardTable, Shown
from tacit.errors import InfeasibleError, UsageError, need
from tacit.statistics.domains import Domain, Interval, Records
from tacit.statistics.global_sensitivity import StatisticLike, by_column, domain_of, lookup
from tacit.statistics.question import Question, Relation, without_empty
from tacit.statistics.samples import Plain, Sample
from tacit.statistics.search import Indices, evaluations, neighbours_of, parts
from tacit.statistics.statistic import Exact, Statistic, distance_between

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

# The picture of a table: a line a release, a cell a neighbour, the largest gaps marked.


_MAX_RELEASES, _MAX_NEIGHBOURS = 48, 16
_CHARACTER = 0.082  # inches a character of a cell
_LINE = 0.46  # inches a line


def draw_table(table: SensitivityTable) -> Figure:
    """Draw a table; see :meth:`SensitivityTable.plot`."""
    releases = table.releases
    maximum = max((len(r.neighbours) for r in releases), default=0)
    if len(releases) > _MAX_RELEASES or maximum > _MAX_NEIGHBOURS:
        raise UsageError(
            f"{len(releases)} releases with up to {maximum} neighbours cannot be read in a figure "
            f"(at most {_MAX_RELEASES} and {_MAX_NEIGHBOURS}); use to_pandas()"
        )
    widths = _widths(table, maximum)
    total = sum(widths)
    fig: Figure = plotting.figure(total + 0.3, _LINE * (len(releases) + 1.6) + 0.9)
    ax = plotting.axes(fig, 1, 1)[0][0]
    ax.set_axis_off()
    ax.set_xlim(0, total)
    ax.set_ylim(len(releases) + 0.7, -1)
    edges = [sum(widths[:i]) for i in range(len(widths) + 1)]
    _head(ax, table, edges)
    for line, release in enumerate(releases):
        _draw_release(ax, table, release, line, edges)
    _foot(ax, len(releases))
    question = table.question
    how = "within" if question.within else "at exactly"
    plotting.title(
        ax,
        f"Global sensitivity of the {table.statistic.name}: {show(table.value)}",
        f"{question.relation} neighbours {how} distance {question.distance} of every release of "
        f"{question.size}",
    )
    return fig


def _widths(table: SensitivityTable, maximum: int) -> list[float]:
    def inches(texts: list[str], minimum: int) -> float:
        return _CHARACTER * (max([minimum, *map(len, texts)]) + 3)

    name = len(table.statistic.name) + 3
    first = inches([_set(r.records) for r in table.releases], 7)
    second = inches([plotting.number(_float(r.value)) for r in table.releases], name)
    columns = [[n for r in table.releases for n in r.neighbours[i : i + 1]] for i in range(maximum)]
    cells = [
        inches([t for n in near for t in (_set(n.records), _values(n))], 9) for near in columns
    ]
    return [first, second, *cells, inches([], 7)]


def _head(ax: Any, table: SensitivityTable, edges: list[float]) -> None:
    name = table.statistic.name
    bold = {"fontsize": 9, "fontweight": "bold", "va": "center", "color": plotting.INK}
    ax.text(edges[0] + 0.06, -0.5, "release x", **bold)
    ax.text((edges[1] + edges[2]) / 2, -0.5, f"{name}(x)", ha="center", **bold)
    ax.text(
        (edges[2] + edges[-2]) / 2,
        -0.5,
        f"neighbours y, with {name}(y) and the difference",
        ha="center",
        **bold,
    )
    ax.text((edges[-2] + edges[-1]) / 2, -0.5, "local", ha="center", **bold)
    ax.plot([0, edges[-1]], [0, 0], color=plotting.INK, linewidth=1.2)


def _draw_release(
    ax: Any, table: SensitivityTable, release: ReleaseNeighbours, line: int, edges: list[float]
) -> None:
    middle = line + 0.5
    plain = {"fontsize": 8.5, "va": "center", "color": plotting.INK}
    ax.text(edges[0] + 0.06, middle, _set(release.records), **plain)
    ax.text(
        (edges[1] + edges[2]) / 2,
        middle,
        plotting.number(_float(release.value)),
        ha="center",
        **plain,
    )
    for i, neighbour in enumerate(release.neighbours):
        _draw_cell(ax, table, release, neighbour, (edges[2 + i], edges[3 + i]), line)
    is_global = release.local == table.value
    ax.text(
        (edges[-2] + edges[-1]) / 2,
        middle,
        plotting.number(release.local),
        ha="center",
        **{**plain, "fontsize": 9.5, "fontweight": "bold" if is_global else "normal"},
    )
    ax.plot([0, edges[-1]], [line + 1, line + 1], color=plotting.FAINT, linewidth=0.8)


def _draw_cell(
    ax: Any,
    table: SensitivityTable,
    release: ReleaseNeighbours,
    neighbour: Neighbour,
    span: tuple[float, float],
    line: int,
) -> None:
    left, right = span
    middle = (left + right) / 2
    largest, overall = neighbour.gap == release.local, neighbour.gap == table.value
    if largest:
        from matplotlib.patches import Rectangle

        ax.add_patch(
            Rectangle(
                (left + 0.03, line + 0.07),
                right - left - 0.06,
                0.86,
                facecolor="#f6d77a" if overall else "#e9ecef",
                edgecolor=plotting.INK if overall else "none",
                linewidth=1.6,
            )
        )
    look = {"ha": "center", "va": "center", "color": plotting.INK}
    ax.text(middle, line + 0.31, _set(neighbour.records), fontsize=7.5, **look)
    ax.text(
        middle,
        line + 0.7,
        _values(neighbour),
        fontsize=8.5,
        fontweight="bold" if largest else "normal",
        **look,
    )


def _foot(ax: Any, lines: int) -> None:
    ax.text(
        0.06,
        lines + 0.4,
        "shaded: the largest difference of a release, its local sensitivity; "
        "framed: the largest of all, the global sensitivity",
        fontsize=8,
        va="center",
        color=plotting.MUTED,
    )


def _values(neighbour: Neighbour) -> str:
    value = plotting.number(_float(neighbour.value))
    return f"{value}   \N{GREEK CAPITAL LETTER DELTA} {plotting.number(neighbour.gap)}"


def _set(records: tuple[Any, ...]) -> str:
    return "{" + ", ".join(plotting.number(r) for r in records) + "}"


# Every release of a small domain, its neighbours and its local sensitivity, side by side.


MAX_PAIRS = 200_000  # the most pairs of neighbours that a table lists


@dataclass(frozen=True)
class Neighbour:
    """A neighbour, the statistic on it, and how far that is from the release's own."""

    records: tuple[Plain, ...]
    value: Exact
    gap: Fraction | float


@dataclass(frozen=True)
class ReleaseNeighbours:
    """A release with all its neighbours."""

    records: tuple[Plain, ...]
    value: Exact
    neighbours: tuple[Neighbour, ...]

    @property
    def local(self) -> Fraction | float:
        """The local sensitivity: the largest gap."""
        return max((n.gap for n in self.neighbours), default=Fraction(0))

    def is_largest(self, neighbour: Neighbour) -> bool:
        """True if this neighbour attains the local sensitivity."""
        return neighbour.gap == self.local


@public
@dataclass(frozen=True, repr=False)
class SensitivityTable(Shown):
    """All releases of a domain, made by :func:`sensitivity_table`."""

    statistic: Statistic
    question: Question
    releases: tuple[ReleaseNeighbours, ...]

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
        return draw_table(self)

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
        title = f"Sensitivities of {self.statistic.name}"
        notes = without_empty([self.statistic.name] if self.question.leaves_out_empty else [])
        return Card(title, lead, [CardTable(head, rows)], list(notes))

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
    statistic: StatisticLike,
    over: Domain,
    distance: int = 1,
    relation: Relation = "unbounded",
    within: bool = True,
) -> SensitivityTable: ...
@overload
def sensitivity_table(
    statistic: StatisticLike,
    over: Mapping[str, Domain],
    distance: int = 1,
    relation: Relation = "unbounded",
    within: bool = True,
) -> dict[str, SensitivityTable]: ...
@public
def sensitivity_table(
    statistic: StatisticLike,
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
    named = lookup(statistic)
    columns = by_column(over, None)
    if columns is None:
        return _table(named, domain_of(over), distance, relation, within)
    return {
        name: _table(named, domain, distance, relation, within)
        for name, (domain, _) in columns.items()
    }


def _table(
    statistic: Statistic, over: Domain, distance: int, relation: Relation, within: bool
) -> SensitivityTable:
    question = Question(over, None, distance, relation, within, min(1, statistic.min_size))
    if isinstance(over, Interval) or question.size is None:
        raise InfeasibleError("a table needs finitely many releases: give Records or Values, sized")
    values, limits = _limits(question)
    size = question.size
    moves = list(question.moves(size))
    pairs = evaluations(limits.tolist(), size) * sum(
        evaluations(np.minimum(limits, r + a).tolist(), r + a) for r, a in moves
    )
    if pairs > MAX_PAIRS:
        raise InfeasibleError(
            f"up to {pairs:,} pairs of neighbours are too many to list (at most {MAX_PAIRS:,}); "
            "sensitivity(...) answers without listing them"
        )
    known: dict[tuple[int, ...], tuple[tuple[Plain, ...], Exact]] = {}

    def seen(counts: Indices) -> tuple[tuple[Plain, ...], Exact]:
        key = tuple(counts.tolist())
        if key not in known:
            sample = values.take(np.repeat(np.arange(len(counts)), counts))
            known[key] = sample.values(), statistic.of(sample)
        return known[key]

    releases = []
    for x in parts(np.minimum(limits, size), size)[::-1]:
        records, value = seen(x)
        near = [seen(y) for y in neighbours_of(x, limits - x, moves)[::-1]]
        neighbours = (Neighbour(r, v, distance_between(value, v)) for r, v in near)
        releases.append(ReleaseNeighbours(records, value, tuple(sorted(neighbours, key=_order))))
    return SensitivityTable(statistic, question, tuple(releases))


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
