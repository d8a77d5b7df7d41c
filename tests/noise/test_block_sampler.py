"""Tables of blocks: thresholds, certified cheaply, and the same work whatever is drawn."""

from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import tacit.noise as tn
from support.by_hand.high_precision import real
from tacit.noise.samplers import BlockTable, laplace_exponent

SCALES = [Fraction(1, 40), Fraction(1), Fraction(10, 7), Fraction(25), Fraction(96), 10**6, 2**50]


@pytest.mark.few(9)
@pytest.mark.parametrize("scale", [*SCALES, 1000])
def test_table_thresholds(scale):
    """Every cumulative weight against 400 bits: zero mismatches."""
    table = BlockTable(laplace_exponent(Fraction(scale)))
    length, blocks, kinds = table.length, table.blocks, 2 if table.shift == 0 else 4
    with mpmath.workprec(400):
        p = lambda m: mpmath.exp(-m / real(scale))  # noqa: E731
        weights = []
        for h in range(blocks):
            start, end = p(h * length), p(h * length + length - 1)
            second, following = p(h * length + 1), p((h + 1) * length)
            weights += [end, following, start - end, second - following][:kinds]
        last = blocks * length
        weights.append(2 * p(last) / (1 - p(1)) / length)
        total, so_far, wrong = mpmath.fsum(weights), mpmath.mpf(0), 0
        for weight, threshold in zip(weights, table.table.thresholds.tolist(), strict=False):
            so_far += weight
            wrong += int(mpmath.floor(so_far / total * 2**64)) != threshold
    assert len(table.table.thresholds) == len(weights) - 1
    assert wrong == 0


def test_certification_near_one_stays_cheap():
    """The last cumulative probabilities are within 2**-40 of 1; 128 more bits are enough."""
    table = BlockTable(laplace_exponent(Fraction(25)))
    asked = []
    weights = table.weights
    table.weights = lambda bits: (asked.append(bits), weights(bits))[1]
    assert table._floors(64) == table.table.thresholds.tolist()
    assert max(asked) <= 64 + 128


def test_table_values_agree_with_states():
    table = BlockTable(laplace_exponent(Fraction(1000)))
    certain = table.table.certain
    for cell in range(0, 1 << 16, 7):
        state = certain[cell]
        if state < 0 or table.residual[state] or state == table.tail:
            assert table.values[cell] == table.open
        else:
            first = int(table.block[state]) * table.length
            assert table.values[cell] == (-1 - first if table.sign[state] else first)
    assert table.share == pytest.approx((table.values == table.open).mean())
    assert table.share < 0.05


@pytest.mark.few(2)
@pytest.mark.parametrize("scale", [5, 100])
def test_ties_and_tails_of_tables(stream, fits, scale):
    """Words of 12 bits, blocks that stop at the scale, every acceptance decided exactly."""
    usual = laplace_exponent(Fraction(scale))
    short = replace(usual, reach=scale, per_scale=4)
    table = BlockTable(short, first=8, width=12, margin=1.0)
    with stream(14):
        found = table.draw(8_000)
    subject = tn.DiscreteLaplace(scale)
    assert (np.abs(found) > scale).mean() > 0.3
    assert fits(found, subject.probability, -6 * scale, 6 * scale) > 1e-3


def test_first_second_looks_are_padded(stream, monkeypatch):
    """With residual draws too, the first trial looks again at a fixed number of draws."""
    table = BlockTable(laplace_exponent(Fraction(1000)))
    sizes = []
    complete = table.table.complete
    monkeypatch.setattr(
        table.table,
        "complete",
        lambda prefixes, have: (sizes.append((len(prefixes), have)), complete(prefixes, have))[1],
    )
    for seed in range(5):
        with stream(seed):
            table.draw(40_000)
    assert len({n for n, have in sizes if have}) == 1
