"""Every kind of file: read by its content, or called what it is with the way to its rows."""

from __future__ import annotations

import gzip
import os
import sqlite3
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

import tacit as tc
from tacit.errors import DataSourceError
from tacit.tables.open_source import open_source
from tacit.tables.privacy_unit import OneRowEach
from tacit.tables.query.integer_query import Query
from tacit.tables.query.requests import Rows


def rows_of(source: object, **csv: object) -> int:
    with open_source(source, **csv) as opened:  # type: ignore[arg-type]
        return int(Query(opened, OneRowEach()).run([Rows()]).of(Rows())[0])


def healthy(folder: Path) -> dict[str, tuple[Path, str]]:
    """Write a healthy file of each kind, with a part of what is said of it."""
    table = pa.table({"a": [1, 2], "b": ["x", "y"]})
    frame = table.to_pandas()
    text = "a\tb\n1\tx\n"
    sqlite = sqlite3.connect(folder / "v.sqlite")
    sqlite.execute("create table v (a)")
    sqlite.commit()
    sqlite.close()
    pyarrow.feather.write_feather(table, folder / "v.feather")
    with pa.ipc.new_stream(folder / "v.arrows", table.schema) as stream:
        stream.write_table(table)
    pyarrow.orc.write_table(table, folder / "v.orc")
    frame.to_stata(folder / "v.dta")
    frame.to_excel(folder / "v.xlsx")
    frame.to_pickle(folder / "v.pkl")
    (folder / "v.json").write_text(frame.to_json())
    (folder / "v.jsonl").write_text(frame.to_json(orient="records", lines=True))
    (folder / "v.sav").write_bytes(b"$FL2@(#) SPSS DATA FILE" + bytes(200))
    (folder / "v.por").write_bytes(b"ASCII SPSS PORT FILE".ljust(200))
    (folder / "v.csv.zst").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(9))
    for name in ("v.tab", "v.dat", "v"):
        (folder / name).write_text(text)
    frame.to_csv(folder / "v.csv.bz2")
    frame.to_csv(folder / "v.csv.xz")
    frame.to_csv(folder / "v.csv.zip")
    said = {
        "v.sqlite": "a database of SQLite: .*read_sql",
        "v.feather": "a file of Arrow: .*feather.read_table",
        "v.arrows": "a stream of Arrow",
        "v.orc": "a file of ORC: .*orc.read_table",
        "v.dta": "a file of Stata: .*read_stata",
        "v.xlsx": "a workbook: .*read_excel",
        "v.pkl": "a pickle of Python",
        "v.json": "a file of JSON: .*read_json",
        "v.jsonl": "a file of JSON: .*lines=True",
        "v.sav": "a file of SPSS: .*read_spss",
        "v.por": "a portable file of SPSS: .*read_por",
        "v.csv.zst": "packed with zstd: unpack",
        "v.csv.bz2": "packed with bzip2",
        "v.csv.xz": "packed with xz",
        "v.csv.zip": "a zip archive",
        "v.tab": "text: if tabs separate its fields, name it .tsv",
        "v.dat": "text: if a character separates",
        "v": "text: if a character separates",
    }
    return {name: (folder / name, words) for name, words in said.items()}


@pytest.mark.full
def test_a_healthy_file_of_another_kind_is_called_what_it_is_by_any_name(tmp_path: Path) -> None:
    """They were to be named .csv or .parquet, after which they were damaged."""
    for name, (path, words) in healthy(tmp_path).items():
        places = [path]
        by_content = words.partition(":")[0] != "text" and name not in ("v.pkl", "v.jsonl", "v.por")
        for end in (".parquet", ".csv", ".csv.gz", ".duckdb", ".db") if by_content else ():
            if (
                name not in ("v.json", "v.orc") or end == ".parquet"
            ):  # their first line may be names
                places.append(tmp_path / f"named-{name.replace('.', '-')}{end}")
                places[-1].write_bytes(path.read_bytes())
        for place in places:
            said = words.replace("a workbook", "a (workbook|zip archive)")
            if place is not path:
                said = said.partition(":")[0]
            with pytest.raises(DataSourceError, match=said) as caught:
                open_source(place)
            assert "damaged" not in str(caught.value), place
            with pytest.raises(DataSourceError, match=said):
                tc.check(place)


def test_names_that_do_not_say_are_read_by_content(tmp_path: Path) -> None:
    row = pa.table({"a": [1]})
    for name in ("v.parq", "v.pqt", "v.dat", "v", "v.parquet.gzip", "v.db"):
        pq.write_table(row, tmp_path / name)
        assert rows_of(tmp_path / name) == 1
        os.unlink(tmp_path / name)
    pq.write_table(row, tmp_path / "v.csv")
    with pytest.raises(DataSourceError, match=r"is a Parquet file: name it \.parquet"):
        open_source(tmp_path / "v.csv")
    (tmp_path / "w.parquet").write_text("a,b\n1,2\n")
    with pytest.raises(DataSourceError, match=r"w\.parquet is text: .* name it \.csv"):
        open_source(tmp_path / "w.parquet")
    (tmp_path / "w.csv.gz").write_text("a,b\n1,2\n")
    with pytest.raises(DataSourceError, match=r"is not packed, and its name ends in \.gz"):
        open_source(tmp_path / "w.csv.gz")
    (tmp_path / "x.csv").write_bytes(gzip.compress(b"a\n1\n"))
    with pytest.raises(DataSourceError, match=r"packed with gzip: name it \.csv\.gz"):
        open_source(tmp_path / "x.csv")
    (tmp_path / "u.csv").write_bytes("a,b\n1,2\n".encode("utf-16"))
    with pytest.raises(DataSourceError, match="UTF-16 does: write the file in UTF-8"):
        open_source(tmp_path / "u.csv")


def test_no_row_changes_what_kind_a_file_is(tmp_path: Path) -> None:
    """Where the first line is a row, it may look like anything."""
    for first in (b"PAR1,1\n", b"SQLite format 3\0,1\n", b'{"a":1},1\n'):
        (tmp_path / "v.csv").write_bytes(first + b"x,1\n")
        assert rows_of(tmp_path / "v.csv", header=["a", "b"]) == 2
