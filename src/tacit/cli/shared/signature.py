"""Commands whose flags are the fields of dataclasses."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable
from typing import Annotated, Any, get_origin, get_type_hints

import typer

__all__ = ["dressed", "flag", "options"]


def flag(*names: str, help: str, panel: str, metavar: str | None = None) -> Any:
    """Return a flag of a command, in a panel of its help."""
    return typer.Option(*names, help=help, rich_help_panel=panel, metavar=metavar)


def options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command whose parameters are dataclasses of options their fields as flags."""
    hints = get_type_hints(command)
    groups: dict[str, Any] = {n: h for n, h in hints.items() if dataclasses.is_dataclass(h)}
    flags = {name: _flags_of(group) for name, group in groups.items()}
    own = {flag for group in flags.values() for flag in group}

    def gathered(**given: Any) -> None:
        more = {name: value for name, value in given.items() if name not in own}
        made = {}
        for name, group in groups.items():
            values: dict[str, Any] = {flag: given[flag] for flag in flags[name]}
            rest = {"kinds": more} if "kinds" in group.__dataclass_fields__ else {}
            made[name] = group(**values, **rest)
        command(**made)

    parameters = [parameter for group in flags.values() for parameter in group.values()]
    return dressed(gathered, command, parameters)


def dressed(
    function: Callable[..., None], like: Callable[..., None], flags: Iterable[inspect.Parameter]
) -> Callable[..., None]:
    """Give a function the name and the words of another, and a signature of flags."""
    signature = inspect.Signature(list(flags))
    function.__name__, function.__doc__ = like.__name__, like.__doc__
    function.__signature__ = signature  # type: ignore[attr-defined]
    function.__annotations__ = {n: p.annotation for n, p in signature.parameters.items()}
    return function


def _flags_of(group: Any) -> dict[str, inspect.Parameter]:
    """Return the flags that a group of options is made of."""
    hints = get_type_hints(group, include_extras=True)
    return {
        field.name: inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty
            if field.default is dataclasses.MISSING
            else field.default,
            annotation=hints[field.name],
        )
        for field in dataclasses.fields(group)
        if get_origin(hints[field.name]) is Annotated
    }
