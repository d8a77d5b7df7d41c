"""Scheduled releases of a growing data set: one question, one budget, and a calendar."""

from __future__ import annotations

import calendar
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, NamedTuple

import sqlalchemy as sa

from tacit.accounting.budget import Budget
from tacit.accounting.ledger_chain import canonical
from tacit.arithmetic.exact import as_integer
from tacit.errors import BudgetError, TacitError, UsageError
from tacit.expressions.timeline import moment
from tacit.report.text import tag_words
from tacit.service.access import (
    Caller,
    Decisions,
    UserRequest,
    request_columns,
    request_values,
    requester_of,
)
from tacit.service.audit_log import AuditLog
from tacit.service.database import Database, Prepared, metadata
from tacit.service.hosting.ask import Ask, words_of
from tacit.service.hosting.datasets import Hosted
from tacit.service.jobs.queue import Audit, Job, Queue
from tacit.service.jobs.webhook import Webhook
from tacit.service.problem import Problem, problem_of
from tacit.service.refresh.refreshes import Refreshes
from tacit.service.refresh.requests import (
    WAITING,
    ApprovalRequest,
    ApprovalRequests,
    request_table,
)
from tacit.service.telemetry import log
from tacit.tables.question import charge_of, check_release
from tacit.tables.release.release import LedgerState, QueryCharge

# The calendar of a schedule: times at which releases are due, in UTC, known in advance.


MAX_TIMES = 400  # releases of one schedule: one a day for a year, and some
MAX_TAG = 170  # characters; the date of a release is added to it
EVERY = r"[1-9][0-9]{0,3}(d|w|mo|y)"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAYS, _MONTHS = {"d": 1, "w": 7}, {"mo": 1, "y": 12}


@dataclass(frozen=True)
class Calendar:
    """Times that are days, weeks, months or years apart.

    >>> Calendar("2026-01-31", "1mo", 4).tags("beds")
    ['beds 2026-01-31', 'beds 2026-02-28', 'beds 2026-03-31', 'beds 2026-04-30']
    >>> Calendar("2028-02-29 06:00", "1y", 2).tags(None)
    ['2028-02-29 06:00', '2029-02-28 06:00']
    """

    start: str  # the first time, such as ``2026-01-01`` or ``2026-01-01 06:00``
    every: str  # how far apart they are: ``1d``, ``1w``, ``1mo``, ``3mo``, ``1y``
    times: int  # how many there are

    def __post_init__(self) -> None:
        if as_integer(self.times, "times", minimum=1) > MAX_TIMES:
            raise UsageError(f"a schedule has at most {MAX_TIMES} releases: times is {self.times}")
        if not isinstance(self.every, str) or re.fullmatch(EVERY, self.every) is None:
            raise UsageError(
                "every is how far apart the releases are, such as '1d', '1w', '1mo', '3mo' or "
                f"'1y', not {self.every!r}"
            )
        _ = self.moments

    @cached_property
    def moments(self) -> tuple[datetime, ...]:
        """All times."""
        # Each is counted from the first, so that a 31st is one again after a shorter month.
        start = moment(self.start, "seconds", "start")
        try:
            first = _EPOCH + timedelta(seconds=start)
            return tuple(self._after(first, index) for index in range(self.times))
        except (OverflowError, ValueError):
            raise UsageError("the calendar goes beyond the year 9999") from None

    def _after(self, first: datetime, index: int) -> datetime:
        number, unit = re.findall(r"\d+|\D+", self.every)
        if unit in _DAYS:
            return first + timedelta(days=index * int(number) * _DAYS[unit])
        months = first.month - 1 + index * int(number) * _MONTHS[unit]
        year, month = first.year + months // 12, months % 12 + 1
        last = calendar.monthrange(year, month)[1]
        return first.replace(year=year, month=month, day=min(first.day, last))

    @property
    def due(self) -> list[float]:
        """All times, in seconds since 1970."""
        return [one.timestamp() for one in self.moments]

    def tags(self, tag: str | None) -> list[str]:
        """Return the tag of each release: that of the schedule, and its date."""
        return [f"{tag} {date}" if tag else date for date in map(_date, self.moments)]


def _date(at: datetime) -> str:
    """Return a date, with its time of day where that is not midnight."""
    return f"{at:%Y-%m-%d %H:%M:%S}".removesuffix(":00").removesuffix(" 00:00")


