"""The memory limit of a session holds for the whole process, whatever is asked."""

from __future__ import annotations

import subprocess
import sys

import duckdb
import pytest

LIMIT = 256
ROWS = 10_000_000
ASK = """
import resource, sys
import tacit as tc

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

session = tc.Session(
    sys.argv[1], unit=tc.unit("person", rows=5, groups=2), budget=tc.epsilon(100),
    memory_limit="256MB", threads=2,
)
before = peak()
keys = [f"g{i}" for i in range(20)]
grouped = session.group_by("place", keys=keys)
grouped.agg(n=tc.count(), m=tc.mean("value", 0, 100), p=tc.count_people()).release(epsilon=1)
grouped.agg(s=tc.sum("value", 0, 100), q=tc.median("value", 0, 100)).release(epsilon=1)
session.agg(v=tc.var("value", 0, 100)).release(epsilon=1)
session.agg(h=tc.histogram("value", range(0, 101, 10))).release(epsilon=1)
print(peak() - before)
"""


@pytest.mark.slow
def test_a_table_larger_than_the_limit_is_answered_within_it(tmp_path):
    path = tmp_path / "visits.parquet"
    duckdb.sql(
        f"""copy (select hash(i) % {ROWS // 10} as person, hash(i + 1) % 1000000 / 10000 as value,
        'g' || (hash(i + 2) % 20) as place from range({ROWS}) t(i)) to '{path}'"""
    )
    ran = subprocess.run([sys.executable, "-c", ASK, path], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) <= LIMIT
