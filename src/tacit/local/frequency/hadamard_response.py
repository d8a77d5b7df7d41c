"""Hadamard response: a report is a column of a Hadamard matrix, and a transform decodes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number, as_fraction, as_integer
from tacit.calls import public
from tacit.errors import UsageError
from tacit.local.estimate import Estimate
from tacit.local.items import Items
from tacit.local.oracle import (
    FrequencyOracle,
    Layout,
    State,
    one_of,
    read_share,
    read_size,
    refuse_large,
)
from tacit.local.random_bits import (
    coins,
    count_values,
    dyadic_down,
    exp_at_most,
    probability,
    uniform_below,
)

LARGEST = 1 << 24


def hadamard_transform(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the Walsh-Hadamard transform along the last axis, in exact integers.

    >>> hadamard_transform(np.array([1, 0, 2, 0])).tolist()
    [3, 3, -1, -1]
    """
    # Entry r is ``sum_j (-1)**popcount(r & j) values[j]``; the length is a power of two.
    result = values.astype(np.int64)
    shape, half = result.shape, 1
    while half < shape[-1]:
        pairs = result.reshape(-1, 2, half)
        result = np.stack((pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]), 1)
        half *= 2
    return result.reshape(shape)


@public
@dataclass(frozen=True, init=False)
class HadamardResponse(FrequencyOracle):
    """Report a number y that more likely than not lies in the item's own half of a block.

    There are B blocks of b numbers each, both powers of two.  Item x belongs to block ``x mod B``
    and there to row ``r = x // B + 1`` of the b x b Hadamard matrix; its set C_x are the b/2
    numbers of the block where that row is +1.  With probability ``keep`` the report is uniform on
    C_x, else uniform on all K = B b numbers.

    **Privacy.** A number of C_x has probability keep/(b/2) + (1 - keep)/K and any other one
    (1 - keep)/K, so the ratio is ``1 + 2 B keep / (1 - keep)``, attained by every pair of items:
    two rows differ, or lie in different blocks.
    **Estimate.** Score a report +1 on C_x, -1 on the rest of x's block and 0 elsewhere.  Rows of
    a Hadamard matrix are orthogonal and each but the first has as many +1 as -1, so the mean
    score is ``keep`` for people with x and 0 for all others; the count is the summed score over
    keep.  A person whose item is in the same block scores +-1 with probability
    ``keep + (1 - keep)/B``, any other ``(1 - keep)/B``, and that gives the variance.

    B = 1 (the high-privacy form) has the variance ((E + 1)/(E - 1))**2 - f per report; more blocks
    serve larger epsilon.

    Source: J. Acharya, Z. Sun, H. Zhang, *Hadamard response*, AISTATS 2019.

    Args:
        domain: at most 2**24 items.
        epsilon: the greatest loss allowed; or
        keep: the probability of drawing from the own set.
        blocks: B, a power of two; by default the one of least variance for epsilon.

    Raises:
        UsageError: both or neither of epsilon and keep, blocks that are not a power of two.

    Example:
        >>> response = HadamardResponse(1000, keep="1/2", blocks=1)
        >>> response.ratio, response.report_bits, response.variance(1)
        (Fraction(3, 1), 10, Fraction(4, 1))
    """

    domain: Items
    keep: Fraction
    blocks: int

    def __init__(
        self,
        domain: int | Iterable[object] | Items,
        epsilon: Number | None = None,
        keep: Number | None = None,
        blocks: int | None = None,
    ) -> None:
        one_of(epsilon, keep)
        items = Items.of(domain)
        refuse_large(items, LARGEST, "Hadamard response", "CountMeanSketch or PrefixExtending")
        e = None if epsilon is None else exp_at_most(epsilon)
        count = _blocks(blocks, e, len(items))
        if e is not None:
            share = dyadic_down((e - 1) / (e - 1 + 2 * count))
        else:
            share = probability(as_fraction(keep, "keep"), "keep")
        self._set(domain=items, keep=share, blocks=count)

    @property
    def block_size(self) -> int:
        """b: more than the items of a block, as row 0 reveals nothing."""
        return 1 << ((len(self.domain) - 1) // self.blocks + 1).bit_length()

    @property
    def ratio(self) -> Fraction:
        """1 + 2 B keep / (1 - keep)."""
        return 1 + 2 * self.blocks * self.keep / (1 - self.keep)

    @property
    def layout(self) -> Layout:
        """One of K = blocks x block_size numbers."""
        return Layout("integer", 1, self.blocks * self.block_size)

    def _draw(self, indices: NDArray[np.int64]) -> NDArray[Any]:
        """Flip one bit of a uniform column where the row's sign would be wrong."""
        kind = self.layout.dtype.type
        drawn = uniform_below(self.layout.limit, len(indices)).astype(kind, copy=False)
        truthful = coins(self.keep, len(indices))
        own = (indices & (self.blocks - 1)).astype(kind)
        row = (indices >> (self.blocks.bit_length() - 1)).astype(kind)
        row += kind(1)
        size = kind(self.block_size - 1)
        column = drawn & size
        wrong = np.bitwise_count(row & column) & np.uint8(1)
        inside: NDArray[Any] = column ^ (row & (~row + kind(1))) * wrong
        if self.blocks > 1:
            inside += own * kind(self.block_size)
        inside ^= drawn
        inside *= truthful
        inside ^= drawn
        return inside

    def _sums(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        return count_values(reports, self.layout.limit)

    def scores(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the summed score of each item."""
        transformed = hadamard_transform(sums.reshape(self.blocks, self.block_size))
        indices = np.arange(len(self.domain))
        return transformed[indices % self.blocks, indices // self.blocks + 1]

    def _spread(self) -> tuple[Fraction, Fraction]:
        """Return the mean squared score over keep**2: in another block, and more in the own one."""
        return (1 - self.keep) / self.blocks / self.keep**2, 1 / self.keep

    @property
    def influence(self) -> Fraction:
        """The most that one poisoned report can add to the estimate of one item, in people."""
        return 1 / self.keep

    def variance(self, n: int, frequency: object = 0, block_frequency: object = None) -> Fraction:
        """See :meth:`~tacit.local.FrequencyOracle.variance`.

        With several blocks the variance depends on how many people have *any* item of the block.

        Args:
            n: how many reports.
            frequency: the true share of the item.
            block_frequency: the share of its whole block; by default the rest of the people is
                spread evenly over the other items.
        """
        share, size = read_share(frequency), read_size(n)
        if block_frequency is None:
            mates = Fraction(-(-len(self.domain) // self.blocks) - 1, len(self.domain) - 1)
            together = share + (1 - share) * mates
        else:
            together = read_share(block_frequency)
        elsewhere, here = self._spread()
        return size * (elsewhere + here * together - share)

    def exact_counts(self, state: State) -> list[Fraction]:
        return [score / self.keep for score in self.scores(self._state(state).sums).tolist()]

    def estimate(self, reports: object) -> Estimate:
        """See :meth:`~tacit.local.FrequencyOracle.estimate`.

        With several blocks the variance uses the estimated total of each block, within 0..n.
        """
        state = self._state(reports)
        counts = self.scores(state.sums) / float(self.keep)
        elsewhere, here = (float(v) for v in self._spread())
        block = state.sums.reshape(self.blocks, self.block_size).sum(axis=1)
        people = (block - state.n * float((1 - self.keep) / self.blocks)) / float(self.keep)
        mates = np.clip(people, 0, state.n)[np.arange(len(self.domain)) % self.blocks]
        base = state.n * elsewhere + here * mates
        return Estimate(self.domain.labels, state.n, counts, base, -1.0)

    def distribution(self, value: object) -> dict[Hashable, Fraction]:
        refuse_large(self.domain, 1 << 16, "the whole distribution", "fewer items")
        block, row = self.domain.index(value) % self.blocks, self.domain.index(value) // self.blocks
        total = self.layout.limit
        outside = (1 - self.keep) / total
        inside = outside + 2 * self.keep / self.block_size
        start = block * self.block_size
        own = {start + j for j in range(self.block_size) if not (j & row + 1).bit_count() & 1}
        return {y: inside if y in own else outside for y in range(total)}


def _blocks(given: int | None, e: Fraction | None, k: int) -> int:
    if given is None:
        return 1 if e is None else min(_powers(k), key=lambda b: _variance(k, b, e))
    blocks = as_integer(given, "blocks", minimum=1)
    if blocks not in _powers(k):
        raise UsageError(f"blocks must be a power of two of at most {k}, not {blocks}")
    return blocks


def _powers(k: int) -> list[int]:
    return [1 << i for i in range(k.bit_length())]


def _variance(k: int, blocks: int, e: Fraction) -> Fraction:
    """Return the variance that a report adds, people being spread evenly over all other items."""
    keep = (e - 1) / (e - 1 + 2 * blocks)
    mates = Fraction(-(-k // blocks) - 1, k - 1)
    return (1 - keep) / blocks / keep**2 + mates / keep
