"""Randomized response: one yes-or-no answer, kept with a public probability."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tacit.arithmetic.exact import Number
from tacit.calls import public
from tacit.errors import UsageError
from tacit.local.base.items import Items
from tacit.local.frequency.direct_encoding import DirectEncoding

__all__ = ["RandomizedResponse"]


@public
@dataclass(frozen=True, init=False)
class RandomizedResponse(DirectEncoding):
    """Report the true one of two answers with probability p, else the other one.

    With two coins (heads: the truth; tails: whatever a second coin says) the truth is reported
    with probability 3/4: that is ``RandomizedResponse(p="3/4")``.

    **Privacy.** The ratio is p/(1 - p), or its inverse: ln 3 for two coins.
    **Estimate.** With Y reports of "yes" the count is ``(Y - n (1 - p)) / (2p - 1)`` and its
    variance ``n p (1 - p) / (2p - 1)**2``, whatever the truth.

    Source: S. Warner, *Randomized response: a survey technique for eliminating evasive answer
    bias*, JASA 60 (1965).

    Args:
        domain: the two answers, by default ``(False, True)``.
        epsilon: the greatest loss allowed; or
        p: the probability of the truth, not 1/2.

    Raises:
        UsageError: not two answers, both or neither of epsilon and p, p = 1/2.

    Example:
        >>> coins = RandomizedResponse(p="3/4")
        >>> coins.ratio, coins.variance(32_561), coins.report_bits
        (Fraction(3, 1), Fraction(97683, 4), 1)
        >>> round(coins.estimate([1] * 40 + [0] * 60)[True])
        30
    """

    def __init__(
        self,
        domain: Iterable[object] | Items = (False, True),
        epsilon: Number | None = None,
        p: Number | None = None,
    ) -> None:
        super().__init__(domain, epsilon, p)
        if len(self.domain) != 2:
            raise UsageError(
                f"randomized response is for two answers, not {len(self.domain)}; "
                "use DirectEncoding for more"
            )
