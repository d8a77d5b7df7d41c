#!/usr/bin/env bash
# duckdb 1.4.5 and 2.0.1: read_parquet of an existing file whose name holds brackets.
#
# Guess: a name that is exactly that of a file is that file, as shells and Python's open() have it.
# Seen:  the name is always a pattern: 'a[1].parquet' reads a1.parquet, and the file of that name is
#        only read as 'a[[]1].parquet'.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for version in 1.4.5 2.0.1; do
    "${PYTHON:-python3.11}" -m venv "$folder/$version"
    "$folder/$version/bin/pip" install --quiet --disable-pip-version-check "duckdb==$version"
    (cd "$folder" && "$version/bin/python" - <<'PYTHON'
import duckdb

duckdb.execute("copy (select 'brackets' as name) to 'a[1].parquet'")
duckdb.execute("copy (select 'plain' as name) to 'a1.parquet'")

def names(file):
    return [row[0] for row in duckdb.execute(f"select name from read_parquet('{file}')").fetchall()]

found = [names("a[1].parquet"), names("a[[]1].parquet")]
print(duckdb.__version__, found)
assert found == [["plain"], ["brackets"]], found
PYTHON
    )
done
