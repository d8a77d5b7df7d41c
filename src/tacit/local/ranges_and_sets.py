"""Ranges, heavy hitters and sets of items."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import Number, as_integer
from tacit.calls import public
from tacit.errors import UsageError
from tacit.local.attributes import AttributeSampling
from tacit.local.estimate import Estimate
from tacit.local.frequency.count_mean_sketch import HadamardCountMeanSketch
from tacit.local.frequency.hadamard_response import HadamardResponse, hadamard_transform
from tacit.local.items import OUTSIDE, Items, is_missing, plain, values_of, whole_number
from tacit.local.oracle import FrequencyOracle, Layout, Oracle, oracle_from, read_share, read_size
from tacit.noise.bernoulli_and_uniform import uniform_words


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
        """Branching factor: the number of neighbours that are joined."""
        fan: int = self._branching  # type: ignore[attr-defined]
        return fan

    def read(self, values: Iterable[object]) -> NDArray[np.int64]:
        """Return the interval of each value on every level.

        Raises:
            UsageError: a value outside 0 .. size - 1.
        """
        items = self._leaves
        leaves = items.indices(values)
        steps = [self.branching**level for level in range(len(self.parts))]
        return np.stack([leaves // step for step in steps], axis=1)

    def _row(self, value: Any) -> list[int]:
        return self.read([value])[0].tolist()  # type: ignore[no-any-return]

    def share(self, reports: object, first: int, last: int) -> float:
        """Return the estimated share of people from ``first`` to ``last``, both included.

        Raises:
            UsageError: ends reversed or outside, reports that this mechanism cannot have made.
        """
        return float(self.estimate_ranges(reports, [(first, last)]).frequencies[0])

    def estimate_ranges(self, reports: object, ranges: Iterable[tuple[int, int]]) -> Estimate:
        """Estimate how many people are in each range, both ends included, without bias.

        A report's score is the sum of its scores for the range's intervals of its level; its mean
        is 1 for people in them and 0 for others.  The variance is bounded by the mean square of the
        scores, estimated from the reports: the probability that draws the levels is in it.

        Raises:
            UsageError: no ranges, ends reversed or outside, reports that this mechanism cannot
                have made.
        """
        pairs, state = tuple((first, last) for first, last in ranges), self._state(reports)
        if not pairs:
            raise UsageError("name at least one range, such as (18, 25)")
        shares, spread = np.zeros(len(pairs)), np.zeros(len(pairs))
        for name, part in self.states(state).items():
            oracle: Any = dict(self.parts)[name]
            for i, (first, last) in enumerate(pairs):
                scores = self._scores(name, first, last).ravel() / float(oracle.keep)
                shares[i] += scores @ part.sums / max(1, part.n)
                spread[i] += scores**2 @ part.sums / max(1, part.n) ** 2
        return Estimate(pairs, state.n, shares * state.n, spread * state.n**2)

    def _scores(self, name: str, first: int, last: int) -> NDArray[np.int64]:
        """Return the summed score of every report of a level for a range: (blocks, columns)."""
        oracle: Any = dict(self.parts)[name]
        chosen = np.zeros((oracle.blocks, oracle.block_size), np.int64)
        for level, index in self._cover(*self._ends(first, last)):
            if level == name:
                chosen[index % oracle.blocks, index // oracle.blocks + 1] = 1
        return hadamard_transform(chosen)

    @property
    def _leaves(self) -> Items:
        lowest: Any = self.oracles[0]
        return lowest.domain  # type: ignore[no-any-return]

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

        Raises:
            UsageError: ends reversed or outside.
        """
        parts: Any = self.parts
        influence: Fraction = max(
            len(self.parts) * int(np.abs(self._scores(name, first, last)).max()) / oracle.keep
            for name, oracle in parts
        )
        return influence

    def _cover(self, low: int, high: int) -> list[tuple[str, int]]:
        """Return intervals, the longest that fit, that make up low .. high - 1."""
        cover, fan, top = [], self.branching, len(self.parts) - 1
        for level in range(top + 1):
            last = level == top
            while low < high and (last or low % fan):
                cover.append((str(level), low))
                low += 1
            while low < high and (last or high % fan):
                high -= 1
                cover.append((str(level), high))
            low, high = low // fan, high // fan
        return cover

    def describe(self) -> dict[str, object]:
        return {**super().describe(), "branching": self.branching}

    @classmethod
    def _build(cls, description: Mapping[str, Any]) -> Oracle:
        levels = {name: oracle_from(part) for name, part in description["parts"]}
        return cls(branching=description["branching"], levels=levels)


