"""From distances in records to records that come, go or change."""

from fractions import Fraction

import pytest

from tacit.core import (
    AbsoluteDistance,
    ChangeOneDistance,
    HammingDistance,
    InsertDeleteDistance,
    Number,
    Space,
    SymmetricDistance,
    Vector,
)
from tacit.errors import MismatchError
from tacit.transformations import Count
from tacit.transformations.rows import linear_map, only_changes, records_of, root_map, substitutions

FREE, SIZED = Vector(int, bounds=(0, 3)), Vector(int, bounds=(0, 3), size=2)


@pytest.mark.parametrize(
    ("space", "changes", "maps"),
    [
        (Space(FREE, SymmetricDistance()), False, [0, 5, 10, 15]),
        (Space(FREE, InsertDeleteDistance()), False, [0, 5, 10, 15]),
        (Space(SIZED, SymmetricDistance()), True, [0, 0, 7, 7]),  # one gone and one come: a change
        (Space(SIZED, ChangeOneDistance()), True, [0, 7, 14, 21]),
        (Space(SIZED, HammingDistance()), True, [0, 7, 14, 21]),
    ],
    ids=str,
)
def test_an_aggregate_that_each_record_adds_to(space, changes, maps):
    assert only_changes(space) is changes
    linear = linear_map(space, coming=5, changing=7)
    assert [linear(Fraction(d)) for d in range(4)] == maps
    root = root_map(space, coming=25, changing=49)
    assert [root(Fraction(d)) for d in range(4)] == maps
    assert records_of(space, Count()) == space.domain


def test_a_root_is_rounded_up():
    root = root_map(Space(FREE, SymmetricDistance()), coming=2, changing=2)
    assert root(Fraction(1)) ** 2 >= 2
    assert float(root(Fraction(1))) == pytest.approx(2**0.5)


def test_changes_of_a_sized_data_set_are_half_of_what_goes_and_comes():
    sized = Space(SIZED, SymmetricDistance())
    assert [substitutions(sized, Fraction(d)) for d in range(5)] == [0, 0, 1, 1, 2]


def test_what_holds_no_records_is_refused():
    with pytest.raises(MismatchError, match="works on records"):
        records_of(Space(Number("int"), AbsoluteDistance()), Count())
