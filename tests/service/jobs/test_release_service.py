"""The release_service: what it takes, what it refuses at once, and who decides."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.accounting.service_machine import histories, template
from support.service.client import Client, running
from support.service.free import COARSE, FINE, HERE, ask, costs
from support.service.hosting import COUNT, hosted_clinic, released
from tacit.accounting import epsilon
from tacit.accounting.ledger import Ledger
from tacit.errors import BudgetError, TacitError, UsageError
from tacit.report import Certificate
from tacit.service.access import Caller, Decisions, Grant
from tacit.service.hosting.ask import Ask, answer_json
from tacit.service.jobs import release_service as free_answers
from tacit.service.jobs.queue import Job, JobScope
from tacit.service.jobs.release_service import ReleaseService
from tacit.service.problem import Problem
from tacit.service.tokens import Tokens
from tacit.tables.release.release import ValidatedPlans

ADA = Caller("ada", "oncology", (Grant("analyst", "visits"),), "t", 0)
RITA = Caller("rita", None, (Grant("reviewer", "visits"),), "r", 0)


def asking(folder: Path, settings: str = "") -> Iterator[Client]:
    """A service whose workers stand still."""
    with running(hosted_clinic(folder, settings)) as client:
        client.state.workers.stop()
        yield client


@pytest.fixture
def release_client(tmp_path: Path) -> Iterator[Client]:
    yield from asking(tmp_path)


@pytest.fixture
def approving(tmp_path: Path) -> Iterator[Client]:
    yield from asking(tmp_path, "approval = true")


def submit(client: Client, ask: dict[str, Any] | None = None, once: str | None = None) -> Job:
    return client.state.release_service.submit("visits", ADA, Ask.from_json(ask or COUNT), once)


def work(release_service: ReleaseService, job: Job) -> Job:
    """Answer a job as a worker does, and those that were asked before it."""
    answered = ""
    while answered != job.id:
        claimed = release_service.queue.claim("w")
        assert claimed is not None
        release_service.queue.finish(claimed, release_service.work(claimed))
        answered = claimed.id
    result = release_service.queue.find(job.id)
    assert result is not None
    return result


def wait_for(job: Job) -> Job:
    """Wait for the tick of a job that is over."""
    assert job.visible is not None
    time.sleep(max(0.0, job.visible - time.time()))
    return job


def test_it_holds_the_request_and_no_answer(release_client: Client) -> None:
    job = submit(release_client)
    assert json.loads(job.body) == COUNT
    assert json.loads(job.cost) == epsilon("1/2").to_json()
    assert (job.asked_by, job.team, job.words) == (
        "ada",
        "oncology",
        "The number of rows; of the table visits",
    )
    result = work(release_client.state.release_service, job)
    assert result.outcome == "done"
    answer = release_client.state.release_service.answer(result)
    assert answer.labels == ("n",)
    assert str(answer.value("n")) not in json.dumps([result.body, result.words, result.error])


def test_an_answer_that_stands_is_there_at_once_and_free(release_client: Client) -> None:
    wait_for(work(release_client.state.release_service, submit(release_client)))
    before = release_client.state.datasets.of("visits").ledger(None).spent
    again = submit(release_client)
    assert again.shown(release_client.state.clock()) == "done"
    assert again.replayed
    assert release_client.state.release_service.answer(again).replayed
    assert release_client.state.datasets.of("visits").ledger(None).spent == before


def test_before_its_tick_an_answer_is_nobodys(release_client: Client) -> None:
    """Whoever asks the same then waits for a tick too, and learns nothing of the engine."""
    for asked in range(1, 20):  # a machine that is busy may ask again only after the tick
        ask = {**COUNT, "epsilon": "1/50", "tag": f"of {asked}"}
        job = work(release_client.state.release_service, submit(release_client, ask))
        early = submit(release_client, ask)
        assert job.visible is not None
        if release_client.state.clock() < job.visible:
            break
    assert early.shown(job.visible - 0.001) == "running"
    assert not early.replayed
    assert release_client.state.datasets.of("visits").ledger(None).spent == epsilon(f"{asked}/50")
    wait_for(job)
    assert submit(release_client, ask).replayed


def test_it_is_charged_when_it_is_asked_and_not_when_a_worker_has_time(
    release_client: Client,
) -> None:
    submit(release_client)
    assert release_client.state.datasets.of("visits").ledger(None).spent == epsilon("1/2")


def test_computing_with_aggregates_is_the_release_of_these(release_client: Client) -> None:
    """Also through the service: what a certificate states is checked against its ledger."""
    text = "select sum(cost) / nullif(count(*), 0) as m, count(*) as n from visits"
    result = work(
        release_client.state.release_service,
        submit(release_client, {"sql": f"/* a */ {text} -- b", "epsilon": 1}),
    )
    answer = release_client.state.release_service.answer(result)
    assert answer.labels == ("m", "n")
    body = json.loads(answer.certificate.to_json())
    (total,) = (c for c in body["answer"]["columns"] if c["label"] == "sum_cost")
    assert answer.value("m") == total["value"][0] / answer.value("n")
    assert answer.certificate.verify(release_client.state.datasets.of("visits").ledger(None))
    shown = answer_json(answer)
    assert shown["about"]["m"].startswith("sum_cost / nullif(n, 0), computed from")
    assert json.dumps(shown)
    plain = submit(
        release_client, {"sql": "select count(*) as n, sum(cost) from visits", "epsilon": 1}
    )
    assert plain.key == result.key


def test_what_public_facts_decide_is_refused_at_once(release_client: Client) -> None:
    with pytest.raises(BudgetError, match="nothing was spent"):
        submit(release_client, {**COUNT, "epsilon": 5000})
    with pytest.raises(UsageError):
        submit(release_client, {**COUNT, "epsilon": 0})
    with pytest.raises(UsageError):
        submit(release_client, {"sql": "select cost from visits", "epsilon": 1})
    assert release_client.state.release_service.queue.listed([JobScope("visits")]) == []


def test_what_the_engine_refuses_of_no_rows_costs_nothing(
    release_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise UsageError("the engine has no such function")

    monkeypatch.setattr(ValidatedPlans, "check", refuse)
    with pytest.raises(UsageError, match="no such function"):
        submit(release_client)
    assert release_client.state.datasets.of("visits").ledger(None).spent.is_nothing


def test_a_certificate_states_the_balance_of_the_charge(release_client: Client) -> None:
    """That of the answer would tell which charges of others came before the engine was done."""
    release_service = release_client.state.release_service
    job = submit(release_client)
    submit(release_client, {**COUNT, "epsilon": 3})
    certificate = release_service.answer(work(release_service, job)).certificate
    assert certificate.body["spent"]["remaining"]["epsilon"] == "1999/2"
    assert certificate.verify(release_client.state.datasets.of("visits").ledger(None))


def test_an_idempotency_key_is_one_job(release_client: Client) -> None:
    job = submit(release_client, once="a")
    assert submit(release_client, once="a").id == job.id
    with pytest.raises(Problem, match="another request") as caught:
        submit(release_client, {**COUNT, "epsilon": "1/3"}, once="a")
    assert caught.value.code == "conflict"
    assert submit(release_client).id != job.id


def test_one_caller_waits_for_so_many_only(tmp_path: Path) -> None:
    for client in asking(tmp_path, "limits = { waiting_jobs = 2 }"):
        submit(client), submit(client)
        with pytest.raises(Problem) as caught:
            submit(client)
        assert caught.value.code == "too_many"


def test_an_approved_question_is_answered_and_nothing_before(approving: Client) -> None:
    release_service, state = approving.state.release_service, approving.state
    job = submit(approving)
    assert job.shown(state.clock()) == "waiting"
    assert release_service.queue.claim("w") is None
    with pytest.raises(Problem, match="does not decide on it"):
        release_service.approve(job, ADA)
    approved = release_service.approve(job, RITA)
    assert (approved.decided_by, approved.shown(state.clock())) == ("rita", "running")
    assert approved.started >= job.started
    with pytest.raises(Problem, match="is running already"):
        release_service.refuse(job, RITA, "too late")
    assert wait_for(work(release_service, job)).outcome == "done"
    assert submit(approving).state == "over"  # what was approved once is free for ever


def test_a_refused_question_spends_nothing(approving: Client) -> None:
    release_service = approving.state.release_service
    job = submit(approving)
    with pytest.raises(Problem, match="does not decide on it"):
        release_service.refuse(job, ADA, "no")
    refused = release_service.refuse(job, RITA, "too small a group")
    assert (refused.shown(0), refused.reason) == ("refused", "too small a group")
    with pytest.raises(Problem, match="is refused already"):
        release_service.approve(job, RITA)
    assert approving.state.datasets.of("visits").ledger(None).spent.is_nothing


def test_what_runs_is_what_was_approved(approving: Client) -> None:
    """Bounds that are declared anew make it another question, which nobody approved."""
    release_service, hosted = approving.state.release_service, approving.state.datasets.of("visits")
    job = submit(approving, {"sql": "select avg(cost) as c from visits", "epsilon": 1})
    release_service.approve(job, RITA)
    path = approving.state.settings.folder / "visits.toml"
    path.write_text(path.read_text().replace("bounds = [0, 1000]", "bounds = [0, 5]"))
    with running(approving.state.settings.folder) as again:
        claimed = again.state.release_service.queue.claim("w")
        if claimed is None:  # a worker of the new service was faster
            claimed = again.state.release_service.queue.find(job.id)
        assert claimed is not None
        with pytest.raises(Problem, match="data set was changed since"):
            again.state.release_service.work(claimed)
    assert hosted.ledger(None).spent == epsilon(1)  # for what was approved, and for nothing else


def test_what_the_budget_does_not_cover_any_more_is_not_approved(approving: Client) -> None:
    release_service, ledger = (
        approving.state.release_service,
        approving.state.datasets.of("visits").ledger(None),
    )
    first, second = (submit(approving, {**COUNT, "epsilon": 1, "tag": tag}) for tag in "ab")
    ledger.charge("other", epsilon(ledger.remaining.amount - 1), {"count": "rows"})
    assert release_service.approve(first, RITA).state == "queued"
    with pytest.raises(BudgetError, match="nothing was spent"):
        release_service.approve(second, RITA)
    result = release_service.queue.find(second.id)
    assert result is not None
    assert result.state == "waiting"


def test_a_question_is_given_up(release_client: Client) -> None:
    release_service = release_client.state.release_service
    job = submit(release_client)
    assert release_service.cancel(job, ADA).shown(0) == "cancelled"
    assert release_service.queue.claim("w") is None
    with pytest.raises(Problem, match="is cancelled already"):
        release_service.cancel(job, ADA)


def test_a_charge_of_a_question_that_was_given_up_stands(release_client: Client) -> None:
    release_service, ledger = (
        release_client.state.release_service,
        release_client.state.datasets.of("visits").ledger(None),
    )
    job = submit(release_client)
    claimed = release_service.queue.claim("w")
    assert claimed is not None
    outcome = release_service.work(claimed)
    release_service.cancel(job, ADA)
    assert not release_service.queue.finish(claimed, outcome)
    assert ledger.spent == epsilon("1/2")
    again = submit(release_client)
    assert json.loads(again.cost)["epsilon"] == "0"
    assert again.shown(release_client.state.clock()) == "running"  # it waits for a tick of its own


def test_an_outcome_that_is_shown_cannot_be_given_up(release_client: Client) -> None:
    wait_for(work(release_client.state.release_service, submit(release_client)))
    again = submit(release_client)
    with pytest.raises(Problem, match="is done already"):
        release_client.state.release_service.cancel(again, ADA)


def test_who_did_what_is_written_down(approving: Client) -> None:
    release_service, state = approving.state.release_service, approving.state
    job = submit(approving)
    release_service.approve(job, RITA)
    other = submit(approving, {**COUNT, "epsilon": 1})
    release_service.refuse(other, RITA, "no")
    told = [(e.action, e.who, e.subject) for e in state.audit.read(0, 100)]
    told = [one for one in told if one[0].startswith("release")]
    assert told == [
        ("release_asked", "ada", job.id),
        ("release_approved", "rita", job.id),
        ("release_asked", "ada", other.id),
        ("release_refused", "rita", other.id),
    ]
    assert state.audit.verify()


def test_an_answer_outlives_a_new_declaration(release_client: Client) -> None:
    done = work(release_client.state.release_service, submit(release_client))
    value = release_client.state.release_service.answer(done).value("n")
    path = release_client.state.settings.folder / "visits.toml"
    path.write_text(path.read_text().replace("bounds = [0, 1000]", "bounds = [0, 5]"))
    with running(release_client.state.settings.folder) as again:
        result = again.state.release_service.queue.find(done.id)
        assert result is not None
        assert again.state.release_service.answer(result).value("n") == value


# Free answers of a service: from what a caller may see, and from nothing else.
#
# ``tests/slow/service/test_settings.py`` has reviewers, teams apart and one worker.


def spent(client: Client) -> Any:
    return client.state.datasets.of("visits").ledger(None).spent


def follows(client: Client, token: str, **more: Any) -> dict[str, Any]:
    """What a preview says of the coarse question at a price."""
    said = {**COARSE, **more}
    result: dict[str, Any] = client.post(f"{HERE}/preview", json=said, token=token).json()
    return result


@pytest.fixture(scope="module")
def ada(client: Client) -> str:
    return client.token("analyst", "visits", "ada")


@pytest.fixture(scope="module")
def ben(client: Client) -> str:
    return client.token("analyst", "visits", "ben")


@pytest.fixture(scope="module")
def fine(client: Client, ada: str) -> dict[str, Any]:
    """A release of ada's."""
    result: dict[str, Any] = released(client, ada, FINE)
    return result


