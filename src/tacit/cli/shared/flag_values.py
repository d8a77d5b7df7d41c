"""Values of flags, read, and messages in the words of flags."""

from __future__ import annotations

import csv
import datetime
import itertools
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tacit.arithmetic.exact import Number, as_fraction
from tacit.cli.shared.options import TableOptions, example, flag_of, form
from tacit.errors import UsageError, did_you_mean
from tacit.expressions.expression import Expression, col
from tacit.expressions.schema import Schema
from tacit.tables.missing_codes import ReadOptions, codes_in
from tacit.tables.plan.query import LABELS
from tacit.tables.statistics.base import TableStatistic, statistics
from tacit.tables.statistics.method import Options

# What a flag or a field of a plan spells: statistics, keys, ranges, kinds of columns.


BOUNDS = ("lower", "upper")
_MAX_KEYS = 100_000
_NAME = re.compile(r' *"([^"]*,[^"]*)"(?=,|$)|([^,]*)')
_RANGES = r"[-0-9 ,]*[0-9] *\.\.[-0-9 ,.]*"


def aggregates(
    given: Mapping[str, Any], how: Options | None = None, declared: bool = False
) -> dict[str, TableStatistic]:
    """Return what the flags ask, by label.

    >>> given = {"count": True, "mean": ["age:0:99"]}
    >>> {label: str(a) for label, a in aggregates(given).items()}
    {'count': 'count()', 'mean_age': 'mean(age, 0, 99)'}
    """
    options = how or Options()
    choose = [known.kind for known in statistics() if known.methods]
    if options and not any(given.get(name) for name in choose):
        raise UsageError(
            f"--{next(iter(options))} says how {', '.join(choose[:-1])} or {choose[-1]} is "
            "answered, and none is asked"
        )
    made: list[TableStatistic] = []
    for of in statistics():
        if of.fields:
            for text in given.get(of.kind) or ():
                with _named(f"{flag_of(of)} {text}"):
                    made.append(_of_flag(of, text, options, declared))
        elif given.get(of.kind):
            made.append(of.make())
    labels = [each.label() for each in made]
    twice = {label for label in labels if labels.count(label) > 1}
    if twice:
        raise UsageError(
            f"two answers would both be called {sorted(twice)[0]!r}; name them in a plan "
            "(tacit release --plan plan.toml)"
        )
    return dict(zip(labels, made, strict=True))


@contextmanager
def _named(flag: str) -> Iterator[None]:
    """Begin an error with the flag as it was typed, unless it names it already."""
    try:
        yield
    except UsageError as error:
        if str(error).startswith(flag):
            raise
        raise UsageError(f"{flag}: {error}") from None


def _of_flag(
    of: type[TableStatistic], text: str, options: Options, declared: bool
) -> TableStatistic:
    if "bounds" in of.fields:
        return _of_columns(of, text, declared)
    short = tuple(field for field in of.fields if field not in (*BOUNDS, "keys"))
    fields = short if declared and text.count(":") == len(short) - 1 else of.fields
    parts = text.rsplit(":", len(fields) - 1) if len(fields) > 1 else [text]
    if len(parts) < len(fields) or not all(part.strip() for part in parts):
        raise _malformed(of, text)
    read = {
        "edges": lambda part: numbers(part, "an edge"),
        "percentages": lambda part: numbers(part, "a percentile"),
        "keys": _categories,
    }
    given = [read.get(field, str)(part) for field, part in zip(fields, parts, strict=True)]
    made: TableStatistic = of.make(*given, **(options if of.methods else {}))
    return made


def _categories(text: str) -> list[Any]:
    parts = [part.strip() for part in next(csv.reader([text], skipinitialspace=True))]
    return [_typed(part, _key_kind("undeclared", parts), "a category") for part in parts]


