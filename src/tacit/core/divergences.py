"""Divergences between two explicit output distributions, as enclosures."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.enclosure import Enclosure, exp, log
from tacit.arithmetic.exact import Number, as_fraction, read_probability, show
from tacit.calls import public
from tacit.errors import InfeasibleError, UsageError
from tacit.noise import DiscreteLaplace

# Outputs in the form that distributions list them in, and distributions of independent outputs.


_NONE = Enclosure(Fraction(0), Fraction(0))


def outcome(value: Any) -> Hashable:
    """Return an output in the form that distributions list it in: hashable, vectors as tuples.

    >>> outcome(np.array([1, 2])), outcome([True, None]), outcome({"north": 3, "south": [4]})
    ((1, 2), (True, None), (('north', 3), ('south', (4,))))
    """
    # A mapping, such as :func:`~tacit.core.parallel` releases, is a tuple of its pairs, and every
    # NaN is one and the same.
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isnan(value):
        return math.nan
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        value = list(value.items())
    if isinstance(value, (list, tuple)):
        return tuple(outcome(part) for part in value)
    return value  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Product:
    """Independent outputs, sequentially: a vector of noisy numbers, or several releases.

    Args:
        parts: the distribution of each.
        names: of the parts, where the output is a mapping of these names to outputs.

    >>> from tacit.mechanisms import FiniteDistribution
    >>> coin = FiniteDistribution.of({0: "1/2", 1: "1/2"})
    >>> float(Product((coin, coin)).probability([0, 1]))
    0.25
    >>> float(Product((coin, coin), ("north", "south")).probability({"south": 0, "north": 1}))
    0.25
    """

    parts: Sequence[Any]
    names: Sequence[Hashable] | None = None

    def outputs(self, value: Any) -> tuple[Any, ...] | None:
        """List the outputs of the parts in one of the whole; None where it is not made of them."""
        if self.names is not None:
            named = isinstance(value, Mapping) and set(value) == set(self.names)
            return tuple(value[name] for name in self.names) if named else None
        values = outcome(value)
        fits = isinstance(values, tuple) and len(values) == len(self.parts)
        return values if fits else None  # type: ignore[return-value]

    def probability(self, value: Any) -> Enclosure:
        """Return the product of the parts' probabilities."""
        values = self.outputs(value)
        if values is None:
            return _NONE
        product = Enclosure.of(1)
        for part, one in zip(self.parts, values, strict=True):
            product = (product * part.probability(one)).rounded(128)
        return product

    def support(self, mass: Number = "0.999") -> tuple[Any, ...]:
        """Return a support for each part, so that all hold at once with at least ``mass``."""
        share = as_fraction(mass, "mass")
        each = 1 - (1 - share) / max(1, len(self.parts))
        return tuple(part.support(each) for part in self.parts)


# What is certain of divergences between listed outcomes: each a pair of enclosed masses.
#
# Both who compares two explicit distributions (:mod:`tacit.core.divergences`) and who
# holds a claim against what a mechanism gives (:mod:`tacit.audit.exact`) ask here.


Pair: TypeAlias = tuple[Enclosure, Enclosure]
_ZERO = Fraction(0)


@dataclass(frozen=True)
class Ratio:
    """The largest ratio ``p / q``, between certified ends."""

    # lower, upper: the ends, over the pairs whose q is above zero; 0 where there are none
    lower: Fraction
    upper: Fraction
    index: int | None  # which pair ``lower`` is of; None where it is 0
    # the first pair whose p is above zero and whose q is zero: then the ratio is infinite
    impossible: int | None
    unsure: bool  # whether the enclosures of some pair leave open if its ratio is finite


