"""Bets on single events and on fitted ratios: wealth that a true claim does not let grow."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.audit.features import Design, Features

# A lower bound on epsilon at delta that holds at every time at once, by betting on an event.
#
# **The game.**  In round t an event E_t is chosen from the rounds before, and the mechanism is run
# once on u and once on v.  Let X be 1 where the output of u lies in E_t, and Y the same for v.  A
# claim of (epsilon, delta) says P(X) <= exp(epsilon) P(Y) + delta, and the same with u and v
# changed about, so a round may also be counted that way, if that is chosen before its runs.  So the
# payoff Z = X - exp(epsilon) Y - delta has a mean of at most 0, whatever happened before.  Since Z
# >= -(exp(epsilon) + delta), a stake s with 0 <= s <= 1 / (exp(epsilon) + delta) leaves the factor
# 1 + s Z at or above 0, with a mean of at most 1.  The product over the rounds is a nonnegative
# supermartingale that starts at 1, and so is the average of such products over several stakes and
# over the two directions (u against v, v against u).  By Ville (1939) it ever reaches 1 / alpha
# with probability at most alpha where the claim is true: reaching it refutes the claim with
# confidence 1 - alpha, and looking after every round costs nothing.
#
# **The bound.**  Claims on a grid epsilon_1 < epsilon_2 < ... are tested in this order, and the
# bound is the largest epsilon_k such that all claims up to it are refuted.  Let epsilon_j be the
# smallest claim on the grid that is true; all above it are true as well.  For the bound to reach a
# true claim, epsilon_j itself must be refuted, which is one test: the bound is below the true
# epsilon at all times with probability 1 - alpha, with no price for the size of the grid (Maurer,
# Hothorn and Lehmacher 1995, tests in a fixed sequence).
#
# With constant stakes the product depends only on how often each of the four values of (X, Y) came.
#
# Source: Ville, *Etude critique de la notion de collectif* (1939); Waudby-Smith and Ramdas,
# "Estimating means of bounded random variables by betting" (2024); Gonzalez, Sanchez, Dwork and
# others, "Sequentially auditing differential privacy" (arXiv 2509.07055), who bet on audits so.


# Shares of the largest stake that cannot lose more than everything.
_STAKES = np.concatenate([np.geomspace(1e-4, 0.3, 14), np.linspace(0.4, 0.999, 10)])


def grid_up_to(top: float, steps: int = 400) -> NDArray[np.float64]:
    """Return the claims that are tested: from 0, in equal steps to 1 and in equal ratios above.

    >>> grid = grid_up_to(10)
    >>> float(grid[0]), float(grid[-1]), bool((np.diff(grid) > 0).all())
    (0.0, 10.0, True)
    """
    fine = np.linspace(0, min(1.0, top), steps // 2, endpoint=False)
    return np.concatenate([fine, np.geomspace(min(1.0, top), top, steps - len(fine))])


@dataclass
class Bets:
    """The wealth of all claims on a grid, and the bound that follows from it.

    >>> bets = Bets(delta=0.0, confidence=0.99)
    >>> bets.add(left=[True] * 60, right=[False] * 60)
    >>> bets.lower > 1
    True
    """

    delta: float  # the delta of the claims
    confidence: float  # how sure the bound is, at all times together
    # the claims, rising
    grid: NDArray[np.float64] = field(default_factory=lambda: grid_up_to(40.0))
    rounds: int = 0
    _counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros((2, 2), dtype=np.int64))
    _refuted: int = 0
    _most: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        self._most = np.full(len(self.grid), -math.inf)

    def add(
        self,
        left: Sequence[bool] | NDArray[np.bool_],
        right: Sequence[bool],
        other_bets: NDArray[np.float64] | None = None,
    ) -> None:
        """Count rounds: whether the output of u, and that of v, lay in the event of the round."""
        # right: as many, of v.  The event of a round may depend on earlier rounds only.
        # beside: the logarithm of the wealth of other bets against each claim, after these rounds,
        #   a row for each account.  The mean of all accounts counts.
        x, y = np.asarray(left, dtype=np.intp), np.asarray(right, dtype=np.intp)
        self._counts += np.bincount(2 * x + y, minlength=4).reshape(2, 2)
        self.rounds += len(x)
        wealth = self.log_wealth()
        if other_bets is not None:
            wealth = _log_mean(np.vstack([wealth, other_bets]), axis=0)
        self._most = np.maximum(self._most, wealth)
        goal = -math.log1p(-self.confidence) if self.confidence < 1 else math.inf
        goal *= 1 + 1e-9  # the sums of logarithms are rounded: a relative 1e-12 at most
        while self._refuted < len(self.grid) and self._most[self._refuted] >= goal:
            self._refuted += 1

    def log_wealth(self) -> NDArray[np.float64]:
        """Return the logarithm of the wealth against each claim of the grid."""
        both = np.stack([self._one_way(self._counts), self._one_way(self._counts.T)])
        return _log_mean(both, axis=0)

    def _one_way(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        loss = np.exp(self.grid)[:, None]
        stake = _STAKES[None, :] / (loss + self.delta)
        total = np.zeros((len(self.grid), len(_STAKES)))
        for x in (0, 1):
            for y in (0, 1):
                total += counts[x, y] * np.log1p(stake * (x - loss * y - self.delta))
        return _log_mean(total, axis=1)

    @property
    def lower(self) -> float:
        """The bound: the true epsilon at delta is above it, or 0 where nothing is refuted."""
        return float(self.grid[self._refuted - 1]) if self._refuted else 0.0

    def refutes(self, epsilon: float) -> bool:
        """Return whether the claim of this epsilon is refuted."""
        return self._refuted > 0 and self.lower >= epsilon

    @property
    def shares(self) -> tuple[float, float]:
        """Shares of runs with the event, of u and of v."""
        rounds = max(self.rounds, 1)
        return float(self._counts[1].sum() / rounds), float(self._counts[:, 1].sum() / rounds)


def _log_mean(values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    top = values.max(axis=axis, keepdims=True)
    total = np.log(np.exp(values - top).mean(axis=axis))
    return np.asarray(total + np.squeeze(top, axis=axis), dtype=np.float64)


# Bets on grades of outputs, in both directions at once, against all claims of a grid.
#
# An event pays the same for every output in it.  Here a score sorts outputs into bins, and each bin
# has payoffs of its own.
#
# **The payoffs.**  Let c = exp(epsilon), and let the claim be true: P <= c Q and Q <= c P, for the
# distributions P and Q of the outputs of u and v.  Take any numbers r_k >= 0 and s_k >= 0 for the
# bins k, and l + m = 2, such that
#
#     a_k = l + r_k - c s_k >= 0   and   b_k = m + s_k - c r_k >= 0.
#
# Then E_P[a] + E_Q[b] = 2 + (E_P[r] - c E_Q[r]) + (E_Q[s] - c E_P[s]) <= 2.  A run of u and a run
# of v are independent, so the factor a(y) b(y') of a round has the mean E_P[a] E_Q[b], and that is
# at most the square of half their sum, 1.  So the product over rounds is a nonnegative
# supermartingale from 1, when bins and numbers are chosen before the round, and so is a mean of
# such products; so is 1 + k (a - 1), 1 + k (b - 1) in place of a and b, for k in [0, 1], since
# these conditions are linear and hold for a = b = 1.  Ville's inequality then bounds the
# probability that a true claim is refuted, as in :mod:`tacit.audit.bets`.
#
# **The best of them.**  Let p_k and q_k be the chances of the bins.  Of all pairs (P, Q) within the
# claim, let (P*, Q*) have the smallest KL(p | P) + KL(q | Q).  By its conditions of Karush, Kuhn
# and Tucker, a = p / P* and b = q / Q* have the form above, and no factor with a mean of at most 1
# under the whole claim grows faster (Gruenwald, de Heide and Koolen 2024).  Written out for one l:
# in a bin with p / l > c q / m, r = (p m - c q l) / (c (p + q)); where q / m > c p / l, s is that
# with u and v changed about; elsewhere a = l and b = m.  P* sums to 1 at one l, found by bisection.
# Whatever l is found and however wrong p and q are, the conditions above hold.
#
# **At delta.**  Let the claim be P <= c Q + delta and Q <= c P + delta on every event, and let r <=
# R and s <= S in all bins.  Then E_P[r] - c E_Q[r] is at most R times the positive part of P - c Q,
# which is at most delta; with s likewise, E_P[a] + E_Q[b] <= 2 + delta (R + S).  So a and b are
# both divided by 1 + delta (R + S) / 2.  Large numbers are dear: r and s are cut at a cap.  One of
# them is 0 in each bin, so the cut takes from the gain of one factor and from the loss of the
# other, and both stay at or above 0.  Of some caps, that of the largest growth by p and q is taken,
# or a = b = 1 where none grows.
#
# Source: Gruenwald, de Heide and Koolen, "Safe testing" (JRSS B 2024); Ville (1939).


Score = Callable[[Sequence[Any]], NDArray[np.float64]]

_HALVINGS = 40
_BINS = 24
_TAILS = 12
_SHARE = 0.95  # of the best payoffs: they are estimated, and no bin may lose everything
_DEVIATIONS = 0.5  # standard errors that are held against the ratio of a bin
_ROUNDED = 1e-14  # more than the rounding of one factor


def payoffs(
    p: NDArray[np.float64], q: NDArray[np.float64], grid: NDArray[np.float64], delta: float = 0.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the factors of the bins for a run of u, and for one of v, a row for each claim.

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
    maximum = np.zeros((len(grid), 1))
    largest = np.maximum(r, s).max(axis=1, keepdims=True)
    for cap in (largest * part for part in _CAPS):
        cut = np.minimum(r, cap), np.minimum(s, cap)
        price = 1 + delta * sum(x.max(axis=1, keepdims=True) for x in cut) / 2
        factors = np.stack(_factors(*cut, c, u)) / price
        logs = np.log1p(_SHARE * (factors - 1))
        growth = (p * logs[0] + q * logs[1]).sum(axis=1, keepdims=True)
        best = np.where(growth > maximum, factors, best)
        maximum = np.maximum(maximum, growth)
    return best[0], best[1]


# The shares of all outputs that lie above the levels of a score.
LEVELS = np.array([0.001, 0.003, 0.01, 0.03, *np.linspace(0.1, 0.9, 9), 0.97, 0.99, 0.997, 0.999])
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

    >>> runs = np.array([[9.0, 1.0], [1.0, 9.0]])
    >>> gained(np.array([0.9, 0.1]), np.array([0.1, 0.9]), runs, np.zeros(1), 0.0).round(1)
    array([7.3])
    """
    # p: estimated chances of the bins under u, above 0, from rounds before.
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


