"""Questions of a plan, merged where they share cells or percentiles."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any, Literal

from tacit.accounting.budget import Budget, epsilon
from tacit.arithmetic.exact import Number, as_integer
from tacit.errors import UsageError, did_you_mean
from tacit.expressions.expression import Expression, col
from tacit.report.text import listed
from tacit.tables.cell_axis import Axis, every_listed
from tacit.tables.joint.statistics import (
    GROUPED,
    ByCells,
    CountOfCells,
    GroupedPart,
    requested_cells,
    statistic_by_cells,
)
from tacit.tables.joint.strategy import MOST_CELLS, size_of
from tacit.tables.plan.plan import Plan
from tacit.tables.plan.preview import Preview
from tacit.tables.plan.price import read_weights
from tacit.tables.plan.query import Query, check_labels, plain_key
from tacit.tables.statistics.base import TableStatistic
from tacit.tables.statistics.part import LEVEL, Noise
from tacit.tables.statistics.percentiles import percentiles

# How much can be planned together: refused with its number before anything is made of it.


_MAX_KEYS = 100_000  # this many keys all questions may list together
# This many keys the columns of a question may have together: the cell of a row is an expression.
_MAX_LISTED = 450


def check_size(queries: Sequence[Query]) -> None:
    """Raise if there are more keys and cells than can be planned."""
    keys = sum(len(query.keys or ()) for query in queries)
    numbers = sum(
        len(query.keys or ((),))
        * size_of(aggregate.bin_reading, max(len(aggregate.edges or ()) - 1, 1))
        for query in queries
        for _, aggregate in query.aggregates
    )
    if keys > _MAX_KEYS or numbers > MOST_CELLS:
        raise UsageError(
            f"the questions list {keys:,} keys and ask for {numbers:,} numbers; at most "
            f"{_MAX_KEYS:,} keys and {MOST_CELLS:,} numbers are planned together: list fewer "
            "keys, use wider bins, or ask the largest question by itself, "
            "session.group_by(...).agg(...).release(...)"
        )


def check_listed(groups: Sequence[Sequence[Axis]]) -> None:
    """Raise if columns list more keys than one expression can distinguish."""
    # The questions share their cells: of a column, the keys of all of them count.
    known: dict[tuple[str, ...], set[Any]] = {}
    for axis in itertools.chain.from_iterable(groups):
        known.setdefault(axis.columns, set()).update(axis.exact_indices)
    for axes in groups:
        keys = sum(len(known[axis.columns]) * len(axis.columns) for axis in axes)
        if keys > _MAX_LISTED:
            columns = ", ".join(name for axis in axes for name in axis.columns)
            raise UsageError(
                f"the questions list {keys:,} keys of the columns {columns} together, and at most "
                f"{_MAX_LISTED} are planned together: list fewer keys, or ask it by itself, "
                "session.group_by(...).agg(...).release(...)"
            )


# Percentiles of one column that a plan asks for under several labels, chosen together.
#
# Percentiles of the same values (one column, bounds, groups and filter) can be one part of a plan
# (:mod:`tacit.tables.statistics.percentiles`), with the loss of all of them, or a part each.  The
# plans are compared by how far their intervals are expected to reach, in rows: the total of the
# squares of that, together (the widest reach counts for each) and one by one with the best split
# of the loss.
# Both depend on public facts alone: the grid, which percentiles, and the kind of the noise.  Where
# the noise is wide next to one row, a loss is a common factor of both.
#
# *The best split.*  With an even share each, let r_i be the reach of interval i, one of m.  With
# the share ``s_i / m`` it is ``r_i / s_i`` under an epsilon, and ``r_i / sqrt(s_i)`` under a rho.
# The total ``sum r_i^2 / s_i^2`` with ``sum s_i = m`` is least at ``(sum r_i^(2/3))^3 / m^2``, and
# ``sum r_i^2 / s_i`` at ``(sum r_i)^2 / m``.


# Percentages with at most this denominator are asked for exactly by several at once.
_MAX_DIGITS = 100
_WIDE = Fraction(1, 1000)

LabelledAggregates = Sequence[tuple[str, TableStatistic]]
# Of a label that another one answers: which, the place among its numbers of a group, and how many
# there are of these.
Shared = Mapping[str, tuple[str, int, int]]


@dataclass(frozen=True)
class SharedPercentiles:
    """The aggregates, with percentiles that are chosen together as one."""

    # the answers by label, each set of percentiles where its first one stood
    labelled: list[tuple[str, TableStatistic]]
    shared: Shared  # where the labels are that are no longer among them
    # of each new label those that it represents, one for each percentile
    members: Mapping[str, tuple[str, ...]]
    # of each new label all those that it answers, as they were asked
    served: Mapping[str, tuple[str, ...]]


def shared_percentiles(
    labelled: LabelledAggregates, query: Query, noise: Literal["laplace", "gaussian"]
) -> SharedPercentiles:
    """Return what a plan asks, with percentiles together where their intervals are shorter."""
    sets: dict[Any, dict[Fraction, list[str]]] = {}
    for label, each in labelled:
        one = each.of if isinstance(each, ByCells) else each
        if one.method is None and one.q is not None and 0 < one.q < 100:  # no extreme
            axes = each.axes if isinstance(each, ByCells) else ()
            cells = str([axis.to_json() for axis in axes])
            known = sets.setdefault((cells, one.clamped), {})
            if one.q.denominator <= _MAX_DIGITS:
                known.setdefault(one.q, []).append(label)
    of = dict(labelled)
    made: dict[str, tuple[str, TableStatistic]] = {}
    shared: dict[str, tuple[str, int, int]] = {}
    members: dict[str, tuple[str, ...]] = {}
    served: dict[str, tuple[str, ...]] = {}
    for several in sets.values():
        rising = sorted(several)
        first = [several[q][0] for q in rising]
        if len(rising) < 2:
            continue
        together = _as_one(of[first[0]], rising)
        if not _is_shorter(together, [of[label] for label in first], query, noise):
            continue
        name = _free(_label(together), {*of, *members})
        members[name] = tuple(first)
        every = [label for q in rising for label in several[q]]
        served[name] = tuple(label for label, _ in labelled if label in every)
        made[served[name][0]] = name, together
        for index, q in enumerate(rising):
            shared |= dict.fromkeys(several[q], (name, index, len(rising)))
    remaining = [(label, each) for label, each in labelled if label not in shared or label in made]
    replaced = [made.get(label, (label, each)) for label, each in remaining]
    return SharedPercentiles(replaced, shared, members, served)


def _as_one(first: TableStatistic, percentages: Sequence[Fraction]) -> TableStatistic:
    one = first.of if isinstance(first, ByCells) else first
    made: Any = percentiles(
        one.require_column(), [str(q) for q in percentages], one.lower, one.upper
    )
    return replace(first, of=made) if isinstance(first, ByCells) else made


def _label(together: TableStatistic) -> str:
    return (together.of if isinstance(together, ByCells) else together).label()


def _is_shorter(
    together: TableStatistic, single: Sequence[TableStatistic], query: Query, noise: Any
) -> bool:
    """Return whether the widest interval of the percentiles together reaches less far."""
    unit = query.unit
    each = Noise(noise, _WIDE, unit.rows, unit.one)
    several = Noise(noise, _WIDE * len(single), unit.rows, unit.one)
    part: Any = _part(together, query)
    m, factors = len(single), []
    for aggregate in single:
        alone: Any = _part(aggregate, query)
        factors.append(alone.interval(each, LEVEL))
    power, root = (2 / 3, 3) if noise == "laplace" else (1, 2)
    shortest = sum(factor**power for factor in factors) ** root / m ** (root - 1)
    return bool(m * part.interval(several, LEVEL) ** 2 < shortest)


def _part(aggregate: TableStatistic, all_questions: Query) -> Any:
    query = replace(all_questions, by=(), keys=None, aggregates=(("asked", aggregate),), weights=())
    (part,) = Plan(query, Budget("pure", Fraction(1))).parts
    return part.inner if isinstance(part, GroupedPart) else part


def _free(name: str, taken: set[str]) -> str:
    tried = itertools.chain([name], (f"{name}_{number}" for number in itertools.count(2)))
    return next(each for each in tried if each not in taken)


# Several questions as one: their counts from one strategy, their other answers next to it.


_PARTS = ("value", "standard_error", "low", "high")
_MAX_LABELS = 10_000
_UNIT = 1 << 10
_LARGEST_WEIGHT = 10**300
# This many computed columns, filters included: each is a step of the chain from the table.
_MAX_COMPUTED = 400
_READ_AS = {
    "read_whole": "whole numbers",
    "read_boolean": "true or false",
    "read_date": "dates",
    "read_text": "text",
}


@dataclass(frozen=True)
class Member:
    """One of the questions, and where its answers stand among those of the plan."""

    query: Query
    labels: Mapping[str, str]  # of each of its labels, the one in the plan
    # of each group, where its first number stands among those of a label with cells
    positions: tuple[int, ...]
    # of each label with cells, how many numbers a group has; None for the others
    bins: Mapping[str, int | None]
    shared: Shared  # of each label of the plan that is no longer asked there, what answers it

    def answer(self, columns: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Return the answer to the question, from the columns of the whole plan by label."""
        keys = [[plain_key(part) for part in key] for key in self.query.keys or [()]]
        return {"keys": keys, "columns": [self._column(label, columns) for label in self.labels]}

    def _column(self, label: str, columns: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        own = self.labels[label]
        name, first, step = self.shared.get(own, (own, 0, 1))
        column, bins = columns[name], self.bins[label]
        if bins is None and name == own:
            return {**column, "label": label}
        aggregate = dict(self.query.aggregates)[label]
        names = aggregate.answer_names()
        shown: dict[str, Any] = {"label": label, "kind": aggregate.kind}
        for part in _PARTS:
            numbers = column[part][0] if isinstance(column[part][0], list) else column[part]
            numbers, width = numbers[first::step], bins or 1
            each = [
                numbers[position * width : (position + 1) * width] for position in self.positions
            ]
            shown[part] = each if names is not None else [number for (number,) in each]
        return shown if names is None else {**shown, "bins": names}


@dataclass(frozen=True)
class Merged:
    """The questions as one, and each of them."""

    query: Query  # the whole plan as a question without groups
    members: tuple[Member, ...]
    # of each label that answers several percentiles of the questions, theirs
    percentiles: Mapping[str, tuple[str, ...]]

    def serving(self, label: str) -> str:
        """Return the label of the query that answers a label of the plan."""
        return next((name for name, served in self.percentiles.items() if label in served), label)

    @property
    def labels(self) -> tuple[str, ...]:
        """The label of every answer, in the order of the questions."""
        return tuple(name for member in self.members for name in member.labels.values())

    def aimed(self, targets: Mapping[str, Fraction]) -> dict[str, Fraction]:
        """Return targets of answers as those of the labels of the query."""
        losses: dict[str, Fraction] = {}
        for label, target in targets.items():
            name = self.serving(label)
            losses[name] = min(target, losses.get(name, target))
        return losses

    def by_label(self, preview: Preview) -> Preview:
        """Return a preview of the query as one of the answers."""
        if not self.percentiles:
            return preview
        fields = ("errors", "units", "methods", "refusals", "bounds", "intervals")
        values = {name: getattr(preview, name) for name in fields}
        own = {label: self.serving(label) for label in self.labels}
        notes = [
            f"{listed(list(served))} are chosen together, as {name}; their error is how far an "
            "interval is expected to reach"
            for name, served in self.percentiles.items()
        ]
        shown: dict[str, Any] = {
            name: {label: each[of] for label, of in own.items() if of in each}
            | {label: each[label] for label in each if label not in own.values()}
            for name, each in values.items()
        }
        return replace(preview, **shown, notes=(*preview.notes, *notes))


def merged(
    queries: Sequence[Query],
    weights: Mapping[str, Number] | None = None,
    *,
    noise: Literal["laplace", "gaussian"] = "gaussian",
    drop: bool = False,
    nonnegative: bool = False,
) -> Merged:
    """Return several questions about one table as one."""
    # Every count and histogram becomes a count of cells: its grouping columns are axes, and so are
    # its bins, and its filter where the questions have different ones.  Everything else is asked
    # next to them, by groups in the cells of these axes.  Where there is something else, the counts
    # share what they would share if every label had an even share: so no other answer has less than
    # asked one by one.  Percentiles of the same values are chosen together where that is better
    # (:mod:`tacit.tables.joint_plans.merge`), with the loss of all of them.
    #
    # weights: how much the squared errors of a label count, integers; 1 without.
    # nonnegative: whether the counts are fitted so that none is below zero.
    check_size(queries)
    first = queries[0]
    for query in queries:
        _check(query, first)
    alike = all(_same_rows(query, first) for query in queries)
    derived, filters = _columns(queries, alike)
    grouped = [_groups(query, drop) for query in queries]
    check_listed([axes for axes, _ in grouped])
    undeclared = {n for q in queries for n, c in q.columns.items() if c.kind == "undeclared"}
    own_names = _by_reading([axes for axes, _ in grouped], undeclared, {*first.columns, *derived})
    derived |= {own: Expression(r, (col(name),)) for (name, r), own in own_names.items()}
    grouped = [
        ([_renamed(axis, own_names, undeclared) for axis in axes], positions)
        for axes, positions in grouped
    ]
    if len(derived) > _MAX_COMPUTED:
        raise UsageError(
            f"the questions have {len(derived):,} filters and computed columns that differ, and at "
            f"most {_MAX_COMPUTED} are planned together: plan fewer questions at once"
        )
    names = _labels(queries)
    counted = _weights({} if weights is None else weights, names, queries)
    listed_rows = None
    if drop:
        booleans = {n for q in queries for n, c in q.columns.items() if c.kind == "boolean"}
        all_axes = [axis for axes, _ in grouped for axis in axes]
        all_axes += [axis for query in queries for axis in _all_bins(query)]
        read = {own: derived[own] for own in own_names.values()}
        listed_rows = every_listed(
            all_axes, booleans, undeclared, lambda name: read.get(name, col(name))
        )
    only = () if listed_rows is None else (listed_rows,)
    members, aggregates = [], []
    for query, labels, where, (own_axes, positions) in zip(
        queries, names, filters, grouped, strict=True
    ):
        axes = list(own_axes)
        axes += [Axis((where,), ((True,),))] if where is not None else []
        bins: dict[str, int | None] = {}
        for label, aggregate in query.aggregates:
            if not aggregate.counts and not axes:
                aggregates.append((labels[label], aggregate))
                bins[label] = None
                continue
            if not aggregate.counts:
                _refuse_by_groups(query, label, aggregate)
                aggregates.append((labels[label], statistic_by_cells(axes, aggregate)))
                bins[label] = len(aggregate.answer_names() or [label])
                continue
            own, reading = _bins(aggregate, drop), aggregate.bin_reading
            bins[label] = math.prod(size_of(reading, axis.listed) for axis in own)
            weight = counted[labels[label]]
            cells = requested_cells([*axes, *own], weight, reading, nonnegative=nonnegative)
            aggregates.append((labels[label], cells))
        shown = replace(query, where=(*query.where, *only))
        members.append(Member(shown, labels, positions, bins, {}))
    query_of_all = replace(
        first,
        where=(*(first.where if alike else ()), *only),
        derived=tuple(derived.items()),
        by=(),
        keys=None,
        aggregates=tuple(aggregates),
        weights=(),
    )
    several = shared_percentiles(aggregates, query_of_all, noise)
    every = [label for label, _ in several.labelled]
    check_labels(every, ())
    # the smallest weighted sum of squared errors is where a rho goes with the root of a weight, and
    # an epsilon with its cube root
    power = 1 / 2 if noise == "gaussian" else 1 / 3
    alone = {label: round(_UNIT * weight**power) for label, weight in counted.items()}
    # one by one every label has an even share: what answers several takes that of all of them
    counts = {label for label, each in several.labelled if isinstance(each, CountOfCells)}
    shares = {label: len(counts) * _UNIT if label in counts else 0 for label in every}
    for label in (label for label in every if label not in counts):
        shares[label] = sum(alone[own] for own in several.members.get(label, (label,)))
    query = replace(
        query_of_all, aggregates=tuple(several.labelled), weights=read_weights(shares, every)
    )
    named = tuple(replace(member, shared=several.shared) for member in members)
    return Merged(query, named, several.served)


def _check(query: Query, first: Query) -> None:
    """Raise if a question cannot be planned, or is about another table than the first."""
    if query.unknown_keys:
        raise UsageError(
            f"the groups of {', '.join(query.by)} are not listed, and a plan needs listed "
            "groups: give keys=[...], or declare them in a data set"
        )
    Plan(query, epsilon(1))  # refuses columns that hold no numbers, and nothing asked
    for part in ("schema", "unit", "table", "tables", "inner", "joins"):
        if getattr(query, part) != getattr(first, part):
            raise UsageError(
                "the questions of a plan must be about the same rows: the same table, with the "
                "same joins, and all or none of them about one row per person"
            )
    if len(query.aggregates) > _MAX_LABELS:
        raise UsageError(f"at most {_MAX_LABELS:,} answers are planned together")


def _same_rows(query: Query, first: Query) -> bool:
    return [str(c.to_json()) for c in query.where] == [str(c.to_json()) for c in first.where]


def _columns(
    queries: Sequence[Query], alike: bool
) -> tuple[dict[str, Expression], list[str | None]]:
    """Return the columns that are computed, and of each question the one that is its filter."""
    columns: dict[str, Expression] = {}
    for name, expression in itertools.chain.from_iterable(query.derived for query in queries):
        known = columns.setdefault(name, expression)
        if known.to_json() != expression.to_json():
            raise UsageError(
                f"two questions compute a column {name!r}, in different ways: give one of them "
                "another name"
            )
    taken = {*queries[0].columns, *columns}
    free = (name for n in itertools.count(1) if (name := f"filter {n}") not in taken)
    known_filters: dict[str, str] = {}
    filters: list[str | None] = []
    for query in queries:
        if alike or not query.where:
            filters.append(None)
            continue
        condition = reduce(lambda a, b: a & b, query.where)
        text = str(condition.to_json())
        if text not in known_filters:
            known_filters[text] = next(free)
            columns[known_filters[text]] = condition
        filters.append(known_filters[text])
    return columns, filters


def _labels(queries: Sequence[Query]) -> list[dict[str, str]]:
    """Return of each question's labels their names in the plan: as they are, if no other has it."""
    every = [label for query in queries for label, _ in query.aggregates]
    taken, many = set(every), Counter(every)

    def free(label: str, number: int) -> Iterator[str]:
        yield f"{label}_{number}"
        yield from (f"{label}_{number}_{again}" for again in itertools.count(2))

    labels = []
    for number, query in enumerate(queries, 1):
        own = {}
        for label, _ in query.aggregates:
            own[label] = label
            if many[label] > 1:
                own[label] = next(name for name in free(label, number) if name not in taken)
                taken.add(own[label])
        labels.append(own)
    return labels


def _weights(
    given: Mapping[str, Number], names: Sequence[Mapping[str, str]], queries: Sequence[Query]
) -> dict[str, int]:
    """Return how much each label of the plan counts."""
    known = {name for own in names for name in own.values()}
    if not isinstance(given, Mapping):
        raise UsageError('weights name labels, such as weights={"n": 10}')
    for label in given:
        if label not in known:
            raise UsageError(f"there is no answer {label!r}; {did_you_mean(str(label), known)}")
    exact = {
        label: as_integer(weight, f"the weight of {label!r}", minimum=1)
        for label, weight in given.items()
    }
    if max(exact.values(), default=1) > _LARGEST_WEIGHT:
        raise UsageError("a weight is at most 10^300: 10 is ten times as much as 1")
    return {label: exact.get(label, 1) for label in known}


def _bins(aggregate: TableStatistic, complete: bool) -> list[Axis]:
    """Return the axis of the bins of a count; none without."""
    if not aggregate.edges:
        return []
    return [Axis((aggregate.require_column(),), edges=aggregate.edges, whole=complete)]


def _all_bins(query: Query) -> list[Axis]:
    """Return the axes of the bins of a question."""
    bins = [_bins(each, True) for _, each in query.aggregates if each.counts]
    return list(itertools.chain.from_iterable(bins))


def _by_reading(
    groups: Sequence[Sequence[Axis]], undeclared: Container[str], taken: Container[str]
) -> dict[tuple[str, str], str]:
    """Return the names of columns that are not declared and are read in several ways, by these."""
    # The keys of a question decide how its cells are read: `1` is in the group of the text "1", of
    # the number 1 and of true, and what is missing as a number may be a text.  So keys of different
    # readings share no axis.
    each = [a.readings(undeclared).items() for axes in groups for a in axes]
    readings = list(dict.fromkeys(itertools.chain.from_iterable(each)))
    many = Counter(name for name, _ in readings)
    names: dict[tuple[str, str], str] = {}
    for name, reading in readings:
        if many[name] > 1:
            own = f"{name} as {_READ_AS[reading]}"
            tried = itertools.chain([own], (f"{own} {number}" for number in itertools.count(2)))
            names[name, reading] = next(
                n for n in tried if n not in taken and n not in names.values()
            )
    return names


def _renamed(axis: Axis, names: Mapping[tuple[str, str], str], undeclared: Container[str]) -> Axis:
    readings = axis.readings(undeclared)
    own = [names.get((name, readings.get(name, "")), name) for name in axis.columns]
    return replace(axis, columns=tuple(own))


def _groups(query: Query, complete: bool) -> tuple[list[Axis], tuple[int, ...]]:
    """Return the axes of a question's groups, and where each group stands among their cells."""
    # Groups that are all combinations of the keys of their columns have an axis a column; others
    # have one axis for all columns.
    if not query.by:
        return [], (0,)
    keys = [tuple(plain_key(part) for part in key) for key in query.keys or ()]
    each = [
        list(dict.fromkeys((type(part), part) for part in column))
        for column in zip(*keys, strict=True)
    ]
    typed = [tuple((type(part), part) for part in key) for key in keys]
    product = {key: index for index, key in enumerate(itertools.product(*each))}
    if len(product) == len(keys):
        axes = [
            Axis((name,), tuple((part,) for _, part in column), whole=complete)
            for name, column in zip(query.by, each, strict=True)
        ]
        return axes, tuple(product[key] for key in typed)
    return [Axis(query.by, tuple(keys), whole=complete)], tuple(range(len(keys)))


def _refuse_by_groups(query: Query, label: str, aggregate: TableStatistic) -> None:
    """Raise for statistics that a plan does not answer by groups, or of fewer rows."""
    if aggregate.kind not in GROUPED or aggregate.method is not None:
        by = f" by {', '.join(query.by)}" if query.by else ", of other rows than other questions,"
        raise UsageError(
            f"{label!r} is {aggregate}{by}, and a plan answers by groups counts, histograms, "
            f"{', '.join(GROUPED)}, none of them with a method: ask it by itself, "
            "session.group_by(...).agg(...).release(...)"
        )
