"""What a Session does by default, as candidates: the global methods that tables are answered with.

A quantile is chosen by the exponential mechanism among the points of the column's grid; a mean, a
variance and a deviation are worked out from noisy Bernstein sums.  Sums and counts have noise on
the value, which is a candidate already.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit import noise
from tacit.audit.comparison.candidate import Asked, Candidate
from tacit.expressions.grid import Grid
from tacit.mechanisms.selection.private_quantile import choose_cell, error_in_cost, quantile_costs
from tacit.statistics.means.mean import Mean
from tacit.statistics.quantiles.min_max import Maximum, Minimum
from tacit.statistics.quantiles.quantile import Median, Quantile
from tacit.statistics.variances.standard_deviation import StandardDeviation
from tacit.statistics.variances.variance import Variance
from tacit.tables.answers.aggregate import QUANTILE_BITS, SQUARE_BITS, SUM_BITS
from tacit.tables.answers.moments import MomentsPart
from tacit.tables.chain.part import LEVEL, Noise

__all__ = ["exponential_mechanism", "noisy_moments"]

_RESOLUTION = 10**4
_POINTS = 1 << 14
_MOMENTS: dict[type, str] = {Mean: "mean", Variance: "var", StandardDeviation: "std"}


def noisy_moments(asked: Asked) -> Iterator[Candidate]:
    """Laplace noise on the Bernstein sums of a column, and the statistic worked out from them.

    The sums of a row add up to one, so a row that comes or goes moves them by one in L1, and one
    that changes by at most two.
    """
    kind = _MOMENTS.get(type(asked.statistic))
    if kind is None or asked.statistic.least > 1:  # with ddof = 1 a Session has none
        return
    grid = _grid(asked, SUM_BITS if kind == "mean" else SQUARE_BITS)
    part = MomentsPart("value", grid, frozenset({kind}), missing=False)
    spent = Noise("laplace", asked.epsilon, rows=2 if asked.relation == "bounded" else 1)
    unit = Fraction(1, grid.cells**part.degree)
    sums = np.array([float(t * unit) for t in _bernstein(_offsets(asked, grid), grid, part.degree)])
    scale = spent.scale(Fraction(spent.rows)) / unit

    def answers(added: NDArray[np.float64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = part.estimates([sums + added.T], spent)[kind].value
        return found

    def simulate(times: int) -> list[float]:
        drawn = noise.discrete_laplace(scale, part.width * times).astype(np.float64) * float(unit)
        found: list[float] = answers(drawn.reshape(part.width, times)).tolist()
        return found

    even = float(scale * unit) * _even_laplace(part.width)
    predicted = float(np.abs(answers(even) - asked.truth).mean())
    yield Candidate("noisy moments", "", None, simulate, predicted)


def _even_laplace(width: int) -> NDArray[np.float64]:
    """Return points of so many unit Laplace variables, spread evenly: no draw, always the same.

    Quantiles: of the first by turns, of the others at irrational steps, the powers of 1 / g
    with ``g^width = g + 1`` (Niederreiter 1992).

    >>> bool(np.allclose(np.abs(_even_laplace(3)).mean(axis=1), 1, rtol=1e-3))
    True
    """
    root = 2.0
    for _ in range(60):
        root = (1 + root) ** (1 / width)
    steps = np.append(1 / _POINTS, root ** -np.arange(1.0, width))
    u = (0.5 / _POINTS + np.outer(steps, np.arange(_POINTS))) % 1
    tails = np.maximum(np.minimum(u, 1 - u), 0.25 / _POINTS)
    points: NDArray[np.float64] = np.sign(0.5 - u) * np.log(2 * tails)
    return points


def _bernstein(offsets: list[int], grid: Grid, degree: int) -> list[int]:
    """Return the sums of the Bernstein polynomials of a degree, in units of the grid."""
    n, total, cells = len(offsets), sum(offsets), grid.cells
    if degree == 1:
        return [n * cells - total, total]
    squares = sum(z * z for z in offsets)
    mixed = 2 * (cells * total - squares)
    return [n * cells**2 - mixed - squares, mixed, squares]


def exponential_mechanism(asked: Asked) -> Iterator[Candidate]:
    """A point of the grid, by how far off in rank it is.

    See :mod:`tacit.mechanisms.selection.private_quantile`.
    """
    if type(asked.statistic) not in (Quantile, Median, Minimum, Maximum):
        return
    q = asked.statistic.q.limit_denominator(_RESOLUTION)  # type: ignore[attr-defined]
    if q in (0, 1):
        yield _choice(asked, q, asked.epsilon, "")
        return
    yield _choice(asked, q, asked.epsilon, "alone")
    yield _choice(asked, q, asked.epsilon / 2, "half of epsilon, the rest for its interval")


def _choice(asked: Asked, q: Fraction, epsilon: Fraction, setting: str) -> Candidate:
    grid = _grid(asked, QUANTILE_BITS)
    a, b = q.numerator, q.denominator
    rate = epsilon / (2 * (b if asked.relation == "bounded" else max(a, b - a)))
    target = 0
    if q in (0, 1):  # an end of its own interval, as in a Session
        side = 1 if q == 0 else -1
        target = side * (error_in_cost(grid.cells, 1 / rate, (1 - LEVEL) / 2) + b)
    histogram = np.unique(np.array(_offsets(asked, grid)), return_counts=True)

    def simulate(times: int) -> list[float]:
        cells = (choose_cell(histogram, grid.cells, q, target, rate) for _ in range(times))
        return [float(grid.value(cell)) for cell in cells]

    starts, lengths, cost = quantile_costs(histogram, grid.cells, q, target)
    weights = np.repeat(np.exp(-float(rate) * (cost - cost.min()).astype(np.float64)), lengths)
    points = float(grid.value(0)) + float(grid.step) * np.arange(starts[0], grid.cells + 1)
    predicted = float(np.abs(points - asked.truth) @ weights / weights.sum())
    return Candidate("exponential mechanism", setting, None, simulate, predicted)


def _grid(asked: Asked, bits: int) -> Grid:
    """Return the grid of a column: of whole numbers where all public records are whole."""
    whole = bool((asked.data == np.rint(asked.data)).all())
    return Grid.for_bounds(asked.lower, asked.upper, bits=bits, whole=whole)


def _offsets(asked: Asked, grid: Grid) -> list[int]:
    """Return the records on the grid, as steps from its first point."""
    shifted = np.floor(asked.data / float(grid.step) + 0.5)
    return [min(max(int(z) - grid.first, 0), grid.cells) for z in shifted.tolist()]
