"""Smooth noise: certified enumeration of every law, and the enumeration by hand on more records."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest

from support.by_hand.noise_by_hand import too_far
from support.by_hand.smooth_by_hand import SLACK, Case, offered
from tacit.audit import verify
from tacit.mechanisms.smooth import DISTRIBUTIONS

pytestmark = pytest.mark.slow
DOMAINS = [(relation, known) for relation in ("unbounded", "bounded") for known in (False, True)]
SHAPES = [
    ("student_t", {"degrees": 1}),
    ("student_t", {"degrees": 2, "epsilon": "1/10"}),
    ("student_t", {"degrees": 5, "epsilon": 4}),
    ("cauchy", {"beta": "1/50"}),
    ("laplace", {"epsilon": 3, "delta": "1/1000"}),
    ("laplace", {"epsilon": "1/5", "delta": "1/5", "beta": "1/20"}),
    ("arsinh_normal", {"rho": "1/50", "sigma": "1/2"}),
    ("uniform_log_normal", {"rho": 2, "sigma": "7/4"}),
]


@pytest.mark.parametrize("noise", DISTRIBUTIONS)
@pytest.mark.parametrize(("relation", "known"), DOMAINS)
def test_certified_enumeration_of_every_law(relation: str, known: bool, noise: str) -> None:
    few = "log_normal" in noise  # slow to enclose: fewer cells, fewer records
    given = {"grid": 6, "clip": (-6, 18)} if few else {}
    for one in offered([noise]):
        if (one.relation, one.known) != (relation, known) or (few and known):
            continue
        case = Case(
            one.name, noise, relation, known, most=2 if few else 3, given=tuple(given.items())
        )
        verdict = verify(case.mechanism, [list(map(float, d)) for d in case.listed]).or_raise()
        assert verdict.kind == "exact"


@pytest.mark.parametrize("noise", DISTRIBUTIONS)
@pytest.mark.parametrize(("relation", "known"), DOMAINS)
def test_no_pair_exceeds_the_claim_with_up_to_four_records(
    relation: str, known: bool, noise: str
) -> None:
    for one in offered([noise]):
        if (one.relation, one.known) == (relation, known):
            case = Case(one.name, noise, relation, known, most=4)
            for data in case.listed:
                ours, truth = case.computed(data), case.smooth(data)
                assert ours >= truth * (1 - 1e-12)
                if known or (one.name != "var" and case.is_exact(data)):
                    assert ours <= truth * (1 + SLACK) + 1e-100
            for apart in (1, 2):
                assert case.loss(apart=apart) <= 1 + 1e-9


@pytest.mark.parametrize(("noise", "shape"), SHAPES, ids=str)
@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
def test_other_budgets_degrees_sigmas_and_rates(relation: str, noise: str, shape: dict) -> None:
    for name in ("median", "percentile(90)", "var", "std"):
        case = Case(name, noise, relation, most=3, given=tuple(shape.items()))
        listed = [list(map(float, data)) for data in case.listed]
        verdict = verify(case.mechanism, listed, d_in=2).or_raise()
        assert verdict.kind == "exact"


@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
@pytest.mark.parametrize("noise", DISTRIBUTIONS)
def test_many_releases_have_the_law_by_hand(noise: str, relation: str) -> None:
    for name in ("median", "mean"):
        case = Case(name, noise, relation)
        data = (Fraction(0), Fraction(4), Fraction(10))
        records = list(map(float, data))
        drawn = Counter(Fraction(case.mechanism(records)) for _ in range(1500))
        assert too_far(drawn, case.cells(data, case.smooth(data))) > 1e-9
        wrong = case.cells(data, case.smooth(data) * 0.5)
        assert too_far(drawn, wrong) < 1e-9
