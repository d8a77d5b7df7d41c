"""Releases side by side: their losses add up, and those of disjoint parts do not."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import tacit as tc

WHOLE = tc.Space(tc.Number("int"), tc.AbsoluteDistance())


@pytest.mark.full
def test_composition_costs_no_more_than_its_parts_and_no_less_than_one():
    m, g = WHOLE >> tc.laplace(4), WHOLE >> tc.gaussian(6)
    both = tc.compose([m, m, g])
    found = both.epsilon("1e-6")
    rest = tc.compose([m, g]).epsilon("1e-6")
    assert rest.lower < found.upper
    assert found.upper <= g.epsilon("1e-6").upper + 2 * m.map(1)
    assert found.width < Fraction(1, 20)


def test_parallel_takes_data_that_comes_in_parts():
    column = tc.Space(tc.Vector(float), tc.SymmetricDistance())
    total = column >> tc.clamp(0, 12) >> tc.sum()
    parts = {"north": total >> tc.laplace(scale=25), "south": total >> tc.laplace(scale=50)}
    both = tc.parallel(parts)
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
        tc.parallel(list(parts.values()))


def test_parallel_over_parts_of_a_table():
    table = tc.Space(tc.Frame({"age": float, "site": str}), tc.SymmetricDistance())
    m = table >> tc.select("age") >> tc.clamp(0, 90) >> tc.sum() >> tc.gaussian(scale=90)
    both = tc.parallel({1: m, 2: m})
    assert both.map(2) == m.map(2)
    assert set(both({1: pd.DataFrame({"age": [1.0], "site": ["a"]})})) == {1, 2}


def test_parallel_over_parts_needs_records():
    number = tc.Space(tc.Number("int"), tc.AbsoluteDistance()) >> tc.laplace(scale=1)
    with pytest.raises(tc.errors.MismatchError, match="counts records"):
        tc.parallel({"a": number})
