"""The guard: headers, bodies too large or too slow, requests from pages of other sites."""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from starlette.types import Message, Receive, Scope, Send

from support.service.client import ADDRESS, Client, running
from support.service.pages import browser
from support.service.server import Served, served
from tacit.errors import UsageError
from tacit.service.settings import Limits, Settings
from tacit.service.web import problems
from tacit.service.web.guard import Guard
from tacit.service.web.page_routes import datasets
from tacit.service.web.server import ServerOptions, _options

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("clinic")
    limits = Limits(body_bytes=2000, body_seconds=1)
    with running(replace(Settings.load(folder), limits=limits)) as client:
        yield client


def test_every_reply_binds_the_browser(client: Client) -> None:
    for method, path in (("GET", "/healthz"), ("GET", "/nothere"), ("POST", "/v1/tokens")):
        headers = client.request(method, path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "same-origin"  # else a browser says Origin: null
        assert "server" not in headers


def test_browsers_keep_to_tls_where_there_is_one(tmp_path: Path) -> None:
    (tmp_path / "service.toml").write_text("url = 'https://statistics.example'")
    with running(tmp_path) as client:
        assert "max-age" in client.get("/healthz").headers["strict-transport-security"]


@pytest.mark.parametrize("said", [True, False])
def test_a_body_that_is_too_large(client: Client, said: bool) -> None:
    async def drops() -> AsyncIterator[bytes]:
        for _ in range(300):
            yield b"x" * 10

    body: Any = b"x" * 3000 if said else drops()
    reply = client.post("/v1/tokens/narrow", token=client.token("analyst"), content=body)
    assert reply.status_code == 413
    assert reply.json()["error"]["code"] == "too_large"


def test_a_body_that_is_too_slow(client: Client) -> None:
    async def drops() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b" "
            await asyncio.sleep(0.1)

    reply = client.post("/v1/tokens/narrow", token=client.token("analyst"), content=drops())
    assert reply.status_code == 413
    assert "1 s" in reply.json()["error"]["message"]


@pytest.mark.parametrize(
    "kind", ["application/json", "Application/JSON", "application/X+Json; charset=utf-16"]
)
@pytest.mark.parametrize("body", ['{"days": 1, "days": 2}', "[" * 900], ids=["twice", "deep"])
def test_json_is_read_within_limits_however_its_kind_is_written(
    client: Client, kind: str, body: str
) -> None:
    """The framework takes any letters for the kind of a body, and knows none of the limits."""
    for content in (body.encode(), body.encode("utf-16")):
        reply = client.post(
            "/v1/tokens/narrow",
            token=client.token("analyst"),
            content=content,
            headers={"Content-Type": kind},
        )
        assert reply.status_code == 400
        assert "JSON" in reply.json()["error"]["message"]


def test_many_bodies_at_once_fill_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.service.web.guard._MAX_BUFFERED_BYTES", 2500)
    statuses: list[int] = []

    async def ask(guard: Guard) -> None:
        async def receive() -> Message:
            await asyncio.sleep(0.01)
            return {"type": "http.request", "body": b"x" * 1000, "more_body": False}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        await guard({"type": "http", "method": "GET", "path": "/", "headers": []}, receive, send)

    async def waits(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(0.05)
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def rush() -> None:
        guard = Guard(waits, Settings(Path()), "tacit")
        await asyncio.gather(*(ask(guard) for _ in range(5)))
        await ask(guard)  # what was held is free again

    asyncio.run(rush())
    assert sorted(statuses) == [200, 200, 200, 503, 503, 503]


@pytest.mark.parametrize("length", ["-1", "1e3", "²", "1,2", "9" * 5000])
def test_lengths_that_are_none(client: Client, length: str) -> None:
    headers = {"Content-Length": length.encode("utf-8")}
    reply = client.post("/v1/tokens/narrow", headers=headers, content=b"{}")
    assert reply.status_code == 413


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": ADDRESS}, 303),
        ({"Origin": ADDRESS, "Sec-Fetch-Site": "same-origin"}, 303),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": ADDRESS, "Sec-Fetch-Site": "cross-site"}, 403),
        ({"Origin": ADDRESS, "Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": ADDRESS + ".evil.example"}, 403),
        ({"Origin": "http://ann@evil.example"}, 403),
        ({}, 403),
    ],
)
def test_a_cookie_is_only_good_on_our_own_pages(
    client: Client, headers: dict[str, str], status: int
) -> None:
    token = client.token("analyst")
    reply = client.post("/sign-in", data={"token": token}, headers={"Origin": ADDRESS})
    cookie = reply.headers["set-cookie"].partition(";")[0]
    reply = client.post("/sign-out", headers={"Cookie": cookie, **headers})
    assert reply.status_code == status
    left = client.get("/v1/me", headers={"Cookie": cookie})
    assert left.status_code == (401 if status == 303 else 200)


