"""Count-mean sketches: counts of words from an open domain, in a table of fixed size."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number, as_fraction, as_integer
from tacit.calls import public
from tacit.errors import UsageError
from tacit.local.estimate import Estimate
from tacit.local.frequency.bit_vectors import packed
from tacit.local.frequency.hadamard_response import hadamard_transform
from tacit.local.hashing import digests, hashed_indices
from tacit.local.items import plain, values_of
from tacit.local.oracle import Layout, State, WordOracle, one_of, read_share, read_size
from tacit.local.random_bits import (
    blend_own_bit,
    coins,
    count_bits,
    count_values,
    dyadic_up,
    exp_at_most,
    finer,
    min_exp,
    probability,
    random_rows,
    truth_probability,
    uniform_below,
)


@public
@dataclass(frozen=True, init=False)
class _Sketch(WordOracle):
    """A table of ``functions`` rows and ``buckets`` columns; a person draws the row at random."""

    # With D[j, l] the unbiased number of people who drew row j and whose word falls in column l,
    # the count of a word is ``b/(b - 1) (sum_j D[j, h_j(word)] - n/b)``: unbiased over hash
    # functions for which two words share a column with probability 1/b.

    p: Fraction
    functions: int
    buckets: int

    @abstractmethod
    def _table(self, state: State) -> NDArray[np.float64]:
        """Return D."""

    @abstractmethod
    def _spread(self) -> tuple[Fraction, Fraction]:
        """Return the variance of one report's entry of D for its own word, and for another one."""

    @abstractmethod
    def _squared_report(self) -> Fraction:
        """Return the mean of the summed squares of one report's entries of D."""

    def estimate(self, reports: object, items: Iterable[object]) -> Estimate:
        """Estimate the counts of some words, from a state or a batch of reports.

        Collisions of words count as chance: errors and intervals take the hash functions as random.
        How much they add depends on how uneven the words are, which the table itself shows (see
        :meth:`pairs`).

        Raises:
            UsageError: reports that this mechanism cannot have made, no words.
        """
        state, words = self._state(reports), tuple(map(plain, values_of(items)))
        if not words:
            raise UsageError("name at least one word to look up")
        table, known = self._table(state), digests(words)
        sums = np.zeros(len(words))
        for j in range(self.functions):
            sums += table[j, hashed_indices(known, j, self.buckets)]
        b = self.buckets
        counts = b / (b - 1) * (sums - state.n / b)
        others = np.maximum(self.pairs(state) - np.clip(counts, 0, state.n) ** 2, state.n)
        meeting = (others - state.n) / (self.functions * (b - 1))
        return Estimate(words, state.n, counts, float(self.variance(state.n)) + meeting)

    def pairs(self, reports: object) -> float:
        """Estimate how many pairs of people have the same word: the sum of all squared counts.

        The squares of the table's entries sum to ``n S`` by noise, S the mean of one report's
        squares, and beyond that to ``((F - n) + (n**2 - F)/b) / functions``, F being the sum of
        squared counts: pairs that share a column because they have the same word, or by chance.
        """
        state, b = self._state(reports), self.buckets
        n, squares = state.n, float((self._table(state) ** 2).sum())
        beyond = self.functions * (squares - n * float(self._squared_report()))
        return min(max((beyond + n - n * n / b) / (1 - 1 / b), float(n)), float(n) ** 2)

    def variance(self, n: int, frequency: object = 0, squares: object = 0) -> Fraction:
        """Return the variance of the estimated count of a word, over reports and hash functions.

        Args:
            n: how many reports.
            frequency: the share of the word.
            squares: the sum of the squared shares of all other words: their collisions are chance
                too, and add about ``n**2 squares / (functions (b - 1))``.
        """
        size, share, others = read_size(n), read_share(frequency), read_share(squares)
        own, other = self._spread()
        alone = size * (share * own + (1 - share) * other)
        pairs = max(Fraction(0), size * size * others - size * (1 - share))
        b = self.buckets
        return alone * Fraction(b, b - 1) ** 2 + pairs / (self.functions * (b - 1))

    @property
    @abstractmethod
    def _greatest_entry(self) -> Fraction:
        """The greatest size of one report's entry of D, less its probability of 1/b."""

    @property
    def influence(self) -> Fraction:
        """The most that one poisoned report moves the estimated count of a word, in people."""
        return self._greatest_entry * Fraction(self.buckets, self.buckets - 1)

    def _set_table(self, p: Fraction, functions: Any, buckets: Any) -> None:
        rows, columns = (
            as_integer(v, name, minimum=minimum)
            for v, name, minimum in ((functions, "functions", 1), (buckets, "buckets", 2))
        )
        if rows & (rows - 1) or columns & (columns - 1) or rows * columns > 1 << 26:
            raise UsageError("functions and buckets are powers of two, together up to 2**26")
        if p <= Fraction(1, 2):
            raise UsageError("p must be above 1/2")
        self._set(p=p, functions=rows, buckets=columns)


