"""Mechanisms that are known to be wrong: an auditor that passes one of them is worth nothing.

Each returns a measurement with the map that its authors claimed and its true output distribution.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np

from tacit import noise
from tacit.arithmetic.enclosure import Enclosure
from tacit.core import (
    AbsoluteDistance,
    Domain,
    HammingDistance,
    LInfinityDistance,
    Number,
    Space,
    Vector,
)
from tacit.core.divergences import Product
from tacit.mechanisms import FiniteDistribution, user_measurement
from tacit.mechanisms.grid_noise import LatticeDistribution

QUERIES = Space(Vector(Number("int", 0, 2), size=3), LInfinityDistance())
NUMBER = Space(Number("int", 0, 3), AbsoluteDistance())
ONE = Fraction(1)
REST = Fraction(1, 1 << 60)


def laplace(scale, centre):
    return LatticeDistribution(noise.DiscreteLaplace(scale), centre, ONE)


def noise_at_wrong_scale():
    """Noise of half the scale that the map was written for."""
    return user_measurement(
        NUMBER, abs, lambda d: d / Fraction(2), distribution=lambda x: laplace(1, x)
    )


def noise_scaled_by_epsilon():
    """The scale is epsilon where it should be its inverse: claims 1/10, and loses 10."""
    epsilon = Fraction(1, 10)
    return user_measurement(
        NUMBER, abs, lambda d: d * epsilon, distribution=lambda x: laplace(epsilon, x)
    )


def window(scale, centre, outside=REST):
    low, high = noise.DiscreteLaplace(scale).support(1 - outside)
    return range(centre + low, centre + high + 1)


def noisy_max_value():
    """Report-noisy-max that publishes the largest noisy value: claims the loss of the index."""
    scale = Fraction(2)

    def law(scores):
        scores = [int(s) for s in scores]
        law = noise.DiscreteLaplace(scale)
        low = min(window(scale, min(scores))[0], 0)
        high = window(scale, max(scores))[-1]
        at_most = {
            z: math.prod((law.cdf(z - s, 96) for s in scores), start=Enclosure.of(1)).rounded(128)
            for z in range(low - 1, high + 1)
        }
        table = {z: (at_most[z] - at_most[z - 1]).maximum(0) for z in range(low, high + 1)}
        return FiniteDistribution(table, rest=3 * REST)

    return user_measurement(QUERIES, max, lambda d: d / scale, distribution=law)


def sparse_vector(kind, answers=1):
    """The variants 3 to 6 of Lyu, Su and Li (2017), at a claimed epsilon of 1.

    3: the noisy answer that was compared is released (values beyond 3 in size told as low or high).
    4: the query noise is not scaled with the number of answers (and is a quarter too small).
    5: no noise on the queries.
    6: no cut-off, so that any number of answers is given.
    """
    size = {3: 3, 4: 3, 5: 2, 6: 3}[kind]
    space = Space(Vector(Number("int", -1, 1), size=size), LInfinityDistance())
    threshold_scale = {3: Fraction(2), 4: Fraction(4), 5: Fraction(2), 6: Fraction(2)}[kind]
    query_scale = {3: Fraction(2), 4: Fraction(4, 3), 5: None, 6: Fraction(2)}[kind]
    most = {3: 1, 4: answers, 5: answers, 6: size}[kind]
    rho = noise.DiscreteLaplace(threshold_scale)
    shifts = window(threshold_scale, 0, Fraction(1, 1 << 30))
    query = None if query_scale is None else noise.DiscreteLaplace(query_scale)

    def outcomes(queries, level, left):
        """Yield (output, probability) of the rest, given the noisy threshold."""
        if not queries or not left:
            yield (), Enclosure.of(1)
            return
        first, *rest = queries
        above = Enclosure.of(int(first >= level)) if query is None else query.cdf(first - level)
        for tail, p in outcomes(rest, level, left):
            yield ("below", *tail), (p * (1 - above)).rounded(96)
        for tail, p in outcomes(rest, level, left - 1):
            if kind != 3:
                yield ("above", *tail), (p * above).rounded(96)
                continue
            shown = {v: query.probability(v - first) for v in range(max(level, -3), 4)}
            shown["high"] = query.cdf(first - max(level, 4))
            if level < -3:
                shown["low"] = (above - query.cdf(first + 3)).maximum(0)
            for value, chance in shown.items():
                yield (value, *tail), (p * chance).rounded(96)

    def law(queries):
        table = {}
        for shift in shifts:
            weight = rho.probability(shift)
            for output, p in outcomes([int(q) for q in queries], shift, most):
                here = table.get(output, Enclosure.of(0))
                table[output] = (here + weight * p).rounded(96)
        return FiniteDistribution(table, rest=Fraction(1, 1 << 30))

    return user_measurement(space, list, lambda d: d, distribution=law, name=f"SVT{kind}")


def prefix_sums():
    """Running sums, each with the noise of one: one person moves all the later ones too."""
    space = Space(Vector(Number("int", 0, 1), size=3), HammingDistance())

    def law(bits):
        sums = list(itertools.accumulate(int(b) for b in bits))
        return Product([laplace(2, s) for s in sums])

    return user_measurement(space, list, lambda d: d / Fraction(2), distribution=law)


class Doubles(Domain):
    """The two inputs of Mironov's attack."""

    def contains(self, value):
        return value in (0.0, 1.0)

    def read(self, value):
        return value

    def sample(self, source):
        return source.choice([0.0, 1.0])

    def describe(self):
        return {"domain": "doubles"}


def float_laplace(step=2.0**-6):
    """Laplace noise in (short) floats, added to the data with rounding: outputs have gaps.

    The noise is a float drawn near zero on a fine grid, and the sum is rounded to the coarser grid
    of floats of its size; so near 1 only multiples of the coarse step can come out.
    """
    space = Space(Number("int", 0, 1), AbsoluteDistance())
    fine = noise.DiscreteLaplace(64)

    def law(x):
        table = {}
        for k in window(64, 0, Fraction(1, 1 << 20)):
            exact = int(x) + k * step
            ulp = step if abs(exact) < 0.5 else 4 * step
            shown = float(np.round(exact / ulp) * ulp)
            if int(x) and abs(shown) < 0.5:  # 1 + noise was rounded while it was of size one
                shown = float(np.round(shown / (4 * step)) * 4 * step)
            table[shown] = table.get(shown, Enclosure.of(0)) + fine.probability(k)
        table["beyond"] = Enclosure(Fraction(0), Fraction(1, 1 << 20))
        return FiniteDistribution(table)

    return user_measurement(space, float, lambda d: d, distribution=law)


def clamped_noise():
    """Noise cut to a range before it is added: the ends of the range give the input away."""

    def law(x):
        noisy = {}
        for k in range(-3, 4):
            p = noise.DiscreteLaplace(2).probability(k)
            if abs(k) == 3:
                p = noise.DiscreteLaplace(2).cdf(-3)
            noisy[int(x) + k] = p
        return FiniteDistribution(noisy)

    return user_measurement(NUMBER, abs, lambda d: d / Fraction(2), distribution=law)
