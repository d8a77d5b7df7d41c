"""Large expressions: written out once, answered on every engine, and refused beyond a size."""

from __future__ import annotations

import operator
from functools import reduce

import pytest

from support.tables.engine_tables import ENGINES
from tacit.errors import UsageError
from tacit.expressions.expression import col, from_json, when
from tacit.expressions.grid import Grid
from tacit.expressions.schema import Column, Schema
from tacit.tables.engines.duckdb.engine import DUCKDB
from tacit.tables.engines.postgres import POSTGRES
from tacit.tables.engines.spark import SPARK
from tacit.tables.privacy_unit import OneRowEach
from tacit.tables.query.integer_query import Query
from tacit.tables.query.requests import Moments, Rows

SCHEMA = Schema([Column("x", "float", "double"), Column("y", "decimal", "numeric")])
ROWS = [{"x": 1.5, "y": 3}, {"x": None, "y": 2}, {"x": -1.0, "y": -1}]
DEEPEST = {
    "sum": reduce(operator.add, [col("x")] * 51),
    "product": reduce(operator.mul, [col("x")] * 51),
    "quotient": reduce(operator.truediv, [col("x")] * 51),
    "conditions": reduce(operator.or_, [col("x") == i for i in range(50)]),
    "choices": reduce(lambda e, i: when(col("x") > i).then(e).otherwise(i), range(49), col("x")),
    "clamps": reduce(lambda e, i: e.clamp(-i, i), range(1, 51), col("x")),
    "cuts": (reduce(operator.add, [col("x")] * 47) * 1).cut([-1000, 0, 1000]),
}


@pytest.mark.parametrize("dialect", [DUCKDB, POSTGRES, SPARK], ids=lambda d: d.name)
@pytest.mark.parametrize("operation", [operator.mul, operator.truediv, operator.add])
def test_an_operation_more_adds_as_much_text_as_the_one_before(dialect, operation):
    sizes = [
        len(reduce(operation, [col("x"), *[col("y")] * k]).sql(SCHEMA, dialect))
        for k in (10, 20, 40)
    ]
    assert sizes[2] - sizes[1] == 2 * (sizes[1] - sizes[0])
    assert sizes[2] < 100_000


# Spark is asked for deep ones among the expressions of hostile_tables: each takes it seconds
@pytest.mark.few(8)
@pytest.mark.parametrize("engine", ["duckdb", "postgresql"])
@pytest.mark.parametrize("shape", DEEPEST)
def test_what_is_not_refused_is_answered(engine, shape, request):
    asked = DEEPEST[shape]
    with ENGINES[engine](request)(ROWS, {"x": "double", "y": "decimal(9,2)"}) as source:
        if asked.kind(source.schema) == "float":
            wanted = Moments(asked, Grid.for_bounds(-200, 200))
            found = Query(source, OneRowEach()).run([wanted]).of(wanted)[0][:2].tolist()
            present = sum(asked.evaluate(row) is not None for row in ROWS)
            assert found == [present, len(ROWS) - present]
        else:
            rule = asked if asked.kind(source.schema) == "boolean" else ~asked.is_null()
            found = Query(source, OneRowEach(), where=rule).run([Rows()]).of(Rows()).tolist()
            assert found == [sum(rule.evaluate(row) for row in ROWS)]


@pytest.mark.parametrize("shape", ["sum", "conditions", "clamps"])
def test_one_operation_more_is_refused(shape):
    with pytest.raises(UsageError, match="nested at most 50 deep"):
        DEEPEST[shape].fill(0)
    with pytest.raises(UsageError, match="at most 50"):
        from_json(["abs", [DEEPEST[shape].to_json()], []])


@pytest.mark.full
def test_columns_that_double_are_refused_before_they_are_written_out():
    doubled = reduce(lambda e, _: e + e, range(9), col("x"))
    with pytest.raises(UsageError, match="at most 1000 operations"):
        doubled + doubled
    assert len(str(col("x").is_in(range(50_000)))) > 50_000  # values are no operations


@pytest.mark.parametrize("said", [{"float": "0x1p99999"}, {"float": "9" * 400}, {"date": 3}, {}])
def test_a_parameter_that_is_none_is_no_description(said):
    with pytest.raises(UsageError, match="not the description of an expression"):
        from_json(["literal", [], [said]])
