#!/usr/bin/env bash
# duckdb 2.0.1 and 1.4.5: a time in nanoseconds with a zone (`timestamp[ns, UTC]`), from Parquet.
#
# Guess: TIMESTAMP WITH TIME ZONE, cut to microseconds, in both.
# Seen:  2.0 has a type of its own for it, TIMESTAMPTZ_NS, and keeps the nanoseconds; so `typeof`,
#        and code that knows types by their names, meet a new one.  1.4 cuts to microseconds.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for version in 1.4.5 2.0.1; do
  "${PYTHON:-python3.11}" -m venv --clear "$folder/venv"
  "$folder/venv/bin/pip" install --quiet --disable-pip-version-check duckdb=="$version" \
    pyarrow==26.0.1 pytz==2025.2
  (cd "$folder" && venv/bin/python - <<'PYTHON')
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

times = pa.array([1_700_000_000_123_456_789], pa.timestamp("ns", "UTC"))
pq.write_table(pa.table({"t": times}), "t.parquet")
asked = "select typeof(t), epoch_ns(t) % 1000 from 't.parquet'"
found = duckdb.sql(asked).fetchall()[0]
print(duckdb.__version__, found)
expected = {
    "1.4.5": ("TIMESTAMP WITH TIME ZONE", 0),
    "2.0.1": ("TIMESTAMPTZ_NS", 789),
}
assert found == expected[duckdb.__version__], found
PYTHON
done
