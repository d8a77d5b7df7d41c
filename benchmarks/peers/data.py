"""The table that every library is given: generated like a census table, or the real one.

Columns, all int64: `age` (17 to 90), `hours` a week (1 to 99), `occupation` (0 to 13, and 14 where
it is missing). The generator is seeded: it makes the data, never the noise.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
import numpy.typing as npt
from benchmarks.peers.adapters.base import GROUPS

Table = dict[str, npt.NDArray[np.int64]]

SEED = 20
# Sizes of the occupations in the UCI Adult training table, largest first, the missing ones last.
_SIZES = [4140, 4099, 4066, 3770, 3650, 3295, 2002, 1597, 1370, 994, 928, 649, 149, 9, 1843]


def generate(rows: int) -> Table:
    """A table of `rows` people with the shape of the census table, always the same one."""
    generator = np.random.default_rng(SEED)
    age = np.clip(np.floor(17 + generator.gamma(2.6, 8.4, rows)), 17, 90)
    other = np.clip(np.rint(generator.normal(40, 15, rows)), 1, 99)
    hours = np.where(generator.random(rows) < 0.47, 40, other)
    edges = np.cumsum(_SIZES) / sum(_SIZES)
    places = np.arange(rows) / rows
    occupation = generator.permutation(np.searchsorted(edges, places, side="right"))
    columns = {"age": age, "hours": hours, "occupation": occupation}
    return {name: np.ascontiguousarray(column, np.int64) for name, column in columns.items()}


def census() -> Table:
    """The UCI Adult training table, from the folder that TACIT_SHARED_DATA names."""
    folder = os.environ.get("TACIT_SHARED_DATA")
    path = Path(folder) / "adult.csv" if folder else None
    if path is None or not path.is_file():
        raise SystemExit("the census table needs TACIT_SHARED_DATA=<folder that holds adult.csv>")
    with path.open(newline="") as lines:
        people = list(csv.DictReader(lines))
    names = [person["occupation"].strip().strip("?") for person in people]
    codes = {name: code for code, name in enumerate(sorted(set(names) - {""}))}
    if len(codes) != GROUPS:
        raise SystemExit(f"{path}: {len(codes)} occupations where {GROUPS} were expected")
    columns = {
        "age": [int(person["age"]) for person in people],
        "hours": [int(person["hours-per-week"]) for person in people],
        "occupation": [codes.get(name, GROUPS) for name in names],
    }
    return {name: np.array(column, np.int64) for name, column in columns.items()}


def truth(table: Table) -> dict[str, npt.NDArray[np.float64]]:
    """The exact answer of every task, as an array of one number or one a group."""
    age, hours, occupation = table["age"], table["hours"], table["occupation"]
    groups = [age[occupation == key] for key in range(GROUPS)]
    return {
        "count": np.array([float(len(age))]),
        "sum": np.array([float(hours.sum())]),
        "mean": np.array([float(age.mean())]),
        "median": np.array([float(np.median(age))]),
        "group_count": np.array([float(len(group)) for group in groups]),
        "group_mean": np.array([float(group.mean()) for group in groups]),
    }


def save(table: Table, folder: Path) -> None:
    """Write each column as one `.npy` file, the form in which every server reads it."""
    for name, column in table.items():
        np.save(folder / f"{name}.npy", column)
