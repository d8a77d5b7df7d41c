"""The candidates among which a variance moves most."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tacit.arithmetic.roots_and_bisection import Root, gap
from tacit.statistics.prefix_moments import UNIT, PrefixMoments, Range

# The shapes that the worst pair of neighbours for a variance can have, as ranges of ranks.
#
# ``A`` (only in the narrow release) is always a window: the ranks ``j <= rank < j + a`` of the
# population.  All else is placed among the other records, the population without ``A``, whose ranks
# run from 0 to ``N - a - 1``.


Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class ReplacedBlocks:
    """``C`` is one block of the others, ``B`` the lowest and highest of what remains."""

    population: int
    # retained, gained, lost: the sizes ``c`` of ``C``, ``b`` of ``B`` and ``a`` of ``A``
    retained: int
    gained: int
    lost: int
    j: int  # the first rank of ``A``
    i: int  # the first rank of ``C`` among the others
    p: int  # how many of ``B`` are the lowest

    def ranges(self) -> tuple[list[Range], list[Range]]:
        """``C`` with ``B``, and ``C`` with ``A``."""
        c, i, p, q = self.retained, self.i, self.p, self.gained - self.p
        others = self.population - self.lost
        core = outside(i, i + c, self.j, self.lost)
        low = [(0, min(p, i)), (i + c, i + c + max(p - i, 0))]
        beyond = max(q - (others - i - c), 0)
        high = [(max(others - q, i + c), others), (i - beyond, i)]
        extra = [r for start, stop in low + high for r in outside(start, stop, self.j, self.lost)]
        return core + extra, [*core, (self.j, self.j + self.lost)]


@dataclass(frozen=True)
class Tails:
    """``B`` and ``C`` are the lowest and highest of the others, ``C`` in one piece of them."""

    population: int
    # retained, gained, lost: the sizes ``c`` of ``C``, ``b`` of ``B`` and ``a`` of ``A``
    retained: int
    gained: int
    lost: int
    j: int  # the first rank of ``A``
    p: int  # how many of ``B`` lie below ``C``
    t: int  # how many of ``B`` and ``C`` are the lowest of the others

    def ranges(self) -> tuple[list[Range], list[Range]]:
        """``C`` with ``B``, and ``C`` with ``A``."""
        wide = self.retained + self.gained
        both = self._part(0, wide)
        core = self._part(self.p, self.p + self.retained)
        return both, [*core, (self.j, self.j + self.lost)]

    def _part(self, start: int, stop: int) -> list[Range]:
        """The ranks ``start <= rank < stop`` of ``B`` and ``C`` together."""
        jump = self.population - self.lost - (self.retained + self.gained)
        pieces = [
            (min(start, self.t), min(stop, self.t)),
            (max(start, self.t) + jump, max(stop, self.t) + jump),
        ]
        return [r for x, y in pieces for r in outside(x, y, self.j, self.lost)]


def outside(start: int, stop: int, window: int, length: int) -> list[Range]:
    """Ranks among the records outside a window, as ranges of the population.

    >>> outside(1, 4, window=2, length=3)
    [(1, 2), (5, 7)]
    """
    pieces = [
        (min(start, window), min(stop, window)),
        (max(start, window) + length, max(stop, window) + length),
    ]
    return [(x, y) for x, y in pieces if y > x]


def bisect(lowest: Integers, highest: Integers, gains: Callable[[Integers], Booleans]) -> Integers:
    """For every row the least place in ``lowest..highest`` from which going on gains nothing."""
    # ``gains(place)`` says whether ``place + 1`` is better than ``place``: true and then false.
    low, high = lowest.copy(), highest.copy()
    while bool((low < high).any()):
        middle = (low + high) // 2
        open_ = low < high
        better = gains(np.minimum(middle, np.maximum(high - 1, lowest))) & open_
        low = np.where(better, middle + 1, low)
        high = np.where(open_ & ~better, middle, high)
    return low


# Candidates for the worst pair of neighbours: sorted out in floats, decided exactly.
#
# A *candidate* is a pair of releases ``(wide, narrow)`` whose spread may differ most.  Families of
# candidates offer float estimates with bounds on their errors; a candidate stays while its upper
# end reaches the best lower end seen so far.  The few that stay are evaluated in exact rationals,
# so that the winner is the true maximum over all candidates offered.
#
# A family may offer only the float optimum over one of its whole-numbered coordinates, found by
# bisection.  It then adds to the upper end what a misjudged comparison could have cost, and names
# that coordinate with its limits; the value along it rises and then falls, so that the exact
# optimum is reached by walking uphill.


Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class SpreadMeasure:
    """Which measure of spread: the variance or its root, over ``n - ddof``."""

    ddof: int = 0
    root: bool = False

    def value(self, variance: Fraction) -> Fraction | Root:
        """The measure of spread for an exact variance."""
        return Root(variance) if self.root else variance

    def gap(self, wide: Fraction, narrow: Fraction) -> Fraction | float:
        """Return the distance of two exact variances in this measure, rounded up if irrational."""
        return gap(self.value(wide), self.value(narrow))


class Candidate(Protocol):
    """A pair of releases, as ranges of ranks of the population."""

    def ranges(self) -> tuple[list[Range], list[Range]]:
        """The ranges of the wide and of the narrow release."""


class Walk(NamedTuple):
    """A candidate, and the coordinate along which it may still improve."""

    candidate: Any
    coordinate: str | None = None
    lowest: int = 0
    highest: int = 0


class _Entry(NamedTuple):
    """A candidate that may win: its upper end, what walking may gain, and how it is made."""

    high: float
    gain: float
    make: Callable[[], Walk]


class CandidateMaximum(NamedTuple):
    """The exact maximum over the candidates."""

    value: Fraction | float
    candidate: Candidate


class Contest:
    """The running maximum of ``spread(wide) - spread(narrow)`` over candidates of a population."""

    # floor: a proven lower bound on the maximum so far, in the units of ``moments.values``.

    def __init__(self, moments: PrefixMoments, spread: SpreadMeasure) -> None:
        self.moments = moments
        self.spread = spread
        self.floor = -np.inf
        self.evaluations = 0
        self._staying: list[_Entry] = []

    def offer(
        self,
        wide: tuple[Floats, Floats, int],
        narrow: tuple[Floats, Floats, int],
        make: Callable[[int], Walk],
        loss: float = 0.0,
    ) -> None:
        """Offer many pairs at once."""
        # loss: how much more variance the wide release may have at the true optimum.
        top, top_error = self._variance(*wide)
        bottom, bottom_error = self._variance(*narrow)
        low = self._measure(top - top_error) - self._measure(bottom + bottom_error)
        high = self._measure(top + (top_error + loss)) - self._measure(bottom - bottom_error)
        self.evaluations += len(top)
        if len(low):
            self.floor = max(self.floor, float(low.max()) - 8 * UNIT)
        gain = np.full(len(low), loss)
        if self.spread.root and loss:
            minimum = np.maximum(top - top_error, loss / 4)  # sqrt(v + loss) - sqrt(v), bounded
            gain = np.asarray(loss / np.sqrt(minimum))
        for index in np.flatnonzero(high + 8 * UNIT >= self.floor).tolist():
            entry = _Entry(float(high[index]) + 8 * UNIT, float(gain[index]), partial(make, index))
            self._staying.append(entry)
        if len(self._staying) > 4096:
            self._staying = [entry for entry in self._staying if entry.high >= self.floor]

    def may_win(
        self, union: tuple[Floats, Floats, int], size: int, narrow: tuple[Floats, Floats, int]
    ) -> npt.NDArray[np.intp]:
        """Which pairs may win whatever ``size`` records of the union the wide release has."""
        # Leaving records out of the union only lowers its sum of squared deviations.
        sums, squares, count = union
        ddof = self.spread.ddof
        maximum = (squares - sums * sums / count) / (size - ddof)
        error = self.moments.variance_error(count, 0) * count / (size - ddof)
        bottom, bottom_error = self._variance(*narrow)
        high = self._measure(maximum + error) - self._measure(bottom - bottom_error)
        return np.flatnonzero(high + 8 * UNIT >= self.floor)

    def winner(self) -> CandidateMaximum | None:
        """Decide exactly; None where no candidate was offered."""
        staying = [(e, e.make()) for e in self._staying if e.high >= self.floor]
        if not staying:
            return None
        reached = [(w.candidate, *self._difference(w.candidate)) for _, w in staying]
        minimum = max(low for _, low, _ in reached)
        for index, (entry, walk) in enumerate(staying):
            _, low, slack = reached[index]
            if walk.coordinate and low + slack + Fraction(entry.gain) * self.scale >= minimum:
                reached[index] = self._uphill(walk, walk.coordinate, low, slack)
        minimum = max(low for _, low, _ in reached)
        tied = [candidate for candidate, low, slack in reached if low + slack >= minimum]
        values = [self._gap(candidate) for candidate in tied]
        best = max(range(len(tied)), key=values.__getitem__)
        return CandidateMaximum(values[best], tied[best])

    @property
    def scale(self) -> Fraction:
        """The contest's float unit, exactly."""
        scale = Fraction(2) ** self.moments.frame[1]
        return scale if self.spread.root else scale * scale

    def _uphill(
        self, walk: Walk, coordinate: str, value: Fraction, slack: Fraction
    ) -> tuple[Candidate, Fraction, Fraction]:
        candidate = walk.candidate
        for step in (1, -1):
            index = getattr(candidate, coordinate) + step
            while walk.lowest <= index <= walk.highest:
                other = replace(candidate, **{coordinate: index})
                reached, around = self._difference(other)
                if reached <= value:
                    break
                candidate, value, slack, index = other, reached, around, index + step
        return candidate, value, slack

    def _difference(self, candidate: Candidate) -> tuple[Fraction, Fraction]:
        """``spread(wide) - spread(narrow)`` and a bound on its error (0 for variances)."""
        wide, narrow = self._exact(candidate)
        if not self.spread.root:
            return wide - narrow, Fraction(0)
        bits = 160
        wide_low, wide_high = Root(wide).enclose(bits)
        narrow_low, narrow_high = Root(narrow).enclose(bits)
        low, high = wide_low - narrow_high, wide_high - narrow_low
        return low, high - low

    def _gap(self, candidate: Candidate) -> Fraction | float:
        wide, narrow = self._exact(candidate)
        value = self.spread.gap(wide, narrow)
        return value if wide >= narrow else -value

    def _exact(self, candidate: Candidate) -> tuple[Fraction, Fraction]:
        wide, narrow = candidate.ranges()
        ddof = self.spread.ddof
        return self.moments.variance(wide, ddof), self.moments.variance(narrow, ddof)

    def _variance(self, sums: Floats, squares: Floats, size: int) -> tuple[Floats, float]:
        variance = (squares - sums * sums / size) / (size - self.spread.ddof)
        return variance, self.moments.variance_error(size, self.spread.ddof)

    def _measure(self, variance: Floats) -> Floats:
        if not self.spread.root:
            return variance
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)), dtype=np.float64)