@public
class CountMeanSketch(_Sketch):
    """Hash the word by a random public function into b bits, one set, and flip every bit.

    **Privacy.** The function is independent of the word; given it two words differ in at most two
    bits, each flipped with probability 1 - p: the ratio is (p/(1 - p))**2, attained by words in
    different columns.  So p = e**(epsilon/2)/(e**(epsilon/2) + 1).

    Source: Apple Differential Privacy Team, *Learning with privacy at scale* (2017).

    Args:
        epsilon: the greatest loss allowed; or
        p: the probability that a bit is kept, above 1/2.
        functions, buckets: the size of the table, powers of two; buckets at least 8.

    Example:
        >>> sketch = CountMeanSketch(epsilon=4, functions=64, buckets=256)
        >>> reports = sketch.perturb_many(["cat"] * 3000 + ["dog"] * 1000)
        >>> e = sketch.estimate(reports, ["cat", "dog", "cow"])
        >>> e["cat"] > e["dog"] > e["cow"]
        True
    """

    def __init__(
        self,
        epsilon: Number | None = None,
        p: Number | None = None,
        functions: int = 256,
        buckets: int = 1024,
    ) -> None:
        one_of(epsilon, p)
        self._set_table(
            _bit_unchanged(epsilon) if p is None else probability(p, "p"), functions, buckets
        )
        if self.buckets < 8:
            raise UsageError("buckets are at least 8")

    @property
    def ratio(self) -> Fraction:
        """(p / (1 - p))**2."""
        return (self.p / (1 - self.p)) ** 2

    @property
    def _row_bits(self) -> int:
        return self.functions.bit_length() - 1

    @property
    def layout(self) -> Layout:
        """The b bits, then the number of the function in binary."""
        return Layout("bits", self.buckets + self._row_bits, 2)

    def _draw(self, indices: NDArray[np.int64]) -> NDArray[np.uint8]:
        n = len(indices)
        row = uniform_below(self.functions, n).astype(np.int64)
        bits = random_rows(1 - self.p, n, self.buckets)
        column = hashed_indices(indices.view(np.uint64), row, self.buckets)
        blend_own_bit(bits, column, coins(self.p, n))
        extra = self.layout.columns - bits.shape[1]
        number = row.astype("<i8").view(np.uint8).reshape(n, 8)[:, :extra]
        return np.concatenate((bits, number), axis=1)

    def _rows_of(self, reports: NDArray[np.uint8]) -> NDArray[np.int64]:
        row = np.zeros(len(reports), np.int64)
        for i in range(self.buckets // 8, reports.shape[1]):
            row |= reports[:, i].astype(np.int64) << 8 * (i - self.buckets // 8)
        return row

    def _sums(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Sum the bits of each row of the table, and after them how many drew each row."""
        row = self._rows_of(reports)
        order = np.argsort(row, kind="stable")
        ends = np.searchsorted(row[order], np.arange(self.functions + 1))
        table = np.zeros((self.functions, self.buckets + 1), np.int64)
        for j in np.flatnonzero(np.diff(ends)).tolist():
            mine = reports[order[ends[j] : ends[j + 1]], : self.buckets // 8]
            table[j, :-1] = count_bits(mine, self.buckets)
        table[:, -1] = np.diff(ends)
        return table.ravel()

    def _table(self, state: State) -> NDArray[np.float64]:
        sums = state.sums.reshape(self.functions, self.buckets + 1)
        p = float(self.p)
        return (sums[:, :-1] - sums[:, -1:] * (1 - p)) / (2 * p - 1)

    def _squared_report(self) -> Fraction:
        return self.buckets * self.p * (1 - self.p) / (2 * self.p - 1) ** 2 + 1

    @property
    def _greatest_entry(self) -> Fraction:
        """A set bit; a clear one is (1 - p)/(2p - 1) + 1/b below zero, which is no more."""
        return self.p / (2 * self.p - 1) - Fraction(1, self.buckets)

    def _spread(self) -> tuple[Fraction, Fraction]:
        noise = self.p * (1 - self.p) / (2 * self.p - 1) ** 2
        return noise, noise + Fraction(self.buckets - 1, self.buckets**2)

    def distribution(self, value: object) -> dict[Hashable, Fraction]:
        if self.layout.width > 16:
            raise UsageError("there are too many reports to list: take fewer functions and buckets")
        masses: dict[Hashable, Fraction] = {}
        word = digests([value])
        for j in range(self.functions):
            own = int(hashed_indices(word, j, self.buckets)[0])
            number = [j >> i & 1 for i in range(self._row_bits)]
            for bits in product((0, 1), repeat=self.buckets):
                chances = (self.p if b == (i == own) else 1 - self.p for i, b in enumerate(bits))
                share = prod(chances, start=Fraction(1, self.functions))
                masses[packed([*bits, *number])] = share
        return masses


def _bit_unchanged(epsilon: Any) -> Fraction:
    """Return ``e**(epsilon/2)/(e**(epsilon/2) + 1)``, from below."""
    exp_at_most(epsilon)
    flip = 1 / (min_exp(as_fraction(epsilon) / 2) + 1)
    return 1 - dyadic_up(flip, finer(flip, epsilon, 14))


@public
class HadamardCountMeanSketch(_Sketch):
    """Send one random entry of the Hadamard transform of the hashed word: one bit and its position.

    **Privacy.** Function and entry are independent of the word; the sign is stored with probability
    p, so the ratio is p/(1 - p), attained by words whose columns differ in the sign of that entry.

    Source: Apple Differential Privacy Team (2017).

    Args:
        epsilon: the greatest loss allowed; or
        p: the probability that the sign is kept, above 1/2.
        functions, buckets: the size of the table, powers of two.

    Example:
        >>> HadamardCountMeanSketch(p="3/4", functions=256, buckets=1024).report_bits
        19
    """

    def __init__(
        self,
        epsilon: Number | None = None,
        p: Number | None = None,
        functions: int = 256,
        buckets: int = 1024,
    ) -> None:
        one_of(epsilon, p)
        self._set_table(truth_probability(p, epsilon, 1), functions, buckets)

    @property
    def ratio(self) -> Fraction:
        """The ratio p / (1 - p)."""
        return self.p / (1 - self.p)

    @property
    def layout(self) -> Layout:
        """``(function * buckets + entry) * 2 + sign``."""
        return Layout("integer", 1, self.functions * self.buckets * 2)

    def _draw(self, indices: NDArray[np.int64]) -> NDArray[Any]:
        n = len(indices)
        cell = uniform_below(self.functions * self.buckets, n).astype(np.int64)
        row, entry = cell // self.buckets, cell % self.buckets
        column = hashed_indices(indices.view(np.uint64), row, self.buckets)
        sign = (np.bitwise_count(column & entry) & 1) ^ ~coins(self.p, n)
        return (2 * cell + sign).astype(self.layout.dtype, copy=False)  # type: ignore[no-any-return]

    def _sums(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Sum the signs of each entry: +1 for an even report, -1 for an odd one."""
        pairs = count_values(reports, self.layout.limit).reshape(-1, 2)
        return pairs[:, 0] - pairs[:, 1]

    def _table(self, state: State) -> NDArray[np.float64]:
        sums = state.sums.reshape(self.functions, self.buckets)
        table: NDArray[np.float64] = hadamard_transform(sums).astype(np.float64)
        table /= float(2 * self.p - 1)
        return table

    def _squared_report(self) -> Fraction:
        return self.buckets / (2 * self.p - 1) ** 2

    @property
    def _greatest_entry(self) -> Fraction:
        """The sign against the word."""
        return 1 / (2 * self.p - 1) + Fraction(1, self.buckets)

    def _spread(self) -> tuple[Fraction, Fraction]:
        """Return its variances: an entry is +-1/(2p - 1), of mean 1, or 1/b for another word."""
        square = 1 / (2 * self.p - 1) ** 2
        return square - 1, square - Fraction(1, self.buckets**2)

    def distribution(self, value: object) -> dict[Hashable, Fraction]:
        cells = self.functions * self.buckets
        if cells > 1 << 16:
            raise UsageError("there are too many reports to list: take fewer functions and buckets")
        word = digests([value])
        masses: dict[Hashable, Fraction] = {}
        for cell in range(cells):
            row, entry = divmod(cell, self.buckets)
            own = (int(hashed_indices(word, row, self.buckets)[0]) & entry).bit_count() & 1
            for sign in (0, 1):
                masses[2 * cell + sign] = (self.p if sign == own else 1 - self.p) / cells
        return masses
