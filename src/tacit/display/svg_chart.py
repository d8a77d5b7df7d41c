"""Charts as inline SVG, with every value beside its mark; the colours are the style's."""

from __future__ import annotations

import html
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_WIDTH = 720
_ROW = 22
_HEAD, _FOOT = 8, 26
_CHARACTER = 6.7  # the width of a character of a label, about, at 12 px
_TICK_CHARACTER = 6.2  # at 11 px
_PHONE_TYPE = 1.3  # labels of a narrow chart have 14 px on a phone, maybe in a wide type
_TICK_GAP = 6
_LONGEST_LABEL = 34
PHONE_WIDTH = 360  # of a drawing whose words stay readable on a phone, where it fills the screen


@dataclass(frozen=True)
class Mark:
    """One value with its interval; None where there is none."""

    label: str
    value: float | None
    low: float | None
    high: float | None
    text: str


def chart(marks: Sequence[Mark], bars: bool, title: str, width: int = _WIDTH) -> str:
    """Draw values with their intervals, one a line.

    >>> "<svg" in chart([Mark("a", 3.0, 2.0, 4.0, "3")], bars=True, title="how many")
    True
    """
    character = _CHARACTER * (_PHONE_TYPE if width <= PHONE_WIDTH else 1)
    max_length = min(_LONGEST_LABEL, int(0.42 * width / character))
    labels = [_short(mark.label, max_length) for mark in marks]
    left = 14 + character * max([3, *(len(label) for label in labels)])
    right = width - 16 - character * max([3, *(len(mark.text) for mark in marks)])
    seen = [x for m in marks for x in (m.value, m.low, m.high) if x is not None]
    seen = [0.0, *seen] if bars or not seen else seen
    steps = _steps(min(seen), max(seen), max(3, round(width / 100)), right - left)
    low, high = steps[0], steps[-1]

    def across(value: float) -> float:
        return round(left + (value - low) / (high - low) * (right - left), 1)

    height = _HEAD + _ROW * len(marks) + _FOOT
    bottom = _HEAD + _ROW * len(marks)
    parts = [
        f'<line class="grid" x1="{across(t)}" y1="{_HEAD}" x2="{across(t)}" y2="{bottom}"/>'
        f'<text class="tick" x="{_inside(across(t), t, width)}" y="{bottom + 16}" '
        f'text-anchor="middle">{_tick(t)}</text>'
        for t in steps
    ]
    for index, (mark, label) in enumerate(zip(marks, labels, strict=True)):
        y = _HEAD + _ROW * index + _ROW / 2
        parts.append(
            f'<text x="{left - 8:.1f}" y="{y + 4}" text-anchor="end">{html.escape(label)}</text>'
            f'<text class="value" x="{width - 2}" y="{y + 4}" text-anchor="end">'
            f"{html.escape(mark.text)}</text>"
        )
        parts += _shapes(mark, y, across, bars)
    axis = across(0.0) if low <= 0 <= high and bars else None
    if axis is not None:
        parts.append(f'<line class="axis" x1="{axis}" y1="{_HEAD}" x2="{axis}" y2="{bottom}"/>')
    return (
        f'<svg class="chart" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{html.escape(title, quote=True)}">{"".join(parts)}</svg>'
    )


def _shapes(mark: Mark, y: float, x_of: Callable[[float], float], bars: bool) -> list[str]:
    shapes = []
    if bars and mark.value is not None:
        start, end = sorted((x_of(0.0), x_of(mark.value)))
        shapes.append(
            f'<rect class="bar" x="{start}" y="{y - 6}" width="{end - start:.1f}" height="12"/>'
        )
    if mark.low is not None and mark.high is not None:
        a, b = x_of(mark.low), x_of(mark.high)
        shapes.append(f'<path class="interval" d="M{a} {y - 4}v8M{b} {y - 4}v8M{a} {y}H{b}"/>')
    if not bars and mark.value is not None:
        shapes.append(f'<circle class="point" cx="{x_of(mark.value)}" cy="{y}" r="4"/>')
    return shapes


def budget_bar(before: float, this: float, left: float) -> str:
    """Draw shares of a budget (they sum to 1): spent before, by this release if any, and left.

    >>> "<svg" in budget_bar(0.25, 0.5, 0.25)
    True
    """
    by_this = f", {this:.0%} by this release" if this else ""
    parts, x = [], 1.0
    for name, share in (("before", before), ("this", this), ("left", left)):
        wide = max(share, 0.0) * (_WIDTH - 2)
        if wide:
            parts.append(f'<rect class="{name}" x="{x:.1f}" y="1" width="{wide:.1f}" height="24"/>')
        x += wide
    return (
        f'<svg class="chart" viewBox="0 0 {_WIDTH} 26" role="img" '
        f'aria-label="the budget: {before:.0%} spent before{by_this}, '
        f'{left:.0%} left"><defs><pattern id="tacit-hatch" width="6" height="6" '
        'patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="6" height="6" '
        'fill="none"/><line x1="0" y1="0" x2="0" y2="6" stroke="#5f6368" stroke-width="3"/>'
        f"</pattern></defs>{''.join(parts)}</svg>"
    )


def ticks(low: float, high: float, max_ticks: int = 7) -> list[float]:
    """Return round numbers that reach from ``low`` or below to ``high`` or above.

    >>> ticks(0, 4583)
    [0.0, 1000.0, 2000.0, 3000.0, 4000.0, 5000.0]
    """
    if not high > low:
        low, high = low - (abs(low) or 1) / 2, high + (abs(high) or 1) / 2
    raw = (high - low) / (max_ticks - 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * 0.9999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [float(f"{i * step:.12g}") for i in range(first, last + 1)]


def _steps(low: float, high: float, max_steps: int, across: float) -> list[float]:
    """Return ticks whose labels do not touch, as many as fit and at most about ``most``."""
    for many in range(max_steps, 1, -1):
        steps = ticks(low, high, many)
        ends = itertools.pairwise(steps)
        spacing = across / (len(steps) - 1)
        if all((_tick_width(a) + _tick_width(b)) / 2 + _TICK_GAP <= spacing for a, b in ends):
            break
    return steps


def _tick_width(value: float) -> float:
    return _TICK_CHARACTER * len(_tick(value))


def _inside(x: float, value: float, width: int) -> float:
    """Return where the middle of a tick's label is, so that the drawing does not cut it."""
    half = _tick_width(value) / 2
    return round(min(max(x, half), width - half), 1)


def _tick(value: float) -> str:
    return f"{value:,.10g}".replace("-", "−")


def _short(label: str, length: int) -> str:
    """Cut a long label in the middle: both its ends distinguish it from others."""
    if len(label) <= length:
        return label
    half = length // 2
    return f"{label[: half - 1]}…{label[-half:]}"
