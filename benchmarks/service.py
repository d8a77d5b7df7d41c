"""Requests a second of the service, by 1, 8 and 64 clients: ``python benchmarks/service.py``.

``--postgres`` has the database of the service and the ledger in a PostgreSQL of its own, and
``--processes 2`` has two processes of the service serve.

In one run, with one client that writes HTTP to kept connections itself:

- *hello*: a route of the same framework and server that returns one word: what they allow at most;
- *who am I*: a token is checked, in the service;
- *preview*: a question is planned, priced and noted in the audit log;
- *the same release*: asked again, answered from the ledger at no cost;
- *new releases*: 300, each charged, computed over the table and recorded, from the first request
  until the last answer is written down; callers see it at its tick, which is left out here;
- *aggregate*: the sum and the count of the same table by the engine alone, in one thread.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import quantiles
from typing import Any

import duckdb
import sqlalchemy as sa

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.service.clinic import write_clinic  # noqa: E402
from support.service.server import Served, free_port, served  # noqa: E402
from tacit.service.database import Database  # noqa: E402

ROWS = 200_000
CLIENTS = (1, 8, 64)
SECONDS = float(os.environ.get("SECONDS_EACH", "3"))
SETTINGS = """
latency = 1
[limits]
waiting_jobs = 100000
connections = 200
"""
HELLO = """
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
app = FastAPI()
class Word(BaseModel):
    word: str
@app.get("/")
def hello() -> Word:
    return Word(word="hello")
