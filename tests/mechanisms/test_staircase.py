"""The staircase law against its weights, and the stair of least error."""

import math
from fractions import Fraction

import pytest

from tacit import noise
from tacit.mechanisms.staircase import DiscreteStaircase, best_step


@pytest.mark.parametrize(
    ("epsilon", "width", "step"), [(1, 1, 1), (1, 5, 2), (3, 4, 4), ("1/2", 3, 1)]
)
def test_staircase_law(epsilon, width, step):
    law = DiscreteStaircase(Fraction(epsilon), width, step)
    reach = 60 * width
    weights = {
        x: math.exp(-float(Fraction(epsilon)) * ((abs(x) + width - step) // width))
        for x in range(-reach, reach + 1)
    }
    total = math.fsum(weights.values())
    for x in (-7, -1, 0, 1, 2, 9):
        assert float(law.probability(x)) == pytest.approx(weights[x] / total)
        below = math.fsum(w for z, w in weights.items() if z <= x) / total
        assert float(law.cdf(x)) == pytest.approx(below)
    second = math.fsum(x * x * w for x, w in weights.items()) / total
    assert float(law.variance()) == pytest.approx(second)


@pytest.mark.few(3)
@pytest.mark.parametrize(("epsilon", "width"), [(1, 7), (3, 12), ("1/2", 5)])
def test_the_default_stair_has_the_least_error(epsilon, width):
    def size(step):
        law = DiscreteStaircase(Fraction(epsilon), width, step)
        return sum(2 * x * float(law.probability(x).middle) for x in range(1, 40 * width))

    found = best_step(Fraction(epsilon), width)
    assert size(found) <= min(size(s) for s in range(1, width + 1)) * (1 + 1e-6)
    geometric = noise.DiscreteLaplace(Fraction(width) / Fraction(epsilon))
    ours = float(DiscreteStaircase(Fraction(epsilon), width, found).variance())
    assert epsilon != 3 or ours < float(geometric.variance())
