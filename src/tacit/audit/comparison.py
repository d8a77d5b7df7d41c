"""Ways to release one statistic, compared by their errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit import noise, plotting
from tacit.arithmetic.exact import Number as ExactNumber
from tacit.arithmetic.exact import as_fraction, as_integer, positive, show
from tacit.arithmetic.roots_and_bisection import narrowed, smallest_integer_until
from tacit.calls import public
from tacit.core import AbsoluteDistance, Number, Space
from tacit.core.measures import concentrated_epsilon
from tacit.display.card import Shown
from tacit.errors import TacitError, UsageError, did_you_mean, need
from tacit.expressions.grid import Grid
from tacit.mechanisms import Laplace
from tacit.mechanisms.local_statistic import LocalStatistic, column_space
from tacit.mechanisms.private_quantile import choose_cell, error_in_cost, quantile_costs
from tacit.mechanisms.propose_test_release import TestedRelease, propose_test_release
from tacit.mechanisms.sample_and_aggregate import sample_and_aggregate
from tacit.mechanisms.smooth import DISTRIBUTIONS, smooth_noise
from tacit.statistics import Interval, sensitivity
from tacit.statistics.global_sensitivity import lookup
from tacit.statistics.means import Mean
from tacit.statistics.quantiles import Maximum, Median, Minimum, Quantile
from tacit.statistics.question import Relation, unknown_relation
from tacit.statistics.smooth import at_distance
from tacit.statistics.statistic import Statistic
from tacit.statistics.variances import StandardDeviation, Variance
from tacit.tables.statistics.base import LEVEL, QUANTILE_BITS, SQUARE_BITS, SUM_BITS, Noise
from tacit.tables.statistics.moments import MomentsPart

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

# What is compared: the question, and one way to answer it at one setting.


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
    """A point of the grid, by how far off in rank it is."""
    # See :mod:`tacit.mechanisms.private_quantile`.
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
    low, middle, high = (
        float(x)
        for x in (comparison.lower, (comparison.lower + comparison.upper) / 2, comparison.upper)
    )
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


# The picture of a comparison: histograms of percent error, and errors over what was swept.


_BARS = 40
_WIDEST = 1e6
_SWEPT = {"sample and aggregate": "bins", "propose-test-release": "proposed bound"}


def draw_comparison(comparison: Comparison) -> Any:
    """Draw a comparison; see :meth:`Comparison.plot`."""
    swept = [name for name in comparison.methods if len(_points(comparison, name)) > 1]
    fig = plotting.figure(8.4, 3.6 + (3.0 if swept else 0))
    if not swept:
        _draw_errors(plotting.axes(fig, 1, 1)[0][0], comparison)
        return fig
    above, below = fig.subfigures(2, 1, height_ratios=[3.6, 3.0])
    _draw_errors(plotting.axes(above, 1, 1)[0][0], comparison)
    for panel, name in zip(plotting.axes(below, 1, len(swept))[0], swept, strict=True):
        _draw_sweep(panel, comparison, name)
    return fig


def _draw_errors(panel: Any, comparison: Comparison) -> None:
    best = [row for row in map(comparison.best, comparison.methods) if len(row.errors)]
    percents = [np.maximum(comparison.percent(row), 1e-9) for row in best]
    low = min(float(np.quantile(p, 0.01)) for p in percents)
    high = max(float(p.max()) for p in percents)
    low = max(low, high / _WIDEST)  # what errs less, or not at all, is at the left end
    edges = np.geomspace(low / 2, high * 1.01, _BARS)
    for index, (row, percent) in enumerate(zip(best, percents, strict=True)):
        style = plotting.series(index)
        label = f"{row.method}, {row.setting}" if row.setting else row.method
        if percent.max() < edges[0]:
            label += " (no error)" if not row.errors.any() else " (errors below the axis)"
        clipped = percent.clip(edges[0])
        panel.hist(clipped, bins=edges, color=style.colour, alpha=0.22)
        panel.hist(
            clipped,
            bins=edges,
            histtype="step",
            color=style.colour,
            linestyle=style.dash,
            linewidth=1.6,
            label=label,
        )
    panel.set_xscale("log")
    panel.set_xlabel("percent error of a release", fontsize=9)
    panel.set_ylabel("releases", fontsize=9)
    panel.legend(frameon=False, fontsize=8.5)
    plotting.title(panel, f"Errors of the {comparison.statistic}, every way at its best setting")


def _draw_sweep(panel: Any, comparison: Comparison, method: str) -> None:
    points = _points(comparison, method)
    values = [row.value for row in points]
    measured, predicted = plotting.series(0).line(), plotting.series(1).line()
    percent = 100 / comparison.size
    panel.plot(values, [percent * row.predicted for row in points], label="predicted", **predicted)
    panel.errorbar(
        values,
        [percent * row.measured for row in points],
        yerr=[2 * percent * row.standard_error for row in points],
        label="measured, 2 standard errors",
        **measured,
    )
    panel.set_xscale("log")
    panel.set_yscale("log")
    every = max(1, len(values) // 5)
    panel.set_xticks(values[::every], [plotting.number(v) for v in values[::every]])
    panel.minorticks_off()
    ticks = need("matplotlib.ticker", "plot").LogLocator(subs=(1, 2, 5))
    panel.yaxis.set_major_locator(ticks)
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    panel.set_xlabel(_SWEPT.get(method, "setting"), fontsize=9)
    panel.set_ylabel("mean percent error", fontsize=9)
    panel.legend(frameon=False, fontsize=8.5)
    plotting.title(panel, method)


def _points(comparison: Comparison, method: str) -> list[Any]:
    return [r for r in comparison.rows if r.method == method and r.value is not None]


# Ways to release one statistic, side by side, on data that are public.


_RELATIONS = ("unbounded", "bounded")


@dataclass(frozen=True)
class ComparisonRow:
    """One method at one setting.

    Attributes:
        method: ``"global sensitivity of the value"``, ``"sum over count"``, ``"noisy moments"``,
            ``"exponential mechanism"``, ``"propose-test-release"``, ``"smooth"`` or
            ``"sample and aggregate"``.
        setting: what was set, in words; empty where nothing is to be set.
        value: the setting as a number, where it is one: bins, or a proposed bound.
        predicted: the mean absolute error where it answers, by formula: of sample-and-aggregate to
            about one percent, of noisy moments to the first order of the noise, of all else to
            rounding.  0 where it is below the grid of the release (of smooth noise, about 2^-40 of
            the range): such runs all but never err.
        errors: the absolute error of every run that answered.
        refused, predicted_refused: the share of runs without an answer, measured and by formula.
    """

    method: str
    setting: str
    value: float | None
    predicted: float
    errors: NDArray[np.float64]
    refused: float
    predicted_refused: float

    @property
    def kind(self) -> str:
        """``"global"`` where the noise is set by the bounds alone, else ``"local"``."""
        return "global" if self.method in GLOBAL else "local"

    @property
    def measured(self) -> float:
        """The mean absolute error of the runs that answered; NaN where none did."""
        return float(self.errors.mean()) if len(self.errors) else math.nan

    @property
    def standard_error(self) -> float:
        """Sampling error of ``measured``: of 200 runs of Laplace noise, 7 percent of it.

        NaN where fewer than two runs answered.
        """
        count = len(self.errors)
        return float(self.errors.std(ddof=1)) / math.sqrt(count) if count > 1 else math.nan

    def runs_needed(self, share: ExactNumber = "1/20") -> float:
        """Estimate the runs until ``measured`` is within a share of the truth, 4 standard errors.

        For Laplace noise 6,400 for 5 percent; of Cauchy noise, whose rare errors are huge,
        millions.  NaN where fewer than two runs answered, 0 where there is no error at all.

        Args:
            share: of the mean error.
        """
        within = float(positive(share, "share")) * self.measured
        spread = self.standard_error * math.sqrt(len(self.errors))
        if math.isnan(spread) or not spread:
            return spread
        return float(math.ceil((4 * spread / within) ** 2))


@public
@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """Result of :func:`compare`: one row per method and setting.

    Attributes:
        statistic: its name.
        truth: its value on the public data.
        size: what 100 percent represents: ``|truth|``, or the range of the bounds where that is 0.
        rows: the results, in the order of the methods.
        notes: why a method is not there, if one is not.
    """

    statistic: str
    truth: float
    size: float
    rows: tuple[ComparisonRow, ...]
    notes: tuple[str, ...]
    question: str

    @property
    def methods(self) -> tuple[str, ...]:
        """The names of the methods, in order."""
        return tuple(dict.fromkeys(row.method for row in self.rows))

    def best(self, method: str | None = None) -> ComparisonRow:
        """Return the row with the smallest predicted error among those that mostly answer.

        Args:
            method: among the settings of this method alone, or of one kind: ``"global"`` (noise set
                by the bounds) or ``"local"`` (noise that follows the data).

        Raises:
            UsageError: no such method here.
        """
        among = [row for row in self.rows if method in (None, row.method, row.kind)]
        if not among:
            names = ("global", "local", *self.methods)
            raise UsageError(f"there is no method {method!r}; {did_you_mean(str(method), names)}")
        return min(among, key=lambda row: (row.predicted_refused > 0.5, row.predicted))

    def percent(self, row: ComparisonRow) -> NDArray[np.float64]:
        """Return the errors of a row in percent."""
        return 100 * row.errors / self.size

    def to_pandas(self) -> DataFrame:
        """A data frame with one row a method and setting; errors in units and in percent.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        pandas = need("pandas", "pandas")
        frame: DataFrame = pandas.DataFrame(
            {
                "method": [row.method for row in self.rows],
                "setting": [row.setting for row in self.rows],
                "predicted_error": [row.predicted for row in self.rows],
                "measured_error": [row.measured for row in self.rows],
                "standard_error": [row.standard_error for row in self.rows],
                "percent_error": [100 * row.measured / self.size for row in self.rows],
                "refused": [row.refused for row in self.rows],
                "predicted_refused": [row.predicted_refused for row in self.rows],
            }
        )
        return frame

    def plot(self) -> Figure:
        """Histograms of percent error, each method at its best setting, and the settings swept.

        Raises:
            MissingExtraError: matplotlib is not installed.
        """
        return draw_comparison(self)  # type: ignore[no-any-return]

    def __str__(self) -> str:
        names = ("method", "setting", "predicted", "measured", "+-", "percent", "refused")
        lines = [names, *(self._line(row) for row in self.rows)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(names))]
        text = [
            "  ".join(
                cell.ljust(width) if i < 2 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]
        return "\n".join([self.question, *text, *self._summary(), *self.notes])

    def _summary(self) -> list[str]:
        """The best of each kind, side by side."""
        best = [self.best(kind) for kind in ("global", "local") if self._has(kind)]
        return [
            "least predicted error: "
            + "; ".join(f"{row.kind}, {_named(row)}, {row.predicted:.4g}" for row in best)
        ]

    def _has(self, kind: str) -> bool:
        return any(row.kind == kind for row in self.rows)

    def _line(self, row: ComparisonRow) -> tuple[str, ...]:
        percent = 100 * row.measured / self.size
        numbers = (row.predicted, row.measured, row.standard_error, percent)
        shown = ("none" if math.isnan(x) else f"{x:.4g}" for x in numbers)
        return (row.method, row.setting, *shown, f"{row.refused:.0%}")

    def __repr__(self) -> str:
        return f"<Comparison of {len(self.methods)} ways: least error by {_named(self.best())}>"


def _named(row: ComparisonRow) -> str:
    return f"{row.method} ({row.setting})" if row.setting else row.method


@public
def compare(
    statistic: object,
    bounds: tuple[ExactNumber, ExactNumber] | None = None,
    epsilon: ExactNumber | None = None,
    delta: ExactNumber | None = None,
    n: int | None = None,
    like: Iterable[object] | None = None,
    *,
    relation: Relation = "unbounded",
    bins: Iterable[int] | None = None,
    proposed: Iterable[ExactNumber] | None = None,
    runs: int = 200,
) -> Comparison:
    """Compare the errors of every mechanism for a statistic, on public data.

    Of the global ones, whose noise is set by the bounds: noise at the global sensitivity of the
    value, a noisy sum over a noisy count, and what a :class:`~tacit.Session` does by default, which
    is the exponential mechanism for quantiles (alone, and with half of epsilon where the other
    half buys its interval) and noisy moments for a mean, a variance and a deviation.  Of the local
    ones: propose-test-release, noise at smooth sensitivity (each of its noises; those in zCDP at
    the largest rho that is within epsilon and delta), and sample-and-aggregate.  Each at the
    settings that are swept.

    **What is passed as** ``like`` **is thereby declared public**: the result shows errors on it, so
    it must be made up, or published, never the private data.

    Args:
        statistic: a name such as ``"mean"``, or any statistic.
        bounds: the public bounds of a record; ``like`` is clipped to them.
        epsilon: the privacy loss of each single release.
        delta: the delta of methods with approximate DP; without one they are left out, with a note.
        n: about how many records the private data have; ``like`` is resampled to that size.  By
            default as many as ``like`` has.
        like: public or synthetic records.
        relation: ``"unbounded"`` or ``"bounded"``.
        bins: numbers of bins to try; by default five, from ``n^0.3`` to ``n^0.8``.
        proposed: bounds on the local sensitivity to propose; by default six, doubling from the
            local sensitivity of the public data.
        runs: how often each is run.

    Raises:
        UsageError: bounds, epsilon or data missing or absurd, an unknown name.

    Example:
        >>> ages = list(range(20, 80)) * 50
        >>> c = compare("mean", bounds=(0, 100), epsilon=1, like=ages, bins=[100], runs=20)
        >>> c.methods[:3]
        ('global sensitivity of the value', 'sum over count', 'noisy moments')
        >>> c.best().method, c.best("global").method
        ('smooth', 'noisy moments')
    """
    comparison = _comparison_of(
        statistic, bounds, epsilon, delta, n, like, relation, bins, proposed
    )
    times = as_integer(runs, "runs", minimum=1)
    measured, notes = candidates(comparison)
    truth = comparison.truth
    rows = tuple(_row(one, truth, times) for one in measured)
    loss = f"epsilon = {show(comparison.epsilon)}"
    if comparison.delta is not None:
        loss += f", delta = {show(comparison.delta)}"
    question = (
        f"{comparison.statistic.name} of {len(comparison.data)} public records in "
        f"[{show(comparison.lower)}, {show(comparison.upper)}], {loss}, {relation}, "
        f"{times} runs; error as mean absolute error, "
        "+- its standard error"
    )
    size = abs(truth) or float(comparison.upper - comparison.lower)
    return Comparison(comparison.statistic.name, truth, size, rows, tuple(notes), question)


def _comparison_of(
    statistic: Any,
    bounds: Any,
    epsilon: Any,
    delta: Any,
    n: Any,
    like: Any,
    relation: Relation,
    bins: Any,
    proposed: Any,
) -> ComparisonInput:
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
        raise UsageError("give bounds=(lower, upper), the public bounds of a record")
    lower, upper = as_fraction(bounds[0], "lower bound"), as_fraction(bounds[1], "upper bound")
    if lower >= upper:
        raise UsageError(f"the lower bound {show(lower)} must be below the upper {show(upper)}")
    if epsilon is None:
        raise UsageError("give epsilon, above zero: the privacy loss of each release")
    if like is None:
        raise UsageError(
            "give like=, public or made-up records that resemble the private ones; never the "
            "private ones: the errors that are shown would reveal something about them"
        )
    if relation not in _RELATIONS:
        raise unknown_relation(relation, _RELATIONS)
    failure = None if delta is None else positive(delta, "delta")
    if failure is not None and failure >= 1:
        raise UsageError(f"delta must be below one, not {show(failure)}")
    data = _resampled(_public(like, lower, upper), n)
    return ComparisonInput(
        lookup(statistic),
        data,
        lower,
        upper,
        positive(epsilon, "epsilon"),
        failure,
        relation,
        tuple(_bins(bins, len(data))),
        None if proposed is None else tuple(positive(b, "a proposed bound") for b in proposed),
    )


def _public(like: Any, lower: Fraction, upper: Fraction) -> NDArray[np.float64]:
    try:
        data = np.asarray(like if hasattr(like, "__len__") else list(like), dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError("like= must be a sequence of numbers") from None
    if data.ndim != 1 or not len(data) or not np.isfinite(data).all():
        raise UsageError("like= must be a sequence of at least one number, none of them missing")
    return data.clip(float(lower), float(upper))


def _resampled(data: NDArray[np.float64], n: Any) -> NDArray[np.float64]:
    """Return n records: the data as they are, or drawn from them with replacement."""
    size = len(data) if n is None else as_integer(n, "n", minimum=1)
    return data if size == len(data) else data[noise.uniform(len(data), size)]


def _bins(bins: Any, n: int) -> list[int]:
    if bins is not None:
        return sorted({as_integer(k, "a number of bins", minimum=1) for k in bins})
    return sorted({max(2, round(n**power)) for power in (0.3, 0.425, 0.55, 0.675, 0.8)})


def _row(one: ComparedMechanism, truth: float, runs: int) -> ComparisonRow:
    answers = one.simulate(runs)
    errors = np.array([abs(a - truth) for a in answers if a is not None], dtype=np.float64)
    refused = 1 - len(errors) / runs
    return ComparisonRow(
        one.method, one.setting, one.value, one.predicted, errors, refused, one.refused
    )
