"""Noisy maxima: Gumbel noise, permute-and-flip and exponential noise by their definitions."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from tacit import framework as fw
from tacit.core import (
    AbsoluteDistance,
    ApproximateDP,
    LInfinityDistance,
    Number,
    Space,
    SymmetricDistance,
    Vector,
    ZeroConcentratedDP,
    convert,
)
from tacit.core.losses.additive_noise import GaussianShift, LaplaceShift
from tacit.core.losses.base import BothWays
from tacit.core.losses.distribution import PrivacyLossDistribution, dominating_pair, range_of
from tacit.errors import MismatchError, UsageError
from tacit.mechanisms import (
    Exponential,
    NoisyMax,
    PermuteAndFlip,
)
from tacit.mechanisms.private_selection import min_growth, of_profile, selected
from tacit.transformations import Count

SCORES = Space(Vector(int, size=3), LInfinityDistance())


@pytest.mark.parametrize("scores", [[0, 1, 2], [5, 5, 5], [0, 0, 3]])
def test_gumbel_noise_is_the_exponential_mechanism(scores):
    one, other = (SCORES >> step for step in (NoisyMax(2, "gumbel"), Exponential(2)))
    assert one.distribution(scores) == other.distribution(scores)
    assert one.map(1) == other.map(1)


@pytest.mark.parametrize("monotone", [False, True])
def test_gumbel_noise_has_the_losses_of_a_bounded_range(monotone):
    """By the winners' distributions of all neighbours, two releases together among them."""
    m = SCORES >> NoisyMax(2, "gumbel", monotone)
    losses = m.losses(Fraction(1))
    assert losses == (SCORES >> Exponential(2, monotone)).losses(Fraction(1))
    assert range_of(losses) == m.map(1) == Fraction(1 if not monotone else "1/2")
    levels = (0.0, 0.2, 0.7)
    one, two = (
        [float(losses.self_compose(k).delta(Fraction(e)).upper) + 1e-12 for e in levels]
        for k in (1, 2)
    )
    p = _winners(m, [0, 1, 3])
    for moves in itertools.product((-1, 0, 1), repeat=3):
        if monotone and not (max(moves) <= 0 or min(moves) >= 0):
            continue
        q = _winners(m, [a + b for a, b in zip((0, 1, 3), moves, strict=True)])
        pairs = list(zip(p, q, strict=True))
        twice = [(a * c, b * d) for a, b in pairs for c, d in pairs]
        for level, most, together in zip(levels, one, two, strict=True):
            assert sum(max(a - math.exp(level) * b, 0) for a, b in pairs) <= most
            assert sum(max(a - math.exp(level) * b, 0) for a, b in twice) <= together


def _winners(m, scores):
    law = m.distribution(scores)
    return [float(law.probability(i)) for i in range(len(scores))]


@pytest.mark.parametrize("scores", [[0, 1, 2], [5, 5, 5], [0, 0, 3], [0, -4, 1]])
def test_permute_and_flip_is_its_definition(scores):
    """Over every order: the first index whose coin comes up."""
    law = (SCORES >> PermuteAndFlip(2)).distribution(scores)
    coin = [math.exp((s - max(scores)) / 2) for s in scores]
    for i in range(3):
        found = 0.0
        for order in itertools.permutations(range(3)):
            before = order[: order.index(i)]
            found += math.prod(1 - coin[j] for j in before) * coin[i] / 6
        assert float(law.probability(i)) == pytest.approx(found, abs=1e-15)
    exact = (SCORES >> NoisyMax(2, "exponential")).distribution(scores)
    assert exact == law


def test_exponential_noise_wins_as_often_as_its_integral_says():
    """P(i) = integral of e^-x prod over j of P(E_j <= x + (s_i - s_j) / scale), by quadrature."""
    scores, scale = [0, 1, 2], 2
    law = (SCORES >> NoisyMax(scale)).distribution(scores)
    step, points = 1e-3, 40_000
    for i in range(3):
        total = 0.0
        for k in range(points):
            x = (k + 0.5) * step
            value = math.exp(-x)
            for j in range(3):
                if j != i:
                    gap = x + (scores[i] - scores[j]) / scale
                    value *= -math.expm1(-gap) if gap > 0 else 0.0
            total += value * step
        assert float(law.probability(i)) == pytest.approx(total, abs=1e-6)


