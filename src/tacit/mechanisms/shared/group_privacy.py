"""Group privacy: from the loss between neighbours to that at any distance."""

from __future__ import annotations

from fractions import Fraction

from tacit.arithmetic.enclosure import Enclosure, exp

__all__ = ["approximate_loss"]

_LARGEST = 1 << 15


def approximate_loss(
    epsilon: Fraction, delta: Fraction, distance: Fraction
) -> tuple[Fraction, Fraction]:
    """Return ``(k epsilon, delta (e^(k epsilon) - 1) / (e^epsilon - 1))`` for k steps, rounded up.

    Along a chain of k neighbours, ``P_0(S) <= e^epsilon P_1(S) + delta <= e^(2 epsilon) P_2(S) +
    delta + e^epsilon delta <= ...`` (Dwork and Roth 2014, after theorem 2.2).

    >>> approximate_loss(Fraction(1), Fraction(1, 1000), Fraction(1))
    (Fraction(1, 1), Fraction(1, 1000))
    """
    steps = int(distance)
    if steps <= 1:
        return steps * epsilon, steps * delta
    if steps * epsilon > _LARGEST:
        return steps * epsilon, Fraction(1)
    terms = (exp(steps * epsilon) - 1) / (exp(epsilon) - 1) if epsilon else Enclosure.of(steps)
    return steps * epsilon, min(Fraction(1), (delta * terms).rounded(64).upper)
