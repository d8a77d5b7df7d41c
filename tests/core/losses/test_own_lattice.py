"""The lattice that losses stand on: found where there is one, and exactly."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from tacit.arithmetic.enclosure import Enclosure
from tacit.core.losses.base import Loss, placed


@given(
    places=st.lists(st.integers(-50, 50), min_size=2, max_size=6, unique=True),
    step=st.fractions(Fraction(1, 9), 3, max_denominator=9),
    origin=st.fractions(-3, 3, max_denominator=7),
)
def test_rational_losses_are_where_they_were_put(places, step, origin):
    found = placed([Loss.of(origin + place * step) for place in places])
    assert found is not None
    lattice, where = found
    values = [lattice.origin.shift.lower + w * lattice.step.shift.lower for w in where]
    assert values == [origin + place * step for place in places]
    assert lattice.step.shift.lower % step == 0


def test_logarithms_of_powers_stand_on_a_lattice_and_others_on_none():
    found = placed([Loss(ratio=Fraction(3) ** k) for k in (-1, 0, 2)])
    assert found is not None
    assert found[0].step == Loss(ratio=Fraction(3))
    assert found[1] == [0, 1, 3]
    assert placed([Loss(ratio=Fraction(r)) for r in (1, 2, 3)]) is None


def test_losses_that_are_only_enclosed_or_alone_stand_on_none():
    wide = Loss(Enclosure(Fraction(1), Fraction(2)))
    assert placed([wide, Loss.of(Fraction(0))]) is None
    assert placed([Loss.of(Fraction(1))]) is None
    assert placed([Loss.of(Fraction(1)), Loss.of(Fraction(1))]) is None
    assert placed([Loss.of(Fraction(n)) for n in (0, 1, 1 << 30)]) is None
