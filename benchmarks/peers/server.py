"""The process in which one library works: JSON lines in, JSON lines out.

    python -m benchmarks.peers.server opendp

Requests: `{"do": "load", "folder": ...}` and `{"do": "task", "task": ..., "epsilon": ...}`. The
answer to a task tells its wall time, the CPU time of the calling thread and of the process with
all its threads, in seconds (null where the work is done in other processes).
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from benchmarks.peers.adapters.base import Adapter


def load(adapter: Adapter, folder: Path) -> dict[str, Any]:
    """Read the columns, hand them over, and say who is ready to be asked."""
    columns = {name: np.load(folder / f"{name}.npy") for name in ("age", "hours", "occupation")}
    start = time.perf_counter()
    adapter.load(columns)
    return {
        "load": time.perf_counter() - start,
        "version": adapter.version(),
        "relation": adapter.relation,
        "accounting": adapter.accounting,
        "tasks": sorted(adapter.tasks()),
    }


def ask(adapter: Adapter, task: str, epsilon: float) -> dict[str, Any]:
    """Do one task once, with its times."""
    question = adapter.tasks()[task]
    wall, process, thread = time.perf_counter(), time.process_time(), time.thread_time()
    answer = question(epsilon)
    cpu = {"cpu": time.process_time() - process, "thread": time.thread_time() - thread}
    return {
        "answer": answer,
        "wall": time.perf_counter() - wall,
        **(dict.fromkeys(cpu) if adapter.children else cpu),
    }


def handle(adapter: Adapter, request: dict[str, Any]) -> dict[str, Any]:
    """Answer one request; a failure of the library is an answer too."""
    try:
        if request["do"] == "load":
            return load(adapter, Path(request["folder"]))
        return ask(adapter, request["task"], request["epsilon"])
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:500]}


def serve(adapter: Adapter, requests: TextIO, answers: TextIO) -> None:
    """Answer until the other side is gone."""
    for line in requests:
        answers.write(json.dumps(handle(adapter, json.loads(line))) + "\n")
        answers.flush()


def main() -> None:
    """Keep stdout for the protocol alone: what a library prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    module = importlib.import_module(f"benchmarks.peers.adapters.{sys.argv[1]}")
    serve(module.ADAPTER(), sys.stdin, answers)


if __name__ == "__main__":
    main()
