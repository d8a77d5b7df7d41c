"""Output of commands: tables, JSON, files, notes, progress, exit codes, in the words of flags."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from tacit.calls import rewritten
from tacit.cli.shared.options import FormatOptions
from tacit.errors import UsageError, need

if TYPE_CHECKING:
    from tacit.tables import Answer
    from tacit.tables.publish.publications import PublishOptions


# Signals that end a command in an orderly way: what was spilled to disk is removed first.


class Ends:
    """A block that SIGTERM and SIGHUP end as the keyboard's interrupt does."""

    # Left as they are: a signal that someone ignores (``nohup``) or handles already, and all of
    # them outside of the main thread.

    def __init__(self) -> None:
        self.signal = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Ends:
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) == signal.SIG_DFL:
                try:
                    self._before[number] = signal.signal(number, self._end)
                except ValueError:  # not the main thread
                    return self
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _end(self, number: int, frame: FrameType | None) -> None:
        self.signal = number
        raise KeyboardInterrupt


# Remedies in the words of the command line: an error that shows a call shows the flags instead.
#
# The rooms below say what to do in Python.  What they show comes in few shapes, each of which has
# its flags here; what has none stays as it is.


_FLAGS = {
    r"session\.group_by\(\.\.\.\)\.agg\(\.\.\.\)\.release\(\.\.\.\)": "with tacit release",
    r"release\((epsilon|rho)=\{'n': 1, 'cost': 3\}, total='1/2'\)": r"--\1 n=1,cost=3 --total 1/2",
    r"\b(epsilon|rho)=\{\.\.\.\} holds": r"--\1 holds",
    r"release\(epsilon=\.\.\., delta=\.\.\.\)": "--epsilon ... --delta ...",
    r"types=\{'(\w+)': '(\w+)'\}, or give a data frame a column of (?:numbers|times)": (
        r"--types \1=\2"
    ),
    r"; or say so in the question with \.cast\(float\)": "",
    r"release\(epsilon='([^']*)'\)": r"--epsilon \1",
    r"release\(rho='([^']*)'\)": r"--rho \1",
    r"release\(epsilon=\.\.\., delta='?([^')]*)'?\)": r"--epsilon ... --delta \1",
    r"(?:budget=|a budget such as )?tc\.epsilon_delta\((\d+), '([^']*)'\)": (
        r"--budget-epsilon \1 --budget-delta \2"
    ),
    r"(?:budget=|a budget )?tc\.(rho|epsilon)\('?([^')]*)'?\)": r"--budget-\1 \2",
    r"the budget is (epsilon|rho|epsilon_delta)\(\.\.\.\)": r"the budget is in \1",
    r"Open it as epsilon_delta\(\.\.\.\)": "Open it with --budget-epsilon and --budget-delta",
    r"Open it as (rho|epsilon)\(\.\.\.\)": r"Open it with --budget-\1",
    r"unit=tc\.unit\('(\w+)', rows=(\w+|\.\.\.)\)": r"--person \1 --rows \2",
    r"unit=tc\.one_row_each": "--one-row-each",
    r"bound=\"([^\"]*)\"": r"--bound \1",
    r"\bbound=,": "--bound,",
    r"distribution='(\w+)'": r"--distribution \1",
    r"keys=\[\.\.\.\]": "--keys a,b,c",
    r"keys=\[1, 2, 3\]": "--keys 1,2,3",
    r"keys='labels'": "--keys labels",
    r"^(date|time)_format= (?=is for )": r"--\1-format ",
    r"^([a-z]+)= (?=is for )": r"--\1 ",
    r"; the key of missing values is None$": "",
    r"\b(structure|dataflow)='([^']*)'": r"--\1 '\2'",
    r"labels=\['([^'\]]*)'\]": r"--labels \1",
    r"labels=\['([^'\]]*)', '([^'\]]*)'\]": r"--labels \1,\2",
    r"ids=\{'([^']*)': '([^']*)'\}": r"--ids \1=\2",
    r"with_columns\(\w+=tc\.col\('(\w+)'\)\.cut\(\[\.\.\.\]\)\)": r"--cut \1:0,10,20",
    r"with_columns\((\w+)=tc\.col\(\"(\w+)\"\) (\W+ \d+)\)": r'--with "\1 = \2 \3"',
    r"filter\(tc\.col\(\"(\w+)\"\) (\W+ \d+)\)": r'--where "\1 \2"',
    r"ask again with connection\.job\('[^']*'\)\.result\(\)": (
        "tacit ledger show DATASET --server ADDRESS shows its state; when it is done, run the same "
        "command again, which shows the answer at no further cost"
    ),
    r"\b(delimiter|encoding|quote|name|table)=('[^']*'|\"[^\"]*\")": r"--\1 \2",
    r"\bmissing= (?=has|names)": "--missing ",
    r"header=\['id', 'age', \.\.\.\]": "--header id,age,...",
    r"raise it with extend\(\.\.\.\)": "raise it with tacit ledger extend",
    r"(?<![\w.])epsilon_delta\('?(\d[^',()]*)'?, '?(\d[^',()]*)'?\)": r"epsilon \1, delta \2",
    r"(?<![\w.])(rho|epsilon)\('?(\d[^',()]*)'?\)": r"\1 \2",
    r"\.?agg\(n=tc\.count\(\)(?:, \.\.\.)?\)": "--count",
}


