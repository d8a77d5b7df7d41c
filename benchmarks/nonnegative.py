"""Counts that are not below zero, beside those of the same noise that may be, on real tables.

A plan asks for every column of a table and for every pair of them, and is released with
``nonnegative=True``; the counts before that step are those of the same noise (which
``nonnegative=False`` publishes), so that both are compared run by run.  The columns are categories,
or numbers in bins with round edges that do not depend on the rows.  The tables: the bundled health
insurance experiment (one year of each person), three that scikit-learn bundles, and, where its file
is given, the census table, some rows of which have values that are not listed.

Run: ``python benchmarks/nonnegative.py [adult.csv] [--runs 20] [--unlisted drop]``.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

import tacit as tc
from plans import ADULT
from tacit.tables.joint import cell_counts

PRICES = (("epsilon", Fraction(1, 10)), ("epsilon", Fraction(1)), ("rho", Fraction(1, 2)))
CENSUS = ("workclass", "marital-status", "relationship", "race", "sex", "income")
HEALTH = ("excellent", "good", "fair", "poor")
TUMOURS = ("mean radius", "mean texture", "mean smoothness", "mean concavity", "mean symmetry")
TUMOUR_BINS = ("10 12 14 16 20", "14 18 22 26", ".08 .1 .12", ".05 .1 .2 .3", ".16 .18 .2 .25")
PATIENTS = ("age", "sex", "bmi", "bp", "s6")
PATIENT_BINS = ("30 40 50 60 70", "1.5", "18.5 25 30 35", "80 90 100 110", "70 100 126")
WINES = ("alcohol", "malic_acid", "magnesium", "color_intensity")
WINE_BINS = ("12 12.5 13 13.5 14", "1 2 3 4", "80 100 120", "2 4 6 8")
# of each column the cells of its rows, and how many are listed; the next is that of other values
Codes = dict[str, tuple[NDArray[np.int64], int]]


def binned(values: Any, bins: str) -> tuple[NDArray[np.int64], int]:
    """The bin of each value, and how many there are; the bins by their inner edges."""
    edges = [float(edge) for edge in bins.split()]
    return np.digitize(np.asarray(values, dtype=float), edges), len(edges) + 1


def tables(adult: Path | None) -> Iterator[tuple[str, Codes]]:
    """Yield each table by name."""
    year = duckdb.sql(f"from '{tc.data.health_insurance()}' where year = 1").fetchnumpy()
    codes = {
        "site": (np.asarray(year["site"]) - 1, 6),
        "health": (np.array([HEALTH.index(v) if v in HEALTH else 4 for v in year["health"]]), 4),
        "age": binned(year["age"], "6 18 30 40 50"),
        "visits": binned(year["visits"], "1 3 6 12 24"),
        "admissions": binned(year["admissions"], "1 2 3"),
        "coinsurance": binned(year["coinsurance"], "1 30 60"),
    }
    yield "health insurance", codes
    if adult:
        rows = list(csv.DictReader(adult.read_text(encoding="utf-8").splitlines()))
        codes = {}
        keys = {name: {key: n for n, key in enumerate(ADULT[name].split("|"))} for name in CENSUS}
        for n, k in keys.items():
            codes[n] = np.array([k.get(row[n], len(k)) for row in rows]), len(k)
        yield "adult", codes
    for name, found, columns, bins in (
        ("breast cancer", load_breast_cancer(), TUMOURS, TUMOUR_BINS),
        ("diabetes", load_diabetes(scaled=False), PATIENTS, PATIENT_BINS),
        ("wine", load_wine(), WINES, WINE_BINS),
    ):
        values = dict(zip(found.feature_names, found.data.T, strict=True))
        yield name, {n: binned(values[n], b) for n, b in zip(columns, bins, strict=True)}


def errors(covers: Any, truth: dict[tuple[int, ...], Any]) -> list[float]:
    """The mean squared error of the listed cells, and mean absolute ones of columns and pairs."""
    off: list[list[float]] = [[], []]
    for s, true in truth.items():
        cover = next(held for held in covers if set(s) <= set(held))
        counts = covers[cover].sum(axis=tuple(p for p, i in enumerate(cover) if i not in s))
        off[len(s) - 1].extend((counts[tuple(map(slice, true.shape))] - true).flat)
    return [float(np.mean(np.square(off[0] + off[1]))), *(float(np.abs(x).mean()) for x in off)]


def measured(codes: Codes, kind: str, amount: Fraction, unlisted: str, runs: int) -> Any:
    """The errors of each run, without and with the step."""
    names = list(codes)
    sets = [s for ways in (1, 2) for s in itertools.combinations(range(len(names)), ways)]
    held = np.array([column for column, _ in codes.values()])
    sizes = np.array([size for _, size in codes.values()])
    if unlisted == "drop":
        held = held[:, (held < sizes[:, None]).all(axis=0)]
    truth = {}
    for s in sets:
        counts = np.zeros(sizes[list(s)] + 1)
        np.add.at(counts, tuple(held[list(s)]), 1)
        truth[s] = counts[(slice(-1),) * len(s)]
    fit, found = cell_counts.nonnegative_marginals, []

    def kept(start: Any, variances: Any) -> Any:
        fitted = fit(start, variances)
        found.append([errors(start, truth), errors(fitted, truth)])
        return fitted

    table = pa.table({name: column for name, (column, _) in codes.items()})
    whole = getattr(tc, kind)(amount * runs)
    with tc.Session(table, tc.one_row_each, whole, tc.in_memory, name="rows") as session:
        keys = {n: list(range(size)) for n, (_, size) in codes.items()}
        by = [{names[i]: keys[names[i]] for i in s} for s in sets]
        asked = [session.group_by(*each, keys=each).agg(n=tc.count()) for each in by]
        plan = session.plan(asked, unlisted=unlisted, nonnegative=True)
        with mock.patch.object(cell_counts, "nonnegative_marginals", kept):
            for run in range(runs):
                plan.release(**{kind: amount}, tag=str(run))
    return np.array(found)


def main() -> None:
    """Measure all, and print the means over the runs; of the ratios also the least and largest."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("adult", nargs="?", type=Path, help="the table adult.csv")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--unlisted", choices=("count", "drop"), default="count")
    given = parser.parse_args()
    print("| table (rows) | loss | of a cell | squared, ratio | of a run | columns | pairs |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for name, codes in tables(given.adult):
        for kind, amount in PRICES:
            found = measured(codes, kind, amount, given.unlisted, given.runs)
            (before, one, two), (after, other, more) = found.mean(axis=0)
            ratios = found[:, 1, 0] / found[:, 0, 0]
            print(
                f"| {name} ({len(next(iter(codes.values()))[0]):,}) | {kind} {float(amount):g} "
                f"| {math.sqrt(before):.2f}, {math.sqrt(after):.2f} | {after / before:.3f} "
                f"| {ratios.min():.3f} to {ratios.max():.3f} | {one:.2f}, {other:.2f} "
                f"| {two:.2f}, {more:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
