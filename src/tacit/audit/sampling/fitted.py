"""Bets on the ratio itself that a regression fits, for claims that are wrong by little.

Bins with a count each (:mod:`tacit.audit.sampling.graded`) need many outputs in each.  Where a
claim is wrong by a tenth, and for one output of a hundred, they lose more money on their errors
than there is to gain.  Here a regression states the log ratio of every output, drawn towards 0 by
a normal prior; its cells of nearly equal scores have the mean probability as their ratio, and none
of them is estimated alone.

**The regression** is gathered round by round.  A pilot fit gives weights w0.  From then on each
round adds to H = sum of x x' p (1 - p) and to g = sum of x (y - p), where y is 1 for an output of u
and p its probability by the pilot.  With b = g + H w0, the weights for a prior precision k are one
step of Newton from the pilot, (H + k)^-1 b: as good as a fit to all outputs seen, when the pilot is
near it, and no output need be kept.

**The prior** says of a few precisions k that each is as likely as the others.  What was seen has,
for each of them, the probability (Laplace's approximation, up to a factor that is the same for all)

    exp(b' (H + k)^-1 b / 2) det(k (H + k)^-1)^(1/2),

and the weights are the mean over k by these.  So nothing is bet while little is known, and what is
learned late is not drawn to 0 by a prior that was made for the beginning.

**Why it is valid.**  A round is bet on by weights and cells that rounds before it gave, and then
counted.  The payoffs of cells are those of :mod:`tacit.audit.sampling.graded`, whose factors have a
mean of at most 1 under a true claim, whatever chances are put in.  The mean of the accounts is a
nonnegative supermartingale from 1 again.

Source: Bishop, *Pattern Recognition and Machine Learning* (2006), sections 3.5, 4.3 and 4.4;
Gruenwald, de Heide and Koolen, "Safe testing" (JRSS B 2024).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.audit.sampling.features import Design, Features
from tacit.audit.sampling.graded import gained

__all__ = ["FittedBets"]

_PRECISIONS = 4.0 ** np.arange(0, 10)
"""Of the prior of each weight, on features of variance 1, over their number: scores have a standard
deviation of 1, of 1/2, and so on, before anything is seen."""
_LEAST_SPREAD = 0.05
"""What few outputs have in common is not to weigh as much as what divides them in halves."""
_ROUNDS = 8
_MOST_WORK = 4e10
"""Rows times the square of their features: outputs after that are bet on, and not learned from."""
_MOST_CELLS = 4_000_000
"""Features of the outputs that are kept to place the cells."""
_CHUNK = 50_000
_SHARES = np.concatenate([np.geomspace(1e-5, 3e-3, 6), np.linspace(0.01, 0.99, 60)])
_PLACES = np.unique(np.concatenate([_SHARES, 1 - _SHARES[:6]]))

Rows = NDArray[np.float32]


class FittedBets:
    """The wealth of bets on a fitted ratio, against each claim of a grid.

    Args:
        grid: the claims, rising.
        delta: the delta of the claims.
        features: learns from outputs of u and of v what a regression is on.

    >>> bets = FittedBets(np.array([0.0, 1.0]))
    >>> draw = np.random.default_rng(1)
    >>> u, v = draw.normal(0.5, 1, 4000), draw.normal(0, 1, 4000)
    >>> bets.learn(u[:2000], v[:2000])
    >>> bets.add(u[2000:], v[2000:])
    >>> bool(bets.log_wealth()[0] > 100 > bets.log_wealth()[1] > 0)
    True
    """

    def __init__(
        self,
        grid: NDArray[np.float64],
        delta: float = 0.0,
        features: Callable[[Sequence[Any], Sequence[Any]], Features] = Design.of,
    ) -> None:
        self._grid, self._delta = grid, delta
        self._logs = np.zeros(len(grid))
        self._learn_features = features
        self._features: Features | None = None
        self._work = 0.0

    def learn(self, left: Sequence[Any], right: Sequence[Any]) -> None:
        """Choose features and fit the pilot anew, on outputs seen before; bet by it from now on.

        Args:
            left: outputs of u.
            right: as many of v.
        """
        self._features = self._learn_features(left, right)
        raw = self._features([*left[:_CHUNK], *right[:_CHUNK]])[:, 1:]
        self._mean, self._scale = raw.mean(axis=0), np.maximum(raw.std(axis=0), _LEAST_SPREAD)
        sides = self._rows(left), self._rows(right)
        self._pilot = np.zeros(sides[0].shape[1])
        for _ in range(_ROUNDS):
            self._forget()
            self._gather(*sides)
            step = self._weights() - self._pilot
            self._pilot = self._pilot + step
            if np.abs(step).max() < 1e-4:
                break
        self._forget()
        self._gather(*sides)

    def add(self, left: Sequence[Any], right: Sequence[Any]) -> None:
        """Bet on rounds by what was learned before, then learn from them too.

        Args:
            left: an output of u for each round.
            right: as many of v.
        """
        if self._features is None:
            return
        weights = self._weights().astype(np.float32)
        seen = np.concatenate(self._kept) @ weights
        cuts = np.unique(np.quantile(seen, _PLACES))
        counts = np.zeros((2, len(cuts) + 1))
        for start in range(0, len(left), _CHUNK):
            rows = [self._rows(side[start : start + _CHUNK]) for side in (left, right)]
            for side in (0, 1):
                cell = np.searchsorted(cuts, rows[side] @ weights, side="right")
                counts[side] += np.bincount(cell, minlength=len(cuts) + 1)
            self._gather(rows[0], rows[1])
        p, q = _fitted_chances(seen, cuts)
        self._logs += gained(p, q, counts, self._grid, self._delta)

    def log_wealth(self) -> NDArray[np.float64]:
        """Return the logarithm of the wealth against each claim."""
        return self._logs.copy()

    def _rows(self, outputs: Sequence[Any]) -> Rows:
        assert self._features is not None
        found = self._features(outputs)
        found[:, 1:] = (found[:, 1:] - self._mean) / self._scale
        return found

    def _forget(self) -> None:
        size = len(self._pilot)
        self._bend, self._slope = np.zeros((size, size)), np.zeros(size)
        self._kept: tuple[Rows, Rows] = (
            np.empty((0, size), dtype=np.float32),
            np.empty((0, size), dtype=np.float32),
        )

    def _gather(self, left: Rows, right: Rows) -> None:
        size = left.shape[1]
        most = _MOST_CELLS // (2 * size)
        self._kept = (
            np.concatenate([self._kept[0], left[-most:]])[-most:],
            np.concatenate([self._kept[1], right[-most:]])[-most:],
        )
        if self._work > _MOST_WORK:
            return
        self._work += 2.0 * len(left) * size * size
        pilot = self._pilot.astype(np.float32)
        for rows, of_u in ((left, 1.0), (right, 0.0)):
            for start in range(0, len(rows), _CHUNK):
                part = rows[start : start + _CHUNK]
                chance = 1 / (1 + np.exp(-np.clip(part @ pilot, -_SURE, _SURE)))
                self._slope += part.T @ (of_u - chance)
                self._bend += (part * (chance * (1 - chance))[:, None]).T @ part

    def _weights(self) -> NDArray[np.float64]:
        steep, axes = np.linalg.eigh(self._bend)
        steep = np.maximum(steep, 0.0)  # but for rounding they are
        slope = axes.T @ (self._slope + self._bend @ self._pilot)
        prior = len(slope) * _PRECISIONS[:, None]
        each = slope / (steep + prior)  # the weights of a precision, a row each
        seen = ((each * slope).sum(axis=1) - np.log1p(steep / prior).sum(axis=1)) / 2
        likely = np.exp(seen - seen.max())
        return np.asarray(axes @ (likely @ each) / likely.sum(), dtype=np.float64)


def _fitted_chances(
    scores: NDArray[np.float32], cuts: NDArray[np.float32]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the chances of the cells of a score, which is the log ratio, of u and of v.

    Every output seen is of u with the probability that its score says: one with a wild score moves
    its cell by no more than itself.

    >>> scores = np.log(np.array([3.0, 3.0, 1 / 3, 1 / 3], dtype=np.float32))
    >>> p, q = _fitted_chances(scores, np.zeros(1))
    >>> p.round(2).tolist(), q.round(2).tolist()
    ([0.26, 0.74], [0.74, 0.26])
    """
    cell = np.searchsorted(cuts, scores, side="right")
    of_u = 1 / (1 + np.exp(-np.clip(scores, -_SURE, _SURE)))
    p = np.bincount(cell, of_u, len(cuts) + 1) + _UNSEEN / 2
    q = np.bincount(cell, 1 - of_u, len(cuts) + 1) + _UNSEEN / 2
    return 2 * p / (p + q).sum(), 2 * q / (p + q).sum()


_SURE = 30.0
_UNSEEN = 0.1
"""Outputs of both sides that are added to a cell, so that one which none fell into has a ratio."""