def test_it_costs_nothing_and_says_from_which_release(
    client: Client, ada: str, fine: dict[str, Any]
) -> None:
    before = spent(client)
    told = follows(client, ada, free=False, epsilon="1/4")
    assert told["free"]["costs"]["release"] == fine["id"]
    assert told["preview"]["free"]["costs"] == told["free"]["costs"]["standard_error"] > 0
    assert told["cost"]["epsilon"] == "1/4"
    assert follows(client, ada)["free"] == told["free"]
    assert follows(client, ada)["cost"]["epsilon"] == "0"
    reply = ask(client, ada)
    assert (reply.status_code, reply.json()["state"]) == (202, "done")
    assert reply.json()["cost"]["epsilon"] == "0"
    result = client.get(reply.json()["href"], token=ada).json()
    assert result["follows_from"] == {"costs": fine["id"]}
    assert (result["replayed"], result["request"]["free"]) == (False, True)
    assert result["data_from"] == fine["data_from"]
    source = client.get(fine["links"]["certificate"], token=ada).json()
    cells, (column,) = source["answer"]["released"][0], result["answer"]["columns"]
    assert column["value"][0] == pytest.approx([sum(cells[:3]), sum(cells[3:])])
    assert spent(client) == before
    table = client.get(result["links"]["answer"] + "?format=csv", token=ada).text
    assert table.startswith('"costs [0, 300)"')


