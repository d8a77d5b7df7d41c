"""A job: a table, whom it protects, a budget, and the questions to it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeAlias, cast

import typer

from tacit.accounting import Budget, fit, open_ledger
from tacit.accounting.ledger.postgres.address import shown
from tacit.accounting.open_ledger import has_ledger, in_memory
from tacit.cli.release.free import told_free
from tacit.cli.release.remote import asked_table, refuse_alone
from tacit.cli.shared.csv_flags import csv_of
from tacit.cli.shared.in_flags import in_flags
from tacit.cli.shared.options import TableOptions
from tacit.cli.shared.output import note, warnings_as_notes, working
from tacit.cli.shared.server_flags import ServerOptions
from tacit.errors import BudgetError, DataSourceWarning, UsageError, WeakGuaranteeWarning
from tacit.report.text.odds import weak_guarantee
from tacit.tables import Session, open_source
from tacit.tables.dataset.declaration import Dataset
from tacit.tables.dataset.opening import open_dataset
from tacit.tables.engines.csv.format import CsvOptions
from tacit.tables.engines.duckdb.remote import public_part
from tacit.tables.ledger_place import ledger_beside
from tacit.tables.open_source import Source
from tacit.tables.spec.privacy_unit import OneRowEach, PersonUnit, one_row_each, unit
from tacit.tables.written.asked import Asked

__all__ = [
    "Job",
    "Opened",
    "Table",
    "confirm_weak",
    "confirmed",
    "default_ledger",
    "is_declared",
    "odd_names_noted",
    "open_table",
    "opened",
    "require_unit",
    "table_of",
    "unit_of",
]


Opened: TypeAlias = tuple[Session, str | None, Callable[[], None]]


@dataclass(frozen=True)
class Table:
    """The table of a job, and what limits its engine."""

    path: str
    table: str | None = None
    name: str | None = None
    csv: CsvOptions = field(default_factory=lambda: CsvOptions())
    memory_limit: str | None = None
    threads: int | None = None
    server: ServerOptions = field(default_factory=ServerOptions)

    @property
    def declared(self) -> bool:
        """Whether a file declares it, or a service, with its unit, budget and ledger."""
        return self.server.server is not None or is_declared(self.path)


@dataclass(frozen=True)
class Job:
    """A table and questions to it, under one budget."""

    table: Table
    unit: OneRowEach | PersonUnit | None
    budget: Budget | None
    ledger: str | None
    questions: tuple[Asked, ...]
    sure: bool = False


def table_of(source: TableOptions, command: str, server: ServerOptions | None = None) -> Table:
    """Return the table that flags name.

    Raises:
        UsageError: none is named.
    """
    if source.source is None:
        raise UsageError(f"name the table: tacit {command} people.csv ...")
    server = server or ServerOptions()
    refuse_alone(server)
    return Table(
        source.source,
        source.table,
        source.name,
        csv_of(source),
        source.memory_limit,
        source.threads,
        server,
    )


def unit_of(
    person: str | None, rows: int | None, groups: int | None, one_row: bool = False
) -> OneRowEach | PersonUnit | None:
    """Return the unit of privacy that is said; None where none is."""
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
        raise UsageError(
            f"say how many rows per {person} count at most: --rows 5. More rows mean more noise; "
            "the rows of people who have more are down-weighted"
        )
    return unit(person, rows, groups)


def require_unit(said: OneRowEach | PersonUnit | None) -> OneRowEach | PersonUnit:
    """Return the unit of privacy, or refuse to guess it.

    Raises:
        UsageError: nothing is said.
    """
    if said is None:
        raise UsageError(
            "say whom an answer protects: --person COL --rows 5, where a person may have several "
            "rows, or --one-row-each, where every row is another person (in a plan, [unit] with "
            'person and rows, or unit = "row")'
        )
    return said


def default_ledger(table: Table) -> str:
    """Return the ledger's place beside the table: the same wherever the command is typed.

    Raises:
        UsageError: a pattern or an address, which has no place beside it.
    """
    found, here = ledger_beside(table.path, table.table), Path.cwd().resolve()
    if found is None:
        raise UsageError(
            f"{public_part(table.path)} has no place of its own for a ledger: name one with "
            "--ledger, and use it for every release of this table"
        )
    return str(found.relative_to(here) if found.is_relative_to(here) else found)


def open_table(table: Table) -> Source:
    """Open the table in its engine; what looks wrong about its names is said."""
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
    """Say once what looks wrong about the names of the columns of a table that is opened.

    Args:
        declared: whether a file declares how it is read, and no flags.
    """
    with warnings.catch_warnings(record=True) as odd:
        warnings.simplefilter("always", DataSourceWarning)
        # a weak guarantee is noted where the budget is shown
        warnings.simplefilter("ignore", WeakGuaranteeWarning)
        yield
    for told in dict.fromkeys(str(warning.message) for warning in odd):
        note(told if declared else in_flags(told))


@contextmanager
def opened(job: Job, *, spend: bool) -> Iterator[Opened]:
    """Open the session of a job, once all of its questions are known to be in order.

    The questions are tried on paper first, so that a mistake in one begins no ledger and spends
    nothing.

    Args:
        job: the table and the questions.
        spend: whether a ledger may be created; a preview creates none.

    Yields:
        The session, the place of its ledger as it may be shown (None where there is none yet), and
        what begins that ledger.
    """
    if job.table.declared:
        there = job.table.server.server is not None
        opening = _opened_there if there else _opened_dataset
        with opening(job, spend) as found:
            yield found
        return
    with working("opening the table"):
        source = open_table(job.table)
    try:
        path = job.ledger or default_ledger(job.table)
        exists, place = has_ledger(path), shown(path)
        _refuse_nothing_before(job, place, exists)
        protects = job.unit or (_ledger_unit(path) if exists else require_unit(None))
        if exists:
            session = Session(source, protects, job.budget, path, name=job.table.name)
        else:
            session = Session(source, protects, job.budget or _whole(job), in_memory)
        _try_on_paper(session, job, spend)
        if spend and not exists:
            if job.budget is None:
                note(
                    f"There is no ledger yet, and no budget was given: {place} is created with the "
                    "price of this release as its whole budget, so nothing is left for another. To "
                    "plan for more, give --budget-epsilon on the first release."
                )
            begin_ledger(session, path)
        yield session, place if exists or spend else None, partial(begin_ledger, session, path)
        session.close()
    finally:
        source.close()


def is_declared(path: str) -> bool:
    """Return whether a source is the declaration of a data set."""
    return "://" not in path and path.endswith(".toml")


def dataset_of(job: Job) -> Dataset:
    """Return the data set of a job, which says all that flags and plans would.

    Raises:
        UsageError: no such file, a declaration that is unfinished, or something said twice.
    """
    refuse_twice(job)
    return Dataset.load(job.table.path)


def refuse_twice(job: Job) -> None:
    """Refuse what a declared data set says itself.

    Raises:
        UsageError: something is said twice.
    """
    table = job.table
    said = {
        "the unit (--person, --rows, --groups)": job.unit,
        "the budget (--budget-epsilon and its like)": job.budget,
        "the ledger (--ledger)": job.ledger,
        "its name (--name)": table.name,
        "how its files are read": table.csv or table.memory_limit or table.threads,
    }
    twice = [what for what, value in said.items() if value]
    if twice:
        raise UsageError(f"{table.path} declares {twice[0]}: leave it out here, or change the file")


@contextmanager
def _opened_dataset(job: Job, spend: bool) -> Iterator[Opened]:
    """Open the session of a job on a declared data set: see :func:`opened`."""
    dataset = dataset_of(job)
    place, name = dataset.ledger_place, job.table.table
    exists = has_ledger(place)
    _refuse_nothing_before(job, shown(place), exists)
    with odd_names_noted(declared=True):
        paper = open_dataset(dataset, table=name, ledger=None if exists else in_memory)
    with paper:
        _try_on_paper(paper, job, spend)
        if spend and not exists:
            begin_ledger(paper, place)
        begin = partial(begin_ledger, paper, place)
        yield paper, shown(place) if exists or spend else None, begin


@contextmanager
def _opened_there(job: Job, spend: bool) -> Iterator[Opened]:
    """Open the data set of a service, which is asked as a session is: see :func:`opened`."""
    refuse_twice(job)
    server = job.table.server
    with asked_table(server, job.table.path, job.table.table) as table:
        session = cast("Session", table)
        _try_on_paper(session, job, spend)
        yield session, f"at {server.server}", lambda: None


def begin_ledger(session: Session, path: str) -> None:
    """Let a session whose questions were tried on paper spend from a ledger that begins now."""
    budget, terms = session.budget, session.ledger.terms
    weak = weak_guarantee(budget, session.declared.size)
    if weak is not None:
        note(f"The whole budget is large: {weak} from all releases together.")
    session.ledger = open_ledger(path, dataset=session.dataset, budget=budget, terms=terms)


def _ledger_unit(path: str) -> OneRowEach | PersonUnit:
    """Return the unit that a ledger counts in."""
    with open_ledger(path, create=False) as ledger:
        said = ledger.terms.get("unit") or {}
    if said.get("column") is None:
        return one_row_each
    return unit(said["column"], said["rows"], said["groups"])


def _refuse_nothing_before(job: Job, place: str, exists: bool) -> None:
    """Refuse free answers where there is no ledger, before anything is opened for them."""
    if not exists and any(asked.free for asked in job.questions):
        raise UsageError(
            f"there is no ledger yet ({place}), and so no earlier release that an answer follows "
            "from: leave --free out, and say what it may spend"
        )


def _whole(job: Job) -> Budget:
    """Return the losses of all questions together: the budget where none is said."""
    losses = [asked.loss() for asked in job.questions]
    said = [each for each in losses if each is not None]
    if len(said) < len(losses) or not said:
        raise UsageError(
            "say what the release may spend (--epsilon 0.5, with --delta for keys that are not "
            "public, or --rho 0.1), and with --budget-epsilon what all releases may ever spend"
        )
    total = said[0]
    for each in said[1:]:
        total += each
    return total


def _try_on_paper(session: Session, job: Job, spend: bool) -> None:
    """Check every question, and that what remains covers them all, before anything is spent."""
    kind, remaining = session.budget.kind, session.remaining
    total = Budget.nothing(kind)
    costs: list[Budget] = []
    weak = []
    with working("planning"):
        for asked in job.questions:
            if asked.free:
                if spend:
                    told_free(asked.question(session), asked)
                continue
            requested = asked.loss()
            if requested is not None and kind != "concentrated":
                # a delta that the budget has not, even where none is needed
                requested.cost_in(kind)
            cost = asked.question(session).cost(**asked.price, tag=asked.tag)
            total, costs = total + cost, [*costs, cost]
            # a delta that no answer needs is asked about too: it may become the whole budget's
            lost = cost if requested is None or cost.is_nothing else requested
            weak.append(weak_guarantee(lost, session.declared.size))
    covered = remaining.covers(fit(total, remaining)) or session.ledger.chain.affords(*costs)
    if spend and not covered:
        told = f"this release costs {total!r}"
        if len(job.questions) > 1:
            told = f"these {len(job.questions)} questions cost {total!r} together"
        raise BudgetError(
            f"{told}, and {remaining!r} is left of {session.budget!r}; nothing was spent. Ask "
            "for less, or raise the budget, which is recorded: tacit ledger extend"
        )
    for why in weak if spend else ():
        confirm_weak(why, job.sure)


def confirm_weak(weak: str | None, sure: bool) -> None:
    """Ask before a release that protects hardly anybody, unless --yes was given.

    Args:
        weak: why it does, as :func:`tacit.report.text.odds.weak_guarantee` says; None where it
            protects.
        sure: whether --yes was given.

    Raises:
        UsageError: nobody is there to say yes, or somebody said no; nothing was spent.
    """
    if weak is None or sure:
        return
    if sys.stdin.isatty() and sys.stderr.isatty():
        if typer.confirm(f"{weak}. Release all the same?", err=True):
            return
        raise UsageError("nothing was released, and nothing was spent")
    raise UsageError(
        f"{weak}. Nothing was spent: ask for a smaller loss, or say --yes to release all the same"
    )


@contextmanager
def confirmed(*, declared: bool = False) -> Iterator[None]:
    """Release what was confirmed: the warning of a weak guarantee was said before.

    What is warned of the columns is a note.

    Args:
        declared: whether a file declares how the table is read, and no flags.
    """
    with warnings_as_notes(declared=declared):
        warnings.simplefilter("ignore", WeakGuaranteeWarning)
        warnings.simplefilter("always", DataSourceWarning)
        yield
