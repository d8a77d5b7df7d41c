"""Counts of cells that get noise together: the part that answers them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.square_root import sqrt_up
from tacit.core import Step
from tacit.errors import UsageError
from tacit.expressions.expression import Expression
from tacit.expressions.grid import Grid
from tacit.tables.chain.estimate import Estimate
from tacit.tables.chain.noise_law import NoiseLaw
from tacit.tables.chain.part import LEVEL, Columns, Noise
from tacit.tables.query.requests import Cells, Request
from tacit.tables.together.asked_cells import AskedCells, CellsOfPlan, FamilyKey, key_of
from tacit.tables.together.counted_sets import counted_sets, largest_sets, summed
from tacit.tables.together.family import Family, added_noise
from tacit.tables.together.intervals import Term, laplace_half_width
from tacit.tables.together.reading import SHARES, counted_as, taken
from tacit.tables.together.shares_of_bins import (
    expected_share_error,
    share_half_width,
    shares_up_to,
)
from tacit.tables.together.step import CellCounts
from tacit.tables.together.strategy import subsets_of
from tacit.workload.marginals import Subset
from tacit.workload.nonnegative import centred, nonnegative_cells, nonnegative_marginals

__all__ = ["AskedCells", "CellsPart", "key_of"]

Array = NDArray[np.float64]
_Details = tuple[dict[tuple[Subset, Subset], float], dict[Subset, float]]


@dataclass(frozen=True)
class CellsPart(CellsOfPlan):
    """The counts of all questions of a plan, from one strategy."""

    def settled(self) -> CellsPart:
        """Return the part with each question once."""
        return CellsPart(tuple(dict.fromkeys(self.asked)))

    # ---- the questions of no family

    def _shares(self, noise: Noise) -> list[tuple[Subset, Noise, Fraction]]:
        """Return what gets noise: its axes, its share, and its sensitivity in rows of a person."""
        if not self._alone:
            return []
        strategy, noise = self.strategy(noise.kind), noise.split(self.split(noise.kind)[0])
        return [
            (s, noise.split(share), noise.rows * sqrt_up(Fraction(strategy.squared_stretch(s))))
            for s, share in strategy.measured
        ]

    def _laws(self, noise: Noise) -> list[tuple[Subset, NoiseLaw]]:
        grid = Fraction(1, noise.one)
        return [(subset, part.law(moved, grid)) for subset, part, moved in self._shares(noise)]

    # ---- what is asked of the engine

    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return a chain for each set of axes: counts or their residual, and additive noise.

        Raises:
            UsageError: groups, which a plan makes axes of.
        """
        if by:
            raise UsageError(
                f"ranges and prefix sums by {', '.join(by)} are answered in a plan: "
                "session.plan([question]).release(...)"
            )
        found: list[tuple[Step, Step]] = []
        for subset, share, moved in self._shares(noise):
            axes = [self.axes[i] for i in subset]
            step = CellCounts.of(
                axes,
                size=math.prod(axis.size for axis in axes),
                norm=noise.norm,
                residual=noise.kind == "gaussian",
                one=noise.one,
            )
            found.append((step, added_noise(share, moved)))
        return [*found, *(family.chain(paid) for family, paid in self._paid(noise))]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {str(axis.described()): place for place, axis in enumerate(self.axes)}

    def _of(self, step: Step) -> Subset:
        assert isinstance(step, CellCounts)
        return tuple(self._places[str(axis)] for axis in step.counted)

    @cached_property
    def _covers(self) -> dict[Subset, Subset]:
        """Of each set of axes, the one that the engine counts the cells of, and it is a sum of."""
        wanted = (tuple(sorted(self.subset(asked))) for asked in self.asked)
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
            codes.append(axis.code(columns.value, stride))
        return reduce(lambda a, b: a + b, codes) if codes else _NOTHING

    def vector(self, step: Step, found: Any) -> Any:
        """Return the counts of the cells, or their residual, from the cells that occur."""
        subset = self._of(step)
        cover = self._covers.get(subset, subset)
        ((cells, weights),) = found
        sizes = [axis.size for axis in self.axes]
        assert isinstance(step, CellCounts)
        return step.combined(summed(cells, weights, cover, subset, sizes))

    # ---- what follows from the noisy numbers

    def estimates(self, released: Sequence[Any], noise: Noise) -> dict[str, Estimate]:
        """Return the counts of each question, by least squares: they add up with one another.

        Where none may be below zero, each value is that of the nearest counts of that kind
        (:mod:`tacit.workload.nonnegative`): nearest by the total of squares that the plan makes
        least, over all cells, so that this total is never larger than that of least squares.  Its
        standard error and its interval stay those of least squares, which hold whatever is
        published in the middle of them.
        """
        values = self._values(released, noise, lifted=False)
        shares = [asked for asked in self.asked if asked.reading == SHARES]
        lifted = self._values(released, noise, lifted=True) if shares or self.nonnegative else {}
        shown = lifted if self.nonnegative else values
        found = {}
        for asked in shares:
            own = *self._family(asked, noise), values.pop(asked), lifted[asked]
            found[key_of(asked)] = shares_up_to(*own).in_a_row()
        for asked, value in values.items():
            error = np.broadcast_to(self._error(asked, noise), value.shape)
            half = np.broadcast_to(self._half_width(asked, noise, LEVEL), value.shape)
            low, high = np.maximum(value - half, 0.0), np.maximum(value + half, 0.0)
            found[key_of(asked)] = Estimate(shown[asked], error, low, high)
        return found

    @property
    def nonnegative(self) -> bool:
        """Whether no published count may be below zero."""
        return any(asked.nonnegative for asked in self.asked)

    def _values(
        self, released: Sequence[Any], noise: Noise, *, lifted: bool
    ) -> dict[AskedCells, Array]:
        """Return the numbers of each question; of shares, those of the bins in lines."""
        lines: dict[FamilyKey, Array] = {}
        for key, (family, _, counts) in zip(
            self.families, self.of_families(released, noise), strict=True
        ):
            covariance = family.strategy(noise.norm).covariance
            lines[key] = nonnegative_cells(counts, covariance, family.along) if lifted else counts
        residuals = self._residuals(released, noise)
        covers = largest_sets(tuple(sorted(self.subset(asked))) for asked in self._alone)
        tables = {each: self._added_up(each, residuals) for each in dict.fromkeys(covers.values())}
        lifted = lifted and self.nonnegative
        if lifted and tables:
            weights = self.strategy(noise.kind).weights
            tables = nonnegative_marginals(tables, {part: 1 / w for part, w in weights.items()})
        found = {}
        for asked in self.asked:
            order = self.subset(asked)
            if asked in self._family_of:
                whole = self._listed(asked, lines[self._family_of[asked]])
                bins = asked.reading == SHARES
                found[asked] = whole if bins else taken(asked.reading, whole).reshape(1, -1)
                continue
            if lifted:
                cover = covers[tuple(sorted(order))]
                gone = tuple(place for place, i in enumerate(cover) if i not in order)
                whole = np.asarray(tables[cover].sum(axis=gone))
            else:
                whole = self._added_up(tuple(sorted(order)), residuals)
            found[asked] = self._listed(asked, whole).reshape((1, -1) if order else (1,))
        return found

    def _residuals(self, released: Sequence[Any], noise: Noise) -> Mapping[Subset, Array]:
        """Return the residual of each set of axes, from all noisy numbers that tell of it."""
        laws = self._laws(noise)
        shares = self._details(noise)[0]
        found: dict[Subset, Array] = {}
        for (subset, _), numbers in zip(laws, released, strict=False):  # families come after
            shape = tuple(self.axes[i].size for i in subset)
            noisy = np.asarray(numbers, dtype=np.float64).reshape(shape)
            parts = [subset] if noise.kind == "gaussian" else self._parts(subset)
            for part in parts:
                share = shares.get((part, subset), 0.0)
                gone = tuple(place for place, i in enumerate(subset) if i not in part)
                told = centred(noisy.sum(axis=gone) if gone else noisy) * share
                found[part] = found[part] + told if part in found else told
        return found

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
                self._known[noise] = alone, {s: law.variance / n[s] ** 2 for s, law in laws}
            else:
                self._known[noise] = self._combined(laws)
        found: _Details = self._known[noise]
        return found

    def _combined(
        self, laws: Sequence[tuple[Subset, NoiseLaw]]
    ) -> tuple[dict[tuple[Subset, Subset], float], dict[Subset, float]]:
        precise: dict[Subset, dict[Subset, float]] = {}
        for subset, law in laws:
            for part in self._parts(subset):
                rest = math.prod(self.axes[i].size for i in subset if i not in part)
                precise.setdefault(part, {})[subset] = 1 / (max(law.variance, 1e-300) * rest)
        whole = {part: sum(each.values()) for part, each in precise.items()}
        told = {(p, s): v / whole[p] for p, each in precise.items() for s, v in each.items()}
        return told, {part: 1 / total for part, total in whole.items()}

    @cached_property
    def _known(self) -> dict[Noise, Any]:
        return {}

    def told(self, noise: Noise) -> list[tuple[Subset, NoiseLaw, list[tuple[Subset, float]]]]:
        """Return what gets noise: its axes, its noise, and the residuals that it tells of.

        Each residual with the share that the sum of the noisy numbers has in it.
        """
        shares = self._details(noise)[0]
        return [
            (subset, law, [(part, share) for (part, of), share in shares.items() if of == subset])
            for subset, law in self._laws(noise)
        ]

    def whole(self, released: Sequence[Any], noise: Noise) -> dict[Subset, Array]:
        """Return all cells of each set of axes that a question of no family is about.

        Those of other values too; from the noisy numbers, as :meth:`estimates`.
        """
        residuals = self._residuals(released, noise)
        wanted = {tuple(sorted(self.subset(asked))) for asked in self._alone}
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
        whole = np.zeros(tuple(self.axes[i].size for i in subset))
        for part in subsets_of(subset):
            kept = tuple(self.axes[i].size if i in part else 1 for i in subset)
            rest = math.prod(self.axes[i].size for i in subset if i not in part)
            whole = whole + residuals[part].reshape(kept) / rest
        return whole

    def _listed(self, asked: AskedCells, whole: Array) -> Array:
        """Return the listed cells of a question in its own order, from those of its axes."""
        order = self.subset(asked)
        if not order:
            return whole
        own = whole.transpose([sorted(order).index(i) for i in order])
        listed = [self.axes[i].places(axis) for i, axis in zip(order, asked.axes, strict=True)]
        return np.asarray(own[np.ix_(*listed)])

    def _error(self, asked: AskedCells, noise: Noise) -> Array:
        """Return the standard error of every number of a question, or one for all of them."""
        if asked in self._family_of:
            family, paid = self._family(asked, noise)
            return self._each(asked, family.errors(counted_as(asked.reading), paid))
        return np.array(self._one_error(asked, noise))

    def _each(self, asked: AskedCells, along: Array) -> Array:
        """Return what each number of a question has, from what those along its axis have."""
        place = self.subset(asked).index(self._family_of[asked][1])
        shape = [axis.listed for axis in asked.axes]
        shape[place] = len(along)
        wide = along.reshape([-1 if i == place else 1 for i in range(len(shape))])
        return np.broadcast_to(wide, shape).reshape(1, -1)

    def _one_error(self, asked: AskedCells, noise: Noise) -> float:
        subset, variances = self.subset(asked), self._variances(noise)
        total = 0.0
        for part in subsets_of(tuple(sorted(subset))):
            rest = math.prod(self.axes[i].size for i in subset if i not in part)
            kept = math.prod(1 - 1 / self.axes[i].size for i in part)
            total += variances[part] * kept / rest**2
        return math.sqrt(total)

    def _half_width(self, asked: AskedCells, noise: Noise, level: float) -> Array:
        """Return the half-width of the interval of each number, or one for all of them."""
        if asked in self._family_of:
            family, paid = self._family(asked, noise)
            return self._each(asked, family.half_widths(asked.reading, paid, level))
        return np.array(self._one_half_width(asked, noise, level))

    def _one_half_width(self, asked: AskedCells, noise: Noise, level: float) -> float:
        subset = tuple(sorted(self.subset(asked)))
        if noise.kind == "laplace":
            return laplace_half_width(tuple(self._terms(subset, noise)), level)
        z = NoiseLaw("gaussian", 1.0, 0.0).half_width((1.0,), level)
        # the discrete Gaussian is below a continuous one plus a step, on each side
        steps = 0.0
        for part in subsets_of(subset):
            rest = math.prod(self.axes[i].size for i in subset)
            steps += math.prod(2 * (1 - 1 / self.axes[i].size) for i in part) / rest
        return z * self._one_error(asked, noise) + steps / noise.one

    def _terms(self, subset: Subset, noise: Noise) -> list[Term]:
        """Return the weights of all noisy numbers in one cell, the equal ones together."""
        told, found = self._details(noise)[0], []
        sizes = [axis.size for axis in self.axes]
        for measured, law in self._laws(noise):
            shared = tuple(i for i in subset if i in measured)
            apart = math.prod(sizes[i] for i in measured if i not in shared)
            for equal in subsets_of(shared):
                weight = 0.0
                for part in subsets_of(shared):
                    rest = math.prod(sizes[i] for i in subset if i not in part)
                    bent = math.prod((i in equal) - 1 / sizes[i] for i in part)
                    weight += told[part, measured] * bent / rest
                copies = apart * math.prod(sizes[i] - 1 for i in shared if i not in equal)
                found.append((law, weight, copies))
        return found

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the root mean square of the standard errors of a question, for any data."""
        asked = self._asked[kind]
        if asked.reading == SHARES:
            return expected_share_error(*self._family(asked, noise), rows)
        return float(np.sqrt(np.mean(np.square(self._error(asked, noise)))))

    def total(self, noise: Noise) -> float:
        """Return the weighted total squared error, of shares that of their prefix sums."""
        each = [(asked, np.square(self._error(asked, noise))) for asked in self.asked]
        return sum(a.importance * float(s.sum()) * (1 if s.ndim else a.listed) for a, s in each)

    def half_width(self, kind: str, noise: Noise, rows: float, level: float) -> float | None:
        """Return the half-width of the widest interval of a question."""
        asked = self._asked[kind]
        if asked.reading == SHARES:
            return share_half_width(*self._family(asked, noise), rows, level)
        return float(np.max(self._half_width(asked, noise, level)))

    @cached_property
    def _asked(self) -> dict[str, AskedCells]:
        return {key_of(asked): asked for asked in self.asked}


_NOTHING = Expression("literal", (), (0,))
"""The number of a row's cell where there is but one."""
