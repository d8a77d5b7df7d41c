"""Sensitivities of several statistics by distance, as a table and a plot."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from tacit import plotting
from tacit.arithmetic.exact import as_integer, show
from tacit.calls import public
from tacit.display.card import Card, CardTable, Shown
from tacit.errors import InfeasibleError, UsageError, need
from tacit.statistics.domains import Domain
from tacit.statistics.global_sensitivity import StatisticLike, ask, by_column, lookup
from tacit.statistics.question import Relation, without_empty
from tacit.statistics.result import Sensitivity
from tacit.statistics.statistic import Statistic

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

# The picture of a profile: panels of lines over whole-numbered distances.


_WIDE_RATIO = 30.0


def draw_profile(profile: Profile, log: bool | None) -> Figure:
    """Draw a profile; see :meth:`Profile.plot`."""
    rows = profile.rows
    columns = _ordered(r.column for r in rows)
    kinds = _ordered((r.scope, r.relation) for r in rows)
    names = _ordered(r.statistic.name for r in rows)
    fig: Figure = plotting.figure(max(4.6, 3.5 * len(kinds)), 3.1 * len(columns) + 0.9)
    grid = plotting.axes(fig, len(columns), len(kinds), share_y="row")
    for (i, column), (j, kind) in product(enumerate(columns), enumerate(kinds)):
        here = [r for r in rows if r.column == column]
        panel = grid[i][j]
        _draw_panel(panel, [r for r in here if (r.scope, r.relation) == kind], names)
        _scale(panel, here, log)
        how = "within" if profile.within else "exactly"
        plotting.title(panel, f"{kind[0]}, {kind[1]}", column)
        panel.set_xlabel(f"distance k ({how} k)" if i == len(columns) - 1 else "", fontsize=9)
        panel.set_ylabel("sensitivity" if j == 0 else "", fontsize=9)
    plotting.legend_below(fig, *grid[0][0].get_legend_handles_labels())
    return fig


def _draw_panel(panel: Any, rows: list[ProfileRow], names: list[str]) -> None:
    for index, name in enumerate(names):
        points = [r for r in rows if r.statistic.name == name]
        values = [float("nan") if r.value is None else r.value for r in points]
        panel.plot(
            [r.distance for r in points],
            values,
            label=name,
            clip_on=False,
            # Lines that coincide still show: the later, smaller marker sits inside the earlier.
            **{**plotting.series(index).line(), "markersize": max(4.0, 8.0 - 0.5 * index)},
        )
    plotting.integer_ticks(panel, [r.distance for r in rows])


def _scale(panel: Any, rows: list[ProfileRow], log: bool | None) -> None:
    values = [r.value for r in rows if r.value]
    wide = bool(values) and max(values) > _WIDE_RATIO * min(values)
    if not values or not (wide if log is None else log):
        panel.set_ylim(bottom=0)
        return
    low, high = min(values), max(values)
    panel.set_yscale("symlog", linthresh=low, linscale=0.4)
    panel.set_ylim(0, 1.6 * high)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    marks = (1, 2, 5) if len(decades) <= 4 else (1,)
    ticks = [m * 10.0**d for d in decades for m in marks]
    ticks = [0.0, *(t for t in ticks if low <= t <= 1.6 * high)]
    panel.set_yticks(ticks, [plotting.number(t) for t in ticks])
    panel.set_yticks([], minor=True)


def _ordered(items: Any) -> list[Any]:
    return list(dict.fromkeys(items))


@dataclass(frozen=True)
class ProfileRow:
    """One point of a profile; ``answer`` is None where the distance cannot be made."""

    column: str
    statistic: Statistic
    scope: str
    relation: Relation
    distance: int
    answer: Sensitivity | None

    @property
    def value(self) -> float | None:
        """The sensitivity as a float (rounded up), or None."""
        return None if self.answer is None else float(self.answer)


@public
@dataclass(frozen=True, repr=False)
class Profile(Shown):
    """A table of sensitivities over distances, made by :func:`sensitivity_profile`."""

    rows: tuple[ProfileRow, ...]
    within: bool

    def to_pandas(self) -> DataFrame:
        """A data frame with one row per point; ``value`` is NaN where a distance cannot be made.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        pandas = need("pandas", "pandas")
        frame: DataFrame = pandas.DataFrame(
            {
                "column": [r.column for r in self.rows],
                "statistic": [r.statistic.name for r in self.rows],
                "scope": [r.scope for r in self.rows],
                "relation": [r.relation for r in self.rows],
                "distance": [r.distance for r in self.rows],
                "value": [float("nan") if r.value is None else r.value for r in self.rows],
                "method": [None if r.answer is None else r.answer.method for r in self.rows],
            }
        )
        return frame

    def card(self) -> Card:
        """Return what a notebook displays: one row per point."""
        rows = [
            [
                f"{r.column}.{r.statistic.name}" if r.column else r.statistic.name,
                *(r.scope, r.relation, str(r.distance)),
                "cannot be made" if r.answer is None else show(r.answer.value),
                "" if r.answer is None else r.answer.method,
            ]
            for r in self.rows
        ]
        head = ["statistic", "scope", "relation", "distance", "sensitivity", "found by"]
        answers = [r.answer for r in self.rows if r.answer is not None]
        names = [a.statistic.name for a in answers if a.question.leaves_out_empty]
        notes = list(without_empty(dict.fromkeys(names)))
        return Card("Sensitivity profile", "", [CardTable(head, rows)], notes)

    def __repr__(self) -> str:
        names = dict.fromkeys(r.statistic.name for r in self.rows)
        return f"Profile({', '.join(names)}: {len(self.rows)} points)"

    def plot(self, *, log: bool | None = None) -> Figure:
        """Draw one panel a column, scope and relation, and one line a statistic.

        Args:
            log: whether the sensitivities stand on a logarithmic axis (linear below the smallest);
                by default only where they differ by more than thirtyfold.

        Returns a ``matplotlib.figure.Figure``: ``profile.plot().savefig("profile.svg")``.
        """
        return draw_profile(self, log=log)


