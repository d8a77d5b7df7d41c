"""``tacit preview``: the errors to expect, before anything is spent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from tacit.cli.shared.options import AskOptions, BudgetOptions, SourceOptions
from tacit.cli.shared.signature import options

__all__ = ["preview"]


@dataclass(frozen=True)
class PreviewOptions:
    """How a preview is shown."""

    sizes: Annotated[
        str,
        typer.Option("--sizes", help="Sizes of a group for which errors are shown."),
    ] = "100,1000,10000"
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False


@options
def preview(
    source: SourceOptions, ask: AskOptions, budget: BudgetOptions, show: PreviewOptions
) -> None:
    """Show the expected errors; spend nothing and read no private value.

    [bold]tacit preview adult.csv --mean age:0:100 --by sex --keys Male,Female --epsilon 0.5[/bold]
    """
    from tacit.cli.release.job import opened
    from tacit.cli.release.release import job_of
    from tacit.cli.shared.flag_values import whole_range
    from tacit.cli.shared.output import note, print_json, print_table
    from tacit.report.text.words import budget_words, number

    sizes = whole_range(show.sizes, "--sizes")
    job = job_of(source, ask, budget, None)
    found: list[dict[str, Any]] = []
    with opened(job, spend=False) as (session, _, _):
        for asked in job.questions:
            question = asked.question(session)
            expected = question.preview(**asked.price, rows=sizes)
            answered = question.is_answered(**asked.price, tag=asked.tag)
            free = question.is_charged(**asked.price, tag=asked.tag)
            found.append(
                {
                    "name": asked.name,
                    "errors": expected.to_dict(),
                    "cost": expected.cost.to_json(),
                    "remaining": expected.remaining.to_json(),
                    "protects": session.unit.describe(),
                    "notes": list(expected.notes),
                    "weak": expected.weak,
                    "affordable": free or expected.affordable,
                    "answered": answered,
                    "open": free and not answered,
                    "threshold": expected.threshold,
                    "methods": expected.methods,
                    "refusals": {k: list(v) for k, v in expected.refusals.items()},
                    "bounds": {k: [str(e) for e in v] for k, v in expected.bounds.items()},
                }
            )
            if show.json:
                continue
            if asked.name:
                print(asked.name)
            print(expected.protects)
            table = expected.to_dict()
            rows = [
                [
                    cell if isinstance(cell, str) else number(float(cell), float(cell) / 10)
                    for cell in row
                ]
                for row in zip(*table.values(), strict=True)
            ]
            print_table(list(table), rows, right=range(2, len(table)))
            print("The error of a group depends on its size; nothing was spent.")
            for label, told in expected.methods.items():
                print(f"{label}: {told}.")
            for label, told in expected.clamped().items():
                print(f"{label}: {told}.")
            for label, told in expected.refused().items():
                print(f"{label}: refused with probability {told}.")
            if expected.threshold is not None:
                print(f"A group is shown if it has about {expected.threshold} people or more.")
            for told in expected.notes:
                print(f"{told}.")
            if expected.weak is not None:
                print(f"{expected.weak}; tacit release asks for --yes.")
            verdict = (
                "was asked before, and is free"
                if answered
                else "was charged before and is open: it goes on at no further cost"
                if free
                else f"costs {budget_words(expected.cost)} of the "
                f"{budget_words(expected.remaining)} that is left"
            )
            print(f"This release {verdict}.")
            if not free and not expected.affordable:
                note("It would be refused: the budget does not cover it.")
    if show.json:
        print_json({"previews": found})
