"""The data set and the hundred queries of the page."""

from __future__ import annotations

import re
from pathlib import Path

import tacit as tc

PAGE = Path(__file__).parents[2] / "docs" / "sql-queries.md"
DECLARED = """
name = "visits"
unit = { person = "person", rows = 5, groups = 2 }
budget = { epsilon = 100, delta = "1e-6" }
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
_ROW = re.compile(r"^\| `(.*)` \| (accepted|refused) \| (.*) \|$", re.MULTILINE)


def opened(place: Path) -> tc.Session:
    """A session on the data set of the page."""
    (place / "visits.csv").write_text(
        "person,site,cost,age,sex,day,at,weight\n1,1,20,30,f,2024-01-01,2024-01-01 10:00:00,70\n"
    )
    (place / "patients.csv").write_text("id,born,smokes\n1,1994,true\n")
    (place / "sites.csv").write_text("site,region\n1,north\n2,south\n")
    (place / "visits.toml").write_text(DECLARED)
    return tc.open(place / "visits.toml", ledger=tc.in_memory)


def queries() -> list[tuple[str, str, str]]:
    """The queries of the page, each accepted or refused, and what is said of it."""
    result = _ROW.findall(PAGE.read_text(encoding="utf-8"))
    return [(query.replace("\\|", "|"), outcome, said) for query, outcome, said in result]