# Families of candidates for the worst pair of neighbours of a variance or a standard deviation.
#
# Notation as in :mod:`tacit.statistics.dispersion_candidates`: ``C`` is shared (``c`` records),
# ``B`` is only in the wide release (``b``), ``A`` only in the narrow one (``a``); ``m = c + b``,
# ``s = c + a``.
#
# Two exchanges are decided by bisection.  Let one coordinate, raised by one, replace in the wide
# release the record ``h`` by a record ``l <= h``.  Its sum of squared deviations grows by
# ``(l - h) X`` with
#
#     X = (l + h) - (2 S + l - h) / m,        S the sum before the step,
#
# so the step gains while ``X < 0``.  At the next step ``l`` and ``h`` are no smaller and ``S`` is
# smaller by ``h - l``: with ``l'``, ``h'`` for the next ones, ``X' - X = (l' - l)(1 - 1/m) + (h' -
# h)(1 + 1/m) + 2 (h - l)/m >= 0``. The value along the coordinate therefore rises and then falls.
# Where the narrow release changes as well (:func:`tails`), with ``alpha = 1/(m - ddof)`` and ``beta
# = 1/(s - ddof)``,
#
#     X = gamma (l + h) + delta (2 S_C + l - h) + lambda,
#     gamma = alpha - beta,  delta = beta/s - alpha/m,
#
# and ``X' - X = (l' - l)(gamma + delta) + (h' - h)(gamma - delta) - 2 delta (h - l) >= 0`` as there
# ``gamma >= 0 >= delta`` and ``gamma + delta >= 0``.
#
# A comparison made in floats can err where ``|X|`` is below the error of ``X``.  All steps between
# the place found and the true optimum then have an ``|X|`` below that error too (``X`` is
# monotone), so that no more is lost than that error times the sum of ``h - l`` over the steps.
# That is at most the number of steps times the range; and ``a`` times the range where ``h`` is the
# record ``a`` ranks above ``l``, as the sum telescopes.  This is the ``loss``.


