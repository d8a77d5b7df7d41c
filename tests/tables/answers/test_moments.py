"""Intervals cover, errors are what is measured, and counts and sums are unbiased."""

from fractions import Fraction

import numpy as np
import pytest

from tables.answers.released import bernstein_sums, enough, moments_part, noisy
from tacit.expressions.grid import Grid
from tacit.tables.answers.base import Noise
from tacit.tables.answers.moments import Moments, MomentsPart

RUNS = 3000
SHAPES = {
    "low": lambda n: np.zeros(n),
    "high": lambda n: np.ones(n),
    "two": lambda n: (np.arange(n) % 2).astype(float),
    "even": lambda n: (np.arange(n) + 0.5) / max(n, 1),
    "skew": lambda n: ((np.arange(n) + 0.5) / max(n, 1)) ** 6,
}
NOISES = {
    "laplace": Noise("laplace", Fraction(1, 2), 1),
    "laplace, strong": Noise("laplace", Fraction(5), 1),
    "laplace, people": Noise("laplace", Fraction(1), 4, 1 << 20),
    "gaussian": Noise("gaussian", Fraction(1, 8), 1),
    "gaussian, strong": Noise("gaussian", Fraction(20), 1),
    "gaussian, people": Noise("gaussian", Fraction(1, 2), 4, 1 << 20),
}


def truth(y, kind, part, absent):
    low, high = (float(b) for b in part.bounds)
    x = low + (high - low) * y
    if kind == "count":
        return len(y) + absent
    if kind == "sum":
        return x.sum()
    return {"mean": x.mean, "var": x.var, "std": x.std}[kind]()


def coverage_of(part, spent, y, runs, absent=0.0):
    """Return, for each kind, the estimate over runs and the truth."""
    exact = bernstein_sums(y, part.degree, absent if part.missing else None)
    found = part.estimates([noisy(part, exact, spent, runs)], spent)
    return {kind: (found[kind], truth(y, kind, part, absent)) for kind in part.kinds}


@pytest.mark.few(24)
@pytest.mark.parametrize("size", [1, 3, 12, 100, 10_000])
@pytest.mark.parametrize("spent", NOISES.values(), ids=NOISES)
@pytest.mark.parametrize("kinds", [{"count", "sum", "mean"}, {"count", "mean", "var", "std"}])
def test_intervals_cover(kinds, spent, size):
    for shape, values in SHAPES.items():
        part = moments_part(kinds, missing="count" in kinds)
        y = values(size)
        for kind, (found, true) in coverage_of(part, spent, y, RUNS, absent=2.0).items():
            slack = 1e-6 * (1 + abs(true))
            held = (found.lower <= true + slack) & (true - slack <= found.upper)
            assert held.sum() >= enough(RUNS), (shape, kind, held.mean())
            assert np.isfinite(found.value).all()
            assert (found.lower <= found.upper).all()


@pytest.mark.few(4)
@pytest.mark.parametrize("spent", NOISES.values(), ids=NOISES)
def test_intervals_cover_on_the_coarsest_grid(spent):
    part = MomentsPart("x", Grid.for_bounds(0, 1, whole=True), frozenset({"mean", "sum"}), False)
    assert part.grid.cells == 1
    for ones in (0, 1, 5, 49, 50):
        y = np.repeat([1.0, 0.0], [ones, 50 - ones])
        for kind, (found, true) in coverage_of(part, spent, y, RUNS).items():
            held = (found.lower <= true + 1e-9) & (true - 1e-9 <= found.upper)
            assert held.sum() >= enough(RUNS), (kind, ones, held.mean())


@pytest.mark.few(4)
@pytest.mark.parametrize("spent", NOISES.values(), ids=NOISES)
def test_an_empty_group_covers_its_count_and_sum(spent):
    part = moments_part({"count", "sum", "mean", "var", "std"}, missing=True)
    found = part.estimates([noisy(part, [0, 0, 0, 0], spent, RUNS)], spent)
    for kind in ("count", "sum"):
        held = (found[kind].lower <= 0) & (found[kind].upper >= 0)
        assert held.sum() >= enough(RUNS), kind
    for kind in ("mean", "var", "std"):
        assert np.isfinite(found[kind].value).all()


@pytest.mark.few(9)
@pytest.mark.parametrize("spent", NOISES.values(), ids=NOISES)
@pytest.mark.parametrize("kinds", [{"count", "sum", "mean"}, {"count", "mean", "var", "std"}])
def test_standard_errors_are_what_is_measured(spent, kinds):
    part = moments_part(kinds, missing=True)
    y = SHAPES["skew"](20_000)
    for kind, (found, true) in coverage_of(part, spent, y, 20_000).items():
        wrong = found.value - true
        measured = np.sqrt((wrong**2).mean())
        claimed = found.standard_error.mean()
        assert measured == pytest.approx(claimed, rel=0.05), kind
        if kind in ("count", "sum"):
            assert abs(wrong.mean()) < 6 * claimed / np.sqrt(len(wrong)), kind


def test_intervals_are_not_needlessly_wide_in_large_groups():
    spent = NOISES["laplace"]
    part = moments_part({"mean", "var", "std"})
    y = SHAPES["even"](100_000)
    for kind, (found, _) in coverage_of(part, spent, y, 100).items():
        width = (found.upper - found.lower).mean() / found.standard_error.mean()
        assert width < {"mean": 4.6, "var": 30, "std": 30}[kind]


def test_answers_stay_within_what_is_possible():
    spent = NOISES["laplace"]
    part = moments_part({"mean", "var", "std"})
    for size in (0, 1, 2, 30):
        found = part.estimates(
            [noisy(part, bernstein_sums(SHAPES["two"](size), 2, None), spent, 2000)], spent
        )
        assert (found["mean"].value >= -2).all()
        assert (found["mean"].value <= 10).all()
        assert (found["var"].value >= 0).all()
        assert (found["var"].value <= 36).all()
        assert (found["std"].upper <= 6 + 1e-9).all()


@pytest.mark.full
def test_the_band_is_above_the_half_width_everywhere():
    from tacit.tables.answers.moments import _fieller_band

    for spent in NOISES.values():
        for degree in (1, 2):
            part = moments_part({"mean"} if degree == 1 else {"var"})
            points, band = _fieller_band(part.law(spent), degree, 0.95)
            for m in np.linspace(0, 1, 999):
                weights = tuple(np.arange(degree + 1) / degree - m)
                assert np.interp(m, points, band) >= part.law(spent).half_width(weights)


@pytest.mark.full
def test_the_least_and_greatest_variance_of_the_box_hold_any_vector_in_it():
    spent = Noise("laplace", Fraction(1), 1)
    part = moments_part({"var"})
    source = np.random.default_rng(5)
    for _ in range(300):
        centre = source.uniform(0, 60, size=3)
        law = part.law(spent)
        moments = Moments(centre[None, :], law, 0.0, 1.0, 2, False)
        low, high = moments._variance_box(moments._mean_share()[0])
        half = law.half_width((1.0,), 1 - 0.05 / 3)
        for _ in range(30):
            y = source.uniform(size=source.integers(1, 60)) ** source.uniform(0.2, 5)
            t = np.array(bernstein_sums(y, 2, None))
            if (np.abs(t - centre) <= half).all():
                assert low[0] - 1e-12 <= y.var() <= high[0] + 1e-12
