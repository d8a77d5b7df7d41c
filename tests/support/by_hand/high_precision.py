"""Numbers of mpmath and exact fractions, one as the other, and the sums of a discrete Gaussian."""

from fractions import Fraction

import mpmath


def real(x):
    return mpmath.mpf(Fraction(x).numerator) / Fraction(x).denominator


def exactly(value):
    """Turn a high-precision number into a fraction."""
    sign, mantissa, exponent, _ = value._mpf_
    return (-1) ** sign * int(mantissa) * Fraction(2) ** exponent


def precisely(function, x, digits=6000):
    """Evaluate with so many bits that the comparison with a far shorter enclosure is decided."""
    with mpmath.workprec(digits):
        value = function(mpmath.mpf(x.numerator) / x.denominator)
        sign, mantissa, exponent, _ = value._mpf_
        return (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** exponent


def brute_force(square, bits=300):
    """The sums of p and x**2 p, term by term."""
    terms = int((bits * 2 * square) ** 0.5) + 5
    p = [mpmath.exp(-mpmath.mpf(x * x) / (2 * real(square))) for x in range(terms)]
    second = 2 * mpmath.fsum(x * x * w for x, w in enumerate(p))
    return p, p[0] + 2 * mpmath.fsum(p[1:]), second