# A schedule: a question or a plan with its price, and when it is released.


@dataclass(frozen=True)
class Scheduled:
    """A question or a plan that is released again and again."""

    ask: Ask  # with the price of each release; its tag is the first part of theirs
    calendar: Calendar
    title: str = ""  # what the page calls it
    # Once it was priced:
    words: str = ""  # the question in words
    cost: Mapping[str, Any] = field(default_factory=dict)  # of each release, the JSON of a budget
    key: str = ""  # of the first release in the ledger

    def __post_init__(self) -> None:
        if self.ask.free:
            raise UsageError("a schedule is paid for at its beginning: leave free out")
        if len(self.ask.tag or "") > MAX_TAG:
            raise UsageError(f"the tag of a schedule has at most {MAX_TAG} characters")

    @property
    def tags(self) -> list[str]:
        return self.calendar.tags(self.ask.tag)

    @property
    def total(self) -> Budget:
        """The price of all releases together."""
        each = Budget.from_json(self.cost)
        return _sum([each] * self.calendar.times, each.kind)

    def asks(self, tag: str) -> Ask:
        """Return the question of the release of a tag."""
        return replace(self.ask, price={**self.ask.price, "tag": tag})

    def identity(self, dataset: str, ledger: str, caller: Caller) -> str:
        """Return the number of the schedule: the same for the same one of the same person."""
        # So a request that is sent twice makes one schedule.
        who = dataset, ledger, caller.name, caller.team
        times = self.calendar.start, self.calendar.every, self.calendar.times
        text = canonical([*who, self.ask.to_json(), *times], "schedule")
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    def to_json(self) -> dict[str, Any]:
        return {
            "request": self.ask.to_json(),
            "start": self.calendar.start,
            "every": self.calendar.every,
            "times": self.calendar.times,
            "title": self.title,
            "words": self.words,
            "cost": dict(self.cost),
            "key": self.key,
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Scheduled:
        rest = dict(fields)
        ask = Ask.from_json(rest.pop("request"))
        times = Calendar(rest.pop("start"), rest.pop("every"), rest.pop("times"))
        return cls(ask, times, **rest)


def _sum(costs: Iterable[Budget], kind: Any) -> Budget:
    return sum(costs, Budget.nothing(kind))


class Priced(NamedTuple):
    """A schedule with the charges of its releases, and what the ledger holds of each."""

    scheduled: Scheduled
    identity: str
    charges: list[QueryCharge]
    entries: list[LedgerState]

    @property
    def open_costs(self) -> list[Budget]:
        """The costs of the releases that are not charged yet."""
        pairs = zip(self.charges, self.entries, strict=True)
        return [charge.cost_of(entry) for charge, entry in pairs if not entry.is_charged]

    @property
    def cost(self) -> Budget:
        """What starting it charges."""
        return _sum(self.open_costs, self.charges[0].ledger.kind)

    def affordable(self, hosted: Hosted, caller: Caller) -> bool:
        """Return whether the budget and all caps cover it now."""
        try:
            hosted.require(caller, *self.open_costs)
        except BudgetError:
            return False
        return True


# Schedules in the store: paid for at the beginning, and released by the clock.
#
# **One budget for all releases.**  Each release is a question with a tag of its own, and so a
# charge of its own.  All of them are charged when the schedule starts, so that no release is
# refused later for want of budget.  What is spent does not depend on when they are made, nor on
# whether they are: a charge pays for one answer of the data set as it is at any time
# (:mod:`tacit.service.refresh.refreshes` has the proof).
#
# **Neither lost nor twice.**  The row of a schedule is written before its first charge, so one
# whose payment stopped half way (``paying``) is there to be continued by the same request, or to be
# cancelled; the key of each charge is that of its release, and is charged once.  A release becomes
# a job in one transaction with the row that says so, by whichever process is first.
#
# **Missed times.**  Of several times that passed while no process ran, the latest is made up for;
# the others are *missed*: their answers would have been of the same rows, under tags that say
# otherwise.  They stay paid, and can be asked with their tags at no further cost.
#
# **Time reveals nothing.**  A time of the calendar is public, and so is the second in which a
# release becomes a job: it is made by a thread that reads no row and waits for none that does
# (:class:`tacit.service.refresh.refreshes.Scheduler`).  The answer is shown at a tick of that job.
#
# **No one asks ahead.**  Until a release is made, no one else gets its answer by asking for the
# same tag: it would be of the rows of today, and the schedule would only repeat it.


PAYING, RUNNING, CANCELLED, DONE = "paying", "running", "cancelled", "done"
_NEVER = 1e15
_PAUSE = 60.0  # seconds after which a release that could not be made is tried again

_schedules = sa.Table(
    "release_schedule",
    metadata,
    sa.Column("id", sa.String(24), primary_key=True),
    sa.Column("dataset", sa.String(200), nullable=False, index=True),
    sa.Column("content", sa.Text, nullable=False),
    *request_columns(),
    sa.Column("state", sa.String(10), nullable=False),
    sa.Column("due", sa.Float, nullable=False, index=True),  # when the next release is
)
_releases = sa.Table(
    "scheduled_release",
    metadata,
    sa.Column("schedule", sa.String(24), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("due", sa.Float, nullable=False),
    sa.Column("tag", sa.String(200), nullable=False),
    sa.Column("key", sa.String(64), nullable=False, index=True),  # of its charge in the ledger
    sa.Column("job", sa.String(32), index=True),  # once it was made
    sa.Column("missed", sa.Boolean, nullable=False, default=False),
)
_COLUMNS = [one.label(one.key) for one in _schedules.c]
_PENDING = sa.and_(_releases.c.job.is_(None), _releases.c.missed.is_(False))


@dataclass(frozen=True)
class ReleaseSchedule(UserRequest):
    """A schedule that was started."""

    scheduled: Scheduled
    state: str  # ``paying``, ``running``, ``done`` or ``cancelled``
    due: float | None  # when the next release is, in seconds since 1970; None where there is none


@dataclass(frozen=True)
class CalendarEntry:
    """A release of a schedule."""

    number: int  # from 1
    due: float  # in seconds since 1970
    tag: str
    # ``planned``, ``due`` (and not made yet), ``missed``, ``cancelled``, or that of its release
    state: str
    job: str | None  # the release, once it was made


class ReleaseSchedules:
    """The schedules of a service."""

    # refreshes: has a data set read again before each release.
    # allowed: raises where data sets may not be read again now.
    # record: writes that a release was asked for to the audit log.
    # refreshed: counts a refresh in the metrics.

    def __init__(
        self,
        database: Database,
        audit: AuditLog,
        queue: Queue,
        hosted: Callable[[str], Hosted],
        hides: Callable[[Hosted, Caller, str], bool],
        refreshes: Refreshes,
        record: Audit,
        clock: Callable[[], float],
        allowed: Callable[[], None] = lambda: None,
        refreshed: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._database, self._audit, self._queue = database, audit, queue
        self._hosted, self._hides, self._refreshes = hosted, hides, refreshes
        self._record, self._clock = record, clock
        self._allowed, self._refreshed = allowed, refreshed
        self._tried: dict[str, float] = {}
        self.wake: Callable[[], None] = lambda: None

    def priced(self, dataset: str, scheduled: Scheduled, caller: Caller) -> Priced:
        """Return the charges of a schedule; reads no row, and spends nothing."""
        hosted, ask = self._hosted(dataset), scheduled.ask
        asked, question = ask.asked(hosted, caller), ask.question(hosted, caller)
        price: Any = ask.price
        charges = [charge_of(question, **{**price, "tag": tag}) for tag in scheduled.tags]
        first = charges[0]
        entries = [one.look() for one in charges]
        costs = [first.requested_plan().cost.cost_in(first.ledger.kind)]
        costs += [one.entry.cost for one in entries if one.entry is not None]
        made = replace(scheduled, words=words_of(asked), cost=costs[-1].to_json(), key=first.key)
        return Priced(made, made.identity(dataset, first.ledger.id, caller), charges, entries)

    def check(self, dataset: str, priced: Priced, caller: Caller) -> None:
        """Raise if a schedule cannot start: it is in the past, or cannot be paid.

        Raises:
            UsageError: its first release was due before now.
            BudgetError: the budget, or a cap, does not cover all of it.
            Problem: a release with one of its tags was made before, or the caller has another
                schedule of this question.
        """
        hosted, calendar_ = self._hosted(dataset), priced.scheduled.calendar
        if calendar_.due[0] < self._clock():
            raise UsageError(
                f"start is in the past: the first release was due at "
                f"{calendar_.moments[0]:%Y-%m-%d %H:%M} UTC; choose a later one"
            )
        self._refuse_second(dataset, priced, caller)
        tags = priced.scheduled.tags
        for tag, charge, entry in zip(tags, priced.charges, priced.entries, strict=True):
            if entry.is_answered and not self._hides(hosted, caller, charge.key):
                raise Problem(
                    "conflict",
                    f"this question was released before, with the tag {tag!r}",
                    "choose another tag; nothing was spent",
                )
        hosted.require(caller, *priced.open_costs)
        unpaid = [
            one for one in zip(priced.charges, priced.entries, strict=True) if not one[1].is_charged
        ]
        if unpaid:
            question = priced.scheduled.ask.question(hosted, caller)
            check_release(question, unpaid[0][0])

    def _refuse_second(
        self, dataset: str, priced: Priced, caller: Caller, run: sa.Connection | None = None
    ) -> None:
        """Raise if the caller has another schedule of the same question that is not over."""
        # Other times are a change of the first, which would go on, and be paid for, all the same.
        own = sa.and_(
            _schedules.c.dataset == dataset,
            _schedules.c.asked_by == caller.name,
            _schedules.c.team.is_not_distinct_from(caller.team),
            _schedules.c.state.in_((PAYING, RUNNING)),
            _schedules.c.due != _NEVER,
        )
        with self._database.reading(run) as reading:
            rows = reading.execute(sa.select(*_COLUMNS).where(own)).all()
        for row in rows:
            self.refuse_change(dataset, priced, caller, row.id, _schedule(row).scheduled)

    def refuse_change(
        self, dataset: str, priced: Priced, caller: Caller, identity: str, existing: Scheduled
    ) -> None:
        """Raise if an existing schedule of the caller differs in its times alone."""
        made, ask = priced.scheduled, existing.ask
        if identity == priced.identity or ask.tag != made.ask.tag:
            return
        price: Any = {**ask.price, "tag": made.tags[0]}
        try:
            key = charge_of(ask.question(self._hosted(dataset), caller), **price).key
        except TacitError:  # it was asked before the data set was declared anew
            return
        if key == made.key:
            times = existing.calendar
            named = f"{existing.title!r}, " if existing.title else ""
            raise Problem(
                "conflict",
                f"you have a schedule of this question with this tag: {named}{times.times} times "
                f"from {times.start} on, every {times.every}",
                "cancel that one first, and what it paid for counts for the same dates of the new "
                "one; or choose another tag for a second schedule",
                {"schedule": identity},
            )

    def known(self, identity: str) -> bool:
        """Return whether a schedule was started."""
        return self._row(identity) is not None

    def begin(self, dataset: str, scheduled: Scheduled, caller: Caller) -> ReleaseSchedule:
        """Pay for all releases of a schedule; if it was paid, return it."""
        priced = self.priced(dataset, scheduled, caller)
        if scheduled.key not in ("", priced.scheduled.key):
            raise Problem(
                "conflict",
                "the data set was changed since this was asked, and it is another question now",
                "ask again",
            )
        existing = self._row(priced.identity)
        if existing is None:
            try:
                self.check(dataset, priced, caller)
            except BudgetError:
                if self._is_less(dataset, priced, caller):
                    return self.begin(dataset, scheduled, caller)
                cost = {"cost": priced.cost.to_json()}
                self._audit.acted(
                    "schedule_begun", caller, outcome="refused", dataset=dataset, details=cost
                )
                raise
            self._insert(dataset, priced, caller)
        elif existing.state == CANCELLED:
            raise Problem(
                "conflict",
                "this schedule was cancelled",
                "what it paid for can be asked with its tags, at no further cost; for a new "
                "schedule, at a price of its own, choose another tag",
                {"schedule": existing.id},
            )
        elif existing.state == PAYING:
            try:
                self._hosted(dataset).require(caller, *priced.open_costs)
            except BudgetError as error:
                if self._is_less(dataset, priced, caller):
                    return self.begin(dataset, scheduled, caller)
                paid = len(priced.charges) - len(priced.open_costs)
                raise _partly_paid(priced, paid, problem_of(error)) from None
        if existing is None or existing.state == PAYING:
            self._pay(dataset, priced, caller)
        return self.find(priced.identity)

    def _is_less(self, dataset: str, priced: Priced, caller: Caller) -> bool:
        """Return whether less is to be paid by now: another process pays for the same schedule."""
        now = self.priced(dataset, priced.scheduled, caller)
        return len(now.open_costs) < len(priced.open_costs)

    def _insert(self, dataset: str, priced: Priced, caller: Caller) -> None:
        """Write a schedule, before it is paid; another process may have been first."""
        scheduled = priced.scheduled
        due = scheduled.calendar.due
        row = {
            "id": priced.identity,
            "dataset": dataset,
            "content": json.dumps(scheduled.to_json()),
            **request_values(caller, self._clock()),
            "state": PAYING,
            "due": due[0],
        }
        keys = [charge.key for charge in priced.charges]
        releases = [
            {"schedule": priced.identity, "number": n, "due": at, "tag": tag, "key": key}
            for n, (at, tag, key) in enumerate(zip(due, scheduled.tags, keys, strict=True), 1)
        ]
        with self._queue.transaction() as run:
            if self._row(priced.identity, run) is None:
                self._refuse_second(dataset, priced, caller, run)  # one started meanwhile
                run.execute(_schedules.insert(), row)
                run.execute(_releases.insert(), releases)

    def _pay(self, dataset: str, priced: Priced, caller: Caller) -> None:
        """Charge what is not charged yet, and have the clock make the releases."""
        identity = priced.identity
        for number, charge in enumerate(priced.charges):
            row = self._row(identity)
            if row is None or row.state == CANCELLED:
                raise _partly_paid(
                    priced, number, Problem("conflict", "it was cancelled meanwhile")
                )
            try:
                charge.pay()
            except TacitError as error:
                raise _partly_paid(priced, number, problem_of(error)) from None
        with self._queue.transaction() as run:
            if self._set(run, identity, (PAYING,), state=RUNNING):
                self._act(
                    run,
                    "schedule_begun",
                    dataset,
                    identity,
                    caller,
                    cost=priced.scheduled.total.to_json(),
                )

    def _act(
        self,
        run: sa.Connection,
        action: str,
        dataset: str,
        identity: str,
        caller: Caller,
        **details: Any,
    ) -> None:
        self._audit.acted(
            action, caller, dataset=dataset, subject=identity, details=details, connection=run
        )

    def cancel(self, schedule: ReleaseSchedule, caller: Caller) -> None:
        """Cancel a schedule: no further release is made, and what was paid stays paid."""
        states = (PAYING, RUNNING)
        with self._queue.transaction() as run:
            row = self._row(schedule.id, run)
            over = row is None or row.due == _NEVER
            if over or not self._set(run, schedule.id, states, state=CANCELLED, due=_NEVER):
                raise Problem(
                    "conflict", f"this schedule is {self.find(schedule.id).state} already"
                )
            self._act(run, "schedule_cancelled", schedule.dataset, schedule.id, caller)

    # --- what callers see

    def find(self, identity: str) -> ReleaseSchedule:
        row = self._row(identity)
        if row is None:
            raise Problem("not_found", "there is no such schedule", "GET /v1/schedules lists all")
        return _schedule(row)

    def all(self) -> list[ReleaseSchedule]:
        """Return all schedules, in the order of their creation."""
        query = sa.select(*_COLUMNS).order_by(_schedules.c.asked_at, _schedules.c.id)
        return [_schedule(row) for row in self._database.rows(query)]

    def made(self) -> dict[str, int]:
        """Return how many releases of each schedule were made."""
        count = sa.func.count(_releases.c.job)
        rows = self._database.rows(
            sa.select(_releases.c.schedule, count).group_by(_releases.c.schedule)
        )
        return {str(name): int(number) for name, number in rows}

    def calendar(self, schedule: ReleaseSchedule) -> list[CalendarEntry]:
        """Return the releases of a schedule, with the states that a caller sees now."""
        now = self._clock()
        where = _releases.c.schedule == schedule.id
        rows = self._database.rows(sa.select(_releases).where(where).order_by(_releases.c.number))
        jobs = self._queue.find_all([row.job for row in rows if row.job is not None])

        def state(row: Any) -> str:
            if row.job is not None:
                return jobs[row.job].shown(now) if row.job in jobs else "done"
            if row.missed:
                return "missed"
            if schedule.state == CANCELLED:
                return CANCELLED
            return "due" if row.due <= now else "planned"

        return [CalendarEntry(row.number, row.due, row.tag, state(row), row.job) for row in rows]

    def paid(self, schedule: ReleaseSchedule) -> int | None:
        """Return how many releases of a schedule are charged; None where no ledger says so."""
        if schedule.state in (RUNNING, DONE):
            return schedule.scheduled.calendar.times
        try:
            hosted = self._hosted(schedule.dataset)
        except Problem:  # the data set is no longer there
            return None
        ledger = hosted.ledger(schedule.team)
        where = _releases.c.schedule == schedule.id
        keys = self._database.rows(sa.select(_releases.c.key).where(where))
        return sum(ledger.find(key) is not None for (key,) in keys)

    def of_job(self, job: str) -> str | None:
        """Return the schedule that a release is of; None of another release."""
        name = self._database.scalar(_OF_JOB, job=job)
        return None if name is None else str(name)

    def reserves(self, hosted: Hosted, caller: Caller, key: str) -> float | None:
        """Return when a schedule will make the release of a charge; None where none does."""
        query = _RESERVED
        if hosted.owner.per_team:
            query = query.where(_schedules.c.team.is_not_distinct_from(caller.team))
        due: float | None = self._database.scalar(query, dataset=hosted.name, key=key)
        return due

    # --- releases, by the clock

    def release_due(self) -> int:
        """Make the releases that are due, each once among all processes; return how many."""
        now, made = self._clock(), 0
        for row in self._database.rows(_DUE, now=now):
            tried = self._tried.get(row.id)
            if tried is not None and 0 <= now - tried < _PAUSE:
                continue
            try:
                made += self._release(_schedule(row), now)
                self._tried.pop(row.id, None)
            except Exception as error:  # the others are made all the same
                self._tried[row.id] = now
                code = type(error).__name__
                log("schedule", schedule=row.id, dataset=row.dataset, outcome="failed", code=code)
                if not isinstance(error, TacitError):
                    log("unexpected", error=True)
        return made

    def _release(self, schedule: ReleaseSchedule, now: float) -> bool:
        """Make the latest release that is due; those before it were missed."""
        latency = float(self._hosted(schedule.dataset).settings.latency)
        last = max(due for due in schedule.scheduled.calendar.due if due <= now)
        # Before the job is there: a worker reads the data set again if this says so.
        if self._refreshes.since(schedule.dataset, last, self._allowed) is not None:
            self._refreshed(schedule.dataset)
        own = _releases.c.schedule == schedule.id
        pending = sa.select(_releases).where(own, _PENDING).order_by(_releases.c.number)
        with self._queue.transaction() as run:
            row = self._row(schedule.id, run)
            rows = run.execute(pending).all()
            due = [one for one in rows if one.due <= now]
            if row is None or row.state != RUNNING or not due:
                return False  # another process was first, or it was cancelled
            job = self._add(run, schedule, due[-1], latency)
            later = [one.due for one in rows[len(due) :]]
            missed = [one.number for one in due[:-1]]
            run.execute(
                _releases.update().where(own, _releases.c.number.in_(missed)).values(missed=True)
            )
            run.execute(
                _releases.update()
                .where(own, _releases.c.number == due[-1].number)
                .values(job=job.id)
            )
            self._set(run, schedule.id, (RUNNING,), due=later[0] if later else _NEVER)
        self.wake()
        return True

    def _add(self, run: sa.Connection, schedule: ReleaseSchedule, row: Any, latency: float) -> Job:
        """Add the job of a release, which is paid and needs no approval any more."""
        scheduled, now = schedule.scheduled, self._clock()
        caller = requester_of(schedule)
        values = {
            "dataset": schedule.dataset,
            **request_values(caller, now),
            "body": scheduled.asks(row.tag).body,
            "words": f"{scheduled.words}{tag_words(row.tag)}",
            "once": None,
            "started": now,
            "latency": latency,
            "cost": json.dumps(dict(scheduled.cost)),
            "key": row.key,
            "state": "queued",
        }
        (job,) = self._queue.add(run, values)
        details = {"cost": dict(scheduled.cost), "schedule": schedule.id}
        self._record("release_asked", run, [(job, caller, details)])
        return job

    def _row(self, identity: str, run: sa.Connection | None = None) -> Any:
        query = sa.select(*_COLUMNS).where(_schedules.c.id == identity)
        with self._database.reading(run) as reading:
            return reading.execute(query).first()

    def _set(
        self, run: sa.Connection, identity: str, states: tuple[str, ...], **values: Any
    ) -> bool:
        where = sa.and_(_schedules.c.id == identity, _schedules.c.state.in_(states))
        return bool(run.execute(_schedules.update().where(where).values(**values)).rowcount)


_DUE = sa.select(*_COLUMNS).where(
    _schedules.c.state == RUNNING, _schedules.c.due <= sa.bindparam("now", type_=sa.Float)
)
_OF_JOB = Prepared(sa.select(_releases.c.schedule).where(_releases.c.job == sa.bindparam("job")))
_RESERVED = (
    sa.select(_releases.c.due)
    .join(_schedules, _schedules.c.id == _releases.c.schedule)
    .where(
        _releases.c.key == sa.bindparam("key"),
        _schedules.c.dataset == sa.bindparam("dataset"),
        _schedules.c.state.in_((PAYING, RUNNING)),
        _PENDING,
    )
    .order_by(_releases.c.due)
    .limit(1)
)


def paid_ahead(database: Database) -> dict[str, float]:
    """Return when releases that a schedule makes are due, in seconds since 1970, by their keys."""
    query = (
        sa.select(_releases.c.key, _releases.c.due)
        .join(_schedules, _schedules.c.id == _releases.c.schedule)
        .where(_schedules.c.state.in_((PAYING, RUNNING)), _PENDING)
    )
    return {str(key): float(due) for key, due in database.rows(query)}


def _schedule(row: Any) -> ReleaseSchedule:
    fields = {column.name: getattr(row, column.name) for column in _COLUMNS}
    scheduled = Scheduled.from_json(json.loads(fields.pop("content")))
    over = fields["due"] == _NEVER
    fields["state"] = DONE if over and fields["state"] == RUNNING else fields["state"]
    fields["due"] = None if over else fields["due"]
    return ReleaseSchedule(scheduled=scheduled, **fields)


def _partly_paid(priced: Priced, paid: int, cause: Problem) -> Problem:
    """Return the error of a payment that stopped half way."""
    times, why = priced.scheduled.calendar.times, cause.message
    if cause.code == "budget_exceeded":  # its message is of a single release
        why = "the budget, or a cap, does not cover the others now"
    return Problem(
        cause.code,
        f"{paid} of the {times} releases are paid for, and the payment stopped there: {why}",
        "send the same request again, and it continues; or cancel the schedule, and what was paid "
        "can be asked with its tags",
        {"schedule": priced.identity, "paid": paid},
    )


# Schedules that another person approves before they start; each release needs no other approval.


_requests = request_table("schedule_request", "content")


class ScheduleRequests(ApprovalRequests[Scheduled]):
    """The schedules of a service that wait for a decision."""

    def __init__(
        self,
        database: Database,
        audit: AuditLog,
        schedules: ReleaseSchedules,
        decisions: Decisions,
        webhook: Webhook,
        clock: Callable[[], float],
    ) -> None:
        super().__init__(
            _requests,
            "schedule",
            Scheduled.from_json,
            schedules.begin,
            database,
            audit,
            decisions,
            webhook,
            clock,
        )
        self._schedules = schedules

    def _started(self, identity: str) -> bool:
        return self._schedules.known(identity)

    def ask(self, dataset: str, scheduled: Scheduled, caller: Caller) -> ApprovalRequest[Scheduled]:
        """Request a schedule; one that was refused waits again."""
        priced = self._schedules.priced(dataset, scheduled, caller)
        self._schedules.check(dataset, priced, caller)
        for one in self.undecided():
            own = (one.dataset, one.asked_by, one.team) == (dataset, caller.name, caller.team)
            if own and one.state == WAITING:
                self._schedules.refuse_change(dataset, priced, caller, one.id, one.content)
        made = priced.scheduled
        return self.add(priced.identity, dataset, made.to_json(), caller, made.total)
