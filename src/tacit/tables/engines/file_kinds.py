"""The kind of a file: by its name, and by its first bytes where the name does not say.

A name such as ``.csv`` or ``.parquet`` decides, so that no row of a file can change how the file
is read.  Of any other file the first bytes decide whether it is a Parquet file or a database of
DuckDB; every other kind is refused, each with the way to its rows.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

__all__ = ["has_data_name", "is_packed", "is_text_name", "kind_of", "misnamed", "unread"]

_CSV = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_TEXT = (".txt", ".txt.gz")
_PARQUET = (".parquet", ".pq")
_HEAD = 512


class _Kind(NamedTuple):
    """A kind of file that is not read: what it is called, and how its rows are reached."""

    what: str
    remedy: str


def _in_python(call: str) -> str:
    return f"in Python, pass {call} in place of the path, or write that to a Parquet file"


_SQLITE = "in Python, pass pandas.read_sql('select * from visits', sqlite3.connect({file!r}))"
_UNPACK = "unpack it, or pack it with gzip as .csv.gz"
_KINDS = {
    "sqlite": _Kind(
        "a database of SQLite", f"{_SQLITE}, or export the table to a CSV file (sqlite3 -csv)"
    ),
    "spss": _Kind(
        "a file of SPSS",
        _in_python("pandas.read_spss({file!r}, convert_categoricals=False)"),
    ),
    "spss_portable": _Kind(
        "a portable file of SPSS", _in_python("pyreadstat.read_por({file!r})[0]")
    ),
    "stata": _Kind(
        "a file of Stata", _in_python("pandas.read_stata({file!r}, convert_categoricals=False)")
    ),
    "sas": _Kind("a file of SAS", _in_python("pandas.read_sas({file!r})")),
    "r": _Kind(
        "a file of R", "write its table in R with write.csv(x, 'visits.csv', row.names = FALSE)"
    ),
    "arrow": _Kind("a file of Arrow", _in_python("pyarrow.feather.read_table({file!r})")),
    "arrow stream": _Kind(
        "a stream of Arrow", _in_python("pyarrow.ipc.open_stream({file!r}).read_all()")
    ),
    "orc": _Kind("a file of ORC", _in_python("pyarrow.orc.read_table({file!r})")),
    "avro": _Kind("a file of Avro", _in_python("polars.read_avro({file!r})")),
    "json": _Kind("a file of JSON", _in_python("pandas.read_json({file!r})")),
    "json lines": _Kind("a file of JSON", _in_python("pandas.read_json({file!r}, lines=True)")),
    "hdf5": _Kind("a file of HDF5", _in_python("pandas.read_hdf({file!r})")),
    "xml": _Kind("a file of XML", _in_python("pandas.read_xml({file!r})")),
    "pickle": _Kind(
        "a pickle of Python",
        "load it in Python, if you trust who wrote it, and pass the data frame",
    ),
    "access": _Kind("a database of Access", "export the table from Access to a CSV file (UTF-8)"),
    "workbook": _Kind(
        "a workbook",
        "save it as CSV (UTF-8) or, in Python, pass pandas.read_excel({file!r}) in place of the "
        "path",
    ),
    "zip": _Kind("a zip archive", "unpack it, and name the files in it"),
    "tar": _Kind("a tar archive", "unpack it, and name the files in it"),
    "7z": _Kind("a 7-Zip archive", "unpack it, and name the files in it"),
    "zstd": _Kind("packed with zstd", _UNPACK),
    "bzip2": _Kind("packed with bzip2", _UNPACK),
    "xz": _Kind("packed with xz", _UNPACK),
    "lz4": _Kind("packed with lz4", _UNPACK),
    "snappy": _Kind("packed with snappy", _UNPACK),
    "gzip": _Kind("packed with gzip", "name it .csv.gz if a CSV file is in it, or else unpack it"),
    "encrypted parquet": _Kind(
        "an encrypted Parquet file", "write it again without encryption, in a place that is safe"
    ),
    "tab": _Kind(
        "text",
        "if tabs separate its fields, name it .tsv; if another character does, name it .csv and "
        "declare that, as in delimiter=';'",
    ),
    "text": _Kind(
        "text",
        "if a character separates its fields, name it .csv and declare that, as in delimiter=';'; "
        "fields of fixed width have to be written as CSV first",
    ),
    "ledger": _Kind("a ledger of Tacit", "name the table; the ledger is given as ledger="),
    "parquet": _Kind("a Parquet file", "name it .parquet"),
    "duckdb": _Kind(
        "a database of DuckDB", "give it the name .duckdb, and name its table, table='visits'"
    ),
    "unknown": _Kind(
        "not a CSV or Parquet file, nor of another known kind",
        "write the table as CSV or Parquet",
    ),
}
_NAMES = {
    **dict.fromkeys((".sqlite", ".sqlite3", ".db3"), "sqlite"),
    **dict.fromkeys((".sav", ".zsav"), "spss"),
    ".por": "spss_portable",
    ".dta": "stata",
    **dict.fromkeys((".sas7bdat", ".xpt"), "sas"),
    **dict.fromkeys((".rds", ".rda", ".rdata"), "r"),
    **dict.fromkeys((".feather", ".arrow", ".ipc"), "arrow"),
    ".arrows": "arrow stream",
    ".orc": "orc",
    ".avro": "avro",
    ".json": "json",
    **dict.fromkeys((".jsonl", ".ndjson"), "json lines"),
    **dict.fromkeys((".h5", ".hdf", ".hdf5"), "hdf5"),
    ".xml": "xml",
    **dict.fromkeys((".pkl", ".pickle"), "pickle"),
    **dict.fromkeys((".mdb", ".accdb"), "access"),
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"), "workbook"),
    ".zip": "zip",
    **dict.fromkeys((".tar", ".tar.gz", ".tgz"), "tar"),
    ".7z": "7z",
    **dict.fromkeys((".zst", ".zstd"), "zstd"),
    ".bz2": "bzip2",
    ".xz": "xz",
    ".lz4": "lz4",
    ".gz": "gzip",
    ".tab": "tab",
    **dict.fromkeys((".ledger", ".ledger-wal", ".ledger-shm"), "ledger"),
}
"""Kinds by the ends of names; the longest that fits counts."""
_MAGIC = {
    b"PAR1": "parquet",
    b"PARE": "encrypted parquet",
    b"SQLite format 3\0": "sqlite",
    b"$FL2@(#)": "spss",
    b"$FL3@(#)": "spss",
    b"<stata_dta>": "stata",
    **{bytes([version, order, 1, 0]): "stata" for version in (113, 114, 115) for order in (1, 2)},
    bytes(12) + b"\xc2\xea\x81\x60": "sas",
    b"HEADER RECORD*******": "sas",
    b"RDX2\n": "r",
    b"RDX3\n": "r",
    b"RDA2\n": "r",
    b"RDA3\n": "r",
    b"ARROW1\0\0": "arrow",
    b"FEA1": "arrow",
    b"\xff\xff\xff\xff": "arrow stream",
    b"ORC": "orc",
    b"Obj\x01": "avro",
    b"\x89HDF\r\n\x1a\n": "hdf5",
    b"\0\1\0\0Standard ": "access",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "workbook",
    b"PK\x03\x04": "zip",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
    b"\xfd7zXZ\0": "xz",
    b"\x04\x22\x4d\x18": "lz4",
    b"\xff\x06\0\0sNaPpY": "snappy",
    b"\x1f\x8b": "gzip",
}
"""Kinds by first bytes; DuckDB's stand behind a checksum."""
_WORDS = ("orc", "bzip2")
"""Kinds whose first bytes may also begin a word."""
_WITHIN = {"zip": ("workbook",), "gzip": ("r", "tar"), "workbook": ("access",)}
"""Kinds that are stored in another one, and known by their names."""
_PLAIN = ("tab", "text", "unknown")
_JSON = re.compile(rb"\s*(\{\s*[\"}]|\[\s*[\[{\"])")


