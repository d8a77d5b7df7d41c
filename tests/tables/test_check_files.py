"""Codes that no one declared are asked about alike in a file of every kind, and missing once they
are declared."""

from __future__ import annotations

import random
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet
import pytest

import tacit as tc
from support.servers.left_out import leave_out
from support.tables import lake_tables
from support.tables.column_questions import count
from support.tables.hudi_tables import Hudi
from tacit.expressions.expression import col
from tacit.tables.open_source import open_source
from tacit.tables.privacy_unit import OneRowEach

DRAW = random.Random(40)
SIZE = 400
NUMBERS: dict[str, list[Any]] = {
    "age": [DRAW.choice([*range(18, 91), *[999] * 9]) for _ in range(SIZE)],
    "score": [DRAW.choice([*range(21), 99]) for _ in range(SIZE)],
    "kids": [DRAW.choice([0, 1, 2, 3, -9]) for _ in range(SIZE)],
    "pay": [DRAW.choice([0.5, 12.25, 80.0, 99.5, 9999.0]) for _ in range(SIZE)],
}
WORDS = {"said": [DRAW.choice(["yes", "no"]) for _ in range(SIZE)]}
FRAME = pd.DataFrame({**NUMBERS, **WORDS})
CODES: dict[str, list[Any]] = {"age": [999], "score": [99], "kids": [-9], "pay": [9999]}
COUNTS = {
    name: {str(code): NUMBERS[name].count(code) for code in codes} for name, codes in CODES.items()
}
BOUNDS = {"age": (0, 120), "score": (0, 20), "kids": (0, 5), "pay": (0, 100)}
MEANS = {
    name: sum(known) / len(known)
    for name, codes in CODES.items()
    for known in [[x for x in NUMBERS[name] if x not in codes]]
}

# Of each name what writes the rows there, and returns the options to read them.
Writer = Callable[[Path], dict[str, Any] | None]
WRITERS: dict[str, Writer] = {}


def writer(*names: str) -> Callable[[Writer], Writer]:
    """Register what writes files of these names."""

    def registered(write: Writer) -> Writer:
        WRITERS.update(dict.fromkeys(names, write))
        return write

    return registered


@writer("a.csv", "a.csv.gz", "a.csv.bz2", "a.csv.xz", "a.csv.zst")
def _csv(path: Path) -> None:
    FRAME.to_csv(path, index=False)


@writer("a.tsv", "a.tab")
def _decimal_comma(path: Path) -> dict[str, Any]:
    FRAME.to_csv(path, index=False, sep="\t", decimal=",", encoding="utf-16")
    return {"decimal": ",", "encoding": "utf-16"}


@writer("a.dat")
def _fixed_width(path: Path) -> dict[str, Any]:
    lines = [
        "".join(f"{value:>8}" for value in row) + "\n"
        for row in FRAME.itertuples(index=False, name=None)
    ]
    path.write_text("".join(lines))
    layout = [
        {"name": name, "start": 8 * place + 1, "width": 8} for place, name in enumerate(FRAME)
    ]
    return {"layout": layout}


@writer("a.parquet")
def _parquet(path: Path) -> None:
    FRAME.to_parquet(path)


@writer("a.feather")
def _feather(path: Path) -> None:
    FRAME.to_feather(path)


@writer("a.arrows")
def _stream(path: Path) -> None:
    table = pa.Table.from_pandas(FRAME)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as to:
        to.write_table(table, max_chunksize=150)


@writer("a.orc")
def _orc(path: Path) -> None:
    pa.orc.write_table(pa.Table.from_pandas(FRAME), str(path))


@writer("a.avro")
def _avro(path: Path) -> None:
    fastavro = pytest.importorskip("fastavro", reason="pip install 'tacit-dp[files]'")
    kinds = {**dict.fromkeys(NUMBERS, "long"), "pay": "double", "said": "string"}
    fields = [{"name": name, "type": ["null", kind]} for name, kind in kinds.items()]
    with path.open("wb") as file:
        fastavro.writer(
            file, {"type": "record", "name": "r", "fields": fields}, FRAME.to_dict("records")
        )


@writer("a.jsonl")
def _json_lines(path: Path) -> dict[str, Any]:
    FRAME.to_json(path, orient="records", lines=True)
    return {"header": list(FRAME)}


@writer("a.xlsx")
def _workbook(path: Path) -> dict[str, Any]:
    with pd.ExcelWriter(path, engine="openpyxl") as to:
        FRAME.to_excel(to, sheet_name="S", index=False)
        openpyxl.Workbook.create_sheet(to.book, "T")
    return {"sheet": "S"}


@writer("a.ods")
def _opendocument(path: Path) -> None:
    program = shutil.which("soffice")
    if program is None:
        leave_out("LibreOffice", "apt-get install libreoffice-calc-nogui")
    FRAME.to_excel(path.with_suffix(".xlsx"), index=False)
    home = f"-env:UserInstallation={(path.parent / 'home').as_uri()}"
    to = ["--headless", "--convert-to", "ods", "--outdir", path.parent, path.with_suffix(".xlsx")]
    subprocess.run([program, home, *to], check=True, capture_output=True, timeout=300)


