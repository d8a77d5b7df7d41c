"""``tacit sensitivity``: how far a statistic can move between neighbouring releases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from tacit.cli.sensitivity.domain_options import Population, domain_of
from tacit.cli.shared.signature import options
from tacit.errors import UsageError

__all__ = ["relations_of", "sensitivity"]

_RELATIONS = ("unbounded", "add", "remove", "bounded")
_MOST_SHOWN = 12


@dataclass(frozen=True)
class Asking:
    """Which statistics, and between which neighbours."""

    statistics: Annotated[
        list[str],
        typer.Argument(
            help="count, sum, mean, median, var, std, min, max, percentile:25, var:1 and std:1 "
            "(ddof), interquartile_range, trimmed_mean:0.1; with the word table in front: a table "
            "of every release and its neighbours.",
            metavar="[table] STATISTIC...",
        ),
    ]
    distance: Annotated[
        str, typer.Option("--distance", help="How many records differ: 1, 1..4 or 1,2,5.")
    ] = "1"
    relation: Annotated[
        str,
        typer.Option(
            "--relation", help="unbounded, add, remove, bounded, or both (unbounded and bounded)."
        ),
    ] = "unbounded"
    at: Annotated[
        str | None,
        typer.Option("--at", help="A release: its local sensitivity.", metavar="X,X,..."),
    ] = None
    exactly: Annotated[
        bool,
        typer.Option(
            "--exactly", help="Neighbours at exactly the distance, in one direction; no guarantee."
        ),
    ] = False
    plot: Annotated[
        str | None, typer.Option("--plot", help="Draw to a .png, .svg or .pdf file.")
    ] = None
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False


@options
def sensitivity(ask: Asking, over: Population) -> None:
    """Compute sensitivities exactly, with the two neighbours that attain them.

    [bold]tacit sensitivity median --records 1,2,2,2,5,5,7,8,9,9 --size 6 --distance 1..4[/bold]
    """
    from tacit.cli.shared.flag_values import numbers, whole_range
    from tacit.cli.shared.output import check_files

    check_files(ask.plot, ())
    relations = relations_of(ask.relation)
    distances = whole_range(ask.distance, "--distance")
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
    from tacit.errors import did_you_mean

    if text == "both":
        return ["unbounded", "bounded"]
    if text not in _RELATIONS:
        raise UsageError(f"relation {text!r}: {did_you_mean(text, [*_RELATIONS, 'both'])}")
    return [text]


def _profile(
    statistics: Sequence[str],
    over: Any,
    distances: Sequence[int],
    relations: Sequence[Any],
    at: Any,
    ask: Asking,
) -> None:
    from tacit.arithmetic.exact import show
    from tacit.cli.shared.output import note, print_json, print_table, save_plot, working
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
        if len(answered) == 1:
            _witness(answered[0])
    for text in dict.fromkeys(n for a in answered for n in (*a.notes, a.why_no_guarantee) if n):
        note(f"Note: {text}")
    if ask.plot is not None:
        with working("drawing"):
            save_plot((answered[0] if len(rows) == 1 else profile).plot(), ask.plot)
        note(f"wrote {ask.plot}")


def _witness(answer: Any) -> None:
    if answer.witness is None:
        return
    print("It is attained between the neighbours")
    for records in answer.witness:
        print(f"  {_records(records)}")


def _records(records: Sequence[Any]) -> str:
    shown = ", ".join(str(value) for value in records[:_MOST_SHOWN])
    more = len(records) - _MOST_SHOWN
    return f"{{{shown}, and {more} more}}" if more > 0 else f"{{{shown}}}"


def _record(row: Any) -> dict[str, Any]:
    """Return one point as plain JSON values: the exact value as text beside a float."""
    found = row.answer
    record = {
        "column": row.column or None,
        "statistic": row.statistic.name,
        "scope": row.scope,
        "relation": row.relation,
        "distance": row.distance,
    }
    if found is None:
        return {**record, "value": None, "feasible": False}
    witness = found.witness
    return {
        **record,
        "value": float(found),
        "exact_value": str(found.value) if not isinstance(found.value, float) else None,
        "exact": found.exact,
        "method": found.method,
        "evaluations": found.evaluations,
        "guarantee": found.is_guarantee,
        "notes": list(found.notes),
        "witness": None if witness is None else [[str(v) for v in side] for side in witness],
    }


def _table(statistic: str, over: Any, distance: int, relation: Any, ask: Asking) -> None:
    from tacit.arithmetic.exact import show
    from tacit.cli.shared.output import note, print_json, print_table, save_plot, working
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
    if ask.plot is not None:
        with working("drawing"):
            save_plot(table.plot(), ask.plot)
        note(f"wrote {ask.plot}")


def _value(value: Any) -> str:
    from fractions import Fraction

    from tacit.arithmetic.exact import show

    return show(value) if isinstance(value, (Fraction, int, float)) else show(float(value))
