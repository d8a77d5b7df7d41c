"""The commands `tacit release`, `tacit preview`, `tacit sql` and `tacit together`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tacit.cli.shared.options import (
    QUESTION_PANEL,
    AskOptions,
    BudgetOptions,
    OutputOptions,
    PriceOptions,
    RemoteOptions,
    SourceOptions,
    Text,
    Texts,
    TimedFormatOptions,
    amounts,
    argument,
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
    print_table,
    working,
)
from tacit.errors import UsageError

if TYPE_CHECKING:
    from tacit.cli.release.job import ReleaseRun, RunTable
    from tacit.tables import Answer, Session
    from tacit.tables.question_formats import QuestionRequest
    from tacit.tables.statistics.method import Options


# ``tacit release``, and the parts that ``tacit preview`` shares.


_question = partial(flag, panel=QUESTION_PANEL)


@options
def release(
    source: SourceOptions,
    ask: AskOptions,
    price: PriceOptions,
    budget: BudgetOptions,
    output: OutputOptions,
    published: TimedFormatOptions,
    server: RemoteOptions,
) -> None:
    """Publish statistics of a table, and charge its budget.

    [bold]tacit release adult.csv --mean age:0:100 --by sex --keys Male,Female --epsilon 0.5[/bold]
    """
    publish(job_of(source, ask, price, budget, output, server), output, published)


def publish(job: ReleaseRun, output: OutputOptions, published: TimedFormatOptions) -> None:
    """Release the questions of a job, and show the answers."""
    from tacit.cli.release.job import confirmed, free_notes, opened

    if output.json and output.csv:
        raise UsageError("print --json or --csv, not both")
    tables = sum(len(request.parts) for request in job.questions)
    publisher = Publisher(published, published.time)
    publisher.check([f"--{n}" for n in ("json", "csv") if getattr(output, n)], tables)
    if output.csv and tables > 1:
        raise UsageError("--csv prints one table, and the plan has several; use --json")
    for request in job.questions:
        for part in (request, *request.parts):
            check_files(part.plot, part.certificates)
    with opened(job, spend=True) as (session, ledger, _), confirmed(declared=job.table.declared):
        released = []
        for request in job.questions:
            question = request.question(session)
            for text in [] if request.free else free_notes(question, request):
                note(f"note: {text}")
            with working("asking the table"):
                released_answers: Any = _answer(question, request)
            answers = released_answers if isinstance(released_answers, list) else [released_answers]
            for answer, part in zip(answers, request.parts, strict=True):
                released.append(_described(answer, part))
                if output.csv:
                    print(answer.to_csv(), end="")
                elif not output.json and not publisher.format:
                    _show(answer, part)
                _write(answer, part)
                publisher.write(answer)
            if not (output.csv or output.json or publisher.format):
                _show_cost(answers[0], request, session, str(ledger))
            for text in question.notes:
                note(f"note: {text}")
            if all(part is not request for part in request.parts):
                _write(answers[0], request)
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


def _answer(question: Any, request: QuestionRequest) -> Any:
    """Return the answer to a question, or the answers to a plan."""
    if not request.free:
        return question.release(**request.price)
    answer = question.free_answer(tag=request.tag)
    if answer is None:
        from tacit.cli.release.job import refuse_free

        raise refuse_free(request)
    return answer


def job_of(
    source: SourceOptions,
    ask: AskOptions,
    price: PriceOptions,
    budget: BudgetOptions,
    output: OutputOptions | None,
    server: RemoteOptions,
) -> ReleaseRun:
    """Return the job of flags or a plan."""
    from tacit.cli.release.job import table_of
    from tacit.cli.release.plan_file import read_plan
    from tacit.cli.shared.flag_values import aggregates, column_names, cuts, keys_reader, of_people
    from tacit.tables.question_formats import columns_of, condition, join_text

    if ask.plan is not None:
        _alone(source, ask, price, budget, output, server)
        return replace(read_plan(ask.plan), sure=bool(output and output.yes))
    table = table_of(source, "release", server)
    by = column_names(ask.by or ())
    if (ask.keys or ask.keys_file) and not by:
        raise UsageError("keys are the values of a grouping column: name it with --by column")
    made = columns_of(ask.with_ or ())
    lax = table.declared or bool(ask.per_person) or bool(made)  # bounds may follow
    return priced_job(
        source,
        price,
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
    price: PriceOptions,
    budget: BudgetOptions,
    output: OutputOptions | None,
    *,
    table: RunTable,
    **question: Any,
) -> ReleaseRun:
    """Return the job of one question to a table."""
    from tacit.accounting.budget import read_loss
    from tacit.cli.release.job import ReleaseRun, unit_in
    from tacit.cli.shared.flag_values import amount
    from tacit.tables.question_formats import QuestionRequest

    request = QuestionRequest(
        **question,
        epsilon=amount(price.epsilon),
        delta=price.delta,
        rho=amount(price.rho),
        total=price.total,
        free=price.free,
        tag=output.tag if output else None,
        plot=output.plot if output else None,
        certificates=tuple(output.certificate or ()) if output else (),
        flag="--",
    )
    total = read_loss(budget.budget_epsilon, budget.budget_delta, budget.budget_rho, "--budget-")
    request.loss()
    protects = unit_in(source)
    return ReleaseRun(
        table, protects, total, budget.ledger, (request,), bool(output and output.yes)
    )


def _how(ask: AskOptions) -> Options:
    """Return the method of the flags, with its options."""
    given = {name: getattr(ask, name) for name in ("method", "bound", "bins", "distribution")}
    return cast("Options", {name: value for name, value in given.items() if value is not None})


def _alone(*groups: Any) -> None:
    """Raise if flags repeat what ``--plan`` specifies."""
    allowed = {"plan", "json", "csv", "yes"}
    for group in groups:
        given = dict(vars(group)) if group else {}
        given |= given.pop("kinds", {})
        for name, value in given.items():
            if value and name not in allowed:
                flag_name = name.strip("_").replace("_", "-")
                raise UsageError(
                    f"--plan specifies everything; leave {flag_name} out, or write it in the plan"
                )


def _write(answer: Answer, request: QuestionRequest) -> None:
    """Write the files after printing the answer: a failure does not lose a paid answer."""
    for path in request.certificates:
        with working("writing the certificate"):
            answer.certificate.save(path)
        note(f"wrote {path}")
    try:
        draw(answer.plot, request.plot)
    except UsageError as error:  # too many groups, or none, which only the answer shows
        note(f"No plot was drawn: {error}")


def _show(answer: Answer, request: QuestionRequest) -> None:
    if request.name:
        print(request.name)
    print(answer.protects)
    answer_tables(answer)
    for text in _computed(answer).values():
        note(text)


def _show_cost(answer: Answer, request: QuestionRequest, session: Session, ledger: str) -> None:
    """Report what a request cost: a question, or a plan of several."""
    from tacit.report.text import budget_words

    paid = (
        "follows from earlier releases, free"
        if request.free
        else "asked before: the same answer again, free"
        if answer.replayed
        else f"spent {budget_words(answer.cost)}"
    )
    note(
        f"{paid}; {budget_words(session.remaining)} is left of {budget_words(session.budget)} "
        f"({ledger})"
    )


def _computed(answer: Answer) -> dict[str, str]:
    """Describe how answers follow from released ones, by label."""
    own = [label for label in answer.labels if "of" in answer.column(label)]
    return {label: f"{label}: {answer.about[label]}" for label in own}


def _described(answer: Answer, request: QuestionRequest) -> dict[str, Any]:
    """Return an answer as plain JSON values: one record per group."""
    parts = ("value", "standard_error", "low", "high")
    records = []
    for index, key in enumerate(answer.keys):
        named = dict(zip(answer.by, key, strict=True))
        record: dict[str, Any] = {"key": named}
        labels = {n: known.get(named[n]) for n, known in answer.key_labels.items()}
        record |= {"label": labels} if labels else {}
        for label in answer.labels:
            column = answer.column(label)
            record[label] = {part: column[part][index] for part in parts}
            if "bins" in column:
                record[label]["bins"] = column["bins"]
            if "refused" in column:
                record[label]["refused"] = column["refused"][index]
        records.append(record)
    computed = _computed(answer)
    body: Any = answer.certificate.body
    return {
        "name": request.name,
        "protects": body["question"]["query"]["unit"],
        "by": list(answer.by),
        "answers": records,
        **({"computed": computed} if computed else {}),
        "cost": amounts(answer.cost),
        "replayed": answer.replayed,
        "digest": answer.certificate.body["digest"],
    }


# ``tacit preview``: expected errors, before anything is spent.


@dataclass(frozen=True)
class PreviewOptions:
    sizes: str = flag("Group sizes for which errors are shown.", default="100,1000,10000")
    target: Text = flag(
        "Instead of --epsilon: find the smallest one with which errors are within these.",
        "LABEL=ERROR,...",
    )
    confidence: str = flag(
        "With --target: the share of releases within the target.", default="0.95"
    )
    target_rows: int = flag("With --target: the group size to plan for.", default=1000)
    json: bool = flag("Print JSON.", default=False)


@options
def preview(
    source: SourceOptions,
    ask: AskOptions,
    price: PriceOptions,
    budget: BudgetOptions,
    show: PreviewOptions,
    server: RemoteOptions,
) -> None:
    """Show the expected errors; spend nothing and read no private value.

    [bold]tacit preview adult.csv --mean age:0:100 --by sex --keys Male,Female --epsilon 0.5[/bold]
    [bold]tacit preview adult.csv --mean age:0:100 --target mean_age=1 --confidence 0.95[/bold]
    """
    price = price if show.target is None else _any_price(ask, price)
    show_previews(job_of(source, ask, price, budget, None, server), show)


def show_previews(job: ReleaseRun, show: PreviewOptions) -> None:
    """Show the expected errors of the questions of a job."""
    from tacit.arithmetic.exact import show as show_number
    from tacit.cli.release.job import free_notes, opened
    from tacit.cli.shared.flag_values import integer_range, labelled
    from tacit.report.text import budget_words, listed, number

    sizes = integer_range(show.sizes, "--sizes")
    sure = None if show.target is None else show.confidence
    previews: list[dict[str, Any]] = []
    with opened(job, spend=False) as (session, ledger, _):
        for request in job.questions:
            question = request.question(session)
            if request.free:
                previews.append(_free(question, request, show))
                continue
            with working("computing the errors to expect"):
                if show.target is not None:
                    targets = labelled(show.target, "a target")
                    smallest = question.epsilon_for(
                        targets, show.confidence, rows=show.target_rows, delta=request.delta
                    )
                    request = replace(request, epsilon=smallest)
                expected = question.preview(**request.price, rows=sizes, confidence=sure)
                answered = question.is_answered(**request.price)
                free = question.cost(**request.price).is_nothing
            free_of = free_notes(question, request, expected)
            previews.append(
                {
                    "name": request.name,
                    "errors": expected.to_dict(),
                    "cost": amounts(expected.cost),
                    "remaining": amounts(expected.remaining, left=True),
                    "limited_by": list(expected.limited_by),
                    "protects": session.unit.describe(),
                    "notes": list(expected.notes),
                    "weak": expected.weak,
                    "affordable": free or expected.affordable,
                    "answered": answered,
                    "open": free and not answered,
                    "threshold": expected.threshold,
                    "methods": expected.methods,
                    "refusals": {k: list(v) for k, v in expected.refusals.items()},
                    "epsilon": None if show.target is None else str(request.epsilon),
                    "intervals": {k: list(v) for k, v in expected.intervals.items()},
                    "bounds": {k: [str(e) for e in v] for k, v in expected.bounds.items()},
                    "follows": free_of,
                }
            )
            if show.json:
                continue
            if request.name:
                print(request.name)
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
            for words in (expected.within(), expected.methods, expected.clamped()):
                for label, text in words.items():
                    print(f"{label}: {text}.")
            for label, text in expected.refused().items():
                print(f"{label}: refused with probability {text}.")
            if expected.threshold is not None:
                print(f"A group is shown if it has about {expected.threshold} people or more.")
            for text in (*expected.notes, *free_of):
                print(f"{text.removesuffix('.')}.")  # those of a service are sentences
            if expected.weak is not None:
                print(f"{expected.weak}; tacit release needs --yes.")
            if show.target is not None:
                print(
                    f"This takes --epsilon {show_number(smallest)}, the minimum for {show.target} "
                    f"in a group of {show.target_rows} rows."
                )
                if not (ledger or job.budget or job.table.declared):
                    continue  # there is no budget to compare it with
            verdict = (
                "was asked before, and is free"
                if answered
                else "was charged before and is open: it is answered at no further cost"
                if free
                else f"costs {budget_words(expected.cost)} of the "
                f"{budget_words(expected.remaining)} that is left{expected.under}"
            )
            print(f"This release {verdict}.")
            if not free and not expected.affordable:
                limit = listed(expected.limited_by or ("the budget",))
                do = "do" if len(expected.limited_by) > 1 else "does"
                note(f"It would be refused: {limit} {do} not cover it.")
    if show.json:
        print_json({"previews": previews})


def _free(question: Any, request: QuestionRequest, show: PreviewOptions) -> dict[str, Any]:
    """Show the errors of an answer that follows from earlier releases, and return them."""
    from tacit.cli.release.job import free_errors_of
    from tacit.report.text import number

    errors = free_errors_of(question, request)
    if not show.json:
        if request.name:
            print(request.name)
        rows = [[label, number(error, error / 10)] for label, error in errors.items()]
        print_table(["label", "standard error"], rows, right=range(1, 2))
        print("It follows from earlier releases, and costs nothing.")
    return {"name": request.name, "free": True, "errors": errors}


def _any_price(ask: AskOptions, price: PriceOptions) -> PriceOptions:
    """Return the flags of a price with a placeholder; the real epsilon is computed."""
    flags = {**vars(price), "plan": ask.plan}
    given = [name for name in ("epsilon", "rho", "total", "free", "plan") if flags[name]]
    if given:
        raise UsageError(f"--target finds the epsilon: leave --{given[0]} out")
    return replace(price, epsilon="1")


# ``tacit sql``: ask a table in SQL.


@dataclass(frozen=True)
class SqlOptions:
    query: Text = argument("One query, such as 'select site, count(*) from visits group by site'.")
    preview: bool = _question("Show the expected errors, and spend nothing.", default=False)
    sizes: str = _question(
        "With --preview: group sizes for which errors are shown.", default="100,1000,10000"
    )


@options
def sql(
    source: SourceOptions,
    ask: SqlOptions,
    price: PriceOptions,
    budget: BudgetOptions,
    output: OutputOptions,
    published: TimedFormatOptions,
    server: RemoteOptions,
) -> None:
    """Ask a table in SQL. The text is translated to a question, and never executed.

    [bold]tacit sql adult.csv "select count(*) as n from adult where age >= 18" --epsilon 0.5[/bold]
    """
    from tacit.cli.release.job import table_of

    table = table_of(source, "sql", server)
    if ask.query is None:
        raise UsageError("write the query: tacit sql visits.toml 'select count(*) from visits' ...")
    job = priced_job(source, price, budget, output, table=table, aggregates={}, sql=ask.query)
    if ask.preview:
        show_previews(job, PreviewOptions(sizes=ask.sizes, json=output.json))
    else:
        publish(job, output, published)


# ``tacit together``: several questions in SQL as one plan, under one charge.


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
