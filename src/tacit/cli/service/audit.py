"""``tacit serve audit``: the audit log of a service, shown and verified by its operator."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.errors import UsageError

if TYPE_CHECKING:
    from tacit.service.seeing.audit_log import AuditEvent
    from tacit.service.settings import Settings

__all__ = ["AuditOptions", "show_audit"]

_PANEL = "The audit log"
_NOTED = re.compile(r"(\d{1,18}):([0-9a-f]{64})")


@dataclass(frozen=True)
class AuditOptions:
    """What of the audit log is shown."""

    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="With audit: check the whole chain instead of showing it.",
            rich_help_panel=_PANEL,
        ),
    ] = False
    noted: Annotated[
        str | None,
        typer.Option(
            "--noted",
            help="With audit --verify: an event that was noted elsewhere, by number and hash.",
            metavar="NUMBER:HASH",
            rich_help_panel=_PANEL,
        ),
    ] = None
    last: Annotated[
        int,
        typer.Option(
            "--last",
            help="With audit: how many events are shown.",
            metavar="NUMBER",
            min=1,
            rich_help_panel=_PANEL,
        ),
    ] = 50


def show_audit(settings: Settings, asked: AuditOptions, *, as_json: bool) -> None:
    """Print the latest events, or whether the chain holds.

    Raises:
        UsageError: the service was not started yet, or what was noted is no event.
        VerificationError: the chain does not hold.
    """
    from tacit.cli.shared.output import note, print_json, print_table, working
    from tacit.service.seeing.audit_log import AuditLog
    from tacit.service.store.database import Database

    noted = None if asked.noted is None else _noted(asked.noted)
    file = settings.database.removeprefix("sqlite:///")
    if file != settings.database and not Path(file).is_file():
        raise UsageError(f"there is no database {file!r}: the service was not started yet")
    database = Database(settings.database)
    try:
        database.create()
        log = AuditLog(database)
        if asked.verify or noted:
            with working("checking the chain"):
                number = log.verify(noted)
            last = [(e.sequence, e.hash) for e in log.read(limit=1, newest_first=True)]
            head = f"{last[0][0]}:{last[0][1]}" if last else None
            if as_json:
                print_json({"events": number, "head": head})
            else:
                note(f"the chain of {number:,} events holds" + (f"; note {head}" if head else ""))
            return
        events = log.read(limit=asked.last, newest_first=True)[::-1]
    finally:
        database.close()
    if as_json:
        print_json([event.to_json() for event in events])
    else:
        print_table(
            ["number", "when", "who", "what", "where", "about"], [_cells(e) for e in events]
        )


def _noted(text: str) -> tuple[int, str]:
    found = _NOTED.fullmatch(text)
    if found is None:
        raise UsageError("--noted is the number and the hash of an event, such as 17:9f2c... (64)")
    return int(found[1]), found[2]


def _cells(event: AuditEvent) -> list[str]:
    what = event.action if event.outcome == "done" else f"{event.action} ({event.outcome})"
    details = ", ".join(f"{name} {value}" for name, value in event.details.items())
    about = ": ".join(part for part in (event.subject or "", details) if part)
    return [str(event.sequence), event.when, event.who, what, event.dataset or "", about]