@public
class PrefixExtending(AttributeSampling):
    """Draw a prefix length at random, and report the prefix of that length through a sketch.

    Answers are numbers of ``bits`` bits.  The server looks at all prefixes of the first length,
    keeps the most frequent, extends them to the next length, and so on: it looks at some thousands
    of words, not at 2**bits.  **Privacy**: that of the sketch; the length does not depend on the
    answer.

    Source: T. Wang, N. Li, S. Jha, *Locally differentially private heavy hitter identification*,
    TDSC 2019 (with sketches, so that sums merge).

    Args:
        bits: the size of an answer, from 2 to 63.
        epsilon: the greatest loss allowed.
        step: how many bits a prefix grows by, at most 12.
        functions, buckets: the size of each sketch.

    Example:
        >>> words = PrefixExtending(16, epsilon=4, step=4)
        >>> state = words.aggregate(words.perturb_many([51966] * 6000 + list(range(2000))))
        >>> words.heaviest(state, 3).items[0]
        51966
    """

    def __init__(
        self,
        bits: int | None = None,
        epsilon: Number | None = None,
        step: int = 8,
        functions: int = 64,
        buckets: int = 1024,
        *,
        levels: Mapping[str, Oracle] | None = None,
    ) -> None:
        if levels is None:
            if bits is None or epsilon is None:
                raise UsageError("give the bits of an answer and epsilon")
            size, grow = as_integer(bits, "bits", minimum=2), as_integer(step, "step", minimum=1)
            if size > 63 or grow > 12 or grow >= size:
                raise UsageError("bits are at most 63; step is at most 12 and below bits")
            sketch = HadamardCountMeanSketch(epsilon, functions=functions, buckets=buckets)
            lengths = [*range(grow, size, grow), size]
            levels = {str(length): sketch for length in lengths}
        super().__init__(levels)

    @property
    def lengths(self) -> list[int]:
        """The lengths of prefixes; the last is that of a whole answer."""
        return [int(name) for name, _ in self.parts]

    def _row(self, value: Any) -> list[str]:
        longest = self.lengths[-1]
        answer = plain(value)
        number = whole_number(answer)
        if isinstance(answer, str):
            number = int(answer) if re.fullmatch(r"[0-9]{1,19}", answer) else None
        if number is None or not 0 <= number < 1 << longest:
            return ["outside"] * len(self.parts)
        return [str(number >> (longest - length)) for length in self.lengths]

    def read(self, values: Iterable[object]) -> NDArray[np.int64]:
        """Return the digest of every prefix; any other answer is reported as "outside"."""
        rows = [self._row(value) for value in values_of(values)]
        columns = [o.read([row[j] for row in rows]) for j, o in enumerate(self.oracles)]
        return np.stack(columns, axis=1)

    def heaviest(self, reports: object, count: int, kept: int | None = None) -> Estimate:
        """Return the ``count`` most frequent answers found, by estimated number of people.

        Those who reported whole answers are a random share of all people, and others than those who
        reported prefixes: so the words that are looked up last do not depend on the reports that
        count them, and the intervals, which hold for all of them at once, hold for those chosen.

        Args:
            reports: a state or a batch.
            count: how many answers.
            kept: how many prefixes are extended at each length; by default 4 count.

        Raises:
            UsageError: reports that this mechanism cannot have made, a count below 1.
        """
        wanted = as_integer(count, "count", minimum=1)
        maximum = 4 * wanted if kept is None else as_integer(kept, "kept", minimum=wanted)
        states, prefixes, before = self.states(reports), [0], 0
        parts: Any = self.parts
        for name, oracle in parts:
            grow = int(name) - before
            longer = [p << grow | tail for p in prefixes for tail in range(1 << grow)]
            estimate: Estimate = oracle.estimate(states[name], [str(p) for p in longer])
            order = np.argsort(-estimate.counts, kind="stable")[:maximum]
            prefixes, before = [longer[i] for i in order.tolist()], int(name)
        top, share = order[:wanted], len(self.parts)
        return Estimate(
            tuple(prefixes[:wanted]),
            self._state(reports).n,
            estimate.counts[top] * share,
            np.asarray(estimate.base)[top] * share**2,
            share - 1.0,
            "the largest of many",
            chosen_from=len(longer),
        )

    def estimate(self, reports: object) -> NoReturn:
        """Raise always: answers are found with :meth:`heaviest`.

        Raises:
            UsageError: always.
        """
        raise UsageError("ask for .heaviest(reports, count): the domain is too large to list")

    @classmethod
    def _build(cls, description: Mapping[str, Any]) -> Oracle:
        return cls(levels={name: oracle_from(part) for name, part in description["parts"]})


