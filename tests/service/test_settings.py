"""The settings of a service."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.servers.left_out import leave_out, needs
from support.servers.postgres_server import PostgresServer
from support.service.client import Client, running
from support.service.clinic import FAST, SECRET_NAMES, write_clinic
from support.service.hosting import released
from support.service.pages import browser
from support.service.server import Served, served
from tacit.accounting import create_ledger, epsilon
from tacit.errors import UsageError
from tacit.service.access import Grant
from tacit.service.checkup import Finding, check_service
from tacit.service.demo import demo_link, write_demo
from tacit.service.folder import open_store
from tacit.service.settings import Settings
from tacit.service.tokens import Tokens

HOME = "url = 'https://statistics.example'\n"
WHOLE = """
title = "The clinic"
database = "kept.db"
url = "https://statistics.example"
trusted_proxies = ["10.0.0.1", "10.1.0.0/16"]
latency = 1.5
approval = true
session_hours = 4
[caps]
each_analyst = { epsilon = "1/2" }
[limits]
body_bytes = 5000
[login]
issuer = "https://login.example/realm"
client_id = "tacit"
secret_file = "login.secret"
[login.grants]
stats-curators = { role = "curator", dataset = "*" }
doctors = [{ role = "analyst", dataset = "visits" }, { role = "reviewer", dataset = "births" }]
[datasets.visits]
approval = false
people = "patients of the clinic"
caps = { each_team = { epsilon = 1 }, analysts = { ada = { epsilon = "0.1" } } }
"""


def settings(folder: Path, text: str) -> Settings:
    (folder / "service.toml").write_text(text)
    return Settings.load(folder)


def test_nothing_said(tmp_path: Path) -> None:
    result = Settings.load(tmp_path)
    assert result.database == f"sqlite:///{tmp_path}/service.db"
    assert result.dataset("visits").latency == 2
    assert not result.dataset("visits").approval
    assert result.dataset("visits").collusion == "everyone"
    assert not result.secure


def test_everything_said(tmp_path: Path) -> None:
    result = settings(tmp_path, WHOLE)
    assert (result.title, result.secure, result.limits.body_bytes) == ("The clinic", True, 5000)
    assert result.database == f"sqlite:///{tmp_path}/kept.db"
    visits, other = result.dataset("visits"), result.dataset("births")
    assert (visits.latency, visits.approval, other.approval) == (Fraction(3, 2), False, True)
    assert visits.caps.each_team == epsilon(1)
    assert visits.caps.analysts == {"ada": epsilon("1/10")}
    assert other.caps.each_analyst == epsilon("1/2")
    assert result.login is not None
    assert result.login.grants["doctors"] == (
        Grant("analyst", "visits"),
        Grant("reviewer", "births"),
    )
    assert result.login.secret_file == tmp_path / "login.secret"
    assert result.login.name_claim == "sub"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("titel = 'x'", "did you mean 'title'"),
        ("latency = 0", "latency of the service"),
        ("latency = 'inf'", "latency"),
        ("latency = 7200", "latency"),
        ("approval = 'yes'", "true or false"),
        ("collusion = 'none'", "everyone, teams apart"),
        ("url = 'statistics.example'", "https://statistics.example"),
        ("url = 'https://a.example/x'", "https://statistics.example"),
        ("url = 'https://ann@a.example'", "https://statistics.example"),
        ("trusted_proxies = ['all']", "trusted_proxies"),
        ("trusted_proxies = '10.0.0.1'", "list"),
        ("caps = { each = { epsilon = 1 } }", "did you mean"),
        ("caps = { each_team = 1 }", "table of fields"),
        ("caps = { each_team = {} }", "is a privacy loss"),
        ("limits = { body_bytes = 0 }", "whole number"),
        ("limits = { body_byte = 1 }", "did you mean 'body_bytes'"),
        (f"{HOME}login = {{ issuer = 'https://a.example' }}", "needs client_id"),
        (f"{HOME}login = {{ issuer = 'x', client_id = 'y' }}", "issuer of login"),
        ("login = { issuer = 'https://a.example', client_id = 'y' }", "address of the service"),
        ("url = 'http://a.example'", "https://statistics.example"),
        ("datasets = { visits = { latncy = 1 } }", "did you mean 'latency'"),
        ("workers = true", "whole number"),
        ("title = '?'", "line of text"),
        ("database = 5", "text in quotes"),
    ],
)
def test_settings_that_are_none(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told) as caught:
        settings(tmp_path, text)
    assert "service.toml" in str(caught.value)


def test_there_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no folder"):
        Settings.load(tmp_path / "nothere")


# Two machines on one PostgreSQL: one key, one set of tokens, one budget.


SQL = "select site, count(*) as n from visits group by site"


def machine(folder: Path, dsn: str, like: Path | None = None) -> Path:
    """The folder of a machine; with the key of another one where that is named."""
    write_demo(folder)
    (folder / "service.toml").write_text(f"database = '{dsn}'\nlatency = '1/2'\n")
    ledger = f"{dsn}{'&' if '?' in dsn else '?'}ledger=visits"
    text = (folder / "visits.toml").read_text()
    (folder / "visits.toml").write_text(f"ledger = '{ledger}'\n{text}")
    if like is not None:
        shutil.copy(like / "service.key", folder)
    return folder


def answer(one: Served, token: str) -> Any:
    """What a release of one machine comes to."""
    with one.client(token) as client:
        body = {"sql": SQL, "epsilon": "1/2"}
        made = client.post("/v1/datasets/visits/releases", json=body)
        assert made.status_code == 202, made.text
        return client.get(f"/v1/releases/{made.json()['id']}?wait=30").json()


@pytest.fixture(scope="module")
def pair(
    postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Served, Served]]:
    """Two machines that run, on one database."""
    place = tmp_path_factory.mktemp("machines")
    postgres_server.start()
    with postgres_server.database() as database:
        dsn = database.dsn()
        first = machine(place / "first", dsn)
        open_store(Settings.load(first))[0].close()
        second = machine(place / "second", dsn, like=first)
        for folder in (first, second):
            (folder / "data").mkdir()
            (folder / "data" / "stays.csv").write_text("person,cost\n1,20\n2,30\n")
        with served(first) as one, served(second) as other:
            yield one, other


@pytest.mark.full
def test_two_machines_are_one_service(pair: tuple[Served, Served]) -> None:
    one, other = pair
    token = one.token("analyst", name="ada")
    assert httpx.get(f"{other.address}/v1/me", headers=bearer(token)).json()["name"] == "ada"
    here, there = answer(one, token), answer(other, token)
    assert here["state"] == there["state"] == "done"
    assert here["answer"] == there["answer"]  # one noise: the other replayed it
    assert there["replayed"]
    curator = other.token("curator")
    with one.client(curator) as client:
        (made,) = [t for t in client.get("/v1/tokens").json()["items"] if t["name"] == "ada"]
        assert client.delete(f"/v1/tokens/{made['id']}").json() == {"revoked": 1}
    assert httpx.get(f"{other.address}/v1/me", headers=bearer(token)).status_code == 401


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.full
def test_a_machine_with_another_key_does_not_start(postgres: Any, tmp_path: Path) -> None:
    first = machine(tmp_path / "first", postgres.dsn())
    open_store(Settings.load(first))[0].close()
    other = machine(tmp_path / "other", postgres.dsn())
    with pytest.raises(UsageError, match="another key") as caught:
        open_store(Settings.load(other))
    assert postgres.server.password not in str(caught.value)


@pytest.mark.full
def test_what_a_curator_declares_on_one_machine_every_machine_has(
    pair: tuple[Served, Served],
) -> None:
    one, other = pair
    columns = {"person": {"kind": "integer"}, "cost": {"kind": "float", "bounds": [0, 100]}}
    fields = {
        "unit": {"person": "person", "rows": 2},
        "budget": {"epsilon": 3},
        "tables": {"stays": {"path": "data/stays.csv", "columns": columns}},
    }
    with one.client(one.token("curator", name="cleo")) as here:
        sent = {"declaration": fields, "hosting": {"latency": 0.5}}
        assert here.put("/v1/datasets/stays", json=sent).status_code == 201
        with other.client(other.token("curator", name="carl")) as there:
            ask = {"sql": "select avg(cost) as cost from stays", "epsilon": 1}
            made = there.post("/v1/datasets/stays/releases", json=ask)
            assert made.status_code == 202, made.text
            result = there.get(f"/v1/releases/{made.json()['id']}?wait=30").json()
            assert result["state"] == "done"
            changed = {**sent, "declaration": {**fields, "purpose": "beds"}, "replaces": 1}
            assert there.put("/v1/datasets/stays", json=changed).status_code == 200
            assert there.put("/v1/datasets/stays", json=changed).status_code == 409
        seen = here.get("/v1/datasets/stays").json()
        assert (seen["purpose"], seen["spent"]["epsilon"]) == ("beds", "1")


# The demo of the service: whole at once, and its link opens the pages once.


def test_the_link_signs_in_for_everything(tmp_path: Path) -> None:
    write_demo(tmp_path)
    with running(tmp_path) as client:
        link = demo_link(client.state, "http://127.0.0.1:8000")
        reply = client.get(link)
        assert reply.status_code == 303
        cookie = reply.headers["set-cookie"].partition(";")[0]
        me = client.get("/v1/me", headers={"Cookie": cookie}).json()
        assert {"declare", "ask", "approve", "audit"} <= set(me["rights"])
        assert client.get(link).status_code == 401
        assert list(client.state.declared) == ["visits"]


def test_what_is_there_stays(tmp_path: Path) -> None:
    write_demo(tmp_path)
    (tmp_path / "visits.toml").write_text("mine")
    write_demo(tmp_path)
    assert (tmp_path / "visits.toml").read_text() == "mine"


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        write_demo(tmp_path / "file")


# No package that is installed here has a known weakness, where the advisories can be asked.


@pytest.mark.full
@needs("pip_audit", "make setup-engines")
def test_no_package_has_a_known_weakness() -> None:
    words = ["--format", "json", "--skip-editable", "--progress-spinner", "off", "--timeout", "20"]
    done = subprocess.run(
        [sys.executable, "-m", "pip_audit", *words], capture_output=True, text=True, timeout=600
    )
    if not done.stdout.startswith("{"):
        leave_out("the advisories of packages", "a network that reaches them")
    result = json.loads(done.stdout)["dependencies"]
    asked = [one for one in result if "skip_reason" not in one]
    if len(asked) < len(result) / 2:
        leave_out("the advisories of packages", "a network that reaches them")
    weak = {one["name"]: [w["id"] for w in one["vulns"]] for one in asked if one["vulns"]}
    assert weak == {}


# What a service replies of an answer is a function of what was released, and of no row.
#
# A clinic answers and is closed; a person is taken out of its table; it opens again.  Every reply,
# in every format, is the same, byte for byte: neither its numbers nor its length can depend on
# whoever is in the table.


ASKED = (
    {"sql": "select count(*) as n from visits", "epsilon": "1/2"},
    {"sql": "select site, avg(cost) as m from visits group by site", "epsilon": "1/2"},
    {"sql": "select median(cost) as m from visits", "epsilon": "1/2"},
)
ENDS = (
    *("", "/certificate", "/answer", "/answer?form=long"),
    *(
        f"/answer?format={name}&form={form}"
        for name in ("csv", "arrow", "parquet")
        for form in ("wide", "long")
    ),
    *(f"/answer?format={name}" for name in ("json-stat", "px", "csvw")),
    "/answer?format=sdmx-csv&structure=ME:S(1.0)",
)
"""What can be asked of a release."""


def replies(client: Client, token: str, names: list[str]) -> dict[str, bytes]:
    result = {
        f"{name}{end}": client.get(f"/v1/releases/{name}{end}", token=token)
        for name in names
        for end in ENDS
    }
    assert {reply.status_code for reply in result.values()} == {200}
    seen = {name: reply.content for name, reply in result.items()}
    ada = browser(client, "analyst", name="ada")
    return seen | {f"page {name}": ada.get(f"/releases/{name}").content for name in names}


@pytest.mark.full
def test_every_reply_of_an_answer_is_the_same_without_a_person(tmp_path: Path) -> None:
    folder = write_clinic(tmp_path, FAST)
    with running(folder) as client:
        ada = client.token("analyst", name="ada")
        names = [released(client, ada, ask)["id"] for ask in ASKED]
        before = replies(client, ada, names)
    table = folder / "visits.csv"
    rows = table.read_text().splitlines()
    left = [row for row in rows if not row.startswith(SECRET_NAMES)]
    assert len(left) == len(rows) - len(SECRET_NAMES)
    table.write_text("\n".join(left) + "\n")
    with running(folder) as client:
        after = replies(client, ada, names)
    assert len(before) == len(ASKED) * (len(ENDS) + 1)
    assert after == before


# ``tacit serve check``: what stops a service, and what weakens it.


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
    assert told in one.message


def test_settings_of_a_data_set_that_is_not_there_stop_it(folder: Path) -> None:
    (folder / "service.toml").write_text("[datasets.birth]\nlatency = 1")
    (one,) = found(folder, "stops")
    assert "'birth'" in one.message


def test_a_database_that_is_not_there_stops_it(folder: Path) -> None:
    (folder / "service.toml").write_text("database = 'postgresql://ann:secret@127.0.0.1:1/db'")
    pytest.importorskip("psycopg", reason="the client of PostgreSQL: make setup-engines")
    (one,) = found(folder, "stops")
    assert one.about == "database"
    assert "secret" not in one.message


def test_another_key_stops_it(folder: Path) -> None:
    check_service(Settings.load(folder))
    (folder / "service.key").write_text("00" * 32)
    (one,) = found(folder, "stops")
    assert "service.key" in one.message


@pytest.mark.skipif(os.name != "posix", reason="rights of files as POSIX has them")
def test_secrets_that_others_read_weaken_it(folder: Path) -> None:
    check_service(Settings.load(folder))
    (folder / "service.key").chmod(0o644)
    (folder / "visits.toml").chmod(0o666)
    said = {one.about: one.remedy for one in found(folder, "weakens")}
    assert said[str(folder / "service.key")].startswith("chmod 600")
    assert said[str(folder / "visits.toml")].startswith("chmod go-w")


def test_a_refresh_that_is_no_schedule_stops_it(folder: Path) -> None:
    (folder / "service.toml").write_text("[datasets.visits]\nrefresh = 'daily 25:00'")
    (one,) = found(folder, "stops")
    assert "'daily 25:00' is not a schedule" in one.message


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
    assert "3600 s" in said[0].message
    said = [one for one in check_service(settings, lambda: 2e9) if one.about == "clock"]
    assert [one.level for one in said] == ["good"]


def test_a_ledger_that_is_gone_or_another_one_stops_it(folder: Path) -> None:
    with running(folder) as client:
        client.state.datasets.ledgers.of("visits")
    assert found(folder, "stops") == []
    (folder / "visits.ledger").rename(folder / "elsewhere")
    (one,) = found(folder, "stops")
    assert "gone" in one.message
    create_ledger(folder / "visits.ledger", dataset="other", budget=epsilon(5)).close()
    (one,) = found(folder, "stops")
    assert "another one" in one.message


def test_a_budget_that_was_raised_is_no_fault(folder: Path) -> None:
    with running(folder) as client:
        client.state.datasets.ledgers.of("visits").extend(epsilon(7), "a second year")
    assert found(folder, "stops") == []
    assert "data set 'visits'" in [one.about for one in found(folder, "good")]


def test_data_sets_of_the_same_people_and_teams_apart(folder: Path) -> None:
    text = (folder / "visits.toml").read_text()
    (folder / "again.toml").write_text(text.replace('"visits"', '"again"', 1))
    (one,) = found(folder, "stops")
    assert "people" in one.message
    (folder / "service.toml").write_text("people = 'those of the experiment'")
    assert found(folder, "stops") == []
    (folder / "service.toml").write_text("people = 'those'\ncollusion = 'teams apart'")
    assert [one.message for one in found(folder, "weakens") if "separate" in one.message]


def test_a_large_budget_weakens_it(folder: Path) -> None:
    place = folder / "visits.toml"
    place.write_text(place.read_text().replace("epsilon = 5", "epsilon = 50"))
    assert "data set 'visits'" in [one.about for one in found(folder, "weakens")]


def test_a_folder_without_data_sets(tmp_path: Path) -> None:
    assert "data sets" in [one.about for one in found(tmp_path, "weakens")]