def of_people(texts: Sequence[str]) -> dict[str, TableStatistic]:
    """Return what is made of a person's rows, by label.

    >>> {n: str(a) for n, a in of_people(["n=count", "total=sum:cost:0:5000"]).items()}
    {'n': 'count()', 'total': 'sum(cost, 0, 5000)'}
    """
    known = {each.kind: each for each in statistics()}
    totals: dict[str, TableStatistic] = {}
    for text in texts:
        label, sign, statistic = text.partition("=")
        name, _, rest = statistic.partition(":")
        label, of = label.strip(), known.get(name.strip())
        if not sign or not label or of is None or bool(rest) is not bool(of.fields):
            raise UsageError(
                f"--per-person {text} is incomplete: write NAME=STATISTIC:COL:LOW:HIGH, such as "
                "total=sum:cost:0:5000, or n=count"
            )
        if label in totals:
            raise UsageError(f"--per-person names {label!r} twice")
        with _named(f"--per-person {text}"):
            totals[label] = _of_flag(of, rest, Options(), True) if rest else of.make()
    return totals


def _malformed(of: type[TableStatistic], text: str) -> UsageError:
    flag = flag_of(of)
    return UsageError(
        f"{flag} {text} is incomplete: write {flag} {form(of.fields)}, such as {flag} "
        f"{example(of.fields, of.lowest)}. Bounds and edges are public: do not read them off the "
        "private data"
    )


def _of_columns(of: type[TableStatistic], text: str, declared: bool) -> TableStatistic:
    """Read several columns, each with its bounds or, where they may be declared, without."""
    names: list[str] = []
    bounds: dict[str, tuple[Number, Number]] = {}
    for part in text.split(","):
        if part in of.bare.values() and names:
            names.append(part)
            continue
        name, *ends = part.rsplit(":", 2) if part.count(":") > 1 or not declared else [part]
        if len(ends) not in (0, 2) or not all(each.strip() for each in (name, *ends)):
            raise _malformed(of, text)
        if not ends and not declared:
            raise _malformed(of, text)
        names.append(name)
        if ends:
            bounds[name] = ends[0], ends[1]
    if len(names) < 2 or len(set(names)) < len(names):
        raise _malformed(of, text)
    from tacit.tables.statistics.covariance_and_regression import OfColumns

    assert issubclass(of, OfColumns)
    return of.of(names, bounds)


def amount(text: str | None) -> str | dict[str, Number] | None:
    """Return an amount as it is, or for ``label=weight,...`` the weights by label.

    >>> amount("0.5"), amount("count=1,mean_age=3")
    ('0.5', {'count': '1', 'mean_age': '3'})
    """
    return labelled(text, "a weight") if text and "=" in text else text


def labelled(text: str, name: str) -> dict[str, Number]:
    """Return the numbers of ``label=number,...``, by label."""
    values_by_label: dict[str, Number] = {}
    for part in text.split(","):
        label, sign, value = (each.strip() for each in part.rpartition("="))
        if not sign or not label or label in values_by_label:
            raise UsageError(f"{name} is like count=1,mean_age=3, once for each answer, not {text}")
        as_fraction(value, f"{name} of {label!r}")
        values_by_label[label] = value
    return values_by_label


def numbers(text: str, name: str) -> list[Number]:
    """Return numbers that commas part.

    >>> numbers("1,2.5, 1/3", "a value")
    ['1', '2.5', '1/3']
    """
    parts: list[Number] = [part.strip() for part in text.split(",")]
    for part in parts:
        as_fraction(part, name)
    return parts


def integer_range(text: str, name: str) -> list[int]:
    """Return the integers of ``3``, ``1..4`` or ``1,2,5``.

    >>> integer_range("1..4", "distance"), integer_range("1,3", "distance")
    ([1, 2, 3, 4], [1, 3])
    """
    integers: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(-?\d+)(?:\s*\.\.\s*(-?\d+))?\s*", part)
        if match is None:
            raise UsageError(f"{name} is whole numbers such as 1, 1..4 or 1,2,5, not {text!r}")
        first, last = (int(as_fraction(end, name)) for end in (match[1], match[2] or match[1]))
        if last < first or last - first >= _MAX_KEYS:
            raise UsageError(
                f"{name} {part.strip()!r} is reversed or too long: write it as 1..4, with at most "
                f"{_MAX_KEYS} numbers"
            )
        integers += range(first, last + 1)
    return integers


