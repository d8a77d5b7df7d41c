"""Data sets, as pages show them."""

from tacit.service.access import Caller, Grant
from tacit.service.pages.views import card, questionable, shown_dataset

ADA = Caller("ada", None, (Grant("analyst", "visits"),), "t", 0)
COLUMN = {"name": "a", "kind": "integer", "bounds": None, "keys": None, "meaning": None}
SAID = {
    "name": "visits",
    "table": "visits",
    "tables": {
        "visits": {
            "unit": {"column": "person", "rows": 5, "groups": 2},
            "size": 1200,
            "key": ["person"],
            "columns": [
                {**COLUMN, "name": "person", "unit": None},
                {**COLUMN, "name": "cost", "bounds": ["0", "10"], "unit": "euro", "meaning": "x"},
                {**COLUMN, "name": "site", "keys": [*range(20), None], "unit": None},
            ],
        },
        "sites": {"unit": None, "size": None, "key": ["site"], "columns": []},
    },
}


def test_a_card_offers_to_ask_those_who_may():
    assert card(SAID, ADA)["ask"] == "/datasets/visits/ask"
    assert card({**SAID, "name": "births"}, ADA)["ask"] is None
    assert card(SAID, ADA)["budget"] is None


def test_columns_say_their_bounds_categories_and_meaning():
    visits, sites = shown_dataset(SAID, ADA)["tables"]
    person, cost, site = visits["columns"]
    assert (cost["known"], cost["meaning"]) == ("0 to 10", "x (in euro)")
    assert site["known"].endswith("11 and 9 more")
    assert person["known"] == ""
    assert "About 1,200 people" in visits["protects"]
    assert "by site" in sites["protects"]


def test_only_what_has_bounds_or_categories_is_offered_for_clicking():
    assert questionable(SAID) == {"numbers": ["cost"], "groups": ["site"]}


def test_what_is_said_of_the_budget_is_shown():
    loss = {"kind": "pure", "epsilon": "1"}
    more = {
        "latency": 2.0,
        "approval": True,
        "budget": loss,
        "remaining": loss,
        "accounts": [{"name": "team:a", "cap": None, "spent": loss, "remaining": None}],
    }
    shown = shown_dataset({**SAID, **more}, ADA)
    assert shown["caps"] == [
        {"account": "team a", "total": "no share of its own", "spent": "epsilon 1", "left": ""}
    ]
    assert dict(shown["about"])["Answers"].startswith("leave on public ticks, 2 seconds")
    assert shown["whole"]["percent"] == "0%"


def test_only_a_declaration_that_a_curator_made_is_offered_to_be_changed():
    rita = Caller("rita", None, (Grant("curator", "visits"),), "t", 0)
    assert shown_dataset(SAID, rita)["change"] is None
    assert shown_dataset(SAID, rita, from_page=True)["change"] == "/datasets/visits/declaration"
    assert shown_dataset(SAID, ADA, from_page=True)["change"] is None
