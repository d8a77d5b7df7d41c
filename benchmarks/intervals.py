"""How long intervals at 95 percent are, and how often they hold the truth.

Each row asks one question of many groups that hold the same rows, so that one release gives as many
independent intervals.  A half-width is half of the length of an interval; its median is shown, next
to what it is compared with, and the share of the intervals that hold the truth.

Run: ``python benchmarks/intervals.py [--runs 400] [--only correlation] [--out results.json]``.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import tacit as tc

LOW, HIGH = 0.0, 100.0


class Row(NamedTuple):
    """A line of the table: a half-width, what it is measured by, and the share that held."""

    name: str
    half_width: float
    goal: str
    coverage: float


def released(frame: pd.DataFrame, runs: int, price: dict[str, Any], **asked: Any) -> Any:
    """Return the answer to one question by group, of ``runs`` groups with the same rows."""
    whole = pd.concat([frame.assign(run=run) for run in range(runs)])
    budget = tc.rho(10**6) if "rho" in price else tc.epsilon(10**6)
    with tc.Session(whole, tc.one_row_each, budget, ledger=tc.in_memory) as session:
        return session.group_by("run", keys=list(range(runs))).agg(**asked).release(**price)


def ends(answer: Any, label: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and the upper ends of an answer: shape (runs,) or (runs, numbers)."""
    column = answer.column(label)
    return np.array(column["low"], dtype=float), np.array(column["high"], dtype=float)


def row(name: str, answer: Any, label: str, truth: Any, goal: str, measure: float = 1.0) -> Row:
    """Return the line of an answer; its half-width in units of ``measure``."""
    low, high = ends(answer, label)
    held = float(((low <= truth + 1e-9) & (truth - 1e-9 <= high)).mean())
    return Row(name, float(np.median(high - low)) / 2 / measure, goal, held)


def related(rows: int, r: float, noise: int = 5) -> pd.DataFrame:
    """Return two columns within the bounds whose correlation is r."""
    source = np.random.default_rng(noise)
    x, free = source.normal(size=(2, rows))
    x = (x - x.mean()) / x.std()
    free = free - free.mean() - x * (x * free).mean()
    y = r * x + (1 - r * r) ** 0.5 * free / free.std()
    return pd.DataFrame({"x": 50 + 14 * x, "y": 50 + 14 * y}).clip(LOW, HIGH)


def correlation(runs: int) -> Iterator[Row]:
    """Yield the length of the interval of a correlation, over that of a bootstrap."""
    frame, ends_of = related(400, 0.77), {"x": (LOW, HIGH), "y": (LOW, HIGH)}
    asked = {"r": tc.correlation("x", "y", ends_of), "c": tc.covariance("x", "y", ends_of)}
    answer = released(frame, runs, {"epsilon": 1}, **asked)
    truth = frame.corr().iloc[0, 1]
    low, high = ends(answer, "r")
    covariance_low, covariance_high = ends(answer, "c")
    excludes = (covariance_low > 0) | (covariance_high < 0)
    contradicts = float((excludes & (low <= 0) & (high >= 0)).mean())
    goal = f"0 where covariance excludes 0: {contradicts:.0%}; goal 1.5 x bootstrap"
    # the values of other releases of the same table: what a bootstrap of the moments draws from
    values = np.array(answer.column("r")["value"], dtype=float)
    spread = float(np.subtract(*np.quantile(values, [0.975, 0.025]))) / 2
    yield row("correlation, n = 400, epsilon 1, over bootstrap", answer, "r", truth, goal, spread)


def slope(runs: int) -> Iterator[Row]:
    """Yield the length of the interval of a slope, over the error in 95 of 100 releases."""
    for rows, goal in ((200, "1.5"), (2000, "1.1")):
        x = np.linspace(LOW, HIGH, rows)
        noise = np.random.default_rng(0).normal(0, 10, rows)
        frame = pd.DataFrame({"x": x, "y": np.clip(20 + 0.6 * x + noise, LOW, HIGH)})
        asked = tc.linear_regression("y", "x", {"x": (LOW, HIGH), "y": (LOW, HIGH)})
        answer = released(frame, runs, {"epsilon": 1}, fit=asked)
        truth = np.polyfit(frame["x"], frame["y"], 1)[0]
        values = np.array(answer.column("fit")["value"], dtype=float)[:, 1]
        low, high = (
            np.nan_to_num(e[:, 1], nan=s)
            for e, s in zip(ends(answer, "fit"), (-np.inf, np.inf), strict=True)
        )
        error = float(np.quantile(np.abs(values - truth), 0.95))
        held = float(((low <= truth) & (truth <= high)).mean())
        half = float(np.median(high - low)) / 2 / error
        yield Row(f"slope, n = {rows}, epsilon 1, over the 95% error", half, goal, held)


