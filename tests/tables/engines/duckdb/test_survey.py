"""Files of SPSS, Stata and SAS: what the real writers wrote is what is computed with.

The truth is a table of DuckDB with the same rows, with NULL where the file says missing."""

from __future__ import annotations

import datetime
import functools
import random
import shutil
import struct
import subprocess
import warnings
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from pandas.io.sas import sas_constants

import tacit as tc
from support.servers.left_out import leave_out
from support.tables.column_questions import answers
from tacit.cli import run
from tacit.errors import DataSourceError, DataSourceWarning, UsageError
from tacit.expressions.expression import col
from tacit.tables.engines.duckdb import survey
from tacit.tables.open_source import open_source
from tacit.tables.privacy_unit import OneRowEach
from tacit.tables.query.integer_query import IntegerQuery
from tacit.tables.query.requests import Rows

pyreadstat = pytest.importorskip("pyreadstat", reason="pip install 'tacit-dp[files]'")
pytestmark = pytest.mark.full

DAY, TIME = datetime.date, datetime.datetime
WRITERS = {
    "sav": pyreadstat.write_sav,
    "zsav": lambda frame, path, **more: pyreadstat.write_sav(frame, path, compress=True, **more),
    "row.sav": lambda frame, path, **more: pyreadstat.write_sav(
        frame, path, row_compress=True, **more
    ),
    "dta": pyreadstat.write_dta,
    "old.dta": lambda frame, path, **more: pyreadstat.write_dta(frame, path, version=13, **more),
    "xpt": lambda frame, path, **more: pyreadstat.write_xport(
        frame, path, file_format_version=5, **more
    ),
    "v8.xpt": lambda frame, path, **more: pyreadstat.write_xport(
        frame, path, file_format_version=8, **more
    ),
    "por": pyreadstat.write_por,
}
KINDS = {"p": "float", "number": "float", "word": "text", "day": "date", "moment": "date"}
VALUES: dict[str, list[Any]] = {
    "number": [0.0, 1.0, 5.0, -1.5, 2.0**40, 0.5, 1e9, 97.0],
    "word": ["a", "e", "ab", "z" * 70, "1.0"],
    "day": [DAY(1970, 1, 1), DAY(1900, 1, 2), DAY(2023, 11, 14), DAY(1, 1, 1), DAY(9999, 12, 31)],
    "moment": [TIME(1970, 1, 1), TIME(2024, 2, 29, 12, 30, 1), TIME(1582, 10, 14)],
}
TYPES = {"p": "double", "number": "double", "word": "varchar", "day": "date", "moment": "timestamp"}


