"""The price of a question, or the target error that it follows from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TypeAlias, TypedDict

from tacit.accounting.budget import Budget, Kind, epsilon_delta, read_loss, refuse_negligible
from tacit.accounting.budget import epsilon as pure
from tacit.arithmetic.exact import Number, as_fraction, positive, show
from tacit.arithmetic.roots_and_bisection import smallest_integer_until
from tacit.errors import UsageError, did_you_mean
from tacit.tables.plan.plan import Plan
from tacit.tables.plan.query import Query

# What a release may spend, as a caller says it: an amount, or weights that split a total.


# An epsilon or a rho, or for each label its weight.
Amount: TypeAlias = Number | Mapping[str, Number]


class Price(TypedDict, total=False):
    """The arguments of a release that say what it may spend, and its tag."""

    epsilon: Amount | None
    delta: Number | None
    rho: Amount | None
    total: Number | None
    tag: str | None


_LARGEST = 1 << 128  # no weight, in lowest terms, is larger: more digits than any two doubles need


def read_tag(tag: str | None) -> str | None:
    """Return a tag, which is text: a certificate with any other does not hold.

    >>> read_tag(2026)
    Traceback (most recent call last):
    tacit.errors.UsageError: a tag is text in quotes, such as tag='2026-01', not a number or a list
    """
    if tag is None or isinstance(tag, str):
        return tag
    raise UsageError("a tag is text in quotes, such as tag='2026-01', not a number or a list")


def request_of(
    kind: Kind, epsilon: Number | None, delta: Number | None, rho: Number | None
) -> Budget:
    """Return what may be spent, of a budget of a kind."""
    request = read_loss(epsilon, delta, rho)
    if request is None:
        example = "rho='1/10'" if kind == "concentrated" else "epsilon='1/2'"
        raise UsageError(f"say what this release may spend: release({example})")
    refuse_negligible(request)
    if request.kind == "concentrated":
        request.cost_in(kind)  # refuses a budget that cannot pay it
    return request


def priced(query: Query, kind: Kind, price: Price) -> tuple[Query, Budget]:
    """Return a question with its weights, and what it may spend of a budget of a kind."""
    epsilon, delta, rho = (price.get("epsilon"), price.get("delta"), price.get("rho"))
    total = price.get("total")
    if not (isinstance(epsilon, Mapping) or isinstance(rho, Mapping)):
        if total is not None:
            raise UsageError(
                "a total is split by weights: release(epsilon={'n': 1, 'cost': 3}, total='1/2')"
            )
        return query, request_of(kind, epsilon, delta, rho)
    name, weights = ("epsilon", epsilon) if isinstance(epsilon, Mapping) else ("rho", rho)
    if total is None:
        raise UsageError(
            f"{name}={{...}} holds weights, which split a total: give the total too, as in "
            f"release({name}={{'n': 1, 'cost': 3}}, total='1/2')"
        )
    if not isinstance(weights, Mapping) or None not in (epsilon, rho):
        raise UsageError("give rho, or epsilon (with delta), not both")
    labels = [label for label, _ in query.aggregates]
    amounts = (total, delta, None) if name == "epsilon" else (None, delta, total)
    return replace(query, weights=read_weights(weights, labels)), request_of(kind, *amounts)


def read_weights(given: Mapping[str, Number], labels: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """Return weights as integers in lowest terms, in the order of the labels.

    >>> read_weights({"cost": 3, "n": "1/2"}, ["n", "cost"])
    (('n', 1), ('cost', 6))
    >>> read_weights({"cost": 2, "n": 2}, ["n", "cost"])
    ()
    """
    # Equal weights split a total as none do, and are none.
    known = set(labels)
    for label in given:
        if label not in known:
            raise UsageError(f"there is no answer {label!r}; {did_you_mean(str(label), labels)}")
    lacking = [label for label in labels if label not in given]
    if lacking:
        raise UsageError(
            f"give every answer a weight; {', '.join(map(repr, lacking))} has none (the weight "
            "of an answer says how much of the total it takes relative to the others)"
        )
    exact = [positive(given[label], f"the weight of {label!r}") for label in labels]
    common = math.lcm(*(weight.denominator for weight in exact))
    integers = [int(weight * common) for weight in exact]
    shared = math.gcd(*integers)
    lowest = [weight // shared for weight in integers]
    if max(lowest, default=0) > _LARGEST:
        raise UsageError("the weights have too many digits: write whole numbers such as 1 and 3")
    return () if len(set(lowest)) <= 1 else tuple(zip(labels, lowest, strict=True))


# The smallest epsilon with which answers are as exact as they must be; no data is touched.
#
# How far the interval of an answer is expected to reach follows from the noise and, for means and
# the like, from the public size of a group: it is the interval that comes of the expected sums, of
# values spread evenly over the bounds (:meth:`~tacit.tables.statistics.part.Part.half_width`).
#
# *Search.*  With more to lose the scale of every noise is smaller, and every interval of the same
# sums lies within what it was: quantiles of one distribution times the scale, plus the step of the
# grid, which does not change.  So whether all targets are met changes once, from no to yes, as
# epsilon rises, and bisection finds where.  The candidates are the decimals of four significant
# digits, exact fractions: two of them are at most a thousandth apart, so less is given away.


MOST_ROWS = 10**18  # the largest size that an error is computed for: it and its square are doubles


def read_rows(rows: int, of: str) -> int:
    """Return the size of a table or a group that errors are computed for.

    >>> read_rows(0, "the table")
    Traceback (most recent call last):
    tacit.errors.UsageError: rows is the size of the table, a whole number above zero
    """
    if isinstance(rows, bool) or not isinstance(rows, int) or rows <= 0:
        raise UsageError(f"rows is the size of {of}, a whole number above zero")
    if rows > MOST_ROWS:
        raise UsageError(f"rows is the size of {of}, at most 10^18")
    return rows


_DIGITS = 1000  # a candidate is an integer from this to ten times it, times a power of ten
_LOWEST, _DECADES = 6, 10  # the candidates reach from 10^-6 to 10^4


def read_confidence(confidence: Number) -> Fraction:
    """Return a level between 0 and 1.

    >>> read_confidence("0.95")
    Fraction(19, 20)
    """
    level = as_fraction(confidence, "the confidence")
    if not 0 < level < 1:
        raise UsageError(
            f"a confidence must be above 0 and below 1, such as 0.95, not {show(level)}"
        )
    return level


def min_epsilon(
    query: Query,
    targets: Mapping[str, Number],
    confidence: Fraction,
    rows: int,
    delta: Number | None,
) -> Fraction:
    """Return the smallest epsilon with which every interval is expected to reach so far at most."""
    # targets: for each label how far its interval may reach, in the unit of its error.
    aggregates = dict(query.aggregates)
    if not isinstance(targets, Mapping) or not targets:
        raise UsageError('name a target for a label: epsilon_for({"cost": 2})')
    for label in targets:
        if label not in aggregates:
            raise UsageError(
                f"there is no answer {label!r}; {did_you_mean(str(label), aggregates)}"
            )
        if aggregates[label].method is not None:
            raise UsageError(
                f"the error of {label!r} depends on the data, since it names a method: leave "
                "method= out, or look at preview(epsilon=...)"
            )
    exact = {label: positive(t, f"the target of {label!r}") for label, t in targets.items()}
    read_rows(rows, "a group")
    request: Callable[[Fraction], Budget] = (
        pure if delta is None else lambda amount: epsilon_delta(amount, delta)
    )

    def half_widths(amount: Fraction) -> dict[str, float]:
        plan = Plan(query, request(amount))
        halves = {}
        for label in exact:
            half = plan.half_width(aggregates[label], rows, float(confidence))
            if half is None:
                raise UsageError(
                    f"no interval of {label!r} is known in advance: look at preview(epsilon=...)"
                )
            halves[label] = half
        return halves

    def is_within(amount: Fraction) -> bool:
        return all(half <= exact[label] for label, half in half_widths(amount).items())

    smallest, reached = smallest_amount(is_within)
    if not reached:
        far = {label: half for label, half in half_widths(smallest).items() if half > exact[label]}
        label, half = next(iter(far.items()))
        raise UsageError(
            f"no epsilon brings {label!r} within {show(exact[label])} in {show(100 * confidence)} "
            f"of 100 releases in a group of {rows} rows: at {show(smallest)}, which "
            f"protects nobody, it is {show(half)}. Ask for a wider target, plan for larger groups, "
            "or give closer bounds"
        )
    return smallest


def smallest_amount(is_enough: Callable[[Fraction], bool]) -> tuple[Fraction, bool]:
    """Return the smallest amount of loss at which something holds, and whether it does at any.

    >>> smallest_amount(lambda amount: amount >= Fraction(1, 3))
    (Fraction(1667, 5000), True)
    """
    # is_enough: once it holds of an amount, it holds of every larger one.
    last = 9 * _DIGITS * _DECADES
    number = smallest_integer_until(lambda n: is_enough(_candidate(n)), last)
    return (_candidate(last), False) if number is None else (_candidate(number), True)


def _candidate(number: int) -> Fraction:
    """Return one of the candidates, which rise with their numbers.

    >>> [str(_candidate(number)) for number in (0, 1, 9000)]
    ['1/1000000', '1001/1000000000', '1/100000']
    """
    decade, digits = divmod(number, 9 * _DIGITS)
    return Fraction(_DIGITS + digits, _DIGITS) * Fraction(10) ** (decade - _LOWEST)