def largest_ratio(pairs: Iterable[Pair]) -> Ratio:
    """Return the largest ratio of the first mass to the second.

    >>> one, half = Enclosure.of(1), Enclosure.of(Fraction(1, 2))
    >>> largest_ratio([(half, one), (one, half)])
    Ratio(lower=Fraction(2, 1), upper=Fraction(2, 1), index=1, impossible=None, unsure=False)
    """
    low, high = _ZERO, _ZERO
    index: int | None = None
    impossible: int | None = None
    unsure = False
    for i, (p, q) in enumerate(pairs):
        if p.upper <= 0:
            continue
        if q.upper > 0 and p.lower / q.upper > low:
            low, index = p.lower / q.upper, i
        if q.lower > 0:
            high = max(high, p.upper / q.lower)
        elif p.lower > 0 and q.upper <= 0:
            impossible = i if impossible is None else impossible
        else:
            unsure = True
    return Ratio(low, max(low, high), index, impossible, unsure)


def excess(pairs: Iterable[Pair], epsilon: Fraction, bits: int) -> tuple[Enclosure, list[int]]:
    """Enclose ``sum of max(0, p - e^epsilon q)``; say which pairs are above zero for certain.

    >>> one, none = Enclosure.of(1), Enclosure.of(0)
    >>> excess([(none, one), (one, none)], Fraction(0), 64)
    (1, [1])
    """
    factor = exp(epsilon, bits)
    low, high = _ZERO, _ZERO
    certain = []
    for i, (p, q) in enumerate(pairs):
        minimum = p.lower - factor.upper * max(q.upper, _ZERO)
        if minimum > 0:
            low += minimum
            certain.append(i)
        high += max(p.upper - factor.lower * max(q.lower, _ZERO), _ZERO)
    return Enclosure(low, high), certain


# The probability of an event the user picks, with relative precision however far in the tails.


_MAX_BITS = 1 << 9
_MAX_CLOSED_BITS = 1 << 17
_MAX_TERMS = 1 << 13
_MAX_OUTCOMES = 1 << 16


def mass_of(distribution: Any, event: Any) -> Enclosure:
    """Enclose the probability of an event."""
    # event: ``(lower, upper)``, an interval with both ends in it (None or an infinity for no end);
    #   a set or list of outcomes; or a function of an outcome.
    if callable(event):
        return _where(distribution, event)
    if isinstance(event, tuple):
        lower, upper = _ends(event)
        if hasattr(distribution, "law"):
            return _lattice_interval(distribution, lower, upper)
        low, high = (-math.inf if lower is None else lower), (math.inf if upper is None else upper)
        return _where(distribution, lambda x: low <= x <= high)
    if isinstance(event, (str, bytes)) or not isinstance(event, Iterable):
        raise UsageError(
            "an event is a pair (lower, upper), a set of outcomes, or a function of an outcome"
        )
    listed = event.items() if isinstance(event, Mapping) else event
    table = _table(distribution)
    if table is not None:
        return sum((_probability(table.get(x, 0)) for x in set(listed)), Enclosure.of(0))
    return sum((distribution.probability(x) for x in set(listed)), Enclosure.of(0))


def _ends(event: tuple[Any, ...]) -> tuple[Fraction | None, Fraction | None]:
    if len(event) != 2:
        raise UsageError("an interval is a pair (lower, upper); put outcomes in a set")
    lower, upper = (None if _open(end) else as_fraction(end, "an end") for end in event)
    if lower is not None and upper is not None and lower > upper:
        raise UsageError("the ends of the event are reversed; swap them")
    return lower, upper


def _open(end: Any) -> bool:
    return end is None or (isinstance(end, float) and math.isinf(end))


def _table(distribution: Any) -> Mapping[Any, Any] | None:
    table = getattr(distribution, "table", distribution)
    return table if isinstance(table, Mapping) else None


def _where(distribution: Any, holds: Callable[[Any], Any]) -> Enclosure:
    table = _table(distribution)
    rest = getattr(distribution, "rest", _ZERO)
    if table is None:
        share = 1 - Fraction(1, 1 << 100)
        low, high = (int(end) for end in distribution.law.support(share))
        if high - low > _MAX_OUTCOMES:
            raise InfeasibleError(
                f"a function would be called for {high - low:,} outcomes; give an interval"
            )
        units = range(distribution.centre + low, distribution.centre + high + 1)
        values = [unit * distribution.grid for unit in units]
        table = {x: distribution.probability(x) for x in values}
        rest = 1 - share
    total = sum((_probability(p) for x, p in table.items() if holds(x)), Enclosure.of(0))
    return Enclosure(total.lower, min(total.upper + rest, Fraction(1)))


