"""Strategies of cells: exact sensitivities, and never more error than one by one."""

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.tables.joint.test_family import matrix

import tacit as tc
from tacit.arithmetic.mixing import Repeatable
from tacit.errors import UsageError
from tacit.tables.joint.strategy import (
    READINGS,
    CellStrategy,
    counted_sets,
    largest_sets,
    magnitudes,
    names_of,
    size_of,
    squares,
    subsets_of,
    summed,
    taken,
)
from tacit.workload.range_strategies import gram_of
from tacit.workload.synthetic import nonnegative_marginals


def residual_matrix(sizes):
    """Q of a set of axes, from its definition."""
    found = np.ones((1, 1), dtype=np.int64)
    for n in sizes:
        found = np.kron(found, n * np.eye(n, dtype=np.int64) - 1)
    return found


@pytest.mark.parametrize("sizes", [(2,), (5,), (2, 3), (4, 2, 3)])
def test_the_stretch_is_the_largest_norm_of_a_column(sizes):
    everything = tuple(range(len(sizes)))
    strategy = CellStrategy(sizes, ((everything, 1),), residual=True)
    columns = (residual_matrix(sizes) ** 2).sum(axis=0)
    assert strategy.squared_row_sensitivity(everything) == columns.max() == columns.min()


def drawn(source):
    sizes = tuple(source.randint(2, 6) for _ in range(source.randint(1, 4)))
    every = list(subsets_of(tuple(range(len(sizes)))))
    asked = source.sample(every, source.randint(1, min(len(every), 6)))
    cells = [math.prod(source.randint(1, sizes[i] - 1) for i in s) for s in asked]
    return sizes, tuple((s, n * source.randint(1, 3)) for s, n in zip(asked, cells, strict=True))


def variance(strategy, subset, known):
    total = 0.0
    for part in subsets_of(subset):
        rest = math.prod(strategy.sizes[i] for i in subset if i not in part)
        total += known[part] * math.prod(1 - 1 / strategy.sizes[i] for i in part) / rest**2
    return total


def variances(strategy):
    """The number s_B of every residual, at rho = 1/2 or epsilon = sqrt 2, from the definition."""
    found, precise = {}, {}
    for subset, share in strategy.measured:
        n = math.prod(strategy.sizes[i] for i in subset)
        if strategy.residual:
            found[subset] = strategy.squared_row_sensitivity(subset) / float(share) / n**2
            continue
        for part in subsets_of(subset):
            rest = math.prod(strategy.sizes[i] for i in subset if i not in part)
            precise[part] = precise.get(part, 0.0) + float(share) ** 2 / rest
    return found or {part: 1 / value for part, value in precise.items()}


@pytest.mark.parametrize("seed", range(30))
def test_with_gaussian_noise_it_is_never_worse_than_one_by_one(seed):
    sizes, asked = drawn(random.Random(seed))
    strategy = CellStrategy(sizes, asked, residual=True)
    known = variances(strategy)
    together = sum(weight * variance(strategy, s, known) for s, weight in asked)
    best_split = sum(math.sqrt(weight) for _, weight in asked) ** 2
    assert together <= best_split * (1 + 1e-4)


@pytest.mark.parametrize("seed", range(30))
def test_with_laplace_noise_it_is_never_worse_than_one_by_one(seed):
    sizes, asked = drawn(random.Random(seed))
    strategy = CellStrategy(sizes, asked, residual=False)
    known = variances(strategy)
    together = sum(weight * variance(strategy, s, known) for s, weight in asked)
    best_split = sum(weight ** (1 / 3) for _, weight in asked) ** 3
    assert together <= best_split * (1 + 2e-3)


