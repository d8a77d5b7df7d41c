"""``import tacit`` is quick because it imports next to nothing."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = {
    "duckdb", "hypothesis", "joblib", "matplotlib", "mpmath", "numpy", "pandas", "polars",
    "psycopg", "pyarrow", "pyspark", "rich", "scipy", "sqlite3", "typer",
}  # fmt: skip
"""Optional packages that a package may need, and ``import tacit`` may not."""

PROBE = """
import json, sys, time
start = time.perf_counter()
import tacit
took = time.perf_counter() - start
print(json.dumps([took, sorted({name.split(".")[0] for name in sys.modules})]))
"""

IMPORT_PACKAGE = """
import json, sys
import tacit.{package}
print(json.dumps(sorted({{name.split(".")[0] for name in sys.modules}})))
"""


def run(code: str) -> object:
    """Return the output of a fresh interpreter, read as JSON."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    return json.loads(done.stdout)


def test_import_tacit_imports_nothing_heavy() -> None:
    results = [run(PROBE) for _ in range(5)]
    _, modules = results[0]  # type: ignore[misc]
    print(f"import tacit: {min(took for took, _ in results) * 1000:.0f} ms")  # type: ignore[misc]
    assert set(modules) & HEAVY == set()


@pytest.mark.full
def test_packages_import_no_optional_part() -> None:
    optional = HEAVY - {"numpy", "sqlite3"}
    for package in ("noise", "core", "transformations", "statistics", "mechanisms", "accounting"):
        modules = run(IMPORT_PACKAGE.format(package=package))
        assert set(modules) & optional == set(), package  # type: ignore[call-overload]
