"""Schedules of releases at a service: one question, one budget, and a calendar."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from tacit.accounting.budget import Budget
from tacit.calls import public
from tacit.client.remote_plan import RemotePlan
from tacit.client.remote_question import (
    RemoteDataset,
    RemoteJob,
    RemoteQuestion,
    RemoteSql,
    release_body,
)
from tacit.client.transport import Transport
from tacit.errors import UsageError
from tacit.tables.plan.price import Price


@dataclass(frozen=True)
class ScheduledRelease:
    """A release in the calendar of a schedule.

    Attributes:
        due: when it is made, in UTC.
        tag: its tag: that of the schedule, and its date.
        state: ``planned``, ``due`` (and not made yet), ``missed``, ``cancelled``, or the state of
            its release, such as ``done``.
        job: the number of its release, for :meth:`Connection.job`; None before it was made.
    """

    due: datetime.datetime
    tag: str
    state: str
    job: str | None


@public
class RemoteSchedule:
    """A question that a service releases at each time of a calendar, paid for at the beginning.

    Attributes:
        id: its number at the service.
    """

    def __init__(self, transport: Transport, fields: Mapping[str, Any]) -> None:
        self._transport, self._fields = transport, dict(fields)
        self.id = str(fields["id"])
        self._path = f"/v1/schedules/{quote(self.id, safe='')}"

    @property
    def state(self) -> str:
        """``waiting`` (for a reviewer), ``refused``, ``running``, ``done`` or ``cancelled``.

        Or ``paying``, where its payment stopped half way: the same call again continues it.
        """
        return str(self._fresh()["state"])

    @property
    def title(self) -> str:
        """What its owner calls it."""
        return str(self._fields["title"])

    @property
    def question(self) -> str:
        """The question, in words."""
        return str(self._fields["question"])

    @property
    def cost(self) -> Budget:
        """The price of each release."""
        return Budget.from_json(self._fields["cost"])

    @property
    def total(self) -> Budget:
        """The price of all releases together."""
        return Budget.from_json(self._fields["total"])

    @property
    def calendar(self) -> list[ScheduledRelease]:
        """Its releases, as they are now."""
        return [
            ScheduledRelease(
                datetime.datetime.fromtimestamp(one["due"], datetime.UTC),
                str(one["tag"]),
                str(one["state"]),
                one["release"],
            )
            for one in self._fresh()["calendar"]
        ]

    def jobs(self) -> list[RemoteJob]:
        """Return the releases that were made, the first one first."""
        made = [one.job for one in self.calendar if one.job is not None]
        return [
            RemoteJob(self._transport, self._transport.get(f"/v1/releases/{quote(job, safe='')}"))
            for job in made
        ]

    def cancel(self) -> None:
        """Cancel it: no further release is made, and what was paid stays paid.

        What was paid can be asked with the tags of the calendar, at no further cost.  One that
        waits for a reviewer is withdrawn, and nothing was spent.

        Raises:
            RefusedError: it is over.
            AccessError: it is not yours.
        """
        self._fields = self._transport.delete(self._path)

    def _fresh(self) -> dict[str, Any]:
        if self._fields["state"] != "cancelled" or self._fields.get("calendar") is None:
            self._fields = self._transport.get(self._path)
        return self._fields

    def __repr__(self) -> str:
        return f"<RemoteSchedule {self.id}: {self._fields['state']}>"


def remote_schedule(
    at: RemoteDataset,
    question: RemoteQuestion | RemoteSql | RemotePlan,
    start: str | datetime.date,
    every: str,
    times: int,
    title: str,
    price: Price,
) -> RemoteSchedule:
    """Start a schedule at a service; see :meth:`RemoteTable.schedule`."""
    request = release_body(question, at, price)
    if request is None:
        raise UsageError(
            "schedule a question or a plan of this connection: "
            "service.schedule(service.agg(n=tc.count()), start='2026-01-31', every='1mo', ...)"
        )
    body = {
        "request": request,
        "start": start.isoformat() if isinstance(start, datetime.date) else start,
        "every": every,
        "times": times,
        "title": title,
    }
    return RemoteSchedule(at.transport, at.transport.post(f"{at.path}/schedules", body))


def remote_schedules(at: RemoteDataset) -> list[RemoteSchedule]:
    """Return the schedules of a data set; see :meth:`RemoteTable.schedules`."""
    items = at.transport.get("/v1/schedules")["items"]
    return [RemoteSchedule(at.transport, one) for one in items if one["dataset"] == at.name]
