"""Generating functions against the sums and integrals that define them."""

import cmath
import math

import numpy as np
import pytest

from tacit.core.losses.additive_noise import GaussianShift
from tacit.core.losses.summands import Lists, Normals, Ranges

POINTS = [0.0, 0.5, 3.0, 0.7 + 2.5j, 1.5 + 40j, 0.3 + 700j]


@pytest.mark.parametrize("z", POINTS)
@pytest.mark.parametrize(("sigma", "shift"), [(1, 1), (2, 3), (7, 1), (30, 50)])
def test_that_of_a_discrete_gaussian_is_the_mean_of_powers(z, sigma, shift):
    """At every frequency: also where the losses, which stand on a lattice, resonate."""
    family = Normals(np.ones(1), np.array([float(sigma)]), np.array([float(shift)]))
    loss = GaussianShift(sigma, shift)
    centre = round(z.real * shift)
    places = range(centre - 14 * sigma, centre + 14 * sigma + 1)
    masses = {x: math.exp(-x * x / (2 * sigma**2)) for x in range(-14 * sigma, 14 * sigma + 1)}
    whole = math.fsum(masses.values())
    mean = sum(cmath.exp(z * float(loss.loss(x)) - x * x / (2 * sigma**2)) for x in places) / whole
    largest = family.factors(z.real)[0].real
    assert abs(complex(family.factors(z)[0]) - mean) < 1e-10 * largest


@pytest.mark.parametrize("z", POINTS)
@pytest.mark.parametrize("reach", [0.01, 1.0, 6.0])
def test_that_of_a_bounded_range_is_an_integral(z, reach):
    family = Ranges(np.ones(1), np.array([reach]))
    nodes, weights = np.polynomial.legendre.leggauss(40)
    panels = np.linspace(-reach, reach, 801)
    half, middle = np.diff(panels) / 2, (panels[1:] + panels[:-1]) / 2
    losses = middle[:, None] + half[:, None] * nodes
    density = np.exp(losses / 2 + z * losses) / (4 * math.sinh(reach / 2))
    mean = complex((half[:, None] * weights * density).sum())
    largest = family.factors(np.array([z.real]))[0, 0]
    assert abs(complex(family.factors(np.array([z]))[0, 0]) - mean) < 1e-11 * largest


def test_a_list_in_columns_is_that_of_single_numbers():
    family = Lists(
        np.array([1.0, 2.0]), np.array([[1.0, -1.0], [0.5, 0.0]]), np.array([[0.75, 0.25]] * 2)
    )
    points = np.array(POINTS)
    together = family.factors(points)
    for column, z in enumerate(POINTS):
        assert np.allclose(together[:, column], family.factors(z), rtol=1e-14)
    assert family.rows(slice(1, 2)).reach == pytest.approx([0.5])
