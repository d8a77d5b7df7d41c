"""Regions and counts that earlier answers released."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.ledger_chain import canonical
from tacit.arithmetic.exact import as_fraction
from tacit.expressions.expression import Expression, col
from tacit.expressions.functions import Node
from tacit.expressions.operations import holds_only_keys, with_readings
from tacit.expressions.schema import Schema
from tacit.report.issued import FORMAT, canonical_text, planner
from tacit.tables.cell_axis import Axis
from tacit.tables.joint.cell_counts import CellsPart
from tacit.tables.joint.family import Family
from tacit.tables.noise import (
    FIRST_RULES,
    GridNoise,
    half_width_of_terms,
    laplace_tail_bound,
    normal_quantile,
)
from tacit.tables.plan.plan import Plan
from tacit.tables.plan.query import Query, plain_key
from tacit.tables.statistics.counts import RowsPart
from tacit.tables.statistics.histogram import HistogramPart
from tacit.tables.statistics.part import LEVEL, Noise, distribution_of_rows
from tacit.workload.marginals import Subset

# Which rows a question is about, column by column: what filters, groups and bins ask of each.
#
# A row is counted where each of some columns has one of some values, or lies within some bounds.
# Filters that say this (``==``, ``is_in``, ``is_null``, ``between``, bounds, and all of these with
# ``&``) are read so; any other filter is one condition as a whole, which is equal to itself alone.


@dataclass(frozen=True)
class Listed:
    """A column has one of some values."""

    column: str
    values: frozenset[tuple[type, Any]]


@dataclass(frozen=True)
class Between:
    """A column lies from a lower bound on up to an upper one, which it may reach where closed."""

    column: str
    low: Fraction
    high: Fraction
    closed: bool


@dataclass(frozen=True)
class OpaqueCondition:
    """A condition that is not taken apart."""

    text: str


Condition: TypeAlias = Listed | Between | OpaqueCondition


def typed(value: Any) -> tuple[type, Any]:
    """Return a value of which 1 and true are two."""
    plain = plain_key(value)
    return type(plain), plain


def text_of(expression: Node) -> str:
    """Return an expression as text: equal text, the same condition."""
    return canonical(expression.to_json())


def column_name(query: Query, name: str) -> str:
    """Return what a column is, whatever it is called: a derived one by its expression."""
    derived = query.resolved
    return text_of(derived[name]) if name in derived else name


def group_names(query: Query, axis: Axis) -> list[str]:
    """Return what the columns of an axis are: those that are not declared by how they are read."""
    # `1` is in the group of the text "1" and in that of the number 1; these are two columns.
    undeclared = {name for name in axis.columns if query.columns[name].kind == "undeclared"}
    readings, known = axis.readings(undeclared), query.resolved
    return [
        text_of(Expression(readings[name], (known.get(name, col(name)),)))
        if name in readings
        else column_name(query, name)
        for name in axis.columns
    ]


def axis_of_groups(query: Query) -> Axis:
    """Return the axis of the listed groups of a question."""
    keys = tuple(tuple(plain_key(part) for part in key) for key in query.keys or ())
    return Axis(query.by, keys)


def conditions_of(query: Query) -> dict[str, Condition]:
    """Return what the filters of a question ask for, by the text of each.

    >>> import tacit as tc
    >>> from tacit.expressions.schema import Column, Schema
    >>> ages = Query(Schema([Column("age", "integer", "integer")]), tc.one_row_each)
    >>> asked = ages.asking(where=(tc.col("age").is_between(0, 65),))
    >>> list(conditions_of(asked).values())
    [Between(column='age', low=Fraction(0, 1), high=Fraction(65, 1), closed=True)]
    """
    conditions: dict[str, Condition] = {}
    bounds: dict[str, list[tuple[str, Fraction]]] = {}
    nodes: dict[str, list[Node]] = {}
    for one in _separate(condition.substitute(query.resolved) for condition in query.where):
        bound = _bound(one)
        if bound is None:
            read = _listed(with_readings(one, query.columns), query.columns)
            conditions[text_of(one)] = read or OpaqueCondition(text_of(one))
            continue
        column, kind, value = bound
        bounds.setdefault(column, []).append((kind, value))
        nodes.setdefault(column, []).append(one)
    for column, both in bounds.items():
        texts = [text_of(one) for one in nodes[column]]
        lower = [low for kind, low in both if kind == ">="]
        upper = [(high, kind == "<=") for kind, high in both if kind != ">="]
        if len(lower) == len(upper) == 1:
            between = Between(column, lower[0], *upper[0])
            conditions[canonical(sorted(texts))] = between
        else:
            conditions |= {text: OpaqueCondition(text) for text in texts}
    return conditions


def _separate(conditions: Iterable[Node]) -> list[Node]:
    """Return the conditions that all must hold, each once."""
    nodes: dict[str, Node] = {}
    for condition in conditions:
        if condition.operation == "&":
            nodes |= {text_of(one): one for one in _separate(condition.operands)}
        else:
            nodes[text_of(condition)] = condition
    return list(nodes.values())


def _bound(condition: Node) -> tuple[str, str, Fraction] | None:
    if condition.operation not in (">=", "<", "<=") or len(condition.operands) != 2:
        return None
    column, bound = condition.operands
    value = bound.parameters[0] if bound.operation == "literal" else None
    if (
        column.operation == "literal"
        or isinstance(value, bool)
        or not isinstance(value, (int, float))
    ):
        return None
    return _name(column), condition.operation, as_fraction(value)


def _listed(condition: Node, columns: Schema) -> Listed | None:
    if not condition.operands:
        return None
    column, *values = condition.operands
    if column.operation == "literal" or any(v.operation != "literal" for v in values):
        return None
    if condition.operation == "is_null" and not values:
        # the group of what is missing has what cannot be written as a key too
        alike = holds_only_keys(column, columns)
        return Listed(_name(column), frozenset([typed(None)])) if alike else None
    if condition.operation == "is_in" or (condition.operation == "==" and len(values) == 1):
        listed = [value.parameters[0] for value in values]
        if listed and not any(value is None or isinstance(value, float) for value in listed):
            return Listed(_name(column), frozenset(map(typed, listed)))
    return None


def _name(node: Node) -> str:
    return str(node.parameters[0]) if node.operation == "col" else text_of(node)


def rows_of(query: Query) -> str:
    """Return which rows a question is about before its filters: the same text, the same rows."""
    every = replace(query, where=(), derived=(), by=(), keys=None, aggregates=(), weights=())
    fields: Mapping[str, Any] = every.describe()
    names: Sequence[str] = ("table", "tables", "joins", "unit", "inner")
    same = {name: fields[name] for name in names if name in fields}
    return canonical({**same, "reading": query.reading.describe(())})


def same_kinds(query: Query, other: Query) -> bool:
    """Return whether two questions read the columns that both of them read as the same kinds."""
    both = query.columns_read & other.columns_read
    return query.reading.describe(both) == other.reading.describe(both)


# Released counts of cells, with the noise on every sum of them.
#
# A sum of cells takes a weight vector t_i along each axis: cell (j_1, ..., j_k) counts with the
# weight ``t_1[j_1] ... t_k[j_k]``.  The released counts are linear in independent noisy numbers, so
# the error of a sum follows from the weights that it gives to these numbers:
#
# - *Cells with noise of their own* (a histogram, a count by groups): each has its weight.
# - *Cells from a strategy along one axis* (:mod:`tacit.tables.joint.family`): along that axis
#   the
#   weights are ``t A^+``, and the squares of them add up to ``t (A^T A)^-1 t``.
# - *Cells from marginals* (:mod:`tacit.tables.joint.cell_counts`): with P t = t less its mean,
#   the
#   numbers of a noisy marginal S have, for each set B of axes whose residual they tell with the
#   share
#   c, the weights ``c P t_i`` along the axes i of B, 1 along the other axes of S, times ``sum(t_i)
#   /
#   n_i`` for the axes i of the table that are not in B.  Weights of different B are orthogonal,
#   since
#   those of one of them add up to zero along an axis where the others are constant; so their
#   squares
#   add up.


Array = NDArray[np.float64]
# Of some numbers with noise of one distribution: for each sum, how the squares of the weights add
# up, and their sizes.
Term = tuple[GridNoise, Array, Array]


@dataclass(frozen=True, eq=False)
class ReleasedCells(ABC):
    """Counts of the cells of some axes."""

    axes: tuple[Axis, ...]
    # of each axis, whether its cells hold every row: then a sum over all of them asks nothing of
    # the axis
    complete: tuple[bool, ...]
    values: Array  # the counts, one axis of the array for each axis

    @abstractmethod
    def terms(self, weights: Sequence[Array]) -> list[Term]:
        """Return what the noise of sums is made of."""
        # weights: of each axis, of shape (sums, cells) or (1, cells).

    def sums(self, weights: Sequence[Array]) -> tuple[Array, Array, Array]:
        """Return sums of cells, their standard errors and the half-widths of their intervals."""
        several = [index for index, each in enumerate(weights) if len(each) > 1]
        rest = self.values
        for index in reversed(range(len(weights))):
            if index not in several:
                rest = np.tensordot(rest, weights[index][0], (index, 0))
        if len(several) == 1:
            value = weights[several[0]] @ rest
        else:
            each = zip(*(weights[index] for index in several), strict=True)
            value = np.array(
                [reduce(lambda a, t: np.tensordot(t, a, (0, 0)), one, rest) for one in each]
                if several
                else [rest]
            )
        terms = self.terms(weights)
        squared = sum(distribution.variance * squares for distribution, squares, _ in terms)
        error = np.sqrt(np.broadcast_to(squared, value.shape))
        return value, error, np.broadcast_to(self.half_widths(terms), value.shape)

    def half_widths(self, terms: Sequence[Term]) -> Array:
        """Return the half-widths of intervals that hold for every weighted sum of the noise."""
        deviation = np.sqrt(
            sum(distribution.scale**2 * squares for distribution, squares, _ in terms)
        )
        steps = sum(distribution.grid * sizes for distribution, _, sizes in terms)
        if any(distribution.kind == "laplace" for distribution, _, _ in terms):
            return np.asarray(math.sqrt(2) * laplace_tail_bound(LEVEL) * deviation + steps)
        z = normal_quantile(LEVEL)
        plain = z * deviation + steps
        # With ``sum w^2 = (sum |w|)^2`` there is one weight, whose noise has an exact quantile.
        for distribution, squares, sizes in terms:
            if distribution.rules == FIRST_RULES:
                continue
            others = sum(each for other, _, each in terms if other is not distribution)
            alone = (others == 0) & np.isclose(squares, sizes**2, rtol=1e-12, atol=0)
            plain = np.where(alone, sizes * distribution.half_width((1.0,), LEVEL), plain)
        return np.asarray(plain)


@dataclass(frozen=True, eq=False)
class AloneCells(ReleasedCells):
    """Cells that have noise of their own, of one distribution."""

    distribution: GridNoise

    def terms(self, weights: Sequence[Array]) -> list[Term]:
        """Return the squares and the sizes of the weights of the cells."""
        squares = _product((each**2).sum(axis=1) for each in weights)
        return [
            (self.distribution, squares, _product(np.abs(each).sum(axis=1) for each in weights))
        ]

    def half_widths(self, terms: Sequence[Term]) -> Array:
        """Return the half-widths; of cells that are added up, the quantile of their noise."""
        ((distribution, squares, sizes),) = terms
        first = distribution.rules == FIRST_RULES and distribution.kind == "gaussian"
        if first or not np.array_equal(squares, sizes):  # other weights than 0 and 1
            return super().half_widths(terms)
        counts = np.unique(squares)
        each = [half_width_of_terms(((distribution, 1.0, int(n)),), LEVEL) for n in counts]
        return np.asarray(np.array(each)[np.searchsorted(counts, squares)])


@dataclass(frozen=True, eq=False)
class FamilyCells(ReleasedCells):
    """Cells from a strategy along one axis."""

    family: Family
    paid: Noise

    def terms(self, weights: Sequence[Array]) -> list[Term]:
        """Return the squares and the sizes of the weights of the noisy numbers."""
        strategy, along = self.family.strategy(self.paid.norm), self.family.along
        decoded = [w @ strategy.inverse if i == along else w for i, w in enumerate(weights)]
        squares = _product((each**2).sum(axis=1) for each in decoded)
        sizes = _product(np.abs(each).sum(axis=1) for each in decoded)
        return [(self.family.distribution(self.paid), squares, sizes)]


@dataclass(frozen=True, eq=False)
class MarginalCells(ReleasedCells):
    """Cells from noisy marginals."""

    subset: Subset  # the axes of the table, as numbers of the axes of the plan, in their order
    part: CellsPart  # the counts of the plan
    noise: Noise  # what they may lose

    def terms(self, weights: Sequence[Array]) -> list[Term]:
        """Return the squares and the sizes of the weights of the noisy numbers."""
        own = dict(zip(self.subset, weights, strict=True))
        mean = {i: each.mean(axis=1) for i, each in own.items()}
        bent = {i: each - each.mean(axis=1, keepdims=True) for i, each in own.items()}
        terms = []
        for measured, distribution, shares in self.part.measured_sums(self.noise):
            squares, sizes = np.zeros(1), np.zeros(1)
            size = {i: self.part.axes[i].size for i in measured}
            for part, share in shares:
                if not set(part) <= set(self.subset):
                    continue
                copies = math.prod(size[i] for i in measured if i not in part)
                rest = _product(mean[i] for i in self.subset if i not in part)
                squares = squares + share**2 * copies * rest**2 * _product(
                    (bent[i] ** 2).sum(axis=1) for i in part
                )
                sizes = sizes + abs(share) * copies * np.abs(rest) * _product(
                    np.abs(bent[i]).sum(axis=1) for i in part
                )
            terms.append((distribution, squares, sizes))
        return terms


def _product(each: Iterator[Array] | Sequence[Array]) -> Array:
    product = np.ones(1)
    for one in each:
        product = product * one
    return product


# Which cells of a table a count adds up: those that hold exactly what is asked of each column.


def between(axis: Axis, low: Fraction, high: Fraction, *, closed: bool) -> slice | None:
    """Return the bins that hold exactly the values between two bounds; None where none do.

    >>> ages = Axis(("age",), edges=(Fraction(0), Fraction(18), Fraction(99)))
    >>> between(ages, Fraction(0), Fraction(99), closed=True)
    slice(0, 2, None)
    >>> between(ages, Fraction(0), Fraction(18), closed=True) is None
    True
    """
    # The last bin holds its upper edge, the others do not.
    if low not in axis.edges or high not in axis.edges or low >= high:
        return None
    if closed != (high == axis.edges[-1]):
        return None
    return slice(axis.edges.index(low), axis.edges.index(high))


def weights_of(
    table: ReleasedCells,
    names: Sequence[Sequence[str]],
    filters: Sequence[Mapping[str, Condition]],
    wanted: Mapping[str, Condition],
    bins: tuple[int, Array] | None,
) -> list[Array] | None:
    """Return of each axis which cells are added up; None where no cells are just what is asked."""
    left, weights = dict(wanted), []
    for index, axis in enumerate(table.axes):
        if bins is not None and index == bins[0]:
            weights.append(bins[1])
            continue
        cells = np.zeros((1, table.values.shape[index]))
        used = _cells(axis, names[index], filters[index], left, cells)
        if used is None:
            return None
        if not used:
            if not table.complete[index]:
                return None
            cells[:] = 1.0
        for text in used:
            del left[text]
        weights.append(cells)
    return None if left else weights


def _cells(
    axis: Axis,
    names: Sequence[str],
    filtered: Mapping[str, Condition],
    left: Mapping[str, Condition],
    cells: Array,
) -> list[str] | None:
    """Mark the cells of an axis that hold what is asked, and return what of it they hold."""
    # Returns: None where something is asked of the axis that its cells do not tell apart.
    if filtered and set(filtered) <= set(left):
        cells[:, 0] = 1.0
        return list(filtered)
    if axis.edges:
        for text, one in left.items():
            if isinstance(one, Between) and one.column == names[0]:
                bins = between(axis, one.low, one.high, closed=one.closed)
                if bins is not None:
                    cells[:, bins] = 1.0
                    return [text]
        return []
    used = [text for text, one in left.items() if isinstance(one, Listed) and one.column in names]
    if not used:
        return []
    allowed = []
    for name in names:
        each = [one.values for text in used if (one := left[text]).column == name]  # type: ignore[union-attr]
        if not each:
            return None
        allowed.append(frozenset.intersection(*each))
    known, many = axis.exact_indices, math.prod(map(len, allowed))
    if many > len(known):  # a value that has no cell of its own
        return None
    indices = [known.get(key, -1) for key in itertools.product(*allowed)]
    if -1 in indices:
        return None
    cells[:, indices] = 1.0
    return used


# The counts that a certificate publishes, as cells of which other counts are sums.


@dataclass(frozen=True, eq=False)
class EarlierRelease:
    """An earlier release, as far as it counted rows."""

    body: Mapping[str, Any]
    query: Query
    tables: tuple[ReleasedCells, ...]

    @cached_property
    def rows(self) -> str:
        """The rows that it is about before its filters."""
        return rows_of(self.query)

    @cached_property
    def conditions(self) -> dict[str, Condition]:
        """The conditions of its filters."""
        return conditions_of(self.query)

    @cached_property
    def text(self) -> bytes:
        """Its certificate as text, as the digest of one that holds it takes it."""
        return canonical_text(self.body)

    @cached_property
    def named(self) -> list[tuple[ReleasedCells, list[list[str]], list[dict[str, Condition]]]]:
        """Tables with the columns of their axes, and the conditions of those that are filters."""
        # What holds is of the first cell of an axis that is a filter; nothing for others.
        return [
            (
                table,
                [group_names(self.query, axis) for axis in table.axes],
                [self._filter_of(axis) for axis in table.axes],
            )
            for table in self.tables
        ]

    def _filter_of(self, axis: Axis) -> dict[str, Condition]:
        (name, *more), derived = axis.columns, self.query.resolved
        if more or name not in derived or axis.keys != ((True,),):
            return {}
        return conditions_of(replace(self.query, where=(derived[name],)))


def release_of(body: Mapping[str, Any]) -> EarlierRelease | None:
    """Return what a certificate publishes of counts, or None where it publishes none."""
    # Unknown groups are no cells: which of them are shown was found in the data.
    question = body["question"]
    if body["format"] != FORMAT or "noise" in question:  # of a growing table
        return None
    again: Any = planner().replan(body)
    plan: Plan = again.plan
    if plan.query.unknown_keys or again.confused:
        return None
    numbers = iter(body["answer"]["released"])
    releases: list[ReleasedCells] = []
    for part, noise, ends in zip(plan.parts, plan.noises, plan.chains(plan.size), strict=True):
        released = [next(numbers) for _ in ends]
        if isinstance(part, CellsPart):
            releases += _of_plan(part, released, noise)
        elif isinstance(part, (RowsPart, HistogramPart)):
            releases.append(_alone(plan.query, part, released[0], noise))
    return EarlierRelease(body, plan.query, tuple(releases)) if releases else None


def _alone(
    query: Query, part: RowsPart | HistogramPart, released: Sequence[Any], noise: Noise
) -> AloneCells:
    axes: list[Axis] = []
    if query.by:
        axes.append(axis_of_groups(query))
    if isinstance(part, HistogramPart):
        axes.append(Axis((part.column,), edges=part.edges))
    values = np.asarray(released, dtype=np.float64).reshape([axis.listed for axis in axes])
    return AloneCells(tuple(axes), (False,) * len(axes), values, distribution_of_rows(noise))


def _of_plan(part: CellsPart, released: Sequence[Any], noise: Noise) -> Iterator[ReleasedCells]:
    for subset, values in part.whole(released, noise).items():
        axes = tuple(part.axes[i] for i in subset)
        yield MarginalCells(axes, (True,) * len(axes), values, subset, part, noise)
    for family, share, values in part.of_families(released, noise):
        complete = [True] * len(family.axes)
        complete[family.along] = family.axes[family.along].whole
        yield FamilyCells(family.axes, tuple(complete), values, family, share)
