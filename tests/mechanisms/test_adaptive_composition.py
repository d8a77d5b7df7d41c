"""Questions asked one after the other under one budget."""

import copy
import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

import tacit as tc
from tacit import framework as fw
from tacit.audit import verify
from tacit.core import (
    AbsoluteDistance,
    ApproximateDP,
    L1Distance,
    L2Distance,
    LInfinityDistance,
    Number,
    PureDP,
    RenyiDP,
    Space,
    SymmetricDistance,
    Vector,
    ZeroConcentratedDP,
    compose,
    convert,
    parallel,
    step_from,
)
from tacit.errors import BudgetError, MismatchError, UsageError
from tacit.mechanisms import ContinualCount, Exponential, Gaussian, Geometric, Laplace
from tacit.mechanisms.continual_counting import roots
from tacit.mechanisms.grid_noise import AggregateGrid
from tacit.mechanisms.output_distribution import stated_at
from tacit.transformations import Clamp, Count, Sum

PEOPLE = Space(Vector(int, bounds=(0, 9)), SymmetricDistance())
COUNT = PEOPLE >> Count()


class TestAdaptive:
    def test_a_filter_refuses_what_would_pass_it(self):
        questions = fw.adaptive(PEOPLE, tc.epsilon(1))
        questions.ask(COUNT >> fw.laplace(2), [1, 2])
        with pytest.raises(BudgetError):
            questions.ask(COUNT >> fw.laplace(1), [1, 2])
        questions.ask(COUNT >> fw.laplace(2), [1, 2])
        assert questions.remaining.is_nothing
        assert "spent" in repr(questions)

    @pytest.mark.parametrize("d_in", [0, "0.0"])
    def test_a_distance_that_makes_every_release_free_is_refused(self, d_in):
        with pytest.raises(UsageError, match="d_in is above zero"):
            fw.adaptive(PEOPLE, tc.epsilon(1), d_in)

    def test_an_odometer_only_counts(self):
        questions = fw.adaptive(PEOPLE, "concentrated", d_in=2)
        questions.ask(COUNT >> fw.gaussian(1), [1])
        assert questions.spent == tc.rho(2)
        assert questions.remaining is None

    def test_an_odometer_with_a_delta_counts_gaussian_releases_by_their_losses(self):
        questions = fw.adaptive(PEOPLE, "approximate", delta="1e-6")
        m = COUNT >> fw.gaussian(10)
        for _ in range(3):
            questions.ask(m, [1])
        fixed = fw.compose([m] * 3).epsilon("1e-6")
        assert fixed.upper < questions.spent.amount < Fraction(5, 4) * fixed.upper
        assert questions.spent.delta == Fraction(1, 10**6)

    def test_pairs_are_counted_as_pairs(self):
        questions = fw.adaptive(PEOPLE, tc.epsilon_delta(2, "1e-5"))
        questions.ask(fw.calibrate(COUNT >> fw.gaussian, 1, (1, "1e-6")), [1])
        assert questions.spent == tc.epsilon_delta(1, "1e-6")

    def test_it_is_charged_before_it_speaks(self):
        questions = fw.adaptive(PEOPLE, tc.epsilon(1))

        def die(released):
            raise RuntimeError("lost")

        with pytest.raises(RuntimeError):
            questions.ask((COUNT >> fw.laplace(1)) >> die, [1])
        assert questions.remaining.is_nothing

    def test_data_that_cannot_be_read_costs_nothing(self):
        questions = fw.adaptive(PEOPLE, tc.epsilon(1))
        with pytest.raises(UsageError):
            questions.ask(COUNT >> fw.laplace(1), 5)
        assert questions.spent.is_nothing

    def test_other_spaces_and_measures_are_refused(self):
        questions = fw.adaptive(PEOPLE, tc.epsilon(1))
        number = Space(Number("int"), AbsoluteDistance())
        with pytest.raises(MismatchError):
            questions.ask(number >> fw.laplace(1), 5)
        with pytest.raises(MismatchError):
            questions.ask(convert(COUNT >> fw.laplace(1), RenyiDP(2)), [1])


# Additive noise in whole units: exact at any size, in bulk, and always on the grid.


GIANT, TINY = f"{2**60 + 1}/{2**60 - 1}", f"1/{2**80}"
FINE = Number("float", grid=Fraction(1, 2**20))


def lattice(element, metric=None, size=3):
    space = Space(Vector(element, size=size), metric or L1Distance())
    return AggregateGrid.of(space, Laplace(1), None)


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


# Maps as pairs: pure and approximate DP as they are, other measures at a delta.


NUMBER = Space(Number("int"), AbsoluteDistance())


def test_pure_and_approximate_maps_stay():
    pure = NUMBER >> fw.laplace(2)
    measure, pair = stated_at(pure, None)
    assert (measure, pair(Fraction(3))) == (PureDP(), (Fraction(3, 2), 0))
    measure, pair = stated_at(convert(pure, ApproximateDP()), None)
    assert (measure, pair(Fraction(3))) == (ApproximateDP(), (Fraction(3, 2), 0))


