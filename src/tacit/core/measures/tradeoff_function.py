r"""The trade-off function that a release guarantees (f-DP), from its privacy profile.

Someone who sees a release and guesses which of two neighbours it came from takes the first for
the second with probability alpha (a false alarm), and the second for the first with probability
beta (a miss).  A release is f-DP if no test, on no pair of neighbours, has ``beta < f(alpha)``.  It
is ``(epsilon, delta(epsilon))``-DP for all ``epsilon >= 0`` exactly if it is f-DP for

    f(alpha) = max over epsilon of
               max(0, 1 - delta - e^epsilon alpha, e^-epsilon (1 - delta - alpha))

(J. Dong, A. Roth, W. Su, "Gaussian differential privacy", JRSS B 2022, proposition 2.13), and so,
with the least deltas there are, f is the largest symmetric function that it guarantees.

**Enclosure.**  Any epsilon gives a bound from below, by the upper end of its delta.  From above:
with ``x = e^epsilon`` the profile is convex, so ``1 - delta - x alpha`` is concave in x, with
slopes from ``-alpha`` to ``1 - alpha`` (the slope of delta is minus a probability).  So is
``y (1 - delta - alpha)`` in ``y = 1 / x``: y times a convex function of ``1 / y`` is convex, and
the slope of ``y delta`` is a probability too.  What a concave function is at a few points bounds it
between them (:class:`~tacit.core.measures.profile_points.Concave`); points are added where it could
be largest, until the two bounds meet.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from tacit import plotting
from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import Number, as_fraction, show, show_between
from tacit.calls import public
from tacit.core.measures.profile_points import Concave, ProfilePoints, epsilon_near, power_of
from tacit.display.card import Card, Shown, Table
from tacit.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["TradeoffFunction"]

_ZERO, _ONE = Fraction(0), Fraction(1)
_STARTS = tuple(Fraction(n, 16) for n in (0, 1, 4, 16, 64))
_MOST_POINTS = 48
_CLOSE = Fraction(1, 10**6)
_DRAWN = Fraction(1, 10**3)
_LARGEST = Fraction(1 << 12)
_LEVELS = tuple(Fraction(n, 100) for n in (1, 5, 10, 25, 50))


@public
@dataclass(frozen=True, repr=False)
class TradeoffFunction(Shown):
    """The least miss rate at each rate of false alarms, over all tests and all neighbours.

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
        """Enclose the least type II error (a miss) at a type I error (false alarm) ``alpha``.

        No test has less than the lower end.  No symmetric guarantee is above the upper end, where
        some pair of neighbours is known to have these losses; else that end is ``1 - alpha``.
        At alpha 0 it can be 1 where a loss may be infinite: no finite epsilon tells.

        Args:
            alpha: the rate of false alarms, from 0 to 1.

        Raises:
            UsageError: an alpha outside 0..1.
        """
        level = as_fraction(alpha, "alpha")
        if not 0 <= level <= 1:
            raise UsageError(f"alpha must be from 0 to 1, not {show(level)}")
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
        for _ in range(_MOST_POINTS):
            least = max(many.least, few.least, _ZERO)
            high, where = max(many.most(), few.most(), key=lambda most: most[0])
            if high - least <= close or where is None:
                break
            if not self._asked(many, few, where):
                break
        least = max(many.least, few.least, _ZERO)
        most = max(many.most()[0], few.most()[0], least)
        return Enclosure(least, max(least, min(most, 1 - alpha)))

    def _asked(self, many: _Falling, few: _Mirrored, epsilon: Fraction) -> bool:
        """Ask the profile at a new epsilon; False where it was asked there before."""
        if epsilon in many.epsilons:
            return False
        many.ask(epsilon)
        few.ask(epsilon)
        return True

    def plot(self) -> Figure:
        """Draw the curve beside guessing, with the odds of some tests in words.

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
        """Return the corners of a curve that no test lies below, straight between them.

        Each epsilon that was asked gives two lines that no test lies below, and beta is not
        negative: the curve is the largest of all these.  It lies below the trade-off function, also
        where that has a kink, and touches it where the lines do.
        """
        lines = [(_ZERO, _ZERO)]  # the slope downwards, and the height at alpha zero
        for epsilon in self.profile.epsilons:
            left, x = 1 - self.profile.at(epsilon).upper, power_of(epsilon)[0]
            lines += [(x, left), (1 / x, left / x)]
        return _highest(lines)

    def sentence(self, alpha: Number) -> str:
        """Say in words what the curve guarantees at a rate of false alarms.

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
        found = [(level, self._beta(level, _DRAWN)) for level in _LEVELS]
        rows = [[show(a), show_between(b.lower, b.upper)] for a, b in found]
        table = Table(["false alarms (alpha)", "misses at least (beta)"], rows, names=1)
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
        found, (x, off) = self.profile.at(epsilon), power_of(epsilon)
        moved = off if self.alpha or found.upper else _ZERO
        self.values.add(x, _widened(1 - found - x * self.alpha, moved))

    @property
    def least(self) -> Fraction:
        """What the largest value is at least."""
        return self.values.least

    def most(self) -> tuple[Fraction, Fraction | None]:
        """Return what the largest value is at most, and the epsilon to ask at next."""
        high, place = self.values.most()
        where: Fraction | None = epsilon_near(place)
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
        found, (x, off) = self.profile.at(epsilon), power_of(epsilon)
        self.values.add(1 / x, _widened((1 - found - self.alpha) / x, off))

    @property
    def least(self) -> Fraction:
        """What the largest value is at least."""
        return self.values.least

    def most(self) -> tuple[Fraction, Fraction | None]:
        """Return what the largest value is at most, and the epsilon to ask at next."""
        high, place = self.values.most()
        return high, epsilon_near(1 / place) if place else 2 * max(self.profile.epsilons)


def _highest(lines: list[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
    """Return the corners from 0 to 1 of the largest of falling lines, each a slope and a height.

    >>> lines = [(Fraction(3), Fraction(1)), (Fraction(1, 3), Fraction(1, 3)), (_ZERO, _ZERO)]
    >>> [(str(alpha), str(beta)) for alpha, beta in _highest(lines)]
    [('0', '1'), ('1/4', '1/4'), ('1', '0')]
    """
    kept: list[tuple[Fraction, Fraction]] = []
    starts: list[Fraction] = []  # from which alpha each one is the largest
    for slope, height in sorted(lines, key=lambda line: (-line[0], -line[1])):
        start = _ZERO
        while kept:
            steep, high = kept[-1]
            start = (high - height) / (steep - slope) if steep > slope else _ONE + 1
            if start > starts[-1] or start > 1:
                break
            kept.pop()
            starts.pop()
            start = _ZERO
        if start <= 1:
            kept.append((slope, height))
            starts.append(start)
    corners = [(a, height - slope * a) for a, (slope, height) in zip(starts, kept, strict=True)]
    return corners if corners[-1][0] == 1 else [*corners, (_ONE, kept[-1][1] - kept[-1][0])]


def _widened(value: Enclosure, by: Fraction) -> Enclosure:
    return Enclosure(value.lower - by, value.upper + by)
