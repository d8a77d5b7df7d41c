"""Keys found in rounds: the map by brute force, with counts that depend on what was found."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import special

from tacit import framework as fw
from tacit.audit import verify
from tacit.core import Number, Space, Vector
from tacit.errors import MismatchError, UsageError
from tacit.mechanisms.partition_selection import (
    GaussianKeys,
    GaussianKeysInRounds,
    ReleaseKeys,
    SelectKeys,
    TruncatedNoise,
    min_noise_and_threshold,
)
from tacit.tables.plan.plan import keys_part

SMALL = Vector(Number("int", 0, 2, grid=Fraction(1)), size=2)
COUNTS = Vector(Number("int"), size=None)


@pytest.mark.full
@pytest.mark.parametrize(
    ("step", "groups", "distance"),
    [
        (GaussianKeysInRounds([2, 1], [6, 3], "3/2"), 1, 1),
        (GaussianKeysInRounds([3, 1], [7, 3], 2), 2, 1),
        (GaussianKeysInRounds([2, 2], [5, 4], "1/2"), 2, 2),
    ],
    ids=str,
)
def test_the_map_holds_on_all_neighbours(step, groups, distance):
    space = Space(SMALL, fw.SparseDistance(groups))
    assert verify(space >> step, d_in=distance).or_raise().kind == "exact"


def test_one_round_is_the_mechanism_of_one_round():
    space = Space(COUNTS, fw.SparseDistance(3))
    one, many = GaussianKeys(8, 40, 1), GaussianKeysInRounds([8], [40], 1)
    for d in (0, 1, 2, 50):
        assert (space >> one).map(d) == (space >> many).map(d)


class Table:
    """People with their keys, each counted in few of those not shown: the first of their own."""

    def __init__(self, people, groups, keys):
        self.people, self.groups, self.keys = people, groups, keys

    def left(self, shown):
        counts = [0] * self.keys
        for own in self.people:
            left = [key for key in own if key >= len(shown) or shown[key] is None]
            for key in left[: self.groups]:
                counts[key] += 1
        return counts


def distribution(table, rounds, shown, chance=1.0):
    """The probability of every outcome, a noisy count or nothing for each key, from round to round.

    Each outcome has the round as well: that tells more than what is released.
    """
    if not rounds:
        return {shown: chance}
    (scale, threshold), later = rounds[0], rounds[1:]
    counts = table.left([None if s is None else 1 for s in shown])
    whole = math.fsum(math.exp(-(x**2) / (2 * scale**2)) for x in range(-99, 100))
    each = []
    for place, count in enumerate(counts):
        law = {}
        if shown[place] is None and count > 0:
            for value in range(threshold, threshold + 9 * scale):
                law[len(later), value] = math.exp(-((value - count) ** 2) / 2 / scale**2) / whole
        each.append({**law, shown[place]: 1 - math.fsum(law.values())})
    found = {}
    for outcome in itertools.product(*each):
        likely = chance * math.prod(law[o] for law, o in zip(each, outcome, strict=True))
        if likely > 1e-12:
            for after, p in distribution(table, later, outcome, likely).items():
                found[after] = found.get(after, 0.0) + p
    return found


@pytest.mark.parametrize("person", [(0, 1, 2), (2, 0, 1)])
def test_the_map_holds_where_the_counts_follow_what_was_found(person):
    rounds, groups, epsilon = [(2, 5), (1, 3)], 1, 1
    space = Space(COUNTS, fw.SparseDistance(groups))
    m = space >> GaussianKeysInRounds(*zip(*rounds, strict=True), epsilon)
    others = [(0, 1), (0, 2), (0, 1)]
    with_, without = (
        distribution(Table(people, groups, 3), rounds, (None,) * 3)
        for people in ([*others, person], others)
    )
    bound = float(m.map(1)[1])
    for p, q in [(with_, without), (without, with_)]:
        assert math.fsum(p.values()) == pytest.approx(1, abs=1e-6)
        excess = math.fsum(
            max(0.0, v - math.exp(epsilon) * q.get(outcome, 0)) for outcome, v in p.items()
        )
        assert excess <= bound < 1


def test_people_are_counted_anew_without_what_was_found():
    asked = []

    class Counts:
        def left(self, shown):
            asked.append([n is not None for n in shown])
            return [10**6, 60] if not shown else [0, 10**5, 10**6, 0]

    m = Space(COUNTS, fw.SparseDistance(4)) >> GaussianKeysInRounds([40, 10], [5000, 50], 1)
    shown = m.function(Counts())
    assert asked == [[], [True, False]]
    assert [n is not None for n in shown] == [True, True, True, False]
    assert abs(shown[0] - 10**6) < 1000
    assert abs(shown[1] - 10**5) < 300
    assert m([]) == []
    assert m([0] * 2000) == [None] * 2000


@pytest.mark.few(5)
@pytest.mark.parametrize("epsilon", ["1/10", "1", "4"])
@pytest.mark.parametrize("groups", [1, 10, 100])
def test_two_rounds_spend_delta_and_ask_for_few_more_people(groups, epsilon):
    delta = Fraction(1, 10**6)
    one = keys_part(groups, Fraction(epsilon), delta, "gaussian_keys")
    two = keys_part(groups, Fraction(epsilon), delta, None, 2)
    m = Space(COUNTS, fw.SparseDistance(groups)) >> two.step
    assert m.map(1)[0] == Fraction(epsilon)
    assert delta / 3 < m.map(1)[1] <= delta
    assert one.threshold <= two.threshold <= 1.06 * one.threshold + 2
    assert 2 * one.threshold < two.before[0] < 4 * one.threshold


def test_bad_input():
    for given in [
        ([], [], 1),
        ([1], [5, 5], 1),
        ([1, 0], [5, 5], 1),
        ([1, 1], [5, 1], 1),
        ([1, 1], [5, 5], 0),
        (1, 5, 1),
        ("12", [5, 5], 1),
        ([1] * 17, [5] * 17, 1),
    ]:
        with pytest.raises(UsageError):
            GaussianKeysInRounds(*given)
    with pytest.raises(MismatchError, match="sparse distance"):
        Space(SMALL, fw.L1Distance()) >> GaussianKeysInRounds([1], [5], 1)
    delta = Fraction(1, 10**6)
    with pytest.raises(UsageError, match="one round"):
        keys_part(5, Fraction(1000), delta, None, 2)
    with pytest.raises(UsageError, match="in rounds"):
        keys_part(5, Fraction(1), delta, "select_keys", 2)


# Selection of keys by truncated noise: against the recursion of the best one, and its draws.


PAIRS = [("1", "1e-6"), ("1/10", "1e-6"), ("3", "1e-3"), ("1/2", "1/4"), ("8", "1/2")]
SELECT_KEYS_COUNTS = Vector(Number("int", 0, 40), size=3)


def best(epsilon: float, delta: float, most: int) -> list[float]:
    """Return the largest chances of a key of 0, 1, ... people that (epsilon, delta)-DP allows."""
    found = [0.0]
    for _ in range(most):
        p = found[-1]
        low = 1 - math.exp(-epsilon) * (1 - p - delta)
        found.append(min(math.exp(epsilon) * p + delta, low, 1.0))
    return found


def chance(law: TruncatedNoise, count: int) -> float:
    hidden = law.shown(count).probability(None)
    return 1 - float((hidden.lower + hidden.upper) / 2)


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_no_private_selection_shows_a_key_more_often_up_to_half(epsilon, delta):
    law = TruncatedNoise(Fraction(epsilon), Fraction(delta))
    most = best(float(Fraction(epsilon)), float(Fraction(delta)), 2 * law.radius + 2)
    half = next(n for n, p in enumerate(most) if p >= 0.5)
    for count, p in enumerate(most):
        if count % max(1, law.radius // 20) and count > 3:
            continue
        mine = chance(law, count)
        assert mine <= p + 1e-12
        assert count >= half or mine == pytest.approx(p, rel=1e-9)
    assert chance(law, 2 * law.radius + 1) == 1


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_the_shares_spend_delta_whole(epsilon, delta):
    law = TruncatedNoise(Fraction(epsilon), Fraction(delta))
    one = law.shown(1).probability(None)
    assert 1 - one.upper <= Fraction(delta)
    assert 1 - one.lower >= Fraction(delta) * (1 - Fraction(1, 2**40))


def test_tiny_and_large_parameters():
    for epsilon, delta in [("1", "1e-300"), ("1e-9", "1e-40"), ("1e-30", "1e-9"), ("700", "1e-9")]:
        law = TruncatedNoise(Fraction(epsilon), Fraction(delta))
        assert 0 <= law.share <= 1
        reach, drawn = law.draw(50)
        assert (abs(drawn) <= reach).all()
        assert set(law.radius - reach) <= {0, 1}


@pytest.mark.full
@pytest.mark.parametrize(("epsilon", "delta"), [("1/2", "1/20"), ("2", "1/5"), ("1/50", "1/9")])
def test_draws_have_the_law(epsilon, delta):
    law = TruncatedNoise(Fraction(epsilon), Fraction(delta))
    n, count = 200_000, law.radius
    reach, drawn = law.draw(n)
    shown = [v if v > r else None for v, r in zip(count + drawn, reach, strict=True)]
    found, table = Counter(shown), law.shown(count).table
    assert set(found) <= set(table)
    square = sum(
        (found[value] - n * float(p.lower)) ** 2 / (n * float(p.lower))
        for value, p in table.items()
    )
    freedom = len(table) - 1
    assert square < freedom + 5 * math.sqrt(2 * freedom) + 20


def test_release_shows_no_key_that_nobody_has():
    space = Space(Vector(Number("int"), size=None), fw.SparseDistance(2))
    m = space >> SelectKeys("1/2", "1e-3")
    many = m([0] * 2000 + [10**6] * 10)
    assert many[:2000] == [None] * 2000
    assert all(type(v) is int and v > 10**6 - 100 for v in many[2000:])
    assert m([]) == []
    assert m([np.int64(0), np.int64(5000)])[0] is None


def test_maps():
    keys = SelectKeys("1/4", "1/1000")
    sparse, total = (
        Space(SELECT_KEYS_COUNTS, d) >> keys for d in (fw.SparseDistance(3), fw.L1Distance())
    )
    assert sparse.map(1) == (Fraction(3, 4), Fraction(3, 1000))
    assert sparse.map(0) == total.map(0) == (0, 0)
    for d in (2, 3):
        group = (math.exp(d / 4) - 1) / (math.exp(1 / 4) - 1) / 1000
        assert sparse.map(d)[0] == Fraction(3 * d, 4)
        assert float(sparse.map(d)[1]) == pytest.approx(3 * group)
        assert total.map(d)[0] == Fraction(d, 4)
        assert float(total.map(d)[1]) == pytest.approx(group)


@pytest.mark.full
def test_the_map_holds_for_many_keys_of_which_some_move():
    space = Space(Vector(Number("int", 0, 1), size=3), fw.SparseDistance(2))
    assert verify(space >> SelectKeys("1/2", "1/10")).or_raise().kind == "exact"


def test_select_keys_bad_input():
    for epsilon, delta in [(0, "1e-6"), (-1, "1e-6"), (1, 0), (1, 1), (1, "x"), ("nan", "1e-6")]:
        with pytest.raises(UsageError):
            SelectKeys(epsilon, delta)
    with pytest.raises(MismatchError, match="people counts"):
        Space(SELECT_KEYS_COUNTS, fw.L2Distance()) >> SelectKeys(1, "1e-6")
    with pytest.raises(UsageError):
        fw.SparseDistance(0)
    with pytest.raises(UsageError):
        fw.SparseDistance("two")


# Selection of keys by Gaussian noise: its map by brute force, its noise and its threshold.


GAUSSIAN_KEYS_SMALL = Vector(Number("int", 0, 2, grid=Fraction(1)), size=2)


@pytest.mark.full
@pytest.mark.parametrize(
    ("step", "groups", "distance"),
    [
        (GaussianKeys("3/2", 4, 1), 1, 1),
        (GaussianKeys(1, 3, "3/2"), 2, 1),
        (GaussianKeys(2, 4, "1/2"), 2, 2),
        (GaussianKeys("1/2", 2, 60), 2, 1),
    ],
    ids=str,
)
def test_gaussian_keys_the_map_holds_on_all_neighbours(step, groups, distance):
    space = Space(GAUSSIAN_KEYS_SMALL, fw.SparseDistance(groups))
    assert verify(space >> step, d_in=distance).or_raise().kind == "exact"


def test_the_map_of_one_key_is_the_profile_and_the_tail():
    scale, threshold, epsilon = 3.0, 20, 1.0
    m = Space(GAUSSIAN_KEYS_SMALL, fw.SparseDistance(1)) >> GaussianKeys(3, threshold, 1)
    z = range(-200, 201)
    whole = sum(math.exp(-(x**2) / (2 * scale**2)) for x in z)
    p = {x: math.exp(-(x**2) / (2 * scale**2)) / whole for x in z}
    profile = sum(max(0.0, p[x] - math.exp(epsilon) * p.get(x - 1, 0)) for x in z)
    tail = sum(p[x] for x in z if x >= threshold - 1)
    assert m.map(0) == (0, 0)
    assert m.map(1)[0] == 1
    assert float(m.map(1)[1]) == pytest.approx(profile + tail, rel=1e-9)
    assert m.map(threshold)[1] == 1


@pytest.mark.parametrize("groups", [3, 10, 50])
@pytest.mark.parametrize("epsilon", ["1/10", "1", "4"])
def test_noise_and_threshold_spend_delta(groups, epsilon):
    delta = Fraction(1, 10**6)
    scale, threshold = min_noise_and_threshold(groups, Fraction(epsilon), delta)
    space = Space(Vector(Number("int"), size=None), fw.SparseDistance(groups))
    m = space >> GaussianKeys(scale, threshold, epsilon)
    assert m.map(1)[0] == Fraction(epsilon)
    assert delta / 3 < m.map(1)[1] <= delta
    lower = (space >> GaussianKeys(scale, threshold - 1, epsilon)).map(1)[1]
    assert lower > delta
    assert threshold >= -special.ndtri(5e-7 / groups) * float(scale)


def test_the_mechanism_of_the_lowest_threshold_is_taken():
    delta = Fraction(1, 10**6)
    chosen = [keys_part(g, Fraction(1), delta, None) for g in (1, 2, 4, 10, 100)]
    names = ["select_keys", "select_keys", "gaussian_keys", "gaussian_keys", "gaussian_keys"]
    assert [part.step.name for part in chosen] == names
    for part in chosen:
        for other in ("select_keys", "gaussian_keys", "release_keys"):
            assert keys_part(part.groups, Fraction(1), delta, other).threshold >= part.threshold
    assert keys_part(5, Fraction(1000), delta, None).step.name == "select_keys"
    with pytest.raises(UsageError, match="not by 'laplace'"):
        keys_part(1, Fraction(1), delta, "laplace")
    with pytest.raises(UsageError, match="no Gaussian noise"):
        keys_part(5, Fraction(1000), delta, "gaussian_keys")


@pytest.mark.parametrize("groups", [3, 10**6])
@pytest.mark.parametrize("epsilon", ["1e-9", "1", "49", "1e4"])
@pytest.mark.parametrize("delta", ["1e-300", "1e-40", "9/10"])
def test_every_request_has_a_mechanism(groups, epsilon, delta):
    part = keys_part(groups, Fraction(epsilon), Fraction(delta), None)
    assert part.threshold >= 2


@pytest.mark.parametrize("groups", [1, 5, 10**6])
@pytest.mark.parametrize("scale", ["1e-9", "1/10", "1000", "1e12"])
@pytest.mark.parametrize("epsilon", ["1e-6", "1", "50", "1e4"])
def test_every_scale_has_a_map(groups, scale, epsilon):
    m = Space(GAUSSIAN_KEYS_SMALL, fw.SparseDistance(groups)) >> GaussianKeys(scale, 5000, epsilon)
    near, far = (m.map(d)[1] for d in (1, 10**4))
    assert 0 <= near <= far == 1


def test_gaussian_keys_release_shows_no_key_that_nobody_has():
    space = Space(Vector(Number("int"), size=None), fw.SparseDistance(4))
    m = space >> GaussianKeys(40, 5, 1)
    shown = m([0] * 2000 + [10**6] * 10)
    assert shown[:2000] == [None] * 2000
    assert all(type(v) is int and abs(v - 10**6) < 500 for v in shown[2000:])
    assert m([]) == []


def test_gaussian_keys_bad_input():
    for given in [(0, 5, 1), (1, 1, 1), (1, 5, 0), (1, "x", 1), (-1, 5, 1)]:
        with pytest.raises(UsageError):
            GaussianKeys(*given)
    with pytest.raises(MismatchError, match="sparse distance"):
        Space(GAUSSIAN_KEYS_SMALL, fw.L1Distance()) >> GaussianKeys(1, 5, 1)


# One name for all four steps.


@pytest.mark.parametrize(
    ("given", "step"),
    [
        ({"epsilon": 1, "delta": "1e-6"}, SelectKeys(1, "1e-6")),
        ({"scale": 2, "threshold": 5}, ReleaseKeys(2, 5)),
        ({"noise": "laplace", "scale": 2, "threshold": 5}, ReleaseKeys(2, 5)),
        (
            {"noise": "gaussian", "scale": 2, "threshold": 5, "epsilon": 1},
            GaussianKeys(2, 5, 1),
        ),
        (
            {"noise": "gaussian", "scales": [2, 1], "thresholds": [9, 5], "epsilon": 1},
            GaussianKeysInRounds([2, 1], [9, 5], 1),
        ),
    ],
    ids=str,
)
def test_the_arguments_select_the_mechanism(given, step):
    assert fw.select_partitions(**given) == step


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"epsilon": 1},
        {"epsilon": 1, "delta": "1e-6", "noise": "gaussian"},
        {"epsilon": 1, "delta": "1e-6", "scale": 1},
        {"scale": 1, "threshold": 5, "epsilon": 1},
        {"scale": 1, "thresholds": [5]},
        {"noise": "gaussian", "scale": 1, "threshold": 5},
        {"noise": "gaussian", "scale": 1, "threshold": 5, "scales": [1], "epsilon": 1},
        {"noise": "uniform", "scale": 1, "threshold": 5},
        {"epsilon": 0, "delta": "1e-6"},
    ],
    ids=str,
)
def test_arguments_that_belong_to_no_mechanism_are_refused(given):
    with pytest.raises(UsageError):
        fw.select_partitions(**given)
    with pytest.raises(UsageError, match=r"select_partitions\(epsilon=1, delta='1e-6'\)"):
        fw.select_partitions(epsilon=1)
