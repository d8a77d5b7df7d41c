"""The commands `tacit serve` and `tacit token`."""

from __future__ import annotations

import gc
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.shared.options import Text, Texts, argument, flag, options
from tacit.cli.shared.output import note, print_json, print_table, working
from tacit.errors import UsageError, did_you_mean, need

if TYPE_CHECKING:
    from tacit.service.access import Grant
    from tacit.service.audit_log import AuditEvent
    from tacit.service.settings import Settings
    from tacit.service.tokens import Stored, Tokens
    from tacit.service.web.server import ServerOptions

# ``tacit serve audit``: the audit log of a service, shown and verified by its operator.


_audit = partial(flag, panel="The audit log")
_NOTED = re.compile(r"(\d{1,18}):([0-9a-f]{64})")


@dataclass(frozen=True)
class AuditOptions:
    verify: bool = _audit("With audit: check the whole chain instead of showing it.", default=False)
    noted: Text = _audit(
        "With audit --verify: an event that was noted elsewhere, by number and hash.", "NUMBER:HASH"
    )
    last: int = _audit("With audit: how many events are shown.", "NUMBER", default=50, min=1)


def show_audit(settings: Settings, options: AuditOptions, *, as_json: bool) -> None:
    """Print the latest events, or verify the chain."""
    from tacit.service.audit_log import AuditLog
    from tacit.service.database import Database

    noted = None if options.noted is None else _noted(options.noted)
    file = settings.database.removeprefix("sqlite:///")
    if file != settings.database and not Path(file).is_file():
        raise UsageError(f"there is no database {file!r}: the service was not started yet")
    database = Database(settings.database)
    try:
        database.create()
        log = AuditLog(database)
        if options.verify or noted:
            with working("checking the chain"):
                number = log.verify(noted)
            last = [(e.sequence, e.hash) for e in log.read(limit=1, newest_first=True)]
            head = f"{last[0][0]}:{last[0][1]}" if last else None
            if as_json:
                print_json({"events": number, "head": head})
            else:
                note(f"the chain of {number:,} events holds" + (f"; note {head}" if head else ""))
            return
        events = log.read(limit=options.last, newest_first=True)[::-1]
    finally:
        database.close()
    if as_json:
        print_json([event.to_json() for event in events])
    else:
        print_table(
            ["number", "when", "who", "what", "where", "about"], [_cells(e) for e in events]
        )


def _noted(text: str) -> tuple[int, str]:
    match = _NOTED.fullmatch(text)
    if match is None:
        raise UsageError("--noted is the number and the hash of an event, such as 17:9f2c... (64)")
    return int(match[1]), match[2]


def _cells(event: AuditEvent) -> list[str]:
    what = event.action if event.outcome == "done" else f"{event.action} ({event.outcome})"
    details = ", ".join(f"{name} {value}" for name, value in event.details.items())
    about = ": ".join(part for part in (event.subject or "", details) if part)
    return [str(event.sequence), event.when, event.who, what, event.dataset or "", about]


# ``tacit serve``: a folder of declared data sets becomes a service.


_CHECK, _AUDIT = "check", "audit"


@dataclass(frozen=True)
class WhatOptions:
    """Which folder is served or checked."""

    places: Texts = argument(
        "The folder of the data sets; with the word check before it, what would stop or "
        "weaken the service is listed; with the word audit, who did what.",
        "[check|audit] FOLDER",
    )
    demo: bool = flag(
        "Serve the bundled table, in a folder that is removed at the end.", default=False
    )


@dataclass(frozen=True)
class WhereOptions:
    """Where the service listens."""

    host: str = flag(
        "The address; 127.0.0.1 is this machine alone.", "ADDRESS", default="127.0.0.1"
    )
    port: int = flag("The port.", "NUMBER", default=8000, min=1, max=65535)
    workers: int = flag("How many processes serve together.", "NUMBER", default=1, min=1, max=64)
    tls_certificate: Text = flag("The file of a TLS certificate.", "FILE")
    tls_key: Text = flag("The file of its key.", "FILE")
    json: bool = flag("Print JSON, of a check or an audit.", default=False)


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
    with ExitStack() as until:
        # A service is some 1,200 modules: collections while they are imported are a fifth of its
        # start, and find next to nothing.
        until.callback(gc.enable)
        gc.disable()
        server = _server_options(where)
        if what.demo:
            folder = Path(words[0] if words else until.enter_context(_temporary())).expanduser()
            _serve_demo(folder, server)
        else:
            _serve(_settings(words[0]), server)


