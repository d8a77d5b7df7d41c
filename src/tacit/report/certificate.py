"""Certificates: what was released, whom it protects, and the chain that proves how much."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from tacit.accounting import Entry, Ledger
from tacit.calls import public
from tacit.display.card import Card, Shown
from tacit.errors import UsageError, VerificationError
from tacit.outside import read_json_file
from tacit.report.derived import Formula, columns_at, with_derived
from tacit.report.issued import FIRST_FORMAT, FOLLOWING, FORMAT, Verification, issued_body, sealed
from tacit.report.page import PARSE_ERRORS, certificate_card, certificate_page
from tacit.report.registry import RegistryEntry, registry_entry
from tacit.report.verify import verify_body


@public
class Certificate(Shown):
    """The certificate of a release: plain JSON that anyone can check without the data.

    Attributes:
        body: the certificate as plain JSON values; ``body["digest"]`` is a hash of the rest.

    Example:
        >>> certificate = Certificate({"format": "tacit certificate 2", "chains": []})
        >>> bool(certificate.verify())
        False
    """

    def __init__(self, body: Mapping[str, object]) -> None:
        self._body: dict[str, object] = dict(body)
        self._sealed = True

    @property
    def body(self) -> dict[str, object]:
        """The certificate as plain JSON values."""
        if not self._sealed:
            self._body = sealed(self._body)
            self._sealed = True
        return self._body

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
            Path(os.path.expanduser(path)).write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror}") from None

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Certificate:
        """Read a certificate that was saved as JSON.

        Raises:
            UsageError: the file does not exist, or is not a certificate; JSON beyond the limits of
                :func:`tacit.outside.read_json`.
        """
        body = read_json_file(path, str(path))
        if not isinstance(body, dict) or body.get("format") not in (
            FORMAT,
            FIRST_FORMAT,
            FOLLOWING,
        ):
            raise UsageError(f"{path} is not a certificate of Tacit")
        return cls(body)

    def verify(self, ledger: Ledger | None = None) -> Verification:
        """Compute the privacy loss again from the chain of steps, without the data.

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
            verification: the result of :meth:`verify`, if it was run already: the page shows it.

        Raises:
            UsageError: the certificate is incomplete.
            MissingExtraError: jinja2 is not installed.
        """
        if verification is not None and not isinstance(verification, Verification):
            raise UsageError(
                "to_html() returns the page as text; certificate.save('visits.html') writes it"
            )
        return certificate_page(
            self.body, lambda: self.verify() if verification is None else verification
        )

    def registry_entry(
        self, answers: Mapping[str, str | Sequence[str] | None] | None = None
    ) -> RegistryEntry:
        """Draft an entry of the public registry of deployments, at registry.opendp.org.

        All that the certificate knows is filled in: the variant and its exact parameters, the unit,
        the domain, the mechanisms, how the losses compose. What only people know is passed in
        ``answers``.

        Args:
            answers: text by name, or a list of texts for ``curator``, ``author`` and ``source``.
                The names are ``name, curator, intended_use, region, sector, author`` (tier 1 of the
                registry), ``releases`` (one, many), ``data_source`` (static, dynamic), ``access``
                (interactive, non-interactive) (tier 2), ``actors, unprotected, tuning, security,
                justification`` (tier 3); and ``description, published, source, notes, slug``, which
                may be left out.

        Returns:
            The entry, with ``.missing`` (the names that are not answered yet), ``.to_yaml()`` and
            ``.save(path)``.

        Raises:
            VerificationError: the certificate does not hold.
            UsageError: an answer under an unknown name, or an unknown choice; or an answer that
                follows from earlier releases, which are what is registered.
        """
        if self.body.get("format") == FOLLOWING:
            raise UsageError(
                "this answer follows from earlier releases at no cost: register these releases"
            )
        verification = self.verify()
        if not verification:
            raise VerificationError(
                "this certificate does not hold, so no entry is made from it; verify() says why"
            )
        return registry_entry(self.body, answers or {})

    def card(self) -> Card:
        """Return what a notebook displays: a summary; :meth:`to_html` is the whole page."""
        try:
            return certificate_card(self.body)
        except PARSE_ERRORS:  # malformed: verify() reports how
            return Card("Certificate that is not whole: .verify() says more", repr(self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Certificate) and self.body == other.body

    def __hash__(self) -> int:
        return hash(self.body.get("digest"))

    def __str__(self) -> str:
        return self.card().text()

    def __repr__(self) -> str:
        return f"<Certificate of a release of {self.body.get('dataset', 'nothing')!r}>"


def deriving(certificate: Certificate, formulas: Sequence[Formula]) -> Certificate:
    """Return the certificate that states answers too which are computed from those released."""
    body = certificate._body
    levels = columns_at(body) if body["format"] == FORMAT else None
    made = Certificate(with_derived(body, formulas, levels))
    made._sealed = False
    return made


def issue(entry: Entry, ledger: Ledger) -> Certificate:
    """Write the certificate of an answered charge: all of it is in the ledger, so none can differ.

    An answer that an earlier version recorded is missing what certificates state since: its
    certificate is of the first format, with today's budget and versions.

    Raises:
        UsageError: the charge has no answer.
    """
    made = Certificate(issued_body(entry, ledger))
    made._sealed = False  # its digest is computed when someone reads it
    return made
