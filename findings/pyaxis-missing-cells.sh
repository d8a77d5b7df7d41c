#!/usr/bin/env bash
# pyaxis 0.4.3 (Python 3.11): the missing cells of a PC-Axis file, and a value with an empty text.
#
# Guess: the dots are all missing (NaN), the numbers are numbers, an empty text is a category.
# Seen:  every cell is text; ".." is NaN, "." an empty text, "..." and "-" stay with their quotation
#        marks; the empty text is dropped from its dimension, so that the cells no longer fit it and
#        the file cannot be read (ValueError).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check 'pyaxis==0.4.3' 'pandas==3.1.1'
cat >"$folder/seen.py" <<'PY'
import sys
from pathlib import Path

from pyaxis import pyaxis


def read(areas: str, data: str) -> list[str]:
    path = Path(sys.argv[1], "table.px")
    path.write_text(
        f'STUB="area";\nHEADING="year";\nVALUES("area")={areas};\nVALUES("year")="2025";\n'
        f"DATA=\n{data};\n"
    )
    return [repr(cell) for cell in pyaxis.parse(str(path), encoding="utf-8")["DATA"]["DATA"]]


print(read('"a","b","c","d","e"', '1.5 "." ".." "..." "-"'))
try:
    print(read('"a",""', "1.5 2.5"))
except ValueError as error:
    print("ValueError:", error)
PY
"$folder/venv/bin/python" -W ignore "$folder/seen.py" "$folder" | tee "$folder/seen.txt"
diff - "$folder/seen.txt" <<'SEEN'
["'1.5'", "''", 'nan', '\'"..."\'', '\'"-"\'']
ValueError: Length of values (2) does not match length of index (1)
SEEN
