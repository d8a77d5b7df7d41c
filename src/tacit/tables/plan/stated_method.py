"""Methods as a certificate states them: a choice is taken over, and what it led to is compared.

Where a question leaves the method (or the noise, or the number of bins) to be chosen, it is the one
with the least expected error on made-up rows.  That decides how exact an answer is, and nothing of
what it loses; and to work the errors out again may take minutes.  So a choice is planned with as it
is stated, which proves the loss of what was stated, and the errors themselves stay unchecked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tacit.errors import UsageError
from tacit.tables.answers.aggregate import Aggregate
from tacit.tables.data_dependent.synthetic_rows import SHAPES
from tacit.tables.spec.method import METHODS, read_method

__all__ = ["as_stated", "has_choice", "record_of"]

_CHOSEN = {"smooth": "distribution", "sample_and_aggregate": "bins"}


def has_choice(asked: Aggregate) -> bool:
    """Return whether something of the method was left to be chosen."""
    method = asked.method
    if method is None or method.name == "auto":
        return method is not None
    return method.name in _CHOSEN and getattr(method, _CHOSEN[method.name]) is None


def as_stated(asked: Aggregate, stated: Mapping[str, Any] | None) -> Aggregate:
    """Return an aggregate with the method that is stated, where one was to be chosen.

    Raises:
        UsageError: what is stated is no answer to what was asked.
    """
    method = asked.method
    if method is None or not has_choice(asked):
        return asked
    told = dict(stated or {})
    used = told.get("used")
    if used not in METHODS or used == "auto" or (method.name != "auto" and used != method.name):
        raise UsageError(f"{used!r} is not a method that {method} can choose")
    if used == "global":
        return replace(asked, method=None)
    option = {**_CHOSEN, "ptr": "bound"}[used]
    given = {option: told.get(option)}
    if getattr(method, option) not in (None, told.get(option)) and used != "ptr":
        raise UsageError(f"{option} was asked to be {getattr(method, option)}")
    if used == "ptr":
        given = {option: method.bound or "search"}
    if given[option] is None:
        raise UsageError(f"it does not state its {option}")
    made = read_method(asked.kind, asked.column, used, **given)
    return replace(asked, method=made and replace(made, rows=method.rows))


def record_of(
    asked: Aggregate, stated: Mapping[str, Any], used: Mapping[str, Any], shares: list[str]
) -> dict[str, Any]:
    """Return the record of a choice: the errors as stated, all else as it follows.

    Args:
        asked: what was asked.
        stated: the record that a certificate holds.
        used: the record of the method as it was planned with.
        shares: those of :func:`tacit.tables.plan.plan.shares_of`.

    Raises:
        UsageError: what was used is not what the stated errors speak for.
    """
    assert asked.method is not None
    told = {name: value for name, value in used.items() if name != "asked"}
    if asked.method.name != "auto":
        return {"asked": asked.method.name, **told}
    errors, left_out = stated["errors"], stated["left_out"]
    known = all(type(e) is float and 0 <= e < math.inf for e in errors.values())
    reasons = all(isinstance(reason, str) for reason in left_out.values())
    if not known or not reasons or not {*errors, *left_out} <= set(METHODS[:-1]):
        raise UsageError("expected errors are numbers, by method, and reasons are text")
    if errors and (told["used"] not in errors or errors[told["used"]] > min(errors.values())):
        raise UsageError(f"{told['used']} does not have the least of the expected errors")
    return {
        "asked": "auto",
        "rows": asked.method.planned,
        "shapes": list(SHAPES),
        "shares": shares,
        "errors": errors,
        "left_out": left_out,
        **told,
    }
