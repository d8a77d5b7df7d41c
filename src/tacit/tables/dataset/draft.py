"""Drafts of declarations, and the shape of the tables that one declares."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Unpack

from tacit.arithmetic.exact import as_fraction
from tacit.errors import UsageError
from tacit.expressions.schema import Column, Schema
from tacit.tables.codebook import CodebookColumn
from tacit.tables.dataset.declaration import Dataset, keys_of, open_table
from tacit.tables.dataset.table import Declared, toml_of
from tacit.tables.engines.files import typed
from tacit.tables.missing_codes import ReadOptions, is_code, missing_codes
from tacit.tables.open_source import codebook_of, open_source
from tacit.tables.plan.parse_question import schema_from
from tacit.tables.plan.query import Unit, plain_key
from tacit.tables.privacy_unit import OneRowEach, PersonUnit, person_or_none
from tacit.tables.reading import DEFAULT_READING, Reading

# What is public of a table, as one who may not open it learns it: enough to write a question.
#
# A service says it of each table of a data set, as plain JSON values, and a client reads it back:
# the kinds of the columns, whom the table protects, the declared bounds and keys.  All of it comes
# from the declaration and from the types of the table; no row is read.


_PARSE_ERRORS = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)


@dataclass(frozen=True)
class TableShape:
    """The public shape of one table.

    >>> schema = schema_from([["person", "integer"]])
    >>> shape = TableShape("visits", schema, PersonUnit("person", 5, 5), ("person",))
    >>> TableShape.from_json("visits", shape.to_json()) == shape
    True
    """

    name: str  # in the data set
    schema: Schema  # its columns and their kinds
    unit: Unit | None  # whom an answer about it protects; None of a public table
    # the columns that name a row of a public table; the person column of a protected one
    key: tuple[str, ...] = ()
    size: int | None = None  # about how many people it has, where that is public
    # the declared bounds of columns, by name
    bounds: Mapping[str, tuple[Fraction, Fraction]] = field(default_factory=dict)
    # the declared categories of columns, by name
    keys: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    # the meaning and the unit of columns, by name
    descriptions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    reading: Reading = DEFAULT_READING  # how it is read, where that is not the default

    @property
    def public(self) -> bool:
        """True if everyone may know its rows."""
        return self.unit is None

    def to_json(self) -> dict[str, Any]:
        """Return the shape as plain JSON values; bounds are text, because they are exact."""
        reading = self.reading.describe(self.schema)
        return {
            **({"reading": reading} if reading else {}),
            "public": self.public,
            "unit": None if self.unit is None else self.unit.describe(),
            "key": list(self.key),
            "size": self.size,
            "columns": [self._column(name, kind) for name, kind in self.schema.kinds()],
        }

    def _column(self, name: str, kind: str) -> dict[str, Any]:
        bounds, keys, descriptions = (
            self.bounds.get(name),
            self.keys.get(name),
            self.descriptions.get(name, {}),
        )
        return {
            "name": name,
            "kind": kind,
            "bounds": None if bounds is None else [str(end) for end in bounds],
            "keys": None if keys is None else [plain_key(key) for key in keys],
            "meaning": descriptions.get("meaning"),
            "unit": descriptions.get("unit"),
        }

    @classmethod
    def from_json(cls, name: str, spec: Mapping[str, Any]) -> TableShape:
        """Return the shape that :meth:`to_json` described."""
        try:
            return cls._read(name, spec)
        except _PARSE_ERRORS:
            raise UsageError(
                f"the description of the table {name!r} is not in the form that Tacit writes"
            ) from None

    @classmethod
    def _read(cls, name: str, spec: Mapping[str, Any]) -> TableShape:
        columns, unit = spec["columns"], spec["unit"]
        read: Unit | None = None
        if unit is not None:
            whole = unit["rows"], unit["groups"]
            person = person_or_none(unit["column"])
            read = OneRowEach() if person is None else PersonUnit(person, *whole)
        descriptions = {
            c["name"]: {n: c[n] for n in ("meaning", "unit") if c.get(n)} for c in columns
        }
        return cls(
            name,
            schema_from([[column["name"], column["kind"]] for column in columns]),
            read,
            tuple(map(str, spec["key"])),
            spec.get("size"),
            {c["name"]: _ends(c["bounds"]) for c in columns if c.get("bounds") is not None},
            {c["name"]: tuple(c["keys"]) for c in columns if c.get("keys") is not None},
            {column: words for column, words in descriptions.items() if words},
            Reading.read(spec["reading"]) if "reading" in spec else DEFAULT_READING,
        )


def _ends(bounds: Sequence[str]) -> tuple[Fraction, Fraction]:
    low, high = map(as_fraction, bounds)
    return low, high


def shapes_of(dataset: Dataset) -> dict[str, TableShape]:
    """Return what is public of each table of a data set: opens each of them, and reads no row."""
    dataset.refuse_open()
    return {name: _shape(dataset, name) for name in dataset.tables}


def _shape(dataset: Dataset, name: str) -> TableShape:
    spec = dataset.tables[name]
    with open_table(spec, name, dataset.folder).source as source:
        schema, reading = Schema(list(source.schema.values())), source.reading
        keys = keys_of(spec, source)
    unit = dataset.unit_of(name) if name in dataset.protected else None
    columns = spec.columns.items()
    return TableShape(
        name,
        schema,
        unit,
        tuple(spec.key) if unit is None else unit.columns,
        spec.size if isinstance(spec.size, int) else None,
        {c: one.bounds for c, one in columns if isinstance(one.bounds, tuple)},
        keys,
        {c: one.description for c, one in columns if one.description},
        reading,
    )


# A first declaration of a table, from the names and declared types of its columns alone.
#
# No row is read: what a draft says is as public as the first line of the file.  Wherever a person
# must decide there is a question mark, and the question is explained next to it.


_PERSON = re.compile(
    r"(person|patient|user|customer|client|member|subject|employee|household|people|participant)"
    r"(_?(id|no|nr|number|key|code))?|p?id|ssn|uid",
    re.IGNORECASE,
)
# Names of two columns that name a person together: of IPUMS, of Eurostat's and of DHS's files.
_PAIRS = (("serial", "pernum"), ("hhid", "pid"), ("hhid", "hvidx"), ("caseid", "hvidx"))
_NUMBERS = ("integer", "float", "decimal")
_EXPLAINED = {
    "unit": """\
