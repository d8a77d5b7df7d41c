"""Bets on single events of the outputs, found by boosted trees."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.audit.bets import expected_growth
from tacit.audit.features import SUMMARIES, Design, grids_of, numbers_of, width_of

# Shallow trees, boosted: a score of numbers that distinguishes two data sets beyond a sum of them.
#
# Each number is cut at some of its quantiles, which lie ever closer towards both ends: what is rare
# tells the most.  Outputs between the same cuts are one row with a weight.  A tree asks three such
# questions; its leaves take a step of Newton on the logarithmic loss, some of the way; trees are
# added while outputs that were not fitted to are distinguished better.  (Friedman, "Greedy function
# approximation", 2001.)


_LEVELS = 3
_TREES = 60
_RATE = 0.25
_BINS = 32
# Cuts at each end beyond the first of the bins, the last with a few dozen outputs outside.
_TAIL = 10
_MAX_ROUNDS_WITHOUT_GAIN = 5
_FEWEST = 4.0  # of the weight p (1 - p) of the outputs in a leaf

Rows = NDArray[np.float64]


@dataclass(frozen=True)
class _Tree:
    """A complete tree: node j asks whether a feature is above a cut, then 2j + 1 or 2j + 2 asks."""

    features: NDArray[np.intp]
    cuts: NDArray[np.intp]
    leaves: NDArray[np.float64]

    def __call__(self, codes: NDArray[np.intp]) -> NDArray[np.float64]:
        node = np.zeros(len(codes), dtype=np.intp)
        every = np.arange(len(codes))
        for _ in range(_LEVELS):
            node = 2 * node + 1 + (codes[every, self.features[node]] > self.cuts[node])
        return self.leaves[node - len(self.features)]


@dataclass(frozen=True)
class Boosted:
    """A sum of trees on numbers that are cut in bins."""

    edges: tuple[NDArray[np.float64], ...]  # the cuts of each feature
    trees: tuple[_Tree, ...]  # what is added up

    def __call__(self, rows: Rows) -> NDArray[np.float64]:
        """Return what the trees add to the score of each row."""
        scores = np.zeros(len(rows))
        if self.trees:
            codes = _coded(rows, self.edges)
            for tree in self.trees:
                scores += tree(codes)
        return scores


def boosted(rows: Rows, of_u: NDArray[np.bool_], start: NDArray[np.float64]) -> Boosted:
    """Fit trees to what a first score leaves over.

    >>> rows = np.arange(400.0)[:, None] % 20
    >>> inside = np.abs(rows[:, 0] - 9.5) < 5
    >>> trees = boosted(rows, inside, np.zeros(400))
    >>> bool(trees(np.array([[9.0]]))[0] > 1 > -1 > trees(np.array([[19.0]]))[0])
    True
    """
    edges = tuple(_edges(x) for x in rows.T)
    width = 1 + max(len(cuts) for cuts in edges)
    held_out = np.arange(len(rows)) % 4 == 3
    codes, fit, rest = _coded(rows, edges), _Cells(), _Cells()
    for part, cells in ((~held_out, fit), (held_out, rest)):
        cells.gather(codes[part], of_u[part], start[part])
    best, minimum = 0, np.inf
    trees: list[_Tree] = []
    while len(trees) < _TREES:
        loss = rest.loss()
        if loss < minimum - 1e-7:
            best, minimum = len(trees), loss
        if len(trees) >= best + _MAX_ROUNDS_WITHOUT_GAIN:
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
    levels = np.linspace(0, 1, _BINS + 1)[1:-1]
    rarest = 20 / len(column)
    if rarest < levels[0]:
        tail = np.geomspace(rarest, levels[0], _TAIL, endpoint=False)
        levels = np.concatenate([tail, levels, 1 - tail])
    return np.unique(np.quantile(column, levels))


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


# Events that distinguish two data sets, learned from outputs that were seen before.
#
# An event is a function from an output to True or False.  Any event gives a valid bound
# (:mod:`tacit.audit.bets`), for it is chosen before the outputs that it is counted on;
# a good one gives a bound near the truth.  By the lemma of Neyman and Pearson the best ones gather
# the outputs whose ratio of probabilities, of u to v, is above a threshold.  That ratio is
# estimated
#
# - by counting, where outputs repeat;
# - else by logistic regression on features of the output (:mod:`tacit.audit.features`), or
#   by one of its features alone, where that tells more.
#
# Where the claim is known, the outputs are divided where the bets against it (payoff 1 for an
# output of u in the event, -exp(epsilon) for one of v) would have gained the most for their
# variance; or where the ratio is the largest, if no bet would have gained clearly.


# From outputs to whether each lies in the event.
Event = Callable[[Sequence[Any]], NDArray[np.bool_]]


@dataclass(frozen=True)
class LearnedEvent:
    """The outputs whose score is on one side of a cut."""

    # an estimate of how much more likely an output is from u than from v
    score: Callable[[Sequence[Any]], NDArray[np.float64]]
    cut: float  # where the outputs are divided
    tells_of_v: bool  # the event is those below the cut, which tell of v; else those above, of u

    def __call__(self, outputs: Sequence[Any]) -> NDArray[np.bool_]:
        """Return whether each output lies in the event."""
        return np.asarray((self.score(outputs) < self.cut) == self.tells_of_v)


# Outputs are counted where there are at most this many different ones for each output.
_REPEATS = 0.03
_ROUNDS = 25
_STEADY = 1e-4
_RIDGE, _RIDGE_AT_LEAST = 1e-5, 0.1
_CHUNK = 20_000
_MAX_CELLS = 40_000_000  # outputs times features of one fit
_DEVIATIONS = 2.0  # standard errors that are held against an event


def learned_event(
    left: Sequence[Any], right: Sequence[Any], delta: float, epsilon: float | None = None
) -> LearnedEvent:
    """Return the event that would have shown the most on these outputs."""
    names = [Counter(map(_name, side)) for side in (left, right)]
    if len(names[0] | names[1]) <= max(4, _REPEATS * (len(left) + len(right))):
        scores = [_by_count(names[0], names[1])]
    else:
        width = width_of(numbers_of([*left, *right]))
        single = [*range(SUMMARIES), *grids_of(width)]
        scores = [_by_regression(left, right), *(_by_feature(index, width) for index in single)]

    def best(claim: float | None) -> tuple[float, LearnedEvent]:
        thresholds = [_best_threshold(score, left, right, delta, claim) for score in scores]
        return max(thresholds, key=lambda one: one[0])

    gain, event = best(epsilon)
    # where nothing tells against the claim, a bet on it is of noise: the largest ratio says more
    against = epsilon is None or gain * math.sqrt(len(left)) >= _DEVIATIONS
    return event if against else best(None)[1]


_FEW = 100  # outputs are counted one by one where there are at most this many different ones
_TREE_CELLS = 8_000_000
_HALF = 250_000


def learned_score(
    left: Sequence[Any], right: Sequence[Any]
) -> Callable[[Sequence[Any]], NDArray[np.float64]]:
    """Return a score of how much more an output tells of u than of v."""
    # Few different outputs are counted; else trees correct a logistic regression.
    left, right = left[-_HALF:], right[-_HALF:]
    names = [Counter(map(_name, side)) for side in (left, right)]
    if len(names[0] | names[1]) <= min(_FEW, len(left) / 4):
        return _by_count(names[0], names[1])
    first = _by_regression(left, right)
    limit = max(1_000, _TREE_CELLS // (2 * numbers_of(left[:2]).shape[1]))
    both = [*left[-limit:], *right[-limit:]]
    of_u = np.arange(len(both)) < len(both) // 2
    rows = numbers_of(both)
    trees, width = boosted(rows, of_u, first(both)), width_of(rows)
    return lambda outputs: np.asarray(
        first(outputs) + trees(numbers_of(outputs, width)), dtype=np.float64
    )


def best_feature(
    left: Sequence[Any], right: Sequence[Any], delta: float, epsilon: float | None
) -> Callable[[Sequence[Any]], NDArray[np.float64]]:
    """Return the single feature, as a score, on whose grades bets would gain the most."""
    rows = numbers_of([*left, *right])
    width = width_of(rows)

    def promise(index: int, sign: int) -> float:
        grades = sign * rows[: len(left), index], sign * rows[len(left) :, index]
        return expected_growth(grades, 1.0 if epsilon is None else epsilon, delta)

    single = [*range(SUMMARIES), *grids_of(width)]
    index, sign = max(product(single, (1, -1)), key=lambda one: promise(*one))
    score = _by_feature(index, width)
    return lambda outputs: sign * score(outputs)


def _by_feature(index: int, width: int) -> Callable[[Sequence[Any]], NDArray[np.float64]]:
    """Score by one feature, whose tails a regression over all outputs may miss."""
    return lambda outputs: numbers_of(outputs, width)[:, index]


def _best_threshold(
    score: Callable[[Sequence[Any]], NDArray[np.float64]],
    left: Sequence[Any],
    right: Sequence[Any],
    delta: float,
    epsilon: float | None,
) -> tuple[float, LearnedEvent]:
    """Cut the score where the bets on the outputs seen would have gained the most."""
    # Both tails are tried: outputs that tell of u, and outputs that tell of v.
    sides = [np.sort(score(side)) for side in (left, right)]
    levels = np.linspace(0.002, 0.998, 200)
    if len(left) > 4 * _FEWEST_WITH_EVENT / 0.002:
        tail = np.geomspace(_FEWEST_WITH_EVENT / len(left), 0.002, 20)
        levels = np.concatenate([tail, levels, 1 - tail])
    cuts = np.unique(np.quantile(np.concatenate(sides), levels))
    at_least = [1 - np.searchsorted(side, cuts) / len(side) for side in sides]
    below = [1 - share for share in at_least]
    shares = np.array([[at_least[0], at_least[1]], [below[1], below[0]]])
    growths = _growth(shares[:, 0], shares[:, 1], len(left), delta, epsilon)
    way, index = np.unravel_index(int(growths.argmax()), growths.shape)
    event = LearnedEvent(score, float(cuts[index]), tells_of_v=bool(way == 1))
    return float(growths[way, index]), event


_FEWEST_WITH_EVENT = 40  # outputs of both sides in the rarest event that is tried


def _growth(
    p: NDArray[np.float64], q: NDArray[np.float64], runs: int, delta: float, epsilon: float | None
) -> NDArray[np.float64]:
    """Return what an event promises: against a claim, the mean of a bet over its deviation."""
    # Without a claim, the logarithm of (p - delta) / q with some standard errors against it.
    if epsilon is not None:
        loss = math.exp(min(epsilon, 300.0))
        some = 1 / runs  # an event that v never showed may have this share
        spread = np.sqrt(p * (1 - p) + loss * loss * (q * (1 - q) + some) + some)
        return np.asarray((p - loss * q - delta) / spread, dtype=np.float64)
    low = p - delta - _DEVIATIONS * np.sqrt(p * (1 - p) / runs) - 1 / runs
    high = q + _DEVIATIONS * np.sqrt(q * (1 - q) / runs) + 1 / runs
    return np.asarray(np.log(np.maximum(low, 1e-12) / high), dtype=np.float64)


def _name(output: Any) -> Hashable:
    """Return an output so that equals are equal."""
    if isinstance(output, np.ndarray):
        return tuple(output.ravel().tolist())
    try:
        hash(output)
    except TypeError:
        return repr(output)
    return "NaN" if isinstance(output, float) and output != output else output


def _by_count(
    left: Counter[Hashable], right: Counter[Hashable]
) -> Callable[[Sequence[Any]], NDArray[np.float64]]:
    """Score by the logarithm of the ratio of counts, half a count added to each."""
    known = {
        name: math.log((left[name] + 0.5) / (right[name] + 0.5))
        for name in left.keys() | right.keys()
    }
    return lambda outputs: np.array([known.get(_name(x), 0.0) for x in outputs], dtype=np.float64)


def _by_regression(
    left: Sequence[Any], right: Sequence[Any]
) -> Callable[[Sequence[Any]], NDArray[np.float64]]:
    """Fit a logistic regression by Newton's method, with a small ridge."""
    size = Design.of(left[:1_000], right[:1_000])(left[:1]).shape[1]
    limit = max(1_000, _MAX_CELLS // (2 * size))
    left, right = left[-limit:], right[-limit:]
    design = Design.of(left, right)
    x = design(list(left) + list(right))
    y = np.concatenate([np.ones(len(left)), np.zeros(len(right))])
    weights = np.zeros(x.shape[1])
    ridge = _RIDGE * len(y) + _RIDGE_AT_LEAST
    for _ in range(_ROUNDS):
        scores = (x @ weights.astype(np.float32)).astype(np.float64)
        chance = 1 / (1 + np.exp(-np.clip(scores, -30, 30)))
        slope = x.T @ (y - chance).astype(np.float32) - ridge * weights
        weight = chance * (1 - chance)
        bend = ridge * np.eye(len(weights))
        for some in range(0, len(x), _CHUNK):
            part = x[some : some + _CHUNK]
            bend += (part * weight[some : some + _CHUNK, None].astype(np.float32)).T @ part
        step = np.linalg.solve(bend, slope)
        weights = weights + step
        if np.abs(x[:: max(1, len(x) // 1000)] @ step).max() < _STEADY:
            break
    fitted = weights.astype(np.float32)
    return lambda outputs: np.asarray(design(outputs) @ fitted, dtype=np.float64)
