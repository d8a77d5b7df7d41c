"""Releases side by side: their losses add up, and those of disjoint parts do not."""

from __future__ import annotations

import datetime
import math
import random
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit as tc
from support.examples import examples
from tacit import framework as fw
from tacit.core import Category, Domain, Frame, Number, Space, SymmetricDistance, Vector
from tacit.core.domains import floats, whole
from tacit.core.space import (
    ChainLink,
    Pipeline,
    Step,
    as_step,
    chain_card,
    chain_text,
    distances,
    plain,
    register,
    show_distance,
    step_from,
)
from tacit.errors import CallError, MismatchError, TacitError, UsageError
from tacit.transformations import Clamp

WHOLE = fw.Space(fw.Number("int"), fw.AbsoluteDistance())


@pytest.mark.full
def test_composition_costs_no_more_than_its_parts_and_no_less_than_one():
    m, g = WHOLE >> fw.laplace(4), WHOLE >> fw.gaussian(6)
    both = fw.compose([m, m, g])
    found = both.epsilon("1e-6")
    rest = fw.compose([m, g]).epsilon("1e-6")
    assert rest.lower < found.upper
    assert found.upper <= g.epsilon("1e-6").upper + 2 * m.map(1)
    assert found.width < Fraction(1, 20)


def test_parallel_takes_data_that_comes_in_parts():
    column = fw.Space(fw.Vector(float), fw.SymmetricDistance())
    total = column >> fw.clamp(0, 12) >> tc.sum()
    parts = {"north": total >> fw.laplace(scale=25), "south": total >> fw.laplace(scale=50)}
    both = fw.parallel(parts)
    assert both.map(1) == Fraction(12, 25)
    assert both.map(3) == 3 * Fraction(12, 25)
    released = both({"north": np.array([1.0, 2.0]), "east": [3.0]})
    assert set(released) == {"north", "south"}
    assert both({"south": pd.Series([1.0])}).keys() == released.keys()
    u, v = {"north": [1.0], "south": [2.0]}, {"north": [1.0, 4.0], "south": []}
    assert both.input.metric.distance(u, v) == 2
    with pytest.raises(tc.errors.UsageError, match="mapping"):
        both([1.0, 2.0])
    with pytest.raises(tc.errors.UsageError, match="mapping"):
        fw.parallel(list(parts.values()))


def test_parallel_over_parts_of_a_table():
    table = fw.Space(fw.Frame({"age": float, "site": str}), fw.SymmetricDistance())
    m = table >> fw.select("age") >> fw.clamp(0, 90) >> tc.sum() >> fw.gaussian(scale=90)
    both = fw.parallel({1: m, 2: m})
    assert both.map(2) == m.map(2)
    assert set(both({1: pd.DataFrame({"age": [1.0], "site": ["a"]})})) == {1, 2}


def test_parallel_over_parts_needs_records():
    number = fw.Space(fw.Number("int"), fw.AbsoluteDistance()) >> fw.laplace(scale=1)
    with pytest.raises(tc.errors.MismatchError, match="counts records"):
        fw.parallel({"a": number})


# Reading is total: no value raises, none is dropped, none changes what another becomes.


class Evil:
    """Raises whatever is asked of it."""

    def __float__(self):
        raise RuntimeError("secret")

    def __hash__(self):
        raise TypeError("secret")

    def __eq__(self, other):
        return True


VALUES = [
    *(None, "text", "12", b"3", "", object(), Evil(), [], [1, 2], [[1], 2], {}, {1: 2}, (1,), 1j),
    *(2**63, -(2**63) - 1, 10**400, -(10**400), 2**53 + 1, True, False, 0, -0.0, 0.5),
    *(math.nan, math.inf, -math.inf, 1e300, 5e-324, Decimal("sNaN"), Decimal("1e400")),
    *(Fraction(1, 3), np.float32(2.5), np.uint64(2**64 - 1), np.array([1, 2]), np.array([1.0])),
    *(
        pd.NA,
        pd.NaT,
        datetime.date(2020, 1, 1),
        np.datetime64("NaT", "ns"),
        np.datetime64("2020"),
        type,
    ),
]
DOMAINS = [
    Number("float"),
    Number("float", nullable=True),
    Number("float", 2, 7, nullable=True),
    Number("float", -7, -2),
    Number("int"),
    Number("int", 2, 7),
    Number("int", -(10**30), 10**30),
]


