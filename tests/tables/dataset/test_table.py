"""What a declaration says of one table: read, written again, and opened."""

from __future__ import annotations

import datetime
import json
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit as tc
from support.clinic import make_clinic
from tacit.errors import DataSourceError, UsageError
from tacit.tables.dataset.draft import TableShape, draft, draft_text, shapes_of
from tacit.tables.dataset.table import (
    OPEN,
    ColumnDeclaration,
    TableDeclaration,
    read_toml,
    toml_of,
    write_new,
)

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


# What is public of a column: what a file may say of it, and what contradicts itself.


def column_read(**said: Any) -> ColumnDeclaration:
    return ColumnDeclaration.from_fields(said, "age of visits")


def test_what_a_file_says_comes_back_as_it_was_said() -> None:
    said = {"kind": "integer", "meaning": "years", "unit": "a", "keys": [1, 2], "public": True}
    found = column_read(**said, bounds=[0, 9])
    assert found.bounds == (0, 9)
    told = found.to_fields()
    assert {**told, "keys": list(told["keys"])} == {**said, "bounds": (0, 9)}
    assert ColumnDeclaration().to_fields() == {}
    assert found.description == {"meaning": "years", "unit": "a"}


def test_bounds_are_exact_and_days_as_keys_are_text() -> None:
    assert column_read(bounds=[0.5, 2]).bounds == (Fraction(1, 2), 2)
    assert column_read(kind="date", keys=[datetime.date(2024, 1, 2)]).keys == ("2024-01-02",)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"kind": "number"}, "kind of age of visits is one of"),
        ({"kinds": "integer"}, "kind"),
        ({"zone": "UTC"}, "convert_time_zone"),
        ({"bounds": 5}, "two numbers"),
        ({"bounds": [0, 1, 2]}, "two numbers"),
        ({"bounds": [2, 0]}, "age of visits"),
        ({"kind": "text", "bounds": [0, 1]}, "age of visits"),
        ({"keys": []}, "keys of age of visits"),
        ({"keys": [1, 1]}, "each once"),
        ({"keys": [1.5]}, "keys of age of visits"),
        ({"kind": "integer", "keys": ["a"]}, "age of visits"),
        ({"kind": "boolean", "keys": ["yes"]}, "age of visits"),
        ({"kind": "float", "keys": ["a"]}, "is not a whole number up to"),
        ({"keys": [5, 99], "bounds": [0, 9]}, "has the key 99"),
        ({"public": "yes"}, "public"),
        ({"meaning": 5}, "meaning"),
    ],
)
def test_what_contradicts_itself_is_refused(said: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        column_read(**said)


def test_keys_are_held_against_the_kind_that_a_table_turns_out_to_have() -> None:
    declared = column_read(keys=["a", "b"])
    for kind in ("text", "undeclared", "missing"):
        declared.refuse_keys(kind, "site")
    for kind in ("integer", "float", "decimal", "boolean"):
        with pytest.raises(UsageError, match="site"):
            declared.refuse_keys(kind, "site")
    column_read(keys=[True, False]).refuse_keys("boolean", "smokes")
    column_read().refuse_keys("float", "pay")  # without keys nothing is held


# Declarations are written as TOML that reads back as it was.


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
VALUES = st.one_of(
    TEXTS,
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.lists(st.one_of(TEXTS, st.integers(-5, 5)), max_size=3),
    st.dictionaries(TEXTS, TEXTS, max_size=2),
)


@given(st.dictionaries(TEXTS.filter(lambda name: name != "tables"), VALUES, max_size=4))
def test_any_fields_read_back(fields):
    assert tomllib.loads(toml_of(fields)) == fields


@given(TEXTS, st.dictionaries(TEXTS, st.dictionaries(TEXTS, VALUES, max_size=2), max_size=3))
def test_tables_and_columns_of_any_name_read_back(name, columns):
    said = {"tables": {name: {"path": "a.csv", "columns": columns}}}
    found = tomllib.loads(toml_of(said))["tables"][name]
    assert found.get("columns", {}) == columns


def test_numbers_stay_exact_and_open_questions_are_signs():
    text = toml_of({"a": Fraction(1, 3), "b": Fraction(7), "c": OPEN})
    assert text == 'a = "1/3"\nb = 7\nc = "?"\n'


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"name = ", "not TOML"),
        (b"name = '\xff'", "not UTF-8 text: save it"),
        (b'name = "C:\\data"', r"not TOML: .*has single quotes, 'C:\\data'"),
        (b"a = " + b"9" * 5000, "thousands of digits"),
        (b"a = " + b"[" * 100_000, "nested"),
        (b"#" * 10_000_001, "megabytes"),
    ],
)
def test_what_is_no_declaration_is_refused_soon(tmp_path, content, says):
    path = tmp_path / "visits.toml"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=says):
        read_toml(path, str(path))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        read_toml(tmp_path / "none.toml", "it")
    with pytest.raises(UsageError, match="cannot be written"):
        write_new(tmp_path / "none" / "x.toml", "")


