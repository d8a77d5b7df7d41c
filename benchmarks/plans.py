"""Expected errors of workloads under one budget, beside strategies of the literature, in one run.

All ranges, at rho 1/2 (Gaussian noise of unit budget) and at epsilon sqrt(2), and marginals of many
attributes: root mean square errors over all questions, and the seconds that planning took; and how
the work of a plan grows with its questions.  With
``--adult`` all marginals of one and two declared columns of that table, as a plan of a session: the
expected errors, and those of one release.

Run: ``python benchmarks/plans.py [--cells 256] [--attributes 100] [--adult adult.csv] [--out
results.json]``.
"""

from __future__ import annotations

import argparse
import collections
import cProfile
import csv
import datetime
import itertools
import json
import math
import platform
import time
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

import tacit as tc
from tacit.workload.strategies import block_tree, convex_optimum, identity, wavelet


def all_ranges(cells: int) -> dict[str, Any]:
    """Print the errors of all ranges over so many cells, and return them by strategy."""
    asked = tc.workload.ranges(cells)
    others = [identity(cells, "L2"), wavelet(cells, "L2")]
    others += [block_tree(cells, branching, "L2") for branching in (2, 16)]
    print(f"| all ranges of {cells} cells | rho 1/2 | epsilon sqrt(2) |\n|---|---:|---:|")
    bounds = asked.lower_bound(rho="1/2"), asked.lower_bound(epsilon=2**0.5)
    print(f"| lower bound (singular values) | {bounds[0]:.3f} | {bounds[1]:.3f} |")
    start = time.perf_counter()
    ours = asked.expected_error(rho="1/2"), asked.expected_error(epsilon=2**0.5)
    seconds = time.perf_counter() - start
    print(f"| Tacit, both planned in {seconds:.1f} s | {ours[0]:.3f} | {ours[1]:.3f} |")
    found = {"lower bound": bounds, "Tacit": ours}
    for one in others:
        errors = asked.error_of(one, rho="1/2"), asked.error_of(one, epsilon=2**0.5)
        print(f"| {one.name} | {errors[0]:.3f} | {errors[1]:.3f} |")
        found[one.name] = errors
    return {
        name: dict(zip(("rho 1/2", "epsilon sqrt(2)"), map(float, pair), strict=True))
        for name, pair in found.items()
    }


def pairs(attributes: int) -> dict[str, float]:
    """Print and return the errors of all marginals of two attributes, of 10 cells each."""
    start = time.perf_counter()
    asked = tc.workload.marginals([10] * attributes, 2)
    errors = asked.expected_error(rho="1/10"), asked.lower_bound(rho="1/10")
    seconds = time.perf_counter() - start
    print(f"\npairs of {attributes} attributes at rho 0.1: error {errors[0]:.2f}, ", end="")
    print(f"lower bound {errors[1]:.2f}, planned in {seconds:.1f} s")
    return {"attributes": attributes, "error": float(errors[0]), "bound": float(errors[1])}


def many_questions(questions: int) -> dict[str, dict[str, float]]:
    """Print and return how work grows where there are twice as many questions by group.

    The work is the number of calls in Python, which does not depend on the machine.
    """
    found: dict[str, list[int]] = {"planned": [], "released": [], "answered free from it": []}
    for many in (questions, questions, 2 * questions):  # the first loads what is kept
        rows = pa.table({"site": [1, 2, 3]})
        with tc.Session(rows, tc.one_row_each, tc.epsilon(1), tc.in_memory, name="p") as session:
            each = [[(7 * i + j) % 60 for j in range(3)] for i in range(many)]
            asked = [session.group_by("site", keys=keys).agg(n=tc.count()) for keys in each]
            plan = session.plan(asked)
            steps = (
                partial(session.plan, asked),
                partial(plan.release, epsilon=1),
                plan.free_answers,
            )
            for told, step in zip(found.values(), steps, strict=True):
                profile = cProfile.Profile()
                profile.runcall(step)
                told.append(sum(entry.callcount for entry in profile.getstats()))
    print(f"\n| {questions} questions by group | calls a question | of twice as many |")
    print("|---|---:|---:|")
    for step, (_, calls, more) in found.items():
        print(f"| {step} | {calls / questions:.0f} | {more / calls:.2f} times the calls |")
    return {
        step: {"calls a question": calls / questions, "times for twice as many": more / calls}
        for step, (_, calls, more) in found.items()
    }


ADULT = {
    "workclass": "Private|Self-emp-not-inc|Self-emp-inc|Federal-gov|Local-gov|State-gov"
    "|Without-pay",
    "education": "Bachelors|Some-college|11th|HS-grad|Prof-school|Assoc-acdm|Assoc-voc|9th|7th-8th"
    "|12th|Masters|1st-4th|10th|Doctorate|5th-6th|Preschool",
    "marital-status": "Married-civ-spouse|Divorced|Never-married|Separated|Widowed"
    "|Married-spouse-absent|Married-AF-spouse",
    "occupation": "Tech-support|Craft-repair|Other-service|Sales|Exec-managerial|Prof-specialty"
    "|Handlers-cleaners|Machine-op-inspct|Adm-clerical|Farming-fishing|Transport-moving"
    "|Priv-house-serv|Protective-serv|Armed-Forces",
    "relationship": "Wife|Own-child|Husband|Not-in-family|Other-relative|Unmarried",
    "race": "White|Asian-Pac-Islander|Amer-Indian-Eskimo|Other|Black",
    "sex": "Female|Male",
    "income": "<=50K|>50K",
}
"""The public categories of the table, from its documentation."""


