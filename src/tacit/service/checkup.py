"""Checks of a service: rights of files, TLS, declarations, ledgers, clock."""

from __future__ import annotations

import os
import stat
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tacit.accounting.budget import nearly_equal
from tacit.accounting.ledger_postgres import is_address
from tacit.accounting.open_ledger import has_ledger, in_memory, open_ledger
from tacit.errors import TacitError, UsageError, WeakGuaranteeWarning
from tacit.report.odds import weak_guarantee
from tacit.report.text import budget_words
from tacit.service.database import Database
from tacit.service.folder import KEY_FILE, declarations, open_store
from tacit.service.hosting.declaring import DeclaredStore, Owner, with_hosting
from tacit.service.hosting.ledgers import Ledgers
from tacit.service.problem import Problem
from tacit.service.refresh.refreshes import schedules_of
from tacit.service.settings import FILE, Settings
from tacit.service.tokens import Tokens
from tacit.tables.dataset.declaration import Dataset, open_dataset

STOPS, WEAKENS, GOOD = "stops", "weakens", "good"
_CLOCK_SECONDS = 5.0


@dataclass(frozen=True)
class Finding:
    level: str  # ``stops``, ``weakens`` or ``good``
    about: str
    message: str
    remedy: str = ""  # what to do about it


def check_service(settings: Settings, clock: Callable[[], float] = time.time) -> list[Finding]:
    """Check everything that a service of a folder needs; reads no row, and charges nothing."""
    findings = [*_files(settings), *_network(settings)]
    try:
        database, key = open_store(settings)
    except TacitError as error:
        remedy = "check the address, the server and the disk"
        return [*findings, Finding(STOPS, "database", str(error), remedy)]
    try:
        findings.append(Finding(GOOD, "database", f"{database.name} answers"))
        findings += _clock(database, Tokens(database, key, clock), clock)
        findings += _datasets(settings, database)
    except Problem as error:
        findings.append(Finding(STOPS, "database", error.message, error.remedy))
    finally:
        database.close()
    return findings


def _files(settings: Settings) -> Iterator[Finding]:
    secrets = [settings.folder / KEY_FILE]
    if settings.login is not None and settings.login.secret_file is not None:
        secrets.append(settings.login.secret_file)
    if settings.webhook is not None:
        secrets.append(settings.webhook.secret_file)
    if not is_address(settings.database):
        secrets.append(Path(settings.database.removeprefix("sqlite:///")))
    loose = [path for path in secrets if path.exists() and _mode(path) & 0o077]
    for path in loose:
        yield Finding(WEAKENS, str(path), "others on this machine can read it", f"chmod 600 {path}")
    others = [settings.folder, settings.folder / FILE, *settings.folder.glob("*.toml")]
    for path in {p for p in others if p.exists() and _mode(p) & 0o022}:
        yield Finding(
            WEAKENS, str(path), "others on this machine can change it", f"chmod go-w {path}"
        )
        loose.append(path)
    if not loose:
        yield Finding(GOOD, "rights of files", "secrets are the operator's alone")
    login = settings.login
    if login is not None and login.secret_file is not None and not login.secret_file.is_file():
        yield Finding(
            STOPS, str(login.secret_file), "the secret of the login is not there", "write it"
        )
    if settings.webhook is not None:
        try:
            settings.webhook.secret()
        except OSError:
            yield Finding(
                STOPS,
                str(settings.webhook.secret_file),
                "the secret of the webhook is not there, or has fewer than 16 bytes",
                "write random text into it: openssl rand -hex 32",
            )


def _mode(path: Path) -> int:
    return stat.S_IMODE(os.stat(path).st_mode) if os.name == "posix" else 0


def _network(settings: Settings) -> Iterator[Finding]:
    if settings.secure:
        yield Finding(GOOD, "TLS", f"people come through {settings.url}")
        if not settings.trusted_proxies:
            yield Finding(
                WEAKENS,
                "proxy",
                "no trusted_proxies: every caller seems to come from the address of the proxy",
                "trusted_proxies = ['127.0.0.1'] with the proxy's own address",
            )
    else:
        yield Finding(
            WEAKENS,
            "TLS",
            "only this machine can be served: url = 'https://...' is not set",
            "put a proxy with TLS in front, or give tacit serve a certificate",
        )


