"""The curator's exact report on a table: missing cells, bad lines, and what to declare."""

# What comes out is exact and therefore **not private**.  Nothing else in Tacit calls this.

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

from tacit.calls import public
from tacit.display.card import Shown
from tacit.errors import UsageError
from tacit.expressions.dialect import fits_sql, read_cell, reading_sql
from tacit.expressions.expression import col
from tacit.expressions.operations import column_sql
from tacit.expressions.schema import Schema
from tacit.tables.engines.base import Engine
from tacit.tables.engines.csv import (
    KINDS,
    CsvFormat,
    CsvOptions,
    Writing,
    csv_format,
    declared_sql,
    writing_sql,
)
from tacit.tables.missing_codes import ReadOptions, joined_codes, missing_codes, with_missing
from tacit.tables.open_source import Source, codebook_of, open_source, read_by

if TYPE_CHECKING:
    from tacit.tables.engines.duckdb.engine import DuckEngine

    Columns: TypeAlias = dict[str, "ColumnCheck"]

_SHOWN = 10  # lines of each sort that a report lists
WRONG = {
    "spoiled": "that cannot be read (an open quote, a NUL, another encoding, too long)",
    "short": "with too few fields",
    "long": "with too many fields, in which everything is missing",
}


@dataclass(frozen=True)
class ColumnCheck:
    """Contents of a column.  Exact counts: not private."""

    kind: str  # what it is declared as, or ``"undeclared"``
    filled: int  # how many cells are not empty
    # of these, how many would be missing as each kind; for an undeclared column
    missing_as: Mapping[str, int] = field(default_factory=dict)
    # the kind that changes no cell, else text; None where none needs to be declared
    suggestion: str | None = None
    # how many cells fit a kind, and would be written otherwise after it: ``01001`` is an integer,
    # and no longer the code that it was
    changed_as: Mapping[str, int] = field(default_factory=dict)
    # how many cells have each value that may be a code for a missing value, such as -9 and 999
    codes: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        parts = [f"{self.filled} cells filled"]
        if self.kind in self.missing_as:
            missing = self.missing_as[self.kind]
            if missing and missing == self.filled:
                return f"{parts[0]}, and NONE of them is read as {self.kind}: all are missing"
            parts += [f"{missing} missing as {self.kind}"] if missing else []
            return "; ".join(parts)
        fits = {k: n for k, n in self.missing_as.items() if n < self.filled}
        cells = [
            f"{kind} {missing}" + (f" ({n} change)" if (n := self.changed_as.get(kind)) else "")
            for kind, missing in fits.items()
        ]
        return "; would be missing as ".join([*parts, *([", ".join(cells)] if cells else [])])


