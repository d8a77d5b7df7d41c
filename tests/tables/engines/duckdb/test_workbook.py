"""Workbooks: each cell by its own value, the sheet and the place of the names as declared."""

from __future__ import annotations

import datetime
import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import xlsxwriter

import tacit as tc
from support.servers.left_out import leave_out
from tacit.cli import run
from tacit.errors import DataSourceError, UsageError
from tacit.tables.open_source import open_source

NAMES = ["id", "x", "at"]
# what a cell is written as, and what it is read as
CELLS: dict[str, tuple[Any, str | None, str | None]] = {
    "number": (5, None, "5"),
    "fraction": (0.1, None, "0.1"),
    "large": (1e300, None, "1e+300"),
    "code": ("007", None, "007"),
    "true": (True, None, "true"),
    "day": (45351, "yyyy-mm-dd", "2024-02-29"),
    "time": (45351.5, "yyyy-mm-dd hh:mm", "2024-02-29 12:00:00"),
    "clock": (0.25, "hh:mm", "06:00:00"),
    "hours": (1.5, "[h]:mm", "1.5"),
    "far day": (1e10, "yyyy-mm-dd", None),
    "far hours": (1e18, "[h]:mm", None),
    "error": ("=NA()", "#N/A", None),
    "new error": ("=A1:A9", "#SPILL!", None),
    "formula": ("=1+1", "2", "2"),
    "empty": (None, None, None),
}


def write(
    path: Path, rows: list[list[Any]], sheets: tuple[str, ...] = ("S",), skip: int = 0
) -> Path:
    with xlsxwriter.Workbook(path) as book:
        for name in sheets:
            sheet = book.add_worksheet(name)
            for r, row in enumerate([NAMES, *rows], skip):
                for c, cell in enumerate(row):
                    value, shown = cell if isinstance(cell, tuple) else (cell, None)
                    if isinstance(value, str) and value.startswith("="):
                        sheet.write_formula(r, c, value, None, shown)
                    elif isinstance(value, str):
                        sheet.write_string(r, c, value)
                    else:
                        sheet.write(
                            r, c, value, book.add_format({"num_format": shown or "General"})
                        )
    return path


def rows_of(source: Any, **options: Any) -> list[Any]:
    with open_source(source, **options) as opened:
        names = ", ".join(map(opened.engine.dialect.identifier, opened.schema))
        return sorted(opened.engine.rows(f"select {names} from {opened.relation} as t"), key=repr)


def edit(path: Path, old: str, new: str) -> Path:
    """Write a part of the sheet anew, as a writer of another program would."""
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    sheet = parts["xl/worksheets/sheet1.xml"].decode()
    assert re.search(old, sheet)
    parts["xl/worksheets/sheet1.xml"] = re.sub(old, new, sheet).encode()
    with zipfile.ZipFile(path, "w") as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return path


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_is_read_by_itself(name, tmp_path):
    """No cell ends a read, warns, or changes how another is read."""
    value, shown, read = CELLS[name]
    own = write(tmp_path / "a.xlsx", [["p", (value, shown), 1], ["q", 7, 2]])
    if name == "new error":  # of an array, of which xlsxwriter makes a text
        edit(own, 't="str"', 't="e"')
    assert rows_of(own) == [("p", read, "1"), ("q", "7", "2")]
    assert rows_of(own, types={"x": "float"})[1] == ("q", 7.0, "2")


def test_a_sheet_is_read_as_declared(tmp_path):
    path = write(
        tmp_path / "v.xlsx",
        [["007", 1, (45351, "yyyy-mm-dd")], [None] * 3, ["b", "99", (45351.5, "yyyy-mm-dd hh:mm")]],
        skip=2,
    )
    types = {"id": "text", "x": "integer", "at": "timestamp"}
    day, noon = datetime.datetime(2024, 2, 29), datetime.datetime(2024, 2, 29, 12)
    assert rows_of(path, skip=2, types=types) == [("007", 1, day), ("b", 99, noon)]
    assert rows_of(path, skip=3, header=NAMES, null=["99"])[1] == ("b", None, "2024-02-29 12:00:00")
    assert rows_of(path, skip=3, header=["id"]) == [("007",), ("b",)]
    for options, said in (
        ({}, r"row 1 of the sheet in v\.xlsx has no names: .*skip=2"),
        ({"skip": 2, "sheet": "T"}, "no sheet 'T'; known: 'S'"),
        ({"delimiter": ";"}, r"delimiter= is for CSV files; v\.xlsx is a workbook"),
        ({"skip": 2, "types": {"y": "text"}}, "no such column"),
        ({"sheet": 1}, "sheet= is the name of a sheet"),
    ):
        with pytest.raises((UsageError, DataSourceError), match=said):
            open_source(path, **options)
    with pytest.raises(DataSourceError, match="has no name for column 2"):
        open_source(edit(path, '<c r="B3".*?</c>', ""), skip=2)


