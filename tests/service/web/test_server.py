"""The server itself, on a socket: plain text only at home, slow heads, one process and two."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from support.service.server import Served, served
from tacit.errors import UsageError
from tacit.service.settings import Settings
from tacit.service.web.server import Place


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.0.1", "::", "db.example"])
def test_no_token_crosses_the_network_in_plain_text(host: str, tmp_path: Path) -> None:
    settings = Settings.load(tmp_path)
    with pytest.raises(UsageError, match="plain text"):
        Place(host).refuse_plain(settings)
    Place(host, certificate="a.pem", key="a.key").refuse_plain(settings)
    (tmp_path / "service.toml").write_text("url = 'https://statistics.example'")
    Place(host).refuse_plain(Settings.load(tmp_path))


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.1.2.3"])
def test_at_home_it_may(host: str, tmp_path: Path) -> None:
    Place(host).refuse_plain(Settings.load(tmp_path))


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