@dataclass(frozen=True)
class TableCheck(Shown):
    """Result of :func:`check`.  Exact counts: not private.

    Attributes:
        name: the name of the table.
        rows: the number of its rows.
        columns: contents of each column that was checked, by name.
        wrong: how many lines of CSV files are spoiled, short or long.
        where: the first ten of each, as (file, number of the line).
        signs: the signs that the numbers of a CSV file seem to have, as options of a session:
            ``{"decimal": ",", "thousands": "."}``; a question, not an answer.
        tables: how many tables a transport file of SAS seems to have, by its name, where they are
            several: what stands behind the first is read wrong.
    """

    name: str
    rows: int
    columns: Mapping[str, ColumnCheck]
    wrong: Mapping[str, int]
    where: Mapping[str, tuple[tuple[str, int], ...]]
    signs: Mapping[str, str] = field(default_factory=dict)
    tables: Mapping[str, int] = field(default_factory=dict)

    @property
    def types(self) -> dict[str, str]:
        """The declaration to use: ``types=`` for a session."""
        return {n: c.suggestion for n, c in self.columns.items() if c.suggestion is not None}

    @property
    def missing(self) -> dict[str, list[int | float | str]]:
        """The values that may be codes, as ``missing=`` takes them: a question, not an answer."""
        return {n: [_plain(code) for code in c.codes] for n, c in self.columns.items() if c.codes}

    def to_json(self) -> dict[str, object]:
        """Return it as plain JSON values: **exact, and not private**."""
        return {"private": False, **asdict(self), "types": self.types, "missing": self.missing}

    def __str__(self) -> str:
        lines = [
            "NOT PRIVATE: exact counts, for the curator's eyes only. Do not publish them.",
            f"{self.name}: {self.rows} rows",
        ]
        for wrong, count in self.wrong.items():
            if count:
                locations = ", ".join(f"{file} line {line}" for file, line in self.where[wrong])
                more = ", ..." if count > len(self.where[wrong]) else ""
                lines.append(f"  {count} lines {WRONG[wrong]}: {locations}{more}")
        for name, count in self.tables.items():
            lines.append(
                f"  {name} SEEMS TO HAVE {count} TABLES, and is read wrong behind the first: write "
                "each to a file of its own"
            )
        for name, column in self.columns.items():
            lines.append(f"  {name} ({column.kind}): {column}")
        if self.types:
            flags = ",".join(f"{name}={kind}" for name, kind in self.types.items())
            lines += ["What fits, to be declared:", f"  types={self.types}", f"  --types {flags}"]
        if self.signs:
            given = ", ".join(f"{name}={sign!r}" for name, sign in self.signs.items())
            flags = " ".join(f"--{name} '{sign}'" for name, sign in self.signs.items())
            lines += [
                "Are numbers written with other signs?  Declare them:",
                f"  {given}",
                f"  {flags}",
            ]
        if self.missing:
            lines.append("Are these values codes for missing answers?  Declare those that are:")
            for name, codes in self.missing.items():
                counts = self.columns[name].codes.values()
                cells = [f"{code} ({n} cells)" for code, n in zip(codes, counts, strict=True)]
                lines.append(f"  {name}: {', '.join(cells)}")
            flags = " ".join(
                f"--missing '{name}={','.join(map(str, codes))}'"
                for name, codes in self.missing.items()
            )
            lines += [f"  missing={self.missing}", f"  {flags}"]
        return "\n".join(lines)

    __repr__ = __str__