_CHUNK = 1 << 15
_FEW = 4
_GLANCE = 1024


def windows(
    contest: Contest, retained: int, gained: int, lost: int, anchored: bool = False
) -> None:
    """The narrow release is a window of the population; ``A`` is the best block inside it."""
    # anchored: only the windows that start within the ``p`` lowest records (at most at rank
    # ``p``) or end within the ``b - p`` highest, which suffices where ``C`` is a prefix or a
    #   suffix.
    last = contest.moments.size - retained - lost
    if anchored:
        for low in range(gained + 1):
            ends = [range(min(low, last) + 1), range(max(last - gained + low, 0), last + 1)]
            _offer_windows(contest, retained, gained, lost, np.unique(np.concatenate(ends)), low)
        return
    if lost and last > _CHUNK:  # a first look raises the floor, and most windows drop out
        few = np.unique(np.linspace(0, last, _GLANCE).astype(np.int64))
        for low in range(gained + 1):
            _offer_windows(contest, retained, gained, lost, few, low)
    for start in range(0, last + 1, _CHUNK):
        indices = _distinct_windows(
            contest.moments, retained + lost, start, min(start + _CHUNK, last + 1)
        )
        if lost == 0 and gained > _FEW:
            _spread_outside(contest, retained, gained, indices)
            continue
        for low in range(gained + 1):
            _offer_windows(contest, retained, gained, lost, indices, low)


