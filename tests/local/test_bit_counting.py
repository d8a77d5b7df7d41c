"""Bits are counted place by place, in any number of rows."""

import numpy as np
import pytest

from tacit.local.random_bits import count_bits, count_ones, count_values


@pytest.mark.few(4)
@pytest.mark.parametrize("width", [1, 7, 8, 63, 64, 65, 1024, 8200])
@pytest.mark.parametrize("n", [0, 1, 255, 256, 1000, 2047, 2048, 2049, 4224, 9001])
def test_bits_are_counted_place_by_place(width, n):
    rows = np.random.default_rng(n + width).integers(0, 256, (n, (width + 7) // 8), np.uint8)
    bits = np.unpackbits(rows, axis=1, bitorder="little")
    plain = bits[:, :width].sum(axis=0)
    assert count_bits(rows, width).tolist() == plain.tolist()
    assert count_bits(np.full_like(rows, 255), width).tolist() == [n] * width
    assert count_ones(rows).tolist() == bits.sum(axis=1).tolist()
    assert count_ones(np.full((3, 9000), 255, np.uint8)).tolist() == [72_000] * 3
    apart = np.repeat(rows, 2, axis=1)[:, ::2]
    assert count_bits(apart, width).tolist() == plain.tolist()
    values = rows[:, 0]
    assert count_values(values, 256).tolist() == np.bincount(values, minlength=256).tolist()
