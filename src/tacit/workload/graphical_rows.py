"""Rows of a graphical model that the library mbi fits to given marginals.

Of all distributions that keep the marginals as nearly as their noise allows, the model is the one
of the largest entropy: columns that no marginal has together are as independent as the others
leave them.  The fit is that of mbi (mirror descent, with the marginals of a junction tree); the
rows are drawn here, column by column, each as often as the model says given the columns before it,
so that the choices are the caller's.  What goes in is published, so all of this is
post-processing.

*Why a few columns decide.*  The columns are drawn in the reverse of the order in which the graph of
the marginals is triangulated.  There a column's neighbours among those before it form a clique with
it, and given them it is independent of all others before it; so its distribution given them is its
distribution given all (Koller and Friedman, *Probabilistic Graphical Models*, 2009, section 9.4).

Source: McKenna, Sheldon, Miklau, "Graphical-model based estimation and inference for differential
privacy", ICML 2019.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.mixing import Repeatable
from tacit.errors import UsageError, need
from tacit.workload.synthetic_rows import Marginal

__all__ = ["drawn_given", "graphical_rows"]

_MOST_CELLS = 1 << 21
_WORK = 1 << 30
_STEPS = (1000, 10_000)
_STOP = 5e-4
_LEAST = 1e-12


def graphical_rows(
    sizes: Sequence[int],
    marginals: Sequence[Marginal],
    spreads: Sequence[NDArray[np.float64]],
    rows: int,
    stream: Repeatable,
) -> NDArray[np.int64]:
    """Return so many rows, a number of a cell for each axis.

    Args:
        sizes: how many cells each axis has; each axis is in one of the marginals.
        marginals: counts on sets of axes; they need not agree, and may be below zero.
        spreads: the standard errors of the counts; infinite where nothing is known.
        rows: how many; at least one.
        stream: of the choices.

    Raises:
        MissingExtraError: mbi is not installed.
        UsageError: the tables of the model are too large.
    """
    mbi, jax = _libraries()
    asked = [(axes, *pair) for (axes, pair) in _of_axes(marginals, spreads) if axes]
    domain = mbi.Domain(tuple(range(len(sizes))), tuple(sizes))
    tree, order = mbi.junction_tree.make_junction_tree(domain, [axes for axes, *_ in asked])
    cliques = [set(clique) for clique in tree.nodes]
    cells = sum(math.prod(sizes[i] for i in clique) for clique in cliques)
    if cells > _MOST_CELLS:
        raise UsageError(
            f"a graphical model of these answers has tables of {cells:,} cells; at most "
            f"{_MOST_CELLS:,} are fitted: leave pairs of columns out, or give method='gradual'"
        )
    totals = [float(counts.sum()) for _, counts in marginals]
    total = max(math.fsum(totals) / len(totals), 1.0)
    with jax.enable_x64(True):
        measured = [
            mbi.LinearMeasurement(
                (counts * weights).ravel(), axes, query=mbi.WeightedQuery(weights.ravel())
            )
            for axes, counts, weights in asked
        ]
        steps = min(max(_WORK // cells, _STEPS[0]), _STEPS[1])
        model = mbi.estimation.MirrorDescent().estimate(
            domain, measured, known_total=total, iters=steps, tol=_STOP
        )
        table = np.zeros((rows, len(sizes)), dtype=np.int64)
        before: list[int] = []
        for axis in reversed(order):
            near = set().union(*(clique for clique in cliques if axis in clique))
            given = tuple(other for other in before if other in near)
            told = np.asarray(model.project((*given, axis)).datavector(flatten=False))
            table[:, axis] = drawn_given(table[:, list(given)], told, stream)
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
        weights = np.where(known, 1 / np.maximum(np.where(known, spread, 1.0), _LEAST), 0.0)
        yield axes, (counts, weights)


def drawn_given(
    given: NDArray[np.int64], told: NDArray[np.float64], stream: Repeatable
) -> NDArray[np.int64]:
    """Return a column for rows of which some columns are known, each as often as it can be.

    Rows that are alike get points spread evenly from 0 to 1, in random order, and each takes the
    value in whose stretch of the cumulative distribution its point lies.

    >>> told = np.array([[0.0, 9.0], [3.0, 1.0]])
    >>> column = drawn_given(np.array([[0]] * 5 + [[1]] * 8), told, Repeatable(1))
    >>> column[:5].tolist(), int(column[5:].sum())
    ([1, 1, 1, 1, 1], 2)
    """
    size = told.shape[-1]
    lines = np.maximum(told.reshape(-1, size), 0.0)
    lines = np.where(lines.sum(axis=1, keepdims=True) > 0, lines, 1.0)
    upto = np.cumsum(lines, axis=1)
    upto /= upto[:, -1:]
    codes = np.zeros(len(given), dtype=np.int64)
    if given.shape[1]:
        codes = np.ravel_multi_index(tuple(given.T), told.shape[:-1])
    held = np.bincount(codes, minlength=len(lines))
    order = np.lexsort((stream.words(len(codes)), codes))  # by line, in random order within each
    code = codes[order]
    within = np.arange(len(codes)) - (np.cumsum(held) - held)[code]
    turns = stream.words(len(lines)).astype(np.float64) / 2.0**64
    points = (within + turns[code]) / held[code]
    places = np.searchsorted(
        (upto + np.arange(len(lines))[:, None]).ravel(), points + code, "right"
    )
    found = np.zeros(len(codes), dtype=np.int64)
    found[order] = np.clip(places - code * size, 0, size - 1)
    return found