# Whom does an answer protect?  The column that names a person (or a household), or several that do
# together, person = ["household", "number"]; and the most rows of one person that count: extra rows
# are down-weighted, more rows mean more noise.
# groups: the most groups that one person is counted in, such as 1 site: as many as rows if left
#   out, and the noise of counts of people is then that many times as large.
# Where every row is another person: unit = "row".""",
    "budget": """\
# What all releases together may reveal.  With an epsilon of 1, someone who is 50% sure of a fact
# about one person could become at most 73.1% sure.""",
    "missing": """\
# Codes that stand for no answer, by column: numbers, texts, and ranges with both ends.
# missing = { age = [98, 99], income = [[-9, -1]], answer = ["refused"] }
""",
    "columns": """\
# kind: integer, float, text, boolean, date or timestamp; a cell that is none counts as missing.
#   An identifier or a code is text, even if it has digits only: 01001 and 1001 are one integer,
#   250.0 and 250.00 one float.
# bounds: the least and greatest number that is possible, from knowledge of the subject, never from
#   the data: a bound that is read off the data reveals a person.  Values beyond are clamped.
# keys: all categories that are possible, whether or not anybody has them; or "labels", the values
#   that have a label in the file, if its labels are those of the questionnaire: never if they were
#   made of the data, as encode does in Stata.
# Remove what you do not need: a column without bounds or keys can still be asked with its own.""",
}

_SIGNS = """\
# The signs of numbers in this file, where they are not those of 1234.5; see tacit check.
# decimal = ","
# thousands = "."
"""


