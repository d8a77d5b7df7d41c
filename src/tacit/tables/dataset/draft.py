"""A first declaration of a table, from the names and declared types of its columns alone.

No row is read: what a draft says is as public as the first line of the file.  Wherever a person
must decide there is a question mark, and the question is explained beside it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Unpack

from tacit.expressions.schema import Column
from tacit.tables.dataset.declaration import Dataset
from tacit.tables.dataset.fields import Declared
from tacit.tables.dataset.toml_text import toml_of
from tacit.tables.engines.csv.format import CsvOptions
from tacit.tables.engines.files import typed
from tacit.tables.open_source import open_source

__all__ = ["draft", "draft_text"]

_PERSON = re.compile(
    r"(person|patient|user|customer|client|member|subject|employee|household|people|participant)"
    r"(_?(id|no|nr|number|key|code))?|p?id|ssn|uid",
    re.IGNORECASE,
)
_NUMBERS = ("integer", "float", "decimal")
_EXPLAINED = {
    "unit": """\
# Whom does an answer protect?  The column that names a person (or a household), and the most rows
# of one person that count: extra rows are down-weighted, more rows mean more noise.
# groups: the most groups that one person is counted in, such as 1 site: as many as rows if left
#   out, and the noise of counts of people is then that many times as large.
# Where every row is another person: unit = "row".""",
    "budget": """\
# What all releases together may reveal.  With an epsilon of 1, someone who is 50% sure of a fact
# about one person could become at most 73.1% sure.""",
    "columns": """\
# kind: integer, float, text, boolean, date or timestamp; a cell that is none counts as missing.
#   An identifier or a code is text, even if it has digits only: 01001 and 1001 are one integer,
#   250.0 and 250.00 one float.
# bounds: the least and greatest number that is possible, from knowledge of the subject, never from
#   the data: a bound that is read off the data reveals a person.  Values beyond are clamped.
# keys: all categories that are possible, whether or not anybody has them.
# Remove what you do not need: a column without bounds or keys can still be asked with its own.""",
}


def draft(
    source: str | os.PathLike[str],
    table: str | None = None,
    *,
    name: str | None = None,
    **csv: Unpack[CsvOptions],
) -> Dataset:
    """Return a first declaration of a table, with a question mark wherever a person must decide.

    It is made from the names and declared types of the columns; no row is read.

    Args:
        source: a path to a CSV or Parquet file, a folder or a glob; the address of a PostgreSQL
            database or the path of a DuckDB file, with ``table``.
        table: the table's name within a database.
        name: the public name of the data set; by default that of the file or table.
        **csv: how a CSV file is written.

    Raises:
        DataSourceError: there is no such table.
    """
    place = typed(source)
    with open_source(place, table, **csv) as opened:
        columns = list(opened.schema.values())
        plain = re.sub(r"[^\w-]+", "_", (table or opened.name).rpartition("/")[2].split(".")[0])
    chosen = name or plain.strip("_") or "data"
    where = {"url": place} if "://" in place and table else {"path": place}
    written: dict[str, Any] = {option: said for option, said in csv.items() if option != "types"}
    fields: dict[str, Declared] = {
        **where,
        **({"table": table} if table else {}),
        **{option: said for option, said in written.items() if said is not None},
        "columns": {column.name: _column(column) for column in columns if not column.problem},
    }
    return Dataset(chosen, _unit(columns), {chosen: fields}, {"epsilon": "?"}, folder=Path())


def draft_text(dataset: Dataset, folder: Path) -> str:
    """Return a draft as the text of a file in a folder, each question explained."""
    fields: Any = dataset.to_fields(Path(os.path.relpath(dataset.folder, folder)))
    for table in fields["tables"].values():
        if os.path.isabs(table.get("path", "")):
            table["path"] = os.path.relpath(table["path"], folder)
    lines = [
        "# A declaration of a data set: everything in it is public.",
        '# Decide wherever a "?" stands, then run: tacit check on this file.',
        "",
    ]
    for line in toml_of(fields).splitlines():
        word = line.partition(" ")[0]
        if line.endswith(".columns]"):
            lines.append(_EXPLAINED["columns"])
        elif word in _EXPLAINED:
            lines += ["", _EXPLAINED[word]]
        lines.append(line)
    return "\n".join(lines) + "\n"


def _unit(columns: list[Column]) -> dict[str, Any]:
    """Guess the person column by its name; a person decides the rest."""
    named = [column.name for column in columns if _PERSON.fullmatch(column.name)]
    return {"person": named[0] if named else "?", "rows": "?", "groups": "?"}


def _column(column: Column) -> dict[str, Any]:
    """Return what is known of a column, and what a person must decide."""
    if column.kind == "undeclared":
        return {"kind": "?"}
    known: dict[str, Any] = {"kind": column.kind} if column.kind not in ("missing", "other") else {}
    if _PERSON.fullmatch(column.name):
        return known
    if column.kind in _NUMBERS:
        return {**known, "bounds": "?"}
    return {**known, "keys": "?"} if column.kind == "text" else known
