"""Marginals counted one by one by OpenDP, with an even split of the budget.  Run by marginals.py.

Each is a histogram over the listed cells; OpenDP searches for the least scale of its noise.
"""

import csv
import itertools
import json
import sys
import time
from importlib.metadata import version

import opendp.prelude as dp

dp.enable_features("contrib")


def histogram(cells, kind, share):
    """Counts of the listed cells with the least noise of this price."""
    space = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    metric = dp.L2Distance[int] if kind == "rho" else dp.L1Distance[int]
    noisy = dp.m.then_gaussian if kind == "rho" else dp.m.then_laplace
    counts = dp.t.make_count_by_categories(*space, categories=cells, MO=metric, TOA=int)
    return dp.binary_search_chain(lambda scale: counts >> noisy(scale), d_in=1, d_out=share)


def main():
    task = json.loads(sys.stdin.read())
    with open(task["file"], newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    share = float(task["amount"]) / len(task["sets"])
    print(json.dumps({"version": version("opendp")}), flush=True)
    start = time.perf_counter()
    answers = []
    for chosen in task["sets"]:
        listed = itertools.product(*(range(task["cells"][name]) for name in chosen))
        cells = [" ".join(map(str, cell)) for cell in listed]
        column = [" ".join(row[name] for name in chosen) for row in rows]
        found = histogram(cells, task["kind"], share)(column)
        answers.append(found[: len(cells)])  # the last one counts all other values
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "answers": answers}), flush=True)


if __name__ == "__main__":
    main()
