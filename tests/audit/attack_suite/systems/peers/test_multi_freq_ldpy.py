"""The adapter of multi-freq-ldpy, on a module made up in its place."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from tacit import noise
from tacit.audit.attack_suite.run import load_cases
from tacit.audit.attack_suite.system import FALLS, HOLDS, NOT_APPLICABLE, NotOfferedError
from tacit.audit.attack_suite.systems.peers.multi_freq_ldpy import MultiFreqLdpy

CASES = {case.id: case for case in load_cases()}


def client(item, size, epsilon):
    if item is None or not 0 <= item < size:
        raise ValueError("out of range")
    return item if noise.bernoulli("3/4") else int(noise.uniform(size))


def aggregator(reports, size, epsilon):
    counts = [0] * size
    for report in reports:
        counts[report] += 1
    return [count / len(reports) for count in counts]


@pytest.fixture
def system(monkeypatch):
    module = SimpleNamespace(GRR_Client=client, GRR_Aggregator_MI=aggregator)
    monkeypatch.setitem(sys.modules, "multi_freq_ldpy.pure_frequency_oracles.GRR", module)
    return MultiFreqLdpy()


def test_its_cases_come_out_as_its_functions_do(system):
    verdicts = {
        "hostile reports/impossible report 1": FALLS,  # IndexError for all reports of the day
        "hostile reports/impossible report 2": FALLS,  # -1 is the last item
        "items outside of the domain/above": HOLDS,
        "noise that can be repeated/after a fork": HOLDS,
        "ratio of reports/direct, epsilon 1": NOT_APPLICABLE,
    }
    assert {name: CASES[name].run(system).verdict for name in verdicts} == verdicts


def test_counts_are_shares_of_the_reports(system):
    question = system.local(3, 1.0, "direct")
    assert question.counts([0, 0, 1, 2]) == [2.0, 1.0, 1.0]
    assert len(system.seeded(1)) == 12
    with pytest.raises(NotOfferedError):
        system.local(3, 1.0, "unary")
