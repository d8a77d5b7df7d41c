"""What the statistics of two or more columns share: how they are asked, and their noisy sums."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from tacit.arithmetic.exact import Number, as_fraction, show
from tacit.core import Step
from tacit.errors import UsageError, did_you_mean
from tacit.expressions.grid import Grid
from tacit.report.text.words import listed
from tacit.tables.answers.aggregate import SQUARE_BITS, Aggregate, Clamped, Kind, Setting
from tacit.tables.answers.bounded_column import bounded
from tacit.tables.chain.estimate import Array
from tacit.tables.chain.noise_forms import half_widths
from tacit.tables.chain.noise_law import NoiseLaw
from tacit.tables.chain.part import Columns, Noise, Part
from tacit.tables.chain.products import MOST_CORNERS, Basis, ProductsByGroup
from tacit.tables.query.requests import Products, Request

__all__ = ["APART", "Bounds", "NoisySums", "ProductsPart", "SeveralColumns", "of_columns"]

Bounds: TypeAlias = Mapping[str, tuple[Number, Number]]
"""The public bounds of columns, by name."""

APART = 0.005
"""The probability that the sums are outside the bands that an interval rests on: part of the
five in 100 that an interval may miss."""

_PRODUCT_BITS = 66
"""Offsets of all columns together have at most so many bits where they are all multiplied: with a
weight of 20 bits and 2^40 rows that is 2^126, within 10^38."""


def of_columns(kind: str, columns: Sequence[str], bounds: Bounds | None) -> Aggregate:
    """Return an aggregate of several columns, each clamped to its public bounds.

    Raises:
        UsageError: fewer than two columns, one that stands twice or is no name, or bounds that do
            not rise or are of another column.

    >>> print(of_columns("covariance", ["age", "pay"], {"age": (0, 100)}))
    covariance(age, 0, 100, pay)
    """
    if len(columns) < 2 or not all(isinstance(name, str) and name for name in columns):
        raise UsageError(f"{kind} takes two columns or more, each named by text")
    twice = [name for name in columns if list(columns).count(name) > 1]
    if twice:
        raise UsageError(f"{kind} needs different columns, and {twice[0]!r} is given twice")
    if bounds is not None and not isinstance(bounds, Mapping):
        raise UsageError(
            f"the bounds of {kind} are by column: bounds={{{columns[0]!r}: (0, 100), ...}}"
        )
    known = dict(bounds or {})
    for name in known:
        if name not in columns:
            raise UsageError(
                f"{kind} has bounds for {name!r}, which is not one of its columns; "
                f"{did_you_mean(name, columns)}"
            )
    found = [_clamped(kind, name, known.get(name)) for name in columns]
    first, *others = found
    return Aggregate(kind, *first, others=tuple(others))


def _clamped(kind: str, name: str, ends: Any) -> Clamped:
    if ends is None:
        return Clamped(name)
    if isinstance(ends, (str, bytes)) or not hasattr(ends, "__len__") or len(ends) != 2:
        raise UsageError(f"the bounds of {name!r} are a lower and an upper one, such as (0, 100)")
    made = bounded(kind, name, *ends)
    return Clamped(name, made.lower, made.upper)


def _described(asked: Mapping[str, Any]) -> list[tuple[str, Fraction, Fraction]]:
    """Return each column with its bounds, as :meth:`Aggregate.to_json` described them."""
    columns = [(asked["column"], asked["lower"], asked["upper"]), *asked["others"]]
    return [(str(name), as_fraction(low), as_fraction(high)) for name, low, high in columns]


@dataclass(frozen=True, kw_only=True)
class SeveralColumns(Kind):
    """A kind of answer that is of several columns."""

    def label(self, asked: Aggregate) -> str:
        """Return the name of the answer that its flag asks for."""
        return "_".join([self.name, *(one.column for one in asked.clamped)])

    def read(self, described: Mapping[str, Any]) -> Aggregate:
        """Return what :meth:`Aggregate.to_json` described."""
        bounds = {name: (low, high) for name, low, high in _described(described)}
        made: Aggregate = self.ask([name for name, _, _ in _described(described)], bounds)
        return made

    @abstractmethod
    def ask(self, columns: Sequence[str], bounds: Bounds) -> Aggregate:
        """Return the question about columns, in the order of its flag."""

    def words(self, described: Mapping[str, Any]) -> str:
        """Say in a certificate what one answer is."""
        columns = _described(described)
        first, *others = [name for name, _, _ in columns]
        told = self.noun.format(column=first, others=listed(others))
        ends = ", ".join(f"{name} to [{show(low)}, {show(high)}]" for name, low, high in columns)
        return f"{told} (values clamped: {ends})"

    def statistic(self, asked: Aggregate) -> Any:
        """Refuse: the statistics of :mod:`tacit.statistics` are of one column."""
        raise UsageError(
            f"{self.name} takes several columns, and sensitivities are computed for one"
        )

    def grids(self, asked: Aggregate, setting: Setting) -> tuple[Grid, ...]:
        """Return the grid of each column."""
        several = len(asked.clamped)
        bits = SQUARE_BITS
        if several <= MOST_CORNERS:
            bits = min(bits, _PRODUCT_BITS // several)
        return tuple(setting.grid(Aggregate(asked.kind, *one), bits) for one in asked.clamped)


@dataclass(frozen=True)
class ProductsPart(Part):
    """Sums of products of some columns, of which a statistic is worked out."""

    columns: tuple[str, ...]
    grids: tuple[Grid, ...]

    @property
    @abstractmethod
    def squares(self) -> tuple[int, ...]:
        """The places of the columns whose squares are needed."""

    def basis(self, noise: Noise) -> Basis:
        """Return the coordinates that are released."""
        return Basis.least(tuple(grid.cells for grid in self.grids), self.squares, noise.norm)

    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the chain: the sums of products, and additive noise."""
        basis = self.basis(noise)
        ends = [(grid.value(0), grid.value(grid.cells)) for grid in self.grids]
        step = ProductsByGroup(
            size=size * basis.width,
            norm=noise.norm,
            columns=self.columns,
            bounds=tuple((str(low), str(high)) for low, high in ends),
            cells=basis.cells,
            squares=basis.squares,
            corners=basis.corners,
            one=noise.one,
            by=by,
        )
        return [(step, noise.mechanism(basis.stretch(noise.norm) * noise.rows))]

    def request(self, step: Step, columns: Columns) -> Request:
        """Ask for the rows that have every value, and the products of these."""
        assert isinstance(step, ProductsByGroup)
        values = tuple(map(columns.value, self.columns))
        return Products(tuple(zip(values, self.grids, strict=True)), step.basis.products)

    def vector(self, step: Step, found: Any) -> Any:
        """Return the coordinates."""
        assert isinstance(step, ProductsByGroup)
        return step.basis.vector(found)

    def sums(self, released: Any, noise: Noise) -> NoisySums:
        """Return what the released numbers say of the sums."""
        basis = self.basis(noise)
        noisy = np.asarray(released, dtype=np.float64).reshape(-1, basis.width)
        scale = basis.stretch(noise.norm) * noise.rows
        return NoisySums(noisy, basis, noise.law(scale, Fraction(1, noise.one * basis.unit)))

    @property
    def middles(self) -> Array:
        """The middle between the bounds of each column."""
        return np.array([float(grid.value(Fraction(grid.cells, 2))) for grid in self.grids])

    @property
    def halves(self) -> Array:
        """Half of the width between the bounds of each column."""
        return np.array([float(grid.step * grid.cells / 2) for grid in self.grids])