def test_another_site_cannot_sign_somebody_in(client: Client) -> None:
    token = client.token("analyst")
    form = {"token": token}
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        assert client.post("/sign-in", data=form, headers=headers).status_code == 403
    assert client.post("/sign-in", data=form).status_code == 303  # a program, without a browser


def test_a_token_in_the_header_is_no_cookie_and_needs_no_origin(client: Client) -> None:
    reply = client.post(
        "/v1/tokens/narrow",
        token=client.token("analyst"),
        json={},
        headers={"Origin": "https://evil.example"},
    )
    assert reply.status_code == 201  # no page of another site can set that header


def test_an_exception_that_nobody_foresaw_says_its_kind_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        raise ValueError("ada has 17")

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    scope: Scope = {"type": "http", "method": "GET", "path": "/", "headers": []}
    with caplog.at_level(logging.DEBUG):
        asyncio.run(Guard(broken, Settings(Path()), "tacit")(scope, receive, send))
    assert sent[0]["status"] == 500
    assert b"ValueError" in sent[1]["body"]
    assert b"ada" not in sent[1]["body"]
    assert "ada" not in caplog.text
    assert all(record.exc_info is None for record in caplog.records)


def test_websockets_are_not_answered() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError

    async def none() -> Message:
        raise AssertionError

    async def nowhere(message: Message) -> None:
        raise AssertionError

    asyncio.run(Guard(app, Settings(Path()), "tacit")({"type": "websocket"}, none, nowhere))


# The server itself, on a socket: plain text only at home, slow heads, one process and two.


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.0.1", "::", "db.example"])
def test_no_token_crosses_the_network_in_plain_text(host: str, tmp_path: Path) -> None:
    settings = Settings.load(tmp_path)
    with pytest.raises(UsageError, match="plain text"):
        ServerOptions(host).refuse_plain(settings)
    ServerOptions(host, certificate="a.pem", key="a.key").refuse_plain(settings)
    (tmp_path / "service.toml").write_text("url = 'https://statistics.example'")
    ServerOptions(host).refuse_plain(Settings.load(tmp_path))


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.1.2.3"])
def test_at_home_it_may(host: str, tmp_path: Path) -> None:
    ServerOptions(host).refuse_plain(Settings.load(tmp_path))


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service that waits a second for the head of a request."""
    folder = tmp_path_factory.mktemp("hasty")
    (folder / "service.toml").write_text("limits = { header_seconds = 1 }")
    with served(folder) as here:
        yield here


@pytest.mark.full
def test_a_slow_head_is_cut_off(hasty: Served) -> None:
    host, port = hasty.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as line:
        started, seen = time.monotonic(), b"x"
        while seen:
            with suppress(BrokenPipeError, ConnectionResetError):
                line.sendall(b"G")
                line.settimeout(0.2)
                with suppress(TimeoutError):
                    seen = line.recv(100)
                continue
            break
        assert 0.5 < time.monotonic() - started < 10
    with socket.create_connection((host, int(port)), timeout=20) as line:
        line.sendall(b"GET / HTTP/1.1\r\n" + b"a: " + b"x" * 40_000)
        assert b"400" in line.recv(100)
    assert httpx.get(f"{hasty.address}/healthz").status_code == 200


@pytest.mark.full
def test_a_kept_connection_is_no_slow_head(hasty: Served) -> None:
    with httpx.Client() as client:
        for _ in range(3):
            assert client.get(f"{hasty.address}/healthz").status_code == 200
            time.sleep(0.7)


@pytest.mark.full
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes as Linux lists them")
def test_two_processes_share_tokens_and_end_with_the_one_that_started_them(
    tmp_path: Path,
) -> None:
    with served(tmp_path, "--workers", "2") as here:
        headers = {"Authorization": f"Bearer {here.token('analyst', name='ada')}"}
        for _ in range(10):
            assert httpx.get(f"{here.address}/v1/me", headers=headers).json()["name"] == "ada"
        children = children_of(here.process.pid)
        assert len(children) >= 2
        here.process.kill()
        end = time.monotonic() + 60
        while any(alive(child) for child in children):
            assert time.monotonic() < end, "a process goes on alone"
            time.sleep(0.2)


def children_of(process: int) -> list[int]:
    """The processes that a process started."""
    listed = Path(f"/proc/{process}/task/{process}/children").read_text()
    return [int(one) for one in listed.split()]


def alive(process: int) -> bool:
    """Whether a process runs, and is not only a name that its parent has yet to read."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.full
