"""The feed of releases: what waits and what was decided, as Atom."""

from __future__ import annotations

import re
from typing import Annotated
from xml.etree import ElementTree

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from tacit.accounting.budget import Budget
from tacit.report.text import budget_words
from tacit.service.access import Caller
from tacit.service.web.routes.releases import Release, releases
from tacit.service.web.routing import ERRORS, Route, iso_time, needs
from tacit.service.web.state import StateOf

router = APIRouter(route_class=Route, tags=["releases"], responses=ERRORS)

ATOM = "application/atom+xml"
_SPACE = "http://www.w3.org/2005/Atom"
_MAX_ENTRIES = 50
# Characters that XML 1.0 cannot contain, not even escaped.
_INVALID = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WORDS = {
    "waiting": "Waits for a reviewer",
    "running": "Is being answered",
    "done": "Answered",
    "failed": "Failed",
    "refused": "Refused",
    "cancelled": "Cancelled",
}


@router.get("/v1/feed", response_model=None, responses={200: {"content": {ATOM: {}}}})
def feed(caller: Annotated[Caller, Depends(needs("see_own_releases"))], state: StateOf) -> Response:
    """List the latest releases that the caller may see as an Atom feed, without any answer.

    An entry is new whenever the state of its release changes.
    """
    items = releases(caller, state, limit=_MAX_ENTRIES).items
    entries = sorted(items, key=_updated, reverse=True)
    address = state.settings.url or ""
    root = ElementTree.Element("feed", xmlns=_SPACE)
    _text(root, "id", f"urn:tacit:feed:{state.settings.title}:{caller.name}")
    _text(root, "title", f"{state.settings.title}: releases")
    _text(root, "updated", iso_time(_updated(entries[0]) if entries else 0.0))
    ElementTree.SubElement(root, "link", rel="self", href=f"{address}/v1/feed")
    for one in entries:
        root.append(_entry(one, address))
    body = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return Response(body, media_type=ATOM)


def _entry(one: Release, address: str) -> ElementTree.Element:
    entry = ElementTree.Element("entry")
    _text(entry, "id", f"urn:tacit:release:{one.id}:{one.state}")
    _text(entry, "title", f"{_WORDS[one.state]}: {one.question}")
    _text(entry, "updated", iso_time(_updated(one)))
    _text(entry, "published", iso_time(one.asked_at))
    author = ElementTree.SubElement(entry, "author")
    _text(author, "name", one.asked_by + (f" ({one.team})" if one.team else ""))
    ElementTree.SubElement(entry, "link", href=f"{address}/releases/{one.id}")
    parts = [one.dataset, budget_words(Budget.from_json(one.cost))]
    parts += [f"decided by {one.decided_by}"] if one.decided_by else []
    parts += [one.reason] if one.reason else []
    _text(entry, "summary", "; ".join(parts))
    return entry


def _updated(one: Release) -> float:
    """Return when a release came to its state, as far as callers see it."""
    shown = one.ready_at if one.state in ("done", "failed") else None
    return max(one.asked_at, one.decided_at or 0.0, shown or 0.0)


def _text(parent: ElementTree.Element, name: str, text: str) -> None:
    ElementTree.SubElement(parent, name).text = _INVALID.sub("\N{REPLACEMENT CHARACTER}", text)
