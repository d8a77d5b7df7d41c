"""``tacit local``: ask, perturb, collect, estimate and choose in the local model."""

from __future__ import annotations

import csv
import os
import sys
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.local.answers import answers_of, reader_of
from tacit.cli.local.question import Asked, items_of, oracle_of
from tacit.cli.shared.options import TableOptions
from tacit.cli.shared.signature import options
from tacit.errors import DataSourceError, UsageError

if TYPE_CHECKING:
    from tacit.local import Collector, Oracle
    from tacit.report.text.local_estimates import Result

__all__ = ["local_app"]

local_app = typer.Typer(
    help="Local model, answers randomised on devices: ask, perturb, collect, estimate, choose.",
    no_args_is_help=True,
)

_AT_ONCE = 1 << 16
_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@dataclass(frozen=True)
class _Asking:
    """What one person is asked, and where the report goes."""

    text: Annotated[str, typer.Argument(help="The question.", metavar="QUESTION")]
    out: Annotated[
        str | None, typer.Option("--out", help="Append the report to this file.", metavar="FILE")
    ] = None
    page: Annotated[
        str | None,
        typer.Option(
            "--page", help="Write a web page that asks it, to a folder.", metavar="FOLDER"
        ),
    ] = None
    send_to: Annotated[
        str | None,
        typer.Option(
            "--send-to", help="With --page: the address that takes reports.", metavar="URL"
        ),
    ] = None


@local_app.command("ask")
@options
def ask(person: _Asking, asked: Asked) -> None:
    """Ask one person on this terminal, and print the randomised report.

    [bold]tacit local ask "Did you ever cheat?" --items yes,no -p 3/4[/bold]
    """
    from tacit.arithmetic.enclosure import Enclosure
    from tacit.arithmetic.exact import show
    from tacit.cli.shared.output import note
    from tacit.local import FrequencyOracle, Wire, append_reports, write_page

    oracle = oracle_of(asked)
    if person.page is not None:
        if not isinstance(oracle, FrequencyOracle):
            raise UsageError(f"a page asks for one answer of a list, not {type(oracle).__name__}")
        page = write_page(person.page, oracle, person.text, send_to=person.send_to)
        note(f"wrote {page}; serve its folder over HTTPS")
        return
    answer = _chosen(person.text, oracle)
    report = oracle.perturb(answer)
    loss = Enclosure.of(oracle.epsilon).upper
    note(f"Your answer stays here. This report is all that leaves (epsilon {show(float(loss))}):")
    print(Wire(oracle).to_json(report))
    if person.out is not None:
        append_reports(person.out, oracle, [report])
        note(f"appended to {person.out}")


def _chosen(text: str, oracle: Oracle) -> Any:
    """Show the answers and read which one is chosen: by its number, as it is written, or any."""
    from tacit.local import FrequencyOracle

    read = reader_of(oracle)
    listed = isinstance(oracle, FrequencyOracle)
    labels = oracle.domain.labels if listed else ()  # type: ignore[attr-defined]
    print(text, file=sys.stderr)
    if len(labels) <= 50:
        for number, label in enumerate(labels, 1):
            print(f"  {number}  {label}", file=sys.stderr)
    print("Your answer: ", end="", file=sys.stderr, flush=True)
    typed = sys.stdin.readline().strip()
    if not listed:
        return read(typed)
    for label in islice(labels, 10_000):
        if typed and typed.casefold() == str(label).casefold():
            return label
    if typed.isascii() and typed.isdigit() and 1 <= int(typed[:12]) <= len(labels) <= 50:
        return labels[int(typed) - 1]
    if oracle.domain.place(typed or None) >= 0:  # type: ignore[attr-defined]
        return typed or None
    raise UsageError("that is not one of the answers; nothing was drawn or sent")


@dataclass(frozen=True)
class _Perturbing:
    """The column whose answers are randomised."""

    out: Annotated[str, typer.Option("--out", help="The new file of reports.", metavar="FILE")]
    column: Annotated[
        str | None,
        typer.Option(
            "--column",
            help="Its column; several attributes are in columns of their names.",
            metavar="COL",
        ),
    ] = None
    ids: Annotated[
        bool,
        typer.Option("--ids/--no-ids", help="Give each report a random id, to detect replays."),
    ] = True


