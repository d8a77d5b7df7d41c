"""``tacit together``: several questions in SQL as one plan, on a table and at a service."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.service.hosting import hosted_clinic
from support.service.server import served
from tacit.accounting import open_ledger

COUNT = "select count(*) as n from people"
OLD = "select count(*) as old, avg(age) as age from people where age between 40 and 99"
TABLE = ["people.csv", "--one-row-each", "--types", "age=integer"]
PRICE = ["--epsilon", "1/2"]


def test_one_charge_answers_all_and_a_second_time_is_free(tacit, folder: Path) -> None:
    asked = ["together", *TABLE, COUNT, OLD.replace(", avg(age) as age", ""), *PRICE]
    done = tacit(*asked, "--budget-epsilon", "2", "--certificate", "plan.json")
    assert done.code == 0, done.err
    assert "Question 1" in done.out
    assert "Question 2" in done.out
    assert done.err.count("spent epsilon 0.5; epsilon 1.5 is left of epsilon 2") == 1
    with open_ledger(folder / "people.ledger") as ledger:
        assert (str(ledger.spent), len(ledger.history())) == ("epsilon 0.5", 1)
    assert tacit("verify", "plan.json").code == 0
    again = tacit(*asked, "--json").json
    assert [one["replayed"] for one in again["releases"]] == [True, True]
    assert again["remaining"]["exact"]["epsilon"] == "3/2"


def test_a_preview_shows_the_strategy_and_spends_nothing(tacit, folder: Path) -> None:
    asked = ["together", *TABLE, COUNT, OLD.replace(", avg(age) as age", ""), *PRICE]
    done = tacit(*asked, "--preview", "--page", "plan.html", "--weights", "n=3")
    assert done.code == 0, done.err
    assert "one by one" in done.out
    assert "100.0%" in done.out
    assert "Noise is added to counts by" in done.out
    assert "in the plan" in (folder / "plan.html").read_text()
    assert not (folder / "people.ledger").exists()


REFUSED = {
    "no query": ([], "write the queries"),
    "a total": ([COUNT, "--total", "1"], "leave --total out"),
    "free": ([COUNT, "--free"], "leave --free out"),
    "a plot": ([COUNT, "--plot", "a.png"], "--plot draws one answer"),
    "weights of epsilon": ([COUNT, "--epsilon", "n=1"], "one --epsilon"),
    "a page without a preview": ([COUNT, "--page", "a.html"], "give it with --preview"),
    "no whole weight": ([COUNT, "--weights", "n=1.5"], "whole number"),
    "csv": ([COUNT, COUNT.replace(" n", " m"), "--csv", *PRICE], "--csv prints one table"),
    "no such aim": ([COUNT, "--least", "most", *PRICE], "least is"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(tacit, folder: Path, name: str) -> None:
    words, told = REFUSED[name]
    price = [] if "--epsilon" in words else PRICE
    done = tacit("together", *TABLE, *words, *price)
    assert (done.code, told in done.err) == (2, True), done.err
    assert not (folder / "people.ledger").exists()


@pytest.mark.full
def test_a_service_is_asked_as_a_table_of_ones_own(tacit, tmp_path: Path, monkeypatch) -> None:
    folder = tmp_path / "clinic"
    folder.mkdir()
    with served(hosted_clinic(folder)) as here:
        monkeypatch.setenv("TACIT_TOKEN", here.token("analyst", dataset="visits", name="ada"))
        queries = [
            "select count(*) as n from visits",
            "select site, count(*) as k, avg(cost) as c from visits group by site order by k",
        ]
        asked = ["together", "visits", *queries, *PRICE, "--server", here.address]
        shown = tacit(*asked, "--preview", "--page", "plan.html")
        assert shown.code == 0, shown.err
        assert (
            "costs epsilon 0.5 of the epsilon 1,000 that is left under the budget of the data set"
            in shown.out.replace("1000", "1,000")
        )
        assert "Noise is added to counts by site: 100.0%" in shown.out
        done = tacit(*asked, "--certificate", "a.json")
        assert done.code == 0, done.err
        assert f"(at {here.address})" in done.err
        assert tacit("verify", "a.json").code == 0
        again = tacit(*asked, "--json").json
        assert [one["replayed"] for one in again["releases"]] == [True, True]
        assert again["remaining"]["exact"]["epsilon"] == "1999/2"
        listed = tacit("ledger", "show", "visits", "--server", here.address)
        assert "2 questions together" in listed.out
        far = tacit(*[*asked[:-4], "--epsilon", "2000", *asked[-2:]], "--yes")
        assert far.code == 1