def random_rows(draw: random.Random, size: int, values: dict[str, list[Any]] = VALUES) -> list[Any]:
    rows = [{n: draw.choice([None, *each]) for n, each in values.items()} for _ in range(size)]
    return [{"p": float(number // 2), **row} for number, row in enumerate(rows)]


def frame_of(rows: list[dict[str, Any]]) -> pd.DataFrame:
    return pd.DataFrame(
        {name: pd.Series([row[name] for row in rows], dtype=object) for name in TYPES}
    )


def write(rows: list[dict[str, Any]], path: Path, end: str, **more: Any) -> Path:
    """Write rows of all types; the types of the columns are those of the first, complete, row."""
    frame = frame_of(rows)
    for name in ("p", "number"):
        frame[name] = frame[name].astype("float64")
    WRITERS[end](frame, path, **more)
    return path


COMPLETE = {"p": -5.0, **{name: each[0] for name, each in VALUES.items()}}


def truth(rows: list[dict[str, Any]], empty: str | None) -> Any:
    connection = duckdb.connect()
    connection.execute(f"create table data ({', '.join(f'{n} {t}' for n, t in TYPES.items())})")
    cells = [[row[name] for name in TYPES] for row in rows]
    for row in cells:
        row[2] = empty if row[2] in (None, "") else row[2]
    connection.executemany("insert into data values (?, ?, ?, ?, ?)", cells)
    return open_source(connection, "data")


ROWS = [COMPLETE, *random_rows(random.Random(5), 60)]


@functools.cache
def true_answers(empty: str | None) -> Any:
    with truth(ROWS, empty) as true:
        return answers(true, KINDS)


@pytest.mark.parametrize("end", WRITERS)
def test_integers_before_noise_are_those_of_the_same_rows_in_a_table(end, tmp_path):
    path = write(ROWS, tmp_path / f"a.{end}", end)
    kinds = KINDS if end != "por" else {name.upper(): kind for name, kind in KINDS.items()}
    # SPSS has no missing text; in Stata and SAS the empty one is missing
    empty = "" if end.endswith(("sav", "por")) else None
    with open_source(path) as source:
        found = [(row[1], row[2]) for row in source.engine.rows(f"describe {source.relation}")]
        assert source.columns == kinds, found
        if end == "por":  # the format has no small letters
            given = source.engine.rows(f"select * from {source.relation} as t")
            with truth(ROWS, empty) as true:
                wanted = true.engine.rows(f"select * from {true.relation} as t")
            assert sorted(given, key=repr) == sorted(wanted, key=repr)
            return
        assert answers(source, KINDS) == true_answers(empty)


CODES = {"number": [98, 99, -1.5], "word": ["refused"]}


def test_missing_codes_of_spss_are_missing_and_the_certificate_says_which(tmp_path):
    values = {**VALUES, "number": [0.0, 5.0, 98.0, 99.0, -1.5], "word": ["a", "refused", "re"]}
    rows = [COMPLETE, *random_rows(random.Random(5), 80, values)]
    path = write(rows, tmp_path / "a.sav", "sav", missing_ranges=CODES)
    known = [
        {n: None if v in CODES.get(n, ()) else v for n, v in row.items()}
        | {"word": None if row["word"] == "refused" else row["word"] or ""}
        for row in rows
    ]
    with open_source(path) as source, truth(known, None) as true:
        assert source.reading.missing == {"number": [-1.5, 98, 99], "word": ["refused"]}
        for name in ("p", "number", "day", "moment"):
            kind = {name: KINDS[name]}
            assert answers(source, kind) == answers(true, kind)
        tests = (col("word").is_null(), col("word") == "refused", col("word") == "re")
        count = [counted(source, test) for test in tests]
        said = [row["word"] for row in rows]
        assert count == [said.count("refused"), 0, said.count("re")]
    with tc.Session(path, tc.one_row_each, tc.epsilon(9), ledger=tc.in_memory) as session:
        answer = session.agg(m=tc.mean("number", 0, 10)).release(epsilon=1)
    query: Any = answer.certificate.body["question"]["query"]
    assert query["reading"]["missing"] == {"number": [-1.5, 98, 99]}
    assert "number: -1.5, 98, 99 read as missing" in str(answer.certificate)


def counted(source: Any, where: Any = None) -> int:
    return (
        int(IntegerQuery(source, OneRowEach(), where=where).run([Rows()]).of(Rows())[0])
        // OneRowEach.one
    )


def test_ranges_of_missing_codes_even_without_an_end(tmp_path):
    numbers = [-1e300, -5.0, -1.0, -0.5, 0.0, 90.0, 95.5, 99.0, 99.5, 999.0]
    frame = pd.DataFrame({"x": numbers, "y": numbers})
    ranges = {
        "x": [{"lo": float("-inf"), "hi": -1}],
        "y": [{"lo": 90, "hi": 99}, 999],
    }
    pyreadstat.write_sav(frame, tmp_path / "a.sav", missing_ranges=ranges)
    with open_source(tmp_path / "a.sav") as source:
        assert counted(source, col("x").is_null()) == 3
        assert counted(source, col("y").is_null()) == 4
    given = {"y": [0], "x": [(90, 100)]}
    with open_source(tmp_path / "a.sav", missing=given) as source:  # both are missing
        assert counted(source, col("x").is_null()) == 7
        assert counted(source, col("y").is_null()) == 5


def test_missing_codes_of_days(tmp_path):
    days = [DAY(1900, 1, 1), DAY(2024, 1, 1), DAY(9999, 12, 31), None]
    times = [TIME(1900, 1, 1), TIME(1900, 1, 1, 5), TIME(2024, 1, 1), None]
    seconds = (DAY(1900, 1, 1) - DAY(1582, 10, 14)).days * 86400
    pyreadstat.write_sav(
        pd.DataFrame({"day": pd.Series(days, dtype=object), "moment": times}),
        tmp_path / "a.sav",
        missing_ranges={"day": [seconds], "moment": [seconds]},
    )
    with open_source(tmp_path / "a.sav") as source:
        assert source.reading.missing == {"day": ["1900-01-01"]}
        assert counted(source, col("day").is_null()) == 2
        assert counted(source, col("moment").is_null()) == 2


def test_extended_missings_of_stata_are_missing_and_change_no_type(tmp_path):
    with_codes = pd.DataFrame({"x": pd.Series([1, "a", "z", 100, 5], dtype=object)})
    without = pd.DataFrame({"x": pd.Series([1, 2, 3, 100, 5], dtype=object)})
    pyreadstat.write_dta(with_codes, tmp_path / "a.dta", missing_user_values={"x": ["a", "z"]})
    pyreadstat.write_dta(without, tmp_path / "b.dta")
    with open_source(tmp_path / "a.dta") as source:
        assert counted(source, col("x").is_null()) == 2
        assert counted(source, col("x") >= 5) == 2
    # whichever cells there are, the type is that of the dictionary
    pd.DataFrame({"x": pd.array([1, 2, None], "Int8"), "y": np.float32([0.1, 2, 3])}).to_stata(
        tmp_path / "c.dta", write_index=False
    )
    with open_source(tmp_path / "c.dta") as source:
        assert source.columns == {"x": "integer", "y": "float"}
        assert counted(source, col("x").is_null()) == 1


def test_periods_of_stata_are_their_first_days(tmp_path):
    numbers = [0.0, 1.0, -1.0, 51.0, 52.0, 3119.0]
    frame = pd.DataFrame(dict.fromkeys("wmqh", numbers))
    formats = {unit: f"%t{unit}" for unit in "wmqh"}
    pyreadstat.write_dta(frame, tmp_path / "a.dta", variable_format=formats)
    true = pd.read_stata(tmp_path / "a.dta")
    with open_source(tmp_path / "a.dta") as source:
        assert set(source.columns.values()) == {"date"}
        given = source.engine.rows(f"select * from {source.relation} as t")
    assert given == [tuple(d.date() for d in row) for row in true.itertuples(index=False)]


def test_formats_of_days_and_times_of_sas_are_those_that_pandas_knows(tmp_path):
    """But TOD, which is of times of day as well."""
    days = [*sas_constants.sas_date_formats, "NLDATEYM", "YEAR", "QTRR"]
    times = [*sas_constants.sas_datetime_formats, "E8601DZ", "NLDATMAP"]
    # seconds of 2020-01-01, or days of it, since 1960
    formats = dict.fromkeys(days, 21915.0) | dict.fromkeys(times, 21915.0 * 86400) | {"TOD": 5.0}
    frame = pd.DataFrame({f"c{i}": [number] for i, number in enumerate(formats.values())})
    named = {f"c{i}": name for i, name in enumerate(formats)}
    path = tmp_path / "a.xpt"
    pyreadstat.write_xport(frame, path, variable_format=named, file_format_version=8)
    with open_source(path) as source:
        (row,) = source.engine.rows(f"select * from {source.relation} as t")
    expected = {name: DAY(2020, 1, 1) for name in days}
    expected |= {name: TIME(2020, 1, 1) for name in times} | {"TOD": 5.0}
    assert dict(zip(formats, row, strict=True)) == expected


HOSTILE: list[dict[str, Any]] = [
    {"number": float("inf")},
    {"number": -float("inf")},
    {"number": 1.7e308},
    {"number": 5e-324},
    {"word": "'"},
    {"word": "\t\x01"},
    {"word": "é" * 30},
    {"word": "98"},
    {"word": "."},
]


@pytest.mark.parametrize("end", ["sav", "zsav", "dta", "v8.xpt"])
def test_neighbours_meet_the_same_fate(end, tmp_path):
    rows = [COMPLETE, *random_rows(random.Random(7), 20)]
    rows[0]["word"] = "w" * 80
    tests = [col(name).is_null() for name in TYPES] + [col("number") <= 5, col("word") == "a"]

    def counts(table: list[dict[str, Any]]) -> list[int]:
        path = write(table, tmp_path / f"a.{end}", end)
        with open_source(path) as source:
            assert source.columns == KINDS
            return [counted(source, test) for test in tests]

    before = counts(rows)
    for change in HOSTILE:
        row = {**rows[0], **change}
        if end != "sav" and abs(row["number"]) > 1e300:
            continue  # pyreadstat does not write it
        for more, less in zip(counts([*rows, row]), before, strict=True):
            assert more - less in (0, 1), (change, more, less)


def test_a_code_that_the_file_declares_as_missing_is_no_key(tmp_path):
    path = labelled(tmp_path)
    with open_source(path) as source:
        (name, codes), *_ = source.reading.missing.items()
    given = (tc.one_row_each, tc.epsilon(9), tc.in_memory)
    with tc.Session(path, *given) as session, pytest.raises(UsageError, match="a missing value"):
        session.group_by(name, keys=[codes[0]])
    columns = {name: {"keys": [codes[0]]}}
    tables = {"a": {"path": str(path), "columns": columns}}
    dataset = tc.Dataset("a", "row", tables, {"epsilon": 1}, folder=tmp_path)
    with pytest.raises(UsageError, match=f"of '{name}' of 'a' is a code for a missing value"):
        tc.open(dataset)


LONG = ["é" * 1500, "Zürich", "b" * 3000, "", "ab" + "ü" * 20_000]


@pytest.mark.parametrize("writer", ["pyreadstat", "pandas 117", "pandas 118", "pandas 119", "big"])
def test_long_texts_of_stata_are_read_as_others_are(writer, tmp_path, monkeypatch):
    """A column in which one text has more than 2,045 bytes is a strL, which is stored apart."""
    path, texts = tmp_path / "a.dta", LONG
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0, 5.0], "s": texts, "t": texts[1]})
    if writer == "pyreadstat":
        pyreadstat.write_dta(frame, path, variable_value_labels={"x": {1: "one"}})
    else:
        version = 118 if writer == "big" else int(writer[-3:])
        order = "big" if writer == "big" else "little"
        options = {"version": version, "convert_strl": ["s"], "byteorder": order}
        frame.to_stata(path, write_index=False, value_labels={"x": {1: "one"}}, **options)
    monkeypatch.setattr(survey, "_CELLS", 6)  # several parts
    with open_source(path) as source:
        rows = source.engine.rows(f"select s, x, t from {source.relation} as t order by x")
        assert source.labels == {"x": {1: "one"}}
    if writer == "pandas 117":  # it writes UTF-8, where Stata 13 has one byte per character
        texts = [text.encode().decode("cp1252") for text in texts]
    assert rows == [(text or None, n, LONG[1]) for n, text in enumerate(texts, 1)]


