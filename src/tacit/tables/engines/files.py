"""Files that a table is read from: their kinds, folders and patterns."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple, TypeVar

from tacit.errors import DataSourceError, TacitError, UsageError, did_you_mean

_Read = TypeVar("_Read")

# The kind of a file: by its name, else by its first bytes.
#
# A name such as ``.csv`` or ``.parquet`` decides, so that no row of a file can change how the file
# is read.  Of any other file the first bytes decide whether it is a Parquet file or a database of
# DuckDB; every other kind is refused, each with the way to its rows.


# Ends of the names of packed files that are read, and their kinds.
PACKED = {".gz": "gzip", ".zst": "zstd", ".bz2": "bzip2", ".xz": "xz"}


def _also_packed(*names: str) -> tuple[str, ...]:
    return tuple(name + pack for name in names for pack in ("", *PACKED))


_CSV = _also_packed(".csv", ".tsv", ".tab")
_TEXT = _also_packed(".txt")
_DATA = _also_packed(".dat", ".fwf")  # text, or a Parquet file or database by its content
_PARQUET = (".parquet", ".pq")
_HEAD = 512
_MAX_NAMED = 3  # of the files of a list


class _Kind(NamedTuple):
    """A kind of file that is not read: what it is called, and how its rows are reached."""

    what: str
    remedy: str


def _in_python(call: str) -> str:
    return f"in Python, pass {call} in place of the path, or write that to a Parquet file"


_UNPACK = "unpack it, or pack it as .csv.gz, .csv.zst, .csv.bz2 or .csv.xz, and name it so"
_KINDS = {
    "sqlite": _Kind("a database of SQLite", "name its table, table='visits'"),
    "spss": _Kind("a file of SPSS", "name it .sav"),
    "spss_encrypted": _Kind(
        "an encrypted file of SPSS", "save it without a password in SPSS, in a place that is safe"
    ),
    "spss_portable": _Kind("a portable file of SPSS", "name it .por"),
    "stata": _Kind("a file of Stata", "name it .dta"),
    "sas": _Kind("a file of SAS", "name it .sas7bdat"),
    "sas_transport": _Kind("a transport file of SAS", "name it .xpt"),
    "sas_catalog": _Kind("a catalog of formats of SAS", "name the table, a .sas7bdat"),
    "r": _Kind(
        "a file of R", "write its table in R with write.csv(x, 'visits.csv', row.names = FALSE)"
    ),
    "arrow": _Kind("a file of Arrow", "name it .arrow"),
    "arrow stream": _Kind("a stream of Arrow", "name it .arrows"),
    "orc": _Kind("a file of ORC", "name it .orc"),
    "avro": _Kind("a file of Avro", "name it .avro"),
    "json": _Kind("a file of JSON", _in_python("pandas.read_json({file!r})")),
    "json lines": _Kind("a file of JSON lines", "name it .jsonl"),
    "hdf5": _Kind("a file of HDF5", _in_python("pandas.read_hdf({file!r})")),
    "xml": _Kind("a file of XML", _in_python("pandas.read_xml({file!r})")),
    "pickle": _Kind(
        "a pickle of Python",
        "load it in Python, if you trust who wrote it, and pass the data frame",
    ),
    "access": _Kind("a database of Access", "export the table from Access to a CSV file (UTF-8)"),
    "excel": _Kind("a workbook", "name it .xlsx"),
    "workbook": _Kind(
        "a workbook of another kind than .xlsx",
        "save it as .xlsx without a password, in a place that is safe, or as CSV (UTF-8)",
    ),
    "locked workbook": _Kind(
        "a workbook with a password", "save it without one, in a place that is safe"
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
    "text": _Kind(
        "text",
        "if a character separates its fields, name it .csv and declare that, as in delimiter=';'; "
        "where they have fixed positions, name it .dat and declare these with layout= or codebook=",
    ),
    "ledger": _Kind("a ledger of Tacit", "name the table; the ledger is given as ledger="),
    "parquet": _Kind("a Parquet file", "name it .parquet"),
    "duckdb": _Kind("a database of DuckDB", "name its table, table='visits'"),
    "unknown": _Kind(
        "not a CSV or Parquet file, nor of another known kind",
        "write the table as CSV or Parquet",
    ),
}
# Kinds by the ends of names; the longest that fits counts.
_NAMES = {
    **dict.fromkeys((".sqlite", ".sqlite3", ".db3"), "sqlite"),
    **dict.fromkeys((".sav", ".zsav"), "spss"),
    ".por": "spss_portable",
    ".dta": "stata",
    ".sas7bdat": "sas",
    ".sas7bcat": "sas_catalog",
    ".xpt": "sas_transport",
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
    **dict.fromkeys((".xlsx", ".xlsm", ".ods"), "excel"),
    **dict.fromkeys((".xls", ".xlsb"), "workbook"),
    ".zip": "zip",
    **dict.fromkeys((".tar", ".tar.gz", ".tgz"), "tar"),
    ".7z": "7z",
    **dict.fromkeys((".zst", ".zstd"), "zstd"),
    ".bz2": "bzip2",
    ".xz": "xz",
    ".lz4": "lz4",
    ".gz": "gzip",
    **dict.fromkeys((".ledger", ".ledger-wal", ".ledger-shm"), "ledger"),
}
# Kinds by first bytes; DuckDB's stand behind a checksum.
_MAGIC = {
    b"PAR1": "parquet",
    b"PARE": "encrypted parquet",
    b"SQLite format 3\0": "sqlite",
    b"$FL2@(#)": "spss",
    b"$FL3@(#)": "spss",
    b"<stata_dta>": "stata",
    **{
        bytes([version, order, 1, 0]): "stata"
        for version in (105, 108, 110, 111, 113, 114, 115)
        for order in (1, 2)
    },
    bytes(12) + b"\xc2\xea\x81\x60": "sas",
    b"HEADER RECORD*******": "sas_transport",
    b"\x1c" + bytes(7) + b"ENCRYPTEDSAV": "spss_encrypted",
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
_WORDS = ("orc", "bzip2")  # kinds whose first bytes may also begin a word
# Kinds that are stored in another one, and known by their names.
_WITHIN = {
    "zip": ("excel", "workbook"),
    "gzip": ("r", "tar"),
    "workbook": ("access",),
    "sas": ("sas_catalog",),
}
# Kinds whose files have a dictionary of their columns, missing codes and labels.
SURVEYS = ("spss", "spss_portable", "stata", "sas", "sas_transport")
SCHEMAS = ("arrow", "arrow stream", "orc", "avro")  # kinds whose files have a schema
READ = ("csv", "parquet", *SURVEYS, *SCHEMAS, "json lines", "excel")
_PLAIN = ("text", "unknown")
_JSON = re.compile(rb"\s*(\{\s*[\"}]|\[\s*[\[{\"])")


def has_data_name(path: str) -> bool:
    """True if the name is that of a CSV or Parquet file."""
    return path.casefold().endswith(_CSV + _TEXT + _PARQUET)


def is_text_name(path: str) -> bool:
    """True if the name is that of text, which may be a CSV file or a note such as README.txt."""
    return path.casefold().endswith(_TEXT)


def is_packed(kind: str) -> bool:
    """True if files of a kind contain another file, packed."""
    return _KINDS[kind].remedy == _UNPACK if kind in _KINDS else False


def kind_of(path: str) -> str:
    """Return ``"csv"``, ``"parquet"``, ``"duckdb"``, or the name of another kind."""
    name = path.casefold()
    if name.endswith(_PARQUET):
        return "parquet"
    if name.endswith(_CSV + _TEXT):
        return "csv"
    content = _content(path)
    text = content not in (*READ, "duckdb", "sqlite") or _is_plain(_head(path))
    return "csv" if name.endswith(_DATA) and text else content


def pack_of(path: str) -> str:
    """Return the end of a name that says how a file is packed; empty where it is not.

    >>> pack_of("visits.CSV.ZST"), pack_of("visits.csv")
    ('.zst', '')
    """
    return next((end for end in PACKED if path.casefold().endswith(end)), "")


def misnamed(path: str) -> str:
    """Return the kind of a file that its name belies, and the remedy; else nothing."""
    # For a file that could not be read as its name says: the message of a healthy one.
    content, name = _content(path), path.casefold()
    if name.endswith(_PARQUET):
        expected: tuple[str, ...] = ("parquet", "unknown")
    elif pack_of(name):
        expected = (PACKED[pack_of(name)], "unknown")
        if content == "text":
            return f"is not packed, and its name ends in {pack_of(name)}: name it without"
    else:
        expected = _PLAIN
    return "" if content in expected else f"is {_description(content, path)}"


def unread(path: str, kind: str) -> str:
    """Return the message for a file of a kind that is not read."""
    return f"{path} is {_description(kind, path)}"


def without_details(path: str, read: Callable[[], _Read]) -> _Read:
    """Return what is read of a file; else raise an error that holds nothing of another one."""
    failure = ""
    try:
        return read()
    except (TacitError, MemoryError, ImportError):
        raise
    except Exception as error:
        failure = type(error).__name__
    # Raised here, where it has no context: what the other error quotes may be data.
    raise DataSourceError(
        f"{path} cannot be read ({failure}): it is damaged, cut short, encrypted or not what its "
        "name says (details are withheld: they may quote the data)"
    )


def _description(kind: str, path: str) -> str:
    known = _KINDS[kind]
    return f"{known.what}: {known.remedy.format(file=Path(path).name)}"


def _content(path: str) -> str:
    """Return the kind by the first bytes, else by the name, else text or unknown."""
    head, name = _head(path), Path(path).name.casefold()
    if head[8:12] == b"DUCK":
        return "duckdb"
    if head[456:464] == b"SPSSPORT":
        return "spss_portable"
    plain = _is_plain(head)
    end = max((end for end in _NAMES if name.endswith(end)), key=len, default="")
    by_name = _NAMES.get(end, "")
    by_bytes = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "")
    if by_bytes and not (plain and by_bytes in _WORDS):
        if (by_bytes, by_name) == ("workbook", "excel"):  # Excel locks an .xlsx within one of old
            return "locked workbook"
        return by_name if by_name in _WITHIN.get(by_bytes, ()) else by_bytes
    if by_name and not (plain and (is_packed(by_name) or by_name == "gzip")):
        return by_name
    if not plain:
        return "unknown"
    return "json" if _JSON.match(head) else "text"


def _is_plain(head: bytes) -> bool:
    """True if the bytes are text of some encoding that includes ASCII."""
    return b"\0" not in head and not any(byte < 32 and byte not in b"\t\n\f\r\x1b" for byte in head)


def _head(path: str) -> bytes:
    """Return the first bytes of a file; none where it cannot be read."""
    # Where this process has the file open, it is read through that descriptor: to close another one
    # would release the locks of the process, and so those that DuckDB has on its database.
    with suppress(OSError):
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):  # a pipe would be waited for
            return b""
        for number in _descriptors():
            with suppress(OSError):
                if os.path.samestat(os.fstat(number), status):
                    return os.pread(number, _HEAD, 0)
        with open(path, "rb") as file:
            return file.read(_HEAD)
    return b""


def _descriptors() -> list[int]:
    """Return the numbers of the descriptors of this process, where the system lists them."""
    with suppress(OSError):
        return [int(name) for name in os.listdir("/dev/fd") if name.isdigit()]
    return []


# The files that a path, a folder or a pattern names.
#
# *A folder is the files of one table.*  In a folder, and where a wildcard of a pattern matches,
# names that begin with ``.`` or ``_`` are left out, as Spark and pyarrow do, except a part such as
# ``_site=1``: they belong to programs that write tables, to trash and to backups.  A file with the
# name of text (``README.txt``) is data only where its name or such an end is typed.
#
# *A table whose format has a log is not the union of its files.*  Delta, Iceberg, Hudi, DuckLake,
# Paimon and the sinks of Spark's streams leave files of removed and superseded rows in place, so
# that one person would count once per version.  Their files are refused, named one by one too; the
# folder of a table of Delta, Iceberg or Hudi is read by its log (``duckdb/lake.py``, ``hudi.py``).
#
# *No file is read twice.*  A file that is reached by two names, through links or wildcards, is
# refused, and so is a folder that links lead back into.
#
# *A confined path* comes from someone who may name files below one folder only.  Each folder that
# is listed for it, and each file that it names, is checked after links are resolved; see
# :class:`ConfinedPath`.


_NO_RIGHT = "no right to read it; ask for read access"
_DATABASE = (".duckdb", ".ddb", ".db", ".sqlite", ".sqlite3", ".db3")
_LEDGER = (".ledger", ".ledger-wal", ".ledger-shm")
METADATA = (".metadata.json", ".metadata.json.gz")  # ends of names of the metadata of Iceberg
_PACKED = re.compile(r"\.(csv|tsv|tab|parquet|pq)\.[^./]+$", re.IGNORECASE)
_DUCKLAKE = re.compile(r"ducklake-[0-9a-f]{8}-[0-9a-f-]{27}(-delete)?\.parquet")
_WRITE = "or write its current rows to one Parquet file"
# Formats of tables whose log says which files count, and how such a table is read.
_FORMATS = {
    "Delta": f"name the folder of the table, 'TABLE', or in Python, pass DeltaTable(...), {_WRITE}",
    "Iceberg": "name the folder of the table, 'TABLE', or in Python, pass "
    f"catalog.load_table(...), {_WRITE}",
    "Hudi": "name the folder of the table, 'TABLE', or in Python, pass "
    f"spark.read.format('hudi').load('TABLE'), {_WRITE}",
    "Paimon": f"in Python, pass the table as Spark reads it, {_WRITE}",
    "DuckLake": "in Python, attach its catalog to a connection of DuckDB and pass "
    f"connection.sql('from lake.TABLE'), {_WRITE}",
    "Databricks": "on Databricks, pass spark.read.parquet('TABLE'), or remove its old files with "
    "VACUUM",
    "Spark's streaming sink": f"in Python, pass spark.read.parquet('TABLE'), {_WRITE}",
}


class TableFormatError(DataSourceError):
    """Files belong to a table whose log lists those that count."""


@dataclass(frozen=True)
class ConfinedPath(os.PathLike[str]):
    """A path that is read only where it leads to files below a folder."""

    path: str  # as it is opened; no ``~`` and no address is expanded in it
    root: Path  # the folder, which must hold everything that the path leads to

    def __fspath__(self) -> str:
        return self.path

    @property
    def _steps(self) -> tuple[str, ...]:
        """The parts of the path behind the parent of ``root``, as typed."""
        return Path(self.path).parts[len(self.root.parent.parts) :]

    def check(self, location: str) -> None:
        """Raise if a location is outside of the folder."""
        try:
            with suppress(FileNotFoundError):  # a pattern, or opening it raises
                os.path.realpath(location, strict=True)
            inside = Path(os.path.realpath(location)).is_relative_to(os.path.realpath(self.root))
        except (OSError, ValueError):  # links in a circle, a name that is too long, a NUL
            inside = False
        if not inside or os.pardir in self._steps:
            raise UsageError(
                f"a table must be a file in the folder {self.root.name}/: the path names what is "
                "not there, or leads out of it by a parent step or a link"
            )


@dataclass(frozen=True)
class MetadataPath(os.PathLike[str]):
    """The folder of a table of Iceberg, which is read as one file of its metadata says."""

    metadata: str

    def __fspath__(self) -> str:
        return os.path.dirname(os.path.dirname(os.path.abspath(self.metadata)))


class PathList(os.PathLike[str]):
    """Several paths that are one table, in any order; its own path is that of no file.

    >>> os.fspath(PathList(["data/b.csv", "data/a.csv"]))
    'data/(73228451c22d667c) a.csv + b.csv'
    """

    def __init__(self, paths: Sequence[str | os.PathLike[str]]) -> None:
        self.paths = sorted({typed(path) for path in paths})
        if not self.paths:
            raise UsageError("a list of paths names at least one file")
        if any("://" in path for path in self.paths):
            raise UsageError("a list of paths names local files: open an address on its own")
        absolute = [os.path.abspath(path) for path in self.paths]
        if len({os.path.isabs(path) for path in self.paths}) > 1:
            self.paths = sorted(os.path.join(os.getcwd(), path) for path in self.paths)
        folder = os.path.commonpath([os.path.dirname(path) for path in absolute])
        names = sorted(Path(os.path.relpath(path, folder)).as_posix() for path in absolute)
        digest = hashlib.sha256(json.dumps(names).encode()).hexdigest()[:16]
        shown = [Path(name).name for name in names[-_MAX_NAMED:]]
        if len(names) > _MAX_NAMED:
            shown.insert(0, f"{len(names) - _MAX_NAMED} more")
        # last the name of a file, whose end says how it is written
        self._path = os.path.join(os.path.relpath(folder), f"({digest}) {' + '.join(shown)}")

    def __fspath__(self) -> str:
        return self._path

    @property
    def folder(self) -> str:
        """The folder of all of them, as typed; parts such as ``site=1`` below it are columns."""
        return os.path.commonpath([_before_pattern(Path(path).parts) for path in self.paths])


def _before_pattern(parts: Sequence[str]) -> str:
    """Return the folder before the last part of a path, or before its first wildcard."""
    magic = [index for index, part in enumerate(parts[:-1]) if any(sign in part for sign in "*?[")]
    return os.path.join("", *parts[: magic[0] if magic else -1])


def typed(path: str | os.PathLike[str]) -> str:
    """Return a path as the user means it: ``~`` is their home, but in a confined path."""
    if isinstance(path, ConfinedPath):
        return path.path
    if not isinstance(path, (str, os.PathLike)):
        raise UsageError(f"a path is text, not a value of type {type(path).__name__}")
    return os.path.expanduser(os.fspath(path))


def is_hidden(name: str) -> bool:
    """True if a name in a folder is skipped, as Spark does.

    >>> [is_hidden(n) for n in ("_temporary", ".crc", "_site=1", ".site=1", "a_b", "x._COPYING_")]
    [True, True, False, True, False, True]
    """
    return (
        name.startswith((".", "~$"))  # the latter while Excel has a workbook open
        or (name.startswith("_") and "=" not in name)
        or name.endswith("._COPYING_")
    )


def folder_columns(path: str, files: Sequence[str]) -> tuple[str, ...]:
    """Return the names in the parts of a folder, where all files have the same ones."""
    location = Path(path)
    fixed = location.parts
    if not location.is_dir():
        magic = [i for i, part in enumerate(fixed) if any(sign in part for sign in "*?[")]
        fixed = fixed[: magic[0]] if magic else fixed[:-1]
    names = {
        tuple(p.partition("=")[0] for p in Path(f).parts[len(fixed) : -1] if "=" in p)
        for f in files
    }
    return names.pop() if len(names) == 1 else ()


def data_files(path: str | os.PathLike[str]) -> list[str]:
    """Return the data files that a path, a folder, a pattern or a list of them names."""
    # sorted; all of one kind
    if isinstance(path, PathList):
        listed = [file for each in path.paths for file in data_files(each)]
        return _of_one_kind(os.fspath(path), listed)
    shown = os.fspath(path)
    if not shown:
        raise DataSourceError("the path is empty: name a file or a folder ('.' is this one)")
    check = path.check if isinstance(path, ConfinedPath) else check_nothing
    location = Path(typed(path))
    try:
        files, hint = _find(location, check)
    except PermissionError:
        raise DataSourceError(f"{shown}: {_NO_RIGHT}") from None
    except OSError:
        files, hint = [], "its folders cannot be listed; name the files with a glob"
    for file in files:
        check(file)
    refuse_table_format(files, str(location) if location.is_dir() else None)
    if location.is_dir():
        _refuse_depths(location, files)
    if not files:
        raise DataSourceError(f"{shown}: {hint}")
    return _of_one_kind(shown, files)


def _of_one_kind(shown: str, files: list[str]) -> list[str]:
    """Return files, or raise where one of them is there twice or of another kind."""
    seen: dict[tuple[int, int], str] = {}
    for file in files:
        status = _readable(file)
        number = status.st_dev, status.st_ino
        twin = seen.get(number)
        seen[number] = file
        if twin is not None:  # under the same name too, as two patterns of a list may give it
            raise DataSourceError(
                f"{twin} and {file} are one file, whose rows would count twice: name one of them"
            )
    kinds = {"text" if is_text_name(file) else _kind(file): file for file in files}
    if len(kinds) > 1:
        names = " and ".join(Path(file).name for file in list(kinds.values())[:2])
        raise DataSourceError(f"{shown} mixes kinds of files, {names}: name one kind with a glob")
    return files


def database_file(path: str | os.PathLike[str]) -> bool:
    """True if a path names a database of DuckDB or SQLite: by its content, or by its name."""
    shown = os.fspath(path)
    if "://" in shown:
        return False
    location = typed(path)
    if os.path.isfile(location):
        return kind_of(location) in ("duckdb", "sqlite")
    return location.casefold().endswith(_DATABASE) and not os.path.exists(location)


def lake_of(path: str | os.PathLike[str]) -> str:
    """Return the format of a table that is read by its log, where a path names its folder.

    >>> lake_of("visits.parquet")
    ''
    """
    if "://" in os.fspath(path):
        return ""
    location = path.metadata if isinstance(path, MetadataPath) else typed(path)
    if location.casefold().endswith(METADATA) and os.path.isfile(location):
        return "Iceberg"
    kind = _own_format(location) if os.path.isdir(location) else ""
    return kind if kind in ("Delta", "Iceberg", "Hudi") else ""


# The formats of the folders that a caller reads once for many paths.
_FORMATS_READ: ContextVar[dict[str, tuple[str, str]] | None] = ContextVar("formats", default=None)


@contextmanager
def folders_read_once() -> Iterator[None]:
    """Look at each folder once for all paths that are located in the block.

    Thousands of files of one folder would otherwise list it as often as there are files.
    """
    token = _FORMATS_READ.set({})
    try:
        yield
    finally:
        _FORMATS_READ.reset(token)


def refuse_table_format(files: Sequence[str], folder: str | None = None) -> None:
    """Raise if files or a folder belong to a table whose log says which rows count."""
    ways = [way for file in files for way in (os.path.abspath(file), os.path.realpath(file))]
    folders = [os.path.dirname(way) for way in ways]
    if folder is not None:
        folders += [os.path.abspath(folder), os.path.realpath(folder)]
    shared = _FORMATS_READ.get()
    known: dict[str, tuple[str, str]] = {} if shared is None else shared
    formats = [_format_of(directory, known) for directory in dict.fromkeys(folders)]
    formats += [
        ("DuckLake", os.path.dirname(way))
        for way in ways
        if _DUCKLAKE.fullmatch(os.path.basename(way))
    ]
    for kind, root in formats:
        if kind:
            raise TableFormatError(
                f"{root} is a table of {kind}, whose log says which of its files count: read as "
                "Parquet files alone, removed rows would count again. "
                + _FORMATS[kind].replace("TABLE", Path(root).name)
            )


def _format_of(folder: str, known: dict[str, tuple[str, str]]) -> tuple[str, str]:
    """Return the format of the table that a folder belongs to, and where that table is."""
    if folder not in known:
        above = os.path.dirname(folder)
        kind = _own_format(folder)
        known[folder] = (kind, folder) if kind or above == folder else _format_of(above, known)
    return known[folder]


def _own_format(folder: str) -> str:
    """Return the format of the table in a folder; nothing for any other folder."""
    if folder.endswith(".ducklake.files"):
        return "DuckLake"
    below = {
        "_delta_log": "Delta",
        ".hoodie": "Hudi",
        "_spark_metadata": "Spark's streaming sink",
    }
    for name, kind in below.items():
        if os.path.isdir(os.path.join(folder, name)):
            return kind
    metadata = os.path.join(folder, "metadata")
    if os.path.isdir(metadata) and any(".metadata.json" in n for n in _names(metadata)):
        return "Iceberg"
    parts = ("manifest", "snapshot", "schema")
    if all(os.path.isdir(os.path.join(folder, name)) for name in parts):
        return "Paimon"
    return "Databricks" if _has_superseded(folder) else ""


def _has_superseded(folder: str) -> bool:
    """True if a folder has files that a commit of Databricks removed, or that none added."""
    names = _names(folder)
    noted = {name for name in names if name.startswith("_committed_")}
    started = {name.removeprefix("_started_") for name in names if name.startswith("_started_")}
    pending = started - {name.removeprefix("_committed_") for name in noted}
    if any(f"-tid-{number}-" in name for number in pending for name in names):
        return True
    removed: set[str] = set()
    for name in noted:
        damaged = suppress(OSError, ValueError, KeyError, TypeError)
        with damaged, open(os.path.join(folder, name), encoding="utf-8") as file:
            removed.update(json.load(file)["removed"])
    return not removed.isdisjoint(names)


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def check_nothing(location: str) -> None:
    """Check nothing: the path is the user's own."""


