"""The range of an expression holds its value on every row within the bounds, and is attained."""

from __future__ import annotations

import itertools
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from tacit.expressions.expression import Expression, col, literal, when
from tacit.expressions.value_range import public_values, range_of

ENDS = st.one_of(
    st.fractions(-1000, 1000, max_denominator=1000),
    st.integers(-(1 << 70), 1 << 70).map(Fraction),
    st.floats(-1e200, 1e200).map(Fraction),
    st.sampled_from([0, 1, -1, "1e-180", "0.1", "-0.1", "1e150", 1 << 53]).map(Fraction),
)
NAMES = ("a", "b", "c")


def column(ends: list[Fraction]) -> tuple[Fraction, Fraction]:
    return min(ends), max(ends)


BOUNDS = st.fixed_dictionaries(
    {name: st.lists(ENDS, min_size=2, max_size=2).map(column) for name in NAMES}
)
CONSTANTS = st.one_of(st.integers(-9, 9), st.floats(-1e6, 1e6), st.just(None), st.just(1e-170))


def grown(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    """Every operation whose value is a number, of smaller expressions."""
    one, two = st.tuples(inner), st.tuples(inner, inner)
    return st.one_of(
        two.map(lambda e: e[0] + e[1]),
        two.map(lambda e: e[0] - e[1]),
        two.map(lambda e: e[0] * e[1]),
        two.map(lambda e: e[0] / e[1]),
        two.map(lambda e: e[0].fill(e[1])),
        st.tuples(inner, inner, inner).map(lambda e: when(e[0] < 1).then(e[1]).otherwise(e[2])),
        one.map(lambda e: abs(e[0])),
        one.map(lambda e: -e[0]),
        st.tuples(inner, st.integers(-9, 0), st.integers(0, 9)).map(
            lambda e: e[0].clamp(e[1], e[2])
        ),
        one.map(lambda e: when(e[0] >= 0).then(e[0]).otherwise(None)),
    )


EXPRESSIONS = st.recursive(
    st.one_of(st.sampled_from(NAMES).map(col), CONSTANTS.map(literal)), grown, max_leaves=7
)


def cells(low: Fraction, high: Fraction, share: Fraction) -> list[object]:
    """Values of a column within its bounds, of each type, and none."""
    exact = low + share * (high - low)
    found: list[object] = [None]
    found += [int(v) for v in {exact.__floor__(), exact.__ceil__()} if low <= v <= high]
    found += [float(v) for v in (low, high, exact) if low <= Fraction(float(v)) <= high]
    found += [Decimal(v.numerator) for v in (low, high) if v.denominator == 1]
    tenth = Decimal(int(exact * 10)) / 10
    return found + ([tenth] if low <= Fraction(tenth) <= high else [])


@pytest.mark.full
@examples(8)
@given(EXPRESSIONS, BOUNDS, st.data())
def test_a_value_is_missing_or_within_the_range(expression, bounds, data):
    found = range_of(expression, bounds)
    if found is None:
        return
    low, high = found
    for _ in range(4):
        shares = st.sampled_from([Fraction(0), Fraction(1), Fraction(1, 3)])
        row = {n: data.draw(st.sampled_from(cells(*bounds[n], data.draw(shares)))) for n in NAMES}
        value = expression.evaluate(row)
        assert value is None or low <= Fraction(value) <= high, (str(expression), row)


SHARP = [
    col("a") + col("b"),
    col("a") - col("b"),
    col("a") * col("b"),
    col("a") / col("b"),
    abs(col("a")),
    -col("b"),
    col("a").clamp(-2, 2),
    col("a").fill(0.5),
]


@pytest.mark.parametrize("expression", SHARP, ids=str)
@pytest.mark.parametrize("ends", [(-3, 7), (0.1, 0.7), (-9.5, -0.25)])
def test_the_range_of_one_operation_is_attained(expression, ends):
    a, b = ends, (0.3, 1e10)
    bounds = {"a": column([*map(Fraction, a)]), "b": column([*map(Fraction, b)])}
    corners = [*itertools.product([*a, None, 0.0 if a[0] < 0 < a[1] else a[0]], b)]
    found = [expression.evaluate(dict(zip("ab", corner, strict=True))) for corner in corners]
    values = [Fraction(v) for v in found if v is not None]
    assert range_of(expression, bounds) == (min(values), max(values))


@pytest.mark.parametrize(
    "expression",
    [
        col("x"),
        col("x") + col("none"),
        col("x") / (col("a") - 1),
        col("a") / col("a"),
        literal(None),
        literal("text"),
        literal(float("inf")),
        col("none").length(),
        col("none").fill(0),
        col("far") * 2,
    ],
    ids=str,
)
def test_nothing_bounds_it(expression):
    bounds = {"a": (Fraction(0), Fraction(2)), "far": (Fraction(0), Fraction(10) ** 400)}
    assert range_of(expression, bounds) is None


def test_what_bounds_by_itself():
    nobody: dict[str, tuple[Fraction, Fraction]] = {}
    assert range_of(col("x").clamp(0, 10) * 2, nobody) == (0, 20)
    assert range_of(col("day").month() + 0.5, nobody) == (Fraction(3, 2), Fraction(25, 2))
    assert range_of(col("day").year(), nobody) == (1, 9999)
    assert range_of(when(col("x") > 5).then(1).otherwise(None), nobody) == (1, 1)
    assert range_of(col("x") > 5, nobody) == (0, 1)
    cost = {"cost": (Fraction(0), Fraction(1000))}
    assert range_of(col("cost").read_number() * 2, cost) == (0, 2000)


AGES = [{"age": age, "site": site} for age in (None, 0, 17.5, 18, 64, 200) for site in (None, "a")]
CHOICES = [
    col("age").cut([0, 18, 65]),
    when(col("age") < 18).then("young").otherwise(when(col("age") < 65).then("a").otherwise(None)),
    col("age") > 3,
    col("site").fill("none"),
    (col("age").clamp(0, 99) / 10).to_integer(),
    (col("age") * 10).to_integer().modulo(7),
    when(col("age") > 3).then(1).otherwise(2),
    col("site").contains("a").fill(True),
]


@pytest.mark.parametrize("expression", CHOICES, ids=str)
def test_public_values_are_all_that_can_be(expression):
    found = public_values(expression, {}, {"site": ["a", "b"]})
    values = {expression.evaluate(row) for row in AGES} - {None}
    assert found is not None
    assert values <= set(found)
    assert len(found) == len(set(found))


def test_values_that_are_not_public_or_too_many():
    keys = {"site": ["a", "b"]}
    for expression in (
        *(col("age"), col("x").fill(0), literal(0.5), literal(None), col("site").lower()),
        *(col("day").year(), col("day").days_until("2024-01-01"), col("age").clamp(0, 1)),
        *(col("n").modulo(367), when(col("age") > 3).then(col("x")).otherwise("a")),
    ):
        assert not public_values(expression, {}, keys), str(expression)
    assert public_values(col("n").modulo(366), {}, keys) == list(range(366))
