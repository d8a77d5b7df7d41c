"""Releases, as pages show them: made of what the API says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from tacit.display.svg_chart import PHONE_WIDTH
from tacit.report import Certificate
from tacit.report.check.derived import without_derived
from tacit.report.page.answers import answers
from tacit.service.pages.dataset_view import home_of
from tacit.service.pages.frame import budget_of, when

__all__ = ["PENDING", "answered", "row", "shown_release"]

PENDING = ("queued", "running")
"""The states in which an answer is on its way."""
_TOLD = {
    "waiting": "A reviewer decides first; nothing is spent before that.",
    "queued": "It is on its way.",
    "running": "It is on its way.",
    "done": "",
    "refused": "A reviewer refused it; nothing was spent.",
    "failed": "It could not be answered, and it stays charged. Ask the same again, at the same "
    "price: it is answered under that charge and costs no more.",
    "cancelled": "It was cancelled.",
}
_MOST_GROUPS = 1000
"""On a page; the files have all."""
_BY_GROUP = ("value", "standard_error", "low", "high", "refused")
_DOWNLOADS = (
    ("csv", "wide", "CSV"),
    ("csv", "long", "CSV, a row for each number"),
    ("parquet", "wide", "Parquet"),
    ("arrow", "wide", "Arrow"),
    ("json", "wide", "JSON"),
)


def row(one: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a list shows of a release."""
    return {
        "id": one["id"],
        "question": one.get("question") or one["id"],
        "dataset": one["dataset"],
        "asked_by": one.get("asked_by") or "",
        "when": when(one.get("asked_at")),
        "cost": budget_of(one.get("cost")),
        "state": one["state"],
    }


def shown_release(one: Mapping[str, Any], *, may_cancel: bool, may_decide: bool) -> dict[str, Any]:
    """Return what the page of a release shows beside its answer."""
    state = str(one["state"])
    shown = row(one)
    team = one.get("team")
    about = [
        ("Asked by", shown["asked_by"] + (f" ({team})" if team else "")),
        ("Asked", shown["when"]),
        ("Cost", shown["cost"] + (", paid before: a replay" if one.get("replayed") else "")),
        ("Decided by", one.get("decided_by")),
        ("Reason", one.get("reason")),
        ("Tag", one.get("tag")),
        ("Follows from", _sources(one)),
        ("Data as of", when(one.get("data_from"))),
    ]
    error = one.get("error")
    return {
        **shown,
        "home": home_of(shown["dataset"]),
        "word": state,
        "told": _TOLD.get(state, ""),
        "wrong": None if not error else error.get("error", error),
        "running": state in PENDING,
        "progress": one.get("progress") or 0,
        "about": [(title, words) for title, words in about if words],
        "cancel": may_cancel and state in ("waiting", *PENDING),
        "decide": may_decide and state == "waiting",
        "review": None,
        "answers": None,
        "more": 0,
        "downloads": [],
        "seal": None,
    }


def _sources(one: Mapping[str, Any]) -> str:
    """Name the releases that a free answer follows from."""
    return ", ".join(dict.fromkeys((one.get("follows_from") or {}).values()))


def answered(one: Mapping[str, Any], certificate: Certificate) -> dict[str, Any]:
    """Return what the page of a release shows of its answer, and of its certificate."""
    found = one["answer"]
    body = {**without_derived(certificate.body), "answer": _first(found)}
    place = f"/v1/releases/{quote(str(one['id']), safe='')}"
    verification = certificate.verify()
    many = len(verification.checked)
    words = f"The certificate holds: {many} checks passed when this page was written."
    if not verification:
        words = "The certificate does not hold; do not rely on this answer."
    files = [(f"{place}/answer?format={f}&form={form}", name) for f, form, name in _DOWNLOADS]
    return {
        "answers": answers(body, width=PHONE_WIDTH),
        "more": max(0, len(found["keys"]) - _MOST_GROUPS),
        "downloads": [*files, (f"{place}/certificate", "Certificate")],
        "seal": {"words": words, "digest": certificate.body["digest"]},
    }


def _first(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the groups of an answer that a page shows."""
    columns = [
        {name: one[:_MOST_GROUPS] if name in _BY_GROUP else one for name, one in column.items()}
        for column in found["columns"]
    ]
    return {"keys": found["keys"][:_MOST_GROUPS], "columns": columns}