def _find(location: Path, check: Callable[[str], None]) -> tuple[list[str], str]:
    """Return the files at a location, and the message if there are none."""
    parts = location.parts
    magic = [index for index, part in enumerate(parts) if any(sign in part for sign in "*?[")]
    before = Path(*parts[: magic[0]]) if magic else location
    check(str(before))
    if location.is_dir():
        return _in_folder(location, check)
    if location.exists():
        return [str(location)], ""
    if not magic:
        return [str(location)] if location.is_symlink() else [], _missing(location)
    if not before.is_dir():
        return [], f"there is no folder {before}"
    named = set(_matches(str(before), list(parts[magic[0] :]), check))
    # The ledger is next to the files by default: visits* means the tables.
    hint = "file not found" if len(magic) > 1 or magic[0] < len(parts) - 1 else _missing(location)
    return sorted(file for file in named if not file.endswith(_LEDGER)), hint


def _in_folder(location: Path, check: Callable[[str], None]) -> tuple[list[str], str]:
    """Return the data files of a folder."""
    named = [
        file
        for folder in _walked(str(location), check)
        for file in _listed(folder)
        if _is_file(file)
    ]
    for file in named:  # rows that would be left out without a word
        if _PACKED.search(file) and is_packed(kind := kind_of(file)):
            raise DataSourceError(unread(file, kind))
    data = sorted(file for file in named if not is_text_name(file) and _is_data(file))
    for file, longer in itertools.pairwise(data):  # sorted, so that some longer name comes next
        known = has_data_name(file) or file.casefold().endswith(tuple(_NAMES))
        if known and longer.startswith(file):
            raise DataSourceError(
                f"{longer} has the name of {Path(file).name} and more, as a copy has, whose rows "
                "would count twice: move it away, or name the files that count with a glob"
            )
    hint = "it holds no .csv or .parquet file"
    if any(map(is_text_name, named)):
        hint += "; name files of text with a glob, as in *.txt"
    return data, hint


