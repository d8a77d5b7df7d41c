"""The settings of a service."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from tacit.accounting import epsilon
from tacit.errors import UsageError
from tacit.service.access import Grant
from tacit.service.settings import Settings

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
    found = Settings.load(tmp_path)
    assert found.database == f"sqlite:///{tmp_path}/service.db"
    assert found.dataset("visits").latency == 2
    assert not found.dataset("visits").approval
    assert found.dataset("visits").collusion == "everyone"
    assert not found.secure


def test_everything_said(tmp_path: Path) -> None:
    found = settings(tmp_path, WHOLE)
    assert (found.title, found.secure, found.limits.body_bytes) == ("The clinic", True, 5000)
    assert found.database == f"sqlite:///{tmp_path}/kept.db"
    visits, other = found.dataset("visits"), found.dataset("births")
    assert (visits.latency, visits.approval, other.approval) == (Fraction(3, 2), False, True)
    assert visits.caps.each_team == epsilon(1)
    assert visits.caps.analysts == {"ada": epsilon("1/10")}
    assert other.caps.each_analyst == epsilon("1/2")
    assert found.login is not None
    assert found.login.grants["doctors"] == (
        Grant("analyst", "visits"),
        Grant("reviewer", "births"),
    )
    assert found.login.secret_file == tmp_path / "login.secret"
    assert found.login.name_claim == "sub"


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
        (f"{HOME}login = {{ issuer = 'https://a.example' }}", "lacks client_id"),
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
