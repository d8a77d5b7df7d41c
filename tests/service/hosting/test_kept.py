"""What is kept of questions: for one caller, until the table is opened anew."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.clinic import make_clinic
from tacit.service.access import Caller
from tacit.service.database import Database, declarations
from tacit.service.hosting.ask import Ask, preview_of
from tacit.service.hosting.datasets import Datasets, Hosted, Kept
from tacit.service.settings import Settings
from tacit.tables.plan.plan import Plan
from tacit.tables.release import release as charge
from tacit.tables.release import release as rehearsal

ASK = Ask.from_json({"sql": "select site, sum(cost) as s from visits group by site", "epsilon": 1})
JOINED = Ask.from_json(
    {"sql": "select sum(cost) as s from visits join sites using (site)", "epsilon": 1}
)
ADA = Caller("ada", "oncology", (), "t", 0)
CALLERS = (ADA, Caller("eve", "oncology", (), "u", 0), Caller("ada", None, (), "v", 0))
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
    kept: Kept[str] = Kept(2)
    for key in ("a", "b", "a", "c"):
        kept.of(key, lambda key=key: key)  # type: ignore[misc]
    assert kept.of("a", lambda: "new") == "a"
    assert kept.of("b", lambda: "new") == "new"


def test_what_is_forgotten_while_it_is_made_stays_forgotten() -> None:
    kept: Kept[int] = Kept(2)

    def made() -> int:
        kept.clear()
        return 1

    assert kept.of("a", made) == 1
    assert kept.of("a", lambda: 2) == 2


def test_what_fails_is_kept_by_nobody() -> None:
    kept: Kept[int] = Kept(2)

    def fails() -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        kept.of("a", fails)
    assert kept.of("a", lambda: 1) == 1


def test_a_thread_that_makes_a_value_keeps_no_other_waiting() -> None:
    """Else the time of a reply told that somebody else asks now."""
    kept: Kept[int] = Kept(2)
    inside, on = threading.Event(), threading.Event()

    def slow() -> int:
        inside.set()
        assert on.wait(30)
        return 1

    thread = threading.Thread(target=lambda: kept.of("a", slow))
    thread.start()
    assert inside.wait(30)
    assert kept.of("b", lambda: 2) == 2
    on.set()
    thread.join()
    assert kept.of("a", lambda: 3) == 1


@pytest.mark.parametrize("on_paper", [True, False])
@pytest.mark.parametrize("ask", [ASK, JOINED], ids=["a table", "a join"])
def test_no_two_callers_share_a_question_a_plan_or_a_rehearsal(
    clinic: tuple[Hosted, Any], on_paper: bool, ask: Ask
) -> None:
    hosted, _ = clinic
    asked = [ask.question(hosted, caller, on_paper=on_paper) for caller in CALLERS]
    again = [ask.question(hosted, caller, on_paper=on_paper) for caller in CALLERS]
    for one, same in zip(asked, again, strict=True):
        assert one is same
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert asked[one] is not asked[other]
        mine, others = asked[one]._table, asked[other]._table
        assert mine.source is others.source  # the table itself is open once
        assert mine.plans is not others.plans
        assert mine.rehearsed is not others.rehearsed


@pytest.mark.parametrize("ask", [ASK, JOINED], ids=["a table", "a join"])
def test_a_question_takes_as_much_work_as_if_nobody_had_asked_it(
    clinic: tuple[Hosted, Any], ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every caller's first preview and first question is planned and rehearsed for them."""
    hosted, _ = clinic
    work: list[str] = []
    plan, rehearse = Plan.__init__, rehearsal.rehearse

    def planned(self: Plan, *given: Any) -> None:
        work.append("planned")
        plan(self, *given)

    def rehearsed(*given: Any, **how: Any) -> None:
        work.append("rehearsed")
        rehearse(*given, **how)

    monkeypatch.setattr(charge.Plan, "__init__", planned)
    monkeypatch.setattr(rehearsal, "rehearse", rehearsed)
    took = []
    for caller in CALLERS:
        work.clear()
        preview_of(ask, hosted, caller)
        ask.question(hosted, caller).rehearse(**ask.price)
        took.append(list(work))
    assert took[0]
    assert "rehearsed" in took[0]
    assert took[1] == took[0]
    assert took[2] == took[0]
    work.clear()
    preview_of(ask, hosted, ADA)
    assert work == []


@pytest.mark.parametrize("ask", [ASK, JOINED], ids=["a table", "a join"])
def test_a_refresh_makes_a_fresh_question_for_workers(
    clinic: tuple[Hosted, dict[str, int]], ask: Ask
) -> None:
    hosted, refreshed = clinic
    paper, work = (ask.question(hosted, ADA, on_paper=paper) for paper in (True, False))
    tried = work._table.rehearsed
    refreshed["visits"] += 1
    hosted.refresh()
    after = ask.question(hosted, ADA, on_paper=False)
    assert after is not work
    assert after is ask.question(hosted, ADA, on_paper=False)
    assert after._table.rehearsed is not tried
    assert ask.question(hosted, ADA) is paper  # on paper no row is read: nothing changed
    assert after.release_key(**ask.price) == paper.release_key(**ask.price)