def test_its_certificate_holds_and_the_ledger_has_the_record(
    client: Client, ada: str, fine: dict[str, Any]
) -> None:
    links = client.get(ask(client, ada).json()["href"], token=ada).json()["links"]
    body = client.get(links["certificate"], token=ada).json()
    source = client.get(fine["links"]["certificate"], token=ada).json()
    assert [one["digest"] for one in body["sources"]] == [source["digest"]]
    ledger = client.state.datasets.of("visits").ledger(None)
    assert Certificate(body).verify()
    assert Certificate(body).verify(ledger)
    noted = [event.body["part"] for event in ledger.events() if event.event == "part"]
    (same,) = [one for one in noted if one["digest"] == body["digest"]]
    assert same["from"] == [source["digest"]]
    assert same["follows"]["query"] == body["question"]["query"]


def test_a_forged_certificate_holds_nowhere_and_none_is_taken(
    client: Client, ada: str, fine: dict[str, Any]
) -> None:
    body = client.get(fine["links"]["certificate"], token=ada).json()
    for given in ({"certificates": [body]}, {"sources": [body]}):
        assert ask(client, ada, {**COARSE, **given}).status_code == 400
    made = client.get(ask(client, ada).json()["href"], token=ada).json()["links"]["certificate"]
    honest = client.get(made, token=ada).json()
    forged = copy.deepcopy(honest)
    forged["sources"][0]["answer"]["released"][0][0] += 1
    assert Certificate(honest).verify()
    assert not Certificate(forged).verify()
    assert not Certificate(forged).verify(client.state.datasets.of("visits").ledger(None))


