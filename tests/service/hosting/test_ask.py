"""What a request asks: read as a user's own question, and previewed without a look at the data."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import threading
import weakref
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest

import tacit as tc
from support.clinic import make_clinic
from support.service.client import running
from support.service.hosting import hosted_clinic
from support.threads import at_once
from tacit.accounting import epsilon, open_ledger
from tacit.accounting.ledger import accounts_of, named_accounts, set_cap
from tacit.accounting.ledger_sqlite import open_files
from tacit.errors import (
    BudgetError,
    DataSourceError,
    LedgerError,
    UnsupportedQueryError,
    UsageError,
)
from tacit.report import Certificate
from tacit.service.access import Caller
from tacit.service.database import Database
from tacit.service.folder import declarations
from tacit.service.hosting import datasets as open_tables
from tacit.service.hosting.ask import (
    CERTIFICATE,
    Ask,
    answer_json,
    as_bytes,
    format_of,
    preview_of,
    words_of,
)
from tacit.service.hosting.datasets import Datasets, Hosted, LRUCache
from tacit.service.hosting.ledgers import Ledgers
from tacit.service.problem import Problem
from tacit.service.settings import Settings
from tacit.tables.engines.duckdb import engine
from tacit.tables.engines.duckdb.instances import IdleInstances
from tacit.tables.plan.plan import Plan
from tacit.tables.plan.preview import Preview
from tacit.tables.question import charge_of, check_release
from tacit.tables.release import release as charge
from tacit.tables.release import release as releases

ADA = Caller("ada", "oncology", (), "t", 0)
FIELDS = {
    "where": "cost > 10",
    "by": "site",
    "answers": {"n": {"statistic": "count"}, "cost": {"statistic": "mean", "column": "cost"}},
}
SQL = "select site, count(*) as n, avg(cost) as cost from visits where cost > 10 group by site"


@pytest.fixture(scope="module")
def hosted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosted]:
    with running(hosted_clinic(tmp_path_factory.mktemp("clinic"))) as client:
        yield client.state.datasets.of("visits")


def test_three_ways_of_one_question(hosted: Hosted) -> None:
    spoken = hosted.session(ADA).filter(tc.col("cost") > 10).group_by("site")
    described = spoken.agg(n=tc.count(), cost=tc.mean("cost")).described()
    asks = [{"sql": SQL}, {"question": FIELDS}, {"described": described}]
    keys = {
        charge_of(Ask.from_json({**ask, "epsilon": 1}).question(hosted, ADA), epsilon=1).key
        for ask in asks
    }
    assert len(keys) == 1


def test_another_table_can_be_asked(hosted: Hosted) -> None:
    ask = Ask.from_json(
        {"question": {"answers": {"n": {"statistic": "count"}}}, "table": "patients"}
    )
    assert "age" in ask.question(hosted, ADA).schema


def test_numbers_are_read_as_they_are_written() -> None:
    ask = Ask.from_json({"sql": "s", "epsilon": {"n": 0.1, "cost": 3}, "total": 0.3})
    assert ask.price == {"epsilon": {"n": "0.1", "cost": 3}, "total": "0.3"}
    assert Ask.from_json(ask.to_json()) == ask
    assert (
        ask.text == Ask.from_json({"total": 0.3, "epsilon": {"cost": 3, "n": 0.1}, "sql": "s"}).text
    )


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({}, "ask in one way"),
        ({"sql": "a", "described": {}}, "ask in one way"),
        ({"sqll": "a"}, "sqll"),
        ({"sql": 3}, "must be text"),
        ({"question": []}, "question"),
        ({"sql": "a", "tag": "a\nb"}, "tag of the request is a line"),
        ({"sql": "a", "tag": "?"}, "tag of the request is a line"),
        ({"sql": "a", "table": 3}, "must be text"),
        ({"questions": [{"sql": "a", "rho": 1}]}, "rho is of the whole plan"),
    ],
)
def test_what_is_no_request(said: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        Ask.from_json(said)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"question": {**FIELDS, "keys_file": "/etc/passwd"}}, "keys_file"),
        ({"question": {**FIELDS, "keys": "/etc/passwd"}}, "keys is a list"),
        ({"question": {**FIELDS, "plot": "x.png"}}, "plot"),
        ({"question": {**FIELDS, "epsilon": 1}}, "epsilon"),
        ({"question": {**FIELDS, "sql": SQL}}, "sql"),
        ({"question": {**FIELDS, "by": "site", "keys": {"site": 3}}}, "are a list of values"),
        ({"question": {**FIELDS, "by": "site", "keys": {"site": None}}}, "are a list of values"),
        ({"question": {**FIELDS, "by": "sitte"}}, "did you mean 'site'"),
        ({"question": FIELDS, "table": "nothere"}, "no table 'nothere'"),
        ({"described": {"by": []}}, "does not describe a question"),
    ],
)
def test_what_cannot_be_asked(hosted: Hosted, said: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        Ask.from_json(said).question(hosted, ADA)


def test_a_description_of_other_people_is_refused(hosted: Hosted) -> None:
    said = hosted.session(ADA).agg(n=tc.count()).described()
    said["unit"] = {**said["unit"], "rows": 1}
    with pytest.raises(UsageError, match="other people"):
        Ask.from_json({"described": said}).question(hosted, ADA)


def test_sql_that_has_no_translation_says_where(hosted: Hosted) -> None:
    with pytest.raises(UnsupportedQueryError) as caught:
        Ask.from_json({"sql": "select cost from visits"}).question(hosted, ADA)
    assert caught.value.position == (1, 8)


def test_a_preview_says_cost_and_errors_and_spends_nothing(hosted: Hosted) -> None:
    ask = Ask.from_json({"sql": SQL, "epsilon": "1/2"})
    result = preview_of(ask, hosted, ADA, notes=("a note",))
    assert result["cost"] == {"kind": "pure", "epsilon": "1/2"}
    assert (result["replay"], result["open"], result["affordable"]) == (False, False, True)
    assert [column["label"] for column in result["columns"]] == ["n", "cost"]
    assert all(len(column["interval"]) == 3 for column in result["columns"])
    assert result["text"] == words_of(ask.question(hosted, ADA))
    assert "a note" in result["notes"]
    assert Preview.from_json(result["preview"]).cost == epsilon("1/2")
    assert hosted.ledger(None).spent.is_nothing


def test_a_preview_knows_what_is_charged_and_what_is_answered(hosted: Hosted) -> None:
    ask = Ask.from_json({"sql": "select count(*) as n from visits", "epsilon": 2})
    question = ask.question(hosted, ADA)
    view = hosted.session(ADA).ledger
    key = charge_of(question, epsilon=2).key
    public = {"query": question.described(), "request": epsilon(2).to_json(), "tag": None}
    view.charge(key, epsilon(2), public)
    result = preview_of(ask, hosted, ADA)
    assert (result["replay"], result["open"]) == (False, True)
    assert result["cost"]["epsilon"] == "0"
    question.release(epsilon=2)
    result = preview_of(ask, hosted, ADA)
    assert (result["replay"], result["open"]) == (True, False)


def test_a_preview_reads_one_state_of_the_ledger(
    hosted: Hosted, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = Ask.from_json({"sql": SQL, "epsilon": "1/3"})
    first = preview_of(ask, hosted, ADA)
    store, states = hosted.ledger(None).chain.store, []
    read = store.read
    monkeypatch.setattr(store, "read", lambda *more: states.append(1) or read(*more))
    assert preview_of(ask, hosted, ADA) == first
    assert states == [1]


def test_what_the_budget_does_not_cover_is_previewed_all_the_same(hosted: Hosted) -> None:
    result = preview_of(Ask.from_json({"sql": SQL, "epsilon": 2000}), hosted, ADA)
    assert result["affordable"] is False
    assert "2000" in result["weak"]


def test_comments_of_sql_are_no_part_of_a_request() -> None:
    told = Ask.from_json(
        {"sql": "-- secret\nselect count(*) /* secret */ from visits", "epsilon": 1}
    )
    assert "secret" not in told.text
    assert "select count(*)" in told.content


# A hosted data set: open once for all threads, charged on account of who asks.


HOSTED_ADA = Caller("ada", "oncology", (), "t", 0)
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
    for caller in (HOSTED_ADA, EVE):
        hosted.session(caller).agg(n=tc.count()).release(epsilon=len(caller.name), tag=caller.name)
    accounts = {one.name: one.spent for one in accounts_of(hosted.ledger(None))}
    assert accounts == {
        "analyst:ada": epsilon(3),
        "analyst:eve": epsilon(3),
        "team:oncology": epsilon(3),
    }


def test_one_open_table_serves_all_callers_and_tables(open_folder: Any) -> None:
    hosted = open_folder().of("visits")
    ada, eve = hosted.session(HOSTED_ADA), hosted.session(EVE)
    assert ada.source is eve.source
    assert ada.table("patients").source is eve.table("patients").source
    ada.close()
    assert eve.join("patients").agg(n=tc.count()).release(epsilon=1).value("n") is not None
    with pytest.raises(UsageError, match="public table"):
        hosted.session(HOSTED_ADA, "sites")


def test_many_threads_ask_at_once(open_folder: Any) -> None:
    hosted = open_folder().of("visits")
    answers: dict[int, Any] = {}

    def ask(k: int) -> None:
        question = hosted.session(HOSTED_ADA).group_by("site").agg(cost=tc.mean("cost"))
        answers[k] = question.release(epsilon=1, tag=str(k % 4)).to_dict()

    at_once(ask, range(8))
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
        hosted.session(HOSTED_ADA)
    (tmp_path / "away.csv").rename(tmp_path / "visits.csv")
    assert hosted.session(HOSTED_ADA).columns["site"] == "integer"


def test_a_refresh_reads_the_rows_that_came(open_folder: Any, tmp_path: Path) -> None:
    hosted = open_folder().of("visits")

    def counted(tag: str) -> int:
        hosted.refresh()
        result: int = (
            hosted.session(HOSTED_ADA)
            .agg(n=tc.count_people())
            .release(epsilon=100, tag=tag)
            .value("n")
        )
        return result

    before = counted("before")
    with (tmp_path / "visits.csv").open("a") as out:
        out.writelines(f"{person},1,5,2024-01-05\n" for person in range(1000, 1300))
    assert abs(counted("still") - before) < 20
    open_folder.refreshed["visits"] = 1
    assert 280 < counted("after") - before < 320


def test_a_cost_beyond_the_budget_or_a_cap_is_refused(open_folder: Any) -> None:
    hosted = open_folder(caps={"each_team": {"epsilon": 2}}).of("visits")
    hosted.require(EVE, epsilon(1000))
    hosted.require(HOSTED_ADA, epsilon(2))
    with pytest.raises(BudgetError, match="is left of epsilon 1000; nothing"):
        hosted.require(EVE, epsilon(1001))
    with pytest.raises(BudgetError, match="the cap of team:oncology"):
        hosted.require(HOSTED_ADA, epsilon(3))


def test_whose_ledger_is_shown_where_teams_stand_apart(open_folder: Any) -> None:
    hosted = open_folder(collusion="teams apart").of("visits")
    with pytest.raises(Problem, match="no team has asked yet"):
        hosted.team_shown(EVE)
    hosted.session(HOSTED_ADA).agg(n=tc.count()).release(epsilon=1)
    hosted.session(Caller("bob", "surgery", (), "t", 0)).agg(n=tc.count()).release(epsilon=2)
    assert hosted.team_shown(HOSTED_ADA) == "oncology"
    assert hosted.team_shown(EVE) == "surgery"
    with pytest.raises(Problem, match="you have no team"):
        hosted.session(EVE)


def test_a_request_does_not_wait_for_the_engine_of_the_workers(open_folder: Any) -> None:
    """Were it to wait, its own time would tell how long the engine works for somebody else."""
    hosted = open_folder().of("visits")
    working = hosted.session(HOSTED_ADA).source.engine
    asked = threading.Event()

    def request() -> None:
        session = hosted.session(EVE, dry_run=True)
        question = session.join("patients").agg(age=tc.mean("age"))
        question.preview(epsilon=1)
        check_release(question, charge_of(question, epsilon=1))
        charge_of(question, epsilon=1).pay()
        asked.set()

    with working.dry_run():  # which holds the engine, as a query does
        thread = threading.Thread(target=request)
        thread.start()
        assert asked.wait(30)
    thread.join()
    assert hosted.ledger(None).spent == epsilon(1)


def test_tables_that_are_let_go_of_stay_open_for_who_still_asks(open_folder: Any) -> None:
    hosted = open_folder().of("visits")
    ask = Ask.from_json({"sql": "select count(*) as n from visits", "epsilon": 1})
    asked = ask.question(hosted, HOSTED_ADA, dry_run=False)
    assert ask.question(hosted, HOSTED_ADA, dry_run=False) is asked
    open_now = weakref.ref(hosted.session(HOSTED_ADA).source.engine)
    preview_of(ask, hosted, HOSTED_ADA)
    dry_run = weakref.ref(hosted.session(HOSTED_ADA, dry_run=True).source.engine)
    hosted.evict()
    assert open_now() is not None
    assert dry_run() is None
    assert ask.question(hosted, HOSTED_ADA, dry_run=False) is not asked
    first = asked.release(epsilon=1)
    assert first.value("n") == ask.question(hosted, HOSTED_ADA, dry_run=False).release(
        epsilon=1
    ).value("n")
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


@pytest.mark.full
def test_few_open_tables_serve_many_threads_and_data_sets(
    open_folder: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_tables, "MAX_OPEN_TABLES", 1)
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
                question = ask.question(hosted, HOSTED_ADA, dry_run=False)
                try:
                    result = question.release(epsilon="1/4", tag=str((who + k) % 5))
                except BudgetError:
                    refused.append(who)
                else:
                    answers.append(((k + who) % 3, (who + k) % 5, result.value("n")))
        except BaseException as error:
            failed.append(error)

    at_once(work, range(4))
    assert failed == []
    assert len(answers) + len(refused) == 24
    assert len({(data, tag) for data, tag, _ in answers}) == len(set(answers))
    for k in range(3):
        ledger = datasets.of(f"d{k}").ledger(None)
        assert ledger.spent.amount == Fraction(len({a[1] for a in answers if a[0] == k}), 4)
        assert ledger.verify_chain() > 0


def open_in(folder: Path) -> int:
    """Return how many files of a folder are open; of others, other threads open some."""
    places = []
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # that of the listing itself
            places.append(os.readlink(f"/proc/self/fd/{number}"))
    return sum(place.startswith(f"{folder.resolve()}/") for place in places)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system does not list files")
def test_more_data_sets_than_a_process_keeps_open(
    open_folder: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_tables, "MAX_OPEN_TABLES", 4)
    monkeypatch.setattr(open_files, "most", 2)
    monkeypatch.setattr(engine, "idle", IdleInstances(0))  # they keep up to two open
    datasets = small_data_sets(6, open_folder, tmp_path)
    ask = Ask.from_json({"sql": "select count(*) as n from t", "epsilon": 1})
    result = []
    for k in range(6):
        hosted = datasets.of(f"d{k}")
        preview_of(ask, hosted, HOSTED_ADA)
        ask.question(hosted, HOSTED_ADA, dry_run=False).release(epsilon=1)
        result.append(open_in(tmp_path))
    assert result[0] > 0
    assert max(result[2:]) <= result[1] + 2


def test_there_is_no_such_data_set(open_folder: Any) -> None:
    with pytest.raises(Problem, match="no data set 'visit'") as caught:
        open_folder().of("visit")
    assert "visits" in caught.value.remedy


# What is kept of questions: for one caller, until the table is opened anew.


ASK = Ask.from_json({"sql": "select site, sum(cost) as s from visits group by site", "epsilon": 1})
JOINED = Ask.from_json(
    {"sql": "select sum(cost) as s from visits join sites using (site)", "epsilon": 1}
)
KEPT_ADA = Caller("ada", "oncology", (), "t", 0)
CALLERS = (KEPT_ADA, Caller("eve", "oncology", (), "u", 0), Caller("ada", None, (), "v", 0))
"""Three of whom no two may share anything: another name, or another team."""


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[tuple[Hosted, dict[str, int]]]:
    make_clinic(tmp_path)
    database = Database(f"sqlite:///{tmp_path / 'service.db'}")
    database.create()
    settings, refreshed = Settings.from_fields({}, tmp_path), {"visits": 0}
    datasets = Datasets(declarations(settings), settings, database, refreshed.__getitem__)
    yield datasets.of("visits"), refreshed
    datasets.close()
    database.close()


def test_the_least_used_is_forgotten_first() -> None:
    stored: LRUCache[str] = LRUCache(2)
    for key in ("a", "b", "a", "c"):
        stored.of(key, lambda key=key: key)  # type: ignore[misc]
    assert stored.of("a", lambda: "new") == "a"
    assert stored.of("b", lambda: "new") == "new"


def test_what_is_forgotten_while_it_is_made_stays_forgotten() -> None:
    stored: LRUCache[int] = LRUCache(2)

    def made() -> int:
        stored.clear()
        return 1

    assert stored.of("a", made) == 1
    assert stored.of("a", lambda: 2) == 2


def test_what_fails_is_kept_by_nobody() -> None:
    stored: LRUCache[int] = LRUCache(2)

    def fails() -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        stored.of("a", fails)
    assert stored.of("a", lambda: 1) == 1


def test_a_thread_that_makes_a_value_keeps_no_other_waiting() -> None:
    """Else the time of a reply told that somebody else asks now."""
    stored: LRUCache[int] = LRUCache(2)
    inside, on = threading.Event(), threading.Event()

    def slow() -> int:
        inside.set()
        assert on.wait(30)
        return 1

    thread = threading.Thread(target=lambda: stored.of("a", slow))
    thread.start()
    assert inside.wait(30)
    assert stored.of("b", lambda: 2) == 2
    on.set()
    thread.join()
    assert stored.of("a", lambda: 3) == 1


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize("ask", [ASK, JOINED], ids=["a table", "a join"])
def test_no_two_callers_share_a_question_a_plan_or_a_rehearsal(
    clinic: tuple[Hosted, Any], dry_run: bool, ask: Ask
) -> None:
    hosted, _ = clinic
    asked = [ask.question(hosted, caller, dry_run=dry_run) for caller in CALLERS]
    again = [ask.question(hosted, caller, dry_run=dry_run) for caller in CALLERS]
    for one, same in zip(asked, again, strict=True):
        assert one is same
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert asked[one] is not asked[other]
        mine, others = asked[one]._table, asked[other]._table
        assert mine.source is others.source  # the table itself is open once
        assert mine.plans is not others.plans
        assert mine.validated is not others.validated


@pytest.mark.parametrize("ask", [ASK, JOINED], ids=["a table", "a join"])
def test_a_question_takes_as_much_work_as_if_nobody_had_asked_it(
    clinic: tuple[Hosted, Any], ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every caller's first preview and first question is planned and tried for them."""
    hosted, _ = clinic
    work: list[str] = []
    plan, genuine = Plan.__init__, releases.dry_run

    def planned(self: Plan, *given: Any) -> None:
        work.append("planned")
        plan(self, *given)

    def validated(*given: Any, **how: Any) -> None:
        work.append("tried")
        genuine(*given, **how)

    monkeypatch.setattr(charge.Plan, "__init__", planned)
    monkeypatch.setattr(releases, "dry_run", validated)
    took = []
    for caller in CALLERS:
        work.clear()
        preview_of(ask, hosted, caller)
        question = ask.question(hosted, caller)
        check_release(question, charge_of(question, **ask.price))
        took.append(list(work))
    assert took[0]
    assert "tried" in took[0]
    assert took[1] == took[0]
    assert took[2] == took[0]
    work.clear()
    preview_of(ask, hosted, KEPT_ADA)
    assert work == []


