"""The filter against the definition: profiles at every epsilon, and analysts who adapt."""

import math
import random
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tacit.accounting.gaussian_filter import after, before, delta_of, epsilon_of, largest, whole
from tacit.core.losses.distribution import BoundedRange

ONE = Fraction(1)
LEVELS = [Fraction(k, 16) for k in (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 40, 64)]
epsilons = st.fractions(min_value=Fraction(1, 1000), max_value=3, max_denominator=1000)
variances = st.fractions(min_value=0, max_value=4, max_denominator=1000)


def normal(x):
    return math.erfc(-x / math.sqrt(2)) / 2


def profile(variance, level):
    """The textbook's delta of a Gaussian, also at a level below zero."""
    if not variance:
        return max(0.0, -math.expm1(level))
    root = math.sqrt(variance)
    return normal(root / 2 - level / root) - math.exp(level) * normal(-root / 2 - level / root)


def together(epsilon, variance, level):
    """Delta of randomized response and a Gaussian, at a level: their mixture."""
    high = 1 / (1 + math.exp(-epsilon))
    return high * profile(variance, level - epsilon) + (1 - high) * profile(
        variance, level + epsilon
    )


def dominated(epsilon, left, variance):
    # rounding takes a level's delta below another's by no more than this
    return all(
        together(float(epsilon), float(left), float(level))
        <= profile(float(variance), float(level)) + 1e-13
        for level in LEVELS
    )


@given(epsilons, variances)
def test_what_a_release_leaves_and_the_release_are_dominated(epsilon, variance):
    left = after(variance, epsilon)
    if left is None:
        assert largest(variance) < epsilon
        return
    assert largest(variance) * (1 + Fraction(1, 2**30)) >= epsilon
    assert dominated(epsilon, left, variance)


@given(epsilons, variances)
def test_a_release_before_a_gaussian_is_dominated(epsilon, variance):
    assert dominated(epsilon, variance, before(variance, epsilon))


@given(epsilons, variances)
def test_little_more_is_taken_than_must_be(epsilon, variance):
    left = after(variance, epsilon)
    assume(left is not None and left > 0)
    taken = variance - left
    more = left + taken * Fraction(1, 1000)
    if epsilon**2 * 256 > variance:  # the search is as near as its steps
        assert not dominated(epsilon, more, variance) or taken < Fraction(1, 10**6)
    else:
        assert taken <= epsilon**2 * Fraction(1003, 1000)


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("1/10", "1e-3"), ("8", "1e-15")])
def test_a_budget_begins_with_the_largest_gaussian(epsilon, delta):
    level, target = Fraction(epsilon), Fraction(delta)
    held = whole(level, target)
    assert delta_of(held, level, 256).upper <= target
    assert delta_of(held * (1 + Fraction(1, 10**6)), level, 256).lower > target
    back = epsilon_of(held, target)
    assert level * (1 - Fraction(1, 10**5)) <= back <= level * (1 + Fraction(1, 2**20))


def test_what_no_gaussian_holds():
    assert whole(ONE, Fraction(0)) == 0
    assert whole(Fraction(65), Fraction(1, 2)) == 0
    assert after(ONE, Fraction(10**6)) is None
    assert after(Fraction(0), Fraction(1, 10**30)) is None
    assert largest(Fraction(0)) == 0
    tiny = after(ONE, Fraction(1, 10**30))
    assert tiny is not None
    assert 1 - tiny < Fraction(1, 2**79)


def test_the_same_on_every_machine():
    left = after(Fraction(1, 20), Fraction(1, 50))
    step = Fraction(1, 2**32)
    assert left is not None
    assert (Fraction(1, 20) - left) % step == 0
    assert round((Fraction(1, 20) - left) / step) == 1720264


def delta_of_analyst(rng, level, variance, epsilons, releases):
    """Delta at a level of an analyst who picks each epsilon by the answers so far, exactly.

    Each answer is that of randomized response, so that a run is a path of losses.
    """

    def rest(loss, mass, left, turns):
        # mass under P of this run; under Q it is mass / e^loss
        pick = rng.choice(epsilons) if turns else None
        remaining = None if pick is None else after(left, pick)
        if remaining is None:
            return max(0.0, mass * -math.expm1(level - loss))
        high = 1 / (1 + math.exp(-pick))
        up = rest(loss + float(pick), mass * high, remaining, turns - 1)
        return up + rest(loss - float(pick), mass * (1 - high), remaining, turns - 1)

    return rest(0.0, 1.0, variance, releases)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(4))
