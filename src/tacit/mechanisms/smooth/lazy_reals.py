"""Real random numbers that are drawn as far as they are needed, and exactly.

A uniform real on (0, 1) has endlessly many binary digits.  A :class:`Lazy` number draws the first
64 of each uniform that it is made of, says between which two fractions it therefore lies, and draws
64 more when that does not settle the question asked of it.  So a whole number that depends on a
real one, such as its nearest multiple of a grid, comes out with exactly the probability that the
real distribution gives it: nothing is ever rounded.  The question is left open by ``k`` words with
a probability of about ``2**(-64 k)``, whatever the value.

Two uniforms on (-1, 1) whose point falls outside the unit disc are thrown away; the disc's points
give normal and Student numbers by square roots and logarithms alone.  How often a point is thrown
away is independent of the point that stays.

Sources: G. Marsaglia and T. Bray, *A convenient method for generating normal variables* (1964);
R. Bailey, *Polar generation of random variates with the t-distribution* (1994).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from tacit.arithmetic.enclosure import Enclosure, exp, log, sqrt
from tacit.noise.bits import word

__all__ = ["Lazy", "Uniform", "disc", "exponential", "normal", "student"]

_WORD = 64
_GUARD = 32


class Uniform:
    """A uniform real on (0, 1), known to 64 digits and more on demand.

    >>> u = Uniform()
    >>> known = u.enclose()
    >>> u.refine()
    >>> known.contains(u.enclose()), u.width
    (True, 128)
    """

    def __init__(self) -> None:
        self.width = _WORD
        self._drawn = word(_WORD)

    def refine(self) -> None:
        """Draw 64 more digits."""
        self._drawn = self._drawn << _WORD | word(_WORD)
        self.width += _WORD

    def enclose(self) -> Enclosure:
        """Return the interval that the digits drawn so far leave."""
        return Enclosure.scaled(self._drawn, self._drawn + 1, self.width)

    def centred(self) -> Enclosure:
        """Return the interval of ``2 U - 1``, uniform on (-1, 1)."""
        return 2 * self.enclose() - 1


class Lazy:
    """A real made of uniforms by a formula on enclosures; None means: more digits first.

    >>> u = Uniform()
    >>> z = Lazy((u,), lambda bits: 10 * u.enclose())
    >>> 0 <= z.nearest(lambda bits: Enclosure.of(0), Fraction(1)) <= 10
    True
    """

    def __init__(
        self, uniforms: tuple[Uniform, ...], formula: Callable[[int], Enclosure | None]
    ) -> None:
        self.uniforms = uniforms
        self._formula = formula

    def enclose(self) -> Enclosure:
        """Return an interval that holds the number, as narrow as the digits drawn allow."""
        while (found := self._formula(self.uniforms[0].width + _GUARD)) is None:
            self.refine()
        return found

    def refine(self) -> None:
        """Draw 64 more digits of every uniform."""
        for uniform in self.uniforms:
            uniform.refine()

    def nearest(self, centre: Callable[[int], Enclosure], scale: Fraction) -> int:
        """Return ``floor(c + scale Z + 1/2)``, exactly; ``centre(bits)`` encloses c."""
        while True:
            around = centre(self.uniforms[0].width + _GUARD)
            found = around + scale * self.enclose() + Fraction(1, 2)
            low, high = (end.numerator // end.denominator for end in (found.lower, found.upper))
            if low == high:
                return low
            self.refine()


def disc() -> tuple[Uniform, Uniform]:
    """Draw a uniform point of the unit disc: a pair whose ``centred()`` are its coordinates."""
    while True:
        x, y = Uniform(), Uniform()
        while True:
            size = _size(x, y)
            if size.below(1):
                return x, y
            if size.above(1):
                break
            x.refine()
            y.refine()


def _size(x: Uniform, y: Uniform) -> Enclosure:
    return x.centred() ** 2 + y.centred() ** 2


def normal() -> Lazy:
    """Draw a standard normal number: ``x sqrt(-2 ln w / w)`` with ``w = x^2 + y^2``.

    >>> -40 < float(normal().enclose()) < 40
    True
    """
    x, y = disc()

    def formula(bits: int) -> Enclosure | None:
        w = _size(x, y)
        if w.lower <= 0:
            return None
        w = w.minimum(1)
        radius = sqrt((-2 * log(w, bits) / w).maximum(0), bits)
        return (x.centred() * radius).rounded(bits)

    return Lazy((x, y), formula)


def student(degrees: int) -> Lazy:
    """Draw Student's t: ``x sqrt(d (w^(-2/d) - 1) / w)``; ``d = 1`` is the Cauchy distribution."""
    x, y = disc()

    def formula(bits: int) -> Enclosure | None:
        w = _size(x, y)
        if w.lower <= 0:
            return None
        w = w.minimum(1)
        power = exp((Fraction(-2, degrees) * log(w, bits)).rounded(bits + 16), bits)
        square = degrees * (power - 1).maximum(0) / w
        return (x.centred() * sqrt(square.rounded(2 * bits), bits)).rounded(bits)

    return Lazy((x, y), formula)


def exponential() -> Lazy:
    """Draw from the exponential distribution of mean one: ``-ln U``."""
    u = Uniform()

    def formula(bits: int) -> Enclosure | None:
        inside = u.enclose()
        return -log(inside, bits) if inside.lower > 0 else None

    return Lazy((u,), formula)
