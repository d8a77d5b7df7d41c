"""The command `tacit together`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.cli.release.release import PreviewOptions, priced_job, publish, show_previews
from tacit.cli.shared.options import (
    QUESTION_PANEL,
    BudgetOptions,
    OutputOptions,
    PriceOptions,
    RemoteOptions,
    SourceOptions,
    Text,
    Texts,
    TimedFormatOptions,
    argument,
    flag,
    options,
)
from tacit.cli.shared.output import check_files, note, print_table, working
from tacit.errors import UsageError

if TYPE_CHECKING:
    from tacit.cli.release.job import ReleaseRun

# ``tacit together``: several questions in SQL as one plan, under one charge.


_question = partial(flag, panel=QUESTION_PANEL)


@dataclass(frozen=True)
class TogetherOptions:
    queries: Texts = argument(
        "The questions, one query each, such as 'select count(*) as n from visits'.", "QUERY..."
    )
    weights: Text = _question(
        "How much the squared errors of an answer count; 1 each by default.", "LABEL=WEIGHT,..."
    )
    least: str = _question(
        "Which error of the counts is minimised: total, relative or worst.", default="total"
    )
    unlisted: str = _question(
        "What becomes of rows that are in no listed group or bin: count or drop.", default="count"
    )
    nonnegative: bool = _question("Publish no count below zero.", default=False)
    preview: bool = _question(
        "Show the strategy and the expected errors, and spend nothing.", default=False
    )
    page: Text = _question("With --preview: write the plan as a page, .html.", "FILE")
    sizes: str = _question(
        "With --preview: group sizes for which errors are shown.", default="100,1000,10000"
    )


@options
def together(
    source: SourceOptions,
    ask: TogetherOptions,
    price: PriceOptions,
    budget: BudgetOptions,
    output: OutputOptions,
    published: TimedFormatOptions,
    server: RemoteOptions,
) -> None:
    """Ask several questions in SQL as one plan: less error than one by one, under one charge.

    [bold]tacit together visits.toml "select count(*) as n from visits"[/bold]
    [bold]  "select site, count(*) as k from visits group by site" --epsilon 0.5[/bold]
    """
    job = _job_of(source, ask, price, budget, output, server)
    if not ask.preview:
        if ask.page is not None:
            raise UsageError("--page shows a plan before it is released: give it with --preview")
        publish(job, output, published)
        return
    check_files(None, () if ask.page is None else (ask.page,))
    show_previews(job, PreviewOptions(sizes=ask.sizes, json=output.json))
    _show_plan(job, ask, quiet=output.json)


def _job_of(
    source: SourceOptions,
    ask: TogetherOptions,
    price: PriceOptions,
    budget: BudgetOptions,
    output: OutputOptions,
    server: RemoteOptions,
) -> ReleaseRun:
    from tacit.cli.release.job import table_of
    from tacit.cli.release.plan_file import JointRequest
    from tacit.cli.shared.flag_values import labelled
    from tacit.tables.question_formats import QuestionRequest

    table = table_of(source, "together", server)
    if not ask.queries:
        raise UsageError(
            "write the queries: tacit together visits.toml 'select count(*) from visits' ..."
        )
    for name in ("total", "free"):
        if getattr(price, name):
            raise UsageError(f"a plan has one price, --epsilon or --rho: leave --{name} out")
    if output.plot is not None:
        raise UsageError("--plot draws one answer, and a plan has several: leave it out")
    if "=" in (price.epsilon or "") or "=" in (price.rho or ""):
        raise UsageError("a plan takes one --epsilon or --rho; --weights n=10 is next to it")
    job = priced_job(source, price, budget, output, table=table, aggregates={})
    (one,) = job.questions
    weights: Any = None
    if ask.weights is not None:
        weights = {name: int(n) for name, n in _integers(labelled(ask.weights, "a weight")).items()}
    joint = JointRequest(
        aggregates={},
        epsilon=one.epsilon,
        delta=one.delta,
        rho=one.rho,
        tag=one.tag,
        certificates=one.certificates,
        requests=tuple(
            QuestionRequest(aggregates={}, sql=sql, name=f"Question {number}")
            for number, sql in enumerate(ask.queries, 1)
        ),
        options={
            "weights": weights,
            "least": ask.least,
            "unlisted": ask.unlisted,
            "nonnegative": ask.nonnegative,
        },
    )
    return replace(job, questions=(joint,))


def _integers(weights: dict[str, Any]) -> dict[str, Any]:
    for label, weight in weights.items():
        if not str(weight).isascii() or not str(weight).isdigit():
            raise UsageError(f"the weight of {label!r} is a whole number, such as 10")
    return weights


def _show_plan(job: ReleaseRun, ask: TogetherOptions, *, quiet: bool) -> None:
    """Show the strategy of a plan, and its errors next to those of asking one by one."""
    from tacit.accounting.budget import read_loss
    from tacit.cli.release.job import opened
    from tacit.report.text import number
    from tacit.tables.joint_plans.planning import comparison_of, strategy_in_words

    (request,) = job.questions
    price: Any = request.price  # one amount: weights are refused
    loss = read_loss(price["epsilon"], None, price["rho"])
    if loss is None or (quiet and ask.page is None):
        return
    with opened(job, spend=False) as (session, _, _), working("comparing with one by one"):
        plan: Any = request.question(session)
        answers = comparison_of(plan, loss, 1000).answers
        if ask.page is not None:
            Path(ask.page).write_text(
                plan.to_html(price["epsilon"], rho=price["rho"]), encoding="utf-8"
            )
    if not quiet:
        rows = [
            [
                one.label,
                number(one.planned, one.planned / 10),
                number(one.alone, one.alone / 10),
                f"{float(one.part_share):.1%}",
            ]
            for one in answers
        ]
        print("In the plan, and one by one under the same loss (means and the like: 1000 rows):")
        head = ["label", "in the plan", "one by one", "share of the loss"]
        print_table(head, rows, right=range(1, 4))
        for part in strategy_in_words(plan):
            columns: Any = part["columns"]
            name = " and ".join(columns) or "all rows"
            share = f"{float(part['share']):.1%}"  # type: ignore[arg-type]
            print(f"Noise is added to counts by {name}: {share} of the loss of the counts.")
    if ask.page is not None:
        note(f"wrote {ask.page}")
