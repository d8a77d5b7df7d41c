"""Where two pieces of JSON first differ, in words."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["difference"]

_NEAR = 1e-9
"""Machines may differ in the last digits of what is worked out in floating point, and no more."""


def difference(claimed: Any, derived: Any, path: str = "", *, close: bool = False) -> str | None:
    """Return where what is claimed differs from what was derived; None where it does not.

    Kinds of values are distinguished: 1 is neither 1.0 nor true.

    Args:
        claimed: JSON that somebody wrote.
        derived: what it should be.
        path: where the two stand.
        close: whether fractional numbers may differ by a relative 1e-9.

    >>> difference({"a": [1, 2]}, {"a": [1, 3]})
    'at a[1] it says 2, and 3 is right'
    >>> difference(0.1 + 0.2, 0.3, close=True) is None
    True
    """
    if isinstance(claimed, dict) and isinstance(derived, dict):
        return _of_parts(claimed, derived, path, close)
    if isinstance(claimed, (list, tuple)) and isinstance(derived, (list, tuple)):
        if len(claimed) != len(derived):
            return f"{_at(path)}it has {len(claimed)} parts, and {len(derived)} are right"
        pairs = enumerate(zip(claimed, derived, strict=True))
        found = (difference(c, d, f"{path}[{i}]", close=close) for i, (c, d) in pairs)
        return next((one for one in found if one is not None), None)
    if type(claimed) is type(derived):
        same = claimed == derived or (isinstance(claimed, float) and _same(claimed, derived, close))
        if same:
            return None
    return f"{_at(path)}it says {_shown(claimed)}, and {_shown(derived)} is right"


def _of_parts(
    claimed: dict[Any, Any], derived: dict[Any, Any], path: str, close: bool
) -> str | None:
    for name in [*derived, *claimed]:
        if name not in claimed or name not in derived:
            more = "lacks" if name in derived else "has"
            return f"{_at(path)}it {more} {_shown(name)}"
        inner = f"{path}.{name}" if path else str(name)
        found = difference(claimed[name], derived[name], inner, close=close)
        if found is not None:
            return found
    return None


def _same(claimed: float, derived: float, close: bool) -> bool:
    if math.isnan(claimed) or math.isnan(derived):
        return math.isnan(claimed) and math.isnan(derived)
    return close and math.isclose(claimed, derived, rel_tol=_NEAR)


def _at(path: str) -> str:
    return f"at {path[:200]} " if path else ""


def _shown(value: Any) -> str:
    if isinstance(value, (dict, list, tuple)):
        return f"a list of {len(value)}" if not isinstance(value, dict) else "an object"
    told = repr(value) if not isinstance(value, int) or abs(value) < 10**40 else "a huge number"
    return told if len(told) <= 80 else f"{told[:80]}..."
