"""How pytest runs the examples of a file of this folder that is named alone."""

from __future__ import annotations

import importlib
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestModule

SOURCES = Path(__file__).parent


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> Generator[None, list[Any], list[Any]]:
    """Import the module of a file by its name, and leave out the search for examples in vain.

    Pytest imports the packages around a file and then runs the file, even if those packages have
    imported it already: the second run would register every step of it again.
    """
    if file_path.suffix == ".py" and parent.session.isinitpath(file_path):
        parts = file_path.relative_to(SOURCES).with_suffix("").parts
        importlib.import_module(".".join(parts).removesuffix(".__init__"))
    collected = yield
    if file_path.suffix == ".py" and b">>>" not in file_path.read_bytes():
        return [one for one in collected if not isinstance(one, DoctestModule)]
    return collected
