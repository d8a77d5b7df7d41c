"""The page on which a curator raises a budget and sets caps, made of what the API says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tacit.service.pages.dataset_view import home_of
from tacit.service.pages.frame import bar, budget_of, when

__all__ = ["WHOSE", "account_in", "shown_budget"]

WHOSE = (
    ("team", "the team"),
    ("analyst", "the analyst"),
    ("team:*", "each team without a cap of its own"),
    ("analyst:*", "each analyst without a cap of their own"),
    ("dataset", "the data set, of several"),
)
"""Whose cap can be set, and how a form says it."""


def account_in(one: Callable[[str], str]) -> str:
    """Return the account that a form names.

    >>> account_in({"whose": "team", "who": "oncology"}.__getitem__)
    'team:oncology'
    """
    whose, who = one("whose"), one("who").strip()
    return whose if whose.endswith("*") else f"{whose}:{who}"


def shown_budget(
    name: str, told: Mapping[str, Any], left_open: Sequence[Mapping[str, Any]], apart: bool
) -> dict[str, Any]:
    """Return what the page shows.

    Args:
        name: of the data set.
        told: its budget, as the API says it.
        left_open: the releases whose charge stands without an answer.
        apart: whether each team has a budget of its own.
    """
    return {
        "name": name,
        "home": home_of(name),
        "whole": bar(told["budget"], told["remaining"]),
        "belongs_to": told["belongs_to"],
        "collusion": told["collusion"],
        "kind": told["budget"]["kind"],
        "apart": apart,
        "whose": WHOSE,
        "accounts": [_account(one) for one in told["accounts"]],
        "left_open": [
            {
                "id": one["id"],
                "question": one["question"],
                "asked_by": one["asked_by"],
                "when": when(one["asked_at"]),
                "cost": budget_of(one["cost"]),
            }
            for one in left_open
        ],
    }


def _account(one: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "account": str(one["name"]).replace(":", " ", 1).replace("*", "(each other)"),
        "total": budget_of(one.get("cap")) or "no cap",
        "spent": budget_of(one.get("spent")),
        "left": budget_of(one.get("remaining")),
        "bar": bar(one["cap"], one["remaining"]) if one.get("cap") else None,
    }
