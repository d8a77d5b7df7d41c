"""The ledgers of a service: opened once, told apart, and never begun anew in silence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.clinic import make_clinic
from tacit.accounting import epsilon, open_ledger
from tacit.accounting.ledger import named_accounts, set_cap
from tacit.errors import LedgerError, UsageError
from tacit.service.database import Database, declarations
from tacit.service.hosting.ledgers import Ledgers
from tacit.service.problem import Problem
from tacit.service.settings import Settings

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
        found = Ledgers(declarations(settings), settings, self.database)
        self.opened.append(found)
        return found

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
    kept = service.ledgers(caps=caps).of("visits")
    assert named_accounts(kept, ["team:oncology"])[1][0].cap == epsilon(3)
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
