"""``tacit release`` and ``tacit preview``: what they print, write, spend and replay."""

from __future__ import annotations

import csv
import io
import json
from fractions import Fraction
from pathlib import Path

import pytest

from tacit import Certificate
from tacit.accounting import open_ledger
from tacit.tables.plan.plan import Plan

RELEASE = "release people.csv --one-row-each --count --mean age:0:100 --epsilon 0.5"


def test_release_prints_the_answer_and_keeps_the_budget(tacit, folder: Path) -> None:
    done = tacit(f"{RELEASE} --budget-epsilon 2")
    assert done.code == 0
    assert "count" in done.out
    assert "mean_age" in done.out
    assert "spent epsilon 0.5; epsilon 1.5 is left of epsilon 2" in done.err
    with open_ledger(folder / "people.ledger") as ledger:
        assert str(ledger.remaining) == "epsilon 1.5"


def test_without_a_budget_the_first_release_is_the_whole_budget(tacit, folder: Path) -> None:
    done = tacit(RELEASE)
    assert done.code == 0
    assert "the price of this release as its whole budget" in done.err
    with open_ledger(folder / "people.ledger") as ledger:
        assert (str(ledger.total), str(ledger.remaining)) == ("epsilon 0.5", "epsilon 0")
    assert tacit("release people.csv --one-row-each --count --epsilon 0.1").code == 1


def test_the_same_release_is_free_and_the_same(tacit) -> None:
    first = tacit(f"{RELEASE} --json").json
    again = tacit(f"{RELEASE} --json").json
    assert again["releases"][0]["replayed"]
    assert again["releases"][0]["answers"] == first["releases"][0]["answers"]
    assert again["remaining"] == first["remaining"] == {"kind": "pure", "epsilon": "0"}


def test_a_tag_makes_another_release(tacit) -> None:
    assert tacit(f"{RELEASE} --budget-epsilon 1").code == 0
    assert tacit(f"{RELEASE} --tag july --json").json["remaining"]["epsilon"] == "0"


def test_the_ledger_is_the_same_from_every_folder(tacit, folder: Path, monkeypatch) -> None:
    assert tacit(RELEASE).code == 0
    (folder / "deep").mkdir()
    monkeypatch.chdir(folder / "deep")
    done = tacit("release ../people.csv --one-row-each --count --epsilon 0.1")
    assert done.code == 1
    assert sorted(p.name for p in folder.glob("**/*.ledger")) == ["people.ledger"]


def test_json_has_one_record_a_group(tacit) -> None:
    done = tacit(f"{RELEASE} --by site --keys a,b,c --json").json
    records = done["releases"][0]["answers"]
    assert [record["key"] for record in records] == [{"site": s} for s in "abc"]
    for record in records:
        for label in ("count", "mean_age"):
            part = record[label]
            assert part["low"] <= part["value"] <= part["high"]
            assert part["standard_error"] > 0


def test_csv_is_a_table(tacit) -> None:
    done = tacit(f"{RELEASE} --by site --keys a,b --csv")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert [row["site"] for row in rows] == ["a", "b"]
    assert {"count", "count_error", "mean_age_low", "mean_age_high"} <= set(rows[0])


def test_every_statistic_has_its_flag(tacit) -> None:
    done = tacit(
        "release people.csv --person person --rows 2 --count --count-people --sum pay:0:1000 "
        "--mean age:0:100 --var age:0:100 --std age:0:100 --median pay:0:1000 "
        "--percentile pay:90:0:1000 --min age:0:100 --max age:0:100 --histogram age:0,30,60,100 "
        "--epsilon 5 --json"
    )
    labels = set(done.json["releases"][0]["answers"][0]) - {"key"}
    assert labels == {
        "count", "people", "sum_pay", "mean_age", "var_age", "std_age", "median_pay",
        "percentile_90_pay", "min_age", "max_age", "histogram_age",
    }  # fmt: skip


def test_where_keeps_rows(tacit) -> None:
    words = [
        "release",
        "people.csv",
        "--one-row-each",
        "--count",
        "--epsilon",
        "50",
        "--yes",
        "--json",
    ]
    done = tacit(*words, "--where", "sex = 'f' and not age < 30", "--ledger", "a.ledger").json
    # Half of the rows are of women, and of 60 ages in turn 48 are 30 or more.
    assert abs(done["releases"][0]["answers"][0]["count"]["value"] - 240) < 20


