"""Edges as callers write them."""

import pytest

from tacit.errors import UsageError
from tacit.tables.cell_axis import listed


def test_edges_are_a_list():
    assert listed(range(3)) == [0, 1, 2]
    with pytest.raises(UsageError, match="a column is named by text, not by 7"):
        listed(7)
