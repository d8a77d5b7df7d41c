"""Summands of several families: tilts, and what stands in them."""

import cmath
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from tacit.core.losses.additive_noise import GaussianShift, LaplaceShift
from tacit.core.losses.contour import REST, enclosed_epsilon, enclosed_log_deltas, max_beyond
from tacit.core.losses.summands import (
    GaussianSum,
    Generating,
    Lists,
    Normals,
    Ranges,
    Summands,
    ends_of,
    min_part,
    moments,
    renyi_epsilon,
    tilt_at,
    tilt_near,
)

SUM = Summands.of([(Generating(laplace=(0.05, 1)), 1), (Generating(laplace=(0.08, 2)), 400)])


def test_tilts_put_the_mean_where_it_is_wanted():
    assert moments(SUM, tilt_at(SUM, 15.0))[1] == pytest.approx(15.0, rel=1e-2)
    assert SUM.radius == pytest.approx(0.05 + 64)
    near = tilt_near(SUM, math.log(1e-9))
    log, mean, _ = moments(SUM, near)
    assert -40 < log - near * mean < math.log(1e-6)
    assert np.isinf(moments(SUM, 1e6)[0])


def test_no_tilt_is_far_below_one_over_the_deviation():
    variance = moments(SUM, 1e-9)[2]
    assert tilt_at(SUM, 0.0) == pytest.approx(0.7 / math.sqrt(variance), rel=0.1)


def test_moments_are_those_of_a_gaussian():
    many = Summands.of([(Generating(gaussian=(40.0, 4)), 25)])
    for tilt in (0.1, 1.0, 7.0):
        log, mean, variance = moments(many, tilt)
        assert log == pytest.approx(0.25 * tilt * (tilt + 1) / 2)
        assert mean == pytest.approx(0.25 * (tilt + 0.5), rel=1e-4)
        assert variance == pytest.approx(0.25, rel=1e-4)


def test_each_family_holds_its_own():
    rows = [
        (Generating(range=0.5), 2),
        (Generating(listed=(np.ones(2), np.ones(2) / 2), infinite=(0.1, 0.1)), 2),
        (Generating(gaussian=(2.0, 1)), 1),
    ]
    found = Summands.of(rows)
    assert sorted(family.times.tolist() for family in found.families) == [[1.0], [2.0], [2.0]]
    assert found.count == 5
    assert found.largest == math.inf
    assert found.infinite[0] < 0.19 < found.infinite[1]
    assert [len(piece.times) for piece in SUM.pieces(1)] == [1, 1]


# Sums of Gaussian losses: the closed form against mpmath, whole numbers against a convolution.


def ideal(mu, epsilon):
    """Return delta of a Gaussian number on the real line, in 80 digits."""
    with mpmath.workdps(80):
        a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
        return mpmath.ncdf(-a) - mpmath.exp(epsilon) * mpmath.ncdf(-b)


@pytest.mark.parametrize("deviation", [10**7, 10**12, 10**15])
@pytest.mark.parametrize("place", [-3, 0, "1/3", 1, 5, 30])
def test_wide_noise_has_the_delta_of_the_real_line(deviation, place):
    """At so many mu from zero; the relative width is far below what a float holds."""
    found = GaussianSum(((Fraction(deviation), 3, 5), (Fraction(2 * deviation), 1, 7)))
    with mpmath.workdps(80):
        mu = mpmath.sqrt(mpmath.mpf(5 * 9 * 4 + 7) / 4) / deviation
        epsilon = Fraction(place) * Fraction(round(10**30 * mu), 10**30)
        truth = ideal(mu, mpmath.mpf(epsilon.numerator) / epsilon.denominator)
    got = found.delta(epsilon)
    low, high = (mpmath.mpf(end.numerator) / end.denominator for end in (got.lower, got.upper))
    assert low <= truth * (1 + mpmath.mpf(10) ** -9)
    assert truth * (1 - mpmath.mpf(10) ** -9) <= high
    assert high - low <= truth * mpmath.mpf(10) ** -9


