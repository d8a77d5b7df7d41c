"""The form of a declaration: what it holds, and what of a declaration it does not know."""

from __future__ import annotations

from typing import Any

import pytest

from tacit.service.pages.declare_view import declared_in, form_of

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
    shown = form_of(fields, how, ["site", "cost", "free"])
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
