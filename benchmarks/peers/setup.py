"""Interpreters of the libraries under comparison, one virtual environment each.

    python -m benchmarks.peers.setup               # all of them, one after another
    python -m benchmarks.peers.setup opendp pydp
    python -m benchmarks.peers.setup mbi           # for marginals.py alone

`PEER_PYTHON_<NAME>` (for example `PEER_PYTHON_OPENDP`) names an interpreter to use instead.
Tacit, numpy and DuckDB run in the interpreter of the harness. Tumult needs Java.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
CACHE = HERE.parent / ".venvs"
PEERS = ("opendp", "diffprivlib", "pydp", "pipelinedp", "smartnoise", "tumult")
MARGINALS = ("mbi",)  # has no answers to single questions, only to marginals
OURS = ("tacit", "numpy", "duckdb")


def interpreter(name: str) -> str | None:
    """The interpreter in which a library lives, or None where there is none yet."""
    if name in OURS:
        return sys.executable
    chosen = os.environ.get(f"PEER_PYTHON_{name.upper()}")
    if chosen:
        return chosen
    installed = CACHE / name / "bin" / "python"
    return str(installed) if installed.exists() else None


def install(name: str) -> None:
    """Make the virtual environment of a library with the versions that are pinned for it."""
    CACHE.mkdir(exist_ok=True)
    (CACHE / ".gitignore").write_text("*\n")
    folder = CACHE / name
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--prefer-binary"]
    subprocess.run([*pip, "-r", str(HERE / f"requirements-{name}.txt")], check=True)


def main() -> None:
    """Install the libraries named on the command line, or all."""
    names = sys.argv[1:] or list(PEERS)
    unknown = sorted(set(names) - {*PEERS, *MARGINALS})
    if unknown:
        raise SystemExit(
            f"unknown: {', '.join(unknown)}; there are {', '.join((*PEERS, *MARGINALS))}"
        )
    for name in names:
        print(f"installing {name}", flush=True)
        install(name)


if __name__ == "__main__":
    main()
