"""The commands `tacit release`, `tacit preview` and `tacit sql`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from tacit.cli.shared.options import (
    ASKED,
    AskOptions,
    BudgetOptions,
    Delta,
    Epsilon,
    Free,
    OutputOptions,
    Rho,
    ServerOptions,
    SourceOptions,
    Total,
    amounts,
    flag,
    options,
)
from tacit.errors import UsageError

if TYPE_CHECKING:
    from tacit.cli.release.job import Job, Table
    from tacit.cli.shared.options import PricedOptions
    from tacit.tables import Answer, Session
    from tacit.tables.question_formats import Asked
    from tacit.tables.statistics.base import Options

__all__ = [
    "PreviewOptions",
    "job_of",
    "preview",
    "priced_job",
    "publish",
    "release",
    "show_previews",
    "sql",
]

# ``tacit release`` and what it shares with ``tacit preview``.


@options
def release(
    source: SourceOptions,
    ask: AskOptions,
    budget: BudgetOptions,
    output: OutputOptions,
    server: ServerOptions,
) -> None:
    """Publish statistics of a table, and charge its budget.

    [bold]tacit release adult.csv --mean age:0:100 --by sex --keys Male,Female --epsilon 0.5[/bold]
    """
    publish(job_of(source, ask, budget, output, server), output)


def publish(job: Job, output: OutputOptions) -> None:
    """Release the questions of a job, and show the answers."""
    from tacit.cli.release.job import confirmed, free_notes, opened
    from tacit.cli.shared.output import check_files, note, print_json, working

    if output.json and output.csv:
        raise UsageError("print --json or --csv, not both")
    if output.csv and sum(len(asked.parts) for asked in job.questions) > 1:
        raise UsageError("--csv prints one table, and the plan asks for several; use --json")
    for asked in job.questions:
        for part in (asked, *asked.parts):
            check_files(part.plot, part.certificates)
    with opened(job, spend=True) as (session, ledger, _), confirmed(declared=job.table.declared):
        released = []
        for asked in job.questions:
            question = asked.question(session)
            for told in [] if asked.free else free_notes(question, asked):
                note(f"note: {told}")
            with working("asking the table"):
                found: Any = _found(question, asked)
            answers = found if isinstance(found, list) else [found]
            for answer, part in zip(answers, asked.parts, strict=True):
                released.append(_described(answer, part))
                if output.csv:
                    print(answer.to_csv(), end="")
                elif not output.json:
                    _show(answer, part, session, str(ledger))
                _write(answer, part)
            for told in question.notes:
                note(f"note: {told}")
            if all(part is not asked for part in asked.parts):
                _write(answers[0], asked)
        if output.json:
            print_json(
                {
                    "dataset": session.dataset,
                    "ledger": ledger,
                    "budget": amounts(session.budget),
                    "remaining": amounts(session.remaining, left=True),
                    "releases": released,
                }
            )


def _found(question: Any, asked: Asked) -> Any:
    """Return the answer to a question, or the answers to a plan."""
    if not asked.free:
        return question.release(**asked.price, tag=asked.tag)
    found = question.free_answer(tag=asked.tag)
    if found is None:
        from tacit.cli.release.job import refuse_free

        raise refuse_free(asked)
    return found


def job_of(
    source: SourceOptions,
    ask: AskOptions,
    budget: BudgetOptions,
    output: OutputOptions | None,
    server: ServerOptions,
) -> Job:
    """Return the job that flags or a plan describe."""
    from tacit.cli.release.job import table_of
    from tacit.cli.release.plan_file import read_plan
    from tacit.cli.shared.flag_values import aggregates, column_names, cuts, keys_reader, of_people
    from tacit.tables.question_formats import columns_of, condition, join_text

    if ask.plan is not None:
        _alone(source, ask, budget, output, server)
        return replace(read_plan(ask.plan), sure=bool(output and output.yes))
    table = table_of(source, "release", server)
    by = column_names(ask.by or ())
    if (ask.keys or ask.keys_file) and not by:
        raise UsageError("keys are the values of a grouping column: name it with --by column")
    made = columns_of(ask.with_ or ())
    lax = table.declared or bool(ask.per_person) or bool(made)  # bounds may follow
    return priced_job(
        source,
        ask,
        budget,
        output,
        table=table,
        aggregates=aggregates(ask.kinds, _how(ask), lax),
        joins=tuple(join_text(text) for text in ask.join or ()),
        derived=made,
        where=tuple(condition(text) for text in ask.where or ()),
        per_person=of_people(ask.per_person or ()),
        where_person=tuple(condition(text) for text in ask.where_person or ()),
        cuts=cuts(ask.cut or ()),
        by=by,
        keys=keys_reader(by, ask.keys or (), ask.keys_file, table.path),
        rounds=1 if ask.rounds is None else ask.rounds,
    )


def priced_job(
    source: SourceOptions,
    price: PricedOptions,
    budget: BudgetOptions,
    output: OutputOptions | None,
    *,
    table: Table,
    **question: Any,
) -> Job:
    """Return the job of one question to a table."""
    from tacit.accounting.budget import read_loss
    from tacit.cli.release.job import Job, unit_of
    from tacit.cli.shared.flag_values import amount
    from tacit.tables.question_formats import Asked

    asked = Asked(
        **question,
        epsilon=amount(price.epsilon),
        delta=price.delta,
        rho=amount(price.rho),
        total=price.total,
        free=price.free,
        tag=output.tag if output else None,
        plot=output.plot if output else None,
        certificates=tuple(output.certificate or ()) if output else (),
    )
    whole = read_loss(budget.budget_epsilon, budget.budget_delta, budget.budget_rho, "--budget-")
    asked.loss("--")
    protects = unit_of(source.person, source.rows, source.groups, source.one_row_each)
    return Job(table, protects, whole, budget.ledger, (asked,), bool(output and output.yes))


def _how(ask: AskOptions) -> Options:
    """Return the method that the flags name, with its options."""
    said = {name: getattr(ask, name) for name in ("method", "bound", "bins", "distribution")}
    return cast("Options", {name: value for name, value in said.items() if value is not None})


def _alone(*groups: Any) -> None:
    """Refuse flags beside ``--plan`` that the plan says itself."""
    allowed = {"plan", "json", "csv", "yes"}
    for group in groups:
        given = dict(vars(group)) if group else {}
        given |= given.pop("kinds", {})
        for name, value in given.items():
            if value and name not in allowed:
                said = name.strip("_").replace("_", "-")
                raise UsageError(
                    f"--plan says everything; leave {said} out, or write it in the plan"
                )


def _write(answer: Answer, asked: Asked) -> None:
    """Write the files, once the answer is printed: what was paid for is not lost with them."""
    from tacit.cli.shared.output import note, save_plot, working

    for path in asked.certificates:
        with working("writing the certificate"):
            answer.certificate.save(path)
        note(f"wrote {path}")
    if asked.plot is None:
        return
    try:
        with working("drawing"):
            save_plot(answer.plot(), asked.plot)
    except UsageError as error:  # too many groups, or none, which only the answer shows
        note(f"No plot was drawn: {error}")
        return
    note(f"wrote {asked.plot}")


def _show(answer: Answer, asked: Asked, session: Session, ledger: str) -> None:
    from tacit.cli.shared.output import answer_tables, note
    from tacit.report.text import budget_words

    if asked.name:
        print(asked.name)
    print(answer.protects)
    answer_tables(answer)
    for told in _computed(answer).values():
        note(told)
    paid = (
        "follows from earlier releases, free"
        if asked.free
        else "asked before: the same answer again, free"
        if answer.replayed
        else f"spent {budget_words(answer.cost)}"
    )
    note(
        f"{paid}; {budget_words(session.remaining)} is left of {budget_words(session.budget)} "
        f"({ledger})"
    )


def _computed(answer: Answer) -> dict[str, str]:
    """Say how answers follow from released ones, by label, where they do."""
    own = [label for label in answer.labels if "of" in answer.column(label)]
    return {label: f"{label}: {answer.about[label]}" for label in own}


def _described(answer: Answer, asked: Asked) -> dict[str, Any]:
    """Return an answer as plain JSON values: one record a group."""
    parts = ("value", "standard_error", "low", "high")
    records = []
    for place, key in enumerate(answer.keys):
        record: dict[str, Any] = {"key": dict(zip(answer.by, key, strict=True))}
        for label in answer.labels:
            column = answer.column(label)
            record[label] = {part: column[part][place] for part in parts}
            if "bins" in column:
                record[label]["bins"] = column["bins"]
            if "refused" in column:
                record[label]["refused"] = column["refused"][place]
        records.append(record)
    computed = _computed(answer)
    body: Any = answer.certificate.body
    return {
        "name": asked.name,
        "protects": body["question"]["query"]["unit"],
        "by": list(answer.by),
        "answers": records,
        **({"computed": computed} if computed else {}),
        "cost": amounts(answer.cost),
        "replayed": answer.replayed,
        "digest": answer.certificate.body["digest"],
    }


# ``tacit preview``: the errors to expect, before anything is spent.


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
    asked_for = ask if show.target is None else _any_price(ask)
    show_previews(job_of(source, asked_for, budget, None, server), show)


def show_previews(job: Job, show: PreviewOptions) -> None:
    """Show the errors to expect of the questions of a job."""
    from tacit.arithmetic.exact import show as show_number
    from tacit.cli.release.job import free_notes, opened
    from tacit.cli.shared.flag_values import labelled, whole_range
    from tacit.cli.shared.output import note, print_json, print_table, working
    from tacit.report.text import budget_words, number

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
                free = question.cost(**asked.price, tag=asked.tag).is_nothing
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
    from tacit.cli.release.job import told_free
    from tacit.cli.shared.output import print_table
    from tacit.report.text import number

    errors = told_free(question, asked)
    if not show.json:
        if asked.name:
            print(asked.name)
        rows = [[label, number(error, error / 10)] for label, error in errors.items()]
        print_table(["label", "standard error"], rows, right=range(1, 2))
        print("It follows from earlier releases, and costs nothing.")
    return {"name": asked.name, "free": True, "errors": errors}


def _any_price(ask: AskOptions) -> AskOptions:
    """Return the flags of a question whose price is still to be found, with some price."""
    said = [name for name in ("epsilon", "rho", "total", "free", "plan") if getattr(ask, name)]
    if said:
        raise UsageError(f"--target finds the epsilon: leave --{said[0]} out")
    return replace(ask, epsilon="1")


# ``tacit sql``: ask a table in SQL.


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

    table = table_of(source, "sql", server)
    if ask.query is None:
        raise UsageError("write the query: tacit sql visits.toml 'select count(*) from visits' ...")
    job = priced_job(source, ask, budget, output, table=table, aggregates={}, sql=ask.query)
    if ask.preview:
        show_previews(job, PreviewOptions(sizes=ask.sizes, json=output.json))
    else:
        publish(job, output)
