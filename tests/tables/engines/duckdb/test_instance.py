"""The instance of DuckDB that tables in memory share."""

import gc
import os
import threading

import pyarrow
import pytest

import tacit as tc
from tacit.errors import DataSourceError
from tacit.tables import open_source
from tacit.tables.engines.duckdb.engine import SharedInstance, shared

PEOPLE = pyarrow.table({"age": [31, 45, 52]})


@pytest.fixture
def instance():
    made = SharedInstance()
    yield made
    if made._instance is not None:
        made._instance.end()


def test_tables_in_memory_share_one_and_others_have_their_own(tmp_path):
    (tmp_path / "people.csv").write_text("age\n31\n")
    with open_source(PEOPLE) as one, open_source(PEOPLE) as other:
        assert one.engine.folder == other.engine.folder
        for alone in (
            open_source(PEOPLE, threads=1),
            open_source(PEOPLE, memory_limit="1GB"),
            open_source(tmp_path / "people.csv"),
        ):
            with alone:
                assert alone.engine.folder != one.engine.folder


def test_a_table_does_not_see_another(tmp_path):
    older = pyarrow.table({"age": [77, 88]})
    with open_source(PEOPLE) as one, open_source(older) as other:
        kept = one.engine.materialise(f"select age from {one.relation}")
        view = one.engine.view("select 1 as x")
        one.engine.rows("set perfect_ht_threshold = 20")
        for theirs in (kept, view):
            with pytest.raises(DataSourceError):
                other.engine.rows(f"select * from {theirs}")
        ages = [
            engine.rows(f"select age from {one.relation}") for engine in (other.engine, one.engine)
        ]
        assert ages == [[(77,), (88,)], [(age,) for age in PEOPLE["age"].to_pylist()]]
        assert other.engine.rows("select current_setting('perfect_ht_threshold')") != [(20,)]


def test_nothing_of_a_closed_table_stays(instance):
    found, connection = instance.borrow()
    connection.execute("create temporary table kept as select range as x from range(100000)")
    connection.close()
    instance.give_back(found)
    (held,) = found._connection.execute(
        "select sum(memory_usage_bytes) from duckdb_memory()"
    ).fetchone()
    assert held == 0
    assert instance.borrow()[0] is found


def test_one_that_has_spilled_is_ended_with_its_last_table(instance):
    found, _ = instance.borrow()
    instance.borrow()
    (found.folder.path / "rows").write_text("Zaphod")
    instance.give_back(found)
    assert found.folder.path.is_dir()
    instance.give_back(found)
    assert not found.folder.path.exists()
    assert instance.borrow()[0] is not found


def test_threads_may_borrow_it_at_once(instance):
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(instance.borrow()[0])) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # the threads of DuckDB
def test_a_process_that_forks_ends_it_and_the_child_ends_as_it_should():
    gc.collect()  # tables that other tests have left to be collected
    with tc.Session(PEOPLE, unit=tc.one_row_each, budget=tc.epsilon(1)):
        folder, others = shared._instance.folder.path, shared._tables - 1
    child = os.fork()
    if child == 0:
        os._exit(0 if shared._instance is None else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert folder.exists() == (others > 0)
    with tc.Session(PEOPLE, unit=tc.one_row_each, budget=tc.epsilon(1)) as session:
        assert session.agg(n=tc.count()).release(epsilon=1).labels == ("n",)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # the threads of DuckDB
def test_a_child_begins_its_own_where_a_table_was_open():
    with tc.Session(PEOPLE, unit=tc.one_row_each, budget=tc.epsilon(1)):
        before = shared._instance
        child = os.fork()
        if child == 0:
            with open_source(PEOPLE) as source:
                own = shared._instance is not before
                os._exit(0 if own and source.engine.rows("select 42") == [(42,)] else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert shared._instance is before
