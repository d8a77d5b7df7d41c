"""The mechanism and the number of reports for a wanted error; what shuffling gains."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tacit import plotting
from tacit.arithmetic.enclosure import Enclosure, exp, log
from tacit.arithmetic.exact import Number, as_fraction, as_integer, float_down, float_up, positive
from tacit.calls import public
from tacit.errors import UsageError
from tacit.local.frequency.bit_vectors import SummationHistogram, ThresholdHistogram, UnaryEncoding
from tacit.local.frequency.direct_encoding import DirectEncoding, SubsetSelection
from tacit.local.frequency.hadamard_response import HadamardResponse
from tacit.local.frequency.local_hashing import BinaryLocalHashing, OptimizedLocalHashing
from tacit.local.items import Items
from tacit.local.oracle import FrequencyOracle, Oracle

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Which mechanism to take: ranked by exact variance, with what each costs.


_MAKERS: dict[str, Callable[[Items, Any], FrequencyOracle]] = {
    "direct encoding (GRR)": lambda d, e: DirectEncoding(d, epsilon=e),
    "unary encoding, optimised": lambda d, e: UnaryEncoding(d, epsilon=e),
    "unary encoding, symmetric": lambda d, e: UnaryEncoding(d, epsilon=e, symmetric=True),
    "optimised local hashing": lambda d, e: OptimizedLocalHashing(d, epsilon=e),
    "binary local hashing": lambda d, e: BinaryLocalHashing(d, epsilon=e),
    "Hadamard response": lambda d, e: HadamardResponse(d, epsilon=e),
    "subset selection": lambda d, e: SubsetSelection(d, epsilon=e),
    "summation histogram": lambda d, e: SummationHistogram(d, epsilon=e),
    "threshold histogram": lambda d, e: ThresholdHistogram(d, epsilon=e),
}


@dataclass(frozen=True)
class Option:
    """One mechanism, and what it costs."""

    name: str
    oracle: FrequencyOracle  # the mechanism itself, ready for use
    variance: Fraction  # of the estimated count of a rare item, exactly
    report_bits: int  # the size of a report
    influence: Fraction  # how many people one poisoned report can add to one item's count


@public
@dataclass(frozen=True)
class Choice:
    """Mechanisms for one question, the most accurate first; see :func:`choose`.

    Attributes:
        options: all that take this domain, by variance and then by report size.
        n: how many reports are expected.
        epsilon: the loss asked for.
    """

    options: tuple[Option, ...]
    n: int
    epsilon: Fraction

    @property
    def best(self) -> FrequencyOracle:
        """The smallest report among the mechanisms whose variance is within 1% of the least."""
        near = [
            o for o in self.options if o.variance <= self.options[0].variance * Fraction(101, 100)
        ]
        return min(near, key=lambda o: o.report_bits).oracle

    def __str__(self) -> str:
        head = f"{'mechanism':<28}{'error of a count':>18}{'bits a report':>15}{'influence':>11}"
        rows = (
            f"{o.name:<28}{sqrt(o.variance):>18,.1f}{o.report_bits:>15,}{float(o.influence):>11,.1f}"
            for o in self.options
        )
        return "\n".join((head, *rows))

    def crossings(
        self, sizes: Iterable[int] | None = None
    ) -> dict[str, list[tuple[int, Fraction]]]:
        """Return for each mechanism its variance over sizes of the domain: 2, 4, ... 4,096."""
        points = [1 << i for i in range(1, 13)] if sizes is None else list(sizes)
        crossings: dict[str, list[tuple[int, Fraction]]] = {}
        for size in points:
            for name, make in _MAKERS.items():
                oracle = make(Items(size), self.epsilon)
                crossings.setdefault(name, []).append((size, oracle.variance(self.n)))
        return crossings

    def plot(self) -> Figure:
        """Draw the error of a count against the size of the domain, where lines cross.

        Raises:
            MissingExtraError: matplotlib is not installed.
        """
        made = plotting.figure(7.5, 4.5)
        ((one,),) = plotting.axes(made, 1, 1)
        for i, (name, points) in enumerate(self.crossings().items()):
            sizes, variances = zip(*points, strict=True)
            errors = [sqrt(v) for v in variances]
            one.plot(sizes, errors, label=name, **{**plotting.series(i).line(), "markersize": 4})
        one.set_xscale("log", base=2)
        one.set_yscale("log")
        one.set_xlabel("items of the domain")
        one.set_ylabel("standard error of a count")
        one.legend(fontsize=7.5, frameon=False)
        detail = f"epsilon {plotting.number(self.epsilon)}, {self.n:,} reports, a rare item"
        plotting.title(one, "Which mechanism is most accurate", detail)
        return made  # type: ignore[no-any-return]


@public
def choose(domain: int | Iterable[object] | Items, n: int, epsilon: Number) -> Choice:
    """Rank the frequency oracles for a question by the exact variance of a rare item's count.

    Args:
        domain: the items, see :class:`~tacit.local.Items`.
        n: how many reports are expected.
        epsilon: the greatest loss allowed.

    Raises:
        UsageError: a bad domain or epsilon, n below 1.

    Example:
        >>> choice = choose(1024, n=10_000, epsilon=1)
        >>> choice.options[0].name, type(choice.best).__name__
        ('subset selection', 'OptimizedLocalHashing')
        >>> type(choose(["yes", "no"], n=100, epsilon=1).best).__name__
        'DirectEncoding'
    """
    items, reports = Items.of(domain), as_integer(n, "n", minimum=1)
    loss = positive(epsilon, "epsilon")
    options = []
    for name, make in _MAKERS.items():
        try:
            oracle = make(items, loss)
        except UsageError:
            if name.startswith("direct"):
                raise  # it takes every domain: then the question itself is wrong
            continue
        influence: Any = oracle.influence  # type: ignore[attr-defined]
        variance = oracle.variance(reports)
        options.append(Option(name, oracle, variance, oracle.report_bits, influence))
    options.sort(key=lambda option: (option.variance, option.report_bits))
    return Choice(tuple(options), reports, loss)


# Shuffling: anonymous reports in random order protect far better than each does alone.
#
# **Theorem** (V. Feldman, A. McMillan, K. Talwar, *Hiding among the clones*, FOCS 2021, theorem
# 3.2). Let each of n people send a report of an epsilon0-private mechanism, and a shuffler permute
# them at random.  Between data sets that differ in one person's answer the shuffled reports are
# (epsilon, delta)-private whenever delta is at least the divergence
#
#     D_(e**epsilon)(P || Q),   P = (A + X, C - A + 1 - X),   Q = (A + 1 - X, C - A + X),
#
# C ~ Binomial(n - 1, e**-epsilon0), A ~ Binomial(C, 1/2), X ~ Bernoulli(E / (E + 1)), E =
# e**epsilon0: every other person sends, with probability e**-epsilon0, what one of the two people
# that are to be distinguished would have sent, and hides them.
#
# **The number.**  Write e = e**epsilon and let C = c.  P puts w B(a-1) + (1-w) B(a) on a first
# count of a, Q the same with w = E/(E+1) and 1 - w swapped, where B is the distribution of A.  The
# ratio of the two grows with a, because B(a-1)/B(a) = a/(c-a+1) does; so the divergence is attained
# by {a >= t}, where t = ceil((c + 1) b / (g + b)), g = w - e (1-w) and b = e w - (1-w), and it is
#
#     D(c) = g B(t-1) + (1 - e) P(A >= t).
#
# One more clone only adds a fair coin to both sides, which is post-processing: D(c) falls as c
# grows. So C may be cut into blocks, and each block take D at its left end.
#
# **Rounding against us.**  E is rounded up and e down (a looser mechanism, a smaller ratio: both
# only raise the divergence), after which everything above is rational.  The distribution of C and
# the tails of A are sums of products of floats; each starts at a term enclosed by Robbins' bounds
# on factorials, multiplies by exact ratios, and is widened by more than the roundings can amount
# to.


_BITS = 96
_EXACT_FACTORIAL = 256
# More people only protect more, so a bound for this many holds for all above.
_MAX_CLONES_COUNTED = 10**9
_BLOCKS = 96
_LARGEST_EPSILON = 24


@public
def amplified(oracle: Oracle | Number, n: int, delta: Number) -> Fraction:
    """Return an epsilon at which ``n`` shuffled reports are (epsilon, delta)-private: proven.

    At most a relative 1/500 above the smallest for which the bound is at most ``delta``.

    Args:
        oracle: a mechanism, or the epsilon of one report.
        n: how many people's reports are shuffled together; only honest ones count.
        delta: above 0 and below 1.

    Raises:
        UsageError: an epsilon that is not in 0..24, a delta outside, an n below 1.

    Example:
        >>> round(float(amplified(1, 1_000_000, "1e-6")), 5)
        0.00434
    """
    ratio, loss = _ratio(oracle)
    failure = as_fraction(delta, "delta")
    if not 0 < failure < 1:
        raise UsageError("delta must be above 0 and below 1")
    clones = _Clones.of(ratio, _people(n), failure)
    low, high = Fraction(0), loss
    if clones.delta(loss * Fraction(511, 512)) > failure:
        return loss
    while high - low > high / 512:
        # the answer is often thousands of times below the loss: search its logarithm first
        middle = high / 4 if low == 0 else (low + high) / 2
        middle = Fraction(float(middle))
        if clones.delta(middle) <= failure:
            high = middle
        else:
            low = middle
    return high


@public
def amplified_delta(oracle: Oracle | Number, n: int, epsilon: Number) -> Fraction:
    """Return a delta at which ``n`` shuffled reports are (epsilon, delta)-private: proven.

    Args:
        oracle: a mechanism, or the epsilon of one report.
        n: how many people's reports are shuffled together; only honest ones count.
        epsilon: of the shuffled reports, at least 0.

    Raises:
        UsageError: as :func:`amplified`; an epsilon below 0.

    >>> float(amplified_delta(1, 1_000_000, "0.00434")) < 1.1e-6
    True
    """
    ratio, loss = _ratio(oracle)
    wanted = as_fraction(epsilon, "epsilon")
    if wanted < 0:
        raise UsageError("epsilon must be at least 0")
    if wanted >= loss:
        return Fraction(0)
    first = _Clones.of(ratio, _people(n), Fraction(1, 10**9)).delta(wanted)
    return _Clones.of(ratio, _people(n), min(first, Fraction(1, 10**9))).delta(wanted)


def _people(n: int) -> int:
    return min(as_integer(n, "n", minimum=1), _MAX_CLONES_COUNTED)


def _ratio(oracle: Oracle | Number) -> tuple[Fraction, Fraction]:
    """Return e**epsilon0 and epsilon0, both rounded up."""
    if isinstance(oracle, Oracle):
        ratio = Enclosure.of(oracle.ratio)
        loss = log(ratio, _BITS).upper
    else:
        loss = positive(oracle, "epsilon")
        if loss > _LARGEST_EPSILON:
            raise UsageError(f"epsilon must be at most {_LARGEST_EPSILON} for one report")
        ratio = exp(loss, _BITS)
    return ratio.rounded(64).upper, Enclosure.of(loss).rounded(64).upper


@dataclass(frozen=True, eq=False)
class _Clones:
    """The distribution of the number of clones, cut into blocks."""

    ratio: Fraction
    left: NDArray[np.int64]  # the smallest number of clones of each block, increasing
    weight: NDArray[np.float64]  # an upper bound on the probability of each block
    missing: float  # an upper bound on the probability of fewer clones than ``left[0]``

    @classmethod
    def of(cls, ratio: Fraction, n: int, failure: Fraction) -> _Clones:
        """Cut it so that what is cut off at the left hardly counts against ``failure``."""
        m, p = n - 1, 1 / ratio
        deviation = math.sqrt(float(m * p * (1 - p))) + 1
        radius = math.sqrt(2 * math.log(1000 / float_down(failure) if failure else 1e300)) + 1
        middle = int(m * p)
        low = max(0, middle - int(radius * deviation))
        high = min(m, middle + int(radius * deviation))
        distribution = _binomial_terms(m, p, low, high)
        starts = np.arange(low, high + 1, max(1, (high - low + 1) // _BLOCKS))
        weight = np.add.reduceat(distribution, starts - low) * _widening(len(distribution))
        # terms to the left of the first shrink at least as fast as its own ratio says
        missing = 0.0
        if low:
            shrink = Fraction(low, m - low + 1) * (1 - p) / p
            missing = float_up(Fraction(float(distribution[0])) * shrink / (1 - shrink))
        if high < m:  # what lies to the right of all blocks is as if in the last
            grow = Fraction(m - high, high + 1) * p / (1 - p)
            weight[-1] += float_up(Fraction(float(distribution[-1])) * grow / (1 - grow))
        return cls(ratio, starts.astype(np.int64), weight, missing)

    def delta(self, epsilon: Fraction) -> Fraction:
        """Return an upper bound on the divergence at e**epsilon."""
        e = exp(epsilon, _BITS).rounded(64).lower
        w = self.ratio / (self.ratio + 1)
        g, b = w - e * (1 - w), e * w - (1 - w)
        if g <= 0:
            return Fraction(0)
        each = [_at(int(c), g, b, e) for c in self.left]
        total = sum(
            (Fraction(float(x)) * d for x, d in zip(self.weight, each, strict=True)), Fraction(0)
        )
        return min(Fraction(1), total + Fraction(self.missing))


def _at(c: int, g: Fraction, b: Fraction, e: Fraction) -> Fraction:
    """Return an upper bound on D(c)."""
    t = math.ceil((c + 1) * b / (g + b))
    if t > c + 1:
        return Fraction(0)
    before = _half_term(c, t - 1)
    return max(Fraction(0), g * before.upper - (e - 1) * _half_tail(c, t, before.lower))


@lru_cache(maxsize=4096)
def _half_term(c: int, a: int) -> Enclosure:
    """Enclose the probability of ``a`` heads among ``c`` fair coins."""
    if not 0 <= a <= c:
        return Enclosure.of(0)
    return exp(_log_choose(c, a) - c * log(2, _BITS + 48), _BITS).rounded(64)


def _half_tail(c: int, t: int, before: Fraction) -> Fraction:
    """Return a lower bound on the probability of at least ``t`` heads among ``c`` fair coins."""
    # ``before`` is a lower bound on that of exactly t - 1.
    if t > c:
        return Fraction(0)
    # B(j+1)/B(j) = (c-j)/(j+1); ten deviations beyond t nothing is left that counts
    maximum = min(c - t, int(5 * math.sqrt(c)) + 20)
    j = np.arange(t, t + maximum, dtype=np.float64)
    total = 1.0 + float(np.cumprod((c - j) / (j + 1)).sum())
    return before * Fraction(c - t + 1, t) * Fraction(total / _widening(maximum + 1))


def _binomial_terms(m: int, p: Fraction, low: int, high: int) -> NDArray[np.float64]:
    """Return upper bounds on the probabilities of low .. high successes among m."""
    start = min(max(int((m + 1) * p), low), high)
    logs = start * log(p, _BITS + 48) + (m - start) * log(1 - p, _BITS + 48)
    first = exp(_log_choose(m, start) + logs, _BITS)
    odds = float_up(p / (1 - p))
    up = np.arange(start, high, dtype=np.float64)
    down = np.arange(start, low, -1, dtype=np.float64)
    right = np.cumprod((m - up) / (up + 1) * odds)
    left = np.cumprod(down / (m - down + 1) * float_up((1 - p) / p))[::-1]
    return np.concatenate([left, [1.0], right]) * float_up(first.upper) * _widening(high - low + 1)


def _widening(terms: int) -> float:
    """Return 1 plus more than the roundings of products and sums of so many terms amount to."""
    # A term is the product of as many quotients, each of at most four roundings by 2**-53; adding
    # all makes one more each: fewer than (5 terms + 8) 2**-53 in all, and (1 + x/n)**n < 1 + 2 x
    # for x < 1.
    return 1.0 + (10 * terms + 16) * 2.0**-53


def _log_choose(n: int, k: int) -> Enclosure:
    """Enclose the logarithm of a binomial coefficient, 0 <= k <= n."""
    if n <= _EXACT_FACTORIAL:
        return log(math.comb(n, k), _BITS)
    return _log_factorial(n) - _log_factorial(k) - _log_factorial(n - k)


@lru_cache(maxsize=8192)
def _log_factorial(n: int) -> Enclosure:
    """Enclose ln n!: exactly for small n, else by Stirling's series."""
    # The series ``1/(12 n) - 1/(360 n**3) + 1/(1260 n**5)`` alternates and its error is below the
    # first term left out, with its sign (H. Robbins, *A remark on Stirling's formula*, 1955, for
    # the first).
    if n <= _EXACT_FACTORIAL:
        return log(math.factorial(n), _BITS) if n > 1 else Enclosure.of(0)
    main = (n + Fraction(1, 2)) * log(n, _BITS + 48) - n + _log_root_two_pi()
    upper = Fraction(1, 12 * n) - Fraction(1, 360 * n**3) + Fraction(1, 1260 * n**5)
    return main + Enclosure(upper - Fraction(1, 1680 * n**7), upper)


@lru_cache(maxsize=1)
def _log_root_two_pi() -> Enclosure:
    from tacit.arithmetic.enclosure import pi

    return log(2 * pi(_BITS + 48), _BITS + 40) / 2