def _refuse_depths(location: Path, files: Sequence[str]) -> None:
    """Raise if files are in a folder and others below it: a backup counts everybody twice."""
    depths = {_plain_parts(file, location): file for file in files}
    if len({len(parts) for parts in depths}) > 1:
        nested = max(depths, key=len)
        end = Path(depths[nested]).suffix
        raise DataSourceError(
            f"{location} holds files of a table, and more of them in the folder {nested[0]}, which "
            f"may be another one: name those that count, as in {location}/*{end} or, for all, "
            f"{location}/**/*{end}"
        )


def _plain_parts(file: str, location: Path) -> tuple[str, ...]:
    """Return the folders between a location and a file that are not parts as ``site=1``."""
    between = Path(file).parts[len(location.parts) : -1]
    return tuple(part for part in between if "=" not in part)


def _is_data(file: str) -> bool:
    """True if a file in a folder is data: by its name, or by its content."""
    return has_data_name(file) or kind_of(file) in READ


def _is_file(file: str) -> bool:
    """True if a path is not a folder; opening it checks what else it is."""
    return not os.path.isdir(file)


def _listed(folder: str) -> list[str]:
    """Return the paths in a folder, without hidden names, sorted."""
    return [os.path.join(folder, n) for n in sorted(os.listdir(folder)) if not is_hidden(n)]