@pytest.mark.parametrize("writer", ["pyreadstat", "pandas"])
def test_a_long_text_that_is_no_text_is_missing_and_changes_no_other(writer, tmp_path):
    """pyreadstat ends the read of the file there."""
    path, bad = tmp_path / "a.dta", b"w" * 5000
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "s": [bad.decode(), "é" * 2000, "v" * 4000]})
    if writer == "pyreadstat":
        pyreadstat.write_dta(frame, path)
    else:
        frame.to_stata(path, write_index=False, version=118, convert_strl=["s"])
    whole = path.read_bytes()
    assert whole.count(bad) == 1
    binary = whole.index(b"\x82", whole.index(b"<strls>GSO"))
    for content in (
        whole.replace(bad, bad[:-2] + b"\xff\xfe"),
        whole.replace(bad, bytes(5000)),
        whole[:binary] + b"\x81" + whole[binary + 1 :],
    ):
        path.write_bytes(content)
        with open_source(path) as source:
            rows = source.engine.rows(f"select s from {source.relation} as t order by x")
        assert rows == [(None,), ("é" * 2000,), ("v" * 4000,)]


def test_an_empty_label_is_none(tmp_path):
    """PC-Axis has no empty text, and its readers lose the group."""
    frame = pd.DataFrame({"sex": [1.0, 2.0, 3.0] * 20})
    labels = {"sex": {1: "men", 2: "women", 3: " "}}
    pyreadstat.write_sav(frame, tmp_path / "a.sav", variable_value_labels=labels)
    with tc.Session(tmp_path / "a.sav", tc.one_row_each, tc.epsilon(9), tc.in_memory) as session:
        answer = session.group_by("sex", keys=[1, 2, 3]).agg(n=tc.count()).release(epsilon=1)
        assert 'VALUES("sex")="men",\n"women",\n"3";' in answer.to_px()
        answer = session.group_by("sex", keys="labels").agg(n=tc.count()).release(epsilon=1)
        assert answer.to_dict()["sex"] == [1, 2]