@pytest.mark.few(6)
@pytest.mark.parametrize("domain", DOMAINS, ids=str)
@pytest.mark.parametrize("value", VALUES, ids=lambda v: type(v).__name__)
def test_any_value_reads_as_a_member(domain, value):
    assert domain.contains(domain.read(value))
    column = Vector(domain).read([1, value, 3])
    assert len(column) == 3
    assert np.array_equal(column[1], domain.read(value), equal_nan=True)
    assert column[0] == domain.read(1)
    assert column[2] == domain.read(3)


@pytest.mark.full
@given(st.lists(st.sampled_from(VALUES) | st.integers() | st.floats(), max_size=6))
@examples(3)
def test_each_value_is_read_alone(values):
    for domain in DOMAINS:
        together = Vector(domain).read(values)
        alone = [domain.read(v) for v in values]
        assert np.array_equal(together, np.array(alone, dtype=together.dtype), equal_nan=True)


def test_a_record_beside_a_giant_keeps_its_value():
    """numpy makes floats of [2**63, -1, 2**53 + 1], and the third number another one."""
    chain = Space(Vector(int), SymmetricDistance()) >> Clamp(-(2**60), 2**60)
    u = [2**53 + 1]
    for other in (2**63, -1, 0.5, None, "x"):
        assert chain([*u, other])[0] == 2**53 + 1
    many = Space(Vector(float), SymmetricDistance()) >> Clamp(-(2**90), 2**90)
    assert many([2**70])[0] == many([2**70, 0.5])[0] == 2.0**70


@pytest.mark.parametrize(
    "column",
    [
        np.array([1.5, math.nan, 3.0]),
        pd.Series([1.5, None, 3.0]),
        pl.Series([1.5, None, 3.0]),
        [1.5, None, 3.0],
        (1.5, math.nan, 3.0),
    ],
    ids=["numpy", "pandas", "polars", "list", "tuple"],
)
def test_a_column_reads_alike_from_anywhere(column):
    read = Vector(float).read(column)
    assert read.dtype == np.float64
    assert read[0] == 1.5
    assert math.isnan(read[1])


def test_reading_makes_a_copy():
    data = np.array([1.0, 99.0])
    (Space(Vector(float), SymmetricDistance()) >> Clamp(0, 12))(data)
    Vector(float).read(data)[0] = 5
    assert data.tolist() == [1.0, 99.0]


@pytest.mark.parametrize("value", VALUES, ids=lambda v: type(v).__name__)
def test_any_value_reads_as_a_label(value):
    for domain in (Category(), Category(("a", "b")), Category((False, True))):
        read = domain.read(value)
        assert read is None or domain.contains(read)


def test_bad_domains_are_refused_when_they_are_made():
    for make, message in [
        (lambda: Number("float", 3, 1), "reversed"),
        (lambda: Number("text"), "'float' or 'int'"),
        (lambda: Number("int", nullable=True), "missing"),
        (lambda: Number("float", lower=math.nan), "finite"),
        (lambda: Category(()), "at least one"),
        (lambda: Category(("a", "a")), "once"),
        (lambda: Category(([],)), "hashable"),
        (lambda: Vector(dict), "float, int, str, bool"),
        (lambda: Vector(float, size=-1), "at least 0"),
        (lambda: Vector(float, bounds=(0, "x")), "upper bound"),
        (lambda: Vector(Number("float"), bounds=(0, 1)), "not both"),
        (lambda: Frame({}), "at least one column"),
    ]:
        with pytest.raises(UsageError, match=message):
            make()


