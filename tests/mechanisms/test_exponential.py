"""The exponential mechanism on the published auction, and beside permute-and-flip."""

import itertools
import math
from fractions import Fraction

import pytest

from tacit.core import (
    LInfinityDistance,
    Number,
    Space,
    Vector,
)
from tacit.mechanisms import (
    Exponential,
    PermuteAndFlip,
)

SCORES = Space(Vector(int, size=3), LInfinityDistance())


def test_exponential_mechanism_on_the_pumpkin_auction():
    """Four pumpkins, bids 1, 1, 1, 3.01 dollars: revenue 3.00, 3.01, 0 at prices 1, 3.01, 3.02."""
    prices = Space(Vector(Number("float", grid=Fraction(1, 100)), size=3), LInfinityDistance())
    law = (prices >> Exponential(scale=1)).distribution([4.00, 3.01, 0])
    weights = [math.exp(4.00), math.exp(3.01), 1.0]
    for i, weight in enumerate(weights):
        assert float(law.probability(i)) == pytest.approx(weight / sum(weights))


def test_permute_and_flip_is_never_worse_than_exponential():
    for scores in itertools.product(range(4), repeat=3):
        gap = [max(scores) - s for s in scores]
        losses = [
            sum(
                g * float((SCORES >> step).distribution(list(scores)).probability(i))
                for i, g in enumerate(gap)
            )
            for step in (PermuteAndFlip(2), Exponential(2))
        ]
        assert losses[0] <= losses[1] + 1e-12
