"""A service that runs in a process of its own, asked over a socket as a session is asked."""

from __future__ import annotations

import json
import pickle

import pytest

import tacit as tc
from support.clinic import DECLARED, make_clinic
from support.service.server import served
from tables.test_cell_axis import QUESTIONS, without_facts
from tacit.client.connection import RemoteTable
from tacit.client.remote_question import RemoteDataset, RemoteJob
from tacit.client.transport import Transport
from tacit.errors import (
    AccessError,
    BudgetError,
    RefusedError,
    ServiceError,
    UnsupportedQueryError,
    UsageError,
)
from tacit.tables.dataset.draft import shapes_of

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


@pytest.mark.full
def test_a_service_says_what_it_hosts(here, ada, local):
    assert ada.datasets == ["births", "visits"]
    table = ada.dataset("visits")
    assert (table.dataset, table.columns) == (local.dataset, local.columns)
    assert table.unit == local.unit
    assert ada.budget == tc.epsilon(1000)
    assert table.about["purpose"] == "How the clinic is used"
    assert "who may ask" in ada.why("ask")
    assert "ask a curator" in ada.why("approve")


@pytest.mark.full
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


@pytest.mark.full
def test_what_follows_from_ones_own_releases_is_free(here, ada):
    fine, coarse = (
        ada.agg(costs=tc.histogram("cost", edges))
        for edges in (range(0, 1001, 100), [0, 200, 400, 1000])
    )
    assert coarse.free_answer() is None
    source = fine.release(epsilon="1/2")
    before = ada.spent
    result = coarse.preview(epsilon="1/4")
    assert result.free == coarse.free_errors() is not None
    answer = coarse.free_answer()
    assert (answer.cost.is_nothing, ada.spent) == (True, before)
    assert answer.certificate.verify()
    assert answer.certificate.body["sources"] == [source.certificate.body]
    assert answer.question == coarse.described()
    with tc.connect(here.address, here.token("analyst", name="ben"), dataset="visits") as ben:
        assert ben.agg(costs=tc.histogram("cost", [0, 200, 400, 1000])).free_answer() is None


@pytest.mark.full
@pytest.mark.parametrize(
    "ask",
    [
        lambda s: s.join("sites").group_by("region").agg(n=tc.count()),
        lambda s: s.join("patients").agg(age=tc.mean("age")),
        lambda s: s.per_person(t=tc.sum("cost", 0, 5000)).agg(t=tc.mean("t")),
        lambda s: s.table("patients").agg(age=tc.median("age")),
        lambda s: s.agg(
            r=tc.ratio("cost", per=1000), m=tc.weighted_mean("cost", "site", {"site": (0, 5)})
        ),
    ],
    ids=["public", "people", "per person", "another table", "weights"],
)
def test_questions_of_several_tables_and_of_people(ada, ask):
    answer = ask(ada).release(epsilon=1)
    assert answer.certificate.verify()


@pytest.mark.full
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


@pytest.mark.full
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
        with pytest.raises(UsageError, match="name a data set"):
            otto.remaining  # noqa: B018
        with pytest.raises(AccessError):
            otto.dataset("visits").agg(n=tc.count()).release(epsilon=1)


@pytest.mark.full
def test_a_reply_that_is_lost_charges_nothing_twice(ada, monkeypatch):
    httpx = pytest.importorskip("httpx")
    plain, lost = Transport._sent, []

    def losing(self, method, path, given):
        result = plain(self, method, path, given)
        if path.endswith("/releases") and len(lost) < 2:
            lost.append(result)
            raise httpx.ReadError("the reply was lost")
        return result

    monkeypatch.setattr(Transport, "_sent", losing)
    before = ada.spent.epsilon
    question = ada.agg(people=tc.count_people())
    question.release(epsilon="1/8")
    question.release(epsilon="1/8", tag="again")
    assert len(lost) == 2
    assert ada.spent.epsilon - before == 2 * tc.epsilon("1/8").epsilon
    names = [json.loads(body)["id"] for _, body in lost]
    assert len(set(names)) == 1


@pytest.mark.full
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