uvicorn.run(app, port={port}, log_config=None, access_log=False)
"""
# What no answer is written down of yet; when it is, callers see at its tick.
UNFINISHED = sa.text("select count(*) from job where state in ('queued', 'working')")
SQL = "select site, sum(cost) as s, count(*) as n from visits group by site"


class Connection:
    """One kept connection."""

    def __init__(self, port: int, token: str | None) -> None:
        self._port, self._token = port, token

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)

    async def ask(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        sent = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(sent)}\r\n"
        head += "Content-Type: application/json\r\n" if sent else ""
        head += f"Authorization: Bearer {self._token}\r\n" if self._token else ""
        self._writer.write(head.encode() + b"\r\n" + sent)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        lines = answer.decode().lower().split("\r\n")
        size = next(int(line[15:]) for line in lines if line.startswith("content-length:"))
        return int(lines[0].split()[1]), await self._reader.readexactly(size)

    def close(self) -> None:
        self._writer.close()


async def rate(
    port: int, token: str | None, clients: int, request: Any
) -> tuple[float, list[float]]:
    """Requests a second of so many clients, each with one connection, and how long each took."""
    open_now = [Connection(port, token) for _ in range(clients)]
    for one in open_now:
        await one.open()
    times: list[float] = []
    numbers = iter(range(10**9))
    end = time.perf_counter() + SECONDS

    async def work(one: Connection) -> None:
        while (sent := time.perf_counter()) < end:
            status, text = await one.ask(*request(next(numbers)))
            assert status < 300, text
            times.append(time.perf_counter() - sent)

    begun = time.perf_counter()
    await asyncio.gather(*map(work, open_now))
    took = time.perf_counter() - begun
    for one in open_now:
        one.close()
    return len(times) / took, times


@contextmanager
def hello() -> Any:
    port = free_port()
    process = subprocess.Popen([sys.executable, "-c", HELLO.format(port=port)])
    try:
        for _ in range(200):
            with socket_of(port) as found:
                if found:
                    break
            time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait()


@contextmanager
def socket_of(port: int) -> Any:
    import socket

    with socket.socket() as one:
        yield one.connect_ex(("127.0.0.1", port)) == 0


def aggregate(folder: Path) -> float:
    """Aggregates a second of the engine alone, over the table in memory, in one thread."""
    engine = duckdb.connect(config={"threads": 1})
    engine.execute(f"create table visits as select * from '{folder / 'visits.csv'}'")
    asked = "select site, sum(least(greatest(cost, 0), 1000)), count(*) from visits group by site"
    engine.execute(asked).fetchall()
    done, end = 0, time.perf_counter() + SECONDS
    begun = time.perf_counter()
    while time.perf_counter() < end:
        engine.execute(asked).fetchall()
        done += 1
    return done / (time.perf_counter() - begun)


def new_releases(service: Served, database: Database, token: str, clients: int) -> float:
    """New releases a second, from the first request until the last answer is written down."""
    run, many = f"{time.time()}", 300
    numbers, made = iter(range(many)), []

    async def submit(one: Connection) -> None:
        for n in numbers:
            body = {"sql": SQL, "epsilon": "1/1000000", "tag": f"{run} {n}"}
            status, text = await one.ask("POST", "/v1/datasets/visits/releases", body)
            assert status == 202, text
            made.append(json.loads(text)["id"])

    async def all_of_them() -> float:
        open_now = [Connection(service.port, token) for _ in range(clients)]
        for one in open_now:
            await one.open()
        begun = time.perf_counter()
        await asyncio.gather(*map(submit, open_now))
        while database.rows(UNFINISHED)[0][0]:
            await asyncio.sleep(0.01)
        took = time.perf_counter() - begun
        for name in made:
            _, text = await open_now[0].ask("GET", f"/v1/releases/{name}?wait=30")
            assert json.loads(text)["state"] == "done", text
        for one in open_now:
            one.close()
        return took

    return many / asyncio.run(all_of_them())


@contextmanager
def postgres() -> Any:
    """The addresses of a database for the service and of one for the ledger."""
    from support.servers.postgres_server import PostgresServer

    server = PostgresServer(log_statement="none", log_connections="off")
    try:
        with server.database() as one, server.database() as other:
            yield one.dsn(), other.dsn()
    finally:
        server.remove()


def main() -> None:
    with ExitStack() as until:
        place = until.enter_context(tempfile.TemporaryDirectory())
        settings, budget = SETTINGS, "budget = { epsilon = 1000000 }"
        address = f"sqlite:///{place}/service.db"
        if "--postgres" in sys.argv:
            address, ledger = until.enter_context(postgres())
            settings = f'database = "{address}"\n{SETTINGS}'
            budget += f'\nledger = "{ledger}"'
        folder = write_clinic(Path(place), settings, rows=ROWS)
        declared = folder / "visits.toml"
        declared.write_text(declared.read_text().replace("budget = { epsilon = 10 }", budget))
        body = {"sql": SQL, "epsilon": "1/100"}
        processes = (
            int(sys.argv[sys.argv.index("--processes") + 1]) if "--processes" in sys.argv else 1
        )
        with (
            hello() as bare,
            served(folder, "--workers", str(processes)) as service,
            Database(address) as database,
        ):
            token = service.token("analyst")
            print(f"requests a second; {ROWS:,} rows; {os.cpu_count()} cores for all of it")
            print(f"{'clients':>24} " + " ".join(f"{n:>8}" for n in CLIENTS))

            rates: dict[str, list[float]] = {}

            def line(name: str, port: int, who: str | None, request: Any) -> None:
                found = [asyncio.run(rate(port, who, n, request)) for n in CLIENTS]
                print(f"{name:>24} " + " ".join(f"{r:8.0f}" for r, _ in found), flush=True)
                bare_rates = rates.setdefault("hello", [r for r, _ in found])
                shares = [r / h for (r, _), h in zip(found, bare_rates, strict=True)]
                print(f"{'of hello':>24} " + " ".join(f"{share:8.2f}" for share in shares))
                late = [quantiles(times, n=100) for _, times in found]
                ratios = " ".join(f"{each[98] / each[49]:8.1f}" for each in late)
                print(f"{'its p99 / p50':>24} {ratios}", flush=True)

            asyncio.run(once(service, token, {**body, "tag": "warm"}))  # the table is open now
            line("hello", bare, None, lambda n: ("GET", "/"))
            line("who am I", service.port, token, lambda n: ("GET", "/v1/me"))
            asked = ("POST", "/v1/datasets/visits/preview", body)
            line("preview", service.port, token, lambda n: asked)
            asyncio.run(once(service, token, body))
            again = ("POST", "/v1/datasets/visits/releases", body)
            line("the same release", service.port, token, lambda n: again)
            found = [new_releases(service, database, token, n) for n in CLIENTS]
            print(f"{'new releases, in a queue':>24} " + " ".join(f"{r:8.1f}" for r in found))
        alone = aggregate(folder)
        print(f"{'aggregate, engine alone':>24} {alone:8.0f}")
        print(f"{'new releases, of it':>24} " + " ".join(f"{r / alone:8.2f}" for r in found))


async def once(service: Served, token: str, body: Any) -> None:
    """Have a release answered."""
    one = Connection(service.port, token)
    await one.open()
    _, text = await one.ask("POST", "/v1/datasets/visits/releases", body)
    await one.ask("GET", f"/v1/releases/{json.loads(text)['id']}?wait=30")
    one.close()


if __name__ == "__main__":
    main()
