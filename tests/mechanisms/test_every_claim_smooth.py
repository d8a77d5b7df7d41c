"""Every noise, statistic and relation of smooth noise, enumerated by the library and by hand.

By hand means from the definition: the smooth sensitivity by walking over all data sets, the noise
from its published density, the divergences of the continuous laws (which no grid and no clip can
make larger).  The certified enumeration of every law stands in ``tests/slow``.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

from support.by_hand.noise_by_hand import too_far
from support.by_hand.small_domains import STATISTICS
from support.by_hand.smooth_by_hand import BUDGETS, SLACK, Case, offered
from tacit.audit import verify
from tacit.core import (
    HammingDistance,
    InsertDeleteDistance,
    L1Distance,
    Number,
    Space,
    Vector,
)
from tacit.errors import MismatchError, UsageError
from tacit.mechanisms.smooth import DISTRIBUTIONS, SmoothNoise, smooth_noise

DOMAINS = [(relation, known) for relation in ("unbounded", "bounded") for known in (False, True)]
OFFERED = [(case.name, case.relation, case.known) for case in offered(["cauchy"])]
NEVER_FAR = 1e-9
"""The chance that a fair sample fails: there are a few of them."""


def test_nothing_that_is_offered_is_left_out() -> None:
    assert set(BUDGETS) == set(DISTRIBUTIONS)
    asked = {(case.noise, case.relation, case.known, case.name) for case in offered()}
    assert len(asked) == len(DISTRIBUTIONS) * (2 * (2 * len(STATISTICS) + 1) - 1)
    for relation in ("add", "remove"):
        with pytest.raises(UsageError, match="one direction"):
            smooth_noise("median", (0, 1), 1, distribution="cauchy", relation=relation)
    column = Vector(Number("float", 0, 1))
    for metric in (HammingDistance(), InsertDeleteDistance(), L1Distance()):
        with pytest.raises(MismatchError, match="symmetric and the change-one"):
            Space(column, metric) >> SmoothNoise("median", 1, distribution="cauchy")


@pytest.mark.few(18)
@pytest.mark.parametrize(("name", "relation", "known"), OFFERED)
def test_value_and_smooth_sensitivity_are_those_of_the_definition(
    name: str, relation: str, known: bool
) -> None:
    for rate in ("1/20", "3/4"):
        case = Case(name, "cauchy", relation, known, given=(("beta", rate),))
        local = case.mechanism.local
        for data in case.listed:
            value = local.value(local.read(list(map(float, data))))
            if name == "std":
                low, high = (float(end) for end in (value.enclose(80) if data else (0, 0)))
                assert low == pytest.approx(float(case.value(data)), abs=1e-12)
                assert high == pytest.approx(low, abs=1e-12)
            else:
                assert value == Fraction(case.value(data))
            ours, truth = case.computed(data), case.smooth(data)
            assert ours >= truth * (1 - 1e-12)
            # a grid of values misses where the variance moves most, within bounds
            if known or (name != "var" and case.is_exact(data)):
                assert ours <= truth * (1 + SLACK) + 1e-100


@pytest.mark.full
@pytest.mark.parametrize("noise", DISTRIBUTIONS)
@pytest.mark.parametrize(("relation", "known"), DOMAINS)
def test_no_pair_of_neighbours_exceeds_the_claim_at_any_grid(
    relation: str, known: bool, noise: str
) -> None:
    cases = [c for c in offered([noise]) if (c.relation, c.known) == (relation, known)]
    if "normal" in noise:  # dear to integrate: all of them in tests/slow
        cases = [
            c
            for c in cases
            if c.name in ("median", "var", "sum", "interquartile_range", "function")
        ]
    worst = 0.0
    for case in cases:
        b, s = float(case.mechanism.beta) + SLACK, float(case.mechanism.shift)
        assert s <= case.calibrated() * (1 + 1e-9)
        for a, t in case.family():
            assert abs(t) <= b * (1 + 1e-12)
            assert abs(a) <= s * min(1, math.exp(t)) * (1 + 1e-12)
        loss = case.loss()
        assert loss <= 1 + 1e-9, case
        worst = max(worst, loss)
    # how near the pairs come to the claim: the bounds of zCDP are sums of two bounds
    assert worst > {"laplace": 0.85, "cauchy": 0.95, "student_t": 0.95}.get(noise, 0.15)


@pytest.mark.few(4)
@pytest.mark.parametrize("noise", DISTRIBUTIONS)
def test_pairs_that_are_two_and_three_steps_apart(noise: str) -> None:
    for name, relation, known in (("median", "bounded", False), ("var", "unbounded", True)):
        case = Case(name, noise, relation, known, most=3)
        for apart in (2, 3):
            loss = case.loss(apart=apart)
            assert loss <= 1 + 1e-9
            assert loss > 0 or noise == "laplace"  # whose delta is none at so large an epsilon


@pytest.mark.full
@pytest.mark.parametrize("noise", ["laplace", "cauchy", "student_t"])
def test_noise_of_nine_tenths_of_the_scale_exceeds_the_claim(noise: str) -> None:
    names = ("percentile(90)", "max", "median")
    cases = [Case(name, noise, "unbounded", most=4) for name in names]
    assert max(case.loss(stretched=1 / 0.9) for case in cases) > 1.02


@pytest.mark.parametrize("noise", DISTRIBUTIONS)
def test_a_shift_that_is_a_tenth_too_large_is_seen(noise: str) -> None:
    case = Case("median", noise, "bounded")
    assert case.mechanism.shift / Fraction(9, 10) > case.calibrated() * 1.1
    data = case.listed[-5]
    right, wrong = (case.cells(data, case.smooth(data) * part) for part in (1, 0.9))
    assert max(abs(right[x] - wrong[x]) for x in right) > 3e-3


NAMED: dict[str, list[str]] = {
    "laplace": [*STATISTICS],
    "cauchy": ["median", "std", "sum", "trimmed_mean(1/4)"],
    "student_t": ["mean", "percentile(30)", "interquartile_range", "max"],
    "arsinh_normal": ["var", "percentile(90)", "min"],
    "uniform_log_normal": ["median", "std"],
    "laplace_log_normal": ["mean"],
}


@pytest.mark.few(13)
@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
@pytest.mark.parametrize(
    ("noise", "name"), [(noise, name) for noise, names in NAMED.items() for name in names]
)
def test_the_law_is_the_one_by_hand_cell_by_cell(name: str, noise: str, relation: str) -> None:
    # that law is slow to enclose: few cells
    coarse = {"grid": 6, "clip": (-6, 18)} if noise == "laplace_log_normal" else {}
    case = Case(name, noise, relation, name.startswith("trimmed"), given=tuple(coarse.items()))
    for data in case.listed[5 : None if noise == "laplace" else 6 : 7]:
        ours = case.mechanism.distribution(list(map(float, data)))
        by_hand = case.cells(data, case.computed(data))
        assert set(ours.table) == set(by_hand)
        for cell, chance in by_hand.items():
            assert float(ours.probability(cell).middle) == pytest.approx(chance, abs=1e-8)


@pytest.mark.few(6)
@pytest.mark.parametrize("noise", DISTRIBUTIONS)
def test_releases_have_the_law_by_hand(noise: str) -> None:
    relation = "bounded" if noise in ("laplace", "arsinh_normal", "student_t") else "unbounded"
    case = Case("median", noise, relation)
    data = (Fraction(0), Fraction(4), Fraction(4), Fraction(10))
    drawn = Counter(Fraction(case.mechanism(list(map(float, data)))) for _ in range(120))
    assert too_far(drawn, case.cells(data, case.smooth(data))) > NEVER_FAR


@pytest.mark.few(80)
@pytest.mark.parametrize(("name", "relation", "known"), OFFERED)
def test_certified_enumeration_of_laplace_noise(name: str, relation: str, known: bool) -> None:
    budget: dict[str, Any] = {"epsilon": "1/2", "delta": "1/20"}
    case = Case(name, "laplace", relation, known, most=3, given=tuple(budget.items()))
    listed = [list(map(float, data)) for data in case.listed]
    verdict = verify(case.mechanism, listed, d_in=2).or_raise()
    assert verdict.kind == "exact"
    assert len(listed) == (20 if relation == "unbounded" else 19)
