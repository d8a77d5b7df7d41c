"""The ways to release one statistic that are compared, each with its settings and predicted error.

The predicted errors are mean absolute errors on one *public* data set, by formula (those of
sample-and-aggregate are means over drawn bins, to one percent, and those of noisy moments means
over noise that is spread evenly, to half a percent); those that are measured come from running the
mechanisms.  A Laplace variable of scale ``s`` exceeds y by ``s exp(-y / s) / 2`` on average, for
``y >= 0``; all errors of clipped Laplace noise follow from that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.bisection import least_integer_until, narrowed
from tacit.audit.comparison.candidate import OF_THE_VALUE, Asked, Candidate
from tacit.audit.comparison.table_methods import exponential_mechanism, noisy_moments
from tacit.core import AbsoluteDistance, Number, Space
from tacit.core.measures.conversion import concentrated_epsilon
from tacit.errors import TacitError, UsageError
from tacit.mechanisms import Laplace
from tacit.mechanisms.propose_test_release.mechanism import TestedRelease, propose_test_release
from tacit.mechanisms.sample_and_aggregate.mechanism import sample_and_aggregate
from tacit.mechanisms.shared.local_statistic import LocalStatistic, column_space
from tacit.mechanisms.smooth.smooth_noise import DISTRIBUTIONS, smooth_noise
from tacit.statistics import Interval, sensitivity
from tacit.statistics.ask.smooth_sensitivity import at_distance
from tacit.statistics.means.mean import Mean

__all__ = ["candidates"]

_PROPOSALS = 6
_PURE = ("cauchy", "student_t")
_COUNTS = 1 << 16

Ends: TypeAlias = tuple[Fraction, Fraction] | None


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
    """Laplace noise for the global sensitivity, clipped to the public range if there is one."""
    size = len(asked.data) if asked.relation == "bounded" else None
    domain = Interval(*asked.bounds, size=size)
    answer = sensitivity(asked.statistic, over=domain, relation=asked.relation)
    scale = Fraction(answer.value) / asked.epsilon
    grid = _fine(scale)
    noisy = _number(grid) >> Laplace(scale)
    value = round(Fraction(asked.truth) / grid) * grid
    low, high = map(float, _range(asked) or (-math.inf, math.inf))

    def simulate(times: int) -> list[float]:
        return [min(max(float(noisy(value)), low), high) for _ in range(times)]

    centre = np.array([asked.truth])
    predicted = _clipped_error(centre, float(scale), asked.truth, low, high)
    yield Candidate(OF_THE_VALUE, "", None, simulate, float(predicted[0]))


def _range(asked: Asked, unknown: Ends = None) -> Ends:
    """Return the public ends of the statistic, None where it has none; or that they are unknown."""
    space = column_space(asked.bounds, asked.relation, None)
    try:
        return LocalStatistic(asked.statistic, space).range
    except UsageError:
        return unknown


def _sum_over_count(asked: Asked) -> Iterator[Candidate]:
    """A noisy sum over a noisy count, clipped to the bounds: the middle where the count is 0.

    Values are added up as distances from the middle of the bounds, so that a record moves the sum
    by at most half their span: the least noise of this kind, as a table's mean has it.
    """
    if type(asked.statistic) is not Mean:
        return
    half = asked.epsilon / 2
    largest = (asked.upper - asked.lower) / 2
    centre = (asked.lower + asked.upper) / 2
    low, middle, high = (
        float(x) for x in (asked.lower, (asked.lower + asked.upper) / 2, asked.upper)
    )
    n = len(asked.data)
    grid = _fine(largest)
    moved = sum(map(Fraction, asked.data.tolist()), Fraction(0)) - n * centre
    total = round(moved / grid) * grid
    noisy_sum = _number(grid) >> Laplace(largest / half)
    noisy_count = _number(Fraction(1)) >> Laplace(1 / half)

    def release() -> float:
        count = float(noisy_count(n))
        found = middle + float(noisy_sum(total)) / count if count >= 1 else middle
        return min(max(found, low), high)

    counts, chances = _noisy_counts(n, 1 / half)
    some = counts >= 1
    errors = np.full(len(counts), abs(middle - asked.truth))
    errors[some] = _clipped_error(
        middle + float(total) / counts[some],
        float(largest / half) / counts[some],
        asked.truth,
        low,
        high,
    )
    predicted = float(errors @ chances)
    yield Candidate(
        "sum over count", "", None, lambda times: [release() for _ in range(times)], predicted
    )


def _noisy_counts(n: int, scale: Fraction) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what a noisy count can be, and how likely: quantiles where that is too much to list.

    >>> counts, chances = _noisy_counts(10, Fraction(2))
    >>> round(float(counts @ chances), 9), round(float(chances.sum()), 9)
    (10.0, 1.0)
    """
    spread = float(scale)
    reach = 1 + math.ceil(45 * spread)
    if reach > _COUNTS:
        share = (np.arange(_COUNTS) + 0.5) / _COUNTS
        tail = np.minimum(share, 1 - share)
        return n + np.rint(-np.sign(share - 0.5) * spread * np.log(2 * tail)), np.full(
            _COUNTS, 1 / _COUNTS
        )
    noise = np.arange(-reach, reach + 1)
    weights = np.exp(-np.abs(noise) / spread)
    return n + noise.astype(np.float64), weights / weights.sum()


