"""The most frequent categories of a column, with their counts: the kind ``top_k``."""

# **Mechanism.**  Noise is added to the count of every declared category, once, and the k largest
# noisy counts are shown with their categories: report noisy max with Laplace (or Gaussian) noise,
# in one shot.  All that follows the noise is post-processing.
#
# *Why not choose one after another.*  A row counts in one category, so all counts together move by
# at most d in L1 for d rows: noise of the scale ``rows / epsilon`` on all of them is epsilon-DP,
# for every k at once.  To choose k times (permute-and-flip, or the exponential mechanism) each
# choice has ``epsilon / k``, and so the scale ``k rows / epsilon``.  With n categories a choice at
# the scale s is worse than the best by x with probability at most ``n exp(-x / s)``, and so is, up
# to the factor ``(2 + x / s) / 4``, the difference of two Laplace variables of the scale s.  So
# from two categories on one shot is nearer by about the factor k; for one it is as near but for
# that factor; and the counts, with intervals, come at no further cost.
#
# **Interval.**  The noise on the n counts is independent, so with probability ``level`` or more all
# of it is within the half-width t at the level ``level^(1/n)``.  Then the interval of every
# category that is shown holds, whichever these are: they were chosen by the same noise, so
# intervals at the level of one count would hold too rarely.
#
# **Error.**  In that event a category that is shown has at most 2 t rows less than any that is not:
# ``s_j + t >= noisy_j >= noisy_i >= s_i - t``.

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any, ClassVar, Self, cast

import numpy as np

from tacit.arithmetic.exact import Number, as_fraction, as_integer
from tacit.calls import public
from tacit.core import Space, Step, SymmetricDistance, Transformation, register
from tacit.errors import UsageError, shown_value
from tacit.expressions.expression import Expression, col, literal, when
from tacit.expressions.functions import constants_of
from tacit.expressions.grid import Grid
from tacit.expressions.schema import Schema, uuid_text
from tacit.report.text import for_each_group, say_step
from tacit.tables.noise import Estimate
from tacit.tables.query.requests import Bins, Request
from tacit.tables.statistics.base import (
    Aggregate,
    Setting,
    TableStatistic,
    only_global,
    register_statistic,
)
from tacit.tables.statistics.part import LEVEL, Columns, Noise, Part, distribution_of_rows
from tacit.tables.steps import VectorStep, weight_of

_MOST = 400  # so many categories fit into one expression
_TOGETHER = 20


@register
@dataclass(frozen=True)
class CategoriesByGroup(VectorStep):
    """Count the rows of each declared category of a column, in each group."""

    # **Map.** ``d -> d`` in L1 and in L2: a row is in one category of one group, or in none.

    column: str
    categories: tuple[Any, ...]
    one: int = 1
    by: tuple[str, ...] = ()

    name: ClassVar[str] = "categories"

    def build(self, space: Space) -> Transformation:
        """Return the counts."""
        self._require(space, SymmetricDistance)
        return self._end(space, weight_of(self.one), Fraction(1))


@dataclass(frozen=True)
class TopKPart(Part):
    """The k categories with the largest noisy counts."""

    column: str
    k: int
    categories: tuple[Any, ...]

    @property
    def title(self) -> str:
        """Say what the part is."""
        return f"categories of {self.column}"

    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the chain: the counts of all categories, and additive noise."""
        step = CategoriesByGroup(
            size=size * len(self.categories),
            norm=noise.norm,
            column=self.column,
            categories=self.categories,
            one=noise.one,
            by=by,
        )
        return [(step, noise.mechanism(Fraction(noise.rows)))]

    def request(self, step: Step, columns: Columns) -> Request:
        """Ask for the weight of each category, and of all other rows."""
        most = len(self.categories) + 1
        grid = Grid.for_bounds(0, most, bits=20, whole=True)
        indexed = category_index(columns.value(self.column), self.categories)
        return Bins(indexed, grid, tuple(range(most + 1)))

    def vector(self, step: Step, exact: Any) -> Any:
        """Return the counts of the categories, without that of the other rows."""
        return [int(count) for count in np.asarray(exact, dtype=object)[:, 1:].ravel()]

    def estimates(self, released: Sequence[Any], noise: Noise) -> dict[str, Estimate]:
        """Return the counts of the k categories, shape (groups, categories); no others."""
        noisy = np.asarray(released[0], dtype=np.float64).reshape(-1, len(self.categories))
        order = np.argsort(-noisy, axis=1, kind="stable")
        value = np.full_like(noisy, np.nan)
        shown = order[:, : self.k]
        np.put_along_axis(value, shown, np.take_along_axis(noisy, shown, axis=1), axis=1)
        half = self._half(noise, LEVEL)
        unknown = np.full_like(value, np.nan)
        low, high = np.maximum(value - half, 0.0), np.maximum(value + half, 0.0)
        return {"top_k": Estimate(value, unknown, low, high)}

    def _half(self, noise: Noise, level: float) -> float:
        """Return t with all noise within it at the level."""
        return distribution_of_rows(noise).half_width((1.0,), level ** (1 / len(self.categories)))

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the standard error of one count, the same for any data."""
        return float(distribution_of_rows(noise).variance ** 0.5)

    def half_width(self, kind: str, noise: Noise, rows: float, level: float) -> float:
        """Return the half-width of the intervals, which hold all together at the level."""
        return self._half(noise, level)


