"""Certificates: what was released, whom it protects, and the chain that proves how much."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tacit.accounting import Entry, Ledger
from tacit.errors import MissingExtraError, UsageError
from tacit.outside import read_json_file
from tacit.report.check.format import FIRST_FORMAT, FORMAT
from tacit.report.check.issued import issued_body
from tacit.report.check.verify import Verification, verify_body
from tacit.report.page.page import BROKEN, certificate_page, summary

__all__ = ["Certificate", "issue"]


class Certificate:
    """A release on paper: plain JSON that anyone can check without the data.

    Attributes:
        body: the certificate as plain JSON values; ``body["digest"]`` seals the rest.

    Example:
        >>> certificate = Certificate({"format": "tacit certificate 2", "chains": []})
        >>> bool(certificate.verify())
        False
    """

    def __init__(self, body: Mapping[str, Any]) -> None:
        self.body = dict(body)

    def save(self, path: str | os.PathLike[str], verification: Verification | None = None) -> None:
        """Write the certificate: as JSON, or as a page for people where the name ends in .html.

        Args:
            path: of the file.
            verification: as for :meth:`to_html`.

        Raises:
            UsageError: the file cannot be written.
        """
        html = str(path).endswith(".html")
        text = self.to_html(verification) if html else self.to_json()
        try:
            Path(path).write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror}") from None

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Certificate:
        """Read a certificate that was saved as JSON.

        Raises:
            UsageError: no such file, or no certificate in it; JSON beyond the limits of
                :func:`tacit.outside.read_json`.
        """
        body = read_json_file(path, str(path))
        if not isinstance(body, dict) or body.get("format") not in (FORMAT, FIRST_FORMAT):
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

    def to_html(self, verification: Verification | None = None) -> str:
        """Return the certificate as one self-contained page for a reviewer.

        Args:
            verification: what :meth:`verify` found, where it was asked already: the page shows it.

        Raises:
            UsageError: the certificate is not whole.
            MissingExtraError: jinja2 is not installed.
        """
        return certificate_page(
            self.body, lambda: self.verify() if verification is None else verification
        )

    def _repr_html_(self) -> str | None:
        try:
            return self.to_html()
        except MissingExtraError:  # a notebook shows the text then
            return None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Certificate) and self.body == other.body

    def __hash__(self) -> int:
        return hash(self.body.get("digest"))

    def __str__(self) -> str:
        try:
            return "\n".join(summary(self.body))
        except BROKEN:  # by whoever made it: verify() says how
            return repr(self)

    def __repr__(self) -> str:
        return f"<Certificate of a release of {self.body.get('dataset', 'nothing')!r}>"


def issue(entry: Entry, ledger: Ledger) -> Certificate:
    """Write the certificate of an answered charge: all of it is in the ledger, so none can differ.

    An answer that an earlier version recorded lacks what certificates state since: its certificate
    is of the first format, with today's budget and versions.

    Raises:
        UsageError: the charge has no answer.
    """
    return Certificate(issued_body(entry, ledger))
