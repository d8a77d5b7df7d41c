"""A flag for each kind of answer, made from the kinds themselves.

They are loaded when a command that has such flags is run or asked for its help, and not before:
``tacit --help`` needs none of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer
from typer.core import TyperGroup

from tacit.cli.shared.options import ASKED, Texts
from tacit.cli.shared.signature import dressed

if TYPE_CHECKING:
    from tacit.tables.answers.aggregate import Kind

__all__ = ["AskingGroup", "example", "flag_of", "form", "with_kinds"]

_FIELDS: dict[str, tuple[str, str, str]] = {
    "column": ("column", "COL", "age"),
    "q": ("q", "Q", "90"),
    "percentages": ("q,q,...", "Q,Q,...", "25,50,75"),
    "lower": ("lower", "LOW", "0"),
    "upper": ("upper", "HIGH", "100"),
    "edges": ("edge,edge,...", "E0,E1,...", "0,18,65,100"),
    "k": ("k", "K", "3"),
    "keys": ("key,key,...", "KEY,KEY,...", "18,40,65,99"),
    "x": ("x:lower:upper", "X:LOW:HIGH", "age:0:100"),
    "y": ("y:lower:upper", "Y:LOW:HIGH", "pay:0:1000"),
}
"""How a field is written behind a flag: in an error, in the help, and as an example."""


def _joined(fields: tuple[str, ...], way: int) -> str:
    """Join fields by colons; of several columns each has its bounds, and they stand by commas."""
    if "bounds" in fields:
        return ",".join(_FIELDS[field][way] for field in fields if field != "bounds")
    return ":".join(_FIELDS[field][way] for field in fields)


def form(fields: tuple[str, ...]) -> str:
    """Say how fields are written behind a flag.

    >>> form(("column", "lower", "upper"))
    'column:lower:upper'
    """
    return _joined(fields, 0)


def example(fields: tuple[str, ...]) -> str:
    """Return what could stand behind a flag.

    >>> example(("column", "q", "lower", "upper"))
    'age:90:0:100'
    """
    return _joined(fields, 2)


def flag_of(kind: Kind) -> str:
    """Return the flag of a kind."""
    return f"--{kind.name.replace('_', '-')}"


def with_kinds(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with a flag for each kind of answer, before ``--method``."""
    from tacit.tables.answers.aggregate import kinds

    def asking(**given: Any) -> None:
        command(**given)

    flags = list(inspect.signature(command).parameters.values())
    place = [flag.name for flag in flags].index("method")
    return dressed(asking, command, [*flags[:place], *map(_parameter, kinds()), *flags[place:]])


def _parameter(kind: Kind) -> inspect.Parameter:
    metavar = _joined(kind.fields, 1) or None
    option = typer.Option(flag_of(kind), help=kind.help, rich_help_panel=ASKED, metavar=metavar)
    return inspect.Parameter(
        kind.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None if kind.fields else False,
        annotation=Annotated[Texts if kind.fields else bool, option],
    )


class AskingGroup(TyperGroup):
    """Commands of which some get more flags when they are run or asked for their help.

    Attributes:
        asking: of those, by name, what returns the command with all of its flags.
    """

    asking: ClassVar[Mapping[str, Callable[[], Callable[..., None]]]] = {}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is run, with all of its flags."""
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None and name in self.asking:
            command = self.whole(name)
        return name, command, rest

    @classmethod
    def whole(cls, name: str) -> Any:
        """Return one of the commands with all of its flags."""
        alone = typer.Typer(
            add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich"
        )
        alone.command(name=name)(cls.asking[name]())
        return typer.main.get_command(alone)
