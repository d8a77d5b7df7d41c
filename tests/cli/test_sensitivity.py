"""``tacit sensitivity`` and ``tacit choose-epsilon``."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import tacit.statistics as ts

RECORDS = [1, 2, 2, 2, 5, 5, 7, 8, 9, 9]
ASK = "sensitivity median --records 1,2,2,2,5,5,7,8,9,9 --size 6"


def test_values_are_those_of_the_library(tacit) -> None:
    done = tacit(f"{ASK} --distance 1..3 --relation both --json").json["sensitivities"]
    over = ts.Records(RECORDS, size=6)
    assert [row["relation"] for row in done] == 3 * ["unbounded"] + 3 * ["bounded"]
    for row in done:
        truth = ts.sensitivity("median", over, distance=row["distance"], relation=row["relation"])
        assert Fraction(row["exact_value"]) == truth.value
        assert row["guarantee"]


def test_one_answer_comes_with_its_neighbours(tacit) -> None:
    done = tacit(ASK)
    assert done.code == 0
    assert "{2, 2, 2, 8, 9, 9}" in done.out
    assert "{1, 2, 2, 2, 8, 9, 9}" in done.out


def test_local_and_exactly_are_no_guarantee(tacit) -> None:
    row = tacit(f"{ASK} --at 1,2,2,2,5,5 --json").json["sensitivities"]
    assert [(r["scope"], r["guarantee"]) for r in row] == [("global", True), ("local", False)]
    done = tacit(f"{ASK} --distance 2 --exactly")
    assert done.code == 0
    assert "exactly" in done.err


@pytest.mark.parametrize(
    ("domain", "value"),
    [
        ("--values 0,1,2,3 --size 5 --relation bounded", "3/5"),
        ("--interval 0:100 --size 50 --relation bounded", "2"),
    ],
)
def test_other_domains(tacit, domain: str, value: str) -> None:
    (row,) = tacit(f"sensitivity mean {domain} --json").json["sensitivities"]
    assert row["exact_value"] == value


def test_columns_of_a_file(tacit, folder: Path) -> None:
    (folder / "small.csv").write_text("x,y,name\n1,5,a\n2,6.5,b\n10,7,c\n11,9,d\n")
    rows = tacit("sensitivity median mean --csv small.csv --size 3 --json").json["sensitivities"]
    assert {(r["column"], r["statistic"]) for r in rows} == {
        (c, s) for c in ("x", "y") for s in ("median", "mean")
    }
    (row,) = tacit("sensitivity median --csv small.csv --column y --size 3 --json").json[
        "sensitivities"
    ]
    truth = ts.sensitivity("median", ts.Records([5, 6.5, 7, 9], size=3))
    assert Fraction(row["exact_value"]) == truth.value


def test_a_distance_that_cannot_be_made_leaves_a_gap(tacit) -> None:
    asked = "sensitivity mean --records 1,2,3 --size 2 --distance 1,9 --relation remove"
    done = tacit(f"{asked} --exactly")
    assert done.code == 0
    assert "cannot be made" in done.out
    assert "cannot be made" not in tacit(asked).out  # within 9 there are those within 1


def test_the_table_of_every_release(tacit) -> None:
    ask = "sensitivity table median --records 1,2,3,10,11 --size 3"
    done = tacit(ask)
    assert done.code == 0
    assert "global sensitivity: 4.5" in done.out
    shown = tacit(f"{ask} --json").json
    assert (len(shown["releases"]), shown["global"]) == (10, "9/2")
    assert max(Fraction(r["local"]) for r in shown["releases"]) == Fraction(9, 2)


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "ask", [ASK, f"{ASK} --distance 1..3", "sensitivity table median --records 1,2,3,9 --size 3"]
)
@pytest.mark.parametrize("ending", ["png", "svg"])
def test_pictures(tacit, folder: Path, ask: str, ending: str) -> None:
    assert tacit(f"{ask} --plot picture.{ending}").code == 0
    assert (folder / f"picture.{ending}").stat().st_size > 2000


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("sensitivity medain --records 1,2,3 --size 2", "did you mean 'median'"),
        ("sensitivity median", "in one way"),
        ("sensitivity median --records 1,2 --values 1,2", "in one way"),
        ("sensitivity median --records 1,x --size 1", "must be a number"),
        ("sensitivity median --records 1,nan --size 1", "must be a number"),
        ("sensitivity median --records 1,2 --size 3", "larger than the population"),
        ("sensitivity median --records 1,2,3 --size 2 --distance 0", "at least 1"),
        ("sensitivity median --records 1,2,3 --size 2 --distance x", "whole numbers"),
        ("sensitivity median --records 1,2,3 --size 2 --distance 3..1", "reversed"),
        ("sensitivity median --records 1,2,3 --size 2 --distance 7 --exactly", "distance is 1"),
        ("sensitivity median --records 1,2,3 --size 2 --relation bonded", "did you mean 'bounded'"),
        ("sensitivity median --records 1,2,3 --size 2 --at 1,7", "7"),
        ("sensitivity percentile:101 --records 1,2,3 --size 2", "100"),
        ("sensitivity mean --interval 3 --size 2", "LOW:HIGH"),
        ("sensitivity mean --interval 3:1 --size 2", "must not be above"),
        ("sensitivity mean --csv people.csv --column agee --size 2", "did you mean 'age'"),
        ("sensitivity mean --csv people.csv --column site --size 2", "not numbers"),
        ("sensitivity mean --csv nowhere.csv --size 2", "nowhere.csv"),
        ("sensitivity mean --csv gaps.csv --size 1", "missing values"),
        ("sensitivity table mean median --records 1,2,3 --size 2", "one statistic"),
        ("sensitivity median --records 1,2,3 --size 2 --plot x.gif", ".png"),
        ("choose-epsilon median --values 1,2 --size 1 --risk 0.4", "known population"),
        ("choose-epsilon median --records 1,2,3 --size 2 --risk 2", "below 1"),
        ("choose-epsilon median --records 1,2,3 --size 2 --risk 0.1", "1/3"),
        (
            "choose-epsilon median --records 1,2,3 --size 2 --risk 0.5 --relation both",
            "one relation",
        ),
    ],
)
def test_mistakes(tacit, folder: Path, command: str, said: str) -> None:
    (folder / "gaps.csv").write_text("x,y\n1,2\n,3\n")
    done = tacit(command)
    assert (done.code, done.out) == (2, ""), done
    assert said in done.err
