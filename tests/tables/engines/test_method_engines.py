"""Whole rows and bins of people are the same on every engine, and as the definition has them."""

import hashlib
import random
from collections import Counter, defaultdict

import numpy as np
import pytest

import tacit as tc
from support.tables.engine_tables import ENGINES
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables.query.contribution_bounding import WholeCells
from tacit.tables.query.integer_query import Query

SALT = "5a17" * 8
TYPES = {"person": "varchar", "g": "varchar", "x": "double"}
KEYS = [("a",), ("b",), (None,)]
GRID = Grid.for_bounds(0, 8, bits=6)
BINS = 3


@pytest.fixture(params=list(ENGINES))
def load(request, monkeypatch):
    monkeypatch.setattr("tacit.tables.privacy_unit.new_salt", lambda: SALT)
    return ENGINES[request.param](request)


def drawn(seed):
    source = random.Random(seed)
    people = ["p1", "é'", "", "P1", "p1 ", None]
    return [
        {
            "person": source.choice(people),
            "g": source.choice(["a", "b", "c", None]),
            "x": source.choice([0.0, 1.5, 3.25, 99.0, -1.0, float("nan"), None]),
        }
        for _ in range(80)
    ]


def digest(*values):
    tagged = ["n" if v is None else f"v{v}" for v in values]
    return hashlib.md5("/".join([SALT, *tagged]).encode()).hexdigest()


def offset(x):
    if x is None or x != x:
        return None
    return GRID.offset(min(max(x, 0.0), 8.0))


def expected(rows, unit, bins, groups):
    """The counts of each cell in each bin of each key, from the definition."""
    own = defaultdict(list)
    for row in rows:
        if row["person"] is not None and (row["g"],) in KEYS:
            own[row["person"]].append((KEYS.index((row["g"],)), offset(row["x"])))
    found = [Counter() for _ in range(len(KEYS) * bins)]
    for person, mine in own.items():
        codes = sorted({code for code, _ in mine}, key=lambda c, p=person: digest(p, c))
        kept = codes if groups is None else codes[:groups]
        whole = [(code, z) for code, z in mine if z is not None and code in kept]
        whole.sort(key=lambda row, p=person: digest(p, *row))
        mark = sum(int(digit, 16) * 16**i for i, digit in enumerate(digest(person)[:7])) % bins
        for code, z in whole[: unit.rows]:
            found[code * bins + (mark if bins > 1 else 0)][z] += 1
    return found


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("rows", "bins", "groups"), [(1, 1, None), (4, 1, None), (3, BINS, 2), (30, BINS, 1)]
)
def test_the_engine_agrees_with_the_definition(load, rows, bins, groups):
    unit = tc.unit("person", rows=rows)
    for seed in range(3):
        table = drawn(f"{rows} {bins} {seed}")
        with load(table, TYPES) as source:
            query = Query(source, unit, by={"g": col("g")}, keys=KEYS)
            request = WholeCells(col("x"), GRID, parts=bins, groups=groups)
            found = query.run([request]).of(request)
        counted = [
            Counter(dict(zip(cells.tolist(), counts.tolist(), strict=True)))
            for cells, counts in found
        ]
        assert counted == expected(table, unit, bins, groups)
        assert all(np.all(np.diff(cells) > 0) for cells, _ in found)
