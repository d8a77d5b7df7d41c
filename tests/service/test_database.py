"""Statements that go to the driver itself, and connections that stay open."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import exc

from tacit.service import database as database_module
from tacit.service.database import Database, GroupCommit, Later, Prepared, Together, metadata
from tacit.service.problem import Problem

_things = sa.Table(
    "thing",
    sa.MetaData(),
    sa.Column("id", sa.String(20), primary_key=True),
    sa.Column("size", sa.Float, key="amount"),
    sa.Column("good", sa.Boolean),
    sa.Column("number", sa.Integer),
)
_ADD = Prepared(_things.insert(), ["id", "amount", "good", "number"])
_ABOVE = sa.select(_things).where(
    _things.c.amount > sa.bindparam("least", type_=sa.Float), _things.c.good.is_not(None)
)
_ROWS: list[dict[str, Any]] = [
    {"id": "a", "amount": 0.1, "good": True, "number": 3},
    {"id": "100% \u00fc:x?", "amount": 1e300, "good": False, "number": None},
]


@pytest.fixture
def filled(any_database: Database) -> Database:
    with any_database.begin() as run:
        _things.create(run)
        for row in _ROWS:
            assert _ADD.change(run, **row) == 1
    return any_database


def test_it_gives_what_sqlalchemy_gives(filled: Database) -> None:
    above = Prepared(_ABOVE.order_by(_things.c.number.is_(None)))
    assert filled.mappings(above, least=0.0) == _ROWS
    with filled.begin() as run:
        assert above.mappings(run, least=0.0) == _ROWS
        plain = run.execute(_ABOVE, {"least": 0.5}).all()
        assert above.rows(run, least=0.5) == [tuple(row) for row in plain]
    assert filled.scalar(above, least=1e301) is None


def test_what_is_read_ahead_is_what_the_statements_give_and_is_used_once(
    filled: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Prepared(_ABOVE.order_by(_things.c.number.desc()).limit(1))
    none = Prepared(_ABOVE.where(_things.c.number > sa.bindparam("beyond", type_=sa.Float)))
    count = Prepared(sa.select(sa.func.count()).select_from(_things))
    together, asked, run = Together(one, none, count), list[Prepared](), filled._open.rows

    def noted(statement: Prepared, values: dict[str, Any]) -> Any:
        asked.append(statement)
        return run(statement, values)

    monkeypatch.setattr(filled._open, "rows", noted)
    least, beyond = {"least": 0.0}, {"least": 0.0, "beyond": 1e308}
    expected = filled.mappings(one, **least), filled.rows(none, **beyond), filled.scalar(count)
    assert expected[0]
    assert (expected[1], expected[2]) == ([], len(_ROWS))
    asked.clear()
    with filled.ahead(together, **beyond):
        found = filled.mappings(one, **least), filled.rows(none, **beyond), filled.scalar(count)
        assert found == expected
        assert asked == ([together.statement] if filled.on_server else [one, none, count])
        asked.clear()
        assert filled.scalar(count) == len(_ROWS)  # again: as it is now
        assert asked == [count]
    asked.clear()
    with filled.ahead(together, **beyond):
        assert filled.rows(one, least=1e301) == []  # of another value it was not read
        assert asked[-1] is one
    assert filled.mappings(one, **least) == expected[0]
    assert asked[-1] is one


def test_it_changes_what_it_says(filled: Database) -> None:
    of_good = _things.c.good.is_(sa.true())
    change = Prepared(_things.update().where(of_good).values(number=sa.bindparam("new")))
    with filled.begin() as run:
        assert change.change(run, new=9) == 1
    rows = filled.rows(Prepared(sa.select(_things.c.number).where(of_good)))
    assert list(rows) == [(9,)]


def test_after_an_error_nothing_is_written_and_the_next_transaction_works(
    filled: Database,
) -> None:
    def twice() -> None:
        with filled.begin() as run:
            _ADD.change(run, **{**_ROWS[0], "id": "b"})
            _ADD.change(run, **_ROWS[0])

    with pytest.raises(exc.IntegrityError) as refused:
        twice()
    assert "0.1" not in str(refused.value)
    count = Prepared(sa.select(sa.func.count()).select_from(_things))
    assert filled.scalar(count) == len(_ROWS)
    with filled.begin(durable=False) as run:
        _ADD.change(run, **{**_ROWS[0], "id": "c"})
    assert filled.scalar(count) == len(_ROWS) + 1


def test_an_error_of_a_query_quotes_nothing(any_database: Database) -> None:
    missing = Prepared(sa.select(sa.column("secret")).select_from(sa.table("nowhere")))
    with pytest.raises(Problem) as failed:
        any_database.rows(missing)
    assert "secret" not in str(failed.value)
    assert any_database.reachable()


def test_a_text_that_cannot_be_stored_is_the_requests_fault(filled: Database) -> None:
    query = Prepared(sa.select(_things).where(_things.c.id == sa.bindparam("name")))
    if filled.on_server:  # SQLite stores it
        with pytest.raises(Problem, match="a character that the service cannot store"):
            filled.rows(query, name="a\0b")
    assert filled.rows(query, name="a")


def test_connections_that_were_closed_are_opened_again(filled: Database) -> None:
    count = Prepared(sa.select(sa.func.count()).select_from(_things))
    filled.close()
    assert filled.scalar(count) == len(_ROWS)
    for connection in filled._open._idle:
        connection.close()
    if filled.on_server:  # as where a server was started again
        assert filled.scalar(count) == len(_ROWS)


def test_a_connection_that_was_cut_a_moment_ago_is_replaced(
    postgres: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = sa.text("select pg_backend_pid()")
    end = Prepared(sa.select(sa.func.pg_terminate_backend(sa.bindparam("pid", type_=sa.Integer))))
    of_it = sa.column("pid") == sa.bindparam("pid", type_=sa.Integer)
    active = sa.select(sa.func.count()).select_from(sa.table("pg_stat_activity"))
    there = Prepared(active.where(of_it))
    monkeypatch.setattr(database_module, "_FRESH", 600.0)
    with Database(postgres.dsn()) as database:

        def process() -> Any:
            with database.begin() as run:
                return run.execute(own).scalar()

        assert database.scalar(there, pid=0) == 0  # on a connection of its own from here on
        first = process()
        assert process() == first  # it is taken again, and the server is not asked
        database.scalar(end, pid=first)
        limit = time.monotonic() + 60
        while database.scalar(there, pid=first):
            assert time.monotonic() < limit
        assert process() != first


def test_a_list_is_no_part_of_a_prepared_statement(database: Database) -> None:
    some = Prepared(_ABOVE.where(_things.c.id.in_(["a", "b"])))
    with pytest.raises(TypeError, match="no lists"):
        database.rows(some, least=0.0)


def test_a_database_of_an_earlier_release_gets_the_indexes_that_it_lacks(
    any_database: Database,
) -> None:
    index = next(i for i in metadata.tables["job"].indexes if i.name == "job_unreported")
    with any_database.begin() as run:
        index.drop(run)
    any_database.create()
    with any_database.read() as reading:
        names = {one["name"] for one in sa.inspect(reading).get_indexes("job")}
    assert "job_unreported" in names


def test_a_database_of_an_earlier_release_gets_the_columns_that_it_lacks(
    any_database: Database,
) -> None:
    with any_database.begin() as run:
        run.execute(sa.text("alter table schedule_request drop column decided"))
    any_database.create()
    any_database.create()
    with any_database.read() as reading:
        names = {one["name"] for one in sa.inspect(reading).get_columns("schedule_request")}
    assert names == {one.name for one in metadata.tables["schedule_request"].columns}


# What requests write at once: the loop waits for the commit, and is woken once it is there.


class Held:
    """Writes items in batches; the first batch waits until it may end."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.begun, self.may_end = threading.Event(), threading.Event()
        self.group = GroupCommit(self._write, 10)

    def _write(self, items: list[int]) -> list[int | BaseException]:
        self.batches.append(items)
        self.begun.set()
        assert self.may_end.wait(30)
        return [ValueError(item) if item < 0 else 10 * item for item in items]


