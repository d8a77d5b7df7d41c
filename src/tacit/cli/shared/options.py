"""Options that commands share, with their help."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_type_hints

import typer
from typer.core import TyperGroup

from tacit.arithmetic.exact import decimal

if TYPE_CHECKING:
    from tacit.accounting import Budget
    from tacit.tables.statistics.base import TableStatistic

# Commands whose flags are the fields of dataclasses.


Text = str | None
Texts = list[str] | None


def flag(
    help: str,
    metavar: str | None = None,
    *,
    names: tuple[str, ...] = (),
    panel: str | None = None,
    default: Any = None,
    **limits: Any,
) -> Any:
    """Return a field of a dataclass of options: a flag, named after the field."""
    # default: ``...`` where the flag must be given.

    def option(name: str) -> Any:
        named = names or (f"--{name.strip('_').replace('_', '-')}",)
        return typer.Option(*named, help=help, metavar=metavar, rich_help_panel=panel, **limits)

    return _field(option, default)


def argument(help: str, metavar: str | None = None, *, default: Any = None) -> Any:
    """Return a field of a dataclass of options: a word without a flag."""
    return _field(lambda _: typer.Argument(help=help, metavar=metavar), default)


def _field(option: Callable[[str], Any], default: Any) -> Any:
    default = dataclasses.MISSING if default is ... else default
    return field(default=default, metadata={"option": option})


def options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command whose parameters are dataclasses of options their fields as flags."""
    hints = get_type_hints(command)
    groups: dict[str, Any] = {n: h for n, h in hints.items() if dataclasses.is_dataclass(h)}
    flags = {name: _flags_of(group) for name, group in groups.items()}
    own = {flag for group in flags.values() for flag in group}

    def collected(**given: Any) -> None:
        more = {name: value for name, value in given.items() if name not in own}
        made = {}
        for name, group in groups.items():
            values: dict[str, Any] = {flag: given[flag] for flag in flags[name]}
            rest = {"kinds": more} if "kinds" in group.__dataclass_fields__ else {}
            made[name] = group(**values, **rest)
        command(**made)

    parameters = [parameter for group in flags.values() for parameter in group.values()]
    return dressed(collected, command, parameters)


def dressed(
    function: Callable[..., None], like: Callable[..., None], flags: Iterable[inspect.Parameter]
) -> Callable[..., None]:
    """Give a function the name and the words of another, and a signature of flags."""
    signature = inspect.Signature(list(flags))
    function.__name__, function.__doc__ = like.__name__, like.__doc__
    function.__signature__ = signature  # type: ignore[attr-defined]
    function.__annotations__ = {n: p.annotation for n, p in signature.parameters.items()}
    return function


def _flags_of(group: Any) -> dict[str, inspect.Parameter]:
    """Return the flags that a group of options is made of."""
    hints, empty = get_type_hints(group), inspect.Parameter.empty
    return {
        one.name: inspect.Parameter(
            one.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=empty if one.default is dataclasses.MISSING else one.default,
            annotation=Annotated[hints[one.name], one.metadata["option"](one.name)],
        )
        for one in dataclasses.fields(group)
        if "option" in one.metadata
    }


# The flags that commands share, as dataclasses that become signatures.


QUESTION_PANEL = "The question"  # panel of the help with the flags of the kinds of answers
_question = partial(flag, panel=QUESTION_PANEL)
_table = partial(flag, panel="The table")
_groups = partial(flag, panel="Groups and rows")
_unit = partial(flag, panel="Who is protected")
_price = partial(flag, panel="What it may cost")
_out = partial(flag, panel="What comes out")
_publish = partial(flag, panel="Formats of official statistics")
_server = partial(flag, panel="Asking a service")


