"""The share of a request that each part of a release may spend.

Unknown keys are one part more than those that answer, and always take an even share.  The parts
that answer divide the rest by their weights: 1 each where the question names none.

*Theorem.*  The total is never exceeded, whatever the weights are.  *Proof.*  Let m parts have the
weights ``w_1, ..., w_m`` with the sum w, and let k be 1 for unknown keys and 0 without.  The shares
are fractions, and ``k / (m + k) + sum_i (m / (m + k)) (w_i / w) = 1``.  The losses of all chains
add up by sequential composition, in pure DP and in zCDP.

A part that answers several labels has the largest weight of these: it is spent once, and serves
each of them at least as well as the label would be served alone.  (The sum would be as sound; the
largest is what makes equal weights the same as none.)

A delta is not weighted: it is shared evenly by the parts that use one, and by unknown keys.  Noise
goes with the logarithm of a delta, so little would be won.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

from tacit.accounting.budgets.budget import Budget
from tacit.tables.chain.part import Noise, Part, precisions
from tacit.tables.spec.privacy_unit import OneRowEach, PersonUnit

__all__ = ["by_weight", "error_of_mean", "even_share"]


def even_share(
    request: Budget, unit: OneRowEach | PersonUnit, parts: Sequence[Part], unknown_keys: bool
) -> Noise:
    """Return the noise of an even share of a request: that of unknown keys, or of any part."""
    kind: Literal["laplace", "gaussian"] = (
        "gaussian" if request.kind == "concentrated" else "laplace"
    )
    keys = int(unknown_keys)
    local = sum(part.needs_delta for part in parts)
    share = request.amount / (len(parts) + keys)
    delta = request.delta / (local + keys) if local else Fraction(0)
    return Noise(kind, share, unit.rows, unit.one, delta)


def by_weight(even: Noise, weights: Sequence[int]) -> tuple[Noise, ...]:
    """Return the noise of each part, from that of an even share.

    >>> even = Noise("laplace", Fraction(1, 4), 1)
    >>> [str(noise.loss) for noise in by_weight(even, [1, 3])]
    ['1/8', '3/8']
    """
    if len(set(weights)) <= 1:
        return (even,) * len(weights)
    whole = sum(weights)
    return tuple(even.split(Fraction(len(weights) * weight, whole)) for weight in weights)


def error_of_mean(errors: Sequence[float], noises: Sequence[Noise]) -> float:
    """Return the standard error of a mean in which the more precise numbers count for more.

    >>> one = Noise("laplace", Fraction(1), 1)
    >>> error_of_mean([3.0], [one]), error_of_mean([3.0, 4.0], [one, one])
    (3.0, 2.5)
    """
    shares = precisions(noises)
    return math.hypot(*(s * e for s, e in zip(shares, errors, strict=True))) / sum(shares)
