"""Numbers of rows, sums, squares and products: what is added up, and how answers are read."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables.open_source import open_source
from tacit.tables.privacy_unit import OneRowEach
from tacit.tables.query.contribution_bounding import MomentSums, column_names
from tacit.tables.query.integer_query import Query
from tacit.tables.query.requests import Moments, Products, Rows

GRID = Grid.for_bounds(0, 7, whole=True)
PLAIN, SQUARED = Moments(col("x"), GRID, squares=False), Moments(col("y"), GRID, squares=True)
BOTH = Products(((col("x"), GRID), (col("y"), GRID)), ((0,), (1,), (0, 1), (1, 1)))
ROWS = [("a", 1, 2), ("a", None, 3), ("a", 9, 4), ("b", 5, None), ("b", None, None), ("c", 2, 7)]


def defined(group: str) -> dict[Any, list[int]]:
    """The answers of one group by their definition: values are clamped to 0..7."""
    rows = [(x, y) for g, x, y in ROWS if g == group]
    xs = [min(x, 7) for x, _ in rows if x is not None]
    ys = [y for _, y in rows if y is not None]
    whole = [(min(x, 7), y) for x, y in rows if x is not None and y is not None]
    return {
        Rows(): [len(rows)],
        PLAIN: [len(xs), len(rows) - len(xs), sum(xs), 0],
        SQUARED: [len(ys), len(rows) - len(ys), sum(ys), sum(y * y for y in ys)],
        BOTH: [
            len(whole),
            sum(x for x, _ in whole),
            sum(y for _, y in whole),
            sum(x * y for x, y in whole),
            sum(y * y for _, y in whole),
        ],
    }


@pytest.mark.parametrize("asked", [[Rows()], [PLAIN], [BOTH], [Rows(), PLAIN, SQUARED, BOTH]])
def test_sums_are_those_of_the_definition(asked: list[Any]) -> None:
    connection = duckdb.connect()
    connection.execute("create table t (g varchar, x bigint, y bigint)")
    connection.executemany("insert into t values (?, ?, ?)", ROWS)
    keys = ["a", "b", "c", "nobody"]
    with open_source(connection, "t") as source:
        exact = Query(source, OneRowEach(), by={"g": col("g")}, keys=keys).run(asked)
        for request in asked:
            found = exact.of(request).reshape(4, -1).tolist()
            assert found == [defined(key)[request] for key in keys]


def test_what_two_requests_share_is_added_up_once() -> None:
    sums = MomentSums([PLAIN, SQUARED, Rows()], [["zx"], ["zx"], []])
    assert sums.offsets == ["zx"]
    assert sums.squared == {"zx"}
    assert len(sums.row_terms({"zx": "z0"})) == 4  # rows, present, sum, squares
    assert column_names(["b", "a", "b"]) == {"b": "z0", "a": "z1"}


def test_people_are_not_added_up_first_where_rows_may_lack_a_factor() -> None:
    assert MomentSums([PLAIN], [["zx"]]).by_people
    assert not MomentSums([BOTH], [["zx", "zy"]]).by_people


def test_lines_of_several_scales_are_added_exactly() -> None:
    """A person's weight makes a line a multiple: numbers of any size pass through no float."""
    sums = MomentSums([PLAIN], [["zx"]])
    big = 2**70 + 1
    found = sums.read([(0, 2, 3, 2, big), (0, 1, 1, 1, 5), (2, 3, 1, 0, 0)], groups=3)
    assert found[PLAIN].tolist() == [[5, 2, 2 * big + 5, 0], [0, 0, 0, 0], [0, 3, 0, 0]]
