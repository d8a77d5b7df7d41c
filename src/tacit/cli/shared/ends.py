"""Signals that end a command in an orderly way: what was spilled to disk is removed first."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Any

__all__ = ["Ends"]


class Ends:
    """A block that SIGTERM and SIGHUP end as the keyboard's interrupt does.

    Left as they are: a signal that somebody ignores (``nohup``) or handles already, and all of them
    outside of the main thread.

    Attributes:
        signal: the number of the one that came; 0 while there was none.
    """

    def __init__(self) -> None:
        self.signal = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Ends:
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) == signal.SIG_DFL:
                try:
                    self._before[number] = signal.signal(number, self._end)
                except ValueError:  # not the main thread
                    return self
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _end(self, number: int, frame: FrameType | None) -> None:
        self.signal = number
        raise KeyboardInterrupt
