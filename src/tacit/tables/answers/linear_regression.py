"""Linear regression by least squares: the kind ``linear_regression``.

**Mechanism.**  The sums of :class:`~tacit.tables.chain.products.ProductsByGroup` of the outcome and
the predictors, with the squares of the predictors; all else is post-processing of them.

**Estimate.**  With every column rescaled to [-1, 1], let A be the matrix of the sums of products of
``1, s_1, .., s_k``, g the vector of their products with the outcome, and ``A b = g`` the normal
equations.  The released sums give ``A^ = A + E`` and ``g^ = g + f`` with noise E and f, and the
plain estimate ``b^ = A^^-1 g^``.

**Interval.**  Bands of all sums hold but for a chance of 0.005: ``|E| <= H`` and ``|f| <= h``,
entry by entry.  Let ``C = A^^-1`` and ``K = |C| H``.  If the spectral radius of K is below one,
every matrix within H of A^ has an inverse (Neumann series of ``I - C E``); so the truth has one,
and with ``S = (I - K)^-1``

    ``|A^-1 - C| <= S K |C|``   and   ``|b^ - b| <= S |C| (h + H |b^|)  =:  D``.

The second follows from ``A b = g``: ``b^ - b = C (f - E b) = C (f - E b^) + C E (b^ - b)``.  That
is a valid interval, and wider than need be, for the terms of all sums are added up at their worst.
But also

    ``b^ - b = A^-1 (f - E b) - A^-1 E (b^ - b)``,

where each entry of the first term is a weighted sum of independent noises with weights that do not
depend on them: it is within its quantile but for a chance of 0.045, which is taken at the largest
weights that the bands of ``A^-1`` and b leave.  The second term is at most ``|A^-1| H D``, which is
of second order.  The sum of the two is the interval, with probability 0.95 for each coefficient.

Coefficients in the units of the columns are linear in b.  Where the spectral radius is one or more,
the noise cannot be distinguished from a design in which the predictors lie on a plane: any
coefficient is possible, and the answer has no error and no interval.  Its value is then that of the
equations with eigenvalues of A^ raised to the size of the noise (a ridge).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tacit.calls import public
from tacit.errors import UsageError
from tacit.tables.answers.aggregate import Aggregate, Setting, register_kind
from tacit.tables.answers.several_columns import (
    APART,
    Bounds,
    NoisySums,
    ProductsPart,
    SeveralColumns,
    of_columns,
)
from tacit.tables.chain.estimate import Array, Estimate
from tacit.tables.chain.part import LEVEL, Noise, Part
from tacit.tables.chain.products import MOST_COLUMNS

__all__ = ["LinearRegressionPart", "linear_regression"]

_MOST = MOST_COLUMNS - 1
"""The most predictors."""


@public
def linear_regression(y: str, x: str | Sequence[str], bounds: Bounds | None = None) -> Aggregate:
    """Return the coefficients of y on the columns x by least squares: ``intercept``, and each x.

    Every column is clamped to its bounds.  Rows in which one of them is missing are left out.  A
    coefficient that is lost in the noise has no standard error and no interval.

    Args:
        y: the outcome, a column of numbers.
        x: the predictors: 1 to 12 other columns.
        bounds: of all these columns, by name; those of a data set where it declares them.

    Raises:
        UsageError: a column twice, too many, or bounds that do not rise or are of another column.

    Source: sufficient statistics with noise, Dwork and Smith 2010 and Wang 2018 (AdaSSP); the
    module derives the interval.

    >>> bounds = {"pay": (0, 1000), "age": (0, 100), "years": (0, 40)}
    >>> print(linear_regression("pay", ["age", "years"], bounds))
    linear_regression(pay, 0, 1000, age, 0, 100, years, 0, 40)
    """
    predictors: list[Any] = list(x) if isinstance(x, (list, tuple)) else [x]
    if not 1 <= len(predictors) <= _MOST:
        raise UsageError(f"a linear regression has 1 to {_MOST} predictors: x=['age', 'years']")
    return of_columns("linear_regression", [y, *predictors], bounds)


@dataclass(frozen=True)
class LinearRegressionPart(ProductsPart):
    """The coefficients of the first column on the others."""

    @property
    def title(self) -> str:
        """Say what the part is."""
        return f"linear regression of {self.columns[0]} on {', '.join(self.columns[1:])}"

    error_unit = "largest standard error of a coefficient"

    @property
    def squares(self) -> tuple[int, ...]:
        """The predictors."""
        return tuple(range(1, len(self.columns)))

    def estimates(self, released: Sequence[Any], noise: Noise) -> dict[str, Estimate]:
        """Return the coefficients, shape (groups, coefficients)."""
        return {"linear_regression": self._fit(released[0], noise).estimate()}

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the largest error of a coefficient.

        It is that for independent values spread evenly over the bounds.
        """
        fit = self._fit(self.basis(noise).even(rows), noise)
        return float(fit.standard_error.max())

    def _fit(self, released: Any, noise: Noise) -> _Fit:
        return _Fit(self.sums(released, noise), *self._rescaling)

    @property
    def _rescaling(self) -> tuple[Array, float]:
        """Return the matrix from rescaled coefficients to those of the columns, and the shift.

        ``(y - m_0) / h_0 = b_0 + sum b_i (x_i - m_i) / h_i`` gives the slopes ``h_0 b_i / h_i`` and
        the intercept ``m_0 + h_0 (b_0 - sum b_i m_i / h_i)``.
        """
        middle, half = self.middles, self.halves
        matrix = np.diag(half[0] / np.concatenate([[1.0], half[1:]]))
        matrix[0, 1:] = -half[0] * middle[1:] / half[1:]
        return matrix, float(middle[0])


