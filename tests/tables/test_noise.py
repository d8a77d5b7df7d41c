"""What the noise does to weighted sums: against exact laws, and against draws."""

from fractions import Fraction

import numpy as np
import pytest

from tables.answers.released import enough
from tacit import noise
from tacit.tables.noise import NoiseLaw, _inversion, _laplace_quantile, _partial_fractions

LAWS = {
    "fine": NoiseLaw("laplace", 2.0, 2.0**-20),
    "coarse": NoiseLaw("laplace", 2.0, 1.0),
    "coarser": NoiseLaw("laplace", 0.3, 1.0),
    "gaussian": NoiseLaw("gaussian", 3.0, 2.0**-20),
    "gaussian, coarse": NoiseLaw("gaussian", 1.5, 1.0),
    "gaussian, coarser": NoiseLaw("gaussian", 0.2, 1.0),
}


def exact_law(law):
    units = Fraction(law.scale) / Fraction(law.grid)
    return (noise.DiscreteLaplace if law.kind == "laplace" else noise.DiscreteGaussian)(units)


def draws(law, size):
    return exact_law(law).draw_many(size).astype(float) * law.grid


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_variance_is_the_exact_one_or_just_above(law):
    exact = float(exact_law(law).variance()) * law.grid**2
    assert law.variance >= exact * (1 - 1e-9)
    if law.kind == "laplace" or law.scale / law.grid > 1:
        assert law.variance == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("law", [LAWS["coarse"], LAWS["coarser"]], ids=["coarse", "coarser"])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
def test_one_coordinate_has_the_least_half_width_on_the_grid(law, level):
    exact = exact_law(law)
    t = int(law.half_width((1.0,), level))
    inside = exact.cdf(t).lower - exact.cdf(-t - 1).upper
    assert inside >= Fraction(level) - Fraction(1, 10**9)
    if t:
        assert exact.cdf(t - 1).upper - exact.cdf(-t).lower < level


@pytest.mark.few(4)
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize(
    "weights",
    [(1.0,), (1.0, 1.0), (1.0, -0.5), (0.3, 0.3, 0.3), (1.0, 0.999, 0.01), (1.0,) * 4, (0.2,) * 9],
)
def test_half_widths_cover(law, weights):
    runs = 20_000
    total = draws(law, (runs, len(weights))) @ np.array(weights)
    half = law.half_width(weights)
    assert (np.abs(total) <= half * (1 + 1e-12)).sum() >= enough(runs)


def test_half_widths_are_tight_where_the_grid_is_fine():
    law = LAWS["fine"]
    runs = 100_000
    for weights in [(1.0, 1.0), (1.0, 0.5, 0.25), (1.0,) * 5]:
        total = np.abs(draws(law, (runs, len(weights))) @ np.array(weights))
        assert np.quantile(total, 0.95) == pytest.approx(law.half_width(weights), rel=0.03)


def test_no_weight_no_width():
    assert LAWS["fine"].half_width((0.0, 0.0)) == 0.0


def test_a_scale_far_below_the_grid_is_no_noise_and_no_error():
    law = NoiseLaw("laplace", 1e-6, 1.0)
    assert law.variance == 0.0
    assert law.half_width((1.0,)) == 0.0


@pytest.mark.parametrize("weights", [(1.0,), (1.0, 0.5), (1.0, 0.9, 0.2), (1.0, 1.0, 1.0)])
def test_both_ways_to_the_tail_agree(weights):
    # Nearly equal weights are spread upwards, so the closed form may be above by as much.
    closed = _partial_fractions(tuple(sorted(weights)))
    numeric = _inversion((*sorted(weights), 1e-9, 1e-9))
    for t in (0.5, 1.0, 2.0, 5.0, 9.0):
        assert closed(t) >= numeric(t) - 2e-5
        assert closed(t) == pytest.approx(numeric(t), rel=0.02, abs=2e-5)


def test_the_tail_of_two_equal_laplaces_is_the_known_one():
    # P(|X + Y| > t) = (1 + t / 2) e^-t
    t = _laplace_quantile((1.0, 1.0), 0.95)
    assert (1 + t / 2) * np.exp(-t) <= 0.05
    assert t == pytest.approx(4.1128, rel=3e-3)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_rows_of_weights_have_the_half_width_of_each(law):
    rows = ((1.0, 0.0), (0.25, -0.75), (0.0, 0.0), (0.0, -2.0), (0.1, 0.2))
    assert law.half_widths(rows, 0.9).tolist() == [law.half_width(row, 0.9) for row in rows]
    assert law.half_width((0.0, 0.0)) == 0
