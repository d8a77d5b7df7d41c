"""Text in Parquet files whose bytes are no UTF-8.

The reader of DuckDB refuses a whole file for one such cell.  Here such a cell is *missing*, and
moves no other one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from weakref import proxy

from tacit.errors import DataSourceError
from tacit.tables.engines.duckdb.columns import types_of
from tacit.tables.engines.duckdb.dialect import DUCKDB
from tacit.tables.engines.duckdb.engine import DuckEngine

__all__ = ["text_view"]

_PLACE = ("file_index", "file_row_number")
"""DuckDB's own names of a row's place in Parquet files."""


def text_view(scan: Callable[[str], str], engine: DuckEngine) -> str:
    """Return a view of Parquet files, made another when a cell is found to be no text.

    Both views show the same, wherever the first one answers; the other one costs a second reading
    of the text.

    Args:
        scan: gives the SQL that reads the files, with an option more.
        engine: to make the view in.
    """
    view = engine.view(f"select * from {scan('')}")
    engine.mend(partial(_mend, view, scan, proxy(engine)))  # which nobody keeps open for this
    return view


def _mend(view: str, scan: Callable[[str], str], engine: DuckEngine) -> None:
    """Make the view one whose cells of text are missing where they are no text.

    The reader can be asked to put a mark for bytes that are no text, or to leave them out.  The two
    differ in length for such a cell, and for no other.
    """
    types = types_of(view, engine)
    if any(name.casefold() in _PLACE for name in types):
        raise DataSourceError(
            "the Parquet file holds text that is not UTF-8, and a column named like one of "
            f"{_PLACE}: give that column another name"
        )
    quoted = {name: DUCKDB.identifier(name) for name in types}
    texts = [quoted[name] for name, kind in types.items() if kind == "VARCHAR"]
    place = "file_index as tacit_0, file_row_number as tacit_1"
    numbered = {name: f"tacit_{i + 2}" for i, name in enumerate(quoted.values())}
    marked = _named(numbered, list(numbered), place)
    left = _named(numbered, texts, place)
    shown = ", ".join(
        f"case when m.{n} = l.{n} then m.{n} end as {name}" if name in texts else f"m.{n} as {name}"
        for name, n in numbered.items()
    )
    engine.view(
        f"select {shown} from (select {marked} from {scan(_MARK)}) as m "
        f"join (select {left} from {scan(_LEAVE)}) as l "
        "on m.tacit_0 = l.tacit_0 and m.tacit_1 = l.tacit_1",
        view,
    )


_MARK, _LEAVE = ", utf8_validation = 'replace'", ", utf8_validation = 'ignore'"


def _named(numbered: dict[str, str], chosen: list[str], place: str) -> str:
    return ", ".join([place, *(f"{name} as {numbered[name]}" for name in chosen)])