def _datasets(settings: Settings, database: Database) -> Iterator[Finding]:
    try:
        declared = declarations(settings)
        made = DeclaredStore(database).all()
        settings = with_hosting(settings, made.values())
        declared |= {name: one.dataset(settings.folder) for name, one in made.items()}
        ledgers = Ledgers(declared, settings, database)
        schedules_of({name: how.refresh for name, how in settings.datasets.items()})
    except TacitError as error:
        yield Finding(STOPS, "data sets", str(error), "tacit check FILE shows more")
        return
    if not declared:
        yield Finding(
            WEAKENS, "data sets", "the folder declares none", "tacit init TABLE drafts one"
        )
    for name in ledgers.left_over():
        yield Finding(
            WEAKENS,
            f"the ledger of {name}",
            "no data set spends from it now: if its people are in one that was renamed, or got "
            "people = '...', they have a second budget",
            "give the data set its former name back",
        )
    for name, dataset in declared.items():
        yield from _dataset(dataset, ledgers.owners[name], ledgers)


def _dataset(dataset: Dataset, owner: Owner, ledgers: Ledgers) -> Iterator[Finding]:
    """Check one data set: its declaration, its tables and its ledger."""
    about = f"data set {dataset.name!r}"
    location = owner.location_of(None)
    try:
        dataset.check()
        exists = has_ledger(location)
        known = ledgers.known(owner.key(None))
        if known is not None and not exists:
            raise UsageError(
                "its ledger is gone, and with it the record of what was spent: bring it back"
            )
        if owner.budget is None and not exists:
            raise UsageError("it has no budget: declare one, budget = { epsilon = 1 }")
        total = None
        if exists:
            with open_ledger(location) as ledger:
                total = ledger.total
                if known is not None and ledger.id != known:
                    raise UsageError(
                        "its ledger was replaced by another one: bring the first one back"
                    )
        anew = exists and ledgers.begins_again(dataset.name)
        own = exists and not (anew or owner.people or owner.per_team)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WeakGuaranteeWarning)  # it is a finding
            # the budget of a ledger is its own: a curator may have raised what was declared
            session = (
                open_dataset(replace(dataset, budget=None))
                if own
                else open_dataset(dataset, ledger=in_memory)
            )
        with session:
            weak = weak_guarantee(session.budget, session.declared.size)
    except TacitError as error:
        yield Finding(STOPS, about, str(error), "decide it, then run this again")
        return
    if weak is not None:
        yield Finding(WEAKENS, about, f"the budget is large: {weak}", "declare a smaller one")
    if owner.per_team:
        yield Finding(
            WEAKENS, about, "teams have separate budgets: the guarantee is for each team alone", ""
        )
    file = not is_address(location)
    if exists and file and _mode(Path(location)) & 0o077:
        yield Finding(
            WEAKENS,
            location,
            "others on this machine can read all answers",
            f"chmod 600 {location}",
        )
    ledger_state = "its ledger is there"
    if total is not None and owner.budget is not None and not nearly_equal(total, owner.budget):
        ledger_state += f", with a budget of {budget_words(total)}, whatever the file says"
    if not exists:
        ledger_state = "its ledger is created when it is first looked at"
    if anew:
        ledger_state = "nothing was spent, and its ledger begins again as it is declared now"
    yield Finding(GOOD, about, f"complete; {ledger_state}")


def _clock(database: Database, tokens: Tokens, clock: Callable[[], float]) -> Iterator[Finding]:
    ahead = database.clock_ahead()
    latest = tokens.latest()
    if abs(ahead) > _CLOCK_SECONDS:
        word = "ahead of" if ahead > 0 else "behind"
        yield Finding(
            WEAKENS,
            "clock",
            f"this machine's clock is {abs(ahead):.0f} s {word} the database's",
            "let both follow one time server",
        )
    elif latest > clock() + _CLOCK_SECONDS:
        yield Finding(
            WEAKENS,
            "clock",
            f"the clock was set back: a token was created {latest - clock():.0f} s from now",
            "set the clock; tokens that expired stay expired",
        )
    else:
        yield Finding(GOOD, "clock", "agrees with what the database has seen")
