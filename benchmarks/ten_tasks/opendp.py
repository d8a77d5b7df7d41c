"""The ten tasks in OpenDP, through its data frame interface; run by the interpreter that has it."""

from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt
import opendp.prelude as dp
import polars as pl

LIBRARY = "opendp"
dp.enable_features("contrib")


def counts_by_unlisted_categories(table: Path, out: Path) -> object:
    context = dp.Context.compositor(
        data=pl.scan_parquet(table),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=1.0, delta=1e-6),
        split_evenly_over=1,
        margins=[dp.polars.Margin(max_length=100_000)],
    )
    query = context.query().group_by("plan").agg(dp.len())
    return query.release().collect()


def mean_by_group(table: Path, out: Path) -> object:
    context = dp.Context.compositor(
        data=pl.scan_parquet(table),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=1,
        margins=[dp.polars.Margin(max_length=100_000)],
    )
    age = pl.col("age").fill_nan(0.0).fill_null(0.0)
    query = context.query().group_by("site").agg(age.dp.mean((0.0, 80.0)).alias("age"))
    keys = pl.LazyFrame({"site": [1, 2, 3, 4, 5, 6]}, schema={"site": pl.Int64})
    return query.with_keys(keys).release().collect()


def quantiles(table: Path, out: Path) -> object:
    context = dp.Context.compositor(
        data=pl.scan_parquet(table),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=3.0),
        split_evenly_over=1,
        margins=[dp.polars.Margin(max_length=100_000)],
    )
    age, candidates = pl.col("age").fill_nan(0.0).fill_null(0.0), [float(a) for a in range(81)]
    parts = [age.dp.quantile(q, candidates).alias(f"q{q}") for q in (0.25, 0.5, 0.75)]
    return context.query().select(*parts).release().collect()


def range_of_dates(table: Path, out: Path) -> object:
    context = dp.Context.compositor(
        data=pl.scan_csv(table.with_name("visits.csv")),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=1,
        margins=[dp.polars.Margin(max_length=100_000)],
    )
    # compared as text: dates are not accepted as literals
    day = pl.col("day")
    spring = context.query().filter((day >= "2024-02-01") & (day < "2024-04-01"))
    return spring.select(dp.len()).release().collect().item()


def derived_column(table: Path, out: Path) -> object:
    context = dp.Context.compositor(
        data=pl.scan_parquet(table),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=1,
        margins=[dp.polars.Margin(max_length=100_000)],
    )
    band = pl.col("age").cut([18.0, 40.0], left_closed=True).alias("band")
    names = pl.Series(["[-inf, 18)", "[18, 40)", "[40, inf)"], dtype=pl.Categorical)
    query = context.query().with_columns(band).group_by("band").agg(dp.len())
    return query.with_keys(pl.LazyFrame({"band": names})).release().collect()


def two_grouping_columns(table: Path, out: Path) -> object:
    context = dp.Context.compositor(
        data=pl.scan_parquet(table),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=1,
        margins=[dp.polars.Margin(max_length=100_000)],
    )
    pairs = [(site, year) for site in (1, 2) for year in (1, 2, 3)]
    keys = pl.LazyFrame(pairs, schema={"site": pl.Int64, "year": pl.Int64}, orient="row")
    query = context.query().group_by("site", "year").agg(dp.len())
    return query.with_keys(keys).release().collect()


def histogram_as_a_picture(table: Path, out: Path) -> object:
    context = dp.Context.compositor(
        data=pl.scan_parquet(table),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=1,
        margins=[dp.polars.Margin(max_length=100_000)],
    )
    edges = [float(edge) for edge in range(10, 80, 10)]
    ends = ["-inf", *(f"{edge:g}" for edge in edges), "inf"]
    names = [f"[{low}, {high})" for low, high in pairwise(ends)]
    keys = pl.LazyFrame({"bin": pl.Series(names, dtype=pl.Categorical)})
    query = context.query().with_columns(pl.col("age").cut(edges, left_closed=True).alias("bin"))
    answer = query.group_by("bin").agg(dp.len()).with_keys(keys).release().collect()
    counts = dict(zip(answer["bin"], answer["len"], strict=True))
    plt.bar(names, [counts[name] for name in names])
    plt.savefig(out / "ages.png")
    return answer


def three_statistics_by_weights(table: Path, out: Path) -> object:
    context = dp.Context.compositor(
        data=pl.scan_parquet(table),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_by_weights=[1, 3, 2],
        margins=[dp.polars.Margin(max_length=100_000)],
    )
    age = pl.col("age").fill_nan(0.0).fill_null(0.0)
    count = context.query().select(dp.len()).release().collect().item()
    mean = context.query().select(age.dp.mean((0.0, 80.0))).release().collect().item()
    visits = pl.col("visits").fill_null(0).dp.sum((0, 20))
    return count, mean, context.query().select(visits).release().collect().item()


def epsilon_for_an_error(table: Path, out: Path) -> object:
    epsilon = 1 / dp.accuracy_to_discrete_laplacian_scale(50.0, alpha=0.05)
    context = dp.Context.compositor(
        data=pl.scan_parquet(table),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=epsilon),
        split_evenly_over=1,
        margins=[dp.polars.Margin(max_length=100_000)],
    )
    return epsilon, context.query().select(dp.len()).release().collect().item()


def spreadsheet(table: Path, out: Path) -> object:
    context = dp.Context.compositor(
        data=pl.scan_parquet(table),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=1,
        margins=[dp.polars.Margin(max_length=100_000)],
    )
    keys = pl.LazyFrame({"site": [1, 2]}, schema={"site": pl.Int64})
    query = context.query().group_by("site").agg(dp.len().alias("n")).with_keys(keys)
    answer = query.release().collect()
    answer.write_excel(out / "sites.xlsx")
    return answer
