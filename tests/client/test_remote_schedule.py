"""Schedules of a client: started, looked at and cancelled at the service."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

import pytest

import tacit as tc
from support.service.client import Client, InProcess, running
from support.service.clock import Clock, at
from support.service.hosting import hosted_clinic, release_due
from tacit.client.connection import RemoteTable
from tacit.client.remote_question import RemoteDataset
from tacit.errors import BudgetError, CallError, RefusedError, UsageError
from tacit.service.settings import Settings
from tacit.service.web.state import ServiceState


@pytest.fixture(scope="module")
def clock() -> Clock:
    return Clock(at("2026-01-10"))


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, clock: Clock) -> Iterator[Client]:
    folder = hosted_clinic(tmp_path_factory.mktemp("clinic"))
    with running(ServiceState(Settings.load(folder), clock)) as client:
        yield client


def table_of(client: Client) -> RemoteTable:
    service: Any = InProcess(client, client.token("analyst", "visits", "ada"))
    return RemoteTable(RemoteDataset(service, "visits"))


@pytest.mark.full
def test_it_is_started_looked_at_and_cancelled(client: Client, clock: Clock) -> None:
    table = table_of(client)
    before, question = table.spent, table.agg(n=tc.count())
    when: Any = {"start": date(2026, 1, 31), "every": "1mo", "times": 3, "title": "Beds"}
    made = table.schedule(question, **when, epsilon="1/2", tag="beds")
    assert table.schedule(question, **when, epsilon="1/2", tag="beds").id == made.id
    assert (made.state, made.title, made.total) == ("running", "Beds", tc.epsilon("3/2"))
    assert (made.cost, made.question[:18]) == (tc.epsilon("1/2"), "The number of rows")
    assert table.spent.amount - before.amount == made.total.amount
    assert [one.id for one in table.schedules()] == [made.id]
    release_due(client, clock, "2026-02-01")
    (made,) = table_of(client).schedules()
    first, *_, last = made.calendar
    assert (first.due, first.tag, first.state) == (
        *(datetime(2026, 1, 31, tzinfo=UTC), "beds 2026-01-31", "done"),
    )
    assert (last.due.date(), last.state, last.job) == (date(2026, 3, 31), "planned", None)
    (job,) = made.jobs()
    assert job.id == first.job
    assert job.result().certificate.body["question"]["tag"] == "beds 2026-01-31"
    made.cancel()
    assert [one.state for one in made.calendar] == ["done", "cancelled", "cancelled"]
    with pytest.raises(RefusedError, match="cancelled already"):
        made.cancel()
    assert "cancelled" in repr(made)


def test_a_plan_is_scheduled_too(client: Client) -> None:
    table = table_of(client)
    plan = table.plan([table.agg(n=tc.count()), table.sql("select avg(cost) as m from visits")])
    made = table.schedule(plan, start="2027-01-01 06:00", every="1w", times=2, epsilon="1/4")
    assert [one.tag for one in made.calendar] == ["2027-01-01 06:00", "2027-01-08 06:00"]
    assert made.total == tc.epsilon("1/2")


@pytest.mark.full
def test_what_is_refused_costs_nothing(client: Client) -> None:
    table = table_of(client)
    question, before = table.agg(n=tc.count()), table.spent
    other = table_of(client).agg(n=tc.count())
    for asked, times, price, error, message in (
        (question, 400, {"epsilon": 1000}, BudgetError, "these 400 releases cost"),
        (question, 0, {"epsilon": 1}, UsageError, "times"),
        (question, 2, {}, UsageError, "say what this release may spend"),
        (other, 2, {"epsilon": 1}, UsageError, "of this connection"),
        (question, 2, {"epsilom": 1}, CallError, "'epsilom'; did you mean 'epsilon'"),
        (question, 2, {"epsilon": 1, "tilte": "Beds"}, CallError, "did you mean 'title'"),
    ):
        with pytest.raises(error, match=message):
            table.schedule(asked, start="2027-01-01", every="1d", times=times, **price)
    assert table.spent == before
