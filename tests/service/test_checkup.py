"""``tacit serve check``: what stops a service, and what weakens it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.service.client import running
from tacit.accounting import create_ledger, epsilon
from tacit.service.access import Grant
from tacit.service.checkup import Finding, check_service
from tacit.service.database import open_store
from tacit.service.demo import write_demo
from tacit.service.settings import Settings
from tacit.service.tokens import Tokens


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_demo(tmp_path)
    return tmp_path


def found(folder: Path, level: str) -> list[Finding]:
    return [one for one in check_service(Settings.load(folder)) if one.level == level]


def test_the_demo_is_whole(folder: Path) -> None:
    assert found(folder, "stops") == []
    assert [one.about for one in found(folder, "weakens")] == ["TLS"]
    assert "data set 'visits'" in [one.about for one in found(folder, "good")]


def test_nothing_is_charged_and_no_ledger_begins(folder: Path) -> None:
    check_service(Settings.load(folder))
    assert not list(folder.glob("*.ledger"))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("epsilon = 5", 'epsilon = "?"', "decide budget"),
        ("health_insurance.parquet", "nothere.parquet", "nothere"),
        ('kind = "float", bounds = [0, 100]', 'kind = "date"', "date"),
        ("site = {", "sight = {", "sight"),
        ("budget = { epsilon = 5 }\n", "", "no budget"),
    ],
)
def test_a_declaration_that_is_not_whole_stops_it(
    folder: Path, old: str, new: str, told: str
) -> None:
    place = folder / "visits.toml"
    text = place.read_text()
    assert old in text
    place.write_text(text.replace(old, new, 1))
    (one,) = found(folder, "stops")
    assert told in one.said


def test_settings_of_a_data_set_that_is_not_there_stop_it(folder: Path) -> None:
    (folder / "service.toml").write_text("[datasets.birth]\nlatency = 1")
    (one,) = found(folder, "stops")
    assert "'birth'" in one.said


def test_a_database_that_is_not_there_stops_it(folder: Path) -> None:
    (folder / "service.toml").write_text("database = 'postgresql://ann:secret@127.0.0.1:1/db'")
    pytest.importorskip("psycopg", reason="the client of PostgreSQL: make setup-engines")
    (one,) = found(folder, "stops")
    assert one.about == "database"
    assert "secret" not in one.said


def test_another_key_stops_it(folder: Path) -> None:
    check_service(Settings.load(folder))
    (folder / "service.key").write_text("00" * 32)
    (one,) = found(folder, "stops")
    assert "service.key" in one.said


@pytest.mark.skipif(os.name != "posix", reason="rights of files as POSIX has them")
def test_secrets_that_others_read_weaken_it(folder: Path) -> None:
    check_service(Settings.load(folder))
    (folder / "service.key").chmod(0o644)
    (folder / "visits.toml").chmod(0o666)
    said = {one.about: one.remedy for one in found(folder, "weakens")}
    assert said[str(folder / "service.key")].startswith("chmod 600")
    assert said[str(folder / "visits.toml")].startswith("chmod go-w")


def test_a_proxy_that_is_not_named_weakens_it(folder: Path) -> None:
    (folder / "service.toml").write_text("url = 'https://statistics.example'")
    assert [one.about for one in found(folder, "weakens")] == ["proxy"]


def test_a_clock_that_was_set_back_weakens_it(folder: Path) -> None:
    settings = Settings.load(folder)
    database, key = open_store(settings)
    tokens = Tokens(database, key, lambda: 2e9)
    tokens.create("ada", [Grant("analyst", "*")], 60)
    database.close()
    said = [one for one in check_service(settings, lambda: 2e9 - 3600) if one.about == "clock"]
    assert [one.level for one in said] == ["weakens"]
    assert "3600 s" in said[0].said
    said = [one for one in check_service(settings, lambda: 2e9) if one.about == "clock"]
    assert [one.level for one in said] == ["good"]


def test_a_ledger_that_is_gone_or_another_one_stops_it(folder: Path) -> None:
    with running(folder) as client:
        client.state.datasets.ledgers.of("visits")
    assert found(folder, "stops") == []
    (folder / "visits.ledger").rename(folder / "elsewhere")
    (one,) = found(folder, "stops")
    assert "gone" in one.said
    create_ledger(folder / "visits.ledger", dataset="other", budget=epsilon(5)).close()
    (one,) = found(folder, "stops")
    assert "another one" in one.said


def test_data_sets_of_the_same_people_and_teams_apart(folder: Path) -> None:
    text = (folder / "visits.toml").read_text()
    (folder / "again.toml").write_text(text.replace('"visits"', '"again"', 1))
    (one,) = found(folder, "stops")
    assert "people" in one.said
    (folder / "service.toml").write_text("people = 'those of the experiment'")
    assert found(folder, "stops") == []
    (folder / "service.toml").write_text("people = 'those'\ncollusion = 'teams apart'")
    assert [one.said for one in found(folder, "weakens") if "separate" in one.said]


def test_a_large_budget_weakens_it(folder: Path) -> None:
    place = folder / "visits.toml"
    place.write_text(place.read_text().replace("epsilon = 5", "epsilon = 50"))
    assert "data set 'visits'" in [one.about for one in found(folder, "weakens")]


def test_a_folder_without_data_sets(tmp_path: Path) -> None:
    assert "data sets" in [one.about for one in found(tmp_path, "weakens")]
