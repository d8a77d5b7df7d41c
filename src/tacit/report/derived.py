"""Answers computed from released ones: ``sum(cost) / count(*)``, ``round(avg(cost), 2)``."""

# They are post-processing: they read no row and cost nothing.  A certificate states the formula of
# each with its values, and a check computes them again.
#
# **Interval.**  A formula f reads the answers T_1, ..., T_k of a group.  Each has an interval of
# its own that holds its value without noise with probability ``1 - 0.05 / k`` or more, whatever the
# others do.  By the union bound all k hold at once with probability 0.95 or more, and then the
# point (T_1, ..., T_k) is in the box of the intervals.  Interval arithmetic over the box
# (:func:`~tacit.expressions.value_range.range_of`, with its proof) encloses f of every point of it,
# so that f(T_1, ..., T_k) is within the result with probability 0.95 or more.  For k = 1 the box is
# the published interval.  Where f rises or falls with each T_i, and reads each once, the enclosure
# is f at the corners of the box, and no shorter interval follows from the box.
#
# **Ratio.**  x / y over a box [a, b] x [c, d] whose divisors keep one sign has its extremes at the
# corners: for fixed y it is linear in x, and for fixed x it is monotone in y.  Where the interval
# of y holds zero, x / y takes any value in size over the box: no bounded interval has coverage then
# (the set of Fieller's theorem is unbounded there too), so none is given, and the answer says so.
#
# **Missing values.**  An answer with an interval is a number, never missing.  So ``coalesce(x, y)``
# is x, and a condition whose sides have disjoint intervals is decided, on the whole box.  Where a
# formula may be missing at some points of the box, as ``nullif`` makes it, the interval is about
# the others.
#
# Source: R. E. Moore, *Interval Analysis*, 1966; E. C. Fieller, *Some Problems in Interval
# Estimation*, 1954.

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from tacit.expressions.expression import Expression, from_json, literal
from tacit.expressions.functions import FAR, Node, constants_of
from tacit.expressions.operations import evaluate
from tacit.expressions.value_range import range_of
from tacit.report.issued import Verification, difference, planner
from tacit.report.text import DERIVED, answer_words, listed

# The label of a derived answer, and how it is computed from others and from the groups.
Formula = tuple[str, Expression]
Columns = Sequence[Mapping[str, Any]]  # released answers, a column per label
_Range = tuple[Fraction, Fraction]

_CLAIM = "the answers that are computed from released ones follow from them"
_WRONG = 0.05  # how often an interval of 95% may miss
# Operations whose value is missing only where an operand is.
_KEEPS = {"+", "-", "*", "abs", "clamp", "floor", "ceil", "round"}
_WHOLE = {"+", "-", "*", "abs"}
_INT = {int, type(None)}
_EXACT = 1 << 53


def check_derived(
    verification: Verification,
    body: Mapping[str, Any],
    at: Callable[[float], Columns] | None = None,
) -> None:
    """Check the derived answers that a certificate states, where it states some."""
    if "derived" in body:
        verification.check(_CLAIM, lambda: _differs(body, at))


def _differs(body: Mapping[str, Any], at: Callable[[float], Columns] | None) -> str | None:
    formulas = [(one["label"], from_json(one["of"])) for one in body["derived"]]
    query, answer = body["question"]["query"], body["answer"]
    names = [*query["by"], *(one["label"] for one in answer["columns"]), *(n for n, _ in formulas)]
    if not formulas or len({*names}) < len(names):
        return "each computed answer has a label of its own, and there is one at least"
    again = derived_columns(formulas, query["by"], answer, at)
    return difference(body["derived"], again, "derived", close=True)


def with_derived(
    body: Mapping[str, Any],
    formulas: Iterable[Formula],
    at: Callable[[float], Columns] | None = None,
) -> dict[str, Any]:
    """Return the body of a certificate that states derived answers too, without its digest."""
    bare = without_derived(body)
    by = body["question"]["query"]["by"]
    return {**bare, "derived": derived_columns(formulas, by, body["answer"], at)}


