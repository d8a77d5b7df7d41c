"""Statements on a table in memory are planned before the charge, once, and run after it."""

import pyarrow
import pytest

import tacit as tc
from tacit.errors import DataSourceError
from tacit.tables import open_source
from tacit.tables.engines.duckdb.engine import DuckEngine, planned_statements
from tacit.tables.release.opened_table import SharedTable

PEOPLE = pyarrow.table({"site": [0, 1, 1], "age": [31, 45, 52], "who": [1, 1, 2]})


@pytest.fixture
def log(monkeypatch):
    planned_statements.clear()
    asked = []
    run, charge = DuckEngine._run, tc.accounting.Ledger.charge

    def logged(engine, sql, *rest, **how):
        asked.append(sql)
        return run(engine, sql, *rest, **how)

    def charged(ledger, *rest):
        asked.append("charge")
        return charge(ledger, *rest)

    monkeypatch.setattr(DuckEngine, "_run", logged)
    monkeypatch.setattr(tc.accounting.Ledger, "charge", charged)
    return asked


@pytest.mark.parametrize(
    "asked",
    [tc.count(), tc.mean("age", 0, 99), tc.median("age", 0, 99), tc.count_people()],
    ids=str,
)
@pytest.mark.parametrize("keys", [None, [0, 1], [1, 0]], ids=str)
def test_each_statement_is_planned_once_and_run_after_the_charge(log, asked, keys):
    session = tc.Session(PEOPLE, unit=tc.one_row_each, budget=tc.epsilon(10**6))
    question = session if keys is None else session.group_by("site", keys=keys)
    log.clear()
    answer = question.agg(x=asked).release(epsilon=10**5)
    place = log.index("charge")
    before, after = log[:place], [sql for sql in log[place + 1 :] if not sql.startswith("set ")]
    assert [sql.partition(" as ")[2] for sql in before] == after
    assert all(sql.startswith("prepare ") for sql in before)
    if asked.kind == "count":
        assert [answer.value("x", *key) for key in answer.keys] == (
            [3] if keys is None else [1, 2] if keys[0] == 0 else [2, 1]
        )
    log.clear()
    again = question.agg(x=asked).release(epsilon=10**5 + 1)
    assert [sql for sql in log if not sql.startswith("set ")] == ["charge", *after]
    if asked.kind == "count":
        assert again.to_dict()["x"] == answer.to_dict()["x"]


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars", "text"])
def test_a_kept_plan_reads_the_rows_anew(log, kind):
    table = PEOPLE if kind != "text" else PEOPLE.append_column("name", [["a", "b", "c"]])
    if kind in ("pandas", "polars"):
        pytest.importorskip(kind)
        table = table.to_pandas() if kind == "pandas" else __import__("polars").from_arrow(table)
    session = tc.Session(table, unit=tc.one_row_each, budget=tc.epsilon(10**6))
    question = session.group_by("site", keys=[1]).agg(n=tc.count(), s=tc.sum("age", 0, 99))
    for turn in range(3):
        answer = question.release(epsilon=10**5 + turn)
        assert (answer.value("n", 1), answer.value("s", 1)) == (2, 97)
    assert sum(sql.startswith("prepare ") for sql in log) <= 2


def test_a_plan_does_not_outlive_its_table():
    session = tc.Session(PEOPLE, unit=tc.one_row_each, budget=tc.epsilon(10**6))
    question = session.agg(n=tc.count())
    question.release(epsilon=1)
    session.source.close()
    with pytest.raises(DataSourceError, match="closed"):
        question.release(epsilon=2)
    assert session.spent == tc.epsilon(1)


def test_people_and_rows_that_must_be_brought_in_are_tried_on_no_rows(log):
    by_person = tc.Session(PEOPLE, tc.unit("who", rows=2), budget=tc.epsilon(1))
    text = pyarrow.table({"name": ["a", "b"]})  # looked through when it is read first
    for session in (by_person, tc.Session(text, unit=tc.one_row_each, budget=tc.epsilon(1))):
        log.clear()
        session.agg(n=tc.count()).release(epsilon=1)
        before = log[: log.index("charge")]
        assert before
        assert not any(sql.startswith("prepare") for sql in before)


def test_another_session_plans_only_what_was_not_planned_for_such_a_table(log):
    def ask(table, question):
        session = tc.Session(table, unit=tc.one_row_each, budget=tc.epsilon(10**6))
        log.clear()
        answer = session.agg(x=question).release(epsilon=10**5)
        return answer.value("x"), sum(sql.startswith("prepare ") for sql in log)

    older = PEOPLE.set_column(1, "age", pyarrow.array([41, 55, 62]))
    assert ask(PEOPLE, tc.sum("age", 0, 99)) == (128, 1)
    assert ask(older, tc.sum("age", 0, 99)) == (158, 0)
    assert ask(older, tc.sum("age", 0, 98)) == (158, 1)  # another statement
    short = PEOPLE.set_column(1, "age", pyarrow.array([41, 55, 62], pyarrow.int16()))
    assert ask(short, tc.sum("age", 0, 99)) == (158, 1)  # another type
    assert ask(PEOPLE.to_pandas(), tc.sum("age", 0, 99)) == (128, 1)  # another kind of table


def test_who_shares_a_table_with_others_does_not_see_by_the_time_what_they_asked(log):
    session = tc.Session(PEOPLE, unit=tc.one_row_each, budget=tc.epsilon(10**6))
    for _ in range(2):
        tried = SharedTable(session._table).rehearsed
        log.clear()
        for _ in range(2):
            plan = session.agg(n=tc.count())._priced(epsilon=1).on_paper()
            tried.rehearse(session.source, plan)
        assert sum(sql.startswith("prepare ") for sql in log) == 1


def test_every_plan_is_that_of_its_own_query():
    with open_source(PEOPLE) as source:
        plan = source.engine.planner()
        queries = {f"select age + {i} from {source.relation}": i for i in range(40)}
        for sql in queries:
            plan(sql)
        for _ in range(2):
            for sql, i in queries.items():
                assert source.engine.rows(sql) == [(31 + i,), (45 + i,), (52 + i,)]
        with pytest.raises(DataSourceError):
            plan("select nothing")