@pytest.mark.parametrize("seed", range(5))
def test_no_other_split_of_the_residuals_is_better(seed):
    source = random.Random(seed)
    sizes, asked = drawn(source)
    strategy = CellStrategy(sizes, asked, residual=True)

    def total(shares):
        known = {}
        for (subset, _), share in zip(strategy.measured, shares, strict=True):
            n = math.prod(sizes[i] for i in subset)
            known[subset] = strategy.squared_row_sensitivity(subset) / share / n**2
        return sum(weight * variance(strategy, s, known) for s, weight in asked)

    best = [float(share) for _, share in strategy.measured]
    for _ in range(50):
        tried = [share * source.uniform(0.5, 2) for share in best]
        assert total(best) <= total([share / sum(tried) for share in tried]) * (1 + 1e-4)


@pytest.mark.parametrize("residual", [True, False])
def test_shares_add_up_and_every_answer_follows(residual):
    pairs = tuple((pair, 12) for pair in itertools.combinations(range(6), 2))
    strategy = CellStrategy((4,) * 6, pairs, residual)
    assert sum(share for _, share in strategy.measured) == 1
    assert all(share > 0 for _, share in strategy.measured)
    reached = {part for s, _ in strategy.measured for part in ([s] if residual else subsets_of(s))}
    assert set(strategy.needed) <= reached


def test_one_question_is_answered_as_by_itself():
    strategy = CellStrategy((4,), (((0,), 3),), residual=True)
    known = variances(strategy)
    assert variance(strategy, (0,), known) == pytest.approx(1, rel=1e-5)
    assert CellStrategy((4,), (((0,), 3),), residual=False).measured == (((0,), Fraction(1)),)


def test_more_cells_than_fit_are_refused_with_their_number():
    with pytest.raises(UsageError, match=r"100,000,000 cells"):
        CellStrategy((10_000, 10_000), (((0, 1), 1),), residual=True)


@pytest.mark.parametrize("seed", range(12))
def test_counts_lifted_above_zero_have_no_larger_total_of_squared_errors(seed):
    source = random.Random(seed)
    sizes, asked = drawn(source)
    strategy = CellStrategy(sizes, asked, residual=True)
    turns = np.random.RandomState(seed)
    truth = turns.poisson(0.4, sizes)
    noisy = truth + turns.normal(0, 2, sizes)
    covers = largest_sets(s for s, _ in asked)

    def on(table, subset, axes):
        return table.sum(axis=tuple(p for p, i in enumerate(axes) if i not in subset))

    every = tuple(range(len(sizes)))
    start = {s: np.asarray(on(noisy, s, every)) for s in dict.fromkeys(covers.values())}
    lifted = nonnegative_marginals(start, {p: 1 / w for p, w in strategy.weights.items()})

    def total(tables, against):
        return sum(
            weight * np.mean((on(tables[covers[s]], s, covers[s]) - on(against, s, every)) ** 2)
            for s, weight in asked
        )

    assert min(table.min() for table in lifted.values()) >= 0
    assert total(lifted, truth) <= total(start, truth) * (1 + 1e-9)
    # the sum of squares over the residuals is that of the definition
    part = residuals_of(noisy, every)
    found = sum(w * float((part[p] ** 2).sum()) for p, w in strategy.weights.items())
    assert found == pytest.approx(total(start, np.zeros(sizes)))


def residuals_of(table, every):
    """The residual of each set of axes: its marginal, less the means along each of them."""
    found = {}
    for part in subsets_of(every):
        told = np.asarray(table.sum(axis=tuple(i for i in every if i not in part)))
        for axis in range(told.ndim):
            told = told - told.mean(axis=axis, keepdims=True)
        found[part] = told
    return found


# Sets of axes that the engine counts: every wanted one lies within, and its counts are sums.


SIZES = [3, 2, 5, 4, 2, 7, 300, 2000, 3, 6]


@pytest.mark.parametrize("ways", [1, 2, 3])
def test_every_set_lies_within_the_counted_one(ways):
    wanted = [*itertools.combinations(range(len(SIZES)), ways), (0,), ()]
    for found in (largest_sets(wanted), counted_sets(wanted, SIZES)):
        for part, held in found.items():
            assert set(part) <= set(held)
        assert set(wanted) <= set(found)
    for subset, held in counted_sets(wanted, SIZES).items():
        cells = math.prod(SIZES[i] for i in held)
        assert cells <= 1 << 20 or any(set(subset) <= set(one) and held == one for one in wanted)


