"""The method of each statistic: stated, or the one with the smallest expected error."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from tacit.arithmetic.exact import show
from tacit.errors import UsageError
from tacit.expressions.grid import Grid
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.statistics.base import TableStatistic
from tacit.tables.statistics.data_dependent_methods import (
    SHAPES,
    LocalPart,
    PeopleSamplePart,
    ProposalPart,
    SamplePart,
    SmoothPart,
    made_rows,
)
from tacit.tables.statistics.method import METHODS, Method, read_method
from tacit.tables.statistics.part import Noise

# Methods as a certificate states them: a choice is taken over, and what it led to is compared.
#
# Where a question leaves the method (or the noise, or the number of bins) to be chosen, it is the
# one with the smallest expected error on made-up rows.  That decides how exact an answer is, and
# nothing of what it loses; and to work the errors out again may take minutes.  So a choice is
# planned with as it is stated, which proves the loss of what was stated, and the errors themselves
# stay unchecked.


_CHOSEN = {"smooth": "distribution", "sample_and_aggregate": "bins"}


def has_choice(aggregate: TableStatistic) -> bool:
    """Return whether something of the method was left to be chosen."""
    method = aggregate.method
    if method is None or method.name == "auto":
        return method is not None
    return method.name in _CHOSEN and getattr(method, _CHOSEN[method.name]) is None


def as_stated(aggregate: TableStatistic, stated: Mapping[str, Any] | None) -> TableStatistic:
    """Return an aggregate with the method that is stated, where one was to be chosen."""
    method = aggregate.method
    if method is None or not has_choice(aggregate):
        return aggregate
    options = dict(stated or {})
    used = options.get("used")
    if used not in METHODS or used == "auto" or (method.name != "auto" and used != method.name):
        raise UsageError(f"{used!r} is not a method that {method} can choose")
    if used == "global":
        return replace(aggregate, method=None)
    option = {**_CHOSEN, "ptr": "bound"}[used]
    given = {option: options.get(option)}
    if getattr(method, option) not in (None, options.get(option)) and used != "ptr":
        raise UsageError(f"{option} was asked to be {getattr(method, option)}")
    if used == "ptr":
        given = {option: method.bound or "search"}
    if given[option] is None:
        raise UsageError(f"it does not state its {option}")
    made = read_method(aggregate.kind, aggregate.column, used, **given)
    return replace(aggregate, method=made and replace(made, rows=method.rows))


def record_of(
    aggregate: TableStatistic, stated: Mapping[str, Any], used: Mapping[str, Any], shares: list[str]
) -> dict[str, Any]:
    """Return the record of a choice: the errors as stated, all else as it follows."""
    assert aggregate.method is not None
    record = {name: value for name, value in used.items() if name != "asked"}
    if aggregate.method.name != "auto":
        return {"asked": aggregate.method.name, **record}
    errors, left_out = stated["errors"], stated["left_out"]
    known = all(type(e) is float and 0 <= e < math.inf for e in errors.values())
    reasons = all(isinstance(reason, str) for reason in left_out.values())
    if not known or not reasons or not {*errors, *left_out} <= set(METHODS[:-1]):
        raise UsageError("expected errors are numbers, by method, and reasons are text")
    if errors and (record["used"] not in errors or errors[record["used"]] > min(errors.values())):
        raise UsageError(f"{record['used']} does not have the least of the expected errors")
    return {
        "asked": "auto",
        "rows": aggregate.method.planned,
        "shapes": list(SHAPES),
        "shares": shares,
        "errors": errors,
        "left_out": left_out,
        **record,
    }


# Which method answers an aggregate: the one asked for, or the one with the smallest expected error.
#
# The choice reads public facts alone (the bounds, the kind of the column, the unit, the budget, the
# rows to plan for), so it reveals nothing of the data and anyone can make it again.  Which method
# is best depends on how the rows are spread: the noise of some follows the data.  So errors are
# computed on made-up rows of several shapes (`tacit.tables.statistics.data_dependent_methods`),
# and each method is judged by its mean over them.


_SURE = 0.01  # the probability of a refusal on the made-up rows up to which a test is a candidate


@dataclass(frozen=True)
class MethodChoice:
    """The choice of ``auto``, and the errors that it compared."""

    used: TableStatistic  # the aggregate with the method that answers it
    rows: int  # how many rows the errors are for
    # the epsilon or rho that they are for: of the global method, and of the others
    shares: tuple[Fraction, Fraction]
    # the mean absolute errors of the candidates, over all shapes
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
        errors = ", ".join(f"{name} {show(error)}" for name, error in self.errors)
        used = self.used.method.name if self.used.method else "global"
        return (
            f"{used}, by the expected error at {self.rows} rows of {len(SHAPES)} shapes: {errors}"
        )


def local_part(
    aggregate: TableStatistic, column: str, grid: Grid, unit: OneRowEach | PersonUnit, by: bool
) -> LocalPart:
    """Return the part that answers an aggregate whose method is not the global one."""
    method = aggregate.method
    assert method is not None
    named = (column, grid, aggregate.kind, aggregate.local_statistic(), method)
    if method.name == "smooth":
        return SmoothPart(*named)
    if method.name == "ptr":
        return ProposalPart(*named)
    if unit.column is None:
        return SamplePart(*named)
    return PeopleSamplePart(*named, unit.rows, unit.groups if by else 1)


@lru_cache(maxsize=64)
def choose(
    aggregate: TableStatistic,
    grids: tuple[Grid, Grid],
    unit: OneRowEach | PersonUnit,
    by: bool,
    counted: bool,
    noises: tuple[Noise, Noise],
) -> MethodChoice:
    """Return the method with the smallest mean absolute error over made-up rows of every shape."""
    requested = aggregate.method
    assert requested is not None
    rows = requested.planned
    shared, noise = noises
    spreads = [made_rows(grids[1], rows, shape) for shape in SHAPES]
    plain = (aggregate.error_on(grids[0], counted, shared, made) for made in spreads)
    errors = {"global": _mean(plain)}
    used = {"global": replace(aggregate, method=None)}
    left_out = {}
    for name, method in _candidates(requested):
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
    return MethodChoice(used[best], rows, shares, tuple(errors.items()), tuple(left_out.items()))


def _candidates(method: Method) -> Iterator[tuple[str, Method]]:
    rows = method.rows
    yield "smooth", Method("smooth", distribution=method.distribution, rows=rows)
    yield "ptr", Method("ptr", bound=method.bound or "search", rows=rows)
    yield "sample_and_aggregate", Method("sample_and_aggregate", bins=method.bins, rows=rows)


def _mean(errors: Iterable[float]) -> float:
    return sum(errors) / len(SHAPES)
