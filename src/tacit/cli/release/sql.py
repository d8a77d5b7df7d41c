"""``tacit sql``: ask a table in SQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from tacit.cli.shared.options import ASKED, BudgetOptions, OutputOptions, SourceOptions
from tacit.cli.shared.price_flags import Delta, Epsilon, Free, Rho, Total
from tacit.cli.shared.server_flags import ServerOptions
from tacit.cli.shared.signature import flag, options
from tacit.errors import UsageError

__all__ = ["sql"]


@dataclass(frozen=True)
class SqlOptions:
    """The query, and what its answer may spend."""

    query: Annotated[
        str | None,
        typer.Argument(
            help="One query, such as 'select site, count(*) from visits group by site'."
        ),
    ] = None
    preview: Annotated[
        bool,
        flag(
            "--preview",
            help="Show the expected errors, and spend nothing.",
            panel=ASKED,
        ),
    ] = False
    sizes: Annotated[
        str,
        flag(
            "--sizes",
            help="With --preview: group sizes for which errors are shown.",
            panel=ASKED,
        ),
    ] = "100,1000,10000"
    epsilon: Epsilon = None
    delta: Delta = None
    rho: Rho = None
    total: Total = None
    free: Free = False


@options
def sql(
    source: SourceOptions,
    ask: SqlOptions,
    budget: BudgetOptions,
    output: OutputOptions,
    server: ServerOptions,
) -> None:
    """Ask a table in SQL. The text is translated to a question, and never executed.

    [bold]tacit sql adult.csv "select count(*) as n from adult where age >= 18" --epsilon 0.5[/bold]
    """
    from tacit.cli.release.job import table_of
    from tacit.cli.release.preview import PreviewOptions, show_previews
    from tacit.cli.release.release import priced_job, publish

    table = table_of(source, "sql", server)
    if ask.query is None:
        raise UsageError("write the query: tacit sql visits.toml 'select count(*) from visits' ...")
    job = priced_job(source, ask, budget, output, table=table, aggregates={}, sql=ask.query)
    if ask.preview:
        show_previews(job, PreviewOptions(sizes=ask.sizes, json=output.json))
    else:
        publish(job, output)
