"""The form of a declaration: what it holds, and what of a declaration it does not know."""

from __future__ import annotations

from typing import Any

import pytest

from tacit.errors import UsageError
from tacit.service.pages.declare_view import PUBLIC, TABLES, added, declared_in, form_of

NEW: dict[str, Any] = {"tables": {"stays": {"path": "data/stays.csv"}}}
FORM = {
    "purpose": " beds ",
    "person": "person",
    "rows": "5",
    "epsilon": "3",
    "each_team": "1",
    "latency": "3",
    "approval": "yes",
    "c0": "site",
    "kind0": "integer",
    "keys0": "1, -2,3",
    "c1": "cost",
    "kind1": "float",
    "low1": "0",
    "high1": "0.5",
    "meaning1": "of the stay",
    "c2": "free",
}


def held(form: dict[str, str], standing: Any = NEW, hosting: Any = None) -> Any:
    return declared_in(lambda name: form.get(name, ""), standing, hosting or {})


def test_a_form_holds_a_declaration_and_shows_it_again() -> None:
    fields, how = held(FORM)
    assert fields == {
        "tables": {
            "stays": {
                "path": "data/stays.csv",
                "columns": {
                    "site": {"kind": "integer", "keys": [1, -2, 3]},
                    "cost": {"kind": "float", "meaning": "of the stay", "bounds": ["0", "0.5"]},
                },
            }
        },
        "unit": {"person": "person", "rows": 5},
        "budget": {"epsilon": "3"},
        "purpose": "beds",
    }
    assert how == {"caps": {"each_team": {"epsilon": "1"}}, "latency": "3", "approval": True}
    shown = form_of(fields, how, {"stays": ["site", "cost", "free"]})
    assert (shown["person"], shown["unit_rows"], shown["each_team"]) == ("person", "5", "1")
    assert [one["keys"] for one in shown["columns"]] == ["1, -2, 3", "", ""]
    assert (shown["columns"][1]["low"], shown["columns"][1]["high"]) == ("0", "0.5")


def test_what_the_form_does_not_know_stays() -> None:
    standing = {
        "unit": "row",
        "budget": {"rho": "1"},
        "tables": {
            "sites": {"path": "data/sites.csv", "public": True},
            "stays": {"path": "data/stays.csv", "columns": {"old": {"kind": "text"}}},
        },
    }
    caps = {"teams": {"oncology": {"rho": "1/2"}}}
    fields, how = held({**FORM, "epsilon": "9"}, standing, {"caps": caps, "refresh": "every hour"})
    assert (fields["unit"], fields["budget"], how["caps"]) == ("row", {"rho": "1"}, caps)
    assert fields["tables"]["sites"] == standing["tables"]["sites"]  # type: ignore[index]
    assert set(fields["tables"]["stays"]["columns"]) == {"old", "site", "cost"}
    assert "refresh" not in how  # it is on the form, and was emptied
    assert "columns" in standing["tables"]["stays"]  # type: ignore[index]
    assert list(standing["tables"]["stays"]["columns"]) == ["old"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("text", "kind", "key"), [("x", "integer", "x"), ("true", "boolean", True)]
)
def test_categories_are_of_the_kind_of_their_column(text: str, kind: str, key: Any) -> None:
    fields, _ = held({**FORM, "kind0": kind, "keys0": text})
    assert fields["tables"]["stays"]["columns"]["site"]["keys"] == [key]


def test_a_cap_is_counted_as_the_budget_is() -> None:
    _, how = held({**FORM, "delta": "1e-6"})
    assert how["caps"]["each_team"] == {"epsilon": "1", "delta": "1e-6"}


BEDS = {"t1name": "beds", "t1file": "data/beds.csv", "t1of": "people", "t1person": "id"}
SITES = {"t2name": "sites", "t2file": "data/sites.csv", "t2of": "public", "t2key": "site, year"}
COLUMNS = {"t1c0": "bed", "t1kind0": "integer", "t1low0": "0", "t1high0": "9"}
REGION = {"t2c0": "region", "t2keys0": "north,south"}
MORE = {**FORM, **BEDS, **SITES, **COLUMNS, **REGION}


def test_a_form_holds_several_tables_and_shows_them_again() -> None:
    fields, how = held(MORE)
    assert list(fields["tables"]) == ["stays", "beds", "sites"]
    assert fields["tables"]["beds"] == {
        "path": "data/beds.csv",
        "person": "id",
        "columns": {"bed": {"kind": "integer", "bounds": ["0", "9"]}},
    }
    assert fields["tables"]["sites"] == {
        "path": "data/sites.csv",
        "public": True,
        "key": ["site", "year"],
        "columns": {"region": {"keys": ["north", "south"]}},
    }
    names = {"stays": ["site"], "beds": ["id", "bed"], "sites": ["site", "region"]}
    shown = form_of(fields, how, names, ["stays", "beds"])
    beds, sites = shown["others"]
    assert (beds["prefix"], beds["person"], beds["stays"]) == ("t1", "id", True)
    assert (sites["of"], sites["key"], sites["stays"]) == (PUBLIC, "site, year", False)
    assert [one["name"] for one in sites["columns"]] == ["site", "region"]
    assert held(MORE, fields, how) == (fields, how)  # sent once more, nothing changes


def test_a_table_is_left_out_and_what_the_form_does_not_know_of_one_stays() -> None:
    standing, _ = held(MORE)
    standing["tables"]["sites"] |= {"delimiter": ";", "key": "site"}
    gone = {**MORE, "t1of": "none", "t2key": "site"}
    fields, _ = held(gone, standing)
    assert list(fields["tables"]) == ["stays", "sites"]
    assert fields["tables"]["sites"] == standing["tables"]["sites"]
    fields, _ = held({**MORE, "t2of": "people", "t2person": "site"}, standing)
    assert fields["tables"]["sites"]["person"] == "site"
    assert not {"public", "key"} & set(fields["tables"]["sites"])
    fields, _ = held({**MORE, "t2key": " "}, standing)
    assert "key" not in fields["tables"]["sites"]
    fields, _ = held({**MORE, "t1name": "stays"})  # of the first table the fields have no prefix
    assert fields["tables"]["stays"]["path"] == "data/stays.csv"


def test_a_table_is_added_once_and_a_form_holds_so_many() -> None:
    fields = {"tables": {"stays": {"path": "data/stays.csv"}}}
    form = {"newfile": "data/stays.csv", "newname": " twice "}
    assert list(added(fields, lambda n: form.get(n, ""))["tables"]) == ["stays", "twice"]
    with pytest.raises(UsageError, match="there is a table 'stays' already"):
        added(fields, lambda n: {**form, "newname": ""}.get(n, ""))
    many = {"tables": {f"t{n}": {} for n in range(TABLES)}}
    with pytest.raises(UsageError, match="declare more over HTTP"):
        added(many, lambda n: form.get(n, ""))
