"""Released counts without contradictions, and synthetic rows from them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.mixing import Repeatable
from tacit.errors import UsageError, need
from tacit.workload.marginals import Subset

# The nearest counts that are not below zero, in a metric that is chosen.
#
# Let x be estimates of counts by least squares, and K a positive matrix.  Of all counts z that add
# up with one another and are at least zero, the nearest minimises ``(z - x)^T K^-1 (z - x)``.  The
# true counts t are among these z.
#
# *Theorem.*  In that metric the nearest counts are never farther from t than x is, whatever the
# noise was.  *Proof.*  The z form a closed convex set, and t is in it.  For the nearest point p the
# angle at p between x and any point of the set is at least a right one, so that
# ``|x - t|^2 >= |x - p|^2 + |p - t|^2``.
#
# That is a bound for all counts together; a single count may get worse.  With the covariance of the
# estimates as K (the cells of a line) it is about what the noise tells.  With K for which the form
# is a sum of squared errors (marginals) that sum is never larger than before, which does not hold
# of the covariance: it moves what is least known farthest, and with it cells that were near.  Where
# no estimate is below zero, nothing changes.
#
# *Algorithm.*  The alternating direction method of multipliers, which converges for every convex
# problem with a solution (Boyd, Parikh, Chu, Peleato, Eckstein, *Distributed optimization and
# statistical learning via the alternating direction method of multipliers*, 2011, section 3.2 and
# appendix A; over-relaxed, Eckstein and Bertsekas 1992).  Its two steps are in closed form: to go
# from x towards z as far as K allows, by the eigenvalues of K, and to cut at zero.  The rounds are
# limited; what is then still below zero is lifted by spreading rows evenly over all cells, so that
# the result adds up and is at least zero in any case.


Array = NDArray[np.float64]
_Pull = Callable[[list[Array]], list[Array]]

_ROUNDS = 5000
_EXACT = 1e-13
_NOTHING = 1e-9
_RELAXED = 1.6


def nonnegative_cells(counts: Array, covariance: Array, along: int = 0) -> Array:
    """Return the nearest counts of cells that are not below zero.

    >>> found = nonnegative_cells(np.array([-1.0, 3.0]), np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> found.round(9).tolist()
    [0.0, 3.5]
    """
    # counts: the estimates; each line along an axis is fitted on its own.
    values, vectors = np.linalg.eigh(covariance)
    weights = _weights(np.maximum(values, 0.0))
    lines = np.moveaxis(counts, along, 0).reshape(len(covariance), -1)

    def pull(gaps: list[Array]) -> list[Array]:
        (gap,) = gaps
        return [vectors @ (weights[:, None] * (vectors.T @ gap))]

    (cells,) = _nearest([lines], pull)
    # a line that was not reached in time is lifted as a whole
    cells = _cut(cells + np.maximum(-cells.min(axis=0), 0.0), lines)
    shape = np.moveaxis(counts, along, 0).shape
    return np.asarray(np.moveaxis(cells.reshape(shape), 0, along))


def nonnegative_marginals(
    marginals: Mapping[Subset, Array], variances: Mapping[Subset, float]
) -> dict[Subset, Array]:
    """Return the nearest marginals that are not below zero and agree on what they share.

    >>> table = {(0, 1): np.array([[-1.0, 2.0], [3.0, 4.0]])}
    >>> whole = nonnegative_marginals(table, {(): 4, (0,): 2, (1,): 2, (0, 1): 1})[0, 1]
    >>> whole.min().item(), round(float(whole.sum()), 6)  # the covariance is that of the identity
    (0.0, 9.0)
    """
    # variances: of each set of axes within one of them the number s of its residual, on which K is
    #   ``s P`` (:mod:`tacit.tables.joint.strategy`).
    sizes = {
        i: size for s, table in marginals.items() for i, size in zip(s, table.shape, strict=True)
    }
    sets = list(marginals)
    holds: dict[Subset, list[int]] = {
        part: [n for n, subset in enumerate(sets) if set(part) <= set(subset)] for part in variances
    }
    holds = {part: within for part, within in holds.items() if within}

    def rest(subset: Subset, part: Subset) -> int:
        return math.prod(sizes[i] for i in subset if i not in part)

    spread = {part: sum(1 / rest(sets[n], part) for n in within) for part, within in holds.items()}
    moved = np.array([variances[part] * spread[part] for part in holds])
    weights = dict(zip(holds, _weights(moved).tolist(), strict=True))

    def pull(gaps: list[Array]) -> list[Array]:
        corrections = [np.zeros_like(gap) for gap in gaps]
        for part, within in holds.items():
            correction = np.zeros([sizes[i] for i in part])
            for n in within:
                gone = tuple(p for p, i in enumerate(sets[n]) if i not in part)
                correction += gaps[n].sum(axis=gone) / rest(sets[n], part)
            correction = centred(correction) * (weights[part] / spread[part])
            for n in within:
                shape = [sizes[i] if i in part else 1 for i in sets[n]]
                corrections[n] += correction.reshape(shape) / rest(sets[n], part)
        return corrections

    start = list(marginals.values())
    tables = _nearest(start, pull)
    lacking = max((-float(table.min()) * table.size for table in tables), default=0.0)
    lifted = [table + max(lacking, 0.0) / table.size for table in tables]
    return dict(zip(sets, (_cut(*pair) for pair in zip(lifted, start, strict=True)), strict=True))


def centred(counts: Array) -> Array:
    """Return counts less their mean along every axis.

    >>> centred(np.array([1.0, 5.0])).tolist()
    [-2.0, 2.0]
    """
    for axis in range(counts.ndim):
        counts = counts - counts.mean(axis=axis, keepdims=True)
    return counts


def _weights(eigenvalues: Array) -> Array:
    """Return how far each direction is followed, the step of the method being well chosen."""
    largest = float(eigenvalues.max())
    if not largest:
        return np.zeros_like(eigenvalues)
    weights = eigenvalues / largest
    step = 1 / math.sqrt(max(float(weights.min()), 1e-8))
    return np.asarray(step * weights / (1 + step * weights))


def _nearest(start: Sequence[Array], pull: _Pull) -> list[Array]:
    """Return counts that add up, and are nearly at least zero, nearest to the start."""
    scale = max(float(np.abs(table).max(initial=0.0)) for table in start)
    if not scale or min(float(table.min()) for table in start) >= 0:
        return list(start)
    cut = [np.maximum(table, 0.0) for table in start]
    owed = [np.zeros_like(table) for table in start]
    nearest = list(start)
    for _ in range(_ROUNDS):
        gaps = [c - o - s for c, o, s in zip(cut, owed, start, strict=True)]
        nearest = [s + moved for s, moved in zip(start, pull(gaps), strict=True)]
        over = [_RELAXED * f + (1 - _RELAXED) * c for f, c in zip(nearest, cut, strict=True)]
        before, cut = cut, [np.maximum(f + o, 0.0) for f, o in zip(over, owed, strict=True)]
        owed = [o + f - c for o, f, c in zip(owed, over, cut, strict=True)]
        apart = max(float(np.abs(f - c).max()) for f, c in zip(nearest, cut, strict=True))
        gone = max(float(np.abs(b - c).max()) for b, c in zip(before, cut, strict=True))
        if max(apart, gone) <= _EXACT * scale:
            break
    return nearest


def _cut(counts: Array, start: Array) -> Array:
    """Return counts with zero where they are zero but for the last digits."""
    tolerance = _NOTHING * float(np.abs(start).max(initial=0.0))
    return np.asarray(np.where(counts <= tolerance, 0.0, counts))


# Rows whose counts come near to given marginals: the gradual update of a table.
#
# The rows begin with the counts of each axis alone.  Then, marginal by marginal, some rows of cells
# that have too many are moved to cells that have too few: half of them by taking over the values of
# the cell, half by becoming a copy of a row that is in it already (which keeps what other axes have
# to do with these).  Fewer rows are moved from round to round; the nearest table of all rounds is
# kept.  What goes in is published, so all of this is post-processing.
#
# Source: Zhang, Wang, Li, Honorio, Backes, He, Chen, Zhang, "PrivSyn: Differentially private data
# synthesis", USENIX Security 2021, section 4 (GUM).


Marginal = tuple[Subset, NDArray[np.float64]]  # some axes, and the counts of their cells
_Rows = NDArray[np.int64]
_WORK = 400_000_000
_SYNTHETIC_ROWS_ROUNDS = (4, 60)


def fitted_rows(
    sizes: Sequence[int], marginals: Sequence[Marginal], rows: int, stream: Repeatable
) -> _Rows:
    """Return this many rows, a number of a cell for each axis.

    >>> pairs = [((0, 1), np.array([[30.0, 0.0], [0.0, 70.0]]))]
    >>> table = fitted_rows([2, 2], pairs, 100, Repeatable(1))
    >>> np.bincount(2 * table[:, 0] + table[:, 1], minlength=4).tolist()
    [30, 0, 0, 70]
    """
    # marginals: counts on sets of axes; they need not agree, and may be below zero.
    wanted = [(axes, _shares(counts) * rows) for axes, counts in marginals]
    table = np.zeros((rows, len(sizes)), dtype=np.int64)
    for axis, size in enumerate(sizes):
        table[:, axis] = _drawn(_alone(axis, size, wanted), rows, stream)
    rounds = min(
        max(_WORK // (rows * len(wanted)) // 30, _SYNTHETIC_ROWS_ROUNDS[0]),
        _SYNTHETIC_ROWS_ROUNDS[1],
    )
    best, nearest = table.copy(), _gap(table, wanted)
    for index in range(rounds):
        share = 1 / (1 + index / 8)
        for axes, counts in stream.sample(wanted, len(wanted)):
            _moved(table, axes, counts, share, stream)
        gap = _gap(table, wanted)
        if gap < nearest:
            best, nearest = table.copy(), gap
    return best


def counts_of(table: _Rows, axes: Subset, shape: Sequence[int]) -> NDArray[np.int64]:
    """Return how many rows each cell of some axes has."""
    return np.bincount(_codes(table, axes, shape), minlength=math.prod(shape)).reshape(shape)


def _codes(table: _Rows, axes: Subset, shape: Sequence[int]) -> _Rows:
    if not axes:
        return np.zeros(len(table), dtype=np.int64)
    codes: _Rows = np.ravel_multi_index(tuple(table[:, axis] for axis in axes), tuple(shape))
    return codes


def _shares(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearest counts that are not below zero and have the same sum, as shares of it.

    >>> _shares(np.array([7.0, 4.0, -1.0])).tolist()
    [0.65, 0.35, 0.0]
    """
    # To cut at zero alone would add the noise of empty cells to the sum, and take it from the
    # others.
    total = float(counts.sum())
    if total <= 0:
        return np.full(counts.shape, 1 / counts.size)
    falling = np.sort(counts, axis=None)[::-1]
    lowered = (np.cumsum(falling) - total) / np.arange(1, counts.size + 1)
    last = np.flatnonzero(falling > lowered)[-1]
    return np.asarray(np.maximum(counts - lowered[last], 0.0) / total)


def _alone(axis: int, size: int, wanted: Sequence[Marginal]) -> NDArray[np.float64]:
    """Return the shares of one axis: the mean of what the marginals say."""
    estimates = [
        counts.sum(axis=tuple(i for i, other in enumerate(axes) if other != axis))
        for axes, counts in wanted
        if axis in axes
    ]
    return _shares(np.mean(estimates, axis=0) if estimates else np.ones(size))


def _drawn(shares: NDArray[np.float64], count: int, stream: Repeatable) -> _Rows:
    """Return places in the given shares, each as often as it can be, in random order."""
    points = (np.arange(count) + stream.random()) / count
    indices = np.searchsorted(np.cumsum(shares) / shares.sum(), points, side="right")
    mixed = np.argsort(stream.words(count))
    drawn: _Rows = np.minimum(indices, len(shares) - 1)[mixed]
    return drawn


def _gap(table: _Rows, wanted: Sequence[Marginal]) -> float:
    return math.fsum(
        float(np.abs(counts_of(table, axes, counts.shape) - counts).sum())
        for axes, counts in wanted
    )


def _moved(
    table: _Rows, axes: Subset, counts: NDArray[np.float64], share: float, stream: Repeatable
) -> None:
    """Move a share of the rows of cells with too many to cells with too few."""
    codes = _codes(table, axes, counts.shape)
    current = np.bincount(codes, minlength=counts.size)
    gap = counts.ravel() - current
    lack = np.maximum(gap, 0.0)
    leaving = np.floor(share * np.maximum(-gap, 0.0) + stream.random()).astype(np.int64)
    if not axes or not leaving.any() or lack.sum() < 0.5:
        return
    order = np.lexsort((stream.words(len(codes)), codes))  # by cell, in random order within each
    first = np.cumsum(current) - current
    within = np.arange(len(codes)) - first[codes[order]]
    rows = order[within < leaving[codes[order]]]
    into = _drawn(lack, len(rows), stream)
    copied = (current[into] > leaving[into]) & (np.arange(len(rows)) % 2 == 0)
    turn = stream.words(len(rows)).astype(np.float64) / 2.0**64
    left = (current - leaving)[into]
    source = order[(first + leaving)[into] + np.minimum(turn * left, left - 1).astype(np.int64)]
    values: Any = np.unravel_index(into, counts.shape)
    for axis, value in zip(axes, values, strict=True):
        table[rows[~copied], axis] = value[~copied]
    table[rows[copied]] = table[source[copied]]


# Rows of a graphical model that the library mbi fits to given marginals.
#
# Of all distributions that keep the marginals as nearly as their noise allows, the model is the one
# of the largest entropy: columns that no marginal has together are as independent as the others
# leave them.  The fit is that of mbi (mirror descent, with the marginals of a junction tree); the
# rows are drawn here, column by column, each as often as the model says given the columns before
# it, so that the choices are the caller's.  What goes in is published, so all of this is
# post-processing.
#
# *Why a few columns decide.*  The columns are drawn in the reverse of the order in which the graph
# of the marginals is triangulated.  There a column's neighbours among those before it form a clique
# with it, and given them it is independent of all others before it; so its distribution given them
# is its distribution given all (Koller and Friedman, *Probabilistic Graphical Models*, 2009,
# section 9.4).
#
# Source: McKenna, Sheldon, Miklau, "Graphical-model based estimation and inference for differential
# privacy", ICML 2019.


_MAX_CELLS = 1 << 21
_GRAPHICAL_WORK = 1 << 30
_STEPS = (1000, 10_000)
_STOP = 5e-4
_MIN_MASS = 1e-12


def graphical_rows(
    sizes: Sequence[int],
    marginals: Sequence[Marginal],
    spreads: Sequence[NDArray[np.float64]],
    rows: int,
    stream: Repeatable,
) -> NDArray[np.int64]:
    """Return so many rows, a number of a cell for each axis."""
    # marginals: counts on sets of axes; they need not agree, and may be below zero.
    # spreads: the standard errors of the counts; infinite where nothing is known.
    mbi, jax = _libraries()
    released = [(axes, *pair) for (axes, pair) in _of_axes(marginals, spreads) if axes]
    domain = mbi.Domain(tuple(range(len(sizes))), tuple(sizes))
    tree, order = mbi.junction_tree.make_junction_tree(domain, [axes for axes, *_ in released])
    cliques = [set(clique) for clique in tree.nodes]
    cells = sum(math.prod(sizes[i] for i in clique) for clique in cliques)
    if cells > _MAX_CELLS:
        raise UsageError(
            f"a graphical model of these answers has tables of {cells:,} cells; at most "
            f"{_MAX_CELLS:,} are fitted: leave pairs of columns out, or give method='gradual'"
        )
    totals = [float(counts.sum()) for _, counts in marginals]
    total = max(math.fsum(totals) / len(totals), 1.0)
    with jax.enable_x64(True):
        measured = [
            mbi.LinearMeasurement(
                (counts * weights).ravel(), axes, query=mbi.WeightedQuery(weights.ravel())
            )
            for axes, counts, weights in released
        ]
        steps = min(max(_GRAPHICAL_WORK // cells, _STEPS[0]), _STEPS[1])
        model = mbi.estimation.MirrorDescent().estimate(
            domain, measured, known_total=total, iters=steps, tol=_STOP
        )
        table = np.zeros((rows, len(sizes)), dtype=np.int64)
        before: list[int] = []
        for axis in reversed(order):
            near = set().union(*(clique for clique in cliques if axis in clique))
            given = tuple(other for other in before if other in near)
            projected = np.asarray(model.project((*given, axis)).datavector(flatten=False))
            table[:, axis] = drawn_given(table[:, list(given)], projected, stream)
            before.append(axis)
    return table


def _libraries() -> tuple[Any, Any]:
    """Import mbi without its advice on settings of jax, which are those of the process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return need("mbi", "synthetic"), need("jax", "synthetic")


def _of_axes(marginals: Sequence[Marginal], spreads: Sequence[NDArray[np.float64]]) -> Any:
    """Return the axes, counts and weights of each marginal; a weight is one standard error."""
    for (axes, counts), spread in zip(marginals, spreads, strict=True):
        known = np.isfinite(spread)
        weights = np.where(known, 1 / np.maximum(np.where(known, spread, 1.0), _MIN_MASS), 0.0)
        yield axes, (counts, weights)


def drawn_given(
    given: NDArray[np.int64], distribution: NDArray[np.float64], stream: Repeatable
) -> NDArray[np.int64]:
    """Return a column for rows of which some columns are known, each as often as it can be.

    >>> told = np.array([[0.0, 9.0], [3.0, 1.0]])
    >>> column = drawn_given(np.array([[0]] * 5 + [[1]] * 8), told, Repeatable(1))
    >>> column[:5].tolist(), int(column[5:].sum())
    ([1, 1, 1, 1, 1], 2)
    """
    # Rows that are alike get points spread evenly from 0 to 1, in random order, and each takes the
    # value in whose stretch of the cumulative distribution its point lies.
    size = distribution.shape[-1]
    lines = np.maximum(distribution.reshape(-1, size), 0.0)
    lines = np.where(lines.sum(axis=1, keepdims=True) > 0, lines, 1.0)
    upto = np.cumsum(lines, axis=1)
    upto /= upto[:, -1:]
    codes = np.zeros(len(given), dtype=np.int64)
    if given.shape[1]:
        codes = np.ravel_multi_index(tuple(given.T), distribution.shape[:-1])
    current = np.bincount(codes, minlength=len(lines))
    order = np.lexsort((stream.words(len(codes)), codes))  # by line, in random order within each
    code = codes[order]
    within = np.arange(len(codes)) - (np.cumsum(current) - current)[code]
    turns = stream.words(len(lines)).astype(np.float64) / 2.0**64
    points = (within + turns[code]) / current[code]
    indices = np.searchsorted(
        (upto + np.arange(len(lines))[:, None]).ravel(), points + code, "right"
    )
    drawn = np.zeros(len(codes), dtype=np.int64)
    drawn[order] = np.clip(indices - code * size, 0, size - 1)
    return drawn