def test_public_facts_may_be_refused_and_tell_no_value():
    for value in (3, "text", {"a": 1}, None):
        with pytest.raises(UsageError, match="sequence"):
            Vector(float).read(value)
    with pytest.raises(UsageError, match="public size is 2"):
        Vector(float, size=2).read([1, 2, 3])
    frame = Frame({"a": float, "b": str})
    with pytest.raises(UsageError, match="columns a, b"):
        frame.read({"a": [1]})
    with pytest.raises(UsageError, match="same length"):
        frame.read({"a": [1], "b": []})
    assert frame.read({"a": ["x"], "b": [[]]})["b"] == [None]


def test_a_space_refuses_a_metric_that_cannot_compare():
    with pytest.raises(MismatchError, match="works on: Vector, Frame") as caught:
        Space(Number("float"), SymmetricDistance())
    assert isinstance(caught.value.left, Number)


# What is wrong is refused at construction; what data hold never raises.


NAN, INF = float("nan"), float("inf")
COLUMN = fw.Space(fw.Vector(float, bounds=(0, 1)), fw.SymmetricDistance())
TABLE = fw.Frame({"x": float, "s": str})

REFUSED = [
    lambda: fw.Number("float", 2, 1),
    lambda: fw.Number("float", 0, INF),
    lambda: fw.Number("float", NAN, 1),
    lambda: fw.Number("float", grid=0),
    lambda: fw.Number("text"),
    lambda: fw.Number("int", nullable=True),
    lambda: fw.Vector(float, bounds=(0,)),
    lambda: fw.Vector(float, bounds=3),
    lambda: fw.Vector(float, bounds="01"),
    lambda: fw.Vector(str, bounds=(0, 1)),
    lambda: fw.Vector(float, size=-1),
    lambda: fw.Vector(float, size=1.5),
    lambda: fw.Vector(complex),
    lambda: fw.Category(("a", "a")),
    lambda: fw.Category(()),
    lambda: fw.Category(([],)),
    lambda: fw.Frame({}),
    lambda: fw.Space(fw.Vector(str), fw.L1Distance()),
    lambda: fw.Space(fw.Number(), fw.SymmetricDistance()),
    lambda: fw.Space(TABLE, fw.AbsoluteDistance()),
    lambda: fw.clamp(1, 0),
    lambda: fw.clamp(0, INF),
    lambda: fw.clamp(NAN, 1),
    lambda: fw.cast(complex),
    lambda: fw.cast("number"),
    lambda: fw.resize(0, 1),
    lambda: COLUMN >> fw.resize(3, 7),
    lambda: COLUMN >> fw.resize(3, NAN),
    lambda: fw.filter("x > 1"),
    lambda: fw.map_rows("f", float, 0),
    lambda: fw.map_rows(len, int, "none"),
    lambda: fw.map_rows(len, fw.Vector(int), 0),
    lambda: fw.select(3),
    lambda: fw.Space(TABLE, fw.SymmetricDistance()) >> fw.select("y"),
    lambda: COLUMN >> fw.select("x"),
    lambda: fw.bin([1]),
    lambda: fw.bin([1, 1]),
    lambda: fw.bin([0, INF]),
    lambda: fw.bin("01"),
    lambda: fw.count_by_category(["a", "a"]),
    lambda: fw.count_by_category("ab"),
    lambda: fw.count_by_category(["a"], metric="L3"),
    lambda: fw.Space(fw.Vector(str), fw.SymmetricDistance()) >> fw.count_by_category(),
    lambda: COLUMN >> fw.count_by_category(["a"]),
    lambda: fw.quantile_scores(2, [1]),
    lambda: fw.quantile_scores("1/2", []),
    lambda: fw.quantile_scores("1/2", [2, 1]),
    lambda: fw.prefix_counts([1, 1]),
    lambda: fw.tree_counts([0, 1], branching=1),
    lambda: fw.tree_counts([0, 1], metric="max"),
    lambda: fw.linear_queries([]),
    lambda: fw.linear_queries([[1], [1, 2]]),
    lambda: fw.linear_queries([[NAN]]),
    lambda: fw.linear_queries(3),
    lambda: fw.Space(fw.Vector(int, size=3), fw.L1Distance()) >> fw.linear_queries([[1, 2]]),
    lambda: fw.Space(fw.Vector(float, size=1), fw.L1Distance()) >> fw.linear_queries([[1]]),
    lambda: fw.to_grid(0),
    lambda: fw.to_grid(NAN),
    lambda: fw.Space(fw.Vector(float), fw.L1Distance()) >> fw.to_grid(1),
    lambda: COLUMN >> fw.var(),
    lambda: (COLUMN >> tc.sum()).map(-1),
    lambda: (COLUMN >> tc.sum()).map("1/2"),
    lambda: (COLUMN >> tc.sum()).map(NAN),
    lambda: (COLUMN >> tc.count()).map(INF),
    lambda: COLUMN >> fw.to_change_one(),
    lambda: fw.SymmetricDistance().distance([{}], [1]),
    lambda: fw.SymmetricDistance().distance(3, [1]),
    lambda: fw.AbsoluteDistance().distance(NAN, 1),
]