def test_labels_of_several_files_are_those_of_all_unless_they_contradict(tmp_path):
    frame = pd.DataFrame({"sex": [1.0, 2.0] * 20, "site": [1.0, 3.0] * 20})
    for wave, sex, site in (
        (1, {1: "men", 2: "women"}, {1: "north"}),
        (2, {2: "women"}, {3: "south"}),
    ):
        labels = {"sex": sex, "site": site}
        pyreadstat.write_sav(frame, tmp_path / f"w{wave}.sav", variable_value_labels=labels)
    files, given = str(tmp_path / "w*.sav"), (tc.one_row_each, tc.epsilon(100), tc.in_memory)
    with tc.Session(files, *given) as session:
        answer = session.group_by("site", keys="labels").agg(n=tc.count()).release(epsilon=10)
        assert answer.to_dict()["site_label"] == ["north", "south"]
    swapped = {"sex": {1: "women", 2: "men"}}
    pyreadstat.write_sav(frame, tmp_path / "w3.sav", variable_value_labels=swapped)
    with pytest.warns(
        DataSourceWarning, match=r"w3\.sav labels a value of 'sex' otherwise than w1"
    ):
        session = tc.Session(files, *given)
    with session:
        answer = session.group_by("site", keys="labels").agg(n=tc.count()).release(epsilon=10)
        assert answer.to_dict()["site_label"] == ["north", "south"]
        with pytest.raises(UsageError, match="sex"):
            session.group_by("sex", keys="labels")


def test_blanks_at_the_end_of_a_transport_file_are_no_rows_of_it(tmp_path, monkeypatch):
    # Each record has 80 bytes, so blanks fill the last one.
    path = tmp_path / "a.xpt"
    monkeypatch.setattr(survey, "_PART_BYTES", 160)  # several parts
    for size in (1, 79, 80, 81, 160, 161, 1001):
        frame = pd.DataFrame({"s": ["x"] * size})
        for version in (5, 8):
            pyreadstat.write_xport(frame, path, file_format_version=version)
            with open_source(path) as source:
                assert counted(source, col("s") == "x") == counted(source) == size
    frame = pd.DataFrame({"x": [1.5] * 1001, "s": ["y"] * 1001})
    pyreadstat.write_xport(frame, path, file_format_version=8)
    with open_source(path) as source:
        assert counted(source, col("x") == 1.5) == counted(source) == 1001


@pytest.mark.parametrize("version", [5, 8])
def test_a_row_of_blanks_changes_no_other(version, tmp_path, monkeypatch):
    """Version 8 counts its rows; in version 5 a row of blanks is none, wherever it is."""
    path = tmp_path / "a.xpt"
    monkeypatch.setattr(survey, "_PART_BYTES", 160)
    for cells in (["x", ""] * 300, ["x"] + [""] * 500, [""] * 500 + ["x"], [""] * 9):
        found = []
        for more in ([], ["x"], [""]):
            frame = pd.DataFrame({"s": [*cells, *more], "t": ""})
            pyreadstat.write_xport(frame, path, file_format_version=version)
            with open_source(path) as source:
                found.append(counted(source))
        own = len(cells) if version == 8 else cells.count("x")
        assert found == [own, own + 1, own + (version == 8)]


def test_a_transport_file_that_counts_other_rows_is_refused_when_it_is_opened(tmp_path):
    path = tmp_path / "a.xpt"
    pyreadstat.write_xport(pd.DataFrame({"x": [1.0] * 50}), path, file_format_version=8)
    whole = path.read_bytes()
    says = b"HEADER RECORD!!!!!!!             50"
    assert whole.count(says) == 1
    for content, message in (
        (whole[:-80], "is cut short: it declares more rows than it has"),
        (whole.replace(says, says.replace(b"50", b"61")), "is cut short"),
        (whole + whole[240:], "has something behind the rows of its first table"),
    ):
        path.write_bytes(content)
        with pytest.raises(DataSourceError, match=message):
            open_source(path)


