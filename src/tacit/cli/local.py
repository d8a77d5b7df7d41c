"""The commands `tacit local`."""

from __future__ import annotations

import csv
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tacit.arithmetic.exact import show
from tacit.cli.shared.options import TableOptions, Text, Texts, argument, flag, options
from tacit.cli.shared.output import check_files, draw, note, print_json, print_table, working
from tacit.errors import DataSourceError, UsageError, did_you_mean
from tacit.outside import read_json_file

if TYPE_CHECKING:
    from tacit.local import Collector, Items, Oracle
    from tacit.report.odds import Result
    from tacit.tables.open_source import Source

# The answers of a table, read as a local question takes them.


Reader = Callable[[Any], Any]
_AT_ONCE = 1 << 16
BETWEEN = ";"  # separates the items of a set in one field


def reader_of(oracle: Oracle) -> Reader:
    """Return how one field, or one line of a terminal, is read; an empty one is missing."""
    from tacit import local

    if isinstance(oracle, (local.AttributeSplitting, local.KeyValue)) or (
        type(oracle) is local.AttributeSampling
    ):
        raise UsageError("a person has several answers to this question, each in its own column")
    if isinstance(oracle, local.PaddedSets):
        return _members
    return _answer


def _answer(cell: Any) -> Any:
    return None if cell == "" else cell


def _members(cell: Any) -> list[str]:
    """Return the items of a set that is written in one field."""
    return [part.strip() for part in str(cell or "").split(BETWEEN) if part.strip()]


def answers_of(source: Source, column: str | None, oracle: Oracle) -> Iterator[Any]:
    """Return the answers in a table, one per person."""
    # A cell that cannot be read is a missing answer, as it is to every other command.
    from tacit import local

    if isinstance(oracle, local.KeyValue):
        names, readers = [name for name, _ in oracle.parts], None
    elif type(oracle) in (local.AttributeSplitting, local.AttributeSampling):
        names = [name for name, _ in oracle.parts]  # type: ignore[attr-defined]
        readers = [reader_of(part) for _, part in oracle.parts]  # type: ignore[attr-defined]
    else:
        if column is None:
            raise UsageError("name the column with the answers: --column COL")
        read = reader_of(oracle)
        return (read(fields[0]) for fields in _rows(source, [column]))
    if column is not None:
        raise UsageError(f"this question takes the columns {', '.join(names)}: leave out --column")
    rows = _rows(source, names)
    if readers is None:
        return (dict(zip(names, map(_answer, row), strict=True)) for row in rows)
    return ([read(cell) for read, cell in zip(readers, row, strict=True)] for row in rows)


def _rows(source: Source, columns: list[str]) -> Iterator[tuple[Any, ...]]:
    """Return the cells of some columns, row by row, in the order of the table."""
    for column in columns:
        if column not in source.schema:
            raise DataSourceError(
                f"{source.name} has no column {column!r}: {did_you_mean(column, source.schema)}"
            )
    engine = source.engine
    quoted = [(source.schema[name], engine.dialect.identifier(name)) for name in columns]
    listed = ", ".join(cell for _, cell in quoted)
    named = ", ".join(f"{column.number_text(cell)} as {cell}" for column, cell in quoted)
    numbered = engine.materialise(
        f"select row_number() over () as tacit_row, {named} from {source.relation} as tacit_rows"
    )
    try:
        count = engine.rows(f"select count(*) from {numbered}")[0][0]
        for start in range(0, count, _AT_ONCE):
            yield from (
                row[1:]
                for row in engine.rows(
                    f"select tacit_row, {listed} from {numbered} where tacit_row > {start} "
                    f"and tacit_row <= {start + _AT_ONCE} order by tacit_row"
                )
            )
    finally:
        engine.drop(numbered)


# Flags of a local question.


