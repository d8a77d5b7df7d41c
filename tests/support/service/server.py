"""A service in a process of its own, as an operator starts it, on a free port of the loopback."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from tacit.service.access import Grant
from tacit.service.database import Database
from tacit.service.folder import signing_key
from tacit.service.settings import Settings
from tacit.service.tokens import Tokens

BUSY_TIMEOUT = 180.0


def free_port() -> int:
    """A port that nobody listens at now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@dataclass
class Served:
    """A service that runs.

    Attributes:
        folder: its data sets.
        port: where it listens.
        log: the file that it writes its log to.
    """

    folder: Path
    port: int
    log: Path
    process: subprocess.Popen[bytes] = field(repr=False)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def token(
        self, *roles: str, dataset: str = "*", name: str = "", team: str | None = None
    ) -> str:
        """A token of a day, as the operator makes one beside the folder."""
        database = Database(Settings.load(self.folder).database)
        try:
            tokens = Tokens(database, signing_key(self.folder), time.time)
            grants = [Grant(role, dataset) for role in roles]
            return tokens.create(name or roles[0], grants, 86_400, team=team)[0]
        finally:
            database.close()

    def client(self, token: str | None = None) -> httpx.Client:
        """A client of its own connections, closed by the one who asked."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(base_url=self.address, headers=headers, timeout=BUSY_TIMEOUT)


@contextmanager
def served(folder: Path, *flags: str) -> Iterator[Served]:
    """Serve a folder until the end of the block."""
    port, log = free_port(), folder / "service.log"
    words = [sys.executable, "-m", "tacit", "serve", str(folder), "--port", str(port), *flags]
    with log.open("ab") as out:
        process = subprocess.Popen(words, stdout=out, stderr=out, env=os.environ.copy())
    one = Served(folder, port, log, process)
    try:
        _wait(one)
        yield one
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(one: Served) -> None:
    end = time.monotonic() + BUSY_TIMEOUT
    while time.monotonic() < end:
        assert one.process.poll() is None, one.log.read_text(errors="replace")
        try:
            if httpx.get(f"{one.address}/readyz", timeout=5).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.1)
    raise AssertionError(one.log.read_text(errors="replace"))