@pytest.mark.parametrize("end", ["sav", "dta", "xpt"])
def test_a_cell_that_is_no_text_is_missing_and_changes_no_other(end, tmp_path):
    # pyreadstat itself ends the read of the whole file there
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "s": ["abcd", "wxyz", "éé"]})
    WRITERS[end](frame, tmp_path / f"a.{end}")
    whole = (tmp_path / f"a.{end}").read_bytes()
    assert whole.count(b"wxyz") == 1
    (tmp_path / f"a.{end}").write_bytes(whole.replace(b"wxyz", b"w\xff\xfez"))
    with open_source(tmp_path / f"a.{end}") as source:
        rows = source.engine.rows(f"select * from {source.relation} as t")
    assert rows == [(1.0, "abcd"), (2.0, None), (3.0, "éé")]


def test_times_that_are_far_are_missing_and_raise_nothing(tmp_path):
    # pyreadstat itself raises OverflowError for the whole file
    frame = pd.DataFrame({"day": [1.0, 1e300, 5e9, -1e18], "moment": [0.25, 1e18, -1e18, 86400.0]})
    formats = {"day": "DATE11", "moment": "DATETIME20.2"}
    pyreadstat.write_sav(frame, tmp_path / "a.sav", variable_format=formats)
    with open_source(tmp_path / "a.sav") as source:
        rows = source.engine.rows(f"select * from {source.relation} as t")
    assert rows == [
        (DAY(1582, 10, 14), TIME(1582, 10, 14, 0, 0, 0, 250000)),
        (None, None),
        (DAY(1741, 3, 24), None),
        (None, TIME(1582, 10, 15)),
    ]


def test_the_farthest_times_warn_of_nothing(tmp_path):
    # A warning tells of one cell, and is an error to those who make it one.
    far = [np.finfo(float).max, -np.finfo(float).max, 1e300, np.inf, -np.inf, 1.0]
    frame = pd.DataFrame({"day": far, "moment": far})
    file = tmp_path / "a.sav"
    formats = {"day": "DATE11", "moment": "DATETIME20.2"}
    pyreadstat.write_sav(frame, file, variable_format=formats)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with open_source(file) as source:
            rows = source.engine.rows(f"select * from {source.relation} as t")
    assert rows == [(None, None)] * 5 + [(DAY(1582, 10, 14), TIME(1582, 10, 14, 0, 0, 1))]


def test_an_encoding_that_python_does_not_know_is_refused_when_the_file_is_opened():
    assert survey._known_encoding("a.sav", "WINDOWS-936") == "gbk"
    assert survey._known_encoding("a.sav", "BIG-5") == "big5"
    with pytest.raises(DataSourceError, match=r"'EUC-TW'.*UTF-8"):
        survey._known_encoding("a.sas7bdat", "EUC-TW")


def test_text_of_an_old_file_is_read_in_its_encoding(tmp_path):
    frame = pd.DataFrame({"s": ["é", "a"]})
    frame.to_stata(tmp_path / "a.dta", write_index=False, version=114)
    pyreadstat.write_xport(frame, tmp_path / "a.xpt")
    latin = (tmp_path / "a.xpt").read_bytes().replace("é".encode(), "é ".encode("latin-1"))
    (tmp_path / "a.xpt").write_bytes(latin)
    for path, options in (("a.dta", {}), ("a.xpt", {"encoding": "latin-1"})):
        with open_source(tmp_path / path, **options) as source:
            assert source.engine.rows(f"select * from {source.relation} as t") == [("é",), ("a",)]
    with open_source(tmp_path / "a.xpt") as source:
        assert source.engine.rows(f"select * from {source.relation} as t") == [(None,), ("a",)]
    with pytest.raises(UsageError, match=r"the dictionary in .* declares its columns"):
        open_source(tmp_path / "a.xpt", delimiter=";")


# ---- labels


def labelled(folder: Path) -> Path:
    draw = random.Random(1)
    frame = pd.DataFrame({
        "sex": [float(draw.choice([1, 2, 3, 9])) for _ in range(200)],
        "region": [draw.choice(["N", "S"]) for _ in range(200)],
        "age": [float(draw.choice([30, 40, 99])) for _ in range(200)],
    })  # fmt: skip
    labels = {
        "sex": {1: "men", 2: "women", 3: "men", 9: "refused"},
        "region": {"N": "North", "S": "South"},
        "age": {99: "unknown"},
    }
    pyreadstat.write_sav(
        frame,
        folder / "survey.sav",
        variable_value_labels=labels,
        missing_ranges={"sex": [9], "age": [99]},
    )
    return folder / "survey.sav"


