"""Families of candidates for the worst pair of neighbours of a variance or a standard deviation.

Notation as in :mod:`tacit.statistics.variances.move_bounds`: ``C`` is shared (``c`` records), ``B``
is only in the wide release (``b``), ``A`` only in the narrow one (``a``); ``m = c + b``, ``s = c +
a``.

Two exchanges are decided by bisection.  Let one coordinate, raised by one, replace in the wide
release the record ``h`` by a record ``l <= h``.  Its sum of squared deviations grows by
``(l - h) X`` with

    X = (l + h) - (2 S + l - h) / m,        S the sum before the step,

so the step gains while ``X < 0``.  At the next step ``l`` and ``h`` are no smaller and ``S`` is
smaller by ``h - l``: with ``l'``, ``h'`` for the next ones, ``X' - X = (l' - l)(1 - 1/m) + (h' -
h)(1 + 1/m) + 2 (h - l)/m >= 0``. The value along the coordinate therefore rises and then falls.
Where the narrow release changes as well (:func:`tails`), with ``alpha = 1/(m - ddof)`` and ``beta
= 1/(s - ddof)``,

    X = gamma (l + h) + delta (2 S_C + l - h) + lambda,
    gamma = alpha - beta,  delta = beta/s - alpha/m,

and ``X' - X = (l' - l)(gamma + delta) + (h' - h)(gamma - delta) - 2 delta (h - l) >= 0`` as there
``gamma >= 0 >= delta`` and ``gamma + delta >= 0``.

A comparison made in floats can err where ``|X|`` is below the error of ``X``.  All steps between
the place found and the true optimum then have an ``|X|`` below that error too (``X`` is monotone),
so that no more is lost than that error times the sum of ``h - l`` over the steps.  That is at most
the number of steps times the range; and ``a`` times the range where ``h`` is the record ``a``
ranks above ``l``, as the sum telescopes.  This is the ``loss``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import numpy.typing as npt

from tacit.statistics.samples.prefix_moments import UNIT, Moments, Range
from tacit.statistics.variances.candidate_search import Contest, Walk
from tacit.statistics.variances.candidate_shapes import Blocks, Tails, bisect

__all__ = ["blocks", "crossed", "tails", "windows"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_CHUNK = 1 << 15
_FEW = 4
_GLANCE = 1024


def windows(contest: Contest, kept: int, gained: int, lost: int, anchored: bool = False) -> None:
    """The narrow release is a window of the population; ``A`` is the best block inside it.

    Args:
        contest: where to offer the candidates.
        kept: ``c``, the size of ``C``.
        gained: ``b``.
        lost: ``a``.
        anchored: only the windows that start within the ``p`` lowest records (at most at rank
        ``p``)
            or end within the ``b - p`` highest, which suffices where ``C`` is a prefix or a suffix.
    """
    last = contest.moments.size - kept - lost
    if anchored:
        for low in range(gained + 1):
            ends = [range(min(low, last) + 1), range(max(last - gained + low, 0), last + 1)]
            _offer_windows(contest, kept, gained, lost, np.unique(np.concatenate(ends)), low)
        return
    if lost and last > _CHUNK:  # a first look raises the floor, and most windows drop out
        few = np.unique(np.linspace(0, last, _GLANCE).astype(np.int64))
        for low in range(gained + 1):
            _offer_windows(contest, kept, gained, lost, few, low)
    for start in range(0, last + 1, _CHUNK):
        places = _distinct_windows(
            contest.moments, kept + lost, start, min(start + _CHUNK, last + 1)
        )
        if lost == 0 and gained > _FEW:
            _spread_outside(contest, kept, gained, places)
            continue
        for low in range(gained + 1):
            _offer_windows(contest, kept, gained, lost, places, low)


def _distinct_windows(moments: Moments, length: int, start: int, stop: int) -> Integers:
    """The windows from ``start`` to ``stop``, without those equal to the one before."""
    places = np.arange(start, stop)
    raw, first = moments.sample.raw, max(start, 1)
    new = raw[first - 1 : stop - 1] != raw[first + length - 1 : stop + length - 1]
    return np.concatenate((places[: first - start], places[first - start :][new]))


def _offer_windows(
    contest: Contest, kept: int, gained: int, lost: int, starts: Integers, low: int
) -> None:
    """Windows from ``starts``, ``B`` the ``low`` lowest and ``gained - low`` highest outside."""
    moments, s, m = contest.moments, kept + lost, kept + gained
    narrow, union = zip(
        *(_window_and_ends(p, starts, s, low, gained - low) for p in _prefixes(moments)),
        strict=True,
    )
    if lost == 0:

        def make_nested(index: int) -> Walk:
            return Walk(Blocks(moments.size, kept, gained, 0, 0, int(starts[index]), low))

        contest.offer((*union, m), (*narrow, s), make_nested)
        return
    keep = contest.may_win((*union, m + lost), m, (*narrow, s))
    starts = starts[keep]
    if not len(starts):
        return
    total, square = (u[keep] for u in union)
    values, sums, squares = moments.values, moments.sums, moments.squares

    def gains(place: Integers) -> npt.NDArray[np.bool_]:
        rank = starts + place
        l, h = values[rank], values[rank + lost]  # noqa: E741
        held = total - (sums[rank + lost] - sums[rank])
        return np.asarray(m * (l + h) - (l - h) < 2 * held)

    place = bisect(np.zeros_like(starts), np.full_like(starts, kept), gains)
    rank = starts + place
    total = total - (sums[rank + lost] - sums[rank])
    square = square - (squares[rank + lost] - squares[rank])

    def make(index: int) -> Walk:
        i = int(starts[index])
        found = Blocks(moments.size, kept, gained, lost, int(rank[index]), i, low)
        return Walk(found, "j", i, i + kept)

    contest.offer(
        (total, square, m),
        (narrow[0][keep], narrow[1][keep], s),
        make,
        _loss(moments, m, contest.spread.ddof, min(kept, lost)),
    )


def _spread_outside(contest: Contest, kept: int, gained: int, starts: Integers) -> None:
    """Nested pairs: every window with the best choice of lowest and highest added to it."""
    moments, m = contest.moments, kept + gained
    values, sums = moments.values, moments.sums
    others = moments.size - kept

    def rank(index: Integers) -> Integers:
        inside = np.where(index < starts, index, index + kept)
        return np.minimum(inside, moments.size - 1)

    def gains(low: Integers) -> npt.NDArray[np.bool_]:
        l, h = values[rank(low)], values[rank(others - gained + low)]  # noqa: E741
        held = _window_and_ends(sums, starts, kept, low, gained - low)[1]
        return np.asarray(m * (l + h) - (l - h) < 2 * held)

    low = bisect(np.zeros_like(starts), np.full_like(starts, gained), gains)
    narrow, wide = zip(
        *(_window_and_ends(p, starts, kept, low, gained - low) for p in _prefixes(moments)),
        strict=True,
    )

    def make(index: int) -> Walk:
        found = Blocks(moments.size, kept, gained, 0, 0, int(starts[index]), int(low[index]))
        return Walk(found, "p", 0, gained)

    loss = _loss(moments, m, contest.spread.ddof, gained)
    contest.offer((*wide, m), (*narrow, kept), make, loss)


def blocks(contest: Contest, kept: int, gained: int, lost: int) -> None:
    """Every window ``A``, every block ``C`` of the others, ``B`` the extremes of what remains."""
    moments = contest.moments
    s, m = kept + lost, kept + gained
    others = moments.size - lost
    i = np.arange(others - kept + 1)
    for p in range(gained + 1):
        q = gained - p
        for j in range(moments.size - lost + 1):
            wide, narrow = [], []
            for prefix in _prefixes(moments):
                a = prefix[j + lost] - prefix[j]
                outer = _without(prefix, j, lost)
                c, both = _window_and_ends(outer, i, kept, p, q)
                narrow.append(c + a)
                wide.append(both)

            def make(index: int, j: int = j, p: int = p) -> Walk:
                return Walk(Blocks(moments.size, kept, gained, lost, j, int(i[index]), p))

            contest.offer((wide[0], wide[1], m), (narrow[0], narrow[1], s), make)


def crossed(contest: Contest, kept: int, gained: int, lost: int) -> None:
    """The pairs of case (i) at exactly ``k`` with ``B`` between ``C`` and ``A``, for ``c >= a``."""
    moments = contest.moments
    others = moments.size - lost
    pairs: list[Blocks] = []
    for p in range(gained + 1):
        full = others == kept + gained
        for i in range(min(p, others - kept) + 1):
            top = others if full else p + kept
            for j in (*range(i), *range(i + kept + 1, top + 1)):
                pairs.append(Blocks(moments.size, kept, gained, lost, j, i, p))
                mirrored = others - kept - i, gained - p
                pairs.append(Blocks(moments.size, kept, gained, lost, others - j, *mirrored))
    if not pairs:
        return
    wide, narrow = zip(*(pair.ranges() for pair in pairs), strict=True)

    def totals(releases: tuple[list[Range], ...]) -> tuple[Floats, Floats]:
        sums, squares = (
            np.array([sum(p[y] - p[x] for x, y in ranges if y > x) for ranges in releases])
            for p in _prefixes(moments)
        )
        return sums, squares

    contest.offer(
        (*totals(wide), kept + gained),
        (*totals(narrow), kept + lost),
        lambda index: Walk(pairs[index]),
    )


def tails(
    contest: Contest,
    kept: int,
    gained: int,
    lost: int,
    steepness: tuple[float, float] | None = None,
) -> None:
    """Every window ``A``; ``B`` and ``C`` the lowest and highest of the others, ``C`` in one piece.

    Args:
        contest: where to offer the candidates.
        kept: ``c``, the size of ``C``.
        gained: ``b``.
        lost: ``a``.
        steepness: the least and the largest weight ``theta`` of the narrow variance to serve (for a
            standard deviation); None for 1, the variance itself.  ``X`` is linear in ``theta``, so
            that its sign change for any weight between lies between those for the two ends.
    """
    moments, m = contest.moments, kept + gained
    last = moments.size - lost
    for low in range(gained + 1):
        zones = {(0, low), (low, low + kept), (low + kept, m)}
        zones = {zone for zone in zones if zone[0] < zone[1]}
        for start in range(0, last + 1, _CHUNK):
            places = np.arange(start, min(start + _CHUNK, last + 1))
            for zone in sorted(zones):
                _offer_tails(contest, (kept, gained, lost), places, low, zone, steepness)


def _offer_tails(
    contest: Contest,
    sizes: tuple[int, int, int],
    j: Integers,
    low: int,
    zone: tuple[int, int],
    steepness: tuple[float, float] | None,
) -> None:
    kept, gained, lost = sizes
    moments, ddof = contest.moments, contest.spread.ddof
    s, m, others = kept + lost, kept + gained, moments.size - lost
    alpha, beta = 1 / (m - ddof), 1 / (s - ddof)
    values, sums = moments.values, moments.sums

    def part(prefix: Floats, t: Integers, start: int, stop: int) -> Floats:
        """The sum over the ranks ``start <= rank < stop`` of ``B`` and ``C`` together."""
        return (
            _skip(prefix, j, lost, np.minimum(stop, t))
            - _skip(prefix, j, lost, np.minimum(start, t))
            + (
                _skip(prefix, j, lost, np.maximum(stop, t) + others - m)
                - _skip(prefix, j, lost, np.maximum(start, t) + others - m)
            )
        )

    def record(rank: Integers) -> Floats:
        return np.asarray(
            values[np.minimum(np.where(rank < j, rank, rank + lost), len(values) - 1)]
        )

    inside = zone == (low, low + kept)

    error = alpha * (2 * moments.sum_error / m + 32 * UNIT)
    error += (steepness or (1.0,))[-1] * beta * (2 * moments.sum_error / s + 32 * UNIT)

    def bend(t: Integers, weight: float, tolerance: float) -> npt.NDArray[np.bool_]:
        l, h = record(t), record(t + others - m)  # noqa: E741
        x = alpha * (l + h - (2 * part(sums, t, 0, m) + l - h) / m)
        if inside:  # the step changes C, else only B
            narrow = part(sums, t, low, low + kept) + sums[j + lost] - sums[j]
            x = x - weight * beta * (l + h - (2 * narrow + l - h) / s)
        return np.asarray(x < tolerance)

    first, final = np.full_like(j, zone[0]), np.full_like(j, zone[1])
    loss, few = 0.0, zone[1] - zone[0] <= _FEW
    if steepness is None and not few:
        first = final = bisect(first, final, lambda t: bend(t, 1.0, 0.0))
        loss = _loss(moments, m, ddof, zone[1] - zone[0]) + _loss(moments, s, ddof, kept)
    elif steepness is not None and not few:
        ends = [
            bisect(first, final, partial(bend, weight=w, tolerance=e))
            for w in steepness
            for e in (-error, error)
        ]
        first, final = np.minimum.reduce(ends), np.maximum.reduce(ends)
    for t in _between(first, final):
        wide = [part(p, t, 0, m) for p in _prefixes(moments)]
        narrow = [part(p, t, low, low + kept) + p[j + lost] - p[j] for p in _prefixes(moments)]

        def make(index: int, t: Integers = t) -> Walk:
            found = Tails(moments.size, kept, gained, lost, int(j[index]), low, int(t[index]))
            return Walk(found, "t", *zone) if loss else Walk(found)

        contest.offer((wide[0], wide[1], m), (narrow[0], narrow[1], s), make, loss)


def _between(first: Integers, final: Integers) -> Iterator[Integers]:
    """Every row's places from first to final, all rows at once."""
    place = first
    yield place
    while bool((place < final).any()):
        place = np.minimum(place + 1, final)
        yield place


