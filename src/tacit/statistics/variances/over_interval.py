"""The worst move for a variance where any value from ``L`` to ``U`` may be repeated without limit.

Notation as in :mod:`~tacit.statistics.variances.move_bounds`; values are written in units of
``U - L``, from 0 to 1.

**A window of no spread.**  With ``C`` and ``A`` all at one end, ``j`` of ``B`` at the other and
the rest of ``B`` with ``C``, the variance changes by ``J(m, b) = alpha j (m - j)/m``, largest at
``j = min(b, floor(m/2))``.

**Nothing is worse when b >= a.**  Adding ``A`` never lowers ``SS``, so ``f <= alpha SS(C + B) -
beta SS(C)``, which is ``(alpha - beta) SS(C) + alpha SS(B) + (alpha c b/m)(x - y)**2`` with ``x``,
``y`` the means of ``C`` and ``B``.  As ``alpha <= beta``
here, leave out the first term: the rest is convex in ``x``, so at most its value at ``x`` = 0 or
1, which is ``alpha SS`` of ``c`` records at one end together with ``B``, and convex in each of
``B``.  That is ``J(m, b)``.

**When b < a** the spread of ``C`` counts.  ``SS(C) <= c x (1 - x)`` and ``SS(B) <= b y (1 - y)``
give

    f <= H = alpha m w (1 - w) - beta c x (1 - x),      w = (c x + b y)/m.

Mirror so that ``x <= 1/2``.  For given ``x`` the ``w`` nearest to 1/2 is worst: ``y = 1`` while
``c x + b <= m/2``; and where that is exceeded, ``w = 1/2`` and ``H`` falls in ``x``.  So ``x = 0``
(no more than the largest variance of ``c`` equal and ``b`` other records, ``J(m, b)``), or ``b <
m/2``, ``y = 1`` and, with ``p = alpha b/m``, ``q = alpha c/m - beta``, ``p + q = alpha - beta``,

    H = c (1 - x)(p + q x).

* ``q <= p``: ``H`` falls from ``x = 0`` on, where it is ``alpha b c/m = J(m, b)``.
* ``q > p`` and ``a < s/2``: ``H <= c (alpha - beta)**2/(4 q)``, below ``c (alpha - beta)/2`` as
  ``q > (alpha - beta)/2``.  That is at most ``beta a c/s = J(s, a)``, the opposite direction of
  the same move, if ``(a - b) s <= 2 a (m - ddof)``; and so it is, as ``c > s/2``, except for
  ``ddof = 1``, ``b = 0``, where the maximum is ``c (alpha - beta)/4`` and ``s <= 4 (m - 1)`` is
  enough.
* ``q > p``, ``a >= s/2``, ``ddof = 0``: ``J(s, a) >= 1/4 - 1/(4 s**2)``.  With ``e = c - b >= 1``
  and ``z = 2 c x``, ``H <= 1/4 - (e - z)**2/(4 m**2) - z/(4 s)``.  That is below if ``z >= 1/s``,
  and else because ``(1 - 1/s)/m >= 1/s``.

So for ``ddof = 0``, **the largest change by a move is the larger of J(m, b) in its two
directions**, whatever values there are between ``L`` and ``U``.  For ``ddof = 1`` that holds but
in one case: ``q > p``, ``b < m/2`` and ``a >= s/2``.  There ``alpha SS(C + B) - beta SS(C)`` is
convex in every record (``1/m >= (c - 1)/(c (s - 1))``), so that all of ``C`` and ``B`` are 0 or 1,
and by the same reasoning ``y`` of ``C`` are 1 with all of ``B``, ``y`` next to the vertex of the
parabola ``H``.  It is attained with ``A`` at the mean of ``C``, if that is a value.

**Standard deviation.**  ``sd(T) - sd(W) <= sqrt(V(T) - V(W))``, with equality where ``V(W) = 0``:
the roots of the same numbers.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

__all__ = ["Extreme", "flat", "spread_inside"]


class Extreme(NamedTuple):
    """A pair at 0 and 1: its change of variance, and how many of each release are at 1.

    ``wide_ones`` of the ``wide`` records are 1, the others 0; of the narrow release the shared
    ``narrow_ones`` are 1, and what only it has is at the mean of what it shares.
    """

    change: Fraction
    kept: int
    gained: int
    lost: int
    wide_ones: int
    narrow_ones: int


def flat(kept: int, gained: int, lost: int, ddof: int) -> Extreme:
    """``J(m, b)``: the narrow release has no spread.

    >>> flat(2, 1, 0, 0).change
    Fraction(2, 9)
    """
    m = kept + gained
    ones = min(gained, m // 2)
    change = Fraction(ones * (m - ones), m * (m - ddof)) if m > ddof else Fraction(0)
    return Extreme(change, kept, gained, lost, ones, 0)


def spread_inside(kept: int, gained: int, lost: int, ddof: int) -> Extreme | None:
    """The largest ``H`` where it may exceed both ``J``: only for ``ddof = 1`` and ``a >= s/2``.

    >>> spread_inside(2, 0, 8, 1).change
    Fraction(4, 9)
    """
    c, b, a = kept, gained, lost
    m, s = c + b, c + a
    if ddof == 0 or b >= a or 2 * a < s or 2 * b >= m or m < 2:
        return None
    alpha, beta = Fraction(1, m - ddof), Fraction(1, s - ddof)
    p, q = alpha * b / m, alpha * c / m - beta
    if q <= p:
        return None
    vertex = c * (1 - p / q) / 2
    options = [
        (alpha * (y + b) * (c - y) / m - beta * y * (c - y) / c, y)
        for y in (math.floor(vertex), math.ceil(vertex))
    ]
    change, ones = max(options)
    return Extreme(change, c, b, a, ones + b, ones)
