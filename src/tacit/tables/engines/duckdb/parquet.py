"""Open Parquet files for DuckDB: by their footers alone.

*Footers are held in memory.*  DuckDB takes a footer apart as a whole, in about ten times its own
length (measured: 8 MB of 20,000 row groups in 78 MB), and no limit of its own holds it back.  How
long it is stands in the last eight bytes of a file; so files whose footers do not fit are refused
before the engine sees them.

*Types are decided by schemas.*  Where files declare one column differently, it is read by the type
that holds all values of theirs: the wider whole number, a double, a decimal with enough digits, a
timestamp.  Where none does (text and numbers), the column is refused where a question names it.
Every cast is one that makes a value missing rather than fail.

*Folders are named, not read.*  In a folder of parts such as ``site=north/1.parquet`` each part of
the name is an undeclared column; which columns there are follows from the names on all paths.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tacit.errors import DataSourceError
from tacit.expressions.schema import Column, Schema
from tacit.tables.engines.base import EngineMemoryError
from tacit.tables.engines.duckdb.columns import described, schema_of, types_of
from tacit.tables.engines.duckdb.engine import DuckEngine
from tacit.tables.engines.duckdb.parquet_view import holds_text, parquet_view, reads_marked_text
from tacit.tables.engines.duckdb.remote import is_remote, unreachable
from tacit.tables.engines.file_kinds import misnamed

__all__ = ["FOOTER_LIMIT", "open_parquet", "together", "viewed_parquet"]

FOOTER_LIMIT = 1 << 28
"""The most bytes that the footers of all files may have together, whatever memory there is."""
_GROWTH = 12
_WHOLE = {
    "TINYINT": (8, 3),
    "SMALLINT": (16, 5),
    "INTEGER": (32, 10),
    "BIGINT": (64, 19),
    "UTINYINT": (9, 3),
    "USMALLINT": (17, 5),
    "UINTEGER": (33, 10),
    "UBIGINT": (65, 20),
}
"""How many bits each whole number takes with a sign, and how many digits."""
_MILLIS = "a far time among them would end every question; "
_MILLIS_WITHIN = f"holds times in milliseconds within lists or structs: {_MILLIS}write microseconds"
_MILLIS_REMOTE = (
    f"holds times in milliseconds in a file at an address: {_MILLIS}copy the file to a local "
    "folder, or write microseconds"
)
_TEXT_REMOTE = (
    "holds text in a file at an address, of which bytes that are no UTF-8 would end every question "
    "in DuckDB before 2.0: use a newer one (pip install -U duckdb), or copy the file to a local "
    "folder"
)
_TIMES = {"DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"}
_NULL = "NullType()"
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")


def open_parquet(path: str, files: Sequence[str], engine: DuckEngine) -> tuple[str, Schema]:
    """Return the relation that the files are together, and its columns; no row is read.

    Args:
        path: as the user named it.
        files: that it stands for.
        engine: to read them.

    Raises:
        DataSourceError: a file that is damaged, or footers that do not fit into memory.
    """
    if is_remote(path):
        return _open_remote(path, files, engine)
    _check_footers(files, engine)
    parts = _folder_columns(path, files)
    option = f"hive_partitioning = {str(bool(parts)).lower()}, hive_types_autocast = false"
    reads: list[str] = []
    told: list[dict[str, str]] = []
    problems: dict[str, str] = {}
    for fields, group in _alike(path, files, engine):
        millis, within = _in_millis(fields)
        problems |= dict.fromkeys(within, _MILLIS_WITHIN)
        scan = _read(group, engine, option)
        reads.append(parquet_view(scan, group, engine, millis, within))
        empty = dict.fromkeys(_without_type(fields), '"NULL"')
        told.append({n: empty.get(n, t) for n, t in types_of(reads[-1], engine).items()})
    relation, schema = _united(reads, told, engine)
    columns = [
        Column(c.name, "undeclared", "VARCHAR") if c.name in parts and c.kind == "text" else c
        for c in schema.values()
    ]
    return relation, _with_problems(columns, problems)


def _open_remote(path: str, files: Sequence[str], engine: DuckEngine) -> tuple[str, Schema]:
    """Return the relation that files at an address are together, and its columns."""
    problems: dict[str, str] = {}
    for fields, _ in _alike(path, files, engine):
        millis, within = _in_millis(fields)
        problems |= dict.fromkeys(within, _MILLIS_WITHIN) | dict.fromkeys(millis, _MILLIS_REMOTE)
    scan = _read(files, engine, "hive_types_autocast = false")
    if not reads_marked_text(engine):
        types = types_of(scan(""), engine)
        problems |= {name: _TEXT_REMOTE for name, kind in types.items() if holds_text(kind)}
    relation = parquet_view(scan, files, engine, without=problems)
    return relation, _with_problems(described(relation, engine).values(), problems)


def viewed_parquet(
    files: Sequence[str], options: str, types: dict[str, str], engine: DuckEngine
) -> str:
    """Return a relation of the Parquet files that a call within a view reads; no row is read.

    Args:
        files: their paths, in that order, or patterns of addresses.
        options: of the call, as SQL, each after a comma.
        types: of the columns that the call has.
        engine: to read them.

    Raises:
        DataSourceError: columns whose cells could fail every question, whatever is asked.
    """
    remote = any(map(is_remote, files))
    if not remote:
        _check_footers(files, engine)
    texts = [name for name, kind in types.items() if holds_text(kind)]
    if remote and texts and not reads_marked_text(engine):
        raise DataSourceError(f"column {texts[0]!r} {_TEXT_REMOTE}")
    reads = []
    for fields, group in _alike(files[0], files, engine):
        millis, within = _in_millis(fields)
        if within or (millis and remote):
            why = _MILLIS_WITHIN if within else _MILLIS_REMOTE
            raise DataSourceError(f"column {(within or millis)[0]!r} {why}")
        again = files if remote else [file for file in files if file in group]  # one may be twice
        listed = ", ".join(map(engine.dialect.literal, again))
        scan = partial("read_parquet([{}]{}{})".format, listed, options)
        view = parquet_view(scan, again, engine, millis, zoned=True)
        reads.append(_select(view, types_of(view, engine), dict(types), engine))
        if remote:
            break
    return engine.view(" union all ".join(reads))


def _with_problems(columns: Iterable[Column], problems: dict[str, str]) -> Schema:
    refused = [Column(name, "other", "VARCHAR", why, reads="") for name, why in problems.items()]
    return Schema([*(c for c in columns if c.name not in problems), *refused])


def _in_millis(fields: Sequence[tuple[Any, ...]]) -> tuple[list[str], list[str]]:
    """Return the columns of times in milliseconds, and those that have such times within.

    Args:
        fields: as :func:`_alike` returns them, depth first, the root before all.
    """
    plain, within = [], []
    rest = iter(fields)

    def below(children: int) -> bool:
        found = False
        for _ in range(children):
            _, more, millis, *_ = next(rest)
            found |= below(more) | millis
        return found

    for _ in range(next(rest)[1]):
        name, children, millis, *_ = next(rest)
        if below(children):
            within.append(name)
        elif millis:
            plain.append(name)
    return plain, within


def _without_type(fields: Sequence[tuple[Any, ...]]) -> set[str]:
    """Return the columns that hold no value: releases of DuckDB before 2.0 call them INTEGER."""
    return {name for name, children, _, *told in fields[1:] if not children and told[-1] == _NULL}


def _read(files: Iterable[str], engine: DuckEngine, option: str) -> Callable[[str], str]:
    listed = ", ".join(engine.dialect.literal(f) for f in files)
    return lambda more: f"read_parquet([{listed}], union_by_name = true, {option}{more})"


def _check_footers(files: Sequence[str], engine: DuckEngine) -> None:
    most = min(engine.memory // (2 * _GROWTH), FOOTER_LIMIT)
    if sum(map(_footer, files)) <= most:
        return
    short = Path(files[0]).name
    what = f"the footer of {short}"
    if len(files) > 1:
        what = f"the footers of {short} and the other files"
    raise DataSourceError(
        f"{what} would not fit into memory: longer than {max(most // 1000, 1)} kB, since the "
        "rows are in too many row groups. Write the table again with larger ones (100,000 rows "
        "or more), or in fewer files, or raise memory_limit"
    )


def _footer(path: str) -> int:
    """Return how long the footer of a file is; 0 where it is none, which the engine refuses."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - 8, 0))
            last = file.read(8)
    except OSError:
        return 0
    length = int.from_bytes(last[:4], "little")
    return length if last[4:] in (b"PAR1", b"PARE") and length < size else 0


