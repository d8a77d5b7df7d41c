"""Larger data that lies beside the checkout, where it is there at all.

A test that uses it skips with that reason where it is absent, and what it shows is shown on
generated or bundled data too.
"""

from __future__ import annotations

import os
from pathlib import Path


def shared_file(name: str) -> Path | None:
    """Return the path of a file of the shared data folder, or None where there is none."""
    beside = Path(__file__).parents[4] / "shared" / "data"
    path = Path(os.environ.get("TACIT_SHARED_DATA", beside)) / name
    return path if path.is_file() else None
