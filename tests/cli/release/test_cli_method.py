"""``--method`` and its options, as flags and in a plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit import Certificate

DELTA = "--epsilon 4 --delta 1e-6"


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "how",
    [
        "--method smooth",
        "--method smooth --distribution cauchy",
        "--method ptr --bound 10",
        pytest.param("--method ptr --bound search", marks=pytest.mark.full),
        "--method sample_and_aggregate --bins 20",
        pytest.param("--method auto", marks=pytest.mark.full),
        pytest.param("--method auto --bins 20 --bound 1/2", marks=pytest.mark.full),
    ],
)
def test_a_release_by_each_method(tacit, folder: Path, how: str) -> None:
    asked = (
        f"release people.csv --one-row-each --count --median age:0:100 --percentile "
        f"age:75:0:100 {how} {DELTA}"
    )
    done = tacit(f"{asked} --certificate c.json --certificate c.html")
    assert done.code == 0, done.err
    assert "median_age" in done.out
    certificate = Certificate.load("c.json")
    assert certificate.verify()
    asked_by = [c["method"]["asked"] for c in certificate.body["answer"]["columns"][1:]]
    assert asked_by == [how.split()[1]] * 2
    again = tacit(f"{asked} --json").json["releases"][0]
    assert again["replayed"]


def test_what_the_test_refuses_is_told_and_paid_for(tacit) -> None:
    asked = (
        "release people.csv --one-row-each --mean age:0:100 --by site --keys a,none "
        "--method ptr --bound 0.01"
    )
    done = tacit(f"{asked} {DELTA}")
    assert done.code == 0
    assert done.out.count("refused") == 2
    told = tacit(f"{asked} {DELTA} --json").json
    cell = told["releases"][0]["answers"][0]["mean_age"]
    assert cell == {
        "value": None, "standard_error": None, "low": None, "high": None, "refused": True
    }  # fmt: skip
    assert told["remaining"]["exact"]["epsilon"] == "0"


@pytest.mark.full
def test_a_preview_names_the_choice(tacit) -> None:
    done = tacit(f"preview people.csv --one-row-each --std age:0:100 --method auto {DELTA}")
    assert "std_age: smooth, by the expected error at 10000 rows of 4 shapes: global" in done.out


@pytest.mark.full
def test_a_preview_names_the_refusals(tacit) -> None:
    done = tacit(
        f"preview people.csv --one-row-each --std age:0:100 --method ptr --bound 1 {DELTA}"
    )
    assert "std_age: refused with probability" in done.out
    told = tacit(
        f"preview people.csv --one-row-each --std age:0:100 --method ptr --bound 1 {DELTA} --json"
    ).json
    assert told["previews"][0]["methods"] == {"std_age": "ptr, bound 1"}
    assert 0 < told["previews"][0]["refusals"]["std_age"][0] <= 1


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("--median age:0:100 --method smoth", "did you mean 'smooth'"),
        ("--median age:0:100 --method ptr", "bound"),
        ("--median age:0:100 --bound 1", "method='ptr'"),
        ("--count --method smooth", "none is asked"),
        ("--sum age:0:100 --bins 10", "none is asked"),
        ("--median age:0:100 --method sample_and_aggregate --bins 1", "at least 2"),
        ("--median age:0:100 --method ptr --bound 1", "delta"),
    ],
)
def test_bad_methods_are_refused_before_a_ledger_is_begun(
    tacit, folder: Path, asked: str, hint: str
) -> None:
    done = tacit(f"release people.csv --one-row-each {asked} --epsilon 1")
    assert done.code == 2
    assert hint in done.err
    assert not (folder / "people.ledger").exists()


@pytest.mark.full
def test_a_plan_has_methods_too(tacit, folder: Path) -> None:
    plan = """
unit = "row"
[source]
path = "people.csv"
[budget]
epsilon = 9
delta = "1e-4"
[[question]]
epsilon = 9
delta = "1e-5"
certificate = "c.json"
[question.answers]
mid = { statistic = "median", column = "age", lower = 0, upper = 9, method = "auto", rows = 600 }
tested = { statistic = "mean", column = "age", lower = 0, upper = 100, method = "ptr", bound = 20 }
"""
    (folder / "plan.toml").write_text(plan)
    done = tacit("release --plan plan.toml")
    assert done.code == 0, done.err
    body = Certificate.load("c.json").body
    assert body["answer"]["columns"][0]["method"]["rows"] == 600
    (folder / "plan.toml").write_text(plan.replace("method", "methods"))
    assert "did you mean 'method'" in tacit("release --plan plan.toml").err
    (folder / "plan.toml").write_text(plan.replace('"mean"', '"sum"'))
    assert "has a field 'method'" in tacit("release --plan plan.toml").err
