"""Spends a second of the ledger, with one process and with eight: ``python benchmarks/ledger.py``.

A spend is a durable charge (one commit, synced to the disk); a release is a charge and its
recorded answer (two).  Beside them stand what the disk allows (a write and a sync, over and over)
and the leanest guarded update in SQLite, which keeps no chain and no question.  The disk is that of
the folder for temporary files (set ``TMPDIR``); on one in memory, the work besides the syncs shows.

The same follows in PostgreSQL, where there is one on the machine: the leanest guarded update in
one table of the same server, synced too, and the ledger as a multiple of it.
"""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tacit.accounting import create_ledger, epsilon, open_ledger

COST = epsilon("1/1000000")
QUESTION = {"statistic": "mean", "column": "age", "lower": "0", "upper": "100"}


def charge(path: Path | str | None, times: int) -> float:
    ledger = open_ledger(path, dataset="d", budget=epsilon(1))
    begun = time.perf_counter()
    for k in range(times):
        ledger.charge(f"{os.getpid()}/{k}", COST, QUESTION)
    return time.perf_counter() - begun


def release(path: Path | str | None, times: int) -> float:
    ledger = open_ledger(path, dataset="d", budget=epsilon(1))
    begun = time.perf_counter()
    for k in range(times):
        ledger.release(f"{os.getpid()}/{k}", COST, QUESTION, lambda: {"mean": 41.5})
    return time.perf_counter() - begun


def replay(path: Path | str | None, times: int) -> float:
    ledger = open_ledger(path, dataset="d", budget=epsilon(1))
    ledger.release("again", COST, QUESTION, lambda: {"mean": 41.5})
    begun = time.perf_counter()
    for _ in range(times):
        ledger.charge("again", COST, QUESTION)
    return time.perf_counter() - begun


def sync_only(path: Path, times: int) -> float:
    with open(path.with_suffix(".sync"), "wb") as file:
        begun = time.perf_counter()
        for _ in range(times):
            file.write(b"x" * 4096)
            file.flush()
            os.fdatasync(file.fileno())
        return time.perf_counter() - begun


def lean(path: Path, times: int) -> float:
    connection = sqlite3.connect(path.with_suffix(".lean"), timeout=60, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE IF NOT EXISTS budget (cap INTEGER, spent INTEGER)")
    connection.execute("INSERT INTO budget VALUES (1000000000, 0)")
    begun = time.perf_counter()
    for _ in range(times):
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("UPDATE budget SET spent = spent + 1 WHERE spent + 1 <= cap")
        connection.execute("COMMIT")
    elapsed = time.perf_counter() - begun
    connection.close()
    return elapsed


def lean_server(address: str, times: int) -> float:
    """One guarded update a commit, in one message each: what the server and its disk allow."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        begun = time.perf_counter()
        for _ in range(times):
            connection.execute(
                "BEGIN; SET LOCAL synchronous_commit = on;"
                "UPDATE budget SET spent = spent + 1 WHERE spent + 1 <= cap; COMMIT"
            )
        return time.perf_counter() - begun


def in_postgres() -> None:
    """Measure a ledger in a PostgreSQL of one's own."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from support.servers.postgres_server import PostgresServer, missing

    lacking = missing()
    if lacking is not None:
        print(f"left out for want of {lacking[0]}: {lacking[1]}")
        return
    server = PostgresServer(log_statement="none", log_connections="off")
    try:
        with server.database() as database:
            database.run("CREATE TABLE budget (cap bigint, spent bigint)")
            database.run("INSERT INTO budget VALUES (1000000000, 0)")
            address = f"{database.dsn()}?ledger=bench"
            create_ledger(address, dataset="d", budget=epsilon(1)).close()
            for processes, times in ((1, 200), (8, 25)):
                show_beside(database.dsn(), address, processes, times)
            show("free replay in PostgreSQL, 1 process", 500, replay(address, 500))
    finally:
        server.remove()


def show_beside(lean_address: str, address: str, processes: int, times: int) -> None:
    """Measure the bare update and the ledger in turn, and print the middle of three ratios."""
    ratios = []
    for _ in range(3):
        bare = together(processes, lean_server, lean_address, times)
        ours = together(processes, charge, address, times)
        ratios.append(ours / bare)
    count = processes * times
    show(f"leanest guarded update in PostgreSQL, {processes} p.", count, bare)
    show(f"charge in PostgreSQL, {processes} p. ({sorted(ratios)[1]:.1f}x the update)", count, ours)
    both = together(processes, release, address, times // 2)
    show(f"release in PostgreSQL, {processes} p.", count // 2, both)


def _work(work: Callable[..., float], path: Path | str, times: int, gate: Any) -> None:
    gate.wait()
    work(path, times)
    gate.wait()


def together(processes: int, work: Callable[..., float], path: Path | str, times: int) -> float:
    """Return the seconds from when all processes are ready to when all are done."""
    context = multiprocessing.get_context("spawn")
    gate = context.Barrier(processes + 1)
    crew = [context.Process(target=_work, args=(work, path, times, gate)) for _ in range(processes)]
    for process in crew:
        process.start()
    gate.wait()
    begun = time.perf_counter()
    gate.wait()
    elapsed = time.perf_counter() - begun
    for process in crew:
        process.join()
    return elapsed


def show(label: str, count: int, seconds: float) -> None:
    print(f"{label:48s} {count / seconds:9,.0f} a second {seconds / count * 1e6:9,.0f} us each")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.ledger"
        create_ledger(path, dataset="d", budget=epsilon(1)).close()
        show("write and sync 4 KiB", 1000, sync_only(path, 1000))
        show("leanest guarded update in SQLite", 1000, lean(path, 1000))
        show("charge, 1 process", 2000, charge(path, 2000))
        show("release (charge and answer), 1 process", 1000, release(path, 1000))
        show("free replay, 1 process", 5000, replay(path, 5000))
        show("charge, 8 processes", 8 * 250, together(8, charge, path, 250))
        show("release, 8 processes", 8 * 125, together(8, release, path, 125))
        show("charge in memory", 20_000, charge(None, 20_000))
        with open_ledger(path) as ledger:
            begun = time.perf_counter()
            count = ledger.verify_chain()
            show("events verified", count, time.perf_counter() - begun)
    in_postgres()


if __name__ == "__main__":
    main()