def expected_growth(
    grades: tuple[NDArray[np.float64], NDArray[np.float64]], claim: float, delta: float
) -> float:
    """Estimate what a round of bets on a score adds to the logarithm of the wealth.

    >>> grades = np.repeat([0.0, 1.0], [10, 30]), np.repeat([0.0, 1.0], [30, 10])
    >>> [round(expected_growth(grades, claim, 0.0), 3) for claim in (0.0, 0.5, 1.0)]
    [0.174, 0.031, 0.0]
    """
    p, q = _chances(_counted(grades, _cuts(np.concatenate(grades))))
    a, b = payoffs(p, q, np.array([claim]), delta)
    return float(p @ np.log1p(_SHARE * (a[0] - 1)) + q @ np.log1p(_SHARE * (b[0] - 1)))


class _Wealth:
    """The wealth of bets that are learned again and again, against each claim of a grid."""

    # What early bets lose on their errors is gone for later ones.  So a part of the money is saved,
    # and some of it is added whenever the bets are learned again: when that is was chosen before.

    def __init__(self, claims: int) -> None:
        self.at_stake = np.full(claims, -math.inf)
        self._saved = 1.0

    def start(self) -> None:
        """Add some of the savings: half of them the first time, later an eighth."""
        share = self._saved * (_FIRST_SHARE if self._saved == 1.0 else _LATER_SHARE)
        self._saved -= share
        self.at_stake = np.logaddexp(self.at_stake, math.log(share))

    def add(self, gains: NDArray[np.float64]) -> None:
        """Multiply by the factors of some rounds, given as logarithms."""
        self.at_stake = self.at_stake + gains

    def log(self) -> NDArray[np.float64]:
        """Return the logarithm, savings included."""
        return np.asarray(np.logaddexp(self.at_stake, math.log(self._saved)), dtype=np.float64)


