"""What can be asked: one object for a chain, for a sensitivity and for a table."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest

import tacit as tc
from tacit.core import Space, SymmetricDistance, Vector
from tacit.errors import MismatchError, UsageError
from tacit.expressions.dialect import bin_names
from tacit.tables.answers.base import kind_of, kinds, register_kind


def test_an_aggregate_without_a_column_is_a_step():
    column = Space(Vector(float, bounds=(0, 5)), SymmetricDistance())
    assert (column >> tc.count()).map(1) == 1
    assert (column >> tc.sum() >> tc.laplace(scale=10)).map(1) == Fraction(1, 2)
    with pytest.raises(MismatchError, match="question to a table"):
        column >> tc.sum("x", 0, 5)


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (tc.count(), "count()"),
        (tc.count_people(), "count_people()"),
        (tc.sum("x", "-1/2", 3), "sum(x, -0.5, 3)"),
        (tc.percentile("x", "99.9", 0, 1), "percentile(x, 99.9, 0, 1)"),
        (tc.percentile(25), "percentile(25)"),
        (tc.min("x", 0, 1), "min(x, 0, 1)"),
    ],
)
def test_an_aggregate_says_what_it_is(asked, text):
    assert str(asked) == text
    assert asked.to_json()["kind"] == asked.kind


def test_equal_questions_are_equal_however_they_are_written():
    assert tc.mean("x", 0, 0.5) == tc.mean("x", "0", Fraction(1, 2))
    assert tc.median("x", 0, 1).to_json() == tc.median("x", 0.0, "1.0").to_json()
    assert tc.mean("x", 0, 1) != tc.mean("x", 0, 2)


@pytest.mark.parametrize("kind", [tc.sum, tc.mean, tc.var, tc.std, tc.median, tc.min, tc.max])
def test_bounds_are_public_and_rise(kind):
    for wrong, message in [
        (("x", 0), "both bounds"),
        (("x", 1, 1), "are equal, both 1"),
        (("x", 2, 1), "must be in order"),
        (("x", 0, math.inf), "upper bound must be a finite"),
        (("x", math.nan, 1), "lower bound must be a finite"),
        (("x", "a", 1), "lower bound must be a number"),
        (("x", 0, "1e99999999"), "power of ten"),
        ((3, 0, 1), "named by text"),
        ((None, 0, 1), "name the column"),
    ]:
        with pytest.raises(UsageError, match=message):
            kind(*wrong)


def test_percentiles_and_edges_are_checked():
    for wrong in (-1, 101, "x", math.nan):
        with pytest.raises(UsageError, match="percentile"):
            tc.percentile("x", wrong, 0, 1)
    with pytest.raises(UsageError, match="percentile"):
        tc.percentile(3, 50, 0, 1)
    for edges in (None, [], [1], [1, 1], [2, 1], [0, 2, 1], [0, math.nan]):
        with pytest.raises(UsageError, match="edge"):
            tc.histogram("x", edges)
    names = bin_names((Fraction(0), Fraction(1, 2), Fraction(3)))
    assert names == ["[0, 0.5)", "[0.5, 3]"]


@pytest.mark.parametrize("kind", [tc.sum, tc.mean, tc.var, tc.std, tc.median, tc.min, tc.max])
def test_a_column_without_bounds_is_refused_where_none_are_declared(kind, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x\n1.5\n2.5\n", encoding="utf-8")
    with tc.Session(path, unit=tc.one_row_each, budget=tc.epsilon(1)) as s:
        with pytest.raises(UsageError, match="needs public bounds"):
            s.agg(x=kind("x"))
        assert s.spent.is_nothing


def test_a_kind_has_a_name_and_an_order_of_its_own():
    mean = kind_of("mean")
    for taken in (mean, replace(mean, name="another"), replace(mean, order=1)):
        with pytest.raises(UsageError, match="of its own"):
            register_kind(taken)
    assert [kind.order for kind in kinds()] == sorted({kind.order for kind in kinds()})
    with pytest.raises(UsageError, match=r"is called 'maen'.*mean"):
        kind_of("maen")


def test_bounds_too_near_or_too_far_are_refused_before_any_data(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x\n1.5\n2.5\n", encoding="utf-8")
    with tc.Session(path, unit=tc.one_row_each, budget=tc.epsilon(1)) as s:
        for low, high in (("1e-400", "2e-400"), (0, "1e400"), (2**60, 2**60 + 1)):
            with pytest.raises(UsageError):
                s.agg(x=tc.mean("x", low, high)).release(epsilon=1)
        assert s.spent.is_nothing
