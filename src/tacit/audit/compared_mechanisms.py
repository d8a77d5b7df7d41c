"""Every way to release one statistic, with its settings and its predicted error."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit import noise
from tacit.arithmetic.roots_and_bisection import narrowed, smallest_integer_until
from tacit.core import AbsoluteDistance, Number, Space
from tacit.core.measures import concentrated_epsilon
from tacit.errors import TacitError, UsageError
from tacit.expressions.grid import Grid
from tacit.mechanisms import Laplace
from tacit.mechanisms.local_statistic import LocalStatistic, column_space
from tacit.mechanisms.private_quantile import choose_cell, error_in_cost, quantile_costs
from tacit.mechanisms.propose_test_release import TestedRelease, propose_test_release
from tacit.mechanisms.sample_and_aggregate import sample_and_aggregate
from tacit.mechanisms.smooth import DISTRIBUTIONS, smooth_noise
from tacit.statistics import Interval, sensitivity
from tacit.statistics.means import Mean
from tacit.statistics.quantiles import Maximum, Median, Minimum, Quantile
from tacit.statistics.question import Relation
from tacit.statistics.smooth import at_distance
from tacit.statistics.statistic import Statistic
from tacit.statistics.variances import StandardDeviation, Variance
from tacit.tables.statistics.base import QUANTILE_BITS, SQUARE_BITS, SUM_BITS
from tacit.tables.statistics.moments import MomentsPart
from tacit.tables.statistics.part import LEVEL, Noise

OF_THE_VALUE = "global sensitivity of the value"
# The methods whose noise is set by the bounds alone; that of all others follows the data.
GLOBAL = frozenset({OF_THE_VALUE, "sum over count", "noisy moments", "exponential mechanism"})


@dataclass(frozen=True)
class ComparisonInput:
    """The statistic to release, and the public data that mechanisms are compared on."""

    statistic: Statistic
    data: NDArray[np.float64]
    lower: Fraction
    upper: Fraction
    epsilon: Fraction
    delta: Fraction | None
    relation: Relation
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
class ComparedMechanism:
    """One way to release, at one setting."""

    method: str
    # what was set: ``"k = 100"``, or nothing
    setting: str
    value: float | None
    # this many answers on the public data, each None where it was refused
    simulate: Callable[[int], Sequence[float | None]]
    predicted: float  # the mean absolute error where it answers, by formula
    refused: float = 0.0  # the share of refusals, by formula
    mechanism: Any = None  # the measurement, where it is a single one


# What a Session does by default, as candidates: the global methods that tables are answered with.
#
# A quantile is chosen by the exponential mechanism among the points of the column's grid; a mean, a
# variance and a deviation are computed from noisy Bernstein sums.  Sums and counts have noise on
# the value, which is a candidate already.


_RESOLUTION = 10**4
_POINTS = 1 << 14
_MOMENTS: dict[type, str] = {Mean: "mean", Variance: "var", StandardDeviation: "std"}


def noisy_moments(comparison: ComparisonInput) -> Iterator[ComparedMechanism]:
    """Laplace noise on the Bernstein sums of a column, and the statistic worked out from them."""
    # The sums of a row add up to one, so a row that comes or goes moves them by one in L1, and one
    # that changes by at most two.
    kind = _MOMENTS.get(type(comparison.statistic))
    if kind is None or comparison.statistic.min_size > 1:  # with ddof = 1 a Session has none
        return
    grid = _grid(comparison, SUM_BITS if kind == "mean" else SQUARE_BITS)
    part = MomentsPart("value", grid, frozenset({kind}), missing=False)
    spent = Noise("laplace", comparison.epsilon, rows=2 if comparison.relation == "bounded" else 1)
    unit = Fraction(1, grid.cells**part.degree)
    sums = np.array(
        [float(t * unit) for t in _bernstein(_offsets(comparison, grid), grid, part.degree)]
    )
    scale = spent.scale(Fraction(spent.rows)) / unit

    def answers(added: NDArray[np.float64]) -> NDArray[np.float64]:
        estimates: NDArray[np.float64] = part.estimates([sums + added.T], spent)[kind].value
        return estimates

    def simulate(times: int) -> list[float]:
        drawn = noise.discrete_laplace(scale, part.width * times).astype(np.float64) * float(unit)
        return answers(drawn.reshape(part.width, times)).tolist()  # type: ignore[no-any-return]

    even = float(scale * unit) * _even_laplace(part.width)
    predicted = float(np.abs(answers(even) - comparison.truth).mean())
    yield ComparedMechanism("noisy moments", "", None, simulate, predicted)


def _even_laplace(width: int) -> NDArray[np.float64]:
    """Return points of this many unit Laplace variables, spread evenly: no draw, always the same.

    >>> bool(np.allclose(np.abs(_even_laplace(3)).mean(axis=1), 1, rtol=1e-3))
    True
    """
    # Quantiles: of the first by turns, of the others at irrational steps, the powers of 1 / g
    # with ``g^width = g + 1`` (Niederreiter 1992).
    root = 2.0
    for _ in range(60):
        root = (1 + root) ** (1 / width)
    steps = np.append(1 / _POINTS, root ** -np.arange(1.0, width))
    u = (0.5 / _POINTS + np.outer(steps, np.arange(_POINTS))) % 1
    tails = np.maximum(np.minimum(u, 1 - u), 0.25 / _POINTS)
    return np.sign(0.5 - u) * np.log(2 * tails)  # type: ignore[no-any-return]


def _bernstein(offsets: list[int], grid: Grid, degree: int) -> list[int]:
    """Return the sums of the Bernstein polynomials of a degree, in units of the grid."""
    n, total, cells = len(offsets), sum(offsets), grid.cells
    if degree == 1:
        return [n * cells - total, total]
    squares = sum(z * z for z in offsets)
    mixed = 2 * (cells * total - squares)
    return [n * cells**2 - mixed - squares, mixed, squares]


def exponential_mechanism(comparison: ComparisonInput) -> Iterator[ComparedMechanism]:
    """A point of the grid, by how far off in rank it is, as in private_quantile."""
    if type(comparison.statistic) not in (Quantile, Median, Minimum, Maximum):
        return
    q = comparison.statistic.q.limit_denominator(_RESOLUTION)  # type: ignore[attr-defined]
    if q in (0, 1):
        yield _choice(comparison, q, comparison.epsilon, "")
        return
    yield _choice(comparison, q, comparison.epsilon, "alone")
    yield _choice(
        comparison, q, comparison.epsilon / 2, "half of epsilon, the rest for its interval"
    )


def _choice(
    comparison: ComparisonInput, q: Fraction, epsilon: Fraction, setting: str
) -> ComparedMechanism:
    grid = _grid(comparison, QUANTILE_BITS)
    a, b = q.numerator, q.denominator
    rate = epsilon / (2 * (b if comparison.relation == "bounded" else max(a, b - a)))
    target = 0
    if q in (0, 1):  # an end of its own interval, as in a Session
        side = 1 if q == 0 else -1
        target = side * (error_in_cost(grid.cells, 1 / rate, (1 - LEVEL) / 2) + b)
    histogram = np.unique(np.array(_offsets(comparison, grid)), return_counts=True)

    def simulate(times: int) -> list[float]:
        cells = (choose_cell(histogram, grid.cells, q, target, rate) for _ in range(times))
        return [float(grid.value(cell)) for cell in cells]

    starts, lengths, cost = quantile_costs(histogram, grid.cells, q, target)
    weights = np.repeat(np.exp(-float(rate) * (cost - cost.min()).astype(np.float64)), lengths)
    points = float(grid.value(0)) + float(grid.step) * np.arange(starts[0], grid.cells + 1)
    predicted = float(np.abs(points - comparison.truth) @ weights / weights.sum())
    return ComparedMechanism("exponential mechanism", setting, None, simulate, predicted)


def _grid(comparison: ComparisonInput, bits: int) -> Grid:
    """Return the grid of a column: of whole numbers where all public records are whole."""
    is_integral = bool((comparison.data == np.rint(comparison.data)).all())
    return Grid.for_bounds(comparison.lower, comparison.upper, bits=bits, whole=is_integral)


def _offsets(comparison: ComparisonInput, grid: Grid) -> list[int]:
    """Return the records on the grid, as steps from its first point."""
    shifted = np.floor(comparison.data / float(grid.step) + 0.5)
    return [min(max(int(z) - grid.first, 0), grid.cells) for z in shifted.tolist()]


# The ways to release one statistic that are compared, each with its settings and predicted error.
#
# The predicted errors are mean absolute errors on one *public* data set, by formula (those of
# sample-and-aggregate are means over drawn bins, to one percent, and those of noisy moments means
# over noise that is spread evenly, to half a percent); those that are measured come from running
# the mechanisms.  A Laplace variable of scale ``s`` exceeds y by ``s exp(-y / s) / 2`` on average,
# for ``y >= 0``; all errors of clipped Laplace noise follow from that.


_PROPOSALS = 6
_PURE = ("cauchy", "student_t")
_COUNTS = 1 << 16

Ends: TypeAlias = tuple[Fraction, Fraction] | None


def candidates(comparison: ComparisonInput) -> tuple[list[ComparedMechanism], list[str]]:
    """Return every way that works for a statistic, and why the others do not."""
    listed: list[ComparedMechanism] = []
    notes: list[str] = []
    for name, make in _METHODS.items():
        try:
            listed += make(comparison)
        except TacitError as error:
            notes.append(f"{name}: {error}")
    return listed, notes


def _global(comparison: ComparisonInput) -> Iterator[ComparedMechanism]:
    """Laplace noise for the global sensitivity, clipped to the public range if there is one."""
    size = len(comparison.data) if comparison.relation == "bounded" else None
    domain = Interval(*comparison.bounds, size=size)
    answer = sensitivity(comparison.statistic, over=domain, relation=comparison.relation)
    scale = Fraction(answer.value) / comparison.epsilon
    grid = _fine(scale)
    noisy = _number(grid) >> Laplace(scale)
    value = round(Fraction(comparison.truth) / grid) * grid
    low, high = map(float, _range(comparison) or (-math.inf, math.inf))

    def simulate(times: int) -> list[float]:
        return [min(max(float(noisy(value)), low), high) for _ in range(times)]

    centre = np.array([comparison.truth])
    predicted = _clipped_error(centre, float(scale), comparison.truth, low, high)
    yield ComparedMechanism(OF_THE_VALUE, "", None, simulate, float(predicted[0]))


def _range(comparison: ComparisonInput, unknown: Ends = None) -> Ends:
    """Return the public ends of the statistic, None where it has none; or that they are unknown."""
    space = column_space(comparison.bounds, comparison.relation, None)
    try:
        return LocalStatistic(comparison.statistic, space).range
    except UsageError:
        return unknown


def _sum_over_count(comparison: ComparisonInput) -> Iterator[ComparedMechanism]:
    """A noisy sum over a noisy count, clipped to the bounds: the middle where the count is 0."""
    # Values are added up as distances from the middle of the bounds, so that a record moves the sum
    # by at most half their span: the smallest noise of this kind, as a table's mean has it.
    if type(comparison.statistic) is not Mean:
        return
    half = comparison.epsilon / 2
    largest = (comparison.upper - comparison.lower) / 2
    centre = (comparison.lower + comparison.upper) / 2
    low, middle, high = map(float, (comparison.lower, centre, comparison.upper))
    n = len(comparison.data)
    grid = _fine(largest)
    moved = sum(map(Fraction, comparison.data.tolist()), Fraction(0)) - n * centre
    total = round(moved / grid) * grid
    noisy_sum = _number(grid) >> Laplace(largest / half)
    noisy_count = _number(Fraction(1)) >> Laplace(1 / half)

    def release() -> float:
        count = float(noisy_count(n))
        average = middle + float(noisy_sum(total)) / count if count >= 1 else middle
        return min(max(average, low), high)

    counts, chances = _noisy_counts(n, 1 / half)
    some = counts >= 1
    errors = np.full(len(counts), abs(middle - comparison.truth))
    errors[some] = _clipped_error(
        middle + float(total) / counts[some],
        float(largest / half) / counts[some],
        comparison.truth,
        low,
        high,
    )
    predicted = float(errors @ chances)
    yield ComparedMechanism(
        "sum over count", "", None, lambda times: [release() for _ in range(times)], predicted
    )


def _noisy_counts(n: int, scale: Fraction) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what a noisy count can be, and how likely: quantiles where that is too much to list.

    >>> counts, chances = _noisy_counts(10, Fraction(2))
    >>> round(float(counts @ chances), 9), round(float(chances.sum()), 9)
    (10.0, 1.0)
    """
    spread = float(scale)
    radius = 1 + math.ceil(45 * spread)
    if radius > _COUNTS:
        share = (np.arange(_COUNTS) + 0.5) / _COUNTS
        tail = np.minimum(share, 1 - share)
        return n + np.rint(-np.sign(share - 0.5) * spread * np.log(2 * tail)), np.full(
            _COUNTS, 1 / _COUNTS
        )
    noise = np.arange(-radius, radius + 1)
    weights = np.exp(-np.abs(noise) / spread)
    return n + noise.astype(np.float64), weights / weights.sum()


