"""Commands that ask a service: what they refuse before anything is sent, and what they print."""

from __future__ import annotations

import json
import re

import pytest

from support.clinic import make_clinic
from support.service.server import served
from tacit.cli.release.job import refuse_alone
from tacit.cli.shared.options import ServerOptions
from tacit.errors import UsageError

ASKED = ["sql", "visits", "select count(*) as n from visits", "--epsilon", "1"]


def test_a_token_without_a_service_is_refused(tacit):
    with pytest.raises(UsageError, match="--server"):
        refuse_alone(ServerOptions(token_file="token"))
    refuse_alone(ServerOptions())
    done = tacit("ledger", "show", "visits", "--token-file", "token")
    assert (done.code, "--server" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--server", "http://statistics.example"], "unencrypted"),
        (["--server", "https://statistics.example"], "TACIT_TOKEN"),
        (["--server", "https://statistics.example", "--ledger", "a.ledger"], "declares the ledger"),
        (["--server", "https://statistics.example", "--person", "id", "--rows", "2"], "the unit"),
        (["--server", "https://statistics.example", "--token-file", "none"], "cannot be read"),
    ],
)
def test_what_a_service_says_itself_or_what_is_unsafe_is_refused(tacit, monkeypatch, more, told):
    monkeypatch.delenv("TACIT_TOKEN", raising=False)
    done = tacit(*ASKED, *more)
    assert (done.code, told in done.err) == (2, True), done.err


SQL = "select site, count(*) as n from visits group by site order by n desc limit 2"


@pytest.fixture
def here(tmp_path):
    folder = tmp_path / "clinic"
    folder.mkdir()
    make_clinic(folder)
    (folder / "service.toml").write_text(
        "latency = 0.5\ncaps = { each_analyst = { epsilon = 40 } }\n"
    )
    with served(folder) as running:
        yield running


@pytest.mark.full
def test_a_service_is_asked_as_a_table_of_ones_own(here, tacit, tmp_path, monkeypatch):
    token = tmp_path / "token"
    token.write_text(here.token("analyst", dataset="visits", name="ada"))
    token.chmod(0o600)
    server = ["--server", here.address, "--token-file", str(token)]
    price = ["--epsilon", "1/16"]
    shown = tacit("sql", "visits", SQL, *price, "--preview", *server)
    assert shown.code == 0, shown.err
    assert "costs epsilon 0.0625" in shown.out
    asked = tacit("sql", "visits", SQL, *price, *server, "--json")
    assert asked.code == 0, asked.err
    said = json.loads(asked.out)
    assert len(said["releases"][0]["answers"]) == 2
    flags = ["release", "visits", "--count", "--mean", "cost", "--by", "site", *price, *server]
    done = tacit(*flags, "--certificate", str(tmp_path / "a.json"))
    assert done.code == 0, done.err
    assert f"(at {here.address})" in done.err
    assert tacit("verify", str(tmp_path / "a.json")).code == 0
    assert "the same answer again, free" in tacit(*flags).err
    monkeypatch.setenv("TACIT_TOKEN", token.read_text())
    told = tacit("ledger", "show", "visits", "--server", here.address)
    assert told.code == 0, told.err
    assert re.search(r"Budget +epsilon 1,?000", told.out)
    assert "done" in told.out
    assert json.loads(tacit("ledger", "show", "visits", "--server", here.address, "--json").out)
    assert tacit("release", "visits", "--count", "--free", *server).code == 2
    free = tacit("release", "visits", "--count", "--by", "site", "--free", *server)
    assert (free.code, "follows from earlier releases, free" in free.err) == (0, True)
    far = tacit("sql", "visits", SQL, "--epsilon", "41", "--yes", *server)
    assert far.code == 1
    assert tacit("sql", "nothing", SQL, *price, *server).code == 1
