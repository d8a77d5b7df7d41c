"""Smooth noise, propose-test-release and sample-and-aggregate for a table."""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.enclosure import exp
from tacit.arithmetic.exact import show
from tacit.arithmetic.mixing import GOLDEN, mixed
from tacit.arithmetic.roots_and_bisection import sqrt_up
from tacit.core import Step
from tacit.errors import UsageError
from tacit.expressions.grid import Grid
from tacit.mechanisms.aggregators import BinFunction, MeanOfBins, coordinates
from tacit.mechanisms.local_statistic import laplace_distance
from tacit.mechanisms.propose_test_release import BoundSearch, ProposeTestRelease
from tacit.mechanisms.smooth import CONCENTRATED, SmoothNoise
from tacit.report.text import say_step
from tacit.tables.noise import Array, Estimate, GridNoise
from tacit.tables.query.contribution_bounding import RowCells
from tacit.tables.query.requests import Cells, Request
from tacit.tables.statistics.base import statistic_named
from tacit.tables.statistics.data_dependent_steps import (
    EachGroup,
    MeanOfPeople,
    PeopleInBins,
    RecordsByGroup,
    SampleMean,
    column_of,
    counted_domain,
    prepared,
)
from tacit.tables.statistics.method import MOST_ROWS, Method
from tacit.tables.statistics.part import LEVEL, Columns, Noise, Part

# Made-up rows in a few public shapes: what errors are worked out on, without data.


# Evenly over the bounds; around the middle; most of them near the lower, or the upper bound.
SHAPES = ("even", "bell", "low", "high")


@lru_cache(maxsize=16)
def made_rows(grid: Grid, rows: int, shape: str = "even") -> NDArray[np.float64]:
    """Return so many rows at even shares of a public shape, ascending from bound to bound.

    >>> made_rows(Grid.for_bounds(0, 8, whole=True), 4)
    array([1., 3., 5., 7.])
    >>> made_rows(Grid.for_bounds(0, 8, whole=True), 3, "low").round(2)
    array([0.18, 0.66, 1.61])
    """
    # Of the way between the bounds, the share p of ``low`` is at ``1 - (1 - p)^(1/8)``, with a mean
    # of 1/9 and a standard deviation of 1/10; ``high`` is its mirror, and ``bell`` the mean of
    # both, nearly normal (Tukey's lambda distribution) with a standard deviation of 1/11.  An
    # eighth root is three square roots, and these are the same on every machine.
    #
    # Between the points of the grid too: rows that tie, as whole numbers do, would make noise that
    # follows the data look better than it may be.
    shares = (2 * np.arange(rows, dtype=np.float64) + 1) / (2 * rows)
    low, high = float(grid.value(0)), float(grid.value(grid.cells))
    made = np.clip(low + _way(shares, shape) * (high - low), low, high)
    made.flags.writeable = False
    return made


def _way(shares: NDArray[np.float64], shape: str) -> NDArray[np.float64]:
    rising, falling = _eighth_root(shares), 1 - _eighth_root(1 - shares)
    return {
        "even": shares,
        "bell": (rising + falling) / 2,
        "low": falling,
        "high": rising,
    }[shape]