def _distinct_windows(moments: PrefixMoments, length: int, start: int, stop: int) -> Integers:
    """The windows from ``start`` to ``stop``, without those equal to the one before."""
    indices = np.arange(start, stop)
    raw, first = moments.sample.raw, max(start, 1)
    new = raw[first - 1 : stop - 1] != raw[first + length - 1 : stop + length - 1]
    return np.concatenate((indices[: first - start], indices[first - start :][new]))


def _offer_windows(
    contest: Contest, retained: int, gained: int, lost: int, starts: Integers, low: int
) -> None:
    """Windows from ``starts``, ``B`` the ``low`` lowest and ``gained - low`` highest outside."""
    moments, s, m = contest.moments, retained + lost, retained + gained
    narrow, union = zip(
        *(_window_and_ends(p, starts, s, low, gained - low) for p in _prefixes(moments)),
        strict=True,
    )
    if lost == 0:

        def make_nested(index: int) -> Walk:
            return Walk(
                ReplacedBlocks(moments.size, retained, gained, 0, 0, int(starts[index]), low)
            )

        contest.offer((*union, m), (*narrow, s), make_nested)
        return
    keep = contest.may_win((*union, m + lost), m, (*narrow, s))
    starts = starts[keep]
    if not len(starts):
        return
    total, square = (u[keep] for u in union)
    values, sums, squares = moments.values, moments.sums, moments.squares

    def gains(position: Integers) -> npt.NDArray[np.bool_]:
        rank = starts + position
        l, h = values[rank], values[rank + lost]  # noqa: E741
        totals = total - (sums[rank + lost] - sums[rank])
        return np.asarray(m * (l + h) - (l - h) < 2 * totals)

    position = bisect(np.zeros_like(starts), np.full_like(starts, retained), gains)
    rank = starts + position
    total = total - (sums[rank + lost] - sums[rank])
    square = square - (squares[rank + lost] - squares[rank])

    def make(index: int) -> Walk:
        i = int(starts[index])
        candidate = ReplacedBlocks(moments.size, retained, gained, lost, int(rank[index]), i, low)
        return Walk(candidate, "j", i, i + retained)

    contest.offer(
        (total, square, m),
        (narrow[0][keep], narrow[1][keep], s),
        make,
        _loss(moments, m, contest.spread.ddof, min(retained, lost)),
    )


def _spread_outside(contest: Contest, retained: int, gained: int, starts: Integers) -> None:
    """Nested pairs: every window with the best choice of lowest and highest added to it."""
    moments, m = contest.moments, retained + gained
    values, sums = moments.values, moments.sums
    others = moments.size - retained

    def rank(index: Integers) -> Integers:
        inside = np.where(index < starts, index, index + retained)
        return np.minimum(inside, moments.size - 1)

    def gains(low: Integers) -> npt.NDArray[np.bool_]:
        l, h = values[rank(low)], values[rank(others - gained + low)]  # noqa: E741
        totals = _window_and_ends(sums, starts, retained, low, gained - low)[1]
        return np.asarray(m * (l + h) - (l - h) < 2 * totals)

    low = bisect(np.zeros_like(starts), np.full_like(starts, gained), gains)
    narrow, wide = zip(
        *(_window_and_ends(p, starts, retained, low, gained - low) for p in _prefixes(moments)),
        strict=True,
    )

    def make(index: int) -> Walk:
        candidate = ReplacedBlocks(
            moments.size, retained, gained, 0, 0, int(starts[index]), int(low[index])
        )
        return Walk(candidate, "p", 0, gained)

    loss = _loss(moments, m, contest.spread.ddof, gained)
    contest.offer((*wide, m), (*narrow, retained), make, loss)


def blocks(contest: Contest, retained: int, gained: int, lost: int) -> None:
    """Every window ``A``, every block ``C`` of the others, ``B`` the extremes of what remains."""
    moments = contest.moments
    s, m = retained + lost, retained + gained
    others = moments.size - lost
    i = np.arange(others - retained + 1)
    for p in range(gained + 1):
        q = gained - p
        for j in range(moments.size - lost + 1):
            wide, narrow = [], []
            for prefix in _prefixes(moments):
                a = prefix[j + lost] - prefix[j]
                outer = _without(prefix, j, lost)
                c, both = _window_and_ends(outer, i, retained, p, q)
                narrow.append(c + a)
                wide.append(both)

            def make(index: int, j: int = j, p: int = p) -> Walk:
                return Walk(
                    ReplacedBlocks(moments.size, retained, gained, lost, j, int(i[index]), p)
                )

            contest.offer((wide[0], wide[1], m), (narrow[0], narrow[1], s), make)


