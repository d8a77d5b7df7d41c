"""Values that the literature gives, and laws computed another way."""

import itertools
import math
from fractions import Fraction

import pytest

import tacit as tc
from tacit import noise
from tacit.arithmetic import enclosure
from tacit.audit import verify
from tacit.core import (
    AbsoluteDistance,
    Category,
    ChangeOneDistance,
    DiscreteDistance,
    LInfinityDistance,
    Number,
    Space,
    SymmetricDistance,
    Vector,
)
from tacit.errors import MismatchError, UsageError
from tacit.mechanisms import (
    AboveThreshold,
    Exponential,
    FiniteDistribution,
    NoisyMax,
    PermuteAndFlip,
    PrivateQuantile,
    RandomizedResponse,
    SparseVector,
    Staircase,
    TruncatedGeometric,
    measurement,
)
from tacit.mechanisms.additive.staircase import DiscreteStaircase, best_step
from tacit.transformations import Sum

NUMBER = Space(Number("int", 0, 5, grid=Fraction(1)), AbsoluteDistance())
SCORES = Space(Vector(int, size=3), LInfinityDistance())
YES_NO = Space(Category(("yes", "no")), DiscreteDistance())


def test_randomized_response_of_two_coins_is_ln_3():
    m = YES_NO >> tc.randomized_response(("yes", "no"), p="3/4")
    assert float(m.map(1)) == pytest.approx(math.log(3), rel=1e-15)
    assert float(m.map(1)) >= math.log(3)
    assert m.map(0) == 0
    assert verify(m).tight


def test_truncated_geometric_of_balcer_and_vadhan_is_ln_9_8():
    """At epsilon 0.1 the ratio is 2^3 / (2^3 + 1), so the loss is exactly ln(9/8), not 0.1."""
    ratio, top = Fraction(8, 9), 5

    def law(count):
        table = {}
        for z in range(top + 1):
            weight = ratio ** abs(z - int(count)) / (1 + ratio)
            table[z] = weight if z in (0, top) else weight * (1 - ratio)
        return table

    claim = enclosure.log(Fraction(9, 8), 80).upper
    m = measurement(NUMBER, int, lambda d: claim * d, distribution=law)
    assert verify(m, d_in=5, draws=0).tight
    assert verify(measurement(NUMBER, int, lambda d: d / 10, distribution=law)).broken


def test_truncated_geometric_probabilities():
    q = math.exp(-1 / 2)
    law = (NUMBER >> TruncatedGeometric(0, 5, scale=2)).distribution(1)
    assert float(law.probability(0)) == pytest.approx(q / (1 + q))
    assert float(law.probability(1)) == pytest.approx((1 - q) / (1 + q))
    assert float(law.probability(5)) == pytest.approx(q**4 / (1 + q))
    assert law.probability(6).upper == 0
    assert float(law.cdf(1)) == pytest.approx(q / (1 + q) + (1 - q) / (1 + q))
    assert law.support("0.9999") == (0.0, 5.0)


def test_exponential_mechanism_on_the_pumpkin_auction():
    """Four pumpkins, bids 1, 1, 1, 3.01 dollars: revenue 3.00, 3.01, 0 at prices 1, 3.01, 3.02."""
    prices = Space(Vector(Number("float", grid=Fraction(1, 100)), size=3), LInfinityDistance())
    law = (prices >> Exponential(scale=1)).distribution([4.00, 3.01, 0])
    weights = [math.exp(4.00), math.exp(3.01), 1.0]
    for i, weight in enumerate(weights):
        assert float(law.probability(i)) == pytest.approx(weight / sum(weights))


@pytest.mark.parametrize("scores", [[0, 1, 2], [5, 5, 5], [0, 0, 3]])
def test_gumbel_noise_is_the_exponential_mechanism(scores):
    one, other = (SCORES >> step for step in (NoisyMax(2, "gumbel"), Exponential(2)))
    assert one.distribution(scores) == other.distribution(scores)
    assert one.map(1) == other.map(1)


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


def test_permute_and_flip_is_never_worse_than_exponential():
    for scores in itertools.product(range(4), repeat=3):
        gap = [max(scores) - s for s in scores]
        losses = [
            sum(
                g * float((SCORES >> step).distribution(list(scores)).probability(i))
                for i, g in enumerate(gap)
            )
            for step in (PermuteAndFlip(2), Exponential(2))
        ]
        assert losses[0] <= losses[1] + 1e-12


