"""The explorer of sensitivity: made-up people, their neighbours, how far a statistic moves.

No person stands behind these numbers: the reader makes them up.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.arithmetic.exact import as_fraction
from tacit.display.templating import drawing
from tacit.errors import UsageError
from tacit.statistics import Interval, lookup, sensitivity

__all__ = ["KNOWN", "explored", "read_values"]

KNOWN = ("mean", "median", "sum", "count", "var", "min", "max")
"""The statistics that can be explored."""
LOWEST, HIGHEST = 0, 10
MOST = 12
_WIDTH, _LEFT, _RIGHT = 720, 30, 690


def read_values(text: str) -> list[Fraction]:
    """Return the numbers of a line, in order, held within the bounds.

    Raises:
        UsageError: fewer than two or more than twelve, or something that is no number.

    >>> read_values("9, 2 5.5")
    [Fraction(2, 1), Fraction(11, 2), Fraction(9, 1)]
    """
    parts = text.replace(",", " ").split()
    if not 2 <= len(parts) <= MOST:
        raise UsageError(f"write 2 to {MOST} numbers from {LOWEST} to {HIGHEST}: 1, 2, 5, 7, 9")
    found = [as_fraction(part) for part in parts]
    return sorted(min(max(each, Fraction(LOWEST)), Fraction(HIGHEST)) for each in found)


def explored(name: str, values: Sequence[Fraction]) -> dict[str, Any]:
    """Return what the page shows of a statistic on some numbers.

    Args:
        name: one of :data:`KNOWN`.
        values: ascending.

    Raises:
        UsageError: another statistic.

    >>> explored("mean", read_values("1, 2, 5, 7, 9"))["local"]
    '1.05'
    """
    if name not in KNOWN:
        raise UsageError(f"choose one of {', '.join(KNOWN)}")
    over = Interval(LOWEST, HIGHEST, size=len(values))
    here = sensitivity(name, over=over, at=list(values), relation="unbounded")
    anywhere = sensitivity(name, over=over, relation="unbounded")
    statistic = lookup(name)
    centre = Fraction(statistic.exact(values))  # type: ignore[arg-type]
    rows = [_neighbour(name, centre, one) for one in _neighbours(values)]
    furthest = max(row.moved for row in rows)
    witness = here.witness[1] if here.witness else ()
    return {
        "statistic": name,
        "values": ", ".join(_short(value) for value in values),
        "value": _short(centre),
        "local": _short(here.value),
        "exact": here.exact,
        "whole": _short(anywhere.value),
        "witness": ", ".join(_short(each) for each in witness),
        "picture": drawing(_picture(values, centre, rows)),
        "rows": [
            {
                "what": row.what,
                "value": _short(row.value),
                "moved": _short(row.moved),
                "most": row.moved == furthest,
            }
            for row in rows
        ],
        "lowest": LOWEST,
        "highest": HIGHEST,
    }


@dataclass(frozen=True)
class _Neighbour:
    """The same people, and one more or one less."""

    what: str
    value: Fraction
    moved: Fraction


def _short(value: Fraction | float) -> str:
    return f"{float(value):.5g}"


def _neighbours(values: Sequence[Fraction]) -> list[tuple[str, list[Fraction]]]:
    found = [
        (f"without {_short(value)}", [*values[:place], *values[place + 1 :]])
        for place, value in enumerate(values)
    ]
    for end in (Fraction(LOWEST), Fraction(HIGHEST)):
        found.append((f"with one more, at {_short(end)}", sorted([*values, end])))
    return found


def _neighbour(name: str, centre: Fraction, one: tuple[str, list[Fraction]]) -> _Neighbour:
    what, values = one
    value = Fraction(lookup(name).exact(values))  # type: ignore[arg-type]
    return _Neighbour(what, value, abs(value - centre))


def _picture(values: Sequence[Fraction], centre: Fraction, rows: Sequence[_Neighbour]) -> str:
    """Draw the people on a line, the statistic, and where each neighbour moves it."""
    shown = [centre, *(row.value for row in rows)]
    low, high = min([Fraction(LOWEST), *shown]), max([Fraction(HIGHEST), *shown])

    def across(value: Fraction, least: Fraction, most: Fraction) -> float:
        return round(_LEFT + float((value - least) / (most - least)) * (_RIGHT - _LEFT), 1)

    ends = Fraction(LOWEST), Fraction(HIGHEST)
    parts = [f'<line class="axis" x1="{_LEFT}" y1="50" x2="{_RIGHT}" y2="50"/>']
    for tick in range(LOWEST, HIGHEST + 1):
        x = across(Fraction(tick), *ends)
        parts.append(f'<text class="tick" x="{x}" y="72" text-anchor="middle">{tick}</text>')
    for value in values:
        parts.append(f'<circle class="person" cx="{across(value, *ends)}" cy="50" r="11"/>')
    parts.append(f'<line class="grid" x1="{_LEFT}" y1="118" x2="{_RIGHT}" y2="118"/>')
    for row in rows:
        x = across(row.value, low, high)
        title = html.escape(f"{row.what}: {_short(row.value)}")
        parts.append(f'<line class="interval" x1="{x}" y1="106" x2="{x}" y2="130">')
        parts.append(f"<title>{title}</title></line>")
    x = across(centre, low, high)
    parts.append(f'<circle class="point" cx="{x}" cy="118" r="6"/>')
    parts.append(f'<text class="tick" x="{_LEFT}" y="150">{_short(low)}</text>')
    parts.append(f'<text class="tick" x="{_RIGHT}" y="150" text-anchor="end">{_short(high)}</text>')
    told = f"people at {', '.join(_short(v) for v in values)}; the statistic is {_short(centre)}"
    return (
        f'<svg class="chart" id="people" viewBox="0 0 {_WIDTH} 160" role="img" '
        f'aria-label="{html.escape(told, quote=True)}">{"".join(parts)}</svg>'
    )
