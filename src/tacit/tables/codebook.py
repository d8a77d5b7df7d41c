"""Codebooks: what a DDI codebook, a Table Schema or CSVW metadata declare of a table's columns."""

# A codebook is public: it is read whole, and no row of the table is.  What it declares is what a
# user may declare: kinds, codes for missing values, labels, where fields are in a line, and the
# range of values that are valid.  What it reports of the rows (frequencies, means, the least and
# the greatest value that occur) is never read.
#
# XML is read by expat with no entity but the five of XML itself, and nothing outside of the file.

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, cast
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from tacit.errors import DataSourceError, UsageError, did_you_mean
from tacit.expressions.dialect import is_date
from tacit.expressions.schema import Schema
from tacit.outside import read_json_file
from tacit.tables.engines.csv import CsvOptions
from tacit.tables.engines.files import ConfinedPath, check_nothing, pack_of, typed
from tacit.tables.engines.fixed_width import FixedColumn
from tacit.tables.missing_codes import Codes, missing_codes
from tacit.tables.reading import Code

_LARGEST = 64 << 20  # bytes of a codebook
_LONGEST = 300  # characters of a meaning
_MOST_LABELS = 100_000  # of a column
_WIDEST = 18  # digits of a whole number
_DELIMITED = (".csv", ".tsv", ".tab")
_OF_CELLS = ("date_format", "time_format", "decimal", "thousands")
_NUMBERS = ("integer", "float", "decimal")
_DIGITS = re.compile(r"[+-]?[0-9]{1,18}")


@dataclass(frozen=True)
class CodebookColumn:
    """What a codebook declares of a column."""

    name: str
    kind: str | None = None  # as ``types=`` has it; None where it does not say
    position: tuple[int, int] | None = None  # its first and last character in a line
    decimals: int = 0
    missing: tuple[Code, ...] = ()
    labels: Mapping[str | int, str] = field(default_factory=dict)
    bounds: tuple[Fraction, Fraction] | None = None  # of the values that are valid
    keys: tuple[str | int, ...] = ()  # all values that are valid, where they are listed
    meaning: str = ""


@dataclass(frozen=True)
class Codebook:
    """What a codebook declares of a table."""

    path: str
    columns: tuple[CodebookColumn, ...]
    options: Mapping[str, Any] = field(default_factory=dict)  # of the file, as CsvOptions has them

    @property
    def missing(self) -> Codes:
        """The codes for missing values, by column."""
        return missing_codes({c.name: list(c.missing) for c in self.columns if c.missing})

    @property
    def labels(self) -> dict[str, Mapping[str | int, str]]:
        """The labels of values, by column."""
        return {c.name: c.labels for c in self.columns if c.labels}

    def read_with(self, given: CsvOptions, file: str, *, lines: bool = False) -> CsvOptions:
        """Return options of a file of text, or of JSON lines, with what is declared here."""
        # Options that are given come first.
        options = {k: v for k, v in given.items() if v is not None}
        plain = file.casefold().removesuffix(pack_of(file))
        own = dict(self.options)
        if lines:
            own = {name: own[name] for name in _OF_CELLS if name in own}
            own["header"] = [column.name for column in self.columns]
        placed = (
            not lines
            and not plain.endswith(_DELIMITED)
            and not {"delimiter", "layout"} & options.keys()
        )
        if placed and all(column.position for column in self.columns):
            own = {name: own[name] for name in ("encoding", "null") if name in own}
            own["layout"] = [
                FixedColumn(c.name, *cast("tuple[int, int]", c.position), c.kind, c.decimals)
                for c in self.columns
            ]
        if "layout" in options:
            own = {name: own[name] for name in ("encoding", "null") if name in own}
        types = {c.name: c.kind for c in self.columns if c.kind is not None}
        listed: Any = options.get("types")
        both = {**types, **listed} if isinstance(listed, Mapping) else types
        return cast(CsvOptions, {**own, **options, "types": both})

    def check(self, schema: Schema, file: str) -> None:
        """Raise if a table lacks a column that is declared here, or holds another type."""
        for column in self.columns:
            if column.name not in schema:
                raise DataSourceError(
                    f"the codebook {_short(self.path)} declares the column {column.name!r}, which "
                    f"{_short(file)} has not; {did_you_mean(column.name, schema)}"
                )
            kind, declared = schema[column.name].kind, _family(column.kind)
            if declared and _family(kind) not in (declared, ""):
                raise DataSourceError(
                    f"the codebook {_short(self.path)} declares {column.name!r} as {column.kind}, "
                    f"and {_short(file)} holds {kind}: it is the codebook of another file"
                )


