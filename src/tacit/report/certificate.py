"""Certificates: what was released, whom it protects, and the chain that proves how much."""

from __future__ import annotations

import json
import os
import platform
import ssl
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tacit.accounting import Entry, Ledger
from tacit.errors import UsageError
from tacit.report.verify import Verification, digest, verify_body

__all__ = ["Certificate", "issue"]

FORMAT = "tacit certificate 1"

_NEIGHBOURS = {
    "unbounded": "data sets that differ by one unit, with all its rows, added or removed",
}


class Certificate:
    """A release on paper: plain JSON that anyone can check without the data.

    Attributes:
        body: the certificate as plain JSON values; ``body["digest"]`` seals the rest.

    Example:
        >>> certificate = Certificate({"format": FORMAT, "chains": []})
        >>> bool(certificate.verify())
        False
    """

    def __init__(self, body: Mapping[str, Any]) -> None:
        self.body = dict(body)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate: as JSON, or as a page for people where the name ends in .html.

        Raises:
            UsageError: the file cannot be written.
        """
        text = self.to_html() if str(path).endswith(".html") else self.to_json()
        try:
            Path(path).write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror}") from None

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Certificate:
        """Read a certificate that was saved as JSON.

        Raises:
            UsageError: no such file, or no certificate in it.
        """
        try:
            body = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}") from None
        except ValueError:
            raise UsageError(f"{path} holds no JSON; a certificate is a .json file") from None
        if not isinstance(body, dict) or not str(body.get("format", "")).startswith("tacit cert"):
            raise UsageError(f"{path} is no certificate of Tacit")
        return cls(body)

    def verify(self, ledger: Ledger | None = None) -> Verification:
        """Derive the privacy loss again from the chain, without the data.

        Args:
            ledger: the ledger that the release was paid from, to look the charge up in it.
        """
        return verify_body(self.body, ledger)

    def to_json(self) -> str:
        """Return the certificate as JSON text."""
        return json.dumps(self.body, indent=2, ensure_ascii=False) + "\n"

    def to_html(self) -> str:
        """Return the certificate as one self-contained page for a reviewer."""
        from tacit.report.html import certificate_page

        return certificate_page(self)

    def _repr_html_(self) -> str:
        return self.to_html()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Certificate) and self.body == other.body

    def __hash__(self) -> int:
        return hash(self.body.get("digest"))

    def __repr__(self) -> str:
        return f"<Certificate of a release of {self.body.get('dataset', 'nothing')!r}>"


def issue(entry: Entry, ledger: Ledger) -> Certificate:
    """Write the certificate of an answered charge.

    Raises:
        UsageError: the charge has no answer.
    """
    if entry.answer is None:
        raise UsageError("only an answered release has a certificate")
    answer = entry.answer
    neighbours = str(ledger.terms.get("neighbours", "unbounded"))
    body = {
        "format": FORMAT,
        "dataset": ledger.dataset,
        "protects": {
            "unit": ledger.terms.get("unit"),
            "neighbours": neighbours,
            "meaning": _NEIGHBOURS.get(neighbours, neighbours),
        },
        "question": entry.question,
        "chains": answer["chains"],
        "composition": answer["composition"],
        "spent": {
            "cost": entry.cost.to_json(),
            "budget": ledger.total.to_json(),
            "remaining": answer["remaining"],
        },
        "answer": {"keys": answer["keys"], "columns": answer["columns"]},
        "accuracy": "errors and 95% intervals count the noise, which is known without the data",
        "ledger": {
            "id": ledger.id,
            "sequence": entry.sequence,
            "hash": entry.hash,
            "when": entry.when,
        },
        "versions": _versions(),
    }
    return Certificate({**body, "digest": digest(body)})


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "openssl": ssl.OPENSSL_VERSION}
    for package in ("tacit", "numpy", "duckdb"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "unknown"
    return found