def crossed(contest: Contest, retained: int, gained: int, lost: int) -> None:
    """The pairs of case (i) at exactly ``k`` with ``B`` between ``C`` and ``A``, for ``c >= a``."""
    moments = contest.moments
    others = moments.size - lost
    pairs: list[ReplacedBlocks] = []
    for p in range(gained + 1):
        full = others == retained + gained
        for i in range(min(p, others - retained) + 1):
            top = others if full else p + retained
            for j in (*range(i), *range(i + retained + 1, top + 1)):
                pairs.append(ReplacedBlocks(moments.size, retained, gained, lost, j, i, p))
                mirrored = others - retained - i, gained - p
                pairs.append(
                    ReplacedBlocks(moments.size, retained, gained, lost, others - j, *mirrored)
                )
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
        (*totals(wide), retained + gained),
        (*totals(narrow), retained + lost),
        lambda index: Walk(pairs[index]),
    )


def tails(
    contest: Contest,
    retained: int,
    gained: int,
    lost: int,
    steepness: tuple[float, float] | None = None,
) -> None:
    """Every window ``A``; ``B`` and ``C`` the lowest and highest others, ``C`` in one piece."""
    # steepness: the smallest and the largest weight ``theta`` of the narrow variance to serve (for
    #   a standard deviation); None for 1, the variance itself.  ``X`` is linear in ``theta``, so
    #   that its sign change for any weight between lies between those for the two ends.
    moments, m = contest.moments, retained + gained
    last = moments.size - lost
    for low in range(gained + 1):
        zones = {(0, low), (low, low + retained), (low + retained, m)}
        zones = {zone for zone in zones if zone[0] < zone[1]}
        for start in range(0, last + 1, _CHUNK):
            indices = np.arange(start, min(start + _CHUNK, last + 1))
            for zone in sorted(zones):
                _offer_tails(contest, (retained, gained, lost), indices, low, zone, steepness)


def _offer_tails(
    contest: Contest,
    sizes: tuple[int, int, int],
    j: Integers,
    low: int,
    zone: tuple[int, int],
    steepness: tuple[float, float] | None,
) -> None:
    retained, gained, lost = sizes
    moments, ddof = contest.moments, contest.spread.ddof
    s, m, others = retained + lost, retained + gained, moments.size - lost
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

    inside = zone == (low, low + retained)

    error = alpha * (2 * moments.sum_error / m + 32 * UNIT)
    error += (steepness or (1.0,))[-1] * beta * (2 * moments.sum_error / s + 32 * UNIT)

    def bend(t: Integers, weight: float, tolerance: float) -> npt.NDArray[np.bool_]:
        l, h = record(t), record(t + others - m)  # noqa: E741
        x = alpha * (l + h - (2 * part(sums, t, 0, m) + l - h) / m)
        if inside:  # the step changes C, else only B
            narrow = part(sums, t, low, low + retained) + sums[j + lost] - sums[j]
            x = x - weight * beta * (l + h - (2 * narrow + l - h) / s)
        return np.asarray(x < tolerance)

    first, final = np.full_like(j, zone[0]), np.full_like(j, zone[1])
    loss, few = 0.0, zone[1] - zone[0] <= _FEW
    if steepness is None and not few:
        first = final = bisect(first, final, lambda t: bend(t, 1.0, 0.0))
        loss = _loss(moments, m, ddof, zone[1] - zone[0]) + _loss(moments, s, ddof, retained)
    elif steepness is not None and not few:
        ends = [
            bisect(first, final, partial(bend, weight=w, tolerance=e))
            for w in steepness
            for e in (-error, error)
        ]
        first, final = np.minimum.reduce(ends), np.maximum.reduce(ends)
    for t in _between(first, final):
        wide = [part(p, t, 0, m) for p in _prefixes(moments)]
        narrow = [part(p, t, low, low + retained) + p[j + lost] - p[j] for p in _prefixes(moments)]

        def make(index: int, t: Integers = t) -> Walk:
            candidate = Tails(
                moments.size, retained, gained, lost, int(j[index]), low, int(t[index])
            )
            return Walk(candidate, "t", *zone) if loss else Walk(candidate)

        contest.offer((wide[0], wide[1], m), (narrow[0], narrow[1], s), make, loss)


def _between(first: Integers, final: Integers) -> Iterator[Integers]:
    """Every row's places from first to final, all rows at once."""
    index = first
    yield index
    while bool((index < final).any()):
        index = np.minimum(index + 1, final)
        yield index


def _prefixes(moments: PrefixMoments) -> tuple[Floats, Floats]:
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


