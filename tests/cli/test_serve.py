"""``tacit serve``: what it refuses, and its check."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.service.demo import write_demo


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("serve", "tacit serve FOLDER"),
        ("serve a b", "tacit serve FOLDER"),
        ("serve check", "there is no folder 'check'"),
        ("serve nothere", "there is no folder"),
        ("serve . --host 0.0.0.0", "plain text"),
        ("serve . --tls-certificate people.csv", "go together"),
        ("serve . --tls-certificate a.pem --tls-key b.pem", "there is no file"),
        ("serve . --port 0", "port"),
        ("serve . --workers 0", "workers"),
    ],
)
def test_what_is_refused(words: str, told: str, tacit) -> None:
    done = tacit(words)
    assert done.code == 2
    assert told in done.err


def test_a_declaration_that_cannot_be_read_stops_it(folder: Path, tacit) -> None:
    (folder / "visits.toml").write_text("name = 5")
    done = tacit("serve .")
    assert done.code == 2
    assert "visits.toml" in done.err


def test_check(folder: Path, tacit) -> None:
    write_demo(folder)
    done = tacit("serve check .")
    assert done.code == 0
    assert "visits" in done.out
    assert {one["level"] for one in tacit("serve check . --json").json} == {"good", "weakens"}
    (folder / "visits.toml").write_text('name = "visits"\nunit = "?"\n[tables.v]\npath = "v.csv"\n')
    done = tacit("serve check .")
    assert done.code == 1
    assert "STOPS" in done.out
