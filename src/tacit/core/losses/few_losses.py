r"""Privacy losses of a symmetric pair that takes three values: up by epsilon, down by it, or none.

Such a pair has some mass p on outcomes ``e^epsilon`` times as likely under P, ``e^-epsilon p`` on
those as much less likely, and the rest on outcomes of no loss.  Randomized response among k labels
(the true label, the other one, and the k - 2 that say nothing) and staircase noise shifted by at
most its width (its steps are epsilon high, and no shift crosses two) are such pairs.
"""

from __future__ import annotations

from fractions import Fraction

from tacit.arithmetic.enclosure import Enclosure, exp
from tacit.core.losses.base import BITS, Atom, Loss
from tacit.core.losses.distribution import PrivacyLossDistribution

__all__ = ["response_losses", "three_losses"]


def three_losses(epsilon: Fraction, up: Enclosure) -> PrivacyLossDistribution:
    """Return the losses of a pair with a mass on a loss of epsilon, and none but 0 beside -epsilon.

    Args:
        epsilon: above zero.
        up: the mass of P whose loss is epsilon.

    >>> pair = three_losses(Fraction(1), Enclosure.of(Fraction(1, 2)))
    >>> round(float(pair.delta(0)), 4)
    0.3161
    """
    down = (up * exp(-epsilon, BITS)).rounded(BITS)
    rest = (1 - up - down).rounded(BITS)
    rest = Enclosure(max(rest.lower, Fraction(0)), max(rest.upper, Fraction(0)))
    atoms = [Atom(Loss.of(epsilon), up, down), Atom(Loss.of(-epsilon), down, up)]
    if rest.upper:
        atoms.append(Atom(Loss(), rest, rest))
    return PrivacyLossDistribution(tuple(atoms))


def response_losses(
    labels: int, share: Fraction | None, epsilon: Fraction | None
) -> PrivacyLossDistribution:
    """Return the losses of randomized response between two of k labels.

    The true label is reported with probability a, every other one with ``b = (1 - a) / (k - 1)``.
    For two labels u and v the losses are ``ln(a / b)`` on u, minus that on v, and zero on the other
    k - 2.  Both directions are the same.  Who has no label of the list reports all k with equal
    probability: that is the mean of the reports of the k labels, and as every divergence here is
    convex in the second distribution, no further from a label than another label is.

    Args:
        labels: k, at least two.
        share: a, if it is given; else
        epsilon: ``ln(a / b)``.

    >>> two = response_losses(2, Fraction(3, 4), None)
    >>> round(float(two.epsilon(0)), 6), float(two.delta(0))
    (1.098612, 0.5)
    """
    if share is None:
        assert epsilon is not None
        odds = exp(epsilon, BITS)
        kept = (1 - (labels - 1) / (odds + (labels - 1))).rounded(BITS)
        return three_losses(epsilon, kept)
    other = (1 - share) / (labels - 1)
    a, b = Enclosure.of(share), Enclosure.of(other)
    if share == other:
        return PrivacyLossDistribution((Atom(Loss(), Enclosure.of(1), Enclosure.of(1)),))
    atoms = [Atom(Loss(ratio=share / other), a, b), Atom(Loss(ratio=other / share), b, a)]
    if labels > 2:
        rest = Enclosure.of((labels - 2) * other)
        atoms.append(Atom(Loss(), rest, rest))
    return PrivacyLossDistribution(tuple(atoms))