@public
def check(
    source: object,
    table: str | None = None,
    *,
    columns: Sequence[str] | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
    **read: Unpack[ReadOptions],
) -> TableCheck:
    r"""Check how the cells and lines of a table of yours would be read.

    **What it returns is exact, and not private.**

    Args:
        source: the table, as :class:`tacit.Session` takes it.
        table: the table of a database.
        columns: the columns to report, in the order of the report; all by default.  Rows and lines
            are those of the whole table.
        memory_limit: the most memory of the engine, such as ``"4GB"``.
        threads: how many threads it uses.
        missing: codes that are missing values, by column, as for a session.
        **read: ``missing``, and how a CSV file is written, as for a session.

    Values that look like codes for missing answers are listed as a question, in ``missing`` of the
    result: negative numbers below a column of counts, ``99`` or ``999`` away from the other values,
    words such as ``refused`` among numbers.

    Raises:
        DataSourceError: the table cannot be read.
        UsageError: an option that does not fit, or a column that the table does not have.

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

    if isinstance(columns, str):
        raise UsageError(f"columns= is a list of names, such as columns=[{columns!r}]")
    codes, book = missing_codes(read.pop("missing", None)), codebook_of(source, read)
    given = read.pop("codebook", None)
    csv: CsvOptions = read_by(book, source, table, read)
    form = csv_format(**csv)
    wrong: dict[str, int] = dict.fromkeys(WRONG, 0)
    where: dict[str, list[tuple[str, int]]] = {name: [] for name in WRONG}
    kind = _kind(source, table)
    from_csv = kind == "csv"
    if from_csv:
        engine = DuckEngine(memory_limit, threads)
        opened = _open_csv(str(source), csv, wrong, where, engine)
    else:
        limits: Any = {"memory_limit": memory_limit, "threads": threads, "codebook": given}
        opened = open_source(source, table, **limits, **csv)
    with opened:
        if from_csv and book is not None:
            book.check(opened.schema, opened.name)
            codes = joined_codes(book.missing, codes)
        schema, d = opened.schema, opened.engine.dialect
        relation = with_missing(schema, opened.relation, codes, d)
        if columns is not None:
            schema = Schema([schema.column(name) for name in columns])
        with opened.engine.reading():
            total = int(opened.engine.rows(f"select count(*) from {opened.relation} as t")[0][0])
            checked = _columns(schema, relation, opened.engine, form)
            signs = _signs(schema, relation, opened.engine) if from_csv else {}
        locations = {name: tuple(numbers) for name, numbers in where.items()}
        tables = _tables(str(source)) if kind == "sas_transport" else {}
        return TableCheck(opened.name, total, checked, wrong, locations, signs, tables)


def _kind(source: Any, table: str | None) -> str:
    """Return the kind of some files; nothing of another source."""
    if table is not None or not isinstance(source, (str, os.PathLike)):
        return ""
    from tacit.tables.engines.duckdb.source import files_kind
    from tacit.tables.engines.files import database_file

    return "" if database_file(source) else files_kind(source)


def _tables(path: str) -> dict[str, int]:
    """Return of each transport file of several tables how many they seem to be."""
    from tacit.tables.engines.duckdb.survey import tables_in
    from tacit.tables.engines.files import data_files

    counts = {Path(file).name: tables_in(file) for file in data_files(path)}
    return {name: count for name, count in counts.items() if count > 1}


def _open_csv(
    path: str,
    csv: CsvOptions,
    wrong: dict[str, int],
    where: dict[str, list[tuple[str, int]]],
    engine: DuckEngine,
) -> Source:
    """Open files as text, so that a declared column can be compared with its kind."""
    from tacit.tables.engines.duckdb.source import CsvFile, open_csv
    from tacit.tables.engines.files import data_files, typed

    def notice(file: CsvFile) -> Any:
        def note(line: int, kind: str) -> None:
            wrong[kind] += 1
            if len(where[kind]) < _SHOWN:
                where[kind].append((Path(file.path).name, line + 1))

        return note

    try:
        relation, schema = open_csv(
            data_files(path), csv_format(**csv), engine, notice, folder=typed(path)
        )
    except BaseException:
        engine.close()
        raise
    return Source(Path(path).name, schema, engine, relation)


def _columns(schema: Schema, relation: str, engine: Engine, form: CsvFormat) -> Columns:
    """Return what the columns contain."""
    # All columns with a type are counted by one statement, because each statement looks at all
    # columns of a file; one of text has enough counts for a statement of its own.
    d = engine.dialect
    typed = {name for name, c in schema.items() if c.kind not in ("other", "undeclared")}
    counted = ", ".join(f"count({d.identifier(name)})" for name in schema if name in typed)
    row = engine.rows(f"select {counted} from {relation} as t")[0] if typed else ()
    filled, columns = iter(map(int, row)), {}
    for name, column in schema.items():
        if column.kind != "undeclared":
            columns[name] = ColumnCheck(column.kind, next(filled) if name in typed else 0)
        else:
            columns[name] = _text(d.identifier(name), form.types.get(name), relation, engine, form)
    for name, codes in _codes(schema, relation, engine).items():
        columns[name] = replace(columns[name], codes=codes)
    return columns


# Signs of numbers that are not declared: a question to the curator.
#
# Of each way to write numbers: a pattern that all cells of a column must fit, one that only numbers
# of that way fit, and one of those with a sign between thousands.  ``1,234`` may be written either
# way, and says nothing.


_COMMA = r"[+-]?([0-9]{1,15}|[0-9]{1,3}([.][0-9]{3})+)(,[0-9]+)?"
_POINT = r"[+-]?([0-9]{1,15}|[0-9]{1,3}(,[0-9]{3})+)([.][0-9]+)?"
_WAYS = (
    (_COMMA, r".*,([0-9]{1,2}|[0-9]{4,})|.*[.].*,.*|.*[.].*[.].*", r".*[.].*", (",", ".")),
    (_POINT, r".*,.*[.].*|.*,.*,.*", r".*,.*", (".", ",")),
)


def _signs(schema: Schema, relation: str, engine: Engine) -> dict[str, str]:
    """Return the signs of numbers that every column that has any seems to have."""
    d, wanted = engine.dialect, []
    columns = [c for c in schema.values() if c.kind == "undeclared" and not c.numbers]
    for column in columns:
        cell = column_sql(col(column.name), schema, d)
        wanted.append(f"count({cell})")
        for every, sure, group, _ in _WAYS:
            tests = [fits_sql(cell, every, d), fits_sql(cell, sure, d), fits_sql(cell, group, d)]
            both = (tests[0], f"{tests[0]} and {tests[1]}", f"{tests[0]} and {tests[2]}")
            wanted += [f"count(case when {test} then 1 end)" for test in both]
    if not wanted:
        return {}
    row = iter(engine.rows(f"select {', '.join(wanted)} from {relation} as tacit_rows")[0])
    found = set()
    for _ in columns:
        filled = next(row)
        for *_, (decimal, thousands) in _WAYS:
            every, sure, groups = next(row), next(row), next(row)
            if sure and every == filled:
                found.add((decimal, thousands if groups else ""))
    decimals = {decimal for decimal, _ in found}
    if len(decimals) != 1:
        return {}
    decimal, thousands = decimals.pop(), max(sign for _, sign in found)
    return {
        **({"decimal": decimal} if decimal != "." else {}),
        **({"thousands": thousands} if thousands else {}),
    }


# Values that may be codes for missing answers: a question to the curator.
#
# Codes lie at the ends of the range of a column, where no answer is: -9 and -99 below, 98, 99 and
# 999 above.  So the few smallest and the few greatest values are looked at; and in a column of
# text whose cells are numbers, words that mean as much.


_NUMBERS = ("integer", "float", "decimal")
_WIDE = 250  # columns whose ends one statement finds: it takes more than twice as long for twice
_ENDS = 6  # values at each end of the range that are looked at
# Words that a report may show: no other text of a cell is in it.
_WORDS = (
    *("refused", "refusal", "no answer", "not answered", "don't know", "dont know", "dk", "rf"),
    *("unknown", "missing", "not applicable", "not stated", "n/a", "na", "nan", "null", "none"),
    *("keine angabe", "k.a.", "weiß nicht", "ne sait pas", "no sabe", "#n/a", "-", ".", "?"),
)
_CODE = re.compile(r"-[1-9]|-?([789])\1{1,5}|9{0,5}[789]")


def _codes(schema: Schema, relation: str, engine: Engine) -> dict[str, dict[str, int]]:
    """Return for each column the values that may be codes, with their counts."""
    # Few statements find the columns that may have any; only these are looked at by value.
    d = engine.dialect
    words = ", ".join(map(d.literal, _WORDS))
    cells, wanted = {}, []
    for name, column in schema.items():
        if column.kind in (*_NUMBERS, "undeclared"):
            cell = column_sql(col(name), schema, d)
            number, word, spoken = cell, "", "0"  # a column of numbers has no words
            if column.kind == "undeclared":
                number = reading_sql("read_number", column.number_text(cell), d)
                word = f"case when lower(trim({cell})) in ({words}) then trim({cell}) end"
                spoken = f"count({word})"
            cells[name] = d.cast(number, "double"), word
            wanted.append(f"min({cells[name][0]}), max({cells[name][0]}), {spoken}")
    row = itertools.chain.from_iterable(
        engine.rows(f"select {', '.join(some)} from {relation} as tacit_rows")[0]
        for some in (wanted[k : k + _WIDE] for k in range(0, len(wanted), _WIDE))
    )
    numbers, words_of = {}, {}
    for name, (number, word) in cells.items():
        low, high, spoken = next(row), next(row), next(row)
        if low is not None and (spoken or _may_have_codes(float(low), float(high))):
            numbers[name] = number
            words_of.update({name: word} if spoken else {})
    found: dict[str, dict[str, int]] = {}
    for name, (lowest, highest) in _ends(numbers, relation, engine):
        codes = {x: n for x, n in lowest if x < 0} if _few_below(lowest) else {}
        for listed in (lowest, highest):
            codes.update(_outliers(listed))
        found[name] = {_written(x): n for x, n in sorted(codes.items())}
    for name, word in words_of.items():
        texts = f"select {word} as word from {relation} as tacit_rows"
        said = engine.rows(
            f"select word, count(*) from ({texts}) as r where word is not null group by word "
            "order by word"
        )
        found[name] |= {str(word): int(n) for word, n in said}
    return {name: codes for name, codes in found.items() if codes}


def _may_have_codes(low: float, high: float) -> bool:
    """Return whether the ends of a range allow codes: a whole number below 0, or nines above."""
    below = low < 0 and low.is_integer() and (low > -100 or _CODE.fullmatch(_written(low)))
    return bool(below or _CODE.fullmatch(_written(high)))


_End: TypeAlias = list[tuple[float, int]]  # values from one end of a range, with their counts
_AT_ONCE = 50  # columns in one statement: each row is looked at by each, for each


def _ends(
    numbers: Mapping[str, str], relation: str, engine: Engine
) -> Iterator[tuple[str, tuple[_End, _End]]]:
    """Yield of each column its smallest and its greatest values, with their counts."""
    # A statement has many columns, because each looks at all columns of a file.
    for first in range(0, len(numbers), _AT_ONCE):
        names = list(numbers)[first : first + _AT_ONCE]
        cells = ", ".join(f"{numbers[name]} as c{i}" for i, name in enumerate(names))
        which = " ".join(f"when {i} then c{i}" for i in range(len(names)))
        each = ", ".join(f"({i})" for i in range(len(names)))
        counted = (
            f"select i, x, count(*) as n from (select i, case i {which} end as x from "
            f"(select {cells} from {relation} as tacit_rows) as r "
            f"cross join (values {each}) as s(i)) as u group by i, x"
        )
        ranked = (
            "select i, x, n, row_number() over (partition by i order by x) as low, "
            "row_number() over (partition by i order by x desc) as high "
            f"from ({counted}) as v where x is not null"
        )
        shown = f"low <= {_ENDS} or high <= {_ENDS}"
        ends: list[tuple[list[tuple[int, float, int]], ...]] = [([], []) for _ in names]
        rows = engine.rows(f"select i, x, n, low, high from ({ranked}) as r where {shown}")
        for i, x, n, *ranks in rows:
            for end, rank in zip(ends[int(i)], ranks, strict=True):
                end += [(int(rank), float(x), int(n))] if rank <= _ENDS else []
        for name, (lowest, highest) in zip(names, ends, strict=True):
            yield name, (_by_rank(lowest), _by_rank(highest))


def _by_rank(end: list[tuple[int, float, int]]) -> _End:
    return [(x, n) for _, x, n in sorted(end)]


def _few_below(lowest: Sequence[tuple[float, int]]) -> bool:
    """Return whether a column has few negative numbers, whole ones, below others that are not."""
    below = [x for x, _ in lowest if x < 0]
    return 0 < len(below) < len(lowest) and all(x > -100 and x == int(x) for x in below)


def _outliers(end: Sequence[tuple[float, int]]) -> dict[float, int]:
    """Return the values at one end of a range that are written as codes are, away from others."""
    found: dict[float, int] = {}
    for (x, n), (nearer, beside) in itertools.pairwise(end):
        if not _CODE.fullmatch(_written(x)):
            break
        found[x] = n
        gap = abs(x - nearer)
        if gap > 1 + abs(nearer) / 4 or (gap > 1 and max(found.values()) > 2 * beside):
            return found
    return {}


def _written(x: float) -> str:
    return str(int(x)) if abs(x) < 1e15 and x == int(x) else repr(x)


def _plain(code: str) -> int | float | str:
    number = read_cell("read_number", code)
    return code if number is None else int(number) if number == int(number) else float(number)


def _text(
    cell: str, declared: str | None, relation: str, engine: Engine, form: CsvFormat
) -> ColumnCheck:
    """Return what a column of text contains, which may be declared as another kind."""
    read = ", ".join(f"{declared_sql(cell, k, form, engine.dialect)} as as_{k}" for k in KINDS)
    counts = ["count(cell)", *(f"count(as_{kind})" for kind in KINDS)]
    counts += writing_sql(form, engine.dialect)
    cells = f"select {cell} as cell, trim({cell}) as text, {read} from {relation} as t"
    row = map(int, engine.rows(f"select {', '.join(counts)} from ({cells}) as t")[0])
    filled, *rest = row
    missing = {kind: filled - fit for kind, fit in zip(KINDS, rest, strict=False)}
    if declared:
        return ColumnCheck(declared, filled, {declared: missing.get(declared, 0)})
    writing = Writing(*rest[len(KINDS) :])
    changed = {kind: filled - missing[kind] - writing.restored(kind) for kind in KINDS}
    changed = {kind: cells for kind, cells in changed.items() if cells > 0}
    return ColumnCheck("undeclared", filled, missing, writing.suggestion(filled), changed)
