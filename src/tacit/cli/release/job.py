"""Sessions of the commands that release: opening, dry run, notes."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, cast

import typer

from tacit.accounting import Budget, open_ledger
from tacit.accounting.budget import fit
from tacit.accounting.ledger_postgres import shown
from tacit.accounting.open_ledger import has_ledger, in_memory
from tacit.arithmetic.exact import show
from tacit.cli.shared.flag_values import column_names, csv_of
from tacit.cli.shared.options import RemoteOptions, SourceOptions, TableOptions, amounts
from tacit.cli.shared.output import in_flags, note, print_table, warnings_as_notes, working
from tacit.client.connection import RemoteSchedule, RemoteTable, connect
from tacit.errors import BudgetError, DataSourceWarning, UsageError, WeakGuaranteeWarning
from tacit.report.odds import weak_guarantee
from tacit.report.text import budget_words, unit_words
from tacit.tables import Session
from tacit.tables.dataset.declaration import Dataset, open_dataset
from tacit.tables.engines.duckdb.parquet import public_part
from tacit.tables.missing_codes import ReadOptions
from tacit.tables.open_source import Source, open_source
from tacit.tables.privacy_unit import OneRowEach, PersonUnit, one_row_each, unit
from tacit.tables.question_formats import QuestionRequest
from tacit.tables.session import ledger_beside

# Answers that follow from earlier releases, in the commands.


def free_notes(question: Any, request: QuestionRequest, expected: Any = None) -> list[str]:
    """Return notes on questions that follow from earlier releases; reads no row."""
    # expected: the preview of the question, where there is one: of a single question it has the
    #   same errors, and the ledger is not read again.
    if not hasattr(question, "free_errors"):
        return []
    if question.cost(**request.price).is_nothing:
        return []
    if expected is not None and not hasattr(question, "free_answers"):
        errors_of = expected.free or None
    else:
        errors_of = question.free_errors(tag=request.tag)
    if errors_of is None:
        return []
    if not isinstance(errors_of, list):
        how = "ask with --free (in a plan file, free = true)"
        return [f"it follows from earlier releases {_errors(errors_of)}: {how}"]
    notes = []
    for number, (part, errors) in enumerate(zip(request.parts, errors_of, strict=True), 1):
        if errors is not None:
            name = part.name or f"question {number}"
            notes.append(
                f"{name} follows from earlier releases {_errors(errors)}: ask it with --free, and "
                "plan the others alone"
            )
    return notes


def free_errors_of(question: Any, request: QuestionRequest) -> dict[str, float]:
    """Return the errors of an answer that is to be free."""
    errors_of = question.free_errors(tag=request.tag) if hasattr(question, "free_errors") else None
    if errors_of is None:
        raise refuse_free(request)
    errors: dict[str, float] = errors_of
    return errors


def refuse_free(request: QuestionRequest) -> UsageError:
    """Return the error of a question that is to be free and does not follow."""
    which = f"{request.name} does" if request.name else "it does"
    return UsageError(
        f"{which} not follow from earlier releases, so it is not free; nothing was spent. Counts "
        "follow if they are sums of cells that were counted before, of the same rows; leave "
        "--free out, and give a price"
    )


def _errors(errors: dict[str, float]) -> str:
    listed = ", ".join(f"{label} {show(float(f'{error:.3g}'))}" for label, error in errors.items())
    return f"at no cost, with these standard errors: {listed}"


# Data sets of a service, in place of a local table.


def refuse_alone(server: RemoteOptions) -> None:
    """Raise if options of a service are given without one."""
    if server.server is None and (server.token_file or server.ca_file):
        raise UsageError("--token-file and --ca-file go with --server https://...")


@contextmanager
def remote_table(server: RemoteOptions, name: str, table: str | None) -> Iterator[RemoteTable]:
    """Connect to a service, and give a table of one of its data sets."""
    assert server.server is not None
    with connect(server.server, token_file=server.token_file, ca_file=server.ca_file) as service:
        dataset = service.dataset(name)
        yield dataset if table is None else dataset.table(table)


def show_history(table: RemoteTable, bar: str) -> None:
    """Print the budget of a data set, and its visible releases."""
    print(f"Data set   {table.dataset}")
    print(f"Protects   {unit_words(table.unit.describe())}")
    print(f"Budget     {budget_words(table.budget)}")
    print(f"Spent      {budget_words(table.spent)}")
    print(f"Left       {budget_words(table.remaining)}   {bar}")
    rows = [
        [one["id"][:8], one["when"], budget_words(one["cost"]), one["state"], one["question"]]
        for one in map(_line, table.history())
    ]
    schedules = [_schedule_line(one) for one in table.schedules()]
    if rows:
        print_table(["release", "when (UTC)", "cost", "state", "question"], rows)
    else:
        print("Nothing was released yet, of what you may see.")
    if schedules:
        lines = [
            [
                one["id"][:8],
                _minute(one["next"]) if one["next"] else "-",
                f"{one['made']} of {one['times']}",
                budget_words(one["cost"]),
                one["state"],
                one["title"] or one["question"],
            ]
            for one in schedules
        ]
        print_table(["schedule", "next (UTC)", "made", "cost of each", "state", "question"], lines)


def described(table: RemoteTable) -> dict[str, Any]:
    """Return the budget of a data set and its releases as plain JSON values."""
    return {
        "dataset": table.dataset,
        "budget": amounts(table.budget),
        "spent": amounts(table.spent),
        "remaining": amounts(table.remaining, left=True),
        "releases": [
            {**line, "cost": amounts(line["cost"])} for line in map(_line, table.history())
        ],
        "schedules": [
            {**line, "cost": amounts(line["cost"])}
            for line in map(_schedule_line, table.schedules())
        ],
    }


def _line(job: Any) -> dict[str, Any]:
    return {
        "id": job.id,
        "when": _minute(job.when),
        "asked_by": job.asked_by,
        "cost": job.cost,
        "state": job.state,
        "question": job.question,
    }


def _schedule_line(schedule: RemoteSchedule) -> dict[str, Any]:
    state, calendar = schedule.state, schedule.calendar
    pending = [one.due.isoformat() for one in calendar if one.state in ("planned", "due")]
    return {
        "id": schedule.id,
        "next": pending[0] if pending and state == "running" else None,
        "made": sum(one.job is not None for one in calendar),
        "times": len(calendar),
        "cost": schedule.cost,
        "state": state,
        "title": schedule.title,
        "question": schedule.question,
    }


def _minute(when: str) -> str:
    """Return a time of ISO 8601 to the minute."""
    return when[:16].replace("T", " ")


# A job: a table, whom it protects, a budget, and the questions to it.


Opened: TypeAlias = tuple[Session, str | None, Callable[[], None]]


@dataclass(frozen=True)
class RunTable:
    """The table of a job, and what limits its engine."""

    path: str
    table: str | None = None
    name: str | None = None
    csv: ReadOptions = field(default_factory=lambda: ReadOptions())
    memory_limit: str | None = None
    threads: int | None = None
    server: RemoteOptions = field(default_factory=RemoteOptions)

    @property
    def declared(self) -> bool:
        """True if a file or a service declares its unit, budget and ledger."""
        return self.server.server is not None or is_declared(self.path)


@dataclass(frozen=True)
class ReleaseRun:
    """A table and questions to it, under one budget."""

    table: RunTable
    unit: OneRowEach | PersonUnit | None
    budget: Budget | None
    ledger: str | None
    questions: tuple[QuestionRequest, ...]
    sure: bool = False


def table_of(source: TableOptions, command: str, server: RemoteOptions | None = None) -> RunTable:
    if source.source is None:
        raise UsageError(f"name the table: tacit {command} people.csv ...")
    server = server or RemoteOptions()
    refuse_alone(server)
    return RunTable(
        source.source,
        source.table,
        source.name,
        csv_of(source),
        source.memory_limit,
        source.threads,
        server,
    )


def unit_in(source: SourceOptions) -> OneRowEach | PersonUnit | None:
    """Return the unit of privacy of the flags, or None."""
    person = None if source.person is None else column_names(source.person)
    return unit_of(person, source.rows, source.groups, source.one_row_each)


def unit_of(
    person: str | Sequence[str] | None,
    rows: int | None,
    groups: int | None,
    one_row: bool = False,
) -> OneRowEach | PersonUnit | None:
    """Return the unit of privacy that is specified, or None."""
    if one_row:
        if person is not None or rows is not None or groups is not None:
            raise UsageError(
                "--one-row-each says that every row is another person: leave --person, --rows and "
                "--groups out, or leave out --one-row-each"
            )
        return one_row_each
    if person is None:
        if rows is not None or groups is not None:
            raise UsageError("--rows and --groups limit a person: name the column with --person")
        return None
    if rows is None:
        named = person if isinstance(person, str) else " and ".join(map(str, person))
        raise UsageError(
            f"say how many rows per {named} count at most: --rows 5. More rows mean more noise; "
            "the rows of people who have more are down-weighted"
        )
    return unit(person, rows, groups)


def require_unit(given: OneRowEach | PersonUnit | None) -> OneRowEach | PersonUnit:
    """Return the unit of privacy; raise if it is missing."""
    if given is None:
        raise UsageError(
            "say whom an answer protects: --person COL --rows 5, where a person may have several "
            "rows, or --one-row-each, where every row is another person (in a plan, [unit] with "
            'person and rows, or unit = "row")'
        )
    return given


def default_ledger(table: RunTable) -> str:
    """Return the path of the ledger next to the table, in any working directory."""
    location, here = ledger_beside(table.path, table.table), Path.cwd().resolve()
    if location is None:
        raise UsageError(
            f"{public_part(table.path)} has no folder for a ledger: name one with "
            "--ledger, and use it for every release of this table"
        )
    return str(location.relative_to(here) if location.is_relative_to(here) else location)


def open_table(table: RunTable) -> Source:
    """Open the table in its engine; warnings about its names are printed."""
    with odd_names_noted():
        return open_source(
            table.path,
            table.table,
            name=table.name,
            memory_limit=table.memory_limit,
            threads=table.threads,
            **table.csv,
        )


@contextmanager
def odd_names_noted(*, declared: bool = False) -> Iterator[None]:
    """Print warnings about the names of the columns of an opened table, each once."""
    with warnings.catch_warnings(record=True) as odd:
        warnings.simplefilter("always", DataSourceWarning)
        # a weak guarantee is noted where the budget is shown
        warnings.simplefilter("ignore", WeakGuaranteeWarning)
        yield
    for message in dict.fromkeys(str(warning.message) for warning in odd):
        note(message if declared else in_flags(message))


@contextmanager
def opened(job: ReleaseRun, *, spend: bool) -> Iterator[Opened]:
    """Open the session of a job, once all of its questions are checked."""
    # The questions are tried on paper first, so that a mistake in one starts no ledger and spends
    # nothing.
    #
    # Yields: the session, the position of its ledger as it may be shown (None where there is none
    # yet), and what starts that ledger.
    if job.table.declared:
        there = job.table.server.server is not None
        opening = _opened_there if there else _opened_dataset
        with opening(job, spend) as session_and_ledger:
            yield session_and_ledger
        return
    with working("opening the table"):
        source = open_table(job.table)
    try:
        path = job.ledger or default_ledger(job.table)
        exists, location = has_ledger(path), shown(path)
        _refuse_nothing_before(job, location, exists)
        protects = job.unit or (_ledger_unit(path) if exists else require_unit(None))
        if exists:
            session = Session(source, protects, job.budget, path, name=job.table.name)
        else:
            session = Session(source, protects, job.budget or _total_loss(job), in_memory)
        _dry_run(session, job, spend)
        if spend and not exists:
            if job.budget is None:
                note(
                    f"There is no ledger yet, and no budget was given: {location} is created with "
                    "the price of this release as its total budget, so nothing is left for "
                    "another. To plan for more, give --budget-epsilon on the first release."
                )
            begin_ledger(session, path)
        yield session, location if exists or spend else None, partial(begin_ledger, session, path)
        session.close()
    finally:
        source.close()


def is_declared(path: str) -> bool:
    """Return whether a source is the declaration of a data set."""
    return "://" not in path and path.endswith(".toml")


def refuse_twice(job: ReleaseRun) -> None:
    """Raise if a job repeats what its declared data set specifies."""
    table = job.table
    given = {
        "the unit (--person, --rows, --groups)": job.unit,
        "the budget (--budget-epsilon and its like)": job.budget,
        "the ledger (--ledger)": job.ledger,
        "its name (--name)": table.name,
        "how its files are read": table.csv or table.memory_limit or table.threads,
    }
    twice = [what for what, value in given.items() if value]
    if twice:
        raise UsageError(f"{table.path} declares {twice[0]}: leave it out here, or change the file")


@contextmanager
def _opened_dataset(job: ReleaseRun, spend: bool) -> Iterator[Opened]:
    """Open the session of a job on a declared data set: see :func:`opened`."""
    refuse_twice(job)
    dataset = Dataset.load(job.table.path)
    location, name = dataset.ledger_location, job.table.table
    exists = has_ledger(location)
    _refuse_nothing_before(job, shown(location), exists)
    with odd_names_noted(declared=True):
        paper = open_dataset(dataset, table=name, ledger=None if exists else in_memory)
    with paper:
        _dry_run(paper, job, spend)
        if spend and not exists:
            begin_ledger(paper, location)
        begin = partial(begin_ledger, paper, location)
        yield paper, shown(location) if exists or spend else None, begin


@contextmanager
def _opened_there(job: ReleaseRun, spend: bool) -> Iterator[Opened]:
    """Open the data set of a service, which works like a session: see :func:`opened`."""
    refuse_twice(job)
    server = job.table.server
    with remote_table(server, job.table.path, job.table.table) as table:
        session = cast("Session", table)
        _dry_run(session, job, spend)
        yield session, f"at {server.server}", lambda: None


def begin_ledger(session: Session, path: str) -> None:
    """Create the ledger of a session after the dry run of its questions."""
    budget, terms = session.budget, session.ledger.terms
    weak = weak_guarantee(budget, session.declared.size)
    if weak is not None:
        note(f"The total budget is large: {weak} from all releases together.")
    session.ledger = open_ledger(path, dataset=session.dataset, budget=budget, terms=terms)


def _ledger_unit(path: str) -> OneRowEach | PersonUnit:
    """Return the unit that a ledger counts in."""
    with open_ledger(path, create=False) as ledger:
        fields = ledger.terms.get("unit") or {}
    if fields.get("column") is None:
        return one_row_each
    return unit(fields["column"], fields["rows"], fields["groups"])


def _refuse_nothing_before(job: ReleaseRun, location: str, exists: bool) -> None:
    """Raise for free answers without a ledger, before anything is opened for them."""
    if not exists and any(request.free for request in job.questions):
        raise UsageError(
            f"there is no ledger yet ({location}), so no earlier release that an answer follows "
            "from: leave --free out, and give a price"
        )


def _total_loss(job: ReleaseRun) -> Budget:
    """Return the losses of all questions together: the default budget."""
    losses = [request.loss() for request in job.questions]
    given = [each for each in losses if each is not None]
    if len(given) < len(losses) or not given:
        raise UsageError(
            "say what the release may spend (--epsilon 0.5, with --delta for keys that are not "
            "public, or --rho 0.1), and with --budget-epsilon what all releases may ever spend"
        )
    total = given[0]
    for each in given[1:]:
        total += each
    return total


def _dry_run(session: Session, job: ReleaseRun, spend: bool) -> None:
    """Check every question, and that the remaining budget covers all, before spending."""
    kind, remaining = session.budget.kind, session.remaining
    total = Budget.nothing(kind)
    costs: list[Budget] = []
    weak = []
    with working("planning"):
        for request in job.questions:
            if request.free:
                if spend:
                    free_errors_of(request.question(session), request)
                continue
            requested = request.loss()
            if requested is not None and kind != "concentrated":
                # a delta that the budget does not have, even if none is needed
                requested.cost_in(kind)
            cost = request.question(session).cost(**request.price)
            total, costs = total + cost, [*costs, cost]
            # confirm a delta that no answer needs too: it may become that of the budget
            lost = cost if requested is None or cost.is_nothing else requested
            weak.append(weak_guarantee(lost, session.declared.size))
    # a service has one question, which it refuses itself, at no cost, naming what binds
    there = job.table.server.server is not None
    covered = there or remaining.covers(fit(total, remaining))
    covered = covered or session.ledger.chain.affords(*costs)
    if spend and not covered:
        cost_text = f"this release costs {total!r}"
        if len(job.questions) > 1:
            cost_text = f"these {len(job.questions)} questions cost {total!r} together"
        raise BudgetError(
            f"{cost_text}, and {remaining!r} is left of {session.budget!r}; nothing was spent. Ask "
            "for less, or raise the budget, which is recorded: tacit ledger extend"
        )
    for why in weak if spend else ():
        confirm_weak(why, job.sure)


def confirm_weak(weak: str | None, sure: bool) -> None:
    """Ask before a release with a weak guarantee, unless --yes was given."""
    # weak: why it does, as :func:`tacit.report.odds.weak_guarantee` says; None where it protects.
    if weak is None or sure:
        return
    if sys.stdin.isatty() and sys.stderr.isatty():
        if typer.confirm(f"{weak}. Release all the same?", err=True):
            return
        raise UsageError("nothing was released, and nothing was spent")
    raise UsageError(
        f"{weak}. Nothing was spent: ask for a smaller loss, or give --yes to release all the same"
    )


@contextmanager
def confirmed(*, declared: bool = False) -> Iterator[None]:
    """Release what was confirmed: the warning of a weak guarantee was shown before."""
    # Warnings about columns are notes.
    with warnings_as_notes(declared=declared):
        warnings.simplefilter("ignore", WeakGuaranteeWarning)
        warnings.simplefilter("always", DataSourceWarning)
        yield
