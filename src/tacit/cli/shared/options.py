"""The flags that commands share, as dataclasses that become signatures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from tacit.cli.shared.price_flags import PRICE, Delta, Epsilon, Free, Rho, Total
from tacit.cli.shared.signature import flag

__all__ = [
    "ASKED",
    "AskOptions",
    "BudgetOptions",
    "OutputOptions",
    "SourceOptions",
    "TableOptions",
    "Texts",
]

ASKED = "What is asked"
"""The panel of the help with the flags of the kinds of answers."""
_TABLE, _GROUPS = "The table", "Groups and rows"
_UNIT, _OUT = "Who is protected", "What comes out"


Texts = list[str] | None


@dataclass(frozen=True)
class TableOptions:
    """Where the table is, and how it is read."""

    source: Annotated[
        str | None,
        typer.Argument(
            help="A CSV or Parquet file, a folder or pattern of them, a .duckdb, or an address "
            "such as postgresql://user@host/db."
        ),
    ] = None
    table: Annotated[
        str | None,
        flag("--table", help="The table of a database.", panel=_TABLE, metavar="NAME"),
    ] = None
    name: Annotated[
        str | None,
        flag("--name", help="The public name of the data set.", panel=_TABLE, metavar="NAME"),
    ] = None
    types: Annotated[
        Texts,
        flag(
            "--types",
            help="Kinds of the columns of a CSV file: integer, float, text, boolean, date, "
            "timestamp.",
            panel=_TABLE,
            metavar="COL=KIND,...",
        ),
    ] = None
    header: Annotated[
        str | None,
        flag(
            "--header",
            help="The names of the columns of a CSV file whose first line is a row; 'no' where "
            "--types names them all.",
            panel=_TABLE,
            metavar="NAME,...|no",
        ),
    ] = None
    delimiter: Annotated[
        str | None,
        flag(
            "--delimiter",
            help="What separates the fields of a CSV file: a comma, and a tab in files named .tsv; "
            "write tab for a tab.",
            panel=_TABLE,
            metavar="SIGN",
        ),
    ] = None
    quote: Annotated[
        str | None,
        flag(
            "--quote",
            help="The quote character of a CSV file, '\"'; '' for none.",
            panel=_TABLE,
            metavar="SIGN",
        ),
    ] = None
    encoding: Annotated[
        str | None,
        flag(
            "--encoding",
            help="The character encoding of a CSV file: utf-8, latin-1, cp1252, ...",
            panel=_TABLE,
            metavar="NAME",
        ),
    ] = None
    null: Annotated[
        Texts,
        flag(
            "--null",
            help="A text that is a missing value in a CSV file. May be given several times.",
            panel=_TABLE,
            metavar="TEXT",
        ),
    ] = None
    date_format: Annotated[
        str | None,
        flag(
            "--date-format",
            help="How columns of the kind date are written, such as %d.%m.%Y.",
            panel=_TABLE,
            metavar="FORMAT",
        ),
    ] = None
    time_format: Annotated[
        str | None,
        flag(
            "--time-format",
            help="How columns of the kind timestamp are written, such as '%d.%m.%Y %H:%M'.",
            panel=_TABLE,
            metavar="FORMAT",
        ),
    ] = None
    multiline: Annotated[
        int | None,
        flag(
            "--multiline",
            help="How many lines a quoted field of a CSV file may run over.",
            panel=_TABLE,
            metavar="N",
        ),
    ] = None
    memory_limit: Annotated[
        str | None,
        flag(
            "--memory-limit",
            help="How much memory the engine may use, such as 4GB.",
            panel=_TABLE,
            metavar="SIZE",
        ),
    ] = None
    threads: Annotated[
        int | None,
        flag("--threads", help="How many threads the engine may use.", panel=_TABLE, metavar="N"),
    ] = None


@dataclass(frozen=True)
class SourceOptions(TableOptions):
    """A table, and whom its rows stand for."""

    person: Annotated[
        str | None,
        flag(
            "--person",
            help="The column that identifies the person of a row.",
            panel=_UNIT,
            metavar="COL",
        ),
    ] = None
    rows: Annotated[
        int | None,
        flag("--rows", help="At most N rows per person count.", panel=_UNIT, metavar="N"),
    ] = None
    groups: Annotated[
        int | None,
        flag(
            "--groups",
            help="A person counts as present in at most N groups.",
            panel=_UNIT,
            metavar="N",
        ),
    ] = None
    one_row_each: Annotated[
        bool,
        flag("--one-row-each", help="Instead: every row is another person.", panel=_UNIT),
    ] = False


@dataclass(frozen=True)
class AskOptions:
    """What is asked of the table, and what the answer may cost.

    Attributes:
        kinds: for each kind of answer, what was given with its flag
            (:mod:`tacit.cli.shared.kind_flags`).
    """

    kinds: Mapping[str, Any] = field(default_factory=dict)

    method: Annotated[
        str | None,
        flag(
            "--method",
            help="For mean, var, std, median and percentile: global, smooth, ptr, "
            "sample_and_aggregate or auto.",
            panel=ASKED,
            metavar="NAME",
        ),
    ] = None
    bound: Annotated[
        str | None,
        flag(
            "--bound",
            help="With --method ptr: the local sensitivity to propose, or search.",
            panel=ASKED,
            metavar="BOUND",
        ),
    ] = None
    bins: Annotated[
        int | None,
        flag(
            "--bins",
            help="With --method sample_and_aggregate: the number of bins.",
            panel=ASKED,
            metavar="N",
        ),
    ] = None
    distribution: Annotated[
        str | None,
        flag(
            "--distribution",
            help="With --method smooth: the distribution of the noise.",
            panel=ASKED,
            metavar="NAME",
        ),
    ] = None
    by: Annotated[
        Texts,
        flag("--by", help="Group by these columns.", panel=_GROUPS, metavar="COL,..."),
    ] = None
    cut: Annotated[
        Texts,
        flag(
            "--cut",
            help="Cut a column of numbers into the groups COL_group, for --by.",
            panel=_GROUPS,
            metavar="COL:E0,E1,...",
        ),
    ] = None
    keys: Annotated[
        Texts,
        flag(
            "--keys",
            help="The public groups: a,b,c or 1..6; for several columns COL=a,b,c each.",
            panel=_GROUPS,
            metavar="VALUE,...",
        ),
    ] = None
    keys_file: Annotated[
        str | None,
        flag(
            "--keys-file",
            help="A public CSV file with the columns of --by.",
            panel=_GROUPS,
            metavar="FILE",
        ),
    ] = None
    rounds: Annotated[
        int | None,
        flag(
            "--rounds",
            help="2: find groups that nobody listed in two rounds, more of them where people are "
            "in many.",
            panel=_GROUPS,
            metavar="1|2",
        ),
    ] = None
    join: Annotated[
        Texts,
        flag(
            "--join",
            help="Join another table of the data set: 'patients', 'left patients', "
            "'sites on home'.",
            panel=_GROUPS,
            metavar="TABLE",
        ),
    ] = None
    where: Annotated[
        Texts,
        flag(
            "--where",
            help="Keep only the rows that satisfy this, such as 'age >= 18'.",
            panel=_GROUPS,
            metavar="CONDITION",
        ),
    ] = None
    with_: Annotated[
        Texts,
        flag(
            "--with",
            help="A column computed from each row, such as 'rate = cost / visits'.",
            panel=_GROUPS,
            metavar="NAME = VALUE",
        ),
    ] = None
    per_person: Annotated[
        Texts,
        flag(
            "--per-person",
            help="Make one row a person first, with this column: n=count, total=sum:cost:0:5000.",
            panel=_GROUPS,
            metavar="NAME=STATISTIC:COL:LOW:HIGH",
        ),
    ] = None
    where_person: Annotated[
        Texts,
        flag(
            "--where-person",
            help="With --per-person: keep only the people who satisfy this, such as 'total > 100'.",
            panel=_GROUPS,
            metavar="CONDITION",
        ),
    ] = None
    plan: Annotated[
        str | None,
        flag(
            "--plan",
            help="A TOML file with the table and several questions.",
            panel=ASKED,
            metavar="FILE",
        ),
    ] = None
    epsilon: Epsilon = None
    delta: Delta = None
    rho: Rho = None
    total: Total = None
    free: Free = False


@dataclass(frozen=True)
class BudgetOptions:
    """What all releases together may cost, and where that is kept."""

    ledger: Annotated[
        str | None,
        flag(
            "--ledger",
            help="The ledger: a file, by default beside the table, or an address in PostgreSQL.",
            panel=PRICE,
            metavar="LEDGER",
        ),
    ] = None
    budget_epsilon: Annotated[
        str | None,
        flag(
            "--budget-epsilon",
            help="The privacy budget: epsilon of all releases together.",
            panel=PRICE,
            metavar="EPSILON",
        ),
    ] = None
    budget_delta: Annotated[
        str | None,
        flag("--budget-delta", help="With --budget-epsilon.", panel=PRICE, metavar="DELTA"),
    ] = None
    budget_rho: Annotated[
        str | None,
        flag("--budget-rho", help="Instead: a budget in rho.", panel=PRICE, metavar="RHO"),
    ] = None


@dataclass(frozen=True)
class OutputOptions:
    """Where the answer goes."""

    json: Annotated[bool, flag("--json", help="Print JSON.", panel=_OUT)] = False
    csv: Annotated[bool, flag("--csv", help="Print CSV.", panel=_OUT)] = False
    plot: Annotated[
        str | None,
        flag("--plot", help="Draw to a .png, .svg or .pdf file.", panel=_OUT, metavar="FILE"),
    ] = None
    certificate: Annotated[
        Texts,
        flag(
            "--certificate",
            help="Write the certificate: .json to check, .html to read. May be given twice.",
            panel=_OUT,
            metavar="FILE",
        ),
    ] = None
    tag: Annotated[
        str | None,
        flag(
            "--tag",
            help="A label that makes this a new, separately paid release.",
            panel=_OUT,
            metavar="TEXT",
        ),
    ] = None
    yes: Annotated[bool, flag("--yes", help="Accept a weak guarantee.", panel=PRICE)] = False
