"""Any function: each distinct release once, the refusals, and what the function may not do."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import tacit as tc
import tacit.statistics as ts
from support.by_hand import statistics_oracle as oracle
from support.by_hand.variance_enumeration import (
    asked_moves,
    over_records,
    over_values,
)
from support.by_hand.variance_questions import (
    ask,
    check_witness,
    counted,
    populations,
    questions,
    ratio,
    statistic,
    whole,
)
from support.examples import examples
from tacit.errors import InfeasibleError, UsageError
from tacit.statistics import Records, Values, search
from tacit.statistics import search as evaluate
from tacit.statistics.search import CountBox, Function, batched, evaluations, neighbours_of, parts


def spread_of(x: Any) -> float:
    return float(x[-1] - x[0])


def test_each_distinct_release_is_evaluated_once() -> None:
    seen: list[tuple[float, ...]] = []

    def watched(x: Any) -> float:
        seen.append(tuple(x))
        return float(x.sum() ** 2)

    found = ts.sensitivity(watched, ts.Records([1, 1, 1, 2, 2, 7], size=3), relation="bounded")
    assert len(set(seen)) == len(seen) == found.evaluations == 6
    assert all(list(x) == sorted(x) for x in seen)
    assert found.method == "exhaustive"
    assert found.witness is not None


def test_values_repeat_beyond_the_size() -> None:
    """Additions to a release of n equal values need n + k copies."""
    total = batched(lambda rows: rows.sum(axis=1))
    found = ts.sensitivity(total, ts.Values([0, 1, 2], size=3), at=[2, 2, 2], distance=2)
    assert found.value == 4
    assert found.witness == ((2, 2, 2), (2,)) or found.witness == ((2, 2, 2), (2,) * 5)


def test_too_large_a_search_says_how_large_and_what_to_do() -> None:
    with pytest.raises(InfeasibleError) as caught:
        ts.sensitivity(spread_of, ts.Records(range(40), size=20))
    for part in ("evaluations", "GiB", "lower_bound", f"{2**40:,}"):
        assert part in str(caught.value)
    with pytest.raises(InfeasibleError, match="neighbours to evaluate"):
        ts.sensitivity(spread_of, ts.Records(range(400)), at=range(200), distance=9)
    with pytest.raises(InfeasibleError, match="give Values"):
        ts.sensitivity(spread_of, ts.Interval(0, 1, size=3))
    with pytest.raises(InfeasibleError, match="give size"):
        ts.sensitivity(spread_of, ts.Values([0, 1]))


def test_a_statistic_without_an_algorithm_is_searched_in_exact_numbers() -> None:
    over, offset = ts.Records(np.array([0.0, 1, 5, 6, 9]) + 2.0**52, size=3), 2**52
    question = ts.Question(over)
    found = search.exhaustive(ts.lookup("mean"), question)
    assert found.method == "exhaustive"
    population = [Fraction(v + offset) for v in (0, 1, 5, 6, 9)]
    assert found.value == oracle.over_records(oracle.mean, population, 3, 1, "unbounded", True)


# A Python function as a statistic.


RECORDS = tc.Records([1, 2, 2, 5, 9, 40], size=3)


def test_a_function_with_a_number_beyond_floats_is_named() -> None:
    def huge(x: Any) -> int:
        return 10**400

    with pytest.raises(UsageError, match="huge returned a number too large"):
        tc.sensitivity(huge, over=RECORDS)


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda x: float("nan"), "returned nan on the release ("),
        (lambda x: x, "an array of shape (2,)"),
        (lambda x: "many", "returned str"),
        (lambda x: 1 / 0, "raised ZeroDivisionError"),
        (batched(lambda rows: rows), "one number a row"),
        (batched(lambda rows: rows.sum(axis=1) / 0.0), "returned inf"),
        (batched(lambda rows: 1 / 0), "raised ZeroDivisionError"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_a_function_must_return_one_finite_number(function: Any, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        ts.sensitivity(function, ts.Records([1, 2, 3], size=2), relation="bounded")
    assert says in str(caught.value)


def test_a_wrapped_function_is_a_statistic() -> None:
    wrapped = ts.lookup(np.ptp)
    assert isinstance(wrapped, Function)
    assert wrapped.name == "ptp"
    assert wrapped([1, 4, 2]) == 3
    assert ts.lookup(wrapped) is wrapped


# A function is evaluated on many releases at once, over processes, with progress.


def test_batched_and_single_functions_agree() -> None:
    over = ts.Records([0, 1, 1, 4, 9, 9, 16], size=4)
    for relation in ("unbounded", "add", "remove", "bounded"):
        one = ts.sensitivity(spread_of, over, distance=2, relation=relation)
        many = ts.sensitivity(
            batched(lambda rows: rows[:, -1] - rows[:, 0]), over, distance=2, relation=relation
        )
        assert one.value == many.value
        assert one.witness == many.witness


def test_slow_functions_are_spread_over_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    import joblib

    monkeypatch.setattr(evaluate, "_SPREAD_AFTER", -1.0)
    over = ts.Records(range(12), size=6)
    with joblib.parallel_config(backend="threading", n_jobs=1):
        assert ts.sensitivity(spread_of, over).value == ts.sensitivity(np.ptp, over).value == 7


def test_progress_is_shown_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(evaluate, "_SHOW_AFTER", 0.0)
    over = ts.Records(range(9), size=4)
    ts.sensitivity(spread_of, over)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    ts.sensitivity(spread_of, over)
    assert "evaluating spread_of" in capsys.readouterr().err


# Neighbours and parts of a release are complete.


@examples(2)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=4), st.data())
def test_parts_and_neighbours_are_complete(held: list[int], data: Any) -> None:
    size = data.draw(st.integers(0, sum(held)))
    found = [tuple(row) for row in parts(np.array(held), size).tolist()]
    box = np.stack(np.unravel_index(range(np.prod([h + 1 for h in held])), [h + 1 for h in held]))
    truth = {tuple(row) for row in box.T.tolist() if sum(row) == size}
    assert len(found) == len(truth) == evaluations(held, size)
    assert set(found) == truth
    free = data.draw(st.lists(st.integers(0, 2), min_size=len(held), max_size=len(held)))
    k = data.draw(st.integers(1, 2))
    near = {tuple(r) for r in neighbours_of(np.array(held), np.array(free), [(k, k)]).tolist()}
    people = [(v, i) for v, h in enumerate(held) for i in range(h)]
    others = [(v, i + 100) for v, f in enumerate(free) for i in range(f)]
    from itertools import combinations

    expected = set()
    for gone in combinations(people, k):
        for come in combinations(others, k):
            count = Counter(v for v, _ in [*(set(people) - set(gone)), *come])
            expected.add(tuple(count[v] for v in range(len(held))))
    assert near == expected


# Ctrl-C stops a long search at once, workers included.


_PROGRAM = """
import os, signal, threading, time
import tacit as tc