@pytest.mark.parametrize(("monotone", "most", "attained"), [(False, 0.5, 0.0), (True, 0.25, -0.25)])
def test_laplace_noise_dominates_permute_and_flip_and_two_candidates_attain_it(
    monotone, most, attained
):
    """The greatest excess over all sets of answers, on all neighbours; at scale 4 and d = 1."""
    worst = dict.fromkeys((-0.25, 0.0, 0.125, 0.25, 0.4), 0.0)
    losses = (SCORES >> PermuteAndFlip(4, monotone)).losses(Fraction(1))
    for n in (2, 3):
        m = Space(Vector(int, size=n), LInfinityDistance()) >> PermuteAndFlip(4, monotone)
        laws = {
            scores: [float(m.distribution(list(scores)).probability(i)) for i in range(n)]
            for scores in itertools.product(range(4), repeat=n)
        }
        for u, v in itertools.product(laws, repeat=2):
            moves = [b - a for a, b in zip(u, v, strict=True)]
            if max(moves) - min(0, *moves) > (1 if monotone else 2) or max(map(abs, moves)) > 1:
                continue
            for level in worst:
                pairs = zip(laws[u], laws[v], strict=True)
                found = sum(max(a - math.exp(level) * b, 0) for a, b in pairs)
                worst[level] = max(worst[level], found)
    for level, found in worst.items():
        bound = max(0.0, -math.expm1((level - most) / 2))
        assert found <= bound + 1e-12
        assert float(losses.delta(Fraction(level)).upper) == pytest.approx(bound, abs=1e-9)
        assert losses.delta(Fraction(level)).lower <= found + 1e-12
    assert worst[attained] == pytest.approx(-math.expm1((attained - most) / 2), abs=1e-12)
    truth = losses.delta(Fraction(attained))
    assert truth.upper - truth.lower < 1e-12


@pytest.mark.few(2)
@pytest.mark.parametrize("monotone", [False, True])
def test_lower_ends_of_compositions_are_those_of_one_pair_of_scores(monotone):
    """No more than what the worst pair loses in so many releases, and nearly as much."""
    m = Space(Vector(int, size=2), LInfinityDistance()) >> NoisyMax(4, monotone=monotone)
    one = m.losses(Fraction(1))
    moves = [(-1, 0), (0, 1)] if monotone else [(-1, 1)]
    starts = [(lead, 0) for lead in range(4)]
    pairs = []
    for start, move in itertools.product(starts, moves):
        p = _winners(m, list(start))
        q = _winners(m, [a + b for a, b in zip(start, move, strict=True)])
        pairs.append((p, q))
    for times, level in ((1, 0.1), (2, 0.3), (3, 0.0)):
        worst = 0.0
        for p, q in pairs:
            for u, v in ((p, q), (q, p)):
                rows = itertools.product(zip(u, v, strict=True), repeat=times)
                sides = [(math.prod(a for a, _ in r), math.prod(b for _, b in r)) for r in rows]
                worst = max(worst, sum(max(a - math.exp(level) * b, 0) for a, b in sides))
        found = one.self_compose(times).delta(Fraction(level))
        assert found.lower <= worst + 1e-12
        assert worst <= found.upper + 1e-12
        assert found.lower >= 0.9 * worst


def test_candidates_far_below_change_nothing_that_is_seen():
    """The pair of two candidates among five, by the distribution of scores that are far apart."""
    m = Space(Vector(int, size=5), LInfinityDistance()) >> PermuteAndFlip(4)
    p, q = _winners(m, [5000, 4999, 0, 0, 0]), _winners(m, [4999, 5000, 0, 0, 0])
    truth = sum(max(a - b, 0) for a, b in zip(p, q, strict=True))
    assert m.delta(0).lower == pytest.approx(truth, abs=1e-12)
    assert m.delta(0).upper == pytest.approx(truth, abs=1e-12)


