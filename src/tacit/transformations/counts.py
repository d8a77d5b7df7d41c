"""Counts: of rows, distinct values, categories, bins and prefixes."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_fraction, as_integer, as_share, float_down, float_up
from tacit.arithmetic.roots_and_bisection import sqrt_up
from tacit.calls import instead, public
from tacit.core import (
    AbsoluteDistance,
    Category,
    Frame,
    InsertDeleteDistance,
    L1Distance,
    L2Distance,
    LInfinityDistance,
    Metric,
    Number,
    Space,
    Step,
    SymmetricDistance,
    Transformation,
    Vector,
    register,
)
from tacit.core.metrics import EVERY, Witness
from tacit.core.metrics import records_of as listed_records
from tacit.errors import MismatchError, UsageError, did_you_mean
from tacit.transformations.rows import (
    Bin,
    StabilityMap,
    bin_index,
    column_of_numbers,
    held_in_int64,
    linear_map,
    only_changes,
    records_of,
    rising_edges,
    root_map,
)


@register
@dataclass(frozen=True)
class Count(Step):
    """Count the records.

    **Map.** ``d -> d`` under the symmetric and the insert-delete distance: one record added or
    removed moves the count by one, and ``|len(u) - len(v)| <= d(u, v)``.  ``d -> 0`` wherever the
    size is public (change-one and Hamming distance, or a domain with a size).

    No records against d of them attain it.

    Example:
        >>> from tacit.core import ChangeOneDistance
        >>> unbounded = Space(Vector(float), SymmetricDistance()) >> Count()
        >>> unbounded([4, 5, 6]), unbounded.map(2)
        (3, Fraction(2, 1))
        >>> (Space(Vector(float), ChangeOneDistance()) >> Count()).map(2)
        Fraction(0, 1)
    """

    name: ClassVar[str] = "count"

    def build(self, space: Space) -> Transformation:
        """Return the count on a column or a table."""
        domain = space.domain
        if not isinstance(domain, (Vector, Frame)) or not space.metric.counts_records:
            raise self.mismatch(space, f"works on records, not on ({space})")
        moves = isinstance(space.metric, (SymmetricDistance, InsertDeleteDistance))
        factor = Fraction(int(moves and domain.size is None))
        output = Space(Number("int", Fraction(0), grid=Fraction(1)), AbsoluteDistance())
        return Transformation(
            space,
            output,
            number_of_records,
            lambda d: d * factor,
            step=self,
            attained=True,
            onto=factor == 1,  # of any two counts, the smaller one's records and as many more
            witness=EVERY,
        )


def number_of_records(data: Any) -> int:
    """Return how many records a column or a table in memory has."""
    return len(next(iter(data.values()))) if isinstance(data, dict) else len(data)


@register
@dataclass(frozen=True)
class CountDistinct(Step):
    """Count the different records; missing values are one kind, unknown labels another.

    **Map.** ``d -> d``, and ``floor(d / 2)`` under the symmetric distance where the size is public.
     One record that comes adds at most one kind, one that goes takes at most one away; one that
    changes does both at worst, which still moves the count by at most one.  Over c known labels
    and n records of public size the count moves by no more than c + 1 (the unknown ones are a kind
    too) or n - 1.

    Example:
        >>> from tacit.core import SymmetricDistance
        >>> kinds = Space(Vector(str), SymmetricDistance()) >> CountDistinct()
        >>> kinds(["a", "b", "a"]), kinds.map(3)
        (2, Fraction(3, 1))
    """

    name: ClassVar[str] = "count_distinct"

    def build(self, space: Space) -> Transformation:
        """Return the count of distinct values of a column, or of distinct rows of a table."""
        limit = _most(records_of(space, self))
        moves = linear_map(space, 1, 1)
        output = Space(Number("int", Fraction(0), grid=Fraction(1)), AbsoluteDistance())

        def stability(d: Fraction) -> Fraction:
            return moves(d) if limit is None else min(moves(d), Fraction(limit))

        return Transformation(space, output, _kinds, stability, step=self)


def _kinds(data: Any) -> int:
    kinds: set[Hashable] = set(listed_records(data))
    return len(kinds)


def _most(domain: Any) -> int | None:
    limits = []
    if domain.size is not None:
        limits.append(max(domain.size - 1, 0))
    if isinstance(domain, Vector) and isinstance(domain.element, Category):
        known = domain.element.categories
        limits += [] if known is None else [len(known) + 1]
    return min(limits, default=None)


# Count by category: one number for each label.


# The metrics of a vector of aggregates, by name.
NORMS: dict[str, Metric] = {
    "L1": L1Distance(),
    "L2": L2Distance(),
    "LInfinity": LInfinityDistance(),
}


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
        """Return the counts of a column of known labels (or of integers)."""
        domain: Any = records_of(space, self)
        labels = self._labels(domain, space)
        cells = len(labels) + self.other
        counts = Vector(Number("int", Fraction(0), grid=Fraction(1)), size=cells)

        def count(column: Any) -> Any:
            listed = column.tolist() if hasattr(column, "tolist") else column
            counter: Counter[Hashable] = Counter(listed)
            inside = [counter[label] for label in labels]
            rest = [sum(counter.values()) - sum(inside)] if self.other else []
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
        integral = isinstance(element, Number) and element.kind == "int" and element.grid is None
        if not isinstance(element, Category) and not integral:
            raise self.mismatch(
                space,
                f"works on a column of labels, not on {domain}; put bin(edges) "
                "before it to count numbers",
            )
        known = self.categories or getattr(element, "categories", None)
        if known is None:
            raise self.mismatch(
                space, "needs public categories: name them in it, or in the column's domain"
            )
        return tuple(known)


def norm_named(name: str) -> Metric:
    """Return the metric of that name."""
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


@dataclass(frozen=True)
class Histogram(Step):
    """Count the values between each two edges: :class:`Bin`, then :class:`CountByCategory`.

    The last bin includes its upper edge; values outside and missing ones are in no bin, or in the
    last count where ``other=True``.  Maps: those of the two steps.

    Raises:
        UsageError: fewer than two edges, edges that do not rise, an unknown norm.

    Example:
        >>> from tacit.core import SymmetricDistance, Vector
        >>> h = Space(Vector(float), SymmetricDistance()) >> Histogram([0, 10, 20])
        >>> h([1.0, 2.0, 15.0, 99.0]).tolist(), h.map(2)
        ([2, 1], Fraction(2, 1))
    """

    edges: Any
    other: bool = False
    metric: str = "L1"

    name: ClassVar[str] = "bin_counts"

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", rising_edges(self.edges))
        norm_named(self.metric)

    def build(self, space: Space) -> Transformation:
        """Return the histogram of a column of numbers."""
        counts = CountByCategory(other=self.other, metric=self.metric)
        chain: Transformation = Bin(self.edges).build(space) >> counts
        element: Number = space.domain.element  # type: ignore[attr-defined]
        cells, grid = len(self.edges) - 1, element.grid

        def count(column: Any) -> Any:
            """Count all at once what the two steps would count one by one."""
            positions = bin_index(column, self.edges, grid)
            positions[positions < 0] = cells
            return np.bincount(positions, minlength=cells + 1)[: cells + self.other]

        chain.function = count
        coming = [] if only_changes(space) else self._values(element)
        positions = [value for value in coming if value is not None]
        chain.attained, chain.witness = bool(positions), Witness.of(positions)
        chain.onto = self.metric == "L1" and len(positions) == cells and not self.other
        return chain

    def _values(self, element: Number) -> list[Fraction | None]:
        """Return the least value that a record can have in each bin; None where there is none."""
        lower_ends = []
        unit = element.grid or (Fraction(1) if element.kind == "int" else None)
        for index, edge in enumerate(self.edges[:-1]):
            low = edge if element.lower is None else max(edge, element.lower)
            value = math.ceil(low / unit) * unit if unit else Fraction(float_up(low))
            inside = element.contains(value)
            inside = (
                inside and bin_index(element.read_many([value]), self.edges, element.grid) == index
            )
            lower_ends.append(value if inside else None)
        return lower_ends


@register
@dataclass(frozen=True)
class PrefixCounts(Step):
    """Count the values at or below each of m public points: ``#{x <= points[i]}``.

    Args:
        points: public numbers, in rising order.
        metric: the norm in which the answer moves: ``"L1"``, ``"L2"`` or ``"LInfinity"``.

    **Map.** A record is in all m counts at worst, and it leaves all of them at worst when it
    changes. So whether records come, go or change: L1 ``d -> m d``, L2 ``d -> sqrt(m) d`` rounded
    up, L-infinity ``d -> d`` (``floor(d / 2)`` for d under the symmetric distance with a public
    size). Many points need much noise that way; the noise of a tree
    (:class:`~tacit.transformations.counts.TreeCounts`) grows only with its levels.

    Raises:
        UsageError: points that do not rise, or an unknown norm.

    Example:
        >>> from tacit.core import SymmetricDistance
        >>> counts = Space(Vector(float), SymmetricDistance()) >> PrefixCounts([0, 5, 10])
        >>> counts([1.0, 6.0, 7.0]).tolist(), counts.map(1)
        ([0, 1, 3], Fraction(3, 1))
    """

    points: Sequence[NumberLike]
    metric: str = "L1"

    name: ClassVar[str] = "prefix_counts"

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", read_points(self.points, "points"))
        norm_named(self.metric)

    def build(self, space: Space) -> Transformation:
        """Return the counts on a column of numbers."""
        points = cast("Sequence[Fraction]", self.points)
        element = column_of_numbers(space, self)
        records_of(space, self)
        m = len(self.points)
        counts = Vector(Number("int", Fraction(0), grid=Fraction(1)), size=m)

        def count(column: Any) -> Any:
            known = len(column) - int(np.isnan(np.asarray(column, dtype=np.float64)).sum())
            _, above = below_and_above(np.asarray(column), points, element.grid)
            return counts.read([known - a for a in above])

        factors = {"L1": (linear_map, m), "L2": (root_map, m), "LInfinity": (linear_map, 1)}
        kind, factor = factors[self.metric]
        return Transformation(
            space,
            Space(counts, norm_named(self.metric)),
            count,
            kind(space, factor, factor),
            step=self,
        )


def read_points(points: Any, name: str) -> tuple[Fraction, ...]:
    """Read public numbers in rising order, at least one."""
    if isinstance(points, (str, bytes)) or not hasattr(points, "__iter__"):
        raise UsageError(f"{name} are increasing numbers, such as [0, 20, 40]")
    exact = tuple(as_fraction(point, f"one of the {name}") for point in points)
    if not exact or any(b <= a for a, b in itertools.pairwise(exact)):
        raise UsageError(f"{name} are increasing numbers, at least one, such as [0, 20, 40]")
    return exact


def below_and_above(
    column: NDArray[Any], points: Sequence[Fraction], grid: Fraction | None
) -> tuple[list[int], list[int]]:
    """Count, for each point, the values below it and those above it; missing ones are neither."""
    unit = grid or Fraction(1)
    if column.dtype.kind == "i":
        ordered: NDArray[Any] = np.sort(column)
        lower = [held_in_int64(math.ceil(p / unit)) for p in points]
        upper = [held_in_int64(math.floor(p / unit)) for p in points]
        ends: tuple[Any, Any] = (np.array(lower, np.int64), np.array(upper, np.int64))
    else:
        ordered = np.sort(column[~np.isnan(column)])
        ends = ([float_up(p) for p in points], [float_down(p) for p in points])
    below = np.searchsorted(ordered, ends[0], side="left")
    above = len(ordered) - np.searchsorted(ordered, ends[1], side="right")
    return below.tolist(), above.tolist()


@register
@dataclass(frozen=True)
class TreeCounts(Step):
    """Count the values in every node of a b-ary tree whose leaves are the bins between edges.

    The answer lists the nodes level by level, the root first; a level has b times the nodes of the
    one above.  Leaves beyond the last bin are there to complete the tree, and always zero.
    Values outside all bins are in no node.  Noise continues all nodes; then ``>>
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
        """Return the tree on a column of numbers."""
        edges = cast("Sequence[Fraction]", self.edges)
        element = column_of_numbers(space, self)
        records_of(space, self)
        levels = levels_of(len(self.edges) - 1, self.branching)
        leaves = self.branching ** (levels - 1)
        size = sum(self.branching**level for level in range(levels))
        counts = Vector(Number("int", Fraction(0), grid=Fraction(1)), size=size)

        def count(column: Any) -> NDArray[np.int64]:
            positions = bin_index(np.asarray(column), edges, element.grid)
            rows = [np.bincount(positions[positions >= 0], minlength=leaves).astype(np.int64)]
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
    """Return how many levels a b-ary tree over this many leaves has.

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


# A matrix of linear queries on a vector of aggregates.


Rows = tuple[tuple[Fraction, ...], ...]


@register
@dataclass(frozen=True)
class LinearQueries(Step):
    """Multiply a vector of aggregates, such as a histogram, by a public matrix: one row per query.

    Exact: with the entries on a common denominator, whole units go to whole units.

    Args:
        matrix: rows of rational numbers, as many columns as the vector has numbers.
        metric: the norm in which the answers move; None for that of the vector.

    **Map**, for ``y = A x``, by the norm of x and that of y.

    - L1 to any norm: ``d -> d max_j ||A e_j||``, the largest norm of a *column*: ``A (u - v)`` is a
      sum of columns with weights whose sizes add up to d; attained by moving one number.  (A square
      root, for L2, is rounded up; so is every other below.)
    - L-infinity to L-infinity: ``d -> d max_i`` of the L1 norm of row i; attained by the signs of
      the row.  To L1 the sum of all these, to L2 the root of the sum of their squares.
    - L2 to L2: ``d`` times the smaller of the Frobenius norm and ``sqrt(c r)``, with c and r the
      largest L1 norms of a column and of a row; both bound the spectral norm (Schur's test for the
      second).  To L-infinity: the largest L2 norm of a row, attained.

    Raises:
        UsageError: an empty or ragged matrix, entries that are not numbers, an unknown norm.

    Example:
        >>> counts = Space(Vector(int, size=3), L1Distance())
        >>> ranges = counts >> LinearQueries([[1, 1, 0], [0, 1, 1]])
        >>> ranges([5, 6, 7]).tolist(), ranges.map(1)
        ([11, 13], Fraction(2, 1))
    """

    matrix: Sequence[Sequence[NumberLike]]
    metric: str | None = None

    name: ClassVar[str] = "linear_queries"

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrix", _read(self.matrix))
        if self.metric is not None:
            norm_named(self.metric)

    def build(self, space: Space) -> Transformation:
        """Return the queries on a vector of numbers.

        Raises:
            MismatchError: no vector on a grid with as many numbers as the matrix has columns, or
                no bound leads from its norm to the other.
        """
        matrix = cast("tuple[tuple[Fraction, ...], ...]", self.matrix)
        domain, columns = space.domain, len(matrix[0])
        element = domain.element if isinstance(domain, Vector) else None
        if not isinstance(element, Number) or (element.grid is None and element.kind != "int"):
            raise self.mismatch(space, f"works on a vector of numbers on a grid, not on {domain}")
        if domain.size != columns:  # type: ignore[attr-defined]
            raise MismatchError(
                f"the matrix has {columns} columns, and the domain is: {domain}", space, self
            )
        target = space.metric if self.metric is None else norm_named(self.metric)
        norm = _operator_norm(matrix, space.metric, target)
        if norm is None:
            raise MismatchError(f"no bound leads from {space.metric} to {target}", space, self)
        common = math.lcm(*(x.denominator for row in matrix for x in row))
        integer_rows = [[int(x * common) for x in row] for row in matrix]
        grid = (element.grid or Fraction(1)) / common
        kind = "int" if grid.denominator == 1 else "float"
        output = Space(Vector(Number(kind, grid=grid), size=len(integer_rows)), target)

        def answer(values: Any) -> Any:
            units = values.tolist() if isinstance(values, np.ndarray) else list(values)
            sums = [sum(a * u for a, u in zip(row, units, strict=True)) for row in integer_rows]
            return np.array(sums, dtype=object)

        return Transformation(space, output, answer, norm, step=self)


def _read(matrix: Any) -> Rows:
    try:
        rows = [list(row) for row in matrix]
    except TypeError:
        raise UsageError("a matrix is a list of rows, each a list of numbers") from None
    if not rows or not rows[0] or any(len(row) != len(rows[0]) for row in rows):
        raise UsageError("a matrix has at least one row and one column, and rows of one length")
    plain = [[x.item() if isinstance(x, np.generic) else x for x in row] for row in rows]
    return tuple(tuple(as_fraction(x, "an entry of the matrix") for x in row) for row in plain)


def _operator_norm(matrix: Rows, source: Any, target: Any) -> Callable[[Fraction], Fraction] | None:
    rows = [[abs(x) for x in row] for row in matrix]
    columns = list(zip(*rows, strict=True))
    by_row, by_column = [sum(row) for row in rows], [sum(column) for column in columns]
    squares = {"row": _squares(rows), "column": _squares(columns)}
    if isinstance(source, L1Distance):
        if isinstance(target, L1Distance):
            return _times(max(by_column))
        if isinstance(target, L2Distance):
            return _times_root(max(squares["column"]))
        return _times(max(x for row in rows for x in row))
    if isinstance(source, LInfinityDistance):
        if isinstance(target, L1Distance):
            return _times(sum(by_row))
        if isinstance(target, L2Distance):
            return _times_root(sum(Fraction(s) ** 2 for s in by_row))
        return _times(max(by_row))
    if not isinstance(source, L2Distance) or isinstance(target, L1Distance):
        return None
    if isinstance(target, L2Distance):
        return _times_root(min(sum(squares["row"]), max(by_row) * max(by_column)))
    return _times_root(max(squares["row"]))


def _squares(lines: Any) -> list[Fraction]:
    return [sum((Fraction(x) ** 2 for x in line), Fraction(0)) for line in lines]


def _times(factor: Fraction | int) -> Callable[[Fraction], Fraction]:
    return lambda d: d * factor


def _times_root(square: Fraction | int) -> Callable[[Fraction], Fraction]:
    return lambda d: sqrt_up(d * d * square)


@register
@instead(__init__="Of a column of a table ask tc.percentile('age', 50, 0, 100)")
@dataclass(frozen=True)
class QuantileScores(Step):
    """Score each public candidate by how near it is to the q-quantile of a column; zero is best.

    With q = a / b, the score of c is ``-|(b - a) #{x < c} - a #{x > c}|``, an integer.  The
    exponential mechanism behind it chooses a candidate near the quantile.

    Args:
        q: between 0 and 1, taken exactly; "1/2" for the median.
        candidates: public numbers, in rising order.

    **Map** (L-infinity).  One record that is added or removed moves the number inside by at most
    ``max(a, b - a)``, so ``d -> max(a, b - a) d``.  One that changes moves it by at most
    ``(b - a) + a = b`` (from below to above), so ``d -> b d``; ``b floor(d / 2)`` under the
    symmetric distance with a public size.  A size does not move the scores of neighbours the same
    way, so the exponential mechanism's ``monotone`` must not be set.  A missing value is nowhere.

    Source: A. Smith, "Privacy-preserving statistical estimation with optimal convergence rates",
    STOC 2011.

    Raises:
        UsageError: q outside 0..1, or candidates that do not rise.

    Example:
        >>> from tacit.core import SymmetricDistance
        >>> column = Space(Vector(float), SymmetricDistance())
        >>> scores = column >> QuantileScores("1/2", [0, 5, 10])
        >>> scores([1.0, 6.0, 7.0]).tolist(), scores.map(1)
        ([-3, -1, -3], Fraction(1, 1))
    """

    q: NumberLike
    candidates: Sequence[NumberLike]

    name: ClassVar[str] = "quantile_scores"

    def __post_init__(self) -> None:
        object.__setattr__(self, "q", as_share(self.q))
        object.__setattr__(self, "candidates", read_points(self.candidates, "candidates"))

    def build(self, space: Space) -> Transformation:
        """Return the scores on a column of numbers."""
        candidates = cast("Sequence[Fraction]", self.candidates)
        element = column_of_numbers(space, self)
        records_of(space, self)
        q = Fraction(self.q)
        under, over = q.denominator - q.numerator, q.numerator
        scores = Vector(Number("int", grid=Fraction(1)), size=len(self.candidates))

        def score(column: Any) -> Any:
            below, above = below_and_above(np.asarray(column), candidates, element.grid)
            costs = [abs(under * b - over * a) for b, a in zip(below, above, strict=True)]
            return scores.read([-cost for cost in costs])

        stability = linear_map(space, max(under, over), q.denominator)
        return Transformation(
            space, Space(scores, LInfinityDistance()), score, stability, step=self
        )