@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_it_says_nothing_of_itself_and_nothing_of_a_token(tmp_path: Path) -> None:
    with served(tmp_path) as here:
        reply = httpx.get(f"{here.address}/v1/me", headers={"Authorization": "Bearer tacit_secret"})
        assert "server" not in reply.headers
        assert reply.status_code == 401
        here.process.terminate()
        assert here.process.wait(60) == 0  # to be told to stop is no failure
    assert "tacit_secret" not in here.log.read_text()


@pytest.mark.full
def test_too_many_connections_are_refused_in_the_shape_of_all_errors(tmp_path: Path) -> None:
    (tmp_path / "service.toml").write_text("limits = { connections = 3 }")
    with served(tmp_path) as here:
        host, port = here.address.removeprefix("http://").split(":")
        lines = [socket.create_connection((host, int(port)), timeout=20) for _ in range(3)]
        reply = httpx.get(f"{here.address}/healthz")
        assert (reply.status_code, reply.json()["error"]["code"]) == (503, "unavailable")
        assert reply.headers["retry-after"]
        for line in lines:
            line.close()
        end = time.monotonic() + 10
        while httpx.get(f"{here.address}/healthz").status_code != 200:
            assert time.monotonic() < end
            time.sleep(0.1)


def test_uvicorn_has_each_option_of_the_server(tmp_path: Path) -> None:
    """Also the oldest release of it that is allowed: otherwise nothing is served."""
    (tmp_path / "service.toml").write_text("")
    options = _options(Settings.load(tmp_path), ServerOptions())
    assert options.keys() <= inspect.signature(uvicorn.run).parameters.keys()


def test_a_reply_does_not_wait_for_a_delayed_ack(tmp_path: Path) -> None:
    """Of a socket that several processes share, asyncio does not know that it is TCP."""

    async def no_delay(reader: asyncio.StreamReader, server: uvicorn.Server) -> int:
        assert b"204" in await reader.readuntil(b"\r\n\r\n")
        (protocol,) = server.server_state.connections
        connection = protocol.transport.get_extra_info("socket")
        return int(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    assert asked_on_a_socket(tmp_path, no_delay, b"")


def test_who_reads_nothing_of_a_reply_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.service.web.server._SEND_SECONDS", 0.1)

    async def ended(reader: asyncio.StreamReader, server: uvicorn.Server) -> bool:
        async with asyncio.timeout(60):
            while server.server_state.connections:
                await asyncio.sleep(0.01)
        return True

    assert asked_on_a_socket(tmp_path, ended, b"x" * (1 << 25))


def asked_on_a_socket(
    folder: Path, look: Callable[[asyncio.StreamReader, uvicorn.Server], Any], body: bytes
) -> Any:
    """What is found while the server replies with some bytes, and who asked reads what it does."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            scope["state"]["header_seconds"] = 10
            for what in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{what}.complete"})
            return
        status = 200 if body else 204
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body"})

    (folder / "service.toml").write_text("")
    options = _options(Settings.load(folder), ServerOptions(port=0))
    config = uvicorn.Config(app, **options)
    with config.bind_socket() as shared:  # as it does for several processes
        server = uvicorn.Server(config)

        async def ask() -> Any:
            served = asyncio.create_task(server.serve(sockets=[shared]))
            while not server.started:
                await asyncio.sleep(0.01)
            reader, writer = await asyncio.open_connection(*shared.getsockname())
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            found = await look(reader, server)
            writer.close()
            server.should_exit = True
            await served
            return found

        return asyncio.run(ask())


@pytest.mark.parametrize("broken", [False, True])
def test_what_fails_inside_is_a_page_for_browsers_with_the_way_back(
    client: Client, monkeypatch: pytest.MonkeyPatch, broken: bool
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("a secret")

    ada = browser(client, "analyst", name="ada")
    monkeypatch.setattr(datasets, "page", fail)
    if broken:  # the page of the error cannot be made either
        monkeypatch.setattr(problems, "page", fail)
    reply = ada.get("/datasets")
    assert reply.status_code == 500
    assert "a secret" not in reply.text
    if broken:
        assert reply.json()["error"]["code"] == "internal"
    else:
        assert 'aria-label="Pages"' in reply.text


def test_a_form_that_is_too_large_is_refused_on_a_page(client: Client) -> None:
    ada = browser(client, "analyst", name="ada")
    reply = ada.post("/datasets/visits/ask", sql="x" * 3000)
    assert reply.status_code == 413
    assert 'aria-label="Pages"' in reply.text
