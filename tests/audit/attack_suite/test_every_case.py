"""Every case holds on a system that withstands it, and falls on one that does not."""

from __future__ import annotations

import pytest

from support.audit.good_system import Good
from support.audit.toy_systems import FALLING
from tacit.audit.attack_suite.run import load_cases
from tacit.audit.attack_suite.system import FALLS, HOLDS, NOT_APPLICABLE, UNDECIDED, Case, System

CASES = load_cases()
SLOW = {"rows left out in silence", "float gaps", "noise cut to whole numbers"}


def marked(cases):
    return list(_marked(cases))


def _marked(cases):
    for case in cases:
        marks = [pytest.mark.slow] if case.attack in SLOW else []
        yield pytest.param(case, id=case.id, marks=marks)


def under(case, kind, folder):
    """Run a case on a toy whose ledger is a file of its own."""
    system = kind()
    system.path = folder / kind.__name__ / "own.ledger"
    system.path.parent.mkdir()
    system.path.write_text("a ledger")
    return case.run(system)


def test_there_are_thirty_classes_with_three_cases_each():
    sizes = {attack: sum(c.attack == attack for c in CASES) for attack in {c.attack for c in CASES}}
    assert len(sizes) >= 30
    assert min(sizes.values()) >= 3
    assert all(case.source and case.question.endswith("?") for case in CASES)


def test_every_class_has_a_system_that_falls():
    assert set(FALLING) == {case.attack for case in CASES}


@pytest.mark.few(12)
@pytest.mark.parametrize("case", marked(CASES))
def test_the_good_one_holds_and_the_bad_one_falls(case, tmp_path):
    good = under(case, Good, tmp_path)
    assert good.verdict == HOLDS, good.evidence
    bad = under(case, FALLING[case.attack], tmp_path)
    assert bad.verdict == FALLS, bad.evidence
    assert bad.evidence != good.evidence


@pytest.mark.few(12)
@pytest.mark.parametrize("case", marked(CASES))
def test_a_system_that_offers_nothing_is_not_judged(case):
    assert case.run(System()).verdict == NOT_APPLICABLE


def test_a_case_that_cannot_be_run_says_nothing_of_the_system():
    def program(system):
        raise ZeroDivisionError

    found = Case("a", "b", "c?", "d", program).run(System())
    assert found.verdict == UNDECIDED
    assert "ZeroDivisionError" in found.evidence
