"""Renyi divergences of shifted noise on whole numbers, against their sums."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import tacit as tc
from tacit.core.losses.additive_noise import renyi_of_gaussian, renyi_of_laplace
from tacit.noise import DiscreteGaussian, DiscreteLaplace


def summed(law, shift, alpha, reach):
    total = 0.0
    for x in range(-reach, reach + 1):
        p, q = float(law.probability(x, 200).upper), float(law.probability(x + shift, 200).upper)
        if p > 0 and q > 0:
            total += math.exp(alpha * math.log(p) + (1 - alpha) * math.log(q))
    return math.log(total) / (alpha - 1)


@pytest.mark.few(39)
@pytest.mark.parametrize("alpha", ["11/10", "3/2", "2", "7/3"])
@pytest.mark.parametrize("shift", [0, 1, 2, 5])
@pytest.mark.parametrize("scale", ["1/2", "1", "7/3", "4"])
def test_renyi_divergences_of_shifted_laws_agree_with_their_sums(scale, shift, alpha):
    scale, alpha = Fraction(scale), Fraction(alpha)
    reach = 40 if scale < 1 else 200
    laplace = renyi_of_laplace(scale, shift, alpha)
    expected = summed(DiscreteLaplace(scale), shift, float(alpha), reach)
    assert float(laplace) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert laplace.upper <= Fraction(shift) / scale
    assert laplace.width < Fraction(1, 10**30)
    gaussian = renyi_of_gaussian(scale, shift, alpha)
    expected = summed(DiscreteGaussian(scale), shift, float(alpha), int(9 * scale) + 3 * shift + 3)
    assert float(gaussian) == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert gaussian.upper <= alpha * shift**2 / (2 * scale**2)
    assert gaussian.width < Fraction(1, 10**30)


def test_renyi_divergence_of_gaussian_noise_is_within_the_map():
    column = tc.Space(tc.Vector(float), tc.SymmetricDistance())
    m = column >> tc.clamp(0, 12) >> tc.sum() >> tc.gaussian(scale=25)
    found = tc.divergence(m, [1.0], [1.0, 12.0], measure=tc.RenyiDP("5/2"))
    assert found.upper <= Fraction(5, 2) * m.map(1)
    assert found.lower > Fraction(5, 2) * m.map(1) * Fraction(999, 1000)
