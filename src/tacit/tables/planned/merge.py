"""Several questions as one: their counts from one strategy, their other answers beside it."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any, Literal

from tacit.accounting.budgets.budget import epsilon
from tacit.arithmetic.exact import Number, as_integer
from tacit.errors import UsageError, did_you_mean
from tacit.expressions.expression import Expression
from tacit.report.text.words import listed
from tacit.tables.answers.aggregate import Aggregate, kind_of
from tacit.tables.plan.labels import check_labels
from tacit.tables.plan.plan import Plan
from tacit.tables.plan.preview import Preview
from tacit.tables.plan.price import read_weights
from tacit.tables.plan.query import Query, plain_key
from tacit.tables.planned.shared_percentiles import Shared, shared_percentiles
from tacit.tables.planned.sizes import check_listed, check_size
from tacit.tables.spec.cell_axis import Axis, every_listed
from tacit.tables.together.grouped import GROUPED, asked_by_cells
from tacit.tables.together.kind import CELL_KINDS, cells_asked
from tacit.tables.together.reading import size_of

__all__ = ["Member", "Merged", "merged"]

_PARTS = ("value", "standard_error", "low", "high")
_MOST_LABELS = 10_000
_UNIT = 1 << 10
_LARGEST_WEIGHT = 10**300
_MOST_COMPUTED = 400
"""So many computed columns, filters included: each is a step of the chain from the table."""


@dataclass(frozen=True)
class Member:
    """One of the questions, and where its answers stand among those of the plan.

    Attributes:
        query: the question.
        labels: of each of its labels, the one in the plan.
        places: of each group, where its first number stands among those of a label with cells.
        bins: of each label with cells, how many numbers a group has; None for the others.
        shared: of each label of the plan that is no longer asked there, what answers it.
    """

    query: Query
    labels: Mapping[str, str]
    places: tuple[int, ...]
    bins: Mapping[str, int | None]
    shared: Shared

    def answer(self, columns: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Return the answer to the question, from the columns of the whole plan by label."""
        keys = [[plain_key(part) for part in key] for key in self.query.keys or [()]]
        return {"keys": keys, "columns": [self._column(label, columns) for label in self.labels]}

    def _column(self, label: str, columns: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        own = self.labels[label]
        name, first, step = self.shared.get(own, (own, 0, 1))
        whole, bins = columns[name], self.bins[label]
        if bins is None and name == own:
            return {**whole, "label": label}
        asked = dict(self.query.aggregates)[label]
        names = kind_of(asked.kind).names(asked)
        found: dict[str, Any] = {"label": label, "kind": asked.kind}
        for part in _PARTS:
            numbers = whole[part][0] if isinstance(whole[part][0], list) else whole[part]
            numbers, width = numbers[first::step], bins or 1
            each = [numbers[place * width : (place + 1) * width] for place in self.places]
            found[part] = each if names is not None else [number for (number,) in each]
        return found if names is None else {**found, "bins": names}


@dataclass(frozen=True)
class Merged:
    """The questions as one, and each of them.

    Attributes:
        query: the whole plan as a question without groups.
        members: the questions.
        percentiles: of each label that answers several percentiles of the questions, theirs.
    """

    query: Query
    members: tuple[Member, ...]
    percentiles: Mapping[str, tuple[str, ...]]

    def serving(self, label: str) -> str:
        """Return the label of the query that answers a label of the plan."""
        return next((name for name, served in self.percentiles.items() if label in served), label)

    @property
    def labels(self) -> tuple[str, ...]:
        """What every answer is called, in the order of the questions."""
        return tuple(name for member in self.members for name in member.labels.values())

    def aimed(self, targets: Mapping[str, Fraction]) -> dict[str, Fraction]:
        """Return targets of answers as those of the labels of the query."""
        found: dict[str, Fraction] = {}
        for label, target in targets.items():
            name = self.serving(label)
            found[name] = min(target, found.get(name, target))
        return found

    def by_label(self, found: Preview) -> Preview:
        """Return a preview of the query as one of the answers."""
        if not self.percentiles:
            return found
        fields = ("errors", "units", "methods", "refusals", "bounds", "intervals")
        asked = {name: getattr(found, name) for name in fields}
        own = {label: self.serving(label) for label in self.labels}
        told = [
            f"{listed(list(served))} are chosen together, as {name}; their error is how far an "
            "interval is expected to reach"
            for name, served in self.percentiles.items()
        ]
        shown: dict[str, Any] = {
            name: {label: each[of] for label, of in own.items() if of in each}
            | {label: each[label] for label in each if label not in own.values()}
            for name, each in asked.items()
        }
        return replace(found, **shown, notes=(*found.notes, *told))


def merged(
    queries: Sequence[Query],
    weights: Mapping[str, Number] | None = None,
    *,
    noise: Literal["laplace", "gaussian"] = "gaussian",
    drop: bool = False,
    nonnegative: bool = False,
) -> Merged:
    """Return several questions about one table as one.

    Every count and histogram becomes a count of cells: its grouping columns are axes, and so are
    its bins, and its filter where the questions have different ones.  Everything else is asked
    beside them, by groups in the cells of these axes.  Where there is something else, the counts
    share what they would share if every label had an even share: so no other answer has less than
    asked one by one.  Percentiles of the same values are chosen together where that is better
    (:mod:`tacit.tables.planned.shared_percentiles`), with the loss of all of them.

    Args:
        queries: the questions.
        weights: how much the squared errors of a label count, whole numbers; 1 without.
        noise: what the budget is spent with.
        drop: whether rows with a value that is not listed are left out of the whole plan.
        nonnegative: whether the counts are fitted so that none is below zero.

    Raises:
        UsageError: questions about different rows, groups that are not listed, columns of one name
            that are not the same, or statistics by group that a plan does not answer.
    """
    check_size(queries)
    first = queries[0]
    for query in queries:
        _check(query, first)
    alike = all(_same_rows(query, first) for query in queries)
    derived, filters = _columns(queries, alike)
    if len(derived) > _MOST_COMPUTED:
        raise UsageError(
            f"the questions have {len(derived):,} filters and computed columns that differ, and at "
            f"most {_MOST_COMPUTED} are planned together: plan fewer questions at once"
        )
    names = _labels(queries)
    counted = _weights({} if weights is None else weights, names, queries)
    listed_rows = None
    if drop:
        booleans = {n for q in queries for n, c in q.columns.items() if c.kind == "boolean"}
        listed_rows = every_listed([a for q in queries for a in _listed_axes(q)], booleans)
    only = () if listed_rows is None else (listed_rows,)
    members, asked = [], []
    grouped = [_groups(query, drop) for query in queries]
    check_listed([axes for axes, _ in grouped])
    for query, labels, where, (own_axes, places) in zip(
        queries, names, filters, grouped, strict=True
    ):
        axes = list(own_axes)
        axes += [Axis((where,), ((True,),))] if where is not None else []
        bins: dict[str, int | None] = {}
        for label, aggregate in query.aggregates:
            kind = kind_of(aggregate.kind)
            if not kind.counts and not axes:
                asked.append((labels[label], aggregate))
                bins[label] = None
                continue
            if not kind.counts:
                _refuse_by_groups(query, label, aggregate)
                asked.append((labels[label], asked_by_cells(axes, aggregate)))
                bins[label] = len(kind.names(aggregate) or [label])
                continue
            own = _bins(aggregate, drop)
            bins[label] = math.prod(size_of(kind.reading, axis.listed) for axis in own)
            weight = counted[labels[label]]
            cells = cells_asked([*axes, *own], weight, kind.reading, nonnegative=nonnegative)
            asked.append((labels[label], cells))
        shown = replace(query, where=(*query.where, *only))
        members.append(Member(shown, labels, places, bins, {}))
    whole = replace(
        first,
        where=(*(first.where if alike else ()), *only),
        derived=derived,
        by=(),
        keys=None,
        aggregates=tuple(asked),
        weights=(),
    )
    several = shared_percentiles(asked, whole, noise)
    every = [label for label, _ in several.asked]
    check_labels(every, ())
    # the least weighted sum of squared errors is where a rho goes with the root of a weight, and an
    # epsilon with its cube root
    power = 1 / 2 if noise == "gaussian" else 1 / 3
    alone = {label: round(_UNIT * weight**power) for label, weight in counted.items()}
    # one by one every label has an even share: what answers several takes that of all of them
    counts = {label for label, each in several.asked if each.kind in CELL_KINDS}
    shares = {label: len(counts) * _UNIT if label in counts else 0 for label in every}
    for label in (label for label in every if label not in counts):
        shares[label] = sum(alone[own] for own in several.members.get(label, (label,)))
    query = replace(whole, aggregates=tuple(several.asked), weights=read_weights(shares, every))
    named = tuple(replace(member, shared=several.shared) for member in members)
    return Merged(query, named, several.served)


def _check(query: Query, first: Query) -> None:
    """Refuse a question that cannot be planned, or is about another table than the first."""
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
    if len(query.aggregates) > _MOST_LABELS:
        raise UsageError(f"at most {_MOST_LABELS:,} answers are planned together")


def _same_rows(query: Query, first: Query) -> bool:
    return [str(c.to_json()) for c in query.where] == [str(c.to_json()) for c in first.where]


def _columns(
    queries: Sequence[Query], alike: bool
) -> tuple[tuple[tuple[str, Expression], ...], list[str | None]]:
    """Return the columns that are computed, and of each question the one that is its filter."""
    found: dict[str, Expression] = {}
    for name, expression in itertools.chain.from_iterable(query.derived for query in queries):
        known = found.setdefault(name, expression)
        if known.to_json() != expression.to_json():
            raise UsageError(
                f"two questions compute a column {name!r}, in different ways: give one of them "
                "another name"
            )
    taken = {*queries[0].columns, *found}
    free = (name for n in itertools.count(1) if (name := f"filter {n}") not in taken)
    known_filters: dict[str, str] = {}
    filters: list[str | None] = []
    for query in queries:
        if alike or not query.where:
            filters.append(None)
            continue
        whole = reduce(lambda a, b: a & b, query.where)
        text = str(whole.to_json())
        if text not in known_filters:
            known_filters[text] = next(free)
            found[known_filters[text]] = whole
        filters.append(known_filters[text])
    return tuple(found.items()), filters


def _labels(queries: Sequence[Query]) -> list[dict[str, str]]:
    """Return of each question's labels their names in the plan: as they are, if no other has it."""
    every = [label for query in queries for label, _ in query.aggregates]
    taken, many = set(every), Counter(every)

    def free(label: str, number: int) -> Iterator[str]:
        yield f"{label}_{number}"
        yield from (f"{label}_{number}_{again}" for again in itertools.count(2))

    found = []
    for number, query in enumerate(queries, 1):
        own = {}
        for label, _ in query.aggregates:
            own[label] = label
            if many[label] > 1:
                own[label] = next(name for name in free(label, number) if name not in taken)
                taken.add(own[label])
        found.append(own)
    return found


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


def _bins(aggregate: Aggregate, whole: bool) -> list[Axis]:
    """Return the axis of the bins of a count; none without."""
    if not aggregate.edges:
        return []
    return [Axis((aggregate.require_column(),), edges=aggregate.edges, whole=whole)]


def _listed_axes(query: Query) -> list[Axis]:
    """Return the axes of the groups and bins of a question."""
    bins = [_bins(each, True) for _, each in query.aggregates if kind_of(each.kind).counts]
    return [*_groups(query, True)[0], *itertools.chain.from_iterable(bins)]


def _groups(query: Query, whole: bool) -> tuple[list[Axis], tuple[int, ...]]:
    """Return the axes of a question's groups, and where each group stands among their cells.

    Groups that are all combinations of the keys of their columns have an axis a column; others have
    one axis for all columns.
    """
    if not query.by:
        return [], (0,)
    keys = [tuple(plain_key(part) for part in key) for key in query.keys or ()]
    each = [
        list(dict.fromkeys((type(part), part) for part in column))
        for column in zip(*keys, strict=True)
    ]
    typed = [tuple((type(part), part) for part in key) for key in keys]
    product = {key: place for place, key in enumerate(itertools.product(*each))}
    if len(product) == len(keys):
        axes = [
            Axis((name,), tuple((part,) for _, part in column), whole=whole)
            for name, column in zip(query.by, each, strict=True)
        ]
        return axes, tuple(product[key] for key in typed)
    return [Axis(query.by, tuple(keys), whole=whole)], tuple(range(len(keys)))


def _refuse_by_groups(query: Query, label: str, aggregate: Aggregate) -> None:
    """Refuse what a plan does not answer by groups, or of fewer rows than other questions."""
    if aggregate.kind not in GROUPED or aggregate.method is not None:
        by = f" by {', '.join(query.by)}" if query.by else ", of other rows than other questions,"
        raise UsageError(
            f"{label!r} is {aggregate}{by}, and a plan answers by groups counts, histograms, "
            f"{', '.join(GROUPED)}, none of them with a method: ask it by itself, "
            "session.group_by(...).agg(...).release(...)"
        )
