"""What a chain of transformations knows follows from its parts."""

from fractions import Fraction

import pytest

from tacit.core import AbsoluteDistance, Number, Space, SymmetricDistance, Transformation, Vector
from tacit.core.metrics import EVERY, Witness
from tacit.errors import MismatchError
from tacit.transformations import Clamp, Count, Histogram, Sum, ToL2

INTEGERS = Space(Vector(int), SymmetricDistance())


def test_maps_and_functions_follow_each_other():
    chain = INTEGERS >> Clamp(-2, 5) >> Sum()
    assert chain([9, 1, -7]) == 4
    assert chain.map(3) == 15
    assert chain.check(3, 15)
    assert not chain.check(3, Fraction(29, 2))
    with pytest.raises(MismatchError):
        chain >> Count()


def test_a_chain_attains_its_map_where_both_parts_do():
    clamped = INTEGERS >> Clamp(-2, 5)
    assert clamped.onto
    assert (clamped >> Sum()).witness == Witness.of([5])
    assert (clamped >> Count()).witness == EVERY
    assert (clamped >> Histogram([0, 3, 9]) >> ToL2()).witness == Witness.of([0, 3])
    short = Space(Vector(int, bounds=(0, 4)), SymmetricDistance()) >> Clamp(-2, 5)
    assert not short.onto  # nobody has a 5
    assert not (short >> Sum()).attained
    assert not (short >> Histogram([0, 3, 9], other=True)).onto


def test_a_pair_that_is_not_named_is_one_of_its_own():
    numbers = Space(Number("int"), AbsoluteDistance())
    size = Transformation(INTEGERS, numbers, len, lambda d: d, attained=True)
    assert size.witness == size.witness
    assert not size.witness & Transformation(INTEGERS, numbers, len, lambda d: d).witness