def adult(path: Path) -> dict[str, Any]:
    """Print the errors of all marginals of one and two columns, expected and of one release."""
    keys = {name: listed.split("|") for name, listed in ADULT.items()}
    every = [pair for ways in (1, 2) for pair in itertools.combinations(keys, ways)]
    sizes = [math.prod(len(keys[name]) for name in pair) for pair in every]
    domain = tc.workload.marginals({name: len(each) for name, each in keys.items()}, ways=(1, 2))
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    complete = [r for r in rows if all(r[name] in listed for name, listed in keys.items())]
    truth = {
        unlisted: {
            pair: collections.Counter(tuple(r[n] for n in pair) for r in of) for pair in every
        }
        for unlisted, of in (("count", rows), ("drop", complete))
    }
    found: dict[str, Any] = {}
    print(f"\n| {len(every)} marginals of adult, {sum(sizes)} numbers | rho 0.1 | epsilon 1 |")
    print("|---|---:|---:|")
    for budget in (tc.rho("1/10"), tc.epsilon(1)):
        gaussian = budget.kind == "concentrated"
        price: dict[str, Any] = {"rho" if gaussian else "epsilon": budget.amount}
        plans: dict[str, tuple[float, float]] = {}
        for unlisted, least in (("count", False), ("drop", False), ("drop", True)):
            with tc.Session(path, tc.one_row_each, budget, tc.in_memory) as session:
                start = time.perf_counter()
                plan = session.plan(
                    [
                        session.group_by(*pair, keys={name: keys[name] for name in pair}).agg(
                            n=tc.count()
                        )
                        for pair in every
                    ],
                    unlisted=unlisted,
                    nonnegative=least,
                )
                errors = plan.preview(**price).errors.values()
                seconds = time.perf_counter() - start
                total = sum(n * e[0] ** 2 for n, e in zip(sizes, errors, strict=True))
                start = time.perf_counter()
                answers = plan.release(**price)
                released = time.perf_counter() - start
            off = sum(
                (value - truth[unlisted][pair][tuple(key)]) ** 2
                for pair, answer in zip(every, answers, strict=True)
                for key, value in zip(answer.keys, answer.column("n")["value"], strict=True)
            )
            plans[f"{unlisted}, none below zero" if least else unlisted] = total, off
        unit = 1 / (2 * float(budget.amount)) if gaussian else 2 / float(budget.amount) ** 2
        power = 2 if gaussian else 3
        best = unit * sum(n ** (1 / power) for n in sizes) ** power / sum(sizes)
        found[str(budget)] = {
            "one by one, even split": math.sqrt(unit * len(every) ** (power - 1)),
            "one by one, best split": math.sqrt(best),
            "Tacit, a plan of a session": math.sqrt(plans["count"][0] / sum(sizes)),
            "the same, one release": math.sqrt(plans["count"][1] / sum(sizes)),
            "without rows of unlisted values": math.sqrt(plans["drop"][0] / sum(sizes)),
            "the same, one release without them": math.sqrt(plans["drop"][1] / sum(sizes)),
            "the same, none below zero": math.sqrt(plans["drop, none below zero"][1] / sum(sizes)),
            "optimum for listed values": domain.expected_error(**price),
            "lower bound for listed values": domain.lower_bound(**price),
            "seconds to plan": seconds,
            "seconds to release": released,
        }
    for name in next(iter(found.values())):
        print(f"| {name} | {' | '.join(f'{each[name]:.2f}' for each in found.values())} |")
    return found


def many_cells(cells: int) -> dict[str, Any]:
    """Print CPU time and squared error of a reflected kernel, over those of the convex optimum."""
    found: dict[str, Any] = {}
    for asked in (tc.workload.prefix_sums(cells), tc.workload.ranges(cells)):
        start = time.process_time()
        total = asked.total(asked.strategy(rho="1/2"))
        middle = time.process_time()
        optimum = convex_optimum(asked.gram)
        end = time.process_time()
        ratios = (middle - start) / (end - middle), total / optimum.bound
        found[asked.name] = {"time": ratios[0], "squared error": ratios[1]}
        print(f"{asked.name}: {ratios[0]:.4f} of the time, {ratios[1]:.4f} of the squared error")
    return found


def main() -> None:
    """Run all, and write the errors where that is asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=256)
    parser.add_argument("--attributes", type=int, default=100)
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--adult", type=Path, help="the table adult.csv, to plan its marginals")
    parser.add_argument("--out", type=Path, help="write the errors as JSON")
    given = parser.parse_args()
    results = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "python": platform.python_version(),
        "tacit": tc.__version__,
        "cells": given.cells,
        "ranges": all_ranges(given.cells),
        "many cells": many_cells(4 * given.cells),
        "pairs": pairs(given.attributes),
        "many questions": many_questions(given.questions),
    }
    if given.adult:
        results["adult"] = adult(given.adult)
    if given.out:
        given.out.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
