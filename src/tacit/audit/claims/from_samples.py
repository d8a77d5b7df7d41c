"""Where a measurement has no explicit distribution: an estimate from samples, with its confidence.

One half of the samples chooses an event, the other half is counted on it: the choice cannot
flatter the count.  The two probabilities get exact binomial limits (Clopper and Pearson 1934), so
that with confidence 0.999 a pair attains at least what is reported.  It proves no claim: what is
rarer than the samples can show stays unseen.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

from tacit.arithmetic.bisection import narrowed
from tacit.audit.claims.attained_loss import Attained
from tacit.core import ApproximateDP, Measurement, PureDP, ZeroConcentratedDP
from tacit.errors import UsageError
from tacit.mechanisms.shared.output_distribution import outcome

__all__ = ["CONFIDENCE", "binomial_limits", "estimate"]

CONFIDENCE = 0.999
_LEAST_COUNT = 8
_BINS = 64


def estimate(m: Measurement, u: Any, v: Any, claim: Any, samples: int) -> Attained:
    """Return a lower bound, at confidence 0.999, of what one pair attains; the upper end is open.

    For zCDP the bound is half the Renyi divergence of order 2 between the event and its complement
    on the two sides, which is at most rho.

    Raises:
        UsageError: fewer than 100 samples, or a measure that is not looked at this way.
    """
    if samples < 100:
        raise UsageError("an estimate needs at least 100 samples")
    half = samples // 2
    runs = [[_comparable(m(data)) for _ in range(2 * half)] for data in (u, v)]
    name = _binned(runs[0][:half] + runs[1][:half])
    trained = [Counter(map(name, run[:half])) for run in runs]
    event = _best_event(trained[0], trained[1], m, claim, half)
    counts = [sum(name(x) in event for x in run[half:]) for run in runs]
    low_p, _ = binomial_limits(counts[0], half)
    _, high_q = binomial_limits(counts[1], half)
    found = _divergence(m, low_p, high_q, claim)
    note = f"an estimate: {2 * half} runs a side, confidence {CONFIDENCE}"
    shown = tuple(sorted(event, key=str))
    return Attained(found, math.inf, shown, note)


def _comparable(output: Any) -> Hashable:
    """Return an output so that equals are equal; what cannot be compared stands as its text.

    That is a function of the output, which shows no more than the output does.
    """
    value = outcome(output)
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value


def _divergence(m: Measurement, p: float, q: float, claim: Any) -> float:
    """Return what probabilities of at least p and at most q on one event show."""
    if isinstance(m.measure, ApproximateDP):
        return max(0.0, p - math.exp(min(float(claim[0]), 700)) * q)
    if p <= q or q >= 1:
        return 0.0
    if isinstance(m.measure, PureDP):
        return math.log(p / q)
    if isinstance(m.measure, ZeroConcentratedDP):
        return math.log(p * p / q + (1 - p) ** 2 / (1 - q)) / 2
    raise UsageError(f"samples say nothing about {m.measure} here")


def _binned(values: Sequence[Any]) -> Any:
    """Return how an output is named: itself where outputs repeat, else the bin of its quantile."""
    distinct = set(values)
    numeric = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in distinct)
    if not numeric or len(distinct) <= len(values) // 20:
        return lambda value: value
    ordered = sorted(v for v in values if v == v)
    edges = [ordered[i * len(ordered) // _BINS] for i in range(1, _BINS)]

    def name(value: Any) -> Hashable:
        if value != value:
            return "NaN"
        place = sum(edge <= value for edge in edges)
        return f"bin {place:02d} of {_BINS}"

    return name


def _best_event(
    p: Counter[Hashable], q: Counter[Hashable], m: Measurement, claim: Any, half: int
) -> frozenset[Hashable]:
    """Grow the event by falling ratio p / q, and keep the one whose limits show the most."""
    names = sorted(p.keys() | q.keys(), key=lambda x: -(p[x] + 0.5) / (q[x] + 0.5))
    best, event, grown = -math.inf, frozenset(names[:1]), []
    count_p = count_q = 0
    for x in names:
        grown.append(x)
        count_p, count_q = count_p + p[x], count_q + q[x]
        if count_p < _LEAST_COUNT:
            continue
        low, _ = binomial_limits(count_p, half)
        _, high = binomial_limits(count_q, half)
        found = _divergence(m, low, high, claim)
        if found > best:
            best, event = found, frozenset(grown)
    return event


def binomial_limits(count: int, runs: int, level: float = CONFIDENCE) -> tuple[float, float]:
    """Return limits that hold the probability of a success, each end with error ``(1 - level)/2``.

    Clopper and Pearson (1934): the p at which so few, or so many, successes would be that rare.

    >>> low, high = binomial_limits(50, 100, 0.95)
    >>> round(low, 4), round(high, 4)
    (0.3983, 0.6017)
    """
    error = (1 - level) / 2
    low = 0.0 if count == 0 else _solve(lambda p: _at_most(runs - count, runs, 1 - p), error)
    high = 1.0 if count == runs else 1 - _solve(lambda p: _at_most(count, runs, 1 - p), error)
    return low, high


def _solve(tail: Any, error: float) -> float:
    """Return nearly the largest p at which a rising tail is at most the error, rounded down."""
    low, _ = narrowed(lambda p: tail(p) <= error, 0.0, 1.0, 60)
    return low * (1 - 1e-9)


def _at_most(count: int, runs: int, p: float) -> float:
    """Return P(X <= count) for X binomial, adding terms down from the largest."""
    if p <= 0:
        return 1.0
    if p >= 1:
        return float(count >= runs)
    start = min(count, int(runs * p))
    log_start = (
        math.lgamma(runs + 1)
        - math.lgamma(start + 1)
        - math.lgamma(runs - start + 1)
        + start * math.log(p)
        + (runs - start) * math.log1p(-p)
    )
    odds = p / (1 - p)
    total, term = 1.0, 1.0
    for k in range(start, 0, -1):
        term *= k / ((runs - k + 1) * odds)
        total += term
        if term < 1e-18 * total:
            break
    term = 1.0
    for k in range(start, count):
        term *= (runs - k) * odds / (k + 1)
        total += term
        if term < 1e-18 * total:
            break
    return min(1.0, math.exp(log_start) * total)
