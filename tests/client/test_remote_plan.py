"""Plans of a client: as those of a session, previewed, charged and answered by the service."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tacit as tc
from support.clinic import make_clinic
from support.service.client import Client, InProcess, running
from support.service.hosting import hosted_clinic
from support.service.server import served
from tacit.client.connection import RemoteTable
from tacit.client.remote_question import RemoteDataset
from tacit.client.transport import Transport
from tacit.errors import BudgetError, RefusedError, UsageError

SQL = "select site, count(*) as k, avg(cost) as m from visits group by site order by k desc limit 2"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    caps = "caps = { each_analyst = { epsilon = 40 } }"
    with running(hosted_clinic(tmp_path_factory.mktemp("clinic"), caps)) as client:
        yield client


@pytest.fixture
def service(client: Client) -> InProcess:
    return InProcess(client, client.token("analyst", "visits", "ada"))


@pytest.fixture
def table(service: InProcess) -> RemoteTable:
    return RemoteTable(RemoteDataset(service, "visits"))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tc.Session]:
    with tc.open(make_clinic(tmp_path_factory.mktemp("local")), ledger=tc.in_memory) as session:
        yield session


def questions(s: Any) -> list[Any]:
    return [
        s.agg(n=tc.count()),
        s.group_by("site").agg(by_site=tc.count(), cost=tc.mean("cost")),
        s.filter(tc.col("cost") > 20).agg(dear=tc.count()),
    ]


OPTIONS: list[dict[str, Any]] = [
    {"weights": {"n": 10}, "unlisted": "drop"},
    {"least": "relative", "nonnegative": True},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_plan_is_that_of_a_session(
    table: RemoteTable, local: tc.Session, options: dict[str, Any]
) -> None:
    here, there = (s.plan(questions(s), **options) for s in (table, local))  # type: ignore[attr-defined]
    assert (here.labels, here.strategy, here.notes) == (there.labels, there.strategy, there.notes)
    assert here.to_html(epsilon="1/2") == there.to_html(epsilon="1/2")
    assert str(here.card().text()) == str(there.card().text())
    price = {"epsilon": "1/3", "rows": [50, 500], "confidence": "0.9"}
    mine, own = here.preview(**price), there.preview(**price)
    for part in ("errors", "units", "intervals", "cost", "protects", "methods"):
        assert getattr(mine, part) == getattr(own, part), part


def test_a_plan_with_sql_is_translated_by_the_service(
    service: InProcess, table: RemoteTable, local: tc.Session
) -> None:
    here, there = (s.plan([s.agg(n=tc.count()), s.sql(SQL)]) for s in (table, local))  # type: ignore[attr-defined]
    assert service.sent == []  # nothing is asked before it is used
    assert (here.labels, here.strategy) == (there.labels, there.strategy)
    assert service.sent[0][0] == "/v1/datasets/visits/plans/preview"
    assert here.to_html(epsilon=1) == there.to_html(epsilon=1)
    assert len(service.sent) == 1
    whole, sites = here.release(epsilon="1/2", tag="sql")
    assert (len(whole), len(sites), sites.by) == (1, 2, ("site",))
    counts: Any = sites.column("k")["value"]
    assert counts == sorted(counts, reverse=True)


def test_it_is_released_once_and_replayed(client: Client, table: RemoteTable) -> None:
    plan = table.plan(questions(table))
    before = table.spent
    assert (plan.cost(epsilon="1/2"), plan.is_answered(epsilon="1/2")) == (tc.epsilon("1/2"), False)
    answers = plan.release(epsilon="1/2")
    assert [answer.labels for answer in answers] == [("n",), ("by_site", "cost"), ("dear",)]
    assert [answer.keys for answer in answers] == [[()], [(1,), (2,), (3,)], [()]]
    assert all(answer.certificate.verify() for answer in answers)
    assert [answer.question for answer in answers] == [
        member.query.describe() for member in plan._plan.members
    ]
    assert table.spent == before + tc.epsilon("1/2")
    assert (plan.cost(epsilon="1/2").is_nothing, plan.is_answered(epsilon="1/2")) == (True, True)
    again = plan.release(epsilon="1/2")
    assert [one.to_dict() for one in again] == [one.to_dict() for one in answers]
    assert all(one.replayed for one in again)
    assert table.spent == before + tc.epsilon("1/2")
    job = table.history()[0]
    assert "3 questions together" in job.question
    assert len(job.results()) == 3
    with pytest.raises(UsageError, match=r"a plan of 3 questions: job.results\(\)"):
        job.result()


def test_the_cheapest_plan_is_found_here_and_charged_there(
    service: InProcess, table: RemoteTable, local: tc.Session
) -> None:
    targets = {"n": "40 rows", "by_site": 60, "cost": 900, "dear": 50}
    here, there = (s.plan(questions(s)).cheapest(targets, rows=500) for s in (table, local))  # type: ignore[attr-defined]
    assert (here.loss, here.shares) == (there.loss, there.shares)
    assert here.preview().errors == there.preview().errors
    here.release()
    assert service.sent[-1][1]["cheapest"] == {
        "targets": {"n": "40 rows", "by_site": "60", "cost": "900", "dear": "50"},
        "confidence": "19/20",
        "rows": 500,
    }


def test_what_follows_from_ones_own_releases(client: Client, table: RemoteTable) -> None:
    plan = table.plan([table.agg(n=tc.count()), table.agg(c=tc.mean("cost"))])
    assert plan.free_errors(tag="free") == [None, None]
    table.agg(n=tc.count()).release(epsilon=1, tag="free")
    assert plan.preview(epsilon=1, tag="free").free == {
        "n": pytest.approx(plan.free_errors(tag="free")[0]["n"])  # type: ignore[index]
    }
    answer, none = plan.free_answers(tag="free")
    assert none is None
    assert answer is not None
    assert answer.cost.is_nothing


def test_questions_of_another_table(table: RemoteTable) -> None:
    people = table.table("patients")
    plan = people.plan([people.agg(n=tc.count()), people.agg(age=tc.mean("age"))])
    first, second = plan.release(epsilon="1/4")
    assert (first.labels, second.labels) == (("n",), ("age",))


REFUSED = {
    "nothing": lambda t: t.plan([]),
    "no question": lambda t: t.plan([tc.count()]),
    "two tables": lambda t: t.plan([t.agg(n=tc.count()), t.table("patients").agg(m=tc.count())]),
    "no such aim": lambda t: t.plan(questions(t), least="most"),
    "no such label": lambda t: t.plan(questions(t), weights={"x": 2}),
    "groups that are not listed": lambda t: t.plan([t.group_by("day").agg(n=tc.count())]),
    "weights that are none": lambda t: t.plan([t.sql(SQL)], weights=3),
    "no price": lambda t: t.plan(questions(t)).preview(),
    "a rho": lambda t: t.plan(questions(t)).release(rho=1),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_planned_is_refused(table: RemoteTable, name: str) -> None:
    with pytest.raises(UsageError):
        REFUSED[name](table)


def test_what_is_too_much_is_refused_as_a_session_does(table: RemoteTable) -> None:
    plan = table.plan(questions(table))
    with pytest.raises(BudgetError, match="the cap of analyst:ada"):
        plan.release(epsilon=41)


@pytest.mark.full
def test_a_plan_over_a_socket_whose_replies_are_lost(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    httpx = pytest.importorskip("httpx")
    plain, lost = Transport._sent, list[Any]()

    def losing(self: Any, method: Any, path: Any, given: Any) -> Any:
        result = plain(self, method, path, given)
        if path.endswith("/plans") and len(lost) < 2:
            lost.append(result)
            raise httpx.ReadError("the reply was lost")
        return result

    monkeypatch.setattr(Transport, "_sent", losing)
    with (
        served(hosted_clinic(tmp_path)) as here,
        tc.connect(here.address, here.token("analyst", name="ada"), dataset="visits") as ada,
    ):
        answers = ada.plan([ada.agg(n=tc.count()), ada.sql(SQL)]).release(epsilon="1/2")
        assert len(lost) == 2
        assert ada.spent == tc.epsilon("1/2")
        assert [len(answer) for answer in answers] == [1, 2]
        with pytest.raises(RefusedError):
            ada.plan([ada.agg(n=tc.count())]).release(epsilon=2000)