def test_what_another_analyst_asked_is_not_there(
    client: Client, ben: str, fine: dict[str, Any]
) -> None:
    del fine
    assert follows(client, ben)["free"] == {}
    assert follows(client, ben, free=False, epsilon="1/4")["preview"]["free"] == {}
    reply = ask(client, ben)
    assert reply.status_code == 400
    assert "does not follow" in reply.json()["error"]["message"]
    cara = client.token("analyst", "visits", "cara")
    assert released(client, cara, FINE)["replayed"]  # the same question is answered to everybody
    assert ask(client, cara).json()["state"] == "done"
    assert follows(client, ben)["free"] == {}


def test_a_curator_who_sees_all_releases_is_answered_from_all(
    client: Client, fine: dict[str, Any]
) -> None:
    curator = client.token("curator", "visits")
    assert follows(client, curator)["free"]["costs"]["release"] == fine["id"]
    elsewhere = client.token("curator", "births", "bob")
    assert ask(client, elsewhere).status_code == 403
    assert ask(client, client.token("auditor", "visits")).status_code == 403


@pytest.mark.usefixtures("fine")
def test_a_free_answer_is_its_askers_own(client: Client, ada: str, ben: str) -> None:
    made = ask(client, ada).json()
    assert client.get(made["href"], token=ben).status_code == 404
    assert client.get(made["href"] + "/certificate", token=ben).status_code == 404
    listed = client.get("/v1/releases", token=ben).json()["items"]
    assert made["id"] not in [one["id"] for one in listed]


