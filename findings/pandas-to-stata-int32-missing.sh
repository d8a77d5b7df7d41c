#!/bin/bash
# pandas 3.1.1 writes the largest whole numbers of 32 bits to a Stata file as missing values: in a
# column of type int32 the numbers above 2147483620 are lost without a warning.
#
# Guess: the column is widened to float64, as one of int64 is, or an error names it.
# Seen: `to_stata` writes a column of type long as it is, in which these numbers are Stata's codes
# for missing values; pandas and pyreadstat both read NaN.  Of -2147483648 pandas reads NaN too, and
# pyreadstat the number.  Of int64 every number comes back, and `pyreadstat.write_dta` refuses the
# same column.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q pandas==3.1.1 pyreadstat==1.3.7
cd "$folder"
venv/bin/python - <<'PY'
import warnings

import numpy as np
import pandas as pd
import pyreadstat

persons = [7, 2147483620, 2147483621, 2147483647, -2147483648]
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    pd.DataFrame({"person": np.array(persons, dtype="int32")}).to_stata("a.dta", write_index=False)
by_pandas = pd.read_stata("a.dta")["person"].tolist()
by_pyreadstat = pyreadstat.read_dta("a.dta")[0]["person"].tolist()
print("int32:", persons, "pandas:", by_pandas, "pyreadstat:", by_pyreadstat, "warnings:", len(warned))
assert not warned, "changed"
for read in (by_pandas, by_pyreadstat):
    assert read[:2] == [7, 2147483620] and np.isnan(read[2:4]).all(), "changed"
assert np.isnan(by_pandas[4]) and by_pyreadstat[4] == -2147483648, "changed"

pd.DataFrame({"person": np.array(persons, dtype="int64")}).to_stata("b.dta", write_index=False)
wide = pd.read_stata("b.dta")["person"].tolist()
print("int64:", wide)
assert wide == persons, "changed"
try:
    pyreadstat.write_dta(pd.DataFrame({"person": np.array(persons, dtype="int32")}), "c.dta")
except pyreadstat.ReadstatError as error:
    print("pyreadstat:", error)
else:
    raise AssertionError("changed")
PY
