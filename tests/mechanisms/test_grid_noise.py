"""Additive noise in whole units: exact at any size, in bulk, and always on the grid."""

import math
from fractions import Fraction

import numpy as np
import pytest

from tacit.core import (
    AbsoluteDistance,
    L1Distance,
    L2Distance,
    LInfinityDistance,
    Number,
    Space,
    SymmetricDistance,
    Vector,
    ZeroConcentratedDP,
    compose,
    parallel,
    step_from,
)
from tacit.errors import MismatchError, UsageError
from tacit.mechanisms import Exponential, Gaussian, Geometric, Laplace
from tacit.mechanisms.grid_noise import Lattice
from tacit.transformations import Clamp, Count, Sum

GIANT, TINY = f"{2**60 + 1}/{2**60 - 1}", f"1/{2**80}"
FINE = Number("float", grid=Fraction(1, 2**20))


def lattice(element, metric=None, size=3):
    space = Space(Vector(element, size=size), metric or L1Distance())
    return Lattice.of(space, Laplace(1), None)


@pytest.mark.parametrize(
    "units",
    [
        [2**63, -1, 2**53 + 1],
        [2**64 + 1, -5, 0],
        [2**63 - 1, 2**63 - 1, -(2**63)],
        [2**62, 1, -(2**62)],
        [0, 0, 0],
    ],
)
def test_units_of_any_size_are_added_exactly(units):
    """numpy makes floats of [2**63, -1]; then the noise would be added to a rounded sum."""
    for noise in ([1, -1, 3], [2**62, -(2**63), 2**63 - 1]):
        whole = lattice(int).add(lambda n, z=noise: np.array(z), units)
        assert [int(v) for v in whole] == [u + z for u, z in zip(units, noise, strict=True)]
        fine = lattice(FINE).add(lambda n, z=noise: np.array(z), units)
        assert fine.dtype == np.float64
        for value, unit, error in zip(fine.tolist(), units, noise, strict=True):
            assert value == float(Fraction(unit + error, 2**20))


@pytest.mark.parametrize("given", [list, np.array, tuple])
@pytest.mark.parametrize(
    "element",
    [int, *(Number("float", grid=Fraction(g)) for g in ("1/1048576", "1/3", "3/7", GIANT, TINY))],
    ids=["int", "2^-20", "1/3", "3/7", "giant", "2^-80"],
)
def test_bulk_and_one_by_one_agree(given, element):
    source = np.random.default_rng(1)
    units = source.integers(-(10**12), 10**12, size=500)
    noise = source.integers(-(10**6), 10**6, size=500)
    found = lattice(element, size=500).add(lambda n: noise, given(units.tolist()))
    grid = lattice(element).grid
    for value, unit, error in zip(found.tolist(), units.tolist(), noise.tolist(), strict=True):
        assert value == float((unit + error) * grid)


def test_python_integers_of_large_scales_are_added_exactly():
    noise = np.array([2**70, -(2**70), 1], dtype=object)
    found = lattice(int).add(lambda n: noise, [1, 2, 3])
    assert found.dtype == object
    assert found.tolist() == [2**70 + 1, 2 - 2**70, 4]


def test_a_million_cells_stay_machine_words():
    space = Space(Vector(int, size=10**6), L1Distance())
    measurement = space >> Laplace(25)
    cells = np.arange(10**6)
    out = measurement(cells)
    assert out.dtype == np.int64
    assert np.abs(out - cells).max() < 25 * 60


def test_empty_vectors_are_released_empty():
    for element in (int, FINE):
        assert len((Space(Vector(element), L1Distance()) >> Laplace(1))([])) == 0


@pytest.mark.parametrize("grid", ["1", "1/1024", "1/3", "4"])
def test_floats_off_the_grid_are_rounded_and_charged(grid):
    step = Fraction(grid)
    for metric, steps in ((L1Distance(), 3), (L2Distance(), 3)):
        kind = Laplace if isinstance(metric, L1Distance) else Gaussian
        measurement = Space(Vector(float, size=3), metric) >> kind(10, grid=grid)
        moved = Fraction(1) + steps * step
        expected = moved / 10 if kind is Laplace else (moved / 10) ** 2 / 2
        assert measurement.map(1) == expected
        assert measurement.map(0) == 0
        for value in measurement([0.1, math.nan, -math.inf]).tolist():
            assert (Fraction(value) / step).limit_denominator(10**9).denominator == 1 or abs(
                value
            ) > 1e300
    number = Space(Number("float"), AbsoluteDistance()) >> Laplace(10, grid=grid)
    assert number.map(1) == (1 + step) / 10


