"""The ten tasks in Tacit."""

from pathlib import Path

import tacit as tc

LIBRARY = "tacit"


def counts_by_unlisted_categories(table: Path, out: Path) -> object:
    budget = tc.epsilon_delta(1, "1e-6")
    session = tc.Session(table, unit=tc.one_row_each, budget=budget, ledger=tc.in_memory)
    question = session.group_by("plan").agg(n=tc.count())
    return question.release(epsilon=1, delta="1e-6").to_pandas()


def mean_by_group(table: Path, out: Path) -> object:
    session = tc.Session(table, unit=tc.one_row_each, budget=tc.epsilon(1), ledger=tc.in_memory)
    question = session.group_by("site", keys=range(1, 7)).agg(age=tc.mean("age", 0, 80))
    return question.release(epsilon=1).to_pandas()


def quantiles(table: Path, out: Path) -> object:
    session = tc.Session(table, unit=tc.one_row_each, budget=tc.epsilon(3), ledger=tc.in_memory)
    question = session.agg(*(tc.percentile("age", q, 0, 80) for q in (25, 50, 75)))
    return question.release(epsilon=3).to_pandas()


def range_of_dates(table: Path, out: Path) -> object:
    visits, types = table.with_name("visits.csv"), {"day": "date"}
    session = tc.Session(
        visits, unit=tc.one_row_each, budget=tc.epsilon(1), ledger=tc.in_memory, types=types
    )
    spring = session.filter(tc.col("day") >= "2024-02-01", tc.col("day") < "2024-04-01")
    return spring.agg(n=tc.count()).release(epsilon=1).value("n")


def derived_column(table: Path, out: Path) -> object:
    session = tc.Session(table, unit=tc.one_row_each, budget=tc.epsilon(1), ledger=tc.in_memory)
    bands = session.with_columns(band=tc.col("age").cut([0, 18, 40, 80])).group_by("band")
    return bands.agg(n=tc.count()).release(epsilon=1).to_pandas()


def two_grouping_columns(table: Path, out: Path) -> object:
    session = tc.Session(table, unit=tc.one_row_each, budget=tc.epsilon(1), ledger=tc.in_memory)
    groups = session.group_by(["site", "year"], keys={"site": [1, 2], "year": [1, 2, 3]})
    return groups.agg(n=tc.count()).release(epsilon=1).to_pandas()


def histogram_as_a_picture(table: Path, out: Path) -> object:
    session = tc.Session(table, unit=tc.one_row_each, budget=tc.epsilon(1), ledger=tc.in_memory)
    answer = session.agg(ages=tc.histogram("age", range(0, 81, 10))).release(epsilon=1)
    answer.plot().savefig(out / "ages.png")
    return answer.to_pandas()


def three_statistics_by_weights(table: Path, out: Path) -> object:
    session = tc.Session(table, unit=tc.one_row_each, budget=tc.epsilon(1), ledger=tc.in_memory)
    question = session.agg(n=tc.count(), age=tc.mean("age", 0, 80), visits=tc.sum("visits", 0, 20))
    return question.release(epsilon={"n": 1, "age": 3, "visits": 2}, total=1).to_pandas()


def epsilon_for_an_error(table: Path, out: Path) -> object:
    session = tc.Session(table, unit=tc.one_row_each, budget=tc.epsilon(1), ledger=tc.in_memory)
    question = session.agg(n=tc.count())
    epsilon = question.epsilon_for({"n": 50}, confidence=0.95)
    return float(epsilon), question.release(epsilon=epsilon).value("n")


def spreadsheet(table: Path, out: Path) -> object:
    session = tc.Session(table, unit=tc.one_row_each, budget=tc.epsilon(1), ledger=tc.in_memory)
    answer = session.group_by("site", keys=[1, 2]).agg(n=tc.count()).release(epsilon=1)
    answer.to_excel(out / "sites.xlsx")
    return answer.to_pandas()
