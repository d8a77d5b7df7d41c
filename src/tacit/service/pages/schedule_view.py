"""Pages of schedules: the list, one with its calendar, and the preview of a new one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from tacit.accounting.budget import Budget
from tacit.report.odds import odds_words
from tacit.report.text import listed
from tacit.service.pages.frame import budget_of, when
from tacit.service.pages.views import expected, home_of

# Pages of schedules, from replies of the API.


# How far apart the releases of the form may be.
LENGTHS = (
    ("1d", "day"),
    ("1w", "week"),
    ("1mo", "month"),
    ("3mo", "quarter"),
    ("1y", "year"),
)
_UNITS = {"d": "day", "w": "week", "mo": "month", "y": "year"}
_STATE_TEXT = {
    "waiting": "A reviewer decides once, for all releases; nothing is spent before that.",
    "refused": "A reviewer refused it; nothing was spent.",
    "paying": "Its payment stopped half way, and nothing is released before it is complete. Send "
    "the same request again: it continues, and nothing is paid twice.",
    "running": "All releases are paid for; each is made when it is due.",
    "done": "All its releases are over.",
    "cancelled": "No further release is made. What was paid stays paid: ask the same question "
    "with a tag of the calendar, and it costs nothing more.",
}
_MISSED = (
    "A missed release was due while the service did not run, and a later one was made instead. It "
    "stays paid: ask the same question with its tag, and it costs nothing more."
)
_Reply = Mapping[str, Any]


def every_words(every: str) -> str:
    """Describe how far apart releases are.

    >>> every_words("1mo"), every_words("3mo")
    ('each month', 'every 3 months')
    """
    number, unit = re.findall(r"\d+|\D+", every)
    return f"each {_UNITS[unit]}" if number == "1" else f"every {number} {_UNITS[unit]}s"


def schedule_card(one: _Reply) -> dict[str, Any]:
    """Return what a list shows of a schedule."""
    return {
        "id": one["id"],
        "href": f"/schedules/{one['id']}",
        "title": one["title"] or one["question"],
        "dataset": one["dataset"],
        "home": home_of(one["dataset"]),
        "state": one["state"],
        "asked_by": one["asked_by"],
        "cost": budget_of(one["total"]),
        "times": f"{every_words(one['every'])}, {one['made']:,} of {one['times']:,} made",
        "next": f"next on {when(one['next'])}" if one["next"] else "",
        "price": f"{budget_of(one['total'])} for all releases",
        "odds": odds_words(Budget.from_json(one["total"]), "all of them together"),
    }


def shown_schedule(one: _Reply, *, may_cancel: bool, decides: bool) -> dict[str, Any]:
    """Return the contents of the page of a schedule."""
    paid, times = one["paid"], one["times"]
    team = f" ({one['team']})" if one["team"] else ""
    about = [
        ("Data set", one["dataset"]),
        ("Question", one["question"] if one["title"] else ""),
        ("Released", f"{every_words(one['every'])}, {times:,} times"),
        ("Next", when(one["next"])),
        ("Price of each", budget_of(one["cost"])),
        ("Price of all", budget_of(one["total"])),
        ("Paid", f"{paid:,} of {times:,}" if one["state"] in ("paying", "cancelled") else ""),
        ("Requested by", f"{one['asked_by']}{team}"),
        ("Requested", when(one["created"])),
        ("Reason", one.get("reason")),
    ]
    entries = _calendar(one["calendar"])
    missed = any(entry["state"] == "missed" for entry in entries)
    return {
        **schedule_card(one),
        "state_text": _STATE_TEXT[one["state"]],
        "about": [(title, words) for title, words in about if words],
        "calendar": entries,
        "note": _MISSED if missed else "",
        "cancel": may_cancel and one["state"] in ("waiting", "paying", "running"),
        "decide": decides and one["state"] == "waiting",
        "review": None,
    }


def expected_schedule(reply: _Reply, *, approval: bool, may_ask: bool) -> dict[str, Any]:
    """Return what to expect of a schedule, before it starts."""
    total, times = Budget.from_json(reply["total"]), len(reply["calendar"])
    left, limits = budget_of(reply["remaining"]), listed(reply["limited_by"])
    many = f"All {times:,} releases together cost" if times > 1 else "The release costs"
    verdict = f"{many} {budget_of(reply['total'])} of the {left} that is left under {limits}."
    shown = expected(reply["preview"], approval=approval, may_ask=may_ask, key="")
    return {
        **shown,
        "verdict": verdict,
        "problem": f"It cannot start now: {reply['problem']}." if reply["problem"] else "",
        "odds": [odds_words(total, "all of them together")] if not total.is_nothing else [],
        "calendar": _calendar(reply["calendar"]),
        "may_begin": may_ask and reply["problem"] is None,
        "button": "Ask for it" if approval else f"Start, and spend {budget_of(reply['total'])}",
        "approval": approval,
    }


def _calendar(entries: Iterable[_Reply]) -> list[dict[str, Any]]:
    return [
        {
            "when": when(one["due"]).removesuffix(" UTC").removesuffix(" 00:00"),
            "tag": one["tag"],
            "state": one["state"],
            "href": f"/releases/{one['release']}" if one["release"] else None,
        }
        for one in entries
    ]
