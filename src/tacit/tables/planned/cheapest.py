"""From accuracy to cost: what each part of a plan must lose to be within its targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Literal

from tacit.accounting.budgets.budget import Budget
from tacit.arithmetic.exact import Number, positive, show
from tacit.errors import UsageError, did_you_mean
from tacit.tables.chain.part import Noise
from tacit.tables.plan.plan import Plan
from tacit.tables.plan.query import Query
from tacit.tables.plan.target import least_amount, read_rows

__all__ = ["needed_losses", "read_targets", "set_of_parts"]

Needed = dict[str, tuple[int, Fraction]]
"""Of each label the place of its part, and what that loses."""


def read_targets(targets: Mapping[str, Number | str], labels: Sequence[str]) -> dict[str, Fraction]:
    """Return how far each interval may reach; a noun behind the number is left out.

    Raises:
        UsageError: no target, one that is not above zero, or a label that is not asked.
    """
    if not isinstance(targets, Mapping) or not targets:
        raise UsageError('name a target for a label: cheapest({"n": "5 people"})')
    found = {}
    for label, target in targets.items():
        if label not in labels:
            raise UsageError(f"there is no answer {label!r}; {did_you_mean(str(label), labels)}")
        words = target.split() if isinstance(target, str) else [target]
        if not words:
            raise UsageError(f"the target of {label!r} is a number, such as '5 people'")
        found[label] = positive(words[0], f"the target of {label!r}")
    return found


def needed_losses(
    query: Query,
    targets: Mapping[str, Fraction],
    kind: Literal["pure", "concentrated"],
    rows: int,
    level: Fraction,
) -> Needed:
    """Return of each label what its part must lose for all of its targets.

    The parts lose one after the other, and each interval depends on its own part alone; so the
    least total is the sum of what each part needs by itself.

    Raises:
        UsageError: a part without a target, a target whose interval is not known beforehand, or one
            that no loss reaches.
    """
    read_rows(rows, "the table")
    plan, asked = Plan(query, Budget(kind, Fraction(1))), dict(query.aggregates)
    parts = {label: plan.parts_of(aggregate)[0] for label, aggregate in asked.items()}
    aimed: dict[int, list[str]] = {}
    for label in targets:
        if asked[label].method is not None:
            raise UsageError(
                f"the error of {label!r} depends on the data, since it names a method: leave "
                "method= out, or look at preview()"
            )
        aimed.setdefault(parts[label], []).append(label)
    lacking = [label for label, place in parts.items() if place not in aimed]
    if lacking:
        raise UsageError(
            f"name a target for {', '.join(map(repr, lacking))} too: its share of the privacy "
            "loss follows from its target"
        )
    losses: dict[int, Fraction] = {}
    for place, labels in aimed.items():
        losses[place] = max(
            _least(plan, label, place, targets[label], rows, level) for label in labels
        )
    return {label: (place, losses[place]) for label, place in parts.items()}


def _least(
    plan: Plan, label: str, place: int, target: Fraction, rows: int, level: Fraction
) -> Fraction:
    unit, asked = plan.query.unit, dict(plan.query.aggregates)[label]
    noise: Literal["laplace", "gaussian"] = plan.noises[place].kind

    def half(amount: Fraction) -> float:
        noises = [Noise(noise, amount, unit.rows, unit.one)]
        reached = plan.reach(asked, [plan.parts[place]], noises, rows, float(level))
        if reached is None:
            raise UsageError(f"no interval of {label!r} is known in advance: look at preview(...)")
        return reached

    found, holds = least_amount(lambda amount: half(amount) <= target)
    if not holds:
        raise UsageError(
            f"no loss brings {label!r} within {show(target)} in {show(100 * level)} of 100 "
            f"releases of {rows} rows: at {show(found)}, which protects nobody, it is "
            f"{show(half(found))}. Ask for a wider target, plan for more rows, or give closer "
            "bounds"
        )
    return found


def set_of_parts(needed: Needed) -> dict[int, Fraction]:
    """Return what each part loses, each once.

    >>> set_of_parts({"n": (0, Fraction(1)), "m": (0, Fraction(1)), "age": (1, Fraction(2))})
    {0: Fraction(1, 1), 1: Fraction(2, 1)}
    """
    return dict(needed.values())
