"""The expected errors of a plan beside those of asking one question after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tacit.accounting.budgets.budget import Budget
from tacit.tables.answers.aggregate import Aggregate, kind_of
from tacit.tables.answers.quantile import QuantilePart
from tacit.tables.chain.part import LEVEL
from tacit.tables.plan.plan import Plan
from tacit.tables.plan.query import Query
from tacit.tables.planned.merge import Merged, merged
from tacit.tables.together.cell_counts import CellsPart
from tacit.tables.together.reading import size_of

__all__ = ["Compared", "Comparison", "compared"]

_UNIT = 1 << 20
_REACHED = "rows that the interval reaches"
"""What is stated of percentiles that are chosen together."""


@dataclass(frozen=True)
class Compared:
    """One answer of a plan.

    Attributes:
        label: what it is called in the plan.
        query: its question.
        asked: what is asked.
        numbers: how many numbers it has.
        planned: its expected error in the plan; of several numbers, the root mean square.
        alone: that of asking one by one.
        share: the share of the loss that it has then.
        unit: what the errors are.
    """

    label: str
    query: Query
    asked: Aggregate
    numbers: int
    planned: float
    alone: float
    share: Fraction
    unit: str


@dataclass(frozen=True)
class Comparison:
    """All answers of a plan, at a loss.

    Attributes:
        loss: the loss.
        rows: the size of the table, for means and the like.
        answers: the answers.
    """

    loss: Budget
    rows: int
    answers: tuple[Compared, ...]


def compared(plan: Merged, queries: Sequence[Query], loss: Budget, rows: int) -> Comparison:
    """Return the errors of a plan beside those of the best split of the loss one by one.

    Every answer has an even share of the loss; the counts share what they have together, each in
    proportion to the square root of its weighted total squared error (rho), or to its cube root
    (epsilon), which makes their total the least.  Cumulative shares are among the counts: what is
    counted for them, and what their squared errors are there, are prefix sums.

    Args:
        plan: the questions as one.
        queries: the questions.
        loss: what is spent in all, a rho or an epsilon.
        rows: the size of the table.
    """
    power = 1 / 2 if loss.kind == "concentrated" else 1 / 3
    whole = Plan(plan.query, loss)
    merged_as = dict(plan.query.aggregates)
    each = [
        (member.labels[label], replace(query, aggregates=((label, asked),), weights=()), asked)
        for member, query in zip(plan.members, queries, strict=True)
        for label, asked in query.aggregates
    ]
    counts, sizes = {}, {}
    for name, query, asked in each:
        kind = kind_of(asked.kind)
        bins = size_of(kind.reading, len(asked.edges) - 1) if asked.edges else 1
        sizes[name] = bins * len(query.keys or ((),))
        if kind.counts:
            importance = merged_as[plan.serving(name)].importance
            counts[name] = (importance * _total(query, loss, sizes[name], rows)) ** power
    total, even = sum(counts.values()), Fraction(1, len(each))
    shares = dict.fromkeys((name for name, _, _ in each), even)
    if counts:
        units = {n: max(1, round(root / total * _UNIT)) for n, root in counts.items()}
        pool = even * len(counts)
        shares |= {n: pool * Fraction(unit, sum(units.values())) for n, unit in units.items()}
    found = []
    for name, query, asked in each:
        answering = merged_as[plan.serving(name)]
        served = whole.parts[whole.parts_of(answering)[0]]
        part = replace(loss, amount=loss.amount * shares[name])
        together = name not in merged_as
        one = _interval(query, part) if together else _alone(query, part, rows)
        unit = _REACHED if together else served.error_unit
        errors = whole.expected_error(answering, rows), one
        found.append(Compared(name, query, asked, sizes[name], *errors, shares[name], unit))
    return Comparison(loss, rows, tuple(found))


def _total(query: Query, loss: Budget, numbers: int, rows: int) -> float:
    """Return the total squared error, in rows, of a question with one answer, a count."""
    ((_, asked),) = query.aggregates
    if kind_of(asked.kind).amount:
        return numbers * _alone(query, loss, rows) ** 2
    plan = Plan(merged([query]).query, loss)
    ((part,), (noise,)) = plan.parts, plan.noises
    assert isinstance(part, CellsPart)
    return part.total(noise)


def _interval(query: Query, loss: Budget) -> float:
    """Return how far the interval of a percentile is expected to reach, asked by itself.

    That is what is stated of percentiles that are chosen together.
    """
    plan = Plan(query, loss)
    (part,) = plan.parts
    assert isinstance(part, QuantilePart)
    return part.interval(plan.noises[0], LEVEL)


def _alone(query: Query, loss: Budget, rows: int) -> float:
    """Return the expected error of a question with one answer; ranges by groups are a plan."""
    ((_, asked),) = query.aggregates
    if query.by and kind_of(asked.kind).reading != "cells":
        query = merged([query]).query
    ((_, asked),) = query.aggregates
    return Plan(query, loss).expected_error(asked, rows)