def test_keys_from_the_labels_of_a_file_and_labels_beside_keys(tmp_path):
    path = labelled(tmp_path)
    with tc.Session(path, tc.one_row_each, tc.epsilon(1e6), ledger=tc.in_memory) as session:
        question = session.group_by("sex", "region", keys="labels").agg(n=tc.count())
        answer = question.release(epsilon=1e5)
        listed = session.group_by("sex", keys=[1, 2]).agg(n=tc.count()).release(epsilon=1e5)
        # the same keys, however they are named, are one question
        again = session.group_by(
            "sex", "region", keys={"sex": [1, 2, 3], "region": ["N", "S"]}
        ).agg(n=tc.count())
        assert again.release(epsilon=1e5).replayed
        unlabelled = session.group_by("age", keys=[30]).agg(n=tc.count()).release(epsilon=1)
        with pytest.raises(UsageError, match="its table has none"):
            session.group_by("age", keys="labels")
    # a code that is missing is no key, and two codes of one label are two
    assert answer.keys == [(s, r) for s in (1, 2, 3) for r in ("N", "S")]
    assert sum(answer.to_dict()["n"]) == pytest.approx(
        int((pyreadstat.read_sav(path)[0]["sex"]).notna().sum()), abs=5
    )
    columns = answer.to_dict()
    assert list(columns)[:4] == ["sex", "sex_label", "region", "region_label"]
    assert columns["sex_label"] == ["men", "men", "women", "women", "men", "men"]
    assert answer.to_dict("long")["region_label"][:2] == ["North", "South"]
    assert "1 (men)" in str(answer)
    assert "N (North)" in str(answer)
    declared: Any = answer.certificate.body["declared"]
    assert declared["sex"] == {"keys": "labels", "labels": [[1, "men"], [2, "women"], [3, "men"]]}
    assert "sex: its groups are the values that have a label in the file" in str(answer.certificate)
    assert answer.certificate.verify()
    answer.certificate.save(tmp_path / "a.html")
    assert "1 (men)" in (tmp_path / "a.html").read_text(encoding="utf-8")
    assert listed.certificate.body["declared"] == {"sex": {"labels": [[1, "men"], [2, "women"]]}}
    assert "declared" not in unlabelled.certificate.body


def test_labels_of_keys_that_are_not_public_are_those_released(tmp_path):
    # labels may have been made of the data, as Stata's encode does
    labels = {float(code): f"person {code}" for code in range(1, 50)}
    frame = pd.DataFrame({"x": pd.Series([1] * 500 + list(range(2, 50)), dtype="int64")})
    pyreadstat.write_dta(frame, tmp_path / "a.dta", variable_value_labels={"x": labels})
    with tc.Session(
        tmp_path / "a.dta", tc.one_row_each, tc.epsilon_delta(2, "1e-6"), ledger=tc.in_memory
    ) as session:
        coded = session.with_columns(code=col("x").cast(int)).group_by("code").agg(n=tc.count())
        answer = session.group_by("x", keys=[1]).agg(n=tc.count()).release(epsilon=1)
        coded.release(epsilon=1, delta="1e-7")
    assert answer.certificate.body["declared"] == {"x": {"labels": [[1, "person 1"]]}}


def test_who_lists_numbers_of_a_data_set_learns_no_label_of_them(tmp_path):
    # labels may have been made of the data: a list of numbers would show them all, at no price
    labels = {float(code): f"person {code}" for code in range(1, 50)}
    frame = pd.DataFrame({"x": [1.0] * 50, "y": [1.0] * 50})
    values = {"x": labels, "y": labels}
    pyreadstat.write_dta(frame, tmp_path / "a.dta", variable_value_labels=values)
    (tmp_path / "d.toml").write_text(
        'name = "d"\nunit = "row"\nbudget = { epsilon = 9 }\n[tables.t]\npath = "a.dta"\n'
        "[tables.t.columns]\nx = { keys = [1, 2] }\n"
    )
    with tc.open(tmp_path / "d.toml") as session:
        for column, shown in (("x", {1: "person 1", 2: "person 2"}), ("y", {})):
            question = session.group_by(column, keys=range(1, 50)).agg(n=tc.count())
            assert "person 3" not in str(question.preview(epsilon="1e-6"))
            answer = question.release(epsilon="1e-6")
            assert answer.key_labels == ({column: shown} if shown else {})
            assert "person 3" not in answer.certificate.to_json()


def test_what_people_are_aggregated_to_has_not_the_labels_of_a_column(tmp_path):
    with tc.Session(
        labelled(tmp_path), tc.unit("region", rows=2), tc.epsilon(9), tc.in_memory
    ) as s:
        people = s.per_person(sex=tc.count())
        answer = people.group_by("sex", keys=[1, 2]).agg(n=tc.count()).release(epsilon=1)
        assert answer.key_labels == {}
        with pytest.raises(UsageError, match="labels"):
            people.group_by("sex", keys="labels")


def test_a_declaration_takes_keys_from_labels(tmp_path):
    labelled(tmp_path)
    (tmp_path / "d.toml").write_text(
        'name = "d"\nunit = "row"\nbudget = { epsilon = 1e6 }\n[tables.t]\npath = "survey.sav"\n'
        '[tables.t.columns]\nsex = { keys = "labels" }\nage = { bounds = [0, 100] }\n'
    )
    dataset = tc.Dataset.load(tmp_path / "d.toml")
    dataset.check()
    assert dataset.tables["t"].to_fields()["columns"]["sex"] == {"keys": "labels"}  # type: ignore[index, call-overload]
    with tc.open(tmp_path / "d.toml") as session:
        answer = session.group_by("sex").agg(age=tc.mean("age")).release(epsilon=1e5)
        assert answer.keys == [(1,), (2,), (3,)]
        in_sql = session.sql("select sex, count(*) as n from t group by sex").release(epsilon=1e5)
        assert in_sql.key_labels == {"sex": {1: "men", 2: "women", 3: "men"}}
    (tmp_path / "d.toml").write_text(
        (tmp_path / "d.toml").read_text().replace("age = { bounds", 'age = { keys = "labels" }#')
    )
    with pytest.raises(UsageError, match="takes the keys of 'age' from the labels"):
        tc.Dataset.load(tmp_path / "d.toml").check()


