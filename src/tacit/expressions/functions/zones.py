"""Times of a zone: the local time of an instant, the same on every engine.

Each engine has a database of time zones of its own, of its own age, so their own functions would
give one question several answers.  Therefore the offsets of a zone are looked up once, when the
question is made, and become part of it: the engine compares whole seconds with public ones.  The
question's identity and its certificate hold them, and a check of the certificate needs no database.

*Total.*  Every instant has one local time (the other way round an hour of autumn has two, and one
of spring none; nothing here goes that way).  An offset is below a day, and seconds are held within
the calendar before it is added, so nothing overflows.  Rules for what is far ahead are guesses:
from the year 2050 on the local time is missing.
"""

from __future__ import annotations

import datetime
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tacit.arithmetic.bisection import least_between
from tacit.errors import UsageError
from tacit.expressions.dialect import Dialect
from tacit.expressions.functions.row_function import RowFunction

__all__ = ["ZONES", "offsets_of"]

_DAY = 86400
_FIRST = int(datetime.datetime(1, 1, 1, tzinfo=datetime.UTC).timestamp()) + _DAY
_KNOWN = int(datetime.datetime(1890, 1, 1, tzinfo=datetime.UTC).timestamp())
_UNKNOWN = int(datetime.datetime(2050, 1, 1, tzinfo=datetime.UTC).timestamp())
_MOST = 1000


@lru_cache(maxsize=16)
def offsets_of(zone: str) -> tuple[tuple[int, int], ...]:
    """Return the offsets of a zone, each with when it begins.

    Args:
        zone: its name, such as ``"Europe/Berlin"``.

    Returns:
        Pairs of whole seconds: when an offset begins, since 1970 (UTC), rising, from the second day
        of the calendar to 2050; and how far local time is ahead of UTC from then on.

    Raises:
        UsageError: no such zone, or no database of zones on this machine.

    >>> dict(offsets_of("Europe/Berlin"))[1711846800]  # from 31 March 2024, 01:00 UTC
    7200
    """
    try:
        found = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(
            f"no time zone is called {zone!r} on this machine: name one such as 'Europe/Berlin'; "
            "if none is found, install the time zone database: pip install tzdata"
        ) from None

    def offset(seconds: int) -> int:
        local = datetime.datetime.fromtimestamp(seconds, found)
        ahead = local.utcoffset()
        return 0 if ahead is None else round(ahead.total_seconds())

    def differs(last: int, seconds: int) -> bool:
        return offset(seconds) != last

    pairs = [(_FIRST, offset(_KNOWN))]
    for day in range(_KNOWN, _UNKNOWN, _DAY):
        last = pairs[-1][1]
        if offset(day + _DAY) != last:
            changed = least_between(partial(differs, last), day, day + _DAY)
            pairs.append((changed, offset(changed)))
    return tuple(pairs)


def _local(d: Dialect, operands: Sequence[str], parameters: Sequence[Any]) -> str:
    low, high = d.literal(_FIRST), d.literal(_UNKNOWN - 1)

    def held(x: str) -> str:
        return f"(case when {x} between {low} and {high} then {x} end)"

    # always named, however short: it stands in the formula as often as the offset changes
    body = f"(tacit_v + {_ahead('tacit_v', parameters[1])})"
    return d.let.format(x=d.share(operands[0], held), body=body)


def _ahead(x: str, pairs: Sequence[tuple[int, int]]) -> str:
    """Return the offset at ``x``: some ten comparisons, wherever it stands."""
    if len(pairs) == 1:
        return str(pairs[0][1])
    middle = len(pairs) // 2
    before, after = _ahead(x, pairs[:middle]), _ahead(x, pairs[middle:])
    # a bare number: engines take seconds to plan a cast of each
    return f"(case when {x} < {pairs[middle][0]} then {before} else {after} end)"


def _value(seconds: int, zone: str, pairs: Sequence[tuple[int, int]]) -> int | None:
    if not _FIRST <= seconds < _UNKNOWN:
        return None
    return seconds + pairs[bisect_right([start for start, _ in pairs], seconds) - 1][1]


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= 100 and value.isascii()


def _are_pairs(value: Any) -> bool:
    if not isinstance(value, tuple) or not 0 < len(value) <= _MOST:
        return False
    if not all(isinstance(v, tuple) and list(map(type, v)) == [int, int] for v in value):
        return False
    starts = [start for start, _ in value]
    rising = starts[0] == _FIRST and all(a < b for a, b in pairwise([*starts, _UNKNOWN]))
    return rising and all(abs(offset) < _DAY for _, offset in value)


ZONES = {
    "in_zone": RowFunction(*("seconds", "integer", _local, _value), checks=(_is_name, _are_pairs))
}