class _Solved(NamedTuple):
    """The inverse of the matrix and the coefficients, each with how far off it can be."""

    inverse: Array
    inverse_off: Array
    found: Array
    found_off: Array
    known: Array


class _Fit:
    """Least squares from noisy sums, for each group; see the module.

    Args:
        sums: of the outcome, at place 0, and of the predictors.
        matrix: from rescaled coefficients to those that are asked for.
        shift: what is added to the first of these.
    """

    def __init__(self, sums: NoisySums, matrix: Array, shift: float) -> None:
        self._sums, self._matrix, self._shift = sums, matrix, shift
        self._found, self._off = sums.band(APART)
        place = {factors: i for i, factors in enumerate(sums.basis.monomials)}
        terms = [(), *((i,) for i in range(1, len(matrix)))]
        left = [[place[tuple(sorted((*a, *b)))] for b in terms] for a in terms]
        right = [place[tuple(sorted((0, *a)))] for a in terms]
        every = np.eye(len(place))
        self._left: Array = every[left]
        """Which sum stands where in the matrix: shape (terms, terms, monomials)."""
        self._right: Array = every[right]

    @cached_property
    def _solved(self) -> _Solved:
        a, g = np.einsum("gk,ijk->gij", self._found, self._left), self._found @ self._right.T
        off_a, off_g = self._left @ self._off, self._right @ self._off
        values, vectors = np.linalg.eigh(a)
        raised = np.maximum(np.abs(values), off_a.sum(axis=1).max())
        usual = np.where(np.abs(values) > 1e-9 * np.abs(values).max(initial=1.0), values, 1.0)

        def inverted(eigenvalues: Array) -> Array:
            return np.asarray((vectors / eigenvalues[:, None, :]) @ vectors.swapaxes(1, 2))

        plain = inverted(usual)
        reach = np.abs(plain) @ off_a
        radius = np.abs(np.linalg.eigvals(reach)).max(axis=1)
        known = (radius < 1 - 1e-6) & (usual == values).all(axis=1) & (values > 0).all(axis=1)
        inverse = np.where(known[:, None, None], plain, inverted(raised))
        found = (inverse @ g[:, :, None])[:, :, 0]
        reach = np.where(known[:, None, None], reach, 0.0)
        series = np.linalg.inv(np.eye(len(off_a)) - reach)
        inverse_off = series @ reach @ np.abs(inverse)
        moved = off_g + np.abs(found) @ off_a.T
        found_off = (series @ np.abs(inverse) @ moved[:, :, None])[:, :, 0]
        return _Solved(inverse, inverse_off, found, found_off, known)

    @cached_property
    def _weights(self) -> tuple[Array, Array]:
        """Return the weights of each coefficient's noise, and how far the true ones can be off.

        They are those of ``T A^-1 (f - E b)``: shape (groups, coefficients, monomials).
        """
        solved, matrix = self._solved, self._matrix
        inverse, off = matrix @ solved.inverse, np.abs(matrix) @ solved.inverse_off
        residual = self._right - np.einsum("gl,ilk->gik", solved.found, self._left)
        wide = np.einsum("gl,ilk->gik", solved.found_off, self._left)
        return inverse @ residual, (np.abs(inverse) + off) @ wide + off @ np.abs(residual)

    @property
    def standard_error(self) -> Array:
        """The standard error of each coefficient, to the first order."""
        return self._sums.deviation(self._weights[0])

    def estimate(self) -> Estimate:
        """Return the coefficients with their intervals."""
        solved, (weights, spread) = self._solved, self._weights
        value = solved.found @ self._matrix.T
        value[:, 0] += self._shift
        chance = 1 - LEVEL - APART
        first = self._sums.quantile(weights, spread, chance)
        inverse = np.abs(self._matrix @ solved.inverse)
        inverse = inverse + np.abs(self._matrix) @ solved.inverse_off
        second = (inverse @ (self._left @ self._off) @ solved.found_off[:, :, None])[:, :, 0]
        half = (first + second) * (1 + 1e-9)
        parts = (self.standard_error, value - half, value + half)
        unknown = np.logical_not(solved.known)[:, None]
        error, low, high = (np.where(unknown, np.nan, part) for part in parts)
        return Estimate(value, error, low, high)


class _LinearRegression(SeveralColumns):
    def names(self, asked: Aggregate) -> list[str]:
        return ["intercept", *(one.column for one in asked.others)]

    def ask(self, columns: Sequence[str], bounds: Bounds) -> Aggregate:
        made: Aggregate = self.make(columns[0], columns[1:], bounds)
        return made

    def part(self, asked: Aggregate, setting: Setting, before: Part | None) -> Part:
        columns = tuple(one.column for one in asked.clamped)
        return LinearRegressionPart(columns, self.grids(asked, setting))


register_kind(
    _LinearRegression(
        name="linear_regression",
        order=116,
        make=linear_regression,
        help="The coefficients of the first column on the others.",
        noun="the coefficients of {column} on {others} by least squares",
        fields=("y", "x", "bounds"),
        each=("coefficient", "value"),
    )
)
