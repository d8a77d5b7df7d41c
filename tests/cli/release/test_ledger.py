"""``tacit ledger`` and ``tacit verify``."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tacit.accounting import create_ledger, epsilon, epsilon_delta
from tacit.accounting.ledger import on_account_of, set_cap, shared_by

CREATE = "ledger create people.csv --budget-epsilon 1"
RELEASE = "release people.csv --one-row-each --count --epsilon 0.5 --certificate c.json"


def test_create_begins_a_ledger_once(tacit, folder: Path) -> None:
    done = tacit(f"{CREATE} --person person --rows 2 --groups 1")
    assert done.code == 0
    shown = tacit("ledger show people.ledger --json").json
    assert shown["budget"] == {"kind": "pure", "epsilon": 1, "exact": {"epsilon": "1"}}
    assert shown["terms"]["unit"] == {"column": "person", "rows": 2, "groups": 1}
    assert shown["releases"] == []
    assert "Nothing was released yet" in tacit("ledger show people.ledger").out
    again = tacit(f"{CREATE} --person person --rows 2")
    assert again.code == 2
    assert "exists already" in again.err


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("flags", "shown"),
    [
        (
            "--budget-epsilon 1 --budget-delta 1e-6",
            {"kind": "approximate", "epsilon": "1", "delta": "1/1000000"},
        ),
        ("--budget-rho 1/3", {"kind": "concentrated", "rho": "1/3"}),
    ],
)
def test_create_knows_every_kind_of_budget(tacit, flags: str, shown: dict[str, str]) -> None:
    assert tacit(f"ledger create people.csv --one-row-each {flags} --ledger x.ledger").code == 0
    told = tacit("ledger show x.ledger --json").json["budget"]
    assert {"kind": told["kind"], **told["exact"]} == shown


def test_show_tells_every_release(tacit) -> None:
    tacit(f"{RELEASE} --budget-epsilon 2")
    done = tacit("ledger show people.ledger")
    assert done.code == 0
    for text in (
        "Budget     epsilon 2",
        "Left       epsilon 1.5",
        "25% spent",
        "The number of rows",
    ):
        assert text in done.out
    (release,) = tacit("ledger show people.ledger --json").json["releases"]
    assert (release["state"], release["cost"]["exact"]["epsilon"]) == ("answered", "1/2")
    assert (release["charge"], release["cost"]["epsilon"]) == (1, 0.5)


def test_show_tells_what_many_charges_cost_together(tacit, folder: Path) -> None:
    with create_ledger(
        folder / "d.ledger", dataset="patients", budget=epsilon_delta(1, "1e-6")
    ) as ledger:
        asked = {"unit": None, "by": [], "keys": None, "where": [], "derived": []}
        counted = {**asked, "aggregates": [["n", {"kind": "count"}]]}
        for tag in range(30):
            ledger.charge(f"k{tag}", epsilon("1/32"), {"query": counted, "tag": tag})
    told = tacit("ledger show d.ledger").out
    assert "one by one add up to epsilon 0.9375" in told
    shown = tacit("ledger show d.ledger --json").json
    assert shown["added_up"]["exact"] == {"epsilon": "15/16", "delta": "0"}
    assert 0.7 < shown["spent"]["epsilon"] < 0.8


def test_show_tells_the_accounts_and_who_shares_the_budget(tacit, folder: Path) -> None:
    people = {"unit": None, "neighbours": "unbounded"}
    with create_ledger(folder / "p.ledger", dataset="patients", budget=epsilon(1)) as ledger:
        set_cap(ledger, "team:a", epsilon("1/2"), "half")
        view = on_account_of(shared_by(ledger, "visits", people), "team:a", "analyst:ada")
        asked = {"unit": people, "by": [], "keys": None, "where": [], "derived": []}
        counted = {**asked, "aggregates": [["n", {"kind": "count"}]]}
        view.charge("k", epsilon("1/4"), {"query": counted})
    shown = tacit("ledger show p.ledger --json").json
    quarter = {"kind": "pure", "epsilon": 0.25, "exact": {"epsilon": "1/4"}}
    half = {"kind": "pure", "epsilon": 0.5, "exact": {"epsilon": "1/2"}}
    assert shown["accounts"] == [
        {"name": "analyst:ada", "cap": None, "spent": quarter},
        {"name": "team:a", "cap": half, "spent": quarter},
    ]
    assert shown["datasets"] == ["visits"]
    told = tacit("ledger show p.ledger").out
    for text in ("visits shares it", "analyst:ada", "no cap", "epsilon 0.25"):
        assert text in told


def test_verify_replays_the_chain(tacit) -> None:
    tacit(RELEASE)
    done = tacit("ledger verify people.ledger")
    assert (done.code, done.out[:2]) == (0, "ok")


@pytest.mark.full
def test_extend_raises_in_the_open(tacit) -> None:
    tacit(RELEASE)
    assert (
        tacit("ledger", "extend", "people.ledger", "--budget-epsilon", "2", "--reason", " ").code
        == 2
    )
    assert tacit("ledger extend people.ledger --budget-epsilon 0.4 --reason less").code == 2
    done = tacit("ledger extend people.ledger --budget-epsilon 2 --reason yearly")
    assert done.code == 0
    assert "epsilon 1.5" in done.out
    assert tacit("release people.csv --one-row-each --mean age:0:100 --epsilon 1.5").code == 0


@pytest.mark.full
def test_restore_after_a_move(tacit, folder: Path) -> None:
    tacit(f"{RELEASE} --budget-epsilon 1")
    (folder / "new").mkdir()
    shutil.move("people.ledger", "new/people.ledger")
    ask = (
        "release people.csv --one-row-each --mean age:0:100 --epsilon 0.5 --ledger "
        "new/people.ledger"
    )
    refused = tacit(ask)
    assert refused.code == 2
    assert "moved" in refused.err
    assert tacit("ledger restore new/people.ledger").code == 0
    assert tacit(ask).code == 0
    assert tacit("ledger adopt nowhere.ledger").code == 2


def test_a_series_shows_the_tag_of_each_release(tacit, folder: Path) -> None:
    for month in ("2024-05", "2024-06"):
        done = tacit(
            f"release people.csv --one-row-each --count --epsilon 0.25 --tag {month} "
            "--budget-epsilon 1"
        )
        assert done.code == 0, done.err
    shown = tacit("ledger show people.ledger").out
    assert "tagged '2024-05'" in shown
    assert "tagged '2024-06'" in shown
    releases = tacit("ledger show people.ledger --json").json["releases"]
    assert [one["question"]["tag"] for one in releases] == ["2024-05", "2024-06"]
