"""The queue of releases: jobs, ticks and the rows that store them."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import sqlalchemy as sa

from tacit.service.access import Caller, UserRequest, request_columns
from tacit.service.database import Database, Prepared, metadata

# Ticks: when the outcome of a question becomes visible, as a function of the public clock.
#
# A question that is asked at time s of a data set of latency L has its ticks at s + L, s + 2L,
# s + 4L, s + 8L and so on.  Whatever its outcome is, an answer, a refusal that took the data, a
# failure, it becomes visible at the first tick after the engine was done, and until then every look
# at it shows the same.
#
# **What time reveals.**  Who watches a question learns at which tick it became visible, and nothing
# finer.  Where every question is done within L, that is the first tick whatever the data is:
# nothing. Where an engine takes a time T between L and L * 2^k, it is one of k + 1 ticks, log2(k +
# 1) bits at most; the doubling is what keeps this logarithmic in the time.  Choose L above the time
# of the slowest question, and watch the count recently ticks.
#
# The margin: an outcome is written down before its tick, or it waits for the next one, so that no
# look between the two distinguishes them.


_MIN_MARGIN = 0.02
_MARGIN_SHARE = 0.05
_MAX_MARGIN = 0.5


def margin(latency: float) -> float:
    """Return how long before its tick an outcome must be written, in seconds."""
    return min(max(_MIN_MARGIN, latency * _MARGIN_SHARE), _MAX_MARGIN, latency / 2)


def next_tick(start: float, latency: float, now: float) -> float:
    """Return the first tick after a moment.

    >>> next_tick(100, 2, 100), next_tick(100, 2, 102), next_tick(100, 2, 105)
    (102, 104, 108)
    """
    wait = latency
    while start + wait <= now:
        wait *= 2
    return start + wait


def tick_after(start: float, latency: float, done: float) -> float:
    """Return the tick at which an outcome written at ``done`` becomes visible.

    >>> tick_after(100, 2, 100.5), tick_after(100, 2, 101.95)
    (102, 104)
    """
    return next_tick(start, latency, done + margin(latency))


def ticks_late(start: float, latency: float, visible: float) -> int:
    """Return by how many ticks an outcome was late.

    >>> ticks_late(100, 2, 102), ticks_late(100, 2, 108)
    (0, 2)
    """
    late, wait = 0, latency
    while start + wait < visible:
        wait, late = wait * 2, late + 1
    return late


# A job: a requested release, and what callers see of it at a moment.


STATES = ("waiting", "running", "done", "refused", "failed", "cancelled")  # what a caller sees


@dataclass(frozen=True)
class Outcome:
    """Outcome of a job: done, or failed with an error in the one shape."""

    done: bool
    error: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Job(UserRequest):
    number: int  # its position in the order of asking
    body: str  # the request, as JSON
    words: str  # the question, in words
    cost: str  # its price, the JSON of a budget
    key: str  # of its entry in the ledger
    once: str | None  # its idempotency key
    state: str  # in the queue; callers see :meth:`shown`
    # when its clock started: when it was asked, or approved
    started: float
    latency: float  # between two ticks at first, in seconds
    worker: str | None
    attempts: int  # how often it was started
    outcome: str | None  # ``done`` or ``failed``, once it is over
    visible: float | None  # when its outcome is shown
    error: str | None  # why it failed
    replayed: bool  # True if its answer was visible when it was asked
    decided_by: str | None  # who approved or refused it, or cancelled it
    decided: float | None
    reason: str | None  # why it was refused

    def shown(self, now: float) -> str:
        """Return the state that a caller sees at a moment: one of :data:`STATES`."""
        if self.state in ("waiting", "refused", "cancelled"):
            return self.state
        return str(self.outcome) if self.is_visible(now) else "running"

    def is_left_open(self, now: float) -> bool:
        """Return whether it failed or was cancelled after its charge, as seen at a moment."""
        shown = self.shown(now)
        return shown == "failed" or (shown == "cancelled" and self.outcome == "failed")

    def is_visible(self, now: float) -> bool:
        """Return whether its outcome is shown at a moment."""
        return self.state == "over" and self.visible is not None and now >= self.visible

    def ready_at(self, now: float) -> float | None:
        """Return when to look next; None where no clock runs."""
        if self.state in ("waiting", "refused", "cancelled"):
            return None
        if self.is_visible(now):
            return self.visible
        return next_tick(self.started, self.latency, now)

    def progress(self, now: float) -> float:
        """Return how much of the wait for the next tick is over, by the public clock alone."""
        shown, ready = self.shown(now), self.ready_at(now)
        if shown != "running" or ready is None:
            return 0.0 if shown == "waiting" else 1.0
        passed = max(0.0, now - self.started) / (ready - self.started)
        return round(min(passed, 1.0), 2)

    @property
    def late(self) -> int:
        """By how many ticks its outcome came after the first."""
        return 0 if self.visible is None else ticks_late(self.started, self.latency, self.visible)


Act: TypeAlias = tuple[Job, Caller, Mapping[str, Any]]  # of a caller on a job, with its details
# Records acts of one kind, in the transaction that does them.
Audit: TypeAlias = Callable[[str, sa.Connection, Sequence[Act]], None]


# The queue of releases, in the database of the service: requested once, claimed by one, never lost.
#
# A job refers to the entry of the ledger by its key, and has no answer.  Its states::
#
#     waiting --approve--> queued --claim--> working --finish--> over
#        |                   |  ^               |
#      refuse              cancel `-- lease ends --'
#
# - **Asked once.**  With an idempotency key the same request of the same person is the same
#   job.
# - **Claimed by one.**  A worker claims the oldest job in an exclusive transaction, and holds it as
#   long as it renews its lease.  A process that dies stops renewing; another worker claims the job
#   and asks the ledger the same question, which continues under the existing charge.
# - **Two workers of one job do no harm.**  A worker that lost its lease and lives (a machine that
#   slept, a clock that was put forward) may finish too: the ledger gives both the one answer that
#   was recorded first, and the job takes its outcome from the worker with the lease.
# - **Clocks.**  A lease that ends later than a lease can is void, so a clock that was set back
#   holds no job for longer than a lease.


LEASE = 30.0  # seconds for which a silent worker keeps its job
# For how long an idempotency key represents its request; then it may represent another one.
KEY_SECONDS = 7 * 24 * 3600.0
# How often a job is started: one whose worker dies each time would be started for ever.
MAX_ATTEMPTS = 5

_LOCK = "jobs"
_jobs = sa.Table(
    "job",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("id", sa.String(32), nullable=False, unique=True),
    sa.Column("dataset", sa.String(100), nullable=False, index=True),
    *request_columns(index=True),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("words", sa.Text, nullable=False),
    sa.Column("cost", sa.Text, nullable=False),
    sa.Column("key", sa.String(64), nullable=False, index=True),
    sa.Column("once", sa.String(200)),
    sa.Column("state", sa.String(10), nullable=False, index=True),
    sa.Column("started", sa.Float, nullable=False),
    sa.Column("latency", sa.Float, nullable=False),
    sa.Column("worker", sa.String(32)),
    sa.Column("lease", sa.Float, nullable=False, default=0.0),
    sa.Column("attempts", sa.Integer, nullable=False, default=0),
    sa.Column("outcome", sa.String(10)),
    sa.Column("visible", sa.Float, index=True),
    sa.Column("error", sa.Text),
    sa.Column("replayed", sa.Boolean, nullable=False, default=False),
    sa.Column("decided_by", sa.String(100)),
    sa.Column("decided", sa.Float),
    sa.Column("reason", sa.Text),
    sa.Column("told", sa.Boolean, key="reported", nullable=False, default=False),
    sa.UniqueConstraint("asked_by", "once"),
)
# Those whose tick is still to come, or to be reported: few, however many jobs there were.
_unreported = _jobs.c.reported.is_(False)
sa.Index("job_unreported", _jobs.c.visible, sqlite_where=_unreported, postgresql_where=_unreported)

_free = sa.Table(
    "free_answer",
    metadata,
    sa.Column("job", sa.String(32), primary_key=True),
    sa.Column("said", sa.Text, key="recipe", nullable=False),
)


_COLUMNS = [_jobs.c[name].label(name) for name in Job.__dataclass_fields__]


class JobScope(NamedTuple):
    """Jobs that a caller may see: those of a data set, of all people or of one."""

    dataset: str
    who: str | None = None
    team: tuple[str | None] | None = None  # of that person alone, with ledgers per team

    def where(self) -> sa.ColumnElement[bool]:
        condition = _jobs.c.dataset == self.dataset
        if self.who is not None:
            condition = sa.and_(condition, _jobs.c.asked_by == self.who)
        if self.team is not None:
            condition = sa.and_(condition, _jobs.c.team.is_not_distinct_from(self.team[0]))
        return condition


class Queue:
    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database, self._clock = database, clock

    def add(self, run: sa.Connection, *each: Mapping[str, Any]) -> list[Job]:
        """Add jobs in a transaction; an idempotency key belongs to its first job."""
        # run: the transaction, under the lock of the jobs.
        for values in each:
            once = values.get("once")
            if once is not None:
                same = sa.and_(_jobs.c.asked_by == values["asked_by"], _jobs.c.once == once)
                old = _jobs.c.asked_at <= self._clock() - KEY_SECONDS
                run.execute(_jobs.update().where(same, old).values(once=None))
        new = [{**_NEW, "id": secrets.token_hex(16), **values} for values in each]
        return [Job(*row) for ((*row,),) in _INSERT.rows_of_each(run, new)]

    def remove(self, run: sa.Connection, jobs: Sequence[Job]) -> None:
        """Remove jobs that were added in the same transaction."""
        if jobs:
            run.execute(_jobs.delete().where(_jobs.c.id.in_([job.id for job in jobs])))

    def add_free(self, run: sa.Connection, job: Job, recipe: Mapping[str, Any]) -> None:
        """Store the recipe of the free answer of a job, in the same transaction."""
        run.execute(_free.insert().values(job=job.id, recipe=json.dumps(recipe)))

    def free(self, name: str) -> dict[str, Any] | None:
        recipe = self._database.scalar(_RECIPE, name=name)
        return None if recipe is None else dict(json.loads(recipe))

    def answered(self, allowed: Sequence[JobScope], limit: int) -> dict[str, str]:
        """Return the ledger keys of visible answers, each with the first job that shows it."""
        if not allowed:
            return {}
        mine = sa.and_(sa.or_(*(one.where() for one in allowed)), self._shown("done"))
        own = sa.and_(mine, _jobs.c.id.not_in(sa.select(_free.c.job)))
        first = sa.func.min(_jobs.c.number)
        latest = (
            sa.select(first).where(own).group_by(_jobs.c.key).order_by(first.desc()).limit(limit)
        )
        query = sa.select(_jobs.c.key, _jobs.c.id).where(_jobs.c.number.in_(latest))
        rows = self._database.rows(query.order_by(_jobs.c.number))
        return {str(key): str(name) for key, name in rows}

    def transaction(self, *, durable: bool = True) -> Any:
        """Begin a transaction that excludes others on jobs."""
        return self._database.begin(lock=_LOCK, durable=durable)

    def find(self, name: str) -> Job | None:
        rows = self._database.mappings(_BY_ID, name=name)
        return Job(**rows[0]) if rows else None

    def find_all(self, names: Sequence[str]) -> dict[str, Job]:
        """Return the jobs of some names."""
        query = sa.select(*_COLUMNS).where(_jobs.c.id.in_(names))
        return {row["id"]: Job(**row) for row in self._database.mappings(query)}

    def find_by_key(self, who: str, once: str, run: sa.Connection | None = None) -> Job | None:
        """Return the job of an idempotency key of a person, in the last week."""
        fresh = _jobs.c.asked_at > self._clock() - KEY_SECONDS
        where = sa.and_(_jobs.c.asked_by == who, _jobs.c.once == once, fresh)
        with self._database.reading(run) as reading:
            return self._one(reading, where)

    def unfinished_of(self, run: sa.Connection, people: Iterable[str]) -> dict[str, int]:
        """Return how many jobs of each person are not over, as callers see them."""
        names, now = list(dict.fromkeys(people)), self._clock()
        rows = _UNFINISHED.rows_of_each(run, [{"who": name, "now": now} for name in names])
        return {name: int(many) for name, ((many,),) in zip(names, rows, strict=True)}

    def asked_and_seen(
        self, dataset: str, key: str, team: tuple[str | None] | None = None
    ) -> tuple[bool, bool]:
        """Return whether a question was asked, and whether its answer was seen: it stays so."""
        values = {"dataset": dataset, "key": key, "now": self._clock()}
        if team is None:
            ((any_job, any_seen),) = self._database.rows(_SEEN, **values)
        else:
            ((any_job, any_seen),) = self._database.rows(_SEEN_IN_TEAM, **values, team=team[0])
        return bool(any_job), bool(any_seen)

    def first_done(self, job: Job, *, of_team: bool) -> Job | None:
        """The first job with the answer that a job shows; it may be the job itself."""
        values = {"dataset": job.dataset, "key": job.key, "now": self._clock()}
        if of_team:
            rows = self._database.mappings(_FIRST_IN_TEAM, **values, team=job.team)
        else:
            rows = self._database.mappings(_FIRST, **values)
        return Job(**rows[0]) if rows else None

    def listed(
        self,
        allowed: Sequence[JobScope],
        *,
        state: str | None = None,
        left_open: bool = False,
        per_team: Sequence[str] = (),
        before: int | None = None,
        limit: int = 100,
    ) -> list[Job]:
        """Return jobs, the latest first."""
        # left_open: only those that failed or were cancelled after their charge, which has no
        # answer.
        if not allowed:
            return []
        query = sa.select(*_COLUMNS).where(sa.or_(*(one.where() for one in allowed)))
        if before is not None:
            query = query.where(_jobs.c.number < before)
        query = query if state is None else query.where(self._shown(state))
        if left_open:
            query = query.where(
                sa.or_(self._shown("failed"), _CANCELLED_LATE), ~self._answered(per_team)
            )
        query = query.order_by(_jobs.c.number.desc()).limit(limit)
        with self._database.read() as run:
            return [Job(**row) for row in run.execute(query).mappings()]

    def change(
        self, run: sa.Connection, name: str, states: Sequence[str], **values: Any
    ) -> Job | None:
        """Change a job that is in one of some states; None where it is in none of them."""
        where = sa.and_(_jobs.c.id == name, _jobs.c.state.in_(states))
        if run.execute(_jobs.update().where(where).values(**values)).rowcount != 1:
            return None
        return self._by_id(run, name)

    # --- for workers

    def claim(self, worker: str) -> Job | None:
        """Claim the oldest job that is queued, or whose worker stopped; None if there is none."""
        now = self._clock()
        limits = {"now": now, "latest": now + 2 * LEASE}
        # A file has one lock for all who write: it is not taken where there is nothing to claim.
        if not self._database.on_server and self._database.scalar(_NEXT, **limits) is None:
            return None
        rows = self._database.alone(_CLAIM, by=worker, until=now + LEASE, **limits)
        return Job(*rows[0]) if rows else None

    def renew(self, worker: str, names: Iterable[str]) -> None:
        """Renew the leases of the jobs that a worker works on."""
        own = sa.and_(_jobs.c.worker == worker, _jobs.c.id.in_(list(names)))
        where = sa.and_(own, _jobs.c.state == "working")
        with self.transaction(durable=False) as run:
            run.execute(_jobs.update().where(where).values(lease=self._clock() + LEASE))

    def finish(self, job: Job, outcome: Outcome) -> bool:
        """Write the outcome of a job, for its next tick; False if another worker has it now."""
        error = None if outcome.error is None else json.dumps(outcome.error)
        visible = tick_after(job.started, job.latency, self._clock())
        values = {
            "name": job.id,
            "by": job.worker,
            "start": job.attempts,
            "how": "done" if outcome.done else "failed",
            "why": error,
            "tick": visible,
        }
        written = bool(self._database.alone(_FINISH, **values))
        now = self._clock()
        if written and now > visible:  # the database took longer than the margin
            later = next_tick(job.started, job.latency, now)
            with self.transaction(durable=False) as run:
                run.execute(_jobs.update().where(_jobs.c.id == job.id).values(visible=later))
        return written

    def newly_visible(self) -> Generator[tuple[sa.Connection, list[Job]], None, None]:
        """Yield the jobs whose tick came, each once among all processes, many at a time."""
        # Yields: the jobs, and the transaction in which they are marked as reported.
        while self._database.scalar(_DUE, now=self._clock()) is not None:
            with self.transaction() as run:
                jobs = [Job(**row) for row in _DUE.mappings(run, now=self._clock())]
                if not jobs:  # another process was first
                    return
                names = [job.id for job in jobs]
                run.execute(_jobs.update().where(_jobs.c.id.in_(names)).values(reported=True))
                yield run, jobs

    def count_by_state(self) -> dict[tuple[str, str], int]:
        """Return the number of jobs of each data set and state, as callers see them."""
        now = self._clock()
        counts: dict[tuple[str, str], int] = {}
        for state in STATES:
            query = sa.select(_jobs.c.dataset, sa.func.count()).where(self._shown(state, now))
            for dataset, number in self._database.rows(query.group_by(_jobs.c.dataset)):
                counts[dataset, state] = number
        return counts

    def _shown(self, state: str, now: float | None = None) -> sa.ColumnElement[bool]:
        return _shown_at(state, self._clock() if now is None else now)

    def _answered(self, per_team: Sequence[str]) -> sa.ColumnElement[bool]:
        """True if the question of a job was answered by a later job, as callers see it."""
        again = _jobs.alias()
        done = sa.and_(again.c.outcome == "done", again.c.visible <= self._clock())
        same = sa.and_(again.c.dataset == _jobs.c.dataset, again.c.key == _jobs.c.key)
        one_ledger = sa.or_(
            ~_jobs.c.dataset.in_(per_team), again.c.team.is_not_distinct_from(_jobs.c.team)
        )
        return sa.exists().where(same, one_ledger, done)

    @staticmethod
    def _one(run: sa.Connection, where: sa.ColumnElement[bool]) -> Job | None:
        row = run.execute(sa.select(*_COLUMNS).where(where)).mappings().one_or_none()
        return None if row is None else Job(**row)

    @staticmethod
    def _by_id(run: sa.Connection, name: str) -> Job | None:
        rows = _BY_ID.mappings(run, name=name)
        return Job(**rows[0]) if rows else None


# Changes of a job that is cancelled: what waits for a decision is not charged yet.
CANCELLED: dict[str, Any] = {
    "state": "cancelled",
    "outcome": sa.case((_jobs.c.state == "waiting", sa.null()), else_="failed"),
}
_CANCELLED_LATE = sa.and_(_jobs.c.state == "cancelled", _jobs.c.outcome == "failed")


def _shown_at(state: str, moment: float) -> sa.ColumnElement[bool]:
    if state in ("waiting", "refused", "cancelled"):
        return _jobs.c.state == state
    visible = sa.and_(_jobs.c.state == "over", _jobs.c.visible <= moment)
    if state in ("done", "failed"):
        return sa.and_(visible, _jobs.c.outcome == state)
    unseen = sa.and_(_jobs.c.state == "over", _jobs.c.visible > moment)
    return sa.or_(_jobs.c.state == "queued", _jobs.c.state == "working", unseen)


# The statements of every request and every job.
#
# The claim, the lease and the outcome of a job are not durable each: a machine that stops forgets
# them, the job is claimed again, and the ledger gives the answer that it recorded.  What callers
# were told (:meth:`Queue.newly_visible`) is durable, and all before it with it.

_MAX_REPORTED = 100  # jobs in one transaction: others of the database wait for its end
_now: sa.BindParameter[float] = sa.bindparam("now", type_=sa.Float)
_NEW: dict[str, Any] = {
    column.key: getattr(column.default, "arg", None) for column in _jobs.c if column.key != "number"
}
_INSERT = Prepared(_jobs.insert().returning(*_COLUMNS), list(_NEW))
_BY_ID = Prepared(sa.select(*_COLUMNS).where(_jobs.c.id == sa.bindparam("name")))
_RECIPE = Prepared(sa.select(_free.c.recipe).where(_free.c.job == sa.bindparam("name")))
# Found by other indexes: most jobs are over, and a person may have asked very often.
_over = (_jobs.c.state + "") == "over"
_of_person = (_jobs.c.asked_by + "") == sa.bindparam("who", type_=sa.String)
_UNFINISHED = Prepared(
    sa.select(
        sa.select(sa.func.count())
        .where(
            sa.or_(*(_jobs.c.state == state for state in ("waiting", "queued", "working"))),
            _of_person,
        )
        .scalar_subquery()
        + sa.select(sa.func.count())
        .where(_unreported, _jobs.c.visible > _now, _over, _of_person)
        .scalar_subquery()
    )
)
# A question may have been asked very often: one job that was seen is enough.
_same_question = sa.and_(
    (_jobs.c.dataset + "") == sa.bindparam("dataset"), _jobs.c.key == sa.bindparam("key")
)
_asked = _jobs.select().where(
    _same_question, _jobs.c.state != "waiting", _jobs.c.state != "refused"
)
_done = sa.and_(_over, _jobs.c.outcome == "done", _jobs.c.visible <= _now)
_in_team = _jobs.c.team.is_not_distinct_from(sa.bindparam("team"))


def _asked_and_seen(asked: sa.Select[Any]) -> Prepared:
    return Prepared(sa.select(asked.exists(), asked.where(_done).exists()))


_SEEN, _SEEN_IN_TEAM = _asked_and_seen(_asked), _asked_and_seen(_asked.where(_in_team))
_first = sa.select(*_COLUMNS).where(_same_question, _done).order_by(_jobs.c.number).limit(1)
_FIRST, _FIRST_IN_TEAM = Prepared(_first), Prepared(_first.where(_in_team))
_void = sa.or_(_jobs.c.lease < _now, _jobs.c.lease > sa.bindparam("latest", type_=sa.Float))
_next = (
    sa.select(_jobs.c.id)
    .where(sa.or_(_jobs.c.state == "queued", sa.and_(_jobs.c.state == "working", _void)))
    .order_by(_jobs.c.started, _jobs.c.number)
    .limit(1)
)
_NEXT = Prepared(_next)
# A server locks the row: who claims at the same time takes the one after it.
_CLAIM = Prepared(
    _jobs.update()
    .where(_jobs.c.id == _next.with_for_update(skip_locked=True).scalar_subquery())
    .values(
        state="working",
        worker=sa.bindparam("by"),
        lease=sa.bindparam("until"),
        attempts=_jobs.c.attempts + 1,
    )
    .returning(*_COLUMNS)
)
_FINISH = Prepared(
    _jobs.update()
    .where(
        _jobs.c.id == sa.bindparam("name"),
        _jobs.c.worker == sa.bindparam("by"),
        _jobs.c.attempts == sa.bindparam("start"),
        _jobs.c.state == "working",
    )
    .values(
        state="over",
        outcome=sa.bindparam("how"),
        error=sa.bindparam("why"),
        visible=sa.bindparam("tick"),
    )
    .returning(_jobs.c.id)
)
_DUE = Prepared(
    sa.select(*_COLUMNS)
    .where(_unreported, _over, _jobs.c.visible <= _now)
    .order_by(_jobs.c.visible)
    .limit(_MAX_REPORTED)
)
