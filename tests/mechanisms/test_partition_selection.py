"""Keys found in rounds: the map by brute force, with counts that depend on what was found."""

import itertools
import math
from fractions import Fraction

import pytest

import tacit as tc
from tacit.audit import verify
from tacit.core import Number, Space, Vector
from tacit.errors import MismatchError, UsageError
from tacit.mechanisms.partition_selection import GaussianKeys, GaussianKeysInRounds
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
    space = Space(SMALL, tc.SparseDistance(groups))
    assert verify(space >> step, d_in=distance).or_raise().kind == "exact"


def test_one_round_is_the_mechanism_of_one_round():
    space = Space(COUNTS, tc.SparseDistance(3))
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
    space = Space(COUNTS, tc.SparseDistance(groups))
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

    m = Space(COUNTS, tc.SparseDistance(4)) >> GaussianKeysInRounds([40, 10], [5000, 50], 1)
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
    m = Space(COUNTS, tc.SparseDistance(groups)) >> two.step
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
            tc.gaussian_keys_in_rounds(*given)
    with pytest.raises(MismatchError, match="sparse distance"):
        Space(SMALL, tc.L1Distance()) >> tc.gaussian_keys_in_rounds([1], [5], 1)
    delta = Fraction(1, 10**6)
    with pytest.raises(UsageError, match="one round"):
        keys_part(5, Fraction(1000), delta, None, 2)
    with pytest.raises(UsageError, match="in rounds"):
        keys_part(5, Fraction(1), delta, "select_keys", 2)
