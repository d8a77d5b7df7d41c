"""Files of a cube: SDMX-CSV, JSON-stat, PC-Axis and CSV on the Web."""

from __future__ import annotations

import datetime
import itertools
import json
import math
import re
import textwrap
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal, get_args

from tacit.errors import UsageError, did_you_mean, shown_value
from tacit.tables.export import ExportColumn, csv_text
from tacit.tables.publish.cube import (
    MEASURES,
    STATE_WORDS,
    Cube,
    Dimension,
    State,
    distinct_labels,
    time_dimensions,
)

# Sources: SDMX Technical Working Group, *SDMX-CSV data message field guide*, versions 1.0 and 2.0;
# SDMX Statistical Working Group, code lists CL_OBS_STATUS 2.2 and CL_CONF_STATUS 1.2.

Version = Literal["2.0", "1.0"]
# E: estimated; F: free for publication; Q: missing, suppressed; C: confidential; O: missing.
STATUS: Mapping[State, tuple[str, str]] = {
    "released": ("E", "F"),
    "suppressed": ("Q", "C"),
    "refused": ("Q", "C"),
    "unknown": ("O", "F"),
}
STATUS_NAMES: Mapping[str, str] = {
    "E": "Estimated value",
    "Q": "Missing value; suppressed",
    "O": "Missing value",
    "F": "Free (free for publication)",
    "C": "Confidential statistical information",
}
_ATTRIBUTES = ("OBS_STATUS", "CONF_STATUS", "STANDARD_ERROR", "LOWER", "UPPER", "COMMENT_DSET")
_STRUCTURES = ("STRUCTURE", "STRUCTURE_ID", "STRUCTURE_NAME", "ACTION", "DATAFLOW")
_OURS = (*_STRUCTURES, "SERIES_KEY", "OBS_KEY", "OBS_VALUE", *_ATTRIBUTES)
_STRUCTURE = re.compile(r"[A-Za-z][\w.-]*:[\w@$-]+\([0-9]+(\.[0-9]+)*\)", re.ASCII)
_ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def sdmx_csv(
    cube: Cube,
    *,
    structure: str | None = None,
    dataflow: str | None = None,
    version: Version = "2.0",
    ids: Mapping[str, str] | None = None,
    constants: Mapping[str, str] | None = None,
    names: bool = False,
) -> str:
    """Return a cube as SDMX-CSV: a row per observation."""
    # names: whether each column is followed by one with names (the option ``labels=name``).
    given = dict(constants or {})
    head = check_sdmx(structure, dataflow, version, names, given)
    components = _component_ids(cube, ids or {}, given)
    rows = [(key, cell) for key, cell in zip(_keys(cube), cube.cells, strict=True)]
    rows = [(key, cell) for key, cell in rows if cell.state != "absent"]
    states = [STATUS[cell.state] for _, cell in rows]
    columns = [_same(name, value, rows) for name, value in head]
    if names:
        columns.insert(2, _same("STRUCTURE_NAME", cube.title, rows))

    def add(column: ExportColumn, name: str, cells: Sequence[object]) -> None:
        columns.append(column)
        if names:
            columns.append(ExportColumn(_free(name, columns), list(cells), False))

    empty = [""] * len(rows)
    for name, value in given.items():
        add(_same(name, value, rows), name.capitalize(), empty)
    for i, (name, one) in enumerate(zip(components, cube.dimensions, strict=True)):
        add(
            ExportColumn(name, [one.codes[key[i]] for key, _ in rows], False),
            one.column or one.name,
            [one.labels[key[i]] for key, _ in rows],
        )
    # An empty cell means that a message does not report the value; NaN, that it is missing.
    values = ["NaN" if cell.value is None else cell.value for _, cell in rows]
    add(ExportColumn("OBS_VALUE", values, False), "Observation value", empty)
    for name, words, cells in (
        ("OBS_STATUS", "Observation status", [status for status, _ in states]),
        ("CONF_STATUS", "Confidentiality status", [status for _, status in states]),
        ("STANDARD_ERROR", "Standard error of the noise", [c.standard_error for _, c in rows]),
        ("LOWER", "Lower end of the 95% interval", [c.lower for _, c in rows]),
        ("UPPER", "Upper end of the 95% interval", [c.upper for _, c in rows]),
        ("COMMENT_DSET", "Comment on the data set", [cube.note] * len(rows)),
    ):
        coded = [STATUS_NAMES.get(str(cell), "") for cell in cells]
        named = coded if name.endswith("STATUS") else empty
        add(ExportColumn(name, list(cells), False), words, named)
    return csv_text(columns, escape_formulas=False)


def _keys(cube: Cube) -> Iterable[tuple[int, ...]]:
    return itertools.product(*(range(len(one.codes)) for one in cube.dimensions))


