"""Ctrl-C stops a long search at once, workers included."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

_PROGRAM = """
import os, signal, threading, time
import tacit as tc

def slow(x):
    time.sleep(0.01)
    return float(x.max())

signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Timer(2.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    tc.sensitivity(slow, over=tc.Records(range(20), size=10))
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.full
def test_an_interrupt_ends_the_search() -> None:
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "interrupted\n"
    assert done.returncode == 0
    # The search would take half an hour; output is closed only once the workers are gone too.
    assert time.monotonic() - start < 30
