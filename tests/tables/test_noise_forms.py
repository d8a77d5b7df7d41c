"""Half-widths of many weighted sums at once: never narrower than the exact ones, hardly wider."""

import itertools

import numpy as np
import pytest

from tables.answers.released import enough
from tacit import noise
from tacit.tables.noise import Band, NoiseLaw, half_widths

WEIGHTS = [
    (1.0, 0.0, 0.0),
    (1.0, 1.0, 0.0),
    (1.0, 0.5, 0.01),
    (3.0, -2.0, 1.0),
    (1e-6, 5e-7, 0.0),
    (0.0, 0.0, 0.0),
]


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.999, 1 - 1e-5])
def test_no_narrower_than_the_exact_quantiles_and_hardly_wider(kind, level):
    law = NoiseLaw(kind, 2.0, 2.0**-60)
    found = half_widths(law, np.array(WEIGHTS), level)
    for wide, weights in zip(found, WEIGHTS, strict=True):
        exact = law.half_width(weights, level)
        assert exact * (1 - 2e-3) <= wide <= exact * 1.02 + 1e-12, weights


@pytest.mark.full
@pytest.mark.parametrize("weights", [(1.0,) * 8, (2.0, 1.0, 1.0, -1.0, 0.1), (1.0, 1e-9)])
def test_draws_are_within_them_as_often_as_they_say(weights):
    drawn = noise.discrete_laplace(1 << 20, 40_000 * len(weights)).astype(float) / (1 << 20)
    sums = drawn.reshape(-1, len(weights)) @ np.array(weights)
    law = NoiseLaw("laplace", 1.0, 2.0**-20)
    for level in (0.8, 0.95, 0.995):
        (wide,) = half_widths(law, np.array([weights]), level)
        assert (np.abs(sums) <= wide).sum() >= enough(len(sums), level)
        assert (np.abs(sums) <= wide).mean() <= level + 0.02


def test_the_grid_is_allowed_for():
    fine, coarse = (NoiseLaw("laplace", 2.0, step) for step in (0.0, 1.0))
    weights = np.array([[1.0, 2.0]])
    assert half_widths(coarse, weights, 0.95) == half_widths(fine, weights, 0.95) + 3.0


def test_shapes_are_kept():
    law = NoiseLaw("laplace", 1.0, 2.0**-30)
    weights = np.arange(24.0).reshape(2, 3, 4)
    found = half_widths(law, weights, 0.9)
    assert found.shape == (2, 3)
    assert found[1, 2] == half_widths(law, weights[1, 2:], 0.9)[0]


def test_bands_hold_what_numbers_within_them_make():
    ends = [(-2.0, 1.0), (0.5, 0.75), (-3.0, -1.0)]
    for first, second in itertools.product(ends, repeat=2):
        a, b = (Band.between(*map(np.array, end)) for end in (first, second))
        inner = [[low, (low + high) / 2, high] for low, high in (first, second)]
        made = [(a + b, np.add), (a - b, np.subtract), (a * b, np.multiply)]
        for band, combine in made:
            for x, y in itertools.product(*inner):
                assert band.low - 1e-12 <= combine(x, y) <= band.high + 1e-12
        assert (-a).low == -first[1]
        assert a.scaled(-2).most == 2 * max(map(abs, first))
        assert a.within(-1, 1).high <= 1


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_weights_that_many_have_are_as_if_they_were_listed(kind):
    law = NoiseLaw(kind, 3.0, 2.0**-20)
    listed = half_widths(law, np.array([[0.3] * 5 + [0.7] * 8, [0.1] * 13]), 0.95)
    counted = half_widths(
        law, np.array([[0.3, 0.7], [0.1, 0.2]]), 0.95, np.array([[5, 8], [13, 0]])
    )
    assert counted == pytest.approx(listed, rel=1e-12)


@pytest.mark.parametrize("times", [None, 3.0])
def test_what_is_remembered_for_few_weights_is_what_many_are_worked_out_to(times):
    few = np.array([[1.0, 0.25, 0.5], [0.0, 1.0, 1.0]])
    many = np.tile(few, (2000, 1))
    for scale in (0.7, 40.0):
        law = NoiseLaw("laplace", scale, 1.0)
        found = [
            half_widths(law, rows, 0.9, None if times is None else np.full(rows.shape, times))
            for rows in (few, few, many)
        ]
        assert found[0].tolist() == found[1].tolist() == found[2][:2].tolist()
