"""Unary and histogram encoding: one bit or one noisy number for each item."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import noise
from tacit.arithmetic.enclosure import Enclosure, exp
from tacit.arithmetic.exact import Number, as_fraction, as_integer
from tacit.calls import public
from tacit.errors import UsageError
from tacit.local.estimate import Estimate
from tacit.local.items import Items
from tacit.local.oracle import (
    FrequencyOracle,
    Layout,
    PureOracle,
    State,
    read_share,
    read_size,
    refuse_large,
    refuse_wide,
)
from tacit.local.random_bits import (
    ExactLoss,
    blend_own_bit,
    coins,
    count_bits,
    dyadic_down,
    dyadic_up,
    exp_at_most,
    fineness,
    min_exp,
    probability,
    random_rows,
    read_loss,
)

# Unary encoding: one bit for each item, every bit flipped on its own.


# Each bit of q costs a random bit for each item; 13 significant bits lose 2**-12 of epsilon.
SLACK_BITS = 13

LARGEST = 1 << 20


@public
@dataclass(frozen=True, init=False)
class UnaryEncoding(PureOracle):
    """Send one bit for each item: 1 with probability p for the true item, q for each other one.

    **Privacy.** Two answers differ in two bits, so the greatest ratio is that of the report with
    the one bit set and the other clear: ``p (1 - q) / ((1 - p) q)``, or its inverse when p < q;
    every pair of answers attains it.  **Estimate.** p* = p, q* = q.  The *optimised* form has p =
    1/2, q = 1/(E + 1), E = e**epsilon, and the variance 4E/(E - 1)**2 per report near share 0, the
    least of all p and q; the *symmetric* form has q = 1 - p = 1/(e**(epsilon/2) + 1), and is what
    basic RAPPOR sends.

    Source: T. Wang, J. Blocki, N. Li, S. Jha (2017); U. Erlingsson, V. Pihur, A. Korolova (2014).

    Args:
        domain: at most 2**20 items.
        epsilon: the greatest loss allowed; that of the thresholds is at most 2**-11 below it.
        p, q: or both probabilities; any above 0 and below 1, not equal.
        symmetric: with epsilon, take the symmetric form instead of the optimised one.

    Raises:
        UsageError: neither epsilon nor both p and q, p = q, or too many items.

    Example:
        >>> unary = UnaryEncoding(["a", "b", "c"], p="3/4", q="1/4")
        >>> unary.ratio, unary.variance(100, "1/2"), unary.report_bits
        (Fraction(9, 1), Fraction(75, 1), 3)
        >>> unary.perturb("b").shape
        (1,)
    """

    domain: Items
    p: Fraction
    q: Fraction

    def __init__(
        self,
        domain: int | Iterable[object] | Items,
        epsilon: Number | None = None,
        p: Number | None = None,
        q: Number | None = None,
        *,
        symmetric: bool = False,
    ) -> None:
        items = Items.of(domain)
        refuse_large(items, LARGEST, "unary encoding", "OptimizedLocalHashing or HadamardResponse")
        if (epsilon is None) == (p is None) or (p is None) != (q is None):
            raise UsageError("give either epsilon or both p and q")
        if epsilon is not None:
            yes, no = _best(epsilon, symmetric)
        else:
            yes, no = probability(p, "p"), probability(q, "q")  # type: ignore[arg-type]
        if yes == no:
            raise UsageError(
                "p = q gives every answer the same distribution of reports: choose different ones"
            )
        self._set(domain=items, p=yes, q=no)

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        """The pair (p, q)."""
        return self.p, self.q

    @property
    def ratio(self) -> Fraction:
        """The ratio p (1 - q) / ((1 - p) q) or its inverse, whichever is above 1."""
        odds = self.p * (1 - self.q) / ((1 - self.p) * self.q)
        return max(odds, 1 / odds)

    @property
    def layout(self) -> Layout:
        """One bit for each item."""
        return Layout("bits", len(self.domain), 2)

    def _draw(self, indices: NDArray[np.int64]) -> NDArray[np.uint8]:
        rows = random_rows(self.q, len(indices), len(self.domain))
        blend_own_bit(rows, indices, coins(self.p, len(indices)))
        return rows

    def _sums(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        return count_bits(reports, len(self.domain))

    def distribution(self, value: object) -> dict[Hashable, Fraction]:
        k, mine = len(self.domain), self.domain.index(value)
        refuse_large(self.domain, 20, "the whole distribution of unary reports", "fewer items")
        set_with = [self.p if i == mine else self.q for i in range(k)]
        return {
            packed(bits): prod(
                (s if b else 1 - s for s, b in zip(set_with, bits, strict=True)), start=Fraction(1)
            )
            for bits in product((0, 1), repeat=k)
        }


def packed(bits: Any) -> tuple[int, ...]:
    """Return the bytes of a row of bits, least significant first.

    >>> packed([1, 1, 0, 0, 0, 0, 0, 0, 1])
    (3, 1)
    """
    row: list[int] = np.packbits(np.array(bits, np.uint8), bitorder="little").tolist()
    return tuple(row)


def _best(epsilon: Number, symmetric: bool) -> tuple[Fraction, Fraction]:
    """Return p and q: q rounded up, which brings them together, in bits enough for epsilon."""
    exp_at_most(epsilon)
    loss = as_fraction(epsilon)
    share = 1 / (min_exp(loss / 2 if symmetric else loss) + 1)
    slack = SLACK_BITS + int(1 / loss).bit_length()
    no = dyadic_up(share, fineness(share, slack))
    return (1 - no if symmetric else Fraction(1, 2)), no


# Histogram encodings: noise on every entry of a one-hot vector, summed or cut at a threshold.


LARGEST_HISTOGRAM = 1 << 16
# Noise beyond 45 scales, rarer than e**-45 an entry, is cut so that a report has a fixed size.
TAIL_SCALES = 45


@public
@dataclass(frozen=True, init=False)
class SummationHistogram(ExactLoss, FrequencyOracle):
    """Send the one-hot vector of the answer with discrete Laplace noise on every entry.

    An entry is a whole number of units of 1/``units``; the true item has ``units`` of them.
    **Privacy.** Two answers differ by ``units`` in two entries, and noise of scale 2
    ``units``/epsilon makes the ratio of any report at most e**epsilon, exactly; reports beyond both
    entries attain it.  Cutting the noise at 45 scales is post-processing.  **Estimate.** The sum of
    the entries; the variance is that of the noise, about 8/epsilon**2 per report (the cut moves the
    mean by less than e**-44).

    Source: C. Dwork, F. McSherry, K. Nissim, A. Smith (2006); T. Wang et al. (2017), "SHE".

    Args:
        domain: at most 65,536 items.
        epsilon: the loss, exactly.
        units: the fineness of the grid.

    Raises:
        UsageError: an epsilon that is not in 2**-20..24, too many items, units too fine for it.

    Example:
        >>> noisy = SummationHistogram(4, epsilon=1)
        >>> noisy.epsilon, round(float(noisy.variance(1)), 2), noisy.perturb(2).shape
        (Fraction(1, 1), 8.0, (4,))
    """

    domain: Items
    loss: Fraction
    units: int

    def __init__(
        self,
        domain: int | Iterable[object] | Items,
        epsilon: Number | None = None,
        units: int = 64,
        *,
        loss: object = None,
    ) -> None:
        items = Items.of(domain)
        refuse_large(items, LARGEST_HISTOGRAM, "summation histogram", "OptimizedLocalHashing")
        fineness = as_integer(units, "units", minimum=1)
        self._set(domain=items, loss=read_loss(epsilon, loss), units=fineness)
        refuse_wide(self.layout, "units")

    @property
    def scale(self) -> Fraction:
        """The scale of the noise, in units."""
        return 2 * self.units / self.loss

    @property
    def bound(self) -> int:
        """Largest distance of an entry from zero, in units."""
        return self.units + int(TAIL_SCALES * self.scale) + 1

    @property
    def layout(self) -> Layout:
        """One whole number per item, each shifted up by the bound of the noise."""
        return Layout("integers", len(self.domain), 2 * self.bound + 1)

    def _draw(self, indices: NDArray[np.int64]) -> NDArray[Any]:
        n, k = len(indices), len(self.domain)
        values: NDArray[Any] = noise.discrete_laplace(self.scale, size=(n, k))
        values += (np.arange(k) == indices[:, None]) * self.units
        np.clip(values, -self.bound, self.bound, out=values)
        values += self.bound
        return values.astype(self.layout.dtype)

    def _sums(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        total: NDArray[np.int64] = reports.sum(axis=0, dtype=np.int64)
        return total - len(reports) * self.bound

    @property
    def influence(self) -> Fraction:
        """The most that one poisoned report can add to the estimate of one item, in people."""
        return Fraction(self.bound, self.units)

    def _noise_variance(self) -> Enclosure:
        return noise.DiscreteLaplace(self.scale).variance() / self.units**2

    def variance(self, n: int, frequency: object = 0) -> Fraction:
        """See :meth:`~tacit.local.FrequencyOracle.variance`; rounded up, within 2**-50."""
        read_share(frequency)
        return read_size(n) * self._noise_variance().upper

    def exact_counts(self, state: State) -> list[Fraction]:
        return [Fraction(s, self.units) for s in self._state(state).sums.tolist()]

    def estimate(self, reports: object) -> Estimate:
        state = self._state(reports)
        base = state.n * float(self._noise_variance())
        return Estimate(self.domain.labels, state.n, state.sums / self.units, base)

    def distribution(self, value: object) -> dict[Hashable, Enclosure]:  # type: ignore[override]
        """See :meth:`~tacit.local.Oracle.distribution`; the probabilities are enclosures."""
        k, limit, mine = len(self.domain), self.layout.limit, self.domain.index(value)
        if limit**k > 1 << 20:
            raise UsageError("there are too many reports to list: take fewer items and units")
        columns = [self._entry(self.units if i == mine else 0) for i in range(k)]
        masses: dict[Hashable, Enclosure] = {}
        for report in product(range(limit), repeat=k):
            p = Enclosure.of(1)
            for column, y in zip(columns, report, strict=True):
                p = (p * column[y]).rounded(128)
            masses[report] = p
        return masses

    def _entry(self, true: int) -> list[Enclosure]:
        distribution, bound = noise.DiscreteLaplace(self.scale), self.bound
        inner = [distribution.probability(y - true, 128) for y in range(-bound + 1, bound)]
        low, high = (
            distribution.cdf(-bound - true, 128),
            1 - distribution.cdf(bound - 1 - true, 160),
        )
        return [low, *inner, high]


@public
class ThresholdHistogram(UnaryEncoding):
    """Report of each entry of the noisy one-hot vector only whether it is above a threshold.

    An entry 0 or 1 with Laplace noise of scale 2/epsilon is above t, 1/2 <= t <= 1, with the
    probabilities ``q = e**(-epsilon t/2) / 2`` and ``p = 1 - e**(epsilon (t - 1)/2) / 2``, each on
    its own: so this *is* unary encoding with these p and q (rounded toward each other), and it
    is drawn as such.
    **Privacy.** ``epsilon`` is that of p and q; it is below the one asked for, as the threshold
    hides more than the noise alone.  Unary encoding of the same true epsilon is more accurate.

    Source: T. Wang, J. Blocki, N. Li, S. Jha (2017), "THE".

    Args:
        domain: at most 2**20 items.
        epsilon: the loss of the noise, an upper bound of the loss.
        threshold: t, from 1/2 to 1; by default the one of least variance.
        p, q: or the two probabilities, as they are described.

    Example:
        >>> cut = ThresholdHistogram(1024, epsilon=1)
        >>> round(float(cut.variance(1)), 3), float(cut.epsilon) < 1
        (4.807, True)
    """

    def __init__(
        self,
        domain: int | Iterable[object] | Items,
        epsilon: Number | None = None,
        threshold: Number | None = None,
        *,
        p: Number | None = None,
        q: Number | None = None,
    ) -> None:
        if epsilon is None:
            super().__init__(domain, p=p, q=q)
            return
        exp_at_most(epsilon)
        loss = as_fraction(epsilon)
        cut = best_threshold(loss) if threshold is None else as_fraction(threshold, "threshold")
        if not Fraction(1, 2) <= cut <= 1:
            raise UsageError("the threshold is from 1/2 to 1")
        no = exp(-loss * cut / 2, 96).middle / 2
        yes = 1 - exp(loss * (cut - 1) / 2, 96).middle / 2
        slack = SLACK_BITS + 3 + int(1 / loss).bit_length()
        yes, no = dyadic_down(yes, fineness(yes, slack)), dyadic_up(no, fineness(no, slack))
        super().__init__(domain, p=yes, q=no)


def best_threshold(epsilon: Fraction) -> Fraction:
    """Return the threshold of least variance, to 2**-20, by golden section.

    >>> round(float(best_threshold(Fraction(1))), 4), round(float(best_threshold(Fraction(2))), 4)
    (0.6186, 0.7096)
    """
    loss = float(epsilon)

    def variance(t: float) -> float:
        no = np.exp(-loss * t / 2) / 2
        yes = 1 - np.exp(loss * (t - 1) / 2) / 2
        return float(no * (1 - no) / (yes - no) ** 2)

    low, high = 0.5, 1.0
    while high - low > 2.0**-21:
        left, right = high - 0.6180339887 * (high - low), low + 0.6180339887 * (high - low)
        low, high = (low, right) if variance(left) < variance(right) else (left, high)
    return Fraction(round((low + high) * 2**19), 2**20)