def _family(kind: str | None) -> str:
    if kind in _NUMBERS:
        return "number"
    return {"timestamp": "date"}.get(kind or "", kind or "") if kind in _FAMILIES else ""


_FAMILIES = ("text", "boolean", "date", "timestamp")


def _short(path: str) -> str:
    return Path(path).name or path


def read_codebook(path: str | os.PathLike[str], source: object = None) -> Codebook:
    """Read the codebook of a table.

    Args:
        path: of a DDI codebook (``.xml``), a Table Schema or data package, or CSVW metadata
            (``.json``).
        source: the path of the table, by which one of several in the metadata is found.

    Raises:
        UsageError: the file is none of these, or declares what contradicts itself.
        DataSourceError: it cannot be read.
    """
    location = typed(path)
    check = path.check if isinstance(path, ConfinedPath) else check_nothing
    check(location)
    file = os.fspath(source) if isinstance(source, (str, os.PathLike)) else ""
    try:
        size = os.stat(location).st_size
    except OSError:
        raise DataSourceError(f"the codebook {location} cannot be read: it is not there") from None
    if size > _LARGEST:
        raise UsageError(f"the codebook {location} is larger than {_LARGEST >> 20} MB")
    name = location.casefold()
    if name.endswith(".xml"):
        book = _ddi(location)
    elif name.endswith(".json"):
        body = read_json_file(location, location)
        book = _of_json(location, body, file, check)
    else:
        raise UsageError(
            f"the codebook {location} is not named .xml, as a DDI codebook is, or .json, as a "
            "Table Schema, a data package and CSVW metadata are"
        )
    names = [column.name for column in book.columns]
    if not names or len({*names}) < len(names):
        raise UsageError(f"the codebook {location} declares no column, or one of them twice")
    return book


# ---- DDI codebooks


def _ddi(path: str) -> Codebook:
    root = _tree(path)
    if root.tag != "codeBook":
        raise UsageError(
            f"{path} is XML, and not a DDI codebook: its first element is {root.tag}, not codeBook"
        )
    files = root.findall("fileDscr/fileTxt")
    if len(files) > 1 or any(f.find("fileStrc/recGrp") is not None for f in files):
        raise UsageError(
            f"{path} describes several files, or a hierarchical one with several kinds of records: "
            "export a rectangular file, of one row per person"
        )
    columns = tuple(_variable(path, each) for each in root.findall("dataDscr/var"))
    charset = files[0].find("fileType") if files else None
    given = "" if charset is None else charset.get("charset", "").strip()
    # a codebook of IPUMS that names no encoding means this one
    encoding = {"us-ascii": "utf-8"}.get(given.casefold(), given) or "iso-8859-1"
    placed = all(column.position for column in columns)
    return Codebook(path, columns, {"encoding": encoding} if given or placed else {})


def _tree(path: str) -> Element:
    """Return the elements of an XML file, by their names without namespaces."""
    builder = TreeBuilder()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True

    def refuse(*_: object) -> None:
        raise UsageError(f"the codebook {path} declares entities, which are not read: remove them")

    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = lambda tag, fields: builder.start(tag.rpartition(" ")[2], fields)
    parser.EndElementHandler = lambda tag: builder.end(tag.rpartition(" ")[2])
    parser.CharacterDataHandler = builder.data
    try:
        with open(path, "rb") as file:
            parser.ParseFile(file)
        root: Any = builder.close()
        return root  # type: ignore[no-any-return]
    except UsageError:
        raise
    except expat.ExpatError as error:
        line, column = error.lineno, error.offset
    except (OSError, ValueError, AssertionError):
        raise DataSourceError(f"the codebook {path} cannot be read") from None
    raise UsageError(f"the codebook {path} is not valid XML: line {line}, column {column}")


