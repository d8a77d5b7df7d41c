"""The adapter of pure-ldp, on modules made up in its place."""

from __future__ import annotations

import math
import sys
from types import SimpleNamespace

import pytest

from tacit import noise
from tacit.audit.attack_suite.run import load_cases
from tacit.audit.attack_suite.system import FALLS, HOLDS
from tacit.audit.attack_suite.systems.peers.pure_ldp import PureLdp

CASES = {case.id: case for case in load_cases()}


class Client:
    """Keeps a number with probability 3/4, else draws one; knows no domain."""

    def __init__(self, epsilon, size, index_mapper):
        self.size, self.p, self.q = size, 0.75, 0.25 * math.exp(-epsilon)

    def privatise(self, item):
        return item if noise.bernoulli("3/4") else int(noise.uniform(self.size))


class Server:
    """Adds up."""

    def __init__(self, epsilon, size, index_mapper):
        self.counts = [0] * size

    def aggregate(self, report):
        self.counts[report] += 1

    def aggregate_all(self, reports):
        for report in reports:
            self.aggregate(report)

    def estimate_all(self, items):
        return [self.counts[item] for item in items]


@pytest.fixture
def system(monkeypatch):
    for module, prefix in (("direct_encoding", "DE"), ("unary_encoding", "UE")):
        made = SimpleNamespace(**{f"{prefix}Client": Client, f"{prefix}Server": Server})
        monkeypatch.setitem(sys.modules, f"pure_ldp.frequency_oracles.{module}", made)
    return PureLdp()


def test_its_cases_come_out_as_its_functions_do(system):
    verdicts = {
        "hostile reports/impossible report 1": FALLS,  # IndexError
        "hostile reports/impossible report 2": FALLS,  # -1 is the last item
        "items outside of the domain/above": FALLS,
        "noise that can be repeated/after a fork": HOLDS,
        "ratio of reports/direct, epsilon 1": FALLS,  # log 3 + 1
    }
    assert {name: CASES[name].run(system).verdict for name in verdicts} == verdicts


def test_ratios_are_those_of_each_form(system):
    direct, unary = (system.local(4, 1.0, form).losses() for form in ("direct", "unary"))
    q = 0.25 / math.e
    assert direct == pytest.approx(math.log(0.75 / q))
    assert unary == pytest.approx(math.log(0.75 * (1 - q) / (q * 0.25)))


def test_counts_are_the_estimates(system):
    assert system.local(3, 1.0, "direct").counts([0, 0, 1, 2]) == [2.0, 1.0, 1.0]
    assert len(system.seeded(1)) == 12
