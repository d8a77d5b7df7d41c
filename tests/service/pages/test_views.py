"""Asking, as pages show it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import tacit as tc
from support.clinic import make_clinic
from tacit.errors import UsageError
from tacit.report import Certificate
from tacit.service.access import Caller, Grant
from tacit.service.pages.declare_view import PUBLIC, TABLES, added, declared_in, form_of
from tacit.service.pages.live_view import (
    KNOWN,
    board_card,
    explored,
    read_values,
    shown_board,
    shown_estimate,
)
from tacit.service.pages.schedule_view import every_words, schedule_card, shown_schedule
from tacit.service.pages.views import (
    STATISTICS,
    answered,
    card,
    event,
    expected,
    questionable,
    roles,
    row,
    shown_dataset,
    shown_release,
    sql_of,
    token,
)


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    with tc.open(make_clinic(tmp_path_factory.mktemp("clinic")), ledger=tc.in_memory) as opened:
        yield opened


def told(question, **more):
    preview = question.preview(epsilon="1/2", confidence="0.95")
    said = {"cost": preview.cost, "remaining": preview.remaining}
    return {
        **{name: one.to_json() for name, one in said.items()},
        "limited_by": ["the budget of the data set"],
        "affordable": True,
        "replay": False,
        "open": False,
        "scheduled": None,
        "text": "count of rows",
        "free": {},
        "preview": preview.to_json(),
        **more,
    }


ASKED = {"approval": False, "may_ask": True, "key": "k"}


@pytest.mark.few(3)
@pytest.mark.parametrize("statistic", [name for name, _ in STATISTICS])
@pytest.mark.parametrize("by", ["", "site"])
def test_every_choice_by_clicking_can_be_asked(session, statistic, by):
    question = session.sql(sql_of("visits", statistic, "cost", by))
    assert question.preview(epsilon=1)


def test_names_are_quoted_and_nothing_else_is_taken():
    assert 'from "a""b"' in sql_of('a"b', "count", "", "")
    assert sql_of("t", "drop", "c", "") == 'select count(*) as n\nfrom "t"'


def test_what_to_expect(session):
    shown = expected(told(session.agg(n=tc.count(), m=tc.mean("cost"))), **ASKED)
    assert shown["verdict"] == (
        "count of rows: this costs epsilon 0.5 of the epsilon 1000 that is left under the budget "
        "of the data set."
    )
    assert [row["label"] for row in shown["rows"]] == ["n", "m"]
    assert [label for label, _ in shown["charts"]] == ["n", "m"]
    assert shown["button"] == "Release, and spend epsilon 0.5"
    assert "15.5% sure" in shown["odds"][0]


def test_what_is_free_is_said(session):
    question = session.agg(n=tc.count())
    shown = expected(told(question, replay=True), **{**ASKED, "approval": True})
    assert "asked before, and is free" in shown["verdict"]
    assert (shown["button"], shown["approval"]) == ("Show the answer, free", False)
    assert "at no further cost" in expected(told(question, open=True), **ASKED)["verdict"]


def test_what_follows_from_earlier_releases_is_said_and_offered_to_those_who_may_ask(session):
    question = session.agg(n=tc.count())
    follows = {"n": {"standard_error": 2.8284, "release": "0" * 32}}
    shown = expected(told(question, free=follows), **ASKED)
    assert shown["free"] == (
        "It follows from releases that you can see, at no cost: n with a standard error of 2.83."
    )
    assert shown["may_free"]
    assert not expected(told(question, free=follows), **{**ASKED, "may_ask": False})["may_free"]
    assert expected(told(question), **ASKED)["free"] == ""


def test_who_may_not_or_cannot_afford_it_gets_no_button(session):
    question = session.agg(n=tc.count())
    assert not expected(told(question, affordable=False), **ASKED)["may_release"]
    assert not expected(told(question), **{**ASKED, "may_ask": False})["may_release"]


def test_notes_and_a_weak_guarantee_are_told(session):
    computed = session.with_columns(twice=tc.col("cost") * 2).agg(t=tc.mean("twice"))
    result = computed.preview(epsilon=20, confidence="0.95")
    shown = expected({**told(computed), "preview": result.to_json()}, **ASKED)
    assert any("clamped to" in note for note in shown["notes"])
    assert any("epsilon" in note for note in shown["notes"])


# Releases, as pages show them.


ONE = {
    "id": "ab",
    "dataset": "visits",
    "state": "running",
    "progress": 0.4,
    "asked_by": "ada",
    "team": "oncology",
    "asked_at": 0.0,
    "question": "count of rows",
    "cost": {"kind": "pure", "epsilon": "1/2"},
    "replayed": False,
    "error": None,
}
MAY = {"may_cancel": True, "may_decide": True}


def test_a_row_says_who_asked_what_when_at_which_price():
    shown = row(ONE)
    assert (shown["when"], shown["cost"]) == ("1970-01-01 00:00 UTC", "epsilon 0.5")
    assert row({**ONE, "question": ""})["question"] == "ab"
    about = dict(shown_release(ONE, **MAY)["about"])
    assert about["Requested"] == shown["when"]
    assert about["Requested by"].startswith(ONE["asked_by"])


@pytest.mark.parametrize(
    ("state", "running", "cancel", "decide"),
    [
        ("waiting", False, True, True),
        ("running", True, True, False),
        ("done", False, False, False),
        ("refused", False, False, False),
        ("cancelled", False, False, False),
    ],
)
def test_what_can_be_done_follows_the_state(state, running, cancel, decide):
    shown = shown_release({**ONE, "state": state}, **MAY)
    assert (shown["running"], shown["cancel"], shown["decide"]) == (running, cancel, decide)


def test_an_error_is_told_in_the_one_shape():
    error = {"code": "unavailable", "message": "not now", "remedy": "later", "details": {}}
    for said in (error, {"error": error}):
        assert shown_release({**ONE, "state": "failed", "error": said}, **MAY)["wrong"] == error


def test_an_answer_is_shown_as_it_was_arranged_and_its_certificate_checked(tmp_path):
    with tc.open(make_clinic(tmp_path), ledger=tc.in_memory) as session:
        whole = session.sql("select site, count(*) as n from visits group by site")
        first = session.sql(
            "select site, count(*) as n from visits group by site order by site limit 1"
        )
        answer, top = whole.release(epsilon=1), first.release(epsilon=1)
    result = {"by": ["site"], "keys": top.keys, "columns": [{"label": "n", **top.column("n")}]}
    shown = answered({**ONE, "answer": result, "answers": None}, answer.certificate)
    (part,) = shown["parts"]
    assert len(part["answers"]["table"]) == 1
    assert shown["seal"]["words"].startswith("The certificate holds")
    forged = Certificate({**answer.certificate.body, "dataset": "other"})
    assert (
        "does not hold"
        in answered({**ONE, "answer": result, "answers": None}, forged)["seal"]["words"]
    )


def test_groups_of_an_answer_are_shown_a_thousand_at_a_time(tmp_path):
    with tc.open(make_clinic(tmp_path), ledger=tc.in_memory) as session:
        keys = [*range(1, 1501)]
        answer = session.group_by("person", keys=keys).agg(n=tc.count()).release(epsilon=1)
    result = {
        "by": ["person"],
        "keys": answer.keys,
        "columns": [{"label": "n", **answer.column("n")}],
    }
    one = {**ONE, "answer": result, "answers": None}
    (part,) = answered(one, answer.certificate)["parts"]
    words = "Groups 1 to 1,000 of 1,500"
    assert part["groups"] == {"words": words, "before": None, "after": 1001}
    assert [names for names, _ in part["answers"]["table"]] == [[str(n)] for n in keys[:1000]]
    (part,) = answered(one, answer.certificate, first=1001)["parts"]
    words = "Groups 1,001 to 1,500 of 1,500"
    assert part["groups"] == {"words": words, "before": 1, "after": None}
    assert [names for names, _ in part["answers"]["table"]] == [[str(n)] for n in keys[1000:]]


# Data sets, as pages show them.


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
            "reading": {"missing": {"person": [-1], "cost": [98, [-9, -1], "none"]}},
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
    assert (cost["known"], cost["meaning"]) == (
        "0 to 10; missing: 98, -9 to -1, 'none'",
        "x (in euro)",
    )
    assert site["known"].endswith("11 and 9 more")
    assert person["known"] == "missing: -1"
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
        "accounts": [
            {"name": name, "cap": None, "spent": loss, "remaining": None}
            for name in ("team:a", "team:*", "dataset:visits")
        ],
    }
    shown = shown_dataset({**SAID, **more}, ADA)
    assert shown["caps"] == [
        {"account": name, "total": "no share of its own", "spent": "epsilon 1", "left": ""}
        for name in ("team a", "each other team", "data set visits")
    ]
    assert dict(shown["about"])["Answers"].startswith("leave on public ticks, 2 seconds")
    assert shown["whole"]["percent"] == "0%"


def test_only_a_declaration_that_a_curator_made_is_offered_to_be_changed():
    rita = Caller("rita", None, (Grant("curator", "visits"),), "t", 0)
    assert shown_dataset(SAID, rita)["change"] is None
    assert shown_dataset(SAID, rita, from_page=True)["change"] == "/datasets/visits/declaration"
    assert shown_dataset(SAID, ADA, from_page=True)["change"] is None


# Tokens and events, as pages show them.


ADMIN_VIEW_ONE = {
    "id": "ab",
    "kind": "bearer",
    "name": "ada",
    "team": None,
    "grants": [{"role": "analyst", "dataset": "*"}, {"role": "reviewer", "dataset": "visits"}],
    "expires": 100.0,
    "ended": None,
}


def test_a_token_says_what_it_allows_and_until_when():
    shown = token(ADMIN_VIEW_ONE, 50.0)
    assert shown["may"] == "analyst on all data sets, reviewer on visits"
    assert (shown["until"], shown["state"], shown["revoke"]) == (
        "1970-01-01 00:01 UTC",
        "valid",
        True,
    )


def test_a_token_that_is_void_cannot_be_revoked():
    assert token(ADMIN_VIEW_ONE, 100.0)["state"] == "expired"
    assert not token({**ADMIN_VIEW_ONE, "ended": "revoked"}, 0)["revoke"]
    assert token({**ADMIN_VIEW_ONE, "kind": "session"}, 0)["state"] == "a sign-in"


def test_roles_are_offered_to_those_who_may_grant_them():
    assert "device" in roles(Caller("cleo", None, (Grant("curator", "visits"),), "t", 0))
    assert roles(Caller("ada", None, (Grant("analyst", "*"),), "t", 0)) == []


def test_an_event_says_who_did_what():
    shown = event(
        {
            "sequence": 3,
            "when": "2026-01-02T03:04:05.6Z",
            "who": "ada",
            "team": "oncology",
            "action": "release_asked",
            "details": {"cost": {"kind": "pure"}, "code": "conflict", "replayed": True},
            "dataset": None,
            "outcome": "done",
        }
    )
    assert shown["who"] == "ada (oncology)"
    assert shown["action"] == "release asked"
    assert (shown["when"], shown["more"]) == ("2026-01-02 03:04:05", "code conflict")


# The form of a declaration: what it holds, and what of a declaration it does not know.


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
    assert shown["person"] == ["person", "", ""]  # a person may be named by several columns
    assert (shown["unit_rows"], shown["each_team"]) == ("5", "1")
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
    assert (beds["prefix"], beds["person"], beds["fixed"]) == ("t1", ["id", "", ""], True)
    assert (sites["of"], sites["key"], sites["fixed"]) == (PUBLIC, "site, year", False)
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


# Dashboards and collections, as pages show them.


BOARD: dict[str, Any] = {
    "id": "d1",
    "dataset": "visits",
    "counted": {
        "column": "day", "start": "2026-01-01", "every": "1d", "periods": 90, "epsilon": "1/2"
    },
    "asked_by": "ada",
    "state": "running",
    "created": 0,
    "periods_shown": 70,
}  # fmt: skip


def column(n: int) -> dict[str, list[float]]:
    return {
        "value": [float(i) for i in range(n)],
        "standard_error": [1.0] * n,
        "low": [i - 2.0 for i in range(n)],
        "high": [i + 2.0 for i in range(n)],
    }


def test_the_pictures_show_the_latest_periods_and_the_tables_all() -> None:
    periods = [f"2026-01-{1 + i:02}T00:00:00" for i in range(70)]
    counts = {"periods": periods, "columns": {"count": column(70), "total": column(70)}}
    shown = shown_board({**BOARD, "counts": counts})
    assert (shown["title"], shown["left"]) == ("day of visits", 10)
    assert [name for name, _ in shown["charts"]] == ["Rows in each period", "Running total"]
    first = shown["tables"][0]["rows"]
    assert (len(first), first[0]["item"]) == (70, "2026-01-70")
    assert (first[0]["text"], first[0]["between"]) == ("69", "67 to 71")  # counts are whole
    about = dict(board_card(BOARD)["about"])
    assert about["Price of all periods"] == "epsilon 0.5"
    assert about["Requested by"] == BOARD["asked_by"]


def test_nothing_is_drawn_before_a_period_is_over() -> None:
    assert shown_board({**BOARD, "counts": None})["charts"] == []


def test_an_estimate_is_shown_by_size_and_without_what_is_no_number() -> None:
    items = [
        {"item": "a", "count": 1.0, "low": -3.0, "high": 5.0},
        {"item": [18, 25], "count": 40.0, "low": 30.0, "high": 50.0},
        {"item": "c", "count": None, "low": None, "high": None},
    ]
    told = {
        "collection": "colour", "n": 41, "refused": {"replay": 2, "range": 0}, "level": "0.95",
        "results": [{"name": None, "n": 41, "items": items}, {"name": "empty", "items": []}],
    }  # fmt: skip
    shown = shown_estimate(told)
    assert (shown["n"], shown["refused"]) == (41, "2 replay")
    assert [[row["item"] for row in one["rows"]] for one in shown["tables"]] == [["18 to 25", "a"]]


# The explorer of sensitivity: what it says is what the definition says.


@pytest.mark.parametrize("name", KNOWN)
def test_no_neighbour_moves_further_than_the_local_sensitivity_says(name):
    result = explored(name, read_values("0, 2, 5, 5, 10"))
    moved = [Fraction(row["moved"]) for row in result["rows"]]
    assert len(moved) == 7
    # the numbers of the page are rounded to five digits
    assert max(moved) <= Fraction(result["local"]) * Fraction(1001, 1000)
    assert Fraction(result["local"]) <= Fraction(result["global_value"]) * Fraction(1001, 1000)
    assert any(row["furthest"] for row in result["rows"])
    assert str(result["picture"]).count('class="person"') == 5


def test_numbers_are_held_within_the_bounds():
    assert read_values("-4 99") == [0, 10]


@pytest.mark.parametrize("text", ["", "1", "1 " * 13, "a b", "nan 1", "1/0 2"])
def test_what_is_no_line_of_numbers_is_refused(text):
    with pytest.raises(UsageError):
        read_values(text)


def test_another_statistic_is_refused():
    with pytest.raises(UsageError, match="choose"):
        explored("mode", read_values("1 2"))


# Schedules, as pages show them.


SCHEDULE: dict[str, Any] = {
    "id": "s1", "dataset": "visits", "title": "", "question": "The number of rows",
    "every": "2w", "times": 3, "made": 1, "paid": 3, "next": 86_400.0, "state": "running",
    "cost": {"kind": "pure", "epsilon": "1/2"}, "total": {"kind": "pure", "epsilon": "3/2"},
    "asked_by": "ada", "team": "oncology", "created": 0,
    "calendar": [
        {"due": 0.0, "tag": "1970-01-01", "state": "missed", "release": None},
        {"due": 21_600.0, "tag": "1970-01-01 06:00", "state": "done", "release": "r1"},
        {"due": 86_400.0, "tag": "1970-01-02", "state": "planned", "release": None},
    ],
}  # fmt: skip


def test_a_schedule_is_shown_with_its_calendar() -> None:
    card = schedule_card(SCHEDULE)
    assert (card["title"], card["cost"]) == ("The number of rows", "epsilon 1.5")
    assert (card["times"], card["next"]) == (
        *("every 2 weeks, 1 of 3 made", "next on 1970-01-02 00:00 UTC"),
    )
    shown = shown_schedule(SCHEDULE, may_cancel=True, decides=True)
    rows = [(one["when"], one["state"], one["href"]) for one in shown["calendar"]]
    assert rows == [
        *(("1970-01-01", "missed", None), ("1970-01-01 06:00", "done", "/releases/r1")),
        ("1970-01-02", "planned", None),
    ]
    assert shown["note"].startswith("A missed release")
    assert (shown["cancel"], shown["decide"]) == (True, False)
    about = dict(shown["about"])
    assert (about["Requested by"], about["Price of each"]) == ("ada (oncology)", "epsilon 0.5")
    assert "Paid" not in about


@pytest.mark.parametrize(
    ("state", "cancel", "decide", "paid"),
    [
        ("waiting", True, True, False), ("refused", False, False, False),
        ("paying", True, False, True), ("done", False, False, False),
        ("cancelled", False, False, True),
    ],
)  # fmt: skip
def test_a_schedule_in_each_state(state: str, cancel: bool, decide: bool, paid: bool) -> None:
    shown = shown_schedule({**SCHEDULE, "state": state}, may_cancel=True, decides=True)
    assert (shown["cancel"], shown["decide"]) == (cancel, decide)
    assert ("Paid" in dict(shown["about"])) == paid
    assert shown["state_text"]
    assert not shown_schedule({**SCHEDULE, "state": state}, may_cancel=False, decides=False)[
        "cancel"
    ]


def test_how_far_apart_releases_are_is_said() -> None:
    assert [every_words(each) for each in ("1d", "12mo", "1y")] == [
        *("each day", "every 12 months", "each year"),
    ]
