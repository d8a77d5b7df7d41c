"""``tacit init``: a first declaration of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from tacit.cli.shared.options import TableOptions
from tacit.cli.shared.signature import options

__all__ = ["init"]


@dataclass(frozen=True)
class DraftOptions:
    """Where the draft goes."""

    out: Annotated[
        str | None,
        typer.Option("--out", help="The file to write; NAME.toml by default.", metavar="FILE"),
    ] = None


@options
def init(source: TableOptions, draft: DraftOptions) -> None:
    """Draft the declaration of a data set, from the names and types of its columns alone.

    A question mark stands wherever you must decide, with an explanation. No row is read.

    [bold]tacit init visits.csv[/bold]
    """
    from pathlib import Path

    from tacit.cli.release.job import odd_names_noted, table_of
    from tacit.cli.shared.output import note, working
    from tacit.tables.dataset.draft import draft as drafted
    from tacit.tables.dataset.draft import draft_text
    from tacit.tables.dataset.toml_text import write_new

    table = table_of(source, "init")
    with working("reading the names and kinds of the columns"), odd_names_noted():
        dataset = drafted(table.path, table.table, name=table.name, **table.csv)
    place = Path(draft.out or f"{dataset.name}.toml").expanduser()
    write_new(place, draft_text(dataset, place.parent))
    left = len(dataset.open_fields())
    note(f"wrote {place}; decide the {left} places marked ?, then run: tacit check {place}")
