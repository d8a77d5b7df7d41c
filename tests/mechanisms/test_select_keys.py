"""Selection of keys by truncated noise: against the recursion of the best one, and its draws."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import tacit as tc
from tacit.audit import verify
from tacit.core import Number, Space, Vector
from tacit.errors import MismatchError, UsageError
from tacit.mechanisms.partition_selection import SelectKeys, TruncatedNoise

PAIRS = [("1", "1e-6"), ("1/10", "1e-6"), ("3", "1e-3"), ("1/2", "1/4"), ("8", "1/2")]
COUNTS = Vector(Number("int", 0, 40), size=3)


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
    most = best(float(Fraction(epsilon)), float(Fraction(delta)), 2 * law.reach + 2)
    half = next(n for n, p in enumerate(most) if p >= 0.5)
    for count, p in enumerate(most):
        if count % max(1, law.reach // 20) and count > 3:
            continue
        mine = chance(law, count)
        assert mine <= p + 1e-12
        assert count >= half or mine == pytest.approx(p, rel=1e-9)
    assert chance(law, 2 * law.reach + 1) == 1


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
        assert set(law.reach - reach) <= {0, 1}


@pytest.mark.full
@pytest.mark.parametrize(("epsilon", "delta"), [("1/2", "1/20"), ("2", "1/5"), ("1/50", "1/9")])
def test_draws_have_the_law(epsilon, delta):
    law = TruncatedNoise(Fraction(epsilon), Fraction(delta))
    n, count = 200_000, law.reach
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
    space = Space(Vector(Number("int"), size=None), tc.SparseDistance(2))
    m = space >> SelectKeys("1/2", "1e-3")
    many = m([0] * 2000 + [10**6] * 10)
    assert many[:2000] == [None] * 2000
    assert all(type(v) is int and v > 10**6 - 100 for v in many[2000:])
    assert m([]) == []
    assert m([np.int64(0), np.int64(5000)])[0] is None


def test_maps():
    keys = SelectKeys("1/4", "1/1000")
    sparse, total = (Space(COUNTS, d) >> keys for d in (tc.SparseDistance(3), tc.L1Distance()))
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
    space = Space(Vector(Number("int", 0, 1), size=3), tc.SparseDistance(2))
    assert verify(space >> SelectKeys("1/2", "1/10")).or_raise().kind == "exact"


def test_bad_input():
    for epsilon, delta in [(0, "1e-6"), (-1, "1e-6"), (1, 0), (1, 1), (1, "x"), ("nan", "1e-6")]:
        with pytest.raises(UsageError):
            tc.select_keys(epsilon, delta)
    with pytest.raises(MismatchError, match="people counts"):
        Space(COUNTS, tc.L2Distance()) >> tc.select_keys(1, "1e-6")
    with pytest.raises(UsageError):
        tc.SparseDistance(0)
    with pytest.raises(UsageError):
        tc.SparseDistance("two")
