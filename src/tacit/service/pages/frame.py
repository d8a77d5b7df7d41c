"""What every page has around it, and the words that several pages share."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from tacit.accounting.budgets.budget import Budget
from tacit.report.text.words import budget_words
from tacit.service.access.caller import Caller
from tacit.service.access.policy import decide
from tacit.service.pages.templating import render

__all__ = ["bar", "budget_of", "page", "when"]

_LINKS = (
    ("/datasets", "Data sets", None),
    ("/releases", "Releases", None),
    ("/dashboards", "Dashboards", "see_dataset"),
    ("/collections", "Collections", "see_dataset"),
    ("/approvals", "Approvals", "approve"),
    ("/declare", "Declare", "declare"),
    ("/tokens", "Tokens", None),
    ("/audit", "Audit log", "audit"),
    ("/verify", "Check a certificate", None),
)


def page(name: str, service: str, caller: Caller | None, given: Mapping[str, Any]) -> str:
    """Return a page.

    Args:
        name: of its template.
        service: what the service calls itself.
        caller: who is signed in.
        given: what the template is filled with.
    """
    shown = None
    if caller is not None:
        links = [
            (address, words)
            for address, words, action in _LINKS
            if action is None or decide(caller, action).allowed
        ]
        shown = {"name": caller.name, "team": caller.team, "links": links}
    return render(name, {"service": service, "caller": shown, **given})


def when(seconds: Any) -> str:
    """Say a moment, in UTC; nothing where there is none.

    >>> when(0), when(None)
    ('1970-01-01 00:00 UTC', '')
    """
    if seconds is None:
        return ""
    moment = datetime.datetime.fromtimestamp(float(seconds), datetime.UTC)
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def budget_of(said: Mapping[str, Any] | None) -> str:
    """Say an amount of privacy loss that the API gives.

    >>> budget_of({"kind": "pure", "epsilon": "1/2"})
    'epsilon 0.5'
    """
    return "" if said is None else budget_words(Budget.from_json(said))


def bar(total: Mapping[str, Any], remaining: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the bar of a budget shows.

    >>> bar({"kind": "pure", "epsilon": "2"}, {"kind": "pure", "epsilon": "1/2"})["percent"]
    '75%'
    """
    whole, left = Budget.from_json(total), Budget.from_json(remaining)
    share = float(1 - left.amount / whole.amount) if whole.amount else 1.0
    percent = f"{share:.0%}"
    return {
        "share": f"{share:.4f}",
        "percent": percent,
        "label": f"{percent} of the privacy budget is spent",
        "left": budget_words(left),
        "total": budget_words(whole),
    }
