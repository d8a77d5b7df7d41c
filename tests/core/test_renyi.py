"""Renyi divergences: orders, ends, and what is missing from one side."""

import itertools
import math
from fractions import Fraction

import pytest

from tacit.core import renyi_divergence
from tacit.errors import UsageError


def test_renyi_rises_with_its_order_between_its_two_ends():
    p, q = {0: "1/2", 1: "1/3", 2: "1/6"}, {0: "1/4", 1: "1/4", 2: "1/2"}
    orders = ["1/10", "1/2", 1, "11/10", 2, 10, 1000, math.inf]
    found = [renyi_divergence(p, q, order) for order in orders]
    assert all(a.lower < b.upper for a, b in itertools.pairwise(found))
    direct = math.log(sum(float(Fraction(p[x])) ** 2 / float(Fraction(q[x])) for x in p))
    assert float(found[4].middle) == pytest.approx(direct, rel=1e-12)
    assert renyi_divergence({0: 1}, {1: 1}, "1/2") == math.inf
    assert renyi_divergence({0: "1/2", 1: "1/2"}, {0: 1}, 1) == math.inf
    for order in (0, -1, "nan", -math.inf):
        with pytest.raises(UsageError):
            renyi_divergence(p, q, order)
