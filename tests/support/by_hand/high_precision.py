"""Numbers of mpmath and exact fractions, one as the other."""

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
