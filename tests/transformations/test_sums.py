"""Clamp, impute, count, sum, mean: exact, in any order, total; refused when they do not fit."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from tacit.core import (
    AbsoluteDistance,
    ChangeOneDistance,
    Frame,
    HammingDistance,
    InsertDeleteDistance,
    L1Distance,
    Number,
    Space,
    SymmetricDistance,
    Vector,
    step_from,
)
from tacit.errors import MismatchError, UsageError
from tacit.transformations import Clamp, Count, Impute, Mean, Sum
from tacit.transformations.grid import Gridded, bounded_column
from tacit.transformations.rows import (
    keep_records,
    linear_map,
    only_changes,
    records,
    records_of,
    root_map,
    substitutions,
    total,
)

COLUMN = Space(Vector(float), SymmetricDistance())
HOSTILE = [math.nan, math.inf, -math.inf, 1e300, -1e300, 5e-324, -0.0, None, "x", 10**400]


def test_clamp_keeps_missing_values_and_brings_in_the_rest():
    chain = COLUMN >> Clamp("-1/2", 12)
    result = chain([*HOSTILE, 3.25]).tolist()
    assert [v if v == v else None for v in result] == [
        *(None, 12.0, -0.5, 12.0, -0.5, 5e-324, -0.0, None, None, 12.0, 3.25)
    ]
    assert chain.output.domain.element.bounds == (Fraction(-1, 2), 12)


def test_impute_then_sum_counts_every_record():
    chain = COLUMN >> Clamp(0, 12) >> Impute(5) >> Sum()
    assert chain([math.nan, "x", 1]) == 11
    with pytest.raises(UsageError, match="not in the domain"):
        COLUMN >> Clamp(0, 12) >> Impute(13)


values = st.lists(st.floats(-20, 20) | st.sampled_from(HOSTILE), max_size=8)


@given(values, st.randoms(use_true_random=False))
@examples(1.5)
def test_a_sum_is_exact_and_has_no_order(data, source):
    chain = COLUMN >> Clamp(-8, 12) >> Sum()
    shuffled = list(data)
    source.shuffle(shuffled)
    assert chain.function(chain.input.domain.read(data)) == chain.function(
        chain.input.domain.read(shuffled)
    )
    step = chain.output.domain.grid
    clamped = (COLUMN >> Clamp(-8, 12))(data)
    exact = sum(
        (math.floor(Fraction(v) / step + Fraction(1, 2)) for v in clamped.tolist() if v == v), 0
    )
    assert chain.function(chain.input.domain.read(data)) == exact


def test_a_float_sum_of_many_sizes_is_the_same_in_every_order():
    source = np.random.default_rng(2)
    data = source.normal(size=20_000) * 10.0 ** source.integers(-12, 3, 20_000)
    chain = COLUMN >> Clamp(-1000, 1000) >> Sum()
    result = {chain(source.permutation(data)) for _ in range(5)}
    assert len(result) == 1
    floats = {float(np.cumsum(source.permutation(data))[-1]) for _ in range(5)}
    assert len(floats) > 1  # what a float sum would have done


def test_sums_do_not_overflow():
    space = Space(Vector(int, bounds=(-(2**51), 2**51)), SymmetricDistance())
    chain = space >> Sum()
    assert chain([2**62] * 9000) == 9000 * 2**51
    assert chain(np.full(9000, -(2**63))) == -9000 * 2**51
    assert chain([2**63, -1, 5]) == 2**51 + 4


def test_maps_by_metric():
    def chain(metric, size=None, nullable=True):
        element = Number("float", -3, 5, nullable=nullable)
        return Space(Vector(element, size=size), metric) >> Sum()

    assert chain(SymmetricDistance()).map(3) == 15
    assert chain(InsertDeleteDistance()).map(3) == 15
    assert chain(SymmetricDistance(), 9).map(3) == 8
    assert chain(ChangeOneDistance(), 9).map(2) == 16
    assert chain(HammingDistance(), 9).map(2) == 16
    positive = Number("float", 3, 5, nullable=True)
    missing = Space(Vector(positive, size=9), ChangeOneDistance()) >> Sum()
    assert missing.map(1) == 5  # a value of 5 may become missing
    mean = Space(Vector(float, bounds=(0, 10), size=4), ChangeOneDistance()) >> Mean()
    assert mean.map(1) == Fraction(5, 2)
    assert mean([1, 2, 3, 4.5]) == 2.625


def test_counts_by_metric():
    for metric, size, moved in (
        (SymmetricDistance(), None, 3),
        (InsertDeleteDistance(), None, 3),
        (SymmetricDistance(), 5, 0),
        (ChangeOneDistance(), None, 0),
        (HammingDistance(), None, 0),
    ):
        assert (Space(Vector(float, size=size), metric) >> Count()).map(3) == moved
    frame = Space(Frame({"a": float, "b": str}), SymmetricDistance()) >> Count()
    assert frame({"a": [1, None], "b": ["x", []]}) == 2


def test_nothing_warns_on_hostile_values():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for low, high in ((0, 1), (-(10**12), 10**12), (-1, "1e-12"), (1, 10**300)):
            (COLUMN >> Clamp(low, high) >> Impute(low) >> Sum())(HOSTILE)
            (Space(Vector(int), SymmetricDistance()) >> Clamp(-5, 5) >> Sum())(HOSTILE)


def test_steps_that_do_not_fit_say_what_to_do():
    for make, message in [
        (lambda: COLUMN >> Sum(), r"clamp\(lower, upper\)"),
        (lambda: COLUMN >> Clamp(0, 1) >> Mean(), "public size"),
        (lambda: Space(Vector(str), SymmetricDistance()) >> Clamp(0, 1), "column of numbers"),
        (lambda: Space(Vector(float, size=3), L1Distance()) >> Clamp(0, 1), "record by record"),
        (lambda: Space(Vector(float, size=3), L1Distance()) >> Count(), "records"),
        (lambda: COLUMN >> Clamp(0, 1) >> Sum() >> Sum(), "column of numbers"),
    ]:
        with pytest.raises(MismatchError, match=message):
            make()
    for make, message in [
        (lambda: Clamp(3, 1), "swap them"),
        (lambda: Clamp("a", 1), "lower bound must be a number"),
        (lambda: Clamp(0, math.inf), "upper bound must be a finite number"),
        (lambda: Clamp(0, "1e-99999999"), "power of ten"),
        (lambda: Sum(grid=0), "above zero"),
        (lambda: COLUMN >> Clamp(0, 1) >> Sum(grid="1e-30"), "too fine"),
    ]:
        with pytest.raises(UsageError, match=message):
            make()


@pytest.mark.parametrize("step", [Clamp("1/3", 5), Impute("1/2"), Count(), Sum("1/8"), Mean()])
def test_a_step_is_built_again_from_its_description(step):
    assert step_from(step.describe()) == step


# A bounded column as whole units: rounded, clipped, and never further than the map says.


def test_values_become_the_nearest_unit_within_the_bounds():
    grid = Gridded.of(Number("float", -1, 2, nullable=True), Fraction(1, 4))
    column = np.array([-9.0, -0.126, -0.124, 0.0, 1.99, 50.0, np.nan, np.inf])
    assert grid.units(column).tolist() == [-4, -1, 0, 0, 8, 8, 0, 8]
    assert (grid.range, grid.sensitivity, grid.span) == ((-4, 8), 2, 3)


def test_a_missing_value_is_zero_and_widens_what_one_change_moves():
    above = Gridded.of(Number("float", 5, 6, nullable=True), Fraction(1))
    assert above.units(np.array([np.nan])).tolist() == [0]
    assert (above.range, above.span, above.sensitivity) == ((0, 6), 6, 6)
    never = Gridded.of(Number("int", 5, 6), None)
    assert (never.step, never.range, never.span) == (1, (5, 6), 1)


def test_a_grid_of_its_own_stays():
    own = Number("int", 1, 3, grid=Fraction(1, 2))
    assert Gridded.of(own, None) == Gridded.of(own, Fraction(1, 2))
    with pytest.raises(UsageError, match=r"on a grid of 0\.5 already"):
        Gridded.of(own, Fraction(1, 3))


def test_what_cannot_be_a_grid_is_refused():
    with pytest.raises(UsageError, match="no bounds"):
        Gridded.of(Number("float"), None)
    with pytest.raises(UsageError, match="too fine"):
        Gridded.of(Number("float", 0, 1), Fraction(1, 1 << 60))
    with pytest.raises(MismatchError, match="needs bounds"):
        bounded_column(Space(Vector(float), SymmetricDistance()), Sum())
    with pytest.raises(UsageError, match="grid must be above zero"):
        Sum(grid=0)


# From distances in records to records that come, go or change.


FREE, SIZED = Vector(int, bounds=(0, 3)), Vector(int, bounds=(0, 3), size=2)


@pytest.mark.parametrize(
    ("space", "changes", "maps"),
    [
        (Space(FREE, SymmetricDistance()), False, [0, 5, 10, 15]),
        (Space(FREE, InsertDeleteDistance()), False, [0, 5, 10, 15]),
        (Space(SIZED, SymmetricDistance()), True, [0, 0, 7, 7]),  # one gone and one come: a change
        (Space(SIZED, ChangeOneDistance()), True, [0, 7, 14, 21]),
        (Space(SIZED, HammingDistance()), True, [0, 7, 14, 21]),
    ],
    ids=str,
)
def test_an_aggregate_that_each_record_adds_to(space, changes, maps):
    assert only_changes(space) is changes
    linear = linear_map(space, coming=5, changing=7)
    assert [linear(Fraction(d)) for d in range(4)] == maps
    root = root_map(space, coming=25, changing=49)
    assert [root(Fraction(d)) for d in range(4)] == maps
    assert records_of(space, Count()) == space.domain


def test_a_root_is_rounded_up():
    root = root_map(Space(FREE, SymmetricDistance()), coming=2, changing=2)
    assert root(Fraction(1)) ** 2 >= 2
    assert float(root(Fraction(1))) == pytest.approx(2**0.5)


def test_changes_of_a_sized_data_set_are_half_of_what_goes_and_comes():
    sized = Space(SIZED, SymmetricDistance())
    assert [substitutions(sized, Fraction(d)) for d in range(5)] == [0, 0, 1, 1, 2]


def test_what_holds_no_records_is_refused():
    with pytest.raises(MismatchError, match="works on records"):
        records_of(Space(Number("int"), AbsoluteDistance()), Count())


# Records as a person's function meets them.


def test_a_column_is_its_values():
    domain = Vector(float)
    assert records(domain, domain.read([1, 2.5])) == [1.0, 2.5]


def test_a_row_of_a_table_is_a_dict():
    domain = Frame({"age": int, "job": str})
    read = domain.read({"age": [3, 4], "job": ["a", "b"]})
    assert records(domain, read) == [{"age": 3, "job": "a"}, {"age": 4, "job": "b"}]


def test_rows_that_are_marked_are_kept_in_their_order():
    stored = [True, False, True]
    assert keep_records([1, 2, 3], stored) == [1, 3]
    assert keep_records(np.array([1, 2, 3]), stored).tolist() == [1, 3]
    table = {"a": [1, 2, 3], "b": np.array([4, 5, 6])}
    result = keep_records(table, stored)
    assert (result["a"], result["b"].tolist()) == ([1, 3], [4, 6])
    with pytest.raises(ValueError, match=r"shorter|longer"):
        keep_records([1, 2], stored)


def test_a_function_that_raises_answers_its_default():
    inverse = total(lambda x: 1 / x, default=-1)
    assert [inverse(x) for x in (2, 0, "text")] == [0.5, -1, -1]

    def leaves(record):
        raise SystemExit

    with pytest.raises(SystemExit):  # only what a value does is caught, not what a user does
        total(leaves, default=0)(1)
