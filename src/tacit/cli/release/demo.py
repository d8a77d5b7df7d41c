"""``tacit demo``: publish statistics of the bundled table, from the question to the certificate."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.errors import BudgetError, MissingExtraError, UsageError

if TYPE_CHECKING:
    from tacit.tables import Answer, Question, Session

__all__ = ["demo"]

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
    from tacit.cli.shared.output import print_table
    from tacit.data import health_insurance
    from tacit.report.text.words import budget_words, number
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


def _show(title: str, question: Question, place: Path) -> None:
    from tacit.cli.shared.output import answer_tables, working

    with working(title):
        answer: Answer = question.release(epsilon=_EPSILON)
    again = " (asked before: the same answer again, free)" if answer.replayed else ""
    print(f"{title}{again}")
    answer_tables(answer)
    with working("writing the certificate"), suppress(MissingExtraError):  # of jinja2
        answer.certificate.save(place.with_suffix(".json"))
        answer.certificate.save(place.with_suffix(".html"))
    with suppress(MissingExtraError):  # of matplotlib; the page has the plot all the same
        from tacit.cli.shared.output import save_plot

        with working("drawing"):
            save_plot(answer.plot(), str(place.with_suffix(".png")))