@dataclass(frozen=True)
class TableOptions:
    """Where the table is, and how it is read."""

    source: Text = argument(
        "A CSV, Parquet, SPSS, Stata or SAS file, a folder or pattern of them, a database of "
        "DuckDB or SQLite, or an address such as postgresql://user@host/db."
    )
    table: Text = _table("The table of a database.", "NAME")
    name: Text = _table("The public name of the data set.", "NAME")
    types: Texts = _table(
        "Kinds of the columns of a CSV file: integer, float, text, boolean, date, timestamp.",
        "COL=KIND,...",
    )
    header: Text = _table(
        "The names of the columns of a CSV file whose first line is a row; 'no' where "
        "--types names them all.",
        "NAME,...|no",
    )
    delimiter: Text = _table(
        "What separates the fields of a CSV file: a comma, and a tab in files named .tsv; "
        "write tab for a tab.",
        "SIGN",
    )
    quote: Text = _table("The quote character of a CSV file, '\"'; '' for none.", "SIGN")
    encoding: Text = _table(
        "The character encoding of a CSV file: utf-8, latin-1, cp1252, ...", "NAME"
    )
    null: Texts = _table(
        "A text that is a missing value in a CSV file. May be given several times.", "TEXT"
    )
    date_format: Text = _table(
        "How columns of the kind date are written, such as %d.%m.%Y.", "FORMAT"
    )
    time_format: Text = _table(
        "How columns of the kind timestamp are written, such as '%d.%m.%Y %H:%M'.", "FORMAT"
    )
    multiline: int | None = _table("How many lines a quoted field of a CSV file may run over.", "N")
    decimal: Text = _table("The decimal sign of numbers in a CSV file: a point by default.", "SIGN")
    thousands: Text = _table(
        "The sign between groups of three digits of a number in a CSV file; none by default.",
        "SIGN",
    )
    skip: int | None = _table("How many lines come before the names of a CSV file.", "N")
    comment: Text = _table(
        "The sign at the start of a line of a CSV file that is not a row; none by default.", "SIGN"
    )
    version: int | None = _table("The version of a table of Delta; the latest by default.", "N")
    snapshot: Text = _table(
        "The id of the snapshot of a table of Iceberg; the latest by default.", "ID"
    )
    instant: Text = _table(
        "The instant of a commit of a table of Hudi; the latest by default.", "INSTANT"
    )
    sheet: Text = _table("The sheet of a workbook that has several.", "NAME")
    layout: Text = _table(
        "A CSV file with the columns of a file of fixed width: name, start, width or end, and "
        "kind and decimals where they are known.",
        "FILE",
    )
    positions: Text = _table(
        "What the positions of --layout count: characters, or bytes.", "characters|bytes"
    )
    codebook: Text = _table(
        "A codebook of the table: DDI (.xml), or Table Schema, data package or CSVW (.json).",
        "FILE",
    )
    codes: Texts = _table(
        "Codes of a column that are missing values, such as age=98,99 or income=-9..-1 or "
        "answer=refused. May be given several times.",
        "COL=CODE,...",
        names=("--missing",),
    )
    memory_limit: Text = _table("How much memory the engine may use, such as 4GB.", "SIZE")
    threads: int | None = _table("How many threads the engine may use.", "N")


@dataclass(frozen=True)
class SourceOptions(TableOptions):
    """A table, and the people of its rows."""

    person: Texts = _unit(
        "The column that identifies the person of a row; or several, which do so together. A "
        "name with a comma has quotes around it: '\"last, first\"'.",
        "COL,...",
    )
    rows: int | None = _unit("At most N rows per person count.", "N")
    groups: int | None = _unit("A person counts as present in at most N groups.", "N")
    one_row_each: bool = _unit("Instead: every row is another person.", default=False)


@dataclass(frozen=True)
class AskOptions:
    # for each kind of answer, the values of its flag
    kinds: Mapping[str, Any] = field(default_factory=dict)

    method: Text = _question(
        "For mean, var, std, median and percentile: global, smooth, ptr, "
        "sample_and_aggregate or auto.",
        "NAME",
    )
    bound: Text = _question(
        "With --method ptr: the local sensitivity to propose, or search.", "BOUND"
    )
    bins: int | None = _question("With --method sample_and_aggregate: the number of bins.", "N")
    distribution: Text = _question("With --method smooth: the distribution of the noise.", "NAME")
    by: Texts = _groups("Group by these columns.", "COL,...")
    cut: Texts = _groups(
        "Cut a column of numbers into the groups COL_group, for --by.", "COL:E0,E1,..."
    )
    keys: Texts = _groups(
        "The public groups: a,b,c or 1..6, or labels: the values that have one in the file; for "
        "several columns COL=a,b,c each.",
        "VALUE,...",
    )
    keys_file: Text = _groups("A public CSV file with the columns of --by.", "FILE")
    rounds: int | None = _groups(
        "2: find unlisted groups in two rounds, more of them where people are in many.", "1|2"
    )
    join: Texts = _groups(
        "Join another table of the data set: 'patients', 'left patients', 'sites on home'.", "TABLE"
    )
    where: Texts = _groups(
        "Keep only the rows that satisfy this, such as 'age >= 18'.", "CONDITION"
    )
    with_: Texts = _groups(
        "A column computed from each row, such as 'rate = cost / visits'.", "NAME = VALUE"
    )
    per_person: Texts = _groups(
        "Make one row per person first, with this column: n=count, total=sum:cost:0:5000.",
        "NAME=STATISTIC:COL:LOW:HIGH",
    )
    where_person: Texts = _groups(
        "With --per-person: keep only the people who satisfy this, such as 'total > 100'.",
        "CONDITION",
    )
    plan: Text = _question("A TOML file with the table and several questions.", "FILE")


