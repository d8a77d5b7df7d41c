"""The reference of every command: its help, its arguments and its flags, from the program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer.main
from rich.text import Text

from tacit.cli.app import app
from tacit.cli.shared.options import plain

__all__ = ["command_pages", "commands"]


def commands() -> dict[str, Any]:
    """Return every command that the help shows, by its full name."""
    return dict(_inside(typer.main.get_command(app), "tacit"))


def _inside(group: Any, before: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if command.hidden:
            continue
        full = f"{before} {name}"
        if name in getattr(group, "asking", ()):
            command = group.full_command(name)  # with the flags of the kinds of answers
        if hasattr(command, "commands"):
            yield from _inside(command, full)
        else:
            yield full, command


def command_pages() -> dict[str, str]:
    """Return the page of all commands, in reStructuredText."""
    title = "Commands and flags"
    about = (
        "What each command of ``tacit`` takes, as its ``--help`` says it. Examples that run, and "
        "what they print, are on :doc:`the page of the command line </command-line>`."
    )
    parts = [_described(name, command) for name, command in commands().items()]
    return {"reference/commands.rst": "\n".join([title, "=" * len(title), "", about, "", *parts])}


def _described(name: str, command: Any) -> str:
    context = typer.Context(command, info_name=name)
    plain(command, context)
    lines = [name, "-" * len(name), "", *_help(command.help or ""), ""]
    rows = [_row(parameter, context) for parameter in command.params if not _hidden(parameter)]
    if rows:
        lines += [".. list-table::", "   :widths: 30 70", ""]
        lines += [line for row in rows for line in row]
    return "\n".join([*lines, ""])


def _hidden(parameter: Any) -> bool:
    return bool(getattr(parameter, "hidden", False))


def _help(text: str) -> list[str]:
    """Return a help text as paragraphs; what it sets in bold is an example to type."""
    shown = Text.from_markup(text).plain.replace("\b", "").splitlines()
    lines = []
    for line in shown:
        example = line.strip().startswith("tacit ")
        lines.append(f"``{line.strip()}``\n" if example else line.strip())
    return lines


def _row(parameter: Any, context: Any) -> list[str]:
    """Return one line of the table: the flag with what stands behind it, and its help."""
    if parameter.param_type_name == "argument":
        name = parameter.metavar or parameter.name.upper()
    else:
        flags = ", ".join([*parameter.opts, *parameter.secondary_opts])
        name = f"{flags} {_behind(parameter, context)}".strip()
    text = Text.from_markup(getattr(parameter, "help", "") or "").plain
    if parameter.required:
        text = f"{text} (required)".strip()
    default = parameter.default
    if default not in (None, False, "", ()) and not callable(default):
        text += f" (default: {default})"
    return [f"   * - ``{name}``", f"     - {_escaped(text)}"]


def _behind(parameter: Any, context: Any) -> str:
    """Return the word that stands behind a flag; a flag that takes no value has none."""
    return parameter.metavar or parameter.display_type_rich(context) or ""


def _escaped(text: str) -> str:
    """Return a text in which nothing is a mark of reStructuredText."""
    return "".join(f"\\{sign}" if sign in "*`|_\\" else sign for sign in text)
