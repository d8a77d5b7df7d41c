"""The adapter of PipelineDP, on modules made up in its place."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from tacit.audit.attack_suite.run import load_cases
from tacit.audit.attack_suite.system import HOLDS, NotOfferedError
from tacit.audit.attack_suite.systems.peers.pipeline_dp import PipelineDP

CASES = {case.id: case for case in load_cases()}


class Engine:
    """Sums without noise, under both bounds of a person."""

    def __init__(self, accountant, backend):
        pass

    def aggregate(self, rows, params, extract, public_partitions):
        totals = dict.fromkeys(public_partitions or [], 0.0)
        used = {}
        for row in rows:
            person, key, value = (take(row) for take in extract)
            mine = used.setdefault(person, {})
            room = key in mine or len(mine) < params.max_partitions_contributed
            if key not in totals or not room:
                continue
            if mine.setdefault(key, 0) < params.max_contributions_per_partition:
                mine[key] += 1
                totals[key] += min(max(value, params.min_value), params.max_value)
        field = params.metrics[0].lower()
        return [(key, SimpleNamespace(**{field: total})) for key, total in totals.items()]


@pytest.fixture
def system(monkeypatch):
    module = SimpleNamespace(
        NaiveBudgetAccountant=lambda **price: SimpleNamespace(compute_budgets=lambda: None),
        LocalBackend=lambda: None,
        DPEngine=Engine,
        Metrics=SimpleNamespace(SUM="SUM", COUNT="COUNT", PERCENTILE=lambda q: "percentile_50"),
        NoiseKind=SimpleNamespace(LAPLACE=0),
        AggregateParams=lambda **given: SimpleNamespace(**given),
        DataExtractors=lambda *takes: takes,
    )
    laplace = SimpleNamespace(apply_laplace_mechanism=lambda value, epsilon, l1: value + epsilon)
    monkeypatch.setitem(sys.modules, "pipeline_dp", module)
    monkeypatch.setitem(sys.modules, "pipeline_dp.dp_computations", laplace)
    return PipelineDP()


def test_questions_are_asked_as_they_are_meant(system):
    assert system.statistic("sum", [1.0, 50.0], bounds=(0.0, 10.0)) == 11
    assert system.group_counts(["a", "b", "a"], ["a", "c"], epsilon=1) == {"a": 2, "c": 0}
    assert system.noise("laplace", 1.0, 2.0) == 1.5
    with pytest.raises(NotOfferedError):
        system.noise("gaussian", 1.0, 2.0)
    with pytest.raises(NotOfferedError):
        system.statistic("histogram", [1.0], edges=[0, 1])


def test_the_bounds_of_a_person_are_not_mixed_up(system):
    for name in ("a thousand rows, five count", "rows far above the bound"):
        assert CASES[f"many rows of a person/{name}"].run(system).verdict == HOLDS
    assert CASES["many groups of a person/three groups, two count"].run(system).verdict == HOLDS
