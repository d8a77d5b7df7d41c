"""A dashboard: what is counted over time, and how the counts look as JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from tacit.accounting.ledger.hash_chain import canonical
from tacit.errors import UsageError
from tacit.expressions.timeline import Moment
from tacit.service.growing.counted_time import as_length, as_number, reached, shown, when
from tacit.tables.live.answer import PeriodAnswer
from tacit.tables.live.counter import CounterPreview, TimeCounter
from tacit.tables.session import Session

__all__ = ["Counted", "answer_json", "preview_json"]

_NO_CLOCK = (
    "a dashboard follows the clock: where {!r} holds whole numbers, say with clock what they count "
    "(days, hours, minutes, seconds or milliseconds since 1970), and leave it out for times and "
    "dates"
)


@dataclass(frozen=True)
class Counted:
    """What a dashboard counts: rows by period, at one price for all periods.

    Attributes:
        column: the time of a row: a time, a date, or a whole number with a ``clock``.
        start: where the first period begins, such as ``2026-01-01``.
        every: how long a period is: ``15min``, ``1h``, ``1d``, ``1w``.
        periods: how many there are; all of them are paid for at the beginning.
        epsilon: the privacy loss of all periods together.
        rho: instead of epsilon, in zero-concentrated privacy.
        grace: how long a period waits for rows that come late.
        table: of the data set; its first protected one where nothing is said.
        tag: a label that makes this a new, separately paid count.
        title: what the page calls it.
        clock: what the whole numbers of the column count since 1970, one of
            :data:`~tacit.service.growing.counted_time.UNITS`; None for times and dates.
    """

    column: str
    start: str
    every: str
    periods: int
    epsilon: str | None = None
    rho: str | None = None
    grace: str | None = None
    table: str | None = None
    tag: str | None = None
    title: str = ""
    clock: str | None = None

    def identity(self, dataset: str, ledger: str) -> str:
        """Return the number of the dashboard: the same for the same count of the same ledger.

        So a request that is sent twice makes one dashboard.
        """
        asked: dict[str, Any] = {**asdict(self), "title": ""}
        if self.clock is None:  # as before there were clocks
            del asked["clock"]
        text = canonical([dataset, ledger, asked], "dashboard")
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    def counter(self, session: Session) -> TimeCounter:
        """Return the counter; nothing is charged and no row is read.

        Args:
            session: on the table that is counted.

        Raises:
            UsageError: what the dashboard asks does not fit the table.
        """
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
        """Return the time at which so many periods are over, as the column has it."""
        if self.clock is not None:
            return self._end(periods)
        return datetime.fromtimestamp(counter.due(periods) or 0, UTC)

    def due(self, counter: TimeCounter, periods: int) -> float:
        """Return the time at which so many periods are over, in seconds since 1970."""
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
        """Return the fields that are said."""
        return {name: value for name, value in asdict(self).items() if value not in (None, "")}

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> Counted:
        """Return what :meth:`to_json` wrote."""
        return cls(**said)


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
