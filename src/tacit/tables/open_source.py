"""Open a table where it is: a file, a data frame, a table in a database."""

# Rows stay in the engine.  What is public of a source is its schema
# (:mod:`tacit.expressions.schema`) and its identity: a name, and the names of its columns.

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from tacit.calls import public
from tacit.errors import UsageError, shown_value
from tacit.expressions.schema import Schema
from tacit.tables.codebook import Codebook, one_line, read_codebook
from tacit.tables.engines.base import Engine, Opened, closed_on_failure
from tacit.tables.engines.csv import CsvOptions, csv_format, refuse_csv
from tacit.tables.engines.duckdb.parquet import is_remote, public_part
from tacit.tables.engines.files import PathList
from tacit.tables.missing_codes import (
    Codes,
    ReadOptions,
    is_code,
    joined_codes,
    missing_codes,
    with_missing,
)
from tacit.tables.reading import DEFAULT_READING, Reading


@public
class Source:
    """A table in an engine.

    Attributes:
        name: the public name of the data set.
        schema: its columns.
        engine: where it is.
        relation: the quoted SQL that represents it after ``from``.
        counted: that of a table with as many rows or more, which costs less to count.
        reading: how it is read, where that is not the default.
        label: what it is called where it is; its name, where none was given.
        origin: the path or address that was opened, without secrets; None where there is none.
        labels: the labels of the values of its columns, by name, where its file has some.
    """

    def __init__(
        self,
        name: str,
        schema: Schema,
        engine: Engine,
        relation: str,
        *,
        counted: str = "",
        reading: Reading = DEFAULT_READING,
        label: str | None = None,
        origin: str | None = None,
        labels: Mapping[str, Mapping[Any, str]] | None = None,
    ) -> None:
        self.name = name
        self.schema = schema
        self.engine = engine
        self.relation = relation
        self.counted = counted or relation
        self.reading, self.label = reading, name if label is None else label
        self.origin = origin
        self.labels = labels or {}

    @property
    def columns(self) -> dict[str, str]:
        """The kind of every column by its name."""
        return {name: column.kind for name, column in self.schema.items()}

    @property
    def identity(self) -> str:
        """A digest of the public name and the names of the columns.

        It distinguishes a ledger of another data set from this one's.  It says nothing about the
        rows, which may grow while the ledger stays, nor about the folder, so a data set may move.
        Kinds are not in it, so columns may be declared later.  How a question's own columns are
        read, and from which file, is in the identity of the question (:meth:`reading_from`).
        """
        return identity_of(self.name, list(self.schema))

    def reading_from(self, base: str | None) -> Reading:
        """Return how it is read, and from where if that is not the default place.

        Args:
            base: the folder of the ledger or the declaration; None where there is none.
        """
        return self.reading.at(_location_of(self.origin, self.label, self.name, base))

    def close(self) -> None:
        """Close the engine and remove what it left on disk."""
        self.engine.close()

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}: {kind}" for name, kind in self.columns.items())
        return f"Source({self.name!r}, {shown})"


def open_beside(first: Source, source: Any, options: Mapping[str, Any]) -> Source:
    """Open another table in the engine of one that is open, so that one statement reads both."""
    name, table = options.get("name"), options.get("table")
    codes, book = missing_codes(options.get("missing")), codebook_of(source, options)
    engine: Any = first.engine  # what opened the first kind of table opens another of that kind
    csv: Any = {n: v for n, v in options.items() if n in CsvOptions.__annotations__}
    csv = read_by(book, source, table, csv)
    from tacit.tables.engines.postgres import in_postgres, open_another_in_postgres
    from tacit.tables.engines.spark import in_spark, open_another_in_spark

    if in_postgres(source):
        opened = open_another_in_postgres(str(table), engine)
    elif in_spark(source):
        opened = open_another_in_spark(source, engine)
    else:
        from tacit.tables.engines.duckdb.source import open_another_in_duckdb

        source = _by_its_path(source, csv)
        opened = open_another_in_duckdb(source, table, csv, engine)
    return _source(opened, name, codes, source, csv, book)


def codebook_of(source: Any, options: Mapping[str, Any]) -> Codebook | None:
    """Return the codebook that the options of a table name."""
    given = options.get("codebook")
    return None if given is None else read_codebook(given, source)


def read_by(book: Codebook | None, source: Any, table: str | None, csv: CsvOptions) -> CsvOptions:
    """Return the options of a file of text with what its codebook declares."""
    if book is None or table is not None or not isinstance(source, (str, os.PathLike)):
        return csv
    from tacit.tables.engines.duckdb.source import text_kind

    kind = text_kind(source)
    return book.read_with(csv, os.fspath(source), lines=kind == "json lines") if kind else csv


