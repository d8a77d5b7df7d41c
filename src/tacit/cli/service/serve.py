"""``tacit serve``: a folder of declared data sets becomes a service."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.service.audit import AuditOptions, show_audit
from tacit.cli.shared.signature import options
from tacit.errors import UsageError

if TYPE_CHECKING:
    from tacit.service.settings import Settings
    from tacit.service.web.server import Place

__all__ = ["serve"]

_CHECK, _AUDIT = "check", "audit"


@dataclass(frozen=True)
class WhatOptions:
    """Which folder is served or checked."""

    places: Annotated[
        list[str] | None,
        typer.Argument(
            help="The folder of the data sets; with the word check before it, what would stop or "
            "weaken the service is listed; with the word audit, who did what.",
            metavar="[check|audit] FOLDER",
        ),
    ] = None
    demo: Annotated[
        bool,
        typer.Option(
            "--demo", help="Serve the bundled table, in a folder that is removed at the end."
        ),
    ] = False


@dataclass(frozen=True)
class WhereOptions:
    """Where the service listens."""

    host: Annotated[
        str,
        typer.Option(
            "--host", help="The address; 127.0.0.1 is this machine alone.", metavar="ADDRESS"
        ),
    ] = "127.0.0.1"
    port: Annotated[
        int, typer.Option("--port", help="The port.", metavar="NUMBER", min=1, max=65535)
    ] = 8000
    workers: Annotated[
        int,
        typer.Option(
            "--workers",
            help="How many processes serve together.",
            metavar="NUMBER",
            min=1,
            max=64,
        ),
    ] = 1
    tls_certificate: Annotated[
        str | None,
        typer.Option("--tls-certificate", help="The file of a TLS certificate.", metavar="FILE"),
    ] = None
    tls_key: Annotated[
        str | None, typer.Option("--tls-key", help="The file of its key.", metavar="FILE")
    ] = None
    json: Annotated[bool, typer.Option("--json", help="Print JSON, of a check or an audit.")] = (
        False
    )


@options
def serve(what: WhatOptions, where: WhereOptions, log: AuditOptions) -> None:
    """Serve a folder of data set files over HTTP: an API and web pages, with roles and budgets.

    Each .toml file of the folder declares a data set (tacit init drafts one); service.toml says how
    the service is run. Rights come from tokens: tacit token create.

    [bold]tacit serve clinic[/bold]

    [bold]tacit serve check clinic[/bold]

    [bold]tacit serve audit clinic --verify[/bold]
    """
    words = what.places or []
    if words[:1] == [_CHECK] and len(words) == 2:
        _check(words[1], as_json=where.json)
        return
    if words[:1] == [_AUDIT] and len(words) == 2:
        show_audit(_settings(words[1]), log, as_json=where.json)
        return
    if len(words) > 1 or (not words and not what.demo):
        raise UsageError(
            "name the folder of the data sets, tacit serve FOLDER, or give --demo; tacit serve "
            "check FOLDER shows what would stop it, and tacit serve audit FOLDER who did what"
        )
    place = _place(where)
    with ExitStack() as until:
        if what.demo:
            folder = Path(words[0] if words else until.enter_context(_temporary())).expanduser()
            _serve_demo(folder, place)
        else:
            _serve(_settings(words[0]), place)


def _temporary() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="tacit-serve-", ignore_cleanup_errors=True)


def _settings(folder: str) -> Settings:
    from tacit.errors import need

    need("sqlalchemy", "serve")
    from tacit.service.settings import Settings

    return Settings.load(folder)


def _place(where: WhereOptions) -> Place:
    from tacit.errors import need

    for module in ("fastapi", "uvicorn"):
        need(module, "serve")
    from tacit.service.web.server import Place

    if (where.tls_certificate is None) != (where.tls_key is None):
        raise UsageError("--tls-certificate and --tls-key go together")
    for file in (where.tls_certificate, where.tls_key):
        if file is not None and not Path(file).is_file():
            raise UsageError(f"there is no file {file}")
    return Place(where.host, where.port, where.tls_certificate, where.tls_key, where.workers)


def _serve(settings: Settings, place: Place) -> None:
    from tacit.cli.shared.output import note
    from tacit.service.web.server import run
    from tacit.service.web.state import State

    place.refuse_plain(settings)
    state = State.open(settings)
    known = state.tokens.listed(limit=1)
    names = ", ".join(state.declared) or "no data set yet"
    note(f"{settings.title}: {names}, at {settings.url or place.address}")
    if not known:
        note(
            "Nobody has a token yet: tacit token create --folder "
            f"{settings.folder} --role curator --name NAME"
        )
    _until_stopped(lambda: run(state, place))


def _serve_demo(folder: Path, place: Place) -> None:
    from tacit.cli.shared.output import note
    from tacit.service.demo import demo_link, write_demo
    from tacit.service.settings import Settings
    from tacit.service.web.server import run
    from tacit.service.web.state import State

    write_demo(folder)
    settings = Settings.load(folder)
    place.refuse_plain(settings)
    state = State.open(settings)
    note("The RAND Health Insurance Experiment: 5,912 people. Open this link; it works once:")
    print(demo_link(state, settings.url or place.address), flush=True)
    note("Ctrl-C stops the service.")
    _until_stopped(lambda: run(state, place))


def _until_stopped(served: object) -> None:
    """Run the server; Ctrl-C and SIGTERM are how it is stopped, and no failure."""
    from tacit.cli.shared.output import note

    assert callable(served)
    try:
        served()
    except KeyboardInterrupt:
        note("Stopped.")


def _check(folder: str, *, as_json: bool) -> None:
    from dataclasses import asdict

    from tacit.cli.shared.output import print_json, print_table, working
    from tacit.service.checkup import check_service

    with working("checking the service"):
        found = check_service(_settings(folder))
    if as_json:
        print_json([asdict(one) for one in found])
    else:
        words = {"stops": "STOPS", "weakens": "weakens", "good": "good"}
        print_table(
            ["", "what", "found", "remedy"],
            [[words[one.level], one.about, one.said, one.remedy] for one in found],
        )
    if any(one.level == "stops" for one in found):
        raise typer.Exit(1)
