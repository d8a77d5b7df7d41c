"""The noise on sums of released cells, against the quantiles of its distribution."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tacit.tables.cell_axis import Axis
from tacit.tables.earlier.released import AloneCells
from tacit.tables.noise import NoiseLaw

KEYS = Axis(("g",), tuple((place,) for place in range(6)))
EDGES = Axis(("x",), edges=tuple(map(Fraction, range(5))))


def cells(kind):
    values = np.arange(24.0).reshape(6, 4)
    return AloneCells((KEYS, EDGES), (False, False), values, NoiseLaw(kind, 3.0, 1.0))


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_sums_of_cells(kind) -> None:
    rows, bins = np.array([[1.0, 0, 1, 0, 0, 0]]), np.tril(np.ones((4, 4)))
    table = cells(kind)
    value, error, half = table.sums([rows, bins])
    np.testing.assert_allclose(value, (rows @ table.values @ bins.T)[0])
    np.testing.assert_allclose(error**2, table.law.variance * 2 * np.arange(1, 5))
    for number, width in zip(range(1, 5), half, strict=True):
        needed = table.law.half_width((1.0,) * 2 * number, 0.95)
        assert 0.97 * needed - 2 * number <= width <= 1.03 * needed


def test_several_axes_at_once() -> None:
    table = cells("gaussian")
    one, two = np.eye(6)[:3], np.eye(4)[:3]
    value, error, _ = table.sums([one, two])
    np.testing.assert_allclose(value, np.diag(table.values)[:3])
    np.testing.assert_allclose(error, 3.0)
