#!/bin/bash
# deltalake 1.6.6 reads a table whose columns are mapped by name (as Databricks and Spark write it
# once a column was renamed) as missing in every cell, without an error or a warning.
#
# Guess: the values, or an error that names the feature, as for deletion vectors.
# Seen: the right number of rows and the right names; all cells of all columns of the file are null.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q deltalake==1.6.6 pyarrow==26.0.1
cd "$folder"
venv/bin/python - <<'PY'
import json
import os

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq

os.makedirs("t/_delta_log")
pq.write_table(pa.table({"col-1": [1, 2], "col-2": ["a", "b"]}), "t/f.parquet")
fields = [
    {
        "name": name,
        "type": kind,
        "nullable": True,
        "metadata": {
            "delta.columnMapping.id": number,
            "delta.columnMapping.physicalName": f"col-{number}",
        },
    }
    for number, (name, kind) in enumerate([("id", "long"), ("name", "string")], 1)
]
metadata = {
    "id": "x",
    "format": {"provider": "parquet", "options": {}},
    "schemaString": json.dumps({"type": "struct", "fields": fields}),
    "partitionColumns": [],
    "configuration": {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"},
    "createdTime": 1,
}
add = {"path": "f.parquet", "partitionValues": {}, "size": os.path.getsize("t/f.parquet"),
       "modificationTime": 1, "dataChange": True}
actions = [{"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}, {"metaData": metadata},
           {"add": add}]
with open(f"t/_delta_log/{0:020}.json", "w") as file:
    file.write("\n".join(map(json.dumps, actions)))
rows = deltalake.DeltaTable("t").to_pyarrow_table().to_pylist()
print(rows)
assert rows == [{"id": None, "name": None}] * 2, "changed"
PY