def _source(
    opened: Opened,
    name: str | None,
    codes: Codes,
    path: Any,
    csv: CsvOptions,
    book: Codebook | None = None,
) -> Source:
    labelled = dict(opened.labels)
    if book is not None:
        with closed_on_failure(opened.engine):
            book.check(opened.schema, opened.label)
        codes, labelled = joined_codes(book.missing, codes), {**labelled, **book.labels}
    relation, codes = opened.relation, joined_codes(opened.missing, codes)
    labels = {  # of what is missing there is no key; a terminal obeys signs in a label
        column: {
            v: text
            for v, label in known.items()
            if (text := one_line(label)) and not is_code(v, codes.get(column, ()))
        }
        for column, known in labelled.items()
    }
    if codes:
        relation = with_missing(opened.schema, relation, codes, opened.engine.dialect)
    origin = public_part(os.fspath(path)) if isinstance(path, (str, os.PathLike)) else None
    return Source(
        name or opened.label,
        opened.schema,
        opened.engine,
        relation,
        counted=opened.relation,
        reading=replace(csv_format(**csv).reading(origin or ""), missing=codes),
        label=opened.label,
        origin=origin,
        labels={column: known for column, known in labels.items() if known},
    )


def _by_its_path(source: Any, csv: CsvOptions) -> Any:
    """Return a list of paths as one, and an open table of a lake as its folder; others as is."""
    # The version of such a table is then named.
    if isinstance(source, (list, tuple)) and all(
        isinstance(path, (str, os.PathLike)) for path in source
    ):
        listed = PathList(source)
        return listed if len(listed.paths) > 1 else listed.paths[0]
    if type(source).__module__.split(".")[0] not in ("deltalake", "pyiceberg"):
        return source
    from tacit.tables.engines.duckdb.lake import named_table

    named = named_table(source)
    if named is None:
        return source
    refuse_csv(csv, "an open table has its version")
    path, version = named
    csv.update(version)
    return path


def identity_of(
    name: str, columns: Sequence[str] | Sequence[Sequence[str | list[str] | None]]
) -> str:
    """Return the digest of a public name and the names of columns: see :attr:`Source.identity`."""
    # Of a declared data set, the second are its tables with their person columns.
    text = json.dumps([name, *columns], ensure_ascii=True)
    return hashlib.sha256(b"tacit table 1\0" + text.encode()).hexdigest()


def _location_of(origin: str | None, label: str, name: str, base: str | None) -> str | None:
    """Return what distinguishes the file of a data set from another one; None for the default.

    >>> _location_of("/data/visits.csv", "visits.csv", "visits", "/data")
    >>> _location_of("/data/old/visits.csv", "visits.csv", "visits", "/data")
    'old/visits.csv'
    >>> _location_of("/other/visits.csv", "visits.csv", "visits", "/data")
    'visits.csv (52aa5732f7f39c8e)'
    """
    # The default is a file ``NAME`` or ``NAME.csv`` in the folder of its ledger or declaration, so
    # a data set may move together with that.  A folder beyond it is described by a digest, because
    # a certificate is published.
    #
    # origin: the path or address that was opened, without secrets; None where there is none.
    # base: the folder of the ledger or the declaration; None where there is none.
    if origin is None:
        return None if label in (name, "table") else label
    if is_remote(origin):
        return _digested(label, origin)
    path = os.path.realpath(os.path.expanduser(origin))
    folder, file = os.path.split(path)
    if base is None or folder == base:
        return None if label in (name, f"{name}.csv") else label
    within = Path(os.path.relpath(folder, base)).as_posix()
    if within.startswith("..") or os.path.isabs(within):
        return _digested(label, f"{within}/{file}")
    return f"{within}/{label}"


def _digested(label: str, location: str) -> str:
    return f"{label} ({hashlib.sha256(location.encode()).hexdigest()[:16]})"


