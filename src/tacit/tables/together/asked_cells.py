"""What a plan asks of cells: axes, families of questions, and how they share a loss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from tacit.errors import UsageError
from tacit.report.text.vocabulary import so_many
from tacit.tables.chain.part import Noise, Part
from tacit.tables.spec.cell_axis import Axis
from tacit.tables.together.family import Family
from tacit.tables.together.reading import counted_as
from tacit.tables.together.strategy import CellStrategy
from tacit.workload.marginals import Subset

__all__ = ["AskedCells", "CellsOfPlan", "FamilyKey", "key_of"]

FamilyKey = tuple[Subset, int]
"""The axes of a family, and which of these is read in order."""
_UNIT = 1 << 20
_MOST_LIFTED = 1 << 18


@dataclass(frozen=True)
class AskedCells:
    """The cells of one question: all listed ones of some axes.

    Attributes:
        axes: the axes, in the order in which its numbers stand; none for all rows.
        importance: how much the squared error of each of its numbers counts.
        reading: how the bins of the last axis are read (:mod:`tacit.tables.together.reading`).
        nonnegative: whether no count may be below zero; of all questions of a plan, or of none.
    """

    axes: tuple[Axis, ...]
    importance: int = 1
    reading: str = "cells"
    nonnegative: bool = False

    @property
    def listed(self) -> int:
        """How many cells it has."""
        return math.prod(axis.listed for axis in self.axes)


@dataclass(frozen=True)
class CellsOfPlan(Part):
    """What is asked of cells, without how it is answered."""

    asked: tuple[AskedCells, ...]

    @property
    def title(self) -> str:
        """Say what the part is."""
        return f"counts of {so_many(str(len(self.asked)), 'question', 'questions')} together"

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The axes of all questions, each column once, with the keys of all of them."""
        found: list[Axis] = []
        for axis in (axis for asked in self.asked for axis in asked.axes):
            place = next((i for i, known in enumerate(found) if known.same(axis)), None)
            if place is None:
                found.append(axis)
            else:
                found[place] = found[place].joined(axis)
        return tuple(found)

    @property
    def has_one_name_twice(self) -> bool:
        """Whether two axes are called the same: earlier versions took one for the other."""
        names = [axis.name for axis in self.axes]
        return len(set(names)) < len(names)

    def subset(self, asked: AskedCells) -> tuple[int, ...]:
        """Return which axes a question is about, in its own order."""
        same = [[known.same(axis) for known in self.axes].index(True) for axis in asked.axes]
        if len(set(same)) < len(same):
            raise UsageError("a question counts cells of a column twice")
        return tuple(same)

    def strategy(self, kind: str) -> CellStrategy:
        """Return what gets noise of a kind, and how much."""
        if kind not in self._strategies:
            self._check_lifted()
            weights: dict[Subset, int] = {}
            for asked in self._alone:
                subset = tuple(sorted(self.subset(asked)))
                weights[subset] = weights.get(subset, 0) + asked.listed * asked.importance
            sizes = tuple(axis.size for axis in self.axes)
            self._strategies[kind] = CellStrategy(sizes, tuple(weights.items()), kind == "gaussian")
        return self._strategies[kind]

    def _check_lifted(self) -> None:
        cells = sum(asked.listed for asked in self.asked)
        if cells > _MOST_LIFTED and any(asked.nonnegative for asked in self.asked):
            raise UsageError(
                f"counts that are not below zero are found for at most {_MOST_LIFTED:,} cells, and "
                f"the questions have {cells:,}: ask for fewer columns at once, or leave "
                "nonnegative= out"
            )

    @cached_property
    def _strategies(self) -> dict[str, CellStrategy]:
        return {}

    # ---- families: questions that read bins in order, and what is asked of the same cells

    @cached_property
    def _family_of(self) -> dict[AskedCells, FamilyKey]:
        """Of questions that read bins in order the axes, and which of these; and of the like."""
        found: dict[AskedCells, FamilyKey] = {}
        along: dict[Subset, int] = {}
        for asked in self.asked:
            if asked.reading != "cells":
                order = self.subset(asked)
                found[asked] = tuple(sorted(order)), order[-1]
                along.setdefault(*found[asked])
        for asked in self.asked:
            subset = tuple(sorted(self.subset(asked)))
            if asked.reading == "cells" and subset in along:
                found[asked] = subset, along[subset]
        return found

    @cached_property
    def families(self) -> dict[FamilyKey, Family]:
        """The families, by their axes and which of these is read in order."""
        weights: dict[FamilyKey, dict[str, int]] = {}
        for asked, key in self._family_of.items():
            bins = self.axes[key[1]].listed
            known = weights.setdefault(key, {})
            more = asked.importance * (asked.listed // bins)
            reading = counted_as(asked.reading)
            known[reading] = known.get(reading, 0) + more
        return {
            key: Family(
                tuple(self.axes[i] for i in key[0]), key[0].index(key[1]), tuple(known.items())
            )
            for key, known in weights.items()
        }

    @cached_property
    def _alone(self) -> list[AskedCells]:
        """The questions of no family."""
        return [asked for asked in self.asked if asked not in self._family_of]

    def split(self, kind: str) -> tuple[Fraction, dict[FamilyKey, Fraction]]:
        """Return the share of the loss of the questions of no family, and that of each family.

        A part with the share r has the total squared error ``T / r`` under a rho, and ``T / r^2``
        under an epsilon.  Their sum is least where r goes with ``T^(1/2)``, or with ``T^(1/3)``.
        """
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
        found = []
        if self._alone:
            strategy = self.strategy(kind)
            found = [
                (tuple(self.axes[i] for i in subset), strategy.cells(subset), alone * share)
                for subset, share in strategy.measured
            ]
        for key, family in self.families.items():
            sums = len(family.strategy("L2" if kind == "gaussian" else "L1").matrix)
            found.append((family.axes, family.others * sums, shares[key]))
        return found

    def _paid(self, noise: Noise) -> list[tuple[Family, Noise]]:
        """Return the families, each with its share of the loss."""
        shares = self.split(noise.kind)[1]
        return [(family, noise.split(shares[key])) for key, family in self.families.items()]

    def _family(self, asked: AskedCells, noise: Noise) -> tuple[Family, Noise]:
        key = self._family_of[asked]
        return self.families[key], noise.split(self.split(noise.kind)[1][key])


def key_of(asked: AskedCells) -> str:
    """Return what the part knows a question by."""
    axes = [[axis.columns, axis.keys, axis.edges] for axis in asked.axes]
    return repr([axes, asked.reading] if asked.reading != "cells" else axes)
