"""The draw of the exponential mechanism: index i with weight w_i exp(-c_i factor), exactly."""

# Let c be the costs less the smallest cost of a candidate with weight, g_i = c_i factor, and S a
# power of two such that the sum of S w_i exp(-g_i) is near 2**60.  Each candidate gets an integer
#
#     v_i >= S w_i exp(-g_i)
#
# from arithmetic in doubles and a safety factor of 1 + 2**-30, a million times the rounding error.
# An exact uniform below the sum of the v proposes i with probability proportional to v_i, and i is
# accepted with probability S w_i exp(-g_i) / v_i, which is enclosed as closely as needed.  So the
# doubles only shape a proposal, and the result has exactly the distribution.  Sources: F. McSherry,
# K. Talwar, *Mechanism design via differential privacy* (2007); C. Ilvento, *Implementing the
# exponential mechanism with base-2 differential privacy* (2020), on why doubles alone do not do.

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from math import frexp, lcm
from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.enclosure import Enclosure, exp_minus
from tacit.arithmetic.exact import Number, as_fraction, float_down
from tacit.calls import public
from tacit.errors import UsageError
from tacit.noise.bernoulli_and_uniform import (
    EncloseAt,
    Size,
    below,
    shape_of,
    uniform,
    uniform_word,
    uniform_words,
)
from tacit.noise.bits import observed, observed_choice, one_word64, watched, words64
from tacit.noise.samplers import InversionTable

Integers: TypeAlias = NDArray[np.integer[Any]] | Sequence[int]

PROPOSAL_BITS = 60
SAFETY = 2.0**-30
# Exponents are cut here in doubles, which only raises the proposal and avoids slow tiny floats.
LARGEST_EXPONENT = 700.0


def _int64(values: Integers, name: str) -> NDArray[np.int64]:
    array = np.asarray(values)
    is_integral = array.dtype.kind in "iu" or not array.size
    if (
        not is_integral
        or array.ndim != 1
        or (array.dtype == np.uint64 and bool((array >> 63).any()))
    ):
        raise UsageError(f"{name} must be a sequence of whole numbers below 2**63")
    return array.astype(np.int64)