PEOPLE = (
    "--person site --rows 2 --per-person n=count --per-person ages=sum:age:0:200 --where age>0 "
    "--where-person n>1 --mean ages --count --cut n:0,1,9 --by n_group --epsilon 1000"
)


def test_people_are_made_first(tacit, folder: Path) -> None:
    done = tacit(f"release people.csv {PEOPLE} --yes --json")
    record = {r["key"]["n_group"]: r for r in done.json["releases"][0]["answers"]}
    assert record["[0, 1)"]["count"]["value"] == 0
    (folder / "plan.toml").write_text("""
[source]
path = "people.csv"
[[question]]
where = "age > 0"
where_person = "n > 1"
cut = { n_group = { column = "n", edges = [0, 1, 9] } }
by = ["n_group"]
epsilon = 1000
[question.per_person]
n = { statistic = "count" }
ages = { statistic = "sum", column = "age", lower = 0, upper = 200 }
[question.answers]
count = { statistic = "count" }
mean_ages = { statistic = "mean", column = "ages" }
""")
    again = tacit("release --plan plan.toml --json --yes").json["releases"][0]
    assert again["replayed"]  # one identity
    assert again["answers"] == done.json["releases"][0]["answers"]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("--per-person total=sum:age", "needs public bounds"),
        ("--per-person total", "is not whole"),
        ("--per-person n=count:age", "is not whole"),
        ("--per-person n=median:age:0:9", "median is not made of the rows of one person"),
        ("--per-person n=count --per-person n=count", "twice"),
        ("--where-person n>1", "--per-person"),
    ],
)
def test_people_that_cannot_be_made_are_refused(tacit, said: str, told: str) -> None:
    done = tacit(f"release people.csv --person site --rows 2 {said} --count --epsilon 1")
    assert done.code == 2
    assert told in " ".join(done.err.split())


def test_keys_come_from_a_public_file(tacit, folder: Path) -> None:
    (folder / "public.csv").write_text("sex,site\nf,a\nm,b\nf,a\n")
    done = tacit(f"{RELEASE} --by site,sex --keys-file public.csv --json").json
    keys = [record["key"] for record in done["releases"][0]["answers"]]
    assert keys == [{"site": "a", "sex": "f"}, {"site": "b", "sex": "m"}]


def test_keys_of_several_columns_are_all_pairs(tacit) -> None:
    done = tacit(f"{RELEASE} --by site,age --keys site=a,b --keys age=20..21 --json").json
    keys = [tuple(r["key"].values()) for r in done["releases"][0]["answers"]]
    assert keys == [("a", 20), ("a", 21), ("b", 20), ("b", 21)]


def test_a_column_of_numbers_is_cut_into_groups(tacit) -> None:
    ask = "release people.csv --one-row-each --count --cut age:18,30,80 --epsilon 50 --yes --json"
    alone = tacit(f"{ask} --by age_group --ledger a.ledger").json["releases"][0]["answers"]
    assert [r["key"]["age_group"] for r in alone] == ["[18, 30)", "[30, 80]"]
    assert abs(alone[0]["count"]["value"] - 120) < 20  # 12 of 60 ages, of 600 rows
    both = tacit(f"{ask} --by site,age_group --keys site=a,b --ledger b.ledger").json
    assert len(both["releases"][0]["answers"]) == 4
    assert tacit(f"{ask} --by site,age_group --ledger c.ledger").code == 2


def test_unknown_keys_take_a_delta(tacit) -> None:
    refused = tacit("release people.csv --one-row-each --count --by site --epsilon 1")
    assert refused.code == 2
    assert "--keys" in refused.err
    assert "--delta" in refused.err
    done = tacit(
        "release people.csv --one-row-each --count --by site --epsilon 5 --delta 1e-6 --json"
    )
    assert [r["key"]["site"] for r in done.json["releases"][0]["answers"]] == ["a", "b", "c"]


def test_rho_pays_from_a_rho_budget(tacit) -> None:
    done = tacit("release people.csv --one-row-each --count --rho 0.1 --budget-rho 1/5 --json").json
    assert done["remaining"]["kind"] == "concentrated"
    left = Fraction(done["remaining"]["rho"])  # the scale is rational, so a little may be left over
    assert 0 <= left - Fraction(1, 10) < Fraction(1, 10**12)