def open_source(
    source: Any,
    table: str | None = None,
    *,
    name: str | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
    timeout: float | None = None,
    **read: Unpack[ReadOptions],
) -> Source:
    r"""Open a table.

    Args:
        source: a path to a CSV or Parquet file, one of SPSS, Stata or SAS, of Arrow, ORC, Avro or
            JSON lines; a folder, a glob or a list of them; the folder of a table of Delta,
            Iceberg or Hudi; a pandas, polars or Arrow table, a dataset of pyarrow, a dict of
            columns; a table of deltalake or pyiceberg; a DuckDB relation; with ``table``, a DuckDB
            connection, a file of DuckDB or SQLite, or the URL of a PostgreSQL database or an open
            connection of psycopg to it; a DataFrame of Spark, or a SparkSession with ``table``.
        table: the table's name within a database, ``"schema.table"`` where needed.
        name: the public name of the data set, for the ledger; default: the name of the file,
            folder or table, without its path, ``"database.schema.table"`` in PostgreSQL;
            ``"table"`` for data in memory.
        memory_limit: the most memory of the engine, such as ``"4GB"``; in PostgreSQL that of each
            step of a query (``work_mem``).
        threads: how many threads the engine uses; in PostgreSQL, processes for one query.
        timeout: the most seconds that one query may take, in PostgreSQL and Spark.

        missing: codes that are missing values, by column, of every kind of table: numbers, texts,
            days, and ranges with both ends, such as ``{"age": [98, 99], "income": [(-9, -1)],
            "answer": ["refused"]}``.  A number is a code wherever a cell is equal to it as a number
            (``-9``, ``-9.0``, ``-9,0``, `` 99``), a text wherever it is equal as text, without the
            spaces around it; a day in a column of times is every time of that day.
        codebook: the path of a codebook of the table, a DDI codebook (``.xml``), a Table Schema or
            data package of Frictionless, or CSVW metadata (``.json``): kinds of columns, codes for
            missing values, labels of values, and where fields are in a line.  What is given here
            comes before what it declares.
        **read: ``missing``, ``codebook``, and how CSV files are written; nothing is guessed from
            the rows.  ``types``: kinds of columns: integer, float, text, boolean, date or
            timestamp; the others are *undeclared*, and read as each question needs them.
            ``header``: True where the first line holds the names; else their list, or False where
            ``types`` names all columns in order.  ``delimiter``: a comma by default, a tab in files
            named ``.tsv`` or ``.tab``.  ``quote``: ``'"'``, or ``""`` for none.  ``encoding``:
            UTF-8, UTF-16, or one of one byte a character.  ``null``: texts that are missing values
            in every column, besides the empty one.  ``date_format``, ``time_format``: how columns
            declared as dates and timestamps are written, such as ``"%d.%m.%Y"``.  ``multiline``:
            how many lines a quoted field may run over, 1 by default.  ``decimal``, ``thousands``:
            the signs of numbers, such as ``","`` and ``"."``; a point and none by default.
            ``skip``: how many lines come before the names.  ``comment``: the sign at the start of
            lines that are not rows.  Of a table of Delta ``version``, of one of Iceberg
            ``snapshot``, of one of Hudi ``instant``: which one is read, the latest by default.
            ``sheet``: which one of a
            workbook is read.  ``layout``: the columns of a file of fixed width, each with its
            ``name``, its ``start`` (from 1), its ``width`` or its ``end``, and if known its
            ``kind`` and its ``decimals``, the digits behind a point that is not written.
            ``positions``: what these count, ``"characters"`` or ``"bytes"``.

    No row is read before the first query.

    Raises:
        DataSourceError: nothing there, not readable, empty, or broken.
        UsageError: an option that does not fit.

    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "people.csv"
    >>> _ = path.write_text("age,sex\n31,f\n45,m\n")
    >>> with open_source(path) as people:
    ...     people
    Source('people.csv', age: undeclared, sex: undeclared)
    >>> folder.cleanup()
    """
    codes = missing_codes(read.pop("missing", None))
    if isinstance(source, Source):
        if codes or read.get("codebook") is not None:
            raise UsageError(
                "missing= and codebook= belong where the table is opened, and this one is open"
            )
        return source
    book = codebook_of(source, read)
    read.pop("codebook", None)
    csv: CsvOptions = read_by(book, source, table, read)
    if table is not None and not (isinstance(table, str) and table):
        raise UsageError(f"table= is the name of a table, as text, not {shown_value(table)}")
    # Engines take a while to load, and the schema of a plan does without.
    from tacit.tables.engines.postgres import in_postgres, open_in_postgres
    from tacit.tables.engines.spark import in_spark, open_in_spark

    path = None
    source = _by_its_path(source, csv)
    if in_postgres(source):
        refuse_csv(csv, "a table of PostgreSQL declares its own columns")
        opened = open_in_postgres(source, table, memory_limit, threads, timeout)
    elif in_spark(source):
        refuse_csv(csv, "Spark declares its own columns")
        opened = open_in_spark(source, table, memory_limit, threads, timeout)
    elif timeout is not None:
        raise UsageError("timeout= is for a table in PostgreSQL or Spark")
    else:
        from tacit.tables.engines.duckdb.source import open_in_duckdb

        opened, path = open_in_duckdb(source, table, csv, memory_limit, threads), source
    with closed_on_failure(opened.engine):
        return _source(opened, name, codes, path, csv, book)
