"""Shallow trees, boosted: a score of numbers that distinguishes two data sets beyond a sum of them.

Each number is cut at some of its quantiles, which lie ever closer towards both ends: what is rare
tells the most.  Outputs between the same cuts are one row with a weight.  A tree asks three such
questions; its leaves take a step of Newton on the logarithmic loss, some of the way; trees are
added while outputs that were not fitted to are distinguished better.  (Friedman, "Greedy function
approximation", 2001.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Boosted", "boosted"]

_LEVELS = 3
_TREES = 60
_RATE = 0.25
_BINS = 32
_TAIL = 10
"""Cuts at each end beyond the first of the bins, the last with a few dozen outputs outside."""
_PATIENCE = 5
_FEWEST = 4.0
"""Of the weight p (1 - p) of the outputs in a leaf."""

Rows = NDArray[np.float64]


@dataclass(frozen=True)
class _Tree:
    """A complete tree: node j asks whether a feature is above a cut, then 2j + 1 or 2j + 2 asks."""

    features: NDArray[np.intp]
    cuts: NDArray[np.intp]
    leaves: NDArray[np.float64]

    def __call__(self, codes: NDArray[np.intp]) -> NDArray[np.float64]:
        place = np.zeros(len(codes), dtype=np.intp)
        every = np.arange(len(codes))
        for _ in range(_LEVELS):
            place = 2 * place + 1 + (codes[every, self.features[place]] > self.cuts[place])
        return self.leaves[place - len(self.features)]


@dataclass(frozen=True)
class Boosted:
    """A sum of trees on numbers that are cut in bins.

    Attributes:
        edges: the cuts of each feature.
        trees: what is added up.
    """

    edges: tuple[NDArray[np.float64], ...]
    trees: tuple[_Tree, ...]

    def __call__(self, rows: Rows) -> NDArray[np.float64]:
        """Return what the trees add to the score of each row."""
        found = np.zeros(len(rows))
        if self.trees:
            codes = _coded(rows, self.edges)
            for tree in self.trees:
                found += tree(codes)
        return found


def boosted(rows: Rows, of_u: NDArray[np.bool_], start: NDArray[np.float64]) -> Boosted:
    """Fit trees to what a first score leaves over.

    Args:
        rows: features, one row an output; every fourth row decides when to stop.
        of_u: whether each output is of u.
        start: the first score of each row, a logarithm of odds.

    >>> rows = np.arange(400.0)[:, None] % 20
    >>> inside = np.abs(rows[:, 0] - 9.5) < 5
    >>> trees = boosted(rows, inside, np.zeros(400))
    >>> bool(trees(np.array([[9.0]]))[0] > 1 > -1 > trees(np.array([[19.0]]))[0])
    True
    """
    edges = tuple(_edges(x) for x in rows.T)
    width = 1 + max(len(cuts) for cuts in edges)
    held = np.arange(len(rows)) % 4 == 3
    codes, fit, rest = _coded(rows, edges), _Cells(), _Cells()
    for part, cells in ((~held, fit), (held, rest)):
        cells.gather(codes[part], of_u[part], start[part])
    best, least = 0, np.inf
    trees: list[_Tree] = []
    while len(trees) < _TREES:
        loss = rest.loss()
        if loss < least - 1e-7:
            best, least = len(trees), loss
        if len(trees) >= best + _PATIENCE:
            break
        tree = _grown(fit.codes, *fit.derivatives(), width)
        trees.append(tree)
        for cells in (fit, rest):
            cells.score += tree(cells.codes)
    return Boosted(edges, tuple(trees[:best]))


class _Cells:
    """Rows with the same codes together: how many of them are of u and of v, and their score."""

    codes: NDArray[np.intp]
    counts: NDArray[np.float64]
    score: NDArray[np.float64]

    def gather(
        self, codes: NDArray[np.intp], of_u: NDArray[np.bool_], start: NDArray[np.float64]
    ) -> None:
        """Take rows; two cells with one mixed number would only make the fit worse."""
        mixed = np.zeros(len(codes), dtype=np.uint64)
        for column in codes.T:
            mixed = (mixed + column.astype(np.uint64) + np.uint64(1)) * _MIXER
            mixed ^= mixed >> np.uint64(29)
        _, first, cell = np.unique(mixed, return_index=True, return_inverse=True)
        self.codes = codes[first]
        self.counts = np.array(
            [np.bincount(cell[of], minlength=len(first)) for of in (of_u, ~of_u)]
        )
        self.score = np.bincount(cell, start, len(first)) / self.counts.sum(axis=0)

    def loss(self) -> float:
        """Return the mean logarithmic loss."""
        losses = [np.logaddexp(0, -self.score), np.logaddexp(0, self.score)]
        return float((self.counts * losses).sum() / max(self.counts.sum(), 1))

    def derivatives(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the slope of minus the loss in each score, and how it bends."""
        chance = 1 / (1 + np.exp(-np.clip(self.score, -30, 30)))
        of_u, of_v = self.counts
        return of_u * (1 - chance) - of_v * chance, (of_u + of_v) * chance * (1 - chance)


_MIXER = np.uint64(0x9E3779B97F4A7C15)


def _edges(column: NDArray[np.float64]) -> NDArray[np.float64]:
    places = np.linspace(0, 1, _BINS + 1)[1:-1]
    rarest = 20 / len(column)
    if rarest < places[0]:
        tail = np.geomspace(rarest, places[0], _TAIL, endpoint=False)
        places = np.concatenate([tail, places, 1 - tail])
    return np.unique(np.quantile(column, places))


def _coded(rows: Rows, edges: tuple[NDArray[np.float64], ...]) -> NDArray[np.intp]:
    columns = [np.searchsorted(cuts, x, side="left") for cuts, x in zip(edges, rows.T, strict=True)]
    return np.column_stack(columns)


def _grown(
    codes: NDArray[np.intp], slope: NDArray[np.float64], bend: NDArray[np.float64], width: int
) -> _Tree:
    """Grow one tree, level by level, over all nodes of a level at once."""
    size = codes.shape[1]
    features, cuts = np.zeros((2, 2**_LEVELS - 1), dtype=np.intp)
    node, every = np.zeros(len(codes), dtype=np.intp), np.arange(len(codes))
    for level in range(_LEVELS):
        nodes = 2**level
        cell = ((node[:, None] * size + np.arange(size)) * width + codes).ravel()
        sums = [
            np.bincount(cell, np.repeat(x, size), nodes * size * width)
            .reshape(nodes, size, width)
            .cumsum(axis=2)
            for x in (slope, bend)
        ]
        gain = _gains(sums[0], sums[1])
        best = gain.reshape(nodes, -1).argmax(axis=1)
        first = nodes - 1
        features[first : first + nodes], cuts[first : first + nodes] = np.divmod(best, width)
        above = codes[every, features[first + node]] > cuts[first + node]
        node = 2 * node + above
    leaves = 2**_LEVELS
    step = np.bincount(node, slope, leaves) / (np.bincount(node, bend, leaves) + 1)
    return _Tree(features, cuts, _RATE * np.clip(step, -4, 4))


def _gains(slope: NDArray[np.float64], bend: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what each cut of each feature gains, 0 where a side has too little."""
    rest, other = slope[:, :, -1:] - slope, bend[:, :, -1:] - bend
    gain = slope**2 / (bend + 1) + rest**2 / (other + 1)
    enough = (bend >= _FEWEST) & (other >= _FEWEST)
    return np.where(enough, gain, 0.0)