@pytest.mark.few(4)
@pytest.mark.parametrize("make", REFUSED)
def test_it_is_refused_with_an_error_of_ours(make):
    with pytest.raises(UsageError):
        make()


HUGE = [1e308, -0.0, 10**400, -(2**63), NAN, INF, -INF]
ODD = [*HUGE, "text", "", None, b"x", True, [1], {}, object()]
STEPS = [
    fw.clamp(0, 1) >> tc.sum(),
    fw.clamp(0, 1) >> fw.sum_of_squares(),
    fw.clamp(0, 1) >> fw.resize(4, 0) >> tc.mean(),
    fw.clamp(0, 1) >> fw.resize(4, 0) >> fw.var(),
    fw.cast(int) >> tc.count_distinct(),
    fw.cast(str) >> fw.count_by_category(["0", "text"], other=True),
    fw.cast(bool) >> fw.count_by_category(),
    fw.filter(lambda x: x > 0) >> tc.count(),
    fw.filter(lambda x: 1 / 0) >> tc.count(),
    fw.map_rows(lambda x: x["k"], str, "none") >> tc.count_distinct(),
    tc.histogram(edges=[0, 1, 2]),
    fw.prefix_counts([0, 1]),
    fw.quantile_scores("1/2", [0, 1]),
    fw.tree_counts([0, 1, 2, 3]),
    fw.clamp(0, 8) >> fw.to_grid("1/4") >> tc.sum(),
]


@pytest.mark.parametrize("step", STEPS, ids=range(len(STEPS)))
@pytest.mark.parametrize("kind", [float, int, str])
def test_no_value_can_raise(step, kind):
    space = fw.Space(fw.Vector(kind), fw.SymmetricDistance())
    try:
        t = space >> step
    except MismatchError:
        t = space >> fw.cast(float) >> step
    shapes = set()
    for data in (ODD, ODD * 3, [], ODD[:1], np.array([1.0, NAN])):
        shapes.add(np.shape(t(data)))
    assert len(shapes) == 1


@pytest.mark.parametrize("seed", range(40))
def test_random_members_are_members(seed):
    source = random.Random(seed)
    domains: list[Domain] = [
        fw.Number("float", -1, 2),
        fw.Number("float", None, -5, nullable=True),
        fw.Number("float", 7, None),
        fw.Number("int", -3, 3),
        fw.Number("float", "-1/2", "3/2", grid="1/4"),
        fw.Category(("a", "b")),
        fw.Vector(float, bounds=(0, 1), size=3),
        fw.Vector(str),
        fw.Frame({"x": float, "s": str}),
    ]
    for domain in domains:
        assert domain.contains(domain.sample(source)), domain


