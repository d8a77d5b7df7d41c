"""A release that a service works on: waited for, cancelled, and how it ends."""

from __future__ import annotations

import pytest

import tacit as tc
from support.clinic import make_clinic
from tacit.client.remote_session import Job
from tacit.errors import BudgetError, RefusedError, ServiceError


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
    job = Job(service, {"id": "r 1", "state": "queued", "ready_at": 5})
    assert job.ready_at == 5
    found = job.result()
    assert found.to_dict() == answer.to_dict()
    assert (found.by, found.cost, found.replayed) == (("site",), tc.epsilon(1), True)
    assert found.certificate.verify()
    assert [query.get("wait") for _, query in service.asked] == [30, 30, 30, None]
    job.result()
    assert len(service.asked) == 5  # the certificate again, and nothing else


def test_a_reviewer_is_not_waited_for(answer):
    service = Told(answer, "waiting", "queued", "done", **done(answer))
    job = Job(service, {"id": "r 1", "state": "waiting"})
    with pytest.raises(ServiceError, match="waits for a reviewer"):
        job.result()
    assert job.result().to_dict() == answer.to_dict()


def test_the_time_to_wait_is_limited(answer):
    job = Job(Told(answer, "running"), {"id": "r 1", "state": "running"})
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
    job = Job(Told(answer, state, **more), {"id": "r 1", "state": "queued"})
    with pytest.raises(kind, match=told):
        job.result()


def test_it_is_cancelled(answer):
    service = Told(answer, "queued")
    job = Job(service, {"id": "r1", "state": "queued"})
    assert "queued" in repr(job)
    job.cancel()
    assert job.state == "cancelled"
    assert service.asked == [("/v1/releases/r1/cancel", None)]
