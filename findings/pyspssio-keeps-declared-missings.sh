#!/bin/bash
# pyspssio 0.6.0 (IBM's own library for SPSS files) reads values that the file declares as missing
# as numbers, where pandas 3.1.1 and pyreadstat 1.3.7 read NaN: one file has two means by default.
#
# Guess: NaN, as by the other readers and as SPSS itself computes.
# Seen: of the ages 34, 98, 99, -1, missing, 20 with 90 to 99 and -1 declared missing pyspssio has
# the mean 50, the others 27; `include_user_missing=False` gives 27.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q pandas==3.1.1 pyreadstat==1.3.7 pyspssio==0.6.0
cd "$folder"
venv/bin/python - <<'PY'
import pandas as pd
import pyreadstat
import pyspssio

ages = pd.DataFrame({"age": [34.0, 98.0, 99.0, -1.0, None, 20.0]})
pyreadstat.write_sav(ages, "a.sav", missing_ranges={"age": [{"lo": 90, "hi": 99}, -1]})
by_pyspssio = pyspssio.read_sav("a.sav", data_only=True)["age"]
without = pyspssio.read_sav("a.sav", data_only=True, include_user_missing=False)["age"]
by_pyreadstat, by_pandas = pyreadstat.read_sav("a.sav")[0]["age"], pd.read_spss("a.sav")["age"]
means = [float(column.mean()) for column in (by_pyspssio, without, by_pyreadstat, by_pandas)]
print("pyspssio, without user-missing, pyreadstat, pandas:", means)
assert means == [50.0, 27.0, 27.0, 27.0], "changed"
PY
