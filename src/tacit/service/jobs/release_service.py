"""Requests for releases: free ones are answered at once, the others are queued."""

from __future__ import annotations

import datetime
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import exc

from tacit.accounting.ledger import Ledger, charge_each
from tacit.accounting.ledger_chain import Payment
from tacit.errors import UsageError
from tacit.report import Certificate
from tacit.service.access import Caller, Decisions, decide, request_values, requester_of
from tacit.service.database import GroupCommit, Later
from tacit.service.hosting.ask import Ask, members_of, words_of
from tacit.service.hosting.datasets import Asked, Hosted, LRUCache, PricedAsk, require
from tacit.service.jobs.queue import CANCELLED, Audit, Job, JobScope, Outcome, Queue
from tacit.service.problem import Problem
from tacit.tables.derived.derive import Charged, Earlier, charged, free_again, may_follow
from tacit.tables.joint_plans.planning import QuestionPlan, answers_of, plan_parts
from tacit.tables.plan.query import Query
from tacit.tables.question import (
    Question,
    charge_of,
    check_release,
    question_parts,
    recorded_answer,
    release_charged,
)
from tacit.tables.release.answer import Answer
from tacit.tables.release.release import QueryCharge

# Answers that follow from earlier releases, for those who may see these releases: at no charge.
#
# **From which.**  From answered releases whose job the caller may see, and whose tick has come:
# their own, those that they were answered with again, and all of a data set where they have the
# right to see all.  What someone else asked is neither read nor counted, so neither the answer nor
# the time that it takes reveals anything of it.
#
# **Its time depends**  On the certificates of these releases, which the caller can read,
# and on the question.  No row is read, no engine queried, and no noise drawn; so nothing waits for
# a tick, and there is nothing for a reviewer to decide.
#
# **Storage.**  The ledger has, next to the charge of a release, the question and the
# digest of the certificate that follows.  The database of the service has what makes the same
# certificate again: the question, and by which keys the ledger knows the releases; no answer.


MAX_RELEASES = 500  # from this many releases, the latest, answers of a caller may follow
MAX_RECORDS = 1_000  # this many answers that follow from it the ledger notes next to a charge
_LONGEST_BATCH = 10.0  # seconds after which the rest of a batch is refused
_MAX_ADDED = 32  # jobs added in one transaction: others of the database wait for its end
_CALLERS = 32  # callers whose releases are cached in a process
_MAX_SEEN = 1_000  # questions of a caller whose answers are known to have been seen
_NUMBERS = 200_000  # maximum numbers in the cached releases of a caller


class _Seen(NamedTuple):
    """A release that a caller may see: its key in the ledger, and the job that shows it."""

    key: str
    job: str


class _Due(NamedTuple):
    """What is charged for a job."""

    ledger: Ledger
    payment: Payment


class _New(NamedTuple):
    """A job to be added."""

    caller: Caller
    values: Mapping[str, Any]
    due: _Due | None  # what is charged for it
    free: Mapping[str, Any] | None  # the recipe of a free answer


class _NotInsertedError(Exception):
    """A job cannot be inserted, and the transaction must be undone."""

    def __init__(self, why: Exception) -> None:
        super().__init__()
        self.why = why


class Made(NamedTuple):
    """A free answer: its certificate, and the recipe to make it again."""

    certificate: Certificate
    recipe: dict[str, Any]


