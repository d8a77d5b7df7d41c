"""Ten million reports of a unary encoding over 1,024 items, from files, in bounded memory.

    python benchmarks/local_collector.py [--reports 10000000] [--folder .]

Prints CPU time and wall time a report and the greatest memory of the process.  The files (1.28 GB
for ten million) are repeats of one batch of honest reports and are deleted at the end.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from tacit.local import Collector, DirectEncoding, OptimizedLocalHashing, UnaryEncoding, Wire
from tacit.local.batch_file import Header

BATCH = 100_000


def write(path: Path, oracle: UnaryEncoding, payload: bytes, batches: int) -> None:
    with path.open("wb") as file:
        file.write(Header.of(oracle, with_ids=False).pack())
        for _ in range(batches):
            file.write(payload)


def timed(name: str, n: int, run: object) -> None:
    cpu, wall = time.process_time(), time.perf_counter()
    run()  # type: ignore[operator]
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{name:46s} {cpu / n * 1e9:9.2f} ns CPU {wall / n * 1e9:9.2f} ns wall {memory:6d} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reports", type=int, default=10_000_000)
    parser.add_argument("--folder", default=None)
    asked = parser.parse_args()
    oracle = UnaryEncoding(1024, epsilon=1)
    reports = oracle.perturb_many(np.arange(BATCH) % 1024)
    batches = max(1, asked.reports // BATCH // 4)
    n = 4 * batches * BATCH
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        paths = [Path(folder) / f"{i}.reports" for i in range(4)]
        for path in paths:
            write(path, oracle, Wire(oracle).pack(reports).tobytes(), batches)
        collector = Collector(oracle)
        timed(f"unary, 1024 items, {n:,} reports, 4 files", n, lambda: collector.add_files(paths))
        assert collector.n == n
        one = oracle.aggregate(reports).sums
        assert np.array_equal(collector.state.sums, one * (n // BATCH))
        two = Collector(oracle)
        timed("the same, 2 processes", n, lambda: two.add_files(paths, processes=2))
        assert two.state == collector.state
        guarded = Collector(oracle, outliers="1e-9")
        timed("the same, outliers refused", n, lambda: guarded.add_files(paths))
    for other in (DirectEncoding(1024, epsilon=1), OptimizedLocalHashing(1024, epsilon=1)):
        wire = Wire(other)
        batch = other.perturb_many(np.arange(BATCH) % 1024)
        packed = wire.pack(batch)
        name = type(other).__name__
        timed(f"decode a batch, {name}", BATCH, lambda w=wire, p=packed: w.unpack(p))
        alone = [wire.encode(report) for report in batch[:5000]]
        timed(
            f"encode one by one, {name}",
            5000,
            lambda w=wire, b=batch: [w.encode(r) for r in b[:5000]],
        )
        single = Collector(other)
        timed(
            f"add one by one, {name}", 5000, lambda s=single, a=alone: [s.add_report(d) for d in a]
        )


if __name__ == "__main__":
    main()
