"""Columns that nobody declared answer as declared ones do, where their cells are well formed."""

from __future__ import annotations

import csv
import math

import pytest

from support.tables import tables_reference as reference
from support.tables.hostile_tables import (
    BY,
    EXPRESSIONS,
    KEYS,
    SALT,
    UNITS,
    WHERE,
    many_rows,
    requests,
)
from tacit.errors import UsageError
from tacit.expressions.dialect import read_cell
from tacit.expressions.operations import as_asked
from tacit.tables.open_source import open_source
from tacit.tables.query.integer_query import Query
from tacit.tables.query.requests import Distinct

TYPES = {
    "person id": "integer",
    'na"me': "text",
    "group": "text",
    "year": "integer",
    **dict.fromkeys(("select", "huge", "long", "cents"), "float"),
    "flag": "boolean",
    "day": "date",
}
"""An undeclared number is read as a double."""
READINGS = {"integer": "read_integer", "float": "read_number", "date": "read_date"}


def cell(value, kind):
    """Write a value as a cell that is well formed, or leave it empty."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if kind == "boolean":
        return str(int(value))
    text = repr(float(value)) if kind == "float" else str(value)
    fits = kind not in READINGS or read_cell(READINGS[kind], text) is not None
    return text if fits else ""


@pytest.fixture
def both(tmp_path, monkeypatch):
    """The same file, opened with its types and without."""
    monkeypatch.setattr("tacit.tables.privacy_unit.new_salt", lambda: SALT)
    path = tmp_path / "hostile.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(TYPES)
        for row in many_rows(250, seed=2):
            writer.writerow([cell(row[name], kind) for name, kind in TYPES.items()])
    with open_source(path, types=TYPES) as typed, open_source(path) as plain:
        assert set(plain.columns.values()) == {"undeclared"}
        yield typed, plain


def fate(source, unit, request, **asked):
    try:
        return reference.plain(Query(source, unit, **asked).run([request]).of(request))
    except UsageError as refused:
        return str(refused)


def counts_texts(request):
    """Whether a column that nobody declared has other values here: texts, and not numbers."""
    if not isinstance(request, Distinct) or request.value.operation != "col":
        return False
    return TYPES[request.value.parameters[0]] != "text"


@pytest.mark.full
@pytest.mark.parametrize("unit", UNITS[1:], ids=str)
def test_undeclared_columns_answer_as_declared_ones_do(both, unit):
    typed, plain = both
    answered = 0
    for asked in ({"where": WHERE}, {"by": BY, "keys": KEYS}):
        for request in requests():
            if counts_texts(request):
                continue
            expected = fate(typed, unit, request, **asked)
            assert fate(plain, unit, request, **asked) == expected, (request, asked)
            answered += not isinstance(expected, str)
    assert answered > 25


def shown(source, expression):
    asked = as_asked(expression, source.schema)
    kind = asked.kind(source.schema)
    sql = asked.sql(source.schema, source.engine.dialect)
    rows = source.engine.rows(f"select {sql} from {source.relation} as tacit_rows")
    return kind, [value for (value,) in rows]


@pytest.mark.full
def test_every_expression_says_the_same_of_undeclared_columns(both):
    typed, plain = both
    compared = 0
    for expression in EXPRESSIONS:
        columns = {o.operation for o in expression.operands} == {"col"}
        if columns and len(expression.operands) > 1 and expression.operation != "&":
            continue  # nothing beside them says how they are read: they are texts, or refused
        try:
            kind, values = shown(plain, expression)
        except UsageError:  # such as a comparison with a number that no double tells apart
            continue
        if kind == "undeclared":
            continue
        assert values == shown(typed, expression)[1], str(expression)
        compared += 1
    assert compared > 24
