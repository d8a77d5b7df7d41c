#!/usr/bin/env bash
# smartnoise-sql 1.0.10 (Python 3.11): what one query costs in a session with epsilon 1.
#
# Guess: count(*) 1, count(x) 1, sum 1, avg 2, var 2: one noisy column each, two for a ratio.
# Seen:  1, 2, 2, 3, 4.  Every aggregate of a column adds a noisy count of rows that the answer
#        does not show.  It is shared within a query: sum and count(*) together cost 2.
# So compare it with another library at the cost that get_privacy_cost reports, never at the
# epsilon of the session.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  smartnoise-sql==1.0.10 opendp==0.14.2 pandas==2.3.3 numpy==2.4.6 sqlalchemy==2.1.9
cat >"$folder/seen.py" <<'PY'
import pandas as pd
from snsql import Privacy, from_df

metadata = {"": {"s": {"t": {"row_privacy": True, "x": {"type": "int", "lower": 0, "upper": 100}}}}}
frame = pd.DataFrame({"x": [10, 20, 30, 40, 50]})
reader = from_df(frame, metadata=metadata, privacy=Privacy(epsilon=1.0, delta=1e-6))
for select in ("COUNT(*)", "COUNT(x)", "SUM(x)", "AVG(x)", "VAR(x)", "SUM(x), COUNT(*)", "VAR(x), AVG(x)"):
    terms = ", ".join(f"{term} AS c{i}" for i, term in enumerate(select.split(", ")))
    epsilon, _ = reader.get_privacy_cost(f"SELECT {terms} FROM s.t")
    print(f"{select}: {epsilon:g}")
PY
"$folder/venv/bin/python" -W ignore "$folder/seen.py" | tee "$folder/seen.txt"
diff - "$folder/seen.txt" <<'SEEN'
COUNT(*): 1
COUNT(x): 2
SUM(x): 2
AVG(x): 3
VAR(x): 4
SUM(x), COUNT(*): 2
VAR(x), AVG(x): 4
SEEN
