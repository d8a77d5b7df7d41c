"""Dashboards: counts over time that a service keeps up to date."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

import sqlalchemy as sa

from tacit.accounting.ledger_chain import canonical
from tacit.errors import BudgetError, TacitError, UsageError
from tacit.expressions.timeline import Moment, moment, span
from tacit.service.access import Caller, Decisions
from tacit.service.audit_log import AuditLog
from tacit.service.database import Database, metadata
from tacit.service.jobs.queue import tick_after
from tacit.service.jobs.webhook import Webhook
from tacit.service.problem import Problem
from tacit.service.refresh.requests import ApprovalRequest, ApprovalRequests, request_table
from tacit.service.telemetry import log
from tacit.tables.session import Session
from tacit.tables.streaming.counter import CounterPreview, PeriodAnswer, TimeCounter

# Integers that count time since 1970: days, hours, seconds, as many tables have them.
#
# A table whose time is an integer (``20513`` for 2026-03-01) has no clock of its own.  Who
# starts a dashboard names what the numbers count, and from then on the clock tells how far they
# have come. All is exact: a time that is not a whole number of the unit is refused, never rounded.


# Units in which a column may count the time since 1970, UTC, in seconds.
UNITS: dict[str, Fraction] = {
    "milliseconds": Fraction(1, 1000),
    "seconds": Fraction(1),
    "minutes": Fraction(60),
    "hours": Fraction(3600),
    "days": Fraction(86400),
}
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


def as_number(text: str, unit: str, name: str) -> int:
    """Return the whole number of a time.

    >>> as_number("2026-03-01", "days", "start"), as_number("2026-03-01 01:00", "hours", "start")
    (20513, 492313)
    """
    return _in_units(moment(text, "seconds", name), unit, name)


def as_length(text: str, unit: str, name: str, minimum: int = 0) -> int:
    """Return how many of the unit a length of time has.

    >>> as_length("1w", "days", "every"), as_length("1h", "milliseconds", "every")
    (7, 3600000)
    """
    length = _in_units(span(text, "seconds", name), unit, name)
    if length < minimum:
        raise UsageError(f"{name} must be a whole number of {unit}, at least {minimum}")
    return length


def reached(seconds: float, unit: str) -> int:
    """Return the number that a column has come to, at a time in seconds since 1970.

    >>> reached(1772323200.0, "days"), reached(1772323199.9, "days")
    (20513, 20512)
    """
    return int(Fraction(seconds) // UNITS[unit])


def when(number: int, unit: str) -> float:
    """Return the time at which a column comes to a number, in seconds since 1970.

    >>> when(20513, "days"), reached(when(1, "milliseconds"), "milliseconds")
    (1772323200.0, 1)
    """
    # It is not before that time, also where a float has to round.
    exact = number * UNITS[unit]
    seconds = float(exact)
    return seconds if Fraction(seconds) >= exact else math.nextafter(seconds, math.inf)


def shown(number: int, unit: str) -> str:
    """Return the time of a number as a column of dates or times shows it.

    >>> shown(20513, "days"), shown(492313, "hours"), shown(1, "milliseconds")
    ('2026-03-01', '2026-03-01T01:00:00', '1970-01-01T00:00:00.001')
    """
    at = _BEGINNING + timedelta(microseconds=int(number * UNITS[unit] * 10**6))
    if unit == "days":
        return at.strftime("%Y-%m-%d")
    return at.replace(tzinfo=None).isoformat(timespec="milliseconds" if at.microsecond else "auto")


def _in_units(seconds: int, unit: str, name: str) -> int:
    number = seconds / UNITS[unit]
    if number.denominator != 1:
        raise UsageError(f"the column counts {unit}: {name} must be a whole number of them")
    return int(number)


# A dashboard: a count over time, and its JSON.


_NO_CLOCK = (
    "a dashboard follows the clock: if {!r} has whole numbers, name with clock what they count "
    "(days, hours, minutes, seconds or milliseconds since 1970), and leave it out for times and "
    "dates"
)


@dataclass(frozen=True)
class Counted:
    """A count of rows by period, at one price for all periods."""

    # the time of a row: a time, a date, or an integer with a ``clock``
    column: str
    start: str  # where the first period starts, such as ``2026-01-01``
    # how long a period is: ``15min``, ``1h``, ``1d``, ``1w``
    every: str
    periods: int  # how many there are; all of them are paid for at the beginning
    epsilon: str | None = None  # the privacy loss of all periods together
    rho: str | None = None  # instead of epsilon, in zero-concentrated privacy
    grace: str | None = None  # how long a period waits for rows that come late
    table: str | None = None  # of the data set; None for its first protected one
    tag: str | None = None  # a label that makes this a new, separately paid count
    title: str = ""  # what the page calls it
    # what the integers of the column count since 1970, one of
    # :data:`~tacit.service.refresh.dashboards.UNITS`; None for times and dates
    clock: str | None = None

    def identity(self, dataset: str, ledger: str) -> str:
        """Return the number of the dashboard: the same for the same count of the same ledger."""
        # So a request that is sent twice makes one dashboard.
        fields: dict[str, Any] = {**asdict(self), "title": ""}
        if self.clock is None:  # as before there were clocks
            del fields["clock"]
        text = canonical([dataset, ledger, fields], "dashboard")
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    def counter(self, session: Session) -> TimeCounter:
        """Return the counter; nothing is charged and no row is read."""
        if self.clock is None and session.columns.get(self.column) == "integer":
            raise UsageError(_NO_CLOCK.format(self.column))
        start, every, grace = self._periods()
        counter = session.count_over_time(
            self.column,
            start=start,
            every=every,
            periods=self.periods,
            epsilon=self.epsilon,
            rho=self.rho,
            grace=grace,
            tag=self.tag,
        )
        if (counter.due(1) is None) != (self.clock is not None):
            raise UsageError(_NO_CLOCK.format(self.column))
        return counter

    @property
    def first(self) -> Moment:
        """Where the first period begins, as the column has it."""
        return self.start if self.clock is None else as_number(self.start, self.clock, "start")

    def closed(self, counter: TimeCounter, seconds: float) -> int:
        """Return how many periods are over, at a time in seconds since 1970."""
        if self.clock is not None:
            return counter.closed(reached(seconds, self.clock))
        return counter.closed(datetime.fromtimestamp(seconds, UTC))

    def until(self, counter: TimeCounter, periods: int) -> Moment:
        """Return the time at which a number of periods is over, as the column has it."""
        if self.clock is not None:
            return self._end(periods)
        return datetime.fromtimestamp(counter.due(periods) or 0, UTC)

    @property
    def words(self) -> str:
        """What is counted, in words."""
        return f"rows by {self.column}, in {self.periods} periods of {self.every}"

    @property
    def price(self) -> str:
        """The price of all periods, in words."""
        return f"rho {self.rho}" if self.epsilon is None else f"epsilon {self.epsilon}"

    def due(self, counter: TimeCounter, periods: int) -> float:
        """Return the time at which a number of periods is over, in seconds since 1970."""
        if self.clock is not None:
            return when(self._end(periods), self.clock)
        return float(counter.due(periods) or 0)

    def label(self, period: Any) -> Any:
        """Return the beginning of a period as a time."""
        return period if self.clock is None else shown(period, self.clock)

    def _periods(self) -> tuple[Moment, Any, Any]:
        """Return the start, the length and the grace of the periods, as the column has them."""
        if self.clock is None:
            return self.start, self.every, self.grace
        every = as_length(self.every, self.clock, "every", minimum=1)
        grace = None if self.grace is None else as_length(self.grace, self.clock, "grace")
        return self.first, every, grace

    def _end(self, periods: int) -> int:
        start, every, grace = self._periods()
        return int(start) + periods * int(every) + int(grace or 0)  # type: ignore[arg-type]

    def to_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value not in (None, "")}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Counted:
        return cls(**fields)


def preview_json(expected: CounterPreview) -> dict[str, Any]:
    """Return the expected errors of a dashboard as JSON."""
    return {
        "cost": expected.cost.to_json(),
        "remaining": expected.remaining.to_json(),
        "affordable": expected.affordable,
        "periods": expected.periods,
        "count_error": expected.count_error,
        "count_half_width": expected.count_half_width,
        "total_error": expected.total_error,
        "largest_total_error": expected.largest_total_error,
        "text": str(replace(expected, whereabouts="")),
    }


def answer_json(counted: Counted, answer: PeriodAnswer) -> dict[str, Any]:
    """Return the counts so far as JSON: a list a column, in the order of the periods."""
    columns = {}
    for label in answer.labels:
        column = answer.column(label)
        columns[label] = {
            name: list(column[name]) for name in ("value", "standard_error", "low", "high")
        }
    return {"periods": [counted.label(key[0]) for key in answer.keys], "columns": columns}


# Dashboards in the store: paid once, updated by the clock, and the same after a restart.
#
# The charge and what was published are in the ledger (:class:`tacit.tables.TimeCounter`); a row
# here says which count it is and how much of it may be seen.
#
# **Time reveals nothing.**  An update is due when a period is over, by the clock and the declared
# grace: a public time.  What it published becomes visible at a tick after it
# (:mod:`tacit.service.jobs.queue`): ``due + L`` with the data set's latency L, or, where the engine
# took longer, ``due + 2 L, 4 L, 8 L, ...``.  (Of periods that
# were over when it began: after that moment.)  Until then a dashboard shows the periods before.  So
# it shows a reader no more of the engine's time than a power of two.


_NEVER = 1e15
_LEASE = 900.0  # seconds after which another process may make an unfinished update

_dashboards = sa.Table(
    "dashboard",
    metadata,
    sa.Column("id", sa.String(24), primary_key=True),
    sa.Column("dataset", sa.String(200), nullable=False, index=True),
    sa.Column("counted", sa.Text, nullable=False),
    sa.Column("who", sa.String(100), nullable=False),
    sa.Column("team", sa.String(100)),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("shown", sa.Integer, nullable=False),  # periods that may be seen
    sa.Column("coming", sa.Integer, nullable=False),  # periods that may be seen from coming_at on
    sa.Column("coming_at", sa.Float, nullable=False),
    sa.Column("due", sa.Float, nullable=False),  # when the next period is over
    sa.Column("leased", sa.Float, nullable=False),
)


@dataclass(frozen=True)
class Dashboard:
    id: str
    dataset: str  # the data set
    counted: Counted
    who: str
    team: str | None
    created: float  # seconds since 1970
    shown: int  # how many periods may be seen now


class Dashboards:
    # open_session: returns a session on a table of a data set (the first where none is named),
    #   whose charges go to the accounts of a caller; the last argument says whether it is for a
    #   request, which reads no row and waits for no engine of an update.

    def __init__(
        self,
        database: Database,
        audit: AuditLog,
        open_session: Callable[[str, Caller, str | None, bool], Session],
        latency: Callable[[str], float],
        clock: Callable[[], float],
    ) -> None:
        self._database, self._audit = database, audit
        self._open_session, self._latency = open_session, latency
        self._clock = clock

    def preview(self, dataset: str, counted: Counted, caller: Caller) -> CounterPreview:
        """Return the cost and the expected errors of a dashboard; reads no row."""
        return counted.counter(self._open_session(dataset, caller, counted.table, True)).preview()

    def identity(self, dataset: str, counted: Counted, caller: Caller) -> str:
        """Return the number that a dashboard of a caller has, or would have."""
        session = self._open_session(dataset, caller, counted.table, True)
        return counted.identity(dataset, session.ledger.id)

    def begin(self, dataset: str, counted: Counted, caller: Caller) -> Dashboard:
        """Pay for all periods of a dashboard; if it exists, return it."""
        session = self._open_session(dataset, caller, counted.table, True)
        counter = counted.counter(session)
        ledger_id = session.ledger.id
        cost = counter.cost
        try:
            counter.update(now=counted.first)  # no period is over: pays, and reads no row
        except BudgetError:
            self._record(dataset, caller, None, "refused", cost=cost.to_json())
            raise
        identity = counted.identity(dataset, ledger_id)
        with self._database.begin(lock="dashboards") as run:
            query = sa.select(_dashboards).where(_dashboards.c.id == identity)
            if run.execute(query).first() is None:
                row = {
                    "id": identity,
                    "dataset": dataset,
                    "counted": json.dumps(counted.to_json(), sort_keys=True),
                    "who": caller.name,
                    "team": caller.team,
                    "created": self._clock(),
                    "shown": 0,
                    "coming": 0,
                    "coming_at": 0.0,
                    "due": counted.due(counter, 1),
                    "leased": 0.0,
                }
                run.execute(_dashboards.insert(), row)
                self._record(dataset, caller, identity, "done", run, cost=cost.to_json())
        return self.find(identity)

    def _record(
        self,
        dataset: str,
        caller: Caller,
        identity: str | None,
        outcome: str,
        run: sa.Connection | None = None,
        **details: Any,
    ) -> None:
        self._audit.acted(
            "dashboard_begun",
            caller,
            outcome=outcome,
            dataset=dataset,
            subject=identity,
            details=details,
            connection=run,
        )

    def find(self, identity: str) -> Dashboard:
        rows = self._database.rows(sa.select(_dashboards).where(_dashboards.c.id == identity))
        if not rows:
            raise Problem("not_found", "there is no such dashboard", "GET /v1/dashboards lists all")
        return self._dashboard(rows[0])

    def all(self, dataset: str | None = None) -> list[Dashboard]:
        """Return all dashboards, or those of a data set, in the order of their creation."""
        query = sa.select(_dashboards).order_by(_dashboards.c.created, _dashboards.c.id)
        if dataset is not None:
            query = query.where(_dashboards.c.dataset == dataset)
        return [self._dashboard(row) for row in self._database.rows(query)]

    def _dashboard(self, row: Any) -> Dashboard:
        shown = row.coming if self._clock() >= row.coming_at else row.shown
        counted = Counted.from_json(json.loads(row.counted))
        return Dashboard(row.id, row.dataset, counted, row.who, row.team, row.created, shown)

    def answer(self, dashboard: Dashboard) -> PeriodAnswer:
        """Return the counts that may be seen; reads no row, and costs nothing."""
        return self._counter(dashboard, dry_run=True).answer(dashboard.shown)

    def _counter(self, dashboard: Dashboard, *, dry_run: bool) -> TimeCounter:
        who = Caller(dashboard.who, dashboard.team, (), "", 0)
        table = dashboard.counted.table
        session = self._open_session(dashboard.dataset, who, table, dry_run)
        counter = dashboard.counted.counter(session)
        if not counter.begun:  # an update would pay for all periods again, which no one asked for
            raise Problem(
                "conflict",
                "the table is not read as it was when the dashboard began, so this would be "
                "another count, at a price of its own",
                "declare the table as before, or begin another dashboard",
            )
        return counter

    # --- updates, by the clock

    def update_due(self) -> int:
        """Publish the finished periods of all dashboards; return how many dashboards had any."""
        # One process does each; another continues where it died.  What fails is tried again after a
        # while.
        now, updated = self._clock(), 0
        rows = self._database.rows(sa.select(_dashboards).where(_due(now)))
        for dashboard in map(self._dashboard, rows):
            try:
                updated += self._update(dashboard, now)
            except TacitError as error:
                # Its kind is about the position of the table, not about a row in it.
                log(
                    "dashboard",
                    dashboard=dashboard.id,
                    dataset=dashboard.dataset,
                    outcome="failed",
                    code=type(error).__name__,
                )
        return updated

    def _update(self, dashboard: Dashboard, now: float) -> bool:
        if not self._lease(dashboard.id, now):
            return False
        counted, counter = dashboard.counted, self._counter(dashboard, dry_run=False)
        closed = counted.closed(counter, now)
        counter.update(now=counted.until(counter, closed))
        # Both are public; a dashboard may start long after its periods.
        since = max(counted.due(counter, closed), dashboard.created)
        tick = tick_after(since, self._latency(dashboard.dataset), self._clock())
        later = counted.due(counter, closed + 1) if closed < counted.periods else _NEVER
        self._come(dashboard.id, closed, tick, later)
        return True

    def _lease(self, identity: str, now: float) -> bool:
        """Lease an update to this process, unless another process has it."""
        wanted = sa.and_(_dashboards.c.id == identity, _due(now))
        with self._database.begin(lock="dashboards") as run:
            taken = run.execute(_dashboards.update().where(wanted).values(leased=now + _LEASE))
            return bool(taken.rowcount)

    def _come(self, identity: str, periods: int, tick: float, due: float) -> None:
        """Store what may be seen from a tick on; the update before it is visible by now."""
        own = _dashboards.c.id == identity
        with self._database.begin(lock="dashboards") as run:
            row = run.execute(sa.select(_dashboards).where(own)).one()
            shown = row.coming if self._clock() >= row.coming_at else row.shown
            seen = {
                "shown": shown,
                "coming": max(row.coming, periods),
                "coming_at": tick,
                "due": due,
            }
            run.execute(_dashboards.update().where(own).values(**seen, leased=0.0))


def _due(now: float) -> sa.ColumnElement[bool]:
    """True if an update is due that no process has leased, and the last one is visible."""
    c = _dashboards.c
    return sa.and_(c.due <= now, c.coming_at <= now, c.leased <= now)


# Dashboards that another person approves before they start.


_requests = request_table("dashboard_request", "counted")


class DashboardRequests(ApprovalRequests[Counted]):
    """The dashboards of a service that wait for a decision."""

    def __init__(
        self,
        database: Database,
        audit: AuditLog,
        dashboards: Dashboards,
        decisions: Decisions,
        webhook: Webhook,
        clock: Callable[[], float],
    ) -> None:
        super().__init__(
            _requests,
            "dashboard",
            Counted.from_json,
            dashboards.begin,
            database,
            audit,
            decisions,
            webhook,
            clock,
        )
        self._dashboards = dashboards

    def ask(self, dataset: str, counted: Counted, caller: Caller) -> ApprovalRequest[Counted]:
        """Request a dashboard; one that was refused waits again."""
        expected = self._dashboards.preview(dataset, counted, caller)
        if not expected.affordable:
            raise BudgetError(
                f"the dashboard costs {expected.cost}, and {expected.remaining} is left; nothing "
                "was spent"
            )
        identity = self._dashboards.identity(dataset, counted, caller)
        return self.add(identity, dataset, counted.to_json(), caller, expected.cost)