@pytest.mark.parametrize("ask", [ASK, JOINED], ids=["a table", "a join"])
def test_a_refresh_makes_a_fresh_question_for_workers(
    clinic: tuple[Hosted, dict[str, int]], ask: Ask
) -> None:
    hosted, refreshed = clinic
    paper, work = (ask.question(hosted, KEPT_ADA, dry_run=paper) for paper in (True, False))
    tried = work._table.validated
    refreshed["visits"] += 1
    hosted.refresh()
    after = ask.question(hosted, KEPT_ADA, dry_run=False)
    assert after is not work
    assert after is ask.question(hosted, KEPT_ADA, dry_run=False)
    assert after._table.validated is not tried
    assert ask.question(hosted, KEPT_ADA) is paper  # on paper no row is read: nothing changed
    assert charge_of(after, **ask.price).key == charge_of(paper, **ask.price).key


# An answer in the formats of the API.


@pytest.fixture(scope="module")
def answer() -> Any:
    rows = pa.table({"site": ["a", "b", "a"], "cost": [1, 2, 3]})
    session = tc.Session(rows, tc.one_row_each, tc.epsilon(1), tc.in_memory)
    asked = session.group_by("site", keys=["a", "b"]).agg(n=tc.count(), cost=tc.mean("cost", 0, 9))
    return asked.release(epsilon=1)


