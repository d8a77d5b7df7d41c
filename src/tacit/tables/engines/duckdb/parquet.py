"""Parquet files and folders of them, read row by row."""

from __future__ import annotations

import glob
import os
import re
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from tacit.errors import DataSourceError, did_you_mean
from tacit.expressions.schema import Column, Schema
from tacit.tables.engines.base import EngineMemoryError, SpillFolder
from tacit.tables.engines.duckdb.engine import (
    DUCKDB,
    DuckEngine,
    described,
    schema_of,
    shield,
    types_of,
)
from tacit.tables.engines.duckdb.parquet_columns import extract_columns
from tacit.tables.engines.files import folder_columns, misnamed

# Files at an address, which DuckDB reads by extensions of its own that the user has installed.


# What reads each kind of address.
_EXTENSIONS = {
    **dict.fromkeys(("http", "https", "s3", "s3a", "s3n", "gcs", "gs", "r2", "hf"), "httpfs"),
    **dict.fromkeys(("az", "azure", "abfs", "abfss"), "azure"),
}


class OpaqueSqlError(Exception):
    """SQL whose files are unknown, or that cannot be rewritten; the message is the reason."""


def is_remote(path: str) -> bool:
    """True if a path is an address such as ``s3://bucket/visits/*.parquet``."""
    return "://" in path


def file_list(files: Iterable[str]) -> str:
    """Return a list in SQL of files, whose names DuckDB would otherwise take for patterns.

    >>> file_list(["visits[1].parquet", "s3://bucket/*.parquet"])
    "['visits[[]1].parquet', 's3://bucket/*.parquet']"
    """
    return f"[{', '.join(DUCKDB.literal(f if is_remote(f) else glob.escape(f)) for f in files)}]"


def public_part(path: str) -> str:
    """Return an address without what may be a secret: a user, a password, a signature.

    >>> public_part("https://ann:pw@example.org/visits.parquet?signature=abc")
    'https://example.org/visits.parquet'
    """
    if not is_remote(path):
        return path
    kind, _, rest = path.partition("://")
    host, slash, location = rest.partition("/")
    return f"{kind}://{host.rpartition('@')[2]}{slash}{location.partition('?')[0]}"


def check_remote(address: str, engine: DuckEngine) -> None:
    """Raise if the engine has nothing to read an address with."""
    # Nothing is fetched to make up for it: an extension is code, and the user's to install.
    kind = address.partition("://")[0].casefold()
    extension = _EXTENSIONS.get(kind)
    if extension is None:
        raise DataSourceError(
            f"DuckDB reads no addresses of the form {kind}://; "
            f"{did_you_mean(kind, _EXTENSIONS)}, or give the path of a local file without it"
        )
    known = engine.rows(
        "select installed or loaded from duckdb_extensions() "
        f"where extension_name = {engine.dialect.literal(extension)}"
    )
    if known != [(True,)]:
        raise DataSourceError(
            f"DuckDB reads {kind}:// by its extension {extension}, which is not installed: run "
            f"python -c \"import duckdb; duckdb.sql('install {extension}')\" once, or copy the "
            "file to a local folder"
        )


def unreachable(address: str) -> DataSourceError:
    """Return the error of an address that gave nothing that can be read."""
    return DataSourceError(
        f"{public_part(address)} cannot be read: look at the address, at the network and at your "
        "right to read it (DuckDB stores keys: create persistent secret), and whether it is "
        "a Parquet or CSV file (details are withheld: they may quote the data)"
    )


# Views of Parquet files in which each cell is read for what it is.
#
# *Statistics* of a file are hidden from the engine (:func:`shielded`).
#
# *Text* whose bytes are no UTF-8 makes the reader of DuckDB refuse the whole file.  *Times in
# milliseconds* that 64 bits of microseconds do not hold do so as well, and where they are in the
# statistics even a question of other columns is refused.  When a query meets such a cell, the view
# is replaced by one that reads these columns in another way, and the query is tried again.  All
# views show the same, wherever the first one answers; the others cost a second reading of these
# columns. Releases of DuckDB before 2.0 have no option to read text otherwise: there it is read as
# the bytes that it is stored as.  A cell that is not a text is missing there, and a far time is at
# an end of :data:`MILLIS`, as in the engine's own columns of milliseconds: neither moves another
# cell.


