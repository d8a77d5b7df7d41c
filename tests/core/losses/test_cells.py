"""Losses on a lattice: from above never less, from below never more, at every epsilon."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.core.losses.additive_noise import GaussianShift, LaplaceShift
from tacit.core.losses.lattice import Listed, above, below, gaussian_losses, on_own_lattice, raised

LEVELS = np.linspace(-4, 4, 33)


def delta(losses, masses, infinite, level):
    return infinite + float(np.maximum(0, -np.expm1(level - losses)) @ masses)


def delta_of(side, level):
    losses = side.origin + side.step * (side.first + np.arange(len(side.masses)))
    return delta(losses, side.masses, side.infinite, level)


@st.composite
def lists(draw):
    size = draw(st.integers(1, 7))
    losses = np.array(draw(st.lists(st.floats(-3, 3), min_size=size, max_size=size)))
    weights = np.array(draw(st.lists(st.integers(1, 9), min_size=size, max_size=size)), float)
    return Listed(losses, losses, weights / weights.sum(), weights / weights.sum(), (0.0, 0.0))


@given(
    losses=lists(),
    step=st.sampled_from([2.0, 0.5, 0.1, 1 / 3, 0.01]),
    origin=st.floats(-1, 1),
    tilt=st.floats(0, 20),
)
def test_listed_losses_lie_between_both_sides(losses, step, origin, tilt):
    over, under = above(losses, step, origin), below(losses, step, origin, tilt)
    for level in LEVELS:
        truth = delta(losses.low, losses.least, 0.0, level)
        assert delta_of(over, level - over.blur) >= truth - 1e-12
        assert delta_of(under, level + under.blur) <= truth + 1e-12
        assert delta_of(over, level) - truth <= 2 * step
    assert np.sum(over.masses) <= 1 + 1e-9


def test_from_above_losses_are_no_higher_than_they_must_be():
    """A loss on a point stays there; one between two points keeps the mean of e^-loss."""
    losses = np.array([0.0, 0.25])
    side = above(Listed(losses, losses, np.array([0.5, 0.5]), np.array([0.5, 0.5])), 1.0)
    z = np.exp(-np.arange(2.0))
    assert abs(float(side.masses @ z) - float(np.exp(-losses).mean())) < 1e-9
    assert side.first == 0


@pytest.mark.parametrize("loss", [LaplaceShift(1 << 40, 1 << 41), GaussianShift(1 << 40, 1 << 40)])
@pytest.mark.parametrize("step", [0.125, 0.01])
def test_spread_losses_lie_between_both_sides(loss, step):
    found = loss.in_floats(1e-25)
    over, under = above(found, step), below(found, step, 0.0, 1.0)
    for level in np.linspace(-1.75, 5, 14):
        truth = loss.delta(float(level))
        assert delta_of(over, level - over.blur) >= float(truth.lower) - 1e-13
        assert delta_of(under, level + under.blur) <= float(truth.upper) + 1e-13
        width = delta_of(over, level) - delta_of(under, level)
        assert width <= step**2 + 1e-9  # of the second order


def test_losses_on_their_own_lattice_do_not_move():
    found = gaussian_losses(GaussianShift(10, 1).scale, 1, 1e-20)
    over = on_own_lattice(found, 1 / 100, 1 / 200)
    under = on_own_lattice(found, 1 / 100, 1 / 200, upper=False)
    losses = over.origin + over.step * (over.first + np.arange(len(over.masses)))
    assert np.allclose(losses, found.low, atol=over.blur)
    assert np.all(over.masses >= under.masses)
    assert over.infinite > under.infinite == 0


def test_losses_that_no_others_make_up_for_stand_on_the_floor():
    loss = GaussianShift(1 << 40, 1 << 40).in_floats(1e-20)
    for one in (loss, gaussian_losses(GaussianShift(10, 5).scale, 5, 1e-20)):
        floor = -0.75
        found = raised(one, floor)
        over, under = above(found, 0.01), below(found, 0.01, 0.0, 0.0)
        before = above(one, 0.01), below(one, 0.01, 0.0, 0.0)
        for level in (0.0, 1.0):
            assert delta_of(over, level) == pytest.approx(delta_of(before[0], level), abs=1e-4)
            assert delta_of(under, level) == pytest.approx(delta_of(before[1], level), abs=1e-4)
        assert over.masses.sum() >= 1
        assert over.step * over.first >= floor - 0.02
