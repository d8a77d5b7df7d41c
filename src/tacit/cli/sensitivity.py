"""The commands `tacit sensitivity` and `tacit choose-epsilon`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from tacit.arithmetic.exact import float_down, show
from tacit.cli.shared.options import Text, Texts, argument, flag, options
from tacit.cli.shared.output import check_files, draw, note, print_json, print_table, working
from tacit.errors import UsageError, did_you_mean

# The domain that flags describe: records, public values or an interval.


_values = partial(flag, panel="The values of a release")
_NUMBERS = ("integer", "float", "decimal")
_TEXT = "text"


@dataclass(frozen=True)
class PopulationOptions:
    """A known population, public values, or an interval; and the number of values of a release."""

    records: Text = _values("A known population: numbers, separated by commas.", "X,X,...")
    values: Text = _values("Public values, each of which may occur any number of times.", "X,X,...")
    interval: Text = _values("All numbers in this range.", "LOW:HIGH")
    csv: Text = _values("A public CSV or Parquet file whose columns are the records.", "FILE")
    column: Texts = _values("A column of it; may be given several times.", "COL")
    size: int | None = _values("The number of records in a data set.")


def domain_of(given: PopulationOptions) -> Any:
    """Return the domain, or one for each column."""
    from tacit.cli.shared.flag_values import numbers
    from tacit.statistics import Interval, Records, Values

    kinds = [given.records, given.values, given.interval, given.csv]
    if sum(kind is not None for kind in kinds) != 1:
        raise UsageError(
            "give the values of a release in one way: --records 1,2,5, --values 1,2,3, "
            "--interval 0:100, or --csv file.csv --column name"
        )
    if given.column and given.csv is None:
        raise UsageError("--column names a column of --csv")
    if given.records is not None:
        return Records(numbers(given.records, "a record"), given.size)
    if given.values is not None:
        return Values(numbers(given.values, "a value"), given.size)
    if given.interval is not None:
        low, sign, high = given.interval.partition(":")
        if not sign:
            raise UsageError(f"an interval is LOW:HIGH, such as 0:100, not {given.interval!r}")
        return Interval(low, high, given.size)
    assert given.csv is not None
    columns = _columns(given.csv, given.column or ())
    if len(columns) == 1:
        return Records(next(iter(columns.values())), given.size)
    return Records(columns, given.size)


def _columns(path: str, names: Sequence[str]) -> dict[str, list[Any]]:
    """Read columns of a public file; all numeric ones by default."""
    # The population is public, so its cells may decide the kind of a column of a CSV file.
    from tacit.tables.open_source import open_source

    with open_source(path) as source:
        for name in names:
            source.schema.column(name)
        readable = [n for n, c in source.schema.items() if c.kind in (*_NUMBERS, "undeclared")]
        quoted = ", ".join(source.engine.dialect.identifier(name) for name in readable)
        rows = source.engine.rows(f"select {quoted} from {source.relation}") if readable else []
        kinds = source.columns
    values_by_name = {
        name: [_number(row[index]) if kinds[name] == "undeclared" else row[index] for row in rows]
        for index, name in enumerate(readable)
    }
    numeric = [name for name, cells in values_by_name.items() if _TEXT not in cells]
    for name in names:
        if name not in numeric:
            kind = "text" if name in values_by_name else kinds[name]
            raise UsageError(f"{name!r} holds {kind}, not numbers; {did_you_mean(name, numeric)}")
    if not numeric:
        raise UsageError(f"{path} has no column of numbers")
    chosen = {name: values_by_name[name] for name in names or numeric}
    for name, values in chosen.items():
        if None in values:
            raise UsageError(
                f"{name!r} has missing values, and a population has none; leave those rows out"
            )
    return chosen


def _number(cell: str | None) -> Any:
    """Return the exact number in a cell, or its text if it is not a number.

    >>> _number("6.5"), _number("a"), _number(None)
    (Fraction(13, 2), 'text', None)
    """
    from tacit.expressions.dialect import read_cell

    if cell is None:
        return None
    return _TEXT if read_cell("read_number", cell) is None else Fraction(cell.strip(" "))


# ``tacit sensitivity``: how far a statistic can move between neighbouring releases.


_RELATIONS = ("unbounded", "add", "remove", "bounded")
_MAX_SHOWN = 12


@dataclass(frozen=True)
class StatisticOptions:
    """Which statistics, and between which neighbours."""

    statistics: list[str] = argument(
        "count, sum, mean, median, var, std, min, max, percentile:25, var:1 and std:1 "
        "(ddof), interquartile_range, range, mad, gini, mode, trimmed_mean:0.1, "
        "winsorized_mean:0.1; with the word table in front: a table "
        "of every release and its neighbours.",
        "[table] STATISTIC...",
        default=...,
    )
    distance: str = flag("How many records differ: 1, 1..4 or 1,2,5.", default="1")
    relation: str = flag(
        "unbounded, add, remove, bounded, or both (unbounded and bounded).", default="unbounded"
    )
    at: Text = flag("A release: its local sensitivity.", "X,X,...")
    exactly: bool = flag(
        "Neighbours at exactly the distance, in one direction; no guarantee.", default=False
    )
    plot: Text = flag("Draw to a .png, .svg or .pdf file.")
    json: bool = flag("Print JSON.", default=False)


@options
def sensitivity(ask: StatisticOptions, over: PopulationOptions) -> None:
    """Compute sensitivities exactly, with the two neighbours that attain them.

    [bold]tacit sensitivity median --records 1,2,2,2,5,5,7,8,9,9 --size 6 --distance 1..4[/bold]
    """
    from tacit.cli.shared.flag_values import integer_range, numbers

    check_files(ask.plot, ())
    relations = relations_of(ask.relation)
    distances = integer_range(ask.distance, "--distance")
    statistics = ask.statistics
    if statistics[0] == "table":
        if len(statistics) != 2 or len(distances) != 1 or len(relations) != 1 or ask.at:
            raise UsageError(
                "a table is of one statistic, distance and relation, over all releases: "
                "tacit sensitivity table median --records 1,2,3,10,11 --size 3"
            )
        over_one = domain_of(over)
        if getattr(over_one, "columns", None) is not None:
            raise UsageError(
                f"a table is of one column; add --column with one of {', '.join(over_one.columns)}"
            )
        _table(statistics[1], over_one, distances[0], relations[0], ask)
        return
    at = None if ask.at is None else numbers(ask.at, "a value of --at")
    _profile(statistics, domain_of(over), distances, relations, at, ask)


def relations_of(text: str) -> list[Any]:
    """Return the neighbour relations that a word names."""
    from tacit.statistics.question import unknown_relation

    if text == "both":
        return ["unbounded", "bounded"]
    if text not in _RELATIONS:
        raise unknown_relation(text, [*_RELATIONS, "both"])
    return [text]


def _profile(
    statistics: Sequence[str],
    over: Any,
    distances: Sequence[int],
    relations: Sequence[Any],
    at: Any,
    ask: StatisticOptions,
) -> None:
    from tacit.statistics import sensitivity_profile

    with working("computing"):
        profile = sensitivity_profile(
            statistics, over, distances, relations, at=at, within=not ask.exactly
        )
    rows = profile.rows
    answered = [row.answer for row in rows if row.answer is not None]
    if ask.json:
        print_json({"sensitivities": [_record(row) for row in rows]})
    else:
        several = any(row.column for row in rows)
        print_table(
            [*(["column"] if several else []), "statistic", "scope", "relation",
             "within" if profile.within else "exactly", "sensitivity", "method"],
            [
                [*([row.column] if several else []), row.statistic.name, row.scope, row.relation,
                 str(row.distance),
                 "cannot be made" if row.answer is None else show(row.answer.value),
                 "" if row.answer is None else row.answer.method]
                for row in rows
            ],
        )  # fmt: skip
        if len(answered) == 1 and answered[0].witness is not None:
            print("It is attained between the neighbours")
            for records in answered[0].witness:
                print(f"  {_records(records)}")
    for text in dict.fromkeys(n for a in answered for n in (*a.notes, a.why_no_guarantee) if n):
        note(f"Note: {text}")
    draw(lambda: (answered[0] if len(rows) == 1 else profile).plot(), ask.plot)


def _records(records: Sequence[Any]) -> str:
    shown = ", ".join(str(value) for value in records[:_MAX_SHOWN])
    more = len(records) - _MAX_SHOWN
    return f"{{{shown}, and {more} more}}" if more > 0 else f"{{{shown}}}"


def _record(row: Any) -> dict[str, Any]:
    """Return one point as plain JSON values: the exact value as text, and a float."""
    answer = row.answer
    record = {
        "column": row.column or None,
        "statistic": row.statistic.name,
        "scope": row.scope,
        "relation": row.relation,
        "distance": row.distance,
    }
    if answer is None:
        return {**record, "value": None, "feasible": False}
    witness = answer.witness
    return {
        **record,
        "value": float(answer),
        "exact_value": str(answer.value) if not isinstance(answer.value, float) else None,
        "exact": answer.exact,
        "method": answer.method,
        "evaluations": answer.evaluations,
        "guarantee": answer.is_guarantee,
        "notes": list(answer.notes),
        "witness": None if witness is None else [[str(v) for v in side] for side in witness],
    }


def _table(statistic: str, over: Any, distance: int, relation: Any, ask: StatisticOptions) -> None:
    from tacit.statistics import sensitivity_table

    with working("listing"):
        table = sensitivity_table(statistic, over, distance, relation, not ask.exactly)
    if ask.json:
        print_json(
            {
                "statistic": table.statistic.name,
                "relation": relation,
                "distance": distance,
                "global": str(table.value),
                "releases": [
                    {
                        "records": [str(v) for v in release.records],
                        "value": str(release.value),
                        "local": str(release.local),
                        "neighbours": [
                            {
                                "records": [str(v) for v in near.records],
                                "value": str(near.value),
                                "difference": str(near.gap),
                            }
                            for near in release.neighbours
                        ],
                    }
                    for release in table.releases
                ],
            }
        )
    else:
        print_table(
            ["release", table.statistic.name, "neighbours", "farthest neighbour", "local"],
            [
                [
                    _records(release.records),
                    _value(release.value),
                    str(len(release.neighbours)),
                    next(
                        (_records(n.records) for n in release.neighbours if release.is_largest(n)),
                        "",
                    ),
                    show(release.local) + (" *" if release.local == table.value else ""),
                ]
                for release in table.releases
            ],
            title=f"{table.statistic.name}, {relation}, distance {distance}",
        )
        print(f"* global sensitivity: {show(table.value)}")
    draw(table.plot, ask.plot)


def _value(value: Any) -> str:
    return show(value) if isinstance(value, (Fraction, int, float)) else show(float(value))


# ``tacit choose-epsilon``: the largest epsilon within a disclosure risk.


@dataclass(frozen=True)
class Risk:
    """The statistic, and the accepted disclosure risk."""

    statistic: str = argument("count, sum, mean, median, percentile:25, ...", default=...)
    risk: str = flag(
        "How sure anyone may become which data set is the true one, below 1.", default=...
    )
    relation: str = flag("unbounded, add, remove or bounded.", default="unbounded")
    plot: Text = flag("Draw to a .png, .svg or .pdf file.")
    json: bool = flag("Print JSON.", default=False)


@options
def choose_epsilon(ask: Risk, over: PopulationOptions) -> None:
    """Choose epsilon from a disclosure risk, over all possible data sets of a small population.

    [bold]tacit choose-epsilon median --records 1,2,3,10 --size 3 --risk 1/3[/bold]
    """
    from tacit.accounting.choose_epsilon import choose_epsilon as choose
    from tacit.statistics import Records

    check_files(ask.plot, ())
    domain = domain_of(over)
    if not isinstance(domain, Records) or domain.columns is not None or domain.size is None:
        raise UsageError(
            "a risk is for releases of some records of a known population: --records 1,2,3,10 "
            "--size 3"
        )
    if ask.relation == "both":
        raise UsageError("the noise is for one relation: --relation unbounded or bounded")
    (relation,) = relations_of(ask.relation)
    with working("going through the possible worlds"):
        choice = choose(ask.statistic, domain.sample.values(), domain.size, ask.risk, relation)
    if ask.json:
        print_json(
            {
                "statistic": choice.statistic.name,
                "risk": str(choice.risk),
                "epsilon": _plain(choice.tight),
                "bound": _plain(choice.bound),
                "worlds": choice.worlds,
                "sensitivity": float(choice.sensitivity),
                "largest_difference": float(choice.largest_difference),
            }
        )
    else:
        print(choice)
        note(
            "This holds for this population, and for readers who consider all worlds equally "
            "likely; differential privacy itself assumes neither."
        )
    draw(choice.plot, ask.plot)


def _plain(value: Fraction | float) -> float | None:
    """Return a float not above the value; None if every epsilon is within the risk."""
    if isinstance(value, float):
        return None if math.isinf(value) else value
    return float_down(value)
