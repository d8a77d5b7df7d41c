"""The desk: what it takes, what it refuses at once, and who decides."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.service.client import Client, running
from support.service.hosting import COUNT, hosted_clinic
from tacit.accounting import epsilon
from tacit.errors import BudgetError, UsageError
from tacit.service.access import Caller, Grant
from tacit.service.hosting.ask import Ask, answer_json
from tacit.service.jobs.desk import Desk
from tacit.service.jobs.queue import Job, Whose
from tacit.service.problem import Problem
from tacit.tables.release.release import Rehearsed

ADA = Caller("ada", "oncology", (Grant("analyst", "visits"),), "t", 0)
RITA = Caller("rita", None, (Grant("reviewer", "visits"),), "r", 0)


def asking(folder: Path, settings: str = "") -> Iterator[Client]:
    """A service whose workers stand still."""
    with running(hosted_clinic(folder, settings)) as client:
        client.state.workers.stop()
        yield client


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    yield from asking(tmp_path)


@pytest.fixture
def approving(tmp_path: Path) -> Iterator[Client]:
    yield from asking(tmp_path, "approval = true")


def submit(client: Client, ask: dict[str, Any] | None = None, once: str | None = None) -> Job:
    return client.state.desk.submit("visits", ADA, Ask.from_json(ask or COUNT), once)


def work(desk: Desk, job: Job) -> Job:
    """Answer a job as a worker does, and those that were asked before it."""
    answered = ""
    while answered != job.id:
        claimed = desk.queue.claim("w")
        assert claimed is not None
        desk.queue.finish(claimed, desk.work(claimed))
        answered = claimed.id
    found = desk.queue.find(job.id)
    assert found is not None
    return found


def wait_for(job: Job) -> Job:
    """Wait for the tick of a job that is over."""
    assert job.visible is not None
    time.sleep(max(0.0, job.visible - time.time()))
    return job


def test_it_holds_the_request_and_no_answer(client: Client) -> None:
    job = submit(client)
    assert json.loads(job.body) == COUNT
    assert json.loads(job.cost) == epsilon("1/2").to_json()
    assert (job.asked_by, job.team, job.words) == (
        "ada",
        "oncology",
        "The number of rows; of the table visits; the table is read with person as integer",
    )
    found = work(client.state.desk, job)
    assert found.outcome == "done"
    answer = client.state.desk.answer(found)
    assert answer.labels == ("n",)
    assert str(answer.value("n")) not in json.dumps([found.body, found.words, found.error])


def test_an_answer_that_stands_is_there_at_once_and_free(client: Client) -> None:
    wait_for(work(client.state.desk, submit(client)))
    before = client.state.datasets.of("visits").ledger(None).spent
    again = submit(client)
    assert again.shown(client.state.clock()) == "done"
    assert again.replayed
    assert client.state.desk.answer(again).replayed
    assert client.state.datasets.of("visits").ledger(None).spent == before


def test_before_its_tick_an_answer_is_nobodys(client: Client) -> None:
    """Whoever asks the same then waits for a tick too, and learns nothing of the engine."""
    for asked in range(1, 20):  # a machine that is busy may ask again only after the tick
        ask = {**COUNT, "epsilon": "1/50", "tag": f"of {asked}"}
        job = work(client.state.desk, submit(client, ask))
        early = submit(client, ask)
        assert job.visible is not None
        if client.state.clock() < job.visible:
            break
    assert early.shown(job.visible - 0.001) == "running"
    assert not early.replayed
    assert client.state.datasets.of("visits").ledger(None).spent == epsilon(f"{asked}/50")
    wait_for(job)
    assert submit(client, ask).replayed


def test_it_is_charged_when_it_is_asked_and_not_when_a_worker_has_time(client: Client) -> None:
    submit(client)
    assert client.state.datasets.of("visits").ledger(None).spent == epsilon("1/2")


def test_computing_with_aggregates_is_the_release_of_these(client: Client) -> None:
    """Also through the service: what a certificate states is checked against its ledger."""
    text = "select sum(cost) / nullif(count(*), 0) as m, count(*) as n from visits"
    found = work(client.state.desk, submit(client, {"sql": f"/* a */ {text} -- b", "epsilon": 1}))
    answer = client.state.desk.answer(found)
    assert answer.labels == ("m", "n")
    body = json.loads(answer.certificate.to_json())
    (total,) = (c for c in body["answer"]["columns"] if c["label"] == "sum_cost")
    assert answer.value("m") == total["value"][0] / answer.value("n")
    assert answer.certificate.verify(client.state.datasets.of("visits").ledger(None))
    shown = answer_json(answer)
    assert shown["about"]["m"].startswith("sum_cost / nullif(n, 0), computed from")
    assert json.dumps(shown)
    plain = submit(client, {"sql": "select count(*) as n, sum(cost) from visits", "epsilon": 1})
    assert plain.key == found.key


def test_what_public_facts_decide_is_refused_at_once(client: Client) -> None:
    with pytest.raises(BudgetError, match="nothing was spent"):
        submit(client, {**COUNT, "epsilon": 5000})
    with pytest.raises(UsageError):
        submit(client, {**COUNT, "epsilon": 0})
    with pytest.raises(UsageError):
        submit(client, {"sql": "select cost from visits", "epsilon": 1})
    assert client.state.desk.queue.listed([Whose("visits")]) == []


def test_what_the_engine_refuses_of_no_rows_costs_nothing(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise UsageError("the engine has no such function")

    monkeypatch.setattr(Rehearsed, "rehearse", refuse)
    with pytest.raises(UsageError, match="no such function"):
        submit(client)
    assert client.state.datasets.of("visits").ledger(None).spent.is_nothing


def test_a_certificate_states_the_balance_of_the_charge(client: Client) -> None:
    """That of the answer would tell which charges of others came before the engine was done."""
    desk = client.state.desk
    job = submit(client)
    submit(client, {**COUNT, "epsilon": 3})
    certificate = desk.answer(work(desk, job)).certificate
    assert certificate.body["spent"]["remaining"]["epsilon"] == "1999/2"
    assert certificate.verify(client.state.datasets.of("visits").ledger(None))


def test_an_idempotency_key_is_one_job(client: Client) -> None:
    job = submit(client, once="a")
    assert submit(client, once="a").id == job.id
    with pytest.raises(Problem, match="another request") as caught:
        submit(client, {**COUNT, "epsilon": "1/3"}, once="a")
    assert caught.value.code == "conflict"
    assert submit(client).id != job.id


def test_one_caller_waits_for_so_many_only(tmp_path: Path) -> None:
    for client in asking(tmp_path, "limits = { waiting_jobs = 2 }"):
        submit(client), submit(client)
        with pytest.raises(Problem) as caught:
            submit(client)
        assert caught.value.code == "too_many"


def test_an_approved_question_is_answered_and_nothing_before(approving: Client) -> None:
    desk, state = approving.state.desk, approving.state
    job = submit(approving)
    assert job.shown(state.clock()) == "waiting"
    assert desk.queue.claim("w") is None
    with pytest.raises(Problem, match="does not decide on it"):
        desk.approve(job, ADA)
    approved = desk.approve(job, RITA)
    assert (approved.decided_by, approved.shown(state.clock())) == ("rita", "running")
    assert approved.started >= job.started
    with pytest.raises(Problem, match="is running already"):
        desk.refuse(job, RITA, "too late")
    assert wait_for(work(desk, job)).outcome == "done"
    assert submit(approving).state == "over"  # what was approved once is free for ever


def test_a_refused_question_spends_nothing(approving: Client) -> None:
    desk = approving.state.desk
    job = submit(approving)
    with pytest.raises(Problem, match="does not decide on it"):
        desk.refuse(job, ADA, "no")
    refused = desk.refuse(job, RITA, "too small a group")
    assert (refused.shown(0), refused.reason) == ("refused", "too small a group")
    with pytest.raises(Problem, match="is refused already"):
        desk.approve(job, RITA)
    assert approving.state.datasets.of("visits").ledger(None).spent.is_nothing


def test_what_runs_is_what_was_approved(approving: Client) -> None:
    """Bounds that are declared anew make it another question, which nobody approved."""
    desk, hosted = approving.state.desk, approving.state.datasets.of("visits")
    job = submit(approving, {"sql": "select avg(cost) as c from visits", "epsilon": 1})
    desk.approve(job, RITA)
    path = approving.state.settings.folder / "visits.toml"
    path.write_text(path.read_text().replace("bounds = [0, 1000]", "bounds = [0, 5]"))
    with running(approving.state.settings.folder) as again:
        claimed = again.state.desk.queue.claim("w")
        if claimed is None:  # a worker of the new service was faster
            claimed = again.state.desk.queue.find(job.id)
        assert claimed is not None
        with pytest.raises(Problem, match="data set was changed since"):
            again.state.desk.work(claimed)
    assert hosted.ledger(None).spent == epsilon(1)  # for what was approved, and for nothing else


def test_what_the_budget_does_not_cover_any_more_is_not_approved(approving: Client) -> None:
    desk, ledger = approving.state.desk, approving.state.datasets.of("visits").ledger(None)
    first, second = (submit(approving, {**COUNT, "epsilon": 1, "tag": tag}) for tag in "ab")
    ledger.charge("other", epsilon(ledger.remaining.amount - 1), {"count": "rows"})
    assert desk.approve(first, RITA).state == "queued"
    with pytest.raises(BudgetError, match="nothing was spent"):
        desk.approve(second, RITA)
    found = desk.queue.find(second.id)
    assert found is not None
    assert found.state == "waiting"


def test_a_question_is_given_up(client: Client) -> None:
    desk = client.state.desk
    job = submit(client)
    assert desk.cancel(job, ADA).shown(0) == "cancelled"
    assert desk.queue.claim("w") is None
    with pytest.raises(Problem, match="is cancelled already"):
        desk.cancel(job, ADA)


def test_a_charge_of_a_question_that_was_given_up_stands(client: Client) -> None:
    desk, ledger = client.state.desk, client.state.datasets.of("visits").ledger(None)
    job = submit(client)
    claimed = desk.queue.claim("w")
    assert claimed is not None
    outcome = desk.work(claimed)
    desk.cancel(job, ADA)
    assert not desk.queue.finish(claimed, outcome)
    assert ledger.spent == epsilon("1/2")
    again = submit(client)
    assert json.loads(again.cost)["epsilon"] == "0"
    assert again.shown(client.state.clock()) == "running"  # it waits for a tick of its own


def test_an_outcome_that_is_shown_cannot_be_given_up(client: Client) -> None:
    wait_for(work(client.state.desk, submit(client)))
    again = submit(client)
    with pytest.raises(Problem, match="is done already"):
        client.state.desk.cancel(again, ADA)


def test_who_did_what_is_written_down(approving: Client) -> None:
    desk, state = approving.state.desk, approving.state
    job = submit(approving)
    desk.approve(job, RITA)
    other = submit(approving, {**COUNT, "epsilon": 1})
    desk.refuse(other, RITA, "no")
    told = [(e.action, e.who, e.subject) for e in state.audit.read(0, 100)]
    told = [one for one in told if one[0].startswith("release")]
    assert told == [
        ("release_asked", "ada", job.id),
        ("release_approved", "rita", job.id),
        ("release_asked", "ada", other.id),
        ("release_refused", "rita", other.id),
    ]
    assert state.audit.verify()


def test_an_answer_outlives_a_new_declaration(client: Client) -> None:
    done = work(client.state.desk, submit(client))
    value = client.state.desk.answer(done).value("n")
    path = client.state.settings.folder / "visits.toml"
    path.write_text(path.read_text().replace("bounds = [0, 1000]", "bounds = [0, 5]"))
    with running(client.state.settings.folder) as again:
        found = again.state.desk.queue.find(done.id)
        assert found is not None
        assert again.state.desk.answer(found).value("n") == value
