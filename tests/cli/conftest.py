"""A terminal for the tests: a folder with small tables, and ``tacit`` typed in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tacit.cli import run

ROWS = 600


@dataclass(frozen=True)
class Done:
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with ``people.csv``: one row each, and people of two rows each."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    lines = ["person,age,pay,site,sex,day"]
    for row in range(ROWS):
        site = "abc"[row % 3]
        sex = "f" if row % 2 else "m"
        lines.append(f"p{row // 2},{18 + row % 60},{100 * (row % 10)},{site},{sex},2024-01-02")
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


@pytest.fixture
def tacit(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Type a command: ``tacit("release people.csv --one-row-each --count --epsilon 1")``."""

    def typed(*words: str) -> Done:
        given = words[0].split() if len(words) == 1 else list(words)
        capsys.readouterr()
        code = run(given)
        printed = capsys.readouterr()
        return Done(code, printed.out, printed.err)

    return typed


ODD_PLAN = """
unit = "row"
[source]
path = "odd.csv"
delimiter = ";"
header = ["age", "day"]
null = ["-"]
types = { day = "date" }
date_format = "%d.%m.%Y"
encoding = "latin-1"

[[question]]
answers = { n = { statistic = "count" } }
where = "day >= '2024-01-01'"
epsilon = 100000
"""


@pytest.fixture
def odd(folder: Path) -> Path:
    """A CSV file and its plan where nothing is as by default."""
    text = "31;01.02.2024\n-;01.02.2024\nforty;03.02.2024\n50;31.12.2023\n\xe9;x\n"
    (folder / "odd.csv").write_bytes(text.encode("latin-1"))
    (folder / "plan.toml").write_text(ODD_PLAN)
    return folder
