"""Divergences on events that one picks: intervals, sets, functions, far tails."""

import math
from fractions import Fraction

import pytest

import tacit as tc
from tacit.errors import InfeasibleError, UsageError

WHOLE = tc.Space(tc.Number("int"), tc.AbsoluteDistance())


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