def test_grids_read_whole_units():
    quarter = fw.Number("float", -1, 1, grid="1/4")
    assert quarter.read(0.6) == 2
    assert quarter.read(99) == 4
    assert quarter.present(quarter.read(-0.5)) == -0.5
    assert not quarter.contains(0.3)
    assert (fw.Space(quarter, fw.AbsoluteDistance()) >> fw.laplace(1)).map("1/4") == Fraction(1, 4)


def test_errors_of_a_chain_name_no_value_of_the_data():
    for step in (tc.sum(), tc.mean()):
        with pytest.raises(TacitError) as caught:
            (COLUMN >> fw.resize(3, 0) >> step)(12345.678)
        assert "12345" not in str(caught.value)
    assert math.isfinite((COLUMN >> tc.sum())([12345.678]))


def test_what_is_no_vector_has_no_vector_distance():
    for metric in (fw.L1Distance(), fw.L2Distance(), fw.LInfinityDistance()):
        with pytest.raises(tc.errors.UsageError, match="vectors"):
            metric.distance(1, None)


def test_a_histogram_in_a_chain_takes_its_edges_alone():
    column = fw.Space(fw.Vector(float), fw.SymmetricDistance())
    counts = column >> tc.histogram([0, 4, 8, 12])
    assert counts([1.0, 2.0, 5.0, 12.0]).tolist() == [2, 1, 1]
    with pytest.raises(tc.errors.UsageError):
        tc.histogram([4, 0])


def test_labels_of_randomized_response_are_a_list():
    with pytest.raises(tc.errors.UsageError, match="list of labels"):
        fw.randomized_response(None, epsilon=1)


def test_an_absurd_epsilon_still_gives_a_staircase():
    column = fw.Space(fw.Vector(int), fw.SymmetricDistance())
    assert (column >> tc.count() >> fw.staircase("1e999")).map(1) == 10**999


# Numbers: members, bounds, grids, and how any raw value is read.


def test_unsigned_and_bool_columns_are_whole_numbers():
    assert Number("int").read_many(np.array([2**64 - 1], dtype=np.uint64)).tolist() == [2**63 - 1]
    assert Number("int").read_many(np.array([True, False])).tolist() == [1, 0]
    assert Number("int").read_many([0.5, 1.5, -0.5, 2.0**70]).tolist() == [1, 2, 0, 2**63 - 1]


@pytest.mark.parametrize(
    ("domain", "value", "member"),
    [
        (Number("float", 0, 12), 12, True),
        (Number("float", 0, 12), Fraction(121, 10), False),
        (Number("float", 0), math.inf, True),  # no upper bound: infinity is a float like others
        (Number("float", 0), -math.inf, False),
        (Number("float", nullable=True), math.nan, True),
        (Number("float"), math.nan, False),
        (Number("int"), math.inf, False),
        (Number("int"), 2.0, True),
        (Number("int"), True, False),
        (Number("int"), "2", False),
        (Number("float", grid="1/4"), 0.75, True),
        (Number("float", grid="1/4"), 0.7, False),
        (Number("float", grid="1/4"), np.float32(0.5), True),
    ],
    ids=str,
)
def test_members(domain, value, member):
    assert domain.contains(value) == member


def test_what_is_missing_is_the_bound_nearest_to_zero_where_nothing_may_be_missing():
    read = [Number("float", *ends).read(math.nan) for ends in ((2, 7), (-7, -2), (-1, 1), ())]
    assert read == [2.0, -2.0, 0.0, 0.0]
    assert math.isnan(Number("float", 2, 7, nullable=True).read("no number"))


def test_bounds_that_are_no_floats_are_held_from_inside():
    """0.1 as a fraction of ten lies between two doubles: what is read is never beyond it."""
    domain = Number("float", Fraction(1, 10), Fraction(3, 10))
    low, high = domain.read(-5), domain.read(5)
    assert low >= Fraction(1, 10) > np.nextafter(low, -1)
    assert high <= Fraction(3, 10) < np.nextafter(high, 1)
    assert domain.contains(low)
    assert domain.contains(high)