def _propose_test_release(asked: Asked) -> Iterator[Candidate]:
    if asked.delta is None:
        raise UsageError("it needs a delta; give delta=")
    if asked.delta >= Fraction(1, 2):
        raise UsageError("it needs a delta below 1/2, the probability that its test is wrong")
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
            _simulated(m, asked),
            m.expected_error(asked.data),
            1 - chance,
            m,
        )


def _proposed(asked: Asked) -> Sequence[Fraction]:
    """Return the bounds to try: given, or doubling from the local sensitivity."""
    if asked.proposed is not None:
        return asked.proposed
    found = at_distance(asked.statistic, asked.data, asked.bounds, asked.relation)
    nearest = least_integer_until(lambda t: found.at(t) > 0, found.last)
    if nearest is None:
        return ()
    near = Fraction(2) ** math.ceil(math.log2(found.at(nearest)))
    return [near * 2**power for power in range(_PROPOSALS)]


def _smooth(asked: Asked) -> Iterator[Candidate]:
    for noise in DISTRIBUTIONS:
        budget, words = _budget(noise, asked)
        if budget is None:
            continue
        m = smooth_noise(
            asked.statistic,
            asked.bounds,
            distribution=noise,
            relation=asked.relation,
            like=asked.data,
            **budget,
        )
        setting = noise.replace("_", " ").capitalize() + words
        predicted = m.expected_error(asked.data)
        if predicted < float(m.grid):  # nearly every release is the truth itself
            predicted = 0.0
        yield Candidate("smooth", setting, None, _simulated(m, asked), predicted, 0.0, m)


def _budget(noise: str, asked: Asked) -> tuple[dict[str, Any] | None, str]:
    """Return what a noise may spend to be (epsilon, delta) in all; None without a delta."""
    if noise in _PURE:
        return {"epsilon": asked.epsilon}, ", pure"
    if asked.delta is None:
        return None, ""
    if noise == "laplace":
        return {"epsilon": asked.epsilon, "delta": asked.delta}, ""
    rho = _largest_rho(asked.epsilon, asked.delta)
    return {"rho": rho}, f", rho = {float(rho):.3g}"


def _largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a rho that is (epsilon, delta), the largest but for a relative 2^-20.

    >>> rho = _largest_rho(Fraction(1), Fraction(1, 10**6))
    >>> concentrated_epsilon(rho, Fraction(1, 10**6)) <= 1
    True
    """

    def fits(rho: Fraction) -> bool:
        return concentrated_epsilon(rho, delta) <= epsilon

    high = epsilon  # epsilon(rho, delta) is above rho
    while not fits(high / 2):
        high /= 2
    return narrowed(fits, high / 2, high, 20)[0]


def _sample_and_aggregate(asked: Asked) -> Iterator[Candidate]:
    """The mean of bins, clipped to the public ends of the statistic, or else of a record."""
    ends = _range(asked, asked.bounds)
    if ends is None:
        raise UsageError(
            f"the {asked.statistic.name} has no public range, and grows with the number of "
            "records: its value in a bin is not its value in all records"
        )
    for k in asked.bins:
        m = sample_and_aggregate(asked.statistic, k, ends, asked.epsilon, relation=asked.relation)
        yield Candidate(
            "sample and aggregate",
            f"k = {k}",
            k,
            _simulated(m, asked),
            m.expected_error(asked.data),
            0.0,
            m,
        )


def _simulated(m: Any, asked: Asked) -> Callable[[int], Sequence[float | None]]:
    def simulate(times: int) -> list[float | None]:
        return [None if x is None else float(x) for x in m.simulate(asked.data, times)]

    return simulate


def _number(grid: Fraction) -> Any:
    return Space(Number("float", grid=grid), AbsoluteDistance())


def _fine(size: Fraction) -> Fraction:
    """Return a power of two about 2^-30 of a size."""
    return Fraction(2) ** (math.floor(math.log2(size)) - 30)


def _clipped_error(
    centre: NDArray[np.float64], scale: Any, truth: float, low: float, high: float
) -> NDArray[np.float64]:
    """Return ``E|clip(centre + Laplace(scale)) - truth|``, for a truth within the ends.

    ``max(X - truth, 0)``, X clipped at ``high``, is ``max(X - truth, 0) - max(X - high, 0)``; the
    same below.

    >>> _clipped_error(np.array([0.0]), 1.0, 0.0, -math.inf, math.inf)
    array([1.])
    """

    def above(end: float) -> NDArray[np.float64]:
        return _excess(end - centre, scale)

    def below(end: float) -> NDArray[np.float64]:
        return _excess(centre - end, scale)

    return above(truth) - above(high) + below(truth) - below(low)


def _excess(y: Any, scale: Any) -> NDArray[np.float64]:
    """Return ``E max(X - y, 0)`` for Laplace noise X."""
    tail = scale / 2 * np.exp(-np.abs(y) / scale)
    return np.where(np.isinf(y), 0.0, np.maximum(-y, 0.0) + tail)


_METHODS: dict[str, Callable[[Asked], Iterator[Candidate]]] = {
    OF_THE_VALUE: _global,
    "sum over count": _sum_over_count,
    "noisy moments": noisy_moments,
    "exponential mechanism": exponential_mechanism,
    "propose-test-release": _propose_test_release,
    "smooth": _smooth,
    "sample and aggregate": _sample_and_aggregate,
}