def _loss(moments: PrefixMoments, size: int, ddof: int, steps: int) -> float:
    """Bound the error of a variance from misjudged comparisons, over ``steps`` ranges ``h - l``."""
    error = 2 * moments.sum_error / size + 32 * UNIT
    return 2 * steps * error / (size - ddof)


# The largest change of a variance or a standard deviation by one move, over a known population.
#
# A move leads from ``x`` to ``y``.  Let ``T`` be the one with the larger spread and ``W`` the
# other, ``C`` what they share, ``B`` and ``A`` what only ``T`` and only ``W`` has; ``c``, ``b``,
# ``a`` their sizes, ``m = c + b``, ``s = c + a``, ``F`` the records in neither, and ``SS`` the sum
# of squared deviations from the mean.  With ``alpha = 1/(m - ddof)`` and ``beta = 1/(s - ddof)``
# the question is to maximise
#
#     f = alpha SS(C + B) - theta beta SS(C + A),        theta = 1 for the variance.
#
# **Standard deviation.**  Let ``h`` be the largest ``sd(T) - sd(W)``.  The pairs ``(V(W), V(T))``
# all lie below the curve ``(h + sqrt(V(W)))**2 = V(W) + 2 h sqrt(V(W)) + h**2``, which is concave,
# so that at an optimum they lie below its tangent: the optimum maximises ``V(T) - theta V(W)`` with
# ``theta = sd(T)/sd(W) >= 1``.  What holds for the maximisers of ``f`` for every ``theta >= 1``
# holds for it.
#
# The maximum is continuous in the records, so that it is enough to argue for distinct records in
# general position, with ``m >= 2`` (else ``f <= 0``).  Write ``mu_T``, ``mu_W`` for the means.
#
# *Spreading apart.*  If, all else fixed, ``f`` as a function of one record of a block is strictly
# convex, no such record lies between two others that could take its position: moving it to one of
# the two would be better.  *Closing in.*  If ``f`` as a function of a block ``X`` is
# ``-sum x**2 g + d (sum x)**2 + l sum x`` with ``g > 0``, ``d >= 0``, then ``f`` is at least its
# linearisation in ``sum x`` at the optimum and equal to it there, so that the optimum maximises the
# linearisation too, ``-g sum (x - v)**2`` up to a constant: ``X`` consists of the records nearest
# to some ``v``, and no record that could take the position of another lies between two of them.
#
# 1. ``B`` against ``F``: spreading apart (second derivative ``2 alpha (1 - 1/m)``).
# 2. ``A`` against ``F``: closing in around ``mu_W`` (``g = theta beta``, ``d = theta beta/s``).
# 3. ``A`` against ``B``, ``A + B`` fixed: as a function of ``B``, spreading apart
#    (``2 (alpha + theta beta - alpha/m + theta beta/s) > 0``): no ``B`` between two of ``A``.
# 4. ``A`` against ``C``, ``A + C`` and ``B`` fixed: only ``SS(C + B)`` changes, ``C`` spreads
# apart:
#    no ``C`` between two of ``A``.
# 5. ``C`` against ``B``, ``C + B`` and ``A`` fixed: only ``SS(C + A)`` changes, ``C`` closes in
#    around ``mu_W``: no ``B`` between two of ``C``.
#
# By 2, 3 and 4 **``A`` is a window of the population**.  By 1 and 5, among the other records ``B``
# is the ``p`` lowest and the ``b - p`` highest of all but ``C``, and ``C`` has no ``B`` inside.
# What remains is ``C`` against ``F``: ``f`` is ``gamma sum c**2 + delta (sum c)**2 + ...`` with
# ``gamma = alpha - theta beta``, ``delta = theta beta/s - alpha/m``.
#
# **(i) m >= s, or theta >= s (s - ddof)/(m (m - ddof)).**  Then ``gamma <= 0 <= delta`` (both 0
# only if ``f`` is linear in ``C``, which is then a prefix or a suffix of ``C + F``): ``C`` closes
# in, and with no ``B`` inside it is one block of the others:
# :func:`~tacit.statistics.dispersion_candidates.blocks`, all of which are enumerated,
# ``O(N**2 b)``.
#
# *Within k* this is quicker.  Take an optimum of the smallest distance.  No ``b`` is nearer to
# ``mu_W`` than some ``a``, or else ``W`` with ``b`` for ``a`` has less spread, at a distance
# smaller by two (one substitution): so no ``B`` lies between two records of ``W``, by 5.  An ``F``
# inside ``W`` is not inside ``C``, nor inside ``A``, so it lies between all of ``C`` and all of
# ``A``, say ``C < F < A``.  Since ``A`` is nearer to ``mu_W`` than that record ``z`` (2), ``mu_W >
# z``, and the ``a`` deviations above, each at most ``mu_W - z``, balance the ``c`` deviations
# below, each more than ``mu_W - z``: so ``c < a``.  Hence **if c >= a, W is a window**, ``B`` the
# ``p`` lowest and ``b - p`` highest outside it, and ``A`` a block inside it, at the best place by
# bisection: :func:`~tacit.statistics.dispersion_candidates.windows`, ``O(N b log c)``.
# Nested pairs (``a = 0``) are of this kind in any case, also at exactly ``k``, and ``p`` is found
# by bisection: ``O(N log b)``.  For the variance under substitution ``f`` is linear in ``C``
# (``gamma = delta = 0``), a prefix or suffix of ``C + F``; if ``F`` lies above ``C``, then the
# window ``W`` starts at rank ``p`` or, if ``C`` lies inside the lowest of ``B``, before it; and
# mirrored: ``O(b**2)`` windows.
#
# *Exactly k, c >= a*: ``B`` may lie between ``C`` and ``A``, but still no ``F`` does.  Where no
# ``B`` does, ``W`` is a window.  Else ``C`` stands among or right above the lowest of ``B`` and
# ``A`` is below all ``F`` (or there is no ``F``), or mirrored:
# :func:`~tacit.statistics.dispersion_candidates.crossed`, ``O(b**3)`` pairs.
#
# **(ii) m < s and gamma + delta >= 0.**  There ``gamma > 0 >= delta``, and ``C`` spreads apart
# against ``F``, as does ``B``: ``B + C`` are the ``t`` lowest and ``m - t`` highest of the records
# outside ``A``, and ``C``, with no ``B`` inside, is the ``p``-th of
# these and the following: :func:`~tacit.statistics.dispersion_candidates.tails`, ``t`` by
# bisection, ``O(N b log m)``.  The condition:
#
# * variance: ``gamma + delta = (m - 1)/(m (m - ddof)) - (s - 1)/(s (s - ddof))``, which is ``1/m -
#   1/s > 0`` for ``ddof = 1`` and, for ``ddof = 0``, positive as ``(x - 1)/x**2`` falls from ``x =
#   2`` on.  So (i) and (ii) are all cases of the variance.
# * standard deviation, ``B`` empty: ``SS(T) <= SS(W)``, so ``theta**2 <= (s - ddof)/(m - ddof)``.
#   For ``ddof = 0`` the condition ``theta <= (m - 1) s**2/((s - 1) m**2)`` follows from ``(s -
#   1)/s**1.5 <= (m - 1)/m**1.5``, true for ``3 <= m < s`` where ``(x - 1)/x**1.5`` falls; for
#   ``ddof = 1`` the condition ``theta <= s/m`` follows from ``m**2/(m - 1) <= s**2/(s - 1)``.  For
#   ``ddof = 0``, ``m = 2`` let ``T = {x, y}``, ``x < y``: raising ``y`` changes ``sd(T)`` by
#   ``1/2`` and ``sd(W)`` by ``(y - mu_W)/(s sd(W))``, which is at most ``1/2`` as ``SS(W) >= (y -
#   mu_W)**2 s/(s - 1)`` and ``s**2 >= 4 (s - 1)``.  So ``x`` and ``y`` are the lowest and highest
#   outside ``A``: ``t = 1``. There ``t`` is enumerated between its optima for the smallest and for
#   the largest ``theta``.
# * standard deviation, ``0 < b < a``: where ``theta <= s (s - ddof) (m - 1)/(m (m - ddof) (s -
#   1))``, (ii) holds; where it is at least ``s (s - ddof)/(m (m - ddof))``, (i) does.  **Between
#   the two there is no proof**; but there the difference is ``sd(T) (1 - 1/theta)``, at most the
#   largest standard deviation of ``m`` records times ``1 - m (m - ddof)/(s (s - ddof))``.  Where
#   this bound does not exceed what was found elsewhere, the answer is exact; otherwise every ``C``
#   is listed (:mod:`~tacit.statistics.dispersion`) where that is feasible, and else only an upper
#   bound is known.
#
# Where a variance is 0 or ``s = 1`` the arguments hold by continuity, or because ``W`` then has no
# spread of its own to lose and ``B`` alone decides (1).


