"""A declaration holds public facts, each read with care; what is open is refused."""

import datetime
from fractions import Fraction
from pathlib import Path

import pytest

import tacit as tc
from tacit.errors import UsageError
from tacit.tables.dataset.table import OPEN

VISITS = {"path": "visits.csv", "columns": {"cost": {"kind": "float", "bounds": [0, "99.5"]}}}
UNIT = {"person": "person", "rows": 5, "groups": 2}


def declared(**changed):
    return tc.Dataset(
        **{"name": "visits", "unit": UNIT, "budget": {"epsilon": 1}, "tables": {"visits": VISITS}}
        | changed
    )


def test_a_question_mark_may_stand_for_a_missing_value():
    columns = {"null": {"kind": "?"}}
    said = {"path": "v.csv", "null": "?", "quote": "?", "columns": columns}
    assert declared(tables={"visits": said}).open_fields() == ["tables.visits.columns.null.kind"]


def test_numbers_are_exact_and_the_first_protected_table_is_the_default():
    sites = {"path": "sites.csv", "public": True, "key": "site"}
    found = declared(tables={"sites": sites, "visits": VISITS})
    assert found.table() == "visits"
    assert found.protected == ["visits"]
    assert found.tables["visits"].columns["cost"].bounds == (0, Fraction(199, 2))
    assert found.unit_of("visits").describe() == {"column": "person", "rows": 5, "groups": 2}


def test_a_table_may_name_its_person_by_another_column():
    patients = {"path": "patients.csv", "person": "id"}
    found = declared(tables={"visits": VISITS, "patients": patients})
    assert found.unit_of("patients").describe() == {"column": "id", "rows": 5, "groups": 2}


def test_a_file_says_what_it_said(tmp_path):
    found = declared(purpose='to "plan" beds\n', owner="Ann", ledger="here/visits.ledger")
    path = tmp_path / "visits.toml"
    found.save(path)
    again = tc.Dataset.load(path)
    assert again.to_fields() == found.to_fields(Path.cwd()) or again.purpose == found.purpose
    assert again.tables["visits"].columns == found.tables["visits"].columns
    assert again.unit == found.unit
    assert again.budget == {"epsilon": 1}


def test_a_saved_declaration_names_the_same_files(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "visits.csv").write_text("person,cost\n1,2\n")
    found = declared(folder=tmp_path / "in")
    found.save(tmp_path / "visits.toml")
    tc.Dataset.load(tmp_path / "visits.toml").check()


def test_nothing_is_overwritten(tmp_path):
    path = tmp_path / "visits.toml"
    path.write_text("mine")
    with pytest.raises(UsageError, match="exists"):
        declared().save(path)
    assert path.read_text() == "mine"