_FIRST_SHARE, _LATER_SHARE = 1 / 2, 1 / 8


class GradedBets:
    """The wealth of bets on grades, against each claim of a grid.

    >>> bets = GradedBets(np.array([0.0, 1.0]))
    >>> bets.learn(lambda outputs: np.array(outputs, float), [0, 1, 1, 1] * 9, [1, 0, 0, 0] * 9)
    >>> found = bets.add([1] * 9, [0] * 9)
    >>> bool(bets.log_wealth()[0] > bets.log_wealth()[1])
    True
    """

    def __init__(self, grid: NDArray[np.float64], delta: float = 0.0) -> None:
        self._grid, self._delta = grid, delta
        self.wealth = _Wealth(len(grid))
        self._score: Score | None = None
        self._cuts: NDArray[np.float64] = np.empty(0)
        self._counts: NDArray[np.float64] = np.empty((2, 0))

    def learn(self, score: Score, left: Sequence[Any], right: Sequence[Any]) -> None:
        """Bet on the grades of a score from now on."""
        # left: outputs of u that the score was not fitted to, for the chances of its bins.
        self.wealth.start()
        grades = score(left), score(right)
        self._score = score
        self._cuts = _cuts(np.concatenate(grades))
        self._counts = _counted(grades, self._cuts)
        levels = np.quantile(np.concatenate(grades), 1 - LEVELS)
        self._levels = np.searchsorted(self._cuts, levels, side="right")

    def add(self, left: Sequence[Any], right: Sequence[Any]) -> NDArray[np.int64] | None:
        """Bet on rounds by what was learned and counted before, then count them too."""
        # Returns: how many outputs of u and of v are above each of the levels, which are events
        # chosen before, near the shares of :data:`LEVELS`.  None where nothing was learned.
        if self._score is None:
            return None
        fresh = _counted((self._score(left), self._score(right)), self._cuts)
        self.wealth.add(gained(*_chances(self._counts), fresh, self._grid, self._delta))
        self._counts += fresh
        up_to = np.concatenate([np.zeros((2, 1)), fresh.cumsum(axis=1)], axis=1)
        return np.asarray(up_to[:, -1:] - up_to[:, self._levels], dtype=np.int64)

    def log_wealth(self) -> NDArray[np.float64]:
        """Return the logarithm of the wealth against each claim of the grid."""
        return self.wealth.log()