_asked = partial(flag, panel="The question")
_MECHANISMS = {
    "two-coins": "RandomizedResponse",
    "direct": "DirectEncoding",
    "unary": "UnaryEncoding",
    "hashing": "OptimizedLocalHashing",
    "hadamard": "HadamardResponse",
    "subset": "SubsetSelection",
    "summation": "SummationHistogram",
    "threshold": "ThresholdHistogram",
}
_NUMBERS = {
    "duchi": "Duchi",
    "piecewise": "Piecewise",
    "hybrid": "HybridMean",
    "laplace": "LaplaceMean",
    "square-wave": "SquareWave",
}
_WORDS = {
    "sketch": "CountMeanSketch",
    "hadamard-sketch": "HadamardCountMeanSketch",
    "rappor": "Rappor",
}
# Integers with a range among them: 1..12, or 1..5,9.
_INTEGERS = r"[-\s\d,]*\d\s*\.\.\s*-?\d[-\s\d,.]*"
_ALL = {**_MECHANISMS, **_NUMBERS, **_WORDS, "ranges": "HierarchicalRanges"}


@dataclass(frozen=True)
class OracleOptions:
    """Which answers are possible, and how they are randomised."""

    items: Text = _asked("The possible answers: a,b,c, 0..1023 or 1..5,9.", "ANSWER,...")
    items_file: Text = _asked("A file with one answer per line.", "FILE")
    other: Text = _asked("The answer for all answers that are not listed.", "ANSWER")
    missing: Text = _asked("The answer (or number) for a missing answer.", "ANSWER")
    mechanism: Text = _asked("One of " + ", ".join(_ALL) + ".", "NAME")
    bounds: Text = _asked("For numbers: the minimum and the maximum.", "LOW:HIGH")
    epsilon: Text = _asked("The privacy loss (epsilon) of one report.", "EPSILON")
    p: Text = _asked(
        "Instead: the probability of the true answer, such as 3/4.", "P", names=("-p",)
    )
    q: Text = _asked(
        "With -p, for unary: the probability that another answer is marked.", "Q", names=("-q",)
    )
    question: Text = _asked(
        "Instead of all these: a JSON file with oracle.describe(), or a file of reports.", "FILE"
    )


def items_of(options: OracleOptions) -> Items:
    from tacit.local import Items

    if (options.items is None) == (options.items_file is None):
        raise UsageError("name the possible answers: --items yes,no or --items-file answers.txt")
    labels: Any
    if options.items_file is not None:
        try:
            text = Path(options.items_file).expanduser().read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError):
            raise DataSourceError(
                f"{options.items_file} cannot be read as text: it must be a file in UTF-8"
            ) from None
        labels = [line.strip() for line in text.split("\n") if line.strip()]
    elif (spread := re.fullmatch(r"\s*0\.\.(\d{1,10})\s*", options.items or "")) is not None:
        labels = int(spread[1]) + 1
    elif re.fullmatch(_INTEGERS, options.items or ""):
        from tacit.cli.shared.flag_values import integer_range  # it imports engines

        labels = integer_range(options.items or "", "--items")
    else:
        parts = next(csv.reader([options.items or ""], skipinitialspace=True), [])
        labels = [part.strip() for part in parts]
        if any(re.fullmatch(_INTEGERS, label) for label in labels):
            raise UsageError(
                "a range of whole numbers is among other answers: list the answers, or write "
                "them to a file for --items-file, one per line"
            )
    return Items(labels, other=options.other, missing=options.missing)


def oracle_of(options: OracleOptions) -> Oracle:
    """Return the mechanism that the flags or the file of ``--question`` name."""
    from tacit import local

    if options.question is not None:
        if options.items or options.items_file or options.mechanism or options.bounds:
            raise UsageError(
                "--question states everything: leave out the other flags of the question"
            )
        return _described(options.question)
    name = options.mechanism or "direct"
    if name not in _ALL:
        raise UsageError(f"mechanism {name!r}: {did_you_mean(name, _ALL)}")
    numbers = {"epsilon": options.epsilon, "p": options.p, "q": options.q}
    given: dict[str, Any] = {key: value for key, value in numbers.items() if value is not None}
    try:
        made: Oracle = getattr(local, _ALL[name])(
            *_about(name, options), **given, **_extra(options)
        )
    except TypeError:
        known = [f"{'--' if len(key) > 1 else '-'}{key}" for key in given]
        raise UsageError(
            f"{name} takes {_takes(name)}, not {' and '.join(known) or 'nothing'}"
        ) from None
    return made