@pytest.mark.full
def test_a_connection_keeps_its_token_to_itself(here, ada):
    assert "tacit_" not in repr(ada)
    with pytest.raises(UsageError, match="cannot be pickled"):
        pickle.dumps(ada)


# A question that a client builds is the one that a session builds.


class Hosted:
    """A service in this process, of one data set: what it is sent, a session is asked."""

    url = "https://statistics.example"

    def __init__(self, session, shapes):
        self.session, self.shapes, self.sent = session, shapes, []

    def get(self, path, **_query):
        session = self.session
        return {
            "identity": session.dataset,
            "table": "visits",
            "tables": {name: shape.to_json() for name, shape in self.shapes.items()},
            **{part: getattr(session, part).to_json() for part in ("budget", "spent", "remaining")},
        }

    def post(self, path, body, key=None):
        body = json.loads(json.dumps(body, allow_nan=False))
        self.sent.append(body)
        asked = self.session
        question = asked.sql(body["sql"]) if "sql" in body else asked.described(body["described"])
        price = {n: body.get(n) for n in ("epsilon", "delta", "rho", "total")}
        shown = {n: body[n] for n in ("rows", "confidence") if n in body}
        return {
            "preview": question.preview(**price, **shown).to_json(),
            "replay": question.is_answered(**price, tag=body.get("tag")),
            "open": False,
        }


@pytest.fixture(scope="module")
def hosted(tmp_path_factory):
    path = make_clinic(tmp_path_factory.mktemp("clinic"))
    with tc.open(path, ledger=tc.in_memory) as session:
        yield Hosted(session, shapes_of(tc.Dataset.load(path)))


@pytest.fixture(scope="module")
def table(hosted):
    return RemoteTable(RemoteDataset(hosted, "visits"))


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_describes_itself_as_that_of_a_session_does(hosted, table, name):
    here, there = QUESTIONS[name](table), QUESTIONS[name](hosted.session)
    assert without_facts(here.described()) == without_facts(there.described())
    assert hosted.session.described(without_facts(here.described())).described() == (
        there.described()
    )


def test_a_preview_is_that_of_a_session(hosted, table):
    asked = {"rows": [50, 500], "confidence": "0.9"}
    for price in ({"epsilon": 0.5}, {"epsilon": {"n": 1, "c": 3}, "total": "1/3"}):
        here = table.group_by("site").agg(n=tc.count(), c=tc.mean("cost"))
        there = hosted.session.group_by("site").agg(n=tc.count(), c=tc.mean("cost"))
        assert here.preview(**price, **asked) == there.preview(**price, **asked)


def test_a_float_is_sent_exactly(hosted, table):
    table.agg(n=tc.count()).preview(epsilon=0.1)
    assert hosted.sent[-1]["epsilon"] == "3602879701896397/36028797018963968"


def test_sql_is_sent_as_it_is(hosted, table):
    question = table.sql("select count(*) as n from visits")
    assert question.preview(epsilon=1) == hosted.session.agg(n=tc.count()).preview(epsilon=1)
    assert "select count(*)" in repr(question)


def test_what_it_takes_now(hosted, table):
    question = table.agg(n=tc.count(), p=tc.count_people())
    assert question.cost(epsilon="1/2") == tc.epsilon("1/2")
    hosted.session.agg(n=tc.count(), p=tc.count_people()).release(epsilon="1/2")
    assert question.is_answered(epsilon="1/2")
    assert question.cost(epsilon="1/2").is_nothing
    assert question.cost(epsilon="1/2", tag="again") == tc.epsilon("1/2")


def test_the_least_epsilon_is_worked_out_here(hosted, table):
    here = table.agg(c=tc.mean("cost"), n=tc.count())
    there = hosted.session.agg(c=tc.mean("cost"), n=tc.count())
    asked = {"targets": {"c": 20}, "rows": 500}
    assert here.epsilon_for(**asked) == there.epsilon_for(**asked)


