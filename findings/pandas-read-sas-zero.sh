#!/bin/bash
# pandas 3.1.1 reads the number 0 of a SAS transport file (.xpt) as 5.397605346934028e-79.
#
# Guess: 0.0; pyreadstat reads what it wrote.
# Seen: `pandas.read_sas` gives 5.4e-79 for each zero, so that `x == 0` is false for all rows and
# groups by a code 0 are lost; pyreadstat gives 0.0 for the same file.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q pandas==3.1.1 pyreadstat==1.3.7
cd "$folder"
venv/bin/python - <<'PY'
import pandas as pd
import pyreadstat

pyreadstat.write_xport(pd.DataFrame({"x": [0.0, 1.0]}), "a.xpt", file_format_version=5)
by_pandas = pd.read_sas("a.xpt", encoding="utf-8")["x"].tolist()
by_pyreadstat = pyreadstat.read_xport("a.xpt")[0]["x"].tolist()
print("pandas:", by_pandas, "pyreadstat:", by_pyreadstat)
assert by_pandas == [5.397605346934028e-79, 1.0], "changed"
assert by_pyreadstat == [0.0, 1.0], "changed"
PY
