"""Questions asked one after the other under one budget."""

from fractions import Fraction

import pytest

import tacit as tc
from tacit.core import (
    AbsoluteDistance,
    Number,
    RenyiDP,
    Space,
    SymmetricDistance,
    Vector,
    convert,
)
from tacit.errors import BudgetError, MismatchError, UsageError
from tacit.transformations import Count

PEOPLE = Space(Vector(int, bounds=(0, 9)), SymmetricDistance())
COUNT = PEOPLE >> Count()


class TestAdaptive:
    def test_a_filter_refuses_what_would_pass_it(self):
        questions = tc.adaptive(PEOPLE, tc.epsilon(1))
        questions.ask(COUNT >> tc.laplace(2), [1, 2])
        with pytest.raises(BudgetError):
            questions.ask(COUNT >> tc.laplace(1), [1, 2])
        questions.ask(COUNT >> tc.laplace(2), [1, 2])
        assert questions.remaining.is_nothing
        assert "spent" in repr(questions)

    @pytest.mark.parametrize("d_in", [0, "0.0"])
    def test_a_distance_that_makes_every_release_free_is_refused(self, d_in):
        with pytest.raises(UsageError, match="d_in is above zero"):
            tc.adaptive(PEOPLE, tc.epsilon(1), d_in)

    def test_an_odometer_only_counts(self):
        questions = tc.adaptive(PEOPLE, "concentrated", d_in=2)
        questions.ask(COUNT >> tc.gaussian(1), [1])
        assert questions.spent == tc.rho(2)
        assert questions.remaining is None

    def test_an_odometer_with_a_delta_counts_gaussian_releases_by_their_losses(self):
        questions = tc.adaptive(PEOPLE, "approximate", delta="1e-6")
        m = COUNT >> tc.gaussian(10)
        for _ in range(3):
            questions.ask(m, [1])
        fixed = tc.compose([m] * 3).epsilon("1e-6")
        assert fixed.upper < questions.spent.amount < Fraction(5, 4) * fixed.upper
        assert questions.spent.delta == Fraction(1, 10**6)

    def test_pairs_are_counted_as_pairs(self):
        questions = tc.adaptive(PEOPLE, tc.epsilon_delta(2, "1e-5"))
        questions.ask(tc.calibrate(COUNT >> tc.gaussian, 1, (1, "1e-6")), [1])
        assert questions.spent == tc.epsilon_delta(1, "1e-6")

    def test_it_is_charged_before_it_speaks(self):
        questions = tc.adaptive(PEOPLE, tc.epsilon(1))

        def die(released):
            raise RuntimeError("lost")

        with pytest.raises(RuntimeError):
            questions.ask((COUNT >> tc.laplace(1)) >> die, [1])
        assert questions.remaining.is_nothing

    def test_data_that_cannot_be_read_costs_nothing(self):
        questions = tc.adaptive(PEOPLE, tc.epsilon(1))
        with pytest.raises(UsageError):
            questions.ask(COUNT >> tc.laplace(1), 5)
        assert questions.spent.is_nothing

    def test_other_spaces_and_measures_are_refused(self):
        questions = tc.adaptive(PEOPLE, tc.epsilon(1))
        number = Space(Number("int"), AbsoluteDistance())
        with pytest.raises(MismatchError):
            questions.ask(number >> tc.laplace(1), 5)
        with pytest.raises(MismatchError):
            questions.ask(convert(COUNT >> tc.laplace(1), RenyiDP(2)), [1])
