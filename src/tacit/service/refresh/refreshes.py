"""Scheduled refreshes of growing data, and the scheduler that starts them."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from typing import Any

import sqlalchemy as sa

from tacit.accounting.budget import Budget
from tacit.errors import TacitError, UsageError
from tacit.report.text import budget_words
from tacit.service.audit_log import AuditLog
from tacit.service.database import Database, Prepared, metadata
from tacit.service.refresh.dashboards import Dashboards
from tacit.service.telemetry import log

# When a data set is read again: ``every 6 hours``, ``every 30 minutes`` or ``daily 03:00``.


_UNITS = {"minute": 60, "hour": 3600, "day": 86400}
_EVERY = re.compile(r"every (?:(\d{1,4}) )?(minute|hour|day)s?")
_DAILY = re.compile(r"daily (?:at )?([01]\d|2[0-3]):([0-5]\d)")


@dataclass(frozen=True)
class Schedule:
    """Times at equal distances, in UTC, known in advance.

    >>> Schedule.parse("every 6 hours").last(1_000_000), Schedule.parse("daily 03:00").last(100_000)
    (993600, 97200)
    """

    every: int  # seconds between two of them
    offset: int = 0  # seconds from the beginning of 1970 to the first

    @classmethod
    def parse(cls, text: str) -> Schedule:
        """Read a schedule.

        >>> Schedule.parse("hourly")
        Traceback (most recent call last):
        tacit.errors.UsageError: refresh = 'hourly' is not a schedule: write 'every 6 hours', ...
        """
        if (match := _EVERY.fullmatch(text)) is not None:
            every = int(match[1] or 1) * _UNITS[match[2]]
            if every:
                return cls(every)
        if (match := _DAILY.fullmatch(text)) is not None:
            return cls(_UNITS["day"], int(match[1]) * 3600 + int(match[2]) * 60)
        raise UsageError(
            f"refresh = {text!r} is not a schedule: write 'every 6 hours', 'every 30 minutes' or "
            "'daily 03:00' (UTC)"
        )

    def last(self, now: float) -> int:
        """Return the latest of its times up to now, in seconds since 1970."""
        return int((now - self.offset) // self.every) * self.every + self.offset


def schedules_of(texts: Mapping[str, str | None]) -> dict[str, Schedule]:
    """Return the schedules of the data sets that have one.

    >>> schedules_of({"visits": "every 6 hours", "births": None})
    {'visits': Schedule(every=21600, offset=0)}
    """
    return {name: Schedule.parse(one) for name, one in texts.items() if one is not None}


# Refreshes: when a data set that grows is read again, and what that means for its people.
#
# A refresh is a row in the store, with a number.  Each process has the tables open for itself, and
# opens them again before its next question where the number is beyond the one that it knows; so a
# refresh takes effect in all processes, and no one can see how long the reading took.
#
# **One budget for all refreshes.**  Let D_1, D_2, ... be a data set as it is after each refresh,
# and call two histories neighbours if they differ in one person: in all rows of that person, in
# every D_i.  A release reads one D_i, in which the person is one unit of privacy, so its loss is at
# most what the ledger charged for it (its map at distance one), whichever i it is, and whatever
# earlier releases showed.  The ledger is one for the whole history: by adaptive composition under
# its filter the losses of all releases, of all D_i together, are at most the budget.  A refresh
# gives nothing back: rows that stay are read again, and the people in them have spent what was
# spent before.  The rows of other people in D_i may depend on what was released earlier, not
# otherwise on this person's rows.
#
# Source: the neighbours are those of the user level in C. Dwork, M. Naor, T. Pitassi, G. Rothblum,
# *Differential privacy under continual observation* (STOC 2010); adaptive composition under a
# filter: J. Whitehouse, A. Ramdas, R. Rogers, S. Wu, *Fully-adaptive composition in differential
# privacy* (ICML 2023).


BY_CALL, BY_CLOCK, FIRST = "call", "clock", "first"

_refreshes = sa.Table(
    "refresh",
    metadata,
    sa.Column("dataset", sa.String(200), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("way", sa.String(10), nullable=False),
    sa.Column("due", sa.BigInteger),
)


@dataclass(frozen=True)
class Refresh:
    number: int  # 0 for the first opening, and one more for each refresh
    at: float  # seconds since 1970
    way: str  # ``first``, ``call`` or ``clock``


class Refreshes:
    def __init__(self, database: Database, audit: AuditLog, clock: Callable[[], float]) -> None:
        self._database, self._audit, self._clock = database, audit, clock

    def begin(self, *datasets: str) -> None:
        """Record when data sets were first opened; does nothing where that is recorded."""
        with self._database.begin(lock="refresh") as run:
            query = sa.select(_refreshes.c.dataset).where(_refreshes.c.number == 0)
            known = set(run.execute(query).scalars())
            now = self._clock()
            rows = [
                {"dataset": name, "number": 0, "at": now, "way": FIRST}
                for name in datasets
                if name not in known
            ]
            if rows:
                run.execute(_refreshes.insert(), rows)

    def ask(self, dataset: str, who: str, *, token: str | None = None) -> Refresh:
        """Refresh a data set by call."""
        with self._database.begin(lock="refresh") as run:
            return self._add(run, dataset, BY_CALL, None, who, token)

    def when_due(
        self, dataset: str, schedule: Schedule, allowed: Callable[[], None] = lambda: None
    ) -> Refresh | None:
        """Refresh a data set that is due, once for all processes; None if it is not due."""
        # A time that passed while no process ran is made up for once.
        #
        # allowed: raises where it may not be read again now; it is tried again later.
        due = schedule.last(self._clock())
        with self._database.read() as run:
            if not _is_due(run, dataset, due):
                return None
        allowed()
        with self._database.begin(lock="refresh") as run:
            if not _is_due(run, dataset, due):
                return None
            return self._add(run, dataset, BY_CLOCK, due, "service", None)

    def since(
        self, dataset: str, due: float, allowed: Callable[[], None] = lambda: None
    ) -> Refresh | None:
        """Refresh a data set unless it was refreshed since a time; return the refresh if so."""
        # allowed: as of :meth:`when_due`.
        if self._was_since(self.current(dataset), due):
            return None
        allowed()
        with self._database.begin(lock="refresh") as run:
            rows = _CURRENT.rows(run, dataset=dataset)
            if rows and self._was_since(Refresh(*rows[0]), due):
                return None
            return self._add(run, dataset, BY_CLOCK, int(due), "service", None)

    def _was_since(self, refresh: Refresh, due: float) -> bool:
        # (A time ahead of the clock is of a clock that was set back.)
        return refresh.way != FIRST and due <= refresh.at <= self._clock()

    def _add(
        self,
        run: sa.Connection,
        dataset: str,
        way: str,
        due: int | None,
        who: str,
        token: str | None,
    ) -> Refresh:
        number: int = (run.execute(_last(dataset)).scalar_one_or_none() or 0) + 1
        now = self._clock()
        row = {"dataset": dataset, "number": number, "at": now, "way": way, "due": due}
        run.execute(_refreshes.insert(), row)
        details = {"way": way, "number": number}
        self._audit.write(
            "refreshed", who, token=token, dataset=dataset, details=details, connection=run
        )
        return Refresh(number, now, way)

    def history(self, dataset: str) -> list[Refresh]:
        """Return all refreshes of a data set, the first opening before them."""
        return [Refresh(*row) for row in self._database.rows(_HISTORY, dataset=dataset)]

    def current(self, dataset: str) -> Refresh:
        for row in self._database.rows(_CURRENT, dataset=dataset):
            return Refresh(*row)
        return Refresh(0, self._clock(), FIRST)

    def as_of(self, dataset: str, when: float) -> Refresh:
        """Return the refresh that an answer of some time is from: the latest one before it."""
        history = self.history(dataset)
        before = [one for one in history if one.at <= when]
        return before[-1] if before else (history[0] if history else self.current(dataset))

    def describe(self, dataset: str, budget: Budget | None) -> str:
        """Describe what refreshes mean for the people in the data set, in two sentences."""
        ((times, first, last),) = self._database.rows(SUMMARY, dataset=dataset)
        shared_budget = "one budget" if budget is None else f"one budget of {budget_words(budget)}"
        shared = (
            f"All releases, before and after a refresh, share {shared_budget}: what was spent on "
            "rows that stay is not given back."
        )
        if times < 2:
            since = f" since {day(first)}" if times else ""
            return f"The data set was not refreshed{since}. {shared}"
        words = "once" if times == 2 else f"{times - 1} times"
        return (
            f"Since {day(first)} the data set was refreshed {words}, last on "
            f"{day(last)} at {moment(last)} UTC. {shared}"
        )


def day(at: float) -> str:
    """Return the date of a time, in UTC.

    >>> day(0), moment(0)
    ('1970-01-01', '00:00')
    """
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")


def moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%H:%M")


_of_dataset = _refreshes.c.dataset == sa.bindparam("dataset")
_OF_DATASET = sa.select(_refreshes.c.number, _refreshes.c.at, _refreshes.c.way).where(_of_dataset)
_HISTORY = Prepared(_OF_DATASET.order_by(_refreshes.c.number))
_CURRENT = Prepared(_OF_DATASET.order_by(_refreshes.c.number.desc()).limit(1))
_at = sa.select(_refreshes.c.at).where(_of_dataset).limit(1)
# How often a data set was opened, and when first and last.
SUMMARY = Prepared(
    sa.select(
        sa.select(sa.func.count()).where(_of_dataset).scalar_subquery().label("times"),
        _at.order_by(_refreshes.c.number).scalar_subquery().label("first"),
        _at.order_by(_refreshes.c.number.desc()).scalar_subquery().label("last"),
    )
)


def _last(dataset: str) -> sa.Select[Any]:
    query = sa.select(_refreshes.c.number).where(_refreshes.c.dataset == dataset)
    return query.order_by(_refreshes.c.number.desc()).limit(1)


def _is_due(run: sa.Connection, dataset: str, due: int) -> bool:
    """True if a time has no refresh by clock yet, and the data set was opened before it."""
    own = sa.select(sa.func.max(_refreshes.c.due)).where(_refreshes.c.dataset == dataset)
    first = sa.select(sa.func.min(_refreshes.c.at)).where(_refreshes.c.dataset == dataset)
    latest, opened = run.execute(own).scalar(), run.execute(first).scalar()
    return (latest is None or latest < due) and opened is not None and opened <= due


# Scheduled work: refreshes and releases that are due, and periods that are over.


_TICK_SECONDS = 1.0  # seconds between two looks at what is due
_NOTED = 5  # after this many looks what this process counted is noted, whatever was due


class Scheduler:
    """A thread that checks each second what is due; every process has one."""

    # The store decides which process does what, so that several processes do nothing twice.
    #
    # allowed: raises where data sets may not be read again now.
    # release: makes the releases that are due.  It has a thread of its own: a release is seen when
    #   it is made, and one that waited for the update of a dashboard would show how long an engine
    #   took.

    def __init__(
        self,
        schedules: Callable[[], Mapping[str, Schedule]],
        refreshes: Refreshes,
        dashboards: Dashboards,
        refreshed: Callable[[str], None],
        allowed: Callable[[], None] = lambda: None,
        note: Callable[[], None] = lambda: None,
        release: Callable[[], object] = lambda: None,
    ) -> None:
        self._schedules, self._refreshes = schedules, refreshes
        self._dashboards, self._refreshed, self._allowed = dashboards, refreshed, allowed
        self._note, self._release = note, release
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        for name, run in (
            ("tacit scheduler", self._run),
            ("tacit scheduled releases", self._run_releases),
        ):
            self._threads.append(threading.Thread(target=run, name=name, daemon=True))
            self._threads[-1].start()

    def stop(self) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def _run_releases(self) -> None:
        while not self._stopping.wait(_TICK_SECONDS):
            self.release_due()

    def release_due(self) -> None:
        """Make the releases that are due; what fails is tried again at the next look."""
        try:
            self._release()
        except Exception:
            log("unexpected", error=True)

    def _run(self) -> None:
        for looks in count(1):
            if self._stopping.wait(_TICK_SECONDS):
                break
            self.look()
            if looks % _NOTED == 0:
                self._noted()
        self._noted()

    def _noted(self) -> None:
        try:
            self._note()
        except Exception as error:  # it is noted the next time
            log("metrics", outcome="failed", code=type(error).__name__)

    def look(self) -> None:
        """Do what is due; what fails is tried again at the next look."""
        try:
            schedules = self._schedules()
        except TacitError as error:
            log("refresh", way="clock", outcome="failed", code=type(error).__name__)
            return
        for name, schedule in schedules.items():
            try:
                made = self._refreshes.when_due(name, schedule, self._allowed)
            except TacitError as error:
                code = type(error).__name__
                log("refresh", dataset=name, way="clock", outcome="failed", code=code)
                continue
            if made is not None:
                log("refresh", dataset=name, way="clock", outcome="done", number=made.number)
                self._refreshed(name)
        try:
            self._dashboards.update_due()
        except Exception:
            log("unexpected", error=True)
