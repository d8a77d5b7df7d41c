"""CSV files as other programs write them: signs of numbers, lines that are no rows, encodings,
packed files.  The truth is the table that the writer was given."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import tacit as tc
from support.examples import examples
from support.tables.hostile_lines import hostile
from tacit.errors import DataSourceError, DataSourceWarning, UsageError
from tacit.expressions.dialect import read_cell
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables.engines.csv import (
    CsvFormat,
    Utf8Stream,
    body_of,
    csv_format,
    file_lines,
    numbers_sql,
    parse,
)
from tacit.tables.engines.duckdb.engine import DUCKDB
from tacit.tables.open_source import Source, open_source
from tacit.tables.privacy_unit import OneRowEach
from tacit.tables.query.integer_query import IntegerQuery
from tacit.tables.query.requests import Moments, Rows
from tacit.tables.question import charge_of

CONNECTION = duckdb.connect()
GRID = Grid.for_bounds(-(1 << 24), 1 << 24, whole=True)


def integers(source: Source, columns: Any = ("n", "x")) -> Any:
    """Return what is added up of each column, before noise, and of each key of the last."""
    with source:
        moments = [Moments(col(name), GRID, squares=False) for name in columns]
        answer = IntegerQuery(source, OneRowEach()).run(moments)
        keys = ["a", "b", "é;", None]
        groups = IntegerQuery(source, OneRowEach(), by={"g": col("g")}, keys=keys).run([Rows()])
        return [answer.of(m).tolist() for m in moments], groups.of(Rows()).tolist()


def frame(seed: int, rows: int = 100) -> pd.DataFrame:
    draw = random.Random(seed)
    return pd.DataFrame({
        "n": pd.array(
            [draw.choice([None, draw.randrange(-(10**7), 10**7)]) for _ in range(rows)], "Int64"
        ),
        "x": [draw.choice([None, round(draw.uniform(-1e6, 1e6), 2)]) for _ in range(rows)],
        "g": [draw.choice(["a", "b", "é;", None]) for _ in range(rows)],
    })  # fmt: skip


def grouped(number: Any, decimal: str, thousands: str) -> str:
    """Write a number as a program for people does."""
    if pd.isna(number):
        return ""
    plain = f"{number:,}" if isinstance(number, int) else f"{number:,.2f}"
    return plain.translate({ord(","): thousands, ord("."): decimal})


def truth(table: pd.DataFrame) -> Any:
    return integers(open_source(pa.Table.from_pandas(table, preserve_index=False)))


SIGNS = {
    "a comma": (",", "", ";"),
    "German": (",", ".", ";"),
    "Swiss": (".", "\u2019", ","),
    "English": (".", ",", ","),
    "French": (",", "\u202f", ";"),
}


@pytest.mark.parametrize("declared", [False, True], ids=["undeclared", "declared"])
@pytest.mark.parametrize("signs", SIGNS.values(), ids=SIGNS)
def test_signs_of_numbers(signs, declared, tmp_path):
    decimal, thousands, delimiter = signs
    table = frame(1)
    shown = table.assign(**{c: [grouped(v, decimal, thousands) for v in table[c]] for c in "nx"})
    shown.to_csv(tmp_path / "a.csv", index=False, sep=delimiter)
    options: dict[str, Any] = {"types": {"n": "integer", "x": "float"}} if declared else {}
    options |= {"decimal": decimal, "thousands": thousands, "delimiter": delimiter}
    assert integers(open_source(tmp_path / "a.csv", **options)) == truth(table)
    if decimal == ",":
        del options["decimal"], options["thousands"]
        assert integers(open_source(tmp_path / "a.csv", **options)) != truth(table)


def test_pandas_writes_a_decimal_comma(tmp_path):
    table = frame(2)
    table.to_csv(tmp_path / "a.csv", index=False, sep=";", decimal=",")
    opened = open_source(tmp_path / "a.csv", delimiter=";", decimal=",")
    assert integers(opened) == truth(table)


numbers = st.text("0123456789.,' +-eE", max_size=12)


@given(st.lists(numbers, min_size=1, max_size=30), st.sampled_from([*SIGNS.values()]))
@example(
    ["1.5", "1.500", "1,5", "1.500,5", "1500,5", "15.00", "1.5.0", ",5", "5,", "yes"],
    SIGNS["German"],
)
def test_a_cell_is_what_its_signs_say(cells, signs):
    decimal, thousands, _ = signs
    form = csv_format(decimal=decimal, thousands=thousands)
    written = numbers_sql(form, DUCKDB).replace("{x}", "cell")
    listed = ", ".join(f"({DUCKDB.literal(cell)})" for cell in cells)
    found = CONNECTION.execute(f"select {written} from (values {listed}) as t(cell)").fetchall()
    for cell, (text,) in zip(cells, found, strict=True):
        assert read_cell("read_number", text) == by_hand(cell, decimal, thousands), cell


def by_hand(cell: str, decimal: str, thousands: str) -> float | None:
    """The number of a cell with these signs, by another way than a pattern."""
    text = cell.strip(" ")
    body, e, power = text.replace("E", "e").partition("e")
    whole, point, part = body.partition(decimal)
    sign, digits = (whole[:1], whole[1:]) if whole[:1] in ("+", "-") else ("", whole)
    groups = digits.split(thousands) if thousands else [digits]
    if len(groups) > 1 and not (1 <= len(groups[0]) <= 3 and all(len(g) == 3 for g in groups[1:])):
        return None
    digits = "".join(groups)
    plain = f"{sign}{digits}{'.' if point else ''}{part}{e}{power}"
    ascii_digits = all(c in "0123456789" for c in digits + part)
    return read_cell("read_number", plain) if ascii_digits else None


# ---- encodings


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("writer", ["pandas", "polars", "like Excel"])
def test_utf_16(encoding, writer, tmp_path):
    table, path = frame(3), tmp_path / "a.csv"
    text = table.to_csv(index=False)
    if writer == "polars":
        text = pl.from_pandas(table).write_csv()
    elif writer == "like Excel":
        text = table.to_csv(index=False, sep="\t", lineterminator="\r\n")
    path.write_bytes(text.encode(encoding))
    sign = "\t" if writer == "like Excel" else ","
    assert integers(open_source(path, encoding=encoding, delimiter=sign)) == truth(table)


def test_utf_16_without_a_mark_is_refused(tmp_path):
    (tmp_path / "a.csv").write_bytes("a,b\n1,2\n".encode("utf-16-le"))
    with pytest.raises(DataSourceError, match="byte order mark"):
        open_source(tmp_path / "a.csv", encoding="utf-16")


@examples(3)
@given(hostile, st.sampled_from(["utf-16-le", "utf-16-be"]), st.integers(1, 9))
@example(b"\x00\xd8\n\x00a\x00\n\x00", "utf-16-le", 1)
@example(b"a", "utf-16-le", 3)
def test_utf_16_is_total_whatever_the_blocks(data, encoding, block):
    def lines(size: int) -> bytes:
        return b"".join(file_lines(Utf8Stream(io.BytesIO(data), encoding), "utf-8", size))  # type: ignore[arg-type]

    whole = lines(1 << 20)
    assert lines(block) == whole
    assert len(parse(whole, CsvFormat(delimiter=","), 2)) <= whole.count(b"\n")


def test_half_a_character_spoils_its_line_alone(tmp_path):
    rows = ["n,x", "1,1", "2,\ud800", "3,3", "4,\udc00\ud800", "5,5"]
    text = ("\n".join(rows) + "\n").encode("utf-16", "surrogatepass")
    (tmp_path / "a.csv").write_bytes(text)
    with open_source(tmp_path / "a.csv", encoding="utf-16") as source:
        rows_, empty = (
            IntegerQuery(source, OneRowEach(), where=where).run([Rows()]).of(Rows())[0]
            // OneRowEach.one
            for where in (None, col("n").is_null())
        )
    assert (rows_, empty) == (5, 2)


# ---- packed files


def packed(text: bytes, name: str) -> bytes:
    if name.endswith(".zst"):
        return bytes(pa.compress(text, codec="zstd", asbytes=True))
    return {".gz": gzip, ".bz2": bz2, ".xz": lzma}["." + name.rpartition(".")[2]].compress(text)  # type: ignore[attr-defined,no-any-return]


@pytest.mark.parametrize("name", ["a.csv.gz", "a.csv.zst", "a.CSV.BZ2", "a.csv.xz", "a.txt.xz"])
def test_packed_files(name, tmp_path):
    table = frame(4, 500)
    text = table.to_csv(index=False).encode()
    data = packed(text, name.casefold())
    (tmp_path / name).write_bytes(data)
    assert integers(open_source(tmp_path / name)) == truth(table)
    half = len(text) // 2  # in two parts, as parallel packers write them
    (tmp_path / name).write_bytes(
        packed(text[:half], name.casefold()) + packed(text[half:], name.casefold())
    )
    assert integers(open_source(tmp_path / name)) == truth(table)
    (tmp_path / name).write_bytes(data[: len(data) * 3 // 4])
    with pytest.raises(DataSourceError, match=r"could not be read to its end|cannot be unpacked"):
        integers(open_source(tmp_path / name))
    (tmp_path / name).write_bytes(text)
    with pytest.raises(DataSourceError, match="is not packed, and its name ends in"):
        open_source(tmp_path / name)


def test_tab_and_dat(tmp_path):
    table = frame(5)
    table.to_csv(tmp_path / "a.tab", index=False, sep="\t")
    assert integers(open_source(tmp_path / "a.tab")) == truth(table)
    table.to_csv(tmp_path / "a.dat", index=False, sep="|")
    assert integers(open_source(tmp_path / "a.dat", delimiter="|")) == truth(table)
    with pytest.raises(UsageError, match="what separates its fields"):
        open_source(tmp_path / "a.dat")


# ---- lines that are not rows


@pytest.mark.few(2)
@pytest.mark.parametrize("header", [False, True], ids=["no names", "names"])
def test_titles_and_comments(header, tmp_path):
    table, path = frame(6), tmp_path / "a.csv"
    lines = table.to_csv(index=False, header=header).splitlines()
    noted = [line for row in lines for line in ("# n,x,g", "#" * 70000, row)]
    titles = ['Table 1, "people', "", "# of 2024"]
    path.write_text("\n".join([*titles, *noted]) + "\n", encoding="utf-8")
    options: dict[str, Any] = {"skip": 3, "comment": "#"}
    options |= {} if header else {"header": ["n", "x", "g"]}
    assert integers(open_source(path, **options)) == truth(table)
    assert integers(open_source(path, multiline=2, **options)) == truth(table)
    assert tc.check(path, **options).rows == len(table)


def test_excels_first_line_is_named(tmp_path):
    path = tmp_path / "a.csv"
    frame(7).to_csv(path, index=False, sep=";")
    path.write_text("sep=;\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(DataSourceError, match=r"delimiter=';', skip=1"):
        open_source(path)
    assert integers(open_source(path, delimiter=";", skip=1)) == truth(frame(7))


def test_lines_are_counted_from_the_start_of_the_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("title\n# note\na,b\n1,2\n1\n#\n1,2,3\n", encoding="utf-8")
    found = tc.check(path, skip=1, comment="#")
    assert found.where == {"spoiled": (), "short": (("a.csv", 5),), "long": (("a.csv", 7),)}
    assert found.rows == 3


@examples(2)
@given(
    st.lists(st.binary(max_size=5).filter(lambda b: b"\n" not in b), max_size=8), st.integers(0, 5)
)
def test_what_is_skipped_does_not_depend_on_the_blocks(lines, skip):
    form = csv_format(skip=skip, comment="#")
    data = b"".join(line + b"\n" for line in lines)
    first = body_of(iter([data]), form)
    each = body_of((line + b"\n" for line in lines), form)
    assert (first[:2], b"".join(first[2])) == (each[:2], b"".join(each[2]))


# ---- the reading is part of the question


SAID = {
    "decimal": "decimal sign",
    "thousands": "between thousands",
    "skip": "before line 2",
    "comment": "lines that start with",
    "header": "first line as a row",
}


def test_each_reading_is_another_question_and_is_stated(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n1,2\n3,4\n", encoding="utf-8")
    keys = {}
    for options in (
        {},
        {"decimal": ","},
        {"thousands": "'"},
        {"skip": 1, "header": ["x", "y"]},
        {"comment": "#"},
    ):
        session = tc.Session(path, tc.one_row_each, tc.epsilon(9), tc.in_memory, **options)
        asked = session.agg(m=tc.mean("x", 0, 9))
        keys[charge_of(asked, epsilon=1).key] = options
        with pytest.warns(DataSourceWarning):
            certificate = asked.release(epsilon=1).certificate
        assert certificate.verify()
        for option in options:
            said = SAID[option]
            assert said in str(certificate)
    assert len(keys) == 5
    default = tc.Session(path, tc.one_row_each, tc.epsilon(9), tc.in_memory, decimal=".", skip=0)
    assert "reading" not in default.agg(m=tc.mean("x", 0, 9)).described()


def test_codes_have_the_signs_of_the_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x\n-9,5\n1.234\n-9.5\n1234\n", encoding="utf-8")
    with open_source(
        path, decimal=",", thousands=".", missing={"x": [-9.5, 1234]}, delimiter=";"
    ) as source:
        where = col("x").is_null()
        rows = IntegerQuery(source, OneRowEach(), where=where).run([Rows()]).of(Rows())[0]
    assert rows == 3 * OneRowEach.one


def test_a_joined_public_table_has_signs_of_its_own(tmp_path):
    (tmp_path / "v.csv").write_text("site\n1\n2\n3\n" * 5, encoding="utf-8")
    (tmp_path / "s.csv").write_text("site;size\n1,0;1.200,5\n2;3,5\n3;1.5\n", encoding="utf-8")
    (tmp_path / "d.toml").write_text(
        'name = "d"\nunit = "row"\nbudget = { epsilon = 1e6 }\n[tables.v]\npath = "v.csv"\n'
        '[tables.v.columns]\nsite = { kind = "integer" }\n[tables.s]\npath = "s.csv"\n'
        'public = true\nkey = "site"\ndelimiter = ";"\ndecimal = ","\nthousands = "."\n',
        encoding="utf-8",
    )
    with tc.open(tmp_path / "d.toml") as session:
        for where, rows in ((col("size") > 1200, 5), (col("size") < 4, 5), (col("size") > 0, 10)):
            asked = session.join("s").filter(where).agg(n=tc.count())
            assert asked.release(epsilon=1000).value("n") == rows


@pytest.mark.parametrize(
    ("cells", "signs"),
    [
        (["1,5", "2", "-0,25"], {"decimal": ","}),
        (["1.234,50", "7,25", "12"], {"decimal": ",", "thousands": "."}),
        (["1.234.567", "12", "1.234"], {"decimal": ",", "thousands": "."}),
        (["1,234.50", "7.25", "12"], {"thousands": ","}),
        (["1,234", "12", "5,000"], {}),  # either way
        (["1.234", "12", "5.000"], {}),
        (["1.5", "12", "7"], {}),
        (["1,5", "one", "2"], {}),
        (["1,5;2", "3"], {}),
    ],
)
def test_check_asks_about_signs_of_numbers(cells, signs, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x\tname\n" + "".join(f"{c}\tBo\n" for c in cells), encoding="utf-8")
    found = tc.check(path, delimiter="\t")
    assert found.signs == signs
    assert found.to_json()["signs"] == signs
    assert ("other signs" in str(found)) == bool(signs)
    if signs:
        assert tc.check(path, delimiter="\t", **signs).signs == {}
        assert tc.check(path, delimiter="\t", **signs).columns["x"].missing_as["float"] == 0
