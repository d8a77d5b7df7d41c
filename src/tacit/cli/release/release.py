"""``tacit release`` and what it shares with ``tacit preview``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from tacit.cli.shared.amounts import amounts
from tacit.cli.shared.options import AskOptions, BudgetOptions, OutputOptions, SourceOptions
from tacit.cli.shared.server_flags import ServerOptions
from tacit.cli.shared.signature import options
from tacit.errors import UsageError

if TYPE_CHECKING:
    from tacit.cli.release.job import Job, Table
    from tacit.cli.shared.price_flags import PricedOptions
    from tacit.tables import Answer, Session
    from tacit.tables.spec.method import Options
    from tacit.tables.written.asked import Asked

__all__ = ["job_of", "priced_job", "publish", "release"]


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
    from tacit.cli.release.free import free_notes
    from tacit.cli.release.job import confirmed, opened
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
    """Return the answer to a question, or the answers to a plan.

    Raises:
        UsageError: it is to be free, and does not follow from earlier releases.
    """
    if not asked.free:
        return question.release(**asked.price, tag=asked.tag)
    found = question.free_answer(tag=asked.tag)
    if found is None:
        from tacit.cli.release.free import refuse_free

        raise refuse_free(asked)
    return found


def job_of(
    source: SourceOptions,
    ask: AskOptions,
    budget: BudgetOptions,
    output: OutputOptions | None,
    server: ServerOptions,
) -> Job:
    """Return the job that flags or a plan describe.

    Raises:
        UsageError: flags that do not go together.
    """
    from tacit.cli.release.job import table_of
    from tacit.cli.release.plan_file import read_plan
    from tacit.cli.shared.flag_values import aggregates, column_names, cuts, of_people
    from tacit.cli.shared.keys_reader import keys_reader
    from tacit.tables.written.condition import columns_of, condition
    from tacit.tables.written.join_text import join_text

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
    """Return the job of one question to a table.

    Args:
        source: whom an answer protects.
        price: what it may spend.
        budget: what may be spent in all.
        output: where the answer goes; None where nothing is released.
        table: that is asked.
        **question: what :class:`~tacit.tables.written.asked.Asked` holds of it.

    Raises:
        UsageError: flags that do not go together.
    """
    from tacit.accounting.budgets.read_loss import read_loss
    from tacit.cli.release.job import Job, unit_of
    from tacit.cli.shared.flag_values import amount
    from tacit.tables.written.asked import Asked

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
    from tacit.report.text.words import budget_words

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
