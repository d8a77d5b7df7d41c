"""A small clinic for tests of the service: a folder with one declared table, values to look for."""

from __future__ import annotations

import random
from pathlib import Path

VISITS = """
name = "visits"
purpose = "planning of beds"
unit = { person = "person", rows = 3 }
budget = { epsilon = 10 }
[tables.visits]
path = "visits.csv"
[tables.visits.columns]
person = { kind = "text" }
site = { kind = "text", keys = ["north", "south"] }
cost = { kind = "float", bounds = [0, 1000] }
arrived = { kind = "timestamp" }
"""
FAST = "latency = 0.2\n"
"""Settings for tests that wait for answers."""

SECRET_NAMES = ("Wilhelmina-Zyx", "Quintus-Qux")
"""Two people in the table: what must stand nowhere."""
SECRET_COST = 731.4159
"""A cost in the table that no other row has."""


def write_clinic(folder: Path, settings: str = FAST, rows: int = 200) -> Path:
    """Write the data set and its settings; return the folder."""
    folder.mkdir(exist_ok=True)
    drawn = random.Random(1)
    lines = ["person,site,cost,arrived"]
    for n in range(rows):
        site = drawn.choice(["north", "south"])
        hour = drawn.randrange(24)
        lines.append(f"p{n},{site},{drawn.randrange(900)},2026-03-01 {hour:02}:15:00")
    for name in SECRET_NAMES:
        lines.append(f"{name},north,{SECRET_COST},2026-03-01 07:07:07")
    (folder / "visits.csv").write_text("\n".join(lines) + "\n")
    (folder / "visits.toml").write_text(VISITS)
    (folder / "service.toml").write_text(settings)
    return folder