def column_names(texts: Sequence[str]) -> tuple[str, ...]:
    """Return columns that commas part; a space before the first one is part of its name.

    In quotes a name may have a comma; quotes around other names are part of them.

    >>> column_names(["site, year", " Ward", 'id, "last, first"'])
    ('site', 'year', ' Ward', 'id', 'last, first')
    """
    names = []
    for text in texts:
        place = 0
        while place <= len(text):
            part: Any = _NAME.match(text, place)
            names.append(part[1] or (part[2].lstrip() if place else part[2]))
            place = part.end() + 1
    return tuple(names)


def column_types(texts: Sequence[str]) -> dict[str, str] | None:
    """Return the kinds of columns that ``column=kind`` texts declare.

    >>> column_types(["age=integer", "name=text,zip=text"])
    {'age': 'integer', 'name': 'text', 'zip': 'text'}
    """
    types = {}
    for part in column_names(texts):
        column, sign, kind = part.rpartition("=")
        if not sign or not column:
            raise UsageError(f"--types {part} is incomplete: write --types column=kind")
        types[column] = kind.strip()
    return types or None


def cuts(texts: Sequence[str]) -> dict[str, Expression]:
    """Return the columns that ``column:edge,edge,...`` texts make, by name.

    >>> cuts(["age:0,18,65"])
    {'age_group': age.cut([0.0, 18.0, 65.0], ['[0, 18)', '[18, 65]'])}
    """
    groups = {}
    for text in texts:
        column, sign, edges = text.rpartition(":")
        if not sign or not column:
            raise UsageError(f"--cut {text} is incomplete: write --cut age:0,18,65")
        with _named(f"--cut {text}"):
            groups[f"{column}_group"] = col(column).cut(numbers(edges, "an edge"))
    return groups


def typed_keys(
    by: Sequence[str], keys: Sequence[str], keys_file: str | None, schema: Schema, source: str
) -> Any:
    """Return public keys with the kinds of their columns; None where none are given."""
    # keys: ``a,b,c`` for one column; ``column=a,b,c``, once for each of several columns.
    # source: the path of the private table, which must not be the file of keys.
    if keys and keys_file:
        raise UsageError("give --keys or --keys-file, not both")
    if keys_file:
        rows = _key_rows(keys_file, by, source)
        columns = zip(*rows, strict=True) if rows else [()] * len(by)
        kinds = [
            _key_kind(schema.column(name).kind, parts)
            for name, parts in zip(by, columns, strict=True)
        ]
        return list(
            dict.fromkeys(
                tuple(
                    _typed(text, kind, name)
                    for text, kind, name in zip(row, kinds, by, strict=True)
                )
                for row in rows
            )
        )
    if not keys:
        return None
    keys_by_column: dict[str, Any] = {}
    for text in keys:
        name, sign, listed = text.partition("=")
        name = name if name in by else name.strip()
        if not sign or name not in by:
            if len(by) > 1:
                first, second = (LABELS,) * 2 if text.strip() == LABELS else ("a,b", "c,d")
                raise UsageError(
                    f"for several columns write --keys once for each: --keys {by[0]}={first} "
                    f"--keys {by[1]}={second}, not {text!r}"
                )
            name, listed = by[0], text
        if listed.strip() == LABELS:  # a value of this name is written in double quotes
            keys_by_column[name] = LABELS
            continue
        if keys_by_column.get(name) == LABELS:
            raise UsageError(f"the keys of {name!r} are its labels, or a list: not both")
        kind = schema.column(name).kind
        keys_by_column.setdefault(name, []).extend(_listed_keys(listed, kind, name))
    return keys_by_column


