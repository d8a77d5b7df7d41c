"""Events that distinguish two data sets, learned from outputs that were seen before.

An event is a function from an output to True or False.  Any event gives a valid bound
(:mod:`tacit.audit.sampling.betting`), for it is chosen before the outputs that it is counted on; a
good one gives a bound near the truth.  By the lemma of Neyman and Pearson the best ones gather the
outputs whose ratio of probabilities, of u to v, is above a threshold.  That ratio is estimated

- by counting, where outputs repeat;
- else by logistic regression on features of the output: its numbers and their squares, how each
  compares with the largest and the smallest, whether it is a multiple of 2^-53 and of 1 (what
  floating-point noise leaves behind), and how many numbers there are.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Event", "LearnedEvent", "learned_event", "numbers_of"]

Event = Callable[[Sequence[Any]], NDArray[np.bool_]]
"""From outputs to whether each lies in the event."""


@dataclass(frozen=True)
class LearnedEvent:
    """The outputs whose score is on one side of a cut.

    Attributes:
        score: an estimate of how much more likely an output is from u than from v.
        cut: where the outputs are divided.
        tells_of_v: the event is those below the cut, which tell of v; else those above, of u.
    """

    score: Callable[[Sequence[Any]], NDArray[np.float64]]
    cut: float
    tells_of_v: bool

    def __call__(self, outputs: Sequence[Any]) -> NDArray[np.bool_]:
        """Return whether each output lies in the event."""
        return np.asarray((self.score(outputs) < self.cut) == self.tells_of_v)


_REPEATS = 0.25
"""Outputs are counted where there are at most so many different ones for each output."""
_ROUNDS = 60
_RIDGE = 1e-3
_WIDEST = 64
_MOST_FITTED = 5_000


def learned_event(left: Sequence[Any], right: Sequence[Any], delta: float) -> LearnedEvent:
    """Return the event that would have shown the most on these outputs.

    Args:
        left: outputs of u.
        right: outputs of v, as many.
        delta: the delta of the claim, which decides how rare an event may be.
    """
    names = [Counter(map(_name, side)) for side in (left, right)]
    if len(names[0] | names[1]) <= max(2, _REPEATS * (len(left) + len(right))):
        score = _by_count(names[0], names[1])
    else:
        score = _by_regression(left[-_MOST_FITTED:], right[-_MOST_FITTED:])
    return _best_threshold(score, left, right, delta)


def _best_threshold(
    score: Callable[[Sequence[Any]], NDArray[np.float64]],
    left: Sequence[Any],
    right: Sequence[Any],
    delta: float,
) -> LearnedEvent:
    """Cut the score where the bets on the outputs seen would have gained the most.

    Both tails are tried: outputs that tell of u, and outputs that tell of v.
    """
    sides = [np.sort(score(side)) for side in (left, right)]
    cuts = np.unique(np.quantile(np.concatenate(sides), np.linspace(0.002, 0.998, 200)))
    at_least = [1 - np.searchsorted(side, cuts) / len(side) for side in sides]
    below = [1 - share for share in at_least]
    shares = np.array([[at_least[0], at_least[1]], [below[1], below[0]]])
    gains = _careful_ratio(shares[:, 0], shares[:, 1], len(left), delta)
    way, place = np.unravel_index(int(gains.argmax()), gains.shape)
    return LearnedEvent(score, float(cuts[place]), tells_of_v=bool(way == 1))


def _careful_ratio(
    p: NDArray[np.float64], q: NDArray[np.float64], runs: int, delta: float
) -> NDArray[np.float64]:
    """Return the logarithm of (p - delta) / q with two standard errors against it."""
    low = p - delta - 2 * np.sqrt(p * (1 - p) / runs) - 1 / runs
    high = q + 2 * np.sqrt(q * (1 - q) / runs) + 1 / runs
    return np.asarray(np.log(np.maximum(low, 1e-12) / high), dtype=np.float64)


def _name(output: Any) -> Hashable:
    """Return an output so that equals are equal."""
    if isinstance(output, np.ndarray):
        return tuple(output.ravel().tolist())
    try:
        hash(output)
    except TypeError:
        return repr(output)
    return "NaN" if isinstance(output, float) and output != output else output


def _by_count(
    left: Counter[Hashable], right: Counter[Hashable]
) -> Callable[[Sequence[Any]], NDArray[np.float64]]:
    """Score by the logarithm of the ratio of counts, half a count added to each."""
    known = {
        name: math.log((left[name] + 0.5) / (right[name] + 0.5))
        for name in left.keys() | right.keys()
    }
    return lambda outputs: np.array([known.get(_name(x), 0.0) for x in outputs], dtype=np.float64)


def numbers_of(outputs: Sequence[Any]) -> NDArray[np.float64]:
    """Return features of outputs, one row each; what is no number counts as its length.

    >>> numbers_of([0.5, 2.0]).shape[0]
    2
    """
    rows = [_flat(output) for output in outputs]
    width = min(_WIDEST, max((len(row) for row in rows), default=1))
    table = np.zeros((len(rows), width))
    for place, row in enumerate(rows):
        table[place, : len(row[:width])] = row[:width]
    sizes = np.array([len(row) for row in rows], dtype=np.float64)
    odd = np.isnan(table) | np.isinf(table)
    plain = np.clip(np.where(odd, 0.0, table), -1e150, 1e150)
    scaled = np.abs(plain) * 2.0**53
    fine = (np.abs(plain) < 0.5) & (scaled != np.floor(scaled))
    whole = plain == np.floor(plain)
    spread = np.stack([plain.max(axis=1), plain.min(axis=1), plain.sum(axis=1)], axis=1)
    argmax = (plain == spread[:, :1]).astype(float)
    squashed = np.tanh(plain / 2)
    return np.column_stack([plain, squashed, odd, fine, whole, argmax, spread, sizes])


def _flat(output: Any) -> list[float]:
    if isinstance(output, (str, bytes)) or output is None:
        return [float(len(output or ""))]
    if isinstance(output, dict):
        output = list(output.values())
    found: list[float] = []
    for value in np.ravel(np.asarray(output, dtype=object)).tolist():
        try:
            found.append(float(value))
        except (TypeError, ValueError, OverflowError):
            found.append(float(len(str(value))))
    return found or [0.0]


def _by_regression(
    left: Sequence[Any], right: Sequence[Any]
) -> Callable[[Sequence[Any]], NDArray[np.float64]]:
    """Fit a logistic regression by Newton's method, with a small ridge."""
    features = numbers_of([*left, *right])
    centre, spread = np.median(features, axis=0), features.std(axis=0)
    limit = np.quantile(np.abs(features - centre), 0.99, axis=0)
    scale = np.where(limit > 0, limit, np.where(spread > 0, spread, 1.0))
    width = features.shape[1]

    def design(outputs: Sequence[Any]) -> NDArray[np.float64]:
        rows = numbers_of(outputs)
        fitted = np.zeros((len(rows), width))
        fitted[:, : min(width, rows.shape[1])] = rows[:, :width]
        z = np.clip((fitted - centre) / scale, -3, 3)
        return np.column_stack([np.ones(len(z)), z])

    x = design([*left, *right])
    y = np.concatenate([np.ones(len(left)), np.zeros(len(right))])
    weights = np.zeros(x.shape[1])
    for _ in range(_ROUNDS):
        chance = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
        slope = x.T @ (y - chance) - _RIDGE * len(y) * weights
        bend = (x * (chance * (1 - chance))[:, None]).T @ x + _RIDGE * len(y) * np.eye(len(weights))
        step = np.linalg.solve(bend, slope)
        weights = weights + step
        if np.abs(step).max() < 1e-8:
            break
    return lambda outputs: np.asarray(design(outputs) @ weights, dtype=np.float64)
