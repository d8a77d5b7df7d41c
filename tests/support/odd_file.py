"""A CSV file and its plan where nothing is as by default."""

from __future__ import annotations

PLAN = """
unit = "row"
[source]
path = "odd.csv"
delimiter = ";"
header = ["age", "day"]
null = ["-"]
types = { day = "date" }
date_format = "%d.%m.%Y"
encoding = "latin-1"

[[question]]
answers = { n = { statistic = "count" } }
where = "day >= '2024-01-01'"
epsilon = 100000
"""
