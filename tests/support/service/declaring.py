"""A clinic whose curators declare data sets: a table in the data folder, and declarations of it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from support.service.client import Client
from support.service.hosting import hosted_clinic

__all__ = ["FIELDS", "HERE", "body", "columns", "declaring_clinic", "put", "table"]

HERE = "/v1/datasets/stays"
FIELDS: dict[str, Any] = {
    "unit": {"person": "person", "rows": 5},
    "budget": {"epsilon": 3},
    "tables": {"visits": {"path": "data/stays.csv", "columns": {"cost": {"bounds": [0, 99]}}}},
}


def declaring_clinic(folder: Path) -> Path:
    """Write a hosted clinic, and a table that is not declared yet."""
    hosted_clinic(folder)
    (folder / "data").mkdir()
    shutil.copy(folder / "visits.csv", folder / "data" / "stays.csv")
    return folder


def body(replaces: int | None = None, hosting: Any = None, **changes: Any) -> dict[str, Any]:
    fields = {name: value for name, value in {**FIELDS, **changes}.items() if value is not None}
    said = {"declaration": fields, "hosting": hosting, "replaces": replaces}
    return {name: value for name, value in said.items() if value is not None}


def put(client: Client, token: str, here: str = HERE, **said: Any) -> Any:
    return client.put(here, json=body(**said), token=token)


def table(**fields: Any) -> dict[str, Any]:
    return {"visits": fields}


def columns(**said: Any) -> dict[str, Any]:
    return {"visits": {"path": "data/stays.csv", "columns": said}}
