"""``tacit registry``: an entry of the registry of deployments, and what is missing in it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.odd_values import COMMANDS
from tacit.report.registry import ASKED

RELEASE = "release people.csv --one-row-each --count --epsilon 0.5 --certificate c.json"
WHOLE = [
    word
    for asked in ASKED
    if asked.tier
    for word in (asked.flag, asked.choices[0][0] if asked.choices else f"({asked.name})")
]


def test_what_is_missing_is_listed_and_the_exit_code_says_so(tacit, folder: Path) -> None:
    tacit(RELEASE)
    done = tacit("registry c.json --name Ages --out ages.yaml")
    assert done.code == 1
    assert "13 missing" in done.err
    assert "--intended-use: What it is for" in done.err
    assert 'name: "Ages"' in (folder / "ages.yaml").read_text()
    whole = tacit("registry", "c.json", *WHOLE, "--json")
    assert whole.code == 0
    assert whole.json["missing"] == []
    assert whole.json["entry"]["deployment"]["privacy_loss"]["privacy_parameters"] == {
        "epsilon": 0.5
    }


@pytest.mark.full
def test_wrong_answers_and_files_are_refused(tacit, folder: Path) -> None:
    tacit(RELEASE)
    assert tacit("registry c.json --out ages.txt").code == 2
    assert "one or many" in tacit("registry c.json --releases two").err
    assert tacit("registry none.json").code == 2
    text = (folder / "c.json").read_text().replace('"epsilon": "1/2"', '"epsilon": "1/4"')
    (folder / "c.json").write_text(text)
    done = tacit("registry c.json")
    assert (done.code, done.out) == (1, "")


def test_on_a_terminal_what_is_missing_is_asked(tacit, folder: Path, monkeypatch) -> None:
    tacit(RELEASE)
    for stream in (sys.stdin, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    answers = iter(["Ages", "Ada; Bob", "use", "", "Health", "Me", "two", "one", *["static"] * 9])
    monkeypatch.setattr("typer.prompt", lambda *said, **how: next(answers))
    done = tacit("registry c.json --access interactive --out ages.yaml")
    assert "releases is one or many, not 'two'" in done.err
    assert "1 missing" in done.err
    assert "--region" in done.err
    assert '- "Bob"' in (folder / "ages.yaml").read_text()
    assert done.code == 1


@pytest.mark.full
def test_every_question_is_a_flag_with_words(tacit) -> None:
    text = tacit("registry --help").out
    assert all(asked.flag in text for asked in ASKED)
    assert "registry" in COMMANDS
