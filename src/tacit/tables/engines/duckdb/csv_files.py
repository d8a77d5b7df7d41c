"""Open CSV files for DuckDB, which is given their rows in a form that it can read in one way only.

Opening reads the first line of each file, for the names, and nothing else.  The rows are read once,
at the first query: :mod:`tacit.tables.engines.csv.clean` writes them anew into a pipe in the
engine's private folder, from which DuckDB fills a table of its own, every option of its reader
said. Nothing of them is written to the disk on the way.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import itertools
import os
import threading
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple
from weakref import proxy

from tacit.errors import DataSourceError, DataSourceWarning, UsageError, did_you_mean
from tacit.expressions.cell_grammar import is_date, read_cell
from tacit.expressions.dialect import Dialect
from tacit.expressions.schema import Column, Schema, kind_of
from tacit.tables.engines.base import refuse_like_names
from tacit.tables.engines.csv.clean import Notice, cleaned
from tacit.tables.engines.csv.columns import declared_sql
from tacit.tables.engines.csv.format import LINE_LIMIT, TYPES, CsvFormat
from tacit.tables.engines.csv.lines import file_lines, split
from tacit.tables.engines.duckdb.engine import DuckEngine
from tacit.tables.engines.file_kinds import misnamed

__all__ = ["CsvFile", "csv_files", "import_csv", "open_csv"]

_FIRST = 1 << 16
_serial = itertools.count()


class CsvFile(NamedTuple):
    """A file with what its first line says."""

    path: str
    form: CsvFormat
    names: tuple[str, ...]


def open_csv(
    files: Sequence[str],
    form: CsvFormat,
    engine: DuckEngine,
    notice: Callable[[CsvFile], Notice] | None = None,
) -> tuple[str, Schema]:
    """Return the relation that the files will be, and its columns; no row is read.

    With a ``notice``, which learns what is wrong with the lines, all columns stay text.

    Raises:
        DataSourceError: a first line that holds no names.
        UsageError: a declared column that no file has.
    """
    found = csv_files(files, form)
    names = list(dict.fromkeys(name for file in found for name in file.names))
    refuse_like_names(names)
    for column in form.types:
        if column not in names:
            raise UsageError(
                f"a kind is declared for {column!r}, and there is no such column; "
                f"{did_you_mean(column, names)}"
            )
    types = form.types if notice is None else {}
    columns = []
    for name in names:
        declared = TYPES[types[name]].upper() if name in types else "VARCHAR"
        kind = kind_of(declared) if name in types else "undeclared"
        columns.append(Column(name, kind, declared))
    schema = Schema(columns)
    table = engine.empty_table({c.name: c.declared for c in columns})
    form = replace(form, types=types)
    engine.before_reading(partial(import_csv, found, form, table, proxy(engine), notice))
    return table, schema


def csv_files(files: Sequence[str], form: CsvFormat) -> list[CsvFile]:
    """Return the files with the names of their columns, and warn of names that look like data."""
    found = []
    for path in files:
        own = form.for_file(path)
        names = own.names or _first_names(path, own)
        found.append(CsvFile(path, own, names))
    if form.names is None:
        for file in {f.names: f for f in found}.values():
            _warn_of_names(file)
    return found


def _first_names(path: str, form: CsvFormat) -> tuple[str, ...]:
    """Return the names in the first line; one without a name has its place as a name."""
    line, short = _first_line(path, form), Path(path).name
    if line is None:
        raise DataSourceError(
            f"{short} {misnamed(path) or 'cannot be unpacked: it is damaged, or cut short'}"
        )
    fields = split(line, form)
    if not line or isinstance(fields, str):
        wrong = misnamed(path)
        raise DataSourceError(f"{short} {wrong}" if wrong else _nameless(short, line, form))
    names = _named(fields)
    if len({name.casefold() for name in names}) < len(names):
        raise DataSourceError(
            f"two columns in the first line of {short} have one name, capitals or not: rename one "
            "of them; or if that line is a record and not the names, give these: "
            "header=['id', 'age', ...]"
        )
    return names


def _nameless(short: str, line: bytes, form: CsvFormat) -> str:
    """Return why a first line holds no names: it is public, or this could not be said."""
    where = f"the first line of {short} holds no names:"
    if not line:
        return f"{where} it is empty"
    if len(line) > LINE_LIMIT:
        return f"{where} it is longer than 1 MiB"
    if b"\0" in line:
        return (
            f"{where} it holds a NUL, as text in UTF-16 does: write the file in UTF-8, as iconv "
            "does"
        )
    try:
        line.decode(form.encoding)
    except UnicodeDecodeError:
        return (
            f"{where} it is not text in the encoding {form.encoding}: say which it is, as in "
            "encoding='latin-1'"
        )
    for sign in ",;\t|":
        found = split(line, replace(form, delimiter=sign))
        if len(found) > 1 and not isinstance(found, str):
            return (
                f"{where} its fields are separated by another character than "
                f"{form.delimiter!r}: say so, as in delimiter={sign!r}"
            )
    return (
        f"{where} it has a quote that is not closed, or text behind a closed one: say how it is "
        "quoted, as in quote=\"'\" or, for none, quote=''"
    )


def _named(fields: Sequence[str]) -> tuple[str, ...]:
    return tuple(name or f"column{place}" for place, name in enumerate(fields, 1))


def _first_line(path: str, form: CsvFormat) -> bytes | None:
    """Return the first line; None where the file cannot be unpacked, whose error may quote it."""
    with _opened(path) as file:
        try:
            return next(file_lines(file, form.encoding, _FIRST), b"").split(b"\n")[0]
        except (OSError, EOFError, zlib.error):
            return None


def _warn_of_names(file: CsvFile) -> None:
    """Warn of names that look like a record: they are public, and would publish it."""
    odd = sum(
        name == f"column{place}" or read_cell("read_number", name) is not None or is_date(name)
        for place, name in enumerate(file.names, 1)
    )
    short = Path(file.path).name
    if odd:
        warnings.warn(
            f"the first line of {short} may be a record: {odd} of its {len(file.names)} fields are "
            "numbers, dates or empty. It is taken for the names of the columns, which are public. "
            "If it is a record, give the names: header=['id', 'age', ...]",
            DataSourceWarning,
            stacklevel=2,
        )
        return
    # A sign that stands in the names more often than there are gaps between them.
    gaps = len(file.names) - 1
    often = [sign for sign in ";\t|," if sum(n.count(sign) for n in file.names) > gaps]
    if often:
        held = next(name for name in file.names if often[0] in name)
        warnings.warn(
            f"{short} has a {'single ' if not gaps else ''}column with the name {held!r}: if its "
            f"fields are separated by another character, say so, as in delimiter={often[0]!r}",
            DataSourceWarning,
            stacklevel=2,
        )


# ---- the rows


def import_csv(
    files: Sequence[CsvFile],
    form: CsvFormat,
    table: str,
    engine: DuckEngine,
    notice: Callable[[CsvFile], Notice] | None = None,
) -> None:
    """Fill the table with the rows of all files, or with none.

    Raises:
        DataSourceError: a file that cannot be read to its end, or no memory left.
    """
    with engine.all_or_nothing():
        for (_, names), group in itertools.groupby(files, lambda f: (f.form, f.names)):
            _import_alike(list(group), names, form, table, engine, notice)


def _import_alike(
    files: list[CsvFile],
    names: tuple[str, ...],
    form: CsvFormat,
    table: str,
    engine: DuckEngine,
    notice: Callable[[CsvFile], Notice] | None,
) -> None:
    d, own = engine.dialect, files[0].form
    failed: list[str] = []
    places = [f"c{place}" for place in range(len(names))]
    listed = ", ".join(f"{d.literal(place)}: 'VARCHAR'" for place in places)
    fixed = (
        f"auto_detect = false, header = true, columns = {{{listed}}}, compression = 'none', "
        f"delim = {d.literal(own.delimiter)}, quote = {d.literal(own.quote)}, escape = "
        f"{d.literal(own.quote)}, nullstr = [''], allow_quoted_nulls = true, new_line = '\\n', "
        f"max_line_size = {1 << 22}, buffer_size = {1 << 23}, strict_mode = true"
        + (", parallel = false" if own.multiline > 1 else "")
    )
    picked = ", ".join(
        declared_sql(_filled(place, form, d), form.types.get(name), form, d)
        for place, name in zip(places, names, strict=True)
    )
    targets = ", ".join(map(d.identifier, names))
    assert engine.folder is not None  # files have an engine of their own
    with _piped(_rows(files, places, notice, failed), engine.folder) as pipe:
        read = f"read_csv({d.literal(pipe)}, {fixed})"
        engine.rows(f"insert into {table} ({targets}) select {picked} from {read}")
    if failed:
        raise DataSourceError(
            f"{Path(failed[0]).name} could not be read to its end: it was moved, is damaged, has "
            "other names of columns than when it was opened, or its disk fails; what was "
            "charged is not lost: the same question, asked again, is completed at no further "
            "cost"
        )


def _filled(cell: str, form: CsvFormat, d: Dialect) -> str:
    """Return a cell with the texts of ``null=`` missing, which may hold what parts the fields."""
    null = ", ".join(d.literal(text.strip(" ")) for text in form.null)
    return f"(case when trim({cell}, ' ') not in ({null}) then {cell} end)" if null else cell


def _rows(
    files: Sequence[CsvFile],
    places: Sequence[str],
    notice: Callable[[CsvFile], Notice] | None,
    failed: list[str],
) -> Iterator[bytes]:
    """Yield a line of names, and then all rows written anew; a file that fails is noted."""
    yield ((files[0].form.delimiter or ",").join(places) + "\n").encode()
    for file in files:
        try:
            with _opened(file.path) as lines:
                told = notice(file) if notice is not None else None
                yield from cleaned(_body(lines, file), file.form, len(file.names), told)
        except (OSError, EOFError, zlib.error, DataSourceError):
            failed.append(file.path)


def _body(lines: BinaryIO, file: CsvFile) -> Iterator[bytes]:
    """Yield the lines behind the names.

    Raises:
        DataSourceError: the names are others than those that the file was opened with.
    """
    blocks = file_lines(lines, file.form.encoding)
    if file.form.names is None:
        line, _, rest = next(blocks, b"\n").partition(b"\n")
        fields = split(line, file.form)
        if isinstance(fields, str) or _named(fields) != file.names:
            raise DataSourceError("the file has other names of columns than when it was opened")
        if rest:
            yield rest
    yield from blocks


@contextlib.contextmanager
def _piped(blocks: Iterable[bytes], folder: Path) -> Iterator[str]:
    """Write blocks into a pipe while the engine reads it."""
    path = str(folder / f"rows{next(_serial)}")
    os.mkfifo(path, 0o600)

    def write() -> None:
        # a reader that has gone has its own error to report
        with contextlib.suppress(BrokenPipeError), open(path, "wb", buffering=1 << 20) as pipe:
            for block in blocks:
                pipe.write(block)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        yield path
    finally:
        while writer.is_alive():  # it waits for a reader that never came, or that has gone
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
            writer.join(0.01)
        os.unlink(path)


def _opened(path: str) -> BinaryIO:
    """Open a file for reading, unpacked where its name says that it is packed.

    Raises:
        DataSourceError: it is not there, or may not be read.
    """
    try:
        if not os.path.isfile(path):  # a pipe that took its place would be waited for without end
            raise FileNotFoundError
        if path.casefold().endswith(".gz"):
            return io.BufferedReader(gzip.open(path, "rb"))
        return open(path, "rb")
    except OSError:
        pass
    raise DataSourceError(f"{path} cannot be read: it was moved, or may not be read any more")