@public
class ExponentialChoice:
    """An index i, drawn with probability proportional to weights[i] exp(-costs[i] factor).

    Args:
        costs: integers, int64; only their differences matter.
        factor: at least 0; taken exactly.
        weights: integers from 0 to 2**62, one per candidate; all 1 by default.

    Raises:
        UsageError: no candidate, a weight that is negative or too large, no weight above zero,
            costs or weights that are not whole, lengths that differ, a negative factor.

    >>> distribution = ExponentialChoice([0, 1, 1], "1/2", weights=[1, 0, 3])
    >>> float(distribution.probability(1)), distribution.draw() in (0, 2)
    (0.0, True)
    """

    def __init__(self, costs: Integers, factor: Number, weights: Integers | None = None) -> None:
        self.costs = _int64(costs, "costs")
        self.factor = as_fraction(factor, "factor")
        if self.factor < 0:
            raise UsageError("factor must be at least 0")
        ones = np.ones(len(self.costs), np.int64)
        self.weights = ones if weights is None else _int64(weights, "weights")
        if len(self.weights) != len(self.costs):
            raise UsageError(
                f"there are {len(self.costs)} costs and {len(self.weights)} weights; "
                "give one weight a candidate"
            )
        if not len(self.costs) or self.weights.min() < 0 or self.weights.max() > 1 << 62:
            raise UsageError("weights must be from 0 to 2**62, and there must be a candidate")
        if not self.weights.any():
            raise UsageError("at least one weight must be above zero")
        weighty = self.weights > 0
        highest = np.iinfo(np.int64).max
        minimum = np.min(self.costs, where=weighty, initial=highest)
        # the difference of two int64 fits uint64, and wraps to the truth
        above = self.costs.view(np.uint64) - np.array(minimum, np.int64).view(np.uint64)
        estimate = _estimate(above, self.factor, self.weights) * weighty
        self._propose(int(minimum), estimate, weighty)

    def _propose(self, minimum: int, estimate: NDArray[np.float64], weighty: Any) -> None:
        self._min_cost = minimum
        self._shift = PROPOSAL_BITS - frexp(float(estimate.sum()))[1]
        self._estimate = estimate = np.ldexp(estimate, self._shift)
        self._proposals = np.floor(estimate * (1 + SAFETY)).astype(np.int64) + weighty
        self._edges = self._proposals.cumsum().astype(np.uint64)

    def _exponent(self, i: int) -> Fraction:
        return (int(self.costs[i]) - self._min_cost) * self.factor

    def _acceptance(self, i: int) -> EncloseAt:
        weight, proposal = int(self.weights[i]), int(self._proposals[i])
        above = int(self.costs[i]) - self._min_cost
        return _accepted(above, self.factor, weight, proposal, self._shift)

    def probability(self, i: int, bits: int = 64) -> Enclosure:
        """Enclose the probability of index ``i``; adds up all candidates exactly.

        Args:
            i: the index, from 0.
            bits: about how many bits of the probability are certain.
        """
        terms = [
            (exp_minus(self._exponent(j), bits + 64), int(self.weights[j]))
            for j in range(len(self.costs))
        ]
        low, high = (sum(term[end] * weight for term, weight in terms) for end in (0, 1))
        (mine_low, mine_high), weight = terms[i]
        mine = (mine_low * weight, mine_high * weight)
        return Enclosure(
            Fraction(mine[0], mine[0] + high - mine[1]),
            Fraction(mine[1], mine[1] + low - mine[0]),
        )

    def draw(self) -> int:
        """Draw one index."""
        return observed(self, None, self._one)

    def _one(self) -> int:
        while True:
            drawn = np.uint64(uniform_word(int(self._edges[-1])))
            index = int(self._edges.searchsorted(drawn, "right"))
            word, surely = one_word64(), _surely(self._estimate[index], self._proposals[index])
            if word * 2.0**-64 < surely or below(self._acceptance(index), word, 64):
                return index

    def draw_many(self, size: Size) -> NDArray[np.int64]:
        """Draw an int64 array of indices of the given length or shape."""
        shape, n = shape_of(size)
        return np.reshape(observed(self, n, lambda: self._draw(n)), shape)

    def _draw(self, n: int) -> NDArray[np.int64]:
        result = np.empty(n, np.int64)
        todo = np.arange(n)
        while len(todo):
            drawn = uniform_words(int(self._edges[-1]), len(todo))
            indices = np.searchsorted(self._edges, drawn, "right")
            words = words64(len(todo))
            accepted = words * 2.0**-64 < _surely(self._estimate[indices], self._proposals[indices])
            for j in np.flatnonzero(~accepted).tolist():
                accepted[j] = below(self._acceptance(int(indices[j])), int(words[j]), 64)
            result[todo] = indices
            todo = todo[~accepted]
        return result


