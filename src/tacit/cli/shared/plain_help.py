"""What stands behind a flag in ``--help``: a word that a person reads, and no type of Python."""

from __future__ import annotations

from typing import Any

__all__ = ["plain"]

_WORDS = {"<int>": "NUMBER", "<float>": "NUMBER"}


def plain(command: Any, context: Any) -> Any:
    """Return a command, or a group with all of its commands, with the help in plain words.

    A flag that takes no value has nothing behind it, and an argument has its own name alone.

    Args:
        command: it is changed.
        context: of the call, which knows how help is asked for.
    """
    for parameter in (*command.params, command.get_help_option(context)):
        if parameter.param_type_name == "argument" or parameter.is_flag:
            parameter.display_type_rich = _Word(None)
        elif parameter.metavar is None:
            parameter.display_type_rich = _Word(_WORDS.get(parameter.display_type(context), "TEXT"))
    for part in getattr(command, "commands", {}).values():
        plain(part, context)
    return command


class _Word:
    """Says one word, whoever asks."""

    def __init__(self, word: str | None) -> None:
        self._word = word

    def __call__(self, ctx: Any) -> str | None:
        return self._word