def _temporary() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="tacit-serve-", ignore_cleanup_errors=True)


def _settings(folder: str) -> Settings:
    need("sqlalchemy", "serve")
    from tacit.service.settings import Settings

    return Settings.load(folder)


def _server_options(where: WhereOptions) -> ServerOptions:
    for module in ("fastapi", "uvicorn"):
        need(module, "serve")
    from tacit.service.web.server import ServerOptions

    if (where.tls_certificate is None) != (where.tls_key is None):
        raise UsageError("--tls-certificate and --tls-key go together")
    for file in (where.tls_certificate, where.tls_key):
        if file is not None and not Path(file).is_file():
            raise UsageError(f"there is no file {file}")
    return ServerOptions(
        where.host, where.port, where.tls_certificate, where.tls_key, where.workers
    )


def _serve(settings: Settings, server: ServerOptions) -> None:
    from tacit.service.web.server import run
    from tacit.service.web.state import ServiceState

    server.refuse_plain(settings)
    server.refuse_taken(settings)
    state = ServiceState(settings)
    known = state.tokens.listed(limit=1)
    names = ", ".join(state.declared) or "no data set yet"
    note(f"{settings.title}: {names}, at {settings.url or server.address}")
    if not known:
        note(
            "Nobody has a token yet: tacit token create --folder "
            f"{settings.folder} --role curator --name NAME"
        )
    _until_stopped(lambda: run(state, server))


def _serve_demo(folder: Path, server: ServerOptions) -> None:
    from tacit.service.demo import demo_link, write_demo
    from tacit.service.settings import Settings
    from tacit.service.web.server import run
    from tacit.service.web.state import ServiceState

    server.refuse_taken()
    write_demo(folder)
    settings = Settings.load(folder)
    server.refuse_plain(settings)
    state = ServiceState(settings)
    note("The RAND Health Insurance Experiment: 5,912 people. Open this link; it works once:")
    print(demo_link(state, settings.url or server.address), flush=True)
    note("Ctrl-C stops the service.")
    _until_stopped(lambda: run(state, server))


def _until_stopped(served: Callable[[], None]) -> None:
    """Run the server; Ctrl-C and SIGTERM are how it is stopped, and no failure."""
    try:
        served()
    except KeyboardInterrupt:
        note("Stopped.")


def _check(folder: str, *, as_json: bool) -> None:
    from tacit.service.checkup import check_service

    with working("checking the service"):
        findings = check_service(_settings(folder))
    if as_json:
        print_json([asdict(one) for one in findings])
    else:
        words = {"stops": "STOPS", "weakens": "weakens", "good": "good"}
        print_table(
            ["", "what", "found", "remedy"],
            [[words[one.level], one.about, one.message, one.remedy] for one in findings],
        )
    if any(one.level == "stops" for one in findings):
        raise typer.Exit(1)


# ``tacit token``: create, list, narrow and revoke tokens, next to the folder of a service.


token_app = typer.Typer(
    help="Manage the tokens of a service, as its operator: create, list, narrow, revoke.",
    no_args_is_help=True,
)
_DAY = 24 * 3600

_Folder = Annotated[
    str, typer.Option("--folder", help="The folder of the service.", metavar="FOLDER")
]
_Roles = Annotated[
    list[str] | None,
    typer.Option(
        "--role",
        help="curator, analyst, reviewer, auditor or device. May be given several times.",
        metavar="ROLE",
    ),
]
_Datasets = Annotated[
    list[str] | None,
    typer.Option(
        "--dataset",
        help="The data set that it is for; all if none is named. May be given several times.",
        metavar="NAME",
    ),
]
_Days = Annotated[
    float, typer.Option("--days", help="After how many days it expires.", metavar="NUMBER")
]
_Id = Annotated[str, typer.Argument(help="The public name of a token, as list shows it.")]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@token_app.command("create")
def create(
    name: Annotated[
        str, typer.Option("--name", help="The owner: what it spends counts for this name.")
    ],
    role: _Roles = None,
    dataset: _Datasets = None,
    team: Annotated[
        str | None, typer.Option("--team", help="The team that its spending counts for.")
    ] = None,
    days: _Days = 90,
    folder: _Folder = ".",
) -> None:
    """Create a token and print it; it is shown this once, and stored as a hash.

    [bold]tacit token create --role analyst --dataset visits --name ada --team oncology[/bold]
    """
    with _tokens(folder) as (tokens, known):
        grants = _grants(role, dataset, known)
        text, made = tokens.create(name, grants, days * _DAY, team=team)
    print(text)
    note(f"token {made.token_id} of {name} expires {_when(made.expires)}; it is not shown again")


