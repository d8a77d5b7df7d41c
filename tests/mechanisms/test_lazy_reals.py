"""Real numbers drawn as far as they are needed: enclosures shrink, and nothing is rounded."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from tacit.arithmetic.enclosure import Enclosure
from tacit.mechanisms.smooth_distributions import Lazy, Uniform, disc, exponential, normal, student
from tacit.noise import bits


def fed(*words: int):
    """Bits that are these words of 64, and zeros from then on."""
    served = itertools.chain((w.to_bytes(8, "little") for w in words), itertools.repeat(bytes(8)))
    return bits.injected(lambda n: next(served))


def test_a_uniform_is_the_digits_drawn_and_what_may_follow():
    with fed(1 << 63, 1):
        u = Uniform()
        assert u.enclose() == Enclosure(Fraction(1, 2), Fraction(1, 2) + Fraction(1, 1 << 64))
        assert u.centred().contains(0)
        u.refine()
    assert u.enclose().width == Fraction(1, 1 << 128)
    assert u.enclose().lower == Fraction(1, 2) + Fraction(1, 1 << 128)


@pytest.mark.parametrize("draw", [normal, lambda: student(1), lambda: student(3), exponential])
def test_more_digits_only_narrow(draw):
    for seed in range(20):
        with bits.injected(np.random.default_rng(seed).bytes):
            z = draw()
            first = z.enclose()
            z.refine()
            second = z.enclose()
        assert first.lower <= second.lower <= second.upper <= first.upper
        assert second.width < first.width


def test_a_question_that_the_digits_leave_open_draws_more():
    """10 U lies across 5 1/2 as far as 64 digits say: the next 64 decide."""
    edge = (11 << 64) // 20
    for more, whole in ((0, 5), ((1 << 64) - 1, 6)):
        with fed(edge, more):
            u = Uniform()
            z = Lazy((u,), lambda bits, u=u: 10 * u.enclose())
            assert z.nearest(lambda bits: Enclosure.of(0), Fraction(1)) == whole
            assert u.width == 128


def test_a_formula_that_needs_more_digits_gets_them():
    """Of a uniform of zeros the logarithm is unbounded until a digit is not zero."""
    with fed(0, 0, 5):
        z = exponential()
        found = z.enclose()
    assert z.uniforms[0].width == 192
    assert found.contains(Fraction(-math.log(5.5 / 2**192))) or found.width < Fraction(1)


def test_points_of_the_disc_are_inside_it():
    corner = (1 << 64) - 1
    with fed(corner, corner, 1 << 63, 1 << 63):  # the first point is thrown away
        x, y = disc()
    assert x.centred().contains(0)
    assert y.centred().contains(0)


def test_nearest_shifts_with_its_centre_and_grows_with_its_scale():
    def unit(centre, scale):
        with bits.injected(np.random.default_rng(8).bytes):
            return normal().nearest(lambda bits: Enclosure.of(centre), Fraction(scale))

    base = unit(0, 1000)
    assert unit(7, 1000) == base + 7
    assert abs(unit(0, 2000) - 2 * base) <= 1
    assert unit(0, 0) == 0


@pytest.mark.parametrize(
    ("draw", "law"),
    [
        (normal, stats.norm),
        (lambda: student(1), stats.cauchy),
        (lambda: student(3), stats.t(3)),
        (exponential, stats.expon),
    ],
)
def test_draws_have_their_law(draw, law):
    """150 draws of a fixed stream, by the test of Kolmogorov and Smirnov."""
    with bits.injected(np.random.default_rng(1).bytes):
        found = [float(draw().enclose().middle) for _ in range(150)]
    assert stats.kstest(found, law.cdf).pvalue > 1e-3