def test_json_holds_groups_values_and_intervals(answer: Any) -> None:
    result = answer_json(answer)
    assert (result["by"], result["keys"]) == (["site"], [["a"], ["b"]])
    for column in result["columns"]:
        assert column["value"] == answer.column(column["label"])["value"]
        assert set(column) >= {"label", "value", "standard_error", "low", "high"}
    assert result["protects"].startswith("protects:")


@pytest.mark.parametrize("form", ["wide", "long"])
def test_files_hold_the_same_table(answer: Any, form: str) -> None:
    table = answer.to_arrow(form=form)
    arrow = pa.ipc.open_file(as_bytes(answer, "arrow", form)).read_all()
    parquet = pa.parquet.read_table(io.BytesIO(as_bytes(answer, "parquet", form)))
    assert arrow.equals(table)
    assert parquet.equals(table)
    for file in (arrow, parquet):
        carried = Certificate(json.loads(file.schema.metadata[CERTIFICATE.encode()]))
        assert carried == answer.certificate
        assert carried.verify()
    text = as_bytes(answer, "csv", form).decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert list(rows[0]) == table.column_names
    assert len(rows) == table.num_rows


@pytest.mark.parametrize(
    ("accept", "format"),
    [
        (None, "json"),
        ("*/*", "json"),
        ("application/json", "json"),
        ("text/html, text/csv;q=0.5", "csv"),
        ("application/vnd.apache.arrow.file", "arrow"),
        ("APPLICATION/VND.APACHE.PARQUET", "parquet"),
    ],
)
def test_the_format_that_a_header_asks_for(accept: str | None, format: str) -> None:
    assert format_of(accept) == format