@dataclass(frozen=True)
class NoisySums:
    """The released coordinates of each group, and what the noise can have done to them.

    Attributes:
        noisy: shape (groups, coordinates).
        basis: what the coordinates are.
        law: the noise on each.
    """

    noisy: Array
    basis: Basis
    law: NoiseLaw

    def band(self, chance: float) -> tuple[Array, Array]:
        """Return the sums of the monomials, shape (groups, monomials), and how far each is off.

        With a probability of at least ``1 - chance`` all are within that (the union bound).
        """
        decoding = self.basis.decoding
        level = 1 - chance / len(decoding)
        return self.noisy @ decoding.T, half_widths(self.law, decoding, level)

    def quantile(self, weights: Array, spread: Array, chance: float) -> Array:
        """Return how far a weighted sum of the noises of the monomials is off, but for a chance.

        Args:
            weights: of the monomials, shape (..., monomials).
            spread: how far the true weights can be from these.
            chance: the probability of more.

        A quantile rises with the absolute value of every weight, so the largest are taken.
        """
        decoding = self.basis.decoding
        most = np.abs(weights @ decoding) + spread @ np.abs(decoding)
        return half_widths(self.law, most, 1 - chance)

    def deviation(self, weights: Array) -> Array:
        """Return the standard deviation of a weighted sum of the noises of the monomials."""
        each = weights @ self.basis.decoding
        return np.asarray(np.sqrt((each**2).sum(axis=-1) * self.law.variance))
