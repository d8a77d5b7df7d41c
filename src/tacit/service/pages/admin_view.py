"""Tokens and the audit log, as pages show them: made of what the API says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacit.service.access.caller import EVERYTHING, Caller
from tacit.service.access.policy import decide
from tacit.service.access.roles import RIGHTS
from tacit.service.pages.frame import when

__all__ = ["event", "roles", "token"]


def token(one: Mapping[str, Any], now: float) -> dict[str, Any]:
    """Return what the list of tokens shows of one."""
    ended = one.get("ended")
    void = ended or ("expired" if now >= one["expires"] else None)
    kinds = {"session": "a sign-in", "once": "a link"}
    told = [f"{g['role']} on {_named(g['dataset'])}" for g in one["grants"]]
    return {
        "id": one["id"],
        "name": one["name"],
        "team": one.get("team"),
        "may": ", ".join(told),
        "until": when(one["expires"]),
        "state": void or kinds.get(str(one.get("kind")), "valid"),
        "revoke": void is None,
    }


def roles(caller: Caller) -> list[str]:
    """Return the roles that a caller may grant somewhere; none where they may make no token."""
    return sorted(RIGHTS) if decide(caller, "tokens").allowed else []


def event(one: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page of the audit log shows of an event."""
    details = one.get("details") or {}
    more = ", ".join(f"{name} {_said(name, one)}" for name, one in details.items() if _plain(one))
    team = one.get("team")
    return {
        "number": one["sequence"],
        "when": str(one["when"])[:19].replace("T", " "),
        "who": one["who"] + (f" ({team})" if team else ""),
        "action": str(one["action"]).replace("_", " "),
        "more": more,
        "dataset": one.get("dataset") or "",
        "outcome": one["outcome"],
    }


def _said(name: str, value: Any) -> Any:
    return when(value) if name == "expires" else value


def _plain(value: Any) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def _named(dataset: str) -> str:
    return "all data sets" if dataset == EVERYTHING else dataset
