"""Strategies of whole numbers: their sensitivity against its definition, and what they answer."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit as tc
import tacit.workload.strategies as room
from tacit.errors import UsageError
from tacit.workload import marginals, prefix_sums, queries, ranges
from tacit.workload import range_strategies as ordered
from tacit.workload import strategies as module
from tacit.workload.cells import Workload
from tacit.workload.cells import prefix_sums as many_bins_prefix_sums
from tacit.workload.cells import ranges as many_bins_ranges
from tacit.workload.range_strategies import best_strategy, check_bins, check_numbers
from tacit.workload.strategies import (
    Blocks,
    Strategy,
    block_tree,
    cholesky,
    convex_optimum,
    identity,
    inverse,
    minimise,
    p_identity,
    product,
    rounded,
    sliced_product,
    square_root,
    trace_of_product,
    wavelet,
)

MATRICES = st.integers(1, 5).flatmap(
    lambda cells: st.lists(
        st.lists(st.integers(-9, 9), min_size=cells, max_size=cells), min_size=1, max_size=6
    )
)


@given(MATRICES, st.lists(st.integers(0, 4), min_size=5, max_size=5))
def test_a_row_more_moves_the_combinations_by_the_sensitivity_at_most(
    matrix: list[list[int]], counts: list[int]
) -> None:
    whole = np.array(matrix, dtype=np.int64)
    before = np.array(counts[: whole.shape[1]])
    reached = {"L1": Fraction(0), "L2": Fraction(0)}
    for cell in range(whole.shape[1]):
        after = before.copy()
        after[cell] += 1
        moved = [int(v) for v in whole @ after - whole @ before]
        reached["L1"] = max(reached["L1"], Fraction(sum(map(abs, moved))) ** 2)
        reached["L2"] = max(reached["L2"], Fraction(sum(v * v for v in moved)))
    for norm, square in reached.items():
        found = Strategy("drawn", whole, norm)
        assert found.squared_sensitivity == square
        assert found.sensitivity**2 >= square
        assert found.sensitivity**2 <= square * (1 + Fraction(1, 10**6))


@pytest.mark.parametrize("cells", [1, 2, 3, 5, 8, 13, 16])
def test_hierarchies_tell_every_cell(cells: int) -> None:
    for norm in ("L1", "L2"):
        for found in (identity(cells, norm), block_tree(cells, 2, norm), wavelet(cells, norm)):
            assert np.allclose(found.inverse @ found.matrix, np.eye(cells))


def test_sensitivities_of_hierarchies() -> None:
    assert identity(9, "L1").sensitivity == 1
    assert block_tree(16, 2, "L1").sensitivity == 5
    assert block_tree(16, 4, "L2").squared_sensitivity == 3
    assert wavelet(16, "L1").sensitivity == 5


def test_the_covariance_is_that_of_least_squares() -> None:
    tree = block_tree(5, 2, "L2")
    square = math.isqrt(tree.squared_sensitivity**2)
    assert np.allclose(tree.covariance, square * tree.inverse @ tree.inverse.T)


def test_a_rounded_strategy_is_measured_as_it_is() -> None:
    found = rounded("example", np.array([[0.6, 0.1], [0.3, 0.4]]), "L1", 10)
    assert found.matrix.tolist() == [[6, 1], [3, 4]]
    assert found.sensitivity == 9


def test_entries_that_could_overflow_are_refused() -> None:
    with pytest.raises(UsageError, match="2\\^20"):
        Strategy("large", np.array([[1 << 21]]), "L1")


# p-identities: the gradient against differences, the columns, and less error than the cells.


def test_the_gradient_is_that_of_the_value() -> None:
    gram = ranges(7).gram
    point = np.random.default_rng(1).random((2, 7))
    blocks = Blocks(gram, np.diag(gram), np.ones(7))  # of one cell each
    value_of = module.__dict__["_error"]

    def error(point, _):
        return value_of(point, blocks)

    value, slope = error(point, gram)
    matrix = np.vstack([np.eye(7), point]) / (1 + point.sum(axis=0))
    assert np.isclose(value, np.trace(np.linalg.solve(matrix.T @ matrix, gram)))
    for place in np.ndindex(2, 7):
        moved = point.copy()
        moved[place] += 1e-6
        assert np.isclose(
            (error(moved, gram)[0] - value) / 1e-6, slope[place], rtol=1e-3, atol=1e-3
        )


def test_it_beats_the_cells_on_ranges() -> None:
    gram = ranges(32).gram
    found = p_identity(gram, 2)
    assert (found >= 0).all()
    assert np.allclose(found.sum(axis=0), 1)
    assert np.trace(np.linalg.solve(found.T @ found, gram)) < 0.9 * np.trace(gram)


# The convex optimum: feasible, between its bound and every strategy that is tried.


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 9))
def test_it_is_feasible_and_near_its_bound(seed: int, cells: int, questions: int) -> None:
    rows = np.random.default_rng(seed).integers(-2, 3, (questions, cells)).astype(float)
    gram = rows.T @ rows
    if not gram.any():
        return
    found = convex_optimum(gram)
    assert np.diag(found.square).max() <= 1 + 1e-9
    whole = gram + np.eye(cells) * (1e-9 * np.trace(gram) / cells)
    error = float(np.trace(np.linalg.solve(found.square, whole)))
    assert found.bound * (1 - 1e-6) <= error <= found.bound * 1.01 + 1e-3 * np.trace(gram)
    assert found.bound <= np.trace(gram) * (1 + 1e-9)  # the cells themselves are a strategy


def test_the_factor_is_one() -> None:
    found = convex_optimum(ranges(12).gram)
    assert np.allclose(found.factor().T @ found.factor(), found.square)


# The minimum over numbers that are not negative, against ones known by hand.


def test_a_coordinate_that_wants_below_zero_stays_at_zero() -> None:
    goal = np.array([2.0, -1.0, 0.5])

    def away(x: np.ndarray) -> tuple[float, np.ndarray]:
        return float(((x - goal) ** 2).sum()), 2 * (x - goal)

    assert np.allclose(minimise(away, np.ones(3), 100), [2.0, 0.0, 0.5])


def test_a_narrow_valley_is_followed() -> None:
    scales = np.array([1.0, 1e4])

    def valley(x: np.ndarray) -> tuple[float, np.ndarray]:
        return float((scales * (x - 3) ** 2).sum()), 2 * scales * (x - 3)

    assert np.allclose(minimise(valley, np.zeros(2), 200, 0), [3.0, 3.0], atol=1e-5)


# Workloads over cells: their sums, published errors, bounds, and drawn noise.


def all_ranges(cells: int) -> np.ndarray:
    """Every range as a row, by its definition."""
    found = [
        [int(start <= cell <= end) for cell in range(cells)]
        for start, end in itertools.combinations_with_replacement(range(cells), 2)
    ]
    return np.array(found)


@pytest.mark.parametrize("cells", [1, 2, 5, 9])
def test_sums_of_ranges_and_prefixes_are_those_of_their_rows(cells: int) -> None:
    rows = all_ranges(cells)
    assert np.array_equal(ranges(cells).gram, rows.T @ rows)
    assert ranges(cells).size == len(rows)
    rows = np.array([[int(c <= end) for c in range(cells)] for end in range(cells)])
    assert np.array_equal(prefix_sums(cells).gram, rows.T @ rows)


@pytest.mark.full
def test_published_errors_of_hierarchies() -> None:
    """All ranges of 256 cells at unit budget, as the authors of the matrix mechanism have them."""
    asked = ranges(256)
    assert asked.error_of(identity(256, "L2"), rho="1/2") == pytest.approx(9.274, abs=0.001)
    assert asked.lower_bound(rho="1/2") == pytest.approx(2.876, abs=0.001)
    assert asked.error_of(wavelet(256, "L2"), rho="1/2") == pytest.approx(3.505, abs=0.001)
    assert asked.error_of(block_tree(256, 2, "L2"), rho="1/2") == pytest.approx(3.835, abs=0.001)


@pytest.mark.full
def test_all_ranges_of_256_cells_are_near_the_published_optimum() -> None:
    assert ranges(256).expected_error(rho="1/2") <= 2.91  # the optimum is 2.902


@pytest.mark.slow
def test_all_ranges_of_256_cells_by_a_p_identity() -> None:
    assert ranges(256).expected_error(epsilon=2**0.5) <= 5.75  # the cells themselves: 9.27


@pytest.mark.parametrize("loss", [{"rho": "1/2"}, {"epsilon": 1}])
def test_the_chosen_strategy_is_no_worse_than_any_that_is_tried(loss: dict[str, object]) -> None:
    asked = ranges(20)
    best = asked.expected_error(**loss)
    for other in (identity(20, "L2"), block_tree(20, 2, "L2"), wavelet(20, "L2")):
        assert best <= asked.error_of(other, **loss) * (1 + 1e-9)
    assert asked.lower_bound(**loss) <= best


def test_noise_on_the_combinations_gives_the_expected_error() -> None:
    asked = queries(all_ranges(8).tolist())
    plan = asked.strategy(rho="1/2")
    sigma = plan.sensitivity  # at rho 1/2
    assert asked.rows is not None
    noise = np.array(tc.noise.discrete_gaussian(sigma, 4000 * len(plan.matrix)), dtype=float)
    answers = noise.reshape(4000, -1) @ (asked.rows @ plan.inverse).T
    measured = float(np.sqrt((answers**2).mean()))
    assert measured == pytest.approx(asked.expected_error(rho="1/2"), rel=0.06)


def test_what_cannot_be_planned_is_refused() -> None:
    with pytest.raises(UsageError, match=r"all ranges of 65,537 cells are not planned"):
        ranges(65_537)
    with pytest.raises(UsageError, match=r"10,000 cells takes matrices of 0\.8 GB"):
        _ = ranges(10_000).gram
    with pytest.raises(UsageError, match=r"10,000 cells takes matrices of 0\.8 GB"):
        queries([[1] * 10_000])
    with pytest.raises(UsageError, match="a matrix of numbers"):
        queries([[1, 2], [3]])
    with pytest.raises(UsageError, match="weight above zero"):
        queries([[1, 2], [3, 4]], weights=[1, 0])
    with pytest.raises(UsageError, match="say the privacy loss"):
        ranges(4).expected_error()


def test_a_question_that_counts_more_is_answered_better() -> None:
    rows = np.eye(4).tolist()
    even, heavy = queries(rows), queries(rows, weights=[9, 1, 1, 1])

    def variance(asked: tc.workload.Workload) -> float:
        return float(asked.strategy(rho=1).covariance[0, 0])

    assert variance(heavy) <= variance(even)


def test_weights_count_squared_errors_and_the_error_stays_in_rows() -> None:
    rows = [[1, 1, 0], [0, 1, 1], [1, 0, 0]]
    heavy, repeated = (
        queries(rows, weights=[4, 1, 2]),
        queries([rows[0]] * 4 + [rows[1]] + [rows[2]] * 2),
    )
    assert np.array_equal(heavy.gram, repeated.gram)
    for loss in ({"rho": "1/2"}, {"epsilon": 1}):
        assert heavy.expected_error(**loss) == repeated.expected_error(**loss)
        assert heavy.lower_bound(**loss) == repeated.lower_bound(**loss)
    alike = queries(rows, weights=[10, 10, 10])
    assert alike.expected_error(rho=1) == pytest.approx(
        queries(rows).expected_error(rho=1), rel=1e-3
    )


# Strategies for bins in order: near the convex optimum, and steady linear algebra.


@pytest.mark.parametrize("made", [tc.workload.ranges, tc.workload.prefix_sums])
@pytest.mark.parametrize("bins", [1, 2, 7, 24])
def test_they_are_near_what_no_strategy_is_below(made, bins):
    asked = made(bins)
    gaussian = best_strategy({asked.reading: 1}, bins, "L2")
    assert asked.error_of(gaussian, rho="1/2") <= 1.002 * asked.expected_error(rho="1/2")
    laplace = best_strategy({asked.reading: 1}, bins, "L1")
    assert asked.error_of(laplace, epsilon=1) <= 1.01 * asked.expected_error(epsilon=1)
    assert laplace.sensitivity**2 == laplace.squared_sensitivity
    assert laplace.sensitivity == np.abs(laplace.matrix).sum(axis=0).max()


@pytest.mark.slow
def test_all_ranges_of_256_bins():
    asked = tc.workload.ranges(256)
    assert asked.error_of(best_strategy({"ranges": 1}, 256, "L2"), rho="1/2") <= 2.91
    assert asked.error_of(best_strategy({"ranges": 1}, 256, "L1"), epsilon=2**0.5) <= 5.8


def test_too_many_bins_are_refused_with_their_number():
    check_bins(1024)
    with pytest.raises(UsageError, match="2,000 bins of a column take matrices of 32 MB"):
        check_bins(2000)
    check_numbers(1 << 18, 1)
    with pytest.raises(UsageError, match="1,000 bins have 500,500 ranges"):
        check_numbers(500_500, 1000)


@pytest.mark.parametrize("size", [1, 2, 5, 30])
def test_steady_linear_algebra_is_that_of_numpy(size):
    drawn = np.cos(np.arange(size * size) ** 1.5).reshape(size, size)
    matrix = drawn @ drawn.T + np.eye(size)
    assert np.allclose(product(drawn, matrix), drawn @ matrix)
    assert np.isclose(trace_of_product(drawn, matrix), np.trace(drawn @ matrix.T))
    assert np.allclose(cholesky(matrix), np.linalg.cholesky(matrix))
    assert np.allclose(inverse(matrix), np.linalg.inv(matrix))
    root = square_root(matrix)
    assert np.allclose(root @ root, matrix)
    assert np.allclose(root, root.T)
    assert np.linalg.eigvalsh(root).min() > 0


# More bins than are optimised one by one: blocks of them, near the optimum and on both sides.


def test_sums_of_blocks_have_the_error_that_is_descended():
    """The value and its gradient are those of the whole matrix, by finite differences."""
    error = room.__dict__["_error"]
    rng = np.random.default_rng(3)
    block = np.array([0, 0, 1, 1, 1, 2, 3])
    gram = np.cov(rng.normal(size=(7, 20)))
    starts = np.searchsorted(block, np.arange(4))
    sums = np.add.reduceat(np.add.reduceat(gram, starts, axis=0), starts, axis=1)
    diagonal = np.add.reduceat(np.diag(gram), starts)
    asked = Blocks(sums, diagonal, np.bincount(block).astype(float))
    weights = rng.random((2, 4))

    def whole(weights):
        wide = weights[:, block]
        matrix = np.vstack([np.eye(7), wide]) / (1 + wide.sum(axis=0))
        return float(np.trace(gram @ np.linalg.inv(matrix.T @ matrix)))

    for multiply in (product, sliced_product):
        value, slope = error(weights, asked, multiply)
        assert value == pytest.approx(whole(weights), rel=1e-9)
        for place in np.ndindex(weights.shape):
            step = np.zeros_like(weights)
            step[place] = 1e-6
            found = (whole(weights + step) - whole(weights - step)) / 2e-6
            assert slope[place] == pytest.approx(found, rel=1e-4, abs=1e-6)


def test_a_sliced_product_is_the_product_whatever_the_order_of_its_sums():
    rng = np.random.default_rng(5)
    left, right = rng.normal(size=(9, 1500)) * 1e5, rng.normal(size=(1500, 40)) * 1e-3
    found = sliced_product(left, right)
    assert np.allclose(found, left @ right, rtol=0, atol=1e-8 * np.abs(left @ right).max())
    order = rng.permutation(1024)
    few = sliced_product(left[:, :1024], right[:1024])
    assert np.array_equal(few, sliced_product(left[:, order], right[order]))


@pytest.mark.few(3)
@pytest.mark.parametrize("norm", ["L2", "L1"])
@pytest.mark.parametrize(
    "asked", [many_bins_prefix_sums, many_bins_ranges], ids=["prefix sums", "ranges"]
)
def test_the_error_does_not_leap_where_few_numbers_state_a_strategy(asked, norm, monkeypatch):
    """As from 65 or 257 cells on, here from 49 on: no simple strategy is better."""
    monkeypatch.setattr(ordered, "_OPTIMISED", {"L1": 48, "L2": 48})
    monkeypatch.setattr(ordered, "_BLOCKS", 48)
    ordered.__dict__["_best"].cache_clear()
    errors = {}
    for bins in (48, 49, 60, 96):
        work: Workload = asked(bins)
        found = best_strategy({work.reading: 1}, bins, norm)
        errors[bins] = (work.total(found) / work.size) ** 0.5
        simple = [identity(bins, norm), wavelet(bins, norm)]
        simple += [block_tree(bins, wide, norm) for wide in (2, 4, 16)]
        assert work.total(found) <= min(map(work.total, simple)) * (1 + 1e-6)
    ordered.__dict__["_best"].cache_clear()
    assert errors[48] * 0.99 < errors[49] < errors[48] * 1.1
    assert errors[49] < errors[60] * 1.02 < errors[96] * 1.04


def test_more_than_fit_are_refused_with_their_size():
    with pytest.raises(UsageError, match=r"1,025 bins of a column take matrices of 8 MB"):
        tc.prefix_sums("age", range(1026))
    with pytest.raises(UsageError, match=r"724 bins have 262,450 ranges"):
        tc.ranges("age", range(725))
    assert len(tc.ranges("age", range(724)).edges) == 724


# Marginals: the closed form against the bound, brute force and drawn noise.


DOMAIN = {"sex": 2, "site": 3, "age": 4}


def rows_of(sizes: list[int], subsets: tuple[tuple[int, ...], ...]) -> np.ndarray:
    """The marginals as rows over the cells of the whole domain, by their definition."""
    cells = list(itertools.product(*(range(n) for n in sizes)))
    found = []
    for subset in subsets:
        for key in itertools.product(*(range(sizes[i]) for i in subset)):
            found.append([int(tuple(cell[i] for i in subset) == key) for cell in cells])
    return np.array(found, dtype=float)


@pytest.mark.parametrize("ways", [1, 2, (1, 2), (0, 3)])
def test_gaussian_noise_is_at_the_bound_and_at_the_optimum_of_the_whole_domain(
    ways: int | tuple[int, ...],
) -> None:
    asked = marginals(DOMAIN, ways)
    whole = queries(rows_of(list(DOMAIN.values()), asked.subsets).tolist())
    assert asked.size == whole.size
    assert asked.expected_error(rho=1) == pytest.approx(asked.lower_bound(rho=1))
    assert asked.lower_bound(rho=1) == pytest.approx(whole.lower_bound(rho=1))
    assert asked.expected_error(rho=1) <= whole.expected_error(rho=1) * 1.001


def test_laplace_noise_is_no_worse_than_an_even_split() -> None:
    asked = marginals(DOMAIN, (1, 2))
    even = math.sqrt(2) * len(asked.subsets)
    assert asked.lower_bound(epsilon=1) <= asked.expected_error(epsilon=1) <= even


def test_totals_are_those_of_least_squares() -> None:
    """The variances of residuals against a least squares of explicit matrices."""
    asked = marginals(DOMAIN, (1, 2))
    sizes, needed = list(DOMAIN.values()), asked.residuals
    rows = rows_of(sizes, asked.subsets)
    shares = needed.gaussian_shares()
    variances = needed.gaussian_variances(shares)
    each = []
    for subset, variance in zip(needed.subsets, variances, strict=True):
        project = np.ones((1, 1))
        for i in subset:
            project = np.kron(project, np.eye(sizes[i]) - 1 / sizes[i])
        each.append((project @ rows_of(sizes, (subset,)), math.sqrt(variance)))
    # each costs its largest column over its variance, and together that is 2 rho = 1
    spent = sum(float((m**2).sum(axis=0).max()) / d**2 for m, d in each)
    assert spent == pytest.approx(1)
    matrix = np.vstack([m / deviation for m, deviation in each])
    covariance = np.linalg.pinv(matrix.T @ matrix)
    total = float(np.trace(rows @ covariance @ rows.T))
    assert needed.total(variances) == pytest.approx(total)


@pytest.mark.full
def test_pairs_of_a_hundred_attributes_are_planned_quickly() -> None:
    asked = marginals([10] * 100, 2)
    assert len(asked.residuals.subsets) == 1 + 100 + 4950
    assert asked.expected_error(rho=1) == pytest.approx(asked.lower_bound(rho=1))
    assert asked.expected_error(epsilon=1) <= math.sqrt(2) * 4950


def test_what_is_no_marginal_is_refused() -> None:
    with pytest.raises(UsageError, match="no attribute 'sexx'"):
        marginals(DOMAIN, [["sexx"]])
    with pytest.raises(UsageError, match="0 to 3 attributes"):
        marginals(DOMAIN, 4)
    with pytest.raises(UsageError, match="at least one attribute"):
        marginals({}, 1)
    with pytest.raises(UsageError, match="are planned"):
        marginals([2] * 400, 3)
