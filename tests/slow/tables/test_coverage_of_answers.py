"""Coverage of every interval of a session, over thousands of releases of groups of all sizes.

Each group of a release is a run of its own.  A test fails by chance once in 10^7.
"""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import tacit as tc

pytestmark = pytest.mark.slow

GROUPS = 250
RELEASES = 12
SHAPES = {
    "gamma": lambda source, n: source.gamma(2, 8, size=n).clip(0, 100),
    "two points": lambda source, n: source.choice([0.0, 100.0], p=[0.8, 0.2], size=n),
    "narrow": lambda source, n: source.normal(70, 0.01, size=n),
}


def enough(runs):
    return int(binom.ppf(1e-7, runs, 0.95))


def data_of(shape, size):
    """Groups with the same rows, so that the truth is one; four rows a person, no group shared."""
    values = SHAPES[shape](np.random.default_rng(11), size)
    return pd.DataFrame(
        {
            "x": np.tile(values, GROUPS),
            "g": np.repeat(np.arange(GROUPS), size),
            "person": np.arange(GROUPS * size) // 4,
        }
    ), values


ASKED = {
    "n": (lambda: tc.count(), len),
    "total": (lambda: tc.sum("x", 0, 100), np.sum),
    "mean": (lambda: tc.mean("x", 0, 100), np.mean),
    "var": (lambda: tc.var("x", 0, 100), np.var),
    "std": (lambda: tc.std("x", 0, 100), np.std),
    "median": (lambda: tc.median("x", 0, 100), np.median),
    "p90": (lambda: tc.percentile("x", 90, 0, 100), lambda v: np.quantile(v, 0.9)),
    "least": (lambda: tc.min("x", 0, 100), np.min),
    "most": (lambda: tc.max("x", 0, 100), np.max),
    "people": (lambda: tc.count_people(), lambda v: len(v) / 4),
}


@pytest.mark.parametrize("size", [4, 40, 2000])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("people", [False, True], ids=["rows", "people"])
def test_intervals_of_a_session_cover(size, shape, noise, people):
    data, values = data_of(shape, size)
    unit = tc.unit("person", rows=4) if people else tc.one_row_each
    budget = tc.epsilon(10**6) if noise == "laplace" else tc.rho(10**6)
    price = {"epsilon": 8} if noise == "laplace" else {"rho": 4}
    asked = {k: make() for k, (make, _) in ASKED.items() if people or k != "people"}
    held = dict.fromkeys(asked, 0)
    errors = {k: [] for k in ("n", "total")}
    claimed = {}
    with tc.Session(data, unit=unit, budget=budget) as s:
        question = s.group_by("g", keys=list(range(GROUPS))).agg(**asked)
        for i in range(RELEASES):
            answer = question.release(**price, tag=str(i))
            for label in asked:
                true = float(ASKED[label][1](values))
                column = answer.column(label)
                slack = 1e-3  # half a cell of the grid of quantiles
                held[label] += sum(
                    low - slack <= true <= high + slack
                    for low, high in zip(column["low"], column["high"], strict=True)
                )
                if label in errors:
                    errors[label] += [v - true for v in column["value"]]
                    claimed[label] = column["standard_error"][0]
    runs = GROUPS * RELEASES
    for label, hits in held.items():
        assert hits >= enough(runs), (label, hits / runs)
    for label, wrong in errors.items():
        measured = float(np.sqrt(np.mean(np.square(wrong))))
        assert measured == pytest.approx(claimed[label], rel=0.12, abs=0.3), label
        assert abs(np.mean(wrong)) < 6 * max(claimed[label], 0.3) / np.sqrt(runs), label
