"""Where releases are asked for: those at no cost at once, the others queued."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import exc

from tacit.accounting.ledger import Ledger
from tacit.errors import UsageError
from tacit.report import Certificate
from tacit.service.access import Caller, Decisions, asked_by, asker_of, decide
from tacit.service.hosting.ask import Ask, words_of
from tacit.service.hosting.datasets import Hosted, Kept
from tacit.service.jobs.queue import Job, Outcome, Queue, Whose
from tacit.service.problem import Problem
from tacit.tables.derived.derive import Charged, Earlier, charged, free_again, may_follow
from tacit.tables.plan.query import Query
from tacit.tables.question import Question, charge_of, held_by, pay, recorded_answer, rehearse
from tacit.tables.release.answer import Answer

__all__ = [
    "Desk",
    "FreeDesk",
    "Made",
]

# Answers that follow from earlier releases, for those who may see these releases: at no charge.
#
# **From which.**  From answered releases whose job the caller may see, and whose tick has come:
# their own, those that they were answered with again, and all of a data set where they have the
# right to see all.  What somebody else asked is neither read nor counted, so neither the answer nor
# the time that it takes says anything of it.
#
# **What its time depends on.**  On the certificates of these releases, which the caller can read,
# and on the question.  No row is read, no engine asked, and no noise drawn; so nothing waits for a
# tick, and there is nothing for a reviewer to decide.
#
# **What stands where.**  The ledger has, beside the charge of a release, the question and the
# digest of the certificate that follows.  The database of the service has what makes the same
# certificate again: the question, and by which keys the ledger knows the releases; no answer.


MOST = 500  # from so many releases, the latest, answers of a caller may follow
RECORDS = 1_000  # so many answers that follow from it the ledger notes beside a charge
_CALLERS = 32  # for so many callers a process keeps what it read of their releases
_NUMBERS = 200_000  # so many numbers of the releases of a caller it keeps


class _Seen(NamedTuple):
    """A release that a caller may see: its key in the ledger, and the job that shows it."""

    key: str
    job: str


class Made(NamedTuple):
    """A free answer: its certificate, and what makes it again."""

    certificate: Certificate
    said: dict[str, Any]


class FreeDesk:
    """Finds what follows from the releases that a caller may see."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._kept: Kept[dict[str, Charged | None]] = Kept(_CALLERS)

    def errors(
        self, hosted: Hosted, caller: Caller, question: Question, tag: str | None
    ) -> dict[str, dict[str, Any]]:
        """The standard error of the free answer of each label, and the release it is from."""
        # Returns: nothing where it does not follow from what the caller may see.
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
        """Make a free answer, and note in the ledger from which releases it follows."""
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
        """Return the certificate of a free answer again; None where a job is of another kind."""
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


# The desk: takes questions, has them decided where a data set asks for it, and answers them.
#
# **What is refused at once, and what at a tick.**  Public facts (rights, the syntax of a question,
# the budget) are looked at before a job is made, and refused at once.  All that happens afterwards,
# in the worker, is shown at a tick, whatever it is.
#
# **When it is charged.**  At once, when it is asked or approved, and not when a worker takes it:
# that is when the engine was done with what came before, and someone who watches the budget would
# see it. For the same reason an answer that the ledger holds already, before its tick, does not
# count as answered for anybody: the same question of somebody else waits for a tick of its own.
#
# **What is approved is what runs.**  A job holds the request, and the key that the ledger will know
# the release by, which is a digest of the whole question and its price.  The worker builds the
# question anew from the request, and answers it only if its key is the one that was approved.


Audit = Callable[[str, sa.Connection, Job, Caller, Mapping[str, Any]], None]