def test_others_are_stated_at_a_delta():
    noisy = NUMBER >> fw.gaussian(9)
    measure, pair = stated_at(noisy, "1e-9")
    assert measure == ApproximateDP()
    assert pair(Fraction(0)) == (0, 0)
    assert pair(Fraction(2)) == (noisy.epsilon("1e-9", d_in=2).upper, Fraction(1, 10**9))
    with pytest.raises(MismatchError):
        stated_at(noisy, None)
    for delta in (0, 1):
        with pytest.raises(UsageError):
            stated_at(noisy, delta)


# Continual counting: totals, blocks, the factorisation, and counters that refuse.


CONTINUAL_COUNTING_TINY = Fraction(1, 1000)
"""Noise of this scale is zero but with probability e^-1000."""


METHODS = ["tree", "tree_gaussian", "factorisation"]


class TestContinual:
    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("horizon", [1, 2, 7, 8, 33])
    def test_totals_are_the_running_sums(self, method, horizon):
        stream = [(7 * i) % 5 for i in range(horizon)]
        scale = CONTINUAL_COUNTING_TINY / 10**7  # rows are on a grid of 2^-24
        counter = fw.continual_counter(horizon, scale, method)
        released = [counter.next(x) for x in stream]
        assert released == pytest.approx(list(itertools.accumulate(stream)), abs=1e-6)
        space = Space(Vector(int, size=horizon), L1Distance())
        at_once = (space >> ContinualCount(scale, method))(stream)
        assert at_once == pytest.approx(list(itertools.accumulate(stream)), abs=1e-6)

    def test_a_step_is_in_as_many_blocks_as_the_map_says(self):
        for horizon in range(1, 40):
            blocks = [range(t - (t & -t) + 1, t + 1) for t in range(1, horizon + 1)]
            most = max(sum(s in block for block in blocks) for s in range(1, horizon + 1))
            m = Space(Vector(int, size=horizon), L1Distance()) >> ContinualCount(1)
            assert m.map(1) == most == horizon.bit_length()

    def test_the_factor_is_near_the_square_root(self):
        b = [Fraction(f, 1 << 24) for f in roots(12)]
        for k in range(12):
            squared = sum(b[i] * b[k - i] for i in range(k + 1))
            assert abs(squared - 1) < Fraction(1, 1 << 20)
        m = Space(Vector(int, size=12), L1Distance()) >> ContinualCount(1, "factorisation")
        assert m.map(1) == sum(f * f for f in b) / 2
        assert m.map(2) == 4 * m.map(1)
        tree = Space(Vector(int, size=12), L1Distance()) >> ContinualCount(1, "tree_gaussian")
        assert m.map(1) < tree.map(1)

    def test_rows_of_the_factor_are_what_the_map_says(self):
        """The transformation inside: x to B x moves by at most the first column of B."""
        b = [Fraction(f, 1 << 24) for f in roots(5)]
        length = sum(f * f for f in b)
        for place, change in itertools.product(range(5), (-1, 1)):
            moved = [change * b[t - place] for t in range(place, 5)]
            assert sum(x * x for x in moved) <= length

    @pytest.mark.full
    def test_the_tree_keeps_its_map_on_every_stream(self):
        space = Space(Vector(Number("int", 0, 1), size=3), L1Distance())
        assert verify(space >> ContinualCount(2), d_in=2)
        assert verify(space >> ContinualCount(2, "tree_gaussian"))

    def test_a_counter_hides_its_state(self):
        counter = fw.continual_counter(10, 1)
        counter.next(123456)
        assert "123456" not in repr(counter)
        with pytest.raises(TypeError):
            pickle.dumps(counter)
        with pytest.raises(TypeError):
            copy.copy(counter)

    def test_a_counter_is_charged_once(self):
        counter = fw.continual_counter(8, 4)
        before = counter.map(1)
        counter.next(1)
        assert counter.map(1) == before == 1
        assert counter.map(0) == 0
        assert fw.continual_counter(8, 4, "factorisation").measure == ZeroConcentratedDP()

    def test_data_never_raises(self):
        counter = fw.continual_counter(5, 1)
        for odd in ("text", None, float("nan"), 10**30, 2.5):
            assert isinstance(counter.next(odd), int)

    @pytest.mark.parametrize(
        "build",
        [
            lambda: fw.continual_counter(0, 1),
            lambda: fw.continual_counter(2**21, 1),
            lambda: fw.continual_counter(2**13, 1, "factorisation"),
            lambda: fw.continual_counter(5, 0),
            lambda: fw.continual_counter(5, 1, "magic"),
            lambda: fw.continual_counter(1, 1).map(-1),
        ],
    )
    def test_bad_input(self, build):
        with pytest.raises(UsageError):
            build()

    def test_the_horizon_is_the_end(self):
        counter = fw.continual_counter(1, 1)
        counter.next(1)
        with pytest.raises(UsageError, match="over"):
            counter.next(1)
