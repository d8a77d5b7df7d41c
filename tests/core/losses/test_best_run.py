"""Losses of the best of many runs, against its exact distribution in every order of scores."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from tacit.core.losses.additive_noise import GaussianShift, LaplaceShift
from tacit.core.losses.base import BothWays
from tacit.core.losses.best_run import min_growth, of_profile, selected
from tacit.core.losses.distribution import PrivacyLossDistribution, dominating_pair

PAIRS = [
    ({0: "1/2", 1: "3/10", 2: "1/5"}, {0: "3/10", 1: "3/10", 2: "2/5"}),
    ({0: "1/20", 1: "1/5", 2: "3/4"}, {0: "1/10", 1: "1/10", 2: "4/5"}),
    ({0: "1/10", 1: "9/10", 2: "0"}, {0: "1/5", 1: "3/4", 2: "1/20"}),
]
STOPS = [Fraction(1), Fraction(1, 2), Fraction(1, 10), Fraction(1, 100)]
LEVELS = [Fraction(n, 12) for n in range(40)]


def fractions(law):
    return {x: Fraction(p) for x, p in law.items()}


def winner(law, order, stop):
    """The exact distribution of the best run, by the formula of the number of runs."""
    found, above = {}, Fraction(0)
    for x in order:  # the best score first
        at, below = (stop + (1 - stop) * part for part in (above, above + law[x]))
        found[x] = law[x] * stop / (at * below)
        above += law[x]
    return found


def delta(p, q, epsilon):
    level = math.exp(epsilon)
    return math.fsum(max(float(p[x]) - level * float(q[x]), 0) for x in p)


def of_both(p, q):
    return BothWays(PrivacyLossDistribution.of(p, q), PrivacyLossDistribution.of(q, p))


def test_the_formula_of_the_winner_is_that_of_geometrically_many_runs():
    law, stop = fractions(PAIRS[0][0]), Fraction(1, 3)
    found, most = dict.fromkeys(law, 0.0), 60
    for n in range(1, most):
        chance = float(stop * (1 - stop) ** (n - 1))
        under = 1.0
        for x in (2, 0, 1):
            least = under - float(law[x])
            found[x] += chance * (under**n - max(least, 0) ** n)
            under = least
    exact = winner(law, (2, 0, 1), stop)
    assert all(math.isclose(found[x], exact[x], rel_tol=1e-9) for x in law)


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("stop", STOPS)
def test_no_order_of_scores_has_larger_losses_at_any_epsilon(pair, stop):
    p, q = map(fractions, pair)
    bound = selected(of_both(*pair), stop)
    deltas = [float(one.upper) for one in bound.deltas(LEVELS)]
    for order in itertools.permutations(p):
        first, second = (winner(law, order, stop) for law in (p, q))
        for a, b in ((first, second), (second, first)):
            for level, most in zip(LEVELS, deltas, strict=True):
                assert delta(a, b, float(level)) <= most + 1e-12


@pytest.mark.full
@pytest.mark.parametrize("stop", STOPS[1:])
def test_two_winners_together_have_no_larger_losses_than_composed(stop):
    p, q = map(fractions, PAIRS[1])
    bound = selected(of_both(*PAIRS[1]), stop)
    together = bound.compose(bound)
    known = {e: float(together.delta(Fraction(e)).upper) + 1e-12 for e in (0.0, 0.5, 1.5)}
    orders = list(itertools.permutations(p))
    for one, two in itertools.combinations_with_replacement(orders, 2):
        laws = [
            {(x, y): left[x] * right[y] for x in left for y in right}
            for left, right in ((winner(law, one, stop), winner(law, two, stop)) for law in (p, q))
        ]
        for a, b in (laws, laws[::-1]):
            assert all(delta(a, b, level) <= most for level, most in known.items())


def test_pure_runs_keep_their_closed_form():
    for epsilon, stop in itertools.product((0.1, 1.0, 4.0), (0.01, 0.3, 0.9)):
        odds = math.exp(epsilon)
        known = math.log((odds + stop) / (1 + stop * odds))
        base = dominating_pair(Fraction(epsilon))
        found = min_growth(base, Fraction(stop))
        assert known <= found + 1e-12
        assert found <= known * (1 + 1e-6)
        whole = selected(base, Fraction(stop)).epsilon(0).upper
        assert math.isclose(whole, epsilon + 2 * known, rel_tol=1e-6)


def test_the_growth_is_attained_where_the_runs_are_randomized_response():
    stop, odds = Fraction(1, 4), Fraction(3)
    p, q = odds / (1 + odds), 1 / (1 + odds)
    found = min_growth(dominating_pair(Fraction(math.log(3))), stop)
    ratio = (stop + (1 - stop) * p) / (stop + (1 - stop) * q)
    assert math.isclose(math.exp(found), ratio, rel_tol=1e-6)


@pytest.mark.full
@pytest.mark.parametrize("base", [LaplaceShift(20, 20), GaussianShift(Fraction(4), 1)])
@pytest.mark.parametrize("stop", STOPS[1:3])
def test_the_list_of_losses_is_near_the_curve_it_is_drawn_on(base, stop):
    moved, bound = 2 * min_growth(base, stop), selected(base, stop)
    for target in (Fraction(1, 10**3), Fraction(1, 10**6), Fraction(1, 10**9)):
        curve = base.epsilon(target * stop).upper + moved
        found = bound.epsilon(target).upper
        assert found <= curve * (1 + Fraction(1, 500))


def test_a_profile_of_points_is_that_of_a_pair():
    points = [(Fraction(1), Fraction(3, 5)), (Fraction(2), Fraction(1, 4)), (Fraction(3), 0.1)]
    points = [(x, Fraction(d)) for x, d in points]
    pair = of_profile(points)
    assert sum(atom.p.upper for atom in pair.atoms) + pair.impossible.upper == 1
    assert sum(atom.q.upper for atom in pair.atoms) <= 1
    for x, most in points:
        found = sum(max(atom.p.upper - x * atom.q.upper, 0) for atom in pair.atoms)
        assert found + pair.impossible.upper <= most


# A worst order of scores.


def outcomes_of(base):
    """Two distributions that one run may have: of many outcomes where it has a density."""
    if isinstance(base, GaussianShift):
        edges = np.hstack([-np.inf, np.arange(-2000, 2500) / 250, np.inf])  # the means are edges
        return tuple(_between(edges - mean) for mean in (float(base.shift / base.scale), 0.0))
    share = 1 / (1 + math.exp(-float(base.epsilon(0).middle)))
    p = np.repeat([share, 1 - share], 4000) / 4000
    return p, p[::-1]


def _between(edges):
    """Masses of a normal distribution between edges, of which zero is one."""
    tails = np.vectorize(math.erfc)(np.abs(edges) / math.sqrt(2)) / 2
    return np.abs(np.diff(tails))


def worst_order(p, q, x, stop):
    """Outcomes by falling score: what is likelier under p, and what q has before it."""
    ratios = np.log(p) - np.log(q)
    high, low = list(np.argsort(ratios)), list(np.argsort(-ratios))
    order, a, b = [], stop, stop
    while high[-1] != low[-1]:
        shift = math.log(a / b)
        passing = ratios[high[-1]] + ratios[low[-1]] < math.log(x) + 3 * shift
        if not passing and ratios[high[-1]] <= math.log(x) + 2 * shift:
            break
        order.append(low.pop() if passing else high.pop())
        a, b = (one + (1 - stop) * law[order[-1]] for one, law in ((a, p), (b, q)))
    return order + list(set(high) - set(order))


@pytest.mark.parametrize(
    ("base", "stop", "chances"),
    [
        (dominating_pair(Fraction(1, 10)), 0.1, (1e-2, 1e-3, 1e-6)),
        (dominating_pair(Fraction(1)), 0.1, (0.1, 1e-2, 1e-3, 1e-6)),
        (dominating_pair(Fraction(1)), 0.01, (0.1, 1e-3)),
        (dominating_pair(Fraction(4)), 0.5, (0.1, 1e-3)),
        (GaussianShift(5000, 1000), 0.1, (0.1, 1e-2, 1e-3, 1e-6)),
        (GaussianShift(5000, 1000), 0.01, (0.1, 1e-6)),
        (GaussianShift(1000, 1000), 0.1, (0.1, 1e-3, 1e-6)),
    ],
)
def test_an_order_of_scores_loses_what_is_claimed_of_the_best_run(base, stop, chances):
    """Within a fiftieth, by the formula of the winner of many outcomes, one after the other."""
    bound = selected(base, Fraction(str(stop)))
    p, q = outcomes_of(base)
    for chance in chances:
        high = float(bound.epsilon(Fraction(str(chance))).upper)
        x = math.exp(high / 1.02)
        order = worst_order(p, q, x, stop)
        own, other = ((stop + (1 - stop) * np.append(0.0, np.cumsum(law[order]))) for law in (p, q))
        winners = [stop * law[order] / (a[:-1] * a[1:]) for law, a in ((p, own), (q, other))]
        found = np.maximum(winners[0] - x * winners[1], 0).sum()
        assert winners[0].sum() == pytest.approx(1, abs=1e-9)
        assert found > chance
        assert float(bound.delta(Fraction(high / 1.02)).upper) >= found