class VisibleAnswers:
    """Answers that follow from the releases that a caller may see."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._cache: LRUCache[dict[str, Charged | None]] = LRUCache(_CALLERS)

    def errors(
        self, hosted: Hosted, caller: Caller, asked: Asked, tag: str | None
    ) -> dict[str, dict[str, Any]]:
        """The standard error of the free answer of each label, and the release it is from."""
        # Returns: nothing of a question that does not follow from what the caller may see.
        members = [(names, query) for names, query in members_of(asked) if may_follow(query)]
        if not members:
            return {}
        question = plan_parts(asked).question if isinstance(asked, QuestionPlan) else asked
        earlier, seen = self._earlier(hosted, caller, question, tag)
        matches = [(names, earlier.find(query)) for names, query in members]
        return {
            names.get(label, label): {
                "standard_error": error,
                "release": seen[match.sources[label].body["digest"]].job,
            }
            for names, match in matches
            if match is not None
            for label, error in match.errors.items()
        }

    def make(self, hosted: Hosted, caller: Caller, question: Question, tag: str | None) -> Made:
        """Make a free answer, and note in the ledger from which releases it follows."""
        query: Query = question_parts(question).query
        certificate = None
        if may_follow(query):
            earlier, seen = self._earlier(hosted, caller, question, tag)
            (certificate,) = earlier.certificates([query], MAX_RECORDS)
        if certificate is None:
            raise UsageError(
                "it does not follow from the releases that you may see, so it is not free; nothing "
                "was spent. Counts follow where they are sums of cells that were counted before, "
                "of the same rows; ask without free, and give a price"
            )
        body: Any = certificate.body
        sources = [seen[source["digest"]] for source in body["sources"]]
        recipe = {
            "question": body["question"],
            "versions": body["versions"],
            "keys": [source.key for source in sources],
            "releases": {label: sources[index].job for label, index in body["from"].items()},
        }
        return Made(certificate, recipe)

    def again(self, job: Job, hosted: Hosted) -> Certificate | None:
        """Return the certificate of a free answer again; None where a job is of another kind."""
        recipe = self._queue.free(job.id)
        if recipe is None:
            return None
        ledger = hosted.ledger(job.team)
        entries = [ledger.find(key) for key in recipe["keys"]]
        releases = [None if entry is None else charged(entry, ledger) for entry in entries]
        bodies = [one.body for one in releases if one is not None]
        made = None
        if len(bodies) == len(releases):
            made = free_again(recipe["question"], bodies, recipe["versions"])
        if made is None:
            raise Problem(
                "gone", "the ledger no longer has the releases that the answer follows from"
            )
        return made

    def releases(self, job: Job) -> dict[str, str]:
        """Return of each label the release that a free answer follows from; nothing for others."""
        recipe = self._queue.free(job.id)
        return {} if recipe is None else dict(recipe["releases"])

    def _earlier(
        self, hosted: Hosted, caller: Caller, question: Question, tag: str | None
    ) -> tuple[Earlier, dict[str, _Seen]]:
        """Return the releases that a caller may see, and by the digest of each its key and job."""
        ledger = question_parts(question).ledger
        seen = self._queue.answered(_scopes(hosted, caller), MAX_RELEASES)
        who = (hosted.name, hosted.identity, ledger.id, caller.name, caller.team)
        cached = self._cache.of(who, dict)
        for key in set(cached) - set(seen):
            cached.pop(key, None)
        left = _NUMBERS - sum(map(_size, list(cached.values())))
        known: dict[str, Charged] = {}
        by_digest: dict[str, _Seen] = {}
        for key, job in seen.items():
            try:
                one = cached[key]
            except KeyError:  # or another request of theirs, with later releases, evicted it
                one = self._read(ledger, key)
                if _size(one) <= left:
                    cached[key] = one
                    left -= _size(one)
            if one is not None:
                known[key] = one
                by_digest[one.body["digest"]] = _Seen(key, job)
        return Earlier(ledger, (), tag, known.values()), by_digest

    @staticmethod
    def _read(ledger: Ledger, key: str) -> Charged | None:
        entry = ledger.find(key)
        release = None if entry is None else charged(entry, ledger)
        return None if release is None or release.release is None else release


def _size(one: Charged | None) -> int:
    tables = () if one is None or one.release is None else one.release.tables
    return sum(table.values.size for table in tables)


def _scopes(hosted: Hosted, caller: Caller) -> list[JobScope]:
    """Return the releases of a data set that a caller may see, of the ledger that pays for them."""
    team = (caller.team,) if hosted.owner.per_team else None
    if decide(caller, "see_releases", hosted.name).allowed:
        return [JobScope(hosted.name, None, team)]
    if decide(caller, "see_own_releases", hosted.name).allowed:
        return [JobScope(hosted.name, caller.name, team)]
    return []


# The release service: takes questions, has them approved where a data set requires it, and answers
# them.
#
# **Refusals at once and at a tick.**  Public facts (rights, the syntax of a question,
# the budget) are examined before a job is made, and refused at once.  All that happens afterwards,
# in the worker, is shown at a tick, whatever it is.
#
# **When it is charged.**  At once, when it is asked or approved, and not when a worker takes it:
# that is when the engine was done with what came before, and someone who watches the budget would
# see it. For the same reason an answer that the ledger already has, before its tick, does not
# count as answered for anyone: the same question of someone else waits for a tick of its own.
#
# **What is approved is what runs.**  A job has the request, and the key that the ledger will know
# the release by, which is a digest of the whole question and its price.  The worker builds the
# question again from the request, and answers it only if its key is the one that was approved.


class ReleaseService:
    """Takes and answers the questions of a service."""

    # audit: records who did what, in the transaction that does it.

    def __init__(
        self,
        queue: Queue,
        hosted: Callable[[str], Hosted],
        audit: Audit,
        waiting: int,
        clock: Callable[[], float],
        decisions: Decisions,
    ) -> None:
        self.queue, self.decisions, self.free = queue, decisions, VisibleAnswers(queue)
        self._hosted, self._audit = hosted, audit
        self._waiting, self._clock = waiting, clock
        self.wake: Callable[[], None] = lambda: None
        # when a schedule makes the release of a key; None where none does
        self.scheduled: Callable[[Hosted, Caller, str], float | None] = lambda *_: None
        self._add = GroupCommit(self._add_together, _MAX_ADDED)
        self._seen: LRUCache[set[str]] = LRUCache(_CALLERS)

    def submit(self, dataset: str, caller: Caller, ask: Ask, once: str | None = None) -> Job:
        """Take a question; the same request under the same idempotency key is the same job."""
        return self.begin(dataset, caller, ask, once).wait()

    def begin(self, dataset: str, caller: Caller, ask: Ask, once: str | None = None) -> Later[Job]:
        """Take a question; its job is there once it is committed."""
        body = ask.body
        hosted = self._hosted(dataset)
        if once is not None:
            known = self.queue.find_by_key(caller.name, once)
            if known is not None:
                return Later.now(_same(known, dataset, body, hosted.is_own(caller, known.team)))
        if ask.free:
            return self._free(hosted, caller, ask, ask.question(hosted, caller), once)
        question, charge, words = self._priced(ask, hosted, caller)
        state = charge.look()
        key, cost = charge.key, charge.cost_of(state)
        answered = state.is_answered and not self.hides(hosted, caller, key)
        how = hosted.settings
        approved_later = how.approval and not answered
        if not cost.is_nothing:
            require(state.head, state.accounts, (cost,))
            check_release(question, charge, state)
        elif not answered:
            self._refuse_scheduled(hosted, caller, key)
        values = self._values(hosted, caller, ask, words, once)
        values |= {
            "cost": json.dumps(cost.to_json()),
            "key": key,
            "state": "waiting" if approved_later else "queued",
        }
        if answered:  # what everybody here may see costs nothing and takes no time
            values |= {**self._at_once(), "replayed": True}
        if answered or approved_later or state.is_charged:
            return self._added(caller, values, None)
        return self._added(caller, values, _Due(charge.ledger, charge.payment(state)))

    def _free(
        self, hosted: Hosted, caller: Caller, ask: Ask, question: Question, once: str | None
    ) -> Later[Job]:
        """Add a job whose answer follows from releases that the caller may see; it is free."""
        made = self.free.make(hosted, caller, question, ask.tag)
        body: Any = made.certificate.body
        words = words_of(question, ask.tag)
        values = self._values(hosted, caller, ask, words, once) | self._at_once()
        values |= {"cost": json.dumps(body["spent"]["cost"]), "key": body["digest"]}
        return self._added(caller, values, None, made.recipe)

    def _values(
        self, hosted: Hosted, caller: Caller, ask: Ask, words: str, once: str | None
    ) -> dict[str, Any]:
        now = self._clock()
        return {
            "dataset": hosted.name,
            **request_values(caller, now),
            "body": ask.body,
            "words": words,
            "once": once,
            "started": now,
            "latency": float(hosted.settings.latency),
        }

    def _at_once(self) -> dict[str, Any]:
        return {"state": "over", "outcome": "done", "visible": self._clock(), "reported": True}

    def _refuse_scheduled(self, hosted: Hosted, caller: Caller, key: str) -> None:
        """Raise if a schedule has paid for a release and makes it later."""
        waits = self.waits(hosted, caller, key)
        if waits is not None:
            remedy = "wait for it, or ask with another tag, at a price of its own"
            raise Problem("conflict", waits, remedy)

    def waits(self, hosted: Hosted, caller: Caller, key: str) -> str | None:
        """Return in words when a schedule makes a release that it has paid for, if one does."""
        due = self.scheduled(hosted, caller, key)
        if due is None:
            return None
        at = datetime.datetime.fromtimestamp(due, datetime.UTC)
        return f"a schedule makes this release, on {at:%Y-%m-%d} at {at:%H:%M} UTC"

    def hides(self, hosted: Hosted, caller: Caller, key: str) -> bool:
        """Return True if an answer that the ledger may have must not be seen yet."""
        # What this caller saw is known: whether others asked is not in the time that this takes.
        seen = self._seen.of((hosted.name, caller.name, caller.team), set)
        if key in seen:
            return False
        team = (caller.team,) if hosted.owner.per_team else None
        any_job, any_seen = self.queue.asked_and_seen(hosted.name, key, team)
        if any_seen:
            if len(seen) >= _MAX_SEEN:
                seen.clear()
            seen.add(key)
        return any_job and not any_seen

    def _added(
        self,
        caller: Caller,
        values: dict[str, Any],
        due: _Due | None,
        free: Mapping[str, Any] | None = None,
    ) -> Later[Job]:
        """Add a job and pay for it; where it cannot be paid there is none."""
        # A process that dies in between leaves a charge without a job: asked again, it continues.
        once = values["once"]
        added = Later(self._add.add(_New(caller, values, due, free)), self._woken)
        if once is None:
            return added
        try:
            return Later.now(added.wait())
        except exc.IntegrityError:
            existing = self.queue.find_by_key(caller.name, once)
            if existing is None:
                raise
            own = self._hosted(values["dataset"]).is_own(caller, existing.team)
            return Later.now(_same(existing, values["dataset"], values["body"], own))

    def _woken(self, job: Job) -> Job:
        """Wake a worker for a job."""
        if job.state == "queued":
            self.wake()
        return job

    def _add_together(self, items: list[_New]) -> list[Job | BaseException]:
        """Add the jobs that several threads wait for, in one transaction: each is there or not."""
        try:
            with self.queue.transaction() as run:
                results = self._insert(run, items)
                self.queue.remove(run, self._pay(items, results))
                acts = [
                    (job, new.caller, {"cost": json.loads(job.cost)})
                    for new, job in zip(items, results, strict=True)
                    if isinstance(job, Job)
                ]
                if acts:
                    self._audit("release_asked", run, acts)
        except _NotInsertedError as error:  # one of them, before any was paid
            if len(items) == 1:
                return [error.why]
            return [self._add_together([new])[0] for new in items]
        return results

    def _insert(self, run: sa.Connection, items: list[_New]) -> list[Job | BaseException]:
        """Insert jobs; return each as it is now, or why a caller may have no more."""
        unfinished = self.queue.unfinished_of(run, (new.caller.name for new in items))
        allowed = []
        for new in items:
            allowed.append(unfinished[new.caller.name] < self._waiting)
            if allowed[-1]:  # one that is over is seen at once
                unfinished[new.caller.name] += new.values["state"] != "over"
        jobs = iter(self._inserted(run, list(compress(items, allowed))))
        words = f"{self._waiting} of your questions are not answered yet"
        remedy = "wait for some of them, or cancel some"
        return [next(jobs) if may else Problem("too_many", words, remedy) for may in allowed]

    def _inserted(self, run: sa.Connection, items: list[_New]) -> list[Job]:
        try:
            jobs = self.queue.add(run, *(new.values for new in items))
            for new, job in zip(items, jobs, strict=True):
                if new.free is not None:
                    self.queue.add_free(run, job, new.free)
        except exc.DataError:  # PostgreSQL's, of NUL
            words = "the question has a text that the service cannot store"
            remedy = "leave out the character NUL"
            raise _NotInsertedError(Problem("invalid_request", words, remedy)) from None
        except Exception as error:
            if isinstance(error, exc.SQLAlchemyError) and not isinstance(error, exc.IntegrityError):
                raise  # of the database, and so of all
            raise _NotInsertedError(error) from None
        return jobs

    def _pay(self, items: list[_New], results: list[Job | BaseException]) -> list[Job]:
        """Charge jobs, those of a ledger together; return those that are not paid."""
        # results: the jobs; why one is not paid is in its place then.
        unpaid: list[Job] = []
        end = time.monotonic() + _LONGEST_BATCH
        for ledger, numbers in _by_ledger(items, results):
            payments = [items[n].due.payment for n in numbers]  # type: ignore[union-attr]
            made: Sequence[object]
            try:
                if time.monotonic() > end:
                    busy = "a ledger does not answer in time"
                    raise Problem("unavailable", busy, "try again in a minute")
                made = charge_each(ledger, payments)
            except Exception as error:
                made = [error] * len(numbers)
            for number, one in zip(numbers, made, strict=True):
                job = results[number]
                if isinstance(one, Exception) and isinstance(job, Job):
                    unpaid.append(job)
                    results[number] = one
        return unpaid

    # --- decisions ---------------------------------------------------------------------------

    def approve(self, job: Job, caller: Caller) -> Job:
        """Approve exactly this question at this price: it is charged, and its clock starts."""
        self.decisions.refuse_own(job, caller, "a question")
        if job.state != "waiting":
            raise _decided(job.shown(self._clock()))
        hosted = self._hosted(job.dataset)
        question, charge = self._unchanged(job, hosted)
        self._refuse_scheduled(hosted, requester_of(job), job.key)
        check_release(question, charge)
        now = self._clock()
        decided = {"decided_by": caller.name, "decided": now, "started": now, "state": "queued"}
        approved = self._changed(job, caller, ("waiting",), "release_approved", decided, charge.pay)
        self.wake()
        return approved

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
        """Cancel a question.  What was charged stays charged, and asking again is free then."""
        # (If an unused charge were given back, the budget would reveal when workers
        # were free, and so how long the engine worked.)
        if job.is_visible(self._clock()):
            raise _decided(job.shown(self._clock()))
        values = dict(CANCELLED)
        if job.decided_by is None:  # else who approved it stays
            values |= {"decided_by": caller.name, "decided": self._clock()}
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
        """Change a job once; if ``also`` raises, the job stays unchanged."""
        with self.queue.transaction() as run:
            changed = self.queue.change(run, job.id, states, **values)
            if changed is not None:
                also()
                details = {"reason": values["reason"]} if "reason" in values else {}
                self._audit(action, run, [(changed, caller, details)])
        if changed is None:
            now = self.queue.find(job.id) or job
            raise _decided(now.shown(self._clock()))
        return changed

    # --- answers -----------------------------------------------------------------------------

    def work(self, job: Job) -> Outcome:
        hosted = self._hosted(job.dataset)
        hosted.refresh()
        question, charge = self._unchanged(job, hosted, dry_run=False)
        state = charge.look()
        if state.entry is None:  # a release would charge it again, which no one asked for
            raise Problem(
                "conflict", "the ledger no longer has the charge of this release", "ask again"
            )
        release_charged(question, charge, state)
        return Outcome(True)

    def answer(self, job: Job) -> Answer:
        """Return the answer of a job that is done, from the ledger."""
        hosted = self._hosted(job.dataset)
        free = self.free.again(job, hosted)
        if free is not None:
            try:
                return Answer.free(free, question_parts(self._question(job, hosted)).arrangement)
            except UsageError:  # the data set was declared again: it stays as it was
                return Answer.free(free)
        try:
            released = recorded_answer(*self._unchanged(job, hosted))
        except (UsageError, Problem):  # declared again: the answer stays as released
            released = None
        if released is None:
            ledger = hosted.ledger(job.team)
            entry = ledger.find(job.key)
            if entry is None or entry.answer is None:
                raise Problem("gone", "the ledger no longer has the answer")
            released = Answer.of(entry, ledger)
        released.replayed = job.replayed
        return released

    def answers(self, job: Job) -> list[Answer] | None:
        """Return the answer to each question of a plan that is done; None of a single question."""
        ask = Ask.from_json(json.loads(job.body))
        if not ask.is_plan:
            return None
        released = self.answer(job)
        hosted = self._hosted(job.dataset)
        try:
            self._unchanged(job, hosted)  # else it would be arranged by another plan
            plan = ask.asked(hosted, requester_of(job))
            assert isinstance(plan, QuestionPlan)
            return answers_of(plan, released)
        except (UsageError, Problem):  # declared again: as it was released
            return [released]

    def _unchanged(
        self, job: Job, hosted: Hosted, *, dry_run: bool = True
    ) -> tuple[Question, QueryCharge]:
        ask = Ask.from_json(json.loads(job.body))
        if dry_run:
            question, charge, _ = self._priced(ask, hosted, requester_of(job))
        else:  # on the table that is open for the workers
            question = ask.question(hosted, requester_of(job), dry_run=False)
            charge = charge_of(question, **ask.price)
        same = charge.of_key(job.key)
        if same is None:
            raise Problem(
                "conflict",
                "the data set was changed since this was asked, and it is another question now",
                "ask again",
            )
        return question, same

    @staticmethod
    def _priced(ask: Ask, hosted: Hosted, caller: Caller) -> PricedAsk:
        """Return a question at its price, by public facts alone; those of a caller are cached."""
        return hosted.priced.of(
            (caller.name, caller.team, ask.text), lambda: _priced(ask, hosted, caller)
        )

    @staticmethod
    def _question(job: Job, hosted: Hosted) -> Question:
        return Ask.from_json(json.loads(job.body)).question(hosted, requester_of(job))


def _by_ledger(
    items: Sequence[_New], results: Sequence[Job | BaseException]
) -> Iterable[tuple[Ledger, list[int]]]:
    """Return the positions of the jobs that are to be paid, by the ledger that pays."""
    ledgers: dict[int, tuple[Ledger, list[int]]] = {}
    for number, (new, job) in enumerate(zip(items, results, strict=True)):
        if new.due is not None and isinstance(job, Job):
            ledger = new.due.ledger  # a view of one that others charge as well
            ledgers.setdefault(id(ledger.chain), (ledger, []))[1].append(number)
    return ledgers.values()


def _priced(ask: Ask, hosted: Hosted, caller: Caller) -> PricedAsk:
    asked, question = ask.asked(hosted, caller), ask.question(hosted, caller)
    return PricedAsk(question, charge_of(question, **ask.price), words_of(asked, ask.tag))


def _same(job: Job, dataset: str, body: str, own: bool) -> Job:
    """Return the job of an idempotency key, if it is the same request."""
    same = json.loads(job.body) == json.loads(body)
    if (job.dataset, same, own) != (dataset, True, True):
        raise Problem(
            "conflict",
            "this Idempotency-Key belongs to another request of yours",
            "use a new key for a new request",
            {"release": job.id} if own and job.dataset == dataset else {},
        )
    return job


def _decided(state: str) -> Problem:
    return Problem("conflict", f"this release is {state} already", "", {"state": state})