REFUSED = {
    "a column that is not there": lambda t: t.group_by("nothing"),
    "a table that is not there": lambda t: t.join("nothing"),
    "itself": lambda t: t.join("visits"),
    "a join by another column": lambda t: t.join("patients", on="site"),
    "a public table asked": lambda t: t.table("sites"),
    "a statistic without bounds": lambda t: t.agg(s=tc.sum("person")),
    "a loss of nothing": lambda t: t.agg(n=tc.count()).preview(epsilon=0),
    "a loss that is text": lambda t: t.agg(n=tc.count()).preview(epsilon="much"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_asked_is_refused(table, name):
    with pytest.raises(UsageError):
        REFUSED[name](table)


def test_what_a_table_says_of_itself(hosted, table):
    session = hosted.session
    assert (table.dataset, table.unit, table.columns) == (
        session.dataset,
        session.unit,
        session.columns,
    )
    assert (table.budget, table.remaining) == (session.budget, session.remaining)
    assert table.spent == session.spent
    assert table.table("patients").unit.column == "id"
    assert "tables" not in table.about


# A release that a service works on: waited for, cancelled, and how it ends.


@pytest.fixture(scope="module")
def answer(tmp_path_factory):
    with tc.open(make_clinic(tmp_path_factory.mktemp("clinic")), ledger=tc.in_memory) as session:
        yield session.group_by("site").agg(n=tc.count()).release(epsilon=1)


class Told:
    """A service that tells of one release, state after state; the last one stays."""

    def __init__(self, released, *states, **more):
        self.states, self.more, self.asked, self.released = list(states), more, [], released

    def get(self, path, **query):
        self.asked.append((path, query))
        if path.endswith("/certificate"):
            return self.released.certificate.body
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        return {"id": "r 1", "state": state, "links": {}, **self.more}

    def post(self, path, _body, key=None):
        self.asked.append((path, key))
        return {"id": "r 1", "state": "cancelled", "links": {}}


def done(answer):
    body = answer.certificate.body
    shown = {"by": list(answer.by), **{n: body["answer"][n] for n in ("keys", "columns")}}
    return {"answer": shown, "cost": answer.cost.to_json(), "replayed": True}


def test_it_is_waited_for_until_the_tick(answer):
    service = Told(answer, "queued", "running", "done", **done(answer))
    job = RemoteJob(service, {"id": "r 1", "state": "queued", "ready_at": 5})
    assert job.ready_at == 5
    result = job.result()
    assert result.to_dict() == answer.to_dict()
    assert (result.by, result.cost, result.replayed) == (("site",), tc.epsilon(1), True)
    assert result.certificate.verify()
    assert [query.get("wait") for _, query in service.asked] == [30, 30, 30, None]
    job.result()
    assert len(service.asked) == 5  # the certificate again, and nothing else


def test_a_reviewer_is_not_waited_for(answer):
    service = Told(answer, "waiting", "queued", "done", **done(answer))
    job = RemoteJob(service, {"id": "r 1", "state": "waiting"})
    with pytest.raises(ServiceError, match="waits for a reviewer"):
        job.result()
    assert job.result().to_dict() == answer.to_dict()


def test_the_time_to_wait_is_limited(answer):
    job = RemoteJob(Told(answer, "running"), {"id": "r 1", "state": "running"})
    with pytest.raises(ServiceError, match="not ready"):
        job.result(timeout=0)


@pytest.mark.parametrize(
    ("state", "more", "kind", "told"),
    [
        ("failed", {"error": {"code": "budget_exceeded", "message": "no"}}, BudgetError, "no"),
        ("failed", {"error": {"error": {"code": "internal", "message": "x"}}}, ServiceError, "x"),
        ("refused", {"error": {"code": "conflict", "message": "too fine"}}, RefusedError, "fine"),
        ("refused", {}, RefusedError, "was refused"),
        ("cancelled", {}, RefusedError, "was cancelled"),
    ],
)
def test_how_else_it_ends(answer, state, more, kind, told):
    job = RemoteJob(Told(answer, state, **more), {"id": "r 1", "state": "queued"})
    with pytest.raises(kind, match=told):
        job.result()


def test_it_is_cancelled(answer):
    service = Told(answer, "queued")
    job = RemoteJob(service, {"id": "r1", "state": "queued"})
    assert "queued" in repr(job)
    job.cancel()
    assert job.state == "cancelled"
    assert service.asked == [("/v1/releases/r1/cancel", None)]