def _variable(path: str, var: Element) -> CodebookColumn:
    name = var.get("name") or var.get("ID") or ""
    where = f"the variable {name!r} of the codebook {path}"
    if not name:
        raise UsageError(f"a variable of the codebook {path} has no name")
    position = _location(var, where)
    kind, decimals = _ddi_kind(var, position, where)
    labels: dict[str | int, str] = {}
    missing: list[Any] = []
    for category in var.findall("catgry")[:_MOST_LABELS]:
        value = _value(_text(category, "catValu"), kind, decimals)
        if value is None:
            continue
        if category.get("missing") == "Y":
            missing.append(value)
        label = _text(category, "labl")
        if label and isinstance(value, (str, int)):
            labels[value] = label
    for one in var.iterfind("invalrng/item"):
        value = _value(one.get("VALUE", ""), kind, decimals)
        missing += [] if value is None else [value]
    for one in var.iterfind("invalrng/range"):
        ends = [_value(one.get(end, ""), kind, decimals) for end in ("min", "max")]
        if all(isinstance(end, (int, float)) for end in ends):
            missing.append(ends)
    return CodebookColumn(
        name,
        kind,
        position,
        decimals,
        tuple(_codes(missing, name)),
        labels,
        _valid(var.findall("valrng/range"), kind, where),
        meaning=one_line(_text(var, "labl")),
    )


def _location(var: Element, where: str) -> tuple[int, int] | None:
    places = [place for place in var.findall("location") if place.get("StartPos")]
    if not places:
        return None
    if len(places) > 1:
        raise UsageError(f"{where} is in several places of a line")
    start, end, width = (places[0].get(part) for part in ("StartPos", "EndPos", "width"))
    numbers = [int(n) if n and _DIGITS.fullmatch(n) else None for n in (start, end, width)]
    first, last, wide = numbers
    if first is not None and last is None and wide is not None:
        last = first + wide - 1
    wrong = first is None or last is None or not 1 <= first <= last <= 1 << 20
    if wrong or (wide is not None and last - first + 1 != wide):  # type: ignore[operator]
        raise UsageError(
            f"{where} has a location that contradicts itself: StartPos {start}, EndPos {end}, "
            f"width {width}"
        )
    return cast("tuple[int, int]", (first, last))


def _ddi_kind(var: Element, position: tuple[int, int] | None, where: str) -> tuple[str | None, int]:
    form = var.find("varFormat")
    if form is None or form.get("type") not in ("numeric", "character"):
        return None, 0
    if form.get("type") == "character":
        return "text", 0
    said = var.get("dcml")
    if said is not None and not (said.isascii() and said.isdigit() and int(said) <= _WIDEST):
        raise UsageError(f"{where} has {said!r} decimals (dcml): a number from 0 to {_WIDEST}")
    decimals = int(said or 0)
    if decimals:
        return "float", decimals if position else 0
    if position and position[1] - position[0] >= _WIDEST:
        return "text", 0  # more digits than a whole number has
    values = [_text(category, "catValu") for category in var.findall("catgry")]
    whole = said is not None or position or (values and all(map(_DIGITS.fullmatch, values)))
    return ("integer" if whole else "float"), 0


def _text(element: Element, name: str) -> str:
    child = element.find(name)
    return "" if child is None else "".join(child.itertext()).strip()


def _value(text: str, kind: str | None, decimals: int = 0) -> str | int | float | None:
    """Return a value of a codebook as the column holds it; None where it cannot."""
    # Codes of a column with implied decimals are written as its fields are: IPUMS documents 9999.99
    # in EARNWEEK and -9999 in UH_ERNWK_B1, both with two.  One that has a point keeps it.
    text = text.strip()
    if kind == "boolean" or (kind in ("date", "timestamp") and not is_date(text)):
        return None  # no such cell is a value of the column: it is missing already
    if kind not in _NUMBERS:
        return text or None
    number = _number(text)
    if number is not None and "." not in text:
        number /= 10**decimals
    if number is None or (kind == "integer" and number.denominator > 1):
        return None
    return int(number) if number.denominator == 1 else float(number)