@local_app.command("perturb")
@options
def perturb(source: TableOptions, column: _Perturbing, asked: Asked) -> None:
    """Randomise every answer of a column, and write the reports to a file.

    The table is read as by every other command. A cell or line that cannot be read is a missing
    answer; [bold]tacit check[/bold] shows where those are.

    [bold]tacit local perturb p.csv --column job --items a,b --epsilon 1 --out day.reports[/bold]
    """
    from tacit.cli.release.job import open_table, table_of
    from tacit.cli.shared.output import note, working
    from tacit.local import append_reports, write_reports

    oracle = oracle_of(asked)
    table = table_of(source, "local perturb")
    if os.path.exists(column.out):
        raise DataSourceError(f"{column.out} exists; each answer is randomised once: name another")
    n = 0
    with working("randomising"), open_table(table) as opened:
        answers = answers_of(opened, column.column, oracle)
        write_reports(column.out, oracle, oracle.layout.empty(0), ids=column.ids)
        try:
            while part := list(islice(answers, _AT_ONCE)):
                n += append_reports(column.out, oracle, oracle.perturb_many(part))
        except BaseException:
            os.unlink(column.out)  # half a column would be taken for the whole
            raise
    note(f"{n:,} reports of {oracle.report_bits:,} bits each in {column.out}")


@dataclass(frozen=True)
class _Collecting:
    """Files of reports, and what is kept of them."""

    files: Annotated[list[str], typer.Argument(help="Files of reports.", metavar="FILE...")]
    out: Annotated[str, typer.Option("--out", help="The file of exact sums.", metavar="STATE")]
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the sums in --out.")] = (
        False
    )
    replay: Annotated[
        str | None,
        typer.Option("--replay", help="Refuse replays: exact, or bitmap (bounded memory)."),
    ] = None
    outliers: Annotated[
        str | None,
        typer.Option("--outliers", help="Refuse reports rarer than this, such as 1e-9 (unary)."),
    ] = None
    processes: Annotated[int, typer.Option("--processes", help="How many at once.")] = 1
    question: Annotated[
        str | None,
        typer.Option("--question", help="The question; by default that of the first file."),
    ] = None
    json: _Json = False


@local_app.command("collect")
@options
def collect(given: _Collecting) -> None:
    """Add up reports to exact sums; refuse and count what is not a report.

    [bold]tacit local collect monday.reports tuesday.reports --out week.state[/bold]
    """
    from tacit.cli.shared.output import note, print_json, working
    from tacit.local import Collector

    if given.resume:
        if given.replay or given.outliers or given.question:
            raise UsageError(
                "--resume continues with the settings that it was started with: leave out the "
                "other flags"
            )
        collector = Collector.load(given.out)
    else:
        if os.path.exists(given.out):
            raise DataSourceError(f"{given.out} exists; add to it with --resume, or name another")
        oracle = oracle_of(Asked(question=given.question or given.files[0]))
        collector = Collector(oracle, replay=given.replay, outliers=given.outliers)  # type: ignore[arg-type]
    with working("adding up"):
        added = collector.add_files(given.files, processes=given.processes)
    collector.save(given.out)
    if given.json:
        print_json({"added": added, "n": collector.n, "refused": collector.refused})
        return
    note(f"{added:,} reports added, {collector.n:,} in {given.out}")
    _say_refused(collector)


def _say_refused(collector: Collector) -> None:
    from tacit.cli.shared.output import note

    for reason, number in collector.refused.items():
        note(f"refused: {number:,} ({reason})")


@dataclass(frozen=True)
class _Estimating:
    """Sums or reports, and how estimates are shown."""

    files: Annotated[
        list[str],
        typer.Argument(help="A file of sums, or files of reports.", metavar="FILE..."),
    ]
    level: Annotated[
        str, typer.Option("--level", help="The confidence level of the intervals.")
    ] = "0.95"
    together: Annotated[
        bool, typer.Option("--together", help="Intervals that hold for all answers at once.")
    ] = False
    poisoned: Annotated[
        int | None,
        typer.Option(
            "--poisoned",
            "--crafted",
            help="Show how far this many poisoned reports could move a count.",
        ),
    ] = None
    candidates: Annotated[
        str | None,
        typer.Option("--candidates", help="For any text: answers to look for.", metavar="A,B,..."),
    ] = None
    ranges: Annotated[
        str | None,
        typer.Option("--ranges", help="For ranges: 18..25,26..64.", metavar="FIRST..LAST,..."),
    ] = None
    heaviest: Annotated[
        int | None,
        typer.Option("--heaviest", help="For prefixes: how many answers.", metavar="N"),
    ] = None
    shuffled_delta: Annotated[
        str | None,
        typer.Option(
            "--shuffled-delta", help="Show the epsilon at this delta if reports were shuffled."
        ),
    ] = None
    plot: Annotated[
        str | None, typer.Option("--plot", help="Draw to a .png, .svg or .pdf file.")
    ] = None
    json: _Json = False


