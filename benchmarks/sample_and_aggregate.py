"""What sample-and-aggregate costs beyond the fits themselves.

Run: ``python benchmarks/sample_and_aggregate.py [rows] [bins] [rounds]``.  One process, one thread,
processor time.  A logistic regression of scikit-learn is fitted on every bin: once by
``tc.sample_and_aggregate``, once by a bare loop over rows that are cut up already.  The two take
turns, because the speed of a machine drifts by more than what is measured; the overhead is the
median of the ratios of neighbouring runs.
"""

from __future__ import annotations

import sys
import warnings
from statistics import median
from time import process_time
from typing import Any

import numpy as np

import tacit as tc

LIMIT = 0.10


def people(rows: int) -> np.ndarray[Any, Any]:
    """Four features and a label that depends on them."""
    rng = np.random.default_rng(1)
    features = rng.normal(size=(rows, 4))
    chance = 1 / (1 + np.exp(-features @ [1.0, -0.5, 0.25, 0.0]))
    return np.column_stack((features, rng.random(rows) < chance))


def main(rows: int, bins: int, rounds: int) -> int:
    try:
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        print("skipped: scikit-learn is not installed")
        return 0
    warnings.simplefilter("ignore")

    def fit(part: Any) -> Any:
        return LogisticRegression().fit(part[:, :-1], part[:, -1]).coef_[0]

    table = people(rows)
    release = tc.sample_and_aggregate(fit, bins=bins, bounds=[(-3, 3)] * 4, epsilon=1)
    parts = np.array_split(table, bins)

    def alone() -> float:
        start = process_time()
        for part in parts:
            fit(part)
        return process_time() - start

    def whole() -> float:
        start = process_time()
        release(table)
        return process_time() - start

    alone(), whole()
    pairs = [(alone(), whole()) for _ in range(rounds)]
    overhead = median(b / a - 1 for a, b in pairs)
    print(f"{rows:,} rows, {bins:,} bins, logistic regression on 4 features, {rounds} rounds")
    print(f"fits alone           {median(a for a, _ in pairs):8.2f} s")
    print(f"sample_and_aggregate {median(b for _, b in pairs):8.2f} s")
    print(f"overhead             {overhead:8.1%}  (at most {LIMIT:.0%} allowed)")
    print("released:", np.round(release(table), 3), "for true 1, -0.5, 0.25, 0")
    return int(overhead > LIMIT)


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    sys.exit(main(*(given + [1_000_000, 1_000, 5][len(given) :])))