def _propose_test_release(comparison: ComparisonInput) -> Iterator[ComparedMechanism]:
    if comparison.delta is None:
        raise UsageError("it needs a delta; give delta=")
    if comparison.delta >= Fraction(1, 2):
        raise UsageError("it needs a delta below 1/2, the probability that its test is wrong")
    for bound in _proposed(comparison):
        try:
            m = propose_test_release(
                comparison.statistic,
                comparison.bounds,
                bound,
                comparison.epsilon,
                comparison.delta,
                comparison.relation,
                like=comparison.data,
            )
        except UsageError:
            continue  # a bound that every data set keeps: noise for it needs no test
        assert isinstance(m, TestedRelease)
        chance = m.answer_probability(comparison.data)
        yield ComparedMechanism(
            "propose-test-release",
            f"b = {float(bound):.4g}",
            float(bound),
            _simulated(m, comparison),
            m.expected_error(comparison.data),
            1 - chance,
            m,
        )


def _proposed(comparison: ComparisonInput) -> Sequence[Fraction]:
    """Return the bounds to try: given, or doubling from the local sensitivity."""
    if comparison.proposed is not None:
        return comparison.proposed
    differentiated = at_distance(
        comparison.statistic, comparison.data, comparison.bounds, comparison.relation
    )
    nearest = smallest_integer_until(lambda t: differentiated.at(t) > 0, differentiated.last)
    if nearest is None:
        return ()
    near = Fraction(2) ** math.ceil(math.log2(differentiated.at(nearest)))
    return [near * 2**power for power in range(_PROPOSALS)]