def _walked(folder: str, check: Callable[[str], None]) -> Iterator[str]:
    """Yield a folder and those below it, through links too."""
    seen: dict[tuple[int, int], str] = {}
    waiting = [folder]
    while waiting:
        current = waiting.pop()
        check(current)
        status = os.stat(current)
        twin = seen.setdefault((status.st_dev, status.st_ino), current)
        if twin != current:
            raise DataSourceError(
                f"{twin} and {current} are one folder, whose rows would count twice: name the "
                "files with a glob that does not follow this link"
            )
        yield current
        waiting += [below for below in reversed(_listed(current)) if os.path.isdir(below)]


def _matches(folder: str, pattern: list[str], check: Callable[[str], None]) -> Iterator[str]:
    """Yield the files below a folder that a pattern matches, part by part."""
    check(folder)
    first, *rest = pattern
    if first == "**":
        for below in _walked(folder, check):
            yield from _matches(below, rest or ["*"], check)
        return
    if not any(sign in first for sign in "*?["):
        names = [first] if os.path.lexists(os.path.join(folder, first)) else []
    else:
        names = [
            name
            for name in sorted(os.listdir(folder or os.curdir))
            if fnmatchcase(name, first) and (not is_hidden(name) or name[0] == first[0])
        ]
    for name in names:
        path = os.path.join(folder, name)
        if rest and os.path.isdir(path):
            yield from _matches(path, rest, check)
        elif not rest and _is_file(path):
            yield str(Path(path))


