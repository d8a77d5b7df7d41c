"""What the noise of a run pays for: how far the numbers under it moved, over its scale.

**Why this is a loss.**  Let a mechanism draw noise from fixed laws, in places that depend on
released numbers alone, and let its output be a function of the released numbers.  Given the numbers
that were released so far, the next one has the law ``value + noise``.  Where the value moves by d
from u to v, the ratio of the two probabilities of one released number is at most exp(d / scale) for
(discrete) Laplace noise of that scale, and the divergence of order alpha at most
``alpha d^2 / (2 sigma^2)`` for Gaussian noise.  Conditional ratios multiply: on the path that was
replayed the losses of all draws add up (adaptive composition).  Another path may cost more, so what
is computed here is what *this* path costs, and no bound on others.

Discrete noise hides moves by whole steps alone: a number moved by a part of a step leads to other
outputs altogether, and the loss is infinite.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.audit.replaying.tape import Drawn, Meeting, Tape, exactly
from tacit.core.measures.conversion import pure_to_concentrated
from tacit.noise import DiscreteGaussian, DiscreteLaplace, ExponentialChoice
from tacit.noise.bits import Choice

__all__ = ["Cost", "coins", "cost_of"]


class Cost:
    """A loss in pure DP and one in zCDP.

    Attributes:
        epsilon: of the draws whose loss is bounded; infinite where one hides nothing.
        rho: of all draws together, a pure loss of e counting e tanh(e/2).
        lines: of the draws that hide nothing of what moved under them.
    """

    def __init__(self) -> None:
        self.epsilon: Fraction | float = Fraction(0)
        self.rho: Fraction | float = Fraction(0)
        self.lines: list[str] = []

    def pure(self, loss: Fraction | float, line: str) -> None:
        """Add a loss of pure DP."""
        self.epsilon += loss
        self.rho += loss if loss == math.inf else pure_to_concentrated(Fraction(loss))
        if loss == math.inf:
            self.lines.append(line)

    def concentrated(self, rho: Fraction | float, line: str) -> None:
        """Add a loss of zCDP; in pure DP it is infinite."""
        if not rho:
            return
        self.epsilon = math.inf
        self.rho += rho
        if rho == math.inf:
            self.lines.append(line)


def cost_of(recorded: Tape, replayed: Tape) -> Cost:
    """Return what the draws of two tapes, which went the same way, have to hide.

    >>> cost_of(Tape(), Tape()).epsilon
    Fraction(0, 1)
    """
    cost = Cost()
    uses: dict[tuple[int, int], list[Fraction | float]] = defaultdict(list)
    for before, after in zip(recorded.meetings, replayed.meetings, strict=False):
        moved = _moved(before.value, after.value)
        for call, place, factor in before.draws:
            uses[call, place].append(moved / factor if factor else _hidden_by_none(moved))
    for draws in _met_once(recorded.meetings):
        _add_noise(cost, recorded.draws, draws, uses)
    for one, other in zip(recorded.draws, replayed.draws, strict=False):
        if isinstance(one.law, (ExponentialChoice, Choice)):
            size = 1 if one.size is None else int(np.prod(one.size))
            cost.pure(size * _choice_loss(one.law, other.law), one.line)
    return cost


def coins(recorded: Tape, replayed: Tape) -> list[str]:
    """Return where outcomes were drawn from the same law in both runs.

    Such an outcome may be put together with the data afterwards, as randomized response does, so
    that it is no released number, and freezing it freezes nothing.
    """
    pairs = zip(recorded.draws, replayed.draws, strict=False)
    return [
        one.line
        for one, other in pairs
        if isinstance(one.law, (ExponentialChoice, Choice)) and not _choice_loss(one.law, other.law)
    ]


def _met_once(meetings: list[Meeting]) -> list[tuple[tuple[int, int, Fraction], ...]]:
    """Return each sum of draws once, however many numbers it met."""
    return list(dict.fromkeys(meeting.draws for meeting in meetings))


def _hidden_by_none(moved: Fraction | float) -> Fraction | float:
    return math.inf if moved else Fraction(0)


def _moved(before: Any, after: Any) -> Fraction | float:
    """Return how far a number moved; infinitely where that is not to be said."""
    pair = [np.ravel(np.asarray(value, dtype=object)).tolist() for value in (before, after)]
    if len(pair[0]) != len(pair[1]):
        return math.inf
    try:
        moves = {exactly(b) - exactly(a) for a, b in zip(*pair, strict=True)}
    except (TypeError, ValueError, OverflowError):
        same = all(a is b or a == b or (a != a and b != b) for a, b in zip(*pair, strict=True))
        return Fraction(0) if same else math.inf
    # one draw on several numbers hides them only where all of them move together
    return moves.pop() if len(moves) == 1 else (math.inf if moves else Fraction(0))


def _add_noise(
    cost: Cost,
    calls: list[Drawn],
    draws: tuple[tuple[int, int, Fraction], ...],
    uses: Mapping[tuple[int, int], list[Fraction | float]],
) -> None:
    """Add the loss of one sum of draws: that of its best draw, for the others come after it."""
    found = []
    for call, place, _ in draws:
        moves = set(uses[call, place])
        moved = moves.pop() if len(moves) == 1 else math.inf
        found.append((_noise_loss(calls[call].law, moved), calls[call].line))
    (pure, loss), line = min(found, key=lambda one: (one[0][1], not one[0][0]))
    (cost.pure if pure else cost.concentrated)(loss, line)


def _noise_loss(law: Any, moved: Fraction | float) -> tuple[bool, Fraction | float]:
    """Return whether a loss is one of pure DP, and the loss."""
    if not moved:
        return True, Fraction(0)
    if not isinstance(moved, Fraction) or moved.denominator != 1 or abs(moved) > _FAR:
        return True, math.inf
    if isinstance(law, DiscreteLaplace):
        return True, abs(moved) / law.scale
    if isinstance(law, DiscreteGaussian):
        return False, moved * moved / (2 * law.sigma_squared)
    return True, math.inf


_FAR = 10**100
"""Noise hides no move by more, whatever its scale; beyond are losses that are no doubles."""


def _choice_loss(one: Any, other: Any) -> float:
    """Return the largest log ratio of the probabilities of an outcome."""
    if one is other or (isinstance(one, Choice) and one == other):
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        gaps = np.abs(_log_shares(one) - _log_shares(other))
    return float(np.nan_to_num(gaps, nan=0.0, posinf=math.inf).max())


def _log_shares(law: Any) -> Any:
    with np.errstate(divide="ignore"):
        if isinstance(law, ExponentialChoice):
            above = (law.costs - law.costs.min()).astype(np.float64)
            logs = np.log(law.weights.astype(np.float64)) - above * float(law.factor)
            return logs - np.logaddexp.reduce(logs)
        numbers = [float(x) for x in law.parameters]
        if law.name == "bernoulli_exp":
            return np.array([-numbers[0], np.log(-np.expm1(-numbers[0]))])
        shares = [numbers[0], 1 - numbers[0]] if law.name == "bernoulli" else numbers
        return np.log(np.array(shares) / sum(shares))