@public
@dataclass(frozen=True)
class PaddedSets(Oracle):
    """Report one random slot of a padded set through any frequency oracle.

    A set of s items takes s of ``length`` slots, the rest hold the oracle's ``other`` item; of a
    set with more items than slots, a random choice of them has one.  One slot is drawn and
    reported.
    **Privacy.** A report's distribution is a mixture of the oracle's distributions, so its ratio is
    not exceeded.
    **Estimate.** An item's count is ``length`` times that of the slots: unbiased if no set is
    longer than ``length``; longer sets are counted short.

    Source: T. Wang, N. Li, S. Jha, *Locally differentially private frequent itemset mining*, S&P
    2018.

    Args:
        oracle: a frequency oracle whose items declare ``other``.
        length: the number of slots.

    Raises:
        UsageError: the oracle's items have no ``other``.

    Example:
        >>> from tacit.local import DirectEncoding, Items
        >>> goods = Items(["milk", "bread", "tea"], other="nothing")
        >>> basket = PaddedSets(DirectEncoding(goods, epsilon=4), length=2)
        >>> e = basket.estimate(basket.perturb_many([{"milk", "tea"}, {"milk"}] * 2000))
        >>> e["milk"] > e["tea"] > e["bread"]
        True
    """

    oracle: FrequencyOracle
    length: int

    def __post_init__(self) -> None:
        if not isinstance(self.oracle, FrequencyOracle) or self.oracle.domain.other is None:
            raise UsageError("give a frequency oracle whose items declare other=..., for no item")
        object.__setattr__(self, "length", as_integer(self.length, "length", minimum=1))

    @property
    def ratio(self) -> Fraction:
        """The ratio of the oracle."""
        return self.oracle.ratio

    @property
    def epsilon(self) -> Fraction | Enclosure:
        return self.oracle.epsilon

    @property
    def layout(self) -> Layout:
        """The layout of the oracle."""
        return self.oracle.layout

    def valid(self, reports: object) -> NDArray[np.bool_]:
        return self.oracle.valid(reports)

    def read(self, values: Iterable[object]) -> NDArray[np.int64]:
        return np.fromiter(
            (self._slot(self.members(v)) for v in values_of(values, sets=True)), np.int64
        )

    def members(self, value: object) -> list[int]:
        """Return the positions of a set's items; a missing set is an empty one.

        Raises:
            UsageError: one text or number in place of a set.
        """
        value = plain(value)
        if is_missing(value):
            return []
        if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
            raise UsageError("an answer is a set of items, such as a list; nothing was drawn")
        indices = {self.oracle.domain.index_of(item) for item in value}
        other = self.oracle.domain.index_of(self.oracle.domain.other)
        return sorted(indices - {other, OUTSIDE})

    def _slot(self, members: list[int]) -> int:
        """Draw below the greater of length and set size: a longer set loses none of its members."""
        drawn = int(uniform_words(max(self.length, len(members)), 1)[0])
        domain = self.oracle.domain
        return members[drawn] if drawn < len(members) else domain.index_of(domain.other)

    def _draw(self, indices: NDArray[np.int64]) -> NDArray[Any]:
        return self.oracle._draw(indices)

    def _sums(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        return self.oracle._sums(reports)

    def estimate(self, reports: object) -> Estimate:
        """Estimate how many people have each item; the last item represents empty slots.

        The error includes that of drawing slots.
        """
        state = self._state(reports)
        slots = self.oracle.estimate(replace(state, oracle=self.oracle.fingerprint))
        size = self.length
        base = np.asarray(slots.base) * size**2
        slope = np.asarray(slots.slope) * size + (size - 1)
        return Estimate(slots.items, state.n, slots.counts * size, base, slope)

    @property
    def influence(self) -> Fraction:
        """The most that one poisoned report moves the estimated count of an item, in people."""
        influence: Any = self.oracle.influence  # type: ignore[attr-defined]
        return Fraction(influence) * self.length

    def variance(self, n: int, frequency: object = 0) -> Fraction:
        """Return the variance of the count of an item: that of its slots, and of drawing them.

        Args:
            n: how many reports there are.
            frequency: the true share of people with the item, from 0 to 1.
        """
        share, size = read_share(frequency), self.length
        slots = self.oracle.variance(n, share / size)
        return slots * size**2 + read_size(n) * share * (size - 1)

    def distribution(self, value: object) -> dict[Hashable, Fraction]:
        members, domain = self.members(value), self.oracle.domain
        slots = max(self.length, len(members))
        chances = {domain.labels[m]: Fraction(1, slots) for m in members}
        chances[domain.other] = 1 - Fraction(len(members), slots)
        masses: dict[Any, Fraction] = {}
        for label, chance in chances.items():
            for y, p in self.oracle.distribution(label).items():
                masses[y] = masses.get(y, Fraction(0)) + p * chance
        return masses

    def describe(self) -> dict[str, object]:
        return {
            "mechanism": "PaddedSets", "oracle": self.oracle.describe(), "length": self.length
        }  # fmt: skip

    @classmethod
    def _build(cls, description: Mapping[str, Any]) -> Oracle:
        inner: Any = oracle_from(description["oracle"])
        return cls(inner, description["length"])
