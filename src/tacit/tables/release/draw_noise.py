"""Carrying a plan out: exact integers in, a published answer out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tacit.core import Measurement
from tacit.mechanisms.propose_test_release.bound_search import BoundedAnswer
from tacit.report import versions
from tacit.tables.answers.aggregate import Aggregate, kind_of
from tacit.tables.chain.estimate import Estimate
from tacit.tables.chain.part import LEVEL
from tacit.tables.chain.space import Answers
from tacit.tables.plan.plan import Plan
from tacit.tables.plan.query import plain_key
from tacit.tables.release.collector import Exact

__all__ = ["answer_of", "in_order", "release_answer"]


def release_answer(plan: Plan, exact: Exact) -> dict[str, Any]:
    """Draw the noise of every chain of a plan, and return the answer as plain JSON values.

    The only place where exact aggregates meet noise.  What is returned holds released values and
    what follows from them.
    """
    keys = _released_keys(plan, exact)
    chains = plan.chains(len(keys))
    answers = map(Answers, exact.vectors(chains, keys))
    released = [
        [_released(value) for value in _drawn(measurement, exactly)]
        for chain, exactly in zip(plan.measurements(len(keys)), answers, strict=True)
        for measurement in chain
    ]
    shown = [[plain_key(value) for value in key] for key in keys]
    described = plan.describe(len(keys))
    return {**answer_of(plan, shown, released), **described, "versions": versions()}


def answer_of(
    plan: Plan,
    keys: Sequence[Sequence[Any]],
    released: Sequence[Sequence[Any]],
    level: float = LEVEL,
) -> dict[str, Any]:
    """Return the answer that released numbers make: their post-processing, and no more.

    A certificate carries the numbers, so that whoever checks it works the answer out again.

    Args:
        plan: what was asked, with which noise.
        keys: of the groups, as plain JSON values.
        released: what each chain gave, in the order of the chains; a chain of keys is not among
            them.
        level: of the intervals; where the release decided them, others than its own are unknown.
    """
    numbers = iter(released)
    estimates: list[dict[str, Estimate]] = []
    for part, noise, ends in zip(plan.parts, plan.noises, plan.chains(len(keys)), strict=True):
        found = [next(numbers) for _ in ends]
        usual = level == LEVEL
        estimates.append(
            part.estimates(found, noise) if usual else part.at_level(found, noise, level)
        )
    columns = [
        {"label": label, **_column(plan, aggregate, estimates, level)}
        for label, aggregate in plan.query.aggregates
    ]
    listed = [list(each) for each in released]
    return {"keys": [list(key) for key in keys], "columns": columns, "released": listed}


def _released(value: Any) -> Any:
    """Return what one group or coordinate gave, as plain JSON: a number, None, or a pair."""
    if value is None:
        return None
    if isinstance(value, BoundedAnswer):
        return [float(value.value), float(value.bound)]
    return int(value) if isinstance(value, (int, np.integer)) else float(value)


def _released_keys(plan: Plan, exact: Exact) -> list[tuple[Any, ...]]:
    """Return the public keys, or those of the data that pass the noisy threshold."""
    if plan.key_chain is None:
        return list(plan.query.keys or [()])
    step, measurement = plan.key_chain
    people = exact.people
    passed = _drawn(measurement, Answers({step: people.counts}))
    released = [key for key, noisy in zip(people.keys, passed, strict=True) if noisy is not None]
    return in_order(released)


def in_order(keys: Iterable[Sequence[Any]]) -> list[Any]:
    """Return released keys in the order in which they are shown.

    The order in which an engine finds keys could depend on the data; this one is of what is shown.
    """

    def place(key: Sequence[Any]) -> list[Any]:
        shown = map(plain_key, key)
        return [(value is None, str(type(value)), value) for value in shown]

    return sorted(keys, key=place)


def _column(
    plan: Plan, aggregate: Aggregate, estimates: Sequence[dict[str, Estimate]], level: float
) -> dict[str, Any]:
    """Return one answer with its errors."""
    kind = kind_of(aggregate.kind)
    served = plan.parts_of(aggregate)
    parts, noises = [plan.parts[i] for i in served], [plan.noises[i] for i in served]
    told, key = [estimates[i] for i in served], kind.key(aggregate)
    found = told[0][key] if key != kind.name else kind.estimate(parts, told, noises, level)
    found = found.coherent()
    whole = kind.whole
    column: dict[str, Any] = {
        "kind": kind.name,
        # floor(low) <= floor(v) <= floor(v + 1/2) <= ceil(v) <= ceil(high): rounding keeps order
        "value": _numbers(found.value + 0.5 * whole, math.floor if whole else None),
        "standard_error": _numbers(found.standard_error),
        "low": _numbers(found.lower, math.floor if whole else None),
        "high": _numbers(found.upper, math.ceil if whole else None),
    }
    names = kind.names(aggregate)
    if names is not None:
        column["bins"] = names
    method = plan.record(aggregate)
    if method is not None:
        column["method"] = method
        if method["used"] == "ptr":
            column["refused"] = [value is None for value in column["value"]]
    return column


def _numbers(values: Any, rounded: Callable[[float], int] | None = None) -> list[Any]:
    """Return plain numbers; what is not known is None."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim > 1:
        return [_numbers(row, rounded) for row in array]
    known = rounded or float
    return [None if math.isnan(v) else known(v) for v in array.tolist()]


def _drawn(measurement: Measurement, answers: Answers) -> Any:
    return measurement(answers)