async def held(*items: int) -> tuple[Held, threading.Thread, list[asyncio.Task[int]]]:
    """One item is being written by a thread, and the others wait for it in the loop."""
    written = Held()
    thread = threading.Thread(target=written.group, args=(0,))
    thread.start()
    await asyncio.to_thread(written.begun.wait, 30)
    later = [Later(written.group.add(item), lambda result: result + 1) for item in items]
    tasks = [asyncio.create_task(one.waited()) for one in later]
    await asyncio.sleep(0)
    return written, thread, tasks


def test_a_loop_waits_for_the_batch_of_its_item() -> None:
    async def asked() -> list[Any]:
        written, thread, tasks = await held(1, -2, 3)
        assert written.batches == [[0]]
        assert not any(task.done() for task in tasks)
        written.may_end.set()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        thread.join()
        assert written.batches == [[0], [1, -2, 3]]
        assert await Later(written.group.add(4), lambda result: result).waited() == 40
        return results

    first, second, third = asyncio.run(asked())
    assert (first, third) == (11, 31)
    assert isinstance(second, ValueError)


def test_what_waits_in_one_turn_of_the_loop_is_one_batch() -> None:
    async def asked() -> list[int]:
        written = Held()
        written.may_end.set()
        later = [Later(written.group.add(item), lambda result: result) for item in (1, 2, 3)]
        assert written.batches == []
        results = await asyncio.gather(*(one.waited() for one in later))
        assert written.batches == [[1, 2, 3]]
        return results

    assert asyncio.run(asked()) == [10, 20, 30]


def test_a_request_that_is_cancelled_holds_up_no_other_one() -> None:
    async def asked() -> int:
        written, thread, (gone, left) = await held(1, 2)
        gone.cancel()
        written.may_end.set()
        result = await asyncio.wait_for(left, 30)
        thread.join()
        assert written.batches == [[0], [1, 2]]
        return result

    assert asyncio.run(asked()) == 21


def test_what_is_there_already_is_waited_for_by_no_one() -> None:
    later = Later.now(1).then(lambda one: one + 1)
    assert (later.wait(), asyncio.run(later.waited())) == (2, 2)