def _same(name: str, value: str, rows: Sequence[object]) -> ExportColumn:
    return ExportColumn(name, [value] * len(rows), False)


def _free(name: str, columns: Sequence[ExportColumn]) -> str:
    taken = {column.name for column in columns}
    while name in taken:
        name += " "
    return name


def check_sdmx(
    structure: str | None,
    dataflow: str | None,
    version: Version,
    names: bool,
    constants: Mapping[str, str],
) -> list[tuple[str, str]]:
    """Return the columns that name the structure; raise if the arguments are invalid."""
    if version not in get_args(Version):
        raise UsageError(f"the version of SDMX-CSV is '2.0' or '1.0', not {shown_value(version)}")
    if names and version == "1.0":
        raise UsageError("SDMX-CSV 1.0 has no columns of names; use version 2.0")
    if any(not isinstance(value, str) or not value for value in constants.values()):
        raise UsageError("constants are text that is the same in each row, as in {'FREQ': 'A'}")
    if (structure is None) == (dataflow is None):
        raise UsageError(
            "SDMX-CSV names one structure: structure='AGENCY:ID(1.0)' of a data structure "
            "definition, or dataflow='AGENCY:ID(1.0)'"
        )
    identifier = structure or dataflow
    if not isinstance(identifier, str) or not _STRUCTURE.fullmatch(identifier):
        raise UsageError(
            f"a structure is named as in 'ESTAT:VISITS(1.0)', not {shown_value(identifier)}"
        )
    if version == "1.0":
        if dataflow is None:
            raise UsageError("SDMX-CSV 1.0 names a dataflow: dataflow='AGENCY:ID(1.0)'")
        return [("DATAFLOW", identifier)]
    kind = "datastructure" if dataflow is None else "dataflow"
    return [("STRUCTURE", kind), ("STRUCTURE_ID", identifier), ("ACTION", "I")]


def _component_ids(cube: Cube, ids: Mapping[str, str], constants: Mapping[str, str]) -> list[str]:
    """Return the ids of the dimensions: those given, or the names in capitals."""
    known = [dimension.name for dimension in cube.dimensions]
    for name in ids:
        if name not in known:
            raise UsageError(f"there is no dimension {name!r}; {did_you_mean(name, known)}")
    names = [ids.get(name) or component_id(name) for name in known]
    for name in (*names, *constants):
        if not _ID.fullmatch(name):
            raise UsageError(
                f"an id of SDMX is letters, digits, '_' and '-', from a letter on, not {name!r}"
            )
        if [*names, *constants, *_OURS].count(name) > 1:
            raise UsageError(
                f"{name!r} would name two columns; give the dimension an id of its own, as in "
                f"ids={{{known[0]!r}: 'REF_AREA'}}"
            )
    return names


