"""Finding the earlier releases that a question follows from, and writing down that it does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.accounting import Entry, Ledger
from tacit.accounting.ledger.installments import record_new
from tacit.calls import listed
from tacit.errors import UsageError
from tacit.report import Certificate, issue, versions
from tacit.report.check.derived import without_derived
from tacit.report.check.follows import following_body, recorded_part
from tacit.report.check.format import FOLLOWING, FORMAT
from tacit.report.check.issued import sealed
from tacit.tables.earlier.derive import followed, follows, may_follow
from tacit.tables.earlier.released import Release, release_of
from tacit.tables.plan.price import read_tag
from tacit.tables.plan.query import Query

__all__ = ["Charged", "Earlier", "Free", "charged", "free_again", "free_errors_of"]


@dataclass(frozen=True, eq=False)
class Charged:
    """An answered charge of a ledger.

    Attributes:
        entry: the charge.
        body: its certificate.
        release: what it counted; None where nothing follows from it.
    """

    entry: Entry
    body: dict[str, Any]
    release: Release | None


def charged(entry: Entry, ledger: Ledger) -> Charged | None:
    """Return what a charge published; None where it is not answered, or is of another data set."""
    if entry.answer is None or "table" not in entry.answer:
        return None
    if ledger.about(entry)[0] != ledger.dataset:
        return None
    body = issue(entry, ledger).body
    return Charged(entry, body, _read(body))


@dataclass(frozen=True, eq=False)
class Free:
    """An answer that follows from earlier releases, before it is written down.

    Attributes:
        question: ``query`` and ``tag``, as a ledger has them.
        answer: keys and columns.
        sources: of each label the release that it follows from.
    """

    question: dict[str, Any]
    answer: dict[str, Any]
    sources: dict[str, Release]

    @property
    def errors(self) -> dict[str, float]:
        """The root mean square of the standard errors of each label."""
        return {column["label"]: _mean(column) for column in self.answer["columns"]}


class Earlier:
    """The earlier releases of a ledger that answers may follow from.

    Args:
        ledger: of the session.
        given: certificates of releases that stand in another ledger.
        tag: of the releases: those with another one may be of another version of the table.
        seen: the charges that whoever asks may see; by default those on their own account.

    Attributes:
        charged: the releases of the ledger, by the digest of their certificates.

    Raises:
        UsageError: a certificate that does not hold, or is of another data set; a tag that is no
            text.
    """

    def __init__(
        self,
        ledger: Ledger,
        given: Iterable[Certificate] = (),
        tag: str | None = None,
        seen: Iterable[Charged] | None = None,
    ) -> None:
        self._ledger, self._tag = ledger, read_tag(tag)
        certificates = listed(given, "give a list of certificates: [certificate]")
        own = _paid(ledger, tag) if seen is None else seen
        self.charged = {
            one.body["digest"]: one for one in own if one.body["question"].get("tag") == tag
        }
        bodies = [_checked(one, ledger, tag) for one in certificates]
        found = {known: one.release for known, one in self.charged.items()}
        found |= {b["digest"]: _read(b) for b in bodies if b["digest"] not in found}
        self._releases = [one for one in found.values() if one is not None]

    def find(self, query: Query) -> Free | None:
        """Return the answer that follows from the releases, or None; nothing is written down."""
        found = follows(query, self._releases)
        if found is None:
            return None
        sources = {label: self._releases[place] for label, place in found.sources.items()}
        return Free({"query": query.describe(), "tag": self._tag}, found.answer, sources)

    def errors(self, query: Query) -> dict[str, float] | None:
        """Return the root mean square of the standard errors of each label; None if one lacks.

        Nothing is written down.
        """
        found = self.find(query)
        return None if found is None else found.errors

    def certificates(
        self, queries: Sequence[Query], most: int | None = None
    ) -> list[Certificate | None]:
        """Return the certificates of answers that follow from the releases, and record them.

        Args:
            queries: what is asked.
            most: how many records a charge may have in all.

        Returns:
            For each question None where its answer does not follow.

        Raises:
            LedgerError: the ledger cannot be written.
            UsageError: there are too many records; none was written.
        """
        bodies = [self._body(query) for query in queries]
        parts: dict[str, list[dict[str, Any]]] = {}
        for body in bodies:
            digests = [] if body is None else [source["digest"] for source in body["sources"]]
            paid = next((digest for digest in digests if digest in self.charged), None)
            if body is not None and paid is not None:
                parts.setdefault(paid, []).append(recorded_part(body))
        for paid, each in parts.items():
            record_new(self._ledger, self.charged[paid].entry, each, most)
        return [None if body is None else Certificate(body) for body in bodies]

    def _body(self, query: Query) -> dict[str, Any] | None:
        found = self.find(query)
        if found is None:
            return None
        told = set(map(id, found.sources.values()))
        used = [release for release in self._releases if id(release) in told]
        by_label = {label: used.index(release) for label, release in found.sources.items()}
        sources = [release.body for release in used]
        texts = [release.text for release in used]
        return following_body(found.question, found.answer, by_label, sources, versions(), texts)


def free_again(
    question: Mapping[str, Any], bodies: Sequence[dict[str, Any]], made_with: Mapping[str, str]
) -> Certificate | None:
    """Return the certificate of an answer again, from the releases that it was said to follow from.

    Args:
        question: ``query`` and ``tag``.
        bodies: of the certificates of the releases, in their order.
        made_with: the versions that the certificate states.

    Returns:
        None where it does not follow from them.

    Raises:
        UsageError: no such question can be asked of such a table.
    """
    found = followed(question["query"], bodies[0]["table"], bodies)
    if found is None:
        return None
    return Certificate(following_body(question, *found, bodies, made_with))


def free_errors_of(queries: Sequence[Query], ledger: Ledger) -> list[dict[str, float]]:
    """Return the errors of the answers that follow from the releases of a ledger.

    The ledger is read once, and not at all where none of the questions is about counts alone.

    Returns:
        For each question what :meth:`Earlier.errors` says; nothing where it does not follow.
    """
    if not any(map(may_follow, queries)):
        return [{} for _ in queries]
    earlier = Earlier(ledger)
    return [earlier.errors(query) or {} for query in queries]


def _mean(column: Mapping[str, Any]) -> float:
    errors = np.asarray(column["standard_error"], dtype=np.float64)
    return float(np.sqrt(np.mean(np.square(errors))))


def _paid(ledger: Ledger, tag: str | None) -> list[Charged]:
    """Return the answered charges on the account of whoever asks."""
    own = [
        entry
        for entry in ledger.history()
        if entry.accounts == ledger.payer.accounts and entry.question.get("tag") == tag
    ]
    return [one for entry in own if (one := charged(entry, ledger)) is not None]


def _checked(given: Certificate, ledger: Ledger, tag: str | None) -> dict[str, Any]:
    """Return the body of a certificate that holds; one of this ledger must stand there, too.

    Of another ledger's, only that it agrees with itself can be known.
    """
    if not isinstance(given, Certificate):
        raise UsageError("give certificates: tc.Certificate.load('ages.json')")
    body: dict[str, Any] = given.body
    if body.get("format") == FOLLOWING:
        raise UsageError("a free answer adds nothing to the releases that it follows from")
    if body.get("format") != FORMAT or not given.verify():
        raise UsageError("a certificate does not hold: verify() says why")
    if body["ledger"]["id"] == ledger.id and not given.verify(ledger):
        raise UsageError(
            "a certificate says that its release stands in this ledger, and it does not: "
            "verify(session.ledger) says why"
        )
    if body["dataset"] != ledger.dataset or body["question"]["tag"] != tag:
        raise UsageError("a certificate is of another data set, or has another tag")
    return sealed(without_derived(body))


def _read(body: dict[str, Any]) -> Release | None:
    try:
        return release_of(body)
    except UsageError:  # planned otherwise by the version that made it
        return None
