"""What is known of a concave function at a few points bounds it between them."""

import math
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from tacit.arithmetic.enclosure import Enclosure, exp
from tacit.core.tradeoff import Concave, ProfilePoints, epsilon_near, power_of

TENTHS = [Fraction(i, 10) for i in range(11)]


@given(
    st.lists(st.sampled_from(TENTHS), min_size=1, max_size=5),
    st.lists(st.sampled_from(TENTHS), min_size=2, max_size=6, unique=True),
    st.sampled_from(TENTHS[:3]),
)
def test_no_value_of_a_concave_function_is_above_the_bound(kinks, places, width):
    """Concave: minus a mean of distances from kinks; values are known to a width only."""

    def value(t):
        return -sum((abs(t - kink) for kink in kinks), Fraction(0)) / len(kinks)

    function = Concave((Fraction(-1), Fraction(1)))
    for place in places:
        function.add(place, Enclosure(value(place) - width, value(place) + width))
    low, high = min(places), max(places)
    inside = [kink for kink in kinks if low <= kink <= high]
    largest = max(value(t) for t in [*places, *inside])
    assert function.least <= largest <= function.most()[0]


def test_points_that_are_many_and_exact_leave_no_room():
    function = Concave((Fraction(-2), Fraction(2)))
    for i in range(101):
        t = Fraction(i, 100)
        function.add(t, Enclosure.of(t * (1 - t)))
    assert Fraction(1, 4) <= function.most()[0] <= Fraction(1, 4) + Fraction(1, 10**4)
    assert function.least == Fraction(1, 4)


def test_the_slope_on_from_the_last_point_is_that_of_the_last_chord():
    function = Concave((Fraction(-1), Fraction(1)))
    function.add(Fraction(0), Enclosure.of(0))
    assert function.rising() == 1
    function.add(Fraction(2), Enclosure.of(1))
    assert function.rising() == Fraction(1, 2)


def test_a_profile_is_asked_once_at_an_epsilon():
    asked = []

    def delta(epsilon):
        asked.append(epsilon)
        return Enclosure(Fraction(-1, 10), Fraction(11, 10))

    points = ProfilePoints(delta)
    assert points.at(Fraction(1)) == points.at(Fraction(1)) == Enclosure(Fraction(0), Fraction(1))
    assert asked == [1] == points.epsilons


def test_a_power_is_within_its_distance_and_comes_back():
    for epsilon in (Fraction(0), Fraction(1, 3), Fraction(40)):
        x, off = power_of(epsilon)
        assert exp(epsilon, 256).lower >= x - off
        assert exp(epsilon, 256).upper <= x
        assert math.isclose(epsilon_near(x), epsilon, abs_tol=2.0**-23)