@local_app.command("estimate")
@options
def estimate(given: _Estimating) -> None:
    """Estimate how many people gave each answer, with confidence intervals.

    [bold]tacit local estimate week.state --plot week.png[/bold]
    """
    from tacit.cli.shared import output
    from tacit.cli.shared.output import check_files, note, print_json, print_table, working

    check_files(given.plot, ())
    with working("adding up"):
        collector = _sums(given.files)
    candidates = None if given.candidates is None else next(csv.reader([given.candidates]), [])
    from tacit.report.text.local_estimates import Wanted, results_of

    wanted = Wanted(given.level, given.together, candidates, given.ranges, given.heaviest, "--")
    with working("estimating"):
        results = list(results_of(collector.oracle, collector.state, wanted))
    figure = results[0].figure if len(results) == 1 else None
    if given.plot is not None and figure is None:
        raise UsageError("this estimate has no single plot: leave out --plot")
    record = _record(given, collector, results)
    if given.json:
        print_json(record)
    else:
        for one in results:
            about = "" if one.name is None else f"{one.name}: "
            title = f"{about}{one.record['n']:,} reports, epsilon {record['epsilon']:.4g} each"
            print_table(one.header, one.cells, right=[1, 3], title=title)
            for more in one.notes:
                note(more)
        if given.shuffled_delta is not None:
            note(f"shuffled: epsilon {record['shuffled_epsilon']:.4g} at {given.shuffled_delta}")
        poisoned = record.get("poisoned", [])
        for line in [poisoned] if isinstance(poisoned, str) else poisoned:
            note(line)
        _say_refused(collector)
    if given.plot is not None and figure is not None:
        with working("drawing"):
            output.save_plot(figure(), given.plot)
        note(f"wrote {given.plot}")


def _record(given: _Estimating, collector: Collector, results: list[Result]) -> dict[str, Any]:
    """Return all that is reported, as plain JSON values."""
    from tacit.local import amplified

    oracle = collector.oracle
    record: dict[str, Any] = {
        "n": collector.n,
        "mechanism": type(oracle).__name__,
        "epsilon": float(oracle.epsilon),
        "refused": collector.refused,
    }
    if results[0].name is None:
        record |= results[0].record
    else:
        record["attributes"] = {one.name: one.record for one in results}
    if given.shuffled_delta is not None:
        people = max(1, collector.n)
        record["shuffled_epsilon"] = float(amplified(oracle, people, given.shuffled_delta))
    if given.poisoned is not None:
        told = collector.influence(given.poisoned)
        record["poisoned"] = (
            [f"{k}: {v}" for k, v in told.items()] if isinstance(told, dict) else str(told)
        )
    return record


def _sums(files: list[str]) -> Collector:
    """Read one file of sums, or add up files of reports."""
    from tacit.local import Collector

    try:
        with open(files[0], "rb") as file:
            sums = file.read(8) == b"TACITLC1"
    except OSError as error:
        raise DataSourceError(f"{files[0]} cannot be read: {error.strerror}") from None
    if not sums:
        collector = Collector(oracle_of(Asked(question=files[0])))
        collector.add_files(files)
        return collector
    first, *others = (Collector.load(name) for name in files)
    for other in others:
        first = first + other
    return first


@dataclass(frozen=True)
class _Choosing:
    """How many people, and what is printed."""

    n: Annotated[int, typer.Option("-n", help="How many people will answer.", metavar="N")]
    plot: Annotated[
        str | None, typer.Option("--plot", help="Draw to a .png, .svg or .pdf file.")
    ] = None
    json: _Json = False


@local_app.command("choose")
@options
def choose(given: _Choosing, asked: Asked) -> None:
    """Rank the mechanisms for a question by error, report size and influence.

    [bold]tacit local choose --items 0..1023 --epsilon 1 -n 100000[/bold]
    """
    from tacit.cli.shared.output import check_files, note, print_json, save_plot
    from tacit.local import choose as ranked

    check_files(given.plot, ())
    if asked.epsilon is None or asked.p or asked.q or asked.mechanism or asked.question:
        raise UsageError(
            "to choose a mechanism, give the answers and an epsilon: --items 0..1023 --epsilon 1"
        )
    found = ranked(items_of(asked), given.n, asked.epsilon)
    if given.json:
        print_json(
            [
                {
                    "mechanism": option.name,
                    "standard_error": float(option.variance) ** 0.5,
                    "report_bits": option.report_bits,
                    "influence": float(option.influence),
                }
                for option in found.options
            ]
        )
    else:
        print(found)
    if given.plot is not None:
        save_plot(found.plot(), given.plot)
        note(f"wrote {given.plot}")
