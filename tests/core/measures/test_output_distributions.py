"""Explicit distributions, however they are written; Renyi divergences of noise on whole numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from tacit.core.losses.additive_renyi import renyi_of_gaussian, renyi_of_laplace
from tacit.noise import DiscreteGaussian, DiscreteLaplace

MEASURES = [tc.PureDP(), tc.ApproximateDP(), tc.ZeroConcentratedDP(), tc.RenyiDP("5/2")]
HALF, QUARTER = {0: "1/2", 1: "1/2"}, {0: "1/4", 1: "3/4"}


def ends(measure, p, q):
    found = measure.divergence(p, q)
    found = found("1/10") if callable(found) else found
    return found.lower, found.upper


@pytest.mark.few(4)
@pytest.mark.parametrize("measure", MEASURES, ids=str)
@pytest.mark.parametrize(
    "write",
    [list, tuple, np.array, pd.Series, lambda p: dict(enumerate(p)), lambda p: [str(x) for x in p]],
    ids=["list", "tuple", "array", "series", "mapping", "text"],
)
def test_a_distribution_may_be_written_in_any_form(measure, write):
    assert ends(measure, write([0.5, 0.5]), write([0.25, 0.75])) == ends(measure, HALF, QUARTER)


def test_floats_that_do_not_quite_sum_to_one_are_divided_by_their_sum():
    p, q = {0: 0.9, 1: 0.1}, {0: 0.1, 1: 0.9}
    assert sum(map(Fraction, p.values())) != 1
    assert float(tc.PureDP().divergence(p, q)) == pytest.approx(math.log(9), rel=1e-15)
    uniform = tc.PureDP().divergence([0.1] * 10, ["1/10"] * 10)
    assert uniform.lower == 0
    assert uniform.upper < Fraction(1, 10**20)
    third = np.full(3, 1 / 3)
    assert float(tc.total_variation(third, ["1/3"] * 3)) == 0


@pytest.mark.parametrize(
    "bad",
    [
        [0.5, 0.4],
        ["9/10", "1/5"],
        [1.5, -0.5],
        [math.nan, 1],
        "half",
        3,
        None,
        np.ones((2, 2)) / 4,
        [],
        {},
        pd.Series([0.5, 0.5], index=["a", "a"]),
    ],
    ids=str,
)
@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_what_is_no_distribution_is_refused(measure, bad):
    with pytest.raises(tc.errors.UsageError):
        measure.divergence(bad, [0.5, 0.5])


@pytest.mark.few(4)
@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_output_distributions_can_be_handed_in(measure):
    m = tc.Space(tc.Vector(int), tc.SymmetricDistance()) >> tc.count() >> tc.laplace(scale=3)
    p, q = m.distribution([1, 2]), m.distribution([1, 2, 3])
    asked = tc.divergence(m, [1, 2], [1, 2, 3], measure=measure)
    asked = asked("1/10") if callable(asked) else asked
    assert ends(measure, p, q) == (asked.lower, asked.upper)


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
