"""How pytest runs the examples of a file of this folder that is named alone."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

SOURCES = Path(__file__).parent


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> None:
    """Import the module of a file by its name.

    Pytest imports the packages around a file and then runs the file, even if those packages have
    imported it already: the second run would register every step of it again.
    """
    if file_path.suffix == ".py" and parent.session.isinitpath(file_path):
        parts = file_path.relative_to(SOURCES).with_suffix("").parts
        importlib.import_module(".".join(parts).removesuffix(".__init__"))
