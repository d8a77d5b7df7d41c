"""The database of the service: transactions, locks, and errors that tell nothing."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa

from tacit.errors import UsageError
from tacit.service import database as store
from tacit.service.database import VERSION, Database, metadata
from tacit.service.problem import Problem

counted = sa.Table(
    "counted_by_a_test",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("n", sa.Integer),
)


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        dsn: str = request.getfixturevalue("postgres").dsn()
        return dsn
    return f"sqlite:///{tmp_path}/service.db"


@pytest.fixture
def database(address: str) -> Iterator[Database]:
    made = Database(address)
    made.create()
    yield made
    made.close()


def in_threads(number: int, work: Callable[[], None]) -> None:
    threads = [threading.Thread(target=work) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_creating_again_changes_nothing(address: str, database: Database) -> None:
    other = Database(address)
    other.create()
    assert other.reachable()
    other.close()


def test_many_may_create_at_once(address: str) -> None:
    def create() -> None:
        made = Database(address)
        made.create()
        assert made.reachable()
        made.close()

    in_threads(6, create)
    made = Database(address)
    with made.read() as run:
        assert run.execute(sa.text("select count(*) from tacit_service")).scalar() == 1
    made.close()


def test_what_reads_and_then_writes_is_not_overtaken(database: Database) -> None:
    with database.begin() as run:
        run.execute(counted.insert().values(id=1, n=0))

    def add() -> None:
        for _ in range(25):
            with database.begin(lock="count") as run:
                n = run.execute(sa.select(counted.c.n)).scalar_one()
                run.execute(counted.update().values(n=n + 1))

    in_threads(4, add)
    with database.read() as run:
        assert run.execute(sa.select(counted.c.n)).scalar_one() == 100


def test_what_raises_leaves_nothing(database: Database) -> None:
    with pytest.raises(ZeroDivisionError), database.begin() as run:
        assert run.execute(counted.insert().values(id=7, n=0)).rowcount / 0
    with database.read() as run:
        assert run.execute(sa.select(counted.c.id)).all() == []


def test_an_error_says_no_value(database: Database) -> None:
    with pytest.raises(Problem) as caught, database.begin() as run:
        run.execute(sa.text("select * from nothere where x = :x"), {"x": "secret"})
    assert caught.value.code == "unavailable"
    assert "secret" not in str(caught.value.to_json())
    assert "nothere" not in str(caught.value.to_json())
    assert caught.value.__suppress_context__


def test_a_newer_database_is_refused(address: str, database: Database) -> None:
    with database.begin() as run:
        run.execute(sa.text("update tacit_service set version = :v"), {"v": VERSION + 1})
    other = Database(address)
    with pytest.raises(UsageError, match="newer Tacit"):
        other.create()
    other.close()


def test_the_key_is_settled_once(database: Database) -> None:
    assert database.settle_key("a" * 64)
    assert database.settle_key("a" * 64)
    assert not database.settle_key("b" * 64)


def test_the_clock_is_near_that_of_the_database(database: Database) -> None:
    assert abs(database.clock_ahead()) < 60


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("mysql://x", "is a file"),
        ("service.db", "is a file"),
        ("postgresql://ann:pa/ss@host/db", "cannot be read"),
        ("postgresql://ann@host/db?ledger=a", "no \\?ledger="),
    ],
)
def test_addresses_that_are_none(address: str, told: str) -> None:
    with pytest.raises(UsageError, match=told) as caught:
        Database(address)
    assert "pa/ss" not in str(caught.value)


@pytest.mark.full
def test_a_server_that_is_not_there() -> None:
    database = Database("postgresql://ann:secret@127.0.0.1:1/db")
    assert not database.reachable()
    with pytest.raises(UsageError, match="cannot be used") as caught:
        database.create()
    assert "secret" not in str(caught.value)
    assert "secret" not in database.name
    database.close()


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be opened"):
        Database(f"sqlite:///{tmp_path}/nothere/service.db")


def test_threads_that_write_to_a_file_wait_in_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None holds a connection that SQLite lets sleep; a lock that is never free is an error."""
    made = Database(f"sqlite:///{tmp_path}/service.db")
    made.create()
    held: list[int] = []

    def write(_: int) -> None:
        with made.begin() as run:
            run.execute(sa.text("select 1"))
            held.append(made._engine.pool.checkedout())  # type: ignore[attr-defined]

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(40)))
    assert held == [1] * 40
    monkeypatch.setattr(store, "_PATIENCE", 0.01)
    with made.begin(), ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(write, 0)
        with pytest.raises(Problem, match="others write to it"):
            waiting.result()
    write(0)
    made.close()


def test_connections_are_closed_with_the_last_reference(tmp_path: Path) -> None:
    with Database(f"sqlite:///{tmp_path}/service.db") as made:
        made.create()
        pool = made._engine.pool
        assert pool.checkedin() == 1  # type: ignore[attr-defined]
    assert made._engine.pool is not pool
    made.create()
    engine = made._engine
    pool = engine.pool
    del made
    gc.collect()
    assert engine.pool is not pool  # as dispose() leaves it
