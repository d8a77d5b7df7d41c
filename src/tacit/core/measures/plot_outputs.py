"""Pictures of what a measurement releases on two inputs: outputs, privacy losses, trade-off."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from typing import Any, Protocol

from tacit import plotting
from tacit.arithmetic.exact import show
from tacit.core.divergences.event_probability import mass_of
from tacit.core.measures.measure import ApproximateDP, PureDP
from tacit.core.measures.output_divergence import HasOutputs, divergence
from tacit.errors import UsageError

__all__ = ["outputs", "privacy_losses", "shown", "trade_off"]

_MASS = Fraction(999, 1000)
_MOST = 400
_MOST_BARS = 60


class DrawnMeasurement(HasOutputs, Protocol):
    """What is asked of a measurement that is drawn: its claim, too."""

    input: Any

    def map(self, d_in: Any) -> Any:
        """Return the privacy loss at an input distance."""


def shown(p: Any, q: Any) -> tuple[list[Any], list[float], list[float]]:
    """List the outputs that hold nearly all of both distributions, with their probabilities.

    Where a grid has more than can be drawn, an output stands for as many around it as are left out
    on either side of it, with their number times its own probability.
    """
    step = 1
    if hasattr(p, "table") and hasattr(q, "table"):
        values: list[Any] = list(dict.fromkeys([*p.table, *q.table]))
    elif hasattr(p, "grid") and hasattr(q, "grid"):
        ends = [p.support(_MASS), q.support(_MASS)]
        grid = Fraction(p.grid)
        first = math.floor(Fraction(min(low for low, _ in ends)) / grid)
        last = math.ceil(Fraction(max(high for _, high in ends)) / grid)
        step = -(-(last - first + 1) // _MOST)
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


def outputs(m: DrawnMeasurement, u: Any, v: Any, event: Any = None) -> Any:
    """Draw both output distributions, one above the other, with the event shaded in both."""
    p, q = m.distribution(u), m.distribution(v)
    values, left, right = shown(p, q)
    tells = inside(event)
    figure = plotting.figure(7.2, 4.8)
    grid = plotting.axes(figure, 2, 1, share_y=True)
    places, labels = _places(values)
    top = max(*left, *right)
    sides = (("u", u, p, left, plotting.ACCENT), ("v", v, q, right, plotting.SECOND))
    for (one,), (name, data, law, heights, colour) in zip(grid, sides, strict=True):
        _bars(one, places, heights, [tells(value) for value in values], colour)
        one.set_ylabel("probability")
        one.set_ylim(0, 1.12 * top)
        if labels is not None:
            one.set_xticks(places, labels)
        chance = "" if event is None else f"P(S) = {plotting.number(float(mass_of(law, event)))}"
        plotting.title(one, f"output on {name} = {_short(data)}", chance)
    grid[1][0].set_xlabel("released output" + ("" if event is None else "  (shaded: the event S)"))
    figure.suptitle(_told(m, u, v, event), fontsize=10.5, x=0.02, ha="left", color=plotting.INK)
    return figure


def _told(m: DrawnMeasurement, u: Any, v: Any, event: Any) -> str:
    """Say the divergence of the two outputs beside what the map claims at their distance."""
    apart = m.input.metric.distance(u, v)
    claim = m.measure.show(m.map(apart)) if isinstance(apart, Fraction) else "nothing"
    where = f"distance {show(apart)}" if isinstance(apart, Fraction) else "no chain of neighbours"
    if event is not None:
        found = divergence(m, u, v, event=event)
        return f"ln P(S)/Q(S) = {_number(found)}; {where}: the map claims {claim}"
    if isinstance(m.measure, ApproximateDP):
        return f"{where}: the map claims {claim}"
    return f"divergence {_number(divergence(m, u, v))}; {where}: the map claims {claim}"


def _number(found: Any) -> str:
    return plotting.number(float(found))


def _short(data: Any) -> str:
    text = str(data)
    return text if len(text) <= 40 else text[:37] + "..."


def _claim(m: DrawnMeasurement, u: Any, v: Any) -> Fraction | None:
    apart = m.input.metric.distance(u, v)
    pure = isinstance(m.measure, PureDP) and isinstance(apart, Fraction)
    return Fraction(m.map(apart)) if pure else None


def _places(values: list[Any]) -> tuple[list[float], list[str] | None]:
    """Return where outputs stand on the axis, and their names where they are no numbers."""
    if all(_is_number(v) for v in values):
        return [float(v) for v in values], None
    return [float(i) for i in range(len(values))], [str(v) for v in values]


def _bars(
    one: Any, places: list[float], heights: list[float], chosen: list[bool], colour: str
) -> None:
    """Draw bars, filled and hatched where the event is; an outline where they are too many."""
    if len(places) > _MOST_BARS:
        one.fill_between(places, heights, step="mid", color=colour, alpha=0.18, linewidth=0)
        one.fill_between(
            places, heights, step="mid", where=chosen, color=colour, alpha=0.9, linewidth=0
        )
        one.step(places, heights, where="mid", color=colour, linewidth=1.1)
        return
    width = 0.9 * min((b - a for a, b in itertools.pairwise(places)), default=1.0)
    for yes in (False, True):
        here = [(x, h) for x, h, c in zip(places, heights, chosen, strict=True) if c is yes]
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


def privacy_losses(m: DrawnMeasurement, u: Any, v: Any) -> Any:
    """Draw the privacy loss ``ln(P(x) / Q(x))`` of each output, and how likely each loss is."""
    claim = _claim(m, u, v)
    values, left, right = shown(m.distribution(u), m.distribution(v))
    kept = [(x, a, b) for x, a, b in zip(values, left, right, strict=True) if a > 0 and b > 0]
    if not kept:
        raise UsageError("no output is possible on both inputs: every loss is infinite")
    losses = [math.log(a / b) for _, a, b in kept]
    places, labels = _places([x for x, _, _ in kept])
    figure = plotting.figure(7.2, 5.0)
    (above,), (below,) = plotting.axes(figure, 2, 1)
    style = plotting.series(0).line() | {"marker": ""}
    above.step(places, losses, where="mid", **{k: v for k, v in style.items() if k != "linestyle"})
    above.axhline(0, color=plotting.MUTED, linewidth=0.8)
    if claim is not None:
        for sign in (1, -1):
            above.axhline(sign * float(claim), color=plotting.SECOND, linestyle=(0, (5, 1.5)))
        plotting.title(above, "privacy loss of each output", f"dashed: the claim, {show(claim)}")
    else:
        plotting.title(above, "privacy loss of each output")
    if labels is not None:
        above.set_xticks(places, labels)
    above.set_xlabel("released output")
    above.set_ylabel("ln P(x) / Q(x)")
    together: dict[float, float] = {}
    for loss, (_, a, _) in zip(losses, kept, strict=True):
        together[round(loss, 9)] = together.get(round(loss, 9), 0.0) + a
    below.vlines(list(together), 0, list(together.values()), color=plotting.ACCENT, linewidth=2.5)
    below.set_ylim(0, 1.1 * max(together.values()))
    below.set_xlabel("privacy loss")
    below.set_ylabel("probability")
    plotting.title(below, "probability of each loss, on u")
    return figure


def trade_off(m: DrawnMeasurement, u: Any, v: Any) -> Any:
    """Draw the best error rates of anyone who distinguishes the two inputs (Dong, Roth, Su 2022).

    The curve goes through the tests that reject at the largest ratios ``Q(x) / P(x)`` first, which
    are best for every level (Neyman and Pearson 1933).
    """
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
