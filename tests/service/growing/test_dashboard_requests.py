"""Dashboards that wait: asked once, decided once, and begun as they were asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import tacit as tc
from tacit.errors import BudgetError
from tacit.service.access import Caller, Decisions
from tacit.service.audit_log import AuditLog
from tacit.service.database import Database
from tacit.service.growing.dashboards import Counted, DashboardRequests, Dashboards
from tacit.service.problem import Problem

ADA, RITA = Caller("ada", "oncology", (), "t1", 0), Caller("rita", None, (), "t2", 0)
HOURLY = Counted("arrived", "2026-03-01", "1h", 10, epsilon="3")


@pytest.fixture
def requests(tmp_path: Path) -> Iterator[DashboardRequests]:
    (tmp_path / "visits.csv").write_text("person,arrived\n")
    database = Database(f"sqlite:///{tmp_path}/service.db")
    database.create()
    audit = AuditLog(database)
    session = tc.Session(
        tmp_path / "visits.csv",
        unit=tc.unit("person", rows=5),
        budget=tc.epsilon(4),
        types={"arrived": "timestamp"},
    )
    boards = Dashboards(database, audit, lambda *_: session, lambda _: 2.0, lambda: 7.0)
    decisions = Decisions(lambda _, name: frozenset({name}))
    yield DashboardRequests(database, audit, boards, decisions, lambda: 7.0)
    session.close()
    database.close()


def test_it_is_asked_once_and_decided_once(requests: DashboardRequests) -> None:
    asked = requests.ask("visits", HOURLY, ADA)
    assert (asked.state, asked.asked_by, asked.asked) == ("waiting", "ada", 7.0)
    assert requests.ask("visits", HOURLY, RITA) == asked  # whoever asks for it again
    assert requests.undecided() == [asked]
    with pytest.raises(Problem, match="does not decide"):
        requests.approve(asked, ADA)
    requests.refuse(asked, RITA, "too dear")
    with pytest.raises(Problem, match="decided already"):
        requests.approve(asked, RITA)
    again = requests.ask("visits", HOURLY, ADA)
    assert (again.state, again.reason) == ("waiting", None)
    requests.approve(again, RITA)
    assert requests.undecided() == []
    found = requests.find(again.id)
    assert found is not None
    assert found.state == "approved"


def test_what_cannot_be_paid_any_more_waits_on(requests: DashboardRequests) -> None:
    first = requests.ask("visits", HOURLY, ADA)
    other = requests.ask("visits", Counted(**{**HOURLY.to_json(), "tag": "2"}), ADA)
    requests.approve(first, RITA)
    with pytest.raises(BudgetError):
        requests.approve(other, RITA)
    found = requests.find(other.id)
    assert found is not None
    assert found.state == "waiting"
    with pytest.raises(BudgetError, match="nothing was spent"):
        requests.ask("visits", Counted(**{**HOURLY.to_json(), "tag": "3"}), ADA)
