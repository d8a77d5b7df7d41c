"""The picture of a table: a line a release, a cell a neighbour, the largest gaps marked."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Protocol

from tacit import plotting
from tacit.arithmetic.exact import show
from tacit.errors import UsageError

__all__ = ["draw_table"]

_MOST_RELEASES, _MOST_NEIGHBOURS = 48, 16
_CHARACTER = 0.082  # inches a character of a cell
_LINE = 0.46  # inches a line


class Near(Protocol):
    """What a picture asks of a neighbour."""

    @property
    def records(self) -> tuple[Any, ...]:
        """Its records."""

    @property
    def value(self) -> Any:
        """The statistic on it."""

    @property
    def gap(self) -> Fraction | float:
        """How far that is from the release's own."""


class Line(Protocol):
    """What a picture asks of a release."""

    @property
    def records(self) -> tuple[Any, ...]:
        """Its records."""

    @property
    def value(self) -> Any:
        """The statistic on it."""

    @property
    def neighbours(self) -> Sequence[Near]:
        """Its neighbours."""

    @property
    def local(self) -> Fraction | float:
        """The largest gap."""


class DrawnTable(Protocol):
    """What a picture asks of a table."""

    @property
    def statistic(self) -> Any:
        """The statistic."""

    @property
    def question(self) -> Any:
        """The question."""

    @property
    def releases(self) -> Sequence[Line]:
        """The lines."""

    @property
    def value(self) -> Fraction | float:
        """The global sensitivity."""


def draw_table(table: DrawnTable) -> Any:
    """Draw a table; see :meth:`SensitivityTable.plot`."""
    releases = table.releases
    most = max((len(r.neighbours) for r in releases), default=0)
    if len(releases) > _MOST_RELEASES or most > _MOST_NEIGHBOURS:
        raise UsageError(
            f"{len(releases)} releases with up to {most} neighbours cannot be read in a figure "
            f"(at most {_MOST_RELEASES} and {_MOST_NEIGHBOURS}); use to_pandas()"
        )
    widths = _widths(table, most)
    total = sum(widths)
    fig = plotting.figure(total + 0.3, _LINE * (len(releases) + 1.6) + 0.9)
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


def _widths(table: DrawnTable, most: int) -> list[float]:
    def inches(texts: list[str], least: int) -> float:
        return _CHARACTER * (max([least, *map(len, texts)]) + 3)

    name = len(table.statistic.name) + 3
    first = inches([_set(r.records) for r in table.releases], 7)
    second = inches([plotting.number(r.value) for r in table.releases], name)
    columns = [[n for r in table.releases for n in r.neighbours[i : i + 1]] for i in range(most)]
    cells = [
        inches([t for n in near for t in (_set(n.records), _values(n))], 9) for near in columns
    ]
    return [first, second, *cells, inches([], 7)]


def _head(ax: Any, table: DrawnTable, edges: list[float]) -> None:
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


def _draw_release(ax: Any, table: DrawnTable, release: Line, line: int, edges: list[float]) -> None:
    middle = line + 0.5
    plain = {"fontsize": 8.5, "va": "center", "color": plotting.INK}
    ax.text(edges[0] + 0.06, middle, _set(release.records), **plain)
    ax.text(
        (edges[1] + edges[2]) / 2,
        middle,
        plotting.number(release.value),
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
    table: DrawnTable,
    release: Line,
    neighbour: Near,
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


def _values(neighbour: Near) -> str:
    value = plotting.number(neighbour.value)
    return f"{value}   \N{GREEK CAPITAL LETTER DELTA} {plotting.number(neighbour.gap)}"


def _set(records: tuple[Any, ...]) -> str:
    return "{" + ", ".join(plotting.number(r) for r in records) + "}"
