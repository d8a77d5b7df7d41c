"""Sensitivities over distances: many statistics, every column, global beside local."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tacit.arithmetic.exact import as_integer, show
from tacit.calls import public
from tacit.display.card import Card, Shown, Table
from tacit.errors import InfeasibleError, UsageError, need
from tacit.statistics.ask.plot_profile import draw_profile
from tacit.statistics.ask.registry import lookup
from tacit.statistics.ask.sensitivity import Asked, ask, by_column
from tacit.statistics.base.domain import Domain
from tacit.statistics.base.question import Relation
from tacit.statistics.base.result import Sensitivity
from tacit.statistics.base.statistic import Statistic

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

__all__ = ["Profile", "ProfileRow", "sensitivity_profile"]


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
        return Card("Sensitivity profile", "", [Table(head, rows)])

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
        figure: Figure = draw_profile(self, log=log)
        return figure


@public
def sensitivity_profile(
    statistics: Asked | Iterable[Asked],
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
        at: a release: the local sensitivities are then shown beside the global ones.
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
    asked = [lookup(s) for s in _listed(statistics)]
    kinds: list[Any] = _listed(relation if relations is None else relations)
    steps = [as_integer(d, "distance", minimum=1) for d in distances]
    if not asked or not steps or not kinds:
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
        for statistic in asked
        for distance in steps
    ]
    if all(row.answer is None for row in rows):
        # Say why, in the words of the question itself.
        first = next(iter(columns.values()))
        ask(asked[0], first[0], first[1], steps[0], kinds[0], within)
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