def _surely(estimates: NDArray[np.float64], proposals: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return what each acceptance probability is certainly above."""
    # An estimate of at least 1 is so far from the cut of the exponents that it is not a part of it.
    return np.where(estimates >= 1, estimates * (1 - 4 * SAFETY) / proposals, 0.0)


def _accepted(above: int, factor: Fraction, weight: int, proposal: int, shift: int) -> EncloseAt:
    """Enclose S w exp(-g) / v: g is the factor times the cost above, S is two to the shift."""
    exponent = above * factor
    extra = 64 + max(0, weight.bit_length() + shift)

    def enclose(bits: int) -> tuple[int, int]:
        low, high = exp_minus(exponent, bits + extra)
        over = proposal << (extra - shift)
        return low * weight // over, min(high * weight // over + 1, 1 << bits)

    return enclose


def choices_within(
    groups: NDArray[np.intp],
    costs: NDArray[np.int64],
    factor: Fraction,
    weights: NDArray[Any],
) -> Iterator[int]:
    """Draw a candidate within each of several groups, all of which are prepared at once.

    >>> costs, ones = np.array([0, 90, 90, 0]), np.ones(4, np.int64)
    >>> list(choices_within(np.array([0, 2]), costs, Fraction(1), ones))
    [0, 3]
    """
    # Yields: the position of the one that is drawn, group by group, as :class:`ExponentialChoice`
    # draws it.
    #
    # weights: whole numbers from 1 to 2**900; Python integers where they leave 64 bits.
    ends = [*groups.tolist(), len(costs)]
    lengths = np.diff(ends)
    minimum = np.minimum.reduceat(costs, groups)
    estimates = _estimate(costs - minimum.repeat(lengths), factor, weights)
    shifts = PROPOSAL_BITS - np.frexp(np.add.reduceat(estimates, groups))[1]
    estimates = np.ldexp(estimates, shifts.repeat(lengths))
    proposals = np.floor(estimates * (1 + SAFETY)).astype(np.int64) + 1
    edges = proposals.cumsum().view(np.uint64)  # of all groups, modulo 2**64
    within = edges - np.append(np.uint64(0), edges[groups[1:] - 1]).repeat(lengths)
    surely = _surely(estimates, proposals)
    group = zip(pairwise(ends), minimum.tolist(), shifts.tolist(), strict=True)
    for (first, end), lowest, shift in group:
        while True:
            drawn = np.uint64(uniform_word(int(within[end - 1])))
            index = first + int(within[first:end].searchsorted(drawn, "right"))
            word = one_word64()
            if word * 2.0**-64 < surely[index]:
                break
            above, weight = int(costs[index]) - lowest, int(weights[index])
            if below(_accepted(above, factor, weight, int(proposals[index]), shift), word, 64):
                break
        yield index


def _estimate(
    above: NDArray[np.integer[Any]], factor: Fraction, weights: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the weights ``w exp(-g)`` of costs above the least, in doubles."""
    with np.errstate(over="ignore"):
        exponents = np.minimum(above * float_down(factor), LARGEST_EXPONENT)
    shares: NDArray[np.float64] = np.exp(-exponents)
    return np.asarray(weights.astype(np.float64) * shares)


@overload
def exponential_choice(
    costs: Integers, factor: Number, weights: Integers | None = None, size: None = None
) -> int: ...
@overload
def exponential_choice(
    costs: Integers, factor: Number, weights: Integers | None = None, *, size: Size
) -> NDArray[np.int64]: ...
@overload
def exponential_choice(
    costs: Integers, factor: Number, weights: Integers | None, size: Size
) -> NDArray[np.int64]: ...
@public
def exponential_choice(
    costs: Integers, factor: Number, weights: Integers | None = None, size: Size | None = None
) -> int | NDArray[np.int64]:
    """Draw index i with probability exactly proportional to weights[i] exp(-costs[i] factor).

    Arguments and errors as for :class:`ExponentialChoice`; for a private choice, the costs are
    the whole-numbered losses and factor is epsilon over twice their sensitivity.

    Args:
        costs: integers below 2**63; only their differences matter.
        factor: at least 0; taken exactly.
        weights: integers, one a candidate; all 1 by default.
        size: the length of an array of draws, or its shape; None for one Python integer.

    Returns:
        A Python integer, or an int64 array for a ``size``.

    >>> exponential_choice([10**6, 0], 1), exponential_choice([0, 3], 1, size=4).shape
    (1, (4,))
    """
    distribution = ExponentialChoice(costs, factor, weights)
    return distribution.draw() if size is None else distribution.draw_many(size)


@overload
def categorical(weights: Sequence[Number], size: None = None) -> int: ...
@overload
def categorical(weights: Sequence[Number], size: Size) -> NDArray[np.int64]: ...
@public
def categorical(weights: Sequence[Number], size: Size | None = None) -> int | NDArray[np.int64]:
    """Draw index i with probability exactly ``weights[i] / sum(weights)``.

    Args:
        weights: at least one above zero, none negative; taken exactly.
        size: ``None`` for one Python integer, or a length or shape for an int64 array.

    Raises:
        UsageError: no weights, one that is negative or not finite, all zero, a bad size.

    >>> categorical([0, 2, 0]), categorical(["1/2", "1/3"], size=3).shape
    (1, (3,))
    """
    exact = [as_fraction(w, "weight") for w in weights]
    if not exact or min(exact) < 0 or not any(exact):
        raise UsageError("weights must not be negative, and at least one must be above zero")
    common = lcm(*(w.denominator for w in exact))
    edges = list(accumulate(int(w * common) for w in exact))

    def draw() -> int | NDArray[np.int64]:
        with watched(None):
            return _drawn(edges, size)

    return observed_choice("categorical", tuple(exact), size, draw)


def _drawn(edges: Sequence[int], size: Size | None) -> int | NDArray[np.int64]:
    total = edges[-1]
    if size is None:
        drawn = uniform(total)
        return sum(edge <= drawn for edge in edges)
    shape, n = shape_of(size)
    if len(edges) == 1:
        return np.zeros(shape, np.int64)
    table = InversionTable(lambda width: [(e << width) // total for e in edges[:-1]])
    return table.draw(n).astype(np.int64).reshape(shape)
