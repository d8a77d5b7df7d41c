"""A service that runs in a process of its own, asked over a socket as a session is asked."""

from __future__ import annotations

import json
import pickle

import pytest

import tacit as tc
from support.clinic import DECLARED, make_clinic
from support.service.server import served
from tacit.client.transport import Transport
from tacit.errors import (
    AccessError,
    BudgetError,
    RefusedError,
    ServiceError,
    UnsupportedQueryError,
    UsageError,
)

pytestmark = pytest.mark.full
SQL = "select site, count(*) as n from visits group by site order by n desc limit 2"


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clinic")
    make_clinic(folder)
    guarded = DECLARED.partition("[tables.patients]")[0]
    for old in ('name = "visits"', "tables.visits", "visits.csv"):
        guarded = guarded.replace(old, old.replace("visits", "births"))
    (folder / "births.csv").write_text("person,site,cost,day\n1,1,2,2024-01-05\n")
    (folder / "births.toml").write_text(guarded)
    settings = "latency = 0.5\n[datasets.visits]\ncaps = { each_analyst = { epsilon = 40 } }\n"
    (folder / "service.toml").write_text(settings + "[datasets.births]\napproval = true\n")
    with served(folder) as running:
        yield running


@pytest.fixture
def ada(here):
    with tc.connect(here.address, here.token("analyst", name="ada"), dataset="visits") as service:
        yield service


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    path = make_clinic(tmp_path_factory.mktemp("local"))
    with tc.open(path, ledger=tc.in_memory) as session:
        yield session


def test_a_service_says_what_it_hosts(here, ada, local):
    assert ada.datasets == ["births", "visits"]
    table = ada.dataset("visits")
    assert (table.dataset, table.columns) == (local.dataset, local.columns)
    assert table.unit == local.unit
    assert ada.budget == tc.epsilon(1000)
    assert table.about["purpose"] == "How the clinic is used"
    assert "who may ask" in ada.why("ask")
    assert "ask a curator" in ada.why("approve")


def test_a_release_is_that_of_a_session_with_a_certificate_that_holds(ada, local):
    asked = ada.filter(tc.col("cost") > 20).group_by("site").agg(n=tc.count(), c=tc.mean("cost"))
    there = local.filter(tc.col("cost") > 20).group_by("site").agg(n=tc.count(), c=tc.mean("cost"))
    before = ada.spent
    answer = asked.release(epsilon="1/2")
    assert answer.by == ("site",)
    assert answer.keys == [(1,), (2,), (3,)]
    assert answer.certificate.verify()
    assert answer.certificate.body["question"]["query"] == there.described()
    assert answer.cost == tc.epsilon("1/2")
    assert ada.spent == before + answer.cost
    again = asked.release(epsilon="1/2")
    assert (again.replayed, again.to_dict()) == (True, answer.to_dict())
    assert asked.is_answered(epsilon="1/2")
    assert asked.cost(epsilon="1/2").is_nothing


def test_what_follows_from_ones_own_releases_is_free(here, ada):
    fine, coarse = (
        ada.agg(costs=tc.histogram("cost", edges))
        for edges in (range(0, 1001, 100), [0, 200, 400, 1000])
    )
    assert coarse.free_answer() is None
    source = fine.release(epsilon="1/2")
    before = ada.spent
    found = coarse.preview(epsilon="1/4")
    assert found.free == coarse.free_errors() is not None
    answer = coarse.free_answer()
    assert (answer.cost.is_nothing, ada.spent) == (True, before)
    assert answer.certificate.verify()
    assert answer.certificate.body["sources"] == [source.certificate.body]
    assert answer.question == coarse.described()
    with tc.connect(here.address, here.token("analyst", name="ben"), dataset="visits") as ben:
        assert ben.agg(costs=tc.histogram("cost", [0, 200, 400, 1000])).free_answer() is None


@pytest.mark.parametrize(
    "ask",
    [
        lambda s: s.join("sites").group_by("region").agg(n=tc.count()),
        lambda s: s.join("patients").agg(age=tc.mean("age")),
        lambda s: s.per_person(t=tc.sum("cost", 0, 5000)).agg(t=tc.mean("t")),
        lambda s: s.table("patients").agg(age=tc.median("age")),
    ],
    ids=["public", "people", "per person", "another table"],
)
def test_questions_of_several_tables_and_of_people(ada, ask):
    answer = ask(ada).release(epsilon=1)
    assert answer.certificate.verify()


