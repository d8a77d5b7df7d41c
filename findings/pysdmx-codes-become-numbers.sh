#!/usr/bin/env bash
# pysdmx 1.21.0 (Python 3.11): a code with a leading zero, and the values, of an SDMX-CSV file.
#
# Guess: the codes are kept as text; the values are numbers, with the empty cell and NaN missing.
# Seen:  REF_AREA 0101 becomes the text "101", another area; the values stay text as they were
#        written, "NaN" and the empty text among them, and none is missing to pandas.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check 'pysdmx[data]==1.21.0'
cat >"$folder/data.csv" <<'CSV'
STRUCTURE,STRUCTURE_ID,ACTION,REF_AREA,TIME_PERIOD,OBS_VALUE
dataflow,STAT:PEOPLE(1.0),I,0101,2025,12.50
dataflow,STAT:PEOPLE(1.0),I,0102,2025,
dataflow,STAT:PEOPLE(1.0),I,0103,2025,NaN
CSV
cat >"$folder/seen.py" <<'PY'
import sys

from pysdmx.io import read_sdmx

message = read_sdmx(sys.argv[1], validate=False)
frame = message.data[0].data
print("codes:", [str(code) for code in frame["REF_AREA"]])
print("values:", [str(value) for value in frame["OBS_VALUE"]])
print("missing:", int(frame["OBS_VALUE"].isna().sum()))
PY
"$folder/venv/bin/python" -W ignore "$folder/seen.py" "$folder/data.csv" | tee "$folder/seen.txt"
diff - "$folder/seen.txt" <<'SEEN'
codes: ['101', '102', '103']
values: ['12.50', '', 'NaN']
missing: 0
SEEN
