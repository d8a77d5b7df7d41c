"""Budgets under attack: what a case does to an account, and what it says of one."""

from __future__ import annotations

import threading

import tacit.audit.attack_suite.cases.outputs
from support.audit.good_system import Good, GoodAccount
from tacit.audit.attack_suite.system import FALLS, HOLDS, NOT_APPLICABLE, all_cases

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