def whole(parts, epsilon):
    """Return delta on whole numbers, from the convolution of all losses."""
    grid = math.lcm(*(int(2 * sigma**2) for sigma, _, _ in parts))
    masses = np.ones(1)
    start = 0
    for sigma, shift, k in parts:
        radius = int(14 * sigma)
        x = np.arange(-radius, radius + 1)
        p = np.exp(-(x**2) / (2 * sigma**2))
        places = shift * (2 * x + shift) * (grid // int(2 * sigma**2))
        one = np.zeros(places[-1] - places[0] + 1)
        one[places - places[0]] = p / p.sum()
        for _ in range(k):
            masses, start = np.convolve(masses, one), start + places[0]
    losses = (start + np.arange(len(masses))) / grid
    return float(masses @ np.maximum(0.0, -np.expm1(epsilon - losses)))


@pytest.mark.parametrize(
    "parts", [((5, 1, 1),), ((5, 4, 2),), ((6, 5, 1), (12, 7, 1)), ((5, 10, 1), (10, 3, 1))]
)
def test_whole_numbers_are_no_farther_from_it_than_is_said(parts):
    found = GaussianSum(tuple((Fraction(sigma), shift, k) for sigma, shift, k in parts))
    outside = 0
    for epsilon in (0.0, 0.01, 0.3, 1.0, 2.5):
        truth, got = whole(parts, epsilon), found.delta(Fraction(epsilon))
        assert float(got.lower) - 1e-13 <= truth <= float(got.upper) + 1e-13
        mu = math.sqrt(sum(k * (s / sigma) ** 2 for sigma, s, k in parts))
        outside += abs(truth - float(ideal(mu, epsilon))) > 1e-7
    assert outside  # so the difference is there, and is charged


def test_the_reference_is_met():
    """Ten thousand releases of noise 100: the known epsilon, to twelve digits, at any delta."""
    found = GaussianSum(((Fraction(10**8), 10**6, 10_000),))
    for log_delta in (math.log(1e-6), math.log(1e-15), -690.0):
        low, high = found.epsilon(log_delta)
        assert 0 < high - low < 1e-12 * high
        assert mpmath.log(ideal(mpmath.mpf(1), mpmath.mpf(low))) > log_delta - 1e-9
        assert mpmath.log(ideal(mpmath.mpf(1), mpmath.mpf(high))) < log_delta + 1e-9
    assert round(found.epsilon(math.log(1e-6))[1], 9) == 4.886554117


def test_what_is_forgiven_from_the_start_costs_nothing():
    assert GaussianSum(((Fraction(10**9), 1, 1),)).epsilon(math.log(1e-6)) == (0.0, 0.0)


def test_narrow_noise_has_no_closed_form():
    assert GaussianSum.of([(Fraction(4), 1, 1)]) is None
    assert GaussianSum.of([]) is None


@pytest.mark.parametrize("t", [1e-3, 0.5, 1.0, 7.0, 1e3])
def test_the_least_part_is_above_all_others(t):
    y = np.linspace(0, 4 / t + 4, 4001)[1:]
    worst = np.log(-np.expm1(-y)) - t * y
    assert worst.max() <= min_part(t)
    assert min_part(t) - worst.max() < 1e-2 * (1 + abs(min_part(t)))


def test_the_renyi_bound_is_above_the_truth():
    for log_delta in (-1.0, -20.0, -600.0):
        wide = [(Fraction(10**8), 10**7, 100)]
        assert renyi_epsilon(wide, log_delta) >= GaussianSum(tuple(wide)).epsilon(log_delta)[1]


# Generating functions against the sums and integrals that define them.


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
@pytest.mark.parametrize("radius", [0.01, 1.0, 6.0])
def test_that_of_a_bounded_range_is_an_integral(z, radius):
    family = Ranges(np.ones(1), np.array([radius]))
    nodes, weights = np.polynomial.legendre.leggauss(40)
    panels = np.linspace(-radius, radius, 801)
    half, middle = np.diff(panels) / 2, (panels[1:] + panels[:-1]) / 2
    losses = middle[:, None] + half[:, None] * nodes
    density = np.exp(losses / 2 + z * losses) / (4 * math.sinh(radius / 2))
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
    assert family.rows(slice(1, 2)).radius == pytest.approx([0.5])


# Generating functions against the sums that define them.


ROWS = [(0.3, 1, 2), (0.05, 7, 1), (0.002, 400, 3)]


@pytest.mark.few(4)
@pytest.mark.parametrize("z", [0.5, 3.0, 0.7 + 2.5j, 1e-3 + 40j])
def test_a_generating_function_is_the_mean_of_powers(z):
    found = ends_of(ROWS).factors(z)
    for row, one in zip(ROWS, found, strict=True):
        rate, shift, _ = row
        loss = LaplaceShift(1 / rate, shift)
        radius = math.ceil(60 / rate)
        r = math.exp(-rate)
        mean = sum(
            (1 - r) / (1 + r) * r ** abs(x) * cmath.exp(z * float(loss.loss(x)))
            for x in range(-radius - shift, radius)
        )
        assert abs(complex(one) - mean) < 1e-9 * abs(mean)


def test_it_is_one_at_zero_and_where_it_gives_back_q():
    ends = ends_of(ROWS)
    assert ends.factors(1e-12) == pytest.approx(1.0, abs=1e-9)
    # E e^-L is the mass of Q, which is one; there q is e^r
    assert ends.factors(-1.0) == pytest.approx(1.0, abs=1e-12)


def test_tilted_masses_of_the_ends():
    upper, lower = ends_of(ROWS[:1]).weights(2.0)
    odds = math.exp(0.3 * (2 * 2 + 1))
    assert upper[0] == pytest.approx(odds / (1 + odds))
    assert upper[0] + lower[0] == pytest.approx(1)


# The integral against sums of losses that are added up one by one.


GRID = 1e-4


def sum_of(rows):
    return Summands.of([(Generating(laplace=(rate, shift)), times) for rate, shift, times in rows])


def added_up(rows):
    """The losses of a sum whose rates are multiples of a grid, one summand at a time.

    All terms are positive, so a tail is as right, relatively, as the middle.
    """
    masses, lowest = np.ones(1), 0
    for rate, shift, times in rows:
        places = round(rate / GRID)
        r = math.exp(-rate)
        one = np.zeros(2 * places * shift + 1)
        one[-1], one[0] = 1 / (1 + r), r**shift / (1 + r)
        for x in range(1, shift):
            one[2 * places * (shift - x)] += (1 - r) / (1 + r) * r**x
        for _ in range(times):
            held = np.flatnonzero(one)
            longer = np.zeros(len(masses) + len(one) - 1)
            for place in held:
                longer[place : place + len(masses)] += one[place] * masses
            masses, lowest = longer, lowest - places * shift
    return GRID * (lowest + np.arange(len(masses))), masses


def delta_of(losses, masses, epsilon):
    above = losses > epsilon
    return float(masses[above] @ -np.expm1(epsilon - losses[above]))


def rows_of(count, shift, spread=5):
    return [(GRID * (40 + spread * place + place % 3), shift, 1) for place in range(count)]


@pytest.mark.few(6)
@pytest.mark.parametrize(("count", "shift"), [(300, 1), (150, 3)])
@pytest.mark.parametrize("log_delta", [math.log(1e-3), math.log(1e-6), math.log(1e-10)])
def test_the_truth_is_enclosed(count, shift, log_delta):
    rows = rows_of(count, shift)
    losses, masses = added_up(rows)
    low, high = enclosed_epsilon(sum_of(rows), log_delta)
    assert delta_of(losses, masses, high) <= math.exp(log_delta) * (1 + 1e-9)
    assert delta_of(losses, masses, low) >= math.exp(log_delta) * (1 - 1e-9)
    assert high - low < 1e-2 * high
    middle = (low + high) / 2
    ((from_below, from_above),) = enclosed_log_deltas(sum_of(rows), [(middle, middle)])
    true = delta_of(losses, masses, middle)
    assert math.exp(from_below) <= true * (1 + 1e-9)
    assert math.exp(from_above) >= true * (1 - 1e-9)
    assert from_above - from_below < 0.1


@pytest.mark.full
def test_repeated_summands_count_as_often_as_they_stand():
    rows = [(GRID * (40 + 7 * place), 1, 1 + place % 4) for place in range(100)]
    losses, masses = added_up(rows)
    low, high = enclosed_epsilon(sum_of(rows), math.log(1e-6))
    assert delta_of(losses, masses, high) <= 1e-6 * (1 + 1e-9)
    assert delta_of(losses, masses, low) >= 1e-6 * (1 - 1e-9)


@pytest.mark.full
@pytest.mark.parametrize("shift", [1, 1000])
def test_many_are_enclosed_tightly(shift):
    rows = [((0.01 + 0.09 * place / 2000) / shift, shift, 1) for place in range(2000)]
    low, high = enclosed_epsilon(sum_of(rows), math.log(1e-6))
    assert 0 < high - low < 1e-4 * high
    low, high = enclosed_epsilon(sum_of(rows), math.log(1e-15))
    assert 0 < high - low < 1e-4 * high


def test_equal_summands_that_resonate_are_enclosed():
    """Randomized response, 200 times: its losses are those of a binomial distribution."""
    rate, times = 0.02, 200
    same = [(rate, 1, times)]
    up = 1 / (1 + math.exp(-rate))
    losses = rate * (2 * np.arange(times + 1) - times)
    masses = np.array([math.comb(times, j) * up**j * (1 - up) ** (times - j) for j in range(201)])
    low, high = enclosed_epsilon(sum_of(same), math.log(1e-6))
    assert delta_of(losses, masses, high) <= 1e-6 * (1 + 1e-9)
    assert delta_of(losses, masses, low) >= 1e-6 * (1 - 1e-9)
    assert high - low < 1e-4 * high


@pytest.mark.full
@pytest.mark.parametrize("count", [3, 20])
def test_few_distinct_ones_are_enclosed(count):
    rows = rows_of(count, 1)
    losses, masses = added_up(rows)
    for delta in (1e-2, 1e-4):
        found = enclosed_epsilon(sum_of(rows), math.log(delta))
        if found is None:  # a single loss, or none, is above such an epsilon
            assert count == 3
            continue
        low, high = found
        assert delta_of(losses, masses, high) <= delta * (1 + 1e-9)
        assert delta_of(losses, masses, low) >= delta * (1 - 1e-9)
    levels = [losses[-1] * place / 8 for place in range(8)]
    for level, ends in zip(
        levels, enclosed_log_deltas(sum_of(rows), [(e, e) for e in levels]), strict=True
    ):
        truth = delta_of(losses, masses, level)
        assert ends is None or math.exp(ends[0]) <= truth * (1 + 1e-9)
        assert ends is None or math.exp(ends[1]) >= truth * (1 - 1e-9)


@pytest.mark.few(3)
@pytest.mark.parametrize("delta", [1e-3, 1e-9, 1e-15])
def test_gaussians_are_those_of_the_closed_form(delta):
    rows = [(Generating(gaussian=(50.0 + place, 1)), 20) for place in range(20)]
    mu = math.sqrt(sum(20 / (50 + place) ** 2 for place in range(20)))
    low, high = enclosed_epsilon(Summands.of(rows), math.log(delta))
    for epsilon, above in ((low * (1 - 1e-9), True), (high * (1 + 1e-9), False)):
        near, far = (epsilon / mu - mu / 2) / 2**0.5, (epsilon / mu + mu / 2) / 2**0.5
        found = (math.erfc(near) - math.exp(epsilon) * math.erfc(far)) / 2
        assert (found >= delta * (1 - 1e-7)) == above or abs(found / delta - 1) < 1e-7
    assert high - low < 2e-4 * high


def test_an_infinite_loss_adds_its_mass():
    listed = np.array([0.05, -0.05]), np.array([0.5125, 0.4875]) * (1 - 1e-9)
    row = Generating(listed=listed, infinite=(1e-9, 1e-9))
    finite = Generating(listed=(listed[0], listed[1]))
    level = [(0.8, 0.8)]
    ((_, with_it),) = enclosed_log_deltas(Summands.of([(row, 100)]), level)
    ((_, without),) = enclosed_log_deltas(Summands.of([(finite, 100)]), level)
    assert math.exp(with_it) - math.exp(without) == pytest.approx(1e-7, rel=1e-3)
    assert enclosed_epsilon(Summands.of([(row, 100)]), math.log(0.9e-7)) is None
    low, high = enclosed_epsilon(Summands.of([(row, 100)]), math.log(2e-7))
    assert low < high < enclosed_epsilon(Summands.of([(finite, 100)]), math.log(0.99e-7))[1] * 1.001


def test_what_is_no_tail_is_not_answered():
    assert enclosed_epsilon(sum_of(rows_of(200, 1)), -math.inf) is None
    assert enclosed_epsilon(sum_of(rows_of(200, 1)), math.log(0.9)) is None


# The bound on frequencies against the products themselves.


def product(ends, tilt, w):
    sizes = np.abs(ends.factors(tilt + 1j * np.asarray(w))) / ends.factors(tilt)[:, None]
    return np.prod(sizes ** ends.times[:, None], axis=0)


@pytest.mark.parametrize("shift", [1, 50])
@pytest.mark.parametrize("band", [3.0, 8.0])
def test_no_product_beyond_the_band_is_larger(shift, band):
    ends = ends_of([((0.02 + 0.001 * place) / shift, shift, 1) for place in range(300)])
    deviation = math.sqrt(float(np.square(ends.largest).sum()))
    band, variance = band / deviation, (2e-3 * deviation) ** 2
    bound = max_beyond(ends, 2.0, band, variance)
    w = np.linspace(band, math.sqrt(2 * REST / variance), 2000)
    assert product(ends, 2.0, w).max() <= bound * 1.0001
    if bound < 1:
        assert bound < 1e-8


def test_summands_that_resonate_have_no_bound():
    same = ends_of([(0.02, 1, 1)] * 300)
    assert max_beyond(same, 2.0, 25.0, 1e-9) == 1.0
    assert product(same, 2.0, [math.pi / 0.02])[0] == pytest.approx(1)
