"""The lattice of how often each value is there counts its levels."""

from __future__ import annotations

from math import comb

from tacit.statistics.search import Lattice


def test_the_lattice_counts_its_levels() -> None:
    lattice = Lattice([1] * 10)
    assert [len(lattice.at_level(n)) for n in range(11)] == [comb(10, n) for n in range(11)]
