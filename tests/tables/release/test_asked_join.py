"""A join as it is asked for: by which columns, and what it adds."""

from __future__ import annotations

import pytest

import tacit as tc
from tacit.errors import UsageError
from tacit.expressions.expression import col
from tacit.expressions.schema import Column, Schema
from tacit.tables.plan.query import Declared, Query
from tacit.tables.query.joins import Join
from tacit.tables.release.opened_table import OtherTable, asked_join, beside, columns_beside


def never(beside):
    raise AssertionError("a join is asked without opening a table")


SITES = OtherTable("sites", ("site", "part"), True, never, {"size": (0, 5)}, {"region": ("n",)})
PATIENTS = OtherTable("patients", ("id",), False, never)
NAMELESS = OtherTable("nameless", (), True, never)
OTHERS = {other.name: other for other in (SITES, PATIENTS, NAMELESS)}
SCHEMA = Schema([Column(n, "integer", "BIGINT") for n in ("person", "site", "part", "size")])
ASKED = Query(SCHEMA, tc.unit("person", rows=2), table="visits", tables=(("visits", "person"),))


def test_a_public_table_is_joined_by_its_key():
    other, how, pairs = asked_join(OTHERS, ASKED, "sites", None, None)
    assert (other, how, pairs) == (SITES, "left", (("site", "site"), ("part", "part")))
    turned = asked_join(OTHERS, ASKED, "sites", {"person": "part", "site": "site"}, "inner")
    assert turned[1:] == ("inner", (("site", "site"), ("person", "part")))


def test_people_are_joined_by_the_person():
    for on in (None, "person", {"person": "id"}):
        assert asked_join(OTHERS, ASKED, "patients", on, None)[1:] == (
            "inner",
            (("person", "id"),),
        )


REFUSED = [
    ("patient", None, None, "did you mean 'patients'"),
    ("visits", None, None, "joined with itself"),
    ("sites", "site", None, "as many columns"),
    ("sites", {"site": "size", "part": "part"}, None, "joined by its key"),
    ("sites", None, "outer", "how is"),
    ("patients", "site", None, "alone"),
    ("nameless", None, None, "has no key"),
]


@pytest.mark.parametrize(("name", "on", "how", "told"), REFUSED)
def test_what_is_joined_otherwise_is_refused(name, on, how, told):
    with pytest.raises(UsageError, match=told):
        asked_join(OTHERS, ASKED, name, on, how)


def test_people_who_are_rows_are_joined_with_nobody():
    rows = Query(SCHEMA, tc.one_row_each, table="visits")
    with pytest.raises(UsageError, match="joined by the person"):
        asked_join(OTHERS, rows, "patients", None, None)


def test_a_table_of_no_data_set_is_joined_with_none():
    with pytest.raises(UsageError, match="only tables of a data set"):
        asked_join({}, Query(SCHEMA, tc.one_row_each), "sites", None, None)


def test_what_is_declared_of_the_columns_comes_with_them():
    columns = columns_beside(SCHEMA, "sites", {"size": "integer", "region": "text"})
    assert columns == (("sites.size", "size", "integer"), ("region", "region", "text"))
    join = Join("sites", "left", (("site", "site"),), columns, "ab")
    query, said = beside(ASKED, Declared(), join, SITES)
    assert query.joins == (join,)
    assert (said.bounds, said.keys) == ({"sites.size": (0, 5)}, {"region": ("n",)})


def test_a_computed_column_of_that_name_is_refused():
    query = Query(SCHEMA, tc.one_row_each, derived=(("region", col("site") + 1),))
    columns = columns_beside(SCHEMA, "sites", {"region": "text"})
    with pytest.raises(UsageError, match="join before with_column"):
        beside(query, Declared(), Join("sites", "left", (), columns, "ab"), SITES)
