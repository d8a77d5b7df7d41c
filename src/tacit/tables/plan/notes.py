"""What a reader of a preview should know beside the errors, and the warning of a weak guarantee."""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction

from tacit.accounting.budgets.budget import Budget
from tacit.accounting.ledger.ledger import Ledger
from tacit.calls import calls_inside
from tacit.errors import WeakGuaranteeWarning
from tacit.report.text.odds import weak_guarantee
from tacit.report.text.words import declared_words
from tacit.tables.plan.declared import Declared
from tacit.tables.plan.plan import Plan
from tacit.tables.plan.preview import Preview
from tacit.tables.spec.privacy_unit import PersonUnit

__all__ = ["asked_loss", "noted", "warn_if_weak", "warn_of_budget"]


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
