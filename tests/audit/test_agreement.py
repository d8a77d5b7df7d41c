"""A stated distribution is a claim too: the function is run beside it."""

import math

import pytest

from tacit import noise
from tacit.audit import verify
from tacit.core import (
    AbsoluteDistance,
    L1Distance,
    Number,
    Space,
    Vector,
)
from tacit.core.measurement import TwoParts
from tacit.errors import UsageError, VerificationError
from tacit.mechanisms import Laplace, measurement

NUMBER = Space(Number("int", 0, 3), AbsoluteDistance())
BIT = Space(Number("int", 0, 1), AbsoluteDistance())


class TestRuns:
    """A stated distribution is a claim too: the function is run beside it."""

    def raw(self, value):
        """A mechanism that releases the number itself, beside the distribution of Laplace noise."""
        right = NUMBER >> Laplace(2)
        return measurement(NUMBER, value, right.map, distribution=right.law)

    def test_a_function_that_releases_the_raw_number_is_refuted(self):
        verdict = verify(self.raw(lambda x: x))
        assert verdict.broken
        assert not verdict
        assert not verdict.tight
        assert str(verdict).startswith("BROKEN: the function does not follow its distribution: ")
        with pytest.raises(VerificationError, match="does not follow"):
            verdict.or_raise()

    @pytest.mark.few(4)
    @pytest.mark.parametrize(
        "value",
        [
            lambda x: x + noise.discrete_laplace(1),  # at half the scale
            lambda x: x + noise.discrete_laplace(4),
            lambda x: x + noise.discrete_laplace(2) + 1,
            lambda x: x + abs(noise.discrete_laplace(2)),
            lambda x: x + noise.discrete_laplace(2) / 3,  # off the grid
            lambda x: "a text",
            lambda x: None,
            lambda x: math.nan,
        ],
    )
    def test_wrong_noise_is_refuted(self, value):
        assert verify(self.raw(value), draws=2000).refuted

    def test_a_function_that_is_wrong_on_one_data_set_only_is_refuted_there(self):
        def leaky(x):
            return x + (0 if x == 3 else noise.discrete_laplace(2))

        assert verify(self.raw(leaky), draws=400).refuted.startswith("on 3, ")

    def test_noise_that_parts_share_is_refuted(self):
        pairs = Space(Vector(Number("int", 0, 1), size=2), L1Distance())
        right = pairs >> Laplace(2)

        def shared(x):
            e = int(noise.discrete_laplace(2))
            return [int(v) + e for v in x]

        wrong = measurement(pairs, shared, right.map, distribution=right.law)
        assert verify(right, draws=1000)
        assert "part 1" in verify(wrong, draws=1000).refuted

    def test_an_output_that_is_not_listed_is_refuted_at_once(self):
        m = measurement(BIT, lambda bit: 2, lambda d: d, distribution=lambda bit: {0: 1})
        assert verify(m, draws=1).refuted == ("on 0, 2 came, which the distribution does not have")

    def test_the_words_say_how_many_draws_stand_behind_them(self):
        assert "400 draws of the function on 4 data sets agree" in str(verify(NUMBER >> Laplace(2)))
        unseen = verify(self.raw(lambda x: x), draws=0)
        assert unseen.tight
        assert unseen.draws == 0
        assert "the function was not run" in str(unseen)

    def test_each_law_and_each_preparation_is_worked_out_once(self):
        right, read, listed = NUMBER >> Laplace(2), [], []

        def prepare(x):
            read.append(x)
            return lambda: right(x)

        def law(x):
            listed.append(x)
            return right.distribution(x)

        m = measurement(NUMBER, TwoParts(prepare), right.map, distribution=law)
        assert verify(m, draws=400).draws == 400
        assert sorted(read) == sorted(listed) == [0, 1, 2, 3]
        assert isinstance(m(1), int)

    def test_noise_that_is_drawn_while_preparing_is_refuted(self):
        """It would be shared by all draws; a release of its own would show nothing wrong."""
        right = NUMBER >> Laplace(2)

        def prepare(x):
            once = right(x)
            return lambda: once

        m = measurement(NUMBER, TwoParts(prepare), right.map, distribution=right.law)
        assert verify(m, draws=2000).refuted

    def test_where_the_distribution_breaks_the_claim_that_is_said(self):
        right = NUMBER >> Laplace(2)
        m = measurement(NUMBER, int, lambda d: d / 3, distribution=right.law)
        assert verify(m).broken
        assert not verify(m).refuted

    def test_draws_are_counted_in_whole_numbers(self):
        with pytest.raises(UsageError, match="draws"):
            verify(NUMBER >> Laplace(2), draws=-1)
