"""Estimates of the local model, their intervals and post-processing."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tacit import plotting
from tacit.arithmetic.exact import as_fraction, as_integer
from tacit.calls import public
from tacit.display.card import Card, CardTable, Pictures, Shown, drawing
from tacit.display.svg_chart import Mark, chart
from tacit.errors import RefusedError, UsageError
from tacit.local.items import plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Estimates of counts from local reports: unbiased, with honest errors and intervals.


Floats = NDArray[np.float64]
SHOWN = 40  # how many items a figure shows at most


def quantile(level: Any, ways: int = 1) -> float:
    """Return z such that ``ways`` standard normals all lie within -z..z with at least ``level``.

    >>> round(quantile(0.95), 3), round(quantile(0.95, ways=14), 3)
    (1.96, 2.914)
    """
    # By the union bound, whatever their dependence (Bonferroni).
    share = as_fraction(level, "level")
    if not 0 < share < 1:
        raise UsageError("level is the confidence of an interval: above 0 and below 1")
    return NormalDist().inv_cdf(1 - float((1 - share) / (2 * ways)))


def tail_loss(level: Any, ways: int = 1) -> float:
    """Return L such that ``2 ways`` tails of at most ``exp(-L)`` each leave at least ``level``.

    >>> round(tail_loss(0.95), 3)
    3.689
    """
    quantile(level)  # refuses what is no level
    return math.log(2 * ways / (1 - as_fraction(level, "level")))


@public
@dataclass(frozen=True, eq=False)
class Estimate(Shown):
    """Estimated counts of items, each with its standard error.

    The mechanism's variance of a count whose true value is c is ``base + slope c``: it is known
    exactly and does not have to be guessed from the reports.  The answers are taken as
    fixed: the errors are those of the mechanism, not of drawing people from a larger population.

    Attributes:
        items: the labels.
        n: how many reports; every report counts, also those of missing answers.
        counts: the estimated number of people with each item, float64.  Unbiased unless ``method``
            says otherwise; so it may be negative, and a set of small counts still sums right.
        base, slope: the variance at a true count of zero, and its growth with the count.
        method: ``"unbiased"``, or the post-processing that was asked for.
        chosen_from: of how many the items were chosen because they seemed the largest, else 0.
            Chosen counts are too large on average; their intervals hold for all of those at once,
            so they hold for the chosen ones.

    Example:
        >>> import numpy as np
        >>> e = Estimate(("yes", "no"), 100, np.array([40.0, 60.0]), 25.0, 0.0)
        >>> e.standard_error.tolist(), e.frequencies.tolist()
        ([5.0, 5.0], [0.4, 0.6])
    """

    items: Sequence[object]
    n: int
    counts: Floats
    base: float | Floats
    slope: float | Floats = 0.0
    method: str = field(default="unbiased")
    chosen_from: int = 0

    @property
    def frequencies(self) -> Floats:
        """The estimated shares; zero where there is no report."""
        return self.counts / max(1, self.n)

    @property
    def variances(self) -> Floats:
        """The variance of each count, its true value taken to be the estimate within 0..n."""
        self._refuse_processed()
        likely = np.clip(self.counts, 0, self.n)
        return np.asarray(self.base + self.slope * likely, np.float64)

    @property
    def standard_error(self) -> Floats:
        """The standard deviation of each count."""
        return np.sqrt(np.maximum(self.variances, 0))

    def interval(self, level: object = 0.95) -> tuple[Floats, Floats]:
        """Return lower and upper ends that hold each true count with probability ``level``.

        They are all true counts c whose own distribution puts the estimate within z standard
        deviations, ``(estimate - c)**2 <= z**2 (base + slope c)`` (Wilson 1927), cut to 0..n.

        Args:
            level: the probability that an interval holds, between 0 and 1.

        Raises:
            UsageError: a level outside 0..1.
            RefusedError: the counts were post-processed, and have no known distribution.
        """
        return self._ends(level, max(1, self.chosen_from))

    def _around(self, level: object = 0.95) -> tuple[Floats, Floats]:
        """Return intervals as they are shown: stretched to the estimates, which may be below 0."""
        low, high = self.interval(level)
        return np.minimum(low, self.counts), np.maximum(high, self.counts)

    def simultaneous(self, level: object = 0.95) -> tuple[Floats, Floats]:
        """Return ends that hold *all* the true counts at once with probability ``level``.

        Args:
            level: the probability that all intervals hold at once, between 0 and 1.
        """
        return self._ends(level, max(1, len(self.counts), self.chosen_from))

    def _ends(self, level: object, ways: int) -> tuple[Floats, Floats]:
        """Solve c**2 - (2 m + z**2 s) c + m**2 - z**2 b <= 0 for c."""
        z = quantile(level, ways)
        self._refuse_processed()
        middle = self.counts + z * z * np.asarray(self.slope) / 2
        square = middle**2 - self.counts**2 + z * z * np.asarray(self.base)
        half = np.sqrt(np.maximum(square, 0))
        low, high = (np.clip(end, 0, self.n) for end in (middle - half, middle + half))
        return low, high

    def _refuse_processed(self) -> None:
        if self.method != "unbiased" and not self.chosen_from:
            raise RefusedError(
                f"counts after {self.method!r} are biased and have no known error; ask the "
                "unbiased estimate for its errors and intervals"
            )

    def __getitem__(self, item: Any) -> float:
        """Return the count of one item.

        Raises:
            UsageError: an item that is not listed.
        """
        wanted = plain(item)
        if wanted not in self.items:
            raise UsageError(f"{item!r} is not one of the {len(self.items):,} items")
        return float(self.counts[self.items.index(wanted)])

    def to_dict(self) -> dict[Hashable, float]:
        """Return the counts by item."""
        return dict(zip(self.items, self.counts.tolist(), strict=True))

    def plot(self, level: object = 0.95) -> Figure:
        """Draw counts with per-item intervals; of more than 40 items, the 40 largest.

        Args:
            level: the probability that an interval holds, between 0 and 1.

        Returns:
            A matplotlib figure.

        Raises:
            MissingExtraError: matplotlib is not installed.
        """
        order = np.argsort(-self.counts, kind="stable")[:SHOWN]
        index, counts = np.arange(len(order)), self.counts[order]
        made = plotting.figure(7, 0.9 + 0.24 * len(order))
        ((one,),) = plotting.axes(made, 1, 1)
        style = plotting.series(0)
        if self.method == "unbiased" or self.chosen_from:
            low, high = (end[order] for end in self._around(level))
            one.hlines(index, low, high, color=plotting.MUTED, linewidth=1.4)
            detail = f"bars: {float(as_fraction(level)):.0%} interval of each item"
        else:
            detail = f"{self.method}: biased, no error known"
        one.plot(counts, index, style.marker, color=style.colour, markersize=5)
        one.set_yticks(index, [str(self.items[i]) for i in order])
        one.set_ylim(len(order) - 0.5, -0.5)
        one.axvline(0, color=plotting.FAINT, linewidth=1)
        one.set_xlabel("estimated number of people")
        plotting.title(one, f"{self.n:,} reports", detail)
        return made  # type: ignore[no-any-return]

    def card(self) -> Card:
        """Return what a notebook displays: the largest counts, with 95% intervals."""
        order = np.argsort(-self.counts, kind="stable")[:SHOWN].tolist()
        known = self.method == "unbiased" or bool(self.chosen_from)
        low, high = self._around() if known else (None, None)
        marks, rows = [], []
        for i in order:
            count, between = f"{self.counts[i]:,.1f}", "not known"
            ends: tuple[float | None, float | None] = (None, None)
            if low is not None and high is not None:
                ends = float(low[i]), float(high[i])
                between = f"{ends[0]:,.1f} to {ends[1]:,.1f}"
            rows.append([str(self.items[i]), count, between, f"{self.frequencies[i]:.2%}"])
            marks.append(Mark(str(self.items[i]), float(self.counts[i]), ends[0], ends[1], count))
        rest = len(self.items) - len(order)
        head = ["item", "people", "95% interval", "share"]
        about = f"estimated number of people with each item, {self.method}"
        drawn = Pictures(lambda: [(about, drawing(chart(marks, True, about)))])
        notes = [f"and {rest:,} more: to_dict()"] if rest else []
        title = f"Estimate of {self.n:,} reports"
        return Card(title, "", [CardTable(head, rows, names=1), drawn], notes)

    def __repr__(self) -> str:
        shown = ", ".join(f"{k!r}: {v:.1f}" for k, v in list(self.to_dict().items())[:6])
        more = ", ..." if len(self.items) > 6 else ""
        return f"<Estimate of {self.n:,} reports ({self.method}): {shown}{more}>"


@public
@dataclass(frozen=True)
class MeanEstimate:
    """An unbiased estimate of a mean.

    Attributes:
        mean: the estimate; not clipped, so it may lie a little outside the bounds.
        n: how many reports.
        standard_error: the greatest standard deviation that the mechanism can have had, whatever
            the answers were.

    Example:
        >>> e = MeanEstimate(3.0, 100, 0.5)
        >>> [round(end, 2) for end in e.interval(0.95)]
        [2.02, 3.98]
    """

    mean: float
    n: int
    standard_error: float

    def interval(self, level: object = 0.95) -> tuple[float, float]:
        """Return ends that hold the true mean with probability at least ``level``.

        Args:
            level: the probability that an interval holds, between 0 and 1.

        Raises:
            UsageError: a level outside 0..1.
        """
        half = quantile(level) * self.standard_error
        return self.mean - half, self.mean + half


# Post-processing of estimated counts: smaller errors, at the price of bias.  Always asked for.
#
# Each function takes an unbiased :class:`~tacit.local.Estimate` and returns one whose ``method``
# says what was done; such an estimate gives no standard errors, for none are known. Source: T.
# Wang, M. Lopuhaa-Zwakenberg, Z. Li, B. Skoric, N. Li, *Locally differentially private frequency
# estimation with consistency*, NDSS 2020.


@public
def nonnegative(estimate: Estimate) -> Estimate:
    """Set negative counts to zero; their sum then exceeds n.

    Args:
        estimate: counts of a frequency oracle, one an item, in people.

    >>> nonnegative(Estimate("ab", 10, np.array([-1.0, 8.0]), 1.0)).counts.tolist()
    [0.0, 8.0]
    """
    return replace(estimate, counts=np.maximum(estimate.counts, 0), method="non-negative")


@public
def normalised(estimate: Estimate) -> Estimate:
    """Add the same number to all counts so that they sum to n; their differences do not change.

    Args:
        estimate: counts of a frequency oracle, one an item, in people.

    >>> normalised(Estimate("ab", 10, np.array([-1.0, 8.0]), 1.0)).counts.tolist()
    [0.5, 9.5]
    """
    missing = (estimate.n - estimate.counts.sum()) / len(estimate.counts)
    return replace(estimate, counts=estimate.counts + missing, method="normalised")


@public
def norm_sub(estimate: Estimate) -> Estimate:
    """Set negative counts to zero and shift the others alike until all sum to n.

    Args:
        estimate: counts of a frequency oracle, one an item, in people.

    >>> norm_sub(Estimate("abc", 10, np.array([-1.0, 8.0, 4.0]), 1.0)).counts.tolist()
    [0.0, 7.0, 3.0]
    """
    counts = estimate.counts.astype(np.float64)
    inside = np.ones(len(counts), bool)
    while True:
        shift = (estimate.n - counts[inside].sum()) / max(1, np.count_nonzero(inside))
        positive = inside & (counts + shift > 0)
        if np.array_equal(positive, inside) or not positive.any():
            return replace(
                estimate, counts=np.where(positive, counts + shift, 0.0), method="norm-sub"
            )
        inside = positive


@public
def simplex(estimate: Estimate) -> Estimate:
    """Return the nearest counts that are not negative and sum to n: least squares.

    The answer is ``max(c - t, 0)`` with the one t that gives the sum.  Source: J. Duchi, S.
    Shalev-Shwartz, Y. Singer, T. Chandra, *Efficient projections onto the l1-ball* (2008).

    Args:
        estimate: counts of a frequency oracle, one an item, in people.

    >>> simplex(Estimate("abc", 10, np.array([-1.0, 8.0, 4.0]), 1.0)).counts.tolist()
    [0.0, 7.0, 3.0]
    """
    ordered = np.sort(estimate.counts)[::-1]
    excess = (np.cumsum(ordered) - estimate.n) / np.arange(1, len(ordered) + 1)
    last = int(np.flatnonzero(ordered >= excess)[-1])
    counts = np.maximum(estimate.counts - excess[last], 0)
    return replace(estimate, counts=counts, method="simplex projection")


@public
def expectation_maximization(
    observed: object, channel: Floats, rounds: int = 10_000, *, smooth: bool = False
) -> Floats:
    """Return the most likely shares of the answers, given how often each report was seen.

    Iterates Bayes' rule: share(x) becomes the mean over reports of P(x | report).  The likelihood
    never falls and is concave, so this reaches its maximum; it stops when it gains less than 1e-9
    per report.  ``smooth`` averages neighbouring shares with weights 1, 2, 1 after each round
    (EMS), which favours smooth densities.

    Args:
        observed: how often each report was seen, or a density over them.
        channel: P(report | answer): a row for each answer, a column for each report.
        rounds: the most that are made.
        smooth: whether answers are neighbours in order.

    Raises:
        UsageError: shapes that do not fit, nothing observed.

    >>> channel = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> expectation_maximization([60, 40], channel).round(3).tolist()
    [0.7, 0.3]
    """
    seen = np.asarray(observed, np.float64)
    if channel.ndim != 2 or seen.shape != channel.shape[1:] or not seen.sum() > 0:
        raise UsageError(
            "observed needs one count a column of the channel, and at least one report"
        )
    seen = seen / seen.sum()
    shares = np.full(len(channel), 1 / len(channel))
    last = -np.inf
    for _ in range(as_integer(rounds, "rounds", minimum=1)):
        expected = shares @ channel
        gain = float(seen @ np.log(expected))
        if gain - last < (1e-6 if smooth else 1e-9):
            break
        last = gain
        shares = shares * (channel @ (seen / expected))
        if smooth:
            shares = _smoothed(shares)
    return shares / shares.sum()  # type: ignore[no-any-return]


def _smoothed(shares: Floats) -> Floats:
    padded = np.concatenate((shares[:1], shares, shares[-1:]))
    return (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4
