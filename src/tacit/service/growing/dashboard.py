"""A dashboard: what is counted over time, and how the counts look as JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from tacit.accounting.ledger.hash_chain import canonical
from tacit.errors import UsageError
from tacit.tables.live.answer import PeriodAnswer
from tacit.tables.live.counter import CounterPreview, TimeCounter
from tacit.tables.session import Session

__all__ = ["Counted", "answer_json", "preview_json"]


@dataclass(frozen=True)
class Counted:
    """What a dashboard counts: rows by period, at one price for all periods.

    Attributes:
        column: the time of a row: a time or a date.
        start: where the first period begins, such as ``2026-01-01``.
        every: how long a period is: ``15min``, ``1h``, ``1d``, ``1w``.
        periods: how many there are; all of them are paid for at the beginning.
        epsilon: the privacy loss of all periods together.
        rho: instead of epsilon, in zero-concentrated privacy.
        grace: how long a period waits for rows that come late.
        table: of the data set; its first protected one where nothing is said.
        tag: a label that makes this a new, separately paid count.
        title: what the page calls it.
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

    def identity(self, dataset: str, ledger: str) -> str:
        """Return the number of the dashboard: the same for the same count of the same ledger.

        So a request that is sent twice makes one dashboard.
        """
        asked: dict[str, Any] = {**asdict(self), "title": ""}
        text = canonical([dataset, ledger, asked], "dashboard")
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    def counter(self, session: Session) -> TimeCounter:
        """Return the counter; nothing is charged and no row is read.

        Args:
            session: on the table that is counted.

        Raises:
            UsageError: what the dashboard asks does not fit the table.
        """
        counter = session.count_over_time(
            self.column,
            start=self.start,
            every=self.every,
            periods=self.periods,
            epsilon=self.epsilon,
            rho=self.rho,
            grace=self.grace,
            tag=self.tag,
        )
        if counter.due(1) is None:
            raise UsageError(
                f"a dashboard follows the clock, and {self.column!r} holds whole numbers: name a "
                "column of times or dates"
            )
        return counter

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


def answer_json(answer: PeriodAnswer) -> dict[str, Any]:
    """Return the counts so far as JSON: a list a column, in the order of the periods."""
    columns = {}
    for label in answer.labels:
        column = answer.column(label)
        columns[label] = {
            name: list(column[name]) for name in ("value", "standard_error", "low", "high")
        }
    return {"periods": [key[0] for key in answer.keys], "columns": columns}
