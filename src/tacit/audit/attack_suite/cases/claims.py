"""Attacks on proofs: numbers that a system claims, beside the truth.

Each truth is computed here from the definition.  A claim below it is a broken promise; one above it
is waste, which is no attack.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

from tacit.arithmetic.bisection import narrowed
from tacit.audit.attack_suite.case import Outcome, case, falls, holds
from tacit.audit.attack_suite.system import System

__all__: list[str] = []

_SLACK = 1e-6


def _claim(attack: str, name: str, question: str, source: str, truth: Callable[[], float]) -> None:
    @case(attack, name, question, source)
    def _(system: System) -> Outcome:
        claimed, true = system.claim(f"{attack}: {name}"), truth()
        told = f"claimed {claimed:.6g}, true is {true:.6g}"
        return holds(told) if claimed >= true * (1 - _SLACK) else falls(told)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the exact epsilon of mu-Gaussian DP at delta (Balle and Wang 2018).

    >>> round(gaussian_epsilon(1.0, 1e-5), 3)
    4.377
    """

    def tail(x: float) -> float:
        return math.erfc(-x / math.sqrt(2)) / 2

    def at(epsilon: float) -> float:
        left = tail(mu / 2 - epsilon / mu)
        return left - math.exp(epsilon) * tail(-mu / 2 - epsilon / mu)

    return narrowed(lambda epsilon: at(epsilon) > delta, 0.0, 100.0, 200)[0]


def randomized_response_epsilon(epsilon: float, times: int, delta: float) -> float:
    """Return the exact epsilon of so many randomized responses at delta, by enumeration.

    >>> round(randomized_response_epsilon(0.5, 4, 0.0), 6)
    2.0
    """
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    masses = [math.comb(times, k) * p**k * (1 - p) ** (times - k) for k in range(times + 1)]
    losses = [(2 * k - times) * epsilon for k in range(times + 1)]

    def at(level: float) -> float:
        pairs = zip(masses, losses, strict=True)
        return sum(m * max(0.0, -math.expm1(level - loss)) for m, loss in pairs)

    return narrowed(lambda level: at(level) <= delta, times * epsilon, 0.0, 200)[0]


_COMPOSED = "open reports on dp_accounting (a repeat count ignored) and autodp (below zero)"
_QUESTION = "is the loss of a composition below the true one?"
for _count, _sigma, _delta in ((1, 1.0, 1e-5), (10, 5.0, 1e-6), (50, 20.0, 1e-10)):
    _claim(
        *("composition", f"{_count} gaussians, sigma {_sigma:g}, delta {_delta:g}"),
        *(_QUESTION, _COMPOSED),
        lambda c=_count, s=_sigma, d=_delta: gaussian_epsilon(math.sqrt(c) / s, d),  # type: ignore[misc]
    )
for _count, _epsilon, _delta in ((7, 1.0, 0.0), (20, 0.1, 1e-9)):
    _claim(
        *("composition", f"{_count} randomized responses, epsilon {_epsilon:g}, delta {_delta:g}"),
        *(_QUESTION, _COMPOSED),
        lambda c=_count, e=_epsilon, d=_delta: randomized_response_epsilon(e, c, d),  # type: ignore[misc]
    )


def _amplified(rate: float, epsilon: float, uses: int) -> float:
    """Return the loss of a Poisson sample that several answers use: their losses add up in it."""
    return math.log1p(rate * math.expm1(uses * epsilon))


for _rate in (0.01, 0.1, 0.5):
    _claim(
        *("a sample used twice", f"rate {_rate:g}"),
        "is amplification by sampling claimed for each of two answers on one sample?",
        "Balle, Barthe, Gaboardi, Privacy amplification by subsampling (2018)",
        lambda r=_rate: _amplified(r, 1.0, 2),  # type: ignore[misc]
    )


def worst_move(statistic: str, values: tuple[float, ...], size: int, relation: str) -> float:
    """Return the sensitivity of a statistic over a value set, by enumeration.

    >>> worst_move("sum", (0.0, 3.0), 2, "bounded")
    3.0
    """

    def value(rows: tuple[float, ...]) -> float:
        ordered, n = sorted(rows), len(rows)
        centre = sum(rows) / n
        if statistic == "sum":
            return sum(rows)
        if statistic == "mean":
            return centre
        if statistic == "variance":
            return sum((x - centre) ** 2 for x in rows) / n
        return (ordered[(n - 1) // 2] + ordered[n // 2]) / 2

    best = 0.0
    for rows in itertools.combinations_with_replacement(values, size):
        for place in range(size):
            rest = rows[:place] + rows[place + 1 :]
            others = [rest] if relation == "unbounded" else [(*rest, x) for x in values]
            if relation == "unbounded":
                others += [(*rows, x) for x in values]
            best = max(best, *(abs(value(rows) - value(other)) for other in others))
    return best


for _statistic, _values, _size, _relation in (
    ("sum", (-10.0, 0.0, 5.0), 3, "unbounded"),
    ("mean", (0.0, 4.0, 10.0), 4, "unbounded"),
    ("mean", (0.0, 4.0, 10.0), 4, "bounded"),
    ("variance", (0.0, 4.0, 10.0), 4, "bounded"),
    ("median", (0.0, 4.0, 10.0), 4, "unbounded"),
):
    _claim(
        *("sensitivity", f"{_statistic} of {_size} in {_values}, {_relation}"),
        "is the claimed sensitivity below what neighbours attain?",
        "wrong sensitivities in 12 libraries, dp-recorder (PETS 2026); bounds with sensitivity 0",
        lambda s=_statistic, v=_values, n=_size, r=_relation: worst_move(s, v, n, r),  # type: ignore[misc]
    )


def _noisy_max_rho(scale: float) -> float:
    """Return the KL divergence of the choice of two, scores (0, 0) against (1, -1): at most rho."""
    p = 1 / (1 + math.exp(-2 / scale))
    return 0.5 * math.log(0.5 / p) + 0.5 * math.log(0.5 / (1 - p))


for _scale in (2.0, 5.0, 20.0):
    _claim(
        *("noisy maximum in zCDP", f"Gumbel noise of scale {_scale:g}"),
        "is the rho of a noisy maximum below what two candidates attain?",
        "an open report of 2026: a noisy maximum that spends four times its claimed zCDP",
        lambda s=_scale: _noisy_max_rho(s),  # type: ignore[misc]
    )
for _leaves in (4, 8, 16):
    _claim(
        *("sums in a tree", f"{_leaves} leaves in L2"),
        "is the L2 sensitivity of all sums of a binary tree below the root of its levels?",
        "an open report of 2026 on the L2 sensitivity of tree sums",
        lambda n=_leaves: math.sqrt(math.log2(n) + 1),  # type: ignore[misc]
    )
for _name, _true in (
    ("counts by category, one row changed, in L1", 2.0),
    ("counts by category, one row changed, in L2", math.sqrt(2)),
    ("counts by category, one row added, in L1", 1.0),
):
    _claim(
        *("stability of counts", _name),
        "is a stability of 2 claimed as 1?",
        "an open report of 2026: a pairwise stability of 2 claimed as 1",
        lambda t=_true: t,  # type: ignore[misc]
    )
