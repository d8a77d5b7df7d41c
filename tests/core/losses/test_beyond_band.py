"""The bound on frequencies against the products themselves."""

import math

import numpy as np
import pytest

from tacit.core.losses.contour import REST, most_beyond
from tacit.core.losses.summands import ends_of


def product(ends, tilt, w):
    sizes = np.abs(ends.factors(tilt + 1j * np.asarray(w))) / ends.factors(tilt)[:, None]
    return np.prod(sizes ** ends.times[:, None], axis=0)


@pytest.mark.parametrize("shift", [1, 50])
@pytest.mark.parametrize("band", [3.0, 8.0])
def test_no_product_beyond_the_band_is_larger(shift, band):
    ends = ends_of([((0.02 + 0.001 * place) / shift, shift, 1) for place in range(300)])
    deviation = math.sqrt(float(np.square(ends.largest).sum()))
    band, variance = band / deviation, (2e-3 * deviation) ** 2
    bound = most_beyond(ends, 2.0, band, variance)
    w = np.linspace(band, math.sqrt(2 * REST / variance), 2000)
    assert product(ends, 2.0, w).max() <= bound * 1.0001
    if bound < 1:
        assert bound < 1e-8


def test_summands_that_resonate_have_no_bound():
    same = ends_of([(0.02, 1, 1)] * 300)
    assert most_beyond(same, 2.0, 25.0, 1e-9) == 1.0
    assert product(same, 2.0, [math.pi / 0.02])[0] == pytest.approx(1)
