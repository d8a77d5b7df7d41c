"""What a release may spend, as a caller says it: an amount, or weights that split a total."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TypeAlias, TypedDict

from tacit.accounting.budgets.budget import Budget, Kind
from tacit.accounting.budgets.read_loss import read_loss
from tacit.arithmetic.exact import Number, positive
from tacit.errors import UsageError, did_you_mean
from tacit.tables.plan.query import Query

__all__ = ["Amount", "Price", "priced", "read_tag", "read_weights", "request_of"]

Amount: TypeAlias = Number | Mapping[str, Number]
"""An epsilon or a rho, or for each label its weight."""


class Price(TypedDict, total=False):
    """What a release may spend, as its arguments."""

    epsilon: Amount | None
    delta: Number | None
    rho: Amount | None
    total: Number | None


_LARGEST = 1 << 128
"""No weight, in lowest terms, is larger: more digits than any two doubles need."""
_LEAST = Fraction(1, _LARGEST)
"""No amount is smaller: errors of the noise, also of a share of it, are then doubles."""


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
    """Return what may be spent, of a budget of a kind.

    Raises:
        UsageError: nothing, two things, what that budget cannot pay, or a loss below 1e-38.
    """
    request = read_loss(epsilon, delta, rho)
    if request is None:
        example = "rho='1/10'" if kind == "concentrated" else "epsilon='1/2'"
        raise UsageError(f"say what this release may spend: release({example})")
    if request.amount < _LEAST:
        raise UsageError(
            f"{'rho' if request.kind == 'concentrated' else 'epsilon'} is below 1e-38, and the "
            "noise would hide every answer: ask for more"
        )
    if request.kind == "concentrated":
        request.cost_in(kind)  # refuses a budget that cannot pay it
    return request


def priced(
    query: Query,
    kind: Kind,
    epsilon: Amount | None,
    delta: Number | None,
    rho: Amount | None,
    total: Number | None,
) -> tuple[Query, Budget]:
    """Return a question with its weights, and what it may spend of a budget of a kind.

    Raises:
        UsageError: weights without a total, or a total without weights; else see
            :func:`request_of` and :func:`read_weights`.
    """
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
    """Return weights as whole numbers in lowest terms, in the order of the labels.

    Equal weights split a total as none do, and are none.

    Raises:
        UsageError: a label that is not asked or lacks a weight, or a weight that is not above zero.

    >>> read_weights({"cost": 3, "n": "1/2"}, ["n", "cost"])
    (('n', 1), ('cost', 6))
    >>> read_weights({"cost": 2, "n": 2}, ["n", "cost"])
    ()
    """
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
    whole = [int(weight * common) for weight in exact]
    shared = math.gcd(*whole)
    least = [weight // shared for weight in whole]
    if max(least, default=0) > _LARGEST:
        raise UsageError("the weights have too many digits: write whole numbers such as 1 and 3")
    return () if len(set(least)) <= 1 else tuple(zip(labels, least, strict=True))