def test_certificates_and_plots_are_written(tacit, folder: Path) -> None:
    done = tacit(f"{RELEASE} --certificate c.json --certificate c.html --plot p.png")
    assert done.code == 0
    assert Certificate.load(folder / "c.json").verify()
    assert (folder / "c.html").read_text().startswith("<!DOCTYPE html>")
    assert (folder / "p.png").read_bytes().startswith(b"\x89PNG")
    assert done.err.count("wrote ") == 3


def test_what_was_paid_for_is_printed_where_no_plot_can_be_drawn(tacit, folder: Path) -> None:
    done = tacit(f"{RELEASE} --by age --keys 0..99 --plot p.png --csv")
    assert done.code == 0
    assert len(done.out.splitlines()) == 101
    assert "No plot was drawn: a figure shows 1 to 80 groups" in done.err
    assert not (folder / "p.png").exists()


def test_a_ledger_knows_its_unit(tacit) -> None:
    first = "release people.csv --person person --rows 2 --count --epsilon 0.5 --budget-epsilon 1"
    assert tacit(first).code == 0
    assert tacit("release people.csv --mean age:0:100 --epsilon 0.5").code == 0
    other = tacit("release people.csv --one-row-each --mean age:0:100 --epsilon 0.5")
    assert other.code == 2
    assert "has other terms" in other.err
    assert "not (column none, rows 1, groups 1)" in other.err


def test_the_unit_must_be_said(tacit, folder: Path) -> None:
    for command in ("release", "preview"):
        done = tacit(f"{command} people.csv --count --epsilon 0.5")
        assert done.code == 2
        assert "--person COL --rows 5" in done.err
        assert "--one-row-each" in done.err
    both = tacit("release people.csv --one-row-each --person person --rows 2 --count --epsilon 1")
    assert both.code == 2
    assert "every row is another person" in both.err
    assert tacit("ledger create people.csv --budget-epsilon 1").code == 2
    assert list(folder.glob("*.ledger")) == []


def test_a_plan_must_say_the_unit(tacit, folder: Path) -> None:
    asked = """
[source]
path = "people.csv"
[[question]]
answers = { n = { statistic = "count" } }
epsilon = 1
"""
    for said, code in (("", 2), ('unit = "person"', 2), ('unit = "row"', 0)):
        (folder / "plan.toml").write_text(said + asked)
        done = tacit("release --plan plan.toml")
        assert done.code == code, done.err
        assert code == 0 or 'unit is "row"' in done.err or 'unit = "row"' in done.err


def test_preview_spends_nothing_and_begins_no_ledger(tacit, folder: Path) -> None:
    done = tacit(
        "preview people.csv --one-row-each --count --mean age:0:100 --epsilon 0.5 --sizes 10,1000"
    )
    assert done.code == 0
    assert "1000 rows" in done.out
    assert not list(folder.glob("*.ledger"))
    tacit(f"{RELEASE} --budget-epsilon 1")
    before = (folder / "people.ledger").read_bytes()
    shown = tacit("preview people.csv --one-row-each --count --epsilon 0.75 --json").json[
        "previews"
    ][0]
    assert not shown["affordable"]
    assert tacit(
        "preview people.csv --one-row-each --count --mean age:0:100 --epsilon 0.5 --json"
    ).json["previews"][0]["answered"]
    with open_ledger(folder / "people.ledger") as ledger:
        assert str(ledger.spent) == "epsilon 0.5"
    assert (folder / "people.ledger").read_bytes() == before


def test_preview_draws_no_noise_and_asks_the_table_nothing(tacit, monkeypatch) -> None:
    from tacit.tables.release import opened_table

    def never(*_: object) -> None:
        raise AssertionError("a preview must not look at the data")

    monkeypatch.setattr(opened_table.Collector, "collect", never)
    assert (
        tacit("preview people.csv --one-row-each --count --median age:0:100 --epsilon 0.5").code
        == 0
    )