def test_the_textbook_chain():
    column = Space(Vector(float), SymmetricDistance())
    m = column >> tc.clamp(0, 12) >> Sum(grid=1) >> tc.laplace(scale=25)
    assert m.map(1) == Fraction(12, 25)
    sized = Space(Vector(float, size=4), ChangeOneDistance())
    changed = sized >> tc.clamp(0, 12) >> Sum(grid=1) >> tc.laplace(scale=25)
    assert changed.map(1) == Fraction(12, 25)  # not twice that
    p, q = m.distribution([12, 10, 8, 7]), m.distribution([12, 10, 8])
    for low, high in ((70, 80), (-100, -50), (37, 37), (5000, 5010), (-9000, -8000)):
        left, right = p.interval(low, high), q.interval(low, high)
        r = math.exp(-1 / 25)
        exact = [
            math.fsum((1 - r) / (1 + r) * r ** abs(z - c) for z in range(low, high + 1))
            for c in (37, 30)
        ]
        if min(exact) > 1e-12:
            assert float(left.middle) == pytest.approx(exact[0], rel=1e-9)
            assert float(right.middle) == pytest.approx(exact[1], rel=1e-9)
        loss = tc.divergence(m, [12, 10, 8, 7], [12, 10, 8], event=(low, high))
        assert abs(float(loss)) <= 7 / 25 + 1e-12  # the sums are 7 apart: no 0 / 0 in the tails


