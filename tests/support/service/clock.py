"""A clock that stands still, until it is set."""

from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass
class Clock:
    now: float

    def __call__(self) -> float:
        return self.now


def at(text: str) -> float:
    """A time in UTC, in seconds since 1970."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
