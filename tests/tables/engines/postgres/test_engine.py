"""What breaks between the plan and PostgreSQL: what is told, what was spent, and asking again."""

from __future__ import annotations

import _thread
import signal
import traceback

import pytest

import tacit as tc
from tables.engines.postgres.in_the_midst import (
    OPEN,
    SECRET,
    ask,
    failed,
    hurry,
    in_the_midst,
    running,
    session,
    until,
)
from tacit.errors import DataSourceError
from tacit.tables import question
from tacit.tables.release import release


def told(error):
    return "".join(traceback.format_exception(error, chain=True)) + repr(error.__context__)


def test_closing_ends_the_query_that_runs(visits):
    opened = session(visits)
    assert "was closed while it was read" in failed(opened, visits, opened.source.close)
    until(lambda: not running(visits))
    with pytest.raises(DataSourceError, match="open it again"):
        ask(opened)


@pytest.fixture
def interruptible():
    """Python's own handler: who runs the tests may ignore interrupts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_ends_the_query_that_runs(visits, interruptible):
    with session(visits) as opened:
        thread = in_the_midst(visits, _thread.interrupt_main)
        with pytest.raises(KeyboardInterrupt) as caught:
            ask(opened)
        thread.join()
        assert OPEN in caught.value.__notes__[0]
        until(lambda: not running(visits))
        hurry(visits)
        assert ask(opened).column("n")["value"] == [100]
        assert opened.spent.amount == 10**5


def test_after_the_charge_the_error_says_what_was_spent_and_asking_goes_on(visits, monkeypatch):
    hurry(visits)

    def stopped(plan, exact):
        visits.server.stop("immediate")
        return release.release_answer(plan, exact)

    with session(visits, budget=tc.epsilon_delta(100, "1e-3")) as opened:
        asked = opened.group_by("name").agg(n=tc.count())
        with monkeypatch.context() as patched:
            patched.setattr(question, "release_answer", stopped)
            with pytest.raises(DataSourceError, match=rf"reached.*{OPEN}") as why:
                asked.release(epsilon=50, delta="1e-4")
        assert why.value.__context__ is None
        visits.server.start()
        answer = asked.release(epsilon=50, delta="1e-4")
        assert not answer.replayed
        assert opened.spent.epsilon == 50


def test_a_table_that_goes_or_changes_while_it_is_open(visits):
    hurry(visits)
    changes = {
        "drop view visits": "not there any more",
        "revoke select on visits from reader": "GRANT SELECT",
        "alter view visits rename column age to years": "column of the table is not there",
    }
    again = "create view visits as select data.* from data; grant select on visits to reader"
    for number, (change, message) in enumerate(changes.items()):
        with session(visits) as opened:
            asked = opened.agg(age=tc.mean("age", 0, 100))
            asked.release(epsilon=1)
            visits.run(change)
            with pytest.raises(DataSourceError, match=rf"{message}.*nothing was spent"):
                asked.release(epsilon=1, tag=str(number))
            assert opened.spent.amount == 1
        visits.run("drop view if exists visits", again)


def test_each_release_reads_the_table_anew(visits):
    hurry(visits)
    with session(visits) as opened:
        assert ask(opened).column("n")["value"] == [100]
        visits.run("insert into data values (1000, 5, 'x')")
        assert ask(opened).replayed
        assert ask(opened, tag="now").column("n")["value"] == [101]


def test_a_view_that_raises_on_a_row_tells_nothing_of_it(visits, caplog, capfd):
    visits.run(
        "create view broken as select person, cast(name as integer) as age from data",
        "grant select on broken to reader",
    )
    with session(visits, table="broken") as opened:
        with pytest.raises(DataSourceError, match="its message is withheld") as caught:
            opened.agg(age=tc.mean("age", 0, 100)).release(epsilon=1)
        assert opened.spent.amount == 1  # what a row does to the engine is never free
    assert SECRET not in told(caught.value) + caplog.text + "".join(capfd.readouterr())


def test_the_server_s_log_holds_no_value_of_the_data(visits, caplog, capfd):
    """Every statement is in the log of the tests' server: names, bounds, keys; never a row."""
    hurry(visits)
    with visits.connect() as connection, connection.cursor().copy("copy data from stdin") as rows:
        for i in range(40):
            rows.write_row((777_000_123, 31.4159265, f"Trillian {i % 2}"))
    before = len(visits.server.logged())
    with session(visits, budget=tc.epsilon_delta(10**4, "1e-3")) as opened:
        answers = {
            "m": tc.median("age", 0, 100),
            "s": tc.sum("age", 0, 100),
            "p": tc.count_people(),
        }
        opened.filter(tc.col("age") < 1e3).agg(**answers).release(epsilon=1)
        opened.group_by("person").agg(n=tc.count()).release(epsilon=1, delta="1e-6")
        opened.group_by("name", keys=["a key"]).agg(**answers).release(epsilon=1)
    logged = visits.server.logged()[before:]
    assert "a key" in logged  # public
    for value in ("777000123", "31.41", "Trillian", SECRET):
        assert value not in logged + caplog.text + "".join(capfd.readouterr())