def _listed_keys(text: str, kind: str, name: str) -> list[Any]:
    if kind in ("integer", "float", "decimal", "undeclared") and re.fullmatch(_RANGES, text):
        return list(integer_range(text, f"a key of {name}"))
    parts = next(csv.reader([text], skipinitialspace=True))
    _check_separated(text, parts, name)
    if kind in ("text", "boolean") and any(re.fullmatch(_RANGES, part) for part in parts):
        raise UsageError(
            f"{name!r} holds {'text' if kind == 'text' else 'true or false'}, and {text!r} is a "
            "range of whole numbers; list the keys, such as --keys a,b,c, or write them to a file "
            "for --keys-file"
        )
    return [_typed(part, _key_kind(kind, parts), name) for part in parts]


def _check_separated(text: str, parts: Sequence[str], name: str) -> None:
    """Raise for a list in the syntax of another language: each part would be a group of no rows."""
    # A part in double quotes may be any text: what is refused is written without any.
    unbalanced = any(
        part.count(a) != part.count(b) for part in parts for a, b in ("()", "[]", "{}")
    )
    quoted = any(len(part) > 1 and part[0] == part[-1] == "'" for part in parts)
    blank = len(parts) > 1 and not all(parts)
    if '"' not in text and (unbalanced or quoted or blank or text.startswith(f"{name}:")):
        raise UsageError(
            f"the keys of {name!r} are values that commas part, --keys a,b,c or --keys 1..3, not "
            f"{text!r}: leave brackets and single quotes out, or write a value that has them, or "
            """an empty one, in double quotes, --keys '"[0, 10)","[10, 20)"'"""
        )


def _key_kind(kind: str, parts: Sequence[str]) -> str:
    """Return the kind of keys; of an undeclared column, integers or text."""
    if kind in ("float", "decimal"):
        return "integer"  # the only keys that a column of numbers has
    if kind != "undeclared":
        return kind
    return "integer" if all(re.fullmatch("0|-?[1-9][0-9]{0,17}", p) for p in parts) else "text"


def _typed(text: str, kind: str, name: str) -> Any:
    """Read a key as its column's kind."""
    try:
        if kind == "integer":
            return int(text)
        if kind == "date":
            return datetime.date.fromisoformat(text)
    except ValueError:
        like = "whole numbers" if kind == "integer" else "dates such as 2024-12-31"
        raise UsageError(f"{name!r} holds {like}, and the key {text!r} does not fit") from None
    if kind == "boolean":
        if text.lower() not in ("true", "false"):
            raise UsageError(f"{name!r} holds true or false, and the key {text!r} is neither")
        return text.lower() == "true"
    return text


def _key_rows(path: str, by: Sequence[str], source: str) -> list[list[str]]:
    file, table = os.path.expanduser(path), os.path.expanduser(source)
    if os.path.exists(file) and os.path.exists(table) and os.path.samefile(file, table):
        raise UsageError(
            f"{path} is the private table itself: its values are not public keys. Give a list that "
            "was made without looking at it, or leave the keys out and give a delta"
        )
    try:
        with open(file, encoding="utf-8-sig", newline="") as lines:
            head, *rows = [row for row in csv.reader(lines) if row]
    except (OSError, UnicodeDecodeError, csv.Error):
        raise UsageError(f"the keys file {path} cannot be read: it must be a CSV file") from None
    except ValueError:
        raise UsageError(f"the keys file {path} is empty") from None
    for name in by:
        if name not in head:
            raise UsageError(f"{path} has no column {name!r}; {did_you_mean(name, head)}")
    if any(len(row) != len(head) for row in rows):
        raise UsageError(f"{path}: a line has more or fewer fields than the first")
    return [[row[head.index(name)] for name in by] for row in rows]


