#!/bin/bash
# pyreadstat 1.3.7 writes more value labels to a .sav than it reads: from 233,017 labels of one
# column on, its own file is refused with "Unable to allocate memory", however much memory there is.
#
# Guess: what it writes it reads, or the writer names a limit.
# Seen: the labels of a column are read into one piece of at most 16 MiB, 72 bytes a label; a file
# with one label more cannot be opened at all, not even for its columns or with `usecols`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q pyreadstat==1.3.7 pandas==3.1.1
cd "$folder"
venv/bin/python - <<'PY'
import pandas
import pyreadstat


def read(labels: int) -> str:
    frame = pandas.DataFrame({"place": [1.0, 2.0], "age": [30.0, 40.0]})
    named = {"place": {code: f"place {code}" for code in range(labels)}}
    pyreadstat.write_sav(frame, "a.sav", variable_value_labels=named)
    words = []
    for options in ({}, {"metadataonly": True}, {"usecols": ["age"]}):
        try:
            _, meta = pyreadstat.read_sav("a.sav", **options)
            words.append(f"{len(meta.column_names)} columns")
        except pyreadstat.ReadstatError as error:
            words.append(str(error))
    return ", ".join(words)


few, more = read(233_016), read(233_017)
print("233,016 labels:", few)
print("233,017 labels:", more)
assert few == "2 columns, 2 columns, 1 columns", "changed"
assert more == ", ".join(["Unable to allocate memory"] * 3), "changed"
PY
