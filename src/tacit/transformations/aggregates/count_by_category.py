"""Count by category: one number for each label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from tacit.core import (
    Category,
    L1Distance,
    L2Distance,
    LInfinityDistance,
    Metric,
    Number,
    Space,
    Step,
    Transformation,
    Vector,
    register,
)
from tacit.core.spaces.witness import Witness
from tacit.errors import MismatchError, UsageError, did_you_mean
from tacit.transformations.rows.record_distance import (
    StabilityMap,
    linear_map,
    only_changes,
    records_of,
    root_map,
)

__all__ = ["NORMS", "CountByCategory", "count_map", "norm_named"]

NORMS: dict[str, Metric] = {
    "L1": L1Distance(),
    "L2": L2Distance(),
    "LInfinity": LInfinityDistance(),
}
"""The metrics of a vector of aggregates, by name."""


@register
@dataclass(frozen=True)
class CountByCategory(Step):
    """Count the records of each label.

    Args:
        categories: the labels to count, public, each once; None for those of the column's domain.
        other: whether one more count at the end takes all labels that are not listed.  Without it
            they are in no count.
        metric: the norm in which the answer moves: ``"L1"`` (for Laplace noise), ``"L2"`` (for
            Gaussian noise) or ``"LInfinity"``.

    Labels that the data alone know cannot be listed: their very presence would be revealed.  Count
    the rest with ``other=True``.

    **Map.** A record is in one count at most.  L1: ``d -> d`` where records are added or removed
    (each moves one count by one), ``d -> 2 d`` where they change (one count down, one up; with a
    single count, d).  L2: all d records may share a count, so ``d -> d``; changes all from one
    count to one other, ``d -> sqrt(2) d`` rounded up.  L-infinity: ``d -> d``.  Under the symmetric
    distance with a public size, the map of ``floor(d / 2)`` changes.

    Where records come and go, d more of one label attain it in each norm; and any two vectors of
    counts are those of records in that order, as far apart in L1 as their numbers say.

    Raises:
        UsageError: categories repeated, or an unknown norm.

    Example:
        >>> from tacit.core import SymmetricDistance
        >>> column = Space(Vector(str), SymmetricDistance())
        >>> counts = column >> CountByCategory(["north", "south"], other=True)
        >>> counts(["north", "east", "north"]).tolist(), counts.map(1)
        ([2, 0, 1], Fraction(1, 1))
    """

    categories: Iterable[Hashable] | None = None
    other: bool = False
    metric: str = "L1"

    name: ClassVar[str] = "count_by_category"

    def __post_init__(self) -> None:
        norm_named(self.metric)
        if not isinstance(self.other, bool):
            raise UsageError("other is True or False")
        if self.categories is not None:
            listed = hasattr(self.categories, "__iter__")
            if isinstance(self.categories, (str, bytes)) or not listed:
                raise UsageError("categories are a list of labels, each once")
            known = Category(tuple(self.categories))
            object.__setattr__(self, "categories", known.categories)

    def build(self, space: Space) -> Transformation:
        """Return the counts of a column of labels (or of whole numbers).

        Args:
            space: what the step works on: a space, or the end of a chain before it.

        Raises:
            MismatchError: the space is not a column of labels, or no labels are known.
        """
        domain: Any = records_of(space, self)
        labels = self._labels(domain, space)
        cells = len(labels) + self.other
        counts = Vector(Number("int", Fraction(0), grid=Fraction(1)), size=cells)

        def count(column: Any) -> Any:
            listed = column.tolist() if hasattr(column, "tolist") else column
            found: Counter[Hashable] = Counter(listed)
            inside = [found[label] for label in labels]
            rest = [sum(found.values()) - sum(inside)] if self.other else []
            return counts.read(inside + rest)

        output = Space(counts, norm_named(self.metric))
        coming = [] if only_changes(space) else [x for x in labels if domain.element.contains(x)]
        return Transformation(
            space,
            output,
            count,
            count_map(space, self.metric, cells),
            step=self,
            attained=bool(coming),
            onto=self.metric == "L1" and coming == list(labels) and not self.other,
            witness=Witness.of(coming),
        )

    def _labels(self, domain: Any, space: Space) -> tuple[Hashable, ...]:
        element = getattr(domain, "element", None)
        whole = isinstance(element, Number) and element.kind == "int" and element.grid is None
        if not isinstance(element, Category) and not whole:
            raise MismatchError(
                f"count_by_category works on a column of labels, not on {domain}; put bin(edges) "
                "before it to count numbers",
                space,
                self,
            )
        known = self.categories or getattr(element, "categories", None)
        if known is None:
            raise MismatchError(
                "count_by_category needs public categories: name them in it, or in the column's "
                "domain",
                space,
                self,
            )
        return tuple(known)


def norm_named(name: str) -> Metric:
    """Return the metric of that name.

    Raises:
        UsageError: there is none.
    """
    if name not in NORMS:
        raise UsageError(f"no norm is called {name!r}; {did_you_mean(str(name), NORMS)}")
    return NORMS[name]


def count_map(space: Space, norm: str, cells: int) -> StabilityMap:
    """Return the map of counts in which a record is in one cell at most."""
    changed = min(cells, 2)
    if norm == "L1":
        return linear_map(space, min(cells, 1), changed)
    if norm == "L2":
        return root_map(space, min(cells, 1), changed)
    return linear_map(space, 1, 1)
