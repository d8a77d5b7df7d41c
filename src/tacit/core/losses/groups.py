"""Losses of noise on a sample, between inputs that differ in a group of records."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import comb

import numpy as np

from tacit.arithmetic.enclosure import Enclosure, exp, log
from tacit.arithmetic.exact import Number, as_fraction, read_probability
from tacit.arithmetic.roots_and_bisection import narrowed
from tacit.core.losses.additive_noise import GaussianShift, ShiftedLoss
from tacit.core.losses.base import BITS, Atom, EachWay, Loss, PrivacyLoss
from tacit.core.losses.distribution import PrivacyLossDistribution
from tacit.core.losses.lattice import (
    SLACK,
    Floats,
    ListedLosses,
    SpreadLosses,
    gaussian_masses,
    laplace_masses,
    summed,
)
from tacit.core.losses.sampling import DUST, LossFromSample, as_probability
from tacit.core.losses.summands import Generating

# Poisson samples of two inputs that differ in a group of records.
#
# **Theorem.**  Let u and v have the records C in common, u a more of its own and v b more, and let
# each record be sampled with probability q.  For k up to a and b let R be the release on some
# records, and let those on k records more be no easier to tell from R than two distributions of
# noise N on the line, shifted by ``s_k``: ``0 = s_0 <= s_1 <= ..``, with N log-concave and
# symmetric.  Then the outputs on u and v are dominated, at every level above zero and so in
# compositions, by
#
#     P = sum over i of Bin(a, q)(i) N(+s_i)    and    Q = sum over j of Bin(b, q)(j) N(-s_j).
#
# Proof.  Given the sample of C (both outputs are mixtures over it with the same weights, and every
# such divergence is convex in both together), let R be the release on it, E an event or a test, and
# ``r = R(E)``.  Let ``B_k(r)`` be the largest mass that ``N(+s_k)`` gives to a test of mass r under
# N, and ``b_k(r)`` the least one of ``N(-s_k)``.  By assumption, and since N is symmetric, releases
# on i of the records of u and j of those of v have masses of at most ``B_i(r)`` and at least
# ``b_j(r)``.  So with ``V_u(E) <= sum Bin(a, q)(i) B_i(r)`` and ``V_v(E) >= sum Bin(b, q)(j)
# b_j(r)``.  Now let E' be the half line, with a coin at its end, of mass r under N.  N is
# log-concave, so the ratio of ``N(+s)`` to N rises along the line, and that of ``N(-s)`` to N
# falls: by the lemma of Neyman and Pearson E' attains ``B_i(r)`` and ``b_j(r)`` for all i and j at
# once.  So ``V_u(E) - x V_v(E) <= P(E') - x Q(E')`` for every x.
#
# It is attained, where a record of u and one of v move a sum by +s and -s each; and for b = 0 by
# every sum or count that k equal records move by ``s_k``.  Both sums grow with a and b, so inputs
# at a distance of d lose most with ``a + b = d``, of which the worst counts.
#
# For Gaussian noise and b = 0 this is A. Ganesh, "Tight group-level DP guarantees for DP-SGD with
# sampling via mixture of Gaussians mechanisms", 2024 (arXiv 2401.10294); both sides are in
# J. Schuchardt et al., "Unified mechanism-specific amplification by subsampling and group privacy
# amplification", NeurIPS 2024.  Compositions: Zhu, Dong, Wang, AISTATS 2022, theorem 10.
#
# **Releases of which only (e_k, d_k) at distances k are known** are as ``B_k(r) = min(1, d_k +
# e^(e_k) r, 1 - e^(-e_k) (1 - d_k - r))`` has it, ``b_k(r) = 1 - B_k(1 - r)``.  The sums of these
# are concave and convex in r: the distribution functions, on 0..1, of a pair whose ratio falls
# along r, and so of one that dominates.  They are straight between few points: a list of losses.


_MAX_LISTED = 1 << 18
_FINE = 1 << 14
_BITS = 160
_ZERO = Fraction(0)
# More than the relative error of masses: positions are right to 2^-47 deviations, of at most 40.
_MASS_SLACK = 2.0**-36
_FAR = 60  # this many deviations away noise has less than this
_BEYOND = Fraction(1, 1 << 2500)


def sampled_groups(
    shifts: Sequence[ShiftedLoss], rate: Fraction, *, one_sided: bool = False
) -> EachWay | None:
    """Return the losses from a Poisson sample at a distance, from those at each distance up to it.

    >>> from tacit.core.losses.additive_noise import GaussianShift
    >>> two = sampled_groups([GaussianShift(1, 1), GaussianShift(1, 2)], Fraction(1, 50))
    >>> round(float(two.epsilon("1e-3")), 3)
    0.239
    """
    # Returns: None where they are not of one noise.
    # one_sided: of all against none, in both directions, alone
    first = shifts[0]
    if any(type(one) is not type(first) or one.scale != first.scale for one in shifts):
        return None
    far = tuple(itertools.accumulate((0, *(one.shift for one in shifts)), max))
    if not far[-1]:
        return None
    d = len(shifts)
    sides = (0, d) if one_sided else range(d + 1)
    return EachWay(
        tuple(GroupLoss(first, far[: a + 1], far[: d - a + 1], rate) for a in reversed(sides))
    )


@dataclass(frozen=True)
class GroupLoss(LossFromSample):
    """Losses of sums of noise in several places, in one direction.

    >>> from tacit.core.losses.additive_noise import LaplaceShift
    >>> one = GroupLoss(LaplaceShift(2, 1), (0, 1, 2), (0,), Fraction(1, 3))
    >>> round(float(one.epsilon(0)), 4), round(math.log((2 / 3 + math.exp(1 / 2) / 3) ** 2), 4)
    (0.3915, 0.3915)
    """

    noise: ShiftedLoss  # its kind and its scale
    own: tuple[int, ...]  # where P has the noise, by how many records are sampled; none below zero
    other: tuple[int, ...]  # where Q has it, on the other side of zero
    rate: Fraction  # q, above zero and at most one

    @cached_property
    def _weights(self) -> tuple[list[Fraction], list[Fraction]]:
        q = self.rate
        first, second = (
            [comb(n, k) * q**k * (1 - q) ** (n - k) for k in range(n + 1)]
            for n in (len(self.own) - 1, len(self.other) - 1)
        )
        return first, second

    def _tails(self, x: int, bits: int) -> tuple[Enclosure, Enclosure]:
        """Enclose the masses of P and of Q from an outcome on."""
        p, q = self._weights
        zero = Enclosure.of(0)
        return (
            sum((w * self.noise.tail(x - s, bits) for w, s in zip(p, self.own, strict=True)), zero),
            sum(
                (w * self.noise.tail(x + s, bits) for w, s in zip(q, self.other, strict=True)), zero
            ),
        )

    def _ratio(self, x: int, bits: int = _BITS) -> Enclosure:
        """Enclose how many times as likely an outcome is under P; it never falls."""
        p, q = self._weights
        zero = Enclosure.of(0)
        own = (w * exp(-self._exponent(x, s), bits) for w, s in zip(p, self.own, strict=True) if w)
        far = (
            w * exp(-self._exponent(x, -s), bits) for w, s in zip(q, self.other, strict=True) if w
        )
        return sum(own, zero) / sum(far, zero)

    def _exponent(self, x: int, centre: int) -> Fraction:
        """Return by how much less likely an outcome is with the noise elsewhere, as a logarithm."""
        if isinstance(self.noise, GaussianShift):
            return Fraction(centre * (centre - 2 * x)) / (2 * self.noise.scale**2)
        return (abs(x - centre) - abs(x)) / self.noise.scale

    @property
    def _ends(self) -> tuple[int, int]:
        return -self.other[-1], self.own[-1]

    def _largest_ratio(self) -> Enclosure | float:
        """Enclose the limit of the ratio: of Laplace noise beyond the last place."""
        if not isinstance(self.noise, GaussianShift):
            return self._ratio(self._ends[1])
        still = sum(w for w, s in zip(self._weights[1], self.other, strict=True) if not s)
        return math.inf if self.own[-1] or not still else 1 / Enclosure.of(still)

    def _window(self, power: Enclosure) -> tuple[int, int]:
        """Return outcomes between which the ratio passes a power, if it does anywhere near."""
        low, high = self._ends
        if isinstance(self.noise, GaussianShift):
            far = _FAR * math.ceil(self.noise.scale)
            step = math.ceil(self.noise.scale)
            while self._ratio(low).upper >= power.lower and (self.other[-1] or low > -far):
                low, step = low - step, 2 * step
            step = math.ceil(self.noise.scale)
            while self._ratio(high).lower <= power.upper and (self.own[-1] or high < far):
                high, step = high + step, 2 * step
        return low, high

    def _first(self, above: Callable[[Enclosure], bool], low: int, high: int) -> int | None:
        """Return the first outcome of a window whose ratio is above; None where none is."""
        if not above(self._ratio(high)):
            return None
        if above(self._ratio(low)):
            return low
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if above(self._ratio(middle)) else (middle, high)
        return high

    def delta(self, epsilon: Number) -> Enclosure:
        """Enclose the least delta at ``epsilon``."""
        level = as_fraction(epsilon, "epsilon")
        power = exp(level, BITS)
        low, high = self._window(power)
        first = self._first(lambda ratio: ratio.upper > power.lower, low, high)
        beyond = _BEYOND if isinstance(self.noise, GaussianShift) else _ZERO
        if first is None:
            return Enclosure(_ZERO, beyond)
        sure = self._first(lambda ratio: ratio.lower > power.upper, low, high)
        if sure == low:
            return as_probability(Enclosure((1 - power).lower, (1 - power).upper + beyond))
        start = first if sure is None else sure
        p, q = self._tails(start, BITS)
        between = p - power * q
        if between.lower <= 0 or between.width > between.lower / (1 << 40):
            p, q = self._tails(start, 4 * BITS)
            between = p - exp(level, 4 * BITS) * q
        # where the two differ, outcomes between have the ratio itself, up to 2^-80 of their mass
        unsure = _ZERO if first == sure else self._tails(first, BITS)[0].upper / (1 << 80)
        return as_probability(Enclosure(between.lower, between.upper + unsure))

    def epsilon(self, delta: Number) -> Enclosure | float:
        """Enclose the least epsilon at ``delta``; ``math.inf`` where no finite one suffices."""
        target = read_probability(delta, "delta")
        largest = self._largest_ratio()
        if target == 0:
            if not isinstance(largest, Enclosure):
                return math.inf
            top = log(largest, BITS)
            return Enclosure(max(top.lower, _ZERO), max(top.upper, _ZERO))
        if self.delta(0).upper <= target:
            return Enclosure.of(0)
        if isinstance(largest, Enclosure):
            known = max(log(largest, BITS).upper, _ZERO)
        else:
            known = Fraction(1)
            while self.delta(known).upper > target:
                known *= 2
        high, _ = narrowed(lambda e: self.delta(e).upper <= target, known, _ZERO, 50)
        low, _ = narrowed(lambda e: self.delta(e).lower > target, _ZERO, known, 50)
        return Enclosure(min(low, high), high)

    def directions(self) -> tuple[PrivacyLoss, PrivacyLoss]:
        """Return both directions."""
        return self, GroupLoss(self.noise, self.other, self.own, self.rate)

    def generating(self) -> Generating | None:
        """Return the losses as a list, where the noise has few outcomes that matter."""
        if self.noise.scale > 40:
            return None
        listed = self.in_floats(DUST)
        if not isinstance(listed, ListedLosses) or len(listed.low) > 1 << 12:
            return None
        middle = (listed.low + listed.high) / 2
        masses = (listed.min_mass + listed.max_mass) / 2
        return Generating(listed=(middle, masses), infinite=(0.0, 2 * DUST))

    def in_floats(self, dust: float) -> ListedLosses | SpreadLosses:
        """Return the losses in floats, up to a mass of ``dust`` on either side."""
        low, high = self._ends
        outside = 0.0
        if isinstance(self.noise, GaussianShift):
            reach = math.ceil((math.sqrt(-2 * math.log(dust)) + 2.0**-20) * self.noise.scale) + 1
            low, high, outside = -reach, self.own[-1] + reach, dust
        places = [float(x) for x in (low, high)]
        if high - low <= _MAX_LISTED:
            x = np.arange(low, high + 1, dtype=np.float64)
            return self._listed(x, self._masses(np.append(x, x[-1] + 1))[0], outside)
        ends = self._losses(np.array(places))
        p = self._alone(places)
        margin = 2.0**-46 * (1 + np.abs(ends))
        alone = ListedLosses(
            ends - margin,
            ends + margin,
            p * (1 - _MASS_SLACK),
            p * (1 + _MASS_SLACK) + [outside, 0.0],
            (0.0, outside),
        )

        def masses(losses: Floats) -> tuple[Floats, Floats]:
            cuts = np.clip(np.ceil(self._inverse(losses, *places)), places[0] + 1, places[1])
            fine = np.union1d(cuts, np.ceil(np.linspace(places[0] + 1, places[1], _FINE)))
            indices = np.clip(np.searchsorted(cuts, fine[:-1], "right") - 1, 0, None)
            inside = (fine[:-1] >= cuts[0]) & (fine[:-1] < cuts[-1])
            own, other = self._masses(fine)
            count = len(losses) - 1
            p, q = (summed(indices[inside], m[inside], count)[:count] for m in (own, other))
            return p, q

        return SpreadLosses((float(ends[0]), float(ends[1])), masses, alone, _MASS_SLACK)

    def _listed(self, x: Floats, masses: Floats, outside: float) -> ListedLosses:
        """Return the losses of all outcomes; the last of Laplace noise stand for all beyond."""
        losses = self._losses(x)
        minimum, maximum = masses * (1 - _MASS_SLACK), masses * (1 + _MASS_SLACK)
        if not isinstance(self.noise, GaussianShift):
            for index, mass in zip((0, -1), self._alone([x[0], x[-1]]), strict=True):
                minimum[index], maximum[index] = mass * (1 - SLACK), mass * (1 + SLACK)
        maximum[0] += outside
        margin = 2.0**-46 * (1 + np.abs(losses))
        return ListedLosses(losses - margin, losses + margin, minimum, maximum, (0.0, outside))

    def _alone(self, places: list[float]) -> Floats:
        """Return the mass up to the first of two outcomes, and that from the second on."""
        if isinstance(self.noise, GaussianShift):
            return np.zeros(2)
        mirrored = GroupLoss(self.noise, self.other, self.own, self.rate)
        under = mirrored._tails(-int(places[0]), 4 * BITS)[1]
        over = self._tails(int(places[1]), 4 * BITS)[0]
        return np.array([float(under.middle), float(over.middle)])

    def _masses(self, cuts: Floats) -> tuple[Floats, Floats]:
        """Return the masses of P and of Q from each whole number up to the next."""
        of = gaussian_masses if isinstance(self.noise, GaussianShift) else laplace_masses
        p, q = self._weights
        own = sum(
            float(w) * of(self.noise.scale, cuts, s) for w, s in zip(p, self.own, strict=True)
        )
        other = sum(
            float(w) * of(self.noise.scale, cuts, -s) for w, s in zip(q, self.other, strict=True)
        )
        return np.asarray(own), np.asarray(other)

    def _losses(self, x: Floats) -> Floats:
        """Return the losses of outcomes, right to 2^-50 of the largest one."""
        p, q = self._weights
        upper = self._log_sum(x, p, [float(s) for s in self.own])
        return upper - self._log_sum(x, q, [-float(s) for s in self.other])

    def _log_sum(self, x: Floats, weights: list[Fraction], centres: list[float]) -> Floats:
        scale = float(self.noise.scale)
        rows = []
        for weight, centre in zip(weights, centres, strict=True):
            if not weight:
                continue
            if isinstance(self.noise, GaussianShift):
                exponents = (centre / scale) * ((2 * x - centre) / scale) / 2
            else:
                exponents = (np.abs(x) - np.abs(x - centre)) / scale
            rows.append(math.log(weight) + exponents)
        table = np.array(rows)
        maximum = table.max(axis=0)
        total: Floats = maximum + np.log(np.exp(table - maximum).sum(axis=0))
        return total

    def _inverse(self, losses: Floats, first: float, last: float) -> Floats:
        """Return where the losses, which never fall along the line, reach others."""
        low, high = np.full(len(losses), first), np.full(len(losses), last)
        for _ in range(64):
            middle = (low + high) / 2
            below = self._losses(middle) < losses
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return high


# A release of which a pair (epsilon, delta) is known at each distance.


def sampled_groups_of_pairs(pairs: Sequence[tuple[Fraction, Fraction]], rate: Fraction) -> EachWay:
    """Return the losses from a Poisson sample at a distance, from pairs at each one up to it.

    >>> two = sampled_groups_of_pairs([(Fraction(1), _ZERO), (Fraction(2), _ZERO)], Fraction(1, 2))
    >>> round(float(two.epsilon(0)), 3), round(2 * math.log((1 + math.e) / 2), 3)
    (1.24, 1.24)
    """
    d = len(pairs)
    every = [(_ZERO, _ZERO), *pairs]
    return EachWay(tuple(_of_pairs(every, a, d - a, rate) for a in range(d, -1, -1)))


def _of_pairs(
    pairs: Sequence[tuple[Fraction, Fraction]], a: int, b: int, rate: Fraction
) -> PrivacyLossDistribution:
    def weights(n: int) -> list[Fraction]:
        return [comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(n + 1)]

    # places where one of the sums bends: e^e x = 1 - e^-e (1 - d - x) at (1 - d) / (1 + e^e)
    powers = [exp(e, BITS).rounded(BITS) for e, _ in pairs]
    bends = [((1 - d) / (1 + p)).rounded(BITS) for p, (_, d) in zip(powers, pairs, strict=True)]
    points = {_ZERO: Enclosure.of(0), Fraction(1): Enclosure.of(1)}
    for (_, delta), bend in zip(pairs, bends, strict=True):
        for point in (bend, 1 - bend, Enclosure.of(1 - delta), Enclosure.of(delta)):
            points[point.middle] = point
    cuts = [points[middle] for middle in sorted(points)]
    p_weights, q_weights = weights(a), weights(b)

    def slope(k: int, middle: Fraction, own: bool) -> Enclosure:
        delta = pairs[k][1]
        at = middle if own else 1 - middle
        if at > 1 - delta:
            return Enclosure.of(0)
        return powers[k] if at < bends[k].middle else 1 / powers[k]

    atoms: list[Atom] = []
    for low, high in itertools.pairwise(cuts):
        width = high - low
        width = Enclosure(max(width.lower, _ZERO), width.upper)
        middle = (low.middle + high.middle) / 2
        zero = Enclosure.of(0)
        p = sum((w * slope(k, middle, True) for k, w in enumerate(p_weights)), zero)
        q = sum((w * slope(k, middle, False) for k, w in enumerate(q_weights)), zero)
        if not width.upper or not p.upper:
            continue
        p_mass, q_mass = (p * width).rounded(BITS), (q * width).rounded(BITS)
        atoms.append(Atom(Loss(log((p / q).rounded(BITS), BITS)), p_mass, q_mass))
    jump = sum((w * pairs[k][1] for k, w in enumerate(p_weights)), _ZERO)
    return PrivacyLossDistribution(tuple(atoms), Enclosure.of(jump))
