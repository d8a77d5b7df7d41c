"""Private quantiles are near the quantile, on numbers of any kind; many at once are right."""

import random
from fractions import Fraction

import numpy as np
import pytest

from tacit.core import (
    Space,
    SymmetricDistance,
    Vector,
)
from tacit.mechanisms import (
    PrivateQuantile,
)
from tacit.mechanisms.private_quantile import Tallies, choose_cell, choose_cells, quantile_costs
from tacit.noise.bits import injected


def test_private_quantiles_are_near_the_quantile():
    ages = Space(Vector(int, bounds=(0, 100)), SymmetricDistance())
    m = ages >> PrivateQuantile("1/2", scale=1)
    data = list(range(20, 60)) * 50
    assert 38 <= m(data) <= 41
    assert m.map(1) == 1
    assert 0 <= m([]) <= 100
    floats = Space(Vector(float, bounds=(0, 1)), SymmetricDistance())
    shown = (floats >> PrivateQuantile(1, scale=1, grid="1/8"))([0.5, float("nan"), 2.0] * 900)
    assert shown * 8 == int(shown * 8)


def histograms(draw, cells, most):
    """Return some histograms of few rows, or none."""
    found = []
    for _ in range(draw.randint(1, 5)):
        at = sorted(draw.sample(range(cells + 1), draw.randint(0, min(cells + 1, 8))))
        count = [draw.randint(1, most) for _ in at]
        found.append((np.array(at, dtype=np.int64), np.array(count, dtype=np.int64)))
    return found


@pytest.mark.parametrize("target", [0, 7, -7, 1 << 62, -(1 << 62)])
@pytest.mark.parametrize("most", [9, 1 << 58], ids=["64 bits", "wider"])
def test_choices_made_at_once_are_those_made_alone(target, most):
    for seed in range(40):
        draw = random.Random(seed)
        cells = draw.choice([1, 4, 60, 1 << 20])
        asked = cells, Fraction(draw.randint(0, 4), 4), target, Fraction(draw.randint(1, 9), 20)
        groups = histograms(draw, cells, most)
        with injected(random.Random(seed).randbytes):
            alone = [choose_cell(each, *asked) for each in groups]
        with injected(random.Random(seed).randbytes):
            assert choose_cells(groups, *asked) == alone
    assert choose_cells([], 9, Fraction(1, 2), target, Fraction(1)) == []


@pytest.mark.parametrize("most", [9, 1 << 58], ids=["64 bits", "wider"])
def test_choices_that_share_their_runs_are_those_that_do_not(most):
    """Whatever was chosen of them before: another target, another quantile, other candidates."""
    for seed in range(20):
        draw = random.Random(seed)
        groups = histograms(draw, 60, most)
        shared = Tallies(groups)
        for target in (0, 7, -7, 1 << 62, -(1 << 62), 0):
            cells, q = draw.choice([60, 90]), Fraction(draw.randint(0, 4), 4)
            asked = cells, q, target, Fraction(draw.randint(1, 9), 20)
            with injected(random.Random(seed).randbytes):
                alone = choose_cells(list(groups), *asked)
            with injected(random.Random(seed).randbytes):
                assert choose_cells(shared, *asked) == alone


@pytest.mark.parametrize("target", [0, 5, -5])
def test_costs_are_those_of_the_definition(target):
    """The distance of the target to [low(c), high(c)], without end for the end on its side."""
    for seed in range(60):
        draw = random.Random(seed)
        cells, q = draw.randint(1, 9), Fraction(draw.randint(0, 4), 4)
        a, b = q.numerator, q.denominator
        for at, count in histograms(draw, cells, 4):
            rows = dict(zip(at.tolist(), count.tolist(), strict=True))
            truth = []
            for c in range(cells + 1):
                below = sum(n for cell, n in rows.items() if cell < c)
                above = sum(n for cell, n in rows.items() if cell > c)
                equal = rows.get(c, 0)
                low = (b - a) * below - a * (above + equal)
                high = (b - a) * (below + equal) - a * above
                low = min(low, target) if c == 0 and target < 0 else low
                high = max(high, target) if c == cells and target > 0 else high
                truth.append(max(low - target, target - high, 0))
            starts, lengths, cost = quantile_costs((at, count), cells, q, target)
            assert np.repeat(cost, lengths).tolist() == truth
            assert starts.tolist() == (np.cumsum(lengths) - lengths).tolist()
