"""Free answers of a service: from what a caller may see, and from nothing else.

``tests/slow/service/test_free_answers.py`` has reviewers, teams apart and one worker.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from support.service.client import Client, running
from support.service.free import COARSE, FINE, HERE, ask, costs
from support.service.hosting import hosted_clinic, released
from tacit.accounting.ledger import Ledger
from tacit.report import Certificate
from tacit.service.access import Caller, Grant
from tacit.service.hosting.ask import Ask
from tacit.service.jobs import desk as free_answers


def spent(client: Client) -> Any:
    return client.state.datasets.of("visits").ledger(None).spent


def follows(client: Client, token: str, **more: Any) -> dict[str, Any]:
    """What a preview says of the coarse question at a price."""
    said = {**COARSE, **more}
    found: dict[str, Any] = client.post(f"{HERE}/preview", json=said, token=token).json()
    return found


@pytest.fixture(scope="module")
def ada(client: Client) -> str:
    return client.token("analyst", "visits", "ada")


@pytest.fixture(scope="module")
def ben(client: Client) -> str:
    return client.token("analyst", "visits", "ben")


@pytest.fixture(scope="module")
def fine(client: Client, ada: str) -> dict[str, Any]:
    """A release of ada's."""
    found: dict[str, Any] = released(client, ada, FINE)
    return found


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
    found = client.get(reply.json()["href"], token=ada).json()
    assert found["follows_from"] == {"costs": fine["id"]}
    assert (found["replayed"], found["request"]["free"]) == (False, True)
    assert found["data_from"] == fine["data_from"]
    source = client.get(fine["links"]["certificate"], token=ada).json()
    cells, (column,) = source["answer"]["released"][0], found["answer"]["columns"]
    assert column["value"][0] == pytest.approx([sum(cells[:3]), sum(cells[3:])])
    assert spent(client) == before
    table = client.get(found["links"]["answer"] + "?format=csv", token=ada).text
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


def test_a_free_answer_is_its_askers_own(client: Client, ada: str, ben: str) -> None:
    made = ask(client, ada).json()
    assert client.get(made["href"], token=ben).status_code == 404
    assert client.get(made["href"] + "/certificate", token=ben).status_code == 404
    listed = client.get("/v1/releases", token=ben).json()["items"]
    assert made["id"] not in [one["id"] for one in listed]


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
    client.state.desk.free = free_answers.FreeDesk(client.state.desk.queue)  # nothing is kept
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
    client.state.desk.free = free_answers.FreeDesk(client.state.desk.queue)
    assert follows(client, dora)["free"] == {}
    assert len(asked) == 1


def test_a_charge_has_so_many_records_at_most(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    eve = client.token("analyst", "visits", "eve")
    released(client, eve, costs(*range(0, 1001, 50), epsilon="1/8"))
    monkeypatch.setattr(free_answers, "RECORDS", 2)
    states = [ask(client, eve, costs(0, e, 1000, free=True)).status_code for e in (50, 100, 150)]
    assert states == [202, 202, 400]
    assert ask(client, eve, costs(0, 50, 1000, free=True)).status_code == 202  # has its record


def test_pages_offer_it(client: Client, ada: str) -> None:
    made = ask(client, ada).json()
    page = client.get(f"/releases/{made['id']}", token=ada)
    assert page.status_code == 200
    assert "Follows from" in page.text


ADA = Caller("ada", "oncology", (Grant("analyst", "visits"),), "t", 0)
FINER = Ask.from_json(FINE)


def test_before_its_tick_an_answer_is_not_used(tmp_path: Path) -> None:
    with running(hosted_clinic(tmp_path)) as client:
        client.state.workers.stop()
        desk, now = client.state.desk, client.state.clock
        hosted = client.state.datasets.of("visits")
        question = Ask.from_json(COARSE).question(hosted, ADA)
        job = desk.submit("visits", ADA, FINER)
        assert desk.free.errors(hosted, ADA, question, None) == {}
        claimed = desk.queue.claim("w")
        assert claimed is not None
        desk.work(claimed)  # the ledger holds the answer
        assert hosted.ledger(None).find(job.key).answer is not None  # type: ignore[union-attr]
        assert desk.free.errors(hosted, ADA, question, None) == {}
        with pytest.raises(Exception, match="does not follow"):
            desk.submit("visits", ADA, Ask.from_json(COARSE))
        desk.queue.finish(claimed, desk.work(claimed))
        desk.queue._clock = desk._clock = lambda: now() + 60
        assert desk.free.errors(hosted, ADA, question, None)["costs"]["release"] == job.id