@pytest.mark.usefixtures("fine")
def test_an_idempotency_key_is_one_answer(client: Client, ada: str) -> None:
    headers = {"Idempotency-Key": "free-1"}
    first, again = (ask(client, ada, headers=headers).json() for _ in range(2))
    assert first == again
    other = ask(client, ada, costs(0, 500, 1000, free=True), headers=headers)
    assert (other.status_code, other.json()["error"]["code"]) == (409, "conflict")
    shown = client.get(first["href"], token=ada).json()["answer"]
    released(client, ada, costs(*range(0, 1001, 100), epsilon=20))  # more precise
    assert ask(client, ada, headers=headers).json()["id"] == first["id"]
    assert client.get(first["href"], token=ada).json()["answer"] == shown
    assert client.get(ask(client, ada).json()["href"], token=ada).json()["answer"] != shown


def test_a_tag_is_another_version(client: Client, ada: str) -> None:
    assert ask(client, ada, {**COARSE, "tag": "june"}).status_code == 400
    released(client, ada, {**FINE, "tag": "june"})
    assert ask(client, ada, {**COARSE, "tag": "june"}).json()["state"] == "done"


@pytest.mark.usefixtures("fine")
def test_what_is_no_count_or_has_a_price_is_refused(client: Client, ada: str) -> None:
    mean = {"sql": "select avg(cost) as cost from visits", "free": True}
    assert follows(client, ada)["free"] != {}
    assert ask(client, ada, mean).status_code == 400
    for wrong in ({"epsilon": 1}, {"rho": 1}, {"total": 1}):
        reply = ask(client, ada, {**COARSE, **wrong})
        assert "takes no price" in reply.json()["error"]["message"]
    assert ask(client, ada, {**COARSE, "free": "maybe"}).status_code == 400