@token_app.command("list")
def listed(folder: _Folder = ".", json: _Json = False) -> None:
    """List the tokens of a service.

    [bold]tacit token list --folder clinic[/bold]
    """
    stored: list[Stored] = []
    with _tokens(folder) as (tokens, _):
        while more := tokens.listed(stored[-1].caller.token_id if stored else ""):
            stored += more
    if json:
        print_json(
            [
                {
                    "id": one.caller.token_id,
                    "kind": one.kind,
                    "name": one.caller.name,
                    "team": one.caller.team,
                    "grants": [grant.to_fields() for grant in one.caller.grants],
                    "parent": one.parent,
                    "issued_by": one.caller.issued_by,
                    "expires": one.caller.expires,
                    "ended": one.why,
                }
                for one in stored
            ]
        )
        return
    rows = [
        [
            one.caller.token_id,
            one.caller.name,
            one.caller.team or "",
            ", ".join(f"{g.role} on {g.dataset}" for g in one.caller.grants),
            one.kind,
            one.why or _when(one.caller.expires),
        ]
        for one in sorted(stored, key=lambda one: one.created)
    ]
    print_table(["token", "name", "team", "grants", "kind", "until (UTC)"], rows)


@token_app.command("narrow")
def narrow(
    token: _Id,
    role: _Roles = None,
    dataset: _Datasets = None,
    days: _Days = 1,
    folder: _Folder = ".",
) -> None:
    """Make a token from another, with no more rights and no later expiry, and print it.

    [bold]tacit token narrow 0123456789abcdef0123456789abcdef --role analyst --dataset visits[/bold]
    """
    with _tokens(folder) as (tokens, known):
        parent = tokens.get(token)
        if parent is None:
            raise UsageError(f"there is no token {token!r}: tacit token list shows all of them")
        grants = None if role is None and dataset is None else _grants(role, dataset, known)
        text, made = tokens.narrow(parent.caller, grants, days * _DAY)
    print(text)
    note(f"token {made.token_id} of {made.name} expires {_when(made.expires)}")


@token_app.command("revoke")
def revoke(token: _Id, folder: _Folder = ".") -> None:
    """Revoke a token, and all that were narrowed from it.

    [bold]tacit token revoke 0123456789abcdef0123456789abcdef --folder clinic[/bold]
    """
    with _tokens(folder) as (tokens, _):
        if tokens.get(token) is None:
            raise UsageError(f"there is no token {token!r}: tacit token list shows all of them")
        void = tokens.revoke(token)
        print(f"{void} token{' is' if void == 1 else 's are'} void now")


@contextmanager
def _tokens(folder: str) -> Iterator[tuple[Tokens, list[str]]]:
    """Open the tokens of a service, with the names of its data sets."""
    need("sqlalchemy", "serve")
    from tacit.service.audit_log import AuditLog, noted_in
    from tacit.service.folder import declarations, open_store
    from tacit.service.hosting.declaring import DeclaredStore
    from tacit.service.problem import Problem
    from tacit.service.settings import Settings
    from tacit.service.tokens import Tokens

    settings = Settings.load(folder)
    known = list(declarations(settings, drafts=True))
    database, key = open_store(settings)
    try:
        known += DeclaredStore(database).all()
        yield Tokens(database, key, note=noted_in(AuditLog(database))), known
    except Problem as problem:
        raise UsageError(". ".join(filter(None, (problem.message, problem.remedy)))) from None
    finally:
        database.close()


def _grants(roles: list[str] | None, datasets: list[str] | None, known: list[str]) -> list[Grant]:
    from tacit.service.access import EVERYTHING, RIGHTS, Grant

    if not roles:
        raise UsageError(f"name a role with --role: {', '.join(RIGHTS)}")
    for name in datasets or ():
        if name not in (*known, EVERYTHING) and "device" not in roles:
            raise UsageError(f"there is no data set {name!r}; {did_you_mean(name, known)}")
    fields = [{"role": r, "dataset": d} for r in roles for d in datasets or [EVERYTHING]]
    return [Grant.from_fields(one) for one in fields]


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
