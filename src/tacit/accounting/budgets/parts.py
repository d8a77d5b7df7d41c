"""The losses that a release of several parts is made of, by which small ones cost less together.

A release of ten answers at epsilon 1/100 each is epsilon-DP with 1/10, and that is its price in a
budget that adds up.  A filter that charges about the square of an epsilon takes ten times the
square of 1/100 for it, a tenth of the square of 1/10: it must know the parts.

Each part is one mechanism on the data, with its own fresh noise: the release is their sequential
composition, and everything that is shown is computed from their outputs.  What is kept of a part is
public: its epsilon, and whether its range is bounded, never a value of the data.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.arithmetic.exact import as_fraction
from tacit.core.measures.conversion import pure_to_concentrated
from tacit.errors import UsageError

__all__ = ["Part", "added_up", "merged", "parts_from"]

_MOST = 1 << 20


@dataclass(frozen=True, slots=True)
class Part:
    """Equal mechanisms of a release.

    Attributes:
        epsilon: of each.
        times: how many there are.
        ranged: whether the log ratios of all outcomes lie in an interval of length epsilon, as
            those of the exponential mechanism do; see :mod:`tacit.core.losses.bounded_range`.

    >>> Part(Fraction(1, 100), 10).rho() < Part(Fraction(1, 10)).rho() / 9
    True
    """

    epsilon: Fraction
    times: int = 1
    ranged: bool = False

    def rho(self) -> Fraction:
        """Return a rho of zCDP that all of them have together.

        It is ``epsilon^2 / 8`` each where the range is bounded (Cesar and Rogers, "Bounding,
        concentrating, and truncating", ALT 2021), else epsilon tanh(epsilon/2).
        """
        each = self.epsilon**2 / 8 if self.ranged else pure_to_concentrated(self.epsilon)
        return self.times * each

    def to_json(self) -> list[str | int]:
        """Return it as plain JSON: its epsilon, how often it stands, and the word if ranged."""
        return [str(self.epsilon), self.times, *(["range"] if self.ranged else [])]


def merged(losses: Iterable[tuple[Fraction, bool]]) -> tuple[Part, ...]:
    """Return parts from the epsilon of each mechanism and whether its range is bounded.

    >>> merged([(Fraction(1, 8), False), (Fraction(1, 4), True), (Fraction(1, 8), False)])
    (Part(epsilon=Fraction(1, 4), times=1, ranged=True), Part(epsilon=Fraction(1, 8), times=2, ...
    """
    counts: dict[tuple[Fraction, bool], int] = {}
    for loss in losses:
        if loss[0]:
            counts[loss] = counts.get(loss, 0) + 1
    order = sorted(counts, key=lambda loss: (-loss[0], loss[1]))
    return tuple(Part(epsilon, counts[epsilon, ranged], ranged) for epsilon, ranged in order)


def added_up(parts: Iterable[Part]) -> Fraction:
    """Return the sum of all epsilons."""
    return sum((part.times * part.epsilon for part in parts), Fraction(0))


def parts_from(said: object) -> tuple[Part, ...]:
    """Read what :meth:`Part.to_json` wrote of each part.

    Raises:
        UsageError: they are none, or not in their order.
    """
    rows = said if isinstance(said, list) else []
    found = tuple(_part(row) for row in rows)
    order = [(-part.epsilon, part.ranged) for part in found]
    if not found or order != sorted(set(order)):
        raise UsageError(
            "the parts of a privacy loss are not in the form that Tacit writes: at least one, "
            "sorted, each once"
        )
    return found


def _part(row: Any) -> Part:
    if isinstance(row, list) and len(row) in (2, 3) and row[2:] in ([], ["range"]):
        text, times = row[:2]
        if isinstance(text, str) and type(times) is int and 1 <= times <= _MOST:
            epsilon = as_fraction(text)
            if epsilon > 0 and str(epsilon) == text:
                return Part(epsilon, times, len(row) == 3)
    raise UsageError("a part of a privacy loss is an epsilon and how often it occurs")
