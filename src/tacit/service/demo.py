"""The service's demo: the bundled table, declared, in a folder of its own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tacit.data import health_insurance
from tacit.errors import UsageError
from tacit.service.access import EVERYTHING, RIGHTS, Grant
from tacit.service.tokens import ONCE
from tacit.service.web.state import ServiceState

_DECLARATION = """\
# Everything in this file is public.
name = "visits"
purpose = "show what the service does"
owner = "Tacit's demo"
unit = { person = "person", rows = 5, groups = 1 }
budget = { epsilon = 5 }

[tables.visits]
path = "health_insurance.parquet"

[tables.visits.columns]
person = { kind = "integer" }
site = { kind = "integer", keys = [1, 2, 3, 4, 5, 6], meaning = "where the person lived" }
year = { kind = "integer", keys = [1, 2, 3, 4, 5], meaning = "year of the study" }
health = { kind = "text", keys = ["excellent", "good", "fair", "poor"], meaning = "self-rated" }
age = { kind = "float", bounds = [0, 100], unit = "year", meaning = "age in that year" }
income = { kind = "float", bounds = [0, 30000], unit = "dollar", meaning = "of the family" }
visits = { kind = "integer", bounds = [0, 20], meaning = "visits to a doctor in that year" }
spending = { kind = "float", bounds = [0, 1000], unit = "dollar", meaning = "in that year" }
"""
_SETTINGS = """\
title = "Tacit's demo"
latency = 1
"""
_LINK_SECONDS = 3600


def write_demo(folder: Path) -> None:
    """Write the bundled table, its declaration and the settings; existing files stay."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        table = folder / "health_insurance.parquet"
        if not table.exists():
            shutil.copy(health_insurance(), table)
        for name, text in (("visits.toml", _DECLARATION), ("service.toml", _SETTINGS)):
            if not (folder / name).exists():
                (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"{os.fspath(folder)} cannot be written: {error.strerror}; name another folder"
        ) from None


def demo_link(state: ServiceState, address: str) -> str:
    """Return a link that signs in once with all roles of people; void after an hour."""
    grants = [Grant(role, EVERYTHING) for role in RIGHTS if role != "device"]
    text, _ = state.tokens.create("demo", grants, _LINK_SECONDS, kind=ONCE)
    return f"{address}/sign-in/once?code={text}"