def _folder_columns(path: str, files: Sequence[str]) -> tuple[str, ...]:
    """Return the names in the parts of a folder, where all files have the same ones."""
    place = Path(path)
    fixed = place.parts
    if not place.is_dir():
        magic = [i for i, part in enumerate(fixed) if any(sign in part for sign in "*?[")]
        fixed = fixed[: magic[0]] if magic else fixed[:-1]
    found = {
        tuple(p.partition("=")[0] for p in Path(f).parts[len(fixed) : -1] if "=" in p)
        for f in files
    }
    return found.pop() if len(found) == 1 else ()


def _alike(
    path: str, files: Sequence[str], engine: DuckEngine
) -> list[tuple[tuple[tuple[Any, ...], ...], list[str]]]:
    """Return the files in groups that declare the same columns of the same types, with these.

    Of each column: its name, how many others are right below it, whether it is a time in
    milliseconds, and its type.
    """
    listed = ", ".join(engine.dialect.literal(f) for f in files)
    millis = (
        "type = 'INT64' and (coalesce(converted_type = 'TIMESTAMP_MILLIS', false) "
        "or coalesce(logical_type like '%MILLIS=MilliSeconds%', false))"
    )
    told = "type, type_length, converted_type, scale, precision, logical_type"
    asked = f"file_name, name, coalesce(num_children, 0), coalesce({millis}, false), {told}"
    fields: dict[str, list[tuple[Any, ...]]] = {f: [] for f in files}
    select = f"select {asked} from parquet_schema([{listed}])"
    for file, *field in _probe(path, select, engine, files):
        fields.setdefault(file, []).append(tuple(field))  # a pattern names others
    groups: dict[tuple[Any, ...], list[str]] = {}
    for file, found in fields.items():
        if not found:
            continue
        groups.setdefault(tuple(found), []).append(file)
    return list(groups.items())


