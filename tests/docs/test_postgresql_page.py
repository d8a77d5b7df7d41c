"""The examples of the page on tables in PostgreSQL, run against a server where there is one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "postgresql.md"
ADDRESS = "postgresql://reader@db.example/clinic"


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language on the page."""
    text = PAGE.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\b[^\n]*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_page_s_statements_and_snippets_run(postgres, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    reader = postgres.server.role("reader")
    (granted,) = blocks("sql")
    create, *grants = granted.strip().split("\n")
    assert create == f"CREATE ROLE {reader} LOGIN;"  # which the tests' server has
    postgres.run(
        "create schema care",
        "create table care.visits as select i / 3 as patient, i % 7 as visits, "
        "case when i % 2 = 0 then 'north' else 'south' end as ward from generate_series(1, 90) i",
        *grants,
    )
    names: dict[str, object] = {}
    python = blocks("python")
    for block in python:
        assert ADDRESS in block
        exec(compile(block.replace(ADDRESS, postgres.dsn(reader)), str(PAGE), "exec"), names)
    assert len(python) == 2
    assert "north" in capsys.readouterr().out


@pytest.mark.parametrize("option", ["timeout", "memory_limit", "threads"])
def test_the_page_names_every_option_of_the_engine(option):
    assert f"`{option}=" in PAGE.read_text(encoding="utf-8")
