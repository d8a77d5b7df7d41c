"""Every command and every flag stands on the page of the command line, and explains itself."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer

from tacit.cli.app import app

PAGE = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")


def commands(group: Any, before: str) -> dict[str, Any]:
    """Every command by its full name, but the earlier names of some, which are not shown."""
    found: dict[str, Any] = {}
    for name, command in group.commands.items():
        if command.hidden:
            continue
        full = f"{before} {name}"
        if name in getattr(group, "asking", ()):
            command = group.whole(name)  # with the flags of the kinds of answers
        found |= commands(command, full) if hasattr(command, "commands") else {full: command}
    return found


COMMANDS = commands(typer.main.get_command(app), "tacit")


def test_the_commands_are_known() -> None:
    assert {"tacit demo", "tacit release", "tacit ledger show"} <= set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_command_is_documented(name: str) -> None:
    assert f"`{name}`" in PAGE or f"## `{name}`" in PAGE
    assert f"$ {name}" in PAGE, "no example that runs"


@pytest.mark.few(9)
@pytest.mark.parametrize("name", COMMANDS)
def test_command_explains_itself(name: str, tacit) -> None:
    done = tacit(*name.split()[1:], "--help")
    assert done.code == 0
    text = COMMANDS[name].help or ""
    assert f"[bold]{name} " in text or name == "tacit demo", "its help has no example"
    assert all(getattr(p, "help", "x") for p in COMMANDS[name].params)


def test_flags_are_documented() -> None:
    flags = {
        flag
        for command in COMMANDS.values()
        for parameter in command.params
        for flag in parameter.opts
        if flag.startswith("--")
    } - {"--help"}
    assert {flag for flag in flags if not re.search(rf"{flag}\b", PAGE)} == set()


def test_what_is_documented_exists() -> None:
    named = set(re.findall(r"^## `(tacit [\w-]+)`$", PAGE, flags=re.MULTILINE))
    groups = {" ".join(name.split()[:2]) for name in COMMANDS}
    assert named == groups
