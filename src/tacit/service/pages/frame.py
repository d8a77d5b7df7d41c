"""Shared parts of the pages: templates, the frame, the menu."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from tacit.accounting.budget import Budget
from tacit.errors import need
from tacit.report.text import budget_words
from tacit.service.access import Caller, decide

# Templates of the pages: text becomes HTML with everything in it escaped.


# The files that pages ask for, and what they are.
STATIC = {
    "tacit.css": "text/css; charset=utf-8",
    "tacit.js": "text/javascript; charset=utf-8",
    "explorer.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


@cache
def _templates() -> Any:
    """The templates of this package, and those of answers in certificates."""
    jinja2 = need("jinja2", "serve")
    loaders = [jinja2.PackageLoader(f"tacit.{package}") for package in ("service.pages", "report")]
    return jinja2.Environment(
        loader=jinja2.ChoiceLoader(loaders),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(name: str, given: Mapping[str, Any]) -> str:
    """Return a template filled in.

    >>> given = {"service": "Tacit", "caller": None, "message": "", "remedy": "", "back": ""}
    >>> "<h1>No page &lt;b&gt;</h1>" in render("error.html", {**given, "heading": "No page <b>"})
    True
    """
    return str(_templates().get_template(name).render(given))


@cache
def static_file(name: str) -> bytes | None:
    """Return a file of :data:`STATIC`, or None: no other name is looked up.

    >>> static_file("../templating.py") is None, static_file("tacit.css") is None
    (True, False)
    """
    if name not in STATIC:
        return None
    return files("tacit.service.pages").joinpath("static", name).read_bytes()


# The frame of every page, and the formats that several pages share.


_LINKS = (
    ("/datasets", "Data sets", None),
    ("/releases", "Releases", None),
    ("/dashboards", "Dashboards", "see_dataset"),
    ("/schedules", "Schedules", "see_own_releases"),
    ("/collections", "Collections", "see_dataset"),
    ("/approvals", "Approvals", "approve"),
    ("/declare", "Declare", "declare"),
    ("/tokens", "Tokens", None),
    ("/audit", "Audit log", "audit"),
    ("/verify", "Check a certificate", None),
)


def page(name: str, service: str, caller: Caller | None, given: Mapping[str, Any]) -> str:
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
    """Format a time in UTC; empty if it is None.

    >>> when(0), when(None)
    ('1970-01-01 00:00 UTC', '')
    """
    if seconds is None:
        return ""
    moment = datetime.datetime.fromtimestamp(float(seconds), datetime.UTC)
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def budget_of(loss: Mapping[str, Any] | None) -> str:
    """Format a privacy loss of the API in words.

    >>> budget_of({"kind": "pure", "epsilon": "1/2"})
    'epsilon 0.5'
    """
    return "" if loss is None else budget_words(Budget.from_json(loss))


def bar(total: Mapping[str, Any], remaining: Mapping[str, Any]) -> dict[str, Any]:
    """Return the contents of the bar of a budget.

    >>> bar({"kind": "pure", "epsilon": "2"}, {"kind": "pure", "epsilon": "1/2"})["percent"]
    '75%'
    """
    whole_budget, left = Budget.from_json(total), Budget.from_json(remaining)
    share = float(1 - left.amount / whole_budget.amount) if whole_budget.amount else 1.0
    percent = f"{share:.0%}"
    return {
        "share": f"{share:.4f}",
        "percent": percent,
        "label": f"{percent} of the privacy budget is spent",
        "left": budget_words(left),
        "total": budget_words(whole_budget),
    }
