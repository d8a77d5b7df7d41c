"""A hosted data set: open once for all threads, charged on account of who asks."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import tacit as tc
from support.clinic import make_clinic
from tacit.accounting import epsilon
from tacit.accounting.ledger_sqlite import open_files
from tacit.errors import BudgetError, DataSourceError, UsageError
from tacit.service.access import Caller
from tacit.service.database import Database, declarations
from tacit.service.hosting import datasets as open_tables
from tacit.service.hosting.ask import Ask, preview_of
from tacit.service.hosting.datasets import Datasets
from tacit.service.problem import Problem
from tacit.service.settings import Settings

ADA = Caller("ada", "oncology", (), "t", 0)
EVE = Caller("eve", None, (), "t", 0)


@pytest.fixture
def open_folder(tmp_path: Path) -> Iterator[Any]:
    make_clinic(tmp_path)
    database = Database(f"sqlite:///{tmp_path / 'service.db'}")
    database.create()
    opened: list[Datasets] = []
    refreshed = {"visits": 0}

    def open_it(**said: Any) -> Datasets:
        settings = Settings.from_fields(said, tmp_path)
        made = Datasets(declarations(settings), settings, database, refreshed.__getitem__)
        opened.append(made)
        return made

    open_it.refreshed = refreshed  # type: ignore[attr-defined]
    yield open_it
    for one in opened:
        one.close()
    database.close()


def test_who_asks_pays(open_folder: Any) -> None:
    hosted = open_folder().of("visits")
    for caller in (ADA, EVE):
        hosted.session(caller).agg(n=tc.count()).release(epsilon=len(caller.name), tag=caller.name)
    accounts = {one.name: one.spent for one in hosted.all_accounts(None)}
    assert accounts == {
        "analyst:ada": epsilon(3),
        "analyst:eve": epsilon(3),
        "team:oncology": epsilon(3),
    }


def test_one_open_table_serves_all_callers_and_tables(open_folder: Any) -> None:
    hosted = open_folder().of("visits")
    ada, eve = hosted.session(ADA), hosted.session(EVE)
    assert ada.source is eve.source
    assert ada.table("patients").source is eve.table("patients").source
    ada.close()
    assert eve.join("patients").agg(n=tc.count()).release(epsilon=1).value("n") is not None
    with pytest.raises(UsageError, match="public table"):
        hosted.session(ADA, "sites")


def test_many_threads_ask_at_once(open_folder: Any) -> None:
    hosted = open_folder().of("visits")
    answers: dict[int, Any] = {}

    def ask(k: int) -> None:
        question = hosted.session(ADA).group_by("site").agg(cost=tc.mean("cost"))
        answers[k] = question.release(epsilon=1, tag=str(k % 4)).to_dict()

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 8
    assert all(answers[k] == answers[k % 4] for k in answers)
    assert hosted.ledger(None).spent == epsilon(4)


def test_what_is_public_of_its_tables(open_folder: Any) -> None:
    shapes = open_folder().of("visits").shapes()
    assert list(shapes) == ["visits", "patients", "sites"]
    assert shapes["sites"].public


def test_a_table_that_is_away_is_looked_for_again(open_folder: Any, tmp_path: Path) -> None:
    (tmp_path / "visits.csv").rename(tmp_path / "away.csv")
    hosted = open_folder().of("visits")
    with pytest.raises(DataSourceError):
        hosted.session(ADA)
    (tmp_path / "away.csv").rename(tmp_path / "visits.csv")
    assert hosted.session(ADA).columns["site"] == "integer"


def test_a_refresh_reads_the_rows_that_came(open_folder: Any, tmp_path: Path) -> None:
    hosted = open_folder().of("visits")

    def counted(tag: str) -> int:
        hosted.refresh()
        found: int = (
            hosted.session(ADA).agg(n=tc.count_people()).release(epsilon=100, tag=tag).value("n")
        )
        return found

    before = counted("before")
    with (tmp_path / "visits.csv").open("a") as out:
        out.writelines(f"{person},1,5,2024-01-05\n" for person in range(1000, 1300))
    assert abs(counted("still") - before) < 20
    open_folder.refreshed["visits"] = 1
    assert 280 < counted("after") - before < 320


def test_a_cost_beyond_the_budget_or_a_cap_is_refused(open_folder: Any) -> None:
    hosted = open_folder(caps={"each_team": {"epsilon": 2}}).of("visits")
    hosted.require(EVE, epsilon(1000))
    hosted.require(ADA, epsilon(2))
    with pytest.raises(BudgetError, match="is left of epsilon 1000; nothing"):
        hosted.require(EVE, epsilon(1001))
    with pytest.raises(BudgetError, match="the cap of team:oncology"):
        hosted.require(ADA, epsilon(3))


def test_whose_ledger_is_shown_where_teams_stand_apart(open_folder: Any) -> None:
    hosted = open_folder(collusion="teams apart").of("visits")
    with pytest.raises(Problem, match="no team has asked yet"):
        hosted.team_shown(EVE)
    hosted.session(ADA).agg(n=tc.count()).release(epsilon=1)
    hosted.session(Caller("bob", "surgery", (), "t", 0)).agg(n=tc.count()).release(epsilon=2)
    assert hosted.team_shown(ADA) == "oncology"
    assert hosted.team_shown(EVE) == "surgery"
    with pytest.raises(Problem, match="you have no team"):
        hosted.session(EVE)


def test_a_request_does_not_wait_for_the_engine_of_the_workers(open_folder: Any) -> None:
    """Were it to wait, its own time would tell how long the engine works for somebody else."""
    hosted = open_folder().of("visits")
    working = hosted.session(ADA).source.engine
    asked = threading.Event()

    def request() -> None:
        session = hosted.session(EVE, on_paper=True)
        question = session.join("patients").agg(age=tc.mean("age"))
        question.preview(epsilon=1)
        question.rehearse(epsilon=1)
        question.pay(epsilon=1)
        asked.set()

    with working.rehearsal():  # which holds the engine, as a query does
        thread = threading.Thread(target=request)
        thread.start()
        assert asked.wait(30)
    thread.join()
    assert hosted.ledger(None).spent == epsilon(1)


def test_tables_that_are_let_go_of_stay_open_for_who_still_asks(open_folder: Any) -> None:
    hosted = open_folder().of("visits")
    ask = Ask.from_json({"sql": "select count(*) as n from visits", "epsilon": 1})
    asked = ask.question(hosted, ADA, on_paper=False)
    assert ask.question(hosted, ADA, on_paper=False) is asked
    open_now = weakref.ref(hosted.session(ADA).source.engine)
    preview_of(ask, hosted, ADA)
    on_paper = weakref.ref(hosted.session(ADA, on_paper=True).source.engine)
    hosted.let_go()
    assert open_now() is not None
    assert on_paper() is None
    assert ask.question(hosted, ADA, on_paper=False) is not asked
    first = asked.release(epsilon=1)
    assert first.value("n") == ask.question(hosted, ADA, on_paper=False).release(epsilon=1).value(
        "n"
    )
    del asked, first
    assert open_now() is None
    assert hosted.ledger(None).spent == epsilon(1)


def small_data_sets(count: int, open_folder: Any, tmp_path: Path) -> Datasets:
    """Data sets ``d0``, ``d1`` ... with a table ``t`` of two people."""
    for k in range(count):
        (tmp_path / f"d{k}.csv").write_text("person\n1\n2\n")
        (tmp_path / f"d{k}.toml").write_text(
            f'name = "d{k}"\nunit = "row"\nbudget = {{ epsilon = 1 }}\n'
            f'[tables.t]\npath = "d{k}.csv"\n[tables.t.columns]\nperson = {{ kind = "integer" }}\n'
        )
        open_folder.refreshed[f"d{k}"] = 0
    opened: Datasets = open_folder()
    return opened


def test_few_open_tables_serve_many_threads_and_data_sets(
    open_folder: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_tables, "MOST", 1)
    monkeypatch.setattr(open_files, "most", 1)
    datasets = small_data_sets(3, open_folder, tmp_path)
    ask = Ask.from_json({"sql": "select count(*) as n from t", "epsilon": "1/4"})
    answers: list[tuple[int, int, float]] = []
    refused: list[int] = []
    failed: list[BaseException] = []

    def work(who: int) -> None:
        try:
            for k in range(6):
                hosted = datasets.of(f"d{(k + who) % 3}")
                question = ask.question(hosted, ADA, on_paper=False)
                try:
                    found = question.release(epsilon="1/4", tag=str((who + k) % 5))
                except BudgetError:
                    refused.append(who)
                else:
                    answers.append(((k + who) % 3, (who + k) % 5, found.value("n")))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert len(answers) + len(refused) == 24
    assert len({(data, tag) for data, tag, _ in answers}) == len(set(answers))
    for k in range(3):
        ledger = datasets.of(f"d{k}").ledger(None)
        assert ledger.spent.amount == Fraction(len({a[1] for a in answers if a[0] == k}), 4)
        assert ledger.verify_chain() > 0


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system does not list files")
def test_more_data_sets_than_a_process_keeps_open(
    open_folder: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_tables, "MOST", 4)
    monkeypatch.setattr(open_files, "most", 2)
    datasets = small_data_sets(6, open_folder, tmp_path)
    ask = Ask.from_json({"sql": "select count(*) as n from t", "epsilon": 1})
    found = []
    for k in range(6):
        hosted = datasets.of(f"d{k}")
        preview_of(ask, hosted, ADA)
        ask.question(hosted, ADA, on_paper=False).release(epsilon=1)
        found.append(len(os.listdir("/proc/self/fd")))
    assert max(found[2:]) <= found[1] + 2


def test_there_is_no_such_data_set(open_folder: Any) -> None:
    with pytest.raises(Problem, match="no data set 'visit'") as caught:
        open_folder().of("visit")
    assert "visits" in caught.value.remedy