def draft(
    source: str | os.PathLike[str],
    table: str | None = None,
    *,
    name: str | None = None,
    **read: Unpack[ReadOptions],
) -> Dataset:
    """Return a first declaration of a table, with a question mark wherever a person must decide."""
    # It is made from the names and declared types of the columns; no row is read.
    #
    # source: a path to a CSV or Parquet file, a folder or a glob; the address of a PostgreSQL
    #   database or the path of a DuckDB file, with ``table``.
    location = typed(source)
    with open_source(location, table, **read) as opened:
        columns, labels = list(opened.schema.values()), opened.labels
        plain = re.sub(r"[^\w-]+", "_", (table or opened.name).rpartition("/")[2].split(".")[0])
    chosen = name or plain.strip("_") or "data"
    where = {"url": location} if "://" in location and table else {"path": location}
    codes = missing_codes(read.get("missing"))
    written: dict[str, Any] = {**read, "types": None, "missing": codes or None}
    book = codebook_of(location, written)
    written |= {"codebook": None if book is None else book.path}
    said = {} if book is None else {column.name: column for column in book.columns}
    unit = _unit(columns)
    person = unit["person"] if isinstance(unit["person"], list) else [unit["person"]]
    fields: dict[str, Declared] = {
        **where,
        **({"table": table} if table else {}),
        **{option: spec for option, spec in written.items() if spec is not None},
        "columns": {
            c.name: _column(c, c.name in labels, c.name in person) | _said(said.get(c.name))
            for c in columns
            if not c.problem
        },
    }
    return Dataset(chosen, unit, {chosen: fields}, {"epsilon": "?"}, folder=Path())


def draft_text(dataset: Dataset, folder: Path) -> str:
    """Return a draft as the text of a file in a folder, each question explained."""
    fields: Any = dataset.to_fields(Path(os.path.relpath(dataset.folder, folder)))
    for table in fields["tables"].values():
        for path in ("path", "codebook"):
            if os.path.isabs(table.get(path, "")):
                table[path] = os.path.relpath(table[path], folder)
    toml = toml_of(fields)
    lines = [
        "# A declaration of a data set: everything in it is public.",
        '# Decide wherever a "?" stands, then run: tacit check on this file.',
        "",
    ]
    for line in toml.splitlines():
        word = line.partition(" ")[0]
        if line.endswith(".columns]"):
            lines += [] if "\nmissing = " in toml else [_EXPLAINED["missing"]]
            lines += [_SIGNS] if '{ kind = "?" }' in toml and "\ndecimal = " not in toml else []
            lines.append(_EXPLAINED["columns"])
        elif word in _EXPLAINED:
            lines += ["", _EXPLAINED[word]]
        lines.append(line)
    return "\n".join(lines) + "\n"


def _unit(columns: list[Column]) -> dict[str, Any]:
    """Guess the person column by its name; a person decides the rest."""
    named = [column.name for column in columns if _PERSON.fullmatch(column.name)]
    several = [
        [column.name for column in columns if column.name.casefold() in pair] for pair in _PAIRS
    ]
    pairs = [pair for pair in several if len(pair) == 2]
    guess = named[0] if named else pairs[0] if pairs else "?"
    return {"person": guess, "rows": "?", "groups": "?"}


def _said(column: CodebookColumn | None) -> dict[str, Any]:
    """Return what a codebook declares of a column: what is valid, never what occurs."""
    if column is None:
        return {}
    known: dict[str, Any] = {"kind": column.kind} if column.kind == "timestamp" else {}
    known |= {"meaning": column.meaning} if column.meaning else {}
    person = _PERSON.fullmatch(column.name) is not None
    if column.bounds is not None and not (column.keys or person):
        known["bounds"] = list(column.bounds)
    keys = [key for key in column.keys if not is_code(key, column.missing)]
    return known | ({"keys": keys} if keys and not column.labels else {})


def _column(column: Column, is_labelled: bool, is_person: bool) -> dict[str, Any]:
    """Return what is known of a column, and what a person must decide."""
    if column.kind == "undeclared":
        return {"kind": "?"}
    known: dict[str, Any] = {"kind": column.kind} if column.kind not in ("missing", "other") else {}
    if is_person or _PERSON.fullmatch(column.name):
        return known
    if is_labelled:  # a person decides whether its labels are those of the questionnaire
        return {**known, "keys": "?"}
    if column.kind in _NUMBERS:
        return {**known, "bounds": "?"}
    return {**known, "keys": "?"} if column.kind == "text" else known
