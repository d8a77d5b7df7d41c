#!/usr/bin/env bash
# deltalake 1.6.6: `delete("x > 100")` of a row whose x is NaN.
#
# Guess: the row goes, for NaN is above all numbers in its engine (DataFusion); or it stays.
# Seen:  it goes where another row of its file is above 100, and stays where none is: the log's
#        largest value of a file is without NaN, and files below 100 are not opened.  A query counts
#        2 rows above 100, and polars 2.1.0, which scans the same table, 3.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  deltalake==1.6.6 pyarrow==26.0.1 polars==2.1.0
cd "$folder" && venv/bin/python - <<'PYTHON'
import deltalake
import polars as pl
import pyarrow as pa

nan = float("nan")
for name, cells in (("a", [nan, 1.0]), ("b", [nan, 101.0])):
    person = [f"{name}{i}" for i in range(2)]
    deltalake.write_deltalake("t", pa.table({"person": person, "x": cells}), mode="append")
table = deltalake.DeltaTable("t")
query = deltalake.QueryBuilder().register("t", table)
counted = query.execute("select count(*) as n from t where x > 100").read_all()
seen = {
    "counted": counted["n"].to_pylist(),
    "polars": pl.scan_delta("t").filter(pl.col("x") > 100).collect().height,
    "deleted": table.delete("x > 100")["num_deleted_rows"],
    "left": sorted(deltalake.DeltaTable("t").to_pyarrow_table()["person"].to_pylist()),
}
print(deltalake.__version__, seen)
assert seen == {"counted": [2], "polars": 3, "deleted": 2, "left": ["a0", "a1"]}, seen
PYTHON
