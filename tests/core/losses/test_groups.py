"""Groups of records in Poisson samples, against all their outcomes and all data sets."""

import itertools
import math
from fractions import Fraction
from math import comb

import pytest

from tacit import framework as fw
from tacit.core import Space, SymmetricDistance, Vector
from tacit.core.conversions import losses_behind
from tacit.core.losses.additive_noise import GaussianShift, LaplaceShift
from tacit.core.losses.groups import GroupLoss, sampled_groups, sampled_groups_of_pairs
from tacit.transformations import Count, Sum

LEVELS = (0.0, 0.1, 0.7)
HALF = Fraction(1, 2)


def mixture(noise, centres, rate):
    """Return the masses of a mixture of noise in places, by outcome, in floats."""
    n = len(centres) - 1
    weights = [comb(n, k) * float(rate) ** k * (1 - float(rate)) ** (n - k) for k in range(n + 1)]
    law = {x: float(noise.law.probability(x)) for x in range(-60, 61)}
    return [
        sum(w * law.get(x - s, 0.0) for w, s in zip(weights, centres, strict=True))
        for x in range(-50, 51)
    ]


def excess(p, q, level, times=1):
    rows = [(1.0, 1.0)]
    for _ in range(times):
        rows = [(a * x, b * y) for a, b in rows for x, y in zip(p, q, strict=True)]
    return sum(max(a - math.exp(level) * b, 0.0) for a, b in rows)


@pytest.mark.parametrize("noise", [LaplaceShift(2, 1), GaussianShift(2, 1), LaplaceShift(HALF, 1)])
@pytest.mark.few(3)
@pytest.mark.parametrize(("own", "other"), [((0, 1, 3), (0,)), ((0,), (0, 2)), ((0, 1), (0, 1, 1))])
def test_one_release_loses_what_its_outcomes_do(noise, own, other):
    one = GroupLoss(noise, own, other, Fraction(1, 3))
    p, q = (mixture(noise, own, one.rate), mixture(noise, [-s for s in other], one.rate))
    for level in (*LEVELS, -0.3):
        truth, found = excess(p, q, level), one.delta(Fraction(level))
        assert found.lower - 1e-9 <= truth <= found.upper + 1e-9
        assert found.width < 1e-12
        together = one.self_compose(2).delta(Fraction(level))
        assert together.lower - 1e-9 <= excess(p, q, level, 2) <= together.upper + 1e-9
        assert together.width <= together.upper / 1000 + 1e-7
    delta = Fraction(1, 1000)
    epsilon = one.epsilon(delta)
    assert one.delta(epsilon.upper).lower <= delta <= one.delta(epsilon.lower).upper + 1e-9


def column(low, high):
    return Space(Vector(int, bounds=(low, high)), SymmetricDistance())


def masses(m, data):
    law = m.distribution(data)
    return [float(law.probability(x)) for x in range(-24, 25)]


@pytest.mark.parametrize(
    ("d", "times"),
    [(2, 1), *(pytest.param(*more, marks=pytest.mark.full) for more in ((2, 2), (3, 1)))],
)
@pytest.mark.parametrize("noise", [fw.laplace(1), fw.gaussian(1)])
def test_all_data_sets_that_far_apart_stay_below_and_one_pair_attains_it(d, times, noise):
    """Records of -1, 0 and 1 on either side, next to some that both have."""
    m = fw.poisson_sample(column(-1, 1) >> Sum() >> noise, "1/3", delta="1e-3")
    found = m.losses(Fraction(d)).self_compose(times)
    pairs = []
    for a in range(d + 1):
        for u in itertools.combinations_with_replacement((-1, 0, 1), a):
            for v in itertools.combinations_with_replacement((-1, 1), d - a):
                pairs += [([*u, *c], [*v, *c]) for c in ([], [1], [-1, 1])][: 1 if d > 2 else 3]
    laws = {tuple(x): masses(m, x) for pair in pairs for x in pair}
    equal = laws[(1,) * d], masses(m, [])
    for level in LEVELS:
        delta = found.delta(Fraction(level))
        worst = max(excess(laws[tuple(u)], laws[tuple(v)], level, times) for u, v in pairs)
        of_one = max(excess(*way, level, times) for way in (equal, equal[::-1]))
        assert worst <= delta.upper + 1e-9
        assert delta.lower - 1e-9 <= of_one <= worst + 1e-12
        assert of_one <= delta.lower + 1e-3 * of_one + 1e-9
        assert delta.lower > 0.9 * delta.upper


@pytest.mark.full
def test_a_count_of_groups_is_enclosed_within_two_percent_up_to_ten():
    """So it is of the row of the benchmark: 50 releases of Gaussian noise on a sample of 2%."""
    step = fw.poisson_sample(column(0, 1) >> Count() >> fw.gaussian(1), "1/50", delta="1e-9")
    many, before = fw.compose([step] * 50), 1.4738
    for d, reference in ((2, 3.0591), (10, None)):
        found = many.epsilon("1e-6", d_in=d)
        assert found.upper - found.lower < found.upper / 50
        assert reference is None or abs(float(found.upper) - reference) < 1e-3
        assert before < found.lower
        before = found.upper