def _smooth(comparison: ComparisonInput) -> Iterator[ComparedMechanism]:
    for name in DISTRIBUTIONS:
        budget, words = _budget(name, comparison)
        if budget is None:
            continue
        m = smooth_noise(
            comparison.statistic,
            comparison.bounds,
            distribution=name,
            relation=comparison.relation,
            like=comparison.data,
            **budget,
        )
        setting = name.replace("_", " ").capitalize() + words
        predicted = m.expected_error(comparison.data)
        if predicted < float(m.grid):  # nearly every release is the truth itself
            predicted = 0.0
        yield ComparedMechanism(
            "smooth", setting, None, _simulated(m, comparison), predicted, 0.0, m
        )


def _budget(noise: str, comparison: ComparisonInput) -> tuple[dict[str, Any] | None, str]:
    """Return what a noise may spend to be (epsilon, delta) in all; None without a delta."""
    if noise in _PURE:
        return {"epsilon": comparison.epsilon}, ", pure"
    if comparison.delta is None:
        return None, ""
    if noise == "laplace":
        return {"epsilon": comparison.epsilon, "delta": comparison.delta}, ""
    rho = _largest_rho(comparison.epsilon, comparison.delta)
    return {"rho": rho}, f", rho = {float(rho):.3g}"


def _largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a rho that is (epsilon, delta), the largest except for a relative 2^-20.

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


