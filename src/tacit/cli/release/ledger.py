"""``tacit ledger``: create, show, verify, extend and restore ledgers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.shared.options import (
    BudgetOptions,
    RemoteOptions,
    SourceOptions,
    amounts,
    argument,
    flag,
    options,
)
from tacit.cli.shared.output import note, print_json, print_table, working
from tacit.errors import TacitError, UsageError, did_you_mean

if TYPE_CHECKING:
    from tacit.accounting import Budget, Entry, Ledger

ledger_app = typer.Typer(
    help="Keep a budget in a ledger, a file or tables in PostgreSQL: create, show, verify, extend, "
    "restore.",
    no_args_is_help=True,
)

_LEDGER = "A file, or postgresql://user@host/db?ledger=name."
_File = Annotated[str, typer.Argument(help=_LEDGER, metavar="LEDGER")]


@ledger_app.command("create")
@options
def create(source: SourceOptions, begin: BudgetOptions) -> None:
    """Create a ledger for a table, before anything is released.

    [bold]tacit ledger create people.parquet --person id --rows 5 --budget-epsilon 1[/bold]
    """
    from tacit.accounting import create_ledger
    from tacit.accounting.budget import read_loss
    from tacit.accounting.ledger_postgres import shown
    from tacit.accounting.open_ledger import in_memory
    from tacit.cli.release.job import default_ledger, open_table, require_unit, table_of, unit_in
    from tacit.report.text import budget_words
    from tacit.tables import Session

    table = table_of(source, "ledger create")
    budget = read_loss(begin.budget_epsilon, begin.budget_delta, begin.budget_rho, "--budget-")
    if budget is None:
        raise UsageError("give the budget of all releases together: --budget-epsilon 1")
    protects = require_unit(unit_in(source))
    path = begin.ledger or default_ledger(table)
    with (
        working("opening the table"),
        open_table(table) as opened,
        Session(opened, protects, budget, in_memory) as paper,
    ):
        create_ledger(path, dataset=paper.dataset, budget=budget, terms=paper.ledger.terms).close()
        note(f"{shown(path)} starts with {budget_words(budget)} for {paper.dataset}")


@dataclass(frozen=True)
class LedgerOptions:
    """Which ledger is shown, and how."""

    ledger: str = argument(_LEDGER, "LEDGER", default=...)
    json: bool = flag("Print JSON.", default=False)


@ledger_app.command("show")
@options
def show(what: LedgerOptions, server: RemoteOptions) -> None:
    """Show the budget, what is left of it, and every release.

    [bold]tacit ledger show adult.ledger[/bold]
    """
    from tacit.cli.release.job import described, refuse_alone, remote_table, show_history

    if server.server is None:
        refuse_alone(server)
        _show(what.ledger, what.json)
        return
    with remote_table(server, what.ledger, None) as table:
        if what.json:
            print_json(described(table))
        else:
            show_history(table, _bar(table.spent, table.budget))


def _show(ledger: str, json: bool) -> None:
    from tacit.accounting.ledger import accounts_of, shares_of
    from tacit.report.text import budget_words, question_words, unit_words

    with _open(ledger) as opened:
        entries, accounts = opened.history(), accounts_of(opened)
        due = _paid_ahead(ledger) if any(entry.state == "open" for entry in entries) else {}
        if json:
            print_json(_described(opened, due))
            return
        print(f"Data set   {opened.dataset}")
        for name in shares_of(opened):
            print(f"           {name} shares it: the same people")
        if opened.terms.get("unit"):
            print(f"Protects   {unit_words(opened.terms['unit'])}")
        print(f"Budget     {budget_words(opened.total)}")
        print(f"Spent      {budget_words(opened.spent)}")
        added = budget_words(opened.added_up)
        if opened.added_up != opened.spent:
            print(f"           together; the charges one by one add up to {added}")
        print(f"Left       {budget_words(opened.remaining)}   {_bar(opened.spent, opened.total)}")
        rows = [
            [
                str(number),
                entry.when[:16].replace("T", " "),
                budget_words(entry.cost),
                f"scheduled {due[_own_key(entry)][:10]}" if _own_key(entry) in due else entry.state,
                question_words(entry.question),
            ]
            for number, entry in enumerate(entries, 1)
        ]
        states = {"scheduled" if _own_key(entry) in due else entry.state for entry in entries}
        free = [
            [", ".join(map(str, of)), question_words(question)] for of, question in _free(opened)
        ]
    if accounts:
        lines = [
            [a.name, budget_words(a.spent), "no cap" if a.cap is None else budget_words(a.cap)]
            for a in accounts
        ]
        print_table(["account", "spent", "cap"], lines)
    if rows:
        print_table(["charge", "when (UTC)", "cost", "state", "question"], rows)
        if "open" in states:
            print("An open release was charged and has no answer yet: ask the same again, free.")
        if "scheduled" in states:
            print("A scheduled release was charged, and the service makes it on that day (UTC).")
        if free:
            print("Answers that follow from these releases, at no cost:")
            print_table(["from charge", "question"], free)
    else:
        print("Nothing was released yet.")


@ledger_app.command("verify")
def verify(ledger: _File) -> None:
    """Check the whole chain of hashes, charges and answers.

    [bold]tacit ledger verify adult.ledger[/bold]
    """
    with _open(ledger) as opened, working("replaying the ledger"):
        events = opened.verify_chain()
    print(f"ok: {events} events, each hash, amount and answer as it must be")


@ledger_app.command("extend")
def extend(
    ledger: _File,
    reason: Annotated[
        str, typer.Option("--reason", help="The reason, which is stored in the ledger.")
    ],
    budget_epsilon: Annotated[
        str | None, typer.Option("--budget-epsilon", help="The new total budget.")
    ] = None,
    budget_delta: Annotated[
        str | None, typer.Option("--budget-delta", help="With --budget-epsilon.")
    ] = None,
    budget_rho: Annotated[str | None, typer.Option("--budget-rho", help="Instead, in rho.")] = None,
) -> None:
    """Raise the budget, on record: all releases are then protected by the new budget only.

    [bold]tacit ledger extend adult.ledger --budget-epsilon 2 --reason "yearly report"[/bold]
    """
    from tacit.accounting.budget import read_loss
    from tacit.report.text import budget_words

    budget = read_loss(budget_epsilon, budget_delta, budget_rho, "--budget-")
    if budget is None:
        raise UsageError("give the new total budget, such as --budget-epsilon 2")
    with _open(ledger) as opened:
        opened.extend(budget, reason)
        print(f"The budget is {budget_words(opened.total)}; left: {budget_words(opened.remaining)}")


@ledger_app.command("adopt", hidden=True)  # its name in earlier versions
@ledger_app.command("restore")
def restore(ledger: _File) -> None:
    """Accept a ledger at its new place, after it was moved for good (never a copy).

    [bold]tacit ledger restore adult.ledger[/bold]
    """
    from tacit.accounting import restore_ledger
    from tacit.accounting.ledger_postgres import shown

    _require(ledger)
    with working("replaying the ledger"):
        restored = restore_ledger(ledger)
    with restored as moved:
        print(f"{shown(ledger)} stays here from now on; it has the budget of {moved.dataset}")


def _require(path: str) -> None:
    from tacit.accounting.ledger_postgres import is_address

    expanded = os.path.expanduser(path)
    if not is_address(path) and not os.path.isfile(expanded):
        folder = os.path.dirname(expanded) or "."
        names = os.listdir(folder) if os.path.isdir(folder) else []
        known = [name for name in names if name.endswith(".ledger")]
        raise UsageError(
            f"there is no ledger {path}; {did_you_mean(os.path.basename(path), known)}"
        )


def _open(path: str) -> Ledger:
    from tacit.accounting import open_ledger

    _require(path)
    with working("reading the ledger"):
        return open_ledger(path, create=False)


def _paid_ahead(ledger: str) -> dict[str, str]:
    """Return when the schedules of a service make releases, by the keys of their charges."""
    # The ledger of a service is in its folder, and its schedules are in the database there.
    folder, due = os.path.dirname(os.path.expanduser(ledger)) or ".", {}
    if os.path.isfile(os.path.join(folder, "service.key")):
        with suppress(TacitError, ImportError):  # the ledger is shown without the database, too
            from tacit.service.database import Database
            from tacit.service.refresh.schedules import paid_ahead
            from tacit.service.settings import Settings

            with Database(Settings.load(folder).database) as database:
                due = paid_ahead(database)
    return {key: datetime.fromtimestamp(at, UTC).isoformat() for key, at in due.items()}


def _own_key(entry: Entry) -> str:
    """Return the key of a charge without its data set, where several share the ledger."""
    return entry.key.rpartition("/")[2]


def _described(ledger: Ledger, due: Mapping[str, str]) -> dict[str, Any]:
    from tacit.accounting.ledger import accounts_of, shares_of

    accounts = [
        {
            "name": account.name,
            "cap": None if account.cap is None else amounts(account.cap),
            "spent": amounts(account.spent),
        }
        for account in accounts_of(ledger)
    ]
    shares = list(shares_of(ledger))
    return {
        "dataset": ledger.dataset,
        "id": ledger.id,
        "terms": ledger.terms,
        "budget": amounts(ledger.total),
        "spent": amounts(ledger.spent),
        "added_up": amounts(ledger.added_up),
        "remaining": amounts(ledger.remaining, left=True),
        **({"accounts": accounts} if accounts else {}),
        **({"datasets": shares} if shares else {}),
        "releases": [
            {
                "charge": number,
                "sequence": entry.sequence,
                "when": entry.when,
                "cost": amounts(entry.cost),
                "state": entry.state,
                **({"due": due[_own_key(entry)]} if _own_key(entry) in due else {}),
                "hash": entry.hash,
                "question": entry.question,
            }
            for number, entry in enumerate(ledger.history(), 1)
        ],
        "free": [{"from": of, "question": question} for of, question in _free(ledger)],
    }


def _free(ledger: Ledger) -> list[tuple[list[int | str], Any]]:
    """Return the questions that were answered from releases, each with the numbers of these."""
    from tacit.accounting.ledger import parts_of

    entries = ledger.history()
    numbers: dict[str, int | str] = {entry.hash: n for n, entry in enumerate(entries, 1)}
    parts = (part for entry in entries for part in parts_of(ledger, entry) if "follows" in part)
    return [([numbers.get(one, one[:12]) for one in p["from"]], p["follows"]) for p in parts]


def _bar(spent: Budget, total: Budget) -> str:
    full = round(24 * float(spent.amount / total.amount))
    return f"[{'#' * full}{'.' * (24 - full)}] {float(spent.amount / total.amount):.0%} spent"
