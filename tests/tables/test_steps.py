"""The coordinates of sums of products: their exact sensitivity, and what they decode to."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from tacit.errors import UsageError
from tacit.tables.steps import Basis, ProductsByGroup

CASES = [
    ((1, 1), (), True),
    ((1, 1), (0, 1), True),
    ((2, 3), (0, 1), True),
    ((4, 2), (1,), True),
    ((2, 2), (0, 1), False),
    ((3, 2), (1,), False),
    ((2, 1, 2), (1, 2), True),
    ((1, 2, 2), (1, 2), False),
    ((1, 1, 1, 1), (1, 2, 3), True),
    ((1, 1, 1, 1, 1), (1, 2, 3, 4), False),
]


def rows_of(cells):
    return list(itertools.product(*(range(n + 1) for n in cells)))


def offsets(basis, rows):
    """What the engine adds up, by its definition."""
    sums = [len(rows)]
    for factors in basis.products:
        sums.append(sum(int(np.prod([row[i] for i in factors], dtype=object)) for row in rows))
    return [sums]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_sensitivity_is_the_largest_that_any_row_adds(case):
    """Every neighbour: a row that comes or goes, of all rows that there can be."""
    basis = Basis(*case)
    moved = [basis.vector(offsets(basis, [row])) for row in rows_of(basis.cells)]
    in_l1 = max(sum(abs(Fraction(x, basis.unit)) for x in vector) for vector in moved)
    in_l2 = max(sum(Fraction(x, basis.unit) ** 2 for x in vector) for vector in moved)
    assert in_l1 == basis.stretch("L1")
    assert in_l2 <= basis.stretch("L2") ** 2 <= in_l2 * (1 + Fraction(1, 2**60))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_two_rows_move_the_vector_by_no_more_than_twice_that(case):
    basis = Basis(*case)
    rows = rows_of(basis.cells)[::3]
    for two in itertools.combinations_with_replacement(rows, 2):
        moved = basis.vector(offsets(basis, list(two)))
        assert sum(abs(x) for x in moved) <= 2 * basis.stretch("L1") * basis.unit
        assert sum(x * x for x in moved) <= (2 * basis.stretch("L2") * basis.unit) ** 2


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_coordinates_decode_to_the_sums_of_products(case):
    basis = Basis(*case)
    rows = rows_of(basis.cells)[1:]
    s = 2 * np.array(rows) / np.array(basis.cells) - 1
    found = basis.decoding @ (np.array(basis.vector(offsets(basis, rows))) / basis.unit)
    expected = [np.prod(s[:, list(factors)], axis=1).sum() for factors in basis.monomials]
    assert found == pytest.approx(expected, abs=1e-12)


def test_corners_have_less_noise_under_l1_for_a_few_columns():
    for m in range(2, 9):
        cells, squares = (2,) * m, tuple(range(1, m))
        errors = {}
        for corners in [False, *([True] if m <= 4 else [])]:
            basis = Basis(cells, squares, corners)
            product = basis.decoding[basis.monomials.index((0, 1))]
            errors[corners] = float(basis.stretch("L1")) * np.sqrt((product**2).sum())
        chosen = Basis.least(cells, squares, "L1").corners
        assert errors[chosen] == min(errors.values())


def test_rows_that_are_spread_evenly_have_the_sums_of_a_fine_grid():
    basis = Basis((400, 400), (0, 1), corners=True)
    s = (np.arange(400) + 0.5) / 200 - 1
    x, y = (each.ravel() for each in np.meshgrid(s, s))
    sums = basis.decoding @ basis.even(160_000.0)
    expected = [160_000, 0, 0, 0, (x**2).sum(), (y**2).sum()]
    assert sums == pytest.approx(expected, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize(
    "wrong",
    [
        {"columns": ("x",), "bounds": (("0", "1"),), "cells": (4,)},
        {"cells": (4, 0)},
        {"squares": (2,)},
        {"squares": (0, 0)},
        {"columns": tuple("abcde"), "bounds": (("0", "1"),) * 5, "cells": (1,) * 5},
        {
            "columns": tuple("abcdefghijklmn"),
            "bounds": (("0", "1"),) * 14,
            "cells": (1,) * 14,
            "corners": False,
        },
    ],
    ids=str,
)
def test_a_step_that_fits_no_columns_is_refused(wrong):
    right = {
        "columns": ("x", "y"),
        "bounds": (("0", "1"), ("0", "1")),
        "cells": (4, 4),
        "squares": (),
        "corners": True,
    }
    with pytest.raises(UsageError):
        ProductsByGroup(size=4, norm="L1", **{**right, **wrong}).basis  # noqa: B018