def _missing(location: Path) -> str:
    """Return why there is no file at a location."""
    if not location.parent.is_dir():
        return f"there is no folder {location.parent}"
    if not os.access(location.parent, os.R_OK | os.X_OK):
        return _NO_RIGHT
    names = [file.name for file in location.parent.iterdir()]
    return f"file not found; {did_you_mean(location.name, names)}"


def _readable(file: str) -> os.stat_result:
    """Return the status of a file, or raise if it cannot be read as a table."""
    try:
        status = os.stat(file)
    except PermissionError:
        raise DataSourceError(f"{file} {_NO_RIGHT}") from None
    except OSError:
        raise DataSourceError(
            f"{file} leads to no file: repair the link, or bring the file back"
        ) from None
    if not stat.S_ISREG(status.st_mode):
        raise DataSourceError(
            f"{file} is a pipe, a device or a socket, which can be read but once or never ends: "
            "write what comes out of it to a file, and name that"
        )
    if not os.access(file, os.R_OK):
        raise DataSourceError(f"{file} {_NO_RIGHT}")
    if not status.st_size:
        raise DataSourceError(f"{file} is empty: a table needs at least the names of its columns")
    return status


def _kind(file: str) -> str:
    """Return the kind of a data file."""
    kind = kind_of(file)
    if kind not in READ:
        if file.casefold().endswith(_DATABASE) and kind in ("text", "unknown"):
            raise DataSourceError(f"{file} has the name of a database, and is none")
        raise DataSourceError(unread(file, kind))
    return kind
