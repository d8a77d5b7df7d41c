"""Output distributions: idealised noise, divergences between outputs, plots."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from tacit import plotting
from tacit.arithmetic.enclosure import Enclosure, log
from tacit.arithmetic.exact import show
from tacit.calls import public
from tacit.core.divergences import mass_of
from tacit.core.losses.additive_noise import loss_of_pair
from tacit.core.losses.base import PrivacyLoss
from tacit.core.measures import ApproximateDP, Divergence, Measure, PureDP
from tacit.errors import InfeasibleError, UsageError

# Textbook noise on the real line: for teaching, and for nothing else.
#
# No computer draws from these distributions: it holds finitely many numbers, and the pattern of
# those that it can hold reveals something of the data.  Tacit draws from their discrete relatives.
# The formulas here work with logarithms, so that an event far in the tails gives what the
# distribution gives, and never 0/0.


_LOG_TWO = math.log(2)


@public
@dataclass(frozen=True)
class _Idealised(ABC):
    centre: float
    scale: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.centre) and math.isfinite(self.scale) and self.scale > 0):
            raise UsageError("a centre is finite, a scale finite and above zero")

    @abstractmethod
    def log_density(self, x: float) -> float:
        """Return the logarithm of the density at x."""

    @abstractmethod
    def _log_below(self, z: float) -> float:
        """Return ln P(X <= z) for the standard distribution."""

    def density(self, x: float) -> float:
        """Return the density at x."""
        return math.exp(self.log_density(x))

    def cdf(self, x: float) -> float:
        """Return the probability of x or less."""
        return math.exp(self._log_below((x - self.centre) / self.scale))

    def log_probability(self, lower: float, upper: float) -> float:
        """Return the logarithm of the probability between two ends, which may be infinite.

        Raises:
            UsageError: ends that are reversed, or equal.
        """
        if not lower < upper:
            raise UsageError("an event on the real line has a lower end below its upper end")
        a, b = (lower - self.centre) / self.scale, (upper - self.centre) / self.scale
        if a > 0:
            a, b = -b, -a  # the distributions are symmetric: look at the side where both are small
        high = self._log_below(b)
        low = self._log_below(a) if a > -math.inf else -math.inf
        return high + math.log1p(-math.exp(low - high)) if low > -math.inf else high

    def divergence(self, other: _Idealised, lower: float, upper: float) -> float:
        """Return ``|ln(P(S) / Q(S))|`` on the event S between two ends."""
        return abs(self.log_probability(lower, upper) - other.log_probability(lower, upper))


@public
class IdealisedLaplace(_Idealised):
    """The Laplace distribution on the real line, idealised.

    Its density is ``exp(-|x - centre| / scale) / (2 scale)``.

    Args:
        centre: the mean.
        scale: above 0; the standard deviation is ``sqrt(2)`` times it.

    Example:
        >>> u, v = IdealisedLaplace(37, 25), IdealisedLaplace(25, 25)
        >>> round(u.divergence(v, 70, 80), 12), round(u.divergence(v, 1e6, 2e6), 9)
        (0.48, 0.48)
    """

    def log_density(self, x: float) -> float:
        return -abs(x - self.centre) / self.scale - math.log(2 * self.scale)

    def _log_below(self, z: float) -> float:
        return z - _LOG_TWO if z <= 0 else math.log1p(-math.exp(-z) / 2)


@public
class IdealisedGaussian(_Idealised):
    """The normal distribution on the real line, idealised; ``scale`` is its standard deviation.

    Args:
        centre: the mean.
        scale: the standard deviation, above 0.

    Example:
        >>> u, v = IdealisedGaussian(37, 25), IdealisedGaussian(25, 25)
        >>> round(u.divergence(v, 70, 80), 6), round(u.divergence(v, 5000, 6000), 6)
        (0.833688, 95.407215)
    """

    def log_density(self, x: float) -> float:
        z = (x - self.centre) / self.scale
        return -z * z / 2 - math.log(self.scale * math.sqrt(2 * math.pi))

    def _log_below(self, z: float) -> float:
        if z > -8:
            return math.log(math.erfc(-z / math.sqrt(2)) / 2)
        return -z * z / 2 - math.log(math.sqrt(2 * math.pi)) + math.log(_mills(-z))


def _mills(z: float) -> float:
    """Return (1 - Phi(z)) / phi(z) for z >= 8."""
    # It is the continued fraction 1/(z + 1/(z + 2/(z + 3/(z + ...)))).
    # At 60 levels from z = 8 on the rest is below the last bit of a double.
    tail = z
    for level in range(60, 0, -1):
        tail = z + level / tail
    return 1 / tail


class HasOutputs(Protocol):
    """Interface of a measurement with output distributions."""

    measure: Measure

    def distribution(self, data: Any) -> Any:
        """Return the exact distribution of the output on ``data``."""


@public
def divergence(
    measurement: HasOutputs,
    u: object,
    v: object,
    *,
    event: object = None,
    measure: Measure | None = None,
) -> Divergence:
    """Return how far the outputs on two data sets are from each other.  Not private: for teaching.

    Args:
        measurement: one whose output distribution is explicit.
        u: a data set.
        v: another (a neighbour or not).
        event: the outputs S to look at: ``(lower, upper)`` with both ends in it, None for no end; a
            set of outcomes; or a function of an outcome.  The answer is then ``|ln(P(S) / Q(S))|``.
        measure: how to count over all events; None for the measurement's own measure.

    Returns:
        An :class:`~tacit.noise.Enclosure` (``float()`` gives its upper end), or ``math.inf``; for
        approximate DP a function of epsilon that encloses delta, in the worse direction.

    Raises:
        UsageError: no explicit output distribution, an event without any output.
        InfeasibleError: an event too unlikely to distinguish its probability from zero.

    Example:
        >>> from tacit.core import Space, SymmetricDistance, Vector
        >>> from tacit.transformations import Clamp, Sum
        >>> from tacit.mechanisms import Laplace
        >>> column = Space(Vector(int), SymmetricDistance())
        >>> m = column >> Clamp(0, 12) >> Sum() >> Laplace(scale=25)
        >>> u, v = [12, 10, 8, 7], [10, 8, 7]
        >>> float(divergence(m, u, v)), round(float(divergence(m, u, v, event=(25, 40))), 4)
        (0.48000000000000004, 0.084)
    """
    p, q = measurement.distribution(u), measurement.distribution(v)
    if event is not None:
        return _on_event(p, q, event)
    return (measurement.measure if measure is None else measure).between(p, q)


@public
def privacy_loss(
    measurement: HasOutputs, u: object, v: object, *, both: bool = True
) -> PrivacyLoss:
    """Return the privacy losses of the outputs on ``u`` and ``v``: of the worse direction.

    Args:
        measurement: one whose output distribution is explicit.
        u: a data set.
        v: another.
        both: whether ``.epsilon`` and ``.delta`` answer for the worse of u against v and v against
            u, as privacy asks; False for u against v alone.

    Raises:
        UsageError: no explicit output distribution.

    >>> from tacit.core import AbsoluteDistance, Number, Space
    >>> from tacit.mechanisms import Laplace
    >>> m = Space(Number("int"), AbsoluteDistance()) >> Laplace(scale=2)
    >>> loss = privacy_loss(m, 0, 1)
    >>> float(loss.epsilon(0)), round(float(loss.compose(loss).delta("0.6")), 4)
    (0.5, 0.1277)
    """
    return loss_of_pair(measurement.distribution(u), measurement.distribution(v), both=both)


def _on_event(p: Any, q: Any, event: Any) -> Enclosure | float:
    here, there = mass_of(p, event), mass_of(q, event)
    if here.upper <= 0 and there.upper <= 0:
        raise UsageError("no output lies in this event, on either data set")
    if here.upper <= 0 or there.upper <= 0:
        return math.inf
    if here.lower <= 0 or there.lower <= 0:
        raise InfeasibleError("the event is too unlikely to distinguish its probability from zero")
    return abs(log(here / there, 96))


# Pictures of what a measurement releases on two inputs: outputs, privacy losses, trade-off.


_MASS = Fraction(999, 1000)
_MAX_OUTPUTS = 400
_MAX_BARS = 60


class PlottableMeasurement(HasOutputs, Protocol):
    """Interface of a measurement that has plots: its claim, too."""

    input: Any

    def map(self, d_in: Any) -> Any:
        """Return the privacy loss at an input distance."""


def shown(p: Any, q: Any) -> tuple[list[Any], list[float], list[float]]:
    """List the outputs that hold nearly all of both distributions, with their probabilities."""
    # Where a grid has more than can be drawn, an output represents as many around it as are left
    # out on either side of it, with their number times its own probability.
    step = 1
    if hasattr(p, "table") and hasattr(q, "table"):
        values: list[Any] = list(dict.fromkeys([*p.table, *q.table]))
    elif hasattr(p, "grid") and hasattr(q, "grid"):
        ends = [p.support(_MASS), q.support(_MASS)]
        grid = Fraction(p.grid)
        first = math.floor(Fraction(min(low for low, _ in ends)) / grid)
        last = math.ceil(Fraction(max(high for _, high in ends)) / grid)
        step = -(-(last - first + 1) // _MAX_OUTPUTS)
        values = [unit * grid for unit in range(first, last + 1, step)]
    else:
        raise UsageError(
            "a picture needs outputs that are numbers on a grid or few enough to list; plot one "
            "coordinate at a time"
        )
    return (
        values,
        [float(step * p.probability(x).middle) for x in values],
        [float(step * q.probability(x).middle) for x in values],
    )


def inside(event: Any) -> Callable[[Any], bool]:
    """Read an event: a pair of ends, a collection of outputs, or a function that says.

    >>> inside((70, 80))(75), inside({"a"})("b"), inside(lambda x: x > 3)(4)
    (True, False, True)
    """
    if event is None:
        return lambda value: False
    if callable(event):
        return event  # type: ignore[no-any-return]
    if isinstance(event, tuple) and len(event) == 2 and all(_is_number(e) for e in event):
        low, high = event
        return lambda value: bool(low <= value <= high)
    if isinstance(event, Iterable) and not isinstance(event, (str, bytes)):
        chosen: set[Hashable] = set(event)
        return lambda value: value in chosen
    raise UsageError("an event is a pair (lower, upper), a set of outputs, or a function")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, Fraction)) and not isinstance(value, bool)


def outputs(m: PlottableMeasurement, u: Any, v: Any, event: Any = None) -> Any:
    """Draw both output distributions, one above the other, with the event shaded in both."""
    p, q = m.distribution(u), m.distribution(v)
    values, left, right = shown(p, q)
    tells = inside(event)
    figure = plotting.figure(7.2, 4.8)
    grid = plotting.axes(figure, 2, 1, share_y=True)
    indices, labels = _positions(values)
    top = max(*left, *right)
    sides = (("u", u, p, left, plotting.ACCENT), ("v", v, q, right, plotting.SECOND))
    for (one,), (name, data, distribution, heights, colour) in zip(grid, sides, strict=True):
        _bars(one, indices, heights, [tells(value) for value in values], colour)
        one.set_ylabel("probability")
        one.set_ylim(0, 1.12 * top)
        if labels is not None:
            one.set_xticks(indices, labels)
        chance = (
            ""
            if event is None
            else f"P(S) = {plotting.number(float(mass_of(distribution, event)))}"
        )
        plotting.title(one, f"output on {name} = {_short(data)}", chance)
    grid[1][0].set_xlabel("released output" + ("" if event is None else "  (shaded: the event S)"))
    figure.suptitle(_caption(m, u, v, event), fontsize=10.5, x=0.02, ha="left", color=plotting.INK)
    return figure


def _caption(m: PlottableMeasurement, u: Any, v: Any, event: Any) -> str:
    """Describe the divergence of the two outputs, and the claim of the map at their distance."""
    apart = m.input.metric.distance(u, v)
    claim = m.measure.show(m.map(apart)) if isinstance(apart, Fraction) else "nothing"
    where = f"distance {show(apart)}" if isinstance(apart, Fraction) else "no chain of neighbours"
    if event is not None:
        bound = divergence(m, u, v, event=event)
        return f"ln P(S)/Q(S) = {_number(bound)}; {where}: the map claims {claim}"
    if isinstance(m.measure, ApproximateDP):
        return f"{where}: the map claims {claim}"
    return f"divergence {_number(divergence(m, u, v))}; {where}: the map claims {claim}"


def _number(number: Any) -> str:
    return plotting.number(float(number))


def _short(data: Any) -> str:
    text = str(data)
    return text if len(text) <= 40 else text[:37] + "..."


def _claim(m: PlottableMeasurement, u: Any, v: Any) -> Fraction | None:
    apart = m.input.metric.distance(u, v)
    pure = isinstance(m.measure, PureDP) and isinstance(apart, Fraction)
    return Fraction(m.map(apart)) if pure else None


def _positions(values: list[Any]) -> tuple[list[float], list[str] | None]:
    """Return where outputs stand on the axis, and their names where they are no numbers."""
    if all(_is_number(v) for v in values):
        return [float(v) for v in values], None
    return [float(i) for i in range(len(values))], [str(v) for v in values]


def _bars(
    one: Any, indices: list[float], heights: list[float], chosen: list[bool], colour: str
) -> None:
    """Draw bars, filled and hatched where the event is; an outline where they are too many."""
    if len(indices) > _MAX_BARS:
        one.fill_between(indices, heights, step="mid", color=colour, alpha=0.18, linewidth=0)
        one.fill_between(
            indices, heights, step="mid", where=chosen, color=colour, alpha=0.9, linewidth=0
        )
        one.step(indices, heights, where="mid", color=colour, linewidth=1.1)
        return
    width = 0.9 * min((b - a for a, b in itertools.pairwise(indices)), default=1.0)
    for yes in (False, True):
        here = [(x, h) for x, h, c in zip(indices, heights, chosen, strict=True) if c is yes]
        if here:
            one.bar(
                [x for x, _ in here],
                [h for _, h in here],
                width=width,
                color=colour if yes else "white",
                edgecolor="white" if yes else colour,
                linewidth=0.8,
                hatch="///" if yes else None,
            )


def privacy_losses(m: PlottableMeasurement, u: Any, v: Any) -> Any:
    """Draw the privacy loss ``ln(P(x) / Q(x))`` of each output, and how likely each loss is."""
    claim = _claim(m, u, v)
    values, left, right = shown(m.distribution(u), m.distribution(v))
    possible = [(x, a, b) for x, a, b in zip(values, left, right, strict=True) if a > 0 and b > 0]
    if not possible:
        raise UsageError("no output is possible on both inputs: every loss is infinite")
    losses = [math.log(a / b) for _, a, b in possible]
    indices, labels = _positions([x for x, _, _ in possible])
    figure = plotting.figure(7.2, 5.0)
    (above,), (below,) = plotting.axes(figure, 2, 1)
    style = plotting.series(0).line() | {"marker": ""}
    above.step(indices, losses, where="mid", **{k: v for k, v in style.items() if k != "linestyle"})
    above.axhline(0, color=plotting.MUTED, linewidth=0.8)
    if claim is not None:
        for sign in (1, -1):
            above.axhline(sign * float(claim), color=plotting.SECOND, linestyle=(0, (5, 1.5)))
        plotting.title(above, "privacy loss of each output", f"dashed: the claim, {show(claim)}")
    else:
        plotting.title(above, "privacy loss of each output")
    if labels is not None:
        above.set_xticks(indices, labels)
    above.set_xlabel("released output")
    above.set_ylabel("ln P(x) / Q(x)")
    together: dict[float, float] = {}
    for loss, (_, a, _) in zip(losses, possible, strict=True):
        together[round(loss, 9)] = together.get(round(loss, 9), 0.0) + a
    below.vlines(list(together), 0, list(together.values()), color=plotting.ACCENT, linewidth=2.5)
    below.set_ylim(0, 1.1 * max(together.values()))
    below.set_xlabel("privacy loss")
    below.set_ylabel("probability")
    plotting.title(below, "probability of each loss, on u")
    return figure


def trade_off(m: PlottableMeasurement, u: Any, v: Any) -> Any:
    """Draw the best error rates of any test between the two inputs (Dong, Roth, Su 2022)."""
    # The curve goes through the tests that reject at the largest ratios ``Q(x) / P(x)`` first,
    # which are best for every level (Neyman and Pearson 1933).
    claim = _claim(m, u, v)
    _, left, right = shown(m.distribution(u), m.distribution(v))
    pairs = sorted(zip(left, right, strict=True), key=lambda m: -m[1] / m[0] if m[0] else -math.inf)
    first, second = [0.0], [1.0]
    for a, b in pairs:
        first.append(first[-1] + a)
        second.append(max(0.0, second[-1] - b))
    figure = plotting.figure(5.2, 5.0)
    one = plotting.axes(figure, 1, 1)[0][0]
    one.plot(first, second, color=plotting.ACCENT, linewidth=1.8, label="best test")
    one.plot([0, 1], [1, 0], color=plotting.MUTED, linewidth=1, linestyle=":", label="guessing")
    if claim is not None:
        epsilon, levels = float(claim), [i / 200 for i in range(201)]
        bound = [max(0.0, 1 - math.exp(epsilon) * t, math.exp(-epsilon) * (1 - t)) for t in levels]
        one.plot(
            levels, bound, color=plotting.SECOND, linestyle=(0, (5, 1.5)), label="the claim allows"
        )
    one.set_xlim(0, 1)
    one.set_ylim(0, 1)
    one.set_aspect("equal")
    one.set_xlabel("false alarm: takes u for v")
    one.set_ylabel("miss: takes v for u")
    one.legend(frameon=False, fontsize=9)
    plotting.title(one, "how well the two inputs can be distinguished")
    return figure