def test_what_is_not_known_is_null(answer: Any) -> None:
    broken = answer_json(answer)
    answer.column("n")["high"][0] = float("inf")
    assert answer_json(answer)["columns"][0]["high"][0] is None
    answer.column("n")["high"][0] = broken["columns"][0]["high"][0]


# The ledgers of a service: opened once, told apart, and never begun anew in silence.


HALF = {"epsilon": "1/2"}


class Service:
    """The ledgers of a folder, as one process after another opens them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = Database(f"sqlite:///{folder / 'service.db'}")
        self.database.create()
        self.opened: list[Ledgers] = []

    def ledgers(self, **said: Any) -> Ledgers:
        settings = Settings.from_fields(said, self.folder)
        result = Ledgers(declarations(settings), settings, self.database)
        self.opened.append(result)
        return result

    def close(self) -> None:
        for one in self.opened:
            one.close()
        self.database.close()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    make_clinic(tmp_path)
    made = Service(tmp_path)
    yield made
    made.close()


def test_it_is_the_ledger_that_python_opens(service: Service) -> None:
    ledger = service.ledgers().of("visits")
    assert ledger.total == epsilon(1000)
    with open_ledger(service.folder / "visits.ledger") as same:
        assert (same.id, same.dataset, same.terms) == (ledger.id, ledger.dataset, ledger.terms)


def test_it_is_opened_once(service: Service) -> None:
    ledgers = service.ledgers()
    assert ledgers.of("visits") is ledgers.of("visits", "oncology")
    assert ledgers.for_caller("visits", "ada", None).id == ledgers.of("visits").id


def test_a_charge_is_on_account_of_the_caller(service: Service) -> None:
    ledgers = service.ledgers()
    view = ledgers.for_caller("visits", "ada", "oncology")
    assert view.charge("k", epsilon(1), {}).accounts == ("team:oncology", "analyst:ada")
    assert ledgers.for_caller("visits", "eve", None).charge("l", epsilon(1), {}).accounts == (
        "analyst:eve",
    )


def test_a_ledger_that_is_gone_is_not_begun_anew(service: Service) -> None:
    ledgers = service.ledgers()
    ledgers.of("visits").charge("k", epsilon(1), {})
    ledgers.close()
    (service.folder / "visits.ledger").unlink()
    with pytest.raises(LedgerError, match="not where it was"):
        service.ledgers().of("visits")


def test_another_ledger_in_its_place_is_refused(service: Service) -> None:
    ledgers = service.ledgers()
    first = ledgers.of("visits")
    dataset, terms = first.dataset, first.terms
    ledgers.close()
    (service.folder / "visits.ledger").unlink()
    place = service.folder / "visits.ledger"
    open_ledger(place, dataset=dataset, budget=epsilon(1000), terms=terms).close()
    with pytest.raises(LedgerError, match="replaced by another one"):
        service.ledgers().of("visits")


def test_a_data_set_without_a_budget_is_refused(service: Service) -> None:
    path = service.folder / "visits.toml"
    path.write_text(path.read_text().replace("budget = { epsilon = 1000 }", ""))
    with pytest.raises(UsageError, match="has no budget"):
        service.ledgers().of("visits")


def test_a_raised_budget_stands_though_the_file_says_less(service: Service) -> None:
    ledgers = service.ledgers()
    ledgers.of("visits").extend(epsilon(2000), "more")
    ledgers.close()
    assert service.ledgers().of("visits").total == epsilon(2000)


def test_the_caps_of_the_settings_are_set_once_and_follow_the_file(service: Service) -> None:
    caps = {"each_analyst": HALF, "teams": {"oncology": {"epsilon": 2}}}
    ledger = service.ledgers(caps=caps).of("visits")
    assert named_accounts(ledger, ["analyst:ada"])[1][0].cap == epsilon("1/2")
    assert named_accounts(ledger, ["team:oncology"])[1][0].cap == epsilon(2)
    events = len(ledger.events())
    again = service.ledgers(caps=caps).of("visits")
    assert len(again.events()) == events
    set_cap(again, "team:oncology", epsilon(3), "a curator says so")
    stored = service.ledgers(caps=caps).of("visits")
    assert named_accounts(stored, ["team:oncology"])[1][0].cap == epsilon(3)
    other = service.ledgers(caps={"teams": {"oncology": {"epsilon": 4}}}).of("visits")
    assert named_accounts(other, ["team:oncology"])[1][0].cap == epsilon(4)
    assert named_accounts(other, ["analyst:ada"])[1][0].cap is None


def test_data_sets_of_the_same_people_charge_one_ledger(service: Service) -> None:
    make_second(service.folder)
    people = {name: {"people": "patients"} for name in ("visits", "stays")}
    ledgers = service.ledgers(datasets=people)
    visits, stays = ledgers.of("visits"), ledgers.of("stays")
    assert visits.id == stays.id
    assert visits.dataset.startswith("visits (")
    view = ledgers.for_caller("stays", "ada", None)
    assert view.charge("k", epsilon(1), {}).accounts == ("dataset:stays", "analyst:ada")
    assert visits.remaining == stays.remaining == epsilon(999)
    assert visits.find("k") is None


def make_second(folder: Path) -> None:
    """Declare another data set, of a table of its own."""
    text = (folder / "visits.toml").read_text()
    (folder / "stays.csv").write_text((folder / "visits.csv").read_text())
    (folder / "people.csv").write_text((folder / "patients.csv").read_text())
    text = text.replace('name = "visits"', 'name = "stays"').replace("visits.csv", "stays.csv")
    (folder / "stays.toml").write_text(text.replace("patients.csv", "people.csv"))


def test_teams_apart_spend_a_budget_each(service: Service) -> None:
    ledgers = service.ledgers(collusion="teams apart")
    with pytest.raises(Problem, match="you have no team"):
        ledgers.of("visits")
    one, other = ledgers.of("visits", "one"), ledgers.of("visits", "other")
    one.charge("k", epsilon(999), {})
    assert other.remaining == epsilon(1000)
    assert ledgers.teams("visits") == ["one", "other"]