def test_numbers_of_a_grid_are_carried_in_whole_units_and_shown_as_numbers():
    quarter = Number("float", 0, 1, grid="1/4")
    assert quarter.read_many([0.3, 0.9, 7, -7]).tolist() == [1, 4, 4, 0]
    assert [quarter.present(units) for units in (0, 1, 4)] == [0.0, 0.25, 1.0]
    fives = Number("int", -10, 10, grid=5)
    assert fives.read_many([12, -8]).tolist() == [2, -2]
    assert (fives.present(-2), type(fives.present(-2))) == (-10, int)
    third = Number("float", "1/10", "9/10", grid="1/4")  # bounds between two units
    assert third.read_many([0, 1]).tolist() == [1, 3]


NUMBER_DOMAINS = [
    Number("float", -3, 5),
    Number("float", upper=-2, nullable=True),
    Number("int", 4),
    Number("int", None, -4),
    Number("float", "1/3", "9/2", grid="1/2"),
]


@pytest.mark.parametrize("domain", NUMBER_DOMAINS, ids=str)
def test_samples_are_members_and_a_description_builds_the_domain_again(domain):
    source = random.Random(5)
    assert all(domain.contains(domain.sample(source)) for _ in range(200))
    told = domain.describe()
    assert told.pop("domain") == "number"
    assert Number(**told) == domain


def test_a_domain_says_its_bounds_its_grid_and_what_may_be_missing():
    shown = [str(Number("int", 0, 5)), str(NUMBER_DOMAINS[1]), str(NUMBER_DOMAINS[4])]
    assert shown == ["int in [0, 5]", "float in [-inf, -2] or missing", shown[2]]
    assert shown[2].endswith("on a grid of 1/2") or shown[2].endswith("on a grid of 0.5")
    assert Number("int", 0).bounds is None
    assert Number("int", 0, 5).bounds == (0, 5)


# Raw values into arrays: nothing raises, no row is dropped, no value changes another.


class Odd:
    """A value that raises when it is asked for a number."""

    def __float__(self):
        raise RuntimeError("no number")


COERCION_VALUES = [
    None,
    "3",
    b"3",
    True,
    2**63,
    -(2**70),
    10**400,
    math.nan,
    -math.inf,
    2.5,
    Odd(),
    [1],
]


def test_coercion_each_value_is_read_alone():
    for reads in (floats, whole):
        alone = [reads([value])[0] for value in COERCION_VALUES]
        together = reads(COERCION_VALUES)
        assert len(together) == len(COERCION_VALUES)
        assert np.array_equal(together, np.array(alone), equal_nan=together.dtype.kind == "f")


def test_what_is_no_number_is_missing_or_zero():
    assert np.isnan(floats([None, "3", b"3", Odd(), [1], math.nan])).all()
    assert whole([None, "3", Odd(), math.nan]).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("dtype", [np.float64, np.int8, np.uint64, np.bool_, object])
def test_arrays_and_lists_are_alike(dtype):
    values = np.array([0, 1, 1, 0], dtype=dtype)
    assert whole(values).tolist() == whole(values.tolist()).tolist() == [0, 1, 1, 0]
    assert floats(values).tolist() == [0.0, 1.0, 1.0, 0.0]


def test_what_is_too_large_stays_at_the_end():
    ends = np.iinfo(np.int64)
    large = np.array([2**64 - 1], dtype=np.uint64)
    assert whole(large).tolist() == whole([2**64 - 1]).tolist() == [ends.max]
    assert whole([1e300, -1e300, math.inf]).tolist() == [ends.max, ends.min, ends.max]
    assert floats([10**400, -(10**400)]).tolist() == [math.inf, -math.inf]


def test_the_array_is_a_new_one():
    given = np.array([1.0, 2.0])
    floats(given)[0] = 9
    assert given.tolist() == [1.0, 2.0]


# Steps: joined before they meet their space, written down, and built again.


SPACE = fw.Space(fw.Vector(float), fw.SymmetricDistance())


