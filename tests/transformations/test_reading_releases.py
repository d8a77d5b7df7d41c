"""What is read over a population is a part of it: no record twice, and members as they are."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from tacit.audit import verify
from tacit.statistics import Records
from tacit.transformations.from_function import Releases, transformation

NUMBERS = st.lists(st.integers(-3, 9), min_size=1, max_size=5)


@examples(0.8)
@given(population=NUMBERS, raw=st.lists(st.floats(-5, 12) | st.just(float("nan")), max_size=7))
def test_what_is_read_is_a_member(population, raw):
    domain = Releases(Records(population))
    found = domain.read(raw)
    assert domain.contains(found)
    assert domain.read([float(x) for x in found]) == found
    assert len(found) == min(max(len(raw), 1), len(population))


@examples(0.4)
@given(population=NUMBERS, order=st.randoms(use_true_random=False))
def test_members_are_read_as_they_are_in_any_order(population, order):
    part = population[: max(1, len(population) // 2)]
    shuffled = order.sample(part, len(part))
    assert Releases(Records(population)).read(shuffled) == sorted(map(Fraction, part))


def test_a_number_that_the_population_has_once_is_not_read_twice():
    """[7, 7] from a population with one 7 was read as itself: claimed 1, attained 7/6."""
    over = Records([1, 4, 7], size=2)
    t = transformation("mean", over=over, relation="bounded")
    assert Releases(over).read([7, 7]) == [4, 7]
    data = [[a, b] for a in (1, 4, 7, 9) for b in (1, 4, 7, 9)]
    pairs = [(t.input.domain.read(u), t.input.domain.read(v)) for u in data for v in data]
    pairs = [(u, v) for u, v in pairs if u != v]
    assert verify(t, pairs=pairs, d_in=2)
