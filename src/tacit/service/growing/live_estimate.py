"""The live estimate of a collection, as JSON with intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tacit.local.base.oracle import State
from tacit.local.planning.poisoning import influence
from tacit.report.text.local_estimates import Wanted, results_of
from tacit.service.growing.collection import Collection
from tacit.service.problem import Problem

__all__ = ["live_estimate"]


def live_estimate(
    collection: Collection,
    state: State,
    refused: Mapping[str, int],
    wanted: Wanted,
    poisoned: int | None = None,
) -> dict[str, Any]:
    """Return the estimate from all reports so far.

    It is computed from reports that were made random on the devices, so it may be asked for at any
    time and costs nothing.

    Args:
        collection: what was asked.
        state: the sums of the reports.
        refused: how many were refused, by reason.
        wanted: what is asked of the sums.
        poisoned: say also how far so many poisoned reports can have moved the estimate.

    Raises:
        Problem: ``not_ready``, no report came yet.
        UsageError: what is asked does not fit the collection.

    Example:
        >>> from tacit.local import DirectEncoding
        >>> oracle = DirectEncoding(["yes", "no"], p="3/4")
        >>> state = oracle.aggregate(oracle.perturb_many(["yes"] * 100))
        >>> told = live_estimate(Collection("asked", oracle), state, {"replay": 2}, Wanted())
        >>> told["n"], told["refused"], [row["item"] for row in told["results"][0]["items"]]
        (100, {'replay': 2}, ['yes', 'no'])
    """
    if not state.n:
        raise Problem("not_ready", f"no report of {collection.name!r} came yet")
    found = list(results_of(collection.oracle, state, wanted))
    told: dict[str, Any] = {
        "collection": collection.name,
        "n": state.n,
        "refused": dict(refused),
        "epsilon": float(collection.oracle.epsilon),
        "level": wanted.level,
        "results": [_finite({"name": one.name, **one.record}) for one in found],
    }
    if poisoned is not None:
        told["poisoned"] = _influence(collection, state, poisoned)
    return told


def _influence(collection: Collection, state: State, poisoned: int) -> dict[str, Any]:
    found = influence(collection.oracle, poisoned, n=state.n)
    several = found if isinstance(found, Mapping) else {"": found}
    return {
        "reports": poisoned,
        "moved": {name: float(one.moved) for name, one in several.items()},
        "text": [str(one) for one in several.values()],
    }


def _finite(value: Any) -> Any:
    """Return JSON that every reader takes: None for what is no number."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _finite(one) for name, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, list) else value