def _lattice_interval(
    distribution: Any, lower: Fraction | None, upper: Fraction | None
) -> Enclosure:
    centre, grid = distribution.centre, distribution.grid
    first = None if lower is None else math.ceil(lower / grid) - centre
    last = None if upper is None else math.floor(upper / grid) - centre
    return interval_mass(distribution.law, first, last)


def interval_mass(
    distribution: Any, first: int | None, last: int | None, right: int = 40
) -> Enclosure:
    """Enclose ``P(first <= X <= last)`` for a symmetric distribution on the integers.

    >>> from tacit.noise import DiscreteGaussian
    >>> float(interval_mass(DiscreteGaussian(1), 36, 40))
    1.5069...e-282
    """
    # The interval is mirrored to the lower side, where the distribution function is small itself,
    # and enclosed with more and more bits until ``right`` of them are right.  Where a Gaussian is
    # in the tails, the terms from the nearer end on are added instead; those of a log-concave
    # distribution fall at least geometrically, which bounds the rest.
    if first is not None and last is not None and last < first:
        return Enclosure.of(0)
    if first is not None and first > 0:
        return interval_mass(distribution, None if last is None else -last, -first, right)
    if first is None and last is None:
        return Enclosure.of(1)
    closed = isinstance(distribution, DiscreteLaplace)
    bits = right + 56
    while bits <= (_MAX_CLOSED_BITS if closed else _MAX_BITS):
        high = Enclosure.of(1) if last is None else distribution.cdf(last, bits)
        low = Enclosure.of(0) if first is None else distribution.cdf(first - 1, bits)
        mass: Enclosure = high - low
        if mass.width <= mass.lower / (1 << right):
            return mass
        bits *= 2
    return _by_terms(distribution, first, last, right)


def _by_terms(distribution: Any, first: int | None, last: int | None, right: int) -> Enclosure:
    assert last is not None  # the interval lies on the lower side, in the tails
    nearest = -last
    total = here = distribution.probability(nearest, right + 24)
    for x in range(nearest + 1, nearest + _MAX_TERMS):
        if first is not None and x > -first:
            return Enclosure(total.lower, total.upper)
        there = distribution.probability(x, right + 24)
        if there.lower <= 0 or here.lower <= 0:
            break
        ratio = there.upper / here.lower
        if ratio < 1 and there.upper / (1 - ratio) <= total.lower / (1 << right):
            enclosed = Enclosure(total.lower, total.upper + there.upper / (1 - ratio))
            return enclosed.rounded(right + 24)
        total, here = (total + there).rounded(right + 24), there
    raise InfeasibleError("the event is too unlikely to distinguish its probability from zero")


# The privacy curve of pairs of masses: delta at epsilon, epsilon at delta, in closed form.
#
# Let outcomes carry masses ``(p_j, q_j)``.  The smallest delta at epsilon is
# ``sum_j max(0, p_j - e^epsilon q_j)``.  With the outcomes in falling order of ``p_j / q_j`` the
# positive terms are a prefix, and the sum over any other prefix is smaller; so with the prefix sums
# A_i of the p and B_i of the q
#
#     delta(epsilon) = max over i of (A_i - e^epsilon B_i)        (i = 0 included),
#     epsilon(delta) = ln max over i of (A_i - delta) / B_i,
#
# the second because ``A_i - e^epsilon B_i <= delta`` for all i is ``e^epsilon >= (A_i - delta) /
# B_i`` for all i.  No search, no cancellation: everything before the one exponential or logarithm
# is exact.

_BITS = 96