def test_one_of_several_sheets_is_named(tmp_path):
    path = write(tmp_path / "v.xlsx", [["a", 1, 2]], sheets=("North", "Süd"))
    with pytest.raises(UsageError, match=r"has the sheets 'North' and 'Süd': name one.*'North'"):
        open_source(path)
    with tc.Session(path, tc.one_row_each, tc.epsilon(4), ledger=tc.in_memory, sheet="Süd") as own:
        answer = own.agg(n=tc.count()).release(epsilon=1)
    assert re.search("from its sheet .{1,7}Süd", answer.certificate.to_html())
    assert answer.certificate.verify()
    (tmp_path / "v.csv").write_text("a\n1\n")
    with pytest.raises(UsageError, match="sheet= is for workbooks; this is a CSV file"):
        open_source(tmp_path / "v.csv", sheet="S")


def test_sheets_of_several_files_are_one_table(tmp_path):
    for name in ("a", "b"):
        write(tmp_path / f"{name}.xlsx", [[name, 1, 2]])
    assert rows_of(tmp_path / "*.xlsx") == [("a", "1", "2"), ("b", "1", "2")]
    edit(tmp_path / "b.xlsx", '<c r="C1".*?</c>', "")
    with pytest.raises(DataSourceError, match="have other columns"):
        open_source(tmp_path / "*.xlsx")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('<dimension ref="[^"]*"/>', '<dimension ref="A1:A1"/>'),
        ('<dimension ref="[^"]*"/>', ""),
        ('<row r="3".*?</row>', r"\g<0>" '<row r="1048576"><c r="B1048576"><v>7</v></c></row>'),
        ('(<row r="2".*?)</row>', r'\1<c r="XFD2"><v>1</v></c></row>'),
    ],
)
def test_what_a_sheet_says_of_its_size_does_not_count(old, new, tmp_path):
    path = edit(write(tmp_path / "a.xlsx", [["p", 1, 2], ["q", 3, 4]]), old, new)
    assert {("p", "1"), ("q", "3")} <= {row[:2] for row in rows_of(path)}


def test_rows_beyond_a_sheet_are_not_waited_for(tmp_path):
    far = r"\g<0>" '<row r="1000000000000"><c r="A1000000000000"><v>7</v></c></row>'
    path = edit(write(tmp_path / "a.xlsx", [["p", 1, 2]]), '<row r="2".*?</row>', far)
    assert rows_of(path) == [("p", "1", "2")]


def test_workbooks_of_other_programs(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(NAMES)
    book.active.append([" a ", True, datetime.date(2024, 2, 29)])
    book.active.append(["=1+1", None, datetime.time(12, 30)])
    book.save(tmp_path / "v.xlsm")
    assert rows_of(tmp_path / "v.xlsm") == [(" a ", "true", "2024-02-29"), (None, None, "12:30:00")]


def test_a_sheet_of_a_chart_is_no_table(tmp_path):
    with xlsxwriter.Workbook(tmp_path / "v.xlsx") as book:
        sheet, chart = book.add_worksheet("S"), book.add_chart({"type": "line"})
        sheet.write_column("A1", ["x", 1, 2])
        chart.add_series({"values": "=S!$A$2:$A$3"})
        book.add_chartsheet("Chart").set_chart(chart)
    assert rows_of(tmp_path / "v.xlsx") == [("1",), ("2",)]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("v.xls", r"a workbook of another kind than \.xlsx: save it as \.xlsx without a password"),
        ("v.xlsb", r"a workbook of another kind than \.xlsx: save it as \.xlsx without a password"),
        ("v.xlsx", "a workbook with a password: save it without one, in a place that is safe"),
        ("v.xlsm", "a workbook with a password: save it without one, in a place that is safe"),
    ],
)
def test_other_workbooks_are_refused_with_the_way_to_their_rows(name, problem, tmp_path):
    (tmp_path / name).write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    with pytest.raises(DataSourceError, match=problem):
        open_source(tmp_path / name)


