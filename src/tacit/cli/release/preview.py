"""``tacit preview``: the errors to expect, before anything is spent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.shared.amounts import amounts
from tacit.cli.shared.options import AskOptions, BudgetOptions, SourceOptions
from tacit.cli.shared.server_flags import ServerOptions
from tacit.cli.shared.signature import options
from tacit.errors import UsageError

if TYPE_CHECKING:
    from tacit.cli.release.job import Job
    from tacit.tables.written.asked import Asked

__all__ = ["PreviewOptions", "preview", "show_previews"]


@dataclass(frozen=True)
class PreviewOptions:
    """How a preview is shown."""

    sizes: Annotated[
        str,
        typer.Option("--sizes", help="Group sizes for which errors are shown."),
    ] = "100,1000,10000"
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            help="Instead of --epsilon: find the least one with which errors are within these.",
            metavar="LABEL=ERROR,...",
        ),
    ] = None
    confidence: Annotated[
        str,
        typer.Option(
            "--confidence", help="With --target: the share of releases in which the error is kept."
        ),
    ] = "0.95"
    target_rows: Annotated[
        int,
        typer.Option("--target-rows", help="With --target: the group size to plan for."),
    ] = 1000
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False


@options
def preview(
    source: SourceOptions,
    ask: AskOptions,
    budget: BudgetOptions,
    show: PreviewOptions,
    server: ServerOptions,
) -> None:
    """Show the expected errors; spend nothing and read no private value.

    [bold]tacit preview adult.csv --mean age:0:100 --by sex --keys Male,Female --epsilon 0.5[/bold]
    [bold]tacit preview adult.csv --mean age:0:100 --target mean_age=1 --confidence 0.95[/bold]
    """
    from tacit.cli.release.release import job_of

    asked_for = ask if show.target is None else _any_price(ask)
    show_previews(job_of(source, asked_for, budget, None, server), show)


def show_previews(job: Job, show: PreviewOptions) -> None:
    """Show the errors to expect of the questions of a job."""
    from tacit.arithmetic.exact import show as show_number
    from tacit.cli.release.free import free_notes
    from tacit.cli.release.job import opened
    from tacit.cli.shared.flag_values import labelled, whole_range
    from tacit.cli.shared.output import note, print_json, print_table, working
    from tacit.report.text.words import budget_words, number

    sizes = whole_range(show.sizes, "--sizes")
    sure = None if show.target is None else show.confidence
    found: list[dict[str, Any]] = []
    with opened(job, spend=False) as (session, ledger, _):
        for asked in job.questions:
            question = asked.question(session)
            if asked.free:
                found.append(_free(question, asked, show))
                continue
            with working("computing the errors to expect"):
                if show.target is not None:
                    targets = labelled(show.target, "a target")
                    least = question.epsilon_for(
                        targets, show.confidence, rows=show.target_rows, delta=asked.delta
                    )
                    asked = replace(asked, epsilon=least)
                expected = question.preview(**asked.price, rows=sizes, confidence=sure)
                answered = question.is_answered(**asked.price, tag=asked.tag)
                free = question.is_charged(**asked.price, tag=asked.tag)
            free_of = free_notes(question, asked, expected)
            found.append(
                {
                    "name": asked.name,
                    "errors": expected.to_dict(),
                    "cost": amounts(expected.cost),
                    "remaining": amounts(expected.remaining, left=True),
                    "protects": session.unit.describe(),
                    "notes": list(expected.notes),
                    "weak": expected.weak,
                    "affordable": free or expected.affordable,
                    "answered": answered,
                    "open": free and not answered,
                    "threshold": expected.threshold,
                    "methods": expected.methods,
                    "refusals": {k: list(v) for k, v in expected.refusals.items()},
                    "epsilon": None if show.target is None else str(asked.epsilon),
                    "intervals": {k: list(v) for k, v in expected.intervals.items()},
                    "bounds": {k: [str(e) for e in v] for k, v in expected.bounds.items()},
                    "follows": free_of,
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
            for label, told in expected.within().items():
                print(f"{label}: {told}.")
            for label, told in expected.methods.items():
                print(f"{label}: {told}.")
            for label, told in expected.clamped().items():
                print(f"{label}: {told}.")
            for label, told in expected.refused().items():
                print(f"{label}: refused with probability {told}.")
            if expected.threshold is not None:
                print(f"A group is shown if it has about {expected.threshold} people or more.")
            for told in (*expected.notes, *free_of):
                print(f"{told.removesuffix('.')}.")  # those of a service are whole sentences
            if expected.weak is not None:
                print(f"{expected.weak}; tacit release asks for --yes.")
            if show.target is not None:
                print(
                    f"This takes --epsilon {show_number(least)}, the least for {show.target} in a "
                    f"group of {show.target_rows} rows."
                )
                if not (ledger or job.budget or job.table.declared):
                    continue  # there is no budget to hold it against
            verdict = (
                "was asked before, and is free"
                if answered
                else "was charged before and is open: it is answered at no further cost"
                if free
                else f"costs {budget_words(expected.cost)} of the "
                f"{budget_words(expected.remaining)} that is left"
            )
            print(f"This release {verdict}.")
            if not free and not expected.affordable:
                note("It would be refused: the budget does not cover it.")
    if show.json:
        print_json({"previews": found})


def _free(question: Any, asked: Asked, show: PreviewOptions) -> dict[str, Any]:
    """Show the errors of an answer that follows from earlier releases, and return them."""
    from tacit.cli.release.free import told_free
    from tacit.cli.shared.output import print_table
    from tacit.report.text.words import number

    errors = told_free(question, asked)
    if not show.json:
        if asked.name:
            print(asked.name)
        rows = [[label, number(error, error / 10)] for label, error in errors.items()]
        print_table(["label", "standard error"], rows, right=range(1, 2))
        print("It follows from earlier releases, and costs nothing.")
    return {"name": asked.name, "free": True, "errors": errors}


def _any_price(ask: AskOptions) -> AskOptions:
    """Return the flags of a question whose price is still to be found, with some price.

    Raises:
        UsageError: a price that is said already.
    """
    said = [name for name in ("epsilon", "rho", "total", "free", "plan") if getattr(ask, name)]
    if said:
        raise UsageError(f"--target finds the epsilon: leave --{said[0]} out")
    return replace(ask, epsilon="1")