def _total(counts: NDArray[np.float64], logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum the logarithms of the runs; a bin without runs adds nothing, whatever its factor."""
    return np.asarray(np.where(counts > 0, counts * logs, 0.0).sum(axis=1), dtype=np.float64)


def _counted(
    grades: tuple[NDArray[np.float64], NDArray[np.float64]], cuts: NDArray[np.float64]
) -> NDArray[np.float64]:
    indices = [np.searchsorted(cuts, side, side="right") for side in grades]
    return np.array([np.bincount(x, minlength=len(cuts) + 1) for x in indices], dtype=np.float64)


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
    """Estimate the chances of the bins: the ratios rise with the score, each held nearer to 1."""
    # A bin whose ratio is below that of the bin before is joined with it (isotonic regression by
    # pooling adjacent violators), so that few ratios are estimated, each from many outputs; then
    # each is moved towards 1 by its standard error.
    more = counts + 0.5
    total = more.sum(axis=1)
    pooled = _pooled(more)
    ratio = np.log(pooled[0] / pooled[1]) - math.log(total[0] / total[1])
    error = _DEVIATIONS * np.sqrt(1 / pooled[0] + 1 / pooled[1])
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


# Bets on the ratio itself that a regression fits, for claims that are wrong by little.
#
# Bins with a count each (:mod:`tacit.audit.bets`) need many outputs in each.  Where a
# claim is wrong by a tenth, and for one output of a hundred, they lose more money on their errors
# than there is to gain.  Here a regression states the log ratio of every output, drawn towards 0 by
# a normal prior; its cells of nearly equal scores have the mean probability as their ratio, and
# none of them is estimated alone.
#
# **The regression** is gathered round by round.  A pilot fit gives weights w0.  From then on each
# round adds to H = sum of x x' p (1 - p) and to g = sum of x (y - p), where y is 1 for an output of
# u and p its probability by the pilot.  With b = g + H w0, the weights for a prior precision k are
# one step of Newton from the pilot, (H + k)^-1 b: as good as a fit to all outputs seen, when the
# pilot is near it, and no output need be kept.
#
# **The prior** says of a few precisions k that each is as likely as the others.  What was seen has,
# for each of them, the probability (Laplace's approximation, up to a factor that is the same for
# all)
#
#     exp(b' (H + k)^-1 b / 2) det(k (H + k)^-1)^(1/2),
#
# and the weights are the mean over k by these.  So nothing is bet while little is known, and what
# is learned late is not drawn to 0 by a prior that was made for the beginning.
#
# **Why it is valid.**  A round is bet on by weights and cells that rounds before it gave, and then
# counted.  The payoffs of cells are those of :mod:`tacit.audit.bets`, whose factors have
# a mean of at most 1 under a true claim, whatever chances are put in.  The mean of the accounts is
# a nonnegative supermartingale from 1 again.
#
# Source: Bishop, *Pattern Recognition and Machine Learning* (2006), sections 3.5, 4.3 and 4.4;
# Gruenwald, de Heide and Koolen, "Safe testing" (JRSS B 2024).


# Of the prior of each weight, on features of variance 1, over their number: scores have a standard
# deviation of 1, of 1/2, and so on, before anything is seen.
_PRECISIONS = 4.0 ** np.arange(0, 10)
# What few outputs have in common is not to weigh as much as what divides them in halves.
_MIN_SPREAD = 0.05
_ROUNDS = 8
# Rows times the square of their features: outputs after that are bet on, and not learned from.
_MAX_WORK = 4e10
_MAX_CELLS = 4_000_000  # features of the outputs that are kept to place the cells
_CHUNK = 50_000
_SHARES = np.concatenate([np.geomspace(1e-5, 3e-3, 6), np.linspace(0.01, 0.99, 60)])
_QUANTILES = np.unique(np.concatenate([_SHARES, 1 - _SHARES[:6]]))

Rows = NDArray[np.float32]


class FittedBets:
    """The wealth of bets on a fitted ratio, against each claim of a grid.

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
        self.wealth = _Wealth(len(grid))
        self._learn_features = features
        self._features: Features | None = None
        self._work = 0.0

    def learn(self, left: Sequence[Any], right: Sequence[Any]) -> None:
        """Choose features and fit the pilot anew, on outputs seen before; bet by it from now on."""
        self.wealth.start()
        self._features = self._learn_features(left, right)
        raw = self._features([*left[:_CHUNK], *right[:_CHUNK]])[:, 1:]
        self._mean, self._scale = raw.mean(axis=0), np.maximum(raw.std(axis=0), _MIN_SPREAD)
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
        """Bet on rounds by what was learned before, then learn from them too."""
        if self._features is None:
            return
        weights = self._weights().astype(np.float32)
        seen = np.concatenate(self._last_rows) @ weights
        cuts = np.unique(np.quantile(seen, _QUANTILES))
        counts = np.zeros((2, len(cuts) + 1))
        for start in range(0, len(left), _CHUNK):
            rows = [self._rows(side[start : start + _CHUNK]) for side in (left, right)]
            for side in (0, 1):
                cell = np.searchsorted(cuts, rows[side] @ weights, side="right")
                counts[side] += np.bincount(cell, minlength=len(cuts) + 1)
            self._gather(rows[0], rows[1])
        p, q = _fitted_chances(seen, cuts)
        self.wealth.add(gained(p, q, counts, self._grid, self._delta))

    def log_wealth(self) -> NDArray[np.float64]:
        """Return the logarithm of the wealth against each claim."""
        return self.wealth.log()

    def _rows(self, outputs: Sequence[Any]) -> Rows:
        assert self._features is not None
        features = self._features(outputs)
        features[:, 1:] = (features[:, 1:] - self._mean) / self._scale
        return features

    def _forget(self) -> None:
        size = len(self._pilot)
        self._bend, self._slope = np.zeros((size, size)), np.zeros(size)
        self._last_rows: tuple[Rows, Rows] = (
            np.empty((0, size), dtype=np.float32),
            np.empty((0, size), dtype=np.float32),
        )

    def _gather(self, left: Rows, right: Rows) -> None:
        size = left.shape[1]
        maximum = _MAX_CELLS // (2 * size)
        self._last_rows = (
            np.concatenate([self._last_rows[0], left[-maximum:]])[-maximum:],
            np.concatenate([self._last_rows[1], right[-maximum:]])[-maximum:],
        )
        if self._work > _MAX_WORK:
            return
        self._work += 2.0 * len(left) * size * size
        pilot = self._pilot.astype(np.float32)
        for rows, of_u in ((left, 1.0), (right, 0.0)):
            for start in range(0, len(rows), _CHUNK):
                part = rows[start : start + _CHUNK]
                chance = 1 / (1 + np.exp(-np.clip(part @ pilot, -_MAX_LOG_ODDS, _MAX_LOG_ODDS)))
                self._slope += part.T @ (of_u - chance)
                self._bend += (part * (chance * (1 - chance))[:, None]).T @ part

    def _weights(self) -> NDArray[np.float64]:
        steep, axes = np.linalg.eigh(self._bend)
        steep = np.maximum(steep, 0.0)  # except for rounding they are
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

    >>> scores = np.log(np.array([3.0, 3.0, 1 / 3, 1 / 3], dtype=np.float32))
    >>> p, q = _fitted_chances(scores, np.zeros(1))
    >>> p.round(2).tolist(), q.round(2).tolist()
    ([0.26, 0.74], [0.74, 0.26])
    """
    # Every output seen is of u with the probability that its score says: one with a wild score
    # moves its cell by no more than itself.
    cell = np.searchsorted(cuts, scores, side="right")
    of_u = 1 / (1 + np.exp(-np.clip(scores, -_MAX_LOG_ODDS, _MAX_LOG_ODDS)))
    p = np.bincount(cell, of_u, len(cuts) + 1) + _UNSEEN / 2
    q = np.bincount(cell, 1 - of_u, len(cuts) + 1) + _UNSEEN / 2
    return 2 * p / (p + q).sum(), 2 * q / (p + q).sum()


_MAX_LOG_ODDS = 30.0
# Outputs of both sides that are added to a cell, so that one which none fell into has a ratio.
_UNSEEN = 0.1
