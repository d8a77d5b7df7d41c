"""Which method answers an aggregate: the one asked for, or the one with the least expected error.

The choice reads public facts alone (the bounds, the kind of the column, the unit, the budget, the
rows to plan for), so it reveals nothing of the data and anyone can make it again.  Which method is
best depends on how the rows are spread: the noise of some follows the data.  So errors are worked
out on made-up rows of several shapes (:mod:`tacit.tables.data_dependent.synthetic_rows`), and each
method stands by its mean over them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from tacit.arithmetic.exact import show
from tacit.errors import UsageError
from tacit.expressions.grid import Grid
from tacit.tables.answers.aggregate import Aggregate, kind_of
from tacit.tables.chain.part import Noise
from tacit.tables.data_dependent.base import LocalPart
from tacit.tables.data_dependent.propose_test_release import ProposalPart
from tacit.tables.data_dependent.sample_and_aggregate import PeopleSamplePart, SamplePart
from tacit.tables.data_dependent.smooth import SmoothPart
from tacit.tables.data_dependent.synthetic_rows import SHAPES, made_rows
from tacit.tables.spec.method import Method
from tacit.tables.spec.privacy_unit import OneRowEach, PersonUnit

__all__ = ["Choice", "choose", "local_part"]

_SURE = 0.01
"""The probability of a refusal on the made-up rows up to which a test is a candidate."""


@dataclass(frozen=True)
class Choice:
    """What ``auto`` chose, and the numbers that it chose by.

    Attributes:
        used: the aggregate with the method that answers it.
        rows: how many rows the errors are for.
        shares: the epsilon or rho that they are for: of the global method, and of the others.
        errors: the mean absolute errors of the candidates, over all shapes.
        left_out: why others are none.
    """

    used: Aggregate
    rows: int
    shares: tuple[Fraction, Fraction]
    errors: tuple[tuple[str, float], ...]
    left_out: tuple[tuple[str, str], ...]

    def record(self) -> dict[str, Any]:
        """Return the choice as plain JSON values."""
        return {
            "asked": "auto",
            "rows": self.rows,
            "shapes": list(SHAPES),
            "shares": [str(share) for share in self.shares],
            "errors": {name: error for name, error in self.errors if math.isfinite(error)},
            "left_out": dict(self.left_out),
        }

    def __str__(self) -> str:
        told = ", ".join(f"{name} {show(error)}" for name, error in self.errors)
        used = self.used.method.name if self.used.method else "global"
        return f"{used}, by the expected error at {self.rows} rows of {len(SHAPES)} shapes: {told}"


def local_part(
    aggregate: Aggregate, column: str, grid: Grid, unit: OneRowEach | PersonUnit, by: bool
) -> LocalPart:
    """Return the part that answers an aggregate whose method is not the global one."""
    method = aggregate.method
    assert method is not None
    statistic = kind_of(aggregate.kind).local_statistic(aggregate)
    named = (column, grid, aggregate.kind, statistic, method)
    if method.name == "smooth":
        return SmoothPart(*named)
    if method.name == "ptr":
        return ProposalPart(*named)
    if unit.column is None:
        return SamplePart(*named)
    return PeopleSamplePart(*named, unit.rows, unit.groups if by else 1)


@lru_cache(maxsize=64)
def choose(
    aggregate: Aggregate,
    grids: tuple[Grid, Grid],
    unit: OneRowEach | PersonUnit,
    by: bool,
    counted: bool,
    noises: tuple[Noise, Noise],
) -> Choice:
    """Return the method with the least mean absolute error over made-up rows of every shape.

    Args:
        aggregate: with the method ``auto``.
        grids: of the global method, and of the others.
        unit: who is protected.
        by: whether there are groups.
        counted: whether rows are counted beside it.
        noises: what one part may lose if this and the like stay global and so share parts, and if
            each is a part of its own.
    """
    asked = aggregate.method
    assert asked is not None
    rows = asked.planned
    shared, noise = noises
    spreads = [made_rows(grids[1], rows, shape) for shape in SHAPES]
    error_on = kind_of(aggregate.kind).error_on
    errors = {"global": _mean(error_on(aggregate, grids[0], counted, shared, m) for m in spreads)}
    used = {"global": replace(aggregate, method=None)}
    left_out = {}
    for name, method in _candidates(asked):
        tried = replace(aggregate, method=method)
        part = local_part(tried, aggregate.require_column(), grids[1], unit, by)
        try:
            error = _mean(part.error_on(made, noise) for made in spreads)
            if isinstance(part, ProposalPart):
                refusals = (part.refusal_on(made, noise) for made in spreads)
                refused = [s for s, p in zip(SHAPES, refusals, strict=True) if p > _SURE]
                if refused:
                    left_out[name] = f"its test would refuse {rows} rows: {', '.join(refused)}"
                    continue
        except UsageError as reason:
            left_out[name] = str(reason)
            continue
        errors[name], used[name] = error, tried
    best = min(errors, key=lambda name: errors[name])
    shares = shared.loss, noise.loss
    return Choice(used[best], rows, shares, tuple(errors.items()), tuple(left_out.items()))


def _candidates(asked: Method) -> Iterator[tuple[str, Method]]:
    rows = asked.rows
    yield "smooth", Method("smooth", distribution=asked.distribution, rows=rows)
    yield "ptr", Method("ptr", bound=asked.bound or "search", rows=rows)
    yield "sample_and_aggregate", Method("sample_and_aggregate", bins=asked.bins, rows=rows)


def _mean(errors: Iterable[float]) -> float:
    return sum(errors) / len(SHAPES)
