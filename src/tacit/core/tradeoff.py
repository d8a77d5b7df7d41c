"""Trade-off curves: of two distributions, of a measurement, and Gaussian DP."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

from tacit import plotting
from tacit.arithmetic.enclosure import Enclosure, exp
from tacit.arithmetic.exact import Number, as_fraction, read_probability, show, show_between
from tacit.arithmetic.roots_and_bisection import narrowed
from tacit.arithmetic.special_functions import normal_cdf
from tacit.calls import public
from tacit.core.divergences import distribution
from tacit.display.card import Card, CardTable, Shown
from tacit.errors import InfeasibleError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The trade-off curve of two output distributions (f-DP): what a test between them can reach.


Outcome = TypeVar("Outcome", bound=Hashable)

_ZERO, _ONE = Fraction(0), Fraction(1)


@public
@dataclass(frozen=True)
class Tradeoff:
    """The smallest type II error of a test of P against Q, for every type I error.

    An attacker who guesses "P" or "Q" from an output says "Q" wrongly with probability alpha and
    "P" wrongly with probability beta.  The best tests reject P where ``q / p`` is largest (Neyman
    and Pearson), so the curve is convex, and straight between the points where one more outcome is
    rejected.

    For any test, of rejection probabilities f(x), and any slope l not below zero,
    ``beta + l alpha = 1 - sum f (q - l p) >= 1 - sum max(0, q - l p)``; the enclosure takes its
    lower end from these lines, and its upper end from the tests themselves.

    Source: J. Dong, A. Roth, W. Su, "Gaussian differential privacy", JRSS B 2022.

    Example:
        >>> curve = Tradeoff.of({0: "3/4", 1: "1/4"}, {0: "1/4", 1: "3/4"})
        >>> curve.points()
        ((Fraction(0, 1), Fraction(1, 1)), (Fraction(1, 4), Fraction(1, 4)), (Fraction(1, 1),
        Fraction(0, 1)))
        >>> curve("1/8") == Enclosure.of(Fraction(5, 8))
        True
    """

    masses: tuple[tuple[Enclosure, Enclosure], ...]

    @classmethod
    def of(cls, p: Mapping[Outcome, Number], q: Mapping[Outcome, Number]) -> Tradeoff:
        """Return the curve of two explicit distributions.

        Args:
            p: the probability of each outcome, which sum to one.
            q: those of another distribution.

        Raises:
            UsageError: probabilities that are negative or do not sum to one.
        """
        left, right = distribution(p), distribution(q)
        nothing = Enclosure.of(0)
        pairs = [(left.get(x, nothing), right.get(x, nothing)) for x in {**left, **right}]
        possible = [(a, b) for a, b in pairs if a.upper > 0 or b.upper > 0]
        certain = [pair for pair in possible if pair[0].upper <= 0]
        others = [pair for pair in possible if pair[0].upper > 0]
        others.sort(key=lambda pair: pair[1].middle / pair[0].middle, reverse=True)
        return cls((*certain, *others))

    def points(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """Return the corners (alpha, beta) of the curve from above, from (0, 1) on."""
        alpha, beta = _ZERO, _ONE
        points = [(alpha, beta)]
        for a, b in self.masses:
            alpha, beta = min(alpha + a.upper, _ONE), max(beta - b.lower, _ZERO)
            points.append((alpha, beta))
        return tuple(dict.fromkeys(points))

    def __call__(self, alpha: Number) -> Enclosure:
        """Enclose the smallest type II error at a type I error ``alpha``.

        Raises:
            UsageError: an alpha outside 0..1.
        """
        level = read_probability(alpha, "alpha")
        return Enclosure(min(self._below(level), self._above(level)), self._above(level))

    def _above(self, alpha: Fraction) -> Fraction:
        corners = self.points()
        best = min((b for a, b in corners if a <= alpha), default=_ONE)
        for (a0, b0), (a1, b1) in itertools.pairwise(corners):
            if a0 <= alpha < a1:
                best = min(best, b0 + (b1 - b0) * (alpha - a0) / (a1 - a0))
        return best

    def _below(self, alpha: Fraction) -> Fraction:
        slopes = {_ZERO} | {b.middle / a.middle for a, b in self.masses if a.middle > 0}
        lines = (1 - slope * alpha - self._most(slope) for slope in slopes)
        return max(_ZERO, max(lines))

    def _most(self, slope: Fraction) -> Fraction:
        return sum((max(_ZERO, b.upper - slope * a.lower) for a, b in self.masses), _ZERO)


# A privacy profile asked at a few epsilons, and a bound on it everywhere between.
#
# As a function of ``x = e^epsilon`` the profile ``delta = E max(0, p - x q)`` is convex, falls from
# at most one, and never faster than x grows.  So what is known at a few points bounds it between
# them: it lies below each chord, and above the chords next to it, drawn on.

_BITS = 128


@dataclass(frozen=True)
class ProfilePoints:
    """A profile that remembers where it was asked."""

    # from an epsilon that is not negative to an enclosure of the smallest delta there
    delta: Callable[[Fraction], Enclosure]
    # the same for several in rising order, where that is faster than one by one
    deltas: Callable[[Sequence[Fraction]], Sequence[Enclosure]] | None = None
    _known: dict[Fraction, Enclosure] = field(default_factory=dict)

    def at(self, epsilon: Fraction) -> Enclosure:
        """Enclose delta at an epsilon; the same one is computed once."""
        if epsilon not in self._known:
            self._note(epsilon, self.delta(epsilon))
        return self._known[epsilon]

    def ask(self, epsilons: Iterable[Fraction]) -> None:
        """Enclose delta at several epsilons at once, to be answered by :meth:`at`."""
        new = sorted(set(epsilons) - self._known.keys())
        if self.deltas is not None and new:
            for epsilon, delta in zip(new, self.deltas(new), strict=True):
                self._note(epsilon, delta)

    def _note(self, epsilon: Fraction, delta: Enclosure) -> None:
        self._known[epsilon] = Enclosure(max(delta.lower, _ZERO), min(delta.upper, _ONE))

    @property
    def epsilons(self) -> list[Fraction]:
        """Where it was asked, rising."""
        return sorted(self._known)


class Concave:
    """A concave function on an interval, enclosed at a few points: the most that it can be.

    >>> bumpy = Concave((Fraction(-1), Fraction(1)))
    >>> for place in (0, 1, 2):
    ...     bumpy.add(Fraction(place), Enclosure.of(1 - abs(place - 1)))
    >>> float(bumpy.lower_bound), float(bumpy.most()[0])
    (1.0, 1.0)
    """

    # A point is a pair of a place and an enclosure of the value there.  Right of a point the
    # function lies under the line through it and the point before, and left of it under that
    # through it and the next: with the ends of the enclosures that make the line the higher.

    def __init__(self, slopes: tuple[Fraction, Fraction]) -> None:
        self._slopes = slopes
        self.points: list[tuple[Fraction, Enclosure]] = []

    def add(self, position: Fraction, value: Enclosure) -> None:
        """Note the value at a place."""
        self.points = sorted([*self.points, (position, value)], key=lambda point: point[0])

    @property
    def lower_bound(self) -> Fraction:
        """Lower bound of the largest value."""
        return max(value.lower for _, value in self.points)

    def most(self) -> tuple[Fraction, Fraction]:
        """Return what the function is at most between its points, and where it could be that."""
        cells = (self._cell(i) for i in range(len(self.points) - 1))
        return max(cells, key=lambda cell: cell[0])

    def rising(self) -> Fraction:
        """Return what the slope is at most from the last point on."""
        return self._slope(len(self.points) - 1)

    def _slope(self, index: int) -> Fraction:
        """Return what the slope right of a point is at most."""
        if index == 0:
            return self._slopes[1]
        (a, before), (b, here) = self.points[index - 1], self.points[index]
        return min(self._slopes[1], (here.upper - before.lower) / (b - a))

    def _fall(self, index: int) -> Fraction:
        """Return what the function grows at most from a point to the left."""
        if index == len(self.points) - 1:
            return -self._slopes[0]
        (a, here), (b, after) = self.points[index], self.points[index + 1]
        return min(-self._slopes[0], (here.upper - after.lower) / (b - a))

    def _cell(self, index: int) -> tuple[Fraction, Fraction]:
        (a, left), (b, right) = self.points[index], self.points[index + 1]
        rise, fall = self._slope(index), self._fall(index + 1)
        if rise <= 0:
            return left.upper, a
        if fall <= 0:
            return right.upper, b
        # left.upper + rise (t - a) = right.upper + fall (b - t)
        meeting = (right.upper - left.upper + rise * a + fall * b) / (rise + fall)
        point = min(max(meeting, a), b)
        return min(left.upper + rise * (point - a), right.upper + fall * (b - point)), point


def power_of(epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """Return a number next to ``e^epsilon``, and how far from it at most."""
    enclosed = exp(epsilon, _BITS)
    return enclosed.upper, enclosed.width


def epsilon_near(power: Fraction) -> Fraction:
    """Return a short epsilon about the logarithm of a number that is at least one."""
    near = math.log(power.numerator) - math.log(power.denominator)
    return Fraction(round(near * (1 << 24)), 1 << 24)


# The trade-off function that a release guarantees (f-DP), from its privacy profile.
#
# Someone who sees a release and guesses which of two neighbours it came from takes the first for
# the second with probability alpha (a false alarm), and the second for the first with probability
# beta (a miss).  A release is f-DP if no test, on no pair of neighbours, has ``beta < f(alpha)``.
# It is ``(epsilon, delta(epsilon))``-DP for all ``epsilon >= 0`` exactly if it is f-DP for
#
#     f(alpha) = max over epsilon of
#                max(0, 1 - delta - e^epsilon alpha, e^-epsilon (1 - delta - alpha))
#
# (J. Dong, A. Roth, W. Su, "Gaussian differential privacy", JRSS B 2022, proposition 2.13), and so,
# with the smallest deltas there are, f is the largest symmetric function that it guarantees.
#
# **Enclosure.**  Any epsilon gives a bound from below, by the upper end of its delta.  From above:
# with ``x = e^epsilon`` the profile is convex, so ``1 - delta - x alpha`` is concave in x, with
# slopes from ``-alpha`` to ``1 - alpha`` (the slope of delta is minus a probability).  So is ``y (1
# - delta - alpha)`` in ``y = 1 / x``: y times a convex function of ``1 / y`` is convex, and the
# slope of ``y delta`` is a probability too.  What a concave function is at a few points bounds it
# between them (:class:`~tacit.core.tradeoff.Concave`); points are added where it
# could be largest, until the two bounds meet.

_STARTS = tuple(Fraction(n, 16) for n in (0, 1, 4, 16, 64))
_MAX_POINTS = 48
_CLOSE = Fraction(1, 10**6)
_DRAWN = Fraction(1, 10**3)
_LARGEST = Fraction(1 << 12)
_LEVELS = tuple(Fraction(n, 100) for n in (1, 5, 10, 25, 50))


@public
@dataclass(frozen=True, repr=False)
class TradeoffFunction(Shown):
    """The smallest miss rate at each rate of false alarms, over all tests and all neighbours.

    Attributes:
        profile: the privacy profile that it follows from.

    Example:
        >>> from tacit.core import AbsoluteDistance, Space
        >>> from tacit.core import Number as Numbers
        >>> from tacit.mechanisms import Laplace
        >>> m = Space(Numbers("int"), AbsoluteDistance()) >> Laplace(2)
        >>> f = m.tradeoff()
        >>> f.beta("0.05")
        0.917563936464 to 0.917563936465
        >>> f.beta(0), f.beta(1)
        (1, 0)
    """

    profile: ProfilePoints

    def beta(self, alpha: Number) -> Enclosure:
        """Enclose the smallest type II error (a miss) at a type I error (false alarm) ``alpha``.

        No test has less than the lower end.  No symmetric guarantee is above the upper end, where
        some pair of neighbours is known to have these losses; else that end is ``1 - alpha``.
        At alpha 0 it can be 1 where a loss may be infinite: no finite epsilon tells.

        Args:
            alpha: the rate of false alarms, from 0 to 1.

        Raises:
            UsageError: an alpha outside 0..1.
        """
        level = read_probability(alpha, "alpha")
        return self._beta(level, _CLOSE)

    def points(self, count: int = 41) -> tuple[tuple[Fraction, Fraction], ...]:
        """Return ``count`` points (alpha, beta) that no test lies below, from (0, 1) on.

        Args:
            count: how many points.
        """
        levels = [Fraction(i, count - 1) for i in range(count)]
        return tuple((level, self._beta(level, _DRAWN).lower) for level in levels)

    def _beta(self, alpha: Fraction, close: Fraction) -> Enclosure:
        if alpha == 1:
            return Enclosure.of(0)
        many, few = _Falling(self.profile, alpha), _Mirrored(self.profile, alpha)
        for _ in range(_MAX_POINTS):
            minimum = max(many.values.lower_bound, few.values.lower_bound, _ZERO)
            high, where = max(many.most(), few.most(), key=lambda maximum: maximum[0])
            if high - minimum <= close or where is None:
                break
            if not self._refined(many, few, where):
                break
        minimum = max(many.values.lower_bound, few.values.lower_bound, _ZERO)
        maximum = max(many.most()[0], few.most()[0], minimum)
        return Enclosure(minimum, max(minimum, min(maximum, 1 - alpha)))

    def _refined(self, many: _Falling, few: _Mirrored, epsilon: Fraction) -> bool:
        """Ask the profile at a new epsilon; False where it was asked there before."""
        if epsilon in many.epsilons:
            return False
        many.ask(epsilon)
        few.ask(epsilon)
        return True

    def plot(self) -> Figure:
        """Draw the curve next to guessing, with the odds of some tests in words.

        Returns:
            A matplotlib Figure.

        Raises:
            MissingExtraError: matplotlib is not installed.
        """
        self.points()  # asks for the profile where the curve needs it
        figure: Figure = plotting.figure(5.2, 5.4)
        one = plotting.axes(figure, 1, 1)[0][0]
        corners = self._corners()
        alphas, betas = ([float(p[i]) for p in corners] for i in (0, 1))
        one.fill_between(alphas, 0, betas, color=plotting.FAINT, alpha=0.5, linewidth=0)
        one.plot(alphas, betas, color=plotting.ACCENT, linewidth=1.8, label="the best attack")
        label = "guessing without looking"
        one.plot([0, 1], [1, 0], color=plotting.MUTED, linewidth=1, linestyle=":", label=label)
        one.set_xlim(0, 1)
        one.set_ylim(0, 1)
        one.set_aspect("equal")
        one.set_xlabel("false alarm: takes a data set without the person for one with")
        one.set_ylabel("miss: takes a data set with the person for one without")
        one.legend(frameon=False, fontsize=9)
        plotting.title(one, "what no test can reach is shaded", self.sentence("0.05"))
        return figure

    def _corners(self) -> list[tuple[Fraction, Fraction]]:
        """Return the corners of a curve that no test lies below, straight between them."""
        # Each epsilon that was asked gives two lines that no test lies below, and beta is not
        # negative: the curve is the largest of all these.  It lies below the trade-off function,
        # also where that has a kink, and touches it where the lines do.
        lines = [(_ZERO, _ZERO)]  # the slope downwards, and the height at alpha zero
        for epsilon in self.profile.epsilons:
            left, x = 1 - self.profile.at(epsilon).upper, power_of(epsilon)[0]
            lines += [(x, left), (1 / x, left / x)]
        return _highest(lines)

    def sentence(self, alpha: Number) -> str:
        """Describe what the curve guarantees at a rate of false alarms.

        Args:
            alpha: the rate of false alarms, from 0 to 1.

        >>> nothing = TradeoffFunction(ProfilePoints(lambda epsilon: Enclosure.of(0)))
        >>> nothing.sentence("0.05")
        'an attack with 5% false alarms misses at least 95.0%'
        """
        level = as_fraction(alpha, "alpha")
        miss = int(self.beta(level).lower * 1000)
        return (
            f"an attack with {show(100 * level)}% false alarms misses at least "
            f"{miss // 10}.{miss % 10}%"
        )

    def card(self) -> Card:
        """Return what a notebook displays: the least miss rate at some rates of false alarms."""
        levels = [(level, self._beta(level, _DRAWN)) for level in _LEVELS]
        rows = [[show(a), show_between(b.lower, b.upper)] for a, b in levels]
        table = CardTable(["false alarms (alpha)", "misses at least (beta)"], rows, names=1)
        return Card("Trade-off function", parts=[table])

    def __repr__(self) -> str:
        return "<TradeoffFunction: .beta(alpha), .points(), .plot()>"


class _Falling:
    """``1 - delta - x alpha`` at ``x = e^epsilon``, for x from one on."""

    def __init__(self, profile: ProfilePoints, alpha: Fraction) -> None:
        self.profile, self.alpha = profile, alpha
        self.epsilons: set[Fraction] = set()
        self.values = Concave((-alpha, 1 - alpha))
        profile.ask(_STARTS)
        for epsilon in sorted({*_STARTS, *profile.epsilons}):
            self.ask(epsilon)

    def ask(self, epsilon: Fraction) -> None:
        """Note the value at an epsilon: its place is rounded, and moves it by as much at most."""
        self.epsilons.add(epsilon)
        delta, (x, off) = self.profile.at(epsilon), power_of(epsilon)
        moved = off if self.alpha or delta.upper else _ZERO
        self.values.add(x, _widened(1 - delta - x * self.alpha, moved))

    def most(self) -> tuple[Fraction, Fraction | None]:
        """Return what the largest value is at most, and the epsilon to ask at next."""
        high, point = self.values.most()
        where: Fraction | None = epsilon_near(point)
        last, value = self.values.points[-1]
        if self.values.rising() > 0 and value.upper > high - _CLOSE:
            beyond = max(1 - last * self.alpha, value.upper)
            if beyond >= high:
                farther = 2 * max(self.epsilons)
                high, where = beyond, farther if farther <= _LARGEST else None
        return high, where


class _Mirrored:
    """``y (1 - delta - alpha)`` at ``y = e^-epsilon``, for y from zero to one."""

    def __init__(self, profile: ProfilePoints, alpha: Fraction) -> None:
        self.profile, self.alpha = profile, alpha
        self.values = Concave((-alpha, 1 - alpha))
        self.values.add(_ZERO, Enclosure.of(0))
        for epsilon in sorted({*_STARTS, *profile.epsilons}):
            self.ask(epsilon)

    def ask(self, epsilon: Fraction) -> None:
        """Note the value at an epsilon."""
        delta, (x, off) = self.profile.at(epsilon), power_of(epsilon)
        self.values.add(1 / x, _widened((1 - delta - self.alpha) / x, off))

    def most(self) -> tuple[Fraction, Fraction | None]:
        """Return what the largest value is at most, and the epsilon to ask at next."""
        high, point = self.values.most()
        return high, epsilon_near(1 / point) if point else 2 * max(self.profile.epsilons)


def _highest(lines: list[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
    """Return the corners from 0 to 1 of the largest of falling lines, each a slope and a height.

    >>> lines = [(Fraction(3), Fraction(1)), (Fraction(1, 3), Fraction(1, 3)), (_ZERO, _ZERO)]
    >>> [(str(alpha), str(beta)) for alpha, beta in _highest(lines)]
    [('0', '1'), ('1/4', '1/4'), ('1', '0')]
    """
    hull: list[tuple[Fraction, Fraction]] = []
    starts: list[Fraction] = []  # from which alpha each one is the largest
    for slope, height in sorted(lines, key=lambda line: (-line[0], -line[1])):
        start = _ZERO
        while hull:
            steep, high = hull[-1]
            start = (high - height) / (steep - slope) if steep > slope else _ONE + 1
            if start > starts[-1] or start > 1:
                break
            hull.pop()
            starts.pop()
            start = _ZERO
        if start <= 1:
            hull.append((slope, height))
            starts.append(start)
    corners = [(a, height - slope * a) for a, (slope, height) in zip(starts, hull, strict=True)]
    return corners if corners[-1][0] == 1 else [*corners, (_ONE, hull[-1][1] - hull[-1][0])]


def _widened(value: Enclosure, by: Fraction) -> Enclosure:
    return Enclosure(value.lower - by, value.upper + by)


# Gaussian differential privacy: the mu of the Gaussian release that a release stays below.
#
# The profile of a Gaussian number whose mean moves by mu standard deviations is
#
#     G(mu, epsilon) = Phi(mu / 2 - epsilon / mu) - e^epsilon Phi(-mu / 2 - epsilon / mu)
#
# (Balle and Wang, ICML 2018, theorem 8).  A release is mu-GDP if its delta is at most this at every
# ``epsilon >= 0`` (Dong, Roth, Su, "Gaussian differential privacy", JRSS B 2022, corollary 2.13).
#
# **Every epsilon, from a few.**  Both profiles are convex in ``x = e^epsilon``.  Between two points
# that of the release is at most its chord, and G is at least any of its tangents; the slope of G in
# x is ``-Phi(-mu / 2 - epsilon / mu)``.  So it is enough that a tangent of G lies above both ends
# of each chord.  The points go to an epsilon at which the delta of the release is at most the delta
# that is forgiven; from there on there is nothing to show.  What is found in floats is certified in
# enclosures; where cells between two points ask for more than the points, they are halved.


_MU_ZERO = Fraction(0)
_CELLS = 16
_MU_MOST_POINTS = 96
_MU_CLOSE = 2.0**-9
_GROWTH = 2.0**-30
_MU_BITS = 320
_FARTHEST = 600
_LARGEST_MU = 64.0
_STEPS = 60


def min_mu(profile: ProfilePoints, end: Fraction, forgiven: Fraction) -> Enclosure:
    """Enclose the smallest mu whose Gaussian profile is nowhere below that of a release.

    >>> from tacit.core.losses.distribution import dominating_pair
    >>> one = dominating_pair(Fraction(1))
    >>> found = min_mu(ProfilePoints(one.delta), Fraction(1), Fraction(0))
    >>> round(float(found.lower), 3), round(float(found.upper), 2)
    (1.232, 1.23)
    """
    if end > _FARTHEST:
        raise InfeasibleError(
            f"an epsilon of more than {_FARTHEST} is too large to be stated as that of a Gaussian"
        )
    if end == 0 or profile.at(_MU_ZERO).upper <= forgiven:
        return Enclosure.of(0)
    points = {end * i / _CELLS for i in range(_CELLS + 1)}
    while True:
        profile.ask(points)
        cells = list(itertools.pairwise(sorted(points)))
        requests = [_of_cell(profile, *cell) for cell in cells]
        worst = max(range(len(cells)), key=lambda i: requests[i])
        low = max(_of_point(e, profile.at(e).lower) for e in points)
        # no points between bring the bound below what the points themselves ask for
        enough = max(_of_point(e, profile.at(e).upper) for e in points) * (1 + _MU_CLOSE)
        if requests[worst] <= enough or len(points) >= _MU_MOST_POINTS:
            break
        wide = [cell for cell, mu in zip(cells, requests, strict=True) if mu > enough]
        halves = {((a + b) / 2).limit_denominator(1 << 40) for a, b in wide} - points
        if not halves:
            break
        points |= halves
    return Enclosure(
        _certified_low(profile, points, low), _certified(profile, cells, requests[worst])
    )


def _certified(
    profile: ProfilePoints, cells: Iterable[tuple[Fraction, Fraction]], near: float
) -> Fraction:
    """Return a mu near one in floats at which every cell holds, in enclosures."""
    growth = _GROWTH
    pairs = list(cells)
    while True:
        mu = Fraction(near * (1 + growth)).limit_denominator(1 << 40)
        if all(_holds(profile, mu, *cell) for cell in pairs):
            return mu
        growth *= 4
        if growth > 1:
            raise InfeasibleError("no mu was found at which a Gaussian release is certainly worse")


def _holds(profile: ProfilePoints, mu: Fraction, a: Fraction, b: Fraction) -> bool:
    """Return whether a tangent of G is certainly above the chord of a cell."""
    if profile.at(a).upper == 0:
        return True
    middle = (a + b) / 2
    shift = Enclosure.of(-middle / mu)
    slope = normal_cdf(shift - mu / 2, _MU_BITS)
    x = exp(middle, _MU_BITS)
    value = normal_cdf(shift + mu / 2, _MU_BITS) - x * slope
    return all(
        (value - slope * (exp(end, _MU_BITS) - x)).lower >= profile.at(end).upper for end in (a, b)
    )


def _certified_low(profile: ProfilePoints, points: Iterable[Fraction], near: float) -> Fraction:
    """Return a mu at which G is certainly below the profile somewhere, or zero."""
    if near <= 0:
        return _MU_ZERO
    mu = Fraction(near * (1 - _GROWTH)).limit_denominator(1 << 40)
    for epsilon in points:
        minimum = profile.at(epsilon).lower
        if minimum > 0 and _gaussian(mu, epsilon).upper < minimum:
            return mu
    return _MU_ZERO


def _gaussian(mu: Fraction, epsilon: Fraction) -> Enclosure:
    shift = Enclosure.of(-epsilon / mu)
    under = exp(epsilon, _MU_BITS) * normal_cdf(shift - mu / 2, _MU_BITS)
    return normal_cdf(shift + mu / 2, _MU_BITS) - under


def _of_point(epsilon: Fraction, delta: Fraction) -> float:
    """Return about the mu whose profile has this delta at this epsilon; 0 for a delta of 0."""
    target, level = float(delta), float(epsilon)
    if target <= 0:
        return 0.0
    return _smallest(lambda mu: _in_floats(mu, level)[0] >= target)


def _of_cell(profile: ProfilePoints, a: Fraction, b: Fraction) -> float:
    """Return about the least mu for the cell between two points."""
    left, right = (float(profile.at(end).upper) for end in (a, b))
    middle = (float(a) + float(b)) / 2
    before, after = math.expm1(float(a) - middle), math.expm1(float(b) - middle)

    def holds(mu: float) -> bool:
        value, slope = _in_floats(mu, middle)
        return value - slope * before >= left and value - slope * after >= right

    return _smallest(holds)


def _smallest(holds: object) -> float:
    assert callable(holds)
    return narrowed(holds, _LARGEST_MU, 0.0, _STEPS)[0]


def _in_floats(mu: float, epsilon: float) -> tuple[float, float]:
    """Return G, and ``e^epsilon`` times minus its slope."""
    if mu <= 0:
        return 0.0, 0.0
    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    tail = math.exp(epsilon) * math.erfc(far / math.sqrt(2)) / 2
    return math.erfc(near / math.sqrt(2)) / 2 - tail, tail
