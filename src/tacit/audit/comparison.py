"""Ways to release one statistic, compared by their errors."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tacit import noise, plotting
from tacit.arithmetic.exact import Number as ExactNumber
from tacit.arithmetic.exact import as_fraction, as_integer, positive, show
from tacit.audit.compared_mechanisms import GLOBAL, ComparedMechanism, ComparisonInput, candidates
from tacit.calls import public
from tacit.display.card import Shown
from tacit.errors import UsageError, did_you_mean, need
from tacit.statistics.global_sensitivity import lookup
from tacit.statistics.question import Relation, unknown_relation

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

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