def test_the_command_line(tmp_path, monkeypatch, capsys):
    labelled(tmp_path)
    monkeypatch.chdir(tmp_path)

    def tacit(*args: str) -> str:
        assert run(args) == 0, capsys.readouterr().err
        return str(capsys.readouterr().out)

    drafted = tacit("init", "survey.sav", "--out", "d.toml")
    text = (tmp_path / "d.toml").read_text()
    assert 'sex = { kind = "float", keys = "?" }' in text, drafted + text
    assert "encode" in text  # why a person decides
    assert "200 rows" in tacit("check", "survey.sav")
    released = tacit(
        *("release", "survey.sav", "--one-row-each", "--count", "--by", "sex", "--keys", "labels"),
        *("--epsilon", "1", "--budget-epsilon", "1", "--json"),
    )
    assert '"label"' in released
    assert '"men"' in released


# ---- memory and pace


# ---- bad input


def test_what_cannot_be_read_says_so_and_shows_no_value(tmp_path):
    path = labelled(tmp_path)
    whole = path.read_bytes()
    for name, content in {
        "short.sav": whole[:200],
        "magic.sav": b"PK" + whole[2:],
        "text.sav": b"age\n31\n",
        "locked.sav": struct.pack("<q", 28) + b"ENCRYPTEDSAV" + bytes(600),
        "magic.dta": b"age\n31\n",
        "short.xpt": b"HEADER RECORD*******LIBRARY HEADER RECORD!!!!!!!" + bytes(32),
        "magic.sas7bdat": b"age\n31\n",
        "short.por": b"ASCII SPSS PORT FILE" + bytes(100),
        "formats.sas7bcat": bytes(12) + b"\xc2\xea\x81\x60" + bytes(500),
    }.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataSourceError) as caught:
            open_source(tmp_path / name)
        assert name in str(caught.value)
        assert "31" not in str(caught.value).replace(str(tmp_path), "")
        assert caught.value.__cause__ is None
    with pytest.raises(DataSourceError, match="an encrypted file of SPSS"):
        open_source(tmp_path / "locked.sav")
    frame = pd.DataFrame({"x": [1.0, 2.0] * 50})
    pyreadstat.write_xport(frame, tmp_path / "cut.xpt")
    cut = (tmp_path / "cut.xpt").read_bytes()[:-7]
    (tmp_path / "cut.xpt").write_bytes(cut)
    with pytest.raises(DataSourceError, match="is cut short"):
        open_source(tmp_path / "cut.xpt")


def test_a_file_that_ends_early_says_so_and_the_question_is_completed_later(tmp_path):
    path = labelled(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-900])
    with tc.Session(path, tc.one_row_each, tc.epsilon(9), ledger=tc.in_memory) as session:
        question = session.agg(n=tc.count())
        with pytest.raises(DataSourceError, match="could not be read to its end"):
            question.release(epsilon=1)
        path.write_bytes(whole)
        assert abs(int(question.release(epsilon=1).value("n")) - 200) < 50  # type: ignore[arg-type]
        assert session.spent == tc.epsilon(1)


def test_a_file_that_changed_since_it_was_opened_is_not_read(tmp_path):
    path = labelled(tmp_path)
    with open_source(path) as source:
        pyreadstat.write_sav(pd.DataFrame({"sex": ["a"], "region": ["b"], "age": ["c"]}), path)
        with pytest.raises(DataSourceError, match="changed"):
            source.engine.rows(f"select * from {source.relation} as t")


def test_several_files_are_one_table_where_their_dictionaries_agree(tmp_path):
    for number in range(3):
        pyreadstat.write_sav(pd.DataFrame({"x": [float(number)]}), tmp_path / f"{number}.sav")
    with open_source(tmp_path / "*.sav") as source:
        rows = source.engine.rows(f"select x from {source.relation} as t order by x")
        assert rows == [(0.0,), (1.0,), (2.0,)]
    pyreadstat.write_sav(pd.DataFrame({"x": [1.0]}), tmp_path / "3.sav", missing_ranges={"x": [1]})
    with pytest.raises(DataSourceError, match="codes for missing values"):
        open_source(tmp_path / "*.sav")


def test_labels_by_the_hundred_thousand_and_long_text(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0], "s": ["a" * 30_000, "b"]})
    labels = {"x": {float(code): f"label {code}" for code in range(100_001)}}
    pyreadstat.write_sav(frame, tmp_path / "a.sav", variable_value_labels=labels)
    with open_source(tmp_path / "a.sav") as source:
        assert source.labels == {}  # too many to be categories
        assert counted(source, col("s") == "b") == 1
    more = {"x": {float(code): "" for code in range(233_020)}}
    pyreadstat.write_sav(frame, tmp_path / "b.sav", variable_value_labels=more)
    with pytest.raises(DataSourceError, match=r"b\.sav has .* 233,000 labels"):
        open_source(tmp_path / "b.sav")