@dataclass(frozen=True)
class PriceOptions:
    """The price of one release."""

    epsilon: Text = _price(
        "What this release spends; or a weight for each answer, with --total.", "EPSILON"
    )
    delta: Text = _price(
        "With --epsilon: for keys that are not public, and for some methods.", "DELTA"
    )
    rho: Text = _price("Instead: rho, for zero-concentrated differential privacy.", "RHO")
    total: Text = _price(
        "With weights, as in --epsilon count=1,mean_age=3: the total that they split.", "AMOUNT"
    )
    free: bool = _price(
        "Instead of a price: answer from earlier releases at no cost, or not at all.", default=False
    )


@dataclass(frozen=True)
class BudgetOptions:
    """The budget of all releases together, and its ledger."""

    ledger: Text = _price(
        "The ledger: a file, by default next to the table, or an address in PostgreSQL.", "LEDGER"
    )
    budget_epsilon: Text = _price(
        "The privacy budget: epsilon of all releases together.", "EPSILON"
    )
    budget_delta: Text = _price("With --budget-epsilon.", "DELTA")
    budget_rho: Text = _price("Instead: a budget in rho.", "RHO")


@dataclass(frozen=True)
class OutputOptions:
    json: bool = _out("Print JSON.", default=False)
    csv: bool = _out("Print CSV.", default=False)
    plot: Text = _out("Draw to a .png, .svg or .pdf file.", "FILE")
    certificate: Texts = _out(
        "Write the certificate: .json to check, .html to read. May be given twice.", "FILE"
    )
    tag: Text = _out("A label that makes this a new, separately paid release.", "TEXT")
    yes: bool = _price("Accept a weak guarantee.", default=False)


@dataclass(frozen=True)
class FormatOptions:
    """A format of official statistics, and its options."""

    format: Text = _publish(
        "Print SDMX-CSV (sdmx-csv; sdmx-csv-1 for version 1.0), JSON-stat (json-stat), PC-Axis "
        "(px) or, with --output, CSV with its metadata (csvw).",
        "FORMAT",
    )
    output: Text = _publish("With --format: write this file instead.", "FILE")
    structure: Text = _publish("SDMX: the data structure definition.", "AGENCY:ID(1.0)")
    dataflow: Text = _publish("SDMX: the dataflow, instead of a structure.", "AGENCY:ID(1.0)")
    ids: Texts = _publish("SDMX: ids of dimensions, such as site=REF_AREA.", "COL=ID,...")
    constants: Texts = _publish("SDMX: dimensions of one value, such as FREQ=A.", "ID=VALUE,...")
    names: bool = _publish("SDMX 2.0: add columns of names.", default=False)
    labels: Texts = _publish("Publish only these answers.", "LABEL,...")


@dataclass(frozen=True)
class TimedFormatOptions(FormatOptions):
    """The same, with the column that is a time."""

    time: Text = _publish("JSON-stat, PC-Axis: the --by column that is a time.", "COL")


@dataclass(frozen=True)
class RemoteOptions:
    """A service and its token; the table is then the name of a data set."""

    server: Text = _server(
        "Ask a service; the table is then the name of one of its data sets.", "URL"
    )
    token_file: Text = _server(
        "With --server: the file with your token; without it TACIT_TOKEN is read.", "FILE"
    )
    ca_file: Text = _server(
        "With --server: certificates of a certificate authority to trust in addition.", "FILE"
    )


# A flag for each kind of answer, made from the kinds themselves.
#
# They are loaded when a command with such flags or its help is run, and not before:
# ``tacit --help`` needs none of them.


# How a field is written behind a flag: in an error, in the help, and as an example.
_FIELDS: dict[str, tuple[str, str, str]] = {
    "column": ("column", "COL", "age"),
    "q": ("q", "Q", "90"),
    "share": ("share", "SHARE", "1/10"),
    "percentages": ("q,q,...", "Q,Q,...", "25,50,75"),
    "lower": ("lower", "LOW", "0"),
    "upper": ("upper", "HIGH", "100"),
    "edges": ("edge,edge,...", "E0,E1,...", "0,18,65,100"),
    "k": ("k", "K", "3"),
    "keys": ("key,key,...", "KEY,KEY,...", "18,40,65,99"),
    "x": ("x:lower:upper", "X:LOW:HIGH", "age:0:100"),
    "y": ("y:lower:upper", "Y:LOW:HIGH", "pay:0:1000"),
    "weight": ("weight:lower:upper", "WEIGHT:LOW:HIGH", "pay:0:1000"),
}


