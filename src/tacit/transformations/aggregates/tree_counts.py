"""A tree of counts over ordered bins, and the consistent counts nearest to noisy ones."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_integer
from tacit.calls import public
from tacit.core import Number, Space, Step, Transformation, Vector, register
from tacit.errors import UsageError
from tacit.transformations.aggregates.count_by_category import norm_named
from tacit.transformations.rows.bin import column_of_numbers, place, rising_edges
from tacit.transformations.rows.record_distance import (
    StabilityMap,
    linear_map,
    records_of,
    root_map,
)

__all__ = ["TreeCounts", "consistent_tree", "levels_of"]


@register
@dataclass(frozen=True)
class TreeCounts(Step):
    """Count the values in every node of a b-ary tree whose leaves are the bins between edges.

    The answer lists the nodes level by level, the root first; a level has b times the nodes of the
    one above.  Leaves beyond the last bin are there to complete the tree, and always zero.
    Values outside all bins are in no node.  Noise goes on all nodes; then ``>>
    consistent_tree(branching)`` makes them add up, and any range of bins is the sum of few nodes.

    **Map**, with h levels.  A record is in one node of each level: h nodes, or none.  L1:
    ``d -> h d`` where records are added or removed; if one changes, it leaves and enters at most
    ``h - 1`` nodes each (the root holds it before and after), or h nodes at once where it leaves
    the bins: ``max(2 (h - 1), h)`` times d.  L2: the same numbers under the root,
    ``d -> sqrt(h) d`` and ``sqrt(max(2 (h - 1), h)) d``, since each level may take all d in one
    node.  L-infinity: ``d -> d``.

    Source: M. Hay, V. Rastogi, G. Miklau, D. Suciu, "Boosting the accuracy of differentially
    private histograms through consistency", VLDB 2010.

    Args:
        edges: the edges of the bins, rising.
        branching: b, at least two.
        metric: the norm in which the answer moves: ``"L1"``, ``"L2"`` or ``"LInfinity"``.

    Raises:
        UsageError: edges that do not rise, fewer than two branches, an unknown norm.

    Example:
        >>> from tacit.core import SymmetricDistance
        >>> tree = Space(Vector(float), SymmetricDistance()) >> TreeCounts([0, 1, 2, 3, 4])
        >>> tree([0.5, 1.5, 1.5, 3.0]).tolist(), tree.map(1)
        ([4, 3, 1, 1, 2, 0, 1], Fraction(3, 1))
    """

    edges: Sequence[NumberLike]
    branching: int = 2
    metric: str = "L1"

    name: ClassVar[str] = "tree_counts"

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", rising_edges(self.edges))
        object.__setattr__(self, "branching", as_integer(self.branching, "branching", minimum=2))
        norm_named(self.metric)

    def build(self, space: Space) -> Transformation:
        """Return the tree on a column of numbers.

        Args:
            space: what the step works on: a space, or the end of a chain before it.

        Raises:
            MismatchError: the space is not a column of numbers compared record by record.
        """
        edges = cast("Sequence[Fraction]", self.edges)
        element = column_of_numbers(space, self)
        records_of(space, self)
        levels = levels_of(len(self.edges) - 1, self.branching)
        leaves = self.branching ** (levels - 1)
        size = sum(self.branching**level for level in range(levels))
        counts = Vector(Number("int", Fraction(0), grid=Fraction(1)), size=size)

        def count(column: Any) -> NDArray[np.int64]:
            found = place(np.asarray(column), edges, element.grid)
            rows = [np.bincount(found[found >= 0], minlength=leaves).astype(np.int64)]
            while len(rows[0]) > 1:
                rows.insert(0, rows[0].reshape(-1, self.branching).sum(axis=1))
            return np.concatenate(rows)

        output = Space(counts, norm_named(self.metric))
        return Transformation(space, output, count, self._map(space, levels), step=self)

    def _map(self, space: Space, levels: int) -> StabilityMap:
        changed = max(2 * (levels - 1), levels)
        if self.metric == "LInfinity":
            return linear_map(space, 1, 1)
        return (linear_map if self.metric == "L1" else root_map)(space, levels, changed)


def levels_of(bins: int, branching: int) -> int:
    """Return how many levels a b-ary tree over so many leaves has.

    >>> levels_of(4, 2), levels_of(5, 2), levels_of(1, 2)
    (3, 4, 1)
    """
    levels, leaves = 1, 1
    while leaves < bins:
        levels, leaves = levels + 1, leaves * branching
    return levels


@public
def consistent_tree(
    branching: int = 2,
) -> Callable[[Sequence[float] | NDArray[np.float64]], NDArray[np.float64]]:
    """Return the post-processing that makes the nodes of a noisy tree add up.

    It takes the released nodes of :class:`TreeCounts` and returns the nodes, in the same order,
    that are nearest to them in least squares among those where each node is the sum of its
    children. With equal noise on every node no other linear unbiased estimate has a smaller
    variance. It looks at released numbers only, so it costs no privacy.

    Two passes (Hay et al. 2010, theorem 3): up, ``z = w v + (1 - w) sum of the children's z`` with
    ``w = (b^i - b^(i - 1)) / (b^i - 1)`` at height i (leaves are at 1); down, each child takes an
    equal share of what its parent has more than the children's sum.

    Args:
        branching: the branching of the tree, at least 2.

    Raises:
        UsageError: fewer than two branches; nodes that make up no complete tree.

    Example:
        >>> consistent_tree(2)([4.0, 3.0, 2.0]).round(3).tolist()
        [4.333, 2.667, 1.667]
    """
    b = as_integer(branching, "branching", minimum=2)

    def consistent(nodes: Any) -> NDArray[np.float64]:
        rows = _rows(np.asarray(nodes, dtype=np.float64), b)
        best = [rows[-1]]
        for height, row in enumerate(reversed(rows[:-1]), start=2):
            weight = (b**height - b ** (height - 1)) / (b**height - 1)
            below = best[0].reshape(-1, b).sum(axis=1)
            best.insert(0, weight * row + (1 - weight) * below)
        for upper, row in itertools.pairwise(best):
            spare = upper - row.reshape(-1, b).sum(axis=1)
            row += np.repeat(spare / b, b)
        return np.concatenate(best)

    return consistent


def _rows(nodes: NDArray[np.float64], branching: int) -> list[NDArray[np.float64]]:
    rows, start, width = [], 0, 1
    while start < len(nodes):
        rows.append(nodes[start : start + width].copy())
        start, width = start + width, width * branching
    if start != len(nodes) or nodes.ndim != 1:
        raise UsageError(
            f"{nodes.size} nodes are not a complete tree with {branching} branches; give the "
            "released nodes of tree_counts, with its branching"
        )
    return rows