# What haven writes in R, and real files that packages of R have with them.

HAVEN = """
library(haven)
q <- c(yes = 1, no = 2, refused = 99)
days <- as.Date(c("2024-02-29", "1500-01-01", NA, "9999-12-31"))
times <- as.POSIXct(c(0.5, NA, -1, 1709208000), origin = "1970-01-01", tz = "UTC")
sav <- tibble::tibble(
  id = c("007", "", NA, "\\u00e9"), d = days, w = times,
  q = labelled_spss(c(1, 2, 99, NA), labels = q, na_values = 99),
  r = labelled_spss(c(-1, 5, 900, 7), na_range = c(900, Inf)),
  s = labelled_spss(c("a", "b", "RF", ""), na_values = "RF"),
  l = c(TRUE, FALSE, NA, TRUE), i = c(1L, NA, 3L, -2147483647L))
write_sav(sav, "haven.sav")
write_sav(sav, "haven.zsav", compress = "zsav")
tagged <- function(tag) labelled(c(1, 2, tagged_na(tag), NA), labels = q[1:2])
plain <- sav[c("id", "d", "w", "l", "i")]
write_dta(tibble::add_column(plain, q = tagged("a")), "haven.dta")
write_xpt(tibble::add_column(plain, q = tagged("A")), "haven.xpt", version = 8)
survey <- MASS::survey
names(survey) <- gsub("[.]", "_", names(survey))
for (name in c("sav", "dta")) get(paste0("write_", name))(survey, paste0("survey.", name))
cat(system.file("examples", package = "haven"))
"""


@pytest.fixture(scope="module")
def haven(tmp_path_factory):
    """A folder of files by haven, and where its examples are."""
    program = shutil.which("Rscript")
    if program is None:
        leave_out("R", "apt-get install r-cran-haven r-cran-mass")
    folder = tmp_path_factory.mktemp("haven")
    done = subprocess.run(
        [program, "-e", HAVEN], cwd=folder, capture_output=True, text=True, timeout=120
    )
    if "there is no package called" in done.stderr:
        leave_out("haven", "apt-get install r-cran-haven r-cran-mass")
    assert done.returncode == 0, done.stderr
    return folder, Path(done.stdout)


def cells_of(path: Path, *names: str) -> list[Any]:
    with open_source(path) as opened:
        listed = ", ".join(map(opened.engine.dialect.identifier, names))
        return list(opened.engine.rows(f"select {listed} from {opened.relation} as t"))


@pytest.mark.parametrize("name", ["haven.sav", "haven.zsav", "haven.dta", "haven.xpt"])
def test_what_haven_writes_is_what_was_in_r(name, haven):
    spss = "sav" in name
    empty = "" if spss else None  # NA of a text is the empty text in SPSS
    day, moment = DAY, TIME
    expected = [
        ("007", day(2024, 2, 29), moment(1970, 1, 1, 0, 0, 0, 500_000), 1, 1, 1),
        (empty, day(1500, 1, 1), None, 2, 0, None),
        (empty, None, moment(1969, 12, 31, 23, 59, 59), None, None, 3),
        ("é", day(9999, 12, 31), moment(2024, 2, 29, 12), None, 1, -2147483647),
    ]
    assert cells_of(haven[0] / name, "id", "d", "w", "q", "l", "i") == expected
    if spss:
        found = cells_of(haven[0] / name, "r", "s")
        assert found == [(-1, "a"), (5, "b"), (None, None), (7, "")]


@pytest.mark.parametrize("name", ["survey.sav", "survey.dta"])
def test_the_survey_of_students_has_the_figures_of_its_summary(name, haven):
    """MASS 7.3-58.2 (GPL-2 or GPL-3): 237 students, as ``summary(survey)`` prints them."""
    rows = cells_of(haven[0] / name, "Sex", "Pulse", "Height", "Age", "Smoke")
    sex, pulse, height, age, smoke = (
        [cell for cell in each if cell is not None] for each in zip(*rows, strict=True)
    )
    assert len(rows) == 237
    assert (sex.count(1), sex.count(2)) == (118, 118)
    assert (len(pulse), round(float(np.mean(pulse)), 2), np.median(pulse)) == (192, 74.15, 72.5)
    assert (len(height), round(float(np.mean(height)), 1)) == (209, 172.4)
    assert (round(float(np.mean(age)), 2), max(age)) == (20.37, 73)
    assert [smoke.count(code) for code in (1, 2, 3, 4)] == [11, 189, 19, 17]


@pytest.mark.parametrize("end", ["sav", "dta", "sas7bdat"])
def test_the_irises_that_haven_has_with_it(end, haven):
    """haven 2.5.1 (MIT), by SPSS, Stata and SAS themselves: the means that Fisher published."""
    path = haven[1] / f"iris.{end}"
    with open_source(path) as opened:
        names = [name for name, column in opened.schema.items() if column.kind == "float"][:4]
    means = np.mean(cells_of(path, *names), axis=0)
    assert [round(float(mean), 3) for mean in means] == [5.843, 3.057, 3.758, 1.199]