def _united(
    reads: Sequence[str], told: Sequence[dict[str, str]], engine: DuckEngine
) -> tuple[str, Schema]:
    if len(reads) == 1:
        return reads[0], schema_of(told[0])
    types = {n: [t[n] for t in told if n in t] for n in dict.fromkeys(n for t in told for n in t)}
    common = {name: together(found) for name, found in types.items()}
    columns = {name: declared or '"NULL"' for name, declared in common.items()}
    selects = [_select(read, own, common, engine) for read, own in zip(reads, told, strict=True)]
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
    """Return the type that holds the values of all of these, or None.

    >>> together(["INTEGER", "UINTEGER"]), together(["BIGINT", "FLOAT"]), together(["DATE", "DATE"])
    ('BIGINT', 'DOUBLE', 'DATE')
    >>> together(["DECIMAL(5,2)", "INTEGER"]), together(["DECIMAL(38,30)", "BIGINT"])
    ('DECIMAL(12,2)', None)
    >>> print(together(["VARCHAR", "BIGINT"]))
    None
    """
    found = set(types) - {'"NULL"'}
    if len(found) < 2:
        return found.pop() if found else '"NULL"'
    if found <= _TIMES:
        return "TIMESTAMP"
    decimals = [_DECIMAL.fullmatch(name) for name in found]
    floats = found & {"FLOAT", "DOUBLE"}
    whole = found & set(_WHOLE)
    if len(whole) + len(floats) + sum(map(bool, decimals)) < len(found):
        return None
    if floats:
        return "DOUBLE"
    if whole == found:
        return _whole(whole)
    scales = [(int(d[1]) - int(d[2]), int(d[2])) for d in decimals if d]
    before = max([digits for digits, _ in scales] + [_WHOLE[name][1] for name in whole])
    behind = max(scale for _, scale in scales)
    return f"DECIMAL({before + behind},{behind})" if before + behind <= 38 else None


def _whole(types: set[str]) -> str:
    widest = max(types, key=lambda name: _WHOLE[name][0])
    if all(name.startswith("U") for name in types):
        return widest
    bits = _WHOLE[widest][0]
    signed = [name for name in _WHOLE if not name.startswith("U") and _WHOLE[name][0] >= bits]
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
