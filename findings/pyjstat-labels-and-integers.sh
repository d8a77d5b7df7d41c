#!/usr/bin/env bash
# pyjstat 2.4.0 (Python 3.11, pandas 3.1.1): a JSON-stat 2.0 cube with two categories of one label,
# an integer beyond 2^53, a missing cell, and its status.
#
# Guess: rows are named by code, the integer is exact, the status is a column.
# Seen:  rows are named by label, so that two of them cannot be told apart (naming="id" gives the
#        codes); the missing cell makes all values floats, so that 9007199254740993 becomes
#        9007199254740992; the status is dropped.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check 'pyjstat==2.4.0' 'pandas==3.1.1'
cat >"$folder/seen.py" <<'PY'
import json

from pyjstat import pyjstat

labels = {"8": "Other", "1": "North", "9": "Other"}
cube = {
    "version": "2.0",
    "class": "dataset",
    "id": ["area"],
    "size": [3],
    "dimension": {
        "area": {"category": {"index": {"8": 0, "1": 1, "9": 2}, "label": labels}},
    },
    "value": [2**53 + 1, None, 3],
    "status": {"1": "suppressed"},
}
frame = pyjstat.Dataset.read(json.dumps(cube)).write("dataframe")
print({name: list(frame[name]) for name in frame})
PY
"$folder/venv/bin/python" -W ignore "$folder/seen.py" | tee "$folder/seen.txt"
diff - "$folder/seen.txt" <<'SEEN'
{'area': ['Other', 'North', 'Other'], 'value': [9007199254740992.0, nan, 3.0]}
SEEN
