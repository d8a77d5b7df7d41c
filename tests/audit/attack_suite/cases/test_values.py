"""What rounding does to sums is seen to the last digit, and not held against who states it."""

from __future__ import annotations

import math
import threading

import numpy as np
import pytest

import tacit as tc
import tacit.audit.attack_suite.cases.outputs
from support.audit.good_system import Good, GoodAccount
from tacit import framework as fw
from tacit.audit.attack_suite.cases.claims import (
    gaussian_epsilon,
    randomized_response_epsilon,
    worst_move,
)
from tacit.audit.attack_suite.run import load_cases
from tacit.audit.attack_suite.system import (
    FALLS,
    HOLDS,
    LARGE_EPSILON,
    NOT_APPLICABLE,
    System,
    all_cases,
)
from tacit.audit.attack_suite.systems.tacit_session import TacitSession

ROUNDING = {c.id.split("/")[1]: c for c in load_cases() if c.attack == "rounding that repeats"}


class Summing(System):
    """Sums without noise, in one of three ways."""

    way: staticmethod

    def statistic(self, kind, rows, *, bounds=None, edges=None, epsilon=1.0):
        return float(self.way(rows))


class Exact(Summing):
    way = staticmethod(math.fsum)


class InOrder(Summing):
    way = staticmethod(lambda rows: np.cumsum(rows)[-1])


class InBlocks(Summing):
    way = staticmethod(lambda rows: np.sum(np.array(rows)))


class Single(Summing):
    way = staticmethod(lambda rows: np.cumsum(rows, dtype=np.float32)[-1])


class Honest(InOrder):
    def sum_sensitivity(self, rows, bounds):
        return max(bounds) * (1 + len(rows) * 2.0**-52)


@pytest.mark.parametrize(
    ("kind", "falling"),
    [
        (Exact, set()),
        (InOrder, {"up", "down"}),
        (InBlocks, {"up", "down"}),
        (Honest, set()),
        (Single, {"single precision"}),
    ],
)
def test_who_sums_exactly_or_states_what_it_rounds_holds(kind, falling):
    found = {name: case.run(kind()) for name, case in ROUNDING.items()}
    asked = {"single precision"} if kind is Single else found.keys()
    assert {n for n in asked if found[n].verdict == FALLS} == falling
    assert all(found[n].verdict == HOLDS for n in asked - falling)
    if kind is Honest:
        assert "more is stated" in found["up"].evidence


# Budgets under attack: what a case does to an account, and what it says of one.


CASES = {case.id: case for case in all_cases()}
assert tacit.audit.attack_suite.cases.outputs.__doc__


class Racy(GoodAccount):
    """Looks at the balance, and charges later: two at once pass the check."""

    def __init__(self, budget):
        super().__init__(budget)
        self.gate = threading.Barrier(8)

    def ask(self, epsilon, label):
        enough = self.shared["spent"] + 0.25 <= 1
        self.gate.wait()
        if not enough:
            raise ValueError("refused")
        return 100.0


def with_account(make):
    return type("Toy", (Good,), {"account": lambda self, budget: make(budget)})()


def test_a_check_before_the_charge_is_overdrawn_by_eight_at_once():
    found = CASES["spending at once/eight threads"].run(with_account(Racy))
    assert found.verdict == FALLS
    assert found.evidence.startswith("8 of 8")


def test_floats_that_add_up_short_grant_one_too_many():
    class Floats(GoodAccount):
        def charge(self, epsilon):
            if self.shared["spent"] >= 1.0 - 1e-12 and epsilon < 0.1:
                raise ValueError("refused")
            if self.shared["spent"] > 1.0:
                raise ValueError("refused")
            self.shared["spent"] = float(self.shared["spent"]) + epsilon

    name = "a cap that does not hold/tenths that add up"
    assert CASES[name].run(with_account(Floats)).verdict == FALLS
    assert CASES[name].run(Good()).verdict == HOLDS


def test_a_budget_without_a_file_has_no_copy():
    class Nowhere(GoodAccount):
        def files(self):
            return []

    name = "copied and rolled-back ledgers/a hard link"
    assert CASES[name].run(with_account(Nowhere)).verdict == NOT_APPLICABLE


def test_a_failure_that_costs_nothing_is_told_with_the_charge():
    class Free(GoodAccount):
        def fail(self, epsilon, label):
            raise OSError

    found = CASES["a failure between charge and answer/2 failures"].run(with_account(Free))
    assert (found.verdict, found.evidence) == (FALLS, "2 failed releases at 0.25 were charged 0")


# The truths beside which claims are held, against other ways to compute them.


@pytest.mark.parametrize(("sigma", "delta"), [(1, "1e-5"), (4, "1e-7")])
def test_gaussian_noise_against_the_tight_enclosure_of_the_framework(sigma, delta):
    number = fw.Space(fw.Number("float"), fw.AbsoluteDistance())
    exact = (number >> fw.gaussian(sigma, grid="1/1048576")).epsilon(delta=delta)
    assert gaussian_epsilon(1 / sigma, float(delta)) == pytest.approx(float(exact), rel=1e-4)


def test_randomized_responses_against_the_definition():
    """Two answers: the four pairs of bits, by hand."""
    p = math.exp(0.5) / (1 + math.exp(0.5))
    level = randomized_response_epsilon(0.5, 2, 0.05)
    delta = sum(
        max(0.0, a - math.exp(level) * b)
        for a, b in [(p * p, (1 - p) ** 2), (p * (1 - p),) * 2, (p * (1 - p),) * 2]
    )
    assert delta == pytest.approx(0.05)
    assert randomized_response_epsilon(0.5, 2, 0) == pytest.approx(1)


@pytest.mark.parametrize("relation", ["bounded", "unbounded"])
@pytest.mark.parametrize("statistic", ["sum", "mean", "median"])
def test_sensitivities_against_those_of_the_package(statistic, relation):
    values = (0.0, 1.0, 5.0)
    exact = tc.sensitivity(statistic, over=tc.Values(values, size=3), relation=relation)
    assert worst_move(statistic, values, 3, relation) == pytest.approx(float(exact.value))


# Tacit's sessions withstand the attacks on several answers, which ask what they mean.


CLASSES = (
    "plans of several questions",
    "answers that follow from others",
    "keys of a person with many",
)
ANSWERS_CASES = [case for case in load_cases() if case.attack in CLASSES]
SYSTEM = TacitSession()


@pytest.mark.slow
@pytest.mark.parametrize("case", ANSWERS_CASES, ids=lambda case: case.id)
def test_a_session_holds(case):
    outcome = case.run(SYSTEM)
    assert outcome.verdict == HOLDS, outcome.evidence


def test_a_loud_plan_has_the_plain_counts():
    found = SYSTEM.planned_counts(["a", "b", "z"], ["a", "b"], 2, epsilon=LARGE_EPSILON)
    assert found == pytest.approx([3, 3, 1, 1], abs=0.05)


@pytest.mark.full
def test_a_total_of_groups_follows_and_a_part_of_one_does_not():
    released, total, charged = SYSTEM.derived("total", ["a", "b"], ["a", "b"], epsilon=0.5)
    assert total == pytest.approx(sum(released))
    assert charged == 0
    assert SYSTEM.derived("filter", ["a", "b"], ["a", "b"], epsilon=0.5)[1] is None
