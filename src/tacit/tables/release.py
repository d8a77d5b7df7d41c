"""Carrying a plan out: exact integers in, a published answer out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.core import Step
from tacit.tables.aggregate import Aggregate
from tacit.tables.collect import Exact
from tacit.tables.moments import Estimate
from tacit.tables.noise_law import NoiseLaw
from tacit.tables.parts import LEVEL, MomentsPart, Part
from tacit.tables.plan import Plan
from tacit.tables.space import Answers
from tacit.tables.spelled import bin_names

__all__ = ["release_answer"]


def release_answer(plan: Plan, exact: Exact) -> dict[str, Any]:
    """Draw the noise of every chain of a plan, and return the answer as plain JSON values.

    The only place where exact aggregates meet noise.  What is returned holds released values and
    what follows from them.
    """
    keys = _released_keys(plan, exact)
    chains = plan.chains(len(keys))
    answers = Answers(exact.vectors(chains, keys))
    estimates: list[dict[str, Estimate]] = []
    for part, ends in zip(plan.parts, chains, strict=True):
        released = [plan.measurement(end, part.on_people)(answers) for end in ends]
        estimates.append(part.estimates(released, plan.noise))
    columns = [
        {"label": label, **_column(plan, aggregate, estimates)}
        for label, aggregate in plan.query.aggregates
    ]
    described = plan.describe(len(keys))
    shown = [[_shown(value) for value in key] for key in keys]
    return {"keys": shown, "columns": columns, **described}


def _released_keys(plan: Plan, exact: Exact) -> list[tuple[Any, ...]]:
    """Return the public keys, or those of the data that pass the noisy threshold."""
    if plan.keys is None:
        return list(plan.query.keys or [()])
    end: tuple[Step, Step] = plan.keys.chain(plan.query.by)
    keys, people = exact.people_by_key()
    passed = plan.measurement(end, people=True)(Answers({end[0]: people}))
    # The order in which an engine finds keys could depend on the data: sort what is released.
    released = [key for key, noisy in zip(keys, passed, strict=True) if noisy is not None]
    return sorted(released, key=lambda key: [(v is None, str(type(v)), v) for v in key])


def _column(
    plan: Plan, aggregate: Aggregate, estimates: Sequence[dict[str, Estimate]]
) -> dict[str, Any]:
    """Return one answer with its errors."""
    kind = aggregate.kind
    served = plan.parts_of(aggregate)
    found = estimates[served[0]][kind]
    if len(served) > 1:
        found = _mean_count(plan, [(plan.parts[i], estimates[i]["count"]) for i in served])
    column: dict[str, Any] = {
        "kind": kind,
        "value": _numbers(found.value, whole=kind in ("count", "count_people", "histogram")),
        "standard_error": _numbers(found.standard_error),
        "low": _numbers(found.lower),
        "high": _numbers(found.upper),
    }
    if aggregate.edges is not None:
        column["bins"] = bin_names(aggregate.edges)
    method = plan.record(aggregate)
    if method is not None:
        column["method"] = method
        if method["used"] == "ptr":
            column["refused"] = [value is None for value in column["value"]]
    return column


def _mean_count(plan: Plan, families: Sequence[tuple[Part, Estimate]]) -> Estimate:
    """Return the mean of the counts of several families of moments.

    Every family counts the rows again, with independent noise of one scale; the mean over m of them
    has a m-th of the variance.
    """
    parts = [part for part, _ in families if isinstance(part, MomentsPart)]
    value = np.mean([found.value for _, found in families], axis=0)
    weights = tuple(1 / len(parts) for part in parts for _ in range(part.width))
    laws = [part.law(plan.noise) for part in parts]
    widest = NoiseLaw(laws[0].kind, laws[0].scale, max(law.grid for law in laws))
    half = widest.half_width(weights, LEVEL)
    each = [part.width * law.variance for part, law in zip(parts, laws, strict=True)]
    error = math.sqrt(sum(each)) / len(parts)
    low, high = np.maximum(value - half, 0), np.maximum(value + half, 0)
    return Estimate(value, np.full_like(value, error), low, high)


def _numbers(values: Any, whole: bool = False) -> list[Any]:
    """Return plain numbers; what is not known is None."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim > 1:
        return [_numbers(row, whole) for row in array]
    if whole:
        return [math.floor(v + 0.5) for v in array.tolist()]
    return [None if math.isnan(v) else v for v in array.tolist()]


def _shown(value: Any) -> Any:
    return value if value is None or isinstance(value, (str, int, bool)) else str(value)