@public
def sensitivity_profile(
    statistics: StatisticLike | Iterable[StatisticLike],
    over: Domain | Mapping[str, Domain],
    distances: Iterable[int] = range(1, 5),
    relation: Relation | Iterable[Relation] = ("unbounded", "bounded"),
    at: object = None,
    within: bool = True,
    *,
    relations: Relation | Iterable[Relation] | None = None,
) -> Profile:
    """Compute how sensitivities grow with the distance.

    Args:
        statistics: one statistic or several, as :func:`sensitivity` takes them.
        over: a domain, or one per column.
        distances: the distances; one that cannot be made leaves a gap.
        relation: one relation or several.
        at: a release: the local sensitivities are then shown next to the global ones.
        within: as for :func:`sensitivity`.
        relations: the former name of ``relation``.

    Raises:
        UsageError: no statistic, or no distance.
        InfeasibleError: no distance at all can be made.

    >>> from tacit.statistics import Records
    >>> p = sensitivity_profile(["mean", "median"], over=Records([1, 2, 3, 10, 11], size=3),
    ...                         distances=[1, 2], relation="bounded")
    >>> [row.value for row in p.rows]
    [3.3333333333333335, 6.0, 8.0, 8.0]
    """
    named = [lookup(s) for s in _listed(statistics)]
    kinds: list[Any] = _listed(relation if relations is None else relations)
    steps = [as_integer(d, "distance", minimum=1) for d in distances]
    if not named or not steps or not kinds:
        raise UsageError("give at least one statistic, one distance and one relation")
    columns = by_column(over, at)
    if columns is None:
        columns = {"": (over, at)}  # type: ignore[dict-item]
    rows = [
        ProfileRow(
            column,
            statistic,
            "global" if data is None else "local",
            relation,
            distance,
            _feasible(statistic, domain, data, distance, relation, within),
        )
        for column, (domain, release) in columns.items()
        for relation in kinds
        for data in ([None] if release is None else [None, release])
        for statistic in named
        for distance in steps
    ]
    if all(row.answer is None for row in rows):
        # Say why, in the words of the question itself.
        first = next(iter(columns.values()))
        ask(named[0], first[0], first[1], steps[0], kinds[0], within)
    return Profile(tuple(rows), within)


def _listed(given: Any) -> list[Any]:
    single = isinstance(given, (str, Statistic)) or callable(given)
    return [given] if single else list(given)


def _feasible(
    statistic: Statistic, domain: Domain, at: Any, distance: int, relation: Relation, within: bool
) -> Sensitivity | None:
    try:
        return ask(statistic, domain, at, distance, relation, within)
    except InfeasibleError:
        return None
