"""Helpers: what a part releases on known sums, many times over, with real noise."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import special

from tacit import noise
from tacit.expressions.grid import Grid
from tacit.tables.statistics.covariance_and_regression import ProductsPart
from tacit.tables.statistics.moments import MomentsPart
from tacit.tables.statistics.part import Noise

LEVEL = 0.95
CHANCE = 1e-7
"""The chance that one honest interval fails a test by bad luck."""


def enough(runs: int, level: float = LEVEL) -> int:
    """The fewest hits in ``runs`` that a true coverage of ``level`` gives, but for bad luck."""
    hits = math.ceil(special.bdtrik(CHANCE, runs, level))  # scipy.stats takes seconds to load
    return hits - (special.bdtr(hits - 1, runs, level) >= CHANCE)


def noisy(part: MomentsPart, exact: Any, spent: Noise, runs: int) -> np.ndarray:
    """Draw the noisy vector of one group ``runs`` times: shape (runs, width)."""
    scale = spent.scale(Fraction(spent.rows))
    grid = Fraction(1, spent.one * part.grid.cells**part.degree)
    draw = noise.discrete_laplace if spent.kind == "laplace" else noise.discrete_gaussian
    drawn = draw(scale / grid, runs * part.width).astype(np.float64) * float(grid)
    return np.asarray(exact, dtype=np.float64)[None, :] + drawn.reshape(runs, part.width)


def bernstein_sums(y: np.ndarray, degree: int, absent: float | None) -> list[float]:
    """The Bernstein sums of values in [0, 1], by their definition."""
    sums = (
        [float((1 - y).sum()), float(y.sum())]
        if degree == 1
        else [float(((1 - y) ** 2).sum()), float((2 * y * (1 - y)).sum()), float((y**2).sum())]
    )
    return sums if absent is None else [*sums, absent]


def moments_part(
    kinds: set[str], *, whole: bool = False, missing: bool = False, upper: int = 10
) -> MomentsPart:
    """A part for a column within [-2, upper]."""
    grid = Grid.for_bounds(-2, upper, bits=12, whole=whole)
    return MomentsPart("x", grid, frozenset(kinds), missing)


def product_sums(part: ProductsPart, spent: Noise, s: np.ndarray) -> np.ndarray:
    """The coordinates of rows in [-1, 1]^m, as the docstring of the basis defines them."""
    m = s.shape[1]
    if part.basis(spent).corners:
        corners = itertools.product((-1, 1), repeat=m)
        found = [np.prod((1 + np.array(h) * s) / 2, axis=1) for h in corners]
    else:
        pairs = itertools.combinations(range(m), 2)
        found = [np.ones(len(s)), *s.T, *(s[:, i] * s[:, j] for i, j in pairs)]
    share = 0.5 if part.basis(spent).corners else 1.0
    found += [share * (s[:, i] ** 2 - 0.5) for i in part.squares]
    return np.array([each.sum() for each in found])


def noisy_products(part: ProductsPart, spent: Noise, s: np.ndarray, runs: int) -> np.ndarray:
    """Draw the noisy coordinates of one group ``runs`` times: shape (runs, width)."""
    basis = part.basis(spent)
    scale = spent.scale(basis.sensitivity(spent.norm) * spent.rows)
    grid = Fraction(1, spent.one * basis.unit)
    draw = noise.discrete_laplace if spent.kind == "laplace" else noise.discrete_gaussian
    drawn = draw(scale / grid, runs * basis.width).astype(np.float64) * float(grid)
    return product_sums(part, spent, s)[None, :] + drawn.reshape(runs, basis.width)


PRODUCT_NOISES = {
    "laplace": Noise("laplace", Fraction(1, 2), 1),
    "laplace, people": Noise("laplace", Fraction(2), 4, 1 << 20),
    "gaussian": Noise("gaussian", Fraction(1, 8), 1),
    "gaussian, strong": Noise("gaussian", Fraction(20), 1),
}


@lru_cache(maxsize=4)
def shapes(size: int, columns: int) -> dict[str, np.ndarray]:
    """Rows in [-1, 1]^columns of several shapes: alike, related, one constant, on two corners."""
    source = np.random.default_rng(7)
    free = source.uniform(-1, 1, size=(size, columns))
    related = free.copy()
    related[:, 0] = np.clip(0.7 * free[:, 1] + 0.2 * free[:, 0], -1, 1)
    constant = free.copy()
    constant[:, 1] = 0.25
    corners = np.where(np.arange(size)[:, None] % 2, 1.0, -1.0) * np.ones((1, columns))
    skewed = np.abs(free) ** 5 * 2 - 1
    return {
        "free": free,
        "related": related,
        "constant": constant,
        "corners": corners,
        "skewed": skewed,
    }