def in_flags(message: str) -> str:
    """Return a message in which calls of Python are flags.

    >>> in_flags("say what this release may spend: release(epsilon='1/2')")
    'say what this release may spend: --epsilon 1/2'
    >>> in_flags("give them, such as tc.mean('age', 0, 100)")
    'give them, such as --mean age:0:100'
    >>> in_flags("give them, such as tc.covariance(..., bounds={'age': (0, 100)})")
    'give them, such as --covariance age:0:100,...'
    """
    for call, flags in _FLAGS.items():
        message = re.sub(call, flags, message)
    return rewritten(message, _flag)


def _flag(name: str, given: list[str], bounds: Mapping[str, tuple[str, str]]) -> str:
    """Return the flag of a kind of answer: its column, and what belongs to it, after colons."""
    flag = "--" + name.replace("_", "-")
    value = ",".join([*(":".join([one, *ends]) for one, ends in bounds.items()), ":".join(given)])
    return flag if value in ("", "...") else f"{flag} {value}"


_PLOTS = (".png", ".svg", ".pdf")
_CERTIFICATES = (".json", ".html")


def note(text: str) -> None:
    """Print a note on stderr, so that a pipe stays clean."""
    print(text, file=sys.stderr)


@contextmanager
def warnings_as_notes(*, declared: bool = False) -> Iterator[None]:
    """Print a warning of Tacit as a sentence, without the path and the line of the code."""
    with warnings.catch_warnings():
        shown = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *more: Any, **named: Any) -> None:
            if issubclass(category, UserWarning):
                note(str(message) if declared else in_flags(str(message)))
            else:
                shown(message, category, *more, **named)

        warnings.showwarning = show
        yield


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))


@contextmanager
def working(text: str) -> Iterator[None]:
    """Show on a terminal that something is under way, and for how long."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        progress.add_task(escape(text), total=None)
        yield


def print_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[int] = (),
    title: str = "",
) -> None:
    """Print a table, as wide as it must be where no person reads it on a terminal."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, title=Text(title) if title else None, title_justify="left")
    for index, name in enumerate(header):
        table.add_column(Text(name), justify="right" if index in right else "left")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console = Console(highlight=False)
    if not console.is_terminal:
        widths = [max(len(c[i]) for c in [header, *rows]) + 3 for i in range(len(header))]
        console = Console(highlight=False, width=max(80, sum(widths) + 4, len(title) + 2))
    console.print(table)


def answer_tables(answer: Answer) -> None:
    """Print an answer: one table of all labels, and one for each histogram."""
    from tacit.report.text import answer_words, labelled_key, value_words

    def cells(column: Any, *indices: int) -> list[str]:
        parts = []
        for name in ("value", "standard_error", "low", "high"):
            part = column[name]
            for index in indices:
                part = part[index]
            parts.append(part)
        value, low, high = value_words(*parts)
        if column.get("refused") and column["refused"][indices[0]]:
            return ["refused", ""]
        return [value, "" if parts[2] is None and parts[3] is None else f"{low} to {high}"]

    labels = [answer.key_labels.get(name, {}) for name in answer.by]
    names = [list(map(labelled_key, key, labels)) for key in answer.keys]
    if not names:
        note("No group was above the threshold.")
    plain = [label for label in answer.labels if "bins" not in answer.column(label)]
    by = list(answer.by)
    if plain:
        header = by + [part for label in plain for part in (label, "95% range")]
        rows = [
            [*key, *(c for label in plain for c in cells(answer.column(label), index))]
            for index, key in enumerate(names)
        ]
        print_table(header, rows, right=range(len(by), len(header), 2))
    for label in answer.labels:
        column = answer.column(label)
        if "bins" in column:
            _, heading = answer_words(str(column["kind"])).each
            rows = [
                [*key, str(name), *cells(column, index, i)]
                for index, key in enumerate(names)
                for i, name in enumerate(column["bins"])
            ]
            print_table([*by, label, heading, "95% range"], rows, right=[len(by) + 1])


