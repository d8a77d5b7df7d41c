"""The webhook: signed, sent again until it arrives, of what happened alone, without values."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from support.service.client import Client, running
from support.service.hosting import COUNT, finished, hosted_clinic
from tacit.errors import UsageError
from tacit.service.checkup import check_service
from tacit.service.jobs import webhook
from tacit.service.jobs.webhook import SIGNATURE
from tacit.service.settings import Settings

SECRET = "0123456789abcdef-secret"
FIELDS = {
    *("id", "event", "at", "release", "dataset", "asked_by", "team", "decided_by", "href"),
}
PATH = "/v1/datasets/visits/releases"


class Receiver:
    """A program of the operator, that answers as it is told."""

    def __init__(self) -> None:
        self.statuses: list[int] = []
        self.received: list[tuple[dict[str, str], bytes]] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.received.append((dict(self.headers.items()), body))
                self.send_response(receiver.statuses.pop(0) if receiver.statuses else 204)
                self.send_header("Location", "/elsewhere")
                self.end_headers()

            def log_message(self, *_: Any) -> None: ...

        self.server = HTTPServer(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/hook"

    def events(self) -> list[str]:
        return [json.loads(body)["event"] for _, body in self.received]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    thread = threading.Thread(target=made.server.serve_forever, daemon=True)
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()


@contextmanager
def service(folder: Path, url: str) -> Iterator[Client]:
    """A service whose webhook sends when a test says so."""
    settings = f'[datasets.visits]\napproval = true\n[webhook]\nurl = "{url}"\n'
    hosted_clinic(folder, settings + 'secret_file = "hook.secret"')
    (folder / "hook.secret").write_text(SECRET + "\n")
    with running(folder) as client:
        client.state.webhook._stopping.set()
        client.state.webhook._thread.join()  # type: ignore[union-attr]
        client.state.webhook._stopping.clear()
        yield client


def length(client: Client) -> int:
    query = sa.select(sa.func.count()).select_from(webhook._outbox)
    return int(client.state.database.scalar(query))


def test_what_waits_and_was_decided_is_sent_signed_and_without_values(
    tmp_path: Path, receiver: Receiver
) -> None:
    with service(tmp_path, receiver.url) as client:
        ada = client.token("analyst", "visits", "ada", team="oncology")
        rita = client.token("reviewer", name="rita")
        jobs = [
            client.post(PATH, json={**COUNT, "tag": tag}, token=ada).json()["id"]
            for tag in ("a-secret-word", "b")
        ]
        client.post(f"/v1/releases/{jobs[0]}/approve", token=rita)
        client.post(f"/v1/releases/{jobs[1]}/refuse", json={"reason": "too fine"}, token=rita)
        assert finished(client, ada, jobs[0])["state"] == "done"
        for _ in range(50):
            client.state.records.report_outcomes()
            if length(client) == 5:
                break
            time.sleep(0.1)
        assert client.state.webhook.send_due() == 5
        assert length(client) == 0
        assert client.state.webhook.send_due() == 0
    assert sorted(receiver.events()) == ["approved", "done", "refused", "waiting", "waiting"]
    every = b"".join(body for _, body in receiver.received).decode()
    for hidden in ("a-secret-word", "count", "too fine", SECRET):
        assert hidden not in every
    ids = {json.loads(body)["id"] for _, body in receiver.received}
    assert len(ids) == 5
    for headers, body in receiver.received:
        seconds, _, mac = headers[SIGNATURE].removeprefix("t=").partition(",v1=")
        signed = f"{seconds}.".encode() + body
        assert hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest() == mac
        assert abs(int(seconds) - time.time()) < 60
        message = json.loads(body)
        assert set(message) == FIELDS  # there is no place for a value
        assert message["release"] in jobs
        assert (message["dataset"], message["asked_by"]) == ("visits", "ada")
        assert message["href"] == f"/releases/{message['release']}"


SCHEDULE = {"request": COUNT, "start": "2126-01-01", "every": "1mo", "times": 3}
BOARD = {"column": "day", "start": "2126-01-01", "every": "1d", "periods": 9, "epsilon": "1/2"}


@pytest.mark.parametrize(("kind", "asked"), [("schedule", SCHEDULE), ("dashboard", BOARD)])
def test_schedules_and_dashboards_that_wait_and_were_decided(
    tmp_path: Path, receiver: Receiver, kind: str, asked: dict[str, Any]
) -> None:
    with service(tmp_path, receiver.url) as client:
        ada = client.token("analyst", "visits", "ada", team="oncology")
        rita = client.token("reviewer", name="rita")

        def ask() -> str:
            reply = client.post(f"/v1/datasets/visits/{kind}s", json=asked, token=ada)
            assert reply.status_code == 202, reply.text
            return str(reply.json()["id"])

        made = ask()
        assert ask() == made  # it waits already: no second message
        refusal = {"reason": "too often"}
        client.post(f"/v1/{kind}s/{made}/refuse", json=refusal, token=rita)
        assert ask() == made
        assert client.post(f"/v1/{kind}s/{made}/approve", token=rita).status_code == 200
        assert client.state.webhook.send_due() == 4
    assert receiver.events() == ["waiting", "refused", "waiting", "approved"]
    messages = [json.loads(body) for _, body in receiver.received]
    for message in messages:
        assert set(message) == FIELDS - {"release"} | {kind}
        assert (message[kind], message["href"]) == (made, f"/{kind}s/{made}")
        assert (message["dataset"], message["asked_by"]) == ("visits", "ada")
        assert message["team"] == "oncology"
    assert [one["decided_by"] for one in messages] == [None, "rita", None, "rita"]


def test_one_that_cannot_be_paid_waits_again(tmp_path: Path, receiver: Receiver) -> None:
    with service(tmp_path, receiver.url) as client:
        ada, rita = client.token("analyst", name="ada"), client.token("reviewer", name="rita")
        budget = client.get("/v1/datasets/visits/budget", token=ada).json()["remaining"]["epsilon"]
        half = {**BOARD, "epsilon": str(Fraction(budget) * 2 / 3)}
        first, other = (
            client.post(
                "/v1/datasets/visits/dashboards", json={**half, "tag": tag}, token=ada
            ).json()["id"]
            for tag in "ab"
        )
        assert client.post(f"/v1/dashboards/{first}/approve", token=rita).status_code == 200
        assert client.post(f"/v1/dashboards/{other}/approve", token=rita).status_code == 402
        client.state.webhook.send_due()
    events = [
        (one["dashboard"] == other, one["event"])
        for one in (json.loads(body) for _, body in receiver.received)
    ]
    assert [event for is_other, event in events if is_other] == ["waiting", "approved", "waiting"]


def test_it_is_sent_again_with_growing_waits_and_dropped_in_the_end(
    tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver.statuses = [500, 302, 404]
    with service(tmp_path, receiver.url) as client:
        hook = client.state.webhook
        client.post(PATH, json=COUNT, token=client.token("analyst", name="ada"))
        now = [time.time() + 1]
        monkeypatch.setattr(hook, "_clock", lambda: now[0])
        for wait in (10, 20, 40):
            assert hook.send_due() == 1
            assert (hook.send_due(), length(client)) == (0, 1)  # not before it is due
            now[0] += wait - 1
            assert hook.send_due() == 0
            now[0] += 1
        assert hook.send_due() == 1
        assert length(client) == 0
        assert len({body for _, body in receiver.received}) == 1
        receiver.statuses = [500] * 100
        client.post(PATH, json={**COUNT, "tag": "b"}, token=client.token("analyst", name="ada"))
        tries = 0
        while length(client):
            now[0] += 3600
            tries += hook.send_due()
        assert tries == webhook.MAX_ATTEMPTS


def test_a_receiver_or_a_secret_that_is_away_stops_no_one(tmp_path: Path) -> None:
    with service(tmp_path, "http://127.0.0.1:9/hook") as client:
        ada, rita = client.token("analyst", name="ada"), client.token("reviewer", name="rita")
        job = client.post(PATH, json=COUNT, token=ada).json()["id"]
        (tmp_path / "hook.secret").unlink()
        assert client.state.webhook.send_due() == 1
        (tmp_path / "hook.secret").write_text(SECRET)
        assert client.post(f"/v1/releases/{job}/approve", token=rita).status_code == 200
        assert client.state.webhook.send_due() == 1
        assert finished(client, ada, job)["state"] == "done"
        assert length(client) >= 2


def test_what_did_not_happen_is_not_sent(tmp_path: Path, receiver: Receiver) -> None:
    with service(tmp_path, receiver.url) as client:
        ada = client.token("analyst", name="ada")
        queue = client.state.release_service.queue
        assert client.post(PATH, json={**COUNT, "epsilon": 2000}, token=ada).status_code == 402
        made = client.post(PATH, json=COUNT, token=ada).json()["id"]
        job = queue.find(made)
        assert job is not None
        with suppress(ZeroDivisionError), queue.transaction() as run:
            client.state.webhook.note(run, "approved", job)
            1 / 0  # noqa: B018
        assert client.state.webhook.send_due() == 1
    assert receiver.events() == ["waiting"]


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ('url = "http://statistics.example/hook"\nsecret_file = "s"', "https://"),
        ('url = "https://user@statistics.example/hook"\nsecret_file = "s"', "https://"),
        ('url = "https://statistics.example/hook"', "needs secret_file"),
        ('secret_file = "s"', "needs url"),
        ('url = "https://statistics.example"\nsecret_file = "s"\nretries = 2', "retries"),
    ],
)
def test_settings_that_are_refused(tmp_path: Path, table: str, told: str) -> None:
    (tmp_path / "service.toml").write_text(f"[webhook]\n{table}\n")
    with pytest.raises(UsageError, match=told):
        Settings.load(tmp_path)


def test_the_check_of_a_service_looks_at_the_secret(tmp_path: Path) -> None:
    hosted_clinic(tmp_path, '[webhook]\nurl = "https://a.example/b"\nsecret_file = "hook.secret"')
    words = "the secret of the webhook"
    assert any(words in one.message for one in check_service(Settings.load(tmp_path)))
    (tmp_path / "hook.secret").write_text("short")
    assert any(words in one.message for one in check_service(Settings.load(tmp_path)))
    (tmp_path / "hook.secret").write_text(SECRET)
    assert not any(words in one.message for one in check_service(Settings.load(tmp_path)))