def category_index(value: Expression, categories: Sequence[Any]) -> Expression:
    """Return the number of a row's category, counted from 1, and 0 for any other value.

    >>> from tacit.expressions.expression import col
    >>> place = category_index(col("x"), ["a", "b", None])
    >>> [place.evaluate({"x": x}) for x in ("b", None, "z")]
    [2, 3, 0]
    """

    def chosen(otherwise: Expression, numbered: tuple[int, Any]) -> Expression:
        number, category = numbered
        same = value.is_null() if category is None else value == category
        return when(same).then(number).otherwise(otherwise)

    numbered = list(enumerate(categories, start=1))
    parts = [
        reduce(chosen, numbered[first : first + _TOGETHER], literal(0))
        for first in range(0, len(numbered), _TOGETHER)
    ]
    return reduce(lambda some, more: some + more, parts)  # a row is in one of them at most


@public
def top_k(
    column: str,
    k: Number = 10,
    keys: Iterable[object] | None = None,
    *,
    method: str = "global",
) -> Aggregate:
    """Find the k most frequent categories of a column, with their counts.

    Args:
        column: the name of the column.
        k: how many categories are shown.
        keys: the possible categories: public, at most 400; ``None`` among them is the missing
            value.  By default those that the data set declares.  Other values are left out.
        method: ``"global"``, the only one.

    Returns:
        A question whose answer has a number for each category: the count of rows, with an interval,
        where it is among the k, and nothing for the others.

    Raises:
        UsageError: a k that is not a whole number from 1 to the number of categories, a category
            twice, or too many categories.

    Source: report noisy max, Dwork and Roth 2014, section 3.3; in one shot on a histogram.

    >>> print(top_k("diagnosis", 2, ["flu", "cold", "asthma"]))
    top_k(diagnosis, 2, 3 categories)
    """
    only_global("top_k", method)
    if not isinstance(column, str):
        raise UsageError(f"a column is named by text, not by {shown_value(column)}")
    most = as_integer(as_fraction(k, "k"), "k", minimum=1)
    if keys is not None and (isinstance(keys, (str, bytes)) or not hasattr(keys, "__iter__")):
        raise UsageError(f"keys are a list of categories, not {shown_value(keys)}")
    listed = None if keys is None else tuple(_category(key) for key in keys)
    if listed is not None:
        if not most <= len(listed) <= _MOST or len(listed) < 2:
            raise UsageError(
                f"top_k shows k of 2 to {_MOST} listed categories, and k={most} of {len(listed)} "
                "is not possible"
            )
        if len({(type(key), key) for key in listed}) < len(listed):
            raise UsageError("a category is given twice")
    return TopK(column, k=most, keys=listed)


def _category(key: Any) -> Any:
    value = constants_of(literal(key))[0]
    if value is None or isinstance(value, (str, int, bool)):
        return value
    if isinstance(value, float):
        raise UsageError(f"{value!r} is not a category: cut numbers with a fraction into bins")
    return value.isoformat()


@register_statistic
@dataclass(frozen=True)
class TopK(TableStatistic):
    """The statistic ``top_k``."""

    k: int = 1  # how many of the categories
    keys: tuple[object, ...] | None = None  # the public categories

    kind = "top_k"
    order = 115
    make = staticmethod(top_k)
    help = "The K most frequent of the categories, with their counts."
    noun = "the {k} most frequent of {keys} categories of {column}"
    fields = ("column", "k", "keys")
    whole = True
    each = ("category", "rows")
    in_lab = "ask tc.histogram() for sensitivities"

    def with_keys(self, keys: Mapping[str, Sequence[object]]) -> Self:
        column = self.require_column()
        if self.keys is not None or column not in keys:
            return self
        return cast("Self", top_k(column, self.k, keys[column]))

    def with_uuids(self, names: Container[str]) -> Self:
        if self.column not in names or self.keys is None:
            return self
        return replace(
            self, keys=tuple(uuid_text(k) if isinstance(k, str) else k for k in self.keys)
        )

    def check(self, columns: Schema) -> None:
        """Raise if the categories are not of the kind of the column."""
        column = self.require_column()
        kind = col(column).kind(columns)
        for key in self.keys or ():
            try:
                category_index(col(column), (key,)).kind(columns)
            except UsageError as unlike:
                raise UsageError(
                    f"{column!r} holds {kind}, and the category {key!r} is of another kind: give "
                    "categories of that kind, or cut numbers into bins and ask for these"
                ) from unlike

    def answer_names(self) -> list[str] | None:
        """Return the names of its numbers."""
        return ["missing" if key is None else str(key) for key in self.keys or ()]

    def _shown(self) -> tuple[list[str], list[str]]:
        return [], [str(self.k), *([f"{len(self.keys)} categories"] if self.keys else [])]

    def _fields_to_json(self) -> dict[str, object]:
        return {"k": self.k, "keys": list(self.keys or ())}

    @classmethod
    def words(cls, described: Mapping[str, Any]) -> str:
        return cls.noun.format(
            k=described.get("k"),
            column=described.get("column"),
            keys=len(described.get("keys", ())),
        )

    def shared(self) -> Any:
        return TopK, self.column, self.k, self.keys

    def part(self, setting: Setting, before: Part | None) -> Part:
        if self.keys is None:
            raise UsageError(
                f'name the categories of {self.column!r}: tc.top_k("{self.column}", '
                f"{self.k}, keys=[...]), or declare keys for the column in a data set"
            )
        return TopKPart(self.require_column(), self.k, self.keys)


def _step_words(step: Mapping[str, Any]) -> str:
    text = f"Count the rows of each of {len(step['categories'])} categories of {step['column']}"
    return f"{text}{for_each_group(step)}"


say_step("categories", _step_words)
