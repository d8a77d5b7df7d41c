"""The largest change of a variance or a standard deviation by one move, over a known population.

A move leads from ``x`` to ``y``.  Let ``T`` be the one with the larger spread and ``W`` the other,
``C`` what they share, ``B`` and ``A`` what only ``T`` and only ``W`` has; ``c``, ``b``, ``a``
their sizes, ``m = c + b``, ``s = c + a``, ``F`` the records in neither, and ``SS`` the sum of
squared deviations from the mean.  With ``alpha = 1/(m - ddof)`` and ``beta = 1/(s - ddof)`` the
question is to maximise

    f = alpha SS(C + B) - theta beta SS(C + A),        theta = 1 for the variance.

**Standard deviation.**  Let ``h`` be the largest ``sd(T) - sd(W)``.  The pairs ``(V(W), V(T))`` all
lie below the curve ``(h + sqrt(V(W)))**2 = V(W) + 2 h sqrt(V(W)) + h**2``, which is concave, so
that at an optimum they lie below its tangent: the optimum maximises ``V(T) - theta V(W)`` with
``theta = sd(T)/sd(W) >= 1``.  What holds for the maximisers of ``f`` for every ``theta >= 1``
holds for it.

The maximum is continuous in the records, so that it is enough to argue for distinct records in
general position, with ``m >= 2`` (else ``f <= 0``).  Write ``mu_T``, ``mu_W`` for the means.

*Spreading apart.*  If, all else fixed, ``f`` as a function of one record of a block is strictly
convex, no such record lies between two others that could take its place: moving it to one of the
two would be better.  *Closing in.*  If ``f`` as a function of a block ``X`` is
``-sum x**2 g + d (sum x)**2 + l sum x`` with ``g > 0``, ``d >= 0``, then ``f`` is at least its
linearisation in ``sum x`` at the optimum and equal to it there, so that the optimum maximises the
linearisation too, ``-g sum (x - v)**2`` up to a constant: ``X`` consists of the records nearest to
some ``v``, and no record that could take the place of another lies between two of them.

1. ``B`` against ``F``: spreading apart (second derivative ``2 alpha (1 - 1/m)``).
2. ``A`` against ``F``: closing in around ``mu_W`` (``g = theta beta``, ``d = theta beta/s``).
3. ``A`` against ``B``, ``A + B`` fixed: as a function of ``B``, spreading apart
   (``2 (alpha + theta beta - alpha/m + theta beta/s) > 0``): no ``B`` between two of ``A``.
4. ``A`` against ``C``, ``A + C`` and ``B`` fixed: only ``SS(C + B)`` changes, ``C`` spreads apart:
   no ``C`` between two of ``A``.
5. ``C`` against ``B``, ``C + B`` and ``A`` fixed: only ``SS(C + A)`` changes, ``C`` closes in
   around ``mu_W``: no ``B`` between two of ``C``.

By 2, 3 and 4 **``A`` is a window of the population**.  By 1 and 5, among the other records ``B``
is the ``p`` lowest and the ``b - p`` highest of all but ``C``, and ``C`` has no ``B`` inside.
What remains is ``C`` against ``F``: ``f`` is ``gamma sum c**2 + delta (sum c)**2 + ...`` with
``gamma = alpha - theta beta``, ``delta = theta beta/s - alpha/m``.

**(i) m >= s, or theta >= s (s - ddof)/(m (m - ddof)).**  Then ``gamma <= 0 <= delta`` (both 0 only
if ``f`` is linear in ``C``, which is then a prefix or a suffix of ``C + F``): ``C`` closes in, and
with no ``B`` inside it is one block of the others:
:func:`~tacit.statistics.variances.candidate_families.blocks`, all of which are enumerated,
``O(N**2 b)``.

*Within k* this is quicker.  Take an optimum of the least distance.  No ``b`` is nearer to ``mu_W``
than some ``a``, or else ``W`` with ``b`` for ``a`` has less spread, at a distance smaller by two
(one substitution): so no ``B`` lies between two records of ``W``, by 5.  An ``F`` inside ``W`` is
not inside ``C``, nor inside ``A``, so it lies between all of ``C`` and all of ``A``, say ``C < F <
A``.  Since ``A`` is nearer to ``mu_W`` than that record ``z`` (2), ``mu_W > z``, and the ``a``
deviations above, each at most ``mu_W - z``, balance the ``c`` deviations below, each more than
``mu_W - z``: so ``c < a``.  Hence **if c >= a, W is a window**, ``B`` the ``p`` lowest and ``b -
p`` highest outside it, and ``A`` a block inside it, at the best place by bisection:
:func:`~tacit.statistics.variances.candidate_families.windows`, ``O(N b log c)``.  Nested pairs
(``a = 0``) are of this kind in any case, also at exactly ``k``, and ``p`` is found by bisection:
``O(N log b)``.  For the variance under substitution ``f`` is linear in ``C``
(``gamma = delta = 0``), a prefix or suffix of ``C + F``; if ``F`` lies above ``C``, then the window
``W`` starts at rank ``p`` or, if ``C`` lies inside the lowest of ``B``, before it; and mirrored:
``O(b**2)`` windows.

*Exactly k, c >= a*: ``B`` may lie between ``C`` and ``A``, but still no ``F`` does.  Where no ``B``
does, ``W`` is a window.  Else ``C`` stands among or right above the lowest of ``B`` and ``A`` is
below all ``F`` (or there is no ``F``), or mirrored:
:func:`~tacit.statistics.variances.candidate_families.crossed`, ``O(b**3)`` pairs.

**(ii) m < s and gamma + delta >= 0.**  There ``gamma > 0 >= delta``, and ``C`` spreads apart
against ``F``, as does ``B``: ``B + C`` are the ``t`` lowest and ``m - t`` highest of the records
outside ``A``, and ``C``, with no ``B`` inside, is the ``p``-th of
these and the following: :func:`~tacit.statistics.variances.candidate_families.tails`, ``t`` by
bisection, ``O(N b log m)``.  The condition:

* variance: ``gamma + delta = (m - 1)/(m (m - ddof)) - (s - 1)/(s (s - ddof))``, which is ``1/m -
  1/s > 0`` for ``ddof = 1`` and, for ``ddof = 0``, positive as ``(x - 1)/x**2`` falls from ``x =
  2`` on.  So (i) and (ii) are all cases of the variance.
* standard deviation, ``B`` empty: ``SS(T) <= SS(W)``, so ``theta**2 <= (s - ddof)/(m - ddof)``.
  For ``ddof = 0`` the condition ``theta <= (m - 1) s**2/((s - 1) m**2)`` follows from ``(s -
  1)/s**1.5 <= (m - 1)/m**1.5``, true for ``3 <= m < s`` where ``(x - 1)/x**1.5`` falls; for ``ddof
  = 1`` the condition ``theta <= s/m`` follows from ``m**2/(m - 1) <= s**2/(s - 1)``.  For ``ddof =
  0``, ``m = 2`` let ``T = {x, y}``, ``x < y``: raising ``y`` changes ``sd(T)`` by ``1/2`` and
  ``sd(W)`` by ``(y - mu_W)/(s sd(W))``, which is at most ``1/2`` as ``SS(W) >= (y - mu_W)**2 s/(s
  - 1)`` and ``s**2 >= 4 (s - 1)``.  So ``x`` and ``y`` are the lowest and highest outside ``A``:
  ``t = 1``. There ``t`` is enumerated between its optima for the least and for the largest
  ``theta``.
* standard deviation, ``0 < b < a``: where ``theta <= s (s - ddof) (m - 1)/(m (m - ddof) (s -
  1))``, (ii) holds; where it is at least ``s (s - ddof)/(m (m - ddof))``, (i) does.  **Between the
  two there is no proof**; but there the difference is ``sd(T) (1 - 1/theta)``, at most the largest
  standard deviation of ``m`` records times ``1 - m (m - ddof)/(s (s - ddof))``.  Where this bound
  does not exceed what was found elsewhere, the answer is exact; otherwise every ``C`` is listed
  (:mod:`~tacit.statistics.variances.listed_pairs`) where that is feasible, and else only an upper
  bound is known.

Where a variance is 0 or ``s = 1`` the arguments hold by continuity, or because ``W`` then has no
spread of its own to lose and ``B`` alone decides (1).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from tacit.statistics.variances.candidate_families import blocks, crossed, tails, windows
from tacit.statistics.variances.candidate_search import Contest
from tacit.statistics.variances.candidate_shapes import bisect

__all__ = ["bound_of_move", "reach", "widen"]

_MOST_STEPS = 1 << 28
"""How many places are enumerated where ``t`` cannot be found by bisection."""
_MOST_PAIRS = 1 << 31
"""How many pairs of windows and blocks are looked at (about 20 seconds)."""


def widen(contest: Contest, kept: int, gained: int, lost: int, within: bool) -> float:
    """Offer what may be the worst pair with ``spread(T) > spread(W)`` by one move.

    Args:
        contest: where to offer the candidates.
        kept: the size of ``C``.
        gained: the size of ``B``.
        lost: the size of ``A``.
        within: whether pairs that are nearer are asked for as well.

    Returns:
        An upper bound on the pairs that no proof covers, in the contest's float unit; ``-inf``
        where all are covered.
    """
    m, s, ddof = kept + gained, kept + lost, contest.spread.ddof
    if m < 2:
        return -math.inf
    if gained >= lost:
        return _closing_in(contest, kept, gained, lost, within)
    if not contest.spread.root:
        if gained or _largest_fall(contest, kept, s) >= contest.floor:
            tails(contest, kept, gained, lost)
        return -math.inf
    return _root_with_fewer(contest, kept, gained, lost, within, ddof)


def _closing_in(contest: Contest, kept: int, gained: int, lost: int, within: bool) -> float:
    """Case (i) of the argument; returns a bound where there are too many pairs to look at."""
    if lost and kept < lost:
        if contest.moments.size**2 * (gained + 1) > _MOST_PAIRS:
            windows(contest, kept, gained, lost)
            return bound_of_move(contest, kept, gained, lost)
        blocks(contest, kept, gained, lost)
        return -math.inf
    linear = within and gained == lost and not contest.spread.root
    windows(contest, kept, gained, lost, anchored=linear)
    if lost and not within:
        crossed(contest, kept, gained, lost)
    return -math.inf


def bound_of_move(contest: Contest, kept: int, gained: int, lost: int) -> float:
    """An upper bound on the change by a move, in the contest's float unit.

    ``f <= (alpha - beta) SS(C) + alpha SS(B) + (alpha c b/m) (difference of means)**2``, since
    ``A`` never lowers ``SS``; and ``sd(T) - sd(W) <= sqrt(V(T) - V(W))``.
    """
    values, ddof = contest.moments.values, contest.spread.ddof
    width = float(values[-1] - values[0]) * (1 + 1e-12)
    change = reach(kept, gained, lost, ddof) * width**2
    return math.sqrt(change) if contest.spread.root else change


def reach(kept: int, gained: int, lost: int, ddof: int) -> float:
    """A bound on the change of variance by a move, in units of the squared range."""
    m, s = kept + gained, kept + lost
    if m <= ddof or s <= ddof:
        return 0.0
    alpha, beta = 1 / (m - ddof), 1 / (s - ddof)
    spread = max(alpha - beta, 0) * kept / 4 + alpha * gained / 4 + alpha * kept * gained / m
    return spread * (1 + 1e-12)


def _root_with_fewer(
    contest: Contest, kept: int, gained: int, lost: int, within: bool, ddof: int
) -> float:
    """A standard deviation that rises although the release gets smaller."""
    m, s = kept + gained, kept + lost
    steps = contest.moments.size * (gained + 1) * m
    if gained == 0:
        fall = _largest_fall(contest, kept, s)
        if fall < contest.floor:
            return -math.inf
        if steps > _MOST_STEPS:
            return fall
        tails(contest, kept, 0, lost, (1.0, math.sqrt((s - ddof) / (m - ddof)) * (1 + 1e-12)))
        return -math.inf
    steep = s * (s - ddof) / (m * (m - ddof))
    missed = _closing_in(contest, kept, gained, lost, within)
    bound = _largest(contest, m) * (1 - 1 / steep) * (1 + 1e-12)
    if bound >= contest.floor and steps <= _MOST_STEPS:
        tails(contest, kept, gained, lost, (1.0, steep * (m - 1) / (s - 1) * (1 + 1e-12)))
    return max(missed, bound if bound >= contest.floor else -math.inf)


def _largest_fall(contest: Contest, kept: int, size: int) -> float:
    """An upper bound on ``spread(C) - spread(C + A)``: adding records never lowers ``SS``."""
    ddof = contest.spread.ddof
    ratio = (kept - ddof) / (size - ddof)
    share = 1 - (math.sqrt(ratio) if contest.spread.root else ratio)
    return _largest(contest, kept) * share * (1 + 1e-12)


def _largest(contest: Contest, size: int) -> float:
    """An upper bound on the spread of ``size`` records: some lowest and the highest are worst."""
    moments = contest.moments
    values, sums, squares = moments.values, moments.sums, moments.squares
    total = moments.size

    def gains(low: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        l, h = values[low], values[total - size + low]  # noqa: E741
        held = sums[low] + sums[total] - sums[total - size + low]
        return np.asarray(size * (l + h) - (l - h) < 2 * held)

    start = np.zeros(1, dtype=np.int64)
    low = bisect(start, start + size, gains) if total > size else start
    high = total - size + low
    held = sums[low] + sums[total] - sums[high]
    square = squares[low] + squares[total] - squares[high]
    variance = float((square - held * held / size)[0]) / (size - contest.spread.ddof)
    error = 4 * size * moments.sum_error / (size - contest.spread.ddof)
    variance += error + moments.variance_error(size, contest.spread.ddof)
    return math.sqrt(variance) if contest.spread.root else variance