class Desk:
    """Takes and answers the questions of a service."""

    # audit: writes down who did what, in the transaction that does it.

    def __init__(
        self,
        queue: Queue,
        hosted: Callable[[str], Hosted],
        audit: Audit,
        waiting: int,
        clock: Callable[[], float],
        decisions: Decisions,
    ) -> None:
        self.queue, self.decisions, self.free = queue, decisions, FreeDesk(queue)
        self._hosted, self._audit = hosted, audit
        self._waiting, self._clock = waiting, clock
        self.wake: Callable[[], None] = lambda: None

    def submit(self, dataset: str, caller: Caller, ask: Ask, once: str | None = None) -> Job:
        """Take a question; the same request under the same idempotency key is the same job."""
        body = _body(ask)
        hosted = self._hosted(dataset)
        if once is not None:
            known = self.queue.asked_once(caller.name, once)
            if known is not None:
                return _same(known, dataset, body, hosted.is_own(caller, known.team))
        question = ask.question(hosted, caller)
        if ask.free:
            return self._free(hosted, caller, ask, question, once)
        price: Any = {**ask.price, "tag": ask.tag}
        charge = charge_of(question, **price)
        key = charge.key
        standing = charge.look()
        cost = charge.cost_of(standing)
        answered = standing.is_answered and not self.hides(hosted, caller, key)
        how = hosted.settings
        approved_later = how.approval and not answered
        if not cost.is_nothing:
            hosted.require(caller, cost)
            rehearse(question, **price)
        values = self._values(hosted, caller, ask, question, once)
        values |= {
            "cost": json.dumps(cost.to_json()),
            "key": key,
            "state": "waiting" if approved_later else "queued",
        }
        if answered:  # what everybody here may see costs nothing and takes no time
            values |= {**self._at_once(), "replayed": True}
        paid = (lambda: None) if approved_later else (lambda: pay(question, **price))
        return self._added(caller, values, paid)

    def _free(
        self, hosted: Hosted, caller: Caller, ask: Ask, question: Question, once: str | None
    ) -> Job:
        """Add a job whose answer follows from what the caller may see: it costs nothing."""
        made = self.free.make(hosted, caller, question, ask.tag)
        body: Any = made.certificate.body
        values = self._values(hosted, caller, ask, question, once) | self._at_once()
        values |= {"cost": json.dumps(body["spent"]["cost"]), "key": body["digest"]}
        return self._added(caller, values, lambda: None, made.said)

    def _values(
        self, hosted: Hosted, caller: Caller, ask: Ask, question: Question, once: str | None
    ) -> dict[str, Any]:
        now = self._clock()
        return {
            "dataset": hosted.name,
            **asked_by(caller, now),
            "body": _body(ask),
            "words": words_of(question, ask.tag),
            "once": once,
            "started": now,
            "latency": float(hosted.settings.latency),
        }

    def _at_once(self) -> dict[str, Any]:
        return {"state": "over", "outcome": "done", "visible": self._clock()}

    def hides(self, hosted: Hosted, caller: Caller, key: str) -> bool:
        """Return whether an answer that the ledger of a caller may hold is not to be seen yet."""
        team = (caller.team,) if hosted.owner.apart else None
        return self.queue.hides(hosted.name, key, team)

    def _added(
        self,
        caller: Caller,
        values: dict[str, Any],
        pay: Callable[[], None],
        free: Mapping[str, Any] | None = None,
    ) -> Job:
        """Add a job and pay for it; where it cannot be paid there is none."""
        # A process that dies in between leaves a charge without a job: asked again, it goes on.
        once = values["once"]
        try:
            with self.queue.transaction() as run:
                self._refuse_too_many(caller, run)
                job = self.queue.add(run, **values)
                if free is not None:
                    self.queue.add_free(run, job, free)
                pay()
                cost = json.loads(job.cost)
                self._audit("release_asked", run, job, caller, {"cost": cost})
        except exc.IntegrityError:
            standing = None if once is None else self.queue.asked_once(caller.name, once)
            if standing is None:
                raise
            own = self._hosted(values["dataset"]).is_own(caller, standing.team)
            return _same(standing, values["dataset"], values["body"], own)
        self.wake()
        return job

    def _refuse_too_many(self, caller: Caller, run: sa.Connection) -> None:
        if self.queue.unfinished(caller.name, run) >= self._waiting:
            raise Problem(
                "too_many",
                f"{self._waiting} of your questions are not answered yet",
                "wait for some of them, or cancel some",
            )

    # --- decisions ---------------------------------------------------------------------------

    def approve(self, job: Job, caller: Caller) -> Job:
        """Approve exactly this question at this price: it is charged, and its clock begins."""
        self.decisions.refuse_own(job, caller, "a question")
        if job.state != "waiting":
            raise _decided(job.shown(self._clock()))
        question, price = self._unchanged(job, self._hosted(job.dataset))
        rehearse(question, **price)
        now = self._clock()
        decided = {"decided_by": caller.name, "decided": now, "started": now, "state": "queued"}
        found = self._changed(
            job, caller, ("waiting",), "release_approved", decided, lambda: pay(question, **price)
        )
        self.wake()
        return found

    def refuse(self, job: Job, caller: Caller, reason: str) -> Job:
        """Refuse a question; nothing is spent."""
        self.decisions.refuse_own(job, caller, "a question")
        decided = {
            "decided_by": caller.name,
            "decided": self._clock(),
            "reason": reason,
            "state": "refused",
        }
        return self._changed(job, caller, ("waiting",), "release_refused", decided)

    def cancel(self, job: Job, caller: Caller) -> Job:
        """Give a question up.  What was charged stays charged, and asking again is free then."""
        # (Were a charge that no worker has used yet given back, the budget would tell when workers
        # were free, and so how long the engine worked.)
        if job.is_visible(self._clock()):
            raise _decided(job.shown(self._clock()))
        values = {"decided_by": caller.name, "decided": self._clock(), "state": "cancelled"}
        states = ("waiting", "queued", "working", "over")
        return self._changed(job, caller, states, "release_cancelled", values)

    def _changed(
        self,
        job: Job,
        caller: Caller,
        states: tuple[str, ...],
        action: str,
        values: dict[str, Any],
        also: Callable[[], None] = lambda: None,
    ) -> Job:
        """Change a job, once; where what else is to be done raises, it stays as it was."""
        with self.queue.transaction() as run:
            changed = self.queue.change(run, job.id, states, **values)
            if changed is not None:
                also()
                said = {"reason": values["reason"]} if "reason" in values else {}
                self._audit(action, run, changed, caller, said)
        if changed is None:
            now = self.queue.find(job.id) or job
            raise _decided(now.shown(self._clock()))
        return changed

    # --- answers -----------------------------------------------------------------------------

    def work(self, job: Job) -> Outcome:
        """Answer a job: what a worker does."""
        hosted = self._hosted(job.dataset)
        hosted.refresh()
        question, price = self._unchanged(job, hosted, on_paper=False)
        question.release(**price)
        return Outcome(True)

    def answer(self, job: Job) -> Answer:
        """Return the answer that the ledger holds for a job that is done."""
        hosted = self._hosted(job.dataset)
        free = self.free.again(job, hosted)
        if free is not None:
            try:
                return Answer.free(free, held_by(self._question(job, hosted)[0]).arrangement)
            except UsageError:  # the data set was declared anew: it stands as it was
                return Answer.free(free)
        try:
            question, price = self._question(job, hosted)
            found = recorded_answer(question, **price)
        except UsageError:  # the data set was declared anew: the answer stands as it was released
            found = None
        if found is None:
            ledger = hosted.ledger(job.team)
            entry = ledger.find(job.key)
            if entry is None or entry.answer is None:
                raise Problem("gone", "the ledger does not hold the answer any more")
            found = Answer.of(entry, ledger)
        found.replayed = job.replayed
        return found

    def _unchanged(
        self, job: Job, hosted: Hosted, *, on_paper: bool = True
    ) -> tuple[Question, Any]:
        question, price = self._question(job, hosted, on_paper)
        if charge_of(question, **price).key != job.key:
            raise Problem(
                "conflict",
                "the data set was changed since this was asked, and it is another question now",
                "ask again",
            )
        return question, price

    def _question(self, job: Job, hosted: Hosted, on_paper: bool = True) -> tuple[Question, Any]:
        ask = Ask.from_json(json.loads(job.body))
        question = ask.question(hosted, asker_of(job), on_paper=on_paper)
        return question, {**ask.price, "tag": ask.tag}


def _body(ask: Ask) -> str:
    return json.dumps(ask.to_json(), sort_keys=True)


def _same(job: Job, dataset: str, body: str, own: bool) -> Job:
    """Return the job of an idempotency key; of one's own team, where teams stand apart."""
    if (job.dataset, job.body, own) != (dataset, body, True):
        raise Problem(
            "conflict",
            "this Idempotency-Key belongs to another request of yours",
            "use a new key for a new request",
            {"release": job.id} if own and job.dataset == dataset else {},
        )
    return job


def _decided(state: str) -> Problem:
    return Problem("conflict", f"this release is {state} already", "", {"state": state})
