"""What people come for, typed as a newcomer would type it after the first page of the docs.

Ten tasks: counts by categories that nobody listed, a mean by group, quantiles, a range of dates, a
derived column, two grouping columns, a histogram as a picture, three statistics by weights, the
epsilon for an error, and a spreadsheet.
"""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

import tacit as tc
from tacit.data import health_insurance

PERSON = tc.unit("person", rows=5)


@pytest.fixture
def session() -> tc.Session:
    return tc.Session(health_insurance(), unit=PERSON, budget=tc.epsilon(10), ledger=tc.in_memory)


def test_counts_by_categories_that_nobody_listed() -> None:
    budget = tc.epsilon_delta(1, "1e-6")
    session = tc.Session(health_insurance(), unit=PERSON, budget=budget)
    answer = session.group_by("plan").agg(n=tc.count()).release(epsilon=1, delta="1e-6")
    assert {(11,), (13,)} <= set(answer.keys)  # those that enough people have
    assert 8 <= len(answer.keys) <= 18
    assert 6000 < answer.to_pandas().set_index("plan")["n"][11] < 7500


def test_a_mean_by_group(session: tc.Session) -> None:
    grouped = session.group_by("site", keys=range(1, 7))
    answer = grouped.agg(age=tc.mean("age", 0, 80)).release(epsilon=1)
    low, high = answer.interval("age", 1)
    assert 20 < low < high < 32


def test_quantiles(session: tc.Session) -> None:
    question = session.agg(
        tc.percentile("age", 25, 0, 80), tc.median("age", 0, 80), tc.percentile("age", 75, 0, 80)
    )
    answer = question.release(epsilon=3)
    first, middle, third = (answer.value(label) for label in answer.labels)
    assert answer.labels == ("percentile_25_age", "median_age", "percentile_75_age")
    assert first < middle < third


@pytest.mark.parametrize("begin", ["2024-02-01", datetime.date(2024, 2, 1)])
def test_a_range_of_dates(tmp_path: Path, begin: object) -> None:
    rows = [f"{person},2024-{month:02}-15" for person in range(400) for month in (1, 2, 3, 4)]
    path = tmp_path / "visits.csv"
    path.write_text("\n".join(["person,day", *rows]), encoding="utf-8")
    session = tc.Session(path, unit=PERSON, budget=tc.epsilon(5), types={"day": "date"})
    spring = session.filter(tc.col("day") >= begin, tc.col("day") < "2024-04-01")
    answer = spring.agg(n=tc.count()).release(epsilon=5)
    assert 700 < answer.value("n") < 900


def test_a_derived_column(session: tc.Session) -> None:
    bands = session.with_columns(band=tc.col("age").cut([0, 18, 40, 80]))
    answer = bands.group_by("band").agg(n=tc.count()).release(epsilon=1)
    assert {"[0, 18)", "[18, 40)", "[40, 80]"} <= {key for (key,) in answer.keys}
    grown = session.with_columns(grown=tc.col("age") >= 18).group_by("grown")
    assert 11_000 < grown.agg(n=tc.count()).release(epsilon=1).value("n", True) < 13_000


def test_two_grouping_columns(session: tc.Session) -> None:
    years = {"site": [1, 2], "year": [1, 2, 3]}
    answer = session.group_by(["site", "year"], keys=years).agg(tc.count()).release(epsilon=1)
    assert len(answer) == 6
    assert 1000 < answer.value("count", 2, 3) < 1300


def test_a_histogram_as_a_picture(session: tc.Session, tmp_path: Path) -> None:
    answer = session.agg(ages=tc.histogram("age", range(0, 81, 10))).release(epsilon=1)
    answer.plot().savefig(tmp_path / "ages.png")
    assert (tmp_path / "ages.png").stat().st_size > 5000


def test_three_statistics_by_weights(session: tc.Session) -> None:
    question = session.agg(n=tc.count(), age=tc.mean("age", 0, 80), visits=tc.sum("visits", 0, 20))
    answer = question.release(epsilon={"n": 1, "age": 3, "visits": 2}, total=1)
    assert session.remaining == tc.epsilon(9)
    assert 19_500 < answer.value("n") < 21_000


def test_the_epsilon_for_an_error(session: tc.Session) -> None:
    question = session.agg(n=tc.count())
    epsilon = question.epsilon_for({"n": 50}, confidence=0.95)
    answer = question.release(epsilon=epsilon)
    low, high = answer.interval("n")
    assert high - low <= 2 * 51
    assert 0 < epsilon < 1


def test_a_spreadsheet(session: tc.Session, tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    answer = session.group_by("site", keys=[1, 2]).agg(n=tc.count()).release(epsilon=1)
    answer.to_excel(tmp_path / "sites.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "sites.xlsx").worksheets[0]
    assert [cell.value for cell in sheet[1]][:2] == ["site", "n"]