def slow(x):
    time.sleep(0.01)
    return float(x.max())

signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Timer(2.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    tc.sensitivity(slow, over=tc.Records(range(20), size=10))
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.full
def test_an_interrupt_ends_the_search() -> None:
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "interrupted\n"
    assert done.returncode == 0
    # The search would take half an hour; output is closed only once the workers are gone too.
    assert time.monotonic() - start < 30


# What is too large to search says how large it is.


@pytest.mark.parametrize("domain", [tc.Records(range(300), 150), tc.Values(range(300), 150)])
def test_a_hopeless_search_says_how_large_in_few_words(domain: Any) -> None:
    with pytest.raises(InfeasibleError, match=r"more than 10\^\d+ evaluations") as caught:
        tc.sensitivity(np.ptp, over=domain)
    assert "lower_bound" in str(caught.value)
    assert len(str(caught.value)) < 400


def test_the_cost_is_told_beforehand() -> None:
    over = ts.Records([0, 1, 1, 4, 9, 9, 16], size=4)
    for relation in ("unbounded", "add", "remove", "bounded"):
        cost = ts.search_cost(over, 2, relation)
        assert ts.sensitivity(spread_of, over, None, 2, relation).evaluations == cost.evaluations
        assert cost.feasible
        assert cost.states == 2 * 3 * 2 * 3 * 2
    assert not ts.search_cost(ts.Records(range(60), size=30)).feasible


# The lattice of how often each value is there counts its levels.


def test_the_lattice_counts_its_levels() -> None:
    lattice = CountBox([1] * 10)
    assert [len(lattice.at_level(n)) for n in range(11)] == [comb(10, n) for n in range(11)]


# Global sensitivities of variances against exhaustive enumeration in exact rationals.


def distance_of(x, y):
    """How many records must go and come, at least."""
    shared = list(y)
    gone = 0
    for v in x:
        if v in shared:
            shared.remove(v)
        else:
            gone += 1
    return gone, len(shared)


@pytest.mark.full
@examples(7)
@given(populations, questions, st.data())
def test_global_over_records(population, question, data):
    population = sorted(Fraction(v) for v in population)
    ddof, root = question["ddof"], question["root"]
    n = data.draw(st.integers(1 + ddof, len(population)), "size")
    k = data.draw(st.integers(1, len(population)), "distance")
    relation, within = question["relation"], question["within"]
    truth = over_records(population, n, relation, k, within, ddof, root)
    assume(truth is not None)
    answer = ask(statistic(ddof, root), Records(population, size=n), None, k, relation, within)
    pair = check_witness(answer, truth, ddof, root)
    if pair is None:
        return
    x, y = pair
    assert len(x) == n
    counted(population, x)
    r, a = distance_of(x, y)
    moves = asked_moves(relation, k, within, n)
    assert any(r <= p and a <= q and p - r == q - a for p, q in moves)


value_sets = st.lists(st.one_of(whole, ratio), min_size=1, max_size=3, unique=True)


@examples(2.5)
@given(value_sets, questions, st.integers(1, 5), st.integers(1, 4))
def test_global_over_values(values, question, n, k):
    values = sorted(Fraction(v) for v in values)
    ddof, root = question["ddof"], question["root"]
    relation, within = question["relation"], question["within"]
    assume(n > ddof)
    truth = over_values(values, n, relation, k, within, ddof, root)
    assume(truth is not None)
    answer = ask(statistic(ddof, root), Values(values, size=n), None, k, relation, within)
    if answer.method == "upper bound":
        assert answer.value >= truth
        return
    pair = check_witness(answer, truth, ddof, root)
    if pair is None:
        return
    x, y = pair
    assert len(x) == n
    assert set(x) | set(y) <= set(values)
