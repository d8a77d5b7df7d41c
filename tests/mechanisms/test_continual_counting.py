"""Continual counting: totals, blocks, the factorisation, and counters that refuse."""

import copy
import itertools
import pickle
from fractions import Fraction

import pytest

import tacit as tc
from tacit.audit import verify
from tacit.core import (
    L1Distance,
    Number,
    Space,
    Vector,
    ZeroConcentratedDP,
)
from tacit.errors import UsageError
from tacit.mechanisms import ContinualCount
from tacit.mechanisms.continual_counting import roots

TINY = Fraction(1, 1000)
"""Noise of this scale is zero but with probability e^-1000."""


METHODS = ["tree", "tree_gaussian", "factorisation"]


class TestContinual:
    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("horizon", [1, 2, 7, 8, 33])
    def test_totals_are_the_running_sums(self, method, horizon):
        stream = [(7 * i) % 5 for i in range(horizon)]
        scale = TINY / 10**7  # rows are on a grid of 2^-24
        counter = tc.continual_counter(horizon, scale, method)
        released = [counter.next(x) for x in stream]
        assert released == pytest.approx(list(itertools.accumulate(stream)), abs=1e-6)
        space = Space(Vector(int, size=horizon), L1Distance())
        at_once = (space >> ContinualCount(scale, method))(stream)
        assert at_once == pytest.approx(list(itertools.accumulate(stream)), abs=1e-6)

    def test_a_step_is_in_as_many_blocks_as_the_map_says(self):
        for horizon in range(1, 40):
            blocks = [range(t - (t & -t) + 1, t + 1) for t in range(1, horizon + 1)]
            most = max(sum(s in block for block in blocks) for s in range(1, horizon + 1))
            m = Space(Vector(int, size=horizon), L1Distance()) >> ContinualCount(1)
            assert m.map(1) == most == horizon.bit_length()

    def test_the_factor_is_near_the_square_root(self):
        b = [Fraction(f, 1 << 24) for f in roots(12)]
        for k in range(12):
            squared = sum(b[i] * b[k - i] for i in range(k + 1))
            assert abs(squared - 1) < Fraction(1, 1 << 20)
        m = Space(Vector(int, size=12), L1Distance()) >> ContinualCount(1, "factorisation")
        assert m.map(1) == sum(f * f for f in b) / 2
        assert m.map(2) == 4 * m.map(1)
        tree = Space(Vector(int, size=12), L1Distance()) >> ContinualCount(1, "tree_gaussian")
        assert m.map(1) < tree.map(1)

    def test_rows_of_the_factor_are_what_the_map_says(self):
        """The transformation inside: x to B x moves by at most the first column of B."""
        b = [Fraction(f, 1 << 24) for f in roots(5)]
        length = sum(f * f for f in b)
        for place, change in itertools.product(range(5), (-1, 1)):
            moved = [change * b[t - place] for t in range(place, 5)]
            assert sum(x * x for x in moved) <= length

    @pytest.mark.full
    def test_the_tree_keeps_its_map_on_every_stream(self):
        space = Space(Vector(Number("int", 0, 1), size=3), L1Distance())
        assert verify(space >> ContinualCount(2), d_in=2)
        assert verify(space >> ContinualCount(2, "tree_gaussian"))

    def test_a_counter_hides_its_state(self):
        counter = tc.continual_counter(10, 1)
        counter.next(123456)
        assert "123456" not in repr(counter)
        with pytest.raises(TypeError):
            pickle.dumps(counter)
        with pytest.raises(TypeError):
            copy.copy(counter)

    def test_a_counter_is_charged_once(self):
        counter = tc.continual_counter(8, 4)
        before = counter.map(1)
        counter.next(1)
        assert counter.map(1) == before == 1
        assert counter.map(0) == 0
        assert tc.continual_counter(8, 4, "factorisation").measure == ZeroConcentratedDP()

    def test_data_never_raises(self):
        counter = tc.continual_counter(5, 1)
        for odd in ("text", None, float("nan"), 10**30, 2.5):
            assert isinstance(counter.next(odd), int)

    @pytest.mark.parametrize(
        "build",
        [
            lambda: tc.continual_counter(0, 1),
            lambda: tc.continual_counter(2**21, 1),
            lambda: tc.continual_counter(2**13, 1, "factorisation"),
            lambda: tc.continual_counter(5, 0),
            lambda: tc.continual_counter(5, 1, "magic"),
            lambda: tc.continual_counter(1, 1).map(-1),
        ],
    )
    def test_bad_input(self, build):
        with pytest.raises(UsageError):
            build()

    def test_the_horizon_is_the_end(self):
        counter = tc.continual_counter(1, 1)
        counter.next(1)
        with pytest.raises(UsageError, match="over"):
            counter.next(1)
