"""Expected errors of workloads under one budget, beside strategies of the literature, in one run.

All ranges, at rho 1/2 (Gaussian noise of unit budget) and at epsilon sqrt(2), and marginals of many
attributes: root mean square errors over all questions, and the seconds that planning took.

Run: ``python benchmarks/plans.py [--cells 256] [--attributes 100] [--out results.json]``.
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import time
from pathlib import Path
from typing import Any

import tacit as tc
from tacit.workload.strategy import block_tree, identity, wavelet


def all_ranges(cells: int) -> dict[str, Any]:
    """Print the errors of all ranges over so many cells, and return them by strategy."""
    asked = tc.workload.ranges(cells)
    others = [identity(cells, "L2"), wavelet(cells, "L2")]
    others += [block_tree(cells, branching, "L2") for branching in (2, 16)]
    print(f"| all ranges of {cells} cells | rho 1/2 | epsilon sqrt(2) |\n|---|---:|---:|")
    bounds = asked.lower_bound(rho="1/2"), asked.lower_bound(epsilon=2**0.5)
    print(f"| lower bound (singular values) | {bounds[0]:.3f} | {bounds[1]:.3f} |")
    start = time.perf_counter()
    ours = asked.expected_error(rho="1/2"), asked.expected_error(epsilon=2**0.5)
    seconds = time.perf_counter() - start
    print(f"| Tacit, both planned in {seconds:.1f} s | {ours[0]:.3f} | {ours[1]:.3f} |")
    found = {"lower bound": bounds, "Tacit": ours}
    for one in others:
        errors = asked.error_of(one, rho="1/2"), asked.error_of(one, epsilon=2**0.5)
        print(f"| {one.name} | {errors[0]:.3f} | {errors[1]:.3f} |")
        found[one.name] = errors
    return {
        name: dict(zip(("rho 1/2", "epsilon sqrt(2)"), map(float, pair), strict=True))
        for name, pair in found.items()
    }


def pairs(attributes: int) -> dict[str, float]:
    """Print and return the errors of all marginals of two attributes, of 10 cells each."""
    start = time.perf_counter()
    asked = tc.workload.marginals([10] * attributes, 2)
    errors = asked.expected_error(rho="1/10"), asked.lower_bound(rho="1/10")
    seconds = time.perf_counter() - start
    print(f"\npairs of {attributes} attributes at rho 0.1: error {errors[0]:.2f}, ", end="")
    print(f"lower bound {errors[1]:.2f}, planned in {seconds:.1f} s")
    return {"attributes": attributes, "error": float(errors[0]), "bound": float(errors[1])}


def main() -> None:
    """Run both, and write the errors where that is asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=256)
    parser.add_argument("--attributes", type=int, default=100)
    parser.add_argument("--out", type=Path, help="write the errors as JSON")
    given = parser.parse_args()
    results = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "python": platform.python_version(),
        "tacit": tc.__version__,
        "cells": given.cells,
        "ranges": all_ranges(given.cells),
        "pairs": pairs(given.attributes),
    }
    if given.out:
        given.out.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
