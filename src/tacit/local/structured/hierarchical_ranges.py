"""Range queries: intervals of several lengths, so that any range is a sum of few of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number, as_integer
from tacit.calls import public
from tacit.errors import UsageError
from tacit.local.base.estimate import Estimate
from tacit.local.base.items import Items
from tacit.local.base.oracle import Oracle, oracle_from
from tacit.local.frequency.hadamard_response import HadamardResponse, hadamard_transform
from tacit.local.structured.attributes import AttributeSampling

__all__ = ["HierarchicalRanges"]


@public
class HierarchicalRanges(AttributeSampling):
    """Draw a level of a tree of intervals at random, and report one's own interval of that level.

    Level 0 are the ``size`` values themselves, each next level joins ``branching`` neighbours.  A
    range is a sum of at most ``2 (branching - 1)`` intervals of each level.  **Privacy**: that of
    the level's frequency oracle.  Each level is reported on by its share of the people.

    Source: G. Cormode, T. Kulkarni, D. Srivastava, *Answering range queries under local
    differential privacy*, VLDB 2019.

    Args:
        size: the values are 0 .. size - 1, at least ``2 branching``.
        epsilon: the greatest loss allowed.
        branching: how many neighbours are joined, at least 2.

    Example:
        >>> ages = HierarchicalRanges(128, epsilon=2)
        >>> state = ages.aggregate(ages.perturb_many([30] * 4000 + [80] * 4000))
        >>> 0.3 < ages.share(state, 20, 40) < 0.7
        True
    """

    def __init__(
        self,
        size: int | None = None,
        epsilon: Number | None = None,
        branching: int = 4,
        *,
        levels: Mapping[str, Oracle] | None = None,
    ) -> None:
        fan = as_integer(branching, "branching", minimum=2)
        if levels is None:
            if size is None or epsilon is None:
                raise UsageError("give the number of values and epsilon")
            width = as_integer(size, "size", minimum=2 * fan)
            sizes = [width]
            while -(-sizes[-1] // fan) >= 2:
                sizes.append(-(-sizes[-1] // fan))
            levels = {str(i): HadamardResponse(k, epsilon=epsilon) for i, k in enumerate(sizes)}
        super().__init__(levels)
        object.__setattr__(self, "_branching", fan)

    @property
    def branching(self) -> int:
        """How many neighbours are joined."""
        fan: int = self._branching  # type: ignore[attr-defined]
        return fan

    def read(self, values: Iterable[object]) -> NDArray[np.int64]:
        """Return the interval of each value on every level.

        Args:
            values: the answers of many people, as they were given.

        Raises:
            UsageError: a value outside 0 .. size - 1.
        """
        items = self._leaves
        leaves = items.indices(values)
        steps = [self.branching**level for level in range(len(self.parts))]
        return np.stack([leaves // step for step in steps], axis=1)

    def _row(self, value: Any) -> list[int]:
        row: list[int] = self.read([value])[0].tolist()
        return row

    def share(self, reports: object, first: int, last: int) -> float:
        """Return the estimated share of people from ``first`` to ``last``, both included.

        Args:
            reports: a state, or a batch of reports.
            first: the first value of the range.
            last: its last value, which belongs to it.

        Raises:
            UsageError: ends reversed or outside, reports that this mechanism cannot have made.
        """
        return float(self.estimate_ranges(reports, [(first, last)]).frequencies[0])

    def estimate_ranges(self, reports: object, ranges: Iterable[tuple[int, int]]) -> Estimate:
        """Estimate how many people are in each range, both ends included, without bias.

        A report's score is the sum of its scores for the range's intervals of its level; its mean
        is 1 for people in them and 0 for others.  The variance is bounded by the mean square of the
        scores, estimated from the reports: the probability that draws the levels is in it.

        Args:
            reports: a state of this mechanism, or a batch.
            ranges: pairs of values.

        Raises:
            UsageError: no ranges, ends reversed or outside, reports that this mechanism cannot
                have made.
        """
        asked, state = tuple((first, last) for first, last in ranges), self._state(reports)
        if not asked:
            raise UsageError("name at least one range, such as (18, 25)")
        shares, spread = np.zeros(len(asked)), np.zeros(len(asked))
        for name, part in self.states(state).items():
            oracle: Any = dict(self.parts)[name]
            for i, (first, last) in enumerate(asked):
                scores = self._scores(name, first, last).ravel() / float(oracle.keep)
                shares[i] += scores @ part.sums / max(1, part.n)
                spread[i] += scores**2 @ part.sums / max(1, part.n) ** 2
        return Estimate(asked, state.n, shares * state.n, spread * state.n**2)

    def _scores(self, name: str, first: int, last: int) -> NDArray[np.int64]:
        """Return the summed score of every report of a level for a range: (blocks, columns)."""
        oracle: Any = dict(self.parts)[name]
        chosen = np.zeros((oracle.blocks, oracle.block_size), np.int64)
        for level, place in self._cover(*self._ends(first, last)):
            if level == name:
                chosen[place % oracle.blocks, place // oracle.blocks + 1] = 1
        return hadamard_transform(chosen)

    @property
    def _leaves(self) -> Items:
        lowest: Any = self.oracles[0]
        items: Items = lowest.domain
        return items

    def _ends(self, first: int, last: int) -> tuple[int, int]:
        size = len(self._leaves)
        low, high = as_integer(first, "first", minimum=0), as_integer(last, "last") + 1
        if not low < high <= size:
            raise UsageError(
                f"a range lies within 0..{size - 1}, its first value not after its last"
            )
        return low, high

    def influence_on(self, first: int, last: int) -> Fraction:
        """Return the most that one poisoned report moves the number of people in a range.

        A report is of one level, and its score is summed over the range's intervals of that level;
        all levels' shares are added, each from its part of the people.

        Args:
            first: the first value of the range.
            last: its last value, which belongs to it.

        Raises:
            UsageError: ends reversed or outside.
        """
        parts: Any = self.parts
        found: Fraction = max(
            len(self.parts) * int(np.abs(self._scores(name, first, last)).max()) / oracle.keep
            for name, oracle in parts
        )
        return found

    def _cover(self, low: int, high: int) -> list[tuple[str, int]]:
        """Return intervals, the longest that fit, that make up low .. high - 1."""
        found, fan, top = [], self.branching, len(self.parts) - 1
        for level in range(top + 1):
            last = level == top
            while low < high and (last or low % fan):
                found.append((str(level), low))
                low += 1
            while low < high and (last or high % fan):
                high -= 1
                found.append((str(level), high))
            low, high = low // fan, high // fan
        return found

    def describe(self) -> dict[str, object]:
        """Return the rule as plain JSON values."""
        return {**super().describe(), "branching": self.branching}

    @classmethod
    def _build(cls, description: Mapping[str, Any]) -> Oracle:
        levels = {name: oracle_from(part) for name, part in description["parts"]}
        return cls(branching=description["branching"], levels=levels)
