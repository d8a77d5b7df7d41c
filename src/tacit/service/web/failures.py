"""How often an address sent a wrong token: after a number of them it must wait."""

from __future__ import annotations

import threading
from collections.abc import Callable

from tacit.service.problem import Problem

__all__ = ["FailedTokens"]

_SPAN = 60.0  # seconds
_MOST_ADDRESSES = 10_000


class FailedTokens:
    """The failures of the last minute, by address, in the memory of one process.

    A token cannot be guessed, so this is no lock: it keeps one address from filling the log, and
    shows the operator that somebody tries.  Whoever sends a good token is never held up, also where
    many people share an address.

    Args:
        most: in a minute, of one address.
        clock: seconds that never go back.
    """

    def __init__(self, most: int, clock: Callable[[], float]) -> None:
        self._most = most
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[float, int]] = {}
        self._cleared = clock()

    def note(self, address: str) -> None:
        """Count a failure of an address.

        Raises:
            Problem: ``too_many``, from the one on that is over the limit.
        """
        now = self._clock()
        with self._lock:
            since, number = self._seen.get(address, (now, 0))
            if now - since >= _SPAN:
                since, number = now, 0
            if now - self._cleared >= _SPAN:
                self._cleared = now
                self._seen = {a: one for a, one in self._seen.items() if now - one[0] < _SPAN}
            if len(self._seen) < _MOST_ADDRESSES or address in self._seen:
                self._seen[address] = since, number + 1
        if number >= self._most:
            wait = max(1, round(since + _SPAN - now))
            raise Problem(
                "too_many",
                "too many tokens from this address were not of this service",
                f"wait {wait} s, and look at the token",
                {"retry_after": wait},
            )
