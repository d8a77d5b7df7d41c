"""Attacks on an adapter of Tacit: its questions have known answers, and no case succeeds."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping

import pytest

from tacit.audit.attack_suite.run import load_cases, system_named
from tacit.audit.attack_suite.system import FALLS, HOLDS, LARGE_EPSILON, UNDECIDED, CaseOutcome

__all__ = ["ALL", "QUICK", "attacked"]

QUICK = {
    *("a failure between charge and answer/1 failures", "equality of texts/case of letters"),
    *("errors as oracles/the only row", "readings that differ/1 rows count", "NaN/sum"),
}
ALL = {case.id for case in load_cases() if case.attack != "time of a draw"}
"""All but what depends on how busy the machine is."""


def attacked(name: str, ids: Collection[str]) -> Mapping[str, CaseOutcome]:
    """Run cases on a system, and two questions; nothing falls, and few cases do not apply."""
    with contextlib.closing(system_named(name)) as system:
        system.refuse_unready()
        total = system.statistic("sum", [1.0, 2.0, None], bounds=(0.0, 10.0), epsilon=LARGE_EPSILON)
        assert total == pytest.approx(3, abs=0.05)
        counts = system.group_counts(["a", "b", "a"], ["a", "c"], epsilon=LARGE_EPSILON)
        assert counts == pytest.approx({"a": 2, "c": 0}, abs=0.05)
        outcomes = {case.id: case.run(system) for case in load_cases() if case.id in ids}
    wrong = {k: o.evidence for k, o in outcomes.items() if o.verdict in (FALLS, UNDECIDED)}
    assert wrong == {}
    assert sum(o.verdict == HOLDS for o in outcomes.values()) >= len(ids) // 2
    return outcomes
