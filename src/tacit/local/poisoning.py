"""Poisoning: how far poisoned reports move an estimate, and a bound on the most blatant ones."""

# In the local model no one sees true answers, so no one can distinguish a poisoned report from an
# honest one: a report that an honest device may send is always accepted.  What can be done is to
# say how much m such reports move, to choose a mechanism in which they move little, and to refuse
# reports that honest devices all but never send.
#
# Sources: A. Cheu, A. Smith, J. Ullman, *Manipulation attacks in local differential privacy*
# (2021); X. Cao, J. Jia, N. Gong, *Data poisoning attacks to local differential privacy protocols*
# (2021).

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number, as_fraction, as_integer
from tacit.calls import public
from tacit.errors import UsageError
from tacit.local.attributes import Attributes, AttributeSampling
from tacit.local.frequency.bit_vectors import SummationHistogram
from tacit.local.frequency.direct_encoding import DirectEncoding
from tacit.local.numeric import LaplaceMean, MeanOracle
from tacit.local.oracle import Oracle, PureOracle


@dataclass(frozen=True)
class Influence:
    """Worst effect of poisoned reports among ``n`` on an estimate, exactly.

    Attributes:
        mechanism: its name.
        poisoned: how many reports are poisoned.
        n: how many reports there are in all.
        per_report: the most that one report moves an item's count, in people; of a mechanism for
            a mean, the most that it moves the sum of all answers, in their unit.
        at_once: how many items one report can raise at once, or None where that depends on them.
        noise: the standard error of a rare item's count, or of the sum of all answers, without any
            poisoned report.
        of: ``"count"`` or ``"mean"``.
    """

    mechanism: str
    poisoned: int
    n: int
    per_report: Fraction
    at_once: int | None
    noise: float
    of: Literal["count", "mean"] = "count"

    @property
    def people(self) -> Fraction:
        """The most that all poisoned reports together move an item's count, or the sum."""
        return self.poisoned * self.per_report

    @property
    def moved(self) -> Fraction:
        """The most that they move the share of an item, or the mean."""
        return self.people / self.n

    @property
    def unseen(self) -> int:
        """The most poisoned reports whose effect stays within two standard errors."""
        return int(2 * self.noise / float(self.per_report))

    def __str__(self) -> str:
        noise, one, all_of_them = self.noise, float(self.per_report), float(self.people)
        if self.of == "mean":
            noise, one, all_of_them = noise / self.n, one / self.n, float(self.moved)
            what, unit, shown = "the mean", "", ".3g"
        else:
            items = "an item" if self.at_once in (None, 1) else f"{self.at_once:,} items at once"
            what, unit, shown = f"the count of {items}", " people", ",.0f"
        return (
            f"{self.poisoned:,} poisoned reports move {what} by up to {all_of_them:{shown}}{unit} "
            f"({one:.3g} each); the noise of {self.n:,} reports is {noise:{shown}}, so "
            f"{self.unseen:,} of them stay unseen"
        )


@public
def influence(oracle: Oracle, poisoned: int, n: int) -> Influence | dict[str, Influence]:
    """Return how far ``poisoned`` reports among ``n`` can move the estimate, at worst.

    A report adds 1 or 0 to the supporters S of an item, and the count is estimated as
    ``(S - n q) / (p - q)``: a poisoned report that supports it adds ``(1 - q) / (p - q)``, where an
    honest one adds 1 on average for those who have the item and 0 for others.  The other
    mechanisms are as linear; each states its own number.  For a mean it is what a poisoned report
    in place of an honest one does.

    Returns:
        An :class:`Influence`; of several attributes, or levels, one for each by its name.  Where
        one of them is drawn, a poisoned report may choose it, and its estimate is scaled up to all
        people.

    Raises:
        UsageError: a mechanism whose estimate depends on all reports together, such as RAPPOR
            (see :meth:`tacit.local.Rappor.influence_on`); numbers that are not whole.

    Example:
        >>> from tacit.local import DirectEncoding, Duchi
        >>> told = influence(DirectEncoding(1024, epsilon=1), poisoned=10, n=100_000)
        >>> round(told.per_report), round(told.people)
        (596, 5964)
        >>> round(float(influence(Duchi(0, 100, epsilon=1), poisoned=10, n=1000).moved), 2)
        1.58
    """
    m, size = as_integer(poisoned, "poisoned", minimum=0), as_integer(n, "n", minimum=1)
    if isinstance(oracle, Attributes):
        return {name: _of_part(oracle, name, part, m, size) for name, part in oracle.parts}
    per_report = getattr(oracle, "influence", None)
    if per_report is None:
        raise UsageError(
            f"the influence of a report of {type(oracle).__name__} depends on all the others: ask "
            "oracle.influence_on(reports, ...)"
        )
    of = _kind(oracle)
    noise = math.sqrt(oracle.variance(size)) * (size if of == "mean" else 1)  # type: ignore[attr-defined]
    name = type(oracle).__name__
    return Influence(name, m, size, Fraction(per_report), _at_once(oracle), noise, of)


