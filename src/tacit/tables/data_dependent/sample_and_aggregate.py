"""The parts of a release that answer a statistic by sample-and-aggregate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from tacit.core import Step
from tacit.mechanisms.sample_and_aggregate.aggregators import MeanOfBins
from tacit.mechanisms.sample_and_aggregate.bounded_output import BinFunction, coordinates
from tacit.tables.chain.estimate import Array, Estimate
from tacit.tables.chain.noise_law import NoiseLaw
from tacit.tables.chain.part import Columns, Noise
from tacit.tables.data_dependent.base import LocalPart, epsilon_of_one, unknown
from tacit.tables.data_dependent.expected_error import error_of_bins
from tacit.tables.data_dependent.records import column_of, counted_domain
from tacit.tables.data_dependent.sample_steps import (
    MeanOfPeople,
    PeopleInBins,
    SampleMean,
    prepared,
)
from tacit.tables.query.requests import Request
from tacit.tables.query.sampled_rows import WholeCells

__all__ = ["PeopleSamplePart", "SamplePart"]

_LADDER = (10, 20, 50, 100, 200, 500, 1000)
"""Numbers of bins to choose from, where none is asked for."""
_A_BIN = 40
"""People that a bin of that choice should have: a group may be smaller than planned for."""


@dataclass(frozen=True)
class SamplePart(LocalPart):
    """The mean of what the statistic is in random bins of the rows, where each row is a person."""

    def mechanism(self, noise: Noise) -> Step:
        """Return the bins and the noise."""
        return SampleMean(self.statistic, _bins(self, noise), self.loss(noise))

    def loss(self, noise: Noise) -> Fraction:
        """Return epsilon, when one bin changes."""
        return epsilon_of_one(noise, noise.rows)

    @property
    def ask(self) -> BinFunction:
        """The statistic of a bin, on the grid of its answers."""
        function, bounds = prepared(self.statistic, column_of(counted_domain(self.records(1, ()))))
        return BinFunction(function, coordinates(bounds, None, None, MeanOfBins.grid_bits))

    def law(self, noise: Noise) -> NoiseLaw:
        """Return the noise on the mean of the bins."""
        where, bins = self.ask.reads[0], _bins(self, noise)
        unit = float(where.grid) / bins
        return NoiseLaw("laplace", unit * float(where.steps / self.loss(noise)), unit)

    def read(self, released: Sequence[Any], noise: Noise) -> Estimate:
        """Return the values with the error of their noise.

        They have no interval: how far the mean over the bins is from the statistic of all rows is
        not known, and in a small group, where bins are empty, it is far.
        """
        value = np.clip(np.asarray(released, dtype=np.float64), *self.range)
        error = np.full_like(value, math.sqrt(self.law(noise).variance))
        return Estimate(value, error, unknown(value), unknown(value))

    def error_on(self, made: Array, noise: Noise) -> float:
        """Return the mean absolute error on made-up rows, noise and bins together."""
        scale = self.law(noise).scale
        return error_of_bins(self.ask, made, _bins(self, noise), scale, self.range)

    def record(self, noise: Noise) -> dict[str, Any]:
        """Return the number of bins."""
        return {"used": "sample_and_aggregate", "bins": _bins(self, noise)}


@dataclass(frozen=True)
class PeopleSamplePart(SamplePart):
    """The same where people have several rows: a person is in one bin, with all of them.

    Attributes:
        rows: at most so many rows of a person are kept.
        groups: in at most so many groups.
    """

    rows: int = 1
    groups: int = 1

    on_people = True

    def loss(self, noise: Noise) -> Fraction:
        """Return epsilon, when one bin changes: a person changes one in each of their groups."""
        return epsilon_of_one(noise, self.groups)

    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the chain: the records in bins of people, and the mean of the bins."""
        plain = self.records(size, by)
        step = PeopleInBins(
            plain.column,
            plain.lower,
            plain.upper,
            plain.cells,
            size,
            _bins(self, noise),
            self.rows,
            self.groups,
            by,
        )
        return [(step, MeanOfPeople(self.statistic, self.loss(noise)))]

    def request(self, step: Step, columns: Columns) -> Request:
        """Ask for the records of each bin of people."""
        assert isinstance(step, PeopleInBins)
        groups = step.groups if step.by else None
        value = columns.value(self.column)
        return WholeCells(value, self.grid, parts=step.bins, groups=groups)


@lru_cache(maxsize=64)
def _bins(part: SamplePart, noise: Noise) -> int:
    """Return the bins asked for, or those with the least expected error on evenly spread rows."""
    if part.method.bins is not None:
        return part.method.bins
    rows = part.method.planned
    few = [bins for bins in _LADDER if _A_BIN * noise.rows * bins <= rows] or [_LADDER[0]]

    def error(bins: int) -> float:
        tried = replace(part, method=replace(part.method, bins=bins))
        return tried.expected_error(part.kind, noise, rows)

    return min(few, key=error)
