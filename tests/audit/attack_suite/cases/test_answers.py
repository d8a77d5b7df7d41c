"""Tacit's sessions withstand the attacks on several answers, which ask what they mean."""

from __future__ import annotations

import pytest

from tacit.audit.attack_suite.run import load_cases
from tacit.audit.attack_suite.system import HOLDS, LOUD
from tacit.audit.attack_suite.systems.tacit_session import TacitSession

CLASSES = (
    "plans of several questions",
    "answers that follow from others",
    "keys of a person with many",
)
CASES = [case for case in load_cases() if case.attack in CLASSES]
SYSTEM = TacitSession()


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_session_holds(case):
    outcome = case.run(SYSTEM)
    assert outcome.verdict == HOLDS, outcome.evidence


def test_a_loud_plan_has_the_plain_counts():
    found = SYSTEM.planned_counts(["a", "b", "z"], ["a", "b"], 2, epsilon=LOUD)
    assert found == pytest.approx([3, 3, 1, 1], abs=0.05)


@pytest.mark.full
def test_a_total_of_groups_follows_and_a_part_of_one_does_not():
    released, total, charged = SYSTEM.derived("total", ["a", "b"], ["a", "b"], epsilon=0.5)
    assert total == pytest.approx(sum(released))
    assert charged == 0
    assert SYSTEM.derived("filter", ["a", "b"], ["a", "b"], epsilon=0.5)[1] is None
