"""What a hundred thousand rows of a file take of memory, in a process of its own."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import sqlite3
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import xlsxwriter

pyreadstat = pytest.importorskip("pyreadstat", reason="pip install 'tacit-dp[files]'")
deltalake = pytest.importorskip("deltalake", reason="pip install 'tacit-dp[lake]'")
zstandard = pytest.importorskip("zstandard")

# Bytes above those of the same process when it has read ten rows of the same kind: neither the
# engine nor the code of a library grows with the rows.  Of a workbook, a packed CSV file or a
# ``.zsav`` what is compared is its content: how far it is packed depends on the values.

ROWS, COLUMNS = 100_000, 16
READ = """
import json, sys
import tacit as tc
from tacit.tables.open_source import open_source
more = json.loads(sys.argv[3])
def peak():
    return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) * 1024
def read(path):
    with open_source(path, **more) as source:
        counts = ", ".join(f'count("{name}")' for name in source.columns)
        return source.engine.rows(f"select {counts} from {source.relation} as t")[0]
assert set(read(sys.argv[1])) == {10}
before = peak()
assert set(read(sys.argv[2])) == {int(sys.argv[4])}
print(peak() - before)
"""


def table(rows: int) -> Any:
    draw = np.random.default_rng(1)
    return pa.table({
        "person": draw.integers(0, 10**9, rows),
        "site": [f"site {i % 10}" for i in range(rows)],
        **{f"x{i}": draw.normal(size=rows).round(6) for i in range(14)},
    })  # fmt: skip


def survey(writer: str, **more: Any) -> Any:
    return lambda data, path: getattr(pyreadstat, writer)(data.to_pandas(), path, **more)


def avro(data: Any, path: Path) -> None:
    import fastavro

    kinds = {"int64": "long", "double": "double", "string": "string"}
    fields = [{"name": f.name, "type": ["null", kinds[str(f.type)]]} for f in data.schema]
    with path.open("wb") as file:
        fastavro.writer(file, {"type": "record", "name": "r", "fields": fields}, data.to_pylist())


def lines(data: Any, path: Path) -> None:
    with path.open("w") as file:
        file.writelines(json.dumps(row) + "\n" for row in data.to_pylist())


def text(data: Any, path: Path) -> None:
    with PACKED.get(path.suffix, open)(path, "wt") as file:
        file.write(",".join(data.column_names) + "\n")
        for row in zip(*data.to_pydict().values(), strict=True):
            file.write(",".join(map(str, row)) + "\n")


def fixed(data: Any, path: Path) -> None:
    with path.open("w") as file:
        for row in zip(*data.to_pydict().values(), strict=True):
            file.write("".join(f"{cell!s:>12}" for cell in row) + "\n")


def database(data: Any, path: Path) -> None:
    with sqlite3.connect(path) as connection:
        kinds = {"int64": "integer", "double": "real", "string": "text"}
        columns = ", ".join(f"{f.name} {kinds[str(f.type)]}" for f in data.schema)
        connection.execute(f"create table t ({columns})")
        marks = ", ".join("?" * data.num_columns)
        rows = zip(*data.to_pydict().values(), strict=True)
        connection.executemany(f"insert into t values ({marks})", rows)
    connection.close()


def stream(data: Any, path: Path) -> None:
    with pa.ipc.new_stream(path, data.schema) as file:
        file.write_table(data)


def rows_of(data: Any) -> Any:
    yield data.column_names
    yield from zip(*data.to_pydict().values(), strict=True)


def excel(data: Any, path: Path) -> None:
    with xlsxwriter.Workbook(path, {"constant_memory": True}) as book:
        sheet = book.add_worksheet()
        for index, row in enumerate(rows_of(data)):
            sheet.write_row(index, 0, row)


def opendocument(data: Any, path: Path) -> None:
    spaces = "".join(
        f' xmlns:{s}="urn:oasis:names:tc:opendocument:xmlns:{s}:1.0"'
        for s in ("table", "office", "text")
    )
    cell = '<table:table-cell office:value-type="{}"{}><text:p>{}</text:p></table:table-cell>'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        with file.open("content.xml", "w") as sheet:
            top = f"<office:document-content{spaces}><office:body><office:spreadsheet>"
            sheet.write(f'{top}<table:table table:name="S">'.encode())
            for row in rows_of(data):
                cells = "".join(
                    cell.format("string", "", each)
                    if isinstance(each, str)
                    else cell.format("float", f' office:value="{each}"', each)
                    for each in row
                )
                sheet.write(f"<table:table-row>{cells}</table:table-row>".encode())
            end = "</table:table></office:spreadsheet></office:body></office:document-content>"
            sheet.write(end.encode())


WRITERS: dict[str, Any] = {
    "feather": lambda data, path: __import__("pyarrow.feather").feather.write_feather(data, path),
    "arrows": stream,
    "orc": lambda data, path: __import__("pyarrow.orc").orc.write_table(data, path),
    "avro": avro,
    "jsonl": lines,
    "sav": survey("write_sav"),
    "zsav": survey("write_sav", compress=True),
    "row.sav": survey("write_sav", row_compress=True),
    "por": survey("write_por"),
    "dta": survey("write_dta"),
    "xpt": survey("write_xport"),
    "sqlite": database,
    **dict.fromkeys(["csv", "csv.gz", "csv.bz2", "csv.xz", "csv.zst"], text),
    "dat": fixed,
    "parquet": lambda data, path: __import__("pyarrow.parquet").parquet.write_table(data, path),
    "delta": lambda data, path: deltalake.write_deltalake(str(path), data),
    "xlsx": excel,
    "ods": opendocument,
}
PACKED: dict[str, Any] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": zstandard.open,
}
OPTIONS: dict[str, Any] = {
    "sqlite": {"table": "t"},
    "jsonl": {"header": table(1).column_names},
    "dat": {
        "layout": [
            {"name": name, "start": 12 * i + 1, "width": 12}
            for i, name in enumerate(table(1).column_names)
        ]
    },
}


def content(path: Path) -> int:
    """Return the bytes of a file or folder, unpacked where it is packed."""
    if path.is_dir():
        return sum(file.stat().st_size for file in path.rglob("*.parquet"))
    if path.suffix == ".zsav":
        return 8 * pyreadstat.read_sav(path, metadataonly=True)[1].number_rows * COLUMNS
    if path.suffix in PACKED:
        with PACKED[path.suffix](path, "rb") as file:
            return len(file.read())
    if path.suffix in (".xlsx", ".ods"):
        with zipfile.ZipFile(path) as file:
            return sum(part.file_size for part in file.infolist())
    return path.stat().st_size


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's own account")
@pytest.mark.full
@pytest.mark.parametrize("end", WRITERS)
def test_a_hundred_thousand_rows_take_three_times_their_file_at_most(end, tmp_path):
    small, large = tmp_path / f"small.{end}", tmp_path / f"large.{end}"
    WRITERS[end](table(10), small)
    WRITERS[end](table(ROWS), large)

    def above() -> int:
        words = [small, large, json.dumps(OPTIONS.get(end, {})), str(ROWS)]
        run = subprocess.run([sys.executable, "-c", READ, *words], capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        return int(run.stdout)

    # Threads meet differently in each run, and with them the buffers of the engine.
    most = 3 * content(large)
    assert above() <= most or sorted(above() for _ in range(3))[1] <= most
