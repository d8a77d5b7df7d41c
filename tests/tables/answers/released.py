"""Helpers: what a part releases on known sums, many times over, with real noise."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from scipy.stats import binom

from tacit import noise
from tacit.expressions.grid import Grid
from tacit.tables.answers.moments import MomentsPart
from tacit.tables.chain.part import Noise

LEVEL = 0.95
CHANCE = 1e-7
"""The chance that one honest interval fails a test by bad luck."""


def enough(runs: int, level: float = LEVEL) -> int:
    """The fewest hits in ``runs`` that a true coverage of ``level`` gives, but for bad luck."""
    return int(binom.ppf(CHANCE, runs, level))


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