def test_the_look_up_does_not_touch_what_others_asked(
    client: Client, ada: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So its time does not tell how much they asked: the ledger is asked by keys one may see."""
    dora = client.token("analyst", "visits", "dora")
    released(client, dora, costs(0, 100, 1000, epsilon="1/8"))
    client.state.release_service.free = free_answers.VisibleAnswers(
        client.state.release_service.queue
    )  # nothing is kept
    asked: list[str] = []
    find = Ledger.find

    def counted(ledger: Ledger, key: str) -> Any:
        asked.append(key)
        return find(ledger, key)

    monkeypatch.setattr(Ledger, "find", counted)
    monkeypatch.setattr(Ledger, "history", lambda _: pytest.fail("the whole ledger is read"))
    assert follows(client, dora)["free"] == {}
    assert len(asked) == 1
    released(client, ada, costs(0, 700, 1000, epsilon="1/8"))
    asked.clear()
    client.state.release_service.free = free_answers.VisibleAnswers(
        client.state.release_service.queue
    )
    assert follows(client, dora)["free"] == {}
    assert len(asked) == 1


def test_a_charge_has_so_many_records_at_most(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    eve = client.token("analyst", "visits", "eve")
    released(client, eve, costs(*range(0, 1001, 50), epsilon="1/8"))
    monkeypatch.setattr(free_answers, "MAX_RECORDS", 2)
    states = [ask(client, eve, costs(0, e, 1000, free=True)).status_code for e in (50, 100, 150)]
    assert states == [202, 202, 400]
    assert ask(client, eve, costs(0, 50, 1000, free=True)).status_code == 202  # has its record


@pytest.mark.usefixtures("fine")
def test_pages_offer_it(client: Client, ada: str) -> None:
    made = ask(client, ada).json()
    page = client.get(f"/releases/{made['id']}", token=ada)
    assert page.status_code == 200
    assert "Follows from" in page.text


FREE_ADA = Caller("ada", "oncology", (Grant("analyst", "visits"),), "t", 0)
FINER = Ask.from_json(FINE)


def test_before_its_tick_an_answer_is_not_used(tmp_path: Path) -> None:
    with running(hosted_clinic(tmp_path)) as client:
        client.state.workers.stop()
        release_service, now = client.state.release_service, client.state.clock
        hosted = client.state.datasets.of("visits")
        question = Ask.from_json(COARSE).question(hosted, FREE_ADA)
        job = release_service.submit("visits", FREE_ADA, FINER)
        assert release_service.free.errors(hosted, FREE_ADA, question, None) == {}
        claimed = release_service.queue.claim("w")
        assert claimed is not None
        release_service.work(claimed)  # the ledger holds the answer
        assert hosted.ledger(None).find(job.key).answer is not None  # type: ignore[union-attr]
        assert release_service.free.errors(hosted, FREE_ADA, question, None) == {}
        with pytest.raises(Exception, match="does not follow"):
            release_service.submit("visits", FREE_ADA, Ask.from_json(COARSE))
        release_service.queue.finish(claimed, release_service.work(claimed))
        release_service.queue._clock = release_service._clock = lambda: now() + 60
        assert (
            release_service.free.errors(hosted, FREE_ADA, question, None)["costs"]["release"]
            == job.id
        )


# Random histories of a service, with crashes, tokens, approvals and two processes.


@pytest.mark.full
@pytest.mark.parametrize("approval", [False, True])
def test_no_history_charges_what_nobody_asked_or_approved(tmp_path: Path, approval: bool) -> None:
    happened = histories(
        template(tmp_path / "made", approval=approval), range(14), approval=approval
    )
    for kind in ("crashes", "charges", "answers"):
        assert happened[kind] > 0, kind


def _pays_at_once(
    self: ReleaseService, caller: object, values: dict[str, object], pay: object
) -> object:
    values["state"] = "queued"
    return _added(self, caller, values, pay)


_added = ReleaseService._added
MUTANTS = [
    (Decisions, "refuse_own", lambda *_: None, True),
    (ReleaseService, "_added", _pays_at_once, True),
    (Tokens, "_write_expired", lambda self: None, False),
    (Tokens, "revoke", lambda self, name, by="": 0, False),
]


@pytest.mark.full
@pytest.mark.parametrize(("of", "name", "wrong", "approval"), MUTANTS)
def test_the_machine_finds_a_service_that_is_wrong(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    of: type,
    name: str,
    wrong: object,
    approval: bool,
) -> None:
    made = template(tmp_path / "made", approval=approval)
    monkeypatch.setattr(of, name, wrong)
    with pytest.raises((AssertionError, TacitError)) as result:
        histories(made, range(60), approval=approval, steps=25)
    assert result.value.__notes__