def _of_part(oracle: Attributes, name: str, part: Oracle, m: int, n: int) -> Influence:
    """Return the influence on one attribute; where one is drawn, scaled up to all people."""
    times = len(oracle.parts) if isinstance(oracle, AttributeSampling) else 1
    per_report, variance = oracle.part_influence(part)
    of, size = _kind(part), max(1, n // times)
    noise = math.sqrt(variance(size)) * (size if of == "mean" else 1) * times
    return Influence(name, m, n, per_report * times, _at_once(part), noise, of)


def _kind(oracle: Oracle) -> Literal["count", "mean"]:
    return "mean" if isinstance(oracle, MeanOracle) else "count"


def _at_once(oracle: Oracle) -> int | None:
    if isinstance(oracle, DirectEncoding):
        return 1
    return oracle.layout.width if _independent_bits(oracle) else None


def _independent_bits(oracle: Oracle) -> bool:
    """True if a report is one bit per item, each drawn independently."""
    return (
        isinstance(oracle, PureOracle)
        and oracle.layout.kind == "bits"
        and oracle.layout.width == len(oracle.domain)
        and type(oracle).valid is Oracle.valid
    )


@dataclass(frozen=True)
class Bounds:
    """Bounds of an honest report: of the number of set bits, or of every number in it."""

    minimum: int
    maximum: int
    bits: bool = True

    def hold(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        """Return for each report whether it lies within."""
        if not self.bits:
            within = (reports >= self.minimum) & (reports <= self.maximum)
            return np.asarray(within.reshape(len(reports), -1).all(axis=1), np.bool_)
        supported = np.bitwise_count(reports).sum(axis=1, dtype=np.int64)
        return (supported >= self.minimum) & (supported <= self.maximum)  # type: ignore[no-any-return]


def honest_bounds(oracle: Oracle, miss: Number) -> Bounds:
    """Return bounds that an honest report keeps: on supported items, or on noisy numbers."""
    # An honest report of unary encoding over k items supports ``B(1, p) + B(k - 1, q)`` of them,
    # whatever the answer.  Within the bounds it stays with probability at least ``1 - miss``; a
    # poisoned report that raises all k items at once does not.  Refusing the others shifts an
    # estimate by at most ``miss n / (p - q)``, so choose a ``miss`` such as 1e-9.  The noise of a
    # summation histogram or of a Laplace mean keeps within bounds likewise.
    share = as_fraction(miss, "outliers")
    if not 0 < share < 1:
        raise UsageError(
            "outliers is the probability that an honest report is refused, and must be above 0 "
            "and below 1"
        )
    if isinstance(oracle, SummationHistogram):
        return _noise_bounds(oracle.bound, oracle.units, oracle.scale, share / len(oracle.domain))
    if isinstance(oracle, LaplaceMean):
        return _noise_bounds(oracle.radius, oracle.grid, oracle.grid / oracle.loss, share)
    if not _independent_bits(oracle):
        raise UsageError(
            "outliers can be detected for unary encodings and for added noise; a report of "
            f"{type(oracle).__name__} supports a fixed number of items or says nothing about it"
        )
    distribution = _supported(oracle)
    tail = float(share) / 2
    below, above = np.cumsum(distribution), np.cumsum(distribution[::-1])[::-1]
    minimum = int(np.searchsorted(below, tail, side="right"))
    maximum = int(np.flatnonzero(above > tail)[-1])
    return Bounds(minimum, maximum)


def _noise_bounds(zero: int, top: int, scale: Fraction, miss: Fraction) -> Bounds:
    """Return bounds on ``zero + an answer of 0 .. top + discrete Laplace noise``."""
    # Beyond -t .. t the noise has the probability ``2 a**(t+1) / (1 + a)``, a = e**(-1/scale).
    a = math.exp(-1 / float(scale))
    t = max(0, math.ceil(float(scale) * math.log(2 / (float(miss) * (1 + a)))) - 1)
    return Bounds(max(0, zero - t), zero + top + t, bits=False)


def _supported(oracle: Any) -> NDArray[np.float64]:
    """Return the probabilities of 0 .. k supported items in an honest report."""
    own, other = (float(p) for p in oracle.support)
    m = len(oracle.domain) - 1
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, m + 1)))])
    j = np.arange(m + 1)
    others = np.exp(
        logs[m] - logs - logs[::-1] + j * math.log(other) + (m - j) * math.log1p(-other)
    )
    distribution = np.zeros(m + 2)
    distribution[:-1] += (1 - own) * others
    distribution[1:] += own * others
    return distribution
