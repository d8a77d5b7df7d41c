"""Reading is total: no value raises, none is dropped, none changes what another becomes."""

import datetime
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from tacit.core import Category, Frame, Number, Space, SymmetricDistance, Vector
from tacit.errors import MismatchError, UsageError
from tacit.transformations import Clamp


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
