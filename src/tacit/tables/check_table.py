"""The curator's own look at a table: what would be missing, where, and what to declare.

What comes out is exact and therefore **not private**.  Nothing else in Tacit calls this.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from tacit.calls import public
from tacit.display.card import Shown
from tacit.expressions.schema import Schema
from tacit.tables.engines.base import Engine
from tacit.tables.engines.csv.format import CsvOptions, csv_format
from tacit.tables.open_source import Source, open_source

if TYPE_CHECKING:
    from tacit.tables.engines.duckdb.engine import DuckEngine

__all__ = ["ColumnCheck", "TableCheck", "check"]

KINDS = ("integer", "float", "date", "timestamp", "boolean")
_SHOWN = 10
_MOSTLY = 0.9
WRONG = {
    "spoiled": "that cannot be read (an open quote, a NUL, another encoding, too long)",
    "short": "with too few fields",
    "long": "with too many fields, in which everything is missing",
}


@dataclass(frozen=True)
class ColumnCheck:
    """What a column holds.  Exact counts: not private.

    Attributes:
        kind: what it is declared as, or ``"undeclared"``.
        filled: how many cells are not empty.
        missing_as: of these, how many would be missing as each kind; for an undeclared column.
        suggestion: the kind that nearly all of them have; None where none is needed.
    """

    kind: str
    filled: int
    missing_as: Mapping[str, int] = field(default_factory=dict)
    suggestion: str | None = None


@dataclass(frozen=True)
class TableCheck(Shown):
    """What :func:`check` found.  Exact counts: not private.

    Attributes:
        name: of the table.
        rows: how many it has.
        columns: what each column holds, by name.
        wrong: how many lines are spoiled, short or long; of CSV files.
        where: the first few of them, as (file, number of the line).
    """

    name: str
    rows: int
    columns: Mapping[str, ColumnCheck]
    wrong: Mapping[str, int]
    where: Mapping[str, tuple[tuple[str, int], ...]]

    @property
    def types(self) -> dict[str, str]:
        """What to declare: ``types=`` for a session."""
        return {n: c.suggestion for n, c in self.columns.items() if c.suggestion is not None}

    def to_json(self) -> dict[str, object]:
        """Return it as plain JSON values: **exact, and not private**."""
        return {"private": False, **asdict(self), "types": self.types}

    def __str__(self) -> str:
        lines = [
            "NOT PRIVATE: exact counts, for the curator's eyes only. Do not publish them.",
            f"{self.name}: {self.rows} rows",
        ]
        for wrong, count in self.wrong.items():
            if count:
                places = ", ".join(f"{file} line {line}" for file, line in self.where[wrong])
                more = ", ..." if count > len(self.where[wrong]) else ""
                lines.append(f"  {count} lines {WRONG[wrong]}: {places}{more}")
        for name, column in self.columns.items():
            told = ", ".join(f"{k} {n}" for k, n in column.missing_as.items() if n < column.filled)
            fits = f"; would be missing as {told}" if told else ""
            lines.append(f"  {name} ({column.kind}): {column.filled} cells filled{fits}")
        if self.types:
            flags = ",".join(f"{name}={kind}" for name, kind in self.types.items())
            lines += ["What fits, to be declared:", f"  types={self.types}", f"  --types {flags}"]
        return "\n".join(lines)

    __repr__ = __str__


@public
def check(
    source: object,
    table: str | None = None,
    *,
    memory_limit: str | None = None,
    threads: int | None = None,
    **csv: Unpack[CsvOptions],
) -> TableCheck:
    r"""Check how the cells and lines of a table of yours would be read.

    **What it returns is exact, and not private.**

    Args:
        source: the table, as :class:`tacit.Session` takes it.
        table: the table of a database.
        memory_limit: the most memory of the engine, such as ``"4GB"``.
        threads: how many threads it uses.
        **csv: how a CSV file is written, as for a session.

    Raises:
        DataSourceError: the table cannot be read.
        UsageError: an option that does not fit.

    Example:
        >>> import tempfile, pathlib, tacit as tc
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = pathlib.Path(folder.name) / "people.csv"
        >>> _ = path.write_text("age,sex\n31,f\nforty,m\n52\n")
        >>> found = tc.check(path)
        >>> found.columns["age"].missing_as["integer"], found.wrong["short"], found.where["short"]
        (1, 1, (('people.csv', 4),))
        >>> folder.cleanup()
    """
    from tacit.tables.engines.duckdb.engine import DuckEngine

    form = csv_format(**csv)
    wrong: dict[str, int] = dict.fromkeys(WRONG, 0)
    where: dict[str, list[tuple[str, int]]] = {name: [] for name in WRONG}
    if _is_csv(source, table):
        engine = DuckEngine(memory_limit, threads)
        opened = _open_csv(str(source), csv, wrong, where, engine)
    else:
        opened = open_source(source, table, memory_limit=memory_limit, threads=threads, **csv)
    with opened:
        with opened.engine.reading():
            total = int(opened.engine.rows(f"select count(*) from {opened.relation} as t")[0][0])
            columns = _columns(opened.schema, opened.relation, opened.engine, form)
        places = {name: tuple(found) for name, found in where.items()}
        return TableCheck(opened.name, total, columns, wrong, places)


def _is_csv(source: Any, table: str | None) -> bool:
    if table is not None or not isinstance(source, (str, os.PathLike)):
        return False
    from tacit.tables.engines.duckdb.source import holds_csv
    from tacit.tables.engines.files import database_file

    return not database_file(source) and holds_csv(source)


def _open_csv(
    path: str,
    csv: CsvOptions,
    wrong: dict[str, int],
    where: dict[str, list[tuple[str, int]]],
    engine: DuckEngine,
) -> Source:
    """Open files as text, so that a declared column can be held against its kind."""
    from tacit.tables.engines.duckdb.csv_files import CsvFile, open_csv
    from tacit.tables.engines.files import data_files

    def notice(file: CsvFile) -> Any:
        first = 1 if file.form.names is not None else 2

        def note(line: int, kind: str) -> None:
            wrong[kind] += 1
            if len(where[kind]) < _SHOWN:
                where[kind].append((Path(file.path).name, line + first))

        return note

    try:
        relation, schema = open_csv(data_files(path), csv_format(**csv), engine, notice)
    except BaseException:
        engine.close()
        raise
    return Source(Path(path).name, schema, engine, relation)


def _columns(schema: Schema, relation: str, engine: Engine, form: Any) -> dict[str, ColumnCheck]:
    from tacit.tables.engines.csv.columns import declared_sql

    d, found = engine.dialect, {}
    for name, column in schema.items():
        cell = d.identifier(name)
        if column.kind == "other":
            found[name] = ColumnCheck(column.kind, 0)
            continue
        asked = [f"count({cell})"]
        text = column.kind == "undeclared"
        kinds = KINDS if text else ()
        asked += [f"count({declared_sql(cell, kind, form, d)})" for kind in kinds]
        filled, *fits = map(int, engine.rows(f"select {', '.join(asked)} from {relation} as t")[0])
        missing = {kind: filled - fit for kind, fit in zip(kinds, fits, strict=True)}
        declared = form.types.get(name)
        found[name] = ColumnCheck(
            declared or column.kind,
            filled,
            {declared: missing.get(declared, 0)} if declared else missing,
            None if declared or not text else _suggestion(filled, missing),
        )
    return found


def _suggestion(filled: int, missing: Mapping[str, int]) -> str | None:
    """Return the first kind that nearly all cells have, or text."""
    if not filled:
        return None
    fits = {kind: filled - missed for kind, missed in missing.items()}
    best = max(fits, key=lambda kind: fits[kind])  # the first of those that fit best
    return "text" if fits[best] < _MOSTLY * filled else best
