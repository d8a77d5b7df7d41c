"""When a data set is read again: ``every 6 hours``, ``every 30 minutes`` or ``daily 03:00``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tacit.errors import UsageError

__all__ = ["Schedule", "schedules_of"]

_UNITS = {"minute": 60, "hour": 3600, "day": 86400}
_EVERY = re.compile(r"every (?:(\d{1,4}) )?(minute|hour|day)s?")
_DAILY = re.compile(r"daily (?:at )?([01]\d|2[0-3]):([0-5]\d)")


@dataclass(frozen=True)
class Schedule:
    """Times at equal distances, in UTC, known to everybody beforehand.

    Attributes:
        every: seconds between two of them.
        offset: seconds from the beginning of 1970 to the first.

    >>> Schedule.parse("every 6 hours").last(1_000_000), Schedule.parse("daily 03:00").last(100_000)
    (993600, 97200)
    """

    every: int
    offset: int = 0

    @classmethod
    def parse(cls, said: str) -> Schedule:
        """Read a schedule.

        Raises:
            UsageError: it is none.

        >>> Schedule.parse("hourly")
        Traceback (most recent call last):
        tacit.errors.UsageError: refresh = 'hourly' is not a schedule: write 'every 6 hours', ...
        """
        if (found := _EVERY.fullmatch(said)) is not None:
            every = int(found[1] or 1) * _UNITS[found[2]]
            if every:
                return cls(every)
        if (found := _DAILY.fullmatch(said)) is not None:
            return cls(_UNITS["day"], int(found[1]) * 3600 + int(found[2]) * 60)
        raise UsageError(
            f"refresh = {said!r} is not a schedule: write 'every 6 hours', 'every 30 minutes' or "
            "'daily 03:00' (UTC)"
        )

    def last(self, now: float) -> int:
        """Return the latest of its times up to now, in seconds since 1970."""
        return int((now - self.offset) // self.every) * self.every + self.offset


def schedules_of(said: Mapping[str, str | None]) -> dict[str, Schedule]:
    """Return the schedules of the data sets that have one.

    Args:
        said: by the name of each data set, when it is read again.

    Raises:
        UsageError: one that cannot be read.

    >>> schedules_of({"visits": "every 6 hours", "births": None})
    {'visits': Schedule(every=21600, offset=0)}
    """
    return {name: Schedule.parse(one) for name, one in said.items() if one is not None}