def component_id(name: str) -> str:
    """Return an id of SDMX for a name.

    >>> component_id("région du nord"), component_id("2nd visit"), component_id("性别")
    ('REGION_DU_NORD', 'X2ND_VISIT', 'DIM')
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    text = re.sub(r"[^A-Za-z0-9]+", "_", plain).strip("_").upper() or "DIM"
    return text if text[0].isalpha() else f"X{text}"


# Source: X. Badosa, *JSON-stat 2.0 full format specification*.
#
# Labels and the full list of values are optional there; pyjstat reads no file without them.


def json_stat(cube: Cube, *, time: str | None = None) -> str:
    """Return a cube as JSON-stat: its numbers as the dimension ``measure``."""
    codes, labels = zip(*MEASURES, strict=True)
    dimensions = [*cube.dimensions, Dimension("measure", codes, labels)]
    numbers = [(number, cell) for cell in cube.cells for number in cell.numbers]
    status = {
        str(index): STATE_WORDS[cell.state_of(number)]
        for index, (number, cell) in enumerate(numbers)
        if number is None
    }
    role = {"metric": ["statistic", "measure"]}
    times = time_dimensions(cube, time)
    data: dict[str, Any] = {
        "version": "2.0",
        "class": "dataset",
        "label": cube.title,
        "source": cube.facts.get("dataset"),
        "updated": cube.facts.get("released"),
        "note": [f"{name}: {text}" for name, text in cube.about],
        "id": [one.name for one in dimensions],
        "size": [len(one.codes) for one in dimensions],
        "role": {"time": times, **role} if times else role,
        "dimension": {one.name: _dimension(one) for one in dimensions},
        "value": [number for number, _ in numbers],
        "status": status,
        "extension": {"tacit": cube.facts},
    }
    return json.dumps(
        {name: part for name, part in data.items() if part not in (None, {}, [])},
        ensure_ascii=False,
        allow_nan=False,
    )


def _dimension(one: Dimension) -> dict[str, Any]:
    return {
        "label": one.column or one.name,
        "category": {
            "index": {code: index for index, code in enumerate(one.codes)},
            "label": dict(zip(one.codes, one.labels, strict=True)),
        },
    }


# Source: Statistics Sweden, *PX file format specification*, AXIS-VERSION 2013.

NOT_AVAILABLE, SUPPRESSED = '"."', '".."'  # DATASYMBOL1 and DATASYMBOL2
_LONGEST = 256  # characters of a text
_MAX_DECIMALS = 15
# The forms of time of TLIST, by the pattern of the codes.
_TIMES = {
    "A1": re.compile(r"(\d{4})"),
    "Q1": re.compile(r"(\d{4})-?Q([1-4])"),
    "M1": re.compile(r"(\d{4})-(\d\d)"),
    "D1": re.compile(r"(\d{4})-(\d\d)-(\d\d)"),
}
_BETWEEN = {"Q1": "Q", "M1": "M"}


def px(cube: Cube, *, time: str | None = None) -> str:
    """Return a cube as a PC-Axis file: a line per group and statistic, a column per number."""
    codes, labels = zip(*MEASURES, strict=True)
    rows, heading = list(cube.dimensions), Dimension("measure", codes, labels)
    released = cube.facts.get("released")
    numbers = [[_number(n) for n in cell.numbers] for cell in cube.cells]
    decimals = max((_decimals(text) for line in numbers for text in line if text), default=0)
    title = textwrap.shorten(cube.title, _LONGEST, placeholder=" ...")
    lines = [
        'CHARSET="ANSI";',
        'AXIS-VERSION="2013";',
        'CODEPAGE="utf-8";',
        'LANGUAGE="en";',
        *([f'CREATION-DATE="{_moment(released)}";'] if released else []),
        f"DECIMALS={min(decimals, _MAX_DECIMALS)};",
        f"SHOWDECIMALS={min(decimals, 6)};",
        'MATRIX="tacit";',
        'SUBJECT-CODE="tacit";',
        _keyword("SUBJECT-AREA", [str(cube.facts.get("dataset", "statistics"))]),
        _keyword("CONTENTS", [title]),
        _keyword("UNITS", ["number"]),
        _keyword("TITLE", [title]),
        _keyword("STUB", [one.name for one in rows]),
        _keyword("HEADING", [heading.name]),
    ]
    for one in (*rows, heading):
        name = _text(one.name)
        shown = distinct_labels([_text(label) for label in one.labels], one.codes)
        lines.append(_keyword(f'VALUES("{name}")', shown))
        own = distinct_labels([_text(code) for code in one.codes], one.codes)
        lines.append(_keyword(f'CODES("{name}")', own))
    times = time_dimensions(cube, time)
    lines += [_timeval(one) for one in rows if one.name in times and _timeval(one)]
    lines += ['DATASYMBOL1="not available";', 'DATASYMBOL2="suppressed to protect people";']
    if cube.about:
        lines.append(_long("NOTE", "#".join(f"{name}: {text}" for name, text in cube.about)))
    lines.append("DATA=")
    for line, cell in zip(numbers, cube.cells, strict=True):
        hidden = cell.state in ("suppressed", "refused")
        symbol = SUPPRESSED if hidden else NOT_AVAILABLE
        lines.append(" ".join(text or symbol for text in line) + " ")
    return "\n".join(lines) + ";\n"


def _number(number: float | int | None) -> str:
    """Return a number without an exponent; nothing for a missing one.

    >>> _number(12), _number(1e-7), _number(2.5e20), _number(None)
    ('12', '0.0000001', '250000000000000000000', '')
    """
    return "" if number is None else format(Decimal(repr(number)), "f").removesuffix(".0")


def _decimals(text: str) -> int:
    return len(text.partition(".")[2])


def _text(text: str) -> str:
    """Return a text as PC-Axis holds it: on one line, without quotation marks."""
    # A text has no escapes; and pyaxis splits a file at the first ``DATA=``, be it in a text.
    plain = " ".join(text.replace('"', "'").replace("DATA=", "DATA =").split())
    if len(plain) > _LONGEST:
        raise UsageError(
            f"a text of PC-Axis has {_LONGEST} characters at most, and a key or a label of this "
            f"table has {len(plain)}; use to_json_stat or to_csvw"
        )
    return plain


def _keyword(name: str, texts: Iterable[str]) -> str:
    """Return a keyword with its texts, a line each: none is split in two."""
    return f"{name}=" + ",\n".join(f'"{_text(text)}"' for text in texts) + ";"


def _long(name: str, text: str) -> str:
    """Return a keyword with one text, which goes on from line to line."""
    plain = " ".join(text.replace('"', "'").replace("DATA=", "DATA =").split())
    parts = [plain[i : i + _LONGEST] for i in range(0, len(plain), _LONGEST)]
    return f"{name}=" + "\n".join(f'"{part}"' for part in parts) + ";"


def _timeval(one: Dimension) -> str:
    """Return the keyword of a dimension of time; nothing if its codes have no common form.

    >>> _timeval(Dimension("month", ("2026-01", "2026-02"), ("January", "February")))
    'TIMEVAL("month")=TLIST(M1),"2026M01","2026M02";'
    """
    for form, pattern in _TIMES.items():
        matches = [pattern.fullmatch(code) for code in one.codes]
        if all(matches):
            between = _BETWEEN.get(form, "")
            codes = [f'"{between.join(match.groups())}"' for match in matches if match]
            return f'TIMEVAL("{_text(one.name)}")=TLIST({form}),{",".join(codes)};'
    return ""


def _moment(text: str) -> str:
    return datetime.datetime.fromisoformat(text).strftime("%Y%m%d %H:%M")


# Source: W3C, *Metadata Vocabulary for Tabular Data* and *Model for Tabular Data and Metadata on
# the Web*, 2015.

METADATA = "-metadata.json"  # what the metadata of a file are called, after its name
_QUANTITIES = {
    "_error": "standard error of the noise of {label}",
    "_low": "lower end of the 95% interval of {label}",
    "_high": "upper end of the 95% interval of {label}",
}
_LONG_COLUMNS = {
    "statistic": "label of the statistic",
    "bin": "bin of the histogram",
    "bin_lower": "lower edge of the bin",
    "bin_upper": "upper edge of the bin",
    "value": "released value, with noise",
    "standard_error": "standard error of the noise",
    "lower": "lower end of the 95% interval",
    "upper": "upper end of the 95% interval",
}


def csvw(
    url: str,
    columns: Sequence[ExportColumn],
    groups: int,
    *,
    labels: Sequence[str],
    title: str,
    about: Sequence[tuple[str, str]],
    facts: Mapping[str, Any],
    key_labels: Mapping[str, Mapping[Any, str]] | None = None,
) -> tuple[str, str]:
    """Return a CSV file and its metadata."""
    # groups: how many of the columns are grouping columns, the first.
    written, described = [], []
    for index, column in enumerate(columns):
        null = "" if column.number else _null(column)
        written.append(_written(column, null))
        described.append(
            {
                "titles": column.name,
                "datatype": _datatype(column),
                "null": null,
                **_words(column.name, index < groups, labels, (key_labels or {}).get(column.name)),
            }
        )
    metadata = {
        "@context": ["http://www.w3.org/ns/csvw", {"@language": "en"}],
        "url": url,
        "dc:title": title,
        "dc:description": "; ".join(f"{name}: {text}" for name, text in about),
        "notes": [{"tacit": facts}],
        "dialect": {"encoding": "utf-8", "header": True, "trim": False},
        "tableSchema": {"columns": described},
    }
    text = json.dumps(metadata, ensure_ascii=False, allow_nan=False, indent=1)
    return csv_text(written, escape_formulas=False), text + "\n"


def _null(column: ExportColumn) -> str:
    """Return the text of a missing cell, which no cell has: an empty one where it can be."""
    # The quotation marks of an empty text are lost in every reader.
    texts = {str(value) for value in column.values if value is not None}
    null = ""
    while null in texts:
        null = f"{null}_" if null else "NULL"
    return null


def _written(column: ExportColumn, null: str) -> ExportColumn:
    if column.number:
        values = [_lexical(value) for value in column.values]
        return ExportColumn(column.name, values, False)
    if null:
        values = [null if value is None else value for value in column.values]
        return ExportColumn(column.name, values, False)
    return column


def _lexical(value: Any) -> Any:
    """Return a number as XML Schema writes it."""
    if isinstance(value, float) and math.isinf(value):
        return "INF" if value > 0 else "-INF"
    return value


def _datatype(column: ExportColumn) -> Any:
    types = {type(value) for value in column.values if value is not None}
    if types == {int}:
        return "integer"
    if (str not in types and column.number) or (types and types <= {int, float}):
        return "double"
    if types == {bool}:
        return {"base": "boolean", "format": "True|False"}
    return "string"


def _words(
    name: str, group: bool, labels: Sequence[str], key_labels: Mapping[Any, str] | None
) -> dict[str, Any]:
    if group:
        told: dict[str, Any] = {"dc:description": "group"}
        if key_labels:
            told["dc:description"] = "group: " + "; ".join(
                f"{key} = {label}" for key, label in key_labels.items()
            )
        return told
    if name in _LONG_COLUMNS and name not in labels:
        return {"dc:description": _LONG_COLUMNS[name]}
    for suffix, words in _QUANTITIES.items():
        label = name.removesuffix(suffix)
        if label != name and name not in labels:
            return {"dc:description": words.format(label=label)}
    return {"dc:description": "released value, with noise"}
