"""Views of Parquet files in which each cell is read for what it is.

*Statistics* of a file are hidden from the engine (:func:`shielded`).

*Text* whose bytes are no UTF-8 makes the reader of DuckDB refuse the whole file.  *Times in
milliseconds* that 64 bits of microseconds do not hold do so as well, and where they are in the
statistics even a question of other columns is refused.  When a query meets such a cell, the view is
replaced by one that reads these columns in another way, and the query is tried again.  All views
show the same, wherever the first one answers; the others cost a second reading of these columns.
Releases of DuckDB before 2.0 have no option to read text otherwise: there it is read as the bytes
that it is stored as.  A cell that is no text is missing there, and a far time is at an end of
:data:`_FAR`, as in the engine's own columns of milliseconds: neither moves another cell.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Iterable, Sequence

from tacit.errors import DataSourceError
from tacit.tables.engines.duckdb.columns import shield, types_of
from tacit.tables.engines.duckdb.dialect import DUCKDB
from tacit.tables.engines.duckdb.engine import DuckEngine
from tacit.tables.engines.duckdb.parquet_columns import extract_columns
from tacit.tables.engines.spill import SpillFolder

__all__ = ["holds_text", "parquet_view", "reads_marked_text"]

_PLACE = ("file_index", "file_row_number")
"""DuckDB's own names of a row's place in Parquet files."""
_MARK, _LEAVE = ", utf8_validation = 'replace'", ", utf8_validation = 'ignore'"
_ALONE = "hive_partitioning = false"
_AS_STORED = f"{_ALONE}, binary_as_string = false"
_FAR = -9_213_651_676_800_000, 9_089_348_860_800_000
"""Milliseconds since 1970 that times are read within: 290,000 years, as :meth:`Dialect.time`."""


def parquet_view(
    scan: Callable[[str], str],
    files: Sequence[str],
    engine: DuckEngine,
    millis: Collection[str] = (),
    without: Collection[str] = (),
    *,
    zoned: bool = False,
) -> str:
    """Return a view of Parquet files, replaced by another when a cell cannot be read.

    Args:
        scan: gives the SQL that reads the files, with an option more.
        files: their paths, in that order.
        engine: to make the view in.
        millis: columns of times in milliseconds.
        without: columns that are left out.
        zoned: whether a time in milliseconds with a zone stays a moment.

    Raises:
        DataSourceError: a column is named like the place of a row, and another may need it.
    """
    shown = {n: t for n, t in types_of(scan(""), engine).items() if n not in without}
    moments = {n for n in millis if zoned and shown[n] == "TIMESTAMP WITH TIME ZONE"}
    made = _Views(scan, list(files), shown, list(millis), moments, engine)
    view = engine.view(made.first())
    made.name = view
    engine.mend("InvalidInputException", made.without_text)
    if millis:
        engine.mend("ConversionException", made.without_times)
    return view


def reads_marked_text(engine: DuckEngine) -> bool:
    """Return whether the engine can be asked to put a mark for bytes that are no text."""
    known = "list_contains(parameters, 'utf8_validation')"
    asked = f"select 1 from duckdb_functions() where function_name = 'read_parquet' and {known}"
    return bool(engine.rows(asked))


def holds_text(declared: str) -> bool:
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
    ) -> None:
        self._scan, self._files, self._types, self._millis = scan, files, types, millis
        self._moments = moments
        self._engine = weakref.ref(engine)  # which nobody keeps open for this
        self._quoted = {name: DUCKDB.identifier(name) for name in types}
        self._texts: list[str] = []
        self._stored: list[str] = []
        self._copies = ""
        self.name = ""

    def first(self) -> str:
        """Return the SQL of the view that reads the files once."""
        shown = ", ".join(
            f"{self._time(n, f'epoch_us({shield(q)})', 1) if n in self._millis else shield(q)}"
            f" as {q}"
            for n, q in self._quoted.items()
        )
        return f"select {shown or '1'} from {self._scan('')}"

    def without_text(self) -> None:
        """Replace the view by one whose cells are missing where they are no text.

        The reader can be asked to put a mark for bytes that are no text, or to leave them out.  The
        two differ in length for such a cell, and for no other.
        """
        engine = self._engine()
        assert engine is not None  # it asks for this view
        if reads_marked_text(engine):
            self._texts = [name for name, kind in self._types.items() if kind == "VARCHAR"]
        else:
            written = types_of(f"read_parquet({self._listed(self._files)}, {_ALONE})", engine)
            self._store(name for name in written if holds_text(self._types.get(name, "")))
        self._replace()

    def without_times(self) -> None:
        """Replace the view by one that reads times as the whole numbers that they are stored as."""
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
        self._copies = f"read_parquet({self._listed(copies)}, {_AS_STORED})"

    def _time(self, name: str, number: str, step: int) -> str:
        """Return the time of a number of steps of so many microseconds, within 290,000 years."""
        first, last = (milli * 1000 // step for milli in _FAR)
        held = f"greatest(least({number}, {last}), {first}) * {step}"
        make = "make_timestamptz" if name in self._moments else "make_timestamp"
        return f"{make}(case when {number} is not null then {held} end)"

    def _listed(self, files: Sequence[str]) -> str:
        return f"[{', '.join(map(DUCKDB.literal, files))}]"

    def _replace(self) -> None:
        if any(name.casefold() in _PLACE for name in self._types):
            raise DataSourceError(
                "the Parquet file holds text that is not UTF-8 or a time beyond the calendar, and "
                f"a column named like one of {_PLACE}: give that column another name"
            )
        numbered = {name: f"tacit_{i + 2}" for i, name in enumerate(self._types)}
        read = {n: (q, numbered[n]) for n, q in self._quoted.items() if n not in self._stored}
        source = f"({_placed(read.values(), self._scan(_MARK if self._texts else ''))}) as m"
        if self._texts:
            texts = [read[name] for name in self._texts]
            source += f" join ({_placed(texts, self._scan(_LEAVE))}) as l on {_same('l')}"
        if self._stored:
            cells = [(f"c{i}", numbered[name]) for i, name in enumerate(self._stored)]
            source += f" join ({_placed(cells, self._copies)}) as t on {_same('t')}"
        shown = []
        for name, n in numbered.items():
            cell = shield(f"m.{n}")
            if name in self._stored:
                cell = shield(f"t.{n}")
                if name in self._millis:
                    cell = self._time(name, cell, 1000)
                elif self._types[name] == "VARCHAR":
                    cell = shield(f"decode({cell})")
            elif name in self._millis:
                cell = self._time(name, f"epoch_us({cell})", 1)
            elif name in self._texts:
                cell = f"case when {cell} = {shield(f'l.{n}')} then {cell} end"
            shown.append(f"{cell} as {self._quoted[name]}")
        engine = self._engine()
        assert engine is not None  # it asks for this view
        engine.view(f"select {', '.join(shown)} from {source}", self.name)


def _placed(columns: Collection[tuple[str, str]], scan: str) -> str:
    """Return a query of some columns, each with a name, and of the place of each row."""
    place = [f"{name} as tacit_{i}" for i, name in enumerate(_PLACE)]
    return f"select {', '.join([*place, *(f'{x} as {name}' for x, name in columns)])} from {scan}"


def _same(other: str) -> str:
    return f"m.tacit_0 = {other}.tacit_0 and m.tacit_1 = {other}.tacit_1"