@writer("a.sav", "a.zsav", "a.por", "a.dta", "a.xpt")
def _survey(path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat", reason="pip install 'tacit-dp[files]'")
    if path.suffix == ".zsav":
        pyreadstat.write_sav(FRAME, path, compress=True)
    else:
        end = {".xpt": "xport"}.get(path.suffix, path.suffix[1:])
        getattr(pyreadstat, f"write_{end}")(FRAME, path)


@writer("a.sas7bdat")
def _sas(path: Path) -> None:
    program = shutil.which("Rscript")
    if program is None:
        leave_out("R", "apt-get install r-cran-haven r-cran-mass")
    FRAME.to_csv(path.parent / "for-r.csv", index=False)
    code = 'suppressWarnings(haven::write_sas(read.csv("for-r.csv"), "a.sas7bdat"))'
    done = subprocess.run([program, "-e", code], cwd=path.parent, capture_output=True, text=True)
    if "there is no package called" in done.stderr:
        leave_out("haven", "apt-get install r-cran-haven r-cran-mass")
    assert done.returncode == 0, done.stderr


@writer("a.sqlite", "sqlite.db")
def _sqlite(path: Path) -> dict[str, Any]:
    connection = sqlite3.connect(path)
    FRAME.to_sql("people", connection, index=False)
    connection.close()
    return {"table": "people"}


@writer("a.duckdb", "duckdb.db")
def _duckdb(path: Path) -> dict[str, Any]:
    with duckdb.connect(str(path)) as connection:
        connection.register("given", FRAME)
        connection.execute("create table people as select * from given")
    return {"table": "people"}


@writer("delta")
def _delta(path: Path) -> None:
    deltalake = pytest.importorskip("deltalake", reason="pip install 'tacit-dp[lake]'")
    deltalake.write_deltalake(str(path), pa.Table.from_pandas(FRAME))


@writer("iceberg")
def _iceberg(path: Path) -> None:
    pytest.importorskip("pyiceberg", reason="pip install 'tacit-dp[lake]'")
    rows = pa.Table.from_pandas(FRAME, preserve_index=False)
    catalog = lake_tables.iceberg_catalog(path.parent)
    catalog.create_table("n.people", rows.schema, location=path.as_uri()).append(rows)


@writer("hudi")
def _hudi(path: Path) -> None:
    path.mkdir()
    rows = pa.Table.from_pandas(FRAME, preserve_index=False)
    strings = [field.with_type(pa.string()) for field in rows.schema if field.name in WORDS]
    schema = pa.schema([f for f in rows.schema if f.name not in WORDS] + strings)
    Hudi(path).write("20240101120000000", "f1", rows.cast(schema))


@pytest.mark.full
@pytest.mark.parametrize("name", WRITERS)
def test_codes_are_asked_about_and_missing_once_they_are_declared(name, tmp_path):
    path = tmp_path / name
    options = WRITERS[name](path) or {}
    # the format has no small letters
    named = {c: c.upper() if name == "a.por" else c for c in FRAME}
    asked = tc.check(path, **options)
    assert asked.rows == SIZE
    assert {c: dict(column.codes) for c, column in asked.columns.items() if column.codes} == {
        named[c]: counts for c, counts in COUNTS.items()
    }
    codes = {named[c]: listed for c, listed in CODES.items()}
    assert asked.missing == codes
    assert "Are these values codes for missing answers?  Declare those that are" in str(asked)

    declared = tc.check(path, **options, missing=codes)
    assert declared.missing == {}
    assert "missing answers" not in str(declared)
    filled = {c: column.filled for c, column in declared.columns.items()}
    assert filled == {c: SIZE - sum(COUNTS.get(own, {}).values()) for own, c in named.items()}
    with open_source(path, **options, missing=codes) as source:
        for own, counts in COUNTS.items():
            missing = count(source, col(named[own]).is_null())
            assert missing == sum(counts.values()) * OneRowEach.one
    with tc.Session(
        path, tc.one_row_each, tc.epsilon(1e6), tc.in_memory, **options, missing=codes
    ) as session:
        means = {c: tc.mean(named[c], *bounds) for c, bounds in BOUNDS.items()}
        answer = session.agg(**means).release(epsilon=1e6)
        reading = answer.certificate.body["question"]["query"]["reading"]
        assert reading["missing"] == codes
        for own, mean in MEANS.items():
            assert answer.value(own) == pytest.approx(mean, abs=0.01)


@pytest.mark.parametrize("version", [5, 8])
def test_several_tables_of_a_transport_file_are_told(version, tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat", reason="pip install 'tacit-dp[files]'")
    frame = pd.DataFrame({"s": ["x", "HEADER RECORD*******MEMBER  HEADER RECORD!!!!!!!"], "t": "y"})
    pyreadstat.write_xport(frame, tmp_path / "one.xpt", file_format_version=version)
    one = (tmp_path / "one.xpt").read_bytes()
    assert not tc.check(tmp_path / "one.xpt").tables
    if version == 5:  # of one that counts its rows the rest is refused when it is opened
        first = one.index(b"HEADER RECORD*******MEMBER  HEADER")
        (tmp_path / "three.xpt").write_bytes(one + 2 * one[first:])
        found = tc.check(tmp_path / "three.xpt")
        assert found.tables == {"three.xpt": 3}
        assert "three.xpt SEEMS TO HAVE 3 TABLES" in str(found)
        assert found.to_json()["tables"] == {"three.xpt": 3}