def test_pairs_of_many_columns_take_few_queries():
    pairs = list(itertools.combinations(range(100), 2))
    assert len(set(counted_sets(pairs, [5] * 100).values())) <= 25 * 26 / 2
    few = pairs[:10]
    assert counted_sets(few, [5] * 100) == largest_sets(few)


def test_sums_are_those_of_the_whole_table():
    stream, sizes = Repeatable(4), [3, 2, 4]
    whole = np.array([int(stream.uniform(0, 9)) * (1 << 40) for _ in range(24)])
    occur = np.flatnonzero(whole)
    for ways in range(4):
        for subset in itertools.combinations(range(3), ways):
            gone = tuple(i for i in range(3) if i not in subset)
            right = whole.reshape(sizes).sum(axis=gone)
            found = summed(occur, whole[occur], (0, 1, 2), subset, sizes)
            assert found.dtype == object
            assert np.array_equal(found, right)
    assert not summed([], [], (0, 1, 2), (0, 2), sizes).any()


@pytest.mark.full
@pytest.mark.parametrize("unit", [tc.one_row_each, tc.unit("c0", rows=2)], ids=str)
def test_a_plan_of_many_pairs_counts_what_each_pair_counts(unit):
    columns = {
        f"c{i}": [(j * (i + 2) + j // 5) % (3 + i % 2) for j in range(200)] for i in range(8)
    }
    keys = [0, 1, 3]
    with tc.Session(pa.table(columns), unit, tc.rho(10**8), tc.in_memory, name="p") as session:
        asked = {
            (a, b): session.group_by(a, b, keys={a: keys, b: keys}).agg(**{f"{a}_{b}": tc.count()})
            for a, b in itertools.combinations(columns, 2)
        }
        answers = session.plan(list(asked.values())).release(rho=10**7)
        for (a, b), answer in zip(asked, answers, strict=True):
            if unit is tc.one_row_each:
                rows = list(zip(columns[a], columns[b], strict=True))
                right = [rows.count(key) for key in answer.keys]
                assert np.allclose(answer.column(f"{a}_{b}")["value"], right, atol=0.5)
            else:
                assert len(answer.keys) == 9
        assert answers[0].certificate.verify(session.ledger)


# Readings of bins agree with the matrix of their questions.


@pytest.mark.parametrize("bins", [1, 2, 5])
@pytest.mark.parametrize("reading", READINGS)
def test_by_the_matrix_of_its_questions(reading, bins):
    w = matrix(reading, bins).astype(float)
    cells = np.arange(1.0, 3 * bins + 1).reshape(3, bins)
    weights = np.cos(np.arange(4 * bins)).reshape(bins, 4)
    assert len(w) == size_of(reading, bins) == len(names_of(reading, range(bins + 1)))
    assert np.allclose(gram_of(((reading, 1),), bins), w.T @ w)
    assert np.allclose(taken(reading, cells), cells @ w.T)
    assert np.allclose(
        squares(reading, weights @ weights.T), np.diag(w @ weights @ weights.T @ w.T)
    )
    assert np.allclose(magnitudes(reading, weights), np.abs(w @ weights).sum(axis=1))


@pytest.mark.parametrize("cells", [2, 3])  # unlisted="drop", and with a cell of all others
def test_ninety_three_residuals_are_not_above_noise_on_the_cells_or_one_by_one(cells):
    triples = list(itertools.combinations(range(8), 3))
    strategy = CellStrategy((cells,) * 8, tuple((one, 8) for one in triples), residual=False)
    assert len(strategy.needed) == 93
    one_by_one = 8 * len(triples) ** 3
    from_cells = 8 * len(triples) * cells**5
    assert strategy.total <= min(one_by_one, from_cells) * (1 + 1e-9)
