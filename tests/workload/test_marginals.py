"""Marginals: the closed form against the bound, brute force and drawn noise."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from tacit.errors import UsageError
from tacit.workload import marginals, queries

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


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_totals_are_those_of_least_squares(kind: str) -> None:
    """The variances of residuals against a least squares of explicit matrices."""
    asked = marginals(DOMAIN, (1, 2))
    sizes, needed = list(DOMAIN.values()), asked.residuals
    rows = rows_of(sizes, asked.subsets)
    if kind == "laplace":
        shares = needed.laplace_shares()
        variances = needed.laplace_variances(shares)
        shared = zip(needed.subsets, shares, strict=True)
        each = [(rows_of(sizes, (s,)), 1 / t) for s, t in shared if t]
    else:
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
