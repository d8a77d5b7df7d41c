"""One question of a job: its statistics, rows, people and keys."""

from __future__ import annotations

from pathlib import Path

import pytest

RELEASE = "release people.csv --one-row-each --count --mean age:0:100 --epsilon 0.5"


@pytest.mark.full
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
        ("--per-person total", "is incomplete"),
        ("--per-person n=count:age", "is incomplete"),
        ("--per-person n=median:age:0:9", "median cannot be made of the rows of one person"),
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
