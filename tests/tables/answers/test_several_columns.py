"""Statistics of several columns: how they are asked, described, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tacit.errors import UsageError
from tacit.expressions.grid import Grid
from tacit.tables.answers.base import kind_of
from tacit.tables.answers.covariance_and_regression import NoisySums, covariance, of_columns
from tacit.tables.noise import NoiseLaw
from tacit.tables.steps import Basis


def test_columns_stand_in_their_order_with_the_bounds_of_each() -> None:
    asked = of_columns("covariance", ["age", "pay"], {"pay": (0, "1/2"), "age": (0, 100)})
    assert [one.column for one in asked.clamped] == ["age", "pay"]
    assert str(asked) == "covariance(age, 0, 100, pay, 0, 0.5)"
    assert of_columns("covariance", ["age", "pay"], None).lacks_bounds


@pytest.mark.parametrize(
    ("columns", "bounds", "message"),
    [
        (["age"], None, "two columns or more"),
        (["age", ""], None, "named by text"),
        (["age", 5], None, "named by text"),
        (["age", "age"], None, "'age' is given twice"),
        (["age", "pay"], [(0, 1), (0, 1)], "by column"),
        (["age", "pay"], {"apy": (0, 1)}, "did you mean 'pay'"),
        (["age", "pay"], {"pay": 5}, "a lower and an upper"),
        (["age", "pay"], {"pay": "01"}, "a lower and an upper"),
        (["age", "pay"], {"pay": (1, 0)}, "pay"),
        (["age", "pay"], {"pay": (0, "x")}, "must be a number"),
    ],
)
def test_what_is_not_of_several_columns_is_refused(columns: Any, bounds: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        of_columns("covariance", columns, bounds)


def test_a_question_comes_back_from_its_description_and_has_words() -> None:
    asked = covariance("age", "pay", {"age": (0, 100), "pay": (-1, 1)})
    kind: Any = kind_of("covariance")
    told = asked.to_json()
    assert kind.read(told) == asked
    assert kind.label(asked) == "covariance_age_pay"
    assert kind.words(told).endswith("(values clamped: age to [0, 100], pay to [-1, 1])")
    with pytest.raises(UsageError, match="takes several columns"):
        kind.statistic(asked)


def test_bands_hold_the_sums_and_quantiles_grow_with_the_weights() -> None:
    grids = [Grid.for_bounds(0, 8, bits=3, whole=True)] * 2
    basis = Basis.least(tuple(grid.cells for grid in grids), (), "L1")
    law = NoiseLaw("laplace", 2.0, 1.0)
    noisy = np.arange(2.0 * basis.width).reshape(2, basis.width)
    sums = NoisySums(noisy, basis, law)
    middle, half = sums.band(0.01)
    assert middle.shape == (2, len(basis.decoding))
    assert (half > 0).all()
    assert (sums.band(0.0001)[1] >= half).all()
    weights = np.ones(len(basis.decoding))
    none = np.zeros_like(weights)
    one, two = (float(sums.quantile(w * weights, none, 0.05)) for w in (1, 2))
    assert 0 < one < two
    assert two == pytest.approx(2 * one, rel=0.05)
    wider = float(sums.quantile(weights, none + 0.5, 0.05))
    assert wider >= one
    deviation = float(sums.deviation(weights))
    assert deviation == pytest.approx(
        np.sqrt(((weights @ basis.decoding) ** 2).sum() * law.variance)
    )
