"""An explicit distribution, however it is written; what is none is refused."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import tacit as tc

MEASURES = [tc.PureDP(), tc.ApproximateDP(), tc.ZeroConcentratedDP(), tc.RenyiDP("5/2")]
HALF, QUARTER = {0: "1/2", 1: "1/2"}, {0: "1/4", 1: "3/4"}


def ends(measure, p, q):
    found = measure.divergence(p, q)
    found = found("1/10") if callable(found) else found
    return found.lower, found.upper


@pytest.mark.few(4)
@pytest.mark.parametrize("measure", MEASURES, ids=str)
@pytest.mark.parametrize(
    "write",
    [list, tuple, np.array, pd.Series, lambda p: dict(enumerate(p)), lambda p: [str(x) for x in p]],
    ids=["list", "tuple", "array", "series", "mapping", "text"],
)
def test_a_distribution_may_be_written_in_any_form(measure, write):
    assert ends(measure, write([0.5, 0.5]), write([0.25, 0.75])) == ends(measure, HALF, QUARTER)


def test_floats_that_do_not_quite_sum_to_one_are_divided_by_their_sum():
    p, q = {0: 0.9, 1: 0.1}, {0: 0.1, 1: 0.9}
    assert sum(map(Fraction, p.values())) != 1
    assert float(tc.PureDP().divergence(p, q)) == pytest.approx(math.log(9), rel=1e-15)
    uniform = tc.PureDP().divergence([0.1] * 10, ["1/10"] * 10)
    assert uniform.lower == 0
    assert uniform.upper < Fraction(1, 10**20)
    third = np.full(3, 1 / 3)
    assert float(tc.total_variation(third, ["1/3"] * 3)) == 0


@pytest.mark.parametrize(
    "bad",
    [
        [0.5, 0.4],
        ["9/10", "1/5"],
        [1.5, -0.5],
        [math.nan, 1],
        "half",
        3,
        None,
        np.ones((2, 2)) / 4,
        [],
        {},
        pd.Series([0.5, 0.5], index=["a", "a"]),
    ],
    ids=str,
)
@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_what_is_no_distribution_is_refused(measure, bad):
    with pytest.raises(tc.errors.UsageError):
        measure.divergence(bad, [0.5, 0.5])


@pytest.mark.few(4)
@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_output_distributions_can_be_handed_in(measure):
    m = tc.Space(tc.Vector(int), tc.SymmetricDistance()) >> tc.count() >> tc.laplace(scale=3)
    p, q = m.distribution([1, 2]), m.distribution([1, 2, 3])
    asked = tc.divergence(m, [1, 2], [1, 2, 3], measure=measure)
    asked = asked("1/10") if callable(asked) else asked
    assert ends(measure, p, q) == (asked.lower, asked.upper)
