"""The data set of a service, for commands that ask a table of one's own otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tacit.cli.shared.amounts import amounts
from tacit.cli.shared.output import print_table
from tacit.cli.shared.server_flags import ServerOptions
from tacit.client.connection import connect
from tacit.client.remote_table import RemoteTable
from tacit.errors import UsageError
from tacit.report.text.words import budget_words, unit_words

__all__ = ["asked_table", "described", "refuse_alone", "show_history"]


def refuse_alone(server: ServerOptions) -> None:
    """Refuse what says how a service is asked where none is.

    Raises:
        UsageError: a token without a service.
    """
    if server.server is None and (server.token_file or server.ca_file):
        raise UsageError("--token-file and --ca-file go with --server https://...")


@contextmanager
def asked_table(server: ServerOptions, name: str, table: str | None) -> Iterator[RemoteTable]:
    """Connect to a service, and give a table of one of its data sets.

    Args:
        server: which service.
        name: of the data set.
        table: its protected table; the first where none is named.

    Raises:
        UsageError: an unsafe address, no token, or no such table.
        AccessError: the token sees no such data set.
        ServiceError: the service does not answer.
    """
    assert server.server is not None
    with connect(server.server, token_file=server.token_file, ca_file=server.ca_file) as service:
        found = service.dataset(name)
        yield found if table is None else found.table(table)


def show_history(table: RemoteTable, bar: str) -> None:
    """Print the budget of a data set, and the releases that one may see."""
    print(f"Data set   {table.dataset}")
    print(f"Protects   {unit_words(table.unit.describe())}")
    print(f"Budget     {budget_words(table.budget)}")
    print(f"Spent      {budget_words(table.spent)}")
    print(f"Left       {budget_words(table.remaining)}   {bar}")
    rows = [
        [one["id"][:8], one["when"], budget_words(one["cost"]), one["state"], one["question"]]
        for one in map(_line, table.history())
    ]
    if rows:
        print_table(["release", "when (UTC)", "cost", "state", "question"], rows)
    else:
        print("Nothing was released yet, of what you may see.")


def described(table: RemoteTable) -> dict[str, Any]:
    """Return the budget of a data set and its releases as plain JSON values."""
    return {
        "dataset": table.dataset,
        "budget": amounts(table.budget),
        "spent": amounts(table.spent),
        "remaining": amounts(table.remaining, left=True),
        "releases": [
            {**line, "cost": amounts(line["cost"])} for line in map(_line, table.history())
        ],
    }


def _line(job: Any) -> dict[str, Any]:
    return {
        "id": job.id,
        "when": job.when[:16].replace("T", " "),
        "asked_by": job.asked_by,
        "cost": job.cost,
        "state": job.state,
        "question": job.question,
    }