def test_sql_is_shown_as_it_was_arranged(ada, local):
    preview = ada.sql(SQL).preview(epsilon="1/4")
    assert preview.errors == local.sql(SQL).preview(epsilon="1/4").errors
    answer = ada.release(SQL, epsilon="1/4")
    counts = answer.column("n")["value"]
    assert len(answer) == 2
    assert counts == sorted(counts, reverse=True)
    assert len(answer.certificate.body["answer"]["keys"]) == 3
    with pytest.raises(UnsupportedQueryError) as refused:
        ada.sql("select\n  drop_it(cost) from visits").release(epsilon=1)
    assert refused.value.position[0] == 2


def test_what_is_refused_is_raised_as_a_session_raises_it(here, ada):
    count = ada.agg(n=tc.count())
    with pytest.raises(BudgetError):
        count.release(epsilon=41)
    with pytest.raises(UsageError):
        count.release(rho=1)
    with pytest.raises(UsageError):
        count.preview(epsilon="1", rows=[0])
    with (
        tc.connect(here.address, "tacit_" + "A" * 96) as nobody,
        pytest.raises(AccessError, match="token"),
    ):
        nobody.datasets  # noqa: B018
    with tc.connect(here.address, here.token("analyst", dataset="births", name="bob")) as bob:
        with pytest.raises(AccessError):
            bob.dataset("visits")
        with pytest.raises(UsageError, match="no table"):
            bob.table("nothing")
    with tc.connect(here.address, here.token("auditor", name="otto")) as otto:
        with pytest.raises(UsageError, match="say which data set"):
            otto.remaining  # noqa: B018
        with pytest.raises(AccessError):
            otto.dataset("visits").agg(n=tc.count()).release(epsilon=1)


def test_a_reply_that_is_lost_charges_nothing_twice(ada, monkeypatch):
    httpx = pytest.importorskip("httpx")
    plain, lost = Transport._sent, []

    def losing(self, method, path, given):
        found = plain(self, method, path, given)
        if path.endswith("/releases") and len(lost) < 2:
            lost.append(found)
            raise httpx.ReadError("the reply was lost")
        return found

    monkeypatch.setattr(Transport, "_sent", losing)
    before = ada.spent.epsilon
    question = ada.agg(people=tc.count_people())
    question.release(epsilon="1/8")
    question.release(epsilon="1/8", tag="again")
    assert len(lost) == 2
    assert ada.spent.epsilon - before == 2 * tc.epsilon("1/8").epsilon
    names = [json.loads(body)["id"] for _, body in lost]
    assert len(set(names)) == 1


def test_a_reviewer_decides_and_the_job_goes_on(here, ada):
    question = ada.dataset("births").agg(n=tc.count())
    job = question.submit(epsilon="1/2")
    assert job.state == "waiting"
    assert (job.asked_by, job.cost) == ("ada", tc.epsilon("1/2"))
    with pytest.raises(ServiceError, match="waits for a reviewer"):
        job.result()
    with here.client(here.token("reviewer", name="rita")) as rita:
        assert rita.post(f"/v1/releases/{job.id}/approve").status_code == 200
    assert ada.job(job.id).result(timeout=60).certificate.verify()
    refused = question.submit(epsilon="1/3")
    with here.client(here.token("reviewer", name="rita")) as rita:
        rita.post(f"/v1/releases/{refused.id}/refuse", json={"reason": "too fine"})
    with pytest.raises(RefusedError, match="too fine"):
        refused.result()
    cancelled = question.submit(epsilon="1/5")
    cancelled.cancel()
    with pytest.raises(RefusedError, match="cancelled"):
        cancelled.result()
    assert [one.state for one in ada.dataset("births").history()][:3] == [
        "cancelled",
        "refused",
        "done",
    ]
    with pytest.raises(UsageError):
        ada.job("0" * 32)


def test_a_connection_keeps_its_token_to_itself(here, ada):
    assert "tacit_" not in repr(ada)
    with pytest.raises(UsageError, match="cannot be pickled"):
        pickle.dumps(ada)
