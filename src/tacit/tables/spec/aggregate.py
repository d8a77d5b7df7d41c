"""What can be asked of a column: one object for a chain, for a sensitivity, and for a table.

``tc.sum()`` alone is a step of a chain and the name of a statistic; ``tc.sum("pay", 0, 1000)`` is a
question to a table.  Both are an :class:`Aggregate`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Unpack

from tacit.arithmetic.exact import Number, as_fraction, show
from tacit.core import Space, Step
from tacit.core.chain.protocols import Built
from tacit.errors import MismatchError, UsageError
from tacit.tables.spec.method import Method, Options, only_global, read_method
from tacit.tables.spec.parsing import listed, percent
from tacit.transformations import Count, Histogram, Mean, Sum, Variance

__all__ = [
    "Aggregate",
    "count",
    "count_people",
    "histogram",
    "max",
    "mean",
    "median",
    "min",
    "percentile",
    "std",
    "sum",
    "var",
]

_STEPS: dict[str, type[Step]] = {"count": Count, "sum": Sum, "mean": Mean, "var": Variance}
_MOMENTS = ("sum", "mean", "var", "std")
_QUANTILES = ("median", "percentile", "min", "max")


@dataclass(frozen=True)
class Aggregate(Step):
    """A statistic, of a column where one is named.

    Attributes:
        kind: count, count_people, sum, mean, var, std, median, percentile, min, max or histogram.
        column: the column it is asked of, or None.
        lower, upper: the public bounds that the column is clamped to.
        q: for percentiles, in 0..100.
        edges: for histograms.
        ddof: for var and std as statistics: 0, or 1 to divide by ``n - 1``.
        method: the mechanism that answers, where it is not the global one.
    """

    kind: str
    column: str | None = None
    lower: Fraction | None = None
    upper: Fraction | None = None
    q: Fraction | None = None
    edges: tuple[Fraction, ...] | None = None
    ddof: int = 0
    method: Method | None = None

    name: ClassVar[str] = "aggregate"

    @property
    def family(self) -> str:
        """Which machinery answers it: count, people, moments, quantile or histogram."""
        if self.kind in _MOMENTS:
            return "moments"
        if self.kind in _QUANTILES:
            return "quantile"
        return {"count": "count", "count_people": "people", "histogram": "histogram"}[self.kind]

    @property
    def statistic(self) -> Any:
        """The statistic whose sensitivities can be asked for."""
        from tacit.statistics import Histogram, lookup
        from tacit.statistics import percentile as percentile_statistic

        if self.kind == "percentile" and self.q is not None:
            return percentile_statistic(self.q)
        if self.edges is not None:
            return Histogram(self.edges)
        if self.ddof:
            return lookup(f"{self.kind}(ddof={self.ddof})")
        return lookup("count" if self.kind == "count_people" else self.kind)

    def build(self, space: Space) -> Built:
        """Build the step of a chain that this statistic is.

        Raises:
            MismatchError: the statistic is no step, or names a column of a table.
        """
        if self.column is None and self.edges is not None:
            return Histogram(self.edges).build(space)
        if self.column is not None or self.ddof or self.kind not in _STEPS:
            raise MismatchError(
                f"{self} is a question to a table, not a step of a chain; steps: "
                f"{', '.join(f'{kind}()' for kind in _STEPS)}",
                space,
                self,
            )
        return _STEPS[self.kind]().build(space)

    def require_column(self) -> str:
        """Return the column, or say how to name one."""
        if self.column is None:
            raise UsageError(
                f"{self.kind} of a table needs a column and its public bounds: "
                f'tc.{self.kind}("column", lower, upper)'
            )
        return self.column

    def __str__(self) -> str:
        parts = [self.column] if self.column else []
        if self.q is not None and self.kind == "percentile":
            parts.append(show(self.q))
        if self.lower is not None and self.upper is not None:
            parts += [show(self.lower), show(self.upper)]
        if self.edges is not None:
            parts.append(f"{len(self.edges) - 1} bins")
        if self.ddof:
            parts.append(f"ddof={self.ddof}")
        if self.method is not None:
            parts.append(str(self.method))
        return f"{self.kind}({', '.join(str(p) for p in parts)})"

    def to_json(self) -> dict[str, Any]:
        """Return the aggregate as plain JSON values."""
        found: dict[str, Any] = {"kind": self.kind}
        for field in ("column", "lower", "upper", "q"):
            value = getattr(self, field)
            if value is not None:
                found[field] = value if field == "column" else str(value)
        if self.edges is not None:
            found["edges"] = [str(edge) for edge in self.edges]
        if self.method is not None:
            found["method"] = self.method.to_json()
        return found


def count(*, method: str = "global") -> Aggregate:
    """Count rows.

    >>> print(count())
    count()
    """
    only_global("count", method)
    return Aggregate("count")


def count_people(*, method: str = "global") -> Aggregate:
    """Count the people (units of privacy) who have at least one row.

    >>> print(count_people())
    count_people()
    """
    only_global("count_people", method)
    return Aggregate("count_people")


def sum(
    column: str | None = None,
    lower: Number | None = None,
    upper: Number | None = None,
    *,
    method: str = "global",
) -> Any:
    """Add up a column, each value clamped to [lower, upper]; missing values add nothing.

    >>> print(sum("pay", 0, 1000))
    sum(pay, 0, 1000)
    """
    only_global("sum", method)
    return _bounded("sum", column, lower, upper)


def mean(
    column: str | None = None,
    lower: Number | None = None,
    upper: Number | None = None,
    **options: Unpack[Options],
) -> Any:
    """Average a column over its values that are not missing, each clamped to [lower, upper].

    Takes the ``method`` and its options, as :func:`median` does.

    >>> print(mean("age", 0, 100), mean("age", 0, 100, method="ptr", bound="1/2"))
    mean(age, 0, 100) mean(age, 0, 100, method=ptr, bound=1/2)
    """
    return _with_method(_bounded("mean", column, lower, upper), options)


def var(
    column: str | None = None,
    lower: Number | None = None,
    upper: Number | None = None,
    *,
    ddof: int = 0,
    **options: Unpack[Options],
) -> Any:
    """Return the variance (divided by n) of a column clamped to [lower, upper].

    Takes the ``method`` and its options, as :func:`median` does.
    ``var(ddof=1)``, without a column, divides by n - 1: a statistic to ask sensitivities of.

    Raises:
        UsageError: a ddof that is not 0 or 1, or 1 of a column.

    >>> print(var("age", 0, 100))
    var(age, 0, 100)
    """
    return _with_method(_dispersion("var", column, lower, upper, ddof), options)


def std(
    column: str | None = None,
    lower: Number | None = None,
    upper: Number | None = None,
    *,
    ddof: int = 0,
    **options: Unpack[Options],
) -> Any:
    """Return the standard deviation (divided by n) of a column clamped to [lower, upper].

    Takes the ``method`` and its options, as :func:`median` does.
    ``std(ddof=1)``, without a column, divides by n - 1: a statistic to ask sensitivities of.

    Raises:
        UsageError: a ddof that is not 0 or 1, or 1 of a column.

    >>> print(std("age", 0, 100))
    std(age, 0, 100)
    """
    return _with_method(_dispersion("std", column, lower, upper, ddof), options)


def median(
    column: str | None = None,
    lower: Number | None = None,
    upper: Number | None = None,
    **options: Unpack[Options],
) -> Any:
    """Return the median of a column clamped to [lower, upper].

    Args:
        column: what is asked of.
        lower: the public lower bound.
        upper: the public upper bound.
        **options: ``method`` is ``"global"`` (the default: noise for the worst data there could be,
            with an interval), ``"smooth"`` (noise that follows the data, of a ``distribution=``),
            ``"ptr"`` (a ``bound=`` on the local sensitivity is tested, and may be refused),
            ``"sample_and_aggregate"`` (over ``bins=`` of rows), or ``"auto"``, the one with the
            least expected error on ``rows=`` made-up rows of several shapes.

    Raises:
        UsageError: bounds missing or reversed, an unknown method, an option that does not fit.

    >>> print(median("age", 0, 100), median("age", 0, 100, method="smooth"))
    median(age, 0, 100) median(age, 0, 100, method=smooth)
    """
    return _with_method(_bounded("median", column, lower, upper, q=Fraction(50)), options)


def percentile(
    column_or_q: str | Number,
    q: Number | None = None,
    lower: Number | None = None,
    upper: Number | None = None,
    **options: Unpack[Options],
) -> Any:
    """Return a percentile: ``percentile(90)``, or ``percentile("age", 90, 0, 100)`` of a column.

    Takes the ``method`` and its options, as :func:`median` does.

    Raises:
        UsageError: a percentile outside 0..100.

    >>> print(percentile("age", 90, 0, 100))
    percentile(age, 90, 0, 100)
    """
    if q is None:
        alone = _bounded("percentile", None, None, None, q=percent(column_or_q))
        return _with_method(alone, options)
    if not isinstance(column_or_q, str):
        raise UsageError('a percentile of a column is percentile("column", q, lower, upper)')
    made = _bounded("percentile", column_or_q, lower, upper, q=percent(q))
    return _with_method(made, options)


def min(
    column: str | None = None,
    lower: Number | None = None,
    upper: Number | None = None,
    *,
    method: str = "global",
) -> Any:
    """Return a low value of a column that a handful of rows may be below.

    No differentially private answer can be the exact minimum, which is one person's value.

    >>> print(min("age", 0, 100))
    min(age, 0, 100)
    """
    only_global("min", method)
    return _bounded("min", column, lower, upper, q=Fraction(0))


def max(
    column: str | None = None,
    lower: Number | None = None,
    upper: Number | None = None,
    *,
    method: str = "global",
) -> Any:
    """Return a high value of a column that a handful of rows may be above.

    >>> print(max("age", 0, 100))
    max(age, 0, 100)
    """
    only_global("max", method)
    return _bounded("max", column, lower, upper, q=Fraction(100))


def histogram(
    column: Any = None, edges: Sequence[Number] | None = None, *, method: str = "global"
) -> Any:
    """Count the values of a column between each two edges; the last bin includes its upper edge.

    Values outside the edges, and missing ones, are in no bin.  ``histogram([0, 20, 40])``, without
    a column, is a step of a chain.

    Raises:
        UsageError: fewer than two edges, or edges that do not rise.

    >>> print(histogram("age", [0, 20, 40, 60]))
    histogram(age, 0, 60, 3 bins)
    """
    only_global("histogram", method)
    if column is None and edges is None:
        return Aggregate("histogram")
    if edges is None and column is not None and not isinstance(column, str):
        column, edges = None, listed(column)
    if column is not None and not isinstance(column, str):
        raise UsageError(f"a column is named by text, not by {column!r}")
    several = edges if isinstance(edges, Iterable) else ()  # one number is refused as too few
    exact = tuple(as_fraction(edge, "an edge") for edge in several)
    if len(exact) < 2 or any(b <= a for a, b in itertools.pairwise(exact)):
        raise UsageError(
            'a histogram needs at least two rising edges: tc.histogram("age", [0, 20, 40])'
        )
    return Aggregate("histogram", column, exact[0], exact[-1], edges=exact)


def _dispersion(
    kind: str, column: str | None, lower: Number | None, upper: Number | None, ddof: int
) -> Aggregate:
    if ddof not in (0, 1):
        raise UsageError(f"ddof must be 0 or 1, not {ddof!r}")
    made = _bounded(kind, column, lower, upper)
    if ddof and column is not None:
        raise UsageError(
            f"a table's {kind} is divided by n; tc.{kind}(ddof=1) without a column is a statistic "
            "for tc.sensitivity"
        )
    return replace(made, ddof=int(ddof))


def _with_method(made: Aggregate, options: Options) -> Aggregate:
    return replace(made, method=read_method(made.kind, made.column, **options))


def _bounded(
    kind: str,
    column: str | None,
    lower: Number | None,
    upper: Number | None,
    q: Fraction | None = None,
) -> Aggregate:
    if column is None:
        if lower is not None or upper is not None:
            raise UsageError(f'name the column: tc.{kind}("column", lower, upper)')
        return Aggregate(kind, q=q)
    if not isinstance(column, str):
        raise UsageError(f"a column is named by text, not by {column!r}")
    if lower is None or upper is None:
        raise UsageError(
            f"{kind} of {column!r} needs public bounds, such as tc.{kind}({column!r}, 0, 100): "
            "they limit what one person can change, and must not be read off the private data"
        )
    low, high = as_fraction(lower, "lower bound"), as_fraction(upper, "upper bound")
    if low >= high:
        raise UsageError(
            f"the bounds of {column!r} must rise: lower {show(low)}, upper {show(high)}"
        )
    return Aggregate(kind, column, low, high, q=q)