@dataclass(frozen=True)
class Curve:
    """Prefix sums of masses in falling order of their ratio, and the mass whose ratio is infinite.

    >>> curve = Curve.of([(Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4))])
    >>> curve.delta(Fraction(0))
    0.5
    >>> float(curve.epsilon(Fraction(0)))
    1.0986122886681098
    """

    sums: tuple[tuple[Fraction, Fraction], ...]

    @classmethod
    def of(cls, masses: Iterable[tuple[Fraction, Fraction]]) -> Curve:
        """Sort and add up pairs of masses ``(p, q)``, none negative."""
        possible = [(p, q) for p, q in masses if p > 0]
        certain = sum((p for p, q in possible if q == 0), _ZERO)
        finite = ((p, q) for p, q in possible if q > 0)
        return cls.ordered(certain, sorted(finite, key=lambda m: m[0] / m[1], reverse=True))

    @classmethod
    def ordered(cls, certain: Fraction, masses: Iterable[tuple[Fraction, Fraction]]) -> Curve:
        """Add up pairs that come in falling order of ``p / q`` behind the mass where q is zero."""
        a, b, sums = certain, _ZERO, [(certain, _ZERO)]
        for p, q in masses:
            a, b = a + p, b + q
            sums.append((a, b))
        return cls(tuple(sums))

    def delta(self, epsilon: Fraction) -> Enclosure:
        """Enclose the least delta at epsilon."""
        factor = exp(epsilon, _BITS)
        low = max(a - factor.upper * b for a, b in self.sums)
        high = max(a - factor.lower * b for a, b in self.sums)
        return Enclosure(max(low, _ZERO), max(high, _ZERO))

    def epsilon(self, delta: Fraction) -> Enclosure | float:
        """Enclose the least epsilon, not below zero, at which delta suffices; infinite if none."""
        if self.sums[0][0] > delta:
            return math.inf
        worst = max(((a - delta) / b for a, b in self.sums[1:]), default=_ZERO)
        return Enclosure(_ZERO, _ZERO) if worst <= 1 else log(worst, _BITS)


# Divergences between two explicit discrete distributions, with certified enclosures.
#
# A distribution is a mapping from outcome to probability: a Fraction (or what reads as one), or an
# :class:`~tacit.arithmetic.enclosure.Enclosure` where the probability is irrational.  Outcomes that
# are absent have probability zero.  A pandas Series is read as such a mapping; in a list or an
# array of probabilities the outcomes are the positions.


Probabilities: TypeAlias = dict[Hashable, Enclosure]
_ONE = Fraction(1)
_FLOAT_SLACK = Fraction(1, 1 << 40)


def distribution(p: Any) -> Probabilities:
    """Read an explicit distribution, and refuse one that cannot sum to one.

    >>> distribution([0.1] * 10)[0] == Enclosure.of(Fraction(1, 10))
    True
    >>> distribution({"yes": 0.5, "no": 0.5}) == distribution({"yes": "1/2", "no": "1/2"})
    True
    """
    # Probabilities in binary floating point rarely sum to one exactly (0.9 + 0.1 is above it by
    # 2^-55): where floats are among them and the sum is within 2^-40 of one, each is divided by the
    # exact sum, so that what is compared are distributions.  Write ``"9/10"`` to be taken at the
    # word.
    read: Probabilities = {}
    rounded = False
    for outcome, probability in _pairs_of(p):
        if outcome in read:
            raise UsageError("a distribution gives each outcome once")
        rounded |= isinstance(probability, (float, np.floating))
        read[outcome] = _probability(probability)
    if any(e.upper < 0 for e in read.values()):
        raise UsageError("a probability is not negative")
    low = sum((e.lower for e in read.values()), _ZERO)
    high = sum((e.upper for e in read.values()), _ZERO)
    if low <= 1 <= high:
        return read
    if rounded and low == high and abs(low - 1) <= _FLOAT_SLACK:
        return {outcome: e / low for outcome, e in read.items()}
    raise UsageError(f"the probabilities sum to {show(low)}, not to 1")


def _pairs_of(p: Any) -> Iterable[tuple[Hashable, Any]]:
    table = getattr(p, "table", p)
    if isinstance(table, Mapping) or hasattr(table, "items"):
        if getattr(p, "rest", _ZERO):
            raise UsageError(
                "this distribution does not list all outcomes; ask tc.framework.divergence"
            )
        return table.items()  # type: ignore[no-any-return]
    if isinstance(table, (str, bytes)) or not isinstance(table, Iterable):
        raise UsageError(
            "a distribution is a mapping of outcomes to probabilities, or a list of probabilities, "
            f"not a {type(p).__name__}"
        )
    return enumerate(table)


