"""SDMX-CSV 1.0 and 2.0."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, get_args

from tacit.errors import UsageError, did_you_mean, shown_value
from tacit.tables.export import ExportColumn, csv_text
from tacit.tables.publish.cube import Cube, State

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
