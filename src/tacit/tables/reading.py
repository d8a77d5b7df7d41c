"""The declared reading of a table: a part of the identity of each question."""

# A null text, an encoding, a date format or another file changes what a cell says.  So the answer
# of one reading is never the answer of another: what differs from the default is in the description
# of the question, hence in its ledger key and in its certificate.  The default reading says
# nothing, and has the keys that it had before readings were described.
#
# The kind of a column is described where the question reads the column: to declare another one asks
# nothing else again.

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from tacit.errors import UsageError

# A code for a missing value as plain JSON: a number, a text, or the two ends of a range.
Code: TypeAlias = "int | float | str | list[int | float]"
READING = "reading"  # the name of a reading in the description of a question


@dataclass(frozen=True)
class Reading:
    """The reading of a table, where it is not the default.

    Attributes:
        options: of the whole file, by name, as plain JSON: ``null``, ``encoding``, ``path`` ...
        columns: the declared kind of each column by name, with the format of its dates.
        missing: the codes of each column, by name, that are missing values.
        layout: of a file of fixed width, where each column begins and ends, by name.

    >>> reading = Reading({"null": ["99"]}, {"age": "integer", "born": "date %d.%m.%Y"})
    >>> reading.describe(["age"])
    {'null': ['99'], 'columns': {'age': 'integer'}}
    >>> Reading(missing={"age": [98, [-9, -1]], "sex": [9]}).describe(["age"])
    {'missing': {'age': [98, [-9, -1]]}}
    """

    options: Mapping[str, object] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, list[Code]] = field(default_factory=dict)
    layout: Mapping[str, list[int]] = field(default_factory=dict)

    def at(self, location: str | None) -> Reading:
        """Return the reading of a file at a position; None for the default one."""
        if location is None:
            return self
        return replace(self, options={**self.options, "path": location})

    def describe(self, used: Iterable[str], keys: Iterable[str] = ()) -> dict[str, object]:
        """Return it as plain JSON values, of a question that reads these columns.

        Args:
            used: the columns that it reads.
            keys: those that only join the table, whose kind is not described.
        """
        used = sorted(used)
        columns = {name: self.columns[name] for name in used if name in self.columns}
        coded = sorted({*used, *keys} & self.missing.keys())
        missing = {name: self.missing[name] for name in coded}
        placed = sorted({*used, *keys} & self.layout.keys())
        layout = {name: self.layout[name] for name in placed}
        parts = {"missing": missing, "layout": layout, "columns": columns}
        return {**self.options, **{name: part for name, part in parts.items() if part}}

    def has_format(self, column: str) -> bool:
        """True if the format of the dates or times of a column is declared."""
        # Other kinds read the cells of a column of times as it is read where no one declared it.
        return " " in self.columns.get(column, "")

    @classmethod
    def read(cls, described: object) -> Reading:
        """Return the reading that :meth:`describe` described.

        Raises:
            UsageError: it is none.
        """
        spec = dict(described) if isinstance(described, Mapping) else {}
        columns, missing = spec.pop("columns", {}), spec.pop("missing", {})
        layout = spec.pop("layout", {})
        texts = isinstance(columns, Mapping) and all(
            isinstance(text, str) for pair in columns.items() for text in pair
        )
        known = all(name in _OPTIONS and _OPTIONS[name](value) for name, value in spec.items())
        parts = spec or columns or missing or layout
        known = known and _are_codes(missing) and _are_positions(layout)
        if not texts or not known or not parts:
            raise UsageError("how a table was read is not in the form that Tacit writes")
        return cls(spec, dict(columns), dict(missing), dict(layout))


def _is_texts(value: Any) -> bool:
    return bool(value) and isinstance(value, list) and all(isinstance(t, str) for t in value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_codes(missing: Any) -> bool:
    return isinstance(missing, Mapping) and all(
        isinstance(name, str) and isinstance(codes, list) and codes and all(map(_is_code, codes))
        for name, codes in missing.items()
    )


def _are_positions(layout: Any) -> bool:
    return isinstance(layout, Mapping) and all(
        isinstance(name, str)
        and isinstance(ends, list)
        and len(ends) in (2, 3)
        and all(type(end) is int for end in ends)
        for name, ends in layout.items()
    )


def _is_code(code: Any) -> bool:
    if isinstance(code, list):
        return len(code) == 2 and all(type(end) in (int, float) for end in code)
    return type(code) in (int, float, str)


_OPTIONS = {
    "header": _is_texts,
    "delimiter": _is_text,
    "quote": _is_text,
    "encoding": _is_text,
    "null": _is_texts,
    "multiline": lambda value: type(value) is int,
    "decimal": _is_text,
    "thousands": _is_text,
    "skip": lambda value: type(value) is int,
    "comment": _is_text,
    "positions": _is_text,
    "version": lambda value: type(value) is int,
    "snapshot": _is_text,
    "instant": _is_text,
    "sheet": _is_text,
    "path": _is_text,
}
DEFAULT_READING = Reading()


def texts_in(value: Any) -> set[str]:
    """Return every text in plain JSON values, among them the names of the columns it is about."""
    if isinstance(value, str):
        return {value}
    if isinstance(value, Mapping):
        value = list(value.values())
    return set().union(*map(texts_in, value)) if isinstance(value, list) else set()


def without_time_format(question: Mapping[str, Any]) -> Any:
    """Return a question as it was before a count over time described the format of its times."""
    query = question["query"]
    aggregate = query["aggregates"][0][1] if query["aggregates"] else {}
    read = query.get(READING, {})
    column = aggregate.get("column")
    if aggregate.get("kind") != "count_over_time" or column not in read.get("columns", {}):
        return question
    columns = {name: kind for name, kind in read["columns"].items() if name != column}
    rest = {name: part for name, part in read.items() if name != "columns"}
    rest |= {"columns": columns} if columns else {}
    plain = {name: part for name, part in query.items() if name != READING}
    return {**question, "query": {**plain, **({READING: rest} if rest else {})}}


def without_reading(described: Any) -> Any:
    """Return the description of a question as it was before readings were described."""
    if isinstance(described, Mapping):
        return {k: without_reading(v) for k, v in described.items() if k != READING}
    return [without_reading(one) for one in described] if isinstance(described, list) else described
