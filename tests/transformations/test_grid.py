"""A bounded column as whole units: rounded, clipped, and never further than the map says."""

from fractions import Fraction

import numpy as np
import pytest

from tacit.core import Number, Space, SymmetricDistance, Vector
from tacit.errors import MismatchError, UsageError
from tacit.transformations import Sum
from tacit.transformations.grid import Gridded, bounded_column


def test_values_become_the_nearest_unit_within_the_bounds():
    grid = Gridded.of(Number("float", -1, 2, nullable=True), Fraction(1, 4))
    column = np.array([-9.0, -0.126, -0.124, 0.0, 1.99, 50.0, np.nan, np.inf])
    assert grid.units(column).tolist() == [-4, -1, 0, 0, 8, 8, 0, 8]
    assert (grid.range, grid.reach, grid.span) == ((-4, 8), 2, 3)


def test_a_missing_value_is_zero_and_widens_what_one_change_moves():
    above = Gridded.of(Number("float", 5, 6, nullable=True), Fraction(1))
    assert above.units(np.array([np.nan])).tolist() == [0]
    assert (above.range, above.span, above.reach) == ((0, 6), 6, 6)
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
