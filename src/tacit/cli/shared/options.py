"""Options that commands share, with their help."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol, get_origin, get_type_hints

import typer
from typer.core import TyperGroup

from tacit.arithmetic.exact import decimal

if TYPE_CHECKING:
    from tacit.accounting import Budget
    from tacit.tables.statistics.base import Kind

# Commands whose flags are the fields of dataclasses.


def flag(*names: str, help: str, panel: str, metavar: str | None = None) -> Any:
    """Return a flag of a command, in a panel of its help."""
    return typer.Option(*names, help=help, rich_help_panel=panel, metavar=metavar)


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
    hints = get_type_hints(group, include_extras=True)
    return {
        field.name: inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty
            if field.default is dataclasses.MISSING
            else field.default,
            annotation=hints[field.name],
        )
        for field in dataclasses.fields(group)
        if get_origin(hints[field.name]) is Annotated
    }


# Flags of the price of one release.


PRICE = "What it may cost"  # the panel of the help with these flags

Epsilon = Annotated[
    str | None,
    flag(
        "--epsilon",
        help="What this release spends; or a weight for each answer, with --total.",
        panel=PRICE,
        metavar="EPSILON",
    ),
]
Delta = Annotated[
    str | None,
    flag(
        "--delta",
        help="With --epsilon: for keys that are not public, and for some methods.",
        panel=PRICE,
        metavar="DELTA",
    ),
]
Rho = Annotated[
    str | None,
    flag(
        "--rho",
        help="Instead: rho, for zero-concentrated differential privacy.",
        panel=PRICE,
        metavar="RHO",
    ),
]
Total = Annotated[
    str | None,
    flag(
        "--total",
        help="With weights, as in --epsilon count=1,mean_age=3: the total that they split.",
        panel=PRICE,
        metavar="AMOUNT",
    ),
]

Free = Annotated[
    bool,
    flag(
        "--free",
        help="Instead of a price: answer from earlier releases at no cost, or not at all.",
        panel=PRICE,
    ),
]


class PricedOptions(Protocol):
    """Options of a command with the flags of a price."""

    @property
    def epsilon(self) -> str | None: ...

    @property
    def delta(self) -> str | None: ...

    @property
    def rho(self) -> str | None: ...

    @property
    def total(self) -> str | None: ...

    @property
    def free(self) -> bool: ...


# The flags that commands share, as dataclasses that become signatures.


QUESTION_PANEL = "The question"  # panel of the help with the flags of the kinds of answers
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
    """A table, and the people of its rows."""

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
    """The question to the table, and its price."""

    # for each kind of answer, the values of its flag
    kinds: Mapping[str, Any] = field(default_factory=dict)

    method: Annotated[
        str | None,
        flag(
            "--method",
            help="For mean, var, std, median and percentile: global, smooth, ptr, "
            "sample_and_aggregate or auto.",
            panel=QUESTION_PANEL,
            metavar="NAME",
        ),
    ] = None
    bound: Annotated[
        str | None,
        flag(
            "--bound",
            help="With --method ptr: the local sensitivity to propose, or search.",
            panel=QUESTION_PANEL,
            metavar="BOUND",
        ),
    ] = None
    bins: Annotated[
        int | None,
        flag(
            "--bins",
            help="With --method sample_and_aggregate: the number of bins.",
            panel=QUESTION_PANEL,
            metavar="N",
        ),
    ] = None
    distribution: Annotated[
        str | None,
        flag(
            "--distribution",
            help="With --method smooth: the distribution of the noise.",
            panel=QUESTION_PANEL,
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
            help="2: find unlisted groups in two rounds, more of them where people are in many.",
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
            help="Make one row per person first, with this column: n=count, total=sum:cost:0:5000.",
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
            panel=QUESTION_PANEL,
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
    """The budget of all releases together, and its ledger."""

    ledger: Annotated[
        str | None,
        flag(
            "--ledger",
            help="The ledger: a file, by default next to the table, or an address in PostgreSQL.",
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


# Flags of a service, instead of a local table.


_SERVER = "Asking a service"


@dataclass(frozen=True)
class ServerOptions:
    """A service and its token; the table is then the name of a data set."""

    server: Annotated[
        str | None,
        flag(
            "--server",
            help="Ask a service; the table is then the name of one of its data sets.",
            panel=_SERVER,
            metavar="URL",
        ),
    ] = None
    token_file: Annotated[
        str | None,
        flag(
            "--token-file",
            help="With --server: the file with your token; without it TACIT_TOKEN is read.",
            panel=_SERVER,
            metavar="FILE",
        ),
    ] = None
    ca_file: Annotated[
        str | None,
        flag(
            "--ca-file",
            help="With --server: certificates of a certificate authority to trust in addition.",
            panel=_SERVER,
            metavar="FILE",
        ),
    ] = None


# A flag for each kind of answer, made from the kinds themselves.
#
# They are loaded when a command with such flags or its help is run, and not before:
# ``tacit --help`` needs none of them.


# How a field is written behind a flag: in an error, in the help, and as an example.
_FIELDS: dict[str, tuple[str, str, str]] = {
    "column": ("column", "COL", "age"),
    "q": ("q", "Q", "90"),
    "percentages": ("q,q,...", "Q,Q,...", "25,50,75"),
    "lower": ("lower", "LOW", "0"),
    "upper": ("upper", "HIGH", "100"),
    "edges": ("edge,edge,...", "E0,E1,...", "0,18,65,100"),
    "k": ("k", "K", "3"),
    "keys": ("key,key,...", "KEY,KEY,...", "18,40,65,99"),
    "x": ("x:lower:upper", "X:LOW:HIGH", "age:0:100"),
    "y": ("y:lower:upper", "Y:LOW:HIGH", "pay:0:1000"),
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


def example(fields: tuple[str, ...]) -> str:
    """Return an example of the fields after a flag.

    >>> example(("column", "q", "lower", "upper"))
    'age:90:0:100'
    """
    return _joined(fields, 2)


def flag_of(kind: Kind) -> str:
    """Return the flag of a kind."""
    return f"--{kind.name.replace('_', '-')}"


def with_kinds(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with a flag for each kind of answer, before ``--method``."""
    from tacit.tables.statistics.base import kinds

    def asking(**given: Any) -> None:
        command(**given)

    flags = list(inspect.signature(command).parameters.values())
    index = [flag.name for flag in flags].index("method")
    return dressed(asking, command, [*flags[:index], *map(_parameter, kinds()), *flags[index:]])


def _parameter(kind: Kind) -> inspect.Parameter:
    metavar = _joined(kind.fields, 1) or None
    option = typer.Option(
        flag_of(kind), help=kind.help, rich_help_panel=QUESTION_PANEL, metavar=metavar
    )
    return inspect.Parameter(
        kind.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None if kind.fields else False,
        annotation=Annotated[Texts if kind.fields else bool, option],
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
    def full_command(cls, name: str) -> Any:
        """Return one of the commands with all of its flags."""
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
