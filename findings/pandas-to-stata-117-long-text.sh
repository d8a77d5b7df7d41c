#!/bin/bash
# pandas 3.1.1 writes long texts (`convert_strl`) in UTF-8 to a Stata file of version 117, which has
# one byte per character: an accent comes back as two other characters, from pandas as well.
#
# Guess: a file that pandas writes and reads comes back as it was, or a warning names the column.
# Seen: of the same text, the column of fixed width comes back as "Zürich", the long one as
# "ZÃ¼rich", without a warning; a group of that name is another group.  Of version 118, which is in
# UTF-8, both come back.  pyreadstat takes long texts for UTF-8 in both versions.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q pandas==3.1.1 pyreadstat==1.3.7
cd "$folder"
venv/bin/python - <<'PY'
import warnings

import pandas as pd
import pyreadstat

frame = pd.DataFrame({"born": ["Zürich", "Bern"], "lives": ["Zürich", "Bern"]})
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    frame.to_stata("a.dta", version=117, convert_strl=["lives"], write_index=False)
    by_pandas = pd.read_stata("a.dta").iloc[0].tolist()
by_pyreadstat = pyreadstat.read_dta("a.dta")[0].iloc[0].tolist()
print("117: pandas:", by_pandas, "pyreadstat:", by_pyreadstat, "warnings:", len(warned))
assert not warned, "changed"
assert by_pandas == ["Zürich", "ZÃ¼rich"], "changed"
assert by_pyreadstat == ["Zürich", "Zürich"], "changed"

frame.to_stata("b.dta", version=118, convert_strl=["lives"], write_index=False)
again = pd.read_stata("b.dta").iloc[0].tolist()
print("118: pandas:", again)
assert again == ["Zürich", "Zürich"], "changed"
PY
