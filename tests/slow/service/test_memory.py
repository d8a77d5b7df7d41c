"""The memory of a service stays the same, however many requests it answers.

``TACIT_SOAK_REQUESTS=1000000`` sends a million, in some hours; ``pytest -s`` shows the figures.
"""

from __future__ import annotations

import http.client
import itertools
import json
import os
import threading
import time
from pathlib import Path

import pytest

from support.service.clinic import write_clinic
from support.service.server import Served, served

pytestmark = pytest.mark.slow

REQUESTS = int(os.environ.get("TACIT_SOAK_REQUESTS", "100000"))
TENTH = REQUESTS // 10
CLIENTS = 4
SETTINGS = """
latency = 0.2
[limits]
waiting_jobs = 1000000
"""
SQL = "select site, sum(cost) as s, count(*) as n from visits where cost > {} group by site"
PAGES = (
    "/datasets",
    "/datasets/visits",
    "/datasets/visits/ask",
    "/releases",
    "/v1/datasets",
    "/v1/datasets/visits/budget",
    "/v1/releases?limit=20",
    "/v1/feed",
    "/v1/me",
)
ASK = "/v1/datasets/visits/releases"


def memory(process: int) -> int:
    """The memory that a process holds, in kilobytes."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError(process)


class User:
    """Sends requests over one connection: half of them previews, the others mixed."""

    def __init__(self, service: Served, number: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=180)
        self._token = service.token("analyst", name=f"analyst {number}")
        self._number, self._made = number, ""

    def send(self, n: int) -> None:
        """Send the request of a number."""
        # Mostly of 20 questions; one in ten of 3,000, so that no cache holds them all.
        which = n * 7 % 3000 if n % 20 < 2 else n % 20
        question = {"sql": SQL.format(which), "epsilon": "1/1000000"}
        if n % 2:
            self._ask("POST", "/v1/datasets/visits/preview", question)
        elif n % 100 == 0:
            made = self._ask("POST", ASK, {**question, "tag": f"{self._number}.{n}"})
            self._made = json.loads(made)["id"]
        elif n % 100 == 50 and self._made:
            self._ask("GET", f"/releases/{self._made}")
            self._ask("GET", f"/v1/releases/{self._made}?wait=5")
            self._ask("GET", f"/v1/releases/{self._made}/answer?format=csv")
            self._ask("GET", f"/v1/releases/{self._made}/certificate")
        elif n % 4:
            self._ask("POST", ASK, {"sql": SQL.format(0), "epsilon": "1/1000000"})
        else:
            self._ask("GET", PAGES[n // 4 % len(PAGES)])

    def close(self) -> None:
        self._connection.close()

    def _ask(self, method: str, path: str, body: object = None) -> bytes:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        sent = None if body is None else json.dumps(body)
        self._connection.request(method, path, sent, headers)
        reply = self._connection.getresponse()
        text = reply.read()
        assert reply.status < 300, (path, reply.status, text)
        return text


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads memory from /proc")
def test_a_hundred_thousand_requests_leave_nothing_behind(tmp_path: Path) -> None:
    folder = write_clinic(tmp_path, SETTINGS)
    declared = folder / "visits.toml"
    declared.write_text(declared.read_text().replace("epsilon = 10", "epsilon = 1000000"))
    numbers, failed, seen = itertools.count(1), list[str](), dict[int, int]()
    begun = time.monotonic()

    def work(user: User) -> None:
        try:
            while not failed and (n := next(numbers)) <= REQUESTS:
                user.send(n)
                if n % TENTH == 0:
                    seen[n // TENTH] = size = memory(service.process.pid)
                    took = time.monotonic() - begun
                    print(f"{n:,} requests, {took:,.0f} s: {size / 1024:.1f} MB", flush=True)
        except Exception as error:
            failed.append(repr(error))
            raise
        finally:
            user.close()

    with served(folder) as service:
        users = [threading.Thread(target=work, args=(User(service, k),)) for k in range(CLIENTS)]
        for user in users:
            user.start()
        for user in users:
            user.join()
    assert failed == []
    assert sorted(seen) == list(range(1, 11))
    # By the third tenth the caches are full: plans, answers, pages of the database.  5% for what
    # the allocator keeps in pieces.
    assert seen[10] <= seen[3] * 1.05, seen