def test_open_questions_are_kept_and_refused():
    found = declared(
        unit={"person": "?", "rows": "?"},
        budget={"epsilon": "?"},
        owner="?",
        tables={"visits": {"path": "v.csv", "columns": {"cost": {"kind": "?", "bounds": "?"}}}},
    )
    assert found.owner is OPEN
    assert found.open_fields() == [
        "unit.person",
        "unit.rows",
        "budget.epsilon",
        "owner",
        "tables.visits.columns.cost.kind",
        "tables.visits.columns.cost.bounds",
    ]
    for refuse in (found.check, lambda: tc.open(found)):
        with pytest.raises(UsageError, match=r"decide unit\.person, unit\.rows"):
            refuse()


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"name": ""}, "name"),
        ({"name": "../visits"}, "letters"),
        ({"unit": "person"}, "'row'"),
        ({"unit": {"person": "p"}}, "rows"),
        ({"unit": {"person": "p", "rows": 0}}, "at least 1"),
        ({"unit": {"person": "p", "rows": 2, "row": 2}}, "did you mean 'rows'"),
        ({"unit": None}, "'row'"),
        ({"budget": {"epsilon": 1, "rho": 1}}, "budget is"),
        ({"budget": {"delta": "1e-6"}}, "budget is"),
        ({"budget": {"epsilon": "much"}}, "much"),
        ({"budget": 1}, "fields"),
        ({"ledger": 1}, "text"),
        ({"tables": {}}, "not public"),
        ({"tables": {"visits": {"columns": {}}}}, "where it is"),
        ({"tables": {"visits": {"path": "a", "url": "b"}}}, "one of the three"),
        ({"tables": {"visits": {"url": "postgresql://h/d"}}}, "table = 'visits'"),
        ({"tables": {"visits": {"path": "a", "colums": {}}}}, "did you mean 'columns'"),
        ({"tables": {"visits": {"path": "a", "delimiter": ",,"}}}, "delimiter"),
        ({"tables": {"visits": {"path": "a", "public": "yes"}}}, "true or false"),
        ({"tables": {"v": VISITS, "s": {"path": "a", "public": True, "person": "p"}}}, "person"),
        ({"tables": {"visits": {"path": "a", "key": "site"}}}, "public = true"),
        ({"tables": {"visits": {"path": "a", "public": True, "key": 5}}}, "name of a column"),
        ({"unit": "row", "tables": {"v": {"path": "a", "person": "p"}}}, "unit is a row"),
        ({"tables": {"visits": {"path": "a", "size": 0}}}, "at least 1"),
        ({"ledger": "a\0b"}, "NUL"),
        ({"tables": {"": VISITS}}, "letters"),
        ({"tables": {"a\nb": VISITS}}, "letters"),
        (
            {"tables": {"v": {"path": "a"}, "s": {"path": "a", "public": True}}},
            "are the same table",
        ),
        ({"tables": {"v": VISITS, "s": {"path": "a", "public": True, "size": 9}}}, "has a size"),
        ({"tables": {"visits": VISITS, "more": "more.csv"}}, "table of fields"),
    ],
)
def test_what_contradicts_itself_is_refused(changed, says):
    with pytest.raises(UsageError, match=says):
        declared(**changed)


@pytest.mark.parametrize(
    ("column", "says"),
    [
        ({"kind": "number"}, "kind"),
        ({"bounds": [0]}, "two numbers"),
        ({"bounds": [1, 1]}, "below"),
        ({"bounds": [True, 2]}, "two numbers"),
        ({"bounds": ["low", 2]}, "bounds"),
        ({"kind": "text", "bounds": [0, 1]}, "only numbers"),
        ({"keys": []}, "categories"),
        ({"keys": [1.5]}, "whole numbers"),
        ({"keys": ["a", "a"]}, "each once"),
        ({"bound": [0, 1]}, "did you mean 'bounds'"),
        ({"kind": "integer", "keys": ["1"]}, "holds whole numbers, and the key"),
        ({"kind": "integer", "keys": [True]}, "holds whole numbers, and the key"),
        ({"kind": "text", "keys": ["a", 1]}, "holds text, and the key"),
        ({"kind": "boolean", "keys": [1]}, "holds true or false, and the key"),
        ({"kind": "date", "keys": ["2024-02-30"]}, "not a date"),
        ({"kind": "float", "keys": ["a"]}, "is not a whole number up to"),
        ({"bounds": [0, 9], "keys": [1, 10]}, "the key 10 and the bounds"),
        ({"keys": [datetime.datetime(2024, 1, 1)]}, "days"),
        ({"meaning": "a\nb"}, "one line"),
        ({"unit": "\x1b[2J"}, "one line"),
        ({"meaning": "m" * 301}, "at most 300"),
        ("integer", "table of fields"),
    ],
)
def test_a_column_that_fits_nothing_is_refused(column, says):
    with pytest.raises(UsageError, match=says):
        declared(tables={"visits": {"path": "a", "columns": {"cost": column}}})


def test_days_as_keys_are_what_a_question_would_give():
    column = {"kind": "date", "keys": [datetime.date(2024, 2, 28), "2024-02-29"]}
    found = declared(tables={"visits": {"path": "a", "columns": {"day": column}}})
    assert found.tables["visits"].columns["day"].keys == ("2024-02-28", "2024-02-29")


def test_a_table_that_is_not_protected_is_not_asked():
    found = declared(tables={"visits": VISITS, "sites": {"path": "s.csv", "public": True}})
    with pytest.raises(UsageError, match="public table"):
        found.table("sites")
    with pytest.raises(UsageError, match="did you mean 'visits'"):
        found.table("visit")