def _joined(fields: tuple[str, ...], way: int) -> str:
    """Join fields by colons; several columns, each with its bounds, are joined by commas."""
    if "bounds" in fields:
        return ",".join(_FIELDS[field][way] for field in fields if field != "bounds")
    return ":".join(_FIELDS[field][way] for field in fields)


def form(fields: tuple[str, ...]) -> str:
    """Describe the syntax of the fields after a flag.

    >>> form(("column", "lower", "upper"))
    'column:lower:upper'
    """
    return _joined(fields, 0)


def example(fields: tuple[str, ...], lowest: str = "0") -> str:
    """Return an example of the fields after a flag.

    >>> example(("column", "q", "lower", "upper"))
    'age:90:0:100'
    """
    shown = _joined(fields, 2)
    return shown.replace(":0:", f":{lowest}:") if "lower" in fields else shown


def flag_of(of: type[TableStatistic]) -> str:
    return f"--{of.kind.replace('_', '-')}"


def with_kinds(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with a flag for each kind of answer, before ``--method``."""
    from tacit.tables.statistics.base import statistics

    def asking(**given: Any) -> None:
        command(**given)

    flags = list(inspect.signature(command).parameters.values())
    index = [flag.name for flag in flags].index("method")
    return dressed(
        asking, command, [*flags[:index], *map(_parameter, statistics()), *flags[index:]]
    )


def _parameter(of: type[TableStatistic]) -> inspect.Parameter:
    metavar = _joined(of.fields, 1) or None
    option = typer.Option(
        flag_of(of), help=of.help, rich_help_panel=QUESTION_PANEL, metavar=metavar
    )
    return inspect.Parameter(
        of.kind,
        inspect.Parameter.KEYWORD_ONLY,
        default=None if of.fields else False,
        annotation=Annotated[Texts if of.fields else bool, option],
    )


class AskingGroup(TyperGroup):
    """Commands of which some get more flags when they or their help are run."""

    # of those, by name, what returns the command with all of its flags
    asking: ClassVar[Mapping[str, Callable[[], Callable[..., None]]]] = {}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is run, with all of its flags."""
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None and name in self.asking:
            command = self.full_command(name)
        return name, command, rest

    @classmethod
    @cache
    def full_command(cls, name: str) -> Any:
        """Return one of the commands with all of its flags, made once per process."""
        alone = typer.Typer(
            add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich"
        )
        alone.command(name=name)(cls.asking[name]())
        return typer.main.get_command(alone)


# The word after a flag in ``--help``, instead of a type of Python.


_WORDS = {"<int>": "NUMBER", "<float>": "NUMBER"}


def plain(command: Any, context: Any) -> Any:
    """Return a command, or a group with all of its commands, with the help in plain words."""
    # A flag that takes no value has nothing behind it, and an argument has its own name alone.
    for parameter in (*command.params, command.get_help_option(context)):
        if parameter.param_type_name == "argument" or parameter.is_flag:
            parameter.display_type_rich = _Word(None)
        elif parameter.metavar is None:
            parameter.display_type_rich = _Word(_WORDS.get(parameter.display_type(context), "TEXT"))
    for part in getattr(command, "commands", {}).values():
        plain(part, context)
    return command


class _Word:
    """A parameter type with a fixed word in the help."""

    def __init__(self, word: str | None) -> None:
        self._word = word

    def __call__(self, ctx: Any) -> str | None:
        return self._word


# Amounts of privacy in printed JSON: decimals and exact fractions.


def amounts(loss: Budget, *, left: bool = False) -> dict[str, Any]:
    """Return an amount as JSON, rounded against us: a loss up, a remaining budget down.

    >>> from tacit.accounting import epsilon
    >>> amounts(epsilon("1/3"))
    {'kind': 'pure', 'epsilon': 0.33333333333333337, 'exact': {'epsilon': '1/3'}}
    """
    exact = {name: value for name, value in loss.to_json().items() if name != "kind"}
    near = {name: decimal(Fraction(value), up=not left) for name, value in exact.items()}
    return {"kind": loss.kind, **near, "exact": exact}