def _probability(value: Any) -> Enclosure:
    if isinstance(value, Enclosure):
        return value
    return Enclosure.of(as_fraction(value, "a probability"))


@public
def max_divergence(p: object, q: object) -> Enclosure | float:
    """Return ``max over x of ln(p(x) / q(x))``; ``math.inf`` where q misses an outcome of p.

    The maximum over *events* is attained at single outcomes, since a ratio of sums is at most the
    largest ratio of their terms.

    Args:
        p: a mapping of outcomes to probabilities, or a list of probabilities.
        q: another.

    >>> max_divergence({0: 1}, {0: "1/2", 1: "1/2"}).upper >= 0
    True
    """
    left, right = distribution(p), distribution(q)
    ratio = largest_ratio(_pairs(left, right))
    if ratio.impossible is not None:
        return math.inf
    if ratio.unsure:
        raise UsageError("the enclosures are too wide to divide by; give them more precision")
    # Probabilities that both sum to one do not fall everywhere.
    low, high = max(_ONE, ratio.lower), max(_ONE, ratio.upper)
    return Enclosure(log(low, _BITS).lower, log(high, _BITS).upper)


@public
def hockey_stick(p: object, q: object, epsilon: Number) -> Enclosure:
    """Return ``sum over x of max(0, p(x) - e^epsilon q(x))``: the smallest delta at an epsilon.

    Args:
        p: a mapping of outcomes to probabilities, or a list of probabilities.
        q: another.
        epsilon: a number, taken exactly.

    >>> hockey_stick({0: 1}, {0: "1/2", 1: "1/2"}, 0).upper == Fraction(1, 2)
    True
    """
    return PrivacyProfile(distribution(p), distribution(q))._one_way(
        as_fraction(epsilon, "epsilon")
    )


@public
def total_variation(p: object, q: object) -> Enclosure:
    """Return the total variation distance: the hockey stick at epsilon zero.

    Args:
        p: a mapping of outcomes to probabilities, or a list of probabilities.
        q: another.

    >>> total_variation({0: 1}, {0: "1/4", 1: "3/4"}).upper
    Fraction(3, 4)
    """
    return hockey_stick(p, q, 0)


def largest(*values: Enclosure | float) -> Enclosure | float:
    """Return the larger of several divergences, any of which may be infinite."""
    finite = [v for v in values if isinstance(v, Enclosure)]
    if len(finite) < len(values):
        return math.inf
    return Enclosure(max(v.lower for v in finite), max(v.upper for v in finite))


@dataclass(frozen=True, eq=False)
class PrivacyProfile:
    """The privacy profile of two distributions: epsilon to delta, and back.

    ``profile(epsilon)`` encloses the smallest delta, over both directions, such that
    ``P(S) <= e^epsilon Q(S) + delta`` for every event S.
    """

    p: Probabilities
    q: Probabilities

    def __call__(self, epsilon: Number) -> Enclosure:
        """Return the least delta at ``epsilon``, over both directions."""
        level = as_fraction(epsilon, "epsilon")
        mirror = PrivacyProfile(self.q, self.p)
        worst = largest(self._one_way(level), mirror._one_way(level))
        assert isinstance(worst, Enclosure)
        return worst

    def epsilon(self, delta: Number) -> Enclosure | float:
        """Enclose the least epsilon at which ``delta`` suffices; ``math.inf`` where none does."""
        target = read_probability(delta, "delta")
        return largest(*(_epsilon(*sides, target) for sides in self._directions()))

    def _directions(self) -> tuple[tuple[Probabilities, Probabilities], ...]:
        return (self.p, self.q), (self.q, self.p)

    def _one_way(self, epsilon: Fraction) -> Enclosure:
        return excess(_pairs(self.p, self.q), epsilon, _BITS)[0]


def _pairs(p: Probabilities, q: Probabilities) -> list[Pair]:
    """Return the masses of each outcome of p."""
    nothing = Enclosure(_ZERO, _ZERO)
    return [(here, q.get(outcome, nothing)) for outcome, here in p.items()]


