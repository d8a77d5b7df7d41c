"""Strategies of cells: exact sensitivities, and never more error than one by one."""

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest

from tacit.errors import UsageError
from tacit.tables.together.strategy import CellStrategy, largest_sets, subsets_of
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
    assert strategy.squared_stretch(everything) == columns.max() == columns.min()


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
            found[subset] = strategy.squared_stretch(subset) / float(share) / n**2
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
            known[subset] = strategy.squared_stretch(subset) / share / n**2
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
