"""A lower bound on epsilon at delta that holds at every time at once, by betting on an event.

**The game.**  In round t an event E_t is chosen from the rounds before, and the mechanism is run
once on u and once on v.  Let X be 1 where the output of u lies in E_t, and Y the same for v.  A
claim of (epsilon, delta) says P(X) <= exp(epsilon) P(Y) + delta, and the same with u and v changed
about, so a round may also be counted that way, if that is chosen before its runs.  So the payoff
Z = X - exp(epsilon) Y - delta has a mean of at most 0, whatever happened before.  Since
Z >= -(exp(epsilon) + delta), a stake s with 0 <= s <= 1 / (exp(epsilon) + delta) leaves the factor
1 + s Z at or above 0, with a mean of at most 1.  The product over the rounds is a nonnegative
supermartingale that starts at 1, and so is the average of such products over several stakes and
over the two directions (u against v, v against u).  By Ville (1939) it ever reaches 1 / alpha with
probability at most alpha where the claim is true: reaching it refutes the claim with confidence
1 - alpha, and looking after every round costs nothing.

**The bound.**  Claims on a grid epsilon_1 < epsilon_2 < ... are tested in this order, and the bound
is the largest epsilon_k such that all claims up to it are refuted.  Let epsilon_j be the smallest
claim on the grid that is true; all above it are true as well.  For the bound to reach a true claim,
epsilon_j itself must be refuted, which is one test: the bound is below the true epsilon at all
times with probability 1 - alpha, with no price for the size of the grid (Maurer, Hothorn and
Lehmacher 1995, tests in a fixed sequence).

With constant stakes the product depends only on how often each of the four values of (X, Y) came.

Source: Ville, *Etude critique de la notion de collectif* (1939); Waudby-Smith and Ramdas,
"Estimating means of bounded random variables by betting" (2024); Gonzalez, Sanchez, Dwork and
others, "Sequentially auditing differential privacy" (arXiv 2509.07055), who bet on audits so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bets", "grid_up_to"]

_STAKES = np.concatenate([np.geomspace(1e-4, 0.3, 14), np.linspace(0.4, 0.999, 10)])
"""Shares of the largest stake that cannot lose more than everything."""


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

    Attributes:
        delta: the delta of the claims.
        confidence: how sure the bound is, at all times together.
        grid: the claims, rising.

    >>> bets = Bets(delta=0.0, confidence=0.99)
    >>> bets.add(left=[True] * 60, right=[False] * 60)
    >>> bets.lower > 1
    True
    """

    delta: float
    confidence: float
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
        beside: NDArray[np.float64] | None = None,
    ) -> None:
        """Count rounds: whether the output of u, and that of v, lay in the event of the round.

        Args:
            left: one answer a round, of u.
            right: as many, of v.  The event of a round may depend on earlier rounds only.
            beside: the logarithm of the wealth of other bets against each claim, after these
                rounds, a row for each account.  The mean of all accounts counts.
        """
        x, y = np.asarray(left, dtype=np.intp), np.asarray(right, dtype=np.intp)
        self._counts += np.bincount(2 * x + y, minlength=4).reshape(2, 2)
        self.rounds += len(x)
        wealth = self.log_wealth()
        if beside is not None:
            wealth = _log_mean(np.vstack([wealth, beside]), axis=0)
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
        """How often the event came, of u and of v."""
        rounds = max(self.rounds, 1)
        return float(self._counts[1].sum() / rounds), float(self._counts[:, 1].sum() / rounds)


def _log_mean(values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    top = values.max(axis=axis, keepdims=True)
    total = np.log(np.exp(values - top).mean(axis=axis))
    return np.asarray(total + np.squeeze(top, axis=axis), dtype=np.float64)
