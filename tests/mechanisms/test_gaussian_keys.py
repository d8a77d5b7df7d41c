"""Selection of keys by Gaussian noise: its map by brute force, its noise and its threshold."""

import math
from fractions import Fraction

import pytest
from scipy import stats

import tacit as tc
from tacit.audit import verify
from tacit.core import Number, Space, Vector
from tacit.errors import MismatchError, UsageError
from tacit.mechanisms.partition_selection import GaussianKeys, least_noise_and_threshold
from tacit.tables.plan.plan import keys_part

SMALL = Vector(Number("int", 0, 2, grid=Fraction(1)), size=2)


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
def test_the_map_holds_on_all_neighbours(step, groups, distance):
    space = Space(SMALL, tc.SparseDistance(groups))
    assert verify(space >> step, d_in=distance).or_raise().kind == "exact"


def test_the_map_of_one_key_is_the_profile_and_the_tail():
    scale, threshold, epsilon = 3.0, 20, 1.0
    m = Space(SMALL, tc.SparseDistance(1)) >> GaussianKeys(3, threshold, 1)
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
    scale, threshold = least_noise_and_threshold(groups, Fraction(epsilon), delta)
    space = Space(Vector(Number("int"), size=None), tc.SparseDistance(groups))
    m = space >> GaussianKeys(scale, threshold, epsilon)
    assert m.map(1)[0] == Fraction(epsilon)
    assert delta / 3 < m.map(1)[1] <= delta
    lower = (space >> GaussianKeys(scale, threshold - 1, epsilon)).map(1)[1]
    assert lower > delta
    assert threshold >= stats.norm.isf(5e-7 / groups) * float(scale)


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
    m = Space(SMALL, tc.SparseDistance(groups)) >> GaussianKeys(scale, 5000, epsilon)
    near, far = (m.map(d)[1] for d in (1, 10**4))
    assert 0 <= near <= far == 1


def test_release_shows_no_key_that_nobody_has():
    space = Space(Vector(Number("int"), size=None), tc.SparseDistance(4))
    m = space >> GaussianKeys(40, 5, 1)
    shown = m([0] * 2000 + [10**6] * 10)
    assert shown[:2000] == [None] * 2000
    assert all(type(v) is int and abs(v - 10**6) < 500 for v in shown[2000:])
    assert m([]) == []


def test_bad_input():
    for given in [(0, 5, 1), (1, 1, 1), (1, 5, 0), (1, "x", 1), (-1, 5, 1)]:
        with pytest.raises(UsageError):
            tc.gaussian_keys(*given)
    with pytest.raises(MismatchError, match="sparse distance"):
        Space(SMALL, tc.L1Distance()) >> tc.gaussian_keys(1, 5, 1)