def _prefixes(moments: Moments) -> tuple[Floats, Floats]:
    return moments.sums, moments.squares


def _without(prefix: Floats, window: int, length: int) -> Floats:
    """Prefix sums of the records outside a window."""
    if not length:
        return prefix
    gap = prefix[window + length] - prefix[window]
    return np.concatenate((prefix[: window + 1], prefix[window + length + 1 :] - gap))


def _skip(prefix: Floats, window: Integers, length: int, count: Integers) -> Floats:
    """The sum of the first ``count`` records outside a window."""
    beyond = np.minimum(np.maximum(count, window) + length, len(prefix) - 1)
    gap = prefix[window + length] - prefix[window]
    return np.where(
        count <= window, prefix[np.minimum(count, len(prefix) - 1)], prefix[beyond] - gap
    )


def _window_and_ends(
    prefix: Floats, start: Integers, length: int, low: int | Integers, high: int | Integers
) -> tuple[Floats, Floats]:
    """Sums of a window, and of it with the ``low`` lowest and ``high`` highest outside it."""
    total = len(prefix) - 1
    window = prefix[start + length] - prefix[start]
    below = np.where(low <= start, prefix[low] + window, prefix[low + length * (low > start)])
    top = total - high
    inside = start + length > top
    above = np.where(
        inside, prefix[total] - prefix[top - length * inside] - window, prefix[total] - prefix[top]
    )
    return window, below + above


def _loss(moments: Moments, size: int, ddof: int, steps: int) -> float:
    """What misjudged comparisons can cost a variance, if ``h - l`` adds up to ``steps`` ranges."""
    error = 2 * moments.sum_error / size + 32 * UNIT
    return 2 * steps * error / (size - ddof)