def test_of_a_pure_release_the_list_is_that_of_every_test():
    """Against the definition: tests of each size between two releases on no record."""
    rate, known = Fraction(1, 3), [(Fraction(1), Fraction(1, 50)), (Fraction(2), Fraction(1, 9))]
    found = sampled_groups_of_pairs(known, rate)

    def largest(k, r):
        e, d = [(0, 0), *known][k]
        return min(1.0, d + math.exp(e) * r, 1 - math.exp(-e) * (1 - d - r)) if r < 1 else 1.0

    def weights(n):
        return [comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(n + 1)]

    for (a, b), way in zip(((2, 0), (1, 1), (0, 2)), found.ways, strict=True):
        for level in LEVELS:
            values = []
            for r in (i / 4000 for i in range(4001)):
                own = sum(float(w) * largest(i, r) for i, w in enumerate(weights(a)))
                other = sum(float(w) * (1 - largest(j, 1 - r)) for j, w in enumerate(weights(b)))
                values.append(own - math.exp(level) * other)
            delta = way.delta(Fraction(level))
            assert max(values) <= delta.upper + 1e-9
            assert delta.upper <= max(values) + 2e-3
            assert delta.width < 1e-20


def test_releases_of_which_the_map_is_known_stay_below_at_a_distance():
    release = fw.user_measurement(
        column(0, 1),
        sum,
        lambda d: d,
        distribution=lambda x: (column(0, 1) >> Sum() >> fw.laplace(1)).distribution(x),
    )
    m = fw.poisson_sample(release, "1/4")
    for d in (2, 4):
        found = m.losses(Fraction(d)).self_compose(2)
        for a in range(d + 1):
            p, q = masses(m, [1] * a), masses(m, [1] * (d - a))
            for level in LEVELS:
                assert excess(p, q, level, 2) <= found.delta(Fraction(level)).upper + 1e-9
        assert m.epsilon(0, d_in=d).upper <= m.map(d) * (1 + Fraction(1, 10**9))


@pytest.mark.full
@pytest.mark.parametrize(
    ("few", "many"),
    [(GaussianShift(1000, 1000), 1 << 30), (LaplaceShift(400, 400), 1 << 19)],
)
def test_noise_too_fine_to_be_listed_loses_as_its_list_does(few, many):
    kind, rate = type(few), Fraction(1, 100)
    ends = []
    for scale in (few.scale, many):
        groups = sampled_groups([kind(scale, k * scale) for k in (1, 2)], rate)
        ends.append([way.self_compose(20).epsilon("1e-6") for way in groups.ways[:2]])
    for listed, fine in zip(*ends, strict=True):
        assert abs(fine.upper - listed.upper) < listed.upper / 200
        assert fine.lower <= fine.upper
        assert fine.width < fine.upper / 100


def test_beyond_a_group_the_map_says_what_is_known():
    m = fw.poisson_sample(column(0, 1) >> Count() >> fw.laplace(1), "1/10")
    assert m.losses(Fraction(10)) is not None
    assert m.losses(Fraction(11)) is None
    assert m.epsilon("1e-6", d_in=11).upper <= m.map(11)
    release = column(0, 1) >> Count() >> fw.laplace(1)
    whole = fw.poisson_sample(release, 1)
    assert whole.losses(Fraction(3)) == release.losses(Fraction(3))


@pytest.mark.full
def test_different_releases_from_samples_share_the_pair_that_both_name():
    count, total = column(0, 3) >> Count(), column(0, 3) >> Sum()
    steps = [
        fw.poisson_sample(query >> fw.gaussian(scale), rate, delta="1e-9")
        for query, scale, rate in ((count, 2, "1/20"), (total, 5, "1/10"), (count, 1, "1/50"))
    ]
    together = fw.compose([step for step in steps for _ in range(5)])
    for d in (1, 2):
        found = together.epsilon("1e-6", d_in=d)
        assert found.lower > found.upper * Fraction(99, 100)


def test_pairs_behind_different_transformations_are_not_shared():
    """One release counts ones, the other those left by a filter: no pair is known of both."""
    noisy = fw.poisson_sample(column(0, 1) >> Count() >> fw.gaussian(1), "1/10", delta="1e-9")
    known = noisy.losses(Fraction(1))
    behind = losses_behind(lambda d: d, noisy.losses, onto=True, known=True)(Fraction(1))
    names = [{getattr(one, "names", None) for one in losses.below} for losses in (known, behind)]
    assert names == [{frozenset({(True, 0), (True, 1)})}, {None}]
