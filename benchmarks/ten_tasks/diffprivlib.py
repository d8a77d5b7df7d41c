"""The ten tasks in diffprivlib; run by the interpreter that has it."""

import math
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from diffprivlib import BudgetAccountant, tools

LIBRARY = "diffprivlib"
NOT_OFFERED = {
    "counts_by_unlisted_categories": "the bins of a histogram must be listed, or are read off the "
    "data without noise (with a warning)",
}


def mean_by_group(table: Path, out: Path) -> object:
    rows = pd.read_parquet(table, columns=["site", "age"]).fillna(0)
    sites = {site: rows.age[rows.site == site] for site in range(1, 7)}
    return {s: tools.mean(ages, epsilon=1.0, bounds=(0, 80)) for s, ages in sites.items()}


def quantiles(table: Path, out: Path) -> object:
    ages = pd.read_parquet(table, columns=["age"]).age.fillna(0)
    return tools.quantile(ages, [0.25, 0.5, 0.75], epsilon=3.0, bounds=(0, 80))


def range_of_dates(table: Path, out: Path) -> object:
    rows = pd.read_csv(table.with_name("visits.csv"), parse_dates=["day"])
    spring = (rows.day >= "2024-02-01") & (rows.day < "2024-04-01")
    return tools.count_nonzero(spring, epsilon=1.0)


def derived_column(table: Path, out: Path) -> object:
    ages = pd.read_parquet(table, columns=["age"]).age.fillna(0)
    bands = pd.cut(ages, [0, 18, 40, 80.01], right=False)
    return tools.histogram(bands.cat.codes, epsilon=1.0, bins=3, range=(-0.5, 2.5))


def two_grouping_columns(table: Path, out: Path) -> object:
    rows = pd.read_parquet(table, columns=["site", "year"])
    edges = [[0.5, 1.5, 2.5], [0.5, 1.5, 2.5, 3.5]]
    return tools.histogramdd(
        rows.to_numpy(), epsilon=1.0, bins=edges, range=[(0.5, 2.5), (0.5, 3.5)]
    )


def histogram_as_a_picture(table: Path, out: Path) -> object:
    ages = pd.read_parquet(table, columns=["age"]).age.fillna(0)
    counts, edges = tools.histogram(ages, epsilon=1.0, bins=8, range=(0, 80))
    plt.stairs(counts, edges)
    plt.savefig(out / "ages.png")
    return counts


def three_statistics_by_weights(table: Path, out: Path) -> object:
    rows = pd.read_parquet(table, columns=["age", "visits"]).fillna(0)
    budget = BudgetAccountant(epsilon=1.0)
    count = tools.count_nonzero(np.ones(len(rows)), epsilon=1 / 6, accountant=budget)
    mean = tools.mean(rows.age, epsilon=3 / 6, bounds=(0, 80), accountant=budget)
    return count, mean, tools.sum(rows.visits, epsilon=2 / 6, bounds=(0, 20), accountant=budget)


def epsilon_for_an_error(table: Path, out: Path) -> object:
    # by hand, from the tail of the geometric noise that the documentation names
    epsilon = math.log(1 / 0.05) / 50
    rows = pd.read_parquet(table, columns=["site"])
    return epsilon, tools.count_nonzero(np.ones(len(rows)), epsilon=epsilon)


def spreadsheet(table: Path, out: Path) -> object:
    sites = pd.read_parquet(table, columns=["site"]).site
    counts, _ = tools.histogram(sites, epsilon=1.0, bins=2, range=(0.5, 2.5))
    answer = pd.DataFrame({"site": [1, 2], "n": counts})
    answer.to_excel(out / "sites.xlsx", index=False)
    return answer
