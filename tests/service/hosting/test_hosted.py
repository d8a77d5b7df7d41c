"""A hosted data set: open once for all threads, charged on account of who asks."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tacit as tc
from support.clinic import make_clinic
from tacit.accounting import epsilon
from tacit.errors import BudgetError, DataSourceError, UsageError
from tacit.service.access.caller import Caller
from tacit.service.folder import declarations
from tacit.service.hosting.datasets import Datasets
from tacit.service.problem import Problem
from tacit.service.settings import Settings
from tacit.service.store.database import Database

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


def test_there_is_no_such_data_set(open_folder: Any) -> None:
    with pytest.raises(Problem, match="no data set 'visit'") as caught:
        open_folder().of("visit")
    assert "visits" in caught.value.remedy
