"""Events that distinguish two data sets, learned from outputs that were seen before.

An event is a function from an output to True or False.  Any event gives a valid bound
(:mod:`tacit.audit.sampling.betting`), for it is chosen before the outputs that it is counted on; a
good one gives a bound near the truth.  By the lemma of Neyman and Pearson the best ones gather the
outputs whose ratio of probabilities, of u to v, is above a threshold.  That ratio is estimated

- by counting, where outputs repeat;
- else by logistic regression on features of the output (:mod:`tacit.audit.sampling.features`), or
  by one of its features alone, where that tells more.

Where the claim is known, the outputs are divided where the bets against it (payoff 1 for an output
of u in the event, -exp(epsilon) for one of v) would have gained the most for their variance; or
where the ratio is the largest, if no bet would have gained clearly.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.audit.sampling.boosted import boosted
from tacit.audit.sampling.features import SUMMARIES, Design, numbers_of, width_of

__all__ = ["Event", "LearnedEvent", "learned_event", "learned_score"]

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


_REPEATS = 0.03
"""Outputs are counted where there are at most so many different ones for each output."""
_ROUNDS = 25
_STEADY = 1e-4
_RIDGE, _RIDGE_AT_LEAST = 1e-5, 0.1
_CHUNK = 20_000
_MOST_CELLS = 40_000_000
"""Outputs times features of one fit."""
_CAREFUL = 2.0
"""Standard errors that are held against an event."""


def learned_event(
    left: Sequence[Any], right: Sequence[Any], delta: float, epsilon: float | None = None
) -> LearnedEvent:
    """Return the event that would have shown the most on these outputs.

    Args:
        left: outputs of u.
        right: outputs of v, as many.
        delta: the delta of the claim, which decides how rare an event may be.
        epsilon: the claim; None to look for the largest ratio.
    """
    names = [Counter(map(_name, side)) for side in (left, right)]
    if len(names[0] | names[1]) <= max(4, _REPEATS * (len(left) + len(right))):
        scores = [_by_count(names[0], names[1])]
    else:
        width = width_of(numbers_of([*left, *right]))
        summaries = (_by_summary(place, width) for place in range(SUMMARIES))
        scores = [_by_regression(left, right), *summaries]

    def best(claim: float | None) -> tuple[float, LearnedEvent]:
        found = [_best_threshold(score, left, right, delta, claim) for score in scores]
        return max(found, key=lambda one: one[0])

    gain, event = best(epsilon)
    # where nothing tells against the claim, a bet on it is of noise: the largest ratio says more
    against = epsilon is None or gain * math.sqrt(len(left)) >= _CAREFUL
    return event if against else best(None)[1]


_FEW = 100
"""Outputs are counted one by one where there are at most so many different ones."""
_TREE_CELLS = 8_000_000
_HALF = 250_000


def learned_score(
    left: Sequence[Any], right: Sequence[Any]
) -> Callable[[Sequence[Any]], NDArray[np.float64]]:
    """Return a score of how much more an output tells of u than of v.

    Few different outputs are counted; else trees correct a logistic regression.

    Args:
        left: outputs of u.
        right: outputs of v, as many.
    """
    left, right = left[-_HALF:], right[-_HALF:]
    names = [Counter(map(_name, side)) for side in (left, right)]
    if len(names[0] | names[1]) <= min(_FEW, len(left) / 4):
        return _by_count(names[0], names[1])
    first = _by_regression(left, right)
    most = max(1_000, _TREE_CELLS // (2 * numbers_of(left[:2]).shape[1]))
    both = [*left[-most:], *right[-most:]]
    of_u = np.arange(len(both)) < len(both) // 2
    rows = numbers_of(both)
    trees, width = boosted(rows, of_u, first(both)), width_of(rows)
    return lambda outputs: np.asarray(
        first(outputs) + trees(numbers_of(outputs, width)), dtype=np.float64
    )


def _by_summary(place: int, width: int) -> Callable[[Sequence[Any]], NDArray[np.float64]]:
    """Score by one number of the summary, whose tails a regression over all outputs may miss."""
    return lambda outputs: numbers_of(outputs, width)[:, place]


def _best_threshold(
    score: Callable[[Sequence[Any]], NDArray[np.float64]],
    left: Sequence[Any],
    right: Sequence[Any],
    delta: float,
    epsilon: float | None,
) -> tuple[float, LearnedEvent]:
    """Cut the score where the bets on the outputs seen would have gained the most.

    Both tails are tried: outputs that tell of u, and outputs that tell of v.
    """
    sides = [np.sort(score(side)) for side in (left, right)]
    places = np.linspace(0.002, 0.998, 200)
    if len(left) > 4 * _FEWEST / 0.002:
        tail = np.geomspace(_FEWEST / len(left), 0.002, 20)
        places = np.concatenate([tail, places, 1 - tail])
    cuts = np.unique(np.quantile(np.concatenate(sides), places))
    at_least = [1 - np.searchsorted(side, cuts) / len(side) for side in sides]
    below = [1 - share for share in at_least]
    shares = np.array([[at_least[0], at_least[1]], [below[1], below[0]]])
    gains = _gain(shares[:, 0], shares[:, 1], len(left), delta, epsilon)
    way, place = np.unravel_index(int(gains.argmax()), gains.shape)
    event = LearnedEvent(score, float(cuts[place]), tells_of_v=bool(way == 1))
    return float(gains[way, place]), event


_FEWEST = 40
"""Outputs of both sides in the rarest event that is tried."""


def _gain(
    p: NDArray[np.float64], q: NDArray[np.float64], runs: int, delta: float, epsilon: float | None
) -> NDArray[np.float64]:
    """Return what an event promises: against a claim, the mean of a bet over its deviation.

    Without a claim, the logarithm of (p - delta) / q with some standard errors against it.
    """
    if epsilon is not None:
        loss = math.exp(min(epsilon, 300.0))
        some = 1 / runs  # an event that v never showed may have this share
        spread = np.sqrt(p * (1 - p) + loss * loss * (q * (1 - q) + some) + some)
        return np.asarray((p - loss * q - delta) / spread, dtype=np.float64)
    low = p - delta - _CAREFUL * np.sqrt(p * (1 - p) / runs) - 1 / runs
    high = q + _CAREFUL * np.sqrt(q * (1 - q) / runs) + 1 / runs
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


def _by_regression(
    left: Sequence[Any], right: Sequence[Any]
) -> Callable[[Sequence[Any]], NDArray[np.float64]]:
    """Fit a logistic regression by Newton's method, with a small ridge."""
    size = Design.of(left[:1_000], right[:1_000])(left[:1]).shape[1]
    most = max(1_000, _MOST_CELLS // (2 * size))
    left, right = left[-most:], right[-most:]
    design = Design.of(left, right)
    x = design(list(left) + list(right))
    y = np.concatenate([np.ones(len(left)), np.zeros(len(right))])
    weights = np.zeros(x.shape[1])
    ridge = _RIDGE * len(y) + _RIDGE_AT_LEAST
    for _ in range(_ROUNDS):
        scores = (x @ weights.astype(np.float32)).astype(np.float64)
        chance = 1 / (1 + np.exp(-np.clip(scores, -30, 30)))
        slope = x.T @ (y - chance).astype(np.float32) - ridge * weights
        weight = chance * (1 - chance)
        bend = ridge * np.eye(len(weights))
        for some in range(0, len(x), _CHUNK):
            part = x[some : some + _CHUNK]
            bend += (part * weight[some : some + _CHUNK, None].astype(np.float32)).T @ part
        step = np.linalg.solve(bend, slope)
        weights = weights + step
        if np.abs(x[:: max(1, len(x) // 1000)] @ step).max() < _STEADY:
            break
    fitted = weights.astype(np.float32)
    return lambda outputs: np.asarray(design(outputs) @ fitted, dtype=np.float64)