# DuckDB's names of a row's position in files
_ROW_POSITION = ("file_index", "file_row_number")
_MARK, _LEAVE = ", utf8_validation = 'replace'", ", utf8_validation = 'ignore'"
_POSITION_NAME_CLASH = (
    f"the Parquet files have a column named like one of {', '.join(_ROW_POSITION)}, by which the "
    "row of a cell that cannot be read is identified: give that column another name"
)
_ALONE = "hive_partitioning = false"
_AS_STORED = f"{_ALONE}, binary_as_string = false"
# Milliseconds since 1970 that times are read within: 290,000 years, as :meth:`Dialect.time`.
MILLIS = -9_213_651_676_800_000, 9_089_348_860_800_000


def parquet_view(
    scan: Callable[[str], str],
    files: Sequence[str],
    engine: DuckEngine,
    millis: Collection[str] = (),
    without: Collection[str] = (),
    *,
    parts: Collection[str] = (),
    zoned: bool = False,
    placed: bool = False,
) -> str:
    """Return a view of Parquet files, replaced by another when a cell cannot be read."""
    # parts: columns that are parts of the names of the folder, and hide those of the files.
    # zoned: whether a time in milliseconds with a zone stays a moment.
    # placed: whether the view has the positions of the file and of the row in it, as tacit_0 and
    #   tacit_1.
    shown = {n: t for n, t in types_of(scan(""), engine).items() if n not in without}
    moments = {n for n in millis if zoned and shown[n] == "TIMESTAMP WITH TIME ZONE"}
    made = _Views(scan, list(files), shown, list(millis), moments, engine, parts, placed)
    view = engine.view(made.first())
    made.name = view
    engine.on_failure("InvalidInputException", made.without_text)
    if millis:
        engine.on_failure("ConversionException", made.without_times)
    return view


# Whether this release of DuckDB can put a mark for bytes that are not text, once it was asked.
_marks_text: list[bool] = []


def reads_marked_text(engine: DuckEngine) -> bool:
    """Return whether the engine can put a mark for bytes that are not text."""
    if not _marks_text:  # it takes long to list its functions
        named = "function_name = 'read_parquet' and function_type = 'table'"
        known = "list_contains(parameters, 'utf8_validation')"
        _marks_text.append(
            bool(engine.rows(f"select 1 from duckdb_functions() where {named} and {known}"))
        )
    return _marks_text[0]


def contains_text(declared: str) -> bool:
    """Return whether a type is text, or has text within."""
    return "VARCHAR" in declared or "JSON" in declared


