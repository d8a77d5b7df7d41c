"""Edges and percentiles as callers write them."""

from fractions import Fraction

import pytest

from tacit.errors import UsageError
from tacit.tables.spec.parsing import listed, percent


def test_a_percentile_is_exact_and_within_its_ends():
    assert [percent(q) for q in (0, "12.5", 100)] == [0, Fraction(25, 2), 100]
    for wrong in (-1, "100.1"):
        with pytest.raises(UsageError, match=r"must be from 0 to 100"):
            percent(wrong)


def test_edges_are_a_list():
    assert listed(range(3)) == [0, 1, 2]
    with pytest.raises(UsageError, match="a column is named by text, not by 7"):
        listed(7)