_MAX_STEPS = 1 << 28  # how many places are enumerated where ``t`` cannot be found by bisection
_MAX_PAIRS = 1 << 31  # how many pairs of windows and blocks are examined (about 20 seconds)


def widen(contest: Contest, retained: int, gained: int, lost: int, within: bool) -> float:
    """Offer what may be the worst pair with ``spread(T) > spread(W)`` by one move."""
    # Returns: an upper bound on the pairs that no proof covers, in the contest's float unit;
    # ``-inf`` where all are covered.
    m, s, ddof = retained + gained, retained + lost, contest.spread.ddof
    if m < 2:
        return -math.inf
    if gained >= lost:
        return _closing_in(contest, retained, gained, lost, within)
    if not contest.spread.root:
        if gained or _largest_fall(contest, retained, s) >= contest.floor:
            tails(contest, retained, gained, lost)
        return -math.inf
    return _root_with_fewer(contest, retained, gained, lost, within, ddof)


def _closing_in(contest: Contest, retained: int, gained: int, lost: int, within: bool) -> float:
    """Case (i) of the argument; returns a bound where there are too many pairs to look at."""
    if lost and retained < lost:
        if contest.moments.size**2 * (gained + 1) > _MAX_PAIRS:
            windows(contest, retained, gained, lost)
            return bound_of_move(contest, retained, gained, lost)
        blocks(contest, retained, gained, lost)
        return -math.inf
    linear = within and gained == lost and not contest.spread.root
    windows(contest, retained, gained, lost, anchored=linear)
    if lost and not within:
        crossed(contest, retained, gained, lost)
    return -math.inf


