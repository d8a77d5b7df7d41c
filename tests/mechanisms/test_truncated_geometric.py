"""The truncated geometric mechanism: published probabilities, and the loss ln(9/8)."""

import math
from fractions import Fraction

import pytest

from tacit.arithmetic import enclosure
from tacit.audit import verify
from tacit.core import (
    AbsoluteDistance,
    Number,
    Space,
)
from tacit.mechanisms import (
    TruncatedGeometric,
    measurement,
)

NUMBER = Space(Number("int", 0, 5, grid=Fraction(1)), AbsoluteDistance())


def test_truncated_geometric_of_balcer_and_vadhan_is_ln_9_8():
    """At epsilon 0.1 the ratio is 2^3 / (2^3 + 1), so the loss is exactly ln(9/8), not 0.1."""
    ratio, top = Fraction(8, 9), 5

    def law(count):
        table = {}
        for z in range(top + 1):
            weight = ratio ** abs(z - int(count)) / (1 + ratio)
            table[z] = weight if z in (0, top) else weight * (1 - ratio)
        return table

    claim = enclosure.log(Fraction(9, 8), 80).upper
    m = measurement(NUMBER, int, lambda d: claim * d, distribution=law)
    assert verify(m, d_in=5, draws=0).tight
    assert verify(measurement(NUMBER, int, lambda d: d / 10, distribution=law)).broken


def test_truncated_geometric_probabilities():
    q = math.exp(-1 / 2)
    law = (NUMBER >> TruncatedGeometric(0, 5, scale=2)).distribution(1)
    assert float(law.probability(0)) == pytest.approx(q / (1 + q))
    assert float(law.probability(1)) == pytest.approx((1 - q) / (1 + q))
    assert float(law.probability(5)) == pytest.approx(q**4 / (1 + q))
    assert law.probability(6).upper == 0
    assert float(law.cdf(1)) == pytest.approx(q / (1 + q) + (1 - q) / (1 + q))
    assert law.support("0.9999") == (0.0, 5.0)