def _number(value: object) -> Fraction | None:
    """Return a number of a codebook; None for what is no number."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    text = str(value).strip()
    if len(text) > 60 or not re.fullmatch(
        r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", text
    ):
        return None
    return Fraction(text) if math.isfinite(float(text)) else None


def _valid(
    ranges: Sequence[Element], kind: str | None, where: str
) -> tuple[Fraction, Fraction] | None:
    """Return the bounds of the ranges of values that are valid, where they have both ends."""
    if kind not in _NUMBERS or not ranges:
        return None
    lows, highs = (
        [_number(one.get(end, one.get(f"{end}Exclusive", ""))) for one in ranges]
        for end in ("min", "max")
    )
    pairs = [_bounds(*pair, where) for pair in zip(lows, highs, strict=True)]
    known = [pair for pair in pairs if pair is not None]
    if len(known) < len(pairs):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def _bounds(low: object, high: object, where: str) -> tuple[Fraction, Fraction] | None:
    lower, upper = (end if isinstance(end, Fraction) else _number(end) for end in (low, high))
    if lower is None or upper is None or lower == upper:
        return None
    if lower > upper:
        raise UsageError(f"{where} declares a range whose least value is above its greatest")
    return lower, upper


def one_line(text: str) -> str:
    """Return a text for readers as one line."""
    plain = "".join(c if c.isprintable() else " " for c in " ".join(text.split()))
    return plain if len(plain) <= _LONGEST else plain[: _LONGEST - 1] + "…"


def _codes(values: Iterable[Any], name: str) -> list[Code]:
    listed = list(values)
    return missing_codes({name: listed})[name] if listed else []


# ---- Frictionless Table Schema and data packages


_SCHEMA_KINDS = {
    "integer": "integer",
    "year": "integer",
    "number": "float",
    "string": "text",
    "boolean": "boolean",
    "date": "date",
    "datetime": "timestamp",
}


def _of_json(path: str, body: Any, file: str, check: Callable[[str], None]) -> Codebook:
    if isinstance(body, Mapping):
        if "resources" in body:
            return _package(path, body, file, check)
        if "fields" in body:
            return _table_schema(path, body, {})
        if "tableSchema" in body or "tables" in body:
            return _csvw(path, body, file)
    raise UsageError(
        f"{path} is JSON, and not a Table Schema (with fields), a data package (with resources) or "
        "CSVW metadata (with tableSchema or tables)"
    )


def _one_of(path: str, tables: Any, at: str, file: str) -> Mapping[str, Any]:
    """Return the description of a file among several; the only one describes any file."""
    if not isinstance(tables, list) or not all(isinstance(one, Mapping) for one in tables):
        raise UsageError(f"{path} has no list of tables")
    if len(tables) == 1:
        return cast(Mapping[str, Any], tables[0])
    names = [_name_of(one.get(at)) for one in tables]
    name = Path(file).name
    if names.count(name) != 1:
        raise UsageError(
            f"{path} describes several tables, none of which is {name!r} alone: "
            f"{did_you_mean(name, names)}"
        )
    return cast(Mapping[str, Any], tables[names.index(name)])


def _name_of(place: object) -> str:
    listed = place[0] if isinstance(place, list) and place else place
    return Path(listed).name if isinstance(listed, str) else ""


def _package(
    path: str, body: Mapping[str, Any], file: str, check: Callable[[str], None]
) -> Codebook:
    resource = _one_of(path, body.get("resources"), "path", file)
    schema = resource.get("schema")
    if isinstance(schema, str):
        if "://" in schema or os.path.isabs(schema) or ".." in Path(schema).parts:
            raise UsageError(
                f"{path} refers to the schema {schema}, which is not next to it: nothing is read "
                "over the network or outside of its folder; put the schema into the package"
            )
        beside = os.path.join(os.path.dirname(path), schema)
        check(beside)
        schema = read_json_file(beside, schema)
    if not isinstance(schema, Mapping):
        raise UsageError(f"{path} has no schema for {Path(file).name or 'its table'}")
    dialect = _mapping(resource.get("dialect"))
    csv = _mapping(dialect.get("csv")) or dialect
    options = {
        "encoding": resource.get("encoding"),
        "delimiter": csv.get("delimiter"),
        "quote": csv.get("quoteChar"),
        "comment": csv.get("commentChar", dialect.get("commentChar")),
    }
    options = {name: value for name, value in options.items() if isinstance(value, str)}
    book = _table_schema(path, schema, options)
    if dialect.get("header") is False:
        names = [column.name for column in book.columns]
        book = replace(book, options={**book.options, "header": names})
    return book


def _table_schema(path: str, schema: Mapping[str, Any], options: Mapping[str, Any]) -> Codebook:
    fields = schema.get("fields")
    if not isinstance(fields, list) or not all(isinstance(one, Mapping) for one in fields):
        raise UsageError(f"{path} is a Table Schema without a list of fields")
    shared = schema.get("missingValues", [""])
    signs = _Signs(path)
    columns = []
    for one in fields:
        name, spoken = one.get("name"), one.get("type", "string")
        where = f"the field {name!r} of {path}"
        if not isinstance(name, str) or not name:
            raise UsageError(f"a field of {path} has no name")
        kind = _SCHEMA_KINDS.get(spoken) if isinstance(spoken, str) else None
        signs.of_time(kind, one.get("format"), ("default", "any"))
        signs.of_numbers(kind, one.get("decimalChar"), one.get("groupChar"))
        limits = one.get("constraints")
        limits = limits if isinstance(limits, Mapping) else {}
        bounds = None
        if kind in _NUMBERS and "minimum" in limits and "maximum" in limits:
            bounds = _bounds(limits["minimum"], limits["maximum"], where)
        missing, labels = _listed(one.get("missingValues", shared), kind)
        _, categories = _listed(one.get("categories"), kind)
        keys, _ = _listed(limits.get("enum") or list(categories), kind)
        columns.append(
            CodebookColumn(
                name,
                kind,
                missing=tuple(_codes(missing, name)),
                labels={**categories, **labels},
                bounds=bounds,
                keys=tuple(k for k in keys if isinstance(k, (str, int))) if not categories else (),
                meaning=one_line(str(one.get("title") or one.get("description") or "")),
            )
        )
    return Codebook(path, tuple(columns), {**options, **signs.options()})


def _listed(given: Any, kind: str | None) -> tuple[list[Any], dict[str | int, str]]:
    """Return the values of a list, and the labels of those that have one."""
    values, labels = [], {}
    for one in given if isinstance(given, list) else ():
        label = one.get("label") if isinstance(one, Mapping) else None
        spoken = one.get("value") if isinstance(one, Mapping) else one
        value = _value(str(spoken), kind) if isinstance(spoken, (str, int, float)) else None
        if value is None or isinstance(spoken, bool):
            continue
        values.append(value)
        if isinstance(label, str) and label and isinstance(value, (str, int)):
            labels[value] = label
    return values, labels


class _Signs:
    """The formats of times and the signs of numbers of a file: one of each in all columns."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._found: dict[str, set[str]] = {}

    def of_time(self, kind: str | None, form: Any, plain: Sequence[str]) -> None:
        """Note the format of a column of days or times."""
        option = {"date": "date_format", "timestamp": "time_format"}.get(kind or "")
        if option is not None:
            own = isinstance(form, str) and form not in plain
            self._found.setdefault(option, set()).add(form if own else "")

    def of_numbers(self, kind: str | None, decimal: Any, thousands: Any) -> None:
        """Note the signs of a column of numbers."""
        if kind in _NUMBERS:
            if kind == "float":
                self._found.setdefault("decimal", set()).add(str(decimal or "."))
            self._found.setdefault("thousands", set()).add(str(thousands or ""))

    def options(self) -> dict[str, str]:
        """Return them as options of a CSV file."""
        for option, signs in self._found.items():
            if len(signs) > 1:
                raise UsageError(
                    f"{self._path} declares columns with different {option}: {sorted(signs)}; a "
                    "file is read with one of them"
                )
        found = {option: next(iter(signs)) for option, signs in self._found.items()}
        return {o: s for o, s in found.items() if s and (o, s) != ("decimal", ".")}