PLAN = """
[source]
path = "people.csv"
types = { site = "text" }
[unit]
person = "person"
rows = 2
[budget]
epsilon = 1
ledger = "plan.ledger"
[[question]]
name = "by site"
by = ["site"]
keys = ["a", "b"]
epsilon = 0.4
certificate = "site.json"
[question.answers]
people = { statistic = "count_people" }
[[question]]
where = "age >= 30"
epsilon = "3/5"
[question.answers]
p90 = { statistic = "percentile", column = "pay", q = 90, lower = 0, upper = 1000 }
ages = { statistic = "histogram", column = "age", edges = [18, 40, 100] }
"""


def test_a_plan_asks_several_questions(tacit, folder: Path) -> None:
    (folder / "plan.toml").write_text(PLAN)
    done = tacit("release --plan plan.toml --json").json
    assert done["remaining"] == {"kind": "pure", "epsilon": "0"}  # 0.4 is four tenths, exactly
    first, second = done["releases"]
    assert first["name"] == "by site"
    assert set(second["answers"][0]) == {"key", "p90", "ages"}
    assert json.loads((folder / "site.json").read_text())["digest"] == first["digest"]
    again = tacit("release --plan plan.toml --json").json
    assert [r["replayed"] for r in again["releases"]] == [True, True]
    assert tacit("preview --plan plan.toml").code == 0


def test_a_plan_is_paid_whole_or_not_at_all(tacit, folder: Path) -> None:
    (folder / "plan.toml").write_text(PLAN.replace('"3/5"', '"61/100"'))
    done = tacit("release --plan plan.toml")
    assert done.code == 1
    assert not (folder / "plan.ledger").exists()


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[unit]", "[units]", "did you mean 'unit'"),
        ("rows = 2", "row = 2", "did you mean 'rows'"),
        ('"count_people"', '"count_peple"', "did you mean 'count_people'"),
        ("upper = 1000", "uper = 1000", "uper"),
        (", upper = 1000", "", "lacks upper"),
        ('path = "people.csv"', "path = 3", "text in quotes"),
        ("epsilon = 0.4", "epsilon = -1", "above zero"),
        ('"age >= 30"', '"age >> 30"', "the condition"),
        ("[[question]]", "[[question", "no TOML"),
        ("age >= 30", "agee >= 30", "did you mean 'age'"),
        ('where = "age >= 30"', 'cut = { old = { column = "age", edge = [1] } }', "edges = ["),
        ('where = "age >= 30"', 'cut = { old = { column = "age", edges = [1] } }', "two edges"),
        ('keys = ["a", "b"]\n', "", "not known to be public"),
        ('keys = ["a", "b"]', "keys = []", "there are no keys"),
    ],
)
def test_a_plan_with_a_mistake_spends_nothing(tacit, folder: Path, old, new, said) -> None:
    assert old in PLAN
    (folder / "plan.toml").write_text(PLAN.replace(old, new))
    done = tacit("release --plan plan.toml")
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert not (folder / "plan.ledger").exists()


def test_a_plan_stands_alone(tacit, folder: Path) -> None:
    (folder / "plan.toml").write_text(PLAN)
    done = tacit("release people.csv --plan plan.toml")
    assert done.code == 2
    assert "--plan says everything" in done.err
    assert tacit("release --plan nowhere.toml").code == 2
    assert tacit("release --plan plan.toml --csv").code == 2


@pytest.mark.parametrize(
    "command",
    [
        RELEASE,
        "count-over-time people.csv --one-row-each --time age --start 18 --every 20 "
        "--periods 3 --now 80 "
        "--epsilon 1",
    ],
)
def test_the_first_release_opens_one_session(tacit, folder: Path, monkeypatch, command) -> None:
    from tacit.tables import Session

    opened = []
    begin = Session.__init__
    monkeypatch.setattr(
        Session, "__init__", lambda session, *a, **k: (opened.append(a), begin(session, *a, **k))[1]
    )
    assert tacit(command).code == 0
    assert len(opened) == 1
    assert (folder / "people.ledger").is_file()


def test_a_release_is_planned_once(tacit, monkeypatch) -> None:
    made, check = [], Plan.__post_init__

    def counted(plan: Plan) -> None:
        made.append(plan)
        check(plan)

    monkeypatch.setattr(Plan, "__post_init__", counted)
    assert tacit(f"{RELEASE} --budget-epsilon 1").code == 0  # tried on paper, then released
    assert len(made) == 1
    assert tacit(f"{RELEASE} --budget-epsilon 1".replace("release", "preview", 1)).code == 0
    assert len(made) == 2