def test_no_analyst_who_adapts_passes_the_budget(seed):
    rng = random.Random(seed)
    level, delta = Fraction(rng.choice(["1/10", "1/5", "2/5"])), rng.choice([0.2, 0.1, 0.05])
    variance = whole(level, Fraction(delta))
    step = largest(variance)
    epsilons = [step * Fraction(k, 8) for k in (2, 3, 4)]
    reached = delta_of_analyst(rng, float(level), variance, epsilons, 8)
    assert reached <= delta
    assert reached > 0


@pytest.mark.full
def test_the_greediest_analyst_of_a_small_budget():
    """All strategies at once: at each turn the epsilon with the most delta to come."""
    level, delta = 0.25, Fraction(1, 20)
    variance = whole(Fraction(1, 4), delta)
    step = largest(variance)
    epsilons = [step, step / 2, step / 3]

    def best(loss, left, turns):
        found = max(0.0, -math.expm1(level - loss))
        for pick in epsilons if turns else ():
            remaining = after(left, pick)
            if remaining is None:
                continue
            high = 1 / (1 + math.exp(-pick))
            up = best(loss + float(pick), remaining, turns - 1)
            down = best(loss - float(pick), remaining, turns - 1)
            found = max(found, high * up + (1 - high) * down)
        return found

    reached = best(0.0, variance, 6)
    assert 0.7 * float(delta) < reached <= float(delta)


def together_with_range(epsilon, variance, level, places=400):
    """Delta of a release of bounded range and a Gaussian, from its losses.

    Those of the dominating pair have the density ``e^(l/2) / (4 sinh(epsilon/2))`` under P; the
    integral is taken by Simpson's rule.
    """
    width = 2 * epsilon / places
    found = 0.0
    for place in range(places + 1):
        loss = -epsilon + place * width
        share = 1 if place in (0, places) else 4 if place % 2 else 2
        found += share * math.exp(loss / 2) * profile(variance, level - loss)
    return found * width / 3 / (4 * math.sinh(epsilon / 2))


def test_the_losses_of_a_range_are_those_of_its_profile():
    for epsilon, level in [(0.5, 0.1), (1.0, 0.7), (3.0, 2.0)]:
        known = float(BoundedRange(Fraction(epsilon)).delta(Fraction(level)))
        assert together_with_range(epsilon, 1e-8, level, 40_000) == pytest.approx(known, rel=1e-3)


@pytest.mark.parametrize(
    ("epsilon", "variance"),
    [("1/10", "1/200"), ("1/2", "1/10"), ("1", "2/5"), ("1", "4"), ("3", "4"), ("1/4", "3")],
)
def test_what_a_release_of_bounded_range_leaves_and_the_release_are_dominated(epsilon, variance):
    epsilon, variance = Fraction(epsilon), Fraction(variance)
    left = after(variance, epsilon, 1, True)
    assert left is not None
    plain = after(variance, epsilon)
    assert plain is None or left > plain
    for level in LEVELS:
        reached = together_with_range(float(epsilon), float(left), float(level))
        assert reached <= profile(float(variance), float(level)) + 1e-11
    if epsilon**2 / 3 * 256 > variance:  # the search is as near as its steps
        more = float(left + (variance - left) / 1000)
        assert together_with_range(float(epsilon), more, 0.0) > profile(float(variance), 0.0)
    there = before(left, epsilon, 1, True)
    assert variance * Fraction(999, 1000) <= there <= variance * Fraction(1001, 1000)


def test_a_range_that_does_not_fit():
    assert after(Fraction(1, 100), Fraction(1, 4), 1, True) is None
    assert after(Fraction(1, 100), Fraction(1, 8), 1, True) is not None
    assert after(Fraction(1, 100), Fraction(1, 8)) is None


@pytest.mark.parametrize("ranged", [False, True])
@pytest.mark.parametrize("variance", ["1/38", "3"])
def test_several_at_once_take_what_they_take_one_by_one(ranged, variance):
    epsilon, alone = Fraction(1, 100), Fraction(variance)
    at_once = after(alone, epsilon, 20, ranged)
    back = Fraction(1, 300)
    added = before(back, epsilon, 20, ranged)
    for _ in range(20):
        alone, back = after(alone, epsilon, 1, ranged), before(back, epsilon, 1, ranged)
    assert alone * Fraction(99, 100) <= at_once <= alone
    assert back <= added <= back * Fraction(101, 100)
