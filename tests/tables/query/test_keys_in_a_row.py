"""Keys that follow one another need no table: the same answers as by one, whatever the values."""

import numpy as np
import pyarrow as pa
import pytest

from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables import open_source
from tacit.tables.query.integer_query import Query
from tacit.tables.query.keys_sql import byte_of_key
from tacit.tables.query.requests import Cells, Moments, People, Rows, Total
from tacit.tables.spec.privacy_unit import OneRowEach, PersonUnit

TOP = 2**63 - 1
GRID = Grid.for_bounds(0, 100, whole=True)
AGE = col("age")
ASKED = [Rows(), Moments(AGE, GRID), Total(AGE, GRID), Cells(AGE, GRID)]
SITES = [None, TOP, -TOP - 1, 256, -1, 300, *range(-6, 12), *range(-3, 9), TOP - 4, 1990, 1993]
KINDS = [pa.int64(), pa.uint64(), pa.int8(), pa.uint8(), pa.int32()]
UNITS = {"row": OneRowEach(), "person": PersonUnit("person", rows=2)}


def table(kind):
    held = pa.array([None if s is None else s for s in SITES], pa.int64())
    if kind != pa.int64():
        held = pa.array([s if s is None or 0 <= s < 128 else None for s in SITES], kind)
    places = np.arange(len(SITES))
    return pa.table({"site": held, "age": places % 7, "person": places % 5})


def answers(source, unit, keys, **asked):
    query = Query(source, unit, by={"site": col("site")}, keys=keys, **asked)
    requests = [*ASKED, People()] if unit == UNITS["row"] else ASKED  # of people groups are drawn
    found = query.run(requests)
    listed = []
    for request in requests:
        groups = [np.asarray(group, dtype=object).tolist() for group in found.of(request)]
        listed.append(dict(zip(keys, groups, strict=True)))
    return listed


@pytest.mark.few(10)
@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("first", [0, 1, -4, 1990])
@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_every_answer_is_that_of_a_table_of_keys(kind, first, unit):
    keys = list(range(first, first + 5))
    condition = (AGE > 2) | (col("site") < 4)
    with open_source(table(kind)) as source:
        for asked in ({}, {"where": condition}):
            in_a_row = answers(source, unit, keys, **asked)
            assert in_a_row == answers(source, unit, keys[::-1], **asked)


def test_which_keys_are_in_a_row():
    with open_source(table(pa.int64())) as source:
        schema, d = source.schema, source.engine.dialect

        def byte(*keys, by="site"):
            return byte_of_key({by: col(by)}, [(key,) for key in keys], schema, d)

        assert byte(3, 4, 5)
        assert byte(*range(256))
        refused = [(5, 4), (1, 3), (True,), (0, None), (None,), range(257), ("a",)]
        assert not any(byte(*keys) for keys in refused)
        assert not byte_of_key({"a": col("site"), "b": col("age")}, [(1, 2)], schema, d)
        assert not byte_of_key({"a": col("site") + 1}, [(1,)], schema, d)
