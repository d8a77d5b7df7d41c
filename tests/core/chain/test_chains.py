"""Chains: what would join two sides, tight epsilons, and divergences on events that one picks."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from tacit.core import renyi_divergence
from tacit.core.divergences.event_probability import mass_of
from tacit.errors import InfeasibleError, MismatchError, UsageError

COLUMN = tc.Space(tc.Vector(float), tc.SymmetricDistance())
WHOLE = tc.Space(tc.Number("int"), tc.AbsoluteDistance())


@pytest.mark.parametrize(
    ("space", "step", "joins"),
    [
        (COLUMN, tc.sum(), ("clamp(lower, upper)",)),
        (COLUMN, tc.laplace(1), ("count()",)),
        (tc.Space(tc.Vector(int, size=3), tc.L1Distance()), tc.gaussian(1), ("to_l2()",)),
        (tc.Space(tc.Vector(int, size=3), tc.L2Distance()), tc.laplace(1), ("to_l1()",)),
        (tc.Space(tc.Number("float"), tc.AbsoluteDistance()), tc.laplace(1), ("to_grid(step)",)),
        (
            tc.Space(tc.Number("int", 0, 1), tc.DiscreteDistance()),
            tc.laplace(1),
            ("to_absolute()",),
        ),
    ],
    ids=str,
)
def test_a_mismatch_names_the_step_that_joins(space, step, joins):
    with pytest.raises(MismatchError) as caught:
        space >> step
    assert set(joins) <= set(caught.value.joins)
    assert all(join in str(caught.value) for join in joins)


def test_two_finished_parts_name_the_step_between_them():
    first = COLUMN >> tc.clamp(0, 1)
    second = tc.Space(tc.Number("int", 0, grid=1), tc.AbsoluteDistance()) >> tc.laplace(1)
    with pytest.raises(MismatchError) as caught:
        first >> second
    assert caught.value.left == first.output
    assert caught.value.right == second.input
    assert "count()" in caught.value.joins


def test_epsilon_of_a_pure_release_at_delta_zero_is_its_map():
    m = COLUMN >> tc.clamp(0, 12) >> tc.sum() >> tc.laplace(25)
    for k in range(4):
        assert m.epsilon(0, d_in=k).upper == m.map(k)


@pytest.mark.few(4)
@pytest.mark.parametrize("scale", [1, 3, "7/2"])
@pytest.mark.parametrize("shift", [1, 2, 5])
def test_epsilon_is_the_least_on_the_worst_pair(scale, shift):
    for step in (tc.laplace(scale), tc.gaussian(scale)):
        m = WHOLE >> step
        found = m.epsilon("1/50", d_in=shift)
        curve = tc.divergence(m, shift, 0, measure=tc.ApproximateDP())
        assert curve(found.upper).lower <= Fraction(1, 50)
        if found.lower > 0:
            assert curve(found.lower - Fraction(1, 10**6)).upper >= Fraction(1, 50)


def test_epsilon_survives_chaining_conversion_and_post_processing():
    m = WHOLE >> tc.laplace(2)
    target = m.epsilon("1/100")
    processed = (m >> abs).epsilon("1/100")
    assert (processed.lower, processed.upper) == (0, target.upper)  # it may hide all of it
    assert tc.compose([m]).epsilon("1/100") == target
    column = tc.Space(tc.Vector(str), tc.SymmetricDistance()) >> tc.count()
    assert (column >> tc.laplace(2)).epsilon("1/100") == target


@pytest.mark.full
def test_composition_costs_no_more_than_its_parts_and_no_less_than_one():
    m, g = WHOLE >> tc.laplace(4), WHOLE >> tc.gaussian(6)
    both = tc.compose([m, m, g])
    found = both.epsilon("1e-6")
    rest = tc.compose([m, g]).epsilon("1e-6")
    assert rest.lower < found.upper
    assert found.upper <= g.epsilon("1e-6").upper + 2 * m.map(1)
    assert found.width < Fraction(1, 20)


def test_epsilon_without_known_losses_is_what_the_map_implies():
    counts = tc.Space(tc.Vector(int, size=3), tc.L2Distance())
    vector = counts >> tc.gaussian(10)
    assert vector.epsilon("1e-6").lower == 0
    assert 0.4 < float(vector.epsilon("1e-6")) < 0.5
    assert vector.epsilon(0) == math.inf
    pure = tc.Space(tc.Vector(int, size=3), tc.L1Distance()) >> tc.laplace(10)
    assert pure.epsilon(0).upper <= pure.map(1) + Fraction(1, 10**20)
    for delta in (-1, 2, "nan"):
        with pytest.raises(UsageError):
            vector.epsilon(delta)


def event_directly(m, data, holds, reach=400):
    law = m.distribution(data)
    return math.fsum(float(law.probability(x)) for x in range(-reach, reach + 1) if holds(x))


@pytest.mark.few(4)
@pytest.mark.parametrize("step", [tc.laplace(6), tc.gaussian(6)], ids=str)
@pytest.mark.parametrize("event", [(3, 9), (None, 4), (12, None), (-30, -20), (5, 5)])
def test_divergence_on_an_event_is_the_log_ratio(step, event):
    m = WHOLE >> step
    low, high = (-math.inf if event[0] is None else event[0], event[1] or math.inf)
    p, q = (event_directly(m, data, lambda x: low <= x <= high) for data in (5, 2))
    found = tc.divergence(m, 5, 2, event=event)
    assert float(found.middle) == pytest.approx(abs(math.log(p / q)), rel=1e-9)
    assert tc.divergence(m, 2, 5, event=event).middle == pytest.approx(found.middle)


def test_events_as_sets_and_functions():
    m = WHOLE >> tc.laplace(3)
    interval = tc.divergence(m, 4, 0, event=(1, 3))
    listed = tc.divergence(m, 4, 0, event={1, 2, 3})
    asked = tc.divergence(m, 4, 0, event=lambda x: 1 <= x <= 3)
    assert abs(interval.middle - listed.middle) < Fraction(1, 10**9)
    assert abs(interval.middle - asked.middle) < Fraction(1, 10**9)


@pytest.mark.parametrize("place", [10**2, 10**4, 10**6])
def test_far_tails_are_no_zero_over_zero(place):
    m = WHOLE >> tc.laplace(25)
    found = tc.divergence(m, 37, 25, event=(place, 2 * place))
    assert found.width < Fraction(1, 10**9)
    assert found.contains(Fraction(12, 25)) or abs(found.middle - Fraction(12, 25)) < 1e-9
    bell = WHOLE >> tc.gaussian(5)
    far = tc.divergence(bell, 3, 0, event=(300, None))
    assert float(far) > 30


def test_events_that_make_no_sense_are_refused():
    m = WHOLE >> tc.laplace(25)
    for event in ((2, 1), (1, 2, 3), "text", 5, ("1/3", "1/2")):
        with pytest.raises(UsageError):
            tc.divergence(m, 0, 1, event=event)
    with pytest.raises(InfeasibleError):
        tc.divergence(WHOLE >> tc.gaussian(1), 0, 1, event=(10**6, None))
    chosen = tc.Space(tc.Vector(int, size=3), tc.LInfinityDistance()) >> tc.exponential(1)
    assert 0 < float(tc.divergence(chosen, [0, 1, 2], [1, 1, 2], event={0})) <= 1


def test_textbook_laws_agree_with_discrete_ones_on_fine_grids():
    fine = tc.Space(tc.Number("float", grid="1/1024"), tc.AbsoluteDistance())
    for step, law in (
        (tc.laplace(25), tc.IdealisedLaplace),
        (tc.gaussian(25), tc.IdealisedGaussian),
    ):
        m = fine >> step
        for event in ((70, 80), (30, 31), (-300, -200)):
            exact = float(tc.divergence(m, 37, 25, event=event).middle)
            textbook = law(37, 25).divergence(law(25, 25), *event)
            assert textbook == pytest.approx(exact, abs=1e-4)
            mass = float(mass_of(m.distribution(37), event).middle)
            assert math.exp(law(37, 25).log_probability(*event)) == pytest.approx(mass, rel=2e-3)


def test_textbook_tails_are_right():
    mpmath = pytest.importorskip("mpmath")
    law = tc.IdealisedGaussian(0, 1)
    for low, high in itertools.pairwise([-40, -12, -8.01, -7.99, -1, 0, 3, 9, 38, 60]):
        with mpmath.workdps(60):
            ends = [mpmath.mpf(x) for x in (low, high)]
            if low > 0:
                ends = [-ends[1], -ends[0]]
            exact = mpmath.log(mpmath.ncdf(ends[1]) - mpmath.ncdf(ends[0]))
        assert law.log_probability(low, high) == pytest.approx(float(exact), rel=1e-12)
    for bad in ((1, 1), (2, 1)):
        with pytest.raises(UsageError):
            law.log_probability(*bad)
    for centre, scale in ((0, 0), (math.nan, 1), (0, math.inf)):
        with pytest.raises(UsageError):
            tc.IdealisedLaplace(centre, scale)


def test_renyi_rises_with_its_order_between_its_two_ends():
    p, q = {0: "1/2", 1: "1/3", 2: "1/6"}, {0: "1/4", 1: "1/4", 2: "1/2"}
    orders = ["1/10", "1/2", 1, "11/10", 2, 10, 1000, math.inf]
    found = [renyi_divergence(p, q, order) for order in orders]
    assert all(a.lower < b.upper for a, b in itertools.pairwise(found))
    direct = math.log(sum(float(Fraction(p[x])) ** 2 / float(Fraction(q[x])) for x in p))
    assert float(found[4].middle) == pytest.approx(direct, rel=1e-12)
    assert renyi_divergence({0: 1}, {1: 1}, "1/2") == math.inf
    assert renyi_divergence({0: "1/2", 1: "1/2"}, {0: 1}, 1) == math.inf
    for order in (0, -1, "nan", -math.inf):
        with pytest.raises(UsageError):
            renyi_divergence(p, q, order)


def test_parallel_takes_data_that_comes_in_parts():
    column = tc.Space(tc.Vector(float), tc.SymmetricDistance())
    total = column >> tc.clamp(0, 12) >> tc.sum()
    parts = {"north": total >> tc.laplace(scale=25), "south": total >> tc.laplace(scale=50)}
    both = tc.parallel(parts)
    assert both.map(1) == Fraction(12, 25)
    assert both.map(3) == 3 * Fraction(12, 25)
    released = both({"north": np.array([1.0, 2.0]), "east": [3.0]})
    assert set(released) == {"north", "south"}
    assert both({"south": pd.Series([1.0])}).keys() == released.keys()
    u, v = {"north": [1.0], "south": [2.0]}, {"north": [1.0, 4.0], "south": []}
    assert both.input.metric.distance(u, v) == 2
    with pytest.raises(tc.errors.UsageError, match="mapping"):
        both([1.0, 2.0])
    with pytest.raises(tc.errors.UsageError, match="mapping"):
        tc.parallel(list(parts.values()))


def test_parallel_over_parts_of_a_table():
    table = tc.Space(tc.Frame({"age": float, "site": str}), tc.SymmetricDistance())
    m = table >> tc.select("age") >> tc.clamp(0, 90) >> tc.sum() >> tc.gaussian(scale=90)
    both = tc.parallel({1: m, 2: m})
    assert both.map(2) == m.map(2)
    assert set(both({1: pd.DataFrame({"age": [1.0], "site": ["a"]})})) == {1, 2}


def test_parallel_over_parts_needs_records():
    number = tc.Space(tc.Number("int"), tc.AbsoluteDistance()) >> tc.laplace(scale=1)
    with pytest.raises(tc.errors.MismatchError, match="counts records"):
        tc.parallel({"a": number})