def bound_of_move(contest: Contest, retained: int, gained: int, lost: int) -> float:
    """An upper bound on the change by a move, in the contest's float unit."""
    # ``f <= (alpha - beta) SS(C) + alpha SS(B) + (alpha c b/m) (difference of means)**2``, since
    # ``A`` never lowers ``SS``; and ``sd(T) - sd(W) <= sqrt(V(T) - V(W))``.
    values, ddof = contest.moments.values, contest.spread.ddof
    width = float(values[-1] - values[0]) * (1 + 1e-12)
    change = max_change(retained, gained, lost, ddof) * width**2
    return math.sqrt(change) if contest.spread.root else change


def max_change(retained: int, gained: int, lost: int, ddof: int) -> float:
    """A bound on the change of variance by a move, in units of the squared range."""
    m, s = retained + gained, retained + lost
    if m <= ddof or s <= ddof:
        return 0.0
    alpha, beta = 1 / (m - ddof), 1 / (s - ddof)
    spread = (
        max(alpha - beta, 0) * retained / 4 + alpha * gained / 4 + alpha * retained * gained / m
    )
    return spread * (1 + 1e-12)


def _root_with_fewer(
    contest: Contest, retained: int, gained: int, lost: int, within: bool, ddof: int
) -> float:
    """A standard deviation that rises although the release gets smaller."""
    m, s = retained + gained, retained + lost
    steps = contest.moments.size * (gained + 1) * m
    if gained == 0:
        fall = _largest_fall(contest, retained, s)
        if fall < contest.floor:
            return -math.inf
        if steps > _MAX_STEPS:
            return fall
        tails(contest, retained, 0, lost, (1.0, math.sqrt((s - ddof) / (m - ddof)) * (1 + 1e-12)))
        return -math.inf
    steep = s * (s - ddof) / (m * (m - ddof))
    missed = _closing_in(contest, retained, gained, lost, within)
    bound = _largest(contest, m) * (1 - 1 / steep) * (1 + 1e-12)
    if bound >= contest.floor and steps <= _MAX_STEPS:
        tails(contest, retained, gained, lost, (1.0, steep * (m - 1) / (s - 1) * (1 + 1e-12)))
    return max(missed, bound if bound >= contest.floor else -math.inf)


def _largest_fall(contest: Contest, retained: int, size: int) -> float:
    """An upper bound on ``spread(C) - spread(C + A)``: adding records never lowers ``SS``."""
    ddof = contest.spread.ddof
    ratio = (retained - ddof) / (size - ddof)
    share = 1 - (math.sqrt(ratio) if contest.spread.root else ratio)
    return _largest(contest, retained) * share * (1 + 1e-12)


def _largest(contest: Contest, size: int) -> float:
    """An upper bound on the spread of ``size`` records: some lowest and the highest are worst."""
    moments = contest.moments
    values, sums, squares = moments.values, moments.sums, moments.squares
    total = moments.size

    def gains(low: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        l, h = values[low], values[total - size + low]  # noqa: E741
        totals = sums[low] + sums[total] - sums[total - size + low]
        return np.asarray(size * (l + h) - (l - h) < 2 * totals)

    start = np.zeros(1, dtype=np.int64)
    low = bisect(start, start + size, gains) if total > size else start
    high = total - size + low
    totals = sums[low] + sums[total] - sums[high]
    square = squares[low] + squares[total] - squares[high]
    variance = float((square - totals * totals / size)[0]) / (size - contest.spread.ddof)
    error = 4 * size * moments.sum_error / (size - contest.spread.ddof)
    variance += error + moments.variance_error(size, contest.spread.ddof)
    return math.sqrt(variance) if contest.spread.root else variance