@pytest.mark.parametrize(
    ("domain", "known"),
    [
        (Vector(int, size=1), False),
        (Vector(int, bounds=(0, 1), size=2), False),
        (Vector(int, bounds=(0, 2), size=2), True),
        (Vector(int, bounds=(0, 100), size=3), False),
        (Vector(int, bounds=(0, 10_000), size=3), True),
    ],
)
def test_a_pair_is_known_where_the_scores_have_room_for_it(domain, known):
    """Else, and behind a transformation, what is said is a bound alone."""
    m = Space(domain, LInfinityDistance()) >> PermuteAndFlip(4)
    assert (m.epsilon("1/100").lower > 0) == known
    assert (m >> (lambda winner: winner)).epsilon("1/100").lower == 0
    assert m.epsilon("1/100", d_in=0).upper == 0


@pytest.mark.full
def test_many_releases_are_enclosed_closely():
    m = Space(Vector(int, size=9), LInfinityDistance()) >> PermuteAndFlip(200)
    found = fw.compose([m] * 10_000).epsilon("1e-6")
    assert 0.998 * found.upper < found.lower <= found.upper


# The losses of the best of many runs, against its exact distribution in every order of scores.


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
    bound = bound.compose(bound)
    orders = list(itertools.permutations(p))
    for one, two in itertools.combinations_with_replacement(orders, 2):
        laws = [
            {(x, y): left[x] * right[y] for x in left for y in right}
            for left, right in ((winner(law, one, stop), winner(law, two, stop)) for law in (p, q))
        ]
        for a, b in (laws, laws[::-1]):
            for level in (0.0, 0.5, 1.5):
                assert delta(a, b, level) <= float(bound.delta(Fraction(level)).upper) + 1e-12


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


# The best of a random number of runs.


PEOPLE = Space(Vector(int, bounds=(0, 9)), SymmetricDistance())
COUNT = PEOPLE >> Count()


class TestSelection:
    def test_it_keeps_the_best(self):
        number = Space(Number("int"), AbsoluteDistance())
        best = fw.select_best(number >> fw.laplace(10), score=lambda y: y, stop="1/50")
        once = number >> fw.laplace(10)
        assert sum(best(0) for _ in range(40)) > sum(once(0) for _ in range(40)) + 200
        assert Fraction(29, 100) < best.map(1) < Fraction(3, 10)
        assert fw.select_best(once, score=lambda y: y, stop=1).map(1) == Fraction(1, 10)

    def test_bad_input(self):
        m = COUNT >> fw.laplace(1)
        with pytest.raises(UsageError):
            fw.select_best(m, score=3, stop="1/2")
        with pytest.raises(UsageError):
            fw.select_best(m, score=abs, stop=0)
        with pytest.raises(MismatchError):
            fw.select_best(convert(m, ZeroConcentratedDP()), score=abs, stop="1/2")
        with pytest.raises(UsageError, match="finite"):
            fw.select_best(m, score=abs, stop="1/2").distribution([1])

    @pytest.mark.parametrize("stop", ["1", "1/2", "1/5"])
    def test_approximate_candidates_by_all_events_of_their_winner(self, stop):
        """A leak with probability beta, with scores in every order."""
        laws = (
            {"a": "11/20", "b": "7/20", "leak": "1/10"},
            {"a": "7/20", "b": "13/20"},
        )
        bit = Space(Number("int", 0, 1), AbsoluteDistance())
        # ln(7/4) is above the log of all ratios of these masses but for the leak
        claim = Fraction(56, 100), Fraction(1, 10)
        m = fw.user_measurement(
            bit,
            lambda x: "a",
            lambda d: claim if d else (0, 0),
            measure=ApproximateDP(),
            distribution=lambda x: laws[x],
        )
        for order in itertools.permutations(("a", "b", "leak")):
            best = fw.select_best(m, score=order.index, stop=stop)
            epsilon, delta = best.map(1)
            p, q = (best.distribution(x).table for x in (0, 1))
            for one, other in ((p, q), (q, p)):
                level = math.exp(epsilon)
                found = sum(
                    max(float(mass) - level * float(other.get(y, 0)), 0) for y, mass in one.items()
                )
                assert found <= delta + 1e-12
        grown = Fraction(stop)
        assert delta == min(1, claim[1] / grown)
        assert claim[0] * (1 if grown == 1 else Fraction(3, 2)) <= epsilon <= claim[0] * 3

    def test_gaussian_candidates_are_stated_at_a_delta(self):
        m = COUNT >> fw.gaussian(20)
        best = fw.select_best(m, score=abs, stop="1/10", delta="1e-9")
        epsilon, delta = best.map(1)
        assert delta == Fraction(1, 10**8)
        alone = m.epsilon("1e-9").upper
        assert alone < epsilon < Fraction(7, 5) * alone
        assert best.map(0) == (0, 0)

    @pytest.mark.full
    def test_the_curve_of_the_winner_holds_at_all_deltas_and_composes(self):
        m = COUNT >> fw.gaussian(20)
        best = fw.select_best(m, score=abs, stop="1/10", delta="1e-9")
        ends = [best.epsilon(delta).upper for delta in ("1e-3", "1e-6", "1e-9", "1e-12")]
        assert ends == sorted(ends)
        assert ends[0] < best.map(1)[0] < ends[-1]
        assert best.delta(ends[1]).upper <= Fraction(1, 10**6) * (1 + Fraction(1, 10**12))
        several = fw.compose([best] * 20 + [m] * 20)
        assert several.epsilon("1e-6").upper < 20 * ends[1] * 3 / 4
        assert 0 < best.tradeoff().beta("1/10").lower < Fraction(9, 10)


