"""The ways to release one statistic that are compared, each with its settings and predicted error.

The predicted errors are mean absolute errors on one *public* data set, from formulas; those that
are measured come from running the mechanisms.  A Laplace variable of scale ``s`` has mean size
``s``; around an offset ``a`` it has mean size ``|a| + s exp(-|a| / s)``; the difference of two of
scales ``s, t`` has mean size ``(s^2 + s t + t^2) / (s + t)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.core import (
    AbsoluteDistance,
    Measurement,
    Number,
    Space,
)
from tacit.errors import TacitError, UsageError
from tacit.mechanisms import Laplace
from tacit.mechanisms.bins import assignment
from tacit.mechanisms.propose_test_release import TestedRelease, propose_test_release
from tacit.mechanisms.sample_and_aggregate import sample_and_aggregate
from tacit.mechanisms.smooth import smooth_noise
from tacit.statistics import Interval, sensitivity
from tacit.statistics.base import Statistic
from tacit.statistics.smooth import at_distance

__all__ = ["Asked", "Candidate", "candidates"]

_BINNINGS = 100
_PROPOSALS = 6


@dataclass(frozen=True)
class Asked:
    """What is to be released, and the public data that it is tried on."""

    statistic: Statistic
    data: NDArray[np.float64]
    lower: Fraction
    upper: Fraction
    epsilon: Fraction
    delta: Fraction | None
    relation: str
    bins: Sequence[int]
    proposed: Sequence[Fraction] | None

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        """The public bounds of a record."""
        return self.lower, self.upper

    @property
    def truth(self) -> float:
        """The statistic of the public data."""
        return float(self.statistic(self.data))


@dataclass(frozen=True)
class Candidate:
    """One way to release, at one setting.

    Attributes:
        method: its name.
        setting: what was set: ``"k = 100"``, or nothing.
        release: a fresh answer on the public data, or None where it was refused.
        predicted: the mean absolute error where it answers, by formula.
        refused: the share of refusals, by formula.
    """

    method: str
    setting: str
    value: float | None
    release: Callable[[], float | None]
    predicted: float
    refused: float = 0.0


def candidates(asked: Asked) -> tuple[list[Candidate], list[str]]:
    """Return every way that works for a statistic, and why the others do not."""
    found: list[Candidate] = []
    notes: list[str] = []
    for name, make in _METHODS.items():
        try:
            found += make(asked)
        except TacitError as error:
            notes.append(f"{name}: {error}")
    return found, notes


def _global(asked: Asked) -> Iterator[Candidate]:
    size = len(asked.data) if asked.relation == "bounded" else None
    domain = Interval(*asked.bounds, size=size)
    answer = sensitivity(asked.statistic, over=domain, relation=asked.relation)
    scale = Fraction(answer.value) / asked.epsilon
    grid = _fine(scale)
    noisy = _number(grid) >> Laplace(scale)
    units = round(Fraction(asked.truth) / grid)
    yield Candidate("global", "", None, lambda: float(noisy(units * grid)), float(scale))


def _sum_over_count(asked: Asked) -> Iterator[Candidate]:
    if asked.statistic.name != "mean":
        return
    half = asked.epsilon / 2
    largest = max(abs(asked.lower), abs(asked.upper))
    middle = (asked.lower + asked.upper) / 2
    n = len(asked.data)
    grid = _fine(largest)
    total = round(sum(map(Fraction, asked.data.tolist()), Fraction(0)) / grid) * grid
    noisy_sum = _number(grid) >> Laplace(largest / half)
    noisy_count = _number(Fraction(1)) >> Laplace(1 / half)

    def release() -> float:
        count = float(noisy_count(n))
        found = float(noisy_sum(total)) / count if count >= 1 else float(middle)
        return min(max(found, float(asked.lower)), float(asked.upper))

    # sum / count moves by (X - mean Y) / n, to first order.
    predicted = _two_laplaces(float(largest / half) / n, abs(asked.truth) * float(1 / half) / n)
    yield Candidate("sum over count", "", None, release, predicted)


def _propose_test_release(asked: Asked) -> Iterator[Candidate]:
    if asked.delta is None:
        raise UsageError("it needs a delta; give one")
    for bound in _proposed(asked):
        try:
            m = propose_test_release(
                asked.statistic,
                asked.bounds,
                bound,
                asked.epsilon,
                asked.delta,
                asked.relation,
                like=asked.data,
            )
        except UsageError:
            continue  # a bound that every data set keeps: noise for it needs no test
        assert isinstance(m, TestedRelease)
        chance = m.answer_probability(asked.data)
        yield Candidate(
            "propose-test-release",
            f"b = {float(bound):.4g}",
            float(bound),
            _run(m, asked),
            m.expected_error(asked.data),
            1 - chance,
        )


def _proposed(asked: Asked) -> Sequence[Fraction]:
    """Return the bounds to try: given, or doubling from the local sensitivity."""
    if asked.proposed is not None:
        return asked.proposed
    found = at_distance(asked.statistic, asked.data, asked.bounds, asked.relation)  # type: ignore[arg-type]
    start = next(
        (a for t in range(found.last + 1) if (a := Fraction(found.at(t))) > 0), Fraction(0)
    )
    if not start:
        return ()
    near = Fraction(2) ** math.ceil(math.log2(start))
    return [near * 2**power for power in range(_PROPOSALS)]


def _smooth(asked: Asked) -> Iterator[Candidate]:
    for noise in ("laplace", "student_t"):
        if noise == "laplace" and asked.delta is None:
            continue
        m = smooth_noise(
            asked.statistic,
            asked.bounds,
            asked.epsilon,
            asked.delta if noise == "laplace" else None,
            distribution=noise,
            relation=asked.relation,
            like=asked.data,
        )
        words = noise.replace("_", " ").capitalize() + (", pure" if noise == "student_t" else "")
        yield Candidate("smooth", words, None, _run(m, asked), m.expected_error(asked.data))


def _sample_and_aggregate(asked: Asked) -> Iterator[Candidate]:
    for k in asked.bins:
        m = sample_and_aggregate(
            asked.statistic, k, asked.bounds, asked.epsilon, relation=asked.relation
        )
        scale = float((asked.upper - asked.lower) / (k * asked.epsilon))
        offsets = _offsets(asked, k)
        predicted = float(np.mean(np.abs(offsets) + scale * np.exp(-np.abs(offsets) / scale)))
        yield Candidate("sample and aggregate", f"k = {k}", k, _run(m, asked), predicted)


def _offsets(asked: Asked, bins: int) -> NDArray[np.float64]:
    """How far the mean of the bins is from the truth without noise, over fresh bins.

    Bins of one size are answered together, as rows.
    """
    low, high = float(asked.lower), float(asked.upper)
    found = []
    for _ in range(_BINNINGS):
        order, edges = assignment(len(asked.data), bins)
        sizes = np.diff(edges)
        total = (low + high) / 2 * float((sizes == 0).sum())
        for size in np.unique(sizes[sizes > 0]).tolist():
            starts = edges[:-1][sizes == size]
            rows = asked.data[order[starts[:, None] + np.arange(size)]]
            total += float(asked.statistic.batch(rows).clip(low, high).sum())
        found.append(total / bins - asked.truth)
    return np.array(found)


def _run(m: Measurement, asked: Asked) -> Callable[[], float | None]:
    def release() -> float | None:
        found = m(asked.data)
        return None if found is None else float(found)

    return release


def _number(grid: Fraction) -> Any:
    return Space(Number("float", grid=grid), AbsoluteDistance())


def _fine(size: Fraction) -> Fraction:
    """Return a power of two about 2^-30 of a size."""
    return Fraction(2) ** (math.floor(math.log2(size)) - 30)


def _two_laplaces(s: float, t: float) -> float:
    """Return the mean size of the sum of two Laplace variables.

    >>> _two_laplaces(1.0, 0.0), _two_laplaces(1.0, 1.0)
    (1.0, 1.5)
    """
    return (s * s + s * t + t * t) / (s + t)


_METHODS: dict[str, Callable[[Asked], Iterator[Candidate]]] = {
    "global": _global,
    "sum over count": _sum_over_count,
    "propose-test-release": _propose_test_release,
    "smooth": _smooth,
    "sample and aggregate": _sample_and_aggregate,
}
