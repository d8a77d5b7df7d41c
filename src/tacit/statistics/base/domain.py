"""Which values a release may hold: a known population, a public value set, or an interval.

* :class:`Records`: a known population.  A record is in the release or it is not; two records
  with equal values are still two people.
* :class:`Values`: public values, each of which any number of people may have.
* :class:`Interval`: every real number between two bounds.

``size`` is the public size of the release.  Without it every size is possible, from one record
on, and from none on where the statistic has a value on no records (a count, a sum, a histogram).

Several columns at once: :class:`Records` and :class:`Values` also take a mapping or a data frame,
and :func:`tacit.sensitivity` then answers for every column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any, Self, TypeAlias

from tacit.arithmetic.exact import Number, as_fraction, as_integer, show
from tacit.calls import public
from tacit.errors import InfeasibleError, UsageError
from tacit.statistics.samples.sample import Sample

__all__ = ["Domain", "Interval", "Records", "Values", "columns_of"]


@public
class _Listed:
    """What Records and Values share: values that are listed, perhaps column by column."""

    _sample: Sample | None
    columns: Mapping[str, object] | None
    size: int | None

    def __init__(self, values: Iterable[object], size: int | None = None) -> None:
        table = columns_of(values)
        self.size = None if size is None else as_integer(size, "size", minimum=1)
        self.columns = None
        self._sample = None
        if table is None:
            self._sample = self._read(values, "values")
        else:
            if not table:
                raise UsageError("the table has no column")
            self.columns = {name: self._column(table[name], name) for name in table}

    def _column(self, values: Iterable[Any], name: str) -> Self:
        made = object.__new__(type(self))
        made.size, made.columns = self.size, None
        made._sample = made._read(values, f"column {name!r}")
        return made

    def _read(self, values: Iterable[Any], name: str) -> Sample:
        return Sample(values, name)

    @property
    def sample(self) -> Sample:
        """The values, sorted and exact."""
        if self._sample is None:
            names = ", ".join(repr(name) for name in self.columns or ())
            raise UsageError(f"this domain has several columns ({names}); ask for each of them")
        return self._sample

    @property
    def lower(self) -> Fraction:
        """The smallest value."""
        return self.sample[0]

    @property
    def upper(self) -> Fraction:
        """The largest value."""
        return self.sample[-1]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return (self.size, self.columns, self._sample) == (
            other.size,
            other.columns,
            other._sample,
        )

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.size, self._sample))

    def __repr__(self) -> str:
        if self.columns is not None:
            listed = f"columns {', '.join(self.columns)}"
        elif len(self.sample) <= 12:
            listed = "[" + ", ".join(str(v) for v in self.sample.values()) + "]"
        else:
            listed = f"{len(self.sample)} values, {show(self.lower)} to {show(self.upper)}"
        sized = "" if self.size is None else f", size={self.size}"
        return f"{type(self).__name__}({listed}{sized})"


@public
class Records(_Listed):
    """A known population, of which the release holds ``size`` records.

    Args:
        values: the population, one number per record (equal values are different people), or a
            table of several columns.
        size: how many records the release holds; None for any number.

    Raises:
        UsageError: no values, text, NaN, an infinity, a size that is not a whole number.
        InfeasibleError: a size larger than the population.

    >>> Records([1, 2, 2, 5], size=3)
    Records([1, 2, 2, 5], size=3)
    """

    def _read(self, values: Iterable[Any], name: str) -> Sample:
        sample = Sample(values, name)
        if self.size is not None and self.size > len(sample):
            raise InfeasibleError(
                f"size={self.size} is larger than the population of {len(sample)} records; "
                f"give a size from 1 to {len(sample)}"
            )
        return sample


@public
class Values(_Listed):
    """Public values, each of which may occur any number of times in a release.

    Args:
        values: the values (given twice is the same as given once), or a table of columns.
        size: how many records the release holds; None for any number.

    Raises:
        UsageError: no values, text, NaN, an infinity, a size that is not a whole number.

    >>> Values([3, 1, 2, 2], size=4)
    Values([1, 2, 3], size=4)
    """

    def _read(self, values: Iterable[Any], name: str) -> Sample:
        return super()._read(values, name).distinct()[0]


@public
class Interval:
    """Every real number from ``lower`` to ``upper``.

    Args:
        lower: the smallest possible value.
        upper: the largest possible value.
        size: how many records the release holds; None for any number.

    Raises:
        UsageError: bounds that are not finite numbers or out of order, a bad size.

    >>> Interval(0, "99.5", size=10)
    Interval(0, 99.5, size=10)
    """

    columns: None = None

    def __init__(self, lower: Number, upper: Number, size: int | None = None) -> None:
        self.lower = as_fraction(lower, "lower")
        self.upper = as_fraction(upper, "upper")
        if self.lower > self.upper:
            raise UsageError(
                f"lower must not be above upper, but {show(self.lower)} > {show(self.upper)}"
            )
        self.size = None if size is None else as_integer(size, "size", minimum=1)

    @cached_property
    def sample(self) -> Sample:
        """The two bounds."""
        bounds = [self.lower, self.upper]
        return Sample(bounds if self.lower < self.upper else bounds[:1])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Interval):
            return NotImplemented
        return (self.lower, self.upper, self.size) == (other.lower, other.upper, other.size)

    def __hash__(self) -> int:
        return hash((self.lower, self.upper, self.size))

    def __repr__(self) -> str:
        sized = "" if self.size is None else f", size={self.size}"
        return f"Interval({show(self.lower)}, {show(self.upper)}{sized})"


Domain: TypeAlias = Records | Values | Interval
"""Any of the three domains."""


def columns_of(values: Any) -> dict[str, Any] | None:
    """Return the columns of a mapping or data frame by name, or None for anything else."""
    if isinstance(values, Mapping):
        return {str(name): values[name] for name in values}
    names = getattr(values, "column_names", getattr(values, "columns", None))
    if names is None or not hasattr(values, "__getitem__"):
        return None
    return {str(name): values[name] for name in list(names)}
