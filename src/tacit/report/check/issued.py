"""The body of a certificate, as the ledger holds it."""

from __future__ import annotations

import hashlib
import json
import platform
import ssl
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from tacit import __version__
from tacit.accounting import Entry, Ledger
from tacit.errors import UsageError
from tacit.report.check.format import ACCURACY, FIRST_FORMAT, FORMAT, protects

__all__ = ["canonical_text", "digest", "issued_body", "sealed", "versions"]


def canonical_text(value: Any) -> bytes:
    """Return a part of a certificate as text, in one certain way."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def digest(body: Mapping[str, Any], lists: Mapping[str, Sequence[bytes]] | None = None) -> str:
    """Return the SHA-256 of a certificate without its own digest.

    Args:
        body: of the certificate.
        lists: those of its parts that are lists whose members were written before, by
            :func:`canonical_text`: the same long certificate may stand in many others.

    >>> digest({"a": [1], "b": 2}) == digest({"b": 2, "a": None}, {"a": [b"1"]})
    True
    """
    found, known = hashlib.sha256(b"{"), {} if lists is None else lists
    for place, name in enumerate(sorted(name for name in body if name != "digest")):
        found.update(b"," * bool(place) + canonical_text(name) + b":")
        if name not in known:
            found.update(canonical_text(body[name]))
            continue
        for number, text in enumerate(known[name]):
            found.update(b"," if number else b"[")
            found.update(text)
        found.update(b"]")
    found.update(b"}")
    return found.hexdigest()


def sealed(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a certificate with its digest."""
    return {**body, "digest": digest(body)}


def issued_body(entry: Entry, ledger: Ledger) -> dict[str, Any]:
    """Return the body of the certificate of an answered charge, without its digest.

    Raises:
        UsageError: the charge has no answer.
    """
    if entry.answer is None:
        raise UsageError("only an answered release has a certificate")
    answer = entry.answer
    whole = "table" in answer
    shown = ("keys", "columns", "released") if whole else ("keys", "columns")
    dataset, terms = ledger.about(entry)
    return {
        "format": FORMAT if whole else FIRST_FORMAT,
        "dataset": dataset,
        "protects": protects(terms),
        "question": entry.question,
        **({"table": answer["table"]} if whole else {}),
        "chains": answer["chains"],
        "composition": answer["composition"],
        "spent": {
            "cost": entry.cost.charged_json(),
            "budget": answer.get("budget") or ledger.total.to_json(),
            "remaining": answer["remaining"],
        },
        "answer": {name: answer[name] for name in shown},
        **({"declared": answer["declared"]} if answer.get("declared") else {}),
        "accuracy": ACCURACY,
        "ledger": {"id": ledger.id, **_place(entry), "when": entry.when},
        "versions": answer.get("versions") or versions(),
    }


def _place(entry: Entry) -> dict[str, Any]:
    """Return where in its chain a charge stands; nothing where it is on somebody's account.

    Answers stand in the chain too, from the moment when the engine was done.  Who asks small
    questions while a large one is at work would read in their places, or in their hashes, when that
    moment was; such a charge is found by its question.
    """
    told = entry.balance is None
    return {"sequence": entry.sequence if told else None, "hash": entry.hash if told else None}


def versions() -> dict[str, str]:
    """Return the versions of what a release is made with."""
    return dict(_versions())


@cache
def _versions() -> dict[str, str]:
    """Return the versions; read once, for what is loaded stays what it is."""
    found = {
        "python": platform.python_version(),
        "openssl": ssl.OPENSSL_VERSION,
        "tacit": __version__,  # of the code that runs: the index has another project named tacit
    }
    for package in ("numpy", "duckdb"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "unknown"
    return found
