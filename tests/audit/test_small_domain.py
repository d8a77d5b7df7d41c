"""Small domains are listed whole, and large ones refused."""

import math
from fractions import Fraction

import pytest

from tacit.audit.verify import members
from tacit.core import (
    Category,
    Frame,
    Number,
    Vector,
)
from tacit.errors import UsageError


class TestMembers:
    def test_small_domains_are_listed_whole(self):
        assert members(Number("int", 1, 3)) == [1, 2, 3]
        assert members(Number("int", grid=Fraction(1))) == [-2, -1, 0, 1, 2]
        assert members(Category(("a", "b"))) == ["a", "b"]
        assert len(members(Vector(Number("int", 0, 1)))) == 1 + 2 + 4 + 8
        assert len(members(Frame({"x": Number("int", 0, 1)}))) == 1 + 2 + 3
        assert members(Number("int", None, 0)) == [-4, -3, -2, -1, 0]

    def test_floats_are_listed_by_their_ends(self):
        found = members(Number("float", 0, 1, nullable=True))
        assert found[:3] == [0.0, 0.5, 1.0]
        assert math.isnan(found[3])

    def test_a_large_domain_is_refused(self):
        with pytest.raises(UsageError, match="more than"):
            members(Number("int", 0, 10**6))
