"""Epsilon from the risk of disclosure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tacit import plotting
from tacit.arithmetic import enclosure
from tacit.arithmetic.exact import Number, as_fraction, float_down, float_up, show
from tacit.calls import public
from tacit.display.card import Shown
from tacit.errors import InfeasibleError, UsageError
from tacit.statistics.domains import Records
from tacit.statistics.global_sensitivity import StatisticLike, ask, lookup
from tacit.statistics.question import Relation
from tacit.statistics.search import CountBox
from tacit.statistics.statistic import Exact, Statistic, distance_between

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The picture of a choice of epsilon: the posterior against epsilon, and against the output.


_MAX_LINES = 8


def draw_choice(choice: EpsilonChoice) -> Figure:
    """Draw a choice; see :meth:`EpsilonChoice.plot`."""
    fig: Figure = plotting.figure(10.2, 3.6)
    left, right = plotting.axes(fig, 1, 2)[0]
    shown = 2.0 if choice.tight == math.inf else float(choice.tight)
    _against_epsilon(left, choice, shown)
    _against_output(right, choice, shown)
    return fig


def _against_epsilon(panel: Any, choice: EpsilonChoice, shown: float) -> None:
    epsilons = np.linspace(shown / 200, 2 * shown, 120)
    panel.plot(epsilons, [choice.posterior(e) for e in epsilons.tolist()], color=plotting.ACCENT)
    panel.axhline(float(choice.risk), color=plotting.INK, linestyle=(0, (5, 2)), linewidth=1)
    for value, name, dash in ((choice.bound, "closed form", ":"), (choice.tight, "tight", "-")):
        if value != math.inf:
            panel.axvline(float(value), color=plotting.SECOND, linestyle=dash, linewidth=1.3)
            panel.annotate(
                f" {name} {float(value):.4g}",
                xy=(float(value), 0.02 if name == "tight" else 0.1),
                xycoords=("data", "axes fraction"),
                fontsize=8.5,
            )
    panel.set_xlabel("epsilon", fontsize=9)
    panel.set_ylabel("largest posterior", fontsize=9)
    detail = f"{choice.worlds:,} possible worlds; dashed: risk {float(choice.risk):.4g}"
    plotting.title(panel, f"Disclosure risk of the {choice.statistic.name}", detail)


def _against_output(panel: Any, choice: EpsilonChoice, shown: float) -> None:
    known = [(float(v), count) for v, count in choice.values if not isinstance(v, tuple)]
    if not known:
        panel.set_axis_off()
        return
    known.sort()
    values = np.array([v for v, _ in known])
    counts = np.array([c for _, c in known], dtype=np.float64)
    span = float(values[-1] - values[0]) or 1.0
    outputs = np.linspace(values[0] - span / 3, values[-1] + span / 3, 301)
    away = np.abs(outputs[:, None] - values[None, :]) * shown / float(choice.sensitivity or 1)
    weights = np.exp(-(away - away.min(axis=1, keepdims=True)))
    posterior = weights / (weights * counts).sum(axis=1, keepdims=True)
    for index, k in enumerate(_spaced(len(known))):
        style = plotting.series(index)
        panel.plot(
            outputs,
            posterior[:, k],
            color=style.colour,
            linestyle=style.dash,
            label=f"{plotting.number(values[k])} ({counts[k]:.0f})",
        )
    panel.axhline(float(choice.risk), color=plotting.INK, linestyle=(0, (5, 2)), linewidth=1)
    panel.set_xlabel("published output", fontsize=9)
    panel.set_ylabel("posterior of one world", fontsize=9)
    panel.legend(
        title="true value (worlds)",
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        fontsize=8,
        title_fontsize=8,
        frameon=False,
    )
    plotting.title(panel, "What an output reveals", f"at epsilon {shown:.4g}")


def _spaced(count: int) -> list[int]:
    """At most eight ranks, spread evenly."""
    return sorted({round(k) for k in np.linspace(0, count - 1, min(count, _MAX_LINES))})


# Choosing epsilon from a disclosure risk (Lee and Clifton 2011, *How much is enough?*, ISC).
#
# A population is known, record by record; a release holds ``size`` of its records, and no one is to
# tell which.  Every choice of ``size`` records is a possible world, and before the release all
# ``m`` worlds are equally likely.  The statistic ``f`` is published with Laplace noise of scale ``D
# / epsilon``, ``D`` the sensitivity of ``f``.  After seeing the output ``o``, the posterior of
# world ``i`` is
#
#     ``exp(-epsilon |o - f_i| / D) / sum_j exp(-epsilon |o - f_j| / D)``.
#
# Dividing by the numerator, every term of the sum is ``exp(epsilon (|o - f_i| - |o - f_j|) / D)``,
# which by the triangle inequality is at least ``exp(-epsilon |f_i - f_j| / D)``, for all ``j`` at
# once at ``o = f_i``.  So the largest posterior that any output can give is
#
#     ``P(epsilon) = max_i 1 / sum_j exp(-epsilon |f_i - f_j| / D)``,
#
# which rises with epsilon.  **Tight**: the largest epsilon with ``P(epsilon) <= risk``, by
# bisection. **Bound**: each of the ``m - 1`` other terms is at least ``exp(-epsilon V / D)``, ``V``
# the largest difference between two worlds, and so ``epsilon <= (D / V) ln((m - 1) risk / (1 -
# risk))`` suffices.
#
# Both are over *all* worlds, not over a few chosen ones, and are rounded down.  The risk is about
# this population and this prior only; differential privacy itself makes no such assumption.


_MAX_STATES = 1 << 20
_MAX_VALUES = 2_000
_NEAR = 1e-6


@dataclass(frozen=True)
class _Worlds:
    """The distinct values of the statistic, how many worlds have each, and the sensitivity."""

    # ``scale`` is the sensitivity, rounded down where it is irrational; gaps are exact or rounded
    # up. Both overstate posteriors.

    values: list[Exact]
    counts: list[int]
    scale: Fraction

    @property
    def total(self) -> int:
        return sum(self.counts)

    @cached_property
    def widest(self) -> Fraction | float:
        """The largest difference between two worlds."""
        if isinstance(self.values[0], tuple):
            return max(distance_between(a, b) for a in self.values for b in self.values)
        ordered = sorted(self.values)
        return distance_between(ordered[0], ordered[-1])

    def within(self, epsilon: Fraction, risk: Fraction) -> bool:
        """True if no output gives a posterior above ``risk``; False when in doubt."""
        sums = self.sums(epsilon)
        near = np.flatnonzero(sums < float(1 / risk) * (1 + _NEAR))
        near = near[np.argsort(sums[near])]  # the worst first
        return all(self._lower_sum(int(i), epsilon) * risk >= 1 for i in near.tolist())

    def sums(self, epsilon: Fraction) -> npt.NDArray[np.float64]:
        """``sum_j exp(-epsilon |f_i - f_j| / D)`` for every ``i``, in floats."""
        terms = np.exp(-float(epsilon) * self._rough_gaps)
        return np.asarray(terms @ np.array(self.counts, dtype=np.float64))

    @cached_property
    def _rough_gaps(self) -> npt.NDArray[np.float64]:
        """``|f_i - f_j| / D`` in floats; values are centred exactly before they are rounded."""
        if not self.widest:
            return np.zeros((len(self.values), len(self.values)))
        if isinstance(self.values[0], tuple):
            counts = np.array(self.values, dtype=np.float64)
            gaps = np.abs(counts[:, None] - counts[None]).sum(axis=2) / float(self.scale)
            return np.asarray(gaps, dtype=np.float64)
        minimum = min(self.values)
        rough = np.array([float(distance_between(v, minimum)) for v in self.values])
        gaps = np.abs(rough[:, None] - rough[None, :]) / float(self.scale)
        return np.asarray(gaps, dtype=np.float64)

    def _lower_sum(self, i: int, epsilon: Fraction) -> Fraction:
        total = Fraction(0)
        for count, value in zip(self.counts, self.values, strict=True):
            gap = Fraction(distance_between(self.values[i], value))
            total += count * (enclosure.exp(-epsilon * gap / self.scale).lower if gap else 1)
        return total


@dataclass(frozen=True)
class EpsilonChoice(Shown):
    """The epsilons that keep the disclosure risk, and the posterior behind them.

    Attributes:
        statistic: what is published.
        risk: the largest posterior that any world may reach.
        tight: the largest epsilon that keeps it, rounded down; ``math.inf`` where every one does.
        bound: the closed-form epsilon that keeps it, rounded down, never above ``tight``.
        worlds: how many possible worlds there are.
        sensitivity: ``D``, the sensitivity that scales the noise.
        largest_difference: ``V``, the largest difference between two worlds.
    """

    statistic: Statistic
    risk: Fraction
    tight: Fraction | float
    bound: Fraction | float
    worlds: int
    sensitivity: Fraction | float
    largest_difference: Fraction | float
    _worlds: _Worlds = field(repr=False)

    @property
    def values(self) -> list[tuple[Exact, int]]:
        """The distinct values of the statistic, each with the number of worlds that have it."""
        return list(zip(self._worlds.values, self._worlds.counts, strict=True))

    def posterior(self, epsilon: Number) -> float:
        """The largest posterior that any output gives any world, rounded up.

        >>> choice = choose_epsilon("median", [1, 2, 3, 4], size=3, risk="1/3")
        >>> round(choice.posterior(0.5), 4)
        0.3112
        """
        minimum = float(self._worlds.sums(as_fraction(epsilon, "epsilon")).min())
        return min(1.0, (1 + 1e-12) / minimum)

    def plot(self) -> Figure:
        """Draw the largest posterior against epsilon, and the posterior of each value's worlds.

        Returns a ``matplotlib.figure.Figure``.

        Raises:
            MissingExtraError: matplotlib is not installed.
        """
        return draw_choice(self)

    def __str__(self) -> str:
        return (
            f"{self.statistic.name}: epsilon at most {_short(self.tight)} keeps every posterior "
            f"at or below {show(self.risk)} over {self.worlds:,} possible worlds "
            f"(closed form: {_short(self.bound)})"
        )


@public
def choose_epsilon(
    statistic: StatisticLike,
    population: Iterable[object],
    size: int,
    risk: Number,
    relation: Relation = "unbounded",
) -> EpsilonChoice:
    """Return the largest epsilon that keeps the disclosure risk of a release below a limit.

    Args:
        statistic: a name, a statistic, or a function of a 1-D array.
        population: the known records; two with equal values are two people.
        size: how many of them the release holds, fewer than all; each such choice is a *world*.
        risk: the largest posterior probability that a world may reach, above the prior ``1 / m`` of
            each of the m worlds.
        relation: the neighbour relation of the sensitivity that scales the noise.

    Raises:
        UsageError: a risk outside (0, 1), or one that the prior ``1 / m`` exceeds already; a
            population of one world only; what :func:`tacit.sensitivity` refuses.
        InfeasibleError: too many worlds to enumerate.

    >>> choice = choose_epsilon("median", [1, 2, 3, 10], size=3, risk="1/3")
    >>> f"{float(choice.bound):.6f} {float(choice.tight):.6f}"
    '1.621860 2.772589'
    """
    limit = as_fraction(risk, "risk")
    if not 0 < limit < 1:
        raise UsageError(f"risk must be above 0 and below 1, not {show(limit)}")
    named = lookup(statistic)
    domain = Records(population, size)
    if domain.size is None or domain.size >= len(domain.sample):
        raise UsageError(
            f"size must be below the population of {len(domain.sample)} records: a release of all "
            "of them leaves one possible world, and nothing to hide"
        )
    answer = ask(named, domain, None, 1, relation, True)
    worlds = _all_worlds(named, domain, domain.size, answer.value)
    if limit * worlds.total <= 1:
        raise UsageError(
            f"risk must be above 1/{worlds.total}, the probability of each of the "
            f"{worlds.total:,} worlds before anything is released; it is {show(limit)}"
        )
    bound = _bound(worlds, limit)
    return EpsilonChoice(
        named,
        limit,
        _tight(worlds, limit, bound),
        bound,
        worlds.total,
        answer.value,
        worlds.widest,
        worlds,
    )


def _all_worlds(
    statistic: Statistic, domain: Records, size: int, sensitivity: Fraction | float
) -> _Worlds:
    values, have = domain.sample.distinct()
    states = math.prod(int(c) + 1 for c in have)
    if states > _MAX_STATES:
        raise InfeasibleError(
            f"the population makes {states:,} counts, and at most {_MAX_STATES:,} can be "
            "searched; take fewer records, or round their values"
        )
    box = CountBox(have.tolist())
    plain = values.fractions()
    ways: dict[Exact, int] = {}
    for taken in box.counts(box.at_level(size)).tolist():
        records = [v for v, c in zip(plain, taken, strict=True) for _ in range(c)]
        answer = statistic.exact(records)
        count = math.prod(math.comb(int(h), c) for h, c in zip(have, taken, strict=True))
        ways[answer] = ways.get(answer, 0) + count
    if len(ways) > _MAX_VALUES:
        raise InfeasibleError(
            f"the worlds give {len(ways):,} different values, and at most {_MAX_VALUES:,} can be "
            "compared; take fewer records, or round their values"
        )
    scale = Fraction(sensitivity)
    if isinstance(sensitivity, float):  # a root, rounded up by at most two units in the last place
        scale *= 1 - Fraction(1, 2**50)
    return _Worlds(list(ways), list(ways.values()), scale)


def _bound(worlds: _Worlds, risk: Fraction) -> Fraction | float:
    if not worlds.widest:
        return math.inf
    odds = (worlds.total - 1) * risk / (1 - risk)
    return Fraction(float_down(enclosure.log(odds).lower * worlds.scale / Fraction(worlds.widest)))


def _tight(worlds: _Worlds, risk: Fraction, bound: Fraction | float) -> Fraction | float:
    """Bisection between an epsilon that keeps the risk and one that does not."""
    if min(worlds.counts) * risk >= 1 or isinstance(bound, float):
        return math.inf  # this many worlds share each value that no output singles one out
    low, high = bound, 2 * bound
    while worlds.within(high, risk):
        low, high = high, 2 * high
    while float_up(high) > float_down(low) * (1 + 2.0**-44):
        middle = Fraction(float((low + high) / 2))
        low, high = (middle, high) if worlds.within(middle, risk) else (low, middle)
    return low


def _short(value: Fraction | float) -> str:
    """Six decimals, rounded down."""
    return "any" if value == math.inf else f"{math.floor(value * 10**6) / 10**6:.6f}"
