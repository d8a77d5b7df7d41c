"""``tacit token``: create, list, narrow and revoke tokens, beside the folder of a service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.errors import UsageError

if TYPE_CHECKING:
    from tacit.service.access.caller import Grant
    from tacit.service.access.tokens import Stored, Tokens

__all__ = ["token_app"]

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
        str, typer.Option("--name", help="Whom it is for: what it spends counts for this name.")
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
    from tacit.cli.shared.output import note

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
    from tacit.cli.shared.output import print_json, print_table

    found: list[Stored] = []
    with _tokens(folder) as (tokens, _):
        while more := tokens.listed(found[-1].caller.token_id if found else ""):
            found += more
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
                for one in found
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
        for one in sorted(found, key=lambda one: one.created)
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
    from tacit.cli.shared.output import note

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
        print(f"{tokens.revoke(token)} tokens are void now")


@contextmanager
def _tokens(folder: str) -> Iterator[tuple[Tokens, list[str]]]:
    """Open the tokens of a service, with the names of its data sets."""
    from tacit.errors import need

    need("sqlalchemy", "serve")
    from tacit.service.access.tokens import Tokens
    from tacit.service.folder import declarations, open_store
    from tacit.service.hosting.declared import DeclaredStore
    from tacit.service.problem import Problem
    from tacit.service.seeing.audit_log import AuditLog
    from tacit.service.seeing.token_notes import noted_in
    from tacit.service.settings import Settings

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
    from tacit.errors import did_you_mean
    from tacit.service.access.caller import EVERYTHING, Grant
    from tacit.service.access.roles import RIGHTS

    if not roles:
        raise UsageError(f"name a role with --role: {', '.join(RIGHTS)}")
    for name in datasets or ():
        if name not in (*known, EVERYTHING) and "device" not in roles:
            raise UsageError(f"there is no data set {name!r}; {did_you_mean(name, known)}")
    fields = [{"role": r, "dataset": d} for r in roles for d in datasets or [EVERYTHING]]
    return [Grant.from_fields(one) for one in fields]


def _when(seconds: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
