#!/usr/bin/env bash
# pandas 3.1.1 with odfpy 1.4.1, python-calamine 0.9.1: cells of an OpenDocument sheet (.ods).
#
# Guess: a tab and the end of a line in a cell are "\t" and "\n"; a duration is a timedelta.
# Seen:  pandas leaves the tab out, so "a<tab>b" is "ab".  calamine leaves out the end of a line
#        too.  A time of day and a duration have one type in the format.  A time below 24 hours is
#        a datetime.time in both; one duration of 36 hours ends the read of the sheet in pandas,
#        and is the text PT36H00M00S in calamine.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pandas==3.1.1 odfpy==1.4.1 \
  python-calamine==0.9.1
(cd "$folder" && venv/bin/python - <<'PYTHON')
import datetime

import pandas as pd
from odf.opendocument import OpenDocumentSpreadsheet
from odf.table import Table, TableCell, TableRow
from odf.text import LineBreak, P, Tab


def text(*parts):
    cell, paragraph = TableCell(valuetype="string"), P()
    cell.addElement(paragraph)
    for part in parts:
        paragraph.addText(part) if isinstance(part, str) else paragraph.addElement(part)
    return cell


def time(value, shown):
    cell = TableCell(valuetype="time", timevalue=value)
    cell.addElement(P(text=shown))
    return cell


def read(*cells):
    book, sheet = OpenDocumentSpreadsheet(), Table(name="S")
    book.spreadsheet.addElement(sheet)
    for cell in (text("x"), *cells):
        row = TableRow()
        row.addElement(cell)
        sheet.addElement(row)
    book.save("v.ods")
    for engine in ("odf", "calamine"):
        try:
            yield pd.read_excel("v.ods", engine=engine)["x"].tolist()
        except ValueError as error:
            yield str(error)


texts = list(read(text("a", Tab(), "b"), text("a", LineBreak(), "b")))
print(texts)
assert texts == [["ab", "a\nb"], ["ab", "ab"]], texts
times = list(read(time("PT06H00M00S", "06:00"), time("PT36H00M00S", "36:00")))
print(times)
assert times == ["hour must be in 0..23: 36:00", [datetime.time(6), "PT36H00M00S"]], times
PYTHON
