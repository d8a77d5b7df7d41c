"""The commands `tacit init`, `tacit check` and `tacit demo`."""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.shared.options import TableOptions, Text, Texts, flag, options
from tacit.cli.shared.output import answer_tables, note, print_json, print_table, save_plot, working
from tacit.errors import BudgetError, MissingExtraError, UsageError

if TYPE_CHECKING:
    from tacit.tables import Answer, Question, Session

# ``tacit init``: a first declaration of a table.


@dataclass(frozen=True)
class DraftOptions:
    out: Text = flag("The file to write; NAME.toml by default.", "FILE")


@options
def init(source: TableOptions, draft: DraftOptions) -> None:
    """Draft the declaration of a data set, from the names and types of its columns alone.

    A question mark marks every place where you must decide, with an explanation. No row is read.

    [bold]tacit init visits.csv[/bold]
    """
    from tacit.cli.release.job import odd_names_noted, table_of
    from tacit.tables.dataset.draft import draft as drafted
    from tacit.tables.dataset.draft import draft_text
    from tacit.tables.dataset.table import write_new

    table = table_of(source, "init")
    with working("reading the names and kinds of the columns"), odd_names_noted():
        dataset = drafted(table.path, table.table, name=table.name, **table.csv)
    path = Path(draft.out or f"{dataset.name}.toml").expanduser()
    write_new(path, draft_text(dataset, path.parent))
    left = len(dataset.open_fields())
    note(f"wrote {path}; decide the {left} places marked ?, then run: tacit check {path}")


# ``tacit check``: the curator's exact report on a table.


@dataclass(frozen=True)
class AnswerOptions:
    columns: Texts = flag("Report these columns only; all by default.", "COL,...")
    json: bool = flag("Print JSON.", default=False)


@options
def check(source: TableOptions, show: AnswerOptions) -> None:
    """Check your own table: what would be missing, where, and what to declare.

    Its output is exact and NOT PRIVATE: it is for the curator alone, and must not be published.
    Nothing is charged, and no other command runs it.

    For the declaration of a data set it reports what is left open, and whether it fits its tables;
    no row is read then.

    [bold]tacit check people.csv[/bold]
    """
    from tacit.cli.release.job import is_declared, odd_names_noted, table_of
    from tacit.cli.shared.flag_values import column_names
    from tacit.tables.check_table import check as look

    table = table_of(source, "check")
    if is_declared(table.path):
        if show.columns:
            raise UsageError(
                f"{table.path} is a declaration, of which no column is read: leave --columns out, "
                "or check the table itself"
            )
        _check_declaration(table.path, as_json=show.json)
        return
    if show.json:  # the report in words begins with it
        note("NOT PRIVATE: what follows counts cells exactly. Do not publish it.")
    with working("looking through the table"), odd_names_noted():
        report = look(
            table.path,
            table.table,
            columns=column_names(show.columns) if show.columns else None,
            memory_limit=table.memory_limit,
            threads=table.threads,
            **table.csv,
        )
    if show.json:
        print_json(report.to_json())
    else:
        print(report)


def _check_declaration(path: str, *, as_json: bool) -> None:
    from tacit.accounting.open_ledger import has_ledger, in_memory
    from tacit.cli.release.job import odd_names_noted
    from tacit.report.odds import weak_guarantee
    from tacit.tables.dataset.declaration import Dataset, open_dataset

    dataset = Dataset.load(path)
    exists = has_ledger(dataset.ledger_location)
    with odd_names_noted(declared=True):
        dataset.check()
        with (
            working("opening the tables"),
            open_dataset(dataset, ledger=None if exists else in_memory) as session,
        ):
            # the ledger that exists counts as is declared
            weak = weak_guarantee(session.budget, session.declared.size)
    if weak is not None:
        note(f"The total budget is large: {weak} from all releases together.")
    if as_json:
        print_json({"name": dataset.name, "tables": list(dataset.tables), "open": []})
    else:
        print(f"{path} is complete, and fits {', '.join(dataset.tables)}.")


# ``tacit demo``: publish statistics of the bundled table, from the question to the certificate.


_SITES = [1, 2, 3, 4, 5, 6]
_EPSILON = "3/4"
_PLANS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16, 17, 18, 19]


def demo(
    out: Annotated[
        str, typer.Option("--out", help="The folder for what the demo writes.", metavar="FOLDER")
    ] = "tacit-demo",
) -> None:
    """Publish spending and visits of 5,912 people, with errors, budget, plot and certificate.

    [bold]tacit demo[/bold]
    """
    from tacit.accounting import epsilon
    from tacit.data import health_insurance
    from tacit.report.text import budget_words, number
    from tacit.tables import Session, unit

    folder = Path(out).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        table = folder / "health_insurance.parquet"
        if not table.exists():
            shutil.copy(health_insurance(), table)
    except OSError as error:
        raise UsageError(
            f"{out} cannot be written: {error.strerror}; name another folder with --out"
        ) from None
    print(
        "The RAND Health Insurance Experiment: 20,190 rows of 5,912 people, who were given\n"
        "insurance by lot. A person has up to five rows, one a year, so the person is protected,\n"
        "with all their rows. All releases together may spend epsilon 2; two are made here.\n"
    )
    protects = unit("person", rows=5, groups=1)
    with Session(table, protects, epsilon(2), folder / "health.ledger") as session:
        preview = _question(session, "site", _SITES).preview(epsilon=_EPSILON, rows=(500, 3000))
        print("Before anything is spent: the standard errors to expect")
        print_table(
            ["answer", "group of 500 rows", "group of 3,000 rows"],
            [
                [label, *(number(e, e / 10) for e in errors)]
                for label, errors in preview.errors.items()
            ],
            right=(1, 2),
        )
        try:
            for name, keys in (("site", _SITES), ("plan", _PLANS)):
                question = _question(session, name, keys)
                _show(f"By {name}, at epsilon {_EPSILON}", question, folder / f"by-{name}")
        except BudgetError as error:
            raise BudgetError(
                f"{error}. The ledger in {out} was filled by another version of the demo: name "
                "another folder with --out"
            ) from None
        left, total = session.remaining, session.budget
    print(f"Left of the budget: {budget_words(left)} of {budget_words(total)}.\n")
    print(f"Written to {folder}:")
    for name, what in (
        ("by-site.html", "the certificate with its plot, for a reviewer: open it in a browser"),
        ("by-site.json", "the same for a machine: tacit verify " + str(folder / "by-site.json")),
        ("by-site.png", "the plot by itself"),
        ("by-plan.*", "the same, by plan"),
        ("health.ledger", "the budget: tacit ledger show " + str(folder / "health.ledger")),
    ):
        if "*" in name or (folder / name).exists():
            print(f"  {name:<15} {what}")


def _question(session: Session, by: str, keys: list[int]) -> Question:
    from tacit.tables import count_people, mean

    return session.group_by(by, keys=keys).agg(
        people=count_people(), visits=mean("visits", 0, 20), spending=mean("spending", 0, 1000)
    )


def _show(title: str, question: Question, path: Path) -> None:
    with working(title):
        answer: Answer = question.release(epsilon=_EPSILON)
    again = " (asked before: the same answer again, free)" if answer.replayed else ""
    print(f"{title}{again}")
    answer_tables(answer)
    with working("writing the certificate"), suppress(MissingExtraError):  # of jinja2
        answer.certificate.save(path.with_suffix(".json"))
        answer.certificate.save(path.with_suffix(".html"))
    # of matplotlib; the page has the plot all the same
    with suppress(MissingExtraError), working("drawing"):
        save_plot(answer.plot(), str(path.with_suffix(".png")))
