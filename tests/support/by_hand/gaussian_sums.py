"""The sums of a discrete Gaussian, term by term."""

import mpmath

from support.by_hand.high_precision import real


def brute_force(square, bits=300):
    """The sums of p and x**2 p, term by term."""
    terms = int((bits * 2 * square) ** 0.5) + 5
    p = [mpmath.exp(-mpmath.mpf(x * x) / (2 * real(square))) for x in range(terms)]
    second = 2 * mpmath.fsum(x * x * w for x, w in enumerate(p))
    return p, p[0] + 2 * mpmath.fsum(p[1:]), second
