"""All commands under one name."""

from __future__ import annotations

from typing import Annotated, ClassVar

import typer

from tacit.cli.local.commands import local_app
from tacit.cli.release.check import check
from tacit.cli.release.count_over_time import count_over_time
from tacit.cli.release.demo import demo
from tacit.cli.release.init import init
from tacit.cli.release.ledger import ledger_app
from tacit.cli.release.preview import preview
from tacit.cli.release.release import release
from tacit.cli.release.sql import sql
from tacit.cli.release.verify import verify
from tacit.cli.sensitivity.choose_epsilon import choose_epsilon
from tacit.cli.sensitivity.sensitivity import sensitivity
from tacit.cli.shared.kind_flags import AskingGroup

__all__ = ["app"]


class _Commands(AskingGroup):
    """All commands; a release and its preview ask kinds of answers."""

    asking: ClassVar = {"release": release, "preview": preview}


app = typer.Typer(
    name="tacit",
    cls=_Commands,
    help="Statistics that speak for everyone and give nobody away.",
    epilog="Each command explains itself: tacit release --help",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        import tacit

        print(f"tacit {tacit.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Statistics that speak for everyone and give nobody away."""


app.command()(demo)
app.command()(release)
app.command()(preview)
app.command()(sql)
app.command()(init)
app.command()(check)
app.command(name="count-over-time")(count_over_time)
app.add_typer(ledger_app, name="ledger")
app.command()(verify)
app.command()(sensitivity)
app.command(name="choose-epsilon")(choose_epsilon)
app.add_typer(local_app, name="local")
