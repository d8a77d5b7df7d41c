"""Tests of one group share a process, and so the server that their module starts once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.full

TESTS = """
import os
import time

import pytest


@pytest.mark.xdist_group("one")
@pytest.mark.parametrize("turn", range(8))
def test_process(turn):
    time.sleep(0.05)
    with open("processes", "a") as file:
        file.write(f"{os.getpid()}\\n")
"""


def test_a_group_runs_in_one_process(tmp_path: Path) -> None:
    (tmp_path / "test_grouped.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTEST")
    }
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup"]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    processes = (tmp_path / "processes").read_text(encoding="utf-8").split()
    assert len(processes) == 8
    assert len(set(processes)) == 1