def _takes(name: str) -> str:
    if name == "rappor":
        return "-p and -q, or neither (give its other numbers with --question)"
    without = ("hadamard", "ranges", "summation", "threshold", "hybrid", "laplace", "piecewise")
    return "--epsilon" if name in without or name == "square-wave" else "--epsilon or -p"


def _about(name: str, options: OracleOptions) -> list[Any]:
    """Return what a mechanism is about: items, two bounds, a number of values, or any text."""
    listed = options.items is not None or options.items_file is not None
    if name in _NUMBERS:
        if listed or options.other:
            raise UsageError(f"{name} is for a number: give --bounds 0:100 instead of answers")
        ends = (options.bounds or "").split(":")
        if len(ends) != 2:
            raise UsageError("give the bounds of the number: --bounds 0:100")
        return ends
    if options.bounds is not None:
        raise UsageError(f"--bounds is for numbers ({', '.join(_NUMBERS)}), not for {name}")
    if name in _WORDS:
        if listed or options.other or options.missing:
            raise UsageError(f"{name} takes any answer: name the candidates when you estimate")
        return []
    items = items_of(options)
    if name != "ranges":
        return [items]
    if not isinstance(items.labels, range) or options.other or options.missing:
        raise UsageError("ranges are of whole numbers from 0 on: --items 0..99")
    return [len(items)]


def _extra(options: OracleOptions) -> dict[str, Any]:
    numbers = options.mechanism in _NUMBERS and options.missing is not None
    return {"missing": options.missing} if numbers else {}


def _described(path: str) -> Oracle:
    from tacit.local import oracle_from
    from tacit.local.batch_file import Header, read_header

    try:
        with open(path, "rb") as file:
            header = read_header(file)
        if isinstance(header, Header):
            return header.oracle()
        described = read_json_file(path, path)
    except OSError as error:
        raise DataSourceError(f"{path} cannot be read: {error.strerror}") from None
    except UsageError as error:
        raise UsageError(
            f"{path} is neither the description of a question nor a file of reports ({error})"
        ) from None
    return oracle_from(described)


# ``tacit local``: ask, perturb, collect, estimate and choose in the local model.


local_app = typer.Typer(
    help="Local model, answers randomised on devices: ask, perturb, collect, estimate, choose.",
    no_args_is_help=True,
)


@dataclass(frozen=True)
class _Asking:
    """The question to one person, and the file of the report."""

    text: str = argument("The question.", "QUESTION", default=...)
    out: Text = flag("Append the report to this file.", "FILE")
    page: Text = flag("Write a web page that asks it, to a folder.", "FOLDER")
    send_to: Text = flag("With --page: the address that takes reports.", "URL")


@local_app.command("ask")
@options
def ask(person: _Asking, options: OracleOptions) -> None:
    """Ask one person on this terminal, and print the randomised report.

    [bold]tacit local ask "Did you ever cheat?" --items yes,no -p 3/4[/bold]
    """
    from tacit.arithmetic.enclosure import Enclosure
    from tacit.local import FrequencyOracle, Wire, append_reports, write_page

    oracle = oracle_of(options)
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

    out: str = flag("The new file of reports.", "FILE", default=...)
    column: Text = flag("Its column; several attributes are in columns of their names.", "COL")
    ids: bool = flag(
        "Give each report a random id, to detect replays.", names=("--ids/--no-ids",), default=True
    )


@dataclass(frozen=True)
class _PerturbedTable(TableOptions):
    codes: Texts = flag(
        "Codes of a column that are missing answers, such as job=refused,99. May be given several "
        "times.",
        "COL=CODE,...",
        names=("--missing-codes",),  # --missing is the answer that is given for one
        panel="The table",
    )


@local_app.command("perturb")
@options
def perturb(source: _PerturbedTable, column: _Perturbing, options: OracleOptions) -> None:
    """Randomise every answer of a column, and write the reports to a file.

    The table is read as by every other command. A cell or line that cannot be read is a missing
    answer; [bold]tacit check[/bold] shows where those are.

    [bold]tacit local perturb p.csv --column job --items a,b --epsilon 1 --out day.reports[/bold]
    """
    from tacit.cli.release.job import open_table, table_of
    from tacit.local import append_reports, write_reports

    oracle = oracle_of(options)
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
            os.unlink(column.out)  # half a column would be taken for all of it
            raise
    note(f"{n:,} reports of {oracle.report_bits:,} bits each in {column.out}")