class _Views:
    """The views of files: the first, and those that replace it."""

    def __init__(
        self,
        scan: Callable[[str], str],
        files: list[str],
        types: dict[str, str],
        millis: list[str],
        moments: Collection[str],
        engine: DuckEngine,
        parts: Collection[str],
        placed: bool = False,
    ) -> None:
        self._shows_position = placed
        self._scan, self._files, self._types, self._millis = scan, files, types, millis
        self._moments = moments
        self._engine = weakref.ref(engine)  # this must not keep it open
        self._quoted = {name: DUCKDB.identifier(name) for name in types}
        self._read = {n: t for n, t in types.items() if n.casefold() not in parts}
        self._placed_scan, self._placed = scan, self._quoted
        if any(name.casefold() in _ROW_POSITION for name in types) and (
            placed or millis or any(map(contains_text, self._read.values()))
        ):
            self._rename_columns(engine)
        self._texts: list[str] = []
        self._mark = ""
        self._stored: list[str] = []
        self._copies = ""
        self.name = ""

    def _rename_columns(self, engine: DuckEngine) -> None:
        """Rename the columns: some have a name of the position of a row."""
        listed = file_list(self._files)
        own = types_of(f"read_parquet({listed}, {_ALONE})", engine)
        names = {name: f"tacit_own_{i}" for i, name in enumerate(own)}
        fields = ", ".join(
            f"{DUCKDB.literal(name)}: {{name: '{names[name]}', type: {DUCKDB.literal(declared)}, "
            "default_value: null}"
            for name, declared in own.items()
        )
        scan = f"read_parquet({listed}, {_ALONE}, schema = map {{{fields}}}"
        self._placed_scan, self._placed = (lambda more: f"{scan}{more})"), names
        try:
            if self._types.items() <= own.items():
                read = types_of(self._placed_scan(""), engine)
                if list(read.items()) == [(names[name], own[name]) for name in own]:
                    return
        except EngineMemoryError:
            raise
        except DataSourceError:
            pass
        raise DataSourceError(_POSITION_NAME_CLASH)

    def first(self) -> str:
        """Return the SQL of the view that reads the files once."""
        scan, read = self._scan, self._quoted
        position: list[str] = []
        if self._shows_position:  # by names that no column has
            scan, read = self._placed_scan, self._placed
            position = [f"{name} as tacit_{i}" for i, name in enumerate(_ROW_POSITION)]
        cells = {n: shield(read[n], self._types[n]) for n in self._quoted}
        shown = [
            f"{self._time(n, f'epoch_us({cell})', 1) if n in self._millis else cell} as "
            f"{self._quoted[n]}"
            for n, cell in cells.items()
        ]
        return f"select {', '.join([*position, *shown]) or '1'} from {scan('')}"

    def without_text(self) -> None:
        """Replace the view by one whose cells are missing where they are not text."""
        # The reader can put a mark for bytes that are not text, or leave them out.
        # The two differ in length for such a cell, and for no other.
        engine = self._engine()
        assert engine is not None  # it runs this view
        if reads_marked_text(engine):
            self._mark = _MARK  # also of text within lists and structs, which shows it
            self._texts = [name for name, kind in self._types.items() if kind == "VARCHAR"]
        else:
            written = types_of(f"read_parquet({file_list(self._files)}, {_ALONE})", engine)
            self._store(name for name in written if contains_text(self._read.get(name, "")))
        self._replace()

    def without_times(self) -> None:
        """Replace the view by one that reads times as the integers that they are stored as."""
        self._store(self._millis)
        self._replace()

    def _store(self, names: Iterable[str]) -> None:
        """Copy columns, with those that were copied before, to files that show them as stored."""
        self._stored += names
        folder = SpillFolder()
        weakref.finalize(self._engine(), folder.remove)
        copies = [str(folder.path / f"{number}.parquet") for number in range(len(self._files))]
        for file, copy in zip(self._files, copies, strict=True):
            extract_columns(file, self._stored, copy)
        self._copies = f"read_parquet({file_list(copies)}, {_AS_STORED})"

    def _time(self, name: str, number: str, step: int) -> str:
        """Return the time after a number of steps in microseconds, within 290,000 years."""
        first, last = (milli * 1000 // step for milli in MILLIS)
        bounded = f"greatest(least({number}, {last}), {first}) * {step}"
        make = "make_timestamptz" if name in self._moments else "make_timestamp"
        return f"{make}(case when {number} is not null then {bounded} end)"

    def _replace(self) -> None:
        numbered = {name: f"tacit_{i + 2}" for i, name in enumerate(self._types)}
        read = {n: (self._placed[n], i) for n, i in numbered.items() if n not in self._stored}
        scan = self._placed_scan
        source = f"({_placed(read.values(), scan(self._mark))}) as m"
        if self._texts:
            texts = [read[name] for name in self._texts]
            source += f" join ({_placed(texts, scan(_LEAVE))}) as l on {_same('l')}"
        if self._stored:
            cells = [(f"c{i}", numbered[name]) for i, name in enumerate(self._stored)]
            source += f" join ({_placed(cells, self._copies)}) as t on {_same('t')}"
        shown = ["m.tacit_0", "m.tacit_1"] if self._shows_position else []
        for name, n in numbered.items():
            cell = shield(f"m.{n}", self._types[name])
            if name in self._stored:
                cell = shield(f"t.{n}")
                if name in self._millis:
                    cell = self._time(name, cell, 1000)
                elif _is_text(self._types[name]):
                    cell = _decoded(cell, self._types[name])
            elif name in self._millis:
                cell = self._time(name, f"epoch_us({cell})", 1)
            elif name in self._texts:
                left_out = shield(f"l.{n}", "VARCHAR")
                cell = f"case when {cell} = {left_out} then {cell} end"
            shown.append(f"{cell} as {self._quoted[name]}")
        engine = self._engine()
        assert engine is not None  # it runs this view
        engine.view(f"select {', '.join(shown)} from {source}", self.name)


def _is_text(declared: str) -> bool:
    return declared.replace("[]", "") == "VARCHAR"


def _decoded(cell: str, declared: str) -> str:
    """Return the SQL of text that is stored as bytes, or of lists of it."""
    if declared == "VARCHAR":
        return shield(f"decode({cell})")  # of each text: its list stays
    return f"list_transform({cell}, lambda x: {_decoded('x', declared[:-2])})"


def _placed(columns: Collection[tuple[str, str]], scan: str) -> str:
    """Return a query of some columns, each with a name, and of the position of each row."""
    position = [f"{name} as tacit_{i}" for i, name in enumerate(_ROW_POSITION)]
    return (
        f"select {', '.join([*position, *(f'{x} as {name}' for x, name in columns)])} from {scan}"
    )


def _same(other: str) -> str:
    return f"m.tacit_0 = {other}.tacit_0 and m.tacit_1 = {other}.tacit_1"


# Open Parquet files for DuckDB: by their footers alone.
#
# *Footers must fit into memory.*  DuckDB parses an entire footer, in about ten times its
# own length (measured: 8 MB of 20,000 row groups in 78 MB), and no limit of its own holds it back.
# Its length is in the last eight bytes of a file; so files whose footers do not fit are refused
# before the engine sees them.
#
# *Types are decided by schemas.*  Where files declare one column differently, it is read by the
# type that fits all their values: the wider integer, a double, a decimal with enough
# digits, a timestamp.  Where none does (text and numbers), the column is refused where a question
# names it. Every cast is one that makes a value missing rather than fail.
#
# *Folders are named, not read.*  In a folder of parts such as ``site=north/1.parquet`` each part of
# the name is an undeclared column; which columns there are follows from the names on all paths.


# The most bytes that the footers of all files may have together, whatever memory there is.
FOOTER_LIMIT = 1 << 28
_GROWTH = 12
# How many bits each integer takes with a sign, and how many digits.
_INTEGER_TYPES = {
    "TINYINT": (8, 3),
    "SMALLINT": (16, 5),
    "INTEGER": (32, 10),
    "BIGINT": (64, 19),
    "UTINYINT": (9, 3),
    "USMALLINT": (17, 5),
    "UINTEGER": (33, 10),
    "UBIGINT": (65, 20),
}
_MILLIS = "a far time among them would end every question; "
_MILLIS_WITHIN = f"holds times in milliseconds within lists or structs: {_MILLIS}write microseconds"
_MILLIS_REMOTE = (
    f"holds times in milliseconds in a file at an address: {_MILLIS}copy the file to a local "
    "folder, or write microseconds"
)
_TEXT_WITHIN = (
    "holds text within a struct, a map or JSON, of which bytes that are no UTF-8 would end every "
    "question in DuckDB before 2.0: use a newer one (pip install -U duckdb)"
)
_MILLIS_HIDDEN = (
    f"holds times in milliseconds, and is in the names of the folders as well: {_MILLIS}leave it "
    "out of the files"
)
_TEXT_REMOTE = (
    "holds text in a file at an address, of which bytes that are no UTF-8 would end every question "
    "in DuckDB before 2.0: use a newer one (pip install -U duckdb), or copy the file to a local "
    "folder"
)
_CHECKED = (
    "holds times of day, JSON, geometries or variants in Parquet, and one that is none would end "
    "every question in DuckDB's own reader: write text or numbers"
)
# No statistic reads these; DuckDB's reader checks each of them, even to know which are missing.
_CHECKED_TYPE = re.compile(r"\b(JSON|GEOMETRY|VARIANT|TIME_NS)\b|\bTIME\b(?! ZONE)")
_TIMES = {"DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"}
_NULL = "NullType()"
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
_DECIMAL_TYPE = re.compile(r"DecimalType\(scale=(\d+), precision=(\d+)\)")
_NARROW = 18  # digits of a decimal, which 64 bits hold


def checked_columns(types: Mapping[str, str]) -> dict[str, str]:
    """Return the columns whose cells DuckDB's reader of Parquet refuses by value, and the reason.

    >>> list(checked_columns({"a": "TIME[]", "b": "TIMESTAMP WITH TIME ZONE", "c": "JSON"}))
    ['a', 'c']
    """
    return {name: _CHECKED for name, kind in types.items() if _CHECKED_TYPE.search(kind)}


def open_parquet(path: str, files: Sequence[str], engine: DuckEngine) -> tuple[str, Schema]:
    """Return the relation that the files are together, and its columns; no row is read."""
    engine.read_in_place()
    if is_remote(path):
        return _open_remote(path, files, engine)
    _check_footers(files, engine)
    parts = folder_columns(path, files)
    option = f"hive_partitioning = {str(bool(parts)).lower()}, hive_types_autocast = false"
    hidden = {name.casefold() for name in parts}
    reads: list[str] = []
    own_types: list[dict[str, str]] = []
    problems: dict[str, str] = {}
    for fields, group in _alike(path, files, engine):
        millis, within, _ = _in_millis(fields)
        for name in [*millis, *within]:
            if name.casefold() in hidden:
                raise DataSourceError(f"column {name!r} {_MILLIS_HIDDEN}")
        problems |= dict.fromkeys(within, _MILLIS_WITHIN)
        scan = _read(group, option)
        reads.append(parquet_view(scan, group, engine, millis, within, parts=hidden))
        empty = dict.fromkeys(_without_type(fields), '"NULL"')
        own_types.append({n: empty.get(n, t) for n, t in types_of(reads[-1], engine).items()})
        problems |= checked_columns(own_types[-1])
    relation, schema = _united(reads, own_types, engine)
    columns = [
        Column(c.name, "undeclared", "VARCHAR") if c.name in parts and c.kind == "text" else c
        for c in schema.values()
    ]
    return relation, _with_problems(columns, problems)


def _open_remote(path: str, files: Sequence[str], engine: DuckEngine) -> tuple[str, Schema]:
    """Return the relation that files at an address are together, and its columns."""
    problems: dict[str, str] = {}
    for fields, _ in _alike(path, files, engine):
        millis, within, _ = _in_millis(fields)
        problems |= dict.fromkeys(within, _MILLIS_WITHIN) | dict.fromkeys(millis, _MILLIS_REMOTE)
    scan = _read(files, "hive_types_autocast = false")
    if not reads_marked_text(engine):
        types = types_of(scan(""), engine)
        problems |= {name: _TEXT_REMOTE for name, kind in types.items() if contains_text(kind)}
    relation = parquet_view(scan, files, engine, without=problems)
    problems |= checked_columns(types_of(relation, engine))
    return relation, _with_problems(described(relation, engine).values(), problems)


def viewed_parquet(
    files: Sequence[str], options: str, types: dict[str, str], engine: DuckEngine
) -> str:
    """Return a relation of the Parquet files that a call within a view reads; no row is read."""
    remote = any(map(is_remote, files))
    if not remote:
        _check_footers(files, engine)
    for name, why in checked_columns(types).items():
        raise OpaqueSqlError(f"column {name!r} {why}")
    texts = [name for name, kind in types.items() if contains_text(kind)]
    copied = [] if reads_marked_text(engine) else texts
    if remote and copied:
        raise OpaqueSqlError(f"column {copied[0]!r} {_TEXT_REMOTE}")
    for name in copied:
        if not _is_text(types[name]):
            raise OpaqueSqlError(f"column {name!r} {_TEXT_WITHIN}")
    reads = []
    for fields, group in _alike(files[0], files, engine):
        millis, within, _ = _in_millis(fields)
        if within or (millis and remote):
            why = _MILLIS_WITHIN if within else _MILLIS_REMOTE
            raise OpaqueSqlError(f"column {(within or millis)[0]!r} {why}")
        again = files if remote else [file for file in files if file in group]  # one may be twice
        if "hive_partitioning = false" not in options.casefold():
            _refuse_hidden([str(field[0]) for field in fields], again, copied)
        scan = partial("read_parquet({}{}{})".format, file_list(again), options)
        view = parquet_view(scan, again, engine, millis, zoned=True)
        reads.append(_select(view, types_of(view, engine), dict(types), engine))
        if remote:
            break
    return engine.view(" union all ".join(reads))


def _refuse_hidden(names: Sequence[str], files: Sequence[str], copied: Sequence[str]) -> None:
    """Raise if columns copied from files may be those in the names of folders."""
    parts = {part.partition("=")[0].casefold() for f in files for part in Path(f).parts[:-1]}
    parts &= {name.casefold() for name in names}
    for name in copied:
        if name.casefold() in parts:
            raise OpaqueSqlError(f"column {name!r} is in the files and in the names of folders")


class ListedFiles(NamedTuple):
    """Files of a list that declare the same columns."""

    files: list[str]
    view: str  # with the position of each row, as of :func:`parquet_view`
    types: dict[str, str]  # of its columns, with those of the position
    ids: dict[int, str]  # the names of columns by the ids that the files give them


def listed_parquet(files: Sequence[str], engine: DuckEngine) -> list[ListedFiles]:
    """Return views of the Parquet files that the log of a table lists; no row is read."""
    engine.read_in_place()
    _check_footers(files, engine)
    listed = []
    for fields, group in _alike(files[0], files, engine, ids=True):
        millis, within, _ = _in_millis(fields)
        scan = _read(group, "hive_partitioning = false")
        view = parquet_view(scan, group, engine, millis, within, placed=True)
        ids = {f[3]: f[0] for f in _top(fields) if f[3] is not None}
        listed.append(ListedFiles(group, view, types_of(view, engine), ids))
    return listed


def _top(fields: Sequence[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Yield the columns themselves, of a schema that lists what is within them behind them."""
    rest = iter(fields)

    def skip(children: int) -> None:
        for _ in range(children):
            skip(next(rest)[1])

    for _ in range(next(rest)[1]):
        yield (field := next(rest))
        skip(field[1])


def _with_problems(columns: Iterable[Column], problems: dict[str, str]) -> Schema:
    refused = [Column(name, "other", "VARCHAR", why, reads="") for name, why in problems.items()]
    return Schema([*(c for c in columns if c.name not in problems), *refused])


def millis_columns(files: Sequence[str], engine: DuckEngine) -> tuple[set[str], set[str]]:
    """Return the columns that are times in milliseconds in all files; the others that hold such."""
    plain: set[str] = set()
    others: set[str] = set()
    micros: set[str] = set()
    for fields, _ in _alike(files[0], files, engine):
        millis, within, rest = _in_millis(fields)
        plain.update(millis)
        others.update(within)
        micros.update(rest)
    return plain - others - micros, others | plain & micros


def unchecked_decimals(
    files: Sequence[str], digits: int, engine: DuckEngine
) -> tuple[dict[str, int], set[str]]:
    """Return columns of decimals that may have more digits than their type; others that hold such.

    The first are bytes of a fixed length in all files, and have the number of digits behind their
    point.  No type of at most ``digits`` counts.
    """
    # Of writers in Java, those that were looked at count the digits.  pyarrow, polars and DuckDB do
    # not: what they read from memory or from a file goes into the next one as it is.
    select = "select file_name from parquet_file_metadata({}) where created_by like 'parquet-mr %'"
    checked = {file for (file,) in engine.rows(select.format(file_list(files)))}
    kinds: dict[str, set[Any]] = {}
    unchecked: set[str] = set()
    for fields, group in _alike(files[0], files, engine):
        plain, within, _ = _split(fields, lambda field: _decimal(field)[0] > digits)
        if not checked.issuperset(group):
            unchecked.update(plain, within)
        for field in _top(fields):
            wide, scale = _decimal(field)
            is_fixed = field[3] == "FIXED_LEN_BYTE_ARRAY" and wide > _NARROW
            kinds.setdefault(field[0], set()).add(scale if is_fixed else None)
    scales = {name: next(iter(kinds[name])) for name in unchecked if len(kinds[name]) == 1}
    fixed = {name: scale for name, scale in scales.items() if scale is not None}
    return fixed, unchecked - fixed.keys()


def _decimal(field: tuple[Any, ...]) -> tuple[int, int]:
    """Return the digits of a type of decimals, and how many are behind the point; else zeros."""
    logical = _DECIMAL_TYPE.match(str(field[8]))
    if logical:
        return int(logical[2]), int(logical[1])
    return (field[7] or 0, field[6] or 0) if field[5] == "DECIMAL" else (0, 0)


def _in_millis(fields: Sequence[tuple[Any, ...]]) -> tuple[list[str], list[str], list[str]]:
    """Return columns of times in milliseconds, those that have such times within, and others."""
    return _split(fields, lambda field: bool(field[2]))


def _split(
    fields: Sequence[tuple[Any, ...]], is_such: Callable[[tuple[Any, ...]], bool]
) -> tuple[list[str], list[str], list[str]]:
    """Return the columns that are such as is asked for, those that have such within, and others."""
    plain: list[str] = []
    within: list[str] = []
    others: list[str] = []
    rest = iter(fields)

    def below(children: int) -> bool:
        has_such = False
        for _ in range(children):
            field = next(rest)
            has_such |= below(field[1]) | is_such(field)
        return has_such

    for _ in range(next(rest)[1]):
        field = next(rest)
        of_it = within if below(field[1]) else plain if is_such(field) else others
        of_it.append(field[0])
    return plain, within, others


def _without_type(fields: Sequence[tuple[Any, ...]]) -> set[str]:
    """Return the columns that hold no value: releases of DuckDB before 2.0 call them INTEGER."""
    return {name for name, children, _, *rest in fields[1:] if not children and rest[-1] == _NULL}


def _read(files: Iterable[str], option: str) -> Callable[[str], str]:
    listed = file_list(files)
    return lambda more: f"read_parquet({listed}, union_by_name = true, {option}{more})"


def _check_footers(files: Sequence[str], engine: DuckEngine) -> None:
    for file in files:  # DuckDB has no escape for both
        if os.sep != "\\" in file and file != glob.escape(file):
            raise DataSourceError(
                f"{file} has a backslash in its path, and one of the signs '*?[': give it another "
                "name"
            )
    limit = min(engine.memory // (2 * _GROWTH), FOOTER_LIMIT)
    if sum(map(_parquet_footer, files)) <= limit:
        return
    short = Path(files[0]).name
    what = f"the footer of {short}"
    if len(files) > 1:
        what = f"the footers of {short} and the other files"
    raise DataSourceError(
        f"{what} would not fit into memory: longer than {max(limit // 1000, 1)} kB, since the "
        "rows are in too many row groups. Write the table again with larger ones (100,000 rows "
        "or more), or in fewer files, or raise memory_limit"
    )


def _parquet_footer(path: str) -> int:
    """Return the length of the footer of a file; 0 if it has none, which the engine refuses."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - 8, 0))
            last = file.read(8)
    except OSError:
        return 0
    length = int.from_bytes(last[:4], "little")
    return length if last[4:] in (b"PAR1", b"PARE") and length < size else 0


def _alike(
    path: str, files: Sequence[str], engine: DuckEngine, *, ids: bool = False
) -> list[tuple[tuple[tuple[Any, ...], ...], list[str]]]:
    """Return the files in groups that declare the same columns of the same types, with these."""
    # Of each column: its name, how many others are right below it, whether it is a time in
    # milliseconds, its id where ids are asked for, and its type.
    millis = (
        "type = 'INT64' and (coalesce(converted_type = 'TIMESTAMP_MILLIS', false) "
        "or coalesce(logical_type like '%MILLIS=MilliSeconds%', false))"
    )
    type_fields = "type, type_length, converted_type, scale, precision, logical_type"
    selected = (
        f"file_name, name, coalesce(num_children, 0), coalesce({millis}, false), "
        f"{'field_id, ' * ids}{type_fields}"
    )
    fields: dict[str, list[tuple[Any, ...]]] = {f: [] for f in files}
    select = f"select {selected} from parquet_schema({file_list(files)})"
    for file, *field in _probe(path, select, engine, files):
        fields.setdefault(file, []).append(tuple(field))  # a pattern names others
    groups: dict[tuple[Any, ...], list[str]] = {}
    for file, columns in fields.items():
        if not columns:
            continue
        groups.setdefault(tuple(columns), []).append(file)
    return list(groups.items())


def _united(
    reads: Sequence[str], own_types: Sequence[dict[str, str]], engine: DuckEngine
) -> tuple[str, Schema]:
    if len(reads) == 1:
        return reads[0], schema_of(own_types[0])
    types = {
        n: [t[n] for t in own_types if n in t]
        for n in dict.fromkeys(n for t in own_types for n in t)
    }
    common = {name: together(kinds) for name, kinds in types.items()}
    columns = {name: declared or '"NULL"' for name, declared in common.items()}
    selects = [
        _select(read, own, common, engine) for read, own in zip(reads, own_types, strict=True)
    ]
    known = schema_of(columns)
    problem = (
        "is declared with types that do not go together in the files ({types}); write them "
        "again with one type"
    )
    schema = [
        column
        if common[name] is not None
        else Column(
            *(name, "other", "VARCHAR"),
            problem.format(types=", ".join(sorted(set(types[name])))),
            reads="",
        )
        for name, column in known.items()
    ]
    return f"({' union all '.join(selects)})", Schema(schema)


def _select(
    read: str, own: dict[str, str], common: dict[str, str | None], engine: DuckEngine
) -> str:
    parts = []
    for name, declared in common.items():
        quoted = engine.dialect.identifier(name)
        if declared is None:
            parts.append(f"null as {quoted}")
        elif own.get(name) == declared:
            parts.append(quoted)
        elif name in own and declared != '"NULL"':
            parts.append(f"try_cast({quoted} as {declared}) as {quoted}")
        else:
            parts.append(f"cast(null as {declared}) as {quoted}")
    return f"select {', '.join(parts)} from {read}"


def together(types: Iterable[str]) -> str | None:
    """Return the type that fits the values of all of these, or None.

    >>> together(["INTEGER", "UINTEGER"]), together(["BIGINT", "FLOAT"]), together(["DATE", "DATE"])
    ('BIGINT', 'DOUBLE', 'DATE')
    >>> together(["DECIMAL(5,2)", "INTEGER"]), together(["DECIMAL(38,30)", "BIGINT"])
    ('DECIMAL(12,2)', None)
    >>> print(together(["VARCHAR", "BIGINT"]))
    None
    """
    names = set(types) - {'"NULL"'}
    if len(names) < 2:
        return names.pop() if names else '"NULL"'
    if names <= _TIMES:
        return "TIMESTAMP"
    decimals = [_DECIMAL.fullmatch(name) for name in names]
    floats = names & {"FLOAT", "DOUBLE"}
    integers = names & set(_INTEGER_TYPES)
    if len(integers) + len(floats) + sum(map(bool, decimals)) < len(names):
        return None
    if floats:
        return "DOUBLE"
    if integers == names:
        return _widest_integer(integers)
    scales = [(int(d[1]) - int(d[2]), int(d[2])) for d in decimals if d]
    before = max([digits for digits, _ in scales] + [_INTEGER_TYPES[name][1] for name in integers])
    behind = max(scale for _, scale in scales)
    return f"DECIMAL({before + behind},{behind})" if before + behind <= 38 else None


def _widest_integer(types: set[str]) -> str:
    widest = max(types, key=lambda name: _INTEGER_TYPES[name][0])
    if all(name.startswith("U") for name in types):
        return widest
    bits = _INTEGER_TYPES[widest][0]
    signed = [
        name
        for name in _INTEGER_TYPES
        if not name.startswith("U") and _INTEGER_TYPES[name][0] >= bits
    ]
    return signed[0] if signed else "HUGEINT"


def _probe(
    path: str, sql: str, engine: DuckEngine, files: Sequence[str] = ()
) -> list[tuple[Any, ...]]:
    try:
        return engine.rows(sql)
    except EngineMemoryError:
        raise
    except DataSourceError:
        pass
    if is_remote(path):
        raise unreachable(path)
    for file in files:
        wrong = misnamed(file)
        if wrong:
            raise DataSourceError(f"{file} {wrong}")
    raise DataSourceError(
        f"{path} cannot be read: it is damaged, not a Parquet file, or one that this version of "
        "DuckDB does not read, as with another encryption or packing: write it again (details "
        "are withheld: they may quote the data)"
    )