# What is public of a table, said and read back.


@pytest.fixture(scope="module")
def shapes(tmp_path_factory):
    return shapes_of(tc.Dataset.load(make_clinic(tmp_path_factory.mktemp("clinic"))))


def test_every_table_is_told_and_read_back(shapes):
    assert list(shapes) == ["visits", "patients", "sites"]
    for name, shape in shapes.items():
        told = json.loads(json.dumps(shape.to_json()))
        again = TableShape.from_json(name, told)
        assert again.to_json() == told
        assert (again.unit, again.bounds, again.descriptions) == (
            shape.unit,
            shape.bounds,
            shape.descriptions,
        )


def test_whom_a_table_protects(shapes):
    assert shapes["visits"].unit == tc.unit("person", rows=5, groups=2)
    assert shapes["patients"].unit == tc.unit("id", rows=5, groups=2)
    assert shapes["sites"].public
    assert shapes["sites"].key == ("site",)


def test_what_is_declared_of_a_column(shapes):
    columns = {c["name"]: c for c in shapes["visits"].to_json()["columns"]}
    assert columns["cost"] == {
        "name": "cost",
        "kind": "float",
        "bounds": ["0", "1000"],
        "keys": None,
        "meaning": "of the visit",
        "unit": "euro",
    }
    assert columns["site"]["keys"] == [1, 2, 3]


@pytest.mark.parametrize("said", [{}, {"columns": 3, "unit": None}, {"columns": [{}], "unit": {}}])
def test_what_is_no_table_is_refused(said):
    with pytest.raises(UsageError, match="description of the table"):
        TableShape.from_json("visits", said)


# A draft is made of names and declared types, and asks where a person must decide.


def test_rows_change_nothing_of_a_draft(tmp_path):
    drafts = set()
    for rows in ("1,20,2020-01-01\n", "", "secret,\x00,\n" * 3):
        (tmp_path / "visits.csv").write_text("patient_id,cost,day\n" + rows)
        drafts.add(draft_text(draft(tmp_path / "visits.csv"), tmp_path))
    assert len(drafts) == 1


def test_the_person_is_guessed_by_name_and_the_rest_is_asked(tmp_path):
    (tmp_path / "visits.csv").write_text("day,patient_id,cost\n1,2,3\n")
    found = draft(tmp_path / "visits.csv")
    assert found.name == "visits"
    assert found.open_fields() == [
        "unit.rows",
        "unit.groups",
        "budget.epsilon",
        *(f"tables.visits.columns.{name}.kind" for name in ("day", "patient_id", "cost")),
    ]
    assert found.unit == {"person": "patient_id", "rows": "?", "groups": "?"}


def test_a_finished_draft_opens(tmp_path):
    (tmp_path / "my visits.csv").write_text("person,cost\n1,2\n")
    text = draft_text(draft(tmp_path / "my visits.csv"), tmp_path)
    assert 'path = "my visits.csv"' in text
    text = (
        text.replace('rows = "?"', "rows = 3")
        .replace('groups = "?"', "groups = 1")
        .replace('epsilon = "?"', "epsilon = 1")
    )
    (tmp_path / "v.toml").write_text(text.replace('kind = "?"', 'kind = "integer"'))
    with tc.open(tmp_path / "v.toml", ledger=tc.in_memory) as session:
        assert session.agg(n=tc.count()).release(epsilon=1).replayed is False


@pytest.mark.parametrize("absolute", [False, True])
def test_a_draft_in_another_folder_names_the_same_file(tmp_path, monkeypatch, absolute):
    monkeypatch.chdir(tmp_path)
    Path("visits.csv").write_text("person,cost\n1,2\n")
    Path("declared").mkdir()
    source = tmp_path / "visits.csv" if absolute else "visits.csv"
    text = draft_text(draft(source), Path("declared"))
    assert 'path = "../visits.csv"' in text


def test_declared_types_are_taken_over(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="pip install pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet", reason="pip install pyarrow")
    columns = {"cost": [1.5], "site": ["a"], "ok": [True], "user": [7]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet")
    found = draft(tmp_path / "t.parquet").to_fields()["tables"]["t"]["columns"]
    assert {name: one["kind"] for name, one in found.items()} == {
        "cost": "float",
        "site": "text",
        "ok": "boolean",
        "user": "integer",
    }
    assert found["user"] == {"kind": "integer"}


def test_what_is_not_there_is_not_drafted(tmp_path):
    with pytest.raises(DataSourceError):
        draft(tmp_path / "none.csv")


def test_a_draft_asks_for_the_groups_and_warns_of_codes(tmp_path):
    (tmp_path / "visits.csv").write_text("person,code\n1,01001\n")
    text = draft_text(draft(tmp_path / "visits.csv"), tmp_path)
    assert 'groups = "?"' in text
    assert "as many as rows if left" in text
    assert "01001 and 1001 are one integer" in text
