"""The tables that the golden questions are about: written out here, so that no other test's change
reaches them."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

import tacit as tc

N = 120
EPOCH = datetime.date(2024, 1, 1)

ROWS: dict[str, list[Any]] = {
    "person": [i // 4 for i in range(N)],
    "age": [i * 37 % 97 for i in range(N)],
    "pay": [(i * 53 % 89) * 1.5 if i % 11 else None for i in range(N)],
    "site": [1 + i * i % 5 for i in range(N)],
    "town": ["abcd"[i % 7 % 4] if i % 13 else None for i in range(N)],
    "old": [i % 3 == 0 for i in range(N)],
    "day": [EPOCH + datetime.timedelta(i % 40) for i in range(N)],
    "at": [datetime.datetime(2024, 3, 1) + datetime.timedelta(hours=7 * i) for i in range(N)],
}
UNITS = {"row": tc.one_row_each, "person": tc.unit("person", rows=4, groups=2)}
PURE, BOTH, RHO = tc.epsilon(1000), tc.epsilon_delta(1000, "1e-3"), tc.rho(1000)


def frame() -> pa.Table:
    """The rows in memory."""
    return pa.table(ROWS)


def opened(
    unit: str = "person", budget: Any = BOTH, source: object = None, **options: Any
) -> tc.Session:
    """A session on the rows, or on another source of them."""
    table = frame() if source is None else source
    options = {"ledger": tc.in_memory, "name": "golden", **options}
    return tc.Session(table, UNITS[unit], budget, **options)


CSV_TYPES = {
    "person": "integer",
    "age": "integer",
    "pay": "float",
    "site": "integer",
    "town": "text",
    "old": "boolean",
    "day": "date",
    "at": "timestamp",
}


def write_csv(path: Path, *, delimiter: str = ",", null: str = "") -> Path:
    """The rows as text."""
    lines = [delimiter.join(ROWS)]
    for row in zip(*ROWS.values(), strict=True):
        lines.append(delimiter.join(null if v is None else str(v) for v in row))
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


DECLARED = """
name = "visits"
unit = { person = "person", rows = 5, groups = 2 }
budget = { epsilon = 1000, delta = "1e-3" }
purpose = "golden files"
[tables.visits]
path = "visits.csv"
[tables.visits.columns]
person = { kind = "integer" }
site = { kind = "integer", keys = [1, 2, 3] }
cost = { kind = "float", bounds = [0, 1000], unit = "euro" }
age = { kind = "integer", bounds = [0, 120] }
sex = { kind = "text", keys = ["f", "m"] }
day = { kind = "date" }
at = { kind = "timestamp" }
weight = { kind = "float" }
[tables.patients]
path = "patients.csv"
person = "id"
columns.born = { kind = "integer", bounds = [1900, 2030] }
columns.smokes = { kind = "boolean" }
[tables.sites]
path = "sites.csv"
public = true
key = "site"
columns.region = { keys = ["north", "south"] }
"""


def write_dataset(folder: Path) -> Path:
    """A declared data set of three tables; return the path of its declaration."""
    lines = ["person,site,cost,age,sex,day,at,weight"]
    for i in range(60):
        person, site, cost, age = i // 3, 1 + i % 3, i * 37 % 900, 20 + i
        when = EPOCH + datetime.timedelta(i)
        lines.append(f"{person},{site},{cost},{age},{'fmx'[i % 3]},{when},{when} 10:00:00,{50 + i}")
    (folder / "visits.csv").write_text("\n".join([*lines, ""]), encoding="utf-8")
    people = [f"{i},{1950 + i},{'true' if i % 2 else 'false'}" for i in range(20)]
    (folder / "patients.csv").write_text(
        "\n".join(["id,born,smokes", *people, ""]), encoding="utf-8"
    )
    (folder / "sites.csv").write_text("site,region\n1,north\n2,south\n3,north\n", encoding="utf-8")
    path = folder / "visits.toml"
    path.write_text(DECLARED, encoding="utf-8")
    return path
