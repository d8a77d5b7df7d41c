"""Bets on grades of outputs, in both directions at once, against all claims of a grid.

An event pays the same for every output in it.  Here a score sorts outputs into bins, and each bin
has payoffs of its own.

**The payoffs.**  Let c = exp(epsilon), and let the claim be true: P <= c Q and Q <= c P, for the
distributions P and Q of the outputs of u and v.  Take any numbers r_k >= 0 and s_k >= 0 for the
bins k, and l + m = 2, such that

    a_k = l + r_k - c s_k >= 0   and   b_k = m + s_k - c r_k >= 0.

Then E_P[a] + E_Q[b] = 2 + (E_P[r] - c E_Q[r]) + (E_Q[s] - c E_P[s]) <= 2.  A run of u and a run of
v are independent, so the factor a(y) b(y') of a round has the mean E_P[a] E_Q[b], and that is at
most the square of half their sum, 1.  So the product over rounds is a nonnegative supermartingale
from 1, when bins and numbers are chosen before the round, and so is a mean of such products; so is
1 + k (a - 1), 1 + k (b - 1) in place of a and b, for k in [0, 1], since these conditions are linear
and hold for a = b = 1.  Ville's inequality then bounds the probability that a true claim is
refuted, as in :mod:`tacit.audit.sampling.betting`.

**The best of them.**  Let p_k and q_k be the chances of the bins.  Of all pairs (P, Q) within the
claim, let (P*, Q*) have the least KL(p | P) + KL(q | Q).  By its conditions of Karush, Kuhn and
Tucker, a = p / P* and b = q / Q* have the form above, and no factor with a mean of at most 1 under
the whole claim grows faster (Gruenwald, de Heide and Koolen 2024).  Written out for one l: in a bin
with p / l > c q / m, r = (p m - c q l) / (c (p + q)); where q / m > c p / l, s is that with u and v
changed about; elsewhere a = l and b = m.  P* sums to 1 at one l, found by bisection.  Whatever l is
found and however wrong p and q are, the conditions above hold.

**At delta.**  Let the claim be P <= c Q + delta and Q <= c P + delta on every event, and let r <= R
and s <= S in all bins.  Then E_P[r] - c E_Q[r] is at most R times the positive part of P - c Q,
which is at most delta; with s likewise, E_P[a] + E_Q[b] <= 2 + delta (R + S).  So a and b are both
divided by 1 + delta (R + S) / 2.  Large numbers are dear: r and s are cut at a cap.  One of them is
0 in each bin, so the cut takes from the gain of one factor and from the loss of the other, and both
stay at or above 0.  Of some caps, that of the largest growth by p and q is taken, or a = b = 1
where none grows.

Source: Gruenwald, de Heide and Koolen, "Safe testing" (JRSS B 2024); Ville (1939).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["LEVELS", "GradedBets", "expected_bound", "gained", "payoffs"]

Score = Callable[[Sequence[Any]], NDArray[np.float64]]

_HALVINGS = 40
_BINS = 24
_TAILS = 12
_SHARE = 0.95
"""Of the best payoffs: they are estimated, and no bin may lose everything."""
_CAREFUL = 0.5
"""Standard errors that are held against the ratio of a bin."""
_ROUNDED = 1e-14
"""More than the rounding of one factor."""


def payoffs(
    p: NDArray[np.float64], q: NDArray[np.float64], grid: NDArray[np.float64], delta: float = 0.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the factors of the bins for a run of u, and for one of v, a row for each claim.

    Args:
        p: estimated chances of the bins under u, above 0.
        q: the same under v.
        grid: the claims.
        delta: their delta.

    >>> a, b = payoffs(np.array([0.9, 0.1]), np.array([0.1, 0.9]), np.array([0.0, 9.0]))
    >>> a.round(3).tolist(), b.round(3).tolist()
    ([[1.8, 0.2], [1.0, 1.0]], [[0.2, 1.8], [1.0, 1.0]])
    """
    c = np.exp(np.minimum(grid, 300.0))[:, None]
    low, high = np.zeros((len(grid), 1)), np.full((len(grid), 1), 2.0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        a, _ = _factors(*_numbers(p, q, c, middle), c, middle)
        above = (p / a).sum(axis=1, keepdims=True) > 1  # P* falls with l
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    u = (low + high) / 2
    r, s = _numbers(p, q, c, u)
    if not delta:
        return _factors(r, s, c, u)
    best = np.ones((2, len(grid), len(p)))
    most = np.zeros((len(grid), 1))
    largest = np.maximum(r, s).max(axis=1, keepdims=True)
    for cap in (largest * part for part in _CAPS):
        cut = np.minimum(r, cap), np.minimum(s, cap)
        price = 1 + delta * sum(x.max(axis=1, keepdims=True) for x in cut) / 2
        factors = np.stack(_factors(*cut, c, u)) / price
        logs = np.log1p(_SHARE * (factors - 1))
        growth = (p * logs[0] + q * logs[1]).sum(axis=1, keepdims=True)
        best = np.where(growth > most, factors, best)
        most = np.maximum(most, growth)
    return best[0], best[1]


LEVELS = np.array([0.001, 0.003, 0.01, 0.03, *np.linspace(0.1, 0.9, 9), 0.97, 0.99, 0.997, 0.999])
"""The shares of all outputs that lie above the levels of a score."""
_CAPS = 0.5 ** np.arange(0, 12, 0.5)


def _numbers(
    p: NDArray[np.float64], q: NDArray[np.float64], c: NDArray[np.float64], u: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return r and s at l = u: in each bin one of them is 0."""
    v = 2 - u
    r = np.maximum(0, p * v - c * q * u) / (c * (p + q))
    s = np.maximum(0, q * u - c * p * v) / (c * (p + q))
    return r, s


def _factors(
    r: NDArray[np.float64], s: NDArray[np.float64], c: NDArray[np.float64], u: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the factors, in the form whose mean is bounded whatever r and s are."""
    return np.maximum(u + r - c * s, 0), np.maximum(2 - u + s - c * r, 0)


def gained(
    p: NDArray[np.float64],
    q: NDArray[np.float64],
    counts: NDArray[np.float64],
    grid: NDArray[np.float64],
    delta: float,
) -> NDArray[np.float64]:
    """Return what bets on bins add to the logarithm of the wealth against each claim.

    Args:
        p: estimated chances of the bins under u, above 0, from rounds before.
        q: the same under v.
        counts: how many runs of u, and of v, fell into each bin.
        grid: the claims.
        delta: their delta.

    >>> runs = np.array([[9.0, 1.0], [1.0, 9.0]])
    >>> gained(np.array([0.9, 0.1]), np.array([0.1, 0.9]), runs, np.zeros(1), 0.0).round(1)
    array([7.3])
    """
    gain = np.zeros(len(grid))
    against = grid < np.abs(np.log(p / q)).max()  # nothing is bet on claims that all ratios keep
    a, b = payoffs(p, q, grid[against], delta)
    gain[against] += _total(counts[0], np.log1p(_SHARE * (a - 1)))
    gain[against] += _total(counts[1], np.log1p(_SHARE * (b - 1)))
    gain[against] -= _ROUNDED * counts.sum()
    return gain


def expected_bound(
    grades: tuple[NDArray[np.float64], NDArray[np.float64]],
    samples: int,
    delta: float,
    confidence: float,
) -> float:
    """Estimate the bound that bets on a score reach, from grades that it was not fitted to.

    Args:
        grades: of outputs of u, and of v.
        samples: the runs of the audit on each side.
        delta: at which epsilon is bounded.
        confidence: of the audit.

    >>> grades = np.repeat([0.0, 1.0], [10, 30]), np.repeat([0.0, 1.0], [30, 10])
    >>> few, more = (expected_bound(grades, n, 0.0, 0.99) for n in (60, 2000))
    >>> bool(0 < few < more < np.log(3))
    True
    """
    p, q = _chances(_counted(grades, _cuts(np.concatenate(grades))))
    claims = np.linspace(0, float(np.abs(np.log(p / q)).max()), _CLAIMS)
    a, b = payoffs(p, q, claims, delta)
    growth = np.log1p(_SHARE * (a - 1)) @ p + np.log1p(_SHARE * (b - 1)) @ q
    refuted = samples * growth >= -math.log1p(-confidence)
    return float(claims[refuted].max(initial=0.0))


_CLAIMS = 60


class GradedBets:
    """The wealth of bets on grades, against each claim of a grid.

    Args:
        grid: the claims, rising.
        delta: the delta of the claims.

    >>> bets = GradedBets(np.array([0.0, 1.0]))
    >>> bets.learn(lambda outputs: np.array(outputs, float), [0, 1, 1, 1] * 9, [1, 0, 0, 0] * 9)
    >>> found = bets.add([1] * 9, [0] * 9)
    >>> bool(bets.log_wealth()[0] > bets.log_wealth()[1])
    True
    """

    def __init__(self, grid: NDArray[np.float64], delta: float = 0.0) -> None:
        self._grid, self._delta = grid, delta
        self._logs = np.zeros(len(grid))
        self._score: Score | None = None
        self._cuts: NDArray[np.float64] = np.empty(0)
        self._counts: NDArray[np.float64] = np.empty((2, 0))

    def learn(self, score: Score, left: Sequence[Any], right: Sequence[Any]) -> None:
        """Bet on the grades of a score from now on.

        Args:
            score: how much more an output tells of u than of v; from outputs seen before.
            left: outputs of u that the score was not fitted to, for the chances of its bins.
            right: the same of v.
        """
        grades = score(left), score(right)
        self._score = score
        self._cuts = _cuts(np.concatenate(grades))
        self._counts = _counted(grades, self._cuts)
        levels = np.quantile(np.concatenate(grades), 1 - LEVELS)
        self._levels = np.searchsorted(self._cuts, levels, side="right")

    def add(self, left: Sequence[Any], right: Sequence[Any]) -> NDArray[np.int64] | None:
        """Bet on rounds by what was learned and counted before, then count them too.

        Args:
            left: an output of u for each round.
            right: as many of v.

        Returns:
            How many outputs of u and of v are above each of the levels, which are events chosen
            before, near the shares of :data:`LEVELS`.  None where nothing was learned.
        """
        if self._score is None:
            return None
        fresh = _counted((self._score(left), self._score(right)), self._cuts)
        self._logs += gained(*_chances(self._counts), fresh, self._grid, self._delta)
        self._counts += fresh
        up_to = np.concatenate([np.zeros((2, 1)), fresh.cumsum(axis=1)], axis=1)
        return np.asarray(up_to[:, -1:] - up_to[:, self._levels], dtype=np.int64)

    def log_wealth(self) -> NDArray[np.float64]:
        """Return the logarithm of the wealth against each claim of the grid."""
        return self._logs.copy()


def _total(counts: NDArray[np.float64], logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum the logarithms of the runs; a bin without runs adds nothing, whatever its factor."""
    return np.asarray(np.where(counts > 0, counts * logs, 0.0).sum(axis=1), dtype=np.float64)


def _counted(
    grades: tuple[NDArray[np.float64], NDArray[np.float64]], cuts: NDArray[np.float64]
) -> NDArray[np.float64]:
    places = [np.searchsorted(cuts, side, side="right") for side in grades]
    return np.array([np.bincount(x, minlength=len(cuts) + 1) for x in places], dtype=np.float64)


def _cuts(grades: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return cuts of as many grades in each bin, and of ever fewer at both ends."""
    ordered = np.sort(grades)
    shares = np.arange(1, _BINS) / _BINS
    rarest = 20 / len(grades)
    if rarest < shares[0]:
        tail = np.geomspace(rarest, shares[0], _TAILS, endpoint=False)
        shares = np.concatenate([tail, shares, 1 - tail])
    return np.unique(ordered[np.minimum((shares * len(ordered)).astype(int), len(ordered) - 1)])


def _chances(counts: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Estimate the chances of the bins: the ratios rise with the score, each held nearer to 1.

    A bin whose ratio is below that of the bin before is joined with it (isotonic regression by
    pooling adjacent violators), so that few ratios are estimated, each from many outputs; then
    each is moved towards 1 by its standard error.
    """
    more = counts + 0.5
    total = more.sum(axis=1)
    pooled = _pooled(more)
    ratio = np.log(pooled[0] / pooled[1]) - math.log(total[0] / total[1])
    error = _CAREFUL * np.sqrt(1 / pooled[0] + 1 / pooled[1])
    ratio = np.sign(ratio) * np.maximum(np.abs(ratio) - error, 0)
    both = more[0] / total[0] + more[1] / total[1]
    p = both / (1 + np.exp(-ratio))
    return p, both - p


def _pooled(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each bin the counts of the bins that it is joined with.

    >>> _pooled(np.array([[1.0, 3.0, 2.0], [4.0, 1.0, 2.0]])).tolist()
    [[1.0, 5.0, 5.0], [4.0, 3.0, 3.0]]
    """
    blocks: list[tuple[float, float, int]] = []
    for x, y in counts.T.tolist():
        blocks.append((x, y, 1))
        while len(blocks) > 1 and blocks[-1][0] * blocks[-2][1] <= blocks[-2][0] * blocks[-1][1]:
            last, before = blocks.pop(), blocks.pop()
            blocks.append((last[0] + before[0], last[1] + before[1], last[2] + before[2]))
    return np.repeat(np.array(blocks)[:, :2], [size for _, _, size in blocks], axis=0).T
