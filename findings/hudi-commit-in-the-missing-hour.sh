#!/bin/bash
# hudi 0.5.0 (hudi-rs) leaves a commit of a table, and its rows, out without an error or a warning
# where the commit's instant is a local time that the clock of the reading machine skips, as 02:30
# of 31 March 2024 in Berlin.  Timelines are in the writer's local time by default
# (hoodie.table.timeline.timezone=LOCAL), so a table that a machine in UTC wrote at that time loses
# rows on a machine in Berlin, for good.
#
# Guess: both rows, since instants are ordered as text; or an error.
# Seen: two rows with TZ=UTC, one row with TZ=Europe/Berlin.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q hudi==0.5.0 pyarrow==26.0.1
cd "$folder"
cat > write.py <<'PY'
import json
import os

import pyarrow as pa
import pyarrow.parquet as pq

os.makedirs("t/.hoodie")
with open("t/.hoodie/hoodie.properties", "w") as file:
    file.write(
        "hoodie.table.name=t\nhoodie.table.type=COPY_ON_WRITE\nhoodie.table.version=6\n"
        "hoodie.timeline.layout.version=1\nhoodie.table.base.file.format=PARQUET\n"
        "hoodie.table.recordkey.fields=p\nhoodie.table.timeline.timezone=LOCAL\n"
        "hoodie.table.keygenerator.class=org.apache.hudi.keygen.NonpartitionedKeyGenerator\n"
    )
fields = [{"name": "p", "type": ["null", "long"], "default": None}]
schema = json.dumps({"type": "record", "name": "t_record", "fields": fields})
open("t/.hoodie_partition_metadata", "w").close()
for person, at in enumerate(["20240331013000000", "20240331023000000"]):
    name = f"f{person}-0_0-1-0_{at}.parquet"
    own = {"commit_time": at, "commit_seqno": at, "record_key": str(person),
           "partition_path": "", "file_name": name}
    own = {f"_hoodie_{key}": [value] for key, value in own.items()}
    pq.write_table(pa.table({**own, "p": [person]}), f"t/{name}")
    stat = {"fileId": f"f{person}-0", "path": name, "prevCommit": "null", "numWrites": 1,
            "partitionPath": "", "fileSizeInBytes": os.path.getsize(f"t/{name}")}
    for state in ("commit.requested", "inflight"):
        open(f"t/.hoodie/{at}.{state}", "w").close()
    with open(f"t/.hoodie/{at}.commit", "w") as file:
        json.dump({"partitionToWriteStats": {"": [stat]}, "extraMetadata": {"schema": schema},
                   "operationType": "INSERT"}, file)
PY
cat > read.py <<'PY'
import os

import hudi

print(sum(batch.num_rows for batch in hudi.HudiTable(os.path.abspath("t")).read()))
PY
venv/bin/python write.py
utc=$(TZ=UTC venv/bin/python read.py)
berlin=$(TZ=Europe/Berlin venv/bin/python read.py)
echo "rows with TZ=UTC: $utc, with TZ=Europe/Berlin: $berlin"
[ "$utc" = 2 ] && [ "$berlin" = 1 ] || { echo changed; exit 1; }
