"""The feed: releases, schedules and dashboards that wait or were decided, as Atom."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any
from xml.etree import ElementTree

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from tacit.accounting.budget import Budget
from tacit.report.text import budget_words
from tacit.service.access import Caller
from tacit.service.refresh.requests import ApprovalRequest
from tacit.service.web.routes.releases import Release, may_see, releases
from tacit.service.web.routing import ERRORS, Route, iso_time, needs
from tacit.service.web.state import ServiceState, StateOf

router = APIRouter(route_class=Route, tags=["releases"], responses=ERRORS)

ATOM = "application/atom+xml"
_SPACE = "http://www.w3.org/2005/Atom"
_MAX_ENTRIES = 50
# Characters that XML 1.0 cannot contain, not even escaped.
_INVALID = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WORDS = {
    "waiting": "Waits for a reviewer",
    "approved": "Approved",
    "running": "Is being answered",
    "done": "Answered",
    "failed": "Failed",
    "refused": "Refused",
    "cancelled": "Cancelled",
}


@dataclass(frozen=True)
class _Entry:
    """What an entry of the feed says."""

    kind: str  # ``release``, ``schedule`` or ``dashboard``
    id: str
    state: str
    words: str
    asked_by: str
    team: str | None
    asked_at: float
    updated: float
    about: tuple[str | None, ...]  # parts of the summary


@router.get("/v1/feed", response_model=None, responses={200: {"content": {ATOM: {}}}})
def feed(caller: Annotated[Caller, Depends(needs("see_own_releases"))], state: StateOf) -> Response:
    """List the latest that the caller may see as an Atom feed, without any answer.

    Releases, and schedules and dashboards that wait for a decision or were decided.  An entry is
    new whenever the state of its release, schedule or dashboard changes.
    """
    items = [_of_release(one) for one in releases(caller, state, limit=_MAX_ENTRIES).items]
    entries = [*items, *_of_requests(caller, state)]
    entries = sorted(entries, key=lambda one: one.updated, reverse=True)[:_MAX_ENTRIES]
    address = state.settings.url or ""
    root = ElementTree.Element("feed", xmlns=_SPACE)
    _text(root, "id", f"urn:tacit:feed:{state.settings.title}:{caller.name}")
    _text(root, "title", f"{state.settings.title}: releases")
    _text(root, "updated", iso_time(entries[0].updated if entries else 0.0))
    ElementTree.SubElement(root, "link", rel="self", href=f"{address}/v1/feed")
    for one in entries:
        root.append(_element(one, address))
    body = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return Response(body, media_type=ATOM)


def _of_release(one: Release) -> _Entry:
    # It came to its state at its tick, or when it was decided, as far as callers see it.
    shown = one.ready_at if one.state in ("done", "failed") else None
    updated = max(one.asked_at, one.decided_at or 0.0, shown or 0.0)
    decided = f"decided by {one.decided_by}" if one.decided_by else None
    about = one.dataset, budget_words(Budget.from_json(one.cost)), decided, one.reason
    who = one.asked_by, one.team, one.asked_at
    return _Entry("release", one.id, one.state, one.question, *who, updated, about)


def _of_requests(caller: Caller, state: ServiceState) -> Iterator[_Entry]:
    """Yield the entries of the schedules and dashboards that a caller may see."""
    for plan in state.schedule_requests.every():
        made = plan.content
        if may_see(state, caller, plan):
            times = f"{made.calendar.times} times, every {made.calendar.every}"
            words = f"Schedule, {times}: {made.title or made.words}"
            yield _of_request("schedule", plan, words, budget_words(made.total))
    for board in state.dashboard_requests.every():
        if may_see(state, caller, board):
            counted = board.content
            words = f"Dashboard: {counted.title or counted.words}"
            yield _of_request("dashboard", board, words, counted.price)


def _of_request(kind: str, one: ApprovalRequest[Any], words: str, cost: str) -> _Entry:
    decided = f"decided by {one.decided_by}" if one.decided_by else None
    about = one.dataset, cost, decided, one.reason
    who = one.asked_by, one.team, one.asked_at
    return _Entry(kind, one.id, one.state, words, *who, one.decided or one.asked_at, about)


def _element(one: _Entry, address: str) -> ElementTree.Element:
    entry = ElementTree.Element("entry")
    _text(entry, "id", f"urn:tacit:{one.kind}:{one.id}:{one.state}")
    _text(entry, "title", f"{_WORDS[one.state]}: {one.words}")
    _text(entry, "updated", iso_time(one.updated))
    _text(entry, "published", iso_time(one.asked_at))
    author = ElementTree.SubElement(entry, "author")
    _text(author, "name", one.asked_by + (f" ({one.team})" if one.team else ""))
    ElementTree.SubElement(entry, "link", href=f"{address}/{one.kind}s/{one.id}")
    _text(entry, "summary", "; ".join(filter(None, one.about)))
    return entry


def _text(parent: ElementTree.Element, name: str, text: str) -> None:
    ElementTree.SubElement(parent, name).text = _INVALID.sub("\N{REPLACEMENT CHARACTER}", text)