def test_a_damaged_workbook_is_refused_without_a_cell(tmp_path):
    path = write(tmp_path / "v.xlsx", [["secret", 1, 2]])
    whole = path.read_bytes()
    for content in (whole[:500], b"PK\x03\x04" + bytes(600), b"not a workbook"):
        path.write_bytes(content)
        with pytest.raises(DataSourceError, match="damaged, cut short") as caught:
            open_source(path)
        assert "secret" not in str(caught.value)
    path.write_bytes(whole)
    edit(path, '<c r="A2".*?</c>', '<c r="A2" t="s"><v>999</v></c>')  # no such text
    session = tc.Session(path, tc.one_row_each, tc.epsilon(4), ledger=tc.in_memory)
    with session, pytest.raises(DataSourceError) as caught:
        session.agg(n=tc.count()).release(epsilon=1)
    assert "999" not in str(caught.value)


def test_a_workbook_on_the_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path / "v.xlsx", [[i, i % 7, 1] for i in range(500)], ("A", "B"), skip=1)
    asked = [str(path), "--sheet", "B", "--skip", "1", "--mean", "x:0:7"]
    asked += ["--one-row-each", "--budget-epsilon", "9", "--epsilon", "9", "--json"]
    assert run(["release", *asked]) == 0
    (answer,) = json.loads(capsys.readouterr().out)["releases"][0]["answers"]
    assert abs(answer["mean_x"]["value"] - 3) < 1
    assert run(["check", str(path), "--sheet", "B", "--skip", "1", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["columns"]) == set(NAMES)
    assert run(["init", str(path), "--sheet", "B", "--skip", "1"]) == 0
    assert 'sheet = "B"' in (tmp_path / "v.toml").read_text()


# Sheets of OpenDocument, whose XML is written here as LibreOffice writes it.

NUMBER = '<table:table-cell office:value-type="float" office:value="{}"/>'
TIME = '<table:table-cell office:value-type="time" office:time-value="{}"/>'
DATE = '<table:table-cell office:value-type="date" office:date-value="{}"/>'
TEXT = '<table:table-cell office:value-type="string">{}</table:table-cell>'
OF_ODS: dict[str, tuple[str, str | None]] = {
    "number": (NUMBER.format("5"), "5"),
    "fraction": (NUMBER.format("0.1"), "0.1"),
    "large": (NUMBER.format("1E+300"), "1e+300"),
    "too large": (NUMBER.format("1E+400"), None),
    "no number": (NUMBER.format("five"), None),
    "percentage": (NUMBER.replace("float", "percentage").format(0.5), "0.5"),
    "currency": (NUMBER.replace("float", "currency").format(3), "3"),
    "true": ('<table:table-cell office:value-type="boolean" office:boolean-value="true"/>', "true"),
    "day": (DATE.format("2024-02-29"), "2024-02-29"),
    "midnight": (DATE.format("2024-02-29T00:00:00"), "2024-02-29"),
    "time": (DATE.format("2024-02-29T12:00:00.250000000"), "2024-02-29 12:00:00.250000"),
    "no day": (DATE.format("-000-32768-01-01T00:00:00"), None),
    "clock": (TIME.format("PT06H00M00S"), "06:00:00"),
    "clock of ticks": (TIME.format("PT6H0M7.500000000S"), "06:00:07.5"),
    "duration": (TIME.format("PT1000000H30M00S"), "1000000:30:00"),
    "before": (TIME.format("-PT1H30M00S"), "-01:30:00"),
    "no time": (TIME.format("PT-2147483648H00M00S"), None),
    "text": (TEXT.format("<text:p>a &lt;b&gt; €</text:p>"), "a <b> €"),
    "blanks": (TEXT.format('<text:p> a\n b<text:s text:c="2"/><text:tab/>c</text:p>'), " a b  \tc"),
    "lines": (TEXT.format("<text:p>a<text:line-break/>b</text:p><text:p>c</text:p>"), "a\nb\nc"),
    "styled": (
        TEXT.format("<text:p>a<text:span>b<text:a>c</text:a></text:span>d</text:p>"),
        "abcd",
    ),
    "comment": (
        TEXT.format(
            "<office:annotation><text:p>no</text:p></office:annotation>"
            "<text:p>a<text:note><text:p>no</text:p></text:note>b</text:p>"
        ),
        "ab",
    ),
    "deep": (TEXT.format(f"<text:p>{'<text:span>' * 3000}a{'</text:span>' * 3000}</text:p>"), "a"),
    "endless": (TEXT.format('<text:p>a<text:s text:c="999999999"/></text:p>' * 9), None),
    "error": (
        '<table:table-cell office:value-type="string" office:string-value="" '
        'calcext:value-type="error"><text:p>#N/A</text:p></table:table-cell>',
        None,
    ),
    "formula": (
        '<table:table-cell table:formula="of:=1" office:value-type="string" '
        'office:string-value="7"><text:p>shown</text:p></table:table-cell>',
        "7",
    ),
    "no type": ("<table:table-cell><text:p>a</text:p></table:table-cell>", "a"),
    "another type": ('<table:table-cell office:value-type="void"/>', None),
    "covered": ("<table:covered-table-cell><text:p>a</text:p></table:covered-table-cell>", "a"),
    "empty": ("<table:table-cell/>", None),
    "table": (
        "<table:table-cell><table:table><table:table-row><table:table-cell><text:p>no</text:p>"
        "</table:table-cell></table:table-row></table:table></table:table-cell>",
        None,
    ),
}


def row_of(*cells: str, more: str = "") -> str:
    each = (
        cell if cell.startswith("<") else TEXT.format(f"<text:p>{cell}</text:p>") for cell in cells
    )
    return f"<table:table-row{more}>{''.join(each)}</table:table-row>"


def write_ods(path: Path, **sheets: str) -> Path:
    spaces = {"table", "office", "text"}
    known = "".join(f' xmlns:{s}="urn:oasis:names:tc:opendocument:xmlns:{s}:1.0"' for s in spaces)
    calc = "urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0"
    tables = (f'<table:table table:name="{k}">{v}</table:table>' for k, v in sheets.items())
    content = (
        f'<office:document-content{known} xmlns:calcext="{calc}"><office:scripts/><office:body>'
        f"<office:spreadsheet><table:calculation-settings/>{''.join(tables)}</office:spreadsheet>"
        "</office:body></office:document-content>"
    )
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        file.writestr("content.xml", content)
    return path


@pytest.mark.parametrize("name", OF_ODS)
def test_a_cell_of_opendocument_is_read_by_itself(name, tmp_path):
    """No cell ends a read or changes how another is read."""
    cell, read = OF_ODS[name]
    rows = row_of(*NAMES) + row_of("p", cell, "1") + row_of("q", NUMBER.format(7), "2")
    path = write_ods(tmp_path / "a.ods", S=rows)
    assert rows_of(path) == [("p", read, "1"), ("q", "7", "2")]
    assert rows_of(path, types={"x": "float"})[1] == ("q", 7.0, "2")


def test_rows_and_cells_of_opendocument_are_repeated(tmp_path):
    """LibreOffice writes equal rows that follow each other once."""
    twice, wide = ' table:number-rows-repeated="2"', ' table:number-columns-repeated="{}"'
    rows = (
        f"<table:table-header-rows>{row_of(*NAMES)}</table:table-header-rows>"
        f"<table:table-row-group>{row_of('a', '1', '2', more=twice)}</table:table-row-group>"
        + row_of(
            "b", f"<table:table-cell{wide.format(2)} office:value-type='float' office:value='3'/>"
        )
        + row_of(f"<table:table-cell{wide.format(16384)}/>", more=twice.replace("2", "999999999"))
        + row_of("beyond", "1", "2")
    )
    path = write_ods(tmp_path / "a.ods", S=rows)
    assert rows_of(path) == [("a", "1", "2"), ("a", "1", "2"), ("b", "3", "3")]
    assert rows_of(path, skip=2, header=["id"]) == [("a",), ("b",)]


@pytest.mark.full
def test_a_row_that_is_repeated_without_an_end_fills_a_sheet_at_most(tmp_path):
    twice = ' table:number-rows-repeated="999999999"'
    endless = row_of(*NAMES) + row_of("a", "1", more=twice)
    with open_source(write_ods(tmp_path / "b.ods", S=endless)) as opened:
        rows = opened.engine.rows(f"select count(*) from {opened.relation} as t")
    assert list(rows) == [(1_048_575,)]  # a sheet has no more


def test_sheets_of_opendocument(tmp_path):
    north, south = (row_of(*NAMES) + row_of(each, "1", "2") for each in "ns")
    path = write_ods(tmp_path / "v.ods", North=north, Süd=south)
    assert rows_of(path, sheet="Süd") == [("s", "1", "2")]
    assert rows_of(write_ods(tmp_path / "one.ods", North=north)) == [("n", "1", "2")]
    for options, said in (
        ({}, r"has the sheets 'North' and 'Süd': name one"),
        ({"sheet": "Sud"}, "no sheet 'Sud'; did you mean 'Süd'"),
        ({"sheet": "Süd", "skip": 9}, "row 10 of the sheet in v.ods has no names"),
    ):
        with pytest.raises((UsageError, DataSourceError), match=said):
            open_source(path, **options)


def test_a_damaged_file_of_opendocument_is_refused_without_a_cell(tmp_path):
    path = write_ods(tmp_path / "v.ods", S=row_of(*NAMES) + row_of("secret", "1", "2"))
    whole = path.read_bytes()
    for content in (whole[:200], whole[:-100], b"PK\x03\x04" + bytes(600)):
        path.write_bytes(content)
        with pytest.raises(DataSourceError, match="damaged, cut short") as caught:
            open_source(path)
        assert "secret" not in str(caught.value)


# The manifest of a file that LibreOffice 7.4 saved with a password; those of newer ones have one
# entry, encrypted-package.
LOCKED = """<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">
 <manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml">
  <manifest:encryption-data manifest:checksum="4sBkDv8/BE1m5hoBjfW0RZsjGVFE9VHUYBl5McuYlPU=">
   <manifest:algorithm
    manifest:algorithm-name="http://www.w3.org/2001/04/xmlenc#aes256-cbc"
    manifest:initialisation-vector="AGRHibrXpbxA2P7KUXeifQ=="/>
  </manifest:encryption-data>
 </manifest:file-entry>
</manifest:manifest>"""
# What saves one there: LibreOffice has no flag for it.
MACRO = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE script:module PUBLIC "-//OpenOffice.org//DTD OfficeDocument 1.0//EN" "module.dtd">
<script:module xmlns:script="http://openoffice.org/2000/script" script:name="Module1"
 script:language="StarBasic">
Sub Save
 Dim hidden(0) As New com.sun.star.beans.PropertyValue
 hidden(0).Name = "Hidden" : hidden(0).Value = True
 book = StarDesktop.loadComponentFromURL("private:factory/scalc", "_blank", 0, hidden())
 book.Sheets.getByIndex(0).getCellByPosition(0, 0).String = "age"
 Dim saved(1) As New com.sun.star.beans.PropertyValue
 saved(0).Name = "FilterName" : saved(0).Value = "calc8"
 saved(1).Name = "Password" : saved(1).Value = "secret"
 book.storeToURL("PLACE", saved())
 book.close(True)
 StarDesktop.terminate()
End Sub
</script:module>"""


@pytest.mark.parametrize("content", ["content.xml", "encrypted-package"])
def test_a_sheet_with_a_password_is_said_to_have_one(content, tmp_path):
    with zipfile.ZipFile(tmp_path / "v.ods", "w") as file:
        file.writestr("META-INF/manifest.xml", LOCKED.replace("content.xml", content))
        file.writestr(content, bytes(range(256)))
    with pytest.raises(DataSourceError, match=r"v\.ods has a password: save it without one"):
        open_source(tmp_path / "v.ods")


def in_libreoffice(home: Path, *command: str | Path) -> None:
    program = shutil.which("soffice")
    if program is None:
        leave_out("LibreOffice", "apt-get install libreoffice-calc-nogui")
    started = [program, f"-env:UserInstallation={home.as_uri()}", "--headless", *command]
    subprocess.run(started, check=True, capture_output=True, timeout=300)


@pytest.mark.full
def test_libreoffice_saves_a_sheet_with_a_password(tmp_path):
    home, path = tmp_path / "home", write(tmp_path / "a.xlsx", [["a", 1, 2]])
    in_libreoffice(home, "--convert-to", "ods", "--outdir", tmp_path, path)  # makes its home
    macro = home / "user" / "basic" / "Standard" / "Module1.xba"
    macro.write_text(MACRO.replace("PLACE", (tmp_path / "v.ods").as_uri()))
    in_libreoffice(home, "macro:///Standard.Module1.Save")
    with pytest.raises(DataSourceError, match=r"v\.ods has a password: save it without one"):
        open_source(tmp_path / "v.ods")


@pytest.mark.full
def test_libreoffice_writes_what_is_read(tmp_path):
    """The same cells by way of .xlsx and of .ods, except durations, which .ods does not tell."""
    cells = {name: CELLS[name][:2] for name in CELLS if name not in ("new error", "true")}
    rows = [[name, cell, 1] for name, cell in cells.items()]
    path = write(tmp_path / "a.xlsx", [*rows, *rows[-1:], ["a\tb  c", "x\ny", 2]])
    in_libreoffice(tmp_path / "home", "--convert-to", "ods", "--outdir", tmp_path, path)
    read = rows_of(tmp_path / "a.ods")
    assert [r for r in read if r[0] != "hours"] == [r for r in rows_of(path) if r[0] != "hours"]
    assert [r for r in read if r[0] == "hours"] == [("hours", "36:00:00", "1")]