def _curves(p: Probabilities, q: Probabilities) -> tuple[Curve, Curve]:
    """Return the curves of the masses that make delta least and largest."""
    pairs = _pairs(p, q)
    low = Curve.of((max(a.lower, _ZERO), max(b.upper, _ZERO)) for a, b in pairs)
    return low, Curve.of((a.upper, max(b.lower, _ZERO)) for a, b in pairs)


def _epsilon(p: Probabilities, q: Probabilities, delta: Fraction) -> Enclosure | float:
    low, high = _curves(p, q)
    minimum, maximum = low.epsilon(delta), high.epsilon(delta)
    if not isinstance(maximum, Enclosure):
        return maximum
    assert isinstance(minimum, Enclosure)
    return Enclosure(minimum.lower, maximum.upper)


# Renyi moments of many orders at once, in doubles.
#
# Each term is ``exp(a ln p + (1 - a) ln q)`` with an exponent that is off by at most a relative
# 2^-48, so a sum of positive terms is within a relative 1e-9 for orders up to 64 wherever the terms
# that matter have logarithms below a thousand in size.  Who asks allows for that; for certified
# ends of one order see :mod:`tacit.core.divergences`.


_CHUNK = 256

Floats = NDArray[np.float64]


def log_moments(log_p: Floats, log_q: Floats, orders: Floats, *, tails: bool = False) -> Floats:
    """Return ``ln of sum p^a q^(1-a)`` for each order a.

    >>> half, two = np.log([0.5, 0.5]), np.array([2.0])
    >>> float(np.exp(log_moments(half, np.log([0.25, 0.75]), two))[0])
    1.333333333333333...
    """
    # tails: whether the outcomes go on at both ends, with terms that fall ever faster: what is
    #   beyond is bounded from above and added.
    logs = np.zeros(len(orders))
    for start in range(0, len(orders), _CHUNK):
        order = orders[start : start + _CHUNK, None]
        exponents = order * log_p + (1 - order) * log_q
        peak = exponents.max(axis=1)
        terms = np.exp(exponents - peak[:, None])
        area = terms.sum(axis=1)
        if tails:
            area = area + _beyond(terms) + _beyond(terms[:, ::-1])
        logs[start : start + _CHUNK] = peak + np.log(area)
    return logs


def _beyond(terms: Floats) -> Floats:
    """Bound, in each row, the terms beyond the last one, of a sequence whose ratios never grow."""
    # ``p^a q^(1-a)`` of two shifted Gaussians is the exponential of a concave parabola.
    last, before = terms[:, -1], terms[:, -2]
    ratio = np.divide(last, before, out=np.zeros_like(last), where=before > 0)
    if bool((ratio >= 1).any()):
        raise UsageError("the window does not reach the peak of this order; verify a lower order")
    return np.asarray(last * ratio / (1 - ratio))


def largest_of_chords(x: Floats, f: Floats) -> Floats:
    """Return the largest ``(fa + m (x - a)) / (x (x + 1))`` on each [a, b], m the slope to fb."""
    # With L(x) = c + m x the derivative vanishes where ``m x^2 + 2 c x + c = 0``.
    a, b, ends = x[:-1], x[1:], f / (x * (x + 1))
    best = np.maximum(ends[:-1], ends[1:])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        slope = np.diff(f) / np.diff(x)
        c = f[:-1] - slope * a
        for sign in (-1, 1):
            largest = (
                -c + sign * np.sqrt(c * c - slope * c)
            ) / slope  # no number where there is none
            inner = (c + slope * largest) / (largest * (largest + 1))
            best = np.where((a < largest) & (largest < b), np.maximum(best, inner), best)
    return best