def test_steps_that_were_joined_first_build_the_same_chain() -> None:
    joined = fw.clamp(0, 12) >> tc.sum() >> fw.laplace(scale=24)
    assert isinstance(joined, Pipeline)
    assert [step.name for step in joined.steps] == ["clamp", "aggregate", "laplace"]
    at_once = SPACE >> fw.clamp(0, 12) >> tc.sum() >> fw.laplace(scale=24)
    assert (SPACE >> joined).map(1) == at_once.map(1) == Fraction(1, 2)


def test_a_chain_that_was_written_down_is_built_again() -> None:
    joined = fw.clamp(0, 12) >> fw.impute(3)
    again: Any = step_from(joined.describe())
    assert again == joined
    assert (SPACE >> again >> tc.sum()).map(1) == 12


@pytest.mark.parametrize(
    ("description", "said"),
    [
        ({"step": "clmap"}, "did you mean 'clamp'"),
        ({"step": "clamp", "low": 1}, "does not take these parameters"),
        ({}, "no step is called"),
    ],
)
def test_a_description_that_builds_nothing(description: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        step_from(description)


@pytest.mark.parametrize("thing", [5, None, "clamp", [1], tc.sum, fw.clamp, print])
def test_what_is_no_step_is_refused(thing: Any) -> None:
    with pytest.raises(CallError, match="after >> there must be a step"):
        as_step(thing)
    with pytest.raises(CallError, match="after >> there must be a step"):
        fw.clamp(0, 1) >> thing


def test_a_name_belongs_to_one_step() -> None:
    with pytest.raises(UsageError, match="a name of its own"):

        @register
        @dataclass(frozen=True)
        class Other(Step):
            name: ClassVar[str] = "clamp"

            def build(self, space: Any) -> Any:
                raise NotImplementedError


def test_parameters_are_plain() -> None:
    assert plain((Fraction(1, 3), None, {"a": 1.5})) == ["1/3", None, {"a": 1.5}]
    assert plain(len) == "len"
    assert fw.clamp("1/3", 1).parameters() == {"lower": "1/3", "upper": "1"}


def test_steps_without_a_space_show_themselves():
    steps = fw.clamp(0, 12) >> tc.sum() >> fw.laplace(scale=25)
    written = "clamp(lower=0, upper=12) >> sum() >> laplace(scale=25)"
    assert str(steps) == written
    assert repr(steps) == f"<Pipeline {written}>"
    shown = steps._repr_html_()
    assert all(step in shown for step in written.split(" >> "))
    assert "tc.framework.Space(...)" in shown


# A chain in words: each step with its distance, aligned as text, escaped as HTML.


LINKS = [
    ChainLink("double <b>", None, "numbers & more", lambda d: 2 * d),
    ChainLink("noise", None, "Approximate DP", lambda d: (d / 4, Fraction(1, 100))),
]


def test_each_distance_follows_from_the_one_before():
    assert distances(LINKS, Fraction(3)) == [6, (Fraction(3, 2), Fraction(1, 100))]


def test_the_text_is_aligned():
    lines = chain_text("start", LINKS, Fraction(3)).splitlines()
    assert [line.split()[0] for line in lines] == ["data", "double", "noise"]
    assert (
        len(
            {
                line.index(last)
                for line, last in zip(lines, ["start", "numbers", "Approx"], strict=True)
            }
        )
        == 1
    )
    assert "(1.5, 0.01)" in lines[2]


def test_the_html_is_escaped():
    page = chain_card("<Chain>", "<start>", LINKS, Fraction(1)).html()
    assert "<b>" not in page
    assert "double &lt;b&gt;" in page
    assert "numbers &amp; more" in page
    assert page.count("<tr>") == 4


def test_a_step_is_titled_as_one_writes_it():
    chain = fw.Space(fw.Vector(float), fw.SymmetricDistance()) >> fw.clamp(0, 1) >> tc.sum()
    assert "clamp(lower=0, upper=1)" in chain.explain()
    assert show_distance((Fraction(1, 2), Fraction(0))) == "(0.5, 0)"
