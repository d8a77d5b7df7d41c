"""Noisy maxima: Gumbel noise, permute-and-flip and exponential noise by their definitions."""

import itertools
import math
from fractions import Fraction

import pytest

from tacit import framework as fw
from tacit.core import (
    LInfinityDistance,
    Number,
    Space,
    Vector,
)
from tacit.core.losses.distribution import range_of
from tacit.mechanisms import (
    Exponential,
    NoisyMax,
    PermuteAndFlip,
)

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
