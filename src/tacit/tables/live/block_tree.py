"""The tree over periods: which blocks of periods are counted, and what a running total adds up.

The blocks of level l are ``branching^l`` periods long, one after the other; those that are whole
within the periods are *nodes*.  The total up to t adds, from the longest blocks to the shortest, as
many blocks of each level as the digit of t in base ``branching`` says.

Source: Dwork, Naor, Pitassi, Rothblum, STOC 2010; Chan, Shi, Song, ICALP 2010 (two branches);
more branches: Qardaji, Yang, Li, "Understanding hierarchical methods for differentially private
histograms", VLDB 2013.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from tacit.arithmetic.exact import as_integer
from tacit.errors import UsageError

__all__ = ["PeriodTree", "best_branching"]

_MOST_BRANCHES = 64


@dataclass(frozen=True)
class PeriodTree:
    """Blocks of ``branching^level`` periods.

    Args:
        periods: how many there are.
        branching: how many blocks make one of the next level, at least two.

    Raises:
        UsageError: no periods, or fewer than two branches.

    Example:
        >>> tree = PeriodTree(periods=10, branching=3)
        >>> tree.widths, tree.nodes, tree.terms[5]
        ((1, 3, 9), 14, 3)
    """

    periods: int
    branching: int

    def __post_init__(self) -> None:
        as_integer(self.periods, "periods", minimum=1)
        as_integer(self.branching, "branching", minimum=2)

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The length of a block of each level, in periods."""
        found = [1]
        while found[-1] * self.branching <= self.periods:
            found.append(found[-1] * self.branching)
        return tuple(found)

    @property
    def levels(self) -> int:
        """How many levels there are; a period is in one block of each, at most."""
        return len(self.widths)

    @property
    def nodes(self) -> int:
        """How many blocks there are in all."""
        return sum(self.periods // width for width in self.widths)

    def closing(self, before: int, after: int) -> list[tuple[int, int, int]]:
        """Return the blocks that are over after ``after`` periods and not after ``before``.

        Returns:
            For each level with such blocks its place, and the first and the end of the blocks'
            places in it; from the shortest level to the longest.
        """
        ends = [(level, before // w, after // w) for level, w in enumerate(self.widths)]
        return [(level, first, end) for level, first, end in ends if first < end]

    def sums(self, before: int, after: int, counts: Sequence[int]) -> list[int]:
        """Return the sum of each closing block, in their order.

        Args:
            before: as in :meth:`closing`.
            after: as in :meth:`closing`.
            counts: of the periods from :meth:`reach` to ``after``.
        """
        start = self.reach(before, after)
        total = [0, *accumulate(counts)]
        return [
            total[(place + 1) * self.widths[level] - start]
            - total[place * self.widths[level] - start]
            for level, first, end in self.closing(before, after)
            for place in range(first, end)
        ]

    def reach(self, before: int, after: int) -> int:
        """Return the first period that any closing block holds."""
        return min(first * self.widths[level] for level, first, _ in self.closing(before, after))

    def steps(self, closed: int) -> Iterator[tuple[int, int, int]]:
        """Yield how each total up to 1, 2, ... comes from an earlier one and one block.

        Yields:
            The earlier total's place, the block's level, and the block's place in it: the total up
            to t is that up to t less its lowest digit's block, and that block.
        """
        for t in range(1, closed + 1):
            level = 0
            while level + 1 < self.levels and t % self.widths[level + 1] == 0:
                level += 1
            yield t - self.widths[level], level, t // self.widths[level] - 1

    @cached_property
    def terms(self) -> tuple[int, ...]:
        """How many blocks the total up to 0, 1, 2, ... adds."""
        found = [0]
        for earlier, _, _ in self.steps(self.periods):
            found.append(found[earlier] + 1)
        return tuple(found)


def best_branching(periods: int, *, squared: bool) -> int:
    """Return the branching with the least mean variance of the running totals.

    The variance of a block grows with the levels: with their square where the loss adds up in L1
    (Laplace), with their number where it adds up in squares (Gaussian).  The mean number of blocks
    in a total is the mean sum of the digits, in closed form.

    Args:
        periods: how many there are.
        squared: whether the variance grows with the square of the levels.

    >>> best_branching(24 * 365, squared=True), best_branching(24 * 365, squared=False)
    (21, 5)
    >>> best_branching(12, squared=True)  # so few periods are best counted one by one
    13
    """
    if periods < 1:
        raise UsageError("there must be at least one period")

    def cost(branching: int) -> tuple[int, int]:
        tree = PeriodTree(periods, branching)
        digits = sum(_digits(periods, branching, width, tree) for width in tree.widths)
        return digits * tree.levels ** (2 if squared else 1), branching

    choices = {*range(2, min(periods, _MOST_BRANCHES) + 1), periods + 1}
    return min(cost(b) for b in choices)[1]


def _digits(periods: int, branching: int, width: int, tree: PeriodTree) -> int:
    """Return the sum of one digit over 0, 1, ..., periods; the highest digit has no end."""
    numbers = periods + 1
    if width == tree.widths[-1]:
        whole, rest = divmod(numbers, width)
        return width * whole * (whole - 1) // 2 + whole * rest
    rounds, rest = divmod(numbers, width * branching)
    whole, odd = divmod(rest, width)
    each = width * branching * (branching - 1) // 2
    return rounds * each + width * whole * (whole - 1) // 2 + whole * odd
