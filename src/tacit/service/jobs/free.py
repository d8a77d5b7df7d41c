"""Answers that follow from earlier releases, for those who may see these releases: at no charge.

**From which.**  From answered releases whose job the caller may see, and whose tick has come: their
own, those that they were answered with again, and all of a data set where they have the right to
see all.  What somebody else asked is neither read nor counted, so neither the answer nor the time
that it takes says anything of it.

**What its time depends on.**  On the certificates of these releases, which the caller can read, and
on the question.  No row is read, no engine asked, and no noise drawn; so nothing waits for a tick,
and there is nothing for a reviewer to decide.

**What stands where.**  The ledger has, beside the charge of a release, the question and the digest
of the certificate that follows.  The database of the service has what makes the same certificate
again: the question, and by which keys the ledger knows the releases; no answer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tacit.accounting.ledger.ledger import Ledger
from tacit.errors import UsageError
from tacit.report import Certificate
from tacit.service.access.caller import Caller
from tacit.service.access.policy import decide
from tacit.service.hosting.hosted import Hosted
from tacit.service.hosting.kept import Kept
from tacit.service.jobs.queue import Job, Queue, Whose
from tacit.service.problem import Problem
from tacit.tables.earlier.derive import may_follow
from tacit.tables.earlier.free_answer import Charged, Earlier, charged, free_again
from tacit.tables.plan.query import Query
from tacit.tables.question import Question, held_by

__all__ = ["FreeDesk", "Made"]

MOST = 500
"""From so many releases, the latest, answers of a caller may follow."""
RECORDS = 1_000
"""So many answers that follow from it the ledger notes beside a charge."""
_CALLERS = 32
"""For so many callers a process keeps what it read of their releases."""
_NUMBERS = 200_000
"""So many numbers of the releases of a caller it keeps."""


class _Seen(NamedTuple):
    """A release that a caller may see: its key in the ledger, and the job that shows it."""

    key: str
    job: str


class Made(NamedTuple):
    """A free answer: its certificate, and what makes it again."""

    certificate: Certificate
    said: dict[str, Any]


class FreeDesk:
    """Finds what follows from the releases that a caller may see.

    Args:
        queue: of the service.
    """

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._kept: Kept[dict[str, Charged | None]] = Kept(_CALLERS)

    def errors(
        self, hosted: Hosted, caller: Caller, question: Question, tag: str | None
    ) -> dict[str, dict[str, Any]]:
        """Return of each label the standard error of the free answer, and the release it is from.

        Returns:
            Nothing where it does not follow from what the caller may see.
        """
        query = held_by(question).query
        if not may_follow(query):
            return {}
        earlier, seen = self._earlier(hosted, caller, question, tag)
        found = earlier.find(query)
        if found is None:
            return {}
        return {
            label: {
                "standard_error": error,
                "release": seen[found.sources[label].body["digest"]].job,
            }
            for label, error in found.errors.items()
        }

    def make(self, hosted: Hosted, caller: Caller, question: Question, tag: str | None) -> Made:
        """Make a free answer, and note in the ledger from which releases it follows.

        Raises:
            UsageError: it does not follow from what the caller may see, or so many follow already.
            LedgerError: the ledger cannot be written.
        """
        query: Query = held_by(question).query
        certificate = None
        if may_follow(query):
            earlier, seen = self._earlier(hosted, caller, question, tag)
            (certificate,) = earlier.certificates([query], RECORDS)
        if certificate is None:
            raise UsageError(
                "it does not follow from the releases that you may see, so it is not free; nothing "
                "was spent. Counts follow where they are sums of cells that were counted before, "
                "of the same rows; ask without free, and say what it may spend"
            )
        body: Any = certificate.body
        sources = [seen[source["digest"]] for source in body["sources"]]
        said = {
            "question": body["question"],
            "versions": body["versions"],
            "keys": [source.key for source in sources],
            "releases": {label: sources[place].job for label, place in body["from"].items()},
        }
        return Made(certificate, said)

    def again(self, job: Job, hosted: Hosted) -> Certificate | None:
        """Return the certificate of a free answer again; None where a job is of another kind.

        Raises:
            Problem: the ledger does not hold the releases any more.
        """
        said = self._queue.free(job.id)
        if said is None:
            return None
        ledger = hosted.ledger(job.team)
        entries = [ledger.find(key) for key in said["keys"]]
        found = [None if entry is None else charged(entry, ledger) for entry in entries]
        bodies = [one.body for one in found if one is not None]
        made = None
        if len(bodies) == len(found):
            made = free_again(said["question"], bodies, said["versions"])
        if made is None:
            raise Problem("gone", "the ledger does not hold what the answer follows from any more")
        return made

    def releases(self, job: Job) -> dict[str, str]:
        """Return of each label the release that a free answer follows from; nothing for others."""
        said = self._queue.free(job.id)
        return {} if said is None else dict(said["releases"])

    def _earlier(
        self, hosted: Hosted, caller: Caller, question: Question, tag: str | None
    ) -> tuple[Earlier, dict[str, _Seen]]:
        """Return the releases that a caller may see, and by the digest of each where it stands."""
        ledger = held_by(question).ledger
        seen = self._queue.answered(_whose(hosted, caller), MOST)
        who = (hosted.name, hosted.identity, ledger.id, caller.name, caller.team)
        kept = self._kept.of(who, dict)
        for key in set(kept) - set(seen):
            kept.pop(key, None)
        left = _NUMBERS - sum(map(_size, list(kept.values())))
        known: dict[str, Charged] = {}
        found: dict[str, _Seen] = {}
        for key, job in seen.items():
            try:
                one = kept[key]
            except KeyError:  # or another request of theirs, with later releases, let go of it
                one = self._read(ledger, key)
                if _size(one) <= left:
                    kept[key] = one
                    left -= _size(one)
            if one is not None:
                known[key] = one
                found[one.body["digest"]] = _Seen(key, job)
        return Earlier(ledger, (), tag, known.values()), found

    @staticmethod
    def _read(ledger: Ledger, key: str) -> Charged | None:
        entry = ledger.find(key)
        found = None if entry is None else charged(entry, ledger)
        return None if found is None or found.release is None else found


def _size(one: Charged | None) -> int:
    tables = () if one is None or one.release is None else one.release.tables
    return sum(table.values.size for table in tables)


def _whose(hosted: Hosted, caller: Caller) -> list[Whose]:
    """Return whose releases of a data set a caller may see, of the ledger that pays for them."""
    team = (caller.team,) if hosted.owner.apart else None
    if decide(caller, "see_releases", hosted.name).allowed:
        return [Whose(hosted.name, None, team)]
    if decide(caller, "see_own_releases", hosted.name).allowed:
        return [Whose(hosted.name, caller.name, team)]
    return []
