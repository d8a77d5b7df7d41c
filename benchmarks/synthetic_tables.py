"""Synthetic tables of marginals of adult: how near their counts are to the true ones, and how soon.

Three plans at rho 0.1 over the eight declared columns of the complete rows: each column with the
income; each with the income and with the sex; all pairs.  For each the root mean square errors of
a cell against the true counts, of the direct answers and of the tables by both methods: over the
pairs that were asked, over those that were not, and over all triples of columns.

Run: ``python benchmarks/synthetic_tables.py adult.csv [--all]`` (with the extra ``synthetic``;
``--all`` fits the graphical model of all pairs too, which takes minutes).
"""

from __future__ import annotations

import argparse
import collections
import csv
import itertools
import math
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

import tacit as tc
from plans import ADULT

KEYS = {name: listed.split("|") for name, listed in ADULT.items()}
PAIRS = list(itertools.combinations(KEYS, 2))
PLANS = {
    "each with the income": [pair for pair in PAIRS if "income" in pair],
    "each with the income, and with the sex": [p for p in PAIRS if {"income", "sex"} & {*p}],
    "all pairs": PAIRS,
}


def counted(rows: list[tuple[Any, ...]], names: tuple[str, ...]) -> list[float]:
    """The count of each combination of the listed values."""
    places = [list(KEYS).index(name) for name in names]
    held = collections.Counter(tuple(row[place] for place in places) for row in rows)
    return [float(held[key]) for key in itertools.product(*(KEYS[name] for name in names))]


def error(
    rows: list[tuple[Any, ...]], truth: list[tuple[Any, ...]], sets: list[tuple[str, ...]]
) -> float:
    """The root mean square error of a cell of these sets of columns; made rows are scaled."""
    scale = len(truth) / len(rows)
    off = [
        (scale * made - true) ** 2
        for names in sets
        for made, true in zip(counted(rows, names), counted(truth, names), strict=True)
    ]
    return math.sqrt(math.fsum(off) / len(off)) if off else math.nan


def main() -> None:
    """Measure all, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("adult", nargs="?", type=Path, help="the table adult.csv")
    parser.add_argument("--all", action="store_true", help="a graphical model of all pairs too")
    chosen = parser.parse_args()
    if chosen.adult is None:
        print("left out: give the table, adult.csv")
        return
    with chosen.adult.open(newline="", encoding="utf-8") as file:
        rows = [tuple(row[name] for name in KEYS) for row in csv.DictReader(file)]
    kept = [row for row in rows if all(v in KEYS[n] for n, v in zip(KEYS, row, strict=True))]
    table = pa.table({name: [row[place] for row in kept] for place, name in enumerate(KEYS)})
    triples: list[tuple[str, ...]] = list(itertools.combinations(KEYS, 3))
    print("| pairs asked at rho 0.1 | rows by | asked | other pairs | triples | seconds |")
    print("|---|---|---:|---:|---:|---:|")
    for name, asked in PLANS.items():
        rest = [pair for pair in PAIRS if pair not in asked]
        with tc.Session(table, tc.one_row_each, tc.rho("0.1"), tc.in_memory) as session:
            questions = [
                session.group_by(*pair, keys={each: KEYS[each] for each in pair}).agg(n=tc.count())
                for pair in asked
            ]
            answers = session.plan(questions, unlisted="drop").release(rho="0.1")
        off = [
            value - true
            for pair, answer in zip(asked, answers, strict=True)
            for value, true in zip(answer.column("n")["value"], counted(kept, pair), strict=True)
        ]
        direct = math.sqrt(math.fsum(x * x for x in off) / len(off))
        print(f"| {name} | direct answers | {direct:.2f} | | | |")
        for method in ("gradual", "graphical"):
            if method == "graphical" and name == "all pairs" and not chosen.all:
                continue
            start = time.perf_counter()
            made = tc.synthetic_table(answers, len(kept), method=method, seed=1).table
            seconds = time.perf_counter() - start
            found = list(zip(*(made[each].to_pylist() for each in KEYS), strict=True))
            errors = [error(found, kept, sets) for sets in (asked, rest, triples)]
            told = " | ".join("" if math.isnan(e) else f"{e:.2f}" for e in errors)
            print(f"| {name} | {method} | {told} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