def has_data_name(path: str) -> bool:
    """Whether the name says that it is a CSV or Parquet file."""
    return path.casefold().endswith(_CSV + _TEXT + _PARQUET)


def is_text_name(path: str) -> bool:
    """Whether the name is that of text, which may be a CSV file or a note such as README.txt."""
    return path.casefold().endswith(_TEXT)


def is_packed(kind: str) -> bool:
    """Whether files of a kind hold another file, packed."""
    return _KINDS[kind].remedy == _UNPACK if kind in _KINDS else False


def kind_of(path: str) -> str:
    """Return ``"csv"``, ``"parquet"``, ``"duckdb"``, or the name of a kind that is not read."""
    name = path.casefold()
    if name.endswith(_PARQUET):
        return "parquet"
    return "csv" if name.endswith(_CSV + _TEXT) else _content(path)


def misnamed(path: str) -> str:
    """Return what a file is if it is not what its name says, and the remedy; else nothing.

    For a file that could not be read as its name says: the message of a healthy one.
    """
    content, name = _content(path), path.casefold()
    if name.endswith(_PARQUET):
        expected: tuple[str, ...] = ("parquet", "unknown")
    elif name.endswith(".gz"):
        expected = ("gzip", "unknown")
        if content in ("tab", "text"):
            return "is not packed, and its name ends in .gz: name it without"
    else:
        expected = _PLAIN
    return "" if content in expected else f"is {_told(content, path)}"


def unread(path: str, kind: str) -> str:
    """Return the message about a file of a kind that is not read."""
    return f"{path} is {_told(kind, path)}"


def _told(kind: str, path: str) -> str:
    known = _KINDS[kind]
    return f"{known.what}: {known.remedy.format(file=Path(path).name)}"


def _content(path: str) -> str:
    """Return the kind by the first bytes, else by the name, else text or unknown."""
    head, name = _head(path), Path(path).name.casefold()
    if head[8:12] == b"DUCK":
        return "duckdb"
    plain = _is_plain(head)
    end = max((end for end in _NAMES if name.endswith(end)), key=len, default="")
    by_name = _NAMES.get(end, "")
    by_bytes = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "")
    if by_bytes and not (plain and by_bytes in _WORDS):
        return by_name if by_name in _WITHIN.get(by_bytes, ()) else by_bytes
    if by_name and not (plain and (is_packed(by_name) or by_name == "gzip")):
        return by_name
    if not plain:
        return "unknown"
    return "json" if _JSON.match(head) else "text"


def _is_plain(head: bytes) -> bool:
    """Whether the bytes are text of some encoding that holds ASCII."""
    return b"\0" not in head and not any(byte < 32 and byte not in b"\t\n\f\r\x1b" for byte in head)


def _head(path: str) -> bytes:
    """Return the first bytes of a file; none where it cannot be read.

    Where this process has the file open, it is read through that descriptor: to close another one
    would release the locks of the process, and so those that DuckDB has on its database.
    """
    with suppress(OSError):
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):  # a pipe would be waited for
            return b""
        for number in _descriptors():
            with suppress(OSError):
                if os.path.samestat(os.fstat(number), found):
                    return os.pread(number, _HEAD, 0)
        with open(path, "rb") as file:
            return file.read(_HEAD)
    return b""


def _descriptors() -> list[int]:
    """Return the numbers of the descriptors of this process, where the system lists them."""
    with suppress(OSError):
        return [int(name) for name in os.listdir("/dev/fd") if name.isdigit()]
    return []