@public
def renyi(p: object, q: object, alpha: Number | float) -> Enclosure | float:
    """Return the Renyi divergence of an order above zero.

    ``D = ln(sum over x of p(x)^alpha q(x)^(1 - alpha)) / (alpha - 1)``; at order one its limit, the
    Kullback-Leibler divergence ``sum of p ln(p / q)``; at ``math.inf`` the max divergence.
    Infinite where q misses an outcome of p (below order one: where they share none).

    Args:
        p: a mapping of outcomes to probabilities, or a list of probabilities.
        q: another.
        alpha: the order, above 0; 1 and ``math.inf`` are allowed.

    Raises:
        UsageError: an order that is not above zero, enclosures too wide to divide by.

    >>> p, q = {0: "1/2", 1: "1/2"}, {0: "1/4", 1: "3/4"}
    >>> [round(float(renyi(p, q, order)), 6) for order in ("1/2", 1, 2, math.inf)]
    [0.069336, 0.143841, 0.287682, 0.693147]
    """
    if isinstance(alpha, float) and math.isinf(alpha) and alpha > 0:
        return max_divergence(p, q)
    order = as_fraction(alpha, "alpha")
    if order <= 0:
        raise UsageError(f"the order of a Renyi divergence is above zero, not {alpha}")
    pairs = list(_renyi_pairs(p, q))
    if order >= 1 and any(there.upper <= 0 for _, there in pairs):
        return math.inf
    shared = [(here, there) for here, there in pairs if there.upper > 0]
    if any(there.lower <= 0 or here.lower <= 0 for here, there in shared):
        raise UsageError("the enclosures are too wide to divide by; give them more precision")
    if order == 1:
        return _kullback_leibler(shared)
    if not shared:
        return math.inf
    total = sum((_power_term(here, there, order) for here, there in shared), Enclosure.of(0))
    return log(total, _BITS) / (order - 1)


def _renyi_pairs(p: Any, q: Any) -> Iterator[tuple[Enclosure, Enclosure]]:
    left, right = distribution(p), distribution(q)
    for outcome, here in left.items():
        if here.upper > 0:
            yield here, right.get(outcome, Enclosure.of(0))


def _kullback_leibler(pairs: list[tuple[Enclosure, Enclosure]]) -> Enclosure:
    total = Enclosure.of(0)
    for here, there in pairs:
        total += here * log(here / there, _BITS)
    return Enclosure(max(total.lower, _ZERO), max(total.upper, _ZERO))


def _power_term(p: Enclosure, q: Enclosure, alpha: Fraction) -> Enclosure:
    """Enclose ``p^alpha q^(1 - alpha) = p exp((alpha - 1) ln(p / q))``."""
    return p * exp((alpha - 1) * log(p / q, _BITS), _BITS)


def concentrated(p: Any, q: Any, tolerance: Fraction = Fraction(1, 1024)) -> Enclosure | float:
    """Enclose ``sup over alpha > 1 of D_alpha(p, q) / alpha`` to a relative tolerance.

    >>> half, third = {0: "1/2", 1: "1/2"}, {0: "1/3", 1: "2/3"}
    >>> found = concentrated(half, third)
    >>> found.lower <= found.upper <= found.lower * Fraction(1025, 1024)
    True
    """
    # D_alpha grows with alpha, so on [a, b] the ratio is at most ``D_b / a`` and at b it is
    # ``D_b / b``; above A it is at most ``D_inf / A``.  Intervals whose bound exceeds the best
    # value found by more than the tolerance are halved until none is left.
    ceiling = max_divergence(p, q)
    if not isinstance(ceiling, Enclosure):
        return ceiling
    if ceiling.upper <= Fraction(1, 1 << 80):
        return Enclosure(_ZERO, max(_ZERO, ceiling.upper))

    def order(alpha: Fraction) -> Enclosure:
        value = renyi(p, q, alpha)
        assert isinstance(value, Enclosure)
        return value

    best, bound = _ZERO, _ZERO
    start, pending = _ONE, []
    while True:
        end = start * Fraction(5, 4)
        at_end = order(end)
        best = max(best, at_end.lower / end)
        pending.append((start, end, at_end.upper))
        start = end
        if ceiling.upper / end <= best:
            break
    while pending:
        a, b, top = pending.pop()
        if top / a <= best * (1 + tolerance):
            bound = max(bound, top / a)
            continue
        middle = (a + b) / 2
        at_middle = order(middle)
        best = max(best, at_middle.lower / middle)
        pending += [(a, middle, at_middle.upper), (middle, b, top)]
    return Enclosure(best, max(bound, best))
