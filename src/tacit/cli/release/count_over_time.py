"""``tacit count-over-time``: counts by period of a table that grows, paid for once."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from tacit.arithmetic.exact import as_fraction
from tacit.cli.shared.options import (
    BudgetOptions,
    FormatOptions,
    SourceOptions,
    Text,
    Texts,
    amounts,
    flag,
    options,
)
from tacit.cli.shared.output import (
    Publisher,
    answer_tables,
    check_files,
    draw,
    note,
    print_json,
    working,
)
from tacit.errors import UsageError

if TYPE_CHECKING:
    from tacit.cli.release.job import ReleaseRun
    from tacit.tables import Session
    from tacit.tables.streaming.counter import CounterPreview, TimeCounter

_when = partial(flag, panel="Which periods")
_price = partial(flag, panel="What it may cost")
_out = partial(flag, panel="What comes out")


@dataclass(frozen=True)
class TimeOptions:
    """The counted rows, and the periods."""

    time: str = _when("The column with the time of a row.", "COL", default=...)
    start: str = _when("The start of the first period.", "TIME", default=...)
    every: str = _when("The length of a period: 15min, 1h, 1d, 1w.", "LENGTH", default=...)
    periods: int = _when("The number of periods.", "N", default=...)
    grace: Text = _when("How long a period waits for late rows.", "LENGTH")
    branching: int | None = _when(
        "How many blocks make up a longer one, in the tree of counts.", "N"
    )
    where: Texts = _when("Keep only the rows that satisfy this, such as 'age >= 18'.", "CONDITION")
    now: Text = _when("The time up to which the table is complete; by default now.", "TIME")
    epsilon: Text = _price("The privacy loss (epsilon) of all periods together.", "EPSILON")
    rho: Text = _price("Instead: rho, for zero-concentrated differential privacy.", "RHO")
    tag: Text = _out("A label that makes this a new, separately paid count.", "TEXT")
    yes: bool = _price("Accept an epsilon above 10.", default=False)
    preview: bool = _out("Only show the expected errors; spend nothing.", default=False)
    csv: bool = _out("Print CSV.", default=False)
    json: bool = _out("Print JSON.", default=False)
    plot: Text = _out("Draw to a .png, .svg or .pdf file.", "FILE")
    certificate: Texts = _out("Write it: .json to check, .html to read.", "FILE")


@options
def count_over_time(
    source: SourceOptions, options: TimeOptions, published: FormatOptions, budget: BudgetOptions
) -> None:
    """Publish the counts of the periods that have ended; the first run pays for all of them.

    [bold]tacit count-over-time visits.csv --time arrived --start 2026-01-01 --every 1h --periods
    8760 --epsilon 1[/bold]
    """
    from tacit.cli.release.job import confirm_weak, confirmed, opened
    from tacit.report.odds import weak_guarantee
    from tacit.report.text import budget_words

    if options.json and options.csv:
        raise UsageError("print --json or --csv, not both")
    timed = "period" if published.format in ("json-stat", "px") else None
    publisher = Publisher(published, timed)
    others = [f"--{n}" for n in ("json", "csv", "preview") if getattr(options, n)]
    publisher.check(others, 1)
    check_files(options.plot, tuple(options.certificate or ()))
    job = _job(source, options, budget)
    with (
        opened(job, spend=False) as (session, location, begin),
        confirmed(declared=job.table.declared),
    ):
        with working("computing the errors to expect"):
            counter = _counter(session, options)
            expected = counter.preview()
        if options.preview:
            _show_preview(expected, as_json=options.json)
            return
        if not counter.begun:
            confirm_weak(weak_guarantee(expected.cost), options.yes)
        if location is None:  # all is checked: create the ledger
            begin()
            counter = _counter(session, options)
        with working("counting"):
            answer = counter.update(now=_time(options.now))
        if options.csv:
            print(answer.to_csv(), end="")
        elif options.json:
            print_json(
                {
                    "dataset": session.dataset,
                    "periods": {n: list(column) for n, column in answer.to_dict().items()},
                    "cost": amounts(answer.cost),
                    "remaining": amounts(session.remaining, left=True),
                    "digest": answer.certificate.body["digest"],
                }
            )
        elif not publisher.format:
            print(answer.protects)
            answer_tables(answer)
        note(
            f"{len(answer)} of {options.periods} periods are published; all of them cost "
            f"{budget_words(answer.cost)}, once, and {budget_words(session.remaining)} is left"
        )
        for path in options.certificate or ():
            with working("writing the certificate"):
                answer.certificate.save(path)
            note(f"wrote {path}")
        if len(answer):
            draw(answer.plot, options.plot)
        publisher.write(answer)


def _job(source: SourceOptions, options: TimeOptions, budget: BudgetOptions) -> ReleaseRun:
    from tacit.accounting.budget import read_loss
    from tacit.accounting.open_ledger import has_ledger
    from tacit.cli.release.job import ReleaseRun, default_ledger, table_of, unit_in

    table = table_of(source, "count-over-time")
    total = read_loss(budget.budget_epsilon, budget.budget_delta, budget.budget_rho, "--budget-")
    price = read_loss(options.epsilon, None, options.rho, "--")
    declared = table.declared
    if total is None and not declared and not has_ledger(budget.ledger or default_ledger(table)):
        total = price  # a ledger that starts with this count, and is for nothing else
    protects = unit_in(source)
    return ReleaseRun(table, protects, total, budget.ledger, ())


def _counter(session: Session, options: TimeOptions) -> TimeCounter:
    from tacit.tables.question_formats import condition

    chosen = session.filter(*(condition(text) for text in options.where or ()))
    return chosen.count_over_time(
        options.time,
        start=_time(options.start),
        every=_time(options.every),
        periods=options.periods,
        epsilon=options.epsilon,
        rho=options.rho,
        grace=_time(options.grace),
        branching=options.branching,
        tag=options.tag,
    )


def _time(text: str | None) -> Any:
    """Return a time or a length of time, an integer if it is written as one."""
    if text is None:
        return None
    return int(as_fraction(text, "a time")) if re.fullmatch(r"\s*-?[0-9]+\s*", text) else text


def _show_preview(expected: CounterPreview, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "periods": expected.periods,
                "branching": expected.branching,
                "count_error": expected.count_error,
                "total_error": expected.total_error,
                "largest_total_error": expected.largest_total_error,
                "cost": amounts(expected.cost),
                "remaining": amounts(expected.remaining, left=True),
                "affordable": expected.affordable,
            }
        )
        return
    print(dataclasses.replace(expected, whereabouts=""))  # the ledger is named when it starts
    if not expected.affordable:
        note("It would be refused: the budget does not cover it.")
