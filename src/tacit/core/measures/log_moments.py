r"""Moments of the privacy loss, bounded from above: what adds up over releases chosen adaptively.

For a pair (P, Q) with the loss L, and an event of probability at most d under P, on which anything
may be learned, a *log moment* of a power ``t > 0`` is a K with

    the mean over P of e^(t L), outside of that event, at most e^K,

the same d for all powers.  With ``d = 0`` the Renyi divergence of order ``1 + t`` is at most
``K / t``.  For losses in both directions the larger K and d are taken.

**Losses that dominate** have no smaller moments.  Given an infinite mass d under P, with the rest
of the losses l there, the mean of ``e^(t L)`` is that of ``z^-t`` with ``z = e^-L``, which is
convex in z and falls: it is a mean of ``max(0, 1 - x z)`` over all x > 0 with positive weights, and
each of these is the delta at ``ln x`` (Liese and Vajda, "On divergences and informations in
statistics and information theory", 2006).  What holds for the pair that dominates with its event
holds for the release: a release is a function of what its dominating pair shows (Blackwell 1951).
For the same reason losses put on a lattice from above (:mod:`tacit.core.losses.cells`) have no
smaller moments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from tacit.arithmetic.enclosure import Enclosure, exp, log
from tacit.core.losses.additive_noise import GaussianShift, LaplaceShift
from tacit.core.losses.base import PrivacyLoss
from tacit.core.losses.bounded_range import BoundedRange
from tacit.core.losses.bounds import BothWays, Dominating
from tacit.core.losses.cells import above
from tacit.core.losses.distribution import PrivacyLossDistribution
from tacit.core.losses.summed import Sum, Summand
from tacit.core.measures.concentrated_too import ConcentratedToo

__all__ = ["Moments", "log_moments", "moments_of_range"]

Moments: TypeAlias = tuple[tuple[Fraction | None, ...], Fraction]
"""A log moment for each power, None where no finite one is known, and the probability d."""

_BITS = 128
_DUST = 1e-40
_PLACES = 1 << 16
_SLACK = 2.0**-36
"""More than the relative error of a mean in floats: exponents are below 2^10, masses exact to
2^-40, and the sums have less than 2^17 terms, added in pairs."""
_LARGEST_POWER = 700
_MOST_ATOMS = 1 << 8


def log_moments(losses: PrivacyLoss, powers: Sequence[Fraction]) -> Moments | None:
    """Return log moments of losses in the worse direction; None where none are known.

    Args:
        losses: that dominate those of a release.
        powers: each above zero.

    >>> (found,), nothing = log_moments(GaussianShift(Fraction(10), 1), [Fraction(1)])
    >>> found, nothing
    (Fraction(1, 100), Fraction(0, 1))
    """
    if isinstance(losses, ConcentratedToo):
        rhos = tuple(t * (t + 1) * losses.rho for t in powers)
        pair = log_moments(losses.losses, powers)
        return (_each(_smaller, pair[0], rhos), pair[1]) if pair else (rhos, Fraction(0))
    if isinstance(losses, Dominating):
        return log_moments(losses.losses, powers)
    if isinstance(losses, BothWays):
        ways = [log_moments(way, powers) for way in losses.directions()]
        first, second = ways
        if first is None or second is None:
            return None
        return _each(_larger, first[0], second[0]), max(first[1], second[1])
    if isinstance(losses, Sum):
        return _of_sum(losses, powers)
    return _of_one(losses, powers)


def moments_of_range(reach: Fraction, powers: Sequence[Fraction]) -> list[Fraction]:
    """Return log moments of every release whose log ratios lie in an interval of a length.

    They are ``t (t + 1) reach^2 / 8`` (Cesar and Rogers, ALT 2021), and no more than those of the
    pair of :mod:`tacit.core.losses.bounded_range`, ``ln(sinh((t + 1/2) reach) / ((2 t + 1)
    sinh(reach / 2)))``, nor than ``t reach``.

    >>> [round(float(k), 4) for k in moments_of_range(Fraction(2), [Fraction(1), Fraction(9)])]
    [1.0, 15.201]
    """
    return [min(t * (t + 1) * reach**2 / 8, _of_range(reach, t), t * reach) for t in powers]


def _of_one(losses: PrivacyLoss, powers: Sequence[Fraction]) -> Moments | None:
    if isinstance(losses, GaussianShift):
        rho = losses.concentrated()
        return tuple(t * (t + 1) * rho for t in powers), Fraction(0)
    if isinstance(losses, BoundedRange):
        return tuple(_of_range(losses.range, t) for t in powers), Fraction(0)
    if isinstance(losses, LaplaceShift):
        most = losses.max_divergence()
        return tuple(_of_laplace(losses, t, t * most) for t in powers), Fraction(0)
    if isinstance(losses, PrivacyLossDistribution) and len(losses.atoms) <= _MOST_ATOMS:
        return _of_atoms(losses, powers)
    return _in_floats(losses, powers) if isinstance(losses, Summand) else None


def _of_laplace(losses: LaplaceShift, t: Fraction, most: Fraction) -> Fraction:
    if not most < _LARGEST_POWER:
        return most
    return min(most, (t * losses.renyi(1 + t)).rounded(64).upper)


def _of_range(reach: Fraction, t: Fraction) -> Fraction:
    far = (t + Fraction(1, 2)) * reach
    if not Fraction(1, 1 << 40) < far < _LARGEST_POWER:
        return t * reach  # the largest loss, where the powers lose all digits or are too long
    up, half = exp(far, 256), exp(reach / 2, 256)
    ratio = (up - 1 / up) / (half - 1 / half) / (2 * t + 1)
    return log(ratio.rounded(192), 192).rounded(64).upper


def _of_atoms(losses: PrivacyLossDistribution, powers: Sequence[Fraction]) -> Moments:
    found: list[Fraction | None] = []
    rows = [(atom.loss.value, max(atom.p.upper, Fraction(0))) for atom in losses.atoms]
    most = max((loss.upper for loss, p in rows if p), default=Fraction(0))
    for t in powers:
        if not t * most < _LARGEST_POWER:
            found.append(t * most)
            continue
        mean = sum((exp(t * loss, _BITS) * p for loss, p in rows if p), Enclosure.of(0)).upper
        found.append(log(mean, _BITS).rounded(64).upper if mean else Fraction(0))
    return tuple(found), max(losses.impossible.upper, Fraction(0))


def _in_floats(losses: Summand, powers: Sequence[Fraction]) -> Moments | None:
    """Return log moments of losses on a fine lattice, from above."""
    reach = losses.spread()[1]
    if not 0 < reach < math.inf:
        return None
    side = above(losses.in_floats(_DUST), reach / _PLACES)
    kept = np.flatnonzero(side.masses > 0)
    masses, places = side.masses[kept], side.first + kept
    at = side.origin + side.step * places
    at = at + (side.blur + 2.0**-50 * np.abs(at).max(initial=0.0))
    found: list[Fraction | None] = []
    for t in powers:
        exponents = float(t) * at
        most = float(exponents.max(initial=0.0))
        if not most < _LARGEST_POWER:
            found.append(None)
            continue
        mean = float(np.sum(np.exp(exponents) * masses)) * (1 + _SLACK)
        found.append(Fraction(math.log(mean) + 2.0**-44) if 0 < mean < math.inf else None)
    return tuple(found), Fraction(side.infinite) * (1 + Fraction(1, 1 << 36))


def _of_sum(losses: Sum, powers: Sequence[Fraction]) -> Moments | None:
    total: tuple[Fraction | None, ...] = (Fraction(0),) * len(powers)
    event = Fraction(0)
    for part, times in losses.parts:
        one = log_moments(part, powers)
        if one is None:
            return None
        more = [None if k is None else times * k for k in one[0]]
        total = _each(_plus, total, more)
        event += times * one[1]
    return total, event


def _each(
    combine: Callable[[Fraction | None, Fraction | None], Fraction | None],
    first: Sequence[Fraction | None],
    second: Sequence[Fraction | None],
) -> tuple[Fraction | None, ...]:
    return tuple(map(combine, first, second))


def _plus(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return None if a is None or b is None else a + b


def _larger(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return None if a is None or b is None else max(a, b)


def _smaller(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return min((one for one in (a, b) if one is not None), default=None)
