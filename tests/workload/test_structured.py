"""Strategies of few numbers: exact sensitivities and sums, and errors as their matrices have."""

from __future__ import annotations

import numpy as np
import pytest

import tacit as tc
from tacit.errors import UsageError
from tacit.workload import range_strategies as ordered
from tacit.workload.range_strategies import best_strategy, gram_of, total_of
from tacit.workload.strategies import Strategy, convex_optimum, identity
from tacit.workload.structured import (
    BlockStrategy,
    ProductStrategy,
    ReflectedStrategy,
    decoded,
)

READINGS = (("cells", 2.0), ("prefix_sums", 3.0), ("ranges", 1.0), ("total", 5.0))


def drawn(kind: str, cells: int) -> Strategy:
    """A strategy of drawn whole numbers."""
    rng = np.random.default_rng(cells)
    weights = rng.integers(1, 9, cells).tolist()
    if kind == "blocks":
        inner = np.vstack([np.diag([7, 5, 6]), rng.integers(-3, 4, (2, 3))])
        blocks = -(-cells // 3)
        return BlockStrategy(
            inner, rng.integers(-9, 9, (2, blocks)), [*range(2, blocks + 2)], cells
        )
    more = rng.integers(-3, 4, cells + (kind == "odd")).tolist()
    return ReflectedStrategy([5 * cells + 30, *more], weights, even=kind == "even")


@pytest.mark.parametrize("kind", ["even", "odd", "blocks"])
@pytest.mark.parametrize("cells", [1, 2, 3, 8, 13, 40])
def test_what_follows_from_few_numbers_is_what_the_matrix_has(kind: str, cells: int) -> None:
    found = drawn(kind, cells)
    matrix = found.matrix
    assert matrix.shape == (found.combinations, found.cells) == (found.combinations, cells)
    sizes = np.abs(matrix.astype(object))
    exact = (sizes**2).sum(axis=0).max() if kind != "blocks" else sizes.sum(axis=0).max() ** 2
    assert found.squared_sensitivity == exact
    assert found.sensitivity**2 >= exact
    counts = np.random.default_rng(1).integers(-(2**60), 2**60, (cells, 2)).astype(object)
    assert (found.combined(counts) == matrix.astype(object) @ counts).all()
    assert np.allclose(found.inverse, np.linalg.pinv(matrix.astype(float)))
    listed = Strategy("listed", matrix, found.norm)
    assert np.allclose(found.covariance, listed.covariance)
    assert np.allclose(found.cell_variances, listed.cell_variances)
    assert np.allclose(found.prefix_variances, listed.prefix_variances)
    weights = np.arange(1.0, cells + 1)
    assert np.allclose(found.covariances_with(weights), listed.covariances_with(weights))
    total = float((listed.covariance * gram_of(READINGS, cells)).sum())
    assert total_of(found, READINGS) == pytest.approx(total, rel=1e-9)
    again = decoded(found.form, found.norm)
    assert again.form == found.form
    assert again.squared_sensitivity == exact


def test_a_product_is_that_of_the_matrices() -> None:
    for first, second in (("even", "odd"), ("blocks", "blocks")):
        found = ProductStrategy([drawn(first, 5), drawn(second, 4)])
        matrix = np.kron(drawn(first, 5).matrix, drawn(second, 4).matrix)
        assert np.array_equal(found.matrix, matrix)
        assert Strategy("listed", matrix >> 0, found.norm).squared_sensitivity == (
            found.squared_sensitivity
        )
        counts = np.arange(20).astype(object)
        assert (found.combined(counts) == matrix.astype(object) @ counts).all()
        cells = found.estimated(np.asarray(found.combined(counts), dtype=float))
        assert np.allclose(cells, np.arange(20))
        assert decoded(found.form, found.norm).form == found.form


@pytest.mark.few(4)
@pytest.mark.parametrize("cells", [65, 128])
@pytest.mark.parametrize("asked", [tc.workload.ranges, tc.workload.prefix_sums])
def test_a_kernel_is_near_the_convex_optimum(asked: object, cells: int) -> None:
    work = asked(cells)  # type: ignore[operator]
    total = work.total(best_strategy({work.reading: 1}, cells, "L2"))
    bound = convex_optimum(work.gram).bound
    assert bound <= total <= 1.004 * bound
    assert work.singular_values == pytest.approx(
        np.sqrt(np.maximum(np.linalg.eigvalsh(work.gram), 0)).sum(), rel=1e-6
    )


@pytest.mark.parametrize(
    "cells", [50, *(pytest.param(n, marks=pytest.mark.full) for n in (257, 300))]
)
def test_blocks_have_the_error_of_their_matrix(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if cells < 257:
        monkeypatch.setattr(ordered, "_OPTIMISED", {"L1": 48, "L2": 48})
        monkeypatch.setattr(ordered, "_BLOCKS", 48)
    for reading in ("ranges", "prefix_sums"):
        found = best_strategy({reading: 1}, cells, "L1")
        total = float((found.covariance * gram_of(((reading, 1),), cells)).sum())
        assert total_of(found, ((reading, 1),)) == pytest.approx(total, rel=1e-9)
        assert found.squared_sensitivity == np.abs(found.matrix).sum(axis=0).max() ** 2
    ordered.__dict__["_best"].cache_clear()


@pytest.mark.full
@pytest.mark.parametrize(
    ("cells", "prefix", "every"),
    [
        (1024, 1.036, 1.014),
        (4096, 1.03, 1.03),
        pytest.param(65536, 1.03, 1.03, marks=pytest.mark.slow),
    ],
)
def test_many_cells_are_near_the_bound_of_singular_values(
    cells: int, prefix: float, every: float
) -> None:
    for work, most in (
        (tc.workload.prefix_sums(cells), prefix),
        (tc.workload.ranges(cells), every),
    ):
        ratio = work.expected_error(rho="1/2") / work.lower_bound(rho="1/2")
        assert 1 <= ratio**2 <= most


@pytest.mark.full
def test_boxes_of_a_grid_are_near_their_bound() -> None:
    boxes = tc.workload.ranges([256, 256])
    assert boxes.size == 32896**2
    assert 1 <= (boxes.expected_error(rho="1/2") / boxes.lower_bound(rho="1/2")) ** 2 <= 1.04
    assert boxes.expected_error(epsilon=2**0.5) <= 33  # research code: 32.69


def test_boxes_have_the_error_of_their_matrix() -> None:
    boxes = tc.workload.prefix_sums([3, 4])
    for loss in ({"rho": "1/2"}, {"epsilon": 1}):
        found = boxes.strategy(**loss)
        listed = Strategy("listed", found.matrix, found.norm)
        assert boxes.error_of(listed, **loss) == pytest.approx(boxes.expected_error(**loss))
        assert boxes.lower_bound(**loss) <= boxes.expected_error(**loss)
    assert boxes.error_of(identity(12, "L2"), rho=1) >= boxes.lower_bound(rho=1)


@pytest.mark.full
def test_questions_of_several_readings_get_one_kernel() -> None:
    for readings in ({"cells": 50.0, "prefix_sums": 1.0}, {"ranges": 1.0, "prefix_sums": 9.0}):
        asked = tuple(readings.items())
        found = best_strategy(readings, 96, "L2")
        optimum = convex_optimum(gram_of(asked, 96)).bound
        assert optimum <= total_of(found, asked) <= 1.04 * optimum


@pytest.mark.parametrize(
    "form",
    [
        {"kernel": [1, 2], "weights": [1], "kind": "other"},
        {"kernel": [1], "weights": [1], "kind": "even"},
        {"kernel": [4, 1], "weights": [0], "kind": "even"},
        {"kernel": 4, "weights": [1], "kind": "even"},
        {"blocks": [[1]], "sums": [], "weights": [1], "cells": 2},
        {"blocks": [[1.5]], "sums": [], "weights": [1], "cells": 1},
        {"product": []},
        {},
        [[1, 2], [3]],
        [],
    ],
)
def test_a_form_that_is_none_is_refused(form: object) -> None:
    with pytest.raises(UsageError):
        decoded(form, "L2")


@pytest.mark.full
def test_the_same_question_has_the_same_strategy() -> None:
    forms = []
    for _ in range(2):
        ordered.__dict__["_best"].cache_clear()
        ordered.__dict__["_kernel"].cache_clear()
        forms.append(
            [best_strategy({"ranges": 1}, n, norm).form for n, norm in ((80, "L2"), (260, "L1"))]
        )
    assert forms[0] == forms[1]