# ---- CSV on the Web


_CSVW_KINDS = {
    **dict.fromkeys(
        (
            *("integer", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger"),
            *("nonPositiveInteger", "negativeInteger", "unsignedLong", "unsignedInt"),
            *("unsignedShort", "unsignedByte", "gYear"),
        ),
        "integer",
    ),
    **dict.fromkeys(("number", "decimal", "double", "float"), "float"),
    **dict.fromkeys(
        ("string", "normalizedString", "token", "language", "Name", "NMTOKEN", "anyURI"), "text"
    ),
    "boolean": "boolean",
    "date": "date",
    **dict.fromkeys(("datetime", "dateTime", "dateTimeStamp"), "timestamp"),
}
_CSVW_DIALECT = {
    "encoding": "encoding",
    "delimiter": "delimiter",
    "quoteChar": "quote",
    "commentPrefix": "comment",
}


def _csvw(path: str, body: Mapping[str, Any], file: str) -> Codebook:
    table = _one_of(path, body["tables"], "url", file) if "tables" in body else body
    schema = table.get("tableSchema", body.get("tableSchema"))
    listed = schema.get("columns") if isinstance(schema, Mapping) else None
    if not isinstance(listed, list) or not all(isinstance(one, Mapping) for one in listed):
        raise UsageError(
            f"{path} is CSVW metadata without columns of a tableSchema; one at an address is not "
            "read: put it into the file"
        )
    assert isinstance(schema, Mapping)
    dialect = {**_mapping(body.get("dialect")), **_mapping(table.get("dialect"))}
    signs, columns = _Signs(path), []
    for one in listed:
        if one.get("virtual") is True:
            continue
        inherited = [one, schema, table, body]
        columns.append(_csvw_column(path, one, inherited, signs))
    options: dict[str, Any] = {
        own: dialect[name]
        for name, own in _CSVW_DIALECT.items()
        if isinstance(dialect.get(name), str)
    }
    if dialect.get("header") is False or dialect.get("headerRowCount") == 0:
        options["header"] = [column.name for column in columns]
    if type(dialect.get("skipRows")) is int and dialect["skipRows"] > 0:
        options["skip"] = dialect["skipRows"]
    return Codebook(path, tuple(columns), {**options, **signs.options()})


def _mapping(given: Any) -> Mapping[str, Any]:
    return given if isinstance(given, Mapping) else {}


def _csvw_column(
    path: str, one: Mapping[str, Any], inherited: Sequence[Mapping[str, Any]], signs: _Signs
) -> CodebookColumn:
    title = _title(one.get("titles")) or one.get("name")
    where = f"the column {title!r} of {path}"
    if not isinstance(title, str) or not title:
        raise UsageError(f"a column of {path} has no titles and no name")
    datatype = next((each["datatype"] for each in inherited if "datatype" in each), "string")
    spec = datatype if isinstance(datatype, Mapping) else {"base": datatype}
    kind = _CSVW_KINDS.get(str(spec.get("base", "string")))
    form = spec.get("format")
    pattern = _mapping(form)
    signs.of_numbers(kind, pattern.get("decimalChar"), pattern.get("groupChar"))
    signs.of_time(kind, _strptime(form, where) if kind in ("date", "timestamp") else None, ())
    ends = [
        next((spec[name] for name in (f"{end}Inclusive", f"{end}imum", end) if name in spec), None)
        for end in ("min", "max")
    ]
    null = next((each["null"] for each in inherited if "null" in each), [""])
    missing, _ = _listed(null if isinstance(null, list) else [null], kind)
    return CodebookColumn(
        title,
        kind,
        missing=tuple(_codes(missing, title)),
        bounds=_bounds(ends[0], ends[1], where) if kind in _NUMBERS else None,
        meaning=one_line(
            _title(one.get("dc:description")) or _title(one.get("rdfs:comment")) or ""
        ),
    )


def _title(given: Any) -> str | None:
    """Return the first text of a natural-language property."""
    while isinstance(given, (list, Mapping)) and given:
        given = given[0] if isinstance(given, list) else next(iter(given.values()))
    return given if isinstance(given, str) else None


_UNICODE_TIMES = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}
_ISO = ("yyyy-MM-dd", "yyyy-MM-ddTHH:mm:ss", "yyyy-MM-dd HH:mm:ss", "yyyy-MM-ddTHH:mm")


def _strptime(form: Any, where: str) -> str:
    """Return the format of a time as ``date_format=`` has it; empty for ISO 8601."""
    if not isinstance(form, str) or form in _ISO:
        return ""
    if re.search("[a-zA-Z]", re.sub("yyyy|MM|dd|HH|mm|ss|T", "", form)):
        raise UsageError(f"{where} has times in the format {form}, which is not read")
    return re.sub("yyyy|MM|dd|HH|mm|ss", lambda m: _UNICODE_TIMES[m[0]], form)