def _eighth_root(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    root: NDArray[np.float64] = np.sqrt(np.sqrt(np.sqrt(shares)))
    return root


# What the errors of a method are on made-up rows, worked out without data.


_FEWEST, _MOST = 4, 32
_PRECISE = 0.01


def spread_over(rows: int, bins: int, turn: int) -> NDArray[np.int64]:
    """Return a bin for each made-up row: the same on every machine, and as uneven as by chance.

    >>> counts = np.bincount(spread_over(1000, 4, 0), minlength=4)
    >>> int(counts.sum()), bool(200 < counts.min() < 250)
    (1000, True)
    """
    # Mixed by :mod:`tacit.arithmetic.mixing`; nothing here is secret.
    z = np.arange(1, rows + 1, dtype=np.uint64) * GOLDEN
    z += np.uint64((turn + 1) * 0xD1342543DE82EF95 % (1 << 64))
    indices: NDArray[np.int64] = (mixed(z) % np.uint64(bins)).astype(np.int64)
    return indices


def error_of_bins(
    ask: BinFunction,
    rows: NDArray[Any],
    bins: int,
    scale: float,
    ends: tuple[float, float] = (-math.inf, math.inf),
) -> float:
    """Predict the mean distance between the noisy mean over bins and the statistic of all rows."""
    # That of Laplace noise around an offset, clipped to the ends; the offset is averaged over
    # divisions of the rows into bins, from 4 to 32 of them, until the standard error is a percent.
    # A bin without rows counts as an end of the answer's range, and not as the default in its
    # middle, where made-up rows would have their answer anyway.
    where = ask.reads[0]
    unit = float(where.grid)
    truth = ask(rows)[0] * unit
    each = unit / bins
    low, high = ((end - truth) / each for end in ends)
    errors: list[float] = []
    while len(errors) < _FEWEST or (len(errors) < _MOST and _spread(errors) > _PRECISE):
        bin_of = spread_over(len(rows), bins, len(errors))
        order = np.argsort(bin_of, kind="stable")
        edges = np.searchsorted(bin_of[order], np.arange(bins + 1))
        parts = [rows[order[a:b]] for a, b in itertools.pairwise(edges)]
        units = [ask(part)[0] if len(part) else where.minimum for part in parts]
        offset = sum(units) - truth / each
        errors.append(float(laplace_distance(offset, scale / each, low, high)) * each)
    return sum(errors) / len(errors)


def _spread(errors: list[float]) -> float:
    """Return the standard error of a mean over the mean."""
    mean = sum(errors) / len(errors)
    square = sum((one - mean) ** 2 for one in errors) / (len(errors) * (len(errors) - 1))
    return math.sqrt(square) / mean if mean else 0.0


# What the parts of a release by local sensitivity share: records in, one mechanism a group.


_MOST_LOSS = 1 << 10
_NEARLY = 1 - Fraction(1, 1 << 30)  # room for the map of a person, which rounds up
_LEAST_DELTA = Fraction(1, 10**100)  # no probability is below it, and floats carry its square


@dataclass(frozen=True)
class LocalPart(Part):
    """One statistic of a column, by a mechanism on the records of each group."""

    # column, grid: what is read, on which grid
    column: str
    grid: Grid
    kind: str
    statistic: str  # its name, as :mod:`tacit.statistics` knows it
    method: Method  # the method and its options

    error_unit = "mean absolute error"
    most_rows = MOST_ROWS

    @property
    def title(self) -> str:
        """Say what the part is."""
        return f"{self.kind} of {self.column} ({self.method.name.replace('_', ' ')})"

    def records(self, size: int, by: tuple[str, ...]) -> RecordsByGroup:
        """Return the step that counts the records."""
        low, high = self.grid.value(0), self.grid.value(self.grid.cells)
        return RecordsByGroup(self.column, str(low), str(high), self.grid.cells, size, by)

    @abstractmethod
    def mechanism(self, noise: Noise) -> Step:
        """Return the mechanism on one column."""

    @abstractmethod
    def record(self, noise: Noise) -> dict[str, Any]:
        """Return what a certificate says of the method, as plain JSON values."""

    def on_column(self, noise: Noise) -> Any:
        """Return the mechanism, built on the records of one group."""
        return EachGroup(self.mechanism(noise)).on_column(counted_domain(self.records(1, ())))

    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the chain: the records, and the mechanism on each group."""
        return [(self.records(size, by), EachGroup(self.mechanism(noise)))]

    def request(self, step: Step, columns: Columns) -> Request:
        """Ask for the records on the grid: rows that are kept whole, where people have several."""
        value = columns.value(self.column)
        return Cells(value, self.grid) if columns.alone else RowCells(value, self.grid)

    def vector(self, step: Step, exact: Any) -> Any:
        """Return the counted records as they are."""
        return exact

    def estimates(self, released: Sequence[Any], noise: Noise) -> dict[str, Estimate]:
        """Return the answer of each group."""
        return {self.kind: self.read(released[0], noise)}

    @abstractmethod
    def read(self, released: Sequence[Any], noise: Noise) -> Estimate:
        """Return the estimate that the released values of all groups make."""

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the mean absolute error on evenly spread rows."""
        return self.error_on(made_rows(self.grid, max(1, round(rows))), noise)

    @abstractmethod
    def error_on(self, made: Array, noise: Noise) -> float:
        """Return the mean absolute error on made-up rows."""

    @property
    def range(self) -> tuple[float, float]:
        """The public ends of the answer."""
        low, high = float(self.grid.value(0)), float(self.grid.value(self.grid.cells))
        return statistic_named(self.kind).range(low, high)


def epsilon_of_one(noise: Noise, records: int) -> Fraction:
    """Return the pure epsilon for one record, where a person moves ``records`` of them."""
    # In zCDP ``epsilon^2 / 2`` of all of them together is the rho: the root is rounded down.
    whole = noise.loss if noise.kind == "laplace" else 1 / sqrt_up(1 / (2 * noise.loss))
    return whole / records


def rho_of_one(noise: Noise) -> Fraction:
    """Return the rho for one record: that of k records is ``k^2`` times as much."""
    return noise.loss / noise.rows**2


def delta_of_one(noise: Noise) -> Fraction:
    """Return the delta for one record that is ``noise.delta`` for a person's, rounded down."""
    # For k records it is ``(e^(k epsilon) - 1) / (e^epsilon - 1)`` times as much.
    epsilon, k = epsilon_of_one(noise, noise.rows), noise.rows
    if k == 1:
        return noise.delta
    if k * epsilon <= _MOST_LOSS:
        terms = (exp(k * epsilon, 128) - 1) / (exp(epsilon, 128) - 1)
        delta = (noise.delta * _NEARLY / terms).rounded(64).lower
        if delta >= _LEAST_DELTA:
            return delta
    raise UsageError(
        f"at epsilon {show(k * epsilon)} the delta of each of {k} rows of a person would be too "
        "small to work with: give less epsilon or fewer rows, or take a noise that needs no delta, "
        "such as method='smooth' with distribution='student_t'"
    )


def unknown(values: Array) -> Array:
    """Return as many numbers that are not known."""
    return np.full_like(values, np.nan)


# The part of a release that answers a statistic by noise scaled to its smooth sensitivity.


@dataclass(frozen=True)
class SmoothPart(LocalPart):
    """Noise that follows the data; how much of it was added is as private as the data."""

    # So an answer has no standard error and no interval: either would reveal the smooth
    # sensitivity.

    needs_delta = True

    def mechanism(self, noise: Noise) -> Step:
        """Return the noise, the kind with the least expected error where none is named."""
        return self._noise(_distribution(self, noise), noise)

    def _noise(self, distribution: str, noise: Noise) -> Step:
        if distribution in CONCENTRATED:
            if noise.kind != "gaussian":
                raise UsageError(
                    f"{distribution} noise is paid in rho, and this release in epsilon: use "
                    "'student_t', or 'laplace' with a delta; or a budget tc.rho('1/10')"
                )
            return SmoothNoise(self.statistic, rho=rho_of_one(noise), distribution=distribution)
        epsilon = epsilon_of_one(noise, noise.rows)
        if distribution != "laplace":
            return SmoothNoise(self.statistic, epsilon, distribution=distribution)
        if not noise.delta:
            raise UsageError(
                "smooth noise from the laplace distribution needs a delta: use a budget such as "
                "tc.epsilon_delta(1, '1e-6') and release(epsilon=..., delta=...), or "
                "distribution='student_t'"
            )
        return SmoothNoise(self.statistic, epsilon, delta_of_one(noise))

    def read(self, released: Sequence[Any], noise: Noise) -> Estimate:
        """Return the values alone."""
        value = np.asarray(released, dtype=np.float64)
        return Estimate(value, unknown(value), unknown(value), unknown(value))

    def error_on(self, made: Array, noise: Noise) -> float:
        return float(self.on_column(noise).expected_error(made))

    def record(self, noise: Noise) -> dict[str, Any]:
        """Return the noise that was used."""
        return {"used": "smooth", "distribution": _distribution(self, noise)}


@lru_cache(maxsize=64)
def _distribution(part: SmoothPart, noise: Noise) -> str:
    """Return the noise that is asked for, or the best that the budget pays for."""
    if part.method.distribution is not None:
        return part.method.distribution
    if noise.kind == "gaussian":
        open_to: tuple[str, ...] = tuple(CONCENTRATED)
    else:
        open_to = ("laplace", "student_t", "cauchy") if noise.delta else ("student_t", "cauchy")

    def error(distribution: str) -> float:
        """Return the error of a distribution, without end where the budget cannot pay for it."""
        named = SmoothPart(
            part.column,
            part.grid,
            part.kind,
            part.statistic,
            type(part.method)(part.method.name, distribution=distribution),
        )
        try:
            return named.expected_error(part.kind, noise, part.method.planned)
        except UsageError:
            return math.inf

    return min(open_to, key=error)


def _step_words(inner: Mapping[str, Any]) -> str:
    noise = str(inner.get("distribution", "laplace")).replace("_", " ")
    return (
        f"add {noise} noise to the {inner['statistic']}, scaled to its smooth sensitivity on these "
        "data; the scale is as private as the data"
    )


say_step("smooth_noise", _step_words)


# The part of a release that answers a statistic by propose-test-release.


_UNITS = 1024  # grid units in a bound, as both mechanisms have them


@dataclass(frozen=True)
class ProposalPart(LocalPart):
    """Noise for a bound on the local sensitivity, which a private test finds safe or refuses."""

    # A group whose test refuses has no answer, and nothing says why; it costs the same.  With
    # ``bound="search"`` there is always an answer, and the bound that was found is published with
    # it. The bound is public either way, and so are the standard error and the interval.

    needs_delta = True

    def mechanism(self, noise: Noise) -> Step:
        """Return the test and the noise."""
        if noise.kind != "laplace" or not noise.delta:
            raise UsageError(
                "propose-test-release needs a delta, the probability that the test is wrong: use a "
                "budget such as tc.epsilon_delta(1, '1e-6') and release(epsilon=..., delta=...); "
                "or another method, such as 'smooth'"
            )
        epsilon, delta = epsilon_of_one(noise, noise.rows), delta_of_one(noise)
        if self.method.searches:
            return BoundSearch(self.statistic, epsilon, delta)
        return ProposeTestRelease(self.statistic, Fraction(self.method.bound or 0), epsilon, delta)

    def read(self, released: Sequence[Any], noise: Noise) -> Estimate:
        """Return the values with their errors; what the test refused is not a number."""
        if self.method.searches:
            pairs = [tuple(pair) for pair in released]
        else:
            bound = float(Fraction(self.method.bound or 0))
            pairs = [(math.nan if answer is None else answer, bound) for answer in released]
        value, bounds = np.array(pairs, dtype=np.float64).reshape(-1, 2).T  # perhaps of no group
        # Half of epsilon is for the noise: in units of the bound, one scale serves all.
        distribution = GridNoise(
            "laplace", float(2 / epsilon_of_one(noise, noise.rows)), 1 / _UNITS
        )
        error = np.where(np.isnan(value), np.nan, bounds * math.sqrt(distribution.variance))
        half = bounds * distribution.half_width((1.0,), LEVEL)
        point, low, high = np.clip([value, value - half, value + half], *self.range)
        # noise this large is seen in one answer of twenty: no end of the range is certain then
        missed = (value + half < self.range[0]) | (value - half > self.range[1])
        low, high = np.where(missed, np.array(self.range)[:, None], [low, high])
        return Estimate(point, error, low, high)

    def error_on(self, made: Array, noise: Noise) -> float:
        """Return the mean absolute error of an answer on made-up rows, held within the range."""
        return float(self.on_column(noise).expected_error(made, ends=self.range))

    def refusal(self, noise: Noise, rows: float) -> float:
        """Return the probability that the test refuses on evenly spread rows."""
        return self.refusal_on(made_rows(self.grid, max(1, round(rows))), noise)

    def refusal_on(self, made: Array, noise: Noise) -> float:
        """Return the probability that the test refuses on made-up rows."""
        if self.method.searches:
            return 0.0
        return 1 - float(self.on_column(noise).answer_probability(made))

    def record(self, noise: Noise) -> dict[str, Any]:
        """Return the bound that was proposed."""
        return {"used": "ptr", "bound": str(self.method.bound)}


def _proposed(inner: Mapping[str, Any]) -> str:
    return (
        f"test, with noise, whether the local sensitivity of the {inner['statistic']} stays at "
        f"most {inner['bound']} on all data near these; then add noise for that bound, or refuse "
        "to answer"
    )


def _searched(inner: Mapping[str, Any]) -> str:
    return (
        f"search, with noise, for a bound on the local sensitivity of the {inner['statistic']}, "
        "and add noise for that bound"
    )


say_step("propose_test_release", _proposed)
say_step("bound_search", _searched)


# The parts of a release that answer a statistic by sample-and-aggregate.


# Numbers of bins to choose from, where none is asked for.
_LADDER = (10, 20, 50, 100, 200, 500, 1000)
_A_BIN = 40  # people that a bin of that choice should have: a group may be smaller than planned for


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

    def distribution(self, noise: Noise) -> GridNoise:
        """Return the noise on the mean of the bins."""
        where, bins = self.ask.reads[0], _bins(self, noise)
        unit = float(where.grid) / bins
        return GridNoise("laplace", unit * float(where.steps / self.loss(noise)), unit)

    def read(self, released: Sequence[Any], noise: Noise) -> Estimate:
        """Return the values with the error of their noise."""
        # They have no interval: how far the mean over the bins is from the statistic of all rows is
        # not known, and in a small group, where bins are empty, it is far.
        value = np.clip(np.asarray(released, dtype=np.float64), *self.range)
        error = np.full_like(value, math.sqrt(self.distribution(noise).variance))
        return Estimate(value, error, unknown(value), unknown(value))

    def error_on(self, made: Array, noise: Noise) -> float:
        """Return the mean absolute error on made-up rows, noise and bins together."""
        scale = self.distribution(noise).scale
        return error_of_bins(self.ask, made, _bins(self, noise), scale, self.range)

    def record(self, noise: Noise) -> dict[str, Any]:
        """Return the number of bins."""
        return {"used": "sample_and_aggregate", "bins": _bins(self, noise)}


@dataclass(frozen=True)
class PeopleSamplePart(SamplePart):
    """The same where people have several rows: a person is in one bin, with all of them."""

    rows: int = 1  # at most so many rows of a person are kept
    groups: int = 1  # in at most so many groups

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
        return RowCells(value, self.grid, parts=step.bins, groups=groups)


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
