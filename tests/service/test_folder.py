"""The folder of a service: its data sets, its key, its database."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.threads import at_once
from tacit.errors import UsageError
from tacit.service.folder import KEY_FILE, declarations, key_digest, open_store, signing_key
from tacit.service.settings import Settings

VISITS = (
    'name = "visits"\nunit = "row"\nbudget = { epsilon = 1 }\n[tables.visits]\npath = "v.csv"\n'
)


def test_data_sets_are_found(tmp_path: Path) -> None:
    (tmp_path / "visits.toml").write_text(VISITS)
    (tmp_path / "service.toml").write_text("[datasets.visits]\nlatency = 1")
    result = declarations(Settings.load(tmp_path))
    assert list(result) == ["visits"]


@pytest.mark.parametrize("name", ["visits", "VISITS", "ｖisits"])
def test_two_of_one_name_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "visits.toml").write_text(VISITS)
    (tmp_path / "again.toml").write_text(VISITS.replace('"visits"', f'"{name}"', 1))
    with pytest.raises(UsageError, match="one name"):
        declarations(Settings.load(tmp_path))


def test_a_draft_is_not_served(tmp_path: Path) -> None:
    (tmp_path / "visits.toml").write_text(VISITS.replace('"row"', '"?"'))
    with pytest.raises(UsageError, match=r"visits\.toml: 'visits' is not finished: decide unit"):
        declarations(Settings.load(tmp_path))
    assert list(declarations(Settings.load(tmp_path), drafts=True)) == ["visits"]


def test_settings_of_a_data_set_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "service.toml").write_text("[datasets.visit]\nlatency = 1")
    with pytest.raises(UsageError, match="'visit'"):
        declarations(Settings.load(tmp_path))


def test_the_key_is_made_once(tmp_path: Path) -> None:
    result: list[bytes] = []
    at_once(lambda: result.append(signing_key(tmp_path)), times=8)
    assert len(result) == 8
    assert len(set(result)) == 1
    assert len(result[0]) == 32
    assert (tmp_path / KEY_FILE).stat().st_mode & 0o077 == 0
    assert [path.name for path in tmp_path.iterdir()] == [KEY_FILE]
    assert key_digest(result[0]) != key_digest(bytes(32))


@pytest.mark.parametrize("text", ["", "00", "zz" * 32, "00" * 31, "\x00" * 64])
def test_a_key_that_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / KEY_FILE).write_text(text)
    with pytest.raises(UsageError, match="is not a key"):
        signing_key(tmp_path)


@pytest.mark.skipif(os.name != "posix", reason="rights of files as POSIX has them")
def test_a_key_that_is_missing_is_not_made_by_who_only_reads(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        signing_key(tmp_path, create=False)


def test_the_database_knows_its_key(tmp_path: Path) -> None:
    database, key = open_store(Settings.load(tmp_path))
    assert database.reachable()
    database.close()
    open_store(Settings.load(tmp_path))[0].close()
    (tmp_path / KEY_FILE).write_text("00" * 32)
    assert key != bytes(32)
    with pytest.raises(UsageError, match="copy its"):
        open_store(Settings.load(tmp_path))