@dataclass(frozen=True)
class _Collecting:
    """Files of reports, and the stored sums."""

    files: list[str] = argument("Files of reports.", "FILE...", default=...)
    out: str = flag("The file of exact sums.", "STATE", default=...)
    resume: bool = flag("Continue from the sums in --out.", default=False)
    replay: Text = flag("Refuse replays: exact, or bitmap (bounded memory).")
    outliers: Text = flag("Refuse reports rarer than this, such as 1e-9 (unary).")
    processes: int = flag("How many at once.", default=1)
    question: Text = flag("The question; by default that of the first file.")
    json: bool = flag("Print JSON.", default=False)


@local_app.command("collect")
@options
def collect(given: _Collecting) -> None:
    """Add up reports to exact sums; refuse and count what is not a report.

    [bold]tacit local collect monday.reports tuesday.reports --out week.state[/bold]
    """
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
        oracle = oracle_of(OracleOptions(question=given.question or given.files[0]))
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
    for reason, number in collector.refused.items():
        note(f"refused: {number:,} ({reason})")


@dataclass(frozen=True)
class _Estimating:
    """Sums or reports, and how estimates are shown."""

    files: list[str] = argument("A file of sums, or files of reports.", "FILE...", default=...)
    level: str = flag("The confidence level of the intervals.", default="0.95")
    together: bool = flag("Intervals that hold for all answers at once.", default=False)
    poisoned: int | None = flag(
        "Show how far this many poisoned reports could move a count.",
        names=("--poisoned", "--crafted"),
    )
    candidates: Text = flag("For any text: answers to look for.", "A,B,...")
    ranges: Text = flag("For ranges: 18..25,26..64.", "FIRST..LAST,...")
    heaviest: int | None = flag("For prefixes: how many answers.", "N")
    shuffled_delta: Text = flag("Show the epsilon at this delta if reports were shuffled.")
    plot: Text = flag("Draw to a .png, .svg or .pdf file.")
    json: bool = flag("Print JSON.", default=False)


@local_app.command("estimate")
@options
def estimate(given: _Estimating) -> None:
    """Estimate how many people gave each answer, with confidence intervals.

    [bold]tacit local estimate week.state --plot week.png[/bold]
    """
    check_files(given.plot, ())
    with working("adding up"):
        collector = _sums(given.files)
    candidates = None if given.candidates is None else next(csv.reader([given.candidates]), [])
    from tacit.report.odds import Wanted, results_of

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
    if figure is not None:
        draw(figure, given.plot)


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
        influence = collector.influence(given.poisoned)
        record["poisoned"] = (
            [f"{k}: {v}" for k, v in influence.items()]
            if isinstance(influence, dict)
            else str(influence)
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
        collector = Collector(oracle_of(OracleOptions(question=files[0])))
        collector.add_files(files)
        return collector
    first, *others = (Collector.load(name) for name in files)
    for other in others:
        first = first + other
    return first


@dataclass(frozen=True)
class _Choosing:
    """The number of people, and the output."""

    n: int = flag("How many people will answer.", "N", names=("-n",), default=...)
    plot: Text = flag("Draw to a .png, .svg or .pdf file.")
    json: bool = flag("Print JSON.", default=False)


@local_app.command("choose")
@options
def choose(given: _Choosing, options: OracleOptions) -> None:
    """Rank the mechanisms for a question by error, report size and influence.

    [bold]tacit local choose --items 0..1023 --epsilon 1 -n 100000[/bold]
    """
    from tacit.local import choose as ranked

    check_files(given.plot, ())
    if options.epsilon is None or options.p or options.q or options.mechanism or options.question:
        raise UsageError(
            "to choose a mechanism, give the answers and an epsilon: --items 0..1023 --epsilon 1"
        )
    ranking = ranked(items_of(options), given.n, options.epsilon)
    if given.json:
        print_json(
            [
                {
                    "mechanism": option.name,
                    "standard_error": float(option.variance) ** 0.5,
                    "report_bits": option.report_bits,
                    "influence": float(option.influence),
                }
                for option in ranking.options
            ]
        )
    else:
        print(ranking)
    draw(ranking.plot, given.plot)
