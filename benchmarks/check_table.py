"""`tacit check` of a wide file against DuckDB's own summaries, in one run: CPU seconds.

300 rows of 2,000 columns of numbers in a Parquet file; each figure is of a process of its own,
without what it imports.  Run: ``python benchmarks/check_table.py [columns]``.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROWS = 300
WAYS = {
    "tacit check": "tc.check(path)",
    "DuckDB: summarize": "duckdb.sql(f\"summarize from '{path}'\").fetchall()",
    "DuckDB: count, min, max of each": (
        "duckdb.sql('select ' + ', '.join(f'count({n}), min({n}), max({n})' for n in names) "
        "+ f\" from '{path}'\").fetchall()"
    ),
}


def write(path: Path, columns: int) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    draw = np.random.default_rng(1)
    numbers = {f"x{i}": draw.integers(0, 100 + i, ROWS) for i in range(columns)}
    pq.write_table(pa.table(numbers), path)


def main(columns: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "wide.parquet"
        write(path, columns)
        found = {}
        for way in WAYS:
            code = [sys.executable, __file__, "--one", way, str(path), str(columns)]
            done = subprocess.run(code, capture_output=True, text=True, check=True)
            found[way] = float(done.stdout)
        first = next(iter(found.values()))
        print(f"{ROWS} rows of {columns:,} columns: CPU seconds, and what `tacit check` is of it")
        for way, seconds in found.items():
            print(f"{way:>32} {seconds:6.2f} {first / seconds:6.2f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        import duckdb
        import pyarrow.parquet  # noqa: F401

        import tacit as tc

        duckdb.sql("select 1").fetchall()
        path, names = sys.argv[3], [f"x{i}" for i in range(int(sys.argv[4]))]
        places = {"tc": tc, "duckdb": duckdb, "path": path, "names": names}
        start = time.process_time()
        eval(WAYS[sys.argv[2]], places)
        print(time.process_time() - start)
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000)
