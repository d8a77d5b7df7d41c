"""Which cells a count adds up."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tacit.tables.cell_axis import Axis
from tacit.tables.earlier.released import AloneCells, Between, Listed, typed, weights_of
from tacit.tables.noise import NoiseLaw

SEX = Axis(("sex",), (("f",), ("m",)))
AGE = Axis(("age",), edges=(Fraction(0), Fraction(18), Fraction(65), Fraction(99)))
PAIR = Axis(("sex", "site"), (("f", 1), ("f", 2), ("m", 1)))
LAW = NoiseLaw("laplace", 1.0, 1.0)


def weights(axes, asked, *, complete=False):
    shape = [axis.listed + complete for axis in axes]
    table = AloneCells(tuple(axes), (complete,) * len(axes), np.zeros(shape), LAW)
    names = [list(axis.columns) for axis in axes]
    found = weights_of(table, names, [{} for _ in axes], dict(enumerate(asked)), None)
    return found if found is None else [each.tolist() for each in found]


def among(column, *values):
    return Listed(column, frozenset(map(typed, values)))


@pytest.mark.parametrize(
    ("axes", "asked", "marked"),
    [
        ([SEX], [among("sex", "m")], [[[0, 1]]]),
        ([SEX], [among("sex", "m", "f"), among("sex", "f")], [[[1, 0]]]),
        ([SEX], [among("sex", "x")], None),
        ([SEX], [among("site", 1)], None),
        ([SEX], [], None),
        ([AGE], [Between("age", Fraction(18), Fraction(99), True)], [[[0, 1, 1]]]),
        ([AGE], [Between("age", Fraction(18), Fraction(65), True)], None),
        ([AGE], [Between("age", Fraction(18), Fraction(65), False)], [[[0, 1, 0]]]),
        ([AGE], [Between("age", Fraction(18), Fraction(60), False)], None),
        ([PAIR], [among("sex", "f"), among("site", 1, 2)], [[[1, 1, 0]]]),
        ([PAIR], [among("sex", "m"), among("site", 1, 2)], None),
        ([PAIR], [among("sex", "f")], None),
    ],
)
def test_cells_that_hold_just_what_is_asked(axes, asked, marked) -> None:
    assert weights(axes, asked) == marked


def test_all_cells_where_they_hold_every_row() -> None:
    assert weights([SEX, AGE], [among("sex", "f")], complete=True) == [[[1, 0, 0]], [[1] * 4]]
