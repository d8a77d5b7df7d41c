"""The text of a double: alike if and only if the doubles are equal, and exact."""

from fractions import Fraction

import duckdb
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from tacit.expressions.dialect import spelled
from tacit.tables.engines.duckdb.engine import DUCKDB

doubles = st.one_of(
    st.floats(allow_nan=False),
    st.sampled_from([0.0, -0.0, 5e-324, 2.0**-1022, 2.0**-1020, 2.0**60, float("inf"), 1e10]),
)


def texts(values):
    sql = f"select {spelled('x', DUCKDB)} from (select unnest($v::double[]) as x)"
    return [row[0] for row in duckdb.connect().execute(sql, {"v": values}).fetchall()]


def exact(text):
    """The number that a text stands for: ``2^(60 b) (h + f / 2^52)``."""
    sign = -1 if text.startswith("minus ") else 1
    block, whole, part = map(int, text.removeprefix("minus ").rsplit(".", 2))
    return sign * Fraction(2) ** (60 * block) * (whole + Fraction(part, 2**52))


@examples(0.3)
@given(st.lists(doubles, min_size=1, max_size=20))
def test_a_text_is_its_double(values):
    for value, text in zip(values, texts(values), strict=True):
        if abs(value) == float("inf"):
            assert text.removeprefix("minus ") == "infinite"
        else:
            assert exact(text) == Fraction(value)


def test_a_sign_is_not_taken_for_that_of_the_exponent():
    """-2^60 and 2^-60 had one text, and so one draw of their groups."""
    first, second = texts([-(2.0**60), 2.0**-60])
    assert first != second


def test_both_zeros_have_one_text():
    first, second = texts([0.0, -0.0])
    assert first == second