def test_what_noise_cannot_be_added_to_is_refused_at_chaining():
    count = Space(Vector(float), SymmetricDistance()) >> Count()
    for make, message in [
        (lambda: Space(Vector(float), SymmetricDistance()) >> Laplace(1), r"sum\(\) or count\(\)"),
        (lambda: Space(Vector(float), L1Distance()) >> Laplace(1), "grid"),
        (lambda: Space(Vector(float, size=2), L2Distance()) >> Laplace(1, grid=1), "L1 distance"),
        (lambda: Space(Vector(int, size=2), L1Distance()) >> Gaussian(1), "L2 distance"),
        (lambda: Space(Vector(FINE, size=2), L1Distance()) >> Geometric(1), "whole numbers"),
        (lambda: count >> Exponential(1), "L-infinity"),
        (lambda: Space(Vector(int), LInfinityDistance()) >> Exponential(1), "public number"),
    ]:
        with pytest.raises(MismatchError, match=message):
            make()
    for kind in (Laplace, Gaussian, Geometric, Exponential):
        for wrong in (0, -1, "x", math.nan, math.inf, None, "1e-999999"):
            with pytest.raises(UsageError):
                kind(wrong)


def test_the_exponential_mechanism_takes_scores_of_any_size():
    for element in (int, FINE):
        space = Space(Vector(element, size=3), LInfinityDistance())
        measurement = space >> Exponential(4)
        assert measurement.map(1) == Fraction(1, 2)
        for scores in ([0, 0, 10**5], [-(2**63), 2**63 - 1, 0], [2**80, -(2**80), 2**80 - 10**9]):
            assert measurement(scores) in (0, 1, 2)
    assert (space >> Exponential(4, monotone=True)).map(1) == Fraction(1, 4)


@pytest.mark.parametrize(
    "step",
    [Laplace("7/3"), Laplace(2, grid="1/8"), Gaussian("1/3"), Geometric(5), Exponential("9/4")],
    ids=lambda step: type(step).__name__,
)
def test_a_step_is_built_again_from_its_description(step):
    again = step_from(step.describe())
    assert again == step
    assert again.describe() == step.describe()


def test_steps_of_another_name_or_with_other_parameters_are_refused():
    for wrong in ({"step": "laplac"}, {"step": "laplace"}, {"step": "laplace", "scal": 1}, {}):
        with pytest.raises(UsageError):
            step_from(wrong)
    with pytest.raises(UsageError, match="did you mean 'laplace'"):
        step_from({"step": "laplac", "scale": 1})


def test_a_chain_explains_every_distance():
    column = Space(Vector(float), SymmetricDistance())
    chain = column >> Clamp(0, 12) >> Sum() >> Laplace(scale=25)
    text = chain.explain(2)
    for part in ("data", "clamp(lower=0, upper=12)", "sum", "laplace(scale=25)", "24", "0.96"):
        assert part in text
    assert "<table>" in chain._repr_html_()
    described = chain.describe(2)
    assert [s["distance"] for s in described["steps"]] == ["2", "24", "24/25"]
    assert chain.map(2) == Fraction(24, 25)
    assert chain.check(2, "24/25")
    assert not chain.check(2, "23/25")
    with pytest.raises(UsageError, match="whole number"):
        chain.map("1/2")
    with pytest.raises(UsageError, match="not negative"):
        chain.map(-1)


def test_compositions_add_and_parallel_parts_do_not():
    column = Space(Vector(float), SymmetricDistance())
    count = column >> Count() >> Laplace(2)
    total = column >> Clamp(0, 4) >> Sum() >> Laplace(8)
    both = compose([count, total])
    assert both.map(1) == 1
    assert len(both([1, 2, 3])) == 2
    wide = column >> Count() >> Gaussian(1)
    assert compose([count, wide]).map(1) == ZeroConcentratedDP().from_pure(
        Fraction(1, 2)
    ) + Fraction(1, 2)
    parts = parallel({True: count, False: total}, by=lambda x: x > 2)
    assert parts.map(1) == Fraction(1, 2)
    assert parts.map(3) == Fraction(3, 2)
    released = parts([1.0, 2.0, 3.0, math.nan])
    assert set(released) == {True, False}
    texts = Space(Vector(str), SymmetricDistance()) >> Count() >> Laplace("1/50")
    found = parallel({"a": texts, "b": texts, "zz": texts}, by=lambda x: x)(["a", "a", "b", None])
    assert found == {"a": 2, "b": 1, "zz": 0}
    gaussians = parallel(dict.fromkeys(range(3), wide), by=int)
    assert gaussians.map(2) == 2  # all of it in one part: quadratic maps are convex
    for make, message in [
        (lambda: compose([]), "at least one"),
        (lambda: parallel({}, by=int), "at least one"),
        (lambda: compose([count, texts]), "one input space"),
        (lambda: parallel({1: count, 2: wide}, by=int), "one measure"),
    ]:
        with pytest.raises(UsageError, match=message):
            make()
    from tacit.core import Frame

    rows = Space(Frame({"a": float}), SymmetricDistance()) >> Count() >> Laplace(1)
    with pytest.raises(MismatchError, match="vector"):
        parallel({1: rows}, by=int)