# The exponential mechanism on the published auction, and beside permute-and-flip.


EXPONENTIAL_SCORES = Space(Vector(int, size=3), LInfinityDistance())


def test_exponential_mechanism_on_the_pumpkin_auction():
    """Four pumpkins, bids 1, 1, 1, 3.01 dollars: revenue 3.00, 3.01, 0 at prices 1, 3.01, 3.02."""
    prices = Space(Vector(Number("float", grid=Fraction(1, 100)), size=3), LInfinityDistance())
    law = (prices >> Exponential(scale=1)).distribution([4.00, 3.01, 0])
    weights = [math.exp(4.00), math.exp(3.01), 1.0]
    for i, weight in enumerate(weights):
        assert float(law.probability(i)) == pytest.approx(weight / sum(weights))


def test_permute_and_flip_is_never_worse_than_exponential():
    for scores in itertools.product(range(4), repeat=3):
        gap = [max(scores) - s for s in scores]
        losses = [
            sum(
                g * float((EXPONENTIAL_SCORES >> step).distribution(list(scores)).probability(i))
                for i, g in enumerate(gap)
            )
            for step in (PermuteAndFlip(2), Exponential(2))
        ]
        assert losses[0] <= losses[1] + 1e-12


def _events(mu, stop):
    """Probabilities of events under outputs N(mu, 1) and N(0, 1), in three levels of scores.

    Highest are outputs up to a cut, which only the neighbour has often; then, as the event, those
    beyond another cut; all others are lowest.  By the formula of the winner, ``stop p / (A A-)``.
    """
    first = np.linspace(-6, 2, 161)[:, None]
    second = np.maximum(first, np.linspace(-1, 9, 201)[None, :])

    def taken(mean):
        top = stop + (1 - stop) * _below(first - mean)
        event = _below(mean - second)
        return stop * event / (top * (top + (1 - stop) * event))

    return taken(mu), taken(0.0)


def _below(x):
    """The normal distribution function."""
    return np.vectorize(math.erfc)(-x / math.sqrt(2)) / 2


@pytest.mark.parametrize(
    ("mu", "stop", "chance"),
    [(0.2, 0.1, 1e-6), (0.2, 0.01, 1e-6), (1.0, 0.1, 1e-6), (1.0, 0.1, 1e-3)],
)
def test_three_levels_of_scores_lose_nearly_what_is_claimed_of_the_best_run(mu, stop, chance):
    """A pair within 7% of the upper end: far above what one run loses."""
    one = GaussianShift(Fraction(round(10**6 / mu), 1000), 1000)
    bound = float(selected(one, Fraction(str(stop))).epsilon(Fraction(str(chance))).upper)
    own, other = _events(mu, stop)

    def delta(epsilon):
        return (own - math.exp(epsilon) * other).max()

    low, high = 0.0, bound
    assert delta(bound) <= chance
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if delta(middle) > chance else (low, middle)
    assert bound <= 1.07 * low
    assert low > 1.3 * float(one.epsilon(Fraction(str(chance))).upper)
