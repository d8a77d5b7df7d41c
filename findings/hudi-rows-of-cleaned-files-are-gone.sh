#!/bin/bash
# hudi 0.5.0 (hudi-rs) reads a table as of an instant whose files Hudi has cleaned, as it does by
# itself after some commits, as the rows that happen to be left: no error, no warning.
#
# Guess: an error that the instant is no longer there, as deltalake gives where a file is
# gone.
# Seen: at the second of three instants there were two rows; once the third has rewritten the file
# of the first, and the old one was cleaned, one row is read.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q hudi==0.5.0 pyarrow==26.0.1
cd "$folder"
venv/bin/python - <<'PY'
import json
import os

import hudi
import pyarrow as pa
import pyarrow.parquet as pq

os.makedirs("t/.hoodie")
with open("t/.hoodie/hoodie.properties", "w") as file:
    file.write(
        "hoodie.table.name=t\nhoodie.table.type=COPY_ON_WRITE\nhoodie.table.version=6\n"
        "hoodie.timeline.layout.version=1\nhoodie.table.base.file.format=PARQUET\n"
        "hoodie.table.recordkey.fields=p\nhoodie.table.timeline.timezone=UTC\n"
        "hoodie.table.keygenerator.class=org.apache.hudi.keygen.NonpartitionedKeyGenerator\n"
    )
fields = [{"name": "p", "type": ["null", "long"], "default": None}]
schema = json.dumps({"type": "record", "name": "t_record", "fields": fields})
open("t/.hoodie_partition_metadata", "w").close()


def commit(at, group, people, before="null"):
    name = f"{group}_0-1-0_{at}.parquet"
    own = {"commit_time": at, "commit_seqno": at, "record_key": group, "partition_path": "",
           "file_name": name}
    own = {f"_hoodie_{key}": [value] * len(people) for key, value in own.items()}
    pq.write_table(pa.table({**own, "p": people}), f"t/{name}")
    stat = {"fileId": group, "path": name, "prevCommit": before, "numWrites": len(people),
            "partitionPath": "", "fileSizeInBytes": os.path.getsize(f"t/{name}")}
    for state in ("commit.requested", "inflight"):
        open(f"t/.hoodie/{at}.{state}", "w").close()
    with open(f"t/.hoodie/{at}.commit", "w") as file:
        json.dump({"partitionToWriteStats": {"": [stat]}, "extraMetadata": {"schema": schema},
                   "operationType": "UPSERT"}, file)
    return f"t/{name}"


def people():
    options = hudi.HudiReadOptions().with_as_of_timestamp(second)
    batches = hudi.HudiTable(os.path.abspath("t")).read(options)
    return sorted(p for batch in batches for p in batch.column("p").to_pylist())


first, second, third = (f"2024010{day}120000000" for day in (1, 2, 3))
old = commit(first, "a-0", [1])
commit(second, "b-0", [2])
before = people()
commit(third, "a-0", [1, 3], before=first)
os.remove(old)  # as cleaning does
after = people()
print("before:", before, "after:", after)
assert (before, after) == ([1, 2], [2]), "changed"
PY
