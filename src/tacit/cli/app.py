"""All commands under one name."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from functools import cache, partial
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from typing import Annotated, Any, ClassVar

import typer

from tacit.cli.audit import audit_app
from tacit.cli.local import local_app
from tacit.cli.release.count_over_time import count_over_time
from tacit.cli.release.files import check, demo, init
from tacit.cli.release.ledger import ledger_app
from tacit.cli.release.release import preview, release, sql, together
from tacit.cli.release.verify import registry, verify, with_questions
from tacit.cli.sensitivity import choose_epsilon, sensitivity
from tacit.cli.service import serve, token_app
from tacit.cli.shared.options import AskingGroup, plain, with_kinds
from tacit.errors import UsageError

# The error of typer for a wrong command or flag; it has no public name there.
_Mistyped: type[Any] = typer.BadParameter.__mro__[1]


# What other programs call a flag.
_ELSEWHERE = {
    "--average": ("--mean",),
    "--avg": ("--mean",),
    "--distinct": ("--count-distinct",),
    "--filter": ("--where",),
    "--group": ("--by",),
    "--group-by": ("--by",),
    "--groupby": ("--by",),
    "--nrows": ("--rows",),
    "--out": ("--certificate", "--csv", "--json"),
    "--output": ("--certificate", "--csv", "--json"),
    "--quantile": ("--percentile",),
    "--sep": ("--delimiter",),
    "--separator": ("--delimiter",),
    "--unit": ("--person", "--one-row-each"),
    "--user": ("--person",),
    "--variance": ("--var",),
}


def _nearest(typed: str, command: Any) -> list[str]:
    """Return the flags of a command that are meant by one that it does not have."""
    known = [name for p in command.params for name in getattr(p, "opts", ()) if name[:2] == "--"]
    meant = [name for name in _ELSEWHERE.get(typed, ()) if name in known]
    if meant:
        return meant
    word = typed.strip("-")
    parts = {name: name.strip("-").split("-") for name in known}
    by_word = [name for name in known if word in parts[name] or name.startswith(typed)]
    return (len(word) > 2 and by_word) or get_close_matches(typed, known)


def _refuse_missing_value(command: Any, args: list[str]) -> None:
    """Raise if a flag that takes a value is followed by another flag instead."""
    # The library takes that one for the value, and what follows it for an argument too many.
    if args and args[0] in getattr(command, "commands", {}):
        _refuse_missing_value(command.commands[args[0]], args[1:])
        return
    flags = [p for p in command.params if p.param_type_name == "option"]
    names = {name for flag in flags for name in (*flag.opts, *flag.secondary_opts)}
    valued = {name for flag in flags if not flag.is_flag for name in flag.opts}
    given = args[: args.index("--")] if "--" in args else args
    for flag, following in itertools.pairwise(given):
        if flag in valued and following.partition("=")[0] in names:
            raise UsageError(
                f"{flag} takes a value, and {following} follows it: write the value in between, "
                f"or {flag}={following} if that is the value"
            )


_COMMAND = "tacit.command"  # where the context of all commands has the name of the one that runs
_PLAINER = {  # words of the library that reads a value
    "Input should be a valid integer, unable to parse string as an integer": (
        "write a whole number, such as 5"
    ),
    "Input should be a valid number, unable to parse string as a number": (
        "write a number, such as 0.5"
    ),
}


@contextmanager
def _plainly(context: Any = None) -> Iterator[None]:
    """Turn errors of typer into errors of Tacit; a context knows which command was typed."""
    try:
        yield
    except _Mistyped as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # it prints the help
            raise
        typed = [] if context is None else context.meta.get(_COMMAND, [])
        command = error.ctx.command_path if error.ctx is not None else " ".join(["tacit", *typed])
        if getattr(error, "possibilities", None) is not None and error.ctx is not None:
            error.possibilities = _nearest(error.option_name, error.ctx.command)
        message = error.format_message().rstrip(".")
        for words, plainer in _PLAINER.items():
            message = message.replace(words, plainer)
        if "unexpected extra argument" in message:
            message += (
                ": several values of a flag are joined without spaces, --keys other,black or "
                "--mean age:0:100, and one with spaces is written in quotes"
            )
        end = "" if message.endswith("?") else "."
        raise UsageError(f"{message}{end} See {command} --help") from None


class _Commands(AskingGroup):
    """All commands; some get flags from the kinds of answers, or from a list of questions."""

    asking: ClassVar = {
        "release": partial(with_kinds, release),
        "preview": partial(with_kinds, preview),
        "registry": with_questions,
    }

    def make_context(self, *given: Any, **more: Any) -> Any:
        """Read the flags before the command; a wrong flag is a plain error."""
        with _plainly():
            return super().make_context(*given, **more)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was typed; a wrong flag is a plain error."""
        with _plainly(ctx):
            return super().invoke(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is run, whose help has no type of Python."""
        name, command, rest = super().resolve_command(ctx, args)
        _refuse_missing_value(command, rest)
        ctx.meta[_COMMAND] = [name]
        return name, plain(command, ctx), rest

    def format_help(self, ctx: Any, formatter: Any) -> None:
        plain(self, ctx)
        super().format_help(ctx, formatter)


app = typer.Typer(
    name="tacit",
    cls=_Commands,
    help="Statistics that speak for everyone and give nobody away.",
    epilog="Each command explains itself: tacit release --help",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        import tacit
        from tacit.report import versions

        print(f"tacit {tacit.__version__}")
        rest = {**versions(), **_engines()}
        del rest["tacit"]
        print(", ".join(f"{n} {text.removeprefix('OpenSSL ')}" for n, text in rest.items()))
        raise typer.Exit


def _engines() -> dict[str, str]:
    """Return the versions of the drivers and readers that are installed, for a bug report."""
    versions = {}
    for package in ("pyarrow", "pandas", "polars", "psycopg", "pyspark", "sqlglot"):
        with suppress(PackageNotFoundError):
            versions[package] = installed_version(package)
    return versions


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the versions.")
    ] = False,
) -> None:
    """Statistics that speak for everyone and give nobody away."""


app.command()(demo)
app.command()(release)
app.command()(preview)
app.command()(sql)
app.command()(together)
app.command()(init)
app.command()(check)
app.command(name="count-over-time")(count_over_time)
app.add_typer(ledger_app, name="ledger")
app.command()(verify)
app.command(name="registry")(registry)
app.command()(sensitivity)
app.command(name="choose-epsilon")(choose_epsilon)
app.add_typer(local_app, name="local")
app.add_typer(audit_app, name="audit")
app.command()(serve)
app.add_typer(token_app, name="token")


@cache
def commands() -> Any:
    """Return the commands as typer makes them of the signatures: once per process."""
    return typer.main.get_command(app)