def without_derived(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a certificate of the released answers alone, without its digest."""
    return {name: part for name, part in body.items() if name not in ("derived", "digest")}


def columns_at(body: Mapping[str, Any]) -> Callable[[float], Columns]:
    """Return the released answers with intervals of another level, from a certificate."""
    # They follow from the released numbers, for noise that is added; an interval that the release
    # itself fixed, as that of a median, is unknown at other levels.

    def at(level: float) -> Columns:
        again, answer = planner().replan(body), body["answer"]
        columns: Columns = again.answer(answer["keys"], answer["released"], level)["columns"]
        return columns

    return at


def derived_columns(
    formulas: Iterable[Formula],
    by: Sequence[str],
    answer: Mapping[str, Any],
    at: Callable[[float], Columns] | None = None,
) -> list[dict[str, Any]]:
    """Return the columns of derived answers.

    >>> from tacit.expressions.expression import col
    >>> n = {"label": "n", "value": [40], "standard_error": [2.0], "low": [36], "high": [44]}
    >>> (twice,) = derived_columns([("twice", 2 * col("n"))], [], {"keys": [[]], "columns": [n]})
    >>> twice["value"], twice["low"], twice["high"]
    ([80], [72], [88])
    """
    # at: returns the columns with intervals of another level; None where none can be had, and
    #   formulas of several answers have no intervals.
    known = {str(one["label"]): one for one in answer["columns"]}
    levels: dict[float, Mapping[str, Any]] = {}
    problems = []
    for label, formula in formulas:
        names = formula.columns() & {*known}
        boxes: Mapping[str, Any] = known
        if len(names) > 1:
            level = 1 - _WRONG / len(names)
            if level not in levels:
                each = () if at is None else at(level)
                levels[level] = {str(one["label"]): one for one in each}
            boxes = levels[level]
        problems.append(
            {"label": label, **_column(formula, sorted(names), by, answer["keys"], known, boxes)}
        )
    return problems


def _column(
    formula: Expression,
    names: Sequence[str],
    by: Sequence[str],
    keys: Sequence[Sequence[Any]],
    known: Mapping[str, Any],
    boxes: Mapping[str, Any],
) -> dict[str, Any]:
    is_integral = _is_whole(
        formula, {n for n in names if not {*map(type, known[n]["value"])} - _INT}
    )
    column: dict[str, Any] = {"kind": DERIVED, "of": formula.to_json()}
    alone = [n for n in names if all(_ends(boxes.get(n), i) is None for i in range(len(keys)))]
    column |= {"alone": alone} if alone and keys else {}
    parts: dict[str, list[Any]] = {"value": [], "standard_error": [], "low": [], "high": []}
    for index, key in enumerate(keys):
        group = dict(zip(by, key, strict=True))
        row = {**group, **{name: known[name]["value"][index] for name in names}}
        box = {name: _ends(boxes.get(name), index) for name in names}
        ends = interval_of(formula, group, {n: one for n, one in box.items() if one is not None})
        value: Any = formula.evaluate(row)
        low, high = (None, None) if ends is None else ends
        exact = is_integral and value is not None and abs(value) <= _EXACT
        parts["value"].append(int(value) if exact else value)
        parts["standard_error"].append(None)
        parts["low"].append(None if low is None else math.floor(low) if is_integral else _down(low))
        parts["high"].append(
            None if high is None else math.ceil(high) if is_integral else -_down(-high)
        )
    return {**column, **parts}


def interval_of(
    formula: Expression, group: Mapping[str, Any], box: Mapping[str, _Range]
) -> _Range | None:
    """Range of a formula if its answers lie in a box; None if nothing bounds it."""
    fixed = {name: literal(value) for name, value in group.items() if not _is_odd(value)}
    return range_of(_resolved(formula.substitute(fixed), box), box)


def derived_words(column: Mapping[str, Any]) -> str:
    """Describe how a derived answer is computed, and why some values have no interval."""
    words = answer_words(DERIVED).words(column)
    ends = zip(column["value"], column["low"], column["high"], strict=True)
    unknown = sum(value is not None and low is None for value, low, high in ends)
    if not unknown:
        return words
    some = (
        "" if unknown == len(column["value"]) else f" in {unknown} of {len(column['value'])} groups"
    )
    if "alone" in column:
        names = listed([str(name) for name in column["alone"]])
        return f"{words}; no interval: none holds for {names} together with other answers"
    if '"/"' in json.dumps(column["of"]):
        return f"{words}; no interval{some}, where that of what it divides by holds zero"
    return f"{words}; no interval{some}, where a number in it may be beyond {FAR:.1e}"


def _is_odd(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _ends(column: Mapping[str, Any] | None, index: int) -> _Range | None:
    if column is None:
        return None
    value, low, high = (column[part][index] for part in ("value", "low", "high"))
    if not all(type(end) in (int, float) and math.isfinite(end) for end in (value, low, high)):
        return None
    return Fraction(low), Fraction(high)


def _down(x: Fraction) -> float:
    """Return the greatest double that is no greater than a number within 2^1000."""
    near = x.numerator / x.denominator
    return near if near <= x else math.nextafter(near, -math.inf)


def _resolved(node: Node, box: Mapping[str, _Range]) -> Node:
    """Return a formula with the choices made that are the same at every point of a box."""
    if not node.operands:
        return node
    made = type(node)(
        node.operation, tuple(_resolved(one, box) for one in node.operands), node.parameters
    )
    if made.operation == "fill" and _is_known(made.operands[0], box):
        return made.operands[0]
    if made.operation == "when":
        decided = _decided(made.operands[0], box)
        return made if decided is None else made.operands[1 if decided else 2]
    return made


def _is_known(node: Node, box: Mapping[str, _Range]) -> bool:
    """Return whether a formula is a number, and not missing, at every point of a box."""
    name, operands = node.operation, node.operands
    if name == "col":
        return constants_of(node)[0] in box
    if name == "literal":
        return node.parameters[0] is not None
    if name in _KEEPS:
        return all(_is_known(one, box) for one in operands)
    if name == "/":
        return all(_is_known(one, box) for one in operands) and range_of(node, box) is not None
    if name == "when":
        return all(_is_known(one, box) for one in operands[1:])
    return name == "fill" and any(_is_known(one, box) for one in operands)


def _decided(node: Node, box: Mapping[str, _Range]) -> bool | None:
    """Return whether a condition holds at every point of a box, or at none; else None."""
    name, operands = node.operation, node.operands
    if not node.columns():
        return bool(evaluate(node, {}))
    if name == "~":
        inner = _decided(operands[0], box)
        return None if inner is None else not inner
    if name in ("&", "|"):
        sides = [_decided(one, box) for one in operands]
        ends = name == "|"
        return ends if ends in sides else None if None in sides else not ends
    if name == "is_null":
        return False if _is_known(operands[0], box) else None
    if name not in _SIDES or not all(_is_known(one, box) for one in operands):
        return None
    left, right = (range_of(one, box) for one in operands)
    return None if left is None or right is None else _SIDES[name](*left, *right)


def _below(a: Fraction, b: Fraction, c: Fraction, d: Fraction) -> bool | None:
    """Return whether all of [a, b] is below [c, d], or none of it; else None."""
    return True if b < c else False if a >= d else None


def _equal(a: Fraction, b: Fraction, c: Fraction, d: Fraction) -> bool | None:
    return False if b < c or d < a else True if a == b == c == d else None


def _not(passed: bool | None) -> bool | None:
    return None if passed is None else not passed


_SIDES: Mapping[str, Callable[[Fraction, Fraction, Fraction, Fraction], bool | None]] = {
    "==": _equal,
    "!=": lambda a, b, c, d: _not(_equal(a, b, c, d)),
    "<": _below,
    ">=": lambda a, b, c, d: _not(_below(a, b, c, d)),
    ">": lambda a, b, c, d: _below(c, d, a, b),
    "<=": lambda a, b, c, d: _not(_below(c, d, a, b)),
}


def _is_whole(node: Node, known: set[str]) -> bool:
    """Return whether a formula gives whole numbers, of answers that are."""
    name, operands = node.operation, node.operands
    if name == "col":
        return constants_of(node)[0] in known
    if name == "literal":
        return node.parameters[0] is None or type(node.parameters[0]) is int
    if name in ("when", "fill"):
        return all(_is_whole(one, known) for one in operands[name == "when" :])
    return name == "to_integer" or (
        name in _WHOLE and all(_is_whole(one, known) for one in operands)
    )
