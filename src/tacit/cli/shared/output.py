"""Output of commands: tables for people, JSON for pipes, notes and progress on stderr."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.cli.shared.ends import in_flags
from tacit.errors import UsageError, need

if TYPE_CHECKING:
    from tacit.tables import Answer

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