def check_files(plot: str | None, certificates: Sequence[str]) -> None:
    """Raise if a file could not be written, before anything is spent."""
    if plot is not None:
        _check_file(plot, _PLOTS, "a plot")
        need("matplotlib", "plot")
    for path in certificates:
        _check_file(path, _CERTIFICATES, "a certificate")
        if path.endswith(".html"):
            need("jinja2", "page")


def check_page(path: str | None) -> None:
    """Raise if a page could not be written, where one is named."""
    if path is not None:
        if not path.endswith(".html"):
            raise UsageError(f"a page ends in .html, and {path} does not")
        check_files(None, [path])


def _check_file(path: str, endings: Sequence[str], what: str) -> None:
    if Path(path).suffix not in endings:
        raise UsageError(f"{what} ends in {' or '.join(endings)}, and {path} does not")
    check_writable(path, what)


def check_writable(path: str, what: str) -> None:
    """Raise if a file could not be written."""
    file = Path(os.path.expanduser(path))
    if not file.parent.is_dir():
        raise UsageError(f"there is no folder {file.parent} to write {what} to; make it first")
    if not os.access(file if file.exists() else file.parent, os.W_OK) or file.is_dir():
        raise UsageError(f"{path} cannot be written; nothing was spent")


def draw(plot: Callable[[], Any], path: str | None) -> None:
    """Draw a figure to a file, where one is named."""
    if path is not None:
        with working("drawing"):
            save_plot(plot(), path)
        note(f"wrote {path}")


def save_plot(figure: Any, path: str) -> None:
    try:
        figure.savefig(os.path.expanduser(path))
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None


_BY_NAME = ("structure", "dataflow", "ids", "constants", "names", "labels")


class Publisher:
    """Writes the answer of a command in the format of its flags, if they name one."""

    def __init__(self, flags: FormatOptions, time: str | None = None) -> None:
        self.format, self._output = flags.format, flags.output
        self._options = _options_of(flags, time) if flags.format else None
        if self._options is None:
            given = [name for name in ("output", *_BY_NAME) if getattr(flags, name)]
            if given:
                raise UsageError(f"--{given[0]} is an option of --format: name one, such as px")

    def check(self, others: Sequence[str], tables: int) -> None:
        """Raise if the answer could not be written, before anything is spent."""
        # others: flags that print something else; tables: the number of answers.
        if self._options is None or self.format is None:
            return
        if others:
            raise UsageError(f"print {others[0]} or a --format, not both")
        if tables > 1:
            raise UsageError("--format writes one table, and the plan has several; use --json")
        self._options.check(self.format)
        if self.format == "csvw" and self._output is None:
            raise UsageError("--format csvw writes two files: name the first with --output t.csv")
        if self._output is not None:
            check_writable(self._output, "a table")

    def write(self, answer: Answer) -> None:
        """Print the answer, or write its file."""
        from tacit.tables.export import write_file
        from tacit.tables.publish.publications import files_of

        if self._options is None or self.format is None:
            return
        name = Path(self._output or "answer").name
        for file, text in files_of(answer, self.format, name, self._options).items():
            if self._output is None:
                print(text, end="" if text.endswith("\n") else "\n")
            else:
                path = Path(os.path.expanduser(self._output)).with_name(file)
                write_file(path, text.encode())
                note(f"wrote {path}")


def _options_of(flags: FormatOptions, time: str | None) -> PublishOptions:
    from tacit.cli.shared.flag_values import column_names
    from tacit.tables.publish.publications import PublishOptions, pairs

    return PublishOptions(
        structure=flags.structure,
        dataflow=flags.dataflow,
        ids=pairs(column_names(flags.ids or ()), "--ids"),
        constants=pairs(column_names(flags.constants or ()), "--constants"),
        names=flags.names,
        time=time,
        labels=column_names(flags.labels) if flags.labels else None,
    )
