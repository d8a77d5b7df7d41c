"""Counts of cells that several questions share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.roots_and_bisection import sqrt_up
from tacit.core import Step
from tacit.errors import UsageError
from tacit.expressions.expression import Expression
from tacit.expressions.grid import Grid
from tacit.report.text import so_many
from tacit.tables.cell_axis import Axis
from tacit.tables.joint.family import CellCounts, Family, added_noise
from tacit.tables.joint.strategy import (
    SHARES,
    CellStrategy,
    counted_as,
    counted_sets,
    largest_sets,
    subsets_of,
    summed,
    taken,
)
from tacit.tables.noise import Estimate, GridNoise, Term, half_width_of_terms
from tacit.tables.query.requests import Cells, Request
from tacit.tables.statistics.part import LEVEL, Columns, Noise, Part
from tacit.workload.marginals import Subset
from tacit.workload.synthetic import centred, nonnegative_cells, nonnegative_marginals

# Cumulative shares of the bins of a column (the empirical CDF), with intervals that hold.
#
# Let S_k be the number of values up to the k-th edge, and S_m that of all values between the first
# edge and the last.  The share is ``F_k = S_k / S_m``.  Its estimate divides the counts that are
# nearest to the released ones and not below zero (:mod:`tacit.workload.synthetic`), so that it
# lies in [0, 1], rises, and ends at 1; where all of these are zero, the bins have even shares.
#
# *Interval.*  For the true share f, ``S_k - f S_m = 0``.  So the noisy ``a - f b`` is noise alone,
# a linear combination of the noisy numbers with the variance ``v_k - 2 f c_k + f^2 v_m``, and it is
# within its own half-width h(f) as often as is stated.  All f with ``|a - f b| <= h(f)`` are an
# interval for the share, without any approximation (Fieller, *Some problems in interval
# estimation*, JRSS B 1954).  With the step s of the grid, ``h(f) <= r sd(f) + s`` and ``(x + s)^2
# <= (1 + e) x^2 + (1 + 1 / e) s^2`` for every e > 0, these f solve a quadratic inequality.  Where
# the total b itself may be zero, the interval is [0, 1].


Array = NDArray[np.float64]
_TOLERANCE = 1e-9


def shares_up_to(family: Family, paid: Noise, counts: Array, lifted: Array) -> Estimate:
    """Return the share of the values up to each edge."""
    # Returns: numbers of the shape of the counts; the last of each line is 1.
    own, cross, whole_variance = _variances(family, paid)
    bound, distribution = family.unit_half_width(paid, LEVEL), family.distribution(paid)
    steps = _steps(family, paid)
    middle = bound * np.sqrt(
        np.maximum(own - cross + whole_variance / 4, _TOLERANCE * whole_variance)
    )
    loose = np.maximum(steps / middle, _TOLERANCE)
    wide, added = (1 + loose) * bound**2, (1 + 1 / loose) * steps**2
    sums = np.cumsum(counts, axis=-1)
    total = sums[..., -1:]
    a = total**2 - wide * whole_variance
    b = -2 * sums * total + 2 * wide * cross
    c = sums**2 - wide * own - added
    root = np.sqrt(np.maximum(b**2 - 4 * a * c, 0.0))
    known = a > 0
    below = np.where(known, (-b - root) / np.where(known, 2 * a, 1.0), 0.0)
    above = np.where(known, (-b + root) / np.where(known, 2 * a, 1.0), 1.0)
    low, high = np.clip(below, 0.0, 1.0), np.clip(above, 0.0, 1.0)

    sums = np.cumsum(lifted, axis=-1)
    total = sums[..., -1:]
    bins = lifted.shape[-1]
    even = np.broadcast_to(np.arange(1, bins + 1) / bins, sums.shape)
    value = np.where(total > 0, sums / np.where(total > 0, total, 1.0), even)
    squared = (
        np.maximum(own - 2 * value * cross + value**2 * whole_variance, 0.0) * distribution.variance
    )
    # a number within [0, 1] has a deviation of at most a half
    error = np.minimum(np.sqrt(squared) / np.maximum(total, _TOLERANCE), 0.5)
    for each, end in ((value, 1.0), (low, 1.0), (high, 1.0), (error, 0.0)):
        each[..., -1] = end
    return Estimate(value, error, low, high)


def expected_share_error(family: Family, paid: Noise, rows: float) -> float:
    """Return the root mean square of the errors of the shares of this many values, at most."""
    return (
        float(np.sqrt(np.mean(_largest(family, paid)) * family.distribution(paid).variance)) / rows
    )


def share_half_width(family: Family, paid: Noise, rows: float, level: float) -> float:
    """Return how far an interval of a share of this many values is expected to reach, at most."""
    half = family.unit_half_width(paid, level) * np.sqrt(_largest(family, paid)) + _steps(
        family, paid
    )
    return min(float(np.max(half)) / rows, 1.0)


def _variances(family: Family, paid: Noise) -> tuple[Array, Array, float]:
    """Return v_k, c_k and v_m where the noise has the variance 1."""
    strategy = family.strategy(paid.norm)
    covariance = strategy.covariance / float(strategy.squared_sensitivity)
    sums = np.cumsum(np.cumsum(covariance, axis=0), axis=1)
    return np.diag(sums).copy(), sums[:, -1], float(sums[-1, -1])


def _largest(family: Family, paid: Noise) -> Array:
    """Return the largest variance of ``a - f b`` for any f in [0, 1]: at an end, being convex."""
    own, cross, total = _variances(family, paid)
    variances = np.maximum(own, own - 2 * cross + total)
    variances[-1] = 0.0
    return variances


def _steps(family: Family, paid: Noise) -> Array:
    """Return how far ``a - f b`` can be from a continuous variable, at most, for f in [0, 1]."""
    weights = np.cumsum(family.strategy(paid.norm).inverse, axis=0)
    ends = np.abs(weights).sum(axis=1), np.abs(weights - weights[-1]).sum(axis=1)
    return np.asarray(family.distribution(paid).grid * np.maximum(*ends))


# What a plan asks of cells: axes, families of questions, and how they share a loss.


FamilyKey = tuple[Subset, int]  # the axes of a family, and which of these is read in order
_UNIT = 1 << 20
_MAX_LIFTED = 1 << 18


@dataclass(frozen=True)
class RequestedCells:
    """The cells of one question: all listed ones of some axes."""

    axes: tuple[Axis, ...]  # the axes, in the order in which its numbers stand; none for all rows
    importance: int = 1  # how much the squared error of each of its numbers counts
    # how the bins of the last axis are read (:mod:`tacit.tables.joint.strategy`)
    reading: str = "cells"
    # whether no count may be below zero; of all questions of a plan, or of none
    nonnegative: bool = False

    @property
    def listed(self) -> int:
        """The number of cells."""
        return math.prod(axis.listed for axis in self.axes)


@dataclass(frozen=True)
class CellsOfPlan(Part):
    """Requests for counts of cells, without their strategy."""

    requested: tuple[RequestedCells, ...]

    @property
    def title(self) -> str:
        """Describe the part."""
        return f"counts of {so_many(str(len(self.requested)), 'question', 'questions')} together"

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The axes of all questions, each column once, with the keys of all of them."""
        axes: list[Axis] = []
        for axis in (axis for requested in self.requested for axis in requested.axes):
            index = next((i for i, known in enumerate(axes) if known.same(axis)), None)
            if index is None:
                axes.append(axis)
            else:
                axes[index] = axes[index].joined(axis)
        return tuple(axes)

    @property
    def has_one_name_twice(self) -> bool:
        """True if two axes are called the same: earlier versions took one for the other."""
        names = [axis.name for axis in self.axes]
        return len(set(names)) < len(names)

    def subset(self, requested: RequestedCells) -> tuple[int, ...]:
        """Return which axes a question is about, in its own order."""
        same = [[known.same(axis) for known in self.axes].index(True) for axis in requested.axes]
        if len(set(same)) < len(same):
            raise UsageError("a question counts cells of a column twice")
        return tuple(same)

    def strategy(self, kind: str) -> CellStrategy:
        """Return what gets noise of a kind, and how much."""
        if kind not in self._strategies:
            self._check_lifted()
            weights: dict[Subset, int] = {}
            for requested in self._alone:
                subset = tuple(sorted(self.subset(requested)))
                weights[subset] = weights.get(subset, 0) + requested.listed * requested.importance
            sizes = tuple(axis.size for axis in self.axes)
            self._strategies[kind] = CellStrategy(sizes, tuple(weights.items()), kind == "gaussian")
        return self._strategies[kind]

    def _check_lifted(self) -> None:
        cells = sum(requested.listed for requested in self.requested)
        if cells > _MAX_LIFTED and any(requested.nonnegative for requested in self.requested):
            raise UsageError(
                f"counts that are not below zero are found for at most {_MAX_LIFTED:,} cells, and "
                f"the questions have {cells:,}: ask for fewer columns at once, or leave "
                "nonnegative= out"
            )

    @cached_property
    def _strategies(self) -> dict[str, CellStrategy]:
        return {}

    # ---- families: questions that read bins in order, and what is asked of the same cells

    @cached_property
    def _family_of(self) -> dict[RequestedCells, FamilyKey]:
        """Of questions that read bins in order the axes, and which of these; and of the like."""
        families: dict[RequestedCells, FamilyKey] = {}
        along: dict[Subset, int] = {}
        for requested in self.requested:
            if requested.reading != "cells":
                order = self.subset(requested)
                families[requested] = tuple(sorted(order)), order[-1]
                along.setdefault(*families[requested])
        for requested in self.requested:
            subset = tuple(sorted(self.subset(requested)))
            if requested.reading == "cells" and subset in along:
                families[requested] = subset, along[subset]
        return families

    @cached_property
    def families(self) -> dict[FamilyKey, Family]:
        """The families, by their axes and which of these is read in order."""
        weights: dict[FamilyKey, dict[str, int]] = {}
        for query, key in self._family_of.items():
            bins = self.axes[key[1]].listed
            known = weights.setdefault(key, {})
            more = query.importance * (query.listed // bins)
            reading = counted_as(query.reading)
            known[reading] = known.get(reading, 0) + more
        return {
            key: Family(
                tuple(self.axes[i] for i in key[0]), key[0].index(key[1]), tuple(known.items())
            )
            for key, known in weights.items()
        }

    @cached_property
    def _alone(self) -> list[RequestedCells]:
        """The questions of no family."""
        return [requested for requested in self.requested if requested not in self._family_of]

    def split(self, kind: str) -> tuple[Fraction, dict[FamilyKey, Fraction]]:
        """Return the share of the loss of the questions of no family, and that of each family."""
        # A part with the share r has the total squared error ``T / r`` under a rho, and ``T / r^2``
        # under an epsilon.  Their sum is least where r goes with ``T^(1/2)``, or with ``T^(1/3)``.
        if kind not in self._splits:
            self._splits[kind] = self._split(kind)
        return self._splits[kind]

    @cached_property
    def _splits(self) -> dict[str, tuple[Fraction, dict[FamilyKey, Fraction]]]:
        return {}

    def _split(self, kind: str) -> tuple[Fraction, dict[FamilyKey, Fraction]]:
        if not self.families:
            return Fraction(1), {}
        gaussian = kind == "gaussian"
        norm, power = ("L2", 1 / 2) if gaussian else ("L1", 1 / 3)
        totals = [self.strategy(kind).total] if self._alone else []
        totals += [family.total(norm) for family in self.families.values()]
        roots = [total**power for total in totals]
        shares = [max(1, round(root / sum(roots) * _UNIT)) for root in roots]
        exact = [Fraction(share, sum(shares)) for share in shares]
        first = exact.pop(0) if self._alone else Fraction(0)
        return first, dict(zip(self.families, exact, strict=True))

    def measured(self, kind: str) -> list[tuple[tuple[Axis, ...], int, Fraction]]:
        """Return what gets noise of a kind: its axes, how many numbers, its share of the loss."""
        alone, shares = self.split(kind)
        measured = []
        if self._alone:
            strategy = self.strategy(kind)
            measured = [
                (tuple(self.axes[i] for i in subset), strategy.cells(subset), alone * share)
                for subset, share in strategy.measured
            ]
        for key, family in self.families.items():
            sums = family.strategy("L2" if kind == "gaussian" else "L1").combinations
            measured.append((family.axes, family.others * sums, shares[key]))
        return measured

    def _paid(self, noise: Noise) -> list[tuple[Family, Noise]]:
        """Return the families, each with its share of the loss."""
        shares = self.split(noise.kind)[1]
        return [(family, noise.split(shares[key])) for key, family in self.families.items()]

    def _family(self, query: RequestedCells, noise: Noise) -> tuple[Family, Noise]:
        key = self._family_of[query]
        return self.families[key], noise.split(self.split(noise.kind)[1][key])


def key_of(query: RequestedCells) -> str:
    """Return what the part knows a question by."""
    axes = [[axis.columns, axis.keys, axis.edges] for axis in query.axes]
    return repr([axes, query.reading] if query.reading != "cells" else axes)


# Counts of cells that get noise together: the part that answers them.

_Details = tuple[dict[tuple[Subset, Subset], float], dict[Subset, float]]


@dataclass(frozen=True)
class CellsPart(CellsOfPlan):
    """The counts of all questions of a plan, from one strategy."""

    def settled(self) -> CellsPart:
        """Return the part with each question once."""
        return CellsPart(tuple(dict.fromkeys(self.requested)))

    # ---- the questions of no family

    def _shares(self, noise: Noise) -> list[tuple[Subset, Noise, Fraction]]:
        """Return what gets noise: its axes, its share, and its sensitivity in rows of a person."""
        if not self._alone:
            return []
        strategy, noise = self.strategy(noise.kind), noise.split(self.split(noise.kind)[0])
        return [
            (
                s,
                noise.split(share),
                noise.rows * sqrt_up(Fraction(strategy.squared_row_sensitivity(s))),
            )
            for s, share in strategy.measured
        ]

    def _laws(self, noise: Noise) -> list[tuple[Subset, GridNoise]]:
        grid = Fraction(1, noise.one)
        return [
            (subset, part.distribution(moved, grid)) for subset, part, moved in self._shares(noise)
        ]

    # ---- what is asked of the engine

    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return a chain for each set of axes: counts or their residual, and additive noise."""
        if by:
            raise UsageError(
                f"ranges and prefix sums by {', '.join(by)} are answered in a plan: "
                "session.plan([question]).release(...)"
            )
        chains: list[tuple[Step, Step]] = []
        for subset, share, moved in self._shares(noise):
            axes = [self.axes[i] for i in subset]
            step = CellCounts.of(
                axes,
                size=math.prod(axis.size for axis in axes),
                norm=noise.norm,
                residual=noise.kind == "gaussian",
                one=noise.one,
            )
            chains.append((step, added_noise(share, moved)))
        return [*chains, *(family.chain(paid) for family, paid in self._paid(noise))]

    @cached_property
    def _indices(self) -> dict[str, int]:
        return {str(axis.described()): index for index, axis in enumerate(self.axes)}

    def _of(self, step: Step) -> Subset:
        assert isinstance(step, CellCounts)
        return tuple(self._indices[str(axis)] for axis in step.counted)

    @cached_property
    def _covers(self) -> dict[Subset, Subset]:
        """Of each set of axes, the one that the engine counts the cells of, and it is a sum of."""
        wanted = (tuple(sorted(self.subset(requested))) for requested in self.requested)
        return counted_sets(wanted, [axis.size for axis in self.axes])

    def request(self, step: Step, columns: Columns) -> Request:
        """Ask for the weight of the rows in each cell of a set of axes, by one number a row."""
        subset = self._of(step)
        cover = self._covers.get(subset, subset)
        known = self._requests.get(cover)
        if known is None or known[0] is not columns:  # many sets are counted by one request
            cells = math.prod(self.axes[i].size for i in cover)
            grid = Grid.for_bounds(0, max(cells, 2), whole=True)
            known = self._requests[cover] = columns, Cells(self._code(cover, columns), grid)
        return known[1]

    @cached_property
    def _requests(self) -> dict[Subset, tuple[Columns, Request]]:
        return {}

    def _code(self, subset: Subset, columns: Columns) -> Expression:
        codes: list[Any] = []
        stride = math.prod(self.axes[i].size for i in subset)
        for axis in (self.axes[i] for i in subset):
            stride //= axis.size
            codes.append(axis.code(columns.value, stride, columns.undeclared))
        return reduce(lambda a, b: a + b, codes) if codes else _NOTHING

    def vector(self, step: Step, exact: Any) -> Any:
        """Return the counts of the cells, or their residual, from the cells that occur."""
        subset = self._of(step)
        cover = self._covers.get(subset, subset)
        ((cells, weights),) = exact
        sizes = [axis.size for axis in self.axes]
        assert isinstance(step, CellCounts)
        return step.combined(summed(cells, weights, cover, subset, sizes))

    # ---- what follows from the noisy numbers

    def estimates(self, released: Sequence[Any], noise: Noise) -> dict[str, Estimate]:
        """Return the counts of each question, by least squares: they add up with one another."""
        # Where none may be below zero, each value is that of the nearest counts of that kind
        # (:mod:`tacit.workload.synthetic`): nearest by the total of squares that the plan makes
        # least, over all cells, so that this total is never larger than that of least squares.  Its
        # standard error and its interval stay those of least squares, which hold whatever is
        # published in the middle of them.
        values = self._values(released, noise, lifted=False)
        shares = [requested for requested in self.requested if requested.reading == SHARES]
        lifted = self._values(released, noise, lifted=True) if shares or self.nonnegative else {}
        shown = lifted if self.nonnegative else values
        answers = {}
        for requested in shares:
            own = *self._family(requested, noise), values.pop(requested), lifted[requested]
            answers[key_of(requested)] = shares_up_to(*own).in_a_row()
        for requested, value in values.items():
            error = np.broadcast_to(self._error(requested, noise), value.shape)
            half = np.broadcast_to(self._half_width(requested, noise, LEVEL), value.shape)
            low, high = np.maximum(value - half, 0.0), np.maximum(value + half, 0.0)
            answers[key_of(requested)] = Estimate(shown[requested], error, low, high)
        return answers

    @property
    def nonnegative(self) -> bool:
        """True if no published count may be below zero."""
        return any(query.nonnegative for query in self.requested)

    def _values(
        self, released: Sequence[Any], noise: Noise, *, lifted: bool
    ) -> dict[RequestedCells, Array]:
        """Return the numbers of each question; of shares, those of the bins in lines."""
        lines: dict[FamilyKey, Array] = {}
        for key, (family, _, counts) in zip(
            self.families, self.of_families(released, noise), strict=True
        ):
            covariance = family.strategy(noise.norm).covariance
            lines[key] = nonnegative_cells(counts, covariance, family.along) if lifted else counts
        residuals = self._residuals(released, noise)
        covers = largest_sets(tuple(sorted(self.subset(requested))) for requested in self._alone)
        tables = {each: self._added_up(each, residuals) for each in dict.fromkeys(covers.values())}
        lifted = lifted and self.nonnegative
        if lifted and tables:
            weights = self.strategy(noise.kind).weights
            tables = nonnegative_marginals(tables, {part: 1 / w for part, w in weights.items()})
        values = {}
        for requested in self.requested:
            order = self.subset(requested)
            if requested in self._family_of:
                listed = self._listed(requested, lines[self._family_of[requested]])
                bins = requested.reading == SHARES
                values[requested] = (
                    listed if bins else taken(requested.reading, listed).reshape(1, -1)
                )
                continue
            if lifted:
                cover = covers[tuple(sorted(order))]
                gone = tuple(index for index, i in enumerate(cover) if i not in order)
                listed = np.asarray(tables[cover].sum(axis=gone))
            else:
                listed = self._added_up(tuple(sorted(order)), residuals)
            values[requested] = self._listed(requested, listed).reshape((1, -1) if order else (1,))
        return values

    def _residuals(self, released: Sequence[Any], noise: Noise) -> Mapping[Subset, Array]:
        """Return the residual of each set of axes, from all noisy numbers that tell of it."""
        laws = self._laws(noise)
        shares = self._details(noise)[0]
        residuals: dict[Subset, Array] = {}
        for (subset, _), numbers in zip(laws, released, strict=False):  # families come after
            shape = tuple(self.axes[i].size for i in subset)
            noisy = np.asarray(numbers, dtype=np.float64).reshape(shape)
            parts = [subset] if noise.kind == "gaussian" else self._parts(subset)
            for part in parts:
                share = shares.get((part, subset), 0.0)
                gone = tuple(index for index, i in enumerate(subset) if i not in part)
                residual = centred(noisy.sum(axis=gone) if gone else noisy) * share
                residuals[part] = residuals[part] + residual if part in residuals else residual
        return residuals

    def _parts(self, measured: Subset) -> list[Subset]:
        """Return the sets whose residuals are needed and lie within one that gets noise."""
        return [part for part in self._needed if set(part) <= set(measured)]

    @cached_property
    def _needed(self) -> tuple[Subset, ...]:
        return self.strategy("gaussian").needed

    def _variances(self, noise: Noise) -> dict[Subset, float]:
        """Return the number s_B of the residual of each set B (:mod:`strategy`)."""
        return self._details(noise)[1]

    def _details(
        self, noise: Noise
    ) -> tuple[dict[tuple[Subset, Subset], float], dict[Subset, float]]:
        if noise not in self._known:
            laws = self._laws(noise)
            if noise.kind == "gaussian":
                n = {s: math.prod(self.axes[i].size for i in s) for s, _ in laws}
                alone = {(s, s): 1 / n[s] for s, _ in laws}
                self._known[noise] = (
                    alone,
                    {s: distribution.variance / n[s] ** 2 for s, distribution in laws},
                )
            else:
                self._known[noise] = self._combined(laws)
        details: _Details = self._known[noise]
        return details

    def _combined(
        self, laws: Sequence[tuple[Subset, GridNoise]]
    ) -> tuple[dict[tuple[Subset, Subset], float], dict[Subset, float]]:
        precise: dict[Subset, dict[Subset, float]] = {}
        for subset, distribution in laws:
            for part in self._parts(subset):
                rest = math.prod(self.axes[i].size for i in subset if i not in part)
                precise.setdefault(part, {})[subset] = 1 / (
                    max(distribution.variance, 1e-300) * rest
                )
        totals = {part: sum(each.values()) for part, each in precise.items()}
        shares = {(p, s): v / totals[p] for p, each in precise.items() for s, v in each.items()}
        return shares, {part: 1 / total for part, total in totals.items()}

    @cached_property
    def _known(self) -> dict[Noise, Any]:
        return {}

    def measured_sums(
        self, noise: Noise
    ) -> list[tuple[Subset, GridNoise, list[tuple[Subset, float]]]]:
        """Return what gets noise: its axes, its noise, and the residuals that it tells of."""
        # Each residual with the share that the sum of the noisy numbers has in it.
        shares = self._details(noise)[0]
        return [
            (
                subset,
                distribution,
                [(part, share) for (part, of), share in shares.items() if of == subset],
            )
            for subset, distribution in self._laws(noise)
        ]

    def whole(self, released: Sequence[Any], noise: Noise) -> dict[Subset, Array]:
        """Return all cells of each set of axes that a question of no family is about."""
        # Those of other values too; from the noisy numbers, as :meth:`estimates`.
        residuals = self._residuals(released, noise)
        wanted = {tuple(sorted(self.subset(requested))) for requested in self._alone}
        return {subset: self._added_up(subset, residuals) for subset in sorted(wanted)}

    def of_families(
        self, released: Sequence[Any], noise: Noise
    ) -> list[tuple[Family, Noise, Array]]:
        """Return the families, what each may lose, and the counts of its cells."""
        counted = released[len(released) - len(self.families) :]
        return [
            (family, share, family.counts(numbers, share))
            for (family, share), numbers in zip(self._paid(noise), counted, strict=True)
        ]

    def _added_up(self, subset: Subset, residuals: Mapping[Subset, Array]) -> Array:
        total = np.zeros(tuple(self.axes[i].size for i in subset))
        for part in subsets_of(subset):
            shape = tuple(self.axes[i].size if i in part else 1 for i in subset)
            rest = math.prod(self.axes[i].size for i in subset if i not in part)
            total = total + residuals[part].reshape(shape) / rest
        return total

    def _listed(self, query: RequestedCells, values: Array) -> Array:
        """Return the listed cells of a question in its own order, from those of its axes."""
        order = self.subset(query)
        if not order:
            return values
        own = values.transpose([sorted(order).index(i) for i in order])
        listed = [self.axes[i].indices_in(axis) for i, axis in zip(order, query.axes, strict=True)]
        return np.asarray(own[np.ix_(*listed)])

    def _error(self, query: RequestedCells, noise: Noise) -> Array:
        """Return the standard error of every number of a question, or one for all of them."""
        if query in self._family_of:
            family, paid = self._family(query, noise)
            return self._each(query, family.errors(counted_as(query.reading), paid))
        return np.array(self._one_error(query, noise))

    def _each(self, query: RequestedCells, along: Array) -> Array:
        """Return what each number of a question has, from what those along its axis have."""
        index = self.subset(query).index(self._family_of[query][1])
        shape = [axis.listed for axis in query.axes]
        shape[index] = len(along)
        wide = along.reshape([-1 if i == index else 1 for i in range(len(shape))])
        return np.broadcast_to(wide, shape).reshape(1, -1)

    def _one_error(self, query: RequestedCells, noise: Noise) -> float:
        subset, variances = self.subset(query), self._variances(noise)
        total = 0.0
        for part in subsets_of(tuple(sorted(subset))):
            rest = math.prod(self.axes[i].size for i in subset if i not in part)
            factor = math.prod(1 - 1 / self.axes[i].size for i in part)
            total += variances[part] * factor / rest**2
        return math.sqrt(total)

    def _half_width(self, query: RequestedCells, noise: Noise, level: float) -> Array:
        """Return the half-width of the interval of each number, or one for all of them."""
        if query in self._family_of:
            family, paid = self._family(query, noise)
            return self._each(query, family.half_widths(query.reading, paid, level))
        return np.array(self._one_half_width(query, noise, level))

    def _one_half_width(self, query: RequestedCells, noise: Noise, level: float) -> float:
        subset = tuple(sorted(self.subset(query)))
        return half_width_of_terms(tuple(self._terms(subset, noise)), level)

    def _terms(self, subset: Subset, noise: Noise) -> list[Term]:
        """Return the weights of all noisy numbers in one cell, the equal ones together."""
        sizes, terms = [axis.size for axis in self.axes], []
        if noise.kind == "gaussian":
            # A residual part is measured as ``Q x`` with ``Q = n I - 1 1^T`` on each of its axes,
            # and its noise z enters a cell as ``(I - 1 1^T / n) z / n``.
            whole = math.prod(sizes[i] for i in subset)
            distributions = dict(self._laws(noise))
            for part in subsets_of(subset):
                for equal in subsets_of(part):
                    weight = math.prod((i in equal) - 1 / sizes[i] for i in part) / whole
                    copies = math.prod(sizes[i] - 1 for i in part if i not in equal)
                    terms.append((distributions[part], weight, copies))
            return terms
        shares = self._details(noise)[0]
        for measured, distribution in self._laws(noise):
            shared = tuple(i for i in subset if i in measured)
            others = math.prod(sizes[i] for i in measured if i not in shared)
            for equal in subsets_of(shared):
                weight = 0.0
                for part in subsets_of(shared):
                    rest = math.prod(sizes[i] for i in subset if i not in part)
                    bent = math.prod((i in equal) - 1 / sizes[i] for i in part)
                    weight += shares[part, measured] * bent / rest
                copies = others * math.prod(sizes[i] - 1 for i in shared if i not in equal)
                terms.append((distribution, weight, copies))
        return terms

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the root mean square of the standard errors of a question, for any data."""
        requested = self._requested_by_kind[kind]
        if requested.reading == SHARES:
            return expected_share_error(*self._family(requested, noise), rows)
        return float(np.sqrt(np.mean(np.square(self._error(requested, noise)))))

    def total(self, noise: Noise) -> float:
        """Return the weighted total squared error, of shares that of their prefix sums."""
        each = [
            (requested, np.square(self._error(requested, noise))) for requested in self.requested
        ]
        return sum(a.importance * float(s.sum()) * (1 if s.ndim else a.listed) for a, s in each)

    def half_width(self, kind: str, noise: Noise, rows: float, level: float) -> float | None:
        """Return the half-width of the widest interval of a question."""
        requested = self._requested_by_kind[kind]
        if requested.reading == SHARES:
            return share_half_width(*self._family(requested, noise), rows, level)
        return float(np.max(self._half_width(requested, noise, level)))

    @cached_property
    def _requested_by_kind(self) -> dict[str, RequestedCells]:
        return {key_of(requested): requested for requested in self.requested}


_NOTHING = Expression("literal", (), (0,))  # the number of a row's cell where there is but one
