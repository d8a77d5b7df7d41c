"""The draw of the exponential mechanism: its law, and that doubles cannot bend it."""

from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest

import tacit.noise as tn
from tacit.errors import UsageError
from tacit.noise import exponential
from tacit.noise.exponential import choices_within


def probabilities(costs, factor, weights):
    with mpmath.workprec(200):
        least = min(c for c, w in zip(costs, weights, strict=True) if w)
        masses = [
            w * mpmath.exp(-(c - least) * mpmath.mpf(factor.numerator) / factor.denominator)
            for c, w in zip(costs, weights, strict=True)
        ]
        total = mpmath.fsum(masses)
        return [m / total for m in masses]


CHOICES = [
    ([0, 1, 2, 3, 4], Fraction(1, 2), [1, 1, 1, 1, 1]),
    ([7, 7, 7], Fraction(3), [1, 2, 3]),
    ([0, 100, 0], Fraction(1, 3), [1, 0, 10]),
    ([10, 0], Fraction(1), [2**62, 3]),
    ([-5, -3, 2**62], Fraction(1, 4), [4, 5, 6]),
    ([-(2**63), 2**63 - 1], Fraction(1, 2**64), [1, 1]),
    ([30, 0, 31], Fraction(1), [2**45, 1, 2**46]),
    ([0, 5], Fraction(0), [1, 2]),
    ([0, 1], Fraction(10**400), [1, 1]),
    ([0, 1], Fraction(1, 10**400), [1, 1]),
]


@pytest.mark.parametrize(("costs", "factor", "weights"), CHOICES)
def test_exponential_choice_frequency(stream, fits, costs, factor, weights):
    law = tn.ExponentialChoice(np.array(costs, np.int64), factor, np.array(weights, np.int64))
    truth = probabilities(costs, factor, weights)
    with stream(37):
        found = law.draw_many(50_000)
    if sum(p > 1e-4 for p in truth) > 1:
        assert fits(found, lambda k: truth[k], 0, len(costs) - 1) > 1e-3
    else:
        assert truth[int(found[0])] > 0.99
    for i, p in enumerate(truth):
        enclosed = law.probability(i)
        assert float(enclosed.lower) <= float(p) * (1 + 1e-12) + 1e-18
        assert float(enclosed.upper) >= float(p) * (1 - 1e-12)
        assert enclosed.width < Fraction(1, 2**50)


@pytest.mark.parametrize(("costs", "factor", "weights"), CHOICES)
def test_one_draw_is_the_only_one_of_an_array_of_the_same_bits(stream, costs, factor, weights):
    law = tn.ExponentialChoice(np.array(costs, np.int64), factor, np.array(weights, np.int64))
    for seed in range(30):
        with stream(seed) as alone:
            one = law.draw()
        with stream(seed) as array:
            assert law.draw_many(1).tolist() == [one]
        assert alone.requests == array.requests


def test_groups_prepared_at_once_draw_as_those_prepared_alone_of_the_same_bits(stream):
    """Forty groups, whose edges together go beyond 64 bits."""
    rng = np.random.default_rng(2)
    groups = np.concatenate([[0, 1], np.sort(rng.choice(np.arange(2, 399), 37, replace=False))])
    groups = np.append(groups, 399)  # groups of one candidate at both ends
    for seed in range(30):
        costs, weights = rng.integers(0, 10 ** (seed % 4 + 1), 400), rng.integers(1, 2**40, 400)
        factor = Fraction(1, 7)
        with stream(seed) as together:
            made = list(choices_within(groups, costs, factor, weights))
        with stream(seed) as one_by_one:
            alone = [
                a + tn.ExponentialChoice(costs[a:b], factor, weights[a:b]).draw()
                for a, b in pairwise([*groups.tolist(), 400])
            ]
        assert made == alone
        assert together.requests == one_by_one.requests


def test_acceptance_times_proposal_is_the_weight():
    """v_i A_i = S w_i exp(-g_i) exactly, and A_i <= 1: so the doubles cannot bend the law."""
    rng = np.random.default_rng(1)
    costs, weights = rng.integers(0, 3000, 400), rng.integers(0, 2**62, 400)
    law = tn.ExponentialChoice(costs, "1/7", weights)
    with mpmath.workprec(300):
        scale = mpmath.mpf(2) ** law._shift
        for i in range(400):
            if not weights[i]:
                assert law._proposals[i] == 0
                continue
            low, high = law._acceptance(i)(128)
            truth = scale * int(weights[i]) * mpmath.exp(-mpmath.mpf(int(law._exponent(i) * 7)) / 7)
            share = truth / int(law._proposals[i]) * 2**128
            assert low <= share <= high <= low + 4
            assert share <= mpmath.mpf(2) ** 128
            sure = float(exponential._surely(law._estimate[i], law._proposals[i]))
            assert mpmath.mpf(sure) * 2**128 <= share
    assert int(law._edges[-1]) < 2**62


def test_every_choice_settled_exactly(stream, fits, monkeypatch):
    law = tn.ExponentialChoice([0, 3, 1, 1], "1/2", [1, 4, 0, 2])
    monkeypatch.setattr(exponential, "_surely", lambda estimates, _: np.zeros_like(estimates))
    with stream(38):
        found = law.draw_many(4000)
    truth = probabilities([0, 3, 1, 1], Fraction(1, 2), [1, 4, 0, 2])
    assert fits(found, lambda k: truth[k], 0, 3) > 1e-3
    costs, weights, first = np.array([0, 3, 1]), np.array([1, 4, 2]), np.zeros(1, np.intp)
    with stream(39):
        grouped = [next(choices_within(first, costs, Fraction(1, 2), weights)) for _ in range(99)]
    with stream(39):
        assert grouped == [tn.ExponentialChoice(costs, "1/2", weights).draw() for _ in range(99)]


def test_many_candidates_are_quick_and_right(stream):
    n = 200_000
    costs = np.abs(np.arange(n) - 70_000)
    with stream(39):
        found = tn.ExponentialChoice(costs, "1/100").draw_many(2000)
    assert abs(float(np.mean(found)) - 70_000) < 20
    assert 120 < np.std(found) < 165  # sqrt(2) * 100


def test_choice_types():
    assert type(tn.exponential_choice([1, 2], 1)) is int
    assert tn.exponential_choice([1, 2], 1, size=(2, 2)).shape == (2, 2)
    assert tn.exponential_choice((3,), 0.5) == 0


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (([], 1), "candidate"),
        (([1.5, 2], 1), "costs"),
        (([[1, 2]], 1), "costs"),
        (([2**64], 1), "costs"),
        (([1, 2], -1), "factor"),
        (([1, 2], float("nan")), "factor"),
        (([1, 2], 1, [1]), "one weight a candidate"),
        (([1, 2], 1, [0, 0]), "above zero"),
        (([1, 2], 1, [1, -1]), "weights"),
        (([1, 2], 1, [1, 2**62 + 1]), "weights"),
        (([1, 2], 1, [0.5, 1]), "weights"),
    ],
)
def test_bad_choices(arguments, match):
    with pytest.raises(UsageError, match=match):
        tn.exponential_choice(*arguments)
