"""A declared data set with a table of visits, one of patients and a public one of sites."""

from __future__ import annotations

from pathlib import Path

DECLARED = """
name = "visits"
unit = { person = "person", rows = 5, groups = 2 }
budget = { epsilon = 1000 }
purpose = "How the clinic is used"
owner = "The statistics office of the clinic"
[tables.visits]
path = "visits.csv"
[tables.visits.columns]
person = { kind = "integer" }
site = { kind = "integer", keys = [1, 2, 3], meaning = "where the visit was" }
cost = { kind = "float", bounds = [0, 1000], unit = "euro", meaning = "of the visit" }
day = { kind = "date" }
[tables.patients]
path = "patients.csv"
person = "id"
columns.age = { kind = "integer", bounds = [0, 120] }
columns.cost = { kind = "integer", bounds = [0, 9] }
[tables.sites]
path = "sites.csv"
public = true
key = "site"
columns.region = { keys = ["north", "south"] }
"""


def make_clinic(folder: Path, declared: str = DECLARED) -> Path:
    """Write the tables and the declaration; return the path of the declaration."""
    rows = [(1 + i % 40, 1 + i % 3, (i * 37) % 900, f"2024-0{1 + i % 9}-05") for i in range(200)]
    lines = ["person,site,cost,day", *(",".join(map(str, row)) for row in rows)]
    (folder / "visits.csv").write_text("\n".join([*lines, ""]))
    people = [f"{i},{20 + i},{i % 9}" for i in range(1, 41)]
    (folder / "patients.csv").write_text("\n".join(["id,age,cost", *people, ""]))
    (folder / "sites.csv").write_text("site,region\n1,north\n2,south\n3,north\n")
    path = folder / "visits.toml"
    path.write_text(declared)
    return path
