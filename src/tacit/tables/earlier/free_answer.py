"""Finding the earlier releases that a question follows from, and writing down that it does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tacit.accounting import Entry, Ledger
from tacit.accounting.ledger.installments import parts_of, record_part
from tacit.calls import listed
from tacit.errors import UsageError
from tacit.report import Certificate, issue, versions
from tacit.report.check.follows import following_body, recorded_part
from tacit.report.check.format import FOLLOWING, FORMAT
from tacit.tables.earlier.derive import follows, may_follow
from tacit.tables.earlier.released import Release, release_of
from tacit.tables.plan.price import read_tag
from tacit.tables.plan.query import Query

__all__ = ["Earlier", "free_errors_of"]


class Earlier:
    """The earlier releases of a ledger that answers may follow from.

    Args:
        ledger: of the session; answers on another account than its own are left alone.
        given: certificates of releases that stand in another ledger.
        tag: of the releases: those with another one may be of another version of the table.

    Raises:
        UsageError: a certificate that does not hold, or is of another data set; a tag that is no
            text.
    """

    def __init__(self, ledger: Ledger, given: Iterable[Certificate], tag: str | None) -> None:
        self._ledger, self._tag = ledger, read_tag(tag)
        certificates = listed(given, "give a list of certificates: [certificate]")
        usable = [entry for entry in ledger.history() if _usable(entry, ledger, tag)]
        self._entries = [(entry, issue(entry, ledger).body) for entry in usable]
        bodies = [body for _, body in self._entries]
        bodies += [_checked(one, ledger, tag) for one in certificates]
        known = {body["digest"]: body for body in bodies}
        self._releases = [one for body in known.values() if (one := _read(body)) is not None]

    def errors(self, query: Query) -> dict[str, float] | None:
        """Return the root mean square of the standard errors of each label; None if one lacks.

        Nothing is written down.
        """
        found = follows(query, self._releases)
        return None if found is None else {c["label"]: _mean(c) for c in found.answer["columns"]}

    def certificate(self, query: Query) -> Certificate | None:
        """Return the certificate of an answer that follows from the releases, and record it.

        Returns:
            None where the answer does not follow.

        Raises:
            LedgerError: the ledger cannot be written.
        """
        found = follows(query, self._releases)
        if found is None:
            return None
        used = sorted(set(found.sources.values()))
        by_label = {label: used.index(place) for label, place in found.sources.items()}
        sources = [self._releases[place].body for place in used]
        question = {"query": query.describe(), "tag": self._tag}
        body = following_body(question, found.answer, by_label, sources, versions())
        digests = [source["digest"] for source in sources]
        for entry, known in self._entries:
            if known["digest"] in digests:
                _record(self._ledger, entry, recorded_part(body))
                break
        return Certificate(body)


def free_errors_of(queries: Sequence[Query], ledger: Ledger) -> list[dict[str, float]]:
    """Return the errors of the answers that follow from the releases of a ledger.

    The ledger is read once, and not at all where none of the questions is about counts alone.

    Returns:
        For each question what :meth:`Earlier.errors` says; nothing where it does not follow.
    """
    if not any(map(may_follow, queries)):
        return [{} for _ in queries]
    earlier = Earlier(ledger, (), None)
    return [earlier.errors(query) or {} for query in queries]


def _mean(column: Mapping[str, Any]) -> float:
    errors = np.asarray(column["standard_error"], dtype=np.float64)
    return float(np.sqrt(np.mean(np.square(errors))))


def _usable(entry: Entry, ledger: Ledger, tag: str | None) -> bool:
    """Return whether an entry is an answered release of this data set, paid by whoever asks."""
    if entry.answer is None or entry.accounts != ledger.payer.accounts:
        return False
    if entry.question.get("tag") != tag or "table" not in entry.answer:
        return False
    return ledger.about(entry)[0] == ledger.dataset


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
    return body


def _read(body: dict[str, Any]) -> Release | None:
    try:
        return release_of(body)
    except UsageError:  # planned otherwise by the version that made it
        return None


def _record(ledger: Ledger, entry: Entry, part: dict[str, Any]) -> None:
    """Write down, once, what follows from a charge."""
    while part not in (standing := parts_of(ledger, entry)):
        if record_part(ledger, entry, len(standing), part):
            return
