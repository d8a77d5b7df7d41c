"""The desk: takes questions, has them decided where a data set asks for it, and answers them.

**What is refused at once, and what at a tick.**  Public facts (rights, the syntax of a question,
the budget) are looked at before a job is made, and refused at once.  All that happens afterwards,
in the worker, is shown at a tick, whatever it is.

**When it is charged.**  At once, when it is asked or approved, and not when a worker takes it: that
is when the engine was done with what came before, and someone who watches the budget would see it.
For the same reason an answer that the ledger holds already, before its tick, does not count as
answered for anybody: the same question of somebody else waits for a tick of its own.

**What is approved is what runs.**  A job holds the request, and the key that the ledger will know
the release by, which is a digest of the whole question and its price.  The worker builds the
question anew from the request, and answers it only if its key is the one that was approved.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc

from tacit.errors import UsageError
from tacit.service.access.caller import Caller
from tacit.service.access.decisions import Decisions, asked_by, asker_of
from tacit.service.hosting.ask import Ask, words_of
from tacit.service.hosting.hosted import Hosted
from tacit.service.jobs.free import FreeDesk
from tacit.service.jobs.queue import Job, Outcome, Queue
from tacit.service.problem import Problem
from tacit.tables.question import Question, held_by
from tacit.tables.release.answer import Answer
from tacit.tables.release.priced import charge_of

__all__ = ["Desk"]

Audit = Callable[[str, sa.Connection, Job, Caller, Mapping[str, Any]], None]


class Desk:
    """Takes and answers the questions of a service.

    Args:
        queue: of the service.
        hosted: returns a data set by its name.
        audit: writes down who did what, in the transaction that does it.
        waiting: the most jobs of one caller that are not over.
        clock: seconds since 1970.
        decisions: keeps who asked from deciding.

    Attributes:
        queue: of the service.
        decisions: who may decide.
        free: finds what follows from earlier releases.
        wake: is called where there is a new job.
    """

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
        """Take a question; the same request under the same idempotency key is the same job.

        Args:
            dataset: the name of the data set.
            caller: who asks.
            ask: what.
            once: the idempotency key.

        Raises:
            UsageError: it cannot be asked.
            BudgetError: the budget or a cap does not cover it; nothing was spent.
            Problem: the key stands for another request, or too many jobs of the caller wait.
        """
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
            question.rehearse(**price)
        values = self._values(hosted, caller, ask, question, once)
        values |= {
            "cost": json.dumps(cost.to_json()),
            "key": key,
            "state": "waiting" if approved_later else "queued",
        }
        if answered:  # what everybody here may see costs nothing and takes no time
            values |= {**self._at_once(), "replayed": True}
        pay = (lambda: None) if approved_later else (lambda: question.pay(**price))
        return self._added(caller, values, pay)

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
        """Add a job and pay for it; where it cannot be paid there is none.

        A process that dies in between leaves a charge without a job: asked again, it goes on.
        """
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
        """Approve exactly this question at this price: it is charged, and its clock begins.

        Raises:
            Problem: the caller asked it themselves, it is decided already, or the data set was
                declared anew since.
            BudgetError: the budget or a cap does not cover it any more; nothing was spent.
        """
        self.decisions.refuse_own(job, caller, "a question")
        if job.state != "waiting":
            raise _decided(job.shown(self._clock()))
        question, price = self._unchanged(job, self._hosted(job.dataset))
        question.rehearse(**price)
        now = self._clock()
        decided = {"decided_by": caller.name, "decided": now, "started": now, "state": "queued"}
        found = self._changed(
            job, caller, ("waiting",), "release_approved", decided, lambda: question.pay(**price)
        )
        self.wake()
        return found

    def refuse(self, job: Job, caller: Caller, reason: str) -> Job:
        """Refuse a question; nothing is spent.

        Raises:
            Problem: the caller asked it themselves, or it is decided already.
        """
        self.decisions.refuse_own(job, caller, "a question")
        decided = {
            "decided_by": caller.name,
            "decided": self._clock(),
            "reason": reason,
            "state": "refused",
        }
        return self._changed(job, caller, ("waiting",), "release_refused", decided)

    def cancel(self, job: Job, caller: Caller) -> Job:
        """Give a question up.  What was charged stays charged, and asking again is free then.

        (Were a charge that no worker has used yet given back, the budget would tell when workers
        were free, and so how long the engine worked.)

        Raises:
            Problem: its outcome is shown already.
        """
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
        """Answer a job: what a worker does.

        Raises:
            TacitError: it cannot be answered; where it was charged, the charge stands.
        """
        hosted = self._hosted(job.dataset)
        hosted.refresh()
        question, price = self._unchanged(job, hosted, on_paper=False)
        question.release(**price)
        return Outcome(True)

    def answer(self, job: Job) -> Answer:
        """Return the answer that the ledger holds for a job that is done.

        Raises:
            Problem: it is not done, or its ledger does not hold it any more.
        """
        hosted = self._hosted(job.dataset)
        free = self.free.again(job, hosted)
        if free is not None:
            try:
                return Answer.free(free, held_by(self._question(job, hosted)[0]).arrangement)
            except UsageError:  # the data set was declared anew: it stands as it was
                return Answer.free(free)
        try:
            question, price = self._question(job, hosted)
            found = question.recorded(**price)
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
        if question.release_key(**price) != job.key:
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