def counts(runs: int) -> Iterator[Row]:
    """Yield the lengths of Gaussian counts, and of the sum of 50 of them."""
    frame = pd.DataFrame({"x": np.arange(50.0)})
    for rho, goal in (("1/8", "4"), ("1/2", "2")):
        answer = released(frame, runs, {"rho": rho}, n=tc.count())
        yield row(f"count, rho {rho}", answer, "n", 50, goal)
    groups = min(runs, 40)
    whole = pd.concat([frame.assign(run=run) for run in range(groups)])
    with tc.Session(whole, tc.one_row_each, tc.rho(10**6), ledger=tc.in_memory) as session:
        grouped = session.group_by("run", keys=list(range(groups)))
        grouped.agg(h=tc.histogram("x", list(range(51)))).release(rho="1/2")
        free = grouped.agg(h=tc.histogram("x", [0, 50])).free_answer()
    low, high = ends(free, "h")
    held = float(((low <= 50) & (high >= 50)).mean())
    # a lower end is cut at zero: the upper arm is measured
    value = np.array(free.column("h")["value"], dtype=float)
    half = float(np.median((high - value)[value > 0])) if (value > 0).any() else float("nan")
    yield Row("sum of 50 Gaussian counts, rho 1/2", half, "15", held)


SHAPES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "bell of deviation 4": lambda share: 50 + 4 * _normal(share),
    "bell of deviation 14": lambda share: np.clip(50 + 14 * _normal(share), LOW, HIGH),
    "skewed": lambda share: np.clip(-10 * np.log1p(-share), LOW, HIGH),
    "even": lambda share: HIGH * share,
    "two peaks": lambda share: np.where(share < 0.4, 20, 80) + 3 * _normal(share / 0.4 % 1),
}


def _normal(share: np.ndarray) -> np.ndarray:
    from statistics import NormalDist

    return np.array([NormalDist().inv_cdf(each) for each in share])


def order(runs: int) -> Iterator[Row]:
    """Yield the lengths of the intervals of quantities of order, on rows of several shapes."""
    for rows, label, asked, truth, goal in (
        (200, "median", tc.median("x", 0, 100), lambda x: np.median(x), "0.8"),
        (
            2000,
            "99th percentile",
            tc.percentile("x", 99, 0, 100),
            lambda x: np.percentile(x, 99),
            "15",
        ),
        (
            200,
            "interquartile range",
            tc.interquartile_range("x", 0, 100),
            lambda x: np.subtract(*np.percentile(x, [75, 25])),
            "4",
        ),
    ):
        for whole in (True, False):
            for shape, make in SHAPES.items():
                x = make((np.arange(rows) + 0.5) / rows)
                x = np.round(x).astype(int) if whole else x
                answer = released(pd.DataFrame({"x": x}), runs, {"epsilon": 1}, q=asked)
                kind = "whole" if whole else "float"
                name = f"{label}, n = {rows}, {kind}, {shape}"
                yield row(name, answer, "q", float(truth(x)), goal)


def ranks(runs: int) -> Iterator[Row]:
    """Yield how many rows away the ends of three percentiles in one plan are, even rows."""
    for whole in (True, False):
        x = 100 * (np.arange(4000) + 0.5) / 4000
        x = np.floor(x).astype(int) if whole else x
        frame = pd.DataFrame({"x": x})
        with tc.Session(frame, tc.one_row_each, tc.epsilon(10**6), ledger=tc.in_memory) as session:
            reached, held = [], []
            for tag in range(min(runs, 100)):
                plan = session.plan(
                    [session.agg(q=tc.percentile("x", q, 0, 100)) for q in (25, 50, 75)]
                )
                for q, answer in zip(
                    (25, 50, 75), plan.release(epsilon=1, tag=str(tag)), strict=True
                ):
                    low, high = (float(end) for end in answer.interval("q"))
                    reached.append((high - low) / 2 * 40)
                    held.append(low - 1e-9 <= np.percentile(x, q) <= high + 1e-9)
        kind = "whole" if whole else "float"
        yield Row(
            f"three percentiles in a plan, {kind}, in rows",
            float(np.median(reached)),
            "35",
            float(np.mean(held)),
        )


def means(runs: int) -> Iterator[Row]:
    """Yield the lengths of means of few skewed rows, over the 95% error of their estimate."""
    for rows in (5, 20):
        x = np.clip(-10 * np.log1p(-(np.arange(rows) + 0.5) / rows), LOW, HIGH)
        answer = released(pd.DataFrame({"x": x}), runs, {"epsilon": 1}, m=tc.mean("x", 0, 100))
        values = np.array(answer.column("m")["value"], dtype=float)
        error = float(np.quantile(np.abs(values - x.mean()), 0.95))
        yield row(
            f"mean of {rows} skewed rows, epsilon 1, over the 95% error",
            answer,
            "m",
            x.mean(),
            "1.2",
            error,
        )


PARTS: dict[str, Callable[[int], Iterator[Row]]] = {
    "counts": counts,
    "order": order,
    "ranks": ranks,
    "correlation": correlation,
    "slope": slope,
    "means": means,
}


def main() -> None:
    """Print the table; write it where ``--out`` names a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--only", choices=list(PARTS))
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    print("| | half-width | to reach | coverage |\n|---|---:|---:|---:|")
    rows = []
    for name, part in PARTS.items():
        if options.only in (None, name):
            for each in part(options.runs):
                print(
                    f"| {each.name} | {each.half_width:.3g} | {each.goal} | {each.coverage:.3f} |",
                    flush=True,
                )
                rows.append(each._asdict())
    if options.out:
        found = {"python": platform.python_version(), "runs": options.runs, "rows": rows}
        options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