@pytest.mark.parametrize(
    ("epsilon", "width", "step"), [(1, 1, 1), (1, 5, 2), (3, 4, 4), ("1/2", 3, 1)]
)
def test_staircase_law(epsilon, width, step):
    law = DiscreteStaircase(Fraction(epsilon), width, step)
    reach = 60 * width
    weights = {
        x: math.exp(-float(Fraction(epsilon)) * ((abs(x) + width - step) // width))
        for x in range(-reach, reach + 1)
    }
    total = math.fsum(weights.values())
    for x in (-7, -1, 0, 1, 2, 9):
        assert float(law.probability(x)) == pytest.approx(weights[x] / total)
        below = math.fsum(w for z, w in weights.items() if z <= x) / total
        assert float(law.cdf(x)) == pytest.approx(below)
    second = math.fsum(x * x * w for x, w in weights.items()) / total
    assert float(law.variance()) == pytest.approx(second)


@pytest.mark.few(3)
@pytest.mark.parametrize(("epsilon", "width"), [(1, 7), (3, 12), ("1/2", 5)])
def test_the_default_stair_has_the_least_error(epsilon, width):
    def size(step):
        law = DiscreteStaircase(Fraction(epsilon), width, step)
        return sum(2 * x * float(law.probability(x).middle) for x in range(1, 40 * width))

    found = best_step(Fraction(epsilon), width)
    assert size(found) <= min(size(s) for s in range(1, width + 1)) * (1 + 1e-6)
    geometric = noise.DiscreteLaplace(Fraction(width) / Fraction(epsilon))
    ours = float(DiscreteStaircase(Fraction(epsilon), width, found).variance())
    assert epsilon != 3 or ours < float(geometric.variance())


def test_sparse_vector_finds_what_is_far_above():
    queries = Space(Vector(int, size=5), LInfinityDistance())
    m = queries >> SparseVector(50, threshold_scale=1, query_scale=4, answers=2)
    assert m.map(1) == 2
    assert m([0, 10**6, 0, 10**6, 10**6]) == [False, True, False, True]
    assert m([0] * 5)[:1] == [False]
    one = queries >> AboveThreshold(50, 1, 2)
    assert one([0, 0, 0, 0, 10**6]) == 4
    assert one([-(10**6)] * 5) is None
    empty = Space(Vector(int), LInfinityDistance()) >> SparseVector(0, 1, 1)
    assert empty([]) == []


def test_private_quantiles_are_near_the_quantile():
    ages = Space(Vector(int, bounds=(0, 100)), SymmetricDistance())
    m = ages >> PrivateQuantile("1/2", scale=1)
    data = list(range(20, 60)) * 50
    assert 38 <= m(data) <= 41
    assert m.map(1) == 1
    assert 0 <= m([]) <= 100
    floats = Space(Vector(float, bounds=(0, 1)), SymmetricDistance())
    shown = (floats >> PrivateQuantile(1, scale=1, grid="1/8"))([0.5, float("nan"), 2.0] * 900)
    assert shown * 8 == int(shown * 8)


def test_everyone_reports_whatever_they_hold():
    m = YES_NO >> RandomizedResponse(("yes", "no"), epsilon=1)
    for odd in (None, "maybe", ["list"], float("nan"), 3):
        assert m(odd) in ("yes", "no")


BAD = [
    lambda: TruncatedGeometric(5, 0, 1),
    lambda: TruncatedGeometric(0, 5, 0),
    lambda: TruncatedGeometric(0, math.inf, 1),
    lambda: Staircase(0),
    lambda: Staircase(1, -1),
    lambda: Staircase(1, 3, 0),
    lambda: Exponential(math.nan),
    lambda: Exponential(1, monotone=1),
    lambda: Exponential(1, measure="RenyiDP"),
    lambda: PermuteAndFlip(-1),
    lambda: PermuteAndFlip(1, monotone=0),
    lambda: NoisyMax(1, "laplace"),
    lambda: NoisyMax(1, monotone="no"),
    lambda: SparseVector(0, 0, 1),
    lambda: SparseVector(0, 1, 1, answers=0),
    lambda: SparseVector(math.inf, 1, 1),
    lambda: SparseVector(0, 1, 1, monotone=3),
    lambda: AboveThreshold(0, 1, 1, answers=2),
    lambda: RandomizedResponse(("a",), p="1/2"),
    lambda: RandomizedResponse(("a", "a"), p="1/2"),
    lambda: RandomizedResponse(("a", ["b"]), p="1/2"),
    lambda: RandomizedResponse("ab", p="1/2"),
    lambda: RandomizedResponse(("a", "b")),
    lambda: RandomizedResponse(("a", "b"), p="1/2", epsilon=1),
    lambda: RandomizedResponse(("a", "b"), p=1),
    lambda: RandomizedResponse(("a", "b"), epsilon=math.inf),
    lambda: PrivateQuantile(2, 1),
    lambda: PrivateQuantile("1/2", 0),
    lambda: PrivateQuantile("1/2", 1, grid=-1),
    lambda: PrivateQuantile("1/2", 1, measure="x"),
    lambda: FiniteDistribution.of({0: "1/2"}),
    lambda: FiniteDistribution.of({0: "3/2", 1: "-1/2"}),
    lambda: FiniteDistribution.of({"a": 1}).cdf(3),
    lambda: Space(Vector(int, bounds=(0, 0)), SymmetricDistance()) >> PrivateQuantile("1/2", 1),
]


@pytest.mark.parametrize("build", BAD)
def test_bad_parameters_are_refused_at_construction(build):
    with pytest.raises(UsageError):
        build()


COLUMN = Space(Vector(int), SymmetricDistance())
MISFITS = [
    (COLUMN, TruncatedGeometric(0, 1, 1)),
    (NUMBER, TruncatedGeometric("1/2", 1, 1)),
    (COLUMN, Staircase(1)),
    (NUMBER, Staircase(1, "1/2")),
    (NUMBER, Staircase(1, 2, 3)),
    (COLUMN, Exponential(1)),
    (Space(Vector(int), LInfinityDistance()), PermuteAndFlip(1)),
    (Space(Vector(int, size=0), LInfinityDistance()), NoisyMax(1)),
    (NUMBER, SparseVector(0, 1, 1)),
    (NUMBER, RandomizedResponse(("a", "b"), p="1/2")),
    (COLUMN, PrivateQuantile("1/2", 1)),
    (NUMBER, PrivateQuantile("1/2", 1)),
    (NUMBER, tc.release_keys(1, 5)),
    (NUMBER, tc.continual_count(1)),
]


@pytest.mark.parametrize(("space", "step"), MISFITS, ids=str)
def test_spaces_that_do_not_fit_are_refused(space, step):
    with pytest.raises(MismatchError):
        space >> step
