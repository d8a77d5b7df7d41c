"""Poisoning: how far crafted reports move an estimate, and a bound on the most blatant ones.

In the local model nobody sees true answers, so nobody can tell a crafted report from an honest
one: a report that an honest device may send is always accepted.  What can be done is to say how
much m such reports move, to choose a mechanism in which they move little, and to refuse reports
that honest devices all but never send.

Sources: A. Cheu, A. Smith, J. Ullman, *Manipulation attacks in local differential privacy* (2021);
X. Cao, J. Jia, N. Gong, *Data poisoning attacks to local differential privacy protocols* (2021).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import UsageError
from tacit.exact import Number, as_fraction, as_integer
from tacit.local.direct import DirectEncoding
from tacit.local.oracle import FrequencyOracle, Oracle, PureOracle

__all__ = ["Bounds", "Influence", "honest_bounds", "influence"]


@dataclass(frozen=True)
class Influence:
    """What ``crafted`` reports among ``n`` can do to the estimated count of one item.

    Attributes:
        mechanism: its name.
        crafted: how many reports are crafted.
        n: how many reports there are in all.
        per_report: the most that one report moves an item's count, in people.
        at_once: how many items one report can raise at once, or None where that depends on them.
        noise: the standard error of a rare item's count, without any crafted report.
    """

    mechanism: str
    crafted: int
    n: int
    per_report: Fraction
    at_once: int | None
    noise: float

    @property
    def people(self) -> Fraction:
        """The most that all crafted reports together move an item's count."""
        return self.crafted * self.per_report

    @property
    def unseen(self) -> int:
        """The most crafted reports whose effect stays within two standard errors."""
        return int(2 * self.noise / float(self.per_report))

    def __str__(self) -> str:
        items = "an item" if self.at_once in (None, 1) else f"{self.at_once:,} items at once"
        return (
            f"{self.crafted:,} crafted reports move the count of {items} by up to "
            f"{float(self.people):,.0f} people ({float(self.per_report):.3g} each); the noise of "
            f"{self.n:,} reports is {self.noise:,.0f}, so {self.unseen:,} of them stay unseen"
        )


def influence(oracle: Oracle, crafted: int, n: int) -> Influence:
    """Return how far ``crafted`` reports among ``n`` can move the estimate of an item.

    A report adds 1 or 0 to the supporters S of an item, and the count is estimated as
    ``(S - n q) / (p - q)``: a crafted report that supports it adds ``(1 - q) / (p - q)``, where an
    honest one adds 1 on average for those who have the item and 0 for others.

    Raises:
        UsageError: a mechanism without such a constant, numbers that are not whole.

    Example:
        >>> from tacit.local import DirectEncoding
        >>> told = influence(DirectEncoding(1024, epsilon=1), crafted=10, n=100_000)
        >>> round(told.per_report), round(told.people)
        (596, 5964)
    """
    m, size = as_integer(crafted, "crafted", minimum=0), as_integer(n, "n", minimum=1)
    per_report = getattr(oracle, "influence", None)
    if per_report is None or not isinstance(oracle, FrequencyOracle):
        raise UsageError(
            f"the influence of a report of {type(oracle).__name__} is not known as one number"
        )
    noise = math.sqrt(oracle.variance(size))
    name = type(oracle).__name__
    return Influence(name, m, size, Fraction(per_report), _at_once(oracle), noise)


def _at_once(oracle: FrequencyOracle) -> int | None:
    if isinstance(oracle, DirectEncoding):
        return 1
    return oracle.layout.width if _independent_bits(oracle) else None


def _independent_bits(oracle: Oracle) -> bool:
    """Whether a report is one bit an item, each drawn by itself."""
    return (
        isinstance(oracle, PureOracle)
        and oracle.layout.kind == "bits"
        and oracle.layout.width == len(oracle.domain)
        and type(oracle).valid is Oracle.valid
    )


@dataclass(frozen=True)
class Bounds:
    """How many items a report supports, at least and at most, unless it is an outlier."""

    least: int
    most: int

    def hold(self, reports: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Tell for each report of packed bits whether it lies within."""
        supported = np.bitwise_count(reports).sum(axis=1, dtype=np.int64)
        inside: NDArray[np.bool_] = (supported >= self.least) & (supported <= self.most)
        return inside


def honest_bounds(oracle: Oracle, miss: Number) -> Bounds:
    """Return bounds on the number of supported items that an honest report keeps.

    An honest report of unary encoding over k items supports ``B(1, p) + B(k - 1, q)`` of them,
    whatever the answer.  Within the bounds it stays with probability at least ``1 - miss``; a
    crafted report that raises all k items at once does not.  Refusing the others shifts an
    estimate by at most ``miss n / (p - q)``, so choose a ``miss`` such as 1e-9.

    Raises:
        UsageError: a mechanism whose reports are not one independent bit an item; a ``miss`` that
            is not above 0 and below 1.
    """
    share = as_fraction(miss, "outliers")
    if not 0 < share < 1:
        raise UsageError(
            "outliers: the chance that an honest report is refused, above 0 and below 1"
        )
    if not _independent_bits(oracle):
        raise UsageError(
            f"outliers can be told for unary encodings; a report of {type(oracle).__name__} "
            "supports a fixed number of items or says nothing about it"
        )
    law = _supported(oracle)
    tail = float(share) / 2
    below, above = np.cumsum(law), np.cumsum(law[::-1])[::-1]
    least = int(np.searchsorted(below, tail, side="right"))
    most = int(np.flatnonzero(above > tail)[-1])
    return Bounds(least, most)


def _supported(oracle: Any) -> NDArray[np.float64]:
    """Return the probabilities of 0 .. k supported items in an honest report."""
    own, other = (float(p) for p in oracle.support)
    m = len(oracle.domain) - 1
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, m + 1)))])
    j = np.arange(m + 1)
    others = np.exp(
        logs[m] - logs - logs[::-1] + j * math.log(other) + (m - j) * math.log1p(-other)
    )
    law = np.zeros(m + 2)
    law[:-1] += (1 - own) * others
    law[1:] += own * others
    return law
