"""The explorer of sensitivity: what it says is what the definition says."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tacit.errors import UsageError
from tacit.service.pages.live_view import KNOWN, explored, read_values


@pytest.mark.parametrize("name", KNOWN)
def test_no_neighbour_moves_further_than_the_local_sensitivity_says(name):
    found = explored(name, read_values("0, 2, 5, 5, 10"))
    moved = [Fraction(row["moved"]) for row in found["rows"]]
    assert len(moved) == 7
    # the numbers of the page are rounded to five digits
    assert max(moved) <= Fraction(found["local"]) * Fraction(1001, 1000)
    assert Fraction(found["local"]) <= Fraction(found["whole"]) * Fraction(1001, 1000)
    assert any(row["most"] for row in found["rows"])
    assert str(found["picture"]).count('class="person"') == 5


def test_numbers_are_held_within_the_bounds():
    assert read_values("-4 99") == [0, 10]


@pytest.mark.parametrize("text", ["", "1", "1 " * 13, "a b", "nan 1", "1/0 2"])
def test_what_is_no_line_of_numbers_is_refused(text):
    with pytest.raises(UsageError):
        read_values(text)


def test_another_statistic_is_refused():
    with pytest.raises(UsageError, match="choose"):
        explored("mode", read_values("1 2"))
