"""What a reader of a preview should know beside the errors, and what is warned of before a charge.

An undeclared column has no type that could be refused, so that its readings are stated: by the
preview, and, where a statistic takes it for numbers, by a warning before the charge.  Both follow
from the question and the declared kinds alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from tacit.accounting.budgets.budget import Budget
from tacit.accounting.ledger.ledger import Ledger
from tacit.calls import calls_inside
from tacit.errors import DataSourceWarning, WeakGuaranteeWarning
from tacit.expressions.expression import Expression, col
from tacit.expressions.schema import Schema
from tacit.expressions.timeline import Timeline
from tacit.expressions.undeclared_columns import as_asked, as_keys, read_as, readings_in
from tacit.report.text.odds import weak_guarantee
from tacit.report.text.words import declared_words, listed
from tacit.tables.plan.declared import Declared
from tacit.tables.plan.plan import Plan
from tacit.tables.plan.preview import Preview
from tacit.tables.plan.query import Query
from tacit.tables.spec.privacy_unit import PersonUnit

__all__ = [
    "asked_loss",
    "noted",
    "period_notes",
    "warn_if_undeclared",
    "warn_if_weak",
    "warn_of_budget",
    "warn_of_periods",
]

_READS = {
    "read_numeric": "a number, or true or false as 1 or 0",
    "read_number": "a number",
    "read_whole": "a whole number, or true or false as 1 or 0",
    "read_integer": "a whole number",
    "read_date": "a date such as 2024-12-31",
    "read_seconds": "a time such as 2024-12-31 18:30",
    "read_boolean": "true or false",
}
"""How a cell of an undeclared column is read; where it is text there is nothing to say."""


def noted(
    plan: Plan,
    rows: tuple[int, ...],
    declared: Declared,
    ledger: Ledger,
    named: bool,
    confidence: Fraction | None = None,
) -> Preview:
    """Return a preview with notes: of columns as declared, the ledger, a name that lacks, the odds.

    Args:
        plan: the question, with its noise.
        rows: the sizes of a group for which errors are given.
        declared: what the data set declares.
        ledger: what pays.
        named: whether the table has a public name.
        confidence: the level of the intervals that are stated, if any.
    """
    found = declared_words(declared.about(plan.query), plan.query.describe())
    if not named:
        found.append(
            "the table has no name of its own: give it one, name='visits', by which its ledger and "
            "its certificates tell it from others"
        )
    found += _said([*_numbers(plan), *_conditions(plan.query)])
    if plan.keys is not None and plan.keys.note is not None:
        found.append(plan.keys.note)
    found += _of_groups(plan)
    expected = Preview.of(plan, ledger.remaining, rows, confidence)
    return replace(
        expected,
        granted=ledger.chain.affords(expected.cost),
        whereabouts=ledger.whereabouts,
        notes=tuple(found),
        weak=weak_guarantee(asked_loss(plan), declared.size) or _unused(plan, declared.size),
    )


def _of_groups(plan: Plan) -> list[str]:
    """Return a note where the noise grows with a number of groups that nobody named."""
    query = plan.query
    if not isinstance(query.unit, PersonUnit) or query.unit.most_groups is not None:
        return []
    rows, keys = query.unit.rows, query.keys
    costs = plan.keys is not None or any(part.on_people for part in plan.parts)
    if rows == 1 or not costs or not query.by or (keys is not None and len(keys) == 1):
        return []
    return [
        f"the unit names no groups, so a person may count as present in as many as rows, {rows}, "
        "and the noise of the counts of people grows with that: if people are in fewer groups, "
        f"name them, such as tc.unit({query.unit.column!r}, rows={rows}, groups=1)"
    ]


def _unused(plan: Plan, size: int | None) -> str | None:
    """Say of a delta that no answer uses that it would be too large."""
    weak = weak_guarantee(plan.request, size) if plan.request.delta else None
    return None if weak is None else f"{weak}; no answer uses this delta, so leave it out"


def asked_loss(plan: Plan) -> Budget:
    """Return what a release may lose: all that was asked for, but for a delta that nothing uses."""
    return plan.request if plan.cost.delta else plan.cost


def warn_if_weak(loss: Budget | None, size: int | None) -> None:
    """Warn of a loss that protects hardly anybody, before it is charged: at the user's line.

    Args:
        loss: what is about to be charged; None where it was charged before.
        size: how many people the table has, where that is public.

    >>> from tacit.accounting import epsilon
    >>> warn_if_weak(epsilon(10), None)
    """
    weak = None if loss is None else weak_guarantee(loss, size)
    if weak is not None:
        warnings.warn(weak, WeakGuaranteeWarning, stacklevel=calls_inside())


def warn_of_budget(budget: Budget | None, size: int | None) -> None:
    """Warn of the delta of a budget that is too large for a table of a public size.

    Args:
        budget: that is said where a table is opened; None where a ledger says it alone.
        size: how many people the table has; None where that is not declared.

    >>> from tacit.accounting import epsilon_delta
    >>> warn_of_budget(epsilon_delta(1, "1e-6"), 1000)
    """
    if budget is not None and budget.delta and size is not None:
        warn_if_weak(Budget("approximate", Fraction(0), budget.delta), size)


# ---- undeclared columns


def warn_if_undeclared(plan: Plan) -> None:
    """Warn of a statistic of numbers of a column that was never declared to hold such.

    Whether its cells are numbers is not known before they are paid for, so it cannot be refused.
    """
    numbers = [pair for value in _numbers(plan) for pair in readings_in(value)]
    names = list(dict.fromkeys(name for name, reading in numbers if reading == "read_numeric"))
    if names:
        _warn(
            f"{_never(names)} numbers: a cell that is neither a number nor true or false counts as "
            f"missing. Declare the kind, as in types={{{names[0]!r}: 'float'}}, or give a data "
            "frame a column of numbers; or say so in the question with .read_number()"
        )


def warn_of_periods(query: Query, line: Timeline) -> None:
    """Warn of periods of a column that was never declared to hold times."""
    if _timed(query, line):
        _warn(
            f"{_never([line.column])} times: a row whose cell is not {_READS[line.reading]} is in "
            f"no period. Declare the kind, as in types={{{line.column!r}: 'timestamp'}}, or give a "
            "data frame a column of times"
        )


def period_notes(query: Query, line: Timeline) -> tuple[str, ...]:
    """Return how undeclared columns are read by a count over time, one sentence each."""
    timed = [Expression(line.reading, (col(line.column),))] if _timed(query, line) else []
    return tuple(_said([*timed, *_conditions(query)]))


def _timed(query: Query, line: Timeline) -> bool:
    return query.columns.column(line.column).kind == "undeclared"


def _never(names: Sequence[str]) -> str:
    return f"{listed(list(names))} {'was' if len(names) == 1 else 'were'} never declared to hold"


def _warn(text: str) -> None:
    warnings.warn(text, DataSourceWarning, stacklevel=calls_inside())


def _said(expressions: Iterable[Expression]) -> list[str]:
    """Return which undeclared columns are read as other than text, one sentence per reading."""
    found: dict[str, dict[str, None]] = {}
    for expression in expressions:
        for name, reading in readings_in(expression):
            if reading in _READS:
                found.setdefault(reading, {})[name] = None
    return [
        f"{listed(list(names))} {'is' if len(names) == 1 else 'are'} not declared: a cell is read "
        f"as {_READS[reading]}, and any other cell is missing"
        for reading, names in found.items()
    ]


def _numbers(plan: Plan) -> Iterator[Expression]:
    """Yield what statistics of numbers are about, with the readings of undeclared columns."""
    query = plan.query
    size = len(query.keys or [()])
    requests = [request for part in plan.requests(size) for request in part]
    schema = _own(query)
    for value in dict.fromkeys(value for request in requests for value, _ in request.columns):
        yield read_as(value, "read_numeric", schema)
    while query.inner is not None:
        query = query.inner
        schema = _own(query)
        for _, aggregate in query.aggregates:
            for one in aggregate.clamped if aggregate.lower is not None else ():
                value = query.resolved.get(one.column, col(one.column))
                yield read_as(value, "read_numeric", schema)


def _conditions(query: Query) -> Iterator[Expression]:
    """Yield the filters and groups of a question, with the readings of undeclared columns."""
    schema, known = _own(query), query.resolved
    for condition in query.where:
        yield read_as(condition.substitute(known), "read_boolean", schema)
    groups = {name: known.get(name, col(name)) for name in query.by}
    if query.keys is None:
        yield from (as_asked(group, schema) for group in groups.values())
    else:
        yield from as_keys(groups, query.keys, schema).values()
    if query.inner is not None:
        yield from _conditions(query.inner)


def _own(query: Query) -> Schema:
    """Return the columns of a question that are not derived."""
    derived = {name for name, _ in query.derived}
    return Schema([c for name, c in query.columns.items() if name not in derived])
