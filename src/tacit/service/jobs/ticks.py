"""Ticks: when the outcome of a question becomes visible, as a function of the public clock.

A question that is asked at time s of a data set of latency L has its ticks at s + L, s + 2L,
s + 4L, s + 8L and so on.  Whatever its outcome is, an answer, a refusal that took the data, a
failure, it becomes visible at the first tick after the engine was done, and until then every look
at it shows the same.

**What time tells.**  Who watches a question learns at which tick it became visible, and nothing
finer.  Where every question is done within L, that is the first tick whatever the data is: nothing.
Where an engine takes a time T between L and L * 2^k, it is one of k + 1 ticks, log2(k + 1) bits at
most; the doubling is what keeps this logarithmic in the time.  Choose L above the time of the
slowest question, and watch the count of late ticks.

The margin: an outcome is written down before its tick, or it waits for the next one, so that no
look between the two tells them apart.
"""

from __future__ import annotations

__all__ = ["margin", "next_tick", "tick_after", "ticks_late"]

_LEAST = 0.02
_SHARE = 0.05
_MOST = 0.5


def margin(latency: float) -> float:
    """Return how long before its tick an outcome must be written down, in seconds."""
    return min(max(_LEAST, latency * _SHARE), _MOST, latency / 2)


def next_tick(asked: float, latency: float, now: float) -> float:
    """Return the first tick after a moment.

    >>> next_tick(100, 2, 100), next_tick(100, 2, 102), next_tick(100, 2, 105)
    (102, 104, 108)
    """
    wait = latency
    while asked + wait <= now:
        wait *= 2
    return asked + wait


def tick_after(asked: float, latency: float, done: float) -> float:
    """Return the tick at which an outcome that is there at ``done`` becomes visible.

    >>> tick_after(100, 2, 100.5), tick_after(100, 2, 101.95)
    (102, 104)
    """
    return next_tick(asked, latency, done + margin(latency))


def ticks_late(asked: float, latency: float, visible: float) -> int:
    """Return by how many ticks an outcome came after the first.

    >>> ticks_late(100, 2, 102), ticks_late(100, 2, 108)
    (0, 2)
    """
    late, wait = 0, latency
    while asked + wait < visible:
        wait, late = wait * 2, late + 1
    return late
