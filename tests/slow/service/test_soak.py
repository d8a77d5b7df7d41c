"""A service that is used for an hour takes no more memory at its end than at its beginning.

``TACIT_SOAK_SECONDS=60`` soaks for a minute; ``pytest -s`` shows the figures.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from pathlib import Path
from statistics import median

import pytest

from support.service.clinic import write_clinic
from support.service.server import Served, served
from tacit import local

pytestmark = pytest.mark.slow

SECONDS = float(os.environ.get("TACIT_SOAK_SECONDS", "3600"))
PARTS = 6
SETTINGS = """
latency = 0.5
[collections.colour]
mechanism = "DirectEncoding"
items = ["red", "green"]
epsilon = 1
"""
SQL = "select site, sum(cost) as s, count(*) as n from visits group by site"


def memory(process: int) -> int:
    """The memory that a process holds, in kilobytes."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError(process)


def moments(seen: list[int]) -> dict[str, float]:
    """The memory in the first, the middle and the last twentieth of the time: their medians."""
    wide = max(1, len(seen) // 40)
    places = {"at the start": wide, "at half": len(seen) // 2, "at the end": len(seen) - wide}
    return {name: median(seen[max(0, k - wide) : k + wide]) for name, k in places.items()}


def use(service: Served, end: float, number: int, failed: list[str], sent: Counter[int]) -> None:
    """Preview, release, replay, report and watch until the end; count what was sent."""
    oracle = local.DirectEncoding(["red", "green"], epsilon=1)
    wire, binary = local.Wire(oracle), {"content-type": "application/octet-stream"}
    device = service.token("device")
    curator = service.token("curator")
    n = 0
    with service.client(service.token("analyst", name=f"analyst {number}")) as client:
        while time.monotonic() < end:
            n += 1
            body = {"sql": SQL, "epsilon": "1/1000000"}
            where = "/v1/datasets/visits"
            replies = [
                client.post(f"{where}/preview", json={**body, "tag": f"p{n}"}),
                client.post(f"{where}/releases", json=body),
                client.get(f"{where}/budget"),
                client.get("/v1/releases?limit=20"),
                client.post(
                    "/v1/collections/colour/reports",
                    content=wire.encode(oracle.perturb("red")),
                    headers={**binary, "Authorization": f"Bearer {device}"},
                ),
                client.get("/v1/collections/colour/estimate"),
            ]
            if n % 5 == 0:
                made = client.post(f"{where}/releases", json={**body, "tag": f"{number}.{n}"})
                replies += [made, client.get(f"/v1/releases/{made.json().get('id')}?wait=5")]
            if n % 50 == 0:
                headers = {"Authorization": f"Bearer {curator}"}
                replies.append(client.post(f"{where}/refresh", headers=headers))
            sent[number] += len(replies)
            failed += [reply.text for reply in replies if reply.status_code >= 400]
            time.sleep(0.05)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads memory from /proc")
def test_memory_is_flat(tmp_path: Path) -> None:
    folder = write_clinic(tmp_path, SETTINGS)
    declared = folder / "visits.toml"
    declared.write_text(declared.read_text().replace("epsilon = 10", "epsilon = 1000000"))
    failed: list[str] = []
    sent: Counter[int] = Counter()
    with served(folder) as service:
        end = time.monotonic() + SECONDS
        users = [
            threading.Thread(target=use, args=(service, end, n, failed, sent), daemon=True)
            for n in range(3)
        ]
        for user in users:
            user.start()
        seen = []
        while time.monotonic() < end:
            seen.append(memory(service.process.pid))
            time.sleep(SECONDS / 600)
        for user in users:
            user.join(60)
    print(f"{sent.total():,} requests in {SECONDS:,.0f} s; memory in MB:", end=" ")
    print(", ".join(f"{moment} {figure / 1024:.1f}" for moment, figure in moments(seen).items()))
    assert failed == []
    size = len(seen) // PARTS
    parts = [median(seen[n * size : (n + 1) * size]) for n in range(PARTS)]
    # What is kept of plans and answers is bounded; it fills in the first parts.
    assert parts[-1] <= parts[2] * 1.05 + 5_000, parts