def _sample_and_aggregate(comparison: ComparisonInput) -> Iterator[ComparedMechanism]:
    """The mean of bins, clipped to the public ends of the statistic, or else of a record."""
    ends = _range(comparison, comparison.bounds)
    if ends is None:
        raise UsageError(
            f"the {comparison.statistic.name} has no public range, and grows with the number of "
            "records: its value in a bin is not its value in all records"
        )
    for k in comparison.bins:
        m = sample_and_aggregate(
            comparison.statistic, k, ends, comparison.epsilon, relation=comparison.relation
        )
        yield ComparedMechanism(
            "sample and aggregate",
            f"k = {k}",
            k,
            _simulated(m, comparison),
            m.expected_error(comparison.data),
            0.0,
            m,
        )


def _simulated(m: Any, comparison: ComparisonInput) -> Callable[[int], Sequence[float | None]]:
    def simulate(times: int) -> list[float | None]:
        return [None if x is None else float(x) for x in m.simulate(comparison.data, times)]

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

    >>> _clipped_error(np.array([0.0]), 1.0, 0.0, -math.inf, math.inf)
    array([1.])
    """
    # ``max(X - truth, 0)``, X clipped at ``high``, is ``max(X - truth, 0) - max(X - high, 0)``; the
    # same below.

    def above(end: float) -> NDArray[np.float64]:
        return _excess(end - centre, scale)

    def below(end: float) -> NDArray[np.float64]:
        return _excess(centre - end, scale)

    return above(truth) - above(high) + below(truth) - below(low)


def _excess(y: Any, scale: Any) -> NDArray[np.float64]:
    """Return ``E max(X - y, 0)`` for Laplace noise X."""
    tail = scale / 2 * np.exp(-np.abs(y) / scale)
    return np.where(np.isinf(y), 0.0, np.maximum(-y, 0.0) + tail)


_METHODS: dict[str, Callable[[ComparisonInput], Iterator[ComparedMechanism]]] = {
    OF_THE_VALUE: _global,
    "sum over count": _sum_over_count,
    "noisy moments": noisy_moments,
    "exponential mechanism": exponential_mechanism,
    "propose-test-release": _propose_test_release,
    "smooth": _smooth,
    "sample and aggregate": _sample_and_aggregate,
}
