"""How cases look: by loud releases, by raised errors, by how often something is seen.

A *loud* release has an epsilon of 10^6, which the framework of differential privacy allows: its
noise is a millionth of what one person may move.  Where two loud releases of neighbours differ by
more than one person may move, one row has moved the statistic by more than the noise was made for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tacit.audit.attack_suite.case import Outcome, falls, holds
from tacit.audit.attack_suite.rare_events import count_hits
from tacit.audit.attack_suite.system import NotOfferedError
from tacit.audit.sampling.sampled import sampled

__all__ = [
    "LOUD",
    "attempt",
    "compared",
    "distinguished",
    "moved_at_most",
    "moved_beyond_noise",
    "rarely_shown",
]

LOUD = 10.0**6
_SLACK = 1e-2
_SURE = 1 - 1e-5


def attempt(action: Callable[[], Any]) -> tuple[Any, Exception | None]:
    """Return what an action returns, or the error that the system raised."""
    try:
        return action(), None
    except NotOfferedError:
        raise
    except Exception as error:
        return None, error


def _plain(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [float(value[key]) for key in sorted(value, key=str)]
    if isinstance(value, (list, tuple)):
        return [float(part) for part in value]
    return [float(value)]


def moved_at_most(
    left: Callable[[], Any], right: Callable[[], Any], allowed: float, change: str
) -> Outcome:
    """Return whether two loud releases differ, in total, by no more than is allowed.

    Args:
        left: releases on one data set.
        right: releases on its neighbour.
        allowed: the largest sum of differences that the noise is made for.
        change: what differs between the two, as a sentence begins.
    """
    found = compared(left, right, change)
    if isinstance(found, Outcome):
        return found
    moved = sum(abs(a - b) for a, b in zip(*found, strict=True))
    told = f"{change} moved the answer by {moved:.6g}, where {allowed:.6g} is allowed"
    return holds(told) if moved <= allowed * (1 + _SLACK) else falls(told)


def moved_beyond_noise(
    left: Callable[[float], Any], right: Callable[[float], Any], change: str
) -> Outcome:
    """Return whether one number moves by more than its noise is made for, whatever that is.

    A system may count one row for several, if its noise is larger by as much.  So where two loud
    releases differ by more than 1, and the noise of a few at epsilon 1 is not on average about as
    large as they differ, many at epsilon 1 are distinguished by the middle of the two.

    Args:
        left: from an epsilon to a release on one data set.
        right: the same on its neighbour.
        change: what differs between the two, as a sentence begins.
    """
    found = compared(lambda: left(LOUD), lambda: right(LOUD), change)
    if isinstance(found, Outcome):
        return found
    (first,), (second,) = found
    moved, middle = abs(first - second), (first + second) / 2
    told = f"{change} moved the answer by {moved:.6g}"
    if moved <= 1 + _SLACK:
        return holds(f"{told}, where 1 is allowed")
    noise = math.fsum(abs(left(1.0) - first) for _ in range(_FEW)) / _FEW
    if noise > _ABOUT * moved:
        return holds(f"{told}, and the noise at epsilon 1 is {noise:.2g} on average, as for that")
    return distinguished(
        lambda: left(1.0),
        lambda: right(1.0),
        lambda answer: bool((answer > middle) == (first > second)),
        epsilon=1.0,
        what=f"{told}; an answer on its side of the middle",
        runs=_MANY,
    )


_FEW, _MANY, _ABOUT = 60, 2_000, 0.7


def compared(
    left: Callable[[], Any], right: Callable[[], Any], change: str
) -> tuple[list[float], list[float]] | Outcome:
    """Return the numbers of two releases, all finite and as many, or the verdict without them."""
    first, error = attempt(left)
    second, other = attempt(right)
    if error is not None and other is not None:
        if type(error) is type(other):
            return holds(f"refused with and without: {type(error).__name__}")
        names = f"{type(error).__name__} against {type(other).__name__}"
        return falls(f"{change} raised another error: {names}")
    if error is not None or other is not None:
        name = type(error or other).__name__
        return falls(f"{change} decided whether an error was raised: {name}")
    numbers = _plain(first), _plain(second)
    if len(numbers[0]) != len(numbers[1]):
        lengths = " to ".join(str(len(part)) for part in numbers)
        return falls(f"{change} changed the number of answers from {lengths}")
    if not all(math.isfinite(x) for part in numbers for x in part):
        return falls(f"{change} gave an answer that is no finite number")
    return numbers


def distinguished(
    left: Callable[[], Any],
    right: Callable[[], Any],
    event: Callable[[Any], bool],
    *,
    epsilon: float,
    delta: float = 0.0,
    what: str,
    runs: int = 300,
) -> Outcome:
    """Return whether an event refutes (epsilon, delta) with confidence 1 - 10^-5.

    Args:
        left: releases on one data set.
        right: releases on its neighbour.
        event: from an answer to True or False.
        epsilon: the claim.
        delta: the claim.
        what: the event, as a sentence begins.
        runs: the most releases on each side.
    """
    quiet = 80
    if not any(event(release()) for _ in range(quiet) for release in (left, right)):
        return holds(f"{what}: in none of {quiet} releases on either side")
    sides = {True: left, False: right}
    found = sampled(
        lambda side: sides[side](),
        True,
        False,
        epsilon=epsilon,
        delta=delta,
        confidence=_SURE,
        samples=runs,
        event=event,
    )
    shares = f"{found.shares[0]:.3g} against {found.shares[1]:.3g} of {found.samples} releases"
    if found.refuted:
        return falls(f"{what}: {shares}, so epsilon is above {found.lower:.3g} and not {epsilon:g}")
    return holds(f"{what}: {shares}, which agrees with epsilon {epsilon:g}")


def rarely_shown(
    left: Callable[[], Any],
    right: Callable[[], Any],
    event: Callable[[Any], bool],
    *,
    epsilon: float,
    what: str,
    runs: int,
) -> Outcome:
    """Return whether a rare event of the left refutes epsilon with confidence 1 - 10^-5.

    Args:
        left: releases on the data set that the event tells of.
        right: releases on its neighbour.
        event: from an answer to True or False; seldom True on either side.
        epsilon: the claim, at delta 0.
        what: the event, as a sentence begins.
        runs: the most releases on both sides together.
    """
    quiet = 160
    if not any(event(left()) for _ in range(quiet)):
        return holds(f"{what}: in none of {quiet} releases")
    found = count_hits(left, right, event, epsilon=epsilon, runs=runs, level=1 - _SURE)
    if found.refutes(epsilon):
        return falls(f"{what}: {found}, so epsilon is above {found.lower:.3g} and not {epsilon:g}")
    return holds(f"{what}: {found}, which agrees with epsilon {epsilon:g}")