# Options of the reading of a table, from flags and the [source] of a plan.


def codes_by_column(texts: Sequence[str]) -> dict[str, list[Any]] | None:
    """Return the codes that ``column=code,...`` texts declare as missing.

    >>> codes_by_column(["age=98,99", "income=-9..-1", 'answer=refused,"99"'])
    {'age': [98, 99], 'income': [[-9, -1]], 'answer': ['refused', '99']}
    """
    codes: dict[str, list[Any]] = {}
    for text in texts:
        column, sign, listed = text.partition("=")
        if not sign or not column.strip() or not listed.strip():
            raise UsageError(f"--missing {text} is incomplete: write --missing age=98,99")
        try:
            codes.setdefault(column.strip(), []).extend(codes_in(listed))
        except UsageError as error:
            raise UsageError(f"--missing {text}: {error}") from None
    return codes or None


def layout_in(path: str) -> list[dict[str, Any]]:
    """Return the layout that a CSV file lists: a column in each line."""
    try:
        with open(Path(path).expanduser(), encoding="utf-8-sig", newline="") as file:
            lines = list(itertools.islice(csv.DictReader(file, skipinitialspace=True), 10_001))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        failure = getattr(error, "strerror", None) or "it is not CSV in UTF-8"
        raise UsageError(f"--layout {path} cannot be read: {failure}") from None
    columns = []
    for number, line in enumerate(lines, 2):
        if None in line or None in line.values():
            raise UsageError(f"--layout {path}: line {number} has other fields than the first")
        fields: dict[str, Any] = {k.strip(): v.strip() for k, v in line.items() if v.strip()}
        if "type" in fields:
            fields["kind"] = fields.pop("type")
        for name in ("start", "width", "end", "decimals"):
            if name in fields:
                if not re.fullmatch("[0-9]{1,9}", fields[name]):
                    raise UsageError(f"--layout {path}: {name} of line {number} is a whole number")
                fields[name] = int(fields[name])
        columns.append(fields)
    return columns


def csv_of(source: TableOptions) -> ReadOptions:
    header: bool | list[str] | None = None
    if source.header is not None:
        header = [name.strip() for name in source.header.split(",")]
        header = {"no": False, "yes": True}.get(source.header, header)
    fields = {
        "types": column_types(source.types or ()),
        "header": header,
        "delimiter": "\t" if source.delimiter in ("tab", "\\t") else source.delimiter,
        "quote": source.quote,
        "encoding": source.encoding,
        "null": source.null or None,
        "date_format": source.date_format,
        "time_format": source.time_format,
        "multiline": source.multiline,
        "decimal": source.decimal,
        "thousands": source.thousands,
        "skip": source.skip,
        "comment": source.comment,
        "version": source.version,
        "snapshot": source.snapshot,
        "instant": source.instant,
        "sheet": source.sheet,
        "layout": None if source.layout is None else layout_in(source.layout),
        "positions": source.positions,
        "codebook": source.codebook,
        "missing": codes_by_column(source.codes or ()),
    }
    return _given_fields(fields)


def csv_of_plan(source: Mapping[str, Any]) -> ReadOptions:
    """Return the options of a plan, without those left out."""
    return _given_fields({name: source.get(name) for name in ReadOptions.__annotations__})


def _given_fields(fields: Mapping[str, Any]) -> ReadOptions:
    given: Any = {name: value for name, value in fields.items() if value is not None}
    return given  # type: ignore[no-any-return]


# Keys from a list or a file: read once the kinds of the grouping columns are known.


def keys_reader(by: Sequence[str], keys: Sequence[str], keys_file: str | None, path: str) -> Any:
    """Return how the keys are read once the kinds of the columns are known."""

    def read(schema: Schema) -> Any:
        for name in by:
            schema.column(name)
        return typed_keys(by, keys, keys_file, schema, path)

    return read
