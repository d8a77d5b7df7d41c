"""``tacit check``: the curator's own look at a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from tacit.cli.shared.options import TableOptions
from tacit.cli.shared.signature import options

__all__ = ["check"]


@dataclass(frozen=True)
class ShowOptions:
    """How what was found is reported."""

    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False


@options
def check(source: TableOptions, show: ShowOptions) -> None:
    """Check your own table: what would be missing, where, and what to declare.

    Its output is exact and NOT PRIVATE: it is for the curator alone, and must not be published.
    Nothing is charged, and no other command runs it.

    Of a data set's declaration it says what is left open, and whether it fits its tables; no row
    is read then.

    [bold]tacit check people.csv[/bold]
    """
    from tacit.cli.release.job import is_declared, odd_names_noted, table_of
    from tacit.cli.shared.output import note, print_json, working
    from tacit.tables.check_table import check as look

    table = table_of(source, "check")
    if is_declared(table.path):
        _check_declaration(table.path, as_json=show.json)
        return
    note("NOT PRIVATE: what follows counts cells exactly. Do not publish it.")
    with working("looking through the table"), odd_names_noted():
        found = look(
            table.path,
            table.table,
            memory_limit=table.memory_limit,
            threads=table.threads,
            **table.csv,
        )
    if show.json:
        print_json(found.to_json())
    else:
        print(found)


def _check_declaration(path: str, *, as_json: bool) -> None:
    """Check the declaration of a data set."""
    from tacit.accounting.open_ledger import has_ledger, in_memory
    from tacit.cli.release.job import odd_names_noted
    from tacit.cli.shared.output import note, print_json, working
    from tacit.report.text.odds import weak_guarantee
    from tacit.tables.dataset.declaration import Dataset
    from tacit.tables.dataset.opening import open_dataset

    dataset = Dataset.load(path)
    exists = has_ledger(dataset.ledger_place)
    with odd_names_noted(declared=True):
        dataset.check()
        with (
            working("opening the tables"),
            open_dataset(dataset, ledger=None if exists else in_memory) as session,
        ):
            # the ledger that exists counts as is declared
            weak = weak_guarantee(session.budget, session.declared.size)
    if weak is not None:
        note(f"The whole budget is large: {weak} from all releases together.")
    if as_json:
        print_json({"name": dataset.name, "tables": list(dataset.tables), "open": []})
    else:
        print(f"{path} is whole, and fits {', '.join(dataset.tables)}.")
