"""What a declaration says of one table: read, written again, and opened."""

from __future__ import annotations

import pyarrow
import pyarrow.parquet
import pytest

from tacit.errors import UsageError
from tacit.tables.dataset.table import TableDeclaration

VISITS = {
    "path": "visits.csv",
    "delimiter": ";",
    "threads": 2,
    "size": 5000,
    "columns": {"age": {"kind": "integer", "bounds": [0, 120]}},
}
SITES = {"path": "sites.parquet", "public": True, "key": "site", "columns": {"site": {}}}
STORED = {"url": "postgresql://host/clinic", "table": "visits", "person": "patient"}


def read(**fields):
    return TableDeclaration.from_fields(fields, "the table 'visits'")


@pytest.mark.parametrize("fields", [VISITS, SITES, STORED, {"spark": "visits"}])
def test_what_is_written_is_read_as_the_same(fields):
    table = read(**fields)
    assert read(**table.to_fields()) == table


def test_what_is_not_said_is_not_written():
    assert read(spark="visits").to_fields() == {"spark": "visits"}
    assert read(**SITES).to_fields()["key"] == ["site"]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({}, "one of the three"),
        ({"path": "a.csv", "spark": "a"}, "one of the three"),
        ({"path": 3}, "path"),
        ({"url": "postgresql://host/clinic"}, "say its table"),
        ({"path": "a.csv", "colums": {}}, "columns"),
        ({"path": "a.csv", "threads": "two"}, "threads"),
        ({"path": "a.csv", "delimiter": "ab"}, "delimiter"),
        ({"path": "a.csv", "public": True, "person": "p"}, "is public, and has a person"),
        ({"path": "a.csv", "public": True, "size": 9}, "is public, and has a size"),
        ({"path": "a.csv", "key": "site"}, "only a public table has"),
        ({"path": "a.csv", "public": True, "key": [3]}, "list of names"),
        ({"path": "a.csv", "columns": {"age": 3}}, "the column 'age'"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(fields, told):
    with pytest.raises(UsageError, match=told) as refused:
        read(**fields)
    assert "visits" in str(refused.value) or "delimiter" in str(refused.value)


def test_text_files_are_opened_with_the_declared_types(tmp_path):
    (tmp_path / "visits.csv").write_text("age\n3\n", encoding="utf-8")
    pyarrow.parquet.write_table(pyarrow.table({"site": [1]}), tmp_path / "sites.parquet")
    opened = read(**VISITS).options("visits", tmp_path)
    assert opened["types"] == {"age": "integer"}
    assert (opened["delimiter"], opened["threads"], opened["name"]) == (";", 2, "visits")
    assert "types" not in read(**SITES).options("sites", tmp_path)
    assert "types" not in read(**STORED).options("visits", tmp_path)


def test_a_path_begins_at_the_folder_and_an_address_does_not(tmp_path):
    assert read(**VISITS).within(tmp_path) == str(tmp_path / "visits.csv")
    assert read(**STORED).within(tmp_path) == STORED["url"]
    assert read(path="/srv/visits.csv").within(tmp_path) == "/srv/visits.csv"
