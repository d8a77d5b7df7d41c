#!/bin/bash
# polars-readstat 0.25.0 cuts a text of an SPSS file at the first byte that is not UTF-8, without a
# word, and drops the fraction of a second of a DATETIME; pyreadstat 1.3.7 ends the whole read.
#
# Guess: a replacement character or a missing value, in that cell; half a second kept.
# Seen: polars-readstat reads "w\xff\xfez" as "w", the same as another person's "w", and
# 12:30:01.5 as 12:30:01; pyreadstat raises ReadstatError for the file, for one cell of one row.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q pandas==3.1.1 pyreadstat==1.3.7 polars==2.1.0 polars-readstat==0.25.0
cd "$folder"
venv/bin/python - <<'PY'
import datetime
import pathlib

import pandas as pd
import polars_readstat
import pyreadstat

at = datetime.datetime(2024, 2, 29, 12, 30, 1, 500000)
pyreadstat.write_sav(pd.DataFrame({"s": ["abcd", "wxyz"], "at": [at, at]}), "a.sav")
path = pathlib.Path("a.sav")
path.write_bytes(path.read_bytes().replace(b"wxyz", b"w\xff\xfez"))
frame = polars_readstat.scan_readstat("a.sav").collect()
print(frame["s"].to_list(), frame["at"].to_list())
assert frame["s"].to_list() == ["abcd", "w"], "changed"
assert frame["at"][0] == at.replace(microsecond=0), "changed"
try:
    pyreadstat.read_sav("a.sav")
except pyreadstat.ReadstatError as error:
    print("pyreadstat:", error)
else:
    raise SystemExit("changed")
PY
