"""Parse and translate a query, beside what the parser alone takes.

Usage: ``python benchmarks/sql_translation.py``.  The hundred queries of the page, the median of
each over several runs, in one process.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from sqlglot.dialects.duckdb import DuckDB

from sql.tables_and_queries import opened, queries

RUNS = 15


def median_ms(work: Callable[[], object]) -> float:
    times = []
    for _ in range(RUNS):
        begun = time.perf_counter()
        work()
        times.append(1000 * (time.perf_counter() - begun))
    return statistics.median(times)


def main() -> None:
    dialect = DuckDB()
    accepted = [query for query, outcome, _ in queries() if outcome == "accepted"]
    with tempfile.TemporaryDirectory() as place, opened(Path(place)) as session:
        whole = [median_ms(lambda q=q: session.sql(q)) for q in accepted]
        parse = [
            median_ms(lambda q=q: dialect.parser().parse(dialect.tokenize(q), q)) for q in accepted
        ]
    print(f"{len(accepted)} queries   median   slowest")
    print(f"parse and translate  {statistics.median(whole):6.2f}   {max(whole):6.2f} ms")
    print(f"the parser alone     {statistics.median(parse):6.2f}   {max(parse):6.2f} ms")


if __name__ == "__main__":
    main()
